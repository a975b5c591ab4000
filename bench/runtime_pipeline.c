/*
 * A pipeline over the runtime interface: batches are uploaded, computed and downloaded, on a place
 * that is named as acu_place_parse() has it.
 *
 *     bench_runtime_pipeline cuda:0 [--batches n] [--kib n] [--blocks n] [--rounds n]
 *                            [--program percent] [--pinned] [--check]
 *
 * In each round all batches are uploaded, then computed, then downloaded, each alone; and they go
 * through the pipeline, in which three threads upload, give programs and download, each through a
 * client of its own. The clients' work is brought into order by the library; the threads only tell
 * each other how far they have come.
 *
 * What is compared is the time of the slowest part alone over the time of the pipeline. A transfer
 * alone is done by a thread that was just begun, as in the pipeline: the processor that such a
 * thread gets copies more slowly at first than one that has been busy. Transfers
 * slow each other, because both copy the host's memory, so that each is also timed while the other
 * one is under way without a pause; the last column has the slowest part with these times.
 *
 * With --pinned the host's batches are in pinned memory, which needs CUDA.
 *
 * The program's loop is made so long that it takes `percent` of an upload's time, 100 unless it is
 * given: all parts take as long then, and whatever holds up one of them delays the pipeline, which
 * is the hardest case. With 125 the program is the slowest part. The last batches are still
 * computed and downloaded when no more are uploaded, so that of n batches a pipeline of three equal
 * parts reaches n / (n + 2) at most: 0.99 of 256. Every byte of the results is checked. With
 * --check a median below the bar is a failure. Exits with 77 where the place cannot be used.
 */
#define _POSIX_C_SOURCE 200809L /* sched_yield */
#include "pairs.h"

#include <anycuda/buffer.h>
#include <anycuda/runtime.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 8, MOST_ROUNDS = 301 };

static const double bar = 0.90;

static long batches = 256, kib = 1024, block_count = 6, rounds = 11, percent = 100;
static size_t bytes;
static uint32_t elements; /* of a batch */
static bool pinned;
static unsigned char *inputs, *results;
static acu_buffer *pinned_inputs, *pinned_results;

static acu_client *uploads, *programs, *downloads;
static acu_block *in[MOST_BLOCKS], *out[MOST_BLOCKS];
static acu_program *program;
static uint32_t length = 64, addend = 1; /* the program's values */

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* ---- the program: out[i] = in[i] after `length` steps of x = x * FACTOR + addend ---- */

#define FACTOR      1664525u
#define FACTOR_TEXT "1664525"

static void steps(const acu_part *part, void *const *args) {
    const uint32_t *from = args[0], *step_count = args[3], *added = args[4];
    uint32_t *to = args[1];
    for (size_t i = part->begin[0]; i < part->end[0]; i++) {
        uint32_t x = from[i];
        for (uint32_t k = 0; k < *step_count; k++)
            x = x * FACTOR + *added;
        to[i] = x;
    }
}

