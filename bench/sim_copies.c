/* Large copies and fills, each in turn with memcpy() or memset() of as many bytes in this process.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5 };

static const size_t MiB = 1048576;
static void *device, *device_too, *pinned, *pinned_too, *pageable, *pageable_too, *managed;
static size_t size;

static void copy(void *to, const void *from, enum cudaMemcpyKind kind) {
    TRY(cudaMemcpy(to, from, size, kind));
}

static void asynchronous(void *to, const void *from, enum cudaMemcpyKind kind) {
    TRY(cudaMemcpyAsync(to, from, size, kind, stream));
}

/* Half of what the pitch spans. */
static void rows(void *to, const void *from, enum cudaMemcpyKind kind) {
    TRY(cudaMemcpy2DAsync(to, 2 * MiB, from, 2 * MiB, MiB, size / MiB, kind, stream));
}

static void fill(void *to, const void *from, enum cudaMemcpyKind kind) {
    (void)from;
    (void)kind;
    TRY(cudaMemsetAsync(to, 1, size, stream));
}

/* Copies and fills are measured against the host's own, on the same memory. */
static double by_hand(bool fills) {
    const double begin = now_ns();
    if (fills)
        memset(pageable_too, 1, size);
    else
        memcpy(pageable_too, pageable, size);
    return now_ns() - begin;
}

static void time_one(const char *what, void (*fn)(void *, const void *, enum cudaMemcpyKind),
                     void *to, const void *from, enum cudaMemcpyKind kind) {
    double ns[ROUNDS], base[ROUNDS], ratio[ROUNDS];
    char name[80];
    snprintf(name, sizeof name, "%s: %zu MiB", what, size / MiB);
    fn(to, from, kind);
    synchronize_all();
    for (int i = 0; i < ROUNDS && !failed; i++) {
        if (i % 2) /* neither is always the one that comes after */
            base[i] = by_hand(fn == fill);
        const double begin = now_ns();
        fn(to, from, kind);
        synchronize_all(); /* a copy within the device does not wait */
        ns[i] = now_ns() - begin;
        if (!(i % 2))
            base[i] = by_hand(fn == fill);
        ratio[i] = base[i] / ns[i];
    }
    if (complain(name))
        return;
    const double median = median_of(ns, ROUNDS);
    print_row(name, median, median * median_of(ratio, ROUNDS)); /* of the pairs, not of medians */
}

static void time_size(size_t bytes) {
    size = bytes;
    time_one("to the device from pinned memory", copy, device, pinned, cudaMemcpyHostToDevice);
    time_one("to pageable memory from the device", copy, pageable, device, cudaMemcpyDeviceToHost);
    time_one("within the device", copy, device, device_too, cudaMemcpyDeviceToDevice);
}

static void time_ways(void) {
    size = 64 * MiB;
    time_one("to pinned memory from the device", copy, pinned, device, cudaMemcpyDeviceToHost);
    time_one("to the device from pageable memory", copy, device, pageable, cudaMemcpyHostToDevice);
    time_one("within pageable memory", copy, pageable, pageable_too, cudaMemcpyHostToHost);
    time_one("to the device, asynchronous, pinned", asynchronous, device, pinned,
             cudaMemcpyHostToDevice);
    time_one("to the device, asynchronous, pageable", asynchronous, device, pageable,
             cudaMemcpyHostToDevice);
    time_one("to pageable memory, asynchronous", asynchronous, pageable, device,
             cudaMemcpyDeviceToHost);
    time_one("within the device, asynchronous", asynchronous, device, device_too,
             cudaMemcpyDeviceToDevice);
    time_one("within pinned memory, asynchronous", asynchronous, pinned, pinned_too,
             cudaMemcpyHostToHost);
    time_one("to managed memory from the device", asynchronous, managed, device,
             cudaMemcpyDeviceToDevice);
    time_one("to the device from managed memory", asynchronous, device, managed,
             cudaMemcpyDeviceToDevice);
    time_one("rows of 1 MiB to the device, pinned", rows, device, pinned, cudaMemcpyHostToDevice);
    time_one("rows of 1 MiB within the device", rows, device, device_too, cudaMemcpyDeviceToDevice);
    time_one("fill of the device", fill, device, NULL, cudaMemcpyDefault);
}

void time_copies(void) {
    const size_t most = 256 * MiB;
    TRY(cudaMalloc(&device, most));
    TRY(cudaMalloc(&device_too, most));
    TRY(cudaMallocHost(&pinned, most));
    TRY(cudaMallocHost(&pinned_too, most));
    TRY(cudaMallocManaged(&managed, 64 * MiB, cudaMemAttachGlobal));
    TRY(cudaMemset(device, 1, most)); /* all pages are there from the start */
    TRY(cudaMemset(device_too, 1, most));
    pageable = malloc(most);
    pageable_too = malloc(most);
    if (complain("large copies") || !pageable || !pageable_too)
        return;
    memset(pageable, 1, most);
    memset(pageable_too, 1, most);
    memset(pinned, 1, most);
    memset(pinned_too, 1, most);
    memset(managed, 1, 64 * MiB);
    time_size(64 * MiB);
    time_size(most);
    time_ways();
    TRY(cudaFree(device));
    TRY(cudaFree(device_too));
    TRY(cudaFree(managed));
    TRY(cudaFreeHost(pinned));
    TRY(cudaFreeHost(pinned_too));
    free(pageable);
    free(pageable_too);
    (void)complain("freeing");
}
