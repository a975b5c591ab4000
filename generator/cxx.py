"""The public C headers, and the C++ of <anycuda/anycuda.hpp> and <anycuda/runtime.hpp> that is made from them.

The names of CONTRIBUTING.md's table "Public names" decide nearly everything: what a class is, what belongs to it, which
parameter is returned, which is a list. `spec/cxx.yaml` has the rest, with reasons. docs/users/cxx.md tells users the
rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .errors import GeneratorError, Location, Stops
from .spec import Spec
from .yamlfile import ROOT, Mapping, name_of, where

INCLUDE = ROOT / "include" / "anycuda"
STUBS = Path(__file__).parent / "stubs"
TEMPLATES = ROOT / "templates" / "include" / "anycuda"
# C++'s words that may be a noun or a verb of C: such a name ends in an underscore.
KEYWORDS = {
    "delete",
    "default",
    "export",
    "friend",
    "new",
    "namespace",
    "operator",
    "private",
    "public",
    "register",
    "union",
    "virtual",
}
INTEGERS = {"size_t", "unsigned", "uint64_t", "int"}
# Verbs that make a handle, whatever becomes of what is behind it (docs/internals/words.md).
MAKES = re.compile(r"(create|wrap|adopt)(_|$)")
SENTENCE = re.compile(r"(.*?[.:;])(?= [A-Z`\"(]|$)", re.DOTALL)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a C function, or of one of C++."""

    type: str
    name: str
    default: str = ""

    @property
    def points_at(self) -> str | None:
        """What a pointer points at, without `struct`; None for anything else."""
        return self.type[:-1].rstrip() if self.type.endswith("*") else None

    def __str__(self) -> str:
        text = self.type + ("" if self.type.endswith(("*", "&", "...")) else " ") + self.name
        if inside := re.fullmatch(r"(.*)\(([*&])\)(.*)", self.type):
            text = f"{inside[1]}({inside[2]}{self.name}){inside[3]}"
        return text


@dataclass(frozen=True)
class Function:
    """A function of a C header."""

    name: str
    header: str
    result: str
    parameters: tuple[Parameter, ...]
    doc: str
    at: Location
    is_template: bool = False  # takes any number of values, in C by a macro


@dataclass(frozen=True)
class Short:
    """A macro that calls a function, with numbers and NULL for some of its parameters."""

    name: str
    function: str
    fixed: tuple[tuple[str, str], ...]  # of the function's parameters, those that the macro decides

    @property
    def is_shorter(self) -> bool:
        """Returns whether it decides more than what has a default in C++ anyway."""
        return any(value != "NULL" for _, value in self.fixed)


@dataclass
class Member:
    """A function of C++: a member, or where `owner` is empty one of the namespace."""

    c_name: str
    name: str
    doc: str
    owner: str = ""
    is_static: bool = False
    templates: tuple[str, ...] = ()  # template headers, the class's first
    result: str = "result<>"
    parameters: tuple[Parameter, ...] = ()
    arguments: tuple[str, ...] = ()
    outs: tuple[tuple[str, str, str], ...] = ()  # local variables: type, name, what it begins with
    returned: str = ""  # made of them
    values: tuple[Parameter, ...] = ()  # the fields of a struct that is returned
    called: str = ""  # the class of the function object that is called meanwhile

    @property
    def suffix(self) -> str:
        return " const" if self.owner and not self.is_static else ""

    @property
    def declared(self) -> str:
        """The parameters with their defaults."""
        return ", ".join(f"{one}{f' = {one.default}' if one.default else ''}" for one in self.parameters)

    @property
    def defined(self) -> str:
        return ", ".join(map(str, self.parameters))

    @property
    def call(self) -> str:
        return f"{self.c_name}({', '.join(self.arguments)})"


@dataclass
class Noun:
    """A class for a type of C."""

    name: str
    c_type: str
    doc: str
    ref: str = ""  # of a handle: the class that owns nothing
    members: list[Member] = field(default_factory=list)
    typed: list[Member] = field(default_factory=list)

    @property
    def statics(self) -> list[Member]:
        return [one for one in self.members if one.is_static]

    @property
    def others(self) -> list[Member]:
        return [one for one in self.members if not one.is_static]


