"""The reference: every public declaration is documented, and what says nothing is found."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def make(tree: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("doxygen") is None:
        pytest.skip("there is no doxygen here (apt-get install doxygen)")
    return subprocess.run([tree / "tools/docs.sh", folder], check=False, capture_output=True, text=True)


def test_every_public_declaration_is_documented(tmp_path: Path) -> None:
    done = make(ROOT, tmp_path)
    assert done.returncode == 0, done.stderr
    buffer = (tmp_path / "html/buffer_8h.html").read_text()
    assert "acu_buffer_create" in buffer and "acu_buffer_cleanup" not in buffer


def test_an_undocumented_function_stops_it(tmp_path: Path) -> None:
    for name in ("CMakeLists.txt", "docs/Doxyfile", "tools/docs.sh", "include/README.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "include/anycuda", tmp_path / "include/anycuda")
    with (tmp_path / "include/anycuda/supports.h").open("a") as header:
        header.write("int acu_silent(void);\n")
    done = make(tmp_path, tmp_path / "out")
    assert done.returncode == 1 and "acu_silent" in done.stderr
