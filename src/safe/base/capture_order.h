/* The order that memory gives the streams of one capture. */
#ifndef ACU_SRC_CAPTURE_ORDER_H
#define ACU_SRC_CAPTURE_ORDER_H

#include "safe/base/timeline.h"

#include <pthread.h>

/* The uses of one piece of memory by one stream; numbers count the stream's uses of any memory. */
typedef struct acu_captured_use {
    const void *memory; /* NULL: the place is free */
    unsigned stream;    /* index into `streams` */
    uint64_t last;      /* the number of the last use */
    uint64_t written;   /* the number of the last write; 0: there was none */
} acu_captured_use;

/*
 * Captured work gets the order that executing it would have had: a use of memory comes after what
 * other streams of the capture did to that memory. As with timelines, a stream that has to wait
 * waits for all that the other one did until then, by an event of the capture.
 */
typedef struct acu_capture_order {
    pthread_mutex_t lock; /* of all below */
    size_t use_count, use_room;
    acu_captured_use *uses; /* a hash table, at most half full */
    unsigned stream_count, stream_room;
    acu_timeline **streams;
    /* clocks[i * stream_room + j]: up to which number stream i comes after stream j; of i itself,
     * how many uses it had. */
    uint64_t *clocks;
} acu_capture_order;

void acu_capture_order_init(acu_capture_order *order);
void acu_capture_order_destroy(acu_capture_order *order);

/* Lets a stream that is about to use the memory wait for the uses that the new one must come after.
 * Returns 0 or a recorded failure. */
int acu_capture_order_use(acu_capture_order *order, acu_stream *stream, const void *memory,
                          bool writes);

/* Notes that the stream waits for all that was captured on the other one, which the program asked
 * for. Without memory that is not noted, and the stream may wait for the same again. */
void acu_capture_order_waited(acu_capture_order *order, const acu_stream *stream,
                              acu_timeline *other);

#endif
