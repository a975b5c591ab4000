/*
 * What a caching allocator has for one stream: pieces of memory that are free, ordered by size.
 *
 * A segment is what was taken from the source at once, or a range of addresses that grows. It is
 * divided into pieces. A free piece is joined with a free neighbour of the same heap; the smallest
 * one that is large enough is divided to serve a request. The caller holds the allocator's lock.
 */
#ifndef ACU_SRC_ALLOCATOR_HEAP_H
#define ACU_SRC_ALLOCATOR_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct acu_piece acu_piece;
typedef struct acu_segment acu_segment;
typedef struct acu_heap acu_heap;

enum {
    ACU_PIECE_STEP = 512,        /* bytes; every piece is a multiple, and begins at one */
    ACU_SMALL = 1u << 20u,       /* bytes of the largest small piece */
    ACU_CLASSES_PER_DOUBLING = 8 /* of sizes */
};

struct acu_piece {
    char *pointer;
    size_t bytes;
    acu_heap *heap;            /* the one that it is free in, or was taken from */
    uint64_t number;           /* on the heap's timeline: of the last use; 0: that is done */
    acu_piece *next, **link;   /* in a class of its heap, while it is free and not kept */
    acu_piece *before, *after; /* the neighbours in the segment */
    acu_segment *segment;
    bool free;
};

struct acu_segment {
    char *pointer;
    size_t bytes;
    acu_piece *first, *last;
    acu_segment *next, **link; /* in the allocator's list */
    struct acu_virtual *range; /* a range that grows, and is an owner; NULL: cudaMalloc or a pool */
    acu_heap *heap;            /* for which it was made */
    size_t room;               /* bytes that a range can grow to */
};

enum { ACU_HEAP_CLASSES = 320, ACU_HEAP_WORDS = ACU_HEAP_CLASSES / 64 };

struct acu_heap {
    struct acu_cache *cache;      /* whose heap it is */
    acu_segment *growing;         /* a range of its own that can grow; NULL: none */
    uint64_t map[ACU_HEAP_WORDS]; /* a bit for each class that is not empty */
    acu_piece *free[ACU_HEAP_CLASSES];
    bool small;
};

/* Returns the class of a size: the classes divide each doubling into eight. */
static inline unsigned acu_size_class(size_t bytes) {
    const size_t steps = (bytes - 1) / ACU_PIECE_STEP; /* 0 for 1 to 512 bytes */
    if (steps < ACU_CLASSES_PER_DOUBLING)
        return (unsigned)steps;
    const unsigned shift = 60u - (unsigned)__builtin_clzll(steps); /* steps >> shift: 8 to 15 */
    return shift * ACU_CLASSES_PER_DOUBLING + (unsigned)(steps >> shift);
}
/* Returns the most bytes of a class. */
static inline size_t acu_class_bytes(unsigned class) {
    if (class < 2 * ACU_CLASSES_PER_DOUBLING)
        return (size_t)(class + 1) * ACU_PIECE_STEP;
    const unsigned shift = class / ACU_CLASSES_PER_DOUBLING - 1;
    const size_t mantissa = class % ACU_CLASSES_PER_DOUBLING + ACU_CLASSES_PER_DOUBLING;
    return ((mantissa + 1) << shift) * ACU_PIECE_STEP;
}
/* Rounds a size up: to its class where it is small, else by less than a hundredth. */
static inline size_t acu_size_round(size_t bytes) {
    if (bytes <= ACU_SMALL)
        return acu_class_bytes(acu_size_class(bytes));
    const size_t step = (size_t)1 << (56u - (unsigned)__builtin_clzll(bytes - 1));
    return (bytes + step - 1) & ~(step - 1);
}

/* Makes a free piece of all that a segment has behind its last piece, up to `bytes` of the segment,
 * or lengthens that piece if it is free in the heap. Returns the piece; NULL without memory, with
 * nothing changed. */
acu_piece *acu_heap_extend(acu_heap *heap, acu_segment *segment, size_t bytes);
/* Returns the smallest free piece of at least so many bytes, and of those the first in memory; NULL
 * if there is none. The piece is still free. */
acu_piece *acu_heap_find(const acu_heap *heap, size_t bytes);
/* Takes a free piece out of its heap for `heap`, and leaves what it has beyond `bytes` where it
 * was. Returns false without memory, with nothing changed. */
bool acu_heap_take(acu_piece *piece, size_t bytes, acu_heap *heap);
/* Makes the piece free in its heap, and joins it with its neighbours. */
void acu_heap_give(acu_piece *piece);
/* Takes the whole piece out of its heap, because its segment shrinks or goes. */
void acu_heap_remove(acu_piece *piece);
/* Leaves so many bytes of a free piece, which is the last one of its segment; 0: none. */
void acu_heap_shorten(acu_piece *piece, size_t bytes);
/* Returns the size of the largest free piece. */
size_t acu_heap_largest(const acu_heap *heap);

#endif
