/*
 * What the generated code and the hand-written core know of each other.
 *
 * Generated: constant descriptions (acu_library_info, acu_function, acu_type) and, per function, a
 * slot, an entry and, where a loaded library's ABI differs, adapters.
 * Hand-written: the loader, which binds slots; the record of the last error; the two layers.
 *
 * Nothing here may refer to all functions at once: what a program never names, the linker drops.
 */
#ifndef ACU_INTERNAL_H
#define ACU_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Data of ours that is looked at often: its address is known when this is linked, and need not be
 * looked up. */
#define ACU_OURS __attribute__((visibility("hidden")))

/* Any function pointer; always cast back to its true type before the call. */
typedef void (*acu_fn)(void);

/* ---- types, as data: for checks, adapters, the trace and messages -------------------------- */

typedef enum acu_kind {
    ACU_KIND_SIGNED,   /* size 1, 2, 4 or 8 */
    ACU_KIND_UNSIGNED, /* likewise */
    ACU_KIND_FLOAT,    /* size 4 or 8 */
    ACU_KIND_CHAR,     /* a char; an array of them is text */
    ACU_KIND_ENUM,     /* `values` names them */
    ACU_KIND_FLAGS,    /* an integer made of the bits in `values` */
    ACU_KIND_HANDLE,   /* an opaque pointer; `values` may name special ones (cudaStreamLegacy) */
    ACU_KIND_POINTER,  /* a data pointer that is only passed on */
    ACU_KIND_FUNCTION, /* a callback */
    ACU_KIND_TEXT,     /* const char *, zero-terminated */
    ACU_KIND_RECORD,   /* a struct or union: `fields` */
} acu_kind;

/*
 * What has parts (values, fields, parameters) is described by one text: its own name, which reads
 * as any string, and behind it the names of its parts in their order, each ended by a zero:
 * "dim3\0x\0y\0z". The tables are most of this library, and a pointer for each name would be most
 * of the tables: eight bytes, and a relocation of 24.
 */
const char *acu_part_name(const char *names, size_t part);

typedef struct acu_value {
    int32_t value;
    int32_t since; /* first version that has it, e.g. 12030; 0 if all known versions have it */
} acu_value;

typedef struct acu_type acu_type;

/* Members of anonymous members are listed as the record's own. */
typedef struct acu_field {
    const acu_type *type; /* of one element */
    /* The field's tag is the int at `tag_offset` of this record, or, if that is ACU_TAG_ARGUMENT,
     * the tag that this record was given: a call's argument, or the tag of the field that holds it.
     * A union's member is active when its tag is one of `tags`; tags == NULL: always active. A
     * record in a field is given the field's tag (cudaLaunchAttribute: `id` is the tag of the
     * members of `val`, so `val` has tag_offset of `id`, no tags). A tag stands before what it
     * selects. */
    const int32_t *tags; /* ends with ACU_TAG_END */
    int16_t tag_offset;
    uint16_t offset;
    uint16_t count; /* elements; 1 unless an array */
    uint16_t since; /* first version whose layout has it; 0 if all have it */
    int16_t
        target_count; /* if its type has a target: offset of the field that counts those; -1: one */
    bool reserved;    /* padding: must be zero on the way in, is zeroed on the way out */
    int8_t absent;    /* its value where the loaded layout lacks it */
    /* This value means the same as absent and is not refused (besides zero and `absent`). */
    int8_t harmless;
} acu_field;

#define ACU_TAG_END      INT32_MIN
#define ACU_TAG_ARGUMENT (-1)

struct acu_type {
    const char *name; /* "cudaMemcpyKind", "int" …, then those of its values or fields */
    union {
        const acu_value *values; /* of an enum, flags, a handle */
        const acu_field *fields; /* of a record */
        /* Of a pointer to records worth looking into on the way in (cudaLaunchConfig_t.attrs):
         * their type. NULL: the pointer is only passed on. */
        const acu_type *target;
    };
    const struct acu_layout *layouts; /* how older versions lay it out; ends with until == 0 */
    acu_kind kind;
    uint16_t size;
    uint16_t count; /* of values or fields */
};

/* One older layout of a record: in force in versions since <= v < until. */
typedef struct acu_layout {
    int since, until;
    uint32_t size;
    const int32_t *offsets; /* per field of the type, -1 where this layout lacks it; NULL: prefix,
                               same offsets */
    /* Bytes per field where an array is longer or shorter here; NULL: as in the type. A nested
     * record with layouts of its own brings its size itself. Not used with a prefix. */
    const uint32_t *sizes;
} acu_layout;

