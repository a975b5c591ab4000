"""Writes a small model of whisper.cpp with random weights, for the rows whisper_ of programs.yaml.

    python tests/ptx_corpus/whisper_model.py FOR-TESTS OUTPUT {f16,q8_0}

FOR-TESTS is models/for-tests-ggml-tiny.bin of whisper.cpp, which has filters and a vocabulary, but no weights. The
model has two layers, a state of 128 and two heads; its weights are the same in every run.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

HEADER = ["vocabulary", "audio_context", "audio_state", "audio_heads", "audio_layers"]
HEADER += ["text_context", "text_state", "text_heads", "text_layers", "mels", "type"]
STATE, LAYERS, HEADS = 128, 2, 2
TYPES = {"f32": 0, "f16": 1, "q8_0": 8}  # ggml's numbers of types of tensors
FILES = {"f16": 1, "q8_0": 7}  # and of files


def shapes(sizes: dict[str, int], kind: str) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """The name, the shape and the type of each tensor."""
    yield "encoder.positional_embedding", (sizes["audio_context"], STATE), "f32"
    yield "encoder.conv1.weight", (STATE, sizes["mels"], 3), "f16"
    yield "encoder.conv1.bias", (STATE, 1), "f32"
    yield "encoder.conv2.weight", (STATE, STATE, 3), "f16"
    yield "encoder.conv2.bias", (STATE, 1), "f32"
    yield "encoder.ln_post.weight", (STATE,), "f32"
    yield "encoder.ln_post.bias", (STATE,), "f32"
    yield "decoder.positional_embedding", (sizes["text_context"], STATE), "f32"
    yield "decoder.token_embedding.weight", (sizes["vocabulary"], STATE), kind
    yield "decoder.ln.weight", (STATE,), "f32"
    yield "decoder.ln.bias", (STATE,), "f32"
    for part, attentions in (("encoder", ("attn",)), ("decoder", ("attn", "cross_attn"))):
        for layer in range(LAYERS):
            yield from block(f"{part}.blocks.{layer}.", attentions, kind)


def block(name: str, attentions: tuple[str, ...], kind: str) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """The tensors of a layer."""
    for norm in ("mlp_ln", *(f"{attention}_ln" for attention in attentions)):
        yield f"{name}{norm}.weight", (STATE,), "f32"
        yield f"{name}{norm}.bias", (STATE,), "f32"
    yield f"{name}mlp.0.weight", (4 * STATE, STATE), kind
    yield f"{name}mlp.0.bias", (4 * STATE,), "f32"
    yield f"{name}mlp.2.weight", (STATE, 4 * STATE), kind
    yield f"{name}mlp.2.bias", (STATE,), "f32"
    for attention in attentions:
        for matrix in ("query", "key", "value", "out"):
            yield f"{name}{attention}.{matrix}.weight", (STATE, STATE), kind
            if matrix != "key":
                yield f"{name}{attention}.{matrix}.bias", (STATE,), "f32"


def weights(generator: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Random numbers of the size that keeps the network's values near 1."""
    size = 1.5 / math.sqrt(math.prod(shape[1:]))
    scale = np.float32(1 if "token_embedding" in name else 0.05 if "positional" in name else size)
    values = generator.standard_normal(shape).astype(np.float32) * scale
    if name.endswith(("ln.weight", "ln_post.weight")):
        return 1 + np.float32(0.1) * values / scale
    return np.float32(0.1) * values if name.endswith("bias") else values


def stored(values: np.ndarray, kind: str) -> bytes:
    """The numbers as the file has them; q8_0 is a scale for each 32 of 8 bits."""
    if kind != "q8_0":
        return bytes(values.astype("<f4" if kind == "f32" else "<f2").tobytes())
    groups = values.reshape(-1, 32)
    scales = (np.abs(groups).max(1) / 127).astype("<f2")
    numbers = np.rint(groups / scales.astype(np.float32)[:, None]).clip(-127, 127).astype(np.int8)
    return b"".join(scale.tobytes() + group.tobytes() for scale, group in zip(scales, numbers, strict=True))


def end_of_vocabulary(data: bytes, sizes: dict[str, int]) -> int:
    """Where the filters and the words end, which follow the header."""
    at: int = 4 * (1 + len(sizes))
    mels, frequencies = struct.unpack_from("<2i", data, at)
    at += 8 + 4 * mels * frequencies
    (words,) = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(words):
        (length,) = struct.unpack_from("<I", data, at)
        at += 4 + length
    return at


def model(data: bytes, kind: str) -> bytes:
    """The whole file."""
    magic, *given = struct.unpack_from(f"<{1 + len(HEADER)}i", data)
    sizes = dict(zip(HEADER, given, strict=True))
    end = end_of_vocabulary(data, sizes)
    ours = {"audio_state": STATE, "audio_heads": HEADS, "audio_layers": LAYERS, "text_state": STATE}
    sizes |= ours | {"text_heads": HEADS, "text_layers": LAYERS, "type": FILES[kind]}
    parts = [struct.pack(f"<{1 + len(HEADER)}i", magic, *sizes.values()), data[4 * (1 + len(HEADER)) : end]]
    generator = np.random.default_rng(7)
    for name, shape, type_ in shapes(sizes, kind):
        numbers = (len(shape), len(name), TYPES[type_], *reversed(shape))
        parts += [struct.pack(f"<{len(numbers)}i", *numbers), name.encode()]
        parts.append(stored(weights(generator, name, shape), type_))
    return b"".join(parts)


def main(arguments: list[str]) -> int:
    source, output, kind = arguments
    Path(output).write_bytes(model(Path(source).read_bytes(), kind))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
