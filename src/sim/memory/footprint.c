/*
 * What a pixel covers, and the level of a mipmap, which is the logarithm of how long that is, or of
 * how wide, if samples may be taken all along. A GPU computes neither length nor logarithm exactly.
 * What is here gives each level that an H200 and an H100 returned for 14,000 random derivatives in
 * one to three dimensions and on cubes, and for 15,500 with anisotropy.
 *
 * Numbers have 10 bits, and what has more is cut off. The length of a vector is about the largest
 * of its parts and 11/32 of the next one; the footprint is the longest one of both derivatives and
 * of 11/16 of their sum and their difference.
 */
#include "sim/memory/footprint.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { BITS = 10, PARTS = 3 };

/* ---- numbers of 10 bits ---- */

/* Returns what the last one of the bits counts in a number that is more than 0. */
static double last_bit(double x, int bits) {
    int exponent;
    (void)frexp(x, &exponent);
    return ldexp(1, exponent - bits);
}

/* Cuts a number off at multiples of a unit. */
static double cut_at(double x, double unit) {
    return (double)(long long)(x / unit) * unit;
}

static double cut(double x) {
    return x > 0 ? cut_at(x, last_bit(x, BITS)) : 0;
}

/* Adds, or subtracts, the smaller number, of which `guard` more bits are kept than the larger one
 * has. */
static double combine(double a, double b, int guard, bool subtracts) {
    const double larger = a > b ? a : b, smaller = a > b ? b : a;
    if (!(smaller > 0))
        return larger;
    const double kept = cut_at(smaller, last_bit(larger, BITS + guard));
    return cut(subtracts ? larger - kept : larger + kept);
}

static double add(double a, double b) {
    return combine(a, b, 0, false);
}

/* Multiplies by a fraction; `more` is added in units of the last bit. */
static double scale(double x, int numerator, int denominator, int more) {
    return x > 0 ? cut((x * numerator + last_bit(x, BITS) * more) / denominator) : 0;
}

/* ---- lengths ---- */

static double size_of(double x) {
    const double most = 0x1p40, least = 0x1p-200, size = fabs(x);
    return size > most ? most : size > least ? size : 0; /* what is no number is 0 */
}

static void sort(double v[PARTS]) {
    for (int i = 0; i < PARTS; i++)
        for (int k = i + 1; k < PARTS; k++)
            if (v[k] > v[i]) {
                const double kept = v[i];
                v[i] = v[k];
                v[k] = kept;
            }
}

static double length_of(const double vector[PARTS]) {
    double v[PARTS];
    for (int i = 0; i < PARTS; i++)
        v[i] = cut(size_of(vector[i]));
    sort(v);
    return add(v[0], add(scale(v[1], 11, 32, 4), v[2] / 4));
}

