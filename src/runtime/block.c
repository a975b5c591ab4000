/* Blocks: how they are made, described, waited for and released. */
#include "runtime/block.h"

#include "runtime/backend.h"
#include "runtime/mark.h"
#include "runtime/work.h"

#include <stdlib.h>

/* ---- life ---- */

static void describe(const acu_handle *handle, acu_handle_text *text) {
    const acu_block *block = (const acu_block *)handle;
    acu_handle_add(text, " of %llu bytes", (unsigned long long)block->bytes);
    acu_handle_add_place(text, block->client->device->place);
}

void acu_block_wait(acu_block *block, bool writes, const acu_client *but) {
    acu_client *owner = block->client, *other = NULL;
    acu_client_seize(owner);
    const bool used = (writes ? block->written : block->used) > owner->done && owner != but;
    acu_client_unlock(owner);
    if (used)
        (void)acu_client_wait_for_all(owner, NULL);
    for (unsigned i = 0; i == 0 || other; i++) {
        acu_client_seize(owner);
        other = i < block->foreign_count ? acu_handle_add_owner(block->foreign[i].client) : NULL;
        const bool waits = other && other != but && (!writes || block->foreign[i].written);
        acu_client_unlock(owner);
        if (waits)
            (void)acu_client_wait_for_all(other, NULL);
        (void)acu_handle_release(__func__, other, &acu_client_class);
    }
}

void acu_block_end_read(acu_block *block) {
    acu_client_peek(block->client);
    block->readers--;
    block->special = block->readers || block->foreign_count;
    pthread_cond_broadcast(&block->client->changed);
    acu_client_unlock(block->client);
}

/* The work that gives a block's memory back to its owner: a write as to the order with other uses.
 */
static acu_result perform_return(acu_client *client, const acu_work *work) {
    const acu_block *block = work->uses[0].block;
    acu_client_take_back(client, block->piece, block->bytes);
    return ACU_SUCCESS;
}

static const acu_work_kind return_kind = {
    .call = "acu_block_release", .perform = perform_return, .at_once = true};

static void return_unused(acu_block *block) {
    acu_client_seize(block->client);
    acu_client_take_back(block->client, block->piece, block->bytes);
    acu_client_unlock(block->client);
}

/* Gives the memory of a block back after its uses. The thread waits for other clients' uses only
 * where the host has no memory to let the queue wait. */
static void return_memory(acu_block *block) {
    acu_block_use use = {block, NULL, true};
    acu_work work = {&return_kind, &use, 1, NULL};
    if (!block->special) {
        return_unused(block);
    } else if (acu_work_give(block->client, &work)) {
        acu_block_wait(block, false, NULL);
        return_unused(block);
    }
    acu_client_call_hook(block->client, false, block, block->bytes);
}

/* Returns whether the block is used by work whose function this thread is in. */
static bool is_used_here(const acu_block *block) {
    acu_client *client = block->client;
    acu_client_seize(client);
    bool used = block->used > client->done && acu_client_works_here(client);
    for (unsigned i = 0; i < block->foreign_count; i++)
        used = used || acu_client_works_here(block->foreign[i].client);
    acu_client_unlock(client);
    return used;
}

/* Memory that is used by the work that this thread is in stays wrapped, because drop() would give
 * it back too early. */
static acu_result unwrap(acu_block *block) {
    if (is_used_here(block))
        return acu_client_refuse_function("acu_block_release", block->client);
    acu_block_wait(block, false, NULL);
    block->client->table->memory_unwrap(block->client->device->device, block->memory);
    if (block->drop)
        block->drop(block->drop_data);
    return ACU_SUCCESS;
}

/* Nobody else has the block any more, so that what is under the owner's lock can be read. */
static acu_result destroy(acu_handle *handle) {
    acu_block *block = (acu_block *)handle;
    acu_client *client = block->client;
    acu_result result = ACU_SUCCESS;
    if (!acu_client_is_of_parent(client)) {
        if (block->piece)
            return_memory(block);
        else
            result = unwrap(block);
    }
    for (unsigned i = 0; i < block->foreign_count; i++) {
        acu_result code = acu_handle_release(NULL, block->foreign[i].client, &acu_client_class);
        result = result ? result : code;
    }
    free(block->foreign);
    acu_result code = acu_handle_release(NULL, client, &acu_client_class);
    return result ? result : code;
}

