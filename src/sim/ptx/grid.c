/*
 * The blocks of a launch. Workers take them from a counter; a worker whose blocks all wait for
 * other blocks begins another one beside them, so that blocks may wait for each other.
 */
#include "sim/ptx/block.h"
#include "sim/ptx/crew.h"
#include "sim/ptx/special.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ptx_grid {
    const ptx_launch *launch;
    char *bank;            /* of the launch */
    _Atomic uint64_t next; /* the next block */
    uint64_t count;
    atomic_bool failed;
    pthread_mutex_t lock; /* guards `fault` and `executed` */
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

static void record(ptx_grid *grid, const ptx_fault *fault) {
    pthread_mutex_lock(&grid->lock);
    if (!grid->fault.code)
        grid->fault = *fault;
    pthread_mutex_unlock(&grid->lock);
    atomic_store(&grid->failed, true);
}

/* ---- workers ---- */

/* Begins the next block of the grid. NULL: all have begun. */
static ptx_block *begin_block(ptx_worker *worker) {
    ptx_grid *grid = worker->grid;
    uint64_t number = atomic_fetch_add(&grid->next, 1);
    if (number >= grid->count)
        return NULL;
    ptx_block *block = worker->spare;
    if (block)
        worker->spare = block->next;
    else
        block = acu_ptx_block_new(worker);
    if (!block) {
        worker->fault = (ptx_fault){.code = 2};
        snprintf(worker->fault.what, sizeof worker->fault.what, "there is no memory for a block");
        longjmp(worker->end, 1);
    }
    acu_ptx_block_begin(block, number);
    return block;
}

static void add_last(ptx_worker *worker, ptx_block *block) {
    ptx_block **end = &worker->blocks;
    while (*end)
        end = &(*end)->next;
    block->next = NULL;
    *end = block;
}

/* Runs blocks until the grid has no more, and those of this worker have ended. */
static void run_blocks(ptx_worker *worker) {
    while (!atomic_load_explicit(&worker->grid->failed, memory_order_relaxed)) {
        ptx_block *block = worker->blocks;
        if (!block) {
            block = begin_block(worker);
            if (!block)
                return;
            worker->blocks = block;
            block->next = NULL;
        }
        ptx_state state = acu_ptx_block_run(block);
        worker->blocks = block->next;
        if (state == PTX_ENDED) {
            block->next = worker->spare;
            worker->spare = block;
            continue;
        }
        add_last(worker, block);
        ptx_block *another = begin_block(worker);
        if (another) {
            another->next = worker->blocks;
            worker->blocks = another;
        }
    }
}

static void free_blocks(ptx_block *block, uint64_t *executed) {
    for (ptx_block *next; block; block = next) {
        next = block->next;
        for (unsigned n = 0; n < block->warp_count; n++)
            *executed += block->warps[n].executed;
        acu_ptx_block_free(block);
    }
}

/* What each worker does. */
static void work(void *data) {
    ptx_grid *grid = data;
    ptx_worker *worker = calloc(1, sizeof *worker);
    ptx_fault none = {.code = 2};
    if (worker)
        worker->site = calloc(grid->launch->code->sites + 1, sizeof *worker->site);
    if (!worker || !worker->site) {
        free(worker);
        record(grid, &none);
        return;
    }
    for (uint32_t n = 0; n < grid->launch->code->sites; n++)
        worker->site[n].range.base = UINT64_MAX;
    for (unsigned n = 0; n < PTX_CACHED; n++)
        worker->cached[n].base = UINT64_MAX;
    worker->grid = grid;
    worker->launch = grid->launch;
    worker->bank = grid->bank;
    if (!setjmp(worker->end))
        run_blocks(worker);
    else
        record(grid, &worker->fault);
    uint64_t executed = 0;
    free_blocks(worker->blocks, &executed);
    free_blocks(worker->spare, &executed);
    pthread_mutex_lock(&grid->lock);
    grid->executed += executed;
    pthread_mutex_unlock(&grid->lock);
    free(worker->site);
    free(worker);
}

int acu_ptx_grid_run(const ptx_launch *launch, ptx_fault *fault) {
    ptx_grid grid = {.launch = launch, .lock = PTHREAD_MUTEX_INITIALIZER};
    *fault = (ptx_fault){.code = 2};
    grid.count = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    grid.bank = malloc(launch->code->launch_bytes + 64);
    if (!grid.bank)
        return 2;
    acu_ptx_fill_launch(launch, grid.bank);
    acu_ptx_crew_run(work, &grid, launch->workers, grid.count);
    free(grid.bank);
    pthread_mutex_destroy(&grid.lock);
    *fault = grid.fault;
    if (launch->executed)
        *launch->executed += grid.executed;
    return fault->code;
}
