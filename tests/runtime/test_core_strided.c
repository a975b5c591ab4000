/* The core: copies of elements that lie apart, compared with a model. */
#include "core_test.h"

#include <stdbool.h>

static acu_place place, plain;

static int setup(void **state) {
    (void)state;
    made_up_reset();
    acu_clear_error();
    return 0;
}

/* A number that looks random; the same in each run. */
static uint64_t next(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int64_t below(int64_t limit) {
    return (int64_t)(next() % (uint64_t)limit);
}

/* ---- a model ---- */

enum { ROOM = 6000 };

typedef struct layout {
    acu_strides s;
    size_t shape[ACU_MAX_RANK];
    int64_t to[ACU_MAX_RANK], from[ACU_MAX_RANK];
    size_t element;
} layout;

static void model(const layout *l, unsigned dimension, unsigned char *to,
                  const unsigned char *from) {
    if (dimension == l->s.rank) {
        memcpy(to, from, l->element);
        return;
    }
    for (size_t i = 0; i < l->shape[dimension]; i++)
        model(l, dimension + 1, to + (int64_t)i * l->to[dimension] * (int64_t)l->element,
              from + (int64_t)i * l->from[dimension] * (int64_t)l->element);
}

/* Makes a dense layout whose dimensions are shuffled, spread and turned round: elements do not meet
 * in the destination. Returns how many elements the block needs. */
static size_t scatter(const layout *l, int64_t *steps, size_t *at) {
    unsigned order[ACU_MAX_RANK];
    int64_t step = 1;
    *at = 0;
    for (unsigned i = 0; i < l->s.rank; i++)
        order[i] = i;
    for (unsigned i = l->s.rank; i-- > 1;) {
        const unsigned j = (unsigned)below(i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    for (unsigned i = 0; i < l->s.rank; i++) {
        const unsigned d = order[i];
        const bool turned = below(3) == 0;
        step *= below(3) ? 1 : 1 + below(2);
        steps[d] = turned ? -step : step;
        if (turned)
            *at += (l->shape[d] - 1) * (size_t)step;
        step *= (int64_t)l->shape[d];
    }
    return (size_t)step;
}

static bool make(layout *l) {
    memset(l, 0, sizeof *l);
    l->element = (size_t)(1 + below(5) * below(5));
    l->s.rank = (unsigned)below(7);
    size_t count = 1;
    for (unsigned i = 0; i < l->s.rank; i++)
        count *= l->shape[i] = (size_t)(1 + below(4));
    const size_t to_need = scatter(l, l->to, &l->s.to_at);
    size_t from_need = scatter(l, l->from, &l->s.from_at);
    for (unsigned i = 0; i < l->s.rank; i++) /* repeated elements */
        if (below(6) == 0 && l->from[i] > 0)
            l->from[i] = 0;
    l->s.shape = l->shape;
    l->s.to = l->to;
    l->s.from = l->from;
    return count && to_need * l->element <= ROOM && from_need * l->element <= ROOM;
}

static void compare(acu_client *client, acu_block *to, acu_block *from, const layout *l) {
    static unsigned char expected[ROOM], got[ROOM], source[ROOM];
    OK(acu_block_read(client, from, 0, source, ROOM));
    OK(acu_block_read(client, to, 0, expected, ROOM));
    model(l, 0, expected + l->s.to_at * l->element, source + l->s.from_at * l->element);
    OK(acu_block_copy_strided(client, to, from, l->element, &l->s));
    OK(acu_block_read(client, to, 0, got, ROOM));
    assert_memory_equal(got, expected, ROOM);
}

static void compare_many(acu_client *client) {
    ACU_AUTO(acu_block) *from = new_block(client, ROOM, 0);
    ACU_AUTO(acu_block) *to = new_block(client, ROOM, 0xee);
    unsigned char source[ROOM];
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (unsigned char)next();
    OK(acu_block_write(client, from, 0, source, sizeof source));
    layout l;
    for (int i = 0; i < 600; i++)
        if (make(&l))
            compare(client, to, from, &l);
}

static void the_back_end_copies(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    compare_many(client);
    assert_true(made_up.calls[MADE_UP_COPY_STRIDED] > 50);
}

static void the_host_copies(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(plain);
    compare_many(client);
    assert_int_equal(made_up.calls[MADE_UP_COPY_STRIDED], 0);
}

/* Some shapes are refused by the back end, others have more dimensions than it can do. */
static void the_host_helps(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    made_up.fail[MADE_UP_COPY_STRIDED] = ACU_NOT_SUPPORTED;
    compare_many(client);
    assert_int_equal(acu_last_error(), 0);
    made_up_reset();
    made_up.max_rank = 2;
    ACU_AUTO(acu_client) *flat = new_client(made_up_register(NULL));
    made_up.last_rank = 0;
    compare_many(flat);
    assert_true(made_up.calls[MADE_UP_COPY_STRIDED] > 10);
    assert_true(made_up.last_rank <= 2);
}

/* ---- what the back end sees ---- */

static void shapes_are_simplified(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(client, 4096, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 4096, 2);
    const size_t shape[] = {2, 1, 3, 4};
    const int64_t apart[] = {24, 7, 8, 2}, other[] = {50, 9, 8, 2};
    acu_strides s = {.rank = 4, .shape = shape};
    OK(acu_block_copy_strided(client, a, b, 4, &s)); /* dense in both: a plain copy */
    assert_int_equal(made_up.calls[MADE_UP_COPY_STRIDED], 0);
    assert_int_equal(made_up.calls[MADE_UP_COPY], 1);
    assert_int_equal(byte_at(client, a, 95), 2);
    assert_int_equal(byte_at(client, a, 96), 1);
    s.to = s.from = apart; /* one run with steps of two elements */
    OK(acu_block_copy_strided(client, a, b, 4, &s));
    assert_int_equal(made_up.last_rank, 1);
    s.to = other;
    OK(acu_block_copy_strided(client, a, b, 4, &s));
    assert_int_equal(made_up.last_rank, 2);
    s.rank = 0; /* one element */
    OK(acu_block_copy_strided(client, a, b, 4, &s));
    assert_int_equal(made_up.calls[MADE_UP_COPY_STRIDED], 2);
    assert_int_equal(made_up.calls[MADE_UP_COPY], 2);
}

/* ---- errors ---- */

static void wrong_strides(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(place);
    ACU_AUTO(acu_block) *a = new_block(client, 16, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 16, 2);
    size_t shape[17] = {2, 4};
    int64_t steps[17] = {4, 1};
    acu_strides s = {.rank = 2, .shape = shape, .to = steps};
    FAILS(ACU_ERROR_ARGUMENT, "'strides' is NULL", acu_block_copy_strided(client, a, b, 1, NULL));
    FAILS(ACU_ERROR_ARGUMENT, "at least 1 byte", acu_block_copy_strided(client, a, b, 0, &s));
    s.rank = 17;
    FAILS(ACU_ERROR_ARGUMENT, "rank is 17", acu_block_copy_strided(client, a, b, 1, &s));
    s.rank = 2;
    s.shape = NULL;
    FAILS(ACU_ERROR_ARGUMENT, "shape is NULL", acu_block_copy_strided(client, a, b, 1, &s));
    s.shape = shape;
    steps[0] = 0;
    FAILS(ACU_ERROR_ARGUMENT, "dimension 0 is 0", acu_block_copy_strided(client, a, b, 1, &s));
    shape[0] = 1; /* one element needs no step */
    OK(acu_block_copy_strided(client, a, b, 1, &s));
    shape[0] = 0; /* nothing at all */
    s.to_at = 1000;
    OK(acu_block_copy_strided(client, a, b, 1, &s));
    shape[0] = 2;
    s.to_at = 0;
    steps[0] = 13;
    FAILS(ACU_ERROR_RANGE, "0 to 17", acu_block_copy_strided(client, a, b, 1, &s));
    steps[0] = -4;
    FAILS(ACU_ERROR_RANGE, "-4 to 4", acu_block_copy_strided(client, a, b, 1, &s));
    s.to_at = 4;
    OK(acu_block_copy_strided(client, a, b, 1, &s));
    s.from_at = 9;
    FAILS(ACU_ERROR_RANGE, "9 to 17", acu_block_copy_strided(client, a, b, 1, &s));
    s.from_at = 0;
    const size_t sizes[][2] = {{SIZE_MAX, 4}, {(size_t)1 << 40, (size_t)1 << 40}, {2, 4}, {2, 4}};
    const int64_t strides[][2] = {{4, 1}, {1, 1}, {INT64_MAX, 1}, {INT64_MIN, 1}};
    for (int i = 0; i < 4; i++) {
        memcpy(shape, sizes[i], sizeof sizes[i]);
        memcpy(steps, strides[i], sizeof strides[i]);
        FAILS(ACU_ERROR_OVERFLOW, "addressed", acu_block_copy_strided(client, a, b, 8, &s));
    }
    memcpy(steps, strides[0], sizeof strides[0]);
    s.to_at = SIZE_MAX / 2;
    FAILS(ACU_ERROR_OVERFLOW, "addressed", acu_block_copy_strided(client, a, b, 8, &s));
    FAILS(ACU_ERROR_OVERFLOW, "addressed", acu_block_copy_strided(client, a, b, SIZE_MAX, &s));
}

static void failing_hosts(void **state) {
    (void)state;
    ACU_AUTO(acu_client) *client = new_client(plain);
    ACU_AUTO(acu_block) *a = new_block(client, 16, 1);
    ACU_AUTO(acu_block) *b = new_block(client, 16, 2);
    const size_t shape[] = {2};
    const int64_t steps[] = {2};
    const acu_strides s = {.rank = 1, .shape = shape, .to = steps, .from = steps};
    made_up.fail[MADE_UP_READ] = 700;
    FAILS(700, "entry 7", acu_block_copy_strided(client, a, b, 1, &s));
    made_up_reset();
    made_up.fail[MADE_UP_WRITE] = 701;
    FAILS(701, "entry 6", acu_block_copy_strided(client, a, b, 1, &s));
}

/* Spans that are too large for the host's memory at once are copied part by part. */
static void large_spans(void **state) {
    (void)state;
    enum { STEP = 40 << 20 };
    ACU_AUTO(acu_client) *client = new_client(plain);
    ACU_AUTO(acu_block) *to = new_block(client, 16, 1);
    ACU_AUTO(acu_block) *from = new_block(client, 2 * STEP + 16, 2);
    const size_t shape[] = {3, 2};
    const int64_t steps[] = {STEP, 5};
    const acu_strides s = {.rank = 2, .shape = shape, .from = steps};
    OK(acu_block_write(client, from, 2 * STEP + 5, "x", 1));
    OK(acu_block_copy_strided(client, to, from, 1, &s));
    assert_int_equal(byte_at(client, to, 4), 2);
    assert_int_equal(byte_at(client, to, 5), 'x');
    assert_int_equal(byte_at(client, to, 6), 1);
}

static void without_strides(acu_backend *table) {
    table->copy_strided = NULL;
}

int main(void) {
    acu_quarantine(64); /* dead handles are recognised in release builds, too */
    place = made_up_register(NULL);
    plain = made_up_register(without_strides);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_back_end_copies, setup),
        cmocka_unit_test_setup(the_host_copies, setup),
        cmocka_unit_test_setup(the_host_helps, setup),
        cmocka_unit_test_setup(shapes_are_simplified, setup),
        cmocka_unit_test_setup(wrong_strides, setup),
        cmocka_unit_test_setup(failing_hosts, setup),
        cmocka_unit_test_setup(large_spans, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
