/* Wrong handles, and what the messages say. */
#include "suite.h"

/* A handle after its last release. */
static acu_client *dead_client(void) {
    acu_client *dead = NULL;
    OK(acu_client_create(place, NULL, &dead));
    OK(acu_client_release(dead));
    return dead;
}

static acu_block *dead_block(void) {
    acu_block *dead = NULL;
    OK(acu_block_create(client, 10, &dead));
    OK(acu_block_release(dead));
    return dead;
}

static acu_mark *dead_mark(void) {
    acu_mark *dead = NULL;
    OK(acu_mark_create(client, &dead));
    OK(acu_mark_release(dead));
    return dead;
}

static acu_program *dead_program(void) {
    acu_program *dead = NULL;
    acu_program_source source = source_of("suite_step");
    OK(acu_program_create(&source, &dead));
    OK(acu_program_release(dead));
    return dead;
}

static acu_result nothing(acu_client *on, void *data) {
    (void)on;
    (void)data;
    return 0;
}

static acu_replay *dead_replay(void) {
    acu_replay *dead = NULL;
    OK(acu_replay_record(client, nothing, NULL, NULL, 0, &dead));
    OK(acu_replay_release(dead));
    return dead;
}

CASE(a_dead_client) {
    acu_client *dead = dead_client();
    acu_block *block = new_block(10), *made = NULL;
    acu_memory_stats stats;
    acu_raw raw;
    uint8_t byte = 0;
    FAILS(acu_client_synchronize(dead), ACU_ERROR_HANDLE, "acu_client_synchronize");
    FAILS(acu_block_create(dead, 10, &made), ACU_ERROR_HANDLE, "acu_block_create");
    FAILS(acu_block_write(dead, block, 0, &byte, 1), ACU_ERROR_HANDLE, "acu_block_write");
    FAILS(acu_block_read(dead, block, 0, &byte, 1), ACU_ERROR_HANDLE, "acu_block_read");
    FAILS(acu_block_fill(dead, block, 0, 1, &byte, 1), ACU_ERROR_HANDLE, "acu_block_fill");
    FAILS(acu_block_copy(dead, block, 0, block, 1, 1), ACU_ERROR_HANDLE, "acu_block_copy");
    FAILS(acu_client_get_memory(dead, &stats), ACU_ERROR_HANDLE, "acu_client_get_memory");
    FAILS(acu_client_get_raw(dead, &raw), ACU_ERROR_HANDLE, "acu_client_get_raw");
    FAILS(acu_client_wait(dead, new_mark(client)), ACU_ERROR_HANDLE, "acu_client_wait");
    FAILS(acu_client_trim_memory(dead, 0), ACU_ERROR_HANDLE, "acu_client_trim_memory");
    FAILS(acu_client_release(dead), ACU_ERROR_HANDLE, "acu_client_release");
    IS(acu_client_retain(dead) == NULL);
    EQUAL(acu_client_place(dead).runtime, 0);
    (void)acu_release_error(NULL);
}

CASE(a_dead_block) {
    acu_block *dead = dead_block();
    acu_raw raw;
    uint8_t byte = 0;
    void *address;
    FAILS(acu_block_write(client, dead, 0, &byte, 1), ACU_ERROR_HANDLE, "acu_block_write");
    FAILS(acu_block_read(client, dead, 0, &byte, 1), ACU_ERROR_HANDLE, "acu_block_read");
    FAILS(acu_block_fill(client, dead, 0, 1, &byte, 1), ACU_ERROR_HANDLE, "acu_block_fill");
    FAILS(acu_block_copy(client, dead, 0, dead, 1, 1), ACU_ERROR_HANDLE, "acu_block_copy");
    FAILS(acu_block_copy(client, new_block(4), 0, dead, 1, 1), ACU_ERROR_HANDLE, "acu_block_copy");
    FAILS(acu_block_get_raw(dead, &raw), ACU_ERROR_HANDLE, "acu_block_get_raw");
    FAILS(acu_block_get_address(dead, &address), ACU_ERROR_HANDLE, "acu_block_get_address");
    FAILS(acu_block_get_host(dead, &address), ACU_ERROR_HANDLE, "acu_block_get_host");
    FAILS(acu_run(client, program("suite_step"), acu_items(1), acu_inout_block(dead), 1u),
          ACU_ERROR_HANDLE, "acu_run");
    FAILS(acu_block_release(dead), ACU_ERROR_HANDLE, "acu_block_release");
    IS(acu_block_retain(dead) == NULL);
    EQUAL(acu_block_size(dead), 0);
    IS(acu_block_client(dead) == NULL);
    (void)acu_release_error(NULL);
}

