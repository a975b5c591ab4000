"""Every recorded fact, asserted by gcc and clang against the real headers of its toolkit."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from generator import extract, facts, yamlfile
from generator.errors import GeneratorError
from generator.extract import STUBS, Source
from generator.facts import version_key
from generator.fetch import Toolkits
from generator.model import Api, Function, Record

FACTS = yamlfile.SPEC / "facts"
CASES = [
    (folder.name, file.stem)
    for folder in sorted(FACTS.iterdir())
    for file in sorted(folder.glob("*.json"), key=lambda file: version_key(file.stem))
]

# A macro's value can be asserted where it is an expression of integers.
INTEGERS = re.compile(r"(0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*|<<|>>|[-+*|&~()]|\s)+")


@cache
def sources() -> dict[tuple[str, str], Source]:
    libraries = yamlfile.load(yamlfile.SPEC / "libraries.yaml")
    return {(source.library, source.toolkit): source for source in extract.sources(libraries, Toolkits.load())}


@cache
def known(library: str) -> dict[str, facts.Facts]:
    return facts.read_all(FACTS / library)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize(("library", "toolkit"), CASES)
def test_facts_against_the_real_headers(
    compiler: str, library: str, toolkit: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    try:
        source = sources()[library, toolkit]
    except GeneratorError as missing:
        pytest.skip(str(missing))
    assertions = list(Asserter(Api(toolkit, known(library)[toolkit])).all())
    problems = compiled(compiler, source, assertions, tmp_path)
    assert not problems, f"{compiler} disagrees with spec/facts/{library}/{toolkit}.json:\n{problems}"
    print(f"{len(assertions)} assertions hold for {library} {toolkit}, says {compiler}")
    record_property("count: layout assertions compiled", len(assertions))


def test_a_wrong_fact_does_not_compile(tmp_path: Path) -> None:
    """The assertions can fail: each kind does when its fact is off by one."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    header = """
      enum made_kind { madeA = 1 };
      struct made { int a; union { int b; char c; }; };
      typedef struct made made_t;
      #define MADE_FLAG (1 << 2)
      int madeUse(const struct made *p);
    """
    (tmp_path / "made.h").write_text(header)
    source = Source("made", "1.0", ("made.h",), (tmp_path,))
    right = extract.extract(source)
    wrong = Api("1.0", right)
    assert compiled("gcc", source, list(Asserter(wrong).all()), tmp_path) == ""
    for old, new in (
        ('"size": 8', '"size": 9'),
        ('"align": 4', '"align": 8'),
        ('"offset": 4', '"offset": 5'),
        ('"madeA": 1', '"madeA": 2'),
        ('"( 1 << 2 )"', '"( 1 << 3 )"'),
        ('"const struct made *"', '"struct made *"'),
        ('{"header": "made.h", "type": "struct made"}', '{"header": "made.h", "type": "int"}'),
    ):
        text = json.dumps(right)
        assert old in text, old
        api = Api("1.0", json.loads(text.replace(old, new)))
        assert "error" in compiled("gcc", source, list(Asserter(api).all()), tmp_path), f"{new} was believed"


def compiled(compiler: str, source: Source, assertions: list[str], folder: Path) -> str:
    """What the compiler has to say against them; "" if nothing."""
    lines = ["#include <stddef.h>", *(f'#include "{header}"' for header in source.headers)]
    lines += [f'_Static_assert({assertion}, "");' for assertion in assertions]
    file = folder / "facts.c"
    file.write_text("\n".join(lines) + "\n")
    command = [compiler, "-fsyntax-only", "-std=gnu11", "-w", "-x", "c"]
    command += [f"-I{include}" for include in source.include_dirs]
    # After the system's own: they stand in for GL, EGL and VDPAU where those are not installed.
    command += [f"-D{define}" for define in source.defines] + ["-idirafter", str(STUBS), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if "error" in line]
    return "\n".join(errors[:20]) or ("error: " + done.stderr if done.returncode else "")


class Asserter:
    """Writes the facts of one toolkit down as conditions in C."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def all(self) -> Iterator[str]:
        for record in self.api.records.values():
            yield from self.record(record)
        for enum in self.api.enums.values():
            name = self.tagged("enum", enum.name)
            yield f"sizeof({name}) == 4"
            yield f"(({name})-1 < 0) == {int(enum.signed)}"
            yield from (f"{name} == {value}" for name, value in enum.values.items())
        for macro in self.api.macros.values():
            if INTEGERS.fullmatch(macro.value) and re.search(r"\d", macro.value):
                yield f"({macro.name}) == ({macro.value})"
        for typedef in self.api.typedefs.values():
            if typedef.type.base != typedef.name:  # else of an unnamed type, asserted by its contents
                yield f"__builtin_types_compatible_p({typedef.name}, {typedef.type.spelling})"
        for function in self.api.functions.values():
            yield f"__builtin_types_compatible_p(__typeof__(&{function.name}), {pointer_to(function)})"

    def record(self, record: Record) -> Iterator[str]:
        name = self.tagged(record.kind, record.name)
        yield f"sizeof({name}) == {record.size}"
        yield f"_Alignof({name}) == {record.align}"
        yield from self.members(name, record, "", 0)

    def tagged(self, kind: str, name: str) -> str:
        """`typedef struct {…} name;` has no tag."""
        return name if name in self.api.typedefs else f"{kind} {name}"

    def members(self, name: str, record: Record, prefix: str, base: int) -> Iterator[str]:
        """Members of anonymous members included: offsetof reaches them by their own name."""
        for member in record.members():
            path, offset = prefix + member.name, base + member.offset
            if member.bits is None:
                yield f"offsetof({name}, {path}) == {offset}"
                yield f"sizeof((({name} *)0)->{path}) == {member.size}"
                if member.type is not None:
                    yield f"__builtin_types_compatible_p(__typeof__((({name} *)0)->{path}), {member.type.spelling})"
            if member.record is not None:
                inner = f"{path}[0]." if member.count > 1 else f"{path}."
                yield f"sizeof((({name} *)0)->{inner[:-1]}) == {member.record.size}"
                yield from self.members(name, member.record, inner, offset)


def pointer_to(function: Function) -> str:
    params = ", ".join(param.type.spelling for param in function.params) or "void"
    return f"{function.returns.spelling} (*)({params})"
