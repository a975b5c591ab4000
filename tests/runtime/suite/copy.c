/* Copies: within a block, between blocks, clients, devices and places. */
#include "suite.h"

/* All pairs of positions modulo 4, and sizes up to 20, between two blocks. */
CASE_FOR(between_blocks_from, 0, 1, 2, 3) {
    enum { ROOM = 48 };
    uint8_t *source = some_bytes(ROOM), *expected = some_bytes(ROOM);
    acu_block *from = new_block_of(source, ROOM), *to = new_block_of(expected, ROOM);
    for (size_t at = 0; at < 5; at++)
        for (size_t size = 1; size <= 20; size += 1 + size / 6) {
            OK(acu_block_copy(client, to, at, from, n + size, size));
            memcpy(expected + at, source + n + size, size);
            HOLDS(to, expected, ROOM);
        }
    HOLDS(from, source, ROOM);
}

CASE_FOR(a_whole_block, 1, 3, 4, 4095, 65536, 3000001) {
    uint8_t *data = some_bytes(n);
    acu_block *from = new_block_of(data, n), *to = new_block(n);
    OK(acu_block_copy(client, to, 0, from, 0, n));
    HOLDS(to, data, n);
    HOLDS(from, data, n);
}

static const struct {
    const char *name;
    size_t room, to, from, bytes;
} within[] = {
    {"apart", 100, 50, 0, 50},
    {"up_by_one", 100, 1, 0, 99},
    {"down_by_one", 100, 0, 1, 99},
    {"up_by_2", 100, 2, 0, 98},
    {"down_by_3", 100, 0, 3, 97},
    {"up_by_a_word", 100, 4, 0, 96},
    {"down_by_a_word", 100, 0, 4, 96},
    {"up_by_5", 100, 6, 1, 77},
    {"down_by_7", 100, 1, 8, 83},
    {"onto_itself", 100, 10, 10, 50},
    {"onto_itself_at_odd", 100, 11, 11, 33},
    {"touching", 100, 30, 10, 20},
    {"touching_at_odd", 100, 31, 14, 17},
    {"one_byte", 100, 99, 0, 1},
    {"one_byte_of_a_word", 8, 1, 2, 1},
    {"large_up", 1000003, 1, 0, 1000002},
    {"large_down", 1000003, 0, 1, 1000002},
    {"large_up_by_half", 1000000, 400000, 0, 600000},
    {"large_down_by_half", 1000000, 0, 400000, 600000},
    {"large_up_by_a_page", 1000000, 4096, 0, 995904},
};

CASE_OF(within_a_block, within) {
    uint8_t *expected = some_bytes(row->room);
    acu_block *block = new_block_of(expected, row->room);
    OK(acu_block_copy(client, block, row->to, block, row->from, row->bytes));
    memmove(expected + row->to, expected + row->from, row->bytes);
    HOLDS(block, expected, row->room);
}

/* Overlapping by each distance, in both directions. */
CASE(overlaps_of_every_distance) {
    enum { ROOM = 40 };
    uint8_t *expected = some_bytes(ROOM);
    acu_block *block = new_block_of(expected, ROOM);
    for (size_t distance = 0; distance <= 12; distance++)
        for (int up = 0; up < 2; up++) {
            size_t to = up ? distance : 0, from = up ? 0 : distance;
            OK(acu_block_copy(client, block, to, block, from, ROOM - 12));
            memmove(expected + to, expected + from, ROOM - 12);
        }
    HOLDS(block, expected, ROOM);
}

CASE(copies_follow_each_other) {
    enum { SIZE = 1000 };
    uint8_t *data = some_bytes(SIZE);
    acu_block *blocks[10] = {new_block_of(data, SIZE)};
    for (size_t i = 1; i < 10; i++) {
        blocks[i] = new_block(SIZE);
        OK(acu_block_copy(client, blocks[i], 0, blocks[i - 1], 0, SIZE));
    }
    HOLDS(blocks[9], data, SIZE);
}

CASE(a_copy_is_of_what_was_there) {
    uint8_t *first = some_bytes(5000), *second = some_bytes(5000);
    acu_block *from = new_block_of(first, 5000), *to = new_block(5000);
    OK(acu_block_copy(client, to, 0, from, 0, 5000));
    OK(acu_block_write(client, from, 0, second, 5000));
    HOLDS(to, first, 5000);
    HOLDS(from, second, 5000);
}

CASE(blocks_of_two_clients) {
    acu_client *second = new_client();
    uint8_t *data = some_bytes(777);
    acu_block *from = new_block_of(data, 777), *to = new_block_for(second, 777);
    OK(acu_block_copy(second, to, 0, from, 0, 777));
    HOLDS_FOR(second, to, data, 777);
    OK(acu_block_copy(client, from, 1, to, 0, 776));
    memmove(data + 1, data, 776);
    HOLDS(from, data, 777);
}

CASE(a_third_client_copies) {
    acu_client *second = new_client(), *third = new_client();
    uint8_t *data = some_bytes(777);
    acu_block *from = new_block_of(data, 777), *to = new_block_for(second, 777);
    OK(acu_block_copy(third, to, 0, from, 0, 777));
    HOLDS_FOR(second, to, data, 777);
}

static const struct {
    const char *name;
    size_t to, from, bytes;
} between[] = {
    {"all", 0, 0, 1000},     {"a_word", 4, 8, 4},      {"a_byte", 3, 2, 1},
    {"odd", 1, 2, 997},      {"the_end", 999, 999, 1}, {"nothing", 1000, 1000, 0},
    {"a_tail", 400, 1, 600},
};

