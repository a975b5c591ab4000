/* Where addresses lead, and the loads and stores that are made of it. */
#include "sim/ptx/access.h"

#include "sim/ptx/check_inside.h"
#include "sim/ptx/cluster.h"
#include "sim/ptx/level.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/ordered.h"
#include "sim/ptx/wide.h"

#include <string.h>

extern const ptx_memory_handlers acu_ptx_memory_handlers_v1, acu_ptx_memory_handlers_v3,
    acu_ptx_memory_handlers_v4;

const ptx_memory_handlers *acu_ptx_memory_handlers(void) {
    return PTX_OF_LEVEL(acu_ptx_level(), &acu_ptx_memory_handlers_v1, &acu_ptx_memory_handlers_v3,
                        &acu_ptx_memory_handlers_v4);
}

/* ---- where addresses lead ---- */

/* Returns whether the operation reads constants. */
static bool reads_constants(const ptx_op *op) {
    const ptx_instruction *i = op->instruction;
    return i && acu_ptx_is(i, "ld") && strstr(i->opcode, ".const");
}

/* Remembers the range for an operation whose lanes access so many bytes each. */
static const ptx_range *remember_range(ptx_site *site, ptx_range range, size_t bytes) {
    const uint64_t all = range.last - range.base, row = PTX_LANES * bytes - 1;
    site->range = range;
    site->rows = all < row ? 0 : all - row + 1;
    return &site->range;
}

/* Makes the range one of zeros: GPUs read them where no constant is. */
static const ptx_range *zeros_at(ptx_site *site, uint64_t address, size_t bytes) {
    static const char zeros[64];
    const ptx_range range = {.base = address,
                             .last = address + bytes - 1,
                             .end = address + bytes - 1,
                             .bytes = (char *)(uintptr_t)zeros};
    return remember_range(site, range, bytes);
}

const ptx_range *acu_ptx_memory_range(ptx_warp *w, const ptx_op *op, unsigned lane,
                                      uint64_t address, size_t bytes, bool writes) {
    ptx_worker *worker = w->worker;
    const ptx_machine *machine = worker->launch->machine;
    ptx_site *site = &worker->site[op->site];
    for (unsigned n = 0; n < PTX_CACHED; n++) {
        const ptx_range *range = &worker->cached[n];
        if (address < range->base || address > range->last || range->last - address < bytes - 1)
            continue;
        if (writes && !range->writable)
            break;
        return remember_range(site, *range, bytes);
    }
    ptx_range found;
    const bool has_it =
        machine->find(machine->data, address, &found) && found.last - address >= bytes - 1;
    if (!has_it && reads_constants(op))
        return zeros_at(site, address, bytes);
    if (!has_it)
        acu_ptx_fail(w, lane, op, 700, address,
                     "%s of %zu bytes%s in no allocation that the device can access",
                     writes ? "a write" : "a read", bytes,
                     address ? ", which are" : " at NULL, which is");
    if (writes && !found.writable)
        acu_ptx_fail(w, lane, op, 700, address,
                     "a write of %zu bytes, which the device may only read", bytes);
    worker->cached[worker->next_cached++ % PTX_CACHED] = found;
    return remember_range(site, found, bytes);
}

/* What is above 24 bits names a block of the cluster: one that is not there is another error, as is
 * another one than the own where the instruction says shared::cta. */
static char *shared_at(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_space space,
                       uint64_t offset, size_t bytes) {
    const uint64_t address = offset;
    ptx_block *block = acu_ptx_cluster_block(w->block, &offset);
    size_t size = block->shared_bytes;
    if (space == PTX_SHARED && block != w->block)
        acu_ptx_fail(w, lane, op, 715, address,
                     "an access of %zu bytes of another block's shared memory, which needs "
                     "shared::cluster or a generic address",
                     bytes);
    if (offset > size || size - offset < bytes)
        acu_ptx_fail(w, lane, op, offset >> 24 ? 715 : 700, offset,
                     "an access of %zu bytes of shared memory, of which the block has %zu", bytes,
                     size);
    return block->shared + offset;
}

static char *local_at(ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t offset, size_t bytes) {
    if (offset > w->local_bytes || w->local_bytes - offset < bytes)
        acu_ptx_fail(w, lane, op, 700, offset,
                     "an access of %zu bytes of local memory, of which a thread has %zu", bytes,
                     w->local_bytes);
    return w->local + lane * w->local_stride + offset;
}

