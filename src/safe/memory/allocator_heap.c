/* Caching allocators: the free pieces of a stream, divided and joined. */
#include "safe/memory/allocator_heap.h"

#include <stdlib.h>

/* ---- classes ---- */

static unsigned class_of(const acu_piece *piece) {
    const unsigned class = acu_size_class(piece->bytes);
    return class < ACU_HEAP_CLASSES ? class : ACU_HEAP_CLASSES - 1;
}

static void add_to(acu_piece **list, acu_piece *piece) {
    piece->next = *list;
    piece->link = list;
    if (piece->next)
        piece->next->link = &piece->next;
    *list = piece;
}

static void take_off(acu_piece *piece) {
    *piece->link = piece->next;
    if (piece->next)
        piece->next->link = piece->link;
}

static void insert(acu_piece *piece) {
    acu_heap *heap = piece->heap;
    const unsigned class = class_of(piece);
    add_to(&heap->free[class], piece);
    heap->map[class / 64] |= UINT64_C(1) << class % 64;
    piece->free = true;
}

static void take_out(acu_piece *piece) {
    acu_heap *heap = piece->heap;
    const unsigned class = class_of(piece);
    take_off(piece);
    if (!heap->free[class])
        heap->map[class / 64] &= ~(UINT64_C(1) << class % 64);
    piece->free = false;
}

/* Returns the first class from `class` on that is not empty; ACU_HEAP_CLASSES if there is none. */
static unsigned next_class(const acu_heap *heap, unsigned class) {
    for (unsigned word = class / 64; word < ACU_HEAP_WORDS; word++) {
        uint64_t bits = heap->map[word];
        if (word == class / 64)
            bits &= ~UINT64_C(0) << class % 64;
        if (bits)
            return word * 64 + (unsigned)__builtin_ctzll(bits);
    }
    return ACU_HEAP_CLASSES;
}

/* A piece at a low address is preferred, so that what is behind stays free and can be given back.
 */
static bool is_better(const acu_piece *piece, const acu_piece *than) {
    return !than || piece->bytes < than->bytes ||
           (piece->bytes == than->bytes && piece->pointer < than->pointer);
}

static acu_piece *best_of(const acu_heap *heap, unsigned class, size_t bytes) {
    acu_piece *best = NULL;
    for (acu_piece *piece = heap->free[class]; piece; piece = piece->next)
        if (piece->bytes >= bytes && is_better(piece, best))
            best = piece;
    return best;
}

acu_piece *acu_heap_find(const acu_heap *heap, size_t bytes) {
    unsigned class = acu_size_class(bytes);
    if (class >= ACU_HEAP_CLASSES)
        class = ACU_HEAP_CLASSES - 1;
    acu_piece *best = NULL;
    for (class = next_class(heap, class); class < ACU_HEAP_CLASSES && !best;
         class = next_class(heap, class + 1))
        best = best_of(heap, class, bytes);
    return best;
}

size_t acu_heap_largest(const acu_heap *heap) {
    size_t largest = 0;
    for (unsigned class = next_class(heap, 0); class < ACU_HEAP_CLASSES;
         class = next_class(heap, class + 1))
        for (const acu_piece *piece = heap->free[class]; piece; piece = piece->next)
            largest = piece->bytes > largest ? piece->bytes : largest;
    return largest;
}

/* ---- dividing and joining ---- */

/* Puts a piece behind `before` in the segment, or first where that is NULL. */
static void link_after(acu_piece *piece, acu_segment *segment, acu_piece *before) {
    piece->segment = segment;
    piece->before = before;
    piece->after = before ? before->after : segment->first;
    *(piece->before ? &piece->before->after : &segment->first) = piece;
    if (piece->after)
        piece->after->before = piece;
}

static void unlink_piece(acu_piece *piece) {
    *(piece->before ? &piece->before->after : &piece->segment->first) = piece->after;
    if (piece->after)
        piece->after->before = piece->before;
}

/* Leaves so many bytes of a piece, and makes another one of the rest, which is in no list. Returns
 * that; NULL without memory, with nothing changed. */
