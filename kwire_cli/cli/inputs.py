"""Inputs of commands: arguments, files, pipes and JSON values.

`reading_of` converts the options of a command to a `Reading`, which the readers of captures, logs and messages take. It
is the only place that does so. JSON inputs are read as a whole, by `contents` and `documents`.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.options import (
    Capture,
    Captures,
    Decompression,
    Frames,
    Headers,
    Messages,
    RecordSets,
)
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.source.opening import STANDARD_INPUT, missing_files, sources
from kwire_cli.source.reading import Caller, Reading
from kwire_cli.stores.paths import BYTES, exists, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.options import Definitions, Secrets
    from kwire_cli.source.kinds import Kind
    from kwire_cli.source.reading import Follow
    from kwire_cli.spec.model import Entry


_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]*")


class Terminal(Caller):
    """The command that calls `open_inputs`. Remarks and progress go to standard error."""

    def __init__(self, environment: Environment) -> None:
        self.stdin = environment.stdin
        self._environment = environment

    def note(self, text: str) -> None:
        """Write a remark."""
        self._environment.note(f"kwire: {text}")

    def unreadable(self, error: InputError) -> None:
        """Write the reason why a file of a folder cannot be read, and set the exit code."""
        self._environment.has_unread = True
        self.note(str(error))

    def idle(self) -> None:
        """Flush the results so far."""
        self._environment.flush()

    def begin(self, arguments: Sequence[str]) -> None:
        """Set the inputs of the progress bar."""
        self._environment.progress.expect(arguments)

    def progress(self, label: str, at: int, size: int, unit: str = BYTES) -> None:
        """Show the amount that was read."""
        self._environment.progress.tell(label, at, size, unit)

    def done(self) -> None:
        """Remove the progress bar."""
        if self._environment.interrupt.came:  # the input may not be complete
            self._environment.progress.hide()
        else:
            self._environment.progress.done()

    @property
    def stopped(self) -> bool:
        """Return whether Ctrl-C was pressed in a command that can answer from a part of its input."""
        return bool(self._environment.interrupt)


def reading_words(options: Capture) -> list[str]:
    """Return the options that are necessary to read captures in the same way again, as words of a command line."""
    words: list[str] = []
    for file in options.tls_keylog:
        words += ["--tls-keylog", file]
    return words if options.port is None else [*words, "--port", str(options.port)]


def reading_of(
    options: Definitions, *, input_kind: Kind | None = None, follow: Follow | None = None, every: bool = False
) -> Reading:
    """Return the `Reading` for the options of a command.

    Raises UsageError for --message without --message-version, unless the message begins with its version.
    """
    how = Reading(catalog=options.catalog, input_kind=input_kind, follow=follow, every=every)
    if isinstance(options, Frames):
        how = replace(how, form=options.form, kind=options.kind, framed=options.framed, api=options.api)
    if isinstance(options, Messages):
        if options.message and options.version is None:
            _refuse_without_version(options.catalog.entry(options.message))
        how = replace(how, message=options.message, version=options.version)
    if isinstance(options, Headers):
        how = replace(how, header=options.header)
    if isinstance(options, Capture):
        how = replace(how, port=options.port, key_logs=options.tls_keylog)
    if isinstance(options, Captures):
        how = replace(how, naming=options.naming)
    if isinstance(options, RecordSets):
        how = replace(how, record_format=options.record_format, topic=options.as_topic)
    if isinstance(options, Decompression):
        how = replace(how, limits=options.limits)
    return how


def _refuse_without_version(entry: Entry) -> None:
    from kwire_cli.records.kafka_topics import has_version_prefix  # start-up counts

    if not has_version_prefix(entry):
        raise click.UsageError(f"--message needs --message-version: {entry.valid_versions}")


def place(text: str) -> tuple[str, int | None]:
    """Split FILE@N into the file and the number of a frame. The number is None for other strings."""
    name, at, number = text.rpartition("@")
    if at and number.isascii() and number.isdecimal() and len(number) < 12 and not exists(text):
        return name, int(number)
    return text, None


def shows_secrets(options: Secrets, *arguments: str) -> bool:
    """Return whether secrets are shown: with --show-secrets, and if all inputs are bytes typed as arguments."""
    files = (text == "-" or "://" in text or exists(place(text)[0]) for text in arguments)
    return options.show_secrets or (bool(arguments) and not any(files))


def not_understood(reason: str, arguments: Sequence[str]) -> InputError:
    """Return the error for inputs that could not be decoded at all, with the reason and the options to try."""
    return InputError(
        f"{missing_names(arguments)}{reason}: say what it is with --api or --message, and --message-version, or how it "
        "is written with --input"
    )


def missing_names(arguments: Sequence[str]) -> str:
    """Return the start of an error about missing files with these names. Empty if an argument is hex."""
    return "" if any(_HEX.fullmatch(argument) for argument in arguments) else missing_files(arguments)


def contents(environment: Environment, arguments: tuple[str, ...]) -> Iterator[tuple[bytes, str | None]]:
    """Yield the bytes and the name of each input: files, and `-` for standard input. Other arguments form one string.

    Without arguments, read standard input unless it is a terminal. Raises InputError if a file cannot be read.
    """
    for source in sources(arguments, Terminal(environment), "the JSON itself"):
        if isinstance(source, str) and source != "-" and path_of(source).is_dir():
            raise InputError("this is a folder; give the files in it", file=source)
        yield _read_content(environment, source)


def _read_content(environment: Environment, source: str | bytes) -> tuple[bytes, str | None]:
    if isinstance(source, bytes):
        return source, None
    if source == "-":
        return environment.stdin.read(), STANDARD_INPUT
    try:
        return path_of(source).read_bytes(), source
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=source) from None


def documents(data: bytes, name: str | None) -> Iterator[Any]:
    """Yield the JSON values in `data`, in order. Raise InputError at the first malformed value."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text at byte {error.start}", file=name) from None
    decoder = json.JSONDecoder(object_pairs_hook=_build_object)
    at = _skip_space(text, 0)
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError, EncodeError) as error:
            raise _json_error(error, name) from None
        yield value
        at = _skip_space(text, at)


def _json_error(error: Exception, name: str | None) -> InputError:
    if isinstance(error, json.JSONDecodeError):
        return InputError(f"not JSON: {error.msg}", file=name, line=error.lineno, column=error.colno)
    if isinstance(error, ValueError):  # Python reads no ints of more than 4300 digits
        return InputError("a number of the JSON is longer than any field", file=name)
    return InputError(str(error) if isinstance(error, EncodeError) else "the JSON nests too deeply", file=name)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise EncodeError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice in one object")
    return members


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
