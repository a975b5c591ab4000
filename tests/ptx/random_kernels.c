/*
 * Random kernels (random_kernels.h), compared with what a GPU computed. A program of the driver
 * API, which runs on a GPU as on the simulator (how the answers were got: README.md):
 *
 *     ptx_random_kernels ANSWERS LIBRARY                compare all kernels of the answers
 *     ptx_random_kernels - LIBRARY numbers FIRST COUNT  print a number of what each logs
 *     ptx_random_kernels - LIBRARY parts FIRST COUNT    print one of what each statement logs
 *     ptx_random_kernels PARTS LIBRARY ask FIRST COUNT  print what differs from those parts
 *     ptx_random_kernels - LIBRARY logged NUMBER STATEMENT   print what a statement logs
 *     ptx_random_kernels - LIBRARY sampled FIRST COUNT  print where samples are taken, and of what
 *     ptx_random_kernels - write NUMBER                 print the kernel
 *     ptx_random_kernels - texts FIRST COUNT            print a number of all kernels' texts and
 * images
 *
 * Numbers are printed for all of the compiler's optimizations, and for none.
 */
#include "random_kernels.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_LOG = 2 * LOG_BYTES, /* with the places of samples */
    OUT_BYTES = LANES * (MOST_LOG + OWN_GLOBAL) + BLOCKS * THREADS / 32 * WARP_BYTES,
    MOST_DEPTH = 2,
    FAILED = 3, /* the program's code where a kernel failed */
};

static FILE *file;
static uint64_t random_state;
static unsigned label_count, statements_left;

/* What a statement logs, and where its text is. */
static struct part {
    unsigned at, bytes; /* in the log of a thread */
    long begin, end;
    const statement *of;
} parts[MOST_STATEMENTS];
static unsigned part_count, logged;

static bool logs_places;                           /* samples log where they are taken */
static unsigned log_step = LOG_BYTES, place_bytes; /* of a thread; what places take of it */

/* ---- chance ---- */

/* Each draw is a statement or a declarator of its own: which of two that are in one expression
 * comes first would be the compiler's choice. */
unsigned below(unsigned limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 33) % limit;
}

bool one_of(unsigned n) {
    return below(n) == 0;
}

/* ---- values ---- */

static const struct {
    unsigned bytes, exponent, fraction; /* exponent 0: an integer */
} formats[FORMATS] = {{2, 5, 10}, {2, 8, 7}, {4, 8, 23}, {8, 11, 52},
                      {1, 4, 3},  {1, 5, 2}, {4, 0, 0}};

static uint64_t some_bits(unsigned count) {
    const uint64_t high = below(1u << 31), low = below(1u << 31);
    return (high << 33 ^ low << 4 ^ high >> 7) & (UINT64_MAX >> (64 - count));
}

static uint64_t some_float(format of, kind which) {
    const unsigned width = formats[of].exponent, most = (1u << width) - 1, bias = most / 2;
    const unsigned choice = below(64);
    uint64_t fraction = some_bits(formats[of].fraction);
    const uint64_t sign = below(2);
    unsigned exponent = below(most);
    if (which == NEAR)
        exponent = bias - 3 + below(6);
    else if (which == FAR && width > 5)
        exponent = bias - 24 + below(48);
    if (choice < 3) /* zeros, and numbers with all bits or none */
        exponent = 0, fraction = 0;
    else if (choice < 5)
        fraction = 0;
    else if (choice < 7)
        fraction = (UINT64_C(1) << formats[of].fraction) - 1;
    else if (choice < 10 && which != NEAR)
        exponent = 0;
    else if (choice == 10 && which == ANY)
        exponent = most, fraction = one_of(2) ? 0 : fraction;
    if (of == E4M3 && which != ANY && exponent == most && fraction == 7) /* it has one NaN alone */
        fraction = 6;
    return ((sign << width) + exponent) << formats[of].fraction | fraction;
}

