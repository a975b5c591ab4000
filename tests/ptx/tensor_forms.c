/*
 * Answers of the forms of tensor_forms.h (README.md):
 *   tensor_forms LIBRARY                   runs all forms, and prints their answers
 *   tensor_forms LIBRARY ANSWERS           compares with the answers of a GPU
 *   tensor_forms LIBRARY --keep FILE       also writes the bytes of small forms to FILE
 *   tensor_forms LIBRARY --questions       asks what the manuals leave open (with --keep, too)
 * On a GPU the library is libcuda.so.1.
 */
#include "tensor_forms.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- values ---- */

static const format formats[] = {
    {"f16", 16, 5, 10},  {"bf16", 16, 8, 7}, {"tf32", 32, 8, 23}, {"f32", 32, 8, 23},
    {"f64", 64, 11, 52}, {"e4m3", 8, 4, 3},  {"e5m2", 8, 5, 2},   {"s8", 8, 0, 0},
    {"u8", 8, 0, 0},     {"u16", 16, 0, 0},  {"s4", 4, 0, 0},     {"u4", 4, 0, 0},
    {"b1", 1, 0, 0},     {"s32", 32, 0, 0},  {"u32", 32, 0, 0},   {"s64", 64, 0, 0},
    {"u64", 64, 0, 0},
};

const format *format_of(const char *name) {
    for (size_t n = 0; n < sizeof formats / sizeof *formats; n++)
        if (strcmp(formats[n].name, name) == 0)
            return &formats[n];
    fprintf(stderr, "there is no format %s\n", name);
    exit(1);
}

static uint32_t next(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

unsigned next_below(uint32_t *seed, unsigned count) {
    return next(seed) % count;
}

static uint64_t next_bits(uint32_t *seed, unsigned bits) {
    uint64_t value = (uint64_t)next(seed) << 48 ^ (uint64_t)next(seed) << 24 ^ next(seed);
    return value & (UINT64_MAX >> (64 - bits));
}

static uint64_t next_float(const format *f, kind which, uint32_t *seed) {
    unsigned most = (1u << f->exponent) - 1, bias = most / 2, choice = next(seed) % 32;
    uint64_t fraction = next_bits(seed, f->fraction), sign = next(seed) & 1;
    unsigned exponent = next(seed) % most;
    if (which == NEAR)
        exponent = bias - 3 + next(seed) % 6;
    else if (which == WIDE && f->exponent > 5)
        exponent = bias - 24 + next(seed) % 48;
    if (choice == 0) /* zeros, and numbers with all bits or none */
        exponent = 0, fraction = 0;
    else if (choice == 1)
        fraction = 0;
    else if (choice == 2)
        fraction = (UINT64_C(1) << f->fraction) - 1;
    else if (choice == 3 && which != NEAR)
        exponent = 0;
    else if (choice == 4 && which == SPECIAL)
        exponent = most;
    else if (choice == 5 && which == SPECIAL)
        exponent = most, fraction = 0;
    bool finite = which != SPECIAL && f->exponent == 4; /* e4m3 has one NaN, and no infinity */
    if (finite && exponent == most && fraction == 7)
        fraction = 6;
    return ((sign << f->exponent) + exponent) << f->fraction | fraction;
}

void fill_elements(void *to, size_t bytes, const format *f, kind which, uint32_t seed) {
    unsigned char *out = memset(to, 0, bytes);
    for (size_t n = 0; n < bytes * 8 / f->bits; n++) {
        uint64_t value = f->exponent ? next_float(f, which, &seed) : next_bits(&seed, f->bits);
        if (!f->exponent && next(&seed) % 16 == 0) /* the least, the most, and -1 */
            value = (UINT64_MAX >> (64 - f->bits)) >> next(&seed) % 2;
        if (f->bits < 8)
            out[n * f->bits / 8] |= (unsigned char)(value << n * f->bits % 8);
        else
            memcpy(out + n * f->bits / 8, &value, f->bits / 8);
    }
}

/* ---- the device ---- */

static void *library;
static int (*entry_point)(const char *, void **, unsigned, unsigned long long, int *);

/* Returns a function of the driver: of its library, or by the runtime. */
static void *call(const char *name, const char *version) {
    char whole[64];
    void *found = NULL;
    int result = 0;
    snprintf(whole, sizeof whole, "%s%s", name, version);
    if (entry_point)
        entry_point(name, &found, 12000, 0, &result);
    else
        found = dlsym(library, whole);
    if (!found) {
        fprintf(stderr, "the library has no %s\n", whole);
        exit(1);
    }
    return found;
}

static void check(int code, const char *what) {
    if (!code)
        return;
    fprintf(stderr, "%s: %d\n", what, code);
    exit(1);
}

static struct {
    int (*alloc)(address *, size_t), (*release)(address);
    int (*to_device)(address, const void *, size_t), (*to_host)(void *, address, size_t);
    int (*load)(void **, const void *), (*unload)(void *), (*find)(void **, void *, const char *);
    int (*set)(void *, int, int), (*synchronize)(void);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*tiled)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *,
                 const uint32_t *, const uint32_t *, int, int, int, int);
    int (*columns)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const int *,
                   const int *, unsigned, unsigned, const uint32_t *, int, int, int, int);
} driver;

