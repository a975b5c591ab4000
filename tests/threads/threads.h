/*
 * Random programs of several threads: what the files of the generator share.
 *
 * A program is some phases. In a phase each thread makes steps of its own, with objects of its own,
 * and all of them meet a few times. Whatever one thread tells the others is ordered by turns, which
 * all threads take in an order that the seed decides; so no answer depends on the schedule.
 */
#ifndef THREADS_H
#define THREADS_H

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    THREADS = 6,
    STREAMS = 6, /* the first is the thread's default stream */
    EVENTS = 4,
    BASES = 6,    /* memories that are there from the start to the end: graphs use only these */
    MEMORIES = 9, /* and those that come and go */
    GRAPHS = 5,
    NODES = 12,
    EXECS = 4,
    SHARED_MEMORIES = 3,
    WORDS = 256, /* of each memory */
    CALLS_ON_HOST = 4096
};

/* The captures of a thread: one over its own streams, and one that it leads over a stream of every
 * thread. NONE: no capture; ENDED: of an event, a capture that is over. */
enum { ENDED = -2, NONE = -1, OWN = 0, COMMON = 1, CAPTURES = 2 };

typedef struct stream {
    cudaStream_t handle; /* NULL: the slot is empty */
    cudaEvent_t before;  /* recorded right before a capture takes the stream */
    cudaEvent_t last;    /* recorded when another stream is to wait for this one */
    int capture;         /* that has the stream */
    char name[8];
} stream;

typedef struct event {
    cudaEvent_t handle;
    int capture;    /* in which the event was recorded last */
    bool is_timing; /* whether its time can be asked for */
    char name[8];
} event;

typedef enum memory_kind { DEVICE, ASYNC, POOLED, PINNED, MANAGED } memory_kind;
typedef struct memory {
    unsigned *at; /* NULL: the slot is empty */
    memory_kind kind;
    stream *home[1 + CAPTURES]; /* where its last use is: outside, and in each capture */
    char name[8];
} memory;

typedef struct node {
    cudaGraphNode_t handle;
    enum { FILLS, COPIES, COMPUTES, CALLS, IS_EMPTY, IS_CHILD } kind;
    memory *to, *from;
} node;

typedef struct graph {
    cudaGraph_t handle;
    unsigned uses;   /* a bit for each memory */
    unsigned size;   /* nodes, those of child graphs counted, too */
    bool allocates;  /* has nodes that allocate memory */
    unsigned number; /* another one for each graph in the slot */
    node nodes[NODES];
    unsigned count; /* of `nodes`: those that were added one by one */
    unsigned
        last[BASES]; /* for each memory: one more than the index of the node that used it last */
    char name[8];
} graph;

typedef struct exec {
    cudaGraphExec_t handle;
    unsigned uses, size;
    bool allocates;
    const graph *from; /* and that graph's number */
    unsigned number;
    char name[8];
} exec;

/* Work of a host function: multiplies words, and adds to them. */
typedef struct host_call {
    unsigned *at, count, factor, summand;
} host_call;

typedef struct worker {
    unsigned index;
    unsigned number;        /* of the step */
    uint64_t state, values; /* of its choices; of the numbers that its work is given */
    stream streams[STREAMS], lent;
    event events[EVENTS];
    memory memories[MEMORIES];
    graph graphs[GRAPHS];
    exec execs[EXECS];
    cudaMemPool_t pool;
    host_call host_calls[CALLS_ON_HOST];
    unsigned host_call_count;
    struct {
        stream *origin; /* NULL: no such capture is under way */
        int mode;
        unsigned uses, size;
        bool allocates;
    } captures[CAPTURES];
    int mode; /* the thread's capture mode */
    unsigned bytes[WORDS];
} worker;

/* The thread that runs. */
extern _Thread_local worker *me;
extern worker workers[THREADS];
extern unsigned worker_count;

/* ---- what all threads know ---- */

typedef struct phase {
    bool is_legacy;      /* uses the legacy stream; no thread captures anything */
    unsigned may_global; /* a bit for each thread that may capture in global mode */
} phase;
extern phase now;

/* The legacy stream, which threads use in legacy phases. */
stream *legacy_stream(void);

/* Memory of all threads: who has the turn waits for `order`, and records it after the use. */
typedef struct shared_memory {
    memory memory;
    cudaEvent_t order;
} shared_memory;
extern shared_memory shared[SHARED_MEMORIES];

