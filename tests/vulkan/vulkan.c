/* As much of Vulkan as the tests need. A call that fails ends the program: the tests are not about
 * Vulkan. */
#include "vulkan.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTANCE_FUNCTIONS(X)                                                                      \
    X(CreateDevice)                                                                                \
    X(DestroyInstance)                                                                             \
    X(EnumerateDeviceExtensionProperties)                                                          \
    X(EnumeratePhysicalDevices)                                                                    \
    X(GetDeviceProcAddr)                                                                           \
    X(GetPhysicalDeviceExternalSemaphoreProperties)                                                \
    X(GetPhysicalDeviceMemoryProperties)                                                           \
    X(GetPhysicalDeviceProperties2)                                                                \
    X(GetPhysicalDeviceQueueFamilyProperties)
#define DEVICE_FUNCTIONS(X)                                                                        \
    X(AllocateCommandBuffers)                                                                      \
    X(AllocateMemory)                                                                              \
    X(BeginCommandBuffer)                                                                          \
    X(BindBufferMemory)                                                                            \
    X(BindImageMemory)                                                                             \
    X(CmdCopyBuffer)                                                                               \
    X(CmdCopyBufferToImage)                                                                        \
    X(CmdCopyImageToBuffer)                                                                        \
    X(CmdPipelineBarrier)                                                                          \
    X(CreateBuffer)                                                                                \
    X(CreateCommandPool)                                                                           \
    X(CreateImage)                                                                                 \
    X(CreateSemaphore)                                                                             \
    X(DestroyBuffer)                                                                               \
    X(DestroyCommandPool)                                                                          \
    X(DestroyDevice)                                                                               \
    X(DestroyImage)                                                                                \
    X(DestroySemaphore)                                                                            \
    X(DeviceWaitIdle)                                                                              \
    X(EndCommandBuffer)                                                                            \
    X(FreeMemory)                                                                                  \
    X(GetBufferMemoryRequirements)                                                                 \
    X(GetDeviceQueue)                                                                              \
    X(GetImageMemoryRequirements)                                                                  \
    X(GetMemoryFdKHR)                                                                              \
    X(GetSemaphoreCounterValue)                                                                    \
    X(GetSemaphoreFdKHR)                                                                           \
    X(MapMemory)                                                                                   \
    X(QueueSubmit)                                                                                 \
    X(SignalSemaphore)

#define DECLARE(name) static PFN_vk##name name;
INSTANCE_FUNCTIONS(DECLARE)
DEVICE_FUNCTIONS(DECLARE)

static VkInstance instance;
static VkPhysicalDevice physical;
static VkPhysicalDeviceProperties2 properties;
static VkPhysicalDeviceMemoryProperties memories;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static bool has_semaphores;

#define OPAQUE VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT

static void must(VkResult result, const char *call) {
    if (result >= 0)
        return;
    fprintf(stderr, "Vulkan's %s returned %d\n", call, (int)result);
    exit(1);
}
#define MUST(call) must((call), #call)

/* ---- opening ---- */

static bool has_extension(const char *name) {
    uint32_t count = 0;
    bool found = false;
    MUST(EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL));
    VkExtensionProperties *all = calloc(count, sizeof *all);
    if (!all)
        abort();
    MUST(EnumerateDeviceExtensionProperties(physical, NULL, &count, all));
    for (uint32_t i = 0; i < count; i++)
        found |= strcmp(all[i].extensionName, name) == 0;
    free(all);
    return found;
}

static bool exports_semaphores(VkSemaphoreType type) {
    const VkSemaphoreTypeCreateInfo of = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                          .semaphoreType = type};
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &of,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties can = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    GetPhysicalDeviceExternalSemaphoreProperties(physical, &info, &can);
    return can.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
}

