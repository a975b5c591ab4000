/* The cache of compiled code: what is found again, what is not, and what happens to its files. The
 * fake NVRTC counts what it compiles. */
#define _XOPEN_SOURCE 700 /* mkdtemp, utimensat */
#include "fake_nvrtc.h"

#include "../scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE], headers[SCRATCH_SIZE], include_option[SCRATCH_SIZE + 2];
static acu_code_cache *cache;

static const char *const for_90[] = {"-arch=sm_90", NULL};

static void path_in(char path[2 * SCRATCH_SIZE], const char *in, const char *name) {
    snprintf(path, 2 * SCRATCH_SIZE, "%s/%s", in, name);
}

static void write_file(const char *in, const char *name, const void *bytes, size_t size) {
    char path[2 * SCRATCH_SIZE];
    path_in(path, in, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void write_text(const char *in, const char *name, const char *text) {
    write_file(in, name, text, strlen(text));
}

static void empty(const char *path) {
    char inner[2 * SCRATCH_SIZE];
    DIR *list = opendir(path);
    const struct dirent *entry;
    while (list && (entry = readdir(list)) != NULL) {
        path_in(inner, path, entry->d_name);
        if (unlink(inner) != 0)
            (void)rmdir(inner);
    }
    if (list)
        closedir(list);
}

/* Finds the one file of code; returns its name. */
static const char *only_file(void) {
    static char name[256];
    DIR *list = opendir(folder);
    const struct dirent *entry;
    int count = 0;
    assert_non_null(list);
    while ((entry = readdir(list)) != NULL)
        if (strstr(entry->d_name, ".acu") && entry->d_name[0] != '.') {
            snprintf(name, sizeof name, "%s", entry->d_name);
            count++;
        }
    closedir(list);
    assert_int_equal(count, 1);
    return name;
}

static int begin_cache(void **state) {
    int code = begin_compiling(state);
    load_fake_nvrtc();
    assert_non_null(mkdtemp(scratch_path(folder)));
    assert_non_null(mkdtemp(scratch_path(headers)));
    snprintf(include_option, sizeof include_option, "-I%s", headers);
    OK(acu_code_cache_create(folder, NULL, &cache));
    return code;
}

static int end_cache(void **state) {
    acu_code_cache_cleanup(&cache);
    empty(folder);
    empty(headers);
    (void)rmdir(folder);
    (void)rmdir(headers);
    return end_compiling(state);
}

#define CACHE_TEST(function) SAFE_TEST(function, begin_cache, end_cache)

static acu_code_cache_info info_of(acu_code_cache *of) {
    acu_code_cache_info info;
    OK(acu_code_cache_get_info(of, &info));
    return info;
}

/* Compiles; returns whether the compiler was asked. */
static bool compiles(const acu_module_program *program) {
    acu_code *code = NULL;
    const int before = fake.compiled;
    const void *ptx = NULL;
    size_t size = 0;
    OK(acu_code_compile(0, program, &code));
    OK(acu_code_get_image(code, ACU_CODE_PTX, &ptx, &size));
    assert_string_equal(ptx, kernels_ptx);
    OK(acu_code_release(code));
    return fake.compiled > before;
}

static acu_module_program program_of(const char *text) {
    return (acu_module_program){.text = text, .options = for_90, .cache = cache};
}

/* A program that finds headers in the folder of headers. */
static bool compiles_with_headers(const char *text) {
    const char *const options[] = {"-arch=sm_90", include_option, NULL};
    acu_module_program program = program_of(text);
    program.options = options;
    return compiles(&program);
}

static void compiles_once(const char *text) {
    if (!compiles_with_headers(text))
        fail_msg("was found before it was compiled: %s", text);
    if (compiles_with_headers(text))
        fail_msg("was not found: %s", text);
}

/* ---- what is found ---- */

static void code_is_found_again(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    acu_module_program program = program_of("x");
    program.expressions = (const char *const[]){"times<float>", "&count", NULL};
    fake.log = "program.cu(1): warning: so so\n";
    assert_true(compiles(&program));
    assert_false(compiles(&program));
    assert_string_equal(acu_module_compile_log(), fake.log);
    OK(acu_code_cache_release(cache));
    OK(acu_code_cache_create(folder, NULL, &cache)); /* as a later run would */
    program.cache = cache;
    assert_false(compiles(&program));
    OK(acu_code_compile(0, &program, &code));
    assert_string_equal(acu_code_log(code), fake.log);
    OK(acu_code_release(code));
    OK(acu_module_compile(0, &program, &module));
    OK(acu_module_get_kernel(module, "times<float>", &kernel));
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
    assert_int_equal(fake.compiled, 1);
    const acu_code_cache_info info = info_of(cache);
    assert_int_equal(info.hits, 3);
    assert_int_equal(info.misses, 0);
    assert_int_equal(info.files, 1);
    assert_true(info.bytes > strlen(kernels_ptx));
}

static void all_that_decides_is_in_the_key(void **state) {
    (void)state;
    const acu_module_header one[] = {{"a.h", "1"}, {NULL, NULL}},
                            other[] = {{"a.h", "2"}, {NULL, NULL}},
                            named[] = {{"b.h", "1"}, {NULL, NULL}},
                            gone[] = {{"a.h", NULL}, {NULL, NULL}};
    const char *const fast[] = {"-arch=sm_90", "--use_fast_math", NULL},
                      *const newer[] = {"-arch=sm_100", NULL},
                      *const joined[] = {"-arch=sm_90--use_fast_math", NULL},
                      *const times[] = {"times<float>", NULL};
    const acu_module_program programs[] = {
        {.text = "x", .options = for_90},
        {.text = "y", .options = for_90},
        {.text = "x", .options = for_90, .name = "x.cu"},
        {.text = "x", .options = for_90, .headers = one},
        {.text = "x", .options = for_90, .headers = other},
        {.text = "x", .options = for_90, .headers = named},
        {.text = "x", .options = for_90, .headers = gone},
        {.text = "x", .options = for_90, .expressions = times},
        {.text = "x", .options = fast},
        {.text = "x", .options = newer},
        {.text = "x", .options = joined},
        {.text = "x"}, /* for the device */
    };
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < COUNT(programs); i++) {
            acu_module_program program = programs[i];
            program.cache = cache;
            if (compiles(&program) != (round == 0))
                fail_msg("program %zu, round %d", i, round);
        }
    assert_int_equal(info_of(cache).files, COUNT(programs));
}

static void what_fails_is_not_kept(void **state) {
    (void)state;
    acu_code *code = NULL;
    const acu_module_program program = program_of("x");
    fake.compiles = NVRTC_ERROR_COMPILATION;
    fake.log = "error: nonsense\n";
    for (int i = 0; i < 2; i++)
        FAILS(acu_code_compile(0, &program, &code), ACU_ERROR_COMPILE, "nonsense");
    assert_int_equal(fake.compiled, 2);
    assert_int_equal(info_of(cache).files, 0);
}

/* ---- headers that are files ---- */

static void headers_are_in_the_key(void **state) {
    (void)state;
    static const char *const ways[] = {
        "#include <a.h>\n",
        "#include \"a.h\"\n",
        "  #\tinclude<a.h>",
        "x; /* y */ # /* z */ include /* n */ \"a.h\"",
        "#inc\\\nlude \\\r\n<a.h>",
        "%:include <a.h>",
        "#if __has_include(<a.h>)\n#endif",
        "#if __has_include ( \"a.h\" )\n#endif",
        "#import <a.h>",
        "#include <outer.h>",
    };
    write_text(headers, "outer.h", "#include \"a.h\"\n#include \"outer.h\"\n");
    for (size_t i = 0; i < COUNT(ways); i++) {
        for (int version = 0; version < 3; version++) {
            char text[20];
            snprintf(text, sizeof text, "version %d", version);
            if (version)
                write_text(headers, "a.h", text);
            compiles_once(ways[i]);
        }
        char path[2 * SCRATCH_SIZE];
        path_in(path, headers, "a.h");
        assert_int_equal(unlink(path), 0);
        assert_false(compiles_with_headers(ways[i])); /* as at the beginning */
        OK(acu_code_cache_clear(cache));
    }
}

static void headers_of_each_kind_of_option(void **state) {
    (void)state;
    char equals[SCRATCH_SIZE + 20], spaced[SCRATCH_SIZE + 20];
    snprintf(equals, sizeof equals, "--include-path=%s", headers);
    snprintf(spaced, sizeof spaced, "-I %s", headers);
    const char *const ways[][4] = {
        {equals}, {spaced}, {"-I", headers}, {"--include-path", headers}};
    for (size_t i = 0; i < COUNT(ways); i++) {
        const char *const options[] = {"-arch=sm_90", ways[i][0], ways[i][1], NULL};
        acu_module_program program = program_of("#include <a.h>");
        program.options = options;
        write_text(headers, "a.h", "one");
        assert_true(compiles(&program));
        assert_false(compiles(&program));
        write_text(headers, "a.h", "two");
        assert_true(compiles(&program));
        OK(acu_code_cache_clear(cache));
    }
    const char *const before[] = {"-arch=sm_90", include_option, "--pre-include=a.h", NULL};
    acu_module_program program = program_of("x");
    program.options = before;
    assert_true(compiles(&program));
    assert_false(compiles(&program));
    write_text(headers, "a.h", "three");
    assert_true(compiles(&program));
}

/* The program's own headers include files, too, and the source's name has a folder. */
static void headers_beside_the_source(void **state) {
    (void)state;
    char name[SCRATCH_SIZE + 20];
    snprintf(name, sizeof name, "%s/x.cu", headers);
    acu_module_program program = program_of("#include \"own.h\"");
    program.name = name;
    program.headers = (const acu_module_header[]){{"own.h", "#include \"a.h\"\n"}, {NULL, NULL}};
    const char *const options[] = {"-arch=sm_90", include_option, NULL};
    program.options = options;
    for (int version = 0; version < 2; version++) {
        write_text(headers, "a.h", version ? "one" : "two");
        assert_true(compiles(&program));
        assert_false(compiles(&program));
    }
    program = program_of("#include \"a.h\"");
    program.name = name;
    for (int version = 0; version < 2; version++) {
        write_text(headers, "a.h", version ? "three" : "four");
        assert_true(compiles(&program));
        assert_false(compiles(&program));
    }
}

static void what_is_unknown_is_not_looked_up(void **state) {
    (void)state;
    static const char *const texts[] = {
        "#define A <a.h>\n#include A\n", "#if __has_include(A)\n#endif\n",
        "const char *t = __TIME__;\n",   "const char *t = __DATE__;\n",
        "?\?=include <a.h>\n",           "#inc?\?/\nlude <a.h>\n",
        "#include \"never ends\n",       "#include",
    };
    static const char *const options[] = {
        "--time=x.csv", "-time=x.csv",      "--pch", "--create-pch=x", "--use-pch=x",
        "-optf",        "--options-file=x", "@x",    "-pch-dir=x",     "--fdevice-time-trace=x"};
    for (size_t i = 0; i < COUNT(texts); i++)
        for (int again = 0; again < 2; again++)
            if (!compiles_with_headers(texts[i]))
                fail_msg("%s", texts[i]);
    for (size_t i = 0; i < COUNT(options); i++) {
        const char *const all[] = {"-arch=sm_90", options[i], NULL};
        acu_module_program program = program_of("x");
        program.options = all;
        for (int again = 0; again < 2; again++)
            if (!compiles(&program))
                fail_msg("%s", options[i]);
    }
    const acu_code_cache_info info = info_of(cache);
    assert_int_equal(info.skipped, 2 * (COUNT(texts) + COUNT(options)));
    assert_int_equal(info.files, 0);
    /* Neither is an include: these are found. */
    static const char *const found[] = {"#ifdef __has_include\n#endif\n", "int include, __TIME;\n",
                                        "# define A(x) x ## include_next_one\n"};
    for (size_t i = 0; i < COUNT(found); i++)
        compiles_once(found[i]);
}

/* ---- files that are not what was written ---- */

static size_t read_only_file(char *bytes, size_t room) {
    char path[2 * SCRATCH_SIZE];
    path_in(path, folder, only_file());
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, room, file);
    assert_true(size < room);
    fclose(file);
    return size;
}

