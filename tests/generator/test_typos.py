"""A typo at each kind of place in spec/: one name in each is misspelt, and generation must say which, and where.

The places are found, not listed: a new key is tried as soon as a file has it. spec/toolkits.yaml is not here; its
names stand in package registries, and each file has its hash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from generator import codes, cxx, gates, groups, ptx, render, safe, simulator, ungated, verify
from generator.bind import load_libraries
from generator.errors import GeneratorError
from generator.model import Library
from generator.spec import Spec
from generator.yamlfile import SPEC, where

# What is prose, a name of anycuda's own, or held by another test, by the end of the place.
FREE = {
    "[].id": "a name of anycuda's own",
    "[].title": "prose",
    "*.title": "prose",
    "[].reason": "prose",
    "[].why": "prose",
    ".text": "prose",
    ".hint": "prose",
    ".*.*.*": "prose: the text of an error",
    "error_strings.yaml.*.*": "prose: what a GPU answered; tests/conformance compares some with the libraries",
    ".source": "prose; test_features.py holds the names of types in it",
    ".undiscriminated": "prose",
    ".product": "prose, in comments and messages",
    ".shipped": "a file, not a fact: extraction stops where the wheel lacks it",
    ".foreign.*:": "what other libraries export, of which there are no facts",
    ".foreign.*": "prose",
    ".compat_empty.*": "prose",
    ".not_flags.*:": "prose",
    ".renumbered.*:": "prose",
    ".left_out.*:": "prose",
    ".undeclared.*:": "prose",
    ".some": "prose",
    "[].enum": "a name of anycuda's own; test_safe_values.py compares it with the headers",
    "[].struct": "a name of anycuda's own, which a generated assertion uses",
    ".has.*:": "a name of anycuda's own, which a generated assertion uses",
    ".cxx.*[]": "C++, which is compiled",
    ".defines[]": "no header's fact: the headers are not read without it",
    "guards[]": "no fact: test_complete.py reads the headers",
    ".shared_guards.*": "no fact: test_complete.py reads the headers",
    ".compat.*:": "a header, not a fact: test_complete.py reads the headers",
    ".compat_with.*[]": "a header, not a fact: test_names.py compares what it declares",
    ".standard[]": "a header of the C library: test_names.py compares what it declares",
    ".version_alias": "no fact: test_names.py compares the names",
    ".cxx98.*:": "C++, which is compiled",
    ".cxx98.*": "C++, which is compiled",
    "[].patterns[]": "a pattern: extraction stops at a header that fits none, test_names.py at a name",
    "names[].headers[]": "a header, not a fact: test_names.py asks for each",
    "after.*:": "a header, not a fact: test_names.py compiles it",
    "after.*[]": "a header, not a fact: test_names.py compiles it",
    ".compat_empty.*:": "a header, not a fact: test_complete.py reads the headers",
    ".by_hand.*": "prose",
    ".without.*": "prose",
    "instructions[].form": "a spelling of PTX: tests/ptx/ has a GPU's answer for each",
    "instructions[].does": "C, which is compiled",
    ".does.*": "C, which is compiled",
    ".with.*:": "a name of the file's own: generation stops at a form that lacks it",
    ".with.*.*:": "a word of PTX: tests/ptx/ has a GPU's answer for each spelling",
    ".with.*.*": "C, which is compiled",
    ".with.*[]": "a word of PTX: tests/ptx/ has a GPU's answer for each spelling",
    ".let.*:": "C, which is compiled",
    "instructions[].opcode": "a word of PTX: test_ptx_coverage.py compares it with the forms",
    ".forms[].write": "PTX: ptxas and tests/ptx/cells.c read it",
    ".forms[].types[]": "PTX: ptxas and tests/ptx/cells.c read it",
    ".forms[].target": "PTX: ptxas and tests/ptx/cells.c read it",
    ".forms[].refused": "prose",
    ".let.*": "C, which is compiled",
}

# Where the name of something is given to it: who refers to it by the right name is at fault then.
DEFINED = {".flags.*:", ".constants.*:", ".values.*:", ".*:"}


Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Place = tuple[str, str, int, int]  # file, kind of place, and where the name begins and ends


def files() -> list[str]:
    return sorted(str(file.relative_to(SPEC)) for file in SPEC.rglob("*.yaml") if file.name != "toolkits.yaml")


@cache
def schema_of(file: str) -> dict[str, Any]:
    name = file.split("/")[0] if "/" in file else file.removesuffix(".yaml")
    schema: dict[str, Any] = json.loads((SPEC / "schema" / f"{name}.json").read_text(encoding="utf-8"))
    return schema


def forms(schema: Any, root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a schema says, its references followed."""
    if "$ref" in schema:
        yield from forms(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    yield schema
    for key in ("oneOf", "anyOf", "allOf"):
        for one in schema.get(key, ()):
            yield from forms(one, root)


def inside(schema: Any, key: str, root: dict[str, Any]) -> tuple[str, Any]:
    """What a key is called in the kind of a place (`*` where the key is a name), and the schema of its value."""
    known = list(forms(schema, root))
    for one in known:
        if key in one.get("properties", ()):
            return key, one["properties"][key]
    return "*", next((one["additionalProperties"] for one in known if one.get("additionalProperties")), {})


def places() -> Iterator[Place]:
    """The first name of each kind of place; the words that a schema knows as keys are its own matter."""
    seen: set[str] = set()
    for file in files():
        for kind, node in nodes(file):
            place = f"{Path(file).parts[0]}{kind}"
            own = kind.endswith(":") and not kind.endswith("*:")
            free = own or any(f"{file}{kind}".endswith(end) for end in FREE)
            if place not in seen and not free and node.tag == "tag:yaml.org,2002:str":
                seen.add(place)
                yield file, kind, node.start_mark.index, node.end_mark.index


def nodes(file: str) -> Iterator[tuple[str, Any]]:
    """Every key and every value of a file, each with the kind of its place."""
    root = schema_of(file)

    def walk(node: Any, path: str, schema: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                name, inner = inside(schema, key.value, root)
                yield f"{path}.{name}:", key
                yield from walk(value, f"{path}.{name}", inner)
        elif isinstance(node, yaml.SequenceNode):
            items: Any = next((one["items"] for one in forms(schema, root) if "items" in one), {})
            for value in node.value:
                yield from walk(value, f"{path}[]", items)
        else:
            yield path, node

    yield from walk(yaml.compose((SPEC / file).read_text(encoding="utf-8"), Loader), "", root)


@cache
def libraries() -> dict[str, Library]:
    return {library.name: library for library in load_libraries()}


def check(spec: Spec, file: str) -> None:
    """What generation compares a file with."""
    verify.names_of_libraries(spec)
    for name, library in libraries().items():
        if file == "libraries.yaml":
            verify.library_entry(spec.libraries[name], library)
        elif file == f"parameters/{name}.yaml":
            verify.parameters(spec.parameters(name), library, libraries()["cuda"] if name == "cudart" else None)
        elif file == "groups.yaml":
            groups.sort(groups.read(spec.groups, library), library.presented.functions, where(spec.groups, name))
        elif file == "errors.yaml":
            codes.read(spec.errors, library, spec.libraries[name]["result"])
        elif file == "error_strings.yaml":
            simulator.error_strings(spec, library)
        elif file == "simulator.yaml":
            simulator.entries(spec, library, [])
    if file == "decisions.yaml":
        verify.decisions(spec.decisions, libraries()["cudart"])
    elif file == "safe.yaml":
        safe.entries(spec, libraries()["cudart"], libraries()["cuda"])
    elif file == "features.yaml":
        gates.derive(gates.load(spec.features), libraries().values(), {})
        ungated.check(spec.features, libraries().values())
    elif file.startswith("ptx/"):
        ptx.load(spec.root / "ptx")
    elif file == "cxx.yaml":
        paths = ("include/anycuda/features.h", "include/anycuda/version.h")
        cxx.headers(spec, {path: (render.GENERATED / path).read_text(encoding="utf-8") for path in paths})


def misspelt(text: str) -> str:
    """The text with a letter more in its longest name, so that no other name comes out."""
    name = max(re.findall(r"\w+", text), key=len)
    at = text.index(name) + len(name) - 1
    return f"{text[:at]}q{text[at:]}"


@pytest.fixture
def spec(tmp_path: Path) -> Callable[[], Spec]:
    for file in (*files(), "facts"):
        copy = tmp_path / file
        copy.parent.mkdir(exist_ok=True)
        copy.symlink_to(SPEC / file)
    return lambda: Spec(tmp_path)


@pytest.mark.parametrize("file", files())
def test_without_a_typo_nothing_stops(spec: Callable[[], Spec], file: str) -> None:
    check(spec(), file)


@pytest.mark.parametrize("place", list(places()), ids=lambda place: f"{place[0]}{place[1]}")
def test_a_typo_is_named_with_its_line(spec: Callable[[], Spec], place: Place) -> None:
    file, kind, start, end = place
    path = spec().root / file
    text = path.read_text(encoding="utf-8")
    wrong = misspelt(text[start:end])
    path.unlink()
    path.write_text(text[:start] + wrong + text[end:], encoding="utf-8")
    with pytest.raises(GeneratorError) as caught:
        check(spec(), file)
    said = str(caught.value)
    word = next(name for name in re.findall(r"\w+", wrong) if name not in text[start:end])
    if kind in DEFINED:
        assert re.search(rf"\.yaml:\d+: .*`({text[start:end]}|{word})`", said)
    else:
        first = text[:start].rfind("  - function: ") if file == "decisions.yaml" else start
        lines = range(text[:first].count("\n") + 1, text[:start].count("\n") + 2)
        assert any(f"{file}:{line}: " in said for line in lines), said
        assert word in said


@pytest.mark.parametrize("schema", sorted((SPEC / "schema").glob("*.json")), ids=lambda schema: schema.stem)
def test_a_schema_knows_every_key_or_says_what_its_value_is(schema: Path) -> None:
    def walk(node: Any, path: str) -> None:
        if isinstance(node, dict):
            if node.get("type") == "object" or "properties" in node:
                assert "additionalProperties" in node, path
                assert node["additionalProperties"] is not True, path
            for key, value in node.items():
                if key not in ("if", "then"):
                    walk(value, f"{path}/{key}")
        elif isinstance(node, list):
            for index, value in enumerate(node):
                walk(value, f"{path}/{index}")

    walk(json.loads(schema.read_text(encoding="utf-8")), "")


def test_the_names_that_no_fact_holds_are_few() -> None:
    """A kind of place is left out by an end in FREE only, and each of these is in use."""
    kinds = {f"{file}{kind}" for file in files() for kind, _ in nodes(file)}
    assert [end for end in FREE if not any(kind.endswith(end) for kind in kinds)] == []
