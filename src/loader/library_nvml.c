/*
 * NVML. The generated functions name it, and library.c knows it weakly, so that a program that
 * calls none of them has nothing of it.
 */
#include "loader/library.h"

/* The function answers without nvmlInit(), and reports the CUDA that the driver supports. */
static int ask_nvml(acu_fn version_symbol) {
    int version = 0;
    int result = ((int (*)(int *))version_symbol)(&version);
    return result == 0 && version > 0 ? version : 0;
}

acu_library acu_nvml = {
    .info = &acu_nvml_info,
    .id = ACU_NVML,
    .by_symbol = true,
    .hint = "NVML comes with the NVIDIA driver, and into a container by "
            "NVIDIA_DRIVER_CAPABILITIES=utility; acu-info prints the search; ANYCUDA_NVML=path "
            "chooses a library",
    .not_simulated = "the simulator has no NVML",
    .ask = ask_nvml,
};
