/* Allocators: their handles, those that programs implement, memory without a buffer, and the
 * current allocator of each device. allocator_cache.c is the caching one. */
#include "safe/memory/allocator.h"
#include "safe/base/device.h"
#include "safe/memory/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOME(allocator, code)  acu_outcome(__func__, (allocator), (code))
#define NEED_ALLOCATOR(allocator) ACU_NEED((allocator), acu_allocator_class)

/* ---- life ---- */

static int destroy_allocator(acu_object *object) {
    acu_allocator *a = (acu_allocator *)object;
    const int code = a->way->destroy(a);
    if (code == ACU_LATER)
        return code;
    free(a->rows);
    pthread_mutex_destroy(&a->lock);
    return code;
}

static void describe_allocator(const acu_object *object, acu_description *d) {
    const acu_allocator *a = (const acu_allocator *)object;
    if (a->memory == ACU_MEMORY_PINNED)
        acu_describe(d, "pinned memory");
    if (__atomic_load_n(&a->current, __ATOMIC_RELAXED))
        acu_describe(d, "current");
}

const acu_class acu_allocator_class = {"allocator", destroy_allocator, describe_allocator, NULL};

int acu_allocator_make(int device, size_t size, const acu_allocator_way *way, acu_memory memory,
                       acu_allocator **out) {
    if (device >= ACU_COUNTED_DEVICES)
        return acu_record(ACU_ERROR_LIMIT, "device %d: an allocator can be of devices below %d",
                          device, ACU_COUNTED_DEVICES);
    acu_allocator *a = acu_object_make(&acu_allocator_class, size, device);
    if (!a)
        return ACU_ERROR_HOST_MEMORY;
    a->way = way;
    a->memory = memory;
    a->users = 1;
    pthread_mutex_init(&a->lock, NULL);
    *out = a;
    return 0;
}

acu_allocator *acu_allocator_retain(acu_allocator *allocator) {
    acu_allocator *retained = acu_object_retain(__func__, allocator, &acu_allocator_class);
    if (retained)
        __atomic_add_fetch(&retained->users, 1, __ATOMIC_RELAXED);
    return retained;
}

acu_result acu_allocator_release(acu_allocator *allocator) {
    ACU_SCOPE();
    acu_destroy_deferred();
    if (acu_is(allocator, &acu_allocator_class) &&
        __atomic_sub_fetch(&allocator->users, 1, __ATOMIC_ACQ_REL) == 0 && allocator->way->stop)
        allocator->way->stop(allocator);
    return acu_object_release(__func__, allocator, &acu_allocator_class);
}

void acu_allocator_cleanup(acu_allocator **allocator) {
    (void)acu_allocator_release(acu_take(allocator));
}

size_t acu_allocator_describe(const acu_allocator *allocator, char *text, size_t size) {
    return acu_object_describe_as(allocator, &acu_allocator_class, text, size);
}

acu_device acu_allocator_device(const acu_allocator *allocator) {
    return acu_is(allocator, &acu_allocator_class) ? allocator->object.device : ACU_DEVICE_CURRENT;
}

acu_memory acu_allocator_memory(const acu_allocator *allocator) {
    return acu_is(allocator, &acu_allocator_class) ? allocator->memory : ACU_MEMORY_POOL;
}

/* ---- a program's functions ---- */

/* What a function of the program's returns is an error even where it recorded none. */
static int answer(int code, const char *function) {
    if (code && acu_last_error() != code)
        (void)acu_record(code, "the allocator's function `%s` returned %d", function, code);
    return code;
}

static int call_allocate(acu_allocator *a, acu_stream *stream, size_t bytes, acu_given *given) {
    given->pointer = NULL;
    given->piece = NULL;
    int code =
        a->functions.allocate(a->data, bytes, stream->object.device, stream->raw, &given->pointer);
    if (!code && !given->pointer)
        return acu_record(cudaErrorMemoryAllocation,
                          "the allocator's function `allocate` returned no memory for %zu bytes",
                          bytes);
    return answer(code, "allocate");
}

/* Another thread's default stream has no name here; the legacy default stream comes after it. */
static int call_free(acu_allocator *a, acu_stream *stream, const acu_given *given) {
    cudaStream_t raw = acu_stream_is_foreign(stream) ? cudaStreamLegacy : stream->raw;
    return answer(
        a->functions.free(a->data, given->pointer, given->bytes, stream->object.device, raw),
        "free");
}

