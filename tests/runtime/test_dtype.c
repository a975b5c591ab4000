/* Types of elements: those that everybody has, and those that a program registers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <anycuda/dtype.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LIMIT = 64 };

static const struct {
    acu_dtype dtype;
    size_t size;
    const char *name;
} built_in[] = {
    {ACU_F64, 8, "f64"},
    {ACU_F32, 4, "f32"},
    {ACU_F16, 2, "f16"},
    {ACU_BF16, 2, "bf16"},
    {ACU_F8_E4M3, 1, "f8_e4m3"},
    {ACU_F8_E5M2, 1, "f8_e5m2"},
    {ACU_I8, 1, "i8"},
    {ACU_I16, 2, "i16"},
    {ACU_I32, 4, "i32"},
    {ACU_I64, 8, "i64"},
    {ACU_U8, 1, "u8"},
    {ACU_U16, 2, "u16"},
    {ACU_U32, 4, "u32"},
    {ACU_U64, 8, "u64"},
    {ACU_BOOL, 1, "bool"},
    {ACU_C64, 8, "c64"},
    {ACU_C128, 16, "c128"},
    {ACU_BYTES(1), 1, "bytes(1)"},
    {ACU_BYTES(12), 12, "bytes(12)"},
    {ACU_BYTES(0xffffff), 0xffffff, "bytes(16777215)"},
};
enum { BUILT_IN = sizeof built_in / sizeof *built_in };

static acu_dtype q4_0, q6; /* registered by the first tests, for those after them */

static void expect(acu_result found, acu_result wanted, const char *word) {
    if (found != wanted || !strstr(acu_last_error_message(), word))
        fail_msg("the result is %d (%s)", found, acu_last_error_message());
}

static acu_result add(const char *name, uint32_t elements, uint32_t bytes, acu_dtype *dtype) {
    return acu_dtype_register(&(acu_dtype_options){name, elements, bytes}, dtype);
}

/* ---- what everybody has ---- */

static void built_in_types_have_groups_of_one(void **state) {
    (void)state;
    for (size_t i = 0; i < BUILT_IN; i++) {
        const acu_dtype type = built_in[i].dtype;
        const size_t size = built_in[i].size;
        uint64_t bytes = 1, offset = 1;
        assert_int_equal(acu_dtype_size(type), size);
        assert_string_equal(acu_dtype_name(type), built_in[i].name);
        assert_int_equal(acu_dtype_group(type), 1);
        assert_int_equal(acu_dtype_storage(type, 7, &bytes), 0);
        assert_int_equal(bytes, 7 * size);
        assert_int_equal(acu_dtype_storage(type, 0, &bytes), 0);
        assert_int_equal(bytes, 0);
        assert_int_equal(acu_dtype_view(type, 7, 3, 2, &offset, &bytes), 0);
        assert_int_equal(offset, 3 * size);
        assert_int_equal(bytes, 2 * size);
    }
}

static void what_is_no_type_has_no_storage(void **state) {
    (void)state;
    const acu_dtype wrong[] = {ACU_ANY,    ACU_BYTES(0), 0x02000008, 0x12000004, 0x80000012,
                               0xbf000001, 0xc0000001,   0xffffffff, 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t bytes = 1, offset = 1;
        assert_int_equal(acu_dtype_group(wrong[i]), 0);
        assert_int_equal(acu_dtype_size(wrong[i]), 0);
        assert_string_equal(acu_dtype_name(wrong[i]), wrong[i] == ACU_ANY ? "any" : "unknown");
        expect(acu_dtype_storage(wrong[i], 1, &bytes), ACU_ERROR_DTYPE, "is no type of elements");
        assert_int_equal(bytes, 0);
        expect(acu_dtype_view(wrong[i], 1, 0, 1, &offset, &bytes), ACU_ERROR_DTYPE, "is no type");
        assert_int_equal(offset, 0);
    }
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    uint64_t bytes = 1, offset = 1;
    assert_int_equal(acu_dtype_storage(ACU_F64, UINT64_MAX / 8, &bytes), 0);
    assert_true(bytes == UINT64_MAX - 7);
    expect(acu_dtype_storage(ACU_F64, UINT64_MAX / 8 + 1, &bytes), ACU_ERROR_OVERFLOW, "f64");
    assert_int_equal(bytes, 0);
    expect(acu_dtype_view(ACU_F64, UINT64_MAX, 0, 1, &offset, &bytes), ACU_ERROR_OVERFLOW, "f64");
    assert_int_equal(acu_dtype_storage(ACU_U8, UINT64_MAX, &bytes), 0);
    assert_true(bytes == UINT64_MAX);
}

/* ---- registering ---- */

