"""The layout of generated C: where long lines are broken, and that none is left."""

from __future__ import annotations

import pytest

from generator.cstyle import WIDTH, lay_out, tokens
from generator.yamlfile import ROOT

GENERATED = [file for file in sorted((ROOT / "generated").rglob("*")) if file.suffix in (".c", ".h")]


@pytest.mark.parametrize("file", GENERATED, ids=lambda file: file.name)
def test_no_generated_line_is_too_long(file: object) -> None:
    lines = enumerate(file.read_text().splitlines(), 1)  # type: ignore[attr-defined]
    assert [f"{number}: {line}" for number, line in lines if len(line) > WIDTH] == []


SHORT = "int f(int a);"
CASES = {
    "a short line stays": (SHORT, SHORT),
    "arguments stand below each other": (
        "cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width);",
        "cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,\n"
        "                              size_t width);",
    ),
    "a long first argument starts on the next line": (
        "extern int (*acu_slot_cudaArrayGetMemoryRequirements)(struct cudaArrayMemoryRequirements *requirements);",
        "extern int (*acu_slot_cudaArrayGetMemoryRequirements)(\n"
        "    struct cudaArrayMemoryRequirements *requirements);",
    ),
    "an attribute goes to the next line": (
        "cudaError_t cudaDeviceUnregisterAsyncNotification(int device, AsyncCallbackHandle_t callback) ACU_SINCE_12_4;",
        "cudaError_t cudaDeviceUnregisterAsyncNotification(int device, AsyncCallbackHandle_t callback)\n"
        "    ACU_SINCE_12_4;",
    ),
    "a comma in inner brackets is not a good place": (
        "    result = acu_function_with_a_name(first_argument, (int (*)(char, short, int, long))second, third);",
        "    result = acu_function_with_a_name(first_argument, (int (*)(char, short, int, long))second,\n"
        "                                      third);",
    ),
    "a list of values": (
        "static const int32_t offsets_of_some_type_with_a_name[] = {100000, 200000, 300000, 400000, 500000, 600000};",
        "static const int32_t offsets_of_some_type_with_a_name[] = {100000, 200000, 300000, 400000, 500000,\n"
        "                                                           600000};",
    ),
    "a text": (
        'static const char names_of_a_type[] = "' + "name\\0" * 20 + 'last";',
        'static const char names_of_a_type[] =\n    "' + "name\\0" * 15 + '"\n    "' + "name\\0" * 5 + 'last";',
    ),
    "no comma inside of a text": (
        '    refuse(function, "one, two, three, four, five, six, seven, eight, nine, ten, eleven", argument, other);',
        '    refuse(function, "one, two, three, four, five, six, seven, eight, nine, ten, eleven", argument,\n'
        "           other);",
    ),
    "a comment": (
        "    /* " + "word " * 25 + "end. */",
        "    /* " + ("word " * 18).rstrip() + "\n     * " + "word " * 7 + "end. */",
    ),
    "a line of a block comment": (
        " * " + "word " * 25 + "end",
        " * " + ("word " * 19).rstrip() + "\n * " + "word " * 6 + "end",
    ),
    "a condition": (
        "#if " + " || ".join(f"defined(MACRO_NUMBER_{n})" for n in range(5)),
        "#if defined(MACRO_NUMBER_0) || defined(MACRO_NUMBER_1) || defined(MACRO_NUMBER_2) || \\\n"
        "    defined(MACRO_NUMBER_3) || defined(MACRO_NUMBER_4)",
    ),
    "a definition": ("#define NAME " + "x" * 90, "#define NAME \\\n    " + "x" * 90),
    "a typedef": (f"typedef struct {'a' * 60} {'b' * 60};", f"typedef struct {'a' * 60}\n    {'b' * 60};"),
    "empty lines": ("\n\nint a;  \n\n\n\nint b;\n\n", "int a;\n\nint b;"),
}


@pytest.mark.parametrize("line, expected", CASES.values(), ids=CASES)
def test_long_lines_are_broken_as_clang_format_would(line: str, expected: str) -> None:
    assert lay_out(line) == expected + "\n"


def test_tokens_of_a_macro() -> None:
    assert tokens("( ( int ) - 1 )") == "((int)-1)"
    assert tokens("( 1 << 2 )") == "(1 << 2)"
