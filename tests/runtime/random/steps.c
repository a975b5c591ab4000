/* The steps of random programs. */
#include "random.h"

#include "../made_up.h"

#include <stdarg.h>

/* ---- choices ---- */

static uint64_t next_number(world *w) {
    uint64_t z = w->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static unsigned any(world *w, unsigned limit) {
    return (unsigned)(next_number(w) % limit);
}

static bool one_in(world *w, unsigned count) {
    return any(w, count) == 0;
}

static uint64_t any_size(world *w) {
    unsigned kind = any(w, 20);
    return kind < 13 ? any(w, 40) : kind < 19 ? any(w, 3000) : any(w, 100000);
}

/* ---- differences ---- */

void differ(world *w, const char *format, ...) {
    va_list list;
    int length = snprintf(w->wrong, sizeof w->wrong, "step %u, %s: ", w->step, w->what);
    va_start(list, format);
    if ((size_t)length < sizeof w->wrong)
        vsnprintf(w->wrong + length, sizeof w->wrong - (size_t)length, format, list);
    va_end(list);
    if (w->fails) {
        if (w->is_told)
            printf("      %s\n", w->wrong);
        longjmp(w->step_end, 1);
    }
    longjmp(w->end, 1);
}

__attribute__((format(printf, 2, 3))) static void tell(world *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(w->what, sizeof w->what, format, list);
    va_end(list);
    if (w->is_told) {
        printf("  %3u %s\n", w->step, w->what);
        fflush(stdout);
    }
}

static void expect(world *w, acu_result got, acu_result expected) {
    if (got != expected && !w->is_ending)
        differ(w, "the result is %s and not %s: %s", acu_result_name(got),
               acu_result_name(expected), got ? acu_last_error_message() : "");
}

static void compare(world *w, const memory *m, uint64_t at, const uint8_t *got, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++)
        if (got[i] != m->bytes[at + i])
            differ(w, "byte %llu + %llu of %llu is %u and not %u", (unsigned long long)at,
                   (unsigned long long)i, (unsigned long long)m->size, got[i], m->bytes[at + i]);
}

/* Memory of the host, until the next call. */
static uint8_t *room_for(world *w, uint64_t size) {
    free(w->room);
    w->room = malloc(size + 1);
    if (!w->room)
        abort();
    return w->room;
}

/* ---- choosing objects ---- */

static unsigned any_client(world *w) {
    return one_in(w, 6) ? CLIENTS - 1 : any(w, CLIENTS - 1);
}

static int where_is(unsigned client_index) {
    return client_index == CLIENTS - 1;
}

/* A block of a place; NULL where none was found. */
static memory *any_block(world *w, int where) {
    unsigned first = any(w, BLOCKS);
    for (unsigned i = 0; i < BLOCKS; i++) {
        memory *m = w->blocks[(first + i) % BLOCKS];
        if (m && m->where == where)
            return m;
    }
    return NULL;
}

/* ---- choosing work ---- */

static void choose_range(world *w, op *it) {
    uint64_t room = it->to->size;
    if (it->from && it->from->size < room)
        room = it->from->size;
    it->bytes = room ? any(w, (unsigned)room + 1) : 0;
    if (one_in(w, 3))
        it->bytes = room;
    it->to_at = any(w, (unsigned)(it->to->size - it->bytes) + 1);
    it->from_at = it->from ? any(w, (unsigned)(it->from->size - it->bytes) + 1) : 0;
    if (it->to->is_part || (it->from && it->from->is_part))
        return;
    if (one_in(w, 30)) /* mostly outside of one of them */
        *(it->from && one_in(w, 2) ? &it->from_at : &it->to_at) += 1 + any(w, 50);
}

/* Steps of the destination that never meet; both layouts fit, unless by chance they do not. */
static void choose_layout(world *w, op *it) {
    size_t room = 1 + any(w, 2);
    it->element_bytes = 1 + any(w, 9);
    it->rank = any(w, MOST_DIMENSIONS + 1);
    it->to_at = any(w, 3);
    it->from_at = any(w, 3);
    for (unsigned k = it->rank; k-- > 0;) {
        it->shape[k] = 1 + any(w, 5);
        size_t last = it->shape[k] - 1;
        it->to_steps[k] = one_in(w, 2) ? (int64_t)room : -(int64_t)room;
        it->to_at += it->to_steps[k] < 0 ? room * last : 0;
        room *= it->shape[k];
        it->from_steps[k] = (int64_t)any(w, 9) - 4;
        it->from_at += it->from_steps[k] < 0 ? (size_t)-it->from_steps[k] * last : 0;
    }
}

