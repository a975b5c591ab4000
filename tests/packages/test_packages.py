"""Recipes of other build systems and package managers: each builds the library, offline, and a program with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.compile.toolchain import CC, ROOT, Library, without_cuda

PROJECT = ROOT / "tests" / "consumer" / "project"
VERSION = (ROOT / "VERSION").read_text().strip()
OFFLINE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "no_proxy": ""}


def run(*command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    base = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    base |= {"CFLAGS": " ".join(without_cuda(CC)), **OFFLINE, **(env or {})}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=base,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name} here; `tools/bootstrap.sh` installs those of requirements-packages.lock")
    return found


# ---- the version


def test_the_version_stands_once() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    port = json.loads((ROOT / "packages/vcpkg/anycuda/vcpkg.json").read_text())
    assert port["version"] == VERSION
    header = (ROOT / "generated/include/anycuda/version.h").read_text()
    numbers = re.findall(r"#define ACU_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.MULTILINE)
    assert ".".join(numbers) == VERSION and f'#define ACU_VERSION_TEXT "{VERSION}"' in header
    for file in ("CMakeLists.txt", "meson.build", "conanfile.py", "tools/docs.sh", "tools/amalgamate.py"):
        text = (ROOT / file).read_text()
        assert "VERSION" in text and VERSION not in text, file


# ---- the changelog (keepachangelog.com)


def test_the_changelog_has_its_form() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert lines[0] == "# Changelog"
    releases = [line for line in lines if line.startswith("## ")]
    assert releases[0] == "## [Unreleased]"
    assert all(re.fullmatch(r"## \[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", line) for line in releases[1:])
    kinds = {line.removeprefix("### ") for line in lines if line.startswith("### ")}
    assert kinds and kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


# ---- packages


def test_debian(library: Library, tmp_path: Path) -> None:
    """What `make deb` makes, of the library that is built already."""
    for name in ("cpack", "dpkg-deb"):
        if shutil.which(name) is None:
            pytest.skip(f"there is no {name} here")
    build = tmp_path / "build"
    run("cmake", "-S", ROOT, "-B", build, "-DCMAKE_INSTALL_PREFIX=/usr", "-DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON")
    for pattern in ("*.a", "*.so", "tools/acu-info", "tools/acu-graph"):
        for file in library.archive.parent.glob(pattern):
            shutil.copy(file, build / file.relative_to(library.archive.parent))
    run(shutil.which("cpack") or "", cwd=build)
    (package,) = build.glob(f"libanycuda-dev_{VERSION}*.deb")
    fields = run("dpkg-deb", "--field", package)
    assert f"Version: {VERSION}\n" in fields and "Depends: libc6\n" in fields and "Section: libdevel" in fields
    run("dpkg-deb", "--extract", package, tmp_path / "root")
    prefix = tmp_path / "root" / "usr"
    assert (prefix / "include/anycuda/anycuda.hpp").exists() and (prefix / "bin/acu-info").exists()
    run("cmake", "-S", PROJECT, "-B", tmp_path / "found", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path / "found", "--target", "consumer")
    assert run(tmp_path / "found/consumer") == "linked\n"


@pytest.mark.long
def test_sources(tmp_path: Path) -> None:
    """What `package_source` packs: what git has, and no build, wherever it is."""
    if shutil.which("cpack") is None:
        pytest.skip("there is no cpack here")
    build = tmp_path / "a+build"
    run("cmake", "-S", ROOT, "-B", build)
    run("cmake", "--build", build, "--target", "package_source")
    (package,) = build.glob("*.tar.xz")
    with tarfile.open(package) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CMakeLists.txt", "src/sim/sim.c", "generated/src/cuda.c", ".gitignore"} <= names
    ignored = [name for name in names if re.match(r"build(/|$)|\.git(/|$)|\.venv", name) or "__pycache__" in name]
    assert not ignored
    assert not [name for name in names if name.endswith((".o", ".a", ".so", ".whl", "CMakeCache.txt"))]


@pytest.mark.long
def test_meson(tmp_path: Path) -> None:
    meson = tool("meson")
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    options = ("-Doptimization=0", "-Ddebug=false", "-Dsimulator=false")
    # Meson drops the system's folders from CFLAGS, and without them -nostdinc leaves nothing.
    run(meson, "setup", build, ROOT, f"--prefix={prefix}", *options, env={"CFLAGS": ""})
    run(meson, "compile", "-C", build, "-j2")
    run(meson, "install", "-C", build, "--no-rebuild")
    (description,) = prefix.rglob("anycuda.pc")
    assert f"Version: {VERSION}\n" in description.read_text()
    flags: list[str | Path] = [f"-I{prefix}/include", next(prefix.rglob("libanycuda.a")), "-ldl", "-lpthread"]
    run(CC, *without_cuda(CC), PROJECT / "main.c", "-o", tmp_path / "consumer", *flags)
    assert run(tmp_path / "consumer") == "linked\n"


@pytest.mark.long
def test_conan(tmp_path: Path) -> None:
    conan = tool("conan")
    env = {"CONAN_HOME": str(tmp_path / "home")}
    run(conan, "profile", "detect", env=env)
    settings = ("-s", "build_type=Debug", "--no-remote")
    options = ("-c", "tools.build:jobs=2", "-c", 'tools.build:cflags=["-O0", "-g0"]')
    run(conan, "create", ROOT, *settings, *options, env=env)
    generators = ("-g", "CMakeDeps", "-g", "CMakeToolchain")
    requires = f"--requires=anycuda/{VERSION}"
    install = (conan, "install", requires, *settings, *generators, "-of", tmp_path / "deps")
    run(*install, cwd=tmp_path, env=env)  # Conan leaves CMakeUserPresets.json in the folder where it is run.
    toolchain = f"-DCMAKE_TOOLCHAIN_FILE={tmp_path / 'deps' / 'conan_toolchain.cmake'}"
    run("cmake", "-S", PROJECT, "-B", tmp_path / "found", toolchain, "-DCMAKE_BUILD_TYPE=Debug")
    run("cmake", "--build", tmp_path / "found")
    assert run(tmp_path / "found/consumer") == "linked\n"
    assert run(tmp_path / "found/consumer_sim") == "simulated 1 2 3\n"


def test_vcpkg(tmp_path: Path) -> None:
    vcpkg = shutil.which("vcpkg")
    if vcpkg is None or not os.environ.get("VCPKG_ROOT"):
        pytest.skip("there is no vcpkg here, or VCPKG_ROOT does not say where its ports are")
    folders = [f"--x-install-root={tmp_path / 'installed'}", f"--x-buildtrees-root={tmp_path / 'trees'}"]
    run(vcpkg, "install", "anycuda", f"--overlay-ports={ROOT / 'packages/vcpkg'}", *folders)
    (config,) = (tmp_path / "installed").glob("*/share/anycuda/anycuda-config.cmake")
    run("cmake", "-S", PROJECT, "-B", tmp_path / "found", f"-Danycuda_DIR={config.parent}")
    run("cmake", "--build", tmp_path / "found")
    assert run(tmp_path / "found/consumer") == "linked\n"
    assert run(tmp_path / "found/consumer_sim") == "simulated 1 2 3\n"


STUBS = """
set(CMAKE_CURRENT_LIST_DIR "@PORT@")
set(CURRENT_PACKAGES_DIR "@FOLDER@")
macro(vcpkg_check_linkage)
endmacro()
macro(vcpkg_cmake_configure)
    message("configure ${ARGN}")