/* ---- functions, as data -------------------------------------------------------------------- */

typedef enum acu_direction { ACU_IN, ACU_OUT, ACU_INOUT } acu_direction;

typedef struct acu_param {
    const acu_type *type; /* of the value, or of what `depth` pointers lead to */
    uint16_t at;          /* where it is in the struct of the arguments */
    uint8_t depth;        /* 0: by value; 1: pointer to type; 2: pointer to pointer */
    uint8_t direction;    /* acu_direction of what the pointer leads to */
    int8_t length;        /* index of the parameter that counts the elements; -1: one element */
    int8_t tag; /* index of the parameter that says which union member is meant; -1: none */
    bool
        drops; /* fields unknown to the loaded layout are dropped, not refused (cudaChooseDevice) */
} acu_param;

/* What to bind while the loaded version is at least `since` (and below the next era's). */
typedef struct acu_era {
    int since;
    const char *symbol; /* NULL: this version lacks the function */
    acu_fn adapter;     /* NULL: the symbol itself is right */
} acu_era;

typedef struct acu_library acu_library;

typedef struct acu_function {
    acu_library *library;
    const char *name;    /* as the user wrote it: cudaMalloc; then those of its parameters */
    const char *feature; /* "graph conditional nodes", or NULL */
    const acu_era *eras; /* oldest first; NULL: the symbol of its own name, whatever is loaded */
    const acu_param *params;
    uint8_t era_count;
    uint8_t param_count;
    uint8_t returns; /* acu_returns */
    uint8_t quirks;  /* acu_quirk bits */
    uint16_t since,
        until; /* first and last version that has it; 0: the oldest/newest known has it */
    const int *not_failures; /* results that are answers (cudaErrorNotReady of a query); ends with
                                0; or NULL */
    acu_fn *slot;            /* the published pointer; starts at the entry */
    acu_fn *real;            /* where adapters find the library's symbol; NULL if there are none */
} acu_function;

typedef enum acu_returns { ACU_RETURNS_STATUS, ACU_RETURNS_VOID, ACU_RETURNS_OTHER } acu_returns;

enum acu_quirk {
    ACU_QUIRK_GET_LAST_ERROR = 1, /* repeats an older error: never overwrites the record */
    ACU_QUIRK_PEEK_LAST_ERROR = 2,
    ACU_QUIRK_NO_LIBRARY =
        4, /* works without a library (cudaGetErrorName …): the entry's fallback answers */
};

/* ---- libraries ----------------------------------------------------------------------------- */

/* A symbol that first appeared in a version: tells the version where the library will not say. */
typedef struct acu_marker {
    int version;
    const char *symbol;
} acu_marker;

typedef struct acu_library_info {
    const char *name;             /* "libcudart" */
    const char *api;              /* "CUDA runtime", for messages */
    const char *env;              /* "ANYCUDA_CUDART" */
    const char *const *sonames;   /* newest first, ends with NULL */
    const char *const *sentinels; /* exported by every known version, no stub; ends with NULL */
    const acu_marker *markers;    /* oldest first; ends with version == 0 */
    const char *version_symbol;   /* int f(int *version); NULL if another way */
    int oldest, newest;           /* known versions */
    int error_missing;            /* no library, or a refused one */
    int error_stub;
    int error_unavailable;       /* function, field or enumerator too new or gone */
    int error_invalid;           /* invalid value */
    int error_no_driver;         /* what it says without a driver; 0 if never */
    int error_no_device;         /* what it says without a device; 0 if never */
    int error_newer_driver;      /* what it says of what its driver is too old for; 0 if never */
    const acu_type *result_type; /* names of its result codes */
} acu_library_info;

/* One of each per process copy; defined in src/loader/, described by generated/. */
extern acu_library acu_cudart;
extern acu_library acu_cuda;
extern acu_library acu_nvrtc;
extern const acu_library_info acu_cudart_info;
extern const acu_library_info acu_cuda_info;
extern const acu_library_info acu_nvrtc_info;

/* The version bound against (12040), after a successful load; 0 before. Adapters ask it. */
int acu_library_version(const acu_library *library);
const acu_library_info *acu_library_about(const acu_library *library);

/* ---- one call: used by generated entries, wrappers and adapters ------------------------------ */

