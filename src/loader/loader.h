/* The state of a library, and what the parts of the core ask of the loader. */
#ifndef ACU_LOADER_LOADER_H
#define ACU_LOADER_LOADER_H

#include <anycuda/load.h>

#include "core/abi.h"

/* For printf("%d.%d"). */
#define ACU_MAJOR(version) ((version) / 1000)
#define ACU_MINOR(version) ((version) % 1000 / 10)

enum { ACU_PATH_SIZE = 4096, ACU_WHY_SIZE = 512 };

typedef enum acu_load_state { ACU_UNTRIED, ACU_LOADED, ACU_FAILED } acu_load_state;

/* A slot that was published, and what stood in it before. */
typedef struct acu_published {
    const acu_function *function;
    acu_fn entry;
} acu_published;

struct acu_library {
    const acu_library_info *info;
    acu_library_id id;
    const char *wheel;    /* its folder in a Python package; NULL: it comes with the driver only */
    acu_library *follows; /* takes its major version where there are several */
    /* Every incompatible change has a new symbol, so any version may be bound. */
    bool by_symbol;
    bool needs_driver;                 /* its major version must not be above the driver's */
    int (*ask)(acu_fn version_symbol); /* 12040; 0 if it will not say */

    int state; /* acu_load_state; atomic: the rest may be read once it is ACU_LOADED */
    int abi;   /* the version bound against; of the simulator not the version it reports */
    acu_load_info loaded;
    void *handle;
    void *(*resolve)(const char *symbol, void *data);
    void *data;
    char soname[128];
    char *path; /* NULL where there is no file */

    char *trace; /* this and below: under ACU_LOCK_LOAD */
    size_t trace_used, trace_room;
    bool trace_ends; /* it says what was taken */
    int code;        /* why the last try failed */
    char why[ACU_WHY_SIZE];
    acu_published *published; /* this and below: under ACU_LOCK_SLOTS */
    size_t published_count, published_room;
};

/* The simulator as a file, which has CUDA's names and acu_sim_abi(). */
#define ACU_SIM_SONAME "libanycuda-sim.so"

/* What plays CUDA where there is none. */
typedef struct acu_sim {
    acu_fn (*resolve)(const char *symbol);
    int (*version)(
        acu_library_id library); /* the version it reports; 0: it does not play this one */
    int abi;                     /* the presented version, whose ABI it has */
} acu_sim;

/* NULL: this build has no simulator. */
extern const acu_sim *acu_sim_provider;

/* ---- what is loaded (library.c) -------------------------------------------------------------- */

acu_load_state acu_library_state(const acu_library *library);
/* No file, but a resolver or the simulator. */
bool acu_library_is_replaced(const acu_library *library);
/* Also while it is being loaded; NULL if it is not there. */
acu_fn acu_library_find(const acu_library *library, const char *symbol);
/* In this thread. */
bool acu_library_is_resolving(void);

/* ---- loading (loader.c) ---------------------------------------------------------------------- */

/* Loads the library if that was not tried yet; what first use does. */
bool acu_library_ready(acu_library *library);
/* Why the last try failed; returns the code, 0 if it did not fail. */
int acu_library_why(acu_library *library, char *why, size_t size);
/* A symbol, after loading the library if that was not tried yet; NULL if either is not there. */
acu_fn acu_library_symbol(acu_library *library, const char *symbol);
/* What plays a runtime plays its driver, too: whom to ask for symbols of a library's driver. */
acu_library *acu_driver_of(acu_library *library);
/* Stores the library's symbol for the adapters and, unless a layer is on, `fn` in the slot. */
void acu_slot_publish(const acu_function *function, acu_fn symbol, acu_fn fn);
/* Sends every published slot of the library back through acu_call_begin. */
void acu_slot_unpublish(acu_library *library);

enum { ACU_DRIVER_SILENT = -1, ACU_DRIVER_NONE = 0 };
/*
 * What the installed driver supports: 13000; ACU_DRIVER_NONE: no driver is installed;
 * ACU_DRIVER_SILENT: it did not say. Asks libcuda.so.1, or the library's resolver where it has one.
 */
int acu_driver_version(const acu_library *library);
bool acu_driver_was_asked(void);
void acu_driver_forget(void);

/* As if the process had just begun. Only while no other thread uses the library. */
void acu_unload_for_tests(void);

#endif