@dataclass
class Header:
    """One C++ header."""

    name: str
    c_header: str
    nouns: list[Noun] = field(default_factory=list)
    functions: list[Member] = field(default_factory=list)

    @property
    def all_members(self) -> list[Member]:
        inside = [one for noun in self.nouns for one in (*noun.members, *noun.typed)]
        return [*inside, *self.functions]

    @property
    def structs(self) -> list[Member]:
        return [one for one in self.all_members if one.values]


# ---- reading C


class Headers:
    """What the hand-written public headers declare, as a C++ compiler sees it."""

    def __init__(self, names: Iterable[str], generated: dict[str, str], include: Path = INCLUDE) -> None:
        from clang import cindex  # it takes a tenth of a second, and only this stage of a rendering needs it

        self.kinds: Any = cindex.CursorKind
        self.include = include
        text = "".join(f"#include <anycuda/{name}>\n" for name in names)
        folder = include.parent
        made = [(str(folder / path.removeprefix("include/")), text) for path, text in generated.items()]
        unit = cindex.Index.create().parse(
            "umbrella.hpp",
            ["-xc++", "-std=c++17", "-nostdinc", f"-I{STUBS}", f"-I{folder}", "-target", "x86_64-linux-gnu"],
            unsaved_files=[("umbrella.hpp", text), *made],
            options=cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES,
        )
        for problem in unit.diagnostics:
            if problem.severity >= cindex.Diagnostic.Error:
                raise GeneratorError(problem.spelling, self.place(problem.location))
        self.functions: list[Function] = []
        self.typedefs: dict[str, dict[str, str]] = {}  # name -> header -> description
        self.structs: set[str] = set()  # those whose fields are known
        self.opaque: set[str] = set()  # those that are declared only
        for cursor in self.all_of(unit.cursor):
            self.read(cursor)
        self.shorts = [short for name in sorted(self.known) for short in self.macros(name)]

    @cached_property
    def known(self) -> set[str]:
        return {one.header for one in self.functions}

    def place(self, location: Any) -> Location:
        return Location(name_of(Path(str(location.file))), location.line)

    def all_of(self, cursor: Any) -> Iterator[Any]:
        for child in cursor.get_children():
            if child.kind in (self.kinds.LINKAGE_SPEC, self.kinds.UNEXPOSED_DECL):
                yield from self.all_of(child)
            elif child.location.file is not None and Path(str(child.location.file)).parent == self.include:
                yield child

    def read(self, cursor: Any) -> None:
        kinds = self.kinds
        if cursor.kind in (kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE):
            self.read_function(cursor)
        elif cursor.kind == kinds.TYPEDEF_DECL:
            header = Path(str(cursor.location.file)).name
            self.typedefs.setdefault(cursor.spelling, {})[header] = description(cursor.raw_comment)
        elif cursor.kind in (kinds.STRUCT_DECL, kinds.UNION_DECL):
            (self.structs if cursor.is_definition() else self.opaque).add(cursor.spelling)

    def read_function(self, cursor: Any) -> None:
        parameters = tuple(
            Parameter(spelled(one.type.spelling), one.spelling)
            for one in cursor.get_children()
            if one.kind == self.kinds.PARM_DECL
        )
        is_template = cursor.kind == self.kinds.FUNCTION_TEMPLATE and parameters[-1].type.endswith("...")
        doc = description(cursor.raw_comment)
        if not doc and not is_template and not cursor.spelling.endswith("_cleanup"):
            return  # a header's own helper
        header = Path(str(cursor.location.file)).name
        at = self.place(cursor.location)
        result = spelled(cursor.result_type.spelling)
        self.functions.append(Function(cursor.spelling, header, result, parameters, doc, at, is_template))

    def macros(self, header: str) -> Iterator[Short]:
        """The short forms of a header: `acu_buffer_write(buffer, host, count)`."""
        text = (self.include / header).read_text(encoding="utf-8").replace("\\\n", " ")
        by_name = {one.name: one for one in self.functions}
        for found in re.finditer(r"#define (acu_\w+)\(([^)]*)\)\s+(\w+)\((.*)\)$", text, re.MULTILINE):
            function = by_name.get(found[3])
            if function is not None and "..." not in found[2]:
                arguments = [one.strip() for one in found[4].split(",")]
                pairs = zip(function.parameters, arguments, strict=True)
                fixed = tuple((one.name, value) for one, value in pairs if value == "NULL" or value.isdigit())
                yield Short(found[1], function.name, fixed)

    def doc_of_macro(self, header: str, name: str) -> str:
        """The description of the macro that a template stands for in C++."""
        text = (self.include / header).read_text(encoding="utf-8")
        found = re.search(rf"/\*\*((?:(?!\*/).)*)\*/\s*#define {name}\(", text, re.S)
        return description(f"/**{found[1]}*/") if found else ""


