/*
 * The WebGPU library. The generated functions name it, and library.c knows it weakly, so that a
 * program that calls none of them has nothing of it.
 */
#include "loader/search.h"

#include <anycuda/cudart_types.h>
#include <anycuda/webgpu_types.h>

/* The version is 0x1d000101 for 29.0.1.1. */
static int ask_webgpu(acu_fn version_symbol) {
    const uint32_t version = ((uint32_t (*)(void))version_symbol)();
    return (int)(version >> 24u) * 1000 + (int)(version >> 16u & 0xffu) * 10;
}

/* WebGPU has one error; what anycuda refuses with it is a function that the library lacks. */
static int translate(int result) {
    return result == WGPUStatus_Success ? 0 : cudaErrorNotSupported;
}

static bool check_foreign(acu_search *s, const char *path, acu_has_symbol *has, void *where) {
    const acu_library_info *info = s->library->info;
    if (acu_search_allows(s, ACU_LOAD_ALLOW_UNKNOWN))
        return true;
    for (const acu_foreign *foreign = info->foreign; foreign && foreign->symbol; foreign++)
        if (has(where, foreign->symbol))
            return acu_search_refuse(s, path, info->error_missing, "it exports %s, so it is %s",
                                     foreign->symbol, foreign->what);
    return true;
}

acu_library acu_webgpu = {
    .info = &acu_webgpu_info,
    .id = ACU_WEBGPU,
    .packages = (const char *const[]){"wgpu/resources", NULL},
    .plain_names = true,
    .hint = "install wgpu-native, or Python's package wgpu, which contains it; acu-info prints the "
            "search; ANYCUDA_WEBGPU=path chooses a library",
    .not_simulated = "the simulator is one of CUDA and has no WebGPU",
    .check_foreign = check_foreign,
    .translate = translate,
    .ask = ask_webgpu,
};
