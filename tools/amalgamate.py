"""Makes the library one source file and one header: a program is compiled with them, without building anything before.

    tools/amalgamate.py [folder]     writes anycuda.h, anycuda.c, anycuda_ptds.c and anycuda_sim.c; build/amalgamation

`cc program.c anycuda.c -ldl -lpthread` is then all. `anycuda_sim.c` is the simulator, for who wants it;
`anycuda_ptds.c` is for programs that define CUDA_API_PER_THREAD_DEFAULT_STREAM. `docs/users/packages.md` has more.

Each file's text is kept, with three changes: a header stands where it is first included; macros of a source file end
with it; and what a source file keeps for itself is renamed where another file has the name, too. Needs Python alone.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Where a header is looked for: "core/call.h", <anycuda/stream.h>.
FOLDERS = [ROOT / folder for folder in ("src", "generated/src", "include", "generated/include")]
PUBLIC = ["anycuda/anycuda.h", "anycuda/runtime.h", "anycuda/backend.h", "anycuda/sim.h"]
# CUDA's own names, and WebGPU's, which a program asks for by a macro: they cannot stand beside NVIDIA's headers.
OF_CUDA = sorted(
    f"anycuda/{file.name.replace('_inline', '')}" for file in ROOT.glob("generated/include/anycuda/*_inline.h")
)
NAMES = "ANYCUDA_CUDA_NAMES"
PTDS = "CUDA_API_PER_THREAD_DEFAULT_STREAM"

INCLUDE = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<(anycuda/[^>]+)>)[^\n]*\n')
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# What a file asks of the C library; the whole asks for all of it at once.
ASKS = re.compile(r"#define (_\w+_SOURCE|ACU_INLINE|ACU_INLINE_PTDS)\b[^\n]*\n")
TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\s+|\\\n)
      |(?P<word>[A-Za-z_]\w*)|(?P<number>\.?\d[\w.]*)|(?P<mark>->|\.\.\.|\#\#|.)""",
    re.VERBOSE | re.DOTALL,
)
WORDS = set(
    re.findall(
        r"\w+",
        """auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    _Alignas _Alignof _Atomic _Bool _Complex _Noreturn _Static_assert _Thread_local""",
    )
)


def find(name: str, beside: Path) -> Path | None:
    """The header of ours that an include names."""
    return next((file for folder in (beside.parent, *FOLDERS) if (file := folder / name).is_file()), None)


def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def whole(file: Path) -> str:
    """A source with the sources that it includes."""

    def include(found: re.Match[str]) -> str:
        part = find(found[1] or found[2], file)
        return whole(part) if part is not None and part.suffix == ".c" else found[0]

    return INCLUDE.sub(include, text_of(file))


class Unit:
    """One output: texts in order, each header once."""

    def __init__(self, known: Iterable[Path] = ()) -> None:
        self.done = set(known)

    def expand(self, file: Path, text: str | None = None) -> str:
        """The text of a file, with each header of ours that is not there yet."""

        def include(found: re.Match[str]) -> str:
            header = find(found[1] or found[2], file)
            if header is None:
                return found[0]
            if header in self.done:
                return ""
            self.done.add(header)
            return f"/* ---- {header.relative_to(ROOT)} ---- */\n{self.expand(header)}"

        return INCLUDE.sub(include, text_of(file) if text is None else text)


# ---- names that a source file keeps for itself


