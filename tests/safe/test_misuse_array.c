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

/* What no device has, and what the hint says of it. */
static const struct {
    acu_extent extent;
    unsigned flags;
    const char *hint;
} impossible[] = {
    {{0, 4, 0}, 0, "the width is 0"},
    {{4, 4, 0}, ACU_ARRAY_LAYERED, "the depth is 0"},
    {{4, 0, 4}, 0, "the height is 0, which means one dimension, but the depth is 4"},
    {{4, 5, 6}, ACU_ARRAY_CUBE, "square faces, but the width is 4 and the height 5"},
    {{4, 4, 5}, ACU_ARRAY_CUBE, "a cube has six faces, but the depth is 5"},
    {{4, 4, 9}, ACU_ARRAY_CUBE | ACU_ARRAY_LAYERED, "the depth is 9, no multiple of 6"},
    {{4, 4, 0}, 0x4000, "0x4000, which is no acu_array_flag"},
    {{4, 0, 0}, ACU_ARRAY_GATHER, "ACU_ARRAY_GATHER is for two dimensions"},
    {{4, 4, 4}, ACU_ARRAY_GATHER, "ACU_ARRAY_GATHER is for two dimensions"},
    {{4, 0, 0}, ACU_ARRAY_SPARSE, "ACU_ARRAY_SPARSE is for two and three dimensions"},
    {{4, 4, 0}, ACU_ARRAY_SPARSE | ACU_ARRAY_DEFERRED, "ACU_ARRAY_DEFERRED exclude each other"},
    {{4, 4, 0}, ACU_ARRAY_SPARSE | ACU_ARRAY_SURFACE, "ACU_ARRAY_SURFACE exclude each other"},
    {{4, 4, 6}, ACU_ARRAY_SPARSE | ACU_ARRAY_CUBE, "ACU_ARRAY_CUBE exclude each other"},
    {{1u << 30, 0, 0}, 0, "the width is 1073741824, but the device has such arrays up to "},
    {{4, 1u << 30, 0}, 0, "the height is 1073741824, but the device has such arrays up to "},
    {{4, 4, 1u << 30}, ACU_ARRAY_LAYERED, "the depth is 1073741824, but the device has"},
};

#define HINTED(call, text)                                                                         \
    do {                                                                                           \
        FAILS(call, 1, "");                                                                        \
        if (!strstr(acu_last_error_details().hint, text))                                          \
            fail_msg("%s: the hint is: %s", text, acu_last_error_details().hint);                  \
    } while (0)

/* CUDA says 1 to all of them. */
static void impossible_arrays_say_why(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(impossible); i++) {
        acu_array *made = NULL;
        acu_mipmap *levels = NULL;
        HINTED(acu_array_create(good.stream, f32, impossible[i].extent, impossible[i].flags, &made),
               impossible[i].hint);
        HINTED(acu_mipmap_create(good.stream, f32, impossible[i].extent, 1, impossible[i].flags,
                                 &levels),
               impossible[i].hint);
        assert_true(!made && !levels);
    }
}

/* A view has elements of the same size. */
static void impossible_views_say_why(void **state) {
    (void)state;
    acu_texture *made = NULL;
    const acu_format pairs = {ACU_F32, 2, ACU_ENCODING_NUMBERS};
    HINTED(acu_texture_create(&(acu_texture_source){.array = array, .view = pairs}, NULL, &made),
           "as large as those of the array, of 4 bytes");
    assert_null(made);
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

static void mappings(void **state) {
    (void)state;
    acu_array *tiled = NULL;
    const acu_array_mapping none_of_memory = {.extent = {512, 512, 1}};
    OK(acu_array_create(good.stream, f32, (acu_extent){512, 512, 0}, ACU_ARRAY_SPARSE, &tiled));
    HANDLE(acu_array_map(bad, &none_of_memory, 1, NULL));
    HANDLE(acu_array_unmap(bad, &none_of_memory, 1, NULL));
    HANDLE(acu_mipmap_map(bad, &none_of_memory, 1, NULL));
    HANDLE(acu_mipmap_unmap(bad, &none_of_memory, 1, NULL));
    HANDLE(acu_array_map(tiled, &((acu_array_mapping){.memory = bad, .extent = {512, 512, 1}}), 1,
                         NULL));
    OPTIONAL_HANDLE(acu_array_map(tiled, &none_of_memory, 1, bad));
    OPTIONAL_HANDLE(acu_array_unmap(tiled, &none_of_memory, 1, bad));
    NOT_NULL(acu_array_map(tiled, NULL, 1, NULL));
    NOT_NULL(acu_array_unmap(tiled, NULL, 1, NULL));
    REFUSED(acu_array_map(array, NULL, 0, NULL), ACU_ERROR_STATE, "neither ACU_ARRAY_SPARSE nor");
    REFUSED(acu_mipmap_map(mipmap, NULL, 0, NULL), ACU_ERROR_STATE, "neither ACU_ARRAY_SPARSE nor");
    REFUSED(acu_mipmap_unmap(mipmap, NULL, 0, NULL), ACU_ERROR_STATE, "neither ACU_ARRAY_SPARSE");
    OK(acu_array_release(tiled));
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
        ARRAY_TEST(arrays_are_made),
        ARRAY_TEST(arrays_are_asked),
        ARRAY_TEST(arrays_are_used),
        ARRAY_TEST(mipmaps),
        ARRAY_TEST(mappings),
        ARRAY_TEST(textures),
        ARRAY_TEST(surfaces),
        ARRAY_TEST(arguments),
        ARRAY_TEST(impossible_arrays_say_why),
        ARRAY_TEST(impossible_views_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
