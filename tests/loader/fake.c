/* A made-up "libacutest" of one version, as tests/loader/CMakeLists.txt builds several. */

#define _POSIX_C_SOURCE 200112L /* setenv */

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

#if !defined(FAKE_STUB)
EXPORT int acutestMalloc(int size);
int acutestMalloc(int size) {
    return size == 0 ? 1 : size < 0 ? -size : 0;
}
EXPORT int acutestLaunch(void);
int acutestLaunch(void) {
    return 0;
}
#endif

#if defined(FAKE_CONSTRUCTOR)
__attribute__((visibility("default"), weak)) void called_by_constructor(void);
__attribute__((constructor)) static void construct(void) {
    if (called_by_constructor)
        called_by_constructor();
}
#endif

/* 11.x says 35 without a driver. That the function was called can be seen in the environment. */
EXPORT int acutestVersion(int *version);
int acutestVersion(int *version) {
    (void)setenv("FAKE_ASKED", "1", 1);
    *version = FAKE_VERSION;
    return FAKE_VERSION < 12000 ? 35 : 0;
}

/* nvrtc's way. */
EXPORT int acutestVersionPair(int *major, int *minor);
int acutestVersionPair(int *major, int *minor) {
    *major = FAKE_VERSION / 1000;
    *minor = FAKE_VERSION % 1000 / 10;
    return 0;
}

#if FAKE_VERSION >= 11080
EXPORT int acutestSince1108(void);
int acutestSince1108(void) {
    return 0;
}
#endif
#if FAKE_VERSION >= 12040
EXPORT int acutestSince1204(void);
int acutestSince1204(void) {
    return 0;
}
#endif
#if FAKE_VERSION >= 13000
EXPORT int acutestSince1300(void);
int acutestSince1300(void) {
    return 0;
}
#else
EXPORT int acutestUntil1209(void);
int acutestUntil1209(void) {
    return 0;
}
#endif
