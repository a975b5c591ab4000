// Scans, reductions, selections, run lengths and histograms of CUB.
#include "check.h"
#include <cub/cub.cuh>
#include <map>
#include <vector>

template <typename Call> void with_memory(Call call) {
    size_t size = 0;
    void *temporary = nullptr;
    CALL(call(nullptr, size));
    CALL(cudaMalloc(&temporary, size));
    CALL(call(temporary, size));
    CALL(cudaFree(temporary));
}

struct Odd {
    __device__ bool operator()(int value) const { return value & 1; }
};

int main() {
    const int count = 30000;
    std::uint32_t state = 7;
    std::vector<int> data(count), result(count);
    for (int &value : data)
        value = next_random(state) % 10;
    int *in = on_device(count, data.data()), *out = on_device<int>(count), *number = on_device<int>(4);
    int *lengths = on_device<int>(count);
    long wrong = 0;
    with_memory([&](void *t, size_t &s) { return cub::DeviceScan::ExclusiveSum(t, s, in, out, count); });
    to_host(result.data(), out, count);
    for (int i = 0, sum = 0; i < count; sum += data[i++])
        wrong += result[i] != sum;
    with_memory([&](void *t, size_t &s) { return cub::DeviceReduce::Sum(t, s, in, number, count); });
    with_memory([&](void *t, size_t &s) { return cub::DeviceReduce::Max(t, s, in, number + 1, count); });
    with_memory([&](void *t, size_t &s) { return cub::DeviceSelect::If(t, s, in, out, number + 2, count, Odd()); });
    int numbers[4], sum = 0, odd = 0;
    to_host(numbers, number, 4);
    to_host(result.data(), out, count);
    for (int value : data) {
        sum += value;
        if (value & 1)
            wrong += result[odd++] != value;
    }
    wrong += numbers[0] != sum || numbers[1] != 9 || numbers[2] != odd;
    with_memory([&](void *t, size_t &s) {
        return cub::DeviceRunLengthEncode::Encode(t, s, in, out, lengths, number, count);
    });
    to_host(numbers, number, 1);
    to_host(result.data(), lengths, count);
    int runs = 1, total = 0;
    for (int i = 1; i < count; i++)
        runs += data[i] != data[i - 1];
    for (int i = 0; i < runs; i++)
        total += result[i];
    wrong += numbers[0] != runs || total != count;
    int *bins = on_device<int>(10);
    with_memory([&](void *t, size_t &s) { return cub::DeviceHistogram::HistogramEven(t, s, in, bins, 11, 0, 10, count); });
    to_host(result.data(), bins, 10);
    std::map<int, int> counted;
    for (int value : data)
        counted[value]++;
    for (int i = 0; i < 10; i++)
        wrong += result[i] != counted[i];
    return finish("cub_scan", wrong);
}
