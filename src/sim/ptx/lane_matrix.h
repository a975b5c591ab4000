/*
 * Products of tiles (matrix.h). lanes_v1.c, lanes_v3.c and lanes_v4.c include this file.
 *
 * A sum of floats is what tensor cores are found to compute: the products are exact; they and c are
 * aligned to the largest exponent, that of a product being the sum of its factors' exponents, and
 * lose what is below a number of bits; their sum is rounded once.
 */
#include "sim/ptx/matrix.h"

/* Eight neighbours of a row. */
typedef uint32_t eight_u32 __attribute__((vector_size(32), may_alias));
typedef int32_t eight_s32 __attribute__((vector_size(32), may_alias));
typedef float eight_f32 __attribute__((vector_size(32), may_alias));
enum { EIGHT = 8 };

/* ---- numbers, taken apart ---- */

/* Exponents: of zero, which is smaller than any other; and the smallest that a sum has, as an
 * H200's answers show: with 25 bits below it a sum keeps parts of 2^-149, the smallest f32. */
enum { NO_EXPONENT = -1000, LEAST_EXPONENT = -133 };

/* A number is s * 2^e, where s is from 1 to 2, or less than 1 if it is subnormal. */
typedef struct tile_numbers {
    float s[PTX_TILE_A] __attribute__((aligned(64)));
    int32_t e[PTX_TILE_A] __attribute__((aligned(64)));
    bool special; /* some are infinite or not numbers; they are zero here */
} tile_numbers;

/* `low`: how many bits are behind the fraction. */
typedef struct tile_format {
    unsigned exponent, fraction, low;
    bool finite; /* only the largest fraction of the largest exponent is special */
} tile_format;

static inline tile_format format_of(ptx_element element) {
    switch (element) {
    case PTX_E_F16:
        return (tile_format){5, 10, 0, false};
    case PTX_E_BF16:
        return (tile_format){8, 7, 0, false};
    case PTX_E_TF32:
        return (tile_format){8, 10, 13, false};
    case PTX_E_E4M3:
        return (tile_format){4, 3, 0, true};
    case PTX_E_E5M2:
        return (tile_format){5, 2, 0, false};
    default:
        return (tile_format){8, 23, 0, false};
    }
}

static void take_apart(const uint32_t *bits, unsigned count, ptx_element element,
                       tile_numbers *numbers) {
    tile_format f = format_of(element);
    uint32_t most = (UINT32_C(1) << f.exponent) - 1, fractions = (UINT32_C(1) << f.fraction) - 1;
    uint32_t least_special = most << f.fraction | (f.finite ? fractions : 0);
    int32_t bias = (int32_t)(most >> 1);
    eight_u32 any = {0};
    for (unsigned n = 0; n < count; n += EIGHT) {
        eight_u32 word = *(const eight_u32 *)(bits + n) >> f.low;
        eight_u32 size = word & (most << f.fraction | fractions);
        eight_u32 fraction = word & fractions, exponent = size >> f.fraction;
        eight_u32 special = (eight_u32)(size >= least_special);
        eight_u32 subnormal = (eight_u32)(exponent == 0);
        eight_u32 nothing = special | (eight_u32)(size == 0);
        eight_u32 one = fraction << (23 - f.fraction) | 0x3f800000, hidden = subnormal & 0x3f800000;
        eight_f32 s = (eight_f32)one - (eight_f32)hidden;
        eight_u32 sign = word << (31 - f.exponent - f.fraction) & 0x80000000;
        *(eight_u32 *)(numbers->s + n) = ((eight_u32)s & ~nothing) | sign;
        eight_s32 e = (eight_s32)(exponent + (subnormal & 1)) - bias;
        *(eight_s32 *)(numbers->e + n) =
            (e & ~(eight_s32)nothing) | (NO_EXPONENT & (eight_s32)nothing);
        any |= special;
    }
    numbers->special = false;
    for (unsigned j = 0; j < EIGHT; j++)
        numbers->special |= any[j] != 0;
}

/* ---- rounding ---- */

/* Towards zero, which has no sign; but what is too large is infinite. */
static inline uint32_t f32_of_sum(double value, uint32_t kept) {
    float rounded = (float)value;
    double size = fabs(value);
    bool away = fabs((double)rounded) > size && size < 0x1p128;
    uint32_t bits = (bits_of(rounded) - away) & kept;
    return bits << 1 ? bits : 0;
}

