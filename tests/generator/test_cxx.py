"""What C++ is made of a noun that is new, and where a person must decide."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from generator import cxx, render
from generator.errors import GeneratorError
from generator.spec import Spec
from generator.yamlfile import ROOT, SPEC

PATHS = ("include/anycuda/features.h", "include/anycuda/version.h")
GENERATED = {path: (render.GENERATED / path).read_text() for path in PATHS}
WIDGET = """
#ifndef ACU_WIDGET_H
#define ACU_WIDGET_H
#include <anycuda/buffer.h>
#include <anycuda/node.h>
ACU_BEGIN_C
/** A made-up object. */
typedef struct acu_widget acu_widget;
/** How it is made. */
typedef struct acu_widget_options { int flags; } acu_widget_options;
/** Makes a widget: the caller owns it. More about it. */
ACU_CHECKED acu_result acu_widget_create(acu_device device, const acu_widget_options *options, acu_widget **widget);
/** Adds an owner. */
acu_widget *acu_widget_retain(acu_widget *widget);
/** Takes an owner away. */
acu_result acu_widget_release(acu_widget *widget);
void acu_widget_cleanup(acu_widget **widget);
/** Fills it. */
ACU_CHECKED acu_result acu_widget_write_typed(acu_widget *widget, acu_dtype dtype, const void *host, size_t count,
                                              acu_stream *on);
/** Lists the parts. */
ACU_CHECKED acu_result acu_widget_get_parts(acu_widget *widget, int *parts, size_t *count);
/** Asks for two numbers. */
ACU_CHECKED acu_result acu_widget_get_range(acu_widget *widget, int *least, int *greatest);
/** Divides it into `count` others, which the caller owns. */
ACU_CHECKED acu_result acu_widget_split(acu_widget *widget, const int *parts, size_t count, acu_widget **widgets);
/** Joins parts; `edges` may be NULL. */
ACU_CHECKED acu_result acu_widget_join(acu_widget *widget, const int *from, const int *to, const acu_edge *edges,
                                       size_t count);
/** Adds a part; `edges` is NULL or has one entry for each of `after`. */
ACU_CHECKED acu_result acu_widget_add(acu_widget *widget, const int *after, size_t after_count, const acu_edge *edges,
                                      int part);
