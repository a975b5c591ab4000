"""The comparison's own logic, with scripts in the place of the program and of ncu."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu import profile_ncu

SCRIPT = Path(__file__).with_name("profile_ncu.py")
NCU_ROW = '"0","1","stand-in","127.0.0.1","coalesced","1","7","Command line profiler metrics","{}","","{}"'
# Of each count a value of its own: the sum of two counters is 4.
SIMULATED = {member: 2.0 * len(counters) for member, (counters, _) in profile_ncu.COUNTERS.items()}


def csv_of(value: str) -> str:
    head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Section Name"'
    rows = ["==PROF== Connected to process 1", f'{head},"Metric Name","Metric Unit","Metric Value"']
    for counters, _ in profile_ncu.COUNTERS.values():
        rows += [NCU_ROW.format(counter, value) for counter in counters]
    return "\n".join(rows)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Writes a profile where ANYCUDA_SIM says so."""
    profile = json.dumps({"version": 1, "kernels": [{"kernel": "coalesced", **SIMULATED}]})
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\necho '{profile}' > \"${{ANYCUDA_SIM#profile=}}\"\n")
    path.chmod(0o755)
    return path


def run(program: Path, printed: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    ncu = program.with_name("ncu")
    ncu.write_text(f"#!/bin/sh\ncat <<'EOF'\n{printed}\nEOF\nexit {status}\n")
    ncu.chmod(0o755)
    return subprocess.run([sys.executable, SCRIPT, program, ncu], check=False, capture_output=True, text=True)


def test_equal_counts(program: Path) -> None:
    done = run(program, csv_of("2"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "coalesced            load_sectors                        2            2 same\n" in done.stdout
    assert "coalesced            atomic_requests                     4            4 same\n" in done.stdout
    assert "coalesced            occupancy                         200            2\n" in done.stdout
    assert "0 counts differ" in done.stdout


def test_counts_that_differ(program: Path) -> None:
    done = run(program, csv_of("1,002"))
    assert done.returncode == 1
    assert "coalesced            load_sectors                        2         1002 DIFFERS\n" in done.stdout
    assert "coalesced            branches                            2         1002\n" in done.stdout
    assert f"{sum(same for _, same in profile_ncu.COUNTERS.values())} counts differ" in done.stdout


def test_a_counter_that_the_gpu_has_not(program: Path) -> None:
    done = run(program, csv_of("n/a"))
    assert done.returncode == 1
    assert "coalesced            load_sectors                        2          n/a DIFFERS\n" in done.stdout


def test_no_permission(program: Path) -> None:
    done = run(program, "==ERROR== ERR_NVGPUCTRPERM", status=1)
    assert done.returncode == 77
    assert "ncu could not read the counters" in done.stdout


def test_no_ncu(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, program], env={"PATH": "/nonexistent"}, check=False, capture_output=True, text=True
    )
    assert done.returncode == 77
    assert "there is no ncu" in done.stdout
