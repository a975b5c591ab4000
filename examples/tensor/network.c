#include "network.h"

#include <math.h>

/* ---- making and dropping ---- */

typedef struct shape {
    tensor *t;
    uint32_t rows, columns;
} shape;

enum { TENSORS = 21 };

/* Lists all tensors of a network with their shapes. */
static void list(network *n, shape shapes[TENSORS]) {
    enum { IN = DIGITS_PIXELS, MID = NETWORK_HIDDEN, OUT = DIGITS_CLASSES, BATCH = NETWORK_BATCH };
    const shape all[TENSORS] = {
        {&n->weights1, IN, MID},
        {&n->weights1_gradient, IN, MID},
        {&n->bias1, 1, MID},
        {&n->bias1_gradient, 1, MID},
        {&n->weights2, MID, OUT},
        {&n->weights2_gradient, MID, OUT},
        {&n->bias2, 1, OUT},
        {&n->bias2_gradient, 1, OUT},
        {&n->images, BATCH, IN},
        {&n->targets, BATCH, OUT},
        {&n->product1, BATCH, MID},
        {&n->sum1, BATCH, MID},
        {&n->hidden, BATCH, MID},
        {&n->product2, BATCH, OUT},
        {&n->scores, BATCH, OUT},
        {&n->losses, BATCH, 1},
        {&n->total_loss, 1, 1},
        {&n->loss, 1, 1},
        {&n->scores_gradient, BATCH, OUT},
        {&n->hidden_gradient, BATCH, MID},
        {&n->sum1_gradient, BATCH, MID},
    };
    for (int i = 0; i < TENSORS; i++)
        shapes[i] = all[i];
}

/* Writes random weights, the smaller the more of them are summed up, so that sums stay near 1. */
static acu_result write_weights(const network *n, const tensor *t, uint64_t *state) {
    float weights[DIGITS_PIXELS * NETWORK_HIDDEN];
    const float most = sqrtf(6 / (float)t->rows);
    for (uint32_t i = 0; i < t->rows * t->columns; i++)
        weights[i] = most * (2 * digits_random(state) - 1);
    return tensor_write(n->context, t, weights);
}

static acu_result write_zeros(const network *n, const tensor *t) {
    const float zeros[NETWORK_HIDDEN] = {0};
    return tensor_write(n->context, t, zeros);
}

acu_result network_create(const tensor_context *context, uint64_t seed, float rate, network *n) {
    shape shapes[TENSORS];
    *n = (network){.context = context, .rate = rate};
    list(n, shapes);
    for (int i = 0; i < TENSORS; i++)
        ACU_TRY(tensor_create(context, shapes[i].rows, shapes[i].columns, shapes[i].t));
    ACU_TRY(write_weights(n, &n->weights1, &seed));
    ACU_TRY(write_weights(n, &n->weights2, &seed));
    ACU_TRY(write_zeros(n, &n->bias1));
    return write_zeros(n, &n->bias2);
}

void network_drop(network *n) {
    shape shapes[TENSORS];
    list(n, shapes);
    for (int i = 0; i < TENSORS; i++)
        tensor_drop(shapes[i].t);
}

/* ---- a step ---- */

acu_result network_forward(const network *n) {
    const tensor_context *c = n->context;
    ACU_TRY(tensor_matmul(c, &n->images, &n->weights1, &n->product1));
    ACU_TRY(tensor_add(c, &n->product1, &n->bias1, &n->sum1));
    ACU_TRY(tensor_relu(c, &n->sum1, &n->hidden));
    ACU_TRY(tensor_matmul(c, &n->hidden, &n->weights2, &n->product2));
    return tensor_add(c, &n->product2, &n->bias2, &n->scores);
}

/* Computes the mean loss, and the gradient of the scores. */
static acu_result compute_loss(const network *n) {
    const tensor_context *c = n->context;
    ACU_TRY(tensor_softmax_loss(c, &n->scores, &n->targets, &n->losses, &n->scores_gradient));
    ACU_TRY(tensor_sum(c, &n->losses, 0, &n->total_loss));
    return tensor_scale(c, &n->total_loss, 1 / (float)NETWORK_BATCH, &n->loss);
}

/* Computes the gradients of the parameters by the chain rule, from the scores back. */
static acu_result backward(const network *n) {
    const tensor_context *c = n->context;
    const tensor images = tensor_transposed(&n->images), hidden = tensor_transposed(&n->hidden);
    const tensor weights2 = tensor_transposed(&n->weights2);
    ACU_TRY(tensor_matmul(c, &hidden, &n->scores_gradient, &n->weights2_gradient));
    ACU_TRY(tensor_sum(c, &n->scores_gradient, 0, &n->bias2_gradient));
    ACU_TRY(tensor_matmul(c, &n->scores_gradient, &weights2, &n->hidden_gradient));
    ACU_TRY(tensor_relu_gradient(c, &n->sum1, &n->hidden_gradient, &n->sum1_gradient));
    ACU_TRY(tensor_matmul(c, &images, &n->sum1_gradient, &n->weights1_gradient));
    return tensor_sum(c, &n->sum1_gradient, 0, &n->bias1_gradient);
}

static acu_result update(const network *n) {
    const tensor_context *c = n->context;
    ACU_TRY(tensor_sgd(c, &n->weights1, &n->weights1_gradient, n->rate));
    ACU_TRY(tensor_sgd(c, &n->bias1, &n->bias1_gradient, n->rate));
    ACU_TRY(tensor_sgd(c, &n->weights2, &n->weights2_gradient, n->rate));
    return tensor_sgd(c, &n->bias2, &n->bias2_gradient, n->rate);
}

acu_result network_step(acu_client *client, void *data) {
    const network *n = data;
    (void)client; /* the context's */
    ACU_TRY(network_forward(n));
    ACU_TRY(compute_loss(n));
    ACU_TRY(backward(n));
    return update(n);
}
