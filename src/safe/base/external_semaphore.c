/* Semaphores of other APIs: how they are imported and released, signaled and waited for. */
#include "safe/base/external_semaphore.h"
#include "safe/base/descriptor.h"
#include "safe/base/device.h"
#include "safe/base/stream.h"

#include <stdlib.h>
#include <string.h>

#define OUTCOME(semaphore, code) acu_outcome(__func__, (semaphore), (code))

/* ---- uses on streams ---- */

static bool is_first(const acu_external_semaphore *s, const acu_timeline *timeline) {
    return __atomic_load_n(&s->first.timeline, __ATOMIC_ACQUIRE) == timeline;
}

/* Under the lock. */
static acu_semaphore_use *use_on(const acu_external_semaphore *s, const acu_timeline *timeline) {
    for (size_t i = 0; i < s->use_count; i++)
        if (s->more[i].timeline == timeline)
            return &s->more[i];
    return NULL;
}

static bool is_over(const acu_semaphore_use *use) {
    return use->pending == 0 && acu_timeline_is_over(use->timeline, use->number);
}

/* Forgets the uses on other streams that are over; under the lock. Returns CUDA's code where a
 * timeline's end fails. */
static int forget(acu_external_semaphore *s) {
    size_t kept = 0;
    int first = 0;
    for (size_t i = 0; i < s->use_count; i++) {
        if (!is_over(&s->more[i])) {
            s->more[kept++] = s->more[i];
            continue;
        }
        const int code = acu_timeline_release(s->more[i].timeline);
        first = first ? first : code;
    }
    s->use_count = kept;
    return first;
}

/* Makes room for the use on one more stream; returns 0 or a recorded code. */
static int make_room(acu_external_semaphore *s) {
    if (s->use_count == s->use_room && forget(s))
        acu_record_release_error();
    if (s->use_count < s->use_room)
        return 0;
    const size_t room = s->use_room ? 2 * s->use_room : 2;
    acu_semaphore_use *more = realloc(s->more, room * sizeof *more);
    if (!more)
        return acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for a semaphore's use");
    s->more = more;
    s->use_room = room;
    return 0;
}

static int begin_use_locked(acu_external_semaphore *s, acu_timeline *timeline) {
    if (is_first(s, NULL))
        __atomic_store_n(&s->first.timeline, acu_timeline_retain(timeline), __ATOMIC_RELEASE);
    if (is_first(s, timeline))
        return 0;
    acu_semaphore_use *use = use_on(s, timeline);
    const int code = use ? 0 : make_room(s);
    if (code)
        return code;
    if (!use) {
        use = &s->more[s->use_count++];
        *use = (acu_semaphore_use){.timeline = acu_timeline_retain(timeline)};
    }
    use->pending++;
    return 0;
}

/* Begins a use on the stream, which end_use() follows, whether CUDA refuses the work or not. */
static int begin_use(acu_external_semaphore *s, acu_timeline *timeline) {
    if (ACU_LIKELY(is_first(s, timeline)))
        return 0;
    pthread_mutex_lock(&s->lock);
    const int code = begin_use_locked(s, timeline);
    pthread_mutex_unlock(&s->lock);
    return code;
}

