/*
 * NVTX's protocol, version 3, from the side of a program: how a tool such as Nsight Systems
 * attaches, and how it is told of ranges.
 *
 * A tool is a library whose path is in NVTX_INJECTION64_PATH, or one that the program was linked
 * with. Its function InitializeInjectionNvtx2() is given a function that returns tables by number.
 * One of them has a function that returns, for each group of NVTX's functions, an array of
 * addresses, and there the tool stores those of its own functions that it wants to be called. Tools
 * may store and take back functions at any later time, so each call looks again.
 */
#include "core/nvtx.h"

#include <string.h>

#include "loader/platform.h"

/* ---- what a tool is told, in NVTX's layout ---- */

enum { VERSION = 3, COLOR_ARGB = 1, TEXT = 1 };

typedef struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_kind;
    uint32_t color;
    int32_t payload_kind, unused;
    uint64_t payload;
    int32_t text_kind;
    const char *text;
} attributes;
_Static_assert(sizeof(attributes) == 48 && offsetof(attributes, payload) == 24 &&
                   offsetof(attributes, text) == 40,
               "NVTX's layout of the attributes of an event");

static attributes attributes_of(const acu_range_event *event) {
    return (attributes){.version = VERSION,
                        .size = sizeof(attributes),
                        .category = event->category,
                        .color_kind = event->color ? COLOR_ARGB : 0,
                        .color = event->color,
                        .payload_kind = event->payload_kind,
                        .payload = event->payload,
                        .text_kind = TEXT,
                        .text = event->name};
}

/* ---- the tables that a tool gets ---- */

/* The groups by their numbers, each with as many functions as NVTX has, the first of which is none:
 * those of version 1, of CUDA's driver, of OpenCL, of CUDA's runtime, of domains, and of locks. */
enum { PLAIN = 1, DRIVER = 2, RUNTIME = 4, DOMAINS = 5, GROUPS = 7, FUNCTIONS = 16 };
static const unsigned char sizes[GROUPS] = {0, 16, 9, 15, 7, FUNCTIONS, 7};

static acu_fn functions[GROUPS][FUNCTIONS];   /* each atomic: what the tool stores */
static acu_fn *places[GROUPS][FUNCTIONS + 1]; /* of each function; NULL after the last one */

static int get_group(uint32_t group, acu_fn ***table, unsigned *size) {
    if (group >= GROUPS || !sizes[group])
        return 0;
    if (table)
        *table = places[group];
    if (size)
        *size = sizes[group];
    return 1;
}

static void ignore_version(uint32_t version) {
    (void)version;
}

static const void *get_table(uint32_t number) {
    static const struct {
        size_t size;
        int (*get_group)(uint32_t, acu_fn ***, unsigned *);
    } callbacks = {sizeof callbacks, get_group};
    static const struct {
        size_t size;
        uint32_t version, unused;
        void (*set_tools_version)(uint32_t);
    } versions = {sizeof versions, VERSION, 0, ignore_version};
    return number == 1 ? (const void *)&callbacks : number == 3 ? (const void *)&versions : NULL;
}

/* ---- attaching ---- */

typedef int initialize(const void *(*get_table)(uint32_t));

/* What a tool defines that a program is linked with; NVTX's own headers, in the same program,
 * define it, too, as NULL. */
extern initialize *InitializeInjectionNvtx2_fnptr __attribute__((weak));

static initialize *find_tool(void) {
    const char *path = acu_platform_env("NVTX_INJECTION64_PATH");
    if (!path)
        return &InitializeInjectionNvtx2_fnptr ? InitializeInjectionNvtx2_fnptr : NULL;
    void *library = acu_platform_open(path, false, NULL, 0);
    return library ? (initialize *)acu_platform_symbol(library, "InitializeInjectionNvtx2") : NULL;
}

