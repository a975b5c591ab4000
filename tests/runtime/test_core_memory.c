/* The core: a client's memory. Its cache, limit, statistics, freezing and hooks. */
#include "core_test.h"

static acu_place place;

static int setup(void **state) {
    (void)state;
    made_up_reset();
    acu_clear_error();
    return 0;
}

static acu_memory_stats stats_of(acu_client *client) {
    acu_memory_stats stats;
    OK(acu_client_get_memory(client, &stats));
    return stats;
}

static acu_block *plain_block(acu_client *client, uint64_t bytes) {
    acu_block *block = NULL;
    OK(acu_block_create(client, bytes, &block));
    return block;
}

static void *address_of(acu_block *block) {
    void *address = NULL;
    OK(acu_block_get_address(block, &address));
    return address;
}

/* ---- the cache ---- */

static void memory_is_used_again(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    acu_block *block = plain_block(client, 1000);
    void *address = address_of(block);
    OK(acu_block_release(block));
    block = plain_block(client, 1001); /* the same class */
    assert_ptr_equal(address_of(block), address);
    acu_block *other = plain_block(client, 1000);
    assert_ptr_not_equal(address_of(other), address);
    const acu_memory_stats stats = stats_of(client);
    assert_int_equal(stats.used, 2001);
    assert_int_equal(stats.used_high, 2001);
    assert_int_equal(stats.blocks, 2);
    assert_int_equal(stats.allocations, 3);
    assert_int_equal(stats.frees, 1);
    assert_int_equal(stats.hits, 1);
    assert_int_equal(stats.reserved, made_up.used);
    assert_int_equal(stats.reserved, stats.reserved_high);
    OK(acu_block_release(block));
    OK(acu_block_release(other));
    assert_int_equal(stats_of(client).used, 0);
    assert_int_equal(stats_of(client).reserved, made_up.used);
}

static void every_size_fits_its_class(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    for (uint64_t bytes = 0; bytes < 70000; bytes = bytes < 600 ? bytes + 1 : bytes * 17 / 16 + 3) {
        const uint64_t before = made_up.used;
        acu_block *block = plain_block(client, bytes);
        const uint64_t taken = made_up.used - before;
        assert_int_equal(acu_block_size(block), bytes);
        if (taken)
            assert_in_range(taken, bytes, bytes < 256 ? 256 : bytes + bytes / 8);
        if (bytes)
            OK(acu_block_fill(client, block, 0, bytes, "x", 1));
        OK(acu_block_release(block));
        OK(acu_client_trim_memory(client, 0));
        assert_int_equal(made_up.used, 0);
    }
}

static void a_release_leaves_work_alone(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *to = plain_block(client, 1000);
    acu_block *from = new_block(client, 1000, 5);
    OK(acu_block_copy(client, to, 0, from, 0, 1000));
    OK(acu_block_release(from));
    from = new_block(client, 1000, 6); /* the same memory */
    assert_int_equal(byte_at(client, to, 999), 5);
    OK(acu_block_copy(client, to, 0, from, 0, 1000));
    OK(acu_block_release(from));
    OK(acu_client_trim_memory(client, 0)); /* freed after the work */
    assert_int_equal(byte_at(client, to, 999), 6);
}

static void trimming_keeps_what_it_is_asked_to(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    acu_block *blocks[3] = {plain_block(client, 1024), plain_block(client, 2048),
                            plain_block(client, 4096)};
    OK(acu_client_trim_memory(client, 0));
    assert_int_equal(made_up.used, 7168);
    for (int i = 0; i < 3; i++)
        OK(acu_block_release(blocks[i]));
    OK(acu_client_trim_memory(client, 7168));
    assert_int_equal(made_up.used, 7168);
    OK(acu_client_trim_memory(client, 3000));
    assert_int_equal(made_up.used, 3072);
    OK(acu_client_trim_memory(client, 1));
    assert_int_equal(made_up.used, 1024);
    OK(acu_client_trim_memory(client, 0));
    assert_int_equal(made_up.used, 0);
    assert_int_equal(stats_of(client).reserved, 0);
    assert_int_equal(stats_of(client).reserved_high, 7168);
}

