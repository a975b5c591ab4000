/*
 * A loop that the device ends by itself: a graph with a "while" node, whose body is a kernel.
 *
 * The kernel improves a guess at a square root, and decides whether there is another round. The
 * host launches the graph once. The example needs CUDA 12.3.
 */
#include "example.h"

/* extern "C" __global__ void improve(double *x, double a, cudaGraphConditionalHandle more):
 * x[0] becomes the mean of itself and a / x[0], x[1] counts. */
static const char improve_ptx[] =
    ".version 7.0\n"
    ".target sm_52\n"
    ".address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    ".visible .entry improve(.param .u64 .ptr x, .param .f64 a, .param .u64 more)\n"
    "{\n"
    "    .reg .pred %moved;\n"
    "    .reg .b32 %answer;\n"
    "    .reg .b64 %at, %more;\n"
    "    .reg .f64 %x, %y, %a, %rounds;\n"
    "    .param .b64 handle;\n"
    "    .param .b32 value;\n"
    "    ld.param.u64 %at, [x];\n"
    "    ld.param.f64 %a, [a];\n"
    "    ld.param.u64 %more, [more];\n"
    "    ld.f64 %x, [%at];\n"
    "    ld.f64 %rounds, [%at+8];\n"
    "    div.rn.f64 %y, %a, %x;\n"
    "    add.f64 %y, %y, %x;\n"
    "    mul.f64 %y, %y, 0d3FE0000000000000;\n"
    "    add.f64 %rounds, %rounds, 0d3FF0000000000000;\n"
    "    st.f64 [%at], %y;\n"
    "    st.f64 [%at+8], %rounds;\n"
    "    setp.lt.f64 %moved, %y, %x;\n"
    "    selp.u32 %answer, 1, 0, %moved;\n"
    "    st.param.b64 [handle], %more;\n"
    "    st.param.b32 [value], %answer;\n"
    "    call.uni cudaGraphSetConditional, (handle, value);\n"
    "    ret;\n"
    "}\n";

/* while (more) improve(x, a, more); */
static acu_result build(acu_graph *graph, acu_kernel *kernel, acu_buffer *x, double a) {
    acu_conditional more;
    acu_graph *body;
    const acu_grid one_thread = acu_grid_1d(1, 1);
    ACU_TRY(acu_conditional_create(graph, 1, ACU_CONDITIONAL_ASSIGN_DEFAULT, &more));
    ACU_TRY(acu_graph_add_conditional(graph, NULL, 0, more, ACU_CONDITIONAL_WHILE, &body, 1, NULL));
    const acu_arg args[] = {acu_inout(x), acu_arg_of(a), acu_arg_of(more.raw)};
    return acu_graph_add_kernel(body, NULL, 0, kernel, &one_thread, args, 3, NULL);
}

static acu_result square_root(double a, double result[2]) {
    const double first_guess[] = {a, 0}; /* too large: guesses come down to the root */
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_module) *module = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create(stream, ACU_F64, 2, &x));
    ACU_TRY(acu_buffer_write(x, first_guess, 2));
    ACU_TRY(acu_module_load(0, &(acu_module_source){.ptx = improve_ptx}, &module));
    ACU_TRY(acu_module_get_kernel(module, "improve", &kernel));
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(build(graph, kernel, x, a));
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_exec_launch(exec, stream));
    return acu_buffer_read(x, result, 2);
}

int main(void) {
    double root[2];
    acu_result result = example_begin();
    if (!result && acu_supports(ACU_FEATURE_GRAPH_CONDITIONAL_NODES, 0)) {
        printf("not here:\n%s\n", acu_last_error_message());
        return 0;
    }
    if (!result)
        result = square_root(2, root);
    if (result)
        return example_end(result);
    double off = root[0] * root[0] - 2;
    printf("the root of 2 is %.15g\none launch, and %.0f rounds that the device decided on\n",
           root[0], root[1]);
    return off > 1e-12 || off < -1e-12 || root[1] < 2;
}