static uint64_t some_integer(kind which) {
    static const uint32_t edges[] = {0,          1,          0xffffffff, 0x80000000,
                                     0x7fffffff, 0x80808080, 0x7f7f7f7f, 0x88888888,
                                     0x77777777, 0x00ff00ff, 0x01010101, 31};
    const unsigned bits = 1 + below(32);
    return one_of(8) ? edges[below(sizeof edges / sizeof *edges)]
                     : some_bits(which == NEAR ? bits : 32);
}

void fill_input(unsigned char *input) {
    random_state = 20261129;
    for (unsigned n = 0; n < FORMATS * KINDS; n++) {
        const format of = (format)(n / KINDS);
        unsigned char *const to = input + (size_t)n * REGION_STEP;
        const unsigned bytes = n + 1 < FORMATS * KINDS ? REGION_STEP : INPUT - n * REGION_STEP;
        for (unsigned at = 0; at < bytes; at += formats[of].bytes) {
            const kind which = (kind)(n % KINDS);
            const uint64_t value = of == BITS ? some_integer(which) : some_float(of, which);
            memcpy(to + at, &value, formats[of].bytes);
        }
    }
}

/* ---- texts ---- */

void put(const char *pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    vfprintf(file, pattern, arguments);
    va_end(arguments);
}

void put_list(char letter, unsigned first, unsigned count) {
    for (unsigned n = 0; n < count; n++)
        put("%s%%%c%u", n ? ", " : "{", letter, first + n);
    put("}");
}

void put_operand(char letter, unsigned first, unsigned count) {
    if (count > 1)
        put_list(letter, first, count);
    else
        put("%%%c%u", letter, first);
}

unsigned new_label(void) {
    return label_count++;
}

static unsigned bank_size(char letter) {
    return letter == 'r' ? NARROW : letter == 'd' ? WIDE_COUNT : HALVES;
}

static unsigned bank_bytes(char letter) {
    return letter == 'd' ? 8 : letter == 'h' ? 2 : 4;
}

unsigned any(char letter, unsigned count) {
    return below(bank_size(letter) - count + 1);
}

void put_values(char letter, unsigned first, unsigned count, format of, kind which) {
    const unsigned bytes = bank_bytes(letter), at = below(REGION / 16), step = 1 + 2 * below(200);
    const unsigned region = ((unsigned)of * KINDS + which) * REGION_STEP;
    put("mad.lo.u32 %%x1, %%x0, %u, %u;\nand.b32 %%x1, %%x1, %u;\nmad.wide.u32 %%y2, %%x1, 16, "
        "%%y0;\n",
        step, at, REGION / 16 - 1);
    for (unsigned n = 0; n < count;) {
        const unsigned left = count - n, most = 16 / bytes > 4 ? 4 : 16 / bytes;
        const unsigned together = left >= most && n % most == 0 ? most : 1;
        put("ld.global%s.b%u ", together == 4 ? ".v4" : together == 2 ? ".v2" : "", 8 * bytes);
        put_operand(letter, first + n, together);
        put(", [%%y2+%u];\n", region + n * bytes);
        n += together;
    }
}

void put_log(char letter, unsigned first, unsigned count) {
    const unsigned bytes = bank_bytes(letter);
    logged = (logged + bytes - 1) / bytes * bytes;
    for (unsigned n = 0; n < count; n++, logged += bytes)
        put("st.global.b%u [%%y5+%u], %%%c%u;\n", 8 * bytes, logged, letter, first + n);
}

void put_place_log(void) {
    const unsigned before = logged;
    if (!logs_places)
        return;
    put_log('f', 0, 3);
    put_log('x', 4, 1);
    place_bytes += logged - before;
}

void put_guard(scope of) {
    if (!one_of(4))
        return;
    const unsigned flag = below(FLAGS);
    const char *const negated = one_of(2) ? "!" : "";
    put("@%s%%%c%u ", negated, of == LANE ? 'p' : of == WARP ? 'w' : 'b', flag);
}

/* ---- statements ---- */

static const statement *const lists[] = {product_statements, memory_statements, copy_statements,
                                         sample_statements};
static const statement *const wide_lists[] = {
    product_statements, memory_statements, copy_statements,  surface_statements,
    access_statements,  flow_statements,   async_statements, sparse_statements};