static void resetting(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    acu_block *block = plain_block(client, 1024);
    OK(acu_client_set_memory_limit(client, 99999));
    FAILS(ACU_ERROR_STATE, "1 blocks", acu_client_reset_memory(client));
    OK(acu_block_release(block));
    OK(acu_client_freeze_memory(client));
    FAILS(ACU_ERROR_STATE, "frozen", acu_client_reset_memory(client));
    OK(acu_client_thaw_memory(client));
    OK(acu_client_reset_memory(client));
    const acu_memory_stats stats = stats_of(client);
    assert_int_equal(stats.allocations + stats.frees + stats.reserved + stats.used_high, 0);
    assert_int_equal(stats.limit, 99999);
    assert_int_equal(made_up.used, 0);
    FAILS(ACU_ERROR_ARGUMENT, "'stats' is NULL", acu_client_get_memory(client, NULL));
}

/* ---- limits and no memory ---- */

static void limits(void **state) {
    (void)state;
    acu_block *none = NULL;
    ACU_AUTO(acu_client) *client = new_client(place);
    OK(acu_client_set_memory_limit(client, 3000));
    acu_block *one = plain_block(client, 2000);
    FAILS(ACU_OUT_OF_MEMORY, "limit of 3000", acu_block_create(client, 2000, &none));
    assert_null(none);
    assert_int_equal(stats_of(client).failures, 1);
    assert_int_equal(made_up.calls[MADE_UP_MEMORY_ALLOCATE], 1); /* the place was not asked */
    ACU_AUTO(acu_block) *small = plain_block(client, 900);
    OK(acu_block_release(one)); /* its memory makes room */
    ACU_AUTO(acu_block) *other = plain_block(client, 1500);
    assert_true(made_up.used <= 3000);
    OK(acu_client_set_memory_limit(client, 0));
    ACU_AUTO(acu_block) *large = plain_block(client, 1000000);
}

static void a_limit_is_no_less_than_it_says(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    OK(acu_client_set_memory_limit(client, 1001));
    acu_block *block = plain_block(client, 1001); /* the class has more */
    assert_int_equal(made_up.used, 1001);
    OK(acu_block_release(block));
    block = plain_block(client, 1001);
    OK(acu_block_release(block));
}

static void largest_blocks(void **state) {
    (void)state;
    made_up.largest_block = 1001;
    acu_block *none = NULL;
    char byte[2000];
    ACU_AUTO(acu_client) *client = new_client(made_up_register(NULL));
    ACU_AUTO(acu_block) *block = plain_block(client, 1001);
    assert_int_equal(made_up.used, 1001);
    FAILS(ACU_ERROR_LIMIT, "largest block of the place, 1001",
          acu_block_create(client, 1002, &none));
    FAILS(ACU_ERROR_LIMIT, "largest block of the place, 1001",
          acu_block_wrap(client, byte, 1002, NULL, NULL, &none));
    FAILS(ACU_ERROR_LIMIT, "largest block", acu_block_create(client, UINT64_MAX, &none));
    FAILS(ACU_ERROR_LIMIT, "largest block", acu_block_create_for(client, ACU_F32, 251, &none));
    FAILS(ACU_ERROR_OVERFLOW, "", acu_block_create_for(client, ACU_F64, UINT64_MAX / 4, &none));
    FAILS(ACU_ERROR_DTYPE, "", acu_block_create_for(client, ACU_ANY, 1, &none));
    FAILS(ACU_ERROR_ARGUMENT, "'block' is NULL", acu_block_create(client, 1, NULL));
    FAILS(ACU_ERROR_ARGUMENT, "'block' is NULL", acu_block_create_for(client, ACU_F32, 1, NULL));
    ACU_AUTO(acu_block) *typed = NULL;
    OK(acu_block_create_for(client, ACU_F32, 250, &typed));
    assert_int_equal(acu_block_size(typed), 1000);
}

static void its_own_cache_makes_room(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    OK(acu_block_release(plain_block(client, 8192)));
    made_up.memory = 10000;
    ACU_AUTO(acu_block) *block = plain_block(client, 4096);
    assert_int_equal(made_up.used, 4096);
    assert_int_equal(acu_last_error(), 0);
    assert_int_equal(made_up.trims, 1);
}

static void other_clients_make_room(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *other = new_client(place);
    ACU_AUTO(acu_client) *far = new_client((acu_place){place.runtime, 1});
    OK(acu_block_release(new_block(other, 8192, 1)));
    OK(acu_block_release(new_block(far, 8192, 1)));
    made_up.memory = 10000;
    ACU_AUTO(acu_block) *block = plain_block(client, 4096);
    assert_int_equal(stats_of(other).reserved, 0);
    assert_int_equal(stats_of(far).reserved, 8192);
    assert_int_equal(acu_last_error(), 0);
}

