"""What README.md and docs/ show compiles, runs and prints what they say.

Every block of C or C++ is a file of its own. One with a main() is run on the simulator; a block of text behind it is
what it prints, where "…" stands for anything.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.compile.toolchain import ROOT, without_cuda

README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
DIALECTS = {"c": "-std=c11", "cpp": "-std=c++17"}


@dataclass
class Program:
    language: str  # c or cpp
    text: str
    printed: str | None  # None: not said


def programs(page: Path) -> list[Program]:
    text = page.read_text()
    block = re.compile(r"^```(c|cpp)\n(.*?)^```\n(?:(?:[^`\n]*\n){0,2}?```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
    found = [Program(match[1], match[2], match[3]) for match in block.finditer(text)]
    assert len(found) == text.count("```c\n") + text.count("```cpp\n"), page
    return found


SHOWN = [
    pytest.param(program, id=f"{page.name}-{number}")
    for page in PAGES
    for number, program in enumerate(programs(page), 1)
]


def compiler(language: str = "c") -> str:
    found = shutil.which(os.environ.get("CC", "cc") if language == "c" else os.environ.get("CXX", "c++"))
    if not found and language == "cpp":
        pytest.skip("there is no C++ compiler here")
    assert found
    return found


def run(program: Path, **variables: str) -> str:
    done = subprocess.run(
        [program], env={"PATH": "/bin", **variables}, check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("shown", SHOWN)
def test_block(prefix: Path, tmp_path: Path, shown: Program) -> None:
    source = f"program.{shown.language}"
    (tmp_path / source).write_text(shown.text)
    include = f"-I{prefix / 'include'}"
    runs = "int main(" in shown.text
    libraries = [
        "-Wl,-u,acu_sim_abi",
        f"-L{next(prefix.rglob('libanycuda.a')).parent}",
        "-lanycuda_sim",
        "-lanycuda",
        "-ldl",
        "-lpthread",
        "-lm",
    ]
    program = compiler(shown.language)
    command = [
        program,
        *without_cuda(program, "c" if shown.language == "c" else "c++"),
        DIALECTS[shown.language],
        *WARNINGS,
        include,
        source,
        "-o",
        "program",
        *(libraries if runs else ["-c"]),
    ]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if runs:
        printed = run(tmp_path / "program", ANYCUDA_CUDART="sim")
        if shown.printed is not None:
            pattern = ".*".join(re.escape(part) for part in shown.printed.split("…"))
            assert re.fullmatch(pattern, printed, re.DOTALL), printed


def readme_command() -> list[str]:
    """The flags of README's command."""
    command = re.search(r"^cc program\.c ((?:.*\\\n)*.*)$", README.read_text(), re.MULTILINE)
    assert command
    return command[1].replace("\\\n", " ").replace("-I", f"-I{ROOT}/").split()


def build_by_hand(prefix: Path, folder: Path, flags: list[str]) -> None:
    """Compiles README's wrapper program with these flags."""
    (folder / "program.c").write_text(next(one.text for one in programs(README) if "<anycuda/cudart.h>" in one.text))
    built = next(prefix.rglob("libanycuda.a")).parent
    flags = [flag.replace("build/release", str(built)) for flag in flags]
    subprocess.run(
        [compiler(), *without_cuda(compiler()), "program.c", *flags, "-o", "program"], cwd=folder, check=True
    )


def test_readme_command_with_the_simulator(prefix: Path, tmp_path: Path) -> None:
    """What README adds to its command, in the order that it says."""
    said = re.search(r"by hand that is (.*?)\. You", README.read_text(), re.DOTALL)
    assert said
    symbol, simulator, behind = re.findall(r"`(.*?)`", said[1])
    flags = readme_command()
    archive = next(flag for flag in flags if flag.endswith("libanycuda.a"))
    flags[flags.index(archive) : flags.index(archive)] = [symbol, simulator]
    build_by_hand(prefix, tmp_path, [*flags, behind])
    assert "anycuda simulator" in run(tmp_path / "program", ANYCUDA_CUDART="sim")


def test_readme_command(prefix: Path, tmp_path: Path) -> None:
    """The wrapper program, with README's command, on a machine without CUDA."""
    build_by_hand(prefix, tmp_path, readme_command())
    said = run(tmp_path / "program", ANYCUDA_CUDART="/nonexistent/libcudart.so.12")
    assert "cudaGetDeviceProperties" in said and "/nonexistent/libcudart.so.12" in said


def test_readme_names_the_header_of_small_functions(prefix: Path, tmp_path: Path) -> None:
    """Those that README names are there in C, with the header that it names before them."""
    found = re.search(r"^`<(anycuda/\w+\.h)>` has, in addition,.*?\n\n", README.read_text(), re.DOTALL | re.MULTILINE)
    assert found
    names = re.findall(r"`(make_\w+)\(\)`", found[0])
    assert {"make_cudaExtent", "make_cudaPos", "make_cudaPitchedPtr"} <= set(names)
    uses = "".join(f"    (void){name};\n" for name in names)
    (tmp_path / "program.c").write_text(f"#include <{found[1]}>\n\nvoid use(void);\nvoid use(void) {{\n{uses}}}\n")
    command = [compiler(), *without_cuda(compiler()), DIALECTS["c"], *WARNINGS]
    command += [f"-I{prefix / 'include'}", "-c", "program.c"]
    subprocess.run(command, cwd=tmp_path, check=True)


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, *ROOT.glob("*/README.md"), *(ROOT / "src").rglob("README.md")]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


@pytest.mark.parametrize("page", [*PAGES, CONTRIBUTING], ids=lambda page: page.name)
def test_pages_fit(page: Path) -> None:
    """README and CONTRIBUTING a terminal, the others an editor. A table is as wide as its rows, but in CONTRIBUTING."""
    columns = 80 if page in (README, CONTRIBUTING) else 120
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    wide = [line for line in text.splitlines() if len(line) > columns]
    assert [line for line in wide if page == CONTRIBUTING or not line.startswith("|")] == []
