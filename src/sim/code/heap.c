/*
 * Pieces whose sizes are powers of two; a piece that is free becomes one with its other half if
 * that is free, too. What is known of a piece is beside the memory, where no kernel can write.
 */
#define _DEFAULT_SOURCE /* mmap's flags */
#include "sim/code/heap.h"

#include "sim/code/kernel_launch.h"
#include "sim/ptx/check.h"
#include "sim/sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    UNIT = 16, /* bytes of the smallest piece */
    ORDERS = 40,
    FREE = 0x80,  /* in `orders`: a free piece begins here; its order is in the other bits */
    TAKEN = 0x40, /* a piece that a kernel has */
    FREED = FREE | TAKEN, /* one that it gave back, and nobody gets while there are others */
};

static const uint32_t none = UINT32_MAX;

struct acu_sim_heap {
    acu_sim_context *context;
    pthread_mutex_t lock; /* guards all below */
    char *memory;
    size_t limit, used; /* bytes that kernels may have, and have */
    size_t gap;         /* bytes behind each piece, to which nobody should come; 0 without checks */
    uint32_t units;
    uint8_t *orders; /* what begins at each unit */
    /* Of the free pieces of an order; of a piece that a kernel has, how many bytes of the last of
     * its units it did not ask for, and how many units it has. */
    uint32_t *next, *before;
    uint32_t first[ORDERS];
    uint32_t oldest, newest; /* of the list, by `next`, of FREED pieces; `oldest` may be none */
    acu_sim_heap *other;     /* of all heaps */
};

static acu_sim_heap *heaps; /* under the simulator's lock */

/* ---- pieces ---- */

static void add_free(acu_sim_heap *h, uint32_t unit, unsigned order) {
    h->orders[unit] = (uint8_t)(FREE | order);
    h->before[unit] = none;
    h->next[unit] = h->first[order];
    if (h->first[order] != none)
        h->before[h->first[order]] = unit;
    h->first[order] = unit;
}

static void remove_free(acu_sim_heap *h, uint32_t unit, unsigned order) {
    h->orders[unit] = 0;
    if (h->before[unit] != none)
        h->next[h->before[unit]] = h->next[unit];
    else
        h->first[order] = h->next[unit];
    if (h->next[unit] != none)
        h->before[h->next[unit]] = h->before[unit];
}

static bool is_taken(const acu_sim_heap *h, uint32_t unit) {
    return (h->orders[unit] & FREED) == TAKEN;
}

/* Makes the piece free, together with its other half if that is free, and so on. */
static void join_free(acu_sim_heap *h, uint32_t unit) {
    unsigned order = h->orders[unit] & ~(unsigned)FREED;
    h->orders[unit] = 0;
    for (;; order++) {
        uint32_t half = unit ^ UINT32_C(1) << order;
        if (half >= h->units || h->orders[half] != (FREE | order))
            break;
        remove_free(h, half, order);
        unit &= half;
    }
    add_free(h, unit, order);
}

/* With checks memory is given away again as late as possible, so that who still uses it is seen. */
static void keep_freed(acu_sim_heap *h, uint32_t unit) {
    h->orders[unit] |= FREED;
    h->next[unit] = none;
    if (h->oldest != none)
        h->next[h->newest] = unit;
    else
        h->oldest = unit;
    h->newest = unit;
}

/* Makes the piece free that was given back first; false if there is none. */
static bool join_oldest(acu_sim_heap *h) {
    const uint32_t unit = h->oldest;
    if (unit == none)
        return false;
    h->oldest = h->next[unit];
    join_free(h, unit);
    return true;
}

/* Returns the least order, from one on, of which there is a free piece; ORDERS: there is none. */
static unsigned find_order(const acu_sim_heap *h, unsigned order) {
    while (order < ORDERS && h->first[order] == none)
        order++;
    return order;
}

