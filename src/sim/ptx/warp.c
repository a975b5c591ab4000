/*
 * Lanes that branches send apart, and where they meet again.
 *
 * A split is a set of lanes that go on together. A branch that sends lanes to two places makes two
 * splits, and a join at the first operation that both must come to. A split that comes to its join
 * waits in it until all others have come or ended. No lane waits there for ever: where the others
 * may be spinning, what has arrived goes on alone.
 */
#include "sim/ptx/grid.h"
#include "sim/ptx/jit.h"
#include "sim/ptx/warp_splits.h"

#include <stdlib.h>
#include <string.h>

#define FOUR_BITS(n) 1u << (n), 2u << (n), 4u << (n), 8u << (n)
/* A bit for each lane; it makes a loop over lanes one of vectors. */
static const uint32_t bits[PTX_LANES] = {FOUR_BITS(0),  FOUR_BITS(4),  FOUR_BITS(8),
                                         FOUR_BITS(12), FOUR_BITS(16), FOUR_BITS(20),
                                         FOUR_BITS(24), FOUR_BITS(28)};
#undef FOUR_BITS

void acu_ptx_warp_set_mask(ptx_warp *w, uint32_t mask) {
    if (w->mask == mask)
        return;
    w->mask = mask;
    w->active = ptx_count_lanes(mask);
    for (unsigned i = 0; i < PTX_LANES; i++)
        w->lanes[i] = -(uint32_t)((mask & bits[i]) != 0);
}

/* ---- joins and frames ---- */

static void *take(ptx_warp *w, void **list, size_t next, size_t size) {
    void *taken = *list;
    if (taken)
        memcpy(list, (char *)taken + next, sizeof *list);
    else if (!(taken = malloc(size)))
        acu_ptx_fail(w, 0, NULL, 2, 0, "there is no memory for a branch");
    memset(taken, 0, size);
    return taken;
}

ptx_join *acu_ptx_warp_add_join(ptx_warp *w, const ptx_split *s, uint32_t pc) {
    ptx_join *join = take(w, (void **)&w->free_joins, offsetof(ptx_join, next), sizeof *join);
    *join = (ptx_join){
        .pc = pc, .expected = s->mask, .parent = s->join, .frame = s->frame, .next = w->joins};
    w->joins = join;
    return join;
}

static void drop_join(ptx_warp *w, ptx_join *join) {
    ptx_join **at = &w->joins;
    while (*at != join)
        at = &(*at)->next;
    *at = join->next;
    for (ptx_join *other = w->joins; other; other = other->next)
        if (other->parent == join)
            other->parent = join->parent;
    for (unsigned i = 0; i < w->split_count; i++)
        if (w->splits[i].join == join)
            w->splits[i].join = join->parent;
    join->next = w->free_joins;
    w->free_joins = join;
}

static ptx_split *add_split(ptx_warp *w, ptx_split split) {
    w->splits[w->split_count] = split;
    return &w->splits[w->split_count++];
}

static void drop_split(ptx_warp *w, ptx_split *split) {
    if (split != &w->splits[--w->split_count])
        *split = w->splits[w->split_count];
}

/* Lets the lanes that have arrived at a join go on together, behind it. */
static void leave_join(ptx_warp *w, ptx_join *join) {
    add_split(w, (ptx_split){.pc = join->pc,
                             .mask = join->arrived,
                             .join = join->parent,
                             .frame = join->frame,
                             .turn = w->turns});
    join->expected &= ~join->arrived;
    join->arrived = 0;
    if (!join->expected)
        drop_join(w, join);
}

void acu_ptx_warp_forget(ptx_warp *w, uint32_t lanes, const ptx_frame *frame) {
    for (ptx_join *join = w->joins, *next; join; join = next) {
        next = join->next;
        if (frame && join->frame != frame)
            continue;
        join->expected &= ~lanes;
        if (!join->expected)
            drop_join(w, join);
        else if (join->arrived == join->expected)
            leave_join(w, join);
    }
}

ptx_frame *acu_ptx_warp_add_frame(ptx_warp *w) {
    const bool is_new = !w->free_frames;
    ptx_frame *before = is_new ? w->frames : w->free_frames->made_before;
    ptx_frame *frame =
        take(w, (void **)&w->free_frames, offsetof(ptx_frame, next_free), sizeof *frame);
    frame->made_before = before;
    if (is_new)
        w->frames = frame;
    return frame;
}

