/*
 * What a caching allocator has for one stream: pieces of memory that are free, ordered by size.
 *
 * A segment is what was taken from the source at once, or a range of addresses. It is divided into
 * pieces. A free piece is joined with a free neighbour of the same heap; the smallest one that is
 * large enough is divided to serve a request. A piece of a range that has no memory now is a hole.
 * The caller holds the allocator's lock.
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
    acu_heap *heap;            /* the one that it is free in, or was taken from; NULL: a hole */
    uint64_t number;           /* on the heap's timeline: of the last use; 0: that is done */
    acu_piece *next, **link;   /* of a class of its heap, while it is free; of the holes */
    acu_piece *before, *after; /* the neighbours in the segment */
    acu_segment *segment;
    bool free;
};

struct acu_segment {
    char *pointer;
    size_t bytes; /* that are taken from the source: all but the holes */
    acu_piece *first;
    acu_piece *holes;          /* in no order */
    acu_segment *next, **link; /* in the allocator's list */
    struct acu_virtual *range; /* with a reference; NULL: cudaMalloc or a pool */
    acu_heap *heap;            /* for which it was made */
};

enum { ACU_HEAP_CLASSES = 320, ACU_HEAP_WORDS = ACU_HEAP_CLASSES / 64 };

struct acu_heap {
    struct acu_cache *cache;      /* whose heap it is */
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

/* Returns the smallest free piece of at least so many bytes, and of those the first in memory; NULL
 * if there is none. The piece is still free. */
acu_piece *acu_heap_find(const acu_heap *heap, size_t bytes);
/* Takes a free piece out of its heap for `heap`, and leaves what it has beyond `bytes` where it
 * was. Returns false without memory, with nothing changed. */
bool acu_heap_take(acu_piece *piece, size_t bytes, acu_heap *heap);
/* Makes a piece that was taken free in its heap, and joins it with its neighbours; returns what it
 * has become. */
acu_piece *acu_heap_give(acu_piece *piece);
/* Takes these bytes of a segment, all of which are free, as one piece. They begin in `in`, or
 * behind it. Returns NULL without memory, with nothing changed but how the pieces are divided. */
acu_piece *acu_heap_cut(acu_piece *in, const char *at, size_t bytes);

/* Makes one hole of a segment that has no pieces yet; returns NULL without memory. */
acu_piece *acu_heap_open(acu_segment *segment, size_t bytes);
/* Takes the first bytes of a hole for a heap; what is behind stays a hole. Returns false without
 * memory, with nothing changed. */
bool acu_heap_take_hole(acu_piece *hole, size_t bytes, acu_heap *heap);
/* Makes a hole of a piece that was taken, and joins it with holes beside it. */
void acu_heap_give_hole(acu_piece *piece);
/* Frees all pieces of a segment that goes, none of which is given out. */
void acu_heap_close(acu_segment *segment);
/* Returns the size of the largest free piece. */
size_t acu_heap_largest(const acu_heap *heap);

#endif
