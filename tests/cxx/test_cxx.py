"""The C++ headers with each compiler and dialect: what compiles, what must not, and what a call costs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.compile.toolchain import COMPILERS, WARNINGS, compiler, fails, run, works

HERE = Path(__file__).resolve().parent
DIALECTS = ("c++17", "c++20", "c++2b")
HEADERS = ("anycuda.hpp", "runtime.hpp", "cxx.hpp", "anycuda_inline.hpp", "runtime_inline.hpp")
every_compiler = pytest.mark.parametrize("name", COMPILERS)


@every_compiler
def test_each_header_alone(name: str, tmp_path: Path) -> None:
    units = []
    for number, header in enumerate(HEADERS):
        units.append(tmp_path / f"unit{number}.cpp")
        units[-1].write_text(f"#include <anycuda/{header}>\nint some_declaration;\n")
    works([*compiler(name, "c++17"), *WARNINGS, "-fsyntax-only", *units])


@every_compiler
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("exceptions", ["-fexceptions", "-fno-exceptions"])
def test_every_dialect(name: str, dialect: str, exceptions: str, tmp_path: Path) -> None:
    unit = tmp_path / "unit.cpp"
    unit.write_text("#include <anycuda/runtime.hpp>\nint some_declaration;\n")
    works([*compiler(name, dialect), *WARNINGS, exceptions, "-fsyntax-only", unit])


@every_compiler
def test_before_cxx17_one_sentence_says_why(name: str, tmp_path: Path) -> None:
    unit = tmp_path / "unit.cpp"
    unit.write_text("#include <anycuda/anycuda.hpp>\n")
    assert any("need C++17 or newer" in error for error in fails([*compiler(name, "c++14"), "-fsyntax-only", unit]))


@every_compiler
@pytest.mark.parametrize(("dialect", "exceptions"), [("c++17", "-fno-exceptions"), ("c++2b", "-fexceptions")])
def test_the_programs_compile(name: str, dialect: str, exceptions: str) -> None:
    programs = [HERE / "test_safe.cpp", HERE / "test_runtime.cpp"]
    works([*compiler(name, dialect), *WARNINGS, exceptions, "-fsyntax-only", *programs])


# Each line with a comment is wrong, for the reason that it gives; the others are right.
WRONG = """
#include <anycuda/runtime.hpp>
#include <vector>
void wrong(acu::stream s, acu::kernel k, acu::buffer_of<float> b, acu::event_ref e, acu::buffer any);
void wrong(acu::stream s, acu::kernel k, acu::buffer_of<float> b, acu::event_ref e, acu::buffer any) {
    const acu_grid grid = acu::grid_1d(1, 1);
    s.synchronize(); // ignored
    acu::stream::create(0); // ignored
    (void)acu::launch(s, k, acu::grid_1d(1, 1), b, 1.0f, b.get(), any);
    (void)acu::launch(s, k, acu::grid_1d(1, 1), s); // no kernel takes a stream
    (void)acu::launch(s, k, acu::grid_1d(1, 1), e); // nor an event
    (void)acu::launch(s, k, acu::grid_1d(1, 1), [] {}); // nor a function, which could be a bool
    (void)acu::launch(s, k, acu::grid_1d(1, 1), &acu::stream::get); // nor that
    (void)acu::launch(s, k, acu::grid_1d(1, 1), std::vector<float>{1}); // nor memory of the host
    (void)acu::launch(s, k, acu::grid_1d(1, 1), grid); // a struct goes by acu_bytes()
    (void)acu::launch(s, k, acu::grid_1d(1, 1), nullptr, true, 'c', ACU_VALUE_WAIT, acu_bytes(&grid, sizeof grid));
    acu::stream copy = s; // two owners
    acu::stream_ref borrowed = s;
    acu::stream taken = borrowed; // an owner from nothing
    acu::stream from_c = s.get(); // unseen
    acu_stream *to_c = s; // unseen
    (void)b.write(std::vector<float>{1});
    (void)b.write(std::vector<int>{1}); // other elements
    (void)b.read(std::vector<float>(1)); // into what ends at once
    (void)b.fill(nullptr); // no float
    acu::buffer_of<int> ints = std::move(b); // other elements
    acu::buffer_of<float> floats = std::move(any); // must be said
    (void)s.wait_event(b); // another noun
    if (s.synchronize() == true) // no bool
        (void)s.call([](int) {}); // a closure takes nothing
}
"""


@every_compiler
def test_what_is_wrong_does_not_compile(name: str, tmp_path: Path) -> None:
    unit = tmp_path / "unit.cpp"
    unit.write_text(WRONG)
    command = [*compiler(name, "c++17"), "-Werror=unused-result", "-Wno-unused-variable", "-fsyntax-only", unit]
    command += ["-ferror-limit=0"] if name == "clang" else []
    # Where an error is in a header, a note says from which line it is.
    done = run(command)
    assert done.returncode != 0
    where = r"unit\.cpp:(\d+):\d+:(?= error: |.* required from here| note: in instantiation .* requested here)"
    found = {int(number) for number in re.findall(where, done.stderr)}
    assert found == {at for at, line in enumerate(WRONG.split("\n"), 1) if "//" in line}
    assert done.stderr.count("no kernel takes this: give a number") >= 6


@every_compiler
def test_without_exceptions_nothing_throws(name: str, tmp_path: Path) -> None:
    unit = tmp_path / "unit.cpp"
    unit.write_text("#include <anycuda/anycuda.hpp>\nint main() { acu::stream::create(0).value(); }\n")
    works([*compiler(name, "c++17"), "-fsyntax-only", unit])
    assert any(
        "value" in error for error in fails([*compiler(name, "c++17"), "-fno-exceptions", "-fsyntax-only", unit])
    )


# ---- what a call costs: the compiler makes as many instructions of C++ as of C, with the same calls.

PAIRS = {
    "synchronize": ("acu_stream *s", "acu_stream_synchronize(s)", "acu::stream_ref(s).synchronize().code()"),
    "record": ("acu_event *e, acu_stream *s", "acu_event_record(e, s)", "acu::event_ref(e).record(s).code()"),
    "copy": ("acu_buffer *a, acu_buffer *b", "acu_buffer_copy(a, b, nullptr)", "acu::buffer_ref(a).copy(b).code()"),
    "count": ("acu_buffer *a", "static_cast<int>(acu_buffer_count(a))", "static_cast<int>(acu::buffer_ref(a).count())"),
    "launch": (
        "acu_stream *s, acu_kernel *k, acu_buffer *a, float x, int n",
        "acu_launch(s, k, acu_grid_1d(256, 256), acu_in(a), x, n)",
        "acu::launch(s, k, acu::grid_1d(256, 256), acu::in(a), x, n).code()",
    ),
    "replay": ("acu_exec *x, acu_stream *s", "acu_exec_launch(x, s)", "acu::exec_ref(x).launch(s).code()"),
}
# A handle that is made, used and released.
OWNED = """
int c_owned(acu_device device) {
    acu_stream *stream = nullptr;
    acu_result code = acu_stream_create(device, nullptr, &stream);
    if (code == ACU_SUCCESS)
        code = acu_stream_synchronize(stream);
    if (stream)
        acu_stream_cleanup(&stream);
    return code;
}
int cxx_owned(acu_device device) {
    auto stream = acu::stream::create(device);
    return stream ? stream->synchronize().code() : stream.code();
}
"""


def instructions(assembly: str, function: str) -> list[str]:
    """A function's instructions without its own name and the numbers of its labels."""
    body = re.search(rf"^{function}:[^\n]*(.*?)\.size\s+{function},", assembly, re.S | re.M)
    assert body, function
    found = []
    for line in body[1].split("\n"):
        text = re.sub(r"\s*#.*|;.*", "", re.sub(r"\.L\w+", "L", line)).strip()
        if text and not text.startswith(".") and text != "L:":
            found.append(re.sub(r"\s+", " ", text))
    return found