static const statement *const apart_lists[] = {apart_statements, flow_statements,
                                               access_statements};
static const statement *const rounded_lists[] = {rounded_statements};
static const struct {
    uint64_t first; /* kernel that has statements of these lists */
    const statement *const *lists;
    size_t count;
} list_sets[] = {{FIRST_ROUNDED, rounded_lists, sizeof rounded_lists / sizeof *rounded_lists},
                 {FIRST_APART, apart_lists, sizeof apart_lists / sizeof *apart_lists},
                 {FIRST_WIDE, wide_lists, sizeof wide_lists / sizeof *wide_lists},
                 {0, lists, sizeof lists / sizeof *lists}};
static size_t list_set;
bool is_wide;
static bool is_apart;

/* Returns a statement that may be where those of the scope come together. */
static const statement *any_statement(scope of) {
    const statement *const *const of_lists = list_sets[list_set].lists;
    const size_t list_count = list_sets[list_set].count;
    unsigned total = 0, chosen;
    for (int counts = 1;; counts = 0) {
        chosen = counts ? 0 : below(total);
        for (size_t n = 0; n < list_count; n++)
            for (const statement *s = of_lists[n]; s->put; s++) {
                if (s->of > of)
                    continue;
                if (counts)
                    total += s->weight;
                else if (chosen < s->weight)
                    return s;
                else
                    chosen -= s->weight;
            }
    }
}

static void put_statements(scope of, unsigned depth, unsigned count);

/* A branch of the lanes, warps or blocks that have a flag; they are together again behind it. */
static void put_choice(scope of, unsigned depth) {
    const unsigned label = new_label(), flag = below(FLAGS);
    const scope within = (scope)below(of + 1u);
    put("@!%%%c%u bra ELSE%u;\n", within == LANE ? 'p' : within == WARP ? 'w' : 'b', flag, label);
    put_statements(within, depth + 1, 1 + below(3));
    if (one_of(2)) {
        put("bra END%u;\nELSE%u:\n", label, label);
        put_statements(within, depth + 1, 1 + below(3));
    } else {
        put("ELSE%u:\n", label);
    }
    put("END%u:\n", label);
    if (of >= WARP)
        put("bar.warp.sync 0xffffffff;\n");
}

/* A loop that goes round up to three times, as often for all of the scope. */
static void put_loop(scope of, unsigned depth) {
    const unsigned label = new_label(), flag = below(FLAGS);
    const char letter = (char)(of == LANE ? 'p' : of == WARP ? 'w' : 'b');
    put("{\n.reg .b32 %%c%u;\n.reg .pred %%k%u;\nselp.u32 %%c%u, 2, 1, %%%c%u;\nLOOP%u:\n", label,
        label, label, letter, flag, label);
    put_statements(of, depth + 1, 1 + below(3));
    put("sub.s32 %%c%u, %%c%u, 1;\nsetp.ge.s32 %%k%u, %%c%u, 0;\n@%%k%u bra LOOP%u;\n}\n", label,
        label, label, label, label, label);
    if (of >= WARP)
        put("bar.warp.sync 0xffffffff;\n");
}

/* Returns whether the log is about full, places aside: with them a kernel has the same statements.
 */
static bool is_full(void) {
    return logged - place_bytes >= LOG_BYTES - (is_apart ? 512u : 256u);
}

static void put_part(const statement *(*choose)(scope), scope of) {
    struct part *const part = &parts[part_count++];
    fflush(file);
    part->begin = ftell(file);
    put("// %u\n", part_count - 1);
    part->at = logged = (logged + 7) / 8 * 8;
    part->of = choose(of);
    part->of->put();
    part->bytes = logged - part->at;
    fflush(file);
    part->end = ftell(file);
}

static const statement *endings(scope of) {
    static const statement one = {put_endings, CLUSTER, 1};
    (void)of;
    return &one;
}

