/* The core: blocks. Making and wrapping them, and each copy with each of its errors. */
#include "core_test.h"

static acu_place place;

static int setup(void **state) {
    (void)state;
    made_up_reset();
    acu_clear_error();
    return 0;
}

/* What a function for failures uses. */
typedef struct job {
    acu_client *client;
    int seen;
} job;

/* ---- wrapping ---- */

static void count_drop(void *data) {
    ++*(int *)data;
}

static void memory_of_the_program(void **state) {
    (void)state;
    char bytes[64] = {0};
    int drops = 0;
    acu_block *block = NULL, *none = NULL;
    ACU_AUTO(acu_client) *client = new_client(place);
    OK(acu_block_wrap(client, bytes, sizeof bytes, count_drop, &drops, &block));
    OK(acu_block_fill(client, block, 0, 10, "x", 1));
    OK(acu_block_release(block)); /* waits for the work */
    assert_int_equal(bytes[9], 'x');
    assert_int_equal(drops, 1);
    assert_int_equal(made_up.wrapped, 0);
    OK(acu_block_wrap(client, bytes, sizeof bytes, NULL, NULL, &block));
    OK(acu_block_release(block));
    FAILS(ACU_ERROR_ARGUMENT, "'memory' is NULL",
          acu_block_wrap(client, NULL, 1, NULL, NULL, &none));
    FAILS(ACU_ERROR_ARGUMENT, "'block' is NULL",
          acu_block_wrap(client, bytes, 1, NULL, NULL, NULL));
    made_up.fail[MADE_UP_MEMORY_WRAP] = 1;
    FAILS(1, "told to fail; client", acu_block_wrap(client, bytes, 1, count_drop, &drops, &none));
    assert_int_equal(drops, 1);
    made_up.can = 0;
    ACU_AUTO(acu_client) *plain = new_client(made_up_register(NULL));
    FAILS(ACU_NOT_SUPPORTED, "did not allocate",
          acu_block_wrap(plain, bytes, 1, count_drop, &drops, &none));
    assert_int_equal(drops, 1);
    assert_null(none);
}

static void a_wrapped_block_waits_for_other_clients(void **state) {
    (void)state;
    char bytes[64] = {0};
    acu_block *block = NULL;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *other = new_client(place);
    OK(acu_block_wrap(client, bytes, sizeof bytes, NULL, NULL, &block));
    OK(acu_block_fill(other, block, 0, 10, "y", 1));
    OK(acu_block_release(block));
    assert_int_equal(bytes[9], 'y');
}

/* ---- addresses ---- */

static void addresses(void **state) {
    (void)state;
    void *address = NULL, *host = NULL;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *other = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 16, 4);
    OK(acu_block_get_address(block, &address));
    OK(acu_block_fill(other, block, 0, 16, "\5", 1));
    OK(acu_block_get_host(block, &host));
    assert_int_equal(((char *)host)[15], 5); /* all uses are over */
    ((char *)host)[3] = 6;
    assert_int_equal(byte_at(client, block, 3), 6);
    FAILS(ACU_ERROR_ARGUMENT, "'address' is NULL", acu_block_get_address(block, NULL));
    FAILS(ACU_ERROR_ARGUMENT, "'host' is NULL", acu_block_get_host(block, NULL));
    made_up.fail[MADE_UP_MEMORY_GET_ADDRESS] = made_up.fail[MADE_UP_MEMORY_GET_HOST] = 1;
    FAILS(1, "told to fail; block", acu_block_get_address(block, &address));
    FAILS(1, "told to fail; block", acu_block_get_host(block, &host));
    made_up.can = 0;
    ACU_AUTO(acu_client) *plain = new_client(made_up_register(NULL));
    ACU_AUTO(acu_block) *blind = new_block(plain, 16, 4);
    FAILS(ACU_NOT_SUPPORTED, "no addresses; block", acu_block_get_address(blind, &address));
    FAILS(ACU_NOT_SUPPORTED, "host cannot use", acu_block_get_host(blind, &host));
}