/* Lines of PTX and WGSL stay lines. */
/* clang-format off */
static const acu_program_source source = {
    .name = "steps",
    .cpu = steps,
    .ptx = ".version 6.0\n.target sm_52\n.address_size 64\n"
           ".visible .entry steps(.param .u64 from, .param .u64 to, .param .u32 n,\n"
           "    .param .u32 length, .param .u32 addend)\n"
           "{\n"
           "    .reg .pred %past, %more;\n"
           "    .reg .b32 %i, %n, %k, %x, %c, %block, %threads, %thread;\n"
           "    .reg .b64 %from, %to;\n"
           "    mov.u32 %block, %ctaid.x;\n"
           "    mov.u32 %threads, %ntid.x;\n"
           "    mov.u32 %thread, %tid.x;\n"
           "    mad.lo.u32 %i, %block, %threads, %thread;\n"
           "    ld.param.u32 %n, [n];\n"
           "    setp.ge.u32 %past, %i, %n;\n"
           "    @%past bra END;\n"
           "    ld.param.u64 %from, [from];\n"
           "    cvta.to.global.u64 %from, %from;\n"
           "    mad.wide.u32 %from, %i, 4, %from;\n"
           "    ld.param.u64 %to, [to];\n"
           "    cvta.to.global.u64 %to, %to;\n"
           "    mad.wide.u32 %to, %i, 4, %to;\n"
           "    ld.param.u32 %k, [length];\n"
           "    ld.param.u32 %c, [addend];\n"
           "    ld.global.u32 %x, [%from];\n"
           "STEP:\n"
           "    setp.eq.u32 %more, %k, 0;\n"
           "    @%more bra STORE;\n"
           "    mad.lo.u32 %x, %x, " FACTOR_TEXT ", %c;\n"
           "    sub.u32 %k, %k, 1;\n"
           "    bra STEP;\n"
           "STORE:\n"
           "    st.global.u32 [%to], %x;\n"
           "END:\n"
           "    ret;\n"
           "}\n",
    .wgsl = "struct Values { n: u32, length: u32, addend: u32 }\n"
            "@group(0) @binding(0) var<storage, read> a: array<u32>;\n"
            "@group(0) @binding(1) var<storage, read_write> b: array<u32>;\n"
            "@group(0) @binding(2) var<uniform> v: Values;\n"
            "@compute @workgroup_size(256)\n"
            "fn steps(@builtin(global_invocation_id) item: vec3<u32>) {\n"
            "    let i = item.x;\n"
            "    if (i >= v.n) { return; }\n"
            "    var x = a[i];\n"
            "    for (var k = 0u; k < v.length; k++) { x = x * " FACTOR_TEXT "u + v.addend; }\n"
            "    b[i] = x;\n"
            "}\n",
};
/* clang-format on */

/* All steps together are x * factor + added, which one step of the expected values applies. */
static void check_results(const char *name) {
    uint32_t factor = 1, added = 0;
    for (uint32_t k = 0; k < length; k++) {
        factor *= FACTOR;
        added = added * FACTOR + addend;
    }
    const uint32_t *from = (const void *)inputs, *to = (const void *)results;
    const size_t count = (size_t)batches * elements;
    for (size_t i = 0; i < count; i++)
        if (to[i] != from[i] * factor + added) {
            fprintf(stderr, "%s: element %zu of batch %zu is %u instead of %u\n", name,
                    i % elements, i / elements, to[i], from[i] * factor + added);
            exit(1);
        }
    memset(results, 0, (size_t)batches * bytes);
}

/* ---- one batch ---- */

static void upload(long batch) {
    OK(acu_block_write(uploads, in[batch % block_count], 0, inputs + (size_t)batch * bytes, bytes));
}

static void compute(long batch) {
    OK(acu_run(programs, program, acu_items(elements), acu_in_block(in[batch % block_count]),
               acu_out_block(out[batch % block_count]), elements, length, addend));
}

static void read_in_order(long batch, acu_mark *mark) {
    (void)mark;
    OK(acu_block_read(downloads, out[batch % block_count], 0, results + (size_t)batch * bytes,
                      bytes));
}

static void read_after_mark(long batch, acu_mark *mark) {
    OK(acu_block_read_after(downloads, mark, out[batch % block_count], 0,
                            results + (size_t)batch * bytes, bytes));
}

/* ---- each part alone: milliseconds for all batches ---- */

static double milliseconds_since(double begin) {
    return (now_ns() - begin) / 1e6;
}

static pthread_t begin_thread(void *(*function)(void *data), void *data) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, data)) {
        fprintf(stderr, "the host starts no thread\n");
        exit(1);
    }
    return thread;
}

static double time_thread(void *(*function)(void *data)) {
    const double begin = now_ns();
    pthread_join(begin_thread(function, NULL), NULL);
    return milliseconds_since(begin);
}

static void *do_uploads(void *data) {
    for (long i = 0; i < batches; i++)
        upload(i);
    OK(acu_client_synchronize(uploads));
    return data;
}

static double upload_all(void) {
    return time_thread(do_uploads);
}

static double compute_all(void) {
    const double begin = now_ns();
    for (long i = 0; i < batches; i++)
        compute(i);
    OK(acu_client_synchronize(programs));
    return milliseconds_since(begin);
}

static void *do_downloads(void *data) {
    for (long i = 0; i < batches; i++)
        read_in_order(i, NULL);
    return data;
}

static double download_all(void) {
    return time_thread(do_downloads);
}

/* ---- one transfer while the other one is under way ---- */

