/* Where the loader looks, in which order, what it accepts, and what it says. */
#define _GNU_SOURCE
#include "made_up.h"
#include "core/simulator.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#define EXPORTED __attribute__((visibility("default")))

/* Where the system loader looks in this program: its run path leads here. */
static void put_in_system(const char *fake, const char *name) {
    char from[512], to[512];
    snprintf(from, sizeof from, "%s/%s", FAKES, fake);
    snprintf(to, sizeof to, "%s/%s", SYSTEM, name);
    unlink(to);
    assert_int_equal(symlink(from, to), 0);
}

static void expect(int version, const char *found) {
    const acu_load_info *info = acu_loaded(ACU_CUDART);
    if (!info)
        print_error("%s\n%s", acu_last_error_message(), acu_load_trace(ACU_CUDART));
    if (!info)
        abort();
    assert_int_equal(info->version, version);
    assert_string_equal(info->found, found);
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "taken");
}

static void expect_refused(int code, const char *why) {
    assert_null(acu_loaded(ACU_CUDART));
    assert_int_equal(acu_last_error(), code);
    CHECK_CONTAINS(acu_last_error_message(), why);
    CHECK_CONTAINS(acu_last_error_message(), "acu_load_trace() has the whole search");
}

/* Skips a test of what the system loader of glibc reports. */
#ifdef __GLIBC__
#define NEEDS_FOLDERS() (void)0
#else
#define NEEDS_FOLDERS() skip_alone("this C library does not report where its system loader looks")
#endif

/* ---- order ---- */

static void path_before_all(void) {
    setenv("ANYCUDA_CUDART", put("12.4/libacutest.so.12", "env/libacutest.so.12"), 1);
    const char *path = put("13.0/libacutest.so.13", "path/libacutest.so.13");
    assert_int_equal(load_path(path, 0), 0);
    expect(13000, "path");
    assert_string_equal(acu_loaded(ACU_CUDART)->path, path);
    assert_string_equal(acu_loaded(ACU_CUDART)->soname, "libacutest.so.13");
    assert_int_equal(acu_loaded(ACU_CUDART)->driver, 13000);
}

static void environment_before_search(void) {
    setenv("ANYCUDA_CUDART", put("12.4/libacutest.so.12", "env/libacutest.so.12"), 1);
    setenv("CUDA_PATH", scratch(), 1);
    put("13.0/libacutest.so.13", "lib64/libacutest.so.13");
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "ANYCUDA_CUDART");
}

static void environment_fails_loudly(void) {
    setenv("CUDA_PATH", scratch(), 1);
    put("13.0/libacutest.so.13", "lib64/libacutest.so.13");
    setenv("ANYCUDA_CUDART", in_scratch("nothing.so"), 1);
    assert_int_equal(acu_load(NULL), MISSING);
    expect_refused(MISSING, "ANYCUDA_CUDART=");
    CHECK_CONTAINS(acu_last_error_message(), "nothing.so: no such file");
}

static void path_fails_loudly(void) {
    setenv("CUDA_PATH", scratch(), 1);
    put("13.0/libacutest.so.13", "lib64/libacutest.so.13");
    assert_int_equal(load_path(in_scratch("nothing.so"), 0), MISSING);
    expect_refused(MISSING, "path=");
}

static void process_before_system(void) {
    put_in_system("13.0/libacutest.so.13", "libacutest.so.13");
    assert_non_null(dlopen(FAKES "/12.4/libacutest.so.12", RTLD_NOW));
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "already in the process");
}

/* What the process chose has the major that its other parts open; the machine's newer one would be
 * a second runtime. */
static void environments_before_system(void) {
    NEEDS_FOLDERS();
    put_in_system("13.0/libacutest.so.13", "libacutest.so.13");
    put("12.4/libacutest.so.12", "lib/libacutest.so.12");
    setenv(alone_with, scratch(), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, alone_with);
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART),
                   "system loader: " SYSTEM "/libacutest.so.13: good, but ");
}

static void library_path_before_system(void) {
    NEEDS_FOLDERS();
    char folders[1024];
    put_in_system("13.0/libacutest.so.13", "libacutest.so.13");
    put("12.4/libacutest.so.12", "second/libacutest.so.12");
    snprintf(folders, sizeof folders, "%s/nowhere;%s:%s", scratch(), in_scratch("first"),
             in_scratch("second"));
    setenv("LD_LIBRARY_PATH", folders, 1);
    setenv("VIRTUAL_ENV", scratch(), 1);
    put("13.0/libacutest.so.13", "lib/libacutest.so.13");
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "LD_LIBRARY_PATH");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "VIRTUAL_ENV: ");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "/lib/libacutest.so.13: good, but ");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART),
                   "system loader: " SYSTEM "/libacutest.so.13: good, but ");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "CONDA_PREFIX: not set\n");
}

