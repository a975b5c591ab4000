/*
 * Operations in which each element of the result depends on one element of each operand. An item is
 * an element.
 */
#include "forms.h"

/* Lines of PTX and WGSL stay lines. */
/* clang-format off */

/* ---- out[i] = a[i] + b[i % period]: a period of one row broadcasts that row ---- */

static void add(const acu_part *part, void *const *args) {
    const float *a = IN(0), *b = IN(1);
    float *out = OUT(2);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        out[i] = a[i] + b[i % COUNT(4)];
}

static void multiply(const acu_part *part, void *const *args) {
    const float *a = IN(0), *b = IN(1);
    float *out = OUT(2);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        out[i] = a[i] * b[i % COUNT(4)];
}

#define PTX_PERIODIC(name, operation)                                                              \
    PTX_FILE ".visible .entry " name "(.param .u64 a, .param .u64 b, .param .u64 out,\n"           \
             "    .param .u32 n, .param .u32 period)\n"                                            \
             "{\n"                                                                                 \
             "    .reg .b32 %j;\n"                                                                 \
             "    .reg .f32 %x, %y;\n" PTX_ITEM PTX_COUNT("period")                                \
             "    rem.u32 %j, %i, %period;\n"                                                      \
             PTX_BLOCK_AT("a", "i") PTX_BLOCK_AT("b", "j") PTX_BLOCK_AT("out", "i")                \
             "    ld.global.f32 %x, [%a];\n"                                                       \
             "    ld.global.f32 %y, [%b];\n"                                                       \
             "    " operation " %x, %x, %y;\n"                                                     \
             "    st.global.f32 [%out], %x;\n" PTX_END

#define WGSL_PERIODIC(name, operator)                                                              \
    WGSL_IN(0, "a") WGSL_IN(1, "b") WGSL_OUT(2, "out") WGSL_VALUES(3, "n: u32, period: u32")       \
    WGSL_ITEM(name) "    out[i] = a[i] " operator " b[i % v.period];\n}\n"

const acu_program_source tensor_add_source = {
    .name = "tensor_add",
    .cpu = add,
    .ptx = PTX_PERIODIC("tensor_add", "add.rn.f32"),
    .wgsl = WGSL_PERIODIC("tensor_add", "+"),
};

const acu_program_source tensor_multiply_source = {
    .name = "tensor_multiply",
    .cpu = multiply,
    .ptx = PTX_PERIODIC("tensor_multiply", "mul.rn.f32"),
    .wgsl = WGSL_PERIODIC("tensor_multiply", "*"),
};

/* ---- out[i] = a[i] * factor ---- */

static void scale(const acu_part *part, void *const *args) {
    const float *a = IN(0), factor = VALUE(3);
    float *out = OUT(1);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        out[i] = a[i] * factor;
}

const acu_program_source tensor_scale_source = {
    .name = "tensor_scale",
    .cpu = scale,
    .ptx = PTX_FILE ".visible .entry tensor_scale(.param .u64 a, .param .u64 out,\n"
                    "    .param .u32 n, .param .f32 factor)\n"
                    "{\n"
                    "    .reg .f32 %x;\n" PTX_ITEM PTX_VALUE("factor")
                    PTX_BLOCK_AT("a", "i") PTX_BLOCK_AT("out", "i")
                    "    ld.global.f32 %x, [%a];\n"
                    "    mul.rn.f32 %x, %x, %factor;\n"
                    "    st.global.f32 [%out], %x;\n" PTX_END,
    .wgsl = WGSL_IN(0, "a") WGSL_OUT(1, "out") WGSL_VALUES(2, "n: u32, factor: f32")
            WGSL_ITEM("tensor_scale") "    out[i] = a[i] * v.factor;\n}\n",
};

/* ---- out[i] = a[i] > 0 ? a[i] : 0 ---- */

static void relu(const acu_part *part, void *const *args) {
    const float *a = IN(0);
    float *out = OUT(1);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        out[i] = a[i] > 0 ? a[i] : 0;
}

