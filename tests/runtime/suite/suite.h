/*
 * Cases of the runtime interface, which are the same for every back end.
 *
 *   CASE(a_block_is_written_and_read) {
 *       acu_block *block = new_block(100);
 *       uint8_t *data = some_bytes(100);
 *       OK(acu_block_write(client, block, 0, data, 100));
 *       HOLDS(block, data, 100);
 *   }
 *
 * Each case has a new client of the place that is tested. What the new_ functions make is released
 * after the case, which must then leave nothing behind.
 */
#ifndef SUITE_H
#define SUITE_H

#include <anycuda/runtime.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { KIB = 1 << 10, MIB = 1 << 20 };

/* ---- cases ---- */

typedef void case_body(const void *row);
void add_case(const char *file, const char *name, const char *row_name, case_body *body,
              const void *row);

#define ADD_CASES(name)                                                                            \
    static case_body name##_case;                                                                  \
    static void add_##name(void) __attribute__((constructor));                                     \
    static void add_##name(void)

#define CASE(name)                                                                                 \
    static void name(void);                                                                        \
    ADD_CASES(name) {                                                                              \
        add_case(__FILE__, #name, NULL, name##_case, NULL);                                        \
    }                                                                                              \
    static void name##_case(const void *row) {                                                     \
        (void)row;                                                                                 \
        name();                                                                                    \
    }                                                                                              \
    static void name(void)

/* A case for each row of a table, whose rows begin with their name; the body is given `row`. */
#define CASE_OF(name, table)                                                                       \
    static void name(const __typeof__((table)[0]) *row);                                           \
    ADD_CASES(name) {                                                                              \
        for (size_t i = 0; i < COUNT(table); i++)                                                  \
            add_case(__FILE__, #name, *(const char *const *)(const void *)&(table)[i],             \
                     name##_case, &(table)[i]);                                                    \
    }                                                                                              \
    static void name##_case(const void *row) {                                                     \
        name(row);                                                                                 \
    }                                                                                              \
    static void name(const __typeof__((table)[0]) *row)

/* A case for each number of a list, of which the body is given one as `n`. */
#define CASE_FOR(name, ...)                                                                        \
    static void name(size_t n);                                                                    \
    ADD_CASES(name) {                                                                              \
        static const size_t numbers[] = {__VA_ARGS__};                                             \
        for (size_t i = 0; i < COUNT(numbers); i++)                                                \
            add_case(__FILE__, #name, NULL, name##_case, &numbers[i]);                             \
    }                                                                                              \
    static void name##_case(const void *row) {                                                     \
        name(*(const size_t *)row);                                                                \
    }                                                                                              \
    static void name(size_t n)

/* ---- checks: each ends the case where it fails, on whatever thread ---- */

/* The call succeeds. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        acu_result ok_result = (call);                                                             \
        if (ok_result)                                                                             \
            fail_case(__FILE__, __LINE__, "%s is %s (%d): %s", #call, acu_result_name(ok_result),  \
                      ok_result, acu_last_error_message());                                        \
    } while (0)

/* The call fails with the code, which is the last error, too, and its message has the text. */
#define FAILS(call, expected, text)                                                                \
    do {                                                                                           \
        acu_clear_error();                                                                         \
        acu_result result_here = (call);                                                           \
        if (result_here != (expected) || acu_last_error() != (expected) ||                         \
            !strstr(acu_last_error_message(), (text)))                                             \
            fail_case(__FILE__, __LINE__, "%s is %s (%d) and not %s with \"%s\": %s", #call,       \
                      acu_result_name(result_here), result_here, acu_result_name(expected),        \
                      (text), acu_last_error_message());                                           \
    } while (0)

#define IS(condition)                                                                              \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_case(__FILE__, __LINE__, "not so: %s", #condition);                               \
    } while (0)

#define EQUAL(got, expected)                                                                       \
    do {                                                                                           \
        unsigned long long got_here = (unsigned long long)(got);                                   \
        unsigned long long expected_here = (unsigned long long)(expected);                         \
        if (got_here != expected_here)                                                             \
            fail_case(__FILE__, __LINE__, "%s is %llu and not %llu", #got, got_here,               \
                      expected_here);                                                              \
    } while (0)

