/* Files of every kind in the place of a library: each is refused with its reason, none is executed.
 */
#define _GNU_SOURCE
#include "made_up.h"
#include "loader/elf.h"
#include "loader/ldcache.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned char good[1024 * 1024];
static size_t good_size;

static int read_good(void **state) {
    (void)state;
    FILE *file = fopen(FAKES "/12.4/libacutest.so.12", "rb");
    if (!file)
        return -1;
    good_size = fread(good, 1, sizeof good, file);
    fclose(file);
    return 0;
}

static void expect_refused(const char *path, const char *why) {
    assert_int_equal(load_path(path, 0), MISSING);
    CHECK_CONTAINS(acu_last_error_message(), why);
    assert_null(strchr(acu_last_error_message(), '\n'));
}

static void reads_a_good_one(void **state) {
    (void)state;
    acu_elf elf;
    char why[64];
    assert_true(acu_elf_open(&elf, FAKES "/12.4/libacutest.so.12", why, sizeof why));
    assert_string_equal(elf.soname, "libacutest.so.12");
    assert_true(acu_elf_exports(&elf, "acutestMalloc"));
    assert_true(acu_elf_exports(&elf, "acutestSince1204"));
    assert_false(acu_elf_exports(&elf, "acutestSince1300"));
    assert_false(acu_elf_exports(&elf, "acutest"));
    assert_false(acu_elf_exports(&elf, ""));
    acu_elf_close(&elf);
}

static void reads_the_old_hash_table(void **state) {
    (void)state;
    acu_elf elf;
    char why[64];
    assert_true(acu_elf_open(&elf, FAKES "/sysv/libacutest.so.12", why, sizeof why));
    assert_true(elf.hash && !elf.gnu_hash);
    assert_true(acu_elf_exports(&elf, "acutestMalloc"));
    assert_false(acu_elf_exports(&elf, "acutestSince1300"));
    acu_elf_close(&elf);
}

static void not_a_file(void) {
    expect_refused(in_scratch("nothing"), "no such file");
    expect_refused(scratch(), "it is a folder");
    assert_int_equal(mkfifo(in_scratch("pipe"), 0666), 0);
    expect_refused(in_scratch("pipe"),
                   "it is not a regular file"); /* and does not wait for a writer */
    expect_refused("/dev/zero", "it is not a regular file");
    assert_int_equal(symlink("circle", in_scratch("circle")), 0);
    expect_refused(in_scratch("circle"), "its symbolic links go in a circle");
    write_file(in_scratch("file"), "x", 1);
    expect_refused(in_scratch("file/libacutest.so.12"), "a part of the path is not a folder");
    char path[6000];
    memset(path, 'a', sizeof path - 1);
    memcpy(path, "/tmp/", 5);
    path[sizeof path - 1] = '\0';
    assert_int_equal(load_path(path, 0), MISSING);
}

static void not_a_library(void) {
    write_file(in_scratch("empty"), "", 0);
    expect_refused(in_scratch("empty"), "it is empty");
    write_file(in_scratch("text"), "hello, world", 12);
    expect_refused(in_scratch("text"), "it is not an ELF file");
    write_file(in_scratch("script"), "INPUT(-lcudart)\n", 16);
    expect_refused(in_scratch("script"), "it is a linker script");
    write_file(in_scratch("magic"), "\177ELF", 4);
    expect_refused(in_scratch("magic"), "it is truncated");
}

