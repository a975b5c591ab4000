// Thrust: transform, reduce, sort by key, unique, partition, set operations, scans by key.
#include "check.h"
#include <algorithm>
#include <numeric>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/unique.h>
#include <vector>

struct Third {
    __host__ __device__ bool operator()(int value) const { return value % 3 == 0; }
};

int main() {
    const int count = 10000;
    std::uint32_t state = 11;
    std::vector<int> data(count), index(count);
    for (int &value : data)
        value = next_random(state) % 1000;
    std::iota(index.begin(), index.end(), 0);
    thrust::device_vector<int> keys(data.begin(), data.end()), values(count);
    thrust::sequence(values.begin(), values.end());
    long wrong = thrust::reduce(keys.begin(), keys.end()) != std::accumulate(data.begin(), data.end(), 0);
    long long product = thrust::inner_product(keys.begin(), keys.end(), values.begin(), 0LL);
    wrong += product != std::inner_product(data.begin(), data.end(), index.begin(), 0LL);
    thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
    std::stable_sort(index.begin(), index.end(), [&](int a, int b) { return data[a] < data[b]; });
    thrust::host_vector<int> order = values;
    for (int i = 0; i < count; i++)
        wrong += order[i] != index[i];
    thrust::device_vector<int> ones(count, 1), heads(count), sums(count);
    auto ends = thrust::reduce_by_key(keys.begin(), keys.end(), ones.begin(), heads.begin(), sums.begin());
    std::sort(data.begin(), data.end());
    std::vector<int> once(data);
    once.erase(std::unique(once.begin(), once.end()), once.end());
    wrong += ends.first - heads.begin() != (long)once.size();
    thrust::host_vector<int> counted = sums;
    for (size_t i = 0; i < once.size(); i++)
        wrong += counted[i] != std::count(data.begin(), data.end(), once[i]);
    thrust::exclusive_scan_by_key(keys.begin(), keys.end(), ones.begin(), sums.begin());
    counted = sums;
    for (int i = 1; i < count; i++)
        wrong += counted[i] != (data[i] == data[i - 1] ? counted[i - 1] + 1 : 0);
    keys.erase(thrust::unique(keys.begin(), keys.end()), keys.end());
    auto middle = thrust::stable_partition(keys.begin(), keys.end(), Third());
    wrong += middle - keys.begin() != std::count_if(once.begin(), once.end(), Third());
    thrust::sort(keys.begin(), keys.end(), thrust::greater<int>());
    thrust::host_vector<int> down = keys;
    for (size_t i = 0; i < once.size(); i++)
        wrong += down[i] != once[once.size() - 1 - i];
    return finish("thrust_algorithms", wrong);
}
