/* Files in memory that processes share. */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */

#include "sim/shared_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The note as it is in the file. Its version changes with its layout. */
typedef struct stored_note {
    char magic[16];
    acu_sim_shared_note note;
} stored_note;

_Static_assert(sizeof(acu_sim_shared_handle) == 64, "as large as CUDA's");

static const char magic[16] = "anycuda share 1";
static const char handle_name[8] = "anycuda";

enum { HANDLE = 0x61637500 /* in the kind of a handle */ };

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

int acu_sim_shared_file_new(acu_sim_shared_note *note) {
    stored_note stored;
    const off_t size = (off_t)note->size;
    int file = memfd_create("anycuda-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return -1;
    memset(&stored, 0, sizeof stored);
    if (getrandom(&note->tag, sizeof note->tag, 0) == (ssize_t)sizeof note->tag) {
        memcpy(stored.magic, magic, sizeof magic);
        stored.note = *note;
        if (!ftruncate(file, size + (off_t)sizeof stored) &&
            pwrite(file, &stored, sizeof stored, size) == (ssize_t)sizeof stored &&
            !fcntl(file, F_ADD_SEALS, SEALS))
            return file;
    }
    close(file);
    return -1;
}

/* The seals are asked for first: only files in memory have any. */
bool acu_sim_shared_file_read(int file, uint32_t kind, acu_sim_shared_note *note) {
    stored_note stored;
    struct stat about;
    const int seals = file < 0 ? -1 : fcntl(file, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(file, &about) ||
        about.st_size < (off_t)sizeof stored)
        return false;
    const off_t size = about.st_size - (off_t)sizeof stored;
    if (pread(file, &stored, sizeof stored, size) != (ssize_t)sizeof stored ||
        memcmp(stored.magic, magic, sizeof magic) != 0 || stored.note.kind != kind ||
        stored.note.size != (uint64_t)size)
        return false;
    *note = stored.note;
    return true;
}

/* ---- handles ---- */

acu_sim_shared_handle acu_sim_shared_handle_of(int file, const acu_sim_shared_note *note,
                                               uint64_t offset, uint64_t size) {
    acu_sim_shared_handle handle = {.kind = note->kind | HANDLE,
                                    .process = (int32_t)getpid(),
                                    .descriptor = file,
                                    .device = note->device,
                                    .tag = note->tag,
                                    .offset = offset,
                                    .size = size};
    memcpy(handle.name, handle_name, sizeof handle_name);
    return handle;
}

bool acu_sim_shared_handle_read(const void *bytes, uint32_t kind, acu_sim_shared_handle *handle,
                                bool *ours) {
    memcpy(handle, bytes, sizeof *handle);
    if (handle->kind != (kind | HANDLE))
        return false;
    handle->kind = kind;
    memcpy(handle->name, handle_name, sizeof handle_name);
    *ours = handle->process == (int32_t)getpid();
    return true;
}

/* A descriptor of another process is opened by its name, which only the same user may. Another
 * process may have the number by now, or another file the descriptor: the tag tells. */
int acu_sim_shared_handle_open(const acu_sim_shared_handle *handle, acu_sim_shared_note *note) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)handle->process,
                   (int)handle->descriptor);
    struct stat about;
    if (stat(path, &about) || !S_ISREG(about.st_mode)) /* opening a pipe would wait */
        return -1;
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && acu_sim_shared_file_read(file, handle->kind, note) &&
        note->tag == handle->tag && handle->offset <= note->size &&
        handle->size <= note->size - handle->offset)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}
