/*
 * Accesses whose addresses are in one register, each with an offset of its own, as those of a loop
 * that was unrolled, or of the fields of a structure. The first one finds how the lanes lie; those
 * behind it in the same run of operations look at the first address only.
 */
#include "sim/ptx/access.h"

#include "sim/ptx/lower_inside.h"

/* The accesses of a run whose registers have not changed since. */
typedef struct leaders {
    ptx_op *ops[PTX_LEADS]; /* NULL: there is none */
    unsigned next;
} leaders;

static unsigned size_of(const ptx_op *op) {
    return ((const ptx_access *)op->more)->size;
}

typedef enum access_kind { NO_ACCESS, LOAD, STORE } access_kind;

static access_kind kind_of(const ptx_op *op) {
    const ptx_memory_handlers *handlers = acu_ptx_memory_handlers();
    for (unsigned n = 0; n < 4; n++)
        if (op->full == handlers->load[n] || op->full == handlers->store[n])
            return op->full == handlers->load[n] ? LOAD : STORE;
    return NO_ACCESS;
}

/* Returns the slots that the operation may write. */
static uint64_t written_by(const ptx_op *op, access_kind kind) {
    const ptx_access *access = op->more;
    uint64_t written = 0;
    if (kind == NO_ACCESS)
        return op->full == acu_ptx_nothing ? 0 : op->changes;
    for (unsigned n = 0; n < access->count && kind == LOAD; n++)
        written |= access->slots[n] == UINT32_MAX ? 0 : ptx_slot_bit(access->slots[n]);
    return written;
}

static void forget_written(leaders *l, uint64_t written) {
    for (unsigned n = 0; n < PTX_LEADS; n++)
        if (l->ops[n] && ptx_slot_bit(l->ops[n]->a) & written)
            l->ops[n] = NULL;
}

/* Returns the leader that has the operation's addresses; NULL: there is none. */
static ptx_op *leader_of(const leaders *l, const ptx_op *op) {
    for (unsigned n = 0; n < PTX_LEADS; n++)
        if (l->ops[n] && l->ops[n]->a == op->a && size_of(l->ops[n]) == size_of(op))
            return l->ops[n];
    return NULL;
}

static void add_access(leaders *l, ptx_op *op, access_kind kind) {
    const ptx_memory_handlers *handlers = acu_ptx_memory_handlers();
    ptx_op *leader = leader_of(l, op);
    if (!leader) {
        op->lead = l->next;
        l->ops[l->next] = op;
        l->next = (l->next + 1) % PTX_LEADS;
        return;
    }
    const unsigned size = (unsigned)__builtin_ctz(size_of(op));
    leader->flags |= PTX_ACCESS_LEADS;
    op->lead = leader->lead;
    op->interpreted[0] = (kind == LOAD ? handlers->load_behind : handlers->store_behind)[size];
}

void acu_ptx_lead_accesses(ptx_code *code) {
    leaders l = {0};
    for (uint32_t n = 0; n < code->count; n++) {
        ptx_op *op = &code->ops[n];
        if (op->flow) {
            l = (leaders){0};
            continue;
        }
        const access_kind kind = kind_of(op);
        if (kind != NO_ACCESS && op->flags & PTX_ACCESS_PLAIN)
            add_access(&l, op, kind);
        forget_written(&l, written_by(op, kind));
    }
}
