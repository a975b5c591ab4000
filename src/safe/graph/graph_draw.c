/*
 * Drawing a graph: a file in Graphviz's language, which `acu-graph` reads, too.
 *
 * Node 3 of the graph is "n3" there, by the number that messages give it; that of the second part
 * that is drawn is "p2n3". What `acu-graph` shows is in attributes of their own ("kind", "title",
 * "us", …), which Graphviz leaves alone: docs/users/graphs.md lists them.
 */
#include "core/call.h"
#include "cudart_abi.h"
#include "safe/graph/node.h"
#include "safe/kernel/code_api.h"
#include "safe/kernel/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a type of node looks. */
typedef struct look {
    const char *shape, *line, *fill;
} look;

static const look looks[] = {
    [ACU_NODE_KERNEL] = {"box", "#2f6fde", "#e6efff"},
    [ACU_NODE_COPY] = {"box", "#1a8f5a", "#e0f5ea"},
    [ACU_NODE_FILL] = {"box", "#5b8c1a", "#eff6de"},
    [ACU_NODE_HOST] = {"octagon", "#b5532a", "#fbeae1"},
    [ACU_NODE_CHILD] = {"folder", "#7a4fc0", "#f0e9fb"},
    [ACU_NODE_EMPTY] = {"ellipse", "#8a8f98", "#f3f4f6"},
    [ACU_NODE_EVENT_WAIT] = {"ellipse", "#9a7b10", "#fbf4d9"},
    [ACU_NODE_EVENT_RECORD] = {"ellipse", "#9a7b10", "#fbf4d9"},
    [ACU_NODE_SEMAPHORE_SIGNAL] = {"ellipse", "#9a7b10", "#fbf4d9"},
    [ACU_NODE_SEMAPHORE_WAIT] = {"ellipse", "#9a7b10", "#fbf4d9"},
    [ACU_NODE_ALLOC] = {"cylinder", "#0e8a98", "#def4f6"},
    [ACU_NODE_FREE] = {"cylinder", "#0e8a98", "#def4f6"},
    [ACU_NODE_BATCH_MEM_OP] = {"ellipse", "#9a7b10", "#fbf4d9"},
    [ACU_NODE_CONDITIONAL] = {"hexagon", "#7a4fc0", "#f0e9fb"},
    [ACU_NODE_COPY_BATCH] = {"box", "#1a8f5a", "#e0f5ea"},
    [ACU_NODE_EXTERNAL_ENGINE] = {"box", "#2f6fde", "#e6efff"},
    [ACU_NODE_FABRIC_COPY_BATCH] = {"box", "#1a8f5a", "#e0f5ea"},
};

static look look_of(unsigned type) {
    const bool known = type < sizeof looks / sizeof *looks && looks[type].shape;
    return known ? looks[type] : looks[ACU_NODE_EMPTY];
}

/* A file that is being written. */
typedef struct drawing {
    const char *call;
    FILE *file;
    float most;       /* the longest time of a node; 0: there are none */
    unsigned parts;   /* that have begun */
    unsigned indents; /* of the lines, in steps */
} drawing;

/* The nodes and edges of one graph. */
typedef struct contents {
    acu_graph *graph;
    unsigned part; /* 0: the graph itself */
    size_t node_count, edge_count;
    acu_node *nodes, *from, *to;
    acu_edge *edges;
} contents;

/* ---- text ---- */

/* Returns the bytes of the character of UTF-8 that the text begins with; 0 if that is none. What is
 * written longer than needed, half of a pair of UTF-16, or beyond U+10FFFF is none. */
static unsigned character_size(const unsigned char *text) {
    const unsigned char first = text[0], second = first ? text[1] : 0;
    const unsigned size = first < 0x80                     ? 1
                          : first >= 0xc2 && first <= 0xdf ? 2
                          : first >= 0xe0 && first < 0xf0  ? 3
                          : first >= 0xf0 && first <= 0xf4 ? 4
                                                           : 0;
    for (unsigned n = 1; n < size; n++)
        if (text[n] < 0x80 || text[n] > 0xbf)
            return 0;
    const bool longer = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool no_number = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    return longer || no_number ? 0 : size;
}

/* Writes what stands between quotation marks, in UTF-8, as Graphviz reads it: a byte that is none
 * becomes U+FFFD. */
