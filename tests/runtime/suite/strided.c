/* Strided copies, compared with loops of the host. */
#include "suite.h"

/* The strides of densely packed elements where there are none. */
static const int64_t *packed(const acu_strides *s, const int64_t *given, int64_t *room) {
    int64_t step = 1;
    if (given)
        return given;
    for (unsigned k = s->rank; k-- > 0;) {
        room[k] = step;
        step *= (int64_t)s->shape[k];
    }
    return room;
}

/* Moves on to the next element, of which the last index changes first. */
static void move_on(size_t *at, unsigned rank, const size_t *shape) {
    for (unsigned k = rank; k > 0; k--) {
        at[k - 1]++;
        if (at[k - 1] < shape[k - 1])
            return;
        at[k - 1] = 0;
    }
}

static void copy_on_host(uint8_t *to, const uint8_t *from, size_t size, const acu_strides *s) {
    int64_t to_room[ACU_MAX_RANK], from_room[ACU_MAX_RANK];
    const int64_t *to_steps = packed(s, s->to, to_room), *steps = packed(s, s->from, from_room);
    size_t at[ACU_MAX_RANK] = {0}, count = 1;
    for (unsigned k = 0; k < s->rank; k++)
        count *= s->shape[k];
    for (size_t i = 0; i < count; i++) {
        int64_t to_at = (int64_t)s->to_at, from_at = (int64_t)s->from_at;
        for (unsigned k = 0; k < s->rank; k++) {
            to_at += (int64_t)at[k] * to_steps[k];
            from_at += (int64_t)at[k] * steps[k];
        }
        memcpy(to + (size_t)to_at * size, from + (size_t)from_at * size, size);
        move_on(at, s->rank, s->shape);
    }
}

/* Copies between two blocks of so many elements, and compares. */
static void check_copy(size_t to_count, size_t from_count, size_t size, const acu_strides *s) {
    uint8_t *data = some_bytes(from_count * size), *expected = some_bytes(to_count * size);
    acu_block *from = new_block_of(data, from_count * size);
    acu_block *to = new_block_of(expected, to_count * size);
    OK(acu_block_copy_strided(client, to, from, size, s));
    copy_on_host(expected, data, size, s);
    HOLDS(to, expected, to_count * size);
    HOLDS(from, data, from_count * size);
}

