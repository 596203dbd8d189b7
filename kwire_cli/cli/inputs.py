"""Inputs of a command line: files, standard input, or the bytes themselves as arguments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.frames import read_source
from kwire_cli.source.text import Chunk, Input

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment


def contents(environment: Environment, arguments: tuple[str, ...], what: str) -> Iterator[tuple[bytes, str | None]]:
    """The bytes of each input and its name: files, `-` for standard input, and arguments that are neither taken together as text.

    Without arguments it is standard input, unless that is a terminal. InputError for a file that can't be read; `what` is what an argument can be
    that is no file, with an example of it.
    """
    if not arguments and not environment.stdin.isatty():
        arguments = ("-",)
    if not arguments:
        raise InputError(f"no input: give files, - for standard input, or {what}")
    if not any(argument == "-" or _is_file(argument) for argument in arguments):
        _refuse_paths(arguments[0])
        yield " ".join(arguments).encode("utf-8", "surrogateescape"), None
        return
    for argument in arguments:
        if argument == "-":
            yield environment.stdin.read(), "standard input"
            continue
        if not _is_file(argument):
            raise InputError("there is no such file", file=argument)
        try:
            yield Path(argument).read_bytes(), argument
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=argument) from None


def inputs(environment: Environment, arguments: tuple[str, ...], form: str, *, verbose: bool, bodies: bool) -> Iterator[tuple[str | None, Input]]:
    """The name of each input, and its bytes with the form that they were recognised in. With `bodies` no bytes are bytes too."""
    for data, name in contents(environment, arguments, "the bytes themselves, such as 0000002b0012..."):
        empty = bodies and not (data if form == "raw" else data.strip())
        found = Input("raw", (Chunk(b"", 0, None),), "no bytes") if empty else read_source(data, form, file=name)
        if verbose:
            environment.note(f"{name or 'argument'}: {found.detail}")
        yield name, found


def _is_file(argument: str) -> bool:
    """Whether this is the name of a file, or of a pipe: what can be read."""
    try:
        return Path(argument).exists() and not Path(argument).is_dir()
    except (OSError, ValueError):
        return False


def _refuse_paths(argument: str) -> None:
    """InputError for a folder, and for what looks like a path, is none, and is no base64 either."""
    if "/" not in argument and not argument.endswith((".bin", ".hex", ".txt", ".json", ".jsonl")):
        return
    try:
        folder = Path(argument).is_dir()
    except (OSError, ValueError):
        return
    if folder:
        raise InputError("this is a folder; give the files in it", file=argument)
    text = argument.rstrip("=")
    if not text.lstrip().startswith(("{", "[")) and (not text.replace("/", "").replace("+", "").isalnum() or len(text) % 4 == 1):
        raise InputError("there is no such file", file=argument)
