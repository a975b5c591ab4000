/* The memory of clients: the cache of pieces, its limit, statistics and hooks. */
#include "runtime/client_memory.h"

#include "runtime/backend.h"
#include "runtime/client.h"

#include <stdlib.h>

/* ---- sizes ---- */

enum { SMALLEST = 256 };

/* Returns the class of a size that is not 0: eight for each power of two. */
static unsigned class_of(uint64_t bytes) {
    const unsigned power = 63u - (unsigned)__builtin_clzll(bytes);
    const unsigned eighth = power < 3 ? 0 : (unsigned)(bytes >> (power - 3)) & 7u;
    return power * 8 + eighth;
}

/* Returns the size that a block's memory has: the next class, but not above the place's largest
 * block. */
static uint64_t rounded(const acu_client *client, uint64_t bytes) {
    if (bytes <= SMALLEST)
        return SMALLEST;
    const unsigned power = 63u - (unsigned)__builtin_clzll(bytes);
    const uint64_t mask = ((uint64_t)1 << (power - 3)) - 1;
    const uint64_t whole = bytes > UINT64_MAX - mask ? bytes : (bytes + mask) & ~mask;
    return whole > client->device->info.largest_block ? bytes : whole;
}

/* ---- pieces; under the lock ---- */

static void count_reserved(acu_client_memory *memory, uint64_t bytes) {
    memory->stats.reserved += bytes;
    if (memory->stats.reserved > memory->stats.reserved_high)
        memory->stats.reserved_high = memory->stats.reserved;
}

static void free_piece(acu_client *client, acu_piece *piece) {
    client->table->memory_free(client->queue, piece->memory, piece->bytes);
    client->memory.stats.reserved -= piece->bytes;
    free(piece);
}

static void put(acu_client_memory *memory, acu_piece *piece) {
    acu_piece **list = &memory->free[class_of(piece->bytes)];
    piece->next = *list;
    *list = piece;
    memory->free_bytes += piece->bytes;
}

/* Takes a piece of exactly this size out of the cache; NULL if it has none. */
static acu_piece *take(acu_client_memory *memory, uint64_t bytes) {
    acu_piece **link = &memory->free[class_of(bytes)];
    while (*link && (*link)->bytes != bytes) /* of a class, only a size that is cut differs */
        link = &(*link)->next;
    acu_piece *piece = *link;
    if (piece) {
        *link = piece->next;
        memory->free_bytes -= piece->bytes;
    }
    return piece;
}

/* Gives free pieces to the place, the largest first, while at least `keep` bytes stay. */
static void trim(acu_client *client, uint64_t keep) {
    acu_client_memory *memory = &client->memory;
    for (unsigned i = ACU_SIZE_CLASSES; i-- > 0 && memory->free_bytes > keep;) {
        acu_piece **link = &memory->free[i];
        while (*link && memory->free_bytes - (*link)->bytes >= keep) {
            acu_piece *piece = *link;
            *link = piece->next;
            memory->free_bytes -= piece->bytes;
            free_piece(client, piece);
        }
    }
}

static bool is_frozen(const acu_client *client) {
    return client->memory.stats.frozen > 0 || client->recording;
}

/* Makes what was released while the memory was frozen usable again. */
static void thaw(acu_client_memory *memory) {
    while (memory->kept) {
        acu_piece *piece = memory->kept;
        memory->kept = piece->next;
        put(memory, piece);
    }
}

void acu_client_thaw(acu_client *client) {
    if (!is_frozen(client))
        thaw(&client->memory);
}

void acu_client_free_memory(acu_client *client) {
    thaw(&client->memory);
    trim(client, 0);
}

static bool exceeds_limit(const acu_client *client, uint64_t bytes) {
    const acu_memory_stats *stats = &client->memory.stats;
    return stats->limit && (bytes > stats->limit || stats->reserved > stats->limit - bytes);
}

/* ---- allocating ---- */

/* Why an allocation failed. */
typedef struct attempt {
    uint64_t bytes;   /* as the block asked for them */
    acu_piece *piece; /* one without memory; NULL once it is given away */
    acu_result code;  /* of the back end; 0: the client's limit */
} attempt;

/* Takes memory from the place, within the limit, which free pieces make room for. Under the lock.
 * Returns the piece; NULL, and the reason in the attempt. */
static acu_piece *take_from_place(acu_client *client, attempt *a, uint64_t bytes) {
    acu_client_memory *memory = &client->memory;
    a->code = 0;
    if (exceeds_limit(client, bytes))
        trim(client, 0);
    if (exceeds_limit(client, bytes))
        return NULL;
    a->code = client->table->memory_allocate(client->queue, bytes, &a->piece->memory);
    a->code = acu_backend_check(a->code, a->piece->memory, "memory");
    if (a->code)
        return NULL;
    acu_piece *piece = a->piece;
    a->piece = NULL;
    piece->bytes = bytes;
    count_reserved(memory, bytes);
    return piece;
}