static const struct {
    const char *name;
    unsigned rank;
    size_t shape[4];
    int64_t to[4], from[4];
    bool to_packed, from_packed;
    size_t to_at, from_at, to_count, from_count;
} layouts[] = {
    {"rank_0", 0, {0}, {0}, {0}, false, false, 3, 5, 10, 10},
    {"packed", 1, {20}, {0}, {0}, true, true, 0, 0, 20, 20},
    {"packed_at_an_offset", 1, {20}, {0}, {0}, true, true, 3, 5, 25, 25},
    {"every_second", 1, {10}, {1}, {2}, false, false, 0, 0, 10, 20},
    {"to_every_third", 1, {10}, {3}, {1}, false, false, 1, 0, 30, 10},
    {"both_apart", 1, {7}, {5}, {3}, false, false, 2, 1, 40, 30},
    {"backwards", 1, {12}, {1}, {-1}, false, false, 0, 11, 12, 12},
    {"to_backwards", 1, {12}, {-1}, {1}, false, false, 11, 0, 12, 12},
    {"both_backwards", 1, {12}, {-2}, {-3}, false, false, 23, 35, 24, 36},
    {"one_repeated", 1, {9}, {1}, {0}, false, false, 0, 4, 9, 9},
    {"one_element", 1, {1}, {0}, {0}, false, false, 2, 3, 5, 5},
    {"one_element_with_steps", 1, {1}, {100}, {-100}, false, false, 2, 3, 5, 5},
    {"nothing", 1, {0}, {1}, {1}, false, false, 0, 0, 5, 5},
    {"nothing_in_one_of_three", 3, {4, 0, 5}, {1, 1, 1}, {1, 1, 1}, false, false, 0, 0, 5, 5},
    {"rows", 2, {5, 8}, {8, 1}, {10, 1}, false, false, 0, 1, 40, 60},
    {"rows_to_pitched_rows", 2, {5, 8}, {11, 1}, {8, 1}, false, false, 2, 0, 60, 40},
    {"rows_upside_down", 2, {5, 8}, {8, 1}, {-8, 1}, false, false, 0, 32, 40, 40},
    {"columns_mirrored", 2, {5, 8}, {8, 1}, {8, -1}, false, false, 0, 7, 40, 40},
    {"turned_around", 2, {5, 8}, {8, 1}, {-8, -1}, false, false, 0, 39, 40, 40},
    {"transposed", 2, {6, 7}, {0}, {1, 6}, true, false, 0, 0, 42, 42},
    {"transposed_to", 2, {6, 7}, {1, 6}, {0}, false, true, 0, 0, 42, 42},
    {"transposed_both", 2, {6, 7}, {1, 6}, {1, 6}, false, false, 0, 0, 42, 42},
    {"transposed_and_mirrored", 2, {6, 7}, {7, 1}, {-1, 6}, false, false, 0, 5, 42, 42},
    {"a_row_repeated", 2, {5, 8}, {8, 1}, {0, 1}, false, false, 0, 2, 40, 10},
    {"a_column_repeated", 2, {5, 8}, {8, 1}, {1, 0}, false, false, 0, 2, 40, 10},
    {"one_for_all", 2, {5, 8}, {8, 1}, {0, 0}, false, false, 0, 3, 40, 4},
    {"overlapping_windows", 2, {6, 4}, {4, 1}, {1, 1}, false, false, 0, 0, 24, 9},
    {"a_row", 2, {1, 9}, {5, 1}, {77, 1}, false, false, 1, 1, 10, 10},
    {"a_column", 2, {9, 1}, {1, 99}, {9, 99}, false, false, 1, 1, 10, 75},
    {"a_diagonal", 1, {8}, {1}, {9}, false, false, 0, 0, 8, 64},
    {"a_box", 3, {2, 3, 4}, {12, 4, 1}, {30, 6, 1}, false, false, 0, 7, 24, 60},
    {"axes_021", 3, {3, 4, 5}, {0}, {20, 1, 4}, true, false, 0, 0, 60, 60},
    {"axes_102", 3, {3, 4, 5}, {0}, {5, 15, 1}, true, false, 0, 0, 60, 60},
    {"axes_120", 3, {3, 4, 5}, {0}, {1, 15, 3}, true, false, 0, 0, 60, 60},
    {"axes_201", 3, {3, 4, 5}, {0}, {4, 1, 12}, true, false, 0, 0, 60, 60},
    {"axes_210", 3, {3, 4, 5}, {0}, {1, 3, 12}, true, false, 0, 0, 60, 60},
    {"mixed_signs", 3, {3, 4, 5}, {-20, 5, -1}, {20, -5, 1}, false, false, 44, 15, 60, 60},
    {"axes_3210", 4, {2, 3, 4, 5}, {0}, {1, 2, 6, 24}, true, false, 0, 0, 120, 120},
    {"axes_0231", 4, {2, 3, 4, 5}, {0}, {60, 1, 15, 3}, true, false, 0, 0, 120, 120},
    {"a_batch_repeated", 4, {3, 2, 2, 3}, {0}, {0, 6, 3, 1}, true, false, 0, 0, 36, 12},
};

CASE_OF(layout, layouts) {
    const size_t sizes[] = {1, 2, 3, 4, 8, 12, 16};
    acu_strides s = {row->rank,
                     row->shape,
                     row->to_packed ? NULL : row->to,
                     row->from_packed ? NULL : row->from,
                     row->to_at,
                     row->from_at};
    for (size_t i = 0; i < COUNT(sizes); i++)
        check_copy(row->to_count, row->from_count, sizes[i], &s);
}

