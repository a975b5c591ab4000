"""What README promises of the first minute: one command, and a result that a person believes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("consumer")


def make_demo(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {name: os.environ[name] for name in os.environ if not name.startswith(("MAKE", "MFLAGS", "ANYCUDA"))}
    return subprocess.run(
        ["make", "--silent", "demo", f"BUILD={folder}", *(f"{name}={value}" for name, value in variables.items())],
        cwd=ROOT,
        env={**env, "ANYCUDA_CUDART": "sim"},
        check=False,
        capture_output=True,
        text=True,
    )


def test_demo_says_where_it_ran_and_what_came_out(tmp_path: Path) -> None:
    done = make_demo(tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Building anycuda …" and lines[1].startswith("on the simulator: ")
    assert lines[-1] == "… and all 1000000 sums are right" and len(lines) < 10
    shown = (ROOT / "README.md").read_text()
    assert "\n".join(lines[1:]) in shown


def test_what_fails_to_build_is_shown(tmp_path: Path) -> None:
    done = make_demo(tmp_path, DEMO="nothing")
    assert done.returncode != 0 and "example_nothing" in done.stderr
