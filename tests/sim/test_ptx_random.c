/*
 * Random kernels, compared with what each thread would do alone. The threads of a warp go apart at
 * branches and meet again, and registers share places: neither may change what a thread computes.
 */
#include "driver_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KERNELS = 1000,
    THREADS = 80, /* the last warp is not full */
    ALL = 8,      /* registers %r that are needed from the begin to the end, */
    BRIEF = 150,  /* and some that are needed only where they are visible, */
    WORDS = ALL + BRIEF,
    WIDES = 12, /* %d of 64 bits, */
    FLAGS = 6,  /* predicates %p, */
    LOOPS = 12, /* and counters %c of loops */
    MOST_STEPS = 500,
    TEXT = 1 << 16,
};

typedef enum step_kind {
    ADD,
    XOR,
    MULTIPLY_ADD,
    SHIFT,
    MOVE,
    MOVE_CONSTANT,
    MOVE_THREAD,
    SELECT,
    COMPARE,
    XOR_FLAGS,
    WIDEN,
    NARROW,
    ADD_WIDE,
    PLAIN_KINDS, /* of those above */
    BRANCH,      /* to `target`, where the guard is true */
    LABEL,
    COUNT_FROM, /* the counter `d` of a loop: 1 to 4 times, by the low bits of `a` */
    COUNT_DOWN, /* and the predicate `b`: whether the loop goes on */
} step_kind;

typedef struct step {
    step_kind kind;
    unsigned d, a, b, c;
    int guard; /* a predicate; -1: none */
    bool negated;
    uint32_t constant;
    unsigned target; /* a label */
} step;

static step steps[MOST_STEPS];
static unsigned step_count, label_count, loop_count;
static unsigned place_of_label[MOST_STEPS];
static unsigned brief_count, visible[BRIEF], visible_count;
static uint64_t seed;

static unsigned below(unsigned n) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}

/* ---- making a kernel ---- */

/* Returns one of the registers that can be read here, the last ones more often. */
static unsigned word(void) {
    unsigned last = visible_count < 6 ? visible_count : 6, n = below(ALL + 2 * last);
    return n < ALL ? n : visible[visible_count - 1 - (n - ALL) / 2];
}

static step *add(step_kind kind) {
    step *s = &steps[step_count++];
    *s = (step){.kind = kind, .d = word(), .a = word(), .b = word(), .c = word(), .guard = -1};
    s->constant = below(1000);
    return s;
}

/* Gives a register its first value. */
static void add_brief(void) {
    step *s = add(MULTIPLY_ADD);
    s->d = visible[visible_count++] = ALL + brief_count++;
}

static void add_plain(void) {
    if (brief_count < BRIEF && below(3) == 0) {
        add_brief();
        return;
    }
    step *s = add((step_kind)below(PLAIN_KINDS));
    if (s->kind == COMPARE || s->kind == XOR_FLAGS)
        s->d %= FLAGS;
    if (s->kind == XOR_FLAGS)
        s->a %= FLAGS, s->b %= FLAGS;
    if (s->kind == SELECT)
        s->c %= FLAGS;
    if (s->kind == WIDEN || s->kind == ADD_WIDE)
        s->d %= WIDES;
    if (s->kind == NARROW || s->kind == ADD_WIDE)
        s->a %= WIDES;
    if (s->kind == ADD_WIDE)
        s->b %= WIDES;
    if (below(3) == 0) {
        s->guard = (int)below(FLAGS);
        s->negated = below(2);
    }
}

static void add_label(unsigned label) {
    place_of_label[label] = step_count;
    add(LABEL)->target = label;
}

static void add_branch(unsigned label, unsigned flag, bool negated) {
    step *s = add(BRANCH);
    s->target = label;
    s->guard = (int)flag;
    s->negated = negated;
}

static void add_steps(unsigned depth);

static void add_choice(unsigned depth) {
    unsigned otherwise = label_count++, end = label_count++;
    add_branch(otherwise, below(FLAGS), below(2));
    add_steps(depth - 1);
    step *s = add(BRANCH);
    s->target = end;
    add_label(otherwise);
    if (below(2))
        add_steps(depth - 1);
    add_label(end);
}

static void add_loop(unsigned depth) {
    unsigned begin = label_count++, counter = loop_count++;
    add(COUNT_FROM)->d = counter;
    add_label(begin);
    add_steps(depth - 1);
    step *s = add(COUNT_DOWN);
    s->d = counter;
    s->b = below(FLAGS);
    add_branch(begin, s->b, false);
}

