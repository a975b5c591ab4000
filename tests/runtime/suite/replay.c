/* Replays: every kind of work, recorded and run again. */
#include "suite.h"

/* What a function records: blocks, a number, and what the case does with them. */
typedef struct recording {
    acu_block *a, *b, *c;
    const void *data;
    size_t size;
    uint32_t number;
    acu_result result;
    acu_program *program; /* NULL: suite_step */
} recording;

typedef acu_result recorded(acu_client *on, void *data);

static acu_replay *new_replay(recorded *function, recording *what) {
    acu_replay *replay = NULL;
    OK(acu_replay_record(client, function, what, NULL, 0, &replay));
    IS(replay != NULL);
    release_replay_later(replay);
    return replay;
}

static acu_result step_a(acu_client *on, void *data) {
    recording *r = data;
    return acu_run(on, r->program ? r->program : program("suite_step"), acu_items(r->number), acu_inout_block(r->a),
                   r->number);
}

static acu_result write_a(acu_client *on, void *data) {
    recording *r = data;
    return acu_block_write(on, r->a, r->number, r->data, r->size);
}

static acu_result fill_a(acu_client *on, void *data) {
    recording *r = data;
    return acu_block_fill(on, r->a, 1, acu_block_size(r->a) - 2, r->data, r->size);
}

static acu_result copy_a_to_b(acu_client *on, void *data) {
    recording *r = data;
    return acu_block_copy(on, r->b, r->number, r->a, 1, r->size);
}

static acu_result transpose_a_to_b(acu_client *on, void *data) {
    recording *r = data;
    const size_t shape[] = {10, 10};
    const int64_t steps[] = {1, 10};
    acu_strides s = {2, shape, NULL, steps, 0, 0};
    return acu_block_copy_strided(on, r->b, r->a, 4, &s);
}

static acu_result add_a_and_b(acu_client *on, void *data) {
    recording *r = data;
    return acu_run(on, program("suite_add"), acu_items(r->number), acu_in_block(r->a),
                   acu_in_block(r->b), acu_out_block(r->c), r->number);
}

static acu_result nothing(acu_client *on, void *data) {
    (void)on;
    (void)data;
    return 0;
}

static uint32_t first_word(acu_block *block) {
    uint32_t word;
    memcpy(&word, contents(client, block, 0, 4), 4);
    return word;
}

static acu_block *new_zeros(size_t size) {
    acu_block *block = new_block(size);
    OK(acu_block_fill(client, block, 0, size, "\0", 1));
    return block;
}

static uint32_t stepped(uint32_t word, size_t times) {
    while (times--)
        word = word * 3 + 1;
    return word;
}

/* ---- what is recorded ---- */

CASE(recording_does_nothing) {
    recording r = {.a = new_zeros(400), .number = 100};
    acu_replay *replay = new_replay(step_a, &r);
    OK(acu_client_synchronize(client));
    EQUAL(first_word(r.a), 0);
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), 1);
}

CASE_FOR(a_run_that_is_repeated, 1, 2, 3, 100) {
    recording r = {.a = new_zeros(400), .number = 100};
    acu_replay *replay = new_replay(step_a, &r);
    for (size_t i = 0; i < n; i++)
        OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), stepped(0, n));
}

CASE_FOR(a_write_to, 0, 1, 2, 3) {
    uint8_t *data = some_bytes(50), *expected = some_bytes(100);
    recording r = {
        .a = new_block_of(expected, 100), .data = data, .size = 50, .number = (uint32_t)n};
    acu_replay *replay = new_replay(write_a, &r);
    OK(acu_replay_run(replay));
    memcpy(expected + n, data, 50);
    HOLDS(r.a, expected, 100);
}

CASE(written_bytes_are_kept) {
    uint8_t *data = some_bytes(5000), *expected = copy_bytes(data, 5000);
    recording r = {.a = new_zeros(5000), .data = data, .size = 5000};
    acu_replay *replay = new_replay(write_a, &r);
    memset(data, 0, 5000);
    for (int i = 0; i < 3; i++) {
        OK(acu_block_fill(client, r.a, 0, 5000, "x", 1));
        OK(acu_replay_run(replay));
        HOLDS(r.a, expected, 5000);
    }
}