/* Several threads may use one stream, and the greatest number counts. */
static void raise_number(acu_semaphore_use *use, uint64_t number) {
    uint64_t before = __atomic_load_n(&use->number, __ATOMIC_RELAXED);
    while (before < number && !__atomic_compare_exchange_n(&use->number, &before, number, true,
                                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void end_use(acu_external_semaphore *s, acu_timeline *timeline, uint64_t number) {
    if (ACU_LIKELY(is_first(s, timeline))) {
        raise_number(&s->first, number);
        return;
    }
    pthread_mutex_lock(&s->lock);
    acu_semaphore_use *use = use_on(s, timeline);
    use->pending--;
    raise_number(use, number);
    pthread_mutex_unlock(&s->lock);
}

/* ---- life ---- */

/* Forgets all uses that are over; returns whether none is left. The caller is the last owner. */
static bool forget_all(acu_external_semaphore *s, int *code) {
    *code = forget(s);
    if (s->first.timeline && is_over(&s->first)) {
        const int first = acu_timeline_release(s->first.timeline);
        s->first.timeline = NULL;
        *code = *code ? *code : first;
    }
    return s->use_count == 0 && !s->first.timeline;
}

static int destroy_semaphore(acu_object *object) {
    acu_external_semaphore *s = (acu_external_semaphore *)object;
    int timelines = 0, code = 0;
    if (!acu_is_unloading() && !forget_all(s, &timelines))
        return ACU_LATER;
    if (s->owned && !acu_is_unloading())
        ACU_IGNORING_CAPTURES(code, cudaDestroyExternalSemaphore(s->raw));
    pthread_mutex_destroy(&s->lock);
    free(s->more);
    code = acu_forgive_unloading(code);
    return code ? code : timelines;
}

static const char *type_name(acu_external_semaphore_type type) {
    static const char *const names[] = {
        "",
        "opaque descriptor",
        "opaque Win32 handle",
        "opaque Win32 KMT handle",
        "D3D12 fence",
        "D3D11 fence",
        "NvSciSync",
        "keyed mutex",
        "keyed mutex, KMT handle",
        "timeline, descriptor",
        "timeline, Win32 handle",
    };
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "";
}

static void describe_semaphore(const acu_object *object, acu_description *d) {
    const acu_external_semaphore *s = (const acu_external_semaphore *)object;
    acu_describe(d, "%s %p", s->owned ? "raw" : "wrapped", (void *)s->raw);
    if (s->type)
        acu_describe(d, "%s", type_name(s->type));
}

const acu_class acu_external_semaphore_class = {"external semaphore", destroy_semaphore,
                                                describe_semaphore, NULL};

static acu_external_semaphore *new_semaphore(const char *call, int device,
                                             acu_external_semaphore_type type) {
    acu_external_semaphore *made =
        acu_object_new(call, &acu_external_semaphore_class, sizeof *made, device);
    if (!made)
        return NULL;
    made->type = type;
    made->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    return made;
}

/* ---- importing ---- */

static bool is_descriptor(acu_external_semaphore_type type) {
    return type == ACU_EXTERNAL_SEMAPHORE_OPAQUE_FD || type == ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD;
}

static int check_source(const char *call, const acu_external_semaphore_source *source) {
    if (!*type_name(source->type))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.type is %d, which is no acu_external_semaphore_type",
                        (int)source->type);
    if (is_descriptor(source->type) && source->descriptor < 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.descriptor is %d, which is no descriptor", source->descriptor);
    const bool is_global = source->type == ACU_EXTERNAL_SEMAPHORE_OPAQUE_WIN32_KMT ||
                           source->type == ACU_EXTERNAL_SEMAPHORE_KEYED_MUTEX_KMT;
    if (!is_descriptor(source->type) && !source->handle && (is_global || !source->name))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        is_global ? "source.handle is NULL, and a global handle has no name"
                                  : "source.handle and source.name are NULL: one says which "
                                    "object");
    return 0;
}

typedef struct importing {
    acu_external_semaphore *made;
    struct cudaExternalSemaphoreHandleDesc desc;
} importing;

static int import(importing *it) {
    int code = 0;
    ACU_IGNORING_CAPTURES(code, cudaImportExternalSemaphore(&it->made->raw, &it->desc));
    return code;
}

static int import_descriptor(int duplicate, void *data) {
    importing *it = data;
    it->desc.handle.fd = duplicate;
    return import(it);
}

static int import_source(acu_external_semaphore *made,
                         const acu_external_semaphore_source *source) {
    acu_guard guard;
    importing it = {made, {.type = (enum cudaExternalSemaphoreHandleType)source->type}};
    int code = acu_guard_enter(&guard, made->object.device);
    if (source->type == ACU_EXTERNAL_SEMAPHORE_NVSCI_SYNC) {
        it.desc.handle.nvSciSyncObj = source->handle;
    } else {
        it.desc.handle.win32.handle = (void *)(uintptr_t)source->handle;
        it.desc.handle.win32.name = source->name;
    }
    if (!code)
        code = is_descriptor(source->type)
                   ? acu_descriptor_give(source->descriptor, import_descriptor, &it)
                   : import(&it);
    acu_guard_leave(&guard);
    return code;
}

static void hint_at(acu_external_semaphore_type type, int code) {
    if (code == ACU_NOT_SUPPORTED && !is_descriptor(type))
        acu_fail_hint("Linux has file descriptors: let the other API export a semaphore as an "
                      "opaque one");
    else if (code == cudaErrorUnknown || code == cudaErrorInvalidValue)
        acu_fail_hint("the semaphore must come from the same device, whose UUIDs are equal in both "
                      "APIs, and be a timeline if the type says so; each export is imported once");
}

acu_result acu_external_semaphore_import(acu_device device,
                                         const acu_external_semaphore_source *source,
                                         acu_external_semaphore **semaphore) {
    ACU_SCOPE();
    ACU_NEED_POINTER(semaphore);
    *semaphore = NULL;
    ACU_NEED_POINTER(source);
    acu_destroy_deferred();
    ACU_TRY(check_source(__func__, source));
    ACU_TRY(acu_device_resolve(__func__, &device));
    acu_external_semaphore *made = new_semaphore(__func__, device, source->type);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    const int code = import_source(made, source);
    if (code) {
        acu_object_discard(&made->object);
        hint_at(source->type, code);
        return acu_device_outcome(__func__, device, code);
    }
    made->owned = true;
    *semaphore = made;
    return 0;
}

acu_result acu_external_semaphore_get_nvsci_attributes(acu_device device, unsigned uses,
                                                       void *attributes) {
    ACU_SCOPE();
    const unsigned known = (unsigned)ACU_NVSCI_SYNC_SIGNAL | (unsigned)ACU_NVSCI_SYNC_WAIT;
    ACU_NEED_POINTER(attributes);
    ACU_REQUIRE(uses && !(uses & ~known), ACU_ERROR_ARGUMENT,
                "'uses' is 0x%x: CUDA signals (1), waits (2), or does both", uses);
    ACU_TRY(acu_device_resolve(__func__, &device));
    const int code = (int)cudaDeviceGetNvSciSyncAttributes(attributes, device, (int)uses);
    if (code == ACU_NOT_SUPPORTED)
        acu_fail_hint("NvSci is there on Jetson and DRIVE: elsewhere let the other API export a "
                      "semaphore as a file descriptor");
    return code ? acu_device_outcome(__func__, device, code) : 0;
}

/* ---- handles for what is there ---- */

static int on_raw(const char *call, acu_device device, cudaExternalSemaphore_t raw, bool owned,
                  acu_external_semaphore **semaphore) {
    if (semaphore)
        *semaphore = NULL;
    if (!semaphore || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL",
                        semaphore ? "raw" : "semaphore");
    ACU_TRY(acu_device_resolve(call, &device));
    acu_external_semaphore *made = new_semaphore(call, device, ACU_EXTERNAL_SEMAPHORE_UNKNOWN);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->raw = raw;
    made->owned = owned;
    *semaphore = made;
    return 0;
}

acu_result acu_external_semaphore_wrap(acu_device device, struct CUexternalSemaphore_st *raw,
                                       acu_external_semaphore **semaphore) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, false, semaphore);
}