static char *param_at(ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t offset, size_t bytes,
                      bool writes) {
    size_t size = w->code->param_bytes;
    if (writes || offset > size || size - offset < bytes)
        acu_ptx_fail(w, lane, op, 700, offset,
                     "%s of %zu bytes of the kernel's parameters, which have %zu",
                     writes ? "a write" : "a read", bytes, size);
    return (char *)(uintptr_t)w->worker->launch->params + offset;
}

/* Returns where the bytes are; what is no memory of the thread ends the kernel. */
static char *bytes_at(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_space space,
                      uint64_t address, size_t bytes, bool writes) {
    if ((space == PTX_GENERIC || space == PTX_GLOBAL) && address >= PTX_SHARED_WINDOW) {
        static const ptx_space spaces[] = {PTX_SHARED_CLUSTER, PTX_LOCAL, PTX_GENERIC, PTX_PARAM};
        uint64_t window = (address - PTX_SHARED_WINDOW) >> 40,
                 offset = address & ((UINT64_C(1) << 40) - 1);
        const bool is_window =
            window <= 3 && spaces[window] != PTX_GENERIC && offset < PTX_WINDOW_SIZE;
        if (is_window && space == PTX_GLOBAL)
            acu_ptx_fail(w, lane, op, 717, address,
                         "%s of %zu bytes of global memory, which are shared, local or parameters",
                         writes ? "a write" : "a read", bytes);
        if (!is_window)
            acu_ptx_fail(w, lane, op, 700, address, "%s of %zu bytes, which are in no allocation",
                         writes ? "a write" : "a read", bytes);
        space = spaces[window];
        address = offset;
    }
    switch (space) {
    case PTX_SHARED:
    case PTX_SHARED_CLUSTER:
        return shared_at(w, op, lane, space, address, bytes);
    case PTX_LOCAL:
        return local_at(w, op, lane, address, bytes);
    case PTX_PARAM:
        return param_at(w, op, lane, address, bytes, writes);
    default: {
        const ptx_range *range = &w->worker->site[op->site].range;
        if (address < range->base || address > range->last || range->last - address < bytes - 1)
            range = acu_ptx_memory_range(w, op, lane, address, bytes, writes);
        return range->bytes + (address - range->base);
    }
    }
}

/* Returns the name of the memory in which an address lies that is one of the space. */
static const char *name_of(ptx_space space, uint64_t address) {
    static const char *const windows[] = {"shared", "local", "global", "parameter"};
    if (space == PTX_SHARED || space == PTX_SHARED_CLUSTER)
        return "shared";
    if (space == PTX_LOCAL)
        return "local";
    if (space == PTX_PARAM)
        return "parameter";
    return address < PTX_SHARED_WINDOW ? "global"
                                       : windows[(address - PTX_SHARED_WINDOW) >> 40 & 3];
}

/* An H200 finds that there is no memory before it finds that an address is not aligned. */
char *acu_ptx_memory_at(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_space space,
                        uint64_t address, size_t bytes, size_t align, bool writes) {
    const uint64_t beyond = address & (align - 1);
    char *at = bytes_at(w, op, lane, space, address - beyond, bytes, writes);
    if (beyond)
        acu_ptx_fail(w, lane, op, 716, address,
                     "an access of %zu bytes of %s memory, whose address is not a multiple of %zu",
                     bytes, name_of(space, address), align);
    return at;
}

/* ---- loads and stores ---- */

/* An instruction without a space has generic addresses, which those of constants are not. */
static void check_space(ptx_lowering *l, const ptx_variable *v, ptx_space space) {
    const bool fits = space == PTX_GENERIC ? v->space == PTX_GLOBAL || acu_ptx_window_of(v->space)
                      : space == PTX_SHARED_CLUSTER ? v->space == PTX_SHARED
                                                    : space == v->space;
    if (!fits || (space == PTX_GENERIC && v->space == PTX_PARAM))
        acu_ptx_invalid(l,
                        "State space mismatch between instruction and address in instruction '%s'",
                        acu_ptx_first_word(l));
}

/* Returns whether ptxas refuses addresses of 32 bits in global memory for the instruction. */
static bool needs_wide_address(const ptx_lowering *l) {
    const ptx_instruction *i = l->instruction;
    return acu_ptx_is(i, "ld") || acu_ptx_is(i, "ldu") || acu_ptx_is(i, "st") ||
           acu_ptx_is(i, "atom") || acu_ptx_is(i, "red") || acu_ptx_is(i, "mbarrier") ||
           acu_ptx_is(i, "multimem");
}

