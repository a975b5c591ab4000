/* Blocks: writing, reading, copying and filling runs of bytes. */
#include "runtime/backend.h"
#include "runtime/mark.h"
#include "runtime/work.h"

#include <stdlib.h>

/* ---- writing and reading ---- */

/* Bytes that the host has, or wants. */
typedef struct host_work {
    acu_work work;
    acu_block_use use;
    uint64_t at;
    size_t bytes;
    union {
        const void *from;
        void *to;
    } host; /* NULL in a copy, whose bytes follow the struct */
} host_work;

static acu_result perform_write(acu_client *client, const acu_work *work) {
    const host_work *w = (const host_work *)work;
    const void *from = w->host.from ? w->host.from : w + 1;
    return client->table->write(client->queue, w->use.block->memory, w->at, from, w->bytes);
}

static acu_work *keep_write(const acu_work *work) {
    const host_work *w = (const host_work *)work;
    host_work *copy = w->bytes < SIZE_MAX - sizeof *w ? malloc(sizeof *w + w->bytes) : NULL;
    if (!copy)
        return NULL;
    *copy = *w;
    copy->work.uses = &copy->use;
    copy->host.from = NULL;
    memcpy(copy + 1, w->host.from ? w->host.from : w + 1, w->bytes);
    return &copy->work;
}

static const acu_work_kind write_kind = {.call = "acu_block_write",
                                         .perform = perform_write,
                                         .keep = keep_write,
                                         .apart = true,
                                         .slow = true};

/* Writes to a block that other clients own or have used, or into a replay. */
__attribute__((noinline)) static acu_result
give_write(acu_client *client, acu_block *to, uint64_t at, const void *from, size_t bytes) {
    host_work w = {.work = {&write_kind, &w.use, 1, NULL},
                   .use = {to, NULL, true},
                   .at = at,
                   .bytes = bytes,
                   .host.from = from};
    return acu_work_give(client, &w.work);
}

acu_result acu_block_write(acu_client *client, acu_block *to, uint64_t at, const void *from,
                           size_t bytes) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_HANDLE(to, acu_block_class);
    ACU_TRY(acu_block_check(__func__, client, to, at, bytes));
    if (bytes == 0)
        return ACU_SUCCESS;
    if (!from)
        return acu_client_fail(__func__, client, to, ACU_ERROR_ARGUMENT, "'from' is NULL");
    if (!acu_work_begin_write_alone(client, to))
        return give_write(client, to, at, from, bytes);
    const acu_result code = client->table->write(client->queue, to->memory, at, from, bytes);
    acu_work_end_write_alone(client, to);
    return ACU_LIKELY(!code) ? ACU_SUCCESS : acu_client_failed(__func__, client, to, code);
}

static acu_result perform_read(acu_client *client, const acu_work *work) {
    const host_work *w = (const host_work *)work;
    return client->table->read(client->queue, w->use.block->memory, w->at, w->host.to, w->bytes);
}

static acu_result read_after(acu_client *client, const acu_work *work, acu_backend_mark *mark) {
    const host_work *w = (const host_work *)work;
    return client->table->read_after(client->queue, mark, w->use.block->memory, w->at, w->host.to,
                                     w->bytes);
}

static const acu_work_kind read_kind = {.call = "acu_block_read",
                                        .perform = perform_read,
                                        .read_after = read_after,
                                        .apart = true,
                                        .slow = true};

acu_result acu_block_read(acu_client *client, acu_block *from, uint64_t at, void *to,
                          size_t bytes) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_HANDLE(from, acu_block_class);
    ACU_TRY(acu_block_check(__func__, client, from, at, bytes));
    ACU_TRY(acu_client_refuse_recording(__func__, client));
    if (bytes == 0)
        return ACU_SUCCESS;
    if (!to)
        return acu_client_fail(__func__, client, from, ACU_ERROR_ARGUMENT, "'to' is NULL");
    host_work w = {.work = {&read_kind, &w.use, 1, NULL},
                   .use = {from, NULL, false},
                   .at = at,
                   .bytes = bytes,
                   .host.to = to};
    return acu_work_give(client, &w.work);
}

/* ---- copying on a device ---- */

typedef struct copy_work {
    acu_work work;
    acu_block_use uses[3]; /* the destination, the source; for perform_peer() one before */
    uint64_t to_at, from_at, bytes;
} copy_work;

