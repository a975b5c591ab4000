/*
 * The whole safe layer.
 *
 * None of these headers declares a name of NVIDIA's, so that they can stand beside NVIDIA's
 * headers.
 */
#ifndef ACU_ANYCUDA_H
#define ACU_ANYCUDA_H

#include <anycuda/allocator.h>
#include <anycuda/array.h>
#include <anycuda/batch.h>
#include <anycuda/buffer.h>
#include <anycuda/capture.h>
#include <anycuda/code.h>
#include <anycuda/code_cache.h>
#include <anycuda/coredump.h>
#include <anycuda/device.h>
#include <anycuda/dlpack.h>
#include <anycuda/dtype.h>
#include <anycuda/event.h>
#include <anycuda/exec.h>
#include <anycuda/execution_context.h>
#include <anycuda/external.h>
#include <anycuda/graphics.h>
#include <anycuda/graph.h>
#include <anycuda/kernel.h>
#include <anycuda/launch.h>
#include <anycuda/layers.h>
#include <anycuda/listener.h>
#include <anycuda/load.h>
#include <anycuda/log.h>
#include <anycuda/memory.h>
#include <anycuda/module.h>
#include <anycuda/multicast.h>
#include <anycuda/node.h>
#include <anycuda/object.h>
#include <anycuda/physical.h>
#include <anycuda/pool.h>
#include <anycuda/process.h>
#include <anycuda/profile.h>
#include <anycuda/region.h>
#include <anycuda/share.h>
#include <anycuda/status.h>
#include <anycuda/stream.h>
#include <anycuda/supports.h>
#include <anycuda/tensor_map.h>
#include <anycuda/texture.h>
#include <anycuda/transfer.h>
#include <anycuda/version.h>
#include <anycuda/value.h>
#include <anycuda/virtual.h>

#endif
