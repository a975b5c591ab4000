/* Programs: what they are made of, and how back ends compile them. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "desk.h"

#include <anycuda/object.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void nothing(const acu_part *part, void *const *args) {
    (void)part;
    (void)args;
}

static void add_one(const acu_part *part, void *const *args) {
    int32_t *numbers = args[0];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        numbers[i]++;
}

static const desk_form good = {add_one, 0};
static const acu_form desk_forms[] = {{"desk", &good, sizeof good}};

/* Returns a program with a form for the desk and one for the CPU. */
static acu_program *made(void) {
    acu_program *program = NULL;
    OK(acu_program_create(
        &(acu_program_source){
            .name = "add_one", .cpu = add_one, .forms = desk_forms, .form_count = 1, .group = {64}},
        &program));
    return program;
}

static acu_client *client_of(acu_place place) {
    acu_client *client = NULL;
    OK(acu_client_create(place, NULL, &client));
    return client;
}

/* ---- sources ---- */

static void refuse(const char *words, acu_program_source source) {
    acu_program *program = (acu_program *)&source;
    FAILS(ACU_ERROR_ARGUMENT, words, acu_program_create(&source, &program));
    assert_null(program);
}

static void wrong_sources_are_refused(void **state) {
    (void)state;
    acu_program *program;
    const acu_form no_name = {NULL, "x", 1}, no_code = {"desk", NULL, 1}, empty = {"desk", "x", 0},
                   known = {"cuda", "x", 1},
                   twice[] = {{"a", "x", 1}, {"desk", "x", 1}, {"desk", "y", 1}};
    FAILS(ACU_ERROR_ARGUMENT, "'source' is NULL", acu_program_create(NULL, &program));
    FAILS(ACU_ERROR_ARGUMENT, "'program' is NULL",
          acu_program_create(&(acu_program_source){.name = "p", .cpu = nothing}, NULL));
    refuse("name is NULL", (acu_program_source){.cpu = nothing});
    refuse("name is NULL or empty", (acu_program_source){.name = "", .cpu = nothing});
    refuse("\"p\" has no form", (acu_program_source){.name = "p"});
    refuse("no flags 0x2", (acu_program_source){.name = "p", .cpu = nothing, .flags = 2});
    refuse("ACU_PROGRAM_ON_CPU",
           (acu_program_source){.name = "p", .ptx = "x", .flags = ACU_PROGRAM_ON_CPU});
    refuse("forms of \"p\" is NULL", (acu_program_source){.name = "p", .form_count = 1});
    refuse("forms[0]", (acu_program_source){.name = "p", .forms = &no_name, .form_count = 1});
    refuse("forms[0]", (acu_program_source){.name = "p", .forms = &no_code, .form_count = 1});
    refuse("no code", (acu_program_source){.name = "p", .forms = &empty, .form_count = 1});
    refuse("a field of its own",
           (acu_program_source){.name = "p", .forms = &known, .form_count = 1});
    refuse("forms[1] and [2]", (acu_program_source){.name = "p", .forms = twice, .form_count = 3});
    refuse("size is 4096", (acu_program_source){.size = 4096, .name = "p", .cpu = nothing});
    refuse("size is 8", (acu_program_source){.size = 8, .name = "p", .cpu = nothing});
}

static void an_older_source_has_fewer_fields(void **state) {
    (void)state;
    acu_program *program = NULL;
    acu_program_source source = {
        .size = offsetof(acu_program_source, flags), .name = "p", .cpu = nothing, .flags = 0xffff};
    OK(acu_program_create(&source, &program));
    OK(acu_program_release(program));
    source.size = offsetof(acu_program_source, ptx);
    source.ptx = (const char *)1; /* is not read */
    OK(acu_program_create(&source, &program));
    OK(acu_program_release(program));
}

static void all_of_a_source_is_copied(void **state) {
    (void)state;
    char name[] = "copied", runtime[] = "desk", ptx[] = "ptx", cuda[] = "cuda", wgsl[] = "wgsl";
    desk_form form = good;
    acu_form forms[] = {{runtime, &form, sizeof form}};
    acu_program *program = NULL;
    OK(acu_program_create(&(acu_program_source){.name = name,
                                                .ptx = ptx,
                                                .cuda = cuda,
                                                .wgsl = wgsl,
                                                .forms = forms,
                                                .form_count = 1,
                                                .group = {64}},
                          &program));
    memset(name, 'x', sizeof name);
    memset(runtime, 'x', sizeof runtime);
    memset(&form, 0xff, sizeof form);
    memset(forms, 0xff, sizeof forms);
    assert_string_equal(acu_program_name(program), "copied");
    OK(acu_program_prepare(program, desk_place(0)));
    OK(acu_program_release(program));
}

/* ---- handles ---- */

static void a_program_says_its_name(void **state) {
    (void)state;
    char text[128], wanted[128];
    acu_program *program = made();
    assert_string_equal(acu_program_name(program), "add_one");
    snprintf(wanted, sizeof wanted, "program %p \"add_one\"", (void *)program);
    assert_int_equal(acu_program_describe(program, text, sizeof text), strlen(wanted));
    assert_string_equal(text, wanted);
    assert_string_equal(acu_program_name(NULL), "");
    OK(acu_program_release(program));
}

