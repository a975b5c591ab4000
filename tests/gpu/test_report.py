"""The report's own logic, with a script in the place of the smoke test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench import ratios
from tests.gpu import suites

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


CONFORMANCE = """#!/bin/sh
case $ANYCUDA_CUDART in sim) got=1 on=pass why=;; *) got=0 on=skip why='it is not an H100';; esac
printf 'about\\tx\\t13000\\t13000\\t1\\t1000\\n' >>$2
printf 'check\\tcopy\\tno_bytes\\t1\\t7\\tpass\\t%s\\tcudaMemcpy()\\n' $got >>$2
printf 'case\\tcopy\\tno_bytes\\tpass\\t\\ncase\\tcopy\\trows\\tskip\\tneeds CUDA 13.1\\n' >>$2
printf "case\\tattributes\\ta\\t$on\\t$why\\ncase\\tattributes\\tb\\t$on\\t$why\\n" >>$2
"""
CMOCKA = """#!/bin/sh
echo '[       OK ] fine'
echo '[  SKIPPED ] elsewhere'
echo 'ERROR: a call is 1: it failed; libcudart 12.9 (/x)'
echo '[  FAILED  ] broken'
exit 1
"""


INJECT = """#!/bin/sh
case $1 in --list) echo pools streams;; pools) echo '[       OK ] pools';; *) echo "[  FAILED  ] $1"; exit 1;; esac
"""


RUNTIME = """#!/bin/sh
case $0.$ANYCUDA_CUDART in
    */suite.*) echo 'ok copy.a'; echo 'skip copy.b: one device'; echo 'FAIL copy.c: copy.c:7: 1 is not 2'; exit 1;;
    *13.0*) echo "on cuda: a GPU"; echo "$1 seeds from 1 on cuda: 0 differ";;
    *) echo "seed 7: call 3 differs"; exit 1;;
esac
"""


def test_suites_are_told(toolkits: Path, tmp_path: Path) -> None:
    for name, script in (("conformance", CONFORMANCE), ("tests/stream", CMOCKA)):
        program = tmp_path / "programs" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(script)
        program.chmod(0o755)
    runtimes = [(version, toolkits / version / "lib/libcudart.so.1") for version in ("12.9", "13.0")]
    (tmp_path / "programs/tests/inject").write_text(INJECT)
    (tmp_path / "programs/tests/inject").chmod(0o755)
    for name in ("suite", "random"):
        program = tmp_path / "programs/runtime" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(RUNTIME)
        program.chmod(0o755)
    lines, good = suites.everything(tmp_path / "programs", runtimes)
    assert not good
    assert "- `suite cuda`: copy.c: copy.c:7: 1 is not 2, on all" in lines
    assert "- `suite cuda`: copy.b, on all" in lines
    assert "- `random 200 1 cuda`: exit status 1, after: seed 7: call 3 differs, on 12.9" in lines
    assert "| 13.0 | 4 | 201 | 1 | 1 |" in lines  # of -2 and -t this script says no number
    assert "| 13.0 | 1 | 0 | 3 | 1 | 1 |" in lines
    assert "- `copy.no_bytes`: `cudaMemcpy()`: 0, simulator 1, on all" in lines
    assert "- 2 of `attributes`: skip, simulator pass: it is not an H100, on all" in lines
    assert "| 12.9 | 1 | 1 | 1 | 1 |" in lines
    assert "- `stream`: broken: a call is 1: it failed, on all" in lines
    assert "- `stream`: elsewhere, on all" in lines
    assert "Not run: there are none; they need cmocka where they are compiled." in lines
    assert "- `inject`: streams, on all" in lines
    assert suites.everything(tmp_path / "programs", runtimes, ["inject"])[0][1] == "## Injected errors"


def test_what_has_no_time_left_is_named(toolkits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = toolkits / "tests/stream"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    runtimes = [("13.0", toolkits / "13.0/lib/libcudart.so.1")]
    monkeypatch.setattr(suites, "TIMEOUT", 1)
    lines, good = suites.everything(toolkits, runtimes, ["tests"])
    assert not good
    assert "- `stream`: exit status 124, on all" in lines  # ended
    monkeypatch.setattr(suites, "DEADLINE", 0)
    lines, _ = suites.everything(toolkits, runtimes, ["tests"])
    assert "- `stream`: exit status 124: not run, no time was left, on all" in lines


def test_divides_what_both_have() -> None:
    real = ratios.middle([ratios.read("a\t10.0\t\nb\t1\t\n"), ratios.read("a\t30.0\t\n")])
    assert real == {"a": (20, 0)}
    rows = ratios.table(ratios.read("a\t50.0\t\ncopy\t2000000.0\t1800000.0\n"), real)[2:]
    assert rows == ["| a | 20 ns | 50 ns | 2.50 |  |", "| copy |  | 2.00 ms |  | 90% |"]


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, str(Path(__file__).with_name("report.py")), "smoke", str(tmp_path), "all"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "no part is called all; there are smoke, conformance, " in done.stderr