static void there_is_no_memory(void **state) {
    (void)state;
    acu_block *none = NULL;
    ACU_AUTO(acu_client) *client = new_client(place);
    made_up.memory = 10000;
    FAILS(ACU_OUT_OF_MEMORY, "device 0 has no 10001 bytes left",
          acu_block_create(client, 10001, &none));
    assert_int_equal(stats_of(client).failures, 1);
    assert_int_equal(stats_of(client).blocks, 0);
    made_up.fail[MADE_UP_MEMORY_ALLOCATE] = 719; /* another failure is none that waiting cures */
    made_up.trims = 0;
    FAILS(719, "told to fail; client", acu_block_create(client, 1, &none));
    assert_int_equal(made_up.trims, 0);
    assert_null(none);
}

/* ---- freezing ---- */

static void frozen_memory_stays(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    acu_block *block = plain_block(client, 1000);
    void *address = address_of(block);
    FAILS(ACU_ERROR_STATE, "not frozen", acu_client_thaw_memory(client));
    OK(acu_client_freeze_memory(client));
    OK(acu_client_freeze_memory(client));
    assert_int_equal(stats_of(client).frozen, 2);
    OK(acu_block_release(block));
    OK(acu_client_trim_memory(client, 0));
    assert_int_equal(made_up.memories, 1);
    block = plain_block(client, 1000);
    assert_ptr_not_equal(address_of(block), address);
    OK(acu_client_thaw_memory(client));
    acu_block *other = plain_block(client, 1000);
    assert_ptr_not_equal(address_of(other), address);
    OK(acu_client_thaw_memory(client));
    acu_block *again = plain_block(client, 1000);
    assert_ptr_equal(address_of(again), address);
    OK(acu_block_release(block));
    OK(acu_block_release(other));
    OK(acu_block_release(again));
    FAILS(ACU_ERROR_STATE, "not frozen", acu_client_thaw_memory(client));
    OK(acu_client_trim_memory(client, 0));
    assert_int_equal(made_up.memories, 0);
}

static void a_frozen_client_frees_its_memory_at_its_end(void **state) {
    (void)state;
    acu_client *client = new_client(place);
    OK(acu_client_freeze_memory(client));
    OK(acu_block_release(plain_block(client, 1000)));
    OK(acu_client_release(client));
    assert_int_equal(made_up.memories, 0);
}

static void *freeze_and_thaw(void *data) {
    acu_client *client = data;
    for (int i = 0; i < 300; i++) {
        acu_block *block = NULL;
        if (acu_client_freeze_memory(client) || acu_block_create(client, 500, &block) ||
            acu_block_fill(client, block, 0, 500, "a", 1) || acu_block_release(block) ||
            acu_client_thaw_memory(client))
            return client;
    }
    return NULL;
}

static void threads_freeze_and_thaw(void **state) {
    (void)state;
    pthread_t threads[4];
    ACU_AUTO(acu_client) *client = new_client(place);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, freeze_and_thaw, client);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(stats_of(client).frozen, 0);
    assert_int_equal(stats_of(client).used, 0);
    OK(acu_client_trim_memory(client, 0));
    assert_int_equal(stats_of(client).reserved, 0);
    assert_int_equal(made_up.shared_queue_uses, 0);
}

/* ---- hooks ---- */

typedef struct seen {
    acu_client *client;
    uint64_t allocated, freed, asked;
    acu_block *kept; /* what out_of_memory() releases */
    bool nested;
} seen;

static void count_allocated(void *data, acu_block *block, uint64_t bytes) {
    seen *s = data;
    s->allocated += bytes;
    assert_int_equal(acu_block_size(block), bytes);
    if (s->nested) { /* a hook may use the client */
        s->nested = false;
        OK(acu_block_release(new_block(s->client, 10, 1)));
        OK(acu_client_synchronize(s->client));
    }
}

static void count_freed(void *data, acu_block *block, uint64_t bytes) {
    seen *s = data;
    (void)block;
    s->freed += bytes;
    OK(acu_client_synchronize(s->client));
}

static bool release_kept(void *data, uint64_t bytes) {
    seen *s = data;
    acu_block *none = NULL;
    s->asked += bytes;
    if (!s->kept)
        return false;
    assert_int_equal(acu_block_create(s->client, 9000, &none),
                     ACU_OUT_OF_MEMORY); /* no recursion */
    OK(acu_block_release(s->kept));
    s->kept = NULL;
    return true;
}

