/* The place that is tested: how it is found, and what it can do. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "suite.h"

#include "../made_up.h"

#include <anycuda/load.h>

#include <glob.h>
#include <unistd.h>

acu_place place;
acu_place_info info;

void needs(unsigned what, const char *in_words) {
    if (!can(what))
        skip_case("the place cannot %s", in_words);
}

bool is_cpu(void) {
    return place.runtime == ACU_RUNTIME_CPU;
}

bool is_cuda(void) {
    return place.runtime == ACU_RUNTIME_CUDA;
}

bool is_webgpu(void) {
    return place.runtime == ACU_RUNTIME_WEBGPU;
}

static bool late;
static const char *left_out = "nothing"; /* of a made-up back end */

bool is_late(void) {
    return late;
}

bool runs_form_of_cpu(void) {
    return is_cpu() || (late && strcmp(left_out, "programs") != 0);
}

bool has_programs(void) {
    return is_cpu() || is_cuda() || is_webgpu();
}

bool is_simulated(void) {
    return is_cuda() && acu_loaded(ACU_CUDART) && acu_loaded(ACU_CUDART)->is_sim;
}

/* Leaves only what a back end must have. */
static void leave_the_least(acu_backend *table) {
    static acu_backend least;
    least.size = table->size;
    least.version = table->version;
    least.name = "fake";
    least.count_devices = table->count_devices;
    least.device_open = table->device_open;
    least.device_close = table->device_close;
    least.device_get_info = table->device_get_info;
    least.queue_create = table->queue_create;
    least.queue_destroy = table->queue_destroy;
    least.queue_synchronize = table->queue_synchronize;
    least.memory_allocate = table->memory_allocate;
    least.memory_free = table->memory_free;
    least.write = table->write;
    least.read = table->read;
    least.copy = table->copy;
    *table = least;
}

/* What a back end may leave out, of which a made-up one leaves out one thing: "madeup-fill". */
static const char *const left_out_names[] = {"nothing",    "fill",  "copy_strided", "copy_peer",
                                             "read_after", "marks", "queue_wait",   "programs",
                                             "captures",   "raw",   "wrap"};

static bool leaves_out(const char *what) {
    return strcmp(left_out, what) == 0;
}

static void leave_out_one(acu_backend *t) {
    t->computes = NULL; /* its answer is for other tests */
    if (leaves_out("fill"))
        t->fill = NULL;
    if (leaves_out("copy_strided"))
        t->copy_strided = NULL;
    if (leaves_out("copy_peer"))
        t->copy_peer = NULL;
    if (leaves_out("read_after"))
        t->read_after = NULL;
    if (leaves_out("queue_wait"))
        t->queue_wait = NULL;
    if (leaves_out("wrap"))
        t->memory_wrap = NULL, t->memory_unwrap = NULL;
    if (leaves_out("marks")) {
        t->mark_create = NULL;
        t->mark_destroy = NULL;
        t->mark_query = t->mark_synchronize = NULL;
        t->queue_wait = NULL;
    }
    if (leaves_out("programs")) {
        t->program_create = NULL;
        t->program_destroy = NULL;
        t->run = NULL;
    }
    if (leaves_out("captures")) {
        t->capture_begin = NULL;
        t->capture_end = NULL;
        t->capture_cancel = NULL;
        t->replay_run = NULL;
        t->replay_destroy = NULL;
    }
    if (leaves_out("raw")) {
        t->queue_get_raw = NULL;
        t->memory_get_raw = NULL;
        t->memory_get_address = t->memory_get_host = NULL;
    }
}

/* Returns whether that is the made-up back end, whole or without one thing. */
static bool choose_made_up(const char *name) {
    const char *dash = strchr(name, '-');
    if (strncmp(name, "madeup", 6) != 0 || (name[6] && dash != name + 6))
        return false;
    for (size_t i = 0; i < COUNT(left_out_names); i++)
        if (!dash || strcmp(left_out_names[i], dash + 1) == 0) {
            left_out = left_out_names[i];
            place = made_up_register(leave_out_one);
            late = true;
            return true;
        }
    return false;
}

acu_place fake_place(void) {
    static acu_place registered;
    if (!registered.runtime)
        registered = made_up_register(leave_the_least);
    return registered;
}

acu_place other_place(void) {
    return is_cpu() ? fake_place() : acu_place_cpu();
}

acu_place second_device(void) {
    int count = 0;
    OK(acu_runtime_get_device_count(place.runtime, &count));
    if (count < 2)
        skip_case("there is one device");
    return (acu_place){place.runtime, place.device + 1};
}

/* Mesa's Vulkan for the CPU, by both names that the loader of Vulkan has had for it; and the
 * library that `make toolkits` fetches. */
static const char *prepare_webgpu(void) {
    glob_t found;
    if (!getenv("ANYCUDA_WEBGPU") && access(FETCHED, R_OK) == 0)
        setenv("ANYCUDA_WEBGPU", FETCHED, 1);
    if (getenv("VK_DRIVER_FILES") || getenv("VK_ICD_FILENAMES"))
        return NULL;
    if (glob("/usr/share/vulkan/icd.d/lvp_icd.*json", 0, NULL, &found) != 0)
        return "there is no Vulkan for the CPU (mesa-vulkan-drivers)";
    setenv("VK_DRIVER_FILES", found.gl_pathv[0], 1);
    setenv("VK_ICD_FILENAMES", found.gl_pathv[0], 1);
    globfree(&found);
    return NULL;
}

/* The first device of a back end in a shared object. */
static acu_place open_place(const char *path) {
    acu_place opened = {0, 0};
    if (acu_runtime_open(path, &opened.runtime)) {
        fprintf(stderr, "error: %s\n", acu_last_error_message());
        exit(2);
    }
    return opened;
}

static const char *find_place(const char *name) {
    if (strcmp(name, "cpu") == 0) {
        place = acu_place_cpu();
        return NULL;
    }
    if (strcmp(name, "cuda") == 0) {
        place = acu_place_cuda(0);
        register_sim_kernels();
        return NULL;
    }
    if (strcmp(name, "webgpu") == 0) {
        place = acu_place_webgpu(0);
        return prepare_webgpu();
    }
    if (strcmp(name, "fake") == 0) {
        place = fake_place();
        return NULL;
    }
    if (choose_made_up(name))
        return NULL;
    if (strchr(name, '/')) {
        place = open_place(name);
        return NULL;
    }
    fprintf(stderr,
            "error: there is no place '%s'; there are cpu, cuda, webgpu, fake, madeup, "
            "madeup-fill and so on, and the path of a shared object\n",
            name);
    exit(2);
}

const char *choose_place(const char *name) {
    static char why[2000];
    int count = 0;
    const char *reason = find_place(name);
    if (reason)
        return reason;
    if (acu_runtime_get_device_count(place.runtime, &count) ||
        (count && acu_place_get_info(place, &info))) {
        snprintf(why, sizeof why, "%s", acu_last_error_message());
        return why;
    }
    if (count == 0)
        return "there is no device";
    printf("on %s: %s\n", name, info.name);
    return NULL;
}
