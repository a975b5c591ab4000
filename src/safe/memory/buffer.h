/* Buffers as the rest of the safe layer sees them: their checks, and operations on their bytes. */
#ifndef ACU_SRC_BUFFER_H
#define ACU_SRC_BUFFER_H

#include "safe/memory/storage.h"

/* ---- checks; each returns 0 or a failure recorded for `call` ---- */

/* Checks that the buffer has these elements. */
int acu_buffer_check_range(const char *call, const acu_buffer *buffer, size_t at, size_t count);
/* Checks that the elements can be copied between the buffer and the host. */
int acu_buffer_check_host_copy(const char *call, const acu_buffer *buffer, size_t at,
                               acu_dtype dtype, const void *host, size_t count);
/* Checks that both are buffers, of types that fit. */
int acu_buffer_check_types(const char *call, const acu_buffer *to, const acu_buffer *from);
/* Checks that the elements can be copied from one buffer to the other. */
int acu_buffer_check_copy(const char *call, const acu_buffer *to, size_t to_at,
                          const acu_buffer *from, size_t from_at, size_t count);
/* Checks that the stream can be used; `*on` becomes the buffer's own stream where it is NULL.
 * Memory of a graph has no stream of its own. */
int acu_buffer_choose_stream(const char *call, const acu_buffer *buffer, acu_stream **on);

/* Makes a buffer of memory that is allocated; returns 0, or a failure recorded for `call`. */
int acu_buffer_new(const char *call, acu_stream *stream, acu_dtype dtype, size_t count,
                   const acu_buffer_options *options, acu_buffer **buffer);
/* Makes a buffer on memory that is there already, or is to be registered; returns 0, or a failure
 * recorded for `call`. */
int acu_buffer_new_on(const char *call, const acu_storage_request *request, acu_buffer **buffer);

/* Makes another buffer of the same elements; returns 0, or a failure recorded for `call`. */
int acu_buffer_new_view(const char *call, const acu_buffer *of, acu_buffer **view);

/* Adds an owner to the buffer, and one to its memory, for an object that has the address and size
 * of now: while that lives, the buffer does not shrink. An owner of the buffer alone sees what the
 * buffer has become. */
void acu_buffer_keep_memory(acu_buffer *buffer);
/* Takes both owners away; returns as acu_object_release() does for `call`. */
int acu_buffer_give_up_memory(const char *call, acu_buffer *buffer);

/* ---- copies ---- */

/* Returns how CUDA has to copy between two buffers. */
enum cudaMemcpyKind acu_buffer_copy_kind(const acu_buffer *to, const acu_buffer *from);
/* Returns the device that has to be current for a copy, because CUDA asks whether that one, not the
 * stream's, has access to a pool: the memory's, or `otherwise` where it is of two devices, or of
 * none. NULL: the host. */
acu_device acu_buffer_copy_device(const acu_buffer *to, const acu_buffer *from,
                                  acu_device otherwise);
/* Returns whether the memory is that of devices, and one of them is not `on`, the stream's. CUDA
 * wants the devices to be named, because the stream's may have no access to a pool; but it captures
 * no copy that names devices. */
bool acu_buffer_copy_is_peer(const acu_buffer *to, const acu_buffer *from, acu_device on);
/* Returns whether a copy on the stream may name devices: the stream is not being captured. */
bool acu_buffer_copy_may_name_devices(cudaStream_t on);

/* Returns a copy whose count is a number, for ACU_REST that of the elements from `from_at` on; the
 * buffers may be no handles. */
acu_copy acu_buffer_copy_counted(const acu_copy *copy);
/* Copies what is checked and counted, on a stream that is; returns as acu_buffer_run() does. */
int acu_buffer_copy_checked(const acu_copy *copy, acu_stream *on);

/* ---- managed memory ---- */

/* Names a device, or the host, to CUDA; returns 0 or a failure recorded for `call`. */
int acu_buffer_find_location(const char *call, acu_device device, struct cudaMemLocation *location);
/* Prefetches managed memory on a stream that is not captured; returns as acu_buffer_run() does. */
int acu_buffer_prefetch_checked(acu_buffer *buffer, const struct cudaMemLocation *where,
                                acu_stream *on);

/* ---- jobs ---- */

/* An operation on a stream that writes or reads buffers; the checks are done. */
typedef struct acu_buffer_job {
    acu_buffer *to, *from; /* NULL: the host */
    acu_stream *on;
    bool unordered; /* the stream need not wait for earlier uses of `from` */
    bool copies;    /* it copies; else CUDA wants a stream of the memory's device */
    int (*run)(const struct acu_buffer_job *job, const void *data); /* returns CUDA's code */
    const void *data;                                               /* for `run` */
} acu_buffer_job;

/* Runs the job between the beginning and the end of the buffers' uses; returns 0 or a recorded
 * failure, for which a hint may be pending: the caller records the outcome next. */
int acu_buffer_run(const acu_buffer_job *job);
/* Runs a copy from or to the host, and waits for it; returns as acu_buffer_run() does. */
int acu_buffer_run_and_wait(const acu_buffer_job *job);

/* ---- fills ---- */

/* A fill of rows of elements. */
typedef struct acu_rows_fill {
    char *at;
    size_t size;                /* bytes of an element */
    const unsigned char *bytes; /* the element */
    size_t width, height;       /* elements of a row, rows; neither is 0 */
    size_t pitch;               /* bytes from a row to the next one; ignored where there is one */
    enum cudaMemcpyKind kind;   /* of copies within the memory */
} acu_rows_fill;

/* Checks that the buffer can be filled with such an element on the stream; `*on` becomes the
 * buffer's own stream where it is NULL. */
int acu_buffer_check_fill(const char *call, const acu_buffer *buffer, acu_dtype dtype,
                          const void *element, acu_stream **on);
/* Fills the rows; returns CUDA's code. */
int acu_rows_fill_on(const acu_rows_fill *fill, cudaStream_t on);

#endif
