"""Buffers as Python objects that other frameworks take, and back: what the page on DLPack describes, by ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_int, c_int64, c_size_t, c_uint, c_uint32, c_void_p
from typing import Any

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # DLDeviceType
POOL, DEVICE, PINNED, MAPPED, MANAGED = range(5)  # acu_memory
TYPES = {  # acu_dtype, by the typestr of __cuda_array_interface__
    "<f8": 0x01000008,
    "<f4": 0x02000004,
    "<f2": 0x03000002,
    "|i1": 0x07000001,
    "<i2": 0x08000002,
    "<i4": 0x09000004,
    "<i8": 0x0A000008,
    "|u1": 0x0B000001,
    "|b1": 0x0F000001,
    "<c8": 0x10000008,
    "<c16": 0x11000010,
}
NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
USED = {True: b"used_dltensor_versioned", False: b"used_dltensor"}
DELETER = ctypes.CFUNCTYPE(None, c_void_p)
DESTRUCTOR = ctypes.CFUNCTYPE(None, c_void_p)

python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [c_void_p, c_char_p, DESTRUCTOR]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, c_char_p]
# With an address instead of an object, because a destructor's capsule has no references any more.
is_capsule = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", python))
pointer_of = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", python))


class Layout(Structure):
    _fields_ = [
        ("rank", c_uint),
        ("strided", c_bool),
        ("shape", c_size_t * 16),
        ("strides", c_int64 * 16),
        ("at", c_size_t),
    ]


class Options(Structure):
    _fields_ = [("device", c_int), ("flags", c_uint)]


class Info(Structure):
    _fields_ = [("layout", Layout), ("device", c_int), ("device_id", c_int), ("flags", c_uint), ("dtype", c_uint)]


class Strides(Structure):
    _fields_ = [
        ("rank", c_uint),
        ("shape", c_void_p),
        ("to", c_void_p),
        ("from", c_void_p),
        ("to_at", c_size_t),
        ("from_at", c_size_t),
    ]


class Tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", c_int * 2),
        ("ndim", c_int),
        ("dtype", c_uint32),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(Structure):
    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class ManagedVersioned(Structure):
    _fields_ = [
        ("version", c_uint32 * 2),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


KINDS: dict[bool, Any] = {True: ManagedVersioned, False: Managed}
_kept: list[Any] = []  # callbacks, which C may call at any time


SIZES = {"acu_tensor_layout": Layout, "acu_dlpack_options": Options, "acu_dlpack_info": Info, "acu_strides": Strides}
RETURNS: dict[str, Any] = {  # what does not return an acu_result
    "buffer_bytes": c_size_t,
    "buffer_raw": c_void_p,
    "dtype_size": c_size_t,
    "last_error_message": c_char_p,
    "stream_dlpack": ctypes.c_ssize_t,
    "stream_raw": c_void_p,
}


class Library:
    """The functions of anycuda without their prefix; their failures are exceptions."""

    def __init__(self, path: str) -> None:
        functions = ctypes.CDLL(path)
        functions.size_of.restype = c_size_t
        for name, kind in SIZES.items():
            assert functions.size_of(name.encode()) == ctypes.sizeof(kind), f"{name} has other fields"
        self.find = functions.function
        self.find.restype, self.find.argtypes = c_void_p, [c_char_p]
        self.given = self.taken = 0  # how many tensors of ours, and of theirs, were deleted

    def __getattr__(self, name: str) -> Any:
        function = ctypes.CFUNCTYPE(RETURNS.get(name, c_int))(self.find(f"acu_{name}".encode()))

        def call(*arguments: Any) -> Any:
            result = function(*arguments)
            if result and name not in RETURNS:
                raise RuntimeError(f"acu_{name} is {result}: {self.last_error_message().decode()}")
            return result

        setattr(self, name, call)
        return call

    def count_deleter(self, address: int, versioned: bool, ours: bool) -> None:
        """Puts a deleter that is counted before the tensor's own."""
        managed = KINDS[versioned].from_address(address)
        own = DELETER(managed.deleter) if managed.deleter else None

        def delete(tensor: int) -> None:
            if ours:
                self.given += 1
            else:
                self.taken += 1
            if own:
                own(tensor)

        _kept.append(DELETER(delete))
        managed.deleter = ctypes.cast(_kept[-1], c_void_p).value


