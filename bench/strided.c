/*
 * Strided copies against a plain copy of the same bytes, and shapes against the raw calls that do
 * the same: in pairs within one process, on the GPU whose runtime is loaded. Exits with 77 where
 * there is none: on the simulator a copy is the host's, and the comparison says nothing.
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>

#include <stdio.h>
#include <stdlib.h>

static acu_stream *stream;
static cudaStream_t raw_stream;
static acu_buffer *to, *from;
static acu_strides strides;
static size_t bytes;

enum { MOST = 268435456 }; /* bytes of each buffer */

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Nothing is left in a queue: each loop ends when the device has done its work. */
static void nothing(void) {}

static void plain(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cudaMemcpyAsync(acu_buffer_raw(to), acu_buffer_raw(from), bytes,
                           cudaMemcpyDeviceToDevice, raw_stream));
    OK(cudaStreamSynchronize(raw_stream));
}

static void strided(long calls) {
    for (long i = 0; i < calls; i++)
        OK(acu_buffer_copy_strided(to, from, &strides, NULL));
    OK(cudaStreamSynchronize(raw_stream));
}

/* ---- strided copies ---- */

typedef struct layout {
    const char *name;
    size_t element; /* bytes */
    unsigned rank;
    size_t shape[4]; /* of the destination, which is dense */
    int64_t steps[4];
    size_t first;
} layout;

enum { SIDE = 4096, CUBE = 320 };

static const layout layouts[] = {
    {"transposition, 4096 x 4096 of 4 bytes", 4, 2, {SIDE, SIDE}, {1, SIDE}, 0},
    {"transposition, 4096 x 4096 of 1 byte", 1, 2, {SIDE, SIDE}, {1, SIDE}, 0},
    {"transposition, 8192 x 8192 of 1 byte", 1, 2, {8192, 8192}, {1, 8192}, 0},
    {"transposition, 4096 x 4096 of 2 bytes", 2, 2, {SIDE, SIDE}, {1, SIDE}, 0},
    {"transposition, 4096 x 4096 of 8 bytes", 8, 2, {SIDE, SIDE}, {1, SIDE}, 0},
    {"transposition, 4096 x 4096 of 12 bytes", 12, 2, {SIDE, SIDE}, {1, SIDE}, 0},
    {"transposition, 4096 x 4096 of 16 bytes", 16, 2, {SIDE, SIDE}, {1, SIDE}, 0},
    {"transposition, 1048576 x 16 of 4 bytes", 4, 2, {1048576, 16}, {1, 1048576}, 0},
    {"transposition, 16 x 1048576 of 4 bytes", 4, 2, {16, 1048576}, {1, 16}, 0},
    {"transposition, 4194304 x 3 of 4 bytes", 4, 2, {4194304, 3}, {1, 4194304}, 0},
    {"transposition, 3 x 4194304 of 4 bytes", 4, 2, {3, 4194304}, {1, 3}, 0},
    {"64 transpositions, 512 x 512 of 4 bytes",
     4,
     3,
     {64, 512, 512},
     {INT64_C(512) * 512, 1, 512},
     0},
    {"all axes of 320 x 320 x 320 reversed, 4 bytes",
     4,
     3,
     {CUBE, CUBE, CUBE},
     {1, CUBE, (int64_t)CUBE * CUBE},
     0},
    {"axes 1, 0, 2 of 320 x 320 x 320, 4 bytes",
     4,
     3,
     {CUBE, CUBE, CUBE},
     {CUBE, (int64_t)CUBE * CUBE, 1},
     0},
    {"axes 0, 2, 1, 3 of 16 x 1024 x 32 x 128, 2 bytes",
     2,
     4,
     {16, 32, 1024, 128},
     {(int64_t)1024 * 32 * 128, 128, INT64_C(32) * 128, 1},
     0},
    {"rows backwards, 4096 x 4096 of 4 bytes", 4, 2, {SIDE, SIDE}, {SIDE, -1}, SIDE - 1},
    {"every second element, 4096 x 2048 of 4 bytes", 4, 2, {SIDE, SIDE / 2}, {SIDE, 2}, 0},
    {"half of each row, 4096 x 2048 of 4 bytes", 4, 2, {SIDE, SIDE / 2}, {SIDE, 1}, 0},
    {"a row repeated, 4096 x 4096 of 4 bytes", 4, 2, {SIDE, SIDE}, {0, 1}, 0},
};

