"""Reads one toolkit's headers with libclang and returns what they declare as plain facts.

A fact is a name, a type, a value or an offset: no text of a header leaves this module. Each library
is parsed three times: as C (declarations, layouts, macros), as C++ with the per-thread default
stream (default arguments, and the symbol each name stands for then), and as C for aarch64 (layouts
must be the same there).
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clang import cindex
from clang.cindex import CursorKind, TypeKind

from . import elf, yamlfile
from . import facts as stored
from .errors import GeneratorError
from .fetch import Toolkits, Unit
from .spec import Spec

Facts = dict[str, Any]

STUBS = Path(__file__).parent / "stubs"
PROBE = "acu_is_defined_"
# What a header keeps for itself; its macros that need it (WGPU_LIMITS_INIT) are no facts.
HELPER = re.compile("__|_wgpu_")
# What NVIDIA's constants use of its own reserved names.
KEPT = re.compile("__API_TYPEDEF_|__int_as_float$|__longlong_as_double$")
# A macro that calls another one: `NVML_STRUCT_VERSION ( Memory , 2 )`. Reserved names are judged by KEPT.
CALL = re.compile(r"[A-Za-z]\w* \(")
PTDS = "CUDA_API_PER_THREAD_DEFAULT_STREAM"


@dataclass(frozen=True)
class Source:
    """What to parse: the headers of one library in one toolkit, and the library itself if it is at hand."""

    library: str
    toolkit: str
    headers: tuple[str, ...]
    include_dirs: tuple[Path, ...]
    defines: tuple[str, ...] = ()
    shared_object: Path | None = None


def extract_all(sources: list[Source]) -> list[Facts]:
    """The facts of several sources, in their order."""
    with ProcessPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(extract, sources))


def extract(source: Source) -> Facts:
    """The facts of one library in one toolkit."""
    plain = _parse(source, "c", ())
    facts = _Reader(source, plain).facts()
    _add_cxx_view(facts, _parse(source, "c++", (PTDS,)), source)
    third = _parse(source, "c", (), target="aarch64-linux-gnu", probes=facts["macros"])
    _require_same_layout(facts, third, source)
    _drop_undefined(facts, third)
    _evaluate_calls(facts, source)
    facts["headers"] = [header for header in source.headers if not (STUBS / header).exists()]
    _add_symbols(facts, source)
    return facts


def _parse(
    source: Source,
    language: str,
    defines: tuple[str, ...],
    target: str = "x86_64-linux-gnu",
    probes: Iterable[str] = (),
    more: str = "",
) -> Any:
    args = ["-x", language, "-nostdinc", f"-I{STUBS}", "-target", target, "-Wno-everything"]
    args += ["-std=c++17"] if language == "c++" else ["-std=c11"]
    args += [f"-I{directory}" for directory in source.include_dirs]
    args += [f"-D{name}" for name in (*source.defines, *defines)]
    umbrella = "".join(f'#include "{header}"\n' for header in source.headers)
    umbrella += "".join(f"#ifdef {name}\nextern int {PROBE}{name};\n#endif\n" for name in probes) + more
    unit = cindex.Index.create().parse(
        "umbrella.h",
        args,
        unsaved_files=[("umbrella.h", umbrella)],
        options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        | cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES,
    )
    for problem in unit.diagnostics:
        if problem.severity >= cindex.Diagnostic.Error:
            raise GeneratorError(
                f"toolkit {source.toolkit}: {problem.location.file}:{problem.location.line}: {problem.spelling}"
            )
    return unit


class _Reader:
    """Walks the C translation unit and writes down what it declares."""

    def __init__(self, source: Source, unit: Any) -> None:
        self.source = source
        self.unit = unit
        self.roots = tuple(f"{directory}/" for directory in source.include_dirs)

    def facts(self) -> Facts:
        facts: Facts = {key: {} for key in ("functions", "records", "enums", "typedefs", "macros", "constants")}
        readers = {
            CursorKind.FUNCTION_DECL: self.function,
            CursorKind.STRUCT_DECL: self.record,
            CursorKind.UNION_DECL: self.record,
            CursorKind.ENUM_DECL: self.enum,
            CursorKind.TYPEDEF_DECL: self.typedef,
            CursorKind.MACRO_DEFINITION: self.macro,
            CursorKind.VAR_DECL: self.constant,
        }
        for cursor in self.unit.cursor.get_children():
            reader = readers.get(cursor.kind)
            if reader is not None and self.is_ours(cursor):
                reader(facts, cursor)
        if not facts["constants"]:  # only webgpu.h has them
            del facts["constants"]
        for function in facts["functions"]:  # `#define cudaMemcpy …` renames; the function's symbol says it already
            facts["macros"].pop(function, None)
        return facts

    def is_ours(self, cursor: Any) -> bool:
        file = cursor.location.file
        return file is not None and str(file.name).startswith(self.roots)

    def function(self, facts: Facts, cursor: Any) -> None:
        name = _source_name(cursor)
        if cursor.storage_class == cindex.StorageClass.STATIC or name.startswith("__"):
            return
        entry: Facts = {
            "returns": _spelled(cursor.result_type),
            "params": [
                [child.spelling or f"arg{i}", _spelled(child.type)] for i, child in enumerate(cursor.get_arguments())
            ],
            "header": _header(cursor),
        }
        if cursor.spelling != name:
            entry["symbol"] = cursor.spelling
        if cursor.availability == cindex.AvailabilityKind.DEPRECATED:
            entry["deprecated"] = True
        facts["functions"][name] = entry

    def record(self, facts: Facts, cursor: Any) -> None:
        if cursor.is_definition():
            self.require_name(cursor)
            facts["records"][cursor.spelling] = {"header": _header(cursor), **_layout(cursor)}
            for child in cursor.get_children():  # C has no nested scopes: a named inner struct is a type like others
                if child.kind in (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL) and not child.is_anonymous():
                    self.record(facts, child)

    def enum(self, facts: Facts, cursor: Any) -> None:
        if cursor.is_definition():
            self.require_name(cursor)
            values = {child.spelling: child.enum_value for child in cursor.get_children()}
            entry: Facts = {"header": _header(cursor), "values": values}
            if cursor.enum_type.get_canonical().kind != TypeKind.UINT:
                entry["signed"] = True
            facts["enums"][cursor.spelling] = entry

    def typedef(self, facts: Facts, cursor: Any) -> None:
        facts["typedefs"][cursor.spelling] = {
            "header": _header(cursor),
            "type": _spelled(cursor.underlying_typedef_type),
        }

    def macro(self, facts: Facts, cursor: Any) -> None:
        name = cursor.spelling
        if name.startswith("_") or cindex.conf.lib.clang_Cursor_isMacroFunctionLike(cursor):
            return
        spelled = (token.spelling for token in cursor.get_tokens())
        tokens = [token.removeprefix("\\\n") for token in spelled][1:]  # behind the end of a line that goes on
        if tokens and not any(HELPER.match(token) and not KEPT.match(token) for token in tokens):
            facts["macros"][name] = {"header": _header(cursor), "value": " ".join(tokens)}

    def constant(self, facts: Facts, cursor: Any) -> None:
        """`static const WGPUMapMode WGPUMapMode_Read = 1;`: the bits of a set of flags that is wider than an enum."""
        if cursor.storage_class == cindex.StorageClass.STATIC and cursor.type.is_const_qualified():
            tokens = [token.spelling for token in cursor.get_tokens()]
            value = " ".join(tokens[tokens.index("=") + 1 :])
            facts["constants"][cursor.spelling] = {
                "header": _header(cursor),
                "type": _spelled(cursor.type).removeprefix("const "),
                "value": value,
            }

    def require_name(self, cursor: Any) -> None:
        if cursor.is_anonymous() or not cursor.spelling:
            raise GeneratorError(
                f"toolkit {self.source.toolkit}: {_header(cursor)}:{cursor.location.line}: "
                "an unnamed type at file scope; the extractor has no rule for it"
            )


def _layout(record: Any) -> Facts:
    """Kind, size, alignment and members of a struct or union; offsets in bytes, bit-fields with their bits."""
    kind = "union" if record.kind == CursorKind.UNION_DECL else "struct"
    return {
        "kind": kind,
        "size": record.type.get_size(),
        "align": record.type.get_align(),
        "fields": list(_fields(record)),
    }


def _fields(record: Any) -> Iterator[Facts]:
    children = list(record.get_children())
    named = {child.type.get_declaration().hash for child in children if child.kind == CursorKind.FIELD_DECL}
    named |= {_element(child.type).get_declaration().hash for child in children if child.kind == CursorKind.FIELD_DECL}
    for child in children:
        if child.kind in (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL):
            if child.is_anonymous() and child.hash not in named:
                inner = _layout(child)
                leaf, depth = _first_leaf(child)
                yield {"offset": record.type.get_offset(leaf) // 8 - depth, "record": inner}
        elif child.kind == CursorKind.FIELD_DECL:
            yield _field(record, child)


def _field(record: Any, field: Any) -> Facts:
    bits = record.type.get_offset(field.spelling)
    entry: Facts = {"name": field.spelling, "offset": bits // 8}
    if field.is_bitfield():
        entry["bits"] = [bits % 8, field.get_bitfield_width()]
    element = _element(field.type)
    declaration = element.get_declaration()
    if declaration.is_anonymous():
        entry["record"] = _layout(declaration)
        entry["count"] = field.type.get_size() // element.get_size()
        if entry["count"] == 1:
            del entry["count"]
    else:
        entry["type"] = _spelled(field.type)
    entry["size"] = field.type.get_size()
    return entry


def _first_leaf(record: Any) -> tuple[str, int]:
    """The name of a member that C can reach in an anonymous record, and its offset there."""
    for field in record.type.get_fields():
        if field.spelling:
            return field.spelling, record.type.get_offset(field.spelling) // 8
    raise GeneratorError(f"{_header(record)}:{record.location.line}: an anonymous record without a named member")


def _element(kind: Any) -> Any:
    while kind.kind == TypeKind.CONSTANTARRAY:
        kind = kind.element_type
    return kind


def _header(cursor: Any) -> str:
    return Path(cursor.location.file.name).name


@cache
def _bytes(file: str) -> bytes:
    return Path(file).read_bytes()


def _source_name(cursor: Any) -> str:
    """The name as the header wrote it, before any macro renamed it."""
    match = re.compile(rb"\w+").match(_bytes(cursor.location.file.name), cursor.location.offset)
    return match.group().decode() if match else str(cursor.spelling)


def _spelled(kind: Any) -> str:
    return re.sub(r"\s+", " ", str(kind.spelling))


def _functions(cursor: Any) -> Iterator[Any]:
    for child in cursor.get_children():
        if child.kind == CursorKind.LINKAGE_SPEC:
            yield from _functions(child)
        elif child.kind == CursorKind.FUNCTION_DECL:
            yield child


def _add_cxx_view(facts: Facts, unit: Any, source: Source) -> None:
    """Adds what only the C++ view with the per-thread default stream says."""
    for cursor in _functions(unit.cursor):
        name = _source_name(cursor)
        entry = facts["functions"].get(name)
        if entry is None or len(entry["params"]) != len(list(cursor.get_arguments())):
            continue  # a C++ overload
        if cursor.spelling != entry.get("symbol", name):
            entry["ptds"] = cursor.spelling
        if not _may_have_defaults(cursor):
            continue
        for param, default in zip(entry["params"], _defaults(cursor), strict=True):
            if default:
                param.append(default)


def _may_have_defaults(cursor: Any) -> bool:
    """Asks the text first: most functions have none."""
    start, end = cursor.extent.start, cursor.extent.end
    text = _bytes(start.file.name)[start.offset : end.offset]
    return b"__dv" in text or b"=" in text


def _defaults(cursor: Any) -> list[str]:
    """The default argument of each parameter, or "", as the text says it: libclang's extents end at a macro."""
    text = _bytes(cursor.location.file.name)[cursor.location.offset :]
    written = re.sub(r"/\*.*?\*/", "", _in_brackets(text.decode(errors="replace")), flags=re.S)
    found = (re.search(r"__dv\s*\((.*)\)|=(.*)", param, re.S) for param in _split(written))
    return [" ".join((match[1] or match[2] or "").split()) if match else "" for match in found]


