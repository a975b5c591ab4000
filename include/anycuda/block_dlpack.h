/*
 * DLPack of blocks: how blocks and the tensors of other frameworks share memory, without a copy.
 *
 * This is what <anycuda/dlpack.h> is for buffers, and has its layouts and its rules. A block of the
 * CPU is a tensor of DLPack's CPU, one of CUDA a tensor of CUDA, and one of WebGPU a tensor whose
 * `data` is a WGPUBuffer and whose `byte_offset` is where the first element lies in it.
 */
#ifndef ACU_BLOCK_DLPACK_H
#define ACU_BLOCK_DLPACK_H

#include <anycuda/block.h>
#include <anycuda/dlpack.h>

ACU_BEGIN_C

/**
 * Exports a block as a tensor of elements of a type; the caller owns the tensor, which keeps the
 * block.
 *
 * Without a layout the tensor has one dimension, with all elements. `flags` are acu_dlpack_flag
 * bits. All uses of the block are waited for, so that whoever imports the tensor may use it at
 * once. Later uses by clients are not ordered with those of the importer: either side waits for the
 * other by its own means. The tensor ends by its own `deleter`, which may run on any thread and
 * does what acu_block_release() does; a failure there is kept for acu_release_error().
 *
 * Errors: ACU_ERROR_DTYPE where DLPack has no such type (one that the program registered,
 * ACU_BYTES(n) of more than 65535 bytes), the memory is not aligned for it, or the block without a
 * layout is no whole number of elements; ACU_ERROR_MEMORY_KIND where DLPack has no such device;
 * ACU_ERROR_RANGE where elements lie outside of the block; ACU_ERROR_OVERFLOW where the shape
 * cannot be addressed; ACU_ERROR_CAPTURE while this thread records with the block's client.
 */
ACU_CHECKED acu_result acu_block_export_dlpack(acu_block *block, acu_dtype dtype,
                                               const acu_tensor_layout *layout, unsigned flags,
                                               struct DLManagedTensorVersioned **tensor);

/**
 * Exports a block as frameworks knew it before DLPack 1.0, without flags, and else as
 * acu_block_export_dlpack().
 */
ACU_CHECKED acu_result acu_block_export_dlpack_unversioned(acu_block *block, acu_dtype dtype,
                                                           const acu_tensor_layout *layout,
                                                           struct DLManagedTensor **tensor);

/**
 * Imports a tensor of the client's place as a block, which the caller owns, and which keeps the
 * tensor.
 *
 * The tensor is taken over in any case: its `deleter` is called exactly once, after all uses of the
 * block, or at once where this function fails. The work of whoever exports it must be done, or in
 * order before the client's: for CUDA the exporter is given the stream of acu_client_get_raw().
 *
 * The block begins at the tensor's lowest element, but for WebGPU where the WGPUBuffer begins,
 * which must be of the client's WGPUDevice. It ends behind the highest element; `info` has the
 * layout and the type. Without `info` only a densely packed tensor that may be written to is taken,
 * whose elements begin where the block does. The CPU also takes pinned memory of CUDA, and CUDA
 * managed memory.
 *
 * Errors: ACU_NOT_SUPPORTED where the tensor is of another major version than 1, or the place
 * cannot wrap memory (ACU_CAN_WRAP); ACU_ERROR_DTYPE where there is no such type, or the memory is
 * not aligned for it; ACU_ERROR_MEMORY_KIND where the tensor is on a device of another kind than
 * the client's place; ACU_ERROR_DEVICE where it is on another device of the same kind;
 * ACU_ERROR_ARGUMENT where `info` is NULL and must not be, or the tensor is not one;
 * ACU_ERROR_OVERFLOW; those of acu_block_wrap().
 */
ACU_CHECKED acu_result acu_block_import_dlpack(acu_client *client,
                                               struct DLManagedTensorVersioned *tensor,
                                               acu_dlpack_info *info, acu_block **block);

/**
 * Imports a tensor as frameworks knew it before DLPack 1.0, and else as acu_block_import_dlpack();
 * the caller owns the block. The tensor has neither a version nor flags.
 */
ACU_CHECKED acu_result acu_block_import_dlpack_unversioned(acu_client *client,
                                                           struct DLManagedTensor *tensor,
                                                           acu_dlpack_info *info,
                                                           acu_block **block);

ACU_END_C

#endif
