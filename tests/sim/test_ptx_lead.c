/* Accesses whose addresses are in one register: what the first one finds counts for the others only
 * as long as the register and the lanes are the same. Several warps execute each kernel, because
 * the first one finds how the lanes lie, which those behind it compare with. */
#include "ptx_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 4096, THREADS = 256, RESULT = 2048, OTHER = 3072 };

static uint32_t words[WORDS], expected[WORDS];

static void begin_words(void) {
    for (uint32_t n = 0; n < WORDS; n++)
        words[n] = expected[n] = n * UINT32_C(2654435761);
}

static void check_words(const char *text) {
    run(text, 1, THREADS, words, WORDS);
    assert_memory_equal(words, expected, sizeof words);
}

#define KERNEL                                                                                     \
    HEAD ".entry k(.param .u64 p) {\n.reg .b32 %r<40>; .reg .b64 %d<20>; .reg .pred %p<8>;\n"      \
         ".reg .b16 %h<8>;\n.shared .align 8 .b8 s[4096];\n"                                       \
         "ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n"
/* The address of the thread's word in %d2. */
#define OWN_WORD "mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d1, %d2;\n"

/* Each thread adds up four words of others, and writes two, for lanes that lie in each way: one
 * behind the other, at one place, in two rows, at two places, and anyhow. */
TEST(lanes_lie_in_all_ways) {
    static const char *const places[] = {
        "mov.u32 %r2, %r1;\n", "mov.u32 %r2, 5;\n",
        "and.b32 %r2, %r1, 15;\nshr.u32 %r3, %r1, 4;\nmad.lo.u32 %r2, %r3, 40, %r2;\n",
        "shr.u32 %r2, %r1, 4;\nmul.lo.u32 %r2, %r2, 3;\n",
        "mul.lo.u32 %r2, %r1, 13;\nand.b32 %r2, %r2, 63;\n"};
    for (unsigned way = 0; way < 5; way++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s%s", KERNEL, places[way],
                 "mul.wide.u32 %d3, %r2, 4;\nadd.u64 %d3, %d1, %d3;\n" OWN_WORD
                 "ld.global.u32 %r4, [%d3];\nld.global.u32 %r5, [%d3+4];\n"
                 "ld.global.u32 %r6, [%d3+256];\nld.global.u32 %r7, [%d3+12];\n",
                 "add.u32 %r4, %r4, %r5;\nadd.u32 %r4, %r4, %r6;\nadd.u32 %r4, %r4, %r7;\n"
                 "st.global.u32 [%d2+8192], %r4;\nst.global.u32 [%d2+12288], %r6;\nret;\n}\n");
        begin_words();
        for (unsigned lane = 0; lane < THREADS; lane++) {
            const unsigned at = way == 0   ? lane
                                : way == 1 ? 5
                                : way == 2 ? lane / 16 * 40 + lane % 16
                                : way == 3 ? lane / 16 * 3
                                           : lane * 13 % 64;
            expected[RESULT + lane] = words[at] + words[at + 1] + words[at + 64] + words[at + 3];
            expected[OTHER + lane] = words[at + 64];
        }
        check_words(text);
    }
}

