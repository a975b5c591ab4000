"""The amalgamation: one compile line, the same program, and names that mean one thing."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.compile.toolchain import CC, COMPILERS, ROOT, compiler, without_cuda, works
from tools import amalgamate

PROGRAM = re.compile(r"#include <anycuda/\w+\.h>")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("amalgamation")
    for name, text in amalgamate.make().items():
        (made / name).write_text(text, encoding="utf-8")
    for name in ("example.h", "vector_add.c", "any_runtime.c"):  # as a user would write their includes
        text = (ROOT / "examples" / name).read_text(encoding="utf-8")
        (made / name).write_text(PROGRAM.sub('#include "anycuda.h"', text), encoding="utf-8")
    return made


def run(program: Path, **variables: str) -> str:
    done = subprocess.run([program], env=variables, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_one_compile_line(folder: Path) -> None:
    """The programs of examples/, with their warnings, on the simulator beside the library."""
    objects = [folder / name for name in ("anycuda.o", "anycuda_sim.o")]
    for made in objects:
        works([CC, *without_cuda(CC), "-c", "-g0", "-Werror", made.with_suffix(".c"), "-o", made])
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-DANYCUDA_CUDA_NAMES"]
    for name, says in (("vector_add", "all 1000000 sums are right"), ("any_runtime", "13.5")):
        program = folder / name
        command = [
            CC,
            *without_cuda(CC),
            *flags,
            program.with_suffix(".c"),
            *objects,
            "-ldl",
            "-lpthread",
            "-lm",
            "-o",
            program,
        ]
        works(command)
        assert says in run(program, ANYCUDA_CUDART="sim")


RUNTIME = """
#include "anycuda.h"
#include <stdio.h>
int main(void) {
    acu_client *client = NULL;
    acu_block *block = NULL;
    int there[2] = {1, 2}, back[2] = {0, 0};
    if (acu_client_create(acu_place_cpu(), NULL, &client) || acu_block_create(client, sizeof there, &block) ||
        acu_block_write(client, block, 0, there, sizeof there) || acu_block_read(client, block, 0, back, sizeof back))
        puts(acu_last_error_message());
    printf("%d\\n", back[1]);
    return acu_block_release(block) || acu_client_release(client);
}
"""


def test_the_runtime_interface(folder: Path) -> None:
    """Its back ends are files of their own; the library's object is another test's."""
    (folder / "runtime.c").write_text(RUNTIME)
    units = [folder / f"anycuda{end}.c" for end in ("_runtime", "_runtime_cuda", "_runtime_webgpu", "")]
    works([CC, *without_cuda(CC), "-g0", folder / "runtime.c", *units, "-ldl", "-lpthread", "-o", folder / "runtime"])
    assert run(folder / "runtime") == "2\n"


@pytest.mark.parametrize("name", COMPILERS)
@pytest.mark.parametrize("dialect", ["c11", "c2x", "c++11", "c++20"])
def test_the_header(folder: Path, name: str, dialect: str, tmp_path: Path) -> None:
    unit = tmp_path / ("unit.c" if dialect.startswith("c1") or dialect == "c2x" else "unit.cpp")
    unit.write_text('#include "anycuda.h"\nextern int some_declaration;\n')
    command = [
        *compiler(name, dialect),
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        f"-I{folder}",
        "-fsyntax-only",
        unit,
    ]
    works(command)
    works([*command, "-DANYCUDA_CUDA_NAMES"])


def test_it_is_the_same_each_time(folder: Path) -> None:
    for name, text in amalgamate.make().items():
        assert (folder / name).read_text(encoding="utf-8") == text, name
        assert str(ROOT) not in text and "#include <anycuda/" not in text, name


# ---- what the amalgamation needs of src/: two files may keep a name for themselves, two headers may not


def headers() -> list[Path]:
    folders = ("src", "generated/src", "include", "generated/include/anycuda")
    found = [file for folder in folders for file in sorted((ROOT / folder).rglob("*.h"))]
    return [file for file in found if "compat" not in file.parts]


def test_each_header_has_a_guard_of_its_own() -> None:
    guards: dict[str, list[str]] = defaultdict(list)
    for file in headers():
        if guard := re.search(r"^#ifndef (\w+)\n#define \1\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            guards[guard[1]].append(str(file.relative_to(ROOT)))
    assert {guard: files for guard, files in guards.items() if len(files) > 1} == {}
    assert len(guards) > 150


def test_a_type_is_one_type_in_all_headers() -> None:
    """What is declared again, as `typedef struct acu_event acu_event;`, is the same; a body stands once."""
    bodies: dict[str, list[str]] = defaultdict(list)
    for file in headers():
        if "runtime" in file.parts:  # a unit of its own
            continue
        text = amalgamate.without_cxx(file.read_text(encoding="utf-8"))
        for name in re.findall(r"^(?:typedef )?(?:struct|union|enum) (acu_\w+) \{", text, re.MULTILINE):
            bodies[name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in bodies.items() if len(files) > 1} == {}


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        (
            "static int count(void);\nint f(void) { return count(); }",
            "static int n(void);\nint f(void) { return n(); }",
        ),
        ("int f(struct s *x) { return x->count + x.count; }", "int f(struct s *x) { return x->count + x.count; }"),
        ("int f(int count) { return count; }", "int f(int count) { return count; }"),
        (
            "int f(void) { int *count = 0; NEED(count); return g; }",
            "int f(void) { int *count = 0; NEED(count); return g; }",
        ),
        ("struct s {\n    int count;\n    char x[count];\n};", "struct s {\n    int count;\n    char x[n];\n};"),
        ('puts("count"); /* count */', 'puts("count"); /* count */'),
        ("#define A count(1)\nint x = A;", "#define A n(1)\nint x = A;"),
    ],
)
def test_only_what_means_the_name_is_renamed(text: str, becomes: str) -> None:
    assert amalgamate.rename(text, {"count": "n"}) == becomes
