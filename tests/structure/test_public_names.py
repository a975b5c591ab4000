"""Every public function has the name and the parameters that CONTRIBUTING.md's table "Public names" asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tools import structure

HEADERS = structure.ROOT / "include" / "anycuda"
# What a function of a noun does, where it is neither a property nor a getter, setter or predicate.
VERBS = set(
    re.findall(
        r"\w+",
        """add adopt advise allocate attach begin bind call capture checkpoint clear clone compile copy
        create describe destroy disable discard draw enable end enter export fail fill find flush forget fork free
        freeze grow import instantiate join keep launch leave link listen load lock map mark open parse pop
        prefetch prepare print profile push query read receive record register reinterpret release remove
        reserve reset restore retain run send shrink signal slice split start stop synchronize thaw trim
        unbind unlock unmap update upload wait wrap write zero""",
    )
)
NOUNS = sorted(
    re.findall(
        r"\w+",
        """allocator args array backend batch block buffer client code code_cache conditional coredump
        device device_guard domain dtype event exec execution_context external external_memory
        external_semaphore graph graph_memory graphics kernel launch listener log mark memory mipmap module multicast
        node physical place pool process profiler program quarantine range region replay run runtime share
        stream surface tensor_map texture thread transfer virtual""",
    ),
    key=len,
    reverse=True,
)
# Their stream is not one to use: a buffer belongs to it from then on, as to the stream of acu_buffer_create().
GIVES_A_STREAM = {"acu_buffer_clone", "acu_buffer_set_stream"}
# Questions about plain values, and one whose answer is there when the object is made: nothing goes wrong in asking.
QUESTIONS = {"acu_dtype_fits", "acu_dtype_storage", "acu_dtype_view", "acu_place_computes", "acu_replay_is_real"}
# Nouns that are plain values, not handles.
VALUES = {"place"}
# What is asked of the process, not of an object, or of the simulator; callable where there is no safe layer.
PLAIN_C = {"layers.h", "load.h", "sim.h", "status.h", "supports.h"}


@dataclass(frozen=True)
class Function:
    """One declaration: what it returns, and its parameters as (type, name)."""

    header: str
    name: str
    result: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def noun(self) -> str | None:
        """The longest noun that the name begins with; None if it begins with none of NOUNS."""
        return next((noun for noun in NOUNS if f"{self.name}_".startswith(f"acu_{noun}_")), None)

    @property
    def words(self) -> list[str]:
        """The name without the prefix and the noun."""
        return self.name.removeprefix(f"acu_{self.noun}").split("_")[1:]

    def __str__(self) -> str:
        return f"{self.name}() of include/anycuda/{self.header}"


def split_parameters(text: str) -> list[str]:
    """Splits at the commas that are not inside of a function pointer's parameters."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip() not in ("", "void", "...")]


def parse_parameter(text: str) -> tuple[str, str]:
    if found := re.match(r"(.*)\(\*(\w+)\)(\(.*\))$", text):
        return f"{found[1]}(*){found[3]}", found[2]
    found = re.match(r"(.*?)(\w+)(\[\w+\])?$", text)
    assert found, text
    return found[1].strip() + (" *" if found[3] else ""), found[2]


def parse(header: str, statement: str) -> Function | None:
    statement = re.sub(r" ?__attribute__\(\(.*\)\)", "", statement)
    found = re.match(r"(?:ACU_CHECKED )?([\w ]+?[\s*]+)(acu_\w+)\((.*)\);$", statement)
    if not found or found[1].startswith(("typedef", "static")):
        return None
    parameters = tuple(parse_parameter(text) for text in split_parameters(found[3]))
    return Function(header, found[2], found[1].strip(), parameters)


def functions() -> list[Function]:
    found = []
    for header in sorted(HEADERS.glob("*.h")):
        if header.name in PLAIN_C:
            continue
        text = header.read_text().replace("ACU_BEGIN_C", "").replace("ACU_END_C", "")
        for statement in structure.statements(text):
            if one := parse(header.name, re.sub(r"\s+", " ", statement).strip()):
                found.append(one)
    return found


ALL = functions()


def is_out(kind: str) -> bool:
    """A pointer through which the function returns something."""
    return kind.endswith("*") and (kind.endswith("**") or not kind.startswith("const "))


