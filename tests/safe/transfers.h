/* What the tests of transfers share: a stream, and data that is known. */
#ifndef TRANSFERS_H
#define TRANSFERS_H

#include "kernels.h"

enum { KIB = 1024, MIB = 1024 * 1024, RING = 16 * MIB };

static acu_stream *stream; /* of each test */

static inline int begin_transfer(void **state) {
    int code = begin_kernels(state);
    stream = stream_on(0);
    return code;
}

/* What the releases of a test could not free, because copies were under way, is freed now. */
static inline int end_transfer(void **state) {
    OK(acu_stream_release(stream));
    OK(acu_device_synchronize(0));
    stream = NULL;
    return nothing_left(state);
}

#define TRANSFER_TEST(function) SAFE_TEST(function, begin_transfer, end_transfer)

/* Byte `at` of the data with this number. */
static inline unsigned char byte_of(unsigned number, size_t at) {
    return (unsigned char)(number * 37 + at * 11 + at / 251);
}

static inline void fill(unsigned char *bytes, size_t count, unsigned number) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = byte_of(number, i);
}

static inline void check(const unsigned char *bytes, size_t count, unsigned number) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != byte_of(number, i))
            fail_msg("byte %zu of %zu is %u instead of %u", i, count, bytes[i], byte_of(number, i));
}

static inline acu_buffer *bytes_on(acu_stream *on, size_t count) {
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create(on, ACU_U8, count, &buffer));
    return buffer;
}

#endif
