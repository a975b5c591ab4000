/* Runs of the CPU's form for places that have no form of their own. */
#include "runtime/run.h"

/* A block that the run uses, as the CPU has it. */
typedef struct copy {
    const acu_block *block;
    acu_backend_memory *memory; /* NULL: not allocated */
    uint64_t bytes;             /* of that memory */
    void *host;
    bool writes;
} copy;

/* A run while it is on the CPU. */
typedef struct borrowed {
    acu_client *client;
    const acu_backend *cpu;
    acu_backend_device *device;
    acu_backend_queue *queue;
    copy copies[ACU_MAX_ARGUMENTS]; /* each block once */
    unsigned count;
} borrowed;

static copy *find(borrowed *b, const acu_block *block) {
    unsigned i = 0;
    while (i < b->count && b->copies[i].block != block)
        i++;
    return i < b->count ? &b->copies[i] : NULL;
}

/* Reads a block to the CPU. A block that is only written to is read, too, because the program may
 * not write to all of it. */
static acu_result bring(borrowed *b, const acu_block *block, copy *c) {
    c->block = block;
    c->bytes = block->bytes ? block->bytes : 1;
    ACU_TRY(b->cpu->memory_allocate(b->queue, c->bytes, &c->memory));
    ACU_TRY(b->cpu->memory_get_host(b->device, c->memory, &c->host));
    if (block->bytes == 0)
        return 0;
    return b->client->table->read(b->client->queue, block->memory, 0, c->host, block->bytes);
}

static acu_result bring_all(borrowed *b, const acu_work *work) {
    for (unsigned i = 0; i < work->use_count; i++) {
        copy *c = find(b, work->uses[i].block);
        if (!c) {
            c = &b->copies[b->count++];
            ACU_TRY(bring(b, work->uses[i].block, c));
        }
        c->writes = c->writes || work->uses[i].writes;
    }
    return 0;
}

/* Runs the form on the copies, and waits. */
static acu_result run_form(borrowed *b, const acu_run_work *run) {
    acu_backend_arg args[ACU_MAX_ARGUMENTS];
    unsigned use = 0;
    for (size_t i = 0; i < run->count; i++) {
        args[i] = run->args[i];
        if (args[i].memory)
            args[i].memory = find(b, run->work.uses[use++].block)->memory;
    }
    ACU_TRY(b->cpu->run(b->queue, run->compiled->made, run->items, args, run->count));
    return b->cpu->queue_synchronize(b->queue);
}

/* Writes back what the program has written. */
static acu_result return_all(const borrowed *b) {
    const acu_client *client = b->client;
    for (unsigned i = 0; i < b->count; i++) {
        const copy *c = &b->copies[i];
        if (c->writes && c->block->bytes > 0)
            ACU_TRY(
                client->table->write(client->queue, c->block->memory, 0, c->host, c->block->bytes));
    }
    return 0;
}

static acu_result run_copies(borrowed *b, const acu_run_work *run) {
    ACU_TRY(bring_all(b, &run->work));
    ACU_TRY(run_form(b, run));
    return return_all(b);
}

/* Returns the queue of such runs, made at the first one; the lock of `c` is held. */
static acu_result open_queue(acu_compiled *c, acu_backend_queue **queue) {
    const acu_backend_queue_options options = {.size = sizeof options};
    if (!c->queue)
        ACU_TRY(c->device->table->queue_create(c->device->device, &options, &c->queue));
    *queue = c->queue;
    return 0;
}

acu_result acu_run_on_cpu(acu_client *client, const acu_run_work *run) {
    acu_compiled *c = run->compiled;
    borrowed b = {.client = client, .cpu = c->device->table, .device = c->device->device};
    if (client->capturing)
        return acu_backend_fail(ACU_NOT_SUPPORTED, "\"%s\" has no form for %s, and runs on the CPU",
                                run->program->source.name, client->table->name);
    pthread_mutex_lock(&c->lock);
    acu_result code = open_queue(c, &b.queue);
    if (!code) {
        __atomic_store_n(&client->on_cpu, b.queue, __ATOMIC_RELAXED);
        code = run_copies(&b, run);
        __atomic_store_n(&client->on_cpu, NULL, __ATOMIC_RELAXED);
    }
    for (unsigned i = 0; i < b.count; i++)
        if (b.copies[i].memory)
            b.cpu->memory_free(b.queue, b.copies[i].memory, b.copies[i].bytes);
    pthread_mutex_unlock(&c->lock);
    return code;
}
