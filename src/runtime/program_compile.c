/* Programs: what back ends make of them, once for each device. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "runtime/backend.h"
#include "runtime/client.h"
#include "runtime/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ---- forms ---- */

static const acu_form *find_form(const acu_program_source *s, const char *runtime) {
    for (size_t i = 0; i < s->form_count; i++)
        if (strcmp(s->forms[i].runtime, runtime) == 0)
            return &s->forms[i];
    return NULL;
}

/* Returns whether the source says what the program is on a runtime. */
static bool has_form(const acu_program_source *s, const char *runtime) {
    if (strcmp(runtime, "cpu") == 0)
        return s->cpu;
    if (strcmp(runtime, "cuda") == 0)
        return s->ptx || s->cuda;
    if (strcmp(runtime, "webgpu") == 0)
        return s->wgsl;
    return find_form(s, runtime);
}

acu_result acu_program_refuse_place(const char *call, const acu_program *program,
                                    const char *runtime) {
    const acu_program_source *s = &program->source;
    const char *known[] = {"cpu", "cuda", "webgpu"};
    char object[ACU_OBJECT_TEXT], has[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < 3 + s->form_count && length < sizeof has; i++) {
        const char *name = i < 3 ? known[i] : s->forms[i - 3].runtime;
        if (has_form(s, name))
            length += (size_t)snprintf(has + length, sizeof has - length, "%s%s",
                                       length > 0 ? ", " : "", name);
    }
    (void)acu_program_describe(program, object, sizeof object);
    acu_fail_hint("give the program a form for %s, or one for the CPU and ACU_PROGRAM_ON_CPU",
                  runtime);
    return acu_fail(call, object, ACU_NOT_SUPPORTED,
                    "the program has no form for %s: it has forms for %s", runtime, has);
}

/* ---- compiling ---- */

static acu_result check_group(const char *call, const acu_program *program,
                              const acu_place_device *device) {
    const size_t *group = program->source.group, *most = device->info.max_group;
    const size_t most_items = device->info.max_group_items;
    size_t items = 0;
    char object[ACU_OBJECT_TEXT];
    const bool fits = !__builtin_mul_overflow(group[0], group[1], &items) &&
                      !__builtin_mul_overflow(items, group[2], &items) &&
                      (!most_items || items <= most_items) && (!most[0] || group[0] <= most[0]) &&
                      (!most[1] || group[1] <= most[1]) && (!most[2] || group[2] <= most[2]);
    if (fits)
        return 0;
    (void)acu_program_describe(program, object, sizeof object);
    return acu_fail(call, object, ACU_ERROR_LIMIT,
                    "its group has %zu x %zu x %zu items, but %s:%d allows %zu x %zu x %zu, and "
                    "%zu in all",
                    group[0], group[1], group[2], device->table->name, device->place.device,
                    most[0], most[1], most[2], most_items);
}

static void set_state(acu_compiled *c, int state) {
    __atomic_store_n(&c->state, state, __ATOMIC_RELEASE);
}

/* Asks the back end to compile the program; the lock of `c` is held. */
static acu_result compile(const char *call, acu_program *program, acu_compiled *c) {
    const acu_backend *table = c->device->table;
    const acu_program_source *s = &program->source;
    const acu_backend_source source = {sizeof source, s, find_form(s, table->name)};
    const bool has = has_form(s, table->name),
               known = c->device->place.runtime <= ACU_RUNTIME_WEBGPU;
    char object[ACU_OBJECT_TEXT];
    acu_result code = ACU_NOT_SUPPORTED; /* a registered runtime may use what is another's form */
    if (table->program_create && (has || !known)) {
        if (has)
            ACU_TRY(check_group(call, program, c->device));
        code = table->program_create(c->device->device, &source, &c->made);
        code = acu_backend_check(code, c->made, "program");
    }
    if (code == ACU_NOT_SUPPORTED && (!has || !table->program_create)) {
        set_state(c, ACU_NO_FORM);
        return 0;
    }
    if (code) {
        (void)acu_program_describe(program, object, sizeof object);
        return acu_backend_failed(call, object, code);
    }
    acu_place_device_keep(c->device, 1);
    set_state(c, ACU_COMPILED);
    return 0;
}

/* ---- finding ---- */

static bool is_decided(const acu_compiled *c) {
    return ACU_LIKELY(__atomic_load_n(&c->state, __ATOMIC_ACQUIRE) != ACU_NOT_COMPILED);
}

static acu_compiled *find(const acu_program *program, const acu_place_device *device) {
    acu_compiled *c = __atomic_load_n(&program->compiled, __ATOMIC_ACQUIRE);
    while (c && c->device != device)
        c = c->next;
    return c;
}

