/*
 * The caching allocator: create and release against cudaMallocAsync and cudaFreeAsync, in pairs
 * within one process; and a replay of what a framework allocated (record_trace.py), in which the
 * memory that is reserved counts. Exits with 77 where there is no device.
 *
 *     bench_allocator traces/transformer.txt
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUED = 200, BYTES = 1024, LARGE = 8388608, STREAMS = 8, MOST = 1048576 };

static acu_stream *stream;
static cudaStream_t raw_stream;

static void give_up(const char *call) {
    fprintf(stderr, "%s: %s\n", call, acu_last_error_message());
    exit(1);
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call)                                                                                  \
            give_up(#call);                                                                        \
    } while (0)

/* ---- create and release ---- */

static void synchronize(void) {
    OK(cudaStreamSynchronize(raw_stream));
    OK(acu_stream_synchronize(stream));
}

static void raw_calls(long calls, size_t bytes) {
    for (long i = 0; i < calls; i++) {
        void *made;
        OK(cudaMallocAsync(&made, bytes, raw_stream));
        OK(cudaFreeAsync(made, raw_stream));
    }
}

static void safe_calls(long calls, size_t bytes) {
    for (long i = 0; i < calls; i++) {
        acu_buffer *made;
        OK(acu_buffer_create(stream, ACU_U8, bytes, &made));
        OK(acu_buffer_release(made));
    }
}

static void raw_small(long calls) {
    raw_calls(calls, BYTES);
}
static void safe_small(long calls) {
    safe_calls(calls, BYTES);
}
static void raw_large(long calls) {
    raw_calls(calls, LARGE);
}
static void safe_large(long calls) {
    safe_calls(calls, LARGE);
}

/* Times 10,000 calls in a row, so that reading the clock adds next to nothing. */
static void alone(const char *name, loop *fn) {
    double times[101];
    fn(10000);
    for (int i = 0; i < 101; i++)
        times[i] = measure(fn, 10000, synchronize);
    printf("| %s, alone | %.1f ns | | |\n", name, median_of(times, 101));
}

/* Lets the pool keep what it has, as a program that wants it fast does: by default it gives all
 * back at each synchronisation, and the next allocation takes 50 us. */
static void keep_the_pool_warm(void) {
    acu_pool *pool;
    OK(acu_pool_get_current(0, &pool));
    OK(acu_pool_set_attribute(pool, ACU_POOL_THRESHOLD, UINT64_MAX));
    OK(acu_pool_release(pool));
}

static void create_and_release(void) {
    static const struct {
        const char *name;
        acu_allocator_source source;
    } sources[] = {{"virtual memory", ACU_ALLOCATOR_VIRTUAL},
                   {"cudaMalloc", ACU_ALLOCATOR_DEVICE},
                   {"pools", ACU_ALLOCATOR_POOL}};
    char name[100];
    keep_the_pool_warm();
    print_header("raw", "safe");
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        acu_allocator *allocator;
        OK(acu_allocator_create(0, &(acu_allocator_options){.source = sources[i].source},
                                &allocator));
        OK(acu_allocator_set_current(allocator));
        raw_small(QUEUED); /* the first ones take long, also to load code */
        raw_large(QUEUED);
        safe_small(QUEUED);
        safe_large(QUEUED);
        synchronize();
        snprintf(name, sizeof name, "create and release of 1 KiB, %s", sources[i].name);
        compare(name, raw_small, safe_small, QUEUED, synchronize);
        alone(name, safe_small);
        snprintf(name, sizeof name, "create and release of 8 MiB, %s", sources[i].name);
        compare(name, raw_large, safe_large, QUEUED, synchronize);
        OK(acu_allocator_clear_current(0));
        OK(acu_allocator_release(allocator));
    }
}

/* ---- the replay ---- */

static acu_buffer *made[MOST];
static acu_stream *streams[STREAMS];

typedef struct replay {
    size_t count, now, peak, reserved;
    unsigned on;
} replay;

