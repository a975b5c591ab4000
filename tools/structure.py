"""Shows how src/ is divided: files in each folder, which folder includes which, and where public functions are defined.

ALLOWED is the architecture. tests/structure/ fails where src/ breaks it; this command prints the figures.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Which parts of src/ a part may include. A part is a folder with all below it that have no line of their own, or a
# file: `loader/platform` is platform.h and platform.c.
BELOW = "core/abi core/call core/hooks core/record core/simulator core/values"  # of core, what the loader may include
CORE = f"core {BELOW}"
SIM = f"sim {CORE} loader/platform"
ALLOWED = {
    "core/abi": "",
    "core/values": "core/abi",
    "core/record": "",
    "core/hooks": "core/call core/abi",
    "core/simulator": "core/abi",
    "core/call": f"{BELOW} core loader",
    "core": f"{BELOW} loader loader/platform",
    "loader": f"{BELOW} loader/platform",
    "loader/platform": "core/abi loader/ldcache",
    "loader/ldcache": "loader/platform",
    "layers": f"{CORE} loader loader/platform",
    "types": CORE,
    "safe/base": CORE,
    "safe/memory": f"safe/base types {CORE}",
    "safe/kernel": f"safe/memory safe/base types {CORE}",
    "safe/graph": f"safe/kernel safe/memory safe/base {CORE}",
    "runtime": f"runtime/runtime types {CORE}",
    "runtime/runtime": f"runtime {CORE}",
    "runtime/cpu": f"runtime/runtime {CORE}",
    "runtime/cuda": f"runtime/runtime {CORE}",
    "runtime/webgpu": f"runtime/runtime {CORE}",
    "plugin": "",
    "sim": f"{CORE} loader/platform",
    "sim/device": f"{SIM}",
    "sim/stream": f"sim/device {SIM}",
    "sim/memory": f"sim/stream sim/device sim/ptx/approximation {SIM}",
    "sim/ptx": "sim/ptx/approximation",
    "sim/ptx/approximation": "",
    "sim/code": f"sim/ptx sim/memory sim/stream sim/device {SIM}",
    "sim/graph": f"sim/code sim/memory sim/stream sim/device {SIM}",
    "sim/driver": f"sim/entry sim/graph sim/code sim/ptx sim/memory sim/stream sim/device {SIM}",
    "sim/entry": f"sim/driver sim/graph sim/code sim/memory sim/stream sim/device {SIM}",
}


# The public functions whose body is not in the file of their noun, and why; tests/structure/ fails on any other.
OF_ITS_SUBJECT = "sim.h has functions of many nouns"
ELSEWHERE = {
    "acu_dtype_of": "inline, in C++ only",
    "acu_sim_at": OF_ITS_SUBJECT,
    "acu_sim_damages": OF_ITS_SUBJECT,
    "acu_sim_findings": OF_ITS_SUBJECT,
    "acu_sim_last_finding": OF_ITS_SUBJECT,
    "acu_sim_fault": OF_ITS_SUBJECT,
    "acu_sim_memory_export": OF_ITS_SUBJECT,
    "acu_sim_multicast_at": OF_ITS_SUBJECT,
    "acu_sim_register": OF_ITS_SUBJECT,
    "acu_sim_semaphore_create": OF_ITS_SUBJECT,
    "acu_sim_semaphore_destroy": OF_ITS_SUBJECT,
    "acu_sim_semaphore_export": OF_ITS_SUBJECT,
    "acu_sim_semaphore_signal": OF_ITS_SUBJECT,
    "acu_sim_semaphore_value": OF_ITS_SUBJECT,
    "acu_sim_current_graph": OF_ITS_SUBJECT,
    "acu_sim_launch_graph": OF_ITS_SUBJECT,
    "acu_sim_set_conditional": OF_ITS_SUBJECT,
    "acu_sim_set_node_enabled": OF_ITS_SUBJECT,
    "acu_sim_set_node_grid": OF_ITS_SUBJECT,
    "acu_sim_set_node_param": OF_ITS_SUBJECT,
    "acu_sim_surface_read": OF_ITS_SUBJECT,
    "acu_sim_surface_write": OF_ITS_SUBJECT,
}


@dataclass(frozen=True)
class Include:
    """One `#include "…"` of a file in src/."""

    file: str  # from src/
    line: int
    named: str  # as it is written

    def __str__(self) -> str:
        return f'src/{self.file}:{self.line}: includes "{self.named}"'


@dataclass(frozen=True)
class Function:
    """An external function: where a header declares it and where its body is."""

    name: str
    header: str  # from ROOT
    body: str | None  # from ROOT; None where no file has one

    @property
    def is_at_home(self) -> bool:
        """Whether the body is in noun.c or noun_part.c; the noun is that of buffer.h or of acu_args_add()."""
        nouns = {Path(self.header).stem, re.sub(r"acu_(?:sim_)?", "", self.name).split("_")[0]}
        file = Path(self.body or "").stem
        return any(file == noun or file.startswith(noun + "_") for noun in nouns)


def files() -> list[str]:
    return sorted(str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.[ch]"))


def part_of(file: str) -> str:
    """The part of ALLOWED with the longest name that the file is in; its folder if there is none."""
    parents = [file.rsplit(".", 1)[0], *map(str, Path(file).parents)]
    return next((part for part in parents if part in ALLOWED), str(Path(file).parent))


def library_of(file: str) -> str:
    return "anycuda_sim" if file.startswith("sim/") else "anycuda"


@cache
def includes() -> list[Include]:
    found = []
    for file in files():
        for number, line in enumerate((ROOT / "src" / file).read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if match:
                found.append(Include(file, number, match[1]))
    return found


def inner_includes() -> list[Include]:
    """Includes of files in src/: no public header and nothing that is generated."""
    return [include for include in includes() if (ROOT / "src" / include.named).exists()]


def is_generated(named: str) -> bool:
    return (ROOT / "generated/src" / named).exists() or (ROOT / "generated/include" / named).exists()


def forbidden() -> list[Include]:
    """The includes that ALLOWED does not allow."""
    wrong = []
    for include in inner_includes():
        part, other = part_of(include.file), part_of(include.named)
        if part != other and other not in ALLOWED.get(part, "").split():
            wrong.append(include)
    return wrong


def cycles() -> list[list[str]]:
    """Headers that include each other, in a circle."""
    edges = defaultdict(list)
    for include in inner_includes():
        edges[include.file].append(include.named)
    found, done = [], set[str]()

    def walk(file: str, path: list[str]) -> None:
        if file in path:
            found.append([*path[path.index(file) :], file])
        elif file not in done:
            for other in edges[file]:
                walk(other, [*path, file])
            done.add(file)

    for file in list(edges):
        walk(file, [])
    return found


def equal_names() -> list[list[str]]:
    """Headers of one library that have one name."""
    named = defaultdict(list)
    for file in files():
        if file.endswith(".h"):
            named[library_of(file), Path(file).name].append(file)
    return [same for same in named.values() if len(same) > 1]


# ---- functions ----


def statements(text: str) -> Iterator[str]:
    """A C file's outer level: declarations, which end with ";", and the heads of definitions, which end with "{"."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    text = re.sub(r"^[ \t]*#(?:\\\n|.)*", "", text, flags=re.MULTILINE)
    text = re.sub(r'extern "C" \{', "", text)
    text = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', '""', text)
    depth, start = 0, 0
    for match in re.finditer(r"[;{}]", text):
        if depth == 0 and match[0] != "}":
            yield " ".join(text[start : match.end()].split())
        depth = max(depth + {"{": 1, "}": -1}.get(match[0], 0), 0)
        if depth == 0:
            start = match.end()