/* ---- ranges ---- */

static void everything_has_a_range(void **state) {
    (void)state;
    char bytes[32];
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(client, 16, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 16, 2);
    ACU_AUTO(acu_mark) *mark = NULL;
    OK(acu_mark_create(client, &mark));
    const uint64_t at[] = {17, 16, 0, 1, UINT64_MAX, 8};
    const uint64_t size[] = {0, 1, 17, UINT64_MAX, 2, UINT64_MAX - 7};
    for (int i = 0; i < 6; i++) {
        FAILS(ACU_ERROR_RANGE, "not inside", acu_block_write(client, a, at[i], bytes, size[i]));
        FAILS(ACU_ERROR_RANGE, "not inside", acu_block_read(client, a, at[i], bytes, size[i]));
        FAILS(ACU_ERROR_RANGE, "not inside", acu_block_fill(client, a, at[i], size[i], "x", 1));
        FAILS(ACU_ERROR_RANGE, "not inside", acu_block_copy(client, a, at[i], b, 0, size[i]));
        FAILS(ACU_ERROR_RANGE, "not inside", acu_block_copy(client, a, 0, b, at[i], size[i]));
        FAILS(ACU_ERROR_RANGE, "not inside",
              acu_block_read_after(client, mark, a, at[i], bytes, size[i]));
    }
    OK(acu_client_synchronize(client));
    assert_int_equal(byte_at(client, a, 15), 1);
    assert_int_equal(byte_at(client, b, 15), 2);
}

static void nothing_is_fine(void **state) {
    (void)state;
    char byte;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *none = NULL;
    ACU_AUTO(acu_block) *block = new_block(client, 16, 1);
    ACU_AUTO(acu_mark) *mark = NULL;
    OK(acu_mark_create(client, &mark));
    OK(acu_block_create(client, 0, &none));
    assert_int_equal(acu_block_size(none), 0);
    OK(acu_block_write(client, none, 0, NULL, 0));
    OK(acu_block_read(client, none, 0, NULL, 0));
    OK(acu_block_read_after(client, mark, none, 0, NULL, 0));
    OK(acu_block_fill(client, none, 0, 0, "x", 1));
    OK(acu_block_copy(client, none, 0, block, 16, 0));
    OK(acu_block_copy(client, block, 16, none, 0, 0));
    FAILS(ACU_ERROR_RANGE, "0 bytes", acu_block_read(client, none, 0, &byte, 1));
}

static void pointers_are_needed(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 16, 1);
    ACU_AUTO(acu_mark) *mark = NULL;
    OK(acu_mark_create(client, &mark));
    FAILS(ACU_ERROR_ARGUMENT, "'from' is NULL", acu_block_write(client, block, 0, NULL, 1));
    FAILS(ACU_ERROR_ARGUMENT, "'to' is NULL", acu_block_read(client, block, 0, NULL, 1));
    FAILS(ACU_ERROR_ARGUMENT, "'to' is NULL",
          acu_block_read_after(client, mark, block, 0, NULL, 1));
    FAILS(ACU_ERROR_ARGUMENT, "'element' is NULL", acu_block_fill(client, block, 0, 1, NULL, 1));
    FAILS(ACU_ERROR_ARGUMENT, "not 0", acu_block_fill(client, block, 0, 1, "x", 0));
    FAILS(ACU_ERROR_ARGUMENT, "not 17", acu_block_fill(client, block, 0, 1, "x", 17));
}

