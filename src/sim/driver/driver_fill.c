/* The driver API's fills of memory (cuMemset and its kin), which are the runtime's. */
#include "sim/driver/driver.h"
#include "sim/memory/fill.h"

/* Fills with elements of one, two or four bytes, `width` of them in a row. */
static cudaError_t fill(CUdeviceptr to, size_t pitch, unsigned value, unsigned element,
                        size_t width, size_t height, CUstream stream, bool async) {
    const struct cudaMemsetParams params = {
        acu_sim_driver_pointer(to), pitch, value, element, width, height};
    return acu_sim_fill(&params, stream, async);
}

cudaError_t acu_sim_cuMemsetD8(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
    return fill(dstDevice, 0, uc, 1, N, 1, 0, false);
}

cudaError_t acu_sim_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                    CUstream hStream) {
    return fill(dstDevice, 0, uc, 1, N, 1, hStream, true);
}

cudaError_t acu_sim_cuMemsetD2D8(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                 size_t Width, size_t Height) {
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, 0, false);
}

cudaError_t acu_sim_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                      size_t Width, size_t Height, CUstream hStream) {
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, true);
}

cudaError_t acu_sim_cuMemsetD16(CUdeviceptr dstDevice, unsigned short us, size_t N) {
    return fill(dstDevice, 0, us, 2, N, 1, 0, false);
}

cudaError_t acu_sim_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                     CUstream hStream) {
    return fill(dstDevice, 0, us, 2, N, 1, hStream, true);
}

cudaError_t acu_sim_cuMemsetD2D16(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                  size_t Width, size_t Height) {
    return fill(dstDevice, dstPitch, us, 2, Width, Height, 0, false);
}

cudaError_t acu_sim_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                       size_t Width, size_t Height, CUstream hStream) {
    return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, true);
}

cudaError_t acu_sim_cuMemsetD32(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
    return fill(dstDevice, 0, ui, 4, N, 1, 0, false);
}

cudaError_t acu_sim_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                     CUstream hStream) {
    return fill(dstDevice, 0, ui, 4, N, 1, hStream, true);
}

cudaError_t acu_sim_cuMemsetD2D32(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                  size_t Width, size_t Height) {
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, 0, false);
}

cudaError_t acu_sim_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                       size_t Width, size_t Height, CUstream hStream) {
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, true);
}