ptx_address acu_ptx_address(ptx_lowering *l, const ptx_operand *o, ptx_space space) {
    if (o->kind != PTX_ADDRESS)
        acu_ptx_mismatch(l);
    if (o->is_register) {
        ptx_operand base = {
            .kind = PTX_REGISTER, .type = o->type, .number = o->number, .place = o->place};
        bool narrow = acu_ptx_register_size(l, &base) == 4;
        if (narrow && (space == PTX_GENERIC || space == PTX_GLOBAL) && needs_wide_address(l))
            acu_ptx_invalid(l, "32-bit address for instruction '%s', which takes 64 bits",
                            acu_ptx_first_word(l));
        return (ptx_address){acu_ptx_source(l, &base, narrow ? PTX_U32 : PTX_U64), o->offset,
                             narrow};
    }
    if (o->variable) {
        check_space(l, o->variable, space);
        const uint64_t window = space == PTX_GENERIC ? acu_ptx_window_of(o->variable->space) : 0;
        return (ptx_address){acu_ptx_address_of(l, o->variable), o->offset + (int64_t)window,
                             false};
    }
    if (space != PTX_LOCAL)
        acu_ptx_invalid(l, "Immediate addresses allowed only for .local state space");
    return (ptx_address){acu_ptx_constant(l, o->bits + (uint64_t)o->offset, 8), 0, false};
}

/* How an access is ordered. */
typedef enum access_order { WEAK, VOLATILE, RELAXED, ACQUIRE, RELEASE } access_order;

/* What the words of a load or a store say besides its space and type; -1: nothing. Everything is
 * coherent here, so that these are only checked. */
typedef struct access_words {
    int order, scope, cache, level;
    bool is_mmio, is_read_only, has_hint, prefetches;
} access_words;

static const char *const orders[] = {"weak", "volatile", "relaxed", "acquire", "release"};

static access_words take_access_words(ptx_words *words) {
    access_words w = {.is_mmio = acu_ptx_take(words, "mmio")};
    w.order = acu_ptx_take_one(words, "weak volatile relaxed acquire release");
    w.scope = acu_ptx_take_one(words, "cta cluster gpu sys");
    w.cache = acu_ptx_take_one(words, "cg cs ca lu cv wb wt");
    w.is_read_only = acu_ptx_take(words, "nc");
    w.level = acu_ptx_take_one(
        words,
        "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate");
    acu_ptx_take_one(words, "L2::evict_normal L2::evict_first L2::evict_last");
    w.has_hint = acu_ptx_take(words, "L2::cache_hint");
    w.prefetches = acu_ptx_take_one(words, "L2::64B L2::128B L2::256B") >= 0;
    acu_ptx_take(words, "unified");
    return w;
}

static _Noreturn void illegal(ptx_lowering *l, const char *what) {
    acu_ptx_invalid(l, "Illegal modifier '.%s' for instruction '%s'", what, acu_ptx_first_word(l));
}

/* Refuses words that the instruction cannot have. */
static void check_kind(ptx_lowering *l, const ptx_instruction *i, const access_words *w) {
    const bool loads = acu_ptx_is(i, "ld");
    if (acu_ptx_is(i, "ldu") && (w->order >= 0 || w->scope >= 0 || w->cache >= 0 || w->level >= 0 ||
                                 w->is_mmio || w->is_read_only || w->has_hint || w->prefetches))
        acu_ptx_invalid(l, "Illegal modifier for instruction 'ldu'");
    if (w->order >= ACQUIRE && loads == (w->order == RELEASE))
        illegal(l, orders[w->order]);
    if (w->cache >= 2 && loads == (w->cache >= 5)) /* ca lu cv load, wb wt store */
        illegal(l, (const char *const[]){"ca", "lu", "cv", "wb", "wt"}[w->cache - 2]);
    if (w->is_read_only && !loads)
        illegal(l, "nc");
    if (w->is_mmio && w->order != RELAXED)
        acu_ptx_invalid(l, "Modifier '.mmio' requires modifier '.relaxed' for instruction '%s'",
                        acu_ptx_first_word(l));
}