CASE_OF(to_another_place, between) {
    acu_client *there = new_client_on(other_place());
    uint8_t *data = some_bytes(1000), *expected = some_bytes(1000);
    acu_block *from = new_block_of(data, 1000), *to = new_block_with(there, expected, 1000);
    OK(acu_block_copy(client, to, row->to, from, row->from, row->bytes));
    memcpy(expected + row->to, data + row->from, row->bytes);
    HOLDS_FOR(there, to, expected, 1000);
    HOLDS(from, data, 1000);
}

CASE_OF(from_another_place, between) {
    acu_client *there = new_client_on(other_place());
    uint8_t *data = some_bytes(1000), *expected = some_bytes(1000);
    acu_block *from = new_block_with(there, data, 1000), *to = new_block_of(expected, 1000);
    OK(acu_block_copy(client, to, row->to, from, row->from, row->bytes));
    memcpy(expected + row->to, data + row->from, row->bytes);
    HOLDS(to, expected, 1000);
}

CASE_OF(by_the_other_places_client, between) {
    acu_client *there = new_client_on(other_place());
    uint8_t *data = some_bytes(1000), *expected = some_bytes(1000);
    acu_block *from = new_block_of(data, 1000), *to = new_block_with(there, expected, 1000);
    OK(acu_block_copy(there, to, row->to, from, row->from, row->bytes));
    memcpy(expected + row->to, data + row->from, row->bytes);
    HOLDS_FOR(there, to, expected, 1000);
}

CASE(a_large_copy_between_places_and_back) {
    enum { SIZE = 5000001 };
    acu_client *there = new_client_on(other_place());
    uint8_t *data = some_bytes(SIZE);
    acu_block *from = new_block_of(data, SIZE), *to = new_block_for(there, SIZE),
              *back = new_block(SIZE);
    OK(acu_block_copy(client, to, 0, from, 0, SIZE));
    OK(acu_block_copy(client, back, 0, to, 0, SIZE));
    HOLDS(back, data, SIZE);
}

CASE(copies_between_places_come_after_work) {
    acu_client *there = new_client_on(other_place());
    acu_block *from = new_block(40000), *to = new_block_for(there, 40000);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t last = 0;
        OK(acu_run(client, program("suite_count"), acu_items(10000), acu_out_block(from), i,
                   10000u));
        OK(acu_block_copy(client, to, 0, from, 0, 40000));
        OK(acu_run(client, program("suite_count"), acu_items(10000), acu_out_block(from), 77u,
                   10000u));
        OK(acu_block_read(there, to, 39996, &last, 4));
        EQUAL(last, 9999 + i);
    }
}

CASE(a_client_of_a_third_place_is_refused) {
    if (is_cpu() || place.runtime == fake_place().runtime)
        skip_case("there is no third place");
    acu_client *third = new_client_on(fake_place());
    acu_block *from = new_block(10), *to = new_block_for(new_client_on(acu_place_cpu()), 10);
    FAILS(acu_block_copy(third, to, 0, from, 0, 10), ACU_ERROR_DEVICE, "acu_block_copy");
}

CASE(the_range_is_checked_in_both_places) {
    acu_client *there = new_client_on(other_place());
    acu_block *from = new_block(10), *to = new_block_for(there, 5);
    FAILS(acu_block_copy(client, to, 0, from, 0, 10), ACU_ERROR_RANGE, "acu_block_copy");
    FAILS(acu_block_copy(client, from, 8, to, 0, 5), ACU_ERROR_RANGE, "acu_block_copy");
}

CASE(between_two_devices) {
    enum { SIZE = 100003 };
    acu_client *there = new_client_on(second_device());
    uint8_t *data = some_bytes(SIZE);
    acu_block *from = new_block_of(data, SIZE), *to = new_block_for(there, SIZE),
              *back = new_block(SIZE);
    OK(acu_block_copy(client, to, 0, from, 0, SIZE));
    HOLDS_FOR(there, to, data, SIZE);
    OK(acu_block_copy(there, back, 1, to, 2, SIZE - 2));
    SAME_BYTES(contents(client, back, 1, SIZE - 2), data + 2, SIZE - 2);
}

CASE(between_two_devices_in_order) {
    acu_client *there = new_client_on(second_device());
    acu_block *from = new_block(40000), *to = new_block_for(there, 40000);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t last = 0;
        OK(acu_run(client, program("suite_count"), acu_items(10000), acu_out_block(from), i,
                   10000u));
        OK(acu_block_copy(i % 2 ? client : there, to, 0, from, 0, 40000));
        OK(acu_run(client, program("suite_count"), acu_items(10000), acu_out_block(from), 77u,
                   10000u));
        OK(acu_block_read(there, to, 39996, &last, 4));
        EQUAL(last, 9999 + i);
    }
}

CASE(copies_need_handles) {
    acu_block *block = new_block(10);
    FAILS(acu_block_copy(NULL, block, 0, block, 0, 1), ACU_ERROR_ARGUMENT, "acu_block_copy");
    FAILS(acu_block_copy(client, NULL, 0, block, 0, 1), ACU_ERROR_ARGUMENT, "acu_block_copy");
    FAILS(acu_block_copy(client, block, 0, NULL, 0, 1), ACU_ERROR_ARGUMENT, "acu_block_copy");
}
