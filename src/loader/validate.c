/*
 * A file is validated by reading it, before it is opened, because no library is ever closed.
 */
#include "loader/validate.h"

#include "core/simulator.h"
#include "loader/driver.h"
#include "loader/soname.h"

#include <stdio.h>
#include <string.h>

/* ---- versions ---- */

static bool elf_has(void *where, const char *symbol) {
    return acu_elf_exports(where, symbol);
}

static bool library_has(void *where, const char *symbol) {
    return acu_library_find(where, symbol) != NULL;
}

/* Returns the version that the exported symbols show. That is needed for files that are not open,
 * for the version that is not asked, and for 11.7 without a driver, whose version function fails.
 */
static int version_by_markers(const acu_library_info *info, int major, acu_has_symbol *has,
                              void *where) {
    int version = major && major != ACU_MAJOR(info->oldest) ? major * 1000 : info->oldest;
    for (const acu_marker *marker = info->markers; marker && marker->version; marker++)
        if ((major == 0 || ACU_MAJOR(marker->version) == major) && has(where, marker->symbol))
            version = marker->version;
    return version;
}

/* Returns the version in a name like libcudart.so.12.4.127; 0 if it has none. The number in
 * libcuda.so.580.65 is the driver's own. */
static int version_by_name(const acu_search *s, const char *real, int major) {
    int numbers[3];
    if (!s->library->packages ||
        !acu_soname_parse(s->library->info->name, acu_soname_base(real), numbers) ||
        numbers[0] != major || numbers[2] < 0)
        return 0;
    return numbers[0] * 1000 + numbers[1] * 10;
}

int acu_validate_ask_version(const acu_library *library, int major) {
    const acu_library_info *info = library->info;
    const int shown =
        version_by_markers(info, library->packages ? major : 0, library_has, (void *)library);
    if (library->not_asked && shown == library->not_asked)
        return shown;
    acu_fn symbol = info->version_symbol ? acu_library_find(library, info->version_symbol) : NULL;
    const int version = symbol ? library->ask(symbol) : 0;
    return version ? version : shown;
}

/* ---- checks ---- */

static bool is_in_stubs(const char *path) {
    const char *end = strrchr(path, '/');
    return end && end - path >= 5 && memcmp(end - 5, "stubs", 5) == 0 &&
           (end - path == 5 || end[-6] == '/');
}

bool acu_validate_version(acu_search *s, const char *path, int version) {
    const acu_library_info *info = s->library->info;
    if (s->library->by_symbol || acu_search_allows(s, ACU_LOAD_ALLOW_UNKNOWN))
        return true;
    if (version < info->oldest)
        return acu_search_refuse(s, path, info->error_missing,
                                 "it is %s %d.%d, older than the oldest known version, %d.%d",
                                 info->product, ACU_MAJOR(version), ACU_MINOR(version),
                                 ACU_MAJOR(info->oldest), ACU_MINOR(info->oldest));
    if (ACU_MAJOR(version) > ACU_MAJOR(info->newest))
        return acu_search_refuse(
            s, path, info->error_missing,
            "it is %s %d.%d, an unknown major version (the newest known is %d.%d)", info->product,
            ACU_MAJOR(version), ACU_MINOR(version), ACU_MAJOR(info->newest),
            ACU_MINOR(info->newest));
    return true;
}

/* Returns whether the file is the simulator, and may be taken: where it was chosen, or where the
 * process has it as its libcudart, so that the process's other parts use it. It is never taken
 * where a runtime is only searched. */
static bool is_wanted_simulator(const acu_search *s, const acu_candidate *c, int numbers[3]) {
    const acu_library_info *info = s->library->info;
    if (!s->library->needs_driver || strcmp(c->soname, ACU_SIM_SONAME) != 0)
        return false;
    return s->chosen ||
           (s->mapped && acu_soname_parse(info->name, acu_soname_base(c->path), numbers) &&
            numbers[0] == ACU_MAJOR(info->newest)); /* whose ABI the file has */
}

