/* A made-up libcuda.so.1 that supports what FAKE_DRIVER says. */
#include <stdlib.h>

__attribute__((visibility("default"))) int cuDriverGetVersion(int *version);

int cuDriverGetVersion(int *version) {
    const char *version_asked = getenv("FAKE_DRIVER");
    *version = version_asked ? (int)strtol(version_asked, NULL, 10) : 0;
    return version_asked ? 0 : 34;
}
