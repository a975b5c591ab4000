/* What every switch of a layer ends with. */
#ifndef ACU_LAYERS_LAYERS_H
#define ACU_LAYERS_LAYERS_H

/* Sends the calls of functions that are bound already through the layers, if one is on. */
void acu_layers_take_slots_back(void);

#endif
