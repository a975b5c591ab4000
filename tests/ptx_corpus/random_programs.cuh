/*
 * What random programs share. Their functions are compiled for a GPU and for the host, and must compute the same there.
 * On the host, threads of a block are fibers: one runs until it waits for others, then the next one does. All
 * arithmetic is defined: integers wrap, shifts and divisions are limited, NaNs have one representation.
 */
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <map>
#include <type_traits>
#include <ucontext.h>
#include <vector>

#define BOTH __host__ __device__
using u8 = uint8_t;
using s8 = int8_t;
using u16 = uint16_t;
using s16 = int16_t;
using u32 = uint32_t;
using s32 = int32_t;
using u64 = unsigned long long;
using s64 = long long;
using f32 = float;
using f64 = double;
using f16 = __half;
using bf16 = __nv_bfloat16;

enum { THREADS = 80, BLOCKS = 2, WORDS = 32, MOST_PRINTED = 8 }; // the last warp is not full

/* What a block shares. `mine` and its like belong to one thread, `sums` to all. */
struct block {
    u32 mine[THREADS][8];
    u32 sums[8];
    u64 wide_sums[4];
    int lock;
};

struct thread {
    const u32 *in; // WORDS words of this thread
    u32 *out;      // WORDS words of this thread, aligned to 128 bytes
    u32 *total;    // 8 words of all threads
    block *shared;
    u32 id, block_id;
};

/* ---- fibers ---- */

struct fibers {
    ucontext_t scheduler, fiber[THREADS];
    std::vector<char> stack[THREADS];
    bool ended[THREADS];
    u32 now, barriers[THREADS];
    u64 value[THREADS];
    std::map<u32, u32> arrived[THREADS / 32 + 1], own[THREADS]; // by mask
    void (*body)(thread &);
    thread threads[THREADS];
};
static fibers *host;

static inline void host_pause() {
    swapcontext(&host->fiber[host->now], &host->scheduler);
}

static inline void host_barrier() {
    u32 want = ++host->barriers[host->now];
    for (u32 i = 0; i < THREADS; i++)
        while (host->barriers[i] < want)
            host_pause();
}

/* Waits until all lanes of a mask are here. */
static inline void host_meet(u32 mask) {
    u32 want = __builtin_popcount(mask) * ++host->own[host->now][mask];
    u32 &arrived = host->arrived[host->now / 32][mask];
    arrived++;
    while (arrived < want)
        host_pause();
}

/* ---- what threads do with each other ---- */

BOTH inline void meet_block() {
#ifdef __CUDA_ARCH__
    __syncthreads();
#else
    host_barrier();
#endif
}

BOTH inline u32 warp_mask(const thread &t) {
    return t.id / 32 < THREADS / 32 ? 0xffffffff : (1u << THREADS % 32) - 1;
}

/* A lane of a mask. */
BOTH inline u32 lane_of(u32 mask, u32 n) {
    n %= 32;
    while (!(mask >> n & 1))
        n = (n + 1) % 32;
    return n;
}

