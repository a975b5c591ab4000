/*
 * Sharing: a buffer, a pool, an event or physical memory of one process, used by another one of the
 * same machine.
 *
 *   one process                                     the other process
 *   acu_share_export_buffer(buffer, &share)
 *   acu_share_send(share, socket)                   acu_share_receive(socket, &share)
 *                                                   acu_share_import_buffer(share, stream, &buffer)
 *
 * A share is a token of 256 bytes and, for some kinds of memory, file descriptors. A Unix socket
 * carries both. The token alone can go any way that bytes go.
 *
 * The share of the exporting process keeps what it stands for. If it is released while another
 * process still uses that, it is destroyed later: once the others have released it, or have ended.
 *
 * Streams of two processes do not wait for each other by themselves. A shared event orders them:
 * one process records it, and the other lets a stream wait (docs/users/share.md).
 *
 * Several threads may use a share at once, and retain and release it.
 */
#ifndef ACU_SHARE_H
#define ACU_SHARE_H

#include <stdbool.h>
#include <stddef.h>

#include <anycuda/buffer.h>
#include <anycuda/event.h>
#include <anycuda/physical.h>
#include <anycuda/pool.h>

ACU_BEGIN_C

/** What one process offers, or another one has received. */
typedef struct acu_share acu_share;

enum {
    ACU_SHARE_TOKEN_BYTES = 256,
    ACU_SHARE_PIECES = 1000 /* pieces of physical memory that one share can have */
};

/** What stands for a share outside of its process: plain bytes. */
typedef struct acu_share_token {
    unsigned char bytes[ACU_SHARE_TOKEN_BYTES];
} acu_share_token;

/** What is shared. */
typedef enum acu_share_kind {
    ACU_SHARE_BUFFER = 1,
    ACU_SHARE_POOL = 2,
    ACU_SHARE_EVENT = 3,
    ACU_SHARE_PHYSICAL = 4
} acu_share_kind;

/** How CUDA shares it. */
typedef enum acu_share_way {
    ACU_SHARE_BY_IPC = 1,       /* by 64 bytes: cudaIpcGetMemHandle(), cudaIpcGetEventHandle() */
    ACU_SHARE_BY_POOL = 2,      /* by the descriptor of a pool, and 64 bytes for a buffer */
    ACU_SHARE_BY_DESCRIPTOR = 3 /* by the descriptors of physical memory, one for each piece */
} acu_share_way;

/** What a share is. */
typedef struct acu_share_info {
    acu_share_kind kind;
    acu_share_way way;
    const char *reason; /* why this way: a sentence that lives as long as the program */
    acu_device device;  /* that has it, by this process's number; or ACU_DEVICE_HOST */
    acu_dtype dtype;    /* of a buffer; else ACU_ANY */
    size_t count;       /* elements of a buffer; else 0 */
    size_t offset;      /* bytes from the beginning of CUDA's allocation to a buffer; else 0 */
    size_t bytes;       /* of a buffer or of physical memory; else 0 */
    size_t pieces;      /* of physical memory that are shared; else 0 */
    int process;        /* the number of the process that exported it */
    bool exported;      /* this process did */
} acu_share_info;

/* ---- exporting ---- */

/**
 * Makes a share of a buffer or slice, which the share keeps; the caller owns the share.
 *
 * Memory of cudaMalloc() (ACU_MEMORY_DEVICE) goes by IPC; memory of a pool that was made with
 * ACU_SHARE_FILE_DESCRIPTOR, by that pool; mapped memory, by the pieces of physical memory under
 * it. A buffer that can grow may grow afterwards, which the other process does not see; it cannot
 * shrink while a share of it lives. Errors: ACU_ERROR_MEMORY_KIND where CUDA shares no such memory,
 * with what to use instead; ACU_ERROR_STATE where another process has the memory, or mapped memory
 * was made without ACU_SHARE_FILE_DESCRIPTOR; ACU_ERROR_RANGE where the buffer is empty;
 * ACU_ERROR_LIMIT where it lies on more than ACU_SHARE_PIECES pieces.
 */
ACU_CHECKED acu_result acu_share_export_buffer(acu_buffer *buffer, acu_share **share);

/**
 * Makes a share of a pool, which the share keeps; the caller owns the share.
 *
 * The other process cannot allocate from the pool. It needs the pool for buffers of it whose tokens
 * come without a descriptor. Errors: ACU_ERROR_STATE where the pool was made without
 * ACU_SHARE_FILE_DESCRIPTOR in `options.handles`, or was imported.
 */
ACU_CHECKED acu_result acu_share_export_pool(acu_pool *pool, acu_share **share);

/**
 * Makes a share of an event, which the share keeps; the caller owns the share.
 *
 * Errors: 400 where the event was made without ACU_EVENT_INTERPROCESS, or is another process's.
 */
ACU_CHECKED acu_result acu_share_export_event(acu_event *event, acu_share **share);

/**
 * Makes a share of physical memory, which the share keeps; the caller owns the share. Errors: those
 * of acu_physical_export().
 */
ACU_CHECKED acu_result acu_share_export_physical(acu_physical *physical, acu_share **share);

