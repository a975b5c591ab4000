from __future__ import annotations

from pathlib import Path

import pytest

from tests.compile.toolchain import Library, build_library


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all the processes of this test run share."""
    base = tmp_path_factory.getbasetemp()
    return (base if worker_id == "master" else base.parent) / "compile"


@pytest.fixture(scope="session")
def library(shared_folder: Path) -> Library:
    return build_library(shared_folder / "release")
