/* Misuse of memory and semaphores of other APIs. Nothing here gets to CUDA, so that the raw handles
 * need not be CUDA's. */
#include "misuse.h"

static int anything;
static struct CUexternalMemory_st *const raw_memory = (void *)&anything;
static struct CUexternalSemaphore_st *const raw_semaphore = (void *)&anything;
static acu_external_memory *memory;
static acu_external_semaphore *semaphore;

static int begin_external(void **state) {
    int code = begin_misuse(state);
    OK(acu_external_memory_wrap(0, raw_memory, 64, &memory));
    OK(acu_external_semaphore_wrap(0, raw_semaphore, &semaphore));
    return code;
}

static int end_external(void **state) {
    OK(acu_external_memory_release(memory));
    OK(acu_external_semaphore_release(semaphore));
    return end_misuse(state);
}

#define EXTERNAL_TEST(function) SAFE_TEST(function, begin_external, end_external)

static void memories(void **state) {
    (void)state;
    acu_external_memory *made = NULL;
    acu_external_memory_info info;
    acu_buffer *buffer = NULL;
    acu_mipmap *mipmap = NULL;
    const acu_format format = {.dtype = ACU_U8};
    const acu_extent extent = {4, 4, 0};
    const acu_external_memory_source source = {
        ACU_EXTERNAL_MEMORY_OPAQUE_FD, 0, NULL, NULL, 64, false};
    NOT_NULL(acu_external_memory_import(0, &source, NULL));
    NOT_NULL(acu_external_memory_import(0, NULL, &made));
    NO_DEVICE(acu_external_memory_import(absent, &source, &made));
    NOT_NULL(acu_external_memory_wrap(0, raw_memory, 64, NULL));
    NOT_NULL(acu_external_memory_wrap(0, NULL, 64, &made));
    NO_DEVICE(acu_external_memory_wrap(absent, raw_memory, 64, &made));
    NOT_NULL(acu_external_memory_adopt(0, raw_memory, 64, NULL));
    NOT_NULL(acu_external_memory_adopt(0, NULL, 64, &made));
    NO_DEVICE(acu_external_memory_adopt(absent, raw_memory, 64, &made));
    REFUSED(acu_external_memory_adopt(0, raw_memory, 0, &made), ACU_ERROR_RANGE, "0 bytes");
    HANDLE(acu_external_memory_get_info(bad, &info));
    NOT_NULL(acu_external_memory_get_info(memory, NULL));
    HANDLE(acu_external_memory_create_buffer(bad, 0, good.stream, ACU_U8, 1, &buffer));
    HANDLE(acu_external_memory_create_buffer(memory, 0, bad, ACU_U8, 1, &buffer));
    NOT_NULL(acu_external_memory_create_buffer(memory, 0, good.stream, ACU_U8, 1, NULL));
    HANDLE(acu_external_memory_create_mipmap(bad, 0, good.stream, format, extent, 1, 0, &mipmap));
    HANDLE(acu_external_memory_create_mipmap(memory, 0, bad, format, extent, 1, 0, &mipmap));
    NOT_NULL(acu_external_memory_create_mipmap(memory, 0, good.stream, format, extent, 1, 0, NULL));
    assert_true(made == NULL && buffer == NULL && mipmap == NULL);
    SAYS(NULL, acu_external_memory_raw(bad));
    SAYS(0, acu_external_memory_bytes(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_external_memory_device(bad));
    OWNERS(external_memory);
}

static void semaphores(void **state) {
    (void)state;
    acu_external_semaphore *made = NULL;
    acu_external_semaphore_info info;
    const acu_external_semaphore_source source = {ACU_EXTERNAL_SEMAPHORE_OPAQUE_FD, 0, NULL, NULL};
    NOT_NULL(acu_external_semaphore_import(0, &source, NULL));
    NOT_NULL(acu_external_semaphore_import(0, NULL, &made));
    NO_DEVICE(acu_external_semaphore_import(absent, &source, &made));
    NOT_NULL(acu_external_semaphore_wrap(0, raw_semaphore, NULL));
    NOT_NULL(acu_external_semaphore_wrap(0, NULL, &made));
    NO_DEVICE(acu_external_semaphore_wrap(absent, raw_semaphore, &made));
    NOT_NULL(acu_external_semaphore_adopt(0, raw_semaphore, NULL));
    NOT_NULL(acu_external_semaphore_adopt(0, NULL, &made));
    NO_DEVICE(acu_external_semaphore_adopt(absent, raw_semaphore, &made));
    NOT_NULL(acu_external_semaphore_get_nvsci_attributes(0, ACU_NVSCI_SYNC_WAIT, NULL));
    NO_DEVICE(acu_external_semaphore_get_nvsci_attributes(absent, ACU_NVSCI_SYNC_WAIT, &anything));
    REFUSED(acu_external_semaphore_get_nvsci_attributes(0, 0, &anything), ACU_ERROR_ARGUMENT,
            "'uses' is 0x0");
    REFUSED(acu_external_semaphore_get_nvsci_attributes(0, 4, &anything), ACU_ERROR_ARGUMENT,
            "'uses' is 0x4");
    HANDLE(acu_external_semaphore_get_info(bad, &info));
    NOT_NULL(acu_external_semaphore_get_info(semaphore, NULL));
    assert_null(made);
    SAYS(NULL, acu_external_semaphore_raw(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_external_semaphore_device(bad));
    OWNERS(external_semaphore);
}

static void signals_and_waits(void **state) {
    (void)state;
    const acu_semaphore_signal signals[] = {{.semaphore = semaphore}};
    const acu_semaphore_wait waits[] = {{.semaphore = semaphore}};
    HANDLE(acu_external_semaphore_signal(bad, 1, good.stream));
    HANDLE(acu_external_semaphore_signal(semaphore, 1, bad));
    HANDLE(acu_external_semaphore_wait(bad, 1, good.stream));
    HANDLE(acu_external_semaphore_wait(semaphore, 1, bad));
    HANDLE(acu_external_signal(&((acu_semaphore_signal){.semaphore = bad}), 1, good.stream));
    HANDLE(acu_external_signal(signals, 1, bad));
    NOT_NULL(acu_external_signal(NULL, 1, good.stream));
    HANDLE(acu_external_wait(&((acu_semaphore_wait){.semaphore = bad}), 1, good.stream));
    HANDLE(acu_external_wait(waits, 1, bad));
    NOT_NULL(acu_external_wait(NULL, 1, good.stream));
}

#define ADDED(kind, item)                                                                          \
    acu_graph_add_semaphore_##kind(good.graph, NULL, 0,                                            \
                                   &((acu_semaphore_##kind){.semaphore = (item)}), 1, NULL)
#define SET(noun, kind, ...)                                                                       \
    acu_##noun##_set_semaphore_##kind(__VA_ARGS__, &((acu_semaphore_##kind){.semaphore = bad}), 1)

static void nodes(void **state) {
    (void)state;
    HANDLE(ADDED(signal, bad));
    HANDLE(ADDED(wait, bad));
    HANDLE(SET(node, signal, good.node));
    HANDLE(SET(node, wait, good.node));
    HANDLE(SET(exec, signal, good.exec, good.node));
    HANDLE(SET(exec, wait, good.exec, good.node));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXTERNAL_TEST(memories),
        EXTERNAL_TEST(semaphores),
        EXTERNAL_TEST(signals_and_waits),
        EXTERNAL_TEST(nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
