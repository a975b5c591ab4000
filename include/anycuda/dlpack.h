/*
 * DLPack: how buffers and the tensors of other frameworks share memory, without a copy.
 *
 * A buffer is exported as a DLManagedTensorVersioned, and one that another framework exported is
 * imported as a buffer. <dlpack/dlpack.h> is not needed, and may be included before or after this
 * header. Frameworks from before DLPack 1.0 pass a DLManagedTensor: the functions whose names end
 * in `unversioned`.
 *
 * Who exports memory and who imports it agree on its order by a number for a stream, as DLPack's
 * Python interface does: 1 is the legacy default stream, 2 the per-thread default stream, any
 * larger number a raw handle, and -1 means that nobody waits.
 *
 * docs/users/dlpack.md shows all of it together.
 */
#ifndef ACU_DLPACK_H
#define ACU_DLPACK_H

#include <anycuda/buffer.h>

ACU_BEGIN_C

struct DLManagedTensorVersioned; /* of <dlpack/dlpack.h>, since DLPack 1.0 */
struct DLManagedTensor;          /* of <dlpack/dlpack.h> */

/** Where the memory of a tensor is, with DLPack's numbers (DLDeviceType). */
typedef enum acu_dlpack_device {
    ACU_DLPACK_DEFAULT = 0, /* what acu_buffer_get_dlpack_device() says */
    ACU_DLPACK_CPU = 1,
    ACU_DLPACK_CUDA = 2,
    ACU_DLPACK_CUDA_HOST = 3, /* pinned */
    ACU_DLPACK_CUDA_MANAGED = 13,
    ACU_DLPACK_WEBGPU = 15 /* of blocks only: <anycuda/block_dlpack.h> */
} acu_dlpack_device;

/** Bits of acu_dlpack_options.flags and acu_dlpack_info.flags, with DLPack's numbers. */
enum acu_dlpack_flag {
    ACU_DLPACK_READ_ONLY = 1, /* whoever imports the tensor must not write to it */
    ACU_DLPACK_COPIED = 2     /* the memory was copied for the export: nobody else uses it */
};

/** The shape of a tensor, and where in a buffer its elements lie; all numbers are elements. */
typedef struct acu_tensor_layout {
    unsigned rank;                 /* up to ACU_MAX_RANK; 0: one element */
    bool strided;                  /* false: densely packed, the last dimension is the innermost */
    size_t shape[ACU_MAX_RANK];    /* elements in each dimension */
    int64_t strides[ACU_MAX_RANK]; /* steps between them, of any sign; to export, only read where
                                      `strided`; of what was imported, always set */
    size_t at;                     /* the first element; with negative steps not the lowest one */
} acu_tensor_layout;

/** How a buffer is exported. */
typedef struct acu_dlpack_options {
    acu_dlpack_device device;
    unsigned flags; /* acu_dlpack_flag bits */
} acu_dlpack_options;

/** What was imported. */
typedef struct acu_dlpack_info {
    acu_tensor_layout layout;
    acu_dlpack_device device;
    int device_id;  /* ordinal; 0 where the device is ACU_DLPACK_CPU */
    unsigned flags; /* acu_dlpack_flag bits */
    acu_dtype dtype;
} acu_dlpack_info;

/* ---- exporting ---- */

/** Asks as what a buffer is exported where the options do not say: a device's type and ordinal. */
ACU_CHECKED acu_result acu_buffer_get_dlpack_device(acu_buffer *buffer, acu_dlpack_device *device,
                                                    int *device_id);

/**
 * Exports a buffer as a tensor, which the caller owns, and which keeps the buffer.
 *
 * Without a layout the tensor has one dimension, with all elements. `layout` and `options` may be
 * NULL. The tensor ends by its own `deleter`, which may run on any thread and does what
 * acu_buffer_release() does; a failure there is kept for acu_release_error(). Whoever imports the
 * tensor may call it when the work that uses the memory is done, or ordered before the buffer's
 * later uses.
 *
 * A tensor whose device is ACU_DLPACK_CPU or ACU_DLPACK_CUDA_HOST may be read by the host at once:
 * this function waits for all uses, as acu_buffer_get_host() does. For others
 * acu_buffer_join_dlpack() lets the importer's stream wait.
 *
 * Errors: ACU_ERROR_MEMORY_KIND where the memory is no such device's, or is a graph's;
 * ACU_ERROR_DTYPE where DLPack has no such type: ACU_BYTES(n) of more than 65535 bytes;
 * ACU_ERROR_RANGE where elements lie outside of the buffer; ACU_ERROR_OVERFLOW where the shape
 * cannot be addressed; ACU_ERROR_CAPTURE as for acu_stream_synchronize().
 */
