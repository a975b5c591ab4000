"""Exchanges memory with a framework: `python -m tests.consumer.frameworks.exchange functions.so FRAMEWORK [CASE…]`.

FRAMEWORK is torch, cupy, or own: anycuda itself, for machines without a GPU. A framework that is not there, or a case
that it cannot do, is a line with the reason. Exits with 1 if a case fails.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tests.consumer.frameworks.buffer import (
    CUDA,
    CUDA_HOST,
    MANAGED,
    PINNED,
    TYPES,
    Buffer,
    Library,
    Stream,
    dense,
    strided,
    taken,
)

LONG = 0.2  # seconds for which a stream is kept busy


class CannotError(Exception):
    """The framework does not have what the case needs."""


class Own:
    """anycuda on the other side, too, for machines without a framework."""

    name, negative = "own", True

    def __init__(self, library: Library) -> None:
        self.stream = self.first = Stream(library)

    def make(self, values: Any) -> Any:
        return Buffer.of(self.stream, values)

    def take(self, theirs: Any) -> Any:
        return taken(self.stream, theirs, theirs.typestr)[0]

    def take_interface(self, theirs: Any) -> Any:
        raise CannotError("anycuda does not read __cuda_array_interface__")

    def values(self, array: Any) -> Any:
        return array.values()

    def set_all(self, array: Any, value: float) -> None:
        array.fill(value)

    def part(self, array: Any, reverse: bool) -> Any:
        rows, columns = array.shape
        array.layout = (
            strided((rows, columns), (-columns, 1), (rows - 1) * columns)
            if reverse
            else strided((columns, rows), (1, columns))
        )
        return array

    def pinned(self, values: Any) -> Any:
        return Buffer.of(self.stream, values, PINNED)

    @contextmanager
    def side_stream(self) -> Iterator[None]:
        self.stream = Stream(self.first.library)
        yield
        self.stream = self.first

    def sleep(self) -> None:
        self.sleep_on(self.stream)

    def sleep_on(self, stream: Stream) -> None:
        kept.append(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: time.sleep(LONG)))
        stream.library.stream_call_function(stream.handle, kept[-1], None)

    def used(self) -> int:
        return 0


kept: list[Any] = []


class Torch:
    name, negative = "torch", False

    def __init__(self, library: Library) -> None:
        import torch

        self.torch = torch
        if not torch.cuda.is_available():
            raise CannotError("torch has no CUDA here")
        del library

    def make(self, values: Any) -> Any:
        return self.torch.from_numpy(values.copy()).to("cuda")

    def take(self, theirs: Any) -> Any:
        return self.torch.from_dlpack(theirs)

    def take_interface(self, theirs: Any) -> Any:
        return self.torch.as_tensor(theirs, device="cuda")

    def values(self, array: Any) -> Any:
        return array.cpu().numpy()

    def set_all(self, array: Any, value: float) -> None:
        array.fill_(value)

    def part(self, array: Any, reverse: bool) -> Any:
        assert not reverse
        return array.T

    def pinned(self, values: Any) -> Any:
        return self.torch.from_numpy(values.copy()).pin_memory()

    @contextmanager
    def side_stream(self) -> Iterator[None]:
        with self.torch.cuda.stream(self.torch.cuda.Stream()):
            yield

    def sleep(self) -> None:
        self.torch.cuda._sleep(int(LONG * 1.8e9))

    def sleep_on(self, stream: Stream) -> None:
        with self.torch.cuda.stream(self.torch.cuda.ExternalStream(stream.raw)):
            self.sleep()

    def used(self) -> int:
        return int(self.torch.cuda.memory_allocated())


class Cupy:
    name, negative = "cupy", True

    def __init__(self, library: Library) -> None:
        import cupy

        self.cupy = cupy
        del library
        cupy.cuda.runtime.getDeviceCount()
        code = 'extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n); }'
        self.spin = cupy.RawKernel(code, "spin")

    def make(self, values: Any) -> Any:
        return self.cupy.asarray(values.copy())

    def take(self, theirs: Any) -> Any:
        return self.cupy.from_dlpack(theirs)

    def take_interface(self, theirs: Any) -> Any:
        return self.cupy.asarray(theirs)

    def values(self, array: Any) -> Any:
        return self.cupy.asnumpy(array)

    def set_all(self, array: Any, value: float) -> None:
        array.fill(value)

    def part(self, array: Any, reverse: bool) -> Any:
        return array[::-1] if reverse else array.T

    def pinned(self, values: Any) -> Any:
        raise CannotError("CuPy exports no memory of the host")

    @contextmanager
    def side_stream(self) -> Iterator[None]:
        with self.cupy.cuda.Stream(non_blocking=True):
            yield

    def sleep(self) -> None:
        self.spin((1,), (1,), (np.int64(LONG * 1.8e9),))

    def sleep_on(self, stream: Stream) -> None:
        with self.cupy.cuda.ExternalStream(stream.raw):
            self.sleep()

    def used(self) -> int:
        return int(self.cupy.get_default_memory_pool().used_bytes())


def numbers(rows: int = 3, columns: int = 4, kind: Any = np.float32) -> Any:
    return np.arange(rows * columns).reshape(rows, columns).astype(kind)


def same(left: Any, right: Any) -> None:
    assert left.shape == right.shape and left.dtype == right.dtype, (left.shape, right.shape, left.dtype, right.dtype)
    assert (left == right).all(), f"{left} instead of {right}"


# ---- the cases


def buffers_are_arrays(their: Any, stream: Stream) -> None:
    values = numbers()
    flat = values.ravel()
    for layout, right in (
        (dense((3, 4)), values),
        (strided((4, 3), (1, 4)), values.T),
        (strided((2, 2), (4, 2), 5), values[1:, 1::2]),
        (strided((2,), (6,), 3), flat[3::6][:2]),
    ):
        buffer = Buffer.of(stream, values, layout=layout)
        array, before = their.take(buffer), stream.library.given
        same(their.values(array), right)
        their.set_all(array, 9)
        their.values(array)  # waits
        same(buffer.values(), np.full(right.shape, 9, np.float32))
        del buffer
        gc.collect()
        same(their.values(array), np.full(right.shape, 9, np.float32))  # the array keeps the memory
        assert stream.library.given == before
        del array
        gc.collect()
        assert stream.library.given == before + 1


def negative_steps(their: Any, stream: Stream) -> None:
    if not their.negative:
        raise CannotError(f"{their.name} has none, and ends the process where it meets one")
    values, before = numbers(), stream.library.given
    array = their.take(Buffer.of(stream, values, layout=strided((3, 4), (-4, -1), 11)))
    same(their.values(array), values[::-1, ::-1])
    del array
    try:
        back, info = taken(stream, their.part(their.make(values), reverse=True), "<f4")
    except RuntimeError as error:
        if their.name == "cupy" and "nothing can be addressed" in str(error):
            raise CannotError(f"CuPy's exporter divides negative steps as if they had no sign: {error}") from error
        raise
    assert info.layout.at == 8 and info.layout.strides[0] == -4
    same(back.values(), values[::-1])
    gc.collect()
    assert stream.library.given == before + 1


def arrays_are_buffers(their: Any, stream: Stream) -> None:
    values, used = numbers(), their.used()
    for versioned in (True, False):
        array, before = their.make(values), stream.library.taken
        buffer, info = taken(stream, array, "<f4", versioned)
        assert info.device == CUDA and info.device_id == 0 and not info.layout.strided
        del array
        gc.collect()
        same(buffer.values(), values)  # the buffer keeps the array's memory
        del buffer
        gc.collect()
        assert stream.library.taken == before + 1
        buffer, info = taken(stream, their.part(their.make(values), reverse=False), "<f4", versioned)
        assert info.layout.strided and tuple(info.layout.strides[:2]) == (1, 4)
        same(buffer.values(), values.T)
        del buffer
        gc.collect()
    assert their.used() == used, "memory of the framework is not given back"


def both_write(their: Any, stream: Stream) -> None:
    array = their.make(numbers())
    buffer, _ = taken(stream, array, "<f4")
    buffer.fill(5)
    buffer.values()  # waits
    same(their.values(array), np.full((3, 4), 5, np.float32))
    their.set_all(array, 6)
    same(their.values(array), buffer.values())


def tensors_without_a_version(their: Any, stream: Stream) -> None:
    class Older:
        """What a library from before DLPack 1.0 has: no `max_version`."""

        typestr = "<f4"

        def __init__(self, buffer: Buffer) -> None:
            self.buffer = buffer

        def __dlpack__(self, stream: int | None = None) -> object:
            return self.buffer.__dlpack__(stream=stream)

        def __dlpack_device__(self) -> tuple[int, int]:
            device, number = self.buffer.__dlpack_device__()
            return device, number

    if their.name == "own":
        raise CannotError("the other side asks for a version")
    values, before = numbers(), stream.library.given
    array = their.take(Older(Buffer.of(stream, values)))
    same(their.values(array), values)
    del array
    gc.collect()
    assert stream.library.given == before + 1


def the_version_that_is_asked_for(their: Any, stream: Stream) -> None:
    buffer = Buffer.of(stream, numbers())
    array = their.take(buffer)
    print(f"  {their.name} asks for {buffer.max_version}")
    same(their.values(array), numbers())


def a_capsule_that_nobody_takes(their: Any, stream: Stream) -> None:
    buffer, before = Buffer.of(stream, numbers()), stream.library.given
    for versioned in (True, False):
        capsule = buffer.capsule(versioned)
        del capsule
    gc.collect()
    assert stream.library.given == before + 2
    del their


def our_stream_waits_for_theirs(their: Any, stream: Stream) -> None:
    for _ in range(3):
        with their.side_stream():
            array = their.make(np.zeros((512, 512), np.float32))
            their.sleep()
            their.set_all(array, 7)
            buffer, _ = taken(stream, array, "<f4")  # while their stream is busy
        same(buffer.values(), np.full((512, 512), 7, np.float32))
        del array, buffer


def their_stream_waits_for_ours(their: Any, stream: Stream) -> None:
    for _ in range(3):
        buffer = Buffer.of(stream, np.zeros((512, 512), np.float32))
        their.sleep_on(stream)
        buffer.fill(8)  # while our stream is busy
        with their.side_stream():
            array = their.take(buffer)
            same(their.values(array), np.full((512, 512), 8, np.float32))
        del array


def the_interface_names_our_stream(their: Any, stream: Stream) -> None:
    if their.name == "torch":
        raise CannotError("PyTorch does not wait for the stream that the interface names")
    buffer = Buffer.of(stream, np.zeros((512, 512), np.float32))
    their.take_interface(buffer)
    their.sleep_on(stream)
    buffer.fill(8)
    with their.side_stream():
        same(their.values(their.take_interface(buffer)), np.full((512, 512), 8, np.float32))


def buffers_by_the_interface(their: Any, stream: Stream) -> None:
    values = numbers()
    for layout, right in (
        (dense((3, 4)), values),
        (strided((4, 3), (1, 4)), values.T),
        (strided((2, 2), (4, 2), 5), values[1:, 1::2]),
    ):
        buffer = Buffer.of(stream, values, layout=layout)
        same(their.values(their.take_interface(buffer)), right)
    same(their.values(their.take_interface(Buffer.of(stream, np.zeros((0, 3), np.float32)))), np.zeros((0, 3), "<f4"))
    same(their.values(their.take_interface(Buffer.of(stream, values, MANAGED))), values)


def arrays_by_the_interface(their: Any, stream: Stream) -> None:
    """The program waits where `stream` is not given, and wraps the address."""
    if their.name == "own":
        raise CannotError("the other side is anycuda")
    array = their.make(numbers())
    shown = array.__cuda_array_interface__
    print(f"  {their.name} shows version {shown['version']}, stream {shown.get('stream')}")
    assert shown["typestr"] == "<f4" and shown["shape"] == (3, 4) and shown["strides"] is None
    if shown.get("stream") is not None:
        stream.library.stream_wait_dlpack(stream.handle, ctypes.c_ssize_t(shown["stream"]))
    else:
        their.values(array)
    handle = ctypes.c_void_p()
    address, size = ctypes.c_void_p(shown["data"][0]), ctypes.c_size_t(12)
    stream.library.buffer_wrap(stream.handle, TYPES["<f4"], address, size, 1, ctypes.byref(handle))
    same(Buffer(stream, handle, "<f4", dense((3, 4))).values(), numbers())


def every_type(their: Any, stream: Stream) -> None:
    refused = []
    for typestr in TYPES:
        values = numbers(2, 3, np.dtype(typestr))
        try:
            array = their.take(Buffer.of(stream, values))
        except (BufferError, TypeError, RuntimeError) as error:
            refused.append(f"{typestr}: {error}")
            continue
        same(their.values(array), values)
        same(taken(stream, array, typestr)[0].values(), values)
    assert not refused, refused


def nothing_and_one(their: Any, stream: Stream) -> None:
    for values in (np.zeros((0, 3), np.float32), np.full((), 4, np.float32), np.full((1, 1, 1), 4, np.float32)):
        same(their.values(their.take(Buffer.of(stream, values))), values)
        same(taken(stream, their.make(values), "<f4")[0].values(), values)


def managed_memory(their: Any, stream: Stream) -> None:
    for device in (CUDA, 0):
        buffer = Buffer.of(stream, numbers(), MANAGED)
        buffer.device = device
        try:
            array = their.take(buffer)
        except (BufferError, RuntimeError, TypeError) as error:
            assert not device, error
            print(f"  {their.name} refuses managed memory as such: {str(error).splitlines()[0][:80]}")
            continue
        same(their.values(array), numbers())


def pinned_memory(their: Any, stream: Stream) -> None:
    array, before = their.pinned(numbers()), stream.library.taken
    buffer, info = taken(stream, array, "<f4")
    print(f"  {their.name} exports pinned memory as device {info.device}")
    assert info.device in (1, CUDA_HOST)
    same(buffer.values(), numbers())
    del array, buffer
    gc.collect()
    assert stream.library.taken == before + 1


CASES = [
    buffers_are_arrays,
    negative_steps,
    arrays_are_buffers,
    both_write,
    tensors_without_a_version,
    the_version_that_is_asked_for,
    a_capsule_that_nobody_takes,
    our_stream_waits_for_theirs,
    their_stream_waits_for_ours,
    the_interface_names_our_stream,
    buffers_by_the_interface,
    arrays_by_the_interface,
    every_type,
    nothing_and_one,
    managed_memory,
    pinned_memory,
]


def run(case: Any, their: Any, stream: Stream) -> bool:
    try:
        case(their, stream)
    except CannotError as reason:
        print(f"skipped {case.__name__}: {reason}")
    except Exception:
        print(f"FAILED {case.__name__}\n{traceback.format_exc()}")
        return False
    else:
        print(f"ok {case.__name__}")
    return True


def main() -> int:
    library = Library(sys.argv[1])
    try:
        kinds: dict[str, Any] = {"own": Own, "torch": Torch, "cupy": Cupy}
        their = kinds[sys.argv[2]](library)
    except (ImportError, CannotError) as error:
        print(f"skipped all: {error}")
        return 77
    stream = Stream(library)
    good = [run(case, their, stream) for case in CASES if case.__name__ in (sys.argv[3:] or [case.__name__])]
    print(f"{sum(good)} of {len(good)} with {their.name}")
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
