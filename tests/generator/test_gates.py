"""Gates: what is derived from made-up headers, and that each mistake is named with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from generator import gates, render
from generator.bind import load_libraries
from generator.errors import GeneratorError
from generator.gates import Gate
from generator.model import Library

# ---- made-up libraries


def facts(functions: str, **enums: dict[str, int]) -> dict[str, Any]:
    declared = {name: {"params": [], "returns": "int", "header": "made.h"} for name in functions.split()}
    return {
        "symbols": dict.fromkeys(declared, "T"),
        "functions": declared,
        "enums": {name: {"header": "made.h", "values": values} for name, values in enums.items()},
        **{key: {} for key in ("records", "typedefs", "macros")},
    }


def runtime() -> Library:
    old = {"cudaDevAttrShape": 7, "cudaDevAttrAlien": 99}
    new = {"cudaKindOld": 0, "cudaKindNew": 1}
    return Library(
        "cudart",
        {
            "11.7": facts("cudaOld cudaGone", cudaDeviceAttr=old, cudaKind={"cudaKindOld": 0}),
            "12.0": facts("cudaOld cudaShape", cudaDeviceAttr=old, cudaKind={"cudaKindOld": 0}),
            "12.4": facts("cudaOld cudaShape cudaShapeFill", cudaDeviceAttr=old, cudaKind=new),
        },
    )


def driver() -> Library:
    new = {"CU_DEVICE_ATTRIBUTE_MOVED": 6, "CU_DEVICE_ATTRIBUTE_SHAPE": 7}
    return Library(
        "cuda",
        {
            "11.7": facts("cuOld", CUdevice_attribute={"CU_DEVICE_ATTRIBUTE_MOVED": 5}),
            "12.0": facts("cuOld cuShape", CUdevice_attribute=new),
            "12.4": facts("cuOld cuShape cuShapeFill", CUdevice_attribute=new, CUkind={"CU_KIND_NEW": 1}),
        },
    )


def derive(folder: Path, *features: str, served: dict[str, gates.Span] | None = None) -> list[Gate]:
    """Each feature is the text after its id and title, which are lines 2 and 3 of the file, 10 and 11 and so on."""
    file = folder / "features.yaml"
    text = "features:\n"
    for index, feature in enumerate(features):
        lines = [f"- id: ACU_FEATURE_{chr(65 + index)}", f"  title: feature {index}"]
        lines += [f"  {line}" for line in feature.splitlines()]
        text += "\n".join([*lines, *[""] * (8 - len(lines))]) + "\n"
    file.write_text(text)
    return gates.derive(gates.load(file), [runtime(), driver()], served or {})


def one(folder: Path, feature: str, served: dict[str, gates.Span] | None = None) -> Gate:
    return derive(folder, feature, served=served)[0]


# ---- what is derived


def test_what_the_oldest_header_has_needs_nothing(tmp_path: Path) -> None:
    gate = one(tmp_path, "functions: [cudaOld]\ndriver_functions: [cuOld]")
    assert (gate.since, gate.until, gate.driver, gate.attribute) == (0, 0, 0, "")
    assert gate.needs == "every CUDA"


def test_since_is_that_of_the_newest_part(tmp_path: Path) -> None:
    assert one(tmp_path, "functions: [cudaOld, cudaShape]").since == 12000
    assert one(tmp_path, "functions: [cudaShapeFill, cudaShape]").since == 12040
    assert one(tmp_path, "functions: [cudaShape]\nenumerators: [cudaKindNew]").since == 12040
    assert one(tmp_path, "enumerators: [cudaKindOld]").since == 0


def test_until_is_that_of_the_first_part_that_goes(tmp_path: Path) -> None:
    gate = one(tmp_path, "functions: [cudaOld, cudaGone]")
    assert (gate.since, gate.until, gate.gone) == (0, 11070, 12000)
    assert gate.needs == "until CUDA 11.7"


def test_an_adapter_serves_what_a_header_lacks(tmp_path: Path) -> None:
    served = {"cudaShape": (11080, 0), "cudaGone": (0, 0)}
    gate = one(tmp_path, "functions: [cudaShape, cudaGone]", served)
    assert (gate.since, gate.until, gate.gone) == (11080, 0, 0)


def test_the_driver_floor_is_the_newest_of_its_parts(tmp_path: Path) -> None:
    assert one(tmp_path, "functions: [cudaOld]\ndriver_functions: [cuOld, cuShape]").driver == 12000
    assert one(tmp_path, "functions: [cudaOld]\ndriver_enumerators: [CU_KIND_NEW]").driver == 12040


def test_a_typed_floor_stands_where_no_header_says_it(tmp_path: Path) -> None:
    floor = 'driver_floor: {version: "11.2", source: "the documentation"}'
    assert one(tmp_path, f"functions: [cudaOld]\ndriver_functions: [cuOld]\n{floor}").driver == 11020
    assert one(tmp_path, f"functions: [cudaOld]\n{floor}").driver == 11020


def test_a_feature_of_the_driver_has_its_version_as_floor(tmp_path: Path) -> None:
    gate = one(tmp_path, "functions: [cuShape, cuShapeFill]")
    assert (gate.library, gate.since, gate.until, gate.driver) == ("cuda", 0, 0, 12040)
    assert one(tmp_path, "enumerators: [CU_KIND_NEW]").driver == 12040


def test_attributes_are_numbered_as_the_newest_header_does(tmp_path: Path) -> None:
    gate = one(tmp_path, "functions: [cudaOld]\nattribute: cudaDevAttrShape")
    assert (gate.attribute, gate.attribute_number) == ("cudaDevAttrShape", 7)
    assert one(tmp_path, "functions: [cuOld]\nattribute: CU_DEVICE_ATTRIBUTE_MOVED").attribute_number == 6


def test_compute_capability(tmp_path: Path) -> None:
    gate = one(tmp_path, 'functions: [cudaOld]\ncompute_capability: {at_least: "9.0", source: "the documentation"}')
    assert gate.compute_capability == 90
    assert gate.needs == "compute capability 9.0"


def test_messages_know_the_driver_s_functions_by_their_symbols() -> None:
    features = gates.by_function(gates.load(), load_libraries())
    assert features["cudaGraphConditionalHandleCreate"].title == "graph conditional nodes"
    assert features["cuGraphConditionalHandleCreate"].title == "graph conditional nodes"
    assert features["cuMemAdvise"].title == "memory locations on host NUMA nodes"  # written as cuMemAdvise_v2


def test_refusals_name_the_feature() -> None:
    source = render.render()["src/cudart.c"]
    assert 'feature_cudaGraphConditionalHandleCreate[] = "graph conditional nodes"' in source


# ---- mistakes

MISTAKES = {
    "unknown function": (
        "functions:\n  - cudaOld\n  - cudaShapeFil",
        6,
        "no toolkit has the function `cudaShapeFil`; did you mean cudaShapeFill?",
    ),
    "unknown enumerator": (
        "enumerators: [cudaKindNwe]",
        4,
        "no toolkit has the enumerator `cudaKindNwe`; did you mean cudaKindNew?",
    ),
    "unknown driver function": (
        "functions: [cudaOld]\ndriver_functions: [cuNever]",
        5,
        "cuda has no function `cuNever`",
    ),
    "unknown driver enumerator": (
        "functions: [cudaOld]\ndriver_enumerators: [CU_NEVER]",
        5,
        "cuda has no enumerator `CU_NEVER`",
    ),
    "unknown attribute": (
        "functions: [cudaOld]\nattribute: cudaDevAttrShapes",
        5,
        "there is no device attribute `cudaDevAttrShapes`; did you mean cudaDevAttrShape?",
    ),
    "not the driver's attribute": (
        "functions: [cudaOld]\nattribute: cudaDevAttrAlien",
        5,
        "the driver API has no device attribute 99, which is cudaDevAttrAlien",
    ),
    "two libraries": (
        "functions: [cudaOld, cuOld]",
        2,
        "ACU_FEATURE_A is made by more than one library: cuOld of cuda, cudaOld of cudart",
    ),
    "never there": ("functions: [cudaGone, cudaShape]", 2, "ACU_FEATURE_A is in no version"),
    "a floor that differs": (
        'functions: [cudaOld]\ndriver_functions: [cuShape]\ndriver_floor:\n  version: "11.8"\n  source: its manual',
        7,
        "the headers say that the driver must be 12.0; 11.8 must not be typed here",
    ),
    "a floor above the headers": (
        'functions: [cudaOld]\ndriver_functions: [cuOld]\ndriver_floor: {version: "12.0", source: "the documentation"}',
        6,
        "cuda.h of 11.7 has all of it",
    ),
    "a floor without a source": (
        'functions: [cudaOld]\ndriver_floor: {version: "11.2"}',
        5,
        "'source' is a required property",
    ),
    "a typed version": ('functions: [cudaOld]\nsince: "12.3"', 5, "unknown key `since`"),
    "a version as attribute": ('functions: [cudaOld]\nattribute: "12.3"', 5, "attribute: '12.3' does not match"),
    "wrong type": ("functions: cudaOld", 4, "'cudaOld' is not of type 'array'"),
    "nothing to gate on": ("attribute: cudaDevAttrShape", 2, "ACU_FEATURE_A names no function and no enumerator"),
    "twice in one feature": ("functions: [cudaOld, cudaOld]", 4, "has non-unique elements"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_name_file_and_line(tmp_path: Path, mistake: str) -> None:
    feature, line, message = MISTAKES[mistake]
    with pytest.raises(GeneratorError) as caught:
        one(tmp_path, feature)
    assert f"features.yaml:{line}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_function_stands_in_one_feature(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match=r":12: `cudaOld` stands in ACU_FEATURE_A already \(.*:4\)"):
        derive(tmp_path, "functions: [cudaOld]", "functions: [cudaOld]")


@pytest.mark.parametrize("key", ["id", "title"])
def test_ids_and_titles_are_unique(tmp_path: Path, key: str) -> None:
    derive(tmp_path, "functions: [cudaOld]", "functions: [cudaShape]")
    file = tmp_path / "features.yaml"
    second, first, line = {"id": ("ACU_FEATURE_B", "ACU_FEATURE_A", 10), "title": ("feature 1", "feature 0", 11)}[key]
    file.write_text(file.read_text().replace(second, first))
    with pytest.raises(GeneratorError, match=rf"features\.yaml:{line}: `{first}` stands in ACU_FEATURE_A already"):
        gates.load(file)
