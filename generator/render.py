"""Facts and spec in, text out: every generated file, as a pure function of what is committed.

`python -m generator render` writes the files, `check` compares them with what is committed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from . import cstyle, cxx, gates, ptx, report, safe, textfile, ungated, verify
from .bind import SPEC, bind_all, load_libraries, served
from .describe import TypeRow
from .errors import GeneratorError, Stops
from .model import Library, dotted
from .safe import Entry
from .slots import Bindings
from .spec import Spec
from .typesheet import record_lines, since_macro, type_sheet
from .yamlfile import ROOT, Sequence

TEMPLATES = ROOT / "templates"
GENERATED = ROOT / "generated"


def render(presented: str | None = None, spec: Spec = SPEC) -> dict[str, str]:
    """Every generated source: its path below generated/, and its text."""
    bindings, features, entries = decided(load_libraries(presented, spec), spec)
    return sources(bindings, features, entries)


def decided(libraries: list[Library], spec: Spec = SPEC) -> tuple[list[Bindings], Sequence, list[Entry]]:
    """What is rendered: bindings, features, what the safe layer has; or everything that a person must decide first."""
    features = gates.load(spec.features)
    bindings: list[Bindings] = []
    entries: list[Entry] = []
    stops = Stops()
    with stops.gathered():
        bindings = bind_all(libraries, features, spec)
    with stops.gathered():
        verify.sonames(spec, libraries)
    with stops.gathered():
        ungated.check(spec.features, libraries)
    by_name = {library.name: library for library in libraries}
    if "cudart" in by_name:
        with stops.gathered():
            entries = safe.entries(spec, by_name["cudart"], by_name.get("cuda"))
    stops.end()
    return bindings, features, entries


def sources(
    bindings: list[Bindings], features: Sequence, entries: Iterable[Entry] = (), templates: Path = TEMPLATES
) -> dict[str, str]:
    """What the templates make of the bindings."""
    libraries = [one.library for one in bindings]
    all_gates = gates.derive(features, libraries, served(bindings))
    versions = sorted({api.version for one in bindings if one.is_cuda for api in one.library.apis})
    environment = _environment(templates)
    outputs: dict[str, str] = {}
    for file in sorted(templates.rglob("*.j2")):
        path = str(file.relative_to(templates)).removesuffix(".j2")
        if path.startswith("docs/") or path.endswith(".hpp"):
            continue
        template = environment.get_template(path + ".j2")
        if "COMPAT" in path:
            for one in bindings:
                for header in (*one.info.get("compat", ()), *one.info.get("compat_empty", ())):
                    outputs[path.replace("COMPAT", header)] = cstyle.lay_out(template.render(b=one, header=header))
        elif "LIBRARY" in path:
            for one in bindings:
                text = template.render(b=one, versions=versions, all=bindings)
                if text.strip():
                    outputs[path.replace("LIBRARY", one.name)] = cstyle.lay_out(text)
        else:
            bound = {one.name: one for one in bindings}
            values = {"all": bindings, "versions": versions, "gates": all_gates, "safe": list(entries)}
            values["ptx"] = ptx.load(SPEC.root / "ptx")
            values["version"] = textfile.read(ROOT / "VERSION").strip().split(".")
            outputs[path] = cstyle.lay_out(template.render(**values, **bound))
    return outputs


def cxx_sources(outputs: dict[str, str], spec: Spec = SPEC) -> dict[str, str]:
    """The C++ headers, of the public C headers: those that people write, and `outputs` has the others."""
    made = {header.name: header for header in cxx.headers(spec, outputs)}
    files = sorted((TEMPLATES / "include" / "anycuda").glob("*.hpp.j2"))
    paths = [str(file.relative_to(TEMPLATES)) for file in files]
    environment = _environment(TEMPLATES)
    return {path.removesuffix(".j2"): cstyle.lay_out(environment.get_template(path).render(cxx=made)) for path in paths}


@cache
def _environment(templates: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates),
        undefined=jinja2.StrictUndefined,
        auto_reload=False,  # else the file system is asked for each slot whether slot.inc has changed
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(
        builtin_rows=_builtin_rows, record_lines=record_lines, type_sheet=type_sheet, since_macro=since_macro
    )
    environment.filters.update(tokens=cstyle.tokens, dotted=dotted)
    return environment


def _builtin_rows(bindings: list[Bindings]) -> list[TypeRow]:
    rows = {row.symbol: row for one in bindings for row in one.describer.builtin_rows()}
    return [rows[symbol] for symbol in sorted(rows)]


def write(outputs: dict[str, str], folder: Path = GENERATED) -> list[str]:
    """Writes what differs and removes what is no longer made; returns the paths that changed."""
    changed = []
    for path, text in outputs.items():
        file = folder / path
        if not file.exists() or textfile.read(file) != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            textfile.write(file, text)
            changed.append(path)
    for file in sorted(folder.rglob("*")):
        path = str(file.relative_to(folder))
        if file.is_file() and path not in outputs and file.name != "README.md":
            file.unlink()
            changed.append(path)
    return changed


def differences(outputs: dict[str, str], folder: Path = GENERATED) -> list[str]:
    """Returns a line for each committed file that is not what would be generated."""
    found = []
    for path, text in outputs.items():
        file = folder / path
        if not file.exists():
            found.append(f"{path} is missing")
        elif textfile.read(file) != text:
            found.append(f"{path} differs")
    for file in sorted(folder.rglob("*")):
        path = str(file.relative_to(folder))
        if file.is_file() and path not in outputs and file.name != "README.md":
            found.append(f"{path} is not generated")
    return found


def all_outputs(presented: str | None = None, spec: Spec = SPEC) -> dict[str, str]:
    """Sources and documents."""
    libraries = load_libraries(presented, spec)
    bindings, features, entries = decided(libraries, spec)
    routers = {one.name: one.router for one in bindings}
    made = sources(bindings, features, entries)
    return {**made, **cxx_sources(made, spec), **report.outputs(libraries, spec, routers)}


def add_arguments(subparsers: Any) -> None:
    parser = subparsers.add_parser("render", help="write everything below generated/ from spec/")
    parser.add_argument("--presented", metavar="VERSION", help="the toolkit whose API users see (default: the newest)")
    parser.add_argument(
        "--output", type=Path, default=GENERATED, metavar="FOLDER", help="where to write (default: generated/)"
    )
    parser.set_defaults(run=_run_render)
    parser = subparsers.add_parser("check", help="fail if generated/ is not what spec/ gives")
    parser.set_defaults(run=_run_check)


def _run_render(options: argparse.Namespace) -> None:
    outputs = all_outputs(options.presented)
    changed = write(outputs, options.output)
    print(f"{len(outputs)} files, {len(changed)} changed")


def _run_check(_: argparse.Namespace) -> None:
    found = differences(all_outputs())
    if found:
        raise GeneratorError("generated/ is not what spec/ gives; run `make generate`:\n  " + "\n  ".join(found))
    print("generated/ is what spec/ gives")
