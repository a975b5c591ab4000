/* The summary, for a terminal of 80 columns. */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_LETTERS = 34, BAR = 14, COLUMNS = 80 };

/* ---- counts ---- */

typedef struct kind {
    const char *name;
    size_t count;
    double us;
} kind;

static void count_kinds(const picture *graph, kind **kinds, size_t *count) {
    for (size_t i = 0; i < graph->node_count; i++) {
        const node *n = graph->nodes[i];
        const char *name = *n->kind ? n->kind : "node";
        size_t at = 0;
        while (*n->id && at < *count && strcmp((*kinds)[at].name, name) != 0)
            at++;
        if (*n->id && at == *count) {
            *kinds = need_more(*kinds, *count + 1, sizeof **kinds);
            (*kinds)[(*count)++] = (kind){name, 0, 0};
        }
        if (*n->id)
            (*kinds)[at].count++;
        for (size_t k = 0; k < n->inner_count; k++)
            count_kinds(n->inner[k], kinds, count);
    }
}

static int by_count(const void *a, const void *b) {
    const kind *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

static void print_kinds(const picture *graph) {
    kind *kinds = NULL;
    size_t count = 0, column = 0;
    count_kinds(graph, &kinds, &count);
    if (count)
        qsort(kinds, count, sizeof *kinds, by_count);
    for (size_t i = 0; i < count; i++) {
        char text[64];
        const int length = snprintf(text, sizeof text, "%.40s %zu", kinds[i].name, kinds[i].count);
        const bool fits = column + 3 + (size_t)length <= COLUMNS;
        printf("%s%s", column == 0 ? "" : fits ? "   " : "\n", text);
        column = (column && fits ? column + 3 : 0) + (size_t)length;
    }
    if (count)
        putchar('\n');
    free(kinds);
}

static size_t widest_layer(const picture *graph) {
    size_t *counts = need((size_t)graph->layer_count, sizeof *counts), most = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        counts[graph->nodes[i]->layer]++;
    for (int i = 0; i < graph->layer_count; i++)
        most = counts[i] > most ? counts[i] : most;
    free(counts);
    return most;
}

static void print_head(const picture *graph, const char *file) {
    const size_t all = picture_count(graph);
    size_t own = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        own += *graph->nodes[i]->id != 0;
    char name[128], text[160];
    picture_name(file, 50, name, sizeof name);
    snprintf(text, sizeof text, "%s: %zu node%s", name, all, all == 1 ? "" : "s");
    printf("%s", text);
    if (all > own)
        printf(", %zu of them inside others", all - own);
    printf("\n%zu dependenc%s, %d step%s deep, at most %zu side by side\n", graph->edge_count,
           graph->edge_count == 1 ? "y" : "ies", graph->layer_count,
           graph->layer_count == 1 ? "" : "s", widest_layer(graph));
}

/* ---- times ---- */

static void print_time(const char *what, double us, const char *after) {
    char text[32];
    picture_time(us, text);
    printf("  %-24s%10s%s\n", what, text, after);
}

static void print_times(const picture *graph) {
    if (graph->replays)
        printf("\nmedians of %d replay%s, %s\n", graph->replays, graph->replays == 1 ? "" : "s",
               graph->together ? "independent nodes together" : "one node after the other");
    else
        printf("\n");
    if (graph->replays)
        print_time("a launch as it is", graph->whole, "");
    print_time("the sum of all nodes", picture_sum(graph), "");
    print_time("the longest chain (*)", picture_chain(graph), ": no order of the nodes is faster");
    if (graph->replays)
        print_time("two events alone", graph->between, ": shorter times mean nothing");
}

/* ---- nodes ---- */

static int by_time(const void *a, const void *b) {
    const node *x = *(node *const *)a, *y = *(node *const *)b;
    if (x->us != y->us)
        return x->us < y->us ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int by_layer(const void *a, const void *b) {
    const node *x = *(node *const *)a, *y = *(node *const *)b;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void print_timed(const picture *graph, const node *n) {
    char name[256], time[32], bar[BAR + 1] = "";
    const double longest = picture_longest(graph), sum = picture_sum(graph);
    const size_t length = longest > 0 ? (size_t)(n->us / longest * BAR + 0.5) : 0;
    picture_name(n->title, NAME_LETTERS, name, sizeof name);
    picture_time(n->us, time);
    memset(bar, '#', length);
    printf("%9s %4.0f%% %c %-*s %-12.12s %s\n", time, sum > 0 ? 100 * n->us / sum : 0,
           n->on_chain ? '*' : ' ', (int)NAME_LETTERS, name, n->kind, bar);
}

static void print_plain(const node *n) {
    char name[256];
    picture_name(n->title, NAME_LETTERS, name, sizeof name);
    printf("%5d  %-*s %-12.12s %.24s\n", n->layer + 1, (int)NAME_LETTERS, name,
           strcmp(n->kind, n->title) == 0 ? "" : n->kind, n->detail);
}

/* Prints the nodes: by their times, or where there are none, in the order of their steps. */
static void print_nodes(const picture *graph, bool timed, size_t top) {
    size_t count = 0;
    node **nodes = need(graph->node_count, sizeof(node *));
    for (size_t i = 0; i < graph->node_count; i++)
        if (*graph->nodes[i]->id && (!timed || graph->nodes[i]->us >= 0))
            nodes[count++] = graph->nodes[i];
    if (count)
        qsort(nodes, count, sizeof(node *), timed ? by_time : by_layer);
    if (count)
        printf(timed ? "\n     time    of all  node\n" : "\n step  node\n");
    for (size_t i = 0; i < count && i < top; i++)
        if (timed)
            print_timed(graph, nodes[i]);
        else
            print_plain(nodes[i]);
    if (count > top)
        printf("  and %zu more: --top %zu prints them\n", count - top, count);
    free(nodes);
}

void picture_print(picture *graph, const char *file, size_t top) {
    picture_order(graph);
    const bool timed = picture_longest(graph) > 0 || graph->replays;
    print_head(graph, file);
    print_kinds(graph);
    if (timed)
        print_times(graph);
    print_nodes(graph, timed, top);
}
