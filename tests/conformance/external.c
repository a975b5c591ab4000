/* What is no semaphore's and no memory of another API. There is none to import the right ones from.
 */
#include "conformance.h"

#include <unistd.h>

/* A descriptor of something else; -1 if there is none. */
static int other_file(void) {
    int ends[2];
    if (pipe(ends))
        return -1;
    (void)close(ends[1]);
    return ends[0];
}

CASE(what_is_no_semaphore) {
    cudaExternalSemaphore_t semaphore = NULL;
    struct cudaExternalSemaphoreHandleDesc desc = {.type = cudaExternalSemaphoreHandleTypeOpaqueFd};
    desc.handle.fd = other_file();
    IS(cudaImportExternalSemaphore(&semaphore, &desc) != cudaSuccess);
    SAYS(cudaErrorUnknown, cudaImportExternalSemaphore(&semaphore, &desc));
    desc.type = cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd;
    IS(cudaImportExternalSemaphore(&semaphore, &desc) != cudaSuccess);
    SAYS(cudaErrorUnknown, cudaImportExternalSemaphore(&semaphore, &desc));
    EQUAL(close(desc.handle.fd), 0); /* it is still the program's */
    desc.handle.fd = -1;
    IS(cudaImportExternalSemaphore(&semaphore, &desc) != cudaSuccess);
    SAYS(cudaErrorInvalidValue, cudaImportExternalSemaphore(&semaphore, &desc));
    desc.type = cudaExternalSemaphoreHandleTypeOpaqueWin32;
    SAYS(cudaErrorNotSupported, cudaImportExternalSemaphore(&semaphore, &desc));
    desc.type = (enum cudaExternalSemaphoreHandleType)99;
    SAYS(cudaErrorInvalidValue, cudaImportExternalSemaphore(&semaphore, &desc));
    (void)cudaGetLastError();
}

CASE(what_is_no_memory) {
    cudaExternalMemory_t memory = NULL;
    struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                .size = MIB};
    desc.handle.fd = other_file();
    IS(cudaImportExternalMemory(&memory, &desc) != cudaSuccess);
    SAYS(cudaErrorUnknown, cudaImportExternalMemory(&memory, &desc));
    EQUAL(close(desc.handle.fd), -1); /* CUDA has taken it all the same */
    desc.handle.fd = -1;
    IS(cudaImportExternalMemory(&memory, &desc) != cudaSuccess);
    SAYS(cudaErrorUnknown, cudaImportExternalMemory(&memory, &desc));
    desc.size = 0;
    SAYS(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    desc.size = MIB;
    desc.type = cudaExternalMemoryHandleTypeOpaqueWin32;
    SAYS(cudaErrorNotSupported, cudaImportExternalMemory(&memory, &desc));
    desc.type = (enum cudaExternalMemoryHandleType)99;
    SAYS(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    (void)cudaGetLastError();
}

CASE(nodes_without_semaphores) {
    cudaGraph_t graph = NULL;
    cudaGraphNode_t signal = NULL, wait = NULL;
    const struct cudaExternalSemaphoreSignalNodeParams none = {NULL, NULL, 0};
    const struct cudaExternalSemaphoreWaitNodeParams nothing = {NULL, NULL, 0};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddExternalSemaphoresSignalNode(&signal, graph, NULL, 0, &none));
    OK(cudaGraphAddExternalSemaphoresWaitNode(&wait, graph, NULL, 0, &nothing));
    SAYS(cudaSuccess, cudaGraphExternalSemaphoresSignalNodeSetParams(signal, &none));
    SAYS(cudaSuccess, cudaGraphExternalSemaphoresWaitNodeSetParams(wait, &nothing));
    SAYS(cudaErrorInvalidValue, cudaSignalExternalSemaphoresAsync(NULL, NULL, 0, NULL));
    SAYS(cudaErrorInvalidValue, cudaWaitExternalSemaphoresAsync(NULL, NULL, 0, NULL));
    (void)cudaGetLastError();
    OK(cudaGraphDestroy(graph));
}
