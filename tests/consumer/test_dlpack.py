"""Buffers and NumPy's arrays are each other's memory, by DLPack."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.compile.toolchain import CC, without_cuda

NUMPY = Path(__file__).resolve().parent / "numpy"
SCRIPT = NUMPY / "exchange.py"
CASES = re.findall(r"^def (\w+)\(\) -> None:$", SCRIPT.read_text().partition("# ---- the cases")[2], re.MULTILINE)


@pytest.fixture(scope="module")
def shared(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library and the simulator, with the functions that the script calls."""
    made = tmp_path_factory.mktemp("numpy") / "exchange.so"
    libraries = [f"-L{next(prefix.rglob('libanycuda.a')).parent}", "-lanycuda_sim", "-lanycuda", "-ldl", "-lpthread"]
    command = [CC, *without_cuda(CC), "-std=c11", "-Wall", "-Wextra", "-shared", "-fPIC", f"-I{prefix / 'include'}"]
    subprocess.run([*command, NUMPY / "exchange.c", "-o", made, "-Wl,-u,acu_sim_abi", *libraries], check=True)
    return made


@pytest.mark.skipif(find_spec("numpy") is None, reason="NumPy is not installed; requirements.lock has it")
@pytest.mark.parametrize("case", CASES)
def test_exchange(case: str, shared: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, shared, case],
        env={**os.environ, "ANYCUDA_CUDART": "sim"},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "left: 0\n"


def test_there_are_cases() -> None:
    assert "arrays_are_buffers" in CASES