CASE_FOR(a_fill_with_elements_of, 1, 2, 3, 4, 5, 7, 8, 16) {
    uint8_t *element = some_bytes(n), *expected = host_bytes(103);
    recording r = {.a = new_zeros(103), .data = element, .size = n};
    acu_replay *replay = new_replay(fill_a, &r);
    for (size_t i = 0; i < 101; i++)
        expected[1 + i] = element[i % n];
    memset(element, 0, n);
    OK(acu_replay_run(replay));
    HOLDS(r.a, expected, 103);
}

CASE_FOR(a_copy_to, 0, 1, 2, 3, 4) {
    uint8_t *data = some_bytes(200), *expected = some_bytes(200);
    recording r = {.a = new_block_of(data, 200),
                   .b = new_block_of(expected, 200),
                   .number = (uint32_t)n,
                   .size = 150};
    acu_replay *replay = new_replay(copy_a_to_b, &r);
    OK(acu_replay_run(replay));
    memcpy(expected + n, data + 1, 150);
    HOLDS(r.b, expected, 200);
}

CASE(a_copy_within_a_block) {
    uint8_t *expected = some_bytes(200);
    recording r = {.number = 2, .size = 190};
    r.a = r.b = new_block_of(expected, 200);
    acu_replay *replay = new_replay(copy_a_to_b, &r);
    for (int i = 0; i < 5; i++) {
        OK(acu_replay_run(replay));
        memmove(expected + 2, expected + 1, 190);
    }
    HOLDS(r.b, expected, 200);
}

CASE(a_transposition) {
    recording r = {.a = new_block(400), .b = new_block(400)};
    acu_replay *replay = new_replay(transpose_a_to_b, &r);
    for (uint32_t i = 0; i < 3; i++) {
        OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(r.a), i, 100u));
        OK(acu_replay_run(replay));
        EQUAL(((uint32_t *)(void *)contents(client, r.b, 0, 400))[37], 73 + i);
    }
}

CASE(a_run_with_three_blocks) {
    float data[100];
    for (int i = 0; i < 100; i++)
        data[i] = (float)i;
    recording r = {
        .a = new_block_of(data, 400), .b = new_block_of(data, 400), .c = new_block(400), .number = 100};
    acu_replay *replay = new_replay(add_a_and_b, &r);
    OK(acu_replay_run(replay));
    IS(((float *)(void *)contents(client, r.c, 0, 400))[99] == 198);
}

CASE(nothing_is_recorded) {
    acu_replay *replay = new_replay(nothing, NULL);
    OK(acu_replay_run(replay));
    OK(acu_replay_run(replay));
    OK(acu_client_synchronize(client));
}

static acu_result everything(acu_client *on, void *data) {
    recording *r = data;
    ACU_TRY(acu_block_write(on, r->a, 0, r->data, 400));
    ACU_TRY(step_a(on, r));
    ACU_TRY(transpose_a_to_b(on, r));
    ACU_TRY(acu_block_fill(on, r->b, 0, 4, "\7\0\0\0", 4));
    ACU_TRY(acu_run(on, program("suite_copy"), acu_items(100), acu_in_block(r->b),
                    acu_out_block(r->c), 100u));
    ACU_TRY(acu_block_copy(on, r->c, 4, r->c, 8, 392));
    return acu_run(on, program("suite_step"), acu_items(100), acu_inout_block(r->c), 100u);
}

CASE(everything_in_one) {
    uint32_t words[100], transposed[100];
    for (uint32_t i = 0; i < 100; i++)
        words[i] = i * i;
    recording r = {.a = new_zeros(400),
                   .b = new_zeros(400),
                   .c = new_zeros(400),
                   .data = words,
                   .number = 100};
    acu_replay *replay = new_replay(everything, &r);
    for (uint32_t i = 0; i < 100; i++)
        transposed[i] = stepped(words[i % 10 * 10 + i / 10], 1);
    transposed[0] = 7;
    memmove(transposed + 1, transposed + 2, 392);
    for (uint32_t i = 0; i < 100; i++)
        transposed[i] = stepped(transposed[i], 1);
    for (int i = 0; i < 3; i++) {
        OK(acu_replay_run(replay));
        HOLDS(r.c, transposed, 400);
    }
}

static acu_result many_steps(acu_client *on, void *data) {
    recording *r = data;
    for (uint32_t i = 0; i < r->size; i++)
        ACU_TRY(step_a(on, r));
    return 0;
}

