/*
 * The trace: one line per call. A pointer is followed only where the tables allow it, and where the
 * program could read what it leads to: a call that failed or was refused may have any pointer.
 */
#define _GNU_SOURCE /* dup3, syscall */
#include "layers/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/values.h"
#include "layers/line.h"
#include "loader/library.h"
#include "loader/platform.h"

enum {
    SHOWN = 4,         /* elements of an array */
    FIELDS_SHOWN = 16, /* of a record */
    DEPTH_SHOWN = 3,   /* records in records */
};

/* ---- values ---- */

static const void *read_pointer(const void *at) {
    const void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static void put_pointer(acu_line *out, const void *pointer) {
    if (pointer)
        acu_line_print(out, "0x%" PRIxPTR, (uintptr_t)pointer);
    else
        acu_line_put(out, "NULL");
}

/* Puts the name of the whole value; if there is none, the names of its bits and the rest as a
 * number. */
static void put_flags(acu_line *out, const acu_type *type, uint64_t bits) {
    const char *whole = acu_value_name(type, (int64_t)bits);
    const char *between = "";
    if (whole || bits == 0) {
        acu_line_put(out, whole ? whole : "0");
        return;
    }
    for (uint32_t i = 0; i < type->count; i++) {
        uint64_t bit = (uint64_t)type->values[i].value;
        if (bit == 0 || (bit & bits) != bit)
            continue;
        acu_line_put(out, between);
        acu_line_put(out, acu_part_name(type->name, i));
        bits &= ~bit;
        between = "|";
    }
    if (bits)
        acu_line_print(out, "%s0x%" PRIx64, between, bits);
}

static void put_float(acu_line *out, const acu_type *type, const void *at) {
    char text[32];
    float f;
    double d;
    if (type->size == sizeof f) {
        memcpy(&f, at, sizeof f);
        d = (double)f;
    } else {
        memcpy(&d, at, sizeof d);
    }
    snprintf(text, sizeof text, "%.9g", d);
    for (char *c = text; *c; c++) /* the locale's decimal comma would look like the next argument */
        if (*c == ',')
            *c = '.';
    acu_line_put(out, text);
}

static void put_named(acu_line *out, const acu_type *type, const void *at) {
    int64_t value = acu_value_read(type, at);
    const char *name = acu_value_name(type, value);
    if (name)
        acu_line_put(out, name);
    else if (type->kind == ACU_KIND_HANDLE)
        put_pointer(out, read_pointer(at));
    else
        acu_line_print(out, "%" PRId64, value);
}

/* Returns how many bytes of a text can be read, up to its end or to `size`. */
static size_t readable_length(const char *text, size_t size) {
    enum { PAGE = 4096 };
    size_t length = 0;
    while (length < size && acu_platform_is_readable(text + length, 1)) {
        size_t rest = PAGE - (uintptr_t)(text + length) % PAGE;
        size_t piece = strnlen(text + length, rest < size - length ? rest : size - length);
        length += piece;
        if (piece < rest)
            break;
    }
    return length;
}

/* Quotes at most `size` characters; what cannot be read is a pointer. */
static void put_text(acu_line *out, const char *text, size_t size) {
    if (size > 0 && !acu_platform_is_readable(text, 1))
        put_pointer(out, text);
    else
        acu_line_put_quoted(
            out, text, readable_length(text, size <= ACU_TEXT_SHOWN ? size : ACU_TEXT_SHOWN + 1));
}

static void put_record(acu_line *out, const acu_type *type, const char *record, int32_t tag,
                       int depth);

static void put_value(acu_line *out, const acu_type *type, const void *at, int32_t tag, int depth) {
    const char *text;
    switch ((acu_kind)type->kind) {
    case ACU_KIND_SIGNED:
    case ACU_KIND_CHAR:
        acu_line_print(out, "%" PRId64, acu_value_read(type, at));
        break;
    case ACU_KIND_UNSIGNED:
        acu_line_print(out, "%" PRIu64, (uint64_t)acu_value_read(type, at));
        break;
    case ACU_KIND_FLOAT:
        put_float(out, type, at);
        break;
    case ACU_KIND_ENUM:
    case ACU_KIND_HANDLE:
        put_named(out, type, at);
        break;
    case ACU_KIND_FLAGS:
        put_flags(out, type, (uint64_t)acu_value_read(type, at));
        break;
    case ACU_KIND_POINTER:
    case ACU_KIND_FUNCTION:
        put_pointer(out, read_pointer(at));
        break;
    case ACU_KIND_TEXT:
        text = read_pointer(at);
        if (text)
            put_text(out, text, SIZE_MAX);
        else
            acu_line_put(out, "NULL");
        break;
    case ACU_KIND_RECORD:
        put_record(out, type, at, tag, depth);
        break;
    }
}

static void put_array(acu_line *out, const acu_type *type, const char *at, size_t count,
                      int32_t tag, int depth) {
    if (type->kind == ACU_KIND_CHAR) {
        put_text(out, at, count);
        return;
    }
    if (!acu_platform_is_readable(at, (count < SHOWN ? count : SHOWN) * type->size)) {
        put_pointer(out, at);
        return;
    }
    acu_line_put(out, "[");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        acu_line_put(out, i ? ", " : "");
        put_value(out, type, at + i * type->size, tag, depth);
    }
    if (count > SHOWN)
        acu_line_print(out, ", " ACU_ELLIPSIS "%zu in all", count);
    acu_line_put(out, "]");
}

