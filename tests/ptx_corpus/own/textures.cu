// Texture and surface objects: linear memory, pitched, 2-D and 3-D arrays, filters, address modes, gathers.
#include "check.h"
#include <cmath>
#include <vector>

const int WIDTH = 32, HEIGHT = 16;

__global__ void reads(cudaTextureObject_t plain, cudaTextureObject_t smooth, cudaTextureObject_t line, float *out) {
    int x = threadIdx.x, y = threadIdx.y, at = (y * WIDTH + x) * 8;
    out[at] = tex2D<float>(plain, x + 0.5f, y + 0.5f);
    out[at + 1] = tex2D<float>(smooth, x + 1.0f, y + 0.5f);
    out[at + 2] = tex2D<float>(plain, x - 3.5f, y + 20.5f);
    out[at + 3] = tex1Dfetch<float>(line, y * WIDTH + x);
    float4 four = tex2Dgather<float4>(plain, x + 1.0f, y + 1.0f, 0);
    out[at + 4] = four.x;
    out[at + 5] = four.y;
    out[at + 6] = four.z;
    out[at + 7] = four.w;
}

__global__ void writes(cudaSurfaceObject_t surface) {
    int x = threadIdx.x, y = threadIdx.y;
    float value = surf2Dread<float>(surface, x * 4, y);
    surf2Dwrite(value * 2 + 1, surface, x * 4, y);
}

static cudaTextureObject_t texture(cudaArray_t array, cudaTextureFilterMode filter) {
    cudaResourceDesc resource = {};
    cudaTextureDesc as = {};
    cudaTextureObject_t object = 0;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    as.addressMode[0] = as.addressMode[1] = cudaAddressModeClamp;
    as.filterMode = filter;
    as.readMode = cudaReadModeElementType;
    CALL(cudaCreateTextureObject(&object, &resource, &as, nullptr));
    return object;
}

int main() {
    std::vector<float> data(WIDTH * HEIGHT), result(data.size() * 8);
    for (size_t i = 0; i < data.size(); i++)
        data[i] = float(i * 7 % 101);
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CALL(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore | cudaArrayTextureGather));
    CALL(cudaMemcpy2DToArray(array, 0, 0, data.data(), WIDTH * 4, WIDTH * 4, HEIGHT, cudaMemcpyHostToDevice));
    float *linear = on_device(data.size(), data.data()), *out = on_device<float>(result.size());
    cudaResourceDesc resource = {};
    cudaTextureDesc as = {};
    cudaTextureObject_t line = 0;
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = linear;
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = data.size() * 4;
    CALL(cudaCreateTextureObject(&line, &resource, &as, nullptr));
    reads<<<1, dim3(WIDTH, HEIGHT)>>>(texture(array, cudaFilterModePoint), texture(array, cudaFilterModeLinear), line, out);
    to_host(result.data(), out, result.size());
    long wrong = 0;
    auto pixel = [&](int x, int y) {
        x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
        y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
        return data[y * WIDTH + x];
    };
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            float *mine = &result[(y * WIDTH + x) * 8];
            wrong += mine[0] != pixel(x, y);
            wrong += mine[1] != (pixel(x, y) + pixel(x + 1, y)) / 2;
            wrong += mine[2] != pixel(x - 4, y + 20);
            wrong += mine[3] != pixel(x, y);
            wrong += mine[4] != pixel(x, y + 1) || mine[5] != pixel(x + 1, y + 1);
            wrong += mine[6] != pixel(x + 1, y) || mine[7] != pixel(x, y);
        }
    cudaSurfaceObject_t surface;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CALL(cudaCreateSurfaceObject(&surface, &resource));
    writes<<<1, dim3(WIDTH, HEIGHT)>>>(surface);
    CALL(cudaGetLastError());
    CALL(cudaMemcpy2DFromArray(result.data(), WIDTH * 4, array, 0, 0, WIDTH * 4, HEIGHT, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < data.size(); i++)
        wrong += result[i] != data[i] * 2 + 1;
    return finish("textures", wrong);
}
