/*
 * The operations of examples/tensor on the place that the argument names: each against the same in
 * plain C, and each gradient against what the loss does when a number is changed a little.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tensor_context context;
static uint64_t chance = 1;

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if (call)                                                                                  \
            fail_msg("%s: %s", #call, tensor_error());                                             \
    } while (0)
#define REFUSED(call, words)                                                                       \
    do {                                                                                           \
        assert_int_equal(call, ACU_ERROR_ARGUMENT);                                                \
        if (!strstr(tensor_error(), words))                                                        \
            fail_msg("'%s' does not say '%s'", tensor_error(), words);                             \
    } while (0)

/* ---- matrices on the place and on the host ---- */

typedef struct matrix {
    tensor t;
    float *x; /* what was last written or read */
} matrix;

static size_t count_of(const matrix *m) {
    return (size_t)m->t.rows * m->t.columns;
}

static float at(const matrix *m, size_t row, size_t column) {
    return m->x[row * m->t.columns + column];
}

/* Makes a matrix of numbers around 0, of which some are 0. */
static matrix make(uint32_t rows, uint32_t columns) {
    matrix m = {.x = calloc((size_t)rows * columns, sizeof(float))};
    assert_non_null(m.x);
    MUST(tensor_create(&context, rows, columns, &m.t));
    for (size_t i = 0; i < count_of(&m); i++)
        m.x[i] = digits_random(&chance) < 0.1f ? 0 : 4 * digits_random(&chance) - 2;
    MUST(tensor_write(&context, &m.t, m.x));
    return m;
}

static void fetch(matrix *m) {
    MUST(tensor_read(&context, &m->t, m->x));
}

static void drop(matrix *m) {
    tensor_drop(&m->t);
    free(m->x);
}

static void expect_near(const matrix *m, size_t row, size_t column, double wanted, double margin) {
    const double found = (double)at(m, row, column);
    if (!(fabs(found - wanted) <= margin * fmax(1, fabs(wanted))))
        fail_msg("row %zu, column %zu of %u x %u is %g, not %g", row, column, m->t.rows,
                 m->t.columns, found, wanted);
}

/* Shapes of less than a group, of one, and of several, whole or not. */
static const uint32_t shapes[][2] = {{1, 1}, {1, 300}, {300, 1}, {16, 16}, {17, 31}, {64, 10}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- operations on elements ---- */

typedef acu_result two_operands(const tensor_context *, const tensor *, const tensor *,
                                const tensor *);
typedef double element(double a, double b);

/* Compares an operation on a and b, which has `rows` rows, with the same on numbers. */
static void compare(two_operands *operation, element *wanted, uint32_t rows,
                    const uint32_t shape[2]) {
    matrix a = make(shape[0], shape[1]), b = make(rows, shape[1]), out = make(shape[0], shape[1]);
    MUST(operation(&context, &a.t, &b.t, &out.t));
    fetch(&out);
    for (size_t y = 0; y < shape[0]; y++)
        for (size_t x = 0; x < shape[1]; x++)
            expect_near(&out, y, x, wanted((double)at(&a, y, x), (double)at(&b, y % rows, x)),
                        1e-6);
    drop(&a);
    drop(&b);
    drop(&out);
}

static double add(double a, double b) {
    return a + b;
}

static double multiply(double a, double b) {
    return a * b;
}

static double relu(double a, double b) {
    (void)b;
    return a > 0 ? a : 0;
}

static double relu_gradient(double a, double b) {
    return a > 0 ? b : 0;
}

static double scale(double a, double b) {
    (void)b;
    return a * -0.75;
}

static double sgd(double gradient, double parameter) {
    return parameter - 0.25 * gradient;
}

static acu_result run_relu(const tensor_context *c, const tensor *a, const tensor *b,
                           const tensor *out) {
    (void)b;
    return tensor_relu(c, a, out);
}

static acu_result run_scale(const tensor_context *c, const tensor *a, const tensor *b,
                            const tensor *out) {
    (void)b;
    return tensor_scale(c, a, -0.75f, out);
}

/* The parameter is a copy, since the comparison needs what it was. */
static acu_result run_sgd(const tensor_context *c, const tensor *gradient, const tensor *parameter,
                          const tensor *out) {
    ACU_TRY(tensor_copy_rows(c, parameter, 0, out, 0, out->rows));
    return tensor_sgd(c, out, gradient, 0.25f);
}

static void test_elements(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const uint32_t rows = shapes[i][0];
        compare(tensor_add, add, rows, shapes[i]);
        compare(tensor_multiply, multiply, rows, shapes[i]);
        compare(run_relu, relu, rows, shapes[i]);
        compare(tensor_relu_gradient, relu_gradient, rows, shapes[i]);
        compare(run_scale, scale, rows, shapes[i]);
        compare(run_sgd, sgd, rows, shapes[i]);
    }
}

