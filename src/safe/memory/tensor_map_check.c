/* What CUDA asks of a tensor map, as its documentation has it, rule by rule: CUDA itself returns
 * "invalid value" for all of them. */
#include "safe/memory/region.h"
#include "safe/memory/tensor_map.h"

#include <anycuda/cuda_types.h>

#include <string.h>

/* What is checked, and for whom. */
typedef struct check {
    const char *call;
    const acu_buffer *buffer;
    const acu_tensor *t;
    unsigned bits; /* of an element */
} check;

#define REFUSE(c, ...) acu_fail_on((c)->call, (c)->buffer, ACU_ERROR_ARGUMENT, __VA_ARGS__)
/* Returns from a check where the rule is broken. */
#define RULE(c, condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return REFUSE(c, __VA_ARGS__);                                                         \
    } while (0)

/* ---- elements ---- */

int acu_tensor_map_type(const acu_buffer *buffer, acu_tensor_elements elements) {
    static const struct {
        acu_dtype dtype;
        CUtensorMapDataType type;
    } types[] = {
        {ACU_U8, CU_TENSOR_MAP_DATA_TYPE_UINT8},      {ACU_I8, CU_TENSOR_MAP_DATA_TYPE_UINT8},
        {ACU_BOOL, CU_TENSOR_MAP_DATA_TYPE_UINT8},    {ACU_F8_E4M3, CU_TENSOR_MAP_DATA_TYPE_UINT8},
        {ACU_F8_E5M2, CU_TENSOR_MAP_DATA_TYPE_UINT8}, {ACU_U16, CU_TENSOR_MAP_DATA_TYPE_UINT16},
        {ACU_I16, CU_TENSOR_MAP_DATA_TYPE_UINT16},    {ACU_U32, CU_TENSOR_MAP_DATA_TYPE_UINT32},
        {ACU_I32, CU_TENSOR_MAP_DATA_TYPE_INT32},     {ACU_U64, CU_TENSOR_MAP_DATA_TYPE_UINT64},
        {ACU_I64, CU_TENSOR_MAP_DATA_TYPE_INT64},     {ACU_F16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
        {ACU_BF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16}, {ACU_F32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
        {ACU_F64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
    };
    static const int others[] = {
        [ACU_TENSOR_F32_FTZ] = CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ,
        [ACU_TENSOR_TF32] = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32,
        [ACU_TENSOR_TF32_FTZ] = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ,
        [ACU_TENSOR_U4] = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B,
        [ACU_TENSOR_U4_ALIGN16B] = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B,
        [ACU_TENSOR_U6_ALIGN16B] = CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B,
    };
    if (elements != ACU_TENSOR_AS_BUFFER)
        return others[elements];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == buffer->dtype)
            return (int)types[i].type;
    return -1;
}

static bool is_packed(const acu_tensor *t) {
    return t->elements >= ACU_TENSOR_U4;
}

/* Returns whether 16 elements become 16 bytes, for which rules of their own hold. */
static bool is_spread(const acu_tensor *t) {
    return t->elements == ACU_TENSOR_U4_ALIGN16B || t->elements == ACU_TENSOR_U6_ALIGN16B;
}

static bool is_float(const check *c) {
    const acu_dtype dtype = c->buffer->dtype;
    return !is_packed(c->t) &&
           (dtype == ACU_F16 || dtype == ACU_BF16 || dtype == ACU_F32 || dtype == ACU_F64);
}

static int check_elements(check *c) {
    const acu_tensor *t = c->t;
    RULE(c, (unsigned)t->elements <= ACU_TENSOR_U6_ALIGN16B, "%d is no kind of elements",
         (int)t->elements);
    const size_t size = acu_dtype_size(c->buffer->dtype);
    const bool fits = t->elements == ACU_TENSOR_AS_BUFFER ? acu_tensor_map_type(c->buffer, 0) >= 0
                      : is_packed(t)                      ? size == 1
                                                          : c->buffer->dtype == ACU_F32;
    if (!fits)
        return acu_fail_on(c->call, c->buffer, ACU_ERROR_DTYPE,
                           "there are no tensor maps %s of a buffer of %s",
                           is_packed(t)  ? "of packed elements"
                           : t->elements ? "of a kind of f32"
                                         : "",
                           acu_dtype_name(c->buffer->dtype));
    c->bits = t->elements == ACU_TENSOR_U6_ALIGN16B ? 6 : is_packed(t) ? 4 : 8 * (unsigned)size;
    return 0;
}

/* ---- the tensor ---- */

static int check_modes(const check *c) {
    const acu_tensor *t = c->t;
    const unsigned least =
        t->mode != ACU_TENSOR_TILED || t->interleave != ACU_TENSOR_INTERLEAVE_NONE ? 3 : 1;
    RULE(c, (unsigned)t->mode <= ACU_TENSOR_IM2COL_WIDE, "%d is no mode", (int)t->mode);
    RULE(c, (unsigned)t->interleave <= ACU_TENSOR_INTERLEAVE_32B, "%d is no interleaving",
         (int)t->interleave);
    RULE(c, (unsigned)t->swizzle <= ACU_TENSOR_SWIZZLE_128B_ATOM_64B, "%d is no swizzling",
         (int)t->swizzle);
    RULE(c, (unsigned)t->promotion <= ACU_TENSOR_PROMOTION_256B, "%d is no promotion",
         (int)t->promotion);
    RULE(c, t->rank >= least && t->rank <= ACU_TENSOR_MAX_RANK,
         "the rank is %u: %s tensor maps have %u to 5 dimensions", t->rank,
         t->mode != ACU_TENSOR_TILED ? "im2col"
         : least > 1                 ? "interleaved"
                                     : "tiled",
         least);
    RULE(c, !t->fill_nan || is_float(c), "'fill_nan' is for floating-point numbers");
    return 0;
}

/* What is set and not used was meant in another way: a forgotten rank or mode. */
static int check_unused(const check *c) {
    const acu_tensor *t = c->t;
    const bool tiled = t->mode == ACU_TENSOR_TILED;
    for (unsigned i = t->rank; i < ACU_TENSOR_MAX_RANK; i++)
        RULE(c, t->shape[i] <= 1 && t->box[i] <= 1,
             "shape[%u] or box[%u] is set, but the rank is %u", i, i, t->rank);
    RULE(c, !tiled || (!t->channels && !t->pixels && !t->w128),
         "'channels', 'pixels' and 'w128' are of im2col maps, but 'mode' is %d", (int)t->mode);
    RULE(c, tiled || !t->box[0], "'box' is of tiled maps, but 'mode' is %d", (int)t->mode);
    return 0;
}

static int check_shape(const check *c) {
    const acu_tensor *t = c->t;
    for (unsigned i = 0; i < t->rank; i++) {
        RULE(c, t->shape[i] > 0 && t->shape[i] <= (uint64_t)1 << 31u,
             "shape[%u] is %llu: it must be 1 to 2^31", i, (unsigned long long)t->shape[i]);
        RULE(c, t->steps[i] <= 8, "steps[%u] is %u: it can be 8 at most", i, t->steps[i]);
    }
    RULE(c, !is_spread(t) || t->shape[0] % 128 == 0,
         "shape[0] is %llu: of these elements it must be a multiple of 128",
         (unsigned long long)t->shape[0]);
    RULE(c, t->elements != ACU_TENSOR_U4 || t->shape[0] % 2 == 0,
         "shape[0] is %llu: of elements of 4 bits it must be even",
         (unsigned long long)t->shape[0]);
    return 0;
}

/* Returns what addresses and strides must be multiples of. */
static unsigned alignment_of(const acu_tensor *t) {
    return t->interleave == ACU_TENSOR_INTERLEAVE_32B || is_spread(t) ? 32 : 16;
}

/* Returns the bits that lie together at a place of the first dimension: an element; or, of
 * interleaved channels, where that dimension is W, 16 or 32 bytes of them. */
static unsigned unit_of(const acu_tensor *t, unsigned bits) {
    const bool interleaved = t->mode == ACU_TENSOR_TILED && t->interleave;
    return !interleaved ? bits : t->interleave == ACU_TENSOR_INTERLEAVE_16B ? 128 : 256;
}

/* Returns how many strides of a dimension a tensor has: of interleaved channels, the last dimension
 * but one, as many as there are units. */
static uint64_t places_of(const acu_tensor *t, unsigned bits, unsigned i) {
    const unsigned unit = unit_of(t, bits);
    return unit != bits && i + 2 == t->rank ? (t->shape[i] * bits + unit - 1) / unit : t->shape[i];
}

static int check_strides(const check *c) {
    const acu_tensor *t = c->t;
    const unsigned alignment = alignment_of(t);
    uint64_t least = (t->shape[0] * unit_of(t, c->bits) + 7) / 8;
    for (unsigned i = 0; i + 1 < t->rank; i++) {
        RULE(c, t->strides[i] % alignment == 0 && t->strides[i] < (uint64_t)1 << 40u,
             "strides[%u] is %llu bytes: it must be a multiple of %u, and less than 2^40", i,
             (unsigned long long)t->strides[i], alignment);
        RULE(c, t->strides[i] >= least, "strides[%u] is %llu bytes: dimension %u alone takes %llu",
             i, (unsigned long long)t->strides[i], i, (unsigned long long)least);
        least = t->strides[i];
    }
    return 0;
}

/* ---- tiles ---- */

/* Returns how many bytes the inner dimension of a tile can have for this swizzling. */
static unsigned most_inner(acu_tensor_swizzle swizzle) {
    return swizzle == ACU_TENSOR_SWIZZLE_32B ? 32 : swizzle == ACU_TENSOR_SWIZZLE_64B ? 64 : 128;
}

/* Checks the inner dimension of a tile, `what`. */
static int check_inner(const check *c, const char *what, unsigned elements) {
    const acu_tensor *t = c->t;
    const unsigned bits = elements * c->bits;
    RULE(c, !is_spread(t) || elements == 128, "%s is %u: of these elements it must be 128", what,
         elements);
    RULE(c, bits % 128 == 0, "%s is %u elements, or %u bits: it must be a multiple of 16 bytes",
         what, elements, bits); /* a driver wants that of interleaved channels, too */
    if (t->interleave != ACU_TENSOR_INTERLEAVE_NONE)
        return 0;
    RULE(c,
         t->swizzle == ACU_TENSOR_SWIZZLE_NONE || is_spread(t) ||
             bits / 8 <= most_inner(t->swizzle),
         "%s is %u bytes: with this swizzling it can be %u at most", what, bits / 8,
         most_inner(t->swizzle));
    return 0;
}

static int check_swizzle(const check *c) {
    const acu_tensor *t = c->t;
    const acu_tensor_swizzle s = t->swizzle;
    const bool wide = t->mode == ACU_TENSOR_IM2COL_WIDE;
    RULE(c, t->interleave != ACU_TENSOR_INTERLEAVE_32B || s == ACU_TENSOR_SWIZZLE_32B,
         "with ACU_TENSOR_INTERLEAVE_32B the swizzling must be ACU_TENSOR_SWIZZLE_32B");
    RULE(c,
         !wide || s == ACU_TENSOR_SWIZZLE_64B || s == ACU_TENSOR_SWIZZLE_128B ||
             s == ACU_TENSOR_SWIZZLE_128B_ATOM_32B,
         "wide im2col needs a swizzling of 64 bytes, of 128, or of 128 in pieces of 32");
    if (!is_spread(t))
        return 0;
    RULE(c, t->interleave == ACU_TENSOR_INTERLEAVE_NONE, "these elements cannot be interleaved");
    RULE(c,
         s == ACU_TENSOR_SWIZZLE_NONE || s == ACU_TENSOR_SWIZZLE_128B ||
             s == ACU_TENSOR_SWIZZLE_128B_ATOM_32B ||
             (t->elements == ACU_TENSOR_U6_ALIGN16B &&
              (s == ACU_TENSOR_SWIZZLE_128B_ATOM_64B || (wide && s == ACU_TENSOR_SWIZZLE_64B))),
         "these elements cannot have the swizzling %d", (int)s);
    return 0;
}

static int check_box(const check *c) {
    const acu_tensor *t = c->t;
    for (unsigned i = 0; i < t->rank; i++)
        RULE(c, t->box[i] >= 1 && t->box[i] <= 256, "box[%u] is %u: it must be 1 to 256", i,
             t->box[i]);
    return check_inner(c, "box[0]", t->box[0]);
}

/* Checks an offset of a corner, of which more dimensions leave fewer bits. */
static int check_offset(const check *c, const char *which, unsigned i, int offset) {
    static const int most[] = {32767, 127, 15};
    const bool wide = c->t->mode == ACU_TENSOR_IM2COL_WIDE;
    const int limit = most[wide ? 0 : c->t->rank - 3];
    RULE(c, offset >= -limit - 1 && offset <= limit, "%s[%u] is %d: it must be %d to %d", which, i,
         offset, -limit - 1, limit);
    return 0;
}

static int check_pixels(const check *c) {
    const acu_tensor *t = c->t;
    const bool wide = t->mode == ACU_TENSOR_IM2COL_WIDE;
    for (unsigned i = 0; i < (wide ? 1 : t->rank - 2); i++) {
        ACU_TRY(check_offset(c, "lower", i, t->lower[i]));
        ACU_TRY(check_offset(c, "upper", i, t->upper[i]));
        RULE(c, (int64_t)t->shape[1 + i] + t->upper[i] - t->lower[i] > 0,
             "the box of pixels is empty: lower[%u] is %d, and upper[%u] %d, of %llu", i,
             t->lower[i], i, t->upper[i], (unsigned long long)t->shape[1 + i]);
    }
    RULE(c, t->channels >= 1 && t->channels <= 256, "'channels' is %u: it must be 1 to 256",
         t->channels);
    RULE(c, (wide && t->w128) || (t->pixels >= 1 && t->pixels <= 1024),
         "'pixels' is %u: it must be 1 to 1024", t->pixels);
    return check_inner(c, "'channels'", t->channels);
}

/* A driver takes no tile that has more bytes than a multiprocessor has shared memory (an H200 was
 * asked; its documentation does not say so). A box that is smaller than a step counts as nothing.
 */
static int check_bytes(const check *c) {
    const acu_tensor *t = c->t;
    uint64_t elements = 1;
    int most = 0;
    if (t->mode == ACU_TENSOR_IM2COL_WIDE)
        return 0;
    const int code = (int)cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                                 c->buffer->object.device);
    if (code)
        return acu_cuda_failed_on(c->call, c->buffer, code);
    for (unsigned i = 0; t->mode == ACU_TENSOR_TILED && i < t->rank; i++)
        elements *= t->box[i] / t->steps[i];
    if (t->mode == ACU_TENSOR_IM2COL)
        elements = (uint64_t)t->channels * t->pixels;
    RULE(c, elements * c->bits / 8 <= (uint64_t)most,
         "a tile has %llu bytes: it can have %d at most, the shared memory of a multiprocessor of "
         "device %d",
         (unsigned long long)(elements * c->bits / 8), most, c->buffer->object.device);
    return 0;
}

/* ---- the place ---- */

void *acu_tensor_map_address(const acu_buffer *buffer, const acu_tensor *tensor) {
    return buffer->pointer + tensor->at * acu_dtype_size(buffer->dtype);
}

/* Returns the bytes from the first element to behind the last one; the strides were checked, so
 * that nothing overflows. */
static uint64_t bytes_of(const acu_tensor *t, unsigned bits) {
    uint64_t bytes = (t->shape[0] * unit_of(t, bits) + 7) / 8;
    for (unsigned i = 1; i < t->rank; i++) {
        const uint64_t more = (places_of(t, bits, i) - 1) * t->strides[i - 1];
        bytes = more > UINT64_MAX - bytes ? UINT64_MAX : bytes + more;
    }
    return bytes;
}

int acu_tensor_map_check_place(const char *call, const acu_buffer *buffer, const acu_tensor *t,
                               unsigned bits) {
    const check c = {.call = call, .buffer = buffer, .t = t, .bits = bits};
    const size_t size = acu_dtype_size(buffer->dtype);
    const uint64_t bytes = bytes_of(t, bits), room = (uint64_t)buffer->count * size;
    const uint64_t before = t->at > room / size ? room : t->at * size;
    if (bytes > room - before)
        return acu_fail_on(call, buffer, ACU_ERROR_RANGE,
                           "the tensor has %llu bytes from element %zu on, the buffer %llu",
                           (unsigned long long)bytes, t->at, (unsigned long long)(room - before));
    const uintptr_t address = (uintptr_t)acu_tensor_map_address(buffer, t);
    RULE(&c, address % alignment_of(t) == 0,
         "the tensor begins at an address that is no multiple of %u", alignment_of(t));
    return 0;
}

/* ---- all ---- */

/* Fills in what is 0. */
static void complete(const check *c, acu_tensor *t) {
    const bool pitched = c->buffer->pitched && t->rank > 1;
    uint64_t next = (t->shape[0] * unit_of(t, c->bits) + 7) / 8;
    for (unsigned i = 0; i < ACU_TENSOR_MAX_RANK; i++)
        if (t->steps[i] == 0)
            t->steps[i] = 1;
    for (unsigned i = 0; i + 1 < t->rank; i++) {
        if (t->strides[i] == 0)
            t->strides[i] = i == 0 && pitched ? acu_pitched_layout_of(c->buffer)->row_pitch : next;
        next = t->strides[i] * places_of(t, c->bits, i + 1);
    }
}

int acu_tensor_map_check(const char *call, const acu_buffer *buffer, acu_tensor *tensor,
                         unsigned *bits) {
    check c = {.call = call, .buffer = buffer, .t = tensor};
    ACU_TRY(check_elements(&c));
    ACU_TRY(check_modes(&c));
    ACU_TRY(check_unused(&c));
    ACU_TRY(check_shape(&c));
    complete(&c, tensor);
    ACU_TRY(check_strides(&c));
    ACU_TRY(check_swizzle(&c));
    ACU_TRY(tensor->mode == ACU_TENSOR_TILED ? check_box(&c) : check_pixels(&c));
    ACU_TRY(check_bytes(&c));
    *bits = c.bits;
    return acu_tensor_map_check_place(call, buffer, tensor, c.bits);
}
