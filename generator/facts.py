"""Facts on disk: spec/facts/<library>/<toolkit>.json, each a JSON merge patch (RFC 7396) on the toolkit before it.

So adding a toolkit adds one file that says what changed, and nothing else moves.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import textfile
from .errors import GeneratorError

Facts = dict[str, Any]


def version_key(version: str) -> tuple[int, ...]:
    """Sorts "12.10" after "12.9"."""
    return tuple(int(part) for part in version.split("."))


def read_all(folder: Path) -> dict[str, Facts]:
    """The facts of every toolkit of one library, oldest first."""
    files = sorted(folder.glob("*.json"), key=lambda file: version_key(file.stem))
    if not files:
        raise GeneratorError(f"{folder}: no facts; run `make toolkits` and `python -m generator extract`")
    facts: dict[str, Facts] = {}
    state: Facts = {}
    for file in files:
        try:
            patch = json.loads(textfile.read(file))
        except json.JSONDecodeError as problem:
            raise GeneratorError(f"{file}:{problem.lineno}: not JSON: {problem.msg}") from problem
        if patch.pop("after", "") != (list(facts)[-1] if facts else ""):
            raise GeneratorError(f"{file}: is a change to another toolkit than the one before it; extract it again")
        state = merge(state, patch)
        facts[file.stem] = state
    return facts


def write_all(folder: Path, facts: dict[str, Facts], dry: bool = False) -> list[Path]:
    """Makes the folder hold exactly these toolkits' facts; returns the files that differ. `dry` changes nothing."""
    texts = {}
    before: Facts = {}
    previous = ""
    for toolkit in sorted(facts, key=version_key):
        texts[folder / f"{toolkit}.json"] = _dump({"after": previous, **difference(before, facts[toolkit])})
        before, previous = facts[toolkit], toolkit
    gone = [file for file in sorted(folder.glob("*.json")) if file not in texts]
    changed = [file for file, text in texts.items() if not file.exists() or textfile.read(file) != text]
    if not dry:
        folder.mkdir(parents=True, exist_ok=True)
        for file in gone:
            file.unlink()
        for file in changed:
            textfile.write(file, texts[file])
    return changed + gone


def merge(target: Any, patch: Any) -> Any:
    """Applies a merge patch; neither argument is changed."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def difference(old: Facts, new: Facts) -> Facts:
    """The merge patch that turns old into new."""
    patch: Facts = {}
    for key in sorted(old.keys() | new.keys()):
        if key not in new:
            patch[key] = None
        elif key not in old:
            patch[key] = new[key]
        elif old[key] != new[key]:
            both = isinstance(old[key], dict) and isinstance(new[key], dict)
            patch[key] = difference(old[key], new[key]) if both else new[key]
    return patch


def _dump(patch: Facts) -> str:
    """One line per function, record, enum…, so that a change is a change of lines."""
    parts = []
    for key, value in patch.items():
        if isinstance(value, dict):
            lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(value.items()))
            parts.append(f"{json.dumps(key)}: {{\n{lines}\n}}")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
