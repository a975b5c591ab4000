"""The small floating-point types compute what NVIDIA's own host functions do, for every pattern of 16 bits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compile import names
from tests.compile.test_headers import every_compiler
from tests.compile.toolchain import COMPAT, DIALECTS, WARNINGS, compiler, run, without_cuda, works

SOURCE = Path(__file__).parent / "small_floats.cpp"


def checksums(folder: Path, folders: tuple[Path, ...]) -> list[str]:
    """A line for each function, with a checksum of all that it returned."""
    program = folder / "program"
    folder.mkdir()
    includes = [f"-I{one}" for one in folders]
    works(["c++", "-std=c++17", "-O1", "-w", *without_cuda("c++", "c++"), *includes, SOURCE, "-o", program])
    return run([program]).stdout.splitlines()


@pytest.mark.long
def test_every_function_returns_what_nvidias_does(tmp_path: Path) -> None:
    theirs = checksums(tmp_path / "theirs", names.nvidias())
    ours = checksums(tmp_path / "ours", names.ours())
    assert len(theirs) > 300
    different = [line.rsplit(" ", 1)[0] for line in theirs if line not in ours]
    assert not different, f"ours differ from NVIDIA's: {', '.join(different)}"
    assert len(ours) == len(theirs)


@every_compiler
@pytest.mark.parametrize("dialect", DIALECTS["c++"])
def test_no_warnings(name: str, dialect: str) -> None:
    works([*compiler(name, dialect), *WARNINGS, f"-I{COMPAT}", "-fsyntax-only", SOURCE])
