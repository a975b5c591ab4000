/* Misuse of arrays, mipmaps, textures and surfaces: handles that are none, and NULL. */
#include "misuse.h"

#include <anycuda/cudart.h>

static acu_array *array;
static acu_mipmap *mipmap;
static acu_texture *texture;
static acu_surface *surface;
static const acu_format f32 = {ACU_F32, 1, ACU_ENCODING_NUMBERS};
static const acu_extent four = {4, 4, 0};

static int begin_arrays(void **state) {
    int code = begin_misuse(state);
    OK(acu_array_create(good.stream, f32, four, ACU_ARRAY_SURFACE, &array));
    OK(acu_mipmap_create(good.stream, f32, four, 2, 0, &mipmap));
    OK(acu_texture_create(&(acu_texture_source){.array = array}, NULL, &texture));
    OK(acu_surface_create(array, &surface));
    return code;
}

static int end_arrays(void **state) {
    OK(acu_surface_release(surface));
    OK(acu_texture_release(texture));
    OK(acu_mipmap_release(mipmap));
    OK(acu_array_release(array));
    return end_misuse(state);
}

#define ARRAY_TEST(function) SAFE_TEST(function, begin_arrays, end_arrays)

static void arrays_are_made(void **state) {
    (void)state;
    acu_array *made = NULL;
    HANDLE(acu_array_create(bad, f32, four, 0, &made));
    NOT_NULL(acu_array_create(good.stream, f32, four, 0, NULL));
    HANDLE(acu_array_wrap(bad, acu_array_raw(array), &made));
    HANDLE(acu_array_adopt(bad, acu_array_raw(array), &made));
    NOT_NULL(acu_array_wrap(good.stream, NULL, &made));
    NOT_NULL(acu_array_adopt(good.stream, NULL, &made));
    NOT_NULL(acu_array_wrap(good.stream, acu_array_raw(array), NULL));
    NOT_NULL(acu_array_adopt(good.stream, acu_array_raw(array), NULL));
    assert_null(made);
    OWNERS(array);
}

