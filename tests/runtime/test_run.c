/* Runs: arguments, limits, order, and programs that run on the CPU instead. */
#include "desk.h"

#include <anycuda/object.h>
#include "made_up.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 1000 };

static acu_client *client_of(acu_place place) {
    acu_client *client = NULL;
    OK(acu_client_create(place, NULL, &client));
    return client;
}

static acu_block *block_of(acu_client *client, const void *from, size_t bytes) {
    acu_block *block = NULL;
    OK(acu_block_create(client, bytes, &block));
    OK(acu_block_write(client, block, 0, from, bytes));
    return block;
}

static acu_program *program_of(acu_part_function *cpu, unsigned flags) {
    acu_program *program = NULL;
    OK(acu_program_create(&(acu_program_source){.name = "p", .cpu = cpu, .flags = flags},
                          &program));
    return program;
}

static void nothing(const acu_part *part, void *const *args) {
    (void)part;
    (void)args;
}

/* Returns a place that works later, captures, and runs the CPU's form by itself. */
static acu_place made_up_place(void) {
    static acu_place place;
    if (place.runtime == 0) {
        made_up_reset();
        place = made_up_register(NULL);
    }
    return place;
}

/* ---- values ---- */

typedef struct odd {
    char text[13];
} odd;

typedef struct values {
    char plain;
    signed char i8;
    short i16;
    int i32;
    long i64;
    long long i64_too;
    unsigned char u8;
    unsigned short u16;
    unsigned u32;
    unsigned long u64;
    unsigned long long u64_too;
    bool yes;
    float f32;
    double f64;
    odd bytes;
} values;

/* Writes what it was given into its block. */
static void store_values(const acu_part *part, void *const *args) {
    values *to = args[15];
    if (part->begin[0] > 0)
        return;
    to->plain = *(char *)args[0];
    to->i8 = *(signed char *)args[1];
    to->i16 = *(short *)args[2];
    to->i32 = *(int *)args[3];
    to->i64 = *(long *)args[4];
    to->i64_too = *(long long *)args[5];
    to->u8 = *(unsigned char *)args[6];
    to->u16 = *(unsigned short *)args[7];
    to->u32 = *(unsigned *)args[8];
    to->u64 = *(unsigned long *)args[9];
    to->u64_too = *(unsigned long long *)args[10];
    to->yes = *(bool *)args[11];
    to->f32 = *(float *)args[12];
    to->f64 = *(double *)args[13];
    memcpy(&to->bytes, args[14], sizeof to->bytes);
}

static const values wanted = {'c',        -8,   -1600, -320000,     -640000000000,
                              -64,        200,  60000, 4000000000u, 1u << 31u,
                              UINT64_MAX, true, 1.5f,  -2.25,       {"twelve bytes"}};

static acu_result run_values(acu_client *client, acu_program *program, acu_block *block) {
    const values *v = &wanted;
    odd bytes = v->bytes;
    const acu_result code =
        acu_run(client, program, acu_items(1), v->plain, v->i8, v->i16, v->i32, v->i64, v->i64_too,
                v->u8, v->u16, v->u32, v->u64, v->u64_too, v->yes, v->f32, v->f64,
                acu_bytes(&bytes, sizeof bytes), acu_out_block(block));
    memset(&bytes, 0, sizeof bytes); /* is not needed after the call */
    return code;
}

static void check_values(acu_client *client, acu_block *block) {
    values found;
    OK(acu_block_read(client, block, 0, &found, sizeof found));
    assert_int_equal(found.plain, wanted.plain);
    assert_int_equal(found.i8, wanted.i8);
    assert_int_equal(found.i16, wanted.i16);
    assert_int_equal(found.i32, wanted.i32);
    assert_true(found.i64 == wanted.i64 && found.i64_too == wanted.i64_too);
    assert_int_equal(found.u8, wanted.u8);
    assert_int_equal(found.u16, wanted.u16);
    assert_int_equal(found.u32, wanted.u32);
    assert_true(found.u64 == wanted.u64 && found.u64_too == wanted.u64_too);
    assert_true(found.yes && found.f32 == wanted.f32 && found.f64 == wanted.f64);
    assert_memory_equal(&found.bytes, &wanted.bytes, sizeof wanted.bytes);
}