void acu_ptx_warp_leave_frame(ptx_warp *w, ptx_frame *frame, uint32_t lanes) {
    frame->lanes &= ~lanes;
    if (frame->lanes || frame == &w->kernel)
        return;
    free(frame->saved);
    frame->saved = NULL;
    frame->next_free = w->free_frames;
    w->free_frames = frame;
}

/* Makes all frames free: lanes that ended in a function have not left theirs. */
static void leave_all_frames(ptx_warp *w) {
    w->free_frames = NULL;
    for (ptx_frame *frame = w->frames; frame; frame = frame->made_before) {
        free(frame->saved);
        frame->saved = NULL;
        frame->next_free = w->free_frames;
        w->free_frames = frame;
    }
}

/* Makes the warp begin, which may have run in any way. */
static void begin_anew(ptx_warp *w, uint32_t exists) {
    if (w->frames)
        leave_all_frames(w);
    if (w->code->allocates)
        memset(w->allocated, 0, sizeof w->allocated);
    w->exists = exists;
    w->is_plain = exists == ~UINT32_C(0) && !w->code->allocates;
    w->is_new = exists == ~UINT32_C(0);
    w->ended = 0;
    acu_ptx_warp_set_mask(w, exists);
    w->kernel.function = w->code->functions; /* nothing else of it is ever set */
    w->kernel.lanes = exists;
    w->frame = &w->kernel; /* machine code may begin the warp without a choice of its splits */
    w->splits[0] =
        (ptx_split){.pc = w->code->functions->begin, .mask = exists, .frame = &w->kernel};
    w->split_count = 1;
    w->current = 0;
    w->turns = 0;
    w->backward = 0;
    w->in_cluster = 0;
}

void acu_ptx_warp_begin(ptx_warp *w, uint32_t exists) {
    if (!w->is_plain) {
        begin_anew(w, exists);
        return;
    }
    w->is_new = 1;
    w->ended = 0;
    w->split_count = 1;
    w->backward = 0;
    w->in_cluster = 0;
}

void acu_ptx_warp_clear(ptx_warp *w) {
    for (ptx_join *join = w->joins, *next; join; join = next) {
        next = join->next;
        free(join);
    }
    for (ptx_join *join = w->free_joins, *next; join; join = next) {
        next = join->next;
        free(join);
    }
    for (ptx_frame *frame = w->frames, *next; frame; frame = next) {
        next = frame->made_before;
        free(frame->saved);
        free(frame);
    }
    w->joins = w->free_joins = NULL;
    w->free_frames = w->frames = NULL;
}

/* ---- splits that are at the same place ---- */

static bool is_within(const ptx_join *join, const ptx_join *outer) {
    while (join && join != outer)
        join = join->parent;
    return join == outer;
}

/* Lanes will come to none of the joins up to the outer one. */
static void give_up_joins(ptx_warp *w, uint32_t lanes, ptx_join *join, const ptx_join *outer) {
    for (ptx_join *parent; join != outer; join = parent) {
        parent = join->parent;
        join->expected &= ~lanes;
        if (!join->expected)
            drop_join(w, join);
        else if (join->arrived == join->expected)
            leave_join(w, join);
    }
}

/* Makes one split of two that are at the same operation. They meet where both would. */
static void merge(ptx_warp *w, unsigned kept, unsigned other) {
    ptx_join *outer = w->splits[kept].join;
    while (!is_within(w->splits[other].join, outer))
        outer = outer->parent;
    give_up_joins(w, w->splits[kept].mask, w->splits[kept].join, outer);
    give_up_joins(w, w->splits[other].mask, w->splits[other].join, outer);
    w->splits[kept].join = outer;
    w->splits[kept].mask |= w->splits[other].mask;
    drop_split(w, &w->splits[other]);
}

/* Makes one split of those that are ready at the same operation. */
static void merge_splits(ptx_warp *w) {
    for (unsigned i = 0; i < w->split_count; i++)
        for (unsigned n = i + 1; n < w->split_count; n++) {
            const ptx_split *a = &w->splits[i], *b = &w->splits[n];
            if (a->pc == b->pc && a->frame == b->frame && !a->wait && !b->wait)
                merge(w, i, n--);
        }
}

/* ---- running ---- */

