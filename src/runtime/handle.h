/*
 * What every handle of the runtime interface begins with: its class and a count of owners.
 *
 * A handle is dead once its class is taken away. Its memory stays for a while in a quarantine, so
 * that a handle that was kept too long meets an error instead of another object. This is what
 * src/safe/base/object.h does for the safe layer, without CUDA.
 */
#ifndef ACU_HANDLE_H
#define ACU_HANDLE_H

#include <anycuda/place.h>

#include "core/fail.h"
#include "core/take.h"

#include <string.h>

typedef struct acu_handle acu_handle;

/* The line that describes a handle, while it is being written: what does not fit is left out, but
 * counted. */
typedef struct acu_handle_text {
    char *text;
    size_t size, length;
} acu_handle_text;

typedef struct acu_handle_class {
    const char *name; /* "block" */
    /* Gives up what the handle owns, but not its memory. No lock is held. Returns 0, or the first
     * failure, which is recorded. */
    acu_result (*destroy)(acu_handle *handle);
    /* Adds what distinguishes a living handle, " of 4096 bytes on cuda:0", by acu_handle_add();
     * takes no lock, because failures are described with locks held. NULL: nothing does. */
    void (*describe)(const acu_handle *handle, acu_handle_text *text);
} acu_handle_class;

struct acu_handle {
    const acu_handle_class *kind; /* atomic; NULL once the handle is dead */
    const acu_handle_class *was;  /* the class, dead or alive */
    int owners;                   /* atomic */
    acu_handle *next;             /* in the quarantine */
};

extern const acu_handle_class acu_client_class, acu_block_class, acu_mark_class, acu_program_class,
    acu_replay_class;

/* ---- life ---- */

/* Returns a zeroed handle of `size` bytes with one owner, the caller; NULL and a recorded failure
 * of `call` where the host has no memory. */
void *acu_handle_new(const char *call, const acu_handle_class *kind, size_t size);
/* Frees a new handle whose construction failed; its class's destroy() is not called. */
void acu_handle_discard(void *handle);

/* Adds an owner and returns the handle; NULL and a recorded failure where it is not alive or not of
 * this class. Is the body of acu_NOUN_retain(). */
void *acu_handle_retain(const char *call, void *handle, const acu_handle_class *kind);
/* Adds an owner to a handle that is known to be alive, and returns the handle. */
static inline void *acu_handle_add_owner(void *handle) {
    __atomic_add_fetch(&((acu_handle *)handle)->owners, 1, __ATOMIC_RELAXED);
    return handle;
}
/* Adds an owner where there still is one; returns whether there was. */
bool acu_handle_try_add_owner(void *handle);

/*
 * Takes an owner away and destroys the handle if that was the last one. NULL is fine. Is the body
 * of acu_NOUN_release(); no lock may be held.
 *
 * Returns the result of the destruction, 0 if there was none, or ACU_ERROR_HANDLE. A failure of the
 * destruction is kept for acu_release_error(), and the thread's last error is as before. `call` is
 * NULL while another handle is being destroyed: then the failure is that handle's.
 */
acu_result acu_handle_release(const char *call, void *handle, const acu_handle_class *kind);

/* ---- checking ---- */

static inline bool acu_handle_is(const void *handle, const acu_handle_class *kind) {
    return ACU_LIKELY(
        handle && __atomic_load_n(&((const acu_handle *)handle)->kind, __ATOMIC_RELAXED) == kind);
}

/* Notes the code of a call that failed before its client was known: the replays that this thread
 * records fail, too, whatever their functions make of it. Returns the code. (recording.c) */
acu_result acu_recording_note(acu_result code) ACU_COLD;

/* Records what is wrong with a handle that is not of this class; returns the code. */
acu_result acu_handle_refuse(const char *call, const void *handle,
                             const acu_handle_class *kind) ACU_COLD;

/* Returns from a public function if the handle is not a living one of the class. */
#define ACU_NEED_HANDLE(handle, class)                                                             \
    do {                                                                                           \
        if (!acu_handle_is((handle), &(class)))                                                    \
            return acu_handle_refuse(__func__, (handle), &(class));                                \
    } while (0)

/* Returns from a public function if a pointer is NULL that must not be. */
#define ACU_NEED_ADDRESS(pointer)                                                                  \
    do {                                                                                           \
        if (!(pointer))                                                                            \
            return acu_recording_note(                                                             \
                acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'" #pointer "' is NULL"));             \
    } while (0)

/* Returns from a public function if there is no place for a new handle; else stores NULL there,
 * which stays if the function fails. */
#define ACU_NEED_PLACE_FOR(handle)                                                                 \
    do {                                                                                           \
        ACU_NEED_ADDRESS(handle);                                                                  \
        *(handle) = NULL;                                                                          \
    } while (0)

/* ---- describing ---- */

/* Adds to a line that describes a handle. */
void acu_handle_add(acu_handle_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));
/* Adds " on cuda:0". */
void acu_handle_add_place(acu_handle_text *text, acu_place place) ACU_COLD;
/* Writes the line for any handle, also for one that is NULL, dead or of another class; returns the
 * length of the whole line, as snprintf() does. Is the body of acu_NOUN_describe(). */
size_t acu_handle_describe(const void *handle, const acu_handle_class *kind, char *text,
                           size_t size) ACU_COLD;

#endif
