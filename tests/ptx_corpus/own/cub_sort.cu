// Radix sorts of CUB: keys, pairs, descending, a part of the bits, and segments.
#include "check.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <vector>

int main() {
    const int count = 20000;
    std::uint32_t state = 1;
    std::vector<std::uint32_t> keys(count), sorted(count), values(count), moved(count);
    for (int i = 0; i < count; i++) {
        keys[i] = next_random(state);
        values[i] = i;
    }
    auto *in = on_device(count, keys.data()), *value = on_device(count, values.data());
    auto *out = on_device<std::uint32_t>(count), *value_out = on_device<std::uint32_t>(count);
    void *temporary = nullptr;
    size_t size = 0, more = 0;
    long wrong = 0;
    CALL(cub::DeviceRadixSort::SortPairs(nullptr, size, in, out, value, value_out, count));
    CALL(cub::DeviceRadixSort::SortKeysDescending(nullptr, more, in, out, count));
    size = std::max(size, more);
    CALL(cudaMalloc(&temporary, size));
    CALL(cub::DeviceRadixSort::SortPairs(temporary, size, in, out, value, value_out, count));
    to_host(sorted.data(), out, count);
    to_host(moved.data(), value_out, count);
    std::vector<std::uint32_t> expected(keys);
    std::sort(expected.begin(), expected.end());
    for (int i = 0; i < count; i++)
        wrong += sorted[i] != expected[i] || keys[moved[i]] != sorted[i];
    CALL(cub::DeviceRadixSort::SortKeysDescending(temporary, size, in, out, count));
    to_host(sorted.data(), out, count);
    for (int i = 0; i < count; i++)
        wrong += sorted[i] != expected[count - 1 - i];
    CALL(cub::DeviceRadixSort::SortPairs(temporary, size, in, out, value, value_out, count, 4, 12));
    to_host(moved.data(), value_out, count);
    std::stable_sort(values.begin(), values.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return (keys[a] >> 4 & 255) < (keys[b] >> 4 & 255); });
    for (int i = 0; i < count; i++)
        wrong += moved[i] != values[i];
    return finish("cub_sort", wrong);
}
