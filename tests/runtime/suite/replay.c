/* Replays: every kind of work, recorded and run again. */
#include "recordings.h"

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
    recording r = {.a = new_block_of(data, 400),
                   .b = new_block_of(data, 400),
                   .c = new_block(400),
                   .number = 100};
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

CASE_FOR(a_long_recording_of, 10, 500) {
    recording r = {.a = new_zeros(400), .number = 100, .size = n};
    acu_replay *replay = new_replay(many_steps, &r);
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), stepped(0, n));
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), stepped(0, 2 * n));
}

/* ---- scratch blocks ---- */

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