const acu_program_source tensor_relu_source = {
    .name = "tensor_relu",
    .cpu = relu,
    .ptx = PTX_FILE ".visible .entry tensor_relu(.param .u64 a, .param .u64 out, .param .u32 n)\n"
                    "{\n"
                    "    .reg .pred %on;\n"
                    "    .reg .f32 %x;\n" PTX_ITEM PTX_BLOCK_AT("a", "i") PTX_BLOCK_AT("out", "i")
                    "    ld.global.f32 %x, [%a];\n"
                    "    setp.gt.f32 %on, %x, 0f00000000;\n"
                    "    selp.f32 %x, %x, 0f00000000, %on;\n"
                    "    st.global.f32 [%out], %x;\n" PTX_END,
    .wgsl = WGSL_IN(0, "a") WGSL_OUT(1, "out") WGSL_VALUES(2, "n: u32")
            WGSL_ITEM("tensor_relu") "    out[i] = select(0.0, a[i], a[i] > 0.0);\n}\n",
};

/* ---- out[i] = a[i] > 0 ? gradient[i] : 0 ---- */

static void relu_gradient(const acu_part *part, void *const *args) {
    const float *a = IN(0), *gradient = IN(1);
    float *out = OUT(2);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        out[i] = a[i] > 0 ? gradient[i] : 0;
}

const acu_program_source tensor_relu_gradient_source = {
    .name = "tensor_relu_gradient",
    .cpu = relu_gradient,
    .ptx = PTX_FILE ".visible .entry tensor_relu_gradient(.param .u64 a, .param .u64 gradient,\n"
                    "    .param .u64 out, .param .u32 n)\n"
                    "{\n"
                    "    .reg .pred %on;\n"
                    "    .reg .f32 %x, %y;\n" PTX_ITEM
                    PTX_BLOCK_AT("a", "i") PTX_BLOCK_AT("gradient", "i") PTX_BLOCK_AT("out", "i")
                    "    ld.global.f32 %x, [%a];\n"
                    "    ld.global.f32 %y, [%gradient];\n"
                    "    setp.gt.f32 %on, %x, 0f00000000;\n"
                    "    selp.f32 %y, %y, 0f00000000, %on;\n"
                    "    st.global.f32 [%out], %y;\n" PTX_END,
    .wgsl = WGSL_IN(0, "a") WGSL_IN(1, "gradient") WGSL_OUT(2, "out") WGSL_VALUES(3, "n: u32")
            WGSL_ITEM("tensor_relu_gradient")
            "    out[i] = select(0.0, gradient[i], a[i] > 0.0);\n}\n",
};

/* ---- parameter[i] = parameter[i] - rate * gradient[i] ---- */

static void sgd(const acu_part *part, void *const *args) {
    const float *gradient = IN(1), rate = VALUE(3);
    float *parameter = OUT(0);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        parameter[i] = parameter[i] - rate * gradient[i];
}

const acu_program_source tensor_sgd_source = {
    .name = "tensor_sgd",
    .cpu = sgd,
    .ptx = PTX_FILE ".visible .entry tensor_sgd(.param .u64 parameter, .param .u64 gradient,\n"
                    "    .param .u32 n, .param .f32 rate)\n"
                    "{\n"
                    "    .reg .f32 %x, %y;\n" PTX_ITEM PTX_VALUE("rate")
                    PTX_BLOCK_AT("parameter", "i") PTX_BLOCK_AT("gradient", "i")
                    "    ld.global.f32 %x, [%parameter];\n"
                    "    ld.global.f32 %y, [%gradient];\n"
                    "    mul.rn.f32 %y, %rate, %y;\n"
                    "    sub.rn.f32 %x, %x, %y;\n"
                    "    st.global.f32 [%parameter], %x;\n" PTX_END,
    .wgsl = WGSL_OUT(0, "parameter") WGSL_IN(1, "gradient") WGSL_VALUES(2, "n: u32, rate: f32")
            WGSL_ITEM("tensor_sgd") "    parameter[i] = parameter[i] - v.rate * gradient[i];\n}\n",
};
