/*
 * How long the device works on what a call gives it: an event is recorded on the stream before the
 * call, and one after it. The time between them begins when the stream has done all earlier work,
 * and ends when it is through with the call's.
 *
 * Nothing is recorded on a stream that is being captured. The events are the driver's, because
 * calls of the driver leave the runtime's last error alone; the thread ignores captures meanwhile.
 * No call waits: what is not done yet is asked for again at later calls.
 */
#include "layers/trace_device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/caches.h"
#include "core/values.h"
#include "layers/trace_file.h"
#include "loader/load.h"
#include "loader/platform.h"

/* ---- the driver ---- */

enum { RELAXED = 2, NOT_READY = 600, LEGACY = 1, PER_THREAD = 2, ELAPSED = 4 };

static struct driver {
    int (*create)(void **event, unsigned flags);
    int (*destroy)(void *event);
    int (*record)(void *event, void *stream);
    int (*query)(void *event);
    int (*elapsed)(float *ms, void *start, void *end);
    int (*is_capturing)(void *stream, int *status);
    int (*context_of)(void *stream, void **context);
    int (*current)(void **context);
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*exchange_mode)(int *mode);
    int (*device)(int *device);
} driver;

static atomic_bool
    usable; /* all functions of the driver are there, and nobody forbids to measure */

static void find_driver(void) {
    static const char *const names[] = {"cuEventCreate",
                                        "cuEventDestroy_v2",
                                        "cuEventRecord",
                                        "cuEventQuery",
                                        "cuEventElapsedTime_v2",
                                        "cuStreamIsCapturing",
                                        "cuStreamGetCtx",
                                        "cuCtxGetCurrent",
                                        "cuCtxPushCurrent_v2",
                                        "cuCtxPopCurrent_v2",
                                        "cuThreadExchangeStreamCaptureMode",
                                        "cuCtxGetDevice"};
    acu_fn found[sizeof names / sizeof *names];
    const char *wish = acu_platform_env("ANYCUDA_TRACE_DEVICE");
    _Static_assert(sizeof found == sizeof driver, "a name for each function");
    if ((wish && strcmp(wish, "0") == 0) || !acu_load_once(&acu_cuda))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        found[i] = acu_load_symbol(&acu_cuda, names[i]);
        if (!found[i] && i == ELAPSED) /* the name of drivers older than 12.8 */
            found[i] = acu_load_symbol(&acu_cuda, "cuEventElapsedTime");
        if (!found[i])
            return;
    }
    memcpy(&driver, found, sizeof driver);
    atomic_store(&usable, true);
}

static bool has_driver(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
    return atomic_load(&usable);
}

/* ---- what is kept ---- */

enum { CONTEXTS = 16, ROWS = 256, ITEMS = 512, NAME = 96, FIRST_ROW = 10000000 };

/* A context, whose clock is aligned to the host's: `base_ns` is the host's time of the event
 * `base`. */
typedef struct context {
    void *handle; /* NULL: this place is free */
    void *base;   /* an event; NULL: none yet */
    int64_t base_ns;
} context;

/* One stream, which is a row in the viewer. The handle of the per-thread stream is one of many. */
typedef struct row {
    context *context; /* NULL: this place is free */
    void *stream;
    long thread; /* of the per-thread stream; else 0 */
    int device;  /* -1: not known */
    int64_t end; /* of the last work that was appended */
    unsigned first,
        last; /* items that are not appended yet, by number; 0: none; `first` is atomic */
} row;

typedef struct item {
    context *context; /* whose events these are; NULL: it has none */
    void *start, *end;
    uint64_t recorded_ns; /* the host's time before the first event was recorded */
    uint64_t call_ns;     /* the host's time when the call began */
    uint64_t number;
    row *row;
    unsigned next;
    bool busy; /* measured, or not appended yet */
    char name[NAME];
} item;

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* of all of this; no call of CUDA is made under it */
static context contexts[CONTEXTS];
static row rows[ROWS];
static item items[ITEMS + 1]; /* by number, from 1 on */
static uint64_t measurements;

