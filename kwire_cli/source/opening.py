"""Opening of inputs: the only place that decides the kind of an argument, file, folder, pipe, URL or text.

    how = Reading(catalog=catalog, port=9092)
    for opened in open_inputs(["broker.pcap", "00000000000000000000.log"], how):
        opened.kind                     # Kind.CAPTURE, then Kind.BATCHES
        for subject in opened.subjects():
            ...                         # Captured, then LogItem

The kinds of opened inputs, and their subjects:

    FramesInput      Frame                                              requests and responses as bytes or text
    BodiesInput      Decoded                                            bodies of one message
    CaptureInput     Captured                                           a capture, or the files of a capture point
    RequestLogInput  Exchange, LineFault                                a broker's request log
    LogInput         LogItem (a batch or a gap, with its partition)     batches, a segment, a folder
    LakeInput        none: questions read its tables                    a lake

`open_inputs` takes the arguments of a command line, `open_input` one path, open file, or bytes. Remarks, faults and
progress go to the `Caller`, who also has the standard input.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kwire_cli.errors import InputError
from kwire_cli.message.reading import split
from kwire_cli.records.formats import AUTO
from kwire_cli.source.files import Live
from kwire_cli.source.kinds import Kind
from kwire_cli.source.reading import Caller, Opened, Reading
from kwire_cli.source.recognition import MAGIC, Recognised, begins_as, recognise, why_batches
from kwire_cli.source.text.reading import frames_in, recognised_binary
from kwire_cli.stores.paths import exists, is_folder, is_url, path_of, refuse_unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from datetime import date

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Source
    from kwire_cli.source.capture_inputs import CapturePoints
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.log_inputs import LogFile, LogItem
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.source.request_log.reading import LineFault
    from kwire_cli.stores.paths import Place

Subject: TypeAlias = "Captured | Frame | Decoded | LogItem | Exchange | LineFault"
"""The subjects of opened inputs: a line of a capture, a frame, a body, a batch of a log or the gap between two, a
logged request with its response, or a line of a request log that cannot be read."""
READABLE = frozenset(
    {Kind.CAPTURE, Kind.LAKE, Kind.REQUEST_LOG, Kind.BATCHES, Kind.LOG_FILE, Kind.FRAMES, Kind.BODY, Kind.FOLDER}
)
"""The kinds of inputs that can be opened."""
STANDARD_INPUT = "standard input"
BYTES = "the bytes themselves, such as 0000002b0012..."
"""An example of an argument that is not a file, in the error for a command line without inputs."""
LONGEST_NAME = 255
LONGEST_PATH = 4096
"""Maximum length of a file name and of a path. A longer argument cannot be a misspelt file, and is read as bytes."""
_PATHS = (".bin", ".hex", ".txt", ".json", ".jsonl", ".pcap", ".pcapng", ".cap", ".gz", ".zst", ".log")


class FramesInput(Opened):
    """Requests and responses: raw bytes, or encoded bytes in text."""

    def subjects(self) -> Iterator[Frame]:
        """Yield the frames. Raise InputError if the definitions lack the api."""
        how = self.how
        return frames_in(how.catalog, self.recognised.frames, how.hints, framed=how.framed)


class BodiesInput(Opened):
    """Bodies of one message, without headers: raw bytes, or encoded bytes in text."""

    def subjects(self) -> Iterator[Decoded]:
        """Yield the bodies. Raise InputError if the definitions lack the message, or if the version is unknown."""
        from kwire_cli.message.bodies import decode_body  # noqa: PLC0415 - start-up counts

        how = self.how
        for chunk in self.recognised.frames.chunks:
            yield decode_body(how.catalog, chunk.data, how.message or "", how.version)


class LakeInput(Opened):
    """A lake. Questions fill their tables from the tables of the lake.

    `files` and `size` are the number of captures and request logs that were exported, and their bytes. `lacking` are
    the tables that a question reads and that some of these were exported without. All are known after the tables were
    filled.
    """

    files: int = 0
    size: int = 0
    lacking: Sequence[str] = ()
    part: LakePart | None = None
    """The part of the lake that is asked; None for all of it."""
    choice: RowChoice | None = None
    """The rows of frames that count; None for all. Other tables have all their rows."""

    @property
    def folder(self) -> Place:
        """The folder of the lake."""
        return path_of(self.recognised.source)

    def subjects(self) -> Iterator[Any]:
        """Raise InputError: a lake has no bytes to read again."""
        raise InputError(f"this is {Kind.LAKE.what}; {Kind.LAKE.try_instead}", file=self.name)


class RowChoice(NamedTuple):
    """A choice of rows of frames: `takes` gets the values of some columns by name."""

    columns: frozenset[str]
    takes: Callable[[Mapping[str, Any]], bool]


class LakePart(NamedTuple):
    """A capture point and a day of a lake. The day is None for rows without a time."""

    point: str
    day: date | None


def _open_recognised(
    recognised: Recognised, how: Reading, caller: Caller, takes: Collection[Kind], source: Any
) -> Opened:
    """Return the opened input. Readers of captures and logs are imported when used, to keep the start of kwire fast."""
    kind = recognised.kind
    if kind not in takes:
        raise InputError(f"this is {kind.what}; {kind.try_instead}", file=recognised.name)
    if kind is Kind.BODY:
        return BodiesInput(recognised, how, caller)
    if kind is Kind.FRAMES:
        return FramesInput(recognised, how, caller)
    if kind is Kind.REQUEST_LOG:
        from kwire_cli.source.request_log_inputs import RequestLogInput  # noqa: PLC0415 - imported when used

        return RequestLogInput(recognised, how, caller)
    if kind is Kind.CAPTURE:
        from kwire_cli.source.capture_inputs import CaptureInput  # noqa: PLC0415 - imported when used

        return CaptureInput(recognised, how, caller, source)
    if kind is Kind.LAKE:
        return LakeInput(recognised, how, caller)
    from kwire_cli.source.log_inputs import LogInput  # noqa: PLC0415 - imported when used

    return LogInput(recognised, how, caller)


def open_input(given: Any, how: Reading, *, takes: Collection[Kind] = READABLE) -> Opened:
    """Open one input: the path or URL of a file or folder, an open file, or bytes.

    Raises:
        InputError: The input cannot be read, or its kind is not in `takes`.

    """
    recognised = recognise(given, form=how.form, says=how.says, catalog=how.catalog)
    return _open_recognised(recognised, how, Caller(), takes, None)


def open_records(given: Any, how: Reading) -> Source:
    """Open a record set: a file, which may be text with encoded batches, or the bytes of the batches.

    Raises:
        InputError: The file cannot be read, or the input is a capture or contains requests and responses. Bytes are not
            checked if the caller specifies their record format.

    """
    from kwire_cli.source.log_inputs import LogFile  # noqa: PLC0415 - imported when used

    if isinstance(given, str) or hasattr(given, "__fspath__"):
        opened: Any = open_input(given, replace(how, input_kind=Kind.BATCHES), takes={Kind.BATCHES})
        file: LogFile
        file, *others = opened.files()
        if others:
            raise InputError("these are several record sets: read them one by one", file=opened.name)
        return file.source(how)
    if how.record_format not in {None, AUTO}:
        return LogFile.of(given).source(how)
    start = bytes(given[:MAGIC]) if hasattr(given, "__getitem__") else b""
    if recognised_binary(start) is not None:
        raise InputError("this is a packet capture, which read_frames reads")
    if start and split(given)[-1][2] and not why_batches(given):
        raise InputError("these are requests and responses, which read_frames reads")
    return LogFile.of(given).source(how)


def holds_batches(argument: str) -> bool:
    """Return whether an argument is a folder, or a file that contains record batches, not encoded in text."""
    if not exists(argument):
        return False
    try:
        recognised = recognise(argument)
    except InputError:  # the file contains nothing that kwire reads
        return False
    return recognised.kind is Kind.FOLDER or (recognised.kind is Kind.BATCHES and recognised.text is None)


def have_overview(arguments: Sequence[str]) -> bool:
    """Return whether arguments are captures, request logs or folders, according to the first bytes of the files.

    Captures and request logs may contain the same requests. They cannot be counted together, so both at once have no
    overview.
    """
    kinds: set[Kind | None] = set()
    for argument in arguments:
        try:
            if argument == "-" or not exists(argument):
                return False
            kinds.add(Kind.FOLDER if is_folder(argument) else begins_as(argument))
        except (InputError, OSError, ValueError):  # the reader of the input reports the error
            return False
    return bool(kinds) and None not in kinds and not kinds >= {Kind.CAPTURE, Kind.REQUEST_LOG}


class Inputs:
    """The inputs that arguments name, opened in order. They can be iterated again unless one is a pipe.

    `several` is true if there is more than one input; the files of a capture point are one input. `labelled` is true if
    the lines of captures name their files.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        how: Reading,
        caller: Caller,
        takes: Collection[Kind],
    ) -> None:
        self._how = how
        self._caller = caller
        self._takes = takes
        self._listed: set[str] = set()
        if Kind.CAPTURE in takes and any(map(is_folder, arguments)):
            arguments = self._with_captures(arguments)
        self._arguments = arguments
        self._points = self._capture_points()
        self.several = len(arguments) - (self._points.together if self._points else 0) > 1
        self.labelled = self._points is not None and self._points.labelled

    def _with_captures(self, arguments: Sequence[str]) -> list[str]:
        """Return the arguments, with the captures of folders instead of the folders. Report captures that cannot be
        read to the caller, and raise InputError if there are no other inputs.
        """
        from kwire_cli.source.capture_inputs import with_captures  # noqa: PLC0415 - imported when used

        inputs: list[str] = []
        errors: list[InputError] = []
        for name, is_listed in with_captures(arguments, self._caller):
            try:
                if is_listed:
                    refuse_unreadable(name)
                    self._listed.add(name)
                inputs.append(name)
            except InputError as error:
                errors.append(error)
        if not inputs:
            raise errors[0]
        for unread in errors:
            self._caller.unreadable(unread)
        return inputs

    def _capture_points(self) -> CapturePoints | None:
        """Return the capture points among the inputs, if there may be several captures."""
        how = self._how
        arguments = dict.fromkeys(self._arguments)
        named = how.naming.pattern is not None
        if not how.groups_captures or (len(arguments) < 2 and not named):
            return None
        from kwire_cli.source.capture_inputs import CapturePoints  # noqa: PLC0415 - imported when used

        return CapturePoints(list(arguments), how, self._caller)

    def __iter__(self) -> Iterator[Opened]:
        self._caller.begin(self._arguments)
        if self._points:
            self._points.begin()
        for recognised in self._recognise_all():
            if self._caller.stopped:
                return
            source = None
            if recognised.kind is Kind.CAPTURE and self._points:
                source = self._points.take(recognised)
                if source is None:
                    continue
            yield _open_recognised(recognised, self._how, self._caller, self._takes, source)

    def _recognise_all(self) -> Iterator[Recognised]:
        how = self._how
        arguments = self._arguments
        caller = self._caller
        if how.unknown_version:
            caller.note(how.unknown_version)
        if "" in arguments and how.says is not Kind.BODY:  # an empty path is the current folder
            raise InputError("an argument is empty: it is neither a file nor bytes")
        for source in sources(arguments, caller, BYTES):
            name = None
            if isinstance(source, str):
                name = STANDARD_INPUT if source == "-" else source
            given = source if isinstance(source, bytes) else self._source_of(source)
            try:
                with not_files(arguments if name is None and how.form == "auto" else ()):
                    recognised = recognise(given, form=how.form, says=how.says, name=name, catalog=how.catalog)
            except InputError as error:
                if source not in self._listed:
                    raise
                caller.unreadable(error)
                continue
            if how.verbose and recognised.kind not in {Kind.CAPTURE, Kind.REQUEST_LOG, Kind.FOLDER}:
                caller.note(f"{recognised.label}: {recognised.detail}")
            for note in recognised.text.notes if recognised.text else ():
                caller.note(f"{recognised.label}: {note}")
            yield recognised

    def _source_of(self, source: str) -> Any:
        """Return the source for a name: an open pipe, or the name itself."""
        file: Any = self._caller.stdin if source == "-" else source
        if self._how.says is Kind.CAPTURE or not (source == "-" or path_of(source).is_fifo()):
            return file
        return Live(file if source == "-" else path_of(source).open("rb", buffering=0), self._caller.idle)