static int call_trim(acu_allocator *a, size_t keep) {
    return a->functions.trim ? answer(a->functions.trim(a->data, keep), "trim") : 0;
}

static void ask_reserved(acu_allocator *a, acu_allocator_info *info) {
    info->reserved = a->functions.reserved ? a->functions.reserved(a->data) : info->used;
    if (info->reserved_high < info->reserved)
        info->reserved_high = info->reserved;
}

static int call_destroy(acu_allocator *a) {
    if (a->functions.destroy)
        a->functions.destroy(a->data);
    return 0;
}

static const acu_allocator_way of_a_program = {.take = call_allocate,
                                               .give = call_free,
                                               .trim = call_trim,
                                               .get_info = ask_reserved,
                                               .destroy = call_destroy};

acu_result acu_allocator_wrap(acu_device device, acu_memory memory,
                              const acu_allocator_functions *functions, void *data,
                              acu_allocator **allocator) {
    ACU_SCOPE();
    ACU_NEED_POINTER(allocator);
    *allocator = NULL;
    ACU_NEED_POINTER(functions);
    ACU_REQUIRE(functions->size == sizeof *functions, ACU_ERROR_ARGUMENT,
                "functions->size is %zu, and must be sizeof(acu_allocator_functions): %zu",
                functions->size, sizeof *functions);
    ACU_REQUIRE(functions->allocate && functions->free, ACU_ERROR_ARGUMENT, "functions->%s is NULL",
                functions->allocate ? "free" : "allocate");
    ACU_REQUIRE(memory == ACU_MEMORY_POOL || memory == ACU_MEMORY_PINNED, ACU_ERROR_ARGUMENT,
                "an allocator's memory is ACU_MEMORY_POOL or ACU_MEMORY_PINNED, not %d",
                (int)memory);
    acu_destroy_deferred();
    ACU_TRY(acu_device_resolve(__func__, &device));
    acu_allocator *made = NULL;
    ACU_TRY(OUTCOME(NULL, acu_allocator_make(device, sizeof *made, &of_a_program, memory, &made)));
    made->functions = *functions;
    made->data = data;
    *allocator = made;
    return 0;
}

/* ---- figures ---- */

/* Counts what a program's allocator has given out; the caching one counts by itself. */
static void count(acu_allocator *a, size_t bytes, bool given_out) {
    acu_allocator_info *info = &a->info;
    if (a->way != &of_a_program)
        return;
    pthread_mutex_lock(&a->lock);
    acu_allocator_class_info *class = &a->classes[acu_allocator_class_of(bytes)];
    info->used += given_out ? bytes : -bytes;
    class->used += given_out ? 1 : (size_t)-1;
    *(given_out ? &info->allocations : &info->frees) += 1;
    class->allocations += given_out;
    if (info->used_high < info->used)
        info->used_high = info->used;
    pthread_mutex_unlock(&a->lock);
}

/* ---- hooks ---- */

/* The hooks that a thread is in, from the inner to the outer one. */
typedef struct hook_call {
    const acu_allocator *of;
    const struct hook_call *outer;
} hook_call;

static _Thread_local const hook_call *inside;

/* Begins a call of a hook, and returns the hooks. There are none where the thread is in a hook of
 * the same allocator: a hook that allocates would be called without end. */
static acu_allocator_hooks enter_hook(acu_allocator *a, hook_call *call) {
    const hook_call *outer = inside;
    *call = (hook_call){.of = a, .outer = inside};
    inside = call;
    while (outer && outer->of != a)
        outer = outer->outer;
    if (outer)
        return (acu_allocator_hooks){.data = NULL};
    pthread_mutex_lock(&a->lock);
    const acu_allocator_hooks hooks = a->hooks;
    pthread_mutex_unlock(&a->lock);
    return hooks;
}

static void leave_hook(const hook_call *call) {
    inside = call->outer;
}

static void call_allocated(acu_allocator *a, acu_stream *stream, const acu_given *given) {
    hook_call call;
    const acu_allocator_hooks hooks = enter_hook(a, &call);
    if (hooks.allocated)
        hooks.allocated(hooks.data, given->pointer, given->bytes, stream);
    leave_hook(&call);
}

