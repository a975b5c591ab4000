"""What NVIDIA's newest headers make visible, ours make visible, or spec/left_out.yaml says why not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from generator.spec import Spec
from tests.compile import names
from tests.compile.toolchain import COMPAT

# The first dialect of each language sees every header; the others, those that have text of their own for dialects.
EVERY = ("c11", "c++17")
MORE = ("c2x", "c++98", "c++11", "c++20")
LAYERED = ("cuda.h", "cuda_runtime.h", "cudaTypedefs.h", "nvrtc.h")


@cache
def listed() -> Any:
    return Spec().left_out


@cache
def replaced() -> tuple[str, ...]:
    return tuple(sorted(str(file.relative_to(COMPAT)) for file in COMPAT.rglob("*.h")))


def excused(name: str, header: str) -> bool:
    groups = (group for group in listed()["names"] if header in group.get("headers", [header]))
    return any(re.fullmatch(pattern, name) for group in groups for pattern in group["patterns"])


def lacking(header: str, dialect: str) -> list[str]:
    headers = (*listed()["after"].get(header, ()), header)
    theirs = names.visible(headers, dialect, names.nvidias())
    ours = names.visible(headers, dialect, names.ours())
    functions = {name.split("/")[0] for name in ours}
    # A macro that only maps a function's name to itself adds nothing to the function.
    return sorted(name for name in theirs - ours if not (name[0] == "#" and name[1:] in functions))


@cache
def not_compared() -> set[str]:
    """Headers that declare nothing for the host, and those that the newest toolkit does not have."""
    empty = {header for one in Spec().libraries.values() for header in one.get("compat_empty", ())}
    return empty | {h for h in replaced() if not any((folder / h).exists() for folder in names.nvidias())}


def cases() -> Iterator[tuple[str, str]]:
    for header in replaced():
        if header not in not_compared():
            yield from ((header, dialect) for dialect in EVERY)
    yield from ((header, dialect) for header in LAYERED for dialect in MORE)


@pytest.mark.parametrize(("header", "dialect"), list(cases()))
def test_every_name_of_nvidias_header_is_in_ours(header: str, dialect: str) -> None:
    missing = [name for name in lacking(header, dialect) if not excused(name, header)]
    assert not missing, (
        f"<{header}> in {dialect} lacks {' '.join(missing)}: add them, or the reason to spec/left_out.yaml"
    )


@pytest.mark.parametrize("dialect", ["c++98", "c++11", "c++17", "c++20"])
def test_every_overload_of_nvidias_header_is_in_ours(dialect: str) -> None:
    """A name and a number of arguments do not tell `cudaMalloc(T **, size_t)` from `cudaMalloc(void **, size_t)`."""
    theirs = names.overloads("cuda_runtime.h", dialect, names.nvidias())
    ours = names.overloads("cuda_runtime.h", dialect, names.ours())
    assert len(theirs) > 20
    assert {name: count for name, count in theirs.items() if count > ours.get(name, 0)} == {}


def test_every_entry_of_the_list_is_needed() -> None:
    lacked = {(name, header) for header, dialect in cases() for name in lacking(header, dialect)}
    for group in listed()["names"]:
        for pattern in group["patterns"]:
            allowed = group.get("headers")
            assert any(
                re.fullmatch(pattern, name) and (allowed is None or header in allowed) for name, header in lacked
            ), f"spec/left_out.yaml: nothing needs `{pattern}` any more; remove it"