#define FIND(member, name, version) *(void **)&driver.member = call(name, version)

void device_open(const char *name) {
    void *context, *found;
    int device;
    library = dlopen(name, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&entry_point = dlsym(library, "cudaGetDriverEntryPointByVersion");
    FIND(alloc, "cuMemAlloc", "_v2");
    FIND(release, "cuMemFree", "_v2");
    FIND(to_device, "cuMemcpyHtoD", "_v2");
    FIND(to_host, "cuMemcpyDtoH", "_v2");
    FIND(load, "cuModuleLoadData", "");
    FIND(unload, "cuModuleUnload", "");
    FIND(find, "cuModuleGetFunction", "");
    FIND(set, "cuFuncSetAttribute", "");
    FIND(synchronize, "cuCtxSynchronize", "");
    FIND(launch, "cuLaunchKernel", "");
    FIND(tiled, "cuTensorMapEncodeTiled", "");
    FIND(columns, "cuTensorMapEncodeIm2col", "");
    found = call("cuInit", "");
    check((*(int (**)(unsigned))&found)(0), "cuInit");
    found = call("cuDeviceGet", "");
    check((*(int (**)(int *, int))&found)(&device, 0), "cuDeviceGet");
    found = call("cuDevicePrimaryCtxRetain", "");
    check((*(int (**)(void **, int))&found)(&context, device), "cuDevicePrimaryCtxRetain");
    found = call("cuCtxSetCurrent", "");
    check((*(int (**)(void *))&found)(context), "cuCtxSetCurrent");
}

bool device_encode(const tensor *t, address memory, tensor_map *map) {
    void *at = (void *)(uintptr_t)memory;
    if (t->pixels)
        return driver.columns(map, (int)t->type, t->rank, at, t->shape, t->strides, t->lower,
                              t->upper, t->box[0], t->pixels, t->steps, (int)t->interleave,
                              (int)t->swizzle, 0, (int)t->fill) == 0;
    return driver.tiled(map, (int)t->type, t->rank, at, t->shape, t->strides, t->box, t->steps,
                        (int)t->interleave, (int)t->swizzle, 0, (int)t->fill) == 0;
}

/* A failure ends the device's context, so that another process goes on behind the form that failed.
 * Processes share how many forms were begun, and how they came out. NULL: questions are asked. */
static struct {
    unsigned begun, agree, differ, unknown;
} *progress;
static unsigned form, first; /* of this process: the next form, and the first one to run */
enum { PASSED_OVER = -2, FAILED = 3 };

int device_run(const run *r) {
    if (progress && form++ < first)
        return PASSED_OVER;
    if (progress)
        progress->begun = form;
    void *module = NULL, *function = NULL;
    address in, out;
    tensor_map map = {{0}};
    void *params[] = {&in, &out, &map};
    check(driver.alloc(&in, r->in_bytes + 16), "cuMemAlloc");
    check(driver.alloc(&out, r->out_bytes + 16), "cuMemAlloc");
    check(driver.to_device(in, r->in, r->in_bytes), "cuMemcpyHtoD");
    check(driver.to_device(out, r->out, r->out_bytes), "cuMemcpyHtoD");
    if (r->of && !device_encode(r->of, r->maps_out ? out : in, &map))
        return -1;
    int result = driver.load(&module, r->text);
    result = result ? result : driver.find(&function, module, "k");
    if (!result && r->shared > 48 << 10)
        check(driver.set(function, 8, (int)r->shared), "cuFuncSetAttribute");
    if (!result)
        result = driver.launch(function, r->blocks, 1, 1, r->threads, 1, 1, r->shared, NULL, params,
                               NULL);
    result = result ? result : driver.synchronize();
    if (result)
        return result;
    check(driver.to_host(r->out, out, r->out_bytes), "cuMemcpyDtoH");
    driver.unload(module);
    driver.release(in);
    driver.release(out);
    return 0;
}

/* ---- answers ---- */

static FILE *kept;    /* gets the bytes of small forms; NULL: nobody does */
static char *answers; /* of a GPU; NULL: they are printed */

static uint64_t number_of(const unsigned char *bytes, size_t size) {
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (size_t n = 0; n < size; n++)
        number = (number ^ bytes[n]) * UINT64_C(0x100000001b3);
    return number;
}

/* Prints the line of a form, or compares it with that of the GPU, which has the name, too. */
static void take_line(const char *name, const char *line) {
    char end[256], begin[256];
    snprintf(end, sizeof end, " %s\n", name);
    snprintf(begin, sizeof begin, "\n%s fails: ", name);
    if (!answers)
        fputs(line, stdout);
    else if (strstr(answers, line))
        progress->agree++;
    else if (strstr(answers, end) || strstr(answers, begin))
        printf("%s differs: %s", name, line), progress->differ++;
    else
        progress->unknown++;
}

static void take_answer(const char *name, const void *out, size_t bytes, bool keep) {
    char line[256];
    snprintf(line, sizeof line, "%016llx %s\n", (unsigned long long)number_of(out, bytes), name);
    if (kept && keep) {
        fprintf(kept, "%zu %s\n", bytes, name);
        fwrite(out, 1, bytes, kept);
        fflush(kept);
    }
    take_line(name, line);
}

void take_result(const char *name, int code, const void *out, size_t bytes, bool keep) {
    if (code == PASSED_OVER)
        return;
    if (code == 0) {
        take_answer(name, out, bytes, keep);
        return;
    }
    char line[256];
    snprintf(line, sizeof line, "%s fails: %d\n", name, code);
    take_line(name, line);
    if (code < 0) /* the driver took no such map, and goes on */
        return;
    fflush(stdout);
    _exit(FAILED);
}

/* ---- the program ---- */

static char *read_all(const char *path) {
    FILE *file = fopen(path, "rb");
    static char text[1 << 20];
    if (file) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    return text;
}

/* A question may end the device's context, so that each variant has a process. Returns how many of
 * them failed. */
static int ask(const char *name, const question *questions, unsigned count) {
    int failed = 0;
    for (unsigned n = 0; n < count; n++)
        for (unsigned variant = 0; variant < questions[n].variants; variant++) {
            int status = 0;
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                device_open(name);
                questions[n].ask(variant);
                fflush(stdout);
                _exit(0);
            }
            failed += child < 0 || waitpid(child, &status, 0) < 0 || status != 0;
        }
    return failed;
}

