"""Fetching, without a network: pip finds made-up wheels in a local folder."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from generator import __main__, fetch
from generator.errors import GeneratorError
from generator.fetch import Toolkits
from generator.yamlfile import ROOT

Files = dict[str, str]


class Shop:
    """A folder of made-up wheels, and the spec and the cache that go with it."""

    def __init__(self, root: Path) -> None:
        self.wheels = root / "wheels"
        self.wheels.mkdir()
        self.cache = root / "cache"
        self.spec = root / "toolkits.yaml"
        runtime = {
            "nvidia/cu99/include/cuda_runtime_api.h": "/* runtime */\n",
            "nvidia/cu99/include/sub/deep.h": "/* deep */\n",
            "nvidia/cu99/include/__init__.py": "",
            "nvidia/cu99/lib/libcudart.so.99": "library\n",
            "nvidia/cu99/lib/libcudart_static.a": "archive\n",
            "fake_runtime-99.1.5.dist-info/licenses/License.txt": "licence\n",
        }
        self.pins = {
            "crt": [self.wheel("fake-crt", "99.1.1", {"nvidia/cu99/include/crt/host_defines.h": "/* crt */\n"})],
            "nvrtc": [
                self.wheel(
                    "fake-nvrtc",
                    "99.1.1",
                    {
                        "nvidia/cu99/include/nvrtc.h": "/* nvrtc */\n",
                        "nvidia/cu99/lib/libnvrtc.so.99": "library\n",
                        "nvidia/cu99/lib/libnvrtc-builtins.so.99.1": "library\n",
                    },
                )
            ],
            "99.1": [
                self.wheel("fake-runtime", "99.1.5", runtime),
                self.wheel("fake-profiler", "99.1.2", {"nvidia/cu99/include/cuda_profiler_api.h": "/* profiler */\n"}),
            ],
        }
        self.write_spec()

    def wheel(self, package: str, version: str, files: Files, machine: str = "x86_64") -> dict[str, str]:
        name = package.replace("-", "_")
        path = self.wheels / f"{name}-{version}-py3-none-manylinux2014_{machine}.manylinux_2_17_{machine}.whl"
        info = f"{name}-{version}.dist-info"
        metadata = {
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-manylinux2014_x86_64\n",
            f"{info}/RECORD": "",
        }
        with zipfile.ZipFile(path, "w") as archive:
            for member, text in {**files, **metadata}.items():
                archive.writestr(member, text)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return {"package": package, "version": version, "file": path.name, "sha256": digest}

    def write_spec(self) -> None:
        def entries(name: str, indent: str) -> str:
            lines = []
            for wheel in self.pins[name]:
                pairs = [f"{key}: {value}" for key, value in wheel.items()]
                lines.append(indent + "- " + f"\n{indent}  ".join(pairs) + "\n")
            return "".join(lines)

        text = "# pinned\nshared:\n" + "".join(f"  {name}:\n{entries(name, '    ')}" for name in ("crt", "nvrtc"))
        text += "toolkits:\n"
        for version in [name for name in self.pins if name not in ("crt", "nvrtc")]:
            text += f'  - version: "{version}"\n    wheels:\n{entries(version, "      ")}'
        self.spec.write_text(text)

    def load(self) -> Toolkits:
        return Toolkits.load(self.spec, self.cache)

    def tree(self) -> list[str]:
        return sorted(
            str(path.relative_to(self.cache))
            for path in self.cache.rglob("*")
            if path.is_file() and path.name != ".lock"
        )


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    shop = Shop(tmp_path)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shop.wheels))
    return shop


@pytest.fixture
def stock(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """The shop without pip, which takes seconds: for what happens to a cache afterwards."""

    def copy(requirements: list[str], folder: Path, **_: object) -> None:
        shutil.copytree(shop.wheels, folder)

    monkeypatch.setattr(fetch, "download", copy)
    return shop


def test_headers_and_shared_libraries_are_unpacked_and_nothing_else(shop: Shop) -> None:
    toolkits = shop.load()
    assert fetch.fetch(toolkits) == 3
    assert shop.tree() == [
        "99.1/.pins",
        "99.1/include/cuda_profiler_api.h",
        "99.1/include/cuda_runtime_api.h",
        "99.1/include/sub/deep.h",
        "99.1/lib/libcudart.so.99",
        "99.1/licenses/fake_runtime-99.1.5.dist-info/License.txt",
        "crt/.pins",
        "crt/include/crt/host_defines.h",
        "nvrtc/.pins",
        "nvrtc/include/nvrtc.h",
        "nvrtc/lib/libnvrtc-builtins.so.99.1",
        "nvrtc/lib/libnvrtc.so.99",
    ]
    assert toolkits.newest.include_dirs() == [shop.cache / "99.1/include", shop.cache / "crt/include"]
    assert toolkits["99.1"].libcudart() == shop.cache / "99.1/lib/libcudart.so.99"
    assert toolkits.shared["nvrtc"].folder("include") == shop.cache / "nvrtc/include"
    assert toolkits.shared["nvrtc"].library("libnvrtc.so.*") == shop.cache / "nvrtc/lib/libnvrtc.so.99"


def test_a_second_run_does_nothing_and_needs_no_index(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch.fetch(shop.load())
    monkeypatch.setenv("PIP_FIND_LINKS", os.devnull)
    before = time.monotonic()
    assert fetch.fetch(shop.load()) == 0
    assert time.monotonic() - before < 0.3


def test_a_run_with_nothing_to_do_hashes_nothing(stock: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch.fetch(stock.load())

    def hashed(path: Path) -> str:
        raise AssertionError(f"{path} was hashed")

    monkeypatch.setattr(fetch, "_sha256", hashed)
    assert fetch.fetch(stock.load()) == 0
    stock.load()["99.1"].include_dirs()


HEADER = "include/cuda_runtime_api.h"
LIBRARY = "lib/libcudart.so.99"


def overwrite(root: Path) -> None:
    """With as many bytes as there were."""
    (root / LIBRARY).write_text("y" * len("library\n"))


def link_to_nowhere(root: Path) -> None:
    (root / HEADER).unlink()
    (root / HEADER).symlink_to("nowhere")


def put_a_folder(root: Path) -> None:
    (root / HEADER).unlink()
    (root / HEADER).mkdir()


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "another library": (lambda root: (root / LIBRARY).write_text("junk"), f"{LIBRARY} is not what was unpacked"),
    "as many other bytes": (overwrite, f"{LIBRARY} is not what was unpacked"),
    "an empty file": (lambda root: (root / LIBRARY).write_text(""), f"{LIBRARY} is not what was unpacked"),
    "no header": (lambda root: (root / HEADER).unlink(), f"{HEADER} is missing"),
    "a dead link": (link_to_nowhere, f"{HEADER} is missing"),
    "a folder for a header": (put_a_folder, f"{HEADER} is missing"),
    "no headers": (
        lambda root: shutil.rmtree(root / "include"),
        "include/cuda_profiler_api.h is missing, and 2 more",
    ),
    "one header more": (lambda root: (root / "include/new.h").write_text(""), "include/new.h was added"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_folder_is_said_in_one_line_and_fetched_again(
    stock: Shop, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    fetch.fetch(stock.load())
    before = {path: (stock.cache / path).read_bytes() for path in stock.tree() if not path.endswith(fetch.STAMP)}
    capsys.readouterr()
    damage, words = DAMAGE[kind]
    damage(stock.cache / "99.1")
    assert not stock.load()["99.1"].unit.is_here()
    assert fetch.fetch(stock.load()) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"99.1 is damaged: {words}; fetching it again"
    assert second.startswith("[1/1] 99.1")
    assert before == {
        path: (stock.cache / path).read_bytes() for path in stock.tree() if not path.endswith(fetch.STAMP)
    }
    assert fetch.fetch(stock.load()) == 0


def test_what_is_shared_is_looked_at_too(stock: Shop) -> None:
    fetch.fetch(stock.load())
    (stock.cache / "nvrtc/lib/libnvrtc.so.99").write_text("junk")
    (stock.cache / "crt/include/crt/host_defines.h").unlink()
    assert fetch.fetch(stock.load()) == 2


def test_a_damaged_folder_is_not_read(stock: Shop) -> None:
    fetch.fetch(stock.load())
    (stock.cache / "99.1" / HEADER).unlink()
    with pytest.raises(GeneratorError, match=rf"^99\.1 in .* is damaged: {HEADER} is missing; run `make toolkits`$"):
        stock.load().newest.include_dirs()


def test_offline_names_what_is_damaged(stock: Shop) -> None:
    fetch.fetch(stock.load())
    (stock.cache / "99.1" / LIBRARY).write_text("junk")
    shutil.rmtree(stock.cache / "crt")
    with pytest.raises(GeneratorError) as caught:
        fetch.fetch(stock.load(), offline=True)
    assert str(caught.value) == (
        f"{stock.cache} lacks crt; 99.1 in {stock.cache} is damaged: {LIBRARY} is not what was unpacked; "
        "run `make toolkits` with a network, or set ANYCUDA_TOOLKITS to a folder that has them"
    )
    assert (stock.cache / "99.1" / LIBRARY).read_text() == "junk"


def test_new_times_alone_are_no_damage_and_hashed_once(stock: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch.fetch(stock.load())
    # A copy that keeps no times, as an archive with whole seconds would.
    for path in stock.tree():
        os.utime(stock.cache / path, (1_000_000_000, 1_000_000_000))
    hashed: list[Path] = []
    real = fetch._sha256

    def count(path: Path) -> str:
        hashed.append(path)
        return real(path)

    monkeypatch.setattr(fetch, "_sha256", count)
    assert fetch.fetch(stock.load()) == 0
    assert len(hashed) == len([path for path in stock.tree() if not path.endswith(fetch.STAMP)])
    hashed.clear()
    assert fetch.fetch(stock.load()) == 0
    assert not hashed
    assert not list(stock.cache.glob(".part-*"))
    (stock.cache / "99.1" / LIBRARY).write_text("y" * len("library\n"))
    assert fetch.fetch(stock.load()) == 1


@pytest.mark.parametrize(
    "stamp", ["the pins alone, as it was", "", "7", '"text"', "[]", '{"pins": 1}', "no list", "cut"]
)
def test_a_stamp_without_a_list_is_not_believed(stock: Shop, stamp: str) -> None:
    fetch.fetch(stock.load())
    unit = stock.load()["99.1"].unit
    file = unit.root / fetch.STAMP
    stamps = {
        "the pins alone, as it was": unit.pins,
        "no list": json.dumps({"pins": unit.pins}),
        "cut": file.read_text()[:200],
    }
    file.write_text(stamps.get(stamp, stamp))
    assert not unit.is_here()
    with pytest.raises(GeneratorError, match=r"lacks 99\.1; run `make toolkits` with a network"):
        fetch.fetch(stock.load(), offline=True)
    assert fetch.fetch(stock.load()) == 1
    assert fetch.fetch(stock.load()) == 0


def test_a_changed_pin_replaces_the_folder(shop: Shop) -> None:
    fetch.fetch(shop.load())
    files = {"nvidia/cu99/include/cuda_runtime_api.h": "/* newer */\n", "nvidia/cu99/lib/libcudart.so.99": "newer\n"}
    shop.pins["99.1"] = [shop.wheel("fake-runtime", "99.1.6", files)]
    shop.write_spec()
    assert fetch.fetch(shop.load()) == 1
    assert (shop.cache / "99.1/include/cuda_runtime_api.h").read_text() == "/* newer */\n"
    assert not (shop.cache / "99.1/include/cuda_profiler_api.h").exists()


def test_a_bad_hash_is_one_clear_error_and_leaves_nothing(shop: Shop) -> None:
    right = shop.pins["99.1"][0]["sha256"]
    shop.pins["99.1"][0]["sha256"] = "f" * 64
    shop.write_spec()
    with pytest.raises(GeneratorError) as caught:
        fetch.fetch(shop.load())
    said = str(caught.value)
    assert "fake-runtime==99.1.5" in said
    assert f"sha256 is {right}, not the pinned one" in said
    assert "\n" not in said
    assert not (shop.cache / "99.1").exists()
    assert not list(shop.cache.glob(".part-*"))


def test_no_network_is_one_clear_error(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    # Nothing listens on the discard port.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(
        GeneratorError, match=r"fake-.*: the package index does not answer \(Connection refused\);"
    ) as caught:
        fetch.fetch(shop.load())
    assert "\n" not in str(caught.value)
    assert shop.tree() == []
    assert not list(shop.cache.glob(".part-*"))


def test_an_index_without_the_wheel_says_what_pip_says(shop: Shop) -> None:
    (shop.wheels / shop.pins["crt"][0]["file"]).unlink()
    with pytest.raises(GeneratorError, match=r"fake-crt==99\.1\.1: pip says: .*No matching distribution"):
        fetch.fetch(shop.load(), jobs=1)


def test_a_damaged_wheel_leaves_nothing(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shop.wheels / shop.pins["crt"][0]["file"]

    # pip would notice too; what is tested is that unpacking does.
    def copy(requirements: list[str], folder: Path, **_: object) -> None:
        folder.mkdir()
        (folder / path.name).write_bytes(path.read_bytes())

    path.write_bytes(path.read_bytes()[:100])
    shop.pins["crt"][0]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    shop.write_spec()
    monkeypatch.setattr(fetch, "download", copy)
    with pytest.raises(GeneratorError, match="cannot unpack fake_crt"):
        fetch.fetch(shop.load(), jobs=1)
    assert not (shop.cache / "crt").exists()


def test_a_run_killed_while_unpacking_leaves_nothing_that_the_next_one_takes_for_done(shop: Shop) -> None:
    script = (
        "import os, pathlib, sys\n"
        "from generator import fetch\n"
        "real = fetch._unpack\n"
        "def die(wheel, target):\n"
        "    real(wheel, target)\n"
        "    os._exit(9)\n"
        "fetch._unpack = die\n"
        "fetch.fetch(fetch.Toolkits.load(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])), jobs=1)\n"
    )
    command = [sys.executable, "-c", script, str(shop.spec), str(shop.cache)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 9
    assert list(shop.cache.glob(".part-*"))
    assert not any(unit.is_here() for unit in shop.load().units)
    assert fetch.fetch(shop.load()) == 3
    assert not list(shop.cache.glob(".part-*"))


def test_offline_names_what_is_missing(shop: Shop) -> None:
    with pytest.raises(GeneratorError, match=r"lacks crt, nvrtc, 99\.1; run `make toolkits` with a network"):
        fetch.fetch(shop.load(), offline=True)
    assert not shop.cache.exists()
    fetch.fetch(shop.load())
    assert fetch.fetch(shop.load(), offline=True) == 0


def test_a_toolkit_that_was_not_fetched_says_how_to(shop: Shop) -> None:
    with pytest.raises(GeneratorError, match=r"99\.1 is not in .*; run `make toolkits`"):
        shop.load().newest.include_dirs()
    with pytest.raises(GeneratorError, match=r"no toolkit 12\.0 in the spec; it has 99\.1"):
        shop.load()["12.0"]


def test_an_unwritable_cache_is_a_clear_error(shop: Shop) -> None:
    shop.cache.write_text("a file, not a folder")
    with pytest.raises(GeneratorError, match=r"cannot write to the toolkit cache .*; set ANYCUDA_TOOLKITS"):
        fetch.fetch(shop.load())


def test_toolkits_stand_oldest_first(shop: Shop) -> None:
    shop.pins["98.0"] = shop.pins["99.1"]
    shop.write_spec()
    with pytest.raises(GeneratorError, match=r"toolkits\.yaml:\d+: 98\.0 stands after 99\.1"):
        shop.load()


def test_members_that_climb_out_are_left_out(shop: Shop, tmp_path: Path) -> None:
    files = {
        "nvidia/cu99/include/../../../../evil.h": "",
        "nvidia/cu99/include/crt/host_defines.h": "/* crt */\n",
    }
    shop.pins["crt"] = [shop.wheel("fake-crt", "99.1.2", files)]
    shop.write_spec()
    fetch.fetch(shop.load())
    assert not list(tmp_path.rglob("evil.h"))


def test_pinning_appends_renews_what_is_shared_and_keeps_the_rest(shop: Shop) -> None:
    runtime: Files = {
        "nvidia/cu100/include/cuda_runtime_api.h": "/* 100 */\n",
        "nvidia/cu100/lib/libcudart.so.100": "library\n",
    }
    shop.wheel("nvidia-cuda-runtime", "100.0.1", runtime)
    newest = shop.wheel("nvidia-cuda-runtime", "100.0.10", runtime)
    shop.wheel("nvidia-cuda-runtime", "100.1.1", runtime)
    shop.wheel("nvidia-cuda-profiler-api", "100.0.3", {"nvidia/cu100/include/cuda_profiler_api.h": "/* p */\n"})
    crt = shop.wheel("fake-crt", "100.0.2", {"nvidia/cu100/include/crt/host_defines.h": "/* crt */\n"})
    nvrtc = shop.wheel("fake-nvrtc", "100.0.4", {"nvidia/cu100/include/nvrtc.h": "/* nvrtc */\n"})
    before = shop.spec.read_text()
    for old, new in ((shop.pins["crt"][0], crt), (shop.pins["nvrtc"][0], nvrtc)):
        for key in ("file", "sha256"):
            before = before.replace(old[key], new[key])
        before = before.replace(
            f"{old['package']}\n      version: 99.1.1", f"{old['package']}\n      version: {new['version']}"
        )
    fetch.pin("100.0", shop.spec)
    assert shop.spec.read_text().startswith(before)
    toolkits = shop.load()
    assert [toolkit.version for toolkit in toolkits] == ["99.1", "100.0"]
    assert [wheel.version for wheel in toolkits.newest.pins] == ["100.0.10", "100.0.3"]
    assert [unit.wheels[0].version for unit in toolkits.shared.values()] == ["100.0.2", "100.0.4"]
    assert toolkits.newest.pins[0].sha256 == newest["sha256"]
    assert fetch.fetch(toolkits) == 4


def test_the_runtime_of_another_machine_has_a_folder_of_its_own(shop: Shop) -> None:
    def runtime(machine: str) -> dict[str, str]:
        files: Files = {"nvidia/cu100/include/a.h": "", "nvidia/cu100/lib/libcudart.so.100": machine}
        return shop.wheel("nvidia-cuda-runtime", "101.0.1", files, machine)

    shop.wheel("fake-crt", "101.0.2", {"nvidia/cu100/include/crt/host_defines.h": "/* crt */\n"})
    shop.wheel("fake-nvrtc", "101.0.4", {"nvidia/cu100/include/nvrtc.h": "/* nvrtc */\n"})
    shop.wheel("nvidia-cuda-profiler-api", "101.0.3", {"nvidia/cu100/include/p.h": "/* p */\n"})
    runtime("x86_64")
    pinned = runtime("aarch64")
    fetch.pin("101.0", shop.spec)
    toolkit = shop.load().newest
    assert toolkit.aarch64 and vars(toolkit.aarch64.wheels[0]) == pinned
    assert toolkit.pins[0].machine == "x86_64" and toolkit.aarch64.wheels[0].machine == "aarch64"
    assert fetch.fetch(shop.load()) == 5
    assert toolkit.libcudart().read_text() == "x86_64"
    assert toolkit.aarch64.library("libcudart.so.*").read_text() == "aarch64"


def test_a_runtime_without_another_machine_is_pinned_all_the_same(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.wheel("nvidia-cuda-runtime", "100.0.1", {"nvidia/cu100/include/a.h": ""})
    shop.wheel("nvidia-cuda-profiler-api", "100.0.3", {"nvidia/cu100/include/p.h": ""})
    shop.wheel("fake-crt", "100.0.2", {"nvidia/cu100/include/crt/host_defines.h": ""})
    shop.wheel("fake-nvrtc", "100.0.4", {"nvidia/cu100/include/nvrtc.h": ""})
    fetch.pin("100.0", shop.spec)
    assert shop.load().newest.aarch64 is None
    assert "nothing pinned for aarch64: cannot download nvidia-cuda-runtime==100.0.*" in capsys.readouterr().out


def test_pinning_what_is_pinned_changes_nothing(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    before = shop.spec.read_text()
    fetch.pin("99.1", shop.spec)
    assert capsys.readouterr().out == "99.1 is pinned already\n"
    assert shop.spec.read_text() == before


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("thirteen", "`thirteen` is not a toolkit's version"),
        ("12.0", r"12\.0 is not newer than 99\.1"),
        ("101.0", r"cannot download fake-crt==101\.0\.\*: "),
    ],
)
def test_pinning_nonsense_changes_nothing(shop: Shop, version: str, message: str) -> None:
    before = shop.spec.read_text()
    with pytest.raises(GeneratorError, match=message):
        fetch.pin(version, shop.spec)
    assert shop.spec.read_text() == before


def test_the_cache_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANYCUDA_TOOLKITS", str(tmp_path / "chosen"))
    assert fetch.cache_folder() == tmp_path / "chosen"
    monkeypatch.delenv("ANYCUDA_TOOLKITS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert fetch.cache_folder() == tmp_path / "xdg/anycuda/toolkits"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert fetch.cache_folder() == tmp_path / ".cache/anycuda/toolkits"


def test_the_command_line_prints_one_line_and_exits_with_two(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANYCUDA_TOOLKITS", str(tmp_path / "empty"))
    assert __main__.main(["fetch", "--offline"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("command", [[], *([name] for name in __main__.COMMANDS)], ids=" ".join)
def test_help_says_what_a_command_does_in_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as caught:
        __main__.main([*command, "--help"])
    assert caught.value.code == 0
    usage, described, *_ = capsys.readouterr().out.split("\n\n")
    assert " ".join(["usage: python -m generator", *command]) in usage
    assert described[0].isupper()
    assert described.endswith(".")
    assert max(map(len, described.splitlines())) <= 80


def test_make_help_fits_80_columns() -> None:
    command = ["make", "--no-print-directory", "-C", str(ROOT), "help"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "make test " in said
    assert [line for line in said.splitlines() if len(line) > 80] == []
