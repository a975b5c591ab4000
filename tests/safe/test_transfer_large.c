/* Transfers of large data, which CUDA copies by itself or in parts. */
#include "transfers.h"

#include <pthread.h>

/* CUDA itself would wait for the stream to copy from ordinary memory. */
static void large_data_behind_other_work_is_not_waited_for(void **state) {
    (void)state;
    enum { LARGE = 8 * MIB };
    unsigned char *mine = malloc(LARGE), *back = malloc(LARGE);
    acu_buffer *buffer = bytes_on(stream, LARGE);
    blocker at;
    fill(mine, LARGE, 6);
    block_stream(&at, stream);
    OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, LARGE, NULL));
    memset(mine, 0, LARGE);
    still_waits(stream);
    unblock_stream(&at);
    OK(acu_buffer_read(buffer, back, LARGE));
    check(back, LARGE, 6);
    OK(acu_buffer_release(buffer));
    free(back);
    free(mine);
}

/* Large data is copied in parts, which are taken as they come: any range, to any address, by
 * several threads, in any order. */
static void *take_ranges(void *data) {
    enum { BYTES = 9 * MIB + 5 };
    unsigned char *back = malloc(BYTES + 64);
    if (!back)
        return data;
    bool right = true;
    for (size_t i = 0; i < 12 && right; i++) {
        const size_t at = i * 700001 % BYTES, count = i == 0 ? BYTES : (BYTES - at) / (1 + i % 3);
        unsigned char *to = back + i;
        right = acu_transfer_read_typed(data, at, ACU_U8, to, count) == 0;
        for (size_t k = 0; k < count && right; k++)
            right = to[k] == byte_of(8, at + k);
    }
    free(back);
    return right ? NULL : data;
}

static void large_data_is_taken_in_parts(void **state) {
    (void)state;
    enum { BYTES = 9 * MIB + 5, THREADS = 3 };
    unsigned char *mine = malloc(BYTES);
    acu_buffer *buffer = bytes_on(stream, BYTES);
    acu_transfer *transfer = NULL;
    pthread_t threads[THREADS];
    fill(mine, BYTES, 8);
    OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, BYTES, NULL));
    free(mine);
    OK(acu_buffer_read_async(buffer, 0, BYTES, &transfer, NULL));
    OK(acu_buffer_zero(buffer, NULL));
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_ranges, transfer), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *failed = transfer;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    OK(acu_transfer_query(transfer));
    OK(acu_transfer_release(transfer));
    OK(acu_buffer_release(buffer));
}

/* More than the stream keeps: the memory of a transfer that is released too early is freed later.
 */
static void large_transfers(void **state) {
    (void)state;
    const size_t bytes = 50 * (size_t)MIB;
    acu_buffer *buffer = bytes_on(stream, bytes);
    acu_transfer *transfers[3];
    const void *host = NULL;
    const unsigned char seven = 7;
    blocker at;
    block_stream(&at, stream);
    OK(acu_buffer_fill(buffer, &seven));
    for (size_t i = 0; i < COUNT(transfers); i++)
        OK(acu_buffer_read_async(buffer, 0, bytes, &transfers[i], NULL));
    OK(acu_transfer_release(transfers[0]));
    OK(acu_transfer_release(transfers[1]));
    unblock(&at);
    OK(acu_transfer_get_host(transfers[2], &host));
    for (size_t i = 0; i < bytes; i += 4096)
        assert_int_equal(((const unsigned char *)host)[i], 7);
    OK(acu_transfer_release(transfers[2]));
    OK(acu_buffer_release(buffer));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TRANSFER_TEST(large_data_behind_other_work_is_not_waited_for),
        TRANSFER_TEST(large_data_is_taken_in_parts),
        TRANSFER_TEST(large_transfers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
