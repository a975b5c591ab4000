/* The back end of examples/backend.c, opened as a shared object: what docs/users/backend.md says of
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <anycuda/backend.h>

#include <stdio.h>
#include <string.h>

static acu_place shelf; /* device 0 */

static void ok(acu_result result) {
    if (result)
        fail_msg("the result is %d (%s)", result, acu_last_error_message());
}

static void expect(acu_result found, acu_result wanted, const char *words) {
    if (found != wanted || !strstr(acu_last_error_message(), words))
        fail_msg("the result is %d (%s)", found, acu_last_error_message());
}

/* ---- the file, and opening it ---- */

static void the_example_has_at_most_200_lines(void **state) {
    (void)state;
    FILE *file = fopen(SHELF_SOURCE, "r");
    int lines = 0, c;
    assert_non_null(file);
    while ((c = getc(file)) != EOF)
        lines += c == '\n';
    fclose(file);
    assert_in_range(lines, 100, 200);
}

static void it_is_opened_and_found_by_its_name(void **state) {
    (void)state;
    int runtime = 0, found = 0, count = 0;
    const int before = acu_runtime_count();
    ok(acu_runtime_open(SHELF, &runtime));
    assert_int_equal(runtime, before);
    assert_int_equal(acu_runtime_count(), before + 1);
    assert_string_equal(acu_runtime_name(runtime), "shelf");
    ok(acu_runtime_find("shelf", &found));
    assert_int_equal(found, runtime);
    ok(acu_runtime_get_device_count(runtime, &count));
    assert_int_equal(count, 2);
    ok(acu_place_parse("shelf", &shelf));
    assert_int_equal(shelf.runtime, runtime);
}

static void a_second_one_of_that_name_is_refused(void **state) {
    (void)state;
    int runtime = 99;
    const int before = acu_runtime_count();
    expect(acu_runtime_open(SHELF, &runtime), ACU_ERROR_ARGUMENT, "shelf");
    assert_int_equal(acu_runtime_count(), before);
}

static void a_file_that_is_no_back_end_is_refused(void **state) {
    (void)state;
    int runtime;
    expect(acu_runtime_open("/nowhere/shelf.so", &runtime), ACU_ERROR_ARGUMENT,
           "/nowhere/shelf.so");
    expect(acu_runtime_open(SHELF_SOURCE, &runtime), ACU_ERROR_ARGUMENT, "backend.c");
    expect(acu_runtime_open("libm.so.6", &runtime), ACU_ERROR_ARGUMENT, ACU_BACKEND_ENTRY);
}

static void it_says_what_it_is(void **state) {
    (void)state;
    acu_place_info info;
    acu_place second = {shelf.runtime, 1};
    ok(acu_place_get_info(second, &info));
    assert_string_equal(info.name, "shelf 1");
    assert_int_equal(info.can, 0);
    assert_int_equal(info.largest_block, 64 << 20);
    assert_int_equal(info.max_rank,
                     ACU_MAX_RANK); /* limits that the back end leaves out are none */
    assert_int_equal(info.max_blocks, ACU_MAX_ARGUMENTS);
    assert_true(info.max_group[0] == SIZE_MAX && info.max_group[2] == SIZE_MAX);
    assert_true(info.max_group_items == SIZE_MAX);
    assert_true(acu_place_computes(shelf, ACU_F64));
    assert_false(acu_place_computes(shelf, ACU_BF16));
    second.device = 2;
    expect(acu_place_get_info(second, &info), 101, "shelf");
}

/* ---- work ---- */

/* A client of a device of the shelf, and a block of numbers. */
typedef struct desk {
    acu_client *client;
    acu_block *block;
} desk;

static desk open_desk(acu_place place, const uint32_t *numbers, size_t count) {
    desk d = {NULL, NULL};
    ok(acu_client_create(place, NULL, &d.client));
    ok(acu_block_create_for(d.client, ACU_U32, count, &d.block));
    ok(acu_block_write(d.client, d.block, 0, numbers, count * sizeof *numbers));
    return d;
}

static void close_desk(desk *d) {
    ok(acu_block_release(d->block));
    ok(acu_client_release(d->client));
}

static void expect_numbers(const desk *d, const uint32_t *wanted, size_t count) {
    uint32_t found[16];
    ok(acu_block_read(d->client, d->block, 0, found, count * sizeof *found));
    assert_memory_equal(found, wanted, count * sizeof *found);
}

static void copies_go_from_place_to_place(void **state) {
    (void)state;
    const uint32_t numbers[] = {1, 2, 3, 4}, zeros[4] = {0};
    const acu_place second = {shelf.runtime, 1};
    desk a = open_desk(shelf, numbers, 4), b = open_desk(second, zeros, 4);
    desk c = open_desk(acu_place_cpu(), zeros, 4);
    ok(acu_block_copy(a.client, b.block, 0, a.block, 0, 16));
    ok(acu_block_copy(b.client, c.block, 0, b.block, 0, 16));
    expect_numbers(&c, numbers, 4);
    ok(acu_block_copy(a.client, a.block, 4, a.block, 0, 8)); /* the ranges overlap */
    expect_numbers(&a, (const uint32_t[]){1, 1, 2, 4}, 4);
    close_desk(&a);
    close_desk(&b);
    close_desk(&c);
}

