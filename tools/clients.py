"""Compiles host files of public projects against NVIDIA's headers and against ours, and prints both counts.

    tools/clients.py FOLDER [--toolkit DIR ...] [--only NAME ...] [--limit N] [--json FILE]

FOLDER holds one checkout for each project of tools/clients.yaml, named as there. A file counts if it reads one of the
headers of CUDA that we have, and if it compiles against NVIDIA's: only then it is compiled against ours. What a
project's own build would generate or fetch is not there: a header that is not found is looked for in the checkout, and
is empty otherwise, for both sides alike. Exits with 1 where less than 98% of what NVIDIA's headers compile compile
with ours.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
OURS = [ROOT / "generated" / "include" / "anycuda" / "compat", ROOT / "include", ROOT / "generated" / "include"]
BAR = 0.98
SOURCES = {".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++"}
HEADERS = {".h", ".hh", ".hpp", ".hxx", ".inl", ".cuh"}
DIALECTS = {"c": ["gnu17"], "c++": ["gnu++17", "gnu++20"]}
COMPILERS = {"c": "gcc", "c++": "g++"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)
NAME = re.compile(r"\b(cuda|cu|nvrtc|CU_?)[A-Z]\w+")
MISSING = re.compile(r"fatal error: ([^:\n]+): No such file or directory")
ROUNDS = 60  # how many headers that are not found are looked for, for one file


@dataclass
class Outcome:
    """What became of a file: with NVIDIA's headers it compiled; `error` is what ours made of it."""

    file: str
    error: str = ""


@dataclass
class Toolkit:
    """NVIDIA's headers: those that ours replace first, the others as far as the machine has them."""

    folders: list[Path]

    def has(self, header: str) -> bool:
        return any((folder / header).exists() for folder in self.folders)

    @cached_property
    def replaced(self) -> set[str]:
        """The names of the headers that ours stand in for."""
        return {str(file.relative_to(OURS[0])) for file in OURS[0].rglob("*.h")}

    def link(self, to: Path, others: bool) -> Path:
        """Makes one folder of all headers by links, the first folder's first; or of those that ours do not replace.

        A header that includes its neighbour in quotes then finds the one of the same folder.
        """
        to.mkdir()
        for folder in self.folders:
            for file in sorted(folder.iterdir()):
                replaced = file.name in self.replaced or file.name == "crt"
                if not (to / file.name).exists() and not (others and replaced):
                    (to / file.name).symlink_to(file)
        return to


@dataclass
class Project:
    """A checkout, and what was learned about its folders on the way."""

    name: str
    folder: Path
    toolkit: Toolkit
    nvidias: Path
    scratch: Path
    flags: list[str]
    includes: list[Path] = field(default_factory=list)

    @cached_property
    def files(self) -> dict[str, list[Path]]:
        """All files of the checkout by their names."""
        found: dict[str, list[Path]] = {}
        for parent, folders, names in os.walk(self.folder):
            folders[:] = sorted(set(folders) - {".git"})
            for name in sorted(names):
                is_code = Path(name).suffix in HEADERS | SOURCES.keys()
                if is_code and (Path(parent) / name).is_file():  # a link may lead into what was not checked out
                    found.setdefault(name, []).append(Path(parent) / name)
        return found

    @cached_property
    def candidates(self) -> list[Path]:
        """Sources that include a header of CUDA, if only through others; those with most names of CUDA first."""
        includes = {
            path: {Path(name).name for name in INCLUDE.findall(path.read_text(errors="replace"))}
            for paths in self.files.values()
            for path in paths
        }
        cuda = {Path(name).name for name in self.toolkit.replaced}
        while True:
            more = {p.name for p, names in includes.items() if p.suffix in HEADERS and names & cuda} - cuda
            if not more:
                break
            cuda |= more
        sources = [path for path, names in includes.items() if path.suffix in SOURCES and names & cuda]
        mentions = {path: len(NAME.findall(path.read_text(errors="replace"))) for path in sources}
        return sorted((path for path in sources if mentions[path]), key=lambda path: (-mentions[path], path))

    def compile(self, source: Path, dialect: str, cuda: list[Path]) -> subprocess.CompletedProcess[str]:
        language = SOURCES[source.suffix]
        stubs = self.scratch / "stubs"
        command = [COMPILERS[language], f"-std={dialect}", "-fsyntax-only", "-w", "-fmax-errors=3", "-MD"]
        command += ["-MF", str(self.scratch / f"{os.getpid()}-{abs(hash(source))}.d"), *self.flags]
        command += [part for folder in cuda for part in ("-isystem", str(folder))]
        command += [part for folder in (*self.includes, stubs) for part in ("-idirafter", str(folder))]
        env = {**os.environ, "LC_ALL": "C"}
        return subprocess.run([*command, str(source)], check=False, capture_output=True, text=True, env=env)

    def with_nvidias(self, source: Path) -> str | None:
        """The dialect in which a file compiles with NVIDIA's headers, and reads one of those that ours replace."""
        for dialect in DIALECTS[SOURCES[source.suffix]]:
            for _ in range(ROUNDS):
                done = self.compile(source, dialect, [self.nvidias])
                missing = MISSING.search(done.stderr)
                if done.returncode == 0:
                    return dialect if self.reads_cuda(source) else None
                if missing is None or not self.supply(source, missing[1]):
                    break
        return None

    def reads_cuda(self, source: Path) -> bool:
        depends = (self.scratch / f"{os.getpid()}-{abs(hash(source))}.d").read_text().replace("\\\n", " ").split()
        return any(Path(path).name in self.toolkit.replaced and path.startswith(f"{self.nvidias}/") for path in depends)

    def supply(self, source: Path, header: str) -> bool:
        """Adds the folder of a header that was not found; one that is nowhere becomes an empty file."""
        near = [path for path in self.files.get(Path(header).name, []) if str(path).endswith(f"/{header}")]
        roots = {Path(str(path)[: -len(header) - 1]) for path in near} - set(self.includes)
        if roots:
            self.includes.append(min(roots, key=lambda root: (-len(os.path.commonpath([root, source])), str(root))))
            return True
        stub = self.scratch / "stubs" / header
        if stub.exists() or ".." in header:
            return False
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.touch()
        return True