static acu_stream *stream_of(unsigned number) {
    if (number >= STREAMS)
        give_up("the trace has too many streams");
    if (!streams[number])
        OK(acu_stream_create(0, NULL, &streams[number]));
    return streams[number];
}

static size_t ago(const replay *r, const char *text) {
    const size_t back = strtoul(text, NULL, 10);
    if (back == 0 || back > r->count || !made[r->count - back])
        give_up("the trace names what is not there");
    return r->count - back;
}

static void use_elsewhere(const replay *r, const char *line) {
    acu_buffer *buffer = made[ago(r, line + 1)];
    acu_stream *where = stream_of((unsigned)strtoul(strchr(line, ' '), NULL, 10));
    OK(acu_buffer_begin_use(buffer, false, where));
    OK(acu_buffer_end_use(buffer, false, where));
}

static void play_line(replay *r, const char *line) {
    if (line[0] == 's')
        r->on = (unsigned)strtoul(line + 1, NULL, 10);
    else if (line[0] == 'u')
        use_elsewhere(r, line);
    else if (line[0] == '-') {
        const size_t at = ago(r, line + 1);
        r->now -= acu_buffer_bytes(made[at]);
        OK(acu_buffer_release(made[at]));
        made[at] = NULL;
    } else if (line[0] >= '0' && line[0] <= '9') {
        const size_t bytes = strtoul(line, NULL, 10);
        if (r->count == MOST)
            give_up("the trace is too long");
        OK(acu_buffer_create(stream_of(r->on), ACU_U8, bytes, &made[r->count++]));
        r->now += bytes;
        r->peak = r->now > r->peak ? r->now : r->peak;
    }
}

static void release_all(replay *r) {
    for (size_t i = 0; i < r->count; i++) {
        OK(acu_buffer_release(made[i]));
        made[i] = NULL;
    }
    for (unsigned i = 0; i < STREAMS; i++) {
        OK(acu_stream_release(streams[i]));
        streams[i] = NULL;
    }
}

static void play(const char *path, const char *name, acu_allocator_source source) {
    char line[200];
    replay r = {0};
    acu_allocator *allocator;
    acu_allocator_info info;
    FILE *trace = fopen(path, "r");
    if (!trace)
        give_up(path);
    OK(acu_allocator_create(0, &(acu_allocator_options){.source = source}, &allocator));
    OK(acu_allocator_set_current(allocator));
    const double begin = now_ns();
    while (fgets(line, sizeof line, trace))
        play_line(&r, line);
    const double ns = now_ns() - begin;
    OK(acu_allocator_get_info(allocator, &info));
    printf("| %s | %zu | %zu | %.3f | %.1f ms | %.4f | %llu | %llu |\n", name, r.peak,
           info.reserved_high, (double)info.reserved_high / (double)r.peak, ns / 1e6,
           (double)info.hits / (double)info.allocations, (unsigned long long)info.crossed,
           (unsigned long long)info.waits);
    release_all(&r);
    fclose(trace);
    OK(acu_allocator_clear_current(0));
    OK(acu_allocator_release(allocator));
}

int main(int argc, char **argv) {
    int devices = 0;
    if (acu_device_get_count(&devices) || devices == 0) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    acu_quarantine(0); /* as in a release build */
    OK(acu_stream_create(0, NULL, &stream));
    OK(cudaStreamCreate(&raw_stream));
    create_and_release();
    OK(cudaStreamDestroy(raw_stream));
    OK(acu_stream_release(stream));
    if (argc < 2)
        return 0;
    printf("\n| source | peak of the trace | reserved at most | ratio | time | hits | of other "
           "streams | waits |\n|---|---|---|---|---|---|---|---|\n");
    play(argv[1], "virtual memory", ACU_ALLOCATOR_VIRTUAL);
    play(argv[1], "cudaMalloc", ACU_ALLOCATOR_DEVICE);
    play(argv[1], "pools", ACU_ALLOCATOR_POOL);
    return 0;
}
