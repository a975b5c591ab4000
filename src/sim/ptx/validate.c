/*
 * An instruction is validated by lowering it once, and nothing is kept of that. Most instructions
 * of a text are like one before, but for the numbers of their registers; these are found by a hash
 * and need no lowering. An instruction that is missed because of two equal hashes is lowered with
 * its kernel.
 */
#include "sim/ptx/validate.h"

#include "sim/ptx/device_call.h"
#include "sim/ptx/form.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/target.h"

#include <stdlib.h>
#include <string.h>

/* ---- instructions that are alike ---- */

typedef struct hashes {
    uint64_t *list; /* 0: empty */
    size_t count, size;
} hashes;

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t hash_operand(uint64_t h, const ptx_operand *o) {
    const ptx_variable *v = o->variable;
    h = mix(h, (uint64_t)o->kind | (uint64_t)o->type << 8 | (uint64_t)o->special << 16 |
                   (uint64_t)o->component << 24 | (uint64_t)o->negated << 32 |
                   (uint64_t)o->is_register << 33 | (uint64_t)o->is_unified << 34 |
                   (uint64_t)o->has_component << 35 | (uint64_t)(unsigned char)o->part << 36 |
                   (uint64_t)o->element_count << 44);
    h = mix(h, o->part_order);
    h = mix(mix(h, o->bits), (uint64_t)o->offset);
    if (v)
        h = mix(h, 1 + ((uint64_t)v->space | (uint64_t)v->type << 8 | (uint64_t)v->vector << 16 |
                        (uint64_t)(v->owner ? 1 + v->owner->is_entry : 0) << 24 |
                        (uint64_t)v->in_register << 32));
    for (unsigned n = 0; n < o->element_count; n++)
        h = hash_operand(h, &o->elements[n]);
    return h;
}

/* Returns a number of the instruction, not 0, which others have that are as right as it is. */
static uint64_t hash_of(const ptx_instruction *i) {
    uint64_t h = mix((uintptr_t)i->opcode, i->operand_count | (uint64_t)i->paired << 8);
    for (unsigned n = 0; n < i->operand_count; n++)
        h = hash_operand(h, &i->operands[n]);
    return h ? h : 1;
}

static bool grow(hashes *h) {
    hashes larger = {.size = h->size ? h->size * 4 : 1024, .count = h->count};
    larger.list = calloc(larger.size, sizeof *larger.list);
    if (!larger.list)
        return false;
    for (size_t n = 0; n < h->size; n++) {
        size_t at = h->list[n] & (larger.size - 1);
        while (h->list[n] && larger.list[at])
            at = (at + 1) & (larger.size - 1);
        if (h->list[n])
            larger.list[at] = h->list[n];
    }
    free(h->list);
    *h = larger;
    return true;
}

/* Adds the hash. Returns whether it was there already; false without memory, too. */
static bool is_known(hashes *h, uint64_t hash) {
    if (h->count * 2 >= h->size && !grow(h))
        return false;
    size_t at = hash & (h->size - 1);
    while (h->list[at] && h->list[at] != hash)
        at = (at + 1) & (h->size - 1);
    if (h->list[at])
        return true;
    h->list[at] = hash;
    h->count++;
    return false;
}

/* ---- words ---- */

/* The instructions that are known and not executed; those that are have a row or a form. */
static const char left_out_opcodes[] = "clusterlaunchcontrol tcgen05";

/* The modifiers that consist of letters. One with a digit or a colon is taken for a type, a shape
 * or the like. */
static const char modifiers[] =
    "a abs acq_rel acquire acube add alias aligned all alloc and any approx "
    "array_size arrive arrive_drop ashift async b ballot base bfly block_scale blocks "
    "box_dim bulk bulk_group c ca cas cc cg channel_data_type channel_order clamp "
    "cluster col commit commit_group complete_tx const cp cp_fenceproxy cs cta "
    "cta_mask cube cv cvt d dealloc dec depth down ecl ecr element_stride elemtype eq "
    "equ exch expect_tx fence fence_proxy fill_mode filter_mode finite fractional ftz "
    "full g ge get_first_ctaid geu gl global global_address global_dim global_stride "
    "gpu grad gt gtu height hi hs idx ignore_oob inc infinite init interleave_layout "
    "inval is_canceled l launch_dependents ld ld_reduce le leu level lo load local ls "
    "lt ltu lu mask max maxvol mbarrier mbarrier_init memory_layout min mma mma_async "
    "mmio mode multicast NaN nan nc ne neu next noComplete noftz noinc noreturn "
    "normal normalized_coords notanumber num number oob or p pack param parity "
    "pending_count popc pred prefetch proxy query_cancel r range rank read red reduce "
    "relaxed release relinquish_alloc_permit relu replace rm rmi rn rna rni row rp "
    "rpi rs rz rzi sat satfinite sc sem shared shift shiftamt sp spread st store sub "
    "subnormal swizzle_atomicity swizzle_mode sync sys tensor tensormap test_wait "
    "texref tile to total trans trap try_cancel try_wait uni unified up volatile wait "
    "wait_all wait_group wait_read warp wb weak wide width wrap ws wt xor xorsign "
    "zero";

