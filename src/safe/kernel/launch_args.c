/* Lists of arguments that a program puts together as it runs. */
#include "safe/kernel/launch.h"

#include <stdlib.h>
#include <string.h>

struct acu_args {
    acu_object object;
    size_t count;
    acu_arg args[ACU_MAX_ARGUMENTS]; /* bytes are copies; the list is an owner of each handle */
};

/* Gives up what the list owns of an argument. */
static int release_arg(acu_arg *arg) {
    int code = 0;
    if (acu_arg_class(arg))
        code = acu_object_release(NULL, (void *)(uintptr_t)arg->value.pointer, acu_arg_class(arg));
    else if (arg->kind == ACU_ARG_BYTES)
        free((void *)arg->value.pointer);
    *arg = (acu_arg){.kind = ACU_ARG_SIGNED};
    return code;
}

static int release_all(acu_args *args) {
    int code = 0;
    while (args->count > 0) {
        int released = release_arg(&args->args[--args->count]);
        code = code ? code : released;
    }
    return code;
}

static int destroy_args(acu_object *object) {
    return release_all((acu_args *)object);
}

static void describe_args(const acu_object *object, acu_description *d) {
    const acu_args *args = (const acu_args *)object;
    acu_describe(d, "%zu argument%s", args->count, args->count == 1 ? "" : "s");
}

static const acu_class args_class = {"list of arguments", destroy_args, describe_args, NULL};

acu_result acu_args_create(acu_args **args) {
    ACU_SCOPE();
    ACU_NEED_POINTER(args);
    *args = acu_object_new(__func__, &args_class, sizeof **args, -1);
    return *args ? 0 : ACU_ERROR_HOST_MEMORY;
}

acu_args *acu_args_retain(acu_args *args) {
    return acu_object_retain(__func__, args, &args_class);
}

acu_result acu_args_release(acu_args *args) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, args, &args_class);
}

void acu_args_cleanup(acu_args **args) {
    (void)acu_args_release(acu_take(args));
}

size_t acu_args_describe(const acu_args *args, char *text, size_t size) {
    return acu_object_describe_as(args, &args_class, text, size);
}

size_t acu_args_count(const acu_args *args) {
    return acu_is(args, &args_class) ? args->count : 0;
}

/* All parameters of a kernel together can have so many bytes, since CUDA 12.1. */
enum { MOST_BYTES = 32764 };

/* Makes what the list keeps of an argument: a copy of the bytes, or an owner of the handle. */
static int keep(const char *call, acu_arg *kept, acu_arg arg) {
    *kept = arg;
    if (arg.kind > ACU_ARG_BYTES)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the argument is invalid: make arguments by acu_arg_of(), acu_in() …");
    if (acu_arg_class(&arg))
        return acu_object_retain(call, (void *)(uintptr_t)arg.value.pointer, acu_arg_class(&arg))
                   ? 0
                   : acu_last_error();
    if (arg.kind != ACU_ARG_BYTES)
        return 0;
    if (!arg.value.pointer)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the argument is NULL: acu_bytes() needs the address of the bytes");
    if (arg.size > MOST_BYTES)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "the argument has %u bytes: a kernel can take %d", arg.size, MOST_BYTES);
    void *copy = malloc(arg.size ? arg.size : 1);
    if (!copy)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "no memory for %u bytes", arg.size);
    kept->value.pointer = memcpy(copy, arg.value.pointer, arg.size);
    return 0;
}

acu_result acu_args_add(acu_args *args, acu_arg arg) {
    ACU_SCOPE();
    acu_arg kept;
    ACU_NEED(args, args_class);
    ACU_REQUIRE(args->count < ACU_MAX_ARGUMENTS, ACU_ERROR_RANGE,
                "the list is full: it has %d arguments", ACU_MAX_ARGUMENTS);
    ACU_TRY(keep(__func__, &kept, arg));
    args->args[args->count++] = kept;
    return 0;
}

acu_result acu_args_set(acu_args *args, size_t index, acu_arg arg) {
    ACU_SCOPE();
    acu_arg kept;
    ACU_NEED(args, args_class);
    ACU_REQUIRE(index < args->count, ACU_ERROR_RANGE,
                "the list has %zu arguments, so there is no argument %zu", args->count, index);
    ACU_REQUIRE(arg.size == args->args[index].size, ACU_ERROR_ARGUMENT,
                "argument %zu has %u bytes, the new one %u", index, args->args[index].size,
                arg.size);
    ACU_TRY(keep(__func__, &kept, arg));
    int code = release_arg(&args->args[index]);
    args->args[index] = kept;
    return code;
}

acu_result acu_args_clear(acu_args *args) {
    ACU_SCOPE();
    ACU_NEED(args, args_class);
    return release_all(args);
}

acu_result acu_launch_list(acu_stream *stream, acu_kernel *kernel, const acu_grid *grid,
                           const acu_args *args) {
    ACU_SCOPE();
    ACU_NEED(args, args_class);
    return acu_launch_args(stream, kernel, grid, args->args, args->count);
}
