/*
 * Random programs of the runtime interface, which are modelled on the host.
 *
 * A program is a list of steps. The choices of step N depend on the seed, on N, and on which
 * objects there are, so that steps can be taken away without changing what the others are like.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include "../suite/suite.h"

#include <setjmp.h>

/* ---- memory, and what the model says is in it (model.c) ---- */

typedef struct memory {
    int owners;
    acu_block *block; /* NULL: the program has released it, though a replay may keep it */
    int where;        /* 0: the place that is tested; 1: the other one */
    uint64_t size;
    uint8_t *bytes;
    uint64_t written; /* the number of the last write */
    bool is_part;     /* of a block whose other parts other threads use */
    uint64_t base;    /* where the part begins */
} memory;

typedef enum op_kind {
    WRITE,
    FILL,
    COPY,
    STRIDED,
    STEP,
    COUNT_UP,
    COPY_WORDS,
    REDUCE,
    OP_KINDS
} op_kind;
enum { MOST_DIMENSIONS = 3 };

/* Work for a client, which may be recorded. */
typedef struct op {
    op_kind kind;
    memory *to, *from; /* `from` may be NULL */
    uint64_t to_at, from_at, bytes;
    uint8_t element[16];
    size_t element_bytes;
    uint8_t *data; /* of a write; owned */
    unsigned rank;
    size_t shape[MOST_DIMENSIONS];
    int64_t to_steps[MOST_DIMENSIONS], from_steps[MOST_DIMENSIONS];
    uint32_t words, value;
} op;

memory *memory_keep(memory *kept);
void memory_drop(memory *dropped);
void op_drop(op *dropped);
/* Does to the model what the work does to the blocks; `number` is that of the write. */
void op_apply(const op *it, uint64_t number);
/* Gives the work to the client. */
acu_result op_issue(const op *it, acu_client *on);
/* What the client of a place is told. */
acu_result op_result(const op *it, int where);
/* Returns whether the work stays inside of its blocks. */
bool op_is_inside(const op *it);
void op_describe(const op *it, char *text, size_t size);

/* ---- a program that runs (steps.c) ---- */

enum { CLIENTS = 4, BLOCKS = 8, MARKS = 5, REPLAYS = 3, MOST_OPS = 8, MOST_STEPS = 400 };

typedef struct known_mark {
    acu_mark *mark;
    uint64_t number; /* of the last write before it */
} known_mark;

typedef struct known_replay {
    acu_replay *replay;
    op ops[MOST_OPS];
    unsigned count;
} known_replay;

typedef struct world {
    uint64_t seed, state; /* of the numbers that choose */
    unsigned step;
    acu_client **clients; /* the last one is of the other place; threads share them */
    bool alone;           /* no other thread uses the clients */
    unsigned frozen[CLIENTS];
    memory *blocks[BLOCKS];
    known_mark marks[MARKS];
    known_replay replays[REPLAYS];
    uint64_t writes;
    uint8_t *room;
    bool fails;     /* functions of the made-up back end do so by chance: nothing is compared */
    bool is_ending; /* nothing fails any more, but errors of before may still be told */
    jmp_buf step_end;
    bool is_told;    /* each step is printed */
    char what[400];  /* the step */
    char wrong[900]; /* the first difference; "" if there is none */
    jmp_buf end;
} world;

/* Runs the steps whose entry in `left_out` is not set; NULL: all. Returns whether nothing differed.
 * The objects are released, except for the clients. */
bool run_program(world *w, unsigned steps, const bool *left_out);

/* Ends the program. */
_Noreturn void differ(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