static acu_piece *divide(acu_piece *piece, size_t bytes) {
    acu_piece *rest = malloc(sizeof *rest);
    if (!rest)
        return NULL;
    *rest = (acu_piece){.pointer = piece->pointer + bytes,
                        .bytes = piece->bytes - bytes,
                        .heap = piece->heap,
                        .number = piece->number};
    link_after(rest, piece->segment, piece);
    piece->bytes = bytes;
    return rest;
}

/* Makes one piece of two neighbours, neither of which is in a list. */
static acu_piece *join(acu_piece *first, acu_piece *second) {
    first->bytes += second->bytes;
    if (first->number < second->number)
        first->number = second->number;
    unlink_piece(second);
    free(second);
    return first;
}

/* Takes so many bytes of a free piece out of its class; the rest stays free. Returns false without
 * memory, with nothing changed. */
static bool take(acu_piece *piece, size_t bytes) {
    take_out(piece);
    if (piece->bytes == bytes)
        return true;
    acu_piece *rest = divide(piece, bytes);
    insert(rest ? rest : piece);
    return rest;
}

bool acu_heap_take(acu_piece *piece, size_t bytes, acu_heap *heap) {
    if (!take(piece, piece->bytes > bytes ? bytes : piece->bytes))
        return false;
    piece->heap = heap;
    return true;
}

static bool joins(const acu_piece *neighbour, const acu_piece *piece) {
    return neighbour && neighbour->free && neighbour->heap == piece->heap;
}

acu_piece *acu_heap_give(acu_piece *piece) {
    acu_piece *before = piece->before, *after = piece->after;
    if (joins(after, piece)) {
        take_out(after);
        (void)join(piece, after);
    }
    if (joins(before, piece)) {
        take_out(before);
        piece = join(before, piece);
    }
    insert(piece);
    return piece;
}

/* Divides a free piece so that one begins at `at`; returns that, or NULL without memory. */
static acu_piece *divide_at(acu_piece *piece, const char *at) {
    if (piece->pointer == at)
        return piece;
    take_out(piece);
    acu_piece *rest = divide(piece, (size_t)(at - piece->pointer));
    insert(piece);
    if (rest)
        insert(rest);
    return rest;
}

acu_piece *acu_heap_cut(acu_piece *in, const char *at, size_t bytes) {
    while (in->pointer + in->bytes <= at)
        in = in->after;
    acu_piece *piece = divide_at(in, at), *last = piece;
    while (last && last->pointer + last->bytes < at + bytes)
        last = last->after;
    if (!last || !take(last, (size_t)(at + bytes - last->pointer)))
        return NULL;
    if (piece != last)
        take_out(piece);
    while (piece->bytes < bytes) {
        if (piece->after != last)
            take_out(piece->after);
        (void)join(piece, piece->after);
    }
    return piece;
}

/* ---- holes ---- */

static bool is_hole(const acu_piece *piece) {
    return piece && !piece->heap;
}

acu_piece *acu_heap_open(acu_segment *segment, size_t bytes) {
    acu_piece *hole = malloc(sizeof *hole);
    if (!hole)
        return NULL;
    *hole = (acu_piece){.pointer = segment->pointer, .bytes = bytes};
    link_after(hole, segment, NULL);
    add_to(&segment->holes, hole);
    return hole;
}

bool acu_heap_take_hole(acu_piece *hole, size_t bytes, acu_heap *heap) {
    acu_piece *rest = NULL;
    if (hole->bytes > bytes && !(rest = divide(hole, bytes)))
        return false;
    take_off(hole);
    if (rest)
        add_to(&hole->segment->holes, rest);
    hole->heap = heap;
    return true;
}

void acu_heap_give_hole(acu_piece *piece) {
    acu_piece *before = piece->before, *after = piece->after;
    piece->heap = NULL;
    piece->number = 0;
    if (is_hole(after)) {
        take_off(after);
        (void)join(piece, after);
    }
    if (is_hole(before)) {
        take_off(before);
        piece = join(before, piece);
    }
    add_to(&piece->segment->holes, piece);
}

void acu_heap_close(acu_segment *segment) {
    for (acu_piece *piece = segment->first, *next; piece; piece = next) {
        next = piece->after;
        if (piece->free)
            take_out(piece);
        free(piece);
    }
    segment->first = segment->holes = NULL;
}