static void compare_layouts(void) {
    acu_buffer *whole_to = to, *whole_from = from;
    print_header("cudaMemcpyAsync of the bytes", "acu_buffer_copy_strided");
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const layout *l = &layouts[i];
        strides = (acu_strides){
            .rank = l->rank, .shape = l->shape, .from = l->steps, .from_at = l->first};
        bytes = l->element;
        for (unsigned n = 0; n < l->rank; n++)
            bytes *= l->shape[n];
        const size_t used = MOST / l->element * l->element;
        acu_buffer *slices[2];
        OK(acu_buffer_slice(whole_to, 0, used, &slices[0]));
        OK(acu_buffer_slice(whole_from, 0, used, &slices[1]));
        OK(acu_buffer_reinterpret(slices[0], ACU_BYTES(l->element), &to));
        OK(acu_buffer_reinterpret(slices[1], ACU_BYTES(l->element), &from));
        strided(1); /* loads the kernel */
        compare(l->name, plain, strided, 0, nothing);
        OK(acu_buffer_release(to));
        OK(acu_buffer_release(from));
        OK(acu_buffer_release(slices[0]));
        OK(acu_buffer_release(slices[1]));
    }
    to = whole_to;
    from = whole_from;
}

/* ---- against raw calls ---- */

/* What a program without the kernel does: a 2D copy for each row. */
static void rows_one_by_one(long calls) {
    enum { ROWS = 1024 };
    char *target = acu_buffer_raw(to), *source = acu_buffer_raw(from);
    for (long i = 0; i < calls; i++)
        for (size_t y = 0; y < ROWS; y++)
            OK(cudaMemcpy2DAsync(target + y * ROWS * 4, 4, source + y * 4, (size_t)ROWS * 4, 4,
                                 ROWS, cudaMemcpyDeviceToDevice, raw_stream));
    OK(cudaStreamSynchronize(raw_stream));
}

static size_t side; /* of the rectangle, in floats; the pitch is 16 KiB */
enum { PITCH = 16384 };

static void raw_rectangles(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cudaMemcpy2DAsync(acu_buffer_raw(to), PITCH, acu_buffer_raw(from), PITCH, side * 4, side,
                             cudaMemcpyDeviceToDevice, raw_stream));
    OK(cudaStreamSynchronize(raw_stream));
}

static void rectangles(long calls) {
    const acu_region here = {.buffer = to, .row_pitch = PITCH},
                     there = {.buffer = from, .row_pitch = PITCH};
    for (long i = 0; i < calls; i++)
        OK(acu_region_copy(&here, &there, (acu_extent){side * 4, side, 1}, NULL));
    OK(cudaStreamSynchronize(raw_stream));
}

static void raw_fills(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cudaMemset2DAsync(acu_buffer_raw(to), PITCH, 7, side * 4, side, raw_stream));
    OK(cudaStreamSynchronize(raw_stream));
}

static void fills(long calls) {
    const acu_region here = {.buffer = to, .row_pitch = PITCH};
    const unsigned char seven = 7;
    for (long i = 0; i < calls; i++)
        OK(acu_region_fill(&here, ((acu_extent){side * 4, side, 1}), &seven));
    OK(cudaStreamSynchronize(raw_stream));
}

static void compare_calls(void) {
    static const size_t square[] = {1024, 1024};
    static const int64_t transposed[] = {1, 1024};
    acu_buffer *whole_to = to, *whole_from = from;
    OK(acu_buffer_reinterpret(whole_to, ACU_F32, &to));
    OK(acu_buffer_reinterpret(whole_from, ACU_F32, &from));
    strides = (acu_strides){.rank = 2, .shape = square, .from = transposed};
    print_header("raw calls", "anycuda");
    compare("transposition, 1024 x 1024 of 4 bytes, against 1,024 2D copies", rows_one_by_one,
            strided, 0, nothing);
    OK(acu_buffer_release(to));
    OK(acu_buffer_release(from));
    to = whole_to;
    from = whole_from;
    for (side = 16; side <= 4096; side *= 16) {
        char name[80];
        snprintf(name, sizeof name, "region of %zu x %zu floats copied, against cudaMemcpy2DAsync",
                 side, side);
        compare(name, raw_rectangles, rectangles, 0, nothing);
        snprintf(name, sizeof name, "region of %zu x %zu floats filled, against cudaMemset2DAsync",
                 side, side);
        compare(name, raw_fills, fills, 0, nothing);
    }
}

int main(void) {
    int devices = 0;
    static const size_t square[] = {1024, 1024};
    static const int64_t transposed[] = {1, 1024};
    if (acu_device_get_count(&devices) || devices == 0 || acu_loaded(ACU_CUDART)->is_sim) {
        printf("no GPU here: %s\n", devices ? "this is the simulator" : acu_last_error_message());
        return 77;
    }
    OK(acu_stream_create(0, NULL, &stream));
    raw_stream = acu_stream_raw(stream);
    OK(acu_buffer_create(stream, ACU_U8, MOST, &to));
    OK(acu_buffer_create(stream, ACU_U8, MOST, &from));
    strides = (acu_strides){.rank = 2, .shape = square, .from = transposed};
    OK(acu_stream_synchronize(stream));
    const double before = now_ns();
    strided(1);
    printf("the first transposition of a process, which loads a kernel: %.1f ms\n",
           (now_ns() - before) / 1e6);
    compare_layouts();
    compare_calls();
    OK(acu_buffer_release(to));
    OK(acu_buffer_release(from));
    OK(acu_stream_release(stream));
    return 0;
}