/* A transposition, a mirrored row, and a repeated one. */
CASE_FOR(elements_of, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32) {
    const size_t shape[] = {5, 7}, row[] = {9};
    const int64_t transposed[] = {1, 5}, mirrored[] = {-1}, repeated[] = {0}, apart[] = {2};
    check_copy(35, 35, n, &(acu_strides){2, shape, NULL, transposed, 0, 0});
    check_copy(36, 37, n, &(acu_strides){2, shape, NULL, transposed, 1, 2});
    check_copy(20, 10, n, &(acu_strides){1, row, apart, mirrored, 1, 9});
    check_copy(20, 10, n, &(acu_strides){1, row, apart, repeated, 0, 3});
}

CASE_FOR(large_elements_of, 64, 100, 4097) {
    const size_t shape[] = {3, 4};
    const int64_t transposed[] = {1, 3};
    check_copy(12, 13, n, &(acu_strides){2, shape, NULL, transposed, 0, 1});
}

/* All dimensions of 2 elements, or of 1 where the rank is high; the axes are reversed. */
CASE_FOR(rank, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16) {
    size_t shape[ACU_MAX_RANK], count = 1;
    int64_t reversed[ACU_MAX_RANK], step = 1;
    for (size_t k = 0; k < n; k++) {
        shape[k] = k % 3 == 2 && n > 9 ? 1 : 2;
        reversed[k] = step;
        step *= (int64_t)shape[k];
        count *= shape[k];
    }
    check_copy(count, count, 4, &(acu_strides){(unsigned)n, shape, NULL, reversed, 0, 0});
    check_copy(count, count, 3, &(acu_strides){(unsigned)n, shape, reversed, NULL, 0, 0});
    check_copy(count + 1, count + 2, 1, &(acu_strides){(unsigned)n, shape, reversed, NULL, 1, 2});
}

CASE(a_large_transposition) {
    const size_t shape[] = {700, 501};
    const int64_t transposed[] = {1, 700};
    check_copy(700 * 501, 700 * 501, 4, &(acu_strides){2, shape, NULL, transposed, 0, 0});
}

CASE(a_large_transposition_of_bytes) {
    const size_t shape[] = {511, 301};
    const int64_t transposed[] = {1, 511};
    check_copy(511 * 301, 511 * 301, 1, &(acu_strides){2, shape, NULL, transposed, 0, 0});
}

CASE(many_long_rows) {
    const size_t shape[] = {100, 1000};
    const int64_t to[] = {1003, 1}, from[] = {1001, 1};
    check_copy(100300, 100100, 2, &(acu_strides){2, shape, to, from, 1, 0});
}

/* Random layouts whose destination never meets itself. */
CASE_FOR(random_layouts_of_rank, 1, 2, 3, 4, 5) {
    for (int round = 0; round < 12; round++) {
        size_t shape[5], size = 1 + below(9), room = 1 + below(3), low = 0, high = 0;
        int64_t to[5], from[5];
        unsigned order[5] = {0, 1, 2, 3, 4};
        acu_strides s = {(unsigned)n, shape, to, from, 0, 0};
        for (size_t k = 0; k < n; k++) {
            shape[k] = 1 + below(4);
            size_t other = k + below((uint32_t)(n - k));
            unsigned swap = order[k];
            order[k] = order[other];
            order[other] = swap;
            from[k] = (int64_t)below(13) - 6;
            size_t reach = (size_t)(from[k] < 0 ? -from[k] : from[k]) * (shape[k] - 1);
            low += from[k] < 0 ? reach : 0;
            high += from[k] < 0 ? 0 : reach;
        }
        for (size_t k = 0; k < n; k++) {
            size_t axis = order[k], reach = room * (shape[axis] - 1);
            to[axis] = below(2) ? (int64_t)room : -(int64_t)room;
            s.to_at += to[axis] < 0 ? reach : 0;
            room *= shape[axis] + below(2);
        }
        s.from_at = low;
        check_copy(room + 4, low + high + 1, size, &s);
    }
}

