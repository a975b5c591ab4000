/*
 * Shares as the files of this noun see them: the body of a token, leases, and pools of other
 * processes.
 *
 * share.c: life and properties. share_token.c: bytes. share_lease.c: who still uses what.
 * share_export.c and share_import.c: CUDA's calls. share_pieces.c: mapped memory, in pieces.
 * share_socket.c: the way between the processes.
 */
#ifndef ACU_SRC_SHARE_H
#define ACU_SRC_SHARE_H

#include <anycuda/share.h>

#include <pthread.h>

#include "safe/base/object.h"
#include "safe/memory/pool.h"

/* What a token says. Programs with other versions of this library read it, so that nothing here
 * moves within a version. */
typedef struct acu_share_body {
    char magic[8];
    uint16_t version, size; /* the size of the token in bytes */
    uint32_t kind;          /* an acu_share_kind */
    uint64_t checksum;      /* of all `size` bytes, with 0 here */
    unsigned char boot[16]; /* which no other boot of any machine has; zeros: not known */
    unsigned char uuid[16]; /* of the device; zeros: the host */
    uint64_t id;            /* of the share: a random number */
    uint64_t numbering;     /* in which the numbers of processes hold: a namespace of the kernel */
    int32_t process;
    int32_t lease; /* the exporting process's descriptor for leases; -1: none */
    uint32_t way;  /* an acu_share_way */
    uint32_t dtype;
    uint64_t count;        /* elements */
    uint64_t offset;       /* bytes from the beginning of CUDA's allocation */
    uint64_t bytes;        /* of the buffer, or of the physical memory */
    uint64_t whole;        /* bytes of the physical memory under a buffer, all pieces */
    uint64_t pool;         /* the id of the pool that the memory is of */
    unsigned char raw[64]; /* CUDA's handle, or what stands for memory of a pool */
    uint64_t pieces;       /* of physical memory under a buffer; 0: one; above that: version 2 */
} acu_share_body;

/* The versions that are read. What a reader of version 1 understands is still written as that. */
enum { ACU_TOKEN_FIRST_VERSION = 1, ACU_TOKEN_VERSION = 2 };

/* Descriptors of this process, which a list owns. */
typedef struct acu_descriptors {
    int *of; /* allocated; NULL: none */
    size_t count;
} acu_descriptors;

/* The most that belong to a token. */
enum { ACU_SHARE_DESCRIPTORS = ACU_SHARE_PIECES + 1 };

struct acu_share {
    acu_object object;
    acu_share_body body;
    bool exported;               /* by this process */
    acu_descriptors descriptors; /* none are needed, or none came; or all */
    int lease;        /* says that this process uses the share; -1: it exported it, or no lease */
    acu_object *kept; /* what is exported, with a reference */
    acu_object *pool; /* of memory of a pool: the pool's export, with a reference; or NULL */
    pthread_mutex_t lock; /* for the import of a buffer */
    acu_buffer *opened;   /* under the lock: the first import, with a reference */
};

extern ACU_OURS const acu_class acu_share_class;

/* Makes a share without descriptor and lease; NULL and a failure recorded for `call` where the host
 * has no memory. */
acu_share *acu_share_new(const char *call);
/* Makes a share of what another process sent, with the caller as owner; takes the descriptors and
 * the lease over, also where that fails. Returns 0 or a failure recorded for `call`. */
int acu_share_new_of(const char *call, const void *token, size_t bytes, acu_descriptors descriptors,
                     int lease, acu_share **share);

/* ---- descriptors ---- */

/* Returns how many descriptors belong to a token. */
size_t acu_share_count_descriptors(const acu_share_body *body);
/* Closes the descriptors, and frees the list. */
void acu_share_close_all(acu_descriptors *descriptors);
/* Makes a list with room for so many, which has none yet; returns 0 or a failure recorded for
 * `call`. */
int acu_share_make_room(const char *call, size_t room, acu_descriptors *descriptors);
/* Returns 0 where the share has the descriptors that belong to it, or a failure recorded for
 * `call`. */
int acu_share_need_descriptors(const char *call, const acu_share *share);

/* ---- mapped memory ---- */

/* Gives the share a descriptor for each piece of physical memory under the buffer; returns 0 or a
 * failure recorded for `call`. */
int acu_share_offer_pieces(const char *call, const acu_buffer *buffer, acu_share *share);
/* Maps the pieces, and makes a buffer on them, which the caller owns; returns 0 or a failure
 * recorded for `call`. */
int acu_share_map_pieces(const char *call, acu_share *share, acu_stream *stream,
                         acu_buffer **buffer);
/* Imports one piece, which uses the share as long as it lives; returns 0 or a failure recorded for
 * `call`. */
int acu_share_import_piece(const char *call, const acu_share *share, int descriptor, size_t bytes,
                           acu_object *lease, acu_physical **physical);

/* ---- tokens ---- */

/* Fills in what all tokens have: version, machine, process, a new id. Returns 0 or a failure
 * recorded for `call`. */
int acu_share_stamp(const char *call, acu_share_body *body);
/* Writes the bytes of a body, with a checksum. */
void acu_share_encode(const acu_share_body *body, acu_share_token *token);
/* Reads the bytes and validates them, down to the machine; returns 0 or a failure recorded for
 * `call`. */
int acu_share_decode(const char *call, const void *token, size_t bytes, acu_share_body *body);

/* Returns what distinguishes the numbers of processes here from those in another container. */
uint64_t acu_share_numbering(void);
/* Returns whether this process made the token. */
bool acu_share_is_own(const acu_share_body *body);
/* Returns whether the process that made the token is known to have ended. */
bool acu_share_has_ended(const acu_share_body *body);

/* Sets the device's mark in the token, or finds the device of one; returns 0 or a failure recorded
 * for `call`. */
int acu_share_mark_device(const char *call, acu_device device, acu_share_body *body);
int acu_share_find_device(const char *call, const acu_share_body *body, acu_device *device);

/* ---- leases ----
 *
 * A lease is a lock on one byte of a file in memory that the exporting process has. The system
 * gives the lock up with the last descriptor that holds it, also where a process dies, and while it
 * is in a socket that nobody reads. Two bytes belong to each share: the exporting process locks the
 * first while it offers the share, and whoever uses the share locks the second.
 */

/* Begins to offer the share; returns the process's descriptor, -1 if the system has no such locks.
 */
int acu_lease_offer(uint64_t id);
/* Ends the offer, unless the share is used; returns whether it did. */
bool acu_lease_withdraw(uint64_t id);
/* Returns whether another process, or a message on its way, uses what this one offers; with `wait`
 * after nobody does. */
bool acu_lease_is_used(uint64_t id, bool wait);
/* Returns a new descriptor that uses the share, for another process; -1 if there is none. */
int acu_lease_lend(uint64_t id);
/* Returns a descriptor that uses the share of another process; -1 if there is none to get. */
int acu_lease_take(const acu_share_body *body);
/* Returns an object that uses the share as long as it lives; the caller owns it. NULL and a failure
 * recorded for `call` where the host has no memory. */
acu_object *acu_lease_copy(const char *call, int lease);
/* Returns whether the share is still offered by the process that made it. */
bool acu_lease_is_offered(int lease, uint64_t id);

/* ---- pools ---- */

/* Returns whether the owner of a storage is memory of another process. */
bool acu_share_is_import(const acu_object *owner);

/* Closes a descriptor, or does nothing if it is -1. */
void acu_share_close(int descriptor);

#endif