static void call_freed(acu_allocator *a, const acu_given *given) {
    hook_call call;
    const acu_allocator_hooks hooks = enter_hook(a, &call);
    if (hooks.freed)
        hooks.freed(hooks.data, given->pointer, given->bytes);
    leave_hook(&call);
}

/* Returns whether the program has made room. */
static bool call_out_of_memory(acu_allocator *a, size_t bytes) {
    hook_call call;
    const acu_allocator_hooks hooks = enter_hook(a, &call);
    const bool again = hooks.out_of_memory && hooks.out_of_memory(hooks.data, bytes);
    leave_hook(&call);
    return again;
}

static bool is_hooked(const acu_allocator *a) {
    return __atomic_load_n(&a->hooked, __ATOMIC_RELAXED);
}

/* ---- giving out and taking back ---- */

static int take_once(acu_allocator *a, acu_stream *stream, size_t bytes, acu_given *given) {
    int code = a->way->take(a, stream, bytes, given);
    given->bytes = bytes;
    return code;
}

/* Counts the failure, and says what the allocator has; of a limit, the failure itself tells that.
 */
static void note_failure(acu_allocator *a) {
    acu_allocator_info info;
    pthread_mutex_lock(&a->lock);
    a->info.failures++;
    info = a->info;
    pthread_mutex_unlock(&a->lock);
    a->way->get_info(a, &info);
    if (info.limit == 0)
        acu_fail_hint("the allocator has %zu bytes, of which %zu are in use; what is not could not "
                      "be given back, or was",
                      info.reserved, info.used);
}

/* The program was asked for room; where there is some, everything is tried once more. */
ACU_COLD static int take_again(acu_allocator *a, acu_stream *stream, size_t bytes,
                               acu_given *given) {
    acu_saved_record failure;
    acu_record_save(&failure);
    const bool again = call_out_of_memory(a, bytes);
    acu_record_restore(&failure);
    int code = again ? take_once(a, stream, bytes, given) : cudaErrorMemoryAllocation;
    if (code)
        note_failure(a);
    return code;
}

int acu_allocator_take(acu_allocator *a, acu_stream *stream, size_t bytes, acu_given *given) {
    int code = take_once(a, stream, bytes, given);
    if (code == cudaErrorMemoryAllocation)
        code = take_again(a, stream, bytes, given);
    if (code)
        return code;
    count(a, bytes, true);
    if (is_hooked(a))
        call_allocated(a, stream, given);
    return 0;
}

int acu_allocator_give(acu_allocator *a, acu_stream *stream, const acu_given *given) {
    if (is_hooked(a))
        call_freed(a, given);
    count(a, given->bytes, false);
    return a->way->give(a, stream, given);
}

/* ---- memory without a buffer ---- */

static acu_raw_memory **row_of(const acu_allocator *a, const void *pointer) {
    const uint64_t mixed = ((uintptr_t)pointer / ACU_PIECE_STEP) * UINT64_C(0x9e3779b97f4a7c15);
    return &a->rows[(mixed >> 32u) & (a->row_count - 1)];
}

/* Makes the table larger as it fills up; returns false without memory. */
static bool make_rows(acu_allocator *a) {
    const size_t before = a->row_count;
    if (a->raw_count < before)
        return true;
    acu_raw_memory **rows = calloc(before ? 2 * before : 64, sizeof *rows), **old = a->rows;
    if (!rows)
        return false;
    a->rows = rows;
    a->row_count = before ? 2 * before : 64;
    for (size_t i = 0; i < before; i++)
        for (acu_raw_memory *raw = old[i], *next; raw; raw = next) {
            acu_raw_memory **row = row_of(a, raw->given.pointer);
            next = raw->next;
            raw->next = *row;
            *row = raw;
        }
    free(old);
    return true;
}

/* Puts memory into the table; the caller has the lock. */
static void put(acu_allocator *a, acu_raw_memory *raw) {
    acu_raw_memory **row = row_of(a, raw->given.pointer);
    raw->next = *row;
    *row = raw;
    a->raw_count++;
}

static bool enter(acu_allocator *a, acu_raw_memory *raw) {
    pthread_mutex_lock(&a->lock);
    const bool there = make_rows(a);
    if (there)
        put(a, raw);
    pthread_mutex_unlock(&a->lock);
    return there;
}

