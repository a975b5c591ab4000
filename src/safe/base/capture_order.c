/* The order that memory gives the streams of one capture. */
#include "safe/base/capture_order.h"

#include "safe/base/stream.h"

#include <stdlib.h>
#include <string.h>

void acu_capture_order_init(acu_capture_order *order) {
    *order = (acu_capture_order){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void acu_capture_order_destroy(acu_capture_order *order) {
    free(order->uses);
    free(order->streams);
    free(order->clocks);
}

/* ---- streams ---- */

static uint64_t *clock_of(const acu_capture_order *order, unsigned stream, unsigned other) {
    return &order->clocks[(size_t)stream * order->stream_room + other];
}

/* Makes room for one more stream; false without memory. */
static bool grow_streams(acu_capture_order *order) {
    const unsigned room = order->stream_room ? 2 * order->stream_room : 4;
    acu_timeline **streams = realloc(order->streams, room * sizeof *streams);
    if (!streams)
        return false;
    order->streams = streams;
    uint64_t *clocks = calloc((size_t)room * room, sizeof *clocks);
    if (!clocks)
        return false;
    for (unsigned i = 0; i < order->stream_count; i++)
        memcpy(&clocks[(size_t)i * room], clock_of(order, i, 0),
               order->stream_count * sizeof *clocks);
    free(order->clocks);
    order->clocks = clocks;
    order->stream_room = room;
    return true;
}

/* Sets the index of the stream, which is added if it is new; false without memory. */
static bool find_stream(acu_capture_order *order, acu_timeline *timeline, unsigned *index) {
    for (*index = 0; *index < order->stream_count; ++*index)
        if (order->streams[*index] == timeline)
            return true;
    if (order->stream_count == order->stream_room && !grow_streams(order))
        return false;
    order->streams[order->stream_count++] = timeline;
    return true;
}

/* Notes that the stream comes after all that the other one has done, and after what that one comes
 * after. */
static void note_wait(const acu_capture_order *order, unsigned stream, unsigned other) {
    for (unsigned i = 0; i < order->stream_count; i++) {
        uint64_t *mine = clock_of(order, stream, i);
        const uint64_t theirs = *clock_of(order, other, i);
        if (*mine < theirs)
            *mine = theirs;
    }
}

/* ---- uses ---- */

/* Returns the place of the uses, which is free if there are none. The table is not full. */
static acu_captured_use *find_use(const acu_capture_order *order, const void *memory,
                                  unsigned stream) {
    const size_t mask = order->use_room - 1;
    size_t at = ((uintptr_t)memory / 64 * 31 + stream) * 0x9e3779b1u;
    while (order->uses[at & mask].memory &&
           (order->uses[at & mask].memory != memory || order->uses[at & mask].stream != stream))
        at++;
    return &order->uses[at & mask];
}

/* Makes room for one more use; false without memory. */
static bool reserve_use(acu_capture_order *order) {
    if (order->use_count < order->use_room / 2)
        return true;
    acu_capture_order grown = *order;
    grown.use_room = order->use_room ? 2 * order->use_room : 16;
    grown.uses = calloc(grown.use_room, sizeof *grown.uses);
    if (!grown.uses)
        return false;
    for (size_t i = 0; i < order->use_room; i++)
        if (order->uses[i].memory)
            *find_use(&grown, order->uses[i].memory, order->uses[i].stream) = order->uses[i];
    free(order->uses);
    order->uses = grown.uses;
    order->use_room = grown.use_room;
    return true;
}

/* Lets the stream wait for the uses of the memory that it does not come after yet. */
static int wait_for_uses(acu_capture_order *order, acu_stream *stream, unsigned index,
                         const void *memory, bool writes) {
    int code = 0;
    for (unsigned i = 0; i < order->stream_count && !code; i++) {
        const acu_captured_use *use = find_use(order, memory, i);
        const uint64_t number = !use->memory ? 0 : writes ? use->last : use->written;
        if (i == index || number <= *clock_of(order, index, i))
            continue;
        code = acu_timeline_wait_captured(order->streams[i], stream);
        if (!code)
            note_wait(order, index, i);
    }
    return code;
}

static void add_use(acu_capture_order *order, unsigned index, const void *memory, bool writes) {
    acu_captured_use *use = find_use(order, memory, index);
    if (!use->memory) {
        order->use_count++;
        *use = (acu_captured_use){.memory = memory, .stream = index};
    }
    use->last = ++*clock_of(order, index, index);
    if (writes)
        use->written = use->last;
}

int acu_capture_order_use(acu_capture_order *order, acu_stream *stream, const void *memory,
                          bool writes) {
    unsigned index = 0;
    int code = 0;
    pthread_mutex_lock(&order->lock);
    if (!find_stream(order, stream->timeline, &index) || !reserve_use(order))
        code = acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for a captured use");
    if (!code)
        code = wait_for_uses(order, stream, index, memory, writes);
    if (!code)
        add_use(order, index, memory, writes);
    pthread_mutex_unlock(&order->lock);
    return code;
}

void acu_capture_order_waited(acu_capture_order *order, const acu_stream *stream,
                              acu_timeline *other) {
    unsigned index = 0, others = 0;
    pthread_mutex_lock(&order->lock);
    if (find_stream(order, stream->timeline, &index) && find_stream(order, other, &others))
        note_wait(order, index, others);
    pthread_mutex_unlock(&order->lock);
}