/* ---- choices ---- */

/* A number below the limit. */
unsigned below(unsigned limit);
bool one_in(unsigned count);
/* A number for work, which graphs of the same shape may have otherwise. */
unsigned value_below(unsigned limit);
#define ONE_OF(...)                                                                                \
    ((const int[]){__VA_ARGS__}[below(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))])
void seed_choices(uint64_t seed, uint64_t number);

/* ---- what is printed ---- */

/* Begins a line: the number of the step, and a call with its arguments. */
__attribute__((format(printf, 1, 2))) void call(const char *format, ...);
/* Goes on with it: what the call returned, which is returned, the thread's last error, and the
 * states of its streams' captures. */
cudaError_t answer(long long code);
/* Goes on with what the call wrote. */
__attribute__((format(printf, 1, 2))) void wrote(const char *format, ...);
/* The three, for a call that writes nothing. */
#define CALL(expression, ...) (call(__VA_ARGS__), answer(expression))

/* ---- streams and memory ---- */

/* A stream that no capture has; one that the capture has; NULL if there is none. */
stream *any_free_stream(void);
stream *any_captured_stream(int capture);
/* A stream for work: mostly a captured one while there is a capture, and the legacy one in legacy
 * phases. */
stream *any_stream(void);
memory *any_memory(const stream *on);
/* Pinned memory, for host functions. */
memory *any_host_memory(void);
/* Orders the next use of the memory, on that stream, behind the uses before. */
void bring(memory *used, stream *to);
/* Orders the next use of each memory that a graph uses behind the uses before. */
void bring_all(unsigned uses, stream *to);
/* Waits on the host for the memory's last use; for all work of the thread. Unsafe in captures. */
void wait_for(memory *used);
/* Records `before`, as is due before a capture takes the stream. */
void leave(stream *left);
/* Prints a sum of the memory's bytes. Unsafe in captures. */
void check(memory *checked);
void check_shared(memory *checked);

/* Puts work on the stream: a fill, a copy, a kernel, a host function. */
void work(stream *on);
/* A kernel that mixes one memory into another; both must have been brought to the stream. */
void mix(memory *to, const memory *from, stream *on);
void fill(memory *to, stream *on);
/* The launch of a kernel that takes any of the driver or the runtime. */
void kernels_load(void);
CUfunction computing_function(void);
host_call *new_host_call(const memory *on);
void CUDART_CB run_host_call(void *data);

/* ---- captures ---- */

cudaError_t exchange_mode(int mode);
/* Whether the thread has a capture that forbids unsafe calls; whether such calls would meet
 * another thread's global capture. */
bool is_forbidden(void);
bool is_endangered(void);
cudaError_t begin_capture(int capture, stream *origin, int mode);
/* Lets the stream join the capture that has `from`. */
bool fork_to(stream *joining, stream *from);
/* Lets `into` wait for `from`, both of one capture. */
void join(stream *into, stream *from);
cudaError_t end_capture(int capture, cudaGraph_t *made);
/* Ends the thread's own capture, if there is one; the graph is kept where there is a slot. */
void finish_capture(void);
graph *empty_graph(void);

/* ---- operations, by file ---- */

typedef struct operation {
    const char *name;
    void (*run)(void);
    unsigned weight;
    enum { SAFE, UNSAFE, LEGACY } when; /* unsafe: CUDA forbids it beside some captures */
} operation;
#define OPERATION(function, weight, when) {#function, function, weight, when}
extern const operation stream_operations[], memory_operations[], capture_operations[],
    graph_operations[];

/* ---- meetings ---- */

typedef enum meeting {
    RELAY,    /* shared memory goes from thread to thread, ordered by events */
    TOGETHER, /* streams of all threads take part in one capture */
    FORBID,   /* one thread does what another one's capture may forbid; all others wait */
    HOLD,     /* one thread's stream is held up; all others wait */
    MEETINGS
} meeting;
extern const char *const meeting_names[MEETINGS];
void meet(meeting kind, uint64_t seed, uint64_t number);
/* Waits until all turns before are over; begins the next one. */
void begin_turn(unsigned long number);
void end_turn(void);
void meet_all(void);
/* The number of the thread's next turn. */
extern _Thread_local unsigned long next_turn;

void create_stream(stream *made, unsigned flags, int priority);

#endif
