/*
 * Allocators: where memory of a device, or pinned memory of the host, comes from, and goes back to.
 *
 * A caching allocator keeps what is released for the stream that used it, and gives it out again
 * without a call of CUDA. A program can implement an allocator, too, by a few functions. A buffer
 * comes from an allocator that acu_buffer_options names, or that is the current one of its device.
 *
 * Several threads may use an allocator at once, and retain and release it.
 */
#ifndef ACU_ALLOCATOR_H
#define ACU_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include <anycuda/buffer.h>

ACU_BEGIN_C

/* ---- caching ---- */

/** What a caching allocator takes its memory from. */
typedef enum acu_allocator_source {
    ACU_ALLOCATOR_ANY,     /* virtual memory where the device has it, else cudaMalloc */
    ACU_ALLOCATOR_VIRTUAL, /* reserved addresses, to which memory is mapped as they fill up */
    ACU_ALLOCATOR_POOL,    /* a pool of CUDA's, by cudaMallocAsync */
    ACU_ALLOCATOR_DEVICE,  /* cudaMalloc */
    ACU_ALLOCATOR_PINNED   /* cudaHostAlloc: pinned memory of the host, for all devices */
} acu_allocator_source;

/** How a caching allocator is made; all zero takes as much memory as there is. */
typedef struct acu_allocator_options {
    acu_allocator_source source;
    acu_pool *pool; /* for ACU_ALLOCATOR_POOL; kept; NULL: the current pool of the device */
    size_t limit;   /* the most bytes to take from the source; 0: as many as there are */
    /* The most to take, as a part of the device's memory; 0: all of it. With a limit, too, the
     * smaller one applies. */
    double fraction;
} acu_allocator_options;

/**
 * Makes a caching allocator, which the caller owns; `options` may be NULL.
 *
 * Memory that is released is used again on the same stream without an event; another stream may
 * take it once CUDA reports that the work before is done. Before the source is asked for more than
 * it has, or than the limit, another stream waits for that work; then all that is not in use is
 * given back, the pools are trimmed, `out_of_memory` of the hooks is called, and everything is
 * tried once more. Errors: ACU_ERROR_ARGUMENT where options do not fit each other;
 * ACU_ERROR_RANGE where the fraction is not between 0 and 1; 801 where virtual memory is asked for
 * by name, and the device has none.
 */
ACU_CHECKED acu_result acu_allocator_create(acu_device device, const acu_allocator_options *options,
                                            acu_allocator **allocator);

/** Sets the most bytes that are taken from the source; 0: as many as there are. */
ACU_CHECKED acu_result acu_allocator_set_limit(acu_allocator *allocator, size_t limit);

/**
 * Sets the limit to a part of the device's memory, or of the host's for pinned memory; 0: as much
 * as there is. Errors: ACU_ERROR_RANGE where the part is not between 0 and 1.
 */
ACU_CHECKED acu_result acu_allocator_set_fraction(acu_allocator *allocator, double fraction);

/**
 * Gives memory that is not in use back to the source, but keeps at least `keep` bytes of it.
 *
 * What was taken from the source at once goes as a whole. The thread waits for the work that used
 * the memory. Errors: ACU_ERROR_CAPTURE as for acu_stream_synchronize(); what `trim` of a program's
 * functions returns.
 */
ACU_CHECKED acu_result acu_allocator_trim(acu_allocator *allocator, size_t keep);

/* ---- an allocator of the program's own ---- */

/**
 * The functions of an allocator that a program implements. `size` is
 * sizeof(acu_allocator_functions), so that functions can be added later; `data` is what
 * acu_allocator_wrap() was given. They return 0 or an error, which is reported as it is, and may be
 * called by several threads at once.
 */
typedef struct acu_allocator_functions {
    size_t size;
    /* Allocates memory of the device that work on the stream may use from now on. Never NULL. */
    acu_result (*allocate)(void *data, size_t bytes, acu_device device, struct CUstream_st *stream,
                           void **pointer);
    /* Takes memory back, which work on the stream may still use. Never NULL. */
    acu_result (*free)(void *data, void *pointer, size_t bytes, acu_device device,
                       struct CUstream_st *stream);
    /* Gives back what is not in use, but `keep` bytes; NULL: nothing is kept. */
    acu_result (*trim)(void *data, size_t keep);
    /* Returns the bytes that are taken from the system; NULL: as many as are in use. */
    size_t (*reserved)(void *data);
    /* The allocator is destroyed; NULL: nothing has to be done. */
    void (*destroy)(void *data);
} acu_allocator_functions;

/**
 * Makes a handle for an allocator that the program implements; the caller owns it.
 *
 * `functions` is copied. `memory` is the kind that it has: ACU_MEMORY_POOL for memory of the
 * device, or ACU_MEMORY_PINNED. Errors: ACU_ERROR_ARGUMENT where a function is missing, `size` is
 * wrong, or there is no such memory.
 */
ACU_CHECKED acu_result acu_allocator_wrap(acu_device device, acu_memory memory,
                                          const acu_allocator_functions *functions, void *data,
                                          acu_allocator **allocator);

/* ---- owners ---- */

/** Adds an owner and returns the allocator; NULL where the handle is not an allocator. */
acu_allocator *acu_allocator_retain(acu_allocator *allocator);

/**
 * Takes an owner away; the last release gives all memory back to the source. Memory that is in use
 * is an owner, too, and so is the device whose current allocator it is. Everything else is as for
 * acu_stream_release().
 */
acu_result acu_allocator_release(acu_allocator *allocator);

