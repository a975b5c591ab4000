/* Programs: their forms, how they are made, and what a run is not given. */
#include "suite.h"

/* ---- the CPU's form ---- */

enum { SEEN = 20000 };
static uint8_t seen[SEEN];
static unsigned most_thread;
static int wrong; /* on a thread of the library, which no check may end */

static void note_items(const acu_part *part, void *const *args) {
    unsigned most = __atomic_load_n(&most_thread, __ATOMIC_RELAXED);
    (void)args;
    for (size_t i = part->begin[0]; i < part->end[0] && i < SEEN; i++)
        __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
    while (part->thread > most &&
           !__atomic_compare_exchange_n(&most_thread, &most, part->thread, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
    if (part->items[1] != 1 || part->items[2] != 1 || part->end[1] != 1 || part->end[2] != 1 ||
        part->begin[1] != 0 || part->begin[2] != 0)
        __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

CASE_FOR(parts_cover_each_item_once, 1, 2, 7, 255, 256, 257, 20000) {
    acu_program *made = NULL;
    acu_client *cpu = new_client_on(acu_place_cpu());
    acu_place_info its;
    acu_program_source source = {.name = "note_items", .cpu = note_items};
    OK(acu_place_get_info(acu_place_cpu(), &its));
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    memset(seen, 0, sizeof seen);
    most_thread = 0;
    wrong = 0;
    OK(acu_run_args(cpu, made, acu_items(n), NULL, 0));
    OK(acu_client_synchronize(cpu));
    for (size_t i = 0; i < SEEN; i++)
        EQUAL(seen[i], i < n);
    IS(its.threads == 0 || most_thread < its.threads);
    IS(!wrong);
}

static int8_t busy[4096];

static void claim_thread(const acu_part *part, void *const *args) {
    (void)args;
    int8_t *mine = &busy[part->thread % COUNT(busy)];
    if (__atomic_exchange_n(mine, 1, __ATOMIC_ACQUIRE))
        __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
    for (volatile int i = 0; i < 2000; i++)
        ;
    __atomic_store_n(mine, 0, __ATOMIC_RELEASE);
}

CASE(parts_that_run_at_once_have_different_threads) {
    acu_program *made = NULL;
    acu_client *cpu = new_client_on(acu_place_cpu());
    acu_program_source source = {.name = "claim_thread", .cpu = claim_thread};
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    memset(busy, 0, sizeof busy);
    wrong = 0;
    for (int i = 0; i < 20; i++)
        OK(acu_run_args(cpu, made, acu_items(100000), NULL, 0));
    OK(acu_client_synchronize(cpu));
    IS(!wrong);
}

/* ---- missing forms ---- */

CASE(a_program_without_a_form_for_the_place) {
    acu_program *made = NULL;
    acu_block *block = new_block(400);
    acu_program_source source = source_of("suite_count");
    source.flags = 0;
    if (runs_form_of_cpu())
        source.cpu = NULL;
    if (is_cuda())
        source.ptx = NULL;
    if (is_webgpu())
        source.wgsl = NULL;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    FAILS(acu_program_prepare(made, place), ACU_NOT_SUPPORTED, "suite_count");
    FAILS(acu_run(client, made, acu_items(100), acu_out_block(block), 1u, 100u), ACU_NOT_SUPPORTED,
          "suite_count");
}

CASE(a_program_that_the_cpu_may_run) {
    if (is_cpu())
        skip_case("the place is the CPU");
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_scale");
    source.ptx = source.wgsl = NULL;
    source.flags = ACU_PROGRAM_ON_CPU;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    acu_block *block = block_of_floats(1001, 1);
    OK(acu_program_prepare(made, place));
    for (int i = 0; i < 3; i++)
        OK(acu_run(client, made, acu_items(1001), acu_inout_block(block), 2.0f, 1, 1001u));
    IS(floats_of(block, 1001)[1000] == 8007);
}

CASE(the_cpu_only_writes_what_a_program_writes) {
    if (is_cpu())
        skip_case("the place is the CPU");
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_add");
    source.ptx = source.wgsl = NULL;
    source.flags = ACU_PROGRAM_ON_CPU;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    acu_block *a = block_of_floats(100, 1), *b = block_of_floats(100, 2), *sum = new_block(403);
    OK(acu_block_fill(client, sum, 0, 403, "\7", 1));
    OK(acu_run(client, made, acu_items(50), acu_in_block(a), acu_in_block(b), acu_out_block(sum),
               50u));
    IS(floats_of(sum, 100)[49] == 147);
    EQUAL(contents(client, sum, 200, 1)[0], 7);
    EQUAL(contents(client, sum, 402, 1)[0], 7);
    IS(floats_of(a, 100)[99] == 99);
}

CASE(the_cpu_may_run_but_has_no_form) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    source.flags = ACU_PROGRAM_ON_CPU;
    source.cpu = NULL;
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "suite_count");
    IS(made == NULL);
}

CASE(a_form_that_does_not_compile) {
    if (!is_webgpu() && !is_cuda())
        skip_case("the place compiles nothing");
    acu_program *made = NULL;
    acu_block *block = new_block(400);
    acu_program_source source = source_of("suite_count");
    source.ptx = "this is no PTX";
    source.wgsl = "this is no WGSL";
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    IS(acu_program_prepare(made, place) != 0);
    CONTAINS(acu_last_error_message(), "suite_count");
    IS(acu_run(client, made, acu_items(100), acu_out_block(block), 1u, 100u) != 0);
    OK(acu_block_fill(client, block, 0, 400, "x", 1));
    EQUAL(contents(client, block, 399, 1)[0], 'x');
}

CASE(a_kernel_of_another_name) {
    if (!is_webgpu() && !is_cuda())
        skip_case("the place has no kernels");
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    source.name = "abacus";
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    IS(acu_program_prepare(made, place) != 0);
    CONTAINS(acu_last_error_message(), "abacus");
}

CASE(preparing) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    acu_block *block = new_block(400);
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    OK(acu_program_prepare(made, place));
    OK(acu_program_prepare(made, place));
    OK(acu_run(client, made, acu_items(100), acu_out_block(block), 3u, 100u));
    EQUAL(words_of(block, 100)[99], 102);
}

