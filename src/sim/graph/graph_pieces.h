/*
 * The pieces of a device's memory in which the allocations of a graph lie.
 *
 * A device gives memory to graphs in pieces, which small allocations share. An allocation lies
 * where another one of its graph lay, if that is freed before. A piece that no allocation holds
 * serves the next graph that needs one, until the program trims the device.
 */
#ifndef ACU_SIM_GRAPH_GRAPH_PIECES_H
#define ACU_SIM_GRAPH_GRAPH_PIECES_H

#include "sim/sim.h"

typedef struct acu_sim_pieces acu_sim_pieces;

/* Where an allocation lies. */
typedef struct acu_sim_piece_place {
    acu_sim_pieces *pieces; /* NULL: the allocation has no place yet */
    size_t offset, size;    /* bytes from the first piece on */
    uint64_t mark;          /* of the last walk that found the place free for what comes later */
    struct acu_sim_piece_place *next; /* of those in the same pieces, the next one by its offset */
} acu_sim_piece_place;

/* Returns a graph's pieces on a device, none of them used; NULL without memory. The caller has a
 * reference, and each place in them has one. */
acu_sim_pieces *acu_sim_pieces_new(acu_sim_device *device);
void acu_sim_pieces_release(acu_sim_pieces *pieces);

/* Gives an allocation of `size` bytes a place, where no other one is whose mark is not `mark`.
 * Returns false without memory. */
bool acu_sim_place_take(acu_sim_piece_place *place, acu_sim_pieces *pieces, size_t size,
                        uint64_t mark);
/* Gives a place back, which nobody may hold; one that was never taken is fine. */
void acu_sim_place_give_back(acu_sim_piece_place *place);

/* Hold the pieces of a place, which serve no other graph meanwhile, and let go of them. */
void acu_sim_place_hold(acu_sim_piece_place *place);
void acu_sim_place_let_go(acu_sim_piece_place *place);

/* Returns how many pieces of a place nobody holds, without those that an earlier call with the same
 * mark counted. */
size_t acu_sim_place_count_idle(acu_sim_piece_place *place, uint64_t mark);

/* Makes sure that a device has so many pieces beside those that are held; returns false if it has
 * too little memory. */
bool acu_sim_pieces_reserve(acu_sim_device *device, size_t idle);
/* Takes all pieces from a device's graphs, but for those that are held and so many others. */
void acu_sim_pieces_trim(acu_sim_device *device, size_t idle);

#endif
