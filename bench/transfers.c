/*
 * Writing and reading through pinned memory of the stream, against cudaMemcpyAsync() from and to
 * ordinary memory and to pinned memory of the program's own: in pairs within one process, on the
 * GPU whose runtime is loaded. Exits with 77 where there is none: on the simulator a copy is the
 * host's, and the comparison says nothing.
 *
 * A loop of a raw copy from ordinary memory ends with all data on the device, as the others do.
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {
    64, 4096, 65536, (size_t)1 << 20u, (size_t)4 << 20u, (size_t)16 << 20u, (size_t)64 << 20u};
static const size_t filled = (size_t)256 << 20u; /* bytes of a fill, which takes a while */

static acu_stream *stream;
static acu_buffer *buffer, *other;
static cudaStream_t raw_stream;
static char *memory, *elsewhere; /* the device's, for the raw calls */
static char *plain, *pinned;
static size_t bytes;

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* ---- writing ---- */

static void write_raw(long calls, const void *from) {
    for (long i = 0; i < calls; i++)
        OK(cudaMemcpyAsync(memory, from, bytes, cudaMemcpyHostToDevice, raw_stream));
    OK(cudaStreamSynchronize(raw_stream));
}

static void write_plain(long calls) {
    write_raw(calls, plain);
}

static void write_pinned(long calls) {
    write_raw(calls, pinned);
}

/* What a program does that has ordinary memory and one pinned buffer. */
static void write_copied(long calls) {
    for (long i = 0; i < calls; i++) {
        memcpy(pinned, plain, bytes);
        OK(cudaMemcpyAsync(memory, pinned, bytes, cudaMemcpyHostToDevice, raw_stream));
        OK(cudaStreamSynchronize(raw_stream));
    }
}

static void write_async(long calls) {
    for (long i = 0; i < calls; i++)
        OK(acu_buffer_write_async(buffer, 0, ACU_U8, plain, bytes, NULL));
    OK(acu_stream_synchronize(stream));
}

/* The stream has something to do when the data comes. */
static void write_plain_behind_a_fill(long calls) {
    for (long i = 0; i < calls; i++) {
        OK(cudaMemsetAsync(elsewhere, 1, filled, raw_stream));
        OK(cudaMemcpyAsync(memory, plain, bytes, cudaMemcpyHostToDevice, raw_stream));
    }
    OK(cudaStreamSynchronize(raw_stream));
}

static void write_async_behind_a_fill(long calls) {
    for (long i = 0; i < calls; i++) {
        OK(acu_buffer_zero(other, NULL));
        OK(acu_buffer_write_async(buffer, 0, ACU_U8, plain, bytes, NULL));
    }
    OK(acu_stream_synchronize(stream));
}

/* ---- reading ---- */

static void read_plain(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cudaMemcpyAsync(plain, memory, bytes, cudaMemcpyDeviceToHost, raw_stream));
    OK(cudaStreamSynchronize(raw_stream));
}

static void read_pinned(long calls) {
    for (long i = 0; i < calls; i++)
        OK(cudaMemcpyAsync(pinned, memory, bytes, cudaMemcpyDeviceToHost, raw_stream));
    OK(cudaStreamSynchronize(raw_stream));
}

/* The elements are looked at where they are. */
static void read_async(long calls) {
    for (long i = 0; i < calls; i++) {
        acu_transfer *transfer = NULL;
        const void *host;
        OK(acu_buffer_read_async(buffer, 0, bytes, &transfer, NULL));
        if (i + 1 == calls)
            OK(acu_transfer_get_host(transfer, &host));
        OK(acu_transfer_release(transfer));
    }
}

static void read_async_and_copy(long calls) {
    for (long i = 0; i < calls; i++) {
        acu_transfer *transfer = NULL;
        OK(acu_buffer_read_async(buffer, 0, bytes, &transfer, NULL));
        OK(acu_transfer_read_typed(transfer, 0, ACU_U8, plain, bytes));
        OK(acu_transfer_release(transfer));
    }
}

static void rest(void) {
    OK(cudaDeviceSynchronize());
}

static void compare_all(const char *name, loop *raw, loop *safe) {
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char row[100];
        bytes = sizes[i];
        snprintf(row, sizeof row, "%s, %zu bytes", name, bytes);
        compare(row, raw, safe, bytes > 10000000 ? 1 : 64, rest);
    }
}

int main(void) {
    int devices = 0;
    const size_t most = sizes[sizeof sizes / sizeof *sizes - 1];
    void *host = NULL;
    if (acu_device_get_count(&devices) || devices == 0 || acu_loaded(ACU_CUDART)->is_sim) {
        printf("no GPU here: %s\n", devices ? "this is the simulator" : acu_last_error_message());
        return 77;
    }
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create(stream, ACU_U8, most, &buffer));
    OK(cudaStreamCreate(&raw_stream));
    OK(acu_buffer_create(stream, ACU_U8, filled, &other));
    OK(cudaMalloc((void **)&memory, most));
    OK(cudaMalloc((void **)&elsewhere, filled));
    OK(cudaHostAlloc(&host, most, 0));
    pinned = host;
    plain = malloc(most);
    memset(plain, 1, most);
    memset(pinned, 1, most);
    print_header("cudaMemcpyAsync", "transfer");
    compare_all("write, against ordinary memory", write_plain, write_async);
    compare_all("write behind a fill, against ordinary memory", write_plain_behind_a_fill,
                write_async_behind_a_fill);
    compare_all("write, against memcpy, pinned memory, wait", write_copied, write_async);
    compare_all("write, against pinned memory without memcpy", write_pinned, write_async);
    compare_all("read in place, against ordinary memory", read_plain, read_async);
    compare_all("read in place, against pinned memory", read_pinned, read_async);
    compare_all("read and copy, against ordinary memory", read_plain, read_async_and_copy);
    free(plain);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(memory));
    OK(cudaFree(elsewhere));
    OK(cudaStreamDestroy(raw_stream));
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_release(other));
    OK(acu_stream_release(stream));
    return 0;
}
