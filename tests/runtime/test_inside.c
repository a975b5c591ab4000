/* What programs' functions do with the client whose work they are: what would wait for itself is
 * refused, and nothing that the work uses is given back. */
#include "core_test.h"

#include <unistd.h>

static acu_client *client;
static acu_block *block;
static acu_program *program;
static acu_mark *earlier;
static acu_result results[8];
static char words[8][256];
static int calls, dropped;
static char memory[16];

/* Runs a function as work of the client, and waits. */
static void (*todo)(void);
static void call_todo(const acu_part *part, void *const *args) {
    (void)part;
    (void)args;
    todo();
}

static void run_inside(void (*function)(void)) {
    calls = 0;
    memset(results, 0, sizeof results);
    todo = function;
    OK(acu_run(client, program, acu_items(1), block));
    OK(acu_client_synchronize(client));
}

static void note(acu_result result) {
    snprintf(words[calls], sizeof words[calls], "%.255s", acu_last_error_message());
    results[calls++] = result;
}

static void begin(acu_place place) {
    const acu_program_source source = {
        .name = "inside", .cpu = call_todo, .flags = ACU_PROGRAM_ON_CPU};
    made_up_reset();
    client = new_client(place);
    block = new_block(client, 16, 7);
    OK(acu_program_create(&source, &program));
    OK(acu_mark_create(client, &earlier));
}

static void end(void) {
    OK(acu_mark_release(earlier));
    OK(acu_program_release(program));
    OK(acu_block_release(block));
    OK(acu_client_release(client));
}

/* ---- on the CPU ---- */

static void wait_in_all_ways(void) {
    char bytes[16];
    void *host;
    acu_mark *mark = NULL;
    note(acu_client_synchronize(client));
    note(acu_block_read(client, block, 0, bytes, sizeof bytes));
    note(acu_block_get_host(block, &host));
    note(acu_mark_create(client, &mark));
    note(acu_mark_synchronize(mark));
    note(acu_block_read_after(client, mark, block, 0, bytes, sizeof bytes));
    note(acu_mark_synchronize(earlier));
    (void)acu_mark_release(mark);
}

static void a_function_cannot_wait_for_itself(void **state) {
    (void)state;
    begin(acu_place_cpu());
    run_inside(wait_in_all_ways);
    for (int i = 0; i < 7; i++)
        assert_int_equal(results[i], i == 3 || i == 6 ? ACU_SUCCESS : ACU_ERROR_STATE);
    assert_non_null(strstr(words[0], "acu_client_synchronize: a program's function would wait"));
    assert_non_null(strstr(words[1], "acu_block_read: a program's function would wait"));
    end();
}

static void give_work(void) {
    note(acu_block_fill(client, block, 0, 16, "x", 1));
    note(acu_block_write(client, block, 0, "y", 1));
}

static void a_function_may_give_work(void **state) {
    (void)state;
    begin(acu_place_cpu());
    run_inside(give_work);
    assert_int_equal(results[0] | results[1], ACU_SUCCESS);
    assert_int_equal(byte_at(client, block, 0), 'y');
    assert_int_equal(byte_at(client, block, 15), 'x');
    end();
}

static void release_program(void) {
    note(acu_program_release(program));
}

static void a_function_may_release_its_program(void **state) {
    (void)state;
    begin(acu_place_cpu());
    run_inside(release_program);
    assert_int_equal(results[0], ACU_SUCCESS);
    program = NULL;
    end();
}

static void count_drop(void *data) {
    (void)data;
    dropped++;
}

static acu_block *wrapped;

static void release_wrapped(void) {
    note(acu_block_release(wrapped));
}

/* The memory is lost rather than given back while the work uses it. */
static void memory_in_use_stays_wrapped(void **state) {
    (void)state;
    acu_error error;
    begin(acu_place_cpu());
    OK(acu_block_wrap(client, memory, sizeof memory, count_drop, NULL, &wrapped));
    todo = release_wrapped;
    calls = 0;
    OK(acu_run(client, program, acu_items(1), wrapped));
    OK(acu_client_synchronize(client));
    assert_int_equal(results[0], ACU_ERROR_STATE);
    assert_int_equal(dropped, 0);
    assert_int_equal(acu_release_error(&error), 1);
    assert_int_equal(error.code, ACU_ERROR_STATE);
    end();
}

static int is_over; /* atomic */

static void release_client(void) {
    note(acu_client_release(client));
    __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
}

static void a_client_cannot_end_in_its_own_work(void **state) {
    (void)state;
    begin(acu_place_cpu());
    OK(acu_mark_release(earlier));
    OK(acu_block_release(block));
    todo = release_client;
    calls = 0;
    OK(acu_run(client, program, acu_items(1)));
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
        usleep(1000);
    assert_int_equal(results[0], ACU_ERROR_STATE);
    assert_int_equal(acu_release_error(NULL), 1);
    OK(acu_program_release(program));
}

/* ---- in place of another device ---- */

static void use_client(void) {
    acu_block *made = NULL;
    acu_mark *mark = NULL;
    note(acu_block_write(client, block, 0, "z", 1));
    note(acu_block_create(client, 16, &made));
    note(acu_mark_create(client, &mark));
    note(acu_client_synchronize(client));
    note(acu_mark_synchronize(earlier));
}

static void without_programs(acu_backend *table) {
    table->program_create = NULL;
    table->program_destroy = NULL;
    table->run = NULL;
}

static void a_client_that_waits_for_the_function(void **state) {
    (void)state;
    begin(made_up_register(without_programs));
    run_inside(use_client);
    for (int i = 0; i < 5; i++)
        assert_int_equal(results[i], ACU_ERROR_STATE);
    assert_non_null(strstr(words[0], "acu_block_write: a program's function would wait"));
    assert_int_equal(byte_at(client, block, 0), 7);
    run_inside(release_program);
    assert_int_equal(results[0], ACU_SUCCESS);
    program = NULL;
    end();
}

int main(void) {
    (void)alarm(100); /* what waits for itself does not end */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_cannot_wait_for_itself),
        cmocka_unit_test(a_function_may_give_work),
        cmocka_unit_test(a_function_may_release_its_program),
        cmocka_unit_test(memory_in_use_stays_wrapped),
        cmocka_unit_test(a_client_cannot_end_in_its_own_work),
        cmocka_unit_test(a_client_that_waits_for_the_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
