"""Stage 1: the toolkits' headers and libraries, from their pinned wheels into a cache."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from . import textfile, yamlfile
from .errors import GeneratorError

SPEC_FILE = yamlfile.SPEC / "toolkits.yaml"
SCHEMA = yamlfile.SPEC / "schema" / "toolkits.json"

# Written last into an unpacked folder: the pins that it was made of, and each file that it held then.
STAMP = ".pins"
# Raise this when the unpacking or the stamp changes, so that folders of the old kind are made anew.
LAYOUT = "2"

DESCRIPTION = """Brings the toolkits' headers and libraries from their pinned wheels into the cache,
where they are missing or no longer what was unpacked. With nothing to do it takes a moment and needs no network."""

# pip takes the tags that it is given and derives none from them, so each one that a pin has or a
# future one may have stands here.
PLATFORMS = [
    *("manylinux1", "manylinux2010", "manylinux2014"),
    *(f"manylinux_2_{glibc}" for glibc in (5, 12, 17, 24, 27, 28, 31, 34, 35)),
]
MACHINES = ("x86_64", "aarch64")


@dataclass(frozen=True)
class Wheel:
    """One pinned file."""

    package: str
    version: str
    file: str
    sha256: str

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version} --hash=sha256:{self.sha256}"

    @property
    def machine(self) -> str:
        return next((machine for machine in MACHINES if self.file.endswith(f"_{machine}.whl")), MACHINES[0])


@dataclass(frozen=True)
class Entry:
    """One file as it was unpacked. Equal size and time are believed; where they differ, the hash decides."""

    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True)
class Unit:
    """What is unpacked together, into one folder of the cache."""

    name: str
    wheels: tuple[Wheel, ...]
    cache: Path

    @property
    def root(self) -> Path:
        return self.cache / self.name

    @property
    def pins(self) -> str:
        text = "\n".join([LAYOUT, *(f"{wheel.file} {wheel.sha256}" for wheel in self.wheels)])
        return hashlib.sha256(text.encode()).hexdigest()

    def manifest(self) -> dict[str, Entry] | None:
        """Returns what was unpacked, by path; None if nothing was, or not from these pins, or no list was kept."""
        try:
            stamp = json.loads((self.root / STAMP).read_text(encoding="utf-8"))
            if stamp["pins"] != self.pins:
                return None
            return {path: Entry(**entry) for path, entry in stamp["files"].items()}
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            return None

    def damage(self) -> str | None:
        """Returns how the folder differs from what was unpacked, in few words; None if it does not, or nothing was."""
        manifest = self.manifest()
        if manifest is None:
            return None
        try:
            found = dict(_files(self.root))
            faults = [f"{path} is missing" for path in manifest if path not in found]
            faults += [f"{path} was added" for path in found if path not in manifest]
            # A copied cache has new times; that is written down, so that it is hashed once and not each time.
            touched: dict[str, Entry] = {}
            for path in manifest.keys() & found.keys():
                known, now = manifest[path], found[path]
                if (now.st_size, now.st_mtime_ns) == (known.size, known.mtime_ns):
                    continue
                if now.st_size == known.size and _sha256(self.root / path) == known.sha256:
                    touched[path] = replace(known, mtime_ns=now.st_mtime_ns)
                else:
                    faults.append(f"{path} is not what was unpacked")
        except OSError as error:
            return f"{error.filename}: {error.strerror}"
        if not faults:
            if touched:
                self._remember(manifest | touched)
            return None
        return min(faults) + (f", and {len(faults) - 1} more" if len(faults) > 1 else "")

    def stamp(self, files: dict[str, Entry]) -> str:
        return json.dumps({"pins": self.pins, "files": {path: vars(entry) for path, entry in sorted(files.items())}})

    def _remember(self, files: dict[str, Entry]) -> None:
        """Renews the stamp where that is possible; a cache may be read-only."""
        with contextlib.suppress(OSError):
            file, name = tempfile.mkstemp(prefix=".part-", dir=self.cache)
            try:
                with os.fdopen(file, "w", encoding="utf-8") as stamp:
                    stamp.write(self.stamp(files))
                Path(name).replace(self.root / STAMP)
            finally:
                Path(name).unlink(missing_ok=True)

    def is_here(self) -> bool:
        return self.manifest() is not None and self.damage() is None

    def folder(self, name: str) -> Path:
        if self.manifest() is None:
            raise GeneratorError(f"{self.name} is not in {self.cache}; run `make toolkits`")
        if damage := self.damage():
            raise GeneratorError(f"{self.name} in {self.cache} is damaged: {damage}; run `make toolkits`")
        return self.root / name

    def library(self, pattern: str) -> Path:
        found = sorted(self.folder("lib").glob(pattern))
        if len(found) != 1:
            raise GeneratorError(f"{self.root / 'lib'} holds {len(found)} files {pattern}; one was expected")
        return found[0]


@dataclass(frozen=True)
class Toolkit:
    """One CUDA toolkit: its headers and its libcudart."""

    version: str
    unit: Unit
    crt: Unit
    aarch64: Unit | None = None  # the same runtime for that machine; None where no wheel has it

    @property
    def pins(self) -> tuple[Wheel, ...]:
        return self.unit.wheels

    def include_dirs(self) -> list[Path]:
        return [self.unit.folder("include"), self.crt.folder("include")]

    def libcudart(self) -> Path:
        return self.unit.library("libcudart.so.*")


@dataclass(frozen=True)
class Toolkits:
    """Every toolkit of the spec, oldest first, what they share, and what has versions of its own."""

    toolkits: tuple[Toolkit, ...]
    shared: dict[str, Unit]
    cache: Path
    others: dict[str, Unit] = field(default_factory=dict)

    @classmethod
    def load(cls, spec: Path = SPEC_FILE, cache: Path | None = None) -> Toolkits:
        cache = cache or cache_folder()
        document = yamlfile.load(spec, SCHEMA)
        shared = {name: _unit(name, wheels, cache) for name, wheels in document["shared"].items()}
        others = {name: _unit(name, wheels, cache) for name, wheels in document.get("others", {}).items()}
        toolkits: list[Toolkit] = []
        for entry in document["toolkits"]:
            version = entry["version"]
            if toolkits and _number(version) <= _number(toolkits[-1].version):
                raise GeneratorError(
                    f"{version} stands after {toolkits[-1].version}; toolkits stand oldest first, each once",
                    yamlfile.where(entry, "version"),
                )
            unit = _unit(version, entry["wheels"], cache)
            other = _unit(f"{version}-aarch64", entry["aarch64"], cache) if "aarch64" in entry else None
            toolkits.append(Toolkit(version, unit, shared["crt"], other))
        return cls(tuple(toolkits), shared, cache, others)

    def __iter__(self) -> Iterator[Toolkit]:
        return iter(self.toolkits)

    def __len__(self) -> int:
        return len(self.toolkits)

    def __getitem__(self, version: str) -> Toolkit:
        for toolkit in self.toolkits:
            if toolkit.version == version:
                return toolkit
        raise GeneratorError(f"no toolkit {version} in the spec; it has {', '.join(t.version for t in self)}")

    @property
    def newest(self) -> Toolkit:
        return self.toolkits[-1]

    @property
    def units(self) -> tuple[Unit, ...]:
        mine = (unit for toolkit in self.toolkits for unit in (toolkit.unit, toolkit.aarch64) if unit)
        return (*self.shared.values(), *self.others.values(), *mine)


def cache_folder() -> Path:
    """ANYCUDA_TOOLKITS, or a folder of anycuda's own in the user's cache."""
    if chosen := os.environ.get("ANYCUDA_TOOLKITS"):
        return Path(chosen).expanduser().absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification has relative paths ignored.
    return (base if base.is_absolute() else Path.home() / ".cache") / "anycuda" / "toolkits"


def fetch(toolkits: Toolkits, offline: bool = False, jobs: int = 4) -> int:
    """Brings into the cache what is missing or damaged there, and returns how many folders that were."""
    missing = [unit for unit in toolkits.units if not unit.is_here()]
    if not missing:
        return 0
    if offline:
        raise GeneratorError(
            f"{_lacking(toolkits.cache, missing)}; run `make toolkits` with a network, "
            "or set ANYCUDA_TOOLKITS to a folder that has them"
        )
    with _locked(toolkits.cache):
        # Asked again: another run may have fetched while this one waited for the lock.
        missing = [unit for unit in missing if not unit.is_here()]
        for unit in missing:
            if damage := unit.damage():
                print(f"{unit.name} is damaged: {damage}; fetching it again", flush=True)
        try:
            _fetch_all(missing, jobs)
        except OSError as error:
            raise GeneratorError(f"cannot write into {toolkits.cache}: {error.strerror}") from error
    return len(missing)


def _lacking(cache: Path, units: list[Unit]) -> str:
    damaged = {unit.name: damage for unit in units if (damage := unit.damage())}
    absent = [unit.name for unit in units if unit.name not in damaged]
    parts = [f"{cache} lacks {', '.join(absent)}"] if absent else []
    parts += [f"{name} in {cache} is damaged: {damage}" for name, damage in damaged.items()]
    return "; ".join(parts)


def _fetch_all(units: list[Unit], jobs: int) -> None:
    stop = threading.Event()
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            for done, future in enumerate(as_completed([pool.submit(_fetch_one, u, stop) for u in units]), 1):
                print(f"[{done}/{len(units)}] {future.result()}", flush=True)
        except BaseException:
            # The first failure is the one worth reading; the rest would repeat it.
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _fetch_one(unit: Unit, stop: threading.Event) -> str:
    with tempfile.TemporaryDirectory(prefix=".part-", dir=unit.cache) as folder:
        temporary = Path(folder)
        requirements, machine = [wheel.requirement for wheel in unit.wheels], unit.wheels[0].machine
        download(requirements, temporary / "wheels", hashed=True, machine=machine, stop=stop)
        ready = temporary / "unpacked"
        for wheel in unit.wheels:
            _unpack(_verified(temporary / "wheels" / wheel.file, wheel), ready)
        files = {path: Entry(found.st_size, found.st_mtime_ns, _sha256(ready / path)) for path, found in _files(ready)}
        (ready / STAMP).write_text(unit.stamp(files), encoding="utf-8")
        if unit.root.exists():
            unit.root.rename(temporary / "old")
        ready.rename(unit.root)
    return f"{unit.name:12} " + ", ".join(f"{wheel.package} {wheel.version}" for wheel in unit.wheels)


def download(
    requirements: list[str],
    folder: Path,
    *,
    hashed: bool,
    machine: str = MACHINES[0],
    stop: threading.Event | None = None,
) -> None:
    """Has pip bring a machine's wheels, so that the user's index, proxy and certificates hold."""
    folder.mkdir(parents=True)
    listed = folder.parent / "requirements.txt"
    listed.write_text("\n".join(requirements) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary=:all:", *(f"--platform={platform}_{machine}" for platform in PLATFORMS)]
    command += ["--require-hashes"] if hashed else []
    command += ["--dest", str(folder), "--requirement", str(listed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        while True:
            try:
                output, _ = pip.communicate(timeout=0.2)
                break
            except subprocess.TimeoutExpired:
                if stop is not None and stop.is_set():
                    pip.terminate()
    if pip.returncode != 0:
        names = ", ".join(requirement.split(" ")[0] for requirement in requirements)
        raise GeneratorError(f"cannot download {names}: {_reason(output)}")


def _reason(output: str) -> str:
    """What pip says, in one line, and what to do about it."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if "DO NOT MATCH THE HASHES" in output:
        # pip prints both hashes below the sentence, each behind its own word.
        got = re.search(r"Got\s+([0-9a-f]{64})", output)
        return (
            f"its sha256 is {got[1] if got else 'another'}, not the pinned one; "
            "correct the pin in spec/toolkits.yaml or distrust the package index"
        )
    # A dead index shows as retries, and only then as "no matching distribution".
    if "connection broken by" in output or "Max retries" in output:
        cause = re.search(r"\[Errno -?[0-9]+\] ([^'\")]+)", output)
        why = f" ({cause[1]})" if cause else ""
        return f"the package index does not answer{why}; check the network, the proxy and `pip config list`"
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return f"pip says: {'; '.join(errors or lines[-1:])}; check the network, the pin and `pip config list`"