/* Forgets a context and all that is in it, because its events cannot be used any more. */
static void forget(context *c) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].context == c) {
            __atomic_store_n(&rows[i].first, 0, __ATOMIC_RELAXED);
            rows[i].context = NULL;
            rows[i].last = 0;
            rows[i].end = 0;
        }
    for (size_t i = 1; i <= ITEMS; i++)
        if (items[i].context == c) /* what a thread is measuring stays that thread's */
            items[i] = (item){.busy = items[i].busy && !items[i].row};
    *c = (context){.handle = NULL};
    pthread_mutex_unlock(&lock);
}

static context *find_context(void *handle) {
    context *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < CONTEXTS && (!found || !found->handle); i++)
        if (contexts[i].handle == handle || (!found && !contexts[i].handle))
            found = &contexts[i];
    if (found && !found->handle)
        found->handle = handle;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Returns the number of an item of the context, or one without events; 0 if there is none. */
static unsigned take_item(context *c) {
    unsigned found = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 1; i <= ITEMS; i++) {
        if (items[i].busy || (items[i].context && items[i].context != c))
            continue;
        if (!found || items[i].context == c)
            found = i;
        if (items[i].context == c)
            break;
    }
    if (found) {
        items[found].busy = true;
        items[found].context = c;
        items[found].number = ++measurements;
        items[found].row = NULL;
        items[found].next = 0;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void free_item(item *i) {
    pthread_mutex_lock(&lock);
    i->busy = false;
    pthread_mutex_unlock(&lock);
}

/* Returns the row of a stream; NULL if there are too many. `is_new`: nobody has named it yet. */
static row *find_row(context *c, void *stream, long thread, bool *is_new) {
    row *found = NULL;
    *is_new = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ROWS && !found; i++) {
        row *at = &rows[i];
        *is_new = !at->context;
        if (!at->context) { /* `first`, which is read without the lock, is 0 */
            at->context = c;
            at->stream = stream;
            at->thread = thread;
        }
        if (at->context == c && at->stream == stream && at->thread == thread)
            found = at;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* ---- the calls of CUDA that measure ---- */

/* What a thread changes while it makes calls of its own; leave() puts it back. */
typedef struct visit {
    int mode;
    bool pushed;
} visit;

static void enter(visit *v) {
    *v = (visit){.mode = RELAXED};
    (void)driver.exchange_mode(&v->mode);
}

static bool make_current(visit *v, void *handle) {
    void *now = NULL;
    if (driver.current(&now) || (now != handle && driver.push(handle)))
        return false;
    v->pushed = v->pushed || now != handle;
    return true;
}

static void leave(visit *v) {
    void *popped;
    if (v->pushed)
        (void)driver.pop(&popped);
    (void)driver.exchange_mode(&v->mode);
}

/* Returns the context of a stream that is not being captured; NULL where nothing may be recorded.
 */
static void *context_of(void *stream) {
    int status = 1;
    void *handle = NULL;
    if (driver.is_capturing(stream, &status) || status)
        return NULL;
    if ((uintptr_t)stream <= PER_THREAD ? driver.current(&handle)
                                        : driver.context_of(stream, &handle))
        return NULL;
    return handle;
}

static bool has_events(item *i) {
    return (i->start || !driver.create(&i->start, 0)) && (i->end || !driver.create(&i->end, 0));
}

/* ---- which calls ---- */

static bool is_stream(const acu_type *type) {
    return type && type->kind == ACU_KIND_HANDLE &&
           (strcmp(type->name, "cudaStream_t") == 0 || strcmp(type->name, "CUstream") == 0);
}

/* Stores the stream in a struct that a pointer leads to (cudaLaunchConfig_t.stream). */
static bool find_in_record(const acu_type *type, const void *record, void **stream) {
    if (type->kind != ACU_KIND_RECORD || !record || !acu_platform_is_readable(record, type->size))
        return false;
    for (unsigned i = 0; i < type->count; i++)
        if (is_stream(type->fields[i].type) && type->fields[i].count == 1) {
            *stream = acu_value_read_pointer((const char *)record + type->fields[i].offset);
            return true;
        }
    return false;
}

/* Whether the call is the variant of CUDA_API_PER_THREAD_DEFAULT_STREAM. */
static bool is_per_thread(const acu_function *function) {
    for (unsigned i = 0; i < function->era_count; i++)
        if (function->eras[i].symbol && strstr(function->eras[i].symbol, "_pt"))
            return true;
    return false;
}

/* Returns whether the call gives work to a stream, and stores that: copies, fills and launches do,
 * and what allocates and frees is no work. */
static bool gives_work(const acu_call *call, void **stream) {
    const acu_function *f = call->function;
    bool found = false;
    if ((!strstr(f->name, "Async") && !strstr(f->name, "Launch")) || strstr(f->name, "lloc") ||
        strstr(f->name, "Free"))
        return false;
    for (unsigned i = 0; i < f->param_count && !found; i++) {
        const acu_param *param = &f->params[i];
        const void *argument = acu_argument_at(f, i, call->args);
        if (param->depth == 0 && is_stream(param->type)) {
            *stream = acu_value_read_pointer(argument);
            found = true;
        } else if (param->depth == 1 && param->type) {
            found = find_in_record(param->type, acu_value_read_pointer(argument), stream);
        }
    }
    if (found && (uintptr_t)*stream < LEGACY + 1 && is_per_thread(f) && !*stream)
        *stream = (void *)(uintptr_t)PER_THREAD;
    return found;
}

/* Returns whether the call destroys a context, and with it our events. */
static bool ends_a_context(const char *name) {
    return strncmp(name, "cudaDeviceReset", 15) == 0 || strncmp(name, "cuCtxDestroy", 12) == 0 ||
           strncmp(name, "cuDevicePrimaryCtxRe", 20) == 0; /* Release, Reset */
}

/* ---- begin and end ---- */

static unsigned start(void *stream) {
    visit v;
    unsigned taken = 0;
    enter(&v);
    void *handle = context_of(stream);
    context *c = handle && make_current(&v, handle) ? find_context(handle) : NULL;
    taken = c ? take_item(c) : 0;
    if (taken) {
        item *i = &items[taken];
        i->recorded_ns = acu_platform_now_ns();
        if (!has_events(i) || driver.record(i->start, stream)) {
            forget(c);
            free_item(i);
            taken = 0;
        }
    }
    leave(&v);
    return taken;
}

unsigned acu_measure_begin(const acu_call *call) {
    void *stream;
    const acu_library *library = call->function->library;
    if (!call->fn || (library != &acu_cudart && library != &acu_cuda))
        return 0;
    if (ends_a_context(call->function->name))
        acu_measure_give_up();
    return gives_work(call, &stream) && has_driver() ? start(stream) : 0;
}

/* Stores the name of the kernel that the call has launched, else that of the call. */
static void put_name(const acu_call *call, char name[NAME]) {
    const acu_function *f = call->function;
    const char *kernel = NULL;
    const bool by_runtime = f->library == &acu_cudart;
    acu_fn get = NULL;
    if (strstr(f->name, "LaunchKernel") || strstr(f->name, "LaunchCooperativeKernel"))
        get = acu_load_symbol(f->library, by_runtime ? "cudaFuncGetName" : "cuFuncGetName");
    for (unsigned i = 0; get && i < f->param_count; i++) {
        const char *param = acu_part_name(f->name, i);
        if (strcmp(param, "func") != 0 && strcmp(param, "f") != 0)
            continue;
        const void *function = acu_value_read_pointer(acu_argument_at(f, i, call->args));
        if (((int (*)(const char **, const void *))get)(&kernel, function))
            kernel = NULL;
    }
    snprintf(name, NAME, "%s", kernel && *kernel ? kernel : f->name);
}

/* What programs call streams; under the lock. */
static struct {
    const void *stream; /* NULL: the place is free */
    char name[NAME];
} names[ROWS];

/* Copies the name of a stream, "" if it has none. */
static void get_stream_name(const void *stream, char name[NAME]) {
    *name = '\0';
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ROWS && stream; i++)
        if (names[i].stream == stream)
            snprintf(name, NAME, "%s", names[i].name);
    pthread_mutex_unlock(&lock);
}

/* A name that finds no room is left out. */
static void set_stream_name(const void *stream, const char *name) {
    size_t at = ROWS;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ROWS; i++)
        if (names[i].stream == stream || (!names[i].stream && at == ROWS))
            at = i;
    if (at < ROWS) {
        names[at].stream = name ? stream : NULL;
        snprintf(names[at].name, NAME, "%s", name ? name : "");
    }
    pthread_mutex_unlock(&lock);
}