static const char *open_instance(void) {
    void *library = dlopen("libvulkan.so.1", RTLD_NOW);
    PFN_vkGetInstanceProcAddr find = NULL;
    PFN_vkCreateInstance create;
    if (!library)
        return "there is no libvulkan.so.1";
    *(void **)&find = dlsym(library, "vkGetInstanceProcAddr");
    create = (PFN_vkCreateInstance)find(NULL, "vkCreateInstance");
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    if (create(&info, NULL, &instance))
        return "Vulkan has no driver";
#define FIND(name) name = (PFN_vk##name)find(instance, "vk" #name);
    INSTANCE_FUNCTIONS(FIND)
    return NULL;
}

static const char *choose_device(const unsigned char *uuid) {
    VkPhysicalDevice all[16];
    uint32_t count = 16;
    MUST(EnumeratePhysicalDevices(instance, &count, all));
    for (uint32_t i = 0; i < count; i++) {
        VkPhysicalDeviceIDProperties id = {.sType =
                                               VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
        properties = (VkPhysicalDeviceProperties2){
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
        physical = all[i];
        GetPhysicalDeviceProperties2(physical, &properties);
        if (uuid ? memcmp(id.deviceUUID, uuid, sizeof id.deviceUUID) == 0
                 : properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU)
            return properties.properties.apiVersion >= VK_API_VERSION_1_2
                       ? NULL
                       : "the device has no Vulkan 1.2";
    }
    return uuid ? "no device of Vulkan has the UUID of CUDA's"
                : "Vulkan has no driver that computes on the CPU, such as Mesa's";
}

static uint32_t family_of_queue(void) {
    VkQueueFamilyProperties families[16];
    uint32_t count = 16, i = 0;
    GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    while (i < count && !(families[i].queueFlags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)))
        i++;
    return i;
}

static void open_device(void) {
    const float priority = 1;
    const char *extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME};
    const VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                            .queueFamilyIndex = family_of_queue(),
                                            .queueCount = 1,
                                            .pQueuePriorities = &priority};
    VkPhysicalDeviceTimelineSemaphoreFeatures timelines = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        .timelineSemaphore = VK_TRUE};
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                     .pNext = &timelines,
                                     .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queues,
                                     .enabledExtensionCount = has_semaphores ? 2 : 1,
                                     .ppEnabledExtensionNames = extensions};
    MUST(CreateDevice(physical, &info, NULL, &device));
#define FIND_DEVICE(name) name = (PFN_vk##name)GetDeviceProcAddr(device, "vk" #name);
    DEVICE_FUNCTIONS(FIND_DEVICE)
    GetDeviceQueue(device, queues.queueFamilyIndex, 0, &queue);
    const VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                              .queueFamilyIndex = queues.queueFamilyIndex};
    MUST(CreateCommandPool(device, &commands, NULL, &pool));
}

const char *vulkan_open(const unsigned char *uuid) {
    const char *why = open_instance();
    if (!why)
        why = choose_device(uuid);
    if (!why && !has_extension(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME))
        why = "this Vulkan exports no memory as file descriptors";
    if (why)
        return why;
    has_semaphores = has_extension(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME) &&
                     exports_semaphores(VK_SEMAPHORE_TYPE_BINARY) &&
                     exports_semaphores(VK_SEMAPHORE_TYPE_TIMELINE);
    GetPhysicalDeviceMemoryProperties(physical, &memories);
    open_device();
    return NULL;
}

void vulkan_close(void) {
    vulkan_wait();
    DestroyCommandPool(device, pool, NULL);
    DestroyDevice(device, NULL);
    DestroyInstance(instance, NULL);
}

const char *vulkan_name(void) {
    return properties.properties.deviceName;
}

bool vulkan_has_semaphores(void) {
    return has_semaphores;
}

/* ---- memory ---- */

static uint32_t type_of_memory(uint32_t allowed, VkMemoryPropertyFlags wanted) {
    for (uint32_t i = 0; i < memories.memoryTypeCount; i++)
        if (allowed >> i & 1 && (memories.memoryTypes[i].propertyFlags & wanted) == wanted)
            return i;
    fprintf(stderr, "Vulkan has no memory of kind 0x%x\n", (unsigned)wanted);
    exit(1);
}

