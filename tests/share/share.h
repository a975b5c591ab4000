/*
 * Scenes of two processes that share memory and events, for the simulator and for GPUs alike. Each
 * process is a child that has not used CUDA before; what CUDA answers becomes a line of the scene.
 *
 *   static void makes(void) { give(&handle, sizeof handle, -1); wait_for_other(); }
 *   static void opens(void) { take(&handle, sizeof handle); ASK(cudaIpcOpenMemHandle(…)); }
 *   SCENE(opened, makes, opens)
 */
#ifndef SHARE_H
#define SHARE_H

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { MIB = 1 << 20 };

typedef struct scene {
    const char *name;
    void (*first)(void), (*second)(void); /* what the two processes do; NULL: there is no second */
    struct scene *next;
} scene;

void add_scene(scene *added);

#define SCENE(title, does_first, does_second)                                                      \
    __attribute__((constructor)) static void add_##title(void) {                                   \
        static scene it = {#title, does_first, does_second, NULL};                                 \
        add_scene(&it);                                                                            \
    }

/* Adds a line to the scene's. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Adds a line with the code of a call, and returns it. */
int ask(const char *call, long long code);
#define ASK(call) ask(#call, (long long)(call))
/* Ends the process if the call fails, with a line. */
#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call)                                                                                  \
            must_succeed(#call, (long long)(call));                                                \
    } while (0)
void must_succeed(const char *call, long long code);

/* Send bytes and a descriptor (-1: none) to the other process, and receive them. */
void give(const void *data, size_t size, int descriptor);
int take(void *data, size_t size);
/* Tell the other process to go on, and wait for that; both end the process if the other is gone. */
void let_go_on(void);
void wait_for_other(void);
/* Waits until the other process has ended. */
void wait_for_end(void);

/* Makes a stream whose work waits until the flag that is returned is set to 1. */
unsigned *blocked(cudaStream_t *stream);

/* Bytes of device memory, by copies that are waited for; the first says what differs. */
void say_byte(const char *what, const void *at);
void fill(void *at, int value, size_t size);

#endif