static uint32_t words_in(const memory *m) {
    return (uint32_t)(m->size / 4);
}

/* Chooses work with blocks of a place, or with one of each; returns false where there are none. */
static bool choose_op(world *w, op *it, int where, bool between) {
    memset(it, 0, sizeof *it);
    it->kind = (op_kind)any(w, OP_KINDS);
    it->to = memory_keep(any_block(w, between && one_in(w, 4) ? !where : where));
    if (it->kind >= COPY && it->kind != STEP && it->kind != COUNT_UP)
        it->from =
            memory_keep(any_block(w, between && it->kind == COPY && one_in(w, 4) ? !where : where));
    bool is_alone = it->kind == STRIDED || it->kind == COPY_WORDS || it->kind == REDUCE;
    if (!it->to || (it->kind >= COPY && it->kind != STEP && it->kind != COUNT_UP && !it->from) ||
        (is_alone && it->from == it->to) ||
        (it->kind > COPY && (it->to->is_part || (it->from && it->from->is_part))))
        return false;
    if (it->kind <= COPY)
        choose_range(w, it);
    else if (it->kind == STRIDED)
        choose_layout(w, it);
    uint32_t most = words_in(it->to);
    if (it->kind == REDUCE)
        most = most < 2000 ? most * 64 : 128000;
    if (it->from && words_in(it->from) < most)
        most = words_in(it->from);
    it->words = most ? (one_in(w, 3) ? most : any(w, most + 1)) : 0;
    it->value = (uint32_t)next_number(w);
    if (it->kind == FILL) {
        it->element_bytes = 1 + any(w, 16);
        for (size_t i = 0; i < it->element_bytes; i++)
            it->element[i] = (uint8_t)next_number(w);
    }
    if (it->kind == WRITE) {
        it->data = malloc(it->bytes + 1);
        for (uint64_t i = 0; it->data && i < it->bytes; i++)
            it->data[i] = (uint8_t)next_number(w);
    }
    return true;
}

/* ---- steps: blocks and work ---- */

static void make_block(world *w) {
    unsigned slot = any(w, BLOCKS), c = any_client(w);
    if (w->blocks[slot])
        return;
    memory *m = calloc(1, sizeof *m);
    m->owners = 1;
    m->where = where_is(c);
    m->size = any_size(w);
    m->bytes = malloc(m->size + 1);
    for (uint64_t i = 0; i < m->size; i++)
        m->bytes[i] = (uint8_t)next_number(w);
    tell(w, "make block %u of %llu bytes by client %u", slot, (unsigned long long)m->size, c);
    w->blocks[slot] = m;
    expect(w, acu_block_create(w->clients[c], m->size, &m->block), 0);
    expect(w, acu_block_write(w->clients[c], m->block, 0, m->bytes, m->size), 0);
    m->written = ++w->writes;
}

static void drop_block(world *w, unsigned slot) {
    memory *m = w->blocks[slot];
    w->blocks[slot] = NULL;
    acu_block *block = m->is_part ? NULL : m->block;
    m->block = NULL;
    memory_drop(m);
    acu_result result = acu_block_release(block);
    if (result && !w->is_ending)
        differ(w, "releasing a block is %s: %s", acu_result_name(result), acu_last_error_message());
}

static void release_block(world *w) {
    unsigned slot = any(w, BLOCKS);
    if (!w->blocks[slot] || w->blocks[slot]->is_part)
        return;
    tell(w, "release block %u", slot);
    drop_block(w, slot);
}

static void do_work(world *w) {
    op it;
    unsigned c = any_client(w);
    if (choose_op(w, &it, where_is(c), true)) {
        char text[300];
        op_describe(&it, text, sizeof text);
        tell(w, "%s, by client %u", text, c);
        acu_result expected = op_result(&it, where_is(c));
        acu_result got = op_issue(&it, w->clients[c]);
        if (expected == 0 && got == 0)
            op_apply(&it, ++w->writes);
        if (expected == ACU_ERROR_DEVICE && !op_is_inside(&it) && got == ACU_ERROR_RANGE)
            expected = got; /* either is right */
        op_drop(&it);
        expect(w, got, expected);
        return;
    }
    op_drop(&it);
}