static void test_a_row_is_broadcast(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        compare(tensor_add, add, 1, shapes[i]);
        compare(tensor_multiply, multiply, 1, shapes[i]);
    }
}

static void test_rows_are_copied(void **state) {
    matrix from = make(9, 5), to = make(7, 5);
    float before[35];
    (void)state;
    memcpy(before, to.x, sizeof before);
    MUST(tensor_copy_rows(&context, &from.t, 6, &to.t, 2, 3));
    fetch(&to);
    assert_memory_equal(to.x, before, 10 * sizeof(float));
    assert_memory_equal(to.x + 10, from.x + 30, 15 * sizeof(float));
    assert_memory_equal(to.x + 25, before + 25, 10 * sizeof(float));
    drop(&from);
    drop(&to);
}

/* ---- sums and products ---- */

static void test_sum(void **state) {
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const uint32_t rows = shapes[i][0], columns = shapes[i][1];
        matrix a = make(rows, columns), down = make(1, columns), across = make(rows, 1);
        matrix turned = make(1, rows);
        const tensor t = tensor_transposed(&a.t);
        MUST(tensor_sum(&context, &a.t, 0, &down.t));
        MUST(tensor_sum(&context, &a.t, 1, &across.t));
        MUST(tensor_sum(&context, &t, 0, &turned.t));
        fetch(&down);
        fetch(&across);
        fetch(&turned);
        assert_memory_equal(turned.x, across.x, rows * sizeof(float));
        for (size_t x = 0; x < columns; x++) {
            double sum = 0;
            for (size_t y = 0; y < rows; y++)
                sum += (double)at(&a, y, x);
            expect_near(&down, 0, x, sum, 1e-4);
        }
        for (size_t y = 0; y < rows; y++) {
            double sum = 0;
            for (size_t x = 0; x < columns; x++)
                sum += (double)at(&a, y, x);
            expect_near(&across, y, 0, sum, 1e-4);
        }
        drop(&a);
        drop(&down);
        drop(&across);
        drop(&turned);
    }
}

/* Multiplies m x k by k x n, either of which may lie in memory as its transposed. */
static void product(uint32_t m, uint32_t k, uint32_t n, bool a_turned, bool b_turned) {
    matrix a = a_turned ? make(k, m) : make(m, k), b = b_turned ? make(n, k) : make(k, n);
    matrix out = make(m, n);
    const tensor left = a_turned ? tensor_transposed(&a.t) : a.t;
    const tensor right = b_turned ? tensor_transposed(&b.t) : b.t;
    MUST(tensor_matmul(&context, &left, &right, &out.t));
    fetch(&out);
    for (size_t y = 0; y < m; y++)
        for (size_t x = 0; x < n; x++) {
            double sum = 0;
            for (size_t i = 0; i < k; i++)
                sum += (double)(a_turned ? at(&a, i, y) : at(&a, y, i)) *
                       (double)(b_turned ? at(&b, x, i) : at(&b, i, x));
            expect_near(&out, y, x, sum, 1e-4);
        }
    drop(&a);
    drop(&b);
    drop(&out);
}

static void test_matmul(void **state) {
    static const uint32_t sizes[][3] = {{1, 1, 1},  {16, 16, 16},  {17, 19, 18},
                                        {3, 16, 5}, {64, 144, 64}, {64, 64, 10}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int turned = 0; turned < 4; turned++)
            product(sizes[i][0], sizes[i][1], sizes[i][2], turned & 1, turned & 2);
}

/* ---- the loss, and gradients ---- */

