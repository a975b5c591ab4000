"""Nothing that the simulator keeps is forgotten where it is taken back and counted."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tools.structure import ROOT

SOURCES = {
    str(path.relative_to(ROOT)): path.read_text() for path in sorted((ROOT / "src" / "sim").rglob("*.c"))
}  # by their paths
TABLE = "src/sim/entry/nouns.c"
EMPTIED = {  # by others, or not at all, with the reason
    "src/sim/memory/graphics_object.c": "another API's objects outlive a reset, and the program destroys them",
    "src/sim/memory/pinned_block.c": "a block goes with the last memory in it",
    "src/sim/memory/running.c": "a thread goes when it ends",
    "src/sim/stream/stream_thread.c": "a thread that has no stream serves the next one, also after a reset",
}


def rows(text: str) -> list[str]:
    """The nouns whose rows the source defines."""
    return re.findall(r"^const acu_sim_noun (\w+) =", text, re.MULTILINE)


def mistakes(sources: dict[str, str], table: str) -> list[str]:
    """How the table and the rows of the sources differ."""
    defined = {row: file for file, text in sources.items() for row in rows(text)}
    listed = Counter(re.findall(r"&(\w+),", table))
    return [
        *(f"{TABLE} lacks {row} of {defined[row]}" for row in sorted(defined.keys() - listed.keys())),
        *(f"{TABLE} lists {row}, which no source defines" for row in sorted(listed.keys() - defined.keys())),
        *(f"{TABLE} lists {row} {count} times" for row, count in sorted(listed.items()) if count > 1),
    ]


def test_each_row_is_once_in_the_table() -> None:
    wrong = mistakes(SOURCES, SOURCES[TABLE])
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
    assert sum(len(rows(text)) for text in SOURCES.values()) > 20


def test_a_mistake_in_the_table_is_a_sentence() -> None:
    sources = {f"{name}.c": f"const acu_sim_noun {name} = {{\n" for name in "abc"}
    assert mistakes(sources, "&a, &c, &c, &d,") == [
        f"{TABLE} lacks b of b.c",
        f"{TABLE} lists d, which no source defines",
        f"{TABLE} lists c 2 times",
    ]


def test_a_file_that_keeps_a_list_has_a_row() -> None:
    """What is in a list outlives the call that put it there: acu_sim_reset() must empty the list."""
    kept = re.compile(r"^static \w+ \*(\w+s);", re.MULTILINE)
    lists = {file: found[1] for file, text in SOURCES.items() if (found := kept.search(text))}
    assert len(lists) > 15
    wrong = [
        f"{file} keeps the list `{name}` without a row: define an acu_sim_noun there, and name it in {TABLE}"
        for file, name in lists.items()
        if not rows(SOURCES[file]) and file not in EMPTIED
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
