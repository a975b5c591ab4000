/* What work does, on the host. */
#include "random.h"

memory *memory_keep(memory *kept) {
    if (kept)
        kept->owners++;
    return kept;
}

void memory_drop(memory *dropped) {
    if (dropped && --dropped->owners == 0) {
        free(dropped->bytes);
        free(dropped);
    }
}

void op_drop(op *dropped) {
    memory_drop(dropped->to);
    memory_drop(dropped->from);
    free(dropped->data);
    memset(dropped, 0, sizeof *dropped);
}

/* ---- doing ---- */

static uint32_t get_word(const memory *from, size_t i) {
    uint32_t word;
    memcpy(&word, from->bytes + 4 * i, 4);
    return word;
}

static void set_word(memory *to, size_t i, uint32_t word) {
    memcpy(to->bytes + 4 * i, &word, 4);
}

/* Moves on to the next element, of which the last index changes first. */
static void move_on(size_t *at, unsigned rank, const size_t *shape) {
    for (unsigned k = rank; k > 0; k--) {
        at[k - 1]++;
        if (at[k - 1] < shape[k - 1])
            return;
        at[k - 1] = 0;
    }
}

static void apply_strided(const op *it) {
    size_t at[MOST_DIMENSIONS] = {0}, count = 1;
    for (unsigned k = 0; k < it->rank; k++)
        count *= it->shape[k];
    for (size_t i = 0; i < count; i++) {
        int64_t to = (int64_t)it->to_at, from = (int64_t)it->from_at;
        for (unsigned k = 0; k < it->rank; k++) {
            to += (int64_t)at[k] * it->to_steps[k];
            from += (int64_t)at[k] * it->from_steps[k];
        }
        memcpy(it->to->bytes + (size_t)to * it->element_bytes,
               it->from->bytes + (size_t)from * it->element_bytes, it->element_bytes);
        move_on(at, it->rank, it->shape);
    }
}

/* Each word of a program's result. */
static uint32_t result_word(const op *it, size_t i) {
    switch (it->kind) {
    case STEP:
        return get_word(it->to, i) * 3 + 1;
    case COUNT_UP:
        return (uint32_t)i + it->value;
    case COPY_WORDS:
        return get_word(it->from, i);
    default:
        abort();
    }
}

/* Returns whether the work writes at all: a copy of bytes onto themselves does not. */
static bool writes(const op *it) {
    if (it->kind == COPY && it->to == it->from && it->to_at == it->from_at)
        return false;
    return it->kind == STRIDED || (it->kind <= COPY ? it->bytes : it->words);
}

void op_apply(const op *it, uint64_t number) {
    uint8_t *to = it->to->bytes;
    if (writes(it))
        it->to->written = number;
    switch (it->kind) {
    case WRITE:
        if (it->bytes)
            memcpy(to + it->to_at, it->data, it->bytes);
        break;
    case FILL:
        for (uint64_t i = 0; i < it->bytes; i++)
            to[it->to_at + i] = it->element[i % it->element_bytes];
        break;
    case COPY:
        if (it->bytes)
            memmove(to + it->to_at, it->from->bytes + it->from_at, it->bytes);
        break;
    case STRIDED:
        apply_strided(it);
        break;
    case REDUCE:
        for (size_t i = 0; i < it->words; i++)
            set_word(it->to, i / 64, get_word(it->to, i / 64) + get_word(it->from, i));
        break;
    default:
        for (size_t i = 0; i < it->words; i++)
            set_word(it->to, i, result_word(it, i));
    }
}

/* ---- asking the library to do it ---- */

static acu_result issue_strided(const op *it, acu_client *on) {
    acu_strides s = {it->rank, it->shape, it->to_steps, it->from_steps, it->to_at, it->from_at};
    return acu_block_copy_strided(on, it->to->block, it->from->block, it->element_bytes, &s);
}

acu_result op_issue(const op *it, acu_client *on) {
    acu_block *to = it->to->block, *from = it->from ? it->from->block : NULL;
    switch (it->kind) {
    case WRITE:
        return acu_block_write(on, to, it->to->base + it->to_at, it->data, it->bytes);
    case FILL:
        return acu_block_fill(on, to, it->to->base + it->to_at, it->bytes, it->element,
                              it->element_bytes);
    case COPY:
        return acu_block_copy(on, to, it->to->base + it->to_at, from, it->from->base + it->from_at,
                              it->bytes);
    case STRIDED:
        return issue_strided(it, on);
    case STEP:
        return acu_run(on, program("suite_step"), acu_items(it->words), acu_inout_block(to),
                       it->words);
    case COUNT_UP:
        return acu_run(on, program("suite_count"), acu_items(it->words), acu_out_block(to),
                       it->value, it->words);
    case COPY_WORDS:
        return acu_run(on, program("suite_copy"), acu_items(it->words), acu_in_block(from),
                       acu_out_block(to), it->words);
    case REDUCE:
        return acu_run(on, program("suite_reduce"), acu_items(it->words), acu_in_block(from),
                       acu_inout_block(to), it->words);
    default:
        abort();
    }
}

/* ---- what the library should say ---- */

static bool is_inside(const memory *m, uint64_t at, uint64_t bytes) {
    return at <= m->size && bytes <= m->size - at;
}

static bool is_layout_inside(const memory *m, const op *it, uint64_t at, const int64_t *steps) {
    int64_t low = (int64_t)at, high = (int64_t)at;
    for (unsigned k = 0; k < it->rank; k++) {
        int64_t reach = steps[k] * ((int64_t)it->shape[k] - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    return low >= 0 && (uint64_t)(high + 1) * it->element_bytes <= m->size;
}

bool op_is_inside(const op *it) {
    if (it->kind == STRIDED)
        return is_layout_inside(it->to, it, it->to_at, it->to_steps) &&
               is_layout_inside(it->from, it, it->from_at, it->from_steps);
    if (it->kind == COPY && !is_inside(it->from, it->from_at, it->bytes))
        return false;
    return it->kind > COPY || is_inside(it->to, it->to_at, it->bytes);
}

acu_result op_result(const op *it, int where) {
    bool is_there = it->to->where == where && (!it->from || it->from->where == where);
    if (it->kind == COPY)
        is_there = it->to->where == where || it->from->where == where;
    return !is_there ? ACU_ERROR_DEVICE : !op_is_inside(it) ? ACU_ERROR_RANGE : 0;
}

void op_describe(const op *it, char *text, size_t size) {
    static const char *const names[] = {"write", "fill",  "copy",  "strided copy",
                                        "step",  "count", "words", "reduce"};
    int length = snprintf(text, size, "%s to %p (%llu bytes) at %llu", names[it->kind],
                          (void *)it->to->block, (unsigned long long)it->to->size,
                          (unsigned long long)it->to_at);
    if (it->from && (size_t)length < size)
        length += snprintf(text + length, size - (size_t)length, " from %p (%llu bytes) at %llu",
                           (void *)it->from->block, (unsigned long long)it->from->size,
                           (unsigned long long)it->from_at);
    if ((size_t)length < size)
        snprintf(text + length, size - (size_t)length,
                 ", %llu bytes, elements of %zu, rank %u, %u words", (unsigned long long)it->bytes,
                 it->element_bytes, it->rank, it->words);
}
