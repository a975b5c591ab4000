/*
 * Shares of mapped memory, which may be several pieces of physical memory.
 *
 * Each piece has a descriptor. CUDA does not report how large the memory of a descriptor is, so the
 * sizes of several pieces go over, too: in a file in memory, whose descriptor is the first one.
 */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */

#include "safe/memory/buffer.h"
#include "safe/memory/physical.h"
#include "safe/memory/share.h"
#include "safe/memory/virtual.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the list of sizes ---- */

/* Nobody can change the file afterwards. */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL };

/* Returns a file with the sizes; -1 with errno. */
static int write_sizes(const uint64_t *sizes, size_t count) {
    const size_t bytes = count * sizeof *sizes;
    const int file = memfd_create("anycuda-pieces", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return -1;
    errno = ENOSPC; /* where not everything is written */
    if (write(file, sizes, bytes) == (ssize_t)bytes && !fcntl(file, F_ADD_SEALS, SEALS))
        return file;
    const int why = errno;
    close(file);
    errno = why;
    return -1;
}

/* Reads the sizes, of which the sum must be `whole`; returns false if the file is no such list. */
static bool read_sizes(int file, uint64_t *sizes, size_t count, uint64_t whole) {
    struct stat about;
    const size_t bytes = count * sizeof *sizes;
    const int seals = fcntl(file, F_GET_SEALS);
    if (seals < 0 || ((unsigned)seals & (unsigned)SEALS) != (unsigned)SEALS ||
        fstat(file, &about) || about.st_size != (off_t)bytes ||
        pread(file, sizes, bytes, 0) != (ssize_t)bytes)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] == 0 || sizes[i] > whole)
            return false;
        whole -= sizes[i];
    }
    return whole == 0;
}

/* ---- exporting ---- */

/* The physical memory under a buffer. */
typedef struct pieces {
    acu_mapping *of; /* with a reference to the memory of each */
    size_t count;
} pieces;

static void let_go(pieces *p) {
    for (size_t i = 0; i < p->count; i++)
        (void)acu_object_release(NULL, p->of[i].physical, &acu_physical_class);
    free(p->of);
}

/* Finds the pieces, which stay: what a buffer lies on is not unmapped. */
static int find_pieces(const char *call, const acu_buffer *buffer, acu_virtual *v, pieces *p) {
    const size_t at = (size_t)(buffer->pointer - v->pointer), bytes = acu_buffer_bytes(buffer);
    const size_t count = acu_virtual_find_mappings(v, at, bytes, NULL, 0);
    if (count > ACU_SHARE_PIECES) {
        acu_fail_hint("acu_buffer_grow() takes fewer pieces in larger steps; acu_buffer_slice() "
                      "makes a part that can be shared");
        return acu_fail_on(call, buffer, ACU_ERROR_LIMIT,
                           "it lies on %zu pieces of physical memory, and a share has at most %d",
                           count, ACU_SHARE_PIECES);
    }
    *p = (pieces){calloc(count, sizeof *p->of), 0};
    if (!p->of)
        return acu_fail_on(call, buffer, ACU_ERROR_HOST_MEMORY,
                           "the host has no memory for %zu pieces", count);
    p->count = acu_virtual_find_mappings(v, at, bytes, p->of, count);
    return 0;
}

/* Adds a descriptor of the list, if there are several pieces; returns 0 or a failure recorded for
 * `call`. */
static int add_sizes(const char *call, const pieces *p, acu_share *share) {
    uint64_t *sizes = calloc(p->count, sizeof *sizes);
    if (!sizes)
        return acu_fail_on(call, share->kept, ACU_ERROR_HOST_MEMORY,
                           "the host has no memory for the sizes of %zu pieces", p->count);
    for (size_t i = 0; i < p->count; i++)
        sizes[i] = p->of[i].bytes;
    const int file = p->count > 1 ? write_sizes(sizes, p->count) : -1;
    const int why = errno;
    free(sizes);
    if (p->count > 1 && file < 0)
        return acu_fail_on(call, share->kept, cudaErrorOperatingSystem,
                           "the system makes no file for the sizes of the pieces: %s",
                           strerror(why));
    if (file >= 0)
        share->descriptors.of[share->descriptors.count++] = file;
    return 0;
}

static int export_pieces(const char *call, const pieces *p, acu_share *share) {
    ACU_TRY(acu_share_make_room(call, p->count + 1, &share->descriptors));
    ACU_TRY(add_sizes(call, p, share));
    for (size_t i = 0; i < p->count; i++) {
        int *descriptor = &share->descriptors.of[share->descriptors.count];
        ACU_TRY(acu_outcome(call, share->kept, acu_physical_export(p->of[i].physical, descriptor)));
        share->descriptors.count++;
    }
    return 0;
}

