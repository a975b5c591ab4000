"""The occupancy calculator returns what NVIDIA's does, for each compute capability, in C and in C++."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compile import names
from tests.compile.test_headers import every_compiler
from tests.compile.toolchain import COMPAT, DIALECTS, WARNINGS, compiler, run, without_cuda, works

SOURCE = Path(__file__).parent / "occupancy.c"


def checksums(program: Path, language: str, folders: tuple[Path, ...], *flags: str) -> list[str]:
    """A line for each function and compute capability, with a checksum of all that it returned."""
    includes = [*without_cuda("c++", language), *(f"-I{one}" for one in folders)]
    works(["c++", "-x", language, "-O1", "-w", *flags, *includes, SOURCE, "-o", program])
    return run([program]).stdout.splitlines()


@pytest.mark.parametrize("language", ["c", "c++"])
def test_every_function_returns_what_nvidias_does(language: str, tmp_path: Path) -> None:
    theirs = checksums(tmp_path / "theirs", language, names.nvidias())
    stopping = ("-fsanitize=undefined", "-fno-sanitize-recover")
    ours = checksums(tmp_path / "ours", language, names.ours(), *stopping)
    assert len(theirs) > 4000
    different = [line.rsplit(" ", 1)[0] for line in theirs if line not in set(ours)]
    assert not different, f"ours differ from NVIDIA's: {', '.join(different)}"
    assert len(ours) == len(theirs)


@every_compiler
@pytest.mark.parametrize("dialect", [*DIALECTS["c"], *DIALECTS["c++"]])
def test_no_warnings(name: str, dialect: str) -> None:
    language = "c++" if dialect.startswith("c++") else "c"
    works([*compiler(name, dialect), "-x", language, *WARNINGS, f"-I{COMPAT}", "-fsyntax-only", SOURCE])