def _verified(path: Path, wheel: Wheel) -> Path:
    if not path.is_file():
        here = ", ".join(sorted(entry.name for entry in path.parent.iterdir()))
        raise GeneratorError(f"{wheel.package} {wheel.version} came as {here}, not as the pinned {wheel.file}")
    if (digest := _sha256(path)) != wheel.sha256:
        raise GeneratorError(f"{wheel.file} has the sha256 {digest}, not the pinned {wheel.sha256}")
    return path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _files(root: Path, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """All files below a folder but its stamp, each with what the file system knows of it."""
    with os.scandir(root / below) as entries:
        for entry in entries:
            path = below + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _files(root, path + "/")
            elif path != STAMP:
                # A link that leads nowhere is a fault, not a file.
                with contextlib.suppress(FileNotFoundError):
                    yield path, entry.stat()


def _unpack(wheel: Path, target: Path) -> None:
    """Takes headers, shared libraries and licences: a toolkit's static libraries are half its size."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                place = _place(PurePosixPath(member.filename))
                if place is None or member.is_dir():
                    continue
                (target / place).parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, (target / place).open("wb") as copy:
                    shutil.copyfileobj(source, copy)
    except zipfile.BadZipFile as error:
        raise GeneratorError(f"cannot unpack {wheel.name}: {error}") from error
    if not (target / "include").is_dir():
        raise GeneratorError(f"{wheel.name} holds no folder nvidia/*/include; is it the right package?")


def _place(member: PurePosixPath) -> PurePosixPath | None:
    """Where a wheel's file goes: `nvidia/cu13/include/x.h`, `nvidia/cuda_runtime/include/x.h` -> `include/x.h`.

    The wheel of wgpu-native has both kinds in one folder, and tells its version in a file of Python.
    """
    if ".." in member.parts:
        return None
    if member.name.lower().startswith("license"):
        return PurePosixPath("licenses", member.parts[0], member.name)
    match member.parts:
        case ("nvidia", _, "include", *rest) if rest and member.suffix != ".py":
            return PurePosixPath("include", *rest)
        case ("nvidia", _, "lib", name) if ".so" in name:
            return PurePosixPath("lib", name)
        case ("wgpu", "resources", "webgpu.h" | "wgpu.h" as name):
            return PurePosixPath("include", name)
        case ("wgpu", "resources", name) if ".so" in name:
            return PurePosixPath("lib", name)
        case ("wgpu", "backends", "wgpu_native", "__init__.py"):
            return PurePosixPath("version.py")
    return None


@contextlib.contextmanager
def _locked(cache: Path) -> Iterator[None]:
    """Holds a lock, so that one fetch runs at a time; its holder may sweep what a killed run left behind."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = (cache / ".lock").open("w")
    except OSError as error:
        raise GeneratorError(
            f"cannot write to the toolkit cache {cache}: {error.strerror}; set ANYCUDA_TOOLKITS to another folder"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another fetch into {cache}", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in cache.glob(".part-*"):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
        yield


def pin(version: str, spec: Path = SPEC_FILE) -> None:
    """Appends a toolkit to the spec, the newest wheels of its version, and renews what all toolkits share."""
    if not re.fullmatch(r"[0-9]+\.[0-9]+", version):
        raise GeneratorError(f"`{version}` is not a toolkit's version; it looks like 13.6")
    toolkits = Toolkits.load(spec)
    if any(toolkit.version == version for toolkit in toolkits):
        # Not an error: adding a toolkit is tried again after a decision that it asked for.
        print(f"{version} is pinned already")
        return
    newest = toolkits.newest.version
    if _number(version) <= _number(newest):
        raise GeneratorError(f"{version} is not newer than {newest}, the last toolkit of the spec")
    major = _number(version)[0]
    # From CUDA 13 on the packages carry no major version in their names.
    suffix = f"-cu{major}" if major < 13 else ""
    text = textfile.read(spec).rstrip("\n") + "\n"
    # What all toolkits share is the newest toolkit's.
    for wheel in (wheel for unit in toolkits.shared.values() for wheel in unit.wheels):
        text = text.replace(_lines(wheel, "    "), _lines(_newest(wheel.package, version), "    "))
    text += f'\n  - version: "{version}"\n    wheels:\n'
    for package in (f"nvidia-cuda-runtime{suffix}", f"nvidia-cuda-profiler-api{suffix}"):
        text += _lines(_newest(package, version), "      ")
    text += _for_aarch64(f"nvidia-cuda-runtime{suffix}", version)
    textfile.write(spec, text)
    print(f"pinned {version} in {spec.name}")


def _for_aarch64(package: str, version: str) -> str:
    """The pin of a runtime for aarch64; what it is for can do without it, as with older toolkits."""
    try:
        return "    aarch64:\n" + _lines(_newest(package, version, "aarch64"), "      ")
    except GeneratorError as problem:
        print(f"nothing pinned for aarch64: {problem}")
        return ""


def _newest(package: str, version: str, machine: str = MACHINES[0]) -> Wheel:
    """The newest wheel of a toolkit's version."""
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder) / "wheels"
        download([f"{package}=={version}.*"], wheels, hashed=False, machine=machine)
        (file,) = wheels.iterdir()
        return Wheel(package, file.name.split("-")[1], file.name, hashlib.sha256(file.read_bytes()).hexdigest())


def _lines(wheel: Wheel, indent: str) -> str:
    """A pin as spec/toolkits.yaml writes it."""
    pairs = (f"{name}: {value}" for name, value in vars(wheel).items())
    return f"{indent}- " + f"\n{indent}  ".join(pairs) + "\n"


def _unit(name: str, entries: list[Any], cache: Path) -> Unit:
    return Unit(name, tuple(Wheel(**entry) for entry in entries), cache)


def _number(version: str) -> tuple[int, int]:
    major, minor = version.split(".")
    return int(major), int(minor)


def add_arguments(subparsers: Any) -> None:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "fetch", help="bring the pinned toolkits into the cache", description=DESCRIPTION
    )
    parser.add_argument("--offline", action="store_true", help="download nothing; say what is missing or damaged")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="how many to download at a time (4)")
    parser.add_argument("--pin", metavar="VERSION", help="first append this toolkit to spec/toolkits.yaml")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    if options.pin:
        pin(options.pin)
    toolkits = Toolkits.load()
    fetched = fetch(toolkits, offline=options.offline, jobs=options.jobs)
    what = f"{fetched} of {len(toolkits.units)} folders fetched" if fetched else "nothing to fetch"
    print(f"{len(toolkits)} toolkits, {toolkits.toolkits[0].version} to {toolkits.newest.version}: {what}")
    print(f"in {toolkits.cache}")
