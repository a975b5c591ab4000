"""spec/features.yaml itself: nothing that programs gate on is missing, and what is derived is what is known."""

from __future__ import annotations

import re
from functools import cache

import pytest

from generator import gates, ungated
from generator.bind import bind_all, load_libraries, served
from generator.gates import Gate


@cache
def real() -> dict[str, Gate]:
    libraries = load_libraries()
    spans = served(bind_all(libraries))
    found = gates.derive(gates.load(), libraries, spans)
    return {gate.id.removeprefix("ACU_FEATURE_"): gate for gate in found}


# What CUDA's release notes and documentation say: runtime since, driver since, number of the device attribute.
KNOWN = {
    "STREAM_ORDERED_ALLOCATION": (0, 11020, 115),
    "VIRTUAL_MEMORY": (0, 11000, 102),
    "CLUSTER_LAUNCH": (11080, 11080, 120),
    "LAUNCH_ATTRIBUTES": (11080, 11080, 0),
    "TENSOR_MAPS": (0, 12000, 127),
    "GRAPH_INSTANTIATE_PARAMS": (12000, 12000, 0),
    "MULTICAST": (0, 12010, 132),
    "GRAPH_NODE_PARAMS": (12020, 12020, 0),
    "GRAPH_CONDITIONAL_NODES": (12030, 12030, 0),
    "FABRIC_HANDLES": (0, 12030, 128),
    "KERNEL_PARAMETER_INFO": (12040, 12040, 0),
    "GREEN_CONTEXTS": (0, 12050, 0),
    "LIBRARIES": (12080, 12040, 0),
    "BATCH_COPIES": (12080, 12080, 0),
    "CHECKPOINTS": (0, 12080, 0),
    "EXECUTION_CONTEXTS": (13010, 13010, 0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_well_known_features(name: str) -> None:
    gate = real()[name]
    assert (gate.since, gate.driver, gate.attribute_number) == KNOWN[name]
    assert gate.until == gate.gone == 0


def test_features_that_went() -> None:
    assert (real()["TEXTURE_REFERENCES"].until, real()["TEXTURE_REFERENCES"].gone) == (11080, 12000)
    assert (real()["THREAD_FUNCTIONS"].until, real()["THREAD_FUNCTIONS"].gone) == (12090, 13000)


def test_the_runtime_and_the_driver_number_attributes_alike() -> None:
    """The driver is asked by the runtime's numbers: under each of them it must know the same words."""
    cuda = next(library for library in load_libraries() if library.name == "cuda")
    numbers = gates._values(cuda.newest, gates.ATTRIBUTES["cuda"])
    for gate in real().values():
        if gate.attribute.startswith("cudaDevAttr"):
            words = re.findall(r"[A-Z][a-z]+|[A-Z]+(?![a-z])", gate.attribute.removeprefix("cudaDevAttr"))
            names = [name for name, value in numbers.items() if value == gate.attribute_number]
            assert all(word[:3].upper() in "".join(names) for word in words), (gate.attribute, names)


def test_a_floor_is_the_version_that_its_source_names() -> None:
    for feature in gates.load():
        typedef = re.search(r"PFN_(\w+?)_v(\d+)$", feature.get("driver_floor", {}).get("source", ""))
        if typedef:
            version = int(typedef.group(2))
            assert feature["driver_floor"]["version"] == f"{version // 1000}.{version % 1000 // 10}"
            assert typedef.group(1) in (*feature.get("driver_functions", ()), *feature["functions"])


def test_everything_newer_has_a_feature_or_a_reason() -> None:
    """What came after the oldest toolkit is what programs must gate on (test_ungated.py has the rules)."""
    ungated.check(gates.FEATURES, load_libraries())
