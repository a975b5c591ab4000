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
    return acu_sim_leaks(1) != 0;
}
