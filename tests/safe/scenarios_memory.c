/* What programs do with memory, apart from what scenarios.c has. */
#include "scenarios.h"

/* All is waited for in between, so that the same calls are made each time. */
acu_result transfers(void) {
    enum { LARGE = 2 << 20 };
    static const unsigned char many[LARGE];
    float numbers[16] = {1, 2, 3}, back[16] = {0};
    const void *host;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_transfer) *first = NULL;
    ACU_AUTO(acu_transfer) *second = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(elsewhere, NULL, &b));
    ACU_TRY(acu_buffer_create(a, ACU_U8, LARGE, &x));
    ACU_TRY(acu_buffer_write_async(x, 0, ACU_U8, many, LARGE, NULL)); /* in two pieces */
    ACU_TRY(acu_stream_synchronize(a));
    ACU_TRY(acu_buffer_write_async(x, 64, ACU_ANY, numbers, sizeof numbers, b));
    ACU_TRY(acu_buffer_read_async(x, 64, sizeof numbers, &first, a));
    ACU_TRY(acu_transfer_read_typed(first, 0, ACU_ANY, back, sizeof back));
    assert_memory_equal(back, numbers, sizeof back);
    ACU_TRY(acu_buffer_read_async(x, 64, sizeof numbers, &second, b));
    ACU_TRY(acu_transfer_get_host(second, &host));
    assert_memory_equal(host, numbers, sizeof numbers);
    ACU_TRY(acu_transfer_query(second));
    ACU_TRY(acu_stream_synchronize(b));
    return acu_stream_synchronize(a);
}
