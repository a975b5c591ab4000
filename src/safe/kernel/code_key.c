/*
 * What decides what a compiler makes of a program, as a digest.
 *
 * Headers that are files are not known to the program, so the text is searched for what it may
 * include, whether or not the preprocessor will get there, and each file that may be meant is
 * searched in turn. A name that only the preprocessor knows makes the program one that is not
 * looked up.
 */
#define _XOPEN_SOURCE 700 /* realpath, st_mtim */
#include "safe/kernel/code_cache.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void acu_code_key_begin(acu_digest *digest, const char *what, acu_library_id library) {
    const acu_load_info *loaded = acu_loaded(library);
    struct stat file = {.st_size = 0};
    acu_digest_begin(digest);
    acu_digest_add_text(digest, what);
    acu_digest_add_number(digest, loaded ? (uint64_t)loaded->version : 0);
    /* Releases of one version differ by their files alone. */
    if (!loaded || stat(loaded->path, &file) != 0)
        return;
    acu_digest_add_number(digest, (uint64_t)file.st_size);
    acu_digest_add_number(digest, (uint64_t)file.st_mtim.tv_sec);
    acu_digest_add_number(digest, (uint64_t)file.st_mtim.tv_nsec);
}

/* ---- what was searched ---- */

enum { MOST_FOLDERS = 256, MOST_FILES = 8192, MOST_DEPTH = 200 };

typedef struct scan {
    acu_digest *digest;
    const acu_module_program *program;
    const char
        *folders[MOST_FOLDERS]; /* in which the compiler searches; the first is the process's */
    size_t folder_count;
    char **seen; /* the files and headers that were searched */
    size_t seen_count;
    unsigned depth;
    bool known; /* false: something decides that is not in the digest */
} scan;

/* Remembers a name; returns whether it is new. */
static bool is_new(scan *s, const char *name) {
    for (size_t i = 0; i < s->seen_count; i++)
        if (strcmp(s->seen[i], name) == 0)
            return false;
    if ((s->seen_count & (s->seen_count - 1)) == 0) {
        char **grown = realloc(s->seen, (s->seen_count ? 2 * s->seen_count : 1) * sizeof *grown);
        s->known = s->known && grown;
        s->seen = grown ? grown : s->seen;
    }
    char *copy = s->known ? acu_code_copy(name, strlen(name)) : NULL;
    s->known = copy && s->seen_count < MOST_FILES;
    if (s->known)
        s->seen[s->seen_count++] = copy;
    else
        free(copy);
    return s->known;
}

static void search_text(scan *s, const char *text, size_t size, const char *folder);

/* Adds a file, if it exists, and what it may include. */
static void search_file(scan *s, const char *folder, const char *name) {
    char path[PATH_MAX], *slash, *text;
    size_t size = 0;
    struct stat file;
    const bool whole = *name == '/';
    const int length =
        snprintf(path, sizeof path, "%s%s%s", whole ? "" : folder, whole ? "" : "/", name);
    if (length < 0 || (size_t)length >= sizeof path || stat(path, &file) != 0 ||
        !S_ISREG(file.st_mode))
        return;
    text = acu_code_read(path, &size, NULL);
    if (!text) {
        s->known = false;
        return;
    }
    acu_digest_add_sized(s->digest, text, size);
    slash = strrchr(path, '/');
    /* The path without its links tells one file from another; by links it would not end. */
    char *real = realpath(path, NULL);
    *slash = '\0';
    if (!real)
        s->known = false;
    else if (is_new(s, real))
        search_text(s, text, size, path);
    free(real);
    free(text);
}

/* Adds all files that `#include "name"` may mean. The program's own headers are searched anyway. */
static void search_name(scan *s, const char *name, const char *folder) {
    acu_digest_add_text(s->digest, name);
    if (++s->depth > MOST_DEPTH)
        s->known = false;
    if (s->known)
        search_file(s, folder, name);
    for (size_t i = 0; i < s->folder_count && s->known; i++)
        search_file(s, s->folders[i], name);
    s->depth--;
}

/* ---- text ---- */

/* Returns what follows blanks and comments. */
static const char *skip_blanks(const char *at) {
    for (;;) {
        while (*at == ' ' || *at == '\t' || *at == '\v' || *at == '\f')
            at++;
        const char *end = at[0] == '/' && at[1] == '*' ? strstr(at + 2, "*/") : NULL;
        if (!end)
            return at;
        at = end + 2;
    }
}

/* Searches what is between quotes or brackets here. A macro could be anything. */
static void search_quoted(scan *s, const char *at, const char *folder) {
    char name[PATH_MAX];
    const char *end = *at == '"' || *at == '<' ? strchr(at + 1, *at == '"' ? '"' : '>') : NULL;
    if (!end || (size_t)(end - at) > sizeof name || memchr(at, '\n', (size_t)(end - at))) {
        s->known = false;
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)(end - at - 1), at + 1);
    search_name(s, name, folder);
}

