/* The two layers, trace and injected errors, on made-up functions: what a line of the trace shows,
 * and which calls fail. */
#define _GNU_SOURCE
#include "core/hooks.h"
#include "core/refuse.h"
#include "core/values.h"
#include <anycuda/layers.h>
#include "layers/trace_file.h"
#include "loader/library.h"
#include "loader/slot.h"
#include "../scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* ---- functions of the core, implemented by the test ---- */

static _Thread_local char refusal[512];

int acu_refuse(const acu_function *function, int code, const char *why) {
    (void)function;
    snprintf(refusal, sizeof refusal, "%s", why);
    return code;
}

/* No function of WebGPU, NVML or nvJitLink is called here, so the program has none of them. */
acu_library *acu_library_of(acu_library_id id) {
    return id == ACU_CUDART  ? &acu_cudart
           : id == ACU_CUDA  ? &acu_cuda
           : id == ACU_NVRTC ? &acu_nvrtc
                             : NULL;
}

int acu_refuse_injected(const acu_function *function, int code, const char *why) {
    return acu_refuse(function, code, why);
}

const acu_library_info *acu_library_about(const acu_library *l) {
    return l->info;
}

int acu_library_version(const acu_library *l) {
    (void)l;
    return 13050;
}

int acu_refuse_newer(const acu_function *function, const char *what, int since) {
    (void)since;
    return acu_refuse(function, 801, what);
}

int acu_refuse_invalid(const acu_function *function, const char *what, const char *why) {
    (void)why;
    return acu_refuse(function, 1, what);
}

/* The trace for viewers, which tests/profile/ tests: here no target is one. */
const acu_trace_file_hooks acu_trace_file;

/* NOLINTNEXTLINE(readability-non-const-parameter): the declaration is that of trace_file.h */
bool acu_trace_file_set(const char *target, const char *about, int *error) {
    (void)target;
    (void)about;
    (void)error;
    return false;
}

/* ---- descriptions ---- */

static const acu_value results[] = {{0, 0}, {1, 0}, {2, 0}};
static const acu_type result_type = {
    .name = "cudaError_t\0cudaSuccess\0cudaErrorInvalidValue\0cudaErrorMemoryAllocation",
    .kind = ACU_KIND_ENUM,
    .size = 4,
    .count = COUNT(results),
    .values = results};
static const acu_library_info info = {.name = "libcudart", .result_type = &result_type};
static acu_library library = {.info = &info};
acu_library acu_cudart = {.info = &info}, acu_cuda, acu_nvrtc;
static _Thread_local int taken_back; /* calls of acu_slot_unpublish */

void acu_slot_unpublish(acu_library *l) {
    assert_true(l == &acu_cudart || l == &acu_cuda || l == &acu_nvrtc);
    taken_back++;
}

static const acu_type int_type = {.name = "int", .kind = ACU_KIND_SIGNED, .size = 4};
static const acu_type byte_type = {.name = "unsigned char", .kind = ACU_KIND_UNSIGNED, .size = 1};
static const acu_type size_type = {.name = "size_t", .kind = ACU_KIND_UNSIGNED, .size = 8};
static const acu_type float_type = {.name = "float", .kind = ACU_KIND_FLOAT, .size = 4};
static const acu_type char_type = {.name = "char", .kind = ACU_KIND_CHAR, .size = 1};
static const acu_type pointer_type = {.name = "void *", .kind = ACU_KIND_POINTER, .size = 8};
static const acu_type text_type = {.name = "const char *", .kind = ACU_KIND_TEXT, .size = 8};
static const acu_value kinds[] = {{0, 0}, {1, 0}};
static const acu_type kind_type = {
    .name = "cudaMemcpyKind\0cudaMemcpyHostToHost\0cudaMemcpyHostToDevice",
    .kind = ACU_KIND_ENUM,
    .size = 4,
    .count = 2,
    .values = kinds};
static const acu_value streams[] = {{1, 0}, {2, 0}};
static const acu_type stream_type = {.name = "cudaStream_t\0cudaStreamLegacy\0cudaStreamPerThread",
                                     .kind = ACU_KIND_HANDLE,
                                     .size = 8,
                                     .count = 2,
                                     .values = streams};
static const acu_value host_flags[] = {{0, 0}, {1, 0}, {2, 0}, {7, 0}};
static const acu_type flags_type = {.name = "flags\0Default\0Portable\0Mapped\0All",
                                    .kind = ACU_KIND_FLAGS,
                                    .size = 4,
                                    .count = 4,
                                    .values = host_flags};

struct location {
    int type;
    union {
        int id;                     /* type 1 */
        unsigned char localized[2]; /* type 2 */
        char pad[4];
    };
    int reserved;
};
static const acu_value location_types[] = {{1, 0}, {2, 0}};
static const acu_type location_kind = {.name = "kind\0Device\0Localized",
                                       .kind = ACU_KIND_ENUM,
                                       .size = 4,
                                       .count = 2,
                                       .values = location_types};
