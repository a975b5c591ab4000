"""The report's own logic, with a script in the place of the smoke test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SMOKE = """#!/bin/sh
case $ANYCUDA_CUDART in *13.0*) sms=0;; *) sms=132;; esac
if [ -z "$1" ]; then
    printf 'about\\t%s\\t13000\\t13000\\n' "$ANYCUDA_CUDART"
    printf 'start\\tone\\nvalue\\tsms\\t%s\\npass\\tone\\tfine\\nstart\\ttwo\\n' $sms
    kill -SEGV $$
fi
printf 'start\\tthree\\npass\\tthree\\tafter %s\\n' "$1"
"""


@pytest.fixture
def toolkits(tmp_path: Path) -> Path:
    for version in ("12.9", "13.0"):
        folder = tmp_path / version / "lib"
        folder.mkdir(parents=True)
        (folder / "libcudart.so.1").touch()
    return tmp_path


def report(toolkits: Path, script: str) -> subprocess.CompletedProcess[str]:
    smoke = toolkits / "smoke"
    smoke.write_text(script)
    smoke.chmod(0o755)
    command = [sys.executable, str(Path(__file__).with_name("report.py")), str(smoke)]
    environment = {"PATH": "/usr/bin:/bin", "ANYCUDA_TOOLKITS": str(toolkits), "OUT": str(toolkits)}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)


def test_goes_on_after_a_crash_and_compares(toolkits: Path) -> None:
    done = report(toolkits, SMOKE)
    assert done.returncode == 1, done.stderr
    assert "| two | 12.9 | crash | " in done.stdout
    assert "| three | 13.0 | pass | after two |" in done.stdout
    assert "- `sms`: 132 on 12.9; 0 on 13.0" in done.stdout
    assert "0 of 2 runtimes pass; 1 values compared among them, 1 differ." in done.stdout
    assert (toolkits / "gpu.md").read_text() == done.stdout.removesuffix("\n")


def test_says_that_there_is_no_gpu(toolkits: Path) -> None:
    done = report(toolkits, "#!/bin/sh\necho 'no GPU: none'\nexit 77\n")
    assert (done.returncode, done.stdout) == (77, "skipped: no GPU: none\n")


def test_a_run_without_a_result_is_a_failure(toolkits: Path) -> None:
    assert report(toolkits, "#!/bin/sh\nexit 0\n").returncode == 1
