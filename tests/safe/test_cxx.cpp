// The safe layer from C++17: functions, and the macros that tell a pointer's type.
#include <anycuda/anycuda.h>
#include <anycuda/sim.h>

#include <complex>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

struct release {
    void operator()(acu_stream *stream) const { acu_stream_release(stream); }
    void operator()(acu_buffer *buffer) const { acu_buffer_release(buffer); }
};

using stream = std::unique_ptr<acu_stream, release>;
using buffer = std::unique_ptr<acu_buffer, release>;

acu_result round_trip(std::vector<float> &back) {
    const std::vector<float> numbers{1, 2, 3};
    acu_stream *raw_stream = nullptr;
    acu_buffer *raw_buffer = nullptr;
    ACU_TRY(acu_stream_create(0, nullptr, &raw_stream));
    stream s(raw_stream);
    ACU_TRY(acu_buffer_create(s.get(), ACU_F32, numbers.size(), &raw_buffer));
    buffer b(raw_buffer);
    ACU_TRY(acu_buffer_write(b.get(), numbers.data(), numbers.size()));
    back.resize(numbers.size());
    return acu_buffer_read(b.get(), back.data(), back.size());
}

acu_result refuses_another_type() {
    ACU_AUTO(acu_stream) *s = nullptr;
    ACU_AUTO(acu_buffer) *b = nullptr;
    const int numbers[] = {1};
    ACU_TRY(acu_stream_create(0, nullptr, &s));
    ACU_TRY(acu_buffer_create(s, ACU_C64, 1, &b));
    std::complex<float> z{1, 2};
    ACU_TRY(acu_buffer_write_typed(b, 0, ACU_C64, &z, 1, nullptr));
    return acu_buffer_write(b, numbers, 1);
}

const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                   ".visible .entry scale(.param .u64 .ptr x, .param .f32 by, .param .u32 n,\n"
                   "                      .param .align 4 .b8 offset[4]) { ret; }\n"
                   ".visible .entry nothing() { ret; }\n";

struct offset {
    int by;
};

void scale(const acu_sim_launch *launch, void *const *args) {
    const auto n = *static_cast<const unsigned *>(args[2]);
    auto *x = static_cast<float *>(
        acu_sim_at(launch, *static_cast<void *const *>(args[0]), n * sizeof(float)));
    for (unsigned i = 0; i < n; i++)
        x[i] = x[i] * *static_cast<const float *>(args[1]) +
               static_cast<float>(static_cast<const offset *>(args[3])->by);
}

void nothing(const acu_sim_launch *, void *const *) {}

enum count { three = 3 };

acu_result launches(std::vector<float> &back) {
    ACU_AUTO(acu_stream) *s = nullptr;
    ACU_AUTO(acu_buffer) *b = nullptr;
    ACU_AUTO(acu_module) *m = nullptr;
    ACU_AUTO(acu_kernel) *k = nullptr;
    ACU_AUTO(acu_kernel) *empty = nullptr;
    acu_module_source source{};
    source.ptx = ptx;
    acu_sim_register("scale", scale);
    acu_sim_register("nothing", nothing);
    ACU_TRY(acu_stream_create(0, nullptr, &s));
    ACU_TRY(acu_buffer_create(s, ACU_F32, back.size(), &b));
    ACU_TRY(acu_buffer_write(b, back.data(), back.size()));
    ACU_TRY(acu_module_load(0, &source, &m));
    ACU_TRY(acu_module_get_kernel(m, "scale", &k));
    ACU_TRY(acu_module_get_kernel(m, "nothing", &empty));
    const offset one{1};
    const auto grid = acu_grid_1d(back.size(), 32);
    ACU_TRY(acu_launch(s, k, grid, acu_inout(b), 2.0f, three, acu_bytes(&one, sizeof one)));
    ACU_TRY(acu_launch(s, k, grid, b, 1.0f, 3u, acu_bytes(&one, sizeof one)));
    ACU_TRY(acu_launch(s, k, grid, acu_buffer_raw(b), 1.0f, 3, acu_bytes(&one, sizeof one)));
    ACU_TRY(acu_launch(s, empty, grid));
    const acu_buffer *constant = b;
    if (acu_arg_of(constant).kind != ACU_ARG_IN || acu_arg_of(nullptr).kind != ACU_ARG_ADDRESS)
        return ACU_ERROR_STATE;
    if (acu_launch(s, k, grid, b, 1.0, 3, acu_bytes(&one, sizeof one)) != ACU_ERROR_ARGUMENT)
        return ACU_ERROR_STATE;
    ACU_AUTO(acu_graph) *graph = nullptr;
    ACU_AUTO(acu_exec) *exec = nullptr;
    acu_node node;
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(acu_graph_add_launch(graph, nullptr, 0, &node, k, grid, b, 9.0f, 3,
                                 acu_bytes(&one, sizeof one)));
    ACU_TRY(acu_node_set_launch(node, k, grid, b, 8.0f, 3, acu_bytes(&one, sizeof one)));
    ACU_TRY(acu_graph_instantiate(graph, nullptr, &exec));
    ACU_TRY(acu_exec_set_launch(exec, node, k, grid, b, 1.0f, 3, acu_bytes(&one, sizeof one)));
    ACU_TRY(acu_exec_launch(exec, s));
    return acu_buffer_read(b, back.data(), back.size());
}

/* A lambda without captures is a function. */
acu_result captures_and_replays(float &back) {
    ACU_AUTO(acu_stream) *s = nullptr;
    ACU_AUTO(acu_buffer) *b = nullptr;
    ACU_AUTO(acu_graph) *graph = nullptr;
    ACU_AUTO(acu_exec) *exec = nullptr;
    ACU_TRY(acu_stream_create(0, nullptr, &s));
    ACU_TRY(acu_buffer_create(s, ACU_F32, 1, &b));
    ACU_TRY(acu_stream_capture(
        s, nullptr,
        [](acu_stream *on, void *data) {
            const float seven = 7;
            return acu_buffer_fill_typed(static_cast<acu_buffer *>(data), ACU_F32, &seven, on);
        },
        b, &graph));
    ACU_TRY(acu_graph_instantiate(graph, nullptr, &exec));
    ACU_TRY(acu_exec_launch(exec, s));
    return acu_buffer_read(b, &back, 1);
}

} // namespace

int main() {
    std::vector<float> back;
    if (round_trip(back) || back != std::vector<float>{1, 2, 3}) {
        std::printf("round trip: %s\n", acu_last_error_message());
        return 1;
    }
    if (refuses_another_type() != ACU_ERROR_DTYPE) {
        std::printf("another type: %s\n", acu_last_error_message());
        return 1;
    }
    if (launches(back) || back != std::vector<float>{6, 8, 10}) {
        std::printf("launches: %s\n", acu_last_error_message());
        return 1;
    }
    float number = 0;
    if (captures_and_replays(number) || number != 7) {
        std::printf("capture: %s\n", acu_last_error_message());
        return 1;
    }
    return acu_sim_leaks(1) != 0;
}