CASE_FOR(a_long_recording_of, 10, 500) {
    recording r = {.a = new_zeros(400), .number = 100, .size = n};
    acu_replay *replay = new_replay(many_steps, &r);
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), stepped(0, n));
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), stepped(0, 2 * n));
}

/* ---- scratch blocks ---- */

static acu_result by_scratch(acu_client *on, void *data) {
    recording *r = data;
    ACU_AUTO(acu_block) *scratch = NULL;
    ACU_TRY(acu_block_create(on, 400, &scratch));
    ACU_TRY(acu_block_copy(on, scratch, 0, r->a, 0, 400));
    ACU_TRY(acu_run(on, program("suite_step"), acu_items(100), acu_inout_block(scratch), 100u));
    return acu_block_copy(on, r->b, 0, scratch, 0, 400);
}

CASE(a_scratch_block) {
    recording r = {.a = new_zeros(400), .b = new_zeros(400)};
    acu_replay *replay = new_replay(by_scratch, &r);
    for (uint32_t i = 0; i < 4; i++) {
        acu_block *others[3];
        OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(r.a), i, 100u));
        for (int k = 0; k < 3; k++) { /* which must not get the scratch block's memory */
            others[k] = new_block(400);
            OK(acu_block_fill(client, others[k], 0, 400, "\xff", 1));
        }
        OK(acu_replay_run(replay));
        EQUAL(first_word(r.b), stepped(i, 1));
        uint8_t ones[400];
        memset(ones, 0xff, 400);
        for (int k = 0; k < 3; k++)
            HOLDS(others[k], ones, 400);
    }
}

static acu_result by_many_scratch_blocks(acu_client *on, void *data) {
    recording *r = data;
    acu_block *last = acu_block_retain(r->a);
    acu_result result = 0;
    for (int i = 0; i < 6 && result == 0; i++) {
        acu_block *next = NULL;
        result = acu_block_create(on, 400, &next);
        result = result ? result : acu_block_copy(on, next, 0, last, 0, 400);
        result = result ? result
                        : acu_run(on, program("suite_step"), acu_items(100), acu_inout_block(next),
                                  100u);
        acu_block_cleanup(&last);
        last = next;
    }
    result = result ? result : acu_block_copy(on, r->b, 0, last, 0, 400);
    acu_block_cleanup(&last);
    return result;
}

CASE(scratch_blocks_that_follow_each_other) {
    recording r = {.a = new_zeros(400), .b = new_zeros(400)};
    acu_replay *first = new_replay(by_many_scratch_blocks, &r);
    acu_replay *second = new_replay(by_many_scratch_blocks, &r);
    OK(acu_replay_run(first));
    EQUAL(first_word(r.b), stepped(0, 6));
    OK(acu_block_fill(client, r.a, 0, 400, "\1\0\0\0", 4));
    OK(acu_replay_run(second));
    EQUAL(first_word(r.b), stepped(1, 6));
    OK(acu_replay_run(first));
    EQUAL(first_word(r.b), stepped(1, 6));
}

CASE(scratch_memory_is_given_back) {
    acu_replay *replay = NULL;
    recording r = {.a = new_zeros(400), .b = new_zeros(400)};
    OK(acu_client_synchronize(client));
    uint64_t used = memory_of(client).used;
    for (int i = 0; i < 20; i++) {
        OK(acu_replay_record(client, by_many_scratch_blocks, &r, NULL, 0, &replay));
        OK(acu_replay_run(replay));
        OK(acu_replay_release(replay));
    }
    OK(acu_client_synchronize(client));
    EQUAL(memory_of(client).used, used);
    EQUAL(memory_of(client).frozen, 0);
}

static acu_result keep_scratch(acu_client *on, void *data) {
    recording *r = data;
    ACU_TRY(acu_block_create(on, 400, &r->b));
    return acu_block_copy(on, r->b, 0, r->a, 0, 400);
}

CASE(a_block_that_is_made_inside_and_kept) {
    recording r = {.a = new_zeros(400)};
    acu_replay *replay = new_replay(keep_scratch, &r);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(r.a), 3u, 100u));
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.b), 3);
    OK(acu_block_release(r.b));
    OK(acu_replay_run(replay));
    OK(acu_client_synchronize(client));
}

/* ---- named blocks ---- */