def measure(project: Project, others: Path, limit: int) -> Iterator[Outcome]:
    """Compiles a project's files, at most so many."""
    for source in project.candidates[: limit or None]:
        dialect = project.with_nvidias(source)
        if dialect is not None:
            done = project.compile(source, dialect, [*OURS, others])
            yield Outcome(str(source.relative_to(project.folder)), first_error(done) if done.returncode else "")


def write_generated(checkout: Path, stubs: Path, generated: dict[str, str]) -> None:
    """Writes what a project's build would generate: a text, or a file of the checkout as it is."""
    stubs.mkdir(parents=True)
    for header, text in generated.items():
        (stubs / header).parent.mkdir(parents=True, exist_ok=True)
        is_file = "\n" not in text and (checkout / text).is_file()  # a text may be too long for a name
        (stubs / header).write_text((checkout / text).read_text() if is_file else text)


def first_error(done: subprocess.CompletedProcess[str]) -> str:
    lines = (line for line in done.stderr.splitlines() if "error" in line)
    return next(lines, done.stderr[-300:])


def toolkit_folders(given: list[Path]) -> list[Path]:
    """NVIDIA's headers: the newest of the cache that `make toolkits` fills, then those given, then /usr/local/cuda."""
    sys.path.insert(0, str(ROOT))
    from generator.fetch import Toolkits

    newest = list(Toolkits.load(ROOT / "spec" / "toolkits.yaml"))[-1]
    shared = Toolkits.load(ROOT / "spec" / "toolkits.yaml").shared["nvrtc"].folder("include")
    full = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"]
    return [*newest.include_dirs(), shared, *given, *(folder for folder in full if folder.exists())]


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the checkouts are")
    parser.add_argument(
        "--toolkit", type=Path, action="append", default=[], help="a folder of more headers of NVIDIA's"
    )
    parser.add_argument("--include", type=Path, action="append", default=[], help="a folder of other headers")
    parser.add_argument("--only", nargs="+", default=[], help="these projects")
    parser.add_argument("--limit", type=int, default=0, help="at most so many files of a project")
    parser.add_argument("--json", type=Path, help="write each file's outcome")
    options = parser.parse_args(None if arguments is None else list(arguments))
    listed = yaml.safe_load((Path(__file__).parent / "clients.yaml").read_text())
    toolkit = Toolkit(toolkit_folders(options.toolkit))
    outcomes: dict[str, list[Outcome]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        nvidias, others = toolkit.link(Path(scratch) / "nvidia", False), toolkit.link(Path(scratch) / "others", True)

        def one(name: str) -> list[Outcome]:
            place = Path(scratch) / name
            write_generated(options.folder / name, place / "stubs", listed[name].get("generated", {}))
            flags = [f"-D{define}" for define in listed[name].get("defines", ["HAVE_CUDA=1", "USE_CUDA=1"])]
            flags += [f"-I{include}" for include in options.include]
            project = Project(name, options.folder.resolve() / name, toolkit, nvidias, place, flags)
            found = list(measure(project, others, options.limit))
            good = sum(not outcome.error for outcome in found)
            print(f"{name:22} {good:4} of {len(found):4}", flush=True)
            return found

        names = [name for name in listed if not options.only or name in options.only]
        for name in names:
            if not (options.folder / name).is_dir():
                print(f"{name:22} is not in {options.folder}; it is {listed[name]['repository']}")
        there = [name for name in names if (options.folder / name).is_dir()]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            outcomes = dict(zip(there, pool.map(one, there), strict=True))
    if options.json:
        options.json.write_text(json.dumps({n: [vars(o) for o in found] for n, found in outcomes.items()}, indent=1))
    return report(outcomes)


def report(outcomes: dict[str, list[Outcome]]) -> int:
    every = [outcome for found in outcomes.values() for outcome in found]
    causes = Counter(re.sub(r"^.*?error: ", "", outcome.error) for outcome in every if outcome.error)
    for cause, count in causes.most_common(40):
        print(f"{count:5}  {cause}")
    good = sum(not outcome.error for outcome in every)
    print(f"{good} of {len(every)} files that NVIDIA's headers compile compile with ours")
    return 0 if every and good >= BAR * len(every) else 1


if __name__ == "__main__":
    sys.exit(main())
