/* Kernels that three ways execute: the simulator, plain C, and PoCL. */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VECTOR  ((size_t)1048576) /* elements of vectors */
#define STRIDE  ((size_t)16384)   /* threads of the loop */
#define COLUMNS ((size_t)640)     /* of the product of matrices, */
#define ROWS    ((size_t)320)
#define INNER   ((size_t)320)
#define TILE    ((size_t)16)
#define SIDE    ((size_t)512) /* of images */
enum { ESCAPE = 256 };

/* What a kernel works on: words of a, b and c. Memory of each way has the same numbers. */
typedef struct work {
    const char *name;
    size_t a, b, c; /* words of each; 0: the kernel has none */
    unsigned grid[2], block[2];
    const char *ptx, *cl; /* sources; each has the kernel "k" */
    void (*in_c)(const float *a, const float *b, float *c);
    double (*count)(void); /* thread-instructions of PTX */
    bool has_image;        /* `a` is an image of SIDE by SIDE */
    bool is_exact;         /* C gives the same bits */
} work;

extern const work works[];
extern const size_t work_count;

/* ---- PoCL ---- */

/* Opens the library; false where it cannot be used, and says why on stderr. */
bool pocl_open(const char *library);
/* Makes the kernel and its memory, with what a, b and c begin with. */
void pocl_make(const work *w, const float *a, const float *b, const float *c);
/* Runs the kernel to its end. */
void pocl_run(const work *w);
/* Reads c. */
void pocl_read(const work *w, float *c);
void pocl_free(void);
/* Compiles the source and runs its kernel "k" once, of one thread that writes to c. */
void pocl_first(const char *source);

#endif
