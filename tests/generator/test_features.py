"""spec/features.yaml against the facts: every name exists, and every floor that a header gives is derived."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from generator import facts as facts_module
from generator import yamlfile

SPEC = Path(__file__).resolve().parents[2] / "spec"
FEATURES: list[dict[str, Any]] = yamlfile.load(SPEC / "features.yaml", SPEC / "schema" / "features.json")["features"]

features = pytest.mark.parametrize("feature", FEATURES, ids=[feature["id"] for feature in FEATURES])


@cache
def first_seen(library: str, kind: str) -> dict[str, str]:
    """The toolkit in which each function or enumerator of a library first appears."""
    seen: dict[str, str] = {}
    for toolkit, facts in facts_module.read_all(SPEC / "facts" / library).items():
        if kind == "functions":
            found = list(facts["functions"])
        else:
            found = [name for enum in facts["enums"].values() for name in enum["values"]]
        for name in found:
            seen.setdefault(name, toolkit)
    return seen


def library_of(function: str) -> str:
    return "cudart" if function.startswith("cuda") else "nvrtc" if function.startswith("nvrtc") else "cuda"


@cache
def oldest(library: str) -> str:
    return next(iter(facts_module.read_all(SPEC / "facts" / library)))


@features
def test_every_name_exists(feature: dict[str, Any]) -> None:
    for name in (*feature.get("functions", ()), *feature.get("driver_functions", ())):
        assert name in first_seen(library_of(name), "functions"), name
    known = first_seen("cudart", "enumerators").keys() | first_seen("cuda", "enumerators").keys()
    for name in (*feature.get("enumerators", ()), *feature.get("driver_enumerators", ())):
        assert name in known, name
    if "attribute" in feature:
        assert feature["attribute"] in known


@features
def test_a_feature_belongs_to_one_library(feature: dict[str, Any]) -> None:
    assert len({library_of(name) for name in feature.get("functions", ())}) <= 1


@features
def test_a_driver_floor_is_typed_only_where_no_header_gives_it(feature: dict[str, Any]) -> None:
    if "driver_floor" not in feature:
        return
    floor = feature["driver_floor"]
    own = [name for name in feature.get("functions", ()) if library_of(name) == "cuda"]
    derived = [first_seen("cuda", "functions")[name] for name in (*feature.get("driver_functions", ()), *own)]
    assert set(derived) <= {oldest("cuda")}, "the headers give a newer floor"
    assert facts_module.version_key(floor["version"]) <= facts_module.version_key(oldest("cuda"))
    typedef = re.search(r"PFN_(\w+?)_v(\d+)$", floor["source"])
    if typedef:
        number = int(typedef.group(2))
        assert floor["version"] == f"{number // 1000}.{number % 1000 // 10}"
        assert typedef.group(1) in (*feature.get("driver_functions", ()), *feature.get("functions", ()))


def test_ids_and_titles_are_unique() -> None:
    for key in ("id", "title"):
        values = [feature[key] for feature in FEATURES]
        assert len(set(values)) == len(values)


def test_a_function_stands_in_one_feature() -> None:
    listed = [
        name for feature in FEATURES for key in ("functions", "driver_functions") for name in feature.get(key, ())
    ]
    assert sorted({name for name in listed if listed.count(name) > 1}) == []


def test_every_newer_function_of_the_runtime_has_a_feature() -> None:
    """What came after the oldest toolkit is what programs must gate on; a new toolkit's functions fail here."""
    listed = {name for feature in FEATURES for name in feature.get("functions", ())}
    newer = {name for name, toolkit in first_seen("cudart", "functions").items() if toolkit != oldest("cudart")}
    second_names = {name for name in newer if re.sub(r"_v\d+$", "", name) in first_seen("cudart", "functions")} - listed
    assert sorted(newer - listed - second_names) == []
