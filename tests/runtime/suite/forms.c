/*
 * The programs of the cases, each with a form for every runtime. Their arguments are blocks, then
 * values, of which the last counts words: no block is shorter than that.
 *
 * The simulator does not execute PTX: there the CPU's form works on the memory of the simulator.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "suite.h"

#include <anycuda/sim.h>

#include <pthread.h>
#include <stdarg.h>
#include <time.h>

/* For each item `i` of a part below a limit. */
#define FOR_ITEMS(part, limit)                                                                     \
    for (size_t i = (part)->begin[0]; i < (part)->end[0] && i < (limit); i++)
#define WORD(arg) (*(const uint32_t *)(arg))

/* ---- PTX: %r1 is the item, the word at `n` ends the kernel, %rd9 is the item's offset ---- */

#define PTX(name, parameters, body)                                                                \
    ".version 7.0\n.target sm_52\n.address_size 64\n"                                              \
    ".visible .entry " name "(" parameters ")\n{\n"                                                \
    "    .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<8>;\n" body           \
    "END:\n    ret;\n}\n"
#define PTX_ITEM                                                                                   \
    "    ld.param.u32 %r5, [n];\n"                                                                 \
    "    mov.u32 %r2, %ctaid.x;\n"                                                                 \
    "    mov.u32 %r3, %ntid.x;\n"                                                                  \
    "    mov.u32 %r4, %tid.x;\n"                                                                   \
    "    mad.lo.s32 %r1, %r2, %r3, %r4;\n"                                                         \
    "    setp.ge.u32 %p1, %r1, %r5;\n"                                                             \
    "    @%p1 bra END;\n"                                                                          \
    "    mul.wide.u32 %rd9, %r1, 4;\n"
/* The item's address in the block that is parameter `p`. */
#define PTX_AT(p, rd)                                                                              \
    "    ld.param.u64 " rd ", [" p "];\n"                                                          \
    "    add.s64 " rd ", " rd ", %rd9;\n"

/* ---- WGSL ---- */

#define WGSL_BLOCK(binding, mode, name, type)                                                      \
    "@group(0) @binding(" binding ") var<storage, " mode "> " name ": array<" type ">;\n"
#define WGSL_VALUES(binding, fields)                                                               \
    "struct Values { " fields " }\n@group(0) @binding(" binding ") var<uniform> v: Values;\n"
#define WGSL_MAIN(name, body)                                                                      \
    "@compute @workgroup_size(64)\n"                                                               \
    "fn " name "(@builtin(global_invocation_id) id: vec3u) {\n"                                    \
    "    let i = id.x;\n    if (i >= v.n) { return; }\n    " body "\n}\n"

/* ---- the programs ---- */

/* sum[i] = a[i] + b[i] */
static void add(const acu_part *part, void *const *args) {
    const float *a = args[0], *b = args[1];
    float *sum = args[2];
    FOR_ITEMS(part, WORD(args[3]))
    sum[i] = a[i] + b[i];
}

static const char add_ptx[] =
    PTX("suite_add", ".param .u64 a, .param .u64 b, .param .u64 sum, .param .u32 n",
        PTX_ITEM PTX_AT("a", "%rd1") PTX_AT("b", "%rd2")
            PTX_AT("sum", "%rd3") "    ld.f32 %f1, [%rd1];\n"
                                  "    ld.f32 %f2, [%rd2];\n"
                                  "    add.f32 %f3, %f1, %f2;\n"
                                  "    st.f32 [%rd3], %f3;\n");
static const char add_wgsl[] = WGSL_BLOCK("0", "read", "a", "f32")
    WGSL_BLOCK("1", "read", "b", "f32") WGSL_BLOCK("2", "read_write", "sum", "f32")
        WGSL_VALUES("3", "n: u32") WGSL_MAIN("suite_add", "sum[i] = a[i] + b[i];");

