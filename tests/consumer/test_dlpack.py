"""Buffers and the arrays of NumPy, PyTorch and CuPy are each other's memory, by DLPack."""

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


FRAMEWORKS = NUMPY.parent / "frameworks"


def link(prefix: Path, source: Path, made: Path) -> Path:
    """The library and the simulator, with the functions that a script calls."""
    libraries = [
        f"-L{next(prefix.rglob('libanycuda.a')).parent}",
        "-lanycuda_sim",
        "-lanycuda",
        "-ldl",
        "-lpthread",
        "-lm",
    ]
    command = [CC, *without_cuda(CC), "-std=c11", "-Wall", "-Wextra", "-shared", "-fPIC", f"-I{prefix / 'include'}"]
    subprocess.run([*command, source, "-o", made, "-Wl,-u,acu_sim_abi", *libraries], check=True)
    return made


@pytest.fixture(scope="module")
def shared(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link(prefix, NUMPY / "exchange.c", tmp_path_factory.mktemp("numpy") / "exchange.so")


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


@pytest.mark.skipif(find_spec("numpy") is None, reason="NumPy is not installed; requirements.lock has it")
@pytest.mark.parametrize("framework", ["own", "torch", "cupy"])
def test_frameworks(framework: str, prefix: Path, tmp_path: Path) -> None:
    """On a GPU with PyTorch and CuPy; anycuda's own buffers on both sides show here that the script is right."""
    if framework != "own" and find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed: docs/users/dlpack.md says where this test ran")
    functions = link(prefix, FRAMEWORKS / "functions.c", tmp_path / "functions.so")
    done = subprocess.run(
        [sys.executable, "-m", "tests.consumer.frameworks.exchange", functions, framework],
        env={**os.environ, **({"ANYCUDA_CUDART": "sim"} if framework == "own" else {})},
        cwd=Path(__file__).resolve().parents[2],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode == 77:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert framework != "own" or done.stdout.count("\nok ") + done.stdout.startswith("ok ") > 10
