/* Clients: how they are made, shared, locked, waited for and released. */
#include "runtime/client.h"

#include "runtime/backend.h"
#include "runtime/mark.h"
#include "runtime/replay.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- life ---- */

static void describe(const acu_handle *handle, acu_handle_text *text) {
    acu_handle_add_place(text, ((const acu_client *)handle)->device->place);
}

static void enlist(acu_client *client) {
    acu_place_device *device = client->device;
    pthread_mutex_lock(&device->lock);
    client->next = device->clients;
    client->link = &device->clients;
    if (client->next)
        client->next->link = &client->next;
    device->clients = client;
    pthread_mutex_unlock(&device->lock);
}

static void delist(acu_client *client) {
    acu_place_device *device = client->device;
    pthread_mutex_lock(&device->lock);
    *client->link = client->next;
    if (client->next)
        client->next->link = client->link;
    if (device->shared == client)
        device->shared = NULL;
    pthread_mutex_unlock(&device->lock);
}

/* The queue is given back before the client leaves the device's list, because a device without
 * clients may be closed. In a forked process all of the parent's stays untouched. */
static acu_result destroy(acu_handle *handle) {
    acu_client *client = (acu_client *)handle;
    if (acu_client_is_of_parent(client))
        return ACU_SUCCESS;
    if (acu_client_works_here(client)) { /* the queue and its memory are lost */
        delist(client);
        return acu_client_refuse_function("acu_client_release", client);
    }
    (void)acu_client_wait_for_all(client, NULL);
    acu_result code = acu_client_take_error("acu_client_release", client);
    acu_client_seize(client);
    acu_client_free_memory(client);
    for (unsigned i = 0; i < ACU_MOST_STEPS; i++)
        acu_client_drop_shared_mark(client, client->steps[i].shared);
    acu_client_unlock(client);
    client->table->queue_destroy(client->queue);
    delist(client);
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->lock);
    return code;
}

const acu_handle_class acu_client_class = {"client", destroy, describe};

/* Copies the options as far as the caller has them; checks nothing but the size. */
static acu_result copy_options(const char *call, const acu_client_options *given,
                               acu_client_options *options) {
    memset(options, 0, sizeof *options);
    if (!given)
        return ACU_SUCCESS;
    const size_t size = given->size ? given->size : sizeof *given;
    if (size < sizeof given->size || size > 4096)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the size of the options is %zu, but sizeof(acu_client_options) is %zu",
                        size, sizeof *given);
    memcpy(options, given, size < sizeof *options ? size : sizeof *options);
    return ACU_SUCCESS;
}

static acu_result make(const char *call, acu_place_device *device,
                       const acu_client_options *options, acu_client **out) {
    static uint64_t clients; /* atomic */
    const acu_backend_queue_options wanted = {sizeof wanted, options->priority, options->threads};
    acu_client *client = acu_handle_new(call, &acu_client_class, sizeof *client);
    if (!client)
        return ACU_ERROR_HOST_MEMORY;
    acu_result code = device->table->queue_create(device->device, &wanted, &client->queue);
    code = acu_backend_check(code, client->queue, "queue");
    if (code) {
        char text[64];
        acu_handle_discard(client);
        (void)acu_place_describe(device->place, text, sizeof text);
        return acu_backend_failed(call, text, code);
    }
    client->device = device;
    client->table = device->table;
    client->id = __atomic_add_fetch(&clients, 1, __ATOMIC_RELAXED);
    client->forks = __atomic_load_n(&acu_place_forks, __ATOMIC_RELAXED);
    client->memory.stats.limit = options->limit;
    pthread_mutex_init(&client->lock, NULL);
    pthread_cond_init(&client->changed, NULL);
    enlist(client);
    *out = client;
    return ACU_SUCCESS;
}

acu_result acu_client_create(acu_place place, const acu_client_options *options,
                             acu_client **client) {
    acu_place_device *device;
    acu_client_options copy;
    ACU_NEED_PLACE_FOR(client);
    ACU_TRY(copy_options(__func__, options, &copy));
    ACU_TRY(acu_place_open(__func__, place, &device));
    return make(__func__, device, &copy, client);
}

/* Returns the default client with one more owner, the caller; NULL if none lives. */
static acu_client *find_shared(acu_place_device *device) {
    pthread_mutex_lock(&device->lock);
    acu_client *shared = device->shared;
    if (shared && !acu_handle_try_add_owner(shared))
        shared = NULL;
    pthread_mutex_unlock(&device->lock);
    return shared;
}

/* Makes a client the default one, unless there is one that lives; returns that one then. */
static acu_client *share(acu_place_device *device, acu_client *client) {
    pthread_mutex_lock(&device->lock);
    acu_client *shared = device->shared;
    if (shared && acu_handle_try_add_owner(shared))
        client = shared;
    device->shared = client;
    pthread_mutex_unlock(&device->lock);
    return client;
}

