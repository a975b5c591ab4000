/* Replays: recorded work that is run again, in one piece or call by call. */
#include "runtime/replay.h"

#include "runtime/backend.h"

#include <stdlib.h>

typedef struct named_block {
    char *name;
    acu_block *block; /* kept */
} named_block;

struct acu_replay {
    acu_handle handle;
    /* What does not change once it is made: */
    acu_client *client;          /* kept */
    acu_work *first;             /* the recorded work */
    acu_block_use *uses;         /* of all of it, each block once; the list keeps them */
    acu_backend_replay *real;    /* NULL: the calls are made again */
    bool is_real;                /* a replay of a back end may be any number */
    char why[ACU_BACKEND_WORDS]; /* not */
    size_t name_count, use_count;
    named_block *names;
    uint64_t last_run; /* the number of its work; under the client's lock */
};

/* ---- runs ---- */

/* Performs a list of work; with the lock. */
static acu_result perform_all(acu_client *client, const acu_work *first) {
    acu_result code = ACU_SUCCESS;
    for (const acu_work *work = first; !code && work; work = work->next)
        code = work->kind->perform(client, work);
    return code;
}

typedef struct run_work {
    acu_work work;
    acu_replay *replay; /* kept in a recording */
} run_work;

/* A run inside of another replay is captured call by call. */
static acu_result perform_run(acu_client *client, const acu_work *work) {
    acu_replay *replay = ((const run_work *)work)->replay;
    replay->last_run = client->given;
    if (replay->is_real && !client->capturing)
        return client->table->replay_run(client->queue, replay->real);
    return perform_all(client, replay->first);
}

static acu_work *keep_run(const acu_work *work) {
    run_work *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *(const run_work *)work;
    (void)acu_handle_add_owner(copy->replay);
    return &copy->work;
}

static void drop_run(acu_work *work) {
    (void)acu_handle_release(NULL, ((run_work *)work)->replay, &acu_replay_class);
    free(work);
}

static const acu_work_kind run_kind = {.call = "acu_replay_run",
                                       .perform = perform_run,
                                       .keep = keep_run,
                                       .drop = drop_run,
                                       .apart = true};

acu_result acu_replay_run(acu_replay *replay) {
    ACU_NEED_HANDLE(replay, acu_replay_class);
    run_work run = {.work = {&run_kind, replay->uses, (unsigned)replay->use_count, NULL},
                    .replay = replay};
    return acu_work_give(replay->client, &run.work);
}

/* ---- life ---- */

static void describe(const acu_handle *handle, acu_handle_text *text) {
    acu_handle_add_place(text, ((const acu_replay *)handle)->client->device->place);
}

/* Gives the back end's replay back once its runs are done. */
static void give_back(acu_replay *replay) {
    acu_client *client = replay->client;
    acu_client_seize(client);
    const bool runs = replay->last_run > client->done;
    acu_client_unlock(client);
    if (runs)
        (void)acu_client_wait_for_all(client, NULL);
    acu_client_seize(client);
    client->table->replay_destroy(replay->real);
    acu_client_unlock(client);
}

static acu_result first_of(acu_result one, acu_result other) {
    return one ? one : other;
}

static acu_result destroy(acu_handle *handle) {
    acu_replay *replay = (acu_replay *)handle;
    acu_client *client = replay->client;
    if (replay->is_real && !acu_client_is_of_parent(client))
        give_back(replay);
    acu_result code = acu_recording_drop(replay->first);
    for (size_t i = 0; i < replay->name_count; i++) {
        free(replay->names[i].name);
        code = first_of(code, acu_handle_release(NULL, replay->names[i].block, &acu_block_class));
    }
    free(replay->names);
    free(replay->uses);
    return first_of(code, acu_handle_release(NULL, client, &acu_client_class));
}

const acu_handle_class acu_replay_class = {"replay", destroy, describe};

acu_replay *acu_replay_retain(acu_replay *replay) {
    return acu_handle_retain(__func__, replay, &acu_replay_class);
}

