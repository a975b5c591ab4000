// Atomics of all types and operations in shared and global memory, with and without results.
#include "check.h"
#include <cuda_fp16.h>
#include <vector>

struct Cells {
    int add, sub, least, most, exchange, all, any, parity;
    unsigned increment, decrement, greatest;
    unsigned long long wide, largest, swapped;
    float real;
    double precise;
    __half2 pair;
};

__device__ void update(Cells *cells, int i) {
    atomicAdd(&cells->add, i);
    atomicSub(&cells->sub, i);
    atomicMin(&cells->least, 500 - i);
    atomicMax(&cells->most, i * 3 % 257);
    atomicAnd(&cells->all, ~(1 << i % 7));
    atomicOr(&cells->any, 1 << i % 29);
    atomicXor(&cells->parity, i);
    atomicInc(&cells->increment, 99);
    atomicDec(&cells->decrement, 77);
    atomicMax(&cells->greatest, (unsigned)i * 2654435761u);
    atomicAdd(&cells->wide, 0x100000001ULL * i);
    atomicMax(&cells->largest, (unsigned long long)i << 33);
    atomicAdd(&cells->real, float(i));
    atomicAdd(&cells->precise, i * 0.5);
    atomicAdd(&cells->pair, __floats2half2_rn(1.0f, 2.0f));
    for (unsigned long long old = cells->swapped, seen; (seen = atomicCAS(&cells->swapped, old, old + i)) != old;)
        old = seen;
}

__global__ void globals(Cells *cells) {
    update(cells, blockIdx.x * blockDim.x + threadIdx.x);
    atomicAdd_system(&cells->exchange, 1);
}

__global__ void shared(Cells *cells) {
    __shared__ Cells mine;
    if (threadIdx.x == 0)
        mine = cells[blockIdx.x];
    __syncthreads();
    update(&mine, threadIdx.x);
    atomicAdd_block(&mine.exchange, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        cells[blockIdx.x] = mine;
}

__global__ void order(int *counter, int *places) { places[atomicAdd(counter, 1)] = blockIdx.x * blockDim.x + threadIdx.x; }

static long check(const Cells &cells, int count) {
    long sum = (long)count * (count - 1) / 2;
    int least = 500 - (count - 1), most = 0, parity = 0;
    unsigned greatest = 0;
    for (int i = 0; i < count; i++) {
        most = i * 3 % 257 > most ? i * 3 % 257 : most;
        parity ^= i;
        greatest = (unsigned)i * 2654435761u > greatest ? (unsigned)i * 2654435761u : greatest;
    }
    long wrong = cells.add != sum;
    wrong += cells.sub != -sum;
    wrong += cells.least != (least < 0 ? least : 0);
    wrong += cells.most != most || cells.parity != parity || cells.all != 0 || cells.any != (1 << 29) - 1;
    wrong += cells.increment != (unsigned)count % 100;
    wrong += cells.decrement != (78 - (unsigned)count % 78) % 78;
    wrong += cells.greatest != greatest || cells.wide != 0x100000001ULL * sum;
    wrong += cells.largest != (unsigned long long)(count - 1) << 33;
    wrong += cells.real != float(sum) || cells.precise != sum * 0.5 || cells.swapped != (unsigned long long)sum;
    wrong += __low2float(cells.pair) != count || __high2float(cells.pair) != 2 * count || cells.exchange != count;
    return wrong;
}

int main() {
    Cells *cells = on_device<Cells>(3), result[3];
    globals<<<4, 160>>>(cells);
    to_host(result, cells, 1);
    long wrong = check(result[0], 640);
    CALL(cudaMemset(cells, 0, sizeof result));
    shared<<<3, 192>>>(cells);
    to_host(result, cells, 3);
    for (int block = 0; block < 3; block++)
        wrong += check(result[block], 192);
    std::vector<int> places(1000), seen(1000);
    int *counter = on_device<int>(1), *out = on_device<int>(1000);
    order<<<10, 100>>>(counter, out);
    to_host(places.data(), out, 1000);
    for (int place : places)
        wrong += place < 0 || place > 999 || seen[place]++;
    return finish("atomics", wrong);
}
