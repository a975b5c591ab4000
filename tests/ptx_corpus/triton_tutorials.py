"""Runs the kernels of Triton's tutorials with small sizes and keeps what they leave, to compare with a GPU.

    python tests/ptx_corpus/triton_tutorials.py TUTORIALS FOLDER [REGEX]
    python tests/ptx_corpus/triton_tutorials.py --compare FOLDER FOLDER

TUTORIALS is python/tutorials of Triton. Of each file only the definitions are read: what it checks and measures needs
PyTorch's own kernels, which are machine code. Each case leaves NAME.npz in FOLDER; the second command compares two
folders bit by bit, and exits with 1 if any case differs. docs/users/python.md says how Triton finds the simulator.
"""

from __future__ import annotations

import ast
import re
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Case = Callable[["Tutorials"], dict[str, Any]]
CASES: dict[str, Case] = {}
NAMES = re.compile(
    r"DEVICE|properties|NUM_\w+|SIZE_SMEM|WARP_SIZE|target|kernels|configs|tma_configs|HAS_\w+|TORCH_HAS_FP8"
)
FOREIGN = re.compile(r"attention_tma|sys\.path|flash_attn|proton|pytest|cublas|current_file|current_dir|libdir")


def wanted(node: ast.stmt) -> bool:
    """Whether it is a definition, and needs nothing that is not there."""
    text = ast.unparse(node)
    if FOREIGN.search(text) or "perf_report" in text:
        return False
    if isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        measured = names == ["configs"] and "Config(" not in text
        return bool(names) and all(NAMES.fullmatch(name) for name in names) and not measured
    if isinstance(node, ast.If):
        return "NUM_STAGES_OPTIONS" in text
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef))


class Tutorials:
    """The tutorials' definitions, and random arrays that are the same in every run."""

    def __init__(self, source: Path, scratch: Path) -> None:
        import torch

        self.source, self.scratch, self.torch = source, scratch, torch
        self.random = torch.Generator()
        zeros = torch.zeros
        # A fill is a kernel of PyTorch: zeros come from the host.
        torch.zeros = lambda *shape, device=None, **rest: zeros(*shape, **rest).to(device or "cpu")

    def load(self, number: int) -> Any:
        """The definitions as a module, which is a file because Triton reads the source of kernels."""
        tree = ast.parse(next(self.source.glob(f"{number:02}-*.py")).read_text())
        text = "\n\n".join(ast.unparse(node) for node in tree.body if wanted(node))
        path = self.scratch / f"tutorial_{number:02}.py"
        path.write_text(text)
        module = types.ModuleType(path.stem)
        module.__dict__.update(__file__=str(path), is_tileir=lambda: False)
        sys.modules[path.stem] = module
        exec(compile(text, str(path), "exec"), module.__dict__)
        return module

    def normal(self, *shape: int, type_: str = "float32", scale: float = 1.0) -> Any:
        return self.device(self.torch.randn(*shape, generator=self.random) * scale, type_)

    def uniform(self, *shape: int, type_: str = "float32") -> Any:
        return self.device(self.torch.rand(*shape, generator=self.random), type_)

    def device(self, array: Any, type_: str) -> Any:
        return array.to(getattr(self.torch, type_)).to("cuda")


class Context:
    """What a function of autograd gets, for calls of its two halves."""

    saved_tensors: tuple[Any, ...] = ()

    def save_for_backward(self, *arrays: Any) -> None:
        self.saved_tensors = arrays


def tune(kernel: Any, index: int) -> None:
    """Leaves one configuration, so that nothing is measured."""
    kernel.configs = [kernel.configs[index % len(kernel.configs)]]
    kernel.early_config_prune = None


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


@case
def vector_add(t: Tutorials) -> dict[str, Any]:
    return {"sum": t.load(1).add(t.uniform(98432), t.uniform(98432))}


@case
def softmax(t: Tutorials) -> dict[str, Any]:
    module = t.load(2)
    return {str(shape): module.softmax(t.normal(*shape)) for shape in ((183, 781), (64, 1024), (33, 100))}


