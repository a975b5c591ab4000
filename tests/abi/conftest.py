"""What the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import GeneratorError
from generator.fetch import Toolkits

from . import spy_build as build


@pytest.fixture(scope="session")
def toolkits() -> Toolkits:
    found = Toolkits.load()
    try:
        for version in build.VERSIONS:
            found[version].libcudart()
    except GeneratorError as problem:
        pytest.skip(f"the toolkits are not at hand: {problem}")
    return found


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory, toolkits: Toolkits) -> build.Bench:
    made = build.Bench(tmp_path_factory.mktemp("spies"), build.ROOT / "generated")
    made.driver()
    return made


@pytest.fixture(scope="session")
def spies_built(bench: build.Bench, toolkits: Toolkits) -> dict[str, Path]:
    return bench.build_spies(toolkits, build.VERSIONS)