static void a_registered_type_has_name_size_and_group(void **state) {
    (void)state;
    char name[] = "q4_0";
    acu_dtype again = 1;
    assert_int_equal(add(name, 32, 18, &q4_0), 0);
    name[0] = 'x'; /* the name was copied */
    assert_string_equal(acu_dtype_name(q4_0), "q4_0");
    assert_int_equal(acu_dtype_size(q4_0), 18);
    assert_int_equal(acu_dtype_group(q4_0), 32);
    assert_int_equal(q4_0 & 0xffffffu, 18);
    assert_int_equal(add("q4_0", 32, 18, &again), 0);
    assert_int_equal(again, q4_0);
    assert_int_equal(add("q6", UINT32_MAX, 0xffffff, &q6), 0);
    assert_int_not_equal(q6, q4_0);
    assert_int_equal(acu_dtype_size(q6), 0xffffff);
    assert_int_equal(acu_dtype_group(q6), UINT32_MAX);
}

static void a_registered_type_fits_itself_and_bytes(void **state) {
    (void)state;
    acu_dtype twin = 0, byte = 0;
    assert_int_equal(add("twin", 32, 18, &twin), 0);
    assert_int_equal(add("byte", 1, 1, &byte), 0);
    assert_true(acu_dtype_fits(q4_0, q4_0));
    assert_true(acu_dtype_fits(q4_0, ACU_BYTES(18)));
    assert_true(acu_dtype_fits(ACU_BYTES(18), q4_0));
    assert_true(acu_dtype_fits(q4_0, ACU_ANY));
    assert_false(acu_dtype_fits(q4_0, twin));
    assert_false(acu_dtype_fits(q4_0, ACU_BYTES(17)));
    assert_false(acu_dtype_fits(byte, ACU_U8));
    assert_false(acu_dtype_fits(ACU_F8_E4M3, byte));
    assert_false(acu_dtype_fits(byte, ACU_I8));
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    acu_dtype type = 1;
    expect(acu_dtype_register(NULL, &type), ACU_ERROR_ARGUMENT, "'options' is NULL");
    assert_int_equal(type, ACU_ANY);
    expect(add("q", 1, 1, NULL), ACU_ERROR_ARGUMENT, "'dtype' is NULL");
    expect(add(NULL, 1, 1, &type), ACU_ERROR_ARGUMENT, "name is NULL");
    expect(add("", 1, 1, &type), ACU_ERROR_ARGUMENT, "1 to 63 letters");
    expect(add("two words", 1, 1, &type), ACU_ERROR_ARGUMENT, "two words");
    expect(add("bytes(3)", 1, 3, &type), ACU_ERROR_ARGUMENT, "bytes(3)");
    expect(add("f32", 1, 4, &type), ACU_ERROR_ARGUMENT, "built-in");
    expect(add("any", 1, 4, &type), ACU_ERROR_ARGUMENT, "built-in");
    expect(add("unknown", 1, 4, &type), ACU_ERROR_ARGUMENT, "built-in");
    expect(add("q", 0, 1, &type), ACU_ERROR_ARGUMENT, "elements is 0");
    expect(add("q", 1, 0, &type), ACU_ERROR_ARGUMENT, "bytes is 0");
    expect(add("q", 1, 0x1000000, &type), ACU_ERROR_ARGUMENT, "bytes is 16777216");
    assert_int_equal(type, ACU_ANY);
}

static void names_have_a_longest_one(void **state) {
    (void)state;
    char name[65];
    acu_dtype type;
    memset(name, 'n', sizeof name);
    name[64] = '\0';
    expect(add(name, 1, 1, &type), ACU_ERROR_ARGUMENT, "1 to 63 letters");
    name[63] = '\0';
    assert_int_equal(add(name, 1, 1, &type), 0);
    assert_string_equal(acu_dtype_name(type), name);
}

static void a_name_keeps_its_numbers(void **state) {
    (void)state;
    acu_dtype type = 1;
    expect(add("q4_0", 32, 20, &type), ACU_ERROR_ARGUMENT, "32 elements in 18 bytes");
    expect(add("q4_0", 64, 18, &type), ACU_ERROR_ARGUMENT, "not of 64 in 18");
    assert_int_equal(type, ACU_ANY);
}

/* ---- where elements are stored ---- */

