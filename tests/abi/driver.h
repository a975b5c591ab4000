/* Runs the generated calls against one spy and checks what arrived and what came back. */
#ifndef DRIVER_H
#define DRIVER_H

#include <string.h>

#include "spy.h"

enum { MOST_PARAMS = 24, ELEMENTS = 3 };

/* From this version on, the call arrives under this name, with these parameters (NULL: it has none
 * such). */
typedef struct call_target {
    int since;
    const char *name; /* NULL: the version lacks the function */
    int ptds;         /* it has a symbol of its own for the per-thread default stream */
    int decided;      /* 1: a decision is involved; 2: its test is in decisions.c */
    const char *names[MOST_PARAMS];
} call_target;

typedef struct run run;

typedef struct call_struct {
    const char *param;
    const spy_record *record;
    int index, goes_in, drops;
} call_struct;

typedef struct call {
    const char *name;
    int (*run)(run *);
    const call_target *targets;
    unsigned scenarios;
    int since, until;
    int status; /* it returns a result code */
    call_struct structs[8];
} call;

struct run {
    const call *call;
    const call_target *target;
    unsigned toolkit, scenario;
    int version;
    /* A field that the loaded layout lacks, to be refused: its record's parameter and itself. */
    const call_struct *newer_in;
    const spy_leaf *newer;
    spy_log expected; /* what must arrive */
    int checks, failures;
    int result;
};

/* By parameter: its index in the presented call, its storage. */
void in_value(run *r, int index, void *value, size_t size);
void in_fixed(run *r, int index, const void *value, size_t size);
void in_values(run *r, int index, void *values, size_t size, size_t count, int array);
void in_record(run *r, int index, const spy_record *record, void *value, size_t count, int array);
int in_tag(run *r, const spy_record *record);
int is_passed(const run *r, int index);
void poison(void *value, size_t size);
void out_values(run *r, int index, const void *values, size_t size, size_t count, int array);
void out_record(run *r, int index, const spy_record *record, const void *value, size_t count,
                int array);
void out_count(run *r, int index, long count);
int finish(run *r, int result);
int finish_text(run *r, const char *text);
int finish_other(run *r);

extern spy_log *seen;
extern int *seen_returns, *seen_keeps;
extern unsigned *seen_scenario;
const spy_value *find(const spy_log *log, const char *path);

/* decisions.c: what spec/decisions.yaml promises, one test each; returns the number of failures. */
int check_decisions(int loaded, int *done);
void fail(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
