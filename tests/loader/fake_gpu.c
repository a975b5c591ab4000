/* A made-up "libacugpu" of one revision, as tests/loader/CMakeLists.txt builds several. */

#define _POSIX_C_SOURCE 200112L /* setenv */

#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int acutestMalloc(int size);
int acutestMalloc(int size) {
    return size;
}

#if !defined(FAKE_OLD)
EXPORT void acugpuSubmit(void);
void acugpuSubmit(void) {}
#endif

#if defined(FAKE_FOREIGN)
EXPORT void acugpuTick(void);
void acugpuTick(void) {}
#endif

/* As wgpuGetVersion() does: 0x1d000101 is 29.0.1.1. That the function was called can be seen. */
EXPORT uint32_t acugpuVersion(void);
uint32_t acugpuVersion(void) {
    (void)setenv("FAKE_ASKED", "1", 1);
    return FAKE_VERSION;
}
