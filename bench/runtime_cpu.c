/* The CPU's back end by its table, against memcpy(), loops written by hand, and direct calls. */
#include "pairs.h"
#include "runtime/cpu/cpu.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != ACU_SUCCESS) {                                                               \
            (void)fprintf(stderr, "%s failed: %s\n", #call, acu_last_error_message());             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { MOST = 128u << 20u };

static const acu_backend *const cpu = &acu_cpu_backend;
static acu_backend_queue *queue;
static acu_backend_memory *to, *from;
static char *to_host, *from_host;

static void nothing(void) {}

static void finish(void) {
    OK(cpu->queue_synchronize(queue));
}

/* The compiler does not know what memory is from here on. */
static void forget(void) {
    /* NOLINTNEXTLINE(portability-no-assembler): gcc and clang have it */
    __asm__ volatile("" ::: "memory");
}

/* ---- copies ---- */

static size_t bytes;

static void copy_by_memcpy(long calls) {
    for (long i = 0; i < calls; i++, forget())
        memcpy(to_host, from_host, bytes);
}

static void copy(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cpu->copy(queue, to, 0, from, 0, bytes));
    finish();
}

static void copy_and_wait(long calls) {
    for (long i = 0; i < calls; i++) {
        OK(cpu->copy(queue, to, 0, from, 0, bytes));
        finish();
    }
}

static void write_bytes(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cpu->write(queue, to, 0, from_host, bytes));
}

static void read_bytes(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cpu->read(queue, from, 0, to_host, bytes));
}

static void fill_by_memset(long calls) {
    for (long i = 0; i < calls; i++, forget())
        memset(to_host, 7, bytes);
}

static void fill_by_loop(long calls) {
    uint32_t *words = (uint32_t *)(void *)to_host;
    for (long n = 0; n < calls; n++, forget())
        for (size_t i = 0; i < bytes / 4; i++)
            words[i] = 0x01020304;
}

static void fill_bytes(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cpu->fill(queue, to, 0, bytes, "\7", 1));
    finish();
}

static void fill_words(long calls) {
    const uint32_t word = 0x01020304;
    for (long i = 0; i < calls; i++)
        OK(cpu->fill(queue, to, 0, bytes, &word, 4));
    finish();
}

static void compare_copies(void) {
    static const struct {
        const char *name;
        loop *first, *second;
    } ways[] = {{"copy", copy_by_memcpy, copy},
                {"copy, each waited for", copy_by_memcpy, copy_and_wait},
                {"write", copy_by_memcpy, write_bytes},
                {"read", copy_by_memcpy, read_bytes},
                {"fill with a byte, against memset", fill_by_memset, fill_bytes},
                {"fill with 4 bytes, against a loop", fill_by_loop, fill_words}};
    static const size_t sizes[] = {64,        1u << 10u, 16u << 10u, 64u << 10u,
                                   1u << 20u, 4u << 20u, 16u << 20u, 128u << 20u};
    print_header("memcpy", "the back end");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            char name[80];
            bytes = sizes[j];
            (void)snprintf(name, sizeof name, bytes < 1024 ? "%s, %zu bytes" : "%s, %zu KiB",
                           ways[i].name, bytes < 1024 ? bytes : bytes >> 10u);
            compare(name, ways[i].first, ways[i].second, 0, nothing);
        }
}

/* ---- strided copies ---- */

typedef struct layout {
    const char *name;
    loop *by_hand;
    size_t element;
    unsigned rank;
    uint64_t shape[4];
    int64_t to[4], from[4]; /* in elements */
    uint64_t from_at;
} layout;

static layout now;

static void strided(long calls) {
    int64_t to_steps[4], from_steps[4];
    const int64_t e = (int64_t)now.element;
    for (unsigned i = 0; i < now.rank; i++) {
        to_steps[i] = now.to[i] * e;
        from_steps[i] = now.from[i] * e;
    }
    const acu_backend_strided s = {
        now.element, now.rank, now.shape, to_steps, from_steps, 0, now.from_at * now.element,
        MOST,        MOST};
    for (long i = 0; i < calls; i++)
        OK(cpu->copy_strided(queue, to, from, &s));
    finish();
}

