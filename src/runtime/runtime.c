/* The runtimes of this program: those that are known, and those that were registered. */
#include "runtime/runtime.h"

#include "core/fail.h"
#include "runtime/backend.h"
#include "runtime/place.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN = ACU_RUNTIME_WEBGPU + 1, MOST = 64 };

/* The tables, by number; atomic, and once set they stay. */
static const acu_backend *tables[MOST] = {[ACU_RUNTIME_CPU] = &acu_cpu_backend};
static int count = KNOWN;                                /* atomic; grows under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of registering */

int acu_runtime_count(void) {
    return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}

const acu_backend *acu_runtime_table(int runtime) {
    if (runtime < 0 || runtime >= acu_runtime_count())
        return NULL;
    return __atomic_load_n(&tables[runtime], __ATOMIC_ACQUIRE);
}

void acu_runtime_add(int runtime, const acu_backend *backend) {
    if (!acu_runtime_table(runtime))
        __atomic_store_n(&tables[runtime], backend, __ATOMIC_RELEASE);
}

const char *acu_runtime_name(int runtime) {
    static const char *const known[KNOWN] = {"cpu", "cuda", "webgpu"};
    if (runtime >= 0 && runtime < KNOWN)
        return known[runtime];
    const acu_backend *table = acu_runtime_table(runtime);
    return table ? table->name : "";
}

/* Returns the number of a runtime with this name of `length` characters; -1 if there is none. */
static int find(const char *name, size_t length) {
    for (int i = 0; i < acu_runtime_count(); i++) {
        const char *other = acu_runtime_name(i);
        if (strlen(other) == length && memcmp(other, name, length) == 0)
            return i;
    }
    return -1;
}

acu_result acu_runtime_find(const char *name, int *runtime) {
    if (!name || !runtime)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'%s' is NULL",
                        name ? "runtime" : "name");
    int found = find(name, strlen(name));
    if (found < 0) {
        acu_fail_hint("acu_runtime_name() tells the names; acu_runtime_register() and "
                      "acu_runtime_open() add one");
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "no runtime has the name '%.40s'", name);
    }
    *runtime = found;
    return ACU_SUCCESS;
}

acu_result acu_runtime_get_device_count(int runtime, int *devices) {
    if (!devices)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'count' is NULL");
    *devices = 0;
    return acu_place_count_devices(__func__, runtime, devices);
}

/* Finds the first device of a runtime that can be opened. */
static bool find_usable(int runtime, acu_place *place) {
    int devices = 0;
    if (!acu_runtime_table(runtime) || acu_place_count_devices(__func__, runtime, &devices))
        return false;
    for (int device = 0; device < devices; device++) {
        acu_place_device *opened;
        *place = (acu_place){runtime, device};
        if (acu_place_open(__func__, *place, &opened) == ACU_SUCCESS)
            return true;
    }
    return false;
}

acu_place acu_runtime_best(void) {
    acu_place place;
    acu_saved_record before;
    acu_record_save(&before);
    bool found = false;
    for (int runtime = ACU_RUNTIME_CPU + 1; !found && runtime < acu_runtime_count(); runtime++)
        found = find_usable(runtime, &place);
    acu_record_restore(&before);
    return found ? place : acu_place_cpu();
}

/* ---- registering ---- */

typedef struct table_entry {
    size_t offset; /* of a function in the table */
    const char *name;
} table_entry;

#define ENTRY(function) {offsetof(acu_backend, function), #function}

static const table_entry needed[] = {ENTRY(count_devices),
                                     ENTRY(device_open),
                                     ENTRY(device_close),
                                     ENTRY(device_get_info),
                                     ENTRY(queue_create),
                                     ENTRY(queue_destroy),
                                     ENTRY(queue_synchronize),
                                     ENTRY(memory_allocate),
                                     ENTRY(memory_free),
                                     ENTRY(write),
                                     ENTRY(read),
                                     ENTRY(copy)};

/* Functions of which a table has all or none. */
typedef struct table_group {
    const char *what;
    table_entry entries[6]; /* ends with a name that is NULL */
} table_group;

static const table_group groups[] = {
    {"marks",
     {ENTRY(mark_create), ENTRY(mark_destroy), ENTRY(mark_query), ENTRY(mark_synchronize)}},
    {"programs", {ENTRY(program_create), ENTRY(program_destroy), ENTRY(run)}},
    {"captures",
     {ENTRY(capture_begin), ENTRY(capture_end), ENTRY(capture_cancel), ENTRY(replay_run),
      ENTRY(replay_destroy)}},
    {"wrapped memory", {ENTRY(memory_wrap), ENTRY(memory_unwrap)}}};

static bool has(const acu_backend *table, const table_entry *entry) {
    void (*function)(void);
    memcpy(&function, (const char *)table + entry->offset, sizeof function);
    return function != NULL;
}

#define FAIL(code, ...) acu_fail(call, "", (code), __VA_ARGS__)