/* Allocates memory: exported, imported where `descriptor` is not -1, or for the host. */
static void allocate(vulkan_memory *m, VkMemoryRequirements needs, bool exported, int descriptor) {
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
        .buffer = m->buffer,
        .image = m->image};
    const VkExportMemoryAllocateInfo to = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                           .pNext = m->dedicated ? &dedicated : NULL,
                                           .handleTypes = OPAQUE};
    const VkImportMemoryFdInfoKHR from = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                          .handleType = OPAQUE,
                                          .fd = descriptor};
    VkMemoryPropertyFlags kind = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    if (!exported)
        kind = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = descriptor >= 0 ? (const void *)&from
                                                : exported      ? (const void *)&to
                                                                : NULL,
                                       .allocationSize = needs.size,
                                       .memoryTypeIndex =
                                           type_of_memory(needs.memoryTypeBits, kind)};
    MUST(AllocateMemory(device, &info, NULL, &m->memory));
    m->bytes = needs.size;
    if (!exported)
        MUST(MapMemory(device, m->memory, 0, VK_WHOLE_SIZE, 0, &m->host));
}

static vulkan_memory new_buffer(size_t bytes, bool exported, bool dedicated, int descriptor) {
    vulkan_memory m = {.dedicated = dedicated};
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = OPAQUE};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = exported ? &external : NULL,
                                     .size = bytes,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                              VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    MUST(CreateBuffer(device, &info, NULL, &m.buffer));
    GetBufferMemoryRequirements(device, m.buffer, &needs);
    allocate(&m, needs, exported, descriptor);
    MUST(BindBufferMemory(device, m.buffer, m.memory, 0));
    return m;
}

vulkan_memory vulkan_new_buffer(size_t bytes, bool exported, bool dedicated) {
    return new_buffer(bytes, exported, dedicated, -1);
}

vulkan_memory vulkan_import_buffer(size_t bytes, int descriptor) {
    return new_buffer(bytes, true, false, descriptor);
}

vulkan_memory vulkan_new_image(unsigned columns, unsigned rows, unsigned levels) {
    vulkan_memory m = {.dedicated = true, .columns = columns, .rows = rows, .levels = levels};
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, .handleTypes = OPAQUE};
    const VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .pNext = &external,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = VK_FORMAT_R32_UINT,
        .extent = {columns, rows, 1},
        .mipLevels = levels,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                 VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT};
    VkMemoryRequirements needs;
    MUST(CreateImage(device, &info, NULL, &m.image));
    GetImageMemoryRequirements(device, m.image, &needs);
    allocate(&m, needs, true, -1);
    MUST(BindImageMemory(device, m.image, m.memory, 0));
    return m;
}

void vulkan_free(vulkan_memory *m) {
    vulkan_wait();
    DestroyBuffer(device, m->buffer, NULL);
    DestroyImage(device, m->image, NULL);
    FreeMemory(device, m->memory, NULL);
    *m = (vulkan_memory){.bytes = 0};
}

int vulkan_export(const vulkan_memory *m) {
    int descriptor = -1;
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = m->memory,
                                       .handleType = OPAQUE};
    MUST(GetMemoryFdKHR(device, &info, &descriptor));
    return descriptor;
}

/* ---- semaphores ---- */

VkSemaphore vulkan_new_semaphore(bool timeline) {
    VkSemaphore made = VK_NULL_HANDLE;
    const VkExportSemaphoreCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .pNext = &external,
                                            .semaphoreType = timeline ? VK_SEMAPHORE_TYPE_TIMELINE
                                                                      : VK_SEMAPHORE_TYPE_BINARY};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &type};
    MUST(CreateSemaphore(device, &info, NULL, &made));
    return made;
}

void vulkan_free_semaphore(VkSemaphore semaphore) {
    vulkan_wait();
    DestroySemaphore(device, semaphore, NULL);
}

int vulkan_export_semaphore(VkSemaphore semaphore) {
    int descriptor = -1;
    const VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                          .semaphore = semaphore,
                                          .handleType =
                                              VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    MUST(GetSemaphoreFdKHR(device, &info, &descriptor));
    return descriptor;
}