typedef struct rgb {
    uint8_t r, g, b;
} rgb;
typedef struct vec3 {
    float x, y, z;
} vec3;
typedef struct vec4 {
    double x, y;
} vec4;

/* NOLINTBEGIN(bugprone-macro-parentheses): a type has none */
/* A loop over two dimensions, as somebody writes it who knows the type and the steps; `x` is the
 * inner one. */
#define BY_HAND(name, type, to_index, from_index)                                                  \
    static void name(long calls) {                                                                 \
        type *restrict t = (type *)(void *)to_host;                                                \
        const type *restrict f = (const type *)(const void *)from_host;                            \
        const size_t rows = now.shape[0], columns = now.shape[1];                                  \
        for (long n = 0; n < calls; n++, forget())                                                 \
            for (size_t y = 0; y < rows; y++)                                                      \
                for (size_t x = 0; x < columns; x++)                                               \
                    t[to_index] = f[from_index];                                                   \
    }

/* A transposition in tiles, as somebody writes one who knows caches. */
#define TILED(name, type, side)                                                                    \
    static void name(long calls) {                                                                 \
        type *restrict t = (type *)(void *)to_host;                                                \
        const type *restrict f = (const type *)(const void *)from_host;                            \
        const size_t rows = now.shape[0], columns = now.shape[1];                                  \
        for (long n = 0; n < calls; n++, forget())                                                 \
            for (size_t y = 0; y < rows; y += (side))                                              \
                for (size_t x = 0; x < columns; x += (side))                                       \
                    for (size_t a = y; a < y + (side) && a < rows; a++)                            \
                        for (size_t b = x; b < x + (side) && b < columns; b++)                     \
                            t[a * columns + b] = f[b * rows + a];                                  \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

BY_HAND(transpose1, uint8_t, y *columns + x, x *rows + y)
BY_HAND(transpose2, uint16_t, y *columns + x, x *rows + y)
BY_HAND(transpose4, uint32_t, y *columns + x, x *rows + y)
BY_HAND(transpose8, uint64_t, y *columns + x, x *rows + y)
BY_HAND(transpose12, vec3, y *columns + x, x *rows + y)
BY_HAND(transpose16, vec4, y *columns + x, x *rows + y)
TILED(tiles1, uint8_t, 32)
TILED(tiles2, uint16_t, 32)
TILED(tiles4, uint32_t, 16)
TILED(tiles8, uint64_t, 8)
TILED(tiles12, vec3, 16)
TILED(tiles16, vec4, 8)
BY_HAND(backwards1, uint8_t, y *columns + x, y *columns + columns - 1 - x)
BY_HAND(backwards4, uint32_t, y *columns + x, y *columns + columns - 1 - x)
BY_HAND(second1, uint8_t, y *columns + x, (y * columns + x) * 2)
BY_HAND(second4, uint32_t, y *columns + x, (y * columns + x) * 2)
BY_HAND(third4, uint32_t, y *columns + x, (y * columns + x) * 3)
BY_HAND(seventh8, uint64_t, y *columns + x, (y * columns + x) * 7)
BY_HAND(scatter4, uint32_t, (y * columns + x) * 2, y *columns + x)
BY_HAND(scatter1, uint8_t, (y * columns + x) * 4, y *columns + x)
BY_HAND(pixels, rgb, y *columns + x, y * columns * 2 + x * 2)
BY_HAND(part4, uint32_t, y *columns + x, y * columns * 2 + x)
BY_HAND(repeat4, uint32_t, y *columns + x, x)
BY_HAND(spread4, uint32_t, y *columns + x, y)

/* Axes 0, 2, 1, 3, as of heads of attention. */
static void heads2(long calls) {
    uint16_t *restrict t = (uint16_t *)(void *)to_host;
    const uint16_t *restrict f = (const uint16_t *)(const void *)from_host;
    const size_t b = now.shape[0], h = now.shape[1], s = now.shape[2], d = now.shape[3];
    for (long n = 0; n < calls; n++, forget())
        for (size_t i = 0; i < b; i++)
            for (size_t j = 0; j < h; j++)
                for (size_t k = 0; k < s; k++)
                    memcpy(t + ((i * h + j) * s + k) * d, f + ((i * s + k) * h + j) * d, d * 2);
}

#define SQUARE(name, hand, element, n) {name, hand, element, 2, {n, n}, {n, 1}, {1, n}, 0}
#define LARGE                          4096

static const layout layouts[] = {
    SQUARE("transposition, 8 x 8 of 4 bytes", transpose4, 4, 8),
    SQUARE("transposition, 32 x 32 of 4 bytes", transpose4, 4, 32),
    SQUARE("transposition, 100 x 100 of 4 bytes", transpose4, 4, 100),
    SQUARE("transposition, 64 x 64 of 1 byte", transpose1, 1, 64),
    SQUARE("transposition, 64 x 64 of 2 bytes", transpose2, 2, 64),
    SQUARE("transposition, 64 x 64 of 8 bytes", transpose8, 8, 64),
    SQUARE("transposition, 64 x 64 of 12 bytes", transpose12, 12, 64),
    SQUARE("transposition, 64 x 64 of 16 bytes", transpose16, 16, 64),
    SQUARE("transposition, 128 x 128 of 4 bytes", tiles4, 4, 128),
    SQUARE("transposition, 256 x 256 of 4 bytes", tiles4, 4, 256),
    SQUARE("transposition, 512 x 512 of 4 bytes", tiles4, 4, 512),
    SQUARE("transposition, 1000 x 1000 of 4 bytes", tiles4, 4, 1000),
    SQUARE("transposition, 1024 x 1024 of 4 bytes", tiles4, 4, 1024),
    SQUARE("transposition, 4096 x 4096 of 1 byte", tiles1, 1, LARGE),
    SQUARE("transposition, 4096 x 4096 of 2 bytes", tiles2, 2, LARGE),
    SQUARE("transposition, 4096 x 4096 of 4 bytes", tiles4, 4, LARGE),
    SQUARE("transposition, 2048 x 2048 of 8 bytes", tiles8, 8, 2048),
    SQUARE("transposition, 2048 x 2048 of 12 bytes", tiles12, 12, 2048),
    SQUARE("transposition, 2048 x 2048 of 16 bytes", tiles16, 16, 2048),
    {"transposition, 1048576 x 3 of 4 bytes",
     transpose4,
     4,
     2,
     {1u << 20u, 3},
     {3, 1},
     {1, 1u << 20u},
     0},
    {"transposition, 3 x 1048576 of 4 bytes",
     transpose4,
     4,
     2,
     {3, 1u << 20u},
     {1u << 20u, 1},
     {1, 3},
     0},
    {"transposition, 1000 x 3 of 4 bytes", transpose4, 4, 2, {1000, 3}, {3, 1}, {1, 1000}, 0},
    {"rows backwards, 32 x 32 of 4 bytes", backwards4, 4, 2, {32, 32}, {32, 1}, {32, -1}, 31},
    {"rows backwards, 4096 x 4096 of 4 bytes",
     backwards4,
     4,
     2,
     {LARGE, LARGE},
     {LARGE, 1},
     {LARGE, -1},
     LARGE - 1},
    {"rows backwards, 64 x 64 of 1 byte", backwards1, 1, 2, {64, 64}, {64, 1}, {64, -1}, 63},
    {"every second, 32 x 32 of 4 bytes", second4, 4, 2, {32, 32}, {32, 1}, {64, 2}, 0},
    {"every second, 64 x 64 of 1 byte", second1, 1, 2, {64, 64}, {64, 1}, {128, 2}, 0},
    {"every second, 4096 x 2048 of 4 bytes",
     second4,
     4,
     2,
     {LARGE, 2048},
     {2048, 1},
     {LARGE, 2},
     0},
    {"every third, 64 x 64 of 4 bytes", third4, 4, 2, {64, 64}, {64, 1}, {192, 3}, 0},
    {"every seventh, 64 x 64 of 8 bytes", seventh8, 8, 2, {64, 64}, {64, 1}, {448, 7}, 0},
    {"to every second, 64 x 64 of 4 bytes", scatter4, 4, 2, {64, 64}, {128, 2}, {64, 1}, 0},
    {"to every fourth, 128 x 128 of 1 byte", scatter1, 1, 2, {128, 128}, {512, 4}, {128, 1}, 0},
    {"every second pixel, 64 x 64 of 3 bytes", pixels, 3, 2, {64, 64}, {64, 1}, {128, 2}, 0},
    {"half of each row, 16 x 16 of 4 bytes", part4, 4, 2, {16, 16}, {16, 1}, {32, 1}, 0},
    {"half of each row, 4096 x 2048 of 4 bytes",
     part4,
     4,
     2,
     {LARGE, 2048},
     {2048, 1},
     {LARGE, 1},
     0},
    {"a row repeated, 64 x 64 of 4 bytes", repeat4, 4, 2, {64, 64}, {64, 1}, {0, 1}, 0},
    {"a row repeated, 4096 x 4096 of 4 bytes",
     repeat4,
     4,
     2,
     {LARGE, LARGE},
     {LARGE, 1},
     {0, 1},
     0},
    {"each element 64 times, 64 x 64 of 4 bytes", spread4, 4, 2, {64, 64}, {64, 1}, {1, 0}, 0},
    {"axes 0, 2, 1, 3 of 2 x 8 x 16 x 64, 2 bytes",
     heads2,
     2,
     4,
     {2, 16, 8, 64},
     {8192, 512, 64, 1},
     {8192, 64, 1024, 1},
     0},
    {"axes 0, 2, 1, 3 of 8 x 512 x 16 x 64, 2 bytes",
     heads2,
     2,
     4,
     {8, 16, 512, 64},
     {524288, 32768, 64, 1},
     {524288, 64, 1024, 1},
     0},
};

static void compare_layouts(const char *only) {
    print_header("a loop", "copy_strided");
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        now = layouts[i];
        if (only == NULL || strstr(now.name, only))
            compare(now.name, now.by_hand, strided, 0, nothing);
    }
}

