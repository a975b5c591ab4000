/*
 * Everything that depends on the operating system, Linux. What also depends on the machine is in
 * elf.c.
 */
#ifndef ACU_LOADER_PLATFORM_H
#define ACU_LOADER_PLATFORM_H

#include "core/abi.h"

/*
 * No lock is recursive. A thread may take a later lock while it holds an earlier one.
 *
 * A thread that holds a lock and needs the system loader can deadlock with a thread that is inside
 * a constructor, holds the system loader and needs the lock. Therefore only a load, and completing
 * its trace, uses the system loader under a lock; all other code opens libraries and looks up
 * symbols without one.
 */
typedef enum acu_lock {
    ACU_LOCK_LOAD,    /* the search and its trace; held while libraries are opened */
    ACU_LOCK_RESOLVE, /* calls of a custom resolver */
    ACU_LOCK_SLOTS,   /* published slots; no code waits while it holds this */
    ACU_LOCK_COUNT
} acu_lock;

/*
 * Puts what a first call changes among the program's relocated data, whose pages are in memory from
 * the start on: in .bss the first change waits for two page faults, up to 4 us.
 */
#define ACU_WARM __attribute__((section(".data.acu_warm")))

void acu_platform_lock(acu_lock lock);
void acu_platform_unlock(acu_lock lock);
/* Makes all locks free, in a child process whose only thread holds none. */
void acu_platform_forget_locks(void);

/* Returns the value of a variable; NULL if the variable is unset, and always NULL in a setuid
 * program, because its caller must not choose what it loads. */
const char *acu_platform_env(const char *name);
/* Returns whether the program has more rights than its caller, who must not choose what it loads.
 */
bool acu_platform_is_setuid(void);
uint64_t acu_platform_now_ns(void);
/* Returns whether the program can read all of these bytes now, for pointers that may be wrong. */
bool acu_platform_is_readable(const void *at, size_t size);

/* ---- opened libraries ---- */

/* Opens a library by its path or soname. Returns NULL if that fails, with the reason in `why`
 * unless that is NULL. `mapped`: only if the process has the library already. */
void *acu_platform_open(const char *path, bool mapped, char *why, size_t size);
acu_fn acu_platform_symbol(void *handle, const char *name);
/* Returns a symbol that the program or a library it was linked with exports; NULL if there is none.
 */
acu_fn acu_platform_program_symbol(const char *name);
/* Returns the file behind a handle; NULL if it is unknown. */
const char *acu_platform_path_of(void *handle);

/* ---- finding files, without executing any of them ---- */

/* Where the Windows Subsystem for Linux has the driver's libraries. Its cache of the system loader
 * names them, but a container's need not. */
#define ACU_WSL_FOLDER "/usr/lib/wsl/lib"

typedef void acu_visit(void *data, const char *path);

typedef bool acu_wanted(void *data, const char *path);

typedef bool acu_enough(void *data);

typedef struct acu_visitor {
    acu_visit *visit;
    acu_enough *enough; /* NULL: never */
    void *data;
} acu_visitor;

/*
 * Visits the first few libraries in the process that are wanted, in load order. The system loader
 * is locked while `wanted` runs, and is not while `visit` runs.
 */
void acu_platform_mapped(acu_wanted *wanted, acu_visit *visit, void *data);
/* Visits each file that the system loader would try for each name, in its order; not all exist.
 * `names` ends with NULL. Stops when `enough` returns true. */
void acu_platform_system(const char *const *names, acu_visit *visit, acu_enough *enough,
                         void *data);
/* Visits each file or folder that matches the pattern under the folder, last name first; the folder
 * may be "". */
void acu_platform_match(const char *folder, const char *pattern, acu_visit *visit, void *data);

typedef struct acu_file_id {
    uint64_t device, inode;
} acu_file_id;

bool acu_platform_file_id(const char *path, acu_file_id *id);

#endif