static void put_field(acu_line *out, const acu_type *type, const acu_field *field,
                      const char *record, int32_t tag, int depth) {
    const char *at = record + field->offset;
    const acu_type *pointed = acu_field_target(field);
    const void *target = pointed ? read_pointer(at) : NULL;
    acu_line_put(out, acu_part_name(type->name, (size_t)(field - type->fields)));
    acu_line_put(out, "=");
    if (target && depth < DEPTH_SHOWN)
        put_array(out, pointed, target, acu_field_target_count(type, field, record), tag, depth);
    else if (field->count > 1)
        put_array(out, field->type, at, field->count, tag, depth);
    else
        put_value(out, field->type, at, tag, depth);
}

/* Returns whether a field is the array that only gives a union its size
 * (cudaLaunchAttributeValue.pad). */
static bool is_filler(const acu_type *type, const acu_field *field) {
    size_t end = field->offset + (size_t)field->count * field->type->size;
    if (field->tags || field->count == 1)
        return false;
    for (uint32_t i = 0; i < type->count; i++)
        if (type->fields[i].tags && type->fields[i].offset >= field->offset &&
            type->fields[i].offset < end)
            return true;
    return false;
}

/* Shows the fields that mean something: neither padding nor inactive members of a union. */
static void put_record(acu_line *out, const acu_type *type, const char *record, int32_t tag,
                       int depth) {
    int shown = 0;
    acu_line_put(out, "{");
    for (uint32_t i = 0; i < type->count; i++) {
        const acu_field *field = &type->fields[i];
        int32_t own = acu_field_tag(type, field, record, tag);
        if (field->reserved || !acu_field_active(field, own) || is_filler(type, field))
            continue;
        acu_line_put(out, shown ? ", " : "");
        if (shown++ == FIELDS_SHOWN || depth == DEPTH_SHOWN) {
            acu_line_put(out, ACU_ELLIPSIS);
            break;
        }
        put_field(out, type, field, record, own, depth + 1);
    }
    acu_line_put(out, "}");
}

/* ---- a call ---- */

/* Returns whether the number of elements behind a pointer can be read. */
static bool has_count(const acu_call *call, unsigned i) {
    const acu_param *params = call->function->params;
    const int by = (int)params[i].length;
    if (by < 0 || !params[by].depth)
        return true;
    const void *at = read_pointer(acu_argument_at(call->function, (unsigned)by, call->args));
    return !at || acu_platform_is_readable(at, params[by].type->size);
}

/* Returns whether what a pointer leads to means something and can be read. */
static bool can_follow(const acu_call *call, unsigned i, const void *pointer, bool written) {
    const acu_param *param = &call->function->params[i];
    if (!pointer || !param->type || (param->direction == ACU_OUT && !written))
        return false;
    if (param->depth > 1)
        return param->direction != ACU_IN && acu_platform_is_readable(pointer, sizeof pointer);
    if (param->length >= 0)
        return has_count(call, i);
    return param->type->kind != ACU_KIND_CHAR &&
           acu_platform_is_readable(pointer, param->type->size);
}

/* What is for the trace for viewers, too, is a function of its own there, and part of the functions
 * below here: the linker drops it from the many programs without that trace. */
#define SHARED static inline __attribute__((always_inline))

SHARED void put_argument(acu_line *out, const acu_call *call, unsigned i, bool written) {
    const acu_param *param = &call->function->params[i];
    int32_t tag = acu_argument_tag(call->function, i, call->args);
    const void *argument = acu_argument_at(call->function, i, call->args);
    const void *pointer = param->depth ? read_pointer(argument) : NULL;
    bool follow = can_follow(call, i, pointer, written);
    acu_line_print(out, "%s%s=", follow && param->length < 0 ? "*" : "",
                   acu_part_name(call->function->name, i)); /* tests/structure: all fit */
    if (!param->depth)
        put_value(out, param->type, argument, tag, 0);
    else if (!follow)
        put_pointer(out, pointer);
    else if (param->depth > 1)
        put_pointer(out, read_pointer(pointer));
    else if (param->length >= 0)
        put_array(out, param->type, pointer, acu_argument_count(call->function, i, call->args), tag,
                  0);
    else
        put_value(out, param->type, pointer, tag, 0);
}

SHARED void put_result(acu_line *out, const acu_call *call) {
    const acu_type *results = acu_library_about(call->function->library)->result_type;
    if (call->function->returns == ACU_RETURNS_STATUS) {
        const char *name = acu_value_name(results, call->result);
        acu_line_put(out, " = ");
        if (name)
            acu_line_put(out, name);
        else
            acu_line_print(out, "%d", call->result);
    }
    if (call->injected)
        acu_line_put(out, " (injected)");
    else if (call->made_here && call->result)
        acu_line_put(out, " (refused)");
}

