"""The command line where the environment is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.compile.toolchain import ROOT


@pytest.mark.parametrize("argument", ["--help", "check", "explain"])
def test_without_its_packages_it_names_the_environment(argument: str) -> None:
    command = [sys.executable, "-S", "-m", "generator", argument]  # -S: no site-packages
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert done.stderr.startswith("error: there is no Python package `"), done.stderr
    assert done.stderr.count("\n") == 1 and "`make environment`" in done.stderr