static void read_block(world *w) {
    unsigned c = any_client(w);
    memory *m = any_block(w, where_is(c));
    if (!m)
        return;
    uint64_t at = any(w, (unsigned)m->size + 1), bytes = any(w, (unsigned)(m->size - at) + 1);
    uint8_t *got = room_for(w, bytes + 1);
    tell(w, "read %llu bytes of %p (%llu bytes) at %llu, by client %u", (unsigned long long)bytes,
         (void *)m->block, (unsigned long long)m->size, (unsigned long long)at, c);
    got[bytes] = 0xa5;
    acu_result result = acu_block_read(w->clients[c], m->block, m->base + at, got, bytes);
    bool is_beyond = got[bytes] != 0xa5;
    expect(w, result, 0);
    compare(w, m, at, got, bytes);
    if (is_beyond)
        differ(w, "the byte behind the host's memory was written");
}

/* ---- steps: marks ---- */

static void make_mark(world *w) {
    known_mark *m = &w->marks[any(w, MARKS)];
    unsigned c = any_client(w);
    if (m->mark)
        return;
    tell(w, "make mark %d of client %u", (int)(m - w->marks), c);
    expect(w, acu_mark_create(w->clients[c], &m->mark), 0);
    m->number = w->writes;
}

static void use_mark(world *w) {
    known_mark *m = &w->marks[any(w, MARKS)];
    unsigned what = any(w, 5), c = any_client(w);
    if (!m->mark)
        return;
    tell(w, "mark %d, %s, client %u", (int)(m - w->marks),
         (const char *const[]){"query", "synchronize", "wait", "wait", "release"}[what], c);
    if (what == 0) {
        acu_result result = acu_mark_query(m->mark);
        if (result != ACU_NOT_READY)
            expect(w, result, 0);
    } else if (what == 1) {
        expect(w, acu_mark_synchronize(m->mark), 0);
        expect(w, is_late() ? 0 : acu_mark_query(m->mark), 0);
    } else if (what < 4) {
        expect(w, acu_client_wait(w->clients[c], m->mark), 0);
    } else {
        acu_mark *mark = m->mark;
        m->mark = NULL;
        expect(w, acu_mark_release(mark), 0);
    }
}

static void read_after_mark(world *w) {
    known_mark *m = &w->marks[any(w, MARKS)];
    unsigned c = any_client(w);
    memory *from = any_block(w, where_is(c));
    if (!m->mark || !from || from->size == 0 || from->is_part)
        return;
    uint8_t *got = room_for(w, from->size);
    tell(w, "read %p (%llu bytes) after mark %d by client %u", (void *)from->block,
         (unsigned long long)from->size, (int)(m - w->marks), c);
    acu_result result =
        acu_block_read_after(w->clients[c], m->mark, from->block, 0, got, from->size);
    acu_place marked = acu_client_place(acu_mark_client(m->mark));
    if (!acu_place_is(marked, acu_client_place(w->clients[c])) && result)
        return; /* a mark of another place may be refused */
    expect(w, result, from->written > m->number ? ACU_ERROR_STATE : 0);
    if (result == 0)
        compare(w, from, 0, got, from->size);
}

/* ---- steps: replays ---- */

typedef struct recorder {
    world *w;
    known_replay *to;
    memory *scratch;
    int where;
    acu_result expected;
} recorder;

/* Each operation sees the blocks as they will be when the replay is run: only sizes count. */
static acu_result record_ops(acu_client *on, void *data) {
    recorder *r = data;
    unsigned count = any(r->w, MOST_OPS - 1);
    if (r->scratch) {
        ACU_TRY(acu_block_create(on, r->scratch->size, &r->scratch->block));
        op *fill = &r->to->ops[r->to->count++];
        *fill = (op){.kind = FILL,
                     .to = memory_keep(r->scratch),
                     .bytes = r->scratch->size,
                     .element = {7, 8, 9},
                     .element_bytes = 3};
        ACU_TRY(op_issue(fill, on));
    }
    for (unsigned i = 0; i < count; i++) {
        op *it = &r->to->ops[r->to->count];
        char text[300];
        if (!choose_op(r->w, it, r->where, false)) {
            op_drop(it);
            continue;
        }
        if (r->scratch && it->from && it->kind == COPY && one_in(r->w, 2)) {
            memory_drop(it->from);
            it->from = memory_keep(r->scratch);
            choose_range(r->w, it);
        }
        r->to->count++;
        op_describe(it, text, sizeof text);
        tell(r->w, "    record %s", text);
        r->expected = op_result(it, r->where);
        acu_result result = op_issue(it, on);
        if (result || r->expected)
            return result;
    }
    return 0;
}

