"""The README's program compiles with its command and runs, with and without CUDA."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    for step in (["-S", str(ROOT), "-B", str(folder)], ["--build", str(folder)]):
        subprocess.run(["cmake", *step], check=True, capture_output=True)
    return folder / "libanycuda.a"


def test_program(library: Path, tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    program = re.search(r"```c\n(.*?)```", text, re.DOTALL)
    command = re.search(r"^cc program\.c (.*)$", text, re.MULTILINE)
    assert program and command
    (tmp_path / "program.c").write_text(program[1])
    flags = command[1].replace("-I", f"-I{ROOT}/").replace("build/release/libanycuda.a", str(library)).split()
    compiler = shutil.which(os.environ.get("CC", "cc"))
    assert compiler
    subprocess.run([compiler, "program.c", *flags, "-o", "program"], cwd=tmp_path, check=True)
    without = {**os.environ, "ANYCUDA_CUDART": "/nonexistent/libcudart.so.12"}
    done = subprocess.run([tmp_path / "program"], env=without, capture_output=True, text=True, check=True)
    assert "cudaGetDeviceProperties" in done.stdout and "/nonexistent/libcudart.so.12" in done.stdout