static acu_result check_group(const char *call, const acu_backend *table,
                              const table_group *group) {
    const table_entry *missing = NULL, *there = NULL;
    for (const table_entry *e = group->entries; e->name; e++)
        *(has(table, e) ? &there : &missing) = e;
    if (!missing || !there)
        return ACU_SUCCESS;
    return FAIL(ACU_ERROR_ARGUMENT,
                "the table of '%.40s' has %s, but not %s; of the functions for %s it must have all "
                "or none",
                table->name, there->name, missing->name, group->what);
}

static bool is_name(const char *name) {
    return name && *name && strlen(name) < 32 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

/* Checks a table whose missing entries are NULL. */
static acu_result check(const char *call, const acu_backend *table) {
    if (!is_name(table->name))
        return FAIL(ACU_ERROR_ARGUMENT,
                    "a runtime's name has 1 to 31 lower case letters, digits, '_' and '-'");
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!has(table, &needed[i]))
            return FAIL(ACU_ERROR_ARGUMENT, "the table of '%s' has no %s, which is needed",
                        table->name, needed[i].name);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        ACU_TRY(check_group(call, table, &groups[i]));
    return ACU_SUCCESS;
}

/* Gives a checked table a number, which is returned: -1 where the name is taken, -2 where there are
 * too many. */
static int add(const acu_backend *table) {
    enum { TAKEN = -1, FULL = -2 };
    int number = TAKEN;
    pthread_mutex_lock(&lock);
    if (find(table->name, strlen(table->name)) < 0)
        number = count < MOST ? count : FULL;
    if (number >= 0) {
        __atomic_store_n(&tables[number], table, __ATOMIC_RELEASE);
        __atomic_store_n(&count, number + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return number;
}

static acu_result register_table(const char *call, const acu_backend *backend, int *runtime) {
    /* `size` and `version` are where they are in all versions. */
    if (backend->size < offsetof(acu_backend, name))
        return FAIL(ACU_ERROR_ARGUMENT, "the table says that its size is %zu, which is no table's",
                    backend->size);
    if (backend->version != ACU_BACKEND_VERSION)
        return FAIL(ACU_NOT_SUPPORTED,
                    "the table is of version %u of the interface, and this library's is %d",
                    backend->version, ACU_BACKEND_VERSION);
    acu_backend *table = calloc(1, sizeof *table);
    if (!table)
        return FAIL(ACU_ERROR_HOST_MEMORY, "the host has no memory for a runtime");
    memcpy(table, backend, backend->size < sizeof *table ? backend->size : sizeof *table);
    acu_result code = check(call, table);
    int number = code ? 0 : add(table);
    if (number == -1)
        code = FAIL(ACU_ERROR_ARGUMENT, "another runtime has the name '%s'", table->name);
    else if (number < 0)
        code = FAIL(ACU_ERROR_LIMIT, "there are %d runtimes, which is the most", MOST);
    if (code)
        free(table);
    else
        *runtime = number;
    return code;
}

acu_result acu_runtime_register(const acu_backend *backend, int *runtime) {
    if (!backend || !runtime)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'%s' is NULL",
                        backend ? "runtime" : "backend");
    return register_table(__func__, backend, runtime);
}

static acu_result register_library(const char *call, const char *path, void *library,
                                   int *runtime) {
    static const acu_backend_host host = {sizeof host, ACU_BACKEND_VERSION, acu_backend_fail};
    void *symbol = dlsym(library, ACU_BACKEND_ENTRY);
    acu_backend_entry_function *entry;
    memcpy(&entry, &symbol, sizeof entry);
    if (!entry)
        return FAIL(ACU_ERROR_ARGUMENT, "'%s' has no function %s()", path, ACU_BACKEND_ENTRY);
    const acu_backend *backend = entry(&host);
    if (!backend)
        return FAIL(ACU_NOT_SUPPORTED, "'%s' has no table for version %d of the interface", path,
                    ACU_BACKEND_VERSION);
    return register_table(call, backend, runtime);
}

acu_result acu_runtime_open(const char *path, int *runtime) {
    if (!path || !runtime)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'%s' is NULL",
                        path ? "runtime" : "path");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'%s' cannot be opened: %s", path,
                        dlerror());
    acu_result code = register_library(__func__, path, library, runtime);
    if (code)
        (void)dlclose(library);
    return code;
}

/* ---- inside of a program's function ---- */

static _Thread_local const acu_inside *innermost;

void acu_inside_begin(acu_inside *inside, const acu_backend_queue *queue) {
    *inside = (acu_inside){queue, innermost};
    innermost = inside;
}

void acu_inside_end(const acu_inside *inside) {
    innermost = inside->outer;
}

bool acu_inside_is(const acu_backend_queue *queue) {
    const acu_inside *i = innermost;
    while (i && i->queue != queue)
        i = i->outer;
    return i != NULL;
}
