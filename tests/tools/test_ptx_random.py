"""The runner of `make ptx-random`: it compiles a program twice, keeps what is wrong, and says how to run it again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.ptx_corpus import random_programs, run_random

RUNNER = Path(run_random.__file__)


def run(out: Path, nvcc: Path, *more: str) -> subprocess.CompletedProcess[str]:
    paths = [str(path) for path in (RUNNER, out, "--library", out / "lib.so", "--nvcc", nvcc)]
    command = [sys.executable, *paths, "--programs", "2", *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def nvcc(tmp_path: Path) -> Path:
    """A compiler whose programs find no difference, but for that of seed 8 where it is optimised, with a seed."""
    path = tmp_path / "nvcc"
    path.write_text(
        "#!/bin/sh\n"
        'case "$*" in *random_9*) echo "line 3: no"; exit 1;; esac\n'
        'for last; do :; done\ncat >"$last" <<END\n#!/bin/sh\n'
        'case "\\$0 \\$ANYCUDA_SIM" in *random_8-O3*seed*) echo differs; exit 1;; esac\necho the same\nEND\n'
        'chmod +x "$last"\n'
    )
    path.chmod(0o755)
    return path


def test_what_is_right_is_removed(tmp_path: Path, nvcc: Path) -> None:
    ran = run(tmp_path / "out", nvcc, "--seed", "3")
    assert (ran.returncode, ran.stdout) == (0, "2 of 2 random programs are right, from seed 3 on\n")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["sim"]


def test_what_is_wrong_is_kept_and_said(tmp_path: Path, nvcc: Path) -> None:
    out = tmp_path / "out"
    ran = run(out, nvcc, "--seed", "7")
    assert ran.returncode == 1
    assert f"ANYCUDA_SIM=seed=7 LD_LIBRARY_PATH={out}/sim {out}/random_8-O3\nit ended with 1\ndiffers\n" in ran.stdout
    assert ran.stdout.endswith("1 of 2 random programs are right, from seed 7 on\n")
    assert {path.name for path in out.iterdir()} >= {"random_8.cu", "random_8-O3"}


def test_what_does_not_compile_is_wrong(tmp_path: Path, nvcc: Path) -> None:
    ran = run(tmp_path / "out", nvcc, "--seed", "9")
    assert ran.returncode == 1
    assert "seed 9 does not compile with nvcc -O3" in ran.stdout


def test_what_no_host_computes_is_what_the_interpreter_does(tmp_path: Path) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(
        '#!/bin/sh\nfor last; do :; done\ncat >"$last" <<END\n#!/bin/sh\n'
        'case "\\$0 \\$ANYCUDA_SIM" in *-DNUMBERS*) echo 5;; esac\necho the same\nEND\nchmod +x "$last"\n'
    )
    nvcc.chmod(0o755)
    assert run(tmp_path / "out", nvcc, "--seed", "1").returncode == 0
    nvcc.write_text(nvcc.read_text().replace("*-DNUMBERS*", "*-DNUMBERS*jit=0"))
    ran = run(tmp_path / "out", nvcc, "--seed", "1")
    assert ran.stdout.endswith("1 of 2 random programs are right, from seed 1 on\n")
    assert "random_1-O3-use_fast_math-DNUMBERS\nit says\nthe same\ninstead of\n5\nthe same\n" in ran.stdout


def test_without_nvcc_it_is_skipped(tmp_path: Path) -> None:
    ran = run(tmp_path / "out", tmp_path / "none")
    assert ran.returncode == 77
    assert "skipped: there is no nvcc" in ran.stdout


def test_a_seed_decides() -> None:
    assert random_programs.text(5, 2) == random_programs.text(5, 2) != random_programs.text(6, 2)
    assert random_programs.text(5, 2).count("KERNEL(") == 2
