/* Injected errors: the rules, which are read from a text, and the calls that they make fail. */
#define _POSIX_C_SOURCE 200809L
#include "layers/inject.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/refuse.h"
#include "core/values.h"
#include "layers/line.h"
#include "loader/library.h"

/* ---- reading the rules ---- */

enum { RULES = 32, NAME = 96, COUNTERS = 2048, MILLION = 1000000 };

typedef enum when { WHEN_AT, WHEN_FROM, WHEN_CHANCE } when;

typedef struct rule {
    char text[3 * NAME]; /* as the user wrote it */
    char function[NAME]; /* the name, or its beginning */
    bool is_prefix;
    when when;
    uint64_t number;   /* of the call; by chance: how many of a million calls fail */
    char result[NAME]; /* the error's name; "" if `code` is given */
    int code;          /* 0 if `result` is given */
    bool met;          /* a function to which the rule applies was called */
    bool complained;   /* a message about the unknown name in `result` was written */
} rule;

/* The calls of one function. */
typedef struct counter {
    /* The address identifies the function: the variants for the two meanings of the default stream
     * share it. */
    const char *name;
    uint64_t calls;
} counter;

/* All rules and counters; under the lock. A new set replaces the old one as a whole. */
typedef struct rule_set {
    uint64_t seed;
    unsigned count;
    rule rules[RULES];
    counter counters[COUNTERS]; /* a hash table with more places than there are functions */
} rule_set;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rule_set *rules; /* owned; under the lock */
static atomic_bool is_on;
static atomic_int owner; /* the process that set the rules; a child reports nothing at exit */

/* What is wrong with a rule, and what is expected instead, with an example. */
#define MISTAKE(wrong, expected) wrong "\n  expected: " expected

static const char no_function[] =
    MISTAKE("names no function", "a name, or its beginning and '*', as in cudaMalloc@3:2");
static const char no_at[] =
    MISTAKE("has no '@' after the function's name",
            "FUNCTION@WHEN:RESULT, as in cudaMalloc@3:2 or cudaMalloc*@3:2");
static const char no_calls[] = MISTAKE(
    "does not name after '@' the calls that fail",
    "3 (the third), 3+ (from it on), * (each), 5% (by chance); then ':', as in cudaMalloc@3:2");
/* Both are about the error: `an_error` is expected instead, and is here once. */
static const char no_error[] = "does not end with ':' and an error";
static const char unknown_error[] = "ends with an error that no library of CUDA has";
static const char an_error[] = MISTAKE(
    "", "its number or its name, as in cudaMalloc@3:2 or cudaMalloc@3:cudaErrorMemoryAllocation");
static const char no_seed[] = MISTAKE("gives no number", "one of at most 64 bits, as in seed=42");
static const char too_many[] = MISTAKE(
    "is one rule too many", "at most 32; one can be about many functions, as in cudaMalloc*@3:2");
static const char too_long[] = MISTAKE("is too long for a rule", "at most 287 characters");

static void report_mistake(const char *about, const char *item, size_t size, const char *mistake) {
    acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
    acu_line_put_complaint(&out, about, " injects no errors: ", item, size);
    acu_line_put(&out, " ");
    acu_line_put(&out, mistake);
    if (mistake == no_error || mistake == unknown_error)
        acu_line_put(&out, an_error);
    acu_line_write(&out, STDERR_FILENO);
}

/* Returns whether a character is a digit, whatever the locale, because a rule must mean the same in
 * every program. */
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Reads a number of at most `most`; returns its end, or NULL if there is none. */
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

/* Copies a word into `name`; returns its end, or NULL if the word is too long. */
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

/* Reads the rest of "5%" or "0.25%", as calls of a million; returns its end, or NULL. */
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