/* A transfer that goes on until it is told to stop. */
typedef struct background {
    void (*transfer)(long batch);
    bool begun, stop; /* atomic */
} background;

static void *transfer_on(void *data) {
    background *b = data;
    for (long i = 0; !__atomic_load_n(&b->stop, __ATOMIC_RELAXED); i = (i + 1) % batches) {
        b->transfer(i);
        __atomic_store_n(&b->begun, true, __ATOMIC_RELAXED);
    }
    return NULL;
}

static double time_beside(double (*part)(void), void (*transfer)(long batch)) {
    background b = {.transfer = transfer};
    const pthread_t thread = begin_thread(transfer_on, &b);
    while (!__atomic_load_n(&b.begun, __ATOMIC_RELAXED))
        sched_yield();
    const double ms = part();
    __atomic_store_n(&b.stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    return ms;
}

static void download(long batch) {
    read_in_order(batch, NULL);
}

/* ---- the pipeline ---- */

typedef void read_function(long batch, acu_mark *mark);

/* How many batches a thread has done. */
typedef struct counter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    long count; /* atomic */
} counter;

#define NO_BATCH {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}

enum { UPLOADER, PROGRAMMER, DOWNLOADER, THREADS };

/* What the threads tell each other. */
typedef struct progress {
    counter uploaded, given, read;
    acu_mark *marks[MOST_BLOCKS]; /* behind the programs of the batches that are not read yet */
    read_function *function;
    double waited[THREADS]; /* ns, of each thread for the others */
} progress;

/* Waits until a count is at least `wanted`: awake for a moment, as CUDA's own waits are, since to
 * wake a thread costs the one that wakes it some microseconds. Returns how long, in ns. */
static double wait_for(counter *c, long wanted) {
    static const double awake_ns = 200e3;
    const double begin = now_ns();
    while (__atomic_load_n(&c->count, __ATOMIC_ACQUIRE) < wanted && now_ns() - begin < awake_ns)
        sched_yield();
    pthread_mutex_lock(&c->lock);
    while (c->count < wanted)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return now_ns() - begin;
}