static bool is_among_words(const char *word, size_t length, const char *words) {
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && memcmp(at, word, length) == 0)
            return true;
    return false;
}

static bool is_instruction(const char *opcode) {
    const size_t length = strcspn(opcode, ".");
    return acu_ptx_lower_of(opcode) || acu_ptx_form_begins(opcode, length) ||
           (length == 4 && memcmp(opcode, "wmma", 4) == 0) ||
           is_among_words(opcode, length, left_out_opcodes);
}

static bool has_word_twice(const char *opcode) {
    for (const char *at = strchr(opcode, '.'); at; at = strchr(at + 1, '.')) {
        const size_t length = strcspn(at + 1, ".") + 1;
        for (const char *other = strchr(at + 1, '.'); other; other = strchr(other + 1, '.'))
            if (strcspn(other + 1, ".") + 1 == length && memcmp(at, other, length) == 0)
                return true;
    }
    return false;
}

/* Whether the opcode has a word that ptxas takes in any place, where it means nothing. */
static bool has_idle_word(const char *opcode) {
    for (const char *at = strchr(opcode, '.'); at; at = strchr(at, '.')) {
        const size_t length = strcspn(++at, ".");
        if (is_among_words(at, length,
                           "finite global_address infinite normal notanumber number pred rank "
                           "samplerref subnormal surfref texref"))
            return true;
    }
    return false;
}

/* Whether ptxas knows no such spelling: all that PTX 9.0 has of the instruction has a form. But it
 * takes roundings of fma and rcp that the manual does not have, testp of nothing, and words that
 * are written twice or mean nothing; and cvt.rs is not executed. */
static bool is_misspelled(const ptx_lowering *l, const char *opcode) {
    enum { KNOWN_VERSION = 90 };
    const size_t length = strcspn(opcode, ".");
    const bool is_cvt = length == 3 && memcmp(opcode, "cvt", 3) == 0;
    return l->module->version <= KNOWN_VERSION && acu_ptx_form_begins(opcode, length) &&
           (is_cvt ? !strstr(opcode, ".rs.") : !acu_ptx_lower_of(opcode)) &&
           !is_among_words(opcode, length, "fma rcp testp prmt") && !has_word_twice(opcode) &&
           !has_idle_word(opcode) && !acu_ptx_form_find(opcode);
}

/* Refuses an instruction that is not executed if its words are none of PTX's. */
static void check_words(ptx_lowering *l, const ptx_instruction *i) {
    l->result = PTX_OK;
    if (setjmp(l->end))
        return;
    if (!is_instruction(i->opcode))
        acu_ptx_invalid(l, "Not a name of any known instruction: '%s'", acu_ptx_first_word(l));
    for (const char *at = strchr(i->opcode, '.'); at; at = strchr(at, '.')) {
        const size_t length = strcspn(++at, ".");
        bool only_letters = true;
        for (size_t n = 0; n < length; n++)
            only_letters &=
                at[n] == '_' || (at[n] >= 'a' && at[n] <= 'z') || (at[n] >= 'A' && at[n] <= 'Z');
        if (only_letters && !is_among_words(at, length, modifiers))
            acu_ptx_invalid(l, "Unknown modifier '.%.*s'", (int)length, at);
    }
    if (is_misspelled(l, i->opcode))
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
}

/* ---- functions ---- */

/* Lowers an instruction; the result is in the lowering. */
static void try_to_lower(ptx_lowering *l, const ptx_instruction *i) {
    l->result = PTX_OK;
    l->instruction = i;
    l->temp_used = 0;
    l->code->count = 0;
    if (setjmp(l->end))
        return;
    acu_ptx_check_target(l, i);
    acu_ptx_lower_one(l, i);
}