CASE(named_blocks) {
    acu_replay *replay = NULL;
    acu_block *found = NULL;
    uint8_t data[400] = {0};
    char name[] = "input";
    recording r = {.a = new_zeros(400), .b = new_zeros(400), .number = 0, .size = 300};
    acu_named_block named[] = {{name, r.a}, {"output", r.b}};
    OK(acu_replay_record(client, copy_a_to_b, &r, named, 2, &replay));
    release_replay_later(replay);
    memset(name, 'x', 5);
    OK(acu_replay_get_block(replay, "input", &found));
    IS(found == r.a);
    for (int i = 1; i < 5; i++) {
        memset(data, i, 400);
        OK(acu_block_write(client, found, 0, data, 400));
        OK(acu_replay_run(replay));
        acu_block *output = NULL;
        OK(acu_replay_get_block(replay, "output", &output));
        HOLDS(output, data, 300);
    }
}

CASE(named_blocks_are_kept) {
    acu_replay *replay = NULL;
    acu_block *block = NULL, *found = NULL;
    recording r = {.number = 100};
    OK(acu_block_create(client, 400, &block));
    OK(acu_block_fill(client, block, 0, 400, "\0", 1));
    r.a = block;
    OK(acu_replay_record(client, step_a, &r, &(acu_named_block){"x", block}, 1, &replay));
    OK(acu_block_release(block));
    OK(acu_replay_run(replay));
    OK(acu_replay_get_block(replay, "x", &found));
    EQUAL(first_word(found), 1);
    OK(acu_replay_release(replay));
}

CASE(a_named_block_need_not_be_used) {
    acu_replay *replay = NULL;
    acu_block *found = NULL, *block = new_block(8);
    OK(acu_replay_record(client, nothing, NULL, &(acu_named_block){"x", block}, 1, &replay));
    OK(acu_replay_get_block(replay, "x", &found));
    IS(found == block);
    OK(acu_replay_release(replay));
}

CASE(a_name_that_no_block_has) {
    acu_block *found = NULL;
    acu_replay *replay = new_replay(nothing, NULL);
    FAILS(acu_replay_get_block(replay, "x", &found), ACU_ERROR_ARGUMENT, "x");
    FAILS(acu_replay_get_block(replay, NULL, &found), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_replay_get_block(replay, "x", NULL), ACU_ERROR_ARGUMENT, "NULL");
    IS(found == NULL);
}

CASE(named_blocks_that_are_wrong) {
    acu_replay *replay = NULL;
    acu_block *block = new_block(8);
    FAILS(acu_replay_record(client, nothing, NULL, NULL, 1, &replay), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_replay_record(client, nothing, NULL, &(acu_named_block){NULL, block}, 1, &replay),
          ACU_ERROR_ARGUMENT, "name");
    FAILS(acu_replay_record(client, nothing, NULL, &(acu_named_block){"x", NULL}, 1, &replay),
          ACU_ERROR_ARGUMENT, "acu_replay_record");
    IS(replay == NULL);
}

/* ---- order ---- */

CASE(input_changes_between_runs) {
    recording r = {.a = new_zeros(400), .b = new_zeros(400), .number = 0, .size = 396};
    acu_replay *replay = new_replay(copy_a_to_b, &r);
    for (int i = 0; i < 10; i++) {
        uint8_t *data = some_bytes(400);
        OK(acu_block_write(client, r.a, 0, data, 400));
        OK(acu_replay_run(replay));
        HOLDS(r.b, data + 1, 396);
    }
}

CASE(runs_and_work_alternate) {
    recording r = {.a = new_zeros(400), .number = 100};
    acu_replay *replay = new_replay(step_a, &r);
    for (uint32_t i = 0; i < 20; i++) {
        OK(acu_block_fill(client, r.a, 0, 400, &i, 4));
        OK(acu_replay_run(replay));
        OK(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(r.a), 100u));
        OK(acu_replay_run(replay));
        EQUAL(first_word(r.a), stepped(i, 3));
    }
}

CASE(two_replays_alternate) {
    recording r = {.a = new_zeros(400), .b = new_zeros(400), .number = 0, .size = 396};
    recording step = {.a = r.a, .number = 100};
    acu_replay *copies = new_replay(copy_a_to_b, &r), *steps = new_replay(step_a, &step);
    for (uint32_t i = 1; i < 10; i++) {
        OK(acu_replay_run(steps));
        OK(acu_replay_run(copies));
        uint32_t expected = stepped(0, i), got = 0;
        OK(acu_block_read(client, r.b, 3, &got, 4));
        EQUAL(got, expected);
    }
}