/* Takes memory from the cache or the place, the whole class or, where there is no room for that,
 * not more than is needed. Without the lock. */
static acu_piece *try_once(acu_client *client, attempt *a) {
    const uint64_t whole = rounded(client, a->bytes);
    acu_client_seize(client);
    acu_piece *piece = take(&client->memory, whole);
    if (!piece)
        piece = take_from_place(client, a, whole);
    if (!piece && (!a->code || a->code == ACU_OUT_OF_MEMORY) && a->bytes && a->bytes < whole)
        piece = take_from_place(client, a, a->bytes);
    acu_client_unlock(client);
    return piece;
}

static bool is_out_of_memory(const attempt *a) {
    return !a->code || a->code == ACU_OUT_OF_MEMORY;
}

/* Gives the free pieces of a client to the place, and waits until the place has them. */
static void give_back(acu_client *client) {
    acu_client_seize(client);
    const bool any = client->memory.free_bytes > 0;
    trim(client, 0);
    acu_client_unlock(client);
    if (any)
        (void)acu_client_wait_for_all(client, NULL);
}

/* Returns the client after `client` in the device's list, or the first one, with an owner more. */
static acu_client *next_client(acu_place_device *device, acu_client *client) {
    pthread_mutex_lock(&device->lock);
    acu_client *next = client ? client->next : device->clients;
    while (next && !acu_handle_try_add_owner(next))
        next = next->next;
    pthread_mutex_unlock(&device->lock);
    return next;
}

static void give_back_others(acu_client *client) {
    acu_client *other = next_client(client->device, NULL);
    while (other) {
        if (other != client)
            give_back(other);
        acu_client *next = next_client(client->device, other);
        (void)acu_handle_release(__func__, other, &acu_client_class);
        other = next;
    }
}

/* Asks the program to release something; returns whether it did. A hook that allocates is not asked
 * in itself. */
static bool ask_program(acu_client *client, uint64_t bytes) {
    static _Thread_local bool asked;
    acu_client_seize(client);
    const acu_memory_hooks hooks = client->memory.hooks;
    acu_client_unlock(client);
    if (!hooks.out_of_memory || asked)
        return false;
    asked = true;
    const bool released = hooks.out_of_memory(hooks.data, bytes);
    asked = false;
    return released;
}

/* Makes room step by step until the place has memory. A failed step leaves no error behind. */
ACU_COLD static acu_piece *make_room(acu_client *client, attempt *a) {
    acu_piece *piece = NULL;
    const bool limited = !a->code;
    if (!limited) {
        give_back(client);
        if (client->table->device_trim)
            client->table->device_trim(client->device->device);
        piece = try_once(client, a);
    }
    if (!piece && !limited && is_out_of_memory(a)) {
        give_back_others(client);
        piece = try_once(client, a);
    }
    if (!piece && is_out_of_memory(a) && ask_program(client, a->bytes)) {
        piece = try_once(client, a); /* what was released may fit */
        if (!piece && !limited) {
            give_back(client);
            give_back_others(client);
            piece = try_once(client, a);
        }
    }
    return piece;
}

/* Records why there is no memory; a block of the client has no handle yet. */
ACU_COLD static acu_result fail(const char *call, acu_client *client, const attempt *a) {
    acu_client_seize(client);
    const acu_memory_stats stats = client->memory.stats;
    client->memory.stats.failures++;
    acu_client_unlock(client);
    if (a->code)
        return acu_client_failed(call, client, client, a->code);
    return acu_client_fail(call, client, client, ACU_OUT_OF_MEMORY,
                           "%llu bytes are above the client's limit of %llu, of which blocks and "
                           "kept memory have %llu",
                           (unsigned long long)a->bytes, (unsigned long long)stats.limit,
                           (unsigned long long)stats.reserved);
}

static acu_result allocate_new(const char *call, acu_client *client, uint64_t bytes,
                               acu_piece **piece, bool *is_hit) {
    attempt a = {.bytes = bytes, .piece = calloc(1, sizeof *a.piece)};
    if (!a.piece)
        return acu_client_fail(call, client, client, ACU_ERROR_HOST_MEMORY,
                               "the host has no memory for a piece of memory");
    acu_saved_record before;
    acu_record_save(&before);
    *piece = try_once(client, &a);
    if (!*piece && is_out_of_memory(&a))
        *piece = make_room(client, &a);
    acu_record_restore(&before);
    *is_hit = a.piece != NULL; /* the cache had it after all */
    free(a.piece);
    return *piece ? ACU_SUCCESS : fail(call, client, &a);
}

static void count_block(acu_memory_stats *stats, uint64_t bytes, bool hit) {
    stats->used += bytes;
    if (stats->used > stats->used_high)
        stats->used_high = stats->used;
    stats->blocks++;
    stats->allocations++;
    stats->hits += hit;
}

