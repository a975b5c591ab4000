// Kernels that launch kernels: recursion, streams, tails, and what the device runtime answers.
// options: -rdc=true -arch=compute_80 -code=compute_80 -lcudadevrt
#include "check.h"

// Sorts by quicksort: each part is a child in a stream of its own.
__global__ void sort_part(unsigned *data, int left, int right, int depth) {
    if (right - left < 16 || depth == 30) {
        for (int i = left; i <= right; i++)
            for (int k = i + 1; k <= right; k++)
                if (data[k] < data[i]) {
                    unsigned kept = data[i];
                    data[i] = data[k];
                    data[k] = kept;
                }
        return;
    }
    unsigned pivot = data[(left + right) / 2];
    int low = left, high = right;
    while (low <= high) {
        while (data[low] < pivot)
            low++;
        while (data[high] > pivot)
            high--;
        if (low <= high) {
            unsigned kept = data[low];
            data[low++] = data[high];
            data[high--] = kept;
        }
    }
    cudaStream_t stream;
    if (left < high) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        sort_part<<<1, 1, 0, stream>>>(data, left, high, depth + 1);
        cudaStreamDestroy(stream);
    }
    if (low < right) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        sort_part<<<1, 1, 0, stream>>>(data, low, right, depth + 1);
        cudaStreamDestroy(stream);
    }
}

// Every thread launches a block, which has dynamic shared memory and adds up.
__global__ void add_up(int *sum, int first) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = first + threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        for (unsigned n = 0; n < blockDim.x; n++)
            atomicAdd(sum, shared[n]);
}

__global__ void many(int *sum) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    add_up<<<1, 32, 32 * sizeof(int)>>>(sum, 32 * thread);
}

__global__ void note(int *list, int what) {
    list[++list[0]] = what;
}

// A tail comes after the grid's other children.
__global__ void in_order(int *list) {
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 3);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 4);
    note<<<1, 1>>>(list, 1);
    note<<<1, 1>>>(list, 2);
}

// A kernel that goes on as its own tail.
__global__ void chain(int *list, int left) {
    list[0] += left;
    if (left)
        chain<<<1, 1, 0, cudaStreamTailLaunch>>>(list, left - 1);
}

__global__ void copies(int *to, int *from) {
    cudaEvent_t event;
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    note<<<1, 1, 0, stream>>>(from, 77);
    cudaEventRecord(event, stream);
    cudaStreamWaitEvent(0, event, 0);
    cudaMemcpyAsync(to, from, 8, cudaMemcpyDeviceToDevice, 0);
    cudaMemsetAsync(to + 2, 0, 4, 0); // other values are zeros, too, on an H200 with driver 580
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
}

// What is wrong, and who is told.
__global__ void answers(int *out) {
    int device = -1, count = -1, size = -1, local = 5;
    note<<<1, 2000>>>(out, 1);
    out[0] = threadIdx.x ? 0 : cudaPeekAtLastError();
    out[1] = cudaGetLastError();
    out[2] = cudaGetLastError();
    note<<<0, 1>>>(out, 1);
    out[3] = cudaGetLastError();
    out[4] = cudaMemcpyAsync(out, &local, 4, cudaMemcpyDeviceToDevice, 0);
    out[5] = cudaMemcpyAsync(out, out + 1, 4, cudaMemcpyHostToDevice, 0);
    out[6] = cudaGetDevice(&device) + device;
    out[7] = cudaGetDeviceCount(&count) + (count < 1);
    out[8] = cudaDeviceGetAttribute(&size, cudaDevAttrWarpSize, 0) + size;
    out[9] = cudaDeviceGetAttribute(&size, cudaDevAttrWarpSize, 999);
    out[10] = cudaGetErrorName(cudaErrorInvalidValue)[9];
    void *memory = nullptr;
    out[11] = cudaMalloc(&memory, 100) + (memory == nullptr);
    out[12] = cudaFree(memory);
}

int main() {
    const int sorted = 3000;
    unsigned state = 1, *numbers = new unsigned[sorted];
    long wrong = 0;
    for (int n = 0; n < sorted; n++)
        numbers[n] = next_random(state);
    unsigned *data = on_device(sorted, numbers);
    sort_part<<<1, 1>>>(data, 0, sorted - 1, 0);
    to_host(numbers, data, sorted);
    for (int n = 1; n < sorted; n++)
        wrong += numbers[n - 1] > numbers[n];
    int *list = on_device<int>(16), found[16];
    many<<<4, 64>>>(list);
    to_host(found, list, 1);
    wrong += found[0] != 8191 * 8192 / 2;
    CALL(cudaMemset(list, 0, 64));
    in_order<<<1, 1>>>(list);
    to_host(found, list, 5);
    wrong += found[0] != 4;
    for (int n = 1; n < 5; n++)
        wrong += found[n] != n;
    CALL(cudaMemset(list, 0, 64));
    chain<<<1, 1>>>(list, 100);
    to_host(found, list, 1);
    wrong += found[0] != 5050;
    CALL(cudaMemset(list, 0, 64));
    CALL(cudaMemset(list + 10, 0x11, 8));
    copies<<<1, 1>>>(list + 8, list);
    to_host(found, list, 16);
    wrong += (found[8] != 1) + (found[9] != 77) + (found[10] != 0) + (found[11] != 0x11111111);
    answers<<<1, 1>>>(list);
    to_host(found, list, 13);
    const int right[] = {9, 9, 0, 9, 1, 21, 0, 0, 32, 101, 'I', 0, 0};
    for (int n = 0; n < 13; n++)
        if (found[n] != right[n]) {
            std::fprintf(stderr, "answer %d is %d, not %d\n", n, found[n], right[n]);
            wrong++;
        }
    return finish("children", wrong);
}