/* A list: each element has the address of the next one, which takes the place of its own. */
TEST(a_load_that_changes_its_address) {
    CUmodule module = load_text(KERNEL "mad.wide.u32 %d2, %r1, 16, %d1;\n"
                                       "ld.global.u32 %r2, [%d2+8];\nld.global.u64 %d2, [%d2];\n"
                                       "ld.global.u32 %r3, [%d2+8];\nld.global.u64 %d2, [%d2];\n"
                                       "ld.global.u32 %r4, [%d2+8];\nld.global.u32 %r5, [%d2+12];\n"
                                       "mad.lo.u32 %r2, %r2, 64, %r3;\n"
                                       "mad.lo.u32 %r2, %r2, 64, %r4;\nadd.u32 %r2, %r2, %r5;\n"
                                       "mad.wide.u32 %d3, %r1, 16, %d1;\n"
                                       "st.global.u32 [%d3+4096], %r2;\nret;\n}\n");
    CUdeviceptr at;
    void *args[] = {&at};
    OK(cuMemAlloc(&at, 8192));
    for (unsigned n = 0; n < THREADS; n++) {
        const CUdeviceptr next = at + (n * 7 + 3) % THREADS * 16;
        memcpy(&words[4 * (size_t)n], &next, sizeof next);
        words[4 * n + 2] = n;
        words[4 * n + 3] = 1000 * n;
    }
    OK(cuMemcpyHtoD(at, words, 4096));
    OK(launch(module, "k", 1, THREADS, args));
    OK(cuMemcpyDtoH(words, at + 4096, 4096));
    for (unsigned n = 0; n < THREADS; n++) {
        const unsigned second = (n * 7 + 3) % THREADS, third = (second * 7 + 3) % THREADS;
        assert_int_equal(words[4 * n], (n * 64 + second) * 64 + third + 1000 * third);
    }
    OK(cuMemFree(at));
    OK(cuModuleUnload(module));
}

/* A loop begins behind the first access: when it goes round, that has not happened again. */
TEST(a_loop_that_begins_between_accesses) {
    begin_words();
    for (unsigned lane = 0; lane < THREADS; lane++) {
        uint32_t sum = words[lane + 16];
        for (unsigned round = 0; round < 20; round++)
            sum = sum * 3 + words[lane + 17 + 33 * round];
        expected[RESULT + lane] = sum;
    }
    check_words(KERNEL OWN_WORD
                "add.u64 %d3, %d2, 64;\nmov.u32 %r3, 0;\nld.global.u32 %r2, [%d3];\n"
                "L:\nld.global.u32 %r4, [%d3+4];\nmad.lo.u32 %r2, %r2, 3, %r4;\n"
                "add.u64 %d3, %d3, 132;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 20;\n"
                "@%p1 bra L;\nst.global.u32 [%d2+8192], %r2;\nret;\n}\n");
}

/* A guarded addition changes the address of some lanes, or of all. */
TEST(an_address_that_some_lanes_change) {
    begin_words();
    for (unsigned lane = 0; lane < THREADS; lane++)
        expected[RESULT + lane] =
            words[lane] ^ words[lane + 1 + (lane % 3 ? 100 : 0)] * 5 ^ words[lane + 210] * 7;
    check_words(KERNEL OWN_WORD
                "mov.u64 %d3, %d2;\nrem.u32 %r3, %r1, 3;\nsetp.ne.u32 %p1, %r3, 0;\n"
                "setp.ne.u32 %p2, %r3, 5;\nld.global.u32 %r2, [%d3];\n"
                "@%p1 add.u64 %d3, %d3, 400;\nld.global.u32 %r4, [%d3+4];\n"
                "@%p2 add.u64 %d3, %d2, 800;\nld.global.u32 %r5, [%d3+40];\n"
                "mul.lo.u32 %r4, %r4, 5;\nmul.lo.u32 %r5, %r5, 7;\nxor.b32 %r2, %r2, %r4;\n"
                "xor.b32 %r2, %r2, %r5;\nst.global.u32 [%d2+8192], %r2;\nret;\n}\n");
}

/* Between two accesses by one register lanes lie in three hundred other ways, more than are kept.
 */