/* Refuses words that do not go together. */
static void check_together(ptx_lowering *l, const access_words *w, ptx_space space) {
    const bool is_strong = w->order >= RELAXED;
    const bool is_global = space == PTX_GLOBAL || space == PTX_GENERIC;
    const bool is_shared = space == PTX_SHARED || space == PTX_SHARED_CLUSTER;
    if (is_strong && w->scope < 0)
        acu_ptx_invalid(l, "Modifier '.%s' requires scope with '%s' instruction", orders[w->order],
                        acu_ptx_first_word(l));
    if (!is_strong && w->scope >= 0)
        acu_ptx_invalid(l, "Scope modifier requires memory order with '%s' instruction",
                        acu_ptx_first_word(l));
    const bool is_volatile_local = /* of PTX 9.1 */
        w->order == VOLATILE && space == PTX_LOCAL && l->module->version >= 91;
    if (w->order >= VOLATILE && !is_global && !is_shared && !is_volatile_local)
        acu_ptx_invalid(l, "Modifier '.%s' cannot be applied to this space", orders[w->order]);
    if (w->order >= VOLATILE && (w->cache >= 0 || (w->order == VOLATILE && w->level >= 0)))
        acu_ptx_invalid(l, "Modifier '.%s' cannot be combined with modifiers of the cache",
                        orders[w->order]);
    if (w->is_read_only && space != PTX_GLOBAL)
        acu_ptx_invalid(l, "Modifier '.nc' requires .global space");
    if ((w->level >= 0 || w->prefetches || w->has_hint) && !is_global)
        acu_ptx_invalid(l, "State space incorrect for instruction '%s' with modifiers of the cache",
                        acu_ptx_first_word(l));
}

static void read_words(ptx_lowering *l, const ptx_instruction *i, ptx_access *access,
                       ptx_type *type, access_order *order) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    const access_words how = take_access_words(&words);
    access->space = acu_ptx_take_space(&words);
    int vector = acu_ptx_take_one(&words, "v2 v4 v8");
    access->count = (uint8_t)(vector < 0 ? 1 : 2 << vector);
    *type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    check_kind(l, i, &how);
    check_together(l, &how, access->space);
    *order = how.order < 0 ? WEAK : (access_order)how.order;
    if (i->operand_count != 2u + how.has_hint)
        acu_ptx_mismatch(l);
    access->size = (uint8_t)acu_ptx_type_size(*type);
    if (!access->size || *type == PTX_PRED || *type == PTX_F16 || *type == PTX_BF16 ||
        *type == PTX_F16X2 || *type == PTX_BF16X2)
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
    access->is_signed = *type == PTX_S8 || *type == PTX_S16 || *type == PTX_S32;
}

static unsigned log2_of(unsigned size) {
    return (unsigned)__builtin_ctz(size);
}

/* Loads constants of the launch into registers: parameters of the kernel. */
static void load_params(ptx_lowering *l, const ptx_operand *list, uint64_t offset,
                        const ptx_access *access, ptx_type type) {
    if (list->kind == PTX_LIST ? list->element_count != access->count : access->count != 1)
        acu_ptx_mismatch(l);
    for (unsigned n = 0; n < access->count; n++, offset += access->size) {
        const ptx_operand *o = acu_ptx_element(list, n);
        if (o->kind == PTX_SINK && list->kind == PTX_LIST)
            continue;
        unsigned size = o->kind == PTX_REGISTER ? acu_ptx_register_size(l, o) : 0;
        if (size < access->size || !size)
            acu_ptx_mismatch(l);
        acu_ptx_check_type(l, o, type);
        acu_ptx_emit_copy(l, o->number, size,
                          acu_ptx_param_as(l, offset, access->size, size, access->is_signed));
    }
}

static void add_fence(ptx_lowering *l, access_order order) {
    if (order > VOLATILE)
        acu_ptx_emit(l, acu_ptx_fence);
}

/* Fills in the slots of the elements; an access of 16 bytes is one of two elements of 8. */
static void read_elements(ptx_lowering *l, const ptx_operand *list, ptx_access *access,
                          ptx_type type, bool loads) {
    if (list->kind == PTX_LIST ? list->element_count != access->count : access->count != 1)
        acu_ptx_mismatch(l);
    bool known = false; /* how large registers are */
    access->register_size = access->size < 2 ? 2 : access->size;
    for (unsigned n = 0; n < access->count; n++) {
        const ptx_operand *o = acu_ptx_element(list, n);
        access->slots[n] = UINT32_MAX;
        if (o->kind == PTX_SINK && loads && list->kind == PTX_LIST)
            continue;
        if (loads && o->kind != PTX_REGISTER) {
            acu_ptx_refuse_sink(l, o);
            acu_ptx_invalid(l, "Result register required for instruction '%s'",
                            acu_ptx_first_word(l));
        }
        if (o->kind != PTX_REGISTER) {
            access->slots[n] = acu_ptx_source(l, o, access->size < 2 ? PTX_U16 : type);
            continue;
        }
        unsigned size = acu_ptx_register_size(l, o);
        if (size < access->size || !size)
            acu_ptx_mismatch(l);
        acu_ptx_check_type(l, o, type);
        if (known && size != access->register_size)
            acu_ptx_invalid(l, "Incompatible elements of vector expression");
        known = true;
        access->register_size = (uint8_t)size;
        access->slots[n] = acu_ptx_register_slot(l, o->number);
    }
}

