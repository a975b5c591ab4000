// Virtual functions, function pointers, recursion, new and delete, lambdas and printf on the device.
#include "check.h"

struct Shape {
    int side;
    __device__ explicit Shape(int side) : side(side) {}
    __device__ virtual int area() const { return 0; }
    __device__ virtual ~Shape() {}
};

struct Square : Shape {
    using Shape::Shape;
    __device__ int area() const override { return side * side; }
};

struct Box : Square {
    int height;
    __device__ Box(int side, int height) : Square(side), height(height) {}
    __device__ int area() const override { return 2 * Square::area() + 4 * side * height; }
};

__device__ __noinline__ int ackermann(int m, int n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ int twice(int value) { return 2 * value; }
__device__ __noinline__ int square(int value) { return value * value; }
__device__ int (*const table[])(int) = {twice, square};

template <typename Function> __global__ void apply(int *out, Function function) { out[threadIdx.x] = function(threadIdx.x); }

__global__ void shapes(int *out) {
    Shape *shape = threadIdx.x % 3 == 0   ? new Shape(threadIdx.x)
                   : threadIdx.x % 3 == 1 ? static_cast<Shape *>(new Square(threadIdx.x))
                                          : new Box(threadIdx.x, 3);
    out[threadIdx.x] = shape->area();
    delete shape;
    if (threadIdx.x == 40)
        printf("%s %d %5.2f %c %llx %%\n", "lane", threadIdx.x, 1.5, 'x', 0x123456789abcULL);
}

__global__ void calls(int *out) {
    int value = threadIdx.x;
    for (int k = 0; k < 5; k++)
        value = table[(threadIdx.x + k) % 2](value) % 1000;
    out[threadIdx.x] = value + (threadIdx.x < 4 ? ackermann(2, threadIdx.x) : 0);
}

int main() {
    int *out = on_device<int>(64), result[64];
    long wrong = 0;
    shapes<<<1, 64>>>(out);
    to_host(result, out, 64);
    for (int i = 0; i < 64; i++)
        wrong += result[i] != (i % 3 == 0 ? 0 : i % 3 == 1 ? i * i : 2 * i * i + 12 * i);
    calls<<<1, 64>>>(out);
    to_host(result, out, 64);
    for (int i = 0; i < 64; i++) {
        int value = i;
        for (int k = 0; k < 5; k++)
            value = ((i + k) % 2 ? value * value : 2 * value) % 1000;
        wrong += result[i] != value + (i < 4 ? 2 * i + 3 : 0);
    }
    int seven = 7;
    apply<<<1, 64>>>(out, [seven] __device__(int i) { return i * seven; });
    to_host(result, out, 64);
    for (int i = 0; i < 64; i++)
        wrong += result[i] != i * 7;
    return finish("virtual_calls", wrong);
}
