/* The memory of a client: what is used, kept, limited, given back and frozen. */
#include "suite.h"

static acu_block *make(uint64_t size) {
    acu_block *block = NULL;
    OK(acu_block_create(client, size, &block));
    return block;
}

static void drop(acu_block *block) {
    OK(acu_block_release(block));
    OK(acu_client_synchronize(client));
}

CASE(a_new_client_has_no_memory) {
    acu_memory_stats stats = memory_of(client);
    EQUAL(stats.used, 0);
    EQUAL(stats.used_high, 0);
    EQUAL(stats.blocks, 0);
    EQUAL(stats.allocations, 0);
    EQUAL(stats.frees, 0);
    EQUAL(stats.failures, 0);
    EQUAL(stats.frozen, 0);
    EQUAL(stats.limit, 0);
}

CASE(blocks_are_counted) {
    acu_block *a = make(1000), *b = make(500);
    acu_memory_stats stats = memory_of(client);
    EQUAL(stats.blocks, 2);
    EQUAL(stats.used, 1500);
    EQUAL(stats.allocations, 2);
    EQUAL(stats.frees, 0);
    IS(stats.reserved >= 1500);
    drop(a);
    stats = memory_of(client);
    EQUAL(stats.blocks, 1);
    EQUAL(stats.used, 500);
    EQUAL(stats.used_high, 1500);
    EQUAL(stats.frees, 1);
    drop(b);
    stats = memory_of(client);
    EQUAL(stats.used, 0);
    EQUAL(stats.used_high, 1500);
    IS(stats.reserved_high >= stats.reserved);
}

CASE_FOR(memory_is_used_again_of, 1, 100, 4096, 1000000) {
    for (int i = 0; i < 10; i++)
        drop(make(n));
    acu_memory_stats stats = memory_of(client);
    EQUAL(stats.allocations, 10);
    EQUAL(stats.hits, 9);
}

CASE(memory_is_used_again_without_waiting) {
    uint64_t before;
    for (int i = 0; i < 5; i++) {
        acu_block *block = make(65536);
        OK(acu_block_fill(client, block, 0, 65536, "x", 1));
        OK(acu_block_release(block));
    }
    before = memory_of(client).hits;
    EQUAL(before, 4);
}

CASE(a_large_piece_is_not_used_for_a_small_block) {
    drop(make(16 * MIB));
    acu_block *small = make(16);
    IS(memory_of(client).reserved < 33u * MIB);
    drop(small);
}

CASE(a_retained_block_counts_once) {
    acu_block *block = make(100);
    IS(acu_block_retain(block) == block);
    EQUAL(memory_of(client).blocks, 1);
    OK(acu_block_release(block));
    EQUAL(memory_of(client).blocks, 1);
    drop(block);
    EQUAL(memory_of(client).blocks, 0);
}

CASE(each_client_counts_its_own) {
    acu_client *second = new_client();
    (void)new_block_for(second, 100);
    EQUAL(memory_of(client).blocks, 0);
    EQUAL(memory_of(second).blocks, 1);
}

CASE(a_block_of_0_bytes_counts) {
    acu_block *block = make(0);
    EQUAL(memory_of(client).blocks, 1);
    EQUAL(memory_of(client).used, 0);
    drop(block);
}

/* ---- the limit ---- */

CASE(a_limit_is_kept) {
    acu_block *block = NULL;
    OK(acu_client_set_memory_limit(client, MIB));
    EQUAL(memory_of(client).limit, MIB);
    FAILS(acu_block_create(client, 2u * MIB, &block), ACU_OUT_OF_MEMORY, "acu_block_create");
    IS(block == NULL);
    EQUAL(memory_of(client).failures, 1);
    IS(memory_of(client).reserved <= MIB);
    drop(make(64 * KIB));
}

