/* The simulator as the loader sees it, if the program is linked with one. */
#ifndef ACU_SIMULATOR_H
#define ACU_SIMULATOR_H

#include <anycuda/load.h>

#include "core/abi.h"

/* The simulator as a file, which exports CUDA's names and acu_sim_abi(). */
#define ACU_SIM_SONAME "libanycuda-sim.so"

enum { ACU_ENDING = 2 }; /* the length of "; " */

typedef struct acu_sim {
    acu_fn (*resolve)(const char *symbol); /* returns NULL for a symbol that is not simulated */
    /* The version that the simulator reports; 0 of libcuda if it simulates no driver. */
    int (*version)(acu_library_id library);
    int abi; /* the presented version, whose ABI the simulator has */
    /* Both begin with "; ", as the ends of messages do: what to do on a machine without a driver,
     * and where this simulator simulates none. */
    const char *instead, *without_driver;
} acu_sim;

/* NULL if this program has no simulator. */
extern const acu_sim *acu_sim_provider;

#endif
