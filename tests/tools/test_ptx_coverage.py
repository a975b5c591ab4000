"""docs/users/ptx-coverage.md and tests/ptx/cells.txt are what spec/ptx_opcodes.yaml says, and its texts are PTX."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from generator import yamlfile
from tools import ptx_coverage

CELLS = list(ptx_coverage.cells())


def test_the_page_and_the_cells_are_new() -> None:
    assert ptx_coverage.PAGE.read_text() == ptx_coverage.render(), "run python tools/ptx_coverage.py"
    assert ptx_coverage.CELLS.read_text() == ptx_coverage.cells_text(), "run python tools/ptx_coverage.py"


def test_the_spec_has_its_schema() -> None:
    yamlfile.load(ptx_coverage.SPEC, ptx_coverage.ROOT / "spec/schema/ptx_opcodes.json")


def test_no_cell_is_there_twice() -> None:
    texts = [(cell.text, cell.target) for cell in CELLS]
    assert sorted(texts) == sorted(set(texts))


def test_each_form_is_of_its_opcode() -> None:
    for cell in CELLS:
        assert set(cell.opcode.split(".")) <= set(re.split(r"[.:;\s]+", cell.text)), cell


@pytest.mark.parametrize(("name", "bits"), [("pred", 1), ("u4", 8), ("s16", 16), ("f16x2", 32), ("e4m3x2", 16)])
def test_sizes_of_types(name: str, bits: int) -> None:
    assert ptx_coverage.bits_of(name) == bits


@pytest.mark.parametrize("target", sorted({cell.target for cell in CELLS}))
def test_ptxas_agrees(target: str, tmp_path: Path) -> None:
    """By NVIDIA's own assembler, where it is installed. It has no sm_60 any more, and reads such PTX for sm_75."""
    assembler = shutil.which("ptxas") or pytest.skip("there is no ptxas here, which comes with the CUDA toolkit")
    text = ptx_coverage.module(target, [cell.text for cell in CELLS if cell.target == target])
    (tmp_path / "cells.ptx").write_text(text)
    architecture = "sm_75" if target == "sm_60" else target
    command = [assembler, f"-arch={architecture}", "-O0", "cells.ptx", "-o", "cells.cubin"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    if "not defined for option" in done.stderr:
        pytest.skip(f"this ptxas does not know {architecture}")
    assert done.returncode == 0, done.stderr