static void put_statements(scope of, unsigned depth, unsigned count) {
    for (; count && statements_left && !is_full(); count--) {
        const unsigned way = below(20);
        if (depth < MOST_DEPTH && way == 0) {
            put_choice(of, depth);
            continue;
        }
        if (depth < MOST_DEPTH && way == 1) {
            put_loop(of, depth);
            continue;
        }
        statements_left--;
        put_part(any_statement, of);
    }
}

/* ---- a kernel ---- */

/* Flags of a warp and of all blocks are such that the compiler does not know it: bits of numbers
 * of the input. */
static void put_flags(void) {
    const unsigned at = 8 * below(REGION / 16), region = (BITS * KINDS + ANY) * REGION_STEP;
    put("mad.wide.u32 %%y2, %%gw, 4, %%y0;\nld.global.b32 %%x1, [%%y2+%u];\nld.global.b32 %%x2, "
        "[%%y0+%u];\n",
        region + at, region + at / 2);
    for (unsigned n = 0; n < FLAGS; n++)
        put("and.b32 %%x3, %%x1, %u;\nsetp.ne.u32 %%w%u, %%x3, 0;\nand.b32 %%x3, %%x2, "
            "%u;\nsetp.ne.u32 %%b%u, %%x3, 0;\n"
            "and.b32 %%x3, %%x0, %u;\nsetp.ne.u32 %%p%u, %%x3, 0;\n",
            1u << n, n, 16u << n, n, 1u << n, n);
}

static void put_addresses(void) {
    put("ld.param.u64 %%y0, [in];\nld.param.u64 %%y1, [out];\nld.param.u64 %%y7, "
        "[images];\nmov.u32 %%ti, %%tid.x;\nmov.u32 %%x1, %%ctaid.x;\n"
        "xor.b32 %%other, %%x1, 1;\nmad.lo.u32 %%x0, %%x1, %u, %%ti;\nand.b32 %%lane, %%ti, "
        "31;\nshr.u32 %%gw, %%x0, 5;\n"
        "setp.eq.u32 %%l0, %%lane, 0;\nmov.u32 %%ph, 0;\n",
        (unsigned)THREADS);
    put("mad.wide.u32 %%y5, %%x0, %u, %%y1;\nadd.u64 %%y4, %%y1, %u;\nmad.wide.u32 %%y4, %%gw, %u, "
        "%%y4;\n"
        "add.u64 %%y1, %%y1, %u;\nmad.wide.u32 %%y1, %%x0, %u, %%y1;\n",
        log_step, LANES * (log_step + OWN_GLOBAL), (unsigned)WARP_BYTES, LANES * log_step,
        (unsigned)OWN_GLOBAL);
    put("mov.u32 %%im, image;\nmov.u32 %%lo, local;\nmov.u32 %%so, own;\nmov.u32 %%x1, "
        "far;\nshl.b32 %%x2, %%ti, 6;\n"
        "add.u32 %%so, %%so, %%x2;\nadd.u32 %%x1, %%x1, %%x2;\nmapa.shared::cluster.u32 %%ro, "
        "%%x1, %%other;\n"
        "mov.u32 %%mb, members;\nshl.b32 %%x2, %%ti, 3;\nadd.u32 %%mb, %%mb, %%x2;\n"
        "shr.u32 %%x2, %%ti, 5;\nmov.u32 %%wb, warps;\nmad.lo.u32 %%wb, %%x2, 8, %%wb;\n"
        "mov.u32 %%ws, places;\nmad.lo.u32 %%ws, %%x2, %u, %%ws;\n@%%l0 mbarrier.init.shared.b64 "
        "[%%wb], 1;\n"
        "fence.mbarrier_init.release.cluster;\n",
        (unsigned)WARP_BYTES);
}

