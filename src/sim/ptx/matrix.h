/*
 * Products of matrices that the lanes of a warp hold together: mma and wmma. A fragment is what the
 * registers of all lanes have of one matrix; a tile is the same matrices as arrays.
 */
#ifndef ACU_SIM_PTX_MATRIX_H
#define ACU_SIM_PTX_MATRIX_H

#include "sim/ptx/code.h"

/* What matrices consist of. */
typedef enum ptx_element {
    PTX_E_F16,
    PTX_E_BF16,
    PTX_E_TF32,
    PTX_E_E4M3,
    PTX_E_E5M2,
    PTX_E_F64,
    PTX_E_S8,
    PTX_E_U8,
    PTX_E_S4,
    PTX_E_U4,
    PTX_E_B1,
    PTX_E_F32, /* of c and d */
    PTX_E_S32,
    PTX_E_NONE,
} ptx_element;

/* Returns the bits of an element. */
static inline unsigned ptx_element_bits(ptx_element element) {
    static const uint8_t bits[] = {16, 16, 32, 8, 8, 64, 8, 8, 4, 4, 1, 32, 32, 0};
    return bits[element];
}

/* The registers with a matrix, which have 32 bits; those of f64 have 64. */
typedef struct ptx_fragment {
    ptx_element element;
    uint8_t count;
    ptx_slot slots[8];
} ptx_fragment;

/* d = a * b + c, where a has m rows and k columns, b has k rows and n columns. `more` of the
 * operation. */
typedef struct ptx_product {
    uint8_t m, n;
    uint16_t k;
    ptx_fragment a, b, c, d;
    bool a_columns, b_rows; /* of four products of 8x8x4, whose fragments depend on the layout */
    bool satfinite;
    bool by_and;   /* bits are multiplied by and; else by xor */
    bool by_group; /* of wgmma */
    /* Of sparse matrices, whose k is what is stored of a: the lanes' metadata, how many of four
     * lanes have a part of it that counts, and which of them. */
    bool sparse;
    uint8_t selected, selector;
    ptx_slot metadata;
    const struct ptx_matrix_loops *loops;
} ptx_product;

/* Tiles: columns lie in blocks of 8. Element (i, k) of a is a[i * k_count + k]; (k, j) of b is
 * b[(j / 8 * k_count + k) * 8 + j % 8]; (i, j) of c and d is c[(j / 8 * m + i) * 8 + j % 8]. An
 * element of b1 is a word of 32 of them, so that k_count is k / 32. */
enum { PTX_TILE_A = 1024, PTX_TILE_B = 1024, PTX_TILE_C = 256 };
typedef struct ptx_tile {
    unsigned m, n, k; /* counts of elements */
    union {
        struct {
            uint32_t a[PTX_TILE_A], b[PTX_TILE_B], c[PTX_TILE_C], d[PTX_TILE_C];
        };
        struct {
            double a[256], b[128], c[128], d[128];
        } f64;
    } __attribute__((aligned(64)));
} ptx_tile;

/* How a device adds products and c. */
typedef enum ptx_sum_way {
    PTX_SUM_IN_STEPS,        /* so many products at once, and c with the first */
    PTX_SUM_IN_HALVES,       /* two steps: fp8 is multiplied as f16 is; c is added at last */
    PTX_SUM_BY_MULTIPLY_ADD, /* as the device's other instructions for f32 do */
} ptx_sum_way;

/* How sums of products are rounded. */
typedef struct ptx_rounding {
    ptx_sum_way way;
    unsigned fraction; /* bits below the largest exponent that a sum keeps */
    unsigned together; /* products that are added at once */
    bool short_f32;    /* results of f32 have 13 bits of fraction only */
} ptx_rounding;