/* The newest of all its folders, and of one name the first, as the system loader takes it. */
static void every_major_of_the_library_path(void) {
    char folders[1024];
    put("12.9/libacutest.so.12", "first/libacutest.so.12");
    put("stub/libacutest.so.12", "first/libacutest.so.13"); /* refused, so the next one counts */
    put("13.0/libacutest.so.13", "second/libacutest.so.13");
    put("13.9/libacutest.so.13", "third/libacutest.so.13");
    snprintf(folders, sizeof folders, "%s:%s:%s", in_scratch("first"), in_scratch("second"),
             in_scratch("third"));
    setenv("LD_LIBRARY_PATH", folders, 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(13000, "LD_LIBRARY_PATH");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "first/libacutest.so.13: refused: ");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "first/libacutest.so.12: good, but ");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "third/libacutest.so.13: good, but ");
}

static void empty_name_in_the_library_path(void) {
    put("12.4/libacutest.so.12", "libacutest.so.12");
    assert_int_equal(chdir(scratch()), 0);
    setenv("LD_LIBRARY_PATH", "/nowhere:", 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "LD_LIBRARY_PATH");
}

static void process_before_library_path(void) {
    assert_non_null(dlopen(FAKES "/12.4/libacutest.so.12", RTLD_NOW));
    put("13.0/libacutest.so.13", "libacutest.so.13");
    setenv("LD_LIBRARY_PATH", scratch(), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "already in the process");
}

static void system_before_toolkits(void) {
    put_in_system("12.4/libacutest.so.12", "libacutest.so.12");
    put("13.0/libacutest.so.13", "lib64/libacutest.so.13");
    setenv("CUDA_PATH", scratch(), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "system loader");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "CUDA_PATH: ");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "/lib64/libacutest.so.13: good, but ");
}

static void newest_soname_of_system(void) {
    put_in_system("12.4/libacutest.so.12", "libacutest.so.12");
    put_in_system("13.0/libacutest.so.13", "libacutest.so.13");
    assert_int_equal(acu_load(NULL), 0);
    expect(13000, "system loader");
}

/* What cannot be opened gives way to the next name. */
static void unopenable_in_system(void) {
    put_in_system("unopenable/libacutest.so.13", "libacutest.so.13");
    put_in_system("12.4/libacutest.so.12", "libacutest.so.12");
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "system loader");
}

static void virtual_env_before_conda(void) {
    put("12.4/libacutest.so.12",
        "venv/lib/python3.11/site-packages/nvidia/cuda_runtime/lib/libacutest.so.12");
    put("13.0/libacutest.so.13", "conda/lib/libacutest.so.13");
    setenv("VIRTUAL_ENV", in_scratch("venv"), 1);
    setenv("CONDA_PREFIX", in_scratch("conda"), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "VIRTUAL_ENV");
}

static void newest_wheel_of_an_environment(void) {
    put("12.9/libacutest.so.12",
        "venv/lib/python3.11/site-packages/nvidia/cuda_runtime/lib/libacutest.so.12");
    put("13.0/libacutest.so.13",
        "venv/lib/python3.11/site-packages/nvidia/cu13/lib/libacutest.so.13");
    setenv("VIRTUAL_ENV", in_scratch("venv"), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(13000, "VIRTUAL_ENV");
}

static void conda_before_cuda_path_before_cuda_home(void) {
    put("13.0/libacutest.so.13", "home/lib64/libacutest.so.13");
    put("12.9/libacutest.so.12", "path/lib64/libacutest.so.12");
    setenv("CUDA_PATH", in_scratch("path"), 1);
    setenv("CUDA_HOME", in_scratch("home"), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12090, "CUDA_PATH");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "VIRTUAL_ENV: not set\nCONDA_PREFIX: not set\n");
}

static void toolkit_layouts(void) {
    put("12.4/libacutest.so.12", "cuda/targets/x86_64-linux/lib/libacutest.so.12");
    setenv("CUDA_HOME", in_scratch("cuda"), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "CUDA_HOME");
}

/* The minor version is in the file's name, or else follows from its symbols. */
static void newest_minor_of_a_place(void) {
    put("12.4/libacutest.so.12", "cuda/lib/libacutest.so.12");
    put("12.9/libacutest.so.12", "cuda/lib64/libacutest.so.12.9.79");
    assert_int_equal(symlink("libacutest.so.12.9.79", in_scratch("cuda/lib64/libacutest.so.12")),
                     0);
    setenv("CUDA_PATH", in_scratch("cuda"), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12090, "CUDA_PATH");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "cuda/lib/libacutest.so.12: good, but ");
}

static void special_characters_in_a_folder(void) {
    put("12.4/libacutest.so.12", "we[i]rd *?\\\n{a,b}/lib/libacutest.so.12");
    setenv("CUDA_PATH", in_scratch("we[i]rd *?\\\n{a,b}"), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "CUDA_PATH");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "we[i]rd *?\\?{a,b}"); /* printable */
}

/* A link of the kernel's own: what it says is not where it leads. */
static void file_that_has_no_name(void) {
    const char *path = put("12.4/libacutest.so.12", "libacutest.so.12");
    char number[32];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    snprintf(number, sizeof number, "/proc/self/fd/%d", fd);
    assert_int_equal(load_path(number, 0), 0);
    expect(12040, "path");
}

