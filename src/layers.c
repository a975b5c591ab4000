/*
 * The two layers: a trace of calls and injected faults.
 *
 * Both are for a program that misbehaves, so they must not depend on its health: no heap per call,
 * one write per line, and no pointer is followed that the tables do not say may be.
 */
#define _GNU_SOURCE /* dup3, syscall */
#include "layers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/loader.h"
#include "loader/platform.h"

/* ---- a line of text ------------------------------------------------------------------------ */

enum {
    LINE = 4096,     /* PIPE_BUF: what a pipe takes in one piece */
    TAIL = 256,      /* kept free of arguments, for the result */
    TEXT_SHOWN = 64, /* characters of a text */
    SHOWN = 4,       /* elements of an array */
    FIELDS_SHOWN = 16,
    DEPTH_SHOWN = 3, /* records in records */
};

typedef struct line {
    char text[LINE];
    size_t used, limit;
    bool cut;
} line;

static const char ellipsis[] = "\xe2\x80\xa6";

static void put_bytes(line *out, const char *piece, size_t size) {
    if (out->cut)
        return;
    if (size > out->limit - out->used) {
        out->cut = true;
        piece = ellipsis;
        size = sizeof ellipsis - 1; /* there is room for it beyond the limit */
    }
    memcpy(out->text + out->used, piece, size);
    out->used += size;
}

static void put(line *out, const char *piece) {
    put_bytes(out, piece, strlen(piece));
}

__attribute__((format(printf, 2, 3))) static void print(line *out, const char *format, ...) {
    char piece[64];
    va_list list;
    va_start(list, format);
    vsnprintf(piece, sizeof piece, format, list);
    va_end(list);
    put(out, piece);
}

/* At most `size` characters, which need not end with a zero. */
static void put_quoted(line *out, const char *text, size_t size) {
    size_t length = strnlen(text, size);
    put(out, "\"");
    for (size_t i = 0; i < length && i < TEXT_SHOWN; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            put(out, "\\n");
        else if (c < ' ' || c == 0x7f)
            print(out, "\\x%02x", c);
        else if (c == '"' || c == '\\')
            print(out, "\\%c", c);
        else
            put_bytes(out, (const char *)&c, 1);
    }
    put(out, length > TEXT_SHOWN ? "\xe2\x80\xa6\"" : "\"");
}

/* In one piece, whatever the file is. What cannot be written is lost: a trace stops no program. */
static void write_line(line *out, int fd) {
    out->text[out->used++] = '\n';
    while (write(fd, out->text, out->used) < 0 && errno == EINTR)
        continue;
}

/* ---- values -------------------------------------------------------------------------------- */