#define CONTAINS(text, part)                                                                       \
    do {                                                                                           \
        if (!strstr((text), (part)))                                                               \
            fail_case(__FILE__, __LINE__, "\"%s\" does not contain \"%s\"", (text), (part));       \
    } while (0)

#define SAME_BYTES(got, expected, size) same_bytes(__FILE__, __LINE__, #got, got, expected, size)

/* The block begins with the bytes, as `client` reads them. */
#define HOLDS(block, expected, size)                                                               \
    holds(__FILE__, __LINE__, #block, client, block, expected, size)
#define HOLDS_FOR(reader, block, expected, size)                                                   \
    holds(__FILE__, __LINE__, #block, reader, block, expected, size)

_Noreturn void fail_case(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Ends the case as one that cannot run here. */
_Noreturn void skip_case(const char *format, ...) __attribute__((format(printf, 1, 2)));
void same_bytes(const char *file, int line, const char *what, const void *got, const void *expected,
                size_t size);
void holds(const char *file, int line, const char *what, acu_client *reader, acu_block *block,
           const void *expected, size_t size);

/* ---- the place, and what a case begins with ---- */

extern acu_place place;
extern acu_place_info info; /* of the place */
extern acu_client *client;  /* of the place, new in each case */

static inline bool can(unsigned what) {
    return (info.can & what) == what;
}
/* Ends the case as skipped where the place cannot. */
void needs(unsigned what, const char *in_words);
bool is_webgpu(void);
bool is_cuda(void);
bool is_cpu(void);
/* The made-up back end, which does nothing until something waits for it. */
bool is_late(void);
/* The place itself runs the CPU's forms of programs. */
bool runs_form_of_cpu(void);
/* Programs have forms for the place. */
bool has_programs(void);
/* CUDA is the simulator, where a GPU would do what the test cannot. */
bool is_simulated(void);
/* Another place than the one that is tested: the CPU, or the made-up back end. */
acu_place other_place(void);
/* The place's next device; ends the case as skipped where there is none. */
acu_place second_device(void);

/* Makes `name` a place of this process; returns a reason why it cannot be used, or NULL. */
const char *choose_place(const char *name);
acu_place fake_place(void);

/* ---- made now, released after the case ---- */

acu_client *new_client(void);
acu_client *new_client_on(acu_place on);
acu_block *new_block(uint64_t size);
acu_block *new_block_for(acu_client *owner, uint64_t size);
/* A block that holds the bytes. */
acu_block *new_block_of(const void *data, size_t size);
acu_block *new_block_with(acu_client *owner, const void *data, size_t size);
acu_mark *new_mark(acu_client *of);
/* Keeps what the case made by itself until the case ends. */
void release_block_later(acu_block *block);
void release_replay_later(acu_replay *replay);
void release_program_later(acu_program *made);

/* Memory of the host, which is freed after the case. */
void *host_bytes(size_t size); /* zeros */
uint8_t *some_bytes(size_t size);
void *copy_bytes(const void *data, size_t size);
/* The contents of a block. */
uint8_t *contents(acu_client *reader, acu_block *block, uint64_t at, size_t size);
uint32_t *words_of(acu_block *block, size_t count);
float *floats_of(acu_block *block, size_t count);
/* `count` floats: i * factor. */
acu_block *block_of_floats(size_t count, float factor);
/* Numbers that differ in each call; the same ones in each run. */
uint32_t any_number(void);
uint32_t below(uint32_t limit);

acu_memory_stats memory_of(acu_client *of);

/* ---- threads: a check that fails ends its thread, and then the case ---- */

void run_threads(unsigned count, void (*body)(unsigned number));

/* ---- programs (forms.c) ---- */

/* One of suite_programs, made once in this process. */
acu_program *program(const char *name);
/* What it is made of, to be changed before a program is made. */
acu_program_source source_of(const char *name);
/* A program of `count` blocks, all words, of which the last becomes the sum of the others. */
acu_program *new_program_of_blocks(unsigned count);
void register_sim_kernels(void);
void release_programs(void);

/* `client` waits there until let_go(), which each case does in the end. */
bool can_hold(void);
void hold(acu_client *of);
void let_go(void);
/* Ends the case as skipped where hold() cannot be had. */
void needs_hold(void);

#endif
