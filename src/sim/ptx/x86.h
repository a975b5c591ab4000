/*
 * Writes instructions of x86-64 into a buffer: those that machine code of kernels consists of. Each
 * function has the name of the instruction. Vectors have 32 bytes (AVX2) or, if `wide`, 64
 * (AVX-512); an instruction on vectors is a number of the enum, of which both have the same.
 */
#ifndef ACU_SIM_PTX_X86_H
#define ACU_SIM_PTX_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct x86 {
    uint8_t *bytes;
    size_t size, room;
    bool wide;   /* vectors have 64 bytes */
    bool failed; /* there is no memory: the bytes are worth nothing */
} x86;

typedef enum x86_register {
    X86_RAX,
    X86_RCX,
    X86_RDX,
    X86_RBX,
    X86_RSP,
    X86_RBP,
    X86_RSI,
    X86_RDI,
    X86_R8,
    X86_R9,
    X86_R10,
    X86_R11,
    X86_R12,
    X86_R13,
    X86_R14,
    X86_R15,
} x86_register;

/* An operand: a register, of numbers or of vectors, or memory at a register and an offset. */
typedef struct x86_place {
    bool in_memory;
    uint8_t number; /* the register, or the memory's */
    int32_t offset;
} x86_place;

static inline x86_place x86_in(unsigned number) {
    return (x86_place){false, (uint8_t)number, 0};
}

static inline x86_place x86_at(x86_register base, int32_t offset) {
    return (x86_place){true, (uint8_t)base, offset};
}

/* Bytes that are no instruction. */
void acu_x86_bytes(x86 *x, const void *bytes, size_t count);

/* ---- numbers ---- */

/* The operation of two operands; its number is that of the instruction. */
typedef enum x86_arithmetic {
    X86_ADD = 0x03,
    X86_OR = 0x0b,
    X86_AND = 0x23,
    X86_SUB = 0x2b,
    X86_XOR = 0x33,
    X86_CMP = 0x3b,
    X86_MOV = 0x8b,
} x86_arithmetic;

/* How a jump depends on the last comparison. */
typedef enum x86_condition {
    X86_BELOW = 2,
    X86_NOT_BELOW = 3,
    X86_ZERO = 4,
    X86_NOT_ZERO = 5,
    X86_NOT_ABOVE = 6,
    X86_ABOVE = 7,
    X86_GREATER = 15, /* as signed numbers */
    X86_ALWAYS = 16,
} x86_condition;

/* d = d op s; of 32 bits, which clears the upper half, and of 64. X86_MOV only takes s. */
void acu_x86_word(x86 *x, x86_arithmetic op, x86_register d, x86_place s);
void acu_x86_long(x86 *x, x86_arithmetic op, x86_register d, x86_place s);
/* d = d op number; of 32 bits, and of 64. */
void acu_x86_word_by(x86 *x, x86_arithmetic op, x86_place d, int32_t number);
void acu_x86_long_by(x86 *x, x86_arithmetic op, x86_place d, int32_t number);
/* Stores of 32 and 64 bits. */
void acu_x86_store_word(x86 *x, x86_place d, x86_register s);
void acu_x86_store_long(x86 *x, x86_place d, x86_register s);
/* d = s where the last comparison says so. */
void acu_x86_move_if(x86 *x, x86_condition condition, x86_register d, x86_register s);
void acu_x86_load_number(x86 *x, x86_register d, uint64_t number);
void acu_x86_lea(x86 *x, x86_register d, x86_place s);
void acu_x86_not(x86 *x, x86_register d);
void acu_x86_shift_left(x86 *x, x86_register d, unsigned by);
/* d <<= by, of 64 bits; and d = its low half, as a signed number. */
void acu_x86_shift_long(x86 *x, x86_register d, unsigned by);
void acu_x86_widen(x86 *x, x86_register d);
void acu_x86_multiply(x86 *x, x86_register d, x86_place s); /* 64 bits */
void acu_x86_test_bits(x86 *x, x86_register d, uint32_t bits);
/* d = the number of the lowest bit of s that is set, of 32; and d = s without that bit. */
void acu_x86_first_bit(x86 *x, x86_register d, x86_register s);
void acu_x86_drop_first_bit(x86 *x, x86_register d, x86_register s);

/* Moves between a register and memory at base + index * scale. */
typedef enum x86_move {
    X86_LOAD_SHORT,  /* 16 bits, the rest becomes 0 */
    X86_LOAD_WORD,   /* 32 */
    X86_LOAD_LONG,   /* 64 */
    X86_LOAD_SIGNED, /* 32, the rest becomes their sign */
    X86_STORE_BYTE,
    X86_STORE_SHORT,
    X86_STORE_WORD,
    X86_STORE_LONG,
} x86_move;
void acu_x86_move_indexed(x86 *x, x86_move move, x86_register r, x86_register base,
                          x86_register index, unsigned scale);