static const void *read_pointer(const void *at) {
    const void *pointer;
    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static void put_pointer(line *out, const void *pointer) {
    if (pointer)
        print(out, "0x%" PRIxPTR, (uintptr_t)pointer);
    else
        put(out, "NULL");
}

static const char *name_of(const acu_type *type, int64_t value) {
    for (uint32_t i = 0; type->values && i < type->count; i++)
        if (acu_same_value(type, type->values[i].value, value))
            return type->values[i].name;
    return NULL;
}

/* A name of the whole value, else the names of its single bits and what is left as a number. */
static void put_flags(line *out, const acu_type *type, uint64_t bits) {
    const char *whole = name_of(type, (int64_t)bits);
    const char *between = "";
    if (whole || bits == 0) {
        put(out, whole ? whole : "0");
        return;
    }
    for (uint32_t i = 0; i < type->count; i++) {
        uint64_t bit = (uint64_t)type->values[i].value;
        if (bit == 0 || (bit & bits) != bit)
            continue;
        print(out, "%s", between);
        put(out, type->values[i].name);
        bits &= ~bit;
        between = "|";
    }
    if (bits)
        print(out, "%s0x%" PRIx64, between, bits);
}

static void put_float(line *out, const acu_type *type, const void *at) {
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
    put(out, text);
}

static void put_named(line *out, const acu_type *type, const void *at) {
    int64_t value = acu_read_integer(type, at);
    const char *name = name_of(type, value);
    if (name)
        put(out, name);
    else if (type->kind == ACU_KIND_HANDLE)
        put_pointer(out, read_pointer(at));
    else
        print(out, "%" PRId64, value);
}

static void put_record(line *out, const acu_type *type, const char *record, int32_t tag, int depth);

static void put_value(line *out, const acu_type *type, const void *at, int32_t tag, int depth) {
    const char *text;
    switch (type->kind) {
    case ACU_KIND_SIGNED:
    case ACU_KIND_CHAR:
        print(out, "%" PRId64, acu_read_integer(type, at));
        break;
    case ACU_KIND_UNSIGNED:
        print(out, "%" PRIu64, (uint64_t)acu_read_integer(type, at));
        break;
    case ACU_KIND_FLOAT:
        put_float(out, type, at);
        break;
    case ACU_KIND_ENUM:
    case ACU_KIND_HANDLE:
        put_named(out, type, at);
        break;
    case ACU_KIND_FLAGS:
        put_flags(out, type, (uint64_t)acu_read_integer(type, at));
        break;
    case ACU_KIND_POINTER:
    case ACU_KIND_FUNCTION:
        put_pointer(out, read_pointer(at));
        break;
    case ACU_KIND_TEXT:
        text = read_pointer(at);
        if (text)
            put_quoted(out, text, TEXT_SHOWN + 1);
        else
            put(out, "NULL");
        break;
    case ACU_KIND_RECORD:
        put_record(out, type, at, tag, depth);
        break;
    }
}

static void put_array(line *out, const acu_type *type, const char *at, size_t count, int32_t tag,
                      int depth) {
    if (type->kind == ACU_KIND_CHAR) {
        put_quoted(out, at, count);
        return;
    }
    put(out, "[");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        put(out, i ? ", " : "");
        put_value(out, type, at + i * type->size, tag, depth);
    }
    if (count > SHOWN)
        print(out, ", %s%zu in all", ellipsis, count);
    put(out, "]");
}

static void put_field(line *out, const acu_type *type, const acu_field *field, const char *record,
                      int32_t tag, int depth) {
    const char *at = record + field->offset;
    const void *target = field->target ? read_pointer(at) : NULL;
    put(out, field->name);
    put(out, "=");
    if (target && depth < DEPTH_SHOWN)
        put_array(out, field->target, target, acu_target_count(type, field, record), tag, depth);
    else if (field->count > 1)
        put_array(out, field->type, at, field->count, tag, depth);
    else
        put_value(out, field->type, at, tag, depth);
}

/* The array in a union that only gives it its size (cudaLaunchAttributeValue.pad). */
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

/* The fields that mean something: neither padding nor a union's inactive members. */
static void put_record(line *out, const acu_type *type, const char *record, int32_t tag,
                       int depth) {
    int shown = 0;
    put(out, "{");
    for (uint32_t i = 0; i < type->count; i++) {
        const acu_field *field = &type->fields[i];
        int32_t own = acu_field_tag(type, field, record, tag);
        if (field->reserved || !acu_field_active(field, own) || is_filler(type, field))
            continue;
        put(out, shown ? ", " : "");
        if (shown++ == FIELDS_SHOWN || depth == DEPTH_SHOWN) {
            put(out, ellipsis);
            break;
        }
        put_field(out, type, field, record, own, depth + 1);
    }
    put(out, "}");
}

/* ---- the trace ----------------------------------------------------------------------------- */

/* What a pointer leads to is shown only where something readable is known to be there. */
static bool can_follow(const acu_param *param, const void *pointer, bool written) {
    if (!pointer || !param->type || (param->direction == ACU_OUT && !written))
        return false;
    if (param->depth > 1)
        return param->direction != ACU_IN;
    return param->type->kind != ACU_KIND_CHAR || param->length >= 0;
}