static void arrays_are_asked(void **state) {
    (void)state;
    acu_memory_requirements needs;
    acu_sparse_properties sparse;
    SAYS(NULL, acu_array_raw(bad));
    SAYS(0, acu_array_format(bad).dtype);
    SAYS(0, acu_array_extent(bad).width);
    SAYS(0, acu_array_flags(bad));
    SAYS(0, acu_array_count(bad));
    SAYS(NULL, acu_array_stream(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_array_device(bad));
    HANDLE(acu_array_get_memory_requirements(bad, &needs));
    NOT_NULL(acu_array_get_memory_requirements(array, NULL));
    HANDLE(acu_array_get_sparse_properties(bad, &sparse));
    NOT_NULL(acu_array_get_sparse_properties(array, NULL));
}

static void arrays_are_used(void **state) {
    (void)state;
    float numbers[16] = {0};
    acu_array *same = NULL;
    OK(acu_array_create(good.stream, f32, four, 0, &same));
    HANDLE(acu_array_synchronize(bad));
    HANDLE(acu_array_begin_use(bad, true, good.stream));
    HANDLE(acu_array_end_use(bad, true, good.stream));
    OPTIONAL_HANDLE(acu_array_begin_use(array, true, bad));
    OPTIONAL_HANDLE(acu_array_end_use(array, true, bad));
    HANDLE(acu_array_write_typed(bad, ACU_F32, numbers, 16, NULL));
    HANDLE(acu_array_read_typed(bad, ACU_F32, numbers, 16, NULL));
    OPTIONAL_HANDLE(acu_array_write_typed(array, ACU_F32, numbers, 16, bad));
    OPTIONAL_HANDLE(acu_array_read_typed(array, ACU_F32, numbers, 16, bad));
    NOT_NULL(acu_array_write_typed(array, ACU_F32, NULL, 16, NULL));
    NOT_NULL(acu_array_read_typed(array, ACU_F32, NULL, 16, NULL));
    HANDLE(acu_array_copy(bad, array, NULL));
    HANDLE(acu_array_copy(array, bad, NULL));
    OPTIONAL_HANDLE(acu_array_copy(array, same, bad));
    OK(acu_array_release(same));
}

static void mipmaps(void **state) {
    (void)state;
    acu_mipmap *made = NULL;
    acu_array *level = NULL;
    acu_memory_requirements needs;
    acu_sparse_properties sparse;
    struct cudaMipmappedArray *const raw = acu_mipmap_raw(mipmap);
    HANDLE(acu_mipmap_create(bad, f32, four, 1, 0, &made));
    NOT_NULL(acu_mipmap_create(good.stream, f32, four, 1, 0, NULL));
    HANDLE(acu_mipmap_wrap(bad, raw, 2, &made));
    HANDLE(acu_mipmap_adopt(bad, raw, 2, &made));
    NOT_NULL(acu_mipmap_wrap(good.stream, NULL, 2, &made));
    NOT_NULL(acu_mipmap_adopt(good.stream, NULL, 2, &made));
    NOT_NULL(acu_mipmap_wrap(good.stream, raw, 2, NULL));
    NOT_NULL(acu_mipmap_adopt(good.stream, raw, 2, NULL));
    SAYS(NULL, acu_mipmap_raw(bad));
    SAYS(0, acu_mipmap_levels(bad));
    SAYS(0, acu_mipmap_format(bad).dtype);
    SAYS(0, acu_mipmap_extent(bad).width);
    SAYS(0, acu_mipmap_flags(bad));
    SAYS(NULL, acu_mipmap_stream(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_mipmap_device(bad));
    HANDLE(acu_mipmap_get_level(bad, 0, &level));
    NOT_NULL(acu_mipmap_get_level(mipmap, 0, NULL));
    HANDLE(acu_mipmap_get_memory_requirements(bad, &needs));
    NOT_NULL(acu_mipmap_get_memory_requirements(mipmap, NULL));
    HANDLE(acu_mipmap_get_sparse_properties(bad, &sparse));
    NOT_NULL(acu_mipmap_get_sparse_properties(mipmap, NULL));
    assert_null(made);
    OWNERS(mipmap);
}

static void textures(void **state) {
    (void)state;
    acu_texture *made = NULL;
    const acu_texture_source source = {.array = array};
    const unsigned long long raw = acu_texture_raw(texture);
    OPTIONAL_HANDLE(acu_texture_create(&(acu_texture_source){.array = bad}, NULL, &made));
    OPTIONAL_HANDLE(acu_texture_create(&(acu_texture_source){.mipmap = bad}, NULL, &made));
    OPTIONAL_HANDLE(acu_texture_create(&(acu_texture_source){.buffer = bad}, NULL, &made));
    NOT_NULL(acu_texture_create(NULL, NULL, &made));
    NOT_NULL(acu_texture_create(&source, NULL, NULL));
    OPTIONAL_HANDLE(acu_texture_wrap(raw, &(acu_texture_source){.array = bad}, &made));
    OPTIONAL_HANDLE(acu_texture_adopt(raw, &(acu_texture_source){.array = bad}, &made));
    NOT_NULL(acu_texture_wrap(raw, NULL, &made));
    NOT_NULL(acu_texture_adopt(raw, NULL, &made));
    NOT_NULL(acu_texture_wrap(raw, &source, NULL));
    NOT_NULL(acu_texture_adopt(raw, &source, NULL));
    REFUSED(acu_texture_adopt(0, &source, &made), ACU_ERROR_ARGUMENT, "'raw' is 0");
    SAYS(0, acu_texture_raw(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_texture_device(bad));
    assert_null(made);
    OWNERS(texture);
}

static void surfaces(void **state) {
    (void)state;
    acu_surface *made = NULL;
    const unsigned long long raw = acu_surface_raw(surface);
    HANDLE(acu_surface_create(bad, &made));
    NOT_NULL(acu_surface_create(array, NULL));
    HANDLE(acu_surface_wrap(raw, bad, &made));
    HANDLE(acu_surface_adopt(raw, bad, &made));
    NOT_NULL(acu_surface_wrap(raw, array, NULL));
    NOT_NULL(acu_surface_adopt(raw, array, NULL));
    REFUSED(acu_surface_adopt(0, array, &made), ACU_ERROR_ARGUMENT, "'raw' is 0");
    SAYS(0, acu_surface_raw(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_surface_device(bad));
    assert_null(made);
    OWNERS(surface);
}

static void arguments(void **state) {
    (void)state;
    acu_args *list = NULL;
    OK(acu_args_create(&list));
    HANDLE(acu_args_add(list, acu_in_texture(bad)));
    HANDLE(acu_args_add(list, acu_in_surface(bad)));
    HANDLE(acu_args_add(list, acu_inout_surface(bad)));
    OK(acu_args_release(list));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ARRAY_TEST(arrays_are_made), ARRAY_TEST(arrays_are_asked), ARRAY_TEST(arrays_are_used),
        ARRAY_TEST(mipmaps),         ARRAY_TEST(textures),         ARRAY_TEST(surfaces),
        ARRAY_TEST(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
