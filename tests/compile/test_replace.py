"""In front of NVIDIA's own headers: with `-include anycuda/replace.h`, ours are what a program sees in any order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from generator.fetch import Toolkits
from tests.compile import names
from tests.compile.test_headers import every_compiler, source
from tests.compile.toolchain import ROOT, Library, compiler, language, works

HEADERS = (
    *("cuda_fp16.h", "cuda_runtime.h", "cuda_fp4.h", "cuda.h", "cuda_fp8.h", "cuda_fp6.h"),
    *("cuda_occupancy.h", "cuComplex.h", "nvrtc.h"),
)
PROGRAM = """
int main(void) {
    void *memory = 0;
    CUdevice device = 0;
    int major = 0, minor = 0;
    return cudaMalloc(&memory, 4) == cudaSuccess || cuDeviceGet(&device, 0) == CUDA_SUCCESS ||
           nvrtcVersion(&major, &minor) == NVRTC_SUCCESS;
}
"""


def orders() -> Iterator[tuple[str, ...]]:
    """Each header is the first one twice: the others follow forwards and backwards."""
    for start in range(len(HEADERS)):
        forwards = HEADERS[start:] + HEADERS[:start]
        yield from (forwards, (forwards[0], *forwards[:0:-1]))


@every_compiler
@pytest.mark.parametrize("dialect", ["c11", "c++17"])
@pytest.mark.parametrize("theirs_first", [True, False])
def test_in_any_order(name: str, dialect: str, theirs_first: bool, tmp_path: Path) -> None:
    command = compiler(name, dialect)
    folders = [f"-I{folder}" for folder in names.nvidias()]
    command[2:2] = folders if theirs_first else []
    command += [*([] if theirs_first else folders), "-w"]
    # Compiled once, because our headers are most of each unit.
    compiled = tmp_path / f"replace.h.{'gch' if name == 'gcc' else 'pch'}"
    kind = f"{'c++' if language(dialect) == 'c++' else 'c'}-header"
    works([*command, "-x", kind, ROOT / "include/anycuda/replace.h", "-o", compiled])
    ahead = ("-include", tmp_path / "replace.h")  # of gcc, which finds the compiled one only
    in_front = ahead if name == "gcc" else ("-include-pch", compiled)
    for index, order in enumerate(orders()):
        text = "".join(f"#include <{header}>\n" for header in order) + PROGRAM
        source(tmp_path, text, dialect, f"unit{index}")
    units = sorted(tmp_path.glob("unit*"))
    works([*command, *in_front, "-fsyntax-only", *units])


FULL = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
OTHERS = ("cublas_v2.h", "cublasLt.h", "cufft.h", "cusparse.h", "curand.h", "cusolverDn.h", "nvjpeg.h", "npp.h")


@every_compiler
@pytest.mark.parametrize("dialect", ["c11", "c++17"])
def test_libraries_of_a_full_toolkit(name: str, dialect: str, tmp_path: Path) -> None:
    """Their headers include NVIDIA's neighbours in quotes; those are empty then, and ours are used."""
    there = [header for header in OTHERS if (FULL / header).exists()]
    if not there:
        pytest.skip(f"there is no full CUDA toolkit at {FULL.parent}: none of {', '.join(OTHERS)}")
    both = [*there, *(header for header in HEADERS[:3] if (FULL / header).exists())]
    for index, order in enumerate((both, both[::-1])):
        text = "".join(f"#include <{header}>\n" for header in order) + "#ifndef ACU_CUDART_TYPES_H\n#error\n#endif\n"
        source(tmp_path, text + PROGRAM, dialect, f"unit{index}")
    command = [*compiler(name, dialect), "-include", "anycuda/replace.h", "-isystem", FULL, "-w", "-fsyntax-only"]
    works([*command, *sorted(tmp_path.glob("unit*"))])


SMALLER = Path(__file__).parent / "smaller_floats.c"


def with_smaller_floats() -> list[Path]:
    """Folders with <cuda_fp4.h>, which we lack: of the oldest and the newest toolkit that have it, of a full one."""
    toolkits = Toolkits.load(ROOT / "spec" / "toolkits.yaml")
    folders = [folder for toolkit in toolkits for folder in toolkit.include_dirs() if (folder / "cuda_fp4.h").exists()]
    return [*folders[:1], *folders[-1:], *([FULL] if (FULL / "cuda_fp4.h").exists() else [])]


@every_compiler
@pytest.mark.parametrize("dialect", ["c11", "c++11", "c++17"])
def test_types_that_only_nvidia_has(name: str, dialect: str, tmp_path: Path) -> None:
    """NVIDIA's <cuda_fp6.h> and <cuda_fp4.h> use the inside of their <cuda_fp8.h>, which is empty in front of ours."""
    folders = with_smaller_floats()
    if not folders:
        pytest.skip("no toolkit here has <cuda_fp4.h>")
    command = [
        *compiler(name, dialect),
        "-Werror=implicit-function-declaration",
        "-w",
        "-x",
        language(dialect),
        SMALLER,
    ]
    for folder in folders:
        defines = ["-DWITH_BFLOAT16"] if "_to_bf16raw" in (folder / "cuda_fp4.hpp").read_text() else []
        others = [f"-I{other}" for other in (folder, *names.nvidias())]
        works([*command, *defines, *others, "-o", tmp_path / "theirs"])
        works([*command, *defines, "-include", "anycuda/replace.h", *others, "-o", tmp_path / "ours"])
        assert works([tmp_path / "ours"]) == works([tmp_path / "theirs"]), folder


@every_compiler
def test_the_program_calls_ours(name: str, library: Library, tmp_path: Path) -> None:
    folders = [f"-I{folder}" for folder in names.nvidias()]
    text = "".join(f"#include <{header}>\n" for header in HEADERS) + PROGRAM
    command = compiler(name, "c11")
    command[2:2] = folders
    unit = source(tmp_path, text)
    works([*command, "-include", "anycuda/replace.h", "-w", unit, "-o", tmp_path / "program", *library.link])
    missing = str(tmp_path / "missing")
    works([tmp_path / "program"], env={"ANYCUDA_CUDART": missing, "ANYCUDA_CUDA": missing, "ANYCUDA_NVRTC": missing})