static unsigned order_of(size_t bytes) {
    unsigned order = 0;
    while (((size_t)UNIT << order) < bytes)
        order++;
    return order;
}

void *acu_sim_heap_take(acu_sim_heap *h, size_t bytes) {
    if (bytes > h->limit)
        return NULL;
    const size_t asked = bytes;
    bytes = (bytes + UNIT - 1) / UNIT * UNIT;
    const unsigned order = order_of(bytes + h->gap);
    void *memory = NULL;
    pthread_mutex_lock(&h->lock);
    unsigned found = find_order(h, order);
    while (found == ORDERS && join_oldest(h))
        found = find_order(h, order);
    if (found < ORDERS && bytes <= h->limit - h->used) {
        uint32_t unit = h->first[found];
        remove_free(h, unit, found);
        while (found > order) {
            found--;
            add_free(h, unit + (UINT32_C(1) << found), found);
        }
        h->orders[unit] = (uint8_t)(TAKEN | order);
        h->before[unit] = (uint32_t)(bytes / UNIT);
        h->next[unit] = (uint32_t)(bytes - asked);
        h->used += bytes;
        memory = h->memory + (size_t)unit * UNIT;
    }
    pthread_mutex_unlock(&h->lock);
    return memory;
}

bool acu_sim_heap_give(acu_sim_heap *h, const void *memory) {
    size_t at = (size_t)((const char *)memory - h->memory);
    if (at >= (size_t)h->units * UNIT || at % UNIT)
        return false;
    uint32_t unit = (uint32_t)(at / UNIT);
    pthread_mutex_lock(&h->lock);
    const bool taken = is_taken(h, unit);
    if (taken) {
        h->used -= (size_t)h->before[unit] * UNIT;
        if (h->gap)
            keep_freed(h, unit);
        else
            join_free(h, unit);
    }
    pthread_mutex_unlock(&h->lock);
    return taken;
}

/* Returns the first unit of the piece that has the unit. */
static uint32_t piece_of(const acu_sim_heap *h, uint32_t unit) {
    unsigned order = 0;
    uint32_t first = unit;
    while (!h->orders[first] && order < ORDERS - 1)
        first = unit & ~((UINT32_C(1) << ++order % 32) - 1);
    return first;
}

/* Returns whether the memory is in a piece that is free. */
static bool is_free(acu_sim_heap *h, const void *memory) {
    const size_t at = (size_t)((const char *)memory - h->memory);
    if (at >= (size_t)h->units * UNIT || at % UNIT)
        return false;
    pthread_mutex_lock(&h->lock);
    const uint32_t first = piece_of(h, (uint32_t)(at / UNIT));
    const bool gave = h->orders[first] & FREE;
    pthread_mutex_unlock(&h->lock);
    return gave;
}

char *acu_sim_heap_find(acu_sim_heap *h, const void *address, size_t *bytes) {
    *bytes = (size_t)h->units * UNIT;
    return (size_t)((const char *)address - h->memory) < *bytes ? h->memory : NULL;
}

bool acu_sim_heap_stray(acu_sim_heap *h, const void *address, size_t size, char *text,
                        size_t room) {
    const size_t at = (size_t)((const char *)address - h->memory);
    pthread_mutex_lock(&h->lock);
    const uint32_t first = piece_of(h, (uint32_t)(at / UNIT));
    const bool taken = is_taken(h, first), freed = (h->orders[first] & FREED) == FREED;
    const size_t begin = (size_t)first * UNIT;
    const size_t bytes = taken ? (size_t)h->before[first] * UNIT - h->next[first] : 0;
    pthread_mutex_unlock(&h->lock);
    const size_t into = at - begin;
    if (taken && into <= bytes && bytes - into >= size)
        return false;
    if (taken)
        snprintf(text, room, "%zu bytes behind the end of the %zu that malloc() returned at 0x%llx",
                 into > bytes ? into - bytes : 0, bytes,
                 (unsigned long long)(uintptr_t)(h->memory + begin));
    else if (freed)
        snprintf(text, room, "%zu bytes into what malloc() returned at 0x%llx and free() took",
                 into, (unsigned long long)(uintptr_t)(h->memory + begin));
    else
        snprintf(text, room, "in the heap, where nobody has memory");
    return true;
}

