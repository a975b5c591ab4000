"""Builds programs of public projects against anycuda, and runs them on the simulator.

    tools/client_programs.py FOLDER BUILD [--headers DIR ...] [--only NAME ...] [--keep DIR]

FOLDER holds one checkout for each project, as for tools/clients.py; BUILD is a build of the library. Each project of
tools/clients.yaml that has `programs` is built in a folder of its own and not changed. Its commands find in the
environment:

    SOURCE    the checkout
    INCLUDES  flags for the compiler: the headers of anycuda/compat in front, those of --headers behind
    LINK      flags for the linker: the library and the simulator
    TOOLKIT   a folder as CUDA is installed in, with both, for a project's own configure script
    SHARED    a folder with libanycuda-sim.so by the names of libcudart and libcuda

Prints one line for each program. Exits with 1 where one does not build, fails, or does not say what is expected.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
OURS = [ROOT / "generated" / "include" / "anycuda" / "compat", ROOT / "include", ROOT / "generated" / "include"]
SYSTEM = ["-ldl", "-lpthread", "-lm", "-lrt"]
SECONDS = 900  # for a project's own configuration and build
KEYS = {"build", "run", "says"}


@dataclass
class Program:
    """What is built, how it is run, and patterns that its output must have."""

    name: str
    build: str
    run: str
    says: list[str]


@dataclass
class Project:
    """A checkout with programs; `prepare` is run once before them."""

    name: str
    prepare: str
    programs: list[Program]


def read(listed: dict[str, Any]) -> list[Project]:
    """The projects that have programs; a program without a pattern, or with a misspelt key, is an error."""
    found = []
    for name, project in listed.items():
        programs = []
        for title, entry in project.get("programs", {}).items():
            if unknown := entry.keys() - KEYS:
                raise ValueError(f"{name}, {title}: unknown keys {sorted(unknown)}")
            if not entry.get("says"):
                raise ValueError(f"{name}, {title}: 'says' must name what the output has to contain")
            programs.append(Program(title, entry.get("build", ""), entry["run"], entry["says"]))
        if programs:
            found.append(Project(name, project.get("prepare", ""), programs))
    return found


def lacking(output: str, says: list[str]) -> list[str]:
    """The patterns that no place of the output matches."""
    return [pattern for pattern in says if not re.search(pattern, output, re.M)]


def make_toolkit(folder: Path, build: Path, headers: list[Path]) -> None:
    """Makes a folder as CUDA is installed in; where a header is twice, ours is taken."""
    for source in [*OURS, *headers]:
        for file in sorted(source.rglob("*")):
            link = folder / "include" / file.relative_to(source)
            if file.is_file() and not link.exists():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(file)
    libraries = f"{build}/libanycuda_sim.a {build}/libanycuda.a {' '.join(SYSTEM)}"
    (folder / "lib64").mkdir()
    for name in ("cuda", "cudart"):
        # A script of the linker's.
        (folder / "lib64" / f"lib{name}.so").write_text(f"EXTERN(acu_sim_abi) INPUT({libraries})\n")


def make_shared(folder: Path, build: Path) -> None:
    folder.mkdir()
    for name in ("libcuda.so", "libcuda.so.1", "libcudart.so", "libcudart.so.13"):
        (folder / name).symlink_to(build / "libanycuda-sim.so")


def environment(scratch: Path, build: Path, headers: list[Path]) -> dict[str, str]:
    """What commands find, the simulator with two devices included."""
    make_toolkit(scratch / "toolkit", build, headers)
    make_shared(scratch / "shared", build)
    includes = [f"-isystem {folder}" for folder in OURS] + [f"-idirafter {folder}" for folder in headers]
    libraries = ["-Wl,-u,acu_sim_abi", f"{build}/libanycuda_sim.a", f"{build}/libanycuda.a", *SYSTEM]
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("ANYCUDA", "MAKE", "MFLAGS"))},
        "LC_ALL": "C",
        "INCLUDES": " ".join(includes),
        "LINK": " ".join(libraries),
        "TOOLKIT": str(scratch / "toolkit"),
        "SHARED": str(scratch / "shared"),
        "ANYCUDA_CUDART": "sim",
        "ANYCUDA_NVRTC": "sim",
        "ANYCUDA_SIM": "devices=2",
    }


def shell(command: str, folder: Path, env: dict[str, str], log: Path) -> tuple[int, str]:
    """Runs a command, and returns its status and all that it wrote."""
    text = ["bash", "-ec", command]
    try:
        done = subprocess.run(
            text, cwd=folder, env=env, check=False, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
        status, output = done.returncode, (done.stdout + done.stderr).decode(errors="replace")
    except subprocess.TimeoutExpired:
        status, output = 124, f"took longer than {SECONDS} s"
    with log.open("a") as file:
        file.write(f"$ {command}\n{output}\n")
    return status, output


def first_error(output: str) -> str:
    """A line that says why, or the last one."""
    lines = [line for line in output.splitlines() if line.strip()]
    return next(
        (line for line in lines if re.search(r"error|undefined|not found", line, re.I)), lines[-1] if lines else ""
    )


def verdict(program: Program, folder: Path, env: dict[str, str], log: Path) -> str:
    """Builds and runs a program. Returns why that failed, or nothing."""
    status, output = shell(program.build, folder, env, log) if program.build else (0, "")
    if status:
        return f"does not build: {first_error(output)}"
    status, output = shell(program.run, folder, env, log)
    if status:
        return f"ended with {status}: {first_error(output)}"
    missing = lacking(output, program.says)
    return f"does not say {', '.join(missing)}" if missing else ""


def run(project: Project, checkout: Path, scratch: Path, common: dict[str, str]) -> list[str]:
    """Runs a project's programs, and returns what became of each, as verdict() does."""
    folder = scratch / project.name
    folder.mkdir()
    log = scratch / f"{project.name}.log"
    env = {**common, "SOURCE": str(checkout)}
    status, output = shell(project.prepare, folder, env, log) if project.prepare else (0, "")
    outcomes = []
    for program in project.programs:
        why = f"is not prepared: {first_error(output)}" if status else verdict(program, folder, env, log)
        print(f"{project.name:20} {program.name:26} {why or 'runs'}", flush=True)
        outcomes.append(why)
    return outcomes


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the checkouts are")
    parser.add_argument("build", type=Path, help="a build of the library")
    parser.add_argument("--headers", type=Path, action="append", default=[], help="a folder of other headers")
    parser.add_argument("--only", nargs="+", default=[], help="these projects")
    parser.add_argument("--keep", type=Path, help="an empty folder for what is built, and a log for each project")
    options = parser.parse_args(None if arguments is None else list(arguments))
    projects = read(yaml.safe_load((Path(__file__).parent / "clients.yaml").read_text()))
    outcomes = []
    with tempfile.TemporaryDirectory() as temporary:
        scratch = options.keep.resolve() if options.keep else Path(temporary)
        scratch.mkdir(exist_ok=True)
        headers = [folder.resolve() for folder in options.headers]
        env = environment(scratch, options.build.resolve(), headers)
        for project in projects:
            checkout = (options.folder / project.name).resolve()
            if options.only and project.name not in options.only:
                continue
            if checkout.is_dir():
                outcomes += run(project, checkout, scratch, env)
            else:
                print(f"{project.name:20} is not in {options.folder}")
    print(f"{outcomes.count('')} of {len(outcomes)} programs run on the simulator")
    return 0 if outcomes and not any(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
