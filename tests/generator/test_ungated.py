"""What a new toolkit brings has a feature or a reason, or generation stops and names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator import ungated
from generator.errors import GeneratorError
from generator.model import Library
from tests.generator.madeup import library

OLD = "made_error_t madeOld(void); enum made_kind { madeKindOld = 0 };"
FEATURES = "features:\n- {id: ACU_FEATURE_MADE, title: made up, functions: [madeOld]}\n"


def check(folder: Path, newer: str, ungated_list: str = "") -> list[str]:
    """What is said about toolkits 1.0, 2.0, which differs by `newer`, and 3.0, which has all of it still."""
    made = library(folder, {"1.0": OLD, "2.0": newer, "3.0": newer})
    return said_of(folder, made, ungated_list)


def said_of(folder: Path, made: Library, ungated_list: str = "") -> list[str]:
    file = folder / "features.yaml"
    file.write_text(FEATURES + (f"ungated:\n{ungated_list}" if ungated_list else ""))
    try:
        ungated.check(file, [made])
    except GeneratorError as error:
        assert error.at is not None
        return [line.partition(": ")[2] for line in str(error).splitlines()]
    return []


def test_a_newer_function_and_a_newer_enumerator_stop(tmp_path: Path) -> None:
    newer = "made_error_t madeOld(void); made_error_t madeNew(void); enum made_kind { madeKindOld, madeKindNew };"
    assert check(tmp_path, newer) == [
        "madeNew came with made 2.0: name it in the feature that it makes, or under `ungated` with the reason",
        "madeKindNew of made_kind came with made 2.0: name it in the feature that it makes,"
        " or under `ungated` with the reason",
    ]


@pytest.mark.parametrize("entry", ["enumerators: [madeKindNew]", "enums: [made_kind]"])
def test_a_reason_lets_it_pass(tmp_path: Path, entry: str) -> None:
    newer = "made_error_t madeOld(void); enum made_kind { madeKindOld, madeKindNew };"
    assert len(check(tmp_path, newer)) == 1
    assert check(tmp_path, newer, f"- {{reason: made up for a test, {entry}}}\n") == []


def test_a_value_that_came_with_its_enum_is_gated_by_what_takes_it(tmp_path: Path) -> None:
    assert check(tmp_path, OLD + "enum made_mode { madeModeFast, madeModeSlow };") == []


def test_a_value_that_came_after_its_newer_enum_is_not(tmp_path: Path) -> None:
    made = library(
        tmp_path,
        {
            "1.0": OLD,
            "2.0": OLD + "enum made_mode { madeModeFast };",
            "3.0": OLD + "enum made_mode { madeModeFast, madeModeSlow };",
        },
    )
    (said,) = said_of(tmp_path, made)
    assert said.startswith("madeModeSlow of made_mode came with made 3.0: ")


@pytest.mark.parametrize("name", ["madeKindReserved", "madeKindReserved7", "MADE_KIND_RESERVED_7"])
def test_what_is_reserved_makes_no_feature(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, f"made_error_t madeOld(void); enum made_kind {{ madeKindOld, {name} }};") == []


def test_a_second_version_that_went_is_what_the_name_means_now(tmp_path: Path) -> None:
    headers = {"1.0": OLD, "2.0": OLD + "made_error_t madeOld_v2(int a);", "3.0": OLD}
    assert said_of(tmp_path, library(tmp_path, headers)) == []


def test_a_second_version_that_stays_is_a_function_of_its_own(tmp_path: Path) -> None:
    (said,) = check(tmp_path, OLD + "made_error_t madeOld_v2(int a);")
    assert said.startswith("madeOld_v2 came with made 2.0: ")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("functions: [madeNw]", "none of the newer functions is `madeNw`; did you mean `madeNew`?"),
        ("functions: [madeOld]", "none of the newer functions is `madeOld`"),
        ("enumerators: [madeKindOld]", "none of the newer enumerators is `madeKindOld`"),
        ("enums: [made_kinds]", "none of the newer enums is `made_kinds`; did you mean `made_kind`?"),
    ],
)
def test_a_mistake_of_the_list_is_named(tmp_path: Path, entry: str, message: str) -> None:
    said = check(tmp_path, OLD + "made_error_t madeNew(void);", f"- {{reason: made up for a test, {entry}}}\n")
    assert said[0].startswith(message)


def test_what_stands_in_a_feature_needs_no_reason(tmp_path: Path) -> None:
    made = library(tmp_path, {"1.0": "enum made_kind { madeKindOld };", "2.0": OLD})
    said = said_of(tmp_path, made, "- {reason: made up for a test, functions: [madeOld]}\n")
    assert said == ["`madeOld` stands in a feature; remove it here"]
