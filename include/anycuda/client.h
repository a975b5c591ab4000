/*
 * Clients: an ordered queue of a place, with the memory that its blocks come from.
 *
 * Work of one client is done in the order in which it was given. A block that two clients of one
 * place use is ordered, too: the later use waits for the earlier one on the device. Several threads
 * may use a client at once, and retain and release it; another handle of the same queue is
 * acu_client_retain().
 *
 * In a forked process, clients that were made before cannot be used (ACU_ERROR_STATE), and neither
 * can what belongs to them; it can be released, which gives up no more than its memory of the host.
 */
#ifndef ACU_CLIENT_H
#define ACU_CLIENT_H

#include <anycuda/place.h>

ACU_BEGIN_C

/** A queue of a place, and its memory. */
typedef struct acu_client acu_client;

/** Memory of a place: <anycuda/block.h>. */
typedef struct acu_block acu_block;

/** A point in a client's queue: <anycuda/mark.h>. */
typedef struct acu_mark acu_mark;

/** How a client is made; all zero is the default. `size` is sizeof(acu_client_options), or 0. */
typedef struct acu_client_options {
    size_t size;
    int priority;     /* smaller is more urgent; 0: the default, also where there are none */
    unsigned threads; /* of a CPU, that work for this client at once; 0: all */
    uint64_t limit;   /* acu_client_set_memory_limit() */
} acu_client_options;

/** Makes a client, which the caller owns; `options` may be NULL. Errors: as for
 * acu_client_get_default(). */
ACU_CHECKED acu_result acu_client_create(acu_place place, const acu_client_options *options,
                                         acu_client **client);

/**
 * Makes a handle for the place's default client, which the caller owns; all callers share the
 * client.
 *
 * Errors: 101 where the runtime has no such device; ACU_NOT_SUPPORTED where this program does not
 * have the runtime; what the runtime says where it cannot be used, as 35 without a driver.
 */
ACU_CHECKED acu_result acu_client_get_default(acu_place place, acu_client **client);

/** Adds an owner and returns the client; NULL where the handle is not a client. */
acu_client *acu_client_retain(acu_client *client);

/**
 * Takes an owner away. Blocks, marks and replays are owners of their client, too; the last release
 * waits for the client's work. Returns the error of that work, or ACU_ERROR_HANDLE.
 */
acu_result acu_client_release(acu_client *client);

void acu_client_cleanup(acu_client **client);

/** Writes one line that names the client, as errors do; acu_stream_describe() has the rules. */
size_t acu_client_describe(const acu_client *client, char *text, size_t size);

/** Returns the client's place; all zero where the handle is not a client. */
acu_place acu_client_place(const acu_client *client);

/** Waits for all work of the client, and returns the first error of work since the last time. */
ACU_CHECKED acu_result acu_client_synchronize(acu_client *client);

/**
 * Lets later work of the client wait for a mark, of any client and any place. Where the two places
 * cannot do that by themselves, the thread waits.
 */
ACU_CHECKED acu_result acu_client_wait(acu_client *client, acu_mark *mark);

/** Asks for what is beneath the queue, which stays the client's: a CUDA stream, a WebGPU device. */
ACU_CHECKED acu_result acu_client_get_raw(acu_client *client, acu_raw *raw);

/* ---- the client's memory ---- */

/** What a client's memory is, and has been. */
typedef struct acu_memory_stats {
    uint64_t used, used_high;         /* bytes of blocks that live; the most that did */
    uint64_t reserved, reserved_high; /* bytes taken from the place; the most that were */
    uint64_t limit;                   /* bytes; 0: none */
    uint64_t blocks;                  /* that live */
    uint64_t allocations, frees;
    uint64_t hits; /* allocations that took nothing from the place */
    uint64_t failures;
    unsigned frozen; /* acu_client_freeze_memory() without its counterpart */
} acu_memory_stats;

/** Asks what the client's memory is, and has been. */
ACU_CHECKED acu_result acu_client_get_memory(acu_client *client, acu_memory_stats *stats);

/**
 * Sets the most bytes that the client takes from its place; 0: as many as there are. What it has
 * taken already stays.
 */
ACU_CHECKED acu_result acu_client_set_memory_limit(acu_client *client, uint64_t bytes);

/** Gives memory that no block uses back to the place, but keeps at least `keep` bytes of it. */
ACU_CHECKED acu_result acu_client_trim_memory(acu_client *client, uint64_t keep);

/**
 * Keeps the memory of blocks that are released from now on: nothing is given to a new block or back
 * to the place until acu_client_thaw_memory(). Can be nested.
 *
 * New blocks get memory that no block had since the first freeze, so that addresses which were seen
 * stay what they were. Recording a replay does this by itself.
 */
ACU_CHECKED acu_result acu_client_freeze_memory(acu_client *client);

/** Ends what acu_client_freeze_memory() began. Errors: ACU_ERROR_STATE where nothing is frozen. */
ACU_CHECKED acu_result acu_client_thaw_memory(acu_client *client);

/**
 * Gives all memory back and begins the statistics again; the limit and the hooks stay.
 *
 * Errors: ACU_ERROR_STATE while a block lives that has memory of the client, or the memory is
 * frozen.
 */
ACU_CHECKED acu_result acu_client_reset_memory(acu_client *client);

/** Functions that a client calls; a function that is NULL is not called. */
typedef struct acu_memory_hooks {
    size_t size; /* sizeof(acu_memory_hooks) */
    void *data;  /* the first argument of each */
    void (*allocated)(void *data, acu_block *block, uint64_t bytes);
    void (*freed)(void *data, acu_block *block, uint64_t bytes);
    /* There is no room for so many bytes. Returns true where something was released, and the
     * allocation shall be tried once more. */
    bool (*out_of_memory)(void *data, uint64_t bytes);
} acu_memory_hooks;

/**
 * Sets the functions that are called from now on; `hooks` is copied, and NULL means none.
 *
 * They are called without a lock by the thread that allocates or frees, and may use the client. The
 * block that was freed is a dead handle by then. out_of_memory() is not called for what it
 * allocates itself.
 */
ACU_CHECKED acu_result acu_client_set_memory_hooks(acu_client *client,
                                                   const acu_memory_hooks *hooks);

ACU_END_C

#endif
