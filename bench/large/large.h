/* What the programs of this folder share: clocks, and the row that each measurement prints. */
#pragma once
#include "../../tests/ptx_corpus/own/check.h"
#include <algorithm>
#include <ctime>
#include <vector>

/* The processor's time, of all threads together: other programs do not count. */
template <typename Work> double seconds(Work work) {
    std::clock_t begin = std::clock();
    work();
    return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

/* The median of three runs after a first one, in which kernels are compiled. */
template <typename Work> double median(Work work) {
    work();
    double times[3] = {seconds(work), seconds(work), seconds(work)};
    std::sort(times, times + 3);
    return times[1];
}

/* Prints the name, the simulator's seconds and plain C's; gives 1 if the result is wrong. */
inline int row(const char *name, double time, double plain, bool right) {
    std::printf("%s\t%.4f\t%.4f\t%s\n", name, time, plain, right ? "right" : "wrong");
    return right ? 0 : 1;
}