const acu_handle_class acu_block_class = {"block", destroy, describe};

static acu_result check_size(const char *call, const acu_client *client, uint64_t bytes) {
    const uint64_t largest = client->device->info.largest_block;
    if (ACU_LIKELY(bytes <= largest))
        return ACU_SUCCESS;
    return acu_client_fail(call, client, client, ACU_ERROR_LIMIT,
                           "%llu bytes are more than the largest block of the place, %llu",
                           (unsigned long long)bytes, (unsigned long long)largest);
}

static acu_result create(const char *call, acu_client *client, uint64_t bytes, acu_block **out) {
    acu_piece *piece;
    ACU_TRY(check_size(call, client, bytes));
    acu_block *block = acu_handle_new(call, &acu_block_class, sizeof *block);
    if (!block)
        return ACU_ERROR_HOST_MEMORY;
    block->client = acu_handle_add_owner(client);
    block->epoch = __atomic_load_n(
        &acu_mark_epoch, __ATOMIC_RELAXED); /* first, since a hook may release the client */
    acu_result code = acu_client_allocate(call, client, bytes, &piece);
    if (code) {
        acu_handle_discard(block);
        (void)acu_handle_release(call, client, &acu_client_class);
        return code;
    }
    block->memory = piece->memory;
    block->bytes = bytes;
    block->piece = piece;
    acu_client_call_hook(client, true, block, bytes);
    *out = block;
    return ACU_SUCCESS;
}

acu_result acu_block_create(acu_client *client, uint64_t bytes, acu_block **block) {
    ACU_NEED_PLACE_FOR(block);
    ACU_NEED_HANDLE(client, acu_client_class);
    return create(__func__, client, bytes, block);
}

acu_result acu_block_create_for(acu_client *client, acu_dtype dtype, uint64_t count,
                                acu_block **block) {
    uint64_t bytes;
    ACU_NEED_PLACE_FOR(block);
    ACU_NEED_HANDLE(client, acu_client_class);
    acu_result code = acu_dtype_storage(dtype, count, &bytes);
    if (code)
        return code == ACU_ERROR_OVERFLOW
                   ? acu_client_fail(__func__, client, client, code,
                                     "%llu elements of %s are more than can be addressed",
                                     (unsigned long long)count, acu_dtype_name(dtype))
                   : acu_client_fail(__func__, client, client, code, "0x%x is no type of elements",
                                     dtype);
    return create(__func__, client, bytes, block);
}

acu_result acu_block_wrap_for(const char *call, acu_client *client, void *memory, uint64_t bytes,
                              void (*drop)(void *data), void *data, acu_block **out) {
    ACU_TRY(acu_client_refuse_parent(call, client));
    if (!acu_place_device_can(client->device, ACU_CAN_WRAP))
        return acu_client_fail(call, client, client, ACU_NOT_SUPPORTED,
                               "the place cannot use memory that it did not allocate");
    ACU_TRY(check_size(call, client, bytes));
    acu_block *block = acu_handle_new(call, &acu_block_class, sizeof *block);
    if (!block)
        return ACU_ERROR_HOST_MEMORY;
    acu_result code =
        client->table->memory_wrap(client->device->device, memory, bytes, &block->memory);
    code = acu_backend_check(code, block->memory, "memory");
    if (code) {
        acu_handle_discard(block);
        return acu_client_failed(call, client, client, code);
    }
    block->client = acu_handle_add_owner(client);
    block->epoch = __atomic_load_n(&acu_mark_epoch, __ATOMIC_RELAXED);
    block->bytes = bytes;
    block->drop = drop;
    block->drop_data = data;
    *out = block;
    return ACU_SUCCESS;
}