/* Returns the slots whose values lanes may need that wait while the current split runs. */
static uint64_t needed_elsewhere(const ptx_warp *w) {
    const uint64_t *needed = w->code->needed;
    uint64_t slots = PTX_NO_SLOT;
    if (!needed)
        return PTX_ALL_SLOTS;
    for (unsigned n = 0; n < w->split_count; n++)
        slots |= n == w->current ? 0 : needed[w->splits[n].pc];
    for (const ptx_join *join = w->joins; join; join = join->next)
        slots |= join->arrived ? needed[join->pc] : 0;
    return slots;
}

/* Interprets a run of plain operations of the current split. What no other lane needs is computed
 * for all lanes; `needed` is what others do, or 0 where that is to be found out. */
static inline void interpret_run(ptx_warp *w, const ptx_split *s, const ptx_op *op,
                                 uint64_t *needed) {
    const ptx_op *end = op + op->run;
    w->executed += (uint64_t)w->active * (op->run + 1);
    w->worker->run++;
    if (s->mask == ptx_alive(w)) {
        for (; op < end; op = op->next)
            op->interpreted[0](w, op);
        return;
    }
    const uint64_t slots = *needed = *needed ? *needed : needed_elsewhere(w);
    for (; op < end; op = op->next)
        if (op->changes & slots)
            op->interpreted[1](w, op);
        else
            op->interpreted[0](w, op);
}

/* Returns whether a split that stopped did so at a branch. */
static bool is_branch(const ptx_op *op) {
    return op->flow == acu_ptx_flow_jump || op->flow == acu_ptx_flow_branch ||
           op->flow == acu_ptx_flow_switch;
}

/* Interprets the current split until it stops; returns at which operation. What others need is the
 * same as long as each operation returns PTX_ON. */
static const ptx_op *interpret(ptx_warp *w) {
    const ptx_op *const ops = w->code->ops;
    ptx_step step = PTX_ON;
    do {
        ptx_split *s = ptx_current(w);
        uint64_t needed = 0;
        do {
            const ptx_op *op = ops + s->pc;
            interpret_run(w, s, op, &needed);
            op += op->run;
            s->pc = (uint32_t)(op - ops);
            step = op->flow(w, op);
            if (step == PTX_STOP)
                return op;
        } while (step == PTX_ON);
    } while (true);
}

/* Runs the current split until it stops, by machine code where there is some, and returns whether a
 * branch stopped it, so that others have their turn; else it came to a join or a barrier, or ended.
 * Where the warp ends or waits, machine code may go on with the next one. */
static bool run_split(ptx_warp *w) {
    const ptx_jit *jit = acu_ptx_worker_jit(w);
    w->is_new = w->is_plain = 0;
    if (!jit)
        return is_branch(interpret(w));
    for (;;) {
        const ptx_jit_end end = acu_ptx_jit_run(jit, &w);
        if (end == PTX_JIT_STOP || end == PTX_JIT_WAIT)
            return end == PTX_JIT_STOP;
        w->is_plain = 0;
        ptx_split *s = ptx_current(w);
        const ptx_op *op = w->code->ops + s->pc;
        if (end == PTX_JIT_NONE) {
            uint64_t needed = 0;
            interpret_run(w, s, op, &needed);
            op += op->run;
            s->pc = (uint32_t)(op - w->code->ops);
        }
        if (op->flow(w, op) == PTX_STOP)
            return is_branch(op);
    }
}

/* Makes the ready split the current one that was chosen the longest time ago; of several those
 * behind the current one first. False if none is ready. */
static bool choose(ptx_warp *w) {
    unsigned chosen = w->split_count, i = w->current;
    for (unsigned n = 0; n < w->split_count; n++) {
        i = i + 1 < w->split_count ? i + 1 : 0;
        if (w->splits[i].wait == PTX_READY &&
            (chosen == w->split_count || w->splits[i].turn < w->splits[chosen].turn))
            chosen = i;
    }
    if (chosen == w->split_count)
        return false;
    w->current = chosen;
    w->frame = w->splits[chosen].frame;
    w->splits[chosen].turn = ++w->turns;
    acu_ptx_warp_set_mask(w, w->splits[chosen].mask);
    return true;
}

/* Lets lanes go on that wait at a join for others, which may be waiting for them. False if there
 * are none. */
static bool leave_joins(ptx_warp *w) {
    bool any = false;
    for (ptx_join *join = w->joins, *next; join; join = next) {
        next = join->next;
        if (!join->arrived)
            continue;
        leave_join(w, join);
        any = true;
    }
    return any;
}

