"""Compilers, dialects and the library, for the tests that compile programs."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
INCLUDE = (ROOT / "include", ROOT / "generated" / "include")
COMPAT = ROOT / "generated" / "include" / "anycuda" / "compat"

# Whether `make test-all` runs: also what takes long and finds little more than `make test`.
EVERYTHING = "ANYCUDA_TEST_ALL" in os.environ

Command = Sequence[object]  # text and paths

CC = os.environ.get("CC", "cc")
COMPILERS = {"gcc": ("gcc", "g++"), "clang": ("clang", "clang++")}
DIALECTS = {"c": ("c11", "c17", "c2x"), "c++": ("c++11", "c++14", "c++17", "c++20")}
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow", "-Wundef")
C_WARNINGS = ("-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition")


def language(dialect: str) -> str:
    return "c++" if dialect.startswith("c++") else "c"


@cache
def without_cuda(program: str, language: str = "c") -> list[str]:
    """Flags that replace the compiler's own folders of headers by those of them that have no header of CUDA.

    A machine may have NVIDIA's headers in /usr/local/include, where a compiler finds what we lack. Where they are among
    the C library's own, nothing compiles with these flags.
    """
    command = [program, "-E", "-v", "-x", language, "/dev/null"]
    said = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stderr
    listed = said.split("#include <...> search starts here:\n")[1].split("End of search list.")[0].split("\n ")
    folders = [Path(line.strip()) for line in listed if line.strip()]
    clean = [folder for folder in folders if not any((folder / name).exists() for name in ("cuda.h", "cuda_runtime.h"))]
    return ["-nostdinc", *(part for folder in clean for part in ("-isystem", str(folder)))]


def compiler(name: str, dialect: str) -> list[str]:
    """The command for a dialect: the compiler, its language, where our headers are, and no other headers of CUDA."""
    program = COMPILERS[name][language(dialect) == "c++"]
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")
    return [
        program,
        f"-std={dialect}",
        *(f"-I{folder}" for folder in INCLUDE),
        *without_cuda(program, language(dialect)),
    ]


def run(command: Command, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    # Messages are compared: they shall be English, and complete.
    base = {**os.environ, "LC_ALL": "C", **(env or {})}
    return subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True, env=base)


def works(command: Command, env: Mapping[str, str] | None = None) -> str:
    done = run(command, env)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def fails(command: Command) -> list[str]:
    """The compiler's errors, one line each."""
    done = run(command)
    assert done.returncode != 0, f"this should not compile: {' '.join(map(str, command))}"
    return [line for line in done.stderr.splitlines() if " error: " in line]


@dataclass(frozen=True)
class Library:
    """The static library, built as a user would, and what a program links with it."""

    archive: Path

    @property
    def link(self) -> list[str | Path]:
        return [self.archive, "-pthread", "-ldl"]


def build_library(folder: Path, *options: str, target: str = "all") -> Library:
    """Builds it once for all the processes of a test run."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            cc = next((one.split("=")[1] for one in options if one.startswith("-DCMAKE_C_COMPILER=")), CC)
            flags = f"-DCMAKE_C_FLAGS={' '.join(without_cuda(cc))}"
            works(["cmake", "-S", ROOT, "-B", folder, flags, *options])
            works(["cmake", "--build", folder, "--parallel", "2", "--target", target])
            (folder / "done").touch()
    return Library(folder / "libanycuda.a")
