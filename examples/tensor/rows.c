/*
 * Operations over a row or a column. An item is one sum, or one row, and goes through its elements
 * from the first to the last: the order is the same wherever it runs.
 */
#include "forms.h"

#include <math.h>

/* Lines of PTX and WGSL stay lines. */
/* clang-format off */

/* ---- out[i] = sum of a[i * step + k * stride], for k from 0 to count - 1 ---- */

static void sum(const acu_part *part, void *const *args) {
    const float *a = IN(0);
    float *out = OUT(1);
    const size_t count = COUNT(3), step = COUNT(4), stride = COUNT(5);
    for (size_t i = part->begin[0]; i < part->end[0]; i++) {
        float total = 0;
        for (size_t k = 0; k < count; k++)
            total += a[i * step + k * stride];
        out[i] = total;
    }
}

const acu_program_source tensor_sum_source = {
    .name = "tensor_sum",
    .cpu = sum,
    .ptx = PTX_FILE ".visible .entry tensor_sum(.param .u64 a, .param .u64 out, .param .u32 n,\n"
                    "    .param .u32 count, .param .u32 step, .param .u32 stride)\n"
                    "{\n"
                    "    .reg .b32 %j;\n"
                    "    .reg .f32 %x, %total;\n" PTX_ITEM
                    PTX_COUNT("count") PTX_COUNT("step") PTX_COUNT("stride")
                    PTX_BLOCK("a") PTX_BLOCK_AT("out", "i")
                    "    mul.lo.u32 %j, %i, %step;\n"
                    "    mov.f32 %total, 0f00000000;\n"
                    "    mov.u32 %k, 0;\n"
                    "NEXT:\n"
                    "    mad.wide.u32 %at, %j, 4, %a;\n"
                    "    ld.global.f32 %x, [%at];\n"
                    "    add.rn.f32 %total, %total, %x;\n"
                    "    add.u32 %j, %j, %stride;\n"
                    "    add.u32 %k, %k, 1;\n"
                    "    setp.lt.u32 %more, %k, %count;\n"
                    "    @%more bra NEXT;\n"
                    "    st.global.f32 [%out], %total;\n" PTX_END,
    .wgsl = WGSL_IN(0, "a") WGSL_OUT(1, "out")
            WGSL_VALUES(2, "n: u32, count: u32, step: u32, stride: u32")
            WGSL_ITEM("tensor_sum")
            "    var total = 0.0;\n"
            "    for (var k = 0u; k < v.count; k++) {\n"
            "        total += a[i * v.step + k * v.stride];\n"
            "    }\n"
            "    out[i] = total;\n"
            "}\n",
};

/* ---- softmax of a row of z, its cross-entropy with the targets, and the gradient ---- */

/* With the row's largest z taken off first, no exp() is above 1, and the sum is at least 1. */
static void softmax_row(const float *z, const float *targets, float *loss, float *gradient,
                        size_t columns, float share) {
    float top = z[0], total = 0, lost = 0;
    for (size_t k = 1; k < columns; k++)
        top = z[k] > top ? z[k] : top;
    for (size_t k = 0; k < columns; k++) {
        gradient[k] = expf(z[k] - top);
        total += gradient[k];
    }
    const float log_total = logf(total);
    for (size_t k = 0; k < columns; k++) {
        lost += targets[k] * (log_total - (z[k] - top));
        gradient[k] = (gradient[k] / total - targets[k]) * share;
    }
    *loss = lost;
}

static void softmax_loss(const acu_part *part, void *const *args) {
    const size_t columns = COUNT(5);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        softmax_row(IN(0) + i * columns, IN(1) + i * columns, OUT(2) + i, OUT(3) + i * columns,
                    columns, VALUE(6));
}

/* One loop over the row: %at is the address of its element in z, and %to in the gradient. */
#define PTX_LOOP(label, body)                                                                      \
    "    mov.u32 %k, 0;\n" label ":\n"                                                             \
    "    mad.wide.u32 %at, %k, 4, %z;\n"                                                           \
    "    mad.wide.u32 %to, %k, 4, %gradient;\n"                                                    \
    "    ld.global.f32 %x, [%at];\n" body                                                          \
    "    add.u32 %k, %k, 1;\n"                                                                     \
    "    setp.lt.u32 %more, %k, %columns;\n"                                                       \
    "    @%more bra " label ";\n"

