/*
 * Back ends: how a runtime is added. Only those who write one need this header.
 *
 * A back end is a table of functions. Some are needed; of the others each may be NULL, which the
 * comment beside it gives a meaning. acu_runtime_register() takes the table, or a shared object
 * exports acu_backend_entry(), which acu_runtime_open() calls. docs/users/backend.md has one in 200
 * lines.
 *
 * What the callers promise: offsets and sizes are inside of the memory, and not 0. A queue, with
 * its memory and marks, is used by one thread at a time, except where a comment says otherwise;
 * different queues, and functions that are given a device or nothing, by several threads at once.
 * Memory and programs are given back when no work uses them, marks at any time. A device is opened
 * once, and closed after everything on it.
 *
 * What a function gives by `out` is not NULL where it succeeds: an address or a number.
 *
 * A function that fails returns acu_backend_fail(), whose words become a part of
 * acu_last_error_message(). An error of work that was queued is returned by what waits for it.
 */
#ifndef ACU_BACKEND_H
#define ACU_BACKEND_H

#include <anycuda/runtime.h>

ACU_BEGIN_C

/** The version of this interface; tables of other versions are refused. */
#define ACU_BACKEND_VERSION 1
/** The name of the function that a shared object exports: an acu_backend_entry_function. */
#define ACU_BACKEND_ENTRY "acu_backend_entry"

/* Only the back end knows what these are. */
/** An open device. */
typedef struct acu_backend_device acu_backend_device;
/** A queue of a device. */
typedef struct acu_backend_queue acu_backend_queue;
/** Memory of a device: an address, or a number, that nobody adds to. */
typedef struct acu_backend_memory acu_backend_memory;
/** A point in a queue. */
typedef struct acu_backend_mark acu_backend_mark;
/** A program that was compiled for a device. */
typedef struct acu_backend_program acu_backend_program;
/** Work that was captured. */
typedef struct acu_backend_replay acu_backend_replay;

/** How a queue is made. */
typedef struct acu_backend_queue_options {
    size_t size; /* what the caller knows of this struct */
    int priority;
    unsigned threads;
} acu_backend_queue_options;

/** A strided copy, which is checked: `rank` is at least 1, and no extent is 0. */
typedef struct acu_backend_strided {
    size_t element_bytes;
    unsigned rank;
    const uint64_t *shape;       /* the last dimension is the innermost */
    const int64_t *to, *from;    /* steps in bytes, of any sign */
    uint64_t to_at, from_at;     /* the first elements, in bytes */
    uint64_t to_size, from_size; /* bytes of the two memories */
} acu_backend_strided;

/** An argument of a program. */
typedef struct acu_backend_arg {
    acu_backend_memory *memory; /* NULL for a value */
    uint64_t memory_bytes;      /* of the block */
    bool writes;
    const void *value; /* of `size` bytes, copied before the function returns */
    size_t size;
} acu_backend_arg;

/** What a program is made of, for one back end. */
typedef struct acu_backend_source {
    size_t size;                      /* what the caller knows of this struct */
    const acu_program_source *source; /* stays until the program is given back */
    const acu_form *form;             /* the form with the back end's name; or NULL */
} acu_backend_source;

