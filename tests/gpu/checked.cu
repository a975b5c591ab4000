/*
 * Kernels with one mistake each, and beside each the same kernel without it (NAME and NAME_ok):
 * what compute-sanitizer finds on a GPU, and the simulator's checks. tests/gpu/checked.py compares.
 *
 *     nvcc -std=c++20 -cudart shared -lineinfo -arch=sm_90 checked.cu -o checked
 *     checked --list | checked NAME …
 *
 * --list prints the check that each mistake is for, and its name. Before a case the program prints
 * its name, and behind it the error that CUDA has, on stderr. It ends with 3 at the first error,
 * since nothing works behind that. A kernel is a template of `wrong`; `in` has the numbers 0 to 63
 * unless a function prepares it otherwise, and `out` 256 zeros. An index that is read from `in` is
 * one that the compiler does not know. No mistake keeps a GPU waiting for ever.
 */
#include <cooperative_groups.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <string>

namespace cg = cooperative_groups;

#define KERNEL(name) template <bool wrong> __global__ void name(int *in, int *out)

enum { WORDS = 64, RESULTS = 256, FLAG = 128 };

static __device__ unsigned me() { return threadIdx.x; }

/* ---- memory: one word too far, or nowhere ---- */

KERNEL(read_behind) { out[me()] = in[me() + wrong]; }
KERNEL(write_behind) { in[me() + wrong] = 1; }
KERNEL(read_before) { out[me()] = in[static_cast<int>(me()) - wrong]; }
KERNEL(far_away) { out[me()] = in[me() + (wrong ? 1ll << 32 : 0)]; }
KERNEL(atomic_behind) { atomicAdd(&in[me() + wrong], 1); }
KERNEL(ldg_behind) { out[me()] = __ldg(&in[me() + wrong]); }

/* A pointer that is zero. */
KERNEL(null_pointer) {
    int *at = wrong ? reinterpret_cast<int *>(static_cast<uintptr_t>(in[0])) : in;
    out[me()] = at[me()];
}

/* A word at an odd half. */
KERNEL(misaligned) {
    char *at = reinterpret_cast<char *>(in) + 2 * wrong;
    out[me()] = reinterpret_cast<int *>(at)[me() / 2];
}

/* The last of the vectors is there in part: `short_by_a_word`. */
KERNEL(vector_end) {
    int4 v = reinterpret_cast<int4 *>(in)[me()];
    out[me()] = v.x + v.y + v.z + v.w;
}

/* A structure of which only the first part was allocated. */
struct parts {
    int first[WORDS - 1], later[2];
};
KERNEL(member_behind) { out[0] = reinterpret_cast<parts *>(in)->later[wrong]; }

/* Copies and fills as kernels do them. */
KERNEL(copy_behind) { memcpy(out, in, (in[63] + 1 + wrong) * sizeof *in); }
KERNEL(fill_behind) { memset(in, 7, (in[63] + 1 + wrong) * sizeof *in); }

/* What is in memory is right or wrong by how the host made it. */
KERNEL(reads) { out[me()] = in[me()]; }

__device__ int variable[WORDS];
__constant__ int constants[WORDS];
KERNEL(variable_behind) { out[me()] = variable[in[me()] + wrong]; }
KERNEL(constant_behind) { out[me()] = constants[in[me()] + wrong]; }

/* Behind the only array of the shared memory; far behind it; and behind the first of two. */
template <int behind> __device__ void read_shared(const int *in, int *out) {
    __shared__ int s[WORDS];
    s[me()] = in[me()];
    __syncthreads();
    out[me()] = s[in[me()] + behind];
}
KERNEL(shared_behind) { read_shared<wrong>(in, out); }
KERNEL(shared_far) { read_shared<wrong ? 1 << 16 : 0>(in, out); }
KERNEL(shared_next) {
    __shared__ int s[WORDS], next[WORDS];
    s[me()] = next[63 - me()] = in[me()];
    __syncthreads();
    out[me()] = s[in[me()] + wrong] + next[in[me()]];
}
KERNEL(dynamic_behind) {
    extern __shared__ int dynamic[];
    dynamic[me()] = in[me()];
    __syncthreads();
    out[me()] = dynamic[in[me()] + wrong];
}

