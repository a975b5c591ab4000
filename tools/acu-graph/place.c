/*
 * Where nodes are: in layers from the top to the bottom, each node below all that it depends on.
 *
 * A place in a layer belongs to a node, or to an edge that crosses the layer. The order in a layer
 * is improved from layer to layer: each place goes to the average of those that it is connected
 * with. Then each place gets the x that is nearest to that average, without changing the order.
 */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

enum { MARGIN = 14, GAP_X = 22, GAP_Y = 40, EDGE_GAP = 12, SWEEPS = 16, MOST_BENDS = 200000 };
enum { TITLE_LETTERS = 36, LINE = 16, HEADER = 22 };

/* ---- order ---- */

/* Sorts edges by where they begin: `first` has the index of each node's first one, and one more. */
static edge **edges_by_node(const picture *graph, bool by_end, size_t **first) {
    edge **sorted = need(graph->edge_count, sizeof *sorted);
    size_t *start = need(graph->node_count + 2, sizeof *start);
    for (size_t i = 0; i < graph->edge_count; i++)
        start[(by_end ? graph->edges[i].to : graph->edges[i].from)->index + 2]++;
    for (size_t i = 2; i < graph->node_count + 2; i++)
        start[i] += start[i - 1];
    for (size_t i = 0; i < graph->edge_count; i++)
        sorted[start[(by_end ? graph->edges[i].to : graph->edges[i].from)->index + 1]++] =
            &graph->edges[i];
    *first = start;
    return sorted;
}

/* Lists the nodes so that each comes after all that it depends on. In a cycle, which no graph of
 * CUDA has, the node that the file has first comes first, and edges to it go back. */
static node **ordered(picture *graph, edge **out, const size_t *first) {
    node **order = need(graph->node_count, sizeof *order);
    size_t *waits = need(graph->node_count, sizeof *waits);
    bool *done = need(graph->node_count, sizeof *done);
    size_t ready = 0, at = 0, next = 0;
    for (size_t i = 0; i < graph->edge_count; i++)
        waits[graph->edges[i].to->index]++;
    for (size_t i = 0; i < graph->node_count; i++)
        if (waits[i] == 0) {
            done[i] = true;
            order[ready++] = graph->nodes[i];
        }
    while (at < graph->node_count) {
        while (at == ready && done[next])
            next++;
        if (at == ready) {
            done[next] = true;
            order[ready++] = graph->nodes[next];
        }
        const node *n = order[at++];
        for (size_t i = first[n->index]; i < first[n->index + 1]; i++) {
            const size_t to = out[i]->to->index;
            out[i]->back = done[to];
            if (!done[to] && --waits[to] == 0) {
                done[to] = true;
                order[ready++] = out[i]->to;
            }
        }
    }
    free(waits);
    free(done);
    return order;
}

/* Puts each node below what it depends on, and what depends on nothing right above its first user.
 */
static void find_layers(picture *graph, node **order, edge **out, const size_t *first) {
    bool *has_input = need(graph->node_count, sizeof *has_input);
    for (size_t k = 0; k < graph->node_count; k++) {
        const node *n = order[k];
        for (size_t i = first[n->index]; i < first[n->index + 1]; i++) {
            has_input[out[i]->to->index] = has_input[out[i]->to->index] || !out[i]->back;
            if (!out[i]->back && out[i]->to->layer <= n->layer)
                out[i]->to->layer = n->layer + 1;
        }
    }
    for (size_t k = 0; k < graph->node_count; k++) {
        node *n = order[k];
        int nearest = -1;
        for (size_t i = first[n->index]; i < first[n->index + 1]; i++)
            if (!out[i]->back && (nearest < 0 || out[i]->to->layer < nearest))
                nearest = out[i]->to->layer;
        if (!has_input[n->index] && nearest > 0)
            n->layer = nearest - 1;
        if (n->layer >= graph->layer_count)
            graph->layer_count = n->layer + 1;
    }
    free(has_input);
}

static double time_of(const node *n) {
    return n->us > 0 ? n->us : 0;
}

