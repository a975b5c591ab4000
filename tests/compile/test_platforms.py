"""What anycuda does not work on says so when it is compiled; and it compiles for musl, where that is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.compile.toolchain import ROOT, build_library, run, works

INCLUDES = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'generated/include'}"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-U__linux__"], "anycuda works on Linux only"),
        (["-U__LP64__"], "anycuda works on 64-bit x86-64 and aarch64 only"),
        (["-U__x86_64__", "-U__aarch64__"], "anycuda works on 64-bit x86-64 and aarch64 only"),
        (["-U__BYTE_ORDER__", "-D__BYTE_ORDER__=4321"], "anycuda works on little-endian machines only"),
        (["-U__GNUC__"], "need a compiler that supports GNU C's extensions"),
    ],
)
@pytest.mark.parametrize("header", ["base", "cudart"])
def test_what_is_not_supported_is_a_sentence(header: str, options: list[str], sentence: str, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(f"#include <anycuda/{header}.h>\n")
    done = run(["cc", "-E", *options, *INCLUDES, source])
    assert done.returncode != 0 and sentence in done.stderr
    assert run(["cc", "-E", *INCLUDES, source]).returncode == 0


PROGRAM = """
#include <anycuda/anycuda.h>
#include <stdio.h>

int main(void)
{
    float numbers[4] = {1, 2, 3, 4}, back[4] = {0};
    acu_stream *stream = 0;
    acu_buffer *buffer = 0;
    if (acu_stream_create(0, 0, &stream) || acu_buffer_create(stream, ACU_F32, 4, &buffer) ||
        acu_buffer_write(buffer, numbers, 4) || acu_buffer_read(buffer, back, 4))
        return 1;
    printf("%g\\n", (double)back[3]);
    return acu_buffer_release(buffer) || acu_stream_release(stream);
}
"""


@pytest.mark.long
def test_it_works_with_musl(tmp_path: Path) -> None:
    """As `musl-gcc` of Debian's musl-tools compiles it; dynamically linked, because libcuda is opened."""
    compiler = shutil.which("musl-gcc")
    if compiler is None:
        pytest.skip("there is no musl-gcc here (apt-get install musl-tools)")
    options = (f"-DCMAKE_C_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Debug", "-DANYCUDA_DEV=ON")
    library = build_library(tmp_path / "musl", *options, target="anycuda_sim")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    sim = library.archive.with_name("libanycuda_sim.a")
    works([compiler, source, "-o", program, *INCLUDES, "-Wl,-u,acu_sim_abi", sim, library.archive])
    done = run([program], env={"ANYCUDA_CUDART": "sim"})
    assert done.returncode == 0 and done.stdout == "4\n", done.stderr
    none = run([program], env={"ANYCUDA_CUDART": "/nowhere/libcudart.so.13"})
    assert none.returncode == 1