static const char *read_when(const char *at, rule *r) {
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

static const char *read_result(const char *at, rule *r) {
    uint64_t code = 0;
    if (!is_digit(*at)) {
        at = read_word(at, r->result);
        return r->result[0] ? at : NULL;
    }
    at = read_number(at, INT32_MAX, &code);
    r->code = (int)code;
    return code ? at : NULL;
}

/* Returns whether the name may be an error's. The runtime's names are looked up; the tables of the
 * other libraries would be linked into each program for that, so their names are looked up when the
 * rule applies to a call. */
static bool may_be_error(const char *name) {
    if (strncmp(name, "cuda", 4) != 0)
        return !strstr(name, "SUCCESS");
    const acu_value *error = acu_value_find(acu_library_about(&acu_cudart)->result_type, name);
    return error && error->value;
}

/* Reads FUNCTION@WHEN:RESULT; returns what is wrong with it, or NULL. */
static const char *read_rule(const char *at, rule *r) {
    at = read_word(at, r->function);
    if (at && *at == '*') {
        r->is_prefix = true;
        at++;
    }
    if (!at || (!r->is_prefix && !r->function[0]))
        return no_function;
    if (*at != '@')
        return no_at;
    at = read_when(at + 1, r);
    if (!at || *at != ':')
        return no_calls;
    at = read_result(at + 1, r);
    if (!at || *at)
        return no_error;
    return r->code || may_be_error(r->result) ? NULL : unknown_error;
}

/* Reads one item of the list, without blanks around it; returns what is wrong with it, or NULL. */
static const char *read_item(const char *item, rule_set *set) {
    static const char seed[] = "seed=";
    if (strncmp(item, seed, sizeof seed - 1) == 0) {
        const char *end = read_number(item + sizeof seed - 1, UINT64_MAX, &set->seed);
        return end && !*end ? NULL : no_seed;
    }
    if (set->count == RULES)
        return too_many;
    rule *r = &set->rules[set->count++];
    memcpy(r->text, item, strlen(item) + 1);
    return read_rule(item, r);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Reads a list; reports the first mistake and returns false if there is one. */
static bool read_rules(const char *list, rule_set *set, const char *about) {
    while (*list) {
        char item[sizeof set->rules[0].text];
        size_t size = strcspn(list, ";,");
        const char *start = list;
        list += size + (list[size] != '\0');
        for (; size && is_blank(*start); size--)
            start++;
        while (size && is_blank(start[size - 1]))
            size--;
        if (size == 0)
            continue;
        memcpy(item, start, size < sizeof item ? size : 0);
        item[size < sizeof item ? size : 0] = '\0';
        const char *wrong = size < sizeof item ? read_item(item, set) : too_long;
        if (wrong) {
            report_mistake(about, start, size, wrong);
            return false;
        }
    }
    return true;
}

int acu_inject_set(const char *list, const char *about) {
    int error = 0;
    rule_set *set = NULL;
    if (list && *list) {
        set = calloc(1, sizeof *set);
        if (!set)
            error = ENOMEM;
        else if (!read_rules(list, set, about))
            error = EINVAL;
    }
    if (error || (set && set->count == 0)) {
        free(set);
        set = NULL;
    }
    pthread_mutex_lock(&lock);
    rule_set *old = rules;
    rules = set;
    atomic_store(&owner, getpid());
    atomic_store(&is_on, set != NULL);
    pthread_mutex_unlock(&lock);
    free(old);
    return error;
}

bool acu_inject_on(void) {
    return atomic_load(&is_on);
}

/* ---- injecting ---- */

static uint64_t count_call(rule_set *set, const char *name) {
    size_t at = ((uintptr_t)name >> 4U) % COUNTERS;
    for (size_t i = 0; i < COUNTERS; i++, at = (at + 1) % COUNTERS)
        if (!set->counters[at].name || set->counters[at].name == name)
            break;
    set->counters[at].name = name;
    return ++set->counters[at].calls;
}

/* Returns an evenly spread number below a million, which depends only on the seed, the function and
 * the number of the call (splitmix64 over FNV-1a). */
static uint64_t chance(uint64_t seed, const char *name, uint64_t call) {
    uint64_t hash = 0xcbf29ce484222325;
    while (*name)
        hash = (hash ^ (unsigned char)*name++) * 0x100000001b3;
    hash += (seed + 1) * 0x9e3779b97f4a7c15 + call;
    hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111eb;
    return (hash ^ (hash >> 31U)) % MILLION;
}

static bool applies(const rule *r, const acu_function *function) {
    if (!r->is_prefix)
        return strcmp(r->function, function->name) == 0;
    return strncmp(r->function, function->name, strlen(r->function)) == 0 &&
           !acu_function_repeats_errors(function);
}

static bool is_due(const rule *r, const acu_function *function, uint64_t seed, uint64_t call) {
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

/* Reports a result that names no error; the example is the name of the library's error 2. */
static void report_unknown_error(const rule *r, const acu_library_info *about) {
    const char *example = acu_value_name(about->result_type, 2);
    acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
    acu_line_put_complaint(&out, "injected error", " rule ", r->text, sizeof r->text);
    acu_line_put(&out, " does not apply to ");
    acu_line_put(&out, about->name);
    acu_line_put(&out, ", which has no error with that name\n"
                       "  expected: one of its names, or a number, as in ");
    if (example) {
        acu_line_put(&out, example);
        acu_line_put(&out, " or ");
    }
    acu_line_put(&out, "2");
    acu_line_write(&out, STDERR_FILENO);
}

/* Returns the rule's result in this library's numbers; 0, and reports that once, if the library has
 * no error with that name. */
static int code_of(rule *r, const acu_function *function) {
    const acu_library_info *about = acu_library_about(function->library);
    if (r->code)
        return r->code;
    const acu_value *error = acu_value_find(about->result_type, r->result);
    if (error)
        return (int)error->value;
    if (!r->complained)
        report_unknown_error(r, about);
    r->complained = true;
    return 0;
}

/* Counts the call. Returns the code of the first rule that makes it fail, or 0; `why` is the reason
 * then. */
static int injected_code(const acu_function *function, char *why, size_t size) {
    int code = 0;
    uint64_t call = 0;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; rules && i < rules->count; i++) {
        rule *r = &rules->rules[i];
        if (!applies(r, function))
            continue;
        r->met = true;
        if (!call)
            call = count_call(rules, function->name);
        int would = code ? 0 : code_of(r, function);
        if (would && is_due(r, function, rules->seed, call)) {
            code = would;
            snprintf(why, size, "error injected by rule \"%s\", call %" PRIu64, r->text, call);
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

void acu_inject_call(acu_call *call) {
    char why[3 * NAME + 64];
    const acu_function *function = call->function;
    if (!atomic_load(&is_on) ||
        (function->returns != ACU_RETURNS_STATUS && function->library->id != ACU_WEBGPU))
        return; /* a call of WebGPU fails without a code */
    int code = injected_code(function, why, sizeof why);
    if (!code || !call->fn) /* a refused call keeps its own error */
        return;
    call->fn = NULL;
    call->made_here = call->injected = true;
    call->result = acu_refuse_injected(function, code, why);
}

/* ---- at exit ---- */

/* Reports each rule that met no call, because a misspelt name would otherwise never be noticed. A
 * destructor, so that calls which the program makes at exit count, too. */
__attribute__((destructor)) static void report_unmet(void) {
    if (!atomic_load(&is_on) || atomic_load(&owner) != getpid())
        return;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; rules && i < rules->count; i++) {
        const rule *r = &rules->rules[i];
        acu_line out = {.limit = ACU_LINE - ACU_LINE_TAIL};
        if (r->met)
            continue;
        acu_line_put_complaint(&out, "injected error", " rule ", r->text, sizeof r->text);
        acu_line_put(&out, " met no call: no function ");
        acu_line_put(&out, r->is_prefix ? "whose name begins like this" : "with that name");
        acu_line_put(&out, " was called");
        acu_line_write(&out, STDERR_FILENO);
    }
    pthread_mutex_unlock(&lock);
}