/* Behind an array on the stack, and far behind it. */
template <int behind> __device__ void read_local(const int *in, int *out) {
    int a[8];
    for (int i = 0; i < 8; i++)
        a[in[i]] = in[me()] + i;
    out[me()] = a[in[7] + behind];
}
KERNEL(local_behind) { read_local<wrong>(in, out); }
KERNEL(local_far) { read_local<wrong ? 1 << 22 : 0>(in, out); }

/* Copies that a thread does not make itself. */
KERNEL(cp_async_behind) {
    __shared__ int s[WORDS];
    __pipeline_memcpy_async(&s[me()], &in[me() + wrong], sizeof *s);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[me()] = s[me()];
}

static __device__ uint32_t shared_at(const void *at) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(at));
}
static __device__ void begin(uint64_t *bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_at(bar)), "r"(count) : "memory");
}
static __device__ void arrive(uint64_t *bar, int count = 1) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0], %1; }" ::"r"(shared_at(bar)),
                 "r"(count)
                 : "memory");
}
static __device__ void wait(uint64_t *bar) { /* for the end of the first phase */
    int done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n"
                     "selp.s32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_at(bar))
                     : "memory");
}
static __device__ void copy_to_shared(void *to, const void *from, int bytes, uint64_t *bar) {
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%3], %2; }\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
                 "%2, [%3];" ::"r"(shared_at(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_at(bar))
                 : "memory");
}
static __device__ void copy_from_shared(void *to, const void *from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::"l"(
                     __cvta_generic_to_global(to)),
                 "r"(shared_at(from)), "r"(bytes)
                 : "memory");
}

KERNEL(bulk_behind) {
    __shared__ alignas(16) int s[WORDS];
    __shared__ uint64_t bar;
    begin(&bar, 1);
    copy_to_shared(s, in + 4 * wrong, sizeof s, &bar);
    wait(&bar);
    out[0] = s[in[63]];
}

/* What malloc() of a kernel returned: behind it, after its free(), freed twice, freed where it does
 * not begin, freed by another kernel. */
KERNEL(heap_behind) {
    volatile int *own = static_cast<int *>(malloc(40));
    own[in[9] + wrong] = 1;
    out[0] = own[in[9] + wrong];
    free(const_cast<int *>(own));
}
KERNEL(heap_freed) {
    volatile int *own = static_cast<int *>(malloc(40));
    own[in[3]] = 1;
    if (wrong)
        free(const_cast<int *>(own));
    out[0] = own[in[3]];
    if (!wrong)
        free(const_cast<int *>(own));
}
KERNEL(heap_twice) {
    volatile int *own = static_cast<int *>(malloc(40));
    own[in[3]] = 1;
    free(const_cast<int *>(own));
    if (wrong)
        free(const_cast<int *>(own));
}
KERNEL(heap_inside) {
    volatile int *own = static_cast<int *>(malloc(40));
    own[in[3]] = 1;
    free(const_cast<int *>(own) + 4 * wrong);
}
__device__ int *kept;
__global__ void keep() {
    kept = static_cast<int *>(malloc(WORDS * sizeof *kept));
    for (int i = 0; i < WORDS; i++)
        kept[i] = i;
}
__global__ void release() { free(kept); }
KERNEL(heap_other) { out[me()] = kept[me()]; }

/* ---- races in shared memory ---- */

/* Neighbours: of another warp, without a barrier; and of the same one, without __syncwarp(). */
KERNEL(exchange) {
    __shared__ int s[WORDS];
    s[me()] = in[me()];
    if (!wrong)
        __syncthreads();
    out[me()] = s[me() ^ 32];
}
KERNEL(warp_exchange) {
    __shared__ int s[WORDS];
    s[me()] = in[me()];
    if (!wrong)
        __syncwarp();
    out[me()] = s[me() ^ 1];
}
KERNEL(dynamic_exchange) {
    extern __shared__ int dynamic[];
    dynamic[me()] = in[me()];
    if (!wrong)
        __syncthreads();
    out[me()] = dynamic[63 - me()];
}

/* Two warps write one place. */
KERNEL(write_write) {
    __shared__ int s[32];
    if (me() < 32)
        s[me()] = in[me()];
    if (!wrong)
        __syncthreads();
    if (me() >= 32)
        s[me() - 32] = in[me()];
    __syncthreads();
    out[me()] = s[me() % 32];
}