def matmul(index: int, t: Tutorials) -> dict[str, Any]:
    module = t.load(3)
    tune(module.matmul_kernel, index)
    a, b = t.normal(160, 192, type_="float16"), t.normal(192, 136, type_="float16")
    return {"plain": module.matmul(a, b), "leaky": module.matmul(a, b, activation="leaky_relu")}


@case
def dropout(t: Tutorials) -> dict[str, Any]:
    module, x = t.load(4), t.normal(5000)
    mask = t.device(t.torch.rand(5000, generator=t.random) > 0.5, "int32")
    return {"mask": module.dropout(x, x_keep=mask, p=0.5), "seed": module.seeded_dropout(x, p=0.3, seed=512)}


@case
def layer_norm(t: Tutorials) -> dict[str, Any]:
    module = t.load(5)
    found: dict[str, Any] = {}
    for type_, rows, size in (("float16", 31, 1000), ("float32", 17, 4096)):
        x, dy = t.normal(rows, size, type_=type_, scale=0.5), t.normal(rows, size, type_=type_, scale=0.1)
        context = Context()
        y = module.LayerNorm.forward(
            context, x, (size,), t.uniform(size, type_=type_), t.uniform(size, type_=type_), 1e-5
        )
        dx, _, dw, db, _ = module.LayerNorm.backward(context, dy)
        found |= {f"{type_} {name}": array for name, array in (("y", y), ("dx", dx), ("dw", dw), ("db", db))}
    return found


