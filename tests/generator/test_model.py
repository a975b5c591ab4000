"""The extractor and the model on small made-up headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import GeneratorError
from generator.model import Library, Record, number

from .madeup import facts_of, library


def paths(record: Record) -> dict[str, tuple[int, int]]:
    """The members that C can name: where they are and how large."""
    return {member.name: (member.offset, member.size) for member in record.members()}


def test_anonymous_members_are_flattened_and_named_ones_are_not(tmp_path: Path) -> None:
    header = """
    struct made_location {
      int type;
      union {
        int id;
        struct { unsigned char device; unsigned char domain; } localized;
        struct { short low; short high; };
      };
      struct { char text[3]; int last; } tail[2];
    };
    """
    api = library(tmp_path, {"1.0": header}).presented
    record = api.records["made_location"]
    assert paths(record) == {
        "type": (0, 4),
        "id": (4, 4),
        "localized": (4, 2),
        "low": (4, 2),
        "high": (6, 2),
        "tail": (8, 16),
    }
    assert [(leaf.path, leaf.offset, leaf.size) for leaf in api.leaves(record)] == [
        ("type", 0, 4),
        ("id", 4, 4),
        ("localized.device", 4, 1),
        ("localized.domain", 5, 1),
        ("low", 4, 2),
        ("high", 6, 2),
        ("tail[0].text", 8, 3),
        ("tail[0].last", 12, 4),
        ("tail[1].text", 16, 3),
        ("tail[1].last", 20, 4),
    ]


def test_an_anonymous_union_after_a_bit_field(tmp_path: Path) -> None:
    header = "struct made_flags { unsigned a : 3; unsigned b : 9; int : 0; union { int c; char d; }; };"
    record = library(tmp_path, {"1.0": header}).presented.records["made_flags"]
    fields = {member.name: (member.offset, member.bits) for member in record.members()}
    assert fields == {"a": (0, (0, 3)), "b": (0, (3, 9)), "c": (4, None), "d": (4, None)}


def test_unions_sizes_and_alignment(tmp_path: Path) -> None:
    header = "union made_value { char pad[20]; double d; struct made_point { int x, y; } p; };"
    api = library(tmp_path, {"1.0": header}).presented
    record = api.records["made_value"]
    assert (record.kind, record.size, record.align) == ("union", 24, 8)
    assert {leaf.path for leaf in api.leaves(record) if not leaf.reserved} == {"d", "p.x", "p.y"}


def test_default_arguments_are_those_that_cxx_sees(tmp_path: Path) -> None:
    header = """
    made_error_t madeWait(made_stream_t stream __dv(0), unsigned int flags __dv(3 | 4));
    made_error_t madeStop(made_stream_t stream);
    """
    api = library(tmp_path, {"1.0": header}).presented
    assert [(p.name, p.default) for p in api.functions["madeWait"].params] == [("stream", "0"), ("flags", "3 | 4")]
    assert [p.default for p in api.functions["madeStop"].params] == [None]


def test_variants_for_the_per_thread_default_stream(tmp_path: Path) -> None:
    header = """
    #if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
    #define madeCopy madeCopy_ptds
    #define madeCopyAsync madeCopyAsync_ptsz
    #endif
    made_error_t madeCopy(void *to);
    made_error_t madeCopyAsync(void *to, made_stream_t stream);
    made_error_t madeFree(void *what);
    """
    api = library(tmp_path, {"1.0": header}).presented
    found = {name: (function.symbol, function.ptds) for name, function in api.functions.items()}
    assert found == {
        "madeCopy": ("madeCopy", "madeCopy_ptds"),
        "madeCopyAsync": ("madeCopyAsync", "madeCopyAsync_ptsz"),
        "madeFree": ("madeFree", None),
    }
    assert {"madeCopy", "madeCopy_ptds", "madeCopyAsync_ptsz"} <= api.symbols.keys()


def test_a_macro_that_renames_a_function_is_its_symbol_and_no_macro(tmp_path: Path) -> None:
    header = """
    #define madeGet madeGet_v2
    #define MADE_VERSION 2
    #define MADE_CAST(x) ((int)(x))
    #define MADE_SCRATCH 40
    struct made_room { char bytes[MADE_SCRATCH]; };
    #undef MADE_SCRATCH
    made_error_t madeGet(int *value);
    """
    api = library(tmp_path, {"1.0": header}).presented
    assert api.functions.keys() == {"madeGet"}
    assert api.functions["madeGet"].symbol == "madeGet_v2"
    assert {name: macro.value for name, macro in api.macros.items()} == {"MADE_VERSION": "2"}, "one is undefined again"


def test_enumerators(tmp_path: Path) -> None:
    header = "enum made_kind { madeKindA, madeKindB = 7, madeKindC }; enum made_sign { madeMinus = -1 };"
    api = library(tmp_path, {"1.0": header}).presented
    assert api.enums["made_kind"].values == {"madeKindA": 0, "madeKindB": 7, "madeKindC": 8}
    assert not api.enums["made_kind"].signed
    assert api.enums["made_sign"].signed
    assert api.enumerators["madeMinus"] == -1


def test_an_unnamed_type_at_file_scope_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match=r"toolkit 1\.0: made\.h:\d+: an unnamed type at file scope"):
        facts_of(tmp_path, "1.0", "enum { madeLonely };")


def test_an_error_of_the_header_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match=r"toolkit 1\.0: .*made\.h:\d+: "):
        facts_of(tmp_path, "1.0", "made_error_t madeBad(struct made_missing by_value, unknown_t x);")


GROWTH = {
    "1.8": """
      enum made_kind { madeA };
      struct made_params { int size; int reserved[3]; };
      made_error_t madeOld(void); made_error_t madeStay(struct made_params *p);
    """,
    "1.9": """
      enum made_kind { madeA, madeB };
      struct made_params { int size; union { int id; int other; }; int reserved[2]; };
      struct made_late { int first; };
      made_error_t madeOld(void); made_error_t madeStay(struct made_params *p); made_error_t madeNew(void);
    """,
    "1.10": """
      enum made_kind { madeA, madeB, madeC };
      struct made_params { int size; union { int id; int other; struct { int x; } deep; }; int reserved[2]; };
      struct made_late { int first; int second; };
      made_error_t madeStay(struct made_params *p); made_error_t madeNew(void);
      #define MADE_FLAG 4
    """,
}


def test_values_are_known_by_older_names(tmp_path: Path) -> None:
    made = library(
        tmp_path,
        {
            "1.8": "enum made_old { madeOldWindow = 1 }; made_error_t madeSet(enum made_old what);",
            "1.9": """
              enum made_new { madeWindow = 1, madeOther = 2 };
              #define madeOldWindow madeWindow
              made_error_t madeSet(enum made_new what);
            """,
        },
    )
    assert [made.enumerator_since(name) for name in ("madeWindow", "madeOther")] == [0, number("1.9")]


def test_since_and_until(tmp_path: Path) -> None:
    made = library(tmp_path, GROWTH)
    assert [api.toolkit for api in made.apis] == ["1.8", "1.9", "1.10"]
    assert made.function_span("madeStay") == (0, 0)
    assert made.function_span("madeOld") == (0, number("1.9"))
    assert made.function_span("madeNew") == (number("1.9"), 0)
    assert [made.enumerator_since(name) for name in ("madeA", "madeB", "madeC")] == [0, number("1.9"), number("1.10")]
    assert made.enumerator_since("MADE_FLAG") == number("1.10")
    assert made.record_span("made_late") == (number("1.9"), 0)
    assert [made.field_since("made_params", path) for path in ("size", "id", "deep", "deep.x")] == [
        0,
        number("1.9"),
        number("1.10"),
        number("1.10"),
    ]
    assert made.field_since("made_late", "first") == 0, "there is no layout of it without this field"
    assert made.field_since("made_late", "second") == number("1.10")


def test_versions_are_numbers() -> None:
    assert number("12.4") == 12040
    assert number("1.10") > number("1.9")


def test_what_is_presented_is_a_choice(tmp_path: Path) -> None:
    made = library(tmp_path, GROWTH, presented="1.9")
    assert made.presented.toolkit == "1.9"
    assert made.newest.toolkit == "1.10"
    assert made.gone_functions() == {}, "madeOld is still there"
    with pytest.raises(GeneratorError, match=r"no facts of toolkit 1\.7; known: 1\.8, 1\.9, 1\.10"):
        library(tmp_path, GROWTH, presented="1.7")


def test_gone_functions_as_last_declared(tmp_path: Path) -> None:
    headers = {
        "1.0": "made_error_t madeOld(int a);",
        "1.1": "made_error_t madeOld(int a, int b);",
        "2.0": "made_error_t madeNew(void);",
    }
    gone = library(tmp_path, headers).gone_functions()
    function, home = gone["madeOld"]
    assert (list(gone), function.signature, home.toolkit) == (["madeOld"], ("int", "int"), "1.1")


VERSIONS = {
    "1.0": "struct made_prop { int a; }; made_error_t madeGet(struct made_prop *p);",
    "1.1": """
      struct made_prop { int a; int b; };
      #define madeGet madeGet_v2
      made_error_t madeGet(struct made_prop *p);
      made_error_t madePut_v2(int a, int b);
      made_error_t madePut(int a);
      made_error_t madeAsk_v2(int a, long b);
      made_error_t madeAsk(int a);
    """,
    "2.0": """
      struct made_prop { int a; int b; };
      made_error_t madeGet(struct made_prop *p);
      made_error_t madePut(int a, int b);
      made_error_t madeAsk(int a);
    """,
}


def test_a_gone_v2_is_an_alias_of_the_name_that_took_its_signature_over(tmp_path: Path) -> None:
    made = library(tmp_path, VERSIONS)
    gone = made.gone_functions()
    assert list(gone) == ["madeAsk_v2", "madeGet_v2", "madePut_v2"]
    aliases = {name: made.alias_of(function) for name, (function, _) in gone.items()}
    assert {name: alias and alias.name for name, alias in aliases.items()} == {
        "madeAsk_v2": None,  # another signature: it keeps its own meaning
        "madeGet_v2": "madeGet",  # the name that a macro gave it
        "madePut_v2": "madePut",
    }


def test_an_alias_sees_through_a_renamed_record(tmp_path: Path) -> None:
    headers = {
        "1.0": """
          struct made_desc { int a; }; struct made_desc_v2 { int a; int b; };
          made_error_t madeCreate(struct made_desc *d);
          made_error_t madeCreate_v2(struct made_desc_v2 *d);
        """,
        "2.0": "struct made_desc { int a; int b; }; made_error_t madeCreate(struct made_desc *d);",
    }
    made = library(tmp_path, headers)
    assert made.older_names("made_desc") == ["made_desc_v2"]
    function, _ = made.gone_functions()["madeCreate_v2"]
    alias = made.alias_of(function)
    assert alias is not None
    assert alias.name == "madeCreate"


def test_a_macro_says_what_a_record_was_called(tmp_path: Path) -> None:
    headers = {
        "1.0": "union made_attr { int a; };",
        "2.0": "union made_value { int a; int b; };\n#define made_attr made_value\n",
    }
    made = library(tmp_path, headers)
    assert made.older_names("made_value") == ["made_attr"]
    assert made.record_span("made_value") == (0, 0)
    assert made.field_since("made_value", "a") == 0
    assert made.field_since("made_value", "b") == number("2.0")


def test_typedefs_are_looked_through(tmp_path: Path) -> None:
    header = """
    struct made_point { int x; };
    typedef struct made_point made_point_t;
    typedef made_point_t *made_point_p;
    typedef struct { int y; } made_unnamed;
    typedef void (*made_call)(int);
    typedef int made_matrix[2][2];
    made_error_t madeUse(const made_point_p *list, made_unnamed u, made_call call);
    struct made_holder { made_matrix m; made_call call; made_point_t points[2]; };
    """
    api = library(tmp_path, {"1.0": header}).presented
    listed, unnamed, call = (param.type for param in api.functions["madeUse"].params)
    assert (api.strip(listed).base, api.strip(listed).depth) == ("made_point", 2)
    assert api.record_of(listed) is api.records["made_point"]
    assert api.scalar(listed) == ("pointer", 8)
    assert api.scalar(unnamed) == ("record", 4)
    assert api.scalar(call) == ("pointer", 8)
    leaves = {leaf.path: (leaf.size, leaf.kind) for leaf in api.leaves(api.records["made_holder"])}
    assert leaves == {
        "m": (16, "signed"),
        "call": (8, "pointer"),
        "points[0].x": (4, "signed"),
        "points[1].x": (4, "signed"),
    }


def test_a_missing_header_takes_the_nearest_toolkits_declaration(tmp_path: Path) -> None:
    """Every libcudart exports the profiler functions, whether or not cuda_profiler_api.h is in a package."""
    texts = {
        "1.0": "made_error_t madeStart(int oldest);",
        "1.1": "",
        "1.2": "",
        "1.3": "made_error_t madeStart(int newest); made_error_t madeNovel(void);",
        "1.4": "made_error_t madeOther(void);",
    }
    facts = {toolkit: facts_of(tmp_path, toolkit, text) for toolkit, text in texts.items()}
    for toolkit, entry in facts.items():
        entry["headers"] = [] if toolkit in ("1.1", "1.2") else ["made.h"]
        entry["symbols"]["madeStart"] = ""
    made = Library("made", facts)
    names = {api.toolkit: [p.name for f in api.functions.values() for p in f.params] for api in made.apis}
    assert names == {"1.0": ["oldest"], "1.1": ["oldest"], "1.2": ["newest"], "1.3": ["newest"], "1.4": []}
    assert "madeNovel" not in made.api("1.2").functions, "not exported there"
    assert "madeStart" not in made.api("1.4").functions, "it has the header, which does not declare it"