/* x[i] = x[i] * factor + offset, as words: in place, with values of two kinds */
static void scale(const acu_part *part, void *const *args) {
    float *x = args[0];
    float factor = *(const float *)args[1];
    int32_t offset = *(const int32_t *)args[2];
    FOR_ITEMS(part, WORD(args[3]))
    x[i] = x[i] * factor + (float)offset;
}

static const char scale_ptx[] =
    PTX("suite_scale", ".param .u64 x, .param .f32 factor, .param .s32 offset, .param .u32 n",
        PTX_ITEM PTX_AT("x", "%rd1") "    ld.param.f32 %f1, [factor];\n"
                                     "    ld.param.s32 %r6, [offset];\n"
                                     "    cvt.rn.f32.s32 %f2, %r6;\n"
                                     "    ld.f32 %f3, [%rd1];\n"
                                     "    mul.rn.f32 %f3, %f3, %f1;\n"
                                     "    add.rn.f32 %f3, %f3, %f2;\n"
                                     "    st.f32 [%rd1], %f3;\n");
static const char scale_wgsl[] =
    WGSL_BLOCK("0", "read_write", "x", "f32") WGSL_VALUES("1", "factor: f32, offset: i32, n: u32")
        WGSL_MAIN("suite_scale", "x[i] = x[i] * v.factor + f32(v.offset);");

/* x[i] = i + first */
static void count_up(const acu_part *part, void *const *args) {
    uint32_t *x = args[0];
    FOR_ITEMS(part, WORD(args[2]))
    x[i] = (uint32_t)i + WORD(args[1]);
}

static const char count_ptx[] =
    PTX("suite_count", ".param .u64 x, .param .u32 first, .param .u32 n",
        PTX_ITEM PTX_AT("x", "%rd1") "    ld.param.u32 %r6, [first];\n"
                                     "    add.u32 %r6, %r6, %r1;\n"
                                     "    st.u32 [%rd1], %r6;\n");
static const char count_wgsl[] = WGSL_BLOCK("0", "read_write", "x", "u32")
    WGSL_VALUES("1", "first: u32, n: u32") WGSL_MAIN("suite_count", "x[i] = i + v.first;");

/* x[i] = x[i] * 3 + 1, as whole numbers: the order of two runs, and their number, show */
static void step(const acu_part *part, void *const *args) {
    uint32_t *x = args[0];
    FOR_ITEMS(part, WORD(args[1]))
    x[i] = x[i] * 3 + 1;
}

static const char step_ptx[] = PTX("suite_step", ".param .u64 x, .param .u32 n",
                                   PTX_ITEM PTX_AT("x", "%rd1") "    ld.u32 %r6, [%rd1];\n"
                                                                "    mul.lo.u32 %r6, %r6, 3;\n"
                                                                "    add.u32 %r6, %r6, 1;\n"
                                                                "    st.u32 [%rd1], %r6;\n");
static const char step_wgsl[] = WGSL_BLOCK("0", "read_write", "x", "u32") WGSL_VALUES("1", "n: u32")
    WGSL_MAIN("suite_step", "x[i] = x[i] * 3u + 1u;");

/* to[i] = from[i] */
static void copy_words(const acu_part *part, void *const *args) {
    const uint32_t *from = args[0];
    uint32_t *to = args[1];
    FOR_ITEMS(part, WORD(args[2]))
    to[i] = from[i];
}

static const char copy_ptx[] =
    PTX("suite_copy", ".param .u64 from, .param .u64 to, .param .u32 n",
        PTX_ITEM PTX_AT("from", "%rd1") PTX_AT("to", "%rd2") "    ld.u32 %r6, [%rd1];\n"
                                                             "    st.u32 [%rd2], %r6;\n");
static const char copy_wgsl[] =
    WGSL_BLOCK("0", "read", "source", "u32") WGSL_BLOCK("1", "read_write", "to", "u32")
        WGSL_VALUES("2", "n: u32") WGSL_MAIN("suite_copy", "to[i] = source[i];");