/* All threads write the same value, which programs rely on; or each its own. */
KERNEL(one_value) {
    __shared__ int s;
    s = wrong ? in[me()] : 7;
    __syncthreads();
    out[me()] = s;
}

/* A tile that is filled again before all have read it. */
KERNEL(tile_again) {
    __shared__ int s[WORDS];
    int sum = 0;
    for (int tile = 0; tile < in[4]; tile++) {
        s[me()] = in[me()] + tile;
        __syncthreads();
        sum += s[me() ^ 32];
        if (!wrong)
            __syncthreads();
    }
    out[me()] = sum;
}

/* Two tiles in turn, for which one barrier a round is enough; or one tile in their place. */
KERNEL(double_buffer) {
    __shared__ int s[2][WORDS];
    int sum = 0;
    for (int round = 0; round < in[5]; round++) {
        int *tile = s[wrong ? 0 : round % 2];
        tile[me()] = in[me()] * round;
        __syncthreads();
        sum += tile[me() ^ 32];
    }
    out[me()] = sum;
}

/* A sum over four warps without the barriers of its rounds. */
KERNEL(reduction) {
    __shared__ int s[256];
    s[me()] = in[me() % WORDS];
    __syncthreads();
    for (unsigned half = 128; half; half /= 2) {
        if (me() < half)
            s[me()] += s[me() + half];
        if (!wrong)
            __syncthreads();
    }
    if (me() == 0)
        out[0] = s[0];
}

/* The end of a sum as it was written before Volta: a warp, volatile, and no __syncwarp(). */
KERNEL(volatile_tail) {
    __shared__ int s[WORDS];
    volatile int *v = s;
    v[me()] = in[me()];
    v[me() + 32] = in[me() + 32];
    for (int half = 32; half; half /= 2) {
        int sum = v[me()] + v[me() + half];
        if (!wrong)
            __syncwarp();
        v[me() % 32] = sum;
        if (!wrong)
            __syncwarp();
    }
    out[me()] = v[0];
}

/* Atomic additions, and a plain read. */
KERNEL(atomic_and_read) {
    __shared__ int sum;
    if (me() == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[me()]);
    if (!wrong)
        __syncthreads();
    out[me()] = sum;
}

/* Bytes of one word are different places; halves that overlap are not. */
KERNEL(bytes) {
    __shared__ char s[WORDS + 2];
    s[me()] = static_cast<char>(in[me()]);
    if (wrong)
        s[in[me()] + 1] = 3;
    __syncthreads();
    out[me()] = s[me()];
}

/* One thread's value for its warp: without __syncwarp(), and without the second one of a loop. */
KERNEL(broadcast) {
    __shared__ int s;
    if (me() == 0)
        s = in[5];
    if (!wrong)
        __syncwarp();
    out[me()] = s;
}
KERNEL(broadcast_again) {
    __shared__ int s;
    int sum = 0;
    for (int i = 0; i < in[4]; i++) {
        if (me() == 0)
            s = in[i];
        __syncwarp();
        sum += s;
        if (!wrong)
            __syncwarp();
    }
    out[me()] = sum;
}

/* A shuffle, a vote and a sum are no barriers for memory. */
KERNEL(shuffle_between) {
    __shared__ int s[WORDS];
    s[me()] = in[me()];
    int first = __shfl_sync(~0u, in[me()], 0);
    if (!wrong)
        __syncwarp();
    out[me()] = s[me() ^ 1] + first;
}
KERNEL(vote_between) {
    __shared__ int s[WORDS];
    s[me()] = in[me()];
    int some = __any_sync(~0u, in[me()] > 7);
    if (!wrong)
        __syncwarp();
    out[me()] = s[me() ^ 1] + some;
}
KERNEL(sum_between) {
    __shared__ int s[WORDS];
    s[me()] = in[me()];
    int sum = __reduce_add_sync(~0u, in[me()]);
    if (!wrong)
        __syncwarp();
    out[me()] = s[me() ^ 1] + sum;
}

/* Halves of a warp that only know of themselves. */
KERNEL(tiles) {
    __shared__ int s[32];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    s[me()] = in[me()];
    tile.sync();
    out[me()] = s[me() ^ (wrong ? 16 : 1)];
}

