/* Misuse of shares: handles that are none, NULL, what cannot be shared, tokens that are none. */
#include "misuse.h"

#include <anycuda/cudart.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static acu_buffer *device_memory;
static acu_share *share;
static acu_share_token token;

static int begin_share(void **state) {
    int code = begin_misuse(state);
    const acu_buffer_options options = {.memory = ACU_MEMORY_DEVICE};
    OK(acu_buffer_create_with(good.stream, ACU_U8, 100, &options, &device_memory));
    OK(acu_share_export_buffer(device_memory, &share));
    OK(acu_share_get_token(share, &token));
    return code;
}

static int end_share(void **state) {
    OK(acu_share_release(share));
    OK(acu_buffer_release(device_memory));
    return end_misuse(state);
}

#define SHARE_TEST(function) SAFE_TEST(function, begin_share, end_share)

static void handles_and_pointers(void **state) {
    (void)state;
    acu_share *made = NULL;
    acu_share_info info;
    acu_buffer *buffer = NULL;
    acu_pool *pool = NULL;
    acu_event *event = NULL;
    acu_physical *physical = NULL;
    bool used;
    int descriptor = 0;
    size_t count = 1;
    HANDLE(acu_share_export_buffer(bad, &made));
    NOT_NULL(acu_share_export_buffer(device_memory, NULL));
    HANDLE(acu_share_export_pool(bad, &made));
    NOT_NULL(acu_share_export_pool(good.pool, NULL));
    HANDLE(acu_share_export_event(bad, &made));
    NOT_NULL(acu_share_export_event(good.event, NULL));
    HANDLE(acu_share_export_physical(bad, &made));
    NOT_NULL(acu_share_export_physical(NULL, NULL));
    HANDLE(acu_share_get_token(bad, &token));
    NOT_NULL(acu_share_get_token(share, NULL));
    NOT_NULL(acu_share_create(NULL, sizeof token, NULL, 0, &made));
    NOT_NULL(acu_share_create(&token, sizeof token, NULL, 0, NULL));
    HANDLE(acu_share_send(bad, 0));
    NOT_NULL(acu_share_receive(0, NULL));
    HANDLE(acu_share_import_buffer(bad, good.stream, &buffer));
    NOT_NULL(acu_share_import_buffer(share, good.stream, NULL));
    HANDLE(acu_share_import_pool(bad, &pool));
    NOT_NULL(acu_share_import_pool(share, NULL));
    HANDLE(acu_share_import_event(bad, &event));
    NOT_NULL(acu_share_import_event(share, NULL));
    HANDLE(acu_share_import_physical(bad, &physical));
    NOT_NULL(acu_share_import_physical(share, NULL));
    HANDLE(acu_share_get_info(bad, &info));
    NOT_NULL(acu_share_get_info(share, NULL));
    HANDLE(acu_share_is_used(bad, &used));
    NOT_NULL(acu_share_is_used(share, NULL));
    HANDLE(acu_share_wait(bad));
    HANDLE(acu_share_get_descriptors(bad, &descriptor, &count));
    NOT_NULL(acu_share_get_descriptors(share, &descriptor, NULL));
    NOT_NULL(acu_share_create(&token, sizeof token, NULL, 1, &made));
    OWNERS(share);
    assert_true(!made && !buffer && !pool && !event && !physical);
}

/* ---- what cannot be shared ---- */

static void refuse_memory(acu_memory memory, const char *what) {
    acu_buffer *buffer = NULL;
    acu_share *made = NULL;
    const acu_buffer_options options = {.memory = memory};
    OK(acu_buffer_create_with(good.stream, ACU_U8, 100, &options, &buffer));
    REFUSED(acu_share_export_buffer(buffer, &made), ACU_ERROR_MEMORY_KIND, what);
    assert_null(made);
    OK(acu_buffer_release(buffer));
}

static void kinds_of_memory(void **state) {
    (void)state;
    acu_buffer *slice = NULL;
    acu_share *made = NULL;
    refuse_memory(ACU_MEMORY_PINNED, "memory of the host cannot be shared");
    refuse_memory(ACU_MEMORY_MAPPED, "memory of the host cannot be shared");
    refuse_memory(ACU_MEMORY_MANAGED, "managed memory cannot be shared");
    OK(acu_buffer_slice(device_memory, 10, 0, &slice));
    REFUSED(acu_share_export_buffer(slice, &made), ACU_ERROR_RANGE, "no elements to share");
    OK(acu_buffer_release(slice));
    OK(acu_buffer_create(good.stream, ACU_U8, 100, &slice));
    FAILS(acu_share_export_buffer(slice, &made), ACU_ERROR_MEMORY_KIND,
          "without ACU_SHARE_FILE_DESCRIPTOR");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_MEMORY_DEVICE"));
    OK(acu_buffer_release(slice));
}

