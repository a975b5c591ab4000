// A radix sort of CUB, of 1 Mi keys and of pairs, against std::sort. `large.py` builds and runs it.
#include "large.h"
#include <cub/device/device_radix_sort.cuh>

constexpr int COUNT = 1 << 20;

template <typename Sort> static double sorted(Sort sort) {
    size_t bytes = 0;
    CALL(sort(nullptr, bytes));
    void *scratch = on_device<char>(bytes);
    double time = median([&] {
        CALL(sort(scratch, bytes));
        CALL(cudaDeviceSynchronize());
    });
    CALL(cudaFree(scratch));
    return time;
}

int main() {
    std::vector<std::uint32_t> keys(COUNT), values(COUNT), got(COUNT), places(COUNT);
    std::uint32_t state = 1;
    for (int i = 0; i < COUNT; i++) {
        keys[i] = next_random(state) * 2654435761u;
        values[i] = i;
    }
    std::vector<std::uint32_t> right = keys;
    double plain = seconds([&] { std::sort(right.begin(), right.end()); });
    std::uint32_t *in = on_device(COUNT, keys.data()), *out = on_device<std::uint32_t>(COUNT);
    std::uint32_t *from = on_device(COUNT, values.data()), *to = on_device<std::uint32_t>(COUNT);
    double time = sorted([&](void *scratch, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(scratch, bytes, in, out, COUNT);
    });
    to_host(got.data(), out, COUNT);
    int failed = row("CUB's radix sort of 1 Mi keys", time, plain, got == right);

    std::vector<std::uint32_t> order = values;
    plain = seconds([&] {
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t x, std::uint32_t y) { return keys[x] < keys[y]; });
    });
    time = sorted([&](void *scratch, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, in, out, from, to, COUNT);
    });
    to_host(got.data(), out, COUNT);
    to_host(places.data(), to, COUNT);
    return failed |
           row("CUB's radix sort of 1 Mi pairs", time, plain, got == right && places == order);
}
