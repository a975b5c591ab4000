#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "sim/code/stopped.h"

#include "sim/memory/range.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What tools/anycuda-gdb.py reads: NULL where no warp is stopped, else texts: the version of this
 * list, "1"; where the warp is; its lanes; the warps of the block; then of each register the name,
 * the values shortly, and those of each lane; NULL. They are texts so that a debugger needs no
 * types of the simulator.
 */
extern const char *const *volatile acu_sim_stopped;
__attribute__((visibility("default"))) const char *const *volatile acu_sim_stopped;

/*
 * Where the bytes of the kernel's memory are, which are not where its addresses say: rows, the last
 * of which has no bytes. NULL where no warp is stopped.
 */
enum { ROW_GLOBAL, ROW_SHARED, ROW_LOCAL }; /* and of lane n: ROW_LOCAL + n */
typedef struct memory_row {
    uint64_t space, first, bytes, where; /* where: in the process */
} memory_row;
extern const memory_row *volatile acu_sim_stopped_memory;
__attribute__((visibility("default"))) const memory_row *volatile acu_sim_stopped_memory;

/* Only one warp stops at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned times_left;  /* the lock guards it, but for a look ahead */
static bool was_named, watches_exit; /* acu_sim_lock does: a kernel of the name is executed */

/* ---- which kernels ---- */

/* Writes the name of a C++ kernel, "ns::sum" of "_ZN2ns3sumEPi", without namespaces that have no
 * name. A kernel is no member of a class, so that what is before its own name is namespaces. */
static void write_plain_name(FILE *file, const char *kernel) {
    const bool nested = strncmp(kernel, "_ZN", 3) == 0;
    const char *at = kernel + (nested ? 3 : 2), *separator = "";
    do {
        char *name;
        at += *at == 'L'; /* it is static */
        size_t length = strtoul(at, &name, 10);
        if (name == at || length > strlen(name))
            return;
        at = name + length;
        if (strncmp(name, "_GLOBAL__N_", 11) == 0)
            continue;
        fprintf(file, "%s%.*s", separator, (int)length, name);
        separator = "::";
    } while (nested);
}

/* Returns whether it is the kernel's own name, or has namespaces before it, from any of them on. */
static bool is_mangled(const char *kernel, const char *name) {
    char plain[4 * SIM_OPTION] = "";
    FILE *file = strncmp(kernel, "_Z", 2) == 0 ? fmemopen(plain, sizeof plain, "w") : NULL;
    if (!file)
        return false;
    write_plain_name(file, kernel);
    fclose(file);
    const size_t length = strlen(plain), end = strlen(name);
    if (end > length || strcmp(plain + length - end, name) != 0)
        return false;
    return end == length || plain[length - end - 1] == ':';
}

bool acu_sim_stopped_names(const char *kernel) {
    const acu_sim_trap *trap = &acu_sim_configuration()->trap;
    bool named =
        trap->line && (strcmp(kernel, trap->kernel) == 0 || is_mangled(kernel, trap->kernel));
    was_named = was_named || named;
    return named;
}

void acu_sim_stopped_nowhere(const char *kernel) {
    const acu_sim_trap *trap = &acu_sim_configuration()->trap;
    if (*trap->file)
        fprintf(stderr,
                "anycuda: ANYCUDA_SIM: trap=%s:%s:%u: the PTX of kernel \"%s\" has no instruction "
                "of that line: is it compiled with -lineinfo, and does the line do something?\n",
                trap->kernel, trap->file, trap->line, kernel);
    else
        fprintf(stderr,
                "anycuda: ANYCUDA_SIM: trap=%s:%u: kernel \"%s\", and what it calls, have no "
                "instruction in that line of the PTX\n",
                trap->kernel, trap->line, kernel);
}

/* ---- what is shown ---- */

/* In the list of texts: the first register, and how many texts each one has. */
enum { FIRST = 4, PER_REGISTER = 3 };

/* Texts, one behind the other in `bytes`. */
typedef struct stop_texts {
    char *bytes;
    size_t size;
    const char **list;
} stop_texts;

static void write_all(FILE *file, const char *kernel, const ptx_warp *w, const ptx_stop *stop) {
    fprintf(file, "1");
    fputc('\0', file);
    acu_ptx_stop_write_where(file, w, stop, kernel);
    fputc('\0', file);
    acu_ptx_stop_write_mask(file, w);
    fputc('\0', file);
    acu_ptx_stop_write_warps(file, w, stop);
    fputc('\0', file);
    for (unsigned n = 0; n < stop->count; n++) {
        acu_ptx_stop_write_name(file, &stop->registers[n]);
        fputc('\0', file);
        acu_ptx_stop_write_shortly(file, w, &stop->registers[n]);
        fputc('\0', file);
        acu_ptx_stop_write_lanes(file, w, &stop->registers[n]);
        fputc('\0', file);
    }
}