/** The table. A shorter one, of an older header, has NULL in the rest. */
typedef struct acu_backend {
    size_t size;      /* sizeof(acu_backend) */
    unsigned version; /* ACU_BACKEND_VERSION */
    const char *name; /* "cuda": lower case, digits, '_' and '-' */

    /* ---- devices; all needed ---- */
    /* Counts the devices; fails where the runtime cannot be used, with the reason. */
    acu_result (*count_devices)(int *count);
    acu_result (*device_open)(int device, acu_backend_device **out);
    void (*device_close)(acu_backend_device *device);
    /* `info` is all zero before. A limit that stays 0 is none, and an alignment of 0 is 1. */
    acu_result (*device_get_info)(acu_backend_device *device, acu_place_info *info);

    /* ---- queues; all needed ---- */
    acu_result (*queue_create)(acu_backend_device *device, const acu_backend_queue_options *options,
                               acu_backend_queue **out);
    /* The queue's work is done. */
    void (*queue_destroy)(acu_backend_queue *queue);
    /* Waits for the work. By several threads at once, and beside any other function. */
    acu_result (*queue_synchronize)(acu_backend_queue *queue);

    /* ---- memory; all needed ---- */
    /* Memory that work of the queue may use from now on. */
    acu_result (*memory_allocate)(acu_backend_queue *queue, uint64_t bytes,
                                  acu_backend_memory **out);
    /* Work of the queue that was given may still use the memory, no other does. */
    void (*memory_free)(acu_backend_queue *queue, acu_backend_memory *memory, uint64_t bytes);
    /* `from` may be used again when this returns. */
    acu_result (*write)(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                        const void *from, size_t bytes);
    /* Waits until the bytes are there. */
    acu_result (*read)(acu_backend_queue *queue, acu_backend_memory *from, uint64_t at, void *to,
                       size_t bytes);
    /* Copies within the device; in one memory the ranges may overlap. */
    acu_result (*copy)(acu_backend_queue *queue, acu_backend_memory *to, uint64_t to_at,
                       acu_backend_memory *from, uint64_t from_at, uint64_t bytes);

    /* ---- more about copies ---- */
    /* NULL: the host writes the elements. */
    acu_result (*fill)(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                       uint64_t bytes, const void *element, size_t element_bytes);
    /* NULL: the host reads, sorts and writes. ACU_NOT_SUPPORTED, before anything is done: so it
     * does for this shape. */
    acu_result (*copy_strided)(acu_backend_queue *queue, acu_backend_memory *to,
                               acu_backend_memory *from, const acu_backend_strided *strided);
    /* Copies to memory of another device of this back end, `to_queue` being a queue of it, whose
     * earlier work is done; `queue` belongs to the source. NULL: the bytes go through the host. */
    acu_result (*copy_peer)(acu_backend_queue *queue, acu_backend_queue *to_queue,
                            acu_backend_memory *to, uint64_t to_at, acu_backend_memory *from,
                            uint64_t from_at, uint64_t bytes);
    /* Reads beside the queue's later work once the mark is reached; by several threads at once, and
     * beside any other function. NULL: waits for all work. */
    acu_result (*read_after)(acu_backend_queue *queue, acu_backend_mark *mark,
                             acu_backend_memory *from, uint64_t at, void *to, size_t bytes);

    /* ---- marks; all or none. NULL: the caller waits for all work where a mark is made ---- */
    acu_result (*mark_create)(acu_backend_queue *queue, acu_backend_mark **out);
    void (*mark_destroy)(acu_backend_mark *mark);
    /* Returns 0, ACU_NOT_READY, or the error of the work; by several threads at once. */
    acu_result (*mark_query)(acu_backend_mark *mark);
    acu_result (*mark_synchronize)(acu_backend_mark *mark);
    /* Lets later work of a queue wait for a mark of the same back end, also of another device;
     * beside any function of the mark's own queue. NULL, or ACU_NOT_SUPPORTED: the thread waits. */
    acu_result (*queue_wait)(acu_backend_queue *queue, acu_backend_mark *mark);

    /* ---- programs; all or none. NULL, or ACU_NOT_SUPPORTED from program_create() because the
     * source has no form for this back end: the program may run on the CPU instead ---- */
    acu_result (*program_create)(acu_backend_device *device, const acu_backend_source *source,
                                 acu_backend_program **out);
    void (*program_destroy)(acu_backend_program *program);
    acu_result (*run)(acu_backend_queue *queue, acu_backend_program *program, const size_t items[3],
                      const acu_backend_arg *args, size_t count);

    /* ---- captures; all or none. NULL: a replay makes the recorded calls again ---- */
    /* From here to capture_end() the queue's work is recorded: writes (whose bytes the back end
     * keeps), copies, fills, strided copies and runs. Where one of them, or capture_end(), fails,
     * capture_cancel() follows; after ACU_NOT_SUPPORTED the replay makes the calls again. Any
     * other failure is that of acu_replay_record(). */
    acu_result (*capture_begin)(acu_backend_queue *queue);
    acu_result (*capture_end)(acu_backend_queue *queue, acu_backend_replay **out);
    void (*capture_cancel)(acu_backend_queue *queue);
    acu_result (*replay_run)(acu_backend_queue *queue, acu_backend_replay *replay);
    void (*replay_destroy)(acu_backend_replay *replay);

    /* ---- what is beneath; each NULL: there is none, or it cannot be asked for ---- */
    acu_result (*queue_get_raw)(acu_backend_queue *queue, acu_raw *raw);
    acu_result (*memory_get_raw)(acu_backend_device *device, acu_backend_memory *memory,
                                 acu_raw *raw);
    /* An address for the device, with ACU_CAN_ADDRESS, and one for the host, with ACU_CAN_USE_HOST.
     */
    acu_result (*memory_get_address)(acu_backend_device *device, acu_backend_memory *memory,
                                     void **address);
    acu_result (*memory_get_host)(acu_backend_device *device, acu_backend_memory *memory,
                                  void **host);
    /* Memory that exists, also of 0 bytes, becomes memory of the device until memory_unwrap(), with
     * ACU_CAN_WRAP. */
    acu_result (*memory_wrap)(acu_backend_device *device, void *memory, uint64_t bytes,
                              acu_backend_memory **out);
    void (*memory_unwrap)(acu_backend_device *device, acu_backend_memory *memory);
    /* Returns whether programs compute with elements of a type. NULL: those that the host has. */
    bool (*computes)(acu_backend_device *device, acu_dtype dtype);
    /* Gives back memory that the back end keeps for itself, before an allocation fails. NULL:
     * nothing is kept. */
    void (*device_trim)(acu_backend_device *device);
    /* At exit device_close() is called for devices that nothing uses. False: it is not, because the
     * driver ends itself, and may have done so before. */
    bool closes_at_exit;
} acu_backend;

/**
 * Records why a function of a back end fails, and returns the code: `return acu_backend_fail(
 * ACU_OUT_OF_MEMORY, "card 3 has no %zu bytes left", bytes)`.
 *
 * The caller's name and object are put before the words. Codes of the back end's own become
 * ACU_ERROR_STATE where they are no acu_result.
 */
acu_result acu_backend_fail(acu_result code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * What the program gives to a shared object, which therefore links no copy of this library: words
 * that a copy recorded would be lost.
 */
typedef struct acu_backend_host {
    size_t size;      /* what the program knows of this struct */
    unsigned version; /* ACU_BACKEND_VERSION of the program */
    /* acu_backend_fail() of the program */
    acu_result (*fail)(acu_result code, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
} acu_backend_host;

/**
 * Returns the table of a shared object, which exports this function as acu_backend_entry(); NULL
 * where it cannot serve the program's version. `host` stays valid.
 */
typedef const acu_backend *acu_backend_entry_function(const acu_backend_host *host);

ACU_END_C

#endif
