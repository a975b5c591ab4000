/* Blocks: sizes, wrapped memory, and what is beneath. */
#include "suite.h"

CASE_FOR(size, 0, 1, 3, 4, 5, 31, 64, 255, 4096, 65537, 1048576, 5000011) {
    acu_block *block = new_block(n);
    EQUAL(acu_block_size(block), n);
    IS(acu_block_client(block) == client);
    uint8_t *data = some_bytes(n);
    OK(acu_block_write(client, block, 0, data, n));
    HOLDS(block, data, n);
}

CASE_FOR(blocks_of_a_size_do_not_overlap, 1, 3, 4, 7, 64, 1000) {
    enum { BLOCKS = 50 };
    acu_block *blocks[BLOCKS];
    uint8_t *data[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        data[i] = some_bytes(n);
        blocks[i] = new_block_of(data[i], n);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        HOLDS(blocks[i], data[i], n);
}

CASE(many_blocks_live_at_once) {
    enum { BLOCKS = 1000 };
    acu_block *blocks[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
        blocks[i] = new_block(16);
        OK(acu_block_fill(client, blocks[i], 0, 16, &i, 4));
    }
    for (uint32_t i = 0; i < BLOCKS; i += 37) {
        uint32_t got = 0;
        OK(acu_block_read(client, blocks[i], 12, &got, 4));
        EQUAL(got, i);
    }
}

CASE(a_block_above_the_largest_size) {
    acu_block *block = NULL;
    if (info.largest_block == UINT64_MAX)
        skip_case("any size is allowed");
    FAILS(acu_block_create(client, info.largest_block + 1, &block), ACU_ERROR_LIMIT,
          "acu_block_create");
    IS(block == NULL);
}

CASE(a_size_that_no_machine_has) {
    acu_block *block = NULL;
    acu_clear_error();
    acu_result result = acu_block_create(client, UINT64_MAX, &block);
    IS(result == ACU_ERROR_LIMIT || result == ACU_OUT_OF_MEMORY || result == ACU_ERROR_OVERFLOW);
    EQUAL(acu_last_error(), result);
    IS(block == NULL);
}

CASE(a_client_works_after_a_block_that_was_too_large) {
    acu_block *block = NULL;
    IS(acu_block_create(client, UINT64_MAX / 2, &block) != 0);
    uint8_t *data = some_bytes(64);
    HOLDS(new_block_of(data, 64), data, 64);
}

static const struct {
    const char *name;
    acu_dtype dtype;
    uint64_t count, bytes;
} typed[] = {
    {"f32", ACU_F32, 10, 40},
    {"f64", ACU_F64, 3, 24},
    {"u8", ACU_U8, 7, 7},
    {"bf16", ACU_BF16, 5, 10},
    {"c128", ACU_C128, 2, 32},
    {"bool", ACU_BOOL, 9, 9},
    {"bytes_of_12", ACU_BYTES_KIND | 12, 3, 36},
    {"none", ACU_I64, 0, 0},
};

CASE_OF(a_block_for_elements, typed) {
    acu_block *block = NULL;
    OK(acu_block_create_for(client, row->dtype, row->count, &block));
    release_block_later(block);
    EQUAL(acu_block_size(block), row->bytes);
}

CASE(a_block_for_no_type) {
    acu_block *block = NULL;
    FAILS(acu_block_create_for(client, ACU_ANY, 10, &block), ACU_ERROR_DTYPE,
          "acu_block_create_for");
    FAILS(acu_block_create_for(client, 0x55000004, 10, &block), ACU_ERROR_DTYPE,
          "acu_block_create_for");
    IS(block == NULL);
}

CASE(a_block_for_too_many_elements) {
    acu_block *block = NULL;
    FAILS(acu_block_create_for(client, ACU_F64, UINT64_MAX / 4, &block), ACU_ERROR_OVERFLOW,
          "acu_block_create_for");
    IS(block == NULL);
}

CASE(a_block_is_described) {
    char text[200], where[100];
    acu_block *block = new_block(4096);
    EQUAL(acu_block_describe(block, text, sizeof text), strlen(text));
    acu_place_describe(place, where, sizeof where);
    CONTAINS(text, "block");
    CONTAINS(text, "4096");
    CONTAINS(text, where);
}

CASE(no_block_has_no_size) {
    char text[200] = "";
    EQUAL(acu_block_size(NULL), 0);
    IS(acu_block_client(NULL) == NULL);
    IS(acu_block_describe(NULL, text, sizeof text) > 0);
}

CASE(a_block_is_retained) {
    acu_block *block = NULL;
    OK(acu_block_create(client, 10, &block));
    IS(acu_block_retain(block) == block);
    OK(acu_block_release(block));
    EQUAL(acu_block_size(block), 10);
    OK(acu_block_release(block));
}

CASE(releasing_no_block_is_fine) {
    acu_block *none = NULL;
    OK(acu_block_release(NULL));
    acu_block_cleanup(&none);
}

CASE(a_block_keeps_its_client) {
    acu_client *made = NULL;
    acu_block *block = NULL;
    uint8_t *data = some_bytes(50);
    OK(acu_client_create(place, NULL, &made));
    OK(acu_block_create(made, 50, &block));
    OK(acu_block_write(made, block, 0, data, 50));
    OK(acu_client_release(made));
    made = acu_block_client(block);
    IS(made != NULL);
    HOLDS_FOR(made, block, data, 50);
    HOLDS(block, data, 50);
    OK(acu_block_release(block));
}

CASE(a_block_that_is_released_while_work_uses_it) {
    uint8_t *data = some_bytes(4000);
    acu_block *to = new_block(4000);
    for (int i = 0; i < 20; i++) {
        acu_block *from = NULL, *next = NULL;
        data[0] = (uint8_t)i;
        OK(acu_block_create(client, 4000, &from));
        OK(acu_block_write(client, from, 0, data, 4000));
        OK(acu_block_copy(client, to, 0, from, 0, 4000));
        OK(acu_block_release(from));
        OK(acu_block_create(client, 4000, &next)); /* perhaps the same memory */
        OK(acu_block_fill(client, next, 0, 4000, "\xee", 1));
        HOLDS(to, data, 4000);
        OK(acu_block_release(next));
    }
}

CASE(a_block_that_another_client_still_uses) {
    needs_hold();
    acu_client *second = new_client();
    uint8_t *data = some_bytes(4000);
    acu_block *from = NULL, *to = new_block_for(second, 4000), *next = NULL;
    OK(acu_block_create(client, 4000, &from));
    OK(acu_block_write(client, from, 0, data, 4000));
    OK(acu_client_synchronize(client));
    hold(second);
    OK(acu_block_copy(second, to, 0, from, 0, 4000));
    OK(acu_block_release(from));
    OK(acu_block_create(client, 4000, &next));
    let_go(); /* before the fill, as a place may have to wait in it */
    OK(acu_block_fill(client, next, 0, 4000, "\xee", 1));
    HOLDS_FOR(second, to, data, 4000);
    OK(acu_block_release(next));
}

CASE(memory_is_not_used_again_before_another_client_is_done) {
    acu_client *second = new_client();
    for (int i = 0; i < 10; i++) {
        uint8_t *data = some_bytes(4000);
        acu_block *from = NULL, *next = NULL, *to = new_block_for(second, 4000);
        OK(acu_block_create(client, 4000, &from));
        OK(acu_block_write(client, from, 0, data, 4000));
        OK(acu_block_copy(second, to, 0, from, 0, 4000));
        OK(acu_block_release(from));
        OK(acu_block_create(client, 4000, &next));
        OK(acu_block_fill(client, next, 0, 4000, "\xee", 1));
        OK(acu_client_synchronize(client));
        HOLDS_FOR(second, to, data, 4000);
        OK(acu_block_release(next));
    }
}

CASE(memory_is_not_given_back_before_another_client_is_done) {
    acu_client *second = new_client();
    for (int i = 0; i < 10; i++) {
        uint8_t *data = some_bytes(4000);
        acu_block *from = NULL, *to = new_block_for(second, 4000);
        OK(acu_block_create(client, 4000, &from));
        OK(acu_block_write(client, from, 0, data, 4000));
        OK(acu_block_copy(second, to, 0, from, 0, 4000));
        OK(acu_block_release(from));
        OK(acu_client_trim_memory(client, 0));
        HOLDS_FOR(second, to, data, 4000);
    }
}

/* ---- wrapped memory ---- */

static int dropped;

static void count_drop(void *data) {
    __atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
}

CASE(memory_of_the_host_is_wrapped) {
    needs(ACU_CAN_WRAP, "wrap memory");
    if (!is_cpu())
        skip_case("the place wraps no memory of the host");
    uint8_t *memory = some_bytes(100), *before = copy_bytes(memory, 100);
    acu_block *block = NULL;
    dropped = 0;
    OK(acu_block_wrap(client, memory, 100, count_drop, &dropped, &block));
    EQUAL(acu_block_size(block), 100);
    HOLDS(block, before, 100);
    OK(acu_block_fill(client, block, 10, 5, "x", 1));
    OK(acu_client_synchronize(client));
    IS(memory[9] == before[9] && memory[10] == 'x' && memory[14] == 'x');
    EQUAL(dropped, 0);
    OK(acu_block_release(block));
    EQUAL(dropped, 1);
}

CASE(memory_of_the_place_is_wrapped) {
    needs(ACU_CAN_WRAP | ACU_CAN_ADDRESS, "wrap an address");
    uint8_t *data = some_bytes(256);
    acu_block *owner = new_block_of(data, 256), *block = NULL;
    void *address = NULL;
    OK(acu_client_synchronize(client));
    OK(acu_block_get_address(owner, &address));
    dropped = 0;
    OK(acu_block_wrap(client, address, 256, count_drop, &dropped, &block));
    HOLDS(block, data, 256);
    OK(acu_block_fill(client, block, 0, 256, "y", 1));
    OK(acu_client_synchronize(client));
    memset(data, 'y', 256);
    HOLDS(owner, data, 256);
    OK(acu_block_release(block));
    OK(acu_client_synchronize(client));
    EQUAL(dropped, 1);
}

CASE(a_raw_buffer_of_webgpu_is_wrapped) {
    needs(ACU_CAN_WRAP, "wrap memory");
    if (!is_webgpu())
        skip_case("the place is not WebGPU");
    uint8_t *data = some_bytes(256);
    acu_block *owner = new_block_of(data, 256), *block = NULL;
    acu_raw raw;
    OK(acu_client_synchronize(client));
    OK(acu_block_get_raw(owner, &raw));
    EQUAL(raw.kind, ACU_RAW_WEBGPU);
    OK(acu_block_wrap(client, raw.handle, 256, NULL, NULL, &block));
    HOLDS(block, data, 256);
    OK(acu_block_release(block));
}

CASE(wrapping_without_a_function) {
    needs(ACU_CAN_WRAP, "wrap memory");
    if (!is_cpu())
        skip_case("the place wraps no memory of the host");
    uint8_t *memory = some_bytes(10);
    acu_block *block = NULL;
    OK(acu_block_wrap(client, memory, 10, NULL, NULL, &block));
    HOLDS(block, memory, 10);
    OK(acu_block_release(block));
}

CASE(wrapped_memory_is_dropped_when_work_is_done) {
    needs(ACU_CAN_WRAP, "wrap memory");
    needs_hold();
    if (!is_cpu())
        skip_case("the place wraps no memory of the host");
    uint8_t *memory = some_bytes(4096);
    acu_block *block = NULL;
    dropped = 0;
    OK(acu_block_wrap(client, memory, 4096, count_drop, &dropped, &block));
    hold(client);
    OK(acu_block_fill(client, block, 0, 4096, "z", 1));
    acu_client *mine = acu_client_retain(client);
    let_go(); /* a release may wait for the work */
    OK(acu_block_release(block));
    OK(acu_client_synchronize(mine));
    EQUAL(dropped, 1);
    EQUAL(memory[4095], 'z');
    OK(acu_client_release(mine));
}

CASE(wrapping_is_refused_where_it_cannot_be) {
    uint8_t memory[16];
    acu_block *block = NULL;
    if (can(ACU_CAN_WRAP))
        skip_case("the place can wrap memory");
    dropped = 0;
    FAILS(acu_block_wrap(client, memory, 16, count_drop, &dropped, &block), ACU_NOT_SUPPORTED,
          "acu_block_wrap");
    IS(block == NULL);
    EQUAL(dropped, 0);
}

CASE(wrapping_needs_memory) {
    acu_block *block = NULL;
    uint8_t memory[16];
    IS(acu_block_wrap(client, NULL, 16, NULL, NULL, &block) != 0);
    FAILS(acu_block_wrap(client, memory, 16, NULL, NULL, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_wrap(NULL, memory, 16, NULL, NULL, &block), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(wrapped_memory_is_not_the_clients) {
    needs(ACU_CAN_WRAP, "wrap memory");
    if (!is_cpu())
        skip_case("the place wraps no memory of the host");
    uint8_t *memory = some_bytes(4096);
    acu_memory_stats before = memory_of(client);
    acu_block *block = NULL;
    OK(acu_block_wrap(client, memory, 4096, NULL, NULL, &block));
    EQUAL(memory_of(client).reserved, before.reserved);
    OK(acu_block_release(block));
}

/* ---- what is beneath ---- */

CASE(an_address) {
    acu_block *block = new_block(100);
    void *address = NULL;
    if (!can(ACU_CAN_ADDRESS)) {
        FAILS(acu_block_get_address(block, &address), ACU_NOT_SUPPORTED, "acu_block_get_address");
        return;
    }
    OK(acu_block_get_address(block, &address));
    IS(address != NULL);
    EQUAL((uintptr_t)address % info.alignment, 0);
}

CASE(addresses_are_aligned) {
    needs(ACU_CAN_ADDRESS, "give addresses");
    for (size_t i = 0; i < 40; i++) {
        void *address = NULL;
        OK(acu_block_get_address(new_block(1 + 13 * i), &address));
        EQUAL((uintptr_t)address % info.alignment, 0);
    }
}

CASE(an_address_for_the_host) {
    uint8_t *data = some_bytes(100);
    acu_block *block = new_block_of(data, 100);
    void *host = NULL;
    if (!can(ACU_CAN_USE_HOST)) {
        FAILS(acu_block_get_host(block, &host), ACU_NOT_SUPPORTED, "acu_block_get_host");
        return;
    }
    OK(acu_block_get_host(block, &host));
    SAME_BYTES(host, data, 100);
    memset(host, 5, 100);
    memset(data, 5, 100);
    HOLDS(block, data, 100);
}

CASE(the_hosts_address_waits_for_work) {
    needs(ACU_CAN_USE_HOST, "give the host an address");
    acu_block *block = new_block(400000);
    void *host = NULL;
    for (uint32_t i = 0; i < 5; i++) {
        OK(acu_run(client, program("suite_count"), acu_items(100000), acu_out_block(block), i,
                   100000u));
        OK(acu_block_get_host(block, &host));
        EQUAL(((uint32_t *)host)[99999], 99999 + i);
    }
}

CASE(the_hosts_address_waits_for_work_of_other_clients) {
    needs(ACU_CAN_USE_HOST, "give the host an address");
    acu_client *second = new_client();
    acu_block *block = new_block(400000);
    void *host = NULL;
    for (uint32_t i = 0; i < 5; i++) {
        OK(acu_run(second, program("suite_count"), acu_items(100000), acu_out_block(block), i,
                   100000u));
        OK(acu_block_get_host(block, &host));
        EQUAL(((uint32_t *)host)[99999], 99999 + i);
    }
}

CASE(what_is_beneath_a_block) {
    acu_block *block = new_block(100);
    acu_raw raw = {ACU_RAW_OTHER, NULL, NULL};
    OK(acu_block_get_raw(block, &raw));
    if (is_cpu() || is_cuda())
        EQUAL(raw.kind, ACU_RAW_POINTER);
    if (is_webgpu())
        EQUAL(raw.kind, ACU_RAW_WEBGPU);
    IS(raw.kind == ACU_RAW_NONE || raw.handle != NULL);
}

CASE(asking_a_block_needs_its_arguments) {
    acu_block *block = new_block(10);
    acu_raw raw;
    void *address;
    FAILS(acu_block_get_raw(block, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_get_address(block, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_get_host(block, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_get_raw(NULL, &raw), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_get_address(NULL, &address), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_get_host(NULL, &address), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(making_a_block_needs_its_arguments) {
    acu_block *block = NULL;
    FAILS(acu_block_create(NULL, 10, &block), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_create(client, 10, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_create_for(client, ACU_F32, 10, NULL), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(blocks_of_0_bytes) {
    acu_block *a = new_block(0), *b = new_block(0);
    IS(a != b);
    EQUAL(acu_block_size(a), 0);
    OK(acu_block_write(client, a, 0, NULL, 0));
    OK(acu_block_read(client, a, 0, NULL, 0));
    OK(acu_block_copy(client, a, 0, b, 0, 0));
    OK(acu_block_fill(client, a, 0, 0, "x", 1));
    FAILS(acu_block_write(client, a, 0, "x", 1), ACU_ERROR_RANGE, "acu_block_write");
}
