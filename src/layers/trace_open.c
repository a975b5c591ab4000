/* Ranges on a thread's row of the trace for viewers. What is kept of a name is for a range that
 * begins again. */
#include "layers/trace_open.h"

#include "core/thread_name.h"
#include "layers/trace_file.h"

enum { PLACES = 24 };

struct open_range {
    uint64_t domain;
    const char *category; /* a constant */
    char name[ACU_NAME_SIZE];
};

static _Thread_local struct {
    unsigned depth; /* how many are open, also those that have no place */
    struct open_range ranges[PLACES];
} open_ranges;

/* Returns a number of the domain, by its name and its handle, which is NULL without a tool. */
static uint64_t number_of_domain(const acu_range_event *range) {
    uint64_t number = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *c = range->domain_name; *c; c++)
        number = (number ^ (unsigned char)*c) * 0x100000001b3u;
    return number ^ (uint64_t)(uintptr_t)range->domain;
}

const char *acu_trace_category(const acu_range_event *range) {
    return range->is_call ? "anycuda" : "range";
}

void acu_trace_open_forget(void) {
    open_ranges.depth = 0;
}

void acu_trace_open_push(const acu_range_event *range) {
    if (open_ranges.depth < PLACES) {
        struct open_range *r = &open_ranges.ranges[open_ranges.depth];
        r->domain = number_of_domain(range);
        r->category = acu_trace_category(range);
        acu_name_copy(r->name, range->name);
    }
    open_ranges.depth++;
}

static void put_range(char phase, const char *category, const char *name, uint64_t now,
                      long thread) {
    acu_json event;
    acu_json_begin(&event, phase, category, name, now, thread);
    acu_trace_append(&event);
}

/* Returns the place of the domain's last open range; -1 if it has none. */
static int last_of(uint64_t domain) {
    int at = (int)open_ranges.depth - 1;
    while (at >= 0 && open_ranges.ranges[at].domain != domain)
        at--;
    return at;
}

/* Ends the range at the place, with those that began in it, which begin again. */
static void end_at(int at, uint64_t now, long thread) {
    struct open_range *const r = open_ranges.ranges;
    const int last = (int)open_ranges.depth - 1;
    for (int i = last; i >= at; i--)
        put_range('E', r[i].category, NULL, now, thread);
    for (int i = at; i < last; i++) {
        r[i] = r[i + 1];
        put_range('B', r[i].category, r[i].name, now, thread);
    }
}

/* Of ranges that have no place, the last one is taken to be the domain's. */
void acu_trace_open_pop(const acu_range_event *range, uint64_t now, long thread) {
    if (open_ranges.depth > PLACES) {
        put_range('E', acu_trace_category(range), NULL, now, thread);
    } else {
        const int at = last_of(number_of_domain(range));
        if (at < 0)
            return;
        end_at(at, now, thread);
    }
    open_ranges.depth--;
}
