/*
 * The network that train.c trains: 144 pixels, 64 numbers behind relu, and a score for each of ten
 * digits. All tensors are on one place.
 */
#ifndef NETWORK_H
#define NETWORK_H

#include "digits.h"
#include "tensor.h"

enum { NETWORK_HIDDEN = 64, NETWORK_BATCH = 64 };

typedef struct network {
    const tensor_context *context;
    float rate; /* how far a step goes along the gradient */

    /* The parameters, and how the loss grows with each of them. */
    tensor weights1, bias1, weights2, bias2;
    tensor weights1_gradient, bias1_gradient, weights2_gradient, bias2_gradient;

    /* A batch, what becomes of it on the way to the loss, and back. */
    tensor images, targets;
    tensor product1, sum1, hidden, product2, scores;
    tensor losses, total_loss, loss; /* the last is the mean, 1 x 1 */
    tensor scores_gradient, hidden_gradient, sum1_gradient;
} network;

/* Makes a network with parameters from a seed. The context stays the caller's, and must stay. */
ACU_CHECKED acu_result network_create(const tensor_context *context, uint64_t seed, float rate,
                                      network *n);
/* Gives up the tensors; also after network_create() failed. */
void network_drop(network *n);

/* Computes the scores of the images of the batch. */
ACU_CHECKED acu_result network_forward(const network *n);

/*
 * One step of training on the batch: forward, the loss, backward, and the parameters' update. The
 * function has the form that acu_replay_record() takes; `data` is the network.
 */
ACU_CHECKED acu_result network_step(acu_client *client, void *data);

#endif
