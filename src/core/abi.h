/*
 * The descriptions that the generated code gives to the hand-written core: constants for types,
 * functions and libraries.
 *
 * Nothing here may refer to all functions at once, because the linker drops what a program never
 * names.
 */
#ifndef ACU_ABI_H
#define ACU_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anycuda/features.h>

/* For data of this library that is read often: the address is known at link time, so the code reads
 * it without a look-up in the global offset table. */
#define ACU_OURS __attribute__((visibility("hidden")))

/* Any function pointer; always cast back to its true type before the call. */
typedef void (*acu_fn)(void);

/* The parts of a version, 12040 for CUDA 12.4, for printf("%d.%d"). */
#define ACU_MAJOR(version) ((version) / 1000)
#define ACU_MINOR(version) ((version) % 1000 / 10)

/* ---- types ---- */

typedef enum acu_kind {
    ACU_KIND_SIGNED,   /* size 1, 2, 4 or 8 */
    ACU_KIND_UNSIGNED, /* size 1, 2, 4 or 8 */
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
 * A type or function and its parts (values, fields, parameters) share one text: the type's own
 * name, which reads as any string, then the names of the parts in their order, each ended by a
 * zero: "dim3\0x\0y\0z". One text is used because the tables are most of this library, and a
 * pointer for each name would be most of the tables: eight bytes, and a relocation of 24.
 */

typedef struct acu_value {
    int32_t value;
    int32_t since; /* first version that has it, e.g. 12030; 0 if all known versions have it */
} acu_value;

typedef struct acu_type acu_type;

/* A field of a record. Members of anonymous members are listed as the record's own. */
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
    /* If the type has a target: the offset of the field that counts the target's elements; -1: the
     * target is one element. */
    int16_t target_count;
    bool reserved; /* padding: must be zero on the way in, is zeroed on the way out */
    int8_t absent; /* its value where the loaded layout lacks it */
    /* A value besides zero and `absent` that is not refused, because it means the same as them. */
    int8_t harmless;
} acu_field;

#define ACU_TAG_END      INT32_MIN
#define ACU_TAG_ARGUMENT (-1)

struct acu_type {
    const char *name; /* "cudaMemcpyKind", "int" …, then the names of its values or fields */
    union {
        const acu_value *values; /* of an enum, flags, a handle */
        const acu_field *fields; /* of a record */
        /* Of a pointer to records that are checked on the way in (cudaLaunchConfig_t.attrs): the
         * records' type. NULL: the pointer is only passed on. */
        const acu_type *target;
    };
    const struct acu_layout *layouts; /* how older versions lay it out; ends with until == 0 */
    uint16_t kind;                    /* acu_kind */
    uint16_t count;                   /* of values or fields */
    uint32_t size;
};

/* One older layout of a record: in force in versions since <= v < until. */
typedef struct acu_layout {
    int since, until;
    uint32_t size;
    /* Per field of the type, -1 where this layout lacks the field. NULL: this layout is a prefix of
     * the presented one, so the offsets are equal. */
    const int32_t *offsets;
    /* Bytes per field where an array is longer or shorter here; NULL: as in the type. A nested
     * record with layouts of its own has its size there. Not used with a prefix. */
    const uint32_t *sizes;
} acu_layout;

/* ---- functions ---- */

typedef enum acu_direction { ACU_IN, ACU_OUT, ACU_INOUT } acu_direction;

typedef struct acu_param {
    const acu_type *type; /* of the value, or of what `depth` pointers lead to */
    uint16_t at;          /* offset in the struct of the arguments */
    uint8_t depth;        /* 0: by value; 1: pointer to type; 2: pointer to pointer */
    uint8_t direction;    /* acu_direction of what the pointer leads to */
    int8_t length;        /* index of the parameter that counts the elements; -1: one element */
    int8_t tag;           /* index of the parameter that selects the union's member; -1: none */
    /* Fields unknown to the loaded layout are dropped, not refused (cudaChooseDevice). */
    bool drops;
} acu_param;

/* The symbol and adapter for loaded versions from `since` on, below the next era's. */
typedef struct acu_era {
    int since;
    const char *symbol; /* NULL: this version lacks the function */
    acu_fn adapter;     /* NULL: the symbol is called as it is */
} acu_era;

typedef struct acu_library acu_library;

