#define _POSIX_C_SOURCE 200809L /* strdup */
#include "sim/code/finding.h"
#include "sim/ptx/stop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRINTED = 3, TEXT = 1024 }; /* findings of one instruction that are printed */

/* The findings of a check at one instruction of a kernel. */
typedef struct place {
    char *kernel;
    unsigned check, line;
    unsigned long long count, unprinted; /* since the last launch ended */
    struct place *next;
} place;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static place *places;
static unsigned long long counts[PTX_CHECK_COUNT];
static char last[TEXT];

static const char *const names[PTX_CHECK_COUNT] = {"memory", "race", "init", "sync"};

static unsigned number_of(unsigned check) {
    return (unsigned)__builtin_ctz(check);
}

void acu_sim_finding_place(const ptx_module *module, const ptx_instruction *i, char *text,
                           size_t size) {
    *text = '\0';
    if (i)
        acu_ptx_stop_name_place(module, i, text, size);
}

/* Returns what is known of the instruction; NULL without memory. */
static place *place_of(const char *kernel, unsigned check, unsigned line) {
    for (place *p = places; p; p = p->next)
        if (p->check == check && p->line == line && strcmp(p->kernel, kernel) == 0)
            return p;
    place *made = calloc(1, sizeof *made);
    char *name = strdup(kernel);
    if (!made || !name) {
        free(made);
        free(name);
        return NULL;
    }
    *made = (place){.kernel = name, .check = check, .line = line, .next = places};
    return places = made;
}

static void describe(const char *kernel, const ptx_finding *f, char *text, size_t size) {
    char at[256], other[256] = "";
    const unsigned *block = f->at.block, *thread = f->at.thread;
    acu_sim_finding_place(f->module, f->at.instruction, at, sizeof at);
    if (f->has_other)
        acu_sim_finding_place(f->module, f->other.instruction, other, sizeof other);
    snprintf(text, size,
             "kernel \"%s\": check=%s: block (%u, %u, %u), thread (%u, %u, %u): %s; %s%s%s", kernel,
             names[number_of(f->check)], block[0], block[1], block[2], thread[0], thread[1],
             thread[2], f->what, at,
             !*other                      ? ""
             : f->check == PTX_CHECK_SYNC ? "; the other: "
                                          : "; the other access: ",
             other);
}

void acu_sim_finding_add(const char *kernel, const ptx_finding *f) {
    char text[TEXT];
    describe(kernel, f, text, sizeof text);
    pthread_mutex_lock(&lock);
    place *p = place_of(kernel, f->check, f->at.instruction ? f->at.instruction->place.line : 0);
    bool prints = !p || p->count < PRINTED;
    if (p) {
        p->count++;
        p->unprinted += !prints;
    }
    counts[number_of(f->check)]++;
    memcpy(last, text, sizeof last);
    if (prints)
        fprintf(stderr, "anycuda: simulator: %s\n", text);
    pthread_mutex_unlock(&lock);
}

void acu_sim_finding_launch_ends(const char *kernel) {
    pthread_mutex_lock(&lock);
    for (place *p = places; p; p = p->next) {
        if (!p->unprinted || strcmp(p->kernel, kernel) != 0)
            continue;
        fprintf(stderr,
                "anycuda: simulator: kernel \"%s\": check=%s: %llu more in line %u of the PTX\n",
                kernel, names[number_of(p->check)], p->unprinted, p->line);
        p->unprinted = 0;
    }
    pthread_mutex_unlock(&lock);
}

static void reset(void) {
    pthread_mutex_lock(&lock);
    for (place *p = places, *next; p; p = next) {
        next = p->next;
        free(p->kernel);
        free(p);
    }
    places = NULL;
    memset(counts, 0, sizeof counts);
    *last = '\0';
    pthread_mutex_unlock(&lock);
}

const acu_sim_noun acu_sim_finding_noun = {.reset = reset};

unsigned long long acu_sim_findings(const char *check) {
    unsigned long long count = 0;
    pthread_mutex_lock(&lock);
    for (unsigned n = 0; n < PTX_CHECK_COUNT; n++)
        count += !check || strcmp(check, names[n]) == 0 ? counts[n] : 0;
    pthread_mutex_unlock(&lock);
    return count;
}

size_t acu_sim_last_finding(char *text, size_t size) {
    pthread_mutex_lock(&lock);
    size_t length = strlen(last);
    if (size)
        snprintf(text, size, "%s", last);
    pthread_mutex_unlock(&lock);
    return length;
}