CASE(a_limit_of_the_options) {
    acu_client *made = NULL;
    acu_block *block = NULL;
    acu_client_options options = {.size = sizeof options, .limit = MIB};
    OK(acu_client_create(place, &options, &made));
    EQUAL(memory_of(made).limit, MIB);
    FAILS(acu_block_create(made, 2u * MIB, &block), ACU_OUT_OF_MEMORY, "acu_block_create");
    OK(acu_client_release(made));
}

CASE(a_limit_is_taken_away) {
    acu_block *block = NULL;
    OK(acu_client_set_memory_limit(client, MIB));
    FAILS(acu_block_create(client, 2u * MIB, &block), ACU_OUT_OF_MEMORY, "acu_block_create");
    OK(acu_client_set_memory_limit(client, 0));
    drop(make(2u * MIB));
}

CASE(a_limit_below_what_is_used) {
    acu_block *first = make(MIB), *block = NULL;
    OK(acu_client_set_memory_limit(client, 1000));
    FAILS(acu_block_create(client, 64, &block), ACU_OUT_OF_MEMORY, "acu_block_create");
    uint8_t *data = some_bytes(100);
    OK(acu_block_write(client, first, 0, data, 100));
    HOLDS(first, data, 100);
    drop(first);
}

CASE(kept_memory_makes_room_below_the_limit) {
    OK(acu_client_set_memory_limit(client, 4u * MIB));
    drop(make(3u * MIB)); /* stays reserved, until another size needs the room */
    acu_block *a = make(MIB), *b = make(2u * MIB);
    IS(memory_of(client).reserved <= 4u * MIB);
    drop(a);
    drop(b);
}

CASE(a_full_client_works_after_a_release) {
    acu_block *blocks[4], *more = NULL;
    OK(acu_client_set_memory_limit(client, 4u * MIB + 4096));
    for (int i = 0; i < 4; i++)
        blocks[i] = make(MIB);
    FAILS(acu_block_create(client, MIB, &more), ACU_OUT_OF_MEMORY, "acu_block_create");
    OK(acu_block_release(blocks[2]));
    more = make(MIB);
    drop(more);
    drop(blocks[0]);
    drop(blocks[1]);
    drop(blocks[3]);
}

/* ---- trimming ---- */

CASE(trimming_gives_memory_back) {
    drop(make(2u * MIB));
    IS(memory_of(client).reserved >= 2u * MIB);
    OK(acu_client_trim_memory(client, 0));
    EQUAL(memory_of(client).reserved, 0);
}

CASE(trimming_keeps_what_is_used) {
    uint8_t *data = some_bytes(MIB);
    acu_block *block = new_block_of(data, MIB);
    drop(make(3u * MIB));
    OK(acu_client_trim_memory(client, 0));
    IS(memory_of(client).reserved >= MIB);
    IS(memory_of(client).reserved < 3u * MIB);
    HOLDS(block, data, MIB);
}

CASE(trimming_keeps_as_much_as_it_is_told) {
    acu_block *blocks[8];
    for (int i = 0; i < 8; i++)
        blocks[i] = make(MIB);
    for (int i = 0; i < 8; i++)
        drop(blocks[i]);
    OK(acu_client_trim_memory(client, 4u * MIB));
    IS(memory_of(client).reserved >= 4u * MIB);
    OK(acu_client_trim_memory(client, UINT64_MAX));
    IS(memory_of(client).reserved >= 4u * MIB);
    OK(acu_client_trim_memory(client, 0));
    EQUAL(memory_of(client).reserved, 0);
}

CASE(trimming_while_work_goes_on) {
    uint8_t *data = some_bytes(100000);
    acu_block *to = new_block(100000);
    for (int i = 0; i < 10; i++) {
        acu_block *from = make(100000);
        data[5] = (uint8_t)i;
        OK(acu_block_write(client, from, 0, data, 100000));
        OK(acu_block_copy(client, to, 0, from, 0, 100000));
        OK(acu_block_release(from));
        OK(acu_client_trim_memory(client, 0));
        HOLDS(to, data, 100000);
    }
}

/* ---- freezing ---- */