/* Barriers of two warps each, and the neighbour of another pair. */
KERNEL(named_barriers) {
    __shared__ int s[128];
    s[me()] = in[me() % WORDS];
    asm volatile("bar.sync %0, 64;" ::"r"(me() / 64 + 1) : "memory");
    out[me()] = s[me() ^ (wrong ? 64 : 32)];
}

/* An mbarrier at which threads arrive, and for which they do not wait. */
KERNEL(mbarrier_unwaited) {
    __shared__ int s[WORDS];
    __shared__ uint64_t bar;
    if (me() == 0)
        begin(&bar, WORDS);
    __syncthreads();
    s[me()] = in[me()];
    arrive(&bar);
    if (!wrong)
        wait(&bar);
    out[me()] = s[me() ^ 32];
}

/* cp.async: for none of the copies, and for one too few, a thread waits. */
KERNEL(cp_async_unwaited) {
    __shared__ int s[WORDS];
    __pipeline_memcpy_async(&s[me()], &in[me()], sizeof *s);
    __pipeline_commit();
    if (!wrong)
        __pipeline_wait_prior(0);
    __syncthreads();
    out[me()] = s[me() ^ 32];
}
KERNEL(cp_async_prior) {
    __shared__ int s[2][WORDS];
    for (int n = 0; n < 2; n++) {
        __pipeline_memcpy_async(&s[n][me()], &in[me()], sizeof **s);
        __pipeline_commit();
    }
    __pipeline_wait_prior(wrong);
    __syncthreads();
    out[me()] = s[1][me() ^ 32];
}

/* Bulk copies: of what threads wrote, without a fence; and to where a thread reads too early. */
KERNEL(bulk_unfenced) {
    __shared__ alignas(16) int s[WORDS];
    s[me()] = in[me()];
    if (!wrong)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (me() == 0)
        copy_from_shared(out, s, sizeof s);
}
KERNEL(bulk_unwaited) {
    __shared__ alignas(16) int s[WORDS];
    __shared__ uint64_t bar;
    if (me() == 0)
        begin(&bar, 1);
    __syncthreads();
    if (me() == 0)
        copy_to_shared(s, in, sizeof s, &bar);
    if (!wrong)
        wait(&bar);
    out[me()] = s[in[me()]];
    wait(&bar);
}

/* Blocks of a cluster: no barrier before the read; and one ends while the other still reads. */
KERNEL(__cluster_dims__(2) cluster_exchange) {
    __shared__ int s[WORDS];
    auto cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank();
    s[me()] = in[me()];
    if (!wrong)
        cluster.sync();
    out[me() + WORDS * rank] = cluster.map_shared_rank(s, rank ^ 1)[me()];
    cluster.sync();
}
KERNEL(__cluster_dims__(2) cluster_exit) {
    __shared__ int s[WORDS];
    auto cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank();
    s[me()] = in[me()];
    cluster.sync();
    out[me() + WORDS * rank] = cluster.map_shared_rank(s, rank ^ 1)[me()];
    if (!wrong)
        cluster.sync();
}

/* ---- races in global memory ---- */

KERNEL(global_exchange) {
    out[me()] = in[me()];
    if (!wrong)
        __syncthreads();
    in[me()] = out[me() ^ 32] + 1;
}
KERNEL(blocks) { out[wrong ? 0 : blockIdx.x] = static_cast<int>(blockIdx.x) + 1; }
KERNEL(grid_exchange) {
    out[blockIdx.x] = in[blockIdx.x] + 1;
    if (!wrong)
        cg::this_grid().sync();
    in[blockIdx.x] = out[blockIdx.x ^ 1];
}

/* A flag in front of which there is no fence. */
KERNEL(flag) {
    volatile int *flag = &out[FLAG];
    if (blockIdx.x == 0) {
        out[0] = in[1];
        if (!wrong)
            __threadfence();
        *flag = 1;
    } else {
        while (!*flag) {
        }
        if (!wrong)
            __threadfence();
        out[1] = out[0];
    }
}

/* The last block adds up what the others wrote, in front of which there is no fence. */
KERNEL(last_block) {
    out[blockIdx.x] = in[blockIdx.x] + 1;
    if (!wrong)
        __threadfence();
    if (atomicAdd(&out[FLAG], 1) < static_cast<int>(gridDim.x) - 1)
        return;
    if (!wrong)
        __threadfence();
    int sum = 0;
    for (unsigned n = 0; n < gridDim.x; n++)
        sum += out[n];
    out[FLAG + 1] = sum;
}