/* Returns whether a split is ready that was not chosen since. */
static bool is_one_ready(const ptx_warp *w, uint64_t since) {
    for (unsigned i = 0; i < w->split_count; i++)
        if (w->splits[i].wait == PTX_READY && w->splits[i].turn <= since)
            return true;
    return false;
}

ptx_state acu_ptx_warp_run(ptx_warp *w) {
    const uint64_t since = w->turns, number = w->block->number;
    unsigned rounds = 0;
    for (;;) {
        if (!w->split_count)
            return PTX_ENDED;
        merge_splits(w);
        if (!choose(w)) {
            if (w->block->check)
                acu_ptx_check_skipped(w);
            if (leave_joins(w) || acu_ptx_warp_finish_sync(w, true))
                continue;
            return PTX_WAITS;
        }
        w->backward = 0;
        const bool by_branch = run_split(w);
        if (!w->split_count || w->block->number != number)
            return PTX_ENDED;
        if (by_branch)
            acu_ptx_worker_look_at_time(w);
        rounds +=
            w->backward < PTX_SPINS ? w->backward : PTX_SPINS; /* a loop that counts is none */
        if (!by_branch || w->backward < PTX_SPINS) {
            if (!w->code->spins || rounds < PTX_ROUNDS)
                continue;
            w->worker->had_turn = true;
            return PTX_RUNS;
        }
        leave_joins(w);
        w->worker->had_turn = true;
        if (!is_one_ready(w, since)) /* all have had their turn */
            return PTX_RUNS;
    }
}

uint32_t acu_ptx_warp_waiting(const ptx_warp *w, unsigned barrier) {
    uint32_t lanes = 0;
    for (unsigned i = 0; i < w->split_count; i++)
        if (w->splits[i].wait == PTX_AT_BARRIER && w->splits[i].barrier == barrier)
            lanes |= w->splits[i].mask;
    return lanes;
}

/* ---- branches ---- */

/* Returns what becomes of a split that has gone back: others have their turn when it did so often.
 */
static ptx_step turn_after(ptx_warp *w, const ptx_op *op) {
    return ++w->backward < (op->flags & PTX_MAY_SPIN ? PTX_SPINS : PTX_TURN) ? PTX_ON : PTX_STOP;
}

/* Sends the current split to the target of its branch. */
static inline ptx_step go(ptx_warp *w, ptx_split *s, const ptx_op *op) {
    s->pc = (uint32_t)op->value;
    return op->flags & PTX_BACK ? turn_after(w, op) : PTX_ON;
}

/* Returns what became of a split of which lanes were sent elsewhere before. */
static ptx_step apart(ptx_step step) {
    return step == PTX_ON ? PTX_GO : step;
}

ptx_step acu_ptx_flow_jump(ptx_warp *w, const ptx_op *op) {
    return go(w, ptx_current(w), op);
}

/* Returns the join at which the lanes of a split meet after a branch. */
static ptx_join *join_at(ptx_warp *w, const ptx_split *s, uint32_t meet) {
    if (meet == PTX_NOWHERE || (s->join && s->join->pc == meet && s->join->frame == s->frame))
        return s->join;
    return acu_ptx_warp_add_join(w, s, meet);
}

/* Returns whether lanes that a branch sends to a place are at its join there, and nothing in the
 * code waits for others but at barriers. */
static bool is_at_join(const ptx_warp *w, const ptx_op *op, int64_t at) {
    return !w->code->spins && at == (int64_t)op->e && at > (int64_t)(op - w->code->ops);
}

/* Lets lanes of a split wait at a join, and the others go on to it. */
static void wait_at(ptx_join *join, ptx_split *s, uint32_t lanes) {
    join->arrived |= lanes;
    s->mask &= ~lanes;
    s->join = join;
}

/* Sends some lanes of the current split to the branch's target, and lets the others go on. Most
 * branches do not come here, and save no registers for it. */
