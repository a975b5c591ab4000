"""YAML mistakes end in one line that names file and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from generator import yamlfile
from generator.errors import GeneratorError

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "features": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name"],
                "additionalProperties": False,
                "properties": {"name": {"type": "string"}, "since": {"type": "string"}},
            },
        }
    },
}


def load(folder: Path, text: str) -> yamlfile.Mapping:
    schema = folder / "schema.json"
    schema.write_text(json.dumps(SCHEMA))
    document = folder / "doc.yaml"
    document.write_text(text)
    return yamlfile.load(document, schema)


def failure(folder: Path, text: str) -> str:
    with pytest.raises(GeneratorError) as caught:
        load(folder, text)
    return str(caught.value)


def test_every_node_knows_its_line(tmp_path: Path) -> None:
    document = load(tmp_path, "# why\nfeatures:\n  - name: a\n\n  - name: b\n    since: '12.4'\n")
    features = document["features"]
    assert features == [{"name": "a"}, {"name": "b", "since": "12.4"}]
    assert yamlfile.where(document, "features").line == 2
    assert yamlfile.where(features, 1).line == 5
    assert yamlfile.where(features[1], "since").line == 6
    assert yamlfile.where(features[1]).line == 5


def test_files_of_the_repository_are_named_from_its_root() -> None:
    document = yamlfile.load(yamlfile.SPEC / "toolkits.yaml")
    assert document.at.file == "spec/toolkits.yaml"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("features: []\n\nfeatures: []\n", 3, "duplicate key `features`; the first stands in line 1"),
        ("features:\n  - name: a\n    name: b\n", 3, "duplicate key `name`; the first stands in line 2"),
        ("features:\n  - name: [a\n", 3, "is not valid YAML"),
        ("- a\n", 1, "holds no mapping"),
        ("", 1, "holds no mapping"),
        ("features:\n  - name: a\n    12: b\n", 3, "a key must be a plain text"),
        ("features:\n  - name: a\n    sicne: '1'\n", 3, "unknown key `sicne`; known here: name, since"),
        ("features:\n  - name: a\n    since: 12.4\n", 3, "features.0.since: 12.4 is not of type 'string'"),
        ("features:\n  - name: a\n  - since: '1'\n", 3, "features.1: 'name' is a required property"),
        ("features: 12\n", 1, "features: 12 is not of type 'array'"),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    said = failure(tmp_path, text)
    assert f"doc.yaml:{line}: " in said
    assert message in said
    assert "\n" not in said


def test_the_first_of_several_schema_errors_is_told_and_the_others_counted(tmp_path: Path) -> None:
    said = failure(tmp_path, "features:\n  - name: 1\n  - name: 2\n  - name: 3\n")
    assert "doc.yaml:2: features.0.name: 1 is not of type 'string' (and 2 more like it)" in said


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match=r"cannot read .*absent\.yaml: No such file"):
        yamlfile.load(tmp_path / "absent.yaml")