static void what_the_table_lacks_is_done_by_the_host(void **state) {
    (void)state;
    const uint32_t numbers[] = {1, 2, 3, 4, 5, 6};
    const acu_strides transposed = {
        .rank = 2, .shape = (size_t[]){3, 2}, .from = (int64_t[]){1, 3}};
    desk a = open_desk(shelf, numbers, 6), b = open_desk(shelf, numbers, 6);
    ok(acu_block_copy_strided(b.client, b.block, a.block, sizeof *numbers, &transposed));
    expect_numbers(&b, (const uint32_t[]){1, 4, 2, 5, 3, 6}, 6);
    ok(acu_block_fill(b.client, b.block, 4, 8, (const uint32_t[]){7}, sizeof *numbers));
    expect_numbers(&b, (const uint32_t[]){1, 7, 7, 5, 3, 6}, 6);
    close_desk(&a);
    close_desk(&b);
}

static void marks_wait_where_they_are_made(void **state) {
    (void)state;
    uint32_t found = 0;
    acu_mark *mark;
    desk a = open_desk(shelf, (const uint32_t[]){5}, 1);
    ok(acu_mark_create(a.client, &mark));
    ok(acu_mark_query(mark));
    ok(acu_client_wait(a.client, mark));
    ok(acu_block_read_after(a.client, mark, a.block, 0, &found, sizeof found));
    assert_int_equal(found, 5);
    ok(acu_mark_release(mark));
    close_desk(&a);
}

static void its_words_are_in_the_message(void **state) {
    (void)state;
    acu_block *large, *more;
    desk a = open_desk(shelf, (const uint32_t[]){5}, 1);
    ok(acu_block_create(a.client, 50 << 20, &large));
    expect(acu_block_create(a.client, 50 << 20, &more), ACU_OUT_OF_MEMORY,
           "shelf 0 has room for 67108864 bytes");
    assert_non_null(strstr(acu_last_error_message(), "acu_block_create"));
    expect(acu_block_create(a.client, 65 << 20, &more), ACU_ERROR_LIMIT, "");
    ok(acu_block_release(large));
    ok(acu_block_create(a.client, 50 << 20, &more));
    ok(acu_block_release(more));
    close_desk(&a);
}

/* ---- programs and replays ---- */

static void add(const acu_part *part, void *const *args) {
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        ((uint32_t *)args[0])[i] += *(const uint32_t *)args[1];
}

static acu_program *make_program(bool for_shelf, bool for_cpu, size_t bytes) {
    acu_part_function *code = add;
    const acu_form form = {"shelf", &code, bytes};
    acu_program *program;
    ok(acu_program_create(&(acu_program_source){.name = "add",
                                                .cpu = for_cpu ? add : NULL,
                                                .forms = &form,
                                                .form_count = for_shelf,
                                                .flags = for_cpu ? ACU_PROGRAM_ON_CPU : 0},
                          &program));
    return program;
}

static void a_program_has_a_form_for_it(void **state) {
    (void)state;
    desk a = open_desk(shelf, (const uint32_t[]){1, 2, 3}, 3);
    acu_program *program = make_program(true, false, sizeof(acu_part_function *));
    ok(acu_run(a.client, program, acu_items(3), a.block, 10u));
    expect_numbers(&a, (const uint32_t[]){11, 12, 13}, 3);
    ok(acu_program_release(program));
    close_desk(&a);
}

static void without_a_form_a_program_runs_on_the_cpu_or_not_at_all(void **state) {
    (void)state;
    desk a = open_desk(shelf, (const uint32_t[]){1, 2, 3}, 3);
    acu_program *on_cpu = make_program(false, true, 1), *bad = make_program(true, false, 1);
    ok(acu_run(a.client, on_cpu, acu_items(3), a.block, 10u));
    expect_numbers(&a, (const uint32_t[]){11, 12, 13}, 3);
    expect(acu_run(a.client, bad, acu_items(3), a.block, 10u), ACU_NOT_SUPPORTED, "add");
    expect_numbers(&a, (const uint32_t[]){11, 12, 13}, 3);
    ok(acu_program_release(on_cpu));
    ok(acu_program_release(bad));
    close_desk(&a);
}

typedef struct job {
    acu_program *program;
    acu_block *block;
} job;

static acu_result add_twice(acu_client *client, void *data) {
    const job *j = data;
    ACU_TRY(acu_run(client, j->program, acu_items(3), j->block, 1u));
    return acu_run(client, j->program, acu_items(3), j->block, 10u);
}

static void a_replay_makes_the_calls_again_and_says_why(void **state) {
    (void)state;
    acu_replay *replay;
    desk a = open_desk(shelf, (const uint32_t[]){0, 0, 0}, 3);
    acu_program *program = make_program(true, false, sizeof(acu_part_function *));
    ok(acu_replay_record(a.client, add_twice, &(job){program, a.block}, NULL, 0, &replay));
    ok(acu_program_release(program));
    assert_false(acu_replay_is_real(replay));
    assert_true(strlen(acu_replay_why(replay)) > 10);
    for (int i = 0; i < 3; i++)
        ok(acu_replay_run(replay));
    expect_numbers(&a, (const uint32_t[]){33, 33, 33}, 3);
    ok(acu_replay_release(replay));
    close_desk(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_has_at_most_200_lines),
        cmocka_unit_test(it_is_opened_and_found_by_its_name),
        cmocka_unit_test(a_second_one_of_that_name_is_refused),
        cmocka_unit_test(a_file_that_is_no_back_end_is_refused),
        cmocka_unit_test(it_says_what_it_is),
        cmocka_unit_test(copies_go_from_place_to_place),
        cmocka_unit_test(what_the_table_lacks_is_done_by_the_host),
        cmocka_unit_test(marks_wait_where_they_are_made),
        cmocka_unit_test(its_words_are_in_the_message),
        cmocka_unit_test(a_program_has_a_form_for_it),
        cmocka_unit_test(without_a_form_a_program_runs_on_the_cpu_or_not_at_all),
        cmocka_unit_test(a_replay_makes_the_calls_again_and_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
