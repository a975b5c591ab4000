/* Places, and their devices, which are opened once. */
#include "runtime/place.h"

#include <anycuda/launch.h>

#include "core/fail.h"
#include "runtime/backend.h"
#include "runtime/runtime.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

size_t acu_place_describe(acu_place place, char *text, size_t size) {
    const char *name = acu_runtime_name(place.runtime);
    char unknown[32];
    if (!*name) {
        (void)snprintf(unknown, sizeof unknown, "runtime %d", place.runtime);
        name = unknown;
    }
    const bool is_cpu = acu_place_is(place, acu_place_cpu());
    int length = is_cpu ? snprintf(text, text ? size : 0, "%s", name)
                        : snprintf(text, text ? size : 0, "%s:%d", name, place.device);
    return length > 0 ? (size_t)length : 0;
}

/* Reads a number of digits alone; returns -1 where the text is none. */
static int parse_number(const char *text) {
    long number = 0;
    if (!*text || strspn(text, "0123456789") != strlen(text))
        return -1;
    for (; *text; text++)
        if ((number = number * 10 + (*text - '0')) > INT_MAX)
            return -1;
    return (int)number;
}

acu_result acu_place_parse(const char *text, acu_place *place) {
    if (!text || !place)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'%s' is NULL", text ? "place" : "text");
    const size_t length = strcspn(text, ":");
    const int device = text[length] ? parse_number(text + length + 1) : 0;
    if (length == 0 || device < 0)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT,
                        "'%.40s' is no place; write a runtime's name, or \"cuda:1\"", text);
    for (int i = 0; i < acu_runtime_count(); i++) {
        const char *name = acu_runtime_name(i);
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            *place = (acu_place){i, device};
            return ACU_SUCCESS;
        }
    }
    acu_fail_hint("acu_runtime_name() tells the names; acu_runtime_register() and "
                  "acu_runtime_open() add one");
    return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "no runtime has the name '%.*s'",
                    (int)(length < 40 ? length : 40), text);
}

/* ---- devices ---- */

unsigned acu_place_forks;

/* All devices that are open or being opened. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    acu_place_device *first;
} devices = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL};

/* Forgets in a forked process what was opened before: neither the back ends' threads nor their
 * drivers' state are in it. */
static void forget_devices(void) {
    pthread_mutex_init(&devices.lock, NULL);
    pthread_cond_init(&devices.opened, NULL);
    devices.first = NULL;
    acu_place_forks++;
}

/* Closes at exit the devices that nothing uses any more, where the back end allows it. */
static void close_devices(void) {
    pthread_mutex_lock(&devices.lock);
    acu_place_device **link = &devices.first;
    while (*link) {
        acu_place_device *device = *link;
        pthread_mutex_lock(&device->lock);
        const bool idle = device->device && !device->clients && !device->programs;
        pthread_mutex_unlock(&device->lock);
        if (!idle || !device->table->closes_at_exit) {
            link = &device->next;
            continue;
        }
        *link = device->next;
        device->table->device_close(device->device);
        free(device);
    }
    pthread_mutex_unlock(&devices.lock);
}

static void prepare_process(void) {
    (void)pthread_atfork(NULL, NULL, forget_devices);
    (void)atexit(close_devices);
}

void acu_place_device_keep(acu_place_device *device, int programs) {
    pthread_mutex_lock(&device->lock);
    device->programs += (unsigned)programs;
    pthread_mutex_unlock(&device->lock);
}

/* Clears an ability for which the table has no function. */
static void limit(acu_place_info *info, unsigned can, bool has_function) {
    if (!has_function)
        info->can &= ~can;
}

/* Clears the abilities for which the table has no function, and limits that cannot be. */
static void correct(const acu_backend *table, acu_place_info *info) {
    limit(info, ACU_CAN_CAPTURE, table->capture_begin);
    limit(info, ACU_CAN_ADDRESS, table->memory_get_address);
    limit(info, ACU_CAN_USE_HOST, table->memory_get_host);
    limit(info, ACU_CAN_WRAP, table->memory_wrap);
    limit(info, ACU_CAN_READ_BESIDE, table->read_after && table->mark_create);
    limit(info, ACU_CAN_COPY_PEERS, table->copy_peer);
    info->name[sizeof info->name - 1] = '\0';
    if (info->alignment == 0)
        info->alignment = 1;
    if (info->largest_block == 0)
        info->largest_block = INT64_MAX;
    if (info->max_rank == 0 || info->max_rank > ACU_MAX_RANK)
        info->max_rank = ACU_MAX_RANK;
    if (info->max_blocks == 0 || info->max_blocks > ACU_MAX_ARGUMENTS)
        info->max_blocks = ACU_MAX_ARGUMENTS;
    for (int i = 0; i < 3; i++)
        info->max_group[i] = info->max_group[i] ? info->max_group[i] : SIZE_MAX;
    if (info->max_group_items == 0)
        info->max_group_items = SIZE_MAX;
}