CASE(another_client_uses_what_a_replay_uses) {
    acu_client *second = new_client();
    recording r = {.a = new_zeros(400), .number = 100};
    acu_replay *replay = new_replay(step_a, &r);
    for (uint32_t i = 0; i < 10; i++) {
        OK(acu_block_fill(second, r.a, 0, 400, &i, 4));
        OK(acu_replay_run(replay));
        OK(acu_run(second, program("suite_step"), acu_items(100), acu_inout_block(r.a), 100u));
        EQUAL(first_word(r.a), stepped(i, 2));
    }
}

CASE(a_block_of_another_client_is_recorded) {
    acu_client *second = new_client();
    recording r = {.a = new_block_for(second, 400), .number = 100};
    OK(acu_block_fill(second, r.a, 0, 400, "\0", 1));
    acu_replay *replay = new_replay(step_a, &r);
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), 1);
    OK(acu_block_fill(second, r.a, 0, 400, "\5\0\0\0", 4));
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), 16);
}

CASE(a_run_comes_after_held_work) {
    needs_hold();
    recording r = {.a = new_zeros(400), .number = 100};
    acu_replay *replay = new_replay(step_a, &r);
    hold(client);
    OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(r.a), 9u, 100u));
    OK(acu_replay_run(replay));
    acu_mark *mark = new_mark(client);
    EQUAL(acu_mark_query(mark), ACU_NOT_READY);
    let_go();
    EQUAL(first_word(r.a), 28);
}

CASE(read_after_a_replay) {
    recording r = {.a = new_zeros(400), .number = 100};
    acu_replay *replay = new_replay(step_a, &r);
    uint32_t got = 0;
    acu_mark *before = new_mark(client);
    OK(acu_replay_run(replay));
    acu_mark *after = new_mark(client);
    FAILS(acu_block_read_after(client, before, r.a, 0, &got, 4), ACU_ERROR_STATE,
          "acu_block_read_after");
    OK(acu_block_read_after(client, after, r.a, 0, &got, 4));
    EQUAL(got, 1);
}

/* ---- lives ---- */

CASE(everything_is_released_before_the_run) {
    acu_replay *replay = NULL;
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_step");
    recording r = {.number = 100};
    acu_block *kept = NULL;
    OK(acu_block_create(client, 400, &r.a));
    OK(acu_block_fill(client, r.a, 0, 400, "\0", 1));
    OK(acu_program_create(&source, &made));
    r.program = made;
    OK(acu_replay_record(client, step_a, &r, &(acu_named_block){"a", r.a}, 1, &replay));
    OK(acu_program_release(made));
    OK(acu_block_release(r.a));
    OK(acu_replay_run(replay));
    OK(acu_replay_get_block(replay, "a", &kept));
    kept = acu_block_retain(kept);
    OK(acu_replay_run(replay));
    OK(acu_replay_release(replay)); /* the run goes on */
    EQUAL(first_word(kept), 4);
    OK(acu_block_release(kept));
}

CASE(a_replay_keeps_its_client) {
    acu_client *made = NULL, *mine = client;
    acu_replay *replay = NULL;
    recording r = {.number = 100};
    OK(acu_client_create(place, NULL, &made));
    OK(acu_block_create(made, 400, &r.a));
    OK(acu_block_fill(made, r.a, 0, 400, "\0", 1));
    OK(acu_replay_record(made, step_a, &r, NULL, 0, &replay));
    OK(acu_client_release(made));
    OK(acu_replay_run(replay));
    uint32_t got = 0;
    OK(acu_block_read(mine, r.a, 0, &got, 4));
    EQUAL(got, 1);
    OK(acu_block_release(r.a));
    OK(acu_replay_run(replay));
    OK(acu_replay_release(replay));
}

CASE(a_replay_is_released_while_it_runs) {
    recording r = {.a = new_zeros(400), .number = 100, .size = 20};
    for (int i = 0; i < 5; i++) {
        acu_replay *replay = NULL;
        OK(acu_replay_record(client, many_steps, &r, NULL, 0, &replay));
        OK(acu_replay_run(replay));
        OK(acu_replay_release(replay));
    }
    EQUAL(first_word(r.a), stepped(0, 100));
}