/* An atomic addition that is one for its block alone. */
KERNEL(block_scope) {
    if (wrong)
        atomicAdd_block(&out[0], 1);
    else
        atomicAdd(&out[0], 1);
}

/* ---- reads of what nobody wrote; of most the host's part is wrong, and `reads` reads ---- */

KERNEL(shared_part) {
    __shared__ int s[WORDS];
    if (!wrong || me() < 32)
        s[me()] = in[me()];
    __syncthreads();
    out[me()] = s[in[me()]];
}
/* The second block finds what the first one had. */
KERNEL(shared_of_another) {
    __shared__ int s[WORDS];
    if (!wrong || blockIdx.x == 0)
        s[me()] = in[me()];
    __syncthreads();
    out[me()] = s[63 - in[me()]];
}
KERNEL(local_part) {
    int a[8];
    for (int i = 0; i < in[wrong ? 4 : 8]; i++)
        a[in[i]] = in[me()];
    out[me()] = a[in[7]];
}
KERNEL(heap_part) {
    int *own = static_cast<int *>(malloc(WORDS * sizeof *own));
    for (int i = 0; i < (wrong ? 32 : 64); i++)
        own[i] = i;
    out[0] = own[out[1] + 63];
    free(own);
}

/* What the kernel writes itself: three words of each vector, three bytes of each word. */
KERNEL(vector_part) {
    int *own = in + 4 * me();
    for (int i = 0; i < (wrong ? 3 : 4); i++)
        own[i] = i;
    __syncthreads();
    int4 v = reinterpret_cast<int4 *>(in)[15 - me()];
    out[me()] = v.x + v.y + v.z + v.w;
}
KERNEL(byte_part) {
    char *own = reinterpret_cast<char *>(in + me());
    for (int i = 0; i < (wrong ? 3 : 4); i++)
        own[i] = static_cast<char>(i);
    __syncthreads();
    out[me()] = in[63 - me()];
}

KERNEL(atomic_unwritten) { atomicAdd(&in[me()], 1); }
KERNEL(cp_async_unwritten) {
    __shared__ int s[WORDS];
    __pipeline_memcpy_async(&s[me()], &in[me()], sizeof *s);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[me()] = s[me()];
}

/* ---- barriers ---- */

/* Half of the lanes come to no barrier and go on, or to another one, or to a later one. Those that
 * end need not come. */
KERNEL(lanes_skip) {
    if (in[me()] % 2)
        __syncthreads();
    else if (!wrong)
        return;
    out[me()] = 1;
}
KERNEL(lanes_elsewhere) {
    if (!wrong || in[me()] % 2) {
        out[me()] = 1;
        __syncthreads();
    } else {
        out[me() + 64] = 2;
        __syncthreads();
        out[me()] = 3;
    }
}
KERNEL(lanes_later) {
    if (!wrong || in[me()] % 2)
        __syncthreads();
    out[me()] = 1;
    __syncthreads();
    out[me()] += 1;
}

/* A warp that comes once more than the others. */
KERNEL(warps_unequal) {
    for (int i = 0; i < (wrong ? in[me() / 32] + 1 : 2); i++) {
        out[me()] += i;
        __syncthreads();
    }
}

/* Lanes that leave a loop with a barrier one by one. */
KERNEL(lanes_leave) {
    for (int i = 0; i < in[8]; i++) {
        if (wrong && in[me()] == i)
            break;
        __syncthreads();
    }
    out[me()] = 1;
}

/* A barrier that counts, in a branch. */
KERNEL(count_branch) {
    if (!wrong || in[me()] % 2)
        out[me()] = __syncthreads_count(in[me()] > 5);
    out[me() + 64] = 1;
}

