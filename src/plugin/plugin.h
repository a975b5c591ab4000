/* What libanycuda-allocator.so exports; plugin.map has the same names. */
#ifndef ACU_SRC_PLUGIN_H
#define ACU_SRC_PLUGIN_H

#include <anycuda/allocator.h>

#include <sys/types.h>

#define ACU_EXPORT __attribute__((visibility("default")))

/* ---- PyTorch: CUDAPluggableAllocator, and the functions that it can be given ---- */

ACU_EXPORT void *acu_plugin_allocate(ssize_t size, int device, struct CUstream_st *stream);
ACU_EXPORT void acu_plugin_free(void *pointer, ssize_t size, int device,
                                struct CUstream_st *stream);
ACU_EXPORT void acu_plugin_init(int devices);
ACU_EXPORT void acu_plugin_reset(void);
ACU_EXPORT void acu_plugin_memory_fraction(double fraction, int device);
ACU_EXPORT void acu_plugin_record_stream(void *pointer, struct CUstream_st *stream);
/* PyTorch passes a std::pair of two numbers, as two arguments, and a std::function by its address.
 */
ACU_EXPORT void acu_plugin_begin_pool(int device, uint64_t first, uint64_t second, void *filter);
ACU_EXPORT void acu_plugin_end_pool(int device, uint64_t first, uint64_t second);
ACU_EXPORT void acu_plugin_release_pool(int device, uint64_t first, uint64_t second);

/* ---- RMM: callback_memory_resource; CuPy: CFunctionAllocator, with a stream as its parameter ----
 */

ACU_EXPORT void *acu_plugin_rmm_allocate(size_t bytes, struct CUstream_st *stream, void *unused);
ACU_EXPORT void acu_plugin_rmm_deallocate(void *pointer, size_t bytes, struct CUstream_st *stream,
                                          void *unused);
ACU_EXPORT void *acu_plugin_cupy_malloc(void *stream, size_t bytes, int device);
ACU_EXPORT void acu_plugin_cupy_free(void *stream, void *pointer, int device);

/* ---- figures ---- */

ACU_EXPORT int acu_plugin_get_info(int device, acu_allocator_info *info);

/* ---- a std::function<bool(cudaStream_t)>, as libstdc++ lays it out ---- */

typedef struct acu_plugin_filter {
    void *functor[2];
    bool (*manager)(void *to, const void *from, int what); /* NULL: it is empty */
    bool (*invoker)(const void *functor, struct CUstream_st **stream);
} acu_plugin_filter;

void acu_plugin_filter_copy(acu_plugin_filter *to, const void *from);
void acu_plugin_filter_destroy(acu_plugin_filter *filter);
/* An empty filter wants all streams. */
bool acu_plugin_filter_asks(const acu_plugin_filter *filter, struct CUstream_st *stream);

#endif
