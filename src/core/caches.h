/*
 * What keeps things for later use, and can give them back. The simulator, which is below the safe
 * layer, asks for that before it counts what a program has left behind, so that what remains in its
 * report is the program's.
 */
#ifndef ACU_CACHES_H
#define ACU_CACHES_H

typedef struct acu_keeper {
    /* Gives back what nobody uses, without waiting; calls CUDA. */
    void (*give_back)(void);
    struct acu_keeper *next;
} acu_keeper;

/* Adds a keeper, once; it stays until the end of the process. */
void acu_caches_add(acu_keeper *keeper);
/* Lets all of them give back what they can. Called without any lock. */
void acu_caches_give_back(void);

#endif
