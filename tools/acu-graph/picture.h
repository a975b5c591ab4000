/*
 * What acu-graph knows of a saved graph.
 *
 * A picture is a graph with nodes and edges; a node may have graphs inside. An edge connects two
 * nodes of one graph: where the file's edge crosses a border, it ends at the node that has the
 * border around it.
 */
#ifndef PICTURE_H
#define PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct picture picture;
typedef struct node node;

/* The texts are never NULL; a time that the file does not have is negative. */
struct node {
    const char *id, *title, *kind, *kernel, *detail, *line, *fill;
    double us, least, most, begin;
    picture *graph; /* that it is in */
    picture **inner;
    size_t inner_count;
    bool declared; /* by a statement of its own, not by an edge alone */
    size_t index;  /* in the graph */

    /* The layout, inside of the graph's own area: */
    int layer;
    bool on_chain; /* of the longest chain */
    double x, y, width, height;
};

typedef struct edge {
    node *from, *to;
    const char *label;
    bool back;         /* against the layers, in a file with cycles */
    bool on_chain;     /* both ends are on the longest chain, in a row */
    size_t bend_count; /* the layers that it crosses */
    double *bends;     /* where: one x for each */
    double from_x, to_x;
} edge;

struct picture {
    const char *label, *within; /* "" if the file has none */
    node *holder;               /* the node that the graph is in; NULL: the whole picture */
    picture *parent;
    node **nodes;
    size_t node_count, node_room;
    edge *edges;
    size_t edge_count, edge_room;
    int replays; /* 0: the graph was not profiled */
    bool together;
    double whole, measured, between;

    /* The layout: */
    int layer_count;
    double *tops, *heights; /* of the layers */
    double width, height;
};

/* ---- memory; all of it lives as long as the program ---- */

/* Return zeroed memory; without any, the program ends. */
void *need(size_t count, size_t size);
void *need_more(void *old, size_t count, size_t size);

/* ---- reading ---- */

/* Reads a graph from a text in Graphviz's language, which ends with a zero. Returns NULL where the
 * text is none, and writes to `error` what is wrong in which line. */
picture *picture_read(const char *text, char *error, size_t size);

/* ---- layout, for both outputs ---- */

/* Puts each node of the graph, not of those inside, into a layer below all that it depends on, and
 * finds the longest chain by time. */
void picture_order(picture *graph);
/* Gives all nodes a place, also those of the graphs inside. */
void picture_place(picture *graph);

/* Returns the number of nodes, with those of graphs inside. */
size_t picture_count(const picture *graph);
/* Returns the longest time of a node, also inside; 0 if there is none. */
double picture_longest(const picture *graph);
/* Returns the time of the longest chain, and the sum of all times of the graph's own nodes. */
double picture_chain(const picture *graph);
double picture_sum(const picture *graph);

/* Writes a time of so many microseconds, with a unit. */
void picture_time(double us, char text[32]);
/* Writes a name that fits so many letters: of a mangled C++ name only the name itself, and of what
 * is too long the beginning and the end. */
void picture_name(const char *name, size_t letters, char *text, size_t size);
/* Returns whether the byte is a later one of a letter in UTF-8. */
static inline bool is_later_byte(char byte) {
    return ((unsigned char)byte & 0xc0u) == 0x80u;
}

/* ---- output ---- */

void picture_print(picture *graph, const char *file, size_t top);
/* Write an SVG: of the nodes and their order, or of their times. The second one returns false where
 * there are none; with `to` NULL it writes nothing. */
void picture_draw(picture *graph, const char *file, FILE *to);
bool picture_draw_timeline(picture *graph, const char *file, FILE *to);

/* ---- for both pictures ---- */

/* Begins an SVG of that size, with a white ground. */
void picture_begin_svg(FILE *to, double width, double height);
void picture_put_text(FILE *to, const char *text);
/* Writes what a browser shows beside the pointer. */
void picture_put_tooltip(FILE *to, const node *n);
/* Returns a color that is safe in an attribute: the file's, if it is "#rrggbb". */
const char *picture_color(const char *text, const char *otherwise);
/* Returns the width of a text in pixels, about as Helvetica and Arial have it at this size. */
double picture_width(const char *text, double size);

#endif