CASE(freezing_is_counted) {
    OK(acu_client_freeze_memory(client));
    EQUAL(memory_of(client).frozen, 1);
    OK(acu_client_freeze_memory(client));
    EQUAL(memory_of(client).frozen, 2);
    OK(acu_client_thaw_memory(client));
    OK(acu_client_thaw_memory(client));
    EQUAL(memory_of(client).frozen, 0);
    FAILS(acu_client_thaw_memory(client), ACU_ERROR_STATE, "acu_client_thaw_memory");
}

CASE(released_memory_stays_while_frozen) {
    acu_block *block = make(MIB);
    OK(acu_client_freeze_memory(client));
    drop(block);
    uint64_t hits = memory_of(client).hits;
    block = make(MIB); /* gets other memory */
    EQUAL(memory_of(client).hits, hits);
    drop(block);
    OK(acu_client_trim_memory(client, 0));
    IS(memory_of(client).reserved >= 2u * MIB);
    OK(acu_client_thaw_memory(client));
    block = make(MIB);
    EQUAL(memory_of(client).hits, hits + 1);
    drop(block);
    OK(acu_client_trim_memory(client, 0));
    EQUAL(memory_of(client).reserved, 0);
}

CASE(addresses_stay_while_frozen) {
    needs(ACU_CAN_ADDRESS, "give addresses");
    void *seen[20];
    OK(acu_client_freeze_memory(client));
    for (size_t i = 0; i < 20; i++) {
        acu_block *block = make(4096);
        OK(acu_block_get_address(block, &seen[i]));
        for (size_t k = 0; k < i; k++)
            IS(seen[k] != seen[i]);
        drop(block);
    }
    OK(acu_client_thaw_memory(client));
}

CASE(memory_from_before_the_freeze_is_used) {
    drop(make(MIB));
    uint64_t hits = memory_of(client).hits;
    OK(acu_client_freeze_memory(client));
    acu_block *block = make(MIB);
    EQUAL(memory_of(client).hits, hits + 1);
    drop(block);
    OK(acu_client_thaw_memory(client));
}

CASE(blocks_work_while_frozen) {
    uint8_t *data = some_bytes(1000);
    OK(acu_client_freeze_memory(client));
    for (int i = 0; i < 10; i++) {
        acu_block *block = make(1000);
        OK(acu_block_write(client, block, 0, data, 1000));
        HOLDS(block, data, 1000);
        OK(acu_block_release(block));
    }
    OK(acu_client_thaw_memory(client));
}

CASE(a_client_is_released_frozen) {
    acu_client *made = NULL;
    acu_block *block = NULL;
    OK(acu_client_create(place, NULL, &made));
    OK(acu_client_freeze_memory(made));
    OK(acu_block_create(made, 1000, &block));
    OK(acu_block_release(block));
    OK(acu_client_release(made));
}

/* ---- beginning again ---- */

CASE(resetting) {
    drop(make(MIB));
    OK(acu_client_reset_memory(client));
    acu_memory_stats stats = memory_of(client);
    EQUAL(stats.reserved, 0);
    EQUAL(stats.reserved_high, 0);
    EQUAL(stats.used_high, 0);
    EQUAL(stats.allocations, 0);
    EQUAL(stats.hits, 0);
    drop(make(MIB));
    EQUAL(memory_of(client).allocations, 1);
}

CASE(resetting_while_a_block_lives) {
    acu_block *block = make(100);
    FAILS(acu_client_reset_memory(client), ACU_ERROR_STATE, "acu_client_reset_memory");
    drop(block);
    OK(acu_client_reset_memory(client));
}

CASE(resetting_while_frozen) {
    OK(acu_client_freeze_memory(client));
    FAILS(acu_client_reset_memory(client), ACU_ERROR_STATE, "acu_client_reset_memory");
    OK(acu_client_thaw_memory(client));
    OK(acu_client_reset_memory(client));
}

CASE(a_limit_stays_after_resetting) {
    OK(acu_client_set_memory_limit(client, MIB));
    OK(acu_client_reset_memory(client));
    EQUAL(memory_of(client).limit, MIB);
}

