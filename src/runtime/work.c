/* Work: how it is brought into order with other uses of its blocks, and done or recorded. */
#include "runtime/work.h"

#include "runtime/backend.h"
#include "runtime/mark.h"
#include "runtime/replay.h"

#include <stdlib.h>

acu_work *acu_work_copy(const acu_work *work, size_t size) {
    acu_work *copy = malloc(size);
    if (!copy)
        return NULL;
    memcpy(copy, work, size);
    const ptrdiff_t offset = (const char *)work->uses - (const char *)work;
    if (work->use_count)
        copy->uses = (acu_block_use *)(void *)((char *)copy + offset);
    return copy;
}

static acu_client *user_of(acu_client *client, const acu_block_use *use) {
    return use->by ? use->by : client;
}

/* ---- what a block remembers; under the owner's lock ---- */

static acu_foreign_use *find_foreign(const acu_block *block, const acu_client *client) {
    for (unsigned i = 0; i < block->foreign_count; i++)
        if (block->foreign[i].client == client)
            return &block->foreign[i];
    return NULL;
}

/* Makes room for the uses of a client that is not the owner. */
static bool reserve_foreign(acu_block *block, acu_client *client) {
    if (client == block->client || find_foreign(block, client))
        return true;
    if (block->foreign_count == block->foreign_room) {
        const unsigned room = block->foreign_room ? block->foreign_room * 2 : 2;
        acu_foreign_use *more = realloc(block->foreign, room * sizeof *more);
        if (!more)
            return false;
        block->foreign = more;
        block->foreign_room = room;
    }
    block->foreign[block->foreign_count++] = (acu_foreign_use){acu_handle_add_owner(client), 0, 0};
    block->special = true;
    return true;
}

/* Forgets the uses before a write, which comes after them. Who calls is another owner of all
 * clients that lose one here. */
static void forget_others(acu_block *block, const acu_client *writer) {
    unsigned left = 0;
    for (unsigned i = 0; i < block->foreign_count; i++) {
        const acu_foreign_use foreign = block->foreign[i];
        if (foreign.client == writer)
            block->foreign[left++] = foreign;
        else
            __atomic_sub_fetch(&foreign.client->handle.owners, 1, __ATOMIC_RELEASE);
    }
    block->foreign_count = left;
    if (writer != block->client)
        block->used = block->written = 0;
    block->special = left || block->readers;
}

static void note_use(acu_block *block, const acu_client *client, bool writes) {
    const bool is_owner = client == block->client;
    acu_foreign_use *foreign = is_owner ? NULL : find_foreign(block, client);
    *(is_owner ? &block->used : &foreign->used) = client->given;
    if (!writes)
        return;
    *(is_owner ? &block->written : &foreign->written) = client->given;
    block->epoch = __atomic_load_n(&acu_mark_epoch, __ATOMIC_RELAXED);
    if (!ACU_LIKELY(!block->special))
        forget_others(block, client);
}

/* ---- several clients ---- */

/* The clients whose locks are needed, in the order of their addresses, each with an owner more. */
typedef struct crowd {
    acu_client *few[8], **clients;
    unsigned count, room;
} crowd;

/* Adds a client; returns 1, 0 if it was there already, or -1 where the host has no memory. */
static int add_client(crowd *c, acu_client *client) {
    unsigned at = 0;
    while (at < c->count && c->clients[at] < client)
        at++;
    if (at < c->count && c->clients[at] == client)
        return 0;
    if (c->count == c->room) {
        acu_client **more = malloc(sizeof(acu_client *) * 2 * c->room);
        if (!more)
            return -1;
        memcpy(more, c->clients, c->count * sizeof(acu_client *));
        if (c->clients != c->few)
            free(c->clients);
        c->clients = more;
        c->room *= 2;
    }
    memmove(&c->clients[at + 1], &c->clients[at], (c->count - at) * sizeof(acu_client *));
    c->clients[at] = acu_handle_add_owner(client);
    c->count++;
    return 1;
}

/* Adds the clients that can be told without a lock. */
static bool add_users(crowd *c, acu_client *client, const acu_work *work) {
    bool added = add_client(c, client) >= 0;
    for (unsigned i = 0; added && i < work->use_count; i++)
        added = add_client(c, user_of(client, &work->uses[i])) >= 0 &&
                add_client(c, work->uses[i].block->client) >= 0;
    return added;
}

static bool has_client(const crowd *c, const acu_client *client) {
    for (unsigned i = 0; i < c->count; i++)
        if (c->clients[i] == client)
            return true;
    return false;
}

/* Returns a client that a block remembers and whose lock is not held, with an owner more; NULL if
 * there is none. Under the locks of the blocks' owners. */
