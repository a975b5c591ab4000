/* Sharing memory that lies on several pieces of physical memory, between two processes. */
#include "processes.h"
#include "safe.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECES = 3, HUNDREDS = 300 };

static size_t step; /* bytes of a piece */

static void ask_step(void) {
    const acu_physical_options options = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    if (acu_physical_get_granularity(0, &options, &step, NULL))
        step = 0;
}

/* Returns how many numbers fit into some pieces. */
static size_t numbers(size_t pieces) {
    return pieces * step / sizeof(int32_t);
}

static acu_stream *new_stream(void) {
    acu_stream *stream = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    return stream;
}

/* Returns a buffer that has grown piece by piece, and counts up. */
static acu_buffer *grown(acu_stream *stream, unsigned handles) {
    acu_buffer *buffer = NULL;
    ask_step();
    const acu_growable_options options = {.physical.handles = handles};
    OK(acu_buffer_create_growable_with(stream, ACU_I32, 1, numbers(2 * PIECES), &options, &buffer));
    for (size_t i = 1; i <= PIECES; i++)
        OK(acu_buffer_grow(buffer, numbers(i)));
    int32_t *values = test_malloc(numbers(PIECES) * sizeof *values);
    for (size_t i = 0; i < numbers(PIECES); i++)
        values[i] = (int32_t)i;
    OK(acu_buffer_write(buffer, values, numbers(PIECES)));
    test_free(values);
    return buffer;
}

static size_t pieces_of(acu_share *share) {
    acu_share_info info;
    return acu_share_get_info(share, &info) ? 0 : info.pieces;
}

static bool reads(acu_buffer *buffer, size_t at, int32_t expected) {
    int32_t number = -1;
    return acu_buffer_read_typed(buffer, at, ACU_I32, &number, 1, NULL) == 0 && number == expected;
}

/* ---- a slice over all pieces ---- */

/* Looks at both ends of each piece, and writes over the border of two. */
PARTNER(uses_pieces) {
    acu_share *share = NULL, *again = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    acu_share_info info;
    const int32_t written[2] = {-1, -2};
    ask_step();
    MUST(acu_share_receive(socket, &share) == 0);
    MUST(acu_share_get_info(share, &info) == 0);
    MUST(info.kind == ACU_SHARE_BUFFER && info.way == ACU_SHARE_BY_DESCRIPTOR);
    MUST(info.pieces == PIECES && strstr(info.reason, "pieces"));
    MUST(info.count == numbers(PIECES) - 20 && info.offset == 10 * sizeof(int32_t));
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_share_import_buffer(share, stream, &buffer) == 0);
    MUST(acu_buffer_count(buffer) == numbers(PIECES) - 20);
    MUST(reads(buffer, 0, 10) && reads(buffer, info.count - 1, (int32_t)info.count + 9));
    for (size_t i = 1; i < PIECES; i++) {
        MUST(reads(buffer, numbers(i) - 11, (int32_t)numbers(i) - 1));
        MUST(reads(buffer, numbers(i) - 10, (int32_t)numbers(i)));
    }
    MUST(acu_buffer_write_typed(buffer, numbers(1) - 11, ACU_I32, written, 2, NULL) == 0);
    MUST(acu_stream_synchronize(stream) == 0);
    MUST(let_go_on(socket) && wait_for_other(socket)); /* grown there */
    MUST(acu_buffer_count(buffer) == numbers(PIECES) - 20);
    MUST(acu_buffer_grow(buffer, numbers(PIECES)) == ACU_ERROR_MEMORY_KIND);
    MUST(acu_share_export_buffer(buffer, &again) == ACU_ERROR_STATE);
    MUST(acu_share_release(share) == 0);
    MUST(acu_buffer_release(buffer) == 0);
    MUST(acu_stream_release(stream) == 0);
}

