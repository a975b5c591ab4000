/* Copies within the host's memory, of data that is on its way to or from a device. */
#include "safe/memory/host_copy.h"

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

static const size_t many = (size_t)256 << 10u; /* bytes */

/* The destination of each line is a whole line of the cache. */
static void copy_lines(char *to, const char *from, size_t lines) {
    for (; lines > 0; lines--, to += 64, from += 64) {
        const __m128i *words = (const __m128i *)(const void *)from;
        __m128i *places = (__m128i *)(void *)to;
        const __m128i a = _mm_loadu_si128(words), b = _mm_loadu_si128(words + 1);
        const __m128i c = _mm_loadu_si128(words + 2), d = _mm_loadu_si128(words + 3);
        _mm_stream_si128(places, a);
        _mm_stream_si128(places + 1, b);
        _mm_stream_si128(places + 2, c);
        _mm_stream_si128(places + 3, d);
    }
    _mm_sfence(); /* the device may read it at once */
}

void acu_host_copy(void *to, const void *from, size_t bytes) {
    const size_t head = bytes < many ? bytes : -(uintptr_t)to % 64;
    memcpy(to, from, head);
    if (head == bytes)
        return;
    const size_t lines = (bytes - head) / 64, done = head + lines * 64;
    copy_lines((char *)to + head, (const char *)from + head, lines);
    memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

#else

void acu_host_copy(void *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
}

#endif
