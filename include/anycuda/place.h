/*
 * Places: devices of any kind, as plain values.
 *
 * A place says which runtime has the device, and which of its devices that is. All zero is device 0
 * of the CPU, which every program has. CUDA and WebGPU are in a program that names
 * acu_place_cuda() or acu_place_webgpu(): a program that names neither carries nothing of them.
 */
#ifndef ACU_PLACE_H
#define ACU_PLACE_H

#include <stdbool.h>

#include <anycuda/dtype.h>
#include <anycuda/status.h>

ACU_BEGIN_C

/** The runtimes that this library knows; what a program registers has the numbers after them. */
enum acu_runtime_number { ACU_RUNTIME_CPU, ACU_RUNTIME_CUDA, ACU_RUNTIME_WEBGPU };

/** A device of a runtime. */
typedef struct acu_place {
    int runtime; /* acu_runtime_number, or what acu_runtime_register() gave */
    int device;  /* from 0 */
} acu_place;

/** Returns the place of the CPU. */
static inline acu_place acu_place_cpu(void) {
    acu_place place = {ACU_RUNTIME_CPU, 0};
    return place;
}

/** Returns the place of a device of CUDA, and makes CUDA a part of this program. */
acu_place acu_place_cuda(int device);

/** Returns the place of a device of WebGPU, and makes WebGPU a part of this program. */
acu_place acu_place_webgpu(int device);

/** Returns whether two places are the same device. */
static inline bool acu_place_is(acu_place place, acu_place other) {
    return place.runtime == other.runtime && place.device == other.device;
}

/**
 * Finds a place by its text: "cpu", "cuda", "cuda:1".
 *
 * Errors: ACU_ERROR_ARGUMENT where no runtime has that name, or the text is no place. Whether the
 * device is there is not asked.
 */
ACU_CHECKED acu_result acu_place_parse(const char *text, acu_place *place);

/** Writes "cuda:1"; acu_stream_describe() has the rules. */
size_t acu_place_describe(acu_place place, char *text, size_t size);

/** What a place can do beside allocating, copying, and running programs. */
enum acu_place_can {
    ACU_CAN_CAPTURE = 1,      /* a replay is one piece of work for the device */
    ACU_CAN_RUN_AHEAD = 2,    /* a call returns before its work is done */
    ACU_CAN_ADDRESS = 4,      /* acu_block_get_address() */
    ACU_CAN_USE_HOST = 8,     /* the host reads and writes the memory: acu_block_get_host() */
    ACU_CAN_WRAP = 16,        /* acu_block_wrap() */
    ACU_CAN_READ_BESIDE = 32, /* acu_block_read_after() does not wait for later work */
    ACU_CAN_COPY_PEERS = 64   /* copies between two devices do not go through the host */
};

/** What a place is, and its limits. */
typedef struct acu_place_info {
    char name[128];         /* of the device, in its maker's words */
    unsigned can;           /* acu_place_can bits */
    size_t alignment;       /* bytes; a block that is not wrapped begins at a multiple of it */
    uint64_t largest_block; /* bytes */
    uint64_t memory;        /* bytes of the device; 0: not known */
    unsigned max_rank;   /* dimensions of a strided copy without a detour; at most ACU_MAX_RANK */
    unsigned max_blocks; /* blocks that one program can be given */
    size_t max_group[3]; /* items of a group, in x, y and z */
    size_t max_group_items; /* items of a group in all */
    unsigned threads;       /* that work at once, on a CPU; 0: not known */
} acu_place_info;

/** Asks what a place is. Errors: those of acu_client_get_default(). */
ACU_CHECKED acu_result acu_place_get_info(acu_place place, acu_place_info *info);

/**
 * Returns whether programs of a place can compute with elements of a type. Every place can store
 * and copy all types. false also where the place cannot be used, or the number is not a type.
 */
bool acu_place_computes(acu_place place, acu_dtype dtype);

/** What an acu_raw is. */
typedef enum acu_raw_kind {
    ACU_RAW_NONE,    /* there is none, as for the CPU */
    ACU_RAW_POINTER, /* `handle` is an address */
    ACU_RAW_CUDA,    /* `handle` is a cudaStream_t, and `other` an acu_stream * */
    ACU_RAW_WEBGPU,  /* `handle` is a WGPUDevice or WGPUBuffer; `other` a WGPUQueue or NULL */
    ACU_RAW_OTHER    /* what the registered back end says */
} acu_raw_kind;

/** A handle of what is beneath, for calls of CUDA's or WebGPU's own. */
typedef struct acu_raw {
    acu_raw_kind kind;
    void *handle, *other;
} acu_raw;

ACU_END_C

#endif