/* sums[g] += the sum of the 64 words of group g, which GPUs add up in memory that a group shares */
static void reduce(const acu_part *part, void *const *args) {
    const uint32_t *from = args[0];
    uint32_t *sums = args[1];
    FOR_ITEMS(part, WORD(args[2]))
    __atomic_fetch_add(&sums[i / 64], from[i], __ATOMIC_RELAXED);
}

static const char reduce_ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry suite_reduce(.param .u64 from, .param .u64 sums, .param .u32 n)\n{\n"
    "    .shared .align 4 .u32 total;\n"
    "    .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
    "    ld.param.u32 %r5, [n];\n"
    "    mov.u32 %r2, %ctaid.x;\n"
    "    mov.u32 %r3, %ntid.x;\n"
    "    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r1, %r2, %r3, %r4;\n"
    "    setp.ne.u32 %p1, %r4, 0;\n"
    "    @%p1 bra ZEROED;\n"
    "    mov.u32 %r6, 0;\n"
    "    st.shared.u32 [total], %r6;\n"
    "ZEROED:\n"
    "    bar.sync 0;\n"
    "    setp.ge.u32 %p2, %r1, %r5;\n"
    "    @%p2 bra ADDED;\n"
    "    ld.param.u64 %rd1, [from];\n"
    "    mul.wide.u32 %rd2, %r1, 4;\n"
    "    add.s64 %rd1, %rd1, %rd2;\n"
    "    ld.u32 %r6, [%rd1];\n"
    "    atom.shared.add.u32 %r7, [total], %r6;\n"
    "ADDED:\n"
    "    bar.sync 0;\n"
    "    @%p1 bra END;\n"
    "    ld.shared.u32 %r6, [total];\n"
    "    ld.param.u64 %rd3, [sums];\n"
    "    mul.wide.u32 %rd4, %r2, 4;\n"
    "    add.s64 %rd3, %rd3, %rd4;\n"
    "    ld.u32 %r7, [%rd3];\n"
    "    add.u32 %r7, %r7, %r6;\n"
    "    st.u32 [%rd3], %r7;\n"
    "END:\n    ret;\n}\n";
static const char reduce_wgsl[] =
    WGSL_BLOCK("0", "read", "source", "u32") WGSL_BLOCK("1", "read_write", "sums", "u32")
        WGSL_VALUES("2", "n: u32") "var<workgroup> total: atomic<u32>;\n"
                                   "@compute @workgroup_size(64)\n"
                                   "fn suite_reduce(@builtin(global_invocation_id) id: vec3u,\n"
                                   "    @builtin(local_invocation_index) local: u32,\n"
                                   "    @builtin(workgroup_id) group: vec3u) {\n"
                                   "    if (local == 0u) { atomicStore(&total, 0u); }\n"
                                   "    workgroupBarrier();\n"
                                   "    if (id.x < v.n) { atomicAdd(&total, source[id.x]); }\n"
                                   "    workgroupBarrier();\n"
                                   "    if (local == 0u && group.x * 64u < v.n) {\n"
                                   "        sums[group.x] += atomicLoad(&total);\n"
                                   "    }\n}\n";

/* to[x + nx (y + ny z)] = x + 1000 y + 1000000 z */
static void cube(const acu_part *part, void *const *args) {
    uint32_t *to = args[0], nx = WORD(args[1]), ny = WORD(args[2]), nz = WORD(args[3]);
    for (size_t z = part->begin[2]; z < part->end[2] && z < nz; z++)
        for (size_t y = part->begin[1]; y < part->end[1] && y < ny; y++)
            FOR_ITEMS(part, nx)
    to[i + nx * (y + ny * z)] = (uint32_t)(i + 1000 * y + 1000000 * z);
}

static const char cube_ptx[] = PTX(
    "suite_cube", ".param .u64 to, .param .u32 nx, .param .u32 ny, .param .u32 nz, .param .u32 n",
    "    ld.param.u32 %r5, [nx];\n"
    "    ld.param.u32 %r6, [ny];\n"
    "    ld.param.u32 %r7, [nz];\n"
    "    mov.u32 %r1, %ctaid.x;\n"
    "    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.s32 %r8, %r1, %r2, %r3;\n"
    "    mov.u32 %r1, %ctaid.y;\n"
    "    mov.u32 %r2, %ntid.y;\n"
    "    mov.u32 %r3, %tid.y;\n"
    "    mad.lo.s32 %r9, %r1, %r2, %r3;\n"
    "    mov.u32 %r1, %ctaid.z;\n"
    "    mov.u32 %r2, %ntid.z;\n"
    "    mov.u32 %r3, %tid.z;\n"
    "    mad.lo.s32 %r10, %r1, %r2, %r3;\n"
    "    setp.ge.u32 %p1, %r8, %r5;\n"
    "    @%p1 bra END;\n"
    "    setp.ge.u32 %p2, %r9, %r6;\n"
    "    @%p2 bra END;\n"
    "    setp.ge.u32 %p3, %r10, %r7;\n"
    "    @%p3 bra END;\n"
    "    mad.lo.u32 %r11, %r10, %r6, %r9;\n"
    "    mad.lo.u32 %r11, %r11, %r5, %r8;\n"
    "    mul.wide.u32 %rd2, %r11, 4;\n"
    "    ld.param.u64 %rd1, [to];\n"
    "    add.s64 %rd1, %rd1, %rd2;\n"
    "    mad.lo.u32 %r12, %r9, 1000, %r8;\n"
    "    mad.lo.u32 %r12, %r10, 1000000, %r12;\n"
    "    st.u32 [%rd1], %r12;\n");
static const char cube_wgsl[] = WGSL_BLOCK("0", "read_write", "to", "u32") WGSL_VALUES(
    "1", "nx: u32, ny: u32, nz: u32, n: u32") "@compute @workgroup_size(4, 4, 4)\n"
                                              "fn suite_cube(\n"
                                              "    @builtin(global_invocation_id) id: vec3u) {\n"
                                              "    if (id.x >= v.nx || id.y >= v.ny ||\n"
                                              "        id.z >= v.nz) { return; }\n"
                                              "    to[id.x + v.nx * (id.y + v.ny * id.z)] =\n"
                                              "        id.x + 1000u * id.y + 1000000u * id.z;\n"
                                              "}\n";

/* to[0 … 4] = a, the two words of b, c, d: values of 4, 8, 4 and 4 bytes, one of them floating */
static void values(const acu_part *part, void *const *args) {
    uint32_t *to = args[0];
    if (part->begin[0] == 0 && part->end[0] > 0) {
        memcpy(&to[0], args[1], 4);
        memcpy(&to[1], args[2], 8);
        memcpy(&to[3], args[3], 4);
        memcpy(&to[4], args[4], 4);
    }
}

static const char values_ptx[] =
    PTX("suite_values",
        ".param .u64 to, .param .u32 a, .param .u64 b, .param .f32 c, .param .s32 d, .param .u32 n",
        PTX_ITEM "    setp.ne.u32 %p2, %r1, 0;\n"
                 "    @%p2 bra END;\n"
                 "    ld.param.u64 %rd1, [to];\n"
                 "    ld.param.u32 %r6, [a];\n"
                 "    ld.param.u32 %r7, [b];\n"
                 "    ld.param.u32 %r8, [b+4];\n"
                 "    ld.param.u32 %r9, [c];\n"
                 "    ld.param.u32 %r10, [d];\n"
                 "    st.u32 [%rd1], %r6;\n"
                 "    st.u32 [%rd1+4], %r7;\n"
                 "    st.u32 [%rd1+8], %r8;\n"
                 "    st.u32 [%rd1+12], %r9;\n"
                 "    st.u32 [%rd1+16], %r10;\n");
static const char values_wgsl[] = WGSL_BLOCK("0", "read_write", "to", "u32")
    WGSL_VALUES("1", "a: u32, b: vec2u, c: f32, d: i32, n: u32")
        WGSL_MAIN("suite_values",
                  "if (i == 0u) { to[0] = v.a; to[1] = v.b.x; to[2] = v.b.y;\n"
                  "        to[3] = bitcast<u32>(v.c); to[4] = bitcast<u32>(v.d); }");

/* to[0 … 3] = a struct of four words */
static void structure(const acu_part *part, void *const *args) {
    if (part->begin[0] == 0 && part->end[0] > 0)
        memcpy(args[0], args[1], 16);
}

static const char struct_ptx[] =
    PTX("suite_struct", ".param .u64 to, .param .align 16 .b8 s[16], .param .u32 n",
        PTX_ITEM "    setp.ne.u32 %p2, %r1, 0;\n"
                 "    @%p2 bra END;\n"
                 "    ld.param.u64 %rd1, [to];\n"
                 "    ld.param.u64 %rd2, [s];\n"
                 "    ld.param.u64 %rd3, [s+8];\n"
                 "    st.u64 [%rd1], %rd2;\n"
                 "    st.u64 [%rd1+8], %rd3;\n");
static const char struct_wgsl[] =
    WGSL_BLOCK("0", "read_write", "to", "u32") WGSL_VALUES("1", "s: vec4u, n: u32")
        WGSL_MAIN("suite_struct", "to[0] = v.s.x; to[1] = v.s.y; to[2] = v.s.z; to[3] = v.s.w;");

/* x[i] *= 2, without a value: the number of items is that of the words, and no thread is beyond */
static void twice(const acu_part *part, void *const *args) {
    uint32_t *x = args[0];
    FOR_ITEMS(part, SIZE_MAX)
    x[i] *= 2;
}

static const char twice_ptx[] =
    PTX("suite_twice", ".param .u64 x",
        "    mov.u32 %r2, %ctaid.x;\n"
        "    mov.u32 %r3, %ntid.x;\n"
        "    mov.u32 %r4, %tid.x;\n"
        "    mad.lo.s32 %r1, %r2, %r3, %r4;\n"
        "    mul.wide.u32 %rd9, %r1, 4;\n" PTX_AT("x", "%rd1") "    ld.u32 %r6, [%rd1];\n"
                                                               "    add.u32 %r6, %r6, %r6;\n"
                                                               "    st.u32 [%rd1], %r6;\n");
static const char twice_wgsl[] = WGSL_BLOCK(
    "0", "read_write", "x",
    "u32") "@compute @workgroup_size(64)\n"
           "fn suite_twice(@builtin(global_invocation_id) id: vec3u) { x[id.x] *= 2u; }\n";

/* ---- work that waits until the case lets it go ---- */

static int held, passed;

static void wait_until_let_go(void) {
    const struct timespec moment = {.tv_nsec = 200000};
    for (int i = 0; i < 100000 && __atomic_load_n(&held, __ATOMIC_ACQUIRE); i++)
        nanosleep(&moment, NULL);
    __atomic_add_fetch(&passed, 1, __ATOMIC_RELEASE);
}

static void hold_on_cpu(const acu_part *part, void *const *args) {
    (void)part;
    (void)args;
    wait_until_let_go();
}

static const char hold_ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry suite_hold() { ret; }\n";
static const char hold_wgsl[] = "@compute @workgroup_size(1) fn suite_hold() { }\n";

bool can_hold(void) {
    return can(ACU_CAN_RUN_AHEAD) && (is_cpu() || is_simulated());
}

void needs_hold(void) {
    if (!can_hold())
        skip_case("no work waits there for the test");
}

void hold(acu_client *of) {
    __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
    OK(acu_run_args(of, program("suite_hold"), acu_items(1), NULL, 0));
}

void let_go(void) {
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
}

/* ---- the list ---- */

typedef struct suite_program {
    acu_program_source source;
    unsigned blocks, args; /* for the simulator */
    acu_program *made;
} suite_program;

#define PROGRAM(noun, function, group_x, group_yz, block_count, arg_count)                         \
    {{.size = sizeof(acu_program_source),                                                          \
      .name = "suite_" #noun,                                                                      \
      .cpu = (function),                                                                           \
      .ptx = noun##_ptx,                                                                           \
      .wgsl = noun##_wgsl,                                                                         \
      .group = {group_x, group_yz, group_yz}},                                                     \
     block_count,                                                                                  \
     arg_count,                                                                                    \
     NULL}
static suite_program programs[] = {
    PROGRAM(add, add, 64, 1, 3, 4),         PROGRAM(scale, scale, 64, 1, 1, 4),
    PROGRAM(count, count_up, 64, 1, 1, 3),  PROGRAM(step, step, 64, 1, 1, 2),
    PROGRAM(copy, copy_words, 64, 1, 2, 3), PROGRAM(reduce, reduce, 64, 1, 2, 3),
    PROGRAM(values, values, 64, 1, 1, 6),   PROGRAM(struct, structure, 64, 1, 1, 3),
    PROGRAM(twice, twice, 64, 1, 1, 1),     PROGRAM(cube, cube, 4, 4, 1, 5),
    PROGRAM(hold, hold_on_cpu, 1, 1, 0, 0),
};

static suite_program *find_program(const char *name) {
    for (size_t i = 0; i < COUNT(programs); i++)
        if (strcmp(programs[i].source.name, name) == 0)
            return &programs[i];
    fprintf(stderr, "error: there is no program '%s'\n", name);
    abort();
}

/* A place without programs of its own lets the CPU run them, also where it is the other place. */
acu_program_source source_of(const char *name) {
    acu_program_source source = find_program(name)->source;
    if (!has_programs() || is_cpu())
        source.flags = ACU_PROGRAM_ON_CPU;
    return source;
}

static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;

acu_program *program(const char *name) {
    suite_program *it = find_program(name);
    acu_program_source source = source_of(name);
    /* The simulator then runs what is registered for the kernel's name. */
    if (is_simulated() && it->args > 3)
        source.cpu = NULL;
    pthread_mutex_lock(&made_lock);
    acu_result result = it->made ? 0 : acu_program_create(&source, &it->made);
    pthread_mutex_unlock(&made_lock);
    OK(result);
    return it->made;
}

void release_programs(void) {
    for (size_t i = 0; i < COUNT(programs); i++)
        acu_program_cleanup(&programs[i].made);
}

/* ---- a program of many blocks: the last one becomes the sum of the others ---- */

enum { MOST_BLOCKS = 200 };

static void sum_blocks(const acu_part *part, void *const *args, size_t inputs) {
    uint32_t *sum = args[inputs], n = WORD(args[inputs + 1]);
    FOR_ITEMS(part, n) {
        sum[i] = 0;
        for (size_t k = 0; k < inputs; k++)
            sum[i] += ((const uint32_t *)args[k])[i];
    }
}

/* The CPU's form is told by the first argument how many inputs there are. */
static void sum_many(const acu_part *part, void *const *args) {
    size_t inputs = WORD(args[0]);
    sum_blocks(part, args + 1, inputs);
}

typedef struct growing_text {
    char text[64 * KIB];
    size_t length;
} growing_text;

__attribute__((format(printf, 2, 3))) static void grow(growing_text *text, const char *format,
                                                       ...) {
    va_list list;
    va_start(list, format);
    text->length += (size_t)vsnprintf(text->text + text->length, sizeof text->text - text->length,
                                      format, list);
    va_end(list);
}

/* The first value says how many inputs there are, for the forms in C. */
static void write_ptx(growing_text *to, unsigned blocks) {
    grow(to, ".version 7.0\n.target sm_52\n.address_size 64\n"
             ".visible .entry suite_sum(.param .u32 inputs");
    for (unsigned i = 0; i < blocks; i++)
        grow(to, ", .param .u64 b%u", i);
    grow(to,
         ", .param .u32 n)\n{\n    .reg .pred %%p<2>; .reg .b32 %%r<9>; .reg .b64 %%rd<10>;\n"
         "%s    mov.u32 %%r6, 0;\n",
         PTX_ITEM);
    for (unsigned i = 0; i + 1 < blocks; i++)
        grow(to,
             "    ld.param.u64 %%rd1, [b%u];\n    add.s64 %%rd1, %%rd1, %%rd9;\n"
             "    ld.u32 %%r7, [%%rd1];\n    add.u32 %%r6, %%r6, %%r7;\n",
             i);
    grow(to,
         "    ld.param.u64 %%rd1, [b%u];\n    add.s64 %%rd1, %%rd1, %%rd9;\n"
         "    st.u32 [%%rd1], %%r6;\nEND:\n    ret;\n}\n",
         blocks - 1);
}

static void write_wgsl(growing_text *to, unsigned blocks) {
    for (unsigned i = 0; i < blocks; i++)
        grow(to, "@group(0) @binding(%u) var<storage, %s> b%u: array<u32>;\n", i,
             i + 1 < blocks ? "read" : "read_write", i);
    grow(to,
         "struct Values { inputs: u32, n: u32 }\n"
         "@group(0) @binding(%u) var<uniform> v: Values;\n"
         "@compute @workgroup_size(64)\n"
         "fn suite_sum(@builtin(global_invocation_id) id: vec3u) {\n"
         "    let i = id.x;\n    if (i >= v.n) { return; }\n    b%u[i] = 0u",
         blocks, blocks - 1);
    for (unsigned i = 0; i + 1 < blocks; i++)
        grow(to, " + b%u[i]", i);
    grow(to, ";\n}\n");
}

acu_program *new_program_of_blocks(unsigned count) {
    growing_text *ptx = host_bytes(sizeof *ptx), *wgsl = host_bytes(sizeof *wgsl);
    acu_program *made = NULL;
    acu_program_source source = source_of("suite_add");
    if (count < 1 || count > MOST_BLOCKS)
        abort();
    write_ptx(ptx, count);
    write_wgsl(wgsl, count);
    source.name = "suite_sum";
    source.cpu = sum_many;
    source.ptx = ptx->text;
    source.wgsl = wgsl->text;
    OK(acu_program_create(&source, &made));
    release_program_later(made);
    return made;
}

/* ---- on the simulator ---- */

static acu_part whole(const acu_sim_launch *launch) {
    acu_part part = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0};
    for (int k = 0; k < 3; k++)
        part.items[k] = part.end[k] = (size_t)launch->grid[k] * launch->block[k];
    return part;
}

