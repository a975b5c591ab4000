"""Facts on disk: each toolkit is a change to the one before it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from generator import facts, yamlfile
from generator.errors import GeneratorError
from generator.facts import Facts

OLD: Facts = {
    "functions": {"a": {"returns": "int", "params": [["x", "int"]]}, "b": {"returns": "int", "params": []}},
    "macros": {"VERSION": {"value": "1"}},
    "soname": "lib.so.1",
}
NEW: Facts = {
    "functions": {"a": {"returns": "int", "params": [["x", "long"]], "deprecated": True}, "c": {"returns": "void"}},
    "macros": {"VERSION": {"value": "2"}},
    "soname": "lib.so.2",
    "headers": ["a.h"],
}


def test_a_difference_applied_gives_the_newer_facts() -> None:
    patch = facts.difference(OLD, NEW)
    assert patch["functions"]["b"] is None, "what is gone is named"
    assert patch["functions"]["a"] == {"params": [["x", "long"]], "deprecated": True}, "what stays is not"
    assert facts.merge(OLD, patch) == NEW
    assert facts.merge(NEW, facts.difference(NEW, OLD)) == OLD
    assert facts.difference(NEW, NEW) == {}


def test_merging_changes_neither_argument() -> None:
    before = json.dumps(OLD)
    patch = facts.difference(OLD, NEW)
    facts.merge(OLD, patch)["functions"]["a"]["params"] = []
    assert json.dumps(OLD) == before
    assert facts.merge(OLD, patch) == NEW


def test_written_facts_are_read_again(tmp_path: Path) -> None:
    written = {"1.9": OLD, "1.10": NEW, "2.0": OLD}
    assert len(facts.write_all(tmp_path, written)) == 3
    found = facts.read_all(tmp_path)
    assert list(found) == ["1.9", "1.10", "2.0"], "versions are numbers, not text"
    assert found == written
    assert facts.write_all(tmp_path, written) == []


def test_one_line_an_entry(tmp_path: Path) -> None:
    facts.write_all(tmp_path, {"1.0": OLD})
    lines = (tmp_path / "1.0.json").read_text().splitlines()
    assert '  "a": {"returns": "int", "params": [["x", "int"]]},' in lines


def test_a_dry_run_names_what_differs_and_writes_nothing(tmp_path: Path) -> None:
    facts.write_all(tmp_path, {"1.0": OLD, "1.1": NEW})
    before = (tmp_path / "1.1.json").read_bytes()
    assert facts.write_all(tmp_path, {"1.0": OLD, "1.1": OLD}, dry=True) == [tmp_path / "1.1.json"]
    assert facts.write_all(tmp_path, {"1.0": OLD}, dry=True) == [tmp_path / "1.1.json"]
    assert (tmp_path / "1.1.json").read_bytes() == before


@pytest.mark.parametrize("library", ["cudart", "cuda"])
def test_the_newest_toolkit_is_one_file_and_touches_no_other(library: str, tmp_path: Path) -> None:
    committed = yamlfile.SPEC / "facts" / library
    known = facts.read_all(committed)
    newest = list(known)[-1]
    facts.write_all(tmp_path, known)
    older = {toolkit: known[toolkit] for toolkit in known if toolkit != newest}
    assert facts.write_all(tmp_path, older) == [tmp_path / f"{newest}.json"]
    assert not (tmp_path / f"{newest}.json").exists()
    assert facts.write_all(tmp_path, known) == [tmp_path / f"{newest}.json"]
    for file in sorted(committed.iterdir()):
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name


def test_a_toolkit_missing_in_between_is_an_error(tmp_path: Path) -> None:
    facts.write_all(tmp_path, {"1.0": OLD, "1.1": NEW, "1.2": OLD})
    (tmp_path / "1.1.json").unlink()
    with pytest.raises(GeneratorError, match=r"1\.2\.json: is a change to another toolkit than the one before it"):
        facts.read_all(tmp_path)


def test_broken_json_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "1.0.json").write_text('{\n"after": "",\n"functions": {\n')
    with pytest.raises(GeneratorError, match=r"1\.0\.json:\d: not JSON"):
        facts.read_all(tmp_path)


def test_no_facts_say_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match="make toolkits"):
        facts.read_all(tmp_path)
