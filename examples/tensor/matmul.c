/*
 * The matrix product: out[row][column] = sum of a[row][k] * b[k][column], for k from 0 on. An item
 * is an element of the result, x being its column and y its row.
 *
 * Elements of a and b are found by steps, so that one program multiplies transposed matrices, too.
 * On GPUs a group of 16 x 16 threads computes a tile of the result. Time after time it fetches a
 * tile of a and one of b into memory that the group shares, one element of each per thread, and
 * adds up the 16 products: every element is fetched once per group, not 16 times.
 */
#include "forms.h"

/* Lines of PTX and WGSL stay lines. */
/* clang-format off */

/* Goes through b row by row, which lie in memory like that; each sum still begins with k = 0. */
static void matmul(const acu_part *part, void *const *args) {
    const float *a = IN(0), *b = IN(1);
    const size_t columns = COUNT(4), inner = COUNT(5);
    const size_t a_row = COUNT(6), a_column = COUNT(7), b_row = COUNT(8), b_column = COUNT(9);
    const size_t begin = part->begin[0], end = part->end[0];
    for (size_t y = part->begin[1]; y < part->end[1]; y++) {
        float *out = OUT(2) + y * columns;
        for (size_t x = begin; x < end; x++)
            out[x] = 0;
        for (size_t k = 0; k < inner; k++) {
            const float factor = a[y * a_row + k * a_column];
            const float *row = b + k * b_row;
            for (size_t x = begin; x < end; x++)
                out[x] += factor * row[x * b_column];
        }
    }
}

/* Puts an element, or 0 where `inside` does not hold, into a tile. */
#define PTX_FETCH(block, place)                                                                    \
    "    mov.f32 %x, 0f00000000;\n"                                                                \
    "    mad.wide.u32 %at, %i, 4, %" block ";\n"                                                   \
    "    @%inside ld.global.f32 %x, [%at];\n"                                                      \
    "    st.shared.f32 [%" place "], %x;\n"

static const char matmul_ptx[] =
    PTX_FILE
    ".visible .entry tensor_matmul(.param .u64 a, .param .u64 b, .param .u64 out,\n"
    "    .param .u32 rows, .param .u32 columns, .param .u32 inner,\n"
    "    .param .u32 a_row, .param .u32 a_column, .param .u32 b_row, .param .u32 b_column)\n"
    ".reqntid 16, 16, 1\n"
    "{\n"
    "    .shared .align 4 .b8 a_tile[1024];\n"
    "    .shared .align 4 .b8 b_tile[1024];\n"
    "    .reg .pred %in_row, %in_column, %inside, %more;\n"
    "    .reg .b32 %tx, %ty, %block, %row, %column, %first, %k, %i;\n"
    "    .reg .b32 %a_put, %b_put, %a_take, %b_take, %a_at, %b_at, %place;\n"
    "    .reg .b64 %at;\n"
    "    .reg .f32 %x, %y, %sum;\n"
    PTX_BLOCK("a") PTX_BLOCK("b") PTX_BLOCK("out")
    PTX_COUNT("rows") PTX_COUNT("columns") PTX_COUNT("inner")
    PTX_COUNT("a_row") PTX_COUNT("a_column") PTX_COUNT("b_row") PTX_COUNT("b_column")
    "    mov.u32 %tx, %tid.x;\n"
    "    mov.u32 %ty, %tid.y;\n"
    "    mov.u32 %block, %ctaid.x;\n"
    "    mad.lo.u32 %column, %block, 16, %tx;\n"
    "    mov.u32 %block, %ctaid.y;\n"
    "    mad.lo.u32 %row, %block, 16, %ty;\n"
    "    setp.lt.u32 %in_row, %row, %rows;\n"
    "    setp.lt.u32 %in_column, %column, %columns;\n"
    /* Where this thread puts its elements into the tiles, and the row and the column it takes. */
    "    mad.lo.u32 %place, %ty, 16, %tx;\n"
    "    mov.u32 %a_take, a_tile;\n"
    "    mov.u32 %b_take, b_tile;\n"
    "    mad.lo.u32 %a_put, %place, 4, %a_take;\n"
    "    mad.lo.u32 %b_put, %place, 4, %b_take;\n"
    "    mad.lo.u32 %a_take, %ty, 64, %a_take;\n"
    "    mad.lo.u32 %b_take, %tx, 4, %b_take;\n"
    "    mov.f32 %sum, 0f00000000;\n"
    "    mov.u32 %first, 0;\n"
    "TILE:\n"
    "    add.u32 %k, %first, %tx;\n"
    "    setp.lt.and.u32 %inside, %k, %inner, %in_row;\n"
    "    mul.lo.u32 %i, %row, %a_row;\n"
    "    mad.lo.u32 %i, %k, %a_column, %i;\n" PTX_FETCH("a", "a_put")
    "    add.u32 %k, %first, %ty;\n"
    "    setp.lt.and.u32 %inside, %k, %inner, %in_column;\n"
    "    mul.lo.u32 %i, %k, %b_row;\n"
    "    mad.lo.u32 %i, %column, %b_column, %i;\n" PTX_FETCH("b", "b_put")
    "    bar.sync 0;\n"
    /* The sum of 16 products: 4 bytes further in a's tile is a column, 64 in b's are a row. */
    "    mov.u32 %a_at, %a_take;\n"
    "    mov.u32 %b_at, %b_take;\n"
    "    mov.u32 %k, 0;\n"
    "PRODUCT:\n"
    "    ld.shared.f32 %x, [%a_at];\n"
    "    ld.shared.f32 %y, [%b_at];\n"
    "    mul.rn.f32 %x, %x, %y;\n"
    "    add.rn.f32 %sum, %sum, %x;\n"
    "    add.u32 %a_at, %a_at, 4;\n"
    "    add.u32 %b_at, %b_at, 64;\n"
    "    add.u32 %k, %k, 1;\n"
    "    setp.lt.u32 %more, %k, 16;\n"
    "    @%more bra PRODUCT;\n"
    "    bar.sync 0;\n"
    "    add.u32 %first, %first, 16;\n"
    "    setp.lt.u32 %more, %first, %inner;\n"
    "    @%more bra TILE;\n"
    "    setp.lt.and.u32 %inside, %row, %rows, %in_column;\n"
    "    @!%inside bra END;\n"
    "    mad.lo.u32 %i, %row, %columns, %column;\n"
    "    mad.wide.u32 %at, %i, 4, %out;\n"
    "    st.global.f32 [%at], %sum;\n" PTX_END;

