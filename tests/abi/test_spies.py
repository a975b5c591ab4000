"""Every wrapper on every toolkit's own layout, and proof that a wrong adapter would be noticed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from generator.fetch import Toolkits
from generator.render import render, write

from . import spy_build as build

ROOT = build.ROOT
VERSIONS = build.VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_every_wrapper(
    version: str, bench: build.Bench, spies_built: dict[str, Path], record_property: Callable[[str, object], None]
) -> None:
    done = bench.run(version, spies_built[version])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    checks = re.search(r"(\d+) checks, 0 failed", done.stdout)
    assert checks and int(checks[1]) > 8000, done.stdout[-500:]
    record_property("count: spy checks", int(checks[1]))


@pytest.mark.parametrize("version", VERSIONS)
def test_spy_exports_what_the_library_exports(version: str, spies_built: dict[str, Path], toolkits: Toolkits) -> None:
    ours = exported(spies_built[version])
    theirs = exported(toolkits[version].libcudart())
    assert {name for name in ours if not name.startswith("spy_")} == theirs


def exported(library: Path) -> set[str]:
    listing = subprocess.run(["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    symbols = (line.split()[-1] for line in listing.stdout.splitlines() if line.split()[-2] in "TtWi")
    return {symbol.split("@")[0] for symbol in symbols if symbol not in ("_init", "_fini")}


# ---- a wrong adapter must be noticed


def flip_a_field(text: str) -> str:
    """Two fields of an older cudaDeviceProp change places in the table that temporaries are copied by."""
    table = re.search(r"offsets_acu_cudart_type_cudaDeviceProp_11070\[\] =\s+\{(.*?)\}", text, re.DOTALL)
    assert table
    offsets = re.split(r",\s+", table[1])
    offsets[5], offsets[6] = offsets[6], offsets[5]
    return text.replace(table[1], ", ".join(offsets), 1)


def drop_a_parameter(text: str) -> str:
    changed = re.sub(r"(acu_location_device\(&location\),\s+)stream\)", r"\1NULL)", text)
    assert changed != text
    return changed


def swap_two_symbols(text: str) -> str:
    """cudaEventQuery binds cudaEventSynchronize."""
    changed = text.replace('name_cudaEventQuery[] = "cudaEventQuery', 'name_cudaEventQuery[] = "cudaEventSynchronize')
    assert changed != text
    return changed


def forget_a_default(text: str) -> str:
    changed = re.sub(r",\s+\.absent = -1", "", text)
    assert changed != text
    return changed


def forget_a_check(text: str) -> str:
    """cudaMemPoolProps.usage, carved out of reserved space, is not known to be newer."""
    changed = re.sub(r",\s+\.since = 12060", "", text)
    assert changed != text
    return changed


@pytest.mark.parametrize(
    ("file", "mutate", "version"),
    [
        ("cudart_abi.c", flip_a_field, VERSIONS[0]),
        ("cudart.c", drop_a_parameter, "12.1"),
        ("cudart.c", swap_two_symbols, VERSIONS[-1]),
        ("cudart_abi.c", forget_a_default, "13.3"),
        ("cudart_abi.c", forget_a_check, "12.5"),
    ],
)
def test_a_wrong_adapter_is_noticed(
    file: str,
    mutate: Callable[[str], str],
    version: str,
    bench: build.Bench,
    spies_built: dict[str, Path],
    tmp_path: Path,
) -> None:
    mutant = build.Bench(tmp_path, tmp_path / "generated")
    shutil.copytree(bench.generated, mutant.generated)
    source = mutant.generated / "src" / file
    source.write_text(mutate(source.read_text()))
    for made in bench.folder.glob("*.o"):
        if made.name != f"lib_{source.stem}.o":
            (tmp_path / made.name).symlink_to(made)
    mutant.machine.compile_all([job for job in mutant.library() if job[-1].endswith(f"/lib_{source.stem}.o")])
    mutant.link()
    mutant.apis = bench.apis
    done = mutant.run(version, spies_built[version])
    assert done.returncode == 1 and "FAILED" in done.stdout, f"nothing noticed {mutate.__name__}"


# ---- another presented API


@pytest.fixture(scope="session")
def older(tmp_path_factory: pytest.TempPathFactory, toolkits: Toolkits) -> Iterator[build.Bench]:
    folder = tmp_path_factory.mktemp("presented")
    write(render("12.9"), folder / "generated")
    made = build.Bench(folder, folder / "generated", "12.9")
    made.driver()
    yield made


@pytest.mark.parametrize("version", [VERSIONS[-1], VERSIONS[0], "12.9"])
def test_an_older_presented_api(version: str, older: build.Bench, toolkits: Toolkits) -> None:
    """Code written for 12.9 on a newer and on an older library; some structs go through temporaries there."""
    spy = older.build_spies(toolkits, [version])[version]
    done = older.run(version, spy)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