static void damage_is_noticed(void **state) {
    (void)state;
    static char whole[20000], broken[20000];
    const acu_module_program program = program_of("x");
    assert_true(compiles(&program));
    const size_t size = read_only_file(whole, sizeof whole);
    size_t damaged = 0;
    for (size_t at = 0; at < size; at += at < 100 ? 1 : 97, damaged++) {
        memcpy(broken, whole, size);
        broken[at] = (char)~broken[at];
        write_file(folder, only_file(), broken, size);
        if (!compiles(&program) || compiles(&program))
            fail_msg("byte %zu of %zu was changed", at, size);
    }
    for (size_t length = 0; length < size; length += length < 100 ? 1 : 97, damaged++) {
        write_file(folder, only_file(), whole, length);
        if (!compiles(&program) || compiles(&program))
            fail_msg("%zu bytes are left of %zu", length, size);
    }
    memcpy(broken, whole, size);
    write_file(folder, only_file(), broken, size + 1);
    assert_true(compiles(&program));
    assert_int_equal(info_of(cache).damaged, damaged + 1);
    assert_int_equal(read_only_file(broken, sizeof broken), size);
    assert_memory_equal(broken, whole, size);
}

/* A whole file under another one's name is not its code. */
static void the_name_must_fit(void **state) {
    (void)state;
    static char bytes[20000];
    const acu_module_program one = program_of("one"), other = program_of("other");
    assert_true(compiles(&one));
    const size_t size = read_only_file(bytes, sizeof bytes);
    OK(acu_code_cache_clear(cache));
    assert_true(compiles(&other));
    write_file(folder, only_file(), bytes, size);
    assert_true(compiles(&other));
    assert_int_equal(info_of(cache).damaged, 1);
}