CASE(within_a_block_without_overlap) {
    const size_t shape[] = {4, 5};
    const int64_t transposed[] = {1, 4};
    uint8_t *expected = some_bytes(200);
    acu_block *block = new_block_of(expected, 200);
    acu_strides s = {2, shape, NULL, transposed, 20, 0};
    OK(acu_block_copy_strided(client, block, block, 4, &s));
    copy_on_host(expected, expected, 4, &s);
    HOLDS(block, expected, 200);
}

CASE(a_block_whose_size_is_no_multiple) {
    const size_t shape[] = {3};
    const int64_t apart[] = {2};
    uint8_t *data = some_bytes(23), *expected = some_bytes(19);
    acu_block *from = new_block_of(data, 23), *to = new_block_of(expected, 19);
    acu_strides s = {1, shape, NULL, apart, 0, 0};
    OK(acu_block_copy_strided(client, to, from, 4, &s));
    copy_on_host(expected, data, 4, &s);
    HOLDS(to, expected, 19);
    s.from_at = 1; /* the last of the three would be bytes 20 to 23 */
    FAILS(acu_block_copy_strided(client, to, from, 4, &s), ACU_ERROR_RANGE,
          "acu_block_copy_strided");
}

CASE(blocks_of_other_clients) {
    acu_client *second = new_client(), *third = new_client();
    const size_t shape[] = {6, 7};
    const int64_t transposed[] = {1, 6};
    uint8_t *data = some_bytes(168), expected[168];
    acu_block *from = new_block_of(data, 168), *to = new_block_for(second, 168);
    acu_strides s = {2, shape, NULL, transposed, 0, 0};
    OK(acu_block_copy_strided(third, to, from, 4, &s));
    copy_on_host(expected, data, 4, &s);
    HOLDS(to, expected, 168);
}

CASE(copies_and_work_keep_their_order) {
    const size_t shape[] = {10, 10};
    const int64_t transposed[] = {1, 10};
    acu_block *from = new_block(400), *to = new_block(400);
    acu_strides s = {2, shape, NULL, transposed, 0, 0};
    for (uint32_t i = 0; i < 5; i++) {
        OK(acu_run(client, program("suite_count"), acu_items(100), acu_out_block(from), i, 100u));
        OK(acu_block_copy_strided(client, to, from, 4, &s));
        OK(acu_run(client, program("suite_step"), acu_items(100), acu_inout_block(to), 100u));
        EQUAL(((uint32_t *)(void *)contents(client, to, 0, 400))[1], (10 + i) * 3 + 1);
    }
}

/* ---- refusals ---- */

static const struct {
    const char *name;
    size_t shape[2];
    int64_t to[2], from[2];
    size_t to_at, from_at;
    acu_result code;
} refused[] = {
    {"behind_the_end", {2, 10}, {10, 1}, {10, 1}, 1, 0, ACU_ERROR_RANGE},
    {"from_behind_the_end", {2, 10}, {10, 1}, {10, 1}, 0, 1, ACU_ERROR_RANGE},
    {"before_the_beginning", {2, 10}, {10, 1}, {-10, 1}, 0, 9, ACU_ERROR_RANGE},
    {"to_before_the_beginning", {2, 10}, {10, -1}, {10, 1}, 8, 0, ACU_ERROR_RANGE},
    {"far_behind", {1, 1}, {1, 1}, {1, 1}, 1000, 0, ACU_ERROR_RANGE},
    {"no_step_in_the_destination", {2, 10}, {0, 1}, {10, 1}, 0, 0, ACU_ERROR_ARGUMENT},
    {"no_inner_step_in_the_destination", {2, 10}, {10, 0}, {10, 1}, 0, 0, ACU_ERROR_ARGUMENT},
    {"a_huge_step", {2, 2}, {INT64_MAX / 2, 1}, {2, 1}, 0, 0, ACU_ERROR_OVERFLOW},
    {"a_huge_negative_step", {2, 2}, {2, 1}, {INT64_MIN, 1}, 0, 0, ACU_ERROR_OVERFLOW},
    {"a_huge_shape", {SIZE_MAX / 2, SIZE_MAX / 2}, {2, 1}, {2, 1}, 0, 0, ACU_ERROR_OVERFLOW},
    {"a_huge_position", {2, 2}, {2, 1}, {2, 1}, SIZE_MAX, 0, ACU_ERROR_OVERFLOW},
};

