/* Programs: kernels of PTX, of CUDA C, or of an image that is a form for "cuda". */
#include "runtime/cuda/cuda.h"

#include <stdlib.h>

/* ---- loading ---- */

static bool has_source(const acu_backend_source *source) {
    return source->form || source->source->ptx || source->source->cuda;
}

static acu_result load(acu_device device, const acu_backend_source *source, acu_module **module) {
    const acu_program_source *s = source->source;
    const acu_module_source image = {.image = source->form ? source->form->code : NULL,
                                     .size = source->form ? source->form->bytes : 0,
                                     .ptx = source->form ? NULL : s->ptx};
    const char *const kernel[] = {s->name, NULL}; /* its name in C++, unless it is extern "C" */
    const acu_module_program program = {.text = s->cuda, .name = s->name, .expressions = kernel};
    return image.image || image.ptx ? acu_module_load(device, &image, module)
                                    : acu_module_compile(device, &program, module);
}

static acu_result find_kernel(acu_device device, const acu_backend_source *source,
                              acu_kernel **kernel) {
    ACU_AUTO(acu_module) *module = NULL;
    ACU_TRY(load(device, source, &module));
    return acu_module_get_kernel(module, source->source->name, kernel);
}

static size_t or_else(size_t given, size_t otherwise) {
    return given ? given : otherwise;
}

acu_result acu_cuda_program_create(acu_backend_device *device, const acu_backend_source *source,
                                   acu_backend_program **out) {
    const size_t *group = source->source->group;
    *out = NULL;
    if (!has_source(source))
        return acu_backend_fail(ACU_NOT_SUPPORTED, "program \"%s\" has neither PTX nor CUDA C",
                                source->source->name);
    acu_backend_program *made = calloc(1, sizeof *made);
    if (!made)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "the host has no memory for a program");
    made->group = (acu_size3){or_else(group[0], 256), or_else(group[1], 1), or_else(group[2], 1)};
    acu_result code = acu_cuda_outcome(find_kernel(device->index, source, &made->kernel));
    if (!code)
        code = acu_cuda_simulate(device, made, source->source);
    if (code)
        acu_cuda_program_destroy(made);
    else
        *out = made;
    return code;
}

/* A failed release is kept for acu_release_error(). */
void acu_cuda_program_destroy(acu_backend_program *program) {
    (void)acu_kernel_release(program->kernel);
    (void)acu_kernel_release(program->stand_in);
    free(program);
}

/* ---- running ---- */

static acu_arg argument_of(const acu_backend_arg *arg) {
    if (!arg->memory)
        return acu_bytes(arg->value, arg->size);
    acu_buffer *buffer = acu_cuda_buffer(arg->memory);
    return arg->writes ? acu_inout(buffer) : acu_in(buffer);
}

/* The launch compares the arguments with the kernel's parameters, and the grid with the limits. */
acu_result acu_cuda_run(acu_backend_queue *queue, acu_backend_program *program,
                        const size_t items[3], const acu_backend_arg *args, size_t count) {
    acu_arg all[ACU_CUDA_MOST_ARGS];
    if (count > ACU_CUDA_MOST_ARGS)
        return acu_backend_fail(ACU_ERROR_LIMIT, "%zu arguments, but a kernel is given at most %d",
                                count, ACU_CUDA_MOST_ARGS);
    if (program->cpu)
        return acu_cuda_run_simulated(queue, program, items, args, count);
    for (size_t i = 0; i < count; i++)
        all[i] = argument_of(&args[i]);
    const acu_grid grid = acu_grid_3d((acu_size3){items[0], items[1], items[2]}, program->group);
    return acu_cuda_outcome(acu_launch_args(queue->stream, program->kernel, &grid, all, count));
}