/* ---- from one process to the other ---- */

/**
 * Returns the share's token, which stands for it as long as the exporting process keeps its share.
 */
ACU_CHECKED acu_result acu_share_get_token(acu_share *share, acu_share_token *token);

/**
 * Lists the file descriptors that the other process needs, too, in this order; they stay the
 * share's. Where the token is enough there is none, for most other shares one, and for a buffer on
 * several pieces of physical memory one for each piece and one for the list of their sizes.
 */
ACU_CHECKED acu_result acu_share_get_descriptors(acu_share *share, int *descriptors, size_t *count);

/**
 * Makes a share of what another process sent: its token, and its descriptors or none; the caller
 * owns the share, and still the descriptors.
 *
 * Errors: ACU_ERROR_ARGUMENT where the bytes are no token, are cut short, are too many or were
 * changed, or there are not as many descriptors as belong to the token; ACU_NOT_SUPPORTED where a
 * newer anycuda made them; ACU_ERROR_STATE where they are of another machine or boot, or the
 * exporting process has released its share or has ended; ACU_ERROR_DEVICE where this process does
 * not have the device.
 */
ACU_CHECKED acu_result acu_share_create(const void *token, size_t bytes, const int *descriptors,
                                        size_t count, acu_share **share);

/**
 * Sends the token, and the descriptors that belong to it, over a Unix socket, which must be
 * connected.
 *
 * From then on the share counts as used, until the other process has released what it made of it,
 * or has ended without. The call waits for room in the socket. Where that does not block
 * (O_NONBLOCK), or has waited as long as it may (SO_SNDTIMEO), the call returns ACU_NOT_READY,
 * which is no failure: nothing was sent, and the same call is made again when the socket is ready.
 * Errors: 304 where the system cannot send, with its reason.
 */
ACU_CHECKED acu_result acu_share_send(acu_share *share, int socket);

/**
 * Waits for what acu_share_send() sent, and makes a share of it, which the caller owns.
 *
 * Where the socket does not block, or has waited as long as it may (SO_RCVTIMEO), and nothing whole
 * has come, the call returns ACU_NOT_READY, which is no failure: nothing was taken out of the
 * socket. Errors: 304 where the system cannot receive, or the other process has closed the socket;
 * those of acu_share_create().
 */
ACU_CHECKED acu_result acu_share_receive(int socket, acu_share **share);

/* ---- importing ----
 *
 * Errors: ACU_ERROR_ARGUMENT where something else is shared; ACU_ERROR_STATE where this process
 * exported it, or where descriptors are needed that did not come with the token.
 */

/**
 * Makes a buffer on the shared memory, with the type and elements that were exported; the caller
 * owns it, and it keeps the stream.
 *
 * The memory stays open until the last owner has released it, slices included; that release waits
 * for all uses by this process. Every further import of the same share makes a slice of the first
 * one, which is ordered with it. Buffers of two shares are not ordered with each other, also where
 * they are of the same memory. The stream may be of another device that can use the memory.
 */
ACU_CHECKED acu_result acu_share_import_buffer(acu_share *share, acu_stream *stream,
                                               acu_buffer **buffer);

/** Makes a handle for the shared pool; the caller owns it. */
ACU_CHECKED acu_result acu_share_import_pool(acu_share *share, acu_pool **pool);

/**
 * Makes a handle for the shared event; the caller owns it. Every process that has the event may
 * record it, and wait for it.
 */
ACU_CHECKED acu_result acu_share_import_event(acu_share *share, acu_event **event);

/**
 * Makes a handle for the shared physical memory; the caller owns it, and maps it
 * (acu_virtual_map()).
 */
ACU_CHECKED acu_result acu_share_import_physical(acu_share *share, acu_physical **physical);

/* ---- owners, and what a share is ---- */

/** Adds an owner and returns the share; NULL where the handle is not a share. */
acu_share *acu_share_retain(acu_share *share);

/**
 * Takes an owner away; the last release withdraws the token.
 *
 * What was imported stays. Of the exporting process, what the share keeps is released once no other
 * process uses it: a later call that creates, synchronises or releases something looks for that.
 * Everything else is as for acu_stream_release().
 */
acu_result acu_share_release(acu_share *share);

void acu_share_cleanup(acu_share **share);

/** Writes one line that names the share, as errors do; acu_stream_describe() has the rules. */
size_t acu_share_describe(const acu_share *share, char *text, size_t size);

/** Asks what is shared, and how. */
ACU_CHECKED acu_result acu_share_get_info(acu_share *share, acu_share_info *info);

/**
 * Asks whether another process uses what this one exported: it was sent, or a share or an imported
 * buffer of it lives there.
 *
 * Errors: ACU_ERROR_STATE where another process exported the share.
 */
ACU_CHECKED acu_result acu_share_is_used(acu_share *share, bool *used);

/**
 * Waits until no other process uses what this one exported; nor a share that this process made of
 * its own token. Errors: as for acu_share_is_used().
 */
ACU_CHECKED acu_result acu_share_wait(acu_share *share);

ACU_END_C

#endif