static void places_must_fit(void **state) {
    (void)state;
    char byte;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *far = new_client((acu_place){place.runtime, 1});
    ACU_AUTO(acu_client) *third = NULL;
    OK(acu_client_create(acu_place_cpu(), NULL, &third));
    ACU_AUTO(acu_block) *block = new_block(client, 16, 1);
    ACU_AUTO(acu_block) *far_block = new_block(far, 16, 1);
    ACU_AUTO(acu_mark) *mark = NULL;
    const acu_strides one = {0};
    OK(acu_mark_create(client, &mark));
    FAILS(ACU_ERROR_DEVICE, "madeup-0:1, and", acu_block_write(far, block, 0, "x", 1));
    FAILS(ACU_ERROR_DEVICE, "is not", acu_block_read(far, block, 0, &byte, 1));
    FAILS(ACU_ERROR_DEVICE, "is not", acu_block_read_after(far, mark, block, 0, &byte, 1));
    FAILS(ACU_ERROR_DEVICE, "is not", acu_block_fill(far, block, 0, 1, "x", 1));
    FAILS(ACU_ERROR_DEVICE, "of cpu", acu_block_copy(third, block, 0, far_block, 0, 1));
    FAILS(ACU_ERROR_DEVICE, "of cpu", acu_block_copy(third, block, 0, block, 1, 1));
    FAILS(ACU_ERROR_DEVICE, "is not", acu_block_copy_strided(client, block, far_block, 1, &one));
    FAILS(ACU_ERROR_DEVICE, "is not", acu_block_copy_strided(client, far_block, block, 1, &one));
}

/* ---- each function that fails ---- */

static void failing_functions(void **state) {
    (void)state;
    char byte;
    const size_t shape[] = {2};
    const int64_t steps[] = {2};
    const acu_strides two = {.rank = 1, .shape = shape, .to = steps, .from = steps};
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *far = new_client((acu_place){place.runtime, 1});
    ACU_AUTO(acu_block) *a = new_block(client, 16, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 16, 2);
    ACU_AUTO(acu_block) *c = new_block(far, 16, 2);
    ACU_AUTO(acu_mark) *mark = NULL;
    OK(acu_client_synchronize(client));
    OK(acu_mark_create(client, &mark));
    made_up_lose(719);
    FAILS(719, "entry 6 was told to fail; block", acu_block_write(client, a, 0, "x", 1));
    FAILS(719, "entry 7 was told to fail; block", acu_block_read(client, a, 0, &byte, 1));
    FAILS(719, "entry 8 was told to fail; block", acu_block_copy(client, a, 0, b, 0, 1));
    FAILS(719, "entry 9 was told to fail; block", acu_block_fill(client, a, 0, 1, "x", 1));
    FAILS(719, "entry 10 was told to fail; block", acu_block_copy_strided(client, a, b, 1, &two));
    FAILS(719, "entry 11 was told to fail; block", acu_block_copy(client, c, 0, a, 0, 1));
    made_up_reset();
    FAILS(719, "earlier work failed: entry 4", acu_client_synchronize(far)); /* waited for before */
    made_up_lose(719);
    FAILS(719, "entry 12 was told to fail; block",
          acu_block_read_after(client, mark, b, 0, &byte, 1));
    made_up_reset();
}

/* The program's function for failures may use the client, and sees each failure once. */
static void use_client(const acu_error *error, void *data) {
    job *j = data;
    assert_int_equal(error->code, 719);
    j->seen++;
    OK(acu_client_synchronize(j->client));
    OK(acu_block_release(new_block(j->client, 10, 1)));
}

static void failures_are_shown_without_locks(void **state) {
    (void)state;
    acu_block *none = NULL;
    acu_mark *no_mark = NULL;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *other = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(client, 16, 1);
    job j = {client, 0};
    OK(acu_block_release(new_block(client, 10, 1)));
    OK(acu_set_error_callback(use_client, &j));
    made_up.records = true;
    made_up.fail[MADE_UP_WRITE] = made_up.fail[MADE_UP_MEMORY_ALLOCATE] = 719;
    made_up.fail[MADE_UP_MARK_CREATE] = 719;
    assert_int_equal(acu_block_write(client, a, 0, "x", 1), 719);
    assert_int_equal(acu_block_create(client, 5000, &none), 719);
    assert_int_equal(acu_mark_create(client, &no_mark), 719);
    assert_int_equal(acu_block_write(other, a, 0, "x", 1), 719); /* marks fail, too: it waits */
    assert_int_equal(j.seen, 4);
    OK(acu_set_error_callback(NULL, NULL));
}

/* ---- copies ---- */