int acu_share_offer_pieces(const char *call, const acu_buffer *buffer, acu_share *share) {
    pieces p;
    acu_virtual *v = acu_virtual_of_owner(buffer->storage->owner);
    if (v->of_buffer && !acu_has(v->options.handles, ACU_SHARE_FILE_DESCRIPTOR)) {
        acu_fail_hint("acu_buffer_create_growable_with() makes one that can be shared, with "
                      "ACU_SHARE_FILE_DESCRIPTOR in options.physical.handles");
        return acu_fail_on(call, buffer, ACU_ERROR_STATE,
                           "the memory of this buffer, which can grow, was made without "
                           "ACU_SHARE_FILE_DESCRIPTOR");
    }
    ACU_TRY(find_pieces(call, buffer, v, &p));
    share->body.way = ACU_SHARE_BY_DESCRIPTOR;
    share->body.offset = (size_t)(buffer->pointer - v->pointer) - p.of[0].at;
    share->body.pieces = p.count > 1 ? p.count : 0;
    for (size_t i = 0; i < p.count; i++)
        share->body.whole += p.of[i].bytes;
    int code = export_pieces(call, &p, share);
    let_go(&p);
    return code;
}

/* ---- importing ---- */

int acu_share_import_piece(const char *call, const acu_share *share, int descriptor, size_t bytes,
                           acu_object *lease, acu_physical **physical) {
    int code = acu_outcome(call, share, acu_physical_import(descriptor, bytes, physical));
    if (code)
        return code;
    acu_object_add_owner(lease);
    (*physical)->lease = lease;
    return 0;
}

/* Maps the pieces one behind the other. */
static int map_all(const char *call, const acu_share *share, const uint64_t *sizes,
                   const int *descriptors, acu_object *lease, acu_virtual *range) {
    const size_t count = share->body.pieces > 1 ? (size_t)share->body.pieces : 1;
    for (size_t i = 0, at = 0; i < count; at += (size_t)sizes[i++]) {
        ACU_AUTO(acu_physical) *piece = NULL;
        ACU_TRY(
            acu_share_import_piece(call, share, descriptors[i], (size_t)sizes[i], lease, &piece));
        ACU_TRY(acu_outcome(call, share, acu_virtual_map(range, at, piece)));
    }
    return 0;
}

static int map_sizes(const char *call, acu_share *share, const uint64_t *sizes,
                     const int *descriptors, acu_stream *stream, acu_buffer **buffer) {
    ACU_AUTO(acu_virtual) *range = NULL;
    const acu_share_body *body = &share->body;
    ACU_TRY(
        acu_outcome(call, share,
                    acu_virtual_reserve(stream->object.device, (size_t)body->whole, NULL, &range)));
    acu_object *lease = acu_lease_copy(call, share->lease);
    if (!lease)
        return ACU_ERROR_HOST_MEMORY;
    int code = map_all(call, share, sizes, descriptors, lease, range);
    (void)acu_object_release(NULL, lease, lease->was); /* the pieces are its owners now */
    if (code)
        return code;
    return acu_outcome(call, share,
                       acu_virtual_create_buffer(range, (size_t)body->offset, stream,
                                                 (acu_dtype)body->dtype, (size_t)body->count,
                                                 buffer));
}

int acu_share_map_pieces(const char *call, acu_share *share, acu_stream *stream,
                         acu_buffer **buffer) {
    const acu_share_body *body = &share->body;
    const int *descriptors = share->descriptors.of;
    ACU_TRY(acu_share_need_descriptors(call, share));
    if (body->pieces <= 1)
        return map_sizes(call, share, &body->whole, descriptors, stream, buffer);
    uint64_t *sizes = calloc((size_t)body->pieces, sizeof *sizes);
    if (!sizes)
        return acu_fail_on(call, share, ACU_ERROR_HOST_MEMORY,
                           "the host has no memory for the sizes of its pieces");
    int code = read_sizes(descriptors[0], sizes, (size_t)body->pieces, body->whole)
                   ? map_sizes(call, share, sizes, descriptors + 1, stream, buffer)
                   : acu_fail_on(call, share, ACU_ERROR_ARGUMENT,
                                 "the first descriptor is not the list of its pieces: the "
                                 "descriptors must be in the order of acu_share_get_descriptors()");
    free(sizes);
    return code;
}
