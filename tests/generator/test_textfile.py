"""Text files: the same in every locale, and never half written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from generator import textfile
from tests.compile.toolchain import ROOT


def test_a_text_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "a.h"
    textfile.write(file, "old …\n")
    with pytest.raises(UnicodeEncodeError):
        textfile.write(file, "new \ud800\n")
    assert textfile.read(file) == "old …\n"
    assert [one.name for one in tmp_path.iterdir()] == ["a.h"]


def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual(tmp_path: Path) -> None:
    usual = tmp_path / "usual"
    usual.touch()
    file = tmp_path / "a.h"
    textfile.write(file, "1")
    assert file.stat().st_mode == usual.stat().st_mode
    file.chmod(0o640)
    textfile.write(file, "2")
    assert file.stat().st_mode & 0o777 == 0o640


def test_the_locale_changes_nothing() -> None:
    """Comments and reasons have characters that ASCII lacks."""
    ascii = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "generator", "check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=os.environ | ascii)
    assert done.returncode == 0, done.stderr