static void append_name(size_t number) {
    char name[2 * NAME], stream[NAME];
    pthread_mutex_lock(&lock);
    const row at = rows[number];
    pthread_mutex_unlock(&lock);
    get_stream_name(at.stream, stream);
    if (*stream)
        snprintf(name, sizeof name, "device %d, %s", at.device, stream);
    else if ((uintptr_t)at.stream <= LEGACY)
        snprintf(name, sizeof name, "device %d, the legacy default stream", at.device);
    else if ((uintptr_t)at.stream == PER_THREAD)
        snprintf(name, sizeof name, "device %d, the default stream of thread %ld", at.device,
                 at.thread);
    else
        snprintf(name, sizeof name, "device %d, stream %p", at.device, at.stream);
    if (at.context)
        acu_trace_name_row(FIRST_ROW + (long)number, name);
}

static void name_row(row *at, bool is_new) {
    int device = -1;
    if (!is_new)
        return;
    (void)driver.device(&device);
    pthread_mutex_lock(&lock);
    at->device = device;
    pthread_mutex_unlock(&lock);
    append_name((size_t)(at - rows));
}

void acu_measure_name(const void *stream, const char *name) {
    bool is[ROWS];
    set_stream_name(stream, name);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ROWS; i++)
        is[i] = name && rows[i].context && rows[i].stream == stream;
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < ROWS; i++)
        if (is[i])
            append_name(i);
}

