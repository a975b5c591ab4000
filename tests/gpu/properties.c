/* cudaDeviceProp: each field the same on every runtime, and the same as the attribute that says it.
 */
#include "smoke.h"

#include "core/values.h"
#include "cuda_abi.h"
#include "cudart_abi.h"

#include <anycuda/cuda.h>

#include <stdio.h>
#include <string.h>

enum { DRIVER = 1, RUNTIME = 0, NOWHERE = -1 };

static void show(char *text, size_t size, const unsigned char *at, const acu_field *f) {
    size_t used = 0;
    for (uint32_t i = 0; i < f->count && used < size; i++, at += f->type->size)
        if (f->type->kind == ACU_KIND_CHAR || f->type->kind == ACU_KIND_RECORD)
            for (uint32_t k = 0; k < f->type->size && used < size; k++)
                used += (size_t)snprintf(text + used, size - used, "%02x", at[k]);
        else
            used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? " " : "",
                                     (long long)acu_value_read(f->type, at));
}

static void plausible(void) {
    const acu_type *type = &acu_cudart_type_cudaDeviceProp;
    struct {
        struct cudaDeviceProp it;
        unsigned char behind[256];
    } p;
    memset(&p, 0xa5, sizeof p);
    OK(cudaGetDeviceProperties(&p.it, 0));
    for (size_t i = 0; i < sizeof p.behind; i++)
        EXPECT(p.behind[i] == 0xa5, "byte %zu behind the struct was written", i);
    EXPECT(memchr(p.it.name, 0, sizeof p.it.name) && strlen(p.it.name) > 3, "no name");
    EXPECT(p.it.warpSize == 32, "warpSize is %d", p.it.warpSize);
    EXPECT(p.it.multiProcessorCount > 0 && p.it.multiProcessorCount < 1000, "%d multiprocessors",
           p.it.multiProcessorCount);
    EXPECT(p.it.sharedMemPerBlockOptin >= p.it.sharedMemPerBlock, "sharedMemPerBlockOptin is %zu",
           p.it.sharedMemPerBlockOptin);
    tell("%s, %d.%d, %d multiprocessors, %zu bytes of shared memory at most", p.it.name, p.it.major,
         p.it.minor, p.it.multiProcessorCount, p.it.sharedMemPerBlockOptin);
    for (uint32_t i = 0; i < type->count; i++) {
        const acu_field *f = &type->fields[i];
        char key[128], text[1024];
        if (f->reserved)
            continue;
        snprintf(key, sizeof key, "cudaDeviceProp.%s", acu_part_name(type->name, i));
        show(text, sizeof text, (const unsigned char *)&p.it + f->offset, f);
        value(key, "%s", text);
    }
}

/* ---- spec/parameters/cudart.yaml says which attribute means the same as a field ---- */

static const acu_field *field_named(const char *name) {
    const acu_type *type = &acu_cudart_type_cudaDeviceProp;
    for (uint32_t i = 0; i < type->count; i++)
        if (strcmp(acu_part_name(type->name, i), name) == 0)
            return &type->fields[i];
    return NULL;
}

/* Who answered; NOWHERE if neither the runtime nor the driver knows the attribute. */
static int ask(const char *attribute, int *answer) {
    const acu_value *v = acu_value_find(&acu_cudart_type_cudaDeviceAttr, attribute);
    if (v && v->since <= runtime())
        return cudaDeviceGetAttribute(answer, (enum cudaDeviceAttr)v->value, 0) ? NOWHERE : RUNTIME;
    if (!v)
        v = acu_value_find(&acu_cuda_type_CUdevice_attribute_enum, attribute);
    return v && cuDeviceGetAttribute(answer, (CUdevice_attribute)v->value, 0) == CUDA_SUCCESS
               ? DRIVER
               : NOWHERE;
}

static int compared, unanswered;

/* "maxGridSize: [cudaDevAttrMaxGridDimX, …]  # remark" */
static void compare(char *line, const struct cudaDeviceProp *prop) {
    char *rest = strtok(line, "#");
    const char *name = strtok(rest, " :[],\n");
    const acu_field *f = name ? field_named(name) : NULL;
    if (!f) /* gone from the presented struct: nothing to compare */
        return;
    const char *attribute;
    for (uint32_t i = 0; (attribute = strtok(NULL, " :[],\n")) != NULL; i++) {
        const unsigned char *at =
            (const unsigned char *)prop + f->offset + (size_t)i * f->type->size;
        long long field = (long long)acu_value_read(f->type, at);
        int answer = 0;
        if (ask(attribute, &answer) == NOWHERE)
            unanswered++;
        else if ((compared++, (int)field != answer))
            fail("%s[%u] is %lld, %s %d", name, i, field, attribute, answer);
    }
}

static void same_as_attributes(void) {
    struct cudaDeviceProp prop;
    char line[512];
    int depth = 0;
    OK(cudaGetDeviceProperties(&prop, 0));
    FILE *spec = fopen(SPEC, "r");
    EXPECT(spec, "cannot read %s", SPEC);
    while (depth < 3 && fgets(line, sizeof line, spec)) {
        size_t indent = strspn(line, " ");
        if (depth == 0 && strcmp(line, "  cudaDeviceProp:\n") == 0)
            depth = 1;
        else if (depth == 1 && strcmp(line, "    attributes:\n") == 0)
            depth = 2;
        else if (depth == 2 && indent < 6)
            depth = 3;
        else if (depth == 2)
            compare(line, &prop);
    }
    fclose(spec);
    tell("%d compared, %d not known to runtime and driver", compared, unanswered);
    EXPECT(compared > 60, "too few");
}

const check property_checks[] = {
    {"device properties", plausible},
    {"device properties against attributes", same_as_attributes},
    {NULL, NULL},
};