static void put_text(const drawing *d, const char *text) {
    while (*text) {
        const unsigned size = character_size((const unsigned char *)text);
        if (*text == '"' || *text == '\\')
            fprintf(d->file, "\\%c", *text);
        else if (size == 1)
            fputc((unsigned char)*text < ' ' ? ' ' : *text, d->file);
        else
            fprintf(d->file, "%.*s", (int)(size ? size : 3), size ? text : "\xef\xbf\xbd");
        text += size ? size : 1;
    }
}

static void put_id(const drawing *d, const contents *c, acu_node node) {
    const unsigned number = (unsigned)(uint32_t)node.id - 1;
    if (c->part)
        fprintf(d->file, "p%un%u", c->part, number);
    else
        fprintf(d->file, "n%u", number);
}

static void begin_line(const drawing *d) {
    fprintf(d->file, "%*s", (int)(2 * d->indents), "");
}

/* Writes a time for people: three digits. */
static void write_time(float milliseconds, char text[32]) {
    const double us = 1000.0 * (double)milliseconds;
    if (us < 1000)
        snprintf(text, 32, us < 9.995 ? "%.2f us" : us < 99.95 ? "%.1f us" : "%.0f us", us);
    else
        snprintf(text, 32, us < 1e6 ? "%.3g ms" : "%.3f s", us < 1e6 ? us / 1e3 : us / 1e6);
}

static void write_bytes(size_t bytes, char text[64], const char *after) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    unsigned unit = 0;
    for (; size >= 1024 && unit < 4; unit++)
        size /= 1024;
    snprintf(text, 64, unit && size < 100 ? "%.1f %s%s" : "%.0f %s%s", size, units[unit], after);
}

/* ---- what a node is ---- */

/* A node's line. */
typedef struct description {
    unsigned type;
    const char *name; /* NULL: none */
    char kernel[256]; /* its name; "" if there is none */
    char detail[64];
} description;

/* A search for a kernel among what a graph keeps. */
typedef struct search {
    const void *function;
    const char *name; /* NULL: not found */
} search;

static void match_kernel(void *data, const acu_object_use *kept) {
    search *s = data;
    if (kept->object->was == &acu_kernel_class &&
        ((const acu_kernel *)kept->object)->raw == s->function)
        s->name = ((const acu_kernel *)kept->object)->name;
}

/* Asks for the name of a kernel that the graph does not keep; "" where CUDA cannot tell. Returns
 * CUDA's code. */
static int ask_for_name(const void *function, const char **name) {
    *name = "";
    if (!acu_call_exists(&acu_function_cudaFuncGetName))
        return 0;
    acu_saved_record before;
    acu_record_save(&before);
    int code = (int)cudaFuncGetName(name, function);
    if (code == cudaErrorInvalidDeviceFunction || code == cudaErrorInvalidResourceHandle) {
        (void)cudaGetLastError();
        acu_record_restore(&before);
        code = acu_code_by_driver.name(name, function);
    }
    if (code == cudaErrorInvalidDeviceFunction || code == cudaErrorInvalidResourceHandle) {
        acu_record_restore(&before);
        *name = "";
        return 0;
    }
    return code;
}

static int describe_kernel(acu_graph *graph, const struct cudaKernelNodeParamsV2 *p,
                           description *to) {
    search s = {p->func, NULL};
    acu_kept_set *kept = acu_graph_kept_set(graph);
    acu_kept_set_each(kept, match_kernel, &s);
    int code = s.name ? 0 : ask_for_name(p->func, &s.name);
    if (!code && *s.name)
        snprintf(to->kernel, sizeof to->kernel, "%s", s.name);
    else
        snprintf(to->kernel, sizeof to->kernel, "kernel %p", p->func);
    (void)acu_kept_set_release(kept); /* destroys nothing, because the graph has the set still */
    const dim3 g = p->gridDim, b = p->blockDim;
    if (g.z > 1 || b.z > 1)
        snprintf(to->detail, sizeof to->detail, "%ux%ux%u blocks of %ux%ux%u", g.x, g.y, g.z, b.x,
                 b.y, b.z);
    else if (g.y > 1 || b.y > 1)
        snprintf(to->detail, sizeof to->detail, "%ux%u blocks of %ux%u", g.x, g.y, b.x, b.y);
    else
        snprintf(to->detail, sizeof to->detail, "%u block%s of %u", g.x, g.x == 1 ? "" : "s", b.x);
    return code;
}