static void growable_goes_by_pieces(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = grown(stream, ACU_SHARE_FILE_DESCRIPTOR), *slice = NULL;
    acu_share *share = NULL;
    size_t count = 0;
    process other = start_partner("uses_pieces");
    OK(acu_buffer_slice(buffer, 10, numbers(PIECES) - 20, &slice));
    OK(acu_share_export_buffer(slice, &share));
    OK(acu_buffer_release(slice));
    OK(acu_share_get_descriptors(share, NULL, &count));
    assert_int_equal(count, PIECES + 1); /* and the list of their sizes */
    OK(acu_share_send(share, other.socket));
    assert_true(wait_for_other(other.socket)); /* written there */
    assert_true(reads(buffer, numbers(1) - 1, -1) && reads(buffer, numbers(1), -2));
    OK(acu_buffer_grow(buffer, numbers(PIECES + 1)));
    FAILS(acu_buffer_shrink(buffer, 10), ACU_ERROR_STATE, "a share");
    assert_true(let_go_on(other.socket));
    finish_partner(&other);
    OK(acu_share_wait(share));
    FAILS(acu_buffer_shrink(buffer, 10), ACU_ERROR_STATE, "a share");
    OK(acu_share_release(share));
    OK(acu_buffer_shrink(buffer, 10));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* A part that lies on one piece needs no list, and a reader of version 1 understands it. */
static void one_piece_of_many(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = grown(stream, ACU_SHARE_FILE_DESCRIPTOR), *slice = NULL;
    acu_share *share = NULL;
    acu_share_token token;
    size_t count = 0;
    OK(acu_buffer_slice(buffer, numbers(1), numbers(1), &slice));
    OK(acu_share_export_buffer(slice, &share));
    OK(acu_share_get_descriptors(share, NULL, &count));
    OK(acu_share_get_token(share, &token));
    assert_int_equal(count, 1);
    assert_int_equal(pieces_of(share), 1);
    assert_int_equal(token.bytes[8], 1);
    OK(acu_share_release(share));
    OK(acu_buffer_release(slice));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* ---- who goes first ---- */

PARTNER(imports_late) {
    acu_share *share = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    ask_step();
    MUST(acu_share_receive(socket, &share) == 0);
    MUST(let_go_on(socket) && wait_for_other(socket)); /* released there */
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_share_import_buffer(share, stream, &buffer) == 0);
    MUST(acu_share_release(share) == 0);
    MUST(reads(buffer, numbers(PIECES) - 1, (int32_t)numbers(PIECES) - 1));
    MUST(let_go_on(socket) && wait_for_other(socket)); /* which looks whether it is used */
    MUST(acu_buffer_release(buffer) == 0);
    MUST(acu_stream_release(stream) == 0);
}

/* The buffer cannot shrink as long as it is used there, also if its share was released. */
static void exporter_may_release_first(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = grown(stream, ACU_SHARE_FILE_DESCRIPTOR);
    acu_share *share = NULL;
    process other = start_partner("imports_late");
    OK(acu_share_export_buffer(buffer, &share));
    OK(acu_share_send(share, other.socket));
    assert_true(wait_for_other(other.socket)); /* received there */
    OK(acu_share_release(share));
    FAILS(acu_buffer_shrink(buffer, 10), ACU_ERROR_STATE, "a share");
    assert_true(let_go_on(other.socket) && wait_for_other(other.socket)); /* imported there */
    FAILS(acu_buffer_shrink(buffer, 10), ACU_ERROR_STATE, "a share");
    assert_true(let_go_on(other.socket));
    finish_partner(&other);
    OK(acu_buffer_shrink(buffer, 10));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* ---- descriptors that the program passes itself ---- */

/* Makes shares of a token and some descriptors in every wrong way, and in the right one. */
PARTNER(has_descriptors) {
    acu_share *share = NULL, *made = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    acu_share_token token;
    int descriptors[PIECES + 1], wrong[PIECES + 1];
    size_t count = PIECES + 1;
    ask_step();
    MUST(acu_share_receive(socket, &share) == 0);
    MUST(acu_share_get_token(share, &token) == 0);
    MUST(acu_share_get_descriptors(share, descriptors, &count) == 0 && count == PIECES + 1);
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_share_create(&token, sizeof token, descriptors, PIECES, &made) == ACU_ERROR_ARGUMENT);
    MUST(strstr(acu_last_error_message(), "3 descriptors came with the token, to which 4 belong"));
    MUST(acu_share_create(&token, sizeof token, NULL, 0, &made) == 0);
    MUST(acu_share_import_buffer(made, stream, &buffer) == ACU_ERROR_STATE);
    MUST(strstr(acu_last_error_message(), "without the descriptors") && !buffer);
    MUST(acu_share_release(made) == 0);
    memcpy(wrong, descriptors, sizeof wrong);
    wrong[0] = descriptors[1];
    wrong[1] = descriptors[0];
    MUST(acu_share_create(&token, sizeof token, wrong, count, &made) == 0);
    MUST(acu_share_import_buffer(made, stream, &buffer) == ACU_ERROR_ARGUMENT);
    MUST(strstr(acu_last_error_message(), "is not the list of its pieces") && !buffer);
    MUST(acu_share_release(made) == 0);
    MUST(acu_share_create(&token, sizeof token, descriptors, count, &made) == 0);
    MUST(acu_share_release(share) == 0);
    MUST(acu_share_import_buffer(made, stream, &buffer) == 0);
    MUST(reads(buffer, numbers(PIECES) - 1, (int32_t)numbers(PIECES) - 1));
    MUST(acu_buffer_release(buffer) == 0 && acu_share_release(made) == 0);
    MUST(acu_stream_release(stream) == 0);
}

static void descriptors_in_order(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = grown(stream, ACU_SHARE_FILE_DESCRIPTOR);
    acu_share *share = NULL;
    process other = start_partner("has_descriptors");
    OK(acu_share_export_buffer(buffer, &share));
    OK(acu_share_send(share, other.socket));
    finish_partner(&other);
    OK(acu_share_release(share));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* ---- more pieces than the system passes at once ---- */

/* Lets the process have as many descriptors as it may. */
static bool may_have(rlim_t descriptors) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return false;
    limit.rlim_cur = limit.rlim_max;
    return !setrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_max >= descriptors;
}

/* Returns a range to which one piece is mapped again and again. */
static acu_virtual *repeated(size_t times) {
    acu_physical *memory = NULL;
    acu_virtual *range = NULL;
    const acu_physical_options options = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    ask_step();
    OK(acu_physical_create(0, step, &options, &memory));
    OK(acu_virtual_reserve(0, times * step, NULL, &range));
    for (size_t i = 0; i < times; i++)
        OK(acu_virtual_map(range, i * step, memory));
    OK(acu_physical_release(memory));
    return range;
}

PARTNER(uses_hundreds) {
    acu_share *share = NULL;
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    ask_step();
    (void)may_have(0);
    MUST(acu_share_receive(socket, &share) == 0);
    MUST(pieces_of(share) == HUNDREDS);
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_share_import_buffer(share, stream, &buffer) == 0);
    MUST(acu_share_release(share) == 0);
    MUST(reads(buffer, numbers(HUNDREDS - 1) + 5, 77)); /* written to the first piece */
    MUST(acu_buffer_release(buffer) == 0);
    MUST(acu_stream_release(stream) == 0);
}

