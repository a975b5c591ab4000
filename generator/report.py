"""What changed between two toolkits, and what each of them has, as Markdown and as one self-contained HTML page."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jinja2

from . import facts, gates, textfile, yamlfile
from .abi import Router
from .availability import STATES, Availability, availability, features
from .changes import Changes, compare, prototype
from .cstyle import tokens
from .errors import GeneratorError
from .model import Api, Library
from .spec import Spec

TEMPLATES = yamlfile.ROOT / "templates"
SPEC = Spec()


def outputs(
    libraries: Iterable[Library], spec: Spec = SPEC, routers: Mapping[str, Router] | None = None
) -> dict[str, str]:
    """The documents below generated/: path -> text. `routers` are those that have found routes already."""
    libraries = list(libraries)
    tables = [_availability(library, spec, routers or {}) for library in libraries]
    rows = features(libraries, tables, gates.derive(gates.load(spec.features), libraries, {}))
    values = {"tables": tables, "features": rows, "states": STATES}
    return {f"docs/availability.{kind}": render(f"docs/availability.{kind}.j2", **values) for kind in ("md", "html")}


def diff(changes: list[Changes], html: bool = False) -> str:
    """What changed between two toolkits."""
    before, after = changes[0].before.toolkit, changes[0].after.toolkit
    template = "docs/diff.html.j2" if html else "docs/diff.md.j2"
    titles = {name: info["title"] for name, info in SPEC.libraries.items()}
    return render(template, changes=changes, before=before, after=after, titles=titles)


def compare_libraries(before: str, after: str, spec: Spec = SPEC) -> list[Changes]:
    """The changes of every library of which both toolkits have facts."""
    found = []
    known: set[str] = set()
    for name in spec.libraries:
        if not any((spec.facts / name).glob("*.json")):
            continue
        stored = facts.read_all(spec.facts / name)
        known |= stored.keys()
        if before in stored and after in stored:
            found.append(compare(name, Api(before, stored[before]), Api(after, stored[after])))
    missing = [toolkit for toolkit in (before, after) if toolkit not in known]
    if missing or not found:
        listed = ", ".join(sorted(known, key=facts.version_key))
        raise GeneratorError(f"there are no facts of toolkit {' and '.join(missing)}; known: {listed}")
    return found


def render(name: str, **values: Any) -> str:
    """Renders one template; HTML is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=name.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(prototype=prototype, tokens=tokens)
    text = environment.get_template(name).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def _availability(library: Library, spec: Spec, routers: Mapping[str, Router]) -> Availability:
    info = spec.libraries[library.name]
    router = None
    if info.get("adapt"):
        router = routers.get(library.name) or Router(library, spec.parameters(library.name), spec.decisions)
    return availability(library, info["title"], router)


def add_arguments(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "diff", help="say what changed between two toolkits", description="What changed between two toolkits."
    )
    parser.add_argument("before", help="the older toolkit, such as 12.9")
    parser.add_argument("after", help="the newer toolkit, such as 13.0")
    parser.add_argument("--html", action="store_true", help="one HTML page instead of Markdown")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write it (standard output)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    text = diff(compare_libraries(options.before, options.after), options.html)
    if options.output is None:
        print(text, end="")
    else:
        textfile.write(options.output, text)