acu_result acu_replay_release(acu_replay *replay) {
    return acu_handle_release(__func__, replay, &acu_replay_class);
}

void acu_replay_cleanup(acu_replay **replay) {
    (void)acu_replay_release(acu_take(replay));
}

size_t acu_replay_describe(const acu_replay *replay, char *text, size_t size) {
    return acu_handle_describe(replay, &acu_replay_class, text, size);
}

bool acu_replay_is_real(const acu_replay *replay) {
    return acu_handle_is(replay, &acu_replay_class) && replay->is_real;
}

const char *acu_replay_why(const acu_replay *replay) {
    return acu_handle_is(replay, &acu_replay_class) ? replay->why : "";
}

acu_result acu_replay_get_block(acu_replay *replay, const char *name, acu_block **block) {
    ACU_NEED_PLACE_FOR(block);
    ACU_NEED_HANDLE(replay, acu_replay_class);
    ACU_NEED_ADDRESS(name);
    for (size_t i = 0; i < replay->name_count; i++)
        if (strcmp(replay->names[i].name, name) == 0) {
            *block = replay->names[i].block;
            return ACU_SUCCESS;
        }
    return acu_client_fail(__func__, replay->client, replay, ACU_ERROR_ARGUMENT,
                           "the replay has no block of the name '%.40s'", name);
}

/* ---- capturing ---- */

/* The work that lets the back end capture a list; done at once, and it uses no block yet. */
typedef struct capture_work {
    acu_work work;
    acu_replay *replay;
} capture_work;

/* Lets the back end capture the list; with the lock. */
static acu_result capture_all(acu_client *client, acu_replay *replay) {
    const acu_backend *table = client->table;
    acu_result code = table->capture_begin(client->queue);
    if (code)
        return code;
    client->capturing = true;
    code = perform_all(client, replay->first);
    client->capturing = false;
    if (!code)
        code = table->capture_end(client->queue, &replay->real);
    if (code)
        table->capture_cancel(client->queue);
    return acu_backend_check(code, replay->real, "replay");
}

/* Where the back end cannot capture, the replay says why, which is no failure. */
static acu_result perform_capture(acu_client *client, const acu_work *work) {
    acu_replay *replay = ((const capture_work *)work)->replay;
    acu_saved_record before;
    acu_record_save(&before);
    acu_result code = capture_all(client, replay);
    replay->is_real = !code;
    if (code != ACU_NOT_SUPPORTED)
        return code;
    (void)acu_backend_take_words(code, replay->why, sizeof replay->why);
    acu_record_restore(&before);
    return ACU_SUCCESS;
}

static const acu_work_kind capture_kind = {
    .call = "acu_replay_record", .perform = perform_capture, .at_once = true};

/* Makes the replay one piece of work where the place can do that. */
static acu_result capture(acu_replay *replay) {
    acu_client *client = replay->client;
    if (!acu_place_device_can(client->device, ACU_CAN_CAPTURE)) {
        (void)strcpy(replay->why, "the place cannot capture");
        return ACU_SUCCESS;
    }
    capture_work work = {.work = {&capture_kind, NULL, 0, NULL}, .replay = replay};
    return acu_work_give(client, &work.work);
}

/* ---- recording ---- */

static int by_address(const void *one, const void *other) {
    const uintptr_t a = (uintptr_t)((const acu_block_use *)one)->block;
    const uintptr_t b = (uintptr_t)((const acu_block_use *)other)->block;
    return (a > b) - (a < b);
}

/* Gathers the uses of all work, each block once. Returns false where the host has no memory. */
static bool gather(acu_replay *replay) {
    size_t count = 0, left = 0;
    for (const acu_work *work = replay->first; work; work = work->next)
        count += work->use_count;
    if (count == 0)
        return true;
    acu_block_use *uses = replay->uses = malloc(count * sizeof *uses);
    if (!uses)
        return false;
    for (const acu_work *work = replay->first; work; work = work->next)
        for (unsigned i = 0; i < work->use_count; i++)
            uses[left++] = work->uses[i];
    qsort(uses, count, sizeof *uses, by_address);
    left = 0;
    for (size_t i = 0; i < count; i++)
        if (left && uses[left - 1].block == uses[i].block)
            uses[left - 1].writes |= uses[i].writes;
        else
            uses[left++] = uses[i];
    replay->use_count = left;
    return true;
}