ACU_CHECKED acu_result acu_buffer_export_dlpack(acu_buffer *buffer, const acu_tensor_layout *layout,
                                                const acu_dlpack_options *options,
                                                struct DLManagedTensorVersioned **tensor);

/**
 * Exports a buffer as frameworks knew it before DLPack 1.0, and else as acu_buffer_export_dlpack().
 *
 * Errors: also ACU_ERROR_ARGUMENT where `options` has flags, which such a tensor cannot carry.
 */
ACU_CHECKED acu_result acu_buffer_export_dlpack_unversioned(acu_buffer *buffer,
                                                            const acu_tensor_layout *layout,
                                                            const acu_dlpack_options *options,
                                                            struct DLManagedTensor **tensor);

/**
 * Lets an importer's stream wait for all uses of the buffer so far, which the thread does not wait
 * for; `number` is that of DLPack, of a stream of the buffer's device.
 *
 * Errors: ACU_ERROR_ARGUMENT where the number is 0, which DLPack does not allow, or below -1;
 * ACU_ERROR_CAPTURE where one stream is being captured and the other is not.
 */
ACU_CHECKED acu_result acu_buffer_join_dlpack(acu_buffer *buffer, intptr_t number);

/* ---- importing ---- */

/**
 * Imports a tensor as a buffer, which the caller owns, and which keeps the tensor and the stream.
 *
 * The tensor is taken over in any case: its `deleter` is called exactly once, after all uses of the
 * buffer's memory, or at once where this function fails. The last release, slices included, waits
 * for the uses and calls it; a capture may delay that (docs/users/threading.md).
 *
 * The buffer begins at the tensor's lowest element and ends behind its highest; `info` has the
 * layout. It fits acu_buffer_copy_strided(). Without `info` only a densely packed tensor that may
 * be written to is taken. A vector type, as float with 4 lanes, becomes ACU_BYTES(16). The memory
 * is ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED, ACU_MEMORY_MANAGED, or ACU_MEMORY_HOST, as the tensor
 * says: it is not asked whether that is true.
 *
 * The buffer's uses come after what is on the stream now. Whoever exports the tensor is given
 * acu_stream_dlpack(stream), and lets that stream wait; or acu_stream_wait_dlpack() does.
 *
 * Errors: ACU_NOT_SUPPORTED where the tensor is of another major version than 1, whose layout is
 * not known; ACU_ERROR_DTYPE where there is no such type, or the memory is not aligned for it;
 * ACU_ERROR_MEMORY_KIND where the tensor is on a device that is not CUDA's; ACU_ERROR_DEVICE where
 * it is on another device than the stream; ACU_ERROR_ARGUMENT where `info` is NULL and must not be,
 * or the tensor is not one; ACU_ERROR_OVERFLOW.
 */
ACU_CHECKED acu_result acu_buffer_import_dlpack(acu_stream *stream,
                                                struct DLManagedTensorVersioned *tensor,
                                                acu_dlpack_info *info, acu_buffer **buffer);

/**
 * Imports a tensor as frameworks knew it before DLPack 1.0, and else as acu_buffer_import_dlpack();
 * the caller owns the buffer. The tensor has neither a version nor flags.
 */
ACU_CHECKED acu_result acu_buffer_import_dlpack_unversioned(acu_stream *stream,
                                                            struct DLManagedTensor *tensor,
                                                            acu_dlpack_info *info,
                                                            acu_buffer **buffer);

/* ---- streams ---- */

/** Returns DLPack's number of the stream: 1, 2, or the raw handle; 0 where it is not a stream. */
intptr_t acu_stream_dlpack(const acu_stream *stream);

/**
 * Lets later work on the stream wait for what is now on the exporter's stream, which has that
 * number on the stream's device; -1 waits for nothing.
 *
 * Errors: those of acu_buffer_join_dlpack().
 */
ACU_CHECKED acu_result acu_stream_wait_dlpack(acu_stream *stream, intptr_t number);

ACU_END_C

#endif
