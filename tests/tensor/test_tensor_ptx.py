"""The PTX of examples/tensor computes what the C functions beside it do: executed here, without a GPU.

What is added and multiplied must agree bit by bit; exp() and log() are approximations in PTX.
"""

from __future__ import annotations

import ctypes
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tests.safe import ptx

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/tensor"
GUARD = 64  # bytes between blocks, which nothing may write to


class Source(ctypes.Structure):
    """The beginning of an acu_program_source."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("cpu", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)),
        ("ptx", ctypes.c_char_p),
    ]


class Part(ctypes.Structure):
    """An acu_part."""

    _fields_ = [
        ("begin", ctypes.c_size_t * 3),
        ("end", ctypes.c_size_t * 3),
        ("items", ctypes.c_size_t * 3),
        ("thread", ctypes.c_uint),
    ]


# For each program its launches: the items in x and y, how many floats each block has, and the values. A transposed
# matrix is one whose steps are exchanged.
LAUNCHES: dict[str, list[tuple[tuple[int, int], list[int], list[int | float]]]] = {
    "add": [((300, 1), [300, 300, 300], [300, 300]), ((300, 1), [300, 30, 300], [300, 30])],
    "multiply": [((300, 1), [300, 300, 300], [300, 300]), ((300, 1), [300, 1, 300], [300, 1])],
    "scale": [((300, 1), [300, 300], [300, 0.3])],
    "relu": [((300, 1), [300, 300], [300])],
    "relu_gradient": [((300, 1), [300, 300, 300], [300])],
    "sgd": [((300, 1), [300, 300], [300, 0.1])],
    "sum": [((19, 1), [19 * 7, 19], [19, 7, 1, 19]), ((7, 1), [19 * 7, 7], [7, 19, 19, 1])],
    "softmax_loss": [((9, 1), [90, 90, 9, 90], [9, 10, 1 / 9])],
    "matmul": [
        ((17, 18), [18 * 19, 19 * 17, 18 * 17], [18, 17, 19, 19, 1, 17, 1]),
        ((17, 18), [18 * 19, 19 * 17, 18 * 17], [18, 17, 19, 1, 18, 17, 1]),
        ((5, 3), [3 * 16, 16 * 5, 3 * 5], [3, 5, 16, 16, 1, 1, 16]),
    ],
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler here")
    library = tmp_path_factory.mktemp("forms") / "forms.so"
    includes = [f"-I{ROOT / folder}" for folder in ("include", "generated/include")]
    sources = [FOLDER / f"{name}.c" for name in ("elements", "rows", "matmul")]
    options = ["-std=c11", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, *includes, *sources, "-o", library, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def floats(count: int, chance: random.Random) -> bytes:
    """Random numbers, of which some are 0 and some the same."""
    return struct.pack(f"<{count}f", *(chance.choice((chance.gauss(0, 1), 0.0, 0.5)) for _ in range(count)))


def on_the_cpu(source: Source, items: tuple[int, int], blocks: list[bytearray], values: list[int | float]) -> None:
    part = Part((0, 0, 0), (*items, 1), (*items, 1), 0)
    numbers = [struct.pack("<f" if isinstance(value, float) else "<I", value) for value in values]
    places = [(ctypes.c_char * len(block)).from_buffer(block) for block in [*blocks, *map(bytearray, numbers)]]
    source.cpu(ctypes.addressof(part), (ctypes.c_void_p * len(places))(*map(ctypes.addressof, places)))


def on_a_gpu(text: str, items: tuple[int, int], blocks: list[bytearray], values: list[int | float]) -> None:
    kernel = ptx.parse(text)
    memory, places = bytearray(GUARD), []
    for block in blocks:
        places.append(len(memory))
        memory += block + b"\xaa" * GUARD
    numbers = [struct.pack("<f" if isinstance(value, float) else "<I", value) for value in values]
    arguments = struct.pack(f"<{len(places)}Q", *places) + b"".join(numbers)
    columns, rows = (-(-count // threads) for count, threads in zip(items, kernel.threads, strict=True))
    for row in range(rows):
        for column in range(columns):
            ptx.Block(kernel, arguments, memory, column, row).run()
    for place, block in zip(places, blocks, strict=True):
        assert memory[place + len(block) : place + len(block) + GUARD] == b"\xaa" * GUARD
        block[:] = memory[place : place + len(block)]


@pytest.mark.parametrize("name", LAUNCHES)
def test_ptx_computes_what_the_cpu_does(forms: ctypes.CDLL, name: str) -> None:
    source = Source.in_dll(forms, f"tensor_{name}_source")
    chance = random.Random(name)
    for items, counts, values in LAUNCHES[name]:
        cpu = [bytearray(floats(count, chance)) for count in counts]
        gpu = [bytearray(block) for block in cpu]
        on_the_cpu(source, items, cpu, values)
        on_a_gpu(source.ptx.decode(), items, gpu, values)
        if name == "softmax_loss":
            for one, other in zip(cpu, gpu, strict=True):
                assert memoryview(one).cast("f").tolist() == pytest.approx(
                    memoryview(other).cast("f").tolist(), abs=1e-6
                )
        else:
            assert cpu == gpu


def test_every_program_is_launched_here() -> None:
    named = (FOLDER / "forms.h").read_text().split("extern const acu_program_source", 1)[1].split("/* ---- C")[0]
    assert {f"tensor_{name}_source" for name in LAUNCHES} == {
        word.strip(";,") for word in named.split() if word.startswith("tensor_")
    }


def test_ptx_assembles(forms: ctypes.CDLL, tmp_path: Path) -> None:
    """By NVIDIA's own assembler, where it is installed."""
    assembler = shutil.which("ptxas") or pytest.skip("there is no ptxas here, which comes with the CUDA toolkit")
    for name in LAUNCHES:
        (tmp_path / "program.ptx").write_bytes(Source.in_dll(forms, f"tensor_{name}_source").ptx)
        for target in ("sm_75", "sm_90"):
            subprocess.run([assembler, f"-arch={target}", "program.ptx", "-o", "program"], cwd=tmp_path, check=True)
