/* Textures and surfaces: what kernels ask of the machine that they run on. */
#ifndef ACU_SIM_PTX_TEXTURE_MACHINE_H
#define ACU_SIM_PTX_TEXTURE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order of the names in acu_ptx_take_geometry(). */
typedef enum ptx_geometry {
    PTX_TEXTURE_1D,
    PTX_TEXTURE_2D,
    PTX_TEXTURE_3D,
    PTX_TEXTURE_A1D, /* with layers */
    PTX_TEXTURE_A2D,
    PTX_TEXTURE_CUBE,
    PTX_TEXTURE_ACUBE,
} ptx_geometry;

typedef enum ptx_reading {
    PTX_READ_LEVEL,  /* at `level` */
    PTX_READ_GRAD,   /* at the level that the derivatives give */
    PTX_READ_FETCH,  /* the texel `texel` of `fetched_level` */
    PTX_READ_GATHER, /* one component of the four texels that a linear filter would mix */
} ptx_reading;

/* What one lane reads of a texture. */
typedef struct ptx_sample {
    ptx_reading reading;
    ptx_geometry geometry;
    uint32_t layer;
    float at[3];
    int32_t texel[3]; /* the same, of a fetch */
    float level;
    int32_t fetched_level;
    float dx[3], dy[3];
    bool has_offset;
    int32_t offset[3];  /* in texels */
    unsigned component; /* that is gathered: 0 to 3 */
} ptx_sample;

typedef struct ptx_texel {
    uint32_t bits[4];
    bool
        resident; /* all that was read has memory, which the tiles of a sparse array may not have */
} ptx_texel;

/* What one lane accesses of a surface. */
typedef struct ptx_surface_place {
    ptx_geometry geometry;
    uint32_t layer;
    int32_t at[3]; /* the first one counts bytes */
    unsigned size; /* bytes */
} ptx_surface_place;

/* What a surface does beyond its edges. */
typedef enum ptx_boundary { PTX_BOUNDARY_TRAP, PTX_BOUNDARY_CLAMP, PTX_BOUNDARY_ZERO } ptx_boundary;

typedef enum ptx_found { PTX_FOUND, PTX_OUTSIDE, PTX_MISALIGNED } ptx_found;

/* What the elements of a surface are. */
typedef enum ptx_element_kind {
    PTX_ELEMENT_SIGNED,
    PTX_ELEMENT_UNSIGNED,
    PTX_ELEMENT_FLOAT,
    PTX_ELEMENT_OTHER
} ptx_element_kind;

typedef struct ptx_element_format {
    ptx_element_kind kind;
    unsigned channels, size; /* and the bytes of a channel */
} ptx_element_format;

/* Texels of a level, layers, or 0 where there is no such dimension. */
typedef struct ptx_extent {
    uint32_t width, height, depth;
} ptx_extent;

/* What textures and surfaces can do. An object is there until the launch ends. */
typedef struct ptx_textures {
    /* Returns the object of a handle; NULL: there is none. `data` is the machine's. */
    const void *(*open)(void *data, uint64_t handle, bool is_surface);
    /* Returns why the last object could not be opened, if the simulator lacks it; else NULL. */
    const char *(*why)(void *data);
    /* Returns whether the handle is that of a reference, which is a variable of the module. */
    bool (*is_reference)(void *data, uint64_t handle, bool is_surface);
    /* Returns 0, or an address that was read and is in no memory. */
    uint64_t (*sample)(const void *texture, const ptx_sample *sample, ptx_texel *texel);
    /* Finds the bytes of an access: `at` is NULL where none are, which reads as zero. */
    ptx_found (*find)(const void *surface, const ptx_surface_place *place, ptx_boundary boundary,
                      char **at);
    ptx_extent (*extent)(const void *object, uint32_t level);
    ptx_element_format (*format)(const void *surface);
} ptx_textures;

#endif
