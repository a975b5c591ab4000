"""Tests tests/fuzz/answers.py with a script that plays the fuzzer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ANSWERS = Path(__file__).parents[1] / "fuzz" / "answers.py"

# Each call answers 0; call 7 answers 1 after call 3, and on the CUDA "other" if call 5 came before, too.
FUZZ = f"""#!{sys.executable}
import os, sys
seed, calls, _, numbers = sys.argv[1:]
wanted = [range(int(calls))] if numbers == "all" else []
for piece in numbers.split(",") if numbers != "all" else []:
    first, _, last = piece.partition("-")
    wanted.append(range(int(first), int(last or first) + 1))
made = sorted(number for piece in wanted for number in piece if number < int(calls))
print("program", seed)
for number in made:
    other = os.environ.get("ANYCUDA_CUDART") == "other"
    failed = number == 7 and 3 in made and (not other or 5 in made)
    print(f"{{number:4}} call() = {{int(failed)}} 0 ------ {{seed}}")
print("end")
"""


@pytest.fixture
def fuzz(tmp_path: Path) -> Path:
    """Returns the script."""
    script = tmp_path / "fuzz"
    script.write_text(FUZZ)
    script.chmod(0o755)
    return script


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs answers.py."""
    environment = {**os.environ, "ANYCUDA_CUDART": "one"}
    command = [sys.executable, str(ANSWERS), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_same_answers_are_the_same(fuzz: Path, tmp_path: Path) -> None:
    assert run("record", fuzz, tmp_path / "a.xz", 5, 3).returncode == 0
    done = run("compare", fuzz, tmp_path / "a.xz", 3)
    assert done.returncode == 0
    assert "a.xz: 3 of 3 programs are the same to the end" in done.stdout


def test_a_difference_is_printed_and_counted(fuzz: Path, tmp_path: Path) -> None:
    assert run("record", fuzz, tmp_path / "a.xz", 5, 2).returncode == 0
    fuzz.write_text(FUZZ.replace("number == 7", "number == 8 and seed == '6'"))
    done = run("compare", fuzz, tmp_path / "a.xz", 1)
    assert done.returncode == 1
    assert "5:    7 call() = 0 0 ------ 5; recorded: 1 0 ------ 5" in done.stdout
    assert "0 of 2 programs" in done.stdout


def test_a_program_is_made_as_short_as_it_can_be(fuzz: Path) -> None:
    done = run("shrink", fuzz, 5, 7)
    assert done.stdout.split("\n")[:-1] == ["   3 call() = 0 0 ------ 5", "   7 call() = 1 0 ------ 5", "end"]
    assert "2 calls: 3,7" in done.stderr


def test_what_both_need_stays(fuzz: Path) -> None:
    done = run("shrink", fuzz, 5, 7, 2, "other")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["3", "5", "7", "end"]


def test_a_part_of_a_file_is_refused(fuzz: Path, tmp_path: Path) -> None:
    assert run("record", fuzz, tmp_path / "a.xz", 5, 1).returncode == 0
    (tmp_path / "b.xz").write_bytes((tmp_path / "a.xz").read_bytes()[:-20])
    done = run("compare", fuzz, tmp_path / "b.xz", 0)
    assert done.returncode == 1
    assert "b.xz: not a file of answers, or only a part of one" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["record", "FUZZ", "new.xz", "x", "1"], "'x' is not a number"),
        (["record", "FUZZ", "new.xz", "1", "0"], "0 is too few"),
        (["record", "FUZZ", "nowhere/new.xz", "1", "1"], "nowhere/new.xz: No such file or directory"),
        (["compare", "FUZZ", "none.xz", "1"], "none.xz: No such file or directory"),
        (["shrink", "FUZZ", "1", "600"], "there is no call 600 in this program"),
    ],
)
def test_wrong_arguments_are_named(fuzz: Path, arguments: list[str], message: str) -> None:
    done = run(*[fuzz if argument == "FUZZ" else argument for argument in arguments])
    assert done.returncode
    assert message in done.stderr
    assert "Traceback" not in done.stderr