acu_result acu_block_wrap(acu_client *client, void *memory, uint64_t bytes,
                          void (*drop)(void *data), void *data, acu_block **block) {
    ACU_NEED_PLACE_FOR(block);
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_ADDRESS(memory);
    return acu_block_wrap_for(__func__, client, memory, bytes, drop, data, block);
}

acu_block *acu_block_retain(acu_block *block) {
    return acu_handle_retain(__func__, block, &acu_block_class);
}

acu_result acu_block_release(acu_block *block) {
    return acu_handle_release(__func__, block, &acu_block_class);
}

void acu_block_cleanup(acu_block **block) {
    (void)acu_block_release(acu_take(block));
}

size_t acu_block_describe(const acu_block *block, char *text, size_t size) {
    return acu_handle_describe(block, &acu_block_class, text, size);
}

uint64_t acu_block_size(const acu_block *block) {
    return acu_handle_is(block, &acu_block_class) ? block->bytes : 0;
}

acu_client *acu_block_client(const acu_block *block) {
    return acu_handle_is(block, &acu_block_class) ? block->client : NULL;
}

/* ---- checking ---- */

acu_result acu_block_refuse(const char *call, const acu_client *client, const acu_block *block,
                            uint64_t at, uint64_t bytes) {
    char text[64];
    if (client->device == block->client->device)
        return acu_client_fail(call, client, block, ACU_ERROR_RANGE,
                               "%llu bytes at %llu are not inside of the block",
                               (unsigned long long)bytes, (unsigned long long)at);
    (void)acu_place_describe(client->device->place, text, sizeof text);
    return acu_client_fail(call, client, block, ACU_ERROR_DEVICE,
                           "the client is of %s, and the block is not", text);
}

/* ---- what is beneath ---- */

acu_result acu_block_get_raw(acu_block *block, acu_raw *raw) {
    ACU_NEED_HANDLE(block, acu_block_class);
    ACU_NEED_ADDRESS(raw);
    acu_client *client = block->client;
    *raw = (acu_raw){ACU_RAW_NONE, NULL, NULL};
    if (!client->table->memory_get_raw)
        return ACU_SUCCESS;
    ACU_TRY(acu_client_lock(__func__, client));
    acu_result code = client->table->memory_get_raw(client->device->device, block->memory, raw);
    acu_client_unlock(client);
    return code ? acu_client_failed(__func__, client, block, code) : ACU_SUCCESS;
}

acu_result acu_block_get_address(acu_block *block, void **address) {
    ACU_NEED_HANDLE(block, acu_block_class);
    ACU_NEED_ADDRESS(address);
    acu_client *client = block->client;
    if (!acu_place_device_can(client->device, ACU_CAN_ADDRESS))
        return acu_client_fail(__func__, client, block, ACU_NOT_SUPPORTED,
                               "memory of the place has no addresses");
    ACU_TRY(acu_client_lock(__func__, client));
    acu_result code =
        client->table->memory_get_address(client->device->device, block->memory, address);
    acu_client_unlock(client);
    return code ? acu_client_failed(__func__, client, block, code) : ACU_SUCCESS;
}

acu_result acu_block_get_host(acu_block *block, void **host) {
    ACU_NEED_HANDLE(block, acu_block_class);
    ACU_NEED_ADDRESS(host);
    acu_client *client = block->client;
    if (!acu_place_device_can(client->device, ACU_CAN_USE_HOST))
        return acu_client_fail(__func__, client, block, ACU_NOT_SUPPORTED,
                               "the host cannot use memory of the place");
    ACU_TRY(acu_client_refuse_waiting(__func__, client));
    ACU_TRY(acu_client_lock(__func__, client));
    acu_client_unlock(client);
    acu_block_wait(block, false, NULL);
    acu_client_seize(client);
    acu_result code = client->table->memory_get_host(client->device->device, block->memory, host);
    acu_client_unlock(client);
    return code ? acu_client_failed(__func__, client, block, code) : ACU_SUCCESS;
}