def calls(lines: list[str]) -> list[str]:
    return [line.split()[-1] for line in lines if re.match(r"(callq?|jmp|bl?) \w*acu_|call.*_Unwind", line)]


@every_compiler
def test_a_call_costs_nothing(name: str, tmp_path: Path) -> None:
    unit, assembly = tmp_path / "unit.cpp", tmp_path / "unit.s"
    functions = [
        f"int {language}_{pair}({parameters}) {{ return {text}; }}\n"
        for pair, (parameters, c, cxx) in PAIRS.items()
        for language, text in (("c", c), ("cxx", cxx))
    ]
    unit.write_text('#include <anycuda/anycuda.hpp>\nextern "C" {\n' + "".join(functions) + OWNED + "}\n")
    works([*compiler(name, "c++17"), "-O2", "-S", unit, "-o", assembly])
    text = assembly.read_text()
    for pair in PAIRS:
        c, cxx = instructions(text, f"c_{pair}"), instructions(text, f"cxx_{pair}")
        assert len(cxx) <= len(c) and calls(cxx) == calls(c), f"{c} became {cxx}"
    c, cxx = instructions(text, "c_owned"), instructions(text, "cxx_owned")
    assert set(calls(cxx)) - {"_Unwind_Resume", "_Unwind_Resume@PLT"} == set(calls(c))
    assert len(cxx) <= len(c) + 12
