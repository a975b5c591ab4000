"""The command line: `python -m generator <command>`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from .errors import GeneratorError

# Command -> the module that offers it: its add_arguments(subparsers) adds the command's parser and
# sets `run`, a function of the parsed arguments, as that parser's default.
COMMANDS = {
    "fetch": "fetch",
    "extract": "extract",
    "render": "render",
    "check": "render",
    "diff": "report",
}


def _parser(modules: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m generator", description=__doc__)
    subparsers = parser.add_subparsers(metavar="command", required=True)
    for name in dict.fromkeys(modules):
        importlib.import_module(f".{name}", __package__).add_arguments(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; 2 says that it stopped at a GeneratorError."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Only the named command's module is loaded: `fetch` shall not wait for libclang and Jinja.
    named = COMMANDS.get(arguments[0]) if arguments else None
    options = _parser([named] if named else list(COMMANDS.values())).parse_args(arguments)
    try:
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