/* PTX has powers and logarithms of 2: exp(x) = 2 ^ (x / ln 2), and log(x) = log2(x) * ln 2. */
#define LN_2      "0f3F317218"
#define PER_LN_2  "0f3FB8AA3B"
#define LOWEST    "0fFF800000" /* minus infinity */

static const char softmax_loss_ptx[] =
    PTX_FILE ".visible .entry tensor_softmax_loss(.param .u64 z, .param .u64 targets,\n"
             "    .param .u64 losses, .param .u64 gradient,\n"
             "    .param .u32 n, .param .u32 columns, .param .f32 share)\n"
             "{\n"
             "    .reg .b32 %j;\n"
             "    .reg .b64 %to;\n"
             "    .reg .f32 %x, %y, %t, %top, %total, %log, %lost;\n" PTX_ITEM
             PTX_COUNT("columns") PTX_VALUE("share")
             "    mul.lo.u32 %j, %i, %columns;\n"
             PTX_BLOCK_AT("z", "j") PTX_BLOCK_AT("targets", "j")
             PTX_BLOCK_AT("losses", "i") PTX_BLOCK_AT("gradient", "j")
             "    mov.f32 %top, " LOWEST ";\n"
             "    mov.f32 %total, 0f00000000;\n"
             "    mov.f32 %lost, 0f00000000;\n"
             PTX_LOOP("LARGEST",
             "    max.f32 %top, %top, %x;\n")
             PTX_LOOP("ADD",
             "    sub.rn.f32 %x, %x, %top;\n"
             "    mul.rn.f32 %x, %x, " PER_LN_2 ";\n"
             "    ex2.approx.f32 %x, %x;\n"
             "    st.global.f32 [%to], %x;\n"
             "    add.rn.f32 %total, %total, %x;\n")
             "    lg2.approx.f32 %log, %total;\n"
             "    mul.rn.f32 %log, %log, " LN_2 ";\n"
             PTX_LOOP("DIVIDE",
             "    mad.wide.u32 %at, %k, 4, %targets;\n"
             "    ld.global.f32 %t, [%at];\n"
             "    sub.rn.f32 %x, %x, %top;\n"
             "    sub.rn.f32 %x, %log, %x;\n"
             "    mul.rn.f32 %x, %t, %x;\n"
             "    add.rn.f32 %lost, %lost, %x;\n"
             "    ld.global.f32 %y, [%to];\n"
             "    div.rn.f32 %y, %y, %total;\n"
             "    sub.rn.f32 %y, %y, %t;\n"
             "    mul.rn.f32 %y, %y, %share;\n"
             "    st.global.f32 [%to], %y;\n")
             "    st.global.f32 [%losses], %lost;\n" PTX_END;

static const char softmax_loss_wgsl[] =
    WGSL_IN(0, "z") WGSL_IN(1, "targets") WGSL_OUT(2, "losses") WGSL_OUT(3, "gradient")
    WGSL_VALUES(4, "n: u32, columns: u32, share: f32")
    WGSL_ITEM("tensor_softmax_loss")
    "    let first = i * v.columns;\n"
    "    let end = first + v.columns;\n"
    "    var top = z[first];\n"
    "    for (var k = first + 1u; k < end; k++) { top = max(top, z[k]); }\n"
    "    var total = 0.0;\n"
    "    for (var k = first; k < end; k++) {\n"
    "        let x = exp(z[k] - top);\n"
    "        gradient[k] = x;\n"
    "        total += x;\n"
    "    }\n"
    "    let log_total = log(total);\n"
    "    var lost = 0.0;\n"
    "    for (var k = first; k < end; k++) {\n"
    "        lost += targets[k] * (log_total - (z[k] - top));\n"
    "        gradient[k] = (gradient[k] / total - targets[k]) * v.share;\n"
    "    }\n"
    "    losses[i] = lost;\n"
    "}\n";

const acu_program_source tensor_softmax_loss_source = {
    .name = "tensor_softmax_loss",
    .cpu = softmax_loss,
    .ptx = softmax_loss_ptx,
    .wgsl = softmax_loss_wgsl,
};