/* ---- programs, marks, replays ---- */

static acu_backend_program *program, *adding;
static acu_backend_replay *replay;
static acu_backend_queue *other;
static size_t items;

static void count(const acu_part *part, void *const *args) {
    atomic_size_t *total = args[0];
    atomic_fetch_add_explicit(total, part->end[0] - part->begin[0], memory_order_relaxed);
}

static void add(const acu_part *part, void *const *args) {
    float *restrict sum = args[0];
    const float *restrict a = args[1];
    const float factor = *(float *)args[2];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        sum[i] = a[i] * factor + 1;
}

static acu_backend_arg args[3];
static float factor = 2;

static void call_directly(long calls) {
    const acu_part all = {.end = {items, 1, 1}, .items = {items, 1, 1}};
    void *const direct[] = {to_host, from_host, &factor};
    acu_part_function *volatile function = bytes ? add : count;
    for (long i = 0; i < calls; i++)
        function(&all, direct);
}

static void run(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cpu->run(queue, bytes ? adding : program, (size_t[]){items, 1, 1}, args, 3));
}

static void run_all(long calls) {
    run(calls);
    finish();
}

static void run_and_wait(long calls) {
    for (long i = 0; i < calls; i++) {
        run(1);
        finish();
    }
}

static void mark(long calls) {
    for (long i = 0; i < calls; i++) {
        acu_backend_mark *made = NULL;
        OK(cpu->mark_create(queue, &made));
        OK(cpu->mark_query(made));
        cpu->mark_destroy(made);
    }
}

