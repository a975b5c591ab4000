"""Writes random CUDA programs, which compute the same on a device and on the host, and end.

    tests/ptx_corpus/random_programs.py SEED KERNELS > program.cu

A kernel is a random body: statements over variables of all types, loops that go round at most a few times, functions
that call each other, and exchanges between the threads of a warp or a block where all of them come by.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field, replace
from typing import Any

INTEGERS = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
FLOATS = ["f32", "f64", "f16", "bf16"]
WEIGHTS = [1, 1, 1, 1, 5, 4, 3, 2]
LITERALS = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 200, 255, 1000, 32768, 65535, 0x7FFFFFFF]
MOST_DEPTH = 4
THREADS = 80  # of a block, as in random_programs.cuh
MEMBERS = [("a", "u8"), ("b", "u64"), ("c", "s16"), ("d", "s32"), ("e", "u16"), ("f", "u8")]  # of a struct


@dataclass
class Scope:
    """What can be named here. `mask` is the variable with the lanes that come by here together, or "" """

    variables: list[tuple[str, str]] = field(default_factory=list)  # type, name
    arrays: list[tuple[str, str, int]] = field(default_factory=list)  # type, name, elements
    structs: list[str] = field(default_factory=list)
    mask: str = ""
    whole_block: bool = False
    in_kernel: bool = False
    in_loop: bool = False
    returns: str = ""

    def inner(self, **changes: Any) -> Scope:
        """A scope in this one, whose names end with it."""
        lists: dict[str, Any] = {
            "variables": list(self.variables),
            "arrays": list(self.arrays),
            "structs": list(self.structs),
        }
        return replace(self, **lists, **changes)


class Program:
    """A random program, as lines."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.lines: list[str] = []
        self.names = 0
        self.functions: list[tuple[str, str, list[str]]] = []  # type, name, types of arguments
        self.together: list[str] = []  # functions of lanes that know each other
        self.budget = self.locks = 0

    def name(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}_{self.names}"

    def integer_type(self) -> str:
        return self.r.choices(INTEGERS, WEIGHTS)[0]

    # ---- expressions ----

    def literal(self, type_: str) -> str:
        value = self.r.choice(LITERALS) if self.r.random() < 0.7 else self.r.getrandbits(32)
        if type_ in ("u64", "s64") and self.r.random() < 0.3:
            value = self.r.getrandbits(64)
        return f"({type_}){value}ull"

    def leaf(self, s: Scope, type_: str) -> str:
        same = [n for t, n in s.variables if t == type_]
        other = [n for t, n in s.variables if t in INTEGERS]
        ways = [lambda: self.literal(type_)]
        if same:
            ways += [lambda: self.r.choice(same)] * 4
        if other:
            ways += [lambda: f"({type_}){self.r.choice(other)}"] * 3
        if s.arrays:
            ways += [lambda: self.element(s, type_)] * 2
        if s.structs:
            ways += [lambda: f"({type_}){self.r.choice(s.structs)}.{self.r.choice('abcdef')}"] * 2
        if s.in_kernel:
            ways += [lambda: f"({type_})t.in[{self.index(s, 32)}]", lambda: f"({type_})t.id", lambda: self.load(type_)]
        return self.r.choice(ways)()

    def load(self, type_: str) -> str:
        """A load of one of the types' own size from the input."""
        size = {"8": 1, "6": 2, "2": 4, "4": 8}[type_[-1]]
        return f"((const {type_} *)t.in)[{self.r.randrange(128 // size)}]"

    def index(self, s: Scope, count: int) -> str:
        return (
            f"{self.expression(s, 'u32', MOST_DEPTH - 1)} % {count}"
            if self.r.random() < 0.6
            else str(self.r.randrange(count))
        )

    def element(self, s: Scope, type_: str) -> str:
        _, name, count = self.r.choice(s.arrays)
        return f"({type_}){name}[{self.index(s, count)}]"

    def condition(self, s: Scope, depth: int) -> str:
        type_ = self.integer_type()
        way = self.r.random()
        if way < 0.15 and depth < MOST_DEPTH:
            return f"({self.condition(s, depth + 1)} {self.r.choice(['&&', '||'])} {self.condition(s, depth + 1)})"
        if way < 0.3:
            real = self.r.choice(FLOATS)
            return f"({self.real(s, real, depth + 1)} < {self.real(s, real, depth + 1)})"
        if way < 0.5:
            return f"({self.expression(s, 'u32', depth + 1)} & {self.r.choice([1, 2, 3, 5, 8])})"
        op = self.r.choice(["<", "<=", ">", "==", "!="])
        return f"({self.expression(s, type_, depth + 1)} {op} {self.expression(s, type_, depth + 1)})"

    def expression(self, s: Scope, type_: str, depth: int = 0) -> str:
        if depth >= MOST_DEPTH or self.r.random() < 0.2:
            return self.leaf(s, type_)

        def e(of: str = type_) -> str:
            return self.expression(s, of, depth + 1)

        way = self.r.randrange(22)
        if way < 5:
            return f"{self.r.choice(['add', 'sub', 'mul'])}<{type_}>({e()}, {e()})"
        if way < 7:
            return f"{self.r.choice(['left', 'right'])}<{type_}>({e()}, {e('u32')})"
        if way < 9:
            return f"{self.r.choice(['divide', 'remainder'])}<{type_}>({e()}, {e()})"
        if way < 12:
            return f"({type_})({e()} {self.r.choice('&|^')} {e()})"
        if way == 12:
            return f"({type_})({self.r.choice('~-')}(wide<{type_}>){e()})" if type_[0] == "u" else f"({type_})~{e()}"
        if way == 13:
            return f"{self.r.choice(['least', 'most'])}<{type_}>({e()}, {e()})"
        if way < 16:
            return f"({self.condition(s, depth + 1)} ? {e()} : {e()})"
        if way < 18:
            return f"({type_}){e(self.integer_type())}"
        if way == 18:
            return f"({type_}){self.r.choice(['bits', 'whole'])}({self.real(s, self.r.choice(FLOATS[:2]), depth + 1)})"
        if way == 19:
            return f"({type_})high({e('u32')}, {e('u32')})"
        if way == 20 and self.functions:
            _, name, types = self.r.choice(self.functions)
            return f"({type_}){name}({', '.join(e(t) for t in types)})"
        return f"({type_})bits({self.real(s, self.r.choice(FLOATS), depth + 1)})"

    def real(self, s: Scope, type_: str, depth: int) -> str:
        """An expression of floating point, each operation of which is rounded once on both sides."""
        same = [n for t, n in s.variables if t == type_]
        if depth >= MOST_DEPTH or self.r.random() < 0.3:
            if same and self.r.random() < 0.6:
                return self.r.choice(same)
            word = self.expression(s, "u32", MOST_DEPTH - 1)
            return {"f32": f"small32({word})", "f64": f"small64({word})", "f16": f"__float2half(small32({word}))"}.get(
                type_, f"__float2bfloat16(small32({word}))"
            )
        a, b = self.real(s, type_, depth + 1), self.real(s, type_, depth + 1)
        if type_ in ("f16", "bf16"):
            return f"{self.r.choice(['__hadd_rn', '__hsub_rn', '__hmul_rn'])}({a}, {b})"
        if self.r.random() < 0.15:
            return f"({type_}){self.real(s, 'f64' if type_ == 'f32' else 'f32', depth + 1)}"
        if self.r.random() < 0.15:
            return f"({type_}){self.expression(s, self.integer_type(), depth + 1)}"
        return f"({a} {self.r.choice('+-*/')} {b})"

    # ---- statements ----

    def say(self, text: str) -> None:
        self.lines.append(text)

    def block(self, s: Scope, count: int) -> None:
        for _ in range(count):
            if self.budget > 0:
                self.budget -= 1
                self.statement(s)

    def count(self, s: Scope) -> str:
        return f"({self.expression(s, 'u32', 2)} % {self.r.choice([2, 3, 5, 7])})"

    def statement(self, s: Scope) -> None:
        ways = [self.declare] * 3 + [self.assign] * 6 + [self.choose] * 3 + [self.loop] * 2 + [self.switch]
        ways += [self.declare_array, self.declare_struct, self.store_array, self.store_array, self.inline_assembly]
        if s.in_kernel:
            ways += [self.store] * 3 + [self.add_up] * 2 + [self.virtual, self.by_pointer, self.locked]
            if s.whole_block:
                ways += [self.pass_on] * 4 + [self.read_sums, self.even_loop]
        if s.mask:
            ways += [self.exchange] * 5 + [self.masked_loop] * 2
        if s.mask and self.together:
            ways += [self.call_together] * 2
        if s.in_loop:
            ways += [self.leave_loop] * 2
        if s.returns:
            ways += [self.leave]
        self.r.choice(ways)(s)

    def declare(self, s: Scope) -> None:
        if self.r.random() < 0.25:
            type_, name = self.r.choice(FLOATS), self.name("x")
            self.say(f"{type_} {name} = {self.real(s, type_, 1)};")
        else:
            type_, name = self.integer_type(), self.name("v")
            self.say(f"{self.r.choice(['', '', '', '', 'volatile '])}{type_} {name} = {self.expression(s, type_)};")
        s.variables.append((type_, name))

    def declare_array(self, s: Scope) -> None:
        type_, name, count = self.integer_type(), self.name("a"), self.r.choice([2, 3, 4, 7, 8, 16])
        i = self.name("i")
        self.say(f"{type_} {name}[{count}];")
        self.say(f"for (u32 {i} = 0; {i} < {count}; {i}++)")
        self.say(f"{name}[{i}] = add<{type_}>({self.expression(s, type_, 2)}, ({type_}){i});")
        s.arrays.append((type_, name, count))

    def declare_struct(self, s: Scope) -> None:
        # A packed struct is not passed by value: nvcc stores its parts where ptxas wants multiples of their sizes.
        name, kind = self.name("s"), self.r.choice(["loose", "tight"])
        if s.structs and self.r.random() < 0.3:
            kind = ""
            self.say(f"auto {name} = {self.r.choice(s.structs)};")
        else:
            values = [self.expression(s, t, 2) for _, t in MEMBERS]
            self.say(f"{kind} {name} = {{{', '.join(values)}}};")
        if kind == "loose":
            self.say(f"{name} = turned({name}, {self.expression(s, 'u32', 2)});")
        s.structs.append(name)

    def store_array(self, s: Scope) -> None:
        if s.arrays:
            type_, name, count = self.r.choice(s.arrays)
            self.say(f"{name}[{self.index(s, count)}] = {self.expression(s, type_, 1)};")
        elif s.structs:
            member, type_ = self.r.choice(MEMBERS)
            self.say(f"{self.r.choice(s.structs)}.{member} = {self.expression(s, type_, 1)};")

    def assign(self, s: Scope) -> None:
        if not s.variables:
            return self.declare(s)
        type_, name = self.r.choice(s.variables)
        if type_ in FLOATS:
            self.say(f"{name} = {self.real(s, type_, 1)};")
        elif self.r.random() < 0.4:
            self.say(f"{name} = ({type_})({name} {self.r.choice('&|^')} {self.expression(s, type_, 1)});")
        else:
            self.say(f"{name} = {self.expression(s, type_)};")

    def choose(self, s: Scope) -> None:
        mask, condition = "", self.condition(s, 1)
        if s.mask and self.r.random() < 0.6:
            mask, is_ = self.name("m"), self.name("c")
            self.say(f"bool {is_} = {condition};")
            self.say(f"u32 {mask} = ballot({s.mask}, {is_}), not_{mask} = {s.mask} & ~{mask};")
            condition = is_
        self.say(f"if ({condition}) {{")
        self.block(s.inner(mask=mask, whole_block=False), self.r.randrange(1, 5))
        if self.r.random() < 0.5:
            self.say("} else {")
            self.block(s.inner(mask=mask and f"not_{mask}", whole_block=False), self.r.randrange(1, 5))
        self.say("}")

    def loop(self, s: Scope) -> None:
        """A loop that each thread leaves when it likes."""
        i, inner = self.name("i"), s.inner(mask="", whole_block=False, in_loop=True)
        header = f"u32 {i} = 0, n_{i} = {self.count(s)}"
        inner.variables.append(("u32", f"n_{i}"))
        kind = self.r.randrange(3)
        self.say("{")
        if kind == 0:
            self.say(f"for ({header}; {i} < n_{i} && {i} < 8; {i}++) {{")
        elif kind == 1:
            self.say(f"{header}; while ({i}++ < 8 && {i} < n_{i}) {{")
        else:
            self.say(f"{header}; do {{ n_{i} &= 7;")
        self.block(inner, self.r.randrange(1, 6))
        self.say(f"}} while (++{i} < n_{i} && {i} < 8); }}" if kind == 2 else "} }")

    def masked_loop(self, s: Scope) -> None:
        """A loop that lanes leave one after the other; those that stay know each other."""
        i, mask = self.name("i"), self.name("m")
        self.say(f"{{ u32 {mask} = {s.mask}, n_{i} = {self.count(s)};")
        self.say(f"for (u32 {i} = 0;; {i}++) {{")
        self.say(f"{mask} = ballot({mask}, {i} < n_{i}); if ({i} >= n_{i}) break;")
        self.block(s.inner(mask=mask, whole_block=False, in_loop=False), self.r.randrange(1, 6))
        self.say("} }")

    def even_loop(self, s: Scope) -> None:
        """A loop that all threads leave together."""
        i = self.name("i")
        self.say(f"for (u32 {i} = 0; {i} < {self.r.randrange(1, 4)} + t.block_id; {i}++) {{")
        self.block(s.inner(in_loop=False), self.r.randrange(1, 6))
        self.say("}")

    def leave_loop(self, s: Scope) -> None:
        self.say(f"if ({self.condition(s, 1)}) {self.r.choice(['break', 'continue'])};")

    def leave(self, s: Scope) -> None:
        self.say(f"if ({self.condition(s, 1)}) return {self.expression(s, s.returns, 1)};")

    def switch(self, s: Scope) -> None:
        count = self.r.choice([3, 5, 9])
        self.say(f"switch ({self.expression(s, 'u32', 1)} % {count + 1}) {{")
        for case in range(count):
            self.say(f"case {case}: {{" if case else "default: {")
            self.block(s.inner(mask="", whole_block=False, in_loop=False), self.r.randrange(1, 3))
            self.say("}" + self.r.choice(["", " break;", " break;"]))
        self.say("}")

    def inline_assembly(self, s: Scope) -> None:
        name = self.name("v")
        a, b, c = (self.expression(s, "u32", 2) for _ in range(3))
        which = self.r.choice(["three", "shifted", "bytes", "field"])
        self.say(f"u32 {name} = {which}({a}, {b}, {c});")
        s.variables.append(("u32", name))

    def store(self, s: Scope) -> None:
        def e(type_: str = "u32") -> str:
            return self.expression(s, type_, 2)

        stores = [
            f"t.out[{self.index(s, 16)}] = {e()};",
            f"t.out[{self.index(s, 16)}] ^= {e()};",
            f"((u8 *)t.out)[{self.index(s, 64)}] = {e('u8')};",
            f"((u16 *)t.out)[32 + {self.index(s, 16)}] = {e('u16')};",
            f"((u64 *)t.out)[12 + {self.index(s, 4)}] += {e('u64')};",
            f"((uint4 *)t.out)[{self.index(s, 4)}] = make_uint4({e()}, {e()}, {e()}, {e()});",
            f"((uint2 *)t.out)[{self.index(s, 8)}] = ((const uint2 *)t.in)[{self.index(s, 16)}];",
            f"((uint4 *)t.out)[{self.index(s, 4)}] = ((const uint4 *)t.in)[{self.index(s, 8)}];",
        ]
        self.say(self.r.choice(stores))

    def add_up(self, s: Scope) -> None:
        k = self.r.randrange(8)
        value = self.expression(s, "u32", 1)
        place = self.r.choice(["t.shared->sums", "t.total"])
        way = ["add_to<u32>", "xor_to", "max_to"][k % 3]
        self.say(f"{way}(&{place}[{k}], {value});")
        if self.r.random() < 0.3:
            self.say(f"add_to<u64>(&t.shared->wide_sums[{self.r.randrange(2)}], {self.expression(s, 'u64', 1)});")

    def locked(self, s: Scope) -> None:
        if self.locks == 0:
            return
        self.locks -= 1
        value = self.name("v")
        self.say(f"u64 {value} = {self.expression(s, 'u64', 1)};")
        self.say(f"lock(t.shared); t.shared->wide_sums[{2 + self.r.randrange(2)}] += {value}; unlock(t.shared);")

    def virtual(self, s: Scope) -> None:
        name = self.name("v")
        a, b, x = (self.expression(s, "u32", 2) for _ in range(3))
        self.say(f"u32 {name}; {{ adder one({a}); turner other({b}); ")
        self.say(f"shape *which = {self.condition(s, 2)} ? (shape *)&one : &other; {name} = which->of({x}); }}")
        s.variables.append(("u32", name))

    def by_pointer(self, s: Scope) -> None:
        fitting = [n for t, n, types in self.functions if t == "u32" and types == ["u32", "u32"]]
        if len(fitting) < 2:
            return
        name, table = self.name("v"), self.name("t")
        a, b = (self.expression(s, "u32", 2) for _ in range(2))
        self.say(f"u32 (*const {table}[])(u32, u32) = {{{', '.join(fitting)}}};")
        self.say(f"u32 {name} = {table}[{self.index(s, len(fitting))}]({a}, {b});")
        s.variables.append(("u32", name))

    def exchange(self, s: Scope) -> None:
        type_, name = self.r.choice(["u32", "s32", "u64", "s64", "f32"]), self.name("v")
        e = self.expression
        if type_ == "f32":
            self.say(f"f32 {name} = from_lane<f32>({s.mask}, {self.real(s, 'f32', 2)}, {e(s, 'u32', 2)});")
        else:
            way = self.r.randrange(5)
            if way == 0:
                type_ = "u32"
                self.say(f"u32 {name} = ballot({s.mask}, {self.condition(s, 2)});")
            elif way == 1:
                type_ = "u32"
                self.say(f"u32 {name} = sum_of({s.mask}, {e(s, 'u32', 2)});")
            elif way == 2:
                type_ = "u32"
                self.say(f"u32 {name} = same_as({s.mask}, {e(s, 'u32', 2)} % 5);")
            elif way == 3:
                self.say(f"meet({s.mask});")
                return
            else:
                self.say(f"{type_} {name} = from_lane<{type_}>({s.mask}, {e(s, type_, 2)}, {e(s, 'u32', 2)});")
        s.variables.append((type_, name))

    def call_together(self, s: Scope) -> None:
        name = self.name("v")
        a, b = (self.expression(s, "u32", 2) for _ in range(2))
        self.say(f"u32 {name} = {self.r.choice(self.together)}({s.mask}, {a}, {b}, 3);")
        s.variables.append(("u32", name))

    def pass_on(self, s: Scope) -> None:
        name, k = self.name("v"), self.r.randrange(8)
        self.say(f"t.shared->mine[t.id][{k}] = {self.expression(s, 'u32', 1)}; meet_block();")
        self.say(f"u32 {name} = t.shared->mine[(t.id + {self.r.randrange(THREADS)}) % THREADS][{k}]; meet_block();")
        s.variables.append(("u32", name))

    def read_sums(self, s: Scope) -> None:
        name = self.name("v")
        self.say(f"meet_block(); u64 {name} = t.shared->sums[{self.r.randrange(8)}] + t.shared->wide_sums[")
        self.say(f"{self.r.randrange(4)}]; meet_block();")
        s.variables.append(("u64", name))

    # ---- functions ----

    def function(self) -> None:
        type_, name = self.integer_type(), self.name("f")
        types = [self.integer_type() for _ in range(self.r.randrange(1, 4))]
        if self.r.random() < 0.5:
            type_, types = "u32", ["u32", "u32"]
        scope = Scope([(t, f"p{i}") for i, t in enumerate(types)], returns=type_)
        attribute = self.r.choice(["", "__noinline__ ", "__forceinline__ "])
        self.say(f"static {attribute}BOTH {type_} {name}({', '.join(f'{t} p{i}' for i, t in enumerate(types))}) {{")
        self.budget = 8
        self.block(scope, self.r.randrange(2, 6))
        self.say(f"return {self.expression(scope, type_)}; }}")
        self.functions.append((type_, name, types))

    def recursion(self) -> None:
        name = self.name("f")
        scope = Scope([("u32", "p0"), ("u32", "p1")])
        self.say(
            f"static BOTH u32 {name}(u32 p0, u32 p1) {{ p1 %= 7; if (!p1) return {self.expression(scope, 'u32', 2)};"
        )
        self.say(f"u32 r = {name}({self.expression(scope, 'u32', 2)}, p1 - 1);")
        scope.variables.append(("u32", "r"))
        self.say(f"if ({self.condition(scope, 2)}) r ^= {name}(r, p1 - 1 - p1 / 2);")
        self.say(f"return {self.expression(scope, 'u32', 1)}; }}")
        self.functions.append(("u32", name, ["u32", "u32"]))

    def function_of_lanes(self) -> None:
        """A function that lanes of a warp call together. It may call itself, for some of them."""
        name = self.name("g")
        scope = Scope([("u32", "p0"), ("u32", "p1")], mask="mask")
        self.say(f"static __noinline__ BOTH u32 {name}(u32 mask, u32 p0, u32 p1, u32 depth) {{")
        self.budget = 8
        self.block(scope, self.r.randrange(2, 6))
        if self.r.random() < 0.5:
            self.say(f"bool more = depth && {self.condition(scope, 2)}; u32 some = ballot(mask, more);")
            self.say(f"if (more) p0 ^= {name}(some, {self.expression(scope, 'u32', 2)}, p1, depth - 1);")
        self.say(f"return {self.expression(scope, 'u32')}; }}")
        self.together.append(name)

    def kernel(self, number: int) -> None:
        self.functions, self.together = [], []
        for _ in range(self.r.randrange(4)):
            self.function()
        if self.r.random() < 0.4:
            self.recursion()
        for _ in range(self.r.randrange(3)):
            self.function_of_lanes()
        self.say(f"static BOTH void body_{number}(thread &t) {{ const u32 all = warp_mask(t);")
        self.budget, self.locks = 40, 1  # the locks of debug code take long
        scope = Scope(mask="all", whole_block=True, in_kernel=True)
        for _ in range(4):
            self.declare(scope)
        self.block(scope, 25)
        for i, (_, name) in enumerate(scope.variables[:16]):
            self.say(f"t.out[{i}] ^= bits({name});")
        self.say("}")
        self.say(f"KERNEL({number})")


def text(seed: int, kernels: int) -> str:
    program = Program(seed)
    for number in range(kernels):
        program.kernel(number)
    calls = [f"    bad |= differs({n}, kernel_{n}, body_{n});" for n in range(kernels)]
    end = [
        "int main() {",
        "    cudaDeviceSetLimit(cudaLimitStackSize, 1 << 16); // functions call themselves, and have arrays",
        "    bool bad = false;",
        *calls,
        '    puts(bad ? "differs" : "the same");',
        "    return bad;",
        "}",
    ]
    return "\n".join(['#include "random_programs.cuh"', *program.lines, *end, ""])


def main() -> None:
    print(text(int(sys.argv[1]), int(sys.argv[2])), end="")


if __name__ == "__main__":
    main()
