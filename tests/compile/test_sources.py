"""The sources compiled by each compiler with optimisation: what their objects need of other libraries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.compile.toolchain import COMPILERS, ROOT, compiler, works

FOLDERS = [ROOT / name for name in ("src", "include", "generated/include", "generated/src")]
ATOMIC = re.compile(r"__sync_|__atomic_\w+\(|__int128")


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", COMPILERS)
def test_atomics_call_no_library(name: str, level: str, tmp_path: Path) -> None:
    """clang made calls of libatomic of an exchange of 128 bits, but only with optimisation; nobody links libatomic."""
    command = [*compiler(name, "c11"), level, "-w", *(f"-I{folder}" for folder in FOLDERS)]
    sources = [file for file in sorted((ROOT / "src" / "sim" / "ptx").glob("*.c")) if ATOMIC.search(file.read_text())]
    assert len(sources) > 2
    for source in sources:
        made = tmp_path / source.with_suffix(".o").name
        works([*command, "-c", source, "-o", made])
        assert not re.findall(r"\b__(?:sync|atomic)_\w+", works(["nm", "--undefined-only", made])), source
