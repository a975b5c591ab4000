"""src/ is divided as tools/structure.py's table ALLOWED says, and a public function is in the file of its noun."""

from __future__ import annotations

import pytest

from tools import structure

# What is wrong today, each line exactly: one that is no longer true fails, too, and is to be taken out.
KNOWN_INCLUDES = """
sim/device/device.c -> sim/code/module.h
sim/device/device.c -> sim/graph/exec.h
sim/device/device.c -> sim/graph/graph.h
sim/device/device.c -> sim/graph/graph_memory.h
sim/device/device.c -> sim/memory/array.h
sim/device/device.c -> sim/memory/external_memory.h
sim/device/device.c -> sim/memory/external_semaphore.h
sim/device/device.c -> sim/memory/guard.h
sim/device/device.c -> sim/memory/memory.h
sim/device/device.c -> sim/memory/pool.h
sim/device/device.c -> sim/memory/texture.h
sim/device/device.c -> sim/memory/virtual.h
sim/device/device.c -> sim/stream/capture.h
sim/device/device.c -> sim/stream/event.h
sim/device/device.c -> sim/stream/execution_context.h
sim/device/device.c -> sim/stream/stream.h
sim/sim.c -> sim/code/module.h
sim/sim.c -> sim/code/nvrtc.h
sim/sim.c -> sim/device/context.h
sim/sim.c -> sim/device/device.h
sim/sim.c -> sim/device/device_resource.h
sim/sim.c -> sim/device/notify.h
sim/sim.c -> sim/driver/driver.h
sim/sim.c -> sim/entry/entries.h
sim/sim.c -> sim/graph/exec.h
sim/sim.c -> sim/graph/graph.h
sim/sim.c -> sim/graph/user_object.h
sim/sim.c -> sim/memory/array.h
sim/sim.c -> sim/memory/external_memory.h
sim/sim.c -> sim/memory/external_semaphore.h
sim/sim.c -> sim/memory/guard.h
sim/sim.c -> sim/memory/memory.h
sim/sim.c -> sim/memory/pool.h
sim/sim.c -> sim/memory/texture.h
sim/sim.c -> sim/memory/virtual.h
sim/sim.c -> sim/stream/event.h
sim/sim.c -> sim/stream/execution_context.h
sim/sim.c -> sim/stream/schedule.h
sim/sim.c -> sim/stream/stream.h
sim/sim.h -> sim/device/need.h
sim/stream/event.c -> sim/memory/guard.h
sim/stream/event.c -> sim/memory/pool.h
sim/stream/execution_context.c -> sim/memory/guard.h
sim/stream/execution_context.c -> sim/memory/pool.h
sim/stream/stream.c -> sim/memory/guard.h
sim/stream/stream.c -> sim/memory/pool.h
"""
# A header that declares what another folder defines hides an arrow.
KNOWN_STRAYS = """
src/sim/device/context.h -> src/sim/driver
"""
AT_HOME = 95.0  # per cent


def check(found: dict[str, str], known: str) -> None:
    """Fails with what is found and not known, and with what is known and no longer found."""
    listed = set(known.split("\n")) - {""}
    new = [text for arrow, text in found.items() if arrow not in listed]
    assert not new, "\n".join(["not allowed by ALLOWED in tools/structure.py:", *new])
    gone = sorted(listed - set(found))
    assert not gone, "\n".join(["no longer true, take it out of the list of what is known:", *gone])


def test_every_folder_has_a_place_in_the_table() -> None:
    assert {structure.part_of(file) for file in structure.files()} - set(structure.ALLOWED) == set()


def test_arrows_go_one_way() -> None:
    check({f"{one.file} -> {one.named}": str(one) for one in structure.forbidden()}, KNOWN_INCLUDES)


def test_headers_declare_what_their_folder_defines() -> None:
    found = {}
    for one in structure.strays():
        folder = str(one.body).rsplit("/", 1)[0]
        found[f"{one.header} -> {folder}"] = f"{one.header} declares {one.name}(), whose body is in {one.body}"
    check(found, KNOWN_STRAYS)


def test_no_header_includes_itself() -> None:
    assert [" -> ".join(cycle) for cycle in structure.cycles()] == []


def test_includes_are_written_from_src() -> None:
    """A bare name could mean a file of another folder; only generated headers have one."""
    for one in structure.includes():
        inner = (structure.ROOT / "src" / one.named).exists() and "/" in one.named
        assert inner or structure.is_generated(one.named) or one.named.startswith("anycuda/"), str(one)


def test_headers_of_a_library_have_names_of_their_own() -> None:
    assert structure.equal_names() == []


def test_public_functions_are_in_the_file_of_their_noun() -> None:
    functions = structure.public_functions()
    assert len(functions) > 250
    away = [f"{one.name} of {one.header} is in {one.body}" for one in functions if not one.is_at_home]
    share = structure.share_at_home()
    assert share >= AT_HOME, "\n".join([f"{share:.1f} % are, of {len(functions)}; these are not:", *away])


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("acu_event *acu_event_retain(acu_event *event);", "acu_event_retain"),
        ("ACU_CHECKED acu_result acu_stream_each(acu_stream *s, void (*f)(void *));", "acu_stream_each"),
        ("__attribute__((hot)) size_t acu_dtype_size(acu_dtype dtype) {", "acu_dtype_size"),
        ("void acu_say(const char *format, ...) __attribute__((format(printf, 1, 2)));", "acu_say"),
        ("static int acu_private(void) {", None),
        ("typedef void (*acu_function)(void *argument);", None),
        ("struct acu_buffer {", None),
    ],
)
def test_function_names(statement: str, name: str | None) -> None:
    assert structure.function_name(statement) == name


def test_statements() -> None:
    lines = [
        "/* int no(void); */",
        "#define NO(x) \\",
        "    no(x);",
        "int yes(void);",
        "int body(void) {",
        "    char c = '}';",
        '    no("{");',
        "}",
    ]
    assert list(structure.statements("\n".join(lines))) == ["int yes(void);", "int body(void) {"]