/* Fills all memory and all registers. */
static void put_first_values(void) {
    for (unsigned n = 0; n < OWN; n += 16) {
        put_values('r', 0, 8, BITS, ANY);
        put("st.shared.v4.b32 [%%so+%u], {%%r0, %%r1, %%r2, %%r3};\nst.local.v4.b32 [%%lo+%u], "
            "{%%r1, %%r2, %%r3, %%r4};\n"
            "st.global.v4.b32 [%%y1+%u], {%%r2, %%r3, %%r4, %%r5};\nst.shared::cluster.v4.b32 "
            "[%%ro+%u], {%%r3, %%r4, %%r5, %%r6};\n",
            n, n, n, n);
    }
    for (unsigned n = 0; n < WARP_BYTES; n += 512) {
        put_values('r', 0, 4, BITS, ANY);
        put("mad.lo.u32 %%x1, %%lane, 16, %u;\nadd.u32 %%x1, %%x1, %%ws;\nst.shared.v4.b32 [%%x1], "
            "{%%r0, %%r1, %%r2, %%r3};\n",
            n);
    }
    for (unsigned n = 0; n < NARROW; n += 8)
        put_values('r', n, 8, BITS, ANY);
    for (unsigned n = 0; n < WIDE_COUNT; n += 8)
        put_values('d', n, 8, F64, ANY);
    for (unsigned n = 0; n < HALVES; n += 4)
        put_values('h', n, 4, F16, ANY);
}

