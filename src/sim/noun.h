/*
 * What the simulator keeps lists of: streams, events, graphs, … Each noun's file has a row that
 * says how they are taken back and counted; src/sim/entry/nouns.c has the table of all rows.
 */
#ifndef ACU_SIM_NOUN_H
#define ACU_SIM_NOUN_H

#include "sim/sim.h"

/* All are called under the lock; NULL: there is nothing to do. */
typedef struct acu_sim_noun {
    /* Takes back what is on the device, in all of its contexts. */
    void (*reset_device)(acu_sim_device *device);
    /* Takes back what belongs to the context, which nobody uses any more. */
    void (*drop_context)(acu_sim_context *context);
    /* Takes back what is left: acu_sim_reset() has reset all devices before. */
    void (*reset)(void);
    /* Returns how many the program has, and with `print` reports each in a line. */
    int (*leaks)(int print);
    /* Takes over a configuration that was just read. */
    void (*configure)(const acu_sim_config *config);
    /* Does what follows when the host has waited; `for_work`: there was work to wait for. */
    void (*waited)(bool for_work);
    /* Does what follows when the host has waited for its own operation: a copy. */
    void (*finished)(void);
    /* Takes back what belongs to a thread of the program that ends. */
    void (*thread_ended)(const acu_sim_thread *thread);
    /* Does what follows when a call of CUDA's fails; may give the lock up meanwhile. */
    void (*failed)(const acu_sim_call *call, cudaError_t result);
} acu_sim_noun;

/* In the order in which they are taken back: a noun stands before those that it uses. NULL is
 * behind the last. */
extern const acu_sim_noun *const acu_sim_nouns[];

/* Call the row of every noun, in the order of the table. */
void acu_sim_nouns_reset_device(acu_sim_device *device);
void acu_sim_nouns_drop_context(acu_sim_context *context);
void acu_sim_nouns_reset(void);
int acu_sim_nouns_leaks(int print);
void acu_sim_nouns_configure(const acu_sim_config *config);
void acu_sim_nouns_waited(bool for_work);
void acu_sim_nouns_finished(void);
void acu_sim_nouns_thread_ended(const acu_sim_thread *thread);
void acu_sim_nouns_failed(const acu_sim_call *call, cudaError_t result);

#endif
