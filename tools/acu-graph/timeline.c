/* The timeline: one bar for each node, as long as the node took, in as few lanes as fit. */
#include "picture.h"

#include <stdlib.h>

enum { EDGE = 16, HEAD = 62, LANE = 26, BAR = 20, WIDTH = 960, TICKS = 8 };

static int by_begin(const void *a, const void *b) {
    const node *x = *(node *const *)a, *y = *(node *const *)b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Lists the nodes with times by when they begin; returns how many they are. */
static size_t list_timed(const picture *graph, node **nodes) {
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i]->us >= 0 && graph->nodes[i]->begin >= 0)
            nodes[count++] = graph->nodes[i];
    if (count)
        qsort(nodes, count, sizeof(node *), by_begin);
    return count;
}

/* Puts each node into the first lane that is free when it begins, which its `layer` becomes;
 * returns the number of lanes. */
static int find_lanes(node **nodes, size_t count) {
    double *ends = need(count, sizeof *ends);
    int lanes = 0;
    for (size_t i = 0; i < count; i++) {
        node *n = nodes[i];
        int lane = 0;
        while (lane < lanes && ends[lane] > n->begin)
            lane++;
        lanes = lane == lanes ? lanes + 1 : lanes;
        ends[lane] = n->begin + n->us;
        n->layer = lane;
    }
    free(ends);
    return lanes;
}

/* Returns a step of 1, 2 or 5, of which there are a few in the whole. */
static double step_of(double whole) {
    static const double steps[] = {1, 2, 5};
    double unit = 0.001;
    for (;; unit *= 10)
        for (size_t i = 0; i < 3; i++)
            if (unit * steps[i] * TICKS >= whole)
                return unit * steps[i];
}

static void draw_scale(FILE *to, double whole, double height) {
    const double step = step_of(whole);
    for (int i = 0; i * step <= whole; i++) {
        const double x = EDGE + i * step / whole * WIDTH;
        char text[32];
        picture_time(i * step, text);
        fprintf(to, "<path class='grid' d='M%.1f %d V%.1f'/>\n", x, HEAD - 4, height - EDGE);
        fprintf(to, "<text class='small' x='%.1f' y='%d'>%s</text>\n", x + 2, HEAD - 8, text);
    }
}

static void draw_bar(FILE *to, const node *n, double whole) {
    const double x = EDGE + n->begin / whole * WIDTH, y = HEAD + n->layer * (double)LANE;
    const double real = n->us / whole * WIDTH, width = real < 1 ? 1 : real;
    char name[256];
    picture_name(n->title, 36, name, sizeof name);
    fputs("<g>", to);
    picture_put_tooltip(to, n);
    fprintf(to,
            "<rect x='%.2f' y='%.1f' width='%.2f' height='%d' rx='2' fill='%s' stroke='%s' "
            "stroke-width='%s'/>\n",
            x, y, width, BAR, picture_color(n->fill, "#f3f4f6"), picture_color(n->line, "#6b7280"),
            n->on_chain ? "1.8" : "0.8");
    if (picture_width(name, 11) + 6 < width) {
        fprintf(to, "<text class='bar' x='%.1f' y='%.1f'>", x + 4, y + 14);
        picture_put_text(to, name);
        fputs("</text>", to);
    }
    fputs("</g>\n", to);
}

bool picture_draw_timeline(picture *graph, const char *file, FILE *to) {
    node **nodes = need(graph->node_count, sizeof(node *));
    double whole = 0;
    picture_order(graph); /* for the longest chain */
    const size_t count = list_timed(graph, nodes);
    const int lanes = find_lanes(nodes, count);
    for (size_t i = 0; i < count; i++)
        whole = nodes[i]->begin + nodes[i]->us > whole ? nodes[i]->begin + nodes[i]->us : whole;
    if (whole > 0 && to) {
        const double height = HEAD + lanes * (double)LANE + EDGE;
        picture_begin_svg(to, WIDTH + 2 * EDGE + 40, height);
        fprintf(to, "<text class='head' x='%d' y='24'>", EDGE);
        picture_put_text(to, file);
        fprintf(to,
                "</text>\n<text class='small' x='%d' y='41'>%zu nodes, %s, medians of %d</text>\n",
                EDGE, count, graph->together ? "independent ones together" : "one after the other",
                graph->replays);
        draw_scale(to, whole, height);
        for (size_t i = 0; i < count; i++)
            draw_bar(to, nodes[i], whole);
        fputs("</svg>\n", to);
    }
    free(nodes);
    return whole > 0;
}
