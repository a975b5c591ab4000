"""Lets PyTorch, CuPy or RMM allocate by anycuda's caching allocator, and prints what it did.

    python3 examples/allocator_plugin.py build/release/libanycuda-allocator.so torch

The framework is torch, cupy, rmm, or none: then the library is called as it is, which needs no framework, and with
ANYCUDA_CUDART=/…/libanycuda-sim.so no GPU either.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any


class Info(ctypes.Structure):
    """The first fields of acu_allocator_info."""

    _fields_ = (
        ("used", ctypes.c_size_t),
        ("used_high", ctypes.c_size_t),
        ("reserved", ctypes.c_size_t),
        ("reserved_high", ctypes.c_size_t),
        ("largest_free", ctypes.c_size_t),
        ("fragmentation", ctypes.c_double),
        ("limit", ctypes.c_size_t),
        ("segments", ctypes.c_size_t),
        ("allocations", ctypes.c_uint64),
        ("frees", ctypes.c_uint64),
        ("hits", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 8),
    )


def load(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.acu_plugin_allocate.restype = ctypes.c_void_p
    library.acu_plugin_allocate.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    library.acu_plugin_free.restype = None
    library.acu_plugin_free.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    library.acu_plugin_rmm_allocate.restype = ctypes.c_void_p
    library.acu_plugin_rmm_allocate.argtypes = [ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    library.acu_plugin_rmm_deallocate.restype = None
    library.acu_plugin_rmm_deallocate.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    return library


def info_of(library: ctypes.CDLL) -> Info:
    info = Info()
    if library.acu_plugin_get_info(0, ctypes.byref(info)):
        raise SystemExit("acu_plugin_get_info failed")
    return info


def use_torch(path: str, library: ctypes.CDLL) -> None:
    """All memory of PyTorch's, graphs and side streams included. It must be the first thing that uses the GPU."""
    import torch  # type: ignore[import-not-found,unused-ignore]

    allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "acu_plugin_allocate", "acu_plugin_free")

    def address(name: str) -> int:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0

    inner = allocator.allocator()
    inner.set_init_fn(address("acu_plugin_init"))
    inner.set_reset_fn(address("acu_plugin_reset"))
    inner.set_memory_fraction_fn(address("acu_plugin_memory_fraction"))
    inner.set_record_stream_fn(address("acu_plugin_record_stream"))
    inner.set_begin_allocate_to_pool(address("acu_plugin_begin_pool"))
    inner.set_end_allocate_to_pool_fn(address("acu_plugin_end_pool"))
    inner.set_release_pool(address("acu_plugin_release_pool"))
    torch.cuda.memory.change_current_allocator(allocator)

    x = torch.ones(1000, 1000, device="cuda")
    for _ in range(10):
        x = x @ x.T / x.norm()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        y = x.sum()
    x.record_stream(side)
    del x
    torch.cuda.synchronize()
    print(f"torch {torch.__version__}: the sum is {y.item():.3f}")
    graph(torch)


def graph(torch: Any) -> None:
    """Memory that is allocated while a graph is captured stays the graph's: what is allocated later is elsewhere."""
    fixed = torch.full((1 << 20,), 2.0, device="cuda")
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        doubled = fixed * 2
        result = doubled + 1
        del doubled
    others = [torch.zeros(1 << 20, device="cuda") for _ in range(20)]
    fixed.fill_(5)
    captured.replay()
    torch.cuda.synchronize()
    right = bool((result == 11).all()) and all(bool((one == 0).all()) for one in others)
    print("a captured graph is right" if right else "a captured graph is WRONG")
    if not right:
        raise SystemExit(1)


def use_cupy(library: ctypes.CDLL) -> None:
    """All memory of CuPy's, by two functions of Python's that pass CuPy's current stream on."""
    import cupy  # type: ignore[import-not-found,unused-ignore]

    def allocate(size: int, device: int) -> int:
        pointer = library.acu_plugin_allocate(size, device, cupy.cuda.get_current_stream().ptr)
        if size and not pointer:
            raise cupy.cuda.memory.OutOfMemoryError(size, 0, 0)
        return pointer or 0

    def free(pointer: int, device: int) -> None:
        library.acu_plugin_free(pointer, 0, device, cupy.cuda.get_current_stream().ptr)

    allocator = cupy.cuda.PythonFunctionAllocator(allocate, free)
    cupy.cuda.set_allocator(allocator.malloc)
    x = cupy.arange(1_000_000, dtype=cupy.float64)
    for _ in range(10):
        x = x + 1
    print(f"cupy {cupy.__version__}: the sum is {float(x.sum()):.0f}")
    if float(x.sum()) != 499999500000 + 10 * 1_000_000:
        raise SystemExit(1)


def rmm_resource(library: ctypes.CDLL) -> Any:
    """A memory resource of RMM's, which passes RMM's streams on."""
    import rmm.mr  # type: ignore[import-not-found,unused-ignore]

    def raw(stream: Any) -> int:
        return int(stream.__cuda_stream__()[1])

    def allocate(size: int, stream: Any) -> int:
        pointer = library.acu_plugin_rmm_allocate(size, raw(stream), None)
        if size and not pointer:
            raise MemoryError(f"there is no room for {size} bytes")
        return pointer or 0

    def deallocate(pointer: int, size: int, stream: Any) -> None:
        library.acu_plugin_rmm_deallocate(pointer, size, raw(stream), None)

    return rmm.mr.CallbackMemoryResource(allocate, deallocate)


def use_rmm(library: ctypes.CDLL) -> None:
    """All memory of RMM's on device 0, and so of cuDF's and others that use RMM."""
    import rmm  # type: ignore[import-not-found,unused-ignore]

    rmm.mr.set_per_device_resource(0, rmm_resource(library))
    resource = rmm.mr.get_per_device_resource(0)
    for size in range(1000, 11000, 1000):
        buffer = rmm.DeviceBuffer(size=size, mr=resource)
        del buffer
    print(f"rmm {rmm.__version__}: 10 buffers")


def use_directly(library: ctypes.CDLL) -> None:
    pointers = [library.acu_plugin_allocate(1000 * (i + 1), 0, None) for i in range(10)]
    for pointer in pointers:
        library.acu_plugin_free(pointer, 0, 0, None)
    again = library.acu_plugin_allocate(10000, 0, None)
    print("memory is used again" if again in pointers else "memory is new")
    library.acu_plugin_free(again, 10000, 0, None)


def main() -> int:
    path, framework = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "none"
    library = load(path)
    if framework == "torch":
        use_torch(path, library)
    elif framework == "cupy":
        use_cupy(library)
    elif framework == "rmm":
        use_rmm(library)
    else:
        use_directly(library)
    info = info_of(library)
    print(
        f"{info.allocations} allocations, {info.hits} without the source; at most {info.used_high} bytes were used, "
        f"and {info.reserved_high} reserved"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