/* Returns 11/16 of the length of a sum or difference. */
static double diagonal_of(const double vector[PARTS]) {
    double v[PARTS];
    for (int i = 0; i < PARTS; i++)
        v[i] = fabs(vector[i]);
    sort(v);
    return add(scale(v[0], 11, 16, 4), add(scale(v[1], 121, 512, 32), scale(v[2], 11, 64, 4)));
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Returns a size with the sign of another number. */
static double signed_as(double size, double sign) {
    return sign < 0 ? -size : size;
}

/* Sets both diagonals; a part has the sign of the derivative that is larger there. */
static void set_diagonals(const double x[PARTS], const double y[PARTS], double sum[PARTS],
                          double difference[PARTS]) {
    for (int i = 0; i < PARTS; i++) {
        const double a = cut(size_of(x[i])), b = cut(size_of(y[i]));
        const bool is_opposite = (x[i] < 0) != (y[i] < 0), is_first = a >= b;
        sum[i] = signed_as(combine(a, b, 1, is_opposite), is_first ? x[i] : y[i]);
        difference[i] = signed_as(combine(a, b, 1, !is_opposite), is_first ? x[i] : -y[i]);
    }
}

/* Returns the part of a way that the longest one of four is: of x, the sum, y, and the difference,
 * of which the first one is taken where several are as long. The difference leads to y, unless x is
 * longer. */
static double part_of(const double lengths[4], double longest, const double parts[4]) {
    const bool is_turned = lengths[1] >= lengths[0];
    if (longest == lengths[0])
        return signed_as(cut(size_of(parts[0])), parts[0]);
    if (longest == lengths[2])
        return signed_as(scale(fabs(parts[2]), 11, 16, 4), parts[2]);
    if (longest == lengths[1])
        return signed_as(cut(size_of(parts[1])), parts[1]);
    return signed_as(scale(fabs(parts[3]), 11, 16, 4), is_turned ? -parts[3] : parts[3]);
}

/* Returns the length, and the longest way. */
static double longest_of(const double x[PARTS], const double y[PARTS], double way[PARTS]) {
    double sum[PARTS], difference[PARTS];
    set_diagonals(x, y, sum, difference);
    const double lengths[4] = {length_of(x), length_of(y), diagonal_of(sum),
                               diagonal_of(difference)};
    const double longest = larger(larger(lengths[0], lengths[1]), larger(lengths[2], lengths[3]));
    for (int i = 0; i < PARTS; i++)
        way[i] = part_of(lengths, longest, (double[4]){x[i], y[i], sum[i], difference[i]});
    return longest;
}

/* Returns a coordinate as a GPU takes it: what is no number, or denormal, is 0. */
static float coordinate_of(float x) {
    return isnan(x) || fabsf(x) < FLT_MIN ? 0 : x;
}

/* Returns a product of numbers of 10 bits. Of the products of their bits the six lowest columns are
 * left out, and a constant is added instead. */
static double multiply(double a, double b) {
    enum { KEPT = ~63, REST = 448 };
    if (!(a > 0) || !(b > 0))
        return 0;
    const double unit = last_bit(a, BITS) * last_bit(b, BITS);
    const int first = (int)(a / last_bit(a, BITS)), second = (int)(b / last_bit(b, BITS));
    int sum = REST;
    for (int i = 0; i < BITS; i++)
        if (second >> i & 1)
            sum += first * (1 << i) & KEPT;
    return cut(sum * unit);
}

double acu_sim_footprint_way(float from, float way, double size) {
    const float most = 0x1p97f, to = from + way;
    if (fabsf(from) >= most || fabsf(to) >= most)
        return (double)INFINITY;
    const double a = (double)coordinate_of(to), b = (double)coordinate_of(from);
    const double parts = combine(fabs(a), fabs(b), 25 - BITS, (a < 0) == (b < 0));
    return signed_as(multiply(cut(size_of(parts)), cut(size)), a - b);
}

/* Returns the area of the square that two derivatives in two directions span. */
static double area_of(const double x[PARTS], const double y[PARTS]) {
    const double a = multiply(cut(size_of(x[0])), cut(size_of(y[1]))),
                 b = multiply(cut(size_of(x[1])), cut(size_of(y[0])));
    const bool is_a_negative = (x[0] < 0) != (y[1] < 0), is_b_negative = (x[1] < 0) != (y[0] < 0);
    return combine(a, b, 1, is_a_negative == is_b_negative);
}

/* ---- levels ---- */

/* Returns the logarithm to base 2 of a number from 1 to 2, in parts of 65536. */
static int logarithm_of(double x) {
    int parts = 0;
    for (int i = 0; i < 16; i++) {
        x *= x;
        parts = parts * 2 + (x >= 2);
        x = x >= 2 ? x / 2 : x;
    }
    return parts;
}

enum { STEPS = 256, NOTHING = -1000 * STEPS };

/* Returns the logarithm of a length or area in steps of 1/256: that of about the middle of all
 * numbers with the same 9 bits. */
static int steps_of(double x) {
    int exponent;
    if (!(x > 0))
        return NOTHING;
    const int fraction = (int)(frexp(x, &exponent) * 512) - 256;
    const int step = (logarithm_of(1 + (fraction + 0.47) / 256) + 128) / 256;
    return (exponent - 1) * STEPS + (fraction == 0 ? 0 : step > 255 ? 255 : step);
}

/* Returns the square root, by Newton's steps from a power of two. */
static double root(double x) {
    int exponent;
    (void)frexp(x, &exponent);
    double y = ldexp(1, exponent / 2);
    for (int i = 0; i < 6; i++)
        y = (y + x / y) / 2;
    return y;
}

double acu_sim_footprint_power(int steps) {
    double power = 1, part = 2;
    for (int bit = STEPS / 2; bit; bit /= 2) {
        part = root(part);
        power *= steps % STEPS & bit ? part : 1;
    }
    return ldexp(power, steps / STEPS);
}

/* ---- footprints ---- */

/* Returns the logarithm of the largest ratio that a GPU has and that is not more than `most`, in
 * steps. */
static int limit_of(unsigned most) {
    static const struct {
        unsigned short ratio, steps;
    } limits[] = {{16, 1024}, {12, 912}, {10, 848}, {8, 768}, {6, 656}, {4, 512}, {2, 256}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (most >= limits[i].ratio)
            return limits[i].steps;
    return 0;
}

/* Returns a footprint of this length; its width is the area divided by that, and at least a texel.
 */
static acu_sim_footprint make(double length, double area, unsigned most) {
    const int steps = steps_of(length), limit = limit_of(most);
    const int whole = 2 * steps - steps_of(area), own = whole < 0       ? 0
                                                        : whole > limit ? limit
                                                                        : whole;
    const int longer = steps <= 0 ? 0 : own > steps ? steps : own;
    return (acu_sim_footprint){.level = (float)(steps - own) / STEPS, .longer = longer};
}

/* Sets the direction. Only 3 bits of its parts behind the highest one of the larger one count, and
 * the middle of what has the same ones is taken; less than a quarter of the last bit is 0. */
static void set_way(acu_sim_footprint *f, const double way[PARTS]) {
    int exponent;
    double middle[2] = {0};
    (void)frexp(larger(fabs(way[0]), fabs(way[1])), &exponent);
    for (int i = 0; i < 2; i++) {
        const double part = ldexp(fabs(way[i]), 4 - exponent);
        if (part >= 0.25)
            middle[i] = cut_at(part, 1) + 0.5;
    }
    const double length = root(middle[0] * middle[0] + middle[1] * middle[1]);
    for (int i = 0; i < 2; i++)
        f->way[i] = (int)signed_as(cut_at(middle[i] / length * ACU_SIM_WAY + 0.5, 1), way[i]);
}

acu_sim_footprint acu_sim_footprint_of(const double dx[3], const double dy[3], unsigned most) {
    double way[PARTS];
    const double length = longest_of(dx, dy, way);
    acu_sim_footprint f = make(length, area_of(dx, dy), most);
    if (f.longer)
        set_way(&f, way);
    return f;
}

/* ---- cubes ---- */

/* A place on a face: the axis along which the face lies, and the direction as far as the cube,
 * which GPUs round to floats. */
typedef struct spot {
    int axis;
    float at[3];
} spot;

static spot spot_of(double x, double y, double z) {
    const double ax = size_of(x), ay = size_of(y), az = size_of(z);
    const int axis = az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
    const double along = axis == 2 ? az : axis == 1 ? ay : ax;
    if (!(along > 0))
        return (spot){2, {0, 0, 1}};
    spot to = {axis, {0, 0, 0}};
    to.at[0] = (float)(signed_as(ax, x) / along);
    to.at[1] = (float)(signed_as(ay, y) / along);
    to.at[2] = (float)(signed_as(az, z) / along);
    return to;
}

static bool is_same_face(const spot *a, const spot *b) {
    return a->axis == b->axis && (a->at[a->axis] < 0) == (b->at[a->axis] < 0);
}

/* Sets how far it is from one place to another, in texels. To another face the way leads over the
 * edge; of the opposite one, of which no GPU was asked, it leads over a whole face. */
static void set_way_to(const spot *from, const spot *to, double half, double way[PARTS]) {
    for (int i = 0; i < PARTS; i++)
        way[i] = ((double)to->at[i] - (double)from->at[i]) * half;
    way[from->axis] = 0;
    if (is_same_face(from, to))
        return;
    const int across = to->axis == from->axis ? (from->axis + 1) % 3 : to->axis;
    const double side = to->at[across] < 0 ? -1 : 1, up = (double)from->at[from->axis];
    way[across] = add(cut((1 - (double)from->at[across] * side) * half),
                      cut((1 - (double)to->at[from->axis] * up) * half));
}

/* Makes a way across a face one of two dimensions, in the directions of the face's texels. */
static void flatten(const spot *from, double way[PARTS]) {
    const double side = from->at[from->axis] < 0 ? -1 : 1;
    const double s = from->axis == 0 ? -way[2] * side : from->axis == 1 ? way[0] : way[0] * side;
    way[1] = from->axis == 1 ? way[2] * side : -way[1];
    way[0] = s;
    way[2] = 0;
}

acu_sim_footprint acu_sim_footprint_of_cube(const float at[3], const float dx[3], const float dy[3],
                                            double size, unsigned most) {
    const spot here = spot_of((double)at[0], (double)at[1], (double)at[2]),
               right = spot_of((double)(at[0] + dx[0]), (double)(at[1] + dx[1]),
                               (double)(at[2] + dx[2])),
               below = spot_of((double)(at[0] + dy[0]), (double)(at[1] + dy[1]),
                               (double)(at[2] + dy[2]));
    double x[PARTS], y[PARTS];
    set_way_to(&here, &right, size / 2, x);
    set_way_to(&here, &below, size / 2, y);
    if (!is_same_face(&here, &right) || !is_same_face(&here, &below))
        return make(larger(length_of(x), length_of(y)), 0, 1);
    flatten(&here, x);
    flatten(&here, y);
    return acu_sim_footprint_of(x, y, most);
}
