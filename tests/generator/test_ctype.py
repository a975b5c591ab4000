"""C types: what a spelling says, and how it is written around a name."""

from __future__ import annotations

import pytest

from generator import ctype


@pytest.mark.parametrize(
    ("spelling", "declared"),
    [
        ("int", "int x"),
        ("char *", "char *x"),
        ("const void *const *", "const void *const *x"),
        ("void *const *", "void *const *x"),
        ("unsigned char[53]", "unsigned char x[53]"),
        ("int[2][3]", "int x[2][3]"),
        ("struct cudaArray *[4]", "struct cudaArray *x[4]"),
        ("void (*)(void *)", "void (*x)(void *)"),
        ("int (*)(void (*)(int), char *)", "int (*x)(void (*)(int), char *)"),
    ],
)
def test_declare(spelling: str, declared: str) -> None:
    assert ctype.parse(spelling).declare("x") == declared


def test_names_and_qualifiers() -> None:
    kind = ctype.parse("const struct cudaMemLocation *const *")
    assert (kind.base, kind.tag, kind.const) == ("cudaMemLocation", "struct", True)
    assert kind.pointers == (True, False)
    assert kind.depth == 2


def test_constness_of_the_pointer_is_not_that_of_the_base() -> None:
    kind = ctype.parse("char *const")
    assert (kind.base, kind.const, kind.pointers) == ("char", False, (True,))


def test_builtin_types_of_several_words() -> None:
    kind = ctype.parse("const unsigned long long")
    assert (kind.base, kind.const, kind.tag) == ("unsigned long long", True, "")
    assert ctype.BUILTINS[kind.base] == ("unsigned", 8)


def test_arrays() -> None:
    kind = ctype.parse("long long[29]")
    assert (kind.base, kind.arrays, kind.pointers) == ("long long", (29,), ())


def test_a_pointer_to_a_function_has_no_base() -> None:
    kind = ctype.parse("void (*)(cudaStream_t, cudaError_t, void *)")
    assert kind.function
    assert (kind.base, kind.pointers) == ("", ())


def test_volatile_is_not_a_name() -> None:
    assert ctype.parse("volatile int *").base == "int"