/* The first of a name is what the system loader takes; a link and a bad file before it are not. */
static void first_good_file_of_a_name(void) {
    NEEDS_FOLDERS();
    assert_int_equal(symlink("nowhere", SYSTEM "/libacutest.so.13"), 0);
    put_in_system("stub/libacutest.so.12", "libacutest.so.12");
    put_in_system("11.7/libacutest.so.11.0", "libacutest.so.11.0");
    assert_int_equal(acu_load(NULL), 0);
    expect(11070, "system loader");
    assert_null(strstr(acu_load_trace(ACU_CUDART), "libacutest.so.13"));
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "libacutest.so.12: refused: it lacks");
    assert_ptr_equal(acu_load_trace(ACU_CUDART), acu_load_trace(ACU_CUDART)); /* written once */
}

static void nothing_anywhere(void) {
    assert_int_equal(acu_load(NULL), MISSING);
    expect_refused(MISSING, "found no libacutest.so.13, libacutest.so.12 or libacutest.so.11.0 in "
                            "the process, or by LD_LIBRARY_PATH, VIRTUAL_ENV, ");
    CHECK_CONTAINS(acu_last_error_message(), "; ANYCUDA_CUDART=/path/to/it chooses a file");
    assert_string_equal(acu_load_trace(ACU_CUDART),
                        "already in the process: no library found\n"
                        "LD_LIBRARY_PATH: not set\n"
                        "VIRTUAL_ENV: not set\n"
                        "CONDA_PREFIX: not set\n"
                        "Python interpreter: none runs in this process\n"
                        "system loader: no library found\n"
                        "CUDA_PATH: not set\n"
                        "CUDA_HOME: not set\n"
                        "/usr/local/cuda*: no library found\n");
}

/* The names of known versions are tried; what has another name is looked for last, and named. */
static void only_an_unknown_version(void) {
    put("14.0/libacutest.so.14", "lib/libacutest.so.14");
    setenv("CONDA_PREFIX", scratch(), 1);
    assert_int_equal(acu_load(NULL), MISSING);
    expect_refused(MISSING, "its soname, libacutest.so.14, is of an unknown version");
    put("12.4/libacutest.so.12", "lib/libacutest.so.12.4.127");
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "CONDA_PREFIX");
}

/* ---- a Python interpreter, as the loader sees one ---- */

static const wchar_t *program_of_python, *prefix_of_python;

EXPORTED int Py_IsInitialized(void);
EXPORTED const char *Py_GetVersion(void);
EXPORTED const wchar_t *Py_GetProgramFullPath(void);
EXPORTED const wchar_t *Py_GetPrefix(void);

int Py_IsInitialized(void) {
    return prefix_of_python != NULL;
}

const char *Py_GetVersion(void) {
    return "3.11.2 (main, Apr 28 2025, 14:11:48) [GCC 12.2.0]";
}

const wchar_t *Py_GetProgramFullPath(void) {
    return program_of_python;
}

const wchar_t *Py_GetPrefix(void) {
    return prefix_of_python;
}

/* The interpreter is SCRATCH/program, installed in SCRATCH/usr. */
static void run_python(const char *program) {
    static wchar_t paths[2][1024];
    swprintf(paths[0], 1024, L"%s", in_scratch(program));
    swprintf(paths[1], 1024, L"%s", in_scratch("usr"));
    program_of_python = paths[0];
    prefix_of_python = paths[1];
}

static const char wheel[] = "nvidia/cuda_runtime/lib/libacutest.so.12";

/* Puts 12.4 into the packages in that folder. */
static void install(const char *packages) {
    char name[256];
    snprintf(name, sizeof name, "%s/%s", packages, wheel);
    put("12.4/libacutest.so.12", name);
}

static void expect_found_by_python(void) {
    put_in_system("13.0/libacutest.so.13", "libacutest.so.13");
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "Python interpreter");
#ifdef __GLIBC__
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "/libacutest.so.13: good, but ");
#endif
}

static void packages_of_an_installation(void) {
    run_python("usr/bin/python3");
    install(alone_with);
    expect_found_by_python();
}

static void packages_of_the_user(void) {
    run_python("usr/bin/python3");
    install("home/.local/lib/python3.11/site-packages");
    setenv("HOME", in_scratch("home"), 1);
    setenv("PYTHONNOUSERSITE", "1", 1);
    assert_int_equal(acu_load(NULL), MISSING);
    unsetenv("PYTHONNOUSERSITE");
    expect_found_by_python();
}

static void packages_of_the_users_base(void) {
    run_python("usr/bin/python3");
    install("base/lib/python3.11/site-packages");
    setenv("PYTHONUSERBASE", in_scratch("base"), 1);
    expect_found_by_python();
}

static void write_config(const char *text) {
    char home[1024];
    snprintf(home, sizeof home, "home = %s/usr/bin\n%s", scratch(), text);
    write_file(in_scratch("venv/pyvenv.cfg"), home, strlen(home));
}

/* An environment that was not activated, as `.venv/bin/python` runs. */
static void packages_of_an_environment(void) {
    run_python("venv/bin/python");
    write_config("include-system-site-packages = false\nversion = 3.11.2\n");
    install("usr/lib/python3.11/site-packages"); /* hidden by the environment */
    assert_int_equal(acu_load(NULL), MISSING);
    install("venv/lib/python3.11/site-packages");
    expect_found_by_python();
}

static void packages_that_an_environment_shows(void) {
    run_python("venv/bin/python");
    write_config("include-system-site-packages = true\n");
    install("usr/lib/python3.11/site-packages");
    expect_found_by_python();
}

