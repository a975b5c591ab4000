/* Places, and the list of runtimes. */
#include "suite.h"

#include <anycuda/backend.h>

CASE(all_zero_is_the_cpu) {
    acu_place zero = {0, 0};
    IS(acu_place_is(zero, acu_place_cpu()));
    IS(!acu_place_is(zero, (acu_place){0, 1}));
    IS(!acu_place_is(zero, (acu_place){1, 0}));
}

CASE(a_place_is_itself) {
    acu_place same = {place.runtime, place.device};
    IS(acu_place_is(place, same));
    IS(!acu_place_is(place, other_place()));
}

CASE(a_text_becomes_a_place_and_back) {
    char text[100];
    acu_place found = {-1, -1};
    size_t length = acu_place_describe(place, text, sizeof text);
    EQUAL(length, strlen(text));
    OK(acu_place_parse(text, &found));
    IS(acu_place_is(found, place));
    CONTAINS(text, acu_runtime_name(place.runtime));
}

CASE(a_text_has_the_device) {
    char text[100], expected[100];
    acu_place eleventh = {place.runtime, 11}, found;
    acu_place_describe(eleventh, text, sizeof text);
    snprintf(expected, sizeof expected, "%s:11", acu_runtime_name(place.runtime));
    IS(strcmp(text, expected) == 0);
    OK(acu_place_parse(text, &found));
    IS(acu_place_is(found, eleventh));
}

CASE(a_name_alone_is_device_0) {
    acu_place found = {-1, -1};
    OK(acu_place_parse(acu_runtime_name(place.runtime), &found));
    EQUAL(found.runtime, place.runtime);
    EQUAL(found.device, 0);
}

static const struct {
    const char *name, *text;
} no_places[] = {
    {"empty", ""},
    {"unknown", "abacus"},
    {"unknown_with_a_device", "abacus:0"},
    {"no_number", "cpu:"},
    {"a_word", "cpu:one"},
    {"negative", "cpu:-1"},
    {"a_tail", "cpu:1x"},
    {"a_blank", "cpu: 1"},
    {"two_numbers", "cpu:1:2"},
    {"huge", "cpu:99999999999999999999"},
    {"upper_case", "CPU"},
    {"a_part", "cp"},
    {"only_a_number", ":1"},
};

CASE_OF(no_place, no_places) {
    acu_place found = {7, 7};
    FAILS(acu_place_parse(row->text, &found), ACU_ERROR_ARGUMENT, "acu_place_parse");
    char name[20];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(row->text, ":"), row->text);
    CONTAINS(acu_last_error_message(), name);
}

CASE(parsing_needs_its_arguments) {
    acu_place found;
    FAILS(acu_place_parse(NULL, &found), ACU_ERROR_ARGUMENT, "text");
    FAILS(acu_place_parse("cpu", NULL), ACU_ERROR_ARGUMENT, "place");
}

CASE(a_description_is_cut_and_its_length_told) {
    char text[4] = "xxx";
    char whole[100];
    size_t length = acu_place_describe(place, whole, sizeof whole);
    EQUAL(acu_place_describe(place, text, 3), length);
    EQUAL(strlen(text), 2);
    IS(memcmp(text, whole, 2) == 0);
    EQUAL(acu_place_describe(place, NULL, 0), length);
}

CASE(an_unknown_runtime_is_described) {
    char text[100] = "";
    IS(acu_place_describe((acu_place){12345, 3}, text, sizeof text) > 0);
    IS(text[0] != '\0');
}

CASE(the_info_makes_sense) {
    acu_place_info asked;
    OK(acu_place_get_info(place, &asked));
    IS(asked.name[0] != '\0');
    IS(memchr(asked.name, '\0', sizeof asked.name) != NULL);
    IS(asked.alignment > 0 && (asked.alignment & (asked.alignment - 1)) == 0);
    IS(asked.largest_block >= MIB);
    IS(asked.max_rank <= ACU_MAX_RANK);
    IS((asked.can & ~127u) == 0);
    IS(asked.memory == 0 || asked.memory >= MIB);
}