void acu_allocator_cleanup(acu_allocator **allocator);

/** Writes one line that names the allocator, as errors do; acu_stream_describe() has the rules. */
size_t acu_allocator_describe(const acu_allocator *allocator, char *text, size_t size);

/** Returns the allocator's device; ACU_DEVICE_CURRENT where the handle is not an allocator. */
acu_device acu_allocator_device(const acu_allocator *allocator);

/** Returns the kind of its memory; ACU_MEMORY_POOL where the handle is not an allocator. */
acu_memory acu_allocator_memory(const acu_allocator *allocator);

/* ---- the current allocator of a device ---- */

/**
 * Makes an allocator of device memory the one that buffers of its device come from where nothing
 * else is asked for; the device keeps it.
 *
 * Without a current allocator, and unless ANYCUDA_ALLOCATOR is set in the environment, that is the
 * current pool. Buffers that exist stay where they are. Errors: ACU_ERROR_MEMORY_KIND where the
 * allocator's memory is the host's.
 */
ACU_CHECKED acu_result acu_allocator_set_current(acu_allocator *allocator);

/** Makes a handle for the device's current allocator, which the caller owns; NULL: there is none.
 */
ACU_CHECKED acu_result acu_allocator_get_current(acu_device device, acu_allocator **allocator);

/** Takes the device's current allocator away: buffers come from the current pool again. */
ACU_CHECKED acu_result acu_allocator_clear_current(acu_device device);

/* ---- memory without a buffer ---- */

/**
 * Allocates memory that work on the stream may use from now on; the caller has to free it.
 *
 * A size of 0 gives NULL. The memory of a caching allocator begins at a multiple of 512. A graph
 * that is captured does not know of such memory, and does not keep it. Errors: ACU_OUT_OF_MEMORY;
 * ACU_ERROR_DEVICE where the stream is on another device.
 */
ACU_CHECKED acu_result acu_allocator_allocate(acu_allocator *allocator, acu_stream *stream,
                                              size_t bytes, void **pointer);

/**
 * Frees memory of acu_allocator_allocate() after the work that is on its stream now; NULL is fine.
 *
 * Errors: ACU_ERROR_ARGUMENT where the allocator has no such memory.
 */
acu_result acu_allocator_free(acu_allocator *allocator, void *pointer);

/**
 * Announces that work on another stream uses memory of acu_allocator_allocate(): once it is freed,
 * the memory's own stream waits for all work that is on the other one then.
 *
 * Errors: ACU_ERROR_ARGUMENT where the allocator has no such memory.
 */
ACU_CHECKED acu_result acu_allocator_attach(acu_allocator *allocator, void *pointer,
                                            acu_stream *stream);

/* ---- what an allocator does ---- */

/** What an allocator has, and has done. An allocator of the program's own has zeros where it says
 * nothing. */
typedef struct acu_allocator_info {
    size_t used, used_high;         /* bytes that are in use, rounded up; the most that were */
    size_t reserved, reserved_high; /* bytes that are taken from the source; the most that were */
    size_t largest_free;            /* bytes of the largest piece that is not in use */
    double fragmentation;           /* of what is not in use, the part outside of that piece */
    size_t limit;                   /* bytes; 0: none */
    size_t segments;                /* how many pieces were taken from the source */
    uint64_t allocations, frees;
    uint64_t hits;    /* allocations that needed nothing from the source */
    uint64_t crossed; /* of those, with memory that another stream had used */
    uint64_t waits;   /* of those, for which the stream had to wait for the other one */
    uint64_t trims;   /* how often memory was given back for want of room */
    uint64_t failures;
} acu_allocator_info;

/** Asks what the allocator has, and has done. */
ACU_CHECKED acu_result acu_allocator_get_info(acu_allocator *allocator, acu_allocator_info *info);

/** What an allocator has done with requests of one size class. */
typedef struct acu_allocator_class_info {
    size_t bytes; /* requests of at most so many bytes, and of more than the class before */
    uint64_t allocations;
    size_t used; /* how many pieces of the class are in use */
} acu_allocator_class_info;

/**
 * Lists the size classes that were asked for, from the smallest to the largest; each is twice as
 * large as the one before it.
 */
ACU_CHECKED acu_result acu_allocator_get_classes(acu_allocator *allocator,
                                                 acu_allocator_class_info *classes, size_t *count);

/** Makes `used_high` and `reserved_high` what is used and reserved now. */
ACU_CHECKED acu_result acu_allocator_reset_high(acu_allocator *allocator);

/** Functions that an allocator calls; a function that is NULL is not called. */
typedef struct acu_allocator_hooks {
    void *data; /* the first argument of each */
    /* Memory was given out. */
    void (*allocated)(void *data, const void *pointer, size_t bytes, acu_stream *stream);
    /* Memory is taken back. */
    void (*freed)(void *data, const void *pointer, size_t bytes);
    /* There is no room for so many bytes. Returns true where something was released, and the
     * allocation shall be tried once more. */
    bool (*out_of_memory)(void *data, size_t bytes);
} acu_allocator_hooks;

/**
 * Sets the functions that are called from now on; `hooks` is copied, and NULL means none.
 *
 * They are called without a lock, by the thread that allocates or frees, and may use the allocator:
 * what they allocate and free themselves calls no hook. With `allocated` or
 * `freed`, each allocation takes longer.
 */
ACU_CHECKED acu_result acu_allocator_set_hooks(acu_allocator *allocator,
                                               const acu_allocator_hooks *hooks);

ACU_END_C

#endif