TEST(other_ways_take_the_place_of_the_first_one) {
    static char text[131072];
    size_t length = 0;
    begin_words();
    uint32_t sums[THREADS];
    length +=
        (size_t)snprintf(text, sizeof text, "%s", KERNEL OWN_WORD "ld.global.u32 %r2, [%d2];\n");
    for (unsigned lane = 0; lane < THREADS; lane++)
        sums[lane] = words[lane];
    for (unsigned n = 0; n < 300; n++) {
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "mul.lo.u32 %%r3, %%r1, %u;\nand.b32 %%r3, %%r3, 511;\n"
                                   "mad.wide.u32 %%d3, %%r3, 4, %%d1;\n"
                                   "ld.global.u32 %%r4, [%%d3+%u];\n"
                                   "ld.global.u32 %%r5, [%%d2+%u];\n"
                                   "mad.lo.u32 %%r2, %%r2, 3, %%r4;\nadd.u32 %%r2, %%r2, %%r5;\n",
                                   2 * n + 3, n * 4, n * 8);
        for (unsigned lane = 0; lane < THREADS; lane++)
            sums[lane] = sums[lane] * 3 + words[lane * (2 * n + 3) % 512 + n] + words[lane + 2 * n];
    }
    snprintf(text + length, sizeof text - length, "st.global.u32 [%%d2+8192], %%r2;\nret;\n}\n");
    memcpy(&expected[RESULT], sums, sizeof sums);
    check_words(text);
}

/* Halves of a warp, of which the second has lanes that ended, use one register in turn. */
TEST(lanes_that_are_apart) {
    begin_words();
    for (unsigned n = 0; n < THREADS; n++)
        if (n % 32 < 28)
            expected[RESULT + n] = n % 32 < 14 ? words[n + 1] * 3 + words[n + 2] + words[n + 9]
                                               : words[n + 3] * 5 + words[n + 4] + words[n + 9];
    check_words(KERNEL OWN_WORD
                "and.b32 %r6, %r1, 31;\nsetp.ge.u32 %p1, %r6, 28;\n@%p1 exit;\n"
                "setp.ge.u32 %p2, %r6, 14;\n"
                "@%p2 bra S;\nld.global.u32 %r2, [%d2+4];\nld.global.u32 %r3, [%d2+8];\n"
                "mad.lo.u32 %r2, %r2, 3, %r3;\nst.global.u32 [%d2+8192], %r2;\nbra E;\n"
                "S:\nld.global.u32 %r2, [%d2+12];\nld.global.u32 %r3, [%d2+16];\n"
                "mad.lo.u32 %r2, %r2, 5, %r3;\nst.global.u32 [%d2+8192], %r2;\n"
                "E:\nld.global.u32 %r4, [%d2+8192];\nld.global.u32 %r5, [%d2+36];\n"
                "add.u32 %r4, %r4, %r5;\nst.global.u32 [%d2+8192], %r4;\nret;\n}\n");
}

/* Elements of other sizes are at the same address, in shared memory by 32 bits and by any space. */
TEST(elements_of_all_sizes) {
    begin_words();
    for (unsigned lane = 0; lane < THREADS; lane++) {
        uint16_t halves[64];
        uint64_t longs[THREADS];
        memcpy(halves, words, sizeof halves);
        memcpy(longs, words, sizeof longs);
        expected[RESULT + lane] = words[2 * lane] + words[2 * lane + 1] * 3 +
                                  halves[4 * (lane % 16)] + (uint32_t)(longs[lane] >> 32) +
                                  words[2 * lane + 1] + words[lane] + (uint16_t)words[lane] +
                                  (uint8_t)words[lane];
    }
    check_words(KERNEL OWN_WORD
                "shl.b32 %r2, %r1, 3;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\n"
                "mad.wide.u32 %d3, %r1, 8, %d1;\nld.global.u32 %r4, [%d3];\n"
                "ld.global.u32 %r5, [%d3+4];\nst.shared.u32 [%r3], %r4;\n"
                "st.shared.u32 [%r3+4], %r5;\nbar.sync 0;\nld.shared.u32 %r6, [%r3];\n"
                "ld.shared.u32 %r7, [%r3+4];\nld.shared.u64 %d4, [%r3];\nand.b32 %r8, %r1, 15;\n"
                "shl.b32 %r8, %r8, 3;\nmov.u32 %r9, s;\nadd.u32 %r8, %r9, %r8;\n"
                "ld.shared.u16 %h1, [%r8];\nld.shared.u32 %r10, [%r8];\ncvt.u32.u16 %r11, %h1;\n"
                "shr.u64 %d4, %d4, 32;\ncvt.u32.u64 %r12, %d4;\ncvt.u64.u32 %d5, %r3;\n"
                "cvta.shared.u64 %d5, %d5;\nld.u32 %r13, [%d5];\nld.u32 %r14, [%d5+4];\n"
                "mad.lo.u32 %r6, %r7, 3, %r6;\nadd.u32 %r6, %r6, %r11;\nadd.u32 %r6, %r6, %r12;\n"
                "add.u32 %r6, %r6, %r14;\nld.global.u32 %r15, [%d2];\nld.global.u16 %h2, [%d2];\n"
                "ld.global.u8 %h3, [%d2];\ncvt.u32.u16 %r16, %h2;\ncvt.u32.u16 %r17, %h3;\n"
                "add.u32 %r6, %r6, %r15;\nadd.u32 %r6, %r6, %r16;\nadd.u32 %r6, %r6, %r17;\n"
                "st.global.u32 [%d2+8192], %r6;\nret;\n}\n");
}

