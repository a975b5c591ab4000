/* Programs, and their runs. */
#include "suite.h"

static bool has_programs(void) {
    return is_cpu() || is_cuda() || is_webgpu();
}

static uint32_t *words_of(acu_block *block, size_t count) {
    return (uint32_t *)(void *)contents(client, block, 0, count * 4);
}

static float *floats_of(acu_block *block, size_t count) {
    return (float *)(void *)contents(client, block, 0, count * 4);
}

/* `count` floats: i * factor. */
static acu_block *block_of_floats(size_t count, float factor) {
    float *data = host_bytes(count * 4);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)i * factor;
    return new_block_of(data, count * 4);
}

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
    {"one", 1, 1, 1},      {"a_line_in_y", 1, 9, 1},      {"a_line_in_z", 1, 1, 9},
    {"of_4", 4, 4, 4},     {"of_5", 5, 5, 5},             {"flat", 30, 17, 1},
    {"upright", 3, 1, 21}, {"of_different_sides", 33, 7, 5}, {"large", 64, 64, 64},
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
    FAILS(acu_run_args(client, new_program_of_blocks(count), acu_items(10), args, count + 2),
          ACU_ERROR_LIMIT, "acu_run");
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

/* ---- the CPU's form ---- */

enum { SEEN = 20000 };
static uint8_t seen[SEEN];
static unsigned most_thread;
static int wrong; /* on a thread of the library, which no check may end */

static void note_items(const acu_part *part, void *const *args) {
    unsigned most = __atomic_load_n(&most_thread, __ATOMIC_RELAXED);
    (void)args;
    for (size_t i = part->begin[0]; i < part->end[0] && i < SEEN; i++)
        __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
    while (part->thread > most &&
           !__atomic_compare_exchange_n(&most_thread, &most, part->thread, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
    if (part->items[1] != 1 || part->items[2] != 1 || part->end[1] != 1 || part->end[2] != 1 ||
        part->begin[1] != 0 || part->begin[2] != 0)
        __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

CASE_FOR(parts_cover_each_item_once, 1, 2, 7, 255, 256, 257, 20000) {
    acu_program *made = NULL;
    acu_client *cpu = new_client_on(acu_place_cpu());
    acu_place_info its;
    acu_program_source source = {.name = "note_items", .cpu = note_items};
    OK(acu_place_get_info(acu_place_cpu(), &its));
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    memset(seen, 0, sizeof seen);
    most_thread = 0;
    wrong = 0;
    OK(acu_run_args(cpu, made, acu_items(n), NULL, 0));
    OK(acu_client_synchronize(cpu));
    for (size_t i = 0; i < SEEN; i++)
        EQUAL(seen[i], i < n);
    IS(its.threads == 0 || most_thread < its.threads);
    IS(!wrong);
}

static int8_t busy[4096];

static void claim_thread(const acu_part *part, void *const *args) {
    (void)args;
    int8_t *mine = &busy[part->thread % COUNT(busy)];
    if (__atomic_exchange_n(mine, 1, __ATOMIC_ACQUIRE))
        __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
    for (volatile int i = 0; i < 2000; i++)
        ;
    __atomic_store_n(mine, 0, __ATOMIC_RELEASE);
}

CASE(parts_that_run_at_once_have_different_threads) {
    acu_program *made = NULL;
    acu_client *cpu = new_client_on(acu_place_cpu());
    acu_program_source source = {.name = "claim_thread", .cpu = claim_thread};
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    memset(busy, 0, sizeof busy);
    wrong = 0;
    for (int i = 0; i < 20; i++)
        OK(acu_run_args(cpu, made, acu_items(100000), NULL, 0));
    OK(acu_client_synchronize(cpu));
    IS(!wrong);
}

/* ---- missing forms ---- */

CASE(a_program_without_a_form_for_the_place) {
    acu_program *made = NULL;
    acu_block *block = new_block(400);
    acu_program_source source = source_of("suite_count");
    source.flags = 0;
    if (is_cpu() || is_late())
        source.cpu = NULL;
    if (is_cuda())
        source.ptx = NULL;
    if (is_webgpu())
        source.wgsl = NULL;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    FAILS(acu_program_prepare(made, place), ACU_NOT_SUPPORTED, "suite_count");
    FAILS(acu_run(client, made, acu_items(100), acu_out_block(block), 1u, 100u), ACU_NOT_SUPPORTED,
          "suite_count");
}

CASE(a_program_that_the_cpu_may_run) {
    if (is_cpu())
        skip_case("the place is the CPU");
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_scale");
    source.ptx = source.wgsl = NULL;
    source.flags = ACU_PROGRAM_ON_CPU;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    acu_block *block = block_of_floats(1001, 1);
    OK(acu_program_prepare(made, place));
    for (int i = 0; i < 3; i++)
        OK(acu_run(client, made, acu_items(1001), acu_inout_block(block), 2.0f, 1, 1001u));
    IS(floats_of(block, 1001)[1000] == 8007);
}

CASE(the_cpu_only_writes_what_a_program_writes) {
    if (is_cpu())
        skip_case("the place is the CPU");
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_add");
    source.ptx = source.wgsl = NULL;
    source.flags = ACU_PROGRAM_ON_CPU;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    acu_block *a = block_of_floats(100, 1), *b = block_of_floats(100, 2), *sum = new_block(403);
    OK(acu_block_fill(client, sum, 0, 403, "\7", 1));
    OK(acu_run(client, made, acu_items(50), acu_in_block(a), acu_in_block(b), acu_out_block(sum),
               50u));
    IS(floats_of(sum, 100)[49] == 147);
    EQUAL(contents(client, sum, 200, 1)[0], 7);
    EQUAL(contents(client, sum, 402, 1)[0], 7);
    IS(floats_of(a, 100)[99] == 99);
}

CASE(the_cpu_may_run_but_has_no_form) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    source.flags = ACU_PROGRAM_ON_CPU;
    source.cpu = NULL;
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "suite_count");
    IS(made == NULL);
}

CASE(a_form_that_does_not_compile) {
    if (!is_webgpu() && !is_cuda())
        skip_case("the place compiles nothing");
    acu_program *made = NULL;
    acu_block *block = new_block(400);
    acu_program_source source = source_of("suite_count");
    source.ptx = "this is no PTX";
    source.wgsl = "this is no WGSL";
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    IS(acu_program_prepare(made, place) != 0);
    CONTAINS(acu_last_error_message(), "suite_count");
    IS(acu_run(client, made, acu_items(100), acu_out_block(block), 1u, 100u) != 0);
    OK(acu_block_fill(client, block, 0, 400, "x", 1));
    EQUAL(contents(client, block, 399, 1)[0], 'x');
}

CASE(a_kernel_of_another_name) {
    if (!is_webgpu() && !is_cuda())
        skip_case("the place has no kernels");
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    source.name = "abacus";
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    IS(acu_program_prepare(made, place) != 0);
    CONTAINS(acu_last_error_message(), "abacus");
}

CASE(preparing) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    acu_block *block = new_block(400);
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    OK(acu_program_prepare(made, place));
    OK(acu_program_prepare(made, place));
    OK(acu_run(client, made, acu_items(100), acu_out_block(block), 3u, 100u));
    EQUAL(words_of(block, 100)[99], 102);
}

