#include "sim/memory/history.h"

#include "loader/platform.h"
#include "sim/caller.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"

#include <stdio.h>
#include <string.h>

enum {
    CHECK_MEMORY = 1, /* the bit of acu_sim_config.checks */
    REMEMBERED = 1024,
    NEAR = 1 << 20, /* bytes between an address and the allocation that is named for it */
};

typedef struct past {
    uintptr_t base;
    size_t size;
    uint64_t number;               /* of the allocation */
    const void *allocated, *freed; /* where; NULL: nobody knows */
} past;

static past pasts[REMEMBERED];
static unsigned next_past; /* the index of the oldest one, which the next one replaces */

void acu_sim_history_end(const acu_sim_range *range) {
    if (!(acu_sim_configuration()->checks & CHECK_MEMORY))
        return;
    pasts[next_past] = (past){.base = range->base,
                              .size = range->size,
                              .number = range->id,
                              .allocated = range->where,
                              .freed = SIM_CALLER};
    next_past = (next_past + 1) % REMEMBERED;
}

static void name_place(const void *where, char *text, size_t size) {
    if (where)
        acu_sim_caller_describe(where, text, size);
    else
        snprintf(text, size, "%s", "a place in the order of a stream");
}

/* Returns whether the address was in memory that was freed; then the text says so. */
static bool describe_freed(uintptr_t address, char *text, size_t size) {
    char allocated[SIM_CALLER_TEXT], freed[SIM_CALLER_TEXT];
    for (unsigned i = 0; i < REMEMBERED; i++) {
        const past *p = &pasts[(next_past + REMEMBERED - 1 - i) % REMEMBERED];
        if (address - p->base >= p->size)
            continue;
        name_place(p->allocated, allocated, sizeof allocated);
        name_place(p->freed, freed, sizeof freed);
        snprintf(
            text, size,
            "%zu bytes into allocation %llu, of %zu bytes at 0x%llx, which was freed at %.150s "
            "(allocated at %.150s)",
            (size_t)(address - p->base), (unsigned long long)p->number, p->size,
            (unsigned long long)p->base, freed, allocated);
        return true;
    }
    return false;
}

/* Says what the memory is, and where it was allocated. */
static void name_range(const acu_sim_range *range, char *text, size_t size) {
    char where[SIM_CALLER_TEXT];
    if (range->name) {
        snprintf(text, size, "the variable %.200s, of %zu bytes at 0x%llx", range->name,
                 range->size, (unsigned long long)range->base);
        return;
    }
    name_place(range->where, where, sizeof where);
    snprintf(text, size, "allocation %llu, of %zu bytes at 0x%llx (allocated at %.200s)",
             (unsigned long long)range->id, range->size, (unsigned long long)range->base, where);
}

/* Says that no allocation is near, and what there is instead. */
static void describe_stray(const void *address, char *text, size_t size) {
    if (!address)
        snprintf(text, size, "which is NULL");
    else if (acu_platform_is_readable(address, 1))
        snprintf(text, size, "where the host has memory that the device cannot access");
    else
        snprintf(text, size, "where no allocation is near");
}

void acu_sim_history_describe(const void *address, char *text, size_t size) {
    char what[SIM_CALLER_TEXT + 100];
    const uintptr_t at = (uintptr_t)address;
    const acu_sim_range *near = NULL;
    for (const acu_sim_range *r = acu_sim_range_next(0); r && r->base <= at;
         r = acu_sim_range_next(r->base + r->size))
        near = r;
    /* What is behind an allocation, in the bytes that its size was rounded to, is nobody else's; in
     * the gap it may be meant for the next one. Variables are not rounded. */
    const size_t into = near ? at - near->base : 0;
    const size_t rounded = !near ? 0 : near->name ? near->size : acu_sim_memory_rounded(near->size);
    if (!(near && into < rounded + acu_sim_memory_gap()) && describe_freed(at, text, size))
        return;
    const acu_sim_range *behind = acu_sim_range_next(at);
    const bool is_before =
        behind && into >= rounded && (!near || into - near->size > behind->base - at);
    near = is_before ? behind : near;
    if (!near || (is_before ? near->base - at : at - (near->base + near->size)) > NEAR) {
        describe_stray(address, text, size);
        return;
    }
    name_range(near, what, sizeof what);
    snprintf(text, size, "%zu bytes %s %s",
             (size_t)(is_before ? near->base - at : at - (near->base + near->size)),
             is_before ? "before" : "behind the end of", what);
}

static void reset(void) {
    memset(pasts, 0, sizeof pasts);
    next_past = 0;
}

const acu_sim_noun acu_sim_history_noun = {.reset = reset};