/* The default caching allocator maps its memory, of which CUDA makes no handle. */
static void memory_of_allocators(void **state) {
    (void)state;
    acu_share *made = NULL;
    acu_buffer *buffer = NULL;
    acu_allocator *allocator = NULL;
    OK(acu_allocator_create(0, &(acu_allocator_options){.source = ACU_ALLOCATOR_VIRTUAL},
                            &allocator));
    OK(acu_buffer_create_with(good.stream, ACU_U8, 64,
                              &(acu_buffer_options){.allocator = allocator}, &buffer));
    FAILS(acu_share_export_buffer(buffer, &made), ACU_ERROR_MEMORY_KIND,
          "CUDA shares memory of cudaMalloc() only");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_ALLOCATOR_DEVICE"));
    assert_null(made);
    OK(acu_buffer_release(buffer));
    OK(acu_allocator_release(allocator));
}

static void pools_and_events(void **state) {
    (void)state;
    acu_share *made = NULL;
    FAILS(acu_share_export_pool(good.pool, &made), ACU_ERROR_STATE,
          "without ACU_SHARE_FILE_DESCRIPTOR");
    FAILS(acu_share_export_event(good.event, &made), 400, "cudaIpcGetEventHandle");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_EVENT_INTERPROCESS"));
    assert_null(made);
}

static void physical_memory(void **state) {
    (void)state;
    size_t step = 0;
    acu_physical *memory = NULL, *second = NULL;
    acu_virtual *range = NULL;
    acu_buffer *buffer = NULL;
    acu_share *made = NULL;
    const acu_physical_options options = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    OK(acu_physical_get_granularity(0, &options, &step, NULL));
    OK(acu_physical_create(0, step, NULL, &memory));
    FAILS(acu_share_export_physical(memory, &made), ACU_ERROR_STATE,
          "acu_share_export_physical: the memory was made without ACU_SHARE_FILE_DESCRIPTOR");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_physical_create()"));
    OK(acu_physical_create(0, step, &options, &second));
    OK(acu_virtual_reserve(0, 2 * step, NULL, &range));
    OK(acu_virtual_map(range, 0, memory));
    OK(acu_virtual_map(range, step, second));
    OK(acu_virtual_create_buffer(range, 0, good.stream, ACU_U8, 2 * step, &buffer));
    FAILS(acu_share_export_buffer(buffer, &made), ACU_ERROR_STATE,
          "without ACU_SHARE_FILE_DESCRIPTOR");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_physical_create()"));
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_create_buffer(range, 0, good.stream, ACU_U8, step, &buffer));
    FAILS(acu_share_export_buffer(buffer, &made), ACU_ERROR_STATE,
          "without ACU_SHARE_FILE_DESCRIPTOR");
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_create_buffer(range, step, good.stream, ACU_U8, step, &buffer));
    OK(acu_share_export_buffer(buffer, &made));
    OK(acu_share_release(made));
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_release(range));
    OK(acu_physical_release(memory));
    OK(acu_physical_release(second));
}

/* ---- tokens ---- */

/* The place of a token's parts: share_token.c has the checksum, share.h the layout. */
enum { VERSION = 8, SIZE = 10, KIND = 12, CHECKSUM = 16, BOOT = 24, UUID = 40, COUNT_AT = 88 };

static acu_share_token signed_again(acu_share_token changed) {
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < sizeof changed.bytes; i++) {
        const int own = i >= CHECKSUM && i < CHECKSUM + 8;
        sum = (sum ^ (own ? 0 : changed.bytes[i])) * 1099511628211u;
    }
    memcpy(changed.bytes + CHECKSUM, &sum, sizeof sum);
    return changed;
}

