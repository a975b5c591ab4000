/* Contexts, tensors, and what each operation gives to its program; the programs are forms.h's. */
#include "forms.h"

#include <stdarg.h>
#include <stdio.h>

static const acu_program_source *const sources[TENSOR_PROGRAMS] = {
    [TENSOR_ADD] = &tensor_add_source,
    [TENSOR_MULTIPLY] = &tensor_multiply_source,
    [TENSOR_SCALE] = &tensor_scale_source,
    [TENSOR_RELU] = &tensor_relu_source,
    [TENSOR_RELU_GRADIENT] = &tensor_relu_gradient_source,
    [TENSOR_SGD] = &tensor_sgd_source,
    [TENSOR_SUM] = &tensor_sum_source,
    [TENSOR_SOFTMAX_LOSS] = &tensor_softmax_loss_source,
    [TENSOR_MATMUL] = &tensor_matmul_source,
};

/* ---- errors ---- */

/* Why the thread's last call with a wrong shape failed. */
static _Thread_local char misfit[200];

const char *tensor_error(void) {
    return *acu_last_error_message() ? acu_last_error_message() : misfit;
}

/* Fails because of a shape; tensor_error() then has these words. */
__attribute__((format(printf, 1, 2))) static acu_result refuse(const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(misfit, sizeof misfit, format, args);
    va_end(args);
    acu_clear_error();
    return ACU_ERROR_ARGUMENT;
}

/* ---- contexts ---- */

static acu_result prepare(acu_place place, tensor_context *context) {
    ACU_TRY(acu_client_create(place, NULL, &context->client));
    for (int i = 0; i < TENSOR_PROGRAMS; i++) {
        ACU_TRY(acu_program_create(sources[i], &context->programs[i]));
        ACU_TRY(acu_program_prepare(context->programs[i], place));
    }
    return ACU_SUCCESS;
}

acu_result tensor_open(acu_place place, tensor_context *context) {
    *context = (tensor_context){0};
    const acu_result result = prepare(place, context);
    if (result)
        tensor_close(context);
    return result;
}

void tensor_close(tensor_context *context) {
    for (int i = 0; i < TENSOR_PROGRAMS; i++)
        (void)acu_program_release(context->programs[i]);
    (void)acu_client_release(context->client);
    *context = (tensor_context){0};
}

/* ---- tensors ---- */

static uint64_t bytes_of(const tensor *t, uint32_t rows) {
    return (uint64_t)rows * t->columns * sizeof(float);
}

static uint32_t count_of(const tensor *t) {
    return t->rows * t->columns;
}

static bool has_shape(const tensor *t, uint32_t rows, uint32_t columns) {
    return t->rows == rows && t->columns == columns;
}

/* Returns whether the rows lie one after the other. */
static bool is_plain(const tensor *t) {
    return t->column_step == 1 && t->row_step == t->columns;
}

acu_result tensor_create(const tensor_context *context, uint32_t rows, uint32_t columns,
                         tensor *out) {
    *out = (tensor){NULL, rows, columns, columns, 1};
    if (!rows || !columns || (uint64_t)rows * columns > INT32_MAX)
        return refuse("tensor_create: %u x %u elements are none, or 2^31 and more", rows, columns);
    return acu_block_create_for(context->client, ACU_F32, count_of(out), &out->block);
}

void tensor_drop(tensor *t) {
    (void)acu_block_release(t->block);
    t->block = NULL;
}

tensor tensor_transposed(const tensor *t) {
    return (tensor){t->block, t->columns, t->rows, t->column_step, t->row_step};
}

acu_result tensor_write(const tensor_context *context, const tensor *t, const float *from) {
    if (!is_plain(t))
        return refuse("tensor_write: the tensor is transposed; write to the one behind it");
    return acu_block_write(context->client, t->block, 0, from, bytes_of(t, t->rows));
}

acu_result tensor_read(const tensor_context *context, const tensor *t, float *to) {
    if (!is_plain(t))
        return refuse("tensor_read: the tensor is transposed; read the one behind it");
    return acu_block_read(context->client, t->block, 0, to, bytes_of(t, t->rows));
}

acu_result tensor_copy_rows(const tensor_context *context, const tensor *from, uint32_t from_row,
                            const tensor *to, uint32_t to_row, uint32_t rows) {
    if (!is_plain(from) || !is_plain(to) || from->columns != to->columns)
        return refuse(
            "tensor_copy_rows: rows of %u and of %u elements, or one tensor is transposed",
            from->columns, to->columns);
    return acu_block_copy(context->client, to->block, bytes_of(to, to_row), from->block,
                          bytes_of(from, from_row), bytes_of(from, rows));
}

/* ---- operations ---- */

/* Checks that the result is none of the operands, and that none of the three is transposed. */
static acu_result check(const char *call, const tensor *a, const tensor *b, const tensor *out) {
    if (a->block == out->block || b->block == out->block)
        return refuse("%s: the result is an operand; make another tensor for it", call);
    if (!is_plain(a) || !is_plain(b) || !is_plain(out))
        return refuse(
            "%s: a tensor is transposed, which only tensor_matmul() and tensor_sum() take", call);
    if (!has_shape(out, a->rows, a->columns))
        return refuse("%s: the result is %u x %u, and the first operand %u x %u", call, out->rows,
                      out->columns, a->rows, a->columns);
    return ACU_SUCCESS;
}