/* To the nearest; what becomes zero has no sign. */
static inline uint32_t f16_of_sum(double value) {
    uint64_t bits = bits_of_double(value);
    int32_t exponent = (int32_t)(bits >> 52 & 0x7ff) - 1023;
    exponent = exponent < -14 ? -14 : exponent;
    /* Units of the last bit are at the end of this number's fraction. */
    double units = double_of((uint64_t)(exponent + 1023 + 42) << 52);
    uint64_t count = bits_of_double(fabs(value) + units) & 0xfff;
    uint64_t size = ((uint64_t)(exponent + 14) << 10) + count;
    const uint32_t sign = size ? (uint32_t)(bits >> 63) << 15 : 0;
    return sign | (uint32_t)(size > 0x7c00 ? 0x7c00 : size);
}

/* ---- sums of floats ---- */

/* A sum of up to 32 products for eight columns. */
typedef struct tile_sum {
    const float *a_s;
    const int32_t *a_e;
    const eight_f32 *b_s;
    const eight_s32 *b_e;
    const eight_f32 *c_s;
    const eight_s32 *c_e;
    unsigned count, fraction;
} tile_sum;

/* Adds up to sixteen products, from the k-th on, which do not overflow. */
static inline void add_sixteen(const tile_sum *of, unsigned k, const eight_s32 *bias, double *sum) {
    unsigned end = of->count < k + 16 ? of->count : k + 16;
    eight_s32 total = {0};
    for (; k < end; k++) {
        /* What is too small for an exponent of f32 becomes zero, as it should. */
        eight_s32 e = of->a_e[k] + of->b_e[k] + *bias;
        eight_u32 scale = (eight_u32)(e & (eight_s32)(e > 0)) << 23;
        eight_f32 part = of->a_s[k] * of->b_s[k] * (eight_f32)scale;
        total += __builtin_convertvector(part, eight_s32);
    }
    for (unsigned j = 0; j < EIGHT; j++)
        sum[j] += (double)total[j];
}

/* Writes the sums as multiples of 2^unit. */
static inline void add_products(const tile_sum *of, double *sum, int32_t *unit) {
    eight_s32 most = *of->c_e, larger = (eight_s32)(most > LEAST_EXPONENT);
    most = (most & larger) | (LEAST_EXPONENT & ~larger);
    for (unsigned k = 0; k < of->count; k++) {
        eight_s32 e = of->a_e[k] + of->b_e[k];
        larger = (eight_s32)(e > most);
        most = (e & larger) | (most & ~larger);
    }
    eight_s32 bias = (int32_t)of->fraction + 127 - most, e = *of->c_e + bias;
    eight_u32 scale = (eight_u32)(e & (eight_s32)(e > 0)) << 23;
    eight_s32 c = __builtin_convertvector(*of->c_s * (eight_f32)scale, eight_s32);
    for (unsigned j = 0; j < EIGHT; j++) {
        sum[j] = (double)c[j];
        unit[j] = most[j] - (int32_t)of->fraction;
    }
    for (unsigned k = 0; k < of->count; k += 16)
        add_sixteen(of, k, &bias, sum);
}

static inline void round_sums(const double *sum, const int32_t *unit, ptx_element element,
                              uint32_t kept, uint32_t *d) {
    for (unsigned j = 0; j < EIGHT; j++) {
        double value = sum[j] * double_of((uint64_t)(unit[j] + 1023) << 52);
        d[j] = element == PTX_E_F16 ? f16_of_sum(value) : f32_of_sum(value, kept);
    }
}

/* Returns 0, infinity or NaN for what is special; else a number with its sign that is zero only if
 * it is. */
static inline float kind_of(uint32_t bits, ptx_element element) {
    tile_format f = format_of(element);
    uint32_t word = bits >> f.low, fractions = (UINT32_C(1) << f.fraction) - 1,
             most = ((UINT32_C(1) << f.exponent) - 1) << f.fraction,
             size = word & (most | fractions);
    float kind = size ? 1 : 0;
    if (size >= (f.finite ? most | fractions : most))
        kind = size > most ? NAN : INFINITY;
    return word >> (f.exponent + f.fraction) & 1 ? -kind : kind;
}

static inline bool is_special(uint32_t bits, ptx_element element) {
    return !isfinite(kind_of(bits, element));
}

