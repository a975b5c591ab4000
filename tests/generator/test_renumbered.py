"""A number that another toolkit has otherwise: a program passes the presented one, whatever is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator import verify
from generator.bind import load_libraries
from generator.errors import GeneratorError
from generator.model import Library
from generator.spec import Parameters, Spec
from tests.generator import madeup

KIND = "enum made_kind {{ madeHost = 0, madeTo = {to}, madeFrom = {back}, madeMax = {most} }};"
OLD = KIND.format(to=1, back=2, most=3)


def held(folder: Path, headers: dict[str, str], listed: str = "", presented: str | None = None) -> Library:
    """The library, after its numbers were compared."""
    made = madeup.library(folder, headers, presented)
    file = folder / "made.yaml"
    file.write_text(f"renumbered: {{{listed}}}\n")
    verify.renumbered(Parameters.load(file), made, "MADE_VERSION")
    return made


def stop(folder: Path, headers: dict[str, str], listed: str = "", presented: str | None = None) -> list[str]:
    with pytest.raises(GeneratorError) as caught:
        held(folder, headers, listed, presented)
    assert caught.value.at is not None
    return str(caught.value).splitlines()


def test_each_renumbered_enumerator_stops_by_name(tmp_path: Path) -> None:
    said = stop(tmp_path, {"1.0": OLD, "2.0": OLD, "3.0": KIND.format(to=7, back=8, most=3)})
    assert [line.partition(", and nothing")[0].partition(": ")[2] for line in said] == [
        "madeFrom is 8 in 3.0, but 2 in 2.0",
        "madeTo is 7 in 3.0, but 1 in 2.0",
    ]
    assert all("made.yaml:1: " in line and "name it under `renumbered` with the reason" in line for line in said)


def test_exchanged_numbers_stop(tmp_path: Path) -> None:
    assert len(stop(tmp_path, {"1.0": OLD, "2.0": KIND.format(to=2, back=1, most=3)})) == 2


def test_a_newer_toolkit_than_the_presented_one_is_compared_too(tmp_path: Path) -> None:
    (said,) = stop(tmp_path, {"1.0": OLD, "2.0": KIND.format(to=9, back=2, most=3)}, presented="1.0")
    assert "madeTo is 1 in 1.0, but 9 in 2.0" in said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#define madeBit 0x1", "#define madeBit 0x2"),
        ("#define madeHandle ((made_stream_t)0x1)", "#define madeHandle ((made_stream_t)0x2)"),
        ("enum made_bits { madeOne = 1 };\n#define madeBit madeOne", "#define madeBit 2"),
        ("enum made_bits { madeBit = 1 };", "#define madeBit 2u"),
    ],
)
def test_a_macro_is_held_to_the_same(tmp_path: Path, old: str, new: str) -> None:
    (said,) = stop(tmp_path, {"1.0": f"\n{old}\n", "2.0": f"\n{new}\n"})
    assert "madeBit is 2 in 2.0, but 1 in 1.0" in said or "madeHandle is " in said


def test_an_enumerator_that_became_a_macro_of_that_number_is_the_same(tmp_path: Path) -> None:
    new = "\nenum made_all { madeAllBit = 4 };\n#define madeBit madeAllBit\n#define MADE_VERSION 2\n"
    held(tmp_path, {"1.0": "\nenum made_bits { madeBit = 4 };\n#define MADE_VERSION 1\n", "2.0": new})


def test_what_is_listed_may_move(tmp_path: Path) -> None:
    headers = {"1.0": OLD, "2.0": KIND.format(to=1, back=2, most=4)}
    held(tmp_path, headers, "It counts the others: [madeMax]")
    assert len(stop(tmp_path, headers)) == 1


def test_a_name_may_take_over_what_its_second_version_meant(tmp_path: Path) -> None:
    headers = {
        "1.0": "enum made_attr { madeCan = 1, madeCan_v2 = 5 };",
        "2.0": "enum made_attr { madeCan_v1 = 1, madeCan = 5 };",
    }
    made = held(tmp_path, headers)
    assert made.enumerator_since("madeCan_v1") == 0  # the older library knows the number, by another name
    held(tmp_path, headers, presented="1.0")
    (said,) = stop(tmp_path, {**headers, "3.0": "enum made_attr { madeCan = 6 };"})
    assert "madeCan is 6 in 3.0, but 1 in 1.0 and 5 in 2.0" in said


def test_what_is_listed_must_exist(tmp_path: Path) -> None:
    file = tmp_path / "cudart.yaml"
    file.write_text("renumbered:\n  It counts the others:\n    - cudaDevAttrMaxx\n")
    runtime = next(library for library in load_libraries() if library.name == "cudart")
    with pytest.raises(GeneratorError, match="cudaDevAttrMaxx`; did you mean `cudaDevAttrMax`"):
        verify.parameters(Parameters.load(file), runtime)


@pytest.mark.parametrize("library", load_libraries(), ids=lambda library: library.name)
def test_the_toolkits_differ_in_what_is_listed_only(library: Library) -> None:
    verify.renumbered(Spec().parameters(library.name), library, Spec().libraries[library.name].get("version_macro", ""))


@pytest.mark.parametrize("name", ["CAN_USE_64_BIT_STREAM_MEM_OPS", "CAN_USE_STREAM_WAIT_VALUE_NOR"])
def test_the_renumbered_attributes_of_the_driver_mean_one_thing_to_every_driver(name: str) -> None:
    """12.0 gave the name to the number of its _V2, as it gave cuStreamWaitValue64 to the symbol of its _v2."""
    driver = next(library for library in load_libraries() if library.name == "cuda")
    attribute = f"CU_DEVICE_ATTRIBUTE_{name}"
    moved = {api.enumerators[attribute] for api in driver.apis}
    assert len(moved) == 2
    for api in driver.apis:
        passed = driver.presented.enumerators[attribute]
        meant = [one for one, value in api.enums["CUdevice_attribute_enum"].values.items() if value == passed]
        renamed = api.enumerators[attribute] == passed
        assert meant == [attribute if renamed else f"{attribute}_V2"], api.toolkit
        # The function that asks for the attribute is the second one in every driver, too.
        assert driver.presented.functions["cuStreamWaitValue64"].symbol == "cuStreamWaitValue64_v2"
        assert "cuStreamWaitValue64_v2" in api.symbols
    assert driver.enumerator_since(attribute) == driver.enumerator_since(f"{attribute}_V1") == 0