acu_result acu_client_get_default(acu_place place, acu_client **client) {
    static const acu_client_options none;
    acu_place_device *device;
    acu_client *made;
    ACU_NEED_PLACE_FOR(client);
    ACU_TRY(acu_place_open(__func__, place, &device));
    acu_client *shared = find_shared(device);
    if (!shared) {
        ACU_TRY(make(__func__, device, &none, &made));
        shared = share(device, made);
        if (shared != made) /* another thread was faster */
            (void)acu_handle_release(__func__, made, &acu_client_class);
    }
    *client = shared;
    return ACU_SUCCESS;
}

acu_client *acu_client_retain(acu_client *client) {
    return acu_handle_retain(__func__, client, &acu_client_class);
}

acu_result acu_client_release(acu_client *client) {
    return acu_handle_release(__func__, client, &acu_client_class);
}

void acu_client_cleanup(acu_client **client) {
    (void)acu_client_release(acu_take(client));
}

size_t acu_client_describe(const acu_client *client, char *text, size_t size) {
    return acu_handle_describe(client, &acu_client_class, text, size);
}

acu_place acu_client_place(const acu_client *client) {
    return acu_handle_is(client, &acu_client_class) ? client->device->place : acu_place_cpu();
}

/* ---- locking ---- */

acu_result acu_client_refuse_parent(const char *call, const acu_client *client) {
    if (ACU_LIKELY(!acu_client_is_of_parent(client)))
        return ACU_SUCCESS;
    return acu_client_fail(call, client, client, ACU_ERROR_STATE,
                           "the client was made before this process was forked; make one after");
}

void acu_client_wait_until_idle(acu_client *client) {
    while (client->busy)
        pthread_cond_wait(&client->changed, &client->lock);
}

ACU_COLD static void wait_for_recording(acu_client *client) {
    while (client->busy || (client->recording && !acu_recording_is_here(client->recording)))
        pthread_cond_wait(&client->changed, &client->lock);
}

bool acu_client_works_here(const acu_client *client) {
    const acu_backend_queue *on_cpu = __atomic_load_n(&client->on_cpu, __ATOMIC_RELAXED);
    return acu_inside_is(on_cpu ? on_cpu : client->queue);
}

acu_result acu_client_lock(const char *call, acu_client *client) {
    ACU_TRY(acu_client_refuse_parent(call, client));
    if (!ACU_LIKELY(!__atomic_load_n(&client->on_cpu, __ATOMIC_RELAXED)) &&
        acu_client_works_here(client))
        return acu_client_refuse_function(call, client); /* the lock is held until it returns */
    acu_client_seize(client);
    if (!ACU_LIKELY(!client->recording))
        wait_for_recording(client);
    return ACU_SUCCESS;
}

/* ---- waiting ---- */

acu_result acu_client_wait_for_all(acu_client *client, char *words) {
    if (acu_client_is_of_parent(client) || acu_client_works_here(client))
        return ACU_SUCCESS;
    acu_client_seize(client);
    const uint64_t number = client->given;
    acu_client_unlock(client);
    acu_result code = client->table->queue_synchronize(client->queue);
    acu_client_seize(client);
    if (code)
        (void)acu_client_keep_error(client, code, words);
    if (client->done < number)
        client->done = number;
    acu_client_unlock(client);
    return code;
}

acu_result acu_client_synchronize(acu_client *client) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_TRY(acu_client_refuse_waiting(__func__, client));
    ACU_TRY(acu_client_lock(__func__, client)); /* where another thread records, this one waits */
    acu_client_unlock(client);
    (void)acu_client_wait_for_all(client, NULL);
    return acu_client_take_error(__func__, client);
}

void acu_client_note_seen(acu_client *client, const acu_client *other, uint64_t number) {
    client->marked = false;
    for (unsigned i = 0; i < ACU_MOST_SEEN; i++)
        if (client->seen[i].id == other->id) {
            if (client->seen[i].number < number)
                client->seen[i].number = number;
            return;
        }
    client->seen[client->next_seen] = (acu_seen){other->id, number};
    client->next_seen = (client->next_seen + 1) % ACU_MOST_SEEN;
}

bool acu_client_has_seen(const acu_client *client, const acu_client *other, uint64_t number) {
    for (unsigned i = 0; i < ACU_MOST_SEEN; i++)
        if (client->seen[i].id == other->id)
            return client->seen[i].number >= number;
    return false;
}

void acu_client_drop_shared_mark(acu_client *client, acu_shared_mark *shared) {
    if (!shared || --shared->owners > 0)
        return;
    client->table->mark_destroy(shared->mark);
    free(shared);
}

