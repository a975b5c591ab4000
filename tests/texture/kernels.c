#include "kernels.h"

#include <anycuda/sim.h>

#include <string.h>

#define HEAD(name)                                                                                 \
    ".visible .entry " name "(.param .u64 object, .param .u64 places, .param .u64 to,"             \
    " .param .u32 n)\n{\n"                                                                         \
    "    .reg .pred %p<2>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<20>;\n"                \
    "    ld.param.u64 %rd1, [object];\n"                                                           \
    "    ld.param.u64 %rd2, [places];\n"                                                           \
    "    ld.param.u64 %rd3, [to];\n"                                                               \
    "    ld.param.u32 %r5, [n];\n"                                                                 \
    "    mov.u32 %r2, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r3, %ntid.x;\n"                                                                  \
    "    mov.u32 %r4, %tid.x;\n"                                                                   \
    "    mad.lo.s32 %r1, %r2, %r3, %r4;\n"                                                         \
    "    setp.ge.u32 %p1, %r1, %r5;\n"                                                             \
    "    @%p1 bra END;\n"                                                                          \
    "    mul.wide.u32 %rd4, %r1, 48;\n"                                                            \
    "    add.s64 %rd2, %rd2, %rd4;\n"                                                              \
    "    mul.wide.u32 %rd4, %r1, 16;\n"                                                            \
    "    add.s64 %rd3, %rd3, %rd4;\n"                                                              \
    "    ld.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];\n"                                                \
    "    ld.v4.f32 {%f5, %f6, %f7, %f8}, [%rd2+16];\n"                                             \
    "    ld.v4.f32 {%f9, %f10, %f11, %f12}, [%rd2+32];\n"                                          \
    "    mov.b32 %r6, %f4;\n"                                                                      \
    "    mov.b32 %r7, %f1;\n"                                                                      \
    "    mov.b32 %r8, %f2;\n"                                                                      \
    "    mov.b32 %r9, %f3;\n"                                                                      \
    "    mov.b32 %r10, %f5;\n"
#define TAIL_f "    st.v4.f32 [%rd3], {%f13, %f14, %f15, %f16};\nEND:\n    ret;\n}\n"
#define TAIL_u "    st.v4.u32 [%rd3], {%r13, %r14, %r15, %r16};\nEND:\n    ret;\n}\n"
#define TAIL_s TAIL_u
#define OUT_f  "{%f13, %f14, %f15, %f16}"
#define OUT_u  "{%r13, %r14, %r15, %r16}"
#define OUT_s  OUT_u
#define TYPE_f "f32"
#define TYPE_u "u32"
#define TYPE_s "s32"

/* The coordinates of each geometry, as PTX wants them. */
#define AT_1d      "{%f1}"
#define AT_2d      "{%f1, %f2}"
#define AT_3d      "{%f1, %f2, %f3, %f3}"
#define AT_a1d     "{%r6, %f1}"
#define AT_a2d     "{%r6, %f1, %f2, %f2}"
#define AT_cube    "{%f1, %f2, %f3, %f3}"
#define AT_acube   "{%r6, %f1, %f2, %f3}"
#define INT_1d     "{%r7}"
#define INT_2d     "{%r7, %r8}"
#define INT_3d     "{%r7, %r8, %r9, %r9}"
#define INT_a1d    "{%r6, %r7}"
#define INT_a2d    "{%r6, %r7, %r8, %r8}"
#define GRAD_1d    "{%f5}, {%f9}"
#define GRAD_2d    "{%f5, %f6}, {%f9, %f10}"
#define GRAD_3d    "{%f5, %f6, %f7, %f7}, {%f9, %f10, %f11, %f11}"
#define GRAD_a1d   GRAD_1d
#define GRAD_a2d   GRAD_2d
#define GRAD_cube  GRAD_3d
#define GRAD_acube GRAD_3d