static void hundreds_of_pieces(void **state) {
    (void)state;
    const int32_t number = 77;
    acu_buffer *buffer = NULL;
    acu_share *share = NULL;
    if (!may_have(4 * HUNDREDS)) {
        print_message("skipped: a process here may not have %d descriptors\n", 4 * HUNDREDS);
        skip();
    }
    acu_stream *stream = new_stream();
    acu_virtual *range = repeated(HUNDREDS);
    process other = start_partner("uses_hundreds");
    OK(acu_virtual_create_buffer(range, 0, stream, ACU_I32, numbers(HUNDREDS), &buffer));
    OK(acu_buffer_write_typed(buffer, 5, ACU_I32, &number, 1, NULL));
    OK(acu_stream_synchronize(stream));
    OK(acu_share_export_buffer(buffer, &share));
    OK(acu_share_send(share, other.socket));
    finish_partner(&other);
    OK(acu_share_release(share));
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_release(range));
    OK(acu_stream_release(stream));
}

/* A socket that does not block gets all of the descriptors at once. */
static void hundreds_at_once(void **state) {
    (void)state;
    int ends[2];
    bool used = true;
    acu_buffer *buffer = NULL;
    acu_share *share = NULL, *made = NULL;
    if (!may_have(4 * HUNDREDS)) {
        print_message("skipped: a process here may not have %d descriptors\n", 4 * HUNDREDS);
        skip();
    }
    acu_stream *stream = new_stream();
    acu_virtual *range = repeated(HUNDREDS);
    OK(acu_virtual_create_buffer(range, 0, stream, ACU_I32, numbers(HUNDREDS), &buffer));
    OK(acu_share_export_buffer(buffer, &share));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    while (send(ends[0], "x", 1, MSG_DONTWAIT) == 1) {
    }
    assert_int_equal(acu_share_send(share, ends[0]), ACU_NOT_READY);
    OK(acu_share_is_used(share, &used));
    assert_false(used);
    for (char byte; recv(ends[1], &byte, 1, MSG_DONTWAIT) == 1;) {
    }
    OK(acu_share_send(share, ends[0]));
    OK(acu_share_is_used(share, &used));
    assert_true(used);
    OK(acu_share_receive(ends[1], &made));
    assert_int_equal(pieces_of(made), HUNDREDS);
    close(ends[0]);
    close(ends[1]);
    OK(acu_share_release(made));
    OK(acu_share_release(share));
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_release(range));
    OK(acu_stream_release(stream));
}

/* ---- what is refused, and calls that fail ---- */

static void too_many_pieces(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_virtual *range = repeated(ACU_SHARE_PIECES + 1);
    acu_buffer *buffer = NULL;
    acu_share *share = NULL;
    OK(acu_virtual_create_buffer(range, 0, stream, ACU_I32, numbers(ACU_SHARE_PIECES + 1),
                                 &buffer));
    FAILS(acu_share_export_buffer(buffer, &share), ACU_ERROR_LIMIT, "1001 pieces");
    assert_null(share);
    OK(acu_buffer_release(buffer));
    OK(acu_virtual_release(range));
    OK(acu_stream_release(stream));
}