/* Returns the place that refers to the memory; NULL if there is none. The caller has the lock. */
static acu_raw_memory **find(const acu_allocator *a, const void *pointer) {
    acu_raw_memory **row = a->row_count ? row_of(a, pointer) : NULL;
    while (row && *row && (*row)->given.pointer != pointer)
        row = &(*row)->next;
    return row && *row ? row : NULL;
}

static void free_raw(acu_raw_memory *raw) {
    for (size_t i = 0; i < raw->other_count; i++)
        if (acu_object_release(NULL, raw->others[i], &acu_stream_class))
            acu_record_release_error();
    if (acu_object_release(NULL, raw->stream, &acu_stream_class))
        acu_record_release_error();
    free(raw->others);
    free(raw);
}

static int check_stream(const char *call, const acu_allocator *a, const acu_stream *stream) {
    ACU_TRY(acu_stream_check(call, stream));
    if (a->memory == ACU_MEMORY_PINNED || stream->object.device == a->object.device)
        return 0;
    return acu_fail_on(call, stream, ACU_ERROR_DEVICE, "the allocator has memory of device %d",
                       a->object.device);
}

acu_result acu_allocator_allocate(acu_allocator *allocator, acu_stream *stream, size_t bytes,
                                  void **pointer) {
    ACU_SCOPE();
    ACU_NEED_POINTER(pointer);
    *pointer = NULL;
    NEED_ALLOCATOR(allocator);
    ACU_TRY(check_stream(__func__, allocator, stream));
    ACU_REQUIRE(bytes <= PTRDIFF_MAX, ACU_ERROR_OVERFLOW,
                "%zu bytes are more than can be addressed", bytes);
    if (bytes == 0)
        return 0;
    acu_raw_memory *raw = calloc(1, sizeof *raw);
    ACU_REQUIRE(raw, ACU_ERROR_HOST_MEMORY, "the host has no memory for an allocation");
    int code = acu_allocator_take(allocator, stream, bytes, &raw->given);
    if (!code && !enter(allocator, raw)) {
        (void)acu_allocator_give(allocator, stream, &raw->given);
        code = acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for an allocation");
    }
    if (code) {
        free(raw);
        return OUTCOME(allocator, code);
    }
    acu_object_add_owner(allocator);
    acu_object_add_owner(stream);
    raw->stream = stream;
    *pointer = raw->given.pointer;
    return 0;
}

ACU_COLD static int refuse_pointer(const char *call, acu_allocator *a, const void *pointer) {
    return acu_fail_on(call, a, ACU_ERROR_ARGUMENT,
                       "%p is no memory that acu_allocator_allocate() gave out, or was freed",
                       pointer);
}

/* Lets the memory's stream wait for those that use it, too; where it cannot, the thread waits. */
static int gather(const acu_raw_memory *raw) {
    int code = 0;
    for (size_t i = 0; i < raw->other_count; i++) {
        acu_timeline *other = raw->others[i]->timeline;
        const uint64_t number = acu_timeline_issue(other);
        int waited = acu_timeline_wait(other, number, raw->stream);
        if (waited)
            waited = acu_timeline_synchronize(other, number);
        code = code ? code : waited;
    }
    if (raw->other_count > 0)
        (void)acu_timeline_issue(raw->stream->timeline);
    return code;
}

acu_result acu_allocator_free(acu_allocator *allocator, void *pointer) {
    ACU_SCOPE();
    NEED_ALLOCATOR(allocator);
    if (!pointer)
        return 0;
    pthread_mutex_lock(&allocator->lock);
    acu_raw_memory **place = find(allocator, pointer), *raw = place ? *place : NULL;
    if (raw) {
        *place = raw->next;
        allocator->raw_count--;
    }
    pthread_mutex_unlock(&allocator->lock);
    if (!raw)
        return refuse_pointer(__func__, allocator, pointer);
    int code = gather(raw);
    if (code) { /* the memory may still be used: it can be freed later */
        pthread_mutex_lock(&allocator->lock);
        put(allocator, raw);
        pthread_mutex_unlock(&allocator->lock);
        return OUTCOME(allocator, code);
    }
    code = acu_allocator_give(allocator, raw->stream, &raw->given);
    free_raw(raw);
    code = OUTCOME(allocator, code);
    const int last = acu_object_release(__func__, allocator, &acu_allocator_class);
    return code ? code : last;
}

