/* Blocks: reading what was there at a mark, beside later work. */
#include "runtime/backend.h"
#include "runtime/mark.h"
#include "runtime/work.h"

/* What is read, as acu_block_read_after() was asked. */
typedef struct late_read {
    acu_work work; /* where the place cannot read beside its work */
    acu_block_use use;
    acu_mark *mark;
    uint64_t at;
    size_t bytes;
    void *to;
} late_read;

static bool is_lost(const late_read *r) {
    return r->use.block->epoch >= r->mark->epoch;
}

static acu_result fail_lost(void) {
    return acu_backend_fail(
        ACU_ERROR_STATE, "the block was made or written to after the mark: what was there at the "
                         "mark is lost; read before the work that writes is given");
}

/* Reads in the client's order. The order with other clients' writes is that of any read. */
static acu_result perform_read(acu_client *client, const acu_work *work) {
    const late_read *r = (const late_read *)work;
    if (is_lost(r))
        return fail_lost();
    return client->table->read(client->queue, r->use.block->memory, r->at, r->to, r->bytes);
}

static const acu_work_kind read_kind = {
    .call = "acu_block_read_after", .perform = perform_read, .apart = true, .slow = true};

/* Begins a read beside other work: what writes to the block now waits. Without any lock. Returns
 * whether the bytes are still there. */
static bool begin(const late_read *r) {
    acu_block *block = r->use.block;
    acu_client_peek(block->client);
    const bool lost = is_lost(r);
    if (!lost)
        acu_block_begin_read(block);
    acu_client_unlock(block->client);
    return !lost;
}

static acu_result read_beside(acu_client *client, const late_read *r) {
    acu_block *block = r->use.block;
    if (!begin(r))
        return fail_lost();
    acu_block_wait(block, true, r->mark->client); /* the mark covers its own client's alone */
    acu_result code = client->table->read_after(client->queue, r->mark->mark, block->memory, r->at,
                                                r->to, r->bytes);
    acu_block_end_read(block);
    if (!code)
        acu_mark_note_done(r->mark);
    return code;
}

static acu_result check(acu_client *client, const acu_mark *mark, const acu_block *from,
                        uint64_t at, const void *to, size_t bytes) {
    static const char call[] = "acu_block_read_after";
    ACU_TRY(acu_block_check(call, client, from, at, bytes));
    ACU_TRY(acu_client_refuse_recording(call, client));
    ACU_TRY(acu_client_refuse_recording(call, mark->client));
    if (bytes && !to)
        return acu_client_fail(call, client, from, ACU_ERROR_ARGUMENT, "'to' is NULL");
    ACU_TRY(acu_client_refuse_parent(call, mark->client));
    ACU_TRY(acu_mark_refuse_function(call, mark));
    ACU_TRY(acu_client_lock(call, client)); /* where another thread records, this one waits */
    acu_client_unlock(client);
    return ACU_SUCCESS;
}

acu_result acu_block_read_after(acu_client *client, acu_mark *mark, acu_block *from, uint64_t at,
                                void *to, size_t bytes) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_HANDLE(mark, acu_mark_class);
    ACU_NEED_HANDLE(from, acu_block_class);
    ACU_TRY(check(client, mark, from, at, to, bytes));
    if (bytes == 0)
        return ACU_SUCCESS;
    late_read r = {.work = {&read_kind, &r.use, 1, NULL},
                   .use = {from, NULL, false},
                   .mark = mark,
                   .at = at,
                   .bytes = bytes,
                   .to = to};
    const bool beside = acu_place_device_can(client->device, ACU_CAN_READ_BESIDE) &&
                        mark->client->device == client->device && mark->mark;
    if (!beside) {
        acu_mark_wait(mark);
        return acu_work_give(client, &r.work);
    }
    acu_result code = read_beside(client, &r);
    return code ? acu_client_failed(__func__, client, from, code) : ACU_SUCCESS;
}
