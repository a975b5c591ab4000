"""How a presented call reaches a loaded library, on small made-up headers: by rule, by decision, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.abi import COPY, PREFIX
from generator.errors import GeneratorError

from .madeup import library, router, routes


def structs(folder: Path, older: str, newer: str) -> str | None:
    """How the struct of a call gets through to the older toolkit: PREFIX, COPY, or nothing to do."""
    call = f"made_error_t madeUse({'union' if newer.startswith('union') else 'struct'} made *p);"
    made = library(folder, {"1.0": older + call, "2.0": newer + call})
    found = routes(made, folder, "madeUse")
    assert found["2.0"].structs == ()
    return dict(found["1.0"].structs).get("p")


def refusal(folder: Path, older: str, newer: str) -> str:
    with pytest.raises(GeneratorError) as caught:
        routes(library(folder, {"1.0": older, "2.0": newer}), folder, "madeUse")
    return str(caught.value)


@pytest.mark.parametrize(
    ("older", "newer", "how"),
    [
        # the same
        ("struct made { int a; long b; };", "struct made { int a; long b; };", None),
        ("struct made { int a; };", "struct made { unsigned int a; };", None),
        ("struct made { int reserved[2]; };", "struct made { int pad0; int pad1; };", None),
        # appended, or carved out of reserved space: the loaded layout is the first part
        ("struct made { int a; };", "struct made { int a; int b; };", PREFIX),
        ("struct made { int a; int reserved[3]; };", "struct made { int a; int b; int reserved[2]; };", PREFIX),
        ("struct made { int a; char pad[12]; };", "struct made { int a; char pad[60]; };", PREFIX),
        ("struct made { int a; int reserved; };", "struct made { int a; union { int b; int c; }; };", PREFIX),
        # a new member of a union
        ("struct made { union { int a; int b; } u; };", "struct made { union { int a; int b; int c; } u; };", PREFIX),
        ("struct made { union { int a; }; };", "struct made { union { int a; struct { int x; } s; }; };", PREFIX),
        ("union made { int a; char pad[8]; };", "union made { int a; long b; char pad[8]; };", PREFIX),
        # moved, resized, gone
        ("struct made { int a; int b; };", "struct made { int b; int a; };", COPY),
        ("struct made { int a; int b; };", "struct made { int a; int gap; int b; };", COPY),
        ("struct made { int a; };", "struct made { long a; };", COPY),
        ("struct made { int a; int b; };", "struct made { int a; int c; };", COPY),
        ("struct made { int a; int b; };", "struct made { int a; };", COPY),
        ("struct made { char a[4]; };", "struct made { char a[8]; };", COPY),
        ("struct made { unsigned a : 3; unsigned b : 5; };", "struct made { unsigned b : 5; unsigned a : 3; };", COPY),
    ],
)
def test_layouts(older: str, newer: str, how: str | None, tmp_path: Path) -> None:
    assert structs(tmp_path, older, newer) == how


def test_a_struct_inside_a_struct_counts(tmp_path: Path) -> None:
    outer = "struct made { int type; struct inner in; };"
    appended = ("struct inner { int a; };", "struct inner { int a; int b; };")
    assert structs(tmp_path / "end", appended[0] + outer, appended[1] + outer) == PREFIX
    between = "struct made { struct inner in; int type; };"
    assert structs(tmp_path / "between", appended[0] + between, appended[1] + between) == COPY


def test_a_struct_behind_a_pointer_in_a_struct_does_not_change_it(tmp_path: Path) -> None:
    outer = "struct made { struct inner *in; };"
    assert structs(tmp_path, "struct inner { int a; };" + outer, "struct inner { int a; int b; };" + outer) is None


def test_another_signature_stops_with_the_function_both_signatures_and_the_toolkit(tmp_path: Path) -> None:
    text = refusal(tmp_path, "made_error_t madeUse(int a);", "made_error_t madeUse(int a, const char *b);")
    assert "madeUse on toolkit 1.0" in text
    assert "presented: madeUse(int, const char *)" in text
    assert "1.0: madeUse(int)" in text
    assert "it takes 1 parameters, not 2" in text
    assert "spec/decisions.yaml" in text


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        ("made_error_t madeUse(int a);", "made_error_t madeUse(long a);", "parameter a: int became long"),
        ("made_error_t madeUse(int a);", "made_error_t madeUse(float a);", "parameter a: int became float"),
        ("made_error_t madeUse(int *a);", "made_error_t madeUse(int **a);", "int * became int **"),
        ("made_error_t madeUse(int *a);", "made_error_t madeUse(long *a);", "int * became long *"),
        ("made_error_t madeUse(void *a);", "made_error_t madeUse(int *a);", "void * became int *"),
        ("made_error_t madeUse(int a);", "made_error_t madeUse(made_stream_t a);", "int became made_stream_t"),
        ("made_error_t madeUse(void *a);", "made_error_t madeUse(void (*a)(int));", "void * became void (*)(int)"),
        (
            "typedef void (*made_f)(int); made_error_t madeUse(made_f f);",
            "typedef void (*made_f)(int, void *); made_error_t madeUse(made_f f);",
            "void (*)(int) became void (*)(int, void *)",
        ),
        (
            "typedef void (*made_f)(int); made_error_t madeUse(made_f *f);",
            "typedef void (*made_f)(long); made_error_t madeUse(made_f *f);",
            "void (*)(int) became void (*)(long)",
        ),
        ("made_error_t madeUse(int a);", "char *madeUse(int a);", "it returns another type"),
        ("made_error_t madeUse(int d, int s);", "made_error_t madeUse(int s, int d);", "have another order"),
        (
            "struct a { int x; }; made_error_t madeUse(struct a *p);",
            "struct a { int x; }; struct b { int x; }; made_error_t madeUse(struct b *p);",
            "struct a * became struct b *",
        ),
        (
            "struct a { int x; }; made_error_t madeUse(struct a p);",
            "struct a { int x; int y; }; made_error_t madeUse(struct a p);",
            "a, which is passed by value, changed its layout",
        ),
    ],
)
def test_no_silent_change(older: str, newer: str, why: str, tmp_path: Path) -> None:
    assert why in refusal(tmp_path, older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("made_error_t madeUse(int a);", "made_error_t madeUse(int renamed);"),
        ("made_error_t madeUse(void **a);", "made_error_t madeUse(void *const *a);"),
        ("made_error_t madeUse(char *a);", "made_error_t madeUse(const char *a);"),
        ("made_error_t madeUse(int a);", "enum made_kind { madeA }; made_error_t madeUse(enum made_kind a);"),
        ("made_error_t madeUse(unsigned long a);", "made_error_t madeUse(size_t a);"),
        ("made_error_t madeUse(int a);", "typedef int made_int; made_error_t madeUse(made_int a);"),
        ("made_error_t madeUse(void (*f)(int));", "typedef void (*made_f)(int); made_error_t madeUse(made_f f);"),
    ],
)
def test_what_is_the_same_to_the_abi_needs_nothing(older: str, newer: str, tmp_path: Path) -> None:
    route = routes(library(tmp_path, {"1.0": older, "2.0": newer}), tmp_path, "madeUse")["1.0"]
    assert route.target is not None
    assert route.adapter == ()


def test_a_struct_by_value_may_carve_but_not_grow(tmp_path: Path) -> None:
    older = "struct a { int x; int reserved; }; made_error_t madeUse(struct a p);"
    newer = "struct a { int x; int y; }; made_error_t madeUse(struct a p);"
    route = routes(library(tmp_path, {"1.0": older, "2.0": newer}), tmp_path, "madeUse")["1.0"]
    assert route.structs == (("p", PREFIX),)


def test_a_function_that_a_toolkit_lacks_is_absent(tmp_path: Path) -> None:
    made = library(tmp_path, {"1.0": "", "2.0": "made_error_t madeUse(void);", "3.0": "made_error_t madeUse(void);"})
    found = routes(made, tmp_path, "madeUse")
    assert [route.target is None for route in found.values()] == [True, False, False]


def test_a_symbol_renamed_by_macro_is_followed(tmp_path: Path) -> None:
    """cudaGetDeviceProperties: the 12 headers map the name to _v2, the 11 and 13 headers do not."""
    headers = {
        "1.0": "struct made { int a; }; made_error_t madeGet(struct made *p);",
        "2.0": "#define madeGet madeGet_v2\nstruct made { int b; int a; };\nmade_error_t madeGet(struct made *p);",
        "3.0": "struct made { int a; int b; }; made_error_t madeGet(struct made *p);",
    }
    found = routes(library(tmp_path, headers), tmp_path, "madeGet")
    symbols = {toolkit: (route.target.symbol if route.target else None) for toolkit, route in found.items()}
    assert symbols == {"1.0": "madeGet", "2.0": "madeGet_v2", "3.0": "madeGet"}
    assert {toolkit: route.structs for toolkit, route in found.items()} == {
        "1.0": (("p", PREFIX),),
        "2.0": (("p", COPY),),
        "3.0": (),
    }


def test_the_version_whose_signature_fits_is_called(tmp_path: Path) -> None:
    headers = {
        "1.0": "made_error_t madeUse(int a); made_error_t madeUse_v2(int a, int b);",
        "2.0": "made_error_t madeUse(int a, int b);",
    }
    target = routes(library(tmp_path, headers), tmp_path, "madeUse")["1.0"].target
    assert target is not None
    assert target.symbol == "madeUse_v2"


ONE_SIGNATURE = "made_error_t madeTime(float *ms); made_error_t madeTime_v2(float *ms);"


def test_a_version_that_the_bare_name_took_over_is_called_though_both_fit(tmp_path: Path) -> None:
    """cudaEventElapsedTime on 12.8: two symbols, one signature, two meanings."""
    made = library(tmp_path, {"1.0": ONE_SIGNATURE, "2.0": "made_error_t madeTime(float *ms);"})
    target = routes(made, tmp_path, "madeTime")["1.0"].target
    assert target is not None
    assert target.symbol == "madeTime_v2"


def test_a_version_that_the_presented_api_still_has_is_another_function(tmp_path: Path) -> None:
    made = library(tmp_path, {"1.0": ONE_SIGNATURE, "2.0": ONE_SIGNATURE})
    found = {name: routes(made, tmp_path, name)["1.0"].target for name in ("madeTime", "madeTime_v2")}
    assert {name: target and target.symbol for name, target in found.items()} == {
        "madeTime": "madeTime",
        "madeTime_v2": "madeTime_v2",
    }


def test_a_record_renamed_by_macro_is_the_same_record(tmp_path: Path) -> None:
    """cudaStreamAttrValue of 11.7 is a shorter cudaLaunchAttributeValue."""
    headers = {
        "1.0": "union made_attr { int a; }; made_error_t madeSet(const union made_attr *p);",
        "2.0": (
            "union made_value { int a; long b; };\n#define made_attr made_value\n"
            "made_error_t madeSet(const union made_value *p);"
        ),
    }
    route = routes(library(tmp_path, headers), tmp_path, "madeSet")["1.0"]
    assert route.structs == (("p", PREFIX),)


def test_a_gone_name_keeps_exactly_its_own_meaning(tmp_path: Path) -> None:
    headers = {
        "1.0": "made_error_t madeOld(int a); made_error_t madeOld_v2(int a);",
        "2.0": "made_error_t madeOld(int a);",
        "3.0": "",
    }
    made = library(tmp_path, headers)
    function, home = made.gone_functions()["madeOld"]
    found = router(made, tmp_path).routes(function, home)
    assert [route.target and route.target.symbol for route in found] == ["madeOld", "madeOld", None]


CHANGED = {
    "1.0": "made_error_t madeUse(int a); made_error_t madeUseFlags(int a, int flags);",
    "2.0": "made_error_t madeUse(int a, int flags); made_error_t madeUseFlags(int a, int flags);",
}


def test_a_decision_answers_one_signature(tmp_path: Path) -> None:
    decisions = (
        "decisions: [{function: madeUse, answers: [int], reason: it was made up, call: madeUseFlags, args: [a, flags]}]"
    )
    found = routes(library(tmp_path, CHANGED), tmp_path, "madeUse", decisions)
    assert found["1.0"].target is not None
    assert found["1.0"].target.symbol == "madeUseFlags"
    assert found["1.0"].adapter == ("decision", "madeUse(int)")
    assert found["2.0"].adapter == ()


def test_a_decision_for_another_signature_answers_nothing(tmp_path: Path) -> None:
    decisions = "decisions: [{function: madeUse, answers: [long], reason: it was made up, args: [a]}]"
    with pytest.raises(GeneratorError, match=r"madeUse on toolkit 1\.0"):
        routes(library(tmp_path, CHANGED), tmp_path, "madeUse", decisions)


def test_a_decision_can_refuse(tmp_path: Path) -> None:
    decisions = "decisions: [{function: madeUse, answers: [int], reason: it was made up, absent: true}]"
    route = routes(library(tmp_path, CHANGED), tmp_path, "madeUse", decisions)["1.0"]
    assert route.target is None
    assert route.decision is not None


def test_a_decision_that_calls_what_the_toolkit_lacks_is_named_with_its_line(tmp_path: Path) -> None:
    decisions = (
        "decisions:\n  - {function: madeUse, answers: [int], reason: it was made up, call: madeNothing, args: [a]}"
    )
    with pytest.raises(GeneratorError, match=r"decisions\.yaml:2: calls madeNothing, which toolkit 1\.0 does not"):
        routes(library(tmp_path, CHANGED), tmp_path, "madeUse", decisions)


def test_a_struct_that_a_decision_hands_on_is_still_adapted(tmp_path: Path) -> None:
    headers = {
        "1.0": "struct made { int a; }; made_error_t madeUse(struct made *p);",
        "2.0": "struct made { int a; int b; }; made_error_t madeUse(struct made *p, int flags);",
    }
    decisions = "decisions: [{function: madeUse, answers: [struct made *], reason: it was made up, args: [p]}]"
    route = routes(library(tmp_path, headers), tmp_path, "madeUse", decisions)["1.0"]
    assert route.structs == (("p", PREFIX),)


def test_an_older_presented_api_reaches_newer_libraries(tmp_path: Path) -> None:
    """The caller's struct is the shorter one: a library that writes the longer one needs a temporary."""
    call = "made_error_t madeUse(struct made *p);"
    headers = {"1.0": "struct made { int a; };" + call, "2.0": "struct made { int a; int b; };" + call}
    found = routes(library(tmp_path, headers, presented="1.0"), tmp_path, "madeUse")
    assert found["1.0"].structs == ()
    assert found["2.0"].structs == (("p", COPY),)