/* d = 32 bits of memory, as a signed number of 64; and 16 bits, the rest becomes 0. */
void acu_x86_load_signed(x86 *x, x86_register d, x86_place s);
void acu_x86_load_short(x86 *x, x86_register d, x86_place s);
/* Brings a line of memory into the caches; it may be where no memory is. */
void acu_x86_prefetch(x86 *x, x86_place s);
void acu_x86_push(x86 *x, x86_register s);
void acu_x86_pop(x86 *x, x86_register d);
void acu_x86_call(x86 *x, x86_place target);
void acu_x86_jump_to(x86 *x, x86_register target);
void acu_x86_return(x86 *x);

/* Jumps to a place that is not known yet; returns what acu_x86_land() takes. */
size_t acu_x86_jump(x86 *x, x86_condition condition);
size_t acu_x86_call_near(x86 *x);
/* Makes a jump, or a call, lead to the byte `at`. */
void acu_x86_land(x86 *x, size_t jump, size_t at);

/* ---- vectors ---- */

/* pp | map << 2 | W of AVX2 << 4 | W of AVX-512 << 5 | opcode << 8 */
#define X86_V(pp, map, w, we, opcode) ((pp) | (map) << 2 | (w) << 4 | (we) << 5 | (opcode) << 8)
typedef enum x86_vector {
    X86_LOAD = X86_V(0, 1, 0, 0, 0x10),
    X86_LOADQ = X86_V(1, 1, 0, 1, 0x10), /* X86_LOAD of elements of 64 bits */
    X86_STORE = X86_V(0, 1, 0, 0, 0x11),
    X86_STOREQ = X86_V(1, 1, 0, 1, 0x11), /* X86_STORE of elements of 64 bits */
    X86_SQRTPS = X86_V(0, 1, 0, 0, 0x51),
    X86_ADDPS = X86_V(0, 1, 0, 0, 0x58),
    X86_MULPS = X86_V(0, 1, 0, 0, 0x59),
    X86_SUBPS = X86_V(0, 1, 0, 0, 0x5c),
    X86_MINPS = X86_V(0, 1, 0, 0, 0x5d),
    X86_MAXPS = X86_V(0, 1, 0, 0, 0x5f),
    X86_DIVPS = X86_V(0, 1, 0, 0, 0x5e),
    X86_CVTDQ2PS = X86_V(0, 1, 0, 0, 0x5b),
    X86_CVTUDQ2PS = X86_V(3, 1, 0, 0, 0x7a), /* AVX-512 only */
    X86_CMPPS = X86_V(0, 1, 0, 0, 0xc2),
    X86_CMPPD = X86_V(1, 1, 0, 1, 0xc2),
    X86_ADDPD = X86_V(1, 1, 0, 1, 0x58),
    X86_MULPD = X86_V(1, 1, 0, 1, 0x59),
    X86_SUBPD = X86_V(1, 1, 0, 1, 0x5c),
    X86_DIVPD = X86_V(1, 1, 0, 1, 0x5e),
    X86_SQRTPD = X86_V(1, 1, 0, 1, 0x51),
    X86_ROUNDPS = X86_V(1, 3, 0, 0, 0x08),   /* by a byte */
    X86_ROUNDPD = X86_V(1, 3, 0, 1, 0x09),   /* by a byte */
    X86_CVTPD2DQ = X86_V(3, 1, 0, 1, 0xe6),  /* AVX-512 only: half a vector */
    X86_CVTPD2PS = X86_V(1, 1, 0, 1, 0x5a),  /* the same */
    X86_CVTQQ2PD = X86_V(2, 1, 0, 1, 0xe6),  /* AVX-512 only */
    X86_CVTUQQ2PD = X86_V(2, 1, 0, 1, 0x7a), /* AVX-512 only */
    X86_CVTQQ2PS = X86_V(0, 1, 0, 1, 0x5b),  /* AVX-512 only: half a vector */
    X86_CVTUQQ2PS = X86_V(3, 1, 0, 1, 0x7a), /* the same */
    X86_CVTUDQ2PD = X86_V(2, 1, 0, 0, 0x7a), /* AVX-512 only */
    X86_CVTPS2PD = X86_V(0, 1, 0, 0, 0x5a),
    X86_CVTDQ2PD = X86_V(2, 1, 0, 0, 0xe6),
    X86_CVTPS2DQ = X86_V(1, 1, 0, 0, 0x5b),
    X86_CVTTPS2DQ = X86_V(2, 1, 0, 0, 0x5b),
    X86_CVTPS2UDQ = X86_V(0, 1, 0, 0, 0x79), /* AVX-512 only */
    X86_SHUFPS = X86_V(0, 1, 0, 0, 0xc6),    /* AVX2 only */
    X86_PMOVMSKB = X86_V(1, 1, 0, 0, 0xd7),  /* AVX2 only */
    X86_PACKSSWB = X86_V(1, 1, 0, 0, 0x63),  /* within 128 bits each */
    X86_PACKSSDW = X86_V(1, 1, 0, 0, 0x6b),  /* the same */
    X86_PCMPGTW = X86_V(1, 1, 0, 0, 0x65),   /* AVX2 only */
    X86_PCMPEQW = X86_V(1, 1, 0, 0, 0x75),   /* AVX2 only */
    X86_PMULHUW = X86_V(1, 1, 0, 0, 0xe4),
    X86_PMULLW = X86_V(1, 1, 0, 0, 0xd5),
    X86_PMINSW = X86_V(1, 1, 0, 0, 0xea),
    X86_PMAXSW = X86_V(1, 1, 0, 0, 0xee),
    X86_PSUBW = X86_V(1, 1, 0, 0, 0xf9),
    X86_PADDW = X86_V(1, 1, 0, 0, 0xfd),
    X86_LOADW = X86_V(3, 1, 1, 1, 0x6f), /* X86_LOAD of elements of 16 bits; AVX-512 only */
    X86_PMOVSXWD = X86_V(1, 2, 0, 0, 0x23),
    X86_PMOVZXWD = X86_V(1, 2, 0, 0, 0x33),
    X86_PMINUW = X86_V(1, 2, 0, 0, 0x3a),
    X86_PMAXUW = X86_V(1, 2, 0, 0, 0x3e),
    X86_BLENDMW = X86_V(1, 2, 1, 1, 0x66), /* AVX-512 only */
    X86_FMADD132PD = X86_V(1, 2, 1, 1, 0x98),
    X86_FMADD213PD = X86_V(1, 2, 1, 1, 0xa8),
    X86_FMADD231PD = X86_V(1, 2, 1, 1, 0xb8),
    X86_PCMPUW = X86_V(1, 3, 1, 1, 0x3e),   /* AVX-512 only */
    X86_PCMPW = X86_V(1, 3, 1, 1, 0x3f),    /* AVX-512 only */
    X86_BLENDVPD = X86_V(1, 3, 0, 0, 0x4b), /* AVX2 only */
    X86_PBLENDVB = X86_V(1, 3, 0, 0, 0x4c), /* AVX2 only */
    X86_MOVMSKPS = X86_V(0, 1, 0, 0, 0x50), /* AVX2 only */
    X86_MOVMSKPD = X86_V(1, 1, 0, 0, 0x50), /* AVX2 only */
    X86_PCMPGTQ = X86_V(1, 2, 0, 0, 0x37),  /* AVX2 only */
    X86_PCMPEQQ = X86_V(1, 2, 0, 0, 0x29),  /* AVX2 only */
    X86_PCMPGTD = X86_V(1, 1, 0, 0, 0x66),  /* AVX2 only */
    X86_PCMPEQD = X86_V(1, 1, 0, 0, 0x76),  /* AVX2 only */
    X86_PADDQ = X86_V(1, 1, 0, 1, 0xd4),
    X86_PAND = X86_V(1, 1, 0, 0, 0xdb),
    X86_POR = X86_V(1, 1, 0, 0, 0xeb),
    X86_PXOR = X86_V(1, 1, 0, 0, 0xef),
    X86_PMULUDQ = X86_V(1, 1, 0, 1, 0xf4),
    X86_PSUBD = X86_V(1, 1, 0, 0, 0xfa),
    X86_PSUBQ = X86_V(1, 1, 0, 1, 0xfb),
    X86_PACKUSDW = X86_V(1, 2, 0, 0, 0x2b), /* within 128 bits each */
    X86_PADDD = X86_V(1, 1, 0, 0, 0xfe),
    X86_PTEST = X86_V(1, 2, 0, 0, 0x17), /* AVX2 only */
    X86_PMOVSXDQ = X86_V(1, 2, 0, 0, 0x25),
    X86_PMULDQ = X86_V(1, 2, 0, 1, 0x28),
    X86_PMOVZXDQ = X86_V(1, 2, 0, 0, 0x35),
    X86_PTESTMD = X86_V(1, 2, 0, 0, 0x27),  /* AVX-512 only */
    X86_PTESTNMD = X86_V(2, 2, 0, 0, 0x27), /* AVX-512 only */
    X86_PANDN = X86_V(1, 1, 0, 0, 0xdf),    /* ~a & b */
    X86_PMOVQD = X86_V(2, 2, 0, 0, 0x35),   /* AVX-512 only */
    X86_PMOVDW = X86_V(2, 2, 0, 0, 0x33),   /* AVX-512 only */
    X86_PERMD = X86_V(1, 2, 0, 0, 0x36),    /* of b, by a */
    X86_PERMQ = X86_V(1, 3, 1, 1, 0x00),    /* by a byte, within 256 bits each */
    X86_PMINSD = X86_V(1, 2, 0, 0, 0x39),
    X86_PMINUD = X86_V(1, 2, 0, 0, 0x3b),
    X86_PMAXSD = X86_V(1, 2, 0, 0, 0x3d),
    X86_PMAXUD = X86_V(1, 2, 0, 0, 0x3f),
    X86_PMULLD = X86_V(1, 2, 0, 0, 0x40),
    X86_PMULLQ = X86_V(1, 2, 1, 1, 0x40), /* AVX-512 only */
    X86_ABSD = X86_V(1, 2, 0, 0, 0x1e),
    X86_PSRLVD = X86_V(1, 2, 0, 0, 0x45),
    X86_PSRLVQ = X86_V(1, 2, 1, 1, 0x45),
    X86_PSRAVD = X86_V(1, 2, 0, 0, 0x46),
    X86_PSRAVQ = X86_V(1, 2, 1, 1, 0x46), /* AVX-512 only */
    X86_PSLLVD = X86_V(1, 2, 0, 0, 0x47),
    X86_PSLLVQ = X86_V(1, 2, 1, 1, 0x47),
    X86_PBROADCASTD = X86_V(1, 2, 0, 0, 0x58),
    X86_PERMI2D = X86_V(1, 2, 0, 0, 0x76), /* AVX-512 only: of a and b, by d */
    X86_PBROADCASTQ = X86_V(1, 2, 0, 1, 0x59),
    X86_BLENDMD = X86_V(1, 2, 0, 0, 0x64), /* AVX-512 only */
    X86_BLENDMQ = X86_V(1, 2, 1, 1, 0x64), /* AVX-512 only */
    X86_FMADD213PS = X86_V(1, 2, 0, 0, 0xa8),
    X86_FMADD231PS = X86_V(1, 2, 0, 0, 0xb8),
    X86_PCMPUD = X86_V(1, 3, 0, 0, 0x1e),     /* AVX-512 only */
    X86_PCMPUQ = X86_V(1, 3, 1, 1, 0x1e),     /* AVX-512 only */
    X86_PCMPD = X86_V(1, 3, 0, 0, 0x1f),      /* AVX-512 only */
    X86_PCMPQ = X86_V(1, 3, 1, 1, 0x1f),      /* AVX-512 only */
    X86_EXTRACT128 = X86_V(1, 3, 0, 0, 0x39), /* AVX2 only */
    X86_INSERT128 = X86_V(1, 3, 0, 0, 0x38),  /* AVX2 only */
    X86_EXTRACT256 = X86_V(1, 3, 1, 1, 0x3b), /* AVX-512 only */
    X86_INSERT256 = X86_V(1, 3, 1, 1, 0x3a),  /* AVX-512 only */
    X86_CVTPH2PS = X86_V(1, 2, 0, 0, 0x13),   /* AVX-512 only */
    X86_PTERNLOGD = X86_V(1, 3, 0, 0, 0x25),  /* AVX-512 only: by a byte, of d, too */
    X86_FIXUPIMMPS = X86_V(1, 3, 0, 0, 0x54), /* AVX-512 only: of a, by words of b and a byte */
    X86_CVTPS2PH = X86_V(1, 3, 0, 0, 0x1d),   /* AVX-512 only */
    X86_BLENDVPS = X86_V(1, 3, 0, 0, 0x4a),   /* AVX2 only */
    X86_GATHERD = X86_V(1, 2, 0, 0, 0x90),    /* acu_x86_gather() */
    X86_GATHERQ = X86_V(1, 2, 1, 1, 0x90),
    X86_SCATTERD = X86_V(1, 2, 0, 0, 0xa0), /* AVX-512 only */
    X86_SCATTERQ = X86_V(1, 2, 1, 1, 0xa0), /* AVX-512 only */
} x86_vector;

