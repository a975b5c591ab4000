"""Adding a toolkit: it comes back byte for byte after it was dropped, and each kind of change ends as it must."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from generator import bind as binding
from generator import extract, facts, render, report, yamlfile
from generator.changes import compare
from generator.errors import GeneratorError, Location
from generator.fetch import Toolkits
from generator.model import Library, dotted
from generator.slots import Bindings, Slot
from generator.spec import Spec
from generator.typesheet import since_macro

# ---- dropping the newest toolkit, and adding it again

Names = dict[str, set[str]]


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    shutil.copytree(yamlfile.SPEC, tmp_path / "spec")
    return Spec(tmp_path / "spec")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_toolkit_dropped_and_added_again_leaves_no_trace(spec: Spec, tmp_path: Path) -> None:
    committed, generated = tree(spec.root), tmp_path / "generated"
    before, newest = [toolkit.version for toolkit in Toolkits.load()][-2:]
    # make fetch --pin undone: the last entry of the file.
    pins = spec.root / "toolkits.yaml"
    pins.write_text(pins.read_text().partition(f'\n  - version: "{newest}"')[0])
    only_there = drop_facts(spec, newest)
    forget(spec, only_there)

    older = Spec(spec.root)
    render.write(render.all_outputs(spec=older), generated)
    assert f"as CUDA {before} declares it" in (generated / "include/anycuda/cudart.h").read_text()
    left = set(re.findall(r"\w+", "".join(file.read_text() for file in generated.rglob("*.[ch]"))))
    assert only_there[""]
    assert sorted(left & only_there[""]) == []

    for file, text in committed.items():
        if not file.startswith("facts/"):
            (spec.root / file).write_bytes(text)
    add_facts(spec, newest)
    assert tree(spec.root) == committed
    render.write(render.all_outputs(spec=Spec(spec.root)), generated)
    ours = {file: text for file, text in tree(yamlfile.ROOT / "generated").items() if file != "README.md"}
    assert tree(generated) == ours


def drop_facts(spec: Spec, toolkit: str) -> Names:
    """Writes the facts of all toolkits but one; returns what only that one has."""
    only: Names = {"": set()}
    for folder in spec.facts.iterdir():
        stored = facts.read_all(folder)
        if len(stored) > 1:
            removed = names(stored.pop(toolkit))
            left = [names(one) for one in stored.values()]
            for owner, members in removed.items():
                only.setdefault(owner, set()).update(members.difference(*(one.get(owner, ()) for one in left)))
            assert [file.name for file in facts.write_all(folder, stored)] == [f"{toolkit}.json"]
    return only


def names(of: facts.Facts) -> Names:
    """What users can write: under "" what stands alone, under a function or record its parameters or fields."""
    found = {"": {name for kind in ("functions", "records", "enums", "typedefs", "macros") for name in of[kind]}}
    found[""] |= {name for enum in of["enums"].values() for name in enum["values"]}
    found |= {name: {param[0] for param in entry["params"]} for name, entry in of["functions"].items()}
    return found | {name: set(fields(entry)) for name, entry in of["records"].items()}


def fields(record: facts.Facts) -> Iterator[str]:
    for field in record["fields"]:
        yield field.get("name", "")
        yield from fields(field["record"]) if "record" in field else ()


def forget(spec: Spec, only: Names) -> None:
    """Takes out of the hand-written files what speaks of the dropped toolkit, as if it had never been."""
    others = (spec.root / name for name in ("decisions.yaml", "groups.yaml", "features.yaml", "safe.yaml"))
    for file in (*(spec.root / "parameters").glob("*.yaml"), *others):
        file.write_text(json.dumps(without(yamlfile.load(file), only[""], only)))  # JSON is YAML


def without(node: Any, gone: set[str], only: Names) -> Any:
    """The document less what is called, or is left with nothing but, a name that is gone; None if that is all of it."""
    if isinstance(node, dict):
        kept = {
            key: without(value, gone | only.get(key, set()), only)
            for key, value in node.items()
            if not set(key.split(".")) & gone
        }
        subject = any(
            key in node and kept.get(key) is None for key in ("function", "functions", "enumerators", "enums")
        )
        left = {key: value for key, value in kept.items() if value is not None}
        return None if subject or (node and not left) else left
    if isinstance(node, list):
        items = [item for item in (without(item, gone, only) for item in node) if item is not None]
        return None if node and not items else items
    return None if node in gone else node


def add_facts(spec: Spec, toolkit: str) -> None:
    """Extracts the toolkits; where they are not fetched, takes what was extracted before."""
    try:
        _, changed = extract.update(spec)
    except GeneratorError as missing:
        print(f"not extracted: {missing}")
        changed = []
        for folder in spec.facts.iterdir():
            stored = facts.read_all(yamlfile.SPEC / "facts" / folder.name)
            changed += facts.write_all(folder, stored)
    assert {file.stem for file in changed} == {toolkit}


# ---- a made-up toolkit on top of the newest one


def madeup(**changes: Any) -> tuple[Library, str]:
    """The runtime with one toolkit more, which differs from the newest one by these changes (a merge patch)."""
    stored = known()
    newest = list(stored)[-1]
    major, minor = newest.split(".")
    toolkit = f"{major}.{int(minor) + 1}"
    return Library("cudart", {**stored, toolkit: facts.merge(stored[newest], changes)}), toolkit


@cache
def known() -> dict[str, facts.Facts]:
    return facts.read_all(yamlfile.SPEC / "facts" / "cudart")


@cache
def driver() -> Library:
    return next(library for library in binding.load_libraries() if library.name == "cuda")


def bind(library: Library) -> Bindings:
    return binding.bind(library, driver())


def newest_facts() -> facts.Facts:
    return copy.deepcopy(list(known().values())[-1])


def function(name: str, *params: list[str], like: str = "cudaMalloc") -> dict[str, Any]:
    """The facts of a new function, declared where another one is."""
    header = newest_facts()["functions"][like]["header"]
    return {
        "functions": {name: {"params": list(params), "returns": "cudaError_t", "header": header}},
        "symbols": {name: ""},
    }


def stop(library: Library) -> str:
    with pytest.raises(GeneratorError) as caught:
        bind(library)
    return str(caught.value)


@pytest.fixture(scope="module")
def changed() -> tuple[Bindings, dict[str, str], str, str]:
    """One toolkit with every change that needs no person: its bindings, their text, it, and the one before."""
    attributes = newest_facts()["records"]["cudaFuncAttributes"]
    fields = {field["name"]: field for field in attributes["fields"]}
    fields["numRegs"]["offset"], fields["ptxVersion"]["offset"] = (
        fields["ptxVersion"]["offset"],
        fields["numRegs"]["offset"],
    )
    longer = newest_facts()["records"]
    for name in ("cudaPointerAttributes", "cudaMemPoolProps"):
        longer[name]["fields"].append({"name": "added", "offset": longer[name]["size"], "type": "long", "size": 8})
        longer[name]["size"] += 8
    new = function("cudaFreeMadeUp", ["place", "int *"])
    library, toolkit = madeup(
        functions={**new["functions"], "cudaProfilerStop": None},
        symbols={**new["symbols"], "cudaProfilerStop": None},
        records={"cudaFuncAttributes": attributes}
        | {name: longer[name] for name in ("cudaPointerAttributes", "cudaMemPoolProps")},
        enums={"cudaMemoryType": {"values": {"cudaMemoryTypeMadeUp": 9}}},
    )
    no_features = yamlfile.Sequence(Location("none", 1))
    bindings = binding.bind_all([library, driver()], no_features)
    texts = render.sources(bindings[:1], no_features)
    return bindings[0], texts, toolkit, list(known())[-1]


Changed = tuple[Bindings, dict[str, str], str, str]


def part(text: str, name: str) -> str:
    """What src/cudart.c has of one function."""
    start = text.index(f"/* ---- {name} ---- */")
    return text[start : text.find("/* ---- ", start + 1)]


def slot(changed: Changed, name: str) -> tuple[Slot, str]:
    bindings, texts, _, _ = changed
    return next(one for one in bindings.slots if one.name == name), part(texts["src/cudart.c"], name)


def macro(toolkit: str) -> str:
    return since_macro(int(toolkit.split(".")[0]) * 1000 + int(toolkit.split(".")[1]) * 10)


def test_a_moved_field_goes_through_a_temporary(changed: Changed) -> None:
    found, text = slot(changed, "cudaFuncGetAttributes")
    assert [(struct.name, struct.mode) for adapter in found.adapters for struct in adapter.structs] == [
        ("attr", "copy")
    ]
    assert "loaded_attr" in text
    assert "acu_adapt_from_loaded(&acu_function_cudaFuncGetAttributes, 0, attr, &loaded_attr, 0);" in text
    # The toolkit that has the presented layout is called as it is.
    assert found.eras[-1].adapter is None
    assert found.eras[-2].adapter is not None


def test_an_appended_field_is_filled_or_checked(changed: Changed) -> None:
    found, text = slot(changed, "cudaPointerGetAttributes")
    assert "acu_adapt_fill(&acu_function_cudaPointerGetAttributes, 0, attributes, 1, 0);" in text
    assert "prefix" in {struct.mode for adapter in found.adapters for struct in adapter.structs}
    _, text = slot(changed, "cudaMemPoolCreate")
    assert "acu_adapt_check(&acu_function_cudaMemPoolCreate, 1, poolProps, 1, 0);" in text
    bindings, texts, toolkit, _ = changed
    mark = macro(toolkit).replace("ACU_SINCE", "ACU_FIELD_SINCE")
    assert texts["include/anycuda/cudart_types.h"].count(f"long added {mark};") == 2
    row = bindings.describer.types["acu_cudart_type_cudaMemPoolProps"]
    assert next(field.since for field in row.fields if field.name == "added") == bindings.presented.version


def test_a_removed_function_has_a_slot_with_until(changed: Changed) -> None:
    found, text = slot(changed, "cudaProfilerStop")
    _, texts, _, before = changed
    assert found.gone
    assert dotted(found.until) == before
    assert f".until = {found.until}," in text
    assert f"/** Gone: CUDA {before} is the last version that has it" in texts["include/anycuda/cudart.h"]
    assert found.eras[-1].symbol is None


def test_a_new_function_has_a_slot_with_since(changed: Changed) -> None:
    found, text = slot(changed, "cudaFreeMadeUp")
    bindings, texts, toolkit, _ = changed
    assert found.since == bindings.presented.version
    assert f".since = {found.since}," in text
    assert [era.symbol for era in found.eras] == [None, "cudaFreeMadeUp"]
    assert f"cudaFreeMadeUp(int *place) {macro(toolkit)};" in texts["include/anycuda/cudart.h"]


def test_a_new_enumerator_has_its_since_in_the_table(changed: Changed) -> None:
    bindings, texts, toolkit, _ = changed
    row = bindings.describer.types["acu_cudart_type_cudaMemoryType"]
    assert [value.since for value in row.values] == [0, 0, 0, 0, bindings.presented.version]
    assert f"cudaMemoryTypeMadeUp {macro(toolkit)} = 9," in texts["include/anycuda/cudart_types.h"]
    table = texts["src/cudart_abi.c"].partition("values_acu_cudart_type_cudaMemoryType[]")[2].partition("};")[0]
    assert re.search(rf"{{9, {bindings.presented.version}\}}, /\* cudaMemoryTypeMadeUp", table)


def test_a_changed_signature_stops_with_both_and_the_toolkit() -> None:
    params = [*newest_facts()["functions"]["cudaStreamQuery"]["params"], ["flags", "unsigned int"]]
    library, _ = madeup(functions={"cudaStreamQuery": {"params": params}})
    said = stop(library)
    assert "cudaStreamQuery on toolkit 11.7: no rule adapts it and spec/decisions.yaml does not answer" in said
    assert "presented: cudaStreamQuery(cudaStream_t, unsigned int)" in said
    assert "11.7: cudaStreamQuery(cudaStream_t)" in said


def test_exchanged_parameters_stop_although_the_types_are_the_same() -> None:
    (to, origin, *rest) = newest_facts()["functions"]["cudaMemcpy"]["params"]
    library, _ = madeup(functions={"cudaMemcpy": {"params": [[origin[0], to[1]], [to[0], origin[1]], *rest]}})
    assert "cudaMemcpy on toolkit 11.7" in (said := stop(library))
    assert "its parameters have another order" in said


def test_a_struct_that_may_be_written_stops_with_function_and_file() -> None:
    library, toolkit = madeup(**function("cudaFreeMadeUp", ["where", "struct cudaPointerAttributes *"]))
    said = stop(library)
    assert re.match(
        r"spec/parameters/cudart\.yaml:\d+: cudaFreeMadeUp\.where is a `struct cudaPointerAttributes \*`", said
    )
    assert f"say which ({toolkit}'s cuda_runtime_api.h declares it)" in said


def test_a_function_of_no_group_stops_with_its_name() -> None:
    library, _ = madeup(**function("cudaMadeUp", ["place", "int *"]))
    said = stop(library)
    assert re.match(r"spec/groups\.yaml:\d+: no group has cudaMadeUp: add each name to the group of its subject", said)


def test_the_report_says_what_is_new(changed: Changed) -> None:
    bindings, _, toolkit, before = changed
    library = bindings.library
    text = report.diff([compare("cudart", library.api(before), library.api(toolkit))])
    assert f"# From CUDA {before} to {toolkit}" in text
    for name in (
        "cudaFreeMadeUp",
        "cudaProfilerStop",
        "cudaFuncAttributes",
        "cudaMemoryTypeMadeUp",
        "cudaMemPoolProps",
    ):
        assert name in text