#ifdef __CUDA_ARCH__
BOTH inline u32 ballot(u32 mask, bool is) {
    return __ballot_sync(mask, is);
}
template <class T> BOTH inline T from_lane(u32 mask, T value, u32 n) {
    return __shfl_sync(mask, value, lane_of(mask, n));
}
BOTH inline u32 sum_of(u32 mask, u32 value) {
    return __reduce_add_sync(mask, value);
}
BOTH inline u32 same_as(u32 mask, u32 value) {
    return __match_any_sync(mask, value);
}
BOTH inline void meet(u32 mask) {
    __syncwarp(mask);
}
template <class T> BOTH inline void add_to(T *sum, T value) {
    atomicAdd(sum, value);
}
BOTH inline void xor_to(u32 *sum, u32 value) {
    atomicXor(sum, value);
}
BOTH inline void max_to(u32 *sum, u32 value) {
    atomicMax(sum, value);
}
BOTH inline void lock(block *b) {
    while (atomicCAS(&b->lock, 0, 1))
        ;
    __threadfence();
}
BOTH inline void unlock(block *b) {
    __threadfence();
    atomicExch(&b->lock, 0);
}
#else
template <class R, class F> inline R exchange(u32 mask, u64 value, F of) {
    host->value[host->now] = value;
    host_meet(mask);
    R result = of(&host->value[host->now / 32 * 32]);
    host_meet(mask);
    return result;
}
inline u32 ballot(u32 mask, bool is) {
    return exchange<u32>(mask, is, [=](const u64 *v) {
        u32 all = 0;
        for (u32 i = 0; i < 32; i++)
            all |= (mask >> i & 1 && v[i]) << i;
        return all;
    });
}
template <class T> inline T from_lane(u32 mask, T value, u32 n) {
    u64 bits = 0;
    memcpy(&bits, &value, sizeof value);
    return exchange<T>(mask, bits, [=](const u64 *v) {
        T result;
        memcpy(&result, &v[lane_of(mask, n)], sizeof result);
        return result;
    });
}
inline u32 sum_of(u32 mask, u32 value) {
    return exchange<u32>(mask, value, [=](const u64 *v) {
        u32 sum = 0;
        for (u32 i = 0; i < 32; i++)
            sum += mask >> i & 1 ? (u32)v[i] : 0;
        return sum;
    });
}
inline u32 same_as(u32 mask, u32 value) {
    return exchange<u32>(mask, value, [=](const u64 *v) {
        u32 all = 0;
        for (u32 i = 0; i < 32; i++)
            all |= (mask >> i & 1 && v[i] == value) << i;
        return all;
    });
}
inline void meet(u32 mask) {
    host_meet(mask);
}
template <class T> inline void add_to(T *sum, T value) {
    *sum += value;
}
inline void xor_to(u32 *sum, u32 value) {
    *sum ^= value;
}
inline void max_to(u32 *sum, u32 value) {
    *sum = value > *sum ? value : *sum;
}
inline void lock(block *) {}
inline void unlock(block *) {}
#endif

/* ---- arithmetic ---- */

template <class T> using wide = std::conditional_t<sizeof(T) == 8, u64, u32>;
template <class T> BOTH inline T add(T a, T b) {
    return (T)((wide<T>)a + (wide<T>)b);
}
template <class T> BOTH inline T sub(T a, T b) {
    return (T)((wide<T>)a - (wide<T>)b);
}
template <class T> BOTH inline T mul(T a, T b) {
    return (T)((wide<T>)a * (wide<T>)b);
}
template <class T> BOTH inline T divide(T a, T b) {
    return b == 0 || (std::is_signed_v<T> && b == (T)-1) ? a : (T)(a / b);
}
template <class T> BOTH inline T remainder(T a, T b) {
    return b == 0 || (std::is_signed_v<T> && b == (T)-1) ? a : (T)(a % b);
}
template <class T> BOTH inline T left(T a, u32 by) {
    return (T)((wide<T>)a << by % (8 * sizeof(T)));
}
template <class T> BOTH inline T right(T a, u32 by) {
    return (T)(a >> by % (8 * sizeof(T)));
}
template <class T> BOTH inline T least(T a, T b) {
    return b < a ? b : a;
}
template <class T> BOTH inline T most(T a, T b) {
    return a < b ? b : a;
}
BOTH inline u32 high(u32 a, u32 b) {
    return (u32)((u64)a * b >> 32);
}
BOTH inline u32 bits(f32 x) {
    u32 b;
    memcpy(&b, &x, 4);
    return x == x ? b : 0x7fc00000;
}
BOTH inline u32 bits(f64 x) {
    u64 b;
    memcpy(&b, &x, 8);
    return x == x ? (u32)(b >> 32) * 31 + (u32)b : 0x7fc00000;
}
BOTH inline u32 bits(f16 x) {
    u16 b;
    memcpy(&b, &x, 2);
    return (b & 0x7fff) > 0x7c00 ? 0x7fff : b;
}
BOTH inline u32 bits(bf16 x) {
    u16 b;
    memcpy(&b, &x, 2);
    return (b & 0x7fff) > 0x7f80 ? 0x7fff : b;
}
template <class T> BOTH inline std::enable_if_t<std::is_integral_v<T>, u32> bits(T x) {
    return (u32)x ^ (u32)((u64)x >> 32);
}
#ifdef NUMBERS
/* A program that is compared with itself alone has more: functions whose results nobody else's are, and what is
 * subnormal, or nearly. */