/* Makes targets of which each row has one 1. */
static matrix make_targets(uint32_t rows, uint32_t columns) {
    matrix m = make(rows, columns);
    memset(m.x, 0, count_of(&m) * sizeof *m.x);
    for (size_t y = 0; y < rows; y++)
        m.x[y * columns + (size_t)(digits_random(&chance) * (float)columns)] = 1;
    MUST(tensor_write(&context, &m.t, m.x));
    return m;
}

/* Compares losses and gradient with softmax and cross-entropy by their definitions. */
static void check_loss(const matrix *z, const matrix *targets, const matrix *losses,
                       const matrix *gradient) {
    for (size_t y = 0; y < z->t.rows; y++) {
        double top = -INFINITY, sum = 0, loss = 0;
        for (size_t x = 0; x < z->t.columns; x++)
            top = fmax(top, (double)at(z, y, x));
        for (size_t x = 0; x < z->t.columns; x++)
            sum += exp((double)at(z, y, x) - top);
        for (size_t x = 0; x < z->t.columns; x++) {
            const double log_p = (double)at(z, y, x) - top - log(sum);
            const double target = (double)at(targets, y, x);
            loss -= target * log_p;
            expect_near(gradient, y, x, (exp(log_p) - target) / z->t.rows, 2e-6);
        }
        expect_near(losses, y, 0, loss, 1e-5);
    }
}

/* The larger the scores, the more exp() would be beyond what a float can hold. */
static void test_softmax_loss(void **state) {
    static const float factors[] = {0, 1, 100};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        matrix z = make(33, 10), targets = make_targets(33, 10), losses = make(33, 1);
        matrix gradient = make(33, 10);
        for (size_t k = 0; k < count_of(&z); k++)
            z.x[k] *= factors[i];
        MUST(tensor_write(&context, &z.t, z.x));
        MUST(tensor_softmax_loss(&context, &z.t, &targets.t, &losses.t, &gradient.t));
        fetch(&losses);
        fetch(&gradient);
        check_loss(&z, &targets, &losses, &gradient);
        drop(&z);
        drop(&targets);
        drop(&losses);
        drop(&gradient);
    }
}

/* Does a step, and returns the mean loss with more digits than a float has. */
static double loss_of(network *n) {
    float losses[NETWORK_BATCH];
    double sum = 0;
    MUST(network_step(context.client, n));
    MUST(tensor_read(&context, &n->losses, losses));
    for (size_t i = 0; i < NETWORK_BATCH; i++)
        sum += (double)losses[i];
    return sum / NETWORK_BATCH;
}

/* Returns how the loss rises with number `i` of a tensor whose numbers are `x`. */
static double slope_of(network *n, const tensor *t, float *x, size_t i) {
    const float was = x[i], step = 1e-3f;
    double loss[2];
    for (int side = 0; side < 2; side++) {
        x[i] = side ? was + step : was - step;
        MUST(tensor_write(&context, t, x));
        loss[side] = loss_of(n);
    }
    x[i] = was;
    MUST(tensor_write(&context, t, x));
    return (loss[1] - loss[0]) / (2 * (double)step);
}

/*
 * Compares some numbers of a gradient with the slope of the loss, all of them together: where a
 * number behind relu changes its sign, a single slope is not a good one.
 */
static void check_gradient(network *n, const tensor *t, const tensor *gradient) {
    static float x[DIGITS_PIXELS * NETWORK_HIDDEN], found[DIGITS_PIXELS * NETWORK_HIDDEN];
    const size_t count = (size_t)t->rows * t->columns;
    double size = 0, error = 0;
    (void)loss_of(n);
    MUST(tensor_read(&context, t, x));
    MUST(tensor_read(&context, gradient, found));
    for (size_t i = 0; i < count; i += count / 16 + 1) {
        const double slope = slope_of(n, t, x, i);
        size += slope * slope;
        error += (slope - (double)found[i]) * (slope - (double)found[i]);
    }
    if (!(size > 1e-4 && error < 4e-4 * size))
        fail_msg("of %u x %u slopes of size %g the gradient is %g away", t->rows, t->columns,
                 sqrt(size), sqrt(error));
}