static const char matmul_wgsl[] =
    WGSL_IN(0, "a") WGSL_IN(1, "b") WGSL_OUT(2, "out")
    WGSL_VALUES(3, "rows: u32, columns: u32, inner: u32,\n"
                   "    a_row: u32, a_column: u32, b_row: u32, b_column: u32")
    "var<workgroup> a_tile: array<array<f32, 16>, 16>;\n"
    "var<workgroup> b_tile: array<array<f32, 16>, 16>;\n"
    "@compute @workgroup_size(16, 16)\n"
    "fn tensor_matmul(@builtin(global_invocation_id) item: vec3<u32>,\n"
    "                 @builtin(local_invocation_id) place: vec3<u32>) {\n"
    "    let column = item.x;\n"
    "    let row = item.y;\n"
    "    var sum = 0.0;\n"
    "    for (var first = 0u; first < v.inner; first += 16u) {\n"
    "        let a_k = first + place.x;\n"
    "        let b_k = first + place.y;\n"
    "        var a_here = 0.0;\n"
    "        var b_here = 0.0;\n"
    "        if (row < v.rows && a_k < v.inner) {\n"
    "            a_here = a[row * v.a_row + a_k * v.a_column];\n"
    "        }\n"
    "        if (column < v.columns && b_k < v.inner) {\n"
    "            b_here = b[b_k * v.b_row + column * v.b_column];\n"
    "        }\n"
    "        a_tile[place.y][place.x] = a_here;\n"
    "        b_tile[place.y][place.x] = b_here;\n"
    "        workgroupBarrier();\n"
    "        for (var k = 0u; k < 16u; k++) {\n"
    "            sum += a_tile[place.y][k] * b_tile[k][place.x];\n"
    "        }\n"
    "        workgroupBarrier();\n"
    "    }\n"
    "    if (row < v.rows && column < v.columns) { out[row * v.columns + column] = sum; }\n"
    "}\n";

const acu_program_source tensor_matmul_source = {
    .name = "tensor_matmul",
    .cpu = matmul,
    .ptx = matmul_ptx,
    .wgsl = matmul_wgsl,
    .group = {16, 16, 1},
};
