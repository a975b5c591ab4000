/* What CUDA says of its errors. */
#ifndef ACU_SIM_DEVICE_ERROR_H
#define ACU_SIM_DEVICE_ERROR_H

#include "sim/sim.h"

typedef struct acu_sim_error_text {
    int code;
    const char *text; /* NULL: the end */
} acu_sim_error_text;

/* Made from spec/error_strings.yaml. */
extern const acu_sim_error_text acu_sim_error_texts[];

/* Returns CUDA's text of an error; its name where nobody knows that text, as with new errors. */
const char *acu_sim_error_text_of(int code, const char *name);
/* Converts the runtime's error to the driver's. */
CUresult acu_sim_driver_result(cudaError_t error);

#endif
