/* Tensor maps: what the driver takes, and what it answers where the documentation forbids
 * something, which no GPU has said yet. */
#include "kernels.h"

/* A tensor of 64 x 32 floats, of which a case changes a part. */
typedef struct tensor {
    CUtensorMapDataType type;
    cuuint32_t rank;
    cuuint64_t shape[3], strides[2];
    cuuint32_t box[3], steps[3];
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
    size_t at; /* bytes from the memory's beginning */
} tensor;

static const tensor right = {.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                             .rank = 2,
                             .shape = {64, 32, 1},
                             .strides = {256, 8192},
                             .box = {8, 8, 1},
                             .steps = {1, 1, 1}};
static CUtensorMap map;
static char *memory;

static CUresult encode(const tensor *t) {
    return cuTensorMapEncodeTiled(&map, t->type, t->rank, memory + t->at, t->shape, t->strides,
                                  t->box, t->steps, t->interleave, t->swizzle, t->promotion,
                                  t->fill);
}

/* Returns whether the device and its driver have tensor maps; else the case is skipped. */
static bool begin(void) {
    struct cudaDeviceProp device;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major < 9 ||
        driver() < 12000) {
        skip("needs compute capability 9.0 and a driver 12.0");
        return false;
    }
    return cudaMalloc((void **)&memory, 8192 + 64) == cudaSuccess;
}

CASE(tiles) {
    if (!begin())
        return;
    tensor t = right;
    OK(encode(&t));
    OK(cuTensorMapReplaceAddress(&map, memory + 16));
    t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
    t.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    OK(encode(&t));
    t = right;
    t.rank = 3;
    t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
    OK(encode(&t));
    t.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
    t.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
    OK(encode(&t));
    t = right;
    t.rank = 1;
    OK(encode(&t));
    OK(cudaFree(memory));
}

CASE(columns_of_pixels) {
    const cuuint64_t shape[] = {8, 8, 8}, strides[] = {32, 256};
    const cuuint32_t steps[] = {1, 1, 1};
    const int lower[] = {-1}, upper[] = {1};
    if (!begin())
        return;
    OK(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, memory, shape, strides,
                               lower, upper, 8, 16, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    if (driver() >= 12080)
        OK(cuTensorMapEncodeIm2colWide(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, memory, shape,
                                       strides, -1, 1, 8, 16, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                       CU_TENSOR_MAP_IM2COL_WIDE_MODE_W, CU_TENSOR_MAP_SWIZZLE_64B,
                                       CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    OK(cudaFree(memory));
}

/* Each tensor breaks one rule. */
CASE(what_the_documentation_forbids) {
    tensor wrong[14];
    const size_t count = sizeof wrong / sizeof *wrong;
    if (!begin())
        return;
    for (size_t i = 0; i < count; i++)
        wrong[i] = right;
    wrong[0].rank = 0;
    wrong[1].rank = 6;
    wrong[2].at = 4;
    wrong[3].shape[1] = 0;
    wrong[4].strides[0] = 264;
    wrong[5].strides[0] = (cuuint64_t)1 << 40u;
    wrong[6].strides[0] = 240; /* rows lie over each other */
    wrong[7].box[1] = 0;
    wrong[8].box[1] = 257;
    wrong[9].box[0] = 6; /* no multiple of 16 bytes */
    wrong[10].steps[1] = 9;
    wrong[11].swizzle = CU_TENSOR_MAP_SWIZZLE_32B; /* a tile of more than 32 bytes */
    wrong[11].box[0] = 16;
    wrong[12].interleave = CU_TENSOR_MAP_INTERLEAVE_16B; /* of two dimensions */
    wrong[13].type = CU_TENSOR_MAP_DATA_TYPE_INT32;      /* NaN of integers */
    wrong[13].fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    for (size_t i = 0; i < count; i++)
        ASK(encode(&wrong[i]));
    ASK(cuTensorMapReplaceAddress(&map, memory + 4));
    ASK(cuTensorMapReplaceAddress(&map, NULL));
    OK(cudaFree(memory));
}
