/*
 * Launches that need nothing unusual: one function, from the program's call to the driver's.
 *
 * CUDA's own code leaves nothing of this library in the processor's first caches, so what a launch
 * costs here is how many lines of code and data it goes through. Whatever is unusual, or wrong, is
 * left to acu_launch_checked(), which does all checks again, one by one.
 */
#include "cuda_abi.h"
#include "safe/kernel/launch.h"

#include <anycuda/cuda.h>

/* Returns whether the driver's call can be made for this kernel on this stream. A default stream
 * has no number of a context, so it is no such stream. */
static inline bool is_direct(const acu_stream *stream, const acu_kernel *kernel, size_t count) {
    return acu_is(stream, &acu_stream_class) && acu_is(kernel, &acu_kernel_class) &&
           ACU_LIKELY(count == kernel->direct_count) &&
           ACU_LIKELY(__atomic_load_n(&stream->in_context, __ATOMIC_RELAXED) ==
                      kernel->in_context) &&
           ACU_LIKELY(!acu_capture_of(stream)) && ACU_LIKELY(!acu_is_shared(&stream->shared));
}

/* Returns whether the device can have such a size; y and z may be 0, which means 1. */
static inline bool is_allowed(const acu_size3 *size, const int most[3]) {
    return ACU_LIKELY(size->x - 1 < (size_t)most[0]) && ACU_LIKELY(size->y <= (size_t)most[1]) &&
           ACU_LIKELY(size->z <= (size_t)most[2]);
}

static inline unsigned one_for_0(size_t n) {
    return (unsigned)n + (n == 0);
}

/* Returns whether the kernel can be launched with that size. */
static inline bool takes_size(const acu_kernel *kernel, const acu_size3 *blocks,
                              const acu_size3 *threads, size_t shared_bytes) {
    return is_allowed(blocks, kernel->most_blocks) && is_allowed(threads, kernel->most_threads) &&
           ACU_LIKELY(threads->x * one_for_0(threads->y) * one_for_0(threads->z) <=
                      (size_t)kernel->max_threads) &&
           ACU_LIKELY(shared_bytes <=
                      (size_t)__atomic_load_n(&kernel->max_shared, __ATOMIC_RELAXED)) &&
           ACU_LIKELY(!__atomic_load_n(&kernel->cluster_needed, __ATOMIC_RELAXED));
}

/* Returns the address of the buffer's address; NULL where the kernel cannot use the buffer at once.
 */
static inline void *address_in(acu_buffer *buffer, const acu_kernel *kernel,
                               const acu_timeline *timeline) {
    bool good = acu_is(buffer, &acu_buffer_class) &&
                ACU_LIKELY(buffer->object.device == kernel->object.device) &&
                acu_storage_is_only_on(buffer->storage, timeline);
    return good ? &buffer->pointer : NULL;
}

/* Returns the address of what the kernel receives; NULL where the argument is unusual. */
static inline void *parameter_of(const acu_arg *arg, const acu_accepted *accepted,
                                 const acu_kernel *kernel, const acu_timeline *timeline) {
    if (!ACU_LIKELY(arg->kind <= ACU_ARG_BYTES && arg->size == accepted->size &&
                    (accepted->kinds >> arg->kind & 1u)))
        return NULL;
    if (arg->kind < ACU_ARG_IN)
        return (void *)&arg->value;
    if (ACU_LIKELY(arg->kind <= ACU_ARG_INOUT))
        return address_in(arg->value.buffer, kernel, timeline);
    return arg->kind == ACU_ARG_BYTES ? (void *)arg->value.pointer : NULL;
}

ACU_COLD __attribute__((noinline)) static void record_stream(acu_kernel *kernel,
                                                             acu_timeline *timeline) {
    acu_launch_record(kernel, timeline);
}

/* Gives the launch a number, and ends the uses of memory that another stream uses meanwhile. */
ACU_COLD __attribute__((noinline)) static int
end_launch(acu_stream *stream, const acu_kernel *kernel, const acu_arg *args, size_t count) {
    int code = 0;
    (void)acu_timeline_issue(stream->timeline);
    for (size_t i = 0; i < count; i++) {
        if (args[i].kind < ACU_ARG_IN || args[i].kind > ACU_ARG_INOUT)
            continue;
        int ended = acu_storage_end_use(args[i].value.buffer->storage, stream,
                                        args[i].kind != ACU_ARG_IN, 0);
        code = code ? code : ended;
    }
    return acu_outcome("acu_launch", kernel, code);
}