/* What is behind an allocation is a fault also where the access before was none. */
TEST(the_second_access_fails) {
    fault_of(KERNEL OWN_WORD "ld.global.u32 %r2, [%d2];\nst.global.u32 [%d2], %r2;\n"
                             "ld.global.u32 %r3, [%d2+1048576];\nst.global.u32 [%d2], %r3;\n"
                             "ret;\n}\n",
             32, 700);
    fault_of(KERNEL OWN_WORD "ld.global.u32 %r2, [%d2];\nld.global.u32 %r3, [%d2+2];\n"
                             "add.u32 %r3, %r3, %r2;\nst.global.u32 [%d2], %r3;\nret;\n}\n",
             32, 716);
}

/* ---- both ends of shared memory ---- */

enum { ALL = 1024, SHARED = 4 * ALL }; /* threads of the block, and bytes of its shared memory */

/* Two accesses by one register: lanes load their elements at the begin of shared memory, forwards
 * or backwards, and load or store those that are so many bytes behind. */
typedef struct two_accesses {
    unsigned bytes; /* of each element */
    int behind;
    int begin; /* of the register; below 0 the registers of some lanes wrap around */
    bool backwards, stores;
} two_accesses;

static void write_text(char *text, size_t size, const two_accesses *t) {
    const unsigned bits = 8 * t->bytes, turn = t->backwards ? 31 : 0;
    char second[256];
    if (t->stores)
        snprintf(second, sizeof second,
                 "st.shared.u%u [%%r4+%d], %%v1;\nbar.sync 0;\nld.shared.u%u %%v2, [%%r3+%d];\n",
                 bits, t->behind - t->begin, bits, t->behind);
    else
        snprintf(second, sizeof second, "ld.shared.u%u %%v2, [%%r4+%d];\n", bits,
                 t->behind - t->begin);
    snprintf(text, size,
             "%s.reg .b%u %%v<3>;\n%s"
             "ld.global.u32 %%r2, [%%d2];\nmov.u32 %%r3, s;\n"
             "mad.lo.u32 %%r4, %%r1, 4, %%r3;\nst.shared.u32 [%%r4], %%r2;\n"
             "bar.sync 0;\nand.b32 %%r5, %%r1, 31;\nxor.b32 %%r5, %%r5, %u;\nmad.lo.u32 %%r3, "
             "%%r5, %u, %%r3;\nadd.u32 %%r4, %%r3, %d;\n"
             "ld.shared.u%u %%v1, [%%r4+%d];\n%s"
             "cvt.u32.u%u %%r6, %%v1;\ncvt.u32.u%u %%r7, %%v2;\nmad.lo.u32 %%r6, %%r6, 3, %%r7;\n"
             "st.global.u32 [%%d2], %%r6;\nret;\n}\n",
             KERNEL, bits, OWN_WORD, turn, t->bytes, t->begin, bits, -t->begin, second, bits, bits);
}

static uint32_t element_of(const two_accesses *t, unsigned lane, int behind) {
    const unsigned at = (t->backwards ? 31 - lane : lane) * t->bytes + (unsigned)behind;
    uint32_t element = 0;
    memcpy(&element, (const char *)words + at, t->bytes < 4 ? t->bytes : 4);
    return element;
}