def without_cxx(text: str) -> str:
    """What a C compiler sees of text that asks for __cplusplus."""
    kept: list[str] = []
    shown: list[bool | None] = []  # of each open condition; None where it does not ask
    for line in text.splitlines(keepends=True):
        directive = line.split()[0:1] and re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)", line)
        if directive and directive[1].startswith("if"):
            asks = "__cplusplus" in directive[2]
            shown.append(("!" in directive[2] or directive[1] == "ifndef") if asks else None)
        elif directive and directive[1] == "endif" and shown:
            shown.pop()
        elif directive and shown and shown[-1] is not None:
            shown[-1] = not shown[-1]
        elif all(one is not False for one in shown):
            kept.append(line)
    return "".join(kept)


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token; directives are left out."""
    text = re.sub(r"(?m)^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|\bACU_(?:BEGIN|END)_C\b", "", without_cxx(text))
    for found in TOKEN.finditer(text):
        if found.lastgroup != "skip":
            yield found.lastgroup or "", found[0]


def declarations(text: str) -> Iterator[list[tuple[str, str]]]:
    """What stands at the level of the file: the tokens up to the end of each declaration or function's body."""
    one: list[tuple[str, str]] = []
    depth = 0
    for kind, word in tokens(text):
        one.append((kind, word))
        depth += (word in "({[") - (word in ")}]")
        if depth == 0 and (word == ";" or (word == "}" and is_function(one))):
            yield one
            one = []
    if one:
        yield one


def is_function(one: list[tuple[str, str]]) -> bool:
    head = [word for _, word in one]
    head = head[: head.index("{")]
    return ")" in head and "=" not in head and head[0] != "typedef"


def names(text: str) -> tuple[set[str], set[str], set[str]]:
    """What a text declares at the level of the file: for itself (static names, types), for others, and tags."""
    own: set[str] = set()
    others: set[str] = set()
    bodies: set[str] = set()
    for one in declarations(text):
        words = [word for _, word in one]
        is_typedef = words[0] == "typedef"
        for at, word in enumerate(words[:-2]):
            # Without a typedef beside it this is the body of a type that a header declares, if one does.
            if word in ("struct", "union", "enum") and words[at + 2] == "{":
                (own if is_typedef else bodies).add(words[at + 1])
            if word == "enum" and "{" in words[at + 1 : at + 3]:
                inside = words[words.index("{", at) : words.index("}", at)]
                own |= {w for w, mark in zip(inside[1:], inside, strict=False) if mark in "{," and w.isidentifier()}
        declared = declarators(words)
        before = words[: next((at for at, word in enumerate(words) if word in ("{", "=")), None)]
        (own if is_typedef or "static" in before else others).update(declared)
    return own, others, bodies


def declarators(words: list[str]) -> Iterator[str]:
    """The names that a declaration gives: before `(` of a function's parameters, `[`, `=`, `,` or the end."""
    depth, at = 0, 0
    while at < len(words):
        word = words[at]
        if word in ("__attribute__", "__asm__", "_Static_assert", "_Alignas"):
            at += 1
            level = 0
            while at < len(words):
                level += (words[at] == "(") - (words[at] == ")")
                at += 1
                if level == 0:
                    break
            continue
        if word in "({[":
            depth += 1
        elif word in ")}]":
            depth -= 1
        following = words[at + 1] if at + 1 < len(words) else ";"
        is_name = word.isidentifier() and word not in WORDS
        is_type = words[at + 1 : at + 3] == ["(", "*"]  # of what a pointer to a function returns
        if depth == 0 and is_name and not is_type and following in ("(", "[", "=", ",", ";"):
            yield word
            if following == "(" and "{" in words[at:]:
                return
        elif depth == 1 and is_name and words[at - 1] == "*" and words[at - 2] == "(" and following in (")", "["):
            yield word  # a pointer to a function
        if following == "=" and depth == 0:
            level = 0
            at += 1
            while at < len(words) and not (level == 0 and words[at] in (",", ";")):
                level += (words[at] in "({[") - (words[at] in ")}]")
                at += 1
            continue
        at += 1


DIRECTIVE = re.compile(r"(?m)^[ \t]*#(?:[^\n\\/]|\\.|\\\n|/(?!\*)|/\*.*?\*/)*", re.DOTALL)


