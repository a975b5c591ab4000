/*
 * Staging: pinned memory of a stream, through which data of the host passes, so that no copy waits.
 *
 * What is written lies in a ring of blocks. The copies of a stream are done in order, so that one
 * event behind the last copy from a block tells that the whole block can be filled again. The ring
 * gets more blocks while the next one is still in use, up to a limit; only then the thread waits.
 *
 * What is read lies in a block of its own, until the program has taken it. Then the block is kept
 * for the next read on the stream, whose copy comes after all earlier ones by itself.
 *
 * The stream owns its staging, and so does each transfer. The blocks of staging that has lost its
 * last owner serve other streams once all copies are done, and are freed when a thread waits for
 * the device: to free pinned memory at any other time would make a thread wait that did not ask to.
 */
#ifndef ACU_SRC_STAGING_H
#define ACU_SRC_STAGING_H

#include "safe/memory/buffer.h"

enum {
    ACU_STAGING_BLOCKS = 16, /* of the ring, at most */
    ACU_STAGING_PARTS = 8    /* of a large read, at most */
};
/* Bytes that the ring has at most. */
static const size_t acu_staging_ring = (size_t)16 << 20u;

typedef struct acu_staging_block {
    char *memory; /* pinned */
    size_t bytes;
    int device;         /* ordinal */
    cudaEvent_t copied; /* recorded behind the last copy from or to the memory */
    /* Recorded behind each part of a large read but the last one; NULL: not made yet. */
    cudaEvent_t parts[ACU_STAGING_PARTS - 1];
    struct acu_staging_block *next;
} acu_staging_block;

typedef struct acu_staging {
    acu_object object;
    acu_timeline *timeline; /* the stream's, with a reference */
    uint64_t number;        /* atomic: on the timeline, of the last copy */
    pthread_mutex_t lock;   /* of all below; held while a thread waits for a block of the ring */
    acu_staging_block *ring[ACU_STAGING_BLOCKS];
    unsigned count, at; /* blocks of the ring, and the one that is being filled */
    size_t used;        /* bytes of that one */
    size_t ring_bytes;
    acu_staging_block *kept; /* a list of blocks for reads */
    size_t kept_bytes;
} acu_staging;

/* Returns the stream's staging, which is made where there is none; NULL, and a failure that is
 * recorded for `call`, where the host has no memory. */
acu_staging *acu_staging_of(const char *call, acu_stream *stream);
/* Adds an owner and returns the staging. */
acu_staging *acu_staging_retain(acu_staging *staging);
/* Takes an owner away; returns the result of the destruction, or 0. */
int acu_staging_release(acu_staging *staging);

/*
 * Finds pinned memory for the next bytes to be written, and stores how many fit there; the thread
 * may wait for earlier copies. The caller holds the lock, fills the memory, puts the copy on the
 * stream and calls acu_staging_copied(), all before the next reservation. Returns 0, or a recorded
 * code; stores no bytes where there is no pinned memory at all.
 */
int acu_staging_reserve(acu_staging *staging, acu_stream *stream, size_t bytes, char **at,
                        size_t *fit);
/* Notes that a copy from or to the staging is on the stream. */
static inline void acu_staging_copied(acu_staging *staging, const acu_stream *stream) {
    __atomic_store_n(&staging->number, acu_timeline_issue(stream->timeline), __ATOMIC_RELAXED);
}

/* Returns a block for so many bytes to be read, which is the caller's; stores NULL where there is
 * no pinned memory. Returns 0, or a recorded code. */
int acu_staging_take(acu_staging *staging, size_t bytes, acu_staging_block **block);
/* Takes a block back, whose bytes nobody needs any more; a copy may be under way. */
void acu_staging_give(acu_staging *staging, acu_staging_block *block);
/* Makes the block's events for parts where there are none yet; returns 0 or a recorded code. */
int acu_staging_make_parts(acu_staging_block *block);
/* Records the block's event behind what is on the stream; returns CUDA's code. */
int acu_staging_record(const acu_staging_block *block, const acu_stream *stream);

#endif
