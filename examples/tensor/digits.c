#include "digits.h"

#include <math.h>
#include <string.h>

/* How a pen writes each digit: from point to point, a point being x of 0 to 4 and y of 0 to 6. */
static const char *const strokes[DIGITS_CLASSES] = {
    "10 30 41 45 36 16 05 01 10",
    "11 20 26",
    "01 10 30 41 42 06 46",
    "00 40 22 32 43 45 36 16 05",
    "36 30 04 44",
    "40 00 03 33 44 45 36 16 05",
    "30 10 01 05 16 36 45 44 33 13 04",
    "00 40 16",
    "13 02 01 10 30 41 42 33 13 04 05 16 36 45 44 33",
    "43 13 02 01 10 30 41 45 36 16",
};

enum { MOST_POINTS = 16 };

/* Where a stroke's points are in the picture, in pixels. */
typedef struct path {
    float x[MOST_POINTS], y[MOST_POINTS];
    size_t count;
} path;

float digits_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(*state >> 40U) / 16777216; /* 24 bits, as many as a float has */
}

static float between(uint64_t *state, float low, float high) {
    return low + (high - low) * digits_random(state);
}

/* Turns, stretches and shifts the points of a digit. */
static path place(const char *stroke, uint64_t *state) {
    path p = {.count = (strlen(stroke) + 1) / 3};
    const float angle = between(state, -0.2f, 0.2f);
    const float width = between(state, 1.1f, 1.7f), height = between(state, 1.1f, 1.5f);
    const float left = between(state, 5.25f, 6.75f), up = between(state, 5.25f, 6.75f);
    for (size_t i = 0; i < p.count; i++) {
        const float x = (float)(stroke[3 * i] - '2') * width;
        const float y = (float)(stroke[3 * i + 1] - '3') * height;
        p.x[i] = left + x * cosf(angle) - y * sinf(angle);
        p.y[i] = up + x * sinf(angle) + y * cosf(angle);
    }
    return p;
}

/* Returns how far a point is from the line between points `i` and `i + 1`. */
static float distance(const path *p, size_t i, float x, float y) {
    const float along_x = p->x[i + 1] - p->x[i], along_y = p->y[i + 1] - p->y[i];
    const float length = along_x * along_x + along_y * along_y;
    float t = ((x - p->x[i]) * along_x + (y - p->y[i]) * along_y) / length;
    t = fminf(fmaxf(t, 0), 1);
    return hypotf(x - p->x[i] - t * along_x, y - p->y[i] - t * along_y);
}

static void draw(const char *stroke, uint64_t *state, float *image) {
    const path p = place(stroke, state);
    const float pen = between(state, 0.9f, 1.4f), ink = between(state, 0.6f, 1);
    for (size_t pixel = 0; pixel < DIGITS_PIXELS; pixel++) {
        const size_t column = pixel % DIGITS_SIDE, row = pixel / DIGITS_SIDE;
        const float x = (float)column + 0.5f, y = (float)row + 0.5f;
        float nearest = DIGITS_SIDE;
        for (size_t i = 0; i + 1 < p.count; i++)
            nearest = fminf(nearest, distance(&p, i, x, y));
        const float noise = between(state, -0.3f, 0.3f);
        image[pixel] = ink * fminf(fmaxf(pen - nearest, 0), 1) + noise;
    }
}

void digits_draw(uint64_t seed, size_t count, float *images, float *targets) {
    uint64_t state = seed;
    memset(targets, 0, count * DIGITS_CLASSES * sizeof *targets);
    for (size_t i = 0; i < count; i++) {
        const size_t digit = (size_t)between(&state, 0, DIGITS_CLASSES);
        targets[i * DIGITS_CLASSES + digit] = 1;
        draw(strokes[digit], &state, images + i * DIGITS_PIXELS);
    }
}