/* Runs all forms, in another process behind each one that fails. Returns whether that could be. */
static bool run_forms(const char *name) {
    int status = FAILED << 8;
    progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return false;
    while (WIFEXITED(status) && WEXITSTATUS(status) == FAILED) {
        first = progress->begun;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            device_open(name);
            copy_forms();
            product_forms();
            sparse_forms();
            fflush(stdout);
            _exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0)
            return false;
    }
    if (status)
        fprintf(stderr, "form %u ended its process: %#x\n", progress->begun, (unsigned)status);
    return status == 0;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "tensor_forms LIBRARY [ANSWERS | --keep FILE | --questions]\n");
        return 1;
    }
    if (argc > 3 && strcmp(argv[argc - 2], "--keep") == 0)
        kept = fopen(argv[argc - 1], "wb");
    if (argc >= 3 && strcmp(argv[2], "--questions") == 0)
        return ask(argv[1], product_questions, PRODUCT_QUESTIONS);
    if (argc == 3)
        answers = read_all(argv[2]);
    if (!run_forms(argv[1]))
        return 1;
    if (kept)
        fclose(kept);
    if (answers)
        printf("%u answers agree with a GPU, %u differ, %u have none\n", progress->agree,
               progress->differ, progress->unknown);
    return progress->differ > 0 || (answers && progress->agree + progress->unknown == 0);
}
