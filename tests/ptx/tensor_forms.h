/*
 * The forms of instructions that copy and multiply matrices: copies by tensor maps, wgmma, mma.sp.
 * Each is a kernel, run on values of several kinds; its answer is a number of the bytes that came
 * out. The program needs a library with CUDA's driver API alone, a GPU's or the simulator.
 */
#ifndef TESTS_PTX_TENSOR_FORMS_H
#define TESTS_PTX_TENSOR_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- values ---- */

typedef struct format {
    const char *name;
    unsigned bits, exponent, fraction; /* exponent 0: an integer */
} format;

/* Returns the format with the name. */
const format *format_of(const char *name);

/* Numbers near 1; of exponents far apart; any bits but what is no number; any bits at all. Of
 * integers there is ANY alone. */
typedef enum kind { NEAR, WIDE, ANY, SPECIAL, KINDS } kind;

/* Fills memory with elements, edge values among them, always the same for a seed. */
void fill_elements(void *to, size_t bytes, const format *of, kind which, uint32_t seed);

/* Returns the next of a sequence that is the same everywhere, from 0 to `count` less 1. */
unsigned next_below(uint32_t *seed, unsigned count);

/* ---- the device ---- */

typedef unsigned long long address;

/* A tensor map, as cuTensorMapEncodeTiled() or, with `pixels`, cuTensorMapEncodeIm2col() makes it;
 * the numbers are those of CUDA's enums. */
typedef struct tensor_map {
    unsigned char bytes[128];
} __attribute__((aligned(64))) tensor_map;
typedef struct tensor {
    unsigned type, rank, size; /* size: bytes of an element */
    uint64_t shape[5], strides[5];
    uint32_t box[5], steps[5];
    unsigned interleave, swizzle, fill;
    unsigned pixels;
    int lower[3], upper[3], at[5];
    uint16_t offsets[3];
} tensor;

/* Opens the library of that name and its first device; ends the program if it cannot. */
void device_open(const char *name);
/* Makes a map of the memory; false where the library refuses that. */
bool device_encode(const tensor *of, address memory, tensor_map *map);

/* What a launch takes: bytes in, bytes out (as they are before, too), and a map of what is out for
 * stores, of what is in for loads. */
typedef struct run {
    const char *text; /* of the kernel k(in, out, map) */
    const void *in;
    void *out;
    size_t in_bytes, out_bytes;
    const tensor *of; /* NULL: no map */
    bool maps_out;
    unsigned blocks, threads, shared;
} run;
/* Runs a kernel; returns CUDA's code: 0 is success; negative: it did not run. */
int device_run(const run *r);

/* ---- forms ---- */

/* Takes what came of a form: CUDA's code, and the bytes that came out if that is 0; `keep`: they
 * are few enough to be kept. */
void take_result(const char *name, int code, const void *out, size_t bytes, bool keep);

void copy_forms(void);
void product_forms(void);
void sparse_forms(void);

/* Questions that the manuals leave open, which the simulator refuses: each variant prints a line.
 */
typedef struct question {
    void (*ask)(unsigned variant);
    unsigned variants;
} question;
enum { PRODUCT_QUESTIONS = 1 };
extern const question product_questions[PRODUCT_QUESTIONS];

#endif