static void describe_copy(const struct cudaMemcpy3DParms *p, description *to) {
    static const char *const ways[] = {", host to host", ", host to device", ", device to host",
                                       ", device to device"};
    const char *way = (unsigned)p->kind < 4 ? ways[p->kind] : "";
    const struct cudaExtent e = p->extent;
    if (p->srcArray || p->dstArray)
        snprintf(to->detail, sizeof to->detail, "%zux%zux%zu elements%s", e.width,
                 e.height ? e.height : 1, e.depth ? e.depth : 1, way);
    else
        write_bytes(e.width * e.height * e.depth, to->detail, way);
}

/* Returns the body of a conditional node that was added last, which is the first one in the list;
 * NULL where there is none of which anycuda knows. */
static const acu_graph *last_body(const acu_graph *graph, cudaGraphNode_t raw) {
    const acu_graph *part = graph->root->parts;
    while (part && (part->parent != graph || part->within != raw))
        part = part->next;
    return part;
}

static void describe_condition(const acu_graph *graph, cudaGraphNode_t raw, description *to) {
    static const char *const names[] = {"", "if", "while", "switch"};
    const acu_graph *body = last_body(graph, raw);
    if (body && body->condition > 0 && body->condition <= 3)
        snprintf(to->detail, sizeof to->detail, "%s", names[body->condition]);
}

/* Returns CUDA's code. Of types without parameters that all runtimes tell, only the type is known.
 */
static int describe_node(acu_graph *graph, cudaGraphNode_t raw, description *to) {
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    const acu_node_note *note = acu_graph_find_note(graph, raw);
    struct cudaGraphNodeParams params;
    *to = (description){.name = note ? note->name : NULL};
    int code = acu_node_read_type(raw, &type);
    to->type = (unsigned)type;
    if (to->type == ACU_NODE_CONDITIONAL)
        describe_condition(graph, raw, to);
    if (code || (type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemcpy &&
                 type != cudaGraphNodeTypeMemset && type != cudaGraphNodeTypeMemAlloc &&
                 type != cudaGraphNodeTypeMemcpyBatch))
        return code;
    memset(&params, 0, sizeof params);
    params.type = type;
    code = acu_node_read_params(raw, &params);
    if (code)
        return code;
    if (type == cudaGraphNodeTypeKernel)
        return describe_kernel(graph, &params.kernel, to);
    if (type == cudaGraphNodeTypeMemcpy)
        describe_copy(&params.memcpy.copyParams, to);
    if (type == cudaGraphNodeTypeMemset)
        write_bytes(params.memset.width * params.memset.height * params.memset.elementSize,
                    to->detail, "");
    if (type == cudaGraphNodeTypeMemAlloc)
        write_bytes(params.alloc.bytesize, to->detail, "");
    if (type == cudaGraphNodeTypeMemcpyBatch)
        snprintf(to->detail, sizeof to->detail, "%zu copies", params.memcpyBatch.count);
    return 0;
}

/* ---- what is written ---- */

/* Writes the color of a share of the longest time: from white over yellow to red. */
static void put_heat(const drawing *d, float share) {
    const float to_yellow = share < 0.5F ? 2 * share : 1, to_red = share < 0.5F ? 0 : 2 * share - 1;
    fprintf(d->file, "#%02x%02x%02x", 255u, (unsigned)(255 - 40 * to_yellow - 95 * to_red),
            (unsigned)(255 - 155 * to_yellow));
}

static void put_time(const drawing *d, const acu_node_time *time) {
    fprintf(d->file, " us=%.3f us_least=%.3f us_most=%.3f us_begin=%.3f",
            1000 * (double)time->milliseconds, 1000 * (double)time->least,
            1000 * (double)time->most, 1000 * (double)time->begin);
}