static void environments_before_the_interpreter(void) {
    run_python("usr/bin/python3");
    install("usr/lib/python3.11/site-packages");
    put("13.0/libacutest.so.13", "conda/lib/libacutest.so.13");
    setenv("CONDA_PREFIX", in_scratch("conda"), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(13000, "CONDA_PREFIX");
}

static void interpreter_of_another_version_has_its_own_packages(void) {
    run_python("usr/bin/python3");
    install("usr/lib/python3.12/site-packages");
    assert_int_equal(acu_load(NULL), MISSING);
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "Python interpreter: no library found\n");
}

static void bare_name_is_the_system_loaders(void) {
    put_in_system("12.4/libacutest.so.12", "libacutest.so.12");
    setenv("ANYCUDA_CUDART", "libacutest.so.12", 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "ANYCUDA_CUDART");
}

static void bare_name_is_not_of_the_current_folder(void) {
    put("12.4/libacutest.so.12", "libacutest.so.12");
    assert_int_equal(chdir(scratch()), 0);
    setenv("ANYCUDA_CUDART", "libacutest.so.12", 1);
    assert_int_equal(acu_load(NULL), MISSING);
    expect_refused(MISSING, "ANYCUDA_CUDART=libacutest.so.12: the system loader did not find it");
}

/* ---- acceptance ---- */

static void unknown_major(void) {
    const char *path = put("14.0/libacutest.so.14", "libacutest.so.14");
    assert_int_equal(load_path(path, 0), MISSING);
    expect_refused(MISSING, "its soname, libacutest.so.14, is of an unknown version");
    assert_int_equal(
        load_path(path, (unsigned)ACU_LOAD_ALLOW_UNKNOWN | (unsigned)ACU_LOAD_SKIP_DRIVER), 0);
    expect(14000, "path");
}

static void older_than_the_oldest(void) {
    const char *path = put("10.2/libacutest.so.10.2", "libacutest.so.10.2");
    assert_int_equal(load_path(path, 0), MISSING);
    expect_refused(MISSING, "its soname, libacutest.so.10.2, is of an old, unsupported version");
    assert_int_equal(load_path(path, ACU_LOAD_ALLOW_UNKNOWN), 0);
    expect(10000, "path");
}

static void older_minor_told_by_its_name(void) {
    assert_int_equal(load_path(put("11.7/libacutest.so.11.0", "libacutest.so.11.4.148"), 0),
                     MISSING);
    expect_refused(MISSING, "it is CUDA 11.4, older than the oldest known version, 11.7");
}

static void newer_minor_is_taken_and_said(void) {
    assert_int_equal(load_path(put("13.9/libacutest.so.13", "libacutest.so.13"), 0), 0);
    expect(13090, "path");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "newer than all that are known");
}

static void driver_too_old(void) {
    setenv("FAKE_DRIVER", "12040", 1);
    put("13.0/libacutest.so.13", "cuda/lib64/libacutest.so.13");
    put("12.9/libacutest.so.12", "cuda/lib64/libacutest.so.12");
    setenv("CUDA_PATH", in_scratch("cuda"), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12090, "CUDA_PATH"); /* a newer minor than the driver's is fine */
    assert_int_equal(acu_loaded(ACU_CUDART)->driver, 12040);
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART),
                   "it needs a driver for CUDA 13; the installed one supports 12.4");
}

static void only_one_and_the_driver_too_old(void) {
    setenv("FAKE_DRIVER", "11040", 1);
    assert_int_equal(load_path(put("12.4/libacutest.so.12", "libacutest.so.12"), 0), MISSING);
    expect_refused(MISSING, "it needs a driver for CUDA 12; the installed one supports 11.4");
    assert_int_equal(load_path(in_scratch("libacutest.so.12"), ACU_LOAD_SKIP_DRIVER), 0);
    assert_int_equal(acu_loaded(ACU_CUDART)->driver, 0);
}

static void driver_that_does_not_say(void) {
    unsetenv("FAKE_DRIVER");
    assert_int_equal(load_path(put("13.0/libacutest.so.13", "libacutest.so.13"), 0), 0);
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "driver: does not report its version");
}

static void path_that_is_too_long(void) {
    static char path[5001] = "/";
    memset(path + 1, 'a', sizeof path - 2);
    assert_int_equal(load_path(path, 0), MISSING);
    expect_refused(MISSING, "its path has 5000 characters, and the system takes at most 4095");
}

static void stub_by_its_folder(void) {
    assert_int_equal(load_path(put("12.4/libacutest.so.12", "lib64/stubs/libacutest.so.12"), 0),
                     STUB);
    expect_refused(STUB, "it is a stub to link against");
    /* A stub is refused behind a link, too, as distributions make them. */
    assert_int_equal(
        symlink(in_scratch("lib64/stubs/libacutest.so.12"), in_scratch("libacutest.so.12")), 0);
    assert_int_equal(load_path(in_scratch("libacutest.so.12"), 0), STUB);
    /* A stub is refused, too, where the path begins with the folder of stubs. */
    assert_int_equal(chdir(in_scratch("lib64")), 0);
    setenv("ANYCUDA_CUDART", "stubs/libacutest.so.12", 1);
    assert_int_equal(acu_load(NULL), STUB);
    put("12.4/libacutest.so.12", "lib64/nostubs/libacutest.so.12");
    assert_int_equal(load_path("nostubs/libacutest.so.12", 0), 0);
}

