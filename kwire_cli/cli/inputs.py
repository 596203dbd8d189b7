"""Inputs of a command line: files, standard input, or the bytes themselves as arguments."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.frames import capture_in, read_source
from kwire_cli.source.text import Chunk, Input
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.cli.environment import Environment

MOST_NAMES, LONGEST_NAME = 3, 255
"""Arguments that may be misspelt names of files: more of them, and longer ones, are bytes."""


@dataclass(frozen=True, slots=True)
class CaptureFile:
    """A packet capture: its path, or standard input. It is never read whole."""

    source: Any


def contents(environment: Environment, arguments: tuple[str, ...], what: str) -> Iterator[tuple[bytes, str | None]]:
    """The bytes of each input and its name: files, `-` for standard input, and arguments that are neither taken together as text.

    Without arguments it is standard input, unless that is a terminal. InputError for a file that can't be read; `what` is what an argument can be
    that is no file, with an example of it.
    """
    for source in _sources(environment, arguments, what):
        yield _content(environment, source)


def inputs(
    environment: Environment, arguments: tuple[str, ...], form: str, *, verbose: bool, bodies: bool, follow: bool
) -> Iterator[tuple[str | None, Input | CaptureFile]]:
    """The name of each input, and its bytes in the form that was recognised, or that it is a capture. With `bodies` no bytes are bytes too.

    With `follow` a file need not have begun yet: it is taken for a capture.
    """
    for source in _sources(environment, arguments, "the bytes themselves, such as 0000002b0012..."):
        if isinstance(source, str) and form == "auto":
            if follow:
                yield source, CaptureFile(environment.stdin if source == "-" else source)
                continue
            live = _live(environment, source)
            if (capture := capture_in(live or source)) is not None:
                yield source, CaptureFile(capture)
                continue
            data, name = (live.read(), source if source != "-" else "standard input") if live else _content(environment, source)
        else:
            data, name = _content(environment, source)
        empty = bodies and not (data if form == "raw" else data.strip())
        with no_file(arguments if name is None and form == "auto" else ()):
            found = Input("raw", (Chunk(b"", 0, None),), "no bytes") if empty else read_source(data, form, file=name)
        if verbose:
            environment.note(f"{name or 'argument'}: {found.detail}")
        for note in found.notes:
            environment.note(f"kwire: {name or 'argument'}: {note}")
        yield name, found


@contextmanager
def no_file(arguments: Sequence[str]) -> Iterator[None]:
    """What reads arguments that are no files: where they look like names, an InputError says that there are no such files either."""
    try:
        yield
    except InputError as error:
        if not arguments or len(arguments) > MOST_NAMES or not all(map(_may_be_name, arguments)):
            raise
        what = "file of this name" if len(arguments) == 1 else "files of these names"
        missing = f"there {'is' if len(arguments) == 1 else 'are'} no {what}"
        raise InputError(f"{error.reason}, and {missing}", file=error.file, line=error.line, column=error.column) from None


def _may_be_name(argument: str) -> bool:
    return 0 < len(argument) <= LONGEST_NAME and argument.isprintable() and not any(map(argument.__contains__, " \"'{}[]"))


def _sources(environment: Environment, arguments: tuple[str, ...], what: str) -> Iterator[str | bytes]:
    """Names of files, `-`, or the arguments themselves as bytes."""
    if not arguments and not environment.stdin.isatty():
        arguments = ("-",)
    if not arguments:
        raise InputError(f"no input: give files, - for standard input, or {what}")
    if not any(argument == "-" or _is_file(argument) for argument in arguments):
        _refuse_paths(arguments[0])
        yield " ".join(arguments).encode("utf-8", "surrogateescape")
        return
    for argument in arguments:
        if argument != "-" and not _is_file(argument):
            raise InputError("there is no such file", file=argument)
        yield argument


def _content(environment: Environment, source: str | bytes) -> tuple[bytes, str | None]:
    if isinstance(source, bytes):
        return source, None
    if source == "-":
        return environment.stdin.read(), "standard input"
    try:
        return path_of(source).read_bytes(), source
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=source) from None


def _live(environment: Environment, source: str) -> Live | None:
    """Standard input, or a pipe with a name, opened; None for a file."""
    if source == "-":
        return Live(environment.stdin, environment.flush)
    path = path_of(source)
    return Live(path.open("rb", buffering=0), environment.flush) if path.is_fifo() else None


class Live:
    """A pipe: a read gives what has come so far, and before it waits for more, the results are sent out (`idle`)."""

    def __init__(self, file: IO[bytes], idle: Callable[[], None]) -> None:
        self._file, self._idle = file, idle
        self._some: Callable[[int], bytes] = getattr(file, "read1", file.read)
        self._held = b""

    def peek(self, size: int) -> bytes:
        """The next bytes, fewer than `size` only where it ends, which are read again later."""
        while len(self._held) < size and (more := self._some(size - len(self._held))):
            self._held += more
        return self._held

    def read1(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        if self._held:
            data, self._held = self._held[:size], self._held[size:]
            return data
        self._idle()
        return self._some(size)

    def read(self) -> bytes:
        """All the rest."""
        data, self._held = self._held + self._file.read(), b""
        return data


def _is_file(argument: str) -> bool:
    """Whether this is the name of a file, or of a pipe: what can be read."""
    try:
        return path_of(argument).exists() and not path_of(argument).is_dir()
    except (OSError, ValueError):
        return False


def _refuse_paths(argument: str) -> None:
    """InputError for a folder, and for what looks like a path, is none, and is no base64 either."""
    suffixes = (".bin", ".hex", ".txt", ".json", ".jsonl", ".pcap", ".pcapng", ".cap", ".gz", ".zst", ".log")
    if "/" not in argument and not argument.endswith(suffixes):
        return
    try:
        folder = path_of(argument).is_dir()
    except (OSError, ValueError):
        return
    if folder:
        raise InputError("this is a folder; give the files in it", file=argument)
    text = argument.rstrip("=")
    if not text.lstrip().startswith(("{", "[")) and (not text.replace("/", "").replace("+", "").isalnum() or len(text) % 4 == 1):
        raise InputError("there is no such file", file=argument)