static __attribute__((noinline)) ptx_step send_apart(ptx_warp *w, const ptx_op *op,
                                                     uint32_t taken) {
    ptx_split *s = ptx_current(w);
    ptx_join *join = join_at(w, s, op->e);
    if (is_at_join(w, op, op->value)) {
        wait_at(join, s, taken);
        w->backward = 0; /* as where another split was chosen */
        s->pc++;
        acu_ptx_warp_set_mask(w, s->mask);
        return PTX_GO;
    }
    if (is_at_join(w, op, (int64_t)s->pc + 1)) {
        wait_at(join, s, s->mask & ~taken);
    } else {
        ptx_split other = *s;
        other.mask = s->mask & ~taken;
        other.join = join;
        other.pc++;
        s->mask = taken;
        s->join = join;
        add_split(w, other);
    }
    acu_ptx_warp_set_mask(w, taken);
    return apart(go(w, s, op));
}

ptx_step acu_ptx_flow_branch(ptx_warp *w, const ptx_op *op) {
    ptx_split *s = ptx_current(w);
    uint32_t taken = ptx_guard(w, op) & s->mask;
    if (taken == s->mask)
        return go(w, s, op);
    if (!taken) {
        s->pc++;
        return PTX_ON;
    }
    return send_apart(w, op, taken);
}

ptx_step acu_ptx_flow_switch(ptx_warp *w, const ptx_op *op) {
    ptx_split *s = ptx_current(w);
    const uint32_t *index = ptx_at(w, op->a), *targets = op->more;
    ptx_join *join = NULL;
    while (s->mask) {
        unsigned lane = (unsigned)__builtin_ctz(s->mask);
        uint32_t same = 0;
        for (unsigned i = 0; i < PTX_LANES; i++)
            same |= (uint32_t)(index[i] == index[lane]) << i;
        same &= s->mask;
        if (index[lane] >= op->value)
            acu_ptx_fail(w, lane, op, 715, 0, "the index %u of brx.idx is not below %u",
                         index[lane], (unsigned)op->value);
        if (same != s->mask && !join)
            join = join_at(w, s, op->e);
        if (join)
            s->join = join;
        if (same == s->mask) {
            const bool back = targets[index[lane]] <= s->pc;
            s->pc = targets[index[lane]];
            return back ? apart(turn_after(w, op)) : PTX_GO;
        }
        ptx_split other = *s;
        other.mask = same;
        other.pc = targets[index[lane]];
        s->mask &= ~same;
        add_split(w, other);
        acu_ptx_warp_set_mask(w, s->mask);
    }
    return PTX_STOP;
}

ptx_step acu_ptx_flow_join(ptx_warp *w, const ptx_op *op) {
    (void)op;
    ptx_split *s = ptx_current(w);
    ptx_join *join = s->join;
    if (!join || join->pc != s->pc || join->frame != s->frame) {
        s->pc++;
        return PTX_ON;
    }
    join->arrived |= s->mask;
    drop_split(w, s);
    if (join->arrived == join->expected) {
        leave_join(w, join);
        w->current = w->split_count - 1;
        s = ptx_current(w);
        w->frame = s->frame;
        acu_ptx_warp_set_mask(w, s->mask);
        return PTX_GO;
    }
    return PTX_STOP;
}

/* Takes lanes out of the current split, which goes on behind the operation if any are left. */
static ptx_step without(ptx_warp *w, uint32_t lanes) {
    ptx_split *s = ptx_current(w);
    s->mask &= ~lanes;
    if (!s->mask) {
        drop_split(w, s);
        return PTX_STOP;
    }
    s->pc++;
    acu_ptx_warp_set_mask(w, s->mask);
    return PTX_GO;
}

ptx_step acu_ptx_warp_end_lanes(ptx_warp *w, uint32_t lanes) {
    ptx_frame *frame = ptx_current(w)->frame;
    ptx_step step = without(w, lanes);
    for (ptx_frame *f = frame, *caller; f; f = caller) {
        caller = f->caller;
        acu_ptx_warp_leave_frame(w, f, lanes);
    }
    w->ended |= lanes;
    acu_ptx_warp_forget(w, lanes, NULL);
    acu_ptx_warp_finish_sync(w, false);
    acu_ptx_block_lanes_ended(w, lanes);
    return step;
}

static uint32_t guarded_lanes(ptx_warp *w, const ptx_op *op) {
    uint32_t mask = ptx_current(w)->mask;
    return op->flags & PTX_GUARDED ? mask & ptx_guard(w, op) : mask;
}

ptx_step acu_ptx_flow_exit(ptx_warp *w, const ptx_op *op) {
    uint32_t lanes = guarded_lanes(w, op);
    if (lanes)
        return acu_ptx_warp_end_lanes(w, lanes);
    ptx_current(w)->pc++;
    return PTX_GO;
}
