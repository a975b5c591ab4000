/* A made-up libcuda.so.1 that supports what FAKE_DRIVER says. */
#include <stdlib.h>

__attribute__((visibility("default"))) int cuDriverGetVersion(int *version);

int cuDriverGetVersion(int *version) {
    const char *said = getenv("FAKE_DRIVER");
    *version = said ? (int)strtol(said, NULL, 10) : 0;
    return said ? 0 : 34;
}
