/*
 * Where a GPU puts the elements of arrays to which the program maps memory: which tiles they have,
 * and how much memory they need. An H100 with driver 13.0 was asked about 1440 shapes.
 */
#include "sim/memory/array_layout.h"

#include "sim/memory/array.h"

/* How large blocks may be at most, in rows and slices; with no rows: as in arrays without tiles. */
typedef struct limit {
    size_t rows, slices;
} limit;

enum {
    BLOCK_WIDTH = SIM_PIECE_RUN,
    BLOCK_ROWS_LEAST = 8,
    BLOCK_ROWS_MOST = 128,
    BLOCK_SLICES_MOST = 16
};

static size_t rounded(size_t value, size_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Returns the first power of two, from the least one, that is not less than what is needed, or else
 * the most. */
static size_t power_for(size_t needed, size_t least, size_t most) {
    size_t power = least;
    while (power < most && power < needed)
        power *= 2;
    return power;
}

bool acu_sim_array_has_slices(const acu_sim_array *array) {
    return array->extent.depth && !(array->flags & (cudaArrayLayered | cudaArrayCubemap));
}

size_t acu_sim_array_layers(const acu_sim_array *array) {
    return acu_sim_array_has_slices(array) ? 1 : array->depth;
}

/* ---- levels ---- */

/* Returns the most rows of a block, which are few if it has slices. */
static size_t most_rows(size_t slices, limit most) {
    return most.rows ? most.rows : slices == 1 ? BLOCK_ROWS_MOST : BLOCK_ROWS_LEAST;
}

/* Returns how many rows a block has: the last power of two that is not more than the height. */
static size_t rows_for(size_t height, size_t most) {
    return power_for(height / 2 + 1, BLOCK_ROWS_LEAST, most);
}

/* Makes a level one tile of as many blocks as are needed. */
static void place_whole(acu_sim_array *level, limit most) {
    acu_sim_array_place *p = &level->place;
    const size_t slices = acu_sim_array_has_slices(level) ? level->depth : 1;
    p->block_depth = power_for(slices, 1, most.rows ? most.slices : BLOCK_SLICES_MOST);
    p->block_height = rows_for(level->height, most_rows(p->block_depth, most));
    p->width = rounded(level->pitch, BLOCK_WIDTH);
    p->height = rounded(level->height, p->block_height);
    p->depth = rounded(slices, p->block_depth);
    p->columns = p->rows = p->slabs = 1;
}

/* Returns the bytes of a level's layer. */
static size_t layer_size(const acu_sim_array_place *p) {
    return p->columns * p->rows * p->slabs * p->width * p->height * p->depth;
}

/* Lays levels out one behind the other, each as one tile; returns the bytes of a layer of all. */
static size_t place_wholes(acu_sim_array *const *levels, unsigned count, size_t start, limit most) {
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        place_whole(levels[i], most);
        levels[i]->place.start = start + size;
        size += layer_size(&levels[i]->place);
    }
    const acu_sim_array_place *first = &levels[0]->place;
    return acu_sim_array_layers(levels[0]) == 1
               ? size
               : rounded(size, BLOCK_WIDTH * first->block_height * first->block_depth);
}

static void set_layers(acu_sim_array *const *levels, unsigned count, size_t layer) {
    for (unsigned i = 0; i < count; i++)
        levels[i]->place.layer = layer;
}

/* ---- tiles ---- */

/* Halves the longest side of the tile until a piece of memory is large enough for its elements. */
static void shrink_tile(size_t element, unsigned *width, unsigned *height, unsigned *depth) {
    while (element * *width * *height * *depth > SIM_PIECE) {
        unsigned *side = *height >= *width ? height : width;
        if (*depth > 1 && *depth >= *side)
            side = depth;
        *side /= 2;
    }
}

static void choose_tile(const acu_sim_array *level, struct cudaArraySparseProperties *sparse) {
    const bool slices = acu_sim_array_has_slices(level);
    sparse->tileExtent.width = slices ? 64 : 256;
    sparse->tileExtent.height = slices ? 32 : 256;
    sparse->tileExtent.depth = slices ? 32 : 1;
    shrink_tile(level->element, &sparse->tileExtent.width, &sparse->tileExtent.height,
                &sparse->tileExtent.depth);
}

/* Returns whether a level is smaller than a tile, so that it lies in the tail of all such levels.
 */
static bool is_in_tail(const acu_sim_array *level, const struct cudaArraySparseProperties *sparse) {
    return level->width < sparse->tileExtent.width || level->height < sparse->tileExtent.height ||
           (acu_sim_array_has_slices(level) && level->depth < sparse->tileExtent.depth);
}

