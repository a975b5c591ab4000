/* Runs of programs. */
#include "suite.h"

/* ---- what runs ---- */

CASE_FOR(add_numbers, 1, 2, 3, 63, 64, 65, 255, 256, 257, 1000, 4097, 1000003) {
    acu_block *a = block_of_floats(n, 1), *b = block_of_floats(n, 2), *sum = new_block(n * 4);
    OK(acu_run(client, program("suite_add"), acu_items(n), acu_in_block(a), acu_in_block(b),
               acu_out_block(sum), (uint32_t)n));
    const float *got = floats_of(sum, n);
    for (size_t i = 0; i < n; i++)
        IS(got[i] == (float)i + (float)i * 2);
}

CASE(no_items) {
    uint8_t *data = some_bytes(400);
    acu_block *block = new_block_of(data, 400);
    OK(acu_run(client, program("suite_step"), acu_items(0), acu_inout_block(block), 100u));
    OK(acu_run(client, program("suite_step"), acu_items_3d(5, 0, 5), acu_inout_block(block), 100u));
    OK(acu_run(client, program("suite_step"), acu_items_3d(5, 5, 0), acu_inout_block(block), 100u));
    HOLDS(block, data, 400);
}

/* Fewer items than words: the rest stays. */
CASE_FOR(items, 1, 5, 64, 65) {
    acu_block *block = new_block(400);
    OK(acu_block_fill(client, block, 0, 400, "\0", 1));
    OK(acu_run(client, program("suite_count"), acu_items(n), acu_out_block(block), 9u,
               (uint32_t)n));
    const uint32_t *got = words_of(block, 100);
    for (size_t i = 0; i < 100; i++)
        EQUAL(got[i], i < n ? i + 9 : 0);
}

CASE(in_place) {
    acu_block *block = block_of_floats(1000, 1);
    OK(acu_run(client, program("suite_scale"), acu_items(1000), acu_inout_block(block), 4.0f, -7,
               1000u));
    const float *got = floats_of(block, 1000);
    for (size_t i = 0; i < 1000; i++)
        IS(got[i] == (float)i * 4 - 7);
}

CASE(a_block_alone_is_read_and_written) {
    acu_block *block = block_of_floats(100, 1);
    OK(acu_run(client, program("suite_scale"), acu_items(100), block, 2.0f, 1, 100u));
    IS(floats_of(block, 100)[99] == 199);
}

CASE(one_block_is_read_twice) {
    acu_block *a = block_of_floats(500, 3), *sum = new_block(2000);
    OK(acu_run(client, program("suite_add"), acu_items(500), acu_in_block(a), acu_in_block(a),
               acu_out_block(sum), 500u));
    IS(floats_of(sum, 500)[499] == 499 * 6);
}

/* Some places cannot: they say so, and nothing is wrong without an error. */
CASE(one_block_is_read_and_written_as_two) {
    acu_block *a = block_of_floats(500, 3), *b = block_of_floats(500, 1);
    acu_result result = acu_run(client, program("suite_add"), acu_items(500), acu_in_block(a),
                                acu_in_block(b), acu_out_block(a), 500u);
    result = result ? result : acu_client_synchronize(client);
    if (result == 0)
        IS(floats_of(a, 500)[499] == 499 * 4);
    else
        CONTAINS(acu_last_error_message(), "acu_");
}

CASE(a_chain_of_runs) {
    uint32_t expected = 1;
    acu_block *block = new_block(400);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    for (int i = 0; i < 100; i++) {
        OK(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(block), 100u));
        expected = expected * 3 + 1;
    }
    EQUAL(words_of(block, 100)[0], expected);
}

CASE(runs_pass_blocks_on) {
    acu_block *blocks[8];
    for (size_t i = 0; i < 8; i++)
        blocks[i] = new_block(4000);
    OK(acu_run(client, program("suite_count"), acu_items(1000), acu_out_block(blocks[0]), 1u,
               1000u));
    for (size_t i = 1; i < 8; i++) {
        OK(acu_run(client, program("suite_copy"), acu_items(1000), acu_in_block(blocks[i - 1]),
                   acu_out_block(blocks[i]), 1000u));
        OK(acu_run(client, program("suite_step"), acu_items(1000), acu_inout_block(blocks[i - 1]),
                   1000u));
    }
    for (uint32_t i = 0; i < 1000; i += 111)
        EQUAL(words_of(blocks[7], 1000)[i], i + 1);
}

CASE_FOR(sums_of_groups_of, 64, 65, 1000, 6400, 100000) {
    size_t groups = (n + 63) / 64;
    uint32_t *data = host_bytes(n * 4);
    for (size_t i = 0; i < n; i++)
        data[i] = any_number();
    acu_block *from = new_block_of(data, n * 4), *sums = new_block(groups * 4);
    OK(acu_block_fill(client, sums, 0, groups * 4, "\0", 1));
    OK(acu_run(client, program("suite_reduce"), acu_items(n), acu_in_block(from),
               acu_inout_block(sums), (uint32_t)n));
    const uint32_t *got = words_of(sums, groups);
    for (size_t g = 0; g < groups; g++) {
        uint32_t sum = 0;
        for (size_t i = g * 64; i < n && i < g * 64 + 64; i++)
            sum += data[i];
        EQUAL(got[g], sum);
    }
}

