"""Makes anycuda's bindings: from the headers of pinned CUDA toolkits to facts, and from those to generated/."""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
from collections.abc import Sequence
from types import ModuleType

from .errors import GeneratorError

# Command -> the module that offers it: its add_arguments(subparsers) adds the command's parser and
# sets `run`, a function of the parsed arguments, as that parser's default.
COMMANDS = {
    "fetch": "fetch",
    "extract": "extract",
    "render": "render",
    "check": "render",
    "diff": "report",
    "explain": "explain",
}

# What --help shows of a command; the docstring of its module is for those who change it.
DESCRIPTIONS = {
    "extract": "Writes spec/facts: what the headers of all fetched toolkits declare, and what their libraries export.",
    "render": "Writes everything below generated/, or below another --output folder, from spec/ and templates/.",
    "check": "Renders without writing, and fails with the names of the files in generated/ that differ.",
    "diff": "Shows which functions, types and values came, went or changed between two toolkits.",
    "explain": "Shows how one function is called on every toolkit: symbol, adapter, decision, refusals, structs.",
}
EPILOG = (
    "`python -m generator fetch --help` explains one command; `make generate` runs those that are needed, in order."
)


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(f".{name}", __package__)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(__package__ or "generator"):
            raise
        raise GeneratorError(
            f"there is no Python package `{error.name}` here: `make environment` installs it in .venv;"
            " then run `.venv/bin/python -m generator`"
        ) from None


def _parser(modules: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m generator", description=__doc__, epilog=EPILOG)
    subparsers = parser.add_subparsers(title="commands", metavar="command", required=True)
    for name in dict.fromkeys(modules):
        _module(name).add_arguments(subparsers)
    for name, command in subparsers.choices.items():
        command.description = DESCRIPTIONS.get(name, command.description)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; 2 says that it stopped at a GeneratorError."""
    arguments = sys.argv[1:] if arguments is None else arguments
    gc.disable()  # looking for garbage takes a tenth of a rendering, and there is none: 80 MiB with and without
    # Only the named command's module is loaded: `fetch` shall not wait for libclang and Jinja.
    named = COMMANDS.get(arguments[0]) if arguments else None
    try:
        options = _parser([named] if named else list(COMMANDS.values())).parse_args(arguments)
        options.run(options)
    except GeneratorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