static size_t word_length(const char *at) {
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

static bool is_word(const char *at, size_t length, const char *const *words) {
    for (; *words; words++)
        if (strlen(*words) == length && strncmp(at, *words, length) == 0)
            return true;
    return false;
}

/* Searches what a '#' or a word at this place includes. Returns what follows. */
static const char *search_at(scan *s, const char *at, const char *folder) {
    static const char *const directives[] = {"include", "include_next", "import", "embed", NULL};
    static const char *const questions[] = {"__has_include", "__has_include_next", "__has_embed",
                                            NULL};
    static const char *const changing[] = {"__TIME__", "__DATE__", "__TIMESTAMP__", NULL};
    const bool hash = *at == '#' || (at[0] == '%' && at[1] == ':');
    if (hash)
        at = skip_blanks(at + (*at == '#' ? 1 : 2));
    const size_t length = word_length(at);
    if (length == 0)
        return hash ? at : at + 1;
    const char *after = skip_blanks(at + length);
    if (hash && is_word(at, length, directives))
        search_quoted(s, after, folder);
    else if (is_word(at, length, questions) && *after == '(')
        search_quoted(s, skip_blanks(after + 1), folder);
    else if (is_word(at, length, changing))
        s->known = false;
    return at + length;
}

/* Copies a text without the ends of lines that a backslash hides; NULL without memory. */
static char *join_lines(const char *text, size_t size) {
    char *joined = malloc(size + 1);
    size_t used = 0;
    for (size_t i = 0; i < size && joined; i++) {
        const size_t left = size - i - 1;
        if (text[i] == '\\' && left > 0 && text[i + 1] == '\n')
            i += 1;
        else if (text[i] == '\\' && left > 1 && text[i + 1] == '\r' && text[i + 2] == '\n')
            i += 2;
        else if (text[i] != '\0')
            joined[used++] = text[i];
    }
    if (joined)
        joined[used] = '\0';
    return joined;
}

static void search_text(scan *s, const char *text, size_t size, const char *folder) {
    char *joined = join_lines(text, size);
    /* A trigraph could be a '#' or a backslash. */
    s->known = s->known && joined && !strstr(joined, "?\?=") && !strstr(joined, "?\?/");
    for (const char *at = joined; s->known && *at;)
        at = search_at(s, at, folder);
    free(joined);
}

/* ---- options ---- */

/* Returns what follows the beginning of an option, without '=' and blanks; NULL where it begins in
 * another way. */
static const char *value_of(const char *option, const char *beginning) {
    const size_t length = strlen(beginning);
    if (strncmp(option, beginning, length) != 0)
        return NULL;
    return option + length + strspn(option + length, "= \t");
}

/* Returns the value of an option, which may be the next one; NULL where it is another option. */
static const char *value_in(const char *const **option, const char *const *beginnings) {
    for (; *beginnings; beginnings++) {
        const char *value = value_of(**option, *beginnings);
        if (value && *value == '\0' && (*option)[1])
            value = *++*option;
        if (value)
            return value;
    }
    return NULL;
}

/* Returns whether an option reads or writes files of its own. */
static bool uses_files(const char *option) {
    static const char *const such[] = {
        "time",    "fdevice-time-trace", "pch",  "create-pch",
        "use-pch", "options-file",       "optf", "enable-cache-trace"};
    option += strspn(option, "-");
    for (size_t i = 0; i < sizeof such / sizeof *such; i++)
        if (strncmp(option, such[i], strlen(such[i])) == 0)
            return true;
    return *option == '@';
}

/* Finds the folders in which the compiler searches. */
static void find_folders(scan *s) {
    static const char *const include[] = {"-I", "--include-path", NULL};
    const char *const *option = s->program->options;
    for (; option && *option && s->known; option++) {
        const char *folder = value_in(&option, include);
        if (folder && s->folder_count < MOST_FOLDERS)
            s->folders[s->folder_count++] = folder;
        else
            s->known = !folder && !uses_files(*option);
    }
}

/* Searches what options include before the source. */
static void search_options(scan *s) {
    static const char *const before[] = {"-include", "--pre-include", "--preinclude", NULL};
    const char *const *option = s->program->options;
    for (; option && *option && s->known; option++) {
        const char *name = value_of(*option, "--include-path") ? NULL : value_in(&option, before);
        if (name)
            search_name(s, name, ".");
    }
}

static void add_texts(acu_digest *digest, const char *const *texts) {
    size_t count = 0;
    for (; texts && texts[count]; count++)
        acu_digest_add_text(digest, texts[count]);
    acu_digest_add_number(digest, count);
}

/* Searches a text of the program, whose folder is that of its name, as far as that is one. */
static void search_named(scan *s, const char *name, const char *text) {
    char folder[PATH_MAX];
    const char *slash = name ? strrchr(name, '/') : NULL;
    const size_t length = slash ? (size_t)(slash - name) + (slash == name) : 0;
    if (length >= sizeof folder) {
        s->known = false;
        return;
    }
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)length : 1, slash ? name : ".");
    search_text(s, text, strlen(text), folder);
}

bool acu_code_key_add_program(acu_digest *digest, const acu_module_program *program,
                              const char *architecture) {
    scan s = {
        .digest = digest, .program = program, .known = true, .folders = {"."}, .folder_count = 1};
    const acu_module_header *headers = program->headers;
    acu_digest_add_text(digest, program->text);
    acu_digest_add_text(digest, program->name);
    acu_digest_add_text(digest, architecture);
    add_texts(digest, program->options);
    add_texts(digest, program->expressions);
    for (size_t i = 0; headers && headers[i].name; i++) {
        acu_digest_add_text(digest, headers[i].name);
        acu_digest_add_text(digest, headers[i].text);
    }
    find_folders(&s);
    if (s.known)
        search_options(&s);
    if (s.known)
        search_named(&s, program->name, program->text);
    for (size_t i = 0; headers && headers[i].name && s.known; i++)
        search_named(&s, headers[i].name, headers[i].text ? headers[i].text : "");
    for (size_t i = 0; i < s.seen_count; i++)
        free(s.seen[i]);
    free(s.seen);
    return s.known;
}
