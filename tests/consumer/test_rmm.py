"""RMM allocates by libanycuda-allocator.so: the real package, on the simulator where there is no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from generator.errors import GeneratorError
from generator.fetch import Toolkits
from tests.compile.toolchain import ROOT

FRAMEWORKS = Path(__file__).resolve().parent / "frameworks"
CXX = os.environ.get("CXX", "c++")

pytestmark = pytest.mark.skipif(
    find_spec("rmm") is None, reason="RMM (rmm-cu13) is not installed: docs/users/allocator.md says where this test ran"
)


def simulated(prefix: Path) -> dict[str, str]:
    (simulator,) = prefix.rglob("libanycuda-sim.so")
    return {**os.environ, "ANYCUDA_CUDART": str(simulator), "ANYCUDA_SIM": "memory=1GiB"}


def test_in_python(prefix: Path) -> None:
    (plugin,) = prefix.rglob("libanycuda-allocator.so")
    done = subprocess.run(
        [sys.executable, "-m", "tests.consumer.frameworks.rmm_allocator", plugin],
        env=simulated(prefix),
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") >= 6


def headers() -> list[Path]:
    try:
        return list(Toolkits.load())[-1].include_dirs()
    except GeneratorError as problem:
        pytest.skip(f"the toolkits are not at hand: {problem}")


def folder_of(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed, of which RMM in C++ is made")
    return Path(next(iter(spec.submodule_search_locations)))


def test_in_cpp(prefix: Path, tmp_path: Path) -> None:
    (plugin,) = prefix.rglob("libanycuda-allocator.so")
    rmm, logger = folder_of("librmm"), folder_of("rapids_logger")
    includes = [rmm / "include", rmm / "include/rapids", logger / "include", *headers()]
    libraries = [rmm / "lib64", logger / "lib64", plugin.parent]
    program = tmp_path / "rmm_allocator"
    command: list[str | Path] = [CXX, "-std=c++17", FRAMEWORKS / "rmm_allocator.cpp", "-o", program]
    command += [f"-isystem{folder}" for folder in includes]
    command += [f"-L{folder}" for folder in libraries]
    subprocess.run([*command, "-lrmm", "-lrapids_logger", "-lanycuda-allocator"], check=True)
    env = {**simulated(prefix), "LD_LIBRARY_PATH": ":".join(str(folder) for folder in libraries)}
    done = subprocess.run([program], env=env, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "memory is used again\nno room is an exception\n"
