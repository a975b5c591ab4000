"""The comparison of checks with compute-sanitizer: the simulator's half, and the logic with scripts for the rest."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.compile.toolchain import Library, works
from tests.gpu import checked
from tests.gpu.checked import Simulated

SCRIPT = Path(checked.__file__)
SOURCE = SCRIPT.with_suffix(".cu")
READ_BEHIND = """========= COMPUTE-SANITIZER
case read_behind
========= Invalid __global__ read of size 4 bytes
=========     at void read_behind<true>(int *, int *)+0x70 in checked.cu:1
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call
========= ERROR SUMMARY: 2 errors
"""


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Has one case of memory and one of races."""
    return script(
        tmp_path / "program",
        """case $1 in
        --list) echo memory read_behind; echo race exchange ;;
        *) echo "case $1"; echo end cudaSuccess ;;
        esac""",
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (READ_BEHIND, "Invalid __global__ read"),
        ("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", ""),
        (
            "========= Barrier error detected. Divergent thread(s) in warp\n========= ERROR SUMMARY: 1 error\n",
            "Barrier error detected. Divergent thread(s) in warp",
        ),
        (
            "========= Error: Race reported between Write access at void k+0x40 in a.cu:1\n"
            "=========     and Read access at void k+0x50 in a.cu:2 [64 hazards]\n"
            "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n",
            "race with a write (error)",
        ),
        ("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", ""),
        (f"========= COMPUTE-SANITIZER\n{checked.STOPPED}\n", checked.STOPPED),
    ],
)
def test_kind_of(text: str, kind: str) -> None:
    assert checked.kind_of(text) == kind


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("case a\nend cudaSuccess\nexit status 0\n", ""),
        ("case a\nend cudaErrorIllegalAddress\nexit status 3\n", "cudaErrorIllegalAddress"),
        ("case a\nexit status -11\n", "ended"),
        (f"case a\n{checked.STOPPED}\n", checked.STOPPED),
    ],
)
def test_error_of(text: str, error: str) -> None:
    assert checked.error_of(text) == error


def test_what_does_not_end_is_stopped() -> None:
    assert checked.error_of(checked.printed(["sleep", "600"], 0.1)) == checked.STOPPED


def test_what_was_recorded_is_read(tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "LIMIT", 300)  # on a busy machine, too
    sanitizer = script(tmp_path / "sanitizer", f"cat <<'EOF'\n{READ_BEHIND}EOF")
    folder = tmp_path / "raw"
    assert checked.record(str(program), str(sanitizer), folder, seconds=1000, jobs=8) == 0
    answers = checked.read_answers(checked.read_folder(folder))
    others = ", ".join(f"{tool}: Invalid __global__ read" for tool in ("racecheck", "initcheck", "synccheck"))
    assert answers["read_behind"] == {"alone": "-", "tool": "Invalid __global__ read", "others": others}
    assert answers["read_behind_ok"] == {"alone": "?", "tool": "Invalid __global__ read", "others": "?"}
    (folder / "exchange.racecheck").unlink()
    assert checked.read_answers(checked.read_folder(folder))["exchange"]["tool"] == "?"


def test_without_time_nothing_runs(tmp_path: Path, program: Path) -> None:
    runs = checked.plan(checked.cases(str(program)))
    assert runs[:2] == [("read_behind", "memcheck"), ("read_behind_ok", "memcheck")]
    assert checked.record(str(program), str(program), tmp_path / "raw", seconds=0, jobs=1) == len(runs) == 12


def test_what_the_simulator_prints_is_read() -> None:
    start = 'anycuda: simulator: kernel "k": check='
    text = f"case a\n{start}race: block\n{start}race: 61 more in line 3\n{start}init: block\nend cudaSuccess\n"
    text += "case a_ok\nend cudaSuccess\ncase b\nend cudaErrorLaunchFailure\ncase b_ok\n"
    found = checked.read_reports(text.splitlines())
    assert found == {
        "a": Simulated(Counter(race=62, init=1)),
        "a_ok": Simulated(),
        "b": Simulated(error="cudaErrorLaunchFailure"),
        "b_ok": Simulated(error="ended"),
    }


@pytest.mark.parametrize(
    ("theirs", "ours", "planted", "who"),
    [
        ("Invalid __global__ read", Simulated(Counter(memory=1)), True, "both"),
        ("Invalid __global__ read", Simulated(Counter(race=1)), True, "tool only"),
        ("-", Simulated(error="cudaErrorIllegalAddress"), True, "ours only"),
        ("?", Simulated(), True, "neither"),
        (checked.STOPPED, Simulated(Counter(memory=1)), True, "ours only"),
        ("-", Simulated(Counter(race=1)), False, "ours only"),
    ],
)
def test_verdict(theirs: str, ours: Simulated, planted: bool, who: str) -> None:
    assert checked.verdict(theirs, ours, "memory", planted) == who


def test_a_difference_needs_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"a": {"tool": "-"}, "a_ok": {"tool": "-"}}
    simulated = {"a": Simulated(Counter(memory=3)), "a_ok": Simulated()}
    rows, wrong = checked.compare({"a": "memory"}, answers, simulated)
    assert wrong == 1
    assert rows[1].split() == ["a", "memory", "-", "memory", "3", "ours", "only", "WITHOUT", "A", "REASON"]
    monkeypatch.setattr(checked, "DIFFERENCES", {"memcheck is lenient": ["a"]})
    rows, wrong = checked.compare({"a": "memory"}, answers, simulated)
    assert (wrong, rows[1].endswith("ours only memcheck is lenient")) == (0, True)
    monkeypatch.setattr(checked, "DIFFERENCES", {"memcheck is lenient": ["a", "a_ok"]})
    assert checked.compare({"a": "memory"}, answers, simulated)[1] == 1  # a reason for no difference


def test_no_sanitizer(program: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(program), "--record", str(tmp_path)]
    done = subprocess.run(command, env={"PATH": "/nonexistent"}, check=False, capture_output=True, text=True)
    assert done.returncode == checked.NO_TOOL
    assert "there is no compute-sanitizer" in done.stdout


def test_reasons_are_of_cases() -> None:
    answers = checked.read_answers(checked.ANSWERS.read_text())
    assert {name for names in checked.DIFFERENCES.values() for name in names} <= set(answers)


def test_the_simulator_reports_each_mistake_and_no_correct_kernel(library: Library, tmp_path: Path) -> None:
    """Machine code, and the interpreter."""
    nvcc = shutil.which("nvcc", path=f"{os.environ.get('PATH', '')}:/usr/local/cuda/bin")
    if nvcc is None:
        pytest.skip("there is no nvcc here")
    if "release 13." not in works([nvcc, "--version"]):
        pytest.skip("this nvcc is not of CUDA 13, whose libcudart the simulator stands in for")
    program = str(tmp_path / "checked")
    ptx = ["-arch=compute_90", "-code=compute_90"]
    works([nvcc, "-std=c++20", "-cudart", "shared", "-lineinfo", *ptx, SOURCE, "-o", program])
    answers = checked.read_answers(checked.ANSWERS.read_text())
    for machine in ("cc=9.0", "cc=9.0,jit=0"):
        environment = checked.with_simulator(library.archive.parent / "libanycuda-sim.so", tmp_path, machine)
        planted = checked.cases(program, environment)
        rows, wrong = checked.compare(planted, answers, checked.simulate(program, planted, environment))
        assert not wrong, "\n".join([machine, *rows])
