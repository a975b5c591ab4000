"""Writes docs/users/simulator-coverage.md: which of the runtime's functions the simulator has, by subject.

It compares spec/simulator.yaml with the presented API; tests/tools/test_sim_coverage.py fails where the page is old.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/users/simulator-coverage.md"

# The first pattern that is found in a name decides.
SUBJECTS = [
    ("graphics", r"Graphics|GL|EGL|VDPAU"),
    ("external memory and semaphores", r"External"),
    ("sharing between processes", r"Ipc|ShareableHandle|MemPool(Ex|Im)portPointer"),
    ("arrays, textures, surfaces", r"Array|Mipmap|Texture|Surface|ChannelDesc"),
    ("graphs", r"Graph|Capture|UserObject"),
    ("execution contexts", r"ExecutionCtx|GreenCtx|DevSm|DevResource|DevWorkqueue"),
    ("modules, kernels, launches", r"Library|Kernel|Func|Launch|Occupancy|Symbol"),
    ("streams and events", r"Stream|Event|ThreadExchange"),
    ("memory", r"Mem|Malloc|Free|HostAlloc|HostGet|HostRegister|HostUnregister|Pointer"),
    ("devices", r"Device|Driver|Ctx|P2P|Peer|LocalityDomain"),
    ("the rest", r""),
]


# Why the rest of a subject is not simulated, and will not be. What has no reason is to be simulated.
REASONS = {
    "graphics": "there are no streams of EGL and no devices of VDPAU; the others are deprecated names.",
    "sharing between processes": "each process has its own simulator; where CUDA has an attribute for it, it says so.",
    "devices": "the library that it is for is not simulated.",
    "the rest": "what such tables hold is NVIDIA's own affair.",
}


def newest() -> set[str]:
    """What the newest libcudart has; the others are there for programs that were written for older ones."""
    return set(re.findall(r"ACU_SYMBOL\((\w+)\)", (ROOT / "generated/src/sim_symbols.h").read_text()))


def simulated(library: str) -> set[str]:
    """What spec/simulator.yaml lists of a library."""
    return set(yaml.safe_load((ROOT / "spec" / "simulator.yaml").read_text())[library])


def presented() -> list[str]:
    """The functions of the headers, which a loaded library is asked for."""
    headers = ("cudart_inline.h", "cudart_interop_inline.h")
    header = "".join((ROOT / "generated/include/anycuda" / name).read_text() for name in headers)
    return sorted(set(re.findall(r"ACU_(?:PTDS_)?NAME\(acu_(cuda\w+)\)", header)))


def subject(function: str) -> str:
    return next(name for name, pattern in SUBJECTS if re.search(pattern, function))


def render() -> str:
    has = simulated("cudart")
    names = [name for name in presented() if name in newest()]
    intro = (
        f"{len(has.intersection(names))} of the {len(names)} functions of `<anycuda/cudart.h>` and "
        "`<anycuda/cudart_interop.h>` that the newest libcudart has. A call of any other is refused with 801 "
        "(`cudaErrorNotSupported`), and the message says that "
        f"the simulator does not have it. Of the driver API it has the {len(simulated('cuda'))} functions that "
        "`spec/simulator.yaml` lists."
    )
    lines = ["# What the simulator has", "", "Written by `python tools/sim_coverage.py`; do not edit.", ""]
    lines += textwrap.wrap(intro, 116)
    for name, _ in SUBJECTS:
        mine = [function for function in names if subject(function) == name]
        missing = [function for function in mine if function not in has]
        lines += ["", f"## {name[0].upper()}{name[1:]}: {len(mine) - len(missing)} of {len(mine)}"]
        if missing:
            listed = ", ".join(f"`{function}`" for function in missing)
            lines += textwrap.wrap(f"Not simulated: {listed}: {REASONS[name]}", 116)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render())