BOTH inline f32 varied(f32 a, u32 how) {
    switch (how % 16) {
    case 0: return a * 0x1p-127f;
    case 1: return fmaf(a, 0x1p-128f, -0x1p-126f);
    case 2: return fminf(a, 0x1p-126f);
    case 3: return 1 / (a * 0x1p120f);
    case 4: return sqrtf(fabsf(a));
    case 5: return rsqrtf(a);
    case 6: return expf(a);
    case 7: return logf(a);
    case 8: return floorf(a) + rintf(0.3f * a);
    case 9: return fminf(fmaxf(a * 0.01f, 0), 1);
    case 10: return sinf(a);
    case 11: return powf(a, 0.3f);
    default: return a;
    }
}
#else
BOTH inline f32 varied(f32 a, u32) {
    return a;
}
#endif
/* Small numbers of floating point, from any integer. */
BOTH inline f32 small32(u32 x) {
    return varied((f32)(s32)(x % 4001 - 2000) * 0.25f, x >> 16);
}
BOTH inline f64 small64(u32 x) {
    return (f64)(s32)(x % 400001 - 200000) * 0.125;
}
/* An integer of a number, where it has one. */
template <class F> BOTH inline s32 whole(F x) {
    return x > (F)-1e9 && x < (F)1e9 ? (s32)x : 77;
}

/* ---- types, and assembly ---- */

struct loose {
    u8 a;
    u64 b;
    s16 c;
    s32 d;
    u16 e;
    u8 f;
};
struct __attribute__((packed)) tight {
    u8 a;
    u64 b;
    s16 c;
    s32 d;
    u16 e;
    u8 f;
};
static __noinline__ BOTH loose turned(loose s, u32 by) {
    s.b = s.b << (by & 31) | s.d;
    s.c ^= (s16)by;
    s.a += s.f;
    s.e = (u16)(s.e + by);
    return s;
}

struct shape {
    BOTH shape() {}
    BOTH virtual u32 of(u32 x) const = 0;
};
struct adder : shape {
    u32 by;
    BOTH adder(u32 n) : by(n) {}
    BOTH u32 of(u32 x) const override { return x + by; }
};
struct turner : shape {
    u32 by;
    BOTH turner(u32 n) : by(n) {}
    BOTH u32 of(u32 x) const override { return x * 33 ^ x >> 7 ^ by; }
};

#ifdef __CUDA_ARCH__
BOTH inline u32 three(u32 a, u32 b, u32 c) {
    u32 r;
    asm("{ .reg .pred p; setp.lt.s32 p, %1, %2;\n"
        "@p lop3.b32 %0, %1, %2, %3, 0x96; @!p sub.u32 %0, %1, %3; }"
        : "=r"(r)
        : "r"(a), "r"(b), "r"(c));
    return r;
}
BOTH inline u32 shifted(u32 a, u32 b, u32 c) {
    u32 r;
    asm volatile("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
BOTH inline u32 bytes(u32 a, u32 b, u32 c) {
    u32 r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c & 0x7777));
    return r;
}
BOTH inline u32 field(u32 a, u32 b, u32 c) {
    u32 r;
    asm("bfi.b32 %0, %1, %2, %3, 8;" : "=r"(r) : "r"(a), "r"(b), "r"(c & 15));
    return r;
}
#else
inline u32 three(u32 a, u32 b, u32 c) {
    return (s32)a < (s32)b ? a ^ b ^ c : a - c;
}
inline u32 shifted(u32 a, u32 b, u32 c) {
    return (u32)(((u64)b << 32 | a) << (c & 31) >> 32);
}
inline u32 bytes(u32 a, u32 b, u32 c) {
    u64 both = (u64)b << 32 | a;
    u32 r = 0;
    for (u32 i = 0; i < 4; i++)
        r |= (u32)(both >> 8 * (c >> 4 * i & 7) & 255) << 8 * i;
    return r;
}
inline u32 field(u32 a, u32 b, u32 c) {
    c &= 15;
    return (b & ~(255u << c)) | (a & 255) << c;
}
#endif

/* ---- running ---- */

static void host_start() {
    thread t = host->threads[host->now];
    host->body(t);
    host->ended[host->now] = true;
    host_pause();
}