static void a_program_has_owners(void **state) {
    (void)state;
    acu_program *program = made(), *owned = program;
    assert_ptr_equal(acu_program_retain(program), program);
    OK(acu_program_release(program));
    assert_string_equal(acu_program_name(program), "add_one");
    acu_program_cleanup(&owned);
    assert_null(owned);
    assert_string_equal(acu_program_name(program), "");
    assert_null(acu_program_retain(program));
    FAILS(ACU_ERROR_HANDLE, "released already", acu_program_release(program));
    FAILS(ACU_ERROR_HANDLE, "released already", acu_program_prepare(program, acu_place_cpu()));
    FAILS(ACU_ERROR_ARGUMENT, "the program is NULL", acu_program_prepare(NULL, acu_place_cpu()));
    OK(acu_program_release(NULL));
    acu_program_cleanup(NULL);
}

static void another_handle_is_no_program(void **state) {
    (void)state;
    acu_client *client = client_of(acu_place_cpu());
    acu_program *wrong = (acu_program *)client;
    FAILS(ACU_ERROR_HANDLE, "a client is given where a program is needed",
          acu_program_prepare(wrong, acu_place_cpu()));
    assert_string_equal(acu_program_name(wrong), "");
    OK(acu_client_release(client));
}

/* ---- compiling ---- */

static void a_program_is_compiled_once_for_each_device(void **state) {
    (void)state;
    acu_program *program = made();
    for (int i = 0; i < 3; i++) {
        OK(acu_program_prepare(program, desk_place(0)));
        OK(acu_program_prepare(program, desk_place(1)));
        OK(acu_program_prepare(program, acu_place_cpu()));
    }
    assert_int_equal(desk_counted.created, 2);
    OK(acu_program_release(program));
    assert_int_equal(desk_counted.destroyed, 2);
}

static void *prepare(void *program) {
    return (void *)(intptr_t)acu_program_prepare(program, desk_place(0));
}

static void threads_compile_once(void **state) {
    (void)state;
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    acu_program *program = made();
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, prepare, program), 0);
    for (int i = 0; i < THREADS; i++) {
        void *code = NULL;
        assert_int_equal(pthread_join(threads[i], &code), 0);
        assert_null(code);
    }
    assert_int_equal(desk_counted.created, 1);
    OK(acu_program_release(program));
    assert_int_equal(desk_counted.destroyed, 1);
}

static void what_does_not_compile_says_why(void **state) {
    (void)state;
    const desk_form wrong = {add_one, ACU_ERROR_COMPILE}, old = {add_one, ACU_NOT_SUPPORTED};
    const acu_form forms[] = {{"desk", &wrong, sizeof wrong}},
                   olds[] = {{"desk", &old, sizeof old}};
    acu_program_source source = {.name = "broken",
                                 .cpu = add_one,
                                 .forms = forms,
                                 .form_count = 1,
                                 .group = {1},
                                 .flags = ACU_PROGRAM_ON_CPU};
    acu_program *program = NULL;
    OK(acu_program_create(&source, &program));
    FAILS(ACU_ERROR_COMPILE, "line 3 of \"broken\" is wrong",
          acu_program_prepare(program, desk_place(0)));
    FAILS(ACU_ERROR_COMPILE, "program 0x", acu_program_prepare(program, desk_place(0)));
    assert_int_equal(desk_counted.created, 2); /* it was tried again */
    OK(acu_program_release(program));
    source.forms = olds; /* the form is there, so that the program does not run on the CPU */
    OK(acu_program_create(&source, &program));
    FAILS(ACU_NOT_SUPPORTED, "line 3 of \"broken\"", acu_program_prepare(program, desk_place(0)));
    OK(acu_program_release(program));
    assert_int_equal(desk_counted.destroyed, 0);
}

static void a_missing_form_is_named(void **state) {
    (void)state;
    acu_program *program = made();
    FAILS(ACU_NOT_SUPPORTED,
          "the program has no form for bare: it has forms for cpu, desk; program",
          acu_program_prepare(program, bare_place()));
    FAILS(ACU_NOT_SUPPORTED, "no form for bare", acu_program_prepare(program, bare_place()));
    OK(acu_program_release(program));
    OK(acu_program_create(&(acu_program_source){.name = "both", .ptx = "x", .wgsl = "x"},
                          &program));
    FAILS(ACU_NOT_SUPPORTED, "no form for cpu: it has forms for cuda, webgpu",
          acu_program_prepare(program, acu_place_cpu()));
    FAILS(ACU_NOT_SUPPORTED, "no form for desk", acu_program_prepare(program, desk_place(0)));
    OK(acu_program_release(program));
}

