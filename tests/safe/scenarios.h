/* What programs do, once and to its end, for tests that disturb it. */
#ifndef SCENARIOS_H
#define SCENARIOS_H

#include "kernels.h"

/* Makes the same calls of CUDA each time; returns the first failure, with nothing left alive. */
typedef struct scenario {
    const char *name;
    acu_result (*run)(void);
} scenario;

enum { MOST_SCENARIOS = 100 };
extern const scenario scenarios[];
extern const size_t scenario_count;

/* The scenarios of scenarios_device.c. */
acu_result links_and_caches(void);
acu_result listeners(void);
/* The scenarios of scenarios_external.c. */
acu_result graphics(void);
acu_result other_apis(void);
/* The scenarios of scenarios_memory.c. */
acu_result allocators(void);
acu_result mapped_arrays(void);
acu_result shares(void);
acu_result transfers(void);

/* To be set before: */
extern acu_device elsewhere; /* another device than 0, if there is one */
extern int known_driver;     /* its version, 13030 */

/* Returns whether runtime and driver are that version, or newer; makes no call of CUDA. */
bool is_known_since(int version);

#endif