static bool check_soname(acu_search *s, acu_candidate *c) {
    const acu_library_info *info = s->library->info;
    int numbers[3];
    if (s->library->plain_names)
        return true; /* its symbols show what it is */
    if (is_wanted_simulator(s, c, numbers))
        return true;
    const char *from_so = acu_soname_parse(info->name, c->soname, numbers);
    if (!from_so)
        return acu_search_refuse(s, c->path, info->error_missing, "its soname is \"%s\", not %s's",
                                 c->soname, info->name);
    c->major = numbers[0] > 0 ? numbers[0] : 0;
    if (!acu_soname_is_known(info, from_so) && !acu_search_allows(s, ACU_LOAD_ALLOW_UNKNOWN))
        return acu_search_refuse(
            s, c->path, info->error_missing, "its soname, %s, is of an %s version", c->soname,
            c->major && c->major < ACU_MAJOR(info->oldest) ? "old, unsupported" : "unknown");
    return true;
}

/* Refuses stubs, the libraries for linking that NVIDIA ships, whose functions do nothing. */
static bool check_symbols(acu_search *s, const char *path, acu_has_symbol *has, void *where) {
    const acu_library_info *info = s->library->info;
    const char *missing = NULL;
    bool any = false;
    if (s->library->check_foreign && !s->library->check_foreign(s, path, has, where))
        return false;
    for (const char *const *name = info->sentinels; name && *name; name++) {
        if (has(where, *name))
            any = true;
        else if (!missing)
            missing = *name;
    }
    if (!missing || (any && acu_search_allows(s, ACU_LOAD_ALLOW_UNKNOWN)))
        return true;
    return acu_search_refuse(
        s, path, info->error_stub,
        "it lacks %s, which every version since %d.%d exports: it is a stub, or too old", missing,
        ACU_MAJOR(info->oldest), ACU_MINOR(info->oldest));
}

bool acu_validate_opened(acu_search *s, const char *path) {
    return check_symbols(s, path, library_has, s->library); /* by name, not by hash as before */
}

static bool check_driver(acu_search *s, const acu_candidate *c) {
    if (!s->library->needs_driver || !c->major)
        return true;
    int version = acu_search_driver(s);
    if (version <= 0 || ACU_MAJOR(version) >= c->major)
        return true;
    return acu_search_refuse(s, c->path, s->library->info->error_missing,
                             "it needs a driver for CUDA %d; the installed one supports %d.%d",
                             c->major, ACU_MAJOR(version), ACU_MINOR(version));
}

static bool check_file(acu_search *s, acu_candidate *c, acu_elf *elf) {
    const acu_library_info *info = s->library->info;
    memcpy(c->soname, elf->soname, sizeof c->soname);
    if (!check_soname(s, c) || !check_symbols(s, c->path, elf_has, elf))
        return false;
    int version = version_by_name(s, elf->real ? elf->real : c->path, c->major);
    if (!version && !s->in_order)
        version = version_by_markers(info, s->library->packages ? c->major : 0, elf_has, elf);
    c->rank = s->in_order ? c->major : version;
    return !version ||
           acu_validate_version(s, c->path, version); /* 0: unknown, but its major is known */
}

bool acu_validate_file(acu_search *s, acu_candidate *c, acu_elf *elf, const char *wrong) {
    const acu_library_info *info = s->library->info;
    bool good = false;
    if (is_in_stubs(c->path) || (elf->real && is_in_stubs(elf->real)))
        return acu_search_refuse(s, c->path, info->error_stub,
                                 "it is a stub to link against (folder stubs)");
    if (!wrong) {
        good = check_file(s, c, elf);
    } else if (s->mapped) {
        /* A mapped file is a library; it cannot be read because it was replaced, or lies in another
         * file system. */
        c->unread = true;
        snprintf(c->soname, sizeof c->soname, "%.100s", acu_soname_base(c->path));
        good = check_soname(s, c);
        c->rank = c->major * 1000;
    } else {
        acu_search_refuse(s, c->path, info->error_missing, "%s", wrong);
    }
    if (good && s->want_major && c->major != s->want_major) {
        acu_search_note(s, "%s: left for later, because the loaded %s is %d", c->path,
                        acu_library_followed(s->library)->info->name, s->want_major);
        return false;
    }
    return good && check_driver(s, c);
}
