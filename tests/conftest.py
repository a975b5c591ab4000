"""Sums up what single tests count, so that the figures stand at the end of the run; and the library as installed."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A test says `record_property("count: layout assertions", 1234)`; properties reach us from workers too."""
    totals: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name.startswith("count: "):
                totals[name.removeprefix("count: ")] += value
    for name, total in sorted(totals.items()):
        terminalreporter.write_line(f"{total:,} {name}")


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed tree that was moved after installing: nothing in it may know where it was made.

    Who takes it belongs to the group "consumer", so that one worker builds it once.
    """
    folder = tmp_path_factory.mktemp("installed")
    for step in (
        ["-S", ROOT, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Debug"],
        ["--build", folder / "build", "--parallel", "2"],
        ["--install", folder / "build", "--prefix", folder / "first"],
    ):
        done = subprocess.run(
            ["cmake", *map(str, step)], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert done.returncode == 0, done.stdout
    (folder / "first").rename(folder / "moved")
    return folder / "moved"
