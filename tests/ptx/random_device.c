/* A device that runs random kernels, by the driver API. */
#include "random_kernels.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

static struct {
    int (*load)(void **, const void *, unsigned, int *, void **);
    int (*unload)(void *), (*find)(void **, void *, const char *), (*wait)(void);
    int (*to_device)(address, const void *, size_t), (*to_host)(void *, address, size_t);
    int (*fill)(address, unsigned char, size_t), (*allocate)(address *, size_t);
    int (*launch)(const void *, void *, void **, void **);
    int (*array)(void **, const void *), (*destroy_array)(void *), (*copy)(const void *);
    int (*mipmap)(void **, const void *, unsigned), (*destroy_mipmap)(void *);
    int (*level)(void **, void *, unsigned);
    int (*texture)(address *, const void *, const void *, const void *);
    int (*surface)(address *, const void *), (*drop_texture)(address), (*drop_surface)(address);
    address input, output, table;
} driver;
static void *library;
static unsigned char input[INPUT];

static void check(int code, const char *what) {
    if (!code)
        return;
    fprintf(stderr, "%s: error %d\n", what, code);
    exit(1);
}

static void find(const char *name, void *pointer) {
    void *const found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    memcpy(pointer, &found, sizeof found);
}

void device_open(const char *path) {
    void *context;
    int device, (*init)(unsigned), (*get)(int *, int), (*retain)(void **, int), (*set)(void *);
    library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    find("cuInit", &init);
    find("cuDeviceGet", &get);
    find("cuDevicePrimaryCtxRetain", &retain);
    find("cuCtxSetCurrent", &set);
    find("cuMemAlloc_v2", &driver.allocate);
    find("cuModuleLoadDataEx", &driver.load);
    find("cuModuleUnload", &driver.unload);
    find("cuModuleGetFunction", &driver.find);
    find("cuCtxSynchronize", &driver.wait);
    find("cuMemcpyHtoD_v2", &driver.to_device);
    find("cuMemcpyDtoH_v2", &driver.to_host);
    find("cuMemsetD8_v2", &driver.fill);
    find("cuLaunchKernelEx", &driver.launch);
    find("cuArray3DCreate_v2", &driver.array);
    find("cuArrayDestroy", &driver.destroy_array);
    find("cuMipmappedArrayCreate", &driver.mipmap);
    find("cuMipmappedArrayDestroy", &driver.destroy_mipmap);
    find("cuMipmappedArrayGetLevel", &driver.level);
    find("cuMemcpy3D_v2", &driver.copy);
    find("cuTexObjectCreate", &driver.texture);
    find("cuTexObjectDestroy", &driver.drop_texture);
    find("cuSurfObjectCreate", &driver.surface);
    find("cuSurfObjectDestroy", &driver.drop_surface);
    check(init(0), "cuInit");
    check(get(&device, 0), "cuDeviceGet");
    check(retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(set(context), "cuCtxSetCurrent");
    fill_input(input);
    check(driver.allocate(&driver.input, sizeof input), "cuMemAlloc");
    check(driver.to_device(driver.input, input, sizeof input), "cuMemcpyHtoD");
    check(driver.allocate(&driver.table, sizeof(address[IMAGES])), "cuMemAlloc");
}

/* ---- images ---- */

/* The driver's structures. */
typedef struct array_descriptor {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array_descriptor;
typedef struct copy_end {
    size_t x, y, z, level;
    int type;
    const void *host;
    address device;
    void *array, *reserved;
    size_t pitch, height;
} copy_end;
typedef struct copy {
    copy_end from, to;
    size_t width, height, depth;
} copy;
typedef struct resource {
    int type;
    union {
        void *array;
        int reserved[32];
    };
    unsigned flags;
} resource;
typedef struct sampler {
    int modes[3], filter;
    unsigned flags, anisotropy;
    int level_filter;
    float bias, least, most, border[4];
    int reserved[12];
} sampler;
enum { LAYERED = 1, SURFACE = 2, CUBEMAP = 4, GATHER = 8 };
enum { AS_INTEGER = 1, NORMALIZED = 2, SRGB = 16, SEAMLESS = 64 };
enum { HOST = 1, ARRAY = 3 };

static void *arrays[IMAGES];
static address objects[IMAGES];

static size_t part_of(size_t extent, unsigned level) {
    return extent >> level ? extent >> level : extent ? 1 : 0;
}

/* Fills a level with numbers of the input. */
static void fill_array(const image *i, void *array, unsigned level) {
    const bool is_float = image_format(i) >= 16, has_layers = i->shape >= LINES;
    const format of = !is_float ? BITS : image_format(i) == 16 ? F16 : F32;
    const size_t width = part_of(i->width, level), height = part_of(i->height, level);
    const size_t depth = has_layers ? i->depth : part_of(i->depth, level);
    copy c = {
        .from = {.type = HOST, .pitch = width * image_element(i), .height = height ? height : 1},
        .to = {.type = ARRAY, .array = array},
        .width = width * image_element(i),
        .height = height ? height : 1,
        .depth = depth ? depth : 1};
    const unsigned kind_of = i->width % 3 ? (unsigned)NEAR : (unsigned)ANY;
    c.from.host =
        input + (size_t)(of * KINDS + kind_of) * REGION_STEP + (size_t)64 * (i->width + level);
    check(driver.copy(&c), "cuMemcpy3D");
}

static void make_image(unsigned n) {
    const image *const i = &images[n];
    const bool has_layers = i->shape == LINES || i->shape == PLANES || i->shape == CUBES;
    const array_descriptor array = {i->width,
                                    i->height,
                                    i->depth,
                                    image_format(i),
                                    i->channels,
                                    (has_layers ? LAYERED : 0) | (i->shape >= CUBE ? CUBEMAP : 0) |
                                        (i->is_surface ? SURFACE : 0) | (i->gathers ? GATHER : 0)};
    resource from = {0};
    if (i->levels > 1) {
        check(driver.mipmap(&arrays[n], &array, i->levels), "cuMipmappedArrayCreate");
        for (unsigned level = 0; level < i->levels; level++) {
            void *one;
            check(driver.level(&one, arrays[n], level), "cuMipmappedArrayGetLevel");
            fill_array(i, one, level);
        }
        from.type = 1;
    } else {
        check(driver.array(&arrays[n], &array), "cuArray3DCreate");
        fill_array(i, arrays[n], 0);
    }
    from.array = arrays[n];
    if (i->is_surface) {
        check(driver.surface(&objects[n], &from), "cuSurfObjectCreate");
        return;
    }
    sampler how = {.filter = i->linear,
                   .flags = (i->as_integer ? AS_INTEGER : 0) | (i->normalized ? NORMALIZED : 0) |
                            (i->srgb ? SRGB : 0) | (i->seamless ? SEAMLESS : 0),
                   .anisotropy = i->anisotropy,
                   .level_filter = i->linear_levels,
                   .bias = i->bias,
                   .least = i->least,
                   .most = i->most};
    memcpy(how.modes, i->modes, sizeof how.modes);
    memcpy(how.border, i->border, sizeof how.border);
    check(driver.texture(&objects[n], &from, &how, NULL), "cuTexObjectCreate");
}

static void make_images(void) {
    for (unsigned n = 0; n < IMAGES; n++)
        make_image(n);
    check(driver.to_device(driver.table, objects, sizeof objects), "cuMemcpyHtoD");
}

static void drop_images(void) {
    for (unsigned n = 0; n < IMAGES; n++) {
        check(n < TEXTURES ? driver.drop_texture(objects[n]) : driver.drop_surface(objects[n]),
              "an object");
        check(images[n].levels > 1 ? driver.destroy_mipmap(arrays[n])
                                   : driver.destroy_array(arrays[n]),
              "an array");
    }
}

/* CUlaunchConfig, with one attribute: the blocks of a cluster. */
typedef struct launch_attribute {
    int id, padding;
    unsigned value[16];
} launch_attribute;
typedef struct launch {
    unsigned grid[3], block[3], shared;
    void *stream;
    launch_attribute *attributes;
    unsigned count;
} launch;

int device_run(const char *text, unsigned level, unsigned char *out, size_t out_size, size_t size) {
    static char log[4096];
    void *module, *function, *arguments[] = {&driver.input, &driver.output, &driver.table, input};
    int options[] = {7, 5, 6}; /* the level; the log's address and size */
    void *values[] = {(void *)(uintptr_t)level, log, (void *)(uintptr_t)sizeof log};
    launch_attribute cluster = {.id = 4, .value = {BLOCKS, 1, 1}};
    const launch of = {{BLOCKS, 1, 1}, {THREADS, 1, 1}, 0, NULL, &cluster, 1};
    if (!driver.output)
        check(driver.allocate(&driver.output, size), "cuMemAlloc");
    make_images();
    log[0] = 0;
    int code = driver.load(&module, text, 3, options, values);
    if (code)
        fprintf(stderr, "%s\n", log);
    code = code ? code : driver.find(&function, module, "k");
    code = code ? code : driver.fill(driver.output, 0, size);
    code = code ? code : driver.launch(&of, function, arguments, NULL);
    code = code ? code : driver.wait();
    code = code ? code : driver.to_host(out, driver.output, out_size);
    if (code)
        return code;
    drop_images();
    return driver.unload(module);
}
