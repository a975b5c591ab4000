/*
 * vector_add.c in C++: handles that release themselves, buffers of a type, and exceptions.
 *
 * <anycuda/anycuda.hpp> is the safe layer with C++'s types. value() is what a call returns, or
 * throws what failed; without exceptions a result is looked at: `if (!result) …`.
 */
#include <anycuda/anycuda.hpp>
#include <cstdio>
#include <vector>

namespace {

/* extern "C" __global__ void vector_add(const float *a, const float *b, float *sum, int n) */
const char vector_add_ptx[] = ".version 7.0\n"
                              ".target sm_52\n"
                              ".address_size 64\n"
                              ".visible .entry vector_add(\n"
                              "    .param .u64 .ptr a, .param .u64 .ptr b,\n"
                              "    .param .u64 .ptr sum, .param .u32 n)\n"
                              "{\n"
                              "    .reg .pred %past;\n"
                              "    .reg .b32 %i, %n, %block, %threads, %thread;\n"
                              "    .reg .b64 %a, %b, %sum, %at;\n"
                              "    .reg .f32 %x, %y;\n"
                              "    ld.param.u64 %a, [a];\n"
                              "    ld.param.u64 %b, [b];\n"
                              "    ld.param.u64 %sum, [sum];\n"
                              "    ld.param.u32 %n, [n];\n"
                              "    mov.u32 %block, %ctaid.x;\n"
                              "    mov.u32 %threads, %ntid.x;\n"
                              "    mov.u32 %thread, %tid.x;\n"
                              "    mad.lo.s32 %i, %block, %threads, %thread;\n"
                              "    setp.ge.s32 %past, %i, %n;\n"
                              "    @%past bra END;\n"
                              "    mul.wide.s32 %at, %i, 4;\n"
                              "    add.s64 %a, %a, %at;\n"
                              "    add.s64 %b, %b, %at;\n"
                              "    add.s64 %sum, %sum, %at;\n"
                              "    ld.f32 %x, [%a];\n"
                              "    ld.f32 %y, [%b];\n"
                              "    add.f32 %x, %x, %y;\n"
                              "    st.f32 [%sum], %x;\n"
                              "END:\n"
                              "    ret;\n"
                              "}\n";

std::vector<float> vector_add(const std::vector<float> &a, const std::vector<float> &b) {
    const auto stream = acu::stream::create(0).value();
    const auto device_a = acu::buffer_of<float>::create_from(stream, a).value();
    const auto device_b = acu::buffer_of<float>::create_from(stream, b).value();
    const auto device_sum = acu::buffer_of<float>::create(stream, a.size()).value();
    acu_module_source source{};
    source.ptx = vector_add_ptx;
    const auto kernel = acu::module::load(0, source).value().get_kernel("vector_add").value();
    acu::launch(stream, kernel, acu::grid_1d(a.size(), 256), acu::in(device_a), acu::in(device_b),
                acu::out(device_sum), static_cast<int>(a.size()))
        .value();
    std::vector<float> sum(a.size());
    device_sum.read(sum).value(); // waits for the kernel
    return sum;
}

} // namespace

int main() {
    acu_load_options options{};
    options.flags = ACU_LOAD_ALLOW_SIM;
    if (acu::load(options)) {
        std::fprintf(stderr, "error: %s\n", acu::last_error_message());
        return 1;
    }
    std::printf("on %s\n", acu::loaded(ACU_CUDART)->is_sim ? "the simulator" : "a GPU");
    std::vector<float> a, b;
    for (int i = 0; i < 1000000; i++) {
        a.push_back(static_cast<float>(i));
        b.push_back(0.5f * static_cast<float>(i));
    }
    try {
        const auto sum = vector_add(a, b);
        for (std::size_t i = 0; i < sum.size(); i++)
            if (sum[i] < a[i] + b[i] || sum[i] > a[i] + b[i]) {
                std::printf("sum %zu is wrong\n", i);
                return 1;
            }
        std::printf("1 + 0.5 = %g … and all %zu sums are right\n", static_cast<double>(sum[1]),
                    sum.size());
    } catch (const acu::error &error) {
        std::fprintf(stderr, "error: %s\n", error.what());
        return 1;
    }
    return 0;
}
