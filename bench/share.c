/*
 * Sharing a buffer or an event with another process and closing it there, against CUDA's own calls
 * and 64 bytes over the same socket: in pairs, between two processes, on the GPU whose runtime is
 * loaded. Exits with 77 where there is none: the simulator's ways between processes are its own.
 *
 * The other process is this program once more. It is told by a letter what comes, opens it, closes
 * it, and answers.
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 4194304 };

static int other; /* the socket */
static acu_stream *stream;
static acu_buffer *buffer, *pooled;
static acu_event *event;
static acu_pool *pool;

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void put(const void *bytes, size_t size) {
    OK(send(other, bytes, size, MSG_NOSIGNAL) != (ssize_t)size);
}

static void get(void *bytes, size_t size) {
    if (recv(other, bytes, size, MSG_WAITALL) != (ssize_t)size)
        _exit(0); /* the first process has ended */
}

static void answer(void) {
    put("!", 1);
}

static void wait_for_answer(void) {
    char sign;
    get(&sign, 1);
}

/* ---- the first process ---- */

static void get_handle(long calls) {
    for (long i = 0; i < calls; i++) {
        cudaIpcMemHandle_t handle;
        OK(cudaIpcGetMemHandle(&handle, acu_buffer_raw(buffer)));
    }
}

static void get_token(long calls) {
    for (long i = 0; i < calls; i++) {
        acu_share *share = NULL;
        acu_share_token token;
        OK(acu_share_export_buffer(buffer, &share));
        OK(acu_share_get_token(share, &token));
        OK(acu_share_release(share));
    }
}

static void send_handle(long calls) {
    for (long i = 0; i < calls; i++) {
        cudaIpcMemHandle_t handle;
        OK(cudaIpcGetMemHandle(&handle, acu_buffer_raw(buffer)));
        put("m", 1);
        put(&handle, sizeof handle);
        wait_for_answer();
    }
}

static void send_share(acu_buffer *of) {
    acu_share *share = NULL;
    OK(acu_share_export_buffer(of, &share));
    put("b", 1);
    OK(acu_share_send(share, other));
    wait_for_answer();
    OK(acu_share_release(share));
}

static void send_buffer(long calls) {
    for (long i = 0; i < calls; i++)
        send_share(buffer);
}

/* The other process has imported the pool before. */
static void send_export(long calls) {
    for (long i = 0; i < calls; i++) {
        struct cudaMemPoolPtrExportData data;
        OK(cudaMemPoolExportPointer(&data, acu_buffer_raw(pooled)));
        put("p", 1);
        put(&data, sizeof data);
        wait_for_answer();
    }
}

static void send_pooled(long calls) {
    for (long i = 0; i < calls; i++)
        send_share(pooled);
}

static void send_event_handle(long calls) {
    for (long i = 0; i < calls; i++) {
        cudaIpcEventHandle_t handle;
        OK(cudaIpcGetEventHandle(&handle, acu_event_raw(event)));
        put("e", 1);
        put(&handle, sizeof handle);
        wait_for_answer();
    }
}

static void send_event(long calls) {
    for (long i = 0; i < calls; i++) {
        acu_share *share = NULL;
        OK(acu_share_export_event(event, &share));
        put("v", 1);
        OK(acu_share_send(share, other));
        wait_for_answer();
        OK(acu_share_release(share));
    }
}

/* Nothing is left in a queue: each call is answered. */
static void rest(void) {}

/* ---- the other one ---- */

static void open_handle(void) {
    cudaIpcMemHandle_t handle;
    void *at = NULL;
    get(&handle, sizeof handle);
    OK(cudaIpcOpenMemHandle(&at, handle, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcCloseMemHandle(at));
}

static void open_export(void) {
    struct cudaMemPoolPtrExportData data;
    void *at = NULL;
    get(&data, sizeof data);
    OK(cudaMemPoolImportPointer(&at, acu_pool_raw(pool), &data));
    OK(cudaFree(at));
}

static void open_event_handle(void) {
    cudaIpcEventHandle_t handle;
    cudaEvent_t raw = NULL;
    get(&handle, sizeof handle);
    OK(cudaIpcOpenEventHandle(&raw, handle));
    OK(cudaEventDestroy(raw));
}

static void import_share(char what) {
    acu_share *share = NULL;
    acu_buffer *memory = NULL;
    acu_event *order = NULL;
    OK(acu_share_receive(other, &share));
    if (what == 'o')
        OK(acu_share_import_pool(share, &pool)); /* and keep it */
    else if (what == 'b')
        OK(acu_share_import_buffer(share, stream, &memory));
    else
        OK(acu_share_import_event(share, &order));
    OK(acu_share_release(share));
    OK(acu_buffer_release(memory));
    OK(acu_event_release(order));
}

static void serve(void) {
    OK(acu_stream_create(0, NULL, &stream));
    for (;;) {
        char what;
        get(&what, 1);
        if (what == 'm')
            open_handle();
        else if (what == 'p')
            open_export();
        else if (what == 'e')
            open_event_handle();
        else
            import_share(what);
        answer();
    }
}

/* CUDA does not survive a fork(), so the child becomes a new program before it uses CUDA. */
static void start_other(void) {
    int ends[2];
    char number[16];
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    (void)snprintf(number, sizeof number, "%d", ends[1]);
    if (fork() == 0) {
        close(ends[0]);
        execl("/proc/self/exe", "share", number, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    other = ends[0];
}

static void share_pool(void) {
    acu_share *share = NULL;
    const acu_pool_options options = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    OK(acu_pool_create(0, &options, &pool));
    OK(acu_share_export_pool(pool, &share));
    put("o", 1);
    OK(acu_share_send(share, other));
    wait_for_answer(); /* the share is kept: it names the pool for those that come */
}

int main(int count, char **arguments) {
    int devices = 0;
    if (count == 2) {
        other = (int)strtol(arguments[1], NULL, 10);
        serve();
    }
    if (acu_device_get_count(&devices) || devices == 0 || acu_loaded(ACU_CUDART)->is_sim) {
        printf("no GPU here: %s\n", devices ? "this is the simulator" : acu_last_error_message());
        return 77;
    }
    start_other();
    const acu_event_options shared = {.flags = ACU_EVENT_INTERPROCESS + ACU_EVENT_DISABLE_TIMING};
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create_with(stream, ACU_U8, BYTES,
                              &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE}, &buffer));
    OK(acu_event_create(0, &shared, &event));
    share_pool();
    OK(acu_buffer_create_with(stream, ACU_U8, BYTES, &(acu_buffer_options){.pool = pool}, &pooled));
    print_header("raw", "anycuda");
    compare("get a handle; make a token", get_handle, get_token, 0, rest);
    compare("4 MiB by IPC, opened and closed there", send_handle, send_buffer, 0, rest);
    compare("4 MiB of a pool, likewise", send_export, send_pooled, 0, rest);
    compare("an event, likewise", send_event_handle, send_event, 0, rest);
    return 0;
}