CASE(preparing_for_no_place) {
    FAILS(acu_program_prepare(program("suite_count"), (acu_place){place.runtime, 99}), 101, "99");
    FAILS(acu_program_prepare(NULL, place), ACU_ERROR_ARGUMENT, "acu_program_prepare");
}

/* ---- making programs ---- */

CASE(a_program_needs_a_name) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    source.name = NULL;
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "name");
    source.name = "";
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "name");
}

CASE(a_program_needs_a_form) {
    acu_program *made = NULL;
    acu_program_source source = {.name = "nothing"};
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "nothing");
    IS(made == NULL);
}

CASE(a_program_needs_its_arguments) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    FAILS(acu_program_create(NULL, &made), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_program_create(&source, NULL), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(a_source_of_another_size) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    source.size = 5;
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "size");
    source.size = 0;
    OK(acu_program_create(&source, &made));
    OK(acu_program_release(made));
}

CASE(texts_are_copied) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    char *name = copy_bytes(source.name, strlen(source.name) + 1);
    char *ptx = copy_bytes(source.ptx, strlen(source.ptx) + 1);
    char *wgsl = copy_bytes(source.wgsl, strlen(source.wgsl) + 1);
    acu_block *block = new_block(400);
    source.name = name;
    source.ptx = ptx;
    source.wgsl = wgsl;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    memset(name, 'x', strlen(name));
    memset(ptx, 'x', strlen(ptx));
    memset(wgsl, 'x', strlen(wgsl));
    OK(acu_run(client, made, acu_items(100), acu_out_block(block), 3u, 100u));
    EQUAL(words_of(block, 100)[99], 102);
    IS(strcmp(acu_program_name(made), "suite_count") == 0);
}