static void values_arrive_on(acu_place place, unsigned flags) {
    const values none = {0};
    acu_client *client = client_of(place);
    acu_program *program = program_of(store_values, flags);
    acu_block *block = block_of(client, &none, sizeof none);
    OK(run_values(client, program, block));
    check_values(client, block);
    OK(acu_block_release(block));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

static void values_of_every_size_arrive(void **state) {
    (void)state;
    values_arrive_on(acu_place_cpu(), 0);
    values_arrive_on(bare_place(), ACU_PROGRAM_ON_CPU);
    values_arrive_on(made_up_place(), 0);
}

static acu_result record_values(acu_client *client, void *data) {
    void **both = data;
    return run_values(client, both[0], both[1]);
}

/* Values, blocks and the program are the replay's once it is recorded. */
static void a_replay_keeps_the_arguments(void **state) {
    (void)state;
    const acu_place places[] = {acu_place_cpu(), bare_place(), made_up_place()};
    for (size_t i = 0; i < 3; i++) {
        const values none = {0};
        acu_client *client = client_of(places[i]);
        acu_program *program = program_of(store_values, ACU_PROGRAM_ON_CPU);
        acu_block *block = block_of(client, &none, sizeof none);
        acu_replay *replay = NULL;
        void *both[] = {program, block};
        OK(acu_replay_record(client, record_values, both, NULL, 0, &replay));
        assert_int_equal(acu_replay_is_real(replay), i != 1);
        OK(acu_program_release(program));
        assert_int_equal(acu_program_name(program)[0], 'p'); /* the replay is an owner */
        OK(acu_replay_run(replay));
        check_values(client, block);
        OK(acu_block_write(client, block, 0, &none, sizeof none));
        OK(acu_replay_run(replay));
        check_values(client, block);
        OK(acu_block_release(block));
        OK(acu_replay_release(replay));
        OK(acu_client_release(client));
    }
}

/* ---- wrong arguments ---- */

static void wrong_values_are_refused(void **state) {
    (void)state;
    acu_client *client = client_of(acu_place_cpu());
    acu_program *p = program_of(nothing, 0);
    acu_arg wide = acu_arg_of(1), none = acu_arg_of(1), unknown = acu_arg_of(1);
    wide.size = 16;
    none.size = 0;
    unknown.kind = (acu_arg_kind)99;
    FAILS(ACU_ERROR_ARGUMENT, "argument 1 is a value of 16 bytes",
          acu_run(client, p, acu_items(1), 1, wide));
    FAILS(ACU_ERROR_ARGUMENT, "argument 0 is a value of 0 bytes",
          acu_run(client, p, acu_items(1), none));
    FAILS(ACU_ERROR_ARGUMENT, "of an unknown kind", acu_run(client, p, acu_items(1), unknown));
    FAILS(ACU_ERROR_ARGUMENT, "bytes at NULL",
          acu_run(client, p, acu_items(1), acu_bytes(NULL, 4)));
    FAILS(ACU_ERROR_ARGUMENT, "a value of 0 bytes",
          acu_run(client, p, acu_items(1), acu_bytes(&wide, 0)));
    FAILS(ACU_ERROR_LIMIT, "4 GiB", acu_run(client, p, acu_items(1), acu_bytes(&wide, SIZE_MAX)));
    FAILS(ACU_ERROR_ARGUMENT, "argument 0 is a raw pointer",
          acu_run(client, p, acu_items(1), (void *)&wide));
    FAILS(ACU_ERROR_ARGUMENT, "is a buffer", acu_run(client, p, acu_items(1), acu_in(NULL)));
    FAILS(ACU_ERROR_ARGUMENT, "is a texture",
          acu_run(client, p, acu_items(1), acu_in_texture(NULL)));
    FAILS(ACU_ERROR_ARGUMENT, "is a surface",
          acu_run(client, p, acu_items(1), acu_in_surface(NULL)));
    FAILS(ACU_ERROR_ARGUMENT, "'args' is NULL", acu_run_args(client, p, acu_items(1), NULL, 1));
    OK(acu_run_args(client, p, acu_items(1), NULL, 0));
    OK(acu_program_release(p));
    OK(acu_client_release(client));
}

static void arguments_have_a_most(void **state) {
    (void)state;
    acu_arg args[ACU_MAX_ARGUMENTS + 1];
    acu_client *client = client_of(acu_place_cpu());
    acu_program *program = program_of(nothing, 0);
    for (int i = 0; i <= ACU_MAX_ARGUMENTS; i++)
        args[i] = acu_arg_of(i);
    OK(acu_run_args(client, program, acu_items(1), args, ACU_MAX_ARGUMENTS));
    FAILS(ACU_ERROR_LIMIT, "65 arguments",
          acu_run_args(client, program, acu_items(1), args, ACU_MAX_ARGUMENTS + 1));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

static void wrong_blocks_are_refused(void **state) {
    (void)state;
    const int zero = 0;
    acu_client *cpu = client_of(acu_place_cpu()), *bare = client_of(bare_place());
    acu_program *p = program_of(nothing, 0);
    acu_block *there = block_of(bare, &zero, sizeof zero),
              *here = block_of(cpu, &zero, sizeof zero);
    FAILS(ACU_ERROR_ARGUMENT, "argument 1 is a block that is NULL",
          acu_run(cpu, p, acu_items(1), 1, acu_in_block(NULL)));
    FAILS(ACU_ERROR_DEVICE, "argument 1 is block", acu_run(cpu, p, acu_items(1), here, there));
    FAILS(ACU_ERROR_HANDLE, "which is no block",
          acu_run(cpu, p, acu_items(1), acu_out_block((acu_block *)p)));
    OK(acu_block_release(there));
    FAILS(ACU_ERROR_HANDLE, "(released)", acu_run(cpu, p, acu_items(1), acu_in_block(there)));
    FAILS(ACU_ERROR_ARGUMENT, "the client is NULL", acu_run(NULL, p, acu_items(1), here));
    FAILS(ACU_ERROR_ARGUMENT, "the program is NULL", acu_run(cpu, NULL, acu_items(1), here));
    FAILS(ACU_ERROR_HANDLE, "a program is given where a client is needed",
          acu_run((acu_client *)p, p, acu_items(1), here));
    OK(acu_block_release(here));
    OK(acu_program_release(p));
    OK(acu_client_release(cpu));
    OK(acu_client_release(bare));
}

/* ---- items ---- */

static void count_items(const acu_part *part, void *const *args) {
    uint64_t many = 1;
    for (int i = 0; i < 3; i++)
        many *= part->end[i] - part->begin[i];
    __atomic_add_fetch((uint64_t *)args[0], many, __ATOMIC_RELAXED);
}

static void items_are_run(void **state) {
    (void)state;
    const uint64_t zero = 0;
    uint64_t found;
    acu_client *client = client_of(acu_place_cpu());
    acu_program *program = program_of(count_items, 0);
    acu_block *block = block_of(client, &zero, sizeof zero);
    OK(acu_run(client, program, acu_items(MANY), block));
    OK(acu_run(client, program, acu_items_3d(7, 11, 13), block));
    OK(acu_run(client, program, acu_items(0), block));
    OK(acu_run(client, program, acu_items_3d(5, 0, 5), block));
    OK(acu_run(client, program, acu_items_3d(5, 5, 0), block));
    FAILS(ACU_ERROR_OVERFLOW, "more than can be counted",
          acu_run(client, program, acu_items_3d(SIZE_MAX, 2, 1), block));
    OK(acu_block_read(client, block, 0, &found, sizeof found));
    assert_int_equal(found, MANY + 7 * 11 * 13);
    OK(acu_block_release(block));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

/* What is wrong is found without items, too. */
static void nothing_to_run_is_checked(void **state) {
    (void)state;
    acu_client *client = client_of(bare_place());
    acu_program *program = program_of(nothing, 0);
    FAILS(ACU_ERROR_ARGUMENT, "a block that is NULL",
          acu_run(client, program, acu_items(0), acu_in_block(NULL)));
    FAILS(ACU_NOT_SUPPORTED, "no form for bare", acu_run(client, program, acu_items(0)));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

/* ---- limits and order ---- */

static void add_one(const acu_part *part, void *const *args) {
    int32_t *numbers = args[0];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        numbers[i]++;
}

static void a_place_limits_the_blocks(void **state) {
    (void)state;
    const desk_form form = {nothing, 0};
    const acu_form forms[] = {{"desk", &form, sizeof form}};
    const int zero = 0;
    acu_program *program = NULL;
    acu_client *client = client_of(desk_place(1));
    acu_block *b = block_of(client, &zero, sizeof zero);
    OK(acu_program_create(
        &(acu_program_source){.name = "p", .forms = forms, .form_count = 1, .group = {1}},
        &program));
    OK(acu_run(client, program, acu_items(1), b, acu_in_block(b), acu_out_block(b), 1, 2));
    assert_int_equal(desk_counted.ran, 1);
    FAILS(ACU_ERROR_LIMIT, "4 blocks are given, but a program on desk:1 has at most 3",
          acu_run(client, program, acu_items(1), b, b, b, b));
    assert_int_equal(desk_counted.ran, 1);
    OK(acu_block_release(b));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

static void clients_take_turns(void **state) {
    (void)state;
    static int32_t numbers[4096];
    acu_client *clients[3];
    acu_program *program = program_of(add_one, 0);
    memset(numbers, 0, sizeof numbers);
    for (int i = 0; i < 3; i++)
        clients[i] = client_of(acu_place_cpu());
    acu_block *block = block_of(clients[0], numbers, sizeof numbers);
    for (int i = 0; i < 300; i++)
        OK(acu_run(clients[i % 3], program, acu_items(4096), block));
    OK(acu_block_read(clients[1], block, 0, numbers, sizeof numbers));
    for (int i = 0; i < 4096; i++)
        assert_int_equal(numbers[i], 300);
    OK(acu_block_release(block));
    OK(acu_program_release(program));
    for (int i = 0; i < 3; i++)
        OK(acu_client_release(clients[i]));
}

/* Work that is queued uses the program until it is done. */
static void a_program_outlives_its_work(void **state) {
    (void)state;
    int32_t numbers[64] = {0};
    acu_client *client = client_of(made_up_place());
    acu_program *program = program_of(add_one, 0);
    acu_block *block = block_of(client, numbers, sizeof numbers);
    for (int i = 0; i < 3; i++)
        OK(acu_run(client, program, acu_items(64), block));
    OK(acu_program_release(program));
    assert_int_equal(made_up.programs, 0);
    OK(acu_block_read(client, block, 0, numbers, sizeof numbers));
    for (int i = 0; i < 64; i++)
        assert_int_equal(numbers[i], 3);
    OK(acu_block_release(block));
    OK(acu_client_release(client));
}

static void a_failing_back_end_is_heard(void **state) {
    (void)state;
    acu_client *client = client_of(made_up_place());
    acu_program *program = program_of(nothing, 0);
    made_up.fail[MADE_UP_PROGRAM_CREATE] = ACU_OUT_OF_MEMORY;
    FAILS(ACU_OUT_OF_MEMORY, "acu_run_args", acu_run(client, program, acu_items(1)));
    made_up_reset();
    made_up.fail[MADE_UP_RUN] = 700;
    FAILS(700, "acu_run_args", acu_run(client, program, acu_items(1)));
    made_up_reset();
    OK(acu_run(client, program, acu_items(1)));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

/* ---- on the CPU ---- */

/* Copies the first number to the second place of what it writes to, and leaves the rest. */
static void copy_first(const acu_part *part, void *const *args) {
    if (part->begin[0] == 0)
        ((int32_t *)args[1])[1] = ((const int32_t *)args[0])[0];
}

static void what_is_not_written_stays(void **state) {
    (void)state;
    const int32_t from[] = {7, 8}, to[] = {1, 2, 3};
    int32_t found[3];
    acu_client *client = client_of(bare_place());
    acu_program *program = program_of(copy_first, ACU_PROGRAM_ON_CPU);
    acu_block *a = block_of(client, from, sizeof from), *b = block_of(client, to, sizeof to);
    desk_counted = (desk_counters){0};
    OK(acu_run(client, program, acu_items(1), acu_in_block(a), acu_out_block(b)));
    assert_int_equal(desk_counted.read, 2);
    assert_int_equal(desk_counted.written, 1); /* not the block that is only read */
    OK(acu_block_read(client, b, 0, found, sizeof found));
    assert_true(found[0] == 1 && found[1] == 7 && found[2] == 3);
    OK(acu_run(client, program, acu_items(1), acu_in_block(b), b)); /* one block, given twice */
    OK(acu_block_read(client, b, 0, found, sizeof found));
    assert_true(found[0] == 1 && found[1] == 1 && found[2] == 3);
    OK(acu_block_release(a));
    OK(acu_block_release(b));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

static void empty_blocks_run_on_the_cpu(void **state) {
    (void)state;
    acu_client *client = client_of(bare_place());
    acu_program *program = program_of(nothing, ACU_PROGRAM_ON_CPU);
    acu_block *block = NULL;
    OK(acu_block_create(client, 0, &block));
    OK(acu_run(client, program, acu_items(1), block));
    OK(acu_block_release(block));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

static void without_the_flag_nothing_runs_on_the_cpu(void **state) {
    (void)state;
    acu_client *client = client_of(bare_place());
    acu_program *program = program_of(nothing, 0);
    FAILS(ACU_NOT_SUPPORTED, "no form for bare: it has forms for cpu",
          acu_run(client, program, acu_items(1)));
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_PROGRAM_ON_CPU"));
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

typedef struct shared_run {
    acu_client *client;
    acu_program *program;
    acu_block *block;
} shared_run;

static void *run_often(void *data) {
    const shared_run *s = data;
    for (int i = 0; i < 50; i++)
        if (acu_run(s->client, s->program, acu_items(64), s->block))
            return NULL;
    return data;
}

/* A run is one piece of the client's work: none sees what another has half done. */
static void threads_run_on_the_cpu(void **state) {
    (void)state;
    enum { THREADS = 4 };
    int32_t numbers[64] = {0};
    const acu_place places[] = {bare_place(), acu_place_cpu()};
    for (size_t place = 0; place < 2; place++) {
        pthread_t threads[THREADS];
        memset(numbers, 0, sizeof numbers);
        shared_run shared = {client_of(places[place]), program_of(add_one, ACU_PROGRAM_ON_CPU),
                             NULL};
        shared.block = block_of(shared.client, numbers, sizeof numbers);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, run_often, &shared), 0);
        for (int i = 0; i < THREADS; i++) {
            void *result = NULL;
            assert_int_equal(pthread_join(threads[i], &result), 0);
            assert_non_null(result);
        }
        OK(acu_block_read(shared.client, shared.block, 0, numbers, sizeof numbers));
        for (int i = 0; i < 64; i++)
            assert_int_equal(numbers[i], THREADS * 50);
        OK(acu_block_release(shared.block));
        OK(acu_program_release(shared.program));
        OK(acu_client_release(shared.client));
    }
}

/* ---- recordings ---- */

static acu_result record_wrong(acu_client *client, void *program) {
    const acu_result code = acu_run(client, program, acu_items(1));
    return code ? 0 : code; /* it fails, and nobody looks */
}

static void a_failed_run_gives_no_replay(void **state) {
    (void)state;
    acu_client *client = client_of(bare_place());
    acu_program *program = program_of(nothing, 0);
    acu_replay *replay = NULL;
    FAILS(ACU_NOT_SUPPORTED, "",
          acu_replay_record(client, record_wrong, program, NULL, 0, &replay));
    assert_null(replay);
    OK(acu_program_release(program));
    OK(acu_client_release(client));
}

static acu_result record_once(acu_client *client, void *data) {
    const shared_run *s = data;
    return acu_run(client, s->program, acu_items(64), s->block);
}

static void a_run_on_the_cpu_is_recorded_as_one_call(void **state) {
    (void)state;
    int32_t numbers[64] = {0};
    acu_replay *replay = NULL;
    shared_run s = {client_of(bare_place()), program_of(add_one, ACU_PROGRAM_ON_CPU), NULL};
    s.block = block_of(s.client, numbers, sizeof numbers);
    OK(acu_replay_record(s.client, record_once, &s, NULL, 0, &replay));
    assert_false(acu_replay_is_real(replay));
    assert_string_not_equal(acu_replay_why(replay), "");
    for (int i = 0; i < 3; i++)
        OK(acu_replay_run(replay));
    OK(acu_block_read(s.client, s.block, 0, numbers, sizeof numbers));
    for (int i = 0; i < 64; i++)
        assert_int_equal(numbers[i], 3);
    OK(acu_replay_release(replay));
    OK(acu_block_release(s.block));
    OK(acu_program_release(s.program));
    OK(acu_client_release(s.client));
}

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(values_of_every_size_arrive, desk_begin),
        cmocka_unit_test_setup(a_replay_keeps_the_arguments, desk_begin),
        cmocka_unit_test_setup(wrong_values_are_refused, desk_begin),
        cmocka_unit_test_setup(arguments_have_a_most, desk_begin),
        cmocka_unit_test_setup(wrong_blocks_are_refused, desk_begin),
        cmocka_unit_test_setup(items_are_run, desk_begin),
        cmocka_unit_test_setup(nothing_to_run_is_checked, desk_begin),
        cmocka_unit_test_setup(a_place_limits_the_blocks, desk_begin),
        cmocka_unit_test_setup(clients_take_turns, desk_begin),
        cmocka_unit_test_setup(a_program_outlives_its_work, desk_begin),
        cmocka_unit_test_setup(a_failing_back_end_is_heard, desk_begin),
        cmocka_unit_test_setup(what_is_not_written_stays, desk_begin),
        cmocka_unit_test_setup(empty_blocks_run_on_the_cpu, desk_begin),
        cmocka_unit_test_setup(without_the_flag_nothing_runs_on_the_cpu, desk_begin),
        cmocka_unit_test_setup(threads_run_on_the_cpu, desk_begin),
        cmocka_unit_test_setup(a_failed_run_gives_no_replay, desk_begin),
        cmocka_unit_test_setup(a_run_on_the_cpu_is_recorded_as_one_call, desk_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