CASE(preparing_for_no_place) {
    FAILS(acu_program_prepare(program("suite_count"), (acu_place){place.runtime, 99}), 101, "99");
    FAILS(acu_program_prepare(NULL, place), ACU_ERROR_ARGUMENT, "acu_program_prepare");
}

/* ---- making programs ---- */

CASE(a_program_needs_a_name) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    source.name = NULL;
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "name");
    source.name = "";
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "name");
}

CASE(a_program_needs_a_form) {
    acu_program *made = NULL;
    acu_program_source source = {.name = "nothing"};
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "nothing");
    IS(made == NULL);
}

CASE(a_program_needs_its_arguments) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    FAILS(acu_program_create(NULL, &made), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_program_create(&source, NULL), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(a_source_of_another_size) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    source.size = 5;
    FAILS(acu_program_create(&source, &made), ACU_ERROR_ARGUMENT, "size");
    source.size = 0;
    OK(acu_program_create(&source, &made));
    OK(acu_program_release(made));
}

CASE(texts_are_copied) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    char *name = copy_bytes(source.name, strlen(source.name) + 1);
    char *ptx = copy_bytes(source.ptx, strlen(source.ptx) + 1);
    char *wgsl = copy_bytes(source.wgsl, strlen(source.wgsl) + 1);
    acu_block *block = new_block(400);
    source.name = name;
    source.ptx = ptx;
    source.wgsl = wgsl;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    memset(name, 'x', strlen(name));
    memset(ptx, 'x', strlen(ptx));
    memset(wgsl, 'x', strlen(wgsl));
    OK(acu_run(client, made, acu_items(100), acu_out_block(block), 3u, 100u));
    EQUAL(words_of(block, 100)[99], 102);
    IS(strcmp(acu_program_name(made), "suite_count") == 0);
}

CASE(a_program_is_described) {
    char text[200];
    size_t length = acu_program_describe(program("suite_count"), text, sizeof text);
    EQUAL(length, strlen(text));
    CONTAINS(text, "suite_count");
    IS(strcmp(acu_program_name(NULL), "") == 0);
}

CASE(a_program_is_retained) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    OK(acu_program_create(&source, &made));
    IS(acu_program_retain(made) == made);
    OK(acu_program_release(made));
    IS(strcmp(acu_program_name(made), "suite_count") == 0);
    acu_program_cleanup(&made);
    OK(acu_program_release(NULL));
}

CASE(groups_of_the_default_size) {
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    acu_block *block = new_block(4000);
    if (is_webgpu())
        skip_case("WGSL says the same as the source");
    memset(source.group, 0, sizeof source.group);
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    OK(acu_run(client, made, acu_items(1000), acu_out_block(block), 3u, 1000u));
    EQUAL(words_of(block, 1000)[999], 1002);
}

CASE(a_group_above_the_limits) {
    if (!is_cuda() && !is_webgpu())
        skip_case("the place has no groups");
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_count");
    acu_block *block = new_block(400);
    source.group[0] = info.max_group[0] + 1;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    FAILS(acu_run(client, made, acu_items(100), acu_out_block(block), 3u, 100u), ACU_ERROR_LIMIT,
          "suite_count");
}