static void hooks_are_called(void **state) {
    (void)state;
    seen s = {.client = new_client(place), .nested = true};
    acu_memory_hooks hooks = {sizeof hooks, &s, count_allocated, count_freed, release_kept};
    OK(acu_client_set_memory_hooks(s.client, &hooks));
    acu_block *block = plain_block(s.client, 1000);
    assert_int_equal(s.allocated, 1010);
    assert_int_equal(s.freed, 10);
    OK(acu_block_release(block));
    assert_int_equal(s.freed, 1010);
    made_up.memory = 10000;
    s.kept = plain_block(s.client, 8192);
    block = plain_block(s.client, 4096);
    assert_int_equal(s.asked, 4096);
    assert_null(s.kept);
    assert_int_equal(acu_last_error(), 0);
    acu_block *none = NULL;
    FAILS(ACU_OUT_OF_MEMORY, "", acu_block_create(s.client, 9000, &none));
    OK(acu_client_set_memory_limit(s.client, 5000));
    FAILS(ACU_OUT_OF_MEMORY, "limit", acu_block_create(s.client, 2000, &none));
    assert_int_equal(s.asked, 4096 + 9000 + 2000);
    OK(acu_client_set_memory_hooks(s.client, NULL));
    OK(acu_block_release(block));
    assert_int_equal(s.freed, 1010 + 8192);
    hooks.size = 3;
    FAILS(ACU_ERROR_ARGUMENT, "hooks is 3", acu_client_set_memory_hooks(s.client, &hooks));
    hooks.size = offsetof(acu_memory_hooks, freed); /* an older header */
    OK(acu_client_set_memory_hooks(s.client, &hooks));
    OK(acu_block_release(plain_block(s.client, 100)));
    assert_int_equal(s.freed, 1010 + 8192);
    OK(acu_client_release(s.client));
}

static void drop_client(void *data, acu_block *block, uint64_t bytes) {
    (void)block;
    (void)bytes;
    OK(acu_client_release(data));
}

static void a_hook_may_release_the_client(void **state) {
    (void)state;
    acu_client *client = new_client(place);
    const acu_memory_hooks hooks = {sizeof hooks, client, NULL, drop_client, NULL};
    OK(acu_client_set_memory_hooks(client, &hooks));
    OK(acu_block_release(new_block(client, 100, 1)));
    assert_int_equal(made_up.queues, 0);
}

static bool drop_in_need(void *data, uint64_t bytes) {
    (void)bytes;
    OK(acu_client_release(data));
    return true;
}

static void a_hook_may_release_the_client_in_need(void **state) {
    (void)state;
    acu_client *client = new_client(place);
    acu_block *none = NULL;
    const acu_memory_hooks hooks = {sizeof hooks, client, NULL, NULL, drop_in_need};
    OK(acu_client_set_memory_hooks(client, &hooks));
    OK(acu_client_set_memory_limit(client, 10));
    FAILS(ACU_OUT_OF_MEMORY, "limit of 10", acu_block_create(client, 100, &none));
    assert_int_equal(made_up.queues, 0);
}

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    place = made_up_register(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(memory_is_used_again, setup),
        cmocka_unit_test_setup(every_size_fits_its_class, setup),
        cmocka_unit_test_setup(a_release_leaves_work_alone, setup),
        cmocka_unit_test_setup(trimming_keeps_what_it_is_asked_to, setup),
        cmocka_unit_test_setup(resetting, setup),
        cmocka_unit_test_setup(limits, setup),
        cmocka_unit_test_setup(a_limit_is_no_less_than_it_says, setup),
        cmocka_unit_test_setup(largest_blocks, setup),
        cmocka_unit_test_setup(its_own_cache_makes_room, setup),
        cmocka_unit_test_setup(other_clients_make_room, setup),
        cmocka_unit_test_setup(there_is_no_memory, setup),
        cmocka_unit_test_setup(frozen_memory_stays, setup),
        cmocka_unit_test_setup(a_frozen_client_frees_its_memory_at_its_end, setup),
        cmocka_unit_test_setup(threads_freeze_and_thaw, setup),
        cmocka_unit_test_setup(hooks_are_called, setup),
        cmocka_unit_test_setup(a_hook_may_release_the_client, setup),
        cmocka_unit_test_setup(a_hook_may_release_the_client_in_need, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