/* ---- heaps ---- */

static void *reserve(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unreserve(void *memory, size_t bytes) {
    if (memory)
        (void)munmap(memory, bytes);
}

static void free_heap(acu_sim_heap *h) {
    unreserve(h->memory, (size_t)h->units * UNIT);
    unreserve(h->orders, h->units);
    unreserve(h->next, h->units * sizeof *h->next);
    unreserve(h->before, h->units * sizeof *h->before);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* Pieces may be up to twice as large as what they hold, and with gaps eight times, so that there is
 * more than the limit; pages that nobody writes cost nothing. */
static acu_sim_heap *make_heap(acu_sim_context *context) {
    acu_sim_heap *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->context = context;
    h->limit = context->limits[cudaLimitMallocHeapSize];
    if (h->limit > (size_t)8 << 30)
        h->limit = (size_t)8 << 30;
    h->gap = acu_sim_configuration()->checks & PTX_CHECK_MEMORY ? PTX_CHECK_GAP : 0;
    unsigned order = order_of((h->gap ? 8 : 2) * h->limit);
    h->units = UINT32_C(1) << order;
    pthread_mutex_init(&h->lock, NULL);
    h->memory = reserve((size_t)h->units * UNIT);
    h->orders = reserve(h->units);
    h->next = reserve(h->units * sizeof *h->next);
    h->before = reserve(h->units * sizeof *h->before);
    if (!h->memory || !h->orders || !h->next || !h->before) {
        free_heap(h);
        return NULL;
    }
    for (unsigned i = 0; i < ORDERS; i++)
        h->first[i] = none;
    h->oldest = none;
    add_free(h, 0, order);
    return h;
}

acu_sim_heap *acu_sim_heap_of(acu_sim_context *context, bool make) {
    acu_sim_heap *h = heaps;
    while (h && h->context != context)
        h = h->other;
    if (h || !make)
        return h;
    h = make_heap(context);
    if (h) {
        h->other = heaps;
        heaps = h;
    }
    return h;
}

/* A GPU looks at what is before the memory, and overlooks what does not look like a piece. */
cudaError_t acu_sim_heap_free(acu_sim_context *context, const void *memory, bool *overlooked) {
    acu_sim_heap *h = acu_sim_heap_of(context, false);
    size_t bytes;
    *overlooked = false;
    if (!memory || (h && acu_sim_heap_give(h, memory)))
        return cudaSuccess;
    if (h && is_free(h, memory))
        return cudaErrorLaunchFailure;
    *overlooked = (h && acu_sim_heap_find(h, memory, &bytes)) ||
                  acu_sim_kernel_launch_find(context->device, memory, 1);
    return *overlooked ? cudaSuccess : cudaErrorIllegalAddress;
}

/* Frees the heaps of the context, or of all contexts of the device; of all if both are NULL. */
static void drop(const acu_sim_context *context, const acu_sim_device *device) {
    for (acu_sim_heap **link = &heaps; *link;) {
        acu_sim_heap *h = *link;
        if ((context && h->context != context) || (device && h->context->device != device)) {
            link = &h->other;
            continue;
        }
        *link = h->other;
        free_heap(h);
    }
}

static void drop_context(acu_sim_context *context) {
    drop(context, NULL);
}

static void reset_device(acu_sim_device *device) {
    drop(NULL, device);
}

static void reset(void) {
    drop(NULL, NULL);
}

const acu_sim_noun acu_sim_heap_noun = {
    .reset_device = reset_device, .drop_context = drop_context, .reset = reset};
