/*
 * All that depends on the operating system or the machine: Linux, x86-64 and aarch64.
 */
#ifndef ACU_LOADER_PLATFORM_H
#define ACU_LOADER_PLATFORM_H

#include "internal.h"

/*
 * None is recursive. A thread may take a later one while it holds an earlier one. Where a thread
 * holds one and needs the system loader, another can be inside a constructor, hold the system
 * loader and want the first one: so only a load does that, and who is not loading opens and looks
 * up without a lock.
 */
typedef enum acu_lock {
    ACU_LOCK_LOAD,    /* the search and its trace; held while libraries are opened */
    ACU_LOCK_RESOLVE, /* calls of a custom resolver */
    ACU_LOCK_SLOTS,   /* what is published; nothing is waited for under it */
    ACU_LOCK_COUNT
} acu_lock;

void acu_platform_lock(acu_lock lock);
void acu_platform_unlock(acu_lock lock);

/* NULL if unset, and in a setuid program: its caller must not choose what it loads. */
const char *acu_platform_env(const char *name);
uint64_t acu_platform_now_ns(void);

/* ---- opened libraries ----------------------------------------------------------------------- */

/* Opens a file, or by soname; NULL and why not, unless `why` is NULL. `mapped`: only if the process
 * has it already. */
void *acu_platform_open(const char *path, bool mapped, char *why, size_t size);
acu_fn acu_platform_symbol(void *handle, const char *name);
/* The file behind a handle; NULL if it cannot be told. */
const char *acu_platform_path_of(void *handle);

/* ---- finding files; nothing here executes any of them ---------------------------------------- */

typedef void acu_visit(void *data, const char *path);

typedef bool acu_wanted(void *data, const char *path);

/*
 * Each library that is mapped into the process and is wanted, in load order; of more than a few,
 * the first. The system loader is locked where `wanted` is called, and not where `visit` is.
 */
void acu_platform_mapped(acu_wanted *wanted, acu_visit *visit, void *data);
typedef bool acu_enough(void *data);
/* Each file that the system loader could mean by a name, for one after the other, in the order in
 * which it looks; not all exist. `names` ends with NULL. Asks after each whether that was enough.
 */
void acu_platform_system(const char *const *names, acu_visit *visit, acu_enough *enough,
                         void *data);
/* The part of that which a cache like /etc/ld.so.cache knows. */
void acu_platform_cached(const char *cache_path, const char *name, acu_visit *visit, void *data);
/* Each file that matches the pattern under the folder, last name first; the folder may be "". */
void acu_platform_match(const char *folder, const char *pattern, acu_visit *visit, void *data);

typedef struct acu_file_id {
    uint64_t device, inode;
} acu_file_id;

bool acu_platform_file_id(const char *path, acu_file_id *id);

/* ---- reading a library without executing it ---------------------------------------------------
 */

enum { ACU_ELF_SEGMENTS = 16 };

/* A part of a file, as it was read. */
typedef struct acu_window {
    uint8_t *bytes;
    size_t room, length;
    uint64_t at;
} acu_window;

/* A shared object of this machine. What its tables say is believed only inside the file's bounds.
 */
typedef struct acu_elf {
    int fd;
    uint64_t size;
    acu_window start, last; /* a part that stays, and one that moves */
    acu_file_id id;         /* zero if nothing is there */
    char *real;             /* the file behind links from file to file; NULL: the path is no link */
    struct {
        uint64_t address, offset, size;
    } segments[ACU_ELF_SEGMENTS];
    unsigned segment_count;
    uint64_t symbols, strings, strings_size, gnu_hash, hash; /* file offsets; 0: none */
    char soname[128];                                        /* "" if it has none */
} acu_elf;

/* Close it in either case. Never blocks; `why` says what is wrong with the file. */
bool acu_elf_open(acu_elf *elf, const char *path, char *why, size_t size);
/* By the hash of its name, where there is one of 31 bits: the last word has dlsym(). */
bool acu_elf_exports(acu_elf *elf, const char *symbol);
void acu_elf_close(acu_elf *elf);

#endif