static void check_two_accesses(const two_accesses *t) {
    char text[4096];
    write_text(text, sizeof text, t);
    begin_words();
    for (unsigned n = 0; n < ALL; n++)
        expected[n] =
            element_of(t, n % 32, 0) * 3 + element_of(t, n % 32, t->stores ? 0 : t->behind);
    run(text, 1, ALL, words, WORDS);
    assert_memory_equal(words, expected, sizeof words);
}

static void check_fault(const two_accesses *t, int behind, int code) {
    two_accesses other = *t;
    char text[4096];
    other.behind = behind;
    write_text(text, sizeof text, &other);
    fault_of(text, ALL, code);
}

/* The last elements that are there are found, those behind them, those before the first ones and
 * those between two are faults, also where the registers of some lanes are below 0. */
TEST(shared_memory_has_two_ends) {
    for (unsigned way = 0; way < 24; way++) {
        two_accesses t = {.bytes = 2u << way % 3,
                          .begin = way / 3 % 2 ? -16 : 0,
                          .backwards = way / 6 % 2,
                          .stores = way / 12};
        const int bytes = (int)t.bytes, last = SHARED - 32 * bytes;
        for (t.behind = 32 * bytes; t.behind <= last; t.behind += last - 32 * bytes)
            check_two_accesses(&t);
        check_fault(&t, last + bytes, 700);
        check_fault(&t, -bytes, 715); /* which names another block of a cluster */
        check_fault(&t, SHARED, 700);
        check_fault(&t, 32 * bytes + 1, 716);
    }
}

/* Lanes of one warp access the block's shared memory by addresses that are far apart: every second
 * one by an address of the cluster. */
TEST(lanes_have_addresses_of_the_cluster) {
    static const char text[] =
        HEAD ".entry k(.param .u64 p) .reqnctapercluster 2 {\n.reg .b32 %r<12>; .reg .b64 %d<4>;\n"
             ".reg .pred %p<2>;\n.shared .align 4 .b8 s[1024];\nld.param.u64 %d1, [p];\n"
             "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r2, %r2, 256, %r1;\n"
             "mul.wide.u32 %d2, %r2, 4;\nadd.u64 %d2, %d1, %d2;\nld.global.u32 %r3, [%d2];\n"
             "mov.u32 %r4, s;\nmad.lo.u32 %r5, %r1, 4, %r4;\nst.shared.u32 [%r5], %r3;\n"
             "bar.sync 0;\nand.b32 %r6, %r1, 127;\nmad.lo.u32 %r5, %r6, 4, %r4;\n"
             "mov.u32 %r7, %cluster_ctarank;\nmapa.shared::cluster.u32 %r8, %r5, %r7;\n"
             "and.b32 %r6, %r1, 1;\nsetp.eq.u32 %p1, %r6, 0;\nselp.u32 %r8, %r5, %r8, %p1;\n"
             "ld.shared.u32 %r9, [%r8];\nld.shared.u32 %r10, [%r8+4];\n"
             "mad.lo.u32 %r9, %r9, 3, %r10;\nst.global.u32 [%d2], %r9;\nret;\n}\n";
    begin_words();
    for (unsigned n = 0; n < 2 * THREADS; n++) {
        const uint32_t *own = words + n / THREADS * THREADS + n % 128;
        expected[n] = own[0] * 3 + own[1];
    }
    run(text, 2, THREADS, words, WORDS);
    assert_memory_equal(words, expected, sizeof words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(lanes_lie_in_all_ways),
        C(a_load_that_changes_its_address),
        C(a_loop_that_begins_between_accesses),
        C(an_address_that_some_lanes_change),
        C(other_ways_take_the_place_of_the_first_one),
        C(lanes_that_are_apart),
        C(elements_of_all_sizes),
        C(the_second_access_fails),
        C(shared_memory_has_two_ends),
        C(lanes_have_addresses_of_the_cluster),
    };
    return RUN(tests);
}