static void put_node(const drawing *d, const contents *c, acu_node node, const description *it) {
    const acu_node_note *note = acu_graph_find_note(c->graph, acu_node_raw_locked(node));
    const bool timed = note && note->timed;
    const char *kind = acu_node_type_name(it->type);
    const char *title = it->name ? it->name : *it->kernel ? it->kernel : kind;
    const look how = look_of(it->type);
    char time[32] = "";
    begin_line(d);
    put_id(d, c, node);
    fprintf(d->file, " [kind=\"%s\" title=\"", kind);
    put_text(d, title);
    if (it->name && *it->kernel) {
        fprintf(d->file, "\" kernel=\"");
        put_text(d, it->kernel);
    }
    fprintf(d->file, "\" detail=\"%s\"", it->detail);
    if (timed) {
        put_time(d, &note->time);
        write_time(note->time.milliseconds, time);
    }
    fprintf(d->file, " label=\"");
    put_text(d, title);
    fprintf(d->file, "%s%s%s%s%s%s\" shape=%s color=\"%s\" fillcolor=\"",
            title == kind ? "" : "\\n", title == kind ? "" : kind, *it->detail ? "\\n" : "",
            it->detail, *time ? "\\n" : "", time, how.shape, how.line);
    if (timed)
        put_heat(d, d->most > 0 ? note->time.milliseconds / d->most : 0);
    else
        fputs(how.fill, d->file);
    fputs("\"];\n", d->file);
}

static void put_edge(const drawing *d, const contents *c, size_t i) {
    const acu_edge e = c->edges[i];
    begin_line(d);
    put_id(d, c, c->from[i]);
    fputs(" -> ", d->file);
    put_id(d, c, c->to[i]);
    if (e.from_port || e.to_port || e.type) {
        const bool early = e.type == cudaGraphDependencyTypeProgrammatic;
        fprintf(d->file, " [from_port=%u to_port=%u type=%u style=dashed label=\"%s\"]",
                e.from_port, e.to_port, e.type,
                early && e.from_port == cudaGraphKernelNodePortProgrammatic       ? "programmatic"
                : early && e.from_port == cudaGraphKernelNodePortLaunchCompletion ? "begun"
                                                                                  : "special");
    }
    fputs(";\n", d->file);
}

/* ---- graphs ---- */

static void free_contents(const contents *c) {
    free(c->nodes);
    free(c->from);
    free(c->edges);
}

/* Lists nodes and edges. Returns CUDA's code, or a recorded failure; in any case the caller frees.
 */
static int list_contents(const char *call, contents *c) {
    acu_node_query nodes = {
        .call = call, ACU_QUERY_NODES, c->graph, .from = NULL, .count = &c->node_count};
    acu_node_query edges = {
        .call = call, ACU_QUERY_EDGES, c->graph, .from = NULL, .count = &c->edge_count};
    int code = acu_node_answer_locked(&nodes);
    if (!code)
        code = acu_node_answer_locked(&edges);
    if (code)
        return code;
    nodes.from = c->nodes = calloc(c->node_count + 1, sizeof *c->nodes);
    edges.from = c->from = calloc(2 * c->edge_count + 1, sizeof *c->from);
    edges.edges = c->edges = calloc(c->edge_count + 1, sizeof *c->edges);
    if (!c->nodes || !c->from || !c->edges)
        return acu_record(ACU_ERROR_HOST_MEMORY, "no memory for %zu nodes", c->node_count);
    edges.to = c->to = c->from + c->edge_count;
    code = acu_node_answer_locked(&nodes);
    return code ? code : acu_node_answer_locked(&edges);
}

static int draw_graph(drawing *d, acu_graph *graph, unsigned part);

/* Draws the graph of a child node, or a body, in a box that belongs to the node. */
static int draw_part(drawing *d, const contents *c, acu_node node, acu_graph *part,
                     const char *label) {
    const unsigned number = ++d->parts;
    begin_line(d);
    fprintf(d->file, "subgraph cluster_p%u {\n", number);
    d->indents++;
    begin_line(d);
    fputs("graph [within=\"", d->file);
    put_id(d, c, node);
    fputs("\" label=\"", d->file);
    put_id(d, c, node);
    fprintf(d->file, ": %s\" style=\"rounded,dashed\" color=\"#7a4fc0\"];\n", label);
    int code = draw_graph(d, part, number);
    d->indents--;
    begin_line(d);
    fputs("}\n", d->file);
    return code;
}

/* Writes when the body of a conditional node runs. */
static void write_label(const acu_graph *body, unsigned index, char label[32]) {
    if (body->condition == 1 + ACU_CONDITIONAL_WHILE)
        snprintf(label, 32, "while not 0");
    else if (body->condition == 1 + ACU_CONDITIONAL_IF)
        snprintf(label, 32, index == 0 ? "if not 0" : "else");
    else
        snprintf(label, 32, "%s %u", body->condition ? "case" : "body", index);
}

