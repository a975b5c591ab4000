/*
 * With guard=1, writes behind an allocation and uses after free are reported.
 *
 * Behind each allocation lies a zone with a pattern, which is checked when the host synchronises
 * and when the memory is freed. Pinned and managed memory lies between two pages that fault; the
 * memory itself faults once it is freed. The ranges that were freed last are remembered, so that
 * the use of an address in them can be reported.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "sim/memory/guard.h"

#include "sim/caller.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ZONE = 512,     /* bytes behind device memory */
    FREED = 256,    /* ranges that are remembered */
    PATTERN = 0xfd, /* each byte of a zone */
    POISON = 0xdd,  /* each byte of freed device memory */
};

typedef struct freed {
    uintptr_t base;
    size_t size;
    acu_sim_memory kind;
    const void *where;
} freed;

static freed last_freed[FREED];
static unsigned next_freed; /* the index of the oldest one, which the next one replaces */
static int damages;         /* reports since the start or the last reset */

static const char *const kinds[] = {"device memory", "pinned memory", "registered memory",
                                    "managed memory"};

static bool is_on(void) {
    return acu_sim_configuration()->guard;
}

size_t acu_sim_guard_size(void) {
    return is_on() ? ZONE : 0;
}

/* ---- host memory ---- */

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t pages_of(size_t size) {
    const size_t page = page_size();
    return (size + page - 1) & ~(page - 1);
}

void *acu_sim_guard_map(size_t size) {
    const size_t page = page_size(), inner = pages_of(size);
    char *at = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    if (mprotect(at + page, inner, PROT_READ | PROT_WRITE) == 0)
        return at + page;
    munmap(at, inner + 2 * page);
    return NULL;
}

void acu_sim_guard_unmap(void *at, size_t size) {
    (void)madvise(at, pages_of(size), MADV_DONTNEED);
    (void)mprotect(at, pages_of(size), PROT_NONE);
}

/* Gives the addresses of host memory that was freed back to the system. */
static void forget(const freed *old) {
    if (old->size && old->kind != SIM_DEVICE)
        munmap((char *)old->base - page_size(), pages_of(old->size) + 2 * page_size());
}

/* ---- zones ---- */

/* Returns the zone of a range, and its size; NULL if it has none: registered memory is the
 * program's own, and mapped memory is whole pages. */
static unsigned char *zone_of(const acu_sim_range *range, size_t *size) {
    if (!is_on() || range->bytes || range->kind == SIM_REGISTERED)
        return NULL;
    *size = range->kind == SIM_DEVICE ? acu_sim_memory_rounded(range->size) - range->size + ZONE
                                      : pages_of(range->size) - range->size;
    return (unsigned char *)acu_sim_range_bytes(range, (void *)range->base) + range->size;
}

void acu_sim_guard_begin(const acu_sim_range *range) {
    size_t size;
    unsigned char *zone = zone_of(range, &size);
    if (zone)
        memset(zone, PATTERN, size);
}

static void check(acu_sim_range *range) {
    size_t size, i = 0;
    char where[SIM_CALLER_TEXT];
    const unsigned char *zone = range->damaged ? NULL : zone_of(range, &size);
    while (zone && i < size && zone[i] == PATTERN)
        i++;
    if (!zone || i == size)
        return;
    range->damaged = true;
    damages++;
    acu_sim_caller_describe(range->where, where, sizeof where);
    fprintf(stderr,
            "anycuda: simulator: a write behind the end of %s %p of %zu bytes, allocated at %s, "
            "changed byte %zu: check the sizes of what writes there\n",
            kinds[range->kind], (void *)range->base, range->size, where, range->size + i);
}

void acu_sim_guard_end(acu_sim_range *range) {
    size_t size;
    if (!zone_of(range, &size))
        return;
    check(range);
    forget(&last_freed[next_freed]);
    last_freed[next_freed] = (freed){range->base, range->size, range->kind, range->where};
    next_freed = (next_freed + 1) % FREED;
    if (range->kind == SIM_DEVICE)
        memset(acu_sim_range_bytes(range, (void *)range->base), POISON, range->size);
}

void acu_sim_guard_check(void) {
    for (acu_sim_range *range = is_on() ? acu_sim_range_next(0) : NULL; range;
         range = acu_sim_range_next(range->base + range->size))
        check(range);
}

void acu_sim_guard_explain(const void *address) {
    char where[SIM_CALLER_TEXT];
    for (unsigned i = 0; is_on() && i < FREED; i++) {
        const freed *f = &last_freed[(next_freed + FREED - 1 - i) % FREED];
        if ((uintptr_t)address - f->base >= f->size)
            continue;
        damages++;
        acu_sim_caller_describe(f->where, where, sizeof where);
        fprintf(stderr,
                "anycuda: simulator: address %p was used after it was freed: it is in %s %p of %zu "
                "bytes, allocated at %s\n",
                address, kinds[f->kind], (void *)f->base, f->size, where);
        return;
    }
}

static void reset(void) {
    for (unsigned i = 0; i < FREED; i++)
        forget(&last_freed[i]);
    memset(last_freed, 0, sizeof last_freed);
    damages = 0;
}

static void waited(bool for_work) {
    (void)for_work;
    acu_sim_guard_check();
}

const acu_sim_noun acu_sim_guard_noun = {.reset = reset, .waited = waited};

int acu_sim_damages(void) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_guard_check();
    const int count = damages;
    pthread_mutex_unlock(&acu_sim_lock);
    return count;
}