static void something_else_of_that_name(void **state) {
    (void)state;
    char path[2 * SCRATCH_SIZE], target[2 * SCRATCH_SIZE];
    const acu_module_program program = program_of("x");
    assert_true(compiles(&program));
    path_in(path, folder, only_file());
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_true(compiles(&program));
    assert_false(compiles(&program));
    path_in(target, headers, "moved");
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0); /* is not followed */
    assert_true(compiles(&program));
    assert_false(compiles(&program));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_true(compiles(&program));
    assert_true(compiles(&program));
    assert_int_equal(info_of(cache).unwritten, 2);
}

/* ---- size ---- */

/* Gives a file a time of its last use. */
static void used_at(const char *path, time_t seconds) {
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_was_used_last_stays(void **state) {
    (void)state;
    char path[2 * SCRATCH_SIZE];
    const acu_module_program one = program_of("one"), two = program_of("two"),
                             three = program_of("three");
    assert_true(compiles(&one));
    const uint64_t each = info_of(cache).bytes;
    path_in(path, folder, only_file());
    used_at(path, 1000);
    OK(acu_code_cache_release(cache));
    OK(acu_code_cache_create(folder, &(acu_code_cache_options){.max_bytes = 2 * each + each / 2},
                             &cache));
    acu_module_program again = one, second = two, third = three;
    again.cache = second.cache = third.cache = cache;
    assert_false(compiles(&again)); /* is used now */
    used_at(path, 2000);
    assert_true(compiles(&second));
    assert_int_equal(info_of(cache).files, 2);
    assert_true(compiles(&third)); /* the oldest gives way */
    assert_int_equal(info_of(cache).files, 2);
    assert_false(compiles(&second));
    assert_false(compiles(&third));
    assert_true(compiles(&again));
}

static void a_hit_is_a_use(void **state) {
    (void)state;
    char path[2 * SCRATCH_SIZE];
    struct stat file;
    const acu_module_program program = program_of("x");
    assert_true(compiles(&program));
    path_in(path, folder, only_file());
    used_at(path, 1000);
    assert_false(compiles(&program));
    assert_int_equal(stat(path, &file), 0);
    assert_true(file.st_mtime > 1000);
}

static void too_large_for_the_cache(void **state) {
    (void)state;
    acu_code_cache *small = NULL;
    OK(acu_code_cache_create(folder, &(acu_code_cache_options){.max_bytes = 100}, &small));
    acu_module_program program = program_of("x");
    program.cache = small;
    assert_true(compiles(&program));
    assert_true(compiles(&program));
    assert_int_equal(info_of(small).unwritten, 2);
    assert_int_equal(info_of(small).files, 0);
    OK(acu_code_cache_release(small));
}

static bool exists(const char *name) {
    char path[2 * SCRATCH_SIZE];
    struct stat file;
    path_in(path, folder, name);
    return stat(path, &file) == 0;
}

static void other_files_are_left_alone(void **state) {
    (void)state;
    char path[2 * SCRATCH_SIZE];
    const acu_module_program program = program_of("x");
    write_text(folder, "mine.acu", "mine");
    write_text(folder, ".mine", "mine");
    write_text(folder, ".acu-1-1", "being written");
    write_text(folder, ".acu-1-2", "was never finished");
    path_in(path, folder, ".acu-1-2");
    used_at(path, 1000);
    assert_int_equal(info_of(cache).files, 0);
    assert_true(exists(".acu-1-1"));
    assert_false(exists(".acu-1-2"));
    assert_true(compiles(&program));
    OK(acu_code_cache_clear(cache));
    assert_int_equal(info_of(cache).files, 0);
    assert_true(exists("mine.acu") && exists(".mine"));
    assert_false(exists(".acu-1-1"));
    assert_true(compiles(&program));
}

/* ---- folders ---- */

static void folders(void **state) {
    (void)state;
    char path[2 * SCRATCH_SIZE], line[2 * SCRATCH_SIZE];
    acu_code_cache *made = NULL;
    struct stat file;
    path_in(path, folder, "a/b");
    OK(acu_code_cache_create(path, NULL, &made));
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777u, 0700);
    assert_string_equal(acu_code_cache_folder(made), path);
    acu_code_cache_describe(made, line, sizeof line);
    assert_non_null(strstr(line, path));
    assert_ptr_equal(acu_code_cache_retain(made), made);
    OK(acu_code_cache_release(made));
    OK(acu_code_cache_release(made));
    assert_int_equal(rmdir(path), 0);
    FAILS(acu_code_cache_create("", NULL, &made), ACU_ERROR_ARGUMENT, "'folder' is \"\"");
    write_text(folder, "file", "");
    path_in(path, folder, "file");
    FAILS(acu_code_cache_create(path, NULL, &made), ACU_ERROR_ARGUMENT, "code cannot be kept in");
    path_in(path, folder, "file/below");
    FAILS(acu_code_cache_create(path, NULL, &made), ACU_ERROR_ARGUMENT, "Not a directory");
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    FAILS(acu_code_cache_create(line, NULL, &made), ACU_ERROR_ARGUMENT, "code cannot be kept in");
    path_in(path, folder, "a");
    assert_int_equal(chmod(path, 0777), 0);
    FAILS(acu_code_cache_create(path, NULL, &made), ACU_ERROR_ARGUMENT, "everybody can write to");
    assert_non_null(strstr(acu_last_error_details().hint, "chmod o-w"));
    assert_int_equal(chmod(path, 0500), 0);
    if (geteuid() != 0)
        FAILS(acu_code_cache_create(path, NULL, &made), ACU_ERROR_ARGUMENT, "Permission denied");
    assert_null(made);
}

