// Divergence: nested loops, early returns, switch tables, warp votes within branches, locks between lanes, barriers
// whose threads arrive from different places.
#include "check.h"
#include <vector>

__global__ void collatz(int *out, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int steps = 0;
    for (long n = i + 1; n != 1; steps++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    out[i] = steps;
}

__global__ void machine(const unsigned char *program, int length, int *out) {
    int x = threadIdx.x, y = blockIdx.x, steps = 0;
    for (int at = threadIdx.x % length; steps < 200; steps++) {
        switch (program[at] % 9) {
        case 0: x += 3; break;
        case 1: y ^= x; break;
        case 2: x = x * 5 + 1; break;
        case 3: if (y & 1) at = (at + 7) % length; break;
        case 4: y = y / 3 + x; break;
        case 5: x = __popc(x) + y; break;
        case 6: if ((x ^ y) % 31 == 0) goto done; break;
        case 7: y -= steps; break;
        default: x = y - x; break;
        }
        at = (at + 1) % length;
    }
done:
    out[blockIdx.x * blockDim.x + threadIdx.x] = x ^ y << 7 ^ steps;
}

__global__ void votes(unsigned *out) {
    unsigned lane = threadIdx.x % 32, mask = __activemask();
    if (lane < 20) {
        unsigned odd = __ballot_sync(0x000fffff, lane & 1);
        unsigned next = __shfl_up_sync(0x000fffff, lane * 3, 2);
        unsigned same = __match_any_sync(0x000fffff, lane / 4);
        out[threadIdx.x] = odd ^ next << 20 ^ same * 3;
    } else {
        out[threadIdx.x] = __reduce_add_sync(0xfff00000, lane) + __all_sync(0xfff00000, lane > 19);
    }
    if (mask == 0)
        out[threadIdx.x] = 0;
}

__device__ int lock, guarded;

__global__ void locks() {
    for (bool done = false; !done;)
        if (atomicCAS(&lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)&guarded = *(volatile int *)&guarded + 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
}

__global__ void counts(int *out) {
    int all = 0;
    if (threadIdx.x < 64)
        all = __syncthreads_count(threadIdx.x % 3 == 0);
    else
        all = __syncthreads_count(threadIdx.x % 5 == 0);
    out[threadIdx.x] = all + __syncthreads_or(threadIdx.x == 100) + __syncthreads_and(threadIdx.x < 100);
}

static int run(const unsigned char *program, int length, int x, int y) {
    int steps = 0;
    for (int at = x % length; steps < 200; steps++) {
        int operation = program[at] % 9;
        if (operation == 0)
            x += 3;
        else if (operation == 1)
            y ^= x;
        else if (operation == 2)
            x = (int)((unsigned)x * 5 + 1);
        else if (operation == 3)
            at = y & 1 ? (at + 7) % length : at;
        else if (operation == 4)
            y = (int)((unsigned)(y / 3) + x);
        else if (operation == 5)
            x = (int)((unsigned)__builtin_popcount(x) + y);
        else if (operation == 6 && (x ^ y) % 31 == 0)
            break;
        else if (operation == 7)
            y = (int)((unsigned)y - steps);
        else if (operation == 8)
            x = (int)((unsigned)y - x);
        at = (at + 1) % length;
    }
    return x ^ (int)((unsigned)y << 7) ^ steps;
}

int main() {
    const int count = 2000;
    std::vector<int> result(count);
    int *out = on_device<int>(count);
    long wrong = 0;
    collatz<<<(count + 95) / 96, 96>>>(out, count);
    to_host(result.data(), out, count);
    for (int i = 0; i < count; i++) {
        int steps = 0;
        for (long n = i + 1; n != 1; steps++)
            n = n % 2 ? 3 * n + 1 : n / 2;
        wrong += result[i] != steps;
    }
    std::vector<unsigned char> program(61);
    std::uint32_t state = 4;
    for (auto &byte : program)
        byte = next_random(state);
    unsigned char *code = on_device(program.size(), program.data());
    machine<<<6, 96>>>(code, program.size(), out);
    to_host(result.data(), out, 576);
    for (int i = 0; i < 576; i++)
        wrong += result[i] != run(program.data(), program.size(), i % 96, i / 96);
    votes<<<1, 64>>>((unsigned *)out);
    to_host(result.data(), out, 64);
    for (int i = 0; i < 64; i++) {
        unsigned lane = i % 32, next = lane < 2 ? lane : lane - 2;
        unsigned right = lane < 20 ? 0xaaaaau ^ next * 3 << 20 ^ (15u << lane / 4 * 4) * 3 : 306 + 1;
        wrong += (unsigned)result[i] != right;
    }
    locks<<<4, 96>>>();
    CALL(cudaDeviceSynchronize());
    int total = 0;
    CALL(cudaMemcpyFromSymbol(&total, guarded, sizeof total));
    wrong += total != 384;
    counts<<<1, 128>>>(out);
    to_host(result.data(), out, 128);
    for (int i = 0; i < 128; i++)
        wrong += result[i] != 22 + 13 + 1;
    return finish("divergence", wrong);
}