static void put_argument(line *out, const acu_call *call, unsigned i, bool written) {
    const acu_param *param = &call->function->params[i];
    int32_t tag = acu_argument_tag(call->function, i, call->args);
    const void *pointer = param->depth ? read_pointer(call->args[i]) : NULL;
    bool follow = can_follow(param, pointer, written);
    if (follow && param->length < 0)
        put(out, "*");
    put(out, param->name);
    put(out, "=");
    if (!param->depth)
        put_value(out, param->type, call->args[i], tag, 0);
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

static void put_result(line *out, const acu_call *call) {
    const acu_type *results = acu_library_about(call->function->library)->result_type;
    if (call->function->returns == ACU_RETURNS_STATUS) {
        const char *name = name_of(results, call->result);
        put(out, " = ");
        if (name)
            put(out, name);
        else
            print(out, "%d", call->result);
    }
    if (call->injected)
        put(out, " (injected)");
    else if (call->made_here && call->result)
        put(out, " (refused)");
}

static void trace(const acu_call *call, int fd, uint64_t duration_ns) {
    const acu_function *function = call->function;
    line out = {.limit = LINE - TAIL};
    bool succeeded = function->returns != ACU_RETURNS_STATUS || call->result == 0;
    print(&out, "[%ld] ", syscall(SYS_gettid));
    put(&out, function->name);
    put(&out, "(");
    for (unsigned i = 0; i < function->param_count; i++) {
        put(&out, i ? ", " : "");
        put_argument(&out, call, i, succeeded && !call->made_here);
    }
    out.cut = false;
    out.limit = LINE - sizeof ellipsis - 1; /* the result has its room, and a line end */
    put(&out, ")");
    put_result(&out, call);
    print(&out, "  %" PRIu64 ".%" PRIu64 " us", duration_ns / 1000, duration_ns % 1000 / 100);
    write_line(&out, fd);
}

/* ---- the rules of faults ------------------------------------------------------------------- */

enum { RULES = 32, NAME = 96, COUNTERS = 2048, MILLION = 1000000 };

typedef enum when { WHEN_AT, WHEN_FROM, WHEN_CHANCE } when;

typedef struct fault {
    char text[3 * NAME]; /* as it was given */
    char function[NAME];
    bool is_prefix;
    when when;
    uint64_t number;   /* of the call; of a million, if by chance */
    char result[NAME]; /* "": `code` says it */
    int code;
    bool met, complained; /* a function that it is about was called; its result's name is unknown */
} fault;

/* By name, which both variants of a function (default stream per thread or not) share. */
typedef struct counter {
    const char *name;
    uint64_t calls;
} counter;

/* Read and counted under the lock; a new one takes its place as a whole. */
typedef struct rule_set {
    uint64_t seed;
    unsigned count;
    fault rules[RULES];
    counter counters[COUNTERS]; /* hashed; more than all libraries' functions */
} rule_set;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rule_set *faults;
static atomic_bool failing;
static atomic_int
    owner; /* the process that set the rules; a child of it has nothing to say of them */
static atomic_int trace_fd = -1;

/* What is wrong with an item of the list, and what is expected instead, with an example. */
typedef struct mistake {
    const char *wrong, *expected;
} mistake;

static const mistake no_function = {
    "names no function",
    "a name, or its beginning and '*', as in cudaMalloc@3:2 or cudaMemcpy*@3:2"};
static const mistake no_at = {"has no '@' after the function's name",
                              "FUNCTION@WHEN:RESULT, as in cudaMalloc@3:2 or cudaMemcpy*@3:2"};
static const mistake no_calls = {
    "does not say after '@' which calls fail",
    "3 (the third), 3+ (from it on), * (each), 5% (by chance); then ':', as in cudaMalloc@3:2"};
static const mistake no_error = {
    "does not end with ':' and an error",
    "its number or its name, as in cudaMalloc@3:2 or cudaMalloc@3:cudaErrorMemoryAllocation"};
static const mistake no_seed = {"gives no number", "one of at most 64 bits, as in seed=42"};
static const mistake too_many = {
    "is one rule too many", "at most 32; one can be about many functions, as in cudaMemcpy*@3:2"};
static const mistake too_long = {"is too long for a rule",
                                 "at most 287 characters, as in cudaMalloc@3:2"};

static void say_mistake(const char *about, const char *item, size_t size, const mistake *m) {
    line out = {.limit = LINE - TAIL};
    put(&out, "anycuda: ");
    put(&out, about);
    put(&out, " makes no call fail: ");
    put_quoted(&out, item, size);
    put(&out, " ");
    put(&out, m->wrong);
    put(&out, "\n  expected: ");
    put(&out, m->expected);
    write_line(&out, STDERR_FILENO);
}

/* Locale-free: the environment of a program must not change what a rule means. */
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A number up to `most`; where it ends, or NULL. */
static const char *read_number(const char *at, uint64_t most, uint64_t *number) {
    const char *start = at;
    for (*number = 0; is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (*number > (most - digit) / 10)
            return NULL;
        *number = *number * 10 + digit;
    }
    return at == start ? NULL : at;
}

/* A word into `name`; where it ends, or NULL if there is none or it is too long. */
static const char *read_word(const char *at, char name[NAME]) {
    size_t length = 0;
    while (is_word(at[length]))
        length++;
    if (length >= NAME)
        return NULL;
    memcpy(name, at, length);
    name[length] = '\0';
    return at + length;
}

/* "5%", "0.25%": a part of a million. */
static const char *read_chance(const char *at, uint64_t whole, uint64_t *number) {
    uint64_t unit = MILLION / 100;
    *number = whole * unit;
    if (*at == '.')
        for (at++; is_digit(*at) && unit > 1; at++) {
            unit /= 10;
            *number += (uint64_t)(*at - '0') * unit;
        }
    return *at == '%' && *number <= MILLION ? at + 1 : NULL;
}

static const char *read_when(const char *at, fault *r) {
    if (*at == '*') {
        r->when = WHEN_FROM;
        r->number = 1;
        return at + 1;
    }
    at = read_number(at, UINT32_MAX, &r->number);
    if (at && (*at == '%' || *at == '.')) {
        r->when = WHEN_CHANCE;
        return read_chance(at, r->number, &r->number);
    }
    if (!at || r->number == 0)
        return NULL;
    r->when = *at == '+' ? WHEN_FROM : WHEN_AT;
    return *at == '+' ? at + 1 : at;
}

static const char *read_result(const char *at, fault *r) {
    uint64_t code = 0;
    if (!is_digit(*at)) {
        at = read_word(at, r->result);
        return r->result[0] ? at : NULL;
    }
    at = read_number(at, INT32_MAX, &code);
    r->code = (int)code;
    return code ? at : NULL;
}

/* FUNCTION@WHEN:RESULT; what is wrong with it, or NULL. */
static const mistake *read_rule(const char *at, fault *r) {
    at = read_word(at, r->function);
    if (at && *at == '*') {
        r->is_prefix = true;
        at++;
    }
    if (!at || (!r->is_prefix && !r->function[0]))
        return &no_function;
    if (*at != '@')
        return &no_at;
    at = read_when(at + 1, r);
    if (!at || *at != ':')
        return &no_calls;
    at = read_result(at + 1, r);
    return at && !*at ? NULL : &no_error;
}

/* One item of the list, without blanks around it. */
static const mistake *read_item(const char *item, rule_set *set) {
    static const char seed[] = "seed=";
    if (strncmp(item, seed, sizeof seed - 1) == 0) {
        const char *end = read_number(item + sizeof seed - 1, UINT64_MAX, &set->seed);
        return end && !*end ? NULL : &no_seed;
    }
    if (set->count == RULES)
        return &too_many;
    fault *r = &set->rules[set->count++];
    memcpy(r->text, item, strlen(item) + 1);
    return read_rule(item, r);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Says what is wrong, if anything is. */
static bool read_rules(const char *rules, rule_set *set, const char *about) {
    while (*rules) {
        char item[sizeof set->rules[0].text];
        size_t size = strcspn(rules, ";,");
        const char *start = rules;
        rules += size + (rules[size] != '\0');
        for (; size && is_blank(*start); size--)
            start++;
        while (size && is_blank(start[size - 1]))
            size--;
        if (size == 0)
            continue;
        memcpy(item, start, size < sizeof item ? size : 0);
        item[size < sizeof item ? size : 0] = '\0';
        const mistake *wrong = size < sizeof item ? read_item(item, set) : &too_long;
        if (wrong) {
            say_mistake(about, start, size, wrong);
            return false;
        }
    }
    return true;
}

static int set_faults(const char *rules, const char *about) {
    int error = 0;
    rule_set *set = NULL;
    if (rules && *rules) {
        set = calloc(1, sizeof *set);
        if (!set)
            error = ENOMEM;
        else if (!read_rules(rules, set, about))
            error = EINVAL;
    }
    if (error || (set && set->count == 0)) {
        free(set);
        set = NULL;
    }
    pthread_mutex_lock(&lock);
    rule_set *old = faults;
    faults = set;
    atomic_store(&owner, getpid());
    atomic_store(&failing, set != NULL);
    pthread_mutex_unlock(&lock);
    free(old);
    return error;
}

/* ---- injecting ----------------------------------------------------------------------------- */

static uint64_t count_call(rule_set *set, const char *name) {
    size_t at = ((uintptr_t)name >> 4U) % COUNTERS;
    for (size_t i = 0; i < COUNTERS; i++, at = (at + 1) % COUNTERS)
        if (!set->counters[at].name || set->counters[at].name == name)
            break;
    set->counters[at].name = name;
    return ++set->counters[at].calls;
}

/* Evenly spread, and the same for the same seed, function and call (splitmix64 over FNV-1a). */
static uint64_t chance(uint64_t seed, const char *name, uint64_t call) {
    uint64_t hash = 0xcbf29ce484222325;
    while (*name)
        hash = (hash ^ (unsigned char)*name++) * 0x100000001b3;
    hash += (seed + 1) * 0x9e3779b97f4a7c15 + call;
    hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111eb;
    return (hash ^ (hash >> 31U)) % MILLION;
}

static bool concerns(const fault *r, const acu_function *function) {
    const unsigned queries =
        (unsigned)ACU_QUIRK_GET_LAST_ERROR | (unsigned)ACU_QUIRK_PEEK_LAST_ERROR;
    if (!r->is_prefix)
        return strcmp(r->function, function->name) == 0;
    return strncmp(r->function, function->name, strlen(r->function)) == 0 &&
           !(function->quirks & queries);
}

static bool is_due(const fault *r, const acu_function *function, uint64_t seed, uint64_t call) {
    switch (r->when) {
    case WHEN_AT:
        return call == r->number;
    case WHEN_FROM:
        return call >= r->number;
    case WHEN_CHANCE:
        return chance(seed, function->name, call) < r->number;
    }
    return false;
}

/* The tables know what the error of each library is that 2 stands for: an example of a name. */
static void say_unknown_error(const fault *r, const acu_library_info *about) {
    const char *example = name_of(about->result_type, 2);
    line out = {.limit = LINE - TAIL};
    put(&out, "anycuda: fault rule ");
    put_quoted(&out, r->text, sizeof r->text);
    put(&out, " spares ");
    put(&out, about->name);
    put(&out, ", which has no error of that name\n  expected: ");
    put(&out, "one of its names, or a number, as in ");
    if (example) {
        put(&out, example);
        put(&out, " or ");
    }
    put(&out, "2");
    write_line(&out, STDERR_FILENO);
}

/* The rule's result as this library numbers it; 0, said once, if it has none of that name. */
static int code_of(fault *r, const acu_function *function) {
    const acu_library_info *about = acu_library_about(function->library);
    if (r->code)
        return r->code;
    for (uint32_t i = 0; i < about->result_type->count; i++)
        if (strcmp(about->result_type->values[i].name, r->result) == 0)
            return (int)about->result_type->values[i].value;
    if (!r->complained)
        say_unknown_error(r, about);
    r->complained = true;
    return 0;
}

/* The code of the first rule that lets this call fail, or 0. */
static int fault_of(const acu_function *function, char *why, size_t size) {
    int code = 0;
    uint64_t call = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; faults && i < faults->count; i++) {
        fault *r = &faults->rules[i];
        if (!concerns(r, function))
            continue;
        r->met = true;
        if (!call)
            call = count_call(faults, function->name);
        int would = code ? 0 : code_of(r, function);
        if (would && is_due(r, function, faults->seed, call)) {
            code = would;
            snprintf(why, size, "fault injected by rule \"%s\", call %" PRIu64, r->text, call);
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

/* At exit, after all that the program has for it: a name that is misspelt would be silent for ever.
 */
__attribute__((destructor)) static void say_unmet(void) {
    if (!atomic_load(&failing) || atomic_load(&owner) != getpid())
        return;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; faults && i < faults->count; i++) {
        const fault *r = &faults->rules[i];
        line out = {.limit = LINE - TAIL};
        if (r->met)
            continue;
        put(&out, "anycuda: fault rule ");
        put_quoted(&out, r->text, sizeof r->text);
        put(&out, r->is_prefix ? " met no call: no function whose name begins so was called"
                               : " met no call: no function of that name was called");
        write_line(&out, STDERR_FILENO);
    }
    pthread_mutex_unlock(&lock);
}

static void inject(acu_call *call) {
    char why[3 * NAME + 64];
    if (call->function->returns != ACU_RETURNS_STATUS)
        return;
    int code = fault_of(call->function, why, sizeof why);
    if (!code || !call->fn) /* a refused call fails as it is */
        return;
    call->fn = NULL;
    call->made_here = call->injected = true;
    call->result = acu_refuse_as(call->function, code, why);
}

/* ---- switching on and off ------------------------------------------------------------------ */

/* The file's descriptor is never closed, only replaced: another thread may be about to write to it.
 */
static int set_trace(const char *target, const char *about) {
    static int file = -1; /* under the lock */
    bool is_file = target && *target && strcmp(target, "stderr") != 0;
    int fd = target && *target ? STDERR_FILENO : -1;
    int error = 0;
    pthread_mutex_lock(&lock);
    if (is_file) {
        fd = open(target, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        error = fd < 0 ? errno : 0;
        if (fd >= 0 && file >= 0) {
            dup3(fd, file, O_CLOEXEC);
            close(fd);
            fd = file;
        }
        file = fd >= 0 ? fd : file;
    }
    atomic_store(&trace_fd, fd);
    pthread_mutex_unlock(&lock);
    if (error) {
        line out = {.limit = LINE - TAIL};
        put(&out, "anycuda: ");
        put(&out, about);
        put(&out, " cannot open ");
        put_quoted(&out, target, strlen(target));
        put(&out, ": ");
        put(&out, strerror(error));
        write_line(&out, STDERR_FILENO);
    }
    return error;
}

static void read_environment(void) {
    set_trace(acu_platform_env("ANYCUDA_TRACE"), "ANYCUDA_TRACE");
    set_faults(acu_platform_env("ANYCUDA_FAIL"), "ANYCUDA_FAIL");
}

static void begin_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
}

/* Functions that are bound already come back to the layers. */
static void rearm(void) {
    if (!acu_layers_on())
        return;
    acu_unpublish(&acu_cudart);
    acu_unpublish(&acu_cuda);
    acu_unpublish(&acu_nvrtc);
}

int acu_trace_to(const char *target) {
    begin_once();
    int error = set_trace(target, "acu_trace_to");
    rearm();
    return error;
}

int acu_fail_when(const char *rule) {
    begin_once();
    int error = set_faults(rule, "acu_fail_when");
    rearm();
    return error;
}

bool acu_layers_on(void) {
    begin_once();
    return atomic_load(&trace_fd) >= 0 || atomic_load(&failing);
}

void acu_layers_begin(acu_call *call) {
    int kept = errno;
    call->injected = false;
    if (atomic_load(&failing))
        inject(call);
    call->start_ns = acu_platform_now_ns();
    errno = kept;
}

void acu_layers_end(acu_call *call) {
    int kept = errno;
    uint64_t now = acu_platform_now_ns();
    int fd = atomic_load(&trace_fd);
    if (fd >= 0)
        trace(call, fd, now - call->start_ns);
    errno = kept;
}
