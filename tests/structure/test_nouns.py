"""Nothing that the simulator keeps is forgotten where it is taken back and counted."""

from __future__ import annotations

import re

from tools.structure import ROOT

SOURCES = {path: path.read_text() for path in sorted((ROOT / "src" / "sim").rglob("*.c"))}
TABLE = ROOT / "src" / "sim" / "entry" / "nouns.c"


def rows(text: str) -> list[str]:
    """The nouns whose rows the source defines."""
    return re.findall(r"^const acu_sim_noun (\w+) =", text, re.MULTILINE)


def test_each_row_is_once_in_the_table() -> None:
    defined = [row for text in SOURCES.values() for row in rows(text)]
    assert sorted(re.findall(r"&(\w+),", TABLE.read_text())) == sorted(defined)
    assert len(defined) > 20


def test_a_file_that_keeps_a_list_has_a_row() -> None:
    """What is in a list outlives the call that put it there: acu_sim_reset() must empty the list."""
    kept = re.compile(r"^static \w+ \*\w+s;", re.MULTILINE)
    lists = [path for path, text in SOURCES.items() if kept.search(text)]
    assert len(lists) > 15
    assert [str(path.relative_to(ROOT)) for path in lists if not rows(SOURCES[path])] == []
