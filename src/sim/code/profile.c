#define _POSIX_C_SOURCE 200809L /* strdup */
#include "sim/code/profile.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static acu_sim_profiled *kernels;                        /* the one that ran first is the first */
static bool reports_at_exit;

/* The members of the public struct. */
static const struct {
    const char *name;
    size_t offset;
} members[PTX_COUNTERS] = {
#define MEMBER(counter, member) [PTX_COUNT_##counter] = {#member, offsetof(acu_sim_profile, member)}
    MEMBER(WARPS, warp_instructions),
    MEMBER(THREADS, thread_instructions),
    MEMBER(BRANCHES, branches),
    MEMBER(DIVERGENT, divergent_branches),
    MEMBER(LOADS, load_requests),
    MEMBER(LOAD_SECTORS, load_sectors),
    MEMBER(LOAD_IDEAL, load_ideal),
    MEMBER(STORES, store_requests),
    MEMBER(STORE_SECTORS, store_sectors),
    MEMBER(STORE_IDEAL, store_ideal),
    MEMBER(ATOMICS, atomic_requests),
    MEMBER(ATOMIC_SECTORS, atomic_sectors),
    MEMBER(LOCALS, local_requests),
    MEMBER(LOCAL_SECTORS, local_sectors),
    MEMBER(SHARED_LOADS, shared_load_requests),
    MEMBER(SHARED_LOAD_WAVEFRONTS, shared_load_wavefronts),
    MEMBER(SHARED_LOAD_CONFLICTS, shared_load_conflicts),
    MEMBER(SHARED_STORES, shared_store_requests),
    MEMBER(SHARED_STORE_WAVEFRONTS, shared_store_wavefronts),
    MEMBER(SHARED_STORE_CONFLICTS, shared_store_conflicts),
    MEMBER(SHARED_ATOMICS, shared_atomic_requests),
    MEMBER(ATOMIC_LANES, atomic_lanes),
    MEMBER(ATOMIC_ADDRESSES, atomic_addresses),
#undef MEMBER
};

const char *acu_sim_profile_name(ptx_counter counter) {
    return members[counter].name;
}

/* ---- what is kept ---- */

/* Returns what is known of the kernel; NULL without memory. */
static acu_sim_profiled *kernel_of(const char *name) {
    acu_sim_profiled **at = &kernels;
    for (; *at; at = &(*at)->next)
        if (strcmp((*at)->kernel, name) == 0)
            return *at;
    acu_sim_profiled *made = calloc(1, sizeof *made);
    char *copy = strdup(name);
    if (!made || !copy) {
        free(made);
        free(copy);
        return NULL;
    }
    made->kernel = copy;
    return *at = made;
}

static const char *file_of(const ptx_module *module, const ptx_instruction *i) {
    const ptx_file *file = i->source.line ? module->files : NULL;
    while (file && file->number != i->source.file)
        file = file->next;
    return file ? file->name : NULL;
}

static bool is_line(const acu_sim_profiled_line *line, const ptx_instruction *i, const char *file) {
    return line->line == i->place.line && line->source == i->source.line &&
           strcmp(line->opcode, i->opcode) == 0 && !line->file == !file &&
           (!file || strcmp(line->file, file) == 0);
}

/* Returns a new line of the kernel; NULL without memory. */
static acu_sim_profiled_line *add_line(acu_sim_profiled *k, const ptx_instruction *i,
                                       const char *file) {
    if (k->line_count == k->line_room) {
        size_t room = k->line_room ? 2 * k->line_room : 64;
        acu_sim_profiled_line *grown = realloc(k->lines, room * sizeof *grown);
        if (!grown)
            return NULL;
        k->lines = grown;
        k->line_room = room;
    }
    char *opcode = strdup(i->opcode), *copy = file ? strdup(file) : NULL;
    if (!opcode || (file && !copy)) {
        free(opcode);
        free(copy);
        return NULL;
    }
    k->lines[k->line_count] = (acu_sim_profiled_line){
        .line = i->place.line, .opcode = opcode, .file = copy, .source = i->source.line};
    return &k->lines[k->line_count++];
}

/* Returns what is known of the instruction, which is the nth of its code; NULL without memory. */
static acu_sim_profiled_line *line_of(acu_sim_profiled *k, const ptx_module *module,
                                      const ptx_instruction *i, size_t nth) {
    const char *file = file_of(module, i);
    for (size_t n = 0; n < k->line_count; n++) {
        acu_sim_profiled_line *line = &k->lines[(nth + n) % k->line_count];
        if (is_line(line, i, file))
            return line;
    }
    return add_line(k, i, file);
}

