/* Pictures of digits, drawn from a seed: the data that the network learns from. */
#ifndef DIGITS_H
#define DIGITS_H

#include <stddef.h>
#include <stdint.h>

enum { DIGITS_SIDE = 12, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE, DIGITS_CLASSES = 10 };

/*
 * Draws `count` digits, which are turned, shifted and noisy, with a pen that is more or less worn.
 *
 * Each has DIGITS_PIXELS numbers in `images`, 0 where there is no ink, and DIGITS_CLASSES numbers
 * in `targets`: 1 for the digit that it is, else 0. The same seed draws the same digits.
 */
void digits_draw(uint64_t seed, size_t count, float *images, float *targets);

/* Returns the next number of a sequence, at least 0 and below 1; `state` begins as the seed. */
float digits_random(uint64_t *state);

#endif