/* Masks: without the caller, with lanes that do not come, and different ones. */
KERNEL(syncwarp_without) {
    __syncwarp(wrong ? 0xfffffffe : ~0u);
    out[me()] = 1;
}
KERNEL(syncwarp_branch) {
    if (!wrong || in[me()] < 16)
        __syncwarp();
    out[me()] = 1;
}
KERNEL(shuffle_branch) {
    if (!wrong || in[me()] < 16)
        out[me()] = __shfl_sync(~0u, in[me()], 3);
    out[me() + 64] = 1;
}
KERNEL(shuffle_source) {
    if (in[me()] < 16)
        out[me()] = __shfl_sync(0xffff, in[me()], wrong ? 20 : 3);
}
KERNEL(ballot_branch) {
    if (in[me()] < 16)
        out[me()] = __ballot_sync(wrong ? ~0u : 0xffff, in[me()] > 3);
    out[me() + 64] = 1;
}
KERNEL(ballot_without) { out[me()] = __ballot_sync(wrong ? 0xfffffffe : ~0u, in[me()] > 3); }
KERNEL(masks_differ) {
    out[me()] = __ballot_sync(wrong && in[me()] == 3 ? 1u << me() : ~0u, in[me()] > 3);
}
KERNEL(reduce_branch) {
    if (in[me()] < 16)
        out[me()] = __reduce_add_sync(wrong ? ~0u : 0xffff, in[me()]);
    out[me() + 64] = 1;
}
KERNEL(match_branch) {
    if (in[me()] < 16)
        out[me()] = __match_any_sync(wrong ? ~0u : 0xffff, in[me()] / 4);
    out[me() + 64] = 1;
}

/* Half of a group of cooperative groups. */
KERNEL(tile_branch) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    if (!wrong || tile.thread_rank() < 8)
        tile.sync();
    out[me()] = 1;
}

/* An mbarrier that was never begun, and one at which more arrive than it waits for. */
KERNEL(mbarrier_unbegun) {
    __shared__ uint64_t bar;
    if (wrong)
        bar = static_cast<uint64_t>(in[0]);
    else
        begin(&bar, 1);
    arrive(&bar);
    out[0] = 1;
}
KERNEL(mbarrier_too_many) {
    __shared__ uint64_t bar;
    begin(&bar, 2);
    arrive(&bar, wrong ? 3 : 2);
    out[0] = 1;
}

/* ---- what the host does ---- */

static void must(cudaError_t result, const char *what) {
    if (result == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorName(result));
    std::exit(2);
}
#define MUST(call) must(call, #call)

/* Memory that has the numbers from 0. */
static int *numbered(int *memory, int count) {
    int numbers[WORDS];
    for (int n = 0; n < WORDS; n++)
        numbers[n] = n;
    MUST(cudaMemcpy(memory, numbers, count * sizeof(int), cudaMemcpyDefault));
    return memory;
}
static int *allocated(size_t bytes) {
    int *memory = nullptr;
    MUST(cudaMalloc(&memory, bytes));
    return memory;
}
static int *allocated_async() {
    int *memory = nullptr;
    MUST(cudaMallocAsync(&memory, WORDS * sizeof(int), 0));
    return memory;
}

/* Each of these makes `in`. */
using preparation = int *(*)(bool wrong);

static int *exact(bool) { return numbered(allocated(WORDS * sizeof(int)), WORDS); }
static int *short_by_a_word(bool wrong) {
    return numbered(allocated((WORDS - wrong) * sizeof(int)), WORDS - wrong);
}
static int *of_100_bytes(bool wrong) { /* of which 26 words are read */
    return numbered(allocated(wrong ? 100 : 104), wrong ? 25 : 26);
}
static int *freed(bool wrong) {
    int *memory = exact(wrong);
    if (wrong)
        MUST(cudaFree(memory));
    return memory;
}
static int *freed_async(bool wrong) {
    int *memory = numbered(allocated_async(), WORDS);
    if (wrong)
        MUST(cudaFreeAsync(memory, 0));
    MUST(cudaDeviceSynchronize());
    return memory;
}
static int *of_a_pool(bool) { return numbered(allocated_async(), WORDS); }
static int *pinned(bool) {
    int *memory = nullptr;
    MUST(cudaMallocHost(&memory, WORDS * sizeof(int)));
    return numbered(memory, WORDS);
}
static int *managed(bool) {
    int *memory = nullptr;
    MUST(cudaMallocManaged(&memory, WORDS * sizeof(int)));
    return numbered(memory, WORDS);
}
static int *heap_of_another(bool wrong) {
    keep<<<1, 1>>>();
    if (wrong)
        release<<<1, 1>>>();
    MUST(cudaDeviceSynchronize());
    return exact(wrong);
}