void (*acu_trace_put_thread)(acu_line *out);

static void write_call(const acu_call *call, int fd, uint64_t duration_ns) {
    const acu_function *function = call->function;
    acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
    bool succeeded = function->returns != ACU_RETURNS_STATUS || call->result == 0;
    if (acu_trace_put_thread)
        acu_trace_put_thread(&out);
    else
        acu_line_print(&out, "[%ld] ", syscall(SYS_gettid));
    acu_line_put(&out, function->name);
    acu_line_put(&out, "(");
    for (unsigned i = 0; i < function->param_count; i++) {
        acu_line_put(&out, i ? ", " : "");
        put_argument(&out, call, i, succeeded && !call->made_here);
    }
    out.cut = false;
    out.limit =
        ACU_LINE - sizeof ACU_ELLIPSIS - 1; /* leaves room for the result and the line's end */
    acu_line_put(&out, ")");
    put_result(&out, call);
    acu_line_print(&out, "  %" PRIu64 ".%" PRIu64 " us", duration_ns / 1000,
                   duration_ns % 1000 / 100);
    acu_line_write(&out, fd);
}

/* ---- the target ---- */

static atomic_int trace_fd = -1;
static pthread_mutex_t target_lock = PTHREAD_MUTEX_INITIALIZER; /* while the target changes */
/* The file behind the trace's descriptor; a program may close the descriptor and open another file
 * there. */
static _Atomic dev_t file_device;
static _Atomic ino_t file_number;

static void note_file(int fd) {
    struct stat about = {.st_dev = 0};
    (void)fstat(fd, &about);
    atomic_store(&file_device, about.st_dev);
    atomic_store(&file_number, about.st_ino);
}

static bool is_our_file(int fd) {
    struct stat about;
    return fstat(fd, &about) == 0 && about.st_dev == atomic_load(&file_device) &&
           about.st_ino == atomic_load(&file_number);
}

/* Opens the file for appending. A FIFO that nobody reads is an error, ENXIO, instead of a wait. The
 * trace has a descriptor of its own also for stderr: whatever the program opens after it closed
 * number 2 gets that number. Returns -1 and sets errno where that fails. */
static int open_target(const char *path) {
    if (strcmp(path, "stderr") == 0)
        return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, O_APPEND);
    return fd;
}

/* Sets where the trace goes. The file's descriptor is never closed, only replaced, because another
 * thread may be about to write to it. */
int acu_trace_set(const char *target, const char *about) {
    static int file = -1; /* under the lock */
    int fd = -1, error = 0;
    pthread_mutex_lock(&target_lock);
    if (target && *target) {
        fd = open_target(target);
        error = fd < 0 ? errno : 0;
        if (fd >= 0 && file >= 0 && is_our_file(file)) {
            dup3(fd, file, O_CLOEXEC);
            close(fd);
            fd = file;
        }
        if (fd >= 0)
            note_file(fd);
        file = fd >= 0 ? fd : file;
    }
    atomic_store(&trace_fd, fd);
    pthread_mutex_unlock(&target_lock);
    if (error) {
        acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
        acu_line_put_complaint(&out, about, " cannot open ", target, strlen(target));
        acu_line_put(&out, ": ");
        acu_line_put(&out, strerror(error));
        acu_line_write(&out, STDERR_FILENO);
    }
    return error;
}

bool acu_trace_on(void) {
    return atomic_load(&trace_fd) >= 0;
}

/* Ends the trace, with a message, if the file behind its descriptor is not the trace's. The lock
 * tells that from a target that another thread is about to change. */
static void end_lost_trace(int fd) {
    pthread_mutex_lock(&target_lock);
    const bool lost = atomic_load(&trace_fd) == fd && !is_our_file(fd);
    if (lost)
        atomic_store(&trace_fd, -1);
    pthread_mutex_unlock(&target_lock);
    if (lost) {
        acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
        acu_line_put(&out, "anycuda: the trace ends, because the program closed its file");
        acu_line_write(&out, STDERR_FILENO);
    }
}

/* Returns the trace's descriptor; -1 if the trace is off, or is lost and ends. */
SHARED int descriptor(void) {
    int fd = atomic_load(&trace_fd);
    if (fd < 0 || is_our_file(fd))
        return fd;
    end_lost_trace(fd);
    return -1;
}

void acu_trace_call(const acu_call *call, uint64_t duration_ns) {
    int fd = descriptor();
    if (fd >= 0)
        write_call(call, fd, duration_ns);
}

/* ---- for the trace for viewers ---- */

void acu_trace_put_argument(acu_line *out, const acu_call *call, unsigned i, bool written) {
    put_argument(out, call, i, written);
}

void acu_trace_put_result(acu_line *out, const acu_call *call) {
    put_result(out, call);
}

void acu_trace_line(acu_line *line) {
    int fd = descriptor();
    if (fd >= 0)
        acu_line_write(line, fd);
}