/* Lays a level out tile by tile, and all layers one behind the other; returns the bytes. */
static size_t place_tiles(acu_sim_array *level, const struct cudaArraySparseProperties *sparse,
                          size_t start) {
    acu_sim_array_place *p = &level->place;
    const size_t width = sparse->tileExtent.width, slices = sparse->tileExtent.depth;
    p->start = start;
    p->tiled = true;
    p->width = width * level->element;
    p->height = sparse->tileExtent.height;
    p->depth = slices;
    p->columns = (level->width + width - 1) / width;
    p->rows = (level->height + p->height - 1) / p->height;
    p->slabs = acu_sim_array_has_slices(level) ? (level->depth + slices - 1) / slices : 1;
    p->block_height = p->height < BLOCK_ROWS_MOST ? p->height : BLOCK_ROWS_MOST;
    p->block_depth = p->depth;
    p->layer = layer_size(p);
    return p->layer * acu_sim_array_layers(level);
}

/* Lays the levels out that are smaller than a tile. If no level is larger, the tail is one for all
 * layers, else each layer has a tail. */
static void place_tail(acu_sim_array *const *levels, unsigned count, bool single,
                       acu_sim_array_shape *shape) {
    const struct cudaArraySparseProperties *sparse = &shape->sparse;
    const size_t layers = acu_sim_array_layers(levels[0]);
    const limit tile = {sparse->tileExtent.height, sparse->tileExtent.depth};
    const size_t layer = place_wholes(levels, count, shape->size, single ? (limit){0} : tile);
    shape->tail = shape->size;
    shape->tail_layers = single ? 1 : layers;
    shape->tail_layer = rounded(single ? layer * layers : layer, SIM_PIECE);
    set_layers(levels, count, single ? layer : shape->tail_layer);
    shape->size += shape->tail_layer * shape->tail_layers;
}

static void lay_out_sparse(acu_sim_array *const *levels, unsigned count,
                           acu_sim_array_shape *shape) {
    struct cudaArraySparseProperties *sparse = &shape->sparse;
    unsigned tail = 0;
    choose_tile(levels[0], sparse);
    for (; tail < count && !is_in_tail(levels[tail], sparse); tail++)
        shape->size += place_tiles(levels[tail], sparse, shape->size);
    if (tail < count) {
        place_tail(levels + tail, count - tail, !tail, shape);
        sparse->miptailSize = shape->tail_layer;
    }
    sparse->flags = tail ? 0 : cudaArraySparsePropertiesSingleMipTail;
    sparse->miptailFirstLevel = levels[0]->is_level ? tail : 0;
}

/* ---- both ---- */

void acu_sim_array_lay_out(acu_sim_array *const *levels, unsigned count,
                           acu_sim_array_shape *shape) {
    *shape = (acu_sim_array_shape){0};
    if (levels[0]->flags & cudaArraySparse) {
        lay_out_sparse(levels, count, shape);
        return;
    }
    const size_t layer = place_wholes(levels, count, 0, (limit){0});
    set_layers(levels, count, layer);
    shape->used = layer * acu_sim_array_layers(levels[0]);
    shape->size = rounded(shape->used, SIM_PIECE);
}

/*
 * An H200 with driver 13.0 showed where the elements of images of Vulkan are, of optimal tiling and
 * with 4 bytes each. The first level has the blocks of an array. Those of later levels become lower
 * only as far as they still hold all rows.
 */
void acu_sim_array_lay_out_image(acu_sim_array *const *levels, unsigned count,
                                 acu_sim_array_shape *shape) {
    acu_sim_array_lay_out(levels, count, shape);
    size_t height = levels[0]->place.block_height;
    for (unsigned i = 0; i < count; i++) {
        acu_sim_array_place *p = &levels[i]->place;
        while (i > 0 && height > BLOCK_ROWS_LEAST && height / 2 >= levels[i]->height)
            height /= 2;
        p->is_image = true;
        if (p->block_depth == 1) {
            p->block_height = height;
            p->height = rounded(levels[i]->height, height);
        }
    }
}

/* Returns where a byte of a block is; in an image 8 rows of 64 bytes are mixed. */
static size_t offset_in_block(const acu_sim_array_place *p, size_t x, size_t row) {
    if (!p->is_image)
        return row * BLOCK_WIDTH + x;
    return row / 8 * 8 * BLOCK_WIDTH + x / 32 * 256 + row % 8 / 4 * 128 + x / 16 % 2 * 64 +
           row % 4 * 16 + x % 16;
}

size_t acu_sim_array_offset(const acu_sim_array *level, size_t x, size_t y, size_t z) {
    const acu_sim_array_place *p = &level->place;
    const bool slices = acu_sim_array_has_slices(level);
    const size_t layer = slices ? 0 : z, slice = slices ? z : 0;
    const size_t tile = (slice / p->depth * p->rows + y / p->height) * p->columns + x / p->width;
    const size_t in_x = x % p->width, in_y = y % p->height, in_z = slice % p->depth;
    const size_t block =
        (in_z / p->block_depth * (p->height / p->block_height) + in_y / p->block_height) *
            (p->width / BLOCK_WIDTH) +
        in_x / BLOCK_WIDTH;
    const size_t row =
        (in_z % p->block_depth) * p->block_height + in_y % p->block_height; /* of the block */
    return p->start + layer * p->layer + tile * p->width * p->height * p->depth +
           block * p->block_height * p->block_depth * BLOCK_WIDTH +
           offset_in_block(p, in_x % BLOCK_WIDTH, row);
}
