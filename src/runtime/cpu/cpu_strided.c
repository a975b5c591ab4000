/*
 * A strided copy is brought into an order that suits the cache, and its dimensions are joined where
 * they are dense in both memories. What is left is a plane, which a loop of cpu_loops.c copies, and
 * outer dimensions. Threads take pieces of planes, one after the other.
 */
#include "runtime/cpu/cpu_copy.h"
#include "runtime/cpu/cpu_loops.h"
#include "runtime/cpu/cpu_queue.h"

#include <string.h>

enum {
    AT_ONCE = 64 * 1024, /* bytes that the thread which gives the work copies, on an idle queue */
    PART_BYTES = 128 * 1024, /* of what a thread takes at a time */
    SMALL_BYTES = 8 * 1024,  /* with what is read and written beside it, stays in the first cache */
    FEW = 8,                 /* rows or columns that are too few for the inner loop */
    SQUARE = 128 /* columns or rows at least of a piece that is transposed, if there are so many */
};

typedef struct dimension {
    size_t count;
    ptrdiff_t to, from; /* steps in bytes */
} dimension;

typedef struct strided_task {
    acu_cpu_task task;
    acu_cpu_loop *loop;
    acu_cpu_plane plane;
    size_t rows, columns; /* of a piece of the plane */
    size_t pieces, step;  /* of all planes, and of a part */
    bool cut;             /* the last two of the outer dimensions are pieces of a plane */
    unsigned rank;
    dimension outer[ACU_MAX_RANK]; /* the last is the fastest */
} strided_task;

static size_t distance(ptrdiff_t step) {
    return step < 0 ? 0 - (size_t)step : (size_t)step;
}

/* ---- planning ---- */

/* Takes the dimensions of several elements, with steps in the destination that go up, and sorts
 * them by these steps, the smallest last. Returns how many there are. */
static unsigned sort(const acu_backend_strided *s, dimension *all, acu_cpu_plane *plane) {
    unsigned rank = 0;
    for (unsigned i = 0; i < s->rank; i++) {
        dimension one = {s->shape[i], (ptrdiff_t)s->to[i], (ptrdiff_t)s->from[i]};
        if (one.count == 1)
            continue;
        if (one.to < 0) {
            plane->to += (ptrdiff_t)(one.count - 1) * one.to;
            plane->from += (ptrdiff_t)(one.count - 1) * one.from;
            one.to = -one.to;
            one.from = -one.from;
        }
        unsigned at = rank++;
        for (; at > 0 && all[at - 1].to < one.to; at--)
            all[at] = all[at - 1];
        all[at] = one;
    }
    return rank;
}

/* Joins dimensions that are one in both memories, and those that are dense with the element.
 * Returns how many are left. */
static unsigned join(dimension *all, unsigned rank, size_t *element) {
    unsigned kept = 0;
    for (unsigned i = 0; i < rank; i++) {
        dimension *last = &all[kept - 1];
        const dimension one = all[i];
        if (kept > 0 && last->to == (ptrdiff_t)one.count * one.to &&
            last->from == (ptrdiff_t)one.count * one.from) {
            last->count *= one.count;
            last->to = one.to;
            last->from = one.from;
        } else {
            all[kept++] = one;
        }
    }
    while (kept > 0 && all[kept - 1].to == (ptrdiff_t)*element &&
           all[kept - 1].from == (ptrdiff_t)*element)
        *element *= all[--kept].count;
    return kept;
}

/* Returns which dimension is the plane's rows, the last one being its columns: the densest one in
 * the source, if that is denser there than the columns are; else the next one. */
static unsigned choose_rows(const dimension *all, unsigned rank) {
    unsigned best = rank - 1;
    for (unsigned i = rank - 1; i-- > 0;)
        if (distance(all[i].from) < distance(all[best].from) && all[i].from != 0)
            best = i;
    return best < rank - 1 ? best : rank - 2;
}

/* Makes the inner loop that over rows, where there are few columns. */
static void swap(acu_cpu_plane *plane) {
    const acu_cpu_plane old = *plane;
    plane->rows = old.columns;
    plane->to_row = old.to_column;
    plane->from_row = old.from_column;
    plane->columns = old.rows;
    plane->to_column = old.to_row;
    plane->from_column = old.from_row;
}