def pieces(text: str) -> Iterator[str]:
    """The directives, and the declarations and functions between them."""
    start = depth = 0
    at = 0
    while at < len(text):
        line_begins = at == 0 or text[at - 1] == "\n"
        if line_begins and (directive := DIRECTIVE.match(text, at)):
            yield text[start:at]
            yield directive[0]
            start = at = directive.end()
            continue
        token = TOKEN.match(text, at)
        assert token is not None
        at = token.end()
        depth += (token[0] in ("(", "{", "[")) - (token[0] in (")", "}", "]"))
        if depth == 0 and token[0] in (";", "}"):
            yield text[start:at]
            start = at
    yield text[start:]


def shadowed(words: list[str], renamed: dict[str, str]) -> set[str]:
    """The names that a function's parameters or variables have, too: there they mean these."""
    found = set()
    for at, word in enumerate(words[:-1]):
        if word in renamed and word.islower() and words[at + 1] in (",", ")", ";", "=", "["):
            before = [w for w in words[max(at - 4, 0) : at] if w not in ("*", "const", "restrict", "volatile")]
            if before and before[-1].isidentifier() and before[-1] not in ("return", "else", "case", "sizeof", "goto"):
                found.add(word)
    return found


def rename(text: str, renamed: dict[str, str]) -> str:
    """Renames what means one of these names: no field of a struct, parameter, or variable in a function."""
    out: list[str] = []
    structs: list[int] = []
    hidden: set[str] = set()
    depth = 0
    for piece in pieces(text):
        found = list(TOKEN.finditer(piece))
        words = [match[0] for match in found if match.lastgroup != "skip"]
        is_body = "{" in words and not piece.lstrip().startswith("#")
        if depth == 0:
            hidden = set()
        if (is_body and "(" in words) or depth > 0:
            hidden = hidden | shadowed(words[words.index("(") if depth == 0 else 0 :], renamed)
        here = renamed.keys() - hidden
        at = 0
        for match in found:
            word = match[0]
            if match.lastgroup == "skip":
                out.append(word)
                continue
            before = words[at - 1] if at else ""
            after = words[at + 1] if at + 1 < len(words) else ""
            at += 1
            if word == "{":
                depth += 1
                if any(w in ("struct", "union") for w in words[max(at - 3, 0) : at - 1]):
                    structs.append(depth)
            elif word == "}":
                if structs and structs[-1] == depth:
                    structs.pop()
                depth -= 1
            is_field = before in (".", "->")
            if structs and structs[-1] == depth:
                is_field |= (after in (";", ",", "[", ":") and before != ":") or (after == ")" and before == "*")
            out.append(renamed[word] if match.lastgroup == "word" and word in here and not is_field else word)
    return "".join(out)


def suffix_of(file: Path) -> str:
    return re.sub(r"\W", "_", str(file.with_suffix("").name))


def joined(unit: Unit, files: list[Path], public: str) -> str:
    """The sources as one text behind the public headers, in which no name means two things."""
    texts: dict[Path, str] = {}
    headers: list[str] = []
    parts: dict[Path, tuple[str, str]] = {}
    for file in files:
        source = ASKS.sub("", whole(file))
        includes = "".join(found[0] for found in INCLUDE.finditer(source))
        head = unit.expand(file, includes)
        headers.append(head)
        texts[file] = INCLUDE.sub("", source)
        parts[file] = (head, texts[file])
    own: dict[Path, set[str]] = {}
    owners: dict[str, set[Path | None]] = defaultdict(set)
    shared, more, _ = names(public + "\n".join(headers))
    for name in shared | more:
        owners[name].add(None)
    for file, text in texts.items():
        own[file], others, bodies = names(text)
        own[file] |= bodies - shared - more
        own[file] |= set(MACRO.findall(text))
        for name in own[file] | others:
            owners[name].add(file)
    used = Counter(suffix_of(file) for file in files)
    out = []
    for file in files:
        head, text = parts[file]
        suffix = suffix_of(file) if used[suffix_of(file)] == 1 else suffix_of(file.parent) + "_" + suffix_of(file)
        # A function of one word may be one of the C library's, too, of which this file does not know.
        words = set(re.findall(r"(?m)^(?:ACU_COLD )?static [^;={}()]*\b([a-z]+)\(", text))
        renamed = {name: f"{name}_in_{suffix}" for name in own[file] if len(owners[name]) > 1 or name in words}
        text = rename(text, renamed)
        undone = "".join(f"#undef {name}\n" for name in dict.fromkeys(MACRO.findall(text)))
        out.append(f"{head}\n/* ---- {file.relative_to(ROOT)} ---- */\n{text}\n{undone}")
    return "\n".join(out)