typedef struct acu_call {
    const acu_function *function;
    const void *args; /* a struct of the arguments; NULL: there are none */
    acu_fn fn;        /* what to call; NULL: refused, result is set */
    int result;
    bool layered;   /* a layer is on: acu_call_end has work to do */
    bool made_here; /* the result is ours: refusal or injected fault */
    bool injected;  /* the fault layer made the result */
    uint64_t start_ns;
} acu_call;

/*
 * The slow path of a slot. Loads the library on first use, binds the function for the loaded
 * version and, if no layer is on, publishes the pointer in the slot so that this is not passed
 * again.
 */
void acu_call_begin(acu_call *call, const acu_function *function, const void *args);
int acu_call_end(acu_call *call);

/*
 * Binds a function without calling it. Returns what is in its slot then, which may always be
 * called: the entry, which refuses with the reason, where it cannot be bound, or the way through a
 * layer.
 */
acu_fn acu_call_bind(const acu_function *function);

/* What is loaded has the function. False where nothing is; nothing is recorded. */
bool acu_call_exists(const acu_function *function);

/*
 * The cold path of a wrapper: the call returned `result`, which is not zero. Records what failed
 * and why; returns the result, or error_unavailable where the cause is an enumerator newer than the
 * library.
 */
int acu_explain(const acu_function *function, int result, const void *args);

/*
 * Refusals made by adapters: each records the error (code, function, reason) as the thread's last
 * one and returns the code. `what` names the parameter or field ("nodeParams->kernel.ctx"); since
 * == 0: it is gone. acu_refuse takes any code (an injected fault).
 */
int acu_refuse_newer(const acu_function *function, const char *what, int since);
int acu_refuse_invalid(const acu_function *function, const char *what, const char *why);
int acu_refuse(const acu_function *function, int code, const char *why);

/*
 * Rule 1 for structs whose old layouts are a prefix of the presented one.
 * acu_adapt_check: refuses newer fields in use and non-zero reserved space; 0 if the loaded library
 * can take it. acu_adapt_fill: gives the fields which the loaded library did not write their
 * defaults. `tag` is the argument that says which union member is meant, or 0.
 */
int acu_adapt_check(const acu_function *function, unsigned param, const void *record, size_t count,
                    int tag);
void acu_adapt_fill(const acu_function *function, unsigned param, void *record, size_t count,
                    int tag);

/*
 * Rule 2, otherwise: a temporary of the loaded layout. Copies by field.
 * acu_adapt_to_loaded refuses like acu_adapt_check; acu_adapt_from_loaded fills like
 * acu_adapt_fill.
 */
int acu_adapt_to_loaded(const acu_function *function, unsigned param, void *loaded,
                        const void *presented, int tag);
void acu_adapt_from_loaded(const acu_function *function, unsigned param, void *presented,
                           const void *loaded, int tag);

/*
 * What in the arguments is newer than `version`: an enumerator or flag bit, by value or in what an
 * argument leads to. "cudaDevAttrFoo" or "attr->id = cudaLaunchAttributeBar", and since when; NULL
 * if nothing. The text holds until the thread asks again.
 */
const char *acu_newer_argument(const acu_function *function, const void *args, int version,
                               int *since);

/* Values as the tables describe them; nothing is assumed about alignment. */
int64_t acu_value_read(const acu_type *type, const void *at);
bool acu_value_equal(const acu_type *type, int64_t a, int64_t b); /* alike in the type's bytes */
/* A value's name (the first, if it has several), and the type's entry for a name; NULL: none. */
const char *acu_value_name(const acu_type *type, int64_t value);
const acu_value *acu_value_find(const acu_type *type, const char *name);
int32_t acu_field_tag(const acu_type *type, const acu_field *field, const void *record,
                      int32_t tag);
const acu_type *acu_field_target(const acu_field *field); /* NULL: it leads to nothing */
bool acu_field_active(const acu_field *field, int32_t tag);
/* Where an argument is in the struct of them. */
const void *acu_argument_at(const acu_function *function, unsigned param, const void *args);
/* Elements behind an argument, 1 if nothing counts them; the tag that an argument's record is
 * given. */
size_t acu_argument_count(const acu_function *function, unsigned param, const void *args);
int32_t acu_argument_tag(const acu_function *function, unsigned param, const void *args);
/* Elements behind a field that has a target. */
size_t acu_field_target_count(const acu_type *type, const acu_field *field, const void *record);

/* An error made here, waiting to be returned once by cudaGetLastError; 0 if none. */
int acu_record_own_error(bool take);

#endif
