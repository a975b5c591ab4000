/*
 * Reads Graphviz's language as far as graphs of CUDA need it: acu_graph_draw() and
 * cudaGraphDebugDotPrint() write it. What only says how something looks is left out.
 */
#include "picture.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEEPEST = 60 };

typedef enum token { END, WORD, TEXT, ARROW, LETTER } token;

typedef struct reader {
    const char *at;
    int line;
    token token;
    char letter;  /* of a LETTER */
    char *text;   /* of a WORD or TEXT */
    node **table; /* of all nodes, by their ids */
    size_t node_count, room;
    jmp_buf failed;
    char *error;
    size_t error_size;
} reader;

static _Noreturn void fail(reader *r, const char *format, ...) {
    va_list args;
    int length = snprintf(r->error, r->error_size, "line %d: ", r->line);
    va_start(args, format);
    if (length > 0 && (size_t)length < r->error_size)
        vsnprintf(r->error + length, r->error_size - (size_t)length, format, args);
    va_end(args);
    longjmp(r->failed, 1);
}

/* ---- memory ---- */

void *need_more(void *old, size_t count, size_t size) {
    void *memory = size && count > (size_t)-1 / 2 / size ? NULL : realloc(old, count * size + 1);
    if (!memory) {
        fputs("acu-graph: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void *need(size_t count, size_t size) {
    void *memory = need_more(NULL, count, size);
    return memset(memory, 0, count * size);
}

static char *copy(const char *text, size_t length) {
    char *made = need(length + 1, 1);
    memcpy(made, text, length);
    return made;
}

/* ---- tokens ---- */

static void skip_comment(reader *r) {
    const bool block = r->at[0] == '/' && r->at[1] == '*';
    r->at += block ? 2 : 0;
    while (*r->at && (block ? strncmp(r->at, "*/", 2) != 0 : *r->at != '\n'))
        r->line += *r->at++ == '\n';
    r->at += block && *r->at ? 2 : 0;
}

static void skip_space(reader *r) {
    for (;;)
        if (isspace((unsigned char)*r->at))
            r->line += *r->at++ == '\n';
        else if (strncmp(r->at, "//", 2) == 0 || strncmp(r->at, "/*", 2) == 0 || *r->at == '#')
            skip_comment(r);
        else
            return;
}

/* Reads what stands between quotation marks. */
static void read_quoted(reader *r) {
    const char *begin = ++r->at;
    size_t length = 0;
    while (*r->at && *r->at != '"') {
        r->at += *r->at == '\\' && r->at[1] ? 1 : 0;
        r->line += *r->at++ == '\n';
    }
    if (!*r->at)
        fail(r, "a text has no end");
    r->text = need((size_t)(r->at - begin) + 1, 1);
    for (const char *c = begin; c < r->at; c++) {
        if (*c == '\\' && c + 1 < r->at && strchr("\"\\{}|<>\n", c[1]))
            c++; /* an escape whose letter stands for itself */
        else if (*c == '\\' && c + 1 < r->at && strchr("nlr", c[1])) {
            r->text[length++] = '\n';
            c++;
            continue;
        }
        r->text[length++] = *c;
    }
    r->at++;
    r->token = TEXT;
}

/* Reads a text with marks, and leaves the marks out. */
static void read_marked(reader *r) {
    const char *begin = r->at;
    int depth = 0;
    size_t length = 0;
    do {
        depth += (*r->at == '<') - (*r->at == '>');
        r->line += *r->at == '\n';
        if (!*r->at)
            fail(r, "a text has no end");
        r->at++;
    } while (depth > 0);
    r->text = need((size_t)(r->at - begin) + 1, 1);
    for (const char *c = begin + 1; c < r->at - 1; c++) {
        depth += (*c == '<') - (*c == '>');
        if (depth == 0 && *c != '>')
            r->text[length++] = *c;
    }
    r->token = TEXT;
}

static bool is_word(unsigned char c) {
    return isalnum(c) || c == '_' || c == '.' || c >= 128;
}

static void next(reader *r) {
    skip_space(r);
    const char *begin = r->at;
    if (!*begin)
        r->token = END;
    else if (*begin == '"')
        read_quoted(r);
    else if (*begin == '<')
        read_marked(r);
    else if (strncmp(begin, "->", 2) == 0 || strncmp(begin, "--", 2) == 0) {
        r->token = ARROW;
        r->at += 2;
    } else if (is_word((unsigned char)*begin) || *begin == '-') {
        do
            r->at++;
        while (is_word((unsigned char)*r->at));
        r->token = WORD;
        r->text = copy(begin, (size_t)(r->at - begin));
    } else {
        r->token = LETTER;
        r->letter = *r->at++;
    }
}

static bool is_letter(const reader *r, char letter) {
    return r->token == LETTER && r->letter == letter;
}

static bool take(reader *r, char letter) {
    if (!is_letter(r, letter))
        return false;
    next(r);
    return true;
}

static void expect(reader *r, char letter) {
    if (!take(r, letter))
        fail(r, "'%c' is missing", letter);
}

static bool is_keyword(const reader *r, const char *word) {
    return r->token == WORD && strcasecmp(r->text, word) == 0;
}

/* Takes an id. */
static const char *take_text(reader *r) {
    if (r->token != WORD && r->token != TEXT)
        fail(r, "a name is missing");
    const char *text = r->text;
    next(r);
    return text;
}

/* ---- nodes ---- */

static size_t hash(const char *id) {
    size_t sum = 5381;
    for (; *id; id++)
        sum = sum * 33 + (unsigned char)*id;
    return sum;
}

static node **slot_of(const reader *r, const char *id) {
    size_t at = hash(id) & (r->room - 1);
    while (r->table[at] && strcmp(r->table[at]->id, id) != 0)
        at = (at + 1) & (r->room - 1);
    return &r->table[at];
}

static void make_room(reader *r) {
    node **old = r->table;
    const size_t room = r->room;
    if (2 * (r->node_count + 1) <= room)
        return;
    r->room = room ? 2 * room : 64;
    r->table = need(r->room, sizeof *r->table);
    for (size_t i = 0; i < room; i++)
        if (old[i])
            *slot_of(r, old[i]->id) = old[i];
}

static void put_in(picture *graph, node *n) {
    if (graph->node_count == graph->node_room) {
        graph->node_room = graph->node_room ? 2 * graph->node_room : 16;
        graph->nodes = need_more(graph->nodes, graph->node_room, sizeof(node *));
    }
    n->graph = graph;
    n->index = graph->node_count;
    graph->nodes[graph->node_count++] = n;
}

static void take_out(node *n) {
    picture *graph = n->graph;
    for (size_t i = n->index + 1; i < graph->node_count; i++) {
        graph->nodes[i - 1] = graph->nodes[i];
        graph->nodes[i - 1]->index = i - 1;
    }
    graph->node_count--;
}

static node *make_node(const char *id) {
    node *n = need(1, sizeof *n);
    *n = (node){.id = id,
                .title = "",
                .kind = "",
                .kernel = "",
                .detail = "",
                .line = "",
                .fill = "",
                .us = -1,
                .least = -1,
                .most = -1,
                .begin = -1};
    return n;
}

/* Returns the node with this id; a new one is in the graph. A statement of its own decides which
 * graph the node is in. */
static node *find_node(reader *r, picture *graph, const char *id, bool declares) {
    make_room(r);
    node **slot = slot_of(r, id);
    if (!*slot) {
        *slot = make_node(id);
        r->node_count++;
        put_in(graph, *slot);
    }
    node *n = *slot;
    if (declares && !n->declared && n->graph != graph) {
        take_out(n);
        put_in(graph, n);
    }
    n->declared = n->declared || declares;
    return n;
}

/* ---- attributes ---- */

typedef struct attributes {
    node *n;           /* whose they are; or */
    picture *graph;    /* whose they are; or */
    const char *label; /* an edge's, or any one's */
} attributes;

/* Returns the number, or `none` if the text is none. */
static double number_of(const char *text, double none) {
    char *end;
    const double value = strtod(text, &end);
    return end != text && !*end && value >= 0 && value < 1e15 ? value : none;
}

static void set_of_node(node *n, const char *name, const char *value) {
    const struct {
        const char *name;
        const char **text;
        double *number;
    } all[] = {{"title", &n->title, NULL},   {"kind", &n->kind, NULL},
               {"kernel", &n->kernel, NULL}, {"detail", &n->detail, NULL},
               {"color", &n->line, NULL},    {"fillcolor", &n->fill, NULL},
               {"us", NULL, &n->us},         {"us_least", NULL, &n->least},
               {"us_most", NULL, &n->most},  {"us_begin", NULL, &n->begin}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0) {
            if (all[i].text)
                *all[i].text = value;
            else
                *all[i].number = number_of(value, -1);
        }
}

static void set_of_graph(picture *graph, const char *name, const char *value) {
    if (strcmp(name, "within") == 0)
        graph->within = value;
    else if (strcmp(name, "label") == 0)
        graph->label = value;
    else if (strcmp(name, "replays") == 0)
        graph->replays = (int)(number_of(value, 0) < 1e9 ? number_of(value, 0) : 0);
    else if (strcmp(name, "together") == 0)
        graph->together = strcmp(value, "1") == 0;
    else if (strcmp(name, "us_whole") == 0)
        graph->whole = number_of(value, 0);
    else if (strcmp(name, "us_measured") == 0)
        graph->measured = number_of(value, 0);
    else if (strcmp(name, "us_between") == 0)
        graph->between = number_of(value, 0);
}

static void set(attributes *a, const char *name, const char *value) {
    if (strcmp(name, "label") == 0)
        a->label = value;
    if (a->n)
        set_of_node(a->n, name, value);
    if (a->graph)
        set_of_graph(a->graph, name, value);
}

/* Reads lists of attributes, of which there may be none. */
static void read_attributes(reader *r, attributes *a) {
    while (take(r, '[')) {
        while (!is_letter(r, ']')) {
            const char *name = take_text(r);
            set(a, name, take(r, '=') ? take_text(r) : "true");
            if (!take(r, ','))
                (void)take(r, ';');
        }
        next(r);
    }
}

/* Cuts the next line off a text that has one; "" at the end. */
static char *take_line(char **text) {
    char *begin = *text + strspn(*text, "\n ");
    char *end = begin + strcspn(begin, "\n");
    *text = *end ? end + 1 : end;
    *end = '\0';
    return begin;
}

/* Turns the label of a node that says nothing else into what the node is. CUDA's labels have a
 * number, the type, and what it is: a kernel's name. Of all others the first line is the name. */
static void read_label(node *n, const char *label) {
    if (*n->title)
        return;
    char *rest = copy(label, strlen(label));
    for (char *c = rest; *c; c++)
        if (*c == '|' || *c == '{' || *c == '}')
            *c = '\n';
    char *line = take_line(&rest);
    if (*line && !line[strspn(line, "0123456789")] && rest[strspn(rest, "\n ")]) {
        n->kind = line = take_line(&rest);
        for (char *c = line; *c; c++)
            *c = *c == '_' ? ' ' : (char)tolower((unsigned char)*c);
        if (strcmp(line, "kernel") == 0 && *rest)
            line = take_line(&rest);
    }
    n->title = line;
    n->detail = take_line(&rest);
}

/* ---- statements ---- */

static void add_edge(picture *graph, node *from, node *to, const char *label) {
    if (graph->edge_count == graph->edge_room) {
        graph->edge_room = graph->edge_room ? 2 * graph->edge_room : 16;
        graph->edges = need_more(graph->edges, graph->edge_room, sizeof(edge));
    }
    graph->edges[graph->edge_count++] = (edge){.from = from, .to = to, .label = label};
}

/* Leaves a port of a node out: "node:port:ne". */
static void skip_port(reader *r) {
    while (take(r, ':'))
        (void)take_text(r);
}

static void read_node_or_edges(reader *r, picture *graph) {
    const char *id = take_text(r);
    attributes a = {.label = NULL};
    skip_port(r);
    if (take(r, '=')) {
        set_of_graph(graph, id, take_text(r));
        return;
    }
    if (r->token != ARROW) {
        a.n = find_node(r, graph, id, true);
        read_attributes(r, &a);
        if (a.label)
            read_label(a.n, a.label);
        return;
    }
    const size_t first = graph->edge_count;
    node *from = find_node(r, graph, id, false);
    while (r->token == ARROW) {
        next(r);
        if (is_letter(r, '{') || is_keyword(r, "subgraph"))
            fail(r, "an edge leads to a subgraph: only edges between nodes are read");
        node *to = find_node(r, graph, take_text(r), false);
        skip_port(r);
        add_edge(graph, from, to, NULL);
        from = to;
    }
    read_attributes(r, &a);
    for (size_t i = first; i < graph->edge_count; i++)
        graph->edges[i].label = a.label ? a.label : "";
}

static void read_statements(reader *r, picture *graph, int depth);

static picture *make_picture(picture *parent) {
    picture *graph = need(1, sizeof *graph);
    graph->label = graph->within = "";
    graph->parent = parent;
    return graph;
}

/* A subgraph is a graph of its own if Graphviz would draw a box around it. The node that the graph
 * is in is known once all of the file is read. */
static void read_subgraph(reader *r, picture *graph, int depth) {
    const char *name = "";
    if (is_keyword(r, "subgraph")) {
        next(r);
        if (!is_letter(r, '{'))
            name = take_text(r);
    }
    expect(r, '{');
    if (depth >= DEEPEST)
        fail(r, "graphs are more than %d deep in each other", (int)DEEPEST);
    picture *inner = graph;
    if (strncmp(name, "cluster", 7) == 0) {
        inner = make_picture(graph);
        node *holder = make_node("");
        holder->inner = need(1, sizeof *holder->inner);
        holder->inner[holder->inner_count++] = inner;
        inner->holder = holder;
        put_in(graph, holder);
    }
    read_statements(r, inner, depth + 1);
    expect(r, '}');
    if (r->token == ARROW)
        fail(r, "an edge begins at a subgraph: only edges between nodes are read");
}

static void read_statement(reader *r, picture *graph, int depth) {
    attributes a = {.label = NULL};
    if (is_keyword(r, "graph") || is_keyword(r, "node") || is_keyword(r, "edge")) {
        a.graph = is_keyword(r, "graph") ? graph : NULL;
        next(r);
        read_attributes(r, &a);
    } else if (is_keyword(r, "subgraph") || is_letter(r, '{'))
        read_subgraph(r, graph, depth);
    else
        read_node_or_edges(r, graph);
    (void)take(r, ';');
}

static void read_statements(reader *r, picture *graph, int depth) {
    while (r->token != END && !is_letter(r, '}'))
        read_statement(r, graph, depth);
}

/* ---- what all of the file says ---- */

/* Moves a graph from the node that was made for it into the node that it names. */
static void move_in(const reader *r, picture *inner) {
    node *to = *inner->within ? *slot_of(r, inner->within) : NULL;
    for (const picture *g = to ? to->graph : NULL; g; g = g->parent)
        if (g == inner)
            to = NULL; /* the graph would be in itself */
    if (!to || to->graph != inner->holder->graph)
        return;
    take_out(inner->holder);
    to->inner = need_more(to->inner, to->inner_count + 1, sizeof *to->inner);
    to->inner[to->inner_count++] = inner;
    inner->holder = to;
}

static void find_holders(const reader *r, picture *graph) {
    for (size_t i = graph->node_count; i-- > 0;)
        for (size_t k = 0; k < graph->nodes[i]->inner_count; k++)
            find_holders(r, graph->nodes[i]->inner[k]);
    for (size_t i = 0; i < graph->node_count;) {
        node *n = graph->nodes[i];
        if (!*n->id && n->inner_count == 1)
            move_in(r, n->inner[0]);
        i += i < graph->node_count && graph->nodes[i] == n;
    }
}

static int depth_of(const picture *graph) {
    int depth = 0;
    for (; graph->parent; graph = graph->parent)
        depth++;
    return depth;
}

/* Lets both ends of an edge be in one graph; returns that graph. */
static picture *lift(edge *e) {
    while (e->from->graph != e->to->graph) {
        const int from = depth_of(e->from->graph), to = depth_of(e->to->graph);
        if (from >= to)
            e->from = e->from->graph->holder;
        if (to >= from)
            e->to = e->to->graph->holder;
    }
    return e->from->graph;
}

/* Moves edges into the graphs that their ends are in; one from a node to itself goes. */
static void lift_edges(picture *graph) {
    const size_t count = graph->edge_count;
    edge *edges = graph->edges;
    graph->edges = NULL;
    graph->edge_count = graph->edge_room = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        for (size_t k = 0; k < graph->nodes[i]->inner_count; k++)
            lift_edges(graph->nodes[i]->inner[k]);
    for (size_t i = 0; i < count; i++) {
        picture *in = lift(&edges[i]);
        if (edges[i].from != edges[i].to)
            add_edge(in, edges[i].from, edges[i].to, edges[i].label);
    }
    free(edges);
}

/* A file that is one box, as CUDA writes it, is that box's graph. */
static picture *unwrap(picture *graph) {
    while (graph->node_count == 1 && graph->edge_count == 0 && !*graph->nodes[0]->id &&
           graph->nodes[0]->inner_count == 1) {
        graph = graph->nodes[0]->inner[0];
        graph->parent = NULL;
        graph->holder = NULL;
    }
    return graph;
}

static picture *read_file(reader *r) {
    picture *graph = make_picture(NULL);
    next(r);
    if (is_keyword(r, "strict"))
        next(r);
    if (!is_keyword(r, "digraph") && !is_keyword(r, "graph"))
        fail(r, "this is no graph: it begins with neither 'digraph' nor 'graph'");
    next(r);
    if (!is_letter(r, '{'))
        (void)take_text(r);
    expect(r, '{');
    read_statements(r, graph, 0);
    expect(r, '}');
    if (r->token != END)
        fail(r, "there is more behind the graph");
    make_room(r);
    find_holders(r, graph);
    lift_edges(graph);
    return unwrap(graph);
}

picture *picture_read(const char *text, char *error, size_t size) {
    reader r = {.at = text, .line = 1, .error = error, .error_size = size};
    if (setjmp(r.failed))
        return NULL;
    return read_file(&r);
}
