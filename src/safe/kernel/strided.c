/* Strided copies by kernels: which one, what it is given, and where it is loaded. */
#include "safe/kernel/strided.h"
#include "safe/kernel/launch.h"
#include "safe/kernel/module.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the kernels of each device ---- */

enum { WORDS = 5, LARGEST_WORD = 16 }; /* 1, 2, 4, 8 and 16 bytes */

/*
 * Kernels are loaded when they are first needed, and unloaded with the last stream that has used
 * one: nothing of a device may outlive its last stream, because the program may then reset it.
 */
typedef struct device_kernels {
    size_t streams; /* that keep the kernels */
    acu_kernel *kernels[ACU_STRIDED_KINDS][WORDS];
    bool refused[ACU_STRIDED_KINDS][WORDS]; /* CUDA could not load or launch the kernel */
} device_kernels;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static device_kernels all[ACU_COUNTED_DEVICES]; /* under the lock */

/* What a stream keeps. */
typedef struct share {
    acu_object object;
    device_kernels *of;
} share;

/* A kernel and its module do not count as the program's objects, unless a graph keeps them. */
enum { COUNTED = 2 };

static int release_kernel(acu_kernel *kernel) {
    if (!kernel)
        return 0;
    for (int i = 0; i < COUNTED; i++)
        acu_object_count_up(kernel->object.device);
    return acu_object_release(NULL, kernel, &acu_kernel_class);
}

static int destroy_share(acu_object *object) {
    device_kernels *of = ((share *)object)->of, last = {.streams = 0};
    int code = 0;
    pthread_mutex_lock(&lock);
    if (--of->streams == 0) {
        last = *of;
        *of = (device_kernels){.streams = 0};
    }
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < (size_t)ACU_STRIDED_KINDS * WORDS; i++) {
        const int released = release_kernel(last.kernels[i / WORDS][i % WORDS]);
        code = code ? code : released;
    }
    return code;
}

static const acu_class share_class = {"kernels of strided copies", destroy_share, NULL,
                                      acu_breaks_no_capture};

/* Returns the kernels of the stream's device, which the stream keeps from now on; NULL where the
 * host has no memory. The caller holds the lock. */
static device_kernels *kernels_for(acu_stream *on) {
    const int device = on->object.device;
    if (device < 0 || device >= ACU_COUNTED_DEVICES)
        return NULL;
    if (on->kernels)
        return &all[device];
    share *made = acu_object_make(&share_class, sizeof *made, -1);
    if (!made)
        return NULL;
    made->of = &all[device];
    made->of->streams++;
    __atomic_store_n(&on->kernels, &made->object, __ATOMIC_RELEASE);
    return made->of;
}

bool acu_strided_is_loaded(acu_stream *on) {
    return __atomic_load_n(&on->kernels, __ATOMIC_ACQUIRE) != NULL;
}

/* Loads a kernel; returns NULL and a recorded failure where that is not possible, but leaves no
 * error in CUDA, because the copy is made without the kernel. Loading does not belong to any
 * capture. */
static acu_kernel *load(acu_strided_kind kind, unsigned word, int device) {
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    char name[32];
    const size_t size = acu_strided_ptx(kind, word, NULL, 0) + 1;
    char *text = malloc(size);
    if (!text)
        return NULL;
    (void)acu_strided_ptx(kind, word, text, size);
    const acu_module_image image = {.bytes = text, .size = size};
    const int mode = acu_thread_ignore_all_captures();
    if (!acu_module_new("", device, &image, &module)) {
        acu_strided_name(kind, word, name);
        const acu_kernel_source source = {.api = module->api,
                                          .place = module->place,
                                          .module = module,
                                          .name = name,
                                          .lowered = name,
                                          .entry = acu_ptx_find(&module->ptx, name)};
        (void)acu_kernel_new("", &source, &kernel);
        (void)acu_object_release(NULL, module, &acu_module_class); /* the kernel keeps it */
    }
    acu_thread_restore(mode);
    free(text);
    if (!kernel)
        (void)cudaGetLastError();
    for (int i = 0; kernel && i < COUNTED; i++)
        acu_object_count_down(device);
    return kernel;
}

static unsigned index_of(unsigned word) {
    return (unsigned)__builtin_ctz(word);
}

/* Returns a kernel that the stream keeps; NULL where there is none. Loading may call the program's
 * function for failures, so that the lock is not held meanwhile; another thread may be faster. */
