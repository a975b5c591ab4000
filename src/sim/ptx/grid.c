/*
 * The blocks of a launch, which workers divide among themselves. A worker whose blocks all wait for
 * other blocks begins another one beside them, as long as the device runs so many at a time, so
 * that blocks may wait for each other. A worker that has no block, and finds no room for one, waits
 * until another one's cluster ends.
 */
#define _DEFAULT_SOURCE

#include "sim/ptx/block.h"
#include "sim/ptx/crew.h"
#include "sim/ptx/division.h"
#include "sim/ptx/jit.h"
#include "sim/ptx/special.h"

#include <fenv.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct ptx_grid {
    const ptx_launch *launch;
    char *bank;             /* of the launch */
    ptx_division *division; /* clusters that no worker has taken */
    unsigned size;          /* blocks of a cluster */
    unsigned most;          /* blocks that may be alive; 0: all */
    atomic_uint alive;   /* blocks that have begun, and whose cluster has not ended; with `most` */
    atomic_uint waiting; /* workers that wait for room */
    pthread_cond_t changed; /* for them: there is room, or the grid has failed */
    atomic_bool failed;
    double begun;         /* when, in seconds; of a launch with a timeout */
    pthread_mutex_t lock; /* guards `fault`, `executed`, and the launch's counts */
    ptx_fault fault;
    uint64_t executed;
};

/* ---- faults ---- */

static void locate(ptx_fault *fault, const ptx_warp *w, unsigned lane, const ptx_op *op) {
    const unsigned *block = w->block->launch->block;
    unsigned thread = w->number * PTX_LANES + lane;
    memcpy(fault->block, w->block->index, sizeof fault->block);
    fault->thread[0] = thread % block[0];
    fault->thread[1] = thread / block[0] % block[1];
    fault->thread[2] = thread / block[0] / block[1];
    fault->function = w->frame ? w->frame->function->function : w->code->entry;
    fault->instruction = op ? op->instruction : NULL;
}