static void ranges_may_overlap(void **state) {
    (void)state;
    unsigned char bytes[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, read[10];
    const unsigned char up[10] = {0, 1, 0, 1, 2, 3, 4, 5, 8, 9};
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 10, 0);
    OK(acu_block_write(client, block, 0, bytes, 10));
    OK(acu_block_copy(client, block, 2, block, 0, 6));
    OK(acu_block_read(client, block, 0, read, 10));
    assert_memory_equal(read, up, 10);
    OK(acu_block_write(client, block, 0, bytes, 10));
    OK(acu_block_copy(client, block, 0, block, 1, 9));
    OK(acu_block_copy(client, block, 3, block, 3, 5)); /* nothing to do */
    assert_int_equal(byte_at(client, block, 0), 1);
    assert_int_equal(byte_at(client, block, 8), 9);
}

static void written_bytes_may_change(void **state) {
    (void)state;
    char bytes[8] = "1234567";
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *block = new_block(client, 8, 0);
    OK(acu_block_write(client, block, 0, bytes, 8));
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(byte_at(client, block, 6), '7');
}

static void fill_everything(acu_client *client) {
    unsigned char read[100];
    const unsigned char element[] = "0123456789abcdef";
    ACU_AUTO(acu_block) *block = new_block(client, 100, 0);
    for (size_t size = 1; size <= 16; size++)
        for (uint64_t bytes = 0; bytes < 90; bytes += 7) {
            OK(acu_block_fill(client, block, 0, 100, "-", 1));
            OK(acu_block_fill(client, block, 3, bytes, element, size));
            OK(acu_block_read(client, block, 0, read, 100));
            assert_int_equal(read[2], '-');
            assert_int_equal(read[3 + bytes], '-');
            for (uint64_t i = 0; i < bytes; i++)
                assert_int_equal(read[3 + i], element[i % size]);
        }
}

static void without_fill(acu_backend *table) {
    table->fill = NULL;
}

static void fills(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_client) *plain = new_client(made_up_register(without_fill));
    fill_everything(client);
    assert_true(made_up.calls[MADE_UP_FILL] > 0);
    made_up.calls[MADE_UP_FILL] = 0;
    fill_everything(plain);
    assert_int_equal(made_up.calls[MADE_UP_FILL], 0);
    ACU_AUTO(acu_block) *large = new_block(plain, 1000003, 1);
    OK(acu_block_fill(plain, large, 1, 1000000, "abcdefg", 7));
    for (uint64_t at = 0; at < 1000000; at += 999)
        assert_int_equal(byte_at(plain, large, 1 + at), "abcdefg"[at % 7]);
    assert_int_equal(byte_at(plain, large, 1000001), 1);
    made_up.fail[MADE_UP_WRITE] = 5;
    FAILS(5, "entry 6", acu_block_fill(plain, large, 0, 3, "x", 1));
}

/* ---- between places ---- */

static void copy_everywhere(acu_place one, acu_place two, int peers) {
    enum { BYTES = 5 << 20 };
    ACU_AUTO(acu_client) *a = new_client(one);
    ACU_AUTO(acu_client) *b = new_client(two);
    ACU_AUTO(acu_client) *second = new_client(one);
    for (int with = 0; with < 4; with++) {
        acu_client *const client = with == 0 ? a : with == 1 ? b : second;
        ACU_AUTO(acu_block) *from = new_block(a, BYTES, 10 + with);
        ACU_AUTO(acu_block) *to = new_block(b, BYTES, 1);
        OK(acu_block_fill(a, from, 3, 1, "\7", 1));
        OK(acu_block_copy(client, to, 1, from, 3, BYTES - 3));
        OK(acu_block_fill(a, from, 0, BYTES, "x", 1)); /* comes after the copy */
        assert_int_equal(byte_at(b, to, 0), 1);
        assert_int_equal(byte_at(b, to, 1), 7);
        assert_int_equal(byte_at(b, to, 2), 10 + with);
        assert_int_equal(byte_at(b, to, BYTES - 3), 10 + with);
        assert_int_equal(byte_at(b, to, BYTES - 2), 1);
        assert_int_equal(byte_at(a, from, 5), 'x');
        OK(acu_block_fill(b, to, 0, BYTES, "\3", 1));
        OK(acu_block_copy(client, from, 0, to, 0, BYTES));
        assert_int_equal(byte_at(a, from, BYTES - 1), 3);
    }
    if (peers >= 0)
        assert_int_equal(made_up.calls[MADE_UP_COPY_PEER], peers);
}

