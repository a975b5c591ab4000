/* The pieces of a device's memory in which the allocations of a graph lie. */
#include "sim/graph/graph_pieces.h"

#include "sim/device/device.h"
#include "sim/memory/memory.h"

#include <stdlib.h>

enum {
    PIECE = 32 << 20, /* bytes */
    ALIGNMENT = 512,  /* of the offset of an allocation */
};

typedef struct piece {
    unsigned holders; /* places that hold the piece */
    uint64_t mark;    /* of the last count that met the piece */
} piece;

struct acu_sim_pieces {
    unsigned refs;
    acu_sim_device *device;
    piece *pieces;
    size_t count;
    acu_sim_piece_place *first; /* the places, by their offsets */
};

acu_sim_pieces *acu_sim_pieces_new(acu_sim_device *device) {
    acu_sim_pieces *made = calloc(1, sizeof *made);
    if (made)
        *made = (acu_sim_pieces){.refs = 1, .device = device};
    return made;
}

void acu_sim_pieces_release(acu_sim_pieces *pieces) {
    if (!pieces || --pieces->refs)
        return;
    free(pieces->pieces);
    free(pieces);
}

/* ---- places ---- */

static size_t first_piece(const acu_sim_piece_place *place) {
    return place->offset / PIECE;
}

/* Returns the index behind a place's last piece. */
static size_t pieces_end(const acu_sim_piece_place *place) {
    return place->size ? (place->offset + place->size - 1) / PIECE + 1 : first_piece(place);
}

/* Returns the lowest offset with enough room before the next place that is not free. */
static size_t find_room(const acu_sim_pieces *pieces, size_t size, uint64_t mark) {
    size_t offset = 0;
    for (const acu_sim_piece_place *p = pieces->first; p; p = p->next) {
        if (p->mark == mark)
            continue;
        if (p->offset >= offset + size)
            break;
        size_t end = (p->offset + p->size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        offset = end > offset ? end : offset;
    }
    return offset;
}

static bool grow(acu_sim_pieces *pieces, size_t count) {
    if (count <= pieces->count)
        return true;
    piece *grown = realloc(pieces->pieces, count * sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = pieces->count; i < count; i++)
        grown[i] = (piece){0};
    pieces->pieces = grown;
    pieces->count = count;
    return true;
}

bool acu_sim_place_take(acu_sim_piece_place *place, acu_sim_pieces *pieces, size_t size,
                        uint64_t mark) {
    acu_sim_piece_place **at = &pieces->first;
    *place = (acu_sim_piece_place){.offset = find_room(pieces, size, mark), .size = size};
    if (!grow(pieces, pieces_end(place)))
        return false;
    while (*at && (*at)->offset < place->offset)
        at = &(*at)->next;
    place->next = *at;
    place->pieces = pieces;
    pieces->refs++;
    *at = place;
    return true;
}

void acu_sim_place_give_back(acu_sim_piece_place *place) {
    if (!place->pieces)
        return;
    acu_sim_piece_place **at = &place->pieces->first;
    while (*at != place)
        at = &(*at)->next;
    *at = place->next;
    acu_sim_pieces_release(place->pieces);
    *place = (acu_sim_piece_place){0};
}

void acu_sim_place_hold(acu_sim_piece_place *place) {
    for (size_t i = first_piece(place); i < pieces_end(place); i++)
        place->pieces->device->graph_pieces_held += place->pieces->pieces[i].holders++ == 0;
}

void acu_sim_place_let_go(acu_sim_piece_place *place) {
    for (size_t i = first_piece(place); i < pieces_end(place); i++)
        place->pieces->device->graph_pieces_held -= --place->pieces->pieces[i].holders == 0;
}

size_t acu_sim_place_count_idle(acu_sim_piece_place *place, uint64_t mark) {
    size_t idle = 0;
    for (size_t i = first_piece(place); i < pieces_end(place); i++) {
        piece *p = &place->pieces->pieces[i];
        idle += !p->holders && p->mark != mark;
        p->mark = mark;
    }
    return idle;
}

/* ---- devices ---- */

bool acu_sim_pieces_reserve(acu_sim_device *device, size_t idle) {
    uint64_t wanted = (device->graph_pieces_held + idle) * (uint64_t)PIECE;
    if (wanted <= device->graph_memory)
        return true;
    if (!acu_sim_memory_charge(device, wanted - device->graph_memory))
        return false;
    device->graph_memory = wanted;
    if (device->graph_used_high < wanted)
        device->graph_used_high = wanted;
    if (device->graph_reserved_high < wanted)
        device->graph_reserved_high = wanted;
    return true;
}

void acu_sim_pieces_trim(acu_sim_device *device, size_t idle) {
    uint64_t kept = (device->graph_pieces_held + idle) * (uint64_t)PIECE;
    if (kept >= device->graph_memory)
        return;
    device->used -= device->graph_memory - kept;
    device->graph_memory = kept;
}