/* With a rate of 0 a step changes nothing, and computes the loss and all gradients. */
static void test_gradients(void **state) {
    static float images[NETWORK_BATCH * DIGITS_PIXELS], targets[NETWORK_BATCH * DIGITS_CLASSES];
    network n;
    (void)state;
    MUST(network_create(&context, 3, 0, &n));
    digits_draw(5, NETWORK_BATCH, images, targets);
    MUST(tensor_write(&context, &n.images, images));
    MUST(tensor_write(&context, &n.targets, targets));
    check_gradient(&n, &n.weights1, &n.weights1_gradient);
    check_gradient(&n, &n.bias1, &n.bias1_gradient);
    check_gradient(&n, &n.weights2, &n.weights2_gradient);
    check_gradient(&n, &n.bias2, &n.bias2_gradient);
    network_drop(&n);
}

/* ---- what is refused ---- */

static void test_shapes_that_do_not_fit(void **state) {
    matrix a = make(4, 6), b = make(4, 5), row = make(1, 6), out = make(4, 6);
    const tensor turned = tensor_transposed(&a.t);
    tensor none;
    (void)state;
    REFUSED(tensor_create(&context, 0, 5, &none), "0 x 5 elements are none");
    REFUSED(tensor_create(&context, 65536, 65536, &none), "2^31");
    REFUSED(tensor_add(&context, &a.t, &b.t, &out.t), "tensor_add: 4 x 5 does not fit to 4 x 6");
    REFUSED(tensor_add(&context, &row.t, &a.t, &out.t), "the result is 4 x 6");
    REFUSED(tensor_add(&context, &a.t, &row.t, &a.t), "the result is an operand");
    REFUSED(tensor_relu(&context, &turned, &out.t), "tensor_relu: a tensor is transposed");
    REFUSED(tensor_relu_gradient(&context, &a.t, &row.t, &out.t), "the gradient is 1 x 6");
    REFUSED(tensor_matmul(&context, &a.t, &b.t, &out.t), "4 x 6 times 4 x 5 is not 4 x 6");
    REFUSED(tensor_matmul(&context, &turned, &a.t, &a.t), "is not 4 x 6");
    REFUSED(tensor_sum(&context, &a.t, 2, &row.t), "no axis 2");
    REFUSED(tensor_sum(&context, &a.t, 1, &row.t), "over axis 1 is not 1 x 6");
    REFUSED(tensor_softmax_loss(&context, &a.t, &out.t, &row.t, &b.t), "the result is 4 x 5");
    REFUSED(tensor_sgd(&context, &a.t, &b.t, 1), "the result is 4 x 6");
    REFUSED(tensor_write(&context, &turned, a.x), "transposed");
    REFUSED(tensor_copy_rows(&context, &a.t, 0, &b.t, 0, 1), "rows of 6 and of 5 elements");
    assert_int_equal(tensor_copy_rows(&context, &a.t, 3, &out.t, 0, 2), ACU_ERROR_RANGE);
    drop(&a);
    drop(&b);
    drop(&row);
    drop(&out);
}

static void test_all_memory_was_given_back(void **state) {
    acu_memory_stats stats;
    (void)state;
    MUST(acu_client_get_memory(context.client, &stats));
    assert_int_equal(stats.blocks, 0);
    assert_int_equal(acu_release_error(NULL), 0);
}

/* Prints why the place of that name cannot be used, and returns whether it can. */
static bool find_place(const char *name, acu_place *place) {
    int devices = 0;
    if (acu_place_parse(name, place) == ACU_SUCCESS &&
        acu_runtime_get_device_count(place->runtime, &devices) == ACU_SUCCESS && devices > 0)
        return true;
    printf("skipped: %s cannot be used: %s\n", name, acu_last_error_message());
    return false;
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_a_row_is_broadcast),
        cmocka_unit_test(test_rows_are_copied),
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_softmax_loss),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_shapes_that_do_not_fit),
        cmocka_unit_test(test_all_memory_was_given_back),
    };
    acu_place place;
    acu_runtime_add_all();
    if (!find_place(count > 1 ? arguments[1] : "cpu", &place))
        return 77;
    if (tensor_open(place, &context)) {
        printf("error: %s\n", tensor_error());
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tensor_close(&context);
    return failed;
}
