/*
 * Gives a test program the environment that it needs, so that it can be run by hand.
 *
 * CMakeLists.txt defines the values as anycuda_environment() was given them. A variable that is set
 * already keeps its value: ctest runs a program as several runtimes by it.
 */
#define _XOPEN_SOURCE 700 /* setenv */
#include <stdlib.h>

__attribute__((constructor)) static void set_defaults(void) {
#if defined(ANYCUDA_CUDART)
    setenv("ANYCUDA_CUDART", ANYCUDA_CUDART, 0);
#endif
#if defined(ANYCUDA_NVRTC)
    setenv("ANYCUDA_NVRTC", ANYCUDA_NVRTC, 0);
#endif
#if defined(ANYCUDA_NVJITLINK)
    setenv("ANYCUDA_NVJITLINK", ANYCUDA_NVJITLINK, 0);
#endif
#if defined(ANYCUDA_SIM)
    setenv("ANYCUDA_SIM", ANYCUDA_SIM, 0);
#endif
#if defined(ANYCUDA_WEBGPU)
    setenv("ANYCUDA_WEBGPU", ANYCUDA_WEBGPU, 0);
#endif
}