static void run_host(void (*body)(thread &), const u32 *in, u32 *out, u32 *total) {
    for (u32 b = 0; b < BLOCKS; b++) {
        static block shared;
        memset(&shared, 0, sizeof shared);
        host = new fibers();
        host->body = body;
        for (u32 i = 0; i < THREADS; i++) {
            u32 at = (b * THREADS + i) * WORDS;
            host->threads[i] = {in + at, out + at, total, &shared, i, b};
            host->stack[i].resize(1 << 16);
            getcontext(&host->fiber[i]);
            host->fiber[i].uc_stack.ss_sp = host->stack[i].data();
            host->fiber[i].uc_stack.ss_size = host->stack[i].size();
            makecontext(&host->fiber[i], host_start, 0);
        }
        for (bool more = true; more;) {
            more = false;
            for (u32 i = 0; i < THREADS; i++)
                if (!host->ended[i]) {
                    more = true;
                    host->now = i;
                    swapcontext(&host->scheduler, &host->fiber[i]);
                }
        }
        delete host;
    }
}

#define KERNEL(n)                                                                                  \
    static __global__ void kernel_##n(const u32 *in, u32 *out, u32 *total) {                       \
        __shared__ block shared;                                                                   \
        for (u32 i = threadIdx.x; i < sizeof shared / 4; i += THREADS)                             \
            ((u32 *)&shared)[i] = 0;                                                               \
        __syncthreads();                                                                           \
        u32 at = (blockIdx.x * THREADS + threadIdx.x) * WORDS;                                     \
        thread t = {in + at, out + at, total, &shared, threadIdx.x, blockIdx.x};                   \
        body_##n(t);                                                                               \
    }

/* Prints a number of words that a kernel computed. */
static inline void print_number(int number, const u32 *words, u32 count) {
    u64 all = 0xcbf29ce484222325;
    for (u32 i = 0; i < count; i++)
        all = (all ^ words[i]) * 0x100000001b3;
    printf("kernel %d: %016llx\n", number, all);
}

/* Runs a kernel on the device and on the host; prints where they differ, and returns whether they do. With NUMBERS it
 * runs on the device alone. */
static bool differs(int number, void (*kernel)(const u32 *, u32 *, u32 *), void (*body)(thread &)) {
    const u32 words = BLOCKS * THREADS * WORDS;
    static u32 in[words], out[words], want[words], total[8], want_total[8];
    u32 *d_in, *d_out, *d_total, x = 12345 + number;
    for (u32 &word : in) {
        x = x * 1664525 + 1013904223;
        word = x >> 9 & 3 ? x >> 8 | x << 24 : x >> 28;
    }
    memset(want, 0, sizeof want);
    memset(want_total, 0, sizeof want_total);
#ifndef NUMBERS
    run_host(body, in, want, want_total);
#endif
    cudaMalloc(&d_in, sizeof in);
    cudaMalloc(&d_out, sizeof out);
    cudaMalloc(&d_total, sizeof total);
    cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice);
    cudaMemset(d_out, 0, sizeof out);
    cudaMemset(d_total, 0, sizeof total);
    kernel<<<BLOCKS, THREADS>>>(d_in, d_out, d_total);
    cudaError_t error = cudaDeviceSynchronize();
    if (error) {
        printf("kernel %d: %s\n", number, cudaGetErrorName(error));
        return true;
    }
    cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost);
    cudaMemcpy(total, d_total, sizeof total, cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
    cudaFree(d_total);
#ifdef NUMBERS
    (void)body;
    print_number(number, out, words);
    print_number(number, total, 8);
    return false;
#endif
    u32 different = 0;
    for (u32 i = 0; i < words; i++)
        if (out[i] != want[i] && different++ < MOST_PRINTED)
            printf("kernel %d: block %u, thread %u, word %u is 0x%08x instead of 0x%08x\n", number,
                   i / WORDS / THREADS, i / WORDS % THREADS, i % WORDS, out[i], want[i]);
    for (u32 i = 0; i < 8; i++)
        if (total[i] != want_total[i] && different++ < MOST_PRINTED)
            printf("kernel %d: sum %u is 0x%08x instead of 0x%08x\n", number, i, total[i],
                   want_total[i]);
    return different;
}