/* What is given its first value here is not visible behind it. */
static void add_steps(unsigned depth) {
    unsigned visible_before = visible_count;
    for (unsigned left = 2 + below(6); left > 0; left--) {
        unsigned what = below(8);
        if (what < 6 || !depth || step_count > MOST_STEPS / 2)
            add_plain();
        else if (what == 6 || loop_count == LOOPS)
            add_choice(depth);
        else
            add_loop(depth);
    }
    visible_count = visible_before;
}

static void make(uint64_t number) {
    seed = number * 7919 + 1;
    step_count = label_count = loop_count = brief_count = visible_count = 0;
    for (unsigned i = 0; i < 8; i++)
        add_steps(3);
}

/* ---- as text ---- */

static void write_plain(char **at, const step *s) {
    static const char *const formats[] = {
        [ADD] = "add.u32 %%r%u, %%r%u, %%r%u;\n",
        [XOR] = "xor.b32 %%r%u, %%r%u, %%r%u;\n",
        [MULTIPLY_ADD] = "mad.lo.u32 %%r%u, %%r%u, %%r%u, %%r%u;\n",
        [MOVE] = "mov.u32 %%r%u, %%r%u;\n",
        [MOVE_THREAD] = "mov.u32 %%r%u, %%tid.x;\n",
        [SELECT] = "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;\n",
        [COMPARE] = "setp.lt.u32 %%p%u, %%r%u, %%r%u;\n",
        [XOR_FLAGS] = "xor.pred %%p%u, %%p%u, %%p%u;\n",
        [WIDEN] = "mul.wide.u32 %%d%u, %%r%u, %%r%u;\n",
        [NARROW] = "cvt.u32.u64 %%r%u, %%d%u;\n",
        [ADD_WIDE] = "add.u64 %%d%u, %%d%u, %%d%u;\n",
    };
    if (s->kind == SHIFT)
        *at += sprintf(*at, "shr.u32 %%r%u, %%r%u, %u;\n", s->d, s->a, s->constant % 32);
    else if (s->kind == MOVE_CONSTANT)
        *at += sprintf(*at, "mov.u32 %%r%u, %u;\n", s->d, s->constant);
    else
        *at += sprintf(*at, formats[s->kind], s->d, s->a, s->b, s->c);
}

static void write_step(char **at, const step *s) {
    if (s->guard >= 0)
        *at += sprintf(*at, "@%s%%p%d ", s->negated ? "!" : "", s->guard);
    switch (s->kind) {
    case BRANCH:
        *at += sprintf(*at, "bra L%u;\n", s->target);
        break;
    case LABEL:
        *at += sprintf(*at, "L%u:\n", s->target);
        break;
    case COUNT_FROM:
        *at += sprintf(*at, "and.b32 %%c%u, %%r%u, 3;\nadd.u32 %%c%u, %%c%u, 1;\n", s->d, s->a,
                       s->d, s->d);
        break;
    case COUNT_DOWN:
        *at += sprintf(*at, "sub.u32 %%c%u, %%c%u, 1;\nsetp.ne.u32 %%p%u, %%c%u, 0;\n", s->d, s->d,
                       s->b, s->d);
        break;
    default:
        write_plain(at, s);
    }
}

/* The kernel stores all of its registers as one number. */
static void write_kernel(char *at) {
    at += sprintf(at,
                  ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p) {\n"
                  ".reg .b32 %%r<%d>, %%c<%d>, %%x;\n.reg .b64 %%d<%d>, %%at, %%y;\n"
                  ".reg .pred %%p<%d>;\nmov.u32 %%x, %%tid.x;\n",
                  WORDS, LOOPS, WIDES, FLAGS);
    for (unsigned i = 0; i < ALL; i++)
        at += sprintf(at, "mad.lo.u32 %%r%u, %%x, %u, %u;\n", i, i * i, i);
    for (unsigned i = 0; i < WIDES; i++)
        at += sprintf(at, "mul.wide.u32 %%d%u, %%x, %u;\n", i, i);
    for (unsigned i = 0; i < FLAGS; i++)
        at += sprintf(at, "and.b32 %%r0, %%x, %u;\nsetp.ne.u32 %%p%u, %%r0, 0;\n", 1 << i, i);
    for (unsigned i = 0; i < step_count; i++)
        write_step(&at, &steps[i]);
    for (unsigned i = 1; i < ALL; i++)
        at += sprintf(at, "mad.lo.u32 %%r0, %%r0, 31, %%r%u;\n", i);
    for (unsigned i = 0; i < WIDES; i++)
        at += sprintf(at, "cvt.u32.u64 %%c0, %%d%u;\nmad.lo.u32 %%r0, %%r0, 31, %%c0;\n", i);
    for (unsigned i = 0; i < FLAGS; i++)
        at += sprintf(at, "selp.u32 %%c0, 1, 0, %%p%u;\nmad.lo.u32 %%r0, %%r0, 31, %%c0;\n", i);
    sprintf(at, "ld.param.u64 %%at, [p];\nmul.wide.u32 %%y, %%x, 4;\nadd.u64 %%at, %%at, %%y;\n"
                "st.global.u32 [%%at], %%r0;\nret;\n}\n");
}

