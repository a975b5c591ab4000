/* What cannot be recorded, and calls whose failure the recorded function ignores: there is no
 * replay, so that none lacks a part of its work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <anycuda/object.h>
#include <anycuda/runtime.h>

#include <string.h>

static acu_client *client;
static acu_block *block, *dead;
static acu_mark *mark;
static acu_program *formless, *dead_program;

static void ok(acu_result result) {
    if (result)
        fail_msg("the result is %d (%s)", result, acu_last_error_message());
}

static void nothing(const acu_part *part, void *const *args) {
    (void)part;
    (void)args;
}

static int make(void **state) {
    const acu_form form = {"nowhere", "", 1};
    (void)state;
    ok(acu_client_create(acu_place_cpu(), NULL, &client));
    ok(acu_block_create(client, 16, &block));
    ok(acu_block_create(client, 16, &dead));
    ok(acu_mark_create(client, &mark));
    ok(acu_program_create(
        &(acu_program_source){.name = "formless", .forms = &form, .form_count = 1}, &formless));
    ok(acu_program_create(&(acu_program_source){.name = "dead", .cpu = nothing}, &dead_program));
    ok(acu_block_release(dead));
    ok(acu_program_release(dead_program));
    return 0;
}

static int drop(void **state) {
    (void)state;
    ok(acu_program_release(formless));
    ok(acu_mark_release(mark));
    ok(acu_block_release(block));
    ok(acu_client_release(client));
    return 0;
}

/* ---- a call that fails ---- */

static uint8_t host[32];

static acu_result read_block(void) {
    return acu_block_read(client, block, 0, host, 1);
}
static acu_result read_after(void) {
    return acu_block_read_after(client, mark, block, 0, host, 1);
}
static acu_result get_host(void) {
    void *address;
    return acu_block_get_host(block, &address);
}
static acu_result synchronize(void) {
    return acu_client_synchronize(client);
}
static acu_result make_mark(void) {
    acu_mark *made;
    return acu_mark_create(client, &made);
}
static acu_result wait_for_mark(void) {
    return acu_mark_synchronize(mark);
}
static acu_result let_client_wait(void) {
    return acu_client_wait(client, mark);
}
static acu_result record_again(void) {
    acu_replay *replay;
    return acu_replay_record(client, NULL, NULL, NULL, 0, &replay);
}
static acu_result write_outside(void) {
    return acu_block_write(client, block, 10, host, 7);
}
static acu_result write_nothing(void) {
    return acu_block_write(client, block, 0, NULL, 1);
}
static acu_result write_dead(void) {
    return acu_block_write(client, dead, 0, host, 1);
}
static acu_result write_null(void) {
    return acu_block_write(client, NULL, 0, host, 1);
}
static acu_result fill_large(void) {
    return acu_block_fill(client, block, 0, 16, host, 17);
}
static acu_result copy_badly(void) {
    const acu_strides s = {.rank = 1, .shape = (size_t[]){2}, .to = (int64_t[]){0}};
    return acu_block_copy_strided(client, block, block, 1, &s);
}
static acu_result create_badly(void) {
    acu_block *made;
    return acu_block_create_for(client, ACU_ANY, 1, &made);
}
static acu_result create_nowhere(void) {
    return acu_block_create(client, 1, NULL);
}
static acu_result run_formless(void) {
    return acu_run_args(client, formless, acu_items(1), NULL, 0);
}
static acu_result run_dead(void) {
    return acu_run_args(client, dead_program, acu_items(1), NULL, 0);
}

typedef struct attempt {
    const char *name;
    acu_result (*call)(void);
    acu_result code;
} attempt;

static const attempt attempts[] = {
    {"read", read_block, ACU_ERROR_CAPTURE},
    {"read_after", read_after, ACU_ERROR_CAPTURE},
    {"get_host", get_host, ACU_ERROR_CAPTURE},
    {"synchronize", synchronize, ACU_ERROR_CAPTURE},
    {"make_mark", make_mark, ACU_ERROR_CAPTURE},
    {"wait_for_mark", wait_for_mark, ACU_ERROR_CAPTURE},
    {"let_client_wait", let_client_wait, ACU_ERROR_CAPTURE},
    {"record_again", record_again, ACU_ERROR_ARGUMENT},
    {"write_outside", write_outside, ACU_ERROR_RANGE},
    {"write_nothing", write_nothing, ACU_ERROR_ARGUMENT},
    {"write_dead", write_dead, ACU_ERROR_HANDLE},
    {"write_null", write_null, ACU_ERROR_ARGUMENT},
    {"fill_large", fill_large, ACU_ERROR_ARGUMENT},
    {"copy_badly", copy_badly, ACU_ERROR_ARGUMENT},
    {"create_badly", create_badly, ACU_ERROR_DTYPE},
    {"create_nowhere", create_nowhere, ACU_ERROR_ARGUMENT},
    {"run_formless", run_formless, ACU_NOT_SUPPORTED},
    {"run_dead", run_dead, ACU_ERROR_HANDLE},
};
enum { ATTEMPTS = sizeof attempts / sizeof *attempts };

static acu_result ignore(acu_client *on, void *data) {
    const attempt *a = data;
    (void)on;
    if (a->call() != a->code)
        fail_msg("%s: %d (%s)", a->name, acu_last_error(), acu_last_error_message());
    return ACU_SUCCESS;
}

static void a_failure_that_is_ignored_leaves_no_replay(void **state) {
    (void)state;
    for (size_t i = 0; i < ATTEMPTS; i++) {
        attempt a = attempts[i];
        acu_replay *replay = (acu_replay *)(void *)host;
        const acu_result result = acu_replay_record(client, ignore, &a, NULL, 0, &replay);
        if (result != a.code || replay)
            fail_msg("%s: recording returns %d, and stores %p", a.name, result, (void *)replay);
        ok(acu_client_synchronize(client)); /* nothing is recorded any more */
    }
}

/* ---- what makes something, and fails ---- */

static void a_call_that_fails_stores_null(void **state) {
    void *const other = host;
    acu_client *c = other;
    acu_block *b = other;
    acu_mark *m = other;
    acu_program *p = other;
    (void)state;
    assert_int_equal(acu_client_create((acu_place){0, 9}, NULL, &c), 101);
    assert_null(c);
    c = other;
    assert_int_equal(acu_client_get_default((acu_place){99, 0}, &c), ACU_ERROR_ARGUMENT);
    assert_null(c);
    assert_int_equal(acu_block_create(NULL, 1, &b), ACU_ERROR_ARGUMENT);
    assert_null(b);
    b = other;
    assert_int_equal(acu_block_create(client, UINT64_MAX, &b), ACU_ERROR_LIMIT);
    assert_null(b);
    b = other;
    assert_int_equal(acu_block_create_for(client, ACU_ANY, 1, &b), ACU_ERROR_DTYPE);
    assert_null(b);
    b = other;
    assert_int_equal(acu_block_wrap(client, NULL, 1, NULL, NULL, &b), ACU_ERROR_ARGUMENT);
    assert_null(b);
    assert_int_equal(acu_mark_create(NULL, &m), ACU_ERROR_ARGUMENT);
    assert_null(m);
    assert_int_equal(acu_program_create(NULL, &p), ACU_ERROR_ARGUMENT);
    assert_null(p);
}

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_that_is_ignored_leaves_no_replay),
        cmocka_unit_test(a_call_that_fails_stores_null),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