/** Lists what is joined. */
ACU_CHECKED acu_result acu_widget_get_joined(acu_widget *widget, int *from, int *to, acu_edge *edges, size_t *count);
/** Copies a text, from a place on. */
ACU_CHECKED acu_result acu_widget_read(acu_widget *widget, int *from, char *text, size_t size, size_t *length);
/** Returns the buffer, which stays the widget's. */
acu_buffer *acu_widget_buffer(const acu_widget *widget);
MORE
ACU_END_C
#endif
"""


def made(folder: Path, more: str = "", document: str = "") -> cxx.Header:
    """The C++ of the public headers and of the widget."""
    include = folder / "include" / "anycuda"
    shutil.copytree(ROOT / "include" / "anycuda", include)
    (include / "widget.h").write_text(WIDGET.replace("MORE", more))
    umbrella = include / "anycuda.h"
    umbrella.write_text(umbrella.read_text().replace("#include <anycuda/array.h>", "#include <anycuda/widget.h>"))
    (folder / "spec").mkdir()
    (folder / "spec" / "cxx.yaml").write_text((SPEC / "cxx.yaml").read_text() + document)
    return cxx.headers(Spec(folder / "spec"), GENERATED, include)[0]


def refuses(folder: Path, more: str, *words: str) -> None:
    with pytest.raises(GeneratorError) as stopped:
        made(folder, more)
    for word in words:
        assert word in str(stopped.value)


def test_a_new_noun_needs_no_hand_work(tmp_path: Path) -> None:
    header = made(tmp_path)
    widget = next(noun for noun in header.nouns if noun.name == "widget")
    assert widget.doc == "A made-up object."
    text = {f"{one.result} {one.name}({one.declared}){one.suffix}" for one in widget.members}
    assert text == {
        "result<acu::widget> create(acu_device device, given<acu_widget_options> options = nullptr)",
        "acu::widget retain() const",
        "result<> write_typed(acu_dtype dtype, const void *host, size_t count, stream_ref on = nullptr) const",
        "result<> write(span<const T> host, stream_ref on = nullptr) const",
        "result<size_t> get_parts(span<int> parts) const",
        "result<widget_get_range_values> get_range() const",
        "result<> split(span<const int> parts, span<acu::widget> widgets) const",
        "result<> join(span<const int> from, span<const int> to, span<const acu_edge> edges = {}) const",
        "result<> add(span<const int> after, span<const acu_edge> edges, int part) const",
        "result<size_t> get_joined(span<int> from, span<int> to, span<acu_edge> edges = {}) const",
        "result<size_t> read(int *from, span<char> text) const",
        "buffer_ref buffer() const",
    }
    calls = {one.name: one.call for one in widget.members}
    after = "detail::beside(after, edges), detail::longest(after, edges), detail::beside(edges, after)"
    assert calls["add"] == f"acu_widget_add(get(), {after}, part)"
    assert calls["get_joined"].endswith("detail::wanted(to), detail::wanted(edges), &count)")
    (joined,) = (one for one in widget.members if one.name == "get_joined")
    assert joined.outs == (("size_t", "count", "detail::room(from, to, edges)"),)
    (create,) = (one for one in widget.members if one.name == "create")
    assert create.is_static and create.doc == "Makes a widget: the caller owns it."
    assert create.call == "acu_widget_create(device, options.get(), &widget)"


def test_who_owns_a_handle_must_be_said(tmp_path: Path) -> None:
    more = "/** Makes another one. */ ACU_CHECKED acu_result acu_widget_clone(acu_widget *widget, acu_widget **clone);"
    refuses(tmp_path, more, "widget.h:", "acu_widget_clone() does not say who owns", "the caller owns it")


def test_when_a_function_is_called_must_be_said(tmp_path: Path) -> None:
    more = "/** Calls. */ ACU_CHECKED acu_result acu_widget_call(acu_widget *widget,"
    more += " acu_result (*function)(acu_widget *widget, void *data), void *data);"
    refuses(tmp_path, more, "acu_widget_call() takes a function", "`calls`", "`calls_later`")


def test_a_name_that_means_two_things_is_refused(tmp_path: Path) -> None:
    more = "/** Asks. */ ACU_CHECKED acu_result acu_widget_get(acu_widget *widget, int *value);"
    refuses(tmp_path, more, "acu_widget_get() would be acu::widget::get", "`names`")


def test_a_header_that_nobody_includes_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "include" / "anycuda"
    shutil.copytree(ROOT / "include" / "anycuda", folder)
    (folder / "widget.h").write_text(WIDGET.replace("MORE", ""))
    with pytest.raises(GeneratorError, match=r"`widget\.h` has functions, but no C\+\+ header"):
        cxx.headers(Spec(), GENERATED, folder)


def test_misspelt_names_are_found(tmp_path: Path) -> None:
    spec = tmp_path / "spec"
    spec.mkdir()
    (spec / "cxx.yaml").write_text((SPEC / "cxx.yaml").read_text().replace("acu_arg_of:", "acu_arg_from:"))
    with pytest.raises(GeneratorError, match=r"cxx\.yaml:\d+: no public header declares `acu_arg_from`"):
        cxx.headers(Spec(spec), GENERATED)


def test_misspelt_parameters_are_found(tmp_path: Path) -> None:
    spec = tmp_path / "spec"
    spec.mkdir()
    (spec / "cxx.yaml").write_text((SPEC / "cxx.yaml").read_text().replace("left_out: [edges]", "left_out: [egdes]"))
    with pytest.raises(GeneratorError, match=r"cxx\.yaml:\d+: no function of a public header has a parameter `egdes`"):
        cxx.headers(Spec(spec), GENERATED)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Makes it. Then more.", "Makes it."),
        ('Asks where it is: "0000".', "Asks where it is."),
        ("Returns 0 where it is not; no more", "Returns 0 where it is not; no more."),
        ("As cudaFree() does, e.g. here.", "As cudaFree() does, e.g. here."),
        ("", ""),
    ],
)
def test_the_first_sentence(text: str, sentence: str) -> None:
    assert cxx.first_sentence(text) == sentence