# ---- the outputs


def sources(*folders: str) -> list[Path]:
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.c"))


def version() -> str:
    return text_of(ROOT / "VERSION").strip()


def head(what: str) -> str:
    licence = text_of(ROOT / "LICENSE").strip().replace("\n", "\n * ").replace(" * \n", " *\n")
    return f"/*\n * anycuda {version()}: {what}\n * Made by tools/amalgamate.py; do not edit.\n *\n * {licence}\n */\n"


def make() -> dict[str, str]:
    """Each output's name and its text."""
    public = Unit()
    header = head("all public headers.") + "#ifndef ANYCUDA_AMALGAMATION_H\n#define ANYCUDA_AMALGAMATION_H\n"
    header += public.expand(ROOT / "include" / "x.h", "".join(f"#include <{name}>\n" for name in PUBLIC))
    header += f"\n/* ---- CUDA's own names, for a program that defines {NAMES} ---- */\n#ifdef {NAMES}\n"
    header += public.expand(ROOT / "include" / "x.h", "".join(f"#include <{name}>\n" for name in OF_CUDA))
    header += "#endif\n#endif\n"

    asks = f"#define _GNU_SOURCE\n#define {NAMES}\n#define ACU_AMALGAMATED\n"
    emits = "#define ACU_INLINE\n#define ACU_INLINE_PTDS\n"
    all_sources = [f for f in sources("src", "generated/src") if not {"sim", "plugin"} & set(f.relative_to(ROOT).parts)]
    per_thread = [file for file in all_sources if f"#define {PTDS}" in text_of(file)]
    # The runtime interface is a part of its own, as it is in a program. Each of its back ends completes the same types
    # (`struct acu_backend_device`), so that a unit has room for one.
    runtime = ROOT / "src" / "runtime"
    apart = {"cuda": "on CUDA", "webgpu": "on WebGPU"}
    interface = [file for file in all_sources if runtime in file.parents and file.parent.name not in apart]
    others = [file for file in all_sources if runtime not in file.parents and file not in per_thread]
    simulator = [file for file in sources("src/sim", "generated/src/sim") if "shared" not in file.parts]
    include = '#include "anycuda.h"\n'
    library = head("the library.") + asks + emits + include + joined(Unit(public.done), others, header)
    ptds = f"#define {PTDS}\n#define ACU_INLINE_PTDS\n"
    ptds = head(f"what programs with {PTDS} need.") + asks + ptds + include
    ptds += joined(Unit(public.done), [file for file in per_thread if "table" in file.name], header)
    sim = head("the simulator.") + asks + include + joined(Unit(public.done), simulator, header)
    outputs = {"anycuda.h": header, "anycuda.c": library, "anycuda_ptds.c": ptds, "anycuda_sim.c": sim}
    units = {"runtime": ("one interface over several kinds of devices.", interface)}
    for name, where in apart.items():
        units[f"runtime_{name}"] = (f"that interface {where}.", [f for f in all_sources if f.parent == runtime / name])
    for name, (what, files) in units.items():
        outputs[f"anycuda_{name}.c"] = head(what) + asks + include + joined(Unit(public.done), files, header)
    return outputs


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "amalgamation"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in make().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(f"{folder / name}: {len(text.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