CASE(a_replay_is_retained) {
    acu_replay *replay = NULL;
    OK(acu_replay_record(client, nothing, NULL, NULL, 0, &replay));
    IS(acu_replay_retain(replay) == replay);
    OK(acu_replay_release(replay));
    OK(acu_replay_run(replay));
    acu_replay_cleanup(&replay);
    OK(acu_replay_release(NULL));
}

CASE(a_replay_is_described) {
    char text[200];
    acu_replay *replay = new_replay(nothing, NULL);
    EQUAL(acu_replay_describe(replay, text, sizeof text), strlen(text));
    CONTAINS(text, "replay");
    IS(acu_replay_describe(NULL, text, sizeof text) > 0);
}

CASE(memory_is_given_back_after_a_replay_is_gone) {
    acu_replay *replay = NULL;
    recording r = {.number = 100};
    OK(acu_block_create(client, 400, &r.a));
    OK(acu_block_fill(client, r.a, 0, 400, "\0", 1));
    OK(acu_replay_record(client, step_a, &r, NULL, 0, &replay));
    OK(acu_block_release(r.a));
    EQUAL(memory_of(client).blocks, 1);
    OK(acu_replay_release(replay));
    OK(acu_client_synchronize(client));
    EQUAL(memory_of(client).blocks, 0);
    OK(acu_client_reset_memory(client));
}

/* ---- real or not ---- */

CASE(a_replay_says_whether_it_is_real) {
    recording r = {.a = new_zeros(400), .number = 100};
    acu_replay *replay = new_replay(step_a, &r);
    bool real = acu_replay_is_real(replay);
    IS(real == (acu_replay_why(replay)[0] == '\0'));
    IS(!real || can(ACU_CAN_CAPTURE));
    if (can(ACU_CAN_CAPTURE))
        IS(real);
}

CASE(no_replay_is_not_real) {
    IS(!acu_replay_is_real(NULL));
    IS(acu_replay_why(NULL) != NULL);
}

CASE(a_replay_that_is_not_real_says_why) {
    recording r = {.a = new_zeros(400), .number = 100};
    acu_replay *replay = new_replay(step_a, &r);
    if (acu_replay_is_real(replay))
        skip_case("the replay is real");
    IS(strlen(acu_replay_why(replay)) > 10);
    IS(strchr(acu_replay_why(replay), '\n') == NULL);
}

/* What needs the host cannot be one piece of work for the device. */
CASE(a_program_without_a_form_is_replayed) {
    if (is_cpu() || is_late())
        skip_case("the place runs the CPU's form");
    acu_program_source source = source_of("suite_step");
    source.ptx = source.wgsl = NULL;
    source.flags = ACU_PROGRAM_ON_CPU;
    acu_program *made = NULL;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    recording r = {.a = new_zeros(400), .number = 100, .program = made};
    acu_replay *replay = new_replay(step_a, &r);
    IS(!acu_replay_is_real(replay));
    for (int i = 0; i < 3; i++)
        OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), stepped(0, 3));
}

static acu_result copy_between_places(acu_client *on, void *data) {
    recording *r = data;
    return acu_block_copy(on, r->b, 0, r->a, 0, 400);
}

CASE(a_copy_between_places_is_replayed) {
    acu_client *there = new_client_on(other_place());
    recording r = {.a = new_zeros(400), .b = new_block_for(there, 400)};
    acu_replay *replay = NULL;
    acu_result result = acu_replay_record(client, copy_between_places, &r, NULL, 0, &replay);
    if (result) {
        IS(result == ACU_ERROR_CAPTURE || result == ACU_NOT_SUPPORTED);
        return;
    }
    release_replay_later(replay);
    for (uint32_t i = 0; i < 4; i++) {
        OK(acu_block_fill(client, r.a, 0, 400, &i, 4));
        OK(acu_replay_run(replay));
        uint32_t got = 99;
        OK(acu_block_read(there, r.b, 396, &got, 4));
        EQUAL(got, i);
    }
}

/* ---- what fails ---- */

static acu_result fail_early(acu_client *on, void *data) {
    recording *r = data;
    (void)on;
    return r->result;
}