/* d = a op b. Instructions of one operand have no `a`: X86_NONE. X86_STORE, X86_PMOVQD, X86_PMOVDW,
 * X86_CVTPS2PH and the extractions write to b, from d. */
enum { X86_NONE = 0 };
void acu_x86_vector(x86 *x, x86_vector op, unsigned d, unsigned a, x86_place b);
/* d = a shifted by a number: of words, longs and shorts; what is shifted out at more than their
 * bits is gone. opcode << 8 | its number */
typedef enum x86_shift {
    X86_SHIFT_PSLLD = 0x7206,
    X86_SHIFT_PSRLD = 0x7202,
    X86_SHIFT_PSRAD = 0x7204,
    X86_SHIFT_PSLLQ = 0x7306,
    X86_SHIFT_PSRLQ = 0x7302,
    X86_SHIFT_PSLLW = 0x7106,
    X86_SHIFT_PSRLW = 0x7102,
    X86_SHIFT_PSRAW = 0x7104,
} x86_shift;
void acu_x86_shift_by(x86 *x, x86_shift shift, unsigned d, unsigned a, uint8_t by);
/* How results are rounded; also the numbers that the processor's control has for it. */
typedef enum x86_rounding { X86_NEAREST, X86_DOWN, X86_UP, X86_TO_ZERO } x86_rounding;
/* AVX-512: d = a op b, rounded so. */
void acu_x86_rounded(x86 *x, x86_vector op, unsigned d, unsigned a, unsigned b, x86_rounding r);
/* Sets the processor's control of floats. */
void acu_x86_load_control(x86 *x, x86_place s);
/* d = a op b, of an instruction that ends with a byte, such as a comparison's kind. */
void acu_x86_vector_by(x86 *x, x86_vector op, unsigned d, unsigned a, x86_place b, uint8_t by);
/* AVX-512: only where the mask register k has bits, the other elements stay. */
void acu_x86_masked(x86 *x, x86_vector op, unsigned d, unsigned a, x86_place b, unsigned k);
/* Does what acu_x86_masked() does, of an instruction that ends with a byte, such as a comparison's
 * kind; a comparison clears the other bits of its result. */
