/*
 * A small tensor library upon <anycuda/runtime.h>: matrices of floats, on the CPU, CUDA and WebGPU.
 *
 * A context is a client of one place, with a program for each operation. An operation gives work to
 * the client and does not wait; only tensor_read() does. Every operation writes to a tensor that
 * the caller made and that is none of its operands, because WebGPU allows nothing else.
 *
 * Whatever place computes, each element of a result is one sum in one order, from the first term
 * to the last, so that the places differ by the rounding of exp(), log(), and fused products alone.
 */
#ifndef TENSOR_H
#define TENSOR_H

#include <anycuda/runtime.h>

/* The operations that are programs: forms.h has what each is made of. */
enum tensor_program {
    TENSOR_ADD,
    TENSOR_MULTIPLY,
    TENSOR_SCALE,
    TENSOR_RELU,
    TENSOR_RELU_GRADIENT,
    TENSOR_SGD,
    TENSOR_SUM,
    TENSOR_SOFTMAX_LOSS,
    TENSOR_MATMUL,
    TENSOR_PROGRAMS
};

/* A queue of a place, and what runs on it. Both are owned. */
typedef struct tensor_context {
    acu_client *client;
    acu_program *programs[TENSOR_PROGRAMS];
} tensor_context;

/* Opens a context of its own client on a place. After a failure the context is empty. */
ACU_CHECKED acu_result tensor_open(acu_place place, tensor_context *context);
/* Gives up the client and the programs; tensors that live keep what they need. As everywhere here,
 * acu_release_error() has what failed of that. */
void tensor_close(tensor_context *context);

/* Returns why this thread's last call failed: shapes that do not fit, or what anycuda says. */
const char *tensor_error(void);

/* ---- tensors ---- */

/* A matrix: where its elements are, and how many elements lie between neighbours. */
typedef struct tensor {
    acu_block *block; /* owned, except by what tensor_transposed() returns; NULL: no tensor */
    uint32_t rows, columns;
    uint32_t row_step, column_step;
} tensor;

/* Makes a tensor of rows that lie one after the other, which the caller owns. */
ACU_CHECKED acu_result tensor_create(const tensor_context *context, uint32_t rows, uint32_t columns,
                                     tensor *out);
/* Gives up the memory, and empties the tensor; an empty one may be dropped, too. */
void tensor_drop(tensor *t);

/* Returns the same elements with rows and columns exchanged, valid as long as the tensor. */
tensor tensor_transposed(const tensor *t);

/* Writes all elements, row by row; `from` may be used again when this returns. */
ACU_CHECKED acu_result tensor_write(const tensor_context *context, const tensor *t,
                                    const float *from);
/* Reads all elements, row by row, and waits until they are there. */
ACU_CHECKED acu_result tensor_read(const tensor_context *context, const tensor *t, float *to);
/* Copies `rows` rows. The two tensors have the same number of columns. */
ACU_CHECKED acu_result tensor_copy_rows(const tensor_context *context, const tensor *from,
                                        uint32_t from_row, const tensor *to, uint32_t to_row,
                                        uint32_t rows);

/*
 * ---- operations ----
 *
 * Each fails with ACU_ERROR_ARGUMENT where the shapes do not fit, or the result is an operand. All
 * but tensor_matmul() and tensor_sum() refuse what tensor_transposed() returned.
 */

/* out = a + b. Where b has one row, it is added to each row of a. */
ACU_CHECKED acu_result tensor_add(const tensor_context *context, const tensor *a, const tensor *b,
                                  const tensor *out);
/* out = a * b, element by element. Where b has one row, each row of a is multiplied by it. */
ACU_CHECKED acu_result tensor_multiply(const tensor_context *context, const tensor *a,
                                       const tensor *b, const tensor *out);
/* out = a * factor */
ACU_CHECKED acu_result tensor_scale(const tensor_context *context, const tensor *a, float factor,
                                    const tensor *out);
/* out = a where a > 0, else 0 */
ACU_CHECKED acu_result tensor_relu(const tensor_context *context, const tensor *a,
                                   const tensor *out);
/* out = gradient where a > 0, else 0; a is what tensor_relu() was given. */
ACU_CHECKED acu_result tensor_relu_gradient(const tensor_context *context, const tensor *a,
                                            const tensor *gradient, const tensor *out);
/* The matrix product of a and b, either of which may be transposed. */
ACU_CHECKED acu_result tensor_matmul(const tensor_context *context, const tensor *a,
                                     const tensor *b, const tensor *out);
/* Sums over axis 0, so that out is one row, or over axis 1, so that out is one column. */
ACU_CHECKED acu_result tensor_sum(const tensor_context *context, const tensor *a, int axis,
                                  const tensor *out);
/*
 * Softmax, cross-entropy, and the gradient of the mean of the losses.
 *
 * Row by row: p = exp(z) / sum(exp(z)), losses = -sum(targets * log(p)), which is one column, and
 * gradient = (p - targets) / rows. Each row of the targets sums up to 1.
 */
ACU_CHECKED acu_result tensor_softmax_loss(const tensor_context *context, const tensor *z,
                                           const tensor *targets, const tensor *losses,
                                           const tensor *gradient);
/* One step of gradient descent: parameter = parameter - rate * gradient. */
ACU_CHECKED acu_result tensor_sgd(const tensor_context *context, const tensor *parameter,
                                  const tensor *gradient, float rate);

#endif
