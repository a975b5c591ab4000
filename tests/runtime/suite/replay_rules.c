/* How long replays live, whether they are real, and what cannot be recorded. */
#include "recordings.h"

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
    if (can(ACU_CAN_CAPTURE) && (has_programs() || runs_form_of_cpu()))
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
    if (runs_form_of_cpu())
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

/* What a recorded function may do beside giving work. */
static acu_result do_other_things(acu_client *on, void *data) {
    recording *r = data;
    acu_memory_stats stats;
    acu_raw raw;
    void *address;
    char text[100];
    ACU_AUTO(acu_client) *made = NULL;
    ACU_AUTO(acu_block) *block = NULL;
    ACU_TRY(acu_client_get_memory(on, &stats));
    ACU_TRY(acu_block_get_raw(r->a, &raw));
    if (can(ACU_CAN_ADDRESS))
        ACU_TRY(acu_block_get_address(r->a, &address));
    (void)acu_block_describe(r->a, text, sizeof text);
    ACU_TRY(acu_client_create(place, NULL, &made));
    ACU_TRY(acu_block_create(made, 100, &block));
    ACU_TRY(acu_block_fill(made, block, 0, 100, "x", 1));
    ACU_TRY(acu_block_read(made, block, 0, text, 100));
    r->result = text[99] == 'x' ? 0 : ACU_ERROR_STATE;
    return step_a(on, r);
}

CASE(other_things_while_recording) {
    recording r = {.a = new_zeros(400), .number = 100, .result = 1};
    acu_replay *replay = new_replay(do_other_things, &r);
    EQUAL(r.result, 0);
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.a), 1);
}

/* Marks are points of work that is done now: either they cannot be had, or they are as before. */
static acu_result mark_and_wait(acu_client *on, void *data) {
    recording *r = data;
    acu_mark *mark = NULL;
    ACU_TRY(step_a(on, r));
    r->result = acu_mark_create(on, &mark);
    if (!r->result)
        r->result = acu_client_wait(on, mark);
    acu_mark_cleanup(&mark);
    return r->result ? r->result : step_a(on, r);
}

CASE(marks_while_recording) {
    recording r = {.a = new_zeros(400), .number = 100};
    acu_replay *replay = NULL;
    acu_result result = acu_replay_record(client, mark_and_wait, &r, NULL, 0, &replay);
    EQUAL(result, r.result);
    IS(result == 0 || result == ACU_ERROR_CAPTURE);
    EQUAL(first_word(r.a), 0);
    if (result == 0) {
        release_replay_later(replay);
        OK(acu_replay_run(replay));
        EQUAL(first_word(r.a), 4);
    }
}

static acu_result wait_for_another(acu_client *on, void *data) {
    recording *r = data;
    r->result = acu_client_wait(on, (acu_mark *)(uintptr_t)r->data);
    return r->result ? r->result : step_a(on, r);
}

CASE(waiting_for_another_client_while_recording) {
    recording r = {.a = new_zeros(400), .number = 100, .data = new_mark(new_client())};
    acu_replay *replay = NULL;
    acu_result result = acu_replay_record(client, wait_for_another, &r, NULL, 0, &replay);
    EQUAL(result, r.result);
    IS(result == 0 || result == ACU_ERROR_CAPTURE);
    if (result == 0) {
        release_replay_later(replay);
        OK(acu_replay_run(replay));
        EQUAL(first_word(r.a), 1);
    }
}

static acu_result release_what_is_used(acu_client *on, void *data) {
    recording *r = data;
    ACU_TRY(acu_block_copy(on, r->b, 0, r->a, 0, 400));
    return acu_block_release(r->a);
}

CASE(a_block_is_released_while_recording) {
    recording r = {.b = new_zeros(400)};
    uint8_t *data = some_bytes(400);
    OK(acu_block_create(client, 400, &r.a));
    OK(acu_block_write(client, r.a, 0, data, 400));
    acu_replay *replay = new_replay(release_what_is_used, &r);
    for (int i = 0; i < 3; i++) {
        acu_block *other = new_block(400); /* must not be the released one's memory */
        OK(acu_block_fill(client, other, 0, 400, "x", 1));
        OK(acu_block_fill(client, r.b, 0, 400, "y", 1));
        OK(acu_replay_run(replay));
        HOLDS(r.b, data, 400);
    }
}

static acu_result freeze_and_thaw(acu_client *on, void *data) {
    ACU_TRY(acu_client_freeze_memory(on));
    ACU_TRY(by_scratch(on, data));
    ACU_TRY(acu_client_trim_memory(on, 0));
    return acu_client_thaw_memory(on);
}

CASE(memory_is_frozen_while_recording) {
    recording r = {.a = new_zeros(400), .b = new_zeros(400)};
    acu_replay *replay = new_replay(freeze_and_thaw, &r);
    EQUAL(memory_of(client).frozen, 0);
    OK(acu_client_trim_memory(client, 0));
    OK(acu_replay_run(replay));
    EQUAL(first_word(r.b), 1);
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
