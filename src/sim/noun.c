/* Walks the table of nouns. */
#include "sim/noun.h"

void acu_sim_nouns_reset_device(acu_sim_device *device) {
    for (const acu_sim_noun *const *noun = acu_sim_nouns; *noun; noun++)
        if ((*noun)->reset_device)
            (*noun)->reset_device(device);
}

void acu_sim_nouns_drop_context(acu_sim_context *context) {
    for (const acu_sim_noun *const *noun = acu_sim_nouns; *noun; noun++)
        if ((*noun)->drop_context)
            (*noun)->drop_context(context);
}

void acu_sim_nouns_reset(void) {
    for (const acu_sim_noun *const *noun = acu_sim_nouns; *noun; noun++)
        if ((*noun)->reset)
            (*noun)->reset();
}

int acu_sim_nouns_leaks(int print) {
    int count = 0;
    for (const acu_sim_noun *const *noun = acu_sim_nouns; *noun; noun++)
        count += (*noun)->leaks ? (*noun)->leaks(print) : 0;
    return count;
}

void acu_sim_nouns_configure(const acu_sim_config *config) {
    for (const acu_sim_noun *const *noun = acu_sim_nouns; *noun; noun++)
        if ((*noun)->configure)
            (*noun)->configure(config);
}

void acu_sim_nouns_waited(bool for_work) {
    for (const acu_sim_noun *const *noun = acu_sim_nouns; *noun; noun++)
        if ((*noun)->waited)
            (*noun)->waited(for_work);
}

void acu_sim_nouns_finished(void) {
    for (const acu_sim_noun *const *noun = acu_sim_nouns; *noun; noun++)
        if ((*noun)->finished)
            (*noun)->finished();
}

void acu_sim_nouns_thread_ended(const acu_sim_thread *thread) {
    for (const acu_sim_noun *const *noun = acu_sim_nouns; *noun; noun++)
        if ((*noun)->thread_ended)
            (*noun)->thread_ended(thread);
}

void acu_sim_nouns_failed(const acu_sim_call *call, cudaError_t result) {
    for (const acu_sim_noun *const *noun = acu_sim_nouns; *noun; noun++)
        if ((*noun)->failed)
            (*noun)->failed(call, result);
}
