/* Runs: a program over items, as work of a client. */
#include "runtime/run.h"

#include <stdlib.h>

/* ---- a run as work ---- */

/* Notes that the client's queue uses the program; under the client's lock. */
static void note_user(const acu_client *client, acu_compiled *c) {
    const uint64_t bit = (uint64_t)1 << client->id % 64;
    if (!(__atomic_load_n(&c->users, __ATOMIC_RELAXED) & bit))
        __atomic_fetch_or(&c->users, bit, __ATOMIC_RELAXED);
}

static acu_result perform(acu_client *client, const acu_work *work) {
    const acu_run_work *run = (const acu_run_work *)work;
    if (run->on_cpu)
        return acu_run_on_cpu(client, run);
    note_user(client, run->compiled);
    return client->table->run(client->queue, run->compiled->made, run->items, run->args,
                              run->count);
}

/* Values begin at multiples of this in a copy. */
enum { VALUE_ALIGNMENT = 16 };

static size_t aligned(size_t size) {
    return (size + VALUE_ALIGNMENT - 1) / VALUE_ALIGNMENT * VALUE_ALIGNMENT;
}

/* A run of a recording: everything in one piece of memory, the values last. */
typedef struct kept_run {
    acu_run_work run;
    acu_block_use uses[];
} kept_run;

static size_t values_size(const acu_run_work *run) {
    size_t size = 0;
    for (size_t i = 0; i < run->count; i++)
        size += run->args[i].memory ? 0 : aligned(run->args[i].size);
    return size;
}

static acu_work *keep(const acu_work *work) {
    const acu_run_work *run = (const acu_run_work *)work;
    const size_t uses = work->use_count * sizeof(acu_block_use);
    const size_t args_at = aligned(sizeof(kept_run) + uses);
    const size_t values_at = args_at + aligned(run->count * sizeof *run->args);
    char *memory = malloc(values_at + values_size(run));
    kept_run *copy = (kept_run *)memory;
    if (!copy)
        return NULL;
    copy->run = *run;
    copy->run.work.uses = memcpy(copy->uses, work->uses, uses);
    acu_backend_arg *args = (acu_backend_arg *)(memory + args_at);
    char *value = memory + values_at;
    for (size_t i = 0; i < run->count; i++) {
        args[i] = run->args[i];
        if (args[i].memory)
            continue;
        args[i].value = memcpy(value, args[i].value, args[i].size);
        value += aligned(args[i].size);
    }
    copy->run.args = args;
    acu_handle_add_owner(run->program);
    return &copy->run.work;
}

static void drop(acu_work *work) {
    const acu_run_work *run = (const acu_run_work *)work;
    (void)acu_handle_release(NULL, run->program, &acu_program_class);
    free(work);
}

static const acu_work_kind run_kind = {
    .call = "acu_run_args", .perform = perform, .keep = keep, .drop = drop, .apart = true};

/* ---- arguments ---- */

/* The arguments of a run while they are being read. */
typedef struct reader {
    acu_client *client;
    acu_program *program;
    const acu_arg *given;
    size_t count, blocks;
    acu_backend_arg args[ACU_MAX_ARGUMENTS];
    acu_block_use uses[ACU_MAX_ARGUMENTS];
} reader;

#define REFUSE(r, code, ...)                                                                       \
    acu_client_fail(run_kind.call, (r)->client, (r)->program, code, __VA_ARGS__)

/* Reads an argument that is a block. */
static acu_result read_block(reader *r, size_t i, bool writes) {
    acu_block *block = r->given[i].value.block;
    char text[ACU_OBJECT_TEXT];
    if (!acu_handle_is(block, &acu_block_class)) {
        (void)acu_block_describe(block, text, sizeof text);
        return block ? REFUSE(r, ACU_ERROR_HANDLE, "argument %zu is %s", i, text)
                     : REFUSE(r, ACU_ERROR_ARGUMENT, "argument %zu is a block that is NULL", i);
    }
    if (block->client->device != r->client->device) {
        char place[64];
        (void)acu_block_describe(block, text, sizeof text);
        (void)acu_place_describe(r->client->device->place, place, sizeof place);
        acu_fail_hint("copy the block by acu_block_copy(), or run on a client of its place");
        return REFUSE(r, ACU_ERROR_DEVICE, "argument %zu is %s, but the client is on %s", i, text,
                      place);
    }
    r->args[i] =
        (acu_backend_arg){.memory = block->memory, .memory_bytes = block->bytes, .writes = writes};
    r->uses[r->blocks++] = (acu_block_use){block, NULL, writes};
    return 0;
}

/* Reads an argument that is a value. */
static acu_result read_value(reader *r, size_t i) {
    const acu_arg *arg = &r->given[i];
    const bool is_bytes = arg->kind == ACU_ARG_BYTES;
    if (is_bytes && !arg->value.pointer)
        return REFUSE(r, ACU_ERROR_ARGUMENT, "argument %zu is bytes at NULL", i);
    if (arg->size == 0 || (!is_bytes && arg->size > sizeof arg->value))
        return REFUSE(r, ACU_ERROR_ARGUMENT, "argument %zu is a value of %u bytes", i, arg->size);
    if (arg->size == UINT32_MAX) /* acu_bytes() cuts larger sizes */
        return REFUSE(r, ACU_ERROR_LIMIT, "argument %zu is bytes of 4 GiB or more", i);
    r->args[i] = (acu_backend_arg){
        .value = is_bytes ? arg->value.pointer : (const void *)&arg->value, .size = arg->size};
    return 0;
}

