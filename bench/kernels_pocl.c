/* PoCL, opened as a library. Its functions are in the table that every object of OpenCL begins
 * with; places in it are part of OpenCL's interface. */
#define _DEFAULT_SOURCE
#include "kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    GET_DEVICES = 2,
    CREATE_CONTEXT = 4,
    CREATE_QUEUE = 9,
    CREATE_BUFFER = 14,
    CREATE_IMAGE = 15,
    RELEASE_MEMORY = 18,
    CREATE_PROGRAM = 26,
    RELEASE_PROGRAM = 29,
    BUILD_PROGRAM = 30,
    CREATE_KERNEL = 34,
    RELEASE_KERNEL = 37,
    SET_ARGUMENT = 38,
    FINISH = 47,
    READ_BUFFER = 48,
    RUN_KERNEL = 59,

    ON_CPU = 2,
    COPIES = 32, /* memory begins with what the host has */
    FORMAT_R = 0x10b0,
    FORMAT_FLOAT = 0x10de,
};

typedef void *object;
typedef void function(void);
static object platform, device, context, queue, program, kernel, memory[3];

static void fail(const char *what, int code) {
    fprintf(stderr, "PoCL: %s: error %d\n", what, code);
    exit(1);
}

/* The function at a place of the table, as one of the type. */
#define CL(place, result, ...) ((result (*)(__VA_ARGS__))(*(function ***)platform)[place])

bool pocl_open(const char *library) {
    void *opened = dlopen(library, RTLD_NOW);
    object (*find)(const char *) = NULL;
    if (opened)
        *(void **)&find = dlsym(opened, "clGetExtensionFunctionAddress");
    if (!find) {
        fprintf(stderr, "%s: %s\n", library, dlerror());
        return false;
    }
    int (*platforms)(unsigned, object *, unsigned *);
    *(void **)&platforms = find("clIcdGetPlatformIDsKHR");
    int code = 0;
    if (!platforms || (code = platforms(1, &platform, NULL)) ||
        (code = CL(GET_DEVICES, int, object, uint64_t, unsigned, object *,
                   unsigned *)(platform, ON_CPU, 1, &device, NULL))) {
        fprintf(stderr, "%s: there is no device (%d)\n", library, code);
        return false;
    }
    context = CL(CREATE_CONTEXT, object, const intptr_t *, unsigned, const object *, void *, void *,
                 int *)(NULL, 1, &device, NULL, NULL, &code);
    if (!context)
        fail("clCreateContext", code);
    queue = CL(CREATE_QUEUE, object, object, object, uint64_t, int *)(context, device, 0, &code);
    if (!queue)
        fail("clCreateCommandQueue", code);
    return true;
}

static void compile(const char *source) {
    int code;
    program = CL(CREATE_PROGRAM, object, object, unsigned, const char **, const size_t *,
                 int *)(context, 1, &source, NULL, &code);
    if (!program)
        fail("clCreateProgramWithSource", code);
    code = CL(BUILD_PROGRAM, int, object, unsigned, const object *, const char *, void *,
              void *)(program, 1, &device, "", NULL, NULL);
    if (code)
        fail("clBuildProgram", code);
    kernel = CL(CREATE_KERNEL, object, object, const char *, int *)(program, "k", &code);
    if (!kernel)
        fail("clCreateKernel", code);
}

static void set_argument(unsigned number) {
    int code = CL(SET_ARGUMENT, int, object, unsigned, size_t,
                  const void *)(kernel, number, sizeof memory[number], &memory[number]);
    if (code)
        fail("clSetKernelArg", code);
}

static object buffer_of(const float *words, size_t count) {
    static const float none;
    return CL(CREATE_BUFFER, object, object, uint64_t, size_t, const void *, int *)(
        context, COPIES, (count ? count : 1) * sizeof *words, count ? words : &none, NULL);
}

static object image_of(const float *words) {
    const unsigned format[2] = {FORMAT_R, FORMAT_FLOAT};
    return CL(CREATE_IMAGE, object, object, uint64_t, const unsigned *, size_t, size_t, size_t,
              const void *, int *)(context, COPIES, format, SIDE, SIDE, 0, words, NULL);
}

void pocl_make(const work *w, const float *a, const float *b, const float *c) {
    compile(w->cl);
    memory[0] = w->has_image ? image_of(a) : buffer_of(a, w->a);
    memory[1] = buffer_of(b, w->b);
    memory[2] = buffer_of(c, w->c);
    for (unsigned n = 0; n < 3; n++)
        set_argument(n);
}

static void run(unsigned dimensions, const size_t *all, const size_t *group) {
    int code = CL(RUN_KERNEL, int, object, object, unsigned, const size_t *, const size_t *,
                  const size_t *, unsigned, const object *,
                  object *)(queue, kernel, dimensions, NULL, all, group, 0, NULL, NULL);
    code = code ? code : CL(FINISH, int, object)(queue);
    if (code)
        fail("clEnqueueNDRangeKernel", code);
}

void pocl_run(const work *w) {
    const size_t group[2] = {w->block[0], w->block[1]},
                 all[2] = {group[0] * w->grid[0], group[1] * w->grid[1]};
    run(2, all, group);
}

void pocl_read(const work *w, float *c) {
    int code =
        CL(READ_BUFFER, int, object, object, unsigned, size_t, size_t, void *, unsigned,
           const object *, object *)(queue, memory[2], 1, 0, w->c * sizeof *c, c, 0, NULL, NULL);
    if (code)
        fail("clEnqueueReadBuffer", code);
}

void pocl_free(void) {
    for (unsigned n = 0; n < 3; n++) {
        if (memory[n])
            CL(RELEASE_MEMORY, int, object)(memory[n]);
        memory[n] = NULL;
    }
    CL(RELEASE_KERNEL, int, object)(kernel);
    CL(RELEASE_PROGRAM, int, object)(program);
}

void pocl_first(const char *source) {
    static const size_t one = 1;
    static const float zero;
    compile(source);
    memory[0] = buffer_of(&zero, 1);
    set_argument(0);
    run(1, &one, &one);
    pocl_free();
}