static int *unwritten(bool wrong) {
    return wrong ? allocated(WORDS * sizeof(int)) : exact(wrong);
}
static int *half_filled(bool wrong) {
    int *memory = allocated(WORDS * sizeof(int));
    MUST(cudaMemset(memory, 0, WORDS * sizeof(int) / (wrong ? 2 : 1)));
    return memory;
}
static int *half_copied(bool wrong) {
    return numbered(allocated(WORDS * sizeof(int)), wrong ? WORDS / 2 : WORDS);
}
static int *of_a_pool_again(bool wrong) { /* the same memory, a second time */
    MUST(cudaFreeAsync(numbered(allocated_async(), WORDS), 0));
    return wrong ? allocated_async() : numbered(allocated_async(), WORDS);
}
static int *allocated_again(bool wrong) {
    MUST(cudaFree(exact(wrong)));
    return unwritten(wrong);
}
static int *copy_of_unwritten(bool wrong) {
    int *memory = allocated(WORDS * sizeof(int));
    MUST(cudaMemcpy(memory, unwritten(wrong), WORDS * sizeof(int), cudaMemcpyDeviceToDevice));
    return memory;
}
__global__ void write_some(int *memory) { memory[me()] = static_cast<int>(me()); }
static int *by_a_kernel(bool wrong) {
    int *memory = allocated(WORDS * sizeof(int));
    write_some<<<1, wrong ? WORDS / 2 : WORDS>>>(memory);
    return memory;
}
static int *never_written(bool) { return allocated(WORDS * sizeof(int)); } /* the kernel writes */

/* ---- the table ---- */