static void drop_replay(known_replay *replay) {
    while (replay->count)
        op_drop(&replay->ops[--replay->count]);
}

static void record_replay(world *w) {
    known_replay *to = &w->replays[any(w, REPLAYS)];
    unsigned c = any_client(w);
    recorder r = {.w = w, .to = to, .where = where_is(c)};
    if (to->replay)
        return;
    if (one_in(w, 2)) {
        r.scratch = calloc(1, sizeof *r.scratch);
        *r.scratch = (memory){.owners = 1, .where = r.where, .size = 1 + any(w, 500)};
        r.scratch->bytes = calloc(1, r.scratch->size);
    }
    tell(w, "record replay %d by client %u", (int)(to - w->replays), c);
    acu_result result = acu_replay_record(w->clients[c], record_ops, &r, NULL, 0, &to->replay);
    if (r.scratch) {
        acu_result released = acu_block_release(r.scratch->block);
        r.scratch->block = NULL;
        memory_drop(r.scratch);
        expect(w, released, 0);
    }
    if (!to->replay)
        drop_replay(to);
    expect(w, result, r.expected);
}

static void run_replay(world *w) {
    known_replay *it = &w->replays[any(w, REPLAYS)];
    unsigned times = 1 + any(w, 3);
    if (!it->replay)
        return;
    tell(w, "run replay %d %u times, %s", (int)(it - w->replays), times,
         acu_replay_is_real(it->replay) ? "real" : acu_replay_why(it->replay));
    for (unsigned k = 0; k < times; k++) {
        expect(w, acu_replay_run(it->replay), 0);
        w->writes++;
        for (unsigned i = 0; i < it->count; i++)
            op_apply(&it->ops[i], w->writes);
    }
}

static void release_replay(world *w) {
    known_replay *it = &w->replays[any(w, REPLAYS)];
    if (!it->replay)
        return;
    tell(w, "release replay %d", (int)(it - w->replays));
    acu_replay *replay = it->replay;
    it->replay = NULL;
    drop_replay(it);
    expect(w, acu_replay_release(replay), 0);
}

/* ---- steps: clients ---- */

static void manage_memory(world *w) {
    unsigned c = any_client(w), what = any(w, 3);
    acu_memory_stats stats;
    tell(w, "%s the memory of client %u", (const char *const[]){"freeze", "thaw", "trim"}[what], c);
    if (what == 0) {
        expect(w, acu_client_freeze_memory(w->clients[c]), 0);
        w->frozen[c]++;
    } else if (what == 1 && (w->frozen[c] || w->alone)) {
        expect(w, acu_client_thaw_memory(w->clients[c]), w->frozen[c] ? 0 : ACU_ERROR_STATE);
        w->frozen[c] -= w->frozen[c] > 0;
    } else {
        expect(w, acu_client_trim_memory(w->clients[c], any(w, 2) ? 0 : 5000), 0);
    }
    expect(w, acu_client_get_memory(w->clients[c], &stats), 0);
    if (w->alone && stats.frozen != w->frozen[c])
        differ(w, "the memory is frozen %u times and not %u", stats.frozen, w->frozen[c]);
}

static void synchronize(world *w) {
    unsigned c = any_client(w);
    tell(w, "synchronize client %u", c);
    expect(w, acu_client_synchronize(w->clients[c]), 0);
}

/* The old client lives on with its blocks, marks and replays. */
static void renew_client(world *w) {
    unsigned c = any_client(w);
    acu_client *made = NULL;
    acu_place where = acu_client_place(w->clients[c]);
    acu_client_options options = {.size = sizeof options, .priority = (int)any(w, 3) - 1};
    if (!w->alone)
        return;
    tell(w, "make client %u anew", c);
    expect(w, acu_client_create(where, &options, &made), 0);
    acu_client *before = w->clients[c];
    w->clients[c] = made;
    w->frozen[c] = 0;
    expect(w, acu_client_release(before), 0);
}

