/*
 * Events that processes share. Each record has a number; a wait is for the number that was the last
 * when it was asked for. What another process does is polled, as values in memory are. A record of
 * a process that dies before it is done is never done.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "sim/stream/shared_event.h"

#include "sim/device/device.h"
#include "sim/shared_file.h"
#include "sim/stream/op.h"
#include "sim/stream/schedule.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(acu_sim_shared_handle), "a handle fits");

enum { PAGE = 4096, PAUSE = 100000 /* nanoseconds between two looks */ };

/* What is in the page, which all processes change at any time. */
typedef struct counts {
    uint64_t last; /* the number of the last record */
    uint64_t done; /* the highest number of a record that is done */
} counts;

struct acu_sim_shared_event {
    unsigned refs; /* of the event and of operations; under the lock */
    int file;      /* -1: another process's, or ended */
    acu_sim_shared_note note;
    counts *page;
};

static acu_sim_shared_event *map_page(int file, const acu_sim_shared_note *note) {
    acu_sim_shared_event *shared = calloc(1, sizeof *shared);
    void *page =
        shared ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (page == MAP_FAILED) {
        free(shared);
        return NULL;
    }
    *shared = (acu_sim_shared_event){.refs = 1, .file = -1, .note = *note, .page = page};
    return shared;
}

acu_sim_shared_event *acu_sim_shared_event_new(const acu_sim_device *device) {
    acu_sim_shared_note note = {.kind = SIM_SHARED_EVENT, .device = device->index, .size = PAGE};
    const int file = acu_sim_shared_file_new(&note);
    acu_sim_shared_event *shared = file < 0 ? NULL : map_page(file, &note);
    if (shared)
        shared->file = file;
    else if (file >= 0)
        close(file);
    return shared;
}

void acu_sim_shared_event_hold(acu_sim_shared_event *shared) {
    shared->refs++;
}

void acu_sim_shared_event_end_export(acu_sim_shared_event *shared) {
    if (shared->file >= 0)
        close(shared->file);
    shared->file = -1;
}

void acu_sim_shared_event_release(acu_sim_shared_event *shared) {
    if (!shared || --shared->refs)
        return;
    acu_sim_shared_event_end_export(shared);
    munmap(shared->page, PAGE);
    free(shared);
}

/* ---- records ---- */

uint64_t acu_sim_shared_event_begin(acu_sim_shared_event *shared) {
    return __atomic_add_fetch(&shared->page->last, 1, __ATOMIC_SEQ_CST);
}

void acu_sim_shared_event_finish(acu_sim_shared_event *shared, uint64_t number) {
    uint64_t done = __atomic_load_n(&shared->page->done, __ATOMIC_SEQ_CST);
    while (done < number && !__atomic_compare_exchange_n(&shared->page->done, &done, number, false,
                                                         __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
}

uint64_t acu_sim_shared_event_last(const acu_sim_shared_event *shared) {
    return __atomic_load_n(&shared->page->last, __ATOMIC_SEQ_CST);
}

bool acu_sim_shared_event_is_done(const acu_sim_shared_event *shared, uint64_t number) {
    return __atomic_load_n(&shared->page->done, __ATOMIC_SEQ_CST) >= number;
}

/* ---- waiting ---- */

/* With a seed, work of this process, for which the other may wait, is done only when asked for. */
void acu_sim_shared_event_wait(const acu_sim_shared_event *shared, uint64_t number) {
    const struct timespec pause = {.tv_nsec = PAUSE};
    while (!acu_sim_shared_event_is_done(shared, number)) {
        acu_sim_schedule_ask();
        pthread_mutex_unlock(&acu_sim_lock);
        (void)nanosleep(&pause, NULL);
        pthread_mutex_lock(&acu_sim_lock);
    }
}

static bool is_over(const acu_sim_op *op) {
    return acu_sim_shared_event_is_done(op->with.awaited_event.shared,
                                        op->with.awaited_event.number);
}

static void drop_wait(acu_sim_op *op) {
    acu_sim_shared_event_release(op->with.awaited_event.shared);
}

acu_sim_op *acu_sim_shared_event_wait_op(acu_sim_shared_event *shared, uint64_t number) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL);
    if (!op)
        return NULL;
    acu_sim_shared_event_hold(shared);
    op->with.awaited_event.shared = shared;
    op->with.awaited_event.number = number;
    op->is_due = is_over;
    op->drop = drop_wait;
    return op;
}

/* ---- handles ---- */

bool acu_sim_shared_event_export(const acu_sim_shared_event *shared, cudaIpcEventHandle_t *handle) {
    if (shared->file < 0)
        return false;
    const acu_sim_shared_handle made =
        acu_sim_shared_handle_of(shared->file, &shared->note, 0, PAGE);
    memcpy(handle, &made, sizeof made);
    return true;
}

cudaError_t acu_sim_shared_event_open(const cudaIpcEventHandle_t *handle,
                                      acu_sim_shared_event **shared, acu_sim_device **device) {
    acu_sim_shared_handle wanted;
    acu_sim_shared_note note;
    bool ours;
    if (!acu_sim_shared_handle_read(handle, SIM_SHARED_EVENT, &wanted, &ours))
        return SIM_REFUSE(cudaErrorMapBufferObjectFailed,
                          "the bytes are no handle of cudaIpcGetEventHandle()");
    if (ours)
        return SIM_REFUSE(cudaErrorDeviceUninitialized,
                          "the handle is of this process: use the event itself");
    *device = acu_sim_device_at(wanted.device);
    if (!*device)
        return SIM_REFUSE(cudaErrorInvalidDevice,
                          "the event is of device %d, which this process does not have",
                          (int)wanted.device);
    const int file = acu_sim_shared_handle_open(&wanted, &note);
    if (file < 0)
        return SIM_REFUSE(cudaErrorInvalidResourceHandle,
                          "process %d, which made the handle, is gone, has destroyed the event, or "
                          "is another user's",
                          (int)wanted.process);
    *shared = map_page(file, &note);
    close(file);
    return *shared ? cudaSuccess : cudaErrorMemoryAllocation;
}
