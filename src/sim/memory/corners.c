/* The texels that are mixed, and their weights. */
#include "sim/memory/corners.h"

#include "sim/memory/array.h"
#include "sim/memory/border.h"
#include "sim/memory/coordinate.h"
#include "sim/memory/face.h"

unsigned acu_sim_dimensions(acu_sim_geometry geometry) {
    static const unsigned char of[] = {[ACU_SIM_1D] = 1,          [ACU_SIM_2D] = 2,
                                       [ACU_SIM_3D] = 3,          [ACU_SIM_1D_LAYERED] = 1,
                                       [ACU_SIM_2D_LAYERED] = 2,  [ACU_SIM_CUBE] = 2,
                                       [ACU_SIM_CUBE_LAYERED] = 2};
    return of[geometry];
}

bool acu_sim_is_cube(acu_sim_geometry geometry) {
    return geometry == ACU_SIM_CUBE || geometry == ACU_SIM_CUBE_LAYERED;
}

size_t acu_sim_slice(const acu_sim_image *image, acu_sim_geometry geometry, unsigned layer,
                     unsigned face) {
    const bool layered = geometry == ACU_SIM_1D_LAYERED || geometry == ACU_SIM_2D_LAYERED ||
                         geometry == ACU_SIM_CUBE_LAYERED;
    if (!layered)
        return image->first_layer + face;
    const unsigned faces = acu_sim_is_cube(geometry) ? 6 : 1;
    const unsigned count = image->layer_count / faces;
    const size_t from = count ? layer < count ? layer : count - 1 : 0;
    return image->first_layer + from * faces + face;
}

/* Returns in how many directions texels are mixed. A texture of one dimension is one row of a
 * texture of two, which is read at its upper edge: where the second address mode is the border,
 * half of that is mixed in. */
static unsigned mixed_dimensions(const acu_sim_texture *t, acu_sim_geometry geometry) {
    return geometry == ACU_SIM_1D && t->texture.addressMode[1] == cudaAddressModeBorder
               ? 2
               : acu_sim_dimensions(geometry);
}

void acu_sim_corners_weigh(int weights[4], int all, int x, int y) {
    const int second = acu_sim_product(x, all), first = all - second;
    weights[3] = acu_sim_product(second, y);
    weights[1] = second - weights[3];
    weights[2] = acu_sim_product_down(first, y);
    weights[0] = first - weights[2];
}

/* Sets those of a cube, which is two squares. */
static void set_cube(int weights[8], int all, int x, int y, int z) {
    const int second = acu_sim_product_down(z, all);
    acu_sim_corners_weigh(weights, all - second, x, y);
    acu_sim_corners_weigh(weights + 4, second, x, y);
}

/* Notes which corners have a weight: the second one of each direction has none where the first one
 * has all. */
static void set_counts(acu_sim_corners *c, const acu_sim_axis axes[3]) {
    for (unsigned k = 0; k < c->count; k++)
        c->counts[k] = (!(k & 1) || axes[0].weight) && (!(k & 2) || axes[1].weight) &&
                       (!(k & 4) || axes[2].weight);
}

/* Divides the weight of a corner that is missing between the others. */
static void divide_missing(acu_sim_corners *c, int missing) {
    const int third = (c->weight[missing] + 1) / 3;
    c->weight[missing ^ 1] += third;
    c->weight[missing ^ 2] += third;
    c->weight[missing ^ 3] += c->weight[missing] - 2 * third;
    c->weight[missing] = 0;
    for (int i = 0; i < 4; i++)
        c->counts[i] = c->counts[i] || c->weight[i];
    c->counts[missing] = true; /* as a 0 that is not negative */
    c->texel[missing] = (acu_sim_texel){{0}};
}

/* Returns whether the square reaches beyond both an edge of x and one of y. */
static bool is_at_corner(const acu_sim_axis axes[2], long long size) {
    return (axes[0].first < 0 || axes[0].first >= size - 1) &&
           (axes[1].first < 0 || axes[1].first >= size - 1);
}

/* Brings a sample that is further beyond an edge to the first texel there. */
static void clamp_to_edge(acu_sim_axis *a, long long size) {
    const long long first = a->first < -1 ? -1 : a->first > size - 1 ? size - 1 : a->first;
    a->weight = a->first < first ? 0 : a->first > first ? ACU_SIM_ONE : a->weight;
    a->first = first;
}

/* Reads the corners of a square across the edges of a cube's faces. At a cube's corner there are
 * three texels, and a sample along a footprint comes no further beyond it. */
static void read_seamless(const acu_sim_image *image, const acu_sim_place *place, unsigned level,
                          acu_sim_share of, acu_sim_corners *c) {
    const acu_sim_size size = acu_sim_image_size(image, level);
    const long long n = (long long)size.width;
    float at[3] = {place->at[0], place->at[1], place->at[2]};
    const unsigned face = acu_sim_face_choose(at);
    acu_sim_axis axes[3] = {{0, {0, 0}, 0, {false, false}}};
    int missing = -1;
    acu_sim_face_place(face, at);
    for (int i = 0; i < 2; i++) /* in a border nothing is brought back */
        axes[i] = acu_sim_axis_on_side(at[i], place->beside[i], size.width, cudaAddressModeBorder);
    for (int i = 0, corner = is_at_corner(axes, n); corner && i < 2; i++)
        clamp_to_edge(&axes[i], n);
    c->count = 4;
    acu_sim_corners_weigh(c->weight, acu_sim_share_weight(of), axes[0].weight, axes[1].weight);
    set_counts(c, axes);
    for (int k = 0; k < 4; k++) {
        long long x = axes[0].first + (k & 1), y = axes[1].first + (k >> 1);
        const bool beyond_x = x < 0 || x >= n, beyond_y = y < 0 || y >= n;
        unsigned on = face;
        if (beyond_x && beyond_y) {
            missing = k;
            continue;
        }
        if (beyond_x || beyond_y)
            acu_sim_face_cross(n, &on, &x, &y);
        c->texel[k] = acu_sim_image_texel(image, level, (size_t)x, (size_t)y,
                                          acu_sim_slice(image, place->geometry, place->layer, on));
    }
    if (missing >= 0)
        divide_missing(c, missing);
}