/* What was compiled is there all the same; only the files are not. */
static void a_folder_that_is_gone(void **state) {
    (void)state;
    const acu_module_program program = program_of("x");
    assert_int_equal(rmdir(folder), 0);
    assert_true(compiles(&program));
    assert_int_equal(info_of(cache).unwritten, 1);
    assert_int_equal(info_of(cache).files, 0);
}

static void a_process_without_descriptors(void **state) {
    (void)state;
    acu_code_cache_info info;
    struct rlimit before, none;
    const acu_module_program program = program_of("x");
    assert_true(compiles(&program));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_true(compiles(&program));
    FAILS(acu_code_cache_get_info(cache, &info), ACU_ERROR_STATE, "cannot list the files");
    FAILS(acu_code_cache_clear(cache), ACU_ERROR_STATE, "cannot remove all files");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_false(compiles(&program));
    assert_int_equal(info_of(cache).unwritten, 1);
}

static void by_the_environment(void **state) {
    (void)state;
    acu_code *code = NULL;
    acu_module_program program = program_of("x");
    program.cache = NULL;
    assert_true(compiles(&program));
    assert_true(compiles(&program)); /* no cache without the variable */
    setenv("ANYCUDA_CODE_CACHE", folder, 1);
    assert_true(compiles(&program));
    assert_false(compiles(&program));
    setenv("ANYCUDA_CODE_CACHE", headers, 1);
    assert_true(compiles(&program));
    assert_false(compiles(&program));
    setenv("ANYCUDA_CODE_CACHE", "/dev/null/x", 1);
    FAILS(acu_code_compile(0, &program, &code), ACU_ERROR_ARGUMENT,
          "acu_code_compile: code cannot be kept in /dev/null/x: Not a directory");
    setenv("ANYCUDA_CODE_CACHE", "", 1);
    assert_true(compiles(&program));
    unsetenv("ANYCUDA_CODE_CACHE");
    assert_true(compiles(&program));
}

