/* What programs do with memory, apart from what scenarios.c has. */
#include "scenarios.h"

acu_result transfers(void) {
    float numbers[16] = {1, 2, 3}, back[16] = {0};
    static const float many[16000];
    const void *host;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_transfer) *first = NULL;
    ACU_AUTO(acu_transfer) *second = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(elsewhere, NULL, &b));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 100000, &x)); /* the ring begins with 64 KiB */
    ACU_TRY(acu_buffer_zero(x, NULL));
    for (size_t i = 0; i < 6; i++)
        ACU_TRY(acu_buffer_write_async(x, i * 16000, ACU_F32, many, 16000, NULL));
    ACU_TRY(acu_buffer_write_async(x, 0, ACU_F32, numbers, 16, NULL));
    ACU_TRY(acu_buffer_read_async(x, 0, 16, &first, b));
    ACU_TRY(acu_transfer_read(first, back, 16));
    assert_memory_equal(back, numbers, sizeof back);
    ACU_TRY(acu_transfer_release(first));
    first = NULL;
    ACU_TRY(acu_buffer_read_async(x, 0, 16, &second, b));
    ACU_TRY(acu_transfer_get_host(second, &host));
    assert_memory_equal(host, numbers, sizeof numbers);
    return acu_transfer_query(second);
}