uint64_t vulkan_value(VkSemaphore timeline) {
    uint64_t value = 0;
    MUST(GetSemaphoreCounterValue(device, timeline, &value));
    return value;
}

void vulkan_signal(VkSemaphore timeline, uint64_t value) {
    const VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = timeline, .value = value};
    MUST(SignalSemaphore(device, &info));
}

/* ---- commands ---- */

static VkCommandBuffer begin(void) {
    VkCommandBuffer commands = NULL;
    const VkCommandBufferAllocateInfo info = {.sType =
                                                  VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo once = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    MUST(AllocateCommandBuffers(device, &info, &commands));
    MUST(BeginCommandBuffer(commands, &once));
    return commands;
}

static void submit(VkCommandBuffer commands, vulkan_order order) {
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                 .dstAccessMask =
                                     VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_HOST_READ_BIT};
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = order.wait != VK_NULL_HANDLE,
        .pWaitSemaphoreValues = &order.wait_value,
        .signalSemaphoreValueCount = order.signal != VK_NULL_HANDLE,
        .pSignalSemaphoreValues = &order.signal_value};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = &values,
                               .waitSemaphoreCount = order.wait != VK_NULL_HANDLE,
                               .pWaitSemaphores = &order.wait,
                               .pWaitDstStageMask = &stage,
                               .commandBufferCount = 1,
                               .pCommandBuffers = &commands,
                               .signalSemaphoreCount = order.signal != VK_NULL_HANDLE,
                               .pSignalSemaphores = &order.signal};
    CmdPipelineBarrier(commands, stage, stage | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &all, 0, NULL, 0,
                       NULL);
    MUST(EndCommandBuffer(commands));
    MUST(QueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
}

void vulkan_wait(void) {
    MUST(DeviceWaitIdle(device));
}

void vulkan_copy(const vulkan_memory *to, const vulkan_memory *from, vulkan_order order) {
    VkCommandBuffer commands = begin();
    const VkBufferCopy all = {.size = to->bytes < from->bytes ? to->bytes : from->bytes};
    CmdCopyBuffer(commands, from->buffer, to->buffer, 1, &all);
    submit(commands, order);
}

/* The image is in the layout GENERAL whenever another API may use it. */
static void change_layout(VkCommandBuffer commands, const vulkan_memory *image,
                          VkImageLayout before) {
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
        .oldLayout = before,
        .newLayout = VK_IMAGE_LAYOUT_GENERAL,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image->image,
        .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, image->levels, 0, 1}};
    CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static void regions_of(const vulkan_memory *image, VkBufferImageCopy *regions) {
    VkDeviceSize at = 0;
    for (unsigned i = 0; i < image->levels; i++) {
        const unsigned columns = image->columns >> i ? image->columns >> i : 1;
        const unsigned rows = image->rows >> i ? image->rows >> i : 1;
        regions[i] = (VkBufferImageCopy){.bufferOffset = at,
                                         .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, i, 0, 1},
                                         .imageExtent = {columns, rows, 1}};
        at += (VkDeviceSize)columns * rows * 4;
    }
}

void vulkan_write_image(const vulkan_memory *image, const vulkan_memory *from, vulkan_order order) {
    VkBufferImageCopy regions[16];
    VkCommandBuffer commands = begin();
    change_layout(commands, image, VK_IMAGE_LAYOUT_UNDEFINED);
    regions_of(image, regions);
    CmdCopyBufferToImage(commands, from->buffer, image->image, VK_IMAGE_LAYOUT_GENERAL,
                         image->levels, regions);
    submit(commands, order);
}

void vulkan_read_image(const vulkan_memory *to, const vulkan_memory *image, vulkan_order order) {
    VkBufferImageCopy regions[16];
    VkCommandBuffer commands = begin();
    change_layout(commands, image, VK_IMAGE_LAYOUT_GENERAL);
    regions_of(image, regions);
    CmdCopyImageToBuffer(commands, image->image, VK_IMAGE_LAYOUT_GENERAL, to->buffer, image->levels,
                         regions);
    submit(commands, order);
}
