"""spec/parameters/*.yaml against the facts: it names nothing that no toolkit has, and leaves nothing out
that generation needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from generator import facts as facts_module
from generator import yamlfile

SPEC = Path(__file__).resolve().parents[2] / "spec"
LIBRARIES = ("cudart", "cuda")

Facts = dict[str, Any]

INTEGER = re.compile(r"(unsigned )?(char|short|int|long|long long)|size_t|u?int\d+_t")


@cache
def facts_of(library: str) -> list[Facts]:
    """The facts of every toolkit, oldest first."""
    return list(facts_module.read_all(SPEC / "facts" / library).values())


@cache
def spec_of(library: str) -> dict[str, Any]:
    path = SPEC / "parameters" / f"{library}.yaml"
    return yamlfile.load(path)


def signatures(library: str) -> Iterator[tuple[str, dict[str, str], Facts]]:
    """Each distinct signature of each function, with the facts that resolve its types."""
    seen = set()
    for facts in facts_of(library):
        for name, function in facts["functions"].items():
            params = {param[0]: param[1] for param in function["params"]}
            key = (name, tuple(params.items()))
            if key not in seen:
                seen.add(key)
                yield name, params, facts


def names(library: str, kind: str) -> set[str]:
    return {name for facts in facts_of(library) for name in facts[kind]}


def enumerators(library: str) -> set[str]:
    return {value for facts in facts_of(library) for enum in facts["enums"].values() for value in enum["values"]}


def resolved(spelling: str, facts: Facts) -> str:
    """A type without its outer const and with its typedefs followed."""
    spelling = re.sub(r"^(const |volatile )+", "", spelling).strip()
    seen = set()
    while spelling in facts["typedefs"] and spelling not in seen:
        seen.add(spelling)
        spelling = re.sub(r"^(const |volatile )+", "", facts["typedefs"][spelling]["type"]).strip()
    return spelling


def record_named(spelling: str, facts: Facts) -> str | None:
    """The tag of the struct or union that a type is, if it is one whose members are known."""
    tag = re.sub(r"^(struct|union) ", "", resolved(spelling, facts))
    return tag if tag in facts["records"] else None


def written_record(spelling: str, facts: Facts) -> bool:
    """Whether a type is a non-const pointer to a struct or union."""
    if not spelling.endswith("*"):
        return False
    target = spelling[:-1].rstrip()
    return not target.startswith("const ") and not target.endswith("*") and record_named(target, facts) is not None


def pointer(spelling: str, facts: Facts) -> bool:
    return resolved(spelling, facts).endswith(("*", "*const"))


def members(record: Facts, prefix: str = "") -> Iterator[tuple[str, Facts]]:
    """Every member by its path; those of anonymous members belong to the record itself."""
    for field in record["fields"]:
        path = f"{prefix}{field['name']}" if "name" in field else ""
        if path:
            yield path, field
        if "record" in field:
            yield from members(field["record"], f"{path}." if path else prefix)


def records_of(library: str, name: str) -> list[tuple[Facts, Facts]]:
    """The layouts of a record, each with its toolkit's facts; oldest first."""
    return [(facts["records"][name], facts) for facts in facts_of(library) if name in facts["records"]]


libraries = pytest.mark.parametrize(
    "library", [name for name in LIBRARIES if (SPEC / "parameters" / f"{name}.yaml").exists()]
)


