/* The faces of a cube. */
#include "sim/memory/face.h"

#include "sim/memory/coordinate.h"
#include "sim/ptx/approximation.h"

#include <math.h>

unsigned acu_sim_face_choose(const float at[3]) {
    const float ax = fabsf(at[0]), ay = fabsf(at[1]), az = fabsf(at[2]);
    const unsigned along = az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
    return 2 * along + (at[along] < 0);
}

/* Divides as an H200 does, which multiplies by a reciprocal. */
static float divide(float x, float by) {
    int exponent;
    const float reciprocal = (float)approx_rcp(frexp((double)by, &exponent));
    return (float)ldexp((double)x * (double)reciprocal, -exponent);
}

void acu_sim_face_place(unsigned face, float at[3]) {
    const float x = at[0], y = at[1], z = at[2], along = fabsf(at[face / 2]);
    float s = face & 1 ? -x : x, t = -y;
    if (face < 2)
        s = face & 1 ? z : -z;
    if (face == 2 || face == 3) {
        s = x;
        t = face & 1 ? -z : z;
    }
    at[0] = along > 0 ? divide(s, along) : 0;
    at[1] = along > 0 ? divide(t, along) : 0;
}

/* Replaces a direction by a place on a face, or beyond its edges: of 0 to 1. */
static void place_on_face(unsigned face, float at[3]) {
    acu_sim_face_place(face, at);
    at[0] = at[0] * 0.5f + 0.5f;
    at[1] = at[1] * 0.5f + 0.5f;
}

/* Replaces a direction by a face and a place on it. */
static unsigned face_of(float at[3]) {
    const unsigned face = acu_sim_face_choose(at);
    place_on_face(face, at);
    return face;
}

/* Returns the direction of a place on a face, whose middle is 0 and whose edges are -1 and 1. */
static void direction_of(unsigned face, float s, float t, float at[3]) {
    const float along = face & 1 ? -1.0f : 1.0f;
    if (face < 2) {
        at[0] = along;
        at[1] = -t;
        at[2] = -s * along;
    } else if (face < 4) {
        at[0] = s;
        at[1] = along;
        at[2] = t * along;
    } else {
        at[0] = s * along;
        at[1] = -t;
        at[2] = along;
    }
}

static float clamp_to_one(float x) {
    return x < -1 ? -1 : x > 1 ? 1 : x;
}

void acu_sim_face_cross(long long size, unsigned *face, long long *x, long long *y) {
    const float n = (float)size, s = ((float)*x * 2 + 1) / n - 1, t = ((float)*y * 2 + 1) / n - 1;
    const float u = clamp_to_one(s), v = clamp_to_one(t);
    float at[3];
    direction_of(*face, u, v, at);
    at[*face / 2] *= 1 - fabsf(s - u) - fabsf(t - v);
    *face = face_of(at);
    for (int i = 0; i < 2; i++) {
        const long long to = acu_sim_floor((double)(at[i] * n));
        *(i ? y : x) = to < 0 ? 0 : to >= size ? size - 1 : to;
    }
}