/* ---- programs ---- */

static void do_step(world *w) {
    unsigned kind = any(w, 100);
    if (kind < 14)
        make_block(w);
    else if (kind < 20)
        release_block(w);
    else if (kind < 53)
        do_work(w);
    else if (kind < 65)
        read_block(w);
    else if (kind < 70)
        make_mark(w);
    else if (kind < 77)
        use_mark(w);
    else if (kind < 81)
        read_after_mark(w);
    else if (kind < 86)
        record_replay(w);
    else if (kind < 93)
        run_replay(w);
    else if (kind < 95)
        release_replay(w);
    else if (kind < 97)
        manage_memory(w);
    else if (kind < 99)
        synchronize(w);
    else
        renew_client(w);
}

/* Lets a function of the made-up back end fail once. */
static void choose_failure(world *w) {
    static const acu_result codes[] = {ACU_OUT_OF_MEMORY, ACU_NOT_SUPPORTED, ACU_ERROR_STATE, 719};
    unsigned entry = any(w, MADE_UP_ENTRIES);
    if (one_in(w, 2))
        return;
    made_up.fail[entry] = codes[any(w, COUNT(codes))];
    made_up.times[entry] = 1 + any(w, 3);
    if (one_in(w, 10))
        made_up.late = 719;
}

/* A step during which something fails: what it returns is not known, but nothing may be lost. */
static void do_failing_step(world *w) {
    if (setjmp(w->step_end) == 0) {
        choose_failure(w);
        do_step(w);
    }
    memset(made_up.fail, 0, sizeof made_up.fail);
    memset(made_up.times, 0, sizeof made_up.times);
    made_up.late = 0;
    for (unsigned i = 0; i < BLOCKS; i++) /* those that could not be made */
        if (w->blocks[i] && !w->blocks[i]->block) {
            memory_drop(w->blocks[i]);
            w->blocks[i] = NULL;
        }
}

/* Reads every block once more, and releases everything. */
static void finish(world *w) {
    for (unsigned i = 0; i < BLOCKS; i++) {
        memory *m = w->blocks[i];
        if (!m)
            continue;
        tell(w, "read block %u (%p) in the end", i, (void *)m->block);
        uint8_t *got = room_for(w, m->size);
        expect(
            w,
            acu_block_read(w->clients[m->where ? CLIENTS - 1 : 0], m->block, m->base, got, m->size),
            0);
        compare(w, m, 0, got, m->size);
    }
}

static void clear(world *w) {
    for (unsigned i = 0; i < BLOCKS; i++)
        if (w->blocks[i])
            drop_block(w, i);
    for (unsigned i = 0; i < MARKS; i++) {
        acu_mark *mark = w->marks[i].mark;
        w->marks[i].mark = NULL;
        expect(w, acu_mark_release(mark), 0);
    }
    for (unsigned i = 0; i < REPLAYS; i++) {
        acu_replay *replay = w->replays[i].replay;
        w->replays[i].replay = NULL;
        drop_replay(&w->replays[i]);
        expect(w, acu_replay_release(replay), 0);
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        for (; w->frozen[i]; w->frozen[i]--)
            expect(w, acu_client_thaw_memory(w->clients[i]), 0);
}

bool run_program(world *w, unsigned steps, const bool *left_out) {
    w->wrong[0] = '\0';
    if (setjmp(w->end) == 0) {
        for (w->step = 0; w->step < steps; w->step++) {
            w->state = w->seed * 1000003 + w->step;
            if (left_out && left_out[w->step])
                continue;
            if (w->fails)
                do_failing_step(w);
            else
                do_step(w);
        }
        if (w->fails)
            w->is_ending = true; /* work that failed is told by what comes after */
        else
            finish(w);
        clear(w);
        for (unsigned i = 0; i < CLIENTS && w->is_ending; i++)
            expect(w, acu_client_synchronize(w->clients[i]), 0);
        free(w->room);
        w->room = NULL;
        return true;
    }
    char first[sizeof w->wrong];
    memcpy(first, w->wrong, sizeof first);
    if (setjmp(w->end) == 0) /* a second difference is not told */
        clear(w);
    memcpy(w->wrong, first, sizeof first);
    return false;
}