static void tokens_cut_short_and_changed(void **state) {
    (void)state;
    acu_share *made = NULL;
    for (size_t size = 0; size < sizeof token; size += 5)
        REFUSED(acu_share_create(&token, size, NULL, 0, &made), ACU_ERROR_ARGUMENT, "cut short");
    for (size_t i = 0; i < sizeof token.bytes; i++) {
        acu_share_token changed = token;
        changed.bytes[i] ^= 1u << (i % 8);
        FAILS(acu_share_create(&changed, sizeof changed, NULL, 0, &made), ACU_ERROR_ARGUMENT,
              "token");
        assert_null(made);
    }
    unsigned char longer[sizeof token + 1] = {0};
    memcpy(longer, &token, sizeof token);
    REFUSED(acu_share_create(longer, sizeof longer, NULL, 0, &made), ACU_ERROR_ARGUMENT,
            "the token has 256 bytes, but 257 are given");
    REFUSED(acu_share_create(&token, SIZE_MAX, NULL, 0, &made), ACU_ERROR_ARGUMENT, "are given");
    acu_share_token zeros;
    memset(&zeros, 0, sizeof zeros);
    REFUSED(acu_share_create(&zeros, sizeof zeros, NULL, 0, &made), ACU_ERROR_ARGUMENT, "no token");
    OK(acu_share_create(&token, sizeof token, NULL, 0, &made));
    OK(acu_share_release(made));
}

/* Tokens with a right checksum, which no accident makes. */
static void tokens_of_others(void **state) {
    (void)state;
    acu_share *made = NULL;
    acu_share_info info;
    acu_share_token other = token;
    other.bytes[VERSION] = 3;
    other = signed_again(other);
    REFUSED(acu_share_create(&other, sizeof other, NULL, 0, &made), ACU_NOT_SUPPORTED,
            "is of version 3");
    other = token;
    other.bytes[KIND] = 9;
    other = signed_again(other);
    REFUSED(acu_share_create(&other, sizeof other, NULL, 0, &made), ACU_ERROR_ARGUMENT,
            "what no share can be");
    other = token;
    memset(other.bytes + COUNT_AT, 0xff, 8);
    other = signed_again(other);
    REFUSED(acu_share_create(&other, sizeof other, NULL, 0, &made), ACU_ERROR_ARGUMENT,
            "what no share can be");
    other = token;
    other.bytes[BOOT] ^= 1;
    other = signed_again(other);
    REFUSED(acu_share_create(&other, sizeof other, NULL, 0, &made), ACU_ERROR_STATE,
            "another machine");
    other = token;
    other.bytes[UUID] ^= 1;
    other = signed_again(other);
    REFUSED(acu_share_create(&other, sizeof other, NULL, 0, &made), ACU_ERROR_DEVICE,
            "a device that this process does not have");
    assert_null(made);
    OK(acu_share_get_info(share, &info));
    assert_true(info.exported && info.process == (int)getpid() && info.count == 100);
}

static void its_own(void **state) {
    (void)state;
    acu_share *made = NULL;
    acu_buffer *buffer = NULL;
    REFUSED(acu_share_import_buffer(share, good.stream, &buffer), ACU_ERROR_STATE,
            "this process itself exported it");
    OK(acu_share_create(&token, sizeof token, NULL, 0, &made));
    REFUSED(acu_share_import_buffer(made, good.stream, &buffer), ACU_ERROR_STATE,
            "this process itself exported it");
    REFUSED(acu_share_send(made, 0), ACU_ERROR_STATE, "only the process that exported it");
    OK(acu_share_release(made));
    acu_share *second = NULL;
    OK(acu_share_export_buffer(device_memory, &second));
    OK(acu_share_get_token(second, &token));
    OK(acu_share_release(second));
    REFUSED(acu_share_create(&token, sizeof token, NULL, 0, &made), ACU_ERROR_STATE,
            "has released its share");
}

/* ---- sockets ---- */

static void sockets(void **state) {
    (void)state;
    int ends[2];
    acu_share *made = NULL;
    const int null = open("/dev/null", O_RDWR), no_file = 12345;
    REFUSED(acu_share_send(share, -1), 304, "the socket cannot send it");
    REFUSED(acu_share_send(share, null), 304, "the socket cannot send it");
    REFUSED(acu_share_receive(-1, &made), 304, "the socket cannot receive a share");
    REFUSED(acu_share_receive(null, &made), 304, "the socket cannot receive a share");
    REFUSED(acu_share_create(&token, sizeof token, &no_file, 1, &made), ACU_ERROR_ARGUMENT,
            "descriptor 12345 cannot be kept");
    REFUSED(acu_share_create(&token, sizeof token, &null, 1, &made), ACU_ERROR_ARGUMENT,
            "1 descriptors came with the token, to which 0 belong");
    REFUSED(acu_share_create(&token, sizeof token, &null, 5000, &made), ACU_ERROR_ARGUMENT,
            "more than belong to any token");
    close(null);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    OK(acu_share_send(share, ends[0]));
    OK(acu_share_receive(ends[1], &made));
    OK(acu_share_release(made));
    made = NULL;
    assert_int_equal(write(ends[0], "hello", 5), 5);
    shutdown(ends[0], SHUT_WR);
    REFUSED(acu_share_receive(ends[1], &made), ACU_ERROR_ARGUMENT, "cut short");
    REFUSED(acu_share_receive(ends[1], &made), 304, "has closed the socket");
    close(ends[1]);
    REFUSED(acu_share_send(share, ends[0]), 304, "the socket cannot send it");
    close(ends[0]);
    assert_null(made);
    bool used = true;
    OK(acu_share_is_used(share, &used));
    assert_false(used);
}

