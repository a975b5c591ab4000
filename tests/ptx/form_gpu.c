/*
 * Runs the kernels of ptx_form_answers on a GPU, through the driver: form_gpu FOLDER writes
 * FOLDER/results.bin. The folder has what `ptx_form_answers write` made, and each PTX file as a
 * .cubin.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long address;

static void *library;

static void *call(const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "the driver has no %s\n", name);
        exit(1);
    }
    return found;
}

#define CHECK(expression) check((expression), #expression)

static void check(int code, const char *what) {
    if (code) {
        fprintf(stderr, "%s: %d\n", what, code);
        exit(1);
    }
}

static char *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    if (fseek(file, 0, SEEK_END))
        exit(1);
    *size = (size_t)ftell(file);
    if (fseek(file, 0, SEEK_SET))
        exit(1);
    char *bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size)
        exit(1);
    bytes[*size] = '\0';
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    char path[512], name[64], entry[64], loaded[64] = "";
    size_t size, at, bytes, end = 0;
    void *module = NULL, *function, *context;
    address input, output;
    int device;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (argc != 2 || !library)
        return 1;
    int (*load)(void **, const void *) = (int (*)(void **, const void *))call("cuModuleLoadData");
    int (*find)(void **, void *, const char *) =
        (int (*)(void **, void *, const char *))call("cuModuleGetFunction");
    int (*allocate)(address *, size_t) = (int (*)(address *, size_t))call("cuMemAlloc_v2");
    int (*to_device)(address, const void *, size_t) =
        (int (*)(address, const void *, size_t))call("cuMemcpyHtoD_v2");
    int (*to_host)(void *, address, size_t) =
        (int (*)(void *, address, size_t))call("cuMemcpyDtoH_v2");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **) =
        (int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                 void *, void **, void **))call("cuLaunchKernel");
    CHECK(((int (*)(unsigned))call("cuInit"))(0));
    CHECK(((int (*)(int *, int))call("cuDeviceGet"))(&device, 0));
    CHECK(((int (*)(void **, int))call("cuDevicePrimaryCtxRetain"))(&context, device));
    CHECK(((int (*)(void *))call("cuCtxSetCurrent"))(context));
    snprintf(path, sizeof path, "%s/input.bin", argv[1]);
    char *operands = read_all(path, &size);
    CHECK(allocate(&input, size));
    CHECK(to_device(input, operands, size));
    CHECK(allocate(&output, 1 << 28));
    snprintf(path, sizeof path, "%s/list.txt", argv[1]);
    char *list = read_all(path, &size);
    for (char *line = list; *line; line = strchr(line, '\n') + 1) {
        char *rest;
        if (sscanf(line, "%63s %63s", name, entry) != 2)
            return 1;
        at = strtoull(line + strlen(name) + 1 + strlen(entry), &rest, 10);
        bytes = strtoull(rest, NULL, 10);
        if (strcmp(name, loaded) != 0) {
            snprintf(path, sizeof path, "%s/%s.cubin", argv[1], name);
            CHECK(load(&module, read_all(path, &size)));
            strcpy(loaded, name);
        }
        address out = output + at;
        void *params[] = {&input, &out};
        CHECK(find(&function, module, entry));
        CHECK(launch(function, 1, 1, 1, 768, 1, 1, 0, NULL, params, NULL));
        end = at + bytes;
    }
    char *results = malloc(end);
    CHECK(to_host(results, output, end));
    snprintf(path, sizeof path, "%s/results.bin", argv[1]);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(results, 1, end, file) != end || fclose(file))
        return 1;
    printf("%zu bytes\n", end);
    return 0;
}