CASE(a_dead_mark) {
    acu_mark *dead = dead_mark();
    uint8_t byte = 0;
    FAILS(acu_mark_query(dead), ACU_ERROR_HANDLE, "acu_mark_query");
    FAILS(acu_mark_synchronize(dead), ACU_ERROR_HANDLE, "acu_mark_synchronize");
    FAILS(acu_client_wait(client, dead), ACU_ERROR_HANDLE, "acu_client_wait");
    FAILS(acu_block_read_after(client, dead, new_block(4), 0, &byte, 1), ACU_ERROR_HANDLE,
          "acu_block_read_after");
    FAILS(acu_mark_release(dead), ACU_ERROR_HANDLE, "acu_mark_release");
    IS(acu_mark_retain(dead) == NULL);
    IS(acu_mark_client(dead) == NULL);
    (void)acu_release_error(NULL);
}

CASE(a_dead_program) {
    acu_program *dead = dead_program();
    FAILS(acu_program_prepare(dead, place), ACU_ERROR_HANDLE, "acu_program_prepare");
    FAILS(acu_run(client, dead, acu_items(1), acu_inout_block(new_block(4)), 1u), ACU_ERROR_HANDLE,
          "acu_run");
    FAILS(acu_program_release(dead), ACU_ERROR_HANDLE, "acu_program_release");
    IS(acu_program_retain(dead) == NULL);
    IS(strcmp(acu_program_name(dead), "") == 0);
    (void)acu_release_error(NULL);
}

CASE(a_dead_replay) {
    acu_replay *dead = dead_replay();
    acu_block *found = NULL;
    FAILS(acu_replay_run(dead), ACU_ERROR_HANDLE, "acu_replay_run");
    FAILS(acu_replay_get_block(dead, "x", &found), ACU_ERROR_HANDLE, "acu_replay_get_block");
    FAILS(acu_replay_release(dead), ACU_ERROR_HANDLE, "acu_replay_release");
    IS(acu_replay_retain(dead) == NULL);
    IS(!acu_replay_is_real(dead));
    (void)acu_release_error(NULL);
}

CASE(handles_of_another_kind) {
    acu_block *block = new_block(10);
    acu_mark *mark = new_mark(client);
    FAILS(acu_client_synchronize((acu_client *)(void *)block), ACU_ERROR_HANDLE,
          "acu_client_synchronize");
    FAILS(acu_mark_synchronize((acu_mark *)(void *)client), ACU_ERROR_HANDLE,
          "acu_mark_synchronize");
    FAILS(acu_block_write(client, (acu_block *)(void *)mark, 0, "x", 1), ACU_ERROR_HANDLE,
          "acu_block_write");
    FAILS(acu_block_write((acu_client *)(void *)block, block, 0, "x", 1), ACU_ERROR_HANDLE,
          "acu_block_write");
    FAILS(acu_replay_run((acu_replay *)(void *)program("suite_step")), ACU_ERROR_HANDLE,
          "acu_replay_run");
    FAILS(acu_run(client, (acu_program *)(void *)client, acu_items(1)), ACU_ERROR_HANDLE,
          "acu_run");
    FAILS(acu_client_release((acu_client *)(void *)block), ACU_ERROR_HANDLE, "acu_client_release");
    EQUAL(acu_block_size((acu_block *)(void *)client), 0);
    (void)acu_release_error(NULL);
}

CASE(a_description_says_that_a_handle_is_dead) {
    char text[200];
    acu_block_describe(dead_block(), text, sizeof text);
    CONTAINS(text, "released");
    acu_client_describe((acu_client *)(void *)new_block(1), text, sizeof text);
    CONTAINS(text, "block");
}

/* ---- the message names the call, the object and the reason ---- */

static void says(const char *call, const char *object, const char *reason) {
    acu_error error = acu_last_error_details();
    if (strcmp(error.call, call) != 0)
        fail_case(__FILE__, __LINE__, "the call is \"%s\": %s", error.call, error.message);
    CONTAINS(error.message, call);
    CONTAINS(error.message, object);
    CONTAINS(error.message, reason);
    CONTAINS(error.object, object);
}