/* Nothing is half sent or half taken, whoever waits for what. */
static void sockets_that_do_not_block(void **state) {
    (void)state;
    int ends[2], sent = 0;
    bool used = true;
    char bytes[264];
    acu_result code = 0;
    acu_share *made = NULL;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    acu_clear_error();
    assert_int_equal(acu_share_receive(ends[1], &made), ACU_NOT_READY);
    assert_int_equal(write(ends[0], "hello", 5), 5);
    assert_int_equal(acu_share_receive(ends[1], &made), ACU_NOT_READY);
    assert_int_equal(read(ends[1], bytes, sizeof bytes), 5); /* which are still there */
    while ((code = acu_share_send(share, ends[0])) == 0)
        sent++;
    assert_int_equal(code, ACU_NOT_READY);
    assert_int_equal(acu_last_error(), 0);
    assert_true(sent > 0);
    for (int i = 0; i < sent; i++) {
        OK(acu_share_receive(ends[1], &made));
        OK(acu_share_release(made));
    }
    assert_int_equal(acu_share_receive(ends[1], &made), ACU_NOT_READY);
    assert_null(made);
    OK(acu_share_is_used(share, &used));
    assert_false(used);
    OK(acu_share_send(share, ends[0]));
    OK(acu_share_receive(ends[1], &made));
    OK(acu_share_release(made));
    assert_int_equal(write(ends[0], "hello", 5), 5);
    close(ends[0]);
    REFUSED(acu_share_receive(ends[1], &made), ACU_ERROR_ARGUMENT, "cut short");
    REFUSED(acu_share_receive(ends[1], &made), 304, "has closed the socket");
    close(ends[1]);
}

static void sockets_that_block_for_a_while(void **state) {
    (void)state;
    int ends[2];
    acu_result code = 0;
    acu_share *made = NULL;
    const struct timeval moment = {.tv_usec = 1000};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof moment), 0);
    assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment), 0);
    assert_int_equal(acu_share_receive(ends[1], &made), ACU_NOT_READY);
    while ((code = acu_share_send(share, ends[0])) == 0) {
    }
    assert_int_equal(code, ACU_NOT_READY);
    close(ends[0]);
    close(ends[1]);
}

/* What says of itself that descriptors belong to it is looked at only where it is a token. */
static void messages_of_others(void **state) {
    (void)state;
    int ends[2];
    unsigned char bytes[264];
    acu_share *made = NULL;
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[0], bytes, sizeof bytes), sizeof bytes);
    REFUSED(acu_share_receive(ends[1], &made), ACU_ERROR_ARGUMENT, "no token of a share");
    memcpy(bytes, &token, sizeof token);
    assert_int_equal(write(ends[0], bytes, sizeof bytes), sizeof bytes);
    REFUSED(acu_share_receive(ends[1], &made), 304, "descriptors that belong to the token, 0 came");
    close(ends[0]);
    close(ends[1]);
    assert_null(made);
}

/* A message that nobody reads counts as long as it can be read. */
static void message_on_its_way(void **state) {
    (void)state;
    int ends[2];
    bool used = false;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    OK(acu_share_send(share, ends[0]));
    OK(acu_share_is_used(share, &used));
    assert_true(used);
    close(ends[0]);
    close(ends[1]);
    OK(acu_share_is_used(share, &used));
    assert_false(used);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SHARE_TEST(handles_and_pointers),
        SHARE_TEST(kinds_of_memory),
        SHARE_TEST(memory_of_allocators),
        SHARE_TEST(pools_and_events),
        SHARE_TEST(physical_memory),
        SHARE_TEST(tokens_cut_short_and_changed),
        SHARE_TEST(tokens_of_others),
        SHARE_TEST(its_own),
        SHARE_TEST(sockets),
        SHARE_TEST(sockets_that_do_not_block),
        SHARE_TEST(sockets_that_block_for_a_while),
        SHARE_TEST(messages_of_others),
        SHARE_TEST(message_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