CASE(the_functions_result_is_returned) {
    acu_replay *replay = NULL;
    recording r = {.result = 1234};
    EQUAL(acu_replay_record(client, fail_early, &r, NULL, 0, &replay), 1234);
    IS(replay == NULL);
    r.result = ACU_ERROR_LIMIT;
    EQUAL(acu_replay_record(client, fail_early, &r, NULL, 0, &replay), ACU_ERROR_LIMIT);
    IS(replay == NULL);
}

static acu_result step_and_fail(acu_client *on, void *data) {
    ACU_TRY(step_a(on, data));
    return ACU_ERROR_LIMIT;
}

CASE(a_client_works_after_a_recording_that_failed) {
    acu_replay *replay = NULL;
    recording r = {.a = new_zeros(400), .number = 100};
    EQUAL(acu_replay_record(client, step_and_fail, &r, NULL, 0, &replay), ACU_ERROR_LIMIT);
    EQUAL(first_word(r.a), 0);
    OK(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(r.a), 100u));
    EQUAL(first_word(r.a), 1);
    replay = new_replay(step_a, &r);
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), 4);
    EQUAL(memory_of(client).frozen, 0);
}

static acu_result ignore_a_failure(acu_client *on, void *data) {
    recording *r = data;
    r->result = step_a(on, r);
    r->result = acu_block_write(on, r->a, 1000, "x", 1);
    return 0;
}

CASE(a_failure_that_is_ignored) {
    acu_replay *replay = NULL;
    recording r = {.a = new_zeros(400), .number = 100};
    EQUAL(acu_replay_record(client, ignore_a_failure, &r, NULL, 0, &replay), ACU_ERROR_RANGE);
    IS(replay == NULL);
    EQUAL(first_word(r.a), 0);
}

/* What waits, or reads to the host, each by its number. */
static acu_result do_refused(acu_client *on, void *data) {
    recording *r = data;
    uint8_t got[4];
    void *host;
    acu_mark *mark = (acu_mark *)(uintptr_t)r->data;
    switch (r->number) {
    case 0:
        return r->result = acu_block_read(on, r->a, 0, got, 4);
    case 1:
        return r->result = acu_client_synchronize(on);
    case 2:
        return r->result = acu_block_get_host(r->a, &host);
    default:
        return r->result = acu_block_read_after(on, mark, r->a, 0, got, 4);
    }
}

static const struct {
    const char *name;
    uint32_t number;
} waiting[] = {{"read", 0}, {"synchronize", 1}, {"get_host", 2}, {"read_after", 3}};

CASE_OF(refused_while_recording, waiting) {
    acu_replay *replay = NULL;
    recording r = {.a = new_zeros(400), .number = row->number, .data = new_mark(client)};
    if (row->number == 2)
        needs(ACU_CAN_USE_HOST, "give the host an address");
    acu_result result = acu_replay_record(client, do_refused, &r, NULL, 0, &replay);
    EQUAL(r.result, ACU_ERROR_CAPTURE);
    EQUAL(result, ACU_ERROR_CAPTURE);
    IS(replay == NULL);
    EQUAL(first_word(r.a), 0);
}

static acu_result record_again(acu_client *on, void *data) {
    recording *r = data;
    acu_replay *replay = NULL;
    return r->result = acu_replay_record(on, nothing, NULL, NULL, 0, &replay);
}

CASE(recording_twice_at_once) {
    acu_replay *replay = NULL;
    recording r = {0};
    EQUAL(acu_replay_record(client, record_again, &r, NULL, 0, &replay), ACU_ERROR_STATE);
    EQUAL(r.result, ACU_ERROR_STATE);
    OK(acu_client_synchronize(client));
}

static acu_client *second_client;
static acu_replay *inner_replay;

static acu_result record_with_another(acu_client *on, void *data) {
    recording *r = data;
    recording inner = {.a = r->b, .number = 100};
    ACU_TRY(step_a(on, r));
    ACU_TRY(acu_replay_record(second_client, step_a, &inner, NULL, 0, &inner_replay));
    return step_a(on, r);
}

CASE(recording_with_two_clients_at_once) {
    acu_client *second = new_client();
    recording r = {.a = new_zeros(400), .b = new_zeros(400), .number = 100};
    second_client = second;
    inner_replay = NULL;
    acu_replay *outer = new_replay(record_with_another, &r);
    release_replay_later(inner_replay);
    OK(acu_replay_run(outer));
    EQUAL(first_word(r.a), 4);
    EQUAL(first_word(r.b), 0);
    OK(acu_replay_run(inner_replay));
    EQUAL(first_word(r.b), 1);
    EQUAL(first_word(r.a), 4);
}

