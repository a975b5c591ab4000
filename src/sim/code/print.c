#include "sim/code/print.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static char *kept;
static size_t used, room;

void acu_sim_print_keep(const char *text, size_t size) {
    pthread_mutex_lock(&lock);
    if (room - used < size) {
        size_t more = (used + size) * 2 + 4096;
        char *grown = realloc(kept, more);
        if (grown) {
            kept = grown;
            room = more;
        }
    }
    if (room - used >= size) {
        memcpy(kept + used, text, size);
        used += size;
    }
    pthread_mutex_unlock(&lock);
}

static void flush(void) {
    pthread_mutex_lock(&lock);
    if (used) {
        fwrite(kept, 1, used, stdout);
        fflush(stdout);
    }
    used = 0;
    pthread_mutex_unlock(&lock);
}

static void flush_after_wait(bool for_work) {
    (void)for_work;
    flush();
}

static void flush_device(acu_sim_device *device) {
    (void)device;
    flush();
}

const acu_sim_noun acu_sim_print_noun = {
    .waited = flush_after_wait, .finished = flush, .reset_device = flush_device};
