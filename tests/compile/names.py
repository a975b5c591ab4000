"""What a header makes visible: the names of macros, functions (with their numbers of arguments), types and members."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from clang import cindex
from clang.cindex import CursorKind

from generator.fetch import Toolkits
from tests.compile.toolchain import COMPAT, INCLUDE, ROOT, language, without_cuda

SCOPES = {CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL, CursorKind.NAMESPACE}
FUNCTIONS = {
    CursorKind.FUNCTION_DECL,
    CursorKind.FUNCTION_TEMPLATE,
    CursorKind.CXX_METHOD,
    CursorKind.CONSTRUCTOR,
    CursorKind.CONVERSION_FUNCTION,
}
RECORDS = {CursorKind.STRUCT_DECL, CursorKind.UNION_DECL, CursorKind.CLASS_DECL, CursorKind.CLASS_TEMPLATE}
NAMED = RECORDS | {
    CursorKind.ENUM_DECL,
    CursorKind.ENUM_CONSTANT_DECL,
    CursorKind.TYPEDEF_DECL,
    CursorKind.TYPE_ALIAS_DECL,
    CursorKind.VAR_DECL,
}


@cache
def nvidias() -> tuple[Path, ...]:
    """The folders with the newest toolkit's headers."""
    toolkits = Toolkits.load(ROOT / "spec" / "toolkits.yaml")
    stubs = Path(__file__).parent / "stubs"
    others = (toolkits.shared[name].folder("include") for name in ("nvrtc", "nvml"))
    return (*list(toolkits)[-1].include_dirs(), *others, stubs)


def ours() -> tuple[Path, ...]:
    return (COMPAT, *INCLUDE)


def visible(
    headers: tuple[str, ...], dialect: str, folders: tuple[Path, ...], defines: tuple[str, ...] = ()
) -> frozenset[str]:
    """All that stands in a translation unit with the headers, but for what is there without them."""
    text = "".join(f"#include <{header}>\n" for header in headers)
    return (_names(text, dialect, folders, defines) - _names("", dialect, folders, defines)) | (
        _macros(text, dialect, folders, defines) - _macros("", dialect, folders, defines)
    )


def overloads(header: str, dialect: str, folders: tuple[Path, ...]) -> dict[str, int]:
    """How many functions of one name can be called with so many arguments, where there are several."""
    found: dict[str, set[tuple[CursorKind, str]]] = {}
    for cursor in _functions(_unit(f"#include <{header}>\n", dialect, folders, ()).cursor):
        for count in _arities(cursor):
            name = f"{cursor.spelling.split('<')[0]}/{count}"
            found.setdefault(name, set()).add((cursor.kind, cursor.type.spelling))
    return {name: len(kinds) for name, kinds in found.items() if len(kinds) > 1}


def _functions(scope: Any) -> Iterator[Any]:
    """The functions outside of namespaces and classes."""
    for cursor in scope.get_children():
        if cursor.kind in SCOPES - {CursorKind.NAMESPACE}:
            yield from _functions(cursor)
        elif cursor.kind in FUNCTIONS:
            yield cursor


@cache
def _macros(text: str, dialect: str, folders: tuple[Path, ...], defines: tuple[str, ...]) -> frozenset[str]:
    """Macros that are defined at the end: libclang lists those, too, that a header undefines again."""
    arguments = [*_arguments(dialect, folders, defines), "-E", "-dM", "-"]
    lines = subprocess.run(
        ["clang" if shutil.which("clang") else "cc", *arguments], input=text, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return frozenset(f"#{re.split(r'[ (]', line)[1]}" for line in lines)


def _arguments(dialect: str, folders: tuple[Path, ...], defines: tuple[str, ...]) -> list[str]:
    kind = language(dialect)
    system = without_cuda("cc" if kind == "c" else "c++", kind)
    folders_given = [f"-I{folder}" for folder in folders]
    # Where the system has no headers of GL, EGL or VDPAU, the generator's stand in for them, on both sides.
    folders_given += ["-idirafter", str(ROOT / "generator" / "stubs")]
    return ["-x", kind, f"-std={dialect}", "-w", *system, *folders_given, *(f"-D{define}" for define in defines)]


@cache
def _names(text: str, dialect: str, folders: tuple[Path, ...], defines: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_walk(_unit(text, dialect, folders, defines).cursor, ""))


def _unit(text: str, dialect: str, folders: tuple[Path, ...], defines: tuple[str, ...]) -> Any:
    arguments = [*_arguments(dialect, folders, defines), "-target", "x86_64-linux-gnu"]
    options = cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
    unit = cindex.Index.create().parse("unit.h", arguments, unsaved_files=[("unit.h", text)], options=options)
    for problem in unit.diagnostics:
        assert problem.severity < cindex.Diagnostic.Error, f"{text}{dialect}: {problem}"
    return unit


def _walk(scope: Any, prefix: str) -> Iterator[str]:
    for cursor in scope.get_children():
        kind = cursor.kind
        if kind in SCOPES:
            if kind != CursorKind.NAMESPACE or cursor.is_anonymous():
                yield from _walk(cursor, prefix)
            elif cursor.spelling not in ("std", "__gnu_cxx", "__cxxabiv1"):
                yield from _walk(cursor, f"{prefix}{cursor.spelling}::")
        elif kind in FUNCTIONS:
            if cursor.semantic_parent != cursor.lexical_parent and kind != CursorKind.FUNCTION_DECL:
                continue  # the body of a member, outside of its class
            for count in _arities(cursor):
                yield f"{prefix}{cursor.spelling.split('<')[0]}/{count}"
        elif kind in NAMED and cursor.spelling and not cursor.is_anonymous():
            yield f"{prefix}{cursor.spelling}"
            if kind in RECORDS and cursor.is_definition():
                yield from _walk(cursor, f"{prefix}{cursor.spelling}::")
            elif kind == CursorKind.ENUM_DECL:
                yield from _walk(cursor, prefix)
        elif kind == CursorKind.ENUM_DECL:
            yield from _walk(cursor, prefix)


def _arities(function: Any) -> range:
    """With how many arguments it may be called."""
    params = [child for child in function.get_children() if child.kind == CursorKind.PARM_DECL]
    needed = sum(not _has_default(param) for param in params)
    return range(needed, len(params) + 1)


def _has_default(param: Any) -> bool:
    return any(child.kind.is_expression() for child in param.get_children())
