// The host side of the vector addition that everyone writes first, in C++, with the kernel from
// elsewhere.
#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

inline void check(cudaError_t code, const char *what) {
    if (code != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(code) + " (" +
                                 cudaGetErrorString(code) + ")");
}
#define CHECK(call) check(call, #call)

// What nvcc would make of it: a stub whose address is the kernel's name.
__global__ void vectorAdd(const float *a, const float *b, float *c, int n) {
    (void)a;
    (void)b;
    (void)c;
    (void)n;
}

__host__ __device__ __forceinline__ int divide_up(int n, int by) {
    return (n + by - 1) / by;
}

template <typename T> struct device_deleter {
    void operator()(T *pointer) const { (void)cudaFree(pointer); }
};
template <typename T> using device_array = std::unique_ptr<T[], device_deleter<T>>;

template <typename T> device_array<T> allocate(size_t count) {
    T *pointer = nullptr;
    CHECK(cudaMalloc(&pointer, count * sizeof(T)));
    return device_array<T>(pointer);
}

static void add(int n) {
    std::vector<float> host(static_cast<size_t>(n), 1.0f);
    device_array<float> a = allocate<float>(host.size()), b = allocate<float>(host.size()),
                        c = allocate<float>(host.size());
    CHECK(cudaMemcpy(a.get(), host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));

    int grid = 0, block = 0, blocks = 0;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, vectorAdd, 0, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, vectorAdd, block, 0));
    CHECK(cudaFuncSetAttribute(vectorAdd, cudaFuncAttributePreferredSharedMemoryCarveout,
                               cudaSharedmemCarveoutMaxShared));

    const float *pa = a.get(), *pb = b.get();
    float *pc = c.get();
    void *args[] = {&pa, &pb, &pc, &n};
    dim3 threads(static_cast<unsigned>(block)), groups = static_cast<unsigned>(divide_up(n, block));
    CHECK(cudaLaunchKernel(vectorAdd, groups, threads, args, 0, nullptr));
    CHECK(cudaGetLastError());

    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeCooperative;
    attribute[0].val.cooperative = 0;
    cudaLaunchConfig_t config = {};
    config.gridDim = groups;
    config.blockDim = threads;
    config.attrs = attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelEx(&config, vectorAdd, pa, pb, pc, n));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), c.get(), host.size() * sizeof(float), cudaMemcpyDeviceToHost));
}

int main() {
    try {
        int devices = 0;
        CHECK(cudaGetDeviceCount(&devices));
        add(50000);
    } catch (const std::runtime_error &error) {
        std::printf("%s\n", error.what());
    }
    return 0;
}