/* ---- as one thread does it ---- */

typedef struct thread {
    uint32_t r[WORDS], c[LOOPS], x;
    uint64_t d[WIDES];
    bool p[FLAGS];
} thread;

static void do_plain(thread *t, const step *s) {
    switch (s->kind) {
    case ADD:
        t->r[s->d] = t->r[s->a] + t->r[s->b];
        break;
    case XOR:
        t->r[s->d] = t->r[s->a] ^ t->r[s->b];
        break;
    case MULTIPLY_ADD:
        t->r[s->d] = t->r[s->a] * t->r[s->b] + t->r[s->c];
        break;
    case SHIFT:
        t->r[s->d] = t->r[s->a] >> s->constant % 32;
        break;
    case MOVE:
        t->r[s->d] = t->r[s->a];
        break;
    case MOVE_CONSTANT:
        t->r[s->d] = s->constant;
        break;
    case MOVE_THREAD:
        t->r[s->d] = t->x;
        break;
    case SELECT:
        t->r[s->d] = t->p[s->c] ? t->r[s->a] : t->r[s->b];
        break;
    case COMPARE:
        t->p[s->d] = t->r[s->a] < t->r[s->b];
        break;
    case XOR_FLAGS:
        t->p[s->d] = t->p[s->a] != t->p[s->b];
        break;
    case WIDEN:
        t->d[s->d] = (uint64_t)t->r[s->a] * t->r[s->b];
        break;
    case NARROW:
        t->r[s->d] = (uint32_t)t->d[s->a];
        break;
    default:
        t->d[s->d] = t->d[s->a] + t->d[s->b];
    }
}

static void do_steps(thread *t) {
    for (unsigned i = 0; i < step_count; i++) {
        const step *s = &steps[i];
        if (s->guard >= 0 && t->p[s->guard] == s->negated)
            continue;
        if (s->kind == BRANCH)
            i = place_of_label[s->target];
        else if (s->kind == COUNT_FROM)
            t->c[s->d] = (t->r[s->a] & 3) + 1;
        else if (s->kind == COUNT_DOWN)
            t->p[s->b] = --t->c[s->d] != 0;
        else if (s->kind != LABEL)
            do_plain(t, s);
    }
}

static uint32_t result_of(unsigned number) {
    thread t = {.x = number};
    for (unsigned i = 0; i < ALL; i++)
        t.r[i] = number * i * i + i;
    for (unsigned i = 0; i < WIDES; i++)
        t.d[i] = (uint64_t)number * i;
    for (unsigned i = 0; i < FLAGS; i++) {
        t.r[0] = number & 1u << i;
        t.p[i] = t.r[0] != 0;
    }
    do_steps(&t);
    uint32_t all = t.r[0];
    for (unsigned i = 1; i < ALL; i++)
        all = all * 31 + t.r[i];
    for (unsigned i = 0; i < WIDES; i++)
        all = all * 31 + (uint32_t)t.d[i];
    for (unsigned i = 0; i < FLAGS; i++)
        all = all * 31 + t.p[i];
    return all;
}

/* ---- both ---- */

static void run(const char *text, uint32_t *words) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    CUdeviceptr at;
    void *args[] = {&at};
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&function, module, "k"));
    OK(cuMemAlloc(&at, THREADS * sizeof *words));
    OK(cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH(words, at, THREADS * sizeof *words));
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

static void run_kernels(uint64_t count) {
    char *text = malloc(TEXT);
    assert_non_null(text);
    for (uint64_t number = 0; number < count; number++) {
        uint32_t words[THREADS];
        make(number);
        write_kernel(text);
        assert_true(strlen(text) < TEXT - 1000);
        run(text, words);
        for (unsigned i = 0; i < THREADS; i++)
            if (words[i] != result_of(i))
                fail_msg("kernel %u: thread %u stores %u instead of %u:\n%s", (unsigned)number, i,
                         (unsigned)words[i], (unsigned)result_of(i), text);
    }
    free(text);
}

TEST(random_kernels) {
    run_kernels(KERNELS);
}

/* The checks change nothing of what a kernel does, and find nothing in kernels that are right. */
TEST(random_kernels_with_checks) {
    acu_sim_reset(MACHINE ",check=all");
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    run_kernels(KERNELS / 4);
    assert_int_equal(acu_sim_findings(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {C(random_kernels), C(random_kernels_with_checks)};
    return RUN(tests);
}
