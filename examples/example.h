/* The beginning and the end of every example. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <anycuda/anycuda.h>

#include <stdio.h>

/* Loads CUDA, or the simulator where there is no driver, and prints which. */
static inline acu_result example_begin(void) {
    acu_device_info info;
    ACU_TRY(acu_load(&(acu_load_options){.flags = ACU_LOAD_ALLOW_SIM}));
    ACU_TRY(acu_device_get_info(ACU_DEVICE_CURRENT, &info));
    const acu_load_info *cuda = acu_loaded(ACU_CUDART);
    printf("on %s: %s, CUDA %d.%d\n", cuda->is_sim ? "the simulator" : "a GPU", info.name,
           cuda->version / 1000, cuda->version % 1000 / 10);
    return ACU_SUCCESS;
}

/* Returns main()'s result: 0, or 1 after printing what failed and what to do about it. */
static inline int example_end(acu_result result) {
    if (result) {
        acu_error error = acu_last_error_details();
        fprintf(stderr, "error: %s\n%s%s\n", error.message, *error.hint ? "to do: " : "",
                error.hint);
    }
    return result ? 1 : 0;
}

#endif