CASE(a_place_that_runs_programs_has_limits) {
    if (!has_programs())
        skip_case("the place has no programs of its own");
    IS(info.max_blocks >= 4);
    IS(info.max_group_items >= 64);
    for (int k = 0; k < 3; k++)
        IS(info.max_group[k] >= 1);
    IS(info.max_group[0] >= 64);
}

CASE(the_info_is_the_same_each_time) {
    acu_place_info again;
    OK(acu_place_get_info(place, &again));
    EQUAL(again.can, info.can);
    EQUAL(again.largest_block, info.largest_block);
    IS(strcmp(again.name, info.name) == 0);
}

CASE(the_info_needs_its_argument) {
    FAILS(acu_place_get_info(place, NULL), ACU_ERROR_ARGUMENT, "info");
}

CASE(a_device_that_is_not_there) {
    acu_place_info asked;
    acu_client *made = NULL;
    acu_place none = {place.runtime, 99};
    FAILS(acu_place_get_info(none, &asked), 101, "99");
    FAILS(acu_client_create(none, NULL, &made), 101, "99");
    FAILS(acu_client_get_default(none, &made), 101, "99");
    IS(made == NULL);
    IS(!acu_place_computes(none, ACU_F32));
}

CASE(a_negative_device) {
    acu_client *made = NULL;
    FAILS(acu_client_create((acu_place){place.runtime, -1}, NULL, &made), 101, "-1");
    FAILS(acu_client_get_default((acu_place){place.runtime, -1}, &made), 101, "-1");
}

CASE(a_runtime_that_is_not_there) {
    acu_place_info asked;
    acu_client *made = NULL;
    int numbers[] = {-1, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        acu_place none = {numbers[i], 0};
        IS(acu_place_get_info(none, &asked) != 0);
        IS(acu_last_error() != 0);
        IS(acu_client_create(none, NULL, &made) != 0);
        IS(acu_client_get_default(none, &made) != 0);
        IS(!acu_place_computes(none, ACU_U8));
    }
}

CASE(words_of_4_bytes_are_computed_everywhere) {
    IS(acu_place_computes(place, ACU_I32));
    IS(acu_place_computes(place, ACU_U32));
    IS(acu_place_computes(place, ACU_F32));
}

CASE(no_type_is_not_computed) {
    IS(!acu_place_computes(place, 0x55000004));
    IS(!acu_place_computes(place, UINT32_MAX));
    IS(!acu_place_computes(place, ACU_ANY));
}

CASE(the_cpu_computes_what_c_has) {
    const acu_dtype types[] = {ACU_F64, ACU_I8, ACU_I16, ACU_I64, ACU_U8, ACU_U16, ACU_U64};
    for (size_t i = 0; i < COUNT(types); i++)
        IS(acu_place_computes(acu_place_cpu(), types[i]));
}

CASE(webgpu_computes_no_doubles) {
    if (!is_webgpu())
        skip_case("the place is not WebGPU");
    IS(!acu_place_computes(place, ACU_F64));
    IS(!acu_place_computes(place, ACU_U8));
}

/* ---- runtimes ---- */

CASE(three_runtimes_are_known) {
    IS(acu_runtime_count() >= 3);
    IS(strcmp(acu_runtime_name(ACU_RUNTIME_CPU), "cpu") == 0);
    IS(strcmp(acu_runtime_name(ACU_RUNTIME_CUDA), "cuda") == 0);
    IS(strcmp(acu_runtime_name(ACU_RUNTIME_WEBGPU), "webgpu") == 0);
}

CASE(a_runtime_that_is_not_there_has_no_name) {
    IS(strcmp(acu_runtime_name(-1), "") == 0);
    IS(strcmp(acu_runtime_name(acu_runtime_count()), "") == 0);
    IS(strcmp(acu_runtime_name(INT32_MAX), "") == 0);
}

