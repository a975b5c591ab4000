/*
 * Texts of PTX with mistakes at random places are refused with a line that says why, or read; they
 * never crash. test_ptx_mutants FILE [mutants [seed]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/ptx/lower.h"
#include "sim/ptx/parse.h"

enum { MUTANTS = 3000, MOST_CHANGES = 6, MOST_GROWTH = 4096, SIZE = 1 << 16 };

typedef struct text {
    char bytes[SIZE];
    size_t size;
} text;

static text original;
static uint64_t seed = 1;
static unsigned long mutants = MUTANTS;

/* What stands where it may not. */
static const char *const words[] = {
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    ":",
    "!",
    "+",
    "|",
    "=",
    "_",
    "\"",
    "/*",
    "//",
    "-1",
    "0",
    "4294967295",
    "18446744073709551615",
    "99999999999999999999",
    "0f3F800000",
    "0d",
    "0x",
    "1e999",
    "%r1",
    "%rd1",
    "%p1",
    "%f1",
    "%tid.x",
    "@%p1",
    "@!%p1",
    ".reg",
    ".pred",
    ".b8",
    ".b32",
    ".b64",
    ".b128",
    ".f16x2",
    ".param",
    ".local",
    ".shared",
    ".global",
    ".const",
    ".entry",
    ".func",
    ".align",
    ".v2",
    ".v4",
    ".extern",
    ".visible",
    ".maxntid",
    ".loc",
    ".file",
    ".section",
    ".version",
    ".target",
    ".alias",
    ".branchtargets",
    ".callprototype",
    "generic(",
    "mask(",
    "to",
    "depot",
    "table",
    "DONE",
    "WAIT",
    "add_twice",
    "bra",
    "bra.uni",
    "call",
    "ret",
    "exit",
    "ld.global.v4.f32",
    "st.shared.v2.b64",
    "mad.lo.s32",
    "setp.lt.u32",
    "cvt.rn.f16.f32",
    "mov.b64",
    "brx.idx",
    "bar.sync",
    "shfl.sync.idx.b32",
    "atom.global.add.u32",
    "mbarrier.init.shared.b64",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
    "tex.3d.v4.s32.f32",
};

static unsigned below(size_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return n ? (unsigned)((seed >> 33) % n) : 0;
}

/* Puts `put` in the place of `cut` bytes; does nothing where the text would become too long. */
static void replace(text *t, size_t at, size_t cut, const char *put, size_t length) {
    if (t->size - cut + length >= original.size + MOST_GROWTH)
        return;
    memmove(t->bytes + at + length, t->bytes + at + cut, t->size - at - cut);
    memcpy(t->bytes + at, put, length);
    t->size += length - cut;
}

/* Returns where the first word behind a random place begins, and stores how long it is. */
static size_t any_word(const text *t, size_t *length) {
    size_t at = below(t->size);
    while (at < t->size && strchr(" \n", t->bytes[at]))
        at++;
    size_t end = at + (at < t->size);
    while (end < t->size && !strchr(" \n,;:[](){}<>", t->bytes[end]))
        end++;
    *length = end - at;
    return at;
}

static void change(text *t) {
    size_t length, other_length;
    const size_t at = any_word(t, &length);
    const size_t other = any_word(t, &other_length);
    char put[64];
    switch (below(8)) {
    case 0:
        replace(t, at, length, "", 0);
        return;
    case 1:
    case 2: {
        const char *word = words[below(sizeof words / sizeof *words)];
        replace(t, at, length, word, strlen(word));
        return;
    }
    case 3:
        snprintf(put, sizeof put, "%u", below(2) ? below(100) : ~below(3));
        replace(t, at, length, put, strlen(put));
        return;
    case 4:
        put[0] = (char)below(256);
        replace(t, at, length > 0, put, 1);
        return;
    case 5:
        if (below(8) == 0)
            t->size = at;
        return;
    default:
        if (other_length > sizeof put)
            other_length = sizeof put;
        memcpy(put, t->bytes + other, other_length);
        replace(t, at, below(2) ? length : 0, put, other_length);
        return;
    }
}

/* Makes the code of each kernel; returns how many there are. */
static unsigned lower_all(const ptx_module *module, bool all_right) {
    unsigned count = 0;
    for (const ptx_function *f = module->functions; f; f = f->next) {
        ptx_code *code = NULL;
        ptx_error error = {.text = ""};
        if (!f->is_entry || !f->has_body)
            continue;
        const ptx_result result = acu_ptx_code_make(module, f, NULL, &code, &error);
        if (all_right && result)
            fail_msg("%s: %s", f->name, error.text);
        assert_true(result ? !code && error.text[0] : !!code);
        acu_ptx_code_free(code);
        count++;
    }
    return count;
}

static void the_original_is_right(void **state) {
    (void)state;
    ptx_module *module = NULL;
    ptx_error error = {.text = ""};
    if (acu_ptx_parse(original.bytes, original.size, PTX_NEWEST, &module, &error))
        fail_msg("%s", error.text);
    assert_int_equal(lower_all(module, true), 3);
    acu_ptx_module_free(module);
}

/* A text that ends anywhere is read no further; a sanitizer sees a byte behind the end. */
static void texts_that_end_early(void **state) {
    (void)state;
    unsigned long read = 0;
    for (size_t size = 1; size < original.size; size++) {
        char *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, original.bytes, size);
        ptx_module *module = NULL;
        ptx_error error = {.text = ""};
        read += acu_ptx_parse(copy, size, PTX_NEWEST, &module, &error) == PTX_OK;
        free(copy);
        acu_ptx_module_free(module);
    }
    assert_true(read > 0 && read < original.size / 2);
}

/* Each text is read twice: the second time says the same. */
static void mutants_are_read_or_refused(void **state) {
    (void)state;
    static text mutant;
    unsigned long read = 0;
    for (unsigned long n = 0; n < mutants; n++) {
        mutant = original;
        for (unsigned changes = 1 + below(MOST_CHANGES); changes > 0; changes--)
            change(&mutant);
        /* A copy of the heap, so that a sanitizer sees a byte that is read behind the end. */
        char *copy = malloc(mutant.size ? mutant.size : 1);
        assert_non_null(copy);
        memcpy(copy, mutant.bytes, mutant.size);
        ptx_module *module = NULL, *again = NULL;
        ptx_error error = {.text = ""}, error_again = {.text = ""};
        const ptx_result result = acu_ptx_parse(copy, mutant.size, PTX_NEWEST, &module, &error);
        assert_int_equal(acu_ptx_parse(copy, mutant.size, PTX_NEWEST, &again, &error_again),
                         result);
        free(copy);
        assert_string_equal(error.text, error_again.text);
        acu_ptx_module_free(again);
        assert_true(result ? !module && error.text[0] : !!module);
        if (!result) {
            lower_all(module, false);
            acu_ptx_module_free(module);
            read++;
        }
    }
    print_message("%lu of %lu mutants are PTX\n", read, mutants);
    assert_true(read > mutants / 20 && read < mutants * 19 / 20); /* both ways are gone */
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_original_is_right),
        cmocka_unit_test(texts_that_end_early),
        cmocka_unit_test(mutants_are_read_or_refused),
    };
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "test_ptx_mutants FILE [mutants [seed]]\n");
        return 2;
    }
    original.size = fread(original.bytes, 1, sizeof original.bytes - MOST_GROWTH, file);
    fclose(file);
    if (argc > 2)
        mutants = strtoul(argv[2], NULL, 10);
    if (argc > 3)
        seed = strtoull(argv[3], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