def _in_brackets(text: str) -> str:
    """What is between the first bracket and its partner."""
    start = text.index("(") + 1
    depth = 1
    for at in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    return text[start:]


def _split(text: str) -> list[str]:
    """The parts between commas that no bracket encloses."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _require_same_layout(facts: Facts, unit: Any, source: Source) -> None:
    for cursor in unit.cursor.get_children():
        if cursor.kind in (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL) and cursor.is_definition():
            known = facts["records"].get(cursor.spelling)
            if known is not None and {**known} != {"header": known["header"], **_layout(cursor)}:
                raise GeneratorError(f"toolkit {source.toolkit}: {cursor.spelling} has another layout on aarch64")


def _drop_undefined(facts: Facts, unit: Any) -> None:
    """Drops macros that a header undefined again after its own use; libclang shows no #undef."""
    variables = (cursor.spelling for cursor in unit.cursor.get_children() if cursor.kind == CursorKind.VAR_DECL)
    defined = {name.removeprefix(PROBE) for name in variables if name.startswith(PROBE)}
    facts["macros"] = {name: entry for name, entry in facts["macros"].items() if name in defined}


def _evaluate_calls(facts: Facts, source: Source) -> None:
    """Replaces `NVML_STRUCT_VERSION(Memory, 2)` by its number, since the macro that it calls is no fact."""
    called = [name for name, entry in facts["macros"].items() if CALL.match(entry["value"])]
    if not called:
        return
    values = "".join(f"enum {{ {PROBE}{name} = (int)({name}) }};\n" for name in called)
    for cursor in _parse(source, "c", (), more=values).cursor.get_children():
        if cursor.kind == CursorKind.ENUM_DECL:
            for child in cursor.get_children():
                if child.spelling.startswith(PROBE):
                    facts["macros"][child.spelling.removeprefix(PROBE)]["value"] = str(child.enum_value)