bool acu_nvtx_attach(void) {
    initialize *tool = find_tool();
    if (!tool)
        return false;
    for (unsigned group = 0; group < GROUPS; group++)
        for (unsigned i = 1; i < sizes[group]; i++)
            places[group][i] = &functions[group][i];
    if (tool(get_table))
        return true;
    memset(functions, 0, sizeof functions); /* the tool cannot work here */
    return false;
}

/* ---- telling ---- */

/* The functions of domains, by their numbers. */
enum { MARK = 1, START, END, PUSH, POP, NAME_CATEGORY = 8, CREATE = 12, DESTROY = 14 };

typedef void tell(void *domain, const attributes *event);
typedef uint64_t tell_start(void *domain, const attributes *event);
typedef void tell_end(void *domain, uint64_t id);
typedef int tell_pop(void *domain);
typedef int tell_push(void *domain, const attributes *event);
typedef void name_category(void *domain, uint32_t category, const char *name);
typedef void *create_domain(const char *name);
typedef void destroy_domain(void *domain);

static acu_fn wanted_of(unsigned group, unsigned function) {
    return __atomic_load_n(&functions[group][function], __ATOMIC_ACQUIRE);
}

static acu_fn wanted(unsigned function) {
    return wanted_of(DOMAINS, function);
}

uint64_t acu_nvtx_tell(const acu_range_event *event) {
    static const unsigned char by_step[] = {PUSH, POP, START, END, MARK};
    const acu_fn fn = wanted(by_step[event->step]);
    const attributes with = attributes_of(event);
    if (!fn)
        return 0;
    switch (event->step) {
    case ACU_RANGE_PUSH:
        (void)((tell_push *)fn)(event->domain, &with);
        break;
    case ACU_RANGE_POP:
        (void)((tell_pop *)fn)(event->domain);
        break;
    case ACU_RANGE_START:
        return ((tell_start *)fn)(event->domain, &with);
    case ACU_RANGE_END:
        ((tell_end *)fn)(event->domain, event->id);
        break;
    case ACU_RANGE_MARK:
        ((tell *)fn)(event->domain, &with);
        break;
    }
    return 0;
}

void *acu_nvtx_create_domain(const char *name) {
    const acu_fn fn = wanted(CREATE);
    return fn ? ((create_domain *)fn)(name) : NULL;
}

void acu_nvtx_destroy_domain(void *domain) {
    const acu_fn fn = wanted(DESTROY);
    if (fn && domain)
        ((destroy_domain *)fn)(domain);
}

void acu_nvtx_name_category(void *domain, uint32_t category, const char *name) {
    const acu_fn fn = wanted(NAME_CATEGORY);
    if (fn)
        ((name_category *)fn)(domain, category, name);
}

/* ---- names of things ---- */

typedef void name_number(uint32_t number, const char *name); /* of a thread, or of a device */
typedef void name_handle(void *handle, const char *name);

/* What CUDA's runtime and driver share is named once: a tool that does not want to be told by the
 * runtime's function is told by the driver's. */
void acu_nvtx_name(acu_named kind, uint64_t what, const char *name) {
    static const struct {
        unsigned char group, function, other;
    } by_kind[] = {[ACU_NAMED_THREAD] = {PLAIN, 14, 0},
                   [ACU_NAMED_DEVICE] = {RUNTIME, 1, 1},
                   [ACU_NAMED_STREAM] = {RUNTIME, 3, 5},
                   [ACU_NAMED_EVENT] = {RUNTIME, 5, 7}};
    acu_fn fn = wanted_of(by_kind[kind].group, by_kind[kind].function);
    if (!fn)
        fn = wanted_of(DRIVER, by_kind[kind].other);
    if (fn && (kind == ACU_NAMED_THREAD || kind == ACU_NAMED_DEVICE))
        ((name_number *)fn)((uint32_t)what, name);
    else if (fn)
        ((name_handle *)fn)((void *)(uintptr_t)what, name);
}
