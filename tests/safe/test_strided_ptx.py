"""The PTX of strided copies copies what it should: executed here, without a GPU, and compared byte by byte."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.safe import ptx

ROOT = Path(__file__).resolve().parents[2]
EACH, TILE, PACKED = range(3)
LAYOUT = 64 + 17 * 32  # bytes of acu_strided_layout


@dataclass(frozen=True)
class Copy:
    """Transposed slices, whose rows and columns have gaps; the slices of the source may be backwards."""

    slices: int
    height: int
    width: int
    to_gap: int
    from_gap: int
    backwards: bool = False


COPIES = {
    EACH: [Copy(3, 29, 17, 1, 2, True), Copy(1, 1, 5, 0, 0)],
    TILE: [Copy(1, 65, 35, 0, 0), Copy(2, 9, 65, 1, 3, True)],
    PACKED: [Copy(1, 132, 68, 0, 0), Copy(2, 12, 72, 4, 8, True)],
}


@pytest.fixture(scope="module")
def printer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler here")
    program = tmp_path_factory.mktemp("ptx") / "print"
    includes = [f"-I{ROOT / folder}" for folder in ("include", "generated/include", "src", "generated/src")]
    sources = [ROOT / "tests/safe/print_strided_ptx.c", ROOT / "src/safe/kernel/strided_ptx.c"]
    subprocess.run([compiler, "-std=c11", *includes, *sources, "-o", program], check=True)
    return program


def dim(count: int, to: int, source: int) -> bytes:
    """An acu_strided_dim."""
    shift = (count - 1).bit_length()
    return struct.pack("<IIIIqq", count, (((1 << shift) - count) << 32) // count + 1, shift, 0, to, source)


def side_of(kind: int, word: int) -> int:
    return 128 // word if kind == PACKED else 32 if word == 16 else 64


def launch(kind: int, word: int, c: Copy) -> tuple[bytes, int]:
    """The acu_strided_layout, and how many blocks there are."""
    row, column = (c.width + c.to_gap) * word, (c.height + c.from_gap) * word
    of_slice = c.width * column * (-1 if c.backwards else 1)
    first = (c.slices - 1) * c.width * column if c.backwards else 0
    slices = [dim(c.slices, c.height * row, of_slice)] if c.slices > 1 else []
    if kind == EACH:
        dims = [dim(c.width, word, column), dim(c.height, row, word), *slices]
        total, by_block = c.slices * c.height * c.width, 256 * (4 if word >= 8 else 8)
        layout = struct.pack("<qqIIIIqqqq", 0, first, total, len(dims), 0, 0, 0, 0, 0, 0)
        return (layout + b"".join(dims)).ljust(LAYOUT, b"\0"), -(-total // by_block)
    side = side_of(kind, word)
    across, down = -(-c.width // side), -(-c.height // side)
    dims = [dim(across, word * side, column * side), dim(down, row * side, word * side), *slices]
    layout = struct.pack("<qqIIIIqqqq", 0, first, 0, len(dims), c.width, c.height, word, column, row, word)
    return (layout + b"".join(dims)).ljust(LAYOUT, b"\0"), across * down * c.slices


def copied(word: int, c: Copy, memory: bytearray, to: int, source: int) -> bytearray:
    """The memory afterwards, by the definition of the copy."""
    wanted = bytearray(memory)
    for z in range(c.slices):
        from_z = c.slices - 1 - z if c.backwards else z
        for y in range(c.height):
            for x in range(c.width):
                there = to + ((z * c.height + y) * (c.width + c.to_gap) + x) * word
                here = source + ((from_z * c.width + x) * (c.height + c.from_gap) + y) * word
                wanted[there : there + word] = memory[here : here + word]
    return wanted


@pytest.mark.parametrize(
    ("kind", "word"), [(kind, word) for kind in COPIES for word in (1, 2, 4, 8, 16) if kind != PACKED or word < 4]
)
def test_copies(printer: Path, kind: int, word: int) -> None:
    text = subprocess.run([printer, str(kind), str(word)], check=True, capture_output=True, text=True).stdout
    kernel = ptx.parse(text)
    chance = random.Random(word)
    for copy in COPIES[kind]:
        to = 256
        source = to + (copy.slices * copy.height * (copy.width + copy.to_gap) * word + 31) // 16 * 16
        size = source + copy.slices * copy.width * (copy.height + copy.from_gap) * word
        memory = bytearray(chance.randbytes(size))
        wanted = copied(word, copy, memory, to, source)
        layout, blocks = launch(kind, word, copy)
        for index in range(blocks):
            ptx.Block(kernel, struct.pack("<QQ", to, source) + layout, memory, index).run()
        assert memory == wanted, copy