/* Keeps why the function is not executed. */
static bool leave_out(ptx_module *module, ptx_function *f, const char *why) {
    const size_t size = strlen(why) + 1;
    char *kept = f->left_out ? NULL : acu_ptx_module_alloc(module, size);
    if (kept)
        f->left_out = memcpy(kept, why, size);
    return f->left_out != NULL;
}

/* The mistakes that were found, in the order of the text: as many lines as an error has room for.
 */
typedef struct mistakes {
    char text[sizeof((ptx_error *)0)->text];
    size_t length;
    ptx_place first;
} mistakes;

/* Adds the line of the last error; false: there is no room for it. */
static bool add_mistake(mistakes *m, const ptx_error *error) {
    const size_t room = sizeof m->text - m->length, length = strlen(error->text);
    if (length + 2 > room)
        return false;
    if (!m->length)
        m->first = error->place;
    else
        m->text[m->length++] = '\n';
    memcpy(m->text + m->length, error->text, length + 1);
    m->length += length;
    return true;
}

/* Instructions that are like a wrong one are wrong again, each with a line of its own. */
static ptx_result validate_function(ptx_lowering *l, ptx_module *module, ptx_function *f,
                                    hashes *known, mistakes *m) {
    static const ptx_function no_kernel = {.name = ""};
    l->code->entry = f->is_entry ? f : &no_kernel;
    l->code->functions[0].function = f;
    l->functions[0].function = f;
    for (unsigned n = 0; n < f->instruction_count; n++) {
        const ptx_instruction *i = &f->instructions[n];
        if (strncmp(i->opcode, "call", 4) != 0 && is_known(known, hash_of(i)) && !m->length)
            continue;
        try_to_lower(l, i);
        if (l->result == PTX_NOT_SIMULATED && leave_out(module, f, l->error->text))
            check_words(l, i);
        if (l->result && (l->result != PTX_INVALID || !add_mistake(m, l->error)))
            return l->result;
    }
    return PTX_OK;
}

static ptx_result validate_all(ptx_lowering *l, ptx_module *module) {
    hashes known = {.count = 0};
    mistakes found = {.length = 0};
    ptx_result result = PTX_OK;
    for (ptx_function *f = module->functions; f && !result; f = f->next)
        if (f->has_body)
            result = validate_function(l, module, f, &known, &found);
    free(known.list);
    if (!found.length || result == PTX_NO_MEMORY)
        return result;
    memcpy(l->error->text, found.text, found.length + 1);
    l->error->place = found.first;
    return PTX_INVALID;
}

ptx_result acu_ptx_validate(ptx_module *module, ptx_error *error) {
    ptx_lowered lowered = {.frame = 0};
    ptx_code_function function = {.begin = 0};
    ptx_lowering l = {.module = module, .error = error, .functions = &lowered, .validates = true};
    ptx_result result = PTX_NO_MEMORY;
    l.code = calloc(1, sizeof *l.code);
    l.arena = acu_ptx_arena_new();
    if (l.code && l.arena) {
        l.code->functions = &function;
        l.code->function_count = 1;
        result = validate_all(&l, module);
        free(l.code->ops);
    }
    free(l.code);
    acu_ptx_arena_free(l.arena);
    return result;
}

static void find_left_out(void *data, const ptx_reference *r) {
    const char **why = data;
    if (!*why && r->function)
        *why = r->function->left_out;
}

const char *acu_ptx_left_out(ptx_module *module, const ptx_function *entry) {
    const char *why = entry->left_out;
    if (!why)
        acu_ptx_module_reach(module, entry, find_left_out, &why);
    return why;
}

/* ---- functions of others ---- */

static bool is_from_library(const char *name) {
    return strncmp(name, "cuda", 4) == 0 || strncmp(name, "__cuda", 6) == 0;
}

const ptx_function *acu_ptx_unresolved(const ptx_module *module) {
    for (const ptx_function *f = module->functions; f; f = f->next)
        if (!f->has_body && !f->alias && (f->used || f->linkage != PTX_EXTERN) &&
            !acu_ptx_is_device_function(f->name) &&
            !(module->with_libraries && is_from_library(f->name)))
            return f;
    return NULL;
}