/*
 * Launches, and sets `result`; false: the launch is unusual, or was refused.
 *
 * The timeline counts how often memory that only its stream used got a second user, and that one
 * asks for the number of the launch after it has counted. So where the count is the same before the
 * memory is looked at and after the launch has its number, no other stream has come.
 */
__attribute__((always_inline)) static inline bool
launch_usual(acu_stream *stream, acu_kernel *kernel, const acu_size3 *blocks,
             const acu_size3 *threads, size_t shared_bytes, const acu_arg *args, size_t count,
             int *result) {
    void *params[ACU_MAX_ARGUMENTS];
    uint64_t number;
    if (!ACU_LIKELY(acu_scope_wanted() == 0) || !is_direct(stream, kernel, count) ||
        !takes_size(kernel, blocks, threads, shared_bytes) || !ACU_LIKELY(args))
        return false;
    acu_timeline *timeline = stream->timeline;
    const uint64_t shared_count = __atomic_load_n(&timeline->shared_count, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < count; i++) {
        params[i] = parameter_of(&args[i], &kernel->accepted[i], kernel, timeline);
        if (!ACU_LIKELY(params[i]))
            return false;
    }
    if (!ACU_LIKELY(__atomic_load_n(&kernel->recorded, __ATOMIC_RELAXED) == timeline))
        record_stream(kernel, timeline);
    if (!ACU_LIKELY(ACU_LOAD(acu_slot_cuLaunchKernel)(kernel->function, (unsigned)blocks->x,
                                                      one_for_0(blocks->y), one_for_0(blocks->z),
                                                      (unsigned)threads->x, one_for_0(threads->y),
                                                      one_for_0(threads->z), (unsigned)shared_bytes,
                                                      stream->raw, params, NULL) == CUDA_SUCCESS))
        return false;
    const bool alone =
        acu_timeline_has_issued(timeline, &number) &&
        ACU_LIKELY(shared_count == __atomic_load_n(&timeline->shared_count, __ATOMIC_SEQ_CST));
    *result = ACU_LIKELY(alone) ? 0 : end_launch(stream, kernel, args, count);
    return true;
}

ACU_HOT __attribute__((aligned(ACU_CACHE_LINE))) acu_result acu_launch_args(acu_stream *stream,
                                                                            acu_kernel *kernel,
                                                                            const acu_grid *grid,
                                                                            const acu_arg *args,
                                                                            size_t count) {
    int result;
    if (ACU_LIKELY(grid && acu_grid_has_no_attributes(grid)) &&
        ACU_LIKELY(launch_usual(stream, kernel, &grid->blocks, &grid->threads, grid->shared_bytes,
                                args, count, &result)))
        return result;
    return acu_launch_checked(stream, kernel, grid, args, count);
}

/* Does all checks of a launch that has a size only. */
ACU_COLD __attribute__((noinline)) static int launch_checked(acu_stream *stream, acu_kernel *kernel,
                                                             const acu_launch_size *size,
                                                             const acu_arg *args, size_t count) {
    if (!size)
        return acu_fail("acu_launch", "", ACU_ERROR_ARGUMENT, "'size' is NULL");
    const acu_grid grid = {
        .blocks = size->blocks, .threads = size->threads, .shared_bytes = size->shared_bytes};
    return acu_launch_checked(stream, kernel, &grid, args, count);
}

ACU_HOT __attribute__((aligned(ACU_CACHE_LINE))) acu_result
acu_launch_sized(acu_stream *stream, acu_kernel *kernel, const acu_launch_size *size,
                 const acu_arg *args, size_t count) {
    int result;
    if (ACU_LIKELY(size) && ACU_LIKELY(launch_usual(stream, kernel, &size->blocks, &size->threads,
                                                    size->shared_bytes, args, count, &result)))
        return result;
    return launch_checked(stream, kernel, size, args, count);
}