static acu_result check_named(const char *call, const acu_client *client,
                              const acu_named_block *named, size_t count) {
    if (count && !named)
        return acu_client_fail(call, client, client, ACU_ERROR_ARGUMENT, "'named' is NULL");
    for (size_t i = 0; i < count; i++) {
        if (!named[i].name)
            return acu_client_fail(call, client, client, ACU_ERROR_ARGUMENT,
                                   "the name of block %zu is NULL", i);
        if (!acu_handle_is(named[i].block, &acu_block_class))
            return acu_handle_refuse(call, named[i].block, &acu_block_class);
        ACU_TRY(acu_block_check(call, client, named[i].block, 0, 0));
        for (size_t j = 0; j < i; j++)
            if (strcmp(named[i].name, named[j].name) == 0)
                return acu_client_fail(call, client, client, ACU_ERROR_ARGUMENT,
                                       "two blocks have the name '%.40s'", named[i].name);
    }
    return ACU_SUCCESS;
}

/* Copies the names and keeps their blocks. Returns false where the host has no memory. */
static bool keep_named(acu_replay *replay, const acu_named_block *named, size_t count) {
    if (count == 0)
        return true;
    replay->names = calloc(count, sizeof *replay->names);
    for (size_t i = 0; replay->names && i < count; i++) {
        const size_t size = strlen(named[i].name) + 1;
        char *name = malloc(size);
        if (!name)
            return false;
        replay->names[i].name = memcpy(name, named[i].name, size);
        replay->names[i].block = acu_handle_add_owner(named[i].block);
        replay->name_count++;
    }
    return replay->names != NULL;
}

/* Lets the function give its work, of which the recording then has the list. */
static acu_result record(acu_client *client, acu_result (*function)(acu_client *, void *),
                         void *data, acu_recording *recording) {
    static const char call[] = "acu_replay_record";
    ACU_TRY(acu_client_lock(call, client));
    acu_recording_begin(recording, client);
    client->recording = recording;
    acu_client_unlock(client);
    acu_result code = function(client, data);
    acu_client_seize(client);
    client->recording = NULL;
    acu_recording_end(recording);
    acu_client_thaw(client);
    pthread_cond_broadcast(&client->changed);
    acu_client_unlock(client);
    if (code && acu_record_last()->code != code)
        return acu_client_fail(call, client, client, code, "the function returned %d", code);
    return code ? code : recording->failed;
}

/* Makes the new replay what was recorded. */
static acu_result finish(acu_replay *replay, const acu_named_block *named, size_t count) {
    if (!keep_named(replay, named, count) || !gather(replay))
        return acu_client_fail("acu_replay_record", replay->client, replay, ACU_ERROR_HOST_MEMORY,
                               "the host has no memory for the replay");
    return capture(replay);
}

acu_result acu_replay_record(acu_client *client,
                             acu_result (*function)(acu_client *client, void *data), void *data,
                             const acu_named_block *named, size_t count, acu_replay **replay) {
    acu_recording recording = {0};
    ACU_NEED_PLACE_FOR(replay);
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_ADDRESS(function);
    if (acu_recording_find(client))
        return acu_client_fail(__func__, client, client, ACU_ERROR_STATE,
                               "a replay is already being recorded with the client");
    ACU_TRY(check_named(__func__, client, named, count));
    acu_replay *made = acu_handle_new(__func__, &acu_replay_class, sizeof *made);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->client = acu_handle_add_owner(client);
    acu_result code = record(client, function, data, &recording);
    made->first = recording.first;
    if (!code)
        code = finish(made, named, count);
    if (code)
        (void)acu_handle_release(__func__, made, &acu_replay_class);
    else
        *replay = made;
    return code;
}