static acu_result perform_copy(acu_client *client, const acu_work *work) {
    const copy_work *w = (const copy_work *)work;
    return client->table->copy(client->queue, w->uses[0].block->memory, w->to_at,
                               w->uses[1].block->memory, w->from_at, w->bytes);
}

static acu_work *keep_copy(const acu_work *work) {
    return acu_work_copy(work, sizeof(copy_work));
}

static const acu_work_kind copy_kind = {
    .call = "acu_block_copy", .perform = perform_copy, .keep = keep_copy, .apart = true};

/* ---- copying between devices ---- */

enum { DETOUR = 4 * 1024 * 1024 }; /* bytes that go through the host at once */

/* Returns the host's address of a block once its queue has done all that uses it; NULL where the
 * place has none. */
static char *host_of(acu_client *client, const acu_block *block) {
    void *host = NULL;
    if (!acu_place_device_can(client->device, ACU_CAN_USE_HOST))
        return NULL;
    acu_result code = client->table->queue_synchronize(client->queue);
    if (code)
        (void)acu_client_keep_error(client, code, NULL);
    code = client->table->memory_get_host(client->device->device, block->memory, &host);
    return code ? NULL : host;
}

/* Copies chunk by chunk through memory of the host. */
static acu_result copy_in_chunks(const copy_work *w) {
    const acu_client *to = w->uses[0].by, *from = w->uses[1].by;
    const size_t most = w->bytes < DETOUR ? (size_t)w->bytes : DETOUR;
    acu_result code = ACU_SUCCESS;
    void *host = malloc(most);
    if (!host)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "the host has no memory to copy through");
    for (uint64_t done = 0; !code && done < w->bytes; done += most) {
        const size_t bytes = w->bytes - done < most ? (size_t)(w->bytes - done) : most;
        code = from->table->read(from->queue, w->uses[1].block->memory, w->from_at + done, host,
                                 bytes);
        if (!code)
            code =
                to->table->write(to->queue, w->uses[0].block->memory, w->to_at + done, host, bytes);
    }
    free(host);
    return code;
}

/* Copies through the host, with the locks of both clients: reads on the queue of the source's, and
 * writes on that of the destination's. Memory that the host can use needs only one of the two. */
static acu_result perform_detour(acu_client *client, const acu_work *work) {
    const copy_work *w = (const copy_work *)work;
    const acu_block *to_block = w->uses[0].block, *from_block = w->uses[1].block;
    acu_client *to = w->uses[0].by, *from = w->uses[1].by;
    (void)client;
    char *host = host_of(from, from_block);
    if (host)
        return to->table->write(to->queue, to_block->memory, w->to_at, host + w->from_at,
                                (size_t)w->bytes);
    host = host_of(to, to_block);
    if (host)
        return from->table->read(from->queue, from_block->memory, w->from_at, host + w->to_at,
                                 (size_t)w->bytes);
    return copy_in_chunks(w);
}

static const acu_work_kind detour_kind = {.call = "acu_block_copy", .perform = perform_detour};

/* Copies between two devices of one back end by its own function, on the queue of the source's
 * client. The destination's client was waited for already, without locks, so that mostly nothing is
 * left to wait for. */
static acu_result perform_peer(acu_client *client, const acu_work *work) {
    const copy_work *w = (const copy_work *)work;
    const acu_block *to_block = w->uses[1].block, *from_block = w->uses[2].block;
    acu_client *to = w->uses[0].by;
    acu_result code = to->table->queue_synchronize(to->queue);
    if (code)
        (void)acu_client_keep_error(to, code, NULL);
    return client->table->copy_peer(client->queue, to->queue, to_block->memory, w->to_at,
                                    from_block->memory, w->from_at, w->bytes);
}

static const acu_work_kind peer_kind = {.call = "acu_block_copy", .perform = perform_peer};

/* Copies between two devices; `w` has the blocks. */
static acu_result copy_between(acu_client *to, acu_client *from, copy_work *w) {
    ACU_TRY(acu_client_refuse_waiting(w->work.kind->call, to));
    ACU_TRY(acu_client_refuse_waiting(w->work.kind->call, from));
    if (to->table == from->table && acu_place_device_can(from->device, ACU_CAN_COPY_PEERS)) {
        w->work.kind = &peer_kind;
        w->work.use_count = 3;
        w->uses[2] = w->uses[1];
        w->uses[1] = w->uses[0]; /* written by the source's queue */
        w->uses[0] = (acu_block_use){w->uses[1].block, to, false}; /* so that it is locked */
        (void)acu_client_wait_for_all(to, NULL);
    } else {
        w->work.kind = &detour_kind;
        w->uses[0].by = to;
        w->uses[1].by = from;
    }
    return acu_work_give(from, &w->work);
}

