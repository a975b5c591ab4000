"""Builds the spies and their driver, from generated sources wherever they lie.

`python -m tests.abi.spy_build 12.4` builds the spy of one toolkit in build/spies/ and runs every call against it. CC
is the compiler, and RUNNER stands in front of its programs: CC=aarch64-linux-gnu-gcc RUNNER="qemu-aarch64 -L …".
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from generator.facts import version_key
from generator.fetch import Toolkits
from generator.model import Api

from . import spies

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VERSIONS = sorted((file.stem for file in (ROOT / "spec/facts/cudart").glob("*.json")), key=version_key)
# What stands below the wrappers; the rest of src/ is written against the newest API, and so is one file of the core.
LIBRARY = ("src/core/*.c", "src/layers/*.c", "src/loader/*.c")
NEWEST_ONLY = {ROOT / "src/core/supports.c"}
NUMBERS_ONLY = ROOT / "src/loader/library.c"  # knows the newest codes, and calls nothing of the API


@dataclass(frozen=True)
class Machine:
    """What compiles programs, and what stands in front of them if they are another processor's."""

    cc: str
    runner: tuple[str, ...] = ()

    def compile_all(self, jobs: list[list[str]]) -> None:
        """Runs compilers side by side; the first that fails says why."""

        def compile_one(job: list[str]) -> subprocess.CompletedProcess[str]:
            return subprocess.run([self.cc, *job], check=False, capture_output=True, text=True)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for done in pool.map(compile_one, jobs):
                assert done.returncode == 0, done.stderr[-4000:]

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        arguments = [*self.runner, *map(str, command)]
        return subprocess.run(arguments, check=False, capture_output=True, text=True, timeout=120)


NATIVE = Machine(os.environ.get("CC", "cc"), tuple(shlex.split(os.environ.get("RUNNER", ""))))


@dataclass
class Bench:
    """A folder with the calls, the driver and the library made from one set of generated sources."""

    folder: Path
    generated: Path
    presented: str | None = None
    machine: Machine = NATIVE
    archive: Path | None = None  # the library, if it is built already

    def includes(self, generated: Path) -> list[str]:
        return [
            f"-I{ROOT}/include",
            f"-I{generated}/include",
            f"-I{generated}/src",
            f"-I{ROOT}/src",
            f"-I{HERE}",
        ]

    def library(self) -> list[list[str]]:
        """The compilations that make the library's objects."""
        assert all(file.exists() for file in {*NEWEST_ONLY, NUMBERS_ONLY})
        sources = [file for pattern in LIBRARY for file in sorted(ROOT.glob(pattern)) if file not in NEWEST_ONLY]
        sources += [
            f
            for f in sorted((self.generated / "src").glob("*.c"))
            if not f.name.endswith(("_table.c", "_table_ptds.c"))
        ]
        return [
            self._object(source, self.folder / f"lib_{source.stem}.o")
            for source in sources
            if source.stem != "features"
        ]

    def driver(self, like: Bench | None = None) -> Path:
        """Compiles everything, from the sources of another bench if one is given; returns the program that runs it."""
        if like:
            self.apis: list[Api] = like.apis
            for source in like.folder.glob("*.c"):
                (self.folder / source.name).symlink_to(source)
        else:
            self.apis = spies.write(self.folder, self.presented)
        calls = self.folder / "calls.c"
        newest = self.presented is None
        jobs = [*([] if self.archive else self.library()), self._object(calls, self.folder / "calls.o")]
        jobs.append(self._object(calls, self.folder / "calls_ptds.o", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM"))
        jobs += [self._object(HERE / f"{name}.c", self.folder / f"{name}.o") for name in ("driver", "spy")]
        decisions = HERE / ("decisions.c" if newest else "no_decisions.c")
        jobs.append(self._object(decisions, self.folder / "decisions_test.o"))
        self.machine.compile_all(jobs)
        return self.link()

    def link(self) -> Path:
        program = self.folder / "driver"
        objects = [str(file) for file in sorted(self.folder.glob("*.o")) if not file.name.startswith("spy_")]
        objects += [str(self.archive)] if self.archive else []
        self.machine.compile_all([[*objects, "-ldl", "-lpthread", "-o", str(program)]])
        return program

    def _object(self, source: Path, target: Path, *flags: str) -> list[str]:
        includes = self.includes(ROOT / "generated" if source == NUMBERS_ONLY else self.generated)
        return ["-std=gnu11", "-w", "-O0", "-g", *flags, *includes, "-c", str(source), "-o", str(target)]

    def run(self, toolkit: str, spy: Path) -> subprocess.CompletedProcess[str]:
        index = [api.toolkit for api in self.apis].index(toolkit)
        return self.machine.run(self.folder / "driver", spy, self.apis[index].version, index)

    def build_spies(self, toolkits: Toolkits, wanted: list[str]) -> dict[str, Path]:
        """The spies of some toolkits, each compiled against its own headers, as shared objects."""
        folder = self.folder
        made = {}
        objects, links = [], []
        for version in wanted:
            system = [f"-I{path}" for path in toolkits[version].include_dirs()]
            common = [
                "-w",
                "-fPIC",
                "-idirafter",
                str(ROOT / "generator/stubs"),
                "-D__CUDA_RUNTIME_H__",
                f"-I{HERE}",
                *system,
            ]
            source = str(folder / f"spy_{version}.c")
            plain, ptds = str(folder / f"spy_{version}.o"), str(folder / f"spy_{version}_ptds.o")
            objects.append([*common, "-c", source, "-o", plain])
            objects.append([*common, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM", "-c", source, "-o", ptds])
            made[version] = folder / f"spy_{version}.so"
            links.append(["-shared", "-fPIC", plain, ptds, str(HERE / "spy.c"), f"-I{HERE}", "-o", str(made[version])])
        self.machine.compile_all(objects)
        self.machine.compile_all(links)
        return made


def main(versions: list[str]) -> int:
    """Runs the spies of some toolkits; prints what failed, and the command that runs each again."""
    bench = Bench(ROOT / "build" / "spies", ROOT / "generated")
    shutil.rmtree(bench.folder, ignore_errors=True)
    bench.folder.mkdir(parents=True)
    bench.driver()
    failed = False
    for version, spy in bench.build_spies(Toolkits.load(), versions).items():
        done = bench.run(version, spy)
        print(done.stdout, done.stderr, " ".join(done.args), sep="")
        failed = failed or done.returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
