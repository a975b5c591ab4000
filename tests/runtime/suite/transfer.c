/* Writing from the host, and reading to it, at every position. */
#include "suite.h"

enum { ROOM = 64 };

/* Every size up to 20 at a position: what is beside the range stays. */
CASE_FOR(write_at, 0, 1, 2, 3, 4, 5, 6, 7) {
    uint8_t *expected = some_bytes(ROOM);
    acu_block *block = new_block_of(expected, ROOM);
    for (size_t size = 0; size <= 20; size++) {
        uint8_t *data = some_bytes(size);
        OK(acu_block_write(client, block, n, data, size));
        memcpy(expected + n, data, size);
        HOLDS(block, expected, ROOM);
    }
}

CASE_FOR(read_at, 0, 1, 2, 3, 4, 5, 6, 7) {
    uint8_t *data = some_bytes(ROOM), got[ROOM], expected[ROOM];
    acu_block *block = new_block_of(data, ROOM);
    for (size_t size = 0; size <= 20; size++) {
        memset(got, 0xa5, ROOM);
        memset(expected, 0xa5, ROOM);
        memcpy(expected, data + n, size);
        OK(acu_block_read(client, block, n, got, size));
        SAME_BYTES(got, expected, ROOM);
    }
}

/* The last bytes of a block whose size is n. */
CASE_FOR(the_end_of_a_block, 1, 2, 3, 4, 5, 6, 7, 8, 9, 61, 62, 63) {
    uint8_t *expected = some_bytes(n);
    acu_block *block = new_block_of(expected, n);
    for (size_t size = 1; size <= n && size <= 9; size++) {
        uint8_t *data = some_bytes(size), got[9];
        OK(acu_block_write(client, block, n - size, data, size));
        memcpy(expected + n - size, data, size);
        HOLDS(block, expected, n);
        OK(acu_block_read(client, block, n - size, got, size));
        SAME_BYTES(got, data, size);
    }
}

CASE_FOR(a_large_transfer, 65536, 1000003, 8388608) {
    uint8_t *data = some_bytes(n);
    acu_block *block = new_block(n);
    OK(acu_block_write(client, block, 0, data, n));
    HOLDS(block, data, n);
}

CASE_FOR(a_large_transfer_at_an_odd_position, 1, 2, 3, 4097) {
    enum { SIZE = 300001 };
    uint8_t *data = some_bytes(SIZE), *expected = host_bytes(SIZE + 5000);
    acu_block *block = new_block_of(expected, SIZE + 5000);
    OK(acu_block_write(client, block, n, data, SIZE));
    memcpy(expected + n, data, SIZE);
    HOLDS(block, expected, SIZE + 5000);
    uint8_t *got = contents(client, block, n, SIZE);
    SAME_BYTES(got, data, SIZE);
}

CASE(the_hosts_memory_is_free_after_a_write) {
    uint8_t *data = some_bytes(100000), *expected = copy_bytes(data, 100000);
    acu_block *block = new_block(100000);
    OK(acu_block_write(client, block, 0, data, 100000));
    memset(data, 0, 100000);
    HOLDS(block, expected, 100000);
}

CASE(the_hosts_memory_is_free_after_a_write_behind_held_work) {
    needs_hold();
    acu_block *block = new_block(4096);
    uint8_t *data = some_bytes(4096), *expected = copy_bytes(data, 4096);
    OK(acu_client_synchronize(client));
    hold(client);
    if (is_cuda())
        let_go(); /* CUDA's copies from the host may wait for the stream */
    OK(acu_block_write(client, block, 0, data, 4096));
    memset(data, 0, 4096);
    let_go();
    HOLDS(block, expected, 4096);
}

CASE(a_read_comes_after_the_work_before) {
    acu_block *block = new_block(40000);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t last = 0;
        OK(acu_run(client, program("suite_count"), acu_items(10000), acu_out_block(block), i,
                   10000u));
        OK(acu_block_read(client, block, 39996, &last, 4));
        EQUAL(last, 9999 + i);
    }
}

CASE(writes_and_work_alternate) {
    acu_block *block = new_block(400);
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t words[100], got = 0;
        for (uint32_t k = 0; k < 100; k++)
            words[k] = i * k;
        OK(acu_block_write(client, block, 0, words, 400));
        OK(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(block), 100u));
        OK(acu_block_write(client, block, 0, "\1\0\0\0", 4));
        OK(acu_block_read(client, block, 396, &got, 4));
        EQUAL(got, i * 99 * 3 + 1);
        OK(acu_block_read(client, block, 0, &got, 4));
        EQUAL(got, 1);
    }
}

CASE(many_small_writes) {
    enum { SIZE = 3000 };
    uint8_t *expected = some_bytes(SIZE);
    acu_block *block = new_block(SIZE);
    for (size_t at = 0; at < SIZE;) {
        size_t size = 1 + below(7);
        size = size < SIZE - at ? size : SIZE - at;
        OK(acu_block_write(client, block, at, expected + at, size));
        at += size;
    }
    HOLDS(block, expected, SIZE);
}

CASE(writes_of_the_same_bytes_keep_their_order) {
    acu_block *block = new_block(16);
    for (int i = 0; i < 100; i++) {
        uint8_t byte = (uint8_t)i;
        OK(acu_block_write(client, block, 5, &byte, 1));
    }
    EQUAL(contents(client, block, 5, 1)[0], 99);
}

CASE(another_client_writes_and_reads) {
    acu_client *second = new_client();
    uint8_t *data = some_bytes(1001);
    acu_block *block = new_block(1001);
    OK(acu_block_write(second, block, 0, data, 1001));
    HOLDS(block, data, 1001);
    HOLDS_FOR(second, block, data, 1001);
}

