/*
 * Events that processes share. Each record has a number; a wait is for the number that was the last
 * when it was asked for. What another process does is polled, as values in memory are. A record of
 * a process that dies before it is done is never done.
 *
 * A process has one file for its events, with a place for each. As on a GPU, a handle can be opened
 * after the event was destroyed; so the place of an event of which there is a handle is not used
 * again, which costs 16 bytes until the process ends. Whoever has an event of the file open opens
 * the others without that process.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "sim/stream/shared_event.h"

#include "sim/device/device.h"
#include "sim/noun.h"
#include "sim/shared_file.h"
#include "sim/stream/op.h"
#include "sim/stream/schedule.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(acu_sim_shared_handle), "a handle fits");

enum {
    PLACES = 1 << 16,
    PAUSE = 100000 /* nanoseconds between two looks */
};

/* What is in a place, which all processes change at any time. */
typedef struct counts {
    uint64_t last; /* the number of the last record */
    uint64_t done; /* the highest number of a record that is done */
} counts;

enum { BYTES = PLACES * sizeof(counts) };

/* A file with places, which this process has made or opened. */
typedef struct places {
    unsigned refs; /* of its events here, and of `own` */
    int file;      /* -1: another process's */
    acu_sim_shared_note note;
    counts *at;
    unsigned used; /* of this process's: places that have been given out */
    unsigned free; /* of this process's: the last that was given back, plus 1; 0: none */
    struct places *next, *next_own;
} places;

static places *files; /* under the lock, as everything here */
static places *own;   /* where new events get places, with a reference; NULL: none yet */

struct acu_sim_shared_event {
    unsigned refs; /* of the event and of operations */
    places *in;    /* with a reference */
    unsigned place;
    int device;
    bool exported; /* there is a handle */
    counts *page;
};

/* ---- files ---- */

/* Maps a file; NULL without memory. */
static places *map_file(int file, const acu_sim_shared_note *note) {
    places *made = calloc(1, sizeof *made);
    void *at = made ? mmap(NULL, (size_t)note->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                    : MAP_FAILED;
    if (at == MAP_FAILED) {
        free(made);
        return NULL;
    }
    *made = (places){.refs = 1, .file = -1, .note = *note, .at = at, .next = files};
    return files = made;
}

static void release_file(places *in) {
    if (!in || --in->refs)
        return;
    places **at = &files;
    while (*at != in)
        at = &(*at)->next;
    *at = in->next;
    if (in->file >= 0)
        close(in->file);
    munmap(in->at, (size_t)in->note.size);
    free(in);
}

/* Returns a file of this process that has a place; NULL without memory. */
static places *own_file(void) {
    if (own && (own->free || own->used < PLACES))
        return own;
    acu_sim_shared_note note = {.kind = SIM_SHARED_EVENT, .size = BYTES};
    const int file = acu_sim_shared_file_new(&note);
    places *made = file < 0 ? NULL : map_file(file, &note);
    if (!made) {
        if (file >= 0)
            close(file);
        return NULL;
    }
    made->file = file;
    made->next_own = own; /* whose handles still can be opened */
    return own = made;
}

/* A place that is given back has the number of the next such place. */
static unsigned take_place(places *in) {
    if (!in->free)
        return in->used++;
    const unsigned place = in->free - 1;
    in->free = (unsigned)in->at[place].last;
    in->at[place] = (counts){0, 0};
    return place;
}

static void give_back(places *in, unsigned place) {
    in->at[place] = (counts){.last = in->free};
    in->free = place + 1;
}

/* ---- events ---- */

/* Makes the event of a place; takes a reference to the file. NULL without memory. */
static acu_sim_shared_event *new_event(places *in, unsigned place, int device) {
    acu_sim_shared_event *shared = calloc(1, sizeof *shared);
    if (!shared)
        return NULL;
    in->refs++;
    *shared = (acu_sim_shared_event){
        .refs = 1, .in = in, .place = place, .device = device, .page = &in->at[place]};
    return shared;
}

acu_sim_shared_event *acu_sim_shared_event_new(const acu_sim_device *device) {
    places *in = own_file();
    const unsigned place = in ? take_place(in) : 0;
    acu_sim_shared_event *shared = in ? new_event(in, place, device->index) : NULL;
    if (in && !shared)
        give_back(in, place);
    return shared;
}

void acu_sim_shared_event_hold(acu_sim_shared_event *shared) {
    shared->refs++;
}

void acu_sim_shared_event_release(acu_sim_shared_event *shared) {
    if (!shared || --shared->refs)
        return;
    if (shared->in->file >= 0 && !shared->exported)
        give_back(shared->in, shared->place);
    release_file(shared->in);
    free(shared);
}

/* Events of graphs and of operations may still have references. */
static void reset(void) {
    while (own) {
        places *next = own->next_own;
        release_file(own);
        own = next;
    }
}

const acu_sim_noun acu_sim_shared_event_noun = {.reset = reset};

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

bool acu_sim_shared_event_export(acu_sim_shared_event *shared, cudaIpcEventHandle_t *handle) {
    const places *in = shared->in;
    if (in->file < 0)
        return false;
    acu_sim_shared_handle made = acu_sim_shared_handle_of(
        in->file, &in->note, shared->place * sizeof(counts), sizeof(counts));
    made.device = shared->device;
    memcpy(handle, &made, sizeof made);
    shared->exported = true;
    return true;
}

/* Returns the file of a handle, with a new reference: one that is open here, also if its process
 * has ended, or that process's; NULL, and the reason, if there is none. */
static places *find_file(const acu_sim_shared_handle *handle, cudaError_t *why) {
    acu_sim_shared_note note;
    for (places *in = files; in; in = in->next)
        if (in->note.tag == handle->tag && handle->offset < in->note.size) {
            in->refs++;
            return in;
        }
    const int file = acu_sim_shared_handle_open(handle, &note);
    *why = cudaErrorMemoryAllocation;
    if (file < 0) {
        *why = SIM_REFUSE(cudaErrorInvalidResourceHandle,
                          "process %d, which made the handle, has ended, or is another user's",
                          (int)handle->process);
        return NULL;
    }
    places *in = map_file(file, &note);
    close(file);
    return in;
}

cudaError_t acu_sim_shared_event_open(const cudaIpcEventHandle_t *handle,
                                      acu_sim_shared_event **shared, acu_sim_device **device) {
    acu_sim_shared_handle wanted;
    bool ours;
    cudaError_t why = cudaSuccess;
    if (!acu_sim_shared_handle_read(handle, SIM_SHARED_EVENT, &wanted, &ours) ||
        wanted.offset % sizeof(counts))
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
    places *in = find_file(&wanted, &why);
    if (!in)
        return why;
    *shared = new_event(in, (unsigned)(wanted.offset / sizeof(counts)), wanted.device);
    release_file(in); /* the event has a reference now, if there is one */
    return *shared ? cudaSuccess : cudaErrorMemoryAllocation;
}