static acu_client *find_missing(const crowd *c, const acu_work *work) {
    for (unsigned i = 0; i < work->use_count; i++) {
        const acu_block *block = work->uses[i].block;
        for (unsigned j = 0; j < block->foreign_count; j++)
            if (!has_client(c, block->foreign[j].client))
                return acu_handle_add_owner(block->foreign[j].client);
    }
    return NULL;
}

static void unlock_all(const crowd *c) {
    for (unsigned i = 0; i < c->count; i++)
        acu_client_unlock(c->clients[i]);
}

/* Gives up all locks but one client's, waits until something has changed with it, and gives up its
 * lock, too. */
static void wait_for_change(const crowd *c, acu_client *client) {
    for (unsigned i = 0; i < c->count; i++)
        if (c->clients[i] != client)
            acu_client_unlock(c->clients[i]);
    pthread_cond_wait(&client->changed, &client->lock);
    acu_client_unlock(client);
}

/* Returns whether the work is given to the client's queue. */
static bool needs_queue(acu_client *client, const acu_work *work, const acu_client *of) {
    bool needs = of == client;
    for (unsigned i = 0; !needs && i < work->use_count; i++)
        needs = work->uses[i].by == of;
    return needs;
}

/* Returns a client with which another thread records, or whose queue is needed and which another
 * thread uses; NULL if there is none. With all locks. */
static acu_client *find_engaged(const crowd *c, acu_client *client, const acu_work *work) {
    for (unsigned i = 0; i < c->count; i++) {
        acu_client *one = c->clients[i];
        if ((one->recording && !acu_recording_is_here(one->recording)) ||
            (one->busy && needs_queue(client, work, one)))
            return one;
    }
    return NULL;
}

/* Locks all; waits where another thread records with one of them, or uses a queue that is needed.
 * Of the other clients only what they remember is needed, though their queues may be busy. */
static void lock_all(const crowd *c, acu_client *client, const acu_work *work) {
    for (;;) {
        for (unsigned i = 0; i < c->count; i++)
            acu_client_peek(c->clients[i]);
        acu_client *engaged = find_engaged(c, client, work);
        if (!engaged)
            return;
        wait_for_change(c, engaged);
    }
}

static void leave(crowd *c) {
    for (unsigned i = 0; i < c->count; i++)
        (void)acu_handle_release(__func__, c->clients[i], &acu_client_class);
    if (c->clients != c->few)
        free(c->clients);
}

/* ---- order; with all locks ---- */

/* Returns whether a client's next work need not wait for another client's work up to a number. */
static bool is_in_order(const acu_client *client, const acu_client *other, uint64_t number) {
    return client == other || number <= other->done || acu_client_has_seen(client, other, number);
}

/* Makes a mark for all work that a client was given so far; NULL where that fails. */
static acu_backend_mark *make_mark(acu_client *client) {
    acu_backend_mark *mark = NULL;
    acu_saved_record before;
    acu_record_save(&before);
    const acu_result code = client->table->mark_create(client->queue, &mark);
    if (!acu_backend_check(code, mark, "mark"))
        return mark;
    acu_record_restore(&before);
    return NULL;
}

/* Puts a mark behind the client's last work, in the place of the oldest one, if other clients have
 * waited for this one. Where there is no mark, they wait for more than they need to. */
static void note_step(acu_client *client) {
    acu_step *step = &client->steps[client->next_step];
    if (!client->awaited || client->capturing)
        return;
    acu_shared_mark *shared = malloc(sizeof *shared);
    acu_backend_mark *mark = shared ? make_mark(client) : NULL;
    if (!mark) {
        free(shared);
        return;
    }
    *shared = (acu_shared_mark){mark, 1};
    acu_client_drop_shared_mark(client, step->shared);
    *step = (acu_step){client->given, shared};
    client->marked = true;
    client->next_step = (client->next_step + 1) % ACU_MOST_STEPS;
}

/* Returns the earliest step of a client that comes after its work of a number; NULL if none. */
static const acu_step *find_step(const acu_client *client, uint64_t number) {
    const acu_step *found = NULL;
    for (unsigned i = 0; i < ACU_MOST_STEPS; i++) {
        const acu_step *step = &client->steps[i];
        if (step->number >= number && (!found || step->number < found->number))
            found = step;
    }
    return found;
}

/* Lets the client's queue wait for another client's work up to a number; for all that it was given
 * so far where no mark is nearer. Returns false where only the thread can wait, also because
 * something failed, which waiting then shows, or because another thread uses that queue. */
