"""Exchanges memory with NumPy by DLPack, through a shared object: `exchange.py exchange.so CASE`, on the simulator."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import numpy as np

NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
USED = {True: b"used_dltensor_versioned", False: b"used_dltensor"}
MAPPED, MANAGED, PINNED = 3, 4, 2  # acu_memory
CPU, CUDA_HOST = 1, 3  # DLDeviceType
READ_ONLY = 1
F64 = 0x01000008  # acu_dtype

library = ctypes.CDLL(sys.argv[1])
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
library.message.restype = ctypes.c_char_p


def check(result: int) -> None:
    assert result == 0, library.message().decode()


class Layout(ctypes.Structure):
    _fields_ = [
        ("rank", ctypes.c_uint),
        ("strided", ctypes.c_bool),
        ("shape", ctypes.c_size_t * 16),
        ("strides", ctypes.c_int64 * 16),
        ("at", ctypes.c_size_t),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("layout", Layout),
        ("device", ctypes.c_int),
        ("device_id", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("dtype", ctypes.c_uint32),
    ]


class Tensor:
    """What np.from_dlpack() takes."""

    def __init__(self, address: ctypes.c_void_p, device: int, versioned: bool = True) -> None:
        self.address, self.device, self.versioned = address, device, versioned

    def __dlpack__(self, **_: Any) -> object:
        return python.PyCapsule_New(self.address, NAMES[self.versioned], None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def tensor_of(memory: int, flags: int = 0) -> Tensor:
    address = ctypes.c_void_p()
    check(library.make_tensor(memory, flags, ctypes.byref(address)))
    return Tensor(address, CPU)


def sum_of(array: Any, versioned: bool = True) -> tuple[float, Info]:
    capsule = array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()
    address = python.PyCapsule_GetPointer(capsule, NAMES[versioned])
    python.PyCapsule_SetName(capsule, USED[versioned])
    answer, info = ctypes.c_double(), Info()
    check(library.sum(ctypes.c_void_p(address), ctypes.c_bool(versioned), ctypes.byref(answer), ctypes.byref(info)))
    return answer.value, info


def block_of(array: Any, amount: float, versioned: bool = True) -> Info:
    """Lets a program add to all that lies between the array's first and last element, as a block of the CPU."""
    capsule = array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()
    address = python.PyCapsule_GetPointer(capsule, NAMES[versioned])
    python.PyCapsule_SetName(capsule, USED[versioned])
    info, given = Info(), ctypes.c_double(amount)
    check(library.add_to_block(ctypes.c_void_p(address), ctypes.c_bool(versioned), given, ctypes.byref(info)))
    return info


# ---- the cases


def pinned_and_managed_memory_are_arrays() -> None:
    for memory in (PINNED, MAPPED, MANAGED):
        array = np.from_dlpack(tensor_of(memory))
        assert array.dtype == np.float32 and array.tolist() == [[0, 1, 2], [3, 4, 5]]
        array[1, 2] = 7
        part = array[1]
        del array
        gc.collect()
        assert part.tolist() == [3, 4, 7]  # a view keeps the buffer


def read_only_memory_is_a_read_only_array() -> None:
    array = np.from_dlpack(tensor_of(PINNED, READ_ONLY))
    assert not array.flags.writeable and array[1, 0] == 3


def tensors_without_a_version_are_arrays() -> None:
    address = ctypes.c_void_p()
    check(library.make_old_tensor(ctypes.byref(address)))
    array = np.from_dlpack(Tensor(address, CUDA_HOST, versioned=False))
    assert array.tolist() == [[3, 0], [4, 1], [5, 2]]


def arrays_are_buffers() -> None:
    for versioned in (True, False):
        array = np.array([[1.0, 2, 3], [4, 5, 6]])
        before = sys.getrefcount(array)
        answer, info = sum_of(array, versioned)
        assert answer == 123456 and not info.layout.strided
        assert (info.layout.rank, info.device, info.flags) == (2, CPU, 0)
        assert sys.getrefcount(array) == before  # the deleter was called


def strided_arrays_are_buffers() -> None:
    array = np.array([[1.0, 2, 3], [4, 5, 6]])
    answer, info = sum_of(array.T)
    assert answer == 142536 and info.layout.strided
    answer, info = sum_of(array[::-1, ::2])
    assert answer == 4613 and info.layout.at == 3
    assert sum_of(np.broadcast_to(np.float64(7), (3,)).copy())[0] == 777


def scalars_and_nothing_are_buffers() -> None:
    assert sum_of(np.array(5.0))[0] == 5
    assert sum_of(np.zeros((3, 0)))[0] == 0


def an_address_is_an_array() -> None:
    """As the page on DLPack fills __cuda_array_interface__, which has the same fields."""
    buffer, address = ctypes.c_void_p(), ctypes.c_size_t()
    check(library.make_address(ctypes.byref(buffer), ctypes.byref(address)))

    class Array:
        __array_interface__ = {  # noqa: RUF012
            "shape": (2, 3),
            "typestr": "<f4",
            "data": (address.value, False),
            "strides": None,
            "version": 3,
        }

    assert np.asarray(Array()).tolist() == [[0, 1, 2], [3, 4, 5]]
    check(library.release(buffer))


def blocks_are_arrays() -> None:
    for flags in (0, READ_ONLY):
        address = ctypes.c_void_p()
        check(library.make_block_tensor(flags, ctypes.byref(address)))
        array = np.from_dlpack(Tensor(address, CPU))
        assert array.dtype == np.float64 and array.tolist() == [[3, 1], [4, 2], [5, 3]]
        assert array.flags.writeable == (flags == 0)
        part = array[2]
        del array
        gc.collect()
        assert part.tolist() == [5, 3]  # a view keeps the block


def arrays_are_blocks() -> None:
    for versioned in (True, False):
        array = np.array([[1.0, 2, 3], [4, 5, 6]])
        before = sys.getrefcount(array)
        info = block_of(array, 10, versioned)
        assert array.tolist() == [[11, 12, 13], [14, 15, 16]]  # it is the same memory
        assert (info.dtype, info.device, info.layout.rank, info.layout.strided) == (F64, CPU, 2, False)
        assert sys.getrefcount(array) == before  # the deleter was called


def strided_arrays_are_blocks() -> None:
    array = np.arange(12.0).reshape(3, 4)
    info = block_of(array[1:, ::-2], 100)
    assert info.layout.strided and list(info.layout.strides[:2]) == [4, -2] and info.layout.at == 2
    assert array.tolist() == [[0, 1, 2, 3], [4, 105, 106, 107], [108, 109, 110, 111]]
    assert block_of(np.zeros((3, 0)), 1).layout.shape[0] == 3


if __name__ == "__main__":
    check(library.begin())
    globals()[sys.argv[2]]()
    gc.collect()
    check(library.end())
    print("left:", library.leaks())
