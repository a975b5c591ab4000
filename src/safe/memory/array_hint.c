/*
 * Why CUDA makes no such array: it says 1 for all of these, so that the safe layer looks for the
 * reason afterwards. The rules are those that tests/conformance/ has seen on GPUs; where none of
 * them is broken, the sentence names what may be.
 */
#include "safe/memory/array_make.h"

static const unsigned all_flags = (unsigned)ACU_ARRAY_LAYERED | (unsigned)ACU_ARRAY_SURFACE |
                                  (unsigned)ACU_ARRAY_CUBE | (unsigned)ACU_ARRAY_GATHER |
                                  (unsigned)ACU_ARRAY_COLOR_ATTACHMENT |
                                  (unsigned)ACU_ARRAY_SPARSE | (unsigned)ACU_ARRAY_DEFERRED;

static bool has(const acu_array_making *m, enum acu_array_flag flag) {
    return acu_has(m->flags, (unsigned)flag);
}

/* ---- each returns whether it gave the hint ---- */

static bool hint_at_cube(const acu_array_making *m) {
    const acu_extent e = m->extent;
    if (!has(m, ACU_ARRAY_CUBE))
        return false;
    if (e.width != e.height)
        acu_fail_hint("a cube has square faces, but the width is %zu and the height %zu", e.width,
                      e.height);
    else if (has(m, ACU_ARRAY_LAYERED) && e.depth % 6)
        acu_fail_hint("each layer of a cube is six faces, but the depth is %zu, no multiple of 6",
                      e.depth);
    else if (!has(m, ACU_ARRAY_LAYERED) && e.depth != 6)
        acu_fail_hint("a cube has six faces, but the depth is %zu; ACU_ARRAY_LAYERED is for "
                      "several cubes",
                      e.depth);
    else
        return false;
    return true;
}

static bool hint_at_extent(const acu_array_making *m) {
    const acu_extent e = m->extent;
    if (!e.width)
        acu_fail_hint("the width is 0, but a row has at least one element");
    else if (has(m, ACU_ARRAY_LAYERED) && !e.depth)
        acu_fail_hint("the depth is 0, but with ACU_ARRAY_LAYERED it is the number of layers");
    else if (e.depth && !e.height && !has(m, ACU_ARRAY_LAYERED) && !has(m, ACU_ARRAY_CUBE))
        acu_fail_hint("the height is 0, which means one dimension, but the depth is %zu; with "
                      "ACU_ARRAY_LAYERED it would be the number of layers",
                      e.depth);
    else
        return hint_at_cube(m);
    return true;
}

/* Returns the name of a flag that does not go with ACU_ARRAY_SPARSE; NULL if there is none. */
static const char *never_sparse(const acu_array_making *m) {
    return has(m, ACU_ARRAY_DEFERRED)  ? "ACU_ARRAY_DEFERRED"
           : has(m, ACU_ARRAY_SURFACE) ? "ACU_ARRAY_SURFACE"
           : has(m, ACU_ARRAY_CUBE)    ? "ACU_ARRAY_CUBE"
                                       : NULL;
}

static bool hint_at_flags(const acu_array_making *m) {
    const acu_extent e = m->extent;
    if (m->flags & ~all_flags)
        acu_fail_hint("'flags' has 0x%x, which is no acu_array_flag", m->flags & ~all_flags);
    else if (has(m, ACU_ARRAY_GATHER) && (!e.height || e.depth))
        acu_fail_hint("ACU_ARRAY_GATHER is for two dimensions, without layers");
    else if (has(m, ACU_ARRAY_SPARSE) && never_sparse(m))
        acu_fail_hint("ACU_ARRAY_SPARSE and %s exclude each other", never_sparse(m));
    else if (has(m, ACU_ARRAY_SPARSE) && !e.height)
        acu_fail_hint("ACU_ARRAY_SPARSE is for two and three dimensions, but the height is 0");
    else
        return false;
    return true;
}

/* ---- limits of the device ---- */

/* The attributes of a device that limit an extent; NONE: there is none. */
typedef struct limits {
    int width, height, depth;
} limits;

enum { NONE = 0 };

static limits limits_of(const acu_array_making *m) {
    const acu_extent e = m->extent;
    const bool layered = has(m, ACU_ARRAY_LAYERED);
    if (has(m, ACU_ARRAY_CUBE))
        return layered ? (limits){cudaDevAttrMaxTextureCubemapLayeredWidth, NONE,
                                  cudaDevAttrMaxTextureCubemapLayeredLayers}
                       : (limits){cudaDevAttrMaxTextureCubemapWidth, NONE, NONE};
    if (layered)
        return e.height ? (limits){cudaDevAttrMaxTexture2DLayeredWidth,
                                   cudaDevAttrMaxTexture2DLayeredHeight,
                                   cudaDevAttrMaxTexture2DLayeredLayers}
                        : (limits){cudaDevAttrMaxTexture1DLayeredWidth, NONE,
                                   cudaDevAttrMaxTexture1DLayeredLayers};
    if (e.depth)
        return (limits){cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight,
                        cudaDevAttrMaxTexture3DDepth};
    if (has(m, ACU_ARRAY_GATHER))
        return (limits){cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight,
                        NONE};
    return e.height ? (limits){cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight, NONE}
                    : (limits){cudaDevAttrMaxTexture1DWidth, NONE, NONE};
}

/* Asks CUDA only after a failure, whose record stays. */
static bool hint_at_limit(const acu_array_making *m, const char *name, size_t size, int attribute) {
    acu_saved_record failure;
    int most = 0;
    if (!attribute)
        return false;
    acu_record_save(&failure);
    const int code = (int)cudaDeviceGetAttribute(&most, (enum cudaDeviceAttr)attribute,
                                                 m->stream->object.device);
    acu_record_restore(&failure);
    if (code || size <= (size_t)most)
        return false;
    acu_fail_hint("the %s is %zu, but the device has such arrays up to %d", name, size, most);
    return true;
}

static bool hint_at_limits(const acu_array_making *m) {
    const limits most = limits_of(m);
    return hint_at_limit(m, "width", m->extent.width, most.width) ||
           hint_at_limit(m, "height", m->extent.height, most.height) ||
           hint_at_limit(m, "depth", m->extent.depth, most.depth);
}

void acu_array_hint(const acu_array_making *m, int code) {
    if (code != cudaErrorInvalidValue || hint_at_extent(m) || hint_at_flags(m) || hint_at_limits(m))
        return;
    acu_fail_hint("the extent may be too large for surfaces or the format, and not all flags go "
                  "with each other or with each format");
}