class Stream:
    def __init__(self, library: Library) -> None:
        self.library, self.handle = library, c_void_p()
        library.stream_create(0, None, byref(self.handle))

    @property
    def raw(self) -> int:
        return int(self.library.stream_raw(self.handle))

    @property
    def number(self) -> int:
        return int(self.library.stream_dlpack(self.handle))

    def __del__(self) -> None:
        self.library.stream_release(self.handle)


def _end_capsule(address: int) -> None:
    """Deletes a tensor that nobody took: the capsule still has its first name."""
    for versioned, name in NAMES.items():
        if is_capsule(address, name):
            tensor = pointer_of(address, name)
            DELETER(KINDS[versioned].from_address(tensor).deleter)(tensor)


END_CAPSULE = DESTRUCTOR(_end_capsule)


class Buffer:
    """A buffer that has a shape, and is what from_dlpack() and asarray() of a framework take."""

    def __init__(self, stream: Stream, handle: c_void_p, typestr: str, layout: Layout) -> None:
        self.stream, self.handle, self.typestr, self.layout = stream, handle, typestr, layout
        self.library = stream.library
        self.device = 0  # what it is exported as; 0: what its memory says
        self.max_version: tuple[int, int] | None = None  # what the other side asked for

    @classmethod
    def of(cls, stream: Stream, values: Any, memory: int = POOL, layout: Layout | None = None) -> Buffer:
        """A copy of a NumPy array, or of a layout in it."""
        values = values.copy(order="C")
        handle = c_void_p()
        dtype = TYPES[values.dtype.str]
        stream.library.buffer_create_in(stream.handle, dtype, c_size_t(values.size), memory, byref(handle))
        data = values.ctypes.data_as(c_void_p)
        stream.library.buffer_write_typed(handle, c_size_t(0), dtype, data, c_size_t(values.size), None)
        return cls(stream, handle, values.dtype.str, layout or dense(values.shape))

    def __del__(self) -> None:
        self.library.buffer_release(self.handle)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.layout.shape[: self.layout.rank])

    @property
    def raw(self) -> int:
        return int(self.library.buffer_raw(self.handle) or 0)

    # ---- DLPack

    def __dlpack_device__(self) -> tuple[int, int]:
        device, number = c_int(), c_int()
        self.library.buffer_get_dlpack_device(self.handle, byref(device), byref(number))
        return self.device or device.value, number.value

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        if copy or (dl_device and dl_device != self.__dlpack_device__()):
            raise BufferError("the buffer is shared where it is, or not at all")
        if self.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED):
            self.library.buffer_join_dlpack(self.handle, ctypes.c_ssize_t(1 if stream is None else stream))
        self.max_version = max_version
        return self.capsule(max_version is not None and max_version[0] >= 1)

    def capsule(self, versioned: bool) -> object:
        address, options = c_void_p(), Options(self.device, 0)
        export = self.library.buffer_export_dlpack if versioned else self.library.buffer_export_dlpack_unversioned
        export(self.handle, byref(self.layout), byref(options), byref(address))
        assert address.value
        self.library.count_deleter(address.value, versioned, ours=True)
        return python.PyCapsule_New(address, NAMES[versioned], END_CAPSULE)

    # ---- __cuda_array_interface__

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        number = self.stream.number
        self.library.buffer_join_dlpack(self.handle, ctypes.c_ssize_t(number))
        size = int(self.library.dtype_size(TYPES[self.typestr]))
        strides = tuple(step * size for step in self.layout.strides[: self.layout.rank])
        return {
            "shape": self.shape,
            "typestr": self.typestr,
            "data": (self.raw + self.layout.at * size if self.raw else 0, False),
            "strides": strides if self.layout.strided else None,
            "version": 3,
            "stream": number,
        }

    # ---- what is in it

    def values(self) -> Any:
        """The elements of the layout, packed by the device and read, as a NumPy array."""
        import numpy as np

        answer = np.empty(self.shape, dtype=self.typestr)
        if answer.size == 0:
            return answer
        packed = Buffer.of(self.stream, np.zeros(answer.size, dtype=self.typestr))
        steps = self.layout.strides if self.layout.strided else _packed_steps(self.shape)
        shape = ctypes.cast(self.layout.shape, c_void_p).value
        strides = Strides(self.layout.rank, shape, None, ctypes.cast(steps, c_void_p).value, 0, self.layout.at)
        self.library.buffer_copy_strided(packed.handle, self.handle, byref(strides), None)
        data, dtype = answer.ctypes.data_as(c_void_p), TYPES[self.typestr]
        self.library.buffer_read_typed(packed.handle, c_size_t(0), dtype, data, c_size_t(answer.size), None)
        return answer

    def fill(self, value: Any) -> None:
        """Sets all elements in the order of the buffer's stream, and does not wait."""
        import numpy as np

        element = np.array(value, dtype=self.typestr)
        data = element.ctypes.data_as(c_void_p)
        self.library.buffer_fill_typed(self.handle, TYPES[self.typestr], data, None)


