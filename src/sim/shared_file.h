/*
 * Files in memory that processes share: their bytes, and behind these a note that says what they
 * are, so that a file of another origin is recognised. A file has no name and goes with its last
 * descriptor and mapping, so that nothing is left of a process that dies.
 */
#ifndef ACU_SIM_SHARED_FILE_H
#define ACU_SIM_SHARED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a file is. A number is never used for anything else: other processes read it. */
enum {
    SIM_SHARED_CREATED = 1,
    SIM_SHARED_DEVICE = 2,
    SIM_SHARED_EVENT = 3,
    SIM_SHARED_MULTICAST = 4,
    SIM_SHARED_POOL = 5
};

typedef struct acu_sim_shared_note {
    uint32_t kind;
    int32_t device;           /* its index in the process that made the file */
    uint64_t size;            /* bytes before the note */
    uint64_t tag;             /* a random number, which no other file has */
    unsigned char about[128]; /* what else a kind has to say */
} acu_sim_shared_note;

/* Makes a file whose size nobody can change, and sets the note's tag. Returns its descriptor, which
 * the caller owns; -1 without memory. */
int acu_sim_shared_file_new(acu_sim_shared_note *note);

/* Reads the note of a file of that kind. Returns false if the descriptor is not of such a file. */
bool acu_sim_shared_file_read(int file, uint32_t kind, acu_sim_shared_note *note);

/* ---- handles of 64 bytes ---- */

/* What a handle says: the descriptor of a file that a process has open, and what of it. */
typedef struct acu_sim_shared_handle {
    char name[8];  /* for people who look at it: as a GPU, nobody else does */
    uint32_t kind; /* in the bytes, with a number that only handles have */
    int32_t process;
    int32_t descriptor;
    int32_t device;
    uint64_t tag; /* of the file's note */
    uint64_t offset, size;
    uint64_t reserved[2];
} acu_sim_shared_handle;

/* Returns a handle of the file, or of a part of its bytes. */
acu_sim_shared_handle acu_sim_shared_handle_of(int file, const acu_sim_shared_note *note,
                                               uint64_t offset, uint64_t size);
/* Returns whether the bytes are a handle of that kind; of this process, if `ours` is not NULL,
 * where that is written. */
bool acu_sim_shared_handle_read(const void *bytes, uint32_t kind, acu_sim_shared_handle *handle,
                                bool *ours);
/* Opens the file of a handle, and reads its note. Returns the descriptor, which the caller owns; -1
 * if the process is gone, has closed the file or is another user's. */
int acu_sim_shared_handle_open(const acu_sim_shared_handle *handle, acu_sim_shared_note *note);

#endif
