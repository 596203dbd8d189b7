"""Where `kwire compare` gets record batches from: segments and record sets, messages and captures with records in them, batches as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cli.frame_options import OF_CAPTURES, frames_of, refuse
from kwire_cli.cli.segments import SegmentFile, bytes_of, files_of, note_links
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.source.logs.names import BATCH_KINDS, FileName, Kind, file_name
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.progress import Progress
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.records.batch import Batch
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.stores import Place

_JSON = (b"{", b"[")
OF_FRAMES = ("api", "version", "kind", "framed")


class Found(NamedTuple):
    """A batch and the partition that it is of, as text."""

    partition: str
    batch: Batch


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command was asked for."""

    environment: Environment
    catalog: Catalog
    options: dict[str, Any]
    progress: Progress


def holds_batches(argument: str) -> bool:
    """Whether an argument is a log directory, a partition's folder, or a file that begins with a record batch."""
    if not argument:
        return False
    path = path_of(argument)
    try:
        if path.is_dir() or file_name(path.name).kind in BATCH_KINDS:
            return path.exists()
        if not path.is_file():
            return False
    except (OSError, ValueError):
        return False
    from kwire_cli.records.opening import begins_with_batch
    from kwire_cli.stores import mapped

    return begins_with_batch(mapped(path))


def batches_in(asked: Asked, arguments: tuple[str, ...], form: str) -> Iterator[Found]:
    """The batches of all inputs, in this record format; bytes between them are noted. InputError where there are none."""
    if asked.options["verbose"]:
        note_links(asked.environment, [argument for argument in arguments if argument != "-" and _exists(argument)])
    some = False
    for file in _files(asked.environment, arguments):
        for found in _in_file(asked, file, form):
            some = True
            yield found
    asked.progress.done()
    if not some:
        raise InputError("there are no record batches in this; without --as-records kwire compare reads the values of messages")


def _files(environment: Environment, arguments: tuple[str, ...]) -> Iterator[SegmentFile | bytes]:
    """Files, or the bytes that the arguments are: hex, base64 or JSON."""
    if arguments and not any(argument == "-" or _exists(argument) for argument in arguments):
        yield " ".join(arguments).encode("utf-8", "surrogateescape")
        return
    yield from files_of(environment, arguments)


def _exists(argument: str) -> bool:
    try:
        return path_of(argument).exists()
    except (OSError, ValueError):  # too long to be a name
        return False


def _in_file(asked: Asked, file: SegmentFile | bytes, form: str) -> Iterator[Found]:
    from kwire_cli.records.opening import begins_with_batch

    label, name, path = ("argument", FileName(Kind.OTHER), None) if isinstance(file, bytes) else (file.label, file.name, file.path)
    view = memoryview(file) if isinstance(file, bytes) else bytes_of(asked.environment, file)
    if name.kind in BATCH_KINDS or form != "auto" or begins_with_batch(view):
        refuse(asked.options, (*OF_CAPTURES, *OF_FRAMES), "is for messages, and this input is batches")
        yield from _batches(asked, label, path.resolve().parent.name if path else label, view, form)
    elif bytes(view[:64]).lstrip().startswith(_JSON):
        refuse(asked.options, (*OF_CAPTURES, *OF_FRAMES), "is for messages, and this input is batches")
        yield from _batches(asked, label, label, _from_json(bytes(view), label), "auto")
    else:
        yield from _in_messages(asked, label, path, view)


def _batches(asked: Asked, label: str, partition: str, view: memoryview, form: str) -> Iterator[Found]:
    from kwire_cli.records.model import PADDING, Gap
    from kwire_cli.records.opening import items, source_of

    for item in items(source_of(view, form=form)):
        asked.progress.tell(label, item.position, len(view))
        if not isinstance(item, Gap):
            yield Found(partition, item)
        elif item.code != PADDING:
            asked.environment.note(f"kwire: {label}: {item.size} bytes at {item.position} are no batch ({item.code})")


def _from_json(data: bytes, label: str) -> memoryview:
    """Batches as `kwire encode --records` takes them, written."""
    from kwire_cli.cli.encode import documents
    from kwire_cli.records.writing import write

    rows: list[Any] = []
    for value in documents(data, label):
        rows += value if isinstance(value, list) else [value]
    try:
        return memoryview(write(rows))
    except EncodeError as error:
        raise InputError(f"{label}: {error}") from None


def _in_messages(asked: Asked, label: str, path: Place | None, view: memoryview) -> Iterator[Found]:
    from kwire_cli.records.opening import begins_with_batch
    from kwire_cli.source.frames import capture_in, read_source

    form = asked.options["form"]
    if form == "auto" and (capture := capture_in(str(path) if path and path.is_file() else view)) is not None:
        refuse(asked.options, OF_FRAMES, "is for frames, and this input is a capture")
        yield from _in_capture(asked, label, capture)
        return
    refuse(asked.options, OF_CAPTURES, "is for captures, and this input is none")
    found = read_source(bytes(view), form, file=label)
    for chunk in found.chunks:
        if begins_with_batch(chunk.data):
            yield from _batches(asked, label, label, memoryview(chunk.data), "auto")
        else:
            yield from _in_frames(asked, chunk)


def _in_frames(asked: Asked, chunk: Any) -> Iterator[Found]:
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.message.roles import roles
    from kwire_cli.source.text import Input

    for frame in frames_of(asked.catalog, Input("raw", (chunk,), ""), asked.options):
        if frame.body and not frame.guess:
            yield from _of_body(frame.api, roles(frame.body.spec, frame.body.entry), frame.body.raw, RecordsAs(asked.catalog))


def _in_capture(asked: Asked, label: str, source: Any) -> Iterator[Found]:
    from kwire_cli.cli.capture_lines import capture_lines
    from kwire_cli.cli.captures import chosen

    options = asked.options
    lines = capture_lines(asked.environment, asked.catalog, source, name=label, port=options["port"], key_logs=options["tls_keylog"])
    for line in chosen(lines, asked.catalog, options | {"limit": None}):  # which is of batches here
        if line.seen.size and (read := line.read):
            yield from _of_body(line.api, *read, line.reading())


def _of_body(api: str | None, where: Any, raw: Any, reading: RecordsAs) -> Iterator[Found]:
    """The batches in a body; each api's by themselves, since what is produced may be fetched in the same capture."""
    from kwire_cli.message.record_sets import record_sets
    from kwire_cli.records.batch import Batch

    for each in record_sets(where, raw):
        partition = f"{api} {reading.topic(each.topic)}-{each.partition}"
        yield from (Found(partition, item) for item in reading.items(raw.data, each.topic, each.start, each.stop) if isinstance(item, Batch))