typedef struct acu_function {
    acu_library *library;
    const char *name;    /* as the user wrote it: cudaMalloc; then the names of its parameters */
    const char *feature; /* "graph conditional nodes", or NULL */
    const acu_era *eras; /* oldest first; NULL: the symbol of its own name, whatever is loaded */
    const acu_param *params;
    uint8_t era_count;
    uint8_t param_count;
    uint8_t returns : 2;    /* acu_returns */
    uint8_t quirks : 6;     /* acu_quirk bits */
    uint8_t feature_number; /* the number of `feature`, an acu_feature, + 1; 0: none */
    /* First and last version that has it; 0: the oldest or newest known version has it. */
    uint16_t since, until;
    /* Results that are answers (cudaErrorNotReady of a query); ends with 0; or NULL. */
    const int *not_failures;
    acu_fn *slot; /* the published pointer; starts at the entry */
    acu_fn *real; /* where adapters find the library's symbol; NULL if there are no adapters */
} acu_function;

typedef enum acu_returns { ACU_RETURNS_STATUS, ACU_RETURNS_VOID, ACU_RETURNS_OTHER } acu_returns;

enum acu_quirk {
    ACU_QUIRK_GET_LAST_ERROR = 1,  /* repeats an older error: never overwrites the record */
    ACU_QUIRK_PEEK_LAST_ERROR = 2, /* as above */
    /* Works without a library (cudaGetErrorName …): the entry's fallback answers. */
    ACU_QUIRK_NO_LIBRARY = 4,
    /* The adapter of the oldest era converts arguments, and refuses those that are too new for it:
     * what fails behind it fails for another reason (cudaMemAdvise). */
    ACU_QUIRK_OLDEST_JUDGES = 8,
    /* The newest known version exports the function without an implementation: a call would end the
     * process (wgpuInstanceWaitAny). */
    ACU_QUIRK_UNIMPLEMENTED = 16,
};

static inline bool acu_function_has_quirk(const acu_function *function, unsigned quirks) {
    return ((unsigned)function->quirks & quirks) != 0;
}

/* Returns whether the function reports an older error, as cudaGetLastError and cudaPeekAtLastError
 * do. */
static inline bool acu_function_repeats_errors(const acu_function *function) {
    return acu_function_has_quirk(function, (unsigned)ACU_QUIRK_GET_LAST_ERROR |
                                                (unsigned)ACU_QUIRK_PEEK_LAST_ERROR);
}

/* Returns whether the result is an answer of this function, not a failure: cudaErrorNotReady of a
 * query. */
static inline bool acu_function_is_answer(const acu_function *function, int result) {
    for (const int *answer = function->not_failures; answer && *answer; answer++)
        if (*answer == result)
            return true;
    return false;
}

/* ---- libraries ---- */

/* A symbol that first appeared in a version. The exported markers give the version of a library
 * that does not report it. */
typedef struct acu_marker {
    int version;
    const char *symbol;
} acu_marker;

/* A symbol that only a library of another ABI exports, and what such a library is. */
typedef struct acu_foreign {
    const char *symbol;
    const char *what;
} acu_foreign;

typedef struct acu_library_info {
    const char *name;             /* "libcudart" */
    const char *api;              /* "CUDA runtime", for messages */
    const char *product;          /* whose versions it has: "CUDA" */
    const char *env;              /* "ANYCUDA_CUDART" */
    const char *const *sonames;   /* newest first, ends with NULL */
    const char *const *sentinels; /* exported by every known version, no stub; ends with NULL */
    const acu_marker *markers;    /* oldest first; ends with version == 0 */
    const acu_foreign *foreign;   /* ends with symbol == NULL; NULL: none is known */
    const char *version_symbol;   /* int f(int *version); NULL if there is no such function */
    int oldest, newest;           /* known versions */
    int error_missing;            /* no library, or a refused one */
    int error_stub;
    int error_unavailable;       /* function, field or enumerator too new or gone */
    int error_invalid;           /* invalid value */
    int error_no_driver;         /* the library's error without a driver; 0 if it has none */
    int error_no_device;         /* the library's error without a device; 0 if it has none */
    int error_newer_driver;      /* its error for a call that needs a newer driver; 0: none */
    const acu_type *result_type; /* names of its result codes */
} acu_library_info;

/* One of each per copy of this library; defined in loader/library.c, described by generated/. A
 * program that names no function of WebGPU, NVML or nvJitLink has no acu_webgpu, acu_nvml or
 * acu_nvjitlink: acu_library_of() returns NULL for it. */
extern acu_library acu_cudart;
extern acu_library acu_cuda;
extern acu_library acu_nvrtc;
extern acu_library acu_webgpu;
extern acu_library acu_nvjitlink;
extern acu_library acu_nvml;
extern const acu_library_info acu_cudart_info;
extern const acu_library_info acu_cuda_info;
extern const acu_library_info acu_nvrtc_info;
extern const acu_library_info acu_webgpu_info;
extern const acu_library_info acu_nvjitlink_info;
extern const acu_library_info acu_nvml_info;

#endif
