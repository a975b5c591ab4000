"""Records which memory PyTorch allocates and frees, in which order, on which stream; needs a GPU and PyTorch.

A small transformer is trained for a few steps, with batches of changing length that a second stream copies ahead, and
then generates text with a cache that grows. What PyTorch's allocator was asked for is written in the format that
bench/replay.c reads:

    # a comment
    s1          the following lines are about stream 1
    4096        an allocation of 4096 bytes
    u3 0        the allocation that was made 3 allocations ago (1: the last one) is used on stream 0, too
    -3          the allocation that was made 3 allocations ago is freed

    python3 bench/record_trace.py bench/traces/transformer.txt
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

WIDTH, HEADS, LAYERS, WORDS, BATCH = 768, 12, 8, 16384, 8
LENGTHS = (512, 320, 448, 512, 192)
GENERATED = 24


def main() -> int:
    import torch  # type: ignore[import-not-found,unused-ignore]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, nargs="?", help="the file to write; without it only figures are printed")
    options = parser.parse_args()
    torch.manual_seed(1)
    if options.output:
        torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=1000000)
    model = transformer(torch).cuda()
    train(torch, model)
    generate(torch, model)
    torch.cuda.synchronize()
    allocated, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
    print(f"PyTorch {torch.__version__}: allocated at most {allocated}, reserved at most {reserved}: ", end="")
    print(f"{reserved / allocated:.3f}")
    if options.output:
        entries = torch.cuda.memory._snapshot()["device_traces"][0]
        lines, peak = compact(entries)
        made = [
            "# What PyTorch's allocator was asked for, by bench/record_trace.py, which explains the format.",
            f"# PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}.",
            f"# {LAYERS} layers of width {WIDTH}, batches of {BATCH} x {LENGTHS}; {GENERATED} words generated.",
            f"# PyTorch allocated at most {allocated} and reserved at most {reserved} bytes.",
            f"# peak {peak}",
        ]
        text = "\n".join(made + lines) + "\n"
        options.output.write_text(text)
        print(f"{len(lines)} lines, {len(text)} bytes, the peak of live bytes is {peak}")
    return 0


def transformer(torch: Any) -> Any:
    """Returns a decoder as many are built: attention, and two linear layers with an activation between them."""
    nn = torch.nn

    class Layer(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any, cache: dict[str, Any] | None) -> Any:
            batch, length, _ = x.shape
            q, k, v = self.qkv(self.first(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            causal = True
            if cache is not None:
                causal = "k" not in cache
                k = cache["k"] = k if causal else torch.cat([cache["k"], k], 2)
                v = cache["v"] = v if causal else torch.cat([cache["v"], v], 2)
            scores = q @ k.transpose(-1, -2) / math.sqrt(WIDTH / HEADS)
            if causal:
                scores = scores + torch.full((length, length), float("-inf"), device=x.device).triu(1)
            mixed = scores.softmax(-1).to(v.dtype) @ v
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
            return x + self.narrow(nn.functional.gelu(self.wide(self.second(x))))

    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(1024, WIDTH)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, words: Any, at: int = 0, caches: list[dict[str, Any]] | None = None) -> Any:
            x = self.words(words) + self.places(torch.arange(at, at + words.shape[1], device=words.device))
            for i, layer in enumerate(self.layers):
                x = layer(x, caches[i] if caches else None)
            return self.norm(x) @ self.words.weight.T

    return Model()


def train(torch: Any, model: Any) -> None:
    """Trains; a second stream copies each batch while the batch before is computed."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    copying = torch.cuda.Stream()
    ahead: list[Any] = []

    def prefetch(length: int) -> None:
        host = torch.randint(WORDS, (BATCH, length + 1)).pin_memory()
        noise = torch.rand(BATCH, length, WIDTH).pin_memory()
        with torch.cuda.stream(copying):
            ahead.append((host.cuda(non_blocking=True), noise.cuda(non_blocking=True).mul_(1e-3)))

    prefetch(LENGTHS[0])
    for step in range(len(LENGTHS)):
        torch.cuda.current_stream().wait_stream(copying)
        words, noise = ahead.pop()
        words.record_stream(torch.cuda.current_stream())
        noise.record_stream(torch.cuda.current_stream())
        if step + 1 < len(LENGTHS):
            prefetch(LENGTHS[step + 1])
        with torch.autocast("cuda", dtype=torch.bfloat16):
            scores = model(words[:, :-1])
            loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1).float(), words[:, 1:].flatten())
        (loss + noise.square().mean()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del scores, loss, words, noise


def generate(torch: Any, model: Any) -> None:
    """Generates words one by one, with caches that grow; the words are copied to the host by a second stream."""
    copying = torch.cuda.Stream()
    with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16):
        words = torch.randint(WORDS, (4, 200), device="cuda")
        caches: list[dict[str, Any]] = [{} for _ in range(LAYERS)]
        at = 0
        for _ in range(GENERATED):
            scores = model(words, at, caches)[:, -1].float().softmax(-1)
            at += words.shape[1]
            words = torch.multinomial(scores, 1)
            copying.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(copying):
                words.record_stream(copying)
                (words * 1).to("cpu", non_blocking=True)


def compact(entries: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Returns the lines of the trace, and the most bytes that were allocated at a time.

    Memory that another stream has used is given back some time after it was freed. Which stream that was is not
    recorded, but known here: the first used what the others allocate, and the last one what the first allocates.
    """
    numbers: dict[int, int] = {}  # of streams
    live: dict[int, tuple[int, int, int]] = {}  # address: (number, size, stream)
    lines: list[str] = []
    count = current = now = peak = 0
    for i, entry in enumerate(entries):
        action, address, size = entry["action"], entry["addr"], entry["size"]
        if action not in ("alloc", "free_requested"):
            continue
        stream = numbers.setdefault(entry["stream"], len(numbers))
        if stream != current:
            current = stream
            lines.append(f"s{stream}")
        if action == "alloc":
            live[address] = (count, size, stream)
            count += 1
            now += size
            peak = max(peak, now)
            lines.append(f"{size}")
        elif address in live:
            number, size, _ = live.pop(address)
            now -= size
            after = entries[i + 1] if i + 1 < len(entries) else {"action": "", "addr": 0}
            if after["action"] != "free_completed" or after["addr"] != address:
                lines.append(f"u{count - number} {0 if stream else len(numbers) - 1}")
            lines.append(f"-{count - number}")
    return lines, peak


if __name__ == "__main__":
    raise SystemExit(main())
