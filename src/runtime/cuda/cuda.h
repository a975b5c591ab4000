/*
 * The back end on CUDA, upon the public headers of the safe layer. What the table's types are:
 * memory is an acu_buffer of bytes, a replay an acu_exec, and the rest are the structs below.
 */
#ifndef ACU_RUNTIME_CUDA_H
#define ACU_RUNTIME_CUDA_H

#include <pthread.h>

#include <anycuda/backend.h>
#include <anycuda/exec.h>
#include <anycuda/launch.h>

struct acu_backend_device {
    acu_device index;
    acu_memory memory; /* what its blocks are made of, unless the program chose an allocator */
    acu_device_info info;
    pthread_mutex_t lock;     /* of all below, and of a queue's `reader` */
    acu_backend_mark *marks;  /* that wait to be used again */
    unsigned queues, wrapped; /* that live; the last one takes `marks` or `home` along */
    acu_stream *home;         /* to which wrapped memory belongs; NULL: there is none */
};

struct acu_backend_queue {
    acu_backend_device *device;
    acu_stream *stream;
    acu_stream *reader; /* which reads beside it; NULL: it was not needed yet */
    int priority;       /* of both */
    bool captures;      /* from capture_begin() on */
    /* Held by the thread that captures, and while a mark is made for a thread that synchronizes:
     * CUDA breaks the capture of a stream that another thread waits for. */
    pthread_mutex_t capture_lock;
};

struct acu_backend_mark {
    acu_backend_device *device;
    acu_event *event;
    acu_backend_mark *next; /* of those that wait to be used again */
};

struct acu_backend_program {
    acu_kernel *kernel; /* which keeps its module */
    acu_size3 group;
    acu_part_function *cpu; /* what runs instead of the kernel; NULL: the kernel itself */
    acu_kernel *stand_in;   /* the simulator's kernel that calls `cpu`; NULL with it */
};

/* What cannot be more: one argument less than a launch has, which the simulator needs. */
enum { ACU_CUDA_MOST_ARGS = ACU_MAX_ARGUMENTS - 1 };

/* Makes the safe layer's failure, which is this thread's last one, the failure of the back end. */
acu_result acu_cuda_explain(acu_result code) __attribute__((cold));
static inline acu_result acu_cuda_outcome(acu_result code) {
    return __builtin_expect(code == ACU_SUCCESS, 1) ? code : acu_cuda_explain(code);
}

/* The buffer that memory of the back end is, and the exec that a replay is. */
static inline acu_buffer *acu_cuda_buffer(acu_backend_memory *memory) {
    return (acu_buffer *)(void *)memory;
}

/* cuda_queue.c */
acu_result acu_cuda_queue_create(acu_backend_device *device,
                                 const acu_backend_queue_options *options, acu_backend_queue **out);
void acu_cuda_queue_destroy(acu_backend_queue *queue);
acu_result acu_cuda_queue_synchronize(acu_backend_queue *queue);
acu_result acu_cuda_queue_get_raw(acu_backend_queue *queue, acu_raw *raw);
acu_result acu_cuda_queue_get_reader(acu_backend_queue *queue, acu_stream **reader);
acu_result acu_cuda_mark_create(acu_backend_queue *queue, acu_backend_mark **out);
void acu_cuda_mark_destroy(acu_backend_mark *mark);
acu_result acu_cuda_mark_query(acu_backend_mark *mark);
acu_result acu_cuda_mark_synchronize(acu_backend_mark *mark);
acu_result acu_cuda_queue_wait(acu_backend_queue *queue, acu_backend_mark *mark);

/* cuda_memory.c */
acu_result acu_cuda_memory_allocate(acu_backend_queue *queue, uint64_t bytes,
                                    acu_backend_memory **out);
void acu_cuda_memory_free(acu_backend_queue *queue, acu_backend_memory *memory, uint64_t bytes);
acu_result acu_cuda_memory_wrap(acu_backend_device *device, void *memory, uint64_t bytes,
                                acu_backend_memory **out);
void acu_cuda_memory_unwrap(acu_backend_device *device, acu_backend_memory *memory);
acu_result acu_cuda_memory_get_raw(acu_backend_device *device, acu_backend_memory *memory,
                                   acu_raw *raw);
acu_result acu_cuda_memory_get_address(acu_backend_device *device, acu_backend_memory *memory,
                                       void **address);
void acu_cuda_device_trim(acu_backend_device *device);

/* cuda_copy.c */
acu_result acu_cuda_write(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                          const void *from, size_t bytes);
acu_result acu_cuda_read(acu_backend_queue *queue, acu_backend_memory *from, uint64_t at, void *to,
                         size_t bytes);
acu_result acu_cuda_read_after(acu_backend_queue *queue, acu_backend_mark *mark,
                               acu_backend_memory *from, uint64_t at, void *to, size_t bytes);
acu_result acu_cuda_copy(acu_backend_queue *queue, acu_backend_memory *to, uint64_t to_at,
                         acu_backend_memory *from, uint64_t from_at, uint64_t bytes);
acu_result acu_cuda_copy_peer(acu_backend_queue *queue, acu_backend_queue *to_queue,
                              acu_backend_memory *to, uint64_t to_at, acu_backend_memory *from,
                              uint64_t from_at, uint64_t bytes);
acu_result acu_cuda_copy_strided(acu_backend_queue *queue, acu_backend_memory *to,
                                 acu_backend_memory *from, const acu_backend_strided *strided);
acu_result acu_cuda_fill(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                         uint64_t bytes, const void *element, size_t element_bytes);

/* cuda_program.c */
acu_result acu_cuda_program_create(acu_backend_device *device, const acu_backend_source *source,
                                   acu_backend_program **out);
void acu_cuda_program_destroy(acu_backend_program *program);
acu_result acu_cuda_run(acu_backend_queue *queue, acu_backend_program *program,
                        const size_t items[3], const acu_backend_arg *args, size_t count);

/* cuda_simulated.c */
/* Finds what calls a program's form for the CPU in place of its kernel; does nothing where the
 * loaded runtime is not the simulator. */
acu_result acu_cuda_simulate(acu_backend_device *device, acu_backend_program *program,
                             const acu_program_source *source);
/* Launches the form for the CPU of a program that has `cpu`. */
acu_result acu_cuda_run_simulated(acu_backend_queue *queue, acu_backend_program *program,
                                  const size_t items[3], const acu_backend_arg *args, size_t count);

/* cuda_replay.c */
acu_result acu_cuda_capture_begin(acu_backend_queue *queue);
acu_result acu_cuda_capture_end(acu_backend_queue *queue, acu_backend_replay **out);
void acu_cuda_capture_cancel(acu_backend_queue *queue);
acu_result acu_cuda_replay_run(acu_backend_queue *queue, acu_backend_replay *replay);
void acu_cuda_replay_destroy(acu_backend_replay *replay);

/* The table; place_cuda.c alone refers to it. */
extern const acu_backend acu_cuda_backend;

#endif
