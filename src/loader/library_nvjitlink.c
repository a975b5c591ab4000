/*
 * The linker of code. The generated functions name it, and library.c knows it weakly, so that a
 * program that links no code has nothing of it.
 */
#include "loader/library.h"

#include <anycuda/cudart_types.h>
#include <anycuda/nvjitlink_types.h>
#include <anycuda/status.h>

static int ask_nvjitlink(acu_fn version_symbol) {
    unsigned major = 0, minor = 0;
    const int result = ((int (*)(unsigned *, unsigned *))version_symbol)(&major, &minor);
    return result == 0 ? (int)(major * 1000 + minor * 10) : 0;
}

static int translate(int result) {
    switch (result) {
    case NVJITLINK_SUCCESS:
        return ACU_SUCCESS;
    case NVJITLINK_ERROR_PTX_COMPILE:
    case NVJITLINK_ERROR_NVVM_COMPILE:
    case NVJITLINK_ERROR_FINALIZE:
        return ACU_ERROR_COMPILE;
    case NVJITLINK_ERROR_OUTDATED_LIBRARY:
    case NVJITLINK_ERROR_UNSUPPORTED_ARCH:
        return cudaErrorNotSupported;
    case NVJITLINK_ERROR_INTERNAL:
    case NVJITLINK_ERROR_THREADPOOL:
        return cudaErrorUnknown;
    default: /* all others are about what the caller gave */
        return ACU_ERROR_ARGUMENT;
    }
}

acu_library acu_nvjitlink = {
    .info = &acu_nvjitlink_info,
    .id = ACU_NVJITLINK,
    .packages = (const char *const[]){"nvidia/nvjitlink/lib", "nvidia/cu[0-9]*/lib", NULL},
    .in_toolkits = true,
    .hint = "acu-info prints the search; ANYCUDA_NVJITLINK=path chooses a library",
    .follows = &acu_nvrtc, /* what an older linker cannot read */
    .by_symbol = true,
    .ask = ask_nvjitlink,
    .translate = translate,
};