void acu_ptx_fail(ptx_warp *w, unsigned lane, const ptx_op *op, int code, uint64_t address,
                  const char *format, ...) {
    ptx_fault *fault = &w->worker->fault;
    va_list list;
    *fault = (ptx_fault){.code = code, .address = address};
    locate(fault, w, lane, op);
    va_start(list, format);
    vsnprintf(fault->what, sizeof fault->what, format, list);
    va_end(list);
    longjmp(w->worker->end, 1);
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns the operation of an instruction at which the lanes are: what a profile counts, and what
 * else is none, stands before it. */
static const ptx_op *instruction_at(const ptx_code *code, uint32_t pc) {
    while (pc + 1 < code->count && !code->ops[pc].instruction)
        pc++;
    return &code->ops[pc];
}

void acu_ptx_worker_look_at_time(ptx_warp *w) {
    const ptx_grid *grid = w->worker->grid;
    const double timeout = grid->launch->timeout;
    if (timeout == 0 || seconds() < grid->begun + timeout)
        return;
    const ptx_split *s = w->split_count ? ptx_current(w) : NULL;
    acu_ptx_fail(w, s ? (unsigned)__builtin_ctz(s->mask) : 0,
                 s ? instruction_at(w->code, s->pc) : NULL, 702, 0,
                 "the kernel takes longer than %g second%s (timeout=%g)", timeout,
                 timeout == 1 ? "" : "s", timeout);
}

static void record(ptx_grid *grid, const ptx_fault *fault) {
    pthread_mutex_lock(&grid->lock);
    if (!grid->fault.code)
        grid->fault = *fault;
    atomic_store(&grid->failed, true);
    pthread_cond_broadcast(&grid->changed);
    pthread_mutex_unlock(&grid->lock);
}

/* ---- room ---- */

/* Takes room for the blocks of a cluster. Returns false where the device runs no more of them
 * beside those that are alive; one that is larger than the device begins alone. */
static bool take_room(ptx_grid *grid) {
    unsigned alive = grid->most ? atomic_load(&grid->alive) : 0;
    do {
        if (alive && alive + grid->size > grid->most)
            return false;
    } while (grid->most && !atomic_compare_exchange_weak(&grid->alive, &alive, alive + grid->size));
    return true;
}

static void give_room(ptx_grid *grid) {
    if (!grid->most)
        return;
    atomic_fetch_sub(&grid->alive, grid->size);
    if (!atomic_load(&grid->waiting))
        return;
    pthread_mutex_lock(&grid->lock);
    pthread_cond_broadcast(&grid->changed);
    pthread_mutex_unlock(&grid->lock);
}

/* Takes room, for which it waits until other workers' clusters end. Returns false where the grid
 * has failed. */
static bool wait_for_room(ptx_worker *worker) {
    ptx_grid *grid = worker->grid;
    const bool has_room = worker->has_room;
    worker->has_room = false;
    if (has_room || take_room(grid))
        return true;
    bool taken = false;
    pthread_mutex_lock(&grid->lock);
    atomic_fetch_add(&grid->waiting, 1);
    while (!atomic_load(&grid->failed) && !(taken = take_room(grid)))
        pthread_cond_wait(&grid->changed, &grid->lock);
    atomic_fetch_sub(&grid->waiting, 1);
    pthread_mutex_unlock(&grid->lock);
    return taken;
}

/* ---- workers ---- */

/* Returns the number of a cluster's block in the grid. */
static uint64_t number_of(const ptx_launch *launch, uint64_t cluster, unsigned rank) {
    const unsigned *grid = launch->grid, *size = launch->cluster;
    if (size[0] * size[1] * size[2] == 1)
        return cluster;
    uint64_t wide = grid[0] / size[0], high = grid[1] / size[1];
    uint64_t x = cluster % wide * size[0] + rank % size[0],
             y = cluster / wide % high * size[1] + rank / size[0] % size[1],
             z = cluster / wide / high * size[2] + rank / size[0] / size[1];
    return x + grid[0] * (y + grid[1] * z);
}

static ptx_block *take_block(ptx_worker *worker) {
    ptx_block *block = worker->spare;
    if (block) {
        worker->spare = block->next;
        return block;
    }
    block = acu_ptx_block_new(worker);
    if (!block) {
        worker->fault = (ptx_fault){.code = 2};
        snprintf(worker->fault.what, sizeof worker->fault.what, "there is no memory for a block");
        longjmp(worker->end, 1);
    }
    block->created = worker->created;
    worker->created = block;
    return block;
}

/* Returns whether the worker has a cluster to begin: those that it took, or else the next ones. */
static bool take_clusters(ptx_worker *worker) {
    return worker->next < worker->last ||
           acu_ptx_division_take(worker->grid->division, worker->number, &worker->next,
                                 &worker->last);
}

/* Begins the blocks of the next cluster, for which the worker has taken room, and which come before
 * the others that it has. Returns false where all clusters have begun. */
static bool begin_cluster(ptx_worker *worker) {
    const ptx_launch *launch = worker->launch;
    if (!take_clusters(worker)) {
        give_room(worker->grid);
        return false;
    }
    const uint64_t number = worker->next++;
    ptx_cluster *cluster = NULL;
    unsigned count = worker->grid->size;
    for (unsigned rank = 0; rank < count; rank++) {
        ptx_block *block = take_block(worker);
        block->next = worker->blocks;
        if (!worker->blocks)
            worker->last_block = block;
        worker->blocks = block;
        if (!cluster) {
            cluster = &block->own;
            cluster->count = count;
            cluster->ended = cluster->arrived = 0;
        }
        cluster->blocks[rank] = block;
        block->cluster = cluster;
        block->rank = rank;
        acu_ptx_block_begin(block, number_of(launch, number, rank));
    }
    return true;
}

ptx_warp *acu_ptx_worker_next_block(const ptx_warp *w) {
    ptx_worker *worker = w->worker;
    ptx_block *block = w->block;
    if (block->own.count != 1 || block->next || worker->blocks != block ||
        worker->launch->timeout != 0 || /* run_blocks() looks at the time */
        atomic_load_explicit(&worker->grid->failed, memory_order_relaxed))
        return NULL;
    for (unsigned n = 0; n < block->warp_count; n++)
        if (block->warps[n].split_count)
            return NULL;
    if (!take_clusters(worker))
        return NULL;
    block->own.arrived = 0;
    acu_ptx_block_begin(block, worker->next++);
    return block->warps;
}

/* Keeps the blocks of the cluster, if all have ended, for others: until then they may access each
 * other's memory. A worker without blocks begins another cluster at once, which has their room. */
static void end_block(ptx_worker *worker, ptx_block *block) {
    ptx_cluster *cluster = block->cluster;
    if (++cluster->ended < cluster->count)
        return;
    if (worker->blocks)
        give_room(worker->grid);
    else
        worker->has_room = true;
    for (unsigned rank = cluster->count; rank-- > 0;) {
        ptx_block *one = cluster->blocks[rank];
        one->next = worker->spare;
        worker->spare = one;
    }
}

static void add_last(ptx_worker *worker, ptx_block *block) {
    block->next = NULL;
    if (worker->blocks)
        worker->last_block->next = block;
    else
        worker->blocks = block;
    worker->last_block = block;
}

/* Begins another cluster beside the blocks that the worker has, if there is room for which no
 * worker without a block waits. */
static void begin_beside(ptx_worker *worker) {
    if (!atomic_load(&worker->grid->waiting) && take_room(worker->grid))
        (void)begin_cluster(worker);
}

/* Returns whether none of the worker's blocks can go on. */
static bool all_wait(const ptx_worker *worker, unsigned waiting) {
    for (const ptx_block *block = worker->blocks; block && waiting; block = block->next)
        waiting--;
    return waiting > 0;
}

/* Runs blocks until the grid has no more, and those of this worker have ended. */
static void run_blocks(ptx_worker *worker) {
    unsigned waiting = 0, released = 0; /* blocks that wait, one after the other */
    while (!atomic_load_explicit(&worker->grid->failed, memory_order_relaxed)) {
        if (!worker->blocks && !(wait_for_room(worker) && begin_cluster(worker)))
            return;
        ptx_block *block = worker->blocks;
        acu_ptx_worker_look_at_time(&block->warps[0]);
        ptx_state state = acu_ptx_block_run(block);
        worker->blocks = block->next;
        waiting = state == PTX_WAITS && released == worker->released ? waiting + 1 : 0;
        released = worker->released;
        if (state == PTX_ENDED) {
            end_block(worker, block);
            continue;
        }
        add_last(worker, block);
        worker->turns += state == PTX_RUNS;
        if (state == PTX_RUNS)
            begin_beside(worker);
        else if (all_wait(worker, waiting))
            acu_ptx_block_fail_waiting(block);
    }
}

/* Returns how many thread-instructions of a warp make it worth translating its kernel, which takes
 * about 50 µs, and 1 µs for each operation. */
static uint64_t hot(const ptx_code *code) {
    return (UINT64_C(1) << 16) + ((uint64_t)code->count << 11);
}

/* Returns whether launches of the kernel have executed so much together, in warps that each were
 * not hot. */
static bool was_hot(const ptx_code *code) {
    enum { WARPS = 8 };
    return atomic_load_explicit(&((ptx_code *)(uintptr_t)code)->executed, memory_order_relaxed) >=
           WARPS * hot(code);
}

/* Returns whether the threads of a warp lie along x. */
static bool has_rows(const ptx_launch *launch) {
    return launch->block[0] % PTX_LANES == 0 || launch->block[1] * launch->block[2] == 1;
}

/* Returns machine code; NULL: there is none, and the worker asks no more. */
static const ptx_jit *translate(ptx_worker *worker, const ptx_code *code) {
    const ptx_jit *jit = acu_ptx_jit_of(code, worker->launch->jit, has_rows(worker->launch));
    worker->may_translate = jit != NULL;
    return jit;
}

/* Many blocks that take turns are hot together before any warp is. */
static bool is_hot(const ptx_warp *w) {
    enum { TURNS = 128 };
    return w->executed >= hot(w->code) || w->worker->turns >= TURNS;
}

const ptx_jit *acu_ptx_worker_jit(const ptx_warp *w) {
    ptx_worker *worker = w->worker;
    if (!worker->jit && worker->may_translate && (worker->launch->jit != PTX_JIT_HOT || is_hot(w)))
        worker->jit = translate(worker, w->code);
    return worker->jit;
}

/* Returns how many instructions the blocks' threads have executed. */
static uint64_t free_blocks(ptx_worker *worker) {
    uint64_t executed = 0;
    for (ptx_block *block = worker->created, *next; block; block = next) {
        next = block->created;
        for (unsigned n = 0; n < block->warp_count; n++)
            executed += block->warps[n].executed;
        acu_ptx_block_free(block);
    }
    return executed;
}

static void free_worker(ptx_worker *worker) {
    if (!worker)
        return;
    acu_ptx_check_free(worker->check);
    free(worker->counts);
    free(worker->site);
    free(worker);
}

/* Returns a worker that has begun nothing; NULL without memory. The caller frees it. */
static ptx_worker *make_worker(ptx_grid *grid) {
    const ptx_code *code = grid->launch->code;
    ptx_worker *worker = aligned_alloc(_Alignof(ptx_worker), sizeof *worker);
    if (!worker)
        return NULL;
    memset(worker, 0, sizeof *worker);
    worker->site = calloc(code->sites + 1, sizeof *worker->site);
    if (code->watch.checks)
        worker->check = acu_ptx_check_new();
    if (code->watch.profile)
        worker->counts = calloc(code->counted_count + 1, sizeof *worker->counts);
    if (!worker->site || (code->watch.checks && !worker->check) ||
        (code->watch.profile && !worker->counts)) {
        free_worker(worker);
        return NULL;
    }
    for (uint32_t n = 0; n < code->sites; n++)
        worker->site[n] = (ptx_site){.range.base = UINT64_MAX, .pattern = worker->patterns};
    for (unsigned n = 0; n < PTX_CACHED; n++)
        worker->cached[n].base = UINT64_MAX;
    worker->grid = grid;
    worker->number = acu_ptx_division_join(grid->division);
    worker->launch = grid->launch;
    worker->bank = grid->bank;
    worker->first_cycle = grid->launch->cycles ? *grid->launch->cycles : 0;
    /* Clocks that count instructions are the interpreter's. */
    worker->may_translate =
        grid->launch->jit && !ptx_is_watched(grid->launch->code) && !grid->launch->cycles;
    if (worker->may_translate)
        worker->jit = acu_ptx_jit_made(code);
    if (worker->may_translate && !worker->jit && was_hot(code))
        worker->jit = translate(worker, code);
    return worker;
}

/* Does what each worker does. */
static void work_on(ptx_grid *grid) {
    const ptx_launch *launch = grid->launch;
    if (acu_ptx_division_is_empty(grid->division)) /* this thread came too late */
        return;
    ptx_worker *worker = make_worker(grid);
    ptx_fault none = {.code = 2};
    if (!worker) {
        record(grid, &none);
        return;
    }
    if (!setjmp(worker->end))
        run_blocks(worker);
    else
        record(grid, &worker->fault);
    uint64_t executed = free_blocks(worker);
    pthread_mutex_lock(&grid->lock);
    grid->executed += executed;
    for (uint32_t n = 0; n < launch->code->counted_count && worker->counts; n++)
        acu_ptx_counts_add(&launch->counts[n], &worker->counts[n]);
    pthread_mutex_unlock(&grid->lock);
    free_worker(worker);
}

/* Works as a GPU rounds, whatever the program has set for the thread that waits for the kernel, or
 * that made this one. */
static void work(void *data) {
    fenv_t before;
    const bool kept = fegetenv(&before) == 0 && fesetenv(FE_DFL_ENV) == 0;
    work_on(data);
    if (kept)
        (void)fesetenv(&before);
}

int acu_ptx_grid_run(const ptx_launch *launch, ptx_fault *fault) {
    ptx_grid grid = {.launch = launch,
                     .begun = launch->timeout == 0 ? 0 : seconds(),
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .changed = PTHREAD_COND_INITIALIZER};
    *fault = (ptx_fault){.code = 2};
    const unsigned *size = launch->cluster;
    grid.size = size[0] * size[1] * size[2];
    const uint64_t count = (uint64_t)launch->grid[0] / size[0] * (launch->grid[1] / size[1]) *
                           (launch->grid[2] / size[2]);
    grid.most = count * grid.size > launch->resident ? launch->resident : 0;
    const ptx_watch *watch = &launch->code->watch;
    const unsigned workers = watch->checks || watch->stop_line ? 1
                             : launch->workers                 ? launch->workers
                                                               : acu_ptx_crew_most();
    const uint64_t window = launch->resident > grid.size ? launch->resident / grid.size : 1;
    grid.division = acu_ptx_division_new(count, workers, launch->resident ? window : count,
                                         launch->code->spins);
    grid.bank = aligned_alloc(64, launch->code->launch_bytes + 64);
    if (grid.division && grid.bank) {
        acu_ptx_fill_launch(launch, grid.bank);
        acu_ptx_crew_run(work, &grid, workers, count);
        *fault = grid.fault;
    }
    acu_ptx_division_free(grid.division);
    free(grid.bank);
    pthread_cond_destroy(&grid.changed);
    pthread_mutex_destroy(&grid.lock);
    atomic_fetch_add_explicit(&((ptx_code *)(uintptr_t)launch->code)->executed, grid.executed,
                              memory_order_relaxed);
    if (launch->executed)
        *launch->executed += grid.executed;
    return fault->code;
}