CASE(a_huge_number_of_items) {
    if (!is_cuda() && !is_webgpu())
        skip_case("the CPU would count them all");
    acu_block *block = new_block(400);
    FAILS(acu_run(client, program("suite_count"), acu_items(SIZE_MAX), acu_out_block(block), 3u,
                  100u),
          ACU_ERROR_LIMIT, "acu_run");
}

/* ---- arguments that are refused ---- */

CASE(a_block_of_another_place_is_refused) {
    acu_block *block = new_block_for(new_client_on(other_place()), 400);
    FAILS(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(block), 100u),
          ACU_ERROR_DEVICE, "acu_run");
}

CASE(no_block_is_refused) {
    acu_block *none = NULL;
    acu_clear_error();
    acu_result result =
        acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(none), 100u);
    IS(result == ACU_ERROR_ARGUMENT || result == ACU_ERROR_HANDLE);
    EQUAL(acu_last_error(), result);
}

CASE(a_pointer_is_refused) {
    int here = 0;
    FAILS(acu_run(client, program("suite_step"), acu_items(100), &here, 100u), ACU_ERROR_ARGUMENT,
          "acu_run");
}

CASE(an_unknown_kind_is_refused) {
    acu_arg args[] = {{(acu_arg_kind)999, 4, {0}}, acu_arg_of(100u)};
    FAILS(acu_run_args(client, program("suite_step"), acu_items(100), args, 2), ACU_ERROR_ARGUMENT,
          "acu_run");
}

CASE(runs_need_handles) {
    acu_block *block = new_block(400);
    FAILS(acu_run(NULL, program("suite_step"), acu_items(100), acu_inout_block(block), 100u),
          ACU_ERROR_ARGUMENT, "acu_run");
    FAILS(acu_run(client, NULL, acu_items(100), acu_inout_block(block), 100u), ACU_ERROR_ARGUMENT,
          "acu_run");
    FAILS(acu_run_args(client, program("suite_step"), acu_items(100), NULL, 2), ACU_ERROR_ARGUMENT,
          "acu_run");
}

CASE(a_run_that_fails_does_nothing) {
    uint8_t *data = some_bytes(400);
    acu_block *block = new_block_of(data, 400);
    acu_block *there = new_block_for(new_client_on(other_place()), 400);
    FAILS(acu_run(client, program("suite_copy"), acu_items(100), acu_in_block(there),
                  acu_out_block(block), 100u),
          ACU_ERROR_DEVICE, "acu_run");
    HOLDS(block, data, 400);
}

CASE(too_few_arguments) {
    acu_block *block = new_block(400);
    if (!is_cuda() && !is_webgpu())
        skip_case("C functions do not say how many they take");
    acu_result result =
        acu_run(client, program("suite_copy"), acu_items(100), acu_out_block(block), 100u);
    result = result ? result : acu_client_synchronize(client);
    IS(result != 0);
}

CASE(more_arguments_than_there_can_be) {
    acu_arg args[ACU_MAX_ARGUMENTS + 1];
    for (size_t i = 0; i < COUNT(args); i++)
        args[i] = acu_arg_of(1u);
    FAILS(acu_run_args(client, program("suite_step"), acu_items(1), args, COUNT(args)),
          ACU_ERROR_LIMIT, "acu_run");
}

CASE(bytes_that_are_none) {
    acu_block *block = new_block(40);
    uint32_t n = 10;
    FAILS(acu_run(client, program("suite_step"), acu_items(10), acu_inout_block(block),
                  acu_bytes(NULL, 4)),
          ACU_ERROR_ARGUMENT, "acu_run");
    FAILS(acu_run(client, program("suite_step"), acu_items(10), acu_inout_block(block),
                  acu_bytes(&n, 0)),
          ACU_ERROR_ARGUMENT, "acu_run");
}

CASE(a_dead_block_is_refused_before_anything_is_done) {
    acu_block *dead = NULL, *block = new_block(400);
    uint8_t *data = some_bytes(400);
    OK(acu_block_write(client, block, 0, data, 400));
    OK(acu_block_create(client, 400, &dead));
    OK(acu_block_release(dead));
    FAILS(acu_run(client, program("suite_copy"), acu_items(100), acu_in_block(dead),
                  acu_out_block(block), 100u),
          ACU_ERROR_HANDLE, "acu_run");
    HOLDS(block, data, 400);
}

static acu_result take_a_wrong_size(acu_client *on, acu_block *block) {
    return acu_run(on, program("suite_values"), acu_items(5), acu_out_block(block), 1u, 2u, 3.0f, 4,
                   5u);
}

CASE(a_value_of_a_wrong_size) {
    if (!is_cuda())
        skip_case("only CUDA's kernels say what sizes they take");
    acu_block *block = new_block(20);
    FAILS(take_a_wrong_size(client, block), ACU_ERROR_ARGUMENT, "acu_run");
}