def open_inputs(
    arguments: Sequence[str],
    how: Reading,
    caller: Caller | None = None,
    *,
    takes: Collection[Kind] = READABLE,
) -> Inputs:
    """Open the inputs of a command line: files, folders, URLs, `-` for standard input, or text.

    If the caller takes captures, a folder with captures and without logs is replaced by its captures. Arguments that
    are neither files nor folders are joined and read as text. Without arguments the input is standard input, unless
    that is a terminal.

    Args:
        arguments: The arguments.
        how: The settings for reading.
        caller: Receives remarks and progress. By default there is no standard input, and remarks are dropped.
        takes: The kinds that the caller accepts.

    Returns:
        The inputs. Iterating raises InputError if an input cannot be read, or if its kind is not in `takes`.

    """
    return Inputs(arguments, how, caller or Caller(), takes)


def sources(arguments: Sequence[str], caller: Caller, what: str) -> Iterator[str | bytes]:
    """Yield the names of files and folders, `-`, or the arguments themselves as bytes.

    Raises:
        InputError: There is no input, or a file does not exist. `what` is an example of an argument that is not a file.

    """
    if not arguments and caller.stdin is not None and not caller.stdin.isatty():
        arguments = ("-",)
    if not arguments:
        raise InputError(f"no input: give files, - for standard input, or {what}")
    if not any(argument == "-" or exists(argument) for argument in arguments):
        refuse_paths(arguments[0])
        yield " ".join(arguments).encode("utf-8", "surrogateescape")
        return
    for argument in arguments:
        if argument != "-" and not exists(argument):
            raise InputError("there is no such file", file=argument)
        yield argument


