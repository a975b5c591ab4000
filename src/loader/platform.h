/*
 * All that depends on the operating system, Linux; what depends on the machine, too, is in elf.c.
 */
#ifndef ACU_LOADER_PLATFORM_H
#define ACU_LOADER_PLATFORM_H

#include "core/abi.h"

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

typedef bool acu_enough(void *data);

typedef struct acu_visitor {
    acu_visit *visit;
    acu_enough *enough; /* NULL: never */
    void *data;
} acu_visitor;

/*
 * Each library that is mapped into the process and is wanted, in load order; of more than a few,
 * the first. The system loader is locked where `wanted` is called, and not where `visit` is.
 */
void acu_platform_mapped(acu_wanted *wanted, acu_visit *visit, void *data);
/* Each file that the system loader could mean by a name, for one after the other, in the order in
 * which it looks; not all exist. `names` ends with NULL. Asks after each whether that was enough.
 */
void acu_platform_system(const char *const *names, acu_visit *visit, acu_enough *enough,
                         void *data);
/* Each file that matches the pattern under the folder, last name first; the folder may be "". */
void acu_platform_match(const char *folder, const char *pattern, acu_visit *visit, void *data);

typedef struct acu_file_id {
    uint64_t device, inode;
} acu_file_id;

bool acu_platform_file_id(const char *path, acu_file_id *id);

#endif
