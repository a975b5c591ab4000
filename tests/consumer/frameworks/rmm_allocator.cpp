// RMM's memory resource in C++ over libanycuda-allocator.so, without a call of CUDA: RMM passes a
// cuda::stream_ref on, and what returns NULL must throw, or the NULL is the program's.
#include <cstdio>
#include <rmm/error.hpp>
#include <rmm/mr/callback_memory_resource.hpp>

extern "C" void *acu_plugin_rmm_allocate(std::size_t bytes, cudaStream_t stream, void *unused);
extern "C" void acu_plugin_rmm_deallocate(void *pointer, std::size_t bytes, cudaStream_t stream,
                                          void *unused);

static void *allocate(std::size_t bytes, cuda::stream_ref stream, void *) {
    void *pointer = acu_plugin_rmm_allocate(bytes, stream.get(), nullptr);
    if (bytes > 0 && !pointer)
        throw rmm::out_of_memory("anycuda has no room");
    return pointer;
}

static void deallocate(void *pointer, std::size_t bytes, cuda::stream_ref stream, void *) {
    acu_plugin_rmm_deallocate(pointer, bytes, stream.get(), nullptr);
}

int main() {
    rmm::mr::callback_memory_resource resource(allocate, deallocate);
    const cuda::stream_ref stream{cudaStream_t{}};
    void *first = resource.allocate(stream, 100000, 256);
    resource.deallocate(stream, first, 100000, 256);
    void *second = resource.allocate(stream, 100000, 256);
    resource.deallocate(stream, second, 100000, 256);
    std::puts(first && first == second ? "memory is used again" : "memory is new");
    try {
        std::printf("%p\n", resource.allocate(stream, std::size_t{1} << 60, 256));
    } catch (const rmm::out_of_memory &) {
        std::puts("no room is an exception");
    }
}