static const int32_t device[] = {1, ACU_TAG_END}, localized[] = {2, ACU_TAG_END};
static const acu_field location_fields[] = {
    {.type = &location_kind, .count = 1},
    {.type = &char_type, .offset = 4, .count = 4},
    {.type = &int_type, .offset = 4, .count = 1, .tags = device},
    {.type = &byte_type, .offset = 4, .count = 2, .tags = localized},
    {.type = &int_type, .offset = 8, .count = 1, .reserved = true}};
static const acu_type location_type = {.name =
                                           "cudaMemLocation\0type\0pad\0id\0localized\0reserved",
                                       .kind = ACU_KIND_RECORD,
                                       .size = sizeof(struct location),
                                       .count = COUNT(location_fields),
                                       .fields = location_fields};
static const acu_type location_pointer = {
    .name = "pointer", .kind = ACU_KIND_POINTER, .size = 8, .target = &location_type};
struct config {
    char name[8];
    struct location *at;
    size_t count;
    float ratio;
};
static const acu_field config_fields[] = {
    {.type = &char_type, .count = 8},
    {.type = &location_pointer, .offset = 8, .count = 1, .target_count = 16},
    {.type = &size_type, .offset = 16, .count = 1},
    {.type = &float_type, .offset = 24, .count = 1}};
static const acu_type config_type = {.name = "config\0name\0at\0count\0ratio",
                                     .kind = ACU_KIND_RECORD,
                                     .size = sizeof(struct config),
                                     .count = COUNT(config_fields),
                                     .fields = config_fields};