acu_result acu_block_copy(acu_client *client, acu_block *to, uint64_t to_at, acu_block *from,
                          uint64_t from_at, uint64_t bytes) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_HANDLE(to, acu_block_class);
    ACU_NEED_HANDLE(from, acu_block_class);
    const acu_place_device *device = client->device;
    acu_client *to_client = to->client->device == device ? client : to->client;
    acu_client *from_client = from->client->device == device ? client : from->client;
    /* Where neither is of the client's place, the source is checked against the client and fails.
     */
    ACU_TRY(acu_block_check(__func__, to_client, to, to_at, bytes));
    ACU_TRY(acu_block_check(__func__, to_client == client ? from_client : client, from, from_at,
                            bytes));
    if (bytes == 0 || (to == from && to_at == from_at))
        return ACU_SUCCESS;
    copy_work w = {.work = {&copy_kind, w.uses, 2, NULL},
                   .uses = {{to, NULL, true}, {from, NULL, false}},
                   .to_at = to_at,
                   .from_at = from_at,
                   .bytes = bytes};
    return to_client == from_client ? acu_work_give(client, &w.work)
                                    : copy_between(to_client, from_client, &w);
}

/* ---- filling ---- */

enum { MOST_ELEMENT = 16, PATTERN = 48 * 1024 }; /* bytes */

typedef struct fill_work {
    acu_work work;
    acu_block_use use;
    uint64_t at, bytes;
    size_t element_bytes;
    unsigned char element[MOST_ELEMENT];
} fill_work;

/* Writes the elements from the host, chunk by chunk. */
static acu_result fill_from_host(acu_client *client, const fill_work *w) {
    const uint64_t whole = (PATTERN / w->element_bytes) * w->element_bytes;
    const size_t most = (size_t)(w->bytes < whole ? w->bytes : whole);
    acu_result code = ACU_SUCCESS;
    unsigned char *host = malloc(most);
    if (!host)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "the host has no memory to fill from");
    for (size_t i = 0; i < most; i++)
        host[i] = w->element[i % w->element_bytes];
    for (uint64_t done = 0; !code && done < w->bytes; done += most) {
        const size_t bytes = w->bytes - done < most ? (size_t)(w->bytes - done) : most;
        code = client->table->write(client->queue, w->use.block->memory, w->at + done, host, bytes);
    }
    free(host);
    return code;
}

static acu_result perform_fill(acu_client *client, const acu_work *work) {
    const fill_work *w = (const fill_work *)work;
    if (!client->table->fill)
        return fill_from_host(client, w);
    return client->table->fill(client->queue, w->use.block->memory, w->at, w->bytes, w->element,
                               w->element_bytes);
}

static acu_work *keep_fill(const acu_work *work) {
    return acu_work_copy(work, sizeof(fill_work));
}

static const acu_work_kind fill_kind = {
    .call = "acu_block_fill", .perform = perform_fill, .keep = keep_fill, .apart = true};

acu_result acu_block_fill(acu_client *client, acu_block *block, uint64_t at, uint64_t bytes,
                          const void *element, size_t element_bytes) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_HANDLE(block, acu_block_class);
    ACU_TRY(acu_block_check(__func__, client, block, at, bytes));
    if (element_bytes < 1 || element_bytes > MOST_ELEMENT)
        return acu_client_fail(__func__, client, block, ACU_ERROR_ARGUMENT,
                               "an element has 1 to %d bytes, not %zu", MOST_ELEMENT,
                               element_bytes);
    if (!element)
        return acu_client_fail(__func__, client, block, ACU_ERROR_ARGUMENT, "'element' is NULL");
    if (bytes == 0)
        return ACU_SUCCESS;
    fill_work w = {.work = {&fill_kind, &w.use, 1, NULL},
                   .use = {block, NULL, true},
                   .at = at,
                   .bytes = bytes,
                   .element_bytes = element_bytes};
    memcpy(w.element, element, element_bytes);
    return acu_work_give(client, &w.work);
}
