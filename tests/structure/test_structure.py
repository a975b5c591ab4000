"""src/ is divided as tools/structure.py's table ALLOWED says, and a public function is in the file of its noun."""

from __future__ import annotations

import pytest

from tools import structure


def test_every_folder_has_a_place_in_the_table() -> None:
    assert {structure.part_of(file) for file in structure.files()} - set(structure.ALLOWED) == set()


def test_arrows_go_one_way() -> None:
    wrong = [str(one) for one in structure.forbidden()]
    if wrong:
        pytest.fail("\n".join(["not allowed by ALLOWED in tools/structure.py:", *wrong]), pytrace=False)


def test_headers_declare_what_their_folder_defines() -> None:
    """A header that declares what another folder defines would hide an arrow."""
    hidden = [f"{one.header} declares {one.name}(), whose body is in {one.body}" for one in structure.strays()]
    if hidden:
        pytest.fail("\n".join(hidden), pytrace=False)


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
    wrong = [
        f"{one.name}() of {one.header} is in {one.body or 'no file'}: "
        "move it to its noun's file, or give the reason in ELSEWHERE of tools/structure.py"
        for one in structure.away()
        if one.name not in structure.ELSEWHERE
    ]
    wrong += [
        f"ELSEWHERE of tools/structure.py lists {name}(), which is in its noun's file: take it out"
        for name in sorted(structure.ELSEWHERE.keys() - {one.name for one in structure.away()})
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


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
