/*
 * A back end in 200 lines: "shelf", two devices of 64 MiB each, made of the host's memory. A queue
 * does its work at once, so that nothing has to be waited for. docs/users/backend.md explains it.
 *
 * As a program, this file registers the back end and adds to three numbers. With -DSHELF_SHARED
 * -shared -fPIC it is a shared object for acu_runtime_open(), and needs no library.
 */
#include <anycuda/backend.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHELF_DEVICES = 2, SHELF_BYTES = 64 * 1024 * 1024 };

/* What a failure is told to: acu_backend_fail(), in a shared object by the address of it. */
#if defined(SHELF_SHARED)
static const acu_backend_host *host;
#define FAIL(...) host->fail(__VA_ARGS__)
#else
#define FAIL(...) acu_backend_fail(__VA_ARGS__)
#endif

/* ---- devices ---- */

static struct acu_backend_device {
    uint64_t used; /* bytes; atomic, since several queues may allocate at once */
} devices[SHELF_DEVICES];

static acu_result count_devices(int *count) {
    *count = SHELF_DEVICES;
    return ACU_SUCCESS;
}

static acu_result device_open(int device, acu_backend_device **out) {
    *out = &devices[device];
    return ACU_SUCCESS;
}

static void device_close(acu_backend_device *device) {
    (void)device;
}

static acu_result device_get_info(acu_backend_device *device, acu_place_info *info) {
    snprintf(info->name, sizeof info->name, "shelf %td", device - devices);
    info->alignment = 16; /* malloc()'s */
    info->largest_block = info->memory = SHELF_BYTES;
    return ACU_SUCCESS;
}

/* ---- queues: each is its device, since it has nothing to remember ---- */

static acu_result queue_create(acu_backend_device *device, const acu_backend_queue_options *options,
                               acu_backend_queue **out) {
    (void)options;
    *out = (acu_backend_queue *)device;
    return ACU_SUCCESS;
}

static void queue_destroy(acu_backend_queue *queue) {
    (void)queue;
}

static acu_result queue_synchronize(acu_backend_queue *queue) {
    (void)queue;
    return ACU_SUCCESS;
}

/* ---- memory: an address ---- */

static acu_result memory_allocate(acu_backend_queue *queue, uint64_t bytes,
                                  acu_backend_memory **out) {
    acu_backend_device *device = (acu_backend_device *)queue;
    uint64_t used = __atomic_add_fetch(&device->used, bytes, __ATOMIC_RELAXED);
    if (used <= SHELF_BYTES && (*out = malloc(bytes)))
        return ACU_SUCCESS;
    __atomic_sub_fetch(&device->used, bytes, __ATOMIC_RELAXED);
    return FAIL(ACU_OUT_OF_MEMORY, "shelf %td has room for %d bytes", device - devices,
                SHELF_BYTES);
}

static void memory_free(acu_backend_queue *queue, acu_backend_memory *memory, uint64_t bytes) {
    __atomic_sub_fetch(&((acu_backend_device *)queue)->used, bytes, __ATOMIC_RELAXED);
    free(memory);
}

static acu_result write_bytes(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                              const void *from, size_t bytes) {
    (void)queue;
    memcpy((char *)to + at, from, bytes);
    return ACU_SUCCESS;
}

static acu_result read_bytes(acu_backend_queue *queue, acu_backend_memory *from, uint64_t at,
                             void *to, size_t bytes) {
    (void)queue;
    memcpy(to, (char *)from + at, bytes);
    return ACU_SUCCESS;
}

static acu_result copy_bytes(acu_backend_queue *queue, acu_backend_memory *to, uint64_t to_at,
                             acu_backend_memory *from, uint64_t from_at, uint64_t bytes) {
    (void)queue;
    memmove((char *)to + to_at, (char *)from + from_at, bytes);
    return ACU_SUCCESS;
}

/* ---- programs: a form is the address of an acu_part_function, so its bytes are this struct ----
 */

struct acu_backend_program {
    acu_part_function *function;
};

static acu_result program_create(acu_backend_device *device, const acu_backend_source *source,
                                 acu_backend_program **out) {
    (void)device;
    if (!source->form || source->form->bytes != sizeof **out)
        return FAIL(ACU_NOT_SUPPORTED, "a form \"shelf\" is the address of a function");
    *out = malloc(sizeof **out);
    if (*out)
        memcpy(*out, source->form->code, sizeof **out);
    return *out ? ACU_SUCCESS : FAIL(ACU_ERROR_HOST_MEMORY, "no memory for a program");
}

static void program_destroy(acu_backend_program *program) {
    free(program);
}

static acu_result run(acu_backend_queue *queue, acu_backend_program *program, const size_t items[3],
                      const acu_backend_arg *args, size_t count) {
    void *values[ACU_MAX_ARGUMENTS];
    acu_part part = {{0, 0, 0}, {items[0], items[1], items[2]}, {items[0], items[1], items[2]}, 0};
    (void)queue;
    for (size_t i = 0; i < count; i++)
        values[i] = args[i].memory ? (void *)args[i].memory : (void *)(uintptr_t)args[i].value;
    program->function(&part, values);
    return ACU_SUCCESS;
}

/* ---- the table: what is not in it is NULL, and is done in another way ---- */

static const acu_backend shelf = {
    .size = sizeof(acu_backend),
    .version = ACU_BACKEND_VERSION,
    .name = "shelf",
    .count_devices = count_devices,
    .device_open = device_open,
    .device_close = device_close,
    .device_get_info = device_get_info,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .queue_synchronize = queue_synchronize,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .write = write_bytes,
    .read = read_bytes,
    .copy = copy_bytes,
    .program_create = program_create,
    .program_destroy = program_destroy,
    .run = run,
};

#if defined(SHELF_SHARED)
acu_backend_entry_function acu_backend_entry;
const acu_backend *acu_backend_entry(const acu_backend_host *program) {
    host = program;
    return host->version == ACU_BACKEND_VERSION ? &shelf : NULL;
}
#else
static void add(const acu_part *part, void *const *args) {
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        ((float *)args[0])[i] += *(const float *)args[1];
}

static acu_result add_on_shelf(float *numbers, size_t count) {
    acu_part_function *code = add;
    acu_form form = {"shelf", &code, sizeof code};
    acu_program_source source = {.name = "add", .forms = &form, .form_count = 1};
    acu_place place = acu_place_cpu();
    ACU_AUTO(acu_client) *client = NULL;
    ACU_AUTO(acu_block) *block = NULL;
    ACU_AUTO(acu_program) *program = NULL;
    ACU_TRY(acu_runtime_register(&shelf, &place.runtime));
    ACU_TRY(acu_client_get_default(place, &client));
    ACU_TRY(acu_block_create_for(client, ACU_F32, count, &block));
    ACU_TRY(acu_block_write(client, block, 0, numbers, count * sizeof(float)));
    ACU_TRY(acu_program_create(&source, &program));
    ACU_TRY(acu_run(client, program, acu_items(count), acu_inout_block(block), 0.5f));
    return acu_block_read(client, block, 0, numbers, count * sizeof(float));
}

int main(void) {
    float numbers[] = {1, 2, 3};
    if (add_on_shelf(numbers, 3))
        return puts(acu_last_error_message()), 1;
    printf("%g %g %g\n", (double)numbers[0], (double)numbers[1], (double)numbers[2]);
}
#endif