/* Returns the sum of those products that are special, and c if it is. */
static inline float sum_of_special(const ptx_product *p, const uint32_t *a, const uint32_t *b,
                                   unsigned count, float c) {
    float sum = isfinite(c) ? 0 : c;
    for (unsigned k = 0; k < count; k++, b += EIGHT) {
        float term = kind_of(a[k], p->a.element) * kind_of(*b, p->b.element);
        sum += isfinite(term) ? 0 : term;
    }
    return sum;
}

/* Replaces the sums that are infinite or not numbers because a term is: `count` products from the
 * k-th on. */
static void put_special(ptx_tile *t, const ptx_product *p, unsigned k, unsigned count,
                        ptx_element c) {
    bool narrow = p->d.element == PTX_E_F16, rows[PTX_LANES] = {false},
         columns[PTX_LANES] = {false};
    for (unsigned n = 0; n < t->m * t->k; n++)
        rows[n / t->k] |= is_special(t->a[n], p->a.element);
    for (unsigned n = 0; n < t->n * t->k; n++)
        columns[n / EIGHT / t->k * EIGHT + n % EIGHT] |= is_special(t->b[n], p->b.element);
    for (unsigned n = 0; n < t->m * t->n; n++) {
        unsigned block = n / EIGHT / t->m, i = n / EIGHT % t->m, j = n % EIGHT;
        bool products = rows[i] || columns[block * EIGHT + j];
        const uint32_t *a = &t->a[i * t->k + k], *b = &t->b[(block * t->k + k) * EIGHT + j];
        float sum = sum_of_special(p, a, b, products ? count : 0, kind_of(t->c[n], c));
        if (isnan(sum))
            t->d[n] = narrow ? 0x7fff : 0x7fffffff;
        else if (isinf(sum))
            t->d[n] = (narrow ? 0x7c00 : 0x7f800000) | (sum < 0 ? narrow ? 0x8000 : 0x80000000 : 0);
    }
}

/* Makes infinities the largest numbers, and zeros of what is not a number. */
static void make_finite(ptx_tile *t, ptx_element element) {
    uint32_t sign = element == PTX_E_F16 ? 0x8000 : 0x80000000,
             infinite = element == PTX_E_F16 ? 0x7c00 : 0x7f800000;
    for (unsigned n = 0; n < t->m * t->n; n++) {
        uint32_t size = t->d[n] & ~sign;
        t->d[n] = size > infinite ? 0 : t->d[n] - (size == infinite);
    }
}

/* Eight sums: of row i and a block of columns; `count` products from the k-th on. */
typedef struct tile_place {
    unsigned block, i, k, count;
} tile_place;

static inline void multiply_eight(ptx_tile *t, const ptx_product *p, const tile_place *at,
                                  ptx_rounding rounding, const tile_numbers *a,
                                  const tile_numbers *b, const tile_numbers *c) {
    unsigned at_a = at->i * t->k + at->k, at_b = (at->block * t->k + at->k) * EIGHT,
             n = (at->block * t->m + at->i) * EIGHT;
    tile_sum of = {a->s + at_a,
                   a->e + at_a,
                   (const eight_f32 *)(b->s + at_b),
                   (const eight_s32 *)(b->e + at_b),
                   (const eight_f32 *)(c->s + n),
                   (const eight_s32 *)(c->e + n),
                   at->count,
                   rounding.fraction};
    uint32_t kept = rounding.short_f32 ? ~UINT32_C(0x3ff) : ~UINT32_C(0);
    double sum[EIGHT];
    int32_t unit[EIGHT];
    add_products(&of, sum, unit);
    round_sums(sum, unit, p->d.element, kept, t->d + n);
}

/* Adds the products to c in steps. */
static void add_steps(ptx_tile *t, const ptx_product *p, ptx_rounding rounding) {
    tile_numbers a, b, c;
    ptx_element element = p->c.element;
    take_apart(t->a, t->m * t->k, p->a.element, &a);
    take_apart(t->b, t->n * t->k, p->b.element, &b);
    unsigned count = t->k < rounding.together ? t->k : rounding.together;
    for (unsigned k = 0; k < t->k; k += count) {
        take_apart(t->c, t->m * t->n, element, &c);
        for (unsigned block = 0; block < t->n / EIGHT; block++)
            for (unsigned i = 0; i < t->m; i++)
                multiply_eight(t, p, &(tile_place){block, i, k, count}, rounding, &a, &b, &c);
        if (a.special || b.special || c.special)
            put_special(t, p, k, count, element);
        if (k + count < t->k)
            memcpy(t->c, t->d, (size_t)t->m * t->n * sizeof *t->c);
        element = p->d.element;
    }
}

