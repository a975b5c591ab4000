/*
 * A back end of the host's memory, for tests of the core: "madeup" with two devices.
 *
 * Its queues keep work in a list until something waits for it, so that what the core forgets to
 * wait for shows as wrong data. Each function can be told to fail, and a table can be made without
 * any of the optional ones, or of an older header. The file is a part of tests, and a shared
 * object.
 */
#ifndef MADE_UP_H
#define MADE_UP_H

#include <anycuda/backend.h>

/* The functions that can be told to fail. */
typedef enum made_up_entry {
    MADE_UP_COUNT_DEVICES,
    MADE_UP_DEVICE_OPEN,
    MADE_UP_DEVICE_GET_INFO,
    MADE_UP_QUEUE_CREATE,
    MADE_UP_QUEUE_SYNCHRONIZE,
    MADE_UP_MEMORY_ALLOCATE,
    MADE_UP_WRITE,
    MADE_UP_READ,
    MADE_UP_COPY,
    MADE_UP_FILL,
    MADE_UP_COPY_STRIDED,
    MADE_UP_COPY_PEER,
    MADE_UP_READ_AFTER,
    MADE_UP_MARK_CREATE,
    MADE_UP_MARK_QUERY,
    MADE_UP_MARK_SYNCHRONIZE,
    MADE_UP_QUEUE_WAIT,
    MADE_UP_PROGRAM_CREATE,
    MADE_UP_RUN,
    MADE_UP_CAPTURE_BEGIN,
    MADE_UP_CAPTURE_END,
    MADE_UP_REPLAY_RUN,
    MADE_UP_QUEUE_GET_RAW,
    MADE_UP_MEMORY_GET_RAW,
    MADE_UP_MEMORY_GET_ADDRESS,
    MADE_UP_MEMORY_GET_HOST,
    MADE_UP_MEMORY_WRAP,
    MADE_UP_ENTRIES
} made_up_entry;

typedef struct made_up_behaviour {
    acu_result fail[MADE_UP_ENTRIES]; /* what a function returns; 0: it does its work */
    bool silent;                      /* without acu_backend_fail() */
    bool records; /* a failure records one of this library, as CUDA's back end does */
    unsigned times[MADE_UP_ENTRIES]; /* how often it fails; 0: always */
    unsigned can;                    /* what the devices say that they can */
    unsigned max_rank;
    uint64_t largest_block, memory;   /* of each device; 0: no limit */
    uint64_t largest_read;            /* bytes of the largest read so far */
    unsigned slow_reads, slow_writes; /* milliseconds that read_after() and write() take */
    bool writes_held;                 /* write() waits until this is false; atomic */
    acu_result late;                  /* the next work that is done fails with this, once */
    /* what was counted: */
    unsigned calls[MADE_UP_ENTRIES];
    unsigned devices, queues, memories, marks, replays, wrapped, programs; /* that live */
    unsigned trims, cancels;
    unsigned reads_ended, writes_ended; /* calls of read_after() and write() that have copied */
    unsigned shared_queue_uses;         /* calls of a queue beside another one that was not over */
    uint64_t used;                      /* bytes of memory that is allocated */
    uint64_t last_rank;
} made_up_behaviour;

/* What the back end does and has counted; atomic where several threads use it. */
extern made_up_behaviour made_up;

/* The whole table. */
extern const acu_backend made_up_backend;

/* Sets everything as it is at first; what lives is still counted. */
void made_up_reset(void);

/* Loses the device: each function fails with this code from now on. */
void made_up_lose(acu_result code);

/* Registers a copy of the table under another name; `change` may be NULL. Returns the place of its
 * first device. */
acu_place made_up_register(void (*change)(acu_backend *table));

#endif
