/*
 * Python tells a library that it loads nothing about its folders, and a virtual environment need
 * not be activated: `.venv/bin/python` alone sets no variable. The few functions called here return
 * strings that Python made at its start, so they need no lock of Python's.
 */
#include "loader/python.h"

#include "loader/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct python {
    char version[8];                 /* "3.11" */
    char environment[ACU_PATH_SIZE]; /* the virtual environment; "" if there is none */
    char base[ACU_PATH_SIZE]; /* the installation; "" if the environment hides its packages */
    acu_visit *visit;
    void *data;
} python;

static const char *get_version(void) {
    acu_fn is_initialized = acu_platform_program_symbol("Py_IsInitialized");
    acu_fn version = acu_platform_program_symbol("Py_GetVersion");
    return is_initialized && version && ((int (*)(void))is_initialized)()
               ? ((const char *(*)(void))version)()
               : NULL;
}

/* Copies one of the interpreter's paths; "" if it has none, or one that no file can have here. */
static void get_path(const char *function, char path[ACU_PATH_SIZE]) {
    acu_fn get = acu_platform_program_symbol(function);
    const wchar_t *wide = get ? ((const wchar_t *(*)(void))get)() : NULL;
    size_t length = wide ? wcstombs(path, wide, ACU_PATH_SIZE) : 0;
    path[length < ACU_PATH_SIZE ? length : 0] = '\0';
}

/* Cuts off the last part of a path; "" if it has one only. */
static void cut(char *path) {
    char *slash = strrchr(path, '/');
    *(slash ? slash : path) = '\0';
}

/* Reads DIR/pyvenv.cfg, which makes a folder a virtual environment. */
static bool read_config(python *p, const char *folder) {
    char path[ACU_PATH_SIZE + 16], line[ACU_PATH_SIZE + 16], home[ACU_PATH_SIZE] = "", word[8];
    bool shows_base = false;
    snprintf(path, sizeof path, "%s/pyvenv.cfg", folder);
    FILE *file = *folder ? fopen(path, "re") : NULL;
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, " include-system-site-packages = %7s", word) == 1)
            shows_base = strcmp(word, "true") == 0;
        (void)sscanf(line, " home = %4095[^\n]", home);
    }
    fclose(file);
    cut(home); /* …/bin */
    snprintf(p->base, sizeof p->base, "%s", shows_base ? home : "");
    snprintf(p->environment, sizeof p->environment, "%s", folder);
    return true;
}

static void find_environment(python *p) {
    char folder[ACU_PATH_SIZE];
    get_path("Py_GetPrefix", p->base);
    get_path("Py_GetProgramFullPath", folder);
    cut(folder); /* …/bin/python */
    if (read_config(p, folder))
        return;
    cut(folder);
    (void)read_config(p, folder);
}

static void visit(const python *p, const char *root, const char *lib, const char *version,
                  const char *packages) {
    char path[ACU_PATH_SIZE];
    int used = snprintf(path, sizeof path, "%s/%s/python%s/%s", root, lib, version, packages);
    if (*root && used > 0 && (size_t)used < sizeof path)
        p->visit(p->data, path);
}

static void visit_user(const python *p) {
    const char *user = acu_platform_env("PYTHONUSERBASE"), *home = acu_platform_env("HOME");
    const char *off = acu_platform_env("PYTHONNOUSERSITE");
    if (off && *off)
        return;
    if (user && *user)
        visit(p, user, "lib", p->version, "site-packages");
    else if (home)
        visit(p, home, ".local/lib", p->version, "site-packages");
}

bool acu_python_packages(acu_visit *to, void *data) {
    const char *version = acu_platform_is_setuid() ? NULL : get_version();
    python p = {.visit = to, .data = data};
    if (!version || sscanf(version, "%7[0-9.]", p.version) != 1)
        return false;
    char *minor = strchr(p.version, '.'), *patch = minor ? strchr(minor + 1, '.') : NULL;
    if (patch)
        *patch = '\0';
    find_environment(&p);
    visit(&p, p.environment, "lib", p.version, "site-packages");
    visit(&p, p.environment, "lib64", p.version, "site-packages");
    if (!*p.base)
        return true;
    visit_user(&p);
    visit(&p, p.base, "lib", p.version, "site-packages");
    visit(&p, p.base, "lib64", p.version, "site-packages");
    visit(&p, p.base, "local/lib", p.version, "dist-packages"); /* Debian's, as the next two */
    visit(&p, p.base, "lib", p.version, "dist-packages");
    visit(&p, p.base, "lib", "3", "dist-packages");
    return true;
}