static const struct {
    const char *name;
    uint32_t x, y, z;
} cubes[] = {
    {"one", 1, 1, 1},         {"a_line_in_y", 1, 9, 1},
    {"a_line_in_z", 1, 1, 9}, {"of_4", 4, 4, 4},
    {"of_5", 5, 5, 5},        {"flat", 30, 17, 1},
    {"upright", 3, 1, 21},    {"of_different_sides", 33, 7, 5},
    {"large", 64, 64, 64},
};

CASE_OF(a_cube, cubes) {
    uint32_t n = row->x * row->y * row->z;
    acu_block *block = new_block((size_t)n * 4);
    OK(acu_run(client, program("suite_cube"), acu_items_3d(row->x, row->y, row->z),
               acu_out_block(block), row->x, row->y, row->z, n));
    const uint32_t *got = words_of(block, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t x = i % row->x, y = i / row->x % row->y, z = i / row->x / row->y;
        EQUAL(got[i], x + 1000 * y + 1000000 * z);
    }
}

static const struct {
    const char *name;
    uint32_t a;
    uint64_t b;
    float c;
    int32_t d;
} value_rows[] = {
    {"zeros", 0, 0, 0, 0},
    {"ones", 1, 1, 1, 1},
    {"largest", UINT32_MAX, UINT64_MAX, 3e38f, INT32_MAX},
    {"smallest", 0, 1ull << 63, -1e-38f, INT32_MIN},
    {"mixed", 0x12345678, 0x1122334455667788, 0.1f, -12345},
};

CASE_OF(values, value_rows) {
    uint32_t expected[5];
    acu_block *block = new_block(20);
    OK(acu_run(client, program("suite_values"), acu_items(5), acu_out_block(block), row->a, row->b,
               row->c, row->d, 5u));
    memcpy(&expected[0], &row->a, 4);
    memcpy(&expected[1], &row->b, 8);
    memcpy(&expected[3], &row->c, 4);
    memcpy(&expected[4], &row->d, 4);
    HOLDS(block, expected, 20);
}

CASE(values_are_copied) {
    acu_block *block = new_block(400);
    uint32_t first = 5, n = 100;
    acu_arg args[] = {acu_out_block(block), acu_bytes(&first, 4), acu_bytes(&n, 4)};
    OK(acu_run_args(client, program("suite_count"), acu_items(100), args, 3));
    first = 6;
    n = 0;
    memset(args, 0xff, sizeof args);
    EQUAL(words_of(block, 100)[99], 104);
}

CASE(a_struct_is_a_value) {
    uint32_t s[4] = {1, 22, 333, 4444};
    acu_block *block = new_block(16);
    OK(acu_run(client, program("suite_struct"), acu_items(3), acu_out_block(block),
               acu_bytes(s, sizeof s), 4u));
    HOLDS(block, s, 16);
}

CASE(a_program_without_values) {
    uint32_t data[128];
    for (uint32_t i = 0; i < 128; i++)
        data[i] = i;
    acu_block *block = new_block_of(data, sizeof data);
    OK(acu_run(client, program("suite_twice"), acu_items(128), acu_inout_block(block)));
    for (uint32_t i = 0; i < 128; i++)
        EQUAL(words_of(block, 128)[i], 2 * i);
}

CASE(a_program_without_arguments) {
    acu_program_source source = source_of("suite_hold");
    acu_program *made = NULL;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    OK(acu_run_args(client, made, acu_items(1), NULL, 0));
    OK(acu_client_synchronize(client));
}

CASE_FOR(a_run_with_blocks, 1, 2, 3, 4, 8, 16, 29) {
    acu_arg args[31];
    size_t blocks = n < info.max_blocks || !has_programs() ? n : info.max_blocks;
    uint32_t expected = 0, inputs = (uint32_t)blocks - 1, words = 10;
    acu_block *last = NULL;
    args[0] = acu_arg_of(inputs);
    for (uint32_t i = 0; i < blocks; i++) {
        uint32_t value = 1u << i;
        last = new_block(40);
        OK(acu_block_fill(client, last, 0, 40, &value, 4));
        args[i + 1] = i < inputs ? acu_in_block(last) : acu_out_block(last);
        expected += i < inputs ? value : 0;
    }
    args[blocks + 1] = acu_arg_of(words);
    OK(acu_run_args(client, new_program_of_blocks((unsigned)blocks), acu_items(10), args,
                    blocks + 2));
    for (size_t i = 0; i < 10; i++)
        EQUAL(words_of(last, 10)[i], expected);
}

