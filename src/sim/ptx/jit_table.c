/* The operations that have machine code: a row for each form, found by the handler of the form. */
#include "sim/ptx/form.h"
#include "sim/ptx/jit_inside.h"
#include "sim/ptx/lower_inside.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *opcode;
    jit_translate *translate;
    x86_vector vector;
    uint8_t size, predicate;
    bool is_signed, is_float;
} rows[] = {
    {"add.u32", acu_jit_binary, X86_PADDD, 4, 0, false, false},
    {"add.s32", acu_jit_binary, X86_PADDD, 4, 0, false, false},
    {"sub.u32", acu_jit_binary, X86_PSUBD, 4, 0, false, false},
    {"sub.s32", acu_jit_binary, X86_PSUBD, 4, 0, false, false},
    {"mul.lo.u32", acu_jit_binary, X86_PMULLD, 4, 0, false, false},
    {"mul.lo.s32", acu_jit_binary, X86_PMULLD, 4, 0, false, false},
    {"mad.lo.u32", acu_jit_multiply_add, X86_PMULLD, 4, 0, false, false},
    {"mad.lo.s32", acu_jit_multiply_add, X86_PMULLD, 4, 0, false, false},
    {"min.u32", acu_jit_binary, X86_PMINUD, 4, 0, false, false},
    {"min.s32", acu_jit_binary, X86_PMINSD, 4, 0, false, false},
    {"max.u32", acu_jit_binary, X86_PMAXUD, 4, 0, false, false},
    {"max.s32", acu_jit_binary, X86_PMAXSD, 4, 0, false, false},
    {"abs.s32", acu_jit_unary, X86_ABSD, 4, 0, false, false},
    {"and.b32", acu_jit_binary, X86_PAND, 4, 0, false, false},
    {"or.b32", acu_jit_binary, X86_POR, 4, 0, false, false},
    {"xor.b32", acu_jit_binary, X86_PXOR, 4, 0, false, false},
    {"not.b32", acu_jit_with_pool, X86_PXOR, 4, JIT_ONES / 64, false, false},
    {"neg.s32", acu_jit_with_pool, X86_PSUBD, 4, JIT_ZERO / 64, true, false},
    {"shl.b32", acu_jit_binary, X86_PSLLVD, 4, 0, false, false},
    {"shr.b32", acu_jit_binary, X86_PSRLVD, 4, 0, false, false},
    {"shr.u32", acu_jit_binary, X86_PSRLVD, 4, 0, false, false},
    {"shr.s32", acu_jit_binary, X86_PSRAVD, 4, 0, false, false},
    {"selp.b32", acu_jit_choose, X86_BLENDMD, 4, 0, false, false},
    {"selp.u32", acu_jit_choose, X86_BLENDMD, 4, 0, false, false},
    {"selp.s32", acu_jit_choose, X86_BLENDMD, 4, 0, false, false},
    {"selp.f32", acu_jit_choose, X86_BLENDMD, 4, 0, false, false},

    {"add.u64", acu_jit_binary, X86_PADDQ, 8, 0, false, false},
    {"add.s64", acu_jit_binary, X86_PADDQ, 8, 0, false, false},
    {"sub.u64", acu_jit_binary, X86_PSUBQ, 8, 0, false, false},
    {"sub.s64", acu_jit_binary, X86_PSUBQ, 8, 0, false, false},
    {"mul.lo.u64", acu_jit_multiply_long, X86_PMULLQ, 8, 0, false, false},
    {"mul.lo.s64", acu_jit_multiply_long, X86_PMULLQ, 8, 0, false, false},
    {"and.b64", acu_jit_binary, X86_PAND, 8, 0, false, false},
    {"or.b64", acu_jit_binary, X86_POR, 8, 0, false, false},
    {"xor.b64", acu_jit_binary, X86_PXOR, 8, 0, false, false},
    {"not.b64", acu_jit_with_pool, X86_PXOR, 8, JIT_ONES / 64, false, false},
    {"neg.s64", acu_jit_with_pool, X86_PSUBQ, 8, JIT_ZERO / 64, true, false},
    {"shl.b64", acu_jit_shift_wide, X86_PSLLVQ, 8, 0, false, false},
    {"shr.b64", acu_jit_shift_wide, X86_PSRLVQ, 8, 0, false, false},
    {"shr.u64", acu_jit_shift_wide, X86_PSRLVQ, 8, 0, false, false},
    {"shr.s64", acu_jit_shift_wide, X86_PSRAVQ, 8, 0, false, false},
    {"selp.b64", acu_jit_choose, X86_BLENDMQ, 8, 0, false, false},
    {"selp.u64", acu_jit_choose, X86_BLENDMQ, 8, 0, false, false},
    {"selp.s64", acu_jit_choose, X86_BLENDMQ, 8, 0, false, false},
    {"selp.f64", acu_jit_choose, X86_BLENDMQ, 8, 0, false, false},

    {"mul.wide.u32", acu_jit_multiply_wide, X86_LOAD, 8, 0, false, false},
    {"mul.wide.s32", acu_jit_multiply_wide, X86_LOAD, 8, 0, true, false},
    {"mad.wide.u32", acu_jit_multiply_wide, X86_LOAD, 8, 1, false, false},
    {"mad.wide.s32", acu_jit_multiply_wide, X86_LOAD, 8, 1, true, false},
    {"mul.wide.u16", acu_jit_multiply_shorts, X86_LOAD, 4, 0, false, false},
    {"mul.wide.s16", acu_jit_multiply_shorts, X86_LOAD, 4, 0, true, false},
    {"cvt.u64.u32", acu_jit_convert_wide, X86_LOAD, 8, 0, false, false},
    {"cvt.s64.u32", acu_jit_convert_wide, X86_LOAD, 8, 0, false, false},
    {"cvt.u64.s32", acu_jit_convert_wide, X86_LOAD, 8, 0, true, false},
    {"cvt.s64.s32", acu_jit_convert_wide, X86_LOAD, 8, 0, true, false},
    {"cvt.u32.u64", acu_jit_narrow, X86_LOAD, 4, 0, false, false},
    {"cvt.u32.s64", acu_jit_narrow, X86_LOAD, 4, 0, false, false},
    {"cvt.s32.u64", acu_jit_narrow, X86_LOAD, 4, 0, false, false},
    {"cvt.s32.s64", acu_jit_narrow, X86_LOAD, 4, 0, false, false},
    {"cvt.u32.u32", acu_jit_unary, X86_LOAD, 4, 0, false, false},
    {"cvt.u32.s32", acu_jit_unary, X86_LOAD, 4, 0, false, false},
    {"cvt.s32.u32", acu_jit_unary, X86_LOAD, 4, 0, false, false},
    {"cvt.s32.s32", acu_jit_unary, X86_LOAD, 4, 0, false, false},

    {"add.f32", acu_jit_binary, X86_ADDPS, 4, 0, false, true},
    {"add.rn.f32", acu_jit_binary, X86_ADDPS, 4, 0, false, true},
    {"sub.f32", acu_jit_binary, X86_SUBPS, 4, 0, false, true},
    {"sub.rn.f32", acu_jit_binary, X86_SUBPS, 4, 0, false, true},
    {"mul.f32", acu_jit_binary, X86_MULPS, 4, 0, false, true},
    {"mul.rn.f32", acu_jit_binary, X86_MULPS, 4, 0, false, true},
    {"min.f32", acu_jit_extreme, X86_MINPS, 4, 0, false, true},
    {"max.f32", acu_jit_extreme, X86_MAXPS, 4, 1, false, true},
    {"div.rn.f32", acu_jit_binary, X86_DIVPS, 4, 0, false, true},
    {"rcp.rn.f32", acu_jit_with_pool, X86_DIVPS, 4, JIT_ONE / 64, true, true},
    {"sqrt.rn.f32", acu_jit_unary, X86_SQRTPS, 4, 0, false, true},
    {"neg.f32", acu_jit_with_pool, X86_PXOR, 4, JIT_SIGN / 64, false, true},
    {"abs.f32", acu_jit_with_pool, X86_PAND, 4, JIT_NAN / 64, false, true},
    {"copysign.f32", acu_jit_take_sign, X86_LOAD, 4, 0, false, false},
    {"copysign.f64", acu_jit_take_sign, X86_LOAD, 8, 0, false, false},
    {"fma.rn.f32", acu_jit_fused, X86_LOAD, 4, 0, false, true},
    {"mad.rn.f32", acu_jit_fused, X86_LOAD, 4, 0, false, true},
    {"cvt.rni.f32.f32", acu_jit_make_whole, X86_ROUNDPS, 4, X86_NEAREST, false, true},
    {"cvt.rzi.f32.f32", acu_jit_make_whole, X86_ROUNDPS, 4, X86_TO_ZERO, false, true},
    {"cvt.rmi.f32.f32", acu_jit_make_whole, X86_ROUNDPS, 4, X86_DOWN, false, true},
    {"cvt.rpi.f32.f32", acu_jit_make_whole, X86_ROUNDPS, 4, X86_UP, false, true},
    {"cvt.rn.f32.s32", acu_jit_unary, X86_CVTDQ2PS, 4, 0, false, false},
    {"cvt.rn.f32.u32", acu_jit_unary, X86_CVTUDQ2PS, 4, 0, false, false},
    {"cvt.rn.ftz.f32.s32", acu_jit_unary, X86_CVTDQ2PS, 4, 0, false, false},
    {"cvt.rn.ftz.f32.u32", acu_jit_unary, X86_CVTUDQ2PS, 4, 0, false, false},

    {"shf.l.wrap.b32", acu_jit_shift_two, X86_LOAD, 4, 'l', false, false},
    {"shf.r.wrap.b32", acu_jit_shift_two, X86_LOAD, 4, 'r', false, false},
    {"shf.l.clamp.b32", acu_jit_shift_two, X86_LOAD, 4, 'l', true, false},
    {"shf.r.clamp.b32", acu_jit_shift_two, X86_LOAD, 4, 'r', true, false},
    {"mul.hi.u32", acu_jit_multiply_high, X86_LOAD, 4, 0, false, false},
    {"mul.hi.s32", acu_jit_multiply_high, X86_LOAD, 4, 0, true, false},
    {"mad.hi.u32", acu_jit_multiply_high, X86_LOAD, 4, 1, false, false},
    {"mad.hi.s32", acu_jit_multiply_high, X86_LOAD, 4, 1, true, false},

    {"add.u16", acu_jit_binary, X86_PADDW, 2, 0, false, false},
    {"add.s16", acu_jit_binary, X86_PADDW, 2, 0, false, false},
    {"sub.u16", acu_jit_binary, X86_PSUBW, 2, 0, false, false},
    {"sub.s16", acu_jit_binary, X86_PSUBW, 2, 0, false, false},
    {"mul.lo.u16", acu_jit_binary, X86_PMULLW, 2, 0, false, false},
    {"mul.lo.s16", acu_jit_binary, X86_PMULLW, 2, 0, false, false},
    {"min.u16", acu_jit_binary, X86_PMINUW, 2, 0, false, false},
    {"min.s16", acu_jit_binary, X86_PMINSW, 2, 0, false, false},
    {"max.u16", acu_jit_binary, X86_PMAXUW, 2, 0, false, false},
    {"max.s16", acu_jit_binary, X86_PMAXSW, 2, 0, false, false},
    {"and.b16", acu_jit_binary, X86_PAND, 2, 0, false, false},
    {"or.b16", acu_jit_binary, X86_POR, 2, 0, false, false},
    {"xor.b16", acu_jit_binary, X86_PXOR, 2, 0, false, false},
    {"not.b16", acu_jit_with_pool, X86_PXOR, 2, JIT_ONES / 64, false, false},
    {"neg.s16", acu_jit_with_pool, X86_PSUBW, 2, JIT_ZERO / 64, true, false},
    {"shl.b16", acu_jit_shift_short, (x86_vector)X86_SHIFT_PSLLW, 2, 0, false, false},
    {"shr.b16", acu_jit_shift_short, (x86_vector)X86_SHIFT_PSRLW, 2, 0, false, false},
    {"shr.u16", acu_jit_shift_short, (x86_vector)X86_SHIFT_PSRLW, 2, 0, false, false},
    {"shr.s16", acu_jit_shift_short, (x86_vector)X86_SHIFT_PSRAW, 2, 0, false, false},
    {"selp.b16", acu_jit_choose, X86_BLENDMW, 2, 0, false, false},
    {"selp.u16", acu_jit_choose, X86_BLENDMW, 2, 0, false, false},
    {"selp.s16", acu_jit_choose, X86_BLENDMW, 2, 0, false, false},

    {"add.f64", acu_jit_double, X86_ADDPD, 8, 0, false, false},
    {"add.rn.f64", acu_jit_double, X86_ADDPD, 8, 0, false, false},
    {"sub.f64", acu_jit_double, X86_SUBPD, 8, 0, false, false},
    {"sub.rn.f64", acu_jit_double, X86_SUBPD, 8, 0, false, false},
    {"mul.f64", acu_jit_double, X86_MULPD, 8, 0, false, false},
    {"mul.rn.f64", acu_jit_double, X86_MULPD, 8, 0, false, false},
    {"div.rn.f64", acu_jit_double, X86_DIVPD, 8, 0, false, false},
    {"fma.rn.f64", acu_jit_fused_double, X86_LOAD, 8, 0, false, false},
    {"mad.rn.f64", acu_jit_fused_double, X86_LOAD, 8, 0, false, false},
    {"neg.f64", acu_jit_signed_double, X86_PXOR, 8, JIT_SIGN_WIDE / 64, false, false},
    {"abs.f64", acu_jit_signed_double, X86_PAND, 8, JIT_SIZE_WIDE / 64, false, false},
    {"sqrt.rn.f64", acu_jit_unary_double, X86_SQRTPD, 8, 0, false, false},
    {"rcp.rn.f64", acu_jit_unary_double, X86_DIVPD, 8, 0, true, false},
    {"cvt.rni.f64.f64", acu_jit_unary_double, X86_ROUNDPD, 8, X86_NEAREST, false, false},
    {"cvt.rzi.f64.f64", acu_jit_unary_double, X86_ROUNDPD, 8, X86_TO_ZERO, false, false},
    {"cvt.rmi.f64.f64", acu_jit_unary_double, X86_ROUNDPD, 8, X86_DOWN, false, false},
    {"cvt.rpi.f64.f64", acu_jit_unary_double, X86_ROUNDPD, 8, X86_UP, false, false},
    {"cvt.rn.f64.s64", acu_jit_unary_double, X86_CVTQQ2PD, 8, 0, false, false},
    {"cvt.rn.f64.u64", acu_jit_unary_double, X86_CVTUQQ2PD, 8, 0, false, false},
    {"cvt.rn.f32.s64", acu_jit_float_of_double, X86_CVTQQ2PS, 4, X86_NEAREST, false, false},
    {"cvt.rn.f32.u64", acu_jit_float_of_double, X86_CVTUQQ2PS, 4, X86_NEAREST, false, false},
    {"rcp.approx.f32", acu_jit_approximate, X86_LOAD, 4, JIT_RECIPROCAL, false, true},
    {"div.approx.f32", acu_jit_approximate, X86_LOAD, 4, JIT_QUOTIENT, false, true},
    {"div.full.f32", acu_jit_approximate, X86_LOAD, 4, JIT_FULL_QUOTIENT, false, true},
    {"quotient+add.approx.f32", acu_jit_approximate, X86_FMADD213PS, 4, JIT_QUOTIENT, false, true},
    {"quotient+add.full.f32", acu_jit_approximate, X86_FMADD213PS, 4, JIT_FULL_QUOTIENT, false,
     true},
    {"rsqrt.approx.f32", acu_jit_approximate, X86_LOAD, 4, JIT_RECIPROCAL_ROOT, false, true},
    {"sqrt.approx.f32", acu_jit_approximate, X86_LOAD, 4, JIT_ROOT, false, true},
    {"ex2.approx.f32", acu_jit_approximate, X86_LOAD, 4, JIT_POWER, false, true},
    {"lg2.approx.f32", acu_jit_approximate, X86_LOAD, 4, JIT_LOGARITHM, false, true},
    {"sin.approx.f32", acu_jit_approximate, X86_LOAD, 4, JIT_SINE, false, true},
    {"cos.approx.f32", acu_jit_approximate, X86_LOAD, 4, JIT_COSINE, false, true},
    {"tanh.approx.f32", acu_jit_approximate, X86_LOAD, 4, JIT_TANGENT, false, true},
    {"cvt.sat.f32.f32", acu_jit_saturate, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.f64.u32", acu_jit_widen_float, X86_CVTUDQ2PD, 8, 0, false, false},
    {"cvt.rni.s32.f64", acu_jit_word_of_double, X86_CVTPD2DQ, 4, X86_NEAREST, false, false},
    {"cvt.rzi.s32.f64", acu_jit_word_of_double, X86_CVTPD2DQ, 4, X86_TO_ZERO, false, false},
    {"cvt.rmi.s32.f64", acu_jit_word_of_double, X86_CVTPD2DQ, 4, X86_DOWN, false, false},
    {"cvt.rn.f32.f64", acu_jit_float_of_double, X86_CVTPD2PS, 4, X86_NEAREST, false, false},
    {"cvt.f64.f32", acu_jit_widen_float, X86_CVTPS2PD, 8, 0, false, false},
    {"cvt.rn.f64.s32", acu_jit_widen_float, X86_CVTDQ2PD, 8, 0, false, false},
    {"cvt.rn.f32.u16", acu_jit_float_of_short, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.f32.s16", acu_jit_float_of_short, X86_LOAD, 4, 0, true, false},
    {"cvt.rn.f32.u8", acu_jit_float_of_short, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.f32.s8", acu_jit_float_of_short, X86_LOAD, 4, 0, true, false},
    {"cvt.rni.s32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_NEAREST, true, false},
    {"cvt.rzi.s32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_TO_ZERO, true, false},
    {"cvt.rni.u32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_NEAREST, false, false},
    {"cvt.rzi.u32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_TO_ZERO, false, false},
    {"cvt.rni.ftz.s32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_NEAREST, true, false},
    {"cvt.rzi.ftz.s32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_TO_ZERO, true, false},
    {"cvt.rni.ftz.u32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_NEAREST, false, false},
    {"cvt.rzi.ftz.u32.f32", acu_jit_integer_of_float, X86_LOAD, 4, X86_TO_ZERO, false, false},

    {"add.f16", acu_jit_halves, X86_ADDPS, 2, 0, false, false},
    {"add.rn.f16", acu_jit_halves, X86_ADDPS, 2, 0, false, false},
    {"sub.f16", acu_jit_halves, X86_SUBPS, 2, 0, false, false},
    {"sub.rn.f16", acu_jit_halves, X86_SUBPS, 2, 0, false, false},
    {"mul.f16", acu_jit_halves, X86_MULPS, 2, 0, false, false},
    {"mul.rn.f16", acu_jit_halves, X86_MULPS, 2, 0, false, false},
    {"fma.rn.f16", acu_jit_halves, X86_FMADD213PS, 2, 0, false, false},
    {"add.f16x2", acu_jit_halves, X86_ADDPS, 4, 0, false, false},
    {"add.rn.f16x2", acu_jit_halves, X86_ADDPS, 4, 0, false, false},
    {"sub.f16x2", acu_jit_halves, X86_SUBPS, 4, 0, false, false},
    {"sub.rn.f16x2", acu_jit_halves, X86_SUBPS, 4, 0, false, false},
    {"mul.f16x2", acu_jit_halves, X86_MULPS, 4, 0, false, false},
    {"mul.rn.f16x2", acu_jit_halves, X86_MULPS, 4, 0, false, false},
    {"fma.rn.f16x2", acu_jit_halves, X86_FMADD213PS, 4, 0, false, false},
    {"add.bf16", acu_jit_halves, X86_ADDPS, 2, 0, true, false},
    {"add.rn.bf16", acu_jit_halves, X86_ADDPS, 2, 0, true, false},
    {"sub.bf16", acu_jit_halves, X86_SUBPS, 2, 0, true, false},
    {"sub.rn.bf16", acu_jit_halves, X86_SUBPS, 2, 0, true, false},
    {"mul.bf16", acu_jit_halves, X86_MULPS, 2, 0, true, false},
    {"mul.rn.bf16", acu_jit_halves, X86_MULPS, 2, 0, true, false},
    {"fma.rn.bf16", acu_jit_halves, X86_FMADD213PS, 2, 0, true, false},
    {"add.bf16x2", acu_jit_halves, X86_ADDPS, 4, 0, true, false},
    {"add.rn.bf16x2", acu_jit_halves, X86_ADDPS, 4, 0, true, false},
    {"sub.bf16x2", acu_jit_halves, X86_SUBPS, 4, 0, true, false},
    {"sub.rn.bf16x2", acu_jit_halves, X86_SUBPS, 4, 0, true, false},
    {"mul.bf16x2", acu_jit_halves, X86_MULPS, 4, 0, true, false},
    {"mul.rn.bf16x2", acu_jit_halves, X86_MULPS, 4, 0, true, false},
    {"fma.rn.bf16x2", acu_jit_halves, X86_FMADD213PS, 4, 0, true, false},
    {"cvt.f32.f16", acu_jit_float_of_half, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.f16.f32", acu_jit_half_of_float, X86_LOAD, 2, 0, false, false},
    {"cvt.rn.f16x2.f32", acu_jit_pair_of_floats, X86_LOAD, 4, 0, false, false},
    {"cvt.rn.bf16.f32", acu_jit_half_of_float, X86_LOAD, 2, 0, true, false},
    {"cvt.rn.bf16x2.f32", acu_jit_pair_of_floats, X86_LOAD, 4, 0, true, false},

    {"and.pred", acu_jit_logic, X86_LOAD, 0, X86_AND, false, false},
    {"or.pred", acu_jit_logic, X86_LOAD, 0, X86_OR, false, false},
    {"xor.pred", acu_jit_logic, X86_LOAD, 0, X86_XOR, false, false},
    {"not.pred", acu_jit_logic, X86_LOAD, 0, 0, false, false},
};

/* The predicates of comparisons, of integers and of floats. */
static const struct {
    const char *name;
    uint8_t predicate;
} integers[] = {{"eq", JIT_EQUAL_TO},   {"ne", JIT_NOT_EQUAL},      {"lt", JIT_LESS},
                {"le", JIT_LESS_EQUAL}, {"gt", JIT_NOT_LESS_EQUAL}, {"ge", JIT_NOT_LESS},
                {"lo", JIT_LESS},       {"ls", JIT_LESS_EQUAL},     {"hi", JIT_NOT_LESS_EQUAL},
                {"hs", JIT_NOT_LESS}},
  floats[] = {{"eq", 0x00},  {"ne", 0x0c},  {"lt", 0x11},  {"le", 0x12},  {"gt", 0x1e},
              {"ge", 0x1d},  {"equ", 0x08}, {"neu", 0x04}, {"ltu", 0x19}, {"leu", 0x1a},
              {"gtu", 0x16}, {"geu", 0x15}, {"num", 0x07}, {"nan", 0x03}};

/* Roundings that are not to nearest. */
static const struct {
    const char *name;
    uint8_t rounding;
} roundings[] = {{"rz", X86_TO_ZERO}, {"rm", X86_DOWN}, {"rp", X86_UP}};
static const struct {
    const char *name;
    x86_vector vector;
    bool is_reciprocal;
} rounded[] = {{"add", X86_ADDPS, false},      {"sub", X86_SUBPS, false},
               {"mul", X86_MULPS, false},      {"fma", X86_FMADD213PS, false},
               {"mad", X86_FMADD213PS, false}, {"div", X86_DIVPS, false},
               {"rcp", X86_DIVPS, true},       {"sqrt", X86_SQRTPS, false}};

/* Integers of up to 32 bits, and those that they may become. */
static const struct {
    const char *name;
    uint8_t bytes;
    bool is_signed;
} sizes[] = {{"u8", 1, false},  {"s8", 1, true},  {"u16", 2, false}, {"s16", 2, true},
             {"u32", 4, false}, {"s32", 4, true}, {"u64", 8, false}, {"s64", 8, true}};

enum { PLACES = 4096 };
static jit_row table[PLACES]; /* by handler, of every level; written once */

static jit_row *place_of(ptx_handler *handler) {
    size_t at = ((uintptr_t)handler >> 4) * 31 % PLACES;
    while (table[at].handler && table[at].handler != handler)
        at = (at + 1) % PLACES;
    return &table[at];
}

static void add(const char *opcode, jit_row k) {
    const ptx_form *form = acu_ptx_form_find(opcode);
    if (!form)
        return;
    for (ptx_level level = PTX_AVX2; level <= PTX_AVX512; level++) {
        k.handler = acu_ptx_lane_handlers(level)[form->handler];
        *place_of(k.handler) = k;
    }
}

/* Returns whether the instruction takes bits of its operands, or one of them, as they are. */
static bool takes_bits(const jit_row *k) {
    return k->translate == acu_jit_extreme || k->vector == X86_PXOR || k->vector == X86_PAND;
}

/* Adds the forms of an operation of floats that flush, or saturate. */
static void add_float(const char *opcode, jit_row k) {
    const int length = (int)(strlen(opcode) - strlen(".f32"));
    jit_row flushed = k;
    char words[64];
    add(opcode, k);
    flushed.flushes = true;
    flushed.flushes_bits = takes_bits(&k);
    for (unsigned saturates = 0; saturates < 2; saturates++) {
        k.saturates = flushed.saturates = saturates;
        if (saturates) {
            snprintf(words, sizeof words, "%.*s.sat.f32", length, opcode);
            add(words, k);
        }
        snprintf(words, sizeof words, "%.*s.ftz%s.f32", length, opcode, saturates ? ".sat" : "");
        add(words, flushed);
    }
}

static void add_comparisons(const char *name, jit_row k, const char *type) {
    static const char *const joins[] = {"", ".and", ".or", ".xor"};
    for (unsigned n = 0; n < 4; n++) {
        char opcode[64];
        snprintf(opcode, sizeof opcode, "setp.%s%s.%s%s", name, joins[n], k.flushes ? "ftz." : "",
                 type);
        k.joined = "\0&|^"[n];
        add(opcode, k);
    }
}

static void add_roundings(void) {
    for (size_t n = 0; n < sizeof rounded / sizeof *rounded; n++)
        for (size_t r = 0; r < sizeof roundings / sizeof *roundings; r++) {
            const jit_row k = {.translate = acu_jit_rounded,
                               .vector = rounded[n].vector,
                               .size = 4,
                               .predicate = roundings[r].rounding,
                               .from = rounded[n].is_reciprocal};
            char opcode[64];
            snprintf(opcode, sizeof opcode, "%s.%s.f32", rounded[n].name, roundings[r].name);
            add_float(opcode, k);
        }
}

/* Conversions between 32 and 64 bits are rows. */
static void add_sizes(void) {
    enum { SIZES = sizeof sizes / sizeof *sizes, WIDE = 4 };
    for (size_t to = 0; to < SIZES; to++)
        for (size_t from = 0; from < SIZES; from++) {
            const uint8_t lane = sizes[from].bytes < 2 ? 2 : sizes[from].bytes;
            const bool widens = sizes[to].bytes >= lane;
            char opcode[64];
            snprintf(opcode, sizeof opcode, "cvt.%s.%s", sizes[to].name, sizes[from].name);
            if (to < WIDE || from < WIDE)
                add(opcode,
                    (jit_row){.translate = acu_jit_convert_size,
                              .vector = X86_LOAD,
                              .size = sizes[to].bytes < 2 ? 2 : sizes[to].bytes,
                              .from = lane,
                              .predicate = widens ? lane : sizes[to].bytes,
                              .is_signed = widens ? sizes[from].is_signed : sizes[to].is_signed});
        }
}

static void add_handler(ptx_handler *handler, jit_translate *translate) {
    *place_of(handler) =
        (jit_row){.handler = handler, .translate = translate, .vector = X86_LOAD, .size = 4};
}

/* The rows of one operation, and of those that flush or saturate. */
static void add_row(size_t n) {
    const jit_row k = {.translate = rows[n].translate,
                       .vector = rows[n].vector,
                       .size = rows[n].size,
                       .predicate = rows[n].predicate,
                       .is_signed = rows[n].is_signed,
                       .is_float = rows[n].is_float};
    (rows[n].is_float ? add_float : add)(rows[n].opcode, k);
}

/* Conversions that flush. */
static void add_flushing_conversions(void) {
    add("cvt.ftz.f32.f32", (jit_row){.translate = acu_jit_unary,
                                     .vector = X86_LOAD,
                                     .size = 4,
                                     .is_float = true,
                                     .flushes = true,
                                     .flushes_bits = true});
    add("cvt.ftz.sat.f32.f32",
        (jit_row){.translate = acu_jit_saturate, .vector = X86_LOAD, .size = 4, .flushes = true});
    add("cvt.ftz.f64.f32",
        (jit_row){
            .translate = acu_jit_widen_float, .vector = X86_CVTPS2PD, .size = 8, .flushes = true});
    add("cvt.rn.ftz.f32.f64", (jit_row){.translate = acu_jit_float_of_double,
                                        .vector = X86_CVTPD2PS,
                                        .size = 4,
                                        .predicate = X86_NEAREST,
                                        .flushes = true});
}

static void fill(void) {
    static const char *const types[] = {"b32", "u32", "s32", "b64", "u64", "s64"};
    static const x86_vector vectors[] = {X86_PCMPUD, X86_PCMPUD, X86_PCMPD,
                                         X86_PCMPUQ, X86_PCMPUQ, X86_PCMPQ};
    *place_of(acu_ptx_copy_all) = (jit_row){
        .handler = acu_ptx_copy_all, .translate = acu_jit_copy, .vector = X86_LOAD, .size = 4};
    add_handler(acu_ptx_resize, acu_jit_resize);
    add_handler(acu_ptx_take_part, acu_jit_take_part);
    add_handler(acu_ptx_put_two, acu_jit_put_two);
    add_roundings();
    add_sizes();
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        add_row(n);
    add_flushing_conversions();
    for (size_t n = 0; n < sizeof integers / sizeof *integers; n++)
        for (unsigned type = 0; type < 6; type++)
            add_comparisons(integers[n].name,
                            (jit_row){.translate = acu_jit_compare,
                                      .vector = vectors[type],
                                      .size = type < 3 ? 4 : 8,
                                      .predicate = integers[n].predicate,
                                      .is_signed = type % 3 == 2},
                            types[type]);
    for (size_t n = 0; n < sizeof integers / sizeof *integers; n++)
        for (unsigned is_signed = 0; is_signed < 3; is_signed++)
            add_comparisons(integers[n].name,
                            (jit_row){.translate = acu_jit_compare_shorts,
                                      .vector = X86_PCMPW,
                                      .size = 2,
                                      .predicate = integers[n].predicate,
                                      .is_signed = is_signed == 1},
                            is_signed == 1 ? "s16"
                            : is_signed    ? "b16"
                                           : "u16");
    for (size_t n = 0; n < sizeof floats / sizeof *floats; n++)
        for (unsigned flushes = 0; flushes < 2; flushes++)
            add_comparisons(floats[n].name,
                            (jit_row){.translate = acu_jit_compare,
                                      .vector = X86_CMPPS,
                                      .size = 4,
                                      .predicate = floats[n].predicate,
                                      .is_float = true,
                                      .flushes = flushes},
                            "f32");
    for (size_t n = 0; n < sizeof floats / sizeof *floats; n++)
        add_comparisons(floats[n].name,
                        (jit_row){.translate = acu_jit_compare,
                                  .vector = X86_CMPPD,
                                  .size = 8,
                                  .predicate = floats[n].predicate,
                                  .is_float = true},
                        "f64");
}

const jit_row *acu_jit_find_row(const ptx_op *op) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return place_of(op->full);
}
