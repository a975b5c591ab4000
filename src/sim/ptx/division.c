/*
 * Each worker has a part of its own, from whose beginning it takes clusters. The first worker
 * begins with all of a window; a worker whose part is empty gets the second half of the largest
 * part. So workers are far apart in memory until the end: a processor reads lines ahead, and a line
 * that two workers write goes from one to the other. The next window begins when no part has any
 * cluster: a GPU begins blocks in their order, and programs count on what blocks have written that
 * come long before.
 */
#define _DEFAULT_SOURCE
#include "sim/ptx/division.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LINE = 64 };

/* What is left of a part. Both numbers change under the lock; who looks for the largest part reads
 * them without the lock. */
typedef struct part {
    _Alignas(LINE) pthread_mutex_t lock;
    _Atomic uint64_t next, last;
} part;

struct ptx_division {
    bool in_order;
    unsigned workers;
    atomic_uint joined;
    uint64_t count, window;
    pthread_mutex_t opening;
    _Atomic uint64_t opened; /* clusters of the windows that have begun; changes under the lock */
    part parts[];
};

ptx_division *acu_ptx_division_new(uint64_t count, unsigned workers, uint64_t window,
                                   bool in_order) {
    if (workers > count)
        workers = (unsigned)count;
    ptx_division *division =
        aligned_alloc(LINE, sizeof *division + workers * sizeof division->parts[0]);
    if (!division)
        return NULL;
    division->in_order = in_order;
    division->workers = workers;
    division->count = count;
    division->window = in_order || window > count ? count : window;
    pthread_mutex_init(&division->opening, NULL);
    atomic_init(&division->joined, 0);
    atomic_init(&division->opened, division->window);
    for (unsigned n = 0; n < workers; n++) {
        pthread_mutex_init(&division->parts[n].lock, NULL);
        atomic_init(&division->parts[n].next, 0);
        atomic_init(&division->parts[n].last, n ? 0 : division->window);
    }
    return division;
}

void acu_ptx_division_free(ptx_division *division) {
    if (!division)
        return;
    for (unsigned n = 0; n < division->workers; n++)
        pthread_mutex_destroy(&division->parts[n].lock);
    pthread_mutex_destroy(&division->opening);
    free(division);
}

unsigned acu_ptx_division_join(ptx_division *division) {
    return atomic_fetch_add(&division->joined, 1);
}

/* Returns how many clusters the part has, which may be wrong while another worker changes it. */
static uint64_t left_of(const part *p) {
    const uint64_t next = atomic_load_explicit(&p->next, memory_order_relaxed);
    const uint64_t last = atomic_load_explicit(&p->last, memory_order_relaxed);
    return last > next ? last - next : 0;
}

/* Takes a piece from the part's beginning: a small one where little is left, which others may want.
 * Returns false, and writes nothing, where nothing is left. */
static bool take_piece(part *p, uint64_t most, uint64_t *first, uint64_t *last) {
    enum { OF_A_PART = 8 };
    pthread_mutex_lock(&p->lock);
    const uint64_t left = left_of(p);
    if (left) {
        const uint64_t size = left / OF_A_PART;
        *first = atomic_load_explicit(&p->next, memory_order_relaxed);
        *last = *first + (size > most ? most : size < 1 ? 1 : size);
        atomic_store_explicit(&p->next, *last, memory_order_relaxed);
    }
    pthread_mutex_unlock(&p->lock);
    return left > 0;
}

/* Gives clusters to a part that is empty. */
static void fill(part *p, uint64_t next, uint64_t last) {
    pthread_mutex_lock(&p->lock);
    atomic_store_explicit(&p->next, next, memory_order_relaxed);
    atomic_store_explicit(&p->last, last, memory_order_relaxed);
    pthread_mutex_unlock(&p->lock);
}

/* Gives the second half of another part, or its only cluster, to a part that is empty. */
static void move_half(part *from, part *to) {
    pthread_mutex_lock(&from->lock);
    const uint64_t last = atomic_load_explicit(&from->last, memory_order_relaxed);
    const uint64_t moved = (left_of(from) + 1) / 2;
    atomic_store_explicit(&from->last, last - moved, memory_order_relaxed);
    pthread_mutex_unlock(&from->lock);
    fill(to, last - moved, last);
}

/* Returns the largest part; NULL where all are empty. */
static part *largest(ptx_division *division) {
    part *found = NULL;
    uint64_t most = 0;
    for (unsigned n = 0; n < division->workers; n++) {
        const uint64_t left = left_of(&division->parts[n]);
        if (left > most) {
            most = left;
            found = &division->parts[n];
        }
    }
    return found;
}

/* Gives the next window to a part that is empty, unless another worker has begun one meanwhile. */
static void open_window(ptx_division *division, part *to) {
    pthread_mutex_lock(&division->opening);
    const uint64_t first = atomic_load(&division->opened), left = division->count - first;
    if (left && !largest(division)) {
        const uint64_t last = first + (left < division->window ? left : division->window);
        fill(to, first, last);
        atomic_store(&division->opened, last);
    }
    pthread_mutex_unlock(&division->opening);
}

bool acu_ptx_division_take(ptx_division *division, unsigned worker, uint64_t *first,
                           uint64_t *last) {
    enum { MOST = 128 };
    if (division->in_order)
        return take_piece(&division->parts[0], 1, first, last);
    part *own = &division->parts[worker];
    while (!take_piece(own, MOST, first, last)) {
        const bool all = atomic_load(&division->opened) == division->count; /* before the parts */
        part *from = largest(division);
        if (from)
            move_half(from, own);
        else if (all)
            return false;
        else
            open_window(division, own);
    }
    return true;
}

bool acu_ptx_division_is_empty(const ptx_division *division) {
    if (atomic_load(&division->opened) < division->count)
        return false;
    for (unsigned n = 0; n < division->workers; n++)
        if (left_of(&division->parts[n]))
            return false;
    return true;
}