endmacro()
macro(vcpkg_cmake_install)
endmacro()
macro(vcpkg_cmake_config_fixup)
    message("fixup ${ARGN}")
endmacro()
macro(vcpkg_fixup_pkgconfig)
endmacro()
macro(vcpkg_install_copyright)
    message("copyright ${ARGN}")
endmacro()
"""


def test_vcpkgs_port_says_what_is_there(tmp_path: Path) -> None:
    """Without vcpkg: its recipe, with functions that print."""
    port = ROOT / "packages/vcpkg/anycuda"
    script = tmp_path / "port.cmake"
    stubs = STUBS.replace("@PORT@", str(port)).replace("@FOLDER@", str(tmp_path))
    script.write_text(stubs + (port / "portfile.cmake").read_text())
    said = run("cmake", "-P", script).replace(str(ROOT), "ROOT").replace("ROOT/packages/vcpkg/anycuda/../../..", "ROOT")
    assert (
        "configure SOURCE_PATH;ROOT;OPTIONS;-DANYCUDA_TOOLS=OFF" in said or "configure SOURCE_PATHROOTOPTIONS" in said
    )
    assert "lib/cmake/anycuda" in said and (ROOT / "LICENSE").exists()


# ---- the same bytes


def test_what_is_built_holds_no_path_and_no_time(library: Library) -> None:
    for name in ("libanycuda.a", "libanycuda_sim.a"):
        archive = library.archive.parent / name
        assert str(ROOT).encode() not in archive.read_bytes(), name
        lines = run("ar", "tv", archive, env={"TZ": "UTC"}).splitlines()
        assert len(lines) > 100 and all(" 1970 " in line for line in lines), name


def test_the_sources_archive_is_the_same_each_time(tmp_path: Path) -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no git repository")
    digests = set()
    for number in range(2):
        said = run("make", "-C", ROOT, "--no-print-directory", "dist", f"BUILD={tmp_path / str(number)}")
        digests.add(said.split()[0])
        assert (tmp_path / str(number) / f"anycuda-{VERSION}.tar.gz").exists()
    assert len(digests) == 1


# ---- what is fetched, and by which hash (docs/internals/supply-chain.md)


def test_every_python_package_has_a_hash() -> None:
    locks = sorted(ROOT.glob("requirements*.lock"))
    assert len(locks) == 4
    for lock in locks:
        text = lock.read_text()
        packages = re.findall(r"^[a-z0-9][\w.-]*==[^\\]*\\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", text, re.M)
        assert packages and len(packages) == len(re.findall(r"^[a-z0-9][\w.-]*==", text, re.M)), lock
    assert "--require-hashes" in (ROOT / "tools" / "bootstrap.sh").read_text()


def test_every_file_of_the_toolkits_has_a_hash() -> None:
    document = yaml.safe_load((ROOT / "spec" / "toolkits.yaml").read_text())
    found = 0

    def walk(node: object) -> None:
        nonlocal found
        if isinstance(node, dict):
            if "url" in node or "wheel" in node or "file" in node:
                assert re.fullmatch(r"[0-9a-f]{64}", str(node.get("sha256", ""))), node
                found += 1
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(document)
    assert found > 17


def test_nothing_else_fetches() -> None:
    """Only the generator's cache and bootstrap.sh reach for a network; building the library reaches for none."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    fetches = re.compile(
        r"urlopen|urlretrieve|\bcurl\b|\bwget\b|FetchContent|ExternalProject|pip install|git clone|apt-get install -y"
    )
    allowed = (
        "generator/fetch.py",
        "tools/bootstrap.sh",
        "tests/",
        "docs/",
        "README.md",
        "CONTRIBUTING.md",
        "spec/facts/",
    )
    for file in done.stdout.splitlines():
        if file.endswith((".py", ".sh", ".txt", ".cmake", ".in", "Makefile", ".build")) and not file.startswith(
            allowed
        ):
            found = fetches.findall((ROOT / file).read_text(errors="replace"))
            assert not found, f"{file}: {found}"
