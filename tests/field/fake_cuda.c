/* A fake libcuda.so.1 of an older driver, which supports what FAKE_DRIVER says. */
#include <stdlib.h>

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

int cuDriverGetVersion(int *version) {
    const char *version_asked = getenv("FAKE_DRIVER");
    *version = version_asked ? (int)strtol(version_asked, NULL, 10) : 0;
    return version_asked ? 0 : 34;
}

int cuInit(unsigned flags) {
    return flags ? 1 : 0;
}

int cuDeviceGetCount(int *count) {
    *count = 1;
    return 0;
}

int cuLaunchKernel(void) {
    return 0;
}