static void stub_by_its_symbols(void) {
    assert_int_equal(load_path(put("stub/libacutest.so.12", "libacutest.so.12"), 0), STUB);
    expect_refused(STUB, "it lacks acutestMalloc");
    assert_int_equal(load_path(in_scratch("libacutest.so.12"), ACU_LOAD_ALLOW_UNKNOWN), STUB);
}

static void another_soname(void) {
    assert_int_equal(load_path(put("other/libother.so.12", "libacutest.so.12"), 0), MISSING);
    expect_refused(MISSING, "its soname is \"libother.so.12\", not libacutest's");
}

static void no_soname(void) {
    assert_int_equal(load_path(put("nameless/libacutest.so.12", "libacutest.so.12"), 0), MISSING);
    expect_refused(MISSING, "its soname is \"\"");
}

static void version_from_markers(void) {
    assert_int_equal(load_path(put("11.8/libacutest.so.11.0", "libacutest.so.11.0"), 0), 0);
    expect(11080, "path");
}

static void version_of_the_oldest_without_markers(void) {
    assert_int_equal(load_path(put("11.7/libacutest.so.11.0", "libacutest.so.11.0"), 0), 0);
    expect(11070, "path");
    assert_string_equal(getenv("FAKE_ASKED"), "1");
}

/* The version function of 11.8 initialises CUDA, and a child could not use CUDA then. */
static void the_last_11_is_not_asked_for_its_version(void) {
    assert_int_equal(load_path(put("11.8/libacutest.so.11.0", "libacutest.so.11.0"), 0), 0);
    expect(11080, "path");
    assert_null(getenv("FAKE_ASKED"));
}

/* A library that cannot be opened gives way to the next best of its place. */
static void unopenable(void) {
    put("unopenable/libacutest.so.13", "cuda/lib64/libacutest.so.13");
    put("12.4/libacutest.so.12", "cuda/lib64/libacutest.so.12");
    setenv("CUDA_PATH", in_scratch("cuda"), 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "CUDA_PATH");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "libacutest_missing_dependency.so");
}

/* ---- once per process ---- */

static void same_choice_and_another(void) {
    const char *path = put("12.4/libacutest.so.12", "libacutest.so.12");
    const char *other = put("13.0/libacutest.so.13", "libacutest.so.13");
    assert_int_equal(load_path(path, 0), 0);
    assert_int_equal(load_path(path, 0), 0);
    assert_int_equal(acu_load(NULL), 0);
    assert_int_equal(symlink(path, in_scratch("link")), 0);
    assert_int_equal(load_path(in_scratch("link"), 0), 0);
    assert_int_equal(acu_last_error(), 0);
    assert_int_equal(load_path(other, 0), MISSING);
    CHECK_CONTAINS(acu_last_error_message(), "acu_load: libacutest 12.4 is loaded already (");
    CHECK_CONTAINS(acu_last_error_message(), path);
    made_up library = {.version = 13000};
    assert_int_equal(acu_load(&(acu_load_options){.resolve = resolve_made_up, .data = &library}),
                     MISSING);
    assert_int_equal(load_path("sim", 0), MISSING);
    assert_int_equal(acu_loaded(ACU_CUDART)->version, 12040);
}

static void same_choice_by_a_relative_path(void) {
    const char *path = put("12.4/libacutest.so.12", "lib64/libacutest.so.12");
    assert_int_equal(chdir(scratch()), 0);
    assert_int_equal(load_path("lib64/libacutest.so.12", 0), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(load_path(path, 0), 0);
}

static void same_choice_by_name(void) {
    put_in_system("12.4/libacutest.so.12", "libacutest.so.12");
    put_in_system("12.4/libacutest.so.12", "libacutest.so");
    put_in_system("13.0/libacutest.so.13", "libacutest.so.13");
    assert_int_equal(load_path("libacutest.so.12", 0), 0);
    assert_int_equal(load_path("libacutest.so.12", 0), 0);
    assert_int_equal(load_path("libacutest.so", 0), 0);
    assert_int_equal(load_path(SYSTEM "/libacutest.so", 0), 0);
    assert_int_equal(acu_last_error(), 0);
    assert_int_equal(load_path("libacutest.so.13", 0), MISSING);
    assert_int_equal(chdir(SYSTEM), 0);
    assert_int_equal(unlink("libacutest.so.12"), 0);
    assert_int_equal(chdir(FAKES "/12.4"), 0); /* its name is there, too, which dlopen() ignores */
    assert_int_equal(load_path("libacutest.so.12", 0), MISSING);
    CHECK_CONTAINS(acu_last_error_message(), "acu_load: libacutest 12.4 is loaded already (");
    expect(12040, "path");
}

static void later_load_succeeds(void) {
    assert_int_equal(load_path(in_scratch("nothing"), 0), MISSING);
    assert_int_equal(load_path(put("12.4/libacutest.so.12", "libacutest.so.12"), 0), 0);
    expect(12040, "path");
}

static void no_such_library(void) {
    acu_load_options options = {.path = NULL};
    int number = 7;
    memcpy(&options.library, &number, sizeof number);
    assert_int_equal(acu_load(&options), INVALID);
    CHECK_CONTAINS(acu_last_error_message(), "no library 7");
    assert_null(acu_loaded(options.library));
    assert_string_equal(acu_load_trace(options.library), "");
}

static void no_simulator_in_this_build(void) {
    setenv("ANYCUDA_CUDART", "sim", 1);
    assert_int_equal(acu_load(NULL), MISSING);
    expect_refused(MISSING, "ANYCUDA_CUDART=sim: this build has no simulator");
}

/* ---- a fake simulator ---- */

static acu_fn resolve_sim(const char *symbol) {
    (void)symbol;
    return NULL;
}

static int version_of_sim(acu_library_id id) {
    return id == ACU_CUDA ? 0 : 12040;
}

static const acu_sim sim = {.resolve = resolve_sim,
                            .version = version_of_sim,
                            .abi = 13050,
                            .instead = "; use the simulator",
                            .without_driver = "; it has no driver"};

static void simulator_by_environment(void) {
    acu_sim_provider = &sim;
    setenv("ANYCUDA_CUDART", "sim", 1);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "ANYCUDA_CUDART");
    assert_true(acu_loaded(ACU_CUDART)->is_sim);
    assert_int_equal(acu_library_version(&acu_cudart), 13050); /* the ABI that is bound */
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_CUDA, .path = "sim"}), MISSING);
    CHECK_CONTAINS(acu_last_error_message(), "it has no driver");
}

