/*
 * The memory of a client: pieces that were taken from the place, which blocks have, or which wait
 * in lists for the next block of their size.
 */
#ifndef ACU_CLIENT_MEMORY_H
#define ACU_CLIENT_MEMORY_H

#include <anycuda/backend.h>

/* A piece of memory, whole as the place gave it. */
typedef struct acu_piece acu_piece;
struct acu_piece {
    acu_backend_memory *memory;
    uint64_t bytes;
    acu_piece *next; /* in a list, under the client's lock */
};

/* Sizes are rounded up to one of eight per power of two, so that at most an eighth is unused. */
enum { ACU_SIZE_CLASSES = 8 * 64 };

/* Under the client's lock. */
typedef struct acu_client_memory {
    acu_piece *free[ACU_SIZE_CLASSES]; /* usable again at once, since the queue orders it */
    uint64_t free_bytes;
    acu_piece *kept; /* released while the memory was frozen */
    acu_memory_stats stats;
    acu_memory_hooks hooks;
    bool has_hooks; /* atomic: read without the lock */
} acu_client_memory;

/* Gives the client memory of at least `bytes` bytes, 0 included. Without the lock. A failure is
 * recorded for `call`. */
acu_result acu_client_allocate(const char *call, acu_client *client, uint64_t bytes,
                               acu_piece **piece);
/* Takes a piece back, which work of the client's queue may still use and no other does, from a
 * block of `bytes` bytes; under the lock. */
void acu_client_take_back(acu_client *client, acu_piece *piece, uint64_t bytes);
/* Makes released memory usable again, unless the memory is still frozen; under the lock. */
void acu_client_thaw(acu_client *client);
/* Calls the program's hook for a new block, or for one that was freed. Without any lock. */
void acu_client_call_hook(acu_client *client, bool is_new, acu_block *block, uint64_t bytes);
/* Gives all pieces to the place; at the end of the client, under the lock. */
void acu_client_free_memory(acu_client *client);

#endif