acu_result acu_client_allocate(const char *call, acu_client *client, uint64_t bytes,
                               acu_piece **piece) {
    ACU_TRY(acu_client_lock(call, client));
    *piece = take(&client->memory, rounded(client, bytes));
    if (ACU_LIKELY(*piece != NULL)) {
        count_block(&client->memory.stats, bytes, true);
        acu_client_unlock(client);
        return ACU_SUCCESS;
    }
    acu_client_unlock(client);
    bool is_hit;
    ACU_TRY(allocate_new(call, client, bytes, piece, &is_hit));
    acu_client_seize(client);
    count_block(&client->memory.stats, bytes, is_hit);
    acu_client_unlock(client);
    return ACU_SUCCESS;
}

void acu_client_take_back(acu_client *client, acu_piece *piece, uint64_t bytes) {
    acu_client_memory *memory = &client->memory;
    memory->stats.used -= bytes;
    memory->stats.blocks--;
    memory->stats.frees++;
    if (!is_frozen(client)) {
        put(memory, piece);
    } else {
        piece->next = memory->kept;
        memory->kept = piece;
    }
}

void acu_client_call_hook(acu_client *client, bool is_new, acu_block *block, uint64_t bytes) {
    if (ACU_LIKELY(!__atomic_load_n(&client->memory.has_hooks, __ATOMIC_RELAXED)))
        return;
    acu_client_seize(client);
    const acu_memory_hooks hooks = client->memory.hooks;
    acu_client_unlock(client);
    void (*hook)(void *, acu_block *, uint64_t) = is_new ? hooks.allocated : hooks.freed;
    if (hook)
        hook(hooks.data, block, bytes);
}

/* ---- public ---- */

acu_result acu_client_get_memory(acu_client *client, acu_memory_stats *stats) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_ADDRESS(stats);
    ACU_TRY(acu_client_lock(__func__, client));
    *stats = client->memory.stats;
    acu_client_unlock(client);
    return ACU_SUCCESS;
}

acu_result acu_client_set_memory_limit(acu_client *client, uint64_t bytes) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_TRY(acu_client_lock(__func__, client));
    client->memory.stats.limit = bytes;
    acu_client_unlock(client);
    return ACU_SUCCESS;
}

acu_result acu_client_trim_memory(acu_client *client, uint64_t keep) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_TRY(acu_client_lock(__func__, client));
    trim(client, keep);
    acu_client_unlock(client);
    return ACU_SUCCESS;
}

acu_result acu_client_freeze_memory(acu_client *client) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_TRY(acu_client_lock(__func__, client));
    client->memory.stats.frozen++;
    acu_client_unlock(client);
    return ACU_SUCCESS;
}

acu_result acu_client_thaw_memory(acu_client *client) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_TRY(acu_client_lock(__func__, client));
    const bool frozen = client->memory.stats.frozen > 0;
    client->memory.stats.frozen -= frozen;
    acu_client_thaw(client);
    acu_client_unlock(client);
    if (frozen)
        return ACU_SUCCESS;
    return acu_client_fail(__func__, client, client, ACU_ERROR_STATE,
                           "the client's memory is not frozen, or was thawed as often as frozen");
}

acu_result acu_client_reset_memory(acu_client *client) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_TRY(acu_client_lock(__func__, client));
    acu_memory_stats *stats = &client->memory.stats;
    const acu_memory_stats before = *stats;
    const bool frozen = is_frozen(client);
    if (!frozen && !before.blocks) {
        trim(client, 0);
        memset(stats, 0, sizeof *stats);
        stats->limit = before.limit;
    }
    acu_client_unlock(client);
    if (frozen)
        return acu_client_fail(__func__, client, client, ACU_ERROR_STATE,
                               "the client's memory is frozen; thaw it first");
    if (before.blocks)
        return acu_client_fail(__func__, client, client, ACU_ERROR_STATE,
                               "%llu blocks of the client live; release them first",
                               (unsigned long long)before.blocks);
    return ACU_SUCCESS;
}

acu_result acu_client_set_memory_hooks(acu_client *client, const acu_memory_hooks *hooks) {
    static const acu_memory_hooks none;
    ACU_NEED_HANDLE(client, acu_client_class);
    if (hooks && (hooks->size < offsetof(acu_memory_hooks, allocated) || hooks->size > 4096))
        return acu_client_fail(__func__, client, client, ACU_ERROR_ARGUMENT,
                               "the size of the hooks is %zu, but sizeof(acu_memory_hooks) is %zu",
                               hooks->size, sizeof *hooks);
    ACU_TRY(acu_client_lock(__func__, client));
    client->memory.hooks = none;
    __atomic_store_n(&client->memory.has_hooks, hooks != NULL, __ATOMIC_RELAXED);
    if (hooks)
        memcpy(&client->memory.hooks, hooks,
               hooks->size < sizeof *hooks ? hooks->size : sizeof *hooks);
    acu_client_unlock(client);
    return ACU_SUCCESS;
}
