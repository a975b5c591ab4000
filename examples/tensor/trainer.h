/* Trains the network on one place, and tells how that went. */
#ifndef TRAINER_H
#define TRAINER_H

#include "tensor.h"

#include <stdint.h>

typedef struct trainer_settings {
    size_t steps, every; /* how many steps; after how many the loss is printed */
    uint64_t seed;       /* of the digits, and of the first weights */
} trainer_settings;

/*
 * Trains on a place, prints how it goes, and how many of other digits are recognised in the end.
 * `loss` has room for the loss of each step. tensor_error() says why it failed.
 */
ACU_CHECKED acu_result trainer_run(acu_place place, const trainer_settings *settings, float *loss);

#endif