/* Chooses the plane; the other dimensions are the outer ones. */
static void set_plane(strided_task *plan, const dimension *all, unsigned rank) {
    acu_cpu_plane *plane = &plan->plane;
    plane->columns = all[rank - 1].count;
    plane->to_column = all[rank - 1].to;
    plane->from_column = all[rank - 1].from;
    plane->rows = 1;
    plane->to_row = plane->from_row = 0;
    plan->rank = 0;
    if (rank < 2)
        return;
    const unsigned rows = choose_rows(all, rank);
    plane->rows = all[rows].count;
    plane->to_row = all[rows].to;
    plane->from_row = all[rows].from;
    for (unsigned i = 0; i < rank - 1; i++)
        if (i != rows)
            plan->outer[plan->rank++] = all[i];
    if (plane->columns < FEW && plane->rows > plane->columns)
        swap(plane);
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Returns how many of `count` rows or columns go into a piece of `most`: a multiple of 64, if there
 * is room, so that pieces begin with lines of the cache where planes do. */
static size_t piece_of(size_t count, size_t most) {
    if (count <= most)
        return count;
    return most >= 64 ? most / 64 * 64 : most > 0 ? most : 1;
}

static dimension pieces_of(size_t count, size_t piece, ptrdiff_t to, ptrdiff_t from) {
    return (dimension){(count + piece - 1) / piece, (ptrdiff_t)piece * to, (ptrdiff_t)piece * from};
}

/* Cuts planes into pieces, which become the last two of the outer dimensions. A piece with few rows
 * is so small that each line of the cache is still there for the next row. */
static void cut(strided_task *plan) {
    const acu_cpu_plane *plane = &plan->plane;
    const size_t most = (plane->rows < FEW ? SMALL_BYTES : PART_BYTES) / plane->element;
    const bool square = plane->rows > 1 && distance(plane->from_row) < distance(plane->from_column);
    plan->columns = piece_of(plane->columns, square ? most / least(plane->rows, SQUARE) : most);
    plan->rows = piece_of(plane->rows, most / plan->columns);
    plan->outer[plan->rank++] = pieces_of(plane->rows, plan->rows, plane->to_row, plane->from_row);
    plan->outer[plan->rank++] =
        pieces_of(plane->columns, plan->columns, plane->to_column, plane->from_column);
    plan->cut = true;
}

/* Divides the work into pieces and parts. */
static void divide(strided_task *plan, size_t bytes) {
    const acu_cpu_plane *plane = &plan->plane;
    plan->cut = false;
    plan->rows = plane->rows;
    plan->columns = plane->columns;
    if (bytes > SMALL_BYTES)
        cut(plan);
    plan->pieces = 1;
    for (unsigned i = 0; i < plan->rank; i++)
        plan->pieces *= plan->outer[i].count;
    plan->step = plan->pieces;
    plan->task.parts = 1;
    if (bytes <= AT_ONCE)
        return;
    const size_t pieces = PART_BYTES / (plan->rows * plan->columns * plane->element);
    plan->step = pieces > 0 ? pieces : 1;
    plan->task.parts = (plan->pieces + plan->step - 1) / plan->step;
}

/* ---- copying ---- */

/* Where a thread is: the indexes in the outer dimensions, and the piece itself. */
typedef struct position {
    size_t at[ACU_MAX_RANK];
    acu_cpu_plane piece;
} position;

static void move(position *p, const dimension *along, size_t steps) {
    p->piece.to += (ptrdiff_t)steps * along->to;
    p->piece.from += (ptrdiff_t)steps * along->from;
}

static void go_to(position *p, const strided_task *plan, size_t piece) {
    for (unsigned i = plan->rank; i-- > 0;) {
        p->at[i] = piece % plan->outer[i].count;
        piece /= plan->outer[i].count;
        move(p, &plan->outer[i], p->at[i]);
    }
}

static void go_on(position *p, const strided_task *plan) {
    for (unsigned i = plan->rank; i-- > 0;) {
        const dimension *along = &plan->outer[i];
        move(p, along, 1);
        if (++p->at[i] < along->count)
            return;
        p->at[i] = 0;
        p->piece.to -= (ptrdiff_t)along->count * along->to;
        p->piece.from -= (ptrdiff_t)along->count * along->from;
    }
}

static void copy_part(const acu_cpu_task *task, size_t part, unsigned thread) {
    const strided_task *plan = (const strided_task *)task;
    const size_t first = part * plan->step, count = least(plan->pieces - first, plan->step);
    position p;
    (void)thread;
    p.piece = plan->plane;
    go_to(&p, plan, first);
    for (size_t i = 0; i < count; i++, go_on(&p, plan)) {
        if (plan->cut) {
            const size_t *at = &p.at[plan->rank - 2];
            p.piece.rows = least(plan->plane.rows - at[0] * plan->rows, plan->rows);
            p.piece.columns = least(plan->plane.columns - at[1] * plan->columns, plan->columns);
        }
        plan->loop(&p.piece);
    }
}

/* Returns the bytes that are copied. */
static size_t all_bytes(const acu_backend_strided *strided) {
    size_t bytes = strided->element_bytes;
    for (unsigned i = 0; i < strided->rank; i++)
        bytes *= strided->shape[i];
    return bytes;
}

acu_result acu_cpu_copy_strided(acu_backend_queue *queue, acu_backend_memory *to,
                                acu_backend_memory *from, const acu_backend_strided *strided) {
    const size_t bytes = all_bytes(strided);
    strided_task plan;
    dimension all[ACU_MAX_RANK];
    plan.plane = (acu_cpu_plane){.to = (char *)to + strided->to_at,
                                 .from = (const char *)from + strided->from_at,
                                 .element = strided->element_bytes};
    const unsigned rank = join(all, sort(strided, all, &plan.plane), &plan.plane.element);
    if (rank == 0)
        return acu_cpu_copy(queue, (acu_backend_memory *)(void *)plan.plane.to, 0,
                            (acu_backend_memory *)plan.plane.from, 0, bytes);
    plan.task = (acu_cpu_task){.part = copy_part};
    set_plane(&plan, all, rank);
    plan.loop = acu_cpu_loop_for(&plan.plane);
    if (plan.rank == 0 && bytes <= AT_ONCE && acu_cpu_queue_is_idle(queue)) {
        plan.loop(&plan.plane);
        return ACU_SUCCESS;
    }
    divide(&plan, bytes);
    return acu_cpu_queue_give(queue, &plan.task, sizeof plan, bytes <= AT_ONCE);
}
