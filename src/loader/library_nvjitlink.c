/*
 * The linker of code. The generated functions name it, and library.c knows it weakly, so that a
 * program that links no code has nothing of it.
 */
#include "loader/library.h"

static int ask_nvjitlink(acu_fn version_symbol) {
    unsigned major = 0, minor = 0;
    const int result = ((int (*)(unsigned *, unsigned *))version_symbol)(&major, &minor);
    return result == 0 ? (int)(major * 1000 + minor * 10) : 0;
}

acu_library acu_nvjitlink = {
    .info = &acu_nvjitlink_info,
    .id = ACU_NVJITLINK,
    .packages = (const char *const[]){"nvidia/nvjitlink/lib", "nvidia/cu[0-9]*/lib", NULL},
    .in_toolkits = true,
    .hint = "acu-info prints the search; ANYCUDA_NVJITLINK=path chooses a library",
    .follows = &acu_nvrtc, /* what an older linker cannot read */
    .by_symbol = true,
    .not_simulated = "the simulator has no nvJitLink, only the driver's linker",
    .ask = ask_nvjitlink,
};