/* Marks the chain of dependent nodes whose times have the greatest sum. */
static void find_chain(picture *graph, node **order, edge **out, const size_t *first) {
    double *sum = need(graph->node_count, sizeof *sum);
    edge **best = need(graph->node_count, sizeof *best);
    const node *last = NULL;
    for (size_t k = 0; k < graph->node_count; k++) {
        const node *n = order[k];
        sum[n->index] += time_of(n);
        for (size_t i = first[n->index]; i < first[n->index + 1]; i++) {
            const size_t to = out[i]->to->index;
            if (!out[i]->back && (!best[to] || sum[n->index] > sum[to])) {
                sum[to] = sum[n->index];
                best[to] = out[i];
            }
        }
        if (!last || sum[n->index] > sum[last->index])
            last = n;
    }
    bool any = last && sum[last->index] > 0;
    for (const node *n = last; any; n = best[n->index]->from) {
        graph->nodes[n->index]->on_chain = true;
        if (!best[n->index])
            break;
        best[n->index]->on_chain = true;
    }
    free(sum);
    free(best);
}

void picture_order(picture *graph) {
    size_t *first;
    edge **out = edges_by_node(graph, false, &first);
    node **order = ordered(graph, out, first);
    find_layers(graph, order, out, first);
    find_chain(graph, order, out, first);
    free(order);
    free(out);
    free(first);
}

/* ---- sizes ---- */

static void find_size(node *n) {
    char title[128], time[32];
    picture_name(n->title, TITLE_LETTERS, title, sizeof title);
    picture_time(n->us, time);
    const double kind = picture_width(n->kind, 11) + 8 + picture_width(n->detail, 11);
    n->width = picture_width(title, 13);
    n->width = 30 + (kind > n->width ? kind : n->width);
    n->width = n->width < 110 ? 110 : n->width;
    const bool two = (*n->kind && strcmp(n->kind, n->title) != 0) || *n->detail;
    n->height = *n->title ? 12 + LINE + (two ? LINE : 0) + (n->us >= 0 ? LINE : 0) : 0;
    double inner_width = 0, inner_height = 0;
    for (size_t i = 0; i < n->inner_count; i++) {
        picture_place(n->inner[i]);
        inner_width += n->inner[i]->width + (i ? GAP_X / 2.0 : 0);
        if (n->inner[i]->height > inner_height)
            inner_height = n->inner[i]->height;
    }
    if (n->inner_count == 0)
        return;
    n->height += inner_height + MARGIN;
    if (n->width < inner_width + 2.0 * MARGIN)
        n->width = inner_width + 2.0 * MARGIN;
}

/* ---- places in layers ---- */

typedef struct place place;

struct place {
    node *n; /* NULL: an edge crosses the layer */
    edge *e;
    size_t bend; /* which of its layers */
    double x, width, wish, weight;
    size_t order;
    place **up, **down; /* what it is connected with in the layers beside it */
    size_t up_count, down_count;
};

typedef struct layer {
    place **places;
    size_t count;
} layer;

typedef struct layout {
    picture *graph;
    layer *layers;
    place *of_nodes;
} layout;

static void append(place ***list, size_t *count, place *one) {
    if ((*count & (*count - 1)) == 0) /* 0, or a power of two */
        *list = need_more(*list, *count ? 2 * *count : 1, sizeof **list);
    (*list)[(*count)++] = one;
}

static void put(layer *l, place *p) {
    p->order = l->count;
    append(&l->places, &l->count, p);
}

static void connect(place *upper, place *lower) {
    append(&upper->down, &upper->down_count, lower);
    append(&lower->up, &lower->up_count, upper);
}

/* Returns the node that an edge begins at in the picture, which is the upper one. */
static node *upper_end(const edge *e) {
    return e->from->layer <= e->to->layer ? e->from : e->to;
}

static node *lower_end(const edge *e) {
    return e->from->layer <= e->to->layer ? e->to : e->from;
}

/* Puts an edge into the layers that it crosses. Where there are too many of them, the edges are
 * drawn across. */