/* ---- several processes ---- */

enum { PROCESSES = 6, ROUNDS = 40 };

/* Compiles programs that all processes have, in a cache that has no room for all of them. */
static int compile_many(unsigned seed, uint64_t max_bytes) {
    acu_code_cache *own = NULL;
    if (acu_code_cache_create(folder, &(acu_code_cache_options){.max_bytes = max_bytes}, &own))
        return 1;
    for (unsigned i = 0; i < ROUNDS; i++) {
        char text[20];
        const void *ptx = NULL;
        size_t size = 0;
        acu_code *code = NULL;
        snprintf(text, sizeof text, "program %u", (seed * 7 + i * i) % 8);
        acu_module_program program = program_of(text);
        program.cache = own;
        if (acu_code_compile(0, &program, &code) ||
            acu_code_get_image(code, ACU_CODE_PTX, &ptx, &size) || strcmp(ptx, kernels_ptx) != 0 ||
            acu_code_release(code))
            return 2;
    }
    acu_code_cache_info info;
    if (acu_code_cache_get_info(own, &info) || info.damaged || info.unwritten)
        return 3;
    return acu_code_cache_release(own) ? 4 : 0;
}

static void processes_share_a_folder(void **state) {
    (void)state;
    pid_t all[PROCESSES];
    const acu_module_program first = program_of("program 0");
    assert_true(compiles(&first));
    const uint64_t each = info_of(cache).bytes;
    for (unsigned i = 0; i < PROCESSES; i++) {
        all[i] = fork();
        assert_true(all[i] >= 0);
        if (all[i] == 0)
            _exit(compile_many(i, 5 * each));
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(all[i], &status, 0), all[i]);
        assert_int_equal(status, 0);
    }
    assert_true(info_of(cache).files <= 5 + PROCESSES);
    assert_int_equal(compile_many(0, 5 * each), 0);
    assert_true(info_of(cache).files <= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CACHE_TEST(code_is_found_again),
        CACHE_TEST(all_that_decides_is_in_the_key),
        CACHE_TEST(what_fails_is_not_kept),
        CACHE_TEST(headers_are_in_the_key),
        CACHE_TEST(headers_of_each_kind_of_option),
        CACHE_TEST(headers_beside_the_source),
        CACHE_TEST(what_is_unknown_is_not_looked_up),
        CACHE_TEST(damage_is_noticed),
        CACHE_TEST(the_name_must_fit),
        CACHE_TEST(something_else_of_that_name),
        CACHE_TEST(what_was_used_last_stays),
        CACHE_TEST(a_hit_is_a_use),
        CACHE_TEST(too_large_for_the_cache),
        CACHE_TEST(other_files_are_left_alone),
        CACHE_TEST(folders),
        CACHE_TEST(a_folder_that_is_gone),
        CACHE_TEST(a_process_without_descriptors),
        CACHE_TEST(by_the_environment),
        CACHE_TEST(processes_share_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