/* Sets the texels and the weights of the corners of a square or a cube, or of two texels. */
static void read_mixed(const acu_sim_texture *t, const acu_sim_image *image,
                       const acu_sim_place *place, const acu_sim_axis axes[3], size_t slice,
                       unsigned level, acu_sim_corners *c) {
    const unsigned dimensions = mixed_dimensions(t, place->geometry);
    c->count = 1u << dimensions;
    set_counts(c, axes);
    for (unsigned k = 0; k < c->count; k++) {
        bool outside = false;
        size_t where[3] = {0, 0, slice};
        for (unsigned i = 0; i < dimensions; i++) {
            const unsigned side = k >> i & 1;
            where[i] = (size_t)axes[i].texel[side];
            outside = outside || axes[i].is_outside[side];
        }
        c->texel[k] = outside ? acu_sim_border_of(t, image)
                              : acu_sim_image_texel(image, level, where[0], where[1], where[2]);
    }
}

/* Brings the coordinates onto a level's texels: those of a cube onto a face. Returns the slice. */
static size_t prepare(const acu_sim_image *image, const acu_sim_place *place, float at[3]) {
    unsigned face = 0;
    at[0] = place->at[0];
    at[1] = place->geometry == ACU_SIM_1D ? 0 : place->at[1];
    at[2] = place->at[2];
    if (acu_sim_is_cube(place->geometry)) {
        face = acu_sim_face_choose(at);
        acu_sim_face_place(face, at);
    }
    return acu_sim_slice(image, place->geometry, place->layer, face);
}

static acu_sim_texel read_face_point(const acu_sim_texture *t, const acu_sim_image *image,
                                     const acu_sim_place *place, unsigned level) {
    const size_t size = acu_sim_image_size(image, level).width;
    float at[3] = {place->at[0], place->at[1], place->at[2]};
    const unsigned face = acu_sim_face_choose(at);
    bool outside = false;
    size_t where[2];
    acu_sim_face_place(face, at);
    for (unsigned i = 0; i < 2; i++)
        where[i] = acu_sim_point_on_side(at[i], place->beside[i], size,
                                         t->texture.seamlessCubemap ? cudaAddressModeClamp
                                                                    : t->texture.addressMode[i],
                                         &outside);
    return outside ? acu_sim_border_of(t, image)
                   : acu_sim_image_texel(image, level, where[0], where[1],
                                         acu_sim_slice(image, place->geometry, place->layer, face));
}

acu_sim_texel acu_sim_corners_read_point(const acu_sim_texture *t, const acu_sim_image *image,
                                         const acu_sim_place *place, unsigned level) {
    if (acu_sim_is_cube(place->geometry))
        return read_face_point(t, image, place, level);
    const acu_sim_size size = acu_sim_image_size(image, level);
    const size_t sizes[3] = {size.width, size.height, size.depth};
    float at[3];
    size_t where[3] = {0, 0, prepare(image, place, at)};
    bool outside = false;
    for (unsigned i = 0; i < acu_sim_dimensions(place->geometry); i++)
        where[i] = acu_sim_point_on(at[i], place->beside[i], sizes[i], t->texture.addressMode[i],
                                    t->texture.normalizedCoords != 0, &outside);
    return outside ? acu_sim_border_of(t, image)
                   : acu_sim_image_texel(image, level, where[0], where[1], where[2]);
}

void acu_sim_corners_read(const acu_sim_texture *t, const acu_sim_image *image,
                          const acu_sim_place *place, unsigned level, bool mixes, acu_sim_share of,
                          acu_sim_corners *c) {
    if (!mixes) {
        c->count = 1;
        c->weight[0] = acu_sim_share_weight(of);
        c->counts[0] = true;
        c->texel[0] = acu_sim_corners_read_point(t, image, place, level);
        return;
    }
    if (t->texture.seamlessCubemap && acu_sim_is_cube(place->geometry)) {
        read_seamless(image, place, level, of, c);
        return;
    }
    const acu_sim_size size = acu_sim_image_size(image, level);
    const size_t sizes[3] = {size.width, size.height, size.depth};
    float at[3];
    const size_t slice = prepare(image, place, at);
    acu_sim_axis axes[3] = {{0, {0, 0}, 0, {false, false}}};
    for (unsigned i = 0; i < mixed_dimensions(t, place->geometry); i++)
        axes[i] =
            acu_sim_is_cube(place->geometry)
                ? acu_sim_axis_on_side(at[i], place->beside[i], sizes[i], t->texture.addressMode[i])
                : acu_sim_axis_on(at[i], place->beside[i], sizes[i], t->texture.addressMode[i],
                                  t->texture.normalizedCoords != 0);
    if (mixed_dimensions(t, place->geometry) == 3)
        set_cube(c->weight, acu_sim_share_weight(of), axes[0].weight, axes[1].weight,
                 axes[2].weight);
    else
        acu_sim_corners_weigh(c->weight, acu_sim_share_weight(of), axes[0].weight, axes[1].weight);
    read_mixed(t, image, place, axes, slice, level, c);
}