acu_result acu_external_semaphore_adopt(acu_device device, struct CUexternalSemaphore_st *raw,
                                        acu_external_semaphore **semaphore) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, true, semaphore);
}

struct CUexternalSemaphore_st *acu_external_semaphore_raw(const acu_external_semaphore *semaphore) {
    return acu_is(semaphore, &acu_external_semaphore_class) ? semaphore->raw : NULL;
}

acu_external_semaphore *acu_external_semaphore_retain(acu_external_semaphore *semaphore) {
    return acu_object_retain(__func__, semaphore, &acu_external_semaphore_class);
}

acu_result acu_external_semaphore_release(acu_external_semaphore *semaphore) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, semaphore, &acu_external_semaphore_class);
}

void acu_external_semaphore_cleanup(acu_external_semaphore **semaphore) {
    (void)acu_external_semaphore_release(acu_take(semaphore));
}

size_t acu_external_semaphore_describe(const acu_external_semaphore *semaphore, char *text,
                                       size_t size) {
    return acu_object_describe_as(semaphore, &acu_external_semaphore_class, text, size);
}

acu_device acu_external_semaphore_device(const acu_external_semaphore *semaphore) {
    return acu_is(semaphore, &acu_external_semaphore_class) ? semaphore->object.device
                                                            : ACU_DEVICE_CURRENT;
}

acu_result acu_external_semaphore_get_info(acu_external_semaphore *semaphore,
                                           acu_external_semaphore_info *info) {
    ACU_SCOPE();
    ACU_NEED_POINTER(info);
    *info = (acu_external_semaphore_info){.device = ACU_DEVICE_CURRENT};
    ACU_NEED(semaphore, acu_external_semaphore_class);
    info->device = semaphore->object.device;
    info->type = semaphore->type;
    return 0;
}

/* ---- lists for CUDA ---- */

_Static_assert(sizeof(acu_semaphore_params) == sizeof(struct cudaExternalSemaphoreSignalParams) &&
                   sizeof(acu_semaphore_params) == sizeof(struct cudaExternalSemaphoreWaitParams),
               "signals and waits have the same size");

void acu_external_free_list(const acu_semaphore_list *list) {
    if (list->raw == list->few.raw)
        return;
    free(list->raw);
    free(list->params);
    free(list->objects);
}