/* Shared and local memory is that of one thread of the host. */
static ptx_handler *handler_of(const ptx_access *access, access_order order, bool loads) {
    const ptx_memory_handlers *handlers = acu_ptx_memory_handlers();
    const bool may_be_global = access->space == PTX_GLOBAL || access->space == PTX_GENERIC;
    if (access->size == 16)
        return loads ? acu_ptx_load_wide : acu_ptx_store_wide;
    if (order != WEAK && may_be_global && access->count == 1)
        return loads ? acu_ptx_load_ordered : acu_ptx_store_ordered;
    return (loads ? handlers->load : handlers->store)[log2_of(access->size)];
}

/* Returns whether a parameter is the kernel's. What a register leads to is the kernel's in the
 * kernel, and in a function only where the instruction says so. */
static bool is_of_kernel(const ptx_lowering *l, const ptx_operand *at) {
    if (at->variable)
        return acu_ptx_is_kernel_param(l, at->variable);
    return !l->current || strstr(l->instruction->opcode, "param::entry");
}

static uint8_t flags_of(const ptx_access *access) {
    const bool plain = access->count == 1 && access->register_size == access->size &&
                       access->slots[0] != UINT32_MAX,
               any = access->space == PTX_GENERIC;
    return (uint8_t)((plain ? PTX_ACCESS_PLAIN : 0) | (access->narrow ? PTX_ACCESS_NARROW : 0) |
                     (any || access->space == PTX_SHARED ? PTX_ACCESS_SHARED : 0) |
                     (any || access->space == PTX_GLOBAL ? PTX_ACCESS_GLOBAL : 0));
}

static void emit_access(ptx_lowering *l, const ptx_operand *at, ptx_access *access,
                        access_order order, bool loads) {
    ptx_address address = acu_ptx_address(l, at, access->space);
    bool constant = access->space == PTX_CONST;
    if (constant)
        access->space = PTX_GLOBAL;
    bool parameter = access->space == PTX_PARAM;
    if (parameter && !is_of_kernel(l, at))
        access->space = PTX_LOCAL; /* a parameter of a call is in the frame */
    access->narrow = address.narrow;
    acu_ptx_check_access(l, (ptx_check_site){.space = constant ? PTX_CONST : access->space,
                                             .address = address,
                                             .bytes = (uint32_t)access->size * access->count,
                                             .reads = loads,
                                             .writes = !loads,
                                             .strong = order != WEAK,
                                             .releases = order == RELEASE,
                                             .parameter = parameter,
                                             .apart = constant || parameter,
                                             .values = loads ? NULL : access});
    ptx_op *op = acu_ptx_emit(l, handler_of(access, order, loads));
    op->a = address.slot;
    op->b = access->slots[0];
    op->value = address.offset;
    op->flags = flags_of(access);
    op->more = access;
    op->site = acu_ptx_site(l);
}

void acu_ptx_lower_load(ptx_lowering *l, const ptx_instruction *i) {
    ptx_access *access = acu_ptx_lower_alloc(l, sizeof *access);
    ptx_type type;
    access_order order;
    read_words(l, i, access, &type, &order);
    if (i->operand_count < 2 || i->operands[1].kind != PTX_ADDRESS)
        acu_ptx_mismatch(l);
    const ptx_operand *at = &i->operands[1];
    if (access->space == PTX_PARAM && at->variable && acu_ptx_is_kernel_param(l, at->variable) &&
        access->size <= 8) {
        load_params(l, &i->operands[0], at->variable->at + (uint64_t)at->offset, access, type);
        return;
    }
    read_elements(l, &i->operands[0], access, type, true);
    emit_access(l, at, access, order, true);
    add_fence(l, order);
}

void acu_ptx_lower_store(ptx_lowering *l, const ptx_instruction *i) {
    ptx_access *access = acu_ptx_lower_alloc(l, sizeof *access);
    ptx_type type;
    access_order order;
    if (acu_ptx_is_async(i)) {
        acu_ptx_lower_async(l, i);
        return;
    }
    read_words(l, i, access, &type, &order);
    if (i->operand_count < 2)
        acu_ptx_mismatch(l);
    read_elements(l, &i->operands[1], access, type, false);
    add_fence(l, order);
    emit_access(l, &i->operands[0], access, order, false);
}