struct row {
    const char *check, *name;
    void (*kernels[2])(int *in, int *out); /* right and wrong */
    unsigned threads = WORDS, blocks = 1, dynamic = 0;
    preparation prepare = exact;
    bool cooperative = false;
};
#define OF(kind, title, kernel, ...)                                                               \
    { .check = #kind, .name = #title, .kernels = {kernel<false>, kernel<true>}, __VA_ARGS__ }
#define ROW(kind, title, ...)   OF(kind, title, title, __VA_ARGS__)
#define READS(kind, title, ...) OF(kind, title, reads, __VA_ARGS__)

static const row rows[] = {
    ROW(memory, read_behind),
    ROW(memory, write_behind),
    ROW(memory, read_before),
    ROW(memory, far_away),
    ROW(memory, null_pointer),
    ROW(memory, misaligned),
    ROW(memory, atomic_behind),
    ROW(memory, ldg_behind),
    ROW(memory, vector_end, .threads = 16, .prepare = short_by_a_word),
    ROW(memory, member_behind, .threads = 1),
    ROW(memory, copy_behind, .threads = 1),
    ROW(memory, fill_behind, .threads = 1),
    ROW(memory, variable_behind),
    ROW(memory, constant_behind),
    ROW(memory, shared_behind),
    ROW(memory, shared_far),
    ROW(memory, shared_next),
    ROW(memory, dynamic_behind, .dynamic = WORDS * sizeof(int)),
    ROW(memory, local_behind),
    ROW(memory, local_far),
    ROW(memory, cp_async_behind),
    ROW(memory, bulk_behind, .threads = 1),
    ROW(memory, heap_behind, .threads = 1),
    ROW(memory, heap_freed, .threads = 1),
    ROW(memory, heap_twice, .threads = 1),
    ROW(memory, heap_inside, .threads = 1),
    ROW(memory, heap_other, .prepare = heap_of_another),
    READS(memory, padding, .threads = 26, .prepare = of_100_bytes),
    READS(memory, freed, .prepare = freed),
    READS(memory, freed_async, .prepare = freed_async),
    OF(memory, pool_behind, read_behind, .prepare = of_a_pool),
    OF(memory, pinned_behind, read_behind, .prepare = pinned),
    OF(memory, managed_behind, read_behind, .prepare = managed),

    ROW(race, exchange),
    ROW(race, warp_exchange),
    ROW(race, dynamic_exchange, .dynamic = WORDS * sizeof(int)),
    ROW(race, write_write),
    ROW(race, one_value),
    ROW(race, tile_again),
    ROW(race, double_buffer),
    ROW(race, reduction, .threads = 256),
    ROW(race, volatile_tail, .threads = 32),
    ROW(race, atomic_and_read),
    ROW(race, bytes),
    ROW(race, broadcast, .threads = 32),
    ROW(race, broadcast_again, .threads = 32),
    ROW(race, shuffle_between),
    ROW(race, vote_between),
    ROW(race, sum_between),
    ROW(race, tiles, .threads = 32),
    ROW(race, named_barriers, .threads = 128),
    ROW(race, mbarrier_unwaited),
    ROW(race, cp_async_unwaited),
    ROW(race, cp_async_prior),
    ROW(race, bulk_unfenced),
    ROW(race, bulk_unwaited),
    ROW(race, cluster_exchange, .blocks = 2),
    ROW(race, cluster_exit, .blocks = 2),
    ROW(race, global_exchange),
    ROW(race, blocks, .threads = 1, .blocks = 4),
    ROW(race, grid_exchange, .threads = 1, .blocks = 4, .cooperative = true),
    ROW(race, flag, .threads = 1, .blocks = 2),
    ROW(race, last_block, .threads = 1, .blocks = 4),
    ROW(race, block_scope, .blocks = 4),

    ROW(init, shared_part),
    ROW(init, shared_of_another, .blocks = 2),
    ROW(init, local_part),
    ROW(init, heap_part, .threads = 1),
    ROW(init, vector_part, .threads = 16, .prepare = never_written),
    ROW(init, byte_part, .prepare = never_written),
    ROW(init, atomic_unwritten, .prepare = unwritten),
    ROW(init, cp_async_unwritten, .prepare = unwritten),
    READS(init, unwritten, .prepare = unwritten),
    READS(init, half_filled, .prepare = half_filled),
    READS(init, half_copied, .prepare = half_copied),
    READS(init, pool_again, .prepare = of_a_pool_again),
    READS(init, allocated_again, .prepare = allocated_again),
    READS(init, copy_of_unwritten, .prepare = copy_of_unwritten),
    READS(init, by_a_kernel, .prepare = by_a_kernel),

    ROW(sync, lanes_skip),
    ROW(sync, lanes_elsewhere),
    ROW(sync, lanes_later),
    ROW(sync, warps_unequal),
    ROW(sync, lanes_leave),
    ROW(sync, count_branch),
    ROW(sync, syncwarp_without, .threads = 32),
    ROW(sync, syncwarp_branch, .threads = 32),
    ROW(sync, shuffle_branch, .threads = 32),
    ROW(sync, shuffle_source, .threads = 32),
    ROW(sync, ballot_branch, .threads = 32),
    ROW(sync, ballot_without, .threads = 32),
    ROW(sync, masks_differ, .threads = 32),
    ROW(sync, reduce_branch, .threads = 32),
    ROW(sync, match_branch, .threads = 32),
    ROW(sync, tile_branch, .threads = 32),
    ROW(sync, mbarrier_unbegun, .threads = 1),
    ROW(sync, mbarrier_too_many, .threads = 1),
};

static cudaError_t execute(const row &r, bool wrong) {
    int *out = allocated(RESULTS * sizeof(int)), *in = r.prepare(wrong), results[RESULTS];
    void *args[] = {&in, &out};
    auto launch = r.cooperative ? cudaLaunchCooperativeKernel<void> : cudaLaunchKernel<void>;
    MUST(cudaMemset(out, 0, sizeof results));
    MUST(cudaDeviceSynchronize());
    cudaError_t launched =
        launch(reinterpret_cast<void *>(r.kernels[wrong]), r.blocks, r.threads, args, r.dynamic, 0);
    return launched ? launched : cudaMemcpy(results, out, sizeof results, cudaMemcpyDefault);
}

int main(int count, char **names) {
    const bool list = count == 2 && std::strcmp(names[1], "--list") == 0;
    for (const row &r : rows)
        if (list)
            std::printf("%s %s\n", r.check, r.name);
    for (int n = 1; n < count && !list; n++)
        for (const row &r : rows)
            for (bool wrong : {false, true}) {
                if (std::string(r.name) + (wrong ? "" : "_ok") != names[n])
                    continue;
                std::fprintf(stderr, "case %s\n", names[n]);
                cudaError_t result = execute(r, wrong);
                std::fprintf(stderr, "end %s\n", cudaGetErrorName(result));
                if (result != cudaSuccess)
                    return 3;
            }
    return 0;
}