static void put_kernel(uint64_t number) {
    random_state = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    label_count = part_count = logged = place_bytes = 0;
    statements_left = 60;
    for (list_set = 0; number < list_sets[list_set].first;)
        list_set++;
    is_wide = number >= FIRST_WIDE;
    is_apart = list_sets[list_set].lists == apart_lists;
    choose_images();
    put(".version 8.8\n.target sm_90a\n.address_size 64\n");
    if (is_wide)
        put_functions();
    if (is_apart)
        put_apart_functions();
    put(".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 images");
    if (is_wide)
        put(", .param .align 16 .b8 bytes[%u]", (unsigned)PARAMETER);
    put(")\n"
        ".explicitcluster\n.reqnctapercluster %u, 1, 1\n.maxntid %u, 1, 1\n{\n.reg .b32 "
        "%%r<%u>;\n.reg .b64 %%d<%u>;\n.reg .b16 %%h<%u>;\n",
        (unsigned)BLOCKS, (unsigned)THREADS, (unsigned)NARROW, (unsigned)WIDE_COUNT,
        (unsigned)HALVES);
    put(".reg .pred %%p<%u>, %%w<%u>, %%b<%u>, %%l0;\n.reg .b32 %%x<8>, %%ti, %%lane, %%gw, "
        "%%other, %%so, %%lo, %%ro, %%ws, %%im, %%mb, %%wb, %%ph;\n"
        ".reg .b64 %%y<8>;\n.reg .f32 %%f<4>;\n.reg .b32 %%i<4>;\n",
        (unsigned)FLAGS, (unsigned)FLAGS, (unsigned)FLAGS);
    put(".shared .align 1024 .b8 image[%u];\n.shared .align 128 .b8 places[%u];\n.shared .align 16 "
        ".b8 own[%u];\n"
        ".shared .align 16 .b8 far[%u];\n.shared .align 8 .b8 members[%u];\n.shared .align 8 .b8 "
        "warps[%u];\n.local .align 16 .b8 local[%u];\n",
        (unsigned)IMAGE_BYTES, (unsigned)(THREADS / 32 * WARP_BYTES), (unsigned)(THREADS * OWN),
        (unsigned)(THREADS * OWN), (unsigned)(THREADS * 8), (unsigned)(THREADS / 32 * 8),
        (unsigned)OWN);
    put_addresses();
    put("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
    put_first_values();
    put_flags();
    put("fence.proxy.async;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
    while (statements_left && !is_full())
        put_statements(CLUSTER, 0, statements_left);
    put("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
    if (is_apart)
        put_part(endings, CLUSTER);
    put("ret;\n}\n");
}

static char *text_of(uint64_t number) {
    char *text = NULL;
    size_t size = 0;
    file = open_memstream(&text, &size);
    put_kernel(number);
    fclose(file);
    return text;
}

/* ---- numbers ---- */

static uint64_t add_bytes(uint64_t number, const unsigned char *bytes, size_t size) {
    for (size_t n = 0; n < size; n++)
        number = (number ^ bytes[n]) * UINT64_C(0x100000001b3);
    return number;
}

static uint64_t add_image(uint64_t number, const image *i) {
    char what[512];
    const int size = snprintf(
        what, sizeof what,
        "%d %u %u %u %u %u %u %d %d %d %d %d %d %d %d %u %a %a %a %a %a %a %a %d %d %d\n",
        (int)i->shape, i->format, i->channels, i->width, i->height, i->depth, i->levels,
        i->is_surface, i->normalized, i->as_integer, i->linear, i->linear_levels, i->gathers,
        i->srgb, i->seamless, i->anisotropy, i->bias, i->least, i->most, i->border[0], i->border[1],
        i->border[2], i->border[3], i->modes[0], i->modes[1], i->modes[2]);
    return add_bytes(number, (const unsigned char *)what, (size_t)size);
}

static uint64_t number_of_part(const unsigned char *log, const struct part *part) {
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (unsigned lane = 0; lane < LANES; lane++)
        number = add_bytes(number, log + (size_t)lane * log_step + part->at, part->bytes);
    return number;
}

static uint64_t number_of(const unsigned char *log) {
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (unsigned n = 0; n < part_count; n++) {
        const uint64_t one = number_of_part(log, &parts[n]);
        number = add_bytes(number, (const unsigned char *)&one, sizeof one);
    }
    return number;
}

static unsigned char log_bytes[LANES * MOST_LOG];
static char *text; /* of the kernel that ran */

/* Runs a kernel; ends the program if it fails. */
static uint64_t run(uint64_t number, unsigned level) {
    free(text);
    text = text_of(number);
    const int code = device_run(text, level, log_bytes, (size_t)LANES * log_step, OUT_BYTES);
    if (code) {
        printf("%llu fails: %d\n", (unsigned long long)number, code);
        fflush(stdout);
        exit(FAILED);
    }
    return number_of(log_bytes);
}

/* ---- commands ---- */

/* Prints one number of the texts of kernels and of their images, which is the same by whatever
 * compiler this program was made. */
static void print_texts(uint64_t first, uint64_t count) {
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (uint64_t number = first; number < first + count; number++) {
        free(text);
        text = text_of(number);
        sum = add_bytes(sum, (const unsigned char *)text, strlen(text));
        for (unsigned n = 0; n < IMAGES; n++)
            sum = add_image(sum, &images[n]);
    }
    printf("%016llx\n", (unsigned long long)sum);
}

static int print_numbers(uint64_t first, uint64_t count) {
    for (uint64_t number = first; number < first + count; number++) {
        const unsigned long long best = run(number, 4), plain = run(number, 0);
        printf("%llu %016llx %016llx\n", (unsigned long long)number, best, plain);
        fflush(stdout);
    }
    return 0;
}

static unsigned short_part(unsigned n) {
    return (unsigned)(number_of_part(log_bytes, &parts[n]) & 0xffffff);
}

/* Prints the text of a part and what lanes logged. */
static void print_logged(uint64_t number, unsigned part) {
    printf("kernel %llu statement %u logs %u:\n%.*s", (unsigned long long)number, part,
           parts[part].bytes, (int)(parts[part].end - parts[part].begin), text + parts[part].begin);
    for (unsigned lane = 0; lane < LANES; lane++) {
        const unsigned char *const at = log_bytes + (size_t)lane * log_step + parts[part].at;
        printf("lane %u ", lane);
        for (unsigned n = 0; n < parts[part].bytes; n++)
            printf("%s%02x", n % 4 ? "" : " ",
                   at[n ^ 3u] * (parts[part].bytes % 4 == 0) +
                       at[n] * (parts[part].bytes % 4 != 0));
        printf("\n");
    }
}

static void print_images(uint64_t number) {
    for (unsigned n = 0; n < TEXTURES; n++) {
        const image *const i = &images[n];
        printf("kernel %llu image %u shape %u format %u channels %u size %u %u %u levels %u "
               "normalized %d integer %d linear %d %d srgb %d seamless %d anisotropy %u bias %g "
               "least %g most %g modes %d %d %d\n",
               (unsigned long long)number, n, i->shape, i->format, i->channels, i->width, i->height,
               i->depth, i->levels, i->normalized, i->as_integer, i->linear, i->linear_levels,
               i->srgb, i->seamless, i->anisotropy, (double)i->bias, (double)i->least,
               (double)i->most, i->modes[0], i->modes[1], i->modes[2]);
    }
}

/* Prints a kernel's textures and samples; behind what a sample returned is where it was taken. */
static int print_samples(uint64_t first, uint64_t count) {
    logs_places = true;
    log_step = MOST_LOG;
    for (uint64_t number = first; number < first + count; number++) {
        run(number, 4);
        print_images(number);
        for (unsigned n = 0; n < part_count; n++)
            if (parts[n].of->put == sample_statements->put)
                print_logged(number, n);
    }
    return 0;
}

static void print_parts_of(uint64_t number) {
    printf("%llu", (unsigned long long)number);
    for (unsigned n = 0; n < part_count; n++)
        printf(" %06x", short_part(n));
    printf("\n");
}

static int print_parts(uint64_t first, uint64_t count) {
    for (uint64_t number = first; number < first + count; number++) {
        run(number, 4);
        print_parts_of(number);
    }
    return 0;
}

/* Runs the kernels whose parts a line of the file has; prints their numbers, and where a statement
 * logs something else, the parts, what the first such statement logs, and the number without
 * optimizations. */
static int ask(FILE *expected, uint64_t first, uint64_t count) {
    static char line[16 * MOST_STATEMENTS];
    while (fgets(line, sizeof line, expected)) {
        char *at;
        const uint64_t number = strtoull(line, &at, 10);
        if (number < first || number >= first + count)
            continue;
        const unsigned long long best = run(number, 4);
        printf("%llu %016llx\n", (unsigned long long)number, best);
        unsigned n = 0;
        while (n < part_count && strtoul(at, &at, 16) == short_part(n))
            n++;
        if (n < part_count) {
            printf("parts ");
            print_parts_of(number);
            print_logged(number, n);
            fflush(stdout);
            printf("plain %016llx\n", (unsigned long long)run(number, 0));
        }
        fflush(stdout);
    }
    return 0;
}

static int compare(FILE *answers) {
    char line[128];
    unsigned same = 0, differ = 0;
    while (fgets(line, sizeof line, answers)) {
        char *end;
        const uint64_t number = strtoull(line, &end, 10);
        if (run(number, 4) == strtoull(end, NULL, 16)) {
            same++;
            continue;
        }
        printf("kernel %llu differs\n", (unsigned long long)number);
        differ++;
    }
    printf("%u kernels agree with a GPU, %u differ\n", same, differ);
    return differ || !same;
}

static int use_device(int argc, char **argv, FILE *answers) {
    device_open(argv[2]);
    if (argc == 3 && answers)
        return compare(answers);
    if (argc != 6)
        return 2;
    const uint64_t first = strtoull(argv[4], NULL, 10), second = strtoull(argv[5], NULL, 10);
    if (strcmp(argv[3], "logged") == 0) {
        run(first, 4);
        print_logged(first, (unsigned)second);
        return 0;
    }
    if (strcmp(argv[3], "sampled") == 0)
        return print_samples(first, second);
    return strcmp(argv[3], "ask") == 0 && answers ? ask(answers, first, second)
           : strcmp(argv[3], "parts") == 0        ? print_parts(first, second)
                                                  : print_numbers(first, second);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    FILE *const answers = strcmp(argv[1], "-") == 0 ? NULL : fopen(argv[1], "r");
    int result = 0;
    if (argc == 4 && strcmp(argv[2], "write") == 0) {
        text = text_of(strtoull(argv[3], NULL, 10));
        fputs(text, stdout);
    } else if (argc == 5 && strcmp(argv[2], "texts") == 0) {
        print_texts(strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
    } else {
        result = use_device(argc, argv, answers);
    }
    if (answers)
        fclose(answers);
    free(text);
    return result;
}
