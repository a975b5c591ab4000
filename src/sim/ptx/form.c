#include "sim/ptx/form.h"

#include <stdlib.h>
#include <string.h>

extern ptx_handler *const acu_ptx_lane_handlers_v1[];
#if defined(PTX_HAS_LEVELS)
extern ptx_handler *const acu_ptx_lane_handlers_v3[];
extern ptx_handler *const acu_ptx_lane_handlers_v4[];
#endif

static int compare(const void *opcode, const void *form) {
    return strcmp(opcode, ((const ptx_form *)form)->opcode);
}

const ptx_form *acu_ptx_form_find(const char *opcode) {
    return bsearch(opcode, acu_ptx_forms, acu_ptx_form_count, sizeof *acu_ptx_forms, compare);
}

typedef struct first_word {
    const char *at;
    size_t length;
} first_word;

static int compare_first(const void *word, const void *form) {
    const first_word *w = word;
    const char *opcode = ((const ptx_form *)form)->opcode;
    const int order = strncmp(w->at, opcode, w->length);
    return order ? order : opcode[w->length] && opcode[w->length] != '.' ? -1 : 0;
}

bool acu_ptx_form_begins(const char *opcode, size_t length) {
    const first_word word = {opcode, length};
    return bsearch(&word, acu_ptx_forms, acu_ptx_form_count, sizeof *acu_ptx_forms,
                   compare_first) != NULL;
}

int acu_ptx_processor_level(void) {
#if defined(PTX_HAS_LEVELS)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return 4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return 3;
#endif
    return 1;
}

ptx_handler *const *acu_ptx_lane_handlers(void) {
#if defined(PTX_HAS_LEVELS)
    switch (acu_ptx_processor_level()) {
    case 4:
        return acu_ptx_lane_handlers_v4;
    case 3:
        return acu_ptx_lane_handlers_v3;
    default:
        break;
    }
#endif
    return acu_ptx_lane_handlers_v1;
}