static void simulator_only_if_allowed(void) {
    acu_sim_provider = &sim;
    assert_int_equal(acu_load(NULL), MISSING);
    assert_int_equal(acu_load(&(acu_load_options){.flags = ACU_LOAD_ALLOW_SIM}), 0);
    expect(12040, "ACU_LOAD_ALLOW_SIM");
}

static void simulator_only_if_there_is_nothing(void) {
    acu_sim_provider = &sim;
    setenv("CUDA_PATH", scratch(), 1);
    put("13.0/libacutest.so.13", "lib/libacutest.so.13");
    assert_int_equal(acu_load(&(acu_load_options){.flags = ACU_LOAD_ALLOW_SIM}), 0);
    expect(13000, "CUDA_PATH");
}

/* With the simulator as the runtime its compiler is there, but a real one is better. */
static void simulated_compiler_only_if_there_is_none(void) {
    acu_sim_provider = &sim;
    setenv("ANYCUDA_CUDART", "sim", 1);
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_NVRTC}), 0);
    assert_true(acu_loaded(ACU_NVRTC)->is_sim);
}

static void real_compiler_before_the_simulated_one(void) {
    acu_sim_provider = &sim;
    setenv("ANYCUDA_CUDART", "sim", 1);
    put("13.0/libacujit.so.13", "cuda/lib64/libacujit.so.13");
    setenv("CUDA_PATH", in_scratch("cuda"), 1);
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_NVRTC}), 0);
    assert_false(acu_loaded(ACU_NVRTC)->is_sim);
}

/* ---- the others ---- */

static void nvrtc_follows_the_runtime(void) {
    put("13.0/libacujit.so.13", "cuda/lib64/libacujit.so.13");
    put("12.4/libacujit.so.12", "cuda/lib64/libacujit.so.12");
    setenv("CUDA_PATH", in_scratch("cuda"), 1);
    assert_int_equal(load_path(put("12.4/libacutest.so.12", "libacutest.so.12"), 0), 0);
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_NVRTC}), 0);
    assert_int_equal(acu_loaded(ACU_NVRTC)->version, 12040);
    CHECK_CONTAINS(acu_load_trace(ACU_NVRTC),
                   "left for later, because the loaded libacutest is 12");
}

static void nvrtc_alone_is_the_newest(void) {
    put("13.0/libacujit.so.13", "cuda/lib64/libacujit.so.13");
    put("12.4/libacujit.so.12", "cuda/lib64/libacujit.so.12");
    setenv("CUDA_PATH", in_scratch("cuda"), 1);
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_NVRTC}), 0);
    assert_int_equal(acu_loaded(ACU_NVRTC)->version, 13000);
}

static void nvrtc_of_another_major_is_better_than_none(void) {
    put("13.0/libacujit.so.13", "cuda/lib64/libacujit.so.13");
    setenv("CUDA_PATH", in_scratch("cuda"), 1);
    assert_int_equal(load_path(put("12.4/libacutest.so.12", "libacutest.so.12"), 0), 0);
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_NVRTC}), 0);
    assert_int_equal(acu_loaded(ACU_NVRTC)->version, 13000);
}

static void driver_is_not_looked_for_in_toolkits(void) {
    put("12.4/libacudrv.so.1", "cuda/lib64/libacudrv.so.1");
    setenv("CUDA_PATH", in_scratch("cuda"), 1);
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_CUDA}), MISSING);
    assert_null(strstr(acu_load_trace(ACU_CUDA), "CUDA_PATH"));
    setenv("ANYCUDA_CUDA", in_scratch("cuda/lib64/libacudrv.so.1"), 1);
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_CUDA}), 0);
    assert_int_equal(acu_loaded(ACU_CUDA)->version, 12040);
    assert_null(acu_loaded(ACU_CUDART)); /* each loads by itself */
}

