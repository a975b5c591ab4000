#include "sim/ptx/ptx_module.h"

#include "sim/ptx/arena.h"

#include <stdlib.h>
#include <string.h>

bool acu_ptx_is_reference(const ptx_variable *variable) {
    return variable->type == PTX_TEXREF || variable->type == PTX_SURFREF;
}

static const struct {
    const char *name;
    ptx_type type;
    size_t size;
} types[] = {
    {"pred", PTX_PRED, 1},
    {"b8", PTX_B8, 1},
    {"u8", PTX_U8, 1},
    {"s8", PTX_S8, 1},
    {"b16", PTX_B16, 2},
    {"u16", PTX_U16, 2},
    {"s16", PTX_S16, 2},
    {"f16", PTX_F16, 2},
    {"bf16", PTX_BF16, 2},
    {"b32", PTX_B32, 4},
    {"u32", PTX_U32, 4},
    {"s32", PTX_S32, 4},
    {"f32", PTX_F32, 4},
    {"f16x2", PTX_F16X2, 4},
    {"bf16x2", PTX_BF16X2, 4},
    {"tf32", PTX_TF32, 4},
    {"u16x2", PTX_U16X2, 4},
    {"s16x2", PTX_S16X2, 4},
    {"b64", PTX_B64, 8},
    {"u64", PTX_U64, 8},
    {"s64", PTX_S64, 8},
    {"f64", PTX_F64, 8},
    {"b128", PTX_B128, 16},
    {"texref", PTX_TEXREF, 8},
    {"samplerref", PTX_SAMPLERREF, 8},
    {"surfref", PTX_SURFREF, 8},
};

size_t acu_ptx_type_size(ptx_type type) {
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (types[n].type == type)
            return types[n].size;
    return 0;
}

ptx_type acu_ptx_type_of(const char *name, size_t length) {
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (strlen(types[n].name) == length && memcmp(types[n].name, name, length) == 0)
            return types[n].type;
    return PTX_NONE;
}

const char *acu_ptx_type_name(ptx_type type) {
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (types[n].type == type)
            return types[n].name;
    return "";
}

/* In the order of ptx_special. */
static const char *const specials[] = {
    "tid",
    "ntid",
    "ctaid",
    "nctaid",
    "clusterid",
    "nclusterid",
    "cluster_ctaid",
    "cluster_nctaid",
    "cluster_ctarank",
    "cluster_nctarank",
    "is_explicit_cluster",
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "lanemask_eq",
    "lanemask_le",
    "lanemask_lt",
    "lanemask_ge",
    "lanemask_gt",
    "clock",
    "clock_hi",
    "clock64",
    "globaltimer",
    "globaltimer_lo",
    "globaltimer_hi",
    "pm",
    "pm64",
    "envreg",
    "reserved_smem_offset_begin",
    "reserved_smem_offset_end",
    "reserved_smem_offset_cap",
    "reserved_smem_offset",
    "total_smem_size",
    "aggr_smem_size",
    "dynamic_smem_size",
    "current_graph_exec",
    "WARP_SZ",
};
_Static_assert(sizeof specials / sizeof *specials == PTX_SPECIAL_COUNT,
               "each special register has a name");

const char *acu_ptx_special_name(ptx_special special) {
    return special < sizeof specials / sizeof *specials ? specials[special] : "";
}

ptx_special acu_ptx_special_of(const char *name, size_t length) {
    for (int n = 0; n < PTX_WARP_SIZE; n++)
        if (strlen(specials[n]) == length && memcmp(specials[n], name, length) == 0)
            return (ptx_special)n;
    return PTX_SPECIAL_COUNT;
}

void *acu_ptx_module_alloc(ptx_module *module, size_t size) {
    return acu_ptx_arena_alloc(module->arena, size);
}

void acu_ptx_module_free(ptx_module *module) {
    if (!module)
        return;
    acu_ptx_arena_free(module->arena);
    free(module);
}

ptx_function *acu_ptx_module_function(const ptx_module *module, const char *name) {
    for (ptx_function *f = module->functions; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

ptx_variable *acu_ptx_module_variable(const ptx_module *module, const char *name) {
    for (ptx_variable *v = module->variables; v; v = v->next)
        if (strcmp(v->name, name) == 0)
            return v;
    return NULL;
}

/* The functions whose references are still to be looked at are a list, linked by `reached`. */
void acu_ptx_module_reach(ptx_module *module, const ptx_function *function,
                          void (*found)(void *data, const ptx_reference *reference), void *data) {
    ptx_function *waiting = NULL;
    module->mark++;
    for (const ptx_function *f = function; f; f = waiting) {
        waiting = f == function ? waiting : f->reached;
        const ptx_function *named = f->alias ? f->alias : f;
        for (const ptx_reference *r = named->references; r; r = r->next) {
            unsigned *mark = r->variable ? &r->variable->mark : &r->function->mark;
            if (*mark == module->mark || (r->function && r->function->is_entry))
                continue;
            *mark = module->mark;
            found(data, r);
            if (!r->function || r->function == function)
                continue;
            r->function->reached = waiting;
            waiting = r->function;
        }
    }
}