def first_sentence(text: str) -> str:
    found = SENTENCE.match(text)
    return (found[1] if found else text).rstrip(":;.") + "." if text else ""


def spelled(kind: str) -> str:
    """A type as C++ spells it."""
    return re.sub(r"\bstruct |(?<=unsigned) int\b", "", kind)


def description(comment: str | None) -> str:
    """The text of a `/** */` comment, its first paragraph on one line."""
    if not comment or not comment.startswith("/**"):
        return ""
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in comment[3:].removesuffix("*/").split("\n")]
    return re.sub(r"\s+", " ", "\n".join(lines).strip())


# ---- from C to C++


def headers(spec: Spec, generated: dict[str, str], include: Path = INCLUDE) -> list[Header]:
    """The C++ headers; raises what a person must decide about the C ones."""
    document = spec.cxx
    _check_headers(document["headers"], include)
    # Of what is generated these two are included by headers that people write.
    made = {path: generated[path] for path in ("include/anycuda/features.h", "include/anycuda/version.h")}
    read = Headers(document["headers"].values(), made, include)
    _check_names(document, read)
    _check_without(document["without"], read)
    return _Maker(document, read).make()


def _check_headers(listed: Mapping, include: Path) -> None:
    for name, c_header in listed.items():
        for file in (TEMPLATES / f"{name}.j2", include / c_header):
            if not file.exists():
                raise GeneratorError(f"there is no {name_of(file)}", where(listed, name))


def _check_names(document: Mapping, read: Headers) -> None:
    """Holds the names of functions and nouns against the headers."""
    stops = Stops()
    names = {one.name for one in read.functions} | {short.name for short in read.shorts}
    places = [(name, where(document[key], name)) for key in ("by_hand", "names") for name in document[key]]
    for key in ("calls", "calls_later"):
        places += [(name, where(document[key], at)) for at, name in enumerate(document[key])]
    for noun, verbs in document["typed"].items():
        places += [(f"acu_{noun}_release", where(document["typed"], noun))]
        places += [(f"acu_{noun}_{verb}", where(verbs, at)) for at, verb in enumerate(verbs)]
    for name, at in places:
        if name not in names:
            stops.found.append(GeneratorError(f"no public header declares `{name}`", at))
    parameters = {parameter.name for one in read.functions for parameter in one.parameters}
    for index, name in enumerate(document["left_out"]):
        if name not in parameters:
            message = f"no function of a public header has a parameter `{name}`"
            stops.found.append(GeneratorError(message, where(document["left_out"], index)))
    for index, noun in enumerate(document["values"]):
        if f"acu_{noun}" not in read.typedefs:
            message = f"no public header has a type `acu_{noun}`"
            stops.found.append(GeneratorError(message, where(document["values"], index)))
    stops.end()


def _check_without(without: Mapping, read: Headers) -> None:
    """Each header with functions is in a C++ header, or has none for a reason."""
    stops = Stops()
    for header in sorted({file.name for file in read.include.glob("*.h")} - read.known):
        text = (read.include / header).read_text(encoding="utf-8")
        if header not in without and re.search(r"^\w.*\bacu_\w+\(", text, re.MULTILINE):
            message = (
                f"`{header}` has functions, but no C++ header: include it in <anycuda/anycuda.h> or"
                " <anycuda/runtime.h>, or name it here with the reason"
            )
            stops.found.append(GeneratorError(message, without.at))
    for header in without:
        if not (read.include / header).exists() or header in read.known:
            message = f"there is no `{header}` below include/, or a C++ header has it"
            stops.found.append(GeneratorError(message, where(without, header)))
    stops.end()