def function_name(statement: str) -> str | None:
    """The name of the function that is declared or defined; None for anything else, and for what is static."""
    if re.match(r"(static|typedef|template|extern inline)\b", statement) or "=" in statement.split("(")[0]:
        return None
    statement = re.sub(r"__attribute__ ?\(\(.*?\)\)\)?", "", statement)
    match = re.search(r"\b((?!ACU_)\w+)\((?!\*)", statement)
    return match[1] if match else None


def names(path: Path, end: str) -> Iterator[str]:
    for statement in statements(path.read_text()):
        name = function_name(statement) if statement.endswith(end) else None
        if name:
            yield name


@cache
def bodies() -> dict[tuple[str, str], str]:
    """For each library and external function, the file in src/ that has the body."""
    return {
        (library_of(file), name): f"src/{file}"
        for file in files()
        if file.endswith(".c")
        for name in names(ROOT / "src" / file, "{")
    }


def declared(headers: Iterable[Path]) -> list[Function]:
    found = []
    for header in headers:
        relative = header.relative_to(ROOT)
        inside = relative.is_relative_to("src")
        for name in names(header, ";"):
            libraries = [library_of(str(relative.relative_to("src")))] if inside else ["anycuda", "anycuda_sim"]
            body = next((bodies()[library, name] for library in libraries if (library, name) in bodies()), None)
            found.append(Function(name, str(relative), body))
    return found


@cache
def public_functions() -> list[Function]:
    return declared(sorted((ROOT / "include/anycuda").glob("*.h")))


@cache
def inner_functions() -> list[Function]:
    """The functions that the headers in src/ declare."""
    return [function for function in declared(sorted((ROOT / "src").rglob("*.h"))) if function.body]


def strays() -> list[Function]:
    """Functions whose body is in another folder than the header in src/ that declares them."""
    return [one for one in inner_functions() if Path(one.header).parent != Path(str(one.body)).parent]


def away() -> list[Function]:
    """The public functions whose body is not in the file of their noun."""
    return [one for one in public_functions() if not one.is_at_home]


# ---- the figures ----


def main() -> int:
    print(f"{'part':<16} files  lines  includes")
    lines = {file: len((ROOT / "src" / file).read_text().splitlines()) for file in files()}
    for part in sorted({part_of(file) for file in files()}):
        mine = [file for file in files() if part_of(file) == part]
        others = Counter(part_of(one.named) for one in inner_includes() if part_of(one.file) == part)
        named = ", ".join(f"{other} {count}" for other, count in sorted(others.items()) if other != part)
        print(f"{part:<16} {len(mine):5}  {sum(lines[file] for file in mine):5}  {named}")
    print(f"\n{len(files())} files, {sum(lines.values()):,} lines, {len(inner_includes())} includes within src/")
    print(f"{len(forbidden())} includes that are not allowed, {len(cycles())} cycles")
    print("\nThe body of a public function is in the file of its noun.")
    print(f"{len(away())} of {len(public_functions())} are elsewhere, on purpose:")
    for one in away():
        reason = ELSEWHERE.get(one.name, "NO REASON; see ELSEWHERE in tools/structure.py")
        print(f"  {one.name:<26} {one.body or one.header}: {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