static void run_on_simulator(const acu_sim_launch *launch, void *const *args) {
    const suite_program *it = find_program(launch->kernel);
    acu_part part = whole(launch);
    void *there[8];
    size_t words = it->args > it->blocks ? WORD(args[it->args - 1]) : part.items[0];
    for (unsigned i = 0; i < it->args; i++) {
        size_t needed = it->source.cpu == reduce && i == 1 ? (words + 63) / 64 : words;
        there[i] = i < it->blocks ? acu_sim_at(launch, *(void **)args[i], needed * 4) : args[i];
    }
    it->source.cpu(&part, there);
}

static void sum_on_simulator(const acu_sim_launch *launch, void *const *args) {
    acu_part part = whole(launch);
    size_t inputs = WORD(args[0]), words = WORD(args[inputs + 2]);
    void *there[MOST_BLOCKS + 1];
    for (size_t i = 0; i <= inputs; i++)
        there[i] = acu_sim_at(launch, *(void **)args[i + 1], words * 4);
    there[inputs + 1] = args[inputs + 2];
    sum_blocks(&part, there, inputs);
}

void register_sim_kernels(void) {
    int failed = acu_sim_register("suite_sum", sum_on_simulator);
    for (size_t i = 0; i < COUNT(programs); i++)
        failed |= acu_sim_register(programs[i].source.name, run_on_simulator);
    if (failed)
        abort();
}
