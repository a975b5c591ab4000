/* The libraries that are loaded at run time: what each one is, and what is loaded of it. */
#ifndef ACU_LOADER_LIBRARY_H
#define ACU_LOADER_LIBRARY_H

#include <anycuda/load.h>

#include "core/abi.h"
#include "loader/platform.h"

enum { ACU_PATH_SIZE = 4096, ACU_WHY_SIZE = 512, ACU_LIBRARY_TEXT = 700 };
enum { ACU_LIBRARIES = ACU_NVJITLINK + 1 }; /* how many acu_library_id there are */

typedef enum acu_load_state { ACU_UNTRIED, ACU_LOADED, ACU_FAILED } acu_load_state;

/* A slot that was published, and the entry that the slot held before. */
typedef struct acu_published {
    const acu_function *function;
    acu_fn entry;
} acu_published;

struct acu_search;
/* Returns whether a file or an opened library has the symbol. */
typedef bool acu_has_symbol(void *where, const char *symbol);

struct acu_library {
    /* What the library is; constant. */
    const acu_library_info *info;
    acu_library_id id;
    /* The folders that Python packages have it in, as patterns; NULL: it comes with the driver
     * only. */
    const char *const *packages;
    bool in_toolkits; /* CUDA's toolkits contain it */
    /* Its sonames are whole names of files, and no file says its version or need say its soname. */
    bool plain_names;
    const char *hint; /* what to do where it is missing; NULL: the loader knows */
    /* The library whose major version is preferred for this one, or, while that is not loaded, the
     * one that that one follows; or NULL. */
    acu_library *follows;
    bool by_symbol;    /* every incompatible change has a new symbol, so any version may be bound */
    bool needs_driver; /* its major version must not be above the driver's */
    /* Refuses a library of another ABI, which its symbols show; NULL: sonames tell them apart. */
    bool (*check_foreign)(struct acu_search *s, const char *path, acu_has_symbol *has, void *where);
    const char *not_simulated;         /* why the simulator has no such library; or NULL */
    int (*ask)(acu_fn version_symbol); /* returns 12040; 0 if the library does not report it */
    /* Returns what a result means in the runtime's numbers, or in anycuda's own; NULL: the same. */
    int (*translate)(int result);
    /* The last version whose version function initialises CUDA, after which no child of a fork can
     * use it. There is no later one of that major version, so that the symbols show it, and nobody
     * needs to ask. 0: there is none. */
    int not_asked;

    /* What is loaded. `state` is an acu_load_state and atomic: the other fields may be read once it
     * is ACU_LOADED. */
    int state;
    int abi; /* the version bound against; the simulator reports another version in `loaded` */
    acu_load_info loaded;
    void *handle; /* NULL for a resolver and a linked simulator */
    void *(*resolve)(const char *symbol, void *data);
    void *data; /* of the resolver */
    char soname[128];
    char *path;       /* owned; NULL where there is no file; as it was given, perhaps relative */
    acu_file_id file; /* of the path when it was loaded */

    /* The search; under ACU_LOCK_LOAD. */
    char *trace; /* owned */
    size_t trace_used, trace_room;
    bool trace_ends; /* the trace names the library that was loaded */
    bool searched;   /* the library was found by a search, in the place of this number */
    size_t place;
    unsigned flags; /* of that search */
    int code;       /* of the last load that failed */
    char why[ACU_WHY_SIZE];

    /* The published slots; under ACU_LOCK_SLOTS. */
    acu_published *published; /* owned */
    size_t published_count, published_room;
};

acu_load_state acu_library_state(const acu_library *library);
/* Returns the version bound against (12040) after a successful load; 0 before. */
int acu_library_version(const acu_library *library);
/* Returns the loaded library whose major version is preferred for this one; NULL: there is none. */
const acu_library *acu_library_followed(const acu_library *library);
const acu_library_info *acu_library_about(const acu_library *library);
/* Returns the library of this number; NULL if there is none, or the program does not name any
 * function of it. */
acu_library *acu_library_of(acu_library_id id);

/* Writes "libcudart 12.4 (/usr/lib/libcudart.so.12)", with `between` after the name, or "no
 * libcudart is loaded". Returns `text`. */
const char *acu_library_describe(const acu_library *library, const char *between,
                                 char text[ACU_LIBRARY_TEXT]);

/* Returns whether a resolver or the simulator stands in for NVIDIA's library. */
bool acu_library_is_replaced(const acu_library *library);
/* Returns the ABI of an opened library that is the simulator as a file; 0 if it is another library.
 */
int acu_library_sim_abi(const acu_library *library);
/* Returns a symbol of the library, also while it is being loaded; NULL if the library lacks it. */
acu_fn acu_library_find(const acu_library *library, const char *symbol);
/* Returns whether this thread is inside a resolver. */
bool acu_library_is_resolving(void);

#endif
