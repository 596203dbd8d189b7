"""Inputs of a command line: files, standard input, or the bytes themselves as arguments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError
from kwire_cli.source.frames import read_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.text import Input


def contents(environment: Environment, arguments: tuple[str, ...]) -> Iterator[tuple[bytes, str | None]]:
    """The bytes of each input and its name: files, `-` for standard input, and arguments that are neither taken together as text.

    Without arguments it is standard input, unless that is a terminal. InputError for a file that can't be read.
    """
    if not arguments and not environment.stdin.isatty():
        arguments = ("-",)
    if not arguments:
        raise InputError("no input: give files, - for standard input, or the bytes themselves, such as 0000002b0012...")
    if not any(argument == "-" or _is_file(argument) for argument in arguments):
        if any("/" in argument or argument.endswith((".bin", ".hex", ".txt", ".json", ".jsonl")) for argument in arguments[:1]):
            _refuse_missing(arguments[0])
        yield " ".join(arguments).encode("utf-8", "surrogateescape"), None
        return
    for argument in arguments:
        if argument == "-":
            yield environment.stdin.read(), "standard input"
            continue
        try:
            yield Path(argument).read_bytes(), argument
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=argument) from None


def inputs(environment: Environment, arguments: tuple[str, ...], form: str) -> Iterator[Input]:
    """Each input with the form that it was recognised in."""
    for data, name in contents(environment, arguments):
        found = read_source(data, form, file=name)
        if environment.verbose:
            environment.note(f"{name or 'argument'}: {found.form}: {found.detail}")
        yield found


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):
        return False


def _refuse_missing(argument: str) -> None:
    """What looks like a path and is no base64 either is a file that is not there."""
    text = argument.rstrip("=")
    if not text.replace("/", "").replace("+", "").isalnum() or len(text) % 4 == 1:
        raise InputError("there is no such file, and it is no hex either", file=argument)