void acu_sim_profile_launch(const char *kernel, const ptx_code *code, const ptx_counts *counts,
                            double occupancy) {
    pthread_mutex_lock(&lock);
    acu_sim_profiled *k = kernel_of(kernel);
    bool complete = k != NULL;
    for (uint32_t n = 0; complete && n < code->counted_count; n++) {
        acu_sim_profiled_line *line = line_of(k, code->module, code->counted[n], n);
        if (line)
            acu_ptx_counts_add(&line->counts, &counts[n]);
        complete = line != NULL;
    }
    if (k) {
        k->launches++;
        k->occupancy += occupancy;
    }
    if (!complete)
        fprintf(stderr,
                "anycuda: simulator: kernel \"%s\": profile: there is no memory to keep what it "
                "did, which is missing in the profile\n",
                kernel);
    pthread_mutex_unlock(&lock);
}

static void forget(void) {
    for (acu_sim_profiled *k = kernels, *next; k; k = next) {
        next = k->next;
        for (size_t n = 0; n < k->line_count; n++) {
            free(k->lines[n].opcode);
            free(k->lines[n].file);
        }
        free(k->lines);
        free(k->kernel);
        free(k);
    }
    kernels = NULL;
}

double acu_sim_profile_occupancy(uint64_t blocks, unsigned warps, unsigned multiprocessors,
                                 unsigned resident, unsigned room) {
    if (!blocks || !multiprocessors || !resident || !room)
        return 0;
    /* Waves that fill all multiprocessors, and a last one that has what is left. */
    uint64_t wave = (uint64_t)multiprocessors * resident, full = blocks / wave,
             left = blocks % wave;
    uint64_t busy = full * multiprocessors + (left < multiprocessors ? left : multiprocessors);
    double taken = (double)blocks / (double)busy * warps / room;
    return taken < 1 ? taken : 1;
}

/* ---- for tests ---- */

ptx_counts acu_sim_profile_sum(const acu_sim_profiled *k) {
    ptx_counts sum = {{0}};
    for (size_t n = 0; n < k->line_count; n++)
        acu_ptx_counts_add(&sum, &k->lines[n].counts);
    return sum;
}

int acu_sim_profile_get(const char *kernel, acu_sim_profile *profile) {
    acu_sim_profile found = {.size = sizeof found};
    ptx_counts sum = {{0}};
    if (!profile || profile->size < sizeof found)
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&lock);
    for (const acu_sim_profiled *k = kernels; k; k = k->next) {
        if (kernel && strcmp(k->kernel, kernel) != 0)
            continue;
        ptx_counts one = acu_sim_profile_sum(k);
        acu_ptx_counts_add(&sum, &one);
        found.launches += k->launches;
        found.occupancy += k->occupancy;
    }
    pthread_mutex_unlock(&lock);
    if (!found.launches)
        return cudaErrorSymbolNotFound;
    found.occupancy /= (double)found.launches;
    for (unsigned n = 0; n < PTX_COUNTERS; n++)
        *(unsigned long long *)(void *)((char *)&found + members[n].offset) = sum.of[n];
    *profile = found;
    return cudaSuccess;
}

void acu_sim_profile_reset(void) {
    pthread_mutex_lock(&lock);
    forget();
    pthread_mutex_unlock(&lock);
}

/* ---- at exit ---- */

static void write_file(const char *name) {
    FILE *file = fopen(name, "w");
    bool written = file != NULL;
    if (file) {
        acu_sim_profile_write_json(file, kernels);
        written = !ferror(file);
        written = fclose(file) == 0 && written;
    }
    if (!written)
        fprintf(stderr, "anycuda: ANYCUDA_SIM: profile=%s: the file cannot be written: %s\n", name,
                strerror(errno));
}

static void report(const acu_sim_config *config) {
    pthread_mutex_lock(&lock);
    if (config->profile_table)
        acu_sim_profile_write_table(stderr, kernels);
    if (*config->profile_file)
        write_file(config->profile_file);
    pthread_mutex_unlock(&lock);
}

/* What a child inherits is its parent's, and so may the lock be. */
static void report_at_exit(void) {
    pthread_mutex_lock(&acu_sim_lock);
    if (!acu_sim_is_forked())
        report(acu_sim_configuration());
    pthread_mutex_unlock(&acu_sim_lock);
}

static void configure(const acu_sim_config *config) {
    if (config->profile && !reports_at_exit)
        reports_at_exit = atexit(report_at_exit) == 0;
}

const acu_sim_noun acu_sim_profile_noun = {.reset = acu_sim_profile_reset, .configure = configure};
