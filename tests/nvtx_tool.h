/*
 * A tool of NVTX, version 3, for tests: it attaches as tools do, and writes down what it is told, a
 * line for each call. The layouts are NVTX's, written from its documentation and not from our
 * sources.
 */
#ifndef NVTX_TOOL_H
#define NVTX_TOOL_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOOL_LINES = 200, TOOL_LINE = 200 };

static struct {
    char lines[TOOL_LINES][TOOL_LINE];
    int count;
    int attached;             /* how often a program called the tool's first function */
    uint32_t nvtx;            /* the version that the program reported */
    unsigned functions[7];    /* how many each group has */
    uint64_t ranges, domains; /* how many were begun */
} tool;

__attribute__((format(printf, 1, 2))) static void tool_writes(const char *format, ...) {
    va_list list;
    va_start(list, format);
    const int at = __atomic_fetch_add(&tool.count, 1, __ATOMIC_SEQ_CST);
    if (at < TOOL_LINES)
        vsnprintf(tool.lines[at], TOOL_LINE, format, list);
    va_end(list);
}

/* ---- what a program tells ---- */

typedef struct tool_event {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u;
        int64_t i;
        double d;
    } payload;
    int32_t message_type;
    union {
        const char *ascii;
        const void *other;
    } message;
} tool_event;

/* Writes "push solver: step (color 0x…, category 1, payload 2.5)". */
static void tool_writes_event(const char *what, const void *domain, const tool_event *e) {
    char more[100] = "", payload[50] = "";
    if (e->version != 3 || e->size != sizeof *e || e->message_type != 1) {
        tool_writes("%s with version %d, size %d, a message of type %d", what, e->version, e->size,
                    (int)e->message_type);
        return;
    }
    if (e->payload_type == 1)
        snprintf(payload, sizeof payload, ", u64 %llu", (unsigned long long)e->payload.u);
    else if (e->payload_type == 2)
        snprintf(payload, sizeof payload, ", i64 %lld", (long long)e->payload.i);
    else if (e->payload_type == 3)
        snprintf(payload, sizeof payload, ", f64 %g", e->payload.d);
    else if (e->payload_type != 0)
        snprintf(payload, sizeof payload, ", payload of type %d", (int)e->payload_type);
    if (e->color_type || e->category || *payload)
        snprintf(more, sizeof more, " (color %d 0x%08x, category %u%s)", (int)e->color_type,
                 (unsigned)e->color, (unsigned)e->category, payload);
    tool_writes("%s %s: %s%s", what, domain ? (const char *)domain : "-", e->message.ascii, more);
}

static void tool_mark(void *domain, const tool_event *e) {
    tool_writes_event("mark", domain, e);
}

static uint64_t tool_start(void *domain, const tool_event *e) {
    tool_writes_event("start", domain, e);
    return 100 + ++tool.ranges;
}

static void tool_end(void *domain, uint64_t id) {
    tool_writes("end %s: %d", domain ? (const char *)domain : "-", (int)id);
}

static int tool_push(void *domain, const tool_event *e) {
    tool_writes_event("push", domain, e);
    return 0;
}

static int tool_pop(void *domain) {
    tool_writes("pop %s", domain ? (const char *)domain : "-");
    return 0;
}

static void tool_name_category(void *domain, uint32_t category, const char *name) {
    tool_writes("category %s %u: %s", domain ? (const char *)domain : "-", (unsigned)category,
                name);
}

static void *tool_create_domain(const char *name) {
    tool_writes("domain %s", name);
    tool.domains++;
    return strdup(name);
}

static void tool_destroy_domain(void *domain) {
    tool_writes("destroy %s", (const char *)domain);
    free(domain);
}

static void tool_name_thread(uint32_t thread, const char *name) {
    tool_writes("thread %u: %s", (unsigned)thread, name);
}

static void tool_name_device(int device, const char *name) {
    tool_writes("device %d: %s", device, name);
}

static void tool_name_stream(void *stream, const char *name) {
    tool_writes("stream %p: %s", stream, name);
}

static void tool_name_event(void *event, const char *name) {
    tool_writes("event %p: %s", event, name);
}

/* ---- attaching ---- */

typedef void (*tool_fn)(void);

typedef struct tool_callbacks {
    size_t size;
    int (*get_functions)(int group, tool_fn ***table, unsigned *size);
} tool_callbacks;

typedef struct tool_versions {
    size_t size;
    uint32_t version, reserved;
    void (*set_tool_version)(uint32_t version);
} tool_versions;

/* Stores the tool's functions for domains and names; every other function of NVTX stays as it is.
 * Events are named by the driver's function, and streams and devices by the runtime's. */
static int tool_attaches(const void *(*get_table)(uint32_t number)) {
    static const struct {
        int group, at;
        tool_fn fn;
    } wanted[] = {{5, 1, (tool_fn)tool_mark},
                  {5, 2, (tool_fn)tool_start},
                  {5, 3, (tool_fn)tool_end},
                  {5, 4, (tool_fn)tool_push},
                  {5, 5, (tool_fn)tool_pop},
                  {5, 8, (tool_fn)tool_name_category},
                  {5, 12, (tool_fn)tool_create_domain},
                  {5, 14, (tool_fn)tool_destroy_domain},
                  {1, 14, (tool_fn)tool_name_thread},
                  {4, 1, (tool_fn)tool_name_device},
                  {4, 3, (tool_fn)tool_name_stream},
                  {2, 7, (tool_fn)tool_name_event}};
    const tool_callbacks *callbacks = get_table(1);
    const tool_versions *versions = get_table(3);
    tool_fn **functions = NULL;
    tool.attached++;
    if (!callbacks || callbacks->size < sizeof *callbacks || !versions ||
        versions->size < sizeof *versions || get_table(2) || get_table(99))
        return 0;
    tool.nvtx = versions->version;
    versions->set_tool_version(3);
    for (int group = 1; group < 7; group++) {
        if (!callbacks->get_functions(group, &functions, &tool.functions[group]) || functions[0] ||
            functions[tool.functions[group]])
            return 0;
        for (unsigned i = 1; i < tool.functions[group]; i++)
            if (!functions[i])
                return 0;
    }
    if (callbacks->get_functions(0, &functions, NULL) || callbacks->get_functions(7, NULL, NULL))
        return 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (!callbacks->get_functions(wanted[i].group, &functions, NULL))
            return 0;
        *functions[wanted[i].at] = wanted[i].fn;
    }
    return getenv("NVTX_TOOL_REFUSES") == NULL;
}

#endif
