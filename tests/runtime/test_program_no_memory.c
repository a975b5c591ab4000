/*
 * Each allocation of this thread on the host fails once. The call that met it says so, nothing
 * crashes or is lost, and the same works afterwards.
 */
#include "../dlpack_abi.h"
#include "desk.h"

#include <anycuda/block_dlpack.h>

#include <stdio.h>
#include <stdlib.h>

static _Thread_local size_t until_failure; /* 0: none fails */
static _Thread_local bool failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);

static bool fails(void) {
    if (until_failure == 0)
        return false;
    until_failure--;
    failed = failed || until_failure == 0;
    return until_failure == 0;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text) {
    return fails() ? NULL : __real_strdup(text);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
    return fails() ? 12 /* ENOMEM */ : __real_posix_memalign(memory, alignment, size);
}

/* ---- what is tried ---- */

static acu_client *cpu, *bare, *desk;
static int deleted, imports;
static float cells[4];

static void add_one(const acu_part *part, void *const *args) {
    float *numbers = args[0];
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        numbers[i] += *(float *)args[1];
}

static acu_result make_program(acu_program **program) {
    const desk_form form = {add_one, 0};
    const acu_form forms[] = {{"desk", &form, sizeof form}, {"other", "x", 1}};
    return acu_program_create(&(acu_program_source){.name = "add_one",
                                                    .cpu = add_one,
                                                    .ptx = "ptx",
                                                    .cuda = "cuda",
                                                    .wgsl = "wgsl",
                                                    .forms = forms,
                                                    .form_count = 2,
                                                    .group = {1},
                                                    .flags = ACU_PROGRAM_ON_CPU},
                              program);
}

static acu_result run_on(acu_client *client, acu_program *program) {
    ACU_AUTO(acu_block) *block = NULL;
    ACU_TRY(acu_block_create(client, sizeof cells, &block));
    ACU_TRY(acu_block_write(client, block, 0, cells, sizeof cells));
    return acu_run(client, program, acu_items(4), block, 1.0f);
}

typedef struct recorded {
    acu_program *program;
    acu_block *block;
} recorded;

static acu_result record(acu_client *client, void *data) {
    const recorded *r = data;
    return acu_run(client, r->program, acu_items(4), r->block, 1.0f);
}

static acu_result replay_on(acu_client *client, acu_program *program) {
    ACU_AUTO(acu_block) *block = NULL;
    ACU_AUTO(acu_replay) *replay = NULL;
    ACU_TRY(acu_block_create(client, sizeof cells, &block));
    ACU_TRY(acu_replay_record(client, record, &(recorded){program, block}, NULL, 0, &replay));
    return acu_replay_run(replay);
}

static acu_result run_everywhere(void) {
    ACU_AUTO(acu_program) *program = NULL;
    ACU_TRY(make_program(&program));
    ACU_TRY(acu_program_prepare(program, desk_place(1)));
    ACU_TRY(run_on(desk, program));
    ACU_TRY(run_on(cpu, program));
    ACU_TRY(run_on(bare, program));
    ACU_TRY(replay_on(cpu, program));
    return replay_on(bare, program);
}

static void count_deleted(DLManagedTensorVersioned *tensor) {
    (void)tensor;
    deleted++;
}

static acu_result exchange(void) {
    int64_t shape[] = {4};
    DLManagedTensorVersioned theirs = {
        .version = {1, 0},
        .deleter = count_deleted,
        .dl_tensor = {
            .data = cells, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {2, 32, 1}, .shape = shape}};
    DLManagedTensorVersioned *ours = NULL;
    DLManagedTensor *old = NULL;
    ACU_AUTO(acu_block) *block = NULL;
    imports++;
    ACU_TRY(acu_block_import_dlpack(cpu, &theirs, NULL, &block));
    ACU_TRY(acu_block_export_dlpack(block, ACU_F32, NULL, 0, &ours));
    ours->deleter(ours);
    ACU_TRY(acu_block_export_dlpack_unversioned(block, ACU_F32, NULL, &old));
    old->deleter(old);
    return 0;
}

static acu_result register_type(void) {
    static unsigned number;
    char name[16];
    acu_dtype dtype;
    snprintf(name, sizeof name, "type%u", number);
    ACU_TRY(acu_dtype_register(&(acu_dtype_options){name, 32, 18}, &dtype));
    number++;
    return 0;
}

/* Tries a function until it meets no failure any more. */
static void try_all(acu_result (*function)(void)) {
    unsigned failures = 0;
    OK(function());
    for (size_t i = 1; i == 1 || failed; i++) {
        until_failure = i;
        failed = false;
        const acu_result code = function();
        until_failure = 0;
        if (!failed)
            assert_int_equal(code, 0);
        else if (code != ACU_ERROR_HOST_MEMORY && code != ACU_OUT_OF_MEMORY && code != 0)
            fail_msg("allocation %zu: %d: %s", i, code, acu_last_error_message());
        failures += code != 0;
        OK(function());
    }
    assert_true(failures > 0);
    assert_int_equal(deleted, imports);
    assert_int_equal(acu_release_error(NULL), 0);
    assert_int_equal(desk_counted.created, desk_counted.destroyed);
}

static void programs_run(void **state) {
    (void)state;
    try_all(run_everywhere);
}

static void tensors_are_exchanged(void **state) {
    (void)state;
    try_all(exchange);
}

static void types_are_registered(void **state) {
    (void)state;
    try_all(register_type);
}

static int begin(void **state) {
    int code = desk_begin(state);
    OK(acu_client_create(acu_place_cpu(), NULL, &cpu));
    OK(acu_client_create(bare_place(), NULL, &bare));
    OK(acu_client_create(desk_place(0), NULL, &desk));
    return code;
}

static int end(void **state) {
    (void)state;
    OK(acu_client_release(cpu));
    OK(acu_client_release(bare));
    OK(acu_client_release(desk));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(programs_run, begin, end),
        cmocka_unit_test_setup_teardown(tensors_are_exchanged, begin, end),
        cmocka_unit_test_setup_teardown(types_are_registered, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