static acu_kernel *find_kernel(acu_strided_kind kind, unsigned word, acu_stream *on) {
    const unsigned index = index_of(word);
    pthread_mutex_lock(&lock);
    device_kernels *of = kernels_for(on);
    acu_kernel *kernel = of ? of->kernels[kind][index] : NULL;
    const bool refused = !of || of->refused[kind][index];
    pthread_mutex_unlock(&lock);
    if (kernel || refused)
        return refused ? NULL : kernel;
    acu_kernel *loaded = load(kind, word, on->object.device);
    pthread_mutex_lock(&lock);
    if (!of->kernels[kind][index]) {
        of->kernels[kind][index] = loaded;
        of->refused[kind][index] = !loaded;
        loaded = NULL;
    }
    kernel = of->kernels[kind][index];
    pthread_mutex_unlock(&lock);
    (void)release_kernel(loaded);
    return kernel;
}

/* Notes that CUDA did not launch the kernel, so that it is not tried again. */
static void refuse_kernel(acu_strided_kind kind, unsigned word, const acu_stream *on) {
    pthread_mutex_lock(&lock);
    all[on->object.device].refused[kind][index_of(word)] = true;
    pthread_mutex_unlock(&lock);
}

/* ---- what a kernel is given ---- */

/* Returns the largest word of which all widths, steps and addresses are multiples. */
static unsigned word_of(const acu_strided_copy *c) {
    uintptr_t bits = (uintptr_t)LARGEST_WORD | c->width |
                     ((uintptr_t)c->to_buffer->pointer + (uintptr_t)c->to_at) |
                     ((uintptr_t)c->from_buffer->pointer + (uintptr_t)c->from_at);
    for (unsigned i = 0; i < c->rank; i++)
        bits |= (uintptr_t)c->to[i] | (uintptr_t)c->from[i];
    return (unsigned)(bits & (~bits + 1));
}

static acu_strided_dim dim(size_t count, int64_t to, int64_t from) {
    uint32_t shift = 0;
    while (((uint64_t)1 << shift) < count)
        shift++;
    const uint64_t magic = (((((uint64_t)1 << shift) - count) << 32u) / count) + 1;
    return (acu_strided_dim){(uint32_t)count, (uint32_t)magic, shift, 0, to, from};
}

/* Lists the dimensions in words, the destination's fastest one first. Returns the number of words,
 * or SIZE_MAX where there are too many for one kernel. */
static size_t list_dims(const acu_strided_copy *c, unsigned word, acu_strided_layout *l) {
    size_t total = c->width / word;
    l->to_at = c->to_at;
    l->from_at = c->from_at;
    l->rank = 0;
    for (unsigned i = 0; i < c->rank; i++)
        if (__builtin_mul_overflow(total, c->shape[i], &total) || total > INT32_MAX)
            return SIZE_MAX;
    if (total > INT32_MAX)
        return SIZE_MAX;
    if (c->width > word || c->rank == 0)
        l->dims[l->rank++] = dim(c->width / word, word, word);
    for (unsigned i = c->rank; i-- > 0;)
        l->dims[l->rank++] = dim(c->shape[i], c->to[i], c->from[i]);
    l->total = (uint32_t)total;
    return total;
}

static uint64_t size_of_step(int64_t step) {
    return step < 0 ? -(uint64_t)step : (uint64_t)step;
}

/* Returns the dimension with the shortest step in the source that is not 0; 0 where that is the
 * destination's fastest one. */
static unsigned fastest_in_source(const acu_strided_layout *l) {
    unsigned fastest = 0;
    for (unsigned i = 1; i < l->rank; i++)
        if (l->dims[i].from != 0 &&
            (size_of_step(l->dims[i].from) < size_of_step(l->dims[fastest].from)))
            fastest = i;
    return fastest;
}

/* Returns whether words of 1 or 2 bytes can be moved 4 bytes at a time: those that lie together are
 * whole groups, and every other step, and both addresses, are multiples of 4. */
static bool can_pack(const acu_strided_copy *c, const acu_strided_layout *l, unsigned word,
                     unsigned down) {
    const acu_strided_dim fast = l->dims[0], slow = l->dims[down];
    uint64_t bits = ((uintptr_t)c->to_buffer->pointer + (uintptr_t)l->to_at) |
                    ((uintptr_t)c->from_buffer->pointer + (uintptr_t)l->from_at);
    bits |= (uint64_t)fast.from | (uint64_t)slow.to | (uint64_t)fast.count * word |
            (uint64_t)slow.count * word;
    for (unsigned i = 1; i < l->rank; i++)
        if (i != down)
            bits |= (uint64_t)l->dims[i].to | (uint64_t)l->dims[i].from;
    return word < 4 && fast.to == (int64_t)word && slow.from == (int64_t)word && bits % 4 == 0;
}

/* Makes the layout one of tiles, if the source's fastest dimension is another one than the
 * destination's and both are long enough. Returns the kind of kernel, and the number of tiles. */
