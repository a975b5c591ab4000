/* Misuse of regions: handles that are none, NULL. */
#include "misuse.h"

static const acu_extent one = {1, 1, 1};

static void regions(void **state) {
    (void)state;
    float number = 0;
    const acu_region first = {.buffer = good.buffer};
    const acu_region last = {.buffer = good.buffer, .at = {7, 0, 0}};
#define PLACE &(acu_region){.buffer = bad}
    HANDLE(acu_region_copy(PLACE, &first, one, NULL));
    HANDLE(acu_region_copy(&first, PLACE, one, NULL));
    OPTIONAL_HANDLE(acu_region_copy(&first, &last, one, bad));
    HANDLE(acu_region_write_typed(PLACE, one, ACU_F32, &number, 0, 0, NULL));
    OPTIONAL_HANDLE(acu_region_write_typed(&first, one, ACU_F32, &number, 0, 0, bad));
    HANDLE(acu_region_read_typed(PLACE, one, ACU_F32, &number, 0, 0, NULL));
    OPTIONAL_HANDLE(acu_region_read_typed(&first, one, ACU_F32, &number, 0, 0, bad));
    HANDLE(acu_region_fill_typed(PLACE, one, ACU_F32, &number, NULL));
    OPTIONAL_HANDLE(acu_region_fill_typed(&first, one, ACU_F32, &number, bad));
    NOT_NULL(acu_region_copy(NULL, &first, one, NULL));
    NOT_NULL(acu_region_copy(&first, NULL, one, NULL));
    NOT_NULL(acu_region_write_typed(NULL, one, ACU_F32, &number, 0, 0, NULL));
    NOT_NULL(acu_region_write_typed(&first, one, ACU_F32, NULL, 0, 0, NULL));
    NOT_NULL(acu_region_read_typed(NULL, one, ACU_F32, &number, 0, 0, NULL));
    NOT_NULL(acu_region_read_typed(&first, one, ACU_F32, NULL, 0, 0, NULL));
    NOT_NULL(acu_region_fill_typed(NULL, one, ACU_F32, &number, NULL));
    NOT_NULL(acu_region_fill_typed(&first, one, ACU_F32, NULL, NULL));
}

static void pitched_buffers(void **state) {
    (void)state;
    acu_buffer *made = NULL;
    acu_pitched_layout layout = {one, 0, 0};
    const acu_position first = {0, 0, 0};
    HANDLE(acu_buffer_create_pitched(bad, ACU_F32, one, NULL, &made));
    HANDLE(acu_buffer_reinterpret_pitched(bad, &layout, &made));
    HANDLE(acu_buffer_slice_pitched(bad, first, one, &made));
    HANDLE(acu_buffer_get_layout(bad, &layout));
    NOT_NULL(acu_buffer_create_pitched(good.stream, ACU_F32, one, NULL, NULL));
    NOT_NULL(acu_buffer_reinterpret_pitched(good.buffer, NULL, &made));
    NOT_NULL(acu_buffer_reinterpret_pitched(good.buffer, &layout, NULL));
    NOT_NULL(acu_buffer_slice_pitched(good.buffer, first, one, NULL));
    NOT_NULL(acu_buffer_get_layout(good.buffer, NULL));
    assert_null(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {MISUSE(regions), MISUSE(pitched_buffers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
