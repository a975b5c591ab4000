"""What the simulator has of a library (spec/simulator.yaml), held against the library's facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .errors import GeneratorError
from .model import Api, Library
from .slots import Slot
from .spec import Spec
from .yamlfile import where


@dataclass(frozen=True)
class Entry:
    """One symbol of the simulator: it enters the call, runs the function's body, and leaves."""

    slot: Slot
    need: str
    uncaptured: bool  # no capture may forbid the call
    in_host_functions: bool  # a host function may make the call
    per_thread: bool  # the variant where NULL as a stream is the thread's own default stream
    oldest: int  # the CUDA that brought the function's first signature; 0: the headers do not say
    since: int  # the CUDA that brought the presented signature, maybe between two toolkits; 0: the oldest has it

    @property
    def name(self) -> str:
        """The function's name, with the variant's suffix."""
        return self.slot.name + (f"_{(self.slot.function.ptds or '').rpartition('_')[2]}" if self.per_thread else "")

    @property
    def symbol(self) -> str:
        return (self.slot.function.ptds or "") if self.per_thread else self.slot.function.symbol

    @property
    def described_by(self) -> str:
        return f"acu_function_{self.slot.name}{'_ptds' if self.per_thread else ''}"

    @property
    def enters(self) -> bool:
        """Returns false where the entry only calls the body, without the lock."""
        return self.need != "own"

    @property
    def constant(self) -> str:
        return f"SIM_NEEDS_{self.need.upper()}"

    @property
    def require(self) -> str:
        """The call that asks for what the function needs.

        The driver's functions take the context of a stream or an event where none is current.
        """
        given = {p.type.base: p.name for p in reversed(self.slot.function.params) if not p.type.depth}
        if "CUstream" in given or "CUevent" in given:
            kind = "stream" if "CUstream" in given else "event"
            return f"acu_sim_require_with_{kind}({self.constant}, {given[f'CU{kind}']})"
        return f"acu_sim_require_by_driver({self.constant})"

    @property
    def body(self) -> str:
        """The body's prototype; a body returns the status of the runtime, also where the function is the driver's."""
        name = f"acu_sim_{self.slot.name}({self.slot.declaration})"
        return f"cudaError_t {name}" if self.slot.status and self.enters else self.slot.function.returns.declare(name)

    @property
    def prototype(self) -> str:
        return self.slot.function.returns.declare(f"acu_sim_entry_{self.name}({self.slot.declaration})")

    @property
    def result(self) -> str:
        return self.slot.function.returns.declare(self.slot.local)


def error_strings(spec: Spec, library: Library) -> list[tuple[int, str]]:
    """What CUDA says of the library's errors, by their numbers."""
    listed = spec.error_strings.get(library.name, {})
    numbers = {name: value for api in library.apis for name, value in api.enumerators.items()}
    for name in listed:
        if name not in numbers:
            raise GeneratorError(f"no toolkit has the error `{name}`", where(listed, name))
    return sorted((numbers[name], text) for name, text in listed.items())


def versions(apis: Iterable[Api], name: str) -> list[int]:
    """The versions in the names of the types of pointers to the function, such as PFN_cuLaunchKernel_v4000.

    The headers no longer name those of CUDA 2.0 that took sizes of 32 bits, which CUDA 3.2 replaced.
    """
    types = (re.fullmatch(rf"PFN_{name}_v(\d+)", typedef) for api in apis for typedef in api.typedefs)
    found = {int(one[1]) for one in types if one}
    return sorted(found | ({2000} if 3020 in found else set()))


def entries(spec: Spec, library: Library, slots: Sequence[Slot]) -> list[Entry]:
    """The library's entries in the order of the list; what the presented toolkit does not have is left out."""
    listed = spec.simulator.get(library.name, {})
    known = {slot.name: slot for slot in slots}
    found: list[Entry] = []
    for name, need in listed.items():
        if name in known:
            slot = known[name]
            if not slot.status and need not in ("nothing", "own"):
                raise GeneratorError(f"{name} returns no status, so it cannot need `{need}`", where(listed, name))
            state, *words = need.split(", ")
            uncaptured, hosted = "uncaptured" in words, "in_host_functions" in words
            variants = (False, True) if slot.ptds else (False,)
            oldest = min(versions(library.apis, name), default=0)
            since = min(slot.since, max(versions([library.presented], name), default=slot.since))
            found += [Entry(slot, state, uncaptured, hosted, per_thread, oldest, since) for per_thread in variants]
        elif not any(name in api.functions for api in library.apis):
            raise GeneratorError(f"no toolkit's {library.name} has a function {name}", where(listed, name))
    return found