static void unreadable(void) {
    const char *path = put("12.4/libacutest.so.12", "libacutest.so.12");
    assert_int_equal(chmod(path, 0), 0);
    if (access(path, R_OK) == 0) {
        print_message("root reads every file: becoming nobody\n");
        assert_int_equal(chmod(scratch(), 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    expect_refused(path, "permission denied");
    assert_int_equal(seteuid(getuid()), 0);
}

static void patch(const char *name, size_t at, unsigned value, size_t size) {
    static unsigned char bytes[sizeof good];
    memcpy(bytes, good, good_size);
    for (size_t i = 0; i < size; i++)
        bytes[at + i] = (unsigned char)(value >> (8U * i));
    write_file(in_scratch(name), bytes, good_size);
}

static void wrong_machine(void) {
    patch("machine", offsetof(Elf64_Ehdr, e_machine), EM_PPC64, 2);
    expect_refused(in_scratch("machine"), "it is for another machine");
    patch("class", EI_CLASS, ELFCLASS32, 1);
    expect_refused(in_scratch("class"), "it is for another machine");
    patch("order", EI_DATA, ELFDATA2MSB, 1);
    expect_refused(in_scratch("order"), "it is for another machine");
    patch("type", offsetof(Elf64_Ehdr, e_type), ET_REL, 2);
    expect_refused(in_scratch("type"), "it is not a shared library");
    expect_refused("/proc/self/exe", "not libacutest's");
}

/* What the system loader would map of a shorter file ends in a SIGBUS; sections behind that may be
 * missing. */
static uint64_t end_of_segments(void) {
    Elf64_Ehdr header;
    uint64_t end = 0;
    memcpy(&header, good, sizeof header);
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, good + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > end)
            end = segment.p_offset + segment.p_filesz;
    }
    return end;
}

static void truncated_at_every_length(void) {
    uint64_t end = end_of_segments();
    assert_in_range(end, 1, good_size);
    for (size_t size = 0; size < end; size += size < 1024 || size + 256 > end ? 1 : 61) {
        write_file(in_scratch("short"), good, size);
        assert_int_equal(load_path(in_scratch("short"), 0), MISSING);
    }
    write_file(in_scratch("long enough"), good, (size_t)end);
    assert_int_equal(load_path(in_scratch("long enough"), 0), 0);
}

/* ---- mutations ---- */

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13U;
    *seed ^= *seed >> 7U;
    return *seed ^= *seed << 17U;
}

static void mutate(unsigned char *bytes, size_t *size, uint64_t *seed) {
    static const uint64_t odd[] = {0,          1,          0x7f,       0xff,
                                   0x7fffffff, 0xffffffff, UINT64_MAX, 0x80000000};
    uint64_t changes = 1 + next(seed) % 8;
    while (changes-- > 0) {
        /* Mostly in the headers and tables, which a small library has in its first part. */
        size_t range = next(seed) % 4 ? 2048 : *size - 8;
        size_t at = next(seed) % range;
        uint64_t value = next(seed) % 2 ? odd[next(seed) % 8] : next(seed);
        memcpy(bytes + at, &value, (size_t[]){1, 2, 4, 8}[next(seed) % 4]);
    }
    if (next(seed) % 8 == 0)
        *size = next(seed) % *size;
}

static void read_all(int fd) {
    static const char *const names[] = {"acutestMalloc", "acutestNone", "", "a"};
    char path[64], why[64];
    acu_elf elf;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (acu_elf_open(&elf, path, why, sizeof why))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            acu_elf_exports(&elf, names[i]);
    assert_true(strlen(elf.soname) < sizeof elf.soname);
    acu_elf_close(&elf);
}

static void mutations(void **state) {
    (void)state;
    const char *rounds = getenv("ACU_TEST_ROUNDS"), *start = getenv("ACU_TEST_SEED");
    uint64_t seed = start ? strtoull(start, NULL, 10) : 1;
    long count = rounds ? strtol(rounds, NULL, 10) : 20000;
    static unsigned char bytes[sizeof good];
    int fd = memfd_create("mutated", 0);
    assert_true(fd >= 0);
    for (long i = 0; i < count; i++) {
        size_t size = good_size;
        memcpy(bytes, good, size);
        mutate(bytes, &size, &seed);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, bytes, size, 0), (ssize_t)size);
        read_all(fd);
    }
    close(fd);
}

/* ---- the system loader's cache ---- */

static unsigned visited;
static char last_visited[512];

static void count_visit(void *data, const char *path) {
    (void)data;
    visited++;
    snprintf(last_visited, sizeof last_visited, "%s", path);
}

static unsigned look_up(const char *cache, const char *name) {
    visited = 0;
    acu_ldcache opened = acu_ldcache_open(cache);
    acu_ldcache_visit(&opened, name, &(acu_visitor){.visit = count_visit});
    acu_ldcache_close(&opened);
    return visited;
}

