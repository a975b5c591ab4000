"""None of CUDA's attributes of launches, streams and kernel nodes is missing from the safe layer."""

from __future__ import annotations

import json
import re

import pytest

from generator.spec import Spec
from generator.yamlfile import ROOT

FACTS = ROOT / "spec" / "facts" / "cudart"
RAW = {"cudaLaunchAttributeDeviceUpdatableKernelNode"}  # by acu_grid.raw and acu_node_set_attribute() only


def names(beginning: str) -> set[str]:
    """The names of all toolkits' headers that begin so, as names of launch attributes."""
    found: set[str] = set()
    for file in FACTS.glob("*.json"):
        text = file.read_text()
        json.loads(text)
        found |= set(re.findall(rf'"{beginning}([A-Z]\w+)"', text))
    return {f"cudaLaunchAttribute{name}" for name in found}


def has(struct: str) -> dict[str, str]:
    """The fields of a struct of the safe layer, and the attributes that they stand for."""
    return next(dict(entry["has"]) for entry in Spec().safe if entry.get("struct") == struct)


@pytest.fixture(scope="module")
def launches() -> set[str]:
    return {*has("acu_grid").values(), *has("acu_grid_more").values()}


def test_streams() -> None:
    assert names("cudaStreamAttribute") - {"cudaLaunchAttributeValue"} <= set(has("acu_stream_info").values())
    assert len(names("cudaStreamAttribute")) >= 5


def test_kernel_nodes(launches: set[str]) -> None:
    assert names("cudaKernelNodeAttribute") - {"cudaLaunchAttributeValue"} - RAW <= launches
    assert len(names("cudaKernelNodeAttribute")) >= 9


def test_launches(launches: set[str]) -> None:
    """The rest says nothing, or is a stream's alone."""
    known = names("cudaLaunchAttribute") - {
        f"cudaLaunchAttribute{name}" for name in ("ID", "Value", "PortableClusterMode", "_st")
    }
    rest = {"cudaLaunchAttributeIgnore", "cudaLaunchAttributeSynchronizationPolicy"}
    assert known - launches == rest | RAW


def test_each_attribute_of_a_stream_can_be_set() -> None:
    header = (ROOT / "include" / "anycuda" / "stream.h").read_text()
    for field in has("acu_stream_info"):
        setter = {"window": "access_window"}.get(field, field)
        assert re.search(rf"\bacu_stream_set_{setter}\(", header), f"stream.h has no acu_stream_set_{setter}()"
