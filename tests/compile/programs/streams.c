/* Two streams that copy and wait for each other, as C programs for the runtime API look. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t err = (call);                                                                  \
        if (err != cudaSuccess) {                                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, cudaGetErrorName(err),          \
                    cudaGetErrorString(err));                                                      \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

static void CUDART_CB finished(cudaStream_t stream, cudaError_t status, void *data) {
    (void)stream;
    *(int *)data = status == cudaSuccess;
}

static void CUDART_CB host_work(void *data) {
    ++*(int *)data;
}

int main(void) {
    enum { N = 1048576 };
    int count = 0, done = 0, worked = 0, least, greatest, value;
    struct cudaDeviceProp prop;
    cudaStream_t streams[2];
    cudaEvent_t start, stop;
    float ms, *host, *dev[2];

    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("no device: %s\n", cudaGetErrorString(cudaGetLastError()));
        return EXIT_SUCCESS;
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDeviceProperties(&prop, 0));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
    printf("%s, %d SMs, compute %d.%d, %d kHz\n", prop.name, prop.multiProcessorCount, prop.major,
           prop.minor, value);
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(cudaStreamCreateWithPriority(&streams[0], cudaStreamNonBlocking, greatest));
    CHECK(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreateWithFlags(&stop, cudaEventDefault));
    CHECK(cudaMallocHost((void **)&host, N * sizeof *host));
    for (int i = 0; i < 2; i++)
        CHECK(cudaMalloc((void **)&dev[i], N * sizeof *host));

    CHECK(cudaEventRecord(start, streams[0]));
    CHECK(cudaMemcpyAsync(dev[0], host, N * sizeof *host, cudaMemcpyHostToDevice, streams[0]));
    CHECK(cudaEventRecord(stop, streams[0]));
    CHECK(cudaStreamWaitEvent(streams[1], stop, 0));
    CHECK(cudaMemcpyAsync(dev[1], dev[0], N * sizeof *host, cudaMemcpyDeviceToDevice, streams[1]));
    CHECK(cudaMemsetAsync(dev[0], 0, N * sizeof *host, streams[1]));
    CHECK(cudaStreamAddCallback(streams[1], finished, &done, 0));
    CHECK(cudaLaunchHostFunc(streams[1], host_work, &worked));
    while (cudaStreamQuery(streams[1]) == cudaErrorNotReady)
        continue;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    printf("%.3f ms, callback %s\n", (double)ms, done && worked == 1 ? "came" : "did not come");

    for (int i = 0; i < 2; i++) {
        CHECK(cudaFree(dev[i]));
        CHECK(cudaStreamDestroy(streams[i]));
    }
    CHECK(cudaFreeHost(host));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    return done && worked == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
