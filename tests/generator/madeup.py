"""Small made-up headers, read the way that the toolkits' are."""

from __future__ import annotations

from pathlib import Path

from generator import extract
from generator.abi import Route, Router
from generator.facts import Facts
from generator.model import Library
from generator.spec import Parameters, load_decisions

# What CUDA's headers say before each declaration: C++ sees default arguments, C does not.
PREAMBLE = """
#include <stddef.h>
#if defined(__cplusplus)
#define __dv(v) = v
extern "C" {
#else
#define __dv(v)
#endif
typedef enum made_error { madeSuccess = 0 } made_error_t;
typedef struct made_stream *made_stream_t;
"""
POSTSCRIPT = """
#if defined(__cplusplus)
}
#endif
"""


def facts_of(folder: Path, toolkit: str, header: str) -> Facts:
    """What the extractor finds in one header."""
    include = folder / toolkit
    include.mkdir(parents=True, exist_ok=True)
    (include / "made.h").write_text(PREAMBLE + header + POSTSCRIPT)
    return extract.extract(extract.Source("made", toolkit, ("made.h",), (include,)))


def library(folder: Path, headers: dict[str, str], presented: str | None = None) -> Library:
    """A library whose toolkits have these headers."""
    return Library("made", {toolkit: facts_of(folder, toolkit, text) for toolkit, text in headers.items()}, presented)


def router(made: Library, folder: Path, decisions: str = "decisions: []") -> Router:
    file = folder / "decisions.yaml"
    file.write_text(decisions)
    return Router(made, Parameters.load(folder / "parameters.yaml"), load_decisions(file))


def routes(made: Library, folder: Path, name: str, decisions: str = "decisions: []") -> dict[str, Route]:
    """toolkit -> how the presented function of that name is reached there."""
    found = router(made, folder, decisions).routes(made.presented.functions[name], made.presented)
    return {route.api.toolkit: route for route in found}