static void a_program_on_the_cpu_can_be_prepared(void **state) {
    (void)state;
    acu_program *program = NULL;
    OK(acu_program_create(
        &(acu_program_source){.name = "p", .cpu = nothing, .flags = ACU_PROGRAM_ON_CPU}, &program));
    OK(acu_program_prepare(program, bare_place()));
    OK(acu_program_prepare(program, desk_place(0)));
    OK(acu_program_release(program));
}

static void a_place_must_exist(void **state) {
    (void)state;
    acu_program *program = made();
    FAILS(ACU_ERROR_ARGUMENT, "runtime", acu_program_prepare(program, (acu_place){99, 0}));
    FAILS(101, "", acu_program_prepare(program, desk_place(2)));
    FAILS(ACU_NOT_SUPPORTED, "cuda",
          acu_program_prepare(program, (acu_place){ACU_RUNTIME_CUDA, 0}));
    OK(acu_program_release(program));
}

static acu_result prepare_group(size_t x, size_t y, size_t z) {
    ACU_AUTO(acu_program) *program = NULL;
    OK(acu_program_create(
        &(acu_program_source){
            .name = "group", .forms = desk_forms, .form_count = 1, .group = {x, y, z}},
        &program));
    return acu_program_prepare(program, desk_place(0));
}

static void groups_have_limits(void **state) {
    (void)state;
    OK(prepare_group(64, 2, 1));
    OK(prepare_group(1, 1, 64));
    FAILS(ACU_ERROR_LIMIT, "65 x 1 x 1 items, but desk:0 allows 64 x 64 x 64, and 128 in all",
          prepare_group(65, 1, 1));
    FAILS(ACU_ERROR_LIMIT, "1 x 65 x 1", prepare_group(1, 65, 1));
    FAILS(ACU_ERROR_LIMIT, "1 x 1 x 65", prepare_group(1, 1, 65));
    FAILS(ACU_ERROR_LIMIT, "64 x 3 x 1", prepare_group(64, 3, 1));
    FAILS(ACU_ERROR_LIMIT, "256 x 1 x 1", prepare_group(0, 0, 0));
    FAILS(ACU_ERROR_LIMIT, "18446744073709551615", prepare_group(SIZE_MAX, 2, 1));
}

/* ---- the end ---- */

static int slow_runs; /* atomic */

static void run_slowly(const acu_part *part, void *const *args) {
    (void)args;
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    if (part->begin[0] == 0)
        __atomic_add_fetch(&slow_runs, 1, __ATOMIC_RELAXED);
}

static void a_release_waits_for_the_work(void **state) {
    (void)state;
    acu_program *program = NULL;
    acu_client *client = client_of(acu_place_cpu());
    slow_runs = 0;
    OK(acu_program_create(&(acu_program_source){.name = "slow", .cpu = run_slowly}, &program));
    OK(acu_run(client, program, acu_items(1)));
    OK(acu_run(client, program, acu_items(1)));
    OK(acu_program_release(program));
    assert_int_equal(__atomic_load_n(&slow_runs, __ATOMIC_RELAXED), 2);
    OK(acu_client_release(client));
}

static void *release_client(void *client) {
    return (void *)(intptr_t)acu_client_release(client);
}

/* The client is being destroyed, and waits for the program's work, when the program is released. */
static void a_client_may_end_meanwhile(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        acu_program *program = NULL;
        pthread_t thread;
        acu_client *client = client_of(acu_place_cpu());
        void *code;
        slow_runs = 0;
        OK(acu_program_create(&(acu_program_source){.name = "slow", .cpu = run_slowly}, &program));
        OK(acu_run(client, program, acu_items(1)));
        assert_int_equal(pthread_create(&thread, NULL, release_client, client), 0);
        nanosleep(&(struct timespec){0, i * 10000000}, NULL);
        OK(acu_program_release(program));
        assert_int_equal(__atomic_load_n(&slow_runs, __ATOMIC_RELAXED), 1);
        assert_int_equal(pthread_join(thread, &code), 0);
        assert_null(code);
    }
}

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(wrong_sources_are_refused, desk_begin),
        cmocka_unit_test_setup(an_older_source_has_fewer_fields, desk_begin),
        cmocka_unit_test_setup(all_of_a_source_is_copied, desk_begin),
        cmocka_unit_test_setup(a_program_says_its_name, desk_begin),
        cmocka_unit_test_setup(a_program_has_owners, desk_begin),
        cmocka_unit_test_setup(another_handle_is_no_program, desk_begin),
        cmocka_unit_test_setup(a_program_is_compiled_once_for_each_device, desk_begin),
        cmocka_unit_test_setup(threads_compile_once, desk_begin),
        cmocka_unit_test_setup(what_does_not_compile_says_why, desk_begin),
        cmocka_unit_test_setup(a_missing_form_is_named, desk_begin),
        cmocka_unit_test_setup(a_program_on_the_cpu_can_be_prepared, desk_begin),
        cmocka_unit_test_setup(a_place_must_exist, desk_begin),
        cmocka_unit_test_setup(groups_have_limits, desk_begin),
        cmocka_unit_test_setup(a_release_waits_for_the_work, desk_begin),
        cmocka_unit_test_setup(a_client_may_end_meanwhile, desk_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
