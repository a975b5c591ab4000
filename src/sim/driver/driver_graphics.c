/* The driver API's resources of graphics: other names for the runtime's functions. */
#include "sim/cudart_bodies.h"
#include "sim/driver/driver.h"

static cudaGraphicsResource_t *list_of(CUgraphicsResource *list) {
    return (cudaGraphicsResource_t *)(void *)list;
}

static cudaGraphicsResource_t resource_of(CUgraphicsResource resource) {
    return (cudaGraphicsResource_t)(void *)resource;
}

cudaError_t acu_sim_cuGraphicsGLRegisterBuffer(CUgraphicsResource *pCudaResource, GLuint buffer,
                                               unsigned int Flags) {
    return acu_sim_cudaGraphicsGLRegisterBuffer(list_of(pCudaResource), buffer, Flags);
}

cudaError_t acu_sim_cuGraphicsGLRegisterImage(CUgraphicsResource *pCudaResource, GLuint image,
                                              GLenum target, unsigned int Flags) {
    return acu_sim_cudaGraphicsGLRegisterImage(list_of(pCudaResource), image, target, Flags);
}

cudaError_t acu_sim_cuGraphicsEGLRegisterImage(CUgraphicsResource *pCudaResource, EGLImageKHR image,
                                               unsigned int flags) {
    return acu_sim_cudaGraphicsEGLRegisterImage(list_of(pCudaResource), image, flags);
}

cudaError_t acu_sim_cuGraphicsVDPAURegisterVideoSurface(CUgraphicsResource *pCudaResource,
                                                        VdpVideoSurface vdpSurface,
                                                        unsigned int flags) {
    return acu_sim_cudaGraphicsVDPAURegisterVideoSurface(list_of(pCudaResource), vdpSurface, flags);
}

cudaError_t acu_sim_cuGraphicsVDPAURegisterOutputSurface(CUgraphicsResource *pCudaResource,
                                                         VdpOutputSurface vdpSurface,
                                                         unsigned int flags) {
    return acu_sim_cudaGraphicsVDPAURegisterOutputSurface(list_of(pCudaResource), vdpSurface,
                                                          flags);
}

cudaError_t acu_sim_cuGLGetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices,
                                   unsigned int cudaDeviceCount, CUGLDeviceList deviceList) {
    return acu_sim_cudaGLGetDevices(pCudaDeviceCount, pCudaDevices, cudaDeviceCount,
                                    (enum cudaGLDeviceList)deviceList);
}

cudaError_t acu_sim_cuGraphicsUnregisterResource(CUgraphicsResource resource) {
    return acu_sim_cudaGraphicsUnregisterResource(resource_of(resource));
}

cudaError_t acu_sim_cuGraphicsResourceSetMapFlags(CUgraphicsResource resource, unsigned int flags) {
    return acu_sim_cudaGraphicsResourceSetMapFlags(resource_of(resource), flags);
}

cudaError_t acu_sim_cuGraphicsMapResources(unsigned int count, CUgraphicsResource *resources,
                                           CUstream hStream) {
    return acu_sim_cudaGraphicsMapResources((int)count, list_of(resources), hStream);
}

cudaError_t acu_sim_cuGraphicsUnmapResources(unsigned int count, CUgraphicsResource *resources,
                                             CUstream hStream) {
    return acu_sim_cudaGraphicsUnmapResources((int)count, list_of(resources), hStream);
}

cudaError_t acu_sim_cuGraphicsResourceGetMappedPointer(CUdeviceptr *pDevPtr, size_t *pSize,
                                                       CUgraphicsResource resource) {
    void *at = NULL;
    SIM_TRY(acu_sim_cudaGraphicsResourceGetMappedPointer(&at, pSize, resource_of(resource)));
    if (pDevPtr)
        *pDevPtr = (CUdeviceptr)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t acu_sim_cuGraphicsSubResourceGetMappedArray(CUarray *pArray,
                                                        CUgraphicsResource resource,
                                                        unsigned int arrayIndex,
                                                        unsigned int mipLevel) {
    return acu_sim_cudaGraphicsSubResourceGetMappedArray(
        (cudaArray_t *)(void *)pArray, resource_of(resource), arrayIndex, mipLevel);
}

cudaError_t acu_sim_cuGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray *pMipmappedArray,
                                                              CUgraphicsResource resource) {
    return acu_sim_cudaGraphicsResourceGetMappedMipmappedArray(
        (cudaMipmappedArray_t *)(void *)pMipmappedArray, resource_of(resource));
}