static acu_result use_another_client(acu_client *on, void *data) {
    recording *r = data;
    ACU_TRY(acu_block_write(second_client, r->b, 0, "\7", 1));
    ACU_TRY(acu_client_synchronize(second_client));
    return step_a(on, r);
}

CASE(another_client_works_while_one_records) {
    acu_client *second = new_client();
    recording r = {.a = new_zeros(400), .b = new_zeros(400), .number = 100};
    second_client = second;
    OK(acu_client_synchronize(client));
    acu_replay *replay = new_replay(use_another_client, &r);
    EQUAL(contents(second, r.b, 0, 1)[0], 7);
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), 1);
}

static acu_replay *replay_inside;

static acu_result run_a_replay(acu_client *on, void *data) {
    recording *r = data;
    ACU_TRY(step_a(on, r));
    r->result = acu_replay_run(replay_inside);
    return r->result;
}

/* Whether that can be is the library's to say; if so, the work is a part of the outer one. */
CASE(a_replay_within_a_replay) {
    acu_replay *outer = NULL;
    recording r = {.a = new_zeros(400), .number = 100};
    replay_inside = new_replay(step_a, &r);
    acu_result result = acu_replay_record(client, run_a_replay, &r, NULL, 0, &outer);
    EQUAL(first_word(r.a), 0);
    if (result) {
        EQUAL(result, r.result);
        OK(acu_replay_run(replay_inside));
        EQUAL(first_word(r.a), 1);
        return;
    }
    release_replay_later(outer);
    OK(acu_replay_run(outer));
    OK(acu_replay_run(outer));
    EQUAL(first_word(r.a), stepped(0, 4));
}

CASE(recording_needs_its_arguments) {
    acu_replay *replay = NULL;
    FAILS(acu_replay_record(NULL, nothing, NULL, NULL, 0, &replay), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_replay_record(client, NULL, NULL, NULL, 0, &replay), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_replay_record(client, nothing, NULL, NULL, 0, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_replay_run(NULL), ACU_ERROR_ARGUMENT, "acu_replay_run");
}

/* ---- threads ---- */

static acu_replay *shared_replay;

static void run_shared(unsigned number) {
    (void)number;
    for (int i = 0; i < 25; i++)
        OK(acu_replay_run(shared_replay));
}

CASE(threads_run_one_replay) {
    recording r = {.a = new_zeros(400), .number = 100};
    shared_replay = new_replay(step_a, &r);
    run_threads(4, run_shared);
    EQUAL(first_word(r.a), stepped(0, 100));
}

static void record_and_run(unsigned number) {
    acu_client *mine = NULL;
    acu_replay *replay = NULL;
    recording r = {.number = 100};
    uint32_t got = 0;
    OK(acu_client_create(place, NULL, &mine));
    OK(acu_block_create(mine, 400, &r.a));
    OK(acu_block_fill(mine, r.a, 0, 400, &number, 4));
    OK(acu_replay_record(mine, step_a, &r, NULL, 0, &replay));
    for (int i = 0; i < 10; i++)
        OK(acu_replay_run(replay));
    OK(acu_block_read(mine, r.a, 0, &got, 4));
    EQUAL(got, stepped(number, 10));
    OK(acu_replay_release(replay));
    OK(acu_block_release(r.a));
    OK(acu_client_release(mine));
}

CASE(threads_record_with_clients_of_their_own) {
    (void)program("suite_step");
    run_threads(4, record_and_run);
}

static void record_with_shared_client(unsigned number) {
    acu_replay *replay = NULL;
    recording r = {.number = 100};
    uint32_t got = 0;
    OK(acu_block_create(client, 400, &r.a));
    for (int i = 0; i < 8; i++) {
        OK(acu_block_fill(client, r.a, 0, 400, &number, 4));
        OK(acu_replay_record(client, step_a, &r, NULL, 0, &replay));
        OK(acu_replay_run(replay));
        OK(acu_replay_run(replay));
        OK(acu_block_read(client, r.a, 0, &got, 4));
        EQUAL(got, stepped(number, 2));
        OK(acu_replay_release(replay));
    }
    OK(acu_block_release(r.a));
}

CASE(threads_record_with_one_client) {
    (void)program("suite_step");
    run_threads(4, record_with_shared_client);
}
