/* Caching allocators: the free pieces of a stream, divided and joined. */
#include "safe/memory/allocator_heap.h"

#include <stdlib.h>

/* ---- classes ---- */

static unsigned class_of(const acu_piece *piece) {
    const unsigned class = acu_size_class(piece->bytes);
    return class < ACU_HEAP_CLASSES ? class : ACU_HEAP_CLASSES - 1;
}

static void insert(acu_piece *piece) {
    acu_heap *heap = piece->heap;
    const unsigned class = class_of(piece);
    piece->next = heap->free[class];
    piece->link = &heap->free[class];
    if (piece->next)
        piece->next->link = &piece->next;
    heap->free[class] = piece;
    heap->map[class / 64] |= UINT64_C(1) << class % 64;
    piece->free = true;
}

static void take_out(acu_piece *piece) {
    acu_heap *heap = piece->heap;
    const unsigned class = class_of(piece);
    *piece->link = piece->next;
    if (piece->next)
        piece->next->link = piece->link;
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
    *(piece->after ? &piece->after->before : &segment->last) = piece;
}

static void unlink_piece(acu_piece *piece) {
    acu_segment *segment = piece->segment;
    *(piece->before ? &piece->before->after : &segment->first) = piece->after;
    *(piece->after ? &piece->after->before : &segment->last) = piece->before;
}

acu_piece *acu_heap_extend(acu_heap *heap, acu_segment *segment, size_t bytes) {
    acu_piece *last = segment->last;
    if (last && last->free && last->heap == heap) {
        take_out(last);
        last->bytes += bytes - segment->bytes;
        insert(last);
        segment->bytes = bytes;
        return last;
    }
    acu_piece *piece = malloc(sizeof *piece);
    if (!piece)
        return NULL;
    *piece = (acu_piece){.pointer = segment->pointer + segment->bytes,
                         .bytes = bytes - segment->bytes,
                         .heap = heap};
    link_after(piece, segment, last);
    insert(piece);
    segment->bytes = bytes;
    return piece;
}

bool acu_heap_take(acu_piece *piece, size_t bytes, acu_heap *heap) {
    if (piece->bytes > bytes) {
        acu_piece *rest = malloc(sizeof *rest);
        if (!rest)
            return false;
        take_out(piece);
        *rest = (acu_piece){.pointer = piece->pointer + bytes,
                            .bytes = piece->bytes - bytes,
                            .heap = piece->heap,
                            .number = piece->number};
        link_after(rest, piece->segment, piece);
        insert(rest);
        piece->bytes = bytes;
    } else
        take_out(piece);
    piece->heap = heap;
    return true;
}

/* Makes one piece of two neighbours, neither of which is in a class. */
static acu_piece *join(acu_piece *first, acu_piece *second) {
    first->bytes += second->bytes;
    if (first->number < second->number)
        first->number = second->number;
    unlink_piece(second);
    free(second);
    return first;
}

static bool joins(const acu_piece *neighbour, const acu_piece *piece) {
    return neighbour && neighbour->free && neighbour->heap == piece->heap;
}

void acu_heap_give(acu_piece *piece) {
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
}

void acu_heap_remove(acu_piece *piece) {
    take_out(piece);
    unlink_piece(piece);
    free(piece);
}

void acu_heap_shorten(acu_piece *piece, size_t bytes) {
    if (bytes == 0) {
        acu_heap_remove(piece);
        return;
    }
    take_out(piece);
    piece->bytes = bytes;
    insert(piece);
}