/* Returns a number of 8 bits as f16 has it, where none of them is subnormal in e4m3. */
static inline uint32_t half_of_byte(uint32_t byte, ptx_element element) {
    const uint32_t sign = (byte & 0x80) << 8, size = byte & 0x7f;
    const unsigned high = 31 - (unsigned)__builtin_clz(size | 1); /* of a subnormal one's bits */
    if (element == PTX_E_E5M2)
        return byte << 8;
    if (size == 0x7f)
        return sign | 0x7fff;
    if (size >= 8)
        return sign | ((size << 7) + (8u << 10));
    return size ? sign | (high + 6) << 10 | (size << (10 - high) & 0x3ff) : sign;
}

/* Makes f16 of fp8, and brings the first two of each four products before all the others: the
 * device converts in pairs, and multiplies the first pairs, then the second ones. */
static void put_halves(ptx_tile *t, const ptx_product *p) {
    uint32_t a[PTX_TILE_A], b[PTX_TILE_B];
    for (unsigned n = 0; n < t->m * t->k; n++)
        a[n] = half_of_byte(t->a[n], p->a.element);
    for (unsigned n = 0; n < t->n * t->k; n++)
        b[n] = half_of_byte(t->b[n], p->b.element);
    for (unsigned k = 0; k < t->k; k++) {
        unsigned to = k / 4 * 2 + k % 2 + k / 2 % 2 * (t->k / 2);
        for (unsigned i = 0; i < t->m; i++)
            t->a[i * t->k + to] = a[i * t->k + k];
        for (size_t block = 0; block < t->n / EIGHT; block++)
            memcpy(&t->b[(block * t->k + to) * EIGHT], &b[(block * t->k + k) * EIGHT],
                   EIGHT * sizeof *b);
    }
}

static void add_in_halves(ptx_tile *t, const ptx_product *p, ptx_rounding rounding) {
    uint32_t c[PTX_TILE_C];
    size_t count = (size_t)t->m * t->n;
    ptx_product halves = *p;
    halves.a.element = halves.b.element = PTX_E_F16;
    memcpy(c, t->c, count * sizeof *c);
    memset(t->c, 0, count * sizeof *c);
    put_halves(t, p);
    add_steps(t, &halves, rounding);
    for (size_t n = 0; n < count; n++)
        t->d[n] = p->d.element == PTX_E_F16 ? add_f16((uint16_t)t->d[n], (uint16_t)c[n])
                                            : bits_of(number(float_of(t->d[n]) + float_of(c[n])));
}

/* Adds products in pairs, from c up, for a result of f16. Products of f16 are exact in f32. */
static void add_in_pairs(ptx_tile *t, const ptx_product *p) {
    for (unsigned n = 0; n < t->m * t->n; n++) {
        unsigned block = n / EIGHT / t->m, i = n / EIGHT % t->m, j = n % EIGHT;
        const uint32_t *a = t->a + (size_t)i * t->k, *b = t->b + (size_t)block * t->k * EIGHT + j;
        float sum = p->c.element == PTX_E_F16 ? f32_of_f16((uint16_t)t->c[n]) : float_of(t->c[n]);
        for (unsigned k = 0; k < t->k; k += 2)
            sum +=
                f32_of_f16((uint16_t)a[k]) * f32_of_f16((uint16_t)b[(size_t)k * EIGHT]) +
                f32_of_f16((uint16_t)a[k + 1]) * f32_of_f16((uint16_t)b[(size_t)(k + 1) * EIGHT]);
        t->d[n] = f16_rn(sum);
    }
}

/* Adds products one by one, and c at last, for a result of f32. */
static void add_one_by_one(ptx_tile *t, const ptx_product *p) {
    for (unsigned n = 0; n < t->m * t->n; n++) {
        unsigned block = n / EIGHT / t->m, i = n / EIGHT % t->m, j = n % EIGHT;
        const uint32_t *a = t->a + (size_t)i * t->k, *b = t->b + (size_t)block * t->k * EIGHT + j;
        float sum = 0, c = float_of(t->c[n]);
        for (unsigned k = 0; k < t->k; k++)
            sum += f32_of_f16((uint16_t)a[k]) * f32_of_f16((uint16_t)b[(size_t)k * EIGHT]);
        if (p->c.element == PTX_E_F16)
            c = f32_of_f16((uint16_t)t->c[n]);
        t->d[n] = bits_of(number(sum + c));
    }
}

