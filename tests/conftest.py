"""What tests of several folders share: the library built and installed, the order of tests, figures at the end."""

from __future__ import annotations

import gc
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.compile.toolchain import EVERYTHING, ROOT, Library, build_library, works

# The generator's tests hold hundreds of MiB, and looking for garbage among them took a third of their time.
gc.disable()

# As the Makefile has it: the tools of .venv, and Ninja where there is one.
os.environ["PATH"] = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
os.environ["CMAKE_GENERATOR"] = "Ninja" if shutil.which("ninja") else "Unix Makefiles"

# Tests that share what one of them builds run in one process. The longest groups stand first, since they begin first.
# A table, and not xdist's own groups: pytest 9.2 has no place for the marks that pytest-xdist 3.8 makes in names.
GROUPS = {
    "address": r"^tests/sanitize/.*(c_tests|safe_layer|real_libcudart)_",
    "thread": r"^tests/sanitize/.*many_threads",
    "consumer": r"^tests/(consumer/|tools/test_(demo|acu_info|acu_graph))",
    "spies": r"^tests/abi/test_(spies|aarch64)",
    "link time": r"test_link_time_optimisation",
    "real": r"^tests/real/",
    "names": r"^tests/compile/test_names",
}


def group_of(nodeid: str) -> str:
    """The group of a test; its own name if it is in none."""
    return next((group for group, pattern in GROUPS.items() if re.search(pattern, nodeid)), nodeid)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {group: rank for rank, group in enumerate(GROUPS)}
    items.sort(key=lambda item: ranks.get(group_of(item.nodeid), len(ranks)))
    for item in items:
        if not EVERYTHING and item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(reason="it takes long: `make test-all` runs it"))


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n 2 --dist=loadscope --no-loadscope-reorder`: by GROUPS, in their order."""
    return GroupScheduling(config, log) if config.getvalue("dist") == "loadscope" else None


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
    """The release build: that of `make test`, or one that is made once for all tests."""
    built = os.environ.get("ANYCUDA_BUILT")
    return Library(Path(built) / "libanycuda.a") if built else build_library(shared_folder / "release")


@pytest.fixture(scope="session")
def prefix(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed tree that was moved after installing: nothing in it may know where it was made."""
    folder = tmp_path_factory.mktemp("installed")
    works(["cmake", "--install", library.archive.parent, "--prefix", folder / "first"])
    (folder / "first").rename(folder / "moved")
    return folder / "moved"
