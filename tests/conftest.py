"""What tests of several folders share: the library built and installed, the order of tests, figures at the end."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.compile.toolchain import ROOT, Library, build_library, works

# As the Makefile has it: the tools of .venv, and Ninja where there is one.
os.environ["PATH"] = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
os.environ["CMAKE_GENERATOR"] = "Ninja" if shutil.which("ninja") else "Unix Makefiles"

# Groups of tests and tests that take long. They begin first, so that no worker is left with one of them at the end.
LONG = ("address", "thread", "consumer", "spies", "test_link_time_optimisation")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Moves the long tests to the front; `--no-loadscope-reorder` keeps this order."""

    def rank(item: pytest.Item) -> int:
        marker = item.get_closest_marker("xdist_group")
        name = marker.args[0] if marker else getattr(item, "originalname", item.name)
        return LONG.index(name) if name in LONG else len(LONG)

    items.sort(key=rank)


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
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all the processes of this test run share."""
    base = tmp_path_factory.getbasetemp()
    return (base if worker_id == "master" else base.parent) / "shared"


@pytest.fixture(scope="session")
def library(shared_folder: Path) -> Library:
    """The release build, which is made once for all tests: in shared_folder / "release"."""
    return build_library(shared_folder / "release")


@pytest.fixture(scope="session")
def prefix(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed tree that was moved after installing: nothing in it may know where it was made."""
    folder = tmp_path_factory.mktemp("installed")
    works(["cmake", "--install", library.archive.parent, "--prefix", folder / "first"])
    (folder / "first").rename(folder / "moved")
    return folder / "moved"