def _add_symbols(facts: Facts, source: Source) -> None:
    """Adds what the library exports, or, for one that is not at hand (the driver), what its header maps names to."""
    if source.shared_object is not None:
        library = elf.read(source.shared_object)
        names = set(library.functions)
        facts["soname"], facts["version_node"] = library.soname, library.version_node
    else:
        names = set()
        for name, entry in facts["functions"].items():
            names |= {entry.get("symbol", name), entry.get("ptds", name)}
    facts["symbols"] = dict.fromkeys(sorted(names), "")


def sources(libraries: yamlfile.Mapping, toolkits: Toolkits) -> Iterator[Source]:
    """What to read for every library of spec/libraries.yaml, oldest toolkit first."""
    for name, library in libraries.items():
        if library.get("product"):
            unit = _other(name, toolkits)
            yield _source(name, library, _own_version(unit), unit, [unit.folder("include")])
        elif library.get("newest_only"):
            # It has a wheel of its own, whose version says which toolkit it belongs to.
            if name not in toolkits.shared:
                raise GeneratorError(
                    f"{name} is read for the newest toolkit only, and spec/toolkits.yaml shares no {name}"
                )
            unit = toolkits.shared[name]
            toolkit = ".".join(unit.wheels[0].version.split(".")[:2])
            yield _source(name, library, toolkit, unit, [unit.folder("include")])
        else:
            for entry in toolkits:
                yield _source(name, library, entry.version, entry.unit, entry.include_dirs())