/* Puts the item behind the others of its row. */
static void put_behind(row *at, item *i) {
    const unsigned number = (unsigned)(i - items);
    pthread_mutex_lock(&lock);
    i->row = at;
    if (at->last)
        items[at->last].next = number;
    else
        __atomic_store_n(&at->first, number, __ATOMIC_RELAXED);
    at->last = number;
    pthread_mutex_unlock(&lock);
}

/* Records the end; returns the row of the item, NULL where it is not measured after all. */
static row *finish(const acu_call *call, item *i, void *stream, long thread) {
    visit v;
    bool is_new = false;
    row *at = NULL;
    enter(&v);
    context *c = i->context; /* NULL where another thread has given up everything */
    void *handle = c ? context_of(stream) : NULL;
    if (handle && handle == c->handle && make_current(&v, handle) && !driver.record(i->end, stream))
        at = find_row(c, stream, (uintptr_t)stream == PER_THREAD ? thread : 0, &is_new);
    if (at)
        name_row(at, is_new);
    leave(&v);
    if (at) {
        put_name(call, i->name);
        i->call_ns = call->start_ns;
        put_behind(at, i);
    }
    return at;
}

/* ---- what is done ---- */

/* Computes the host's time of the item's start, and keeps the clocks aligned: the device cannot
 * have begun before the host recorded the event. A far base would make the times coarse, which are
 * floats. */
static bool find_start(item *i, int64_t *at) {
    enum { FAR_MS = 8000 };
    context *c = i->context;
    float ms = 0;
    if (c->base && driver.elapsed(&ms, c->base, i->start))
        return false;
    *at = c->base ? c->base_ns + (int64_t)((double)ms * 1e6) : (int64_t)i->recorded_ns;
    if (*at < (int64_t)i->recorded_ns) {
        c->base_ns += (int64_t)i->recorded_ns - *at;
        *at = (int64_t)i->recorded_ns;
    }
    if (!c->base || ms > FAR_MS || ms < -FAR_MS) {
        void *old = c->base;
        c->base = i->start;
        c->base_ns = *at;
        i->start = old; /* is made anew if it is NULL */
    }
    return true;
}

