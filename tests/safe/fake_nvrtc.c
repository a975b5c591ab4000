/* An NVRTC whose every program becomes the tests' PTX. */
#include "fake_nvrtc.h"

struct fake_nvrtc fake;

static nvrtcResult fake_version(int *major, int *minor) {
    *major = 12;
    *minor = 4;
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_count(int *count) {
    *count = 3;
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_architectures(int *all) {
    memcpy(all, fake.architectures, sizeof fake.architectures);
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_create(nvrtcProgram *program, const char *source, const char *name,
                               int count, const char *const *headers, const char *const *names) {
    static int handle;
    if (fake.creates)
        return fake.creates;
    fake.options[0] = fake.headers[0] = fake.expressions[0] = '\0';
    snprintf(fake.source, sizeof fake.source, "%s", source);
    snprintf(fake.name, sizeof fake.name, "%s", name);
    for (int i = 0; i < count; i++) {
        size_t used = strlen(fake.headers);
        snprintf(fake.headers + used, sizeof fake.headers - used, "%s: %s;", names[i], headers[i]);
    }
    *program = (nvrtcProgram)(void *)&handle;
    fake.is_lto = false;
    fake.alive++;
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_destroy(nvrtcProgram *program) {
    *program = NULL;
    fake.alive--;
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_expression(nvrtcProgram program, const char *expression) {
    (void)program;
    strncat(fake.expressions, expression, 20);
    strncat(fake.expressions, ";", 2);
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_compile(nvrtcProgram program, int count, const char *const *options) {
    (void)program;
    fake.compiled++;
    for (int i = 0; i < count; i++) {
        fake.is_lto = fake.is_lto || strcmp(options[i], "-dlto") == 0;
        strncat(fake.options, options[i], 60);
        strncat(fake.options, " ", 2);
    }
    return fake.compiles;
}

static nvrtcResult fake_log_size(nvrtcProgram program, size_t *size) {
    (void)program;
    *size = strlen(fake.log) + 1;
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_log(nvrtcProgram program, char *log) {
    (void)program;
    memcpy(log, fake.log, strlen(fake.log) + 1);
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_size(nvrtcProgram program, size_t *size) {
    (void)program;
    *size = fake.is_lto ? 1 : strlen(kernels_ptx) + 1;
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_ptx(nvrtcProgram program, char *ptx) {
    (void)program;
    memcpy(ptx, kernels_ptx, strlen(kernels_ptx) + 1);
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_no_size(nvrtcProgram program, size_t *size) {
    (void)program;
    *size = 0;
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_lto_size(nvrtcProgram program, size_t *size) {
    (void)program;
    *size = fake.is_lto ? sizeof fake_lto_ir - 1 : 0;
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_lto(nvrtcProgram program, char *lto) {
    (void)program;
    memcpy(lto, fake_lto_ir, sizeof fake_lto_ir - 1);
    return NVRTC_SUCCESS;
}

static nvrtcResult fake_lowered(nvrtcProgram program, const char *expression, const char **name) {
    (void)program;
    *name = strcmp(expression, "times<float>") == 0 ? "scale"
            : strcmp(expression, "&count") == 0     ? "counter"
                                                    : NULL;
    return *name ? NVRTC_SUCCESS : NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
}

static const char *fake_string(nvrtcResult result) {
    (void)result;
    return "played";
}

#define FAKE(name, function) {name, (void (*)(void))(function)}
static void *find(const char *symbol, void *data) {
    static const struct {
        const char *name;
        void (*function)(void);
    } all[] = {
        FAKE("nvrtcVersion", fake_version),
        FAKE("nvrtcGetNumSupportedArchs", fake_count),
        FAKE("nvrtcGetSupportedArchs", fake_architectures),
        FAKE("nvrtcCreateProgram", fake_create),
        FAKE("nvrtcDestroyProgram", fake_destroy),
        FAKE("nvrtcAddNameExpression", fake_expression),
        FAKE("nvrtcCompileProgram", fake_compile),
        FAKE("nvrtcGetProgramLogSize", fake_log_size),
        FAKE("nvrtcGetProgramLog", fake_log),
        FAKE("nvrtcGetCUBINSize", fake_no_size),
        FAKE("nvrtcGetPTXSize", fake_size),
        FAKE("nvrtcGetPTX", fake_ptx),
        FAKE("nvrtcGetLTOIRSize", fake_lto_size),
        FAKE("nvrtcGetLTOIR", fake_lto),
        FAKE("nvrtcGetLoweredName", fake_lowered),
        FAKE("nvrtcGetErrorString", fake_string),
    };
    void *address = NULL;
    (void)data;
    for (size_t i = 0; i < COUNT(all); i++)
        if (strcmp(all[i].name, symbol) == 0)
            memcpy(&address, &all[i].function, sizeof address);
    return address;
}

void load_fake_nvrtc(void) {
    OK(acu_load(&(acu_load_options){.library = ACU_NVRTC, .resolve = find, .version = 12040}));
}

int begin_compiling(void **state) {
    memset(&fake, 0, sizeof fake);
    fake.log = "";
    memcpy(fake.architectures, (const int[]){52, 80, 100}, sizeof fake.architectures);
    return begin_kernels(state);
}

int end_compiling(void **state) {
    return fake.alive || nothing_left(state);
}
