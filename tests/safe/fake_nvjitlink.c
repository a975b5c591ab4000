/* An nvJitLink that makes the tests' PTX of whatever is linked. */
#include "fake_nvjitlink.h"

struct fake_linker fake_linker;

static nvJitLinkResult fake_version(unsigned *major, unsigned *minor) {
    *major = 12;
    *minor = 4;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult fake_create(nvJitLinkHandle *linker, uint32_t count, const char **options) {
    static int handle;
    for (uint32_t i = 0; i < count; i++) {
        const size_t used = strlen(fake_linker.options);
        snprintf(fake_linker.options + used, sizeof fake_linker.options - used, "%s ", options[i]);
    }
    if (strstr(fake_linker.options, "--no-such-option"))
        return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
    *linker = (nvJitLinkHandle)(void *)&handle;
    fake_linker.alive++;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult fake_destroy(nvJitLinkHandle *linker) {
    *linker = NULL;
    fake_linker.alive--;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult fake_add(nvJitLinkHandle linker, nvJitLinkInputType type, const void *data,
                                size_t size, const char *name) {
    const size_t used = strlen(fake_linker.parts);
    const unsigned char *last = (const unsigned char *)data + size - 1;
    (void)linker;
    snprintf(fake_linker.parts + used, sizeof fake_linker.parts - used, "%d:%s%s;", (int)type, name,
             *last == 0 && type == NVJITLINK_INPUT_PTX ? "0" : "");
    return fake_linker.adds;
}

static nvJitLinkResult fake_complete(nvJitLinkHandle linker) {
    (void)linker;
    fake_linker.completed++;
    return fake_linker.completes;
}

/* The linked code is the tests' PTX, which every CUDA loads. */
static nvJitLinkResult fake_size(nvJitLinkHandle linker, size_t *size) {
    (void)linker;
    *size = strlen(kernels_ptx) + 1;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult fake_code(nvJitLinkHandle linker, void *code) {
    (void)linker;
    memcpy(code, kernels_ptx, strlen(kernels_ptx) + 1);
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult fake_errors_size(nvJitLinkHandle linker, size_t *size) {
    (void)linker;
    *size = strlen(fake_linker.errors) + 1;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult fake_errors(nvJitLinkHandle linker, char *log) {
    (void)linker;
    memcpy(log, fake_linker.errors, strlen(fake_linker.errors) + 1);
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult fake_info_size(nvJitLinkHandle linker, size_t *size) {
    (void)linker;
    *size = strlen(fake_linker.info) + 1;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult fake_info(nvJitLinkHandle linker, char *log) {
    (void)linker;
    memcpy(log, fake_linker.info, strlen(fake_linker.info) + 1);
    return NVJITLINK_SUCCESS;
}

#define FAKE(name, function) {name, (void (*)(void))(function)}
static void *find(const char *symbol, void *data) {
    static const struct {
        const char *name;
        void (*function)(void);
    } all[] = {
        FAKE("nvJitLinkVersion", fake_version),
        FAKE("nvJitLinkCreate", fake_create),
        FAKE("nvJitLinkDestroy", fake_destroy),
        FAKE("nvJitLinkAddData", fake_add),
        FAKE("nvJitLinkComplete", fake_complete),
        FAKE("nvJitLinkGetLinkedCubinSize", fake_size),
        FAKE("nvJitLinkGetLinkedCubin", fake_code),
        FAKE("nvJitLinkGetLinkedPtxSize", fake_size),
        FAKE("nvJitLinkGetLinkedPtx", fake_code),
        FAKE("nvJitLinkGetErrorLogSize", fake_errors_size),
        FAKE("nvJitLinkGetErrorLog", fake_errors),
        FAKE("nvJitLinkGetInfoLogSize", fake_info_size),
        FAKE("nvJitLinkGetInfoLog", fake_info),
    };
    void *address = NULL;
    (void)data;
    for (size_t i = 0; i < COUNT(all); i++)
        if (strcmp(all[i].name, symbol) == 0)
            memcpy(&address, &all[i].function, sizeof address);
    return address;
}

void load_fake_nvjitlink(void) {
    OK(acu_load(&(acu_load_options){.library = ACU_NVJITLINK, .resolve = find, .version = 12040}));
}

void clear_fake_nvjitlink(void) {
    memset(&fake_linker, 0, sizeof fake_linker);
    fake_linker.errors = fake_linker.info = "";
}
