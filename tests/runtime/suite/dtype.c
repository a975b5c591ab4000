/* Types of elements, and where their elements are stored. */
#include "suite.h"

static acu_dtype register_type(const char *name, uint32_t elements, uint32_t bytes) {
    acu_dtype dtype = 0;
    OK(acu_dtype_register(&(acu_dtype_options){name, elements, bytes}, &dtype));
    return dtype;
}

CASE(a_type_is_registered) {
    acu_dtype dtype = register_type("suite_q4_0", 32, 18);
    EQUAL(acu_dtype_size(dtype), 18);
    EQUAL(acu_dtype_group(dtype), 32);
    IS(strcmp(acu_dtype_name(dtype), "suite_q4_0") == 0);
}

CASE(a_type_is_registered_again) {
    IS(register_type("suite_q4_0", 32, 18) == register_type("suite_q4_0", 32, 18));
    IS(register_type("suite_q4_0", 32, 18) != register_type("suite_q8_0", 32, 34));
}

CASE(a_name_with_other_numbers_is_refused) {
    acu_dtype dtype = 0;
    (void)register_type("suite_q4_0", 32, 18);
    FAILS(acu_dtype_register(&(acu_dtype_options){"suite_q4_0", 32, 20}, &dtype),
          ACU_ERROR_ARGUMENT, "suite_q4_0");
    FAILS(acu_dtype_register(&(acu_dtype_options){"suite_q4_0", 16, 18}, &dtype),
          ACU_ERROR_ARGUMENT, "suite_q4_0");
}

static const struct {
    const char *name;
    acu_dtype_options options;
} bad_types[] = {
    {"no_name", {NULL, 1, 1}},
    {"an_empty_name", {"", 1, 1}},
    {"no_elements", {"suite_bad", 0, 1}},
    {"no_bytes", {"suite_bad", 1, 0}},
    {"too_many_bytes", {"suite_bad", 1, 1u << 24}},
    {"a_built_in_name", {"f32", 1, 4}},
};

CASE_OF(refused, bad_types) {
    acu_dtype dtype = 0;
    FAILS(acu_dtype_register(&row->options, &dtype), ACU_ERROR_ARGUMENT, "acu_dtype_register");
    EQUAL(dtype, 0);
}

CASE(registering_needs_its_arguments) {
    acu_dtype dtype = 0;
    FAILS(acu_dtype_register(NULL, &dtype), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_dtype_register(&(acu_dtype_options){"suite_x", 1, 1}, NULL), ACU_ERROR_ARGUMENT,
          "NULL");
}

CASE(built_in_types_are_stored_one_by_one) {
    const acu_dtype types[] = {ACU_F64, ACU_F32, ACU_F16, ACU_BF16, ACU_I8, ACU_BOOL, ACU_C128};
    for (size_t i = 0; i < COUNT(types); i++) {
        uint64_t bytes = 0;
        EQUAL(acu_dtype_group(types[i]), 1);
        OK(acu_dtype_storage(types[i], 7, &bytes));
        EQUAL(bytes, 7 * acu_dtype_size(types[i]));
    }
}

CASE(no_type_has_no_group) {
    EQUAL(acu_dtype_group(0x55000004), 0);
    EQUAL(acu_dtype_group(UINT32_MAX), 0);
}

static const struct {
    const char *name;
    uint64_t count, bytes;
} storages[] = {{"nothing", 0, 0},    {"one", 1, 18},         {"a_group", 32, 18},
                {"one_more", 33, 36}, {"two_groups", 64, 36}, {"many", 32000000, 18000000}};

CASE_OF(storage_of, storages) {
    uint64_t bytes = 1;
    OK(acu_dtype_storage(register_type("suite_q4_0", 32, 18), row->count, &bytes));
    EQUAL(bytes, row->bytes);
    if (row->count < 100) {
        acu_block *block = NULL;
        OK(acu_block_create_for(client, register_type("suite_q4_0", 32, 18), row->count, &block));
        release_block_later(block);
        EQUAL(acu_block_size(block), row->bytes);
    }
}