/* As ldconfig writes it: two entries, and glibc's extension, which has no zero at its end. */
static size_t write_cache(unsigned char *bytes, bool with_old_one) {
    static const char old_magic[12] = "ld.so-1.7.0", magic[] = "glibc-ld.so.cache1.1",
                      tail[] = "ldconfig";
    static const char names[] = "libacutest.so.13\0/acu/none\0libacutest.so.12\0/dev/null";
    size_t at = 0;
    if (with_old_one) {
        uint32_t count = 1;
        memcpy(bytes, old_magic, sizeof old_magic);
        memcpy(bytes + 12, &count, 4);
        memset(bytes + 16, 7, 12);
        memset(bytes + 28, 0, 4);
        at = 32;
    }
    uint32_t head[] = {2, sizeof names, 0, 0, 0, 0, 0};
    uint32_t strings = 48 + 2 * 24;
    uint32_t entries[2][6] = {{0x303, strings, strings + 17, 0, 0, 0},
                              {0x303, strings + 27, strings + 44, 0, 0, 0}};
    memcpy(bytes + at, magic, sizeof magic - 1);
    memcpy(bytes + at + 20, head, sizeof head);
    memcpy(bytes + at + 48, entries, sizeof entries);
    memcpy(bytes + at + strings, names, sizeof names);
    memcpy(bytes + at + strings + sizeof names, tail, sizeof tail - 1);
    return at + strings + sizeof names + 8;
}

static void reads_the_cache(void) {
    unsigned char bytes[512];
    for (int old = 0; old < 2; old++) {
        write_file(in_scratch("cache"), bytes, write_cache(bytes, old));
        assert_int_equal(look_up(in_scratch("cache"), "libacutest.so.12"), 1);
        assert_string_equal(last_visited, "/dev/null");
        assert_int_equal(look_up(in_scratch("cache"), "libacutest.so.13"), 1);
        assert_string_equal(last_visited, "/acu/none"); /* it need not exist */
        assert_int_equal(look_up(in_scratch("cache"), "libacutest.so"), 0);
    }
    assert_int_equal(look_up(in_scratch("none"), "libacutest.so.12"), 0);
    assert_int_equal(look_up(scratch(), "libacutest.so.12"), 0);
}

/* As glibc sorts them: descending, numbers as numbers and above text. */
static void finds_each_name_in_the_cache(void) {
    static const char *const names[] = {
        "libacutest13.so",     "libacutest.so.100", "libacutest.so.13", "libacutest.so.12.10",
        "libacutest.so.12.9",  "libacutest.so.12",  "libacutest.so.9",  "libacutest.so",
        "libacutest-x.so.200", "libacutest",
    };
    enum { COUNT = sizeof names / sizeof *names, STRINGS = 48 + 24 * COUNT };
    unsigned char bytes[1024] = "glibc-ld.so.cache1.1";
    uint32_t used = STRINGS;
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t entry[6] = {0x303, used, used, 0, 0, 0};
        memcpy(bytes + 48 + 24 * (size_t)i, entry, sizeof entry);
        memcpy(bytes + used, names[i], strlen(names[i]) + 1);
        used += (uint32_t)strlen(names[i]) + 1;
    }
    memcpy(bytes + 20, (uint32_t[]){COUNT, used - STRINGS}, 8);
    write_file(in_scratch("cache"), bytes, used);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(look_up(in_scratch("cache"), names[i]), 1);
        assert_string_equal(last_visited, names[i]);
    }
    assert_int_equal(look_up(in_scratch("cache"), "libacutest.so.11.0"), 0);
    assert_int_equal(look_up(in_scratch("cache"), "libacutest.so.99999999999999"), 0);
}

/* Whatever this machine's cache has, it is found. */
static void reads_this_machines_cache(void) {
    if (access("/etc/ld.so.cache", R_OK) == 0)
        assert_true(look_up("/etc/ld.so.cache", "libc.so.6") > 0);
}

static void damaged_caches(void) {
    unsigned char bytes[512], damaged[512];
    uint64_t seed = 3;
    for (int i = 0; i < 5000; i++) {
        size_t size = write_cache(bytes, i % 2);
        memcpy(damaged, bytes, sizeof bytes);
        for (int j = 0; j < 4; j++) {
            uint32_t value = (uint32_t)(next(&seed) % 3 ? next(&seed) % 300 : next(&seed));
            memcpy(damaged + next(&seed) % (size - 4), &value, 4);
        }
        write_file(in_scratch("cache"), damaged, next(&seed) % 4 ? size : next(&seed) % size);
        look_up(in_scratch("cache"), "libacutest.so.12");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_good_one),
        cmocka_unit_test(reads_the_old_hash_table),
        ALONE(not_a_file),
        ALONE(not_a_library),
        ALONE(unreadable),
        ALONE(wrong_machine),
        ALONE(truncated_at_every_length),
        cmocka_unit_test(mutations),
        ALONE(reads_the_cache),
        ALONE(finds_each_name_in_the_cache),
        ALONE(reads_this_machines_cache),
        ALONE(damaged_caches),
    };
    return cmocka_run_group_tests(tests, read_good, NULL);
}