def attention(head: int, causal: bool, index: int, t: Tutorials) -> dict[str, Any]:
    module, torch, length = t.load(6), t.torch, 256
    kernel = module._attn_fwd
    kernel.configs = [c for c in kernel.configs if c.kwargs["BLOCK_N"] <= min(head, c.kwargs["BLOCK_M"])]
    tune(kernel, index)
    q, k, v, do = (t.normal(1, 2, length, head, type_="float16", scale=0.5) for _ in range(4))
    context = Context()
    o = module._attention.forward(context, q, k, v, causal, 0.5, False, False)
    sums = context.saved_tensors[4]
    scaled = (k.cpu() * (0.5 * 1.4426950408889634)).to("cuda")  # PyTorch's own kernel does this in the tutorial
    dq, dk, dv, delta = (torch.empty_like(array) for array in (q, k, v, sums))
    module._attn_bwd_preprocess[(length // 128, 2)](o, do, delta, 1, 2, length, BLOCK_M=128, HEAD_DIM=head)
    blocks = {"BLOCK_M1": 32, "BLOCK_N1": 128, "BLOCK_M2": 128, "BLOCK_N2": 32, "BLK_SLICE_FACTOR": 2}
    arrays = (q, scaled, v, 0.5, do, dq, dk, dv, sums, delta, *q.stride(), 2, length)
    options = {"HEAD_DIM": head, "CAUSAL": causal, "num_warps": 4, "num_stages": 5}
    module._attn_bwd[(length // 128, 1, 2)](*arrays, **blocks, **options)
    return {"o": o, "sums": sums, "delta": delta, "dq": dq, "dk": dk, "dv": dv}


@case
def libdevice(t: Tutorials) -> dict[str, Any]:
    module = t.load(7)
    found: dict[str, Any] = {}
    for type_ in ("float32", "float64"):
        x = t.uniform(98432, type_=type_)
        found[type_] = t.torch.empty_like(x)
        module.asin_kernel[(97,)](x, found[type_], 98432, BLOCK_SIZE=1024)
    return found


def grouped(index: int, tensors: bool, t: Tutorials) -> dict[str, Any]:
    module = t.load(8)
    tune(module.grouped_matmul_tma_kernel if tensors else module.grouped_matmul_kernel, index)
    a, b = ([t.normal(size, size, type_="float16") for size in (256, 128, 384)] for _ in range(2))
    results = (module.group_gemm_tma_fn if tensors else module.group_gemm_fn)(a, b)
    return {str(i): array for i, array in enumerate(results)}


def persistent(name: str, index: int, type_: str, t: Tutorials) -> dict[str, Any]:
    module = t.load(9)
    a, b = (t.device(t.torch.randn(rows, 192, generator=t.random).half(), type_) for rows in (256, 320))
    kernel, call, *rest = {
        "naive": ("matmul_kernel", "matmul"),
        "persistent": ("matmul_kernel_persistent", "matmul_persistent"),
        "tma": ("matmul_kernel_tma", "matmul_tma", False),
        "tma_persistent": ("matmul_kernel_tma_persistent", "matmul_tma_persistent", False),
        "descriptor": ("matmul_kernel_descriptor_persistent", "matmul_descriptor_persistent", False),
        "specialized": ("matmul_kernel_descriptor_persistent", "matmul_descriptor_persistent", True),
    }[name]
    tune(getattr(module, str(kernel)), index)
    return {"c": getattr(module, str(call))(a, b if rest else b.T, *rest)}


@case
def dependent_launch(t: Tutorials) -> dict[str, Any]:
    module, x, y = t.load(11), t.uniform(50000), t.uniform(50000)
    first = module.add(x, y, True)
    return {"one": first, "two": module.add(first, y, True), "without": module.add(x, y, False)}


CASES |= {f"matmul_{i}": partial(matmul, i) for i in range(16)}
CASES |= {
    f"attention_{head}_{causal}_{i}": partial(attention, head, causal == "causal", i)
    for head in (64, 128)
    for causal in ("full", "causal")
    for i in (0, 4, 7, 10, 13)
}
CASES |= {f"grouped_{i}": partial(grouped, i, False) for i in range(6)}
CASES |= {f"grouped_tma_{i}": partial(grouped, i, True) for i in range(0, 16, 3)}
CASES |= {
    f"persistent_{name}_{i}_{type_}": partial(persistent, name, i, type_)
    for name in ("naive", "persistent", "tma", "tma_persistent", "descriptor", "specialized")
    for i in (0, 9)
    for type_ in ("float16", "float8_e4m3fn")
}


def run(source: Path, folder: Path, pattern: str) -> None:
    """Keeps what each case leaves; one that Triton refuses leaves nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    tutorials = Tutorials(source, folder)
    for name, function in CASES.items():
        if not re.search(pattern, name):
            continue
        tutorials.random.manual_seed(sum(map(ord, name)))
        try:
            arrays = {key: array.cpu() for key, array in function(tutorials).items()}
        except Exception as problem:  # Triton has errors of many kinds
            print(f"{name}: {type(problem).__name__}", flush=True)
            continue
        sizes = {1: tutorials.torch.uint8, 2: tutorials.torch.int16, 4: tutorials.torch.int32, 8: tutorials.torch.int64}
        bits = {key: array.contiguous().view(sizes[array.element_size()]).numpy() for key, array in arrays.items()}
        np.savez(folder / f"{name}.npz", **bits)
        print(f"{name}: ran", flush=True)


def compare(one: Path, other: Path) -> int:
    """Prints what differs between two folders."""
    names = sorted({path.name for folder in (one, other) for path in folder.glob("*.npz")})
    differ = 0
    for name in names:
        if not (one / name).exists() or not (other / name).exists():
            print(f"{name}: is in one folder only")
            differ += 1
            continue
        a, b = np.load(one / name), np.load(other / name)
        counts = {key: int((a[key] != b[key]).sum()) for key in a.files}
        differ += any(counts.values())
        if any(counts.values()):
            print(f"{name}: {counts}")
    print(f"{len(names) - differ} of {len(names)} cases have the same bits")
    return 1 if differ else 0


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--compare"]:
        return compare(Path(arguments[1]), Path(arguments[2]))
    run(Path(arguments[0]), Path(arguments[1]), arguments[2] if len(arguments) > 2 else "")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
