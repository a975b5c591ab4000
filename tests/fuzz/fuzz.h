/*
 * Random programs of CUDA calls: what the files of the fuzzer share.
 *
 * A program is a list of calls. The choices of call N depend on the seed, on N, and on which
 * objects there are; so while the answers are the same, two machines run the same program.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- choices ---- */

/* A number below the limit. */
unsigned below(unsigned limit);
bool one_in(unsigned count);
/* One of the listed numbers, as int. */
#define ONE_OF(...)                                                                                \
    ((const int[]){__VA_ARGS__}[below(sizeof((const int[]){__VA_ARGS__}) / sizeof(int))])

/* ---- what is printed ---- */

/* Begins a line: the call with its arguments. */
__attribute__((format(printf, 1, 2))) void call(const char *format, ...);
/* Ends the line: what the call returned, what cudaPeekAtLastError() returns, the state of each
 * stream's capture, and what the call wrote. */
__attribute__((format(printf, 2, 3))) void answer(long long code, const char *format, ...);
/* Whether a call wrote a handle: "same", "NULL" or "new". */
const char *handle_state(const void *handle);
/* What handles are before the call that may write them. */
#define UNWRITTEN ((void *)0x5a5a5a5a)

/* ---- the objects of a program ---- */

typedef enum kind {
    STREAM,
    EVENT,
    MEMORY,
    ARRAY,
    POOL,
    GRAPH,
    EXEC,
    USER_OBJECT,
    MIPMAP,
    TEXTURE,
    SURFACE,
    RESERVATION,
    CREATED,
    KINDS
} kind;
enum { SLOTS = 6, KIB = 1 << 10, MIB = 1 << 20 };
typedef enum memory_kind {
    DEVICE,
    ASYNC,
    PINNED,
    MANAGED,
    REGISTERED,
    PAGEABLE,
    MAPPED
} memory_kind;

typedef struct object {
    void *handle; /* NULL: the slot is empty */
    size_t size;  /* of memory, in bytes; the width of an array, in elements; how many references to
                   * a user object the program has */
    memory_kind memory;
    bool is_used;      /* a graph or a capture uses the object: it is never destroyed */
    bool is_read_only; /* memory that work on a GPU must not write to */
    bool is_undefined; /* nodes of graphs may write to the memory at once: nobody compares it */
    struct object
        *graph;      /* of an instance: what it was made from; of a stream: what is captured into */
    unsigned number; /* of a graph: another one for each graph that is in this slot */
} object;

extern object objects[KINDS][SLOTS];

/* A slot without an object; NULL if none is empty. */
object *empty(kind wanted);
/* An object that exists, or one whose handle is NULL. */
object *any(kind wanted);
/* An object that no graph and no capture uses, or one whose handle is NULL; NULL if any() chose one
 * that is used. */
object *unused(kind wanted);
/* "s3", "NULL". The text lives until eight further ones were asked for. */
const char *name(const object *named);

/* A stream of the program, or NULL, or the legacy one, or the thread's own. */
typedef struct chosen_stream {
    cudaStream_t handle;
    object *object; /* NULL for the three that CUDA made */
    const char *name;
} chosen_stream;
chosen_stream any_stream(void);
/* Mostly one that is being captured, if there is one. */
chosen_stream any_captured_stream(void);
/* Whether a capture is going on in the stream; asking has no effect on it. */
bool is_capturing(chosen_stream stream);
/* After a call that put work into a stream: waits for the work, unless a capture has it. So no
 * answer depends on how fast a machine is. */
void settle(chosen_stream stream);
/* After an event was recorded: waits for it, too, because CUDA may say for a moment that an event
 * of an idle stream is not done. */
void settle_event(chosen_stream stream, const object *event);
bool any_capture(void);

/* Memory with an offset, sometimes wrong. */
typedef struct place {
    object *object; /* NULL for NULL */
    char *address;
    size_t room; /* bytes from the address to the end */
    char name[24];
} place;
place any_place(void);
/* Memory that work on a GPU may write to: to write to what is read-only ends the context. */
place any_target(void);
/* Memory that CUDA does not know, which the program always has. */
extern object pageable[2];

/* A size for an operation on so much room: mostly one that fits; 0, 1, odd, too large. */
size_t any_size(size_t room);
/* The parameters of a copy of a box, between places with room for 4 KiB. */
struct cudaMemcpy3DParms any_box(const place *to, const place *from);
/* A direction of a copy, mostly cudaMemcpyDefault. */
int any_direction(void);
/* A device: mostly 0; also -1 and 1. */
int any_device(void);

