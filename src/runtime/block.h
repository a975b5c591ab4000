/* What a block is inside: memory, and who used it last. */
#ifndef ACU_BLOCK_INTERNAL_H
#define ACU_BLOCK_INTERNAL_H

#include <anycuda/block.h>

#include "runtime/client.h"

/* The last uses of a block by a client that is not its owner, as numbers of that client's work. */
typedef struct acu_foreign_use {
    acu_client *client;     /* kept */
    uint64_t used, written; /* 0: not, or not since the last write by another client */
} acu_foreign_use;

struct acu_block {
    acu_handle handle;
    /* What does not change: */
    acu_client *client;         /* the owner, which is kept */
    acu_backend_memory *memory; /* never NULL, also for a block of 0 bytes */
    uint64_t bytes;
    acu_piece *piece;         /* of the client's memory; NULL: the memory was wrapped */
    void (*drop)(void *data); /* of wrapped memory; may be NULL */
    void *drop_data;

    /* Under the owner's lock: */
    bool special;           /* `foreign_count` or `readers` is not 0 */
    uint64_t used, written; /* by the owner: numbers of its work; 0: as for foreign uses */
    uint64_t epoch;         /* acu_mark_epoch at the last write, or when the block was made */
    unsigned readers;       /* threads that read beside other work */
    unsigned foreign_count, foreign_room;
    acu_foreign_use *foreign;
};

/* Begins a read beside other work, under the owner's lock: what writes to the block waits from then
 * on. */
static inline void acu_block_begin_read(acu_block *block) {
    block->readers++;
    block->special = true;
}
/* Ends it, without any lock. */
void acu_block_end_read(acu_block *block);

acu_result acu_block_refuse(const char *call, const acu_client *client, const acu_block *block,
                            uint64_t at, uint64_t bytes) ACU_COLD;
/* Checks that [at, at + bytes) lies in the block, and that the block is of the client's device.
 * Returns 0, or a failure recorded for `call`. */
static inline acu_result acu_block_check(const char *call, const acu_client *client,
                                         const acu_block *block, uint64_t at, uint64_t bytes) {
    if (ACU_LIKELY(at <= block->bytes && bytes <= block->bytes - at &&
                   client->device == block->client->device))
        return ACU_SUCCESS;
    return acu_block_refuse(call, client, block, at, bytes);
}

/* Does the work of acu_block_wrap() for another call, with arguments that are checked. */
acu_result acu_block_wrap_for(const char *call, acu_client *client, void *memory, uint64_t bytes,
                              void (*drop)(void *data), void *data, acu_block **out);

/* Waits for all uses of a block, or for the writes alone, except those by one client, which may be
 * NULL. Errors of that work are kept as late errors. Without any lock. */
void acu_block_wait(acu_block *block, bool writes, const acu_client *but);

#endif