static void add_edge(layout *l, edge *e, size_t *bends) {
    place *from = &l->of_nodes[upper_end(e)->index], *to = &l->of_nodes[lower_end(e)->index];
    const int top = upper_end(e)->layer, bottom = lower_end(e)->layer;
    const size_t count = bottom > top + 1 ? (size_t)(bottom - top - 1) : 0;
    if (top == bottom || *bends + count > MOST_BENDS)
        return;
    *bends += count;
    e->bend_count = count;
    e->bends = need(count, sizeof *e->bends);
    for (size_t i = 0; i < count; i++) {
        place *bend = need(1, sizeof *bend);
        *bend = (place){.e = e, .bend = i, .width = EDGE_GAP};
        put(&l->layers[top + 1 + (int)i], bend);
        connect(from, bend);
        from = bend;
    }
    connect(from, to);
}

static layout make_layout(picture *graph) {
    layout l = {.graph = graph};
    size_t bends = 0;
    l.layers = need((size_t)graph->layer_count, sizeof *l.layers);
    l.of_nodes = need(graph->node_count, sizeof *l.of_nodes);
    for (size_t i = 0; i < graph->node_count; i++) {
        l.of_nodes[i] = (place){.n = graph->nodes[i], .width = graph->nodes[i]->width + GAP_X};
        put(&l.layers[graph->nodes[i]->layer], &l.of_nodes[i]);
    }
    for (size_t i = 0; i < graph->edge_count; i++)
        add_edge(&l, &graph->edges[i], &bends);
    return l;
}

/* ---- the order in layers ---- */