/* The device has no product of f16 whose c is of f32: a sum of f32 is converted. */
static void add_and_convert(ptx_tile *t, const ptx_product *p, ptx_rounding rounding) {
    ptx_product wide = *p;
    wide.d.element = PTX_E_F32;
    add_steps(t, &wide, rounding);
    for (unsigned n = 0; n < t->m * t->n; n++)
        t->d[n] = f16_rn(float_of(t->d[n]));
}

static void multiply_floats(ptx_tile *t, const ptx_product *p, ptx_rounding rounding) {
    if (rounding.way == PTX_SUM_IN_HALVES)
        add_in_halves(t, p, rounding);
    else if (rounding.way == PTX_SUM_BY_MULTIPLY_ADD && p->d.element == PTX_E_F16)
        add_in_pairs(t, p);
    else if (rounding.way == PTX_SUM_BY_MULTIPLY_ADD)
        add_one_by_one(t, p);
    else if (p->d.element == PTX_E_F16 && p->c.element == PTX_E_F32)
        add_and_convert(t, p, rounding);
    else
        add_steps(t, p, rounding);
    if (p->satfinite)
        make_finite(t, p->d.element);
}

/* ---- the others ---- */

static void multiply_doubles(ptx_tile *t) {
    for (unsigned n = 0; n < t->m * t->n; n++) {
        unsigned block = n / EIGHT / t->m, i = n / EIGHT % t->m, j = n % EIGHT;
        double sum = t->f64.c[n];
        for (unsigned k = 0; k < t->k; k++) {
            double a = t->f64.a[i * t->k + k], b = t->f64.b[(block * t->k + k) * EIGHT + j];
            sum = number_of_three(fma(a, b, sum), b, sum, a);
        }
        t->f64.d[n] = sum;
    }
}

/* Extends elements of 8 or 4 bits. */
static void extend(uint32_t *bits, unsigned count, ptx_element element) {
    uint32_t sign = element == PTX_E_S8 ? 0x80 : element == PTX_E_S4 ? 8 : 0;
    for (unsigned n = 0; n < count; n++)
        bits[n] = (bits[n] ^ sign) - sign;
}

static void multiply_integers(ptx_tile *t, const ptx_product *p) {
    extend(t->a, t->m * t->k, p->a.element);
    extend(t->b, t->n * t->k, p->b.element);
    for (unsigned n = 0; n < t->m * t->n; n += EIGHT) {
        const uint32_t *a = t->a + (size_t)(n / EIGHT % t->m) * t->k;
        const eight_u32 *b = (const eight_u32 *)t->b + (size_t)(n / EIGHT / t->m) * t->k;
        eight_u32 sum = {0};
        for (unsigned k = 0; k < t->k; k++)
            sum += a[k] * b[k];
        for (unsigned j = 0; j < EIGHT; j++) {
            int64_t all = (int64_t)(int32_t)t->c[n + j] + (int32_t)sum[j];
            all = all > INT32_MAX ? INT32_MAX : all < INT32_MIN ? INT32_MIN : all;
            t->d[n + j] = p->satfinite ? (uint32_t)all : t->c[n + j] + sum[j];
        }
    }
}

static void multiply_bits(ptx_tile *t, bool by_and) {
    for (unsigned n = 0; n < t->m * t->n; n++) {
        unsigned block = n / EIGHT / t->m, i = n / EIGHT % t->m, j = n % EIGHT;
        uint32_t sum = t->c[n];
        for (unsigned k = 0; k < t->k; k++) {
            uint32_t a = t->a[i * t->k + k], b = t->b[(block * t->k + k) * EIGHT + j];
            sum += (uint32_t)__builtin_popcount(by_and ? a & b : a ^ b);
        }
        t->d[n] = sum;
    }
}

const ptx_matrix_loops MATRIX_LOOPS = {
    .floats = multiply_floats,
    .doubles = multiply_doubles,
    .integers = multiply_integers,
    .bits = multiply_bits,
};