/* ---- seen in the field ---- */

/* vLLM PR 47586: a scan of the process for "libcudart" found a stub. */
static void vllm_47586_exact_name_and_no_stub(void) {
    const char *stub = put("12.4/libacutest.so.12", "stubs/libacutest.so.12");
    assert_non_null(dlopen(stub, RTLD_NOW));
    assert_non_null(dlopen(put("12.4/libacutest.so.12", "mylibacutest.so.12"), RTLD_NOW));
    assert_non_null(dlopen(put("12.4/libacutest.so.12", "libacutest_static.so"), RTLD_NOW));
    assert_non_null(dlopen(put("12.4/libacutest.so.12", "libacutest.so.12.bak"), RTLD_NOW));
    assert_int_equal(acu_load(NULL), STUB);
    expect_refused(STUB, "stubs/libacutest.so.12: it is a stub");
    assert_null(strstr(acu_load_trace(ACU_CUDART), "mylib"));
    assert_null(strstr(acu_load_trace(ACU_CUDART), "_static"));
    assert_null(strstr(acu_load_trace(ACU_CUDART), ".bak"));
}

/* Wheels that bundle a runtime put a hash into its name, and mean one per process. */
static void cuda_quantum_4236_reuse_what_is_mapped_also_with_a_hash(void) {
    setenv("CUDA_PATH", scratch(), 1);
    put("13.0/libacutest.so.13", "lib64/libacutest.so.13");
    void *mapped = dlopen(FAKES "/hash/libacutest-d0da41ae.so.11.0", RTLD_NOW);
    assert_non_null(mapped);
    assert_int_equal(acu_load(NULL), 0);
    expect(11070, "already in the process");
    assert_ptr_equal(acu_cudart.handle, mapped);
    assert_string_equal(acu_loaded(ACU_CUDART)->soname, "libacutest-d0da41ae.so.11.0");
}

/* cudnn-frontend issue 267: 12 and 13 in one process. */
static void cudnn_frontend_267_two_majors(void) {
    assert_non_null(dlopen(FAKES "/12.4/libacutest.so.12", RTLD_NOW));
    assert_non_null(dlopen(FAKES "/13.0/libacutest.so.13", RTLD_NOW));
    assert_int_equal(acu_load(NULL), 0);
    expect(13000, "already in the process");
    CHECK_CONTAINS(acu_load_trace(ACU_CUDART), "two major versions are in this process, 13 and 12");
}

static void two_majors_and_the_driver_takes_one(void) {
    setenv("FAKE_DRIVER", "12040", 1);
    assert_non_null(dlopen(FAKES "/13.0/libacutest.so.13", RTLD_NOW));
    assert_non_null(dlopen(FAKES "/12.4/libacutest.so.12", RTLD_NOW));
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "already in the process");
}

/* aws-ofi-nccl PR 224: runtime images have versioned sonames only. */
static void aws_ofi_nccl_224_no_bare_name(void) {
    put_in_system("11.7/libacutest.so.11.0", "libacutest.so.11.0");
    assert_int_equal(acu_load(NULL), 0);
    expect(11070, "system loader");
}

/* UCX issue 10787: libcudart.so.13 renamed to .12 is still 13. */
static void ucx_10787_renamed(void) {
    assert_int_equal(load_path(put("13.0/libacutest.so.13", "libacutest.so.12"), 0), 0);
    expect(13000, "path");
    assert_string_equal(acu_loaded(ACU_CUDART)->soname, "libacutest.so.13");
}

/* candle issue 3900: a program starts where there is no CUDA, and its first call returns that
 * error. */
static void candle_3900_starts_without_cuda(void) {
    assert_int_equal(acu_last_error(), 0);
    assert_string_equal(acu_last_error_message(), "");
    assert_null(acu_loaded(ACU_CUDART));
    assert_false(acu_load_once(&acu_cudart));
    assert_int_equal(acu_last_error(), 0); /* a load is no call */
}

/* A mapped library whose file was replaced or removed. */
static void mapped_file_is_gone(void) {
    NEEDS_FOLDERS();
    const char *path = put("12.4/libacutest.so.12", "libacutest.so.12");
    assert_non_null(dlopen(path, RTLD_NOW));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(acu_load(NULL), 0);
    expect(12040, "already in the process");
}

/* ---- a setuid program, whose caller must not choose what it loads ---- */

enum { NOT_SETUID = 77 };

/* What this program does as a setuid one, with the interpreter installed in PREFIX. */
static int load_as_setuid(const char *prefix) {
    static wchar_t wide[1024];
    if (getauxval(AT_SECURE) == 0)
        return NOT_SETUID;
    swprintf(wide, 1024, L"%s", prefix);
    program_of_python = prefix_of_python = wide;
    if (acu_load(NULL) == 0)
        print_error("%s", acu_load_trace(ACU_CUDART));
    return acu_loaded(ACU_CUDART) ? 1 : 0;
}

/* Makes a copy of this program that runs as another user. */
static void make_setuid(const char *program) {
    struct stat own = {0};
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(from >= 0 && to >= 0 && fstat(from, &own) == 0);
    for (off_t left = own.st_size; left > 0;) {
        ssize_t sent = sendfile(to, from, NULL, (size_t)left);
        assert_true(sent > 0);
        left -= sent;
    }
    close(from);
    close(to);
    if (chown(program, 65534, 65534) != 0 || chmod(program, 04755) != 0)
        skip_alone("only root can make a setuid program of another user");
}