/* A value for a limit. */
size_t any_limit(int limit);

/* The loaded runtime's version, 12040. */
int runtime(void);

/* A call's work, which a capture or the caller may have put into a graph, reads and writes there.
 */
void uses(place *used, bool writes, bool in_graph);

/* Where synchronous calls put their work: some return before it is done. */
extern const chosen_stream null_stream;
/* After a copy or a fill: the destination holds what nobody compares if a graph has the work, or if
 * the source does. */
void wrote(place *to, place *from, bool captured, bool all);
/* After a copy into an array, or from one, whose content nobody compares. */
void copied_array(object *array, place *memory, bool into, bool captured);
size_t smaller(size_t a, size_t b);
/* Too large a copy of host memory would read or write beyond it. */
bool is_safe(const place *p, size_t bytes);
bool overlap(const place *a, const place *b, size_t bytes);
bool may_write(const place *p);
/* Whether the driver's operations on values may be given the place: it writes to memory that it
 * does not know, and memory that is read-only or too small ends the context. */
bool has_values(const place *p);
/* Two operations of the driver that write to the place and wait for nothing. */
void any_values(CUstreamBatchMemOpParams operations[2], const place *p);

/* After the end of a capture: the graph is kept in the empty object; true if it is there already.
 */
bool keep_captured_graph(object *into, object *stream, cudaError_t result, cudaGraph_t made);
/* Keeps an instance of the graph; NULL: there is none. */
void keep_exec(object *o, cudaGraphExec_t made, object *graph, unsigned long long flags);

/* Ends what the stream knows of a graph that it was captured into. */
void forget_captured_graph(object *stream, bool is_kept);

/* ---- operations, by file ---- */

typedef struct operation {
    const char *name;
    void (*run)(void);
    unsigned weight;
    bool first; /* the calls that a program begins with are only of such operations */
} operation;
#define OPERATION(function, weight, first) {#function, function, weight, first}
extern const operation device_operations[], stream_operations[], memory_operations[],
    copy_operations[], capture_operations[], graph_operations[], exec_operations[],
    kernel_operations[], texture_operations[], array_operations[], driver_memory_operations[],
    driver_stream_operations[], node_operations[], exec_node_operations[], library_operations[],
    context_operations[], range_operations[], virtual_operations[];

/* Nodes of a graph: a node that exists, or NULL; its name is its place in cudaGraphGetNodes(). */
typedef struct chosen_node {
    cudaGraphNode_t handle;
    char name[24];
} chosen_node;
chosen_node any_node(const object *graph);
/* Mostly a node of the type, if the graph has one. */
chosen_node any_node_of(const object *graph, enum cudaGraphNodeType type);
/* Up to four nodes of the graph, as dependencies. */
typedef struct node_list {
    cudaGraphNode_t nodes[4];
    size_t count;
    char name[80];
} node_list;
node_list any_nodes(const object *graph);

/* The arguments that all calls which add a node begin with. */
typedef struct addition {
    object *graph;
    node_list after;
    cudaGraphNode_t made;
} addition;
addition begin_addition(void);
#define HEAD(a)      name((a).graph), (a).after.name
#define ARGUMENTS(a) &(a).made, (a).graph->handle, (a).after.nodes, (a).after.count

/* The parameters of a memset node, which writes to the place. */
struct cudaMemsetParams any_fill(place *to);
/* The parameters of a kernel node; its function is NULL where any_kernel() is. */
struct cudaKernelNodeParams any_kernel_node(const char **chosen);

/* The parameters of a node of any type, as cudaGraphAddNode() takes them. */
typedef struct any_parameters {
    struct cudaGraphNodeParams values;
    place to, from;
    object *event;
    char name[64];
} any_parameters;
/* False: CUDA must not be given them. The node may be in the graph, or be added to it. */
bool choose_parameters(any_parameters *made, const object *graph);
/* After a call with the parameters. */
void uses_parameters(any_parameters *used);

/* ---- kernels ---- */

extern const char module_text[];

void kernels_load(void);
/* A function of the driver; of the runtime, from 12.8 on (NULL before). */
CUfunction any_function(const char **chosen);
/* The driver's function that writes its second parameter, an unsigned, to where its first points.
 */
CUfunction storing_function(void);
const void *any_kernel(const char **chosen);

#endif