static void drop_all(acu_backend *table) {
    const size_t optional = offsetof(acu_backend, fill);
    memset((char *)table + optional, 0, sizeof *table - optional);
}

static void without_peers(acu_backend *table) {
    table->copy_peer = NULL;
}

static void copies_between_places(void **state) {
    (void)state;
    const acu_place plain = made_up_register(without_peers);
    copy_everywhere(place, (acu_place){place.runtime, 1}, 8);
    made_up_reset();
    copy_everywhere(plain, (acu_place){plain.runtime, 1}, 0);
    copy_everywhere(plain, place, 0);
    const acu_place blind = made_up_register(drop_all), other = made_up_register(drop_all);
    made_up.largest_read = 0;
    copy_everywhere(blind, other, 0);
    assert_int_equal(made_up.largest_read, 4 << 20); /* chunk by chunk */
    copy_everywhere(blind, place, 0);
    copy_everywhere(acu_place_cpu(), place, 0);
    copy_everywhere(place, acu_place_cpu(), 0);
}

static void failing_copies_between_places(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *a = new_client(made_up_register(drop_all));
    ACU_AUTO(acu_client) *b = new_client(made_up_register(drop_all));
    ACU_AUTO(acu_client) *near = new_client(place);
    ACU_AUTO(acu_block) *from = new_block(a, 16, 1);
    ACU_AUTO(acu_block) *to = new_block(b, 16, 2);
    made_up.fail[MADE_UP_READ] = 700;
    FAILS(700, "entry 7", acu_block_copy(a, to, 0, from, 0, 16));
    made_up_reset();
    made_up.fail[MADE_UP_WRITE] = 701;
    FAILS(701, "entry 6", acu_block_copy(b, to, 0, from, 0, 16));
    made_up_reset();
    /* An address that cannot be had is done without; a late error is kept for its client. */
    ACU_AUTO(acu_block) *host = new_block(near, 16, 3);
    made_up.fail[MADE_UP_MEMORY_GET_HOST] = 702;
    OK(acu_block_copy(near, to, 0, host, 0, 8));
    assert_int_equal(byte_at(b, to, 7), 3);
    made_up_reset();
    OK(acu_block_write(near, host, 0, "x", 1));
    made_up.late = 703;
    OK(acu_block_copy(near, to, 0, host, 0, 1));
    assert_int_equal(byte_at(b, to, 0), 'x');
    FAILS(703, "earlier work failed", acu_client_synchronize(near));
    OK(acu_block_fill(b, to, 0, 16, "\2", 1));
    assert_int_equal(byte_at(b, to, 0), 2);
}

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    place = made_up_register(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(memory_of_the_program, setup),
        cmocka_unit_test_setup(a_wrapped_block_waits_for_other_clients, setup),
        cmocka_unit_test_setup(addresses, setup),
        cmocka_unit_test_setup(everything_has_a_range, setup),
        cmocka_unit_test_setup(nothing_is_fine, setup),
        cmocka_unit_test_setup(pointers_are_needed, setup),
        cmocka_unit_test_setup(places_must_fit, setup),
        cmocka_unit_test_setup(failing_functions, setup),
        cmocka_unit_test_setup(failures_are_shown_without_locks, setup),
        cmocka_unit_test_setup(ranges_may_overlap, setup),
        cmocka_unit_test_setup(written_bytes_may_change, setup),
        cmocka_unit_test_setup(fills, setup),
        cmocka_unit_test_setup(copies_between_places, setup),
        cmocka_unit_test_setup(failing_copies_between_places, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