static void run_in_turn(long calls) {
    for (long i = 0; i < calls; i++) {
        acu_backend_mark *made = NULL;
        run(1);
        OK(cpu->mark_create(queue, &made));
        OK(cpu->queue_wait(other, made));
        cpu->mark_destroy(made);
        acu_backend_queue *first = queue;
        queue = other;
        other = first;
    }
    finish();
    OK(cpu->queue_synchronize(other));
}

static void hundred_runs(long calls) {
    for (long i = 0; i < calls; i++)
        run(100);
    finish();
}

static void run_replay(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cpu->replay_run(queue, replay));
    finish();
}

static void compare_programs(void) {
    const acu_program_source counting = {.name = "count", .cpu = count},
                             scaling = {.name = "add", .cpu = add};
    OK(cpu->program_create(NULL, &(acu_backend_source){0, &counting, NULL}, &program));
    OK(cpu->program_create(NULL, &(acu_backend_source){0, &scaling, NULL}, &adding));
    args[0] = (acu_backend_arg){.memory = to, .writes = true};
    args[1] = (acu_backend_arg){.memory = from};
    args[2] = (acu_backend_arg){.value = &factor, .size = sizeof factor};
    print_header("direct calls", "run");
    bytes = 0;
    items = 1;
    compare("giving a run of 1 item", call_directly, run, 1000, finish);
    compare("runs of 1 item, waited for at the end", call_directly, run_all, 1000, nothing);
    compare("a run of 1 item, waited for", call_directly, run_and_wait, 0, nothing);
    compare("runs of 1 item by two queues in turn", call_directly, run_in_turn, 1000, nothing);
    compare("a mark that is reached: made, asked, destroyed", call_directly, mark, 0, nothing);
    items = 1000;
    compare("runs of 1000 items", call_directly, run_all, 1000, nothing);
    bytes = 1;
    for (items = 1024; items <= 16u << 20u; items *= 16) {
        char name[80];
        (void)snprintf(name, sizeof name, "a[i] * f + 1, %zu items, waited for", items);
        compare(name, call_directly, run_and_wait, 0, nothing);
    }
    bytes = 0;
    items = 1;
    OK(cpu->capture_begin(queue));
    run(100);
    OK(cpu->capture_end(queue, &replay));
    print_header("100 runs of 1 item", "a replay of them");
    compare("replay", hundred_runs, run_replay, 10, nothing);
    cpu->replay_destroy(replay);
    cpu->program_destroy(program);
    cpu->program_destroy(adding);
}

int main(int argc, char **argv) {
    acu_backend_device *device = NULL;
    void *host = NULL;
    OK(cpu->device_open(0, &device));
    OK(cpu->queue_create(device, NULL, &queue));
    OK(cpu->queue_create(device, NULL, &other));
    OK(cpu->memory_allocate(queue, MOST, &to));
    OK(cpu->memory_allocate(queue, MOST, &from));
    OK(cpu->memory_get_host(device, to, &host));
    to_host = host;
    OK(cpu->memory_get_host(device, from, &host));
    from_host = host;
    memset(to_host, 1, MOST);
    memset(from_host, 1, MOST);
    const char *what = argc > 1 ? argv[1] : "";
    if (*what == '\0' || strcmp(what, "copies") == 0)
        compare_copies();
    if (*what == '\0' || strcmp(what, "layouts") == 0)
        compare_layouts(argc > 2 ? argv[2] : NULL);
    if (*what == '\0' || strcmp(what, "programs") == 0)
        compare_programs();
    cpu->memory_free(queue, to, MOST);
    cpu->memory_free(queue, from, MOST);
    cpu->queue_destroy(queue);
    cpu->queue_destroy(other);
    return 0;
}