def name_is_wrong(one: Function) -> str | None:
    if one.noun is None:
        return "begins with no noun of NOUNS in tests/structure/test_public_names.py: rename it, or add the noun there"
    if one.name in QUESTIONS:
        return None
    first = one.words[0] if one.words else ""
    last = one.parameters[-1] if one.parameters else ("", "")
    if first == "get":
        right = one.result == "acu_result" and is_out(last[0])
        return None if right else "a getter returns acu_result, and the value through its last parameter"
    if first == "set":
        return None if one.result == "acu_result" else "a setter returns acu_result"
    if first in ("is", "can"):
        right = one.result == "acu_result" and last[0] == "bool *"
        return None if right else "a predicate returns acu_result, and the answer through its last parameter, a bool *"
    if one.result not in ("acu_result", "void") and first not in VERBS:
        right = len(one.parameters) <= 1
        return None if right else "a property takes the object alone"
    if (
        first not in VERBS | {"cleanup", "guard", "args", "list", "sized", "quarantine"}
        and one.name != "acu_quarantine"
    ):
        return "what can fail is acu_noun_get_property(), acu_noun_set_property(), or begins with a verb of VERBS"
    return None


def test_names() -> None:
    wrong = [f"{one}: {reason}" for one in ALL if (reason := name_is_wrong(one))]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_every_handle_is_described() -> None:
    """What can be released is an object, and errors name it by the line that acu_noun_describe() writes."""
    names = {one.name for one in ALL}
    nouns = [name.removesuffix("_release") for name in names if re.fullmatch(r"acu_[a-z_]+_release", name)]
    wrong = [f"{noun} has no {noun}_describe(): docs/internals/adding.md" for noun in sorted(nouns)]
    wrong = [line for line, noun in zip(wrong, sorted(nouns), strict=True) if f"{noun}_describe" not in names]
    assert len(nouns) > 10
    for one in ALL:
        if one.words[:1] == ["describe"] and one.noun not in VALUES:
            kinds = [kind for kind, _ in one.parameters]
            if one.result != "size_t" or kinds != [f"const acu_{one.noun} *", "char *", "size_t"]:
                wrong.append(f"{one}: size_t acu_noun_describe(const acu_noun *noun, char *text, size_t size)")
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_all_are_looked_at() -> None:
    assert {"acu_stream_get_priority", "acu_stream_capture", "acu_buffer_raw"} <= {one.name for one in ALL}
    assert len(ALL) > 230


def test_counts() -> None:
    """`count` counts the arrays or elements that stand before it; `things_count` another array; out, it comes last."""
    wrong = []
    for one in ALL:
        for at, (kind, name) in enumerate(one.parameters):
            before = one.parameters[at - 1] if at else ("", "")
            if name == "count" and kind == "size_t *" and at + 1 < len(one.parameters):
                wrong.append(f"{one}: a count that is returned comes last")
            elif name == "count" and kind == "size_t":
                if not (before[0].endswith("*") or before[1] in ("dtype", "at", "from_at")):
                    wrong.append(f"{one}: count does not follow what it counts")
            elif name.endswith("_count") and not before[0].endswith("*"):
                wrong.append(f"{one}: {name} does not follow what it counts")
            elif name == "after" and one.parameters[at + 1][1] != "after_count":
                wrong.append(f"{one}: `after` is followed by `after_count`")
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_names_of_parameters_fit_the_trace() -> None:
    """The trace puts "*NAME=" at once, by acu_line_print(), which cuts what is longer than its piece."""
    piece = re.search(r"char piece\[(\d+)\]", (structure.ROOT / "src" / "layers" / "line.c").read_text())
    assert piece
    texts = [file.read_text() for file in (structure.ROOT / "generated" / "src").glob("*.c")]
    names = [name for text in texts for name in re.findall(r"\\0([A-Za-z_]\w*)", text)]
    assert len(names) > 1000
    assert max(map(len, names)) + len("*=") < int(piece[1])


def test_streams_to_use() -> None:
    """What is done to a buffer on a stream takes that as `on`, last; NULL is the buffer's own stream."""
    wrong = []
    for one in ALL:
        streams = [(at, name) for at, (kind, name) in enumerate(one.parameters) if kind == "acu_stream *"]
        is_on_a_buffer = bool(one.parameters) and one.parameters[0][0] == "acu_buffer *" and "buffer" in one.name
        is_on_a_buffer = is_on_a_buffer or one.noun == "region"
        is_of_arrays = bool(one.parameters) and one.parameters[0][0] in ("acu_array *", "acu_mipmap *")
        is_on_a_buffer = is_on_a_buffer or is_of_arrays
        is_on_a_buffer = is_on_a_buffer or "acu_graphics_unmap" in one.name  # a mapping has a stream of its own
        is_on_a_buffer = is_on_a_buffer and one.name not in GIVES_A_STREAM
        for at, name in streams:
            if is_on_a_buffer and (name != "on" or at + 1 < len(one.parameters)):
                wrong.append(f"{one}: the stream to use is the last parameter, `on`")
            if name == "on" and not is_on_a_buffer:
                wrong.append(f"{one}: `on` may be NULL, for a buffer's own stream; here it is `stream`")
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