/* Runs a[i] with b[i % period], where b is as large as a, or a row of it. */
static acu_result combine(const char *call, enum tensor_program program,
                          const tensor_context *context, const tensor *a, const tensor *b,
                          const tensor *out) {
    ACU_TRY(check(call, a, b, out));
    if (b->columns != a->columns || (b->rows != a->rows && b->rows != 1))
        return refuse("%s: %u x %u does not fit to %u x %u", call, b->rows, b->columns, a->rows,
                      a->columns);
    return acu_run(context->client, context->programs[program], acu_items(count_of(out)),
                   acu_in_block(a->block), acu_in_block(b->block), acu_out_block(out->block),
                   count_of(out), count_of(b));
}

acu_result tensor_add(const tensor_context *context, const tensor *a, const tensor *b,
                      const tensor *out) {
    return combine("tensor_add", TENSOR_ADD, context, a, b, out);
}

acu_result tensor_multiply(const tensor_context *context, const tensor *a, const tensor *b,
                           const tensor *out) {
    return combine("tensor_multiply", TENSOR_MULTIPLY, context, a, b, out);
}

acu_result tensor_scale(const tensor_context *context, const tensor *a, float factor,
                        const tensor *out) {
    ACU_TRY(check("tensor_scale", a, a, out));
    return acu_run(context->client, context->programs[TENSOR_SCALE], acu_items(count_of(out)),
                   acu_in_block(a->block), acu_out_block(out->block), count_of(out), factor);
}

acu_result tensor_relu(const tensor_context *context, const tensor *a, const tensor *out) {
    ACU_TRY(check("tensor_relu", a, a, out));
    return acu_run(context->client, context->programs[TENSOR_RELU], acu_items(count_of(out)),
                   acu_in_block(a->block), acu_out_block(out->block), count_of(out));
}

acu_result tensor_relu_gradient(const tensor_context *context, const tensor *a,
                                const tensor *gradient, const tensor *out) {
    ACU_TRY(check("tensor_relu_gradient", a, gradient, out));
    if (!has_shape(gradient, a->rows, a->columns))
        return refuse("tensor_relu_gradient: the gradient is %u x %u, and the operand %u x %u",
                      gradient->rows, gradient->columns, a->rows, a->columns);
    return acu_run(context->client, context->programs[TENSOR_RELU_GRADIENT],
                   acu_items(count_of(out)), acu_in_block(a->block), acu_in_block(gradient->block),
                   acu_out_block(out->block), count_of(out));
}

acu_result tensor_matmul(const tensor_context *context, const tensor *a, const tensor *b,
                         const tensor *out) {
    if (a->columns != b->rows || !has_shape(out, a->rows, b->columns) || !is_plain(out))
        return refuse("tensor_matmul: %u x %u times %u x %u is not %u x %u, or the result is "
                      "transposed",
                      a->rows, a->columns, b->rows, b->columns, out->rows, out->columns);
    if (a->block == out->block || b->block == out->block)
        return refuse("tensor_matmul: the result is an operand; make another tensor for it");
    return acu_run(context->client, context->programs[TENSOR_MATMUL],
                   acu_items_3d(out->columns, out->rows, 1), acu_in_block(a->block),
                   acu_in_block(b->block), acu_out_block(out->block), out->rows, out->columns,
                   a->columns, a->row_step, a->column_step, b->row_step, b->column_step);
}

acu_result tensor_sum(const tensor_context *context, const tensor *a, int axis, const tensor *out) {
    const tensor t = axis == 1 ? tensor_transposed(a) : *a; /* whose columns are summed */
    if (axis != 0 && axis != 1)
        return refuse("tensor_sum: a matrix has the axes 0 and 1, and no axis %d", axis);
    if (!is_plain(out) || count_of(out) != t.columns || (axis ? out->columns : out->rows) != 1)
        return refuse("tensor_sum: the sum of %u x %u over axis %d is not %u x %u", a->rows,
                      a->columns, axis, out->rows, out->columns);
    if (a->block == out->block)
        return refuse("tensor_sum: the result is the operand; make another tensor for it");
    return acu_run(context->client, context->programs[TENSOR_SUM], acu_items(t.columns),
                   acu_in_block(t.block), acu_out_block(out->block), t.columns, t.rows,
                   t.column_step, t.row_step);
}

acu_result tensor_softmax_loss(const tensor_context *context, const tensor *z,
                               const tensor *targets, const tensor *losses,
                               const tensor *gradient) {
    ACU_TRY(check("tensor_softmax_loss", z, targets, gradient));
    if (!has_shape(targets, z->rows, z->columns) || !has_shape(losses, z->rows, 1))
        return refuse("tensor_softmax_loss: z is %u x %u, the targets %u x %u, and the losses "
                      "%u x %u",
                      z->rows, z->columns, targets->rows, targets->columns, losses->rows,
                      losses->columns);
    if (losses->block == z->block || losses->block == targets->block ||
        losses->block == gradient->block)
        return refuse("tensor_softmax_loss: the losses need a tensor of their own");
    return acu_run(context->client, context->programs[TENSOR_SOFTMAX_LOSS], acu_items(z->rows),
                   acu_in_block(z->block), acu_in_block(targets->block),
                   acu_out_block(losses->block), acu_out_block(gradient->block), z->rows,
                   z->columns, 1 / (float)z->rows);
}

acu_result tensor_sgd(const tensor_context *context, const tensor *parameter,
                      const tensor *gradient, float rate) {
    ACU_TRY(check("tensor_sgd", gradient, gradient, parameter));
    return acu_run(context->client, context->programs[TENSOR_SGD], acu_items(count_of(parameter)),
                   acu_inout_block(parameter->block), acu_in_block(gradient->block),
                   count_of(parameter), rate);
}
