/*
 * Each worker has a part of its own, from whose beginning it takes clusters. A worker whose part is
 * empty opens the next stretch of the grid, so workers are far apart in memory until the end: a
 * processor reads lines ahead, and a line that two workers write goes from one to the other. From
 * the first cluster that no worker has taken to the end of what is open there is at most a window:
 * a GPU begins blocks in their order, and programs count on what blocks have written that come long
 * before. A worker that may open nothing gets half of another part: of that which holds this first
 * cluster, so that all go on, and at the end of the grid, of the largest.
 */
#define _DEFAULT_SOURCE
#include "sim/ptx/division.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LINE = 64 };

/* What is left of a part. Both numbers change under its lock, and clusters come to it, or go to
 * another one, under the division's lock, too. Under that, who reads them without the part's lock
 * sees at most that more is left than there is. */
typedef struct part {
    _Alignas(LINE) pthread_mutex_t lock;
    _Atomic uint64_t next, last;
} part;

struct ptx_division {
    bool in_order;
    unsigned workers;
    atomic_uint joined;
    uint64_t count, window, stretch;
    pthread_mutex_t lock;    /* is taken before that of a part */
    _Atomic uint64_t opened; /* clusters that parts have, or had; changes under the lock */
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
    division->window = window < count ? window : count;
    division->stretch = division->window > workers ? division->window / workers : 1;
    pthread_mutex_init(&division->lock, NULL);
    atomic_init(&division->joined, 0);
    atomic_init(&division->opened, in_order ? count : 0);
    for (unsigned n = 0; n < workers; n++) {
        pthread_mutex_init(&division->parts[n].lock, NULL);
        atomic_init(&division->parts[n].next, 0);
        atomic_init(&division->parts[n].last, in_order && !n ? count : 0);
    }
    return division;
}

void acu_ptx_division_free(ptx_division *division) {
    if (!division)
        return;
    for (unsigned n = 0; n < division->workers; n++)
        pthread_mutex_destroy(&division->parts[n].lock);
    pthread_mutex_destroy(&division->lock);
    free(division);
}

unsigned acu_ptx_division_join(ptx_division *division) {
    return atomic_fetch_add(&division->joined, 1);
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Returns how many clusters the part has, which may be wrong while another worker changes it. */
static uint64_t left_of(const part *p) {
    const uint64_t next = atomic_load_explicit(&p->next, memory_order_relaxed);
    const uint64_t last = atomic_load_explicit(&p->last, memory_order_relaxed);
    return last > next ? last - next : 0;
}

/* Takes a piece from the part's beginning: a small one where little of the grid is left, which
 * others may want. Returns false, and writes nothing, where nothing is left. */
static bool take_piece(ptx_division *division, part *p, uint64_t most, uint64_t *first,
                       uint64_t *last) {
    enum { OF_THE_REST = 8 };
    pthread_mutex_lock(&p->lock);
    const uint64_t left = left_of(p);
    if (left) {
        const uint64_t rest = left + division->count - atomic_load(&division->opened);
        const uint64_t size = rest < OF_THE_REST ? 1 : rest / OF_THE_REST;
        *first = atomic_load_explicit(&p->next, memory_order_relaxed);
        *last = *first + least(size, least(most, left));
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

/* What parts have together, of which some may be taken meanwhile. */
typedef struct rest {
    uint64_t first;           /* cluster; all that are open where no part has any */
    part *of_first, *largest; /* NULL where no part has any */
} rest;

/* Returns what parts have; under the division's lock. */
static rest find_rest(ptx_division *division) {
    rest found = {.first = atomic_load(&division->opened)};
    uint64_t most = 0;
    for (unsigned n = 0; n < division->workers; n++) {
        part *p = &division->parts[n];
        const uint64_t next = atomic_load_explicit(&p->next, memory_order_relaxed);
        const uint64_t left = left_of(p);
        if (left && next < found.first) {
            found.first = next;
            found.of_first = p;
        }
        if (left > most) {
            most = left;
            found.largest = p;
        }
    }
    return found;
}

/* Gives clusters to a part that is empty: the next stretch where the window has room for it, or
 * else half of another part. Returns false where none is left. */
static bool refill(ptx_division *division, part *to) {
    pthread_mutex_lock(&division->lock);
    const rest found = find_rest(division);
    const uint64_t opened = atomic_load(&division->opened);
    const uint64_t end = opened + least(division->stretch, division->count - opened);
    const bool has_room = end > opened && end - found.first <= division->window;
    if (has_room) {
        fill(to, opened, end);
        atomic_store(&division->opened, end);
    } else if (found.largest) {
        move_half(end > opened ? found.of_first : found.largest, to);
    }
    pthread_mutex_unlock(&division->lock);
    return has_room || found.largest;
}

bool acu_ptx_division_take(ptx_division *division, unsigned worker, uint64_t *first,
                           uint64_t *last) {
    enum { MOST = 128 };
    if (division->in_order)
        return take_piece(division, &division->parts[0], 1, first, last);
    part *own = &division->parts[worker];
    while (!take_piece(division, own, MOST, first, last))
        if (!refill(division, own))
            return false;
    return true;
}

bool acu_ptx_division_is_empty(ptx_division *division) {
    pthread_mutex_lock(&division->lock);
    const bool empty =
        atomic_load(&division->opened) == division->count && !find_rest(division).largest;
    pthread_mutex_unlock(&division->lock);
    return empty;
}
