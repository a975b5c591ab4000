"""YAML files whose every node knows its line, so that a later stage can name the line at fault."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml

from .errors import GeneratorError, Location

UNKNOWN = "unknown key "
ROOT = Path(__file__).resolve().parent.parent
SPEC = ROOT / "spec"

# libyaml where PyYAML was built with it: the same documents, several times as fast.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Mapping(dict[str, Any]):
    """A dict that remembers where it and each of its keys stand."""

    def __init__(self, at: Location) -> None:
        super().__init__()
        self.at = at
        self.places: dict[str, Location] = {}


class Sequence(list[Any]):
    """A list that remembers where it and each of its items stand."""

    def __init__(self, at: Location) -> None:
        super().__init__()
        self.at = at
        self.places: list[Location] = []


def where(node: Mapping | Sequence, key: str | int | None = None) -> Location:
    """The line of a mapping or sequence, or of what it holds under `key`."""
    if isinstance(node, Mapping):
        return node.places.get(key, node.at) if isinstance(key, str) else node.at
    return node.places[key] if isinstance(key, int) else node.at


def load(path: Path, schema: Path | None = None) -> Mapping:
    """Reads a YAML mapping and checks it against its JSON schema."""
    name = name_of(path)
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise GeneratorError("holds no mapping; its top level must be `name: value` lines", Location(name, 1))
        document = _build(root, name, loader)
    except OSError as error:
        raise GeneratorError(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise GeneratorError(f"cannot read {name}: it is not UTF-8 ({error.reason} at byte {error.start})") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = Location(name, mark.line + 1 if mark else 1)
        raise GeneratorError(f"is not valid YAML: {error.problem}", at) from error
    except yaml.YAMLError as error:
        raise GeneratorError(f"{name} is not valid YAML: {error}") from error
    assert isinstance(document, Mapping)
    if schema is not None:
        validate(document, schema)
    return document


def validate(document: Mapping, schema: Path) -> None:
    """Raises the first error, in the file's order, that the schema finds."""
    # Imported here: it costs more than reading the file, and a command that finds its work done
    # need not pay for it.
    import jsonschema

    validator = jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))
    found = [_describe(document, error) for error in validator.iter_errors(document)]
    if found:
        # A misspelt key is unknown, and missing under its right name: the former is what a person can see.
        at, message = min(found, key=lambda item: (not item[1].startswith(UNKNOWN), item[0].line))
        more = f" (and {len(found) - 1} more like it)" if len(found) > 1 else ""
        raise GeneratorError(message + more, at)


def _describe(document: Mapping, error: Any) -> tuple[Location, str]:
    # `anyOf` and `oneOf` say only that nothing fitted; the branch that came nearest says why.
    from jsonschema.exceptions import best_match

    error = best_match([error])
    node: Any = document
    at = document.at
    path = list(error.absolute_path)
    for key in path:
        at = where(node, key)
        node = node[key]
    if error.validator == "additionalProperties" and isinstance(node, Mapping):
        allowed = error.schema.get("properties", {})
        unknown = [key for key in node if key not in allowed]
        if unknown:
            known = ", ".join(allowed) or "none"
            return where(node, unknown[0]), f"{UNKNOWN}`{unknown[0]}`; known here: {known}"
    if isinstance(node, Mapping) and isinstance(error.instance, str) and error.instance in node:
        at = where(node, error.instance)  # of `propertyNames`: the key itself
    if error.validator == "const" and isinstance(error.instance, str):
        return at, f"{label_of(path)}: {error.instance!r} is not {error.validator_value!r}"
    if isinstance(node, Mapping | Sequence) and error.validator in ("type", "required", "minProperties", "minItems"):
        message = error.message.replace(str(node), "this")
    else:
        message = error.message
    label = label_of(path)
    return at, f"{label}: {message}" if label else message


def label_of(path: list[str | int]) -> str:
    return ".".join(map(str, path))


def _build(node: yaml.Node, name: str, loader: Any) -> Any:
    at = Location(name, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        mapping = Mapping(at)
        for key_node, value_node in node.value:
            place = Location(name, key_node.start_mark.line + 1)
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag != "tag:yaml.org,2002:str":
                raise GeneratorError("a key must be a plain text; quote it if it looks like something else", place)
            key = key_node.value
            if key in mapping:
                raise GeneratorError(
                    f"duplicate key `{key}`; the first stands in line {mapping.places[key].line}", place
                )
            mapping[key] = _build(value_node, name, loader)
            mapping.places[key] = place
        return mapping
    if isinstance(node, yaml.SequenceNode):
        sequence = Sequence(at)
        for item in node.value:
            sequence.append(_build(item, name, loader))
            sequence.places.append(Location(name, item.start_mark.line + 1))
        return sequence
    return loader.construct_object(node, deep=True)


def name_of(path: Path) -> str:
    """The path as a person would type it: from the repository's root where it lies inside."""
    full = path.resolve()
    return str(full.relative_to(ROOT)) if full.is_relative_to(ROOT) else os.path.relpath(full)