CASE(a_program_is_described) {
    char text[200];
    size_t length = acu_program_describe(program("suite_count"), text, sizeof text);
    EQUAL(length, strlen(text));
    CONTAINS(text, "suite_count");
    IS(strcmp(acu_program_name(NULL), "") == 0);
}

CASE(a_program_is_retained) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    OK(acu_program_create(&source, &made));
    IS(acu_program_retain(made) == made);
    OK(acu_program_release(made));
    IS(strcmp(acu_program_name(made), "suite_count") == 0);
    acu_program_cleanup(&made);
    OK(acu_program_release(NULL));
}

CASE(groups_of_the_default_size) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    acu_block *block = new_block(4000);
    if (is_webgpu())
        skip_case("WGSL says the same as the source");
    memset(source.group, 0, sizeof source.group);
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    OK(acu_run(client, made, acu_items(1000), acu_out_block(block), 3u, 1000u));
    EQUAL(words_of(block, 1000)[999], 1002);
}

CASE(a_group_above_the_limits) {
    if (!is_cuda() && !is_webgpu())
        skip_case("the place has no groups");
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    acu_block *block = new_block(400);
    source.group[0] = info.max_group[0] + 1;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    FAILS(acu_run(client, made, acu_items(100), acu_out_block(block), 3u, 100u), ACU_ERROR_LIMIT,
          "suite_count");
}

CASE(a_huge_number_of_items) {
    if (!is_cuda() && !is_webgpu())
        skip_case("the CPU would count them all");
    acu_block *block = new_block(400);
    FAILS(acu_run(client, program("suite_count"), acu_items(SIZE_MAX), acu_out_block(block), 3u,
                  100u),
          ACU_ERROR_LIMIT, "acu_run");
}

/* ---- arguments that are refused ---- */

CASE(a_block_of_another_place_is_refused) {
    acu_block *block = new_block_for(new_client_on(other_place()), 400);
    FAILS(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(block), 100u),
          ACU_ERROR_DEVICE, "acu_run");
}

CASE(no_block_is_refused) {
    acu_block *none = NULL;
    acu_clear_error();
    acu_result result =
        acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(none), 100u);
    IS(result == ACU_ERROR_ARGUMENT || result == ACU_ERROR_HANDLE);
    EQUAL(acu_last_error(), result);
}

CASE(a_pointer_is_refused) {
    int here = 0;
    FAILS(acu_run(client, program("suite_step"), acu_items(100), &here, 100u), ACU_ERROR_ARGUMENT,
          "acu_run");
}

CASE(an_unknown_kind_is_refused) {
    acu_arg args[] = {{(acu_arg_kind)999, 4, {0}}, acu_arg_of(100u)};
    FAILS(acu_run_args(client, program("suite_step"), acu_items(100), args, 2), ACU_ERROR_ARGUMENT,
          "acu_run");
}

CASE(runs_need_handles) {
    acu_block *block = new_block(400);
    FAILS(acu_run(NULL, program("suite_step"), acu_items(100), acu_inout_block(block), 100u),
          ACU_ERROR_ARGUMENT, "acu_run");
    FAILS(acu_run(client, NULL, acu_items(100), acu_inout_block(block), 100u), ACU_ERROR_ARGUMENT,
          "acu_run");
    FAILS(acu_run_args(client, program("suite_step"), acu_items(100), NULL, 2), ACU_ERROR_ARGUMENT,
          "acu_run");
}

CASE(a_run_that_fails_does_nothing) {
    uint8_t *data = some_bytes(400);
    acu_block *block = new_block_of(data, 400);
    acu_block *there = new_block_for(new_client_on(other_place()), 400);
    FAILS(acu_run(client, program("suite_copy"), acu_items(100), acu_in_block(there),
                  acu_out_block(block), 100u),
          ACU_ERROR_DEVICE, "acu_run");
    HOLDS(block, data, 400);
}

CASE(too_few_arguments) {
    acu_block *block = new_block(400);
    if (!is_cuda() && !is_webgpu())
        skip_case("C functions do not say how many they take");
    acu_result result =
        acu_run(client, program("suite_copy"), acu_items(100), acu_out_block(block), 100u);
    result = result ? result : acu_client_synchronize(client);
    IS(result != 0);
}