#define SAMPLE(g, t)                                                                               \
    HEAD("sample_" #g "_" #t)                                                                      \
    "    tex." #g ".v4." TYPE_##t ".f32 " OUT_##t ", [%rd1, " AT_##g "];\n" TAIL_##t,
#define LEVEL(g, t)                                                                                \
    HEAD("level_" #g "_" #t)                                                                       \
    "    tex.level." #g ".v4." TYPE_##t ".f32 " OUT_##t ", [%rd1, " AT_##g "], %f5;\n" TAIL_##t,
#define GRAD(g, t)                                                                                 \
    HEAD("grad_" #g "_" #t)                                                                        \
    "    tex.grad." #g ".v4." TYPE_##t ".f32 " OUT_##t ", [%rd1, " AT_##g "], " GRAD_##g           \
        ";\n" TAIL_##t,
#define FETCH(g, t)                                                                                \
    HEAD("fetch_" #g "_" #t)                                                                       \
    "    tex." #g ".v4." TYPE_##t ".s32 " OUT_##t ", [%rd1, " INT_##g "];\n" TAIL_##t,
#define GATHER(c, t)                                                                               \
    HEAD("gather_" #c "_" #t)                                                                      \
    "    tld4." #c ".2d.v4." TYPE_##t ".f32 " OUT_##t ", [%rd1, {%f1, %f2}];\n" TAIL_##t,

#define SURFACE(g, b)                                                                              \
    HEAD("surface_" #g "_" #b)                                                                     \
    "    mov.b32 %r14, 0;\n    mov.b32 %r15, 0;\n    mov.b32 %r16, 0;\n"                           \
    "    suld.b." #g ".b32." #b " {%r13}, [%rd1, " INT_##g "];\n" TAIL_u,

#define EACH_GEOMETRY(DO, t)                                                                       \
    DO(1d, t) DO(2d, t) DO(3d, t) DO(a1d, t) DO(a2d, t) DO(cube, t) DO(acube, t)
#define EACH_ARRAY(DO, t)     DO(1d, t) DO(2d, t) DO(3d, t) DO(a1d, t) DO(a2d, t)
#define EACH_COMPONENT(DO, t) DO(r, t) DO(g, t) DO(b, t) DO(a, t)

static const char *const ptx[] = {
    ".version 7.0\n.target sm_52\n.address_size 64\n",
    EACH_GEOMETRY(SAMPLE, f) EACH_GEOMETRY(SAMPLE, u) EACH_GEOMETRY(SAMPLE, s)
        EACH_GEOMETRY(LEVEL, f) EACH_GEOMETRY(LEVEL, u) EACH_GEOMETRY(LEVEL, s)
            EACH_GEOMETRY(GRAD, f) EACH_GEOMETRY(GRAD, u) EACH_GEOMETRY(GRAD, s)
                EACH_ARRAY(FETCH, f) EACH_ARRAY(FETCH, u) EACH_ARRAY(FETCH, s)
                    EACH_COMPONENT(GATHER, f) EACH_COMPONENT(GATHER, u) EACH_COMPONENT(GATHER, s)
                        EACH_ARRAY(SURFACE, clamp) EACH_ARRAY(SURFACE, zero)};

const char *texture_ptx(void) {
    static char text[100000];
    size_t length = 0;
    for (size_t i = 0; i < sizeof ptx / sizeof *ptx; i++) {
        const size_t more = strlen(ptx[i]);
        memcpy(text + length, ptx[i], more + 1);
        length += more;
    }
    return text;
}

/* ---- the same on the simulator ---- */

enum {
    IN_1d = ACU_SIM_1D,
    IN_2d = ACU_SIM_2D,
    IN_3d = ACU_SIM_3D,
    IN_a1d = ACU_SIM_1D_LAYERED,
    IN_a2d = ACU_SIM_2D_LAYERED,
    IN_cube = ACU_SIM_CUBE,
    IN_acube = ACU_SIM_CUBE_LAYERED
};

typedef acu_sim_texel one_sample(const acu_sim_launch *launch, unsigned long long texture,
                                 const place *p);

static void each(const acu_sim_launch *launch, void *const *args, one_sample *sample) {
    const unsigned long long texture = *(const unsigned long long *)args[0];
    const unsigned count = *(const unsigned *)args[3];
    const place *places = acu_sim_at(launch, *(void *const *)args[1], count * sizeof *places);
    acu_sim_texel *to = acu_sim_at(launch, *(void *const *)args[2], count * sizeof *to);
    for (unsigned i = 0; i < count; i++)
        to[i] = sample(launch, texture, &places[i]);
}

#define FUNCTION(name, call)                                                                       \
    static acu_sim_texel one_##name(const acu_sim_launch *launch, unsigned long long texture,      \
                                    const place *p) {                                              \
        return call;                                                                               \
    }                                                                                              \
    static void name(const acu_sim_launch *launch, void *const *args) {                            \
        each(launch, args, one_##name);                                                            \
    }
#define C_SAMPLE(g, t)                                                                             \
    FUNCTION(sample_##g,                                                                           \
             acu_sim_texture_sample(launch, texture, (acu_sim_geometry)IN_##g, p->layer, p->at))
#define C_LEVEL(g, t)                                                                              \
    FUNCTION(level_##g, acu_sim_texture_sample_level(launch, texture, (acu_sim_geometry)IN_##g,    \
                                                     p->layer, p->at, p->dx[0]))
#define C_GRAD(g, t)                                                                               \
    FUNCTION(grad_##g, acu_sim_texture_sample_grad(launch, texture, (acu_sim_geometry)IN_##g,      \
                                                   p->layer, p->at, p->dx, p->dy))
#define C_FETCH(g, t)                                                                              \
    FUNCTION(fetch_##g, acu_sim_texture_fetch(launch, texture, (acu_sim_geometry)IN_##g, p->layer, \
                                              (const int *)(const void *)p->at, 0))
#define C_GATHER(c, t)                                                                             \
    FUNCTION(gather_##c, acu_sim_texture_gather(launch, texture, p->at, GATHERS_##c))
#define C_SURFACE(g, b)                                                                            \
    FUNCTION(surface_##g##_##b,                                                                    \
             access_surface(launch, texture, (acu_sim_geometry)IN_##g, p, IS_##b))
enum { IS_clamp = ACU_SIM_CLAMP, IS_zero = ACU_SIM_ZERO };

static acu_sim_texel access_surface(const acu_sim_launch *launch, unsigned long long surface,
                                    acu_sim_geometry geometry, const place *p, int boundary) {
    acu_sim_texel texel = {{0}};
    acu_sim_surface_read(launch, surface, geometry, p->layer, (const int *)(const void *)p->at,
                         (acu_sim_boundary)boundary, &texel.u[0], 4);
    return texel;
}

enum { GATHERS_r, GATHERS_g, GATHERS_b, GATHERS_a };
EACH_GEOMETRY(C_SAMPLE, f)
EACH_GEOMETRY(C_LEVEL, f)
EACH_GEOMETRY(C_GRAD, f)
EACH_ARRAY(C_FETCH, f)
EACH_COMPONENT(C_GATHER, f)
EACH_ARRAY(C_SURFACE, clamp)
EACH_ARRAY(C_SURFACE, zero)

#define REGISTER(op, g, t) (void)acu_sim_register(#op "_" #g "_" #t, op##_##g);
#define R_SAMPLE(g, t)     REGISTER(sample, g, t)
#define R_LEVEL(g, t)      REGISTER(level, g, t)
#define R_GRAD(g, t)       REGISTER(grad, g, t)
#define R_FETCH(g, t)      REGISTER(fetch, g, t)
#define R_GATHER(c, t)     REGISTER(gather, c, t)
#define R_SURFACE(g, b)    (void)acu_sim_register("surface_" #g "_" #b, surface_##g##_##b);

void register_texture_kernels(void) {
    EACH_GEOMETRY(R_SAMPLE, f);
    EACH_GEOMETRY(R_SAMPLE, u);
    EACH_GEOMETRY(R_SAMPLE, s);
    EACH_GEOMETRY(R_LEVEL, f);
    EACH_GEOMETRY(R_LEVEL, u);
    EACH_GEOMETRY(R_LEVEL, s);
    EACH_GEOMETRY(R_GRAD, f);
    EACH_GEOMETRY(R_GRAD, u);
    EACH_GEOMETRY(R_GRAD, s);
    EACH_ARRAY(R_FETCH, f);
    EACH_ARRAY(R_FETCH, u);
    EACH_ARRAY(R_FETCH, s);
    EACH_ARRAY(R_SURFACE, clamp);
    EACH_ARRAY(R_SURFACE, zero);
    EACH_COMPONENT(R_GATHER, f);
    EACH_COMPONENT(R_GATHER, u);
    EACH_COMPONENT(R_GATHER, s);
}