static int allocate_list(const char *call, size_t count, acu_semaphore_list *list) {
    list->raw = calloc(count, sizeof *list->raw);
    list->params = calloc(count, sizeof *list->params);
    list->objects = calloc(count, sizeof *list->objects);
    if (list->raw && list->params && list->objects)
        return 0;
    acu_external_free_list(list);
    return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for %zu semaphores", count);
}

/* Makes room; `items` is the array of the public function. */
static int new_list(const char *call, const void *items, const char *name, size_t count,
                    acu_semaphore_list *list) {
    if (!items && count > 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", name);
    if (count > UINT32_MAX)
        return acu_fail(call, "", ACU_ERROR_OVERFLOW, "%zu semaphores are more than CUDA takes",
                        count);
    list->count = count;
    list->device = -1;
    list->raw = list->few.raw;
    list->params = list->few.params;
    list->objects = list->few.objects;
    return count > ACU_FEW_SEMAPHORES ? allocate_list(call, count, list) : 0;
}

/* Adds a semaphore, and clears its parameters. */
static int put(const char *call, acu_external_semaphore *s, size_t at, acu_semaphore_list *list) {
    if (!acu_is(s, &acu_external_semaphore_class)) {
        if (list->count > 1)
            acu_fail_hint("the semaphore is the one with the index %zu", at);
        return acu_object_refuse(call, s, &acu_external_semaphore_class);
    }
    if (at > 0 && s->object.device != list->device)
        return acu_fail_on(call, s, ACU_ERROR_DEVICE,
                           "the semaphores are of the devices %d and %d: one call takes those of "
                           "one device",
                           list->device, s->object.device);
    list->device = s->object.device;
    list->raw[at] = s->raw;
    list->objects[at] = (acu_object_use){&s->object, false};
    memset(&list->params[at], 0, sizeof list->params[at]);
    return 0;
}

int acu_external_list_signals(const char *call, const acu_semaphore_signal *signals, size_t count,
                              acu_semaphore_list *list) {
    int code = new_list(call, signals, "signals", count, list);
    if (code)
        return code;
    for (size_t i = 0; i < count && !code; i++) {
        code = put(call, signals[i].semaphore, i, list);
        if (code)
            break;
        struct cudaExternalSemaphoreSignalParams *p = &list->params[i].signal;
        p->params.fence.value = signals[i].value;
        p->params.keyedMutex.key = signals[i].key;
        p->params.nvSciSync.fence = signals[i].fence;
        p->flags = signals[i].skip_memory_sync ? cudaExternalSemaphoreSignalSkipNvSciBufMemSync : 0;
    }
    if (code)
        acu_external_free_list(list);
    return code;
}

int acu_external_list_waits(const char *call, const acu_semaphore_wait *waits, size_t count,
                            acu_semaphore_list *list) {
    int code = new_list(call, waits, "waits", count, list);
    if (code)
        return code;
    for (size_t i = 0; i < count && !code; i++) {
        code = put(call, waits[i].semaphore, i, list);
        if (code)
            break;
        struct cudaExternalSemaphoreWaitParams *p = &list->params[i].wait;
        p->params.fence.value = waits[i].value;
        p->params.keyedMutex.key = waits[i].key;
        p->params.keyedMutex.timeoutMs = waits[i].timeout_ms;
        p->params.nvSciSync.fence = waits[i].fence;
        p->flags = waits[i].skip_memory_sync ? cudaExternalSemaphoreWaitSkipNvSciBufMemSync : 0;
    }
    if (code)
        acu_external_free_list(list);
    return code;
}

/* ---- signals and waits on streams ---- */

static acu_external_semaphore *semaphore_at(const acu_semaphore_list *list, size_t at) {
    return (acu_external_semaphore *)list->objects[at].object;
}

/* Lets the graph that is captured keep the semaphores, or begins their uses; returns in `done` how
 * many were begun. */
static int begin_all(const acu_semaphore_list *list, acu_stream *stream, size_t *done) {
    acu_capture *capture = acu_capture_of(stream);
    int code = 0;
    *done = 0;
    for (size_t i = 0; i < list->count && !code; i++) {
        if (capture)
            code = capture->use(capture, list->objects[i].object, false);
        else if ((code = begin_use(semaphore_at(list, i), stream->timeline)) == 0)
            ++*done;
    }
    return code;
}

static void end_all(const acu_semaphore_list *list, acu_stream *stream, size_t done) {
    const uint64_t number = done ? acu_timeline_issue(stream->timeline) : 0;
    for (size_t i = 0; i < done; i++)
        end_use(semaphore_at(list, i), stream->timeline, number);
}

/* Gives CUDA the work, and frees the list. */
static int submit(const char *call, const acu_semaphore_list *list, acu_stream *stream,
                  bool signals) {
    acu_guard guard;
    size_t done = 0;
    int code = acu_stream_enter(stream, &guard);
    if (!code)
        code = begin_all(list, stream, &done);
    if (!code)
        code = (int)(signals ? cudaSignalExternalSemaphoresAsync(list->raw, &list->params->signal,
                                                                 (unsigned)list->count, stream->raw)
                             : cudaWaitExternalSemaphoresAsync(list->raw, &list->params->wait,
                                                               (unsigned)list->count, stream->raw));
    end_all(list, stream, done);
    acu_guard_leave(&guard);
    code =
        acu_outcome(call, list->count == 1 ? (void *)semaphore_at(list, 0) : (void *)stream, code);
    acu_external_free_list(list);
    return code;
}

/* Checks that the stream can take the work; frees the list where not. */
static int check_stream(const char *call, const acu_semaphore_list *list,
                        const acu_stream *stream) {
    int code = acu_stream_check(call, stream);
    if (!code && list->count == 0)
        code = acu_fail(call, "", ACU_ERROR_ARGUMENT, "'count' is 0: there is no semaphore");
    if (!code && stream->object.device != list->device)
        code = acu_fail_on(call, list->objects->object, ACU_ERROR_DEVICE,
                           "the semaphore was imported on device %d, and the stream is on device "
                           "%d",
                           list->device, stream->object.device);
    if (code)
        acu_external_free_list(list);
    return code;
}

static int signal_all(const char *call, const acu_semaphore_signal *signals, size_t count,
                      acu_stream *stream) {
    acu_semaphore_list list;
    ACU_TRY(acu_external_list_signals(call, signals, count, &list));
    ACU_TRY(check_stream(call, &list, stream));
    return submit(call, &list, stream, true);
}

static int wait_for_all(const char *call, const acu_semaphore_wait *waits, size_t count,
                        acu_stream *stream) {
    acu_semaphore_list list;
    ACU_TRY(acu_external_list_waits(call, waits, count, &list));
    ACU_TRY(check_stream(call, &list, stream));
    return submit(call, &list, stream, false);
}

/* The usual case needs no list: one semaphore, on a stream of its device that is not captured. */
static bool is_usual(const acu_external_semaphore *s, const acu_stream *stream) {
    return acu_is(s, &acu_external_semaphore_class) && acu_is(stream, &acu_stream_class) &&
           !stream->is_default && !acu_capture_of(stream) &&
           s->object.device == stream->object.device;
}

static int run_one(const char *call, acu_external_semaphore *s, unsigned long long value,
                   acu_stream *stream, bool signals) {
    acu_semaphore_params p;
    int code = begin_use(s, stream->timeline);
    if (code)
        return acu_outcome(call, s, code);
    memset(&p, 0, sizeof p);
    if (signals) {
        p.signal.params.fence.value = value;
        code = (int)cudaSignalExternalSemaphoresAsync(&s->raw, &p.signal, 1, stream->raw);
    } else {
        p.wait.params.fence.value = value;
        code = (int)cudaWaitExternalSemaphoresAsync(&s->raw, &p.wait, 1, stream->raw);
    }
    end_use(s, stream->timeline, acu_timeline_issue(stream->timeline));
    return acu_outcome(call, s, code);
}

acu_result acu_external_signal(const acu_semaphore_signal *signals, size_t count,
                               acu_stream *stream) {
    ACU_SCOPE();
    return signal_all(__func__, signals, count, stream);
}

acu_result acu_external_wait(const acu_semaphore_wait *waits, size_t count, acu_stream *stream) {
    ACU_SCOPE();
    return wait_for_all(__func__, waits, count, stream);
}

acu_result acu_external_semaphore_signal(acu_external_semaphore *semaphore,
                                         unsigned long long value, acu_stream *stream) {
    ACU_SCOPE();
    const acu_semaphore_signal signal = {.semaphore = semaphore, .value = value};
    if (ACU_LIKELY(is_usual(semaphore, stream)))
        return run_one(__func__, semaphore, value, stream, true);
    return signal_all(__func__, &signal, 1, stream);
}

acu_result acu_external_semaphore_wait(acu_external_semaphore *semaphore, unsigned long long value,
                                       acu_stream *stream) {
    ACU_SCOPE();
    const acu_semaphore_wait wait = {.semaphore = semaphore, .value = value};
    if (ACU_LIKELY(is_usual(semaphore, stream)))
        return run_one(__func__, semaphore, value, stream, false);
    return wait_for_all(__func__, &wait, 1, stream);
}
