/*
 * The smaller nouns of memory against the raw calls, in pairs within one process: what is known of
 * an address, physical memory and, on the simulator only, multicast objects, which can hang the
 * GPUs of a machine that others share. Exits with 77 where there is no device.
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static acu_stream *stream;
static acu_buffer *buffer;
static size_t bytes, multicast_bytes;
static CUmemAllocationProp raw_kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define LOOP(name, ...)                                                                            \
    static void name(long calls) {                                                                 \
        for (long i = 0; i < calls; i++) {                                                         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static void settle_all(void) {
    OK(acu_stream_synchronize(stream));
}

LOOP(raw_info, struct cudaPointerAttributes known;
     OK(cudaPointerGetAttributes(&known, acu_buffer_raw(buffer)));)
LOOP(safe_info, acu_memory_info known; OK(acu_memory_get_info(acu_buffer_raw(buffer), &known));)

LOOP(raw_physical, CUmemGenericAllocationHandle made; OK(cuMemCreate(&made, bytes, &raw_kind, 0));
     OK(cuMemRelease(made));)
LOOP(safe_physical, acu_physical *made; OK(acu_physical_create(0, bytes, NULL, &made));
     OK(acu_physical_release(made));)

LOOP(raw_multicast, CUmemGenericAllocationHandle made;
     const CUmulticastObjectProp two = {.numDevices = 2, .size = multicast_bytes};
     OK(cuMulticastCreate(&made, &two)); OK(cuMulticastAddDevice(made, 0)); OK(cuMemRelease(made));)
LOOP(safe_multicast, acu_multicast *made; OK(acu_multicast_create(2, multicast_bytes, NULL, &made));
     OK(acu_multicast_add_device(made, 0)); OK(acu_multicast_release(made));)

/* Returns whether this is the simulator; else says why the row is left out. */
static bool may_make_multicasts(void) {
    const char *where = getenv("ANYCUDA_CUDART");
    bool supported = false;
    if (where && strcmp(where, "sim") == 0 && acu_multicast_is_supported(0, &supported) == 0 &&
        supported && acu_multicast_get_granularity(2, 1, NULL, &multicast_bytes, NULL) == 0)
        return true;
    printf("\nmulticast objects: left out, because this is not the simulator, which "
           "ANYCUDA_CUDART=sim chooses\n");
    return false;
}

int main(void) {
    if (acu_stream_create(0, NULL, &stream)) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    acu_quarantine(0); /* as in a release build */
    OK(acu_buffer_create(stream, ACU_F32, 1024, &buffer));
    OK(acu_physical_get_granularity(0, NULL, &bytes, NULL));
    print_header("raw", "safe");
    (void)compare("acu_memory_get_info, against cudaPointerGetAttributes", raw_info, safe_info, 0,
                  settle_all);
    (void)compare("physical memory of one granule, against cuMemCreate and cuMemRelease",
                  raw_physical, safe_physical, 0, settle_all);
    if (may_make_multicasts())
        (void)compare("a multicast object with one device added, against cuMulticastCreate, "
                      "cuMulticastAddDevice and cuMemRelease",
                      raw_multicast, safe_multicast, 0, settle_all);
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
    return 0;
}
