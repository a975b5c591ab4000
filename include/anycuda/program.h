/*
 * Programs: one computation with a form for each runtime, run over items in up to three dimensions.
 *
 *     acu_run(client, program, acu_items(n), acu_in_block(a), acu_out_block(b), n);
 *
 * CUDA is given PTX, or CUDA C that is compiled when it is first needed; WebGPU is given WGSL; the
 * CPU a C function, which a pool of threads calls for parts of the items. A form is compiled once
 * for each device. Arguments are blocks (acu_in_block() …) and values. Nothing compares a value's
 * type with the form's; its size is compared where a kernel of CUDA tells that.
 *
 * - CUDA: the parameters of the kernel, in order; a block is a pointer. Threads beyond the items
 *   may run, as in any kernel, and return by themselves.
 * - WebGPU: block i, counted among the blocks alone, is `@group(0) @binding(i)`, a storage buffer.
 *   All values are the fields of one uniform at the binding after the last block, in order, each
 *   aligned to its size up to the next power of two, but to 16 at most. The text uses all of them.
 *   Invocations beyond the items may run, too.
 * - CPU: an array of pointers, to the first byte of a block, or to the value, which is aligned to
 *   16 bytes.
 */
#ifndef ACU_PROGRAM_H
#define ACU_PROGRAM_H

#include <anycuda/block.h>
#include <anycuda/launch.h>

ACU_BEGIN_C

/** A computation with a form for each runtime. */
typedef struct acu_program acu_program;

/** A part of the items, which the CPU's form works on: `begin` is in it, `end` is not. */
typedef struct acu_part {
    size_t begin[3], end[3]; /* in x, y and z */
    size_t items[3];         /* of the whole run */
    unsigned thread;         /* from 0; two parts that run at once have different ones */
} acu_part;

/**
 * The CPU's form. Parts of one run may be worked on at once, by several threads.
 *
 * The function must not use the client that runs it, nor wait for that client's work, which would
 * wait for the function in turn: a thread that reads from the client keeps others out meanwhile.
 */
typedef void acu_part_function(const acu_part *part, void *const *args);

/** A form for a registered runtime. */
typedef struct acu_form {
    const char *runtime; /* its name, copied */
    const void *code;    /* copied */
    size_t bytes;        /* at least 1 */
} acu_form;

/** Bits of acu_program_source.flags. */
enum acu_program_flag {
    /* Where a place has no form of its own, its blocks are copied to the CPU, whose form runs, and
     * back if they are written to. The run waits for all that, and is one piece of the client's
     * work: nothing of the client comes between. A replay that has such a run is not a real one. */
    ACU_PROGRAM_ON_CPU = 1
};

/** What a program is made of; forms that are NULL are missing. Texts are copied. */
typedef struct acu_program_source {
    size_t size;      /* sizeof(acu_program_source), or 0 */
    const char *name; /* also of the kernel in PTX, CUDA C and WGSL; needed */
    acu_part_function *cpu;
    const char *ptx; /* or CUDA C: */
    const char *cuda;
    const char *wgsl;
    const acu_form *forms; /* for registered runtimes */
    size_t form_count;
    size_t group[3]; /* items of a thread block or work group; 0: 256, 1, 1. WGSL
                        says the same as `@workgroup_size`. The CPU has no groups. */
    unsigned flags;  /* acu_program_flag bits */
} acu_program_source;

/**
 * Makes a program, which the caller owns. Nothing is compiled yet.
 *
 * Errors: ACU_ERROR_ARGUMENT without a name or any form, where ACU_PROGRAM_ON_CPU is set without a
 * form for the CPU, or where one of `forms` is incomplete, is for a runtime that has a field of its
 * own, or for the same one as another.
 */
ACU_CHECKED acu_result acu_program_create(const acu_program_source *source, acu_program **program);

/**
 * Compiles the program for a place now, which its first run does otherwise; where it runs on the
 * CPU instead (ACU_PROGRAM_ON_CPU), for that. Threads that come at once wait for one of them.
 *
 * Errors: ACU_NOT_SUPPORTED where it has no form for the place, ACU_ERROR_COMPILE with the
 * compiler's words, ACU_ERROR_LIMIT where its group is larger than the place allows; those of
 * acu_client_get_default().
 */
ACU_CHECKED acu_result acu_program_prepare(acu_program *program, acu_place place);

/** Adds an owner and returns the program; NULL where the handle is not a program. */
acu_program *acu_program_retain(acu_program *program);

/**
 * Takes an owner away; replays are owners, too. The last release waits for the work of the clients
 * that ran the program. Everything else is as for acu_client_release().
 */
acu_result acu_program_release(acu_program *program);

void acu_program_cleanup(acu_program **program);

/** Writes one line that names the program, as errors do; acu_stream_describe() has the rules. */
size_t acu_program_describe(const acu_program *program, char *text, size_t size);

/** Returns the name, which lives as long as the program; "" where the handle is not a program. */
const char *acu_program_name(const acu_program *program);

/* ---- running ---- */

/** Makes a number of items in one dimension. */
static inline acu_size3 acu_items(size_t x) {
    acu_size3 items = {0, 1, 1};
    items.x = x;
    return items;
}

/** Makes a number of items in three dimensions. */
static inline acu_size3 acu_items_3d(size_t x, size_t y, size_t z) {
    acu_size3 items = {0, 0, 0};
    items.x = x;
    items.y = y;
    items.z = z;
    return items;
}

/**
 * Runs a program over items, and does not wait; without items nothing runs.
 *
 * `args` and what they point to are not needed after the call; there are up to ACU_MAX_ARGUMENTS.
 * A block that the program writes to may be given more than once. Errors that are found before
 * anything is done: ACU_ERROR_ARGUMENT where an argument is of another kind than a block or a
 * value, ACU_ERROR_DEVICE where a block is of another place, ACU_ERROR_LIMIT above a limit of the
 * place, ACU_ERROR_OVERFLOW where the items cannot be counted, and those of
 * acu_program_prepare().
 */
ACU_CHECKED acu_result acu_run_args(acu_client *client, acu_program *program, acu_size3 items,
                                    const acu_arg *args, size_t count);

ACU_END_C

#if !defined(__cplusplus)

/**
 * Runs a program: `acu_run(client, program, items, arguments…)`, up to 32 of them.
 *
 * The macro calls acu_run_args() with acu_arg_of() around each argument. Items that are a compound
 * literal need parentheses around it.
 */
#define acu_run(client, program, ...)                                                              \
    acu_run_args((client), (program), ACU_FIRST(__VA_ARGS__, 0), ACU_LAUNCH_ARGS(__VA_ARGS__),     \
                 ACU_COUNT(__VA_ARGS__) - 1)

#else

/** Runs a program by acu_run_args(), with acu_arg_of() around each argument. */
template <typename... Values>
ACU_CHECKED inline acu_result acu_run(acu_client *client, acu_program *program,
                                      const acu_size3 &items, const Values &...values) {
    const acu_arg args[] = {acu_arg_of(values)..., acu_bytes(nullptr, 0)};
    return acu_run_args(client, program, items, args, sizeof...(values));
}

#endif

#endif