@contextmanager
def not_files(arguments: Sequence[str]) -> Iterator[None]:
    """Wrap the reading of arguments that are not files.

    If the arguments look like names, the text of an InputError begins with the fact that no such file exists.
    """
    try:
        yield
    except InputError as error:
        missing = missing_files(arguments)
        if not missing:
            raise
        raise InputError(f"{missing}{error}") from None


def missing_files(arguments: Sequence[str]) -> str:
    """Return the start of an error for a file that does not exist.

    It is empty if the file exists, if there are several arguments, or if the argument cannot be a name.
    """
    name = arguments[0] if len(arguments) == 1 else ""
    is_name = 0 < len(name) <= LONGEST_NAME and name.isprintable() and not re.search("[ \"'{}\\[\\]]", name)
    return f"there is no file {name!r}; read as text: " if is_name and name != "-" and not exists(name) else ""


def refuse_paths(argument: str) -> None:
    """Raise InputError for an argument that is a path rather than base64.

    It is a URL or ends with a suffix of a file, it is absolute, because no frame begins with the bytes of a slash, or
    its first folder exists.
    """
    folder, slash, _ = argument.partition("/")
    is_absolute = bool(slash) and not folder and len(argument) <= LONGEST_PATH and not re.search("^//|[+=]", argument)
    is_in_folder = bool(slash) and len(folder) <= LONGEST_NAME and exists(folder)
    if is_url(argument) or argument.endswith(_PATHS) or is_absolute or is_in_folder:
        raise InputError("there is no such file", file=argument)
