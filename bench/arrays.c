/*
 * Arrays and textures against the raw calls that do the same, in pairs within one process, on
 * whatever runtime is loaded. Prints a table in Markdown. Exits with 77 where there is no device.
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>
#include <anycuda/sim.h>

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 64, BOX = 16, ROW = SIDE * sizeof(float), TILE = 8, TILES = 64, QUEUED = 200 };

/* This reference is weak, because the program also runs without the simulator. */
__attribute__((weak)) int acu_sim_register(const char *name, acu_sim_kernel function);

static acu_stream *stream;
static cudaStream_t raw_stream;
static acu_array *array;
static acu_buffer *image;
static acu_module *module;
static acu_kernel *kernel;
static acu_texture *texture;
static float host[BOX * BOX];
static acu_region_pair pairs[TILES];
static struct cudaMemcpy3DParms raw_tiles[TILES];
static struct cudaMemcpy3DBatchOp raw_batch[TILES];

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define LOOP(name, ...)                                                                            \
    static void name(long calls) {                                                                 \
        for (long i = 0; i < calls; i++) {                                                         \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static void synchronize(void) {
    OK(cudaStreamSynchronize(raw_stream));
    OK(acu_stream_synchronize(stream));
}

/* ---- arrays ---- */

static const acu_format f32 = {.dtype = ACU_F32};
static const acu_extent square = {SIDE, SIDE, 0}, box = {BOX, BOX, 1};
static const struct cudaChannelFormatDesc desc = {32, 0, 0, 0, cudaChannelFormatKindFloat};
static const struct cudaExtent raw_box = {BOX, BOX, 1};
static acu_region in_array, in_image;

LOOP(raw_create, cudaArray_t made;
     OK(cudaMalloc3DArray(&made, &desc, (struct cudaExtent){SIDE, SIDE, 0}, 0));
     OK(cudaFreeArray(made));)
LOOP(safe_create, acu_array *made; OK(acu_array_create(stream, f32, square, 0, &made));
     OK(acu_array_release(made));)

static struct cudaMemcpy3DParms to_array(void *from, size_t pitch, enum cudaMemcpyKind kind) {
    return (struct cudaMemcpy3DParms){.srcPtr = {from, pitch, BOX, BOX},
                                      .dstArray = acu_array_raw(array),
                                      .dstPos = {BOX, BOX, 0},
                                      .extent = raw_box,
                                      .kind = kind};
}

LOOP(raw_write,
     const struct cudaMemcpy3DParms p = to_array(host, BOX * sizeof *host, cudaMemcpyHostToDevice);
     OK(cudaMemcpy3DAsync(&p, raw_stream)); OK(cudaStreamSynchronize(raw_stream));)
LOOP(safe_write, OK(acu_region_write(&in_array, box, host));)

LOOP(raw_read, const struct cudaMemcpy3DParms p = {.srcArray = acu_array_raw(array),
                                                   .srcPos = {BOX, BOX, 0},
                                                   .dstPtr = {host, BOX * sizeof *host, BOX, BOX},
                                                   .extent = raw_box,
                                                   .kind = cudaMemcpyDeviceToHost};
     OK(cudaMemcpy3DAsync(&p, raw_stream)); OK(cudaStreamSynchronize(raw_stream));)
LOOP(safe_read, OK(acu_region_read(&in_array, box, host));)

LOOP(raw_copy, const struct cudaMemcpy3DParms p = to_array(acu_buffer_raw(image), ROW,
                                                           cudaMemcpyDeviceToDevice);
     OK(cudaMemcpy3DAsync(&p, raw_stream));)
LOOP(safe_copy, OK(acu_region_copy(&in_array, &in_image, box, NULL));)

/* ---- tiles of an atlas ---- */

static void lay_out_tiles(void) {
    for (size_t i = 0; i < TILES; i++) {
        const size_t x = i % 8 * TILE, y = i / 8 * TILE;
        float *from = (float *)acu_buffer_raw(image) + x * SIDE + y;
        pairs[i] = (acu_region_pair){.to = {.array = array, .at = {x, y, 0}},
                                     .from = {.buffer = image, .at = {y, x, 0}, .row_pitch = ROW},
                                     .extent = {TILE, TILE, 1}};
        raw_tiles[i] = (struct cudaMemcpy3DParms){.srcPtr = {from, ROW, TILE, TILE},
                                                  .dstArray = acu_array_raw(array),
                                                  .dstPos = {x, y, 0},
                                                  .extent = {TILE, TILE, 1},
                                                  .kind = cudaMemcpyDefault};
        raw_batch[i] = (struct cudaMemcpy3DBatchOp){
            .src = {.type = cudaMemcpyOperandTypePointer,
                    .op.ptr = {.ptr = from, .rowLength = SIDE, .layerHeight = TILE}},
            .dst = {.type = cudaMemcpyOperandTypeArray,
                    .op.array = {.array = acu_array_raw(array), .offset = {x, y, 0}}},
            .extent = {TILE, TILE, 1},
            .srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    }
}

LOOP(raw_loop, for (size_t n = 0; n < TILES; n++) OK(cudaMemcpy3DAsync(&raw_tiles[n], raw_stream));)
LOOP(raw_batches, OK(cudaMemcpy3DBatchAsync(TILES, raw_batch, 0, raw_stream));)
LOOP(safe_batch, OK(acu_batch_copy_regions(stream, pairs, TILES, NULL, 0, NULL));)

/* ---- textures ---- */

static const acu_texture_source *source;

LOOP(raw_texture, cudaTextureObject_t made;
     const struct cudaResourceDesc of = {.resType = cudaResourceTypeArray,
                                         .res.array.array = acu_array_raw(array)};
     const struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
     OK(cudaCreateTextureObject(&made, &of, &how, NULL)); OK(cudaDestroyTextureObject(made));)
LOOP(safe_texture, acu_texture *made; OK(acu_texture_create(source, NULL, &made));
     OK(acu_texture_release(made));)

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry nothing(.param .u64 a, .param .u64 b)\n"
                          "{\n    ret;\n}\n";

static void nothing(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
}

static const dim3 one = {1, 1, 1};
static cudaTextureObject_t raw_object;
static void *raw_memory;
static void *raw_args[] = {&raw_object, &raw_memory};
static acu_grid grid;

LOOP(raw_launch, OK(cudaLaunchKernel(acu_kernel_raw(kernel), one, one, raw_args, 0, raw_stream));)
LOOP(safe_launch, OK(acu_launch(stream, kernel, grid, texture, acu_out(image)));)

static void launches(void) {
    grid = acu_grid_1d(1, 1);
    if (acu_sim_register && acu_sim_register("nothing", nothing))
        return;
    OK(acu_module_load(0, &(acu_module_source){.ptx = ptx}, &module));
    OK(acu_module_get_kernel(module, "nothing", &kernel));
    OK(acu_texture_create(source, NULL, &texture));
    raw_object = acu_texture_raw(texture);
    raw_memory = acu_buffer_raw(image);
    if (acu_kernel_raw(kernel)) /* not before 12.8, which loads kernels by the driver */
        compare("acu_launch with a texture and a buffer, against cudaLaunchKernel", raw_launch,
                safe_launch, QUEUED, synchronize);
    OK(acu_texture_release(texture));
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
}

static void copies(void) {
    compare("write of 16 x 16 floats of an array, against cudaMemcpy3DAsync and waiting", raw_write,
            safe_write, 0, synchronize);
    compare("read of 16 x 16 floats of an array, against the same", raw_read, safe_read, 0,
            synchronize);
    compare("acu_region_copy of 16 x 16 floats to an array, against cudaMemcpy3DAsync", raw_copy,
            safe_copy, QUEUED, synchronize);
    compare("64 tiles to an array, against a loop of cudaMemcpy3DAsync", raw_loop, safe_batch, 4,
            synchronize);
    if (acu_supports(ACU_FEATURE_BATCH_COPIES, 0) == 0)
        compare("64 tiles to an array, against cudaMemcpy3DBatchAsync", raw_batches, safe_batch, 4,
                synchronize);
}

int main(void) {
    int devices = 0;
    if (acu_device_get_count(&devices) || devices == 0) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    acu_quarantine(0); /* as in a release build */
    OK(acu_stream_create(0, NULL, &stream));
    OK(cudaStreamCreate(&raw_stream));
    OK(acu_array_create(stream, f32, square, 0, &array));
    OK(acu_buffer_create(stream, ACU_F32, (size_t)SIDE * SIDE, &image));
    OK(acu_buffer_zero(image, NULL));
    in_array = (acu_region){.array = array, .at = {BOX, BOX, 0}};
    in_image = (acu_region){.buffer = image, .row_pitch = ROW};
    source = &(acu_texture_source){.array = array};
    lay_out_tiles();
    print_header("raw", "safe");
    compare("an array: create and release, against cudaMalloc3DArray and cudaFreeArray", raw_create,
            safe_create, QUEUED, synchronize);
    copies();
    compare("a texture: create and release, against cudaCreateTextureObject", raw_texture,
            safe_texture, QUEUED, synchronize);
    launches();
    OK(acu_buffer_release(image));
    OK(acu_array_release(array));
    OK(cudaStreamDestroy(raw_stream));
    OK(acu_stream_release(stream));
    return 0;
}