static void append_item(const item *i, int64_t start, int64_t end) {
    const long thread = FIRST_ROW + (long)(i->row - rows);
    acu_json event;
    acu_json_begin(&event, 'X', "device", i->name, (uint64_t)start, thread);
    acu_json_put_time(&event, "dur", (uint64_t)(end - start));
    acu_trace_append(&event);
    const int64_t arrow = start > (int64_t)i->call_ns ? start : (int64_t)i->call_ns;
    if (arrow > end)
        return; /* viewers want an arrow from the call to lead forward */
    acu_json_begin(&event, 'f', "device", "work", (uint64_t)arrow, thread);
    acu_json_put_number(&event, "id", i->number);
    acu_json_put_text(&event, "bp", "e");
    acu_trace_append(&event);
}

/* Appends the item if it is done; returns the driver's answer. */
static int resolve(item *i) {
    visit v;
    float ms = 0;
    int64_t at = 0;
    enter(&v);
    int code = make_current(&v, i->context->handle) ? driver.query(i->end) : 1;
    if (!code)
        code = driver.elapsed(&ms, i->start, i->end);
    if (!code && !find_start(i, &at))
        code = 1;
    leave(&v);
    if (!code) {
        const int64_t end = at + (int64_t)((double)ms * 1e6);
        const int64_t start = at < i->row->end ? i->row->end : at; /* rounded times may overlap */
        i->row->end = end < start ? start : end;
        append_item(i, start, i->row->end);
    }
    return code;
}

/* Appends what is done of a row. */
static void collect_row(row *at) {
    while (__atomic_load_n(&at->first, __ATOMIC_RELAXED)) {
        pthread_mutex_lock(&lock);
        item *i = at->context && at->first ? &items[at->first] : NULL;
        pthread_mutex_unlock(&lock);
        const int code = i ? resolve(i) : NOT_READY;
        if (code == NOT_READY)
            return;
        if (code) {
            forget(i->context);
            return;
        }
        pthread_mutex_lock(&lock);
        __atomic_store_n(&at->first, i->next, __ATOMIC_RELAXED);
        at->last = at->first ? at->last : 0;
        i->busy = false;
        pthread_mutex_unlock(&lock);
    }
}

/* Appends what is done: of one row, or of all where that is NULL. One thread does so at a time. */
static void collect(row *only) {
    static atomic_flag collecting = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&collecting))
        return;
    for (row *at = only ? only : rows; at < (only ? only + 1 : rows + ROWS); at++)
        collect_row(at);
    atomic_flag_clear(&collecting);
}

/* Returns whether the call may have waited for work, so that it is worth to look at all rows. */
static bool may_have_waited(const char *name) {
    return strstr(name, "Synchronize") || strstr(name, "Query") || strstr(name, "Destroy") ||
           (strstr(name, "Memcpy") && !strstr(name, "Async"));
}

static acu_keeper keeper = {.give_back = acu_measure_give_up};

static void add_keeper(void) {
    acu_caches_add(&keeper);
}

void acu_measure_end(const acu_call *call, bool succeeded, long thread) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    row *mine = NULL;
    if (call->measured) {
        item *i = &items[call->measured];
        void *stream = NULL;
        const uint64_t number = i->number;
        pthread_once(&once, add_keeper);
        if (succeeded && gives_work(call, &stream))
            mine = finish(call, i, stream, thread);
        if (mine) {
            acu_json event;
            acu_json_begin(&event, 's', "device", "work", call->start_ns, thread);
            acu_json_put_number(&event, "id", number);
            acu_trace_append(&event);
        } else {
            free_item(i);
        }
    }
    if (atomic_load(&usable) && (mine || may_have_waited(call->function->name)))
        collect(may_have_waited(call->function->name) ? NULL : mine);
}

void acu_measure_give_up(void) {
    if (!atomic_load(&usable))
        return;
    collect(NULL);
    for (size_t n = 0; n < CONTEXTS; n++) {
        visit v;
        context *c = &contexts[n];
        if (!c->handle)
            continue;
        enter(&v);
        if (make_current(&v, c->handle)) {
            for (size_t i = 1; i <= ITEMS; i++) {
                if (items[i].context == c && items[i].start)
                    (void)driver.destroy(items[i].start);
                if (items[i].context == c && items[i].end)
                    (void)driver.destroy(items[i].end);
            }
            if (c->base)
                (void)driver.destroy(c->base);
        }
        forget(c);
        leave(&v);
    }
}
