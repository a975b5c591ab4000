/* The VDPAU names that CUDA's interop headers mention, behind the guard of the real header. */
#ifndef _VDPAU_H
#define _VDPAU_H
#include <stdint.h>
typedef uint32_t VdpDevice;
typedef uint32_t VdpVideoSurface;
typedef uint32_t VdpOutputSurface;
typedef uint32_t VdpStatus;
typedef uint32_t VdpFuncId;
typedef VdpStatus VdpGetProcAddress(VdpDevice device, VdpFuncId function_id,
                                    void **function_pointer);
#endif