/* Lets the client's queue wait for a mark. Returns false where only this thread can wait. */
static bool queue_waits(acu_client *client, const acu_mark *mark) {
    if (client->table != mark->client->table || !client->table->queue_wait)
        return false;
    acu_saved_record before;
    acu_record_save(&before);
    acu_result code = client->table->queue_wait(client->queue, mark->mark);
    if (code)
        acu_record_restore(&before);
    else
        acu_client_note_seen(client, mark->client, mark->number);
    return code == ACU_SUCCESS;
}

acu_result acu_client_wait(acu_client *client, acu_mark *mark) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_HANDLE(mark, acu_mark_class);
    ACU_TRY(acu_client_refuse_recording(__func__, client));
    ACU_TRY(acu_client_refuse_parent(__func__, client));
    ACU_TRY(acu_client_refuse_parent(__func__, mark->client));
    if (client == mark->client || !mark->mark) /* in order anyway, or done */
        return ACU_SUCCESS;
    ACU_TRY(acu_client_lock(__func__, client));
    const bool waits = queue_waits(client, mark);
    acu_client_unlock(client);
    if (waits)
        return ACU_SUCCESS;
    ACU_TRY(acu_mark_refuse_function(__func__, mark));
    acu_mark_wait(mark);
    return ACU_SUCCESS;
}

/* ---- what is beneath ---- */

acu_result acu_client_get_raw(acu_client *client, acu_raw *raw) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_ADDRESS(raw);
    *raw = (acu_raw){ACU_RAW_NONE, NULL, NULL};
    if (!client->table->queue_get_raw)
        return ACU_SUCCESS;
    ACU_TRY(acu_client_lock(__func__, client));
    /* A mark then stands also for what the program itself gives to the queue. */
    __atomic_store_n(&client->device->is_raw, true, __ATOMIC_RELAXED);
    acu_result code = client->table->queue_get_raw(client->queue, raw);
    acu_client_unlock(client);
    return code ? acu_client_failed(__func__, client, client, code) : ACU_SUCCESS;
}

/* ---- failures ---- */

acu_result acu_client_note_failure(const acu_client *client, acu_result code) {
    acu_recording *recording = acu_recording_find(client);
    if (recording && !recording->failed)
        recording->failed = code;
    return code;
}

/* Returns the description of any living handle. */
static const char *describe_any(const void *handle, char text[ACU_OBJECT_TEXT]) {
    (void)acu_handle_describe(handle, ((const acu_handle *)handle)->was, text, ACU_OBJECT_TEXT);
    return text;
}

acu_result acu_client_fail(const char *call, const acu_client *client, const void *handle,
                           acu_result code, const char *format, ...) {
    char text[ACU_OBJECT_TEXT];
    va_list args;
    va_start(args, format);
    (void)acu_vfail(call, describe_any(handle, text), code, format, args);
    va_end(args);
    return acu_client_note_failure(client, code);
}

acu_result acu_client_failed(const char *call, const acu_client *client, const void *handle,
                             acu_result code) {
    char text[ACU_OBJECT_TEXT];
    code = acu_backend_failed(call, describe_any(handle, text), code);
    return acu_client_note_failure(client, code);
}

acu_result acu_client_refuse_recording(const char *call, const acu_client *client) {
    if (ACU_LIKELY(!acu_recording_find(client)))
        return ACU_SUCCESS;
    return acu_client_fail(call, client, client, ACU_ERROR_CAPTURE,
                           "a replay is being recorded with the client, and nothing of it is done "
                           "yet that could be waited for or read");
}

acu_result acu_client_refuse_function(const char *call, const acu_client *client) {
    return acu_client_fail(call, client, client, ACU_ERROR_STATE,
                           "a program's function would wait for the client whose work it is, and "
                           "so for itself; do that outside of the function");
}

acu_result acu_client_refuse_waiting(const char *call, const acu_client *client) {
    ACU_TRY(acu_client_refuse_recording(call, client));
    return ACU_LIKELY(!acu_client_works_here(client)) ? ACU_SUCCESS
                                                      : acu_client_refuse_function(call, client);
}

uint64_t acu_client_keep_error(acu_client *client, acu_result code, char *words) {
    acu_late_error error = {.number = ++client->late_errors};
    error.code = acu_backend_take_words(code, error.words, sizeof error.words);
    if (words)
        memcpy(words, error.words, sizeof error.words);
    if (!client->late.code)
        client->late = error;
    return error.number;
}

acu_result acu_client_take_error(const char *call, acu_client *client) {
    acu_client_seize(client);
    const acu_late_error late = client->late;
    client->late.code = 0;
    acu_client_unlock(client);
    if (ACU_LIKELY(!late.code))
        return ACU_SUCCESS;
    char text[ACU_OBJECT_TEXT];
    return acu_fail(call, describe_any(client, text), late.code, "earlier work failed: %s",
                    late.words);
}