CASE(storage_that_is_too_large) {
    uint64_t bytes = 0;
    FAILS(acu_dtype_storage(ACU_F64, UINT64_MAX / 4, &bytes), ACU_ERROR_OVERFLOW,
          "acu_dtype_storage");
    FAILS(acu_dtype_storage(ACU_C128, UINT64_MAX, &bytes), ACU_ERROR_OVERFLOW, "acu_dtype_storage");
    OK(acu_dtype_storage(ACU_U8, UINT64_MAX, &bytes));
    EQUAL(bytes, UINT64_MAX);
    OK(acu_dtype_storage(register_type("suite_q4_0", 32, 18), UINT64_MAX, &bytes));
    EQUAL(bytes, UINT64_MAX / 32 * 18 + 18);
}

CASE(storage_of_no_type) {
    uint64_t bytes = 0;
    FAILS(acu_dtype_storage(ACU_ANY, 1, &bytes), ACU_ERROR_DTYPE, "acu_dtype_storage");
    FAILS(acu_dtype_storage(0x55000004, 1, &bytes), ACU_ERROR_DTYPE, "acu_dtype_storage");
    FAILS(acu_dtype_storage(ACU_F32, 1, NULL), ACU_ERROR_ARGUMENT, "NULL");
}

static const struct {
    const char *name;
    uint64_t total, at, count, offset, bytes;
    acu_result code;
} views[] = {
    {"all", 100, 0, 100, 0, 72, 0},
    {"the_first_group", 100, 0, 32, 0, 18, 0},
    {"two_groups", 100, 32, 64, 18, 36, 0},
    {"the_end", 100, 96, 4, 54, 18, 0},
    {"a_group_and_the_end", 100, 64, 36, 36, 36, 0},
    {"nothing", 100, 32, 0, 18, 0, 0},
    {"a_part_of_a_group", 100, 0, 16, 0, 0, ACU_ERROR_RANGE},
    {"not_at_a_group", 100, 1, 31, 0, 0, ACU_ERROR_RANGE},
    {"a_part_of_the_last_group", 100, 96, 3, 0, 0, ACU_ERROR_RANGE},
    {"outside", 100, 96, 32, 0, 0, ACU_ERROR_RANGE},
    {"far_outside", 100, 128, 32, 0, 0, ACU_ERROR_RANGE},
    {"overflow", 100, 96, UINT64_MAX - 50, 0, 0, ACU_ERROR_RANGE},
};

CASE_OF(view_of, views) {
    uint64_t offset = 77, bytes = 77;
    acu_dtype dtype = register_type("suite_q4_0", 32, 18);
    if (row->code) {
        FAILS(acu_dtype_view(dtype, row->total, row->at, row->count, &offset, &bytes), row->code,
              "acu_dtype_view");
        return;
    }
    OK(acu_dtype_view(dtype, row->total, row->at, row->count, &offset, &bytes));
    EQUAL(offset, row->offset);
    EQUAL(bytes, row->bytes);
}

CASE(views_of_built_in_types) {
    uint64_t offset = 0, bytes = 0;
    OK(acu_dtype_view(ACU_F32, 100, 7, 13, &offset, &bytes));
    EQUAL(offset, 28);
    EQUAL(bytes, 52);
    FAILS(acu_dtype_view(ACU_F32, 100, 90, 11, &offset, &bytes), ACU_ERROR_RANGE, "acu_dtype_view");
    FAILS(acu_dtype_view(ACU_ANY, 100, 0, 1, &offset, &bytes), ACU_ERROR_DTYPE, "acu_dtype_view");
}

CASE(a_view_is_copied) {
    acu_dtype dtype = register_type("suite_q4_0", 32, 18);
    uint64_t size = 0, offset = 0, bytes = 0;
    OK(acu_dtype_storage(dtype, 100, &size));
    uint8_t *data = some_bytes(size);
    acu_block *from = new_block_of(data, size), *to = new_block(size);
    OK(acu_dtype_view(dtype, 100, 32, 64, &offset, &bytes));
    OK(acu_block_copy(client, to, 0, from, offset, bytes));
    HOLDS(to, data + 18, 36);
}