static acu_strided_kind make_tiles(const acu_strided_copy *c, acu_strided_layout *l, unsigned word,
                                   size_t *tiles) {
    enum { SHORT = 8 };
    const unsigned down = fastest_in_source(l);
    if (down == 0 || l->dims[0].from == 0 || l->dims[0].count < SHORT ||
        l->dims[down].count < SHORT)
        return ACU_STRIDED_EACH;
    const acu_strided_kind kind =
        can_pack(c, l, word, down) ? ACU_STRIDED_PACKED : ACU_STRIDED_TILE;
    const unsigned side = acu_strided_side(kind, word);
    const acu_strided_dim fast = l->dims[0], slow = l->dims[down];
    for (unsigned i = down; i > 1; i--)
        l->dims[i] = l->dims[i - 1];
    l->across = fast.count;
    l->down = slow.count;
    l->across_to = fast.to;
    l->across_from = fast.from;
    l->down_to = slow.to;
    l->down_from = slow.from;
    l->dims[0] = dim((fast.count + side - 1) / side, fast.to * side, fast.from * side);
    l->dims[1] = dim((slow.count + side - 1) / side, slow.to * side, slow.from * side);
    *tiles = 1;
    for (unsigned i = 0; i < l->rank; i++)
        *tiles *= l->dims[i].count;
    return kind;
}

/* ---- launches ---- */

static int launch(acu_kernel *kernel, const acu_strided_copy *c, const acu_strided_layout *l,
                  size_t blocks, acu_stream *on) {
    acu_prepared_launch prepared;
    const acu_arg args[] = {acu_out(c->to_buffer), acu_in(c->from_buffer), acu_bytes(l, sizeof *l)};
    const acu_grid grid = {.blocks = {blocks, 1, 1}, .threads = {ACU_STRIDED_THREADS, 1, 1}};
    const int code =
        acu_launch_prepare("acu_buffer_copy_strided", kernel, &grid, args, 3, &prepared);
    return code ? code : acu_launch_prepared(&prepared, on);
}

/* Returns whether no stream of the device will ever launch the kernel. */
static bool is_for_good(int code) {
    return code == ACU_NOT_SUPPORTED || code == cudaErrorInvalidDeviceFunction ||
           code == cudaErrorNoKernelImageForDevice;
}

static bool launch_words(const acu_strided_copy *c, unsigned word, acu_strided_layout *l,
                         acu_stream *on) {
    const size_t by_block = (size_t)ACU_STRIDED_THREADS * acu_strided_words(word);
    size_t blocks = (l->total + by_block - 1) / by_block;
    const acu_strided_kind kind = make_tiles(c, l, word, &blocks);
    acu_kernel *kernel = find_kernel(kind, word, on);
    if (!kernel)
        return false;
    const int code = launch(kernel, c, l, blocks, on);
    if (code > 0) /* CUDA's; the safe layer's own are negative */
        (void)cudaGetLastError();
    if (is_for_good(code))
        refuse_kernel(kind, word, on);
    return code == 0;
}

/* Launches for a part of the copy; where it has too many words, for each half of it. */
static bool launch_part(const acu_strided_copy *c, unsigned word, acu_stream *on) {
    acu_strided_layout l;
    if (list_dims(c, word, &l) != SIZE_MAX)
        return launch_words(c, word, &l, on);
    acu_strided_copy part = *c;
    unsigned longest = 0;
    for (unsigned i = 1; i < c->rank; i++)
        if (c->shape[i] > c->shape[longest])
            longest = i;
    if (c->rank == 0 || c->width / word > c->shape[longest]) {
        const size_t half = c->width / word / 2 * word;
        part.width = half;
        const bool first = launch_part(&part, word, on);
        part.width = c->width - half;
        part.to_at += (int64_t)half;
        part.from_at += (int64_t)half;
        return first && launch_part(&part, word, on);
    }
    part.shape[longest] /= 2;
    const bool first = launch_part(&part, word, on);
    part.to_at += (int64_t)part.shape[longest] * c->to[longest];
    part.from_at += (int64_t)part.shape[longest] * c->from[longest];
    part.shape[longest] = c->shape[longest] - part.shape[longest];
    return first && launch_part(&part, word, on);
}

/* Returns whether the memory is that of the stream's device. Kernels reach other memory, too, but
 * not all of it, and slowly. */
static bool is_in_reach(const acu_buffer *buffer, const acu_stream *on) {
    return buffer->object.device == on->object.device && acu_buffer_is_device_memory(buffer);
}

bool acu_strided_launch(const acu_strided_copy *copy, acu_stream *on) {
    acu_saved_record before;
    if (!copy->is_nested || !is_in_reach(copy->to_buffer, on) ||
        !is_in_reach(copy->from_buffer, on))
        return false;
    acu_record_save(&before);
    const bool launched = launch_part(copy, word_of(copy), on);
    if (!launched)
        acu_record_restore(&before);
    return launched;
}