/* Refuses what a program cannot be given, with what to give instead. */
ACU_COLD static acu_result refuse_kind(reader *r, size_t i) {
    static const char *const names[] = {
        [ACU_ARG_ADDRESS] = "a raw pointer",
        [ACU_ARG_IN] = "a buffer",
        [ACU_ARG_OUT] = "a buffer",
        [ACU_ARG_INOUT] = "a buffer",
        [ACU_ARG_TEXTURE] = "a texture",
        [ACU_ARG_SURFACE] = "a surface",
        [ACU_ARG_SURFACE_IN] = "a surface",
        [ACU_ARG_TENSOR_IN] = "a tensor map",
        [ACU_ARG_TENSOR_OUT] = "a tensor map",
        [ACU_ARG_TENSOR_INOUT] = "a tensor map",
    };
    const unsigned kind = (unsigned)r->given[i].kind;
    const char *name = kind < sizeof names / sizeof *names ? names[kind] : NULL;
    acu_fail_hint("give memory as a block, and anything else as a number or by acu_bytes()");
    return REFUSE(r, ACU_ERROR_ARGUMENT,
                  "argument %zu is %s, but a program is given blocks and values", i,
                  name ? name : "of an unknown kind");
}

static acu_result read_argument(reader *r, size_t i) {
    switch (r->given[i].kind) {
    case ACU_ARG_BLOCK_IN:
        return read_block(r, i, false);
    case ACU_ARG_BLOCK_OUT:
    case ACU_ARG_BLOCK_INOUT:
        return read_block(r, i, true);
    case ACU_ARG_SIGNED:
    case ACU_ARG_UNSIGNED:
    case ACU_ARG_WORD:
    case ACU_ARG_FLOAT:
    case ACU_ARG_BYTES:
        return read_value(r, i);
    default:
        return refuse_kind(r, i);
    }
}

static acu_result read_arguments(reader *r) {
    if (r->count > ACU_MAX_ARGUMENTS)
        return REFUSE(r, ACU_ERROR_LIMIT, "there are %zu arguments, but at most %d can be given",
                      r->count, ACU_MAX_ARGUMENTS);
    if (r->count > 0 && !r->given)
        return REFUSE(r, ACU_ERROR_ARGUMENT, "'args' is NULL");
    for (size_t i = 0; i < r->count; i++)
        ACU_TRY(read_argument(r, i));
    return 0;
}

/* ---- running ---- */

/* Finds the form that runs, and checks what only its place knows. */
static acu_result choose_form(const reader *r, acu_run_work *run) {
    acu_place_device *device = r->client->device;
    ACU_TRY(acu_program_compile(run_kind.call, r->program, device, &run->compiled));
    if (run->compiled->state == ACU_NO_FORM) {
        ACU_TRY(acu_program_compile_for_cpu(run_kind.call, r->program, &run->compiled));
        run->on_cpu = true;
        return run->compiled
                   ? 0
                   : acu_program_refuse_place(run_kind.call, r->program, device->table->name);
    }
    const unsigned most = device->info.max_blocks;
    if (most > 0 && r->blocks > most)
        return REFUSE(r, ACU_ERROR_LIMIT,
                      "%zu blocks are given, but a program on %s:%d has at most %u", r->blocks,
                      device->table->name, device->place.device, most);
    return 0;
}

static acu_result run_program(reader *r, acu_size3 items) {
    acu_run_work run = {.program = r->program, .items = {items.x, items.y, items.z}};
    size_t all;
    ACU_TRY(read_arguments(r));
    ACU_TRY(choose_form(r, &run));
    if (items.x == 0 || items.y == 0 || items.z == 0)
        return 0;
    if (__builtin_mul_overflow(items.x, items.y, &all) ||
        __builtin_mul_overflow(all, items.z, &all))
        return REFUSE(r, ACU_ERROR_OVERFLOW, "%zu x %zu x %zu items are more than can be counted",
                      items.x, items.y, items.z);
    run.work = (acu_work){&run_kind, r->uses, (unsigned)r->blocks, NULL};
    run.args = r->args;
    run.count = r->count;
    if (!run.on_cpu)
        return acu_work_give(r->client, &run.work);
    (void)acu_handle_add_owner(r->program); /* the function may release it */
    const acu_result code = acu_work_give(r->client, &run.work);
    (void)acu_handle_release(run_kind.call, r->program, &acu_program_class);
    return code;
}

acu_result acu_run_args(acu_client *client, acu_program *program, acu_size3 items,
                        const acu_arg *args, size_t count) {
    reader r; /* is large, and mostly not used */
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_HANDLE(program, acu_program_class);
    r.client = client;
    r.program = program;
    r.given = args;
    r.count = count;
    r.blocks = 0;
    const acu_result code = run_program(&r, items);
    return ACU_LIKELY(!code) ? 0 : acu_client_note_failure(client, code);
}