static const struct {
    const char *name;
    uint64_t at;
    size_t bytes;
} outside[] = {
    {"one_too_many", 0, 101},      {"one_too_far", 1, 100},
    {"at_the_end", 100, 1},        {"behind_the_end", 101, 1},
    {"far_behind", UINT64_MAX, 1}, {"overflow", UINT64_MAX - 4, 8},
    {"huge", 0, SIZE_MAX},         {"huge_and_overflow", 50, SIZE_MAX - 40},
};

CASE_OF(outside_of_the_block, outside) {
    acu_block *block = new_block(100);
    uint8_t host[128] = {0};
    FAILS(acu_block_write(client, block, row->at, host, row->bytes), ACU_ERROR_RANGE,
          "acu_block_write");
    CONTAINS(acu_last_error_message(), "100");
    FAILS(acu_block_read(client, block, row->at, host, row->bytes), ACU_ERROR_RANGE,
          "acu_block_read");
    FAILS(acu_block_fill(client, block, row->at, row->bytes, "x", 1), ACU_ERROR_RANGE,
          "acu_block_fill");
    FAILS(acu_block_copy(client, block, row->at, block, 0, row->bytes), ACU_ERROR_RANGE,
          "acu_block_copy");
    FAILS(acu_block_copy(client, block, 0, block, row->at, row->bytes), ACU_ERROR_RANGE,
          "acu_block_copy");
}

CASE(nothing_at_the_end_is_inside) {
    acu_block *block = new_block(100);
    OK(acu_block_write(client, block, 100, NULL, 0));
    OK(acu_block_read(client, block, 100, NULL, 0));
    OK(acu_block_copy(client, block, 100, block, 100, 0));
    OK(acu_block_fill(client, block, 100, 0, "x", 1));
    FAILS(acu_block_write(client, block, 101, NULL, 0), ACU_ERROR_RANGE, "acu_block_write");
}

CASE(transfers_need_the_hosts_memory) {
    acu_block *block = new_block(100);
    FAILS(acu_block_write(client, block, 0, NULL, 1), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_read(client, block, 0, NULL, 1), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(transfers_need_handles) {
    acu_block *block = new_block(100);
    uint8_t host[4] = {0};
    FAILS(acu_block_write(NULL, block, 0, host, 4), ACU_ERROR_ARGUMENT, "acu_block_write");
    FAILS(acu_block_write(client, NULL, 0, host, 4), ACU_ERROR_ARGUMENT, "acu_block_write");
    FAILS(acu_block_read(NULL, block, 0, host, 4), ACU_ERROR_ARGUMENT, "acu_block_read");
    FAILS(acu_block_read(client, NULL, 0, host, 4), ACU_ERROR_ARGUMENT, "acu_block_read");
}

CASE(a_client_of_another_place_is_refused) {
    acu_client *there = new_client_on(other_place());
    acu_block *block = new_block(100);
    uint8_t host[4] = {0};
    FAILS(acu_block_write(there, block, 0, host, 4), ACU_ERROR_DEVICE, "acu_block_write");
    FAILS(acu_block_read(there, block, 0, host, 4), ACU_ERROR_DEVICE, "acu_block_read");
    FAILS(acu_block_fill(there, block, 0, 4, "x", 1), ACU_ERROR_DEVICE, "acu_block_fill");
}

CASE(a_client_of_another_device_is_refused) {
    acu_client *there = new_client_on(second_device());
    acu_block *block = new_block(100);
    uint8_t host[4] = {0};
    FAILS(acu_block_write(there, block, 0, host, 4), ACU_ERROR_DEVICE, "acu_block_write");
    FAILS(acu_block_read(there, block, 0, host, 4), ACU_ERROR_DEVICE, "acu_block_read");
}

/* Numbers of 32 bits are too small for these positions. */
CASE(positions_beyond_4_gib) {
    const uint64_t far = ((uint64_t)4 << 30) + 3, size = ((uint64_t)4 << 30) + 5000;
    const size_t shape[] = {3};
    const int64_t apart[] = {2};
    acu_block *block = NULL;
    uint8_t *data = some_bytes(100), got[100];
    if (!is_cpu() && !(is_cuda() && !is_simulated()))
        skip_case("the place would touch or have too little memory");
    if (acu_block_create(client, size, &block))
        skip_case("there is no memory for that: %s", acu_last_error_message());
    release_block_later(block);
    OK(acu_block_write(client, block, far, data, 100));
    OK(acu_block_read(client, block, far, got, 100));
    SAME_BYTES(got, data, 100);
    OK(acu_block_copy(client, block, 7, block, far, 100));
    OK(acu_block_copy(client, block, far + 1000, block, 8, 99));
    OK(acu_block_read(client, block, far + 1000, got, 99));
    SAME_BYTES(got, data + 1, 99);
    OK(acu_block_fill(client, block, far + 2000, 99, "ab", 2));
    OK(acu_block_read(client, block, far + 2000, got, 99));
    IS(got[0] == 'a' && got[97] == 'b' && got[98] == 'a');
    acu_strides s = {1, shape, NULL, apart, (size_t)(far - 3) / 4 + 900, (size_t)(far - 3) / 4 + 1};
    OK(acu_block_copy_strided(client, block, block, 4, &s));
    OK(acu_block_read(client, block, far - 3 + 3600 + 4, got, 4));
    SAME_BYTES(got, data + 9, 4);
    FAILS(acu_block_write(client, block, size - 1, "xx", 2), ACU_ERROR_RANGE, "acu_block_write");
}