#define VALUE(t)           {.type = &(t), .length = -1, .tag = -1}
#define POINTER(t, dir, l) {.type = &(t), .depth = 1, .direction = (dir), .length = (l), .tag = -1}
#define FUNCTION(id, n, ...)                                                                       \
    static const acu_param id##_params[] = {__VA_ARGS__};                                          \
    static const acu_function id = {.library = &library,                                           \
                                    .name = (n),                                                   \
                                    .params = id##_params,                                         \
                                    .param_count = COUNT(id##_params)}

FUNCTION(copy, "cudaMemcpyAsync\0dst\0count\0kind\0stream", VALUE(pointer_type), VALUE(size_type),
         VALUE(kind_type), VALUE(stream_type));
FUNCTION(host, "cudaHostAlloc\0pHost\0flags", POINTER(pointer_type, ACU_OUT, -1),
         VALUE(flags_type));
FUNCTION(texts, "texts\0path\0name\0len\0unbounded", VALUE(text_type),
         POINTER(char_type, ACU_OUT, 2), VALUE(int_type), POINTER(char_type, ACU_OUT, -1));
FUNCTION(advise, "advise\0location\0config", VALUE(location_type),
         POINTER(config_type, ACU_IN, -1));
FUNCTION(list, "list\0sizes\0n\0found\0count", POINTER(size_type, ACU_IN, 1), VALUE(size_type),
         POINTER(int_type, ACU_OUT, 3), POINTER(int_type, ACU_INOUT, -1));
static const acu_function last_error = {
    .library = &library, .name = "cudaGetLastError", .quirks = ACU_QUIRK_GET_LAST_ERROR};
static const acu_function name_of_error = {
    .library = &library, .name = "cudaGetErrorName", .returns = ACU_RETURNS_OTHER};

static _Thread_local int called;

static void real(void) {
    called++;
}

enum { MOST = 100, CELL = 16 };

/* What the generated entries do: the arguments' struct is made of cells here. */
static int call(const acu_function *function, const void *const *args, int result) {
    char cells[MOST * CELL];
    acu_param params[MOST];
    acu_function described = *function;
    for (unsigned i = 0; i < function->param_count; i++) {
        params[i] = function->params[i];
        params[i].at = (uint16_t)(i * CELL);
        memcpy(cells + (size_t)i * CELL, args[i], params[i].depth ? 8 : params[i].type->size);
    }
    described.params = params;
    acu_call c = {.function = &described, .args = cells, .fn = real, .result = result};
    acu_layer_hooks.begin(&c);
    if (c.fn)
        c.fn();
    acu_layer_hooks.end(&c);
    return c.result;
}

/* ---- the trace ---- */

static char file[SCRATCH_SIZE];

static const char *all_lines(void) {
    static char text[65536];
    FILE *f = fopen(file, "r");
    if (!f)
        abort();
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* The line that a call leaves, without thread and duration, which are checked for their form. */
static const char *traced(const acu_function *function, const void *const *args, int result) {
    static char line[65536];
    char *end;
    assert_int_equal(truncate(file, 0), 0);
    assert_int_equal(acu_trace_to(file), 0);
    assert_int_equal(call(function, args, result), result);
    assert_int_equal(acu_trace_to(NULL), 0);
    snprintf(line, sizeof line, "%s", all_lines());
    assert_int_equal(strtol(line + 1, &end, 10), getpid()); /* the first thread has this number */
    assert_memory_equal(end, "] ", 2);
    char *start = end + 2;
    char *duration = strstr(line, "  ");
    assert_non_null(duration);
    (void)strtoul(duration + 2, &end, 10);
    assert_int_equal(*end, '.');
    (void)strtoul(end + 1, &end, 10);
    assert_string_equal(end, " us\n");
    *duration = '\0';
    return start;
}

static void a_line_names_arguments_enumerators_and_handles(void **state) {
    (void)state;
    void *dst = (void *)0x7f00;
    size_t count = 4096;
    int kind = 1;
    void *stream = (void *)2;
    const void *args[] = {&dst, &count, &kind, &stream};
    assert_string_equal(traced(&copy, args, 0),
                        "cudaMemcpyAsync(dst=0x7f00, count=4096, kind=cudaMemcpyHostToDevice, "
                        "stream=cudaStreamPerThread) = cudaSuccess");
    kind = -7;
    stream = NULL;
    dst = NULL;
    count = SIZE_MAX;
    assert_string_equal(traced(&copy, args, 1),
                        "cudaMemcpyAsync(dst=NULL, count=18446744073709551615, kind=-7, "
                        "stream=NULL) = cudaErrorInvalidValue");
    stream = (void *)0xabc;
    assert_non_null(strstr(traced(&copy, args, 12345), "stream=0xabc) = 12345"));
}

static void results_are_shown_after_success_only_and_flags_by_name(void **state) {
    (void)state;
    void *memory = (void *)0xbeef;
    void **out = &memory;
    char failed[128];
    unsigned flags = 3;
    const void *args[] = {&out, &flags};
    assert_string_equal(traced(&host, args, 0),
                        "cudaHostAlloc(*pHost=0xbeef, flags=Portable|Mapped) = cudaSuccess");
    flags = 0;
    snprintf(failed, sizeof failed,
             "cudaHostAlloc(pHost=%p, flags=Default) = cudaErrorMemoryAllocation", (void *)out);
    assert_string_equal(traced(&host, args, 2), failed);
    flags = 7;
    out = NULL;
    assert_string_equal(traced(&host, args, 0),
                        "cudaHostAlloc(pHost=NULL, flags=All) = cudaSuccess");
    flags = 0x102;
    assert_string_equal(traced(&host, args, 0),
                        "cudaHostAlloc(pHost=NULL, flags=Mapped|0x100) = cudaSuccess");
}

static void texts_are_quoted_and_bounded(void **state) {
    (void)state;
    const char *path = "a\"b\\c\n\x01";
    char buffer[4] = {'f', 'u', 'l', 'l'}; /* no zero at its end */
    char *name = buffer, *unbounded = (char *)1;
    int length = 4;
    const void *args[] = {&path, &name, &length, &unbounded};
    assert_string_equal(
        traced(&texts, args, 0),
        "texts(path=\"a\\\"b\\\\c\\n\\x01\", name=\"full\", len=4, unbounded=0x1) = cudaSuccess");
    char is_long[200];
    memset(is_long, 'x', sizeof is_long);
    is_long[199] = '\0';
    path = is_long;
    const char *line = traced(&texts, args, 1);
    assert_true(strlen(line) < 200);
    assert_non_null(strstr(line, "x\xe2\x80\xa6\", name=0x"));
    path = NULL;
    assert_non_null(strstr(traced(&texts, args, 0), "path=NULL"));
}

static void records_show_active_fields_and_what_they_lead_to(void **state) {
    (void)state;
    struct location location = {.type = 1, .id = 5, .reserved = 9},
                    at[6] = {{.type = 2, .localized = {3, 4}}, {.type = 7, .id = 1}};
    struct config config = {.at = at, .count = 6, .ratio = 0.5F}, *pointer = &config;
    memcpy(config.name, "12345678", 8);
    const void *args[] = {&location, &pointer};
    assert_string_equal(traced(&advise, args, 0),
                        "advise(location={type=Device, id=5}, *config={name=\"12345678\", "
                        "at=[{type=Localized, localized=[3, 4]}, "
                        "{type=7}, {type=0}, {type=0}, \xe2\x80\xa6"
                        "6 in all], count=6, ratio=0.5}) = cudaSuccess");
    config.at = NULL;
    config.name[0] = '\0';
    assert_non_null(
        strstr(traced(&advise, args, 0), "*config={name=\"\", at=NULL, count=6, ratio=0.5}"));
}

static void arrays_are_counted_by_their_parameter(void **state) {
    (void)state;
    const size_t sizes[] = {1, 2, 3, 4, 5}, *in = sizes;
    size_t n = 5;
    int found[] = {7, 8}, *out = found, count = 2, *counter = &count;
    const void *args[] = {&in, &n, &out, &counter};
    assert_string_equal(traced(&list, args, 0),
                        "list(sizes=[1, 2, 3, 4, \xe2\x80\xa6"
                        "5 in all], n=5, found=[7, 8], *count=2) = cudaSuccess");
    n = 0;
    count = -4;
    assert_string_equal(traced(&list, args, 0),
                        "list(sizes=[], n=0, found=[], *count=-4) = cudaSuccess");
    counter = NULL;
    assert_non_null(strstr(traced(&list, args, 0), "found=[], count=NULL"));
}

static void a_function_that_returns_no_result_shows_none(void **state) {
    (void)state;
    assert_string_equal(traced(&name_of_error, NULL, 0), "cudaGetErrorName()");
}

static void a_line_is_bounded_and_keeps_its_result(void **state) {
    (void)state;
    acu_param params[MOST];
    const void *args[MOST];
    char text[64];
    char names[5 + 2 * COUNT(params)] = "long";
    const char *value = text;
    memset(text, '"', sizeof text);
    text[63] = '\0';
    for (unsigned i = 0; i < COUNT(params); i++) {
        params[i] = (acu_param)VALUE(text_type);
        memcpy(names + 5 + 2 * (size_t)i, "a", 2);
        args[i] = &value;
    }
    acu_function function = {
        .library = &library, .name = names, .params = params, .param_count = COUNT(params)};
    const char *line = traced(&function, args, 2);
    assert_true(strlen(line) < 4096);
    assert_true(strlen(line) > 3500);
    assert_string_equal(strstr(line, "\xe2\x80\xa6"), "\xe2\x80\xa6) = cudaErrorMemoryAllocation");
}

static void neither_errno_nor_result_changes(void **state) {
    (void)state;
    acu_trace_to("/dev/full"); /* every write fails */
    acu_inject_errors("never@1:2");
    errno = ERANGE;
    assert_int_equal(call(&last_error, NULL, 42), 42);
    assert_int_equal(errno, ERANGE);
    acu_trace_to(NULL);
    acu_inject_errors(NULL);
}

/* What a function wrote to stderr. */
static char written[2048];

static int saying(int (*function)(const char *), const char *argument) {
    char name[SCRATCH_SIZE];
    int sink = mkstemp(scratch_path(name)), kept = dup(STDERR_FILENO);
    if (sink < 0 || kept < 0)
        abort();
    unlink(name);
    dup2(sink, STDERR_FILENO);
    int result = function(argument);
    dup2(kept, STDERR_FILENO);
    close(kept);
    ssize_t size = pread(sink, written, sizeof written - 1, 0);
    written[size > 0 ? size : 0] = '\0';
    close(sink);
    return result;
}

/* Pages of which the first can be read and the second cannot. */
static char *end_of_memory(void) {
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    return pages + 4096;
}

static void what_cannot_be_read_is_a_pointer(void **state) {
    (void)state;
    char *end = end_of_memory(), expected[200];
    struct location where = {.type = 1};
    struct config *config = (void *)0x10;
    const void *advised[] = {&where, &config};
    assert_non_null(strstr(traced(&advise, advised, 1), ", config=0x10) = cudaErrorInvalidValue"));
    config = (struct config *)(end - 8); /* only its first field can be read */
    snprintf(expected, sizeof expected, ", config=%p)", (void *)config);
    assert_non_null(strstr(traced(&advise, advised, 1), expected));
    struct config good = {"abc", (void *)0x20, 2, 0.5f};
    config = &good;
    assert_non_null(strstr(traced(&advise, advised, 1), "at=0x20, count=2, ratio=0.5"));
    const char *path = (char *)0x30;
    char *name = (char *)0x40, *unbounded = NULL;
    int length = 4;
    const void *said[] = {&path, &name, &length, &unbounded};
    assert_non_null(strstr(traced(&texts, said, 0), "path=0x30, name=0x40, len=4"));
    const char text[3] = {'a', 'b', 'c'}; /* without an end */
    memcpy(end - sizeof text, text, sizeof text);
    path = end - sizeof text;
    assert_non_null(strstr(traced(&texts, said, 0), "path=\"abc\", "));
    const size_t *sizes = (size_t *)(end - 8);
    size_t n = 3;
    int *found = (int *)0x50, *count = (int *)0x60;
    const void *lists[] = {&sizes, &n, &found, &count};
    snprintf(expected, sizeof expected, "sizes=%p, n=3, found=0x50, count=0x60)", (void *)sizes);
    assert_non_null(strstr(traced(&list, lists, 0), expected));
    munmap(end - 4096, 8192);
}

static int trace_one(const char *target);

static void a_fifo_without_a_reader_is_an_error(void **state) {
    (void)state;
    char fifo[SCRATCH_SIZE];
    close(mkstemp(scratch_path(fifo)));
    unlink(fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(saying(acu_trace_to, fifo), ENXIO);
    assert_false(acu_layer_hooks.on());
    int reader = open(fifo, O_RDONLY | O_NONBLOCK);
    assert_int_equal(acu_trace_to(fifo), 0);
    call(&last_error, NULL, 0);
    char text[100] = "";
    assert_true(read(reader, text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "cudaGetLastError() = cudaSuccess"));
    close(reader); /* the next line would end the process by SIGPIPE */
    call(&last_error, NULL, 0);
    acu_trace_to(NULL);
    unlink(fifo);
}

/* The descriptor of the trace is the newest one. */
static int trace_after_closing(const char *target) {
    int next = dup(0);
    close(next);
    int error = acu_trace_to("/dev/full");
    struct stat about;
    for (int fd = 3; fd < next + 8; fd++)
        if (fstat(fd, &about) == 0 && major(about.st_rdev) == 1 && minor(about.st_rdev) == 7)
            next = fd;
    int other = open(target, O_WRONLY | O_TRUNC);
    if (other < 0)
        return 100;
    dup2(other, next);
    close(other);
    call(&last_error, NULL, 0);
    call(&last_error, NULL, 0);
    close(next);
    return error;
}

static void a_file_of_the_program_gets_no_line(void **state) {
    (void)state;
    assert_int_equal(saying(trace_after_closing, file), 0);
    assert_string_equal(written, "anycuda: the trace ends, because the program closed its file\n");
    assert_string_equal(all_lines(), "");
    assert_false(acu_layer_hooks.on());
}

static int trace_over_closed_stderr(const char *target) {
    int error = acu_trace_to("stderr");
    close(STDERR_FILENO);
    int other = open(target, O_WRONLY | O_TRUNC);
    call(&last_error, NULL, 0);
    acu_trace_to(NULL);
    return other == STDERR_FILENO ? error : 100;
}

static void a_file_with_the_number_of_stderr_gets_no_line(void **state) {
    (void)state;
    assert_int_equal(saying(trace_over_closed_stderr, file), 0);
    assert_non_null(strstr(written, "cudaGetLastError() = cudaSuccess  "));
    assert_string_equal(all_lines(), "");
}

static void a_file_that_cannot_be_opened_is_reported_once(void **state) {
    (void)state;
    assert_int_equal(saying(acu_trace_to, "/nowhere/trace"), ENOENT);
    assert_string_equal(
        written,
        "anycuda: acu_trace_to cannot open \"/nowhere/trace\": No such file or directory\n");
    assert_false(acu_layer_hooks.on());
}

static int trace_one(const char *target) {
    acu_trace_to(target);
    call(&last_error, NULL, 0);
    return acu_trace_to(NULL);
}

static void the_trace_can_go_to_stderr_and_change_files(void **state) {
    (void)state;
    assert_int_equal(saying(trace_one, "stderr"), 0);
    assert_non_null(strstr(written, "cudaGetLastError() = cudaSuccess  "));
    assert_int_equal(truncate(file, 0), 0);
    assert_int_equal(saying(trace_one, file), 0);
    assert_int_equal(saying(trace_one, "/dev/null"), 0);
    assert_int_equal(saying(trace_one, file), 0);
    assert_string_equal(written, "");
    const char *first = strchr(all_lines(), '\n');
    assert_string_equal(strchr(first + 1, '\n'), "\n"); /* two lines: it was appended to */
}

/* ---- injected errors ---- */

/* The results of the first calls of a function under a rule, as digits. */
static const char *outcome(const char *rule, const acu_function *function, unsigned calls) {
    static char digits[64];
    void *null = NULL;
    const void *args[] = {&null, &null, &null, &null};
    assert_int_equal(acu_inject_errors(rule), 0);
    for (unsigned i = 0; i < calls; i++)
        snprintf(digits + i, 2, "%d", call(function, args, 0));
    acu_inject_errors(NULL);
    return digits;
}

static void the_environment_is_read_once(void **state) {
    (void)state; /* main() set it */
    assert_true(acu_layer_hooks.on());
    assert_int_equal(call(&last_error, NULL, 0), 7);
    assert_int_equal(call(&last_error, NULL, 0), 0);
    assert_non_null(strstr(all_lines(), "cudaGetLastError() = 7 (injected)  "));
    acu_trace_to(NULL);
    acu_inject_errors(NULL);
    assert_false(acu_layer_hooks.on());
}

static void calls_fail_by_their_number(void **state) {
    (void)state;
    assert_string_equal(outcome("cudaHostAlloc@3:2", &host, 5), "00200");
    assert_string_equal(outcome("cudaHostAlloc@3+:2", &host, 5), "00222");
    assert_string_equal(outcome("cudaHostAlloc@*:2", &host, 3), "222");
    assert_string_equal(outcome("cudaHostAlloc@0%:2", &host, 5), "00000");
    assert_string_equal(outcome("cudaHostAlloc@100%:2", &host, 5), "22222");
    assert_string_equal(outcome("cudaHostAllo@*:2", &host, 3), "000");
    assert_string_equal(outcome(" ; cudaHostAlloc@2:2,cudaHostAlloc@4:1 ;", &host, 5), "02010");
    assert_string_equal(outcome("cudaHostAlloc@2:1,cudaHostAlloc@*:2", &host, 3), "212");
    assert_string_equal(outcome("", &host, 1), "0");
}

static void an_injected_error_has_a_name_and_a_reason(void **state) {
    (void)state;
    called = 0;
    assert_string_equal(outcome("cudaHostAlloc@2:cudaErrorMemoryAllocation", &host, 3), "020");
    assert_int_equal(called, 2);
    assert_string_equal(
        refusal, "error injected by rule \"cudaHostAlloc@2:cudaErrorMemoryAllocation\", call 2");
}

static void a_wildcard_counts_each_function_and_spares_the_last_error(void **state) {
    (void)state;
    assert_string_equal(outcome("cuda*@2:2", &host, 3), "020");
    assert_string_equal(outcome("*@1:2", &copy, 2), "20");
    assert_string_equal(outcome("*@*:2", &last_error, 2), "00");
    assert_string_equal(outcome("cudaGetLastError@*:2", &last_error, 2), "22");
    assert_string_equal(outcome("*@*:2", &name_of_error, 2), "00");
    assert_string_equal(outcome("cudaM*@1:2", &host, 2), "00");
    void *null = NULL;
    const void *args[] = {&null, &null, &null, &null};
    acu_inject_errors("*@2:2");
    assert_int_equal(call(&host, args, 0), 0);
    assert_int_equal(call(&copy, args, 0), 0);
    assert_int_equal(call(&host, args, 0), 2);
    assert_int_equal(call(&copy, args, 0), 2);
    acu_inject_errors(NULL);
}

static int call_host(const char *rule) {
    return (int)strtol(outcome(rule, &host, 2), NULL, 10);
}

static void an_unknown_result_is_reported_and_fails_nothing(void **state) {
    (void)state;
    assert_int_equal(saying(call_host, "cudaHostAlloc@*:CUDA_ERROR_INVALID_VALUE"), 0);
    assert_string_equal(written, "anycuda: injected error rule "
                                 "\"cudaHostAlloc@*:CUDA_ERROR_INVALID_VALUE\" does not apply to "
                                 "libcudart, which has no error with that name\n"
                                 "  expected: one of its names, or a number, as in "
                                 "cudaErrorMemoryAllocation or 2\n");
}

static void both_variants_of_a_function_share_one_count(void **state) {
    (void)state;
    acu_function per_thread = copy; /* another description, the same name */
    void *null = NULL;
    const void *args[] = {&null, &null, &null, &null};
    acu_inject_errors("cudaMemcpyAsync@3:2");
    assert_int_equal(call(&copy, args, 0), 0);
    assert_int_equal(call(&copy, args, 0), 0);
    assert_int_equal(call(&per_thread, args, 0), 2);
    assert_int_equal(call(&per_thread, args, 0), 0);
    acu_inject_errors(NULL);
}

/* A process that calls cudaHostAlloc twice under the rule, and exits; and one that it forked. */
static int exit_under(const char *rule) {
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        void *null = NULL;
        const void *args[] = {&null, &null};
        acu_inject_errors(rule);
        call(&host, args, 0);
        call(&host, args, 0);
        pid_t grandchild = fork();
        if (grandchild > 0)
            waitpid(grandchild, &status, 0);
        exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void a_rule_that_met_no_call_is_reported_once_at_exit(void **state) {
    (void)state;
    assert_int_equal(saying(exit_under, "cudaHostAlloc@*:2;cudaHostAlloc@9:1;cuda*@7:2"), 0);
    assert_string_equal(written, "");
    assert_int_equal(saying(exit_under, "cudaMaloc@3:2;cudaHostAlloc@2:2;cuMem*@*:1"), 0);
    assert_string_equal(written, "anycuda: injected error rule \"cudaMaloc@3:2\" met no call: "
                                 "no function with that name was called\n"
                                 "anycuda: injected error rule \"cuMem*@*:1\" met no call: "
                                 "no function whose name begins like this was called\n");
    assert_int_equal(saying(exit_under, NULL), 0);
    assert_string_equal(written, "");
}

static void a_refused_call_stays_refused(void **state) {
    (void)state;
    acu_inject_errors("*@*:2");
    acu_call c = {.function = &last_error, .result = 303, .made_here = true};
    acu_layer_hooks.begin(&c);
    assert_int_equal(c.result, 303);
    assert_int_equal(truncate(file, 0), 0);
    acu_trace_to(file);
    acu_layer_hooks.end(&c);
    assert_non_null(strstr(all_lines(), "cudaGetLastError() = 303 (refused)  "));
    acu_trace_to(NULL);
    acu_inject_errors(NULL);
}

static void a_malformed_rule_is_reported_and_fails_nothing(void **state) {
    (void)state;
    static const char function[] = "names no function", at[] = "has no '@' after",
                      when[] = "does not name after '@' the calls that fail",
                      error[] = "does not end with ':' and an error",
                      unknown[] = "ends with an error that no library of CUDA has",
                      seed[] = "gives no number";
    static const struct {
        const char *rule, *item, *wrong, *example;
    } wrong[] = {
        {"cudaMalloc", "cudaMalloc", at, "cudaMalloc@3:2"},
        {"cudaFree@1:2; @3:2", "@3:2", function, "cudaMalloc@3:2"},
        {"cuda*Async@3:2", "cuda*Async@3:2", at, "cudaMalloc*@3:2"},
        {"cudaMalloc@:2", "cudaMalloc@:2", when, "cudaMalloc@3:2"},
        {"cudaMalloc@0:2", "cudaMalloc@0:2", when, "cudaMalloc@3:2"},
        {"cudaMalloc@101%:2", "cudaMalloc@101%:2", when, "5% (by chance)"},
        {"cudaMalloc@5:", "cudaMalloc@5:", error, "cudaMalloc@3:2"},
        {"cudaMalloc@5:0", "cudaMalloc@5:0", error, "cudaErrorMemoryAllocation"},
        {"cudaMalloc@5:cudaErrorMemory", "cudaMalloc@5:cudaErrorMemory", unknown, "cudaMalloc@3:2"},
        {"cudaMalloc@5:cudaSuccess", "cudaMalloc@5:cudaSuccess", unknown, "cudaMalloc@3:2"},
        {"cuInit@1:CUDA_SUCCESS", "cuInit@1:CUDA_SUCCESS", unknown, "cudaMalloc@3:2"},
        {"cudaMalloc@5:2x", "cudaMalloc@5:2x", error, "cudaMalloc@3:2"},
        {"cudaMalloc@5:99999999999", "cudaMalloc@5:99999999999", error, "cudaMalloc@3:2"},
        {"cudaMalloc@99999999999999999999:2", "cudaMalloc@99999999999999999999:2", when,
         "cudaMalloc@3:2"},
        {"cudaMalloc@*:2,seed=x", "seed=x", seed, "seed=42"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char start[200];
        assert_int_equal(saying(acu_inject_errors, wrong[i].rule), EINVAL);
        snprintf(start, sizeof start, "anycuda: acu_inject_errors injects no errors: \"%s\" %s",
                 wrong[i].item, wrong[i].wrong);
        assert_memory_equal(written, start, strlen(start));
        char *second = strchr(written, '\n') + 1, *end = strchr(second, '\n');
        assert_memory_equal(second, "  expected: ", 12);
        assert_non_null(strstr(second, wrong[i].example));
        assert_ptr_equal(end, written + strlen(written) - 1);
        assert_true(end - second <= 100);
        assert_false(acu_layer_hooks.on());
    }
    char many[33 * 8 + 1] = "";
    for (int i = 0; i < 33; i++)
        memcpy(many + 6 * (size_t)i, "f@1:2;", 7);
    assert_int_equal(saying(acu_inject_errors, many), EINVAL);
    assert_non_null(strstr(written, "\"f@1:2\" is one rule too many\n  expected: at most 32;"));
    char is_long[400];
    memset(is_long, 'f', sizeof is_long);
    is_long[399] = '\0';
    assert_int_equal(saying(acu_inject_errors, is_long), EINVAL);
    assert_non_null(strstr(written, "is too long for a rule\n  expected: at most 287 characters"));
}

/* ---- counting over threads ---- */

enum { THREADS = 8, CALLS = 2000 };

static void *call_often(void *failed) {
    void *null = NULL;
    const void *args[] = {&null, &null, &null, &null};
    for (int i = 0; i < CALLS; i++)
        *(int *)failed += call(i % 2 ? &host : &copy, args, 0) != 0;
    return NULL;
}

static int errors_over_threads(const char *rule) {
    pthread_t threads[THREADS];
    int failed[THREADS] = {0}, sum = 0;
    assert_int_equal(acu_inject_errors(rule), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &failed[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += failed[i];
    }
    acu_inject_errors(NULL);
    return sum;
}

static void threads_share_one_count(void **state) {
    (void)state;
    const int each = THREADS * CALLS / 2;
    assert_int_equal(errors_over_threads("cudaHostAlloc@777:2"), 1);
    assert_int_equal(errors_over_threads("cuda*@777:2"), 2);
    assert_int_equal(errors_over_threads("cudaHostAlloc@101+:2"), each - 100);
    int some = errors_over_threads("cuda*@10%:2;seed=42");
    assert_in_range(some, 2 * each / 10 - 300, 2 * each / 10 + 300);
    assert_int_equal(errors_over_threads("seed=42;cuda*@10%:2"), some);
    assert_int_not_equal(errors_over_threads("seed=43;cuda*@10%:2"), some);
    assert_in_range(errors_over_threads("*@0.5%:2"), 30, 150);
}

static void *set_and_reset(void *unused) {
    (void)unused;
    for (int i = 0; i < 300; i++) {
        acu_inject_errors(i % 2 ? "*@50%:cudaErrorInvalidValue" : NULL);
        acu_trace_to(i % 3 ? "/dev/null" : NULL);
    }
    return NULL;
}

static void rules_may_change_while_others_call(void **state) {
    (void)state;
    pthread_t setter;
    assert_int_equal(pthread_create(&setter, NULL, set_and_reset, NULL), 0);
    (void)errors_over_threads("*@50%:2");
    pthread_join(setter, NULL);
    acu_inject_errors(NULL);
    acu_trace_to(NULL);
}

/* ---- any rule ---- */

/* Returns the next number of a sequence that is the same on every machine. */
static uint32_t any(uint32_t below) {
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return (state >> 8U) % below;
}

static int mutate(const char *unused) {
    static const char *const seeds[] = {"cudaMalloc@3:2", "cuda*@5%:cudaErrorInvalidValue;seed=42",
                                        "a@3+:2,b@*:1, *@0.25%:7"};
    static const char alphabet[] = "@:;,*%+.= \t\n09ac_\"\\\x01\xff";
    char rule[512];
    (void)unused;
    for (int round = 0; round < 30000; round++) {
        size_t length = (size_t)snprintf(rule, sizeof rule, "%s", seeds[any(3)]);
        for (uint32_t changes = 1 + any(6); changes; changes--) {
            size_t at = any((uint32_t)(length + 1));
            switch (any(3)) {
            case 0: /* insert, now and then a lot */
                for (int n = any(20) ? 1 : 120; n && length + 1 < sizeof rule; n--, length++) {
                    memmove(rule + at + 1, rule + at, length - at + 1);
                    rule[at] = alphabet[any((uint32_t)(sizeof alphabet - 1))];
                }
                break;
            case 1: /* cut */
                rule[at] = '\0';
                length = at;
                break;
            default:
                if (at < length)
                    rule[at] = alphabet[any((uint32_t)(sizeof alphabet - 1))];
                break;
            }
        }
        int error = acu_inject_errors(rule);
        if (error != 0 && error != EINVAL)
            return error;
        if (error && acu_layer_hooks.on())
            return -1;
        (void)call(&last_error, NULL, 0);
    }
    return acu_inject_errors(NULL);
}

static void any_rule_is_survived(void **state) {
    (void)state;
    assert_int_equal(saying(mutate, NULL), 0);
}

static void bound_functions_come_back_to_the_layers(void **state) {
    (void)state;
    taken_back = 0;
    acu_inject_errors("f@1:2");
    assert_int_equal(taken_back, 3);
    acu_inject_errors(NULL);
    assert_int_equal(taken_back, 3);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_is_read_once), /* first */
        cmocka_unit_test(a_line_names_arguments_enumerators_and_handles),
        cmocka_unit_test(results_are_shown_after_success_only_and_flags_by_name),
        cmocka_unit_test(texts_are_quoted_and_bounded),
        cmocka_unit_test(records_show_active_fields_and_what_they_lead_to),
        cmocka_unit_test(arrays_are_counted_by_their_parameter),
        cmocka_unit_test(a_function_that_returns_no_result_shows_none),
        cmocka_unit_test(a_line_is_bounded_and_keeps_its_result),
        cmocka_unit_test(neither_errno_nor_result_changes),
        cmocka_unit_test(what_cannot_be_read_is_a_pointer),
        cmocka_unit_test(a_fifo_without_a_reader_is_an_error),
        cmocka_unit_test(a_file_of_the_program_gets_no_line),
        cmocka_unit_test(a_file_with_the_number_of_stderr_gets_no_line),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_reported_once),
        cmocka_unit_test(the_trace_can_go_to_stderr_and_change_files),
        cmocka_unit_test(calls_fail_by_their_number),
        cmocka_unit_test(an_injected_error_has_a_name_and_a_reason),
        cmocka_unit_test(a_wildcard_counts_each_function_and_spares_the_last_error),
        cmocka_unit_test(an_unknown_result_is_reported_and_fails_nothing),
        cmocka_unit_test(both_variants_of_a_function_share_one_count),
        cmocka_unit_test(a_rule_that_met_no_call_is_reported_once_at_exit),
        cmocka_unit_test(a_refused_call_stays_refused),
        cmocka_unit_test(a_malformed_rule_is_reported_and_fails_nothing),
        cmocka_unit_test(bound_functions_come_back_to_the_layers),
        cmocka_unit_test(threads_share_one_count),
        cmocka_unit_test(rules_may_change_while_others_call),
        cmocka_unit_test(any_rule_is_survived),
    };
    close(mkstemp(scratch_path(file)));
    setenv("ANYCUDA_TRACE", file, 1);
    setenv("ANYCUDA_FAIL", "cudaGetLastError@1:7", 1);
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