void acu_x86_masked_by(x86 *x, x86_vector op, unsigned d, unsigned a, x86_place b, unsigned k,
                       uint8_t by);
/* Elements of 4 or 8 bytes at base + offset and words of a vector: d = what is there, or there is
 * d. `mask` is a mask register, or, of AVX2, a vector; a load clears it, and it is none of the
 * others.
 */
void acu_x86_gather(x86 *x, x86_vector op, unsigned d, x86_register base, unsigned index,
                    int32_t offset, unsigned mask);
/* A register = the first element of a vector, of 4 or 8 bytes. */
void acu_x86_take_first(x86 *x, x86_register d, unsigned vector, unsigned size);
void acu_x86_zeroupper(x86 *x);

/* ---- masks of AVX-512 ---- */

/* k = 8, 16 or 32 bits of memory. */
void acu_x86_load_mask(x86 *x, unsigned k, unsigned bits, x86_place s);
/* Compares the 16 bits of k, and those of two masks, with 0, for a jump. */
void acu_x86_test_mask(x86 *x, unsigned k);
void acu_x86_test_masks(x86 *x, unsigned a, unsigned b);
/* A register = k, of 32 bits. */
void acu_x86_take_mask(x86 *x, x86_register d, unsigned k);
/* k = a register, of 32 bits. */
void acu_x86_give_mask(x86 *x, unsigned k, x86_register s);
/* Of 16 bits: d = s, d = ~s, d = a & b, and d = ~a & b. Then d = s >> bits: 8 of 16, or 16 of 32.
 */
void acu_x86_copy_mask(x86 *x, unsigned d, unsigned s);
void acu_x86_not_mask(x86 *x, unsigned d, unsigned s);
void acu_x86_and_masks(x86 *x, unsigned d, unsigned a, unsigned b);
void acu_x86_and_not_masks(x86 *x, unsigned d, unsigned a, unsigned b);
void acu_x86_upper_mask(x86 *x, unsigned d, unsigned s, unsigned bits);
/* k = 16 ones; and d = s >> bits, of 32. */
void acu_x86_set_mask(x86 *x, unsigned k);
void acu_x86_shift_mask(x86 *x, unsigned d, unsigned s, unsigned bits);
/* d = high << bits | low; 8 or 16 bits each. */
void acu_x86_join_masks(x86 *x, unsigned bits, unsigned d, unsigned high, unsigned low);

#endif