static int by_wish(const void *a, const void *b) {
    const place *x = *(place *const *)a, *y = *(place *const *)b;
    if (x->wish != y->wish)
        return x->wish < y->wish ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Sorts a layer by the average place of what is connected in the layer above, or below. */
static void sort_layer(const layer *l, bool by_upper) {
    for (size_t i = 0; i < l->count; i++) {
        place *p = l->places[i];
        place *const *near = by_upper ? p->up : p->down;
        const size_t count = by_upper ? p->up_count : p->down_count;
        p->wish = count ? 0 : (double)p->order;
        for (size_t k = 0; k < count; k++)
            p->wish += (double)near[k]->order / (double)count;
    }
    qsort(l->places, l->count, sizeof(place *), by_wish);
    for (size_t i = 0; i < l->count; i++)
        l->places[i]->order = i;
}

static int by_number(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

/* Counts the pairs of `from` to `to` that are in the wrong order, and sorts. */
static size_t count_inversions(size_t *numbers, size_t *room, size_t count) {
    if (count < 2)
        return 0;
    const size_t half = count / 2;
    size_t crossings = count_inversions(numbers, room, half) +
                       count_inversions(numbers + half, room, count - half);
    size_t a = 0, b = half, at = 0;
    while (a < half || b < count)
        if (a < half && (b == count || numbers[a] <= numbers[b]))
            room[at++] = numbers[a++];
        else {
            crossings += half - a;
            room[at++] = numbers[b++];
        }
    memcpy(numbers, room, count * sizeof *numbers);
    return crossings;
}

/* Returns how often edges cross each other. */
static size_t count_crossings(const layout *l) {
    size_t crossings = 0;
    for (int i = 0; i + 1 < l->graph->layer_count; i++) {
        const layer *upper = &l->layers[i];
        size_t count = 0, at = 0;
        for (size_t k = 0; k < upper->count; k++)
            count += upper->places[k]->down_count;
        size_t *ends = need(2 * count, sizeof *ends);
        for (size_t k = 0; k < upper->count; k++) {
            const place *p = upper->places[k];
            const size_t begin = at;
            for (size_t n = 0; n < p->down_count; n++)
                ends[at++] = p->down[n]->order;
            qsort(ends + begin, at - begin, sizeof *ends, by_number);
        }
        crossings += count_inversions(ends, ends + count, count);
        free(ends);
    }
    return crossings;
}

static void keep_order(const layout *l, bool restore) {
    for (int i = 0; i < l->graph->layer_count; i++)
        for (size_t k = 0; k < l->layers[i].count; k++)
            if (restore)
                l->layers[i].places[k]->wish = l->layers[i].places[k]->x;
            else
                l->layers[i].places[k]->x = (double)k;
    for (int i = 0; restore && i < l->graph->layer_count; i++) {
        qsort(l->layers[i].places, l->layers[i].count, sizeof(place *), by_wish);
        for (size_t k = 0; k < l->layers[i].count; k++)
            l->layers[i].places[k]->order = k;
    }
}

static void sort_layers(const layout *l) {
    size_t best = count_crossings(l);
    keep_order(l, false);
    for (int sweep = 0; sweep < SWEEPS && best > 0; sweep++) {
        for (int i = 1; i < l->graph->layer_count; i++)
            sort_layer(&l->layers[i], true);
        for (int i = l->graph->layer_count - 1; i-- > 0;)
            sort_layer(&l->layers[i], false);
        const size_t crossings = count_crossings(l);
        if (crossings < best) {
            best = crossings;
            keep_order(l, false);
        }
    }
    keep_order(l, true);
}

/* ---- x ---- */

/* Places of a layer that lie side by side without room between them. */
typedef struct run {
    double sum, weight;
    size_t count;
} run;

/* Gives each place of a layer the x nearest to its wish, without changing the order: runs that
 * would overlap become one, whose wish is the average. */
static void spread(const layer *l, run *runs) {
    size_t count = 0;
    double offset = 0;
    for (size_t i = 0; i < l->count; i++) {
        const place *p = l->places[i];
        const double middle = offset + p->width / 2;
        offset += p->width;
        runs[count++] = (run){(p->wish - middle) * p->weight, p->weight, 1};
        while (count > 1 && runs[count - 2].sum / runs[count - 2].weight >
                                runs[count - 1].sum / runs[count - 1].weight) {
            runs[count - 2].sum += runs[count - 1].sum;
            runs[count - 2].weight += runs[count - 1].weight;
            runs[count - 2].count += runs[count - 1].count;
            count--;
        }
    }
    offset = 0;
    for (size_t i = 0, at = 0; i < count; i++)
        for (size_t k = 0; k < runs[i].count; k++, at++) {
            l->places[at]->x = runs[i].sum / runs[i].weight + offset + l->places[at]->width / 2;
            offset += l->places[at]->width;
        }
}

/* Returns how much two places want to be below each other: straight edges are the easiest to
 * follow. */
static double pull(const place *a, const place *b) {
    return a->n && b->n ? 1 : a->n || b->n ? 2 : 8;
}

/* Lets each place wish to be in the middle of what it is connected with: above, below, or both. */
static void wish(const layer *l, bool up, bool down) {
    for (size_t i = 0; i < l->count; i++) {
        place *p = l->places[i];
        double sum = 0, weight = 0;
        for (size_t k = 0; up && k < p->up_count; k++) {
            sum += p->up[k]->x * pull(p, p->up[k]);
            weight += pull(p, p->up[k]);
        }
        for (size_t k = 0; down && k < p->down_count; k++) {
            sum += p->down[k]->x * pull(p, p->down[k]);
            weight += pull(p, p->down[k]);
        }
        p->wish = weight > 0 ? sum / weight : p->x;
        p->weight = weight > 0 ? weight : 0.1;
    }
}

static void place_x(const layout *l) {
    size_t most = 0;
    for (int i = 0; i < l->graph->layer_count; i++) {
        double x = 0;
        most = l->layers[i].count > most ? l->layers[i].count : most;
        for (size_t k = 0; k < l->layers[i].count; k++) {
            place *p = l->layers[i].places[k];
            p->x = x + p->width / 2;
            x += p->width;
        }
    }
    run *runs = need(most, sizeof *runs);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        const bool both = sweep >= SWEEPS / 2;
        for (int i = 0; i < l->graph->layer_count; i++) {
            wish(&l->layers[i], true, both);
            spread(&l->layers[i], runs);
        }
        for (int i = l->graph->layer_count; i-- > 0;) {
            wish(&l->layers[i], both, true);
            spread(&l->layers[i], runs);
        }
    }
    free(runs);
}

/* Copies what was found into the graph, whose area begins at 0, 0. */
static void copy_x(const layout *l) {
    picture *graph = l->graph;
    double least = 0, most = 0;
    for (int i = 0; i < graph->layer_count; i++)
        for (size_t k = 0; k < l->layers[i].count; k++) {
            const place *p = l->layers[i].places[k];
            const double half = (p->width - (p->n ? GAP_X : 0)) / 2;
            least = (i == 0 && k == 0) || p->x - half < least ? p->x - half : least;
            most = (i == 0 && k == 0) || p->x + half > most ? p->x + half : most;
        }
    for (int i = 0; i < graph->layer_count; i++)
        for (size_t k = 0; k < l->layers[i].count; k++) {
            const place *p = l->layers[i].places[k];
            const double x = p->x - least + MARGIN;
            if (p->n)
                p->n->x = x - p->n->width / 2;
            else
                p->e->bends[p->bend] = x;
        }
    graph->width = most - least + 2.0 * MARGIN;
    const double label = picture_width(graph->label, 11) + 2.0 * MARGIN;
    if (graph->parent && graph->width < label)
        graph->width = label;
}

static void free_layout(const layout *l) {
    for (int i = 0; i < l->graph->layer_count; i++) {
        for (size_t k = 0; k < l->layers[i].count; k++) {
            free(l->layers[i].places[k]->up);
            free(l->layers[i].places[k]->down);
            if (!l->layers[i].places[k]->n)
                free(l->layers[i].places[k]);
        }
        free(l->layers[i].places);
    }
    free(l->layers);
    free(l->of_nodes);
}

/* ---- y, and where edges begin and end ---- */

static void place_y(picture *graph) {
    double y = MARGIN + (graph->parent && *graph->label ? HEADER : 0);
    graph->tops = need((size_t)graph->layer_count, sizeof *graph->tops);
    graph->heights = need((size_t)graph->layer_count, sizeof *graph->heights);
    for (size_t i = 0; i < graph->node_count; i++) {
        const node *n = graph->nodes[i];
        if (n->height > graph->heights[n->layer])
            graph->heights[n->layer] = n->height;
    }
    for (int i = 0; i < graph->layer_count; i++) {
        graph->tops[i] = y;
        y += graph->heights[i] + GAP_Y;
    }
    graph->height = y - (graph->layer_count ? GAP_Y : 0) + MARGIN;
    for (size_t i = 0; i < graph->node_count; i++) {
        node *n = graph->nodes[i];
        n->y = graph->tops[n->layer] + (graph->heights[n->layer] - n->height) / 2;
    }
}

/* The x that an edge has beside one of its ends. */
static double near_x(const edge *e, bool at_end) {
    const node *other = at_end ? e->from : e->to;
    const bool down = e->from->layer <= e->to->layer;
    if (e->bend_count)
        return e->bends[at_end == down ? e->bend_count - 1 : 0];
    return other->x + other->width / 2;
}

static bool sorting_ends; /* what by_near_x() compares */

static int by_near_x(const void *a, const void *b) {
    const double x = near_x(*(edge *const *)a, sorting_ends);
    const double y = near_x(*(edge *const *)b, sorting_ends);
    return x < y ? -1 : x > y;
}

/* Spreads the ends of edges over the middle of their nodes. */
static void place_ends(picture *graph, bool at_end) {
    size_t *first;
    edge **edges = edges_by_node(graph, at_end, &first);
    sorting_ends = at_end;
    for (size_t i = 0; i < graph->node_count; i++) {
        const node *n = graph->nodes[i];
        const size_t count = first[i + 1] - first[i];
        qsort(edges + first[i], count, sizeof *edges, by_near_x);
        for (size_t k = 0; k < count; k++) {
            const double part = (double)(k + 1) / (double)(count + 1) - 0.5;
            const double x = n->x + n->width / 2 + part * n->width * 0.6;
            *(at_end ? &edges[first[i] + k]->to_x : &edges[first[i] + k]->from_x) = x;
        }
    }
    free(edges);
    free(first);
}

void picture_place(picture *graph) {
    picture_order(graph);
    for (size_t i = 0; i < graph->node_count; i++)
        find_size(graph->nodes[i]);
    layout l = make_layout(graph);
    sort_layers(&l);
    place_x(&l);
    copy_x(&l);
    free_layout(&l);
    place_y(graph);
    place_ends(graph, false);
    place_ends(graph, true);
}