static void the_last_group_is_whole(void **state) {
    (void)state;
    const struct {
        uint64_t count, bytes;
    } cases[] = {{0, 0}, {1, 18}, {31, 18}, {32, 18}, {33, 36}, {64, 36}, {65, 54}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = 1;
        assert_int_equal(acu_dtype_storage(q4_0, cases[i].count, &bytes), 0);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void storage_of_groups_overflows_late(void **state) {
    (void)state;
    uint64_t bytes = 1;
    assert_int_equal(acu_dtype_storage(q4_0, UINT64_MAX, &bytes), 0);
    assert_true(bytes == (UINT64_MAX / 32 + 1) * 18);
    assert_int_equal(acu_dtype_storage(q6, UINT64_MAX, &bytes), 0);
    acu_dtype wide;
    assert_int_equal(add("wide", 2, 18, &wide), 0);
    expect(acu_dtype_storage(wide, UINT64_MAX, &bytes), ACU_ERROR_OVERFLOW, "wide");
    assert_int_equal(bytes, 0);
}

static void a_run_of_whole_groups_is_a_view(void **state) {
    (void)state;
    const struct {
        uint64_t total, at, count, offset, bytes;
    } cases[] = {
        {96, 0, 96, 0, 54},  {96, 32, 32, 18, 18}, {96, 64, 32, 36, 18},
        {70, 64, 6, 36, 18}, {70, 32, 38, 18, 36}, {70, 32, 32, 18, 18},
        {70, 0, 0, 0, 0},    {64, 64, 0, 36, 0},   {0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t offset = 1, bytes = 1;
        assert_int_equal(
            acu_dtype_view(q4_0, cases[i].total, cases[i].at, cases[i].count, &offset, &bytes), 0);
        assert_int_equal(offset, cases[i].offset);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void a_run_that_cuts_a_group_is_refused(void **state) {
    (void)state;
    const struct {
        uint64_t total, at, count;
        const char *word;
    } cases[] = {
        {96, 1, 32, "do not begin"},    {96, 0, 31, "do not end"},
        {70, 64, 5, "do not end"},      {70, 70, 0, "do not begin"},
        {96, 97, 0, "lie outside"},     {96, 64, 33, "lie outside"},
        {96, UINT64_MAX, 1, "outside"}, {96, 32, UINT64_MAX, "lie outside"},
        {96, 1, UINT64_MAX, "outside"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t offset = 1, bytes = 1;
        expect(acu_dtype_view(q4_0, cases[i].total, cases[i].at, cases[i].count, &offset, &bytes),
               ACU_ERROR_RANGE, cases[i].word);
        assert_int_equal(offset, 0);
        assert_int_equal(bytes, 0);
    }
    expect(acu_dtype_view(ACU_F32, 4, 3, 2, &(uint64_t){0}, &(uint64_t){0}), ACU_ERROR_RANGE,
           "lie outside");
}

static void pointers_are_needed(void **state) {
    (void)state;
    uint64_t number;
    expect(acu_dtype_storage(ACU_F32, 1, NULL), ACU_ERROR_ARGUMENT, "'bytes' is NULL");
    expect(acu_dtype_view(ACU_F32, 1, 0, 1, NULL, &number), ACU_ERROR_ARGUMENT, "'offset' is NULL");
    expect(acu_dtype_view(ACU_F32, 1, 0, 1, &number, NULL), ACU_ERROR_ARGUMENT, "'bytes' is NULL");
}

/* ---- threads, and the end of the table ---- */

enum { THREADS = 8, SHARED = 24 };

/* Registers the same types as the other threads, and reads each at once. */
static void *register_shared(void *found) {
    acu_dtype *types = found;
    for (uint32_t i = 0; i < SHARED; i++) {
        char name[16];
        snprintf(name, sizeof name, "shared%u", i);
        if (add(name, i + 1, i + 2, &types[i]) || acu_dtype_size(types[i]) != i + 2 ||
            acu_dtype_group(types[i]) != i + 1 || strcmp(acu_dtype_name(types[i]), name) != 0)
            return NULL;
    }
    return found;
}

static void threads_get_the_same_types(void **state) {
    (void)state;
    acu_dtype types[THREADS][SHARED] = {0};
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, register_shared, types[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[t], &result), 0);
        assert_non_null(result);
        assert_memory_equal(types[t], types[0], sizeof types[0]);
    }
}

/* This test fills the table, and is the last one for that reason. */
static void the_table_has_an_end(void **state) {
    (void)state;
    acu_dtype type, last = 0;
    acu_result code = 0;
    for (unsigned i = 0; i <= LIMIT && !code; i++) {
        char name[16];
        snprintf(name, sizeof name, "more%u", i);
        code = add(name, 1, 1, &type);
        last = code ? last : type;
    }
    expect(code, ACU_ERROR_LIMIT, "64 can be registered");
    assert_int_equal(type, ACU_ANY);
    assert_int_equal(last >> 24u, 0x80 + LIMIT - 1);
    assert_int_equal(acu_dtype_group(last), 1);
    assert_int_equal(add("q4_0", 32, 18, &type), 0); /* what is there can be asked for */
    assert_int_equal(type, q4_0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_types_have_groups_of_one),
        cmocka_unit_test(what_is_no_type_has_no_storage),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(a_registered_type_has_name_size_and_group),
        cmocka_unit_test(a_registered_type_fits_itself_and_bytes),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(names_have_a_longest_one),
        cmocka_unit_test(a_name_keeps_its_numbers),
        cmocka_unit_test(the_last_group_is_whole),
        cmocka_unit_test(storage_of_groups_overflows_late),
        cmocka_unit_test(a_run_of_whole_groups_is_a_view),
        cmocka_unit_test(a_run_that_cuts_a_group_is_refused),
        cmocka_unit_test(pointers_are_needed),
        cmocka_unit_test(threads_get_the_same_types),
        cmocka_unit_test(the_table_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