CASE(a_range_is_told) {
    char where[100];
    acu_block *block = new_block(4096);
    acu_place_describe(place, where, sizeof where);
    FAILS(acu_block_write(client, block, 4090, "123456789", 9), ACU_ERROR_RANGE, "4090");
    says("acu_block_write", "block", "4096");
    says("acu_block_write", where, "9");
}

CASE(a_device_is_told) {
    char where[100];
    acu_block *block = new_block_for(new_client_on(other_place()), 10);
    acu_place_describe(other_place(), where, sizeof where);
    FAILS(acu_block_write(client, block, 0, "x", 1), ACU_ERROR_DEVICE, where);
    says("acu_block_write", "", where);
}

CASE(an_argument_is_told) {
    FAILS(acu_block_fill(client, new_block(10), 0, 10, "x", 17), ACU_ERROR_ARGUMENT, "17");
    says("acu_block_fill", "block", "17");
}

CASE(a_missing_form_is_told) {
    acu_program *made = NULL;
    acu_program_source source = {
        .name = "elsewhere", .forms = &(acu_form){"nowhere", "code", 4}, .form_count = 1};
    char where[100];
    acu_place_describe(place, where, sizeof where);
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    FAILS(acu_program_prepare(made, place), ACU_NOT_SUPPORTED, "elsewhere");
    says("acu_program_prepare", "elsewhere", "form");
    FAILS(acu_run_args(client, made, acu_items(1), NULL, 0), ACU_NOT_SUPPORTED, "elsewhere");
}

CASE(a_limit_is_told) {
    acu_block *block = NULL;
    OK(acu_client_set_memory_limit(client, 100000));
    FAILS(acu_block_create(client, 5000000, &block), ACU_OUT_OF_MEMORY, "5000000");
    says("acu_block_create", "client", "100000");
    OK(acu_client_set_memory_limit(client, 0));
}

CASE(a_state_is_told) {
    FAILS(acu_client_thaw_memory(client), ACU_ERROR_STATE, "frozen");
    says("acu_client_thaw_memory", "client", "");
    acu_block *block = new_block(10);
    FAILS(acu_client_reset_memory(client), ACU_ERROR_STATE, "block");
    says("acu_client_reset_memory", "client", "");
    (void)block;
}

CASE(a_failure_has_a_kind) {
    acu_block *block = NULL;
    FAILS(acu_block_write(client, new_block(1), 0, "xx", 2), ACU_ERROR_RANGE, "");
    EQUAL(acu_last_error_details().kind, ACU_ERROR_KIND_ARGUMENT);
    OK(acu_client_set_memory_limit(client, 100));
    FAILS(acu_block_create(client, 5000, &block), ACU_OUT_OF_MEMORY, "");
    EQUAL(acu_last_error_details().kind, ACU_ERROR_KIND_MEMORY);
}

CASE(success_leaves_the_last_error) {
    FAILS(acu_block_write(client, new_block(1), 0, "xx", 2), ACU_ERROR_RANGE, "");
    OK(acu_block_fill(client, new_block(10), 0, 10, "x", 1));
    OK(acu_client_synchronize(client));
    EQUAL(acu_last_error(), ACU_ERROR_RANGE);
}

static acu_result reported;
static void note_error(const acu_error *error, void *data) {
    (void)data;
    reported = error->code;
}

CASE(a_failure_is_reported) {
    reported = 0;
    OK(acu_set_error_callback(note_error, NULL));
    acu_result result = acu_block_write(client, new_block(1), 0, "xx", 2);
    OK(acu_set_error_callback(NULL, NULL));
    EQUAL(result, ACU_ERROR_RANGE);
    EQUAL(reported, ACU_ERROR_RANGE);
}

CASE(many_failures_cost_nothing_later) {
    uint8_t *data = some_bytes(10);
    acu_block *block = new_block_of(data, 10), *made = NULL;
    for (int i = 0; i < 200; i++) {
        IS(acu_block_write(client, block, 20, "x", 1) != 0);
        IS(acu_block_copy(client, block, 5, block, 0, 6) != 0);
        IS(acu_block_create(client, UINT64_MAX - 5, &made) != 0);
        IS(acu_run(client, program("suite_step"), acu_items(1), &made, 1u) != 0);
    }
    HOLDS(block, data, 10);
}
