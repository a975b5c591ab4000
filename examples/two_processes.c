/*
 * Two processes use one buffer: this one fills it with work on its GPU, and a second process, which
 * is this program once more, adds the numbers up.
 *
 * A Unix socket carries the buffer and an event. The event is recorded after the work that fills
 * the buffer, and lets the other process's stream wait for that.
 */
#include "example.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1000000 };

/* ---- the first process ---- */

static acu_result offer(int socket) {
    const acu_buffer_options options = {.memory = ACU_MEMORY_DEVICE};
    const acu_event_options shared = {.flags = ACU_EVENT_INTERPROCESS + ACU_EVENT_DISABLE_TIMING};
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    ACU_AUTO(acu_event) *ready = NULL;
    ACU_AUTO(acu_share) *memory = NULL;
    ACU_AUTO(acu_share) *order = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_event_create(0, &shared, &ready));
    ACU_TRY(acu_buffer_create_with(stream, ACU_F32, COUNT, &options, &buffer));
    ACU_TRY(acu_buffer_fill(buffer, &(float){0.5f}));
    ACU_TRY(acu_event_record(ready, stream)); /* nobody waits here */
    ACU_TRY(acu_share_export_buffer(buffer, &memory));
    ACU_TRY(acu_share_export_event(ready, &order));
    ACU_TRY(acu_share_send(memory, socket));
    ACU_TRY(acu_share_send(order, socket));
    return acu_share_wait(memory); /* until the other process has released the buffer */
}

/* ---- the second one ---- */

static float numbers[COUNT];

static acu_result add_up(int socket) {
    ACU_AUTO(acu_share) *memory = NULL;
    ACU_AUTO(acu_share) *order = NULL;
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    ACU_AUTO(acu_event) *ready = NULL;
    ACU_TRY(example_begin());
    ACU_TRY(acu_share_receive(socket, &memory));
    ACU_TRY(acu_share_receive(socket, &order));
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_share_import_buffer(memory, stream, &buffer));
    ACU_TRY(acu_share_import_event(order, &ready));
    ACU_TRY(acu_stream_wait_event(stream, ready));
    ACU_TRY(acu_buffer_read(buffer, numbers, acu_buffer_count(buffer)));
    double sum = 0;
    for (size_t i = 0; i < acu_buffer_count(buffer); i++)
        sum += (double)numbers[i];
    printf("the second process adds up %zu numbers: %g\n", acu_buffer_count(buffer), sum);
    return ACU_SUCCESS;
}

/* CUDA does not survive a fork(), so the child becomes a new program before it uses CUDA. */
static pid_t start_second(const char *program, int socket) {
    char number[16];
    (void)snprintf(number, sizeof number, "%d", socket);
    const pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", program, "second", number, (char *)NULL);
        _exit(1);
    }
    return child;
}

int main(int count, char **arguments) {
    int ends[2], status = 0;
    if (count == 3 && strcmp(arguments[1], "second") == 0)
        return example_end(add_up((int)strtol(arguments[2], NULL, 10)));
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    const pid_t second = start_second(arguments[0], ends[1]);
    close(ends[1]);
    acu_result result = example_begin();
    if (!result)
        result = offer(ends[0]);
    close(ends[0]);
    if (second < 0 || waitpid(second, &status, 0) != second || status)
        return 1;
    return example_end(result);
}