static void count_one(counter *c) {
    pthread_mutex_lock(&c->lock);
    __atomic_add_fetch(&c->count, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

static void *read_batches(void *data) {
    progress *p = data;
    for (long i = 0; i < batches; i++) {
        p->waited[DOWNLOADER] += wait_for(&p->given, i + 1);
        acu_mark *mark = p->marks[i % block_count];
        p->function(i, mark);
        OK(acu_mark_release(mark));
        count_one(&p->read);
    }
    return NULL;
}

/* The program of what was in an input block must have been given before the next upload, which the
 * library then orders. */
static void *upload_batches(void *data) {
    progress *p = data;
    for (long i = 0; i < batches; i++) {
        p->waited[UPLOADER] += wait_for(&p->given, i + 1 - block_count);
        upload(i);
        count_one(&p->uploaded);
    }
    return NULL;
}

/* Whatever was in an output block must have been read before the next program for it is given. */
static void give_programs(progress *p) {
    for (long i = 0; i < batches; i++) {
        p->waited[PROGRAMMER] += wait_for(&p->uploaded, i + 1);
        p->waited[PROGRAMMER] += wait_for(&p->read, i + 1 - block_count);
        compute(i);
        OK(acu_mark_create(programs, &p->marks[i % block_count]));
        count_one(&p->given);
    }
}

/* Sends all batches through; returns the milliseconds, and stores how long each thread waited. */
static double run_pipeline(read_function *function, double waited[THREADS]) {
    progress p = {.uploaded = NO_BATCH, .given = NO_BATCH, .read = NO_BATCH, .function = function};
    const double begin = now_ns();
    const pthread_t reader = begin_thread(read_batches, &p),
                    writer = begin_thread(upload_batches, &p);
    give_programs(&p);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    const double ms = milliseconds_since(begin);
    for (int i = 0; i < THREADS; i++)
        waited[i] = p.waited[i] / 1e6;
    return ms;
}

/* ---- rounds ---- */

enum { UPLOAD, COMPUTE, DOWNLOAD, UPLOAD_BESIDE, DOWNLOAD_BESIDE, AFTER, IN_ORDER, KINDS };

static const char *const names[KINDS] = {"upload",
                                         "program",
                                         "download",
                                         "upload, while downloads are under way",
                                         "download, while uploads are under way",
                                         "pipeline, acu_block_read_after()",
                                         "pipeline, acu_block_read()"};
static double times[KINDS][MOST_ROUNDS];  /* ms */
static double alone[KINDS][MOST_ROUNDS];  /* throughput, of the slowest part alone */
static double beside[KINDS][MOST_ROUNDS]; /* the same, with transfers beside each other */
static double waits[KINDS][THREADS][MOST_ROUNDS];

static double time_pipeline(int kind, int round) {
    double waited[THREADS];
    const double ms = run_pipeline(kind == AFTER ? read_after_mark : read_in_order, waited);
    for (int i = 0; i < THREADS; i++)
        waits[kind][i][round] = waited[i];
    check_results(names[kind]);
    return ms;
}

static double time_one(int kind, int round) {
    addend++; /* each result is another one than the last */
    switch (kind) {
    case UPLOAD:
        return upload_all();
    case COMPUTE:
        return compute_all();
    case DOWNLOAD:
        return download_all();
    case UPLOAD_BESIDE:
        return time_beside(upload_all, download);
    case DOWNLOAD_BESIDE:
        return time_beside(download_all, upload);
    default:
        return time_pipeline(kind, round);
    }
}

static double slower(double one, double other) {
    return one > other ? one : other;
}

/* Every other round goes backwards, so that nothing always comes after the same. */
static void time_round(int round) {
    double ms[KINDS];
    for (int i = 0; i < KINDS; i++) {
        const int kind = round % 2 == 1 ? KINDS - 1 - i : i;
        ms[kind] = times[kind][round] = time_one(kind, round);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        alone[kind][round] = slower(slower(ms[UPLOAD], ms[COMPUTE]), ms[DOWNLOAD]) / ms[kind];
        beside[kind][round] =
            slower(slower(ms[UPLOAD_BESIDE], ms[COMPUTE]), ms[DOWNLOAD_BESIDE]) / ms[kind];
    }
}

static void print_row(int kind) {
    const int count = (int)rounds;
    const double gigabytes = (double)batches * (double)bytes / 1e9;
    const double ms = median_of(times[kind], count), part = median_of(alone[kind], count);
    printf("| %s | %.2f | %.2f | %.3f / %.3f / %.3f |", names[kind], ms, gigabytes / ms * 1e3,
           alone[kind][0], part, alone[kind][count - 1]);
    if (kind < AFTER)
        printf(" | |\n");
    else
        printf(" %.3f | %.1f, %.1f, %.1f |\n", median_of(beside[kind], count),
               median_of(waits[kind][UPLOADER], count), median_of(waits[kind][PROGRAMMER], count),
               median_of(waits[kind][DOWNLOADER], count));
}

/* Prints the rows; returns how many pipelines are below the bar. */
static int print_rows(void) {
    int below = 0;
    printf(
        "| what | ms | GB/s | throughput, of the slowest part alone: min / median / max | of the "
        "slowest part with transfers beside each other | ms that uploads, programs and "
        "downloads waited for other threads |\n"
        "|---|---|---|---|---|---|\n");
    for (int kind = 0; kind < KINDS; kind++) {
        print_row(kind);
        below += kind >= AFTER && median_of(alone[kind], (int)rounds) < bar;
    }
    return below;
}

/* Makes the program's loop so long that all programs take as long as all uploads. */
static void calibrate(void) {
    enum { TRIES = 5, LONGEST = 1048576 };
    double wanted = 0, got = 0;
    OK(acu_program_prepare(program, acu_client_place(programs)));
    for (int i = 0; i < TRIES; i++) {
        compute_all(); /* the clocks of a device go up with its work */
        wanted = upload_all() * (double)percent / 100;
        got = compute_all();
        const double next = (double)length * wanted / got;
        length = next < 1 ? 1 : next > LONGEST ? LONGEST : (uint32_t)next;
    }
    printf(
        "the program's loop has %u steps, to take %.2f ms, %ld%% of an upload; with the last loop "
        "before it took %.2f ms\n\n",
        length, wanted, percent, got);
}

/* ---- the program's options ---- */

/* Makes memory for all batches; where it is pinned, the buffer owns it, else `*buffer` stays NULL.
 */
static void *host_memory(acu_buffer **buffer) {
    const acu_buffer_options options = {.memory = ACU_MEMORY_PINNED};
    ACU_AUTO(acu_stream) *stream = NULL;
    void *memory = NULL;
    if (pinned) {
        OK(acu_stream_create(0, NULL, &stream));
        OK(acu_buffer_create_with(stream, ACU_U8, (size_t)batches * bytes, &options, buffer));
        OK(acu_buffer_get_host(*buffer, &memory));
    } else
        memory = malloc((size_t)batches * bytes);
    if (!memory) {
        fprintf(stderr, "there is no memory for %ld batches\n", batches);
        exit(1);
    }
    /* Its pages are there before anything is timed; zeros would be left to calloc(). */
    memset(memory, 1, (size_t)batches * bytes);
    return memory;
}

static void make_batches(void) {
    bytes = (size_t)kib * 1024;
    elements = (uint32_t)(bytes / sizeof elements);
    inputs = host_memory(&pinned_inputs);
    results = host_memory(&pinned_results);
    uint32_t *values = (void *)inputs;
    for (size_t i = 0; i < (size_t)batches * elements; i++)
        values[i] = (uint32_t)i * 2654435761u ^ (uint32_t)(i >> 3u);
}

static void make_blocks(acu_place place) {
    OK(acu_client_create(place, NULL, &programs));
    OK(acu_client_create(place, NULL, &downloads));
    for (long i = 0; i < block_count; i++) {
        OK(acu_block_create(uploads, bytes, &in[i]));
        OK(acu_block_create(programs, bytes, &out[i]));
    }
    OK(acu_program_create(&source, &program));
}

static void release_all(void) {
    for (long i = 0; i < block_count; i++) {
        OK(acu_block_release(in[i]));
        OK(acu_block_release(out[i]));
    }
    OK(acu_program_release(program));
    OK(acu_client_release(uploads));
    OK(acu_client_release(programs));
    OK(acu_client_release(downloads));
    if (!pinned) {
        free(inputs);
        free(results);
    }
    OK(acu_buffer_release(pinned_inputs));
    OK(acu_buffer_release(pinned_results));
}

/* Takes an option and its number; returns false where they are none. */
static bool take_option(const char *option, const char *text) {
    const struct {
        const char *name;
        long *value, least, most;
    } options[] = {{"--batches", &batches, 1, 65536},
                   {"--kib", &kib, 1, 1048576},
                   {"--blocks", &block_count, 1, MOST_BLOCKS},
                   {"--rounds", &rounds, 1, MOST_ROUNDS},
                   {"--program", &percent, 1, 1000}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (text && strcmp(option, options[i].name) == 0) {
            *options[i].value = strtol(text, NULL, 10);
            return *options[i].value >= options[i].least && *options[i].value <= options[i].most;
        }
    return false;
}

int main(int argc, char **argv) {
    acu_place place;
    acu_place_info info;
    bool check = false;
    acu_runtime_add_all();
    bool good = argc > 1 && !acu_place_parse(argv[1], &place);
    for (int i = 2; good && i < argc; i++)
        if (strcmp(argv[i], "--check") == 0)
            check = true;
        else if (strcmp(argv[i], "--pinned") == 0)
            pinned = true;
        else {
            good = take_option(argv[i], argv[i + 1]);
            i++;
        }
    if (!good) {
        fprintf(stderr, "bench_runtime_pipeline cpu|cuda|webgpu [--batches n] [--kib n] "
                        "[--blocks 1..8] [--rounds n] [--program percent] [--pinned] [--check]\n");
        return 2;
    }
    if (acu_client_create(place, NULL, &uploads)) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    OK(acu_place_get_info(place, &info));
    make_batches();
    make_blocks(place);
    printf("on %s (%s): %ld batches of %ld KiB, %ld blocks each for input and output, %ld rounds\n",
           argv[1], info.name, batches, kib, block_count, rounds);
    calibrate();
    time_round(0); /* not counted: a device's first transfers take longer */
    for (int i = 0; i < (int)rounds; i++)
        time_round(i);
    const int below = print_rows();
    printf("\n%d of the medians are below the bar of %.2f\n", below, bar);
    release_all();
    return check && below > 0;
}
