/*
 * Random kernels of what threads do together and of memory: products of matrices, copies, vectors,
 * clusters, textures. A kernel is a list of statements, each of which logs what it computed.
 */
#ifndef TESTS_PTX_RANDOM_KERNELS_H
#define TESTS_PTX_RANDOM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    BLOCKS = 2, /* one cluster */
    THREADS = 128,
    LANES = BLOCKS * THREADS,
    NARROW = 48,       /* registers %r of 32 bits, */
    WIDE_COUNT = 24,   /* %d of 64 bits, */
    HALVES = 12,       /* and %h of 16 */
    FLAGS = 4,         /* predicates %p of a lane, %w of a warp, %b of a cluster */
    OWN = 64,          /* bytes that a thread has in shared and local memory */
    WARP_BYTES = 2048, /* that a warp has in shared and global memory */
    OWN_GLOBAL = 128,
    IMAGE_BYTES = 16384, /* of shared memory, for products of four warps */
    MOST_STATEMENTS = 256,
    LOG_BYTES = 2048, /* of a thread */
    CONSTANTS = 256,  /* bytes that a module has */
    PARAMETER = 64,   /* and a launch, of kernels from this one on: */
    FIRST_WIDE = 10001,
    FIRST_APART = 20001,
    FIRST_ROUNDED = 30001,
};

/* ---- chance ---- */

unsigned below(unsigned limit);
bool one_of(unsigned n);

/* ---- values ---- */

typedef enum format { F16, BF16, F32, F64, E4M3, E5M2, BITS, FORMATS } format;

/* Numbers near 1; of exponents far apart; any finite ones; any, a few of them NaN or infinite. */
typedef enum kind { NEAR, FAR, FINITE, ANY, KINDS } kind;

/* What the input has of a format and a kind, which begins at a multiple of that; the last one is
 * longer, for images. */
enum { REGION = 8192, REGION_STEP = REGION + 256, INPUT = FORMATS * KINDS * REGION_STEP + 65536 };
void fill_input(unsigned char *input);

/* ---- texts ---- */

void put(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
/* Puts registers from one on, as a list in braces: "{%r4, %r5}". */
void put_list(char letter, unsigned first, unsigned count);
/* Puts one register, or a list. */
void put_operand(char letter, unsigned first, unsigned count);
/* Returns a number that no other label has. */
unsigned new_label(void);
/* Returns the first one of so many registers that lie together. */
unsigned any(char letter, unsigned count);
/* Loads registers with values of the input, other ones in each thread. */
void put_values(char letter, unsigned first, unsigned count, format of, kind which);
/* Puts %x1: where in a thread's own memory elements of a size lie that a register chooses. */
void put_own_place(unsigned size);
/* Puts stores of registers into the log. */
void put_log(char letter, unsigned first, unsigned count);
/* Does the same with the place of a sample, %f0 and behind and %x4, where places are asked for. */
void put_place_log(void);
/* Puts a guard, most often none, that is the same for all threads of the scope. */
typedef enum scope { LANE, WARP, CLUSTER } scope;
void put_guard(scope of);

/* Waits for the phase of the warp's barrier, but not for ever; then it has the next one. */
void put_wait(void);
/* Fills the warp's memory, "shared" or "global", and logs words of it. */
void put_fill(const char *space, unsigned bytes, format of, kind which);
void put_read(const char *space, unsigned bytes);
/* All threads of both blocks wait for each other. */
void put_cluster_barrier(void);

/* ---- statements ---- */

typedef struct statement {
    void (*put)(void);
    scope of; /* who comes to it together */
    unsigned weight;
} statement;

/* Each list ends with a statement that has no function. */
extern const statement product_statements[], memory_statements[], copy_statements[],
    sample_statements[];
/* Only wide kernels have statements of these lists. */
extern const statement access_statements[], flow_statements[], async_statements[],
    sparse_statements[], surface_statements[];
/* Kernels whose lanes go apart have statements of this list, too. */
extern const statement apart_statements[];
void put_apart_functions(void);
void put_endings(void);
/* Kernels of sums that may be rounded once have no others. */
extern const statement rounded_statements[];
extern bool is_wide;
/* Puts the functions that statements call, in front of a wide kernel. */
void put_functions(void);

/* ---- textures and surfaces ---- */

typedef enum image_shape { LINE, PLANE, SPACE, LINES, PLANES, CUBE, CUBES, SHAPES } image_shape;
typedef struct image {
    image_shape shape;
    unsigned format, channels; /* format: a row of a table; image_format() is the driver's */
    unsigned width, height, depth, levels;
    bool is_surface, normalized, as_integer, linear, linear_levels, gathers, srgb, seamless;
    unsigned anisotropy;
    float bias, least, most, border[4];
    int modes[3];
} image;
enum { TEXTURES = 6, IMAGES = TEXTURES + 2 };
extern image images[IMAGES]; /* of the kernel that was written last; the last ones are surfaces */

/* Chooses the images of a kernel. */
void choose_images(void);
/* Returns the bytes of an element, and the driver's number of the format. */
unsigned image_element(const image *i);
int image_format(const image *i);

/* ---- the device ---- */

/* Opens the library of the driver API, and its first device; ends the program if it cannot. */
void device_open(const char *path);
/* Compiles a text with a level of optimizations, 0 to 4, and runs its kernel k(in, out, images),
 * whose output has a size, and of which the first bytes are copied to `out`; returns what the
 * driver said that went wrong, 0 if nothing. */
int device_run(const char *text, unsigned level, unsigned char *out, size_t out_size, size_t size);

#endif