static void made_without_handles(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = grown(stream, 0);
    acu_share *share = NULL;
    FAILS(acu_share_export_buffer(buffer, &share), ACU_ERROR_STATE,
          "without ACU_SHARE_FILE_DESCRIPTOR");
    assert_non_null(strstr(acu_last_error_details().hint, "acu_buffer_create_growable_with()"));
    assert_null(share);
    OK(acu_buffer_shrink(buffer, 1)); /* nothing keeps it */
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

PARTNER(exports_pieces) {
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    acu_share *share = NULL;
    bool used = true;
    const acu_growable_options options = {.physical.handles = ACU_SHARE_FILE_DESCRIPTOR};
    ask_step();
    MUST(acu_stream_create(0, NULL, &stream) == 0);
    MUST(acu_buffer_create_growable_with(stream, ACU_I32, 1, numbers(PIECES), &options, &buffer) ==
         0);
    for (size_t i = 1; i <= PIECES; i++)
        MUST(acu_buffer_grow(buffer, numbers(i)) == 0);
    MUST(acu_share_export_buffer(buffer, &share) == 0);
    MUST(acu_share_send(share, socket) == 0);
    MUST(wait_for_other(socket)); /* all is released there */
    MUST(acu_share_is_used(share, &used) == 0 && !used);
    MUST(acu_share_release(share) == 0 && acu_buffer_release(buffer) == 0);
    MUST(acu_stream_release(stream) == 0);
}

static void imports_fail_cleanly(void **state) {
    (void)state;
    static const char *const fails[] = {"cuMemImportFromShareableHandle",
                                        "cuMemGetAllocationPropertiesFromHandle", "cuMemMap",
                                        "cuMemSetAccess"};
    acu_share *share = NULL;
    process other = start_partner("exports_pieces");
    acu_stream *stream = new_stream();
    OK(acu_share_receive(other.socket, &share));
    for (int call = 1; call <= PIECES; call++)
        for (size_t i = 0; i < COUNT(fails); i++) {
            char injected[100];
            acu_buffer *buffer = NULL;
            snprintf(injected, sizeof injected, "%s@%d:2", fails[i], call);
            OK(acu_inject_errors(injected));
            FAILS(acu_share_import_buffer(share, stream, &buffer), ACU_OUT_OF_MEMORY, fails[i]);
            OK(acu_inject_errors(NULL));
            assert_null(buffer);
            assert_int_equal(acu_release_error(NULL), 0);
        }
    acu_buffer *buffer = NULL;
    OK(acu_share_import_buffer(share, stream, &buffer));
    OK(acu_buffer_release(buffer));
    OK(acu_share_release(share));
    OK(acu_stream_release(stream));
    assert_true(let_go_on(other.socket));
    finish_partner(&other);
}

static void exports_fail_cleanly(void **state) {
    (void)state;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = grown(stream, ACU_SHARE_FILE_DESCRIPTOR);
    acu_share *share = NULL;
    for (int call = 1; call <= PIECES; call++) {
        char injected[100];
        snprintf(injected, sizeof injected, "cuMemExportToShareableHandle@%d:2", call);
        OK(acu_inject_errors(injected));
        FAILS(acu_share_export_buffer(buffer, &share), ACU_OUT_OF_MEMORY, "cuMemExport");
        OK(acu_inject_errors(NULL));
        assert_null(share);
    }
    OK(acu_buffer_shrink(buffer, 1)); /* nothing keeps it */
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* A message whose descriptors do not come, because the process cannot have so many. */
static void descriptors_get_lost(void **state) {
    (void)state;
    int ends[2];
    struct rlimit before, few;
    acu_share *share = NULL, *made = NULL;
    acu_stream *stream = new_stream();
    acu_buffer *buffer = grown(stream, ACU_SHARE_FILE_DESCRIPTOR);
    OK(acu_share_export_buffer(buffer, &share));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    OK(acu_share_send(share, ends[0]));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    const int lowest = fcntl(ends[0], F_DUPFD, 0);
    close(lowest);
    few.rlim_cur = (rlim_t)lowest + 2; /* two more, of the five that come */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    FAILS(acu_share_receive(ends[1], &made), 304, "of 5 descriptors that belong to the token");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_null(made);
    const int after = fcntl(ends[0], F_DUPFD, 0);
    assert_int_equal(after, lowest); /* those that came were closed */
    close(after);
    close(ends[0]);
    close(ends[1]);
    OK(acu_share_release(share));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        TEST(growable_goes_by_pieces), TEST(one_piece_of_many),    TEST(exporter_may_release_first),
        TEST(descriptors_in_order),    TEST(hundreds_of_pieces),   TEST(hundreds_at_once),
        TEST(too_many_pieces),         TEST(made_without_handles), TEST(imports_fail_cleanly),
        TEST(exports_fail_cleanly),    TEST(descriptors_get_lost),
    };
    run_partner(count, arguments);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