@libraries
def test_the_schema_accepts_it(library: str) -> None:
    schema = json.loads((SPEC / "schema" / "parameters.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(spec_of(library))


@libraries
@pytest.mark.parametrize("version", ["12.4", "12040", "CUDA 13", "since"])
def test_the_schema_refuses_a_typed_version(library: str, version: str) -> None:
    schema = json.loads((SPEC / "schema" / "parameters.json").read_text(encoding="utf-8"))
    document = {**spec_of(library), "functions": {"cudaFree": {"devPtr": {"since": version}}}}
    assert not jsonschema.Draft202012Validator(schema).is_valid(document)


@libraries
def test_every_function_exists(library: str) -> None:
    spec = spec_of(library)
    known = names(library, "functions")
    for section in ("functions", "results", "quirks"):
        assert set(spec[section]) <= known, section


@libraries
def test_every_parameter_exists_and_what_it_names_stands_beside_it(library: str) -> None:
    by_name: dict[str, list[set[str]]] = {}
    for name, params, _ in signatures(library):
        by_name.setdefault(name, []).append(set(params))
    for name, entries in spec_of(library)["functions"].items():
        for param, entry in entries.items():
            having = [params for params in by_name[name] if param in params]
            assert having, f"{name} never had a parameter {param}"
            for other in siblings(entry):
                assert any(other in params for params in having), f"{name}: {param} names {other}"


def siblings(entry: dict[str, Any]) -> Iterator[str]:
    yield from (entry[key] for key in ("length", "target_length", "tag", "tags", "bytes") if key in entry)
    yield from entry.get("elements", {}).get("divide", ())


@libraries
def test_every_struct_that_may_be_written_has_a_direction(library: str) -> None:
    entries = spec_of(library)["functions"]
    missing = [
        f"{name}({param})"
        for name, params, facts in signatures(library)
        for param, spelling in params.items()
        if written_record(spelling, facts) and "direction" not in entries.get(name, {}).get(param, {})
    ]
    assert missing == []


@libraries
def test_only_pointers_have_directions_and_only_integers_flags(library: str) -> None:
    entries = spec_of(library)["functions"]
    for name, params, facts in signatures(library):
        for param, entry in entries.get(name, {}).items():
            if param not in params:
                continue
            kind = resolved(params[param].removesuffix("*").strip(), facts)
            if {"direction", "length", "target_length", "type", "value_of"} & set(entry):
                assert pointer(params[param], facts), f"{name}({param}) is a {kind}"
            if {"flags", "enum"} & set(entry):
                assert INTEGER.fullmatch(kind), f"{name}({param}) is a {kind}"
            if entry.get("direction") in ("out", "inout"):
                assert not params[param].startswith("const ") or params[param].endswith("**"), (
                    f"{name}({param}) is const"
                )


@libraries
def test_every_named_set_exists_and_is_used(library: str) -> None:
    spec = spec_of(library)
    used: dict[str, set[str]] = {"flags": set(), "enum": set(), "value_of": set()}
    entries = [entry for params in spec_of(library)["functions"].values() for entry in params.values()]
    entries += [entry for record in spec["records"].values() for entry in record.get("fields", {}).values()]
    for entry in entries:
        for key in used:
            if key in entry:
                used[key].add(entry[key])
    assert used["flags"] == set(spec["flags"])
    assert used["value_of"] == set(spec["values"])
    assert used["enum"] - set(spec["constants"]) <= names(library, "enums")
    assert set(spec["constants"]) <= used["enum"]


@libraries
def test_every_flag_constant_and_value_exists(library: str) -> None:
    spec = spec_of(library)
    constants = enumerators(library) | names(library, "macros")
    for name, bits in {**spec["flags"], **spec["constants"]}.items():
        if isinstance(bits, str):
            assert bits in names(library, "enums"), name
        else:
            assert set(bits) <= constants, name
    for name, special in spec["handles"].items():
        assert name in names(library, "typedefs")
        for macro, value in special.items():
            assert {int(text, 0) for text in macro_numbers(library, macro)} == {value}
    for results in spec["results"].values():
        assert set(results) <= enumerators(library)
    for name, values in spec["values"].items():
        assert set(values["types"]) <= enumerators_of(library, values["enum"]), name


def macro_numbers(library: str, macro: str) -> set[str]:
    """The number in each toolkit's definition of a macro: 0x1 of ((cudaStream_t)0x1)."""
    texts = {facts["macros"][macro]["value"] for facts in facts_of(library) if macro in facts["macros"]}
    return {match.group() for text in texts for match in [re.search(r"\b\d\w*", text)] if match}


def enumerators_of(library: str, enum: str) -> set[str]:
    found: set[str] = set()
    for facts in facts_of(library):
        tag = re.sub(r"^enum ", "", resolved(enum, facts))
        found |= set(facts["enums"].get(tag, {"values": {}})["values"])
    return found


@libraries
def test_every_record_and_field_exists(library: str) -> None:
    for name, entry in spec_of(library)["records"].items():
        layouts = records_of(library, name)
        assert layouts, name
        paths = {path for record, _ in layouts for path, _ in members(record)}
        for key in ("fields", "reserved", "padding", "opaque", "absent", "harmless", "attributes"):
            assert set(entry.get(key, ())) <= paths, f"{name}: {key}"
        for path, field in entry.get("fields", {}).items():
            prefix = path.rpartition(".")[0]
            for other in siblings(field):
                assert {other, f"{prefix}.{other}"} & paths, f"{name}.{path} names {other}"
        for union in entry.get("unions", ()):
            at = f"{union['at']}." if "at" in union else ""
            chosen = [*union["members"], *([union["otherwise"]] if "otherwise" in union else [])]
            assert {f"{at}{member}" for member in chosen} <= paths, name
            assert union["by"] in paths | {"argument"}, name


@libraries
def test_every_discriminator_is_an_enumerator_of_its_field(library: str) -> None:
    for name, entry in spec_of(library)["records"].items():
        for union in entry.get("unions", ()):
            # A discriminator that lies in the union is there with each member.
            members_of = {member: values for member, values in union["members"].items() if member != union["by"]}
            chosen = [value for values in members_of.values() for value in values]
            assert len(set(chosen)) == len(chosen), f"{name}: an enumerator chooses two members"
            possible: set[str] = set()
            for record, facts in records_of(library, name):
                fields = dict(members(record))
                if union["by"] in fields:
                    possible |= enumerators_of(library, resolved(fields[union["by"]]["type"], facts))
            if union["by"] == "argument":
                possible = enumerators(library) | names(library, "macros")
            assert set(chosen) <= possible, name


def test_every_device_property_that_a_layout_lacks_comes_from_an_attribute() -> None:
    entry = spec_of("cudart")["records"]["cudaDeviceProp"]
    layouts = [dict(members(record)) for record, _ in records_of("cudart", "cudaDeviceProp")]
    everywhere = set.intersection(*(set(fields) for fields in layouts))
    ever = set.union(*(set(fields) for fields in layouts))
    assert ever - everywhere - set(entry["attributes"]) - set(entry["reserved"]) == set()
    known = enumerators("cudart") | enumerators("cuda")
    for name, attributes in entry["attributes"].items():
        field = next(fields[name] for fields in layouts if name in fields)
        length = re.search(r"\[(\d+)\]", field["type"])
        attributes = [attributes] if isinstance(attributes, str) else attributes
        assert set(attributes) <= known, name
        assert len(attributes) == (int(length.group(1)) if length else 1), name


@libraries
def test_a_field_with_another_absent_value_is_newer_than_its_record(library: str) -> None:
    for name, entry in spec_of(library)["records"].items():
        layouts = [dict(members(record)) for record, _ in records_of(library, name)]
        for path in (*entry.get("absent", ()), *entry.get("harmless", ())):
            assert any(path not in fields for fields in layouts), f"{name}.{path} is in every layout"
        assert set(entry.get("harmless", {}).values()) <= enumerators(library)


@libraries
def test_the_names_of_functions_are_sorted_within_their_topic(library: str) -> None:
    text = (SPEC / "parameters" / f"{library}.yaml").read_text(encoding="utf-8")
    for topic in text.split("\n  # ---- ")[1:]:
        found = re.findall(r"^  (\w+):", topic.split("\nrecords:")[0], re.MULTILINE)
        assert found == sorted(found), topic.partition("\n")[0]
