"""Every function of the C headers can be reached from the C++ ones, which call it: read without the generator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tools import structure

HEADERS = structure.ROOT / "include" / "anycuda"
GENERATED = structure.ROOT / "generated" / "include" / "anycuda"
SPEC = structure.ROOT / "spec" / "cxx.yaml"


def declared(header: Path) -> set[str]:
    """The functions and function-like macros that a C header describes, and what ends a scope."""
    text = header.read_text()
    described = r"/\*\*(?:(?!\*/).)*\*/\s*(?:#define (acu_\w+)\(|[^;#{=/]*?\b(acu_\w+)\()"
    found = {match[1] or match[2] for match in re.finditer(described, text, re.S)}
    found |= set(re.findall(r"\b(acu_\w+_cleanup)\(", text))
    typedefs = set(re.findall(r"typedef [^;{]*?\b(acu_\w+)\(", text))
    return found - typedefs


def called() -> set[str]:
    """What the C++ headers call, or give to acu::owner, which calls it."""
    files = [*GENERATED.glob("*.hpp"), HEADERS / "cxx.hpp"]
    code = "\n".join(re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read_text(), flags=re.S) for file in files)
    return set(re.findall(r"\bacu_\w+(?=\()", code)) | set(re.findall(r"\bacu_\w+_(?:release|cleanup)(?=[,>])", code))


def test_nothing_is_dropped() -> None:
    without = yaml.safe_load(SPEC.read_text())["without"]
    reached = called()
    # A short form is the function that it calls, which takes the type of the elements from its argument.
    reached |= {name.removesuffix("_typed") for name in reached}
    missing = {}
    for header in sorted(HEADERS.glob("*.h")):
        if header.name not in without and (lacking := declared(header) - reached):
            missing[header.name] = sorted(lacking)
    if missing:
        pytest.fail(f"not in C++; run `make generate`: {missing}", pytrace=False)


def parameters(text: str) -> list[tuple[str, list[str]]]:
    """The functions that a C++ header declares, each with its parameters: "const acu_node *after"."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    found = re.findall(r"(\w+)\(((?:[^();{}]|\([^()]*\))*)\)(?: const)?(?=;)", code)
    return [(name, [one.strip() for one in re.sub(r"\s+", " ", inside).split(",")]) for name, inside in found]


# An array beside its count: of anycuda's own type, or of what a template or C has a type for. Memory has none.
ARRAY = re.compile(r"(const )?(?!void\b)\w+ \*(?!pointer$|host$)\w+")
COUNT = re.compile(r"(size_t|unsigned|int) \*?(\w+_)?(count|size)( = .*)?")


def unlike_cxx(text: str) -> set[str]:
    """The functions that take an array as C does: a pointer, and the count that follows it."""
    return {
        name
        for name, taken in parameters(text)
        for at, one in enumerate(taken)
        if re.match(r"size_t \*|const acu_\w+ \*\w+s$", one)
        or (at and COUNT.fullmatch(one) and ARRAY.fullmatch(taken[at - 1]))
    }


def test_arrays_are_spans() -> None:
    files = sorted(GENERATED.glob("*.hpp"))
    assert sum(len(parameters(file.read_text())) for file in files) > 900
    assert {file.name: found for file in files if (found := unlike_cxx(file.read_text()))} == {}


@pytest.mark.parametrize(
    "declared",
    [
        "result<> get_edges(acu_node *from, acu_node *to, acu_edge *edges, size_t *count) const;",
        "result<> remove(const acu_node *from,\n    const acu_edge *edges, size_t count) const;",
        "result<acu::node> add_node(span<const acu_node> after, const acu_edge *edges, void *params) const;",
        "static result<size_t> log_read(acu_log_position *from, char *text, size_t size);",
        "result<> add(const T *elements, unsigned element_count, stream_ref on = nullptr);",
    ],
)
def test_an_array_as_in_c_is_found(declared: str) -> None:
    assert unlike_cxx(f"class x {{\n    /** Says (what) it does. */\n    {declared}\n}};")


def test_the_headers_are_read() -> None:
    found = declared(HEADERS / "buffer.h") | declared(HEADERS / "launch.h") | declared(HEADERS / "block.h")
    assert {"acu_buffer_create", "acu_buffer_write", "acu_buffer_cleanup", "acu_launch", "acu_in"} <= found
    assert len(set().union(*map(declared, HEADERS.glob("*.h")))) > 500


def test_reasons_are_of_headers() -> None:
    without = yaml.safe_load(SPEC.read_text())["without"]
    assert all((HEADERS / name).exists() for name in without)
