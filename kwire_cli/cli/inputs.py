"""Inputs of a command line: files, standard input, or the bytes themselves as arguments."""

from __future__ import annotations

from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind, Recognised, kinds_by_line, recognise, recognise_pieces
from kwire_cli.stores import exists, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog

MOST_NAMES, LONGEST_NAME = 3, 255
"""Arguments that may be misspelt names of files: more of them, and longer ones, are bytes."""
BYTES = "the bytes themselves, such as 0000002b0012..."
STANDARD_INPUT = "standard input"


def contents(environment: Environment, arguments: tuple[str, ...], what: str) -> Iterator[tuple[bytes, str | None]]:
    """The bytes of each input and its name: files, `-` for standard input, and arguments that are neither taken together as text.

    Without arguments it is standard input, unless that is a terminal. InputError for a file that cannot be read; `what` is what an argument can be
    that is no file, with an example of it.
    """
    for source in _sources(environment, arguments, what):
        if isinstance(source, str) and source != "-" and path_of(source).is_dir():
            raise InputError("this is a folder; give the files in it", file=source)
        yield _content(environment, source)


def inputs(
    environment: Environment,
    arguments: tuple[str, ...],
    form: str,
    *,
    catalog: Catalog | None,
    says: Kind | None = None,
    verbose: bool = False,
    pieces: bool = False,
) -> Iterator[Recognised]:
    """What each input is: files, folders, `-` for standard input, and arguments that are neither taken together as text.

    `says` is the kind, where an option says it. With `pieces` a text whose pieces are of several kinds is one input of each.
    Without arguments it is standard input, unless that is a terminal.
    """
    if "" in arguments and says is not Kind.BODY:  # as a path it is the folder that one is in
        raise InputError("an argument is empty: it is neither a file nor bytes")

    def recognised(given: Any, **how: Any) -> tuple[Recognised, ...]:
        return recognise_pieces(given, **how) if pieces else (recognise(given, **how),)

    for source in _sources(environment, arguments, BYTES):
        if isinstance(source, bytes):
            with no_file(arguments if form == "auto" else ()):
                found = recognised(source, form=form, says=says, catalog=catalog)
        elif says is not Kind.CAPTURE and (source == "-" or path_of(source).is_fifo()):
            found = recognised(_live(environment, source), form=form, says=says, name=STANDARD_INPUT if source == "-" else source, catalog=catalog)
        else:
            found = recognised(environment.stdin if source == "-" else source, form=form, says=says, name=source, catalog=catalog)
        if len(found) > 1:
            environment.note(f"kwire: {found[0].label}: {kinds_by_line(found)}, shown in this order")
        for each in found:
            if verbose and each.kind not in {Kind.CAPTURE, Kind.REQUEST_LOG, Kind.FOLDER}:
                environment.note(f"{each.label}: {each.detail}")
            for note in each.text.notes if each.text else ():
                environment.note(f"kwire: {each.label}: {note}")
            yield each


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
    """Names of files and folders, `-`, or the arguments themselves as bytes."""
    if not arguments and not environment.stdin.isatty():
        arguments = ("-",)
    if not arguments:
        raise InputError(f"no input: give files, - for standard input, or {what}")
    if not any(argument == "-" or exists(argument) for argument in arguments):
        _refuse_paths(arguments[0])
        yield " ".join(arguments).encode("utf-8", "surrogateescape")
        return
    for argument in arguments:
        if argument != "-" and not exists(argument):
            raise InputError("there is no such file", file=argument)
        yield argument


def _content(environment: Environment, source: str | bytes) -> tuple[bytes, str | None]:
    if isinstance(source, bytes):
        return source, None
    if source == "-":
        return environment.stdin.read(), STANDARD_INPUT
    try:
        return path_of(source).read_bytes(), source
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=source) from None


def _live(environment: Environment, source: str) -> Live:
    """Standard input, or a pipe with a name, opened."""
    return Live(environment.stdin if source == "-" else path_of(source).open("rb", buffering=0), environment.flush)


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

    def read(self, size: int = -1) -> bytes:
        """All the rest, or so many bytes of it."""
        if 0 <= size <= len(self._held):
            return self.read1(size)
        data, self._held = self._held + (self._file.read() if size < 0 else self._file.read(size - len(self._held))), b""
        return data


def _refuse_paths(argument: str) -> None:
    """InputError for what looks like a path, is none, and is no base64 either."""
    suffixes = (".bin", ".hex", ".txt", ".json", ".jsonl", ".pcap", ".pcapng", ".cap", ".gz", ".zst", ".log")
    if "/" not in argument and not argument.endswith(suffixes):
        return
    text = argument.rstrip("=")
    if not text.lstrip().startswith(("{", "[")) and (not text.replace("/", "").replace("+", "").isalnum() or len(text) % 4 == 1):
        raise InputError("there is no such file", file=argument)