static bool queue_waits(acu_client *client, acu_client *other, uint64_t number) {
    const acu_backend *table = client->table;
    if (table != other->table || !table->queue_wait || !table->mark_create)
        return false;
    other->awaited = true;
    const acu_step *near = find_step(other, number);
    if (!near && other->busy)
        return false;
    acu_backend_mark *mark = near ? near->shared->mark : make_mark(other);
    if (!mark)
        return false;
    acu_saved_record before;
    acu_record_save(&before);
    acu_result code = table->queue_wait(client->queue, mark);
    if (!near)
        table->mark_destroy(mark);
    if (code)
        acu_record_restore(&before);
    else
        acu_client_note_seen(client, other, near ? near->number : other->given);
    return code == ACU_SUCCESS;
}

/* Brings one use of a block into order. Returns the client that the thread must wait for, or NULL.
 */
static acu_client *order_use(acu_client *client, const acu_block_use *use) {
    const acu_block *block = use->block;
    acu_client *user = user_of(client, use);
    const uint64_t own = use->writes ? block->used : block->written;
    if (!is_in_order(user, block->client, own) && !queue_waits(user, block->client, own))
        return block->client;
    for (unsigned i = 0; i < block->foreign_count; i++) {
        const acu_foreign_use *f = &block->foreign[i];
        const uint64_t number = use->writes ? f->used : f->written;
        if (!is_in_order(user, f->client, number) && !queue_waits(user, f->client, number))
            return f->client;
    }
    return NULL;
}

static acu_client *order(acu_client *client, const acu_work *work) {
    acu_client *other = NULL;
    for (unsigned i = 0; !other && i < work->use_count; i++)
        other = order_use(client, &work->uses[i]);
    return other;
}

/* Returns the owner of a block that the work writes to while a thread reads it; NULL if none. */
static acu_client *find_read(const acu_work *work) {
    for (unsigned i = 0; i < work->use_count; i++)
        if (work->uses[i].writes && work->uses[i].block->readers)
            return work->uses[i].block->client;
    return NULL;
}

static bool reserve(acu_client *client, const acu_work *work) {
    bool reserved = true;
    for (unsigned i = 0; reserved && i < work->use_count; i++)
        reserved = reserve_foreign(work->uses[i].block, user_of(client, &work->uses[i]));
    return reserved;
}

/* Does the work, and remembers it with its blocks, also where it failed, perhaps half done. */
static acu_result perform(acu_client *client, const acu_work *work) {
    client->given++;
    for (unsigned i = 0; i < work->use_count; i++)
        if (work->uses[i].by && work->uses[i].by != client)
            work->uses[i].by->given++;
    acu_result code = work->kind->perform(client, work);
    for (unsigned i = 0; i < work->use_count; i++) {
        const acu_block_use *use = &work->uses[i];
        note_use(use->block, user_of(client, use), use->writes);
    }
    return code;
}

/* Does work with the client's lock alone, or without any: other clients are given work meanwhile.
 * Who uses the blocks sees the use already, for which there is no mark before the work is given. */
static acu_result perform_apart(const crowd *c, acu_client *client, const acu_work *work) {
    client->given++;
    for (unsigned i = 0; i < work->use_count; i++)
        note_use(work->uses[i].block, client, work->uses[i].writes);
    for (unsigned i = 0; i < c->count; i++)
        if (c->clients[i] != client)
            acu_client_unlock(c->clients[i]);
    if (work->kind->slow)
        acu_client_begin_slow_work(client);
    const acu_result code = work->kind->perform(client, work);
    if (work->kind->slow)
        acu_client_end_slow_work(client);
    if (!code) /* the words of a failure stay */
        note_step(client);
    acu_client_unlock(client);
    return code;
}

/* Does work that is in order. With all locks, which are given up. */
static acu_result perform_in_order(const crowd *c, acu_client *client, const acu_work *work) {
    const bool reserved = reserve(client, work);
    if (reserved && work->kind->apart)
        return perform_apart(c, client, work);
    const acu_result code = reserved ? perform(client, work) : ACU_ERROR_HOST_MEMORY;
    if (!code) /* the words of a failure stay */
        note_step(client);
    unlock_all(c);
    return code;
}

/* Returns a mark by which work that reads to the host, and is in order now, can be done beside all
 * other work; what writes to the block waits from then on. NULL where it cannot. With all locks. */
static acu_backend_mark *begin_beside(acu_client *client, const acu_work *work) {
    acu_block *block = work->uses[0].block;
    if (!work->kind->read_after || !acu_place_device_can(client->device, ACU_CAN_READ_BESIDE))
        return NULL;
    acu_backend_mark *mark = make_mark(client);
    if (mark)
        acu_block_begin_read(block);
    return mark;
}

/* Does the work that begin_beside() began; without any lock, so that other clients' work can be
 * given meanwhile. */
