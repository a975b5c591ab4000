/*
 * Work: what a client's queue is given. All of it goes through acu_work_give(), which brings it
 * into order with the other uses of its blocks, and either performs it or records it for a replay.
 *
 * A kind of work is a struct that begins with acu_work, and an acu_work_kind:
 *
 *     typedef struct fill_work { acu_work work; acu_block_use use; uint64_t at, bytes; … }
 * fill_work; static acu_result perform_fill(acu_client *client, const acu_work *work) { …
 * table->fill … } static const acu_work_kind fill_kind = {"acu_block_fill", perform_fill,
 * keep_fill, NULL, false};
 *
 *     fill_work fill = {.work = {&fill_kind, &fill.use, 1, NULL}, .use = {block, NULL, true}, …};
 *     return acu_work_give(client, &fill.work);
 */
#ifndef ACU_WORK_H
#define ACU_WORK_H

#include "runtime/block.h"
#include "runtime/mark.h"

typedef struct acu_work acu_work;

/* A block that work uses. */
typedef struct acu_block_use {
    acu_block *block;
    acu_client *by; /* whose queue uses it; NULL: the client that the work is given to */
    bool writes;
} acu_block_use;

typedef struct acu_work_kind {
    const char *call; /* the public function, for failures */
    /*
     * Gives the work to client->queue by client->table. Called with the locks of the client and,
     * unless it is done apart, of all clients that the blocks have to do with, so that no public
     * function of the runtime interface may be called in it, and no lock of another client taken.
     * Called once where work is done at once, and at each run of a replay that is not captured;
     * also while the back end captures (client->capturing): what needs the host then returns
     * ACU_NOT_SUPPORTED.
     *
     * Returns 0, or what a function of the back end or acu_backend_fail() returned. The caller
     * records the failure, for `call` and the first of the blocks.
     */
    acu_result (*perform)(acu_client *client, const acu_work *work);
    /* Does work that reads its one block to the host beside all other work, once a mark of
     * `client` is reached; without any lock. Only where the place can ACU_CAN_READ_BESIDE. NULL:
     * perform() does the work, whose locks keep other clients out meanwhile. */
    acu_result (*read_after)(acu_client *client, const acu_work *work, acu_backend_mark *mark);
    /* Returns a copy from malloc() that needs nothing of the caller's: bytes of the host are
     * copied, handles beside the blocks get an owner (the blocks do by the caller). NULL, and
     * nothing kept, where the host has no memory. NULL: the work waits or reads to the host, so
     * that recording it is ACU_ERROR_CAPTURE. */
    acu_work *(*keep)(const acu_work *work);
    /* Gives up the handles that keep() added an owner to, and frees the copy. NULL: free(). */
    void (*drop)(acu_work *work);
    /* The work is part of an object's life, and done at once though the thread records. */
    bool at_once;
    /* perform() needs the lock of `client` alone, whose queue all uses are on. */
    bool apart;
    /* Work that is done apart takes long, since it copies the host's bytes: where several clients
     * have to do with its block, perform() is called without any lock, and the queue is busy. */
    bool slow;
} acu_work_kind;

struct acu_work {
    const acu_work_kind *kind;
    /* Each block once or more often; of one that several clients use, the write comes last. keep()
     * makes the pointer lead into the copy. */
    acu_block_use *uses;
    unsigned use_count;
    acu_work *next; /* in a recording */
};

/* Returns a copy of a struct of `size` bytes that begins with acu_work and has all its uses in it,
 * as acu_work_kind.keep() does; NULL where the host has no memory. */
acu_work *acu_work_copy(const acu_work *work, size_t size);

/*
 * Gives work to a client, at once or into the replay that this thread records. The handles are
 * checked, and every block is of the device of the client that uses it. Without any lock.
 *
 * Waits on the device, or where that is not possible in this thread, for earlier uses of the blocks
 * by other clients; for what writes to a block, and that block is being read beside
 * other work; and while another thread records with the client. Returns 0 or a failure
 * that is recorded.
 */
acu_result acu_work_give(acu_client *client, acu_work *work);

/*
 * A short way for a write to one block, where nothing has to be brought into order or recorded.
 * Returns true with the client's lock, for the caller to give the write to client->queue; then
 * acu_work_end_write_alone() must follow. false, without the lock: acu_work_give() does the work.
 */
static inline bool acu_work_begin_write_alone(acu_client *client, const acu_block *block) {
    if (block->client != client || acu_client_is_of_parent(client) ||
        __atomic_load_n(&client->on_cpu, __ATOMIC_RELAXED))
        return false;
    acu_client_seize(client);
    if (ACU_LIKELY(!client->recording && !block->special))
        return true;
    acu_client_unlock(client);
    return false;
}
/* Remembers the write, also where it failed, perhaps half done, and gives up the lock. */
static inline void acu_work_end_write_alone(acu_client *client, acu_block *block) {
    block->used = block->written = ++client->given;
    block->epoch = __atomic_load_n(&acu_mark_epoch, __ATOMIC_RELAXED);
    acu_client_unlock(client);
}

#endif
