/* Textures and surfaces: what is the same. */
#include "safe/memory/image.h"
#include "safe/base/active_capture.h"
#include "safe/base/device.h"

int acu_image_check_capture(const char *call) {
    acu_destroy_deferred();
    return acu_capture_delays(NULL)
               ? acu_fail(call, "", ACU_ERROR_CAPTURE,
                          "making a texture or surface would break the capture that is under way")
               : 0;
}

int acu_image_new(const char *call, const acu_class *kind, acu_buffer *memory,
                  unsigned long long raw, bool owned, acu_image **image) {
    acu_image *made = acu_object_new(call, kind, sizeof *made, memory->object.device);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->raw = raw;
    made->owned = owned;
    made->memory = memory;
    acu_buffer_keep_memory(memory);
    *image = made;
    return 0;
}

static int create_raw(const acu_image_making *m, unsigned long long *raw) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, m->memory->object.device);
    const int mode = acu_thread_ignore_captures();
    if (!code)
        code = m->create(m->data, raw);
    acu_thread_restore(mode);
    acu_guard_leave(&guard);
    return code;
}

int acu_image_create(const acu_image_making *m, acu_image **image) {
    acu_image *made = NULL;
    int code = acu_image_new(m->call, m->kind, m->memory, 0, false, &made);
    if (code)
        return code;
    code = create_raw(m, &made->raw);
    if (code) {
        acu_buffer *memory = made->memory;
        acu_object_discard(&made->object);
        (void)acu_buffer_give_up_memory(NULL, memory); /* the caller has it, too */
        return code;
    }
    made->owned = true;
    *image = made;
    return 0;
}

int acu_image_destroy(acu_image *image, int (*destroy)(unsigned long long raw)) {
    const bool mine = image->owned && !acu_is_unloading();
    int waited = mine ? acu_forgive_unloading(acu_storage_synchronize(image->memory->storage)) : 0;
    if (!acu_timeline_was_finished(waited))
        return ACU_LATER;
    int code = 0;
    if (mine && !acu_is_unloading()) {
        acu_guard guard;
        const int entered = acu_guard_enter(&guard, image->object.device);
        code = destroy(image->raw); /* also where the device could not be made current */
        code = entered ? entered : code;
        acu_guard_leave(&guard);
    }
    const int memory = acu_buffer_give_up_memory(NULL, image->memory);
    code = acu_forgive_unloading(code);
    return code ? code : waited ? waited : memory;
}

void acu_image_describe(const acu_object *object, acu_description *d) {
    const acu_image *image = (const acu_image *)object;
    acu_describe(d, "raw 0x%llx", image->raw);
    if (!image->owned)
        acu_describe(d, "wrapped");
}