class _Maker:
    """Makes C++ of all functions."""

    def __init__(self, document: Mapping, read: Headers) -> None:
        self.document = document
        self.read = read
        self.by_hand: Mapping = document["by_hand"]
        self.handles = {
            one.name.removeprefix("acu_").removesuffix("_release")
            for one in read.functions
            if re.fullmatch(r"acu_\w+_release", one.name) and f"acu_{one.name[4:-8]}" in read.typedefs
        }
        self.values = set(document["values"])
        self.nouns = sorted(self.handles | self.values, key=len, reverse=True)
        self.stops = Stops()

    def make(self) -> list[Header]:
        made: list[Header] = []
        seen: set[str] = set()  # classes of the headers so far
        left = [one for one in self.read.functions if one.name not in self.by_hand]
        for name, c_header in self.document["headers"].items():
            header = Header(name.removesuffix(".hpp"), c_header)
            own = self.reached(c_header)
            classes = [noun for noun in self.order() if noun not in seen and self.home(noun) in own]
            seen |= set(classes)
            nouns = {noun: self.noun(noun) for noun in classes}
            header.nouns = list(nouns.values())
            here = [one for one in left if one.header in own and self.mentions(one) <= seen]
            left = [one for one in left if one not in here]
            for function in here:
                with self.stops.gathered():
                    self.place(function, nouns, header)
            made.append(header)
        self.stops.end()
        _distinct(made, self.read.functions)
        return made

    def reached(self, c_header: str) -> set[str]:
        """The header, and all that it includes of this folder."""
        found, left = set(), [c_header]
        while left:
            name = left.pop()
            if name not in found and (self.read.include / name).exists():
                found.add(name)
                text = (self.read.include / name).read_text(encoding="utf-8")
                left += re.findall(r"#include <anycuda/([\w.]+)>", text)
        return found

    def order(self) -> list[str]:
        """The nouns in the order in which the headers declare them."""
        found: dict[str, None] = {}
        for function in self.read.functions:
            if noun := self.noun_of(function.name):
                found.setdefault(noun, None)
        return list(found)

    def home(self, noun: str) -> str:
        """The header that has the noun's functions."""
        return next(one.header for one in self.read.functions if self.noun_of(one.name) == noun)

    def noun(self, name: str) -> Noun:
        docs = self.read.typedefs[f"acu_{name}"]
        doc = docs.get(self.home(name)) or next(iter(docs.values()))
        return Noun(cxx_name(name), f"acu_{name}", first_sentence(doc), f"{name}_ref" if name in self.handles else "")

    def noun_of(self, name: str) -> str | None:
        return next((noun for noun in self.nouns if name.startswith(f"acu_{noun}_")), None)

    def handle_of(self, kind: str | None) -> str | None:
        """The noun of a handle's type, `acu_stream` or `const acu_stream`."""
        name = (kind or "").removeprefix("const ").removeprefix("acu_")
        return name if name in self.handles and "acu_" in (kind or "") else None

    def mentions(self, function: Function) -> set[str]:
        """The handles among the parameters."""
        types = [function.result, *(one.type for one in function.parameters)]
        return {noun for kind in types if (noun := self.handle_of(re.sub(r"(\s|\*|const\b)*$", "", kind)))}

    def place(self, function: Function, nouns: dict[str, Noun], header: Header) -> None:
        """Makes the forms of one function, where they belong."""
        if re.fullmatch(r"acu_\w+_(release|cleanup)", function.name) and self.noun_of(function.name) in self.handles:
            return  # acu::owner calls both
        noun = self.noun_of(function.name)
        if noun not in nouns:
            noun = None  # a class of an earlier header gets no more members
        target = nouns[noun].members if noun else header.functions
        plain = _Form(self, function, noun)
        target.append(plain.member())
        if plain.function_object() is not None:
            target.append(_Form(self, function, noun, calls=True).member())
        of_class = self.document["typed"].get(noun) if noun else None
        if noun and of_class is not None:
            target = nouns[noun].typed
        kind = "function" if of_class is None else "class"
        if plain.is_typed():
            shorts = (short for short in self.read.shorts if short.function == function.name)
            for fixed in ((), *(short.fixed for short in shorts if short.is_shorter)):
                target.append(_Form(self, function, noun, typed=kind, fixed=dict(fixed)).member())
        elif plain.verb() in (of_class or ()):
            target.append(_Form(self, function, noun, typed=kind).member())