def _packed_steps(shape: tuple[int, ...]) -> Any:
    steps, step = (c_int64 * 16)(), 1
    for i in reversed(range(len(shape))):
        steps[i] = step
        step *= shape[i]
    return steps


def dense(shape: tuple[int, ...]) -> Layout:
    layout = Layout(rank=len(shape))
    layout.shape[: len(shape)] = shape
    layout.strides = _packed_steps(shape)
    return layout


def strided(shape: tuple[int, ...], steps: tuple[int, ...], at: int = 0) -> Layout:
    layout = Layout(rank=len(shape), strided=True, at=at)
    layout.shape[: len(shape)] = shape
    layout.strides[: len(steps)] = steps
    return layout


def show(tensor: Any) -> str:
    """What an exporter wrote, for messages."""
    shape = [c_int64.from_address(tensor.shape + 8 * i).value for i in range(tensor.ndim)]
    steps = [c_int64.from_address(tensor.strides + 8 * i).value for i in range(tensor.ndim)] if tensor.strides else None
    return f"data {tensor.data or 0:#x} + {tensor.byte_offset}, type {tensor.dtype:#x}, shape {shape}, strides {steps}"


def taken(stream: Stream, array: Any, typestr: str, versioned: bool = True) -> tuple[Buffer, Info]:
    """A buffer on an array of a framework, which is told to let the buffer's stream wait."""
    device = array.__dlpack_device__()[0]
    asked: dict[str, Any] = {"max_version": (1, 0)} if versioned else {}
    if device in (CUDA, CUDA_MANAGED):
        asked["stream"] = stream.number
    capsule = array.__dlpack__(**asked)
    versioned = bool(is_capsule(id(capsule), NAMES[True]))  # a framework from before 1.0 does as it can
    address = pointer_of(id(capsule), NAMES[versioned])
    assert address
    python.PyCapsule_SetName(capsule, USED[versioned])
    library, handle, info = stream.library, c_void_p(), Info()
    library.count_deleter(address, versioned, ours=False)
    shown = show(KINDS[versioned].from_address(address).tensor)
    take = library.buffer_import_dlpack if versioned else library.buffer_import_dlpack_unversioned
    try:
        take(stream.handle, c_void_p(address), byref(info), byref(handle))
    except RuntimeError as error:
        raise RuntimeError(f"{error}: {shown}") from error
    return Buffer(stream, handle, typestr, info.layout), info


__all__ = ["CPU", "CUDA", "CUDA_HOST", "MANAGED", "MAPPED", "PINNED", "POINTER", "TYPES", "Buffer", "Library", "Stream"]
__all__ += ["dense", "strided", "taken"]
