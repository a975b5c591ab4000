/* A file whose default stream is the thread's own. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <anycuda/cudart_table.h>

cudaError_t (*per_thread_memcpy(void))(void *, const void *, size_t, enum cudaMemcpyKind);

cudaError_t (*per_thread_memcpy(void))(void *, const void *, size_t, enum cudaMemcpyKind) {
    acu_cudart_table table;
    return acu_cudart_table_load(&table) == 0 ? table.cudaMemcpy : NULL;
}