def _distinct(made: list[Header], functions: Iterable[Function]) -> None:
    """Raises names that would mean two things: a class and a function, or a class and its member."""
    places = {one.name: one.at for one in functions}
    classes = {name for header in made for noun in header.nouns for name in (noun.name, noun.ref)}
    stops = Stops()
    for header in made:
        clashes = [(one, "") for one in header.functions if one.name in classes]
        for noun in header.nouns:
            taken = (noun.name, noun.ref, "get", "detach")
            clashes += [(one, f"{noun.name}::") for one in noun.members if one.name in taken]
        for one, scope in clashes:
            message = (
                f"{one.c_name}() would be acu::{scope}{one.name} in C++, which is something else already: give it"
                " another name in spec/cxx.yaml, under `names`"
            )
            stops.found.append(GeneratorError(message, places[one.c_name]))
    stops.end()


def cxx_name(name: str) -> str:
    return f"{name}_" if name in KEYWORDS else name


class _Form:
    """One form of a function: as it is in C, with C++'s types for the elements, or with a function object."""

    def __init__(
        self,
        maker: _Maker,
        function: Function,
        noun: str | None,
        typed: str = "",  # class: of the class's T; function: of the function's own
        fixed: dict[str, str] | None = None,
        calls: bool = False,
    ) -> None:
        self.maker = maker
        self.function = function
        self.noun = noun
        self.typed = typed
        self.fixed = fixed or {}
        self.calls = calls
        self.all = function.parameters
        first = self.all[0] if self.all else Parameter("", "")
        is_handle = maker.handle_of(first.points_at) == noun and noun in maker.handles
        self.has_self = noun is not None and (is_handle or (noun in maker.values and first.type == f"acu_{noun}"))

    def verb(self) -> str:
        prefix = f"acu_{self.noun}_" if self.noun else "acu_"
        return self.function.name.removeprefix(prefix)

    # -- what the names of parameters mean

    def dtype_at(self) -> int | None:
        """Where the type of elements is given."""
        places = [at for at, one in enumerate(self.all) if one.type == "acu_dtype" and one.name == "dtype"]
        return places[0] if places and not (self.has_self and places[0] == 0) else None

    def is_typed(self) -> bool:
        """Returns whether the type of elements can be one of C++'s."""
        at = self.dtype_at()
        if at is None or self.function.result != "acu_result":
            return False
        after = self.all[at + 1].name
        owned = [one for one in self.outs() if self.maker.handle_of(self.all[one].type.removesuffix("**").strip())]
        return after in ("host", "element", "pointer") or (len(self.outs()) == 1 and bool(owned))

    def function_object(self) -> int | None:
        """Where a function is given that the call makes before it returns; data follows."""
        for at, one in enumerate(self.all):
            found = re.fullmatch(r"acu_result \(\*\)\(acu_\w+ \*, void \*\)", one.type)
            if found and self.all[at + 1].name == "data":
                if self.function.name in self.maker.document["calls_later"]:
                    return None
                if self.function.name in self.maker.document["calls"]:
                    return at
                message = (
                    f"{self.function.name}() takes a function: name it in spec/cxx.yaml under `calls` if that is called"
                    " before it returns and never afterwards, else under `calls_later`"
                )
                raise GeneratorError(message, self.function.at)
        return None

    def outs(self) -> list[int]:
        """Which parameters are returned: the last ones that point at something to write."""
        if self.function.result != "acu_result":
            return []
        found: list[int] = []
        for at in range(len(self.all) - 1, self.has_self - 1, -1):
            if self.is_out(at):
                found.insert(0, at)
            elif not self.function.is_template and self.all[at].name != "on":
                break
        return found

    def is_out(self, at: int) -> bool:
        one = self.all[at]
        target = one.points_at
        if target is None or "(" in one.type or self.counted(at):
            return False
        if self.is_count(at):
            return True
        if target.endswith("*"):
            handle = self.maker.handle_of(target.removesuffix("*").strip())
            # With a count among the parameters, `contexts` are as many as that says, though it stands elsewhere.
            several = bool(handle) and one.name.endswith("s") and any(other.name == "count" for other in self.all)
            return not target.startswith("const acu_") and not several
        if target.startswith("const ") or target in ("void", "char") or self.maker.handle_of(target):
            return False
        return target not in self.maker.read.opaque

    def is_count(self, at: int) -> bool:
        """Returns whether it counts an array right before it."""
        one = self.all[at]
        is_number = one.type in INTEGERS or one.points_at == "size_t"
        counts = (
            one.name == "count"
            or one.name.endswith("_count")
            or (one.name == "size" and self.all[at - 1].name == "text")
        )
        return is_number and counts and at > 0 and self.is_array(at - 1)

    def is_array(self, at: int) -> bool:
        """Returns whether a count may follow: it is no object, and not memory of a type that is given beside it."""
        target = self.all[at].points_at
        return at >= self.has_self and target not in (None, "void", "const void") and not self.maker.handle_of(target)

    def is_plural(self, at: int) -> bool:
        """Returns whether the name says that there are several: `edges`, but not the `hooks` of an acu_memory_hooks."""
        one = self.all[at]
        return one.name.endswith("s") and not (one.points_at or "").endswith("s")

    def counted(self, at: int) -> bool:
        """Returns whether it is an array that a count follows, at once or after more arrays."""
        if not self.is_array(at) or at + 1 == len(self.all):
            return False
        if self.is_count(at + 1):
            return True
        is_one_of_several = self.is_plural(at) or (self.all[at].name, self.all[at + 1].name) == ("from", "to")
        is_one_of_several |= self.all[at].name == "to" and at > 0 and self.all[at - 1].name == "from"
        return is_one_of_several and self.is_array(at + 1) and self.counted(at + 1)

    def arrays_of(self, count: int) -> int:
        """How many arrays the count counts."""
        number = 0
        while count - number - 1 >= self.has_self and self.counted(count - number - 1):
            number += 1
        return number

    def is_beside(self, at: int) -> bool:
        """Returns whether it is an array that has an entry for each element of the one before it and its count."""
        one = self.all[at] if at < len(self.all) else Parameter("", "")
        is_struct = one.type.startswith("const acu_") and (one.points_at or "")[6:] in self.maker.read.structs
        follows = at >= self.has_self + 2 and self.is_count(at - 1)
        return is_struct and follows and self.is_plural(at) and not self.counted(at)

    def group(self, at: int) -> list[int]:
        """The arrays of which one count tells how long they are, among them this one; none if it is no such array."""
        if self.is_beside(at):
            return self.group(at - 2)
        if not self.counted(at):
            return []
        count = next(after for after in range(at + 1, len(self.all)) if self.is_count(after))
        before = list(range(count - self.arrays_of(count), count))
        return before + [count + 1] * self.is_beside(count + 1)

    # -- the form

    def member(self) -> Member:
        function = self.function
        name = self.verb()
        if self.typed:
            name = name.removesuffix("_typed")
        doc = function.doc
        if function.is_template and not doc:
            doc = self.maker.read.doc_of_macro(function.header, function.name)
        name = self.maker.document["names"].get(function.name, cxx_name(name))
        member = Member(function.name, name, first_sentence(doc))
        self.place(member)
        self.fill(member)
        self.returns(member)
        return member

    def place(self, member: Member) -> None:
        member.is_static = self.noun is not None and not self.has_self
        if self.noun is None:
            return
        owner = cxx_name(self.noun)
        if self.typed == "class":
            member.owner = f"{self.noun}_of<T>"
            member.templates = ("typename T",)
        elif self.noun in self.maker.values or member.is_static:
            member.owner = owner
        else:
            member.owner = f"{self.noun}_ref"

    @property
    def element(self) -> str:
        """The name of the type of elements: a view of another type has one of its own."""
        return "U" if self.typed == "class" and self.has_self and self.makes_a_view() else "T"

    def makes_a_view(self) -> bool:
        at = self.dtype_at()
        return at is not None and at + 1 in self.outs()

    def fill(self, member: Member) -> None:
        """The parameters, and the arguments that are made of them."""
        parameters: list[Parameter] = []
        arguments: list[str] = []
        outs = self.outs()
        at = 0
        while at < len(self.all):
            one = self.all[at]
            if at == 0 and self.has_self:
                arguments.append("value_" if self.noun in self.maker.values else "get()")
            elif at in outs:
                arguments.append(f"&{one.name}")
            elif one.name in self.fixed:
                arguments.append(self.fixed[one.name].replace("NULL", "nullptr"))
            elif self.typed and at == self.dtype_at():
                arguments.append(f"dtype_of<{self.element}>()")
                at += self.elements(at + 1, parameters, arguments)
            elif self.calls and at == self.function_object():
                member.called = self.callee(at)
                parameters.append(Parameter("Function &&", "function"))
                arguments += ["called::call", "&call"]
                at += 1
            elif noun := self.owned_by_array(at):
                parameters.append(Parameter(f"span<acu::{cxx_name(noun)}>", one.name))
                arguments.append(f"detail::owners({one.name}, {self.all[at - 2].name}.size())")
            elif self.is_span(at):
                parameters.append(self.span(at, arguments))
                at += at + 1 not in outs
            elif group := self.group(at):
                parameters.append(self.span_of_several(at, group, arguments))
                at += self.is_count(at + 1) and at + 1 not in outs
            else:
                parameters.append(self.parameter(at, arguments))
            at += 1
        own: tuple[str, ...] = ("typename Function",) if self.calls else ()
        if self.typed == "function" or (self.typed and self.element == "U"):
            own += (f"typename {self.element}",)
        if self.function.is_template:
            own += ("typename... Values",)
        member.templates += own
        member.parameters = tuple(self.defaults(parameters))
        member.arguments = tuple(arguments)

    def is_span(self, at: int) -> bool:
        """Returns whether it is an array with a count of its own, and no other."""
        return self.counted(at) and self.group(at) == [at]

    def owned_by_array(self, at: int) -> str | None:
        """The noun of handles that an array receives, one for each element of the span before it."""
        found = re.fullmatch(r"(acu_\w+) \*", self.all[at].points_at or "")
        follows = at >= self.has_self + 2 and self.is_span(at - 2) and self.is_plural(at)
        return self.maker.handle_of(found[1]) if found and follows and self.is_owned() else None

    def elements(self, at: int, parameters: list[Parameter], arguments: list[str]) -> int:
        """What follows a type: elements of the host, one element, or a number of them; returns how much was taken."""
        one = self.all[at]
        const = "const " if one.type.startswith("const ") else ""
        if one.name == "host" and at + 1 < len(self.all) and self.all[at + 1].name == "count":
            parameters.append(Parameter(f"span<{const}{self.element}>", one.name))
            arguments += [f"{one.name}.data()", f"{one.name}.size()"]
            return 2
        if one.name == "element":
            parameters.append(Parameter(f"const {self.element} &", one.name))
            arguments.append(f"&{one.name}")
            return 1
        if one.points_at in ("void", "const void") and one.name in ("host", "pointer"):
            parameters.append(Parameter(f"{const}{self.element} *", one.name))
            arguments.append(one.name)
            return 1
        return 0

    def span(self, at: int, arguments: list[str]) -> Parameter:
        one = self.all[at]
        count = self.all[at + 1]
        target = one.points_at or ""
        element = target
        data, size = f"{one.name}.data()", f"{one.name}.size()"
        if (found := re.fullmatch(r"(acu_\w+) \*const", target)) and (noun := self.maker.handle_of(found[1])):
            element = f"const {noun}_ref"
            data = f"detail::pointers({one.name})"
        arguments.append(data)
        if count.type in INTEGERS:
            arguments.append(size if count.type in ("size_t", "uint64_t") else f"static_cast<{count.type}>({size})")
        return Parameter(f"span<{element}>", one.name)

    def span_of_several(self, at: int, group: list[int], arguments: list[str]) -> Parameter:
        """One of several arrays with one count: those that are not wanted, or not given, are empty."""
        one = self.all[at]
        others = [self.all[other].name for other in group if other != at]
        names = ", ".join(self.all[other].name for other in group)
        count = next(after for after in range(group[0], len(self.all)) if self.is_count(after))
        if count in self.outs():
            arguments.append(f"detail::wanted({one.name})")
        else:
            arguments.append(f"detail::beside({', '.join([one.name, *others])})")
            if at + 1 == count:
                arguments.append(f"detail::longest({names})")
        optional = one.name in self.maker.document["left_out"]
        return Parameter(f"span<{one.points_at}>", one.name, "{}" if optional else "")

    def parameter(self, at: int, arguments: list[str]) -> Parameter:
        one = self.all[at]
        target = one.points_at
        argument = one.name
        kind = one.type
        if noun := self.maker.handle_of(target):
            kind, argument = f"{noun}_ref", f"{one.name}.get()"
        elif kind == "acu_closure":
            kind, argument = "closure", f"{one.name}.detach()"
        elif kind.endswith("..."):
            argument = f"detail::argument({one.name})..."
            kind = "const Values &..."
        elif (
            kind.startswith("const acu_")
            and (target or "")[6:] in self.maker.read.structs
            and not self.counted(at)
            and not self.is_plural(at)
        ):
            kind, argument = f"given<{(target or '')[6:]}>", f"{one.name}.get()"
        elif found := re.fullmatch(r"(\w+)(\[\d+\])", kind):
            kind = f"{found[1]} (&){found[2]}"
        arguments.append(argument)
        return Parameter(kind, one.name)

    def defaults(self, parameters: list[Parameter]) -> list[Parameter]:
        """Options, and the stream to use, may be left out where nothing follows that may not."""
        for at in range(len(parameters) - 1, -1, -1):
            one = parameters[at]
            if (one.name, one.type) == ("on", "stream_ref") or re.fullmatch(r"given<acu_\w+_options>", one.type):
                parameters[at] = replace(one, default="nullptr")
            elif not one.default:
                return [replace(before, default="") for before in parameters[:at]] + parameters[at:]
        return parameters

    def callee(self, at: int) -> str:
        found = re.search(r"\((acu_\w+) \*, void \*\)", self.all[at].type)
        noun = self.maker.handle_of(found[1]) if found else None
        if noun is None:
            raise GeneratorError(
                f"{self.function.name}() calls a function of something that is no handle", self.function.at
            )
        return f"detail::called<{noun}_ref, acu_{noun}, std::remove_reference_t<Function>>"

    # -- what is returned

    def returns(self, member: Member) -> None:
        result = self.function.result
        if result != "acu_result":
            noun = self.maker.handle_of(result.removesuffix("*").strip()) if result.endswith("*") else None
            value = result.removeprefix("acu_")
            member.result = result
            if noun is not None:
                member.result = f"acu::{cxx_name(noun)}" if self.verb() == "retain" else f"{noun}_ref"
                member.returned = member.result if self.verb() == "retain" else ""
            elif value in self.maker.values and f"acu_{value}" == result:
                member.result = f"acu::{cxx_name(value)}"
            return
        locals_: list[tuple[str, str, str]] = []
        fields: list[Parameter] = []
        made: list[str] = []
        for at in self.outs():
            one = self.all[at]
            target = one.points_at or ""
            begins = "nullptr" if target.endswith("*") else "{}"
            if self.is_count(at):
                names = [self.all[array].name for array in self.group(at - 1)]
                begins = f"{names[0]}.size()" if len(names) == 1 else f"detail::room({', '.join(names)})"
            kind, expression = self.value(target, one.name)
            locals_.append((target, one.name, begins))
            fields.append(Parameter(kind, one.name))
            made.append(expression)
        member.outs = tuple(locals_)
        if len(fields) == 1:
            member.result = f"result<{fields[0].type}>"
            member.returned = made[0]
        elif fields:
            member.result = f"result<{self.function.name.removeprefix('acu_')}_values>"
            member.values = tuple(fields)
            member.returned = "{" + ", ".join(made) + "}"

    def value(self, target: str, name: str) -> tuple[str, str]:
        """The type of what is returned, and how it is made of C's."""
        noun = self.maker.handle_of(target.removesuffix("*").strip()) if target.endswith("*") else None
        if noun is None:
            value = target.removeprefix("acu_")
            if value in self.maker.values and f"acu_{value}" == target:
                return f"acu::{cxx_name(value)}", name
            return target, name
        if not self.is_owned():
            return f"{noun}_ref", name
        kind = f"acu::{cxx_name(noun)}"
        if noun in self.maker.document["typed"] and self.typed:
            kind = f"{noun}_of<{self.element}>"
        return kind, f"{kind}({name})"

    def is_owned(self) -> bool:
        """Returns whether the caller owns the handle that it gets, as the description says."""
        doc = self.function.doc
        if re.search(r"caller (now )?owns", doc) or MAKES.match(self.verb()):
            return True
        if re.search(r"\bborrowed\b|\bstays?\b", doc):
            return False
        message = (
            f'{self.function.name}() does not say who owns the handle that it returns: write "the caller owns it", or'
            " that it is borrowed, or stays whose it is"
        )
        raise GeneratorError(message, self.function.at)