/* ---- a full place ---- */

CASE(what_another_client_keeps_makes_room) {
    acu_client *second = new_client();
    acu_block *block = NULL;
    uint64_t most = info.memory / 8 * 5;
    if (!info.memory || info.memory > (uint64_t)2 << 30 || is_cpu())
        skip_case("the place has too much memory to fill, or does not say how much");
    OK(acu_block_create(second, most, &block));
    OK(acu_block_release(block));
    OK(acu_client_synchronize(second));
    IS(memory_of(second).reserved >= most);
    block = make(most);
    EQUAL(memory_of(second).reserved, 0);
    drop(block);
}

CASE(a_full_place) {
    acu_block *blocks[3] = {NULL};
    if (!info.memory || info.memory > (uint64_t)2 << 30 || is_cpu())
        skip_case("the place has too much memory to fill, or does not say how much");
    blocks[0] = make(info.memory / 2);
    FAILS(acu_block_create(client, info.memory / 8 * 5, &blocks[1]), ACU_OUT_OF_MEMORY,
          "acu_block_create");
    IS(blocks[1] == NULL);
    uint8_t *data = some_bytes(100);
    OK(acu_block_write(client, blocks[0], 5, data, 100));
    SAME_BYTES(contents(client, blocks[0], 5, 100), data, 100);
    blocks[2] = make(1000);
    drop(blocks[2]);
    drop(blocks[0]);
}

/* ---- hooks ---- */

typedef struct heard {
    uint64_t allocated, freed, asked;
    int allocations, frees, calls;
    acu_block *last, *spare;
} heard;

static void on_allocated(void *data, acu_block *block, uint64_t bytes) {
    heard *h = data;
    h->allocated += bytes;
    h->allocations++;
    h->last = block;
}

static void on_freed(void *data, acu_block *block, uint64_t bytes) {
    heard *h = data;
    h->freed += bytes;
    h->frees++;
    (void)block;
}

static bool on_out_of_memory(void *data, uint64_t bytes) {
    heard *h = data;
    acu_block *spare = h->spare;
    h->asked = bytes;
    h->calls++;
    h->spare = NULL;
    return spare && acu_block_release(spare) == 0;
}

CASE(hooks_are_called) {
    heard h = {0};
    acu_memory_hooks hooks = {sizeof hooks, &h, on_allocated, on_freed, NULL};
    OK(acu_client_set_memory_hooks(client, &hooks));
    memset(&hooks, 0xff, sizeof hooks);
    acu_block *a = make(100), *b = make(50);
    EQUAL(h.allocations, 2);
    EQUAL(h.allocated, 150);
    IS(h.last == b);
    drop(a);
    drop(b);
    EQUAL(h.frees, 2);
    EQUAL(h.freed, 150);
    OK(acu_client_set_memory_hooks(client, NULL));
    drop(make(10));
    EQUAL(h.allocations, 2);
}

CASE(a_hook_makes_room) {
    heard h = {0};
    acu_memory_hooks hooks = {sizeof hooks, &h, NULL, NULL, on_out_of_memory};
    h.spare = make(3u * MIB);
    OK(acu_client_set_memory_limit(client, 4u * MIB));
    OK(acu_client_set_memory_hooks(client, &hooks));
    acu_block *block = make(3u * MIB);
    EQUAL(h.calls, 1);
    IS(h.asked >= 3u * MIB);
    drop(block);
    OK(acu_client_set_memory_hooks(client, NULL));
}

CASE(a_hook_that_cannot_make_room) {
    heard h = {0};
    acu_block *block = NULL;
    acu_memory_hooks hooks = {sizeof hooks, &h, NULL, NULL, on_out_of_memory};
    OK(acu_client_set_memory_limit(client, MIB));
    OK(acu_client_set_memory_hooks(client, &hooks));
    FAILS(acu_block_create(client, 2u * MIB, &block), ACU_OUT_OF_MEMORY, "acu_block_create");
    EQUAL(h.calls, 1);
    OK(acu_client_set_memory_hooks(client, NULL));
}

