/*
 * Values in memory that streams wait for, and write: how streams, the host and other processes
 * signal each other without an event.
 *
 *     acu_stream_wait_value(consumer, flags, 0, 1, ACU_VALUE_AT_LEAST);
 *     acu_launch(producer, …);
 *     acu_stream_write_value(producer, flags, 0, 1);
 *
 * A buffer with such values is made with ACU_BUFFER_UNORDERED: one that orders its uses would let
 * the write wait for the wait. Therefore nobody knows when the streams are done with the buffer,
 * and the program keeps it until then. CUDA permits values in memory of a device
 * (ACU_MEMORY_DEVICE) or of the host (ACU_MEMORY_PINNED, ACU_MEMORY_MAPPED), where the host reads
 * and writes them, too.
 *
 * A wait that nobody ends lasts for ever.
 */
#ifndef ACU_VALUE_H
#define ACU_VALUE_H

#include <anycuda/exec.h>

ACU_BEGIN_C

/** What ends a wait, with CUDA's numbers (CUstreamWaitValue_flags). */
typedef enum acu_value_condition {
    ACU_VALUE_AT_LEAST =
        0, /* the difference to the value is not negative: a counter may overflow */
    ACU_VALUE_EQUAL = 1,
    ACU_VALUE_HAS_BITS = 2,  /* one of the bits of the value is set */
    ACU_VALUE_LACKS_BITS = 3 /* a bit is 0 both in the memory and in the value; on most devices */
} acu_value_condition;

/** What an operation does. */
typedef enum acu_value_action {
    ACU_VALUE_WAIT,
    ACU_VALUE_WRITE,   /* after all earlier writes of the stream can be seen */
    ACU_VALUE_BARRIER, /* earlier writes can be seen before later ones */
    ACU_VALUE_FLUSH,   /* writes of other devices have arrived; on some platforms */
    ACU_VALUE_OR,  /* memory |= value; this and the next two: since CUDA 13.1, on some devices */
    ACU_VALUE_AND, /* memory &= value */
    ACU_VALUE_ADD  /* memory += value */
} acu_value_action;

/** One operation; a barrier and a flush have no memory. */
typedef struct acu_value_operation {
    acu_value_action action;
    acu_buffer *buffer; /* of elements with 4 or 8 bytes; NULL: `address` */
    size_t at;          /* which element */
    void *address;      /* with `buffer` NULL: memory that the program keeps */
    bool wide;          /* with `address`: the value has 8 bytes, not 4 */
    uint64_t value;
    acu_value_condition until; /* of a wait */
    bool flush;                /* of a wait: then it does what ACU_VALUE_FLUSH does, too */
    bool on_device;            /* of a barrier: for this device alone, which is cheaper */
} acu_value_operation;

/** The most operations of one call, or of one node. */
#define ACU_MOST_VALUES 255

/**
 * Lets later work on the stream wait until an element of the buffer has a value.
 *
 * A captured stream gets a node, and the graph keeps the buffer. Errors: ACU_ERROR_STATE where the
 * buffer orders its uses, ACU_ERROR_RANGE beyond its end, ACU_ERROR_DTYPE where its elements have
 * neither 4 nor 8 bytes, ACU_ERROR_OVERFLOW where the value does not fit, and CUDA's 1 where the
 * memory may have no values.
 */
ACU_CHECKED acu_result acu_stream_wait_value(acu_stream *stream, acu_buffer *buffer, size_t at,
                                             uint64_t value, acu_value_condition until);

/**
 * Writes a value to an element of the buffer when all earlier work on the stream is done, and can
 * be seen by whoever sees the value. Errors: as for acu_stream_wait_value().
 */
ACU_CHECKED acu_result acu_stream_write_value(acu_stream *stream, acu_buffer *buffer, size_t at,
                                              uint64_t value);

/**
 * Does all operations, one after the other, when the stream gets there; a captured stream gets one
 * node. Errors: as for acu_stream_wait_value(), and ACU_ERROR_LIMIT for more than ACU_MOST_VALUES;
 * then none is done.
 */
ACU_CHECKED acu_result acu_stream_run_values(acu_stream *stream,
                                             const acu_value_operation *operations, size_t count);

/**
 * Adds a node that does all operations, one after the other, on a device; the graph keeps the
 * buffers. Errors: as for acu_stream_run_values().
 */
ACU_CHECKED acu_result acu_graph_add_values(acu_graph *graph, const acu_node *after,
                                            size_t after_count, acu_device device,
                                            const acu_value_operation *operations, size_t count,
                                            acu_node *node);

/** Sets the operations of a node, as many as before and of the same actions. */
ACU_CHECKED acu_result acu_node_set_values(acu_node node, const acu_value_operation *operations,
                                           size_t count);

/** Sets the operations of a node in an executable graph, as acu_node_set_values() does. */
ACU_CHECKED acu_result acu_exec_set_values(acu_exec *exec, acu_node node,
                                           const acu_value_operation *operations, size_t count);

ACU_END_C

#endif
