/*
 * Allocators as the rest of the safe layer sees them.
 *
 * An allocator is a handle with a way to work: a program's functions, or the caching allocator of
 * allocator_cache.h, which is linked only into programs that make one.
 */
#ifndef ACU_SRC_ALLOCATOR_H
#define ACU_SRC_ALLOCATOR_H

#include <anycuda/allocator.h>

#include "safe/base/stream.h"
#include "safe/memory/allocator_heap.h"

/* Memory that an allocator has given out. */
typedef struct acu_given {
    void *pointer;
    size_t bytes;     /* as they were asked for */
    acu_piece *piece; /* of a caching allocator; else NULL */
} acu_given;

/* How an allocator works. All but `get_info` return 0 or a recorded code. */
typedef struct acu_allocator_way {
    /* Gives out memory that later work on the stream may use. */
    int (*take)(acu_allocator *allocator, acu_stream *stream, size_t bytes, acu_given *given);
    /* Takes memory back, all uses of which come before later work on the stream that it was taken
     * for. */
    int (*give)(acu_allocator *allocator, acu_stream *stream, const acu_given *given);
    /* Returns a storage that was released with memory for so many elements, as a new one; NULL:
     * there is none. */
    struct acu_storage *(*reuse)(acu_allocator *allocator, acu_stream *stream, acu_dtype dtype,
                                 size_t count);
    /* Prepares a storage that has its memory for being used again; NULL: none is. */
    int (*keep)(acu_allocator *allocator, struct acu_storage *storage);
    /* Returns what a capture keeps for a storage; NULL: the storage. */
    acu_object *(*kept_by)(const acu_capture *capture, struct acu_storage *storage);
    int (*trim)(acu_allocator *allocator, size_t keep);
    void (*get_info)(acu_allocator *allocator, acu_allocator_info *info);
    int (*destroy)(acu_allocator *allocator);
    /* Add what is counted elsewhere, and make the highest figures those of now; or NULL. */
    void (*add_classes)(acu_allocator *allocator, acu_allocator_class_info *classes);
    void (*reset)(acu_allocator *allocator);
    /* `allocated` or `freed` of the hooks has changed; or NULL. */
    void (*set_hooked)(acu_allocator *allocator, bool hooked);
    /* The last user has gone: nothing is kept for it any more. NULL: nothing is kept. */
    void (*stop)(acu_allocator *allocator);
} acu_allocator_way;

/* Memory of acu_allocator_allocate(), in a table by its address. */
typedef struct acu_raw_memory {
    acu_given given;
    acu_stream *stream;  /* with a reference */
    acu_stream **others; /* that use it, too, each with a reference */
    size_t other_count;
    struct acu_raw_memory *next; /* of the same row of the table */
} acu_raw_memory;

enum { ACU_COUNTED_CLASSES = 64 };

struct acu_allocator {
    acu_object object;
    const acu_allocator_way *way;
    acu_memory memory;
    int users;     /* atomic: owners outside of the safe layer, and the device */
    bool current;  /* atomic: of its device */
    bool hooked;   /* atomic: `allocated` or `freed` is set */
    bool captures; /* memory can be given out while a stream is captured */
    acu_allocator_functions functions; /* of a program */
    void *data;
    pthread_mutex_t lock; /* of the rest, and of what a caching allocator has */
    acu_allocator_hooks hooks;
    acu_raw_memory **rows; /* the table of raw memory */
    size_t row_count, raw_count;
    acu_allocator_info info; /* what is counted here */
    acu_allocator_class_info classes[ACU_COUNTED_CLASSES];
};

extern ACU_OURS const acu_class acu_allocator_class;

/* Makes an allocator; returns 0 or a recorded code. `size` is that of the struct that begins with
 * an acu_allocator. */
int acu_allocator_make(int device, size_t size, const acu_allocator_way *way, acu_memory memory,
                       acu_allocator **out);

/* Makes the caching allocator that ANYCUDA_ALLOCATOR describes; returns 0 or a recorded code. */
int acu_allocator_from_text(acu_device device, const char *text, acu_allocator **allocator);

/* ---- for buffers ---- */

/*
 * Chooses where a buffer's memory comes from: sets `allocator` to one that the caller owns then, or
 * to NULL, and options->memory to its kind. Returns 0 or a failure recorded for `call`.
 */
int acu_allocator_choose(const char *call, const acu_stream *stream, acu_buffer_options *options,
                         acu_allocator **allocator);

/* Give out and take back memory, count it, and call the hooks; both return 0 or a recorded code. */
int acu_allocator_take(acu_allocator *allocator, acu_stream *stream, size_t bytes,
                       acu_given *given);
int acu_allocator_give(acu_allocator *allocator, acu_stream *stream, const acu_given *given);

/* Returns the row of acu_allocator.classes that counts requests of that size. */
static inline unsigned acu_allocator_class_of(size_t bytes) {
    return bytes <= ACU_PIECE_STEP ? 9 : 64u - (unsigned)__builtin_clzll(bytes - 1);
}

#endif
