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


def test_the_headers_are_read() -> None:
    found = declared(HEADERS / "buffer.h") | declared(HEADERS / "launch.h") | declared(HEADERS / "block.h")
    assert {"acu_buffer_create", "acu_buffer_write", "acu_buffer_cleanup", "acu_launch", "acu_in"} <= found
    assert len(set().union(*map(declared, HEADERS.glob("*.h")))) > 500


def test_reasons_are_of_headers() -> None:
    without = yaml.safe_load(SPEC.read_text())["without"]
    assert all((HEADERS / name).exists() for name in without)
