/* Misuse of resources of graphics. Nothing here gets to CUDA, so that the raw handle need not be
 * CUDA's. */
#include "misuse.h"

static int anything;
static struct cudaGraphicsResource *const raw = (void *)&anything;
static acu_graphics *graphics, *image;

static int begin_graphics(void **state) {
    int code = begin_misuse(state);
    OK(acu_graphics_wrap(0, raw, ACU_GRAPHICS_GL_BUFFER, &graphics));
    OK(acu_graphics_wrap(0, raw, ACU_GRAPHICS_GL_IMAGE, &image));
    return code;
}

static int end_graphics(void **state) {
    OK(acu_graphics_release(graphics));
    OK(acu_graphics_release(image));
    return end_misuse(state);
}

#define GRAPHICS_TEST(function) SAFE_TEST(function, begin_graphics, end_graphics)

static void resources(void **state) {
    (void)state;
    acu_graphics *made = NULL;
    acu_graphics_info info;
    const acu_graphics_source source = {.type = ACU_GRAPHICS_GL_BUFFER, .name = 1};
    NOT_NULL(acu_graphics_register(0, &source, NULL));
    NOT_NULL(acu_graphics_register(0, NULL, &made));
    NO_DEVICE(acu_graphics_register(absent, &source, &made));
    NOT_NULL(acu_graphics_get_gl_devices(ACU_GRAPHICS_GL_ALL, NULL, NULL));
    NOT_NULL(acu_graphics_wrap(0, raw, ACU_GRAPHICS_GL_BUFFER, NULL));
    NOT_NULL(acu_graphics_wrap(0, NULL, ACU_GRAPHICS_GL_BUFFER, &made));
    NO_DEVICE(acu_graphics_wrap(absent, raw, ACU_GRAPHICS_GL_BUFFER, &made));
    NOT_NULL(acu_graphics_adopt(0, raw, ACU_GRAPHICS_GL_BUFFER, NULL));
    NOT_NULL(acu_graphics_adopt(0, NULL, ACU_GRAPHICS_GL_BUFFER, &made));
    NO_DEVICE(acu_graphics_adopt(absent, raw, ACU_GRAPHICS_GL_BUFFER, &made));
    REFUSED(acu_graphics_adopt(0, raw, (acu_graphics_type)0, &made), ACU_ERROR_ARGUMENT,
            "the type is 0");
    HANDLE(acu_graphics_get_info(bad, &info));
    NOT_NULL(acu_graphics_get_info(graphics, NULL));
    HANDLE(acu_graphics_set_map_flags(bad, 0));
    REFUSED(acu_graphics_set_map_flags(graphics, 3), ACU_ERROR_ARGUMENT, "'flags' is 0x3");
    assert_null(made);
    SAYS(NULL, acu_graphics_raw(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_graphics_device(bad));
    OWNERS(graphics);
}

static void mappings(void **state) {
    (void)state;
    HANDLE(acu_graphics_map(bad, good.stream));
    HANDLE(acu_graphics_map(graphics, bad));
    HANDLE(acu_graphics_map_all(&((acu_graphics *){bad}), 1, good.stream));
    HANDLE(acu_graphics_map_all(&graphics, 1, bad));
    NOT_NULL(acu_graphics_map_all(NULL, 1, good.stream));
    HANDLE(acu_graphics_unmap(bad, NULL));
    HANDLE(acu_graphics_unmap_all(&((acu_graphics *){bad}), 1, NULL));
    NOT_NULL(acu_graphics_unmap_all(NULL, 1, NULL));
    REFUSED(acu_graphics_unmap(graphics, good.stream), ACU_ERROR_STATE, "it is not mapped");
}

static void what_is_mapped(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_array *array = NULL;
    acu_mipmap *mipmap = NULL;
    HANDLE(acu_graphics_create_buffer(bad, 0, ACU_U8, 1, &buffer));
    NOT_NULL(acu_graphics_create_buffer(graphics, 0, ACU_U8, 1, NULL));
    REFUSED(acu_graphics_create_buffer(graphics, 0, ACU_U8, 1, &buffer), ACU_ERROR_STATE,
            "it is not mapped");
    HANDLE(acu_graphics_create_array(bad, 0, 0, &array));
    NOT_NULL(acu_graphics_create_array(image, 0, 0, NULL));
    REFUSED(acu_graphics_create_array(image, 0, 0, &array), ACU_ERROR_STATE, "it is not mapped");
    HANDLE(acu_graphics_create_mipmap(bad, 1, &mipmap));
    NOT_NULL(acu_graphics_create_mipmap(image, 1, NULL));
    REFUSED(acu_graphics_create_mipmap(image, 1, &mipmap), ACU_ERROR_STATE, "it is not mapped");
    assert_true(buffer == NULL && array == NULL && mipmap == NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        GRAPHICS_TEST(resources),
        GRAPHICS_TEST(mappings),
        GRAPHICS_TEST(what_is_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