def _other(name: str, toolkits: Toolkits) -> Unit:
    if name not in toolkits.others:
        raise GeneratorError(f"{name} has versions of its own, and spec/toolkits.yaml has no {name} under `others`")
    return toolkits.others[name]


def _own_version(unit: Unit) -> str:
    """The version that a wheel gives of the library in it, "29.0" of "29.0.1.1"; its own version is another one."""
    text = (unit.folder("") / "version.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(\d+\.\d+)\b', text, re.MULTILINE)
    if match is None:
        raise GeneratorError(f"{unit.root}: its version.py does not say which library it brings")
    return match[1]


def _source(name: str, library: yamlfile.Mapping, toolkit: str, unit: Unit, include_dirs: list[Path]) -> Source:
    shipped = [h for h in library["headers"] if any((folder / h).exists() for folder in (STUBS, *include_dirs))]
    return Source(
        name,
        toolkit,
        tuple(shipped),
        tuple(include_dirs),
        tuple(library.get("defines", ())),
        unit.library(library.get("shipped", f"{library['file']}.so.*")) if library["shared_object"] else None,
    )


def require_known_headers(spec: Spec, toolkits: Toolkits) -> None:
    """Raises where a toolkit brings a header that ours neither replace nor leave out for a reason."""
    if not spec.left_out:
        return
    known = {
        header for one in spec.libraries.values() for key in ("compat", "compat_empty") for header in one.get(key, ())
    }
    patterns = [re.compile(pattern) for group in spec.left_out["headers"] for pattern in group["patterns"]]
    for toolkit in toolkits:
        for folder in toolkit.include_dirs():
            shipped = {file.relative_to(folder).as_posix() for file in folder.rglob("*.h*")}
            new = sorted(h for h in shipped - known if not any(pattern.fullmatch(h) for pattern in patterns))
            if new:
                raise GeneratorError(
                    f"toolkit {toolkit.version} brings {', '.join(new)}: replace it (compat in spec/libraries.yaml), "
                    "or list it with a reason in spec/left_out.yaml"
                )


def add_arguments(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "extract", help="write down what the fetched toolkits declare and export", description=__doc__
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail if spec/facts is not up to date")
    parser.set_defaults(run=_run)


def update(spec: Spec, dry: bool = False) -> tuple[dict[str, dict[str, Facts]], list[Path]]:
    """Makes spec/facts what its toolkits say: all facts, and the files that changed. `dry` changes nothing."""
    toolkits = Toolkits.load(spec.root / "toolkits.yaml")
    require_known_headers(spec, toolkits)
    wanted = list(sources(spec.libraries, toolkits))
    found: dict[str, dict[str, Facts]] = {}
    for source, facts in zip(wanted, extract_all(wanted), strict=True):
        found.setdefault(source.library, {})[source.toolkit] = facts
    changed = [
        file
        for library, facts_of_library in found.items()
        for file in stored.write_all(spec.facts / library, facts_of_library, dry)
    ]
    return found, changed


def _run(options: argparse.Namespace) -> None:
    started = time.monotonic()
    found, changed = update(Spec(), dry=options.check)
    if options.check and changed:
        names = ", ".join(str(file.relative_to(yamlfile.ROOT)) for file in changed)
        raise GeneratorError(f"{names}: not what the toolkits say; run `python -m generator extract`")
    for library, facts in found.items():
        print(f"{library}: {len(facts)} toolkit{'s' * (len(facts) > 1)}, {next(iter(facts))} to {list(facts)[-1]}")
    print(f"extracted in {time.monotonic() - started:.1f} s; {len(changed)} files of spec/facts changed")
