"""What a shared library says about itself: its soname, its version node and the functions that it exports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from .errors import GeneratorError


@dataclass(frozen=True)
class SharedLibrary:
    soname: str
    version_node: str  # the one that all exported functions are tagged with; "" where they have none
    functions: tuple[str, ...]


def read(file: Path) -> SharedLibrary:
    """Reads an ELF file; raises where its functions carry several version nodes."""
    try:
        with file.open("rb") as stream:
            elf = ELFFile(stream)
            functions = _functions(elf, file)
            nodes = set(functions.values())
            if len(nodes) > 1:
                # A symbol would then have to be looked up together with its node; see dlvsym.
                raise GeneratorError(f"{file}: exports with several version nodes: {', '.join(sorted(nodes))}")
            return SharedLibrary(_soname(elf), nodes.pop() if nodes else "", tuple(sorted(functions)))
    except (OSError, ELFError) as problem:
        raise GeneratorError(f"{file}: not a shared library that can be read: {problem}") from problem


def _soname(elf: ELFFile) -> str:
    section = elf.get_section_by_name(".dynamic")
    if not isinstance(section, DynamicSection):
        return ""
    tags: Iterator[Any] = section.iter_tags("DT_SONAME")  # a tag gets the attribute of its kind when it is made
    return next((str(tag.soname) for tag in tags), "")


def _functions(elf: ELFFile, file: Path) -> dict[str, str]:
    """Each exported function, and the version node it is tagged with."""
    symbols = elf.get_section_by_name(".dynsym")
    versions = elf.get_section_by_name(".gnu.version")
    if not isinstance(symbols, SymbolTableSection):
        raise GeneratorError(f"{file}: has no dynamic symbols")
    nodes = _version_nodes(elf)
    found = {}
    for index, symbol in enumerate(symbols.iter_symbols()):
        if symbol["st_shndx"] == "SHN_UNDEF" or symbol["st_info"]["type"] != "STT_FUNC":
            continue
        number = versions.get_symbol(index)["ndx"] if isinstance(versions, GNUVerSymSection) else None
        # The highest bit says "not the default version"; names instead of numbers say that there is none.
        found[str(symbol.name)] = nodes.get(number & 0x7FFF, "") if isinstance(number, int) else ""
    return found


def _version_nodes(elf: ELFFile) -> dict[int, str]:
    section = elf.get_section_by_name(".gnu.version_d")
    if not isinstance(section, GNUVerDefSection):
        return {}
    return {entry["vd_ndx"]: str(next(iter(names)).name) for entry, names in section.iter_versions()}