CASE(every_runtime_is_found_by_its_name) {
    for (int i = 0; i < acu_runtime_count(); i++) {
        int found = -1;
        OK(acu_runtime_find(acu_runtime_name(i), &found));
        EQUAL(found, i);
    }
}

CASE(a_name_that_no_runtime_has) {
    int found = -1;
    FAILS(acu_runtime_find("abacus", &found), ACU_ERROR_ARGUMENT, "abacus");
    FAILS(acu_runtime_find("", &found), ACU_ERROR_ARGUMENT, "acu_runtime_find");
    FAILS(acu_runtime_find(NULL, &found), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_runtime_find("cpu", NULL), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(devices_are_counted) {
    int count = -1;
    OK(acu_runtime_get_device_count(place.runtime, &count));
    IS(count >= 1);
    OK(acu_runtime_get_device_count(ACU_RUNTIME_CPU, &count));
    EQUAL(count, 1);
    FAILS(acu_runtime_get_device_count(place.runtime, NULL), ACU_ERROR_ARGUMENT, "count");
}

CASE(devices_of_no_runtime_are_not_counted) {
    int count = 5;
    IS(acu_runtime_get_device_count(-1, &count) != 0);
    EQUAL(count, 0);
    count = 5;
    IS(acu_runtime_get_device_count(1000, &count) != 0);
    EQUAL(count, 0);
}

CASE(the_best_place_can_be_used) {
    acu_place best = acu_runtime_best();
    acu_block *block = new_block_for(new_client_on(best), 100);
    EQUAL(acu_block_size(block), 100);
}

CASE(a_name_is_registered_once) {
    const acu_backend *none = NULL;
    int number = -1;
    (void)fake_place();
    FAILS(acu_runtime_register(none, &number), ACU_ERROR_ARGUMENT, "NULL");
    acu_backend empty = {.size = sizeof empty, .version = ACU_BACKEND_VERSION, .name = "cpu"};
    FAILS(acu_runtime_register(&empty, &number), ACU_ERROR_ARGUMENT, "acu_runtime_register");
}

CASE(a_table_without_its_functions_is_refused) {
    int before = acu_runtime_count(), number = -1;
    acu_backend empty = {.size = sizeof empty, .version = ACU_BACKEND_VERSION, .name = "empty"};
    FAILS(acu_runtime_register(&empty, &number), ACU_ERROR_ARGUMENT, "empty");
    EQUAL(acu_runtime_count(), before);
}

CASE(a_table_of_another_version_is_refused) {
    int number = -1;
    acu_backend newer = {.size = sizeof newer, .version = ACU_BACKEND_VERSION + 1, .name = "newer"};
    FAILS(acu_runtime_register(&newer, &number), ACU_NOT_SUPPORTED, "version");
}

static const struct {
    const char *name, *backend;
} bad_names[] = {{"empty", ""}, {"upper_case", "Abacus"}, {"colon", "a:b"}, {"blank", "a b"}};

CASE_OF(a_bad_name_is_refused, bad_names) {
    int number = -1;
    acu_backend table = {
        .size = sizeof table, .version = ACU_BACKEND_VERSION, .name = row->backend};
    FAILS(acu_runtime_register(&table, &number), ACU_ERROR_ARGUMENT, "acu_runtime_register");
}

CASE(a_shared_object_that_is_not_there) {
    int number = -1;
    FAILS(acu_runtime_open("/nowhere/libabacus.so", &number), ACU_ERROR_ARGUMENT,
          "/nowhere/libabacus.so");
    FAILS(acu_runtime_open(NULL, &number), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(all_runtimes_are_added) {
    int cuda = -1;
    acu_runtime_add_all();
    acu_runtime_add_all();
    IS(acu_runtime_count() >= 3);
    OK(acu_runtime_find("cuda", &cuda));
    EQUAL(cuda, ACU_RUNTIME_CUDA);
}
