/* Marks: how they are made, asked, waited for and released. */
#include "runtime/mark.h"

#include "runtime/backend.h"

#include <stdlib.h>

uint64_t acu_mark_epoch;

/* ---- life ---- */

static void describe(const acu_handle *handle, acu_handle_text *text) {
    acu_handle_add_place(text, ((const acu_mark *)handle)->client->device->place);
}

static acu_result destroy(acu_handle *handle) {
    acu_mark *mark = (acu_mark *)handle;
    acu_client *client = mark->client;
    if (mark->mark && !acu_client_is_of_parent(client)) {
        acu_client_seize(client);
        if (mark->shared)
            acu_client_drop_shared_mark(client, mark->shared);
        else
            client->table->mark_destroy(mark->mark);
        acu_client_unlock(client);
    }
    return acu_handle_release(NULL, client, &acu_client_class);
}

const acu_handle_class acu_mark_class = {"mark", destroy, describe};

/* Returns a mark that is behind all that the queue was given; NULL if there is none. */
static acu_shared_mark *find_last(const acu_client *client) {
    const unsigned last = (client->next_step + ACU_MOST_STEPS - 1) % ACU_MOST_STEPS;
    const acu_step *step = &client->steps[last];
    const bool is_last = client->marked && step->number == client->given &&
                         !__atomic_load_n(&client->device->is_raw, __ATOMIC_RELAXED);
    return is_last ? step->shared : NULL;
}

/* Gives the mark its place in the client's work. Returns the code of the back end. */
static acu_result set(acu_mark *mark) {
    acu_client *client = mark->client;
    mark->number = client->given;
    mark->epoch = __atomic_add_fetch(&acu_mark_epoch, 1, __ATOMIC_RELAXED);
    if (!client->table->mark_create)
        return ACU_SUCCESS;
    mark->shared = find_last(client);
    if (mark->shared) {
        mark->shared->owners++;
        mark->mark = mark->shared->mark;
        return ACU_SUCCESS;
    }
    acu_result code = client->table->mark_create(client->queue, &mark->mark);
    return acu_backend_check(code, mark->mark, "mark");
}

/* Waits for the work before a mark of a back end that has no marks. An error of it is the mark's,
 * and the client's until either returns it. */
static void wait_at_once(acu_mark *mark) {
    acu_client *client = mark->client;
    (void)acu_client_wait_for_all(client, NULL);
    acu_client_seize(client);
    mark->error = client->late;
    acu_client_unlock(client);
}

acu_result acu_mark_create(acu_client *client, acu_mark **mark) {
    ACU_NEED_PLACE_FOR(mark);
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_TRY(acu_client_refuse_recording(__func__, client));
    acu_mark *made = acu_handle_new(__func__, &acu_mark_class, sizeof *made);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->client = client;
    acu_result locked = acu_client_lock(__func__, client), code = 0;
    if (!locked) {
        code = set(made);
        acu_client_unlock(client);
    }
    if (locked || code) {
        acu_handle_discard(made);
        return code ? acu_client_failed(__func__, client, client, code) : locked;
    }
    (void)acu_handle_add_owner(client);
    if (!client->table->mark_create)
        wait_at_once(made);
    *mark = made;
    return ACU_SUCCESS;
}

acu_mark *acu_mark_retain(acu_mark *mark) {
    return acu_handle_retain(__func__, mark, &acu_mark_class);
}

acu_result acu_mark_release(acu_mark *mark) {
    return acu_handle_release(__func__, mark, &acu_mark_class);
}

void acu_mark_cleanup(acu_mark **mark) {
    (void)acu_mark_release(acu_take(mark));
}

size_t acu_mark_describe(const acu_mark *mark, char *text, size_t size) {
    return acu_handle_describe(mark, &acu_mark_class, text, size);
}

acu_client *acu_mark_client(const acu_mark *mark) {
    return acu_handle_is(mark, &acu_mark_class) ? mark->client : NULL;
}

/* ---- waiting ---- */

/* Returns the error of a mark that was waited for where it was made. The client does not return the
 * same error once more. */
static acu_result own_error(const char *call, acu_mark *mark) {
    acu_client *client = mark->client;
    if (!mark->error.code)
        return ACU_SUCCESS;
    acu_client_seize(client);
    if (client->late.number == mark->error.number)
        client->late.code = 0;
    acu_client_unlock(client);
    return acu_client_fail(call, client, mark, mark->error.code, "earlier work failed: %s",
                           mark->error.words);
}

void acu_mark_note_done(const acu_mark *mark) {
    acu_client *client = mark->client;
    acu_client_peek(client);
    if (client->done < mark->number)
        client->done = mark->number;
    acu_client_unlock(client);
}

acu_result acu_mark_query(acu_mark *mark) {
    ACU_NEED_HANDLE(mark, acu_mark_class);
    ACU_TRY(acu_client_refuse_parent(__func__, mark->client));
    if (!mark->mark)
        return own_error(__func__, mark);
    acu_result code = mark->client->table->mark_query(mark->mark);
    if (code == ACU_SUCCESS || code == ACU_NOT_READY)
        return code;
    return acu_client_failed(__func__, mark->client, mark, code);
}

acu_result acu_mark_refuse_function(const char *call, const acu_mark *mark) {
    const acu_client *client = mark->client;
    if (ACU_LIKELY(!acu_client_works_here(client)) || !mark->mark ||
        (!client->on_cpu && client->table->mark_query(mark->mark) != ACU_NOT_READY))
        return ACU_SUCCESS;
    return acu_client_refuse_function(call, client);
}

acu_result acu_mark_synchronize(acu_mark *mark) {
    ACU_NEED_HANDLE(mark, acu_mark_class);
    ACU_TRY(acu_client_refuse_recording(__func__, mark->client));
    ACU_TRY(acu_client_refuse_parent(__func__, mark->client));
    if (!mark->mark)
        return own_error(__func__, mark);
    ACU_TRY(acu_mark_refuse_function(__func__, mark));
    acu_result code = mark->client->table->mark_synchronize(mark->mark);
    acu_mark_note_done(mark);
    return code ? acu_client_failed(__func__, mark->client, mark, code) : ACU_SUCCESS;
}

void acu_mark_wait(acu_mark *mark) {
    acu_client *client = mark->client;
    if (!mark->mark || acu_client_is_of_parent(client))
        return;
    acu_result code = client->table->mark_synchronize(mark->mark);
    acu_mark_note_done(mark);
    if (!code)
        return;
    acu_client_seize(client);
    (void)acu_client_keep_error(client, code, NULL);
    acu_client_unlock(client);
}