static bool promise_room(void *data, uint64_t bytes) {
    heard *h = data;
    (void)bytes;
    h->calls++;
    return true;
}

CASE(a_hook_that_promises_too_much) {
    heard h = {0};
    acu_block *block = NULL;
    acu_memory_hooks hooks = {sizeof hooks, &h, NULL, NULL, promise_room};
    OK(acu_client_set_memory_limit(client, MIB));
    OK(acu_client_set_memory_hooks(client, &hooks));
    FAILS(acu_block_create(client, 2u * MIB, &block), ACU_OUT_OF_MEMORY, "acu_block_create");
    EQUAL(h.calls, 1);
    OK(acu_client_set_memory_hooks(client, NULL));
}

static void use_the_client(void *data, acu_block *block, uint64_t bytes) {
    heard *h = data;
    acu_memory_stats stats;
    h->allocations += acu_client_get_memory(client, &stats) == 0;
    h->allocations += acu_block_fill(client, block, 0, bytes, "h", 1) == 0;
}

CASE(a_hook_uses_the_client) {
    heard h = {0};
    acu_memory_hooks hooks = {sizeof hooks, &h, use_the_client, NULL, NULL};
    OK(acu_client_set_memory_hooks(client, &hooks));
    acu_block *block = make(10);
    EQUAL(h.allocations, 2);
    EQUAL(contents(client, block, 9, 1)[0], 'h');
    drop(block);
    OK(acu_client_set_memory_hooks(client, NULL));
}

CASE(hooks_of_another_size_are_refused) {
    acu_memory_hooks hooks = {3, NULL, NULL, NULL, NULL};
    FAILS(acu_client_set_memory_hooks(client, &hooks), ACU_ERROR_ARGUMENT, "size");
}

CASE(memory_calls_need_handles) {
    acu_memory_stats stats;
    FAILS(acu_client_get_memory(NULL, &stats), ACU_ERROR_ARGUMENT, "acu_client_get_memory");
    FAILS(acu_client_get_memory(client, NULL), ACU_ERROR_ARGUMENT, "acu_client_get_memory");
    FAILS(acu_client_set_memory_limit(NULL, 1), ACU_ERROR_ARGUMENT, "acu_client_set_memory_limit");
    FAILS(acu_client_trim_memory(NULL, 1), ACU_ERROR_ARGUMENT, "acu_client_trim_memory");
    FAILS(acu_client_freeze_memory(NULL), ACU_ERROR_ARGUMENT, "acu_client_freeze_memory");
    FAILS(acu_client_thaw_memory(NULL), ACU_ERROR_ARGUMENT, "acu_client_thaw_memory");
    FAILS(acu_client_reset_memory(NULL), ACU_ERROR_ARGUMENT, "acu_client_reset_memory");
    FAILS(acu_client_set_memory_hooks(NULL, NULL), ACU_ERROR_ARGUMENT,
          "acu_client_set_memory_hooks");
}

CASE(random_sizes_under_a_limit) {
    acu_block *blocks[40] = {NULL};
    uint64_t sizes[40] = {0}, used = 0;
    OK(acu_client_set_memory_limit(client, 8u * MIB));
    for (int i = 0; i < 600; i++) {
        size_t k = below(40);
        if (blocks[k]) {
            OK(acu_block_release(blocks[k]));
            used -= sizes[k];
            blocks[k] = NULL;
            continue;
        }
        sizes[k] = below(600 * KIB);
        acu_result result = acu_block_create(client, sizes[k], &blocks[k]);
        IS(result == 0 || result == ACU_OUT_OF_MEMORY);
        used += result ? 0 : sizes[k];
        IS(memory_of(client).reserved <= 8u * MIB);
        IS(result == 0 || used + sizes[k] > 4u * MIB);
    }
    EQUAL(memory_of(client).used, used);
    for (int k = 0; k < 40; k++)
        acu_block_cleanup(&blocks[k]);
}