static void setuid_program_ignores_its_environment(void) {
    static const char *const variables[] = {"LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
                                            "CUDA_PATH",       "CUDA_HOME",   "PYTHONUSERBASE"};
    const char *program = in_scratch("program");
    int status = -1;
#if defined(__SANITIZE_ADDRESS__)
    skip_alone("ASan cannot read /proc/self/maps in a setuid program");
#endif
    put("12.4/libacutest.so.12", "lib/libacutest.so.12");
    put("12.4/libacutest.so.12",
        "usr/lib/python3.11/site-packages/nvidia/cu12/lib/libacutest.so.12");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i], i ? scratch() : in_scratch("lib"), 1);
    make_setuid(program);
    assert_int_equal(chmod(scratch(), 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "setuid", in_scratch("usr"), (char *)NULL);
        _exit(126);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_SETUID)
        skip_alone("the folder for temporary files is in a file system without setuid programs");
    assert_int_equal(status, 0);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "setuid") == 0)
        return load_as_setuid(argv[2]);
    const struct CMUnitTest tests[] = {
        ALONE(path_before_all),
        ALONE(environment_before_search),
        ALONE(environment_fails_loudly),
        ALONE(path_fails_loudly),
        ALONE(process_before_system),
        ALONE_WITH(environments_before_system, "VIRTUAL_ENV"),
        ALONE_WITH(environments_before_system, "CONDA_PREFIX"),
        ALONE(library_path_before_system),
        ALONE(every_major_of_the_library_path),
        ALONE(empty_name_in_the_library_path),
        ALONE(process_before_library_path),
        ALONE(system_before_toolkits),
        ALONE(setuid_program_ignores_its_environment),
        ALONE(newest_soname_of_system),
        ALONE(unopenable_in_system),
        ALONE(virtual_env_before_conda),
        ALONE(newest_wheel_of_an_environment),
        ALONE(conda_before_cuda_path_before_cuda_home),
        ALONE(toolkit_layouts),
        ALONE(newest_minor_of_a_place),
        ALONE(special_characters_in_a_folder),
        ALONE(file_that_has_no_name),
        ALONE(first_good_file_of_a_name),
        ALONE(nothing_anywhere),
        ALONE(only_an_unknown_version),
        ALONE_WITH(packages_of_an_installation, "usr/lib/python3.11/site-packages"),
        ALONE_WITH(packages_of_an_installation, "usr/lib64/python3.11/site-packages"),
        ALONE_WITH(packages_of_an_installation, "usr/lib/python3/dist-packages"),
        ALONE_WITH(packages_of_an_installation, "usr/local/lib/python3.11/dist-packages"),
        ALONE(packages_of_the_user),
        ALONE(packages_of_the_users_base),
        ALONE(packages_of_an_environment),
        ALONE(packages_that_an_environment_shows),
        ALONE(environments_before_the_interpreter),
        ALONE(interpreter_of_another_version_has_its_own_packages),
        ALONE(bare_name_is_the_system_loaders),
        ALONE(bare_name_is_not_of_the_current_folder),
        ALONE(unknown_major),
        ALONE(older_than_the_oldest),
        ALONE(older_minor_told_by_its_name),
        ALONE(newer_minor_is_taken_and_said),
        ALONE(driver_too_old),
        ALONE(only_one_and_the_driver_too_old),
        ALONE(driver_that_does_not_say),
        ALONE(path_that_is_too_long),
        ALONE(stub_by_its_folder),
        ALONE(stub_by_its_symbols),
        ALONE(another_soname),
        ALONE(no_soname),
        ALONE(version_from_markers),
        ALONE(version_of_the_oldest_without_markers),
        ALONE(the_last_11_is_not_asked_for_its_version),
        ALONE(unopenable),
        ALONE(same_choice_and_another),
        ALONE(same_choice_by_a_relative_path),
        ALONE(same_choice_by_name),
        ALONE(later_load_succeeds),
        ALONE(no_such_library),
        ALONE(no_simulator_in_this_build),
        ALONE(simulator_by_environment),
        ALONE(simulator_only_if_allowed),
        ALONE(simulator_only_if_there_is_nothing),
        ALONE(simulated_compiler_only_if_there_is_none),
        ALONE(real_compiler_before_the_simulated_one),
        ALONE(nvrtc_follows_the_runtime),
        ALONE(nvrtc_alone_is_the_newest),
        ALONE(nvrtc_of_another_major_is_better_than_none),
        ALONE(driver_is_not_looked_for_in_toolkits),
        ALONE(vllm_47586_exact_name_and_no_stub),
        ALONE(cuda_quantum_4236_reuse_what_is_mapped_also_with_a_hash),
        ALONE(cudnn_frontend_267_two_majors),
        ALONE(two_majors_and_the_driver_takes_one),
        ALONE(aws_ofi_nccl_224_no_bare_name),
        ALONE(ucx_10787_renamed),
        ALONE(candle_3900_starts_without_cuda),
        ALONE(mapped_file_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
