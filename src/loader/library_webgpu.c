/*
 * The WebGPU library. The generated functions name it, and library.c knows it weakly, so that a
 * program that calls none of them has nothing of it.
 */
#include "loader/library.h"

/* The version is 0x1d000101 for 29.0.1.1. */
static int ask_webgpu(acu_fn version_symbol) {
    const uint32_t version = ((uint32_t (*)(void))version_symbol)();
    return (int)(version >> 24u) * 1000 + (int)(version >> 16u & 0xffu) * 10;
}

acu_library acu_webgpu = {
    .info = &acu_webgpu_info,
    .id = ACU_WEBGPU,
    .packages = (const char *const[]){"wgpu/resources", NULL},
    .plain_names = true,
    .hint = "install wgpu-native, or Python's package wgpu, which contains it; acu-info prints the "
            "search; ANYCUDA_WEBGPU=path chooses a library",
    .ask = ask_webgpu,
};
