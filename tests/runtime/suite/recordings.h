/* What cases of replays share: functions that are recorded. */
#ifndef RECORDINGS_H
#define RECORDINGS_H

#include "suite.h"

/* What a function records: blocks, a number, and what the case does with them. */
typedef struct recording {
    acu_block *a, *b, *c;
    const void *data;
    size_t size;
    uint32_t number;
    acu_result result;
    acu_program *program; /* NULL: suite_step */
} recording;

typedef acu_result recorded(acu_client *on, void *data);

static inline acu_replay *new_replay(recorded *function, recording *what) {
    acu_replay *replay = NULL;
    OK(acu_replay_record(client, function, what, NULL, 0, &replay));
    IS(replay != NULL);
    release_replay_later(replay);
    return replay;
}

static inline acu_result step_a(acu_client *on, void *data) {
    recording *r = data;
    return acu_run(on, r->program ? r->program : program("suite_step"), acu_items(r->number),
                   acu_inout_block(r->a), r->number);
}

static inline acu_result nothing(acu_client *on, void *data) {
    (void)on;
    (void)data;
    return 0;
}

static inline acu_result many_steps(acu_client *on, void *data) {
    recording *r = data;
    for (uint32_t i = 0; i < r->size; i++)
        ACU_TRY(step_a(on, r));
    return 0;
}

static inline uint32_t first_word(acu_block *block) {
    uint32_t word;
    memcpy(&word, contents(client, block, 0, 4), 4);
    return word;
}

static inline acu_block *new_zeros(size_t size) {
    acu_block *block = new_block(size);
    OK(acu_block_fill(client, block, 0, size, "\0", 1));
    return block;
}

static inline uint32_t stepped(uint32_t word, size_t times) {
    while (times--)
        word = word * 3 + 1;
    return word;
}

/* To `b`, by way of a block that is made and released inside. */
static inline acu_result by_scratch(acu_client *on, void *data) {
    recording *r = data;
    ACU_AUTO(acu_block) *scratch = NULL;
    ACU_TRY(acu_block_create(on, 400, &scratch));
    ACU_TRY(acu_block_copy(on, scratch, 0, r->a, 0, 400));
    ACU_TRY(acu_run(on, program("suite_step"), acu_items(100), acu_inout_block(scratch), 100u));
    return acu_block_copy(on, r->b, 0, scratch, 0, 400);
}

#endif
