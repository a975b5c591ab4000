"""The count at the end of `make test` must never be kinder than the tests were."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).resolve().parents[2] / "tools" / "run_tests.py"

# What a cmocka program prints; its own exit status is the number of failures.
CMOCKA = """\
[==========] Running 3 test(s).
[ RUN      ] good
[       OK ] good
[ RUN      ] unable
no driver here
[  SKIPPED ] unable
[ RUN      ] bad
[  FAILED  ] bad
[==========] 3 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] unable
[  FAILED  ] 1 test(s), listed below:
[  FAILED  ] bad
"""


def run(folder: Path, ctests: dict[str, str], pytests: str) -> tuple[int, list[str]]:
    lines = []
    for name, script in ctests.items():
        (folder / f"{name}.sh").write_text(script)
        lines.append(f"add_test({name} sh {folder / name}.sh)")
        lines.append(f"set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77 LABELS {name})")
    lines.append(f"add_test(missing {folder}/no-such-program)" if "missing" in str(folder) else "")
    (folder / "CTestTestfile.cmake").write_text("\n".join(lines) + "\n")
    (folder / "test_some.py").write_text(pytests)
    # The inner pytest must not take itself for a worker of the outer one.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "CTEST_"))}
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(folder)], check=False, capture_output=True, text=True, cwd=folder, env=env
    )
    return done.returncode, done.stdout.splitlines()


def test_passing_tests_are_added_up(tmp_path: Path) -> None:
    code, said = run(tmp_path, {"one": "exit 0"}, "def test_a(): pass\ndef test_b(): pass\n")
    assert said[-1] == "3 passed, 0 failed, 0 skipped"
    assert code == 0


def test_what_takes_long_is_left_out_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ctests = {"one": "exit 0", "long": "exit 1"}
    monkeypatch.delenv("ANYCUDA_TEST_ALL", raising=False)
    code, said = run(tmp_path, ctests, "def test_a(): pass\n")
    assert said[-1] == "2 passed, 0 failed, 0 skipped"
    assert "  1 C tests that take long: `make test-all` runs them" in said
    assert code == 0
    monkeypatch.setenv("ANYCUDA_TEST_ALL", "1")
    code, said = run(tmp_path, ctests, "def test_a(): pass\n")
    assert said[-1] == "2 passed, 1 failed, 0 skipped"
    assert code == 1


def test_cases_skips_and_failures_of_both_are_counted(tmp_path: Path) -> None:
    ctests = {
        "cases": f"cat <<'EOF'\n{CMOCKA}EOF\nexit 1\n",
        "skipped": "echo there is no GPU; exit 77",
        "broken": "exit 3",
    }
    code, said = run(tmp_path, ctests, "import pytest\ndef test_a(): assert 0\ndef test_b(): pytest.skip('no clang')\n")
    assert said[-1] == "1 passed, 3 failed, 3 skipped"
    assert code == 1
    reasons = said[said.index("Skipped:") + 1 :][:3]
    assert [reason.split(": ", 1)[1] for reason in reasons] == ["there is no GPU", "no clang", "no driver here"]


def test_a_program_that_dies_after_its_cases_fails(tmp_path: Path) -> None:
    printed = CMOCKA.replace("FAILED", "PASSED")
    code, said = run(tmp_path, {"dies": f"cat <<'EOF'\n{printed}EOF\nkill -ABRT $$\n"}, "def test_a(): pass\n")
    assert said[-1] == "3 passed, 1 failed, 1 skipped"
    assert code == 1


def test_a_missing_program_and_an_unreadable_test_file_fail(tmp_path: Path) -> None:
    folder = tmp_path / "missing"
    folder.mkdir()
    code, said = run(folder, {"one": "exit 0"}, "this is no Python\n")
    assert said[-1] == "1 passed, 2 failed, 0 skipped"
    assert code == 1