/* Makes the texts of the warp, which the caller frees; false without memory. */
static bool make_texts(stop_texts *texts, const char *kernel, const ptx_warp *w,
                       const ptx_stop *stop) {
    const size_t count = FIRST + PER_REGISTER * (size_t)stop->count;
    FILE *file = open_memstream(&texts->bytes, &texts->size);
    texts->list = calloc(count + 1, sizeof *texts->list);
    if (file) {
        write_all(file, kernel, w, stop);
        bool failed = ferror(file);
        failed = fclose(file) != 0 || failed;
        const char *at = failed ? NULL : texts->bytes;
        for (size_t n = 0; at && texts->list && n < count; n++, at += strlen(at) + 1)
            texts->list[n] = at;
    }
    return texts->list && texts->list[0];
}

static void print_texts(const stop_texts *texts) {
    fprintf(stderr, "anycuda: simulator: %s\n", texts->list[1]);
    for (size_t n = FIRST; texts->list[n]; n += PER_REGISTER)
        fprintf(stderr, "  %-6s %s\n", texts->list[n], texts->list[n + 1]);
}

/* Writes a row for each range that the device can access, or only counts them. Under acu_sim_lock.
 */
static size_t list_ranges(const acu_sim_device *device, memory_row *rows) {
    size_t count = 0;
    for (const acu_sim_range *r = acu_sim_range_next(0); r;
         r = acu_sim_range_next(r->base + r->size)) {
        if (r->dormant || r->multicast || !acu_sim_range_allows_access(r, device))
            continue;
        if (rows)
            rows[count] = (memory_row){ROW_GLOBAL, r->base, r->size,
                                       (uintptr_t)acu_sim_range_bytes(r, (const void *)r->base)};
        count++;
    }
    return count;
}

/* Returns the rows of all memory that the warp sees, which the caller frees; NULL without memory.
 */
static memory_row *list_memory(const acu_sim_device *device, const ptx_warp *w) {
    const ptx_block *block = w->block;
    pthread_mutex_lock(&acu_sim_lock);
    memory_row *rows = calloc(list_ranges(device, NULL) + 1 + PTX_LANES + 1, sizeof *rows);
    memory_row *next = rows ? rows + list_ranges(device, rows) : NULL;
    pthread_mutex_unlock(&acu_sim_lock);
    if (!rows)
        return NULL;
    if (block->shared_bytes)
        *next++ = (memory_row){ROW_SHARED, 0, block->shared_bytes, (uintptr_t)block->shared};
    for (unsigned n = 0; n < PTX_LANES && w->local_bytes; n++)
        *next++ = (memory_row){ROW_LOCAL + n, 0, w->local_bytes,
                               (uintptr_t)w->local + n * w->local_stride};
    return rows;
}

/* ---- debuggers ---- */

/* Gives a debugger its turn. It sees the signal although the process ignores it; where nothing but
 * strace looks, or nobody, nothing happens. */
static void call_debugger(void) {
    struct sigaction ignores = {.sa_handler = SIG_IGN}, before;
    if (sigaction(SIGTRAP, &ignores, &before))
        return;
    raise(SIGTRAP); /* "acu where" and its like show the warp now; then continue */
    sigaction(SIGTRAP, &before, NULL);
}

void acu_sim_stopped_show(const char *kernel, const acu_sim_device *device, const ptx_warp *w,
                          const ptx_op *op) {
    stop_texts texts = {.bytes = NULL};
    memory_row *memory = times_left ? list_memory(device, w) : NULL;
    pthread_mutex_lock(&lock);
    if (times_left) {
        times_left--;
        if (make_texts(&texts, kernel, w, op->more)) {
            print_texts(&texts);
            acu_sim_stopped = texts.list;
            acu_sim_stopped_memory = memory;
            call_debugger();
            acu_sim_stopped = NULL;
            acu_sim_stopped_memory = NULL;
        } else {
            fprintf(stderr,
                    "anycuda: simulator: kernel \"%s\": a warp came to the trap, but there "
                    "is no memory to show it\n",
                    kernel);
        }
    }
    pthread_mutex_unlock(&lock);
    free(texts.list);
    free(texts.bytes);
    free(memory);
}

/* ---- the configuration ---- */

static void report_at_exit(void) {
    const acu_sim_trap *trap = &acu_sim_configuration()->trap;
    if (trap->line && !was_named && !acu_sim_is_forked())
        fprintf(stderr,
                "anycuda: ANYCUDA_SIM: trap: no kernel of the name %s was executed from PTX\n",
                trap->kernel);
}

static void configure(const acu_sim_config *config) {
    pthread_mutex_lock(&lock);
    times_left = config->trap.line ? config->trap.times : 0;
    was_named = false;
    if (config->trap.line && !watches_exit)
        watches_exit = atexit(report_at_exit) == 0;
    pthread_mutex_unlock(&lock);
}

const acu_sim_noun acu_sim_stopped_noun = {.configure = configure};
