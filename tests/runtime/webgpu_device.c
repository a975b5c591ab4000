#include "webgpu_device.h"

#include "runtime/backend.h"
#include "runtime/webgpu/webgpu.h"

#include <stdlib.h>
#include <string.h>

acu_backend_device *device;
acu_backend_queue *queue;

/* The objects are counted in the back end's own instance. */
void device_require(void) {
    int count = 0;
    const acu_gpu_adapters *adapters = NULL;
    machine_require();
    acu_gpu_adapters_drop(&machine);
    assert_int_equal(TABLE.count_devices(&count), 0);
    assert_int_equal(acu_webgpu_adapters(&adapters), 0);
    assert_int_equal(adapters->count, count);
    machine = *adapters;
}

int device_open(void **state) {
    const acu_backend_queue_options options = {.size = sizeof options};
    (void)state;
    assert_int_equal(TABLE.device_open(0, &device), 0);
    assert_int_equal(TABLE.queue_create(device, &options, &queue), 0);
    return 0;
}

int device_close(void **state) {
    (void)state;
    TABLE.queue_destroy(queue);
    TABLE.device_close(device);
    assert_int_equal(machine_objects(), 0);
    return 0;
}

acu_backend_memory *memory_of(const void *bytes, size_t size) {
    acu_backend_memory *memory = NULL;
    assert_int_equal(TABLE.memory_allocate(queue, size, &memory), 0);
    assert_int_equal(TABLE.write(queue, memory, 0, bytes, size), 0);
    return memory;
}

void memory_equals(acu_backend_memory *memory, const void *bytes, size_t size) {
    unsigned char *found = malloc(size);
    assert_non_null(found);
    assert_int_equal(TABLE.read(queue, memory, 0, found, size), 0);
    for (size_t i = 0; i < size; i++)
        if (found[i] != ((const unsigned char *)bytes)[i])
            fail_msg("byte %zu of %zu is %u, not %u", i, size, found[i],
                     ((const unsigned char *)bytes)[i]);
    free(found);
}

void memory_drop(acu_backend_memory *memory) {
    TABLE.memory_free(queue, memory, 0);
}

const char *device_words(acu_result code) {
    static _Thread_local char words[ACU_BACKEND_WORDS];
    (void)acu_backend_take_words(code, words, sizeof words);
    return words;
}
