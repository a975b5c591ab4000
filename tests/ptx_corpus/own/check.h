/* What the programs of this folder share: a call that must succeed, random numbers, and the last
 * line. */
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CALL(call)                                                                                 \
    do {                                                                                           \
        cudaError_t result_ = (call);                                                              \
        if (result_ != cudaSuccess) {                                                              \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                     \
                         cudaGetErrorString(result_));                                             \
            std::exit(2);                                                                          \
        }                                                                                          \
    } while (0)

/* The next of a sequence that is the same everywhere. */
inline std::uint32_t next_random(std::uint32_t &state) {
    state = state * 1664525u + 1013904223u;
    return state >> 3;
}

/* Device memory for `count` elements, zero, or a copy of `from`. */
template <typename T> T *on_device(size_t count, const T *from = nullptr) {
    T *memory = nullptr;
    CALL(cudaMalloc(&memory, count * sizeof(T)));
    if (from)
        CALL(cudaMemcpy(memory, from, count * sizeof(T), cudaMemcpyHostToDevice));
    else
        CALL(cudaMemset(memory, 0, count * sizeof(T)));
    CALL(cudaStreamSynchronize(0)); // with --default-stream per-thread other streams do not wait
    return memory;
}

template <typename T> void to_host(T *to, const T *from, size_t count) {
    CALL(cudaGetLastError());
    CALL(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyDeviceToHost));
}

inline int finish(const char *name, long wrong) {
    std::printf(wrong ? "FAILED %s: %ld wrong\n" : "PASSED %s\n", name, wrong);
    return wrong ? 1 : 0;
}
