/*
 * Signaling a semaphore of another API and waiting for it, by the safe layer and by raw calls, in
 * pairs within one process: a timeline of Vulkan's on a GPU, and the simulator's own there. Exits
 * with 77 where there is neither.
 */
#include "pairs.h"
#include "vulkan.h"

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>
#include <anycuda/load.h>
#include <anycuda/sim.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 200 }; /* calls that a stream's queue takes without waiting */

static acu_stream *stream;
static acu_external_semaphore *semaphore;
static cudaStream_t raw_stream;
static cudaExternalSemaphore_t raw;
static unsigned long long value; /* of the timeline, when all is done */

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void signal_raw(long calls) {
    for (long i = 0; i < calls; i++) {
        const struct cudaExternalSemaphoreSignalParams params = {.params.fence.value = ++value};
        OK(cudaSignalExternalSemaphoresAsync(&raw, &params, 1, raw_stream));
    }
}

static void signal_safe(long calls) {
    for (long i = 0; i < calls; i++)
        OK(acu_external_semaphore_signal(semaphore, ++value, stream));
}

static void both_raw(long calls) {
    for (long i = 0; i < calls; i++) {
        const struct cudaExternalSemaphoreSignalParams signal = {.params.fence.value = ++value};
        const struct cudaExternalSemaphoreWaitParams wait = {.params.fence.value = value};
        OK(cudaSignalExternalSemaphoresAsync(&raw, &signal, 1, raw_stream));
        OK(cudaWaitExternalSemaphoresAsync(&raw, &wait, 1, raw_stream));
    }
}

static void both_safe(long calls) {
    for (long i = 0; i < calls; i++) {
        OK(acu_external_semaphore_signal(semaphore, ++value, stream));
        OK(acu_external_semaphore_wait(semaphore, value, stream));
    }
}

static void settle_stream(void) {
    OK(acu_stream_synchronize(stream));
}

/* Returns a descriptor of a timeline, and prints whose; -1 where there is none. */
static int new_timeline(void) {
    acu_device_info info;
    OK(acu_device_get_info(0, &info));
    if (acu_loaded(ACU_CUDART)->is_sim)
        return acu_sim_semaphore_export(acu_sim_semaphore_create(1));
    const char *why = vulkan_open(info.uuid);
    if (!why && !vulkan_has_semaphores())
        why = "this Vulkan exports no semaphores";
    if (!why)
        return vulkan_export_semaphore(vulkan_new_semaphore(true));
    printf("no semaphore here: %s\n", why);
    return -1;
}

int main(void) {
    int devices = 0;
    if (acu_device_get_count(&devices) || devices == 0) {
        printf("no GPU here: %s\n", acu_last_error_message());
        return 77;
    }
    const int descriptor = new_timeline();
    if (descriptor < 0)
        return 77;
    OK(acu_stream_create(0, NULL, &stream));
    raw_stream = acu_stream_raw(stream);
    OK(acu_external_semaphore_import(
        0,
        &(acu_external_semaphore_source){.type = ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD,
                                         .descriptor = descriptor},
        &semaphore));
    raw = acu_external_semaphore_raw(semaphore);
    print_header("raw", "safe");
    compare("signal a timeline semaphore", signal_raw, signal_safe, MOST, settle_stream);
    compare("signal it and wait for it", both_raw, both_safe, MOST, settle_stream);
    OK(acu_external_semaphore_release(semaphore));
    OK(acu_stream_release(stream));
    return 0;
}