static acu_result read_beside(acu_client *client, const acu_work *work, acu_backend_mark *mark) {
    const acu_result code = work->kind->read_after(client, work, mark);
    acu_client_seize(client);
    client->table->mark_destroy(mark);
    acu_client_unlock(client);
    acu_block_end_read(work->uses[0].block);
    return code;
}

/* Waits for another client's work, which comes before this work. Where that failed, this work is
 * not done, since what it would read may be wrong. A block goes back to its owner all the same. */
static acu_result wait_for(acu_client *other, const acu_work *work) {
    char words[ACU_LATE_WORDS];
    const acu_result code = acu_client_wait_for_all(other, words);
    if (!code || work->kind->at_once)
        return ACU_SUCCESS;
    return acu_backend_fail(code, "another client's work, which comes first, failed: %s", words);
}

/* What a step towards doing the work came to. */
enum outcome { DONE, MISSING, AGAIN };

/* Does the work if all locks that are needed can be had, and nothing has to be waited for; gives
 * the locks up. AGAIN: something was waited for. MISSING: the lock of `missing`, which has an owner
 * more, is needed, too. */
static enum outcome step(const crowd *c, acu_client *client, const acu_work *work, acu_result *code,
                         acu_client **missing) {
    lock_all(c, client, work);
    acu_client *other = find_read(work);
    if (other) {
        wait_for_change(c, other);
        return AGAIN;
    }
    *missing = find_missing(c, work);
    other = *missing ? NULL : order(client, work);
    if (other && other->busy) { /* soon there is a mark to wait for */
        wait_for_change(c, other);
        return AGAIN;
    }
    const bool ready = !*missing && !other;
    acu_backend_mark *mark = ready ? begin_beside(client, work) : NULL;
    if (ready && !mark)
        *code = perform_in_order(c, client, work);
    else
        unlock_all(c);
    if (mark)
        *code = read_beside(client, work, mark);
    if (*missing)
        return MISSING;
    if (!other)
        return DONE;
    *code = wait_for(other, work);
    return *code ? DONE : AGAIN;
}

/* Does work whose blocks other clients own or have used, or whose blocks are being read. */
__attribute__((noinline)) static acu_result do_in_order(acu_client *client, const acu_work *work) {
    crowd c = {.clients = c.few, .room = sizeof c.few / sizeof *c.few};
    acu_result code = add_users(&c, client, work) ? ACU_SUCCESS : ACU_ERROR_HOST_MEMORY;
    enum outcome outcome = code ? DONE : AGAIN;
    while (outcome != DONE) {
        acu_client *missing = NULL;
        outcome = step(&c, client, work, &code, &missing);
        if (missing && add_client(&c, missing) < 0) {
            code = ACU_ERROR_HOST_MEMORY;
            outcome = DONE;
        }
        (void)acu_handle_release(__func__, missing, &acu_client_class);
    }
    leave(&c);
    return code;
}

/* ---- giving ---- */

/* Returns whether no client but this one has to do with the blocks; under the client's lock. */
static bool is_alone(const acu_client *client, const acu_work *work) {
    for (unsigned i = 0; i < work->use_count; i++) {
        const acu_block_use *use = &work->uses[i];
        if (use->block->client != client || use->block->special || (use->by && use->by != client))
            return false;
    }
    return true;
}

/* Records why work was not done. */
ACU_COLD static acu_result fail(acu_client *client, const acu_work *work, acu_result code,
                                bool in_backend) {
    const char *call = work->kind->call;
    const void *handle = work->use_count ? (const void *)work->uses[0].block : client;
    if (in_backend)
        return acu_client_failed(call, client, handle, code);
    if (code == ACU_ERROR_CAPTURE)
        return acu_client_fail(call, client, handle, code,
                               "a replay is being recorded with the client, and the call waits");
    return acu_client_fail(call, client, handle, code, "the host has no memory for the call");
}

acu_result acu_work_give(acu_client *client, acu_work *work) {
    ACU_TRY(acu_client_lock(work->kind->call, client));
    if (ACU_LIKELY(!client->recording && is_alone(client, work))) {
        acu_result code = perform(client, work);
        acu_client_unlock(client);
        return ACU_LIKELY(!code) ? ACU_SUCCESS : fail(client, work, code, true);
    }
    if (client->recording && !work->kind->at_once) {
        acu_result code = acu_recording_add(client->recording, work);
        acu_client_unlock(client);
        return code ? fail(client, work, code, false) : ACU_SUCCESS;
    }
    acu_client_unlock(client);
    acu_result code = do_in_order(client, work);
    return code ? fail(client, work, code, code != ACU_ERROR_HOST_MEMORY) : ACU_SUCCESS;
}