/* Draws what is in a node. The root's list has its parts from the last one to the first. */
static int draw_parts(drawing *d, const contents *c, acu_node node, unsigned type) {
    const cudaGraphNode_t raw = acu_node_raw_locked(node);
    acu_graph *child = NULL, *part;
    char label[32];
    unsigned count = 0;
    int code = 0;
    if (type == ACU_NODE_CHILD) {
        code = acu_node_find_child(d->call, c->graph, raw, &child);
        return code ? code : draw_part(d, c, node, child, "child graph");
    }
    for (part = c->graph->root->parts; part; part = part->next)
        count += part->parent == c->graph && part->within == raw;
    for (unsigned i = 0; !code && i < count; i++) {
        unsigned at = count;
        for (part = c->graph->root->parts; part; part = part->next)
            if (part->parent == c->graph && part->within == raw && --at == i)
                break;
        if (part) {
            write_label(part, i, label);
            code = draw_part(d, c, node, part, label);
        }
    }
    return code;
}

static int draw_contents(drawing *d, const contents *c) {
    description it;
    for (size_t i = 0; i < c->node_count; i++) {
        int code = describe_node(c->graph, acu_node_raw_locked(c->nodes[i]), &it);
        if (code)
            return code;
        put_node(d, c, c->nodes[i], &it);
        if (it.type == ACU_NODE_CHILD || it.type == ACU_NODE_CONDITIONAL)
            code = draw_parts(d, c, c->nodes[i], it.type);
        if (code)
            return code;
    }
    for (size_t i = 0; i < c->edge_count; i++)
        put_edge(d, c, i);
    return 0;
}

static void put_times_of_graph(const drawing *d, const acu_graph *graph) {
    const acu_graph_time *t = &graph->time;
    if (t->replays == 0)
        return;
    begin_line(d);
    fprintf(d->file,
            "graph [replays=%u together=%u us_whole=%.3f us_measured=%.3f us_between=%.3f];\n",
            t->replays, t->together ? 1u : 0u, 1000 * (double)t->whole, 1000 * (double)t->measured,
            1000 * (double)t->between);
}

/* Returns the longest time of a node in the graph or a part of it. */
static float longest_time(const acu_graph *graph) {
    float most = 0;
    for (const acu_graph *g = graph->root->parts; g; g = g->next)
        for (uint32_t i = 0; i < g->note_room; i++)
            if (g->notes[i].timed && g->notes[i].time.milliseconds > most)
                most = g->notes[i].time.milliseconds;
    for (uint32_t i = 0; i < graph->note_room; i++)
        if (graph->notes[i].timed && graph->notes[i].time.milliseconds > most)
            most = graph->notes[i].time.milliseconds;
    return most;
}

static int draw_graph(drawing *d, acu_graph *graph, unsigned part) {
    contents c = {.graph = graph, .part = part};
    put_times_of_graph(d, graph);
    int code = list_contents(d->call, &c);
    if (!code)
        code = draw_contents(d, &c);
    free_contents(&c);
    return code;
}

static int draw(drawing *d, acu_graph *graph) {
    fputs("digraph anycuda {\n"
          "  graph [format=\"anycuda 1\" fontname=\"Helvetica\" fontsize=10];\n"
          "  node [style=\"rounded,filled\" fontname=\"Helvetica\" fontsize=11];\n"
          "  edge [color=\"#6b7280\" fontname=\"Helvetica\" fontsize=9];\n",
          d->file);
    acu_graph_lock();
    d->most = longest_time(graph);
    int code = draw_graph(d, graph, 0);
    acu_graph_unlock();
    fputs("}\n", d->file);
    return acu_outcome(d->call, graph, code);
}

static int refuse_file(const char *call, const acu_graph *graph, const char *path) {
    return acu_fail_on(call, graph, cudaErrorOperatingSystem, "cannot write %.200s: %s", path,
                       strerror(errno));
}

acu_result acu_graph_draw(acu_graph *graph, const char *path) {
    ACU_SCOPE();
    ACU_NEED_POINTER(path);
    ACU_NEED(graph, acu_graph_class);
    drawing d = {.call = __func__, .file = fopen(path, "w"), .indents = 1};
    if (!d.file)
        return refuse_file(__func__, graph, path);
    int code = draw(&d, graph);
    const bool bad = ferror(d.file) != 0;
    if ((fclose(d.file) != 0 || bad) && !code)
        code = refuse_file(__func__, graph, path);
    return code;
}
