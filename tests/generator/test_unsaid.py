"""What only a person knows of a new function or struct is asked for by name, on made-up headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator import unsaid
from generator.bind import load_libraries
from generator.errors import GeneratorError
from generator.spec import Parameters, Spec
from tests.generator.madeup import library

FLAGS = "\n#define madeHostPortable 1\n#define madeHostMapped 2\n"


def check(folder: Path, header: str, said: str = "quirks: {}") -> list[str]:
    """What is asked about toolkits of which the newer one has this header."""
    made = library(folder, {"1.0": "made_error_t madeOld(void);", "2.0": header, "3.0": header})
    file = folder / "made.yaml"
    file.write_text(said)
    try:
        unsaid.check(Parameters.load(file), made)
    except GeneratorError as error:
        assert error.at is not None
        return [line.partition(": ")[2] for line in str(error).splitlines()]
    return []


@pytest.mark.parametrize(
    ("header", "question", "answer"),
    [
        (
            "made_error_t madeName(char *name, int size);",
            "madeName.name is a buffer of text: say its length",
            "functions: {madeName: {name: {length: size}}}",
        ),
        (
            "made_error_t madeOpen(unsigned int flags);",
            "madeOpen.flags is a set of flags: say which bits it has",
            "functions: {madeOpen: {flags: {flags: none}}}",
        ),
        (
            "made_error_t madeGet(unsigned int *pFlags);",
            "madeGet.pFlags is a set of flags: say which bits it has",
            "functions: {madeGet: {pFlags: {flags: none}}}",
        ),
        (
            "made_error_t madeAdd(const int *nodes, size_t numNodes);",
            "madeAdd.numNodes counts the elements of an array: say of which",
            "functions: {madeAdd: {nodes: {length: numNodes}}}",
        ),
        (
            "struct made_node { int type; union { int i; float f; }; };",
            "made_node: nothing says when f, i is meant",
            "records: {made_node: {unions: [{by: type, members: {i: [madeI]}, otherwise: f}]}}",
        ),
        (
            "struct made_node { int type; union { int i; float f; } value; };",
            "made_node: nothing says when value.i is meant",
            "records: {made_node: {unions: [{by: type, at: value, members: {f: [madeF]}}]}}",
        ),
        (
            "struct made_node { int type; int reserved[3]; };",
            "made_node.reserved is reserved, or padding, or opaque: say which",
            "records: {made_node: {reserved: [reserved]}}",
        ),
        (
            FLAGS + "#define madeHostNew 4\n",
            "madeHostNew looks like one of the flags `host`: add it, or name it in `not_flags`",
            "{flags: {host: [madeHostPortable, madeHostMapped]}, not_flags: {It is made up here: [madeHostNew]}}",
        ),
    ],
)
def test_each_question_is_asked_until_it_is_answered(tmp_path: Path, header: str, question: str, answer: str) -> None:
    before = "quirks: {}"
    if "madeHost" in header:
        before = "flags: {host: [madeHostPortable, madeHostMapped]}"
    if "value.i" in question:
        before = answer
        answer = answer.replace("{f: [madeF]}", "{f: [madeF], i: [madeI]}")
    assert check(tmp_path, header, before) == [question]
    assert check(tmp_path, header, answer) == []


@pytest.mark.parametrize(
    "header",
    [
        "made_error_t madeName(const char *name);",
        "enum made_flags { madeFlag = 1 }; made_error_t madeOpen(enum made_flags flags);",
        "made_error_t madeAdd(int numBlocks);",
        "made_error_t madeCount(size_t *numNodes);",
        "union made_value { int i; };",
    ],
)
def test_what_the_header_says_is_not_asked(tmp_path: Path, header: str) -> None:
    assert check(tmp_path, header) == []


@pytest.mark.parametrize("name", ["cudart", "cuda"])
def test_nothing_is_open_now(name: str) -> None:
    found = next(library for library in load_libraries() if library.name == name)
    unsaid.check(Spec().parameters(name), found)