/* Adds the stream to those that use the memory; the caller has the lock. Returns false without
 * memory. */
static bool add_other(acu_raw_memory *raw, acu_stream *stream) {
    for (size_t i = 0; i < raw->other_count; i++)
        if (raw->others[i] == stream)
            return true;
    acu_stream **more = realloc(raw->others, (raw->other_count + 1) * sizeof *more);
    if (!more)
        return false;
    acu_object_add_owner(stream);
    raw->others = more;
    raw->others[raw->other_count++] = stream;
    return true;
}

acu_result acu_allocator_attach(acu_allocator *allocator, void *pointer, acu_stream *stream) {
    ACU_SCOPE();
    NEED_ALLOCATOR(allocator);
    ACU_NEED_STREAM(stream);
    pthread_mutex_lock(&allocator->lock);
    acu_raw_memory **place = find(allocator, pointer);
    const bool added = place && ((*place)->stream == stream || add_other(*place, stream));
    pthread_mutex_unlock(&allocator->lock);
    if (!place)
        return refuse_pointer(__func__, allocator, pointer);
    ACU_REQUIRE(added, ACU_ERROR_HOST_MEMORY, "the host has no memory for another stream");
    return 0;
}

/* ---- what it does ---- */

acu_result acu_allocator_trim(acu_allocator *allocator, size_t keep) {
    ACU_SCOPE();
    acu_destroy_deferred();
    NEED_ALLOCATOR(allocator);
    return OUTCOME(allocator, allocator->way->trim(allocator, keep));
}

acu_result acu_allocator_get_info(acu_allocator *allocator, acu_allocator_info *info) {
    ACU_SCOPE();
    ACU_NEED_POINTER(info);
    memset(info, 0, sizeof *info);
    NEED_ALLOCATOR(allocator);
    pthread_mutex_lock(&allocator->lock);
    *info = allocator->info;
    pthread_mutex_unlock(&allocator->lock);
    allocator->way->get_info(allocator, info);
    return 0;
}

acu_result acu_allocator_reset_high(acu_allocator *allocator) {
    ACU_SCOPE();
    acu_allocator_info now = {0};
    NEED_ALLOCATOR(allocator);
    if (allocator->way->reset)
        allocator->way->reset(allocator);
    pthread_mutex_lock(&allocator->lock);
    now = allocator->info;
    allocator->info.used_high = now.used;
    allocator->info.reserved_high = now.reserved;
    pthread_mutex_unlock(&allocator->lock);
    return 0;
}

acu_result acu_allocator_get_classes(acu_allocator *allocator, acu_allocator_class_info *classes,
                                     size_t *count) {
    ACU_SCOPE();
    acu_allocator_class_info all[ACU_COUNTED_CLASSES];
    ACU_NEED_POINTER(count);
    const size_t room = *count;
    *count = 0;
    NEED_ALLOCATOR(allocator);
    pthread_mutex_lock(&allocator->lock);
    memcpy(all, allocator->classes, sizeof all);
    pthread_mutex_unlock(&allocator->lock);
    if (allocator->way->add_classes)
        allocator->way->add_classes(allocator, all);
    for (size_t i = 0; i < ACU_COUNTED_CLASSES; i++)
        if (all[i].allocations > 0) {
            all[i].bytes = (size_t)1 << i;
            if (classes && *count < room)
                classes[*count] = all[i];
            ++*count;
        }
    return 0;
}

acu_result acu_allocator_set_hooks(acu_allocator *allocator, const acu_allocator_hooks *hooks) {
    ACU_SCOPE();
    static const acu_allocator_hooks none;
    NEED_ALLOCATOR(allocator);
    const acu_allocator_hooks *h = hooks ? hooks : &none;
    pthread_mutex_lock(&allocator->lock);
    allocator->hooks = *h;
    __atomic_store_n(&allocator->hooked, h->allocated || h->freed, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&allocator->lock);
    if (allocator->way->set_hooked)
        allocator->way->set_hooked(allocator, h->allocated || h->freed);
    return 0;
}