CASE_OF(refusal, refused) {
    acu_block *from = new_block(80), *to = new_block(80);
    acu_strides s = {2, row->shape, row->to, row->from, row->to_at, row->from_at};
    acu_clear_error();
    acu_result result = acu_block_copy_strided(client, to, from, 4, &s);
    bool outside = row->code == ACU_ERROR_OVERFLOW && result == ACU_ERROR_RANGE;
    if (result != row->code && !outside)
        fail_case(__FILE__, __LINE__, "the result is %s: %s", acu_result_name(result),
                  acu_last_error_message());
    EQUAL(acu_last_error(), result);
    CONTAINS(acu_last_error_message(), "acu_block_copy_strided");
}

CASE(a_rank_above_the_largest) {
    size_t shape[ACU_MAX_RANK + 1];
    acu_block *from = new_block(80), *to = new_block(80);
    for (size_t k = 0; k <= ACU_MAX_RANK; k++)
        shape[k] = 1;
    acu_strides s = {ACU_MAX_RANK + 1, shape, NULL, NULL, 0, 0};
    FAILS(acu_block_copy_strided(client, to, from, 4, &s), ACU_ERROR_ARGUMENT,
          "acu_block_copy_strided");
}

CASE(elements_of_no_size) {
    const size_t shape[] = {2};
    acu_block *from = new_block(80), *to = new_block(80);
    acu_strides s = {1, shape, NULL, NULL, 0, 0};
    FAILS(acu_block_copy_strided(client, to, from, 0, &s), ACU_ERROR_ARGUMENT,
          "acu_block_copy_strided");
}

CASE(elements_of_a_huge_size) {
    const size_t shape[] = {2};
    acu_block *from = new_block(80), *to = new_block(80);
    acu_strides s = {1, shape, NULL, NULL, 0, 0};
    acu_result result = acu_block_copy_strided(client, to, from, SIZE_MAX / 2, &s);
    IS(result == ACU_ERROR_OVERFLOW || result == ACU_ERROR_RANGE);
}

CASE(strided_copies_need_their_arguments) {
    const size_t shape[] = {2};
    acu_block *block = new_block(80);
    acu_strides s = {1, shape, NULL, NULL, 0, 0}, no_shape = {1, NULL, NULL, NULL, 0, 0};
    FAILS(acu_block_copy_strided(NULL, block, block, 4, &s), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_copy_strided(client, NULL, block, 4, &s), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_copy_strided(client, block, NULL, 4, &s), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_copy_strided(client, block, block, 4, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_block_copy_strided(client, block, block, 4, &no_shape), ACU_ERROR_ARGUMENT, "NULL");
}

CASE(blocks_of_two_places_are_refused) {
    const size_t shape[] = {2};
    acu_block *from = new_block(80), *to = new_block_for(new_client_on(other_place()), 80);
    acu_strides s = {1, shape, NULL, NULL, 0, 0};
    FAILS(acu_block_copy_strided(client, to, from, 4, &s), ACU_ERROR_DEVICE,
          "acu_block_copy_strided");
}