/* The loops over tiles, for this processor. */
typedef struct ptx_matrix_loops {
    void (*floats)(ptx_tile *tile, const ptx_product *product, ptx_rounding rounding);
    void (*doubles)(ptx_tile *tile);
    void (*integers)(ptx_tile *tile, const ptx_product *product);
    void (*bits)(ptx_tile *tile, bool by_and);
} ptx_matrix_loops;
const ptx_matrix_loops *acu_ptx_matrix_loops(void);

/* Returns whether these are four products of 8x8x4 of f16, which only Volta has in its hardware. */
static inline bool ptx_is_of_volta(const ptx_product *product) {
    return product->k == 4 && product->a.element == PTX_E_F16;
}

/* Returns how a device of a compute capability, 90 for 9.0, rounds. */
ptx_rounding acu_ptx_rounding(int capability, const ptx_product *product);
/* Multiplies the matrices of a tile, which may change them. */
void acu_ptx_multiply(ptx_tile *tile, const ptx_product *product, int capability);

/* What mma.sp does. */
extern ptx_handler acu_ptx_multiply_sparse;
/* Multiplies the matrices of a tile whose b has twice its k, of which the metadata of the warp
 * select what a is multiplied with. */
void acu_ptx_multiply_selected(const ptx_warp *warp, const ptx_product *product, ptx_tile *tile);

/* Returns how many registers the m x k matrix a, or the k x n matrix b with n as `rows`, needs. */
unsigned acu_ptx_fragment_size(ptx_element element, unsigned rows, unsigned k);
/* Copies the fragments a, b and c to the tile; and d from it to the registers of active lanes. */
void acu_ptx_fragments_read(const ptx_warp *warp, const ptx_product *product, ptx_tile *tile);
void acu_ptx_fragments_write(const ptx_warp *warp, const ptx_product *product,
                             const ptx_tile *tile);
/* Copy one matrix to the tile, which has the size. */
void acu_ptx_fragment_read_a(const ptx_warp *warp, const ptx_product *product, ptx_tile *tile);
void acu_ptx_fragment_read_b(const ptx_warp *warp, const ptx_product *product, ptx_tile *tile);
void acu_ptx_fragment_read_c(const ptx_warp *warp, const ptx_product *product, ptx_tile *tile);
/* Copy one of the four products of 8x8x4 that a warp has. */
void acu_ptx_quarter_read(const ptx_warp *warp, const ptx_product *product, unsigned quarter,
                          ptx_tile *tile);
void acu_ptx_quarter_write(const ptx_warp *warp, const ptx_product *product, unsigned quarter,
                           const ptx_tile *tile);

struct ptx_lowering;
struct ptx_words;
struct ptx_operand;
/* Takes the shape of matrices, "m16n8k16"; false if there is none. */
bool acu_ptx_take_shape(struct ptx_words *words, unsigned *m, unsigned *n, unsigned *k);
/* Takes the first word that is a type of elements; PTX_E_NONE if there is none. */
ptx_element acu_ptx_take_element(struct ptx_words *words);
/* Takes the first word that is a layout; returns whether columns lie one behind the other. */
bool acu_ptx_take_columns(struct ptx_words *words);
/* Take .aligned; refuse an instruction without it, and one with fewer layouts that are not taken
 * than so many. */
void acu_ptx_need_aligned(struct ptx_lowering *lowering, struct ptx_words *words);
void acu_ptx_need_layouts(struct ptx_lowering *lowering, const struct ptx_words *words,
                          unsigned count);
/* Fills in the registers that the operand has, which is a list or one register. */
void acu_ptx_fragment(struct ptx_lowering *lowering, const struct ptx_operand *operand,
                      ptx_element element, bool is_target, ptx_fragment *fragment);
/* Takes the metadata and the selector of a sparse matrix, whose k is what is stored. */
void acu_ptx_take_metadata(struct ptx_lowering *lowering, const struct ptx_operand *metadata,
                           const struct ptx_operand *selector, ptx_product *product);
/* Adds an operation that all lanes of the warp do together. */
ptx_op *acu_ptx_emit_together(struct ptx_lowering *lowering, ptx_handler *handler);

#endif
