"""RMM allocates by anycuda: `python -m tests.consumer.frameworks.rmm_allocator libanycuda-allocator.so [CASE…]`.

RMM brings a CUDA runtime of its own, which needs a driver. What does not call it works without a GPU, too: with
ANYCUDA_CUDART=/…/libanycuda-sim.so the memory is then the simulator's. A case that cannot run is a line with the
reason. Exits with 1 if a case fails, and with 77 where RMM is not installed.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import traceback
from importlib.util import find_spec
from typing import Any

from examples.allocator_plugin import Info, info_of, load, rmm_resource


class CannotError(Exception):
    """What the case needs is not there."""


class Place:
    """The plugin, the resource, and what the case needs of CUDA: the GPU's, or the simulator's."""

    def __init__(self, path: str) -> None:
        import rmm.mr  # type: ignore[import-not-found,unused-ignore]

        self.mr = rmm.mr
        self.library = load(path)
        self.resource = rmm_resource(self.library)
        try:
            rmm.mr.get_current_device_resource()
            self.has_gpu = True
        except Exception:  # RMM's own class is not public
            self.has_gpu = False

    def info(self) -> Info:
        return info_of(self.library)

    def need_gpu(self) -> None:
        if not self.has_gpu:
            raise CannotError("RMM's own runtime needs a driver")

    def stream(self) -> Any:
        """A stream that RMM takes: its own, or one of the simulator's."""
        from rmm.pylibrmm.stream import Stream  # type: ignore[import-not-found,unused-ignore]

        if self.has_gpu:
            return Stream()
        simulator = ctypes.CDLL(os.environ["ANYCUDA_CUDART"])
        raw = ctypes.c_void_p()
        assert simulator.cudaStreamCreate(ctypes.byref(raw)) == 0

        class Raw:
            def __cuda_stream__(self) -> tuple[int, int]:
                return 0, raw.value or 0

        return Stream(Raw())


# ---- the cases


def memory_is_used_again(place: Place) -> None:
    first = place.resource.allocate(100_000)
    assert first and first % 256 == 0
    place.resource.deallocate(first, 100_000)
    second = place.resource.allocate(100_000)
    assert second == first
    place.resource.deallocate(second, 100_000)
    assert place.info().hits > 0


def streams_are_passed_on(place: Place) -> None:
    one, other = place.stream(), place.stream()
    first, second = place.resource.allocate(5000, one), place.resource.allocate(5000, other)
    assert first != second
    place.resource.deallocate(first, 5000, one)
    place.resource.deallocate(second, 5000, other)
    assert place.resource.allocate(5000, other) == second
    assert place.resource.allocate(5000, one) == first
    place.resource.deallocate(first, 5000, one)
    place.resource.deallocate(second, 5000, other)


def no_room_is_an_error(place: Place) -> None:
    before = place.info().used
    try:
        place.resource.allocate(1 << 60)
    except MemoryError as error:
        assert "no room for 1152921504606846976 bytes" in str(error)
    else:
        raise AssertionError("there was room for 2^60 bytes")
    assert place.info().used == before


def adaptors_stand_on_it(place: Place) -> None:
    before = place.info().allocations
    counted = place.mr.StatisticsResourceAdaptor(place.resource)
    limited = place.mr.LimitingResourceAdaptor(counted, 1_000_000)
    tracked = place.mr.TrackingResourceAdaptor(limited)
    pointers = [tracked.allocate(1000) for _ in range(10)]
    assert tracked.get_allocated_bytes() == 10_000
    assert counted.allocation_counts.current_count == 10
    assert place.info().allocations == before + 10
    for pointer in pointers:
        tracked.deallocate(pointer, 1000)
    assert counted.allocation_counts.current_bytes == 0


def pools_stand_on_it(place: Place) -> None:
    before = place.info().used
    pool = place.mr.PoolMemoryResource(place.resource, initial_pool_size=1 << 20, maximum_pool_size=1 << 22)
    fixed = place.mr.FixedSizeMemoryResource(place.resource, block_size=4096, blocks_to_preallocate=4)
    assert place.info().used >= before + (1 << 20) + 4 * 4096
    for resource in (pool, fixed):
        pointer = resource.allocate(4000)
        assert pointer
        resource.deallocate(pointer, 4000)
    del pool, fixed, resource
    gc.collect()
    assert place.info().used == before


def buffers_lie_in_it(place: Place) -> None:
    import rmm  # type: ignore[import-not-found,unused-ignore]

    before = place.info().used
    buffer = rmm.DeviceBuffer(size=10_000, mr=place.resource)
    assert place.info().used >= before + 10_000
    assert buffer.ptr
    del buffer
    gc.collect()
    assert place.info().used == before


def buffers_have_their_bytes(place: Place) -> None:
    import rmm  # type: ignore[import-not-found,unused-ignore]

    place.need_gpu()
    place.mr.set_current_device_resource(place.resource)
    before = place.info().allocations
    data = bytes(range(256)) * 1000
    buffers = [rmm.DeviceBuffer.to_device(data, place.stream()) for _ in range(5)]
    for buffer in buffers:
        buffer.resize(300_000)
        assert buffer.tobytes()[: len(data)] == data
    copies = [buffer.copy() for buffer in buffers]
    del buffers, buffer
    gc.collect()
    others = [rmm.DeviceBuffer.to_device(bytes(300_000)) for _ in range(5)]
    assert all(copy.tobytes()[: len(data)] == data for copy in copies)
    assert all(not any(other.tobytes()) for other in others)
    assert place.info().allocations >= before + 20


def cupy_uses_it(place: Place) -> None:
    place.need_gpu()
    if find_spec("cupy") is None:
        raise CannotError("CuPy is not installed")
    import cupy  # type: ignore[import-not-found,unused-ignore]
    from rmm.allocators.cupy import rmm_cupy_allocator  # type: ignore[import-not-found,unused-ignore]

    place.mr.set_current_device_resource(place.resource)
    cupy.cuda.set_allocator(rmm_cupy_allocator)
    before = place.info().allocations
    x = cupy.arange(1_000_000, dtype=cupy.float64)
    for _ in range(10):
        x = x + 1
    assert float(x.sum()) == 499999500000 + 10 * 1_000_000
    assert place.info().allocations >= before + 10


CASES = [
    memory_is_used_again,
    streams_are_passed_on,
    no_room_is_an_error,
    adaptors_stand_on_it,
    pools_stand_on_it,
    buffers_lie_in_it,
    buffers_have_their_bytes,
    cupy_uses_it,
]


def run(case: Any, place: Place) -> bool:
    try:
        case(place)
        print(f"ok {case.__name__}")
    except CannotError as reason:
        print(f"skipped {case.__name__}: {reason}")
    except Exception:
        traceback.print_exc()
        print(f"FAILED {case.__name__}")
        return False
    return True


def main() -> int:
    path, *names = sys.argv[1:]
    if find_spec("rmm") is None:
        print("RMM is not installed: docs/users/allocator.md says where this ran")
        return 77
    place = Place(path)
    passed = [run(case, place) for case in CASES if not names or case.__name__ in names]
    gc.collect()
    return 0 if all(passed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
