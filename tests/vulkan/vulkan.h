/*
 * As much of Vulkan as the tests need: one device without a window, buffers, images and semaphores
 * that it exports, and commands that write and read them. The loader, libvulkan.so.1, is opened at
 * run time.
 */
#ifndef VULKAN_TEST_VULKAN_H
#define VULKAN_TEST_VULKAN_H

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <stdbool.h>
#include <stddef.h>

/* A buffer or an image, with memory of its own. */
typedef struct vulkan_memory {
    VkDeviceMemory memory;
    VkBuffer buffer; /* or */
    VkImage image;
    size_t bytes;     /* of the allocation */
    bool dedicated;   /* the allocation is of this buffer or image alone */
    void *host;       /* where the host sees it; NULL: nowhere */
    unsigned columns; /* of an image: elements of 4 bytes, in level 0 */
    unsigned rows, levels;
} vulkan_memory;

/* What a submission waits for and signals; NULL is no semaphore. `value` is a timeline's. */
typedef struct vulkan_order {
    VkSemaphore wait, signal;
    uint64_t wait_value, signal_value;
} vulkan_order;

/* Opens the device with that UUID, or where `uuid` is NULL one that is the CPU. Returns NULL, or
 * why there is none. */
const char *vulkan_open(const unsigned char *uuid);
void vulkan_close(void);
/* Returns the device's name, and whether it exports semaphores. */
const char *vulkan_name(void);
bool vulkan_has_semaphores(void);

/* Make what another API can import, unless `exported` is false: then the host sees the buffer. */
vulkan_memory vulkan_new_buffer(size_t bytes, bool exported, bool dedicated);
vulkan_memory vulkan_new_image(unsigned columns, unsigned rows, unsigned levels);
/* Makes a buffer on memory of another API, which takes the descriptor over. */
vulkan_memory vulkan_import_buffer(size_t bytes, int descriptor);
void vulkan_free(vulkan_memory *memory);
/* Returns a new descriptor. */
int vulkan_export(const vulkan_memory *memory);

VkSemaphore vulkan_new_semaphore(bool timeline);
void vulkan_free_semaphore(VkSemaphore semaphore);
int vulkan_export_semaphore(VkSemaphore semaphore);
uint64_t vulkan_value(VkSemaphore timeline);
void vulkan_signal(VkSemaphore timeline, uint64_t value);

/* Submit a copy of a whole buffer, and do not wait; vulkan_wait() waits for all of them. */
void vulkan_copy(const vulkan_memory *to, const vulkan_memory *from, vulkan_order order);
/* Copy between an image and a buffer that has the levels one after the other. */
void vulkan_write_image(const vulkan_memory *image, const vulkan_memory *from, vulkan_order order);
void vulkan_read_image(const vulkan_memory *to, const vulkan_memory *image, vulkan_order order);
void vulkan_wait(void);

#endif
