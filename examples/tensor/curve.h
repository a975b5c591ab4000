/* Curves of the loss: how far two of them differ, and files that show them. */
#ifndef CURVE_H
#define CURVE_H

#include <stdbool.h>
#include <stddef.h>

enum { CURVE_NAME = 160 };

/* The loss of each step on one place. */
typedef struct curve {
    char name[CURVE_NAME]; /* "cuda:0, the simulator" */
    float *loss;           /* owned */
    size_t steps;
} curve;

/* Returns the largest difference of two curves with as many steps; NAN where a loss is no number.
 */
double curve_difference(const curve *a, const curve *b);

/* Writes a table with a row for each step, and a column for each curve; false: errno says why. */
bool curve_write_table(const char *path, const curve *curves, size_t count);

/*
 * Draws the curves, and below them how far each is from the first, in powers of ten, beside the
 * bound that is allowed. false: errno says why.
 */
bool curve_draw(const char *path, const curve *curves, size_t count, double bound);

#endif