CASE(as_many_blocks_as_the_place_allows) {
    if (!has_programs())
        skip_case("the CPU runs the programs of the place");
    uint32_t count = info.max_blocks < 60 ? info.max_blocks : 60;
    acu_arg args[62];
    acu_block *last = NULL;
    args[0] = acu_arg_of((uint32_t)(count - 1));
    for (uint32_t i = 0; i < count; i++) {
        last = new_block(40);
        OK(acu_block_fill(client, last, 0, 40, &i, 4));
        args[i + 1] = i + 1 < count ? acu_in_block(last) : acu_out_block(last);
    }
    args[count + 1] = acu_arg_of(10u);
    OK(acu_run_args(client, new_program_of_blocks(count), acu_items(10), args, count + 2));
    EQUAL(words_of(last, 10)[9], (count - 1) * (count - 2) / 2);
}

CASE(more_blocks_than_the_place_allows) {
    if (!has_programs() || info.max_blocks > 60)
        skip_case("so many blocks are allowed");
    acu_arg args[64];
    uint32_t count = info.max_blocks + 1;
    args[0] = acu_arg_of((uint32_t)(count - 1));
    for (uint32_t i = 0; i < count; i++)
        args[i + 1] = acu_inout_block(new_block(40));
    args[count + 1] = acu_arg_of(10u);
    FAILS(acu_run_args(client, program("suite_step"), acu_items(10), args, count + 2),
          ACU_ERROR_LIMIT, "suite_step");
}

CASE(a_block_of_an_odd_size) {
    uint8_t *data = some_bytes(4 * 33 + 3), *expected = copy_bytes(data, 4 * 33 + 3);
    acu_block *block = new_block_of(data, 4 * 33 + 3);
    OK(acu_run(client, program("suite_step"), acu_items(33), acu_inout_block(block), 33u));
    for (size_t i = 0; i < 33; i++) {
        uint32_t word;
        memcpy(&word, expected + 4 * i, 4);
        word = word * 3 + 1;
        memcpy(expected + 4 * i, &word, 4);
    }
    HOLDS(block, expected, 4 * 33 + 3);
}

CASE(a_block_of_another_client) {
    acu_client *second = new_client();
    acu_block *block = new_block_for(second, 400);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    OK(acu_run(second, program("suite_step"), acu_items(100), acu_inout_block(block), 100u));
    EQUAL(words_of(block, 100)[0], 4);
}

CASE(a_run_does_not_wait) {
    needs_hold();
    acu_block *block = new_block(400);
    hold(client);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(block), 1u, 100u));
    acu_mark *mark = new_mark(client);
    EQUAL(acu_mark_query(mark), ACU_NOT_READY);
    let_go();
}

CASE(a_program_is_released_while_it_runs) {
    acu_block *block = new_block(40000);
    acu_program_source source = source_of("suite_count");
    for (uint32_t i = 0; i < 5; i++) {
        acu_program *made = NULL;
        OK(acu_program_create(&source, &made));
        OK(acu_run(client, made, acu_items(10000), acu_out_block(block), i, 10000u));
        OK(acu_program_release(made));
    }
    EQUAL(words_of(block, 10000)[9999], 9999 + 4);
}

CASE(one_program_on_two_places) {
    acu_client *there = new_client_on(acu_place_cpu());
    acu_block *here = new_block(400), *other = new_block_for(there, 400);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(here), 1u, 100u));
    OK(acu_run(there, program("suite_count"), acu_items(100), acu_out_block(other), 2u, 100u));
    EQUAL(words_of(here, 100)[0], 1);
    EQUAL(contents(there, other, 0, 4)[0], 2);
}

CASE(one_program_on_two_devices) {
    acu_client *there = new_client_on(second_device());
    acu_block *here = new_block(400), *other = new_block_for(there, 400);
    for (uint32_t i = 0; i < 5; i++) {
        OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(here), i, 100u));
        OK(acu_run(there, program("suite_count"), acu_items(100), acu_out_block(other), i + 50,
                   100u));
    }
    EQUAL(words_of(here, 100)[0], 4);
    EQUAL(contents(there, other, 0, 4)[0], 54);
}

static uint64_t counted;

static void count_items(const acu_part *part, void *const *args) {
    uint64_t items = 1;
    (void)args;
    for (int k = 0; k < 3; k++)
        items *= part->end[k] - part->begin[k];
    __atomic_add_fetch(&counted, items, __ATOMIC_RELAXED);
}

static const struct {
    const char *name;
    size_t x, y, z;
} many_items[] = {
    {"in_x", (size_t)5 << 30, 1, 1}, {"in_y", 1, (size_t)5 << 30, 1},
    {"in_z", 3, 1, (size_t)5 << 30}, {"in_all", 5000, 3000, 1000},
    {"odd", 65537, 65539, 3},
};

CASE_OF(more_items_than_32_bits, many_items) {
    acu_client *cpu = new_client_on(acu_place_cpu());
    acu_program *made = NULL;
    acu_program_source source = {.name = "count_items", .cpu = count_items};
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    counted = 0;
    OK(acu_run_args(cpu, made, acu_items_3d(row->x, row->y, row->z), NULL, 0));
    OK(acu_client_synchronize(cpu));
    EQUAL(counted, (uint64_t)row->x * row->y * row->z);
}