acu_result acu_place_count_devices(const char *call, int runtime, int *count) {
    const acu_backend *table = acu_runtime_table(runtime);
    const char *name = acu_runtime_name(runtime);
    char object[64];
    *count = 0;
    if (!*name)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "there is no runtime %d", runtime);
    (void)snprintf(object, sizeof object, "runtime %s", name);
    if (!table)
        return acu_fail(call, object, ACU_NOT_SUPPORTED,
                        "this program does not have the runtime; it has one whose place it names "
                        "(acu_place_%s()), and all after acu_runtime_add_all()",
                        name);
    acu_result code = table->count_devices(count);
    if (code || *count < 0)
        *count = 0;
    return code ? acu_backend_failed(call, object, code) : ACU_SUCCESS;
}

/* Opens a device by its back end; the failure is recorded. */
static acu_result open_device(const char *call, acu_place_device *d) {
    char text[64];
    int count;
    acu_backend_device *device = NULL;
    ACU_TRY(acu_place_count_devices(call, d->place.runtime, &count));
    d->table = acu_runtime_table(d->place.runtime);
    (void)acu_place_describe(d->place, text, sizeof text);
    if (d->place.device < 0 || d->place.device >= count)
        return acu_fail(call, text, 101, "there is no such device; %s has %d",
                        acu_runtime_name(d->place.runtime), count);
    acu_result code = d->table->device_open(d->place.device, &device);
    code = acu_backend_check(code, device, "device");
    if (code)
        return acu_backend_failed(call, text, code);
    code = d->table->device_get_info(device, &d->info);
    if (code) {
        code = acu_backend_failed(call, text, code);
        d->table->device_close(device);
        return code;
    }
    correct(d->table, &d->info);
    d->device = device;
    return ACU_SUCCESS;
}

/* Returns the device of a place, or NULL; under the lock of all devices. A device that another
 * thread is opening is waited for. */
static acu_place_device *find(acu_place place) {
    acu_place_device *d = devices.first;
    while (d && !(acu_place_is(d->place, place) && d->device)) {
        if (!acu_place_is(d->place, place)) {
            d = d->next;
            continue;
        }
        pthread_cond_wait(&devices.opened, &devices.lock);
        d = devices.first; /* the list may be another one now */
    }
    return d;
}

static void remove_device(acu_place_device *device) {
    acu_place_device **link = &devices.first;
    while (*link != device)
        link = &(*link)->next;
    *link = device->next;
}

/* Opens a device that the list has not. The lock of all devices is held, and given up meanwhile: a
 * back end may use other places in its function. */
static acu_result open_new(const char *call, acu_place place, acu_place_device **device) {
    static pthread_once_t prepared = PTHREAD_ONCE_INIT;
    acu_place_device *d = calloc(1, sizeof *d);
    if (!d)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for a device");
    d->place = place;
    pthread_mutex_init(&d->lock, NULL);
    d->next = devices.first;
    devices.first = d;
    pthread_mutex_unlock(&devices.lock);
    acu_place_device open = {.place = place};
    acu_result code = open_device(call, &open);
    if (!code)
        (void)pthread_once(&prepared, prepare_process); /* after the driver's own functions */
    pthread_mutex_lock(&devices.lock);
    if (code) {
        remove_device(d);
        free(d);
    } else {
        d->table = open.table;
        d->info = open.info;
        d->device = open.device;
        *device = d;
    }
    pthread_cond_broadcast(&devices.opened);
    return code;
}

acu_result acu_place_open(const char *call, acu_place place, acu_place_device **device) {
    acu_result code = ACU_SUCCESS;
    pthread_mutex_lock(&devices.lock);
    *device = find(place);
    if (!*device)
        code = open_new(call, place, device);
    pthread_mutex_unlock(&devices.lock);
    return code;
}

/* ---- what a place is ---- */

acu_result acu_place_get_info(acu_place place, acu_place_info *info) {
    acu_place_device *device;
    if (!info)
        return acu_fail(__func__, "", ACU_ERROR_ARGUMENT, "'info' is NULL");
    ACU_TRY(acu_place_open(__func__, place, &device));
    *info = device->info;
    return ACU_SUCCESS;
}

/* Returns whether C on the host computes with a type. */
static bool host_computes(acu_dtype dtype) {
    switch (dtype) {
    case ACU_F64:
    case ACU_F32:
    case ACU_I8:
    case ACU_I16:
    case ACU_I32:
    case ACU_I64:
    case ACU_U8:
    case ACU_U16:
    case ACU_U32:
    case ACU_U64:
    case ACU_BOOL:
    case ACU_C64:
    case ACU_C128:
        return true;
    default:
        return false;
    }
}

bool acu_place_computes(acu_place place, acu_dtype dtype) {
    acu_place_device *device;
    acu_saved_record before;
    if (acu_dtype_size(dtype) == 0)
        return false;
    acu_record_save(&before);
    if (acu_place_open(__func__, place, &device) != ACU_SUCCESS) {
        acu_record_restore(&before);
        return false;
    }
    return device->table->computes ? device->table->computes(device->device, dtype)
                                   : host_computes(dtype);
}
