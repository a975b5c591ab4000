/* DLPack: types of elements, and names of devices. */
#include "types/dlpack.h"

#include "core/fail.h"
#include "types/dtype.h"

/* DLPack's codes (DLDataTypeCode), by their numbers. */
enum { INT, UINT, FLOAT, HANDLE, BFLOAT, COMPLEX, BOOL, F8_E4M3FN = 10, F8_E5M2 = 12 };

static const char *const codes[] = {
    "int",
    "uint",
    "float",
    "handle",
    "bfloat",
    "complex",
    "bool",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
};

static const struct {
    acu_dtype dtype;
    uint8_t code, bits;
} types[] = {
    {ACU_F64, FLOAT, 64},   {ACU_F32, FLOAT, 32},        {ACU_F16, FLOAT, 16},
    {ACU_BF16, BFLOAT, 16}, {ACU_F8_E4M3, F8_E4M3FN, 8}, {ACU_F8_E5M2, F8_E5M2, 8},
    {ACU_I8, INT, 8},       {ACU_I16, INT, 16},          {ACU_I32, INT, 32},
    {ACU_I64, INT, 64},     {ACU_U8, UINT, 8},           {ACU_U16, UINT, 16},
    {ACU_U32, UINT, 32},    {ACU_U64, UINT, 64},         {ACU_BOOL, BOOL, 8},
    {ACU_C64, COMPLEX, 64}, {ACU_C128, COMPLEX, 128},
};

enum { TYPES = sizeof types / sizeof types[0], CODES = sizeof codes / sizeof codes[0] };

int acu_dlpack_from_dtype(const char *call, acu_dtype dtype, acu_dlpack_dtype *theirs) {
    const size_t bytes = acu_dtype_size(dtype);
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype) {
            *theirs = (acu_dlpack_dtype){types[i].code, types[i].bits, 1};
            return 0;
        }
    if (bytes == 0)
        return acu_refuse_dtype(call, dtype);
    if (acu_dtype_find_registered(dtype))
        return acu_fail(call, "", ACU_ERROR_DTYPE,
                        "DLPack has no type for %s, which this program registered",
                        acu_dtype_name(dtype));
    if (bytes > UINT16_MAX)
        return acu_fail(call, "", ACU_ERROR_DTYPE,
                        "DLPack has no type for %s: a vector has at most %d lanes",
                        acu_dtype_name(dtype), UINT16_MAX);
    *theirs = (acu_dlpack_dtype){UINT, 8, (uint16_t)bytes};
    return 0;
}

static acu_dtype find_type(uint8_t code, uint8_t bits) {
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].code == code && types[i].bits == bits)
            return types[i].dtype;
    return ACU_ANY;
}

/* Records why there is no such type; returns the code. */
ACU_COLD static int refuse_type(const char *call, acu_dlpack_dtype theirs) {
    const char *name = theirs.code < CODES ? codes[theirs.code] : "an unknown code";
    if (theirs.bits % 8 != 0)
        return acu_fail(call, "", ACU_ERROR_DTYPE,
                        "the tensor's elements have %d bits (%s, %d): a buffer has elements of "
                        "whole bytes",
                        theirs.bits, name, theirs.code);
    acu_fail_hint("let the exporter show the tensor as unsigned integers of the same size");
    return acu_fail(call, "", ACU_ERROR_DTYPE,
                    "there is no type for the tensor's elements: %s (%d) of %d bits, %d lanes",
                    name, theirs.code, theirs.bits, theirs.lanes);
}

int acu_dlpack_to_dtype(const char *call, acu_dlpack_dtype theirs, acu_dtype *dtype) {
    const acu_dtype lane = find_type(theirs.code, theirs.bits);
    if (lane == ACU_ANY || theirs.lanes == 0)
        return refuse_type(call, theirs);
    *dtype = theirs.lanes == 1 ? lane : ACU_BYTES(acu_dtype_size(lane) * theirs.lanes);
    return 0;
}

/* ---- devices ---- */

static const char *const devices[] = {
    [1] = "the CPU",
    [2] = "CUDA",
    [3] = "pinned memory of CUDA",
    [4] = "OpenCL",
    [7] = "Vulkan",
    [8] = "Metal",
    [9] = "VPI",
    [10] = "ROCm",
    [11] = "ROCm",
    [13] = "managed memory of CUDA",
    [14] = "oneAPI",
    [15] = "WebGPU",
    [16] = "Hexagon",
    [17] = "MAIA",
    [18] = "Trainium",
};

const char *acu_dlpack_device_name(int type) {
    const size_t known = sizeof devices / sizeof devices[0];
    const char *name = type >= 0 && (size_t)type < known ? devices[type] : NULL;
    return name ? name : "an unknown one";
}
