"""Writes the spies and the calls of tests/abi (README.md there says what they are).

python tests/abi/spies.py OUTPUT [--presented VERSION]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from generator import yamlfile  # noqa: E402
from generator.bind import bind, load_libraries  # noqa: E402
from generator.ctype import CType  # noqa: E402
from generator.describe import opened  # noqa: E402
from generator.model import RESERVED, Api, Function, Library, Param, Record  # noqa: E402
from generator.slots import Bindings, Slot  # noqa: E402

NO_UNION = (-1, -1)
ELEMENTS = 3


@dataclass
class Alternative:
    member: str
    tag: int
    present: int


@dataclass
class Union:
    path: str  # of its discriminator; "" where that is an argument
    alternatives: list[Alternative]

    @property
    def by_argument(self) -> int:
        return int(not self.path)


@dataclass
class Leaf:
    path: str
    size: int
    unions: list[tuple[int, int]]
    kind: str
    offset: int
    tag_of: int = -1
    present: int = 0
    absent: int = 0
    attribute: int = -1
    attribute_since: int = 0
    since: int = 0

    @property
    def padded(self) -> list[tuple[int, int]]:
        return [*self.unions, NO_UNION, NO_UNION, NO_UNION][:3]


@dataclass
class Sheet:
    """A record as a spy or a caller sees it."""

    id: str
    type: str
    leaves: list[Leaf] = field(default_factory=list)
    unions: list[Union] = field(default_factory=list)
    followed: list[tuple[str, str]] = field(
        default_factory=list
    )  # pointers that adapters follow, and what counts there


class Writer:
    """Knows all toolkits; writes for one of them, or for the presented API."""

    def __init__(self, bindings: Bindings, driver: Library) -> None:
        self.bindings = bindings
        self.library = bindings.library
        self.parameters = bindings.describer.parameters
        self.driver = driver

    # ---- records

    def sheet(self, api: Api, record: Record, among: list[Api]) -> Sheet:
        """The leaves of a record as `api` lays it out; present and alternatives as the toolkits `among` have them."""
        tag = f"{record.kind} {record.name}"
        sheet = Sheet(record.name, tag)
        self._walk(api, record, self._canonical(record.name), "", 0, [], "", sheet, among)
        sheet.leaves = _without_overlaps(sheet.leaves)
        for index, union in enumerate(sheet.unions):
            for leaf in sheet.leaves:
                if leaf.path == union.path:
                    leaf.tag_of = index
        for leaf in sheet.leaves:
            if leaf.path in {path for path, _ in sheet.followed}:
                leaf.kind = "SPY_TARGET"
            elif leaf.path in {count for _, count in sheet.followed}:
                leaf.kind = "SPY_COUNT"
        return sheet

    def _canonical(self, name: str) -> str:
        return next((new for new, old in self.library._older_names.items() if name in old), name)

    def _walk(
        self, api: Api, record: Record, name: str, prefix: str, base: int, conditions: list[tuple[int, int]], tag: str,
        sheet: Sheet, among: list[Api], opaque: bool = False,
    ) -> None:  # fmt: skip
        extra = self.parameters.record(name)
        members = list(opened(record))
        mine = [(len(sheet.unions) + i, union) for i, union in enumerate(extra.get("unions", ()))]
        for _, union in mine:
            by = tag if union["by"] == "argument" else prefix + union["by"]
            sheet.unions.append(Union(by, self._alternatives(api, record, name, union, among)))
        for member in members:
            path = prefix + member.name
            inside = conditions + [c for c in (_condition(member.name, i, u, sheet) for i, u in mine) if c]
            said = extra.get("fields", {}).get(member.name, {})
            hidden = opaque or member.name in extra.get("opaque", ()) or said.get("opaque", False)
            inner = api.record_of(member.type) if member.type and not api.strip(member.type).pointers else None
            if member.record is not None:
                inner = member.record
            if inner is None:
                pointee = api.record_of(member.type) if member.type else None
                if pointee is not None and not hidden and said.get("direction") != "out":
                    sheet.followed.append((path, prefix + said["length"] if "length" in said else ""))
                self._leaf(api, name, member, path, base, inside, hidden, extra, sheet)
                continue
            nested_tag = prefix + said["tag"] if "tag" in said else ""
            count = member.size // inner.size
            for index in range(count):
                stem = f"{path}[{index}]." if count > 1 else f"{path}."
                self._walk(
                    api, inner, self._canonical(inner.name), stem, base + member.offset + index * inner.size, inside,
                    nested_tag, sheet, among, hidden,
                )  # fmt: skip

    def _leaf(
        self, api: Api, record: str, member: Any, path: str, base: int, conditions: list[tuple[int, int]], hidden: bool,
        extra: dict[str, Any], sheet: Sheet,
    ) -> None:  # fmt: skip
        reserved = member.name in extra.get("reserved", ()) or member.name in extra.get("padding", ())
        reserved = reserved or bool(RESERVED.match(member.name.split(".")[-1]))
        kind = "SPY_OPAQUE" if hidden else "SPY_RESERVED" if reserved else "SPY_PLAIN"
        absent = self.bindings.describer._constant(extra.get("absent", {}).get(member.name, 0))
        leaf = Leaf(path, member.size, conditions, kind, base + member.offset, absent=absent)
        attribute = extra.get("attributes", {}).get(member.name)
        if isinstance(attribute, str) and attribute in self.library.newest.enumerators:
            leaf.attribute = self.library.newest.enumerators[attribute]
            leaf.attribute_since = self.library.enumerator_since(attribute)
        sheet.leaves.append(leaf)

    def _alternatives(
        self, api: Api, record: Record, name: str, union: dict[str, Any], among: list[Api]
    ) -> list[Alternative]:
        at = f"{union['at']}." if "at" in union else ""
        found = []
        listed = dict(union.get("members", {}))
        if "otherwise" in union:
            taken = {tag for tags in listed.values() for tag in tags}
            by = next(m for m in opened(record) if m.name == union["by"])
            assert by.type is not None
            enum = api.enum_of(by.type)
            assert enum is not None
            listed[union["otherwise"]] = [tag for tag in enum.values if tag not in taken and enum.values[tag] > 0]
        for member, tags in listed.items():
            present, value = 0, 0
            for tag in reversed(tags):
                for index, other in enumerate(among):
                    named = [other.records[record.name]] if among == [api] else self.library.records_named(other, name)
                    has = named and any(
                        m.name == at + member or m.name.startswith(f"{at}{member}.") for m in opened(named[0])
                    )
                    if has and tag in other.enumerators:
                        present |= 1 << index
                        value = other.enumerators[tag]
            if present or among != [api]:
                found.append(Alternative(at + member, value or self._any_value(tags), present))
        return found

    def _any_value(self, tags: list[str]) -> int:
        return next(
            (api.enumerators[tag] for api in reversed(self.library.apis) for tag in tags if tag in api.enumerators), 0
        )

    def presented_sheet(self, record: Record, home: Api, slot: Slot, index: int, records: dict[str, Sheet]) -> Sheet:
        """The record as a parameter of one function: under another name elsewhere, what lies there."""
        behind = {}
        for route in self.bindings.router.routes(slot.function, slot.home):
            if route.target is not None and not route.decision:
                other = route.api.record_of(route.target.params[index].type)
                usual = self.library.records_named(route.api, record.name)
                if other is not None and usual and other.name != usual[0].name:
                    behind[route.api.toolkit] = other
        name = f"{record.name}_{slot.name}" if behind else record.name
        if name not in records:
            records[name] = self._presented_sheet(record, home, behind)
            records[name].id = name
        return records[name]

    def _presented_sheet(self, record: Record, home: Api, behind: dict[str, Record]) -> Sheet:
        apis = self.library.apis
        sheet = self.sheet(home, record, apis)
        torn: set[str] = set()  # fields that one of the older names of a record had, and another had not
        for index, api in enumerate(apis):
            named = [{leaf.path for leaf in api.leaves(one)} for one in self.library.records_named(api, record.name)]
            paths = (
                {leaf.path for leaf in api.leaves(behind[api.toolkit])}
                if api.toolkit in behind
                else next(iter(named), set())
            )
            for leaf in sheet.leaves:
                leaf.present |= int(leaf.path in paths) << index
            torn |= set[str]().union(*named) - set[str].intersection(*named) if named else set()
        for leaf in sheet.leaves:
            first = next((api for i, api in enumerate(apis) if leaf.present >> i & 1), None)
            leaf.since = first.version if first and first is not apis[0] and leaf.path not in torn else 0
        return sheet

    # ---- parameters

    def direction(self, function: Function, api: Api, name: str) -> str:
        said = self.parameters.param(function.name, name).get("direction")
        param = next(p for p in function.params if p.name == name)
        if said is None and not param.type.const and api.record_of(param.type) is not None and param.type.depth == 1:
            return "out"  # of an older signature only
        return said or self.bindings.describer.direction(function, api, name)

    def shape(self, function: Function, api: Api, param: Param) -> tuple[str, str]:
        """value, values, record or record_value; and the C expression that counts, "" for one."""
        seen = api.strip(param.type)
        extra = self.parameters.param(function.name, param.name)
        record = api.record_of(param.type)
        length = extra.get("length", "")
        if length and length not in {p.name for p in function.params}:
            length = ""
        if extra.get("opaque") or seen.function:
            return "value", ""
        if record is not None and not seen.pointers:
            return "record_value", ""
        if record is not None and len(seen.pointers) == 1:
            return "record", length
        depth = len(seen.pointers)
        opaque_base = seen.base == "void" or api.scalar(CType("", seen.base, seen.tag))[0] in ("opaque", "function")
        if depth - int(opaque_base) <= 0 or (seen.base == "char" and seen.const and depth == 1):
            return "value", ""
        return "values", length

    # ---- a spy

    def spy(self, api: Api, headers: list[str]) -> dict[str, Any]:
        records: dict[str, Sheet] = {}
        functions = [self._spy_function(api, function, records) for function in api.functions.values()]
        declared = {s for f in api.functions.values() for s in (f.symbol, f.ptds)}
        internal = (symbol for symbol in api.symbols if symbol not in declared)
        ordered = list(records.values())
        return {"api": api, "headers": headers, "records": ordered, "functions": functions, "traps": list(internal)}

    def _spy_function(self, api: Api, function: Function, records: dict[str, Sheet]) -> dict[str, Any]:
        params = []
        counts = {self.parameters.param(function.name, p.name).get("length") for p in function.params}
        for param in function.params:
            shape, length = self.shape(function, api, param)
            direction = self.direction(function, api, param.name)
            record = api.record_of(param.type) if shape.startswith("record") else None
            if record is not None and record.name not in records:
                records[record.name] = self.sheet(api, record, [api])
            count = _count(function, length)
            params.append(_spy_lines(param.name, shape, direction, record, count, bool(length), param.name in counts))
        return {
            "name": function.name,
            "ptds": function.ptds is not None,
            "unmapped": function.ptds if function.unmapped else "",
            "returns": function.returns.spelling,
            "convention": "CUDARTAPI",
            "declaration": ", ".join(p.type.declare(p.name) for p in function.params) or "void",
            "params": params,
            "answer": _answer(function),
        }

    # ---- the calls

    def calls(self) -> dict[str, Any]:
        records: dict[str, Sheet] = {}
        functions = [self._call(slot, records) for slot in self.bindings.slots]
        return {"api": self.library.presented, "records": list(records.values()), "functions": functions}

    def _call(self, slot: Slot, records: dict[str, Sheet]) -> dict[str, Any]:
        function, home = slot.function, slot.home
        params: list[dict[str, Any]] = []
        scenarios = 1
        names = [p.name for p in function.params]
        extras = {p.name: self.parameters.param(function.name, p.name) for p in function.params}
        counts = {extra.get("length") for extra in extras.values()}
        tags = {extra["tag"]: name for name, extra in extras.items() if "tag" in extra}
        for index, param in enumerate(function.params):
            shape, length = self.shape(function, home, param)
            record = home.record_of(param.type) if shape.startswith("record") else None
            sheet = self.presented_sheet(record, home, slot, index, records) if record else None
            if sheet:
                scenarios = max([scenarios, *(len(u.alternatives) for u in sheet.unions)])
            tagged = function.params[names.index(tags[param.name])] if param.name in tags else None
            tagged_record = home.record_of(tagged.type) if tagged else None
            tagged_sheet = None
            if tagged is not None and tagged_record is not None:
                tagged_sheet = self.presented_sheet(tagged_record, home, slot, names.index(tagged.name), records)
                scenarios = max([scenarios, *(len(u.alternatives) for u in tagged_sheet.unions)])
            direction = self.direction(function, home, param.name)
            counted = param.name in counts
            lines = _call_lines(
                index, param, shape, direction, sheet, bool(length), counted, tagged_sheet, function, extras, home
            )
            params.append({"name": param.name, "index": index, **lines})
        status = slot.status
        return {
            "name": function.name,
            "params": params,
            "arguments": ", ".join(p["argument"] for p in params),
            "returns_storage": f"{function.returns.declare('returned')};",
            "assign": "returned = ",
            "finish": _finish(slot),
            "targets": list(self._targets(slot)),
            "scenarios": scenarios,
            "since": slot.since,
            "until": slot.until,
            "status": int(status),
        }  # fmt: skip

    def _targets(self, slot: Slot) -> Iterator[dict[str, Any]]:
        """Runs of toolkits in which the call arrives alike."""
        last = None
        for index, route in enumerate(self.bindings.router.routes(slot.function, slot.home)):
            target = route.target
            entry: dict[str, Any] = {"name": None, "ptds": 0, "decided": 0, "names": []}
            if target is not None:
                entry = {
                    "name": target.name,
                    "ptds": int(target.ptds is not None),
                    "decided": self._decided(slot, route),
                    "names": _names(slot.function, target, route.decision is not None),
                }
            if entry != last:
                yield {"since": 1 if index == 0 else route.api.version, **entry}
            last = entry

    def _decided(self, slot: Slot, route: Any) -> int:
        if route.decision is None:
            return 0
        theirs = {p.name for p in route.target.params}
        counted = any("target_length" in self.parameters.param(slot.name, p.name) for p in slot.function.params)
        by_value = counted or any(
            p.name not in theirs and slot.home.record_of(p.type) and not p.type.pointers for p in slot.function.params
        )
        return 2 if by_value else 1


def _names(ours: Function, theirs: Function, decided: bool) -> list[str | None]:
    """What each of our parameters is called there; by position where nothing was added or removed."""
    known = {p.name for p in theirs.params}
    if len(ours.params) == len(theirs.params) and not decided:
        return [p.name for p in theirs.params]
    return [p.name if p.name in known else None for p in ours.params]


def _condition(member: str, index: int, union: dict[str, Any], sheet: Sheet) -> tuple[int, int] | None:
    for position, alternative in enumerate(sheet.unions[index].alternatives):
        if member == alternative.member or member.startswith(alternative.member + "."):
            return index, position
    return None


def _without_overlaps(leaves: list[Leaf]) -> list[Leaf]:
    """Of members that lie over each other and that nothing tells apart, the first."""
    kept: list[Leaf] = []
    for leaf in leaves:
        clash = any(
            other.unions == leaf.unions
            and other.offset < leaf.offset + leaf.size
            and leaf.offset < other.offset + other.size
            for other in kept
        )
        if not clash and leaf.size <= 256:
            kept.append(leaf)
    return kept


def _count(function: Function, length: str) -> str:
    if not length:
        return "1"
    counter = next(p for p in function.params if p.name == length)
    return f"({length} == NULL ? 0 : (size_t)*{length})" if counter.type.depth else f"(size_t){length}"


def _finish(slot: Slot) -> str:
    if slot.status:
        return "return finish(r, (int)returned);"
    if slot.function.returns.base == "char":
        return "return finish_text(r, returned);"
    return "(void)returned; return finish_other(r);"


def _spy_lines(
    name: str, shape: str, direction: str, record: Record | None, count: str, array: bool, counts: bool
) -> dict[str, Any]:
    see: list[str] = []
    give: list[str] = []
    flag = int(array)
    if shape == "value":
        see.append(f'spy_see("{name}", (const void *)&{name}, sizeof {name}, 1, 0);')
    elif shape == "record_value":
        assert record is not None
        see.append(f'spy_see_record("{name}", &record_{record.name}, &{name}, 1, 0);')
    elif shape == "record":
        assert record is not None
        if direction != "out":
            see.append(f'spy_see_record("{name}", &record_{record.name}, {name}, {count}, {flag});')
        if direction != "in":
            give.append(f'spy_give_record("{name}", &record_{record.name}, {name}, {count}, {flag});')
    else:
        if direction != "out":
            see.append(f'spy_see("{name}", (const void *){name}, sizeof *{name}, {count}, {flag});')
        if direction == "inout" and counts:
            give.append(f"spy_give_count({name}, sizeof *{name});")
        elif direction != "in":
            give.append(f'spy_give("{name}", (void *){name}, sizeof *{name}, {count}, {flag});')
    return {"name": name, "see": see, "give": give}


def _answer(function: Function) -> str:
    if function.returns.base == "char":
        return 'return "an answer of the spy";'
    if function.returns.tag:
        return f"return ({function.returns.spelling}){{0}};"
    return f"return ({function.returns.spelling})spy_returns;"


def _plain(kind: CType) -> str:
    """The type a pointer leads to, without const: what a variable of it needs."""
    text = kind.spelling.rstrip()
    if not text.endswith("*"):
        text = text[: text.rindex("*") + 1]
    text = text[:-1].rstrip()
    if text.endswith("*const"):
        return text[: -len("const")]
    return text.removeprefix("const ") if "*" not in text else text


def _call_lines(
    index: int, param: Param, shape: str, direction: str, sheet: Sheet | None, array: bool, counts: bool,
    tagged: Sheet | None, function: Function, extras: dict[str, Any], home: Api,
) -> dict[str, Any]:  # fmt: skip
    name = param.name
    prepare: list[str] = []
    check: list[str] = []
    argument = name
    record = None
    if shape == "value":
        text = home.strip(param.type)
        storage = param.type.declare(name) + ";"
        if tagged is not None:
            prepare += [
                f"{name} = ({param.type.spelling})in_tag(r, &record_{tagged.id});",
                f"in_fixed(r, {index}, &{name}, sizeof {name});",
            ]
        elif counts and not param.type.depth:
            prepare += [f"{name} = ELEMENTS;", f"in_fixed(r, {index}, &{name}, sizeof {name});"]
        elif text.base == "char" and text.const and text.depth == 1:
            prepare += [
                f'{name} = is_passed(r, {index}) ? "text" : NULL;',
                f"in_fixed(r, {index}, (const void *)&{name}, sizeof {name});",
            ]
        else:
            prepare.append(f"in_value(r, {index}, (void *)&{name}, sizeof {name});")
    elif shape == "record_value":
        assert sheet is not None
        record = sheet.id
        storage = param.type.declare(name) + ";"
        prepare.append(f"in_record(r, {index}, &record_{record}, &{name}, 1, 0);")
    else:
        count = "ELEMENTS" if array else "1"
        plain = _plain(param.type)
        storage = f"{plain}{'' if plain.endswith('*') else ' '}{name}[ELEMENTS];"
        argument = f"is_passed(r, {index}) ? {name} : NULL" if direction == "in" else name
        args = f"{index}, (void *){name}, sizeof {name}[0], {count}, {int(array)}"
        given = extras.get(name, {}).get("length")
        inout_count = given and extras.get(given, {}).get("direction") == "inout"
        back = "ELEMENTS - 1" if inout_count else count
        if shape == "record":
            assert sheet is not None
            record = sheet.id
            args = f"{index}, &record_{record}, {name}, {count}, {int(array)}"
            back_args = f"{index}, &record_{record}, {name}, {back}, {int(array)}"
            if direction == "out":
                prepare.append(f"poison({name}, sizeof {name});")
            else:
                prepare.append(f"in_record(r, {args});")
            if direction != "in":
                check.append(f"out_record(r, {back_args});")
        elif direction == "inout" and counts:
            prepare += [f"{name}[0] = ELEMENTS;", f"in_fixed(r, {index}, {name}, sizeof {name}[0]);"]
            check.append(f"out_count(r, {index}, (long){name}[0]);")
        else:
            if direction == "out":
                prepare.append(f"poison((void *){name}, sizeof {name});")
            else:
                prepare.append(f"in_values(r, {args});")
            if direction != "in":
                check.append(f"out_values(r, {index}, (const void *){name}, sizeof {name}[0], {back}, {int(array)});")
    drops = int(extras.get(name, {}).get("newer") == "ignored")
    return {
        "storage": storage, "prepare": prepare, "check": check, "argument": argument, "record": record,
        "goes_in": int(direction != "out"), "drops": drops,
    }  # fmt: skip


def write(output: Path, presented: str | None = None) -> list[Api]:
    """Writes calls.c and spy_<toolkit>.c; returns the toolkits in their order."""
    libraries = {library.name: library for library in load_libraries(presented)}
    bindings = bind(libraries["cudart"], libraries["cuda"])
    writer = Writer(bindings, libraries["cuda"])
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    output.mkdir(parents=True, exist_ok=True)
    (output / "calls.c").write_text(environment.get_template("calls.c.j2").render(**writer.calls()))
    info = yamlfile.load(HERE.parent.parent / "spec" / "libraries.yaml")["cudart"]
    template = environment.get_template("spy.c.j2")
    for api in libraries["cudart"].apis:
        headers = [h for h in info["headers"] if "/" not in h]
        (output / f"spy_{api.toolkit}.c").write_text(template.render(**writer.spy(api, headers)))
    return libraries["cudart"].apis


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--presented")
    options = parser.parse_args()
    apis = write(options.output, options.presented)
    print(f"spies of {len(apis)} toolkits in {options.output}")


if __name__ == "__main__":
    main()