/* Finds the entry of a device, or adds one; NULL where the host has no memory. */
static acu_compiled *find_or_add(acu_program *program, acu_place_device *device) {
    acu_compiled *c = find(program, device);
    if (c)
        return c;
    pthread_mutex_lock(&program->lock);
    c = find(program, device);
    if (!c && (c = calloc(1, sizeof *c))) {
        c->device = device;
        c->forks = __atomic_load_n(&acu_place_forks, __ATOMIC_RELAXED);
        pthread_mutex_init(&c->lock, NULL);
        c->next = program->compiled;
        __atomic_store_n(&program->compiled, c, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&program->lock);
    return c;
}

acu_result acu_program_compile(const char *call, acu_program *program, acu_place_device *device,
                               acu_compiled **compiled) {
    acu_compiled *c = *compiled = find_or_add(program, device);
    if (!c)
        return acu_fail(call, "", ACU_ERROR_HOST_MEMORY, "the host has no memory for a program");
    if (is_decided(c))
        return 0;
    pthread_mutex_lock(&c->lock);
    const acu_result code = is_decided(c) ? 0 : compile(call, program, c);
    pthread_mutex_unlock(&c->lock);
    return code;
}

acu_result acu_program_compile_for_cpu(const char *call, acu_program *program, acu_compiled **cpu) {
    acu_place_device *device = NULL;
    *cpu = NULL;
    if (!(program->source.flags & (unsigned)ACU_PROGRAM_ON_CPU))
        return 0;
    ACU_TRY(acu_place_open(call, acu_place_cpu(), &device));
    return acu_program_compile(call, program, device, cpu);
}

acu_result acu_program_prepare(acu_program *program, acu_place place) {
    acu_place_device *device = NULL;
    acu_compiled *c = NULL, *cpu = NULL;
    ACU_NEED_HANDLE(program, acu_program_class);
    ACU_TRY(acu_place_open(__func__, place, &device));
    ACU_TRY(acu_program_compile(__func__, program, device, &c));
    if (c->state == ACU_COMPILED)
        return 0;
    ACU_TRY(acu_program_compile_for_cpu(__func__, program, &cpu));
    return cpu ? 0 : acu_program_refuse_place(__func__, program, device->table->name);
}

/* ---- the end ---- */

/* Finds the client of a device with the smallest id beyond `after` that is one of the users, and
 * adds an owner to it. Returns NULL where there is none, or where `dying` says that another thread
 * is destroying it and waits for its work. */
static acu_client *next_user(acu_place_device *device, uint64_t users, uint64_t after,
                             bool *dying) {
    acu_client *found = NULL;
    pthread_mutex_lock(&device->lock);
    for (acu_client *one = device->clients; one; one = one->next)
        if ((users >> one->id % 64 & 1u) && one->id > after && (!found || one->id < found->id))
            found = one;
    *dying = found && !acu_handle_try_add_owner(found);
    pthread_mutex_unlock(&device->lock);
    return *dying ? NULL : found;
}

/* Waits for the work of all clients that ran the program. Returns the first failure of a client
 * that nothing else kept any more. */
static acu_result wait_for_users(const acu_compiled *c) {
    acu_result first = 0;
    uint64_t after = 0;
    for (;;) {
        bool dying = false;
        acu_client *user = next_user(c->device, c->users, after, &dying);
        if (!user && !dying)
            return first;
        if (dying) {
            nanosleep(&(struct timespec){0, 100000}, NULL);
            continue;
        }
        after = user->id;
        (void)acu_client_wait_for_all(user, NULL);
        const acu_result code = acu_handle_release(NULL, user, &acu_client_class);
        first = first ? first : code;
    }
}

static acu_result give_back(acu_compiled *c) {
    const acu_backend *table = c->device->table;
    const acu_result code = wait_for_users(c);
    if (c->queue)
        table->queue_destroy(c->queue);
    table->program_destroy(c->made);
    acu_place_device_keep(c->device, -1);
    return code;
}

acu_result acu_program_free_compiled(acu_program *program) {
    const unsigned forks = __atomic_load_n(&acu_place_forks, __ATOMIC_RELAXED);
    acu_result first = 0;
    acu_compiled *next;
    for (acu_compiled *c = program->compiled; c; c = next) {
        next = c->next;
        if (c->state == ACU_COMPILED && c->forks == forks) { /* the parent's are not ours */
            const acu_result code = give_back(c);
            first = first ? first : code;
        }
        pthread_mutex_destroy(&c->lock);
        free(c);
    }
    return first;
}
