"""Where `kwire compare` gets record batches from: segments and record sets, messages and captures with records in them, JSON, or made up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cli.progress import Progress
from kwire_cli.cli.segments import SegmentFile, bytes_of, files_of
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.source.logs.names import BATCH_KINDS, FileName, Kind, file_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.records.batch import Batch
    from kwire_cli.spec.catalog import Catalog

_JSON = (b"{", b"[")


class Found(NamedTuple):
    """A batch and the partition that it is of, as text."""

    partition: str
    batch: Batch


def holds_batches(argument: str) -> bool:
    """Whether an argument is a log directory, a partition's folder, or a file that begins with a record batch."""
    path = Path(argument)
    try:
        if path.is_dir() or file_name(path.name).kind in BATCH_KINDS:
            return path.exists()
        if not path.is_file():
            return False
    except (OSError, ValueError):
        return False
    from kwire_cli.records.opening import mapped

    return _begins_with_batch(mapped(path))


def batches_in(environment: Environment, catalog: Catalog, arguments: tuple[str, ...], form: str) -> Iterator[Found]:
    """The batches of all inputs; what is between them is noted. InputError where there are none."""
    progress = Progress(environment)
    some = False
    for file in _files(environment, arguments):
        for found in _in_file(environment, catalog, file, form, progress):
            some = True
            yield found
    progress.done()
    if not some:
        raise InputError("there are no record batches in this; kwire compare --message reads the values of messages")


def _files(environment: Environment, arguments: tuple[str, ...]) -> Iterator[SegmentFile | bytes]:
    """Files, or the bytes that the arguments are: hex, base64 or JSON."""
    if arguments and not any(argument == "-" or Path(argument).exists() for argument in arguments if len(argument) < 4096):
        yield " ".join(arguments).encode("utf-8", "surrogateescape")
        return
    yield from files_of(environment, arguments)


def _in_file(environment: Environment, catalog: Catalog, file: SegmentFile | bytes, form: str, progress: Progress) -> Iterator[Found]:
    label, name = ("argument", FileName(Kind.OTHER)) if isinstance(file, bytes) else (file.label, file.name)
    view = memoryview(file) if isinstance(file, bytes) else bytes_of(environment, file)
    if name.kind in BATCH_KINDS or form != "auto" or _begins_with_batch(view):
        folder = "" if isinstance(file, bytes) or file.path is None else file.path.resolve().parent.name
        yield from _batches(environment, label, folder or label, view, form, progress)
    elif bytes(view[:64]).lstrip().startswith(_JSON):
        yield from _batches(environment, label, label, _from_json(bytes(view), label), "auto", progress)
    else:
        yield from _in_messages(environment, catalog, label, view, progress)


def _begins_with_batch(view: memoryview) -> bool:
    from kwire_cli.records.opening import source_of
    from kwire_cli.records.reading import Reader

    return Reader(source_of(view)).right_at(0)


def _batches(environment: Environment, label: str, partition: str, view: memoryview, form: str, progress: Progress) -> Iterator[Found]:
    from kwire_cli.records.model import PADDING, Gap
    from kwire_cli.records.opening import items, source_of

    for item in items(source_of(view, form=form)):
        progress.tell(label, item.position, len(view))
        if not isinstance(item, Gap):
            yield Found(partition, item)
        elif item.code != PADDING:
            environment.note(f"kwire: {label}: {item.size} bytes at {item.position} are no batch ({item.code})")


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


def _in_messages(environment: Environment, catalog: Catalog, label: str, view: memoryview, progress: Progress) -> Iterator[Found]:
    """Records in the fields of requests and responses; each api by itself, since what is produced may be fetched in the same capture."""
    from kwire_cli.message.frames import Hints
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.message.record_sets import record_sets
    from kwire_cli.message.roles import roles
    from kwire_cli.records.batch import Batch
    from kwire_cli.source.frames import capture_in, frames_in, read_source

    def found(api: str | None, where: Any, raw: Any, reading: RecordsAs) -> Iterator[Found]:
        for each in record_sets(where, raw):
            partition = f"{api} {reading.topic(each.topic)}-{each.partition}"
            yield from (Found(partition, item) for item in reading.items(raw.data, each.topic, each.start, each.stop) if isinstance(item, Batch))

    capture = capture_in(view)
    if capture is not None:
        from kwire_cli.source.capture.reading import Capture
        from kwire_cli.source.kafka.traffic import traffic

        for line in traffic(catalog, Capture(capture)):
            if line.seen.size and (read := line.read):
                yield from found(line.api, *read, line.reading())
            progress.tell(label, capture.tell(), len(view))
        return
    for chunk in read_source(bytes(view), "auto", file=label).chunks:
        if _begins_with_batch(memoryview(chunk.data)):
            yield from _batches(environment, label, label, memoryview(chunk.data), "auto", progress)
            continue
        for frame in frames_in(catalog, _one(chunk), Hints()):
            if frame.body and not frame.guess:
                yield from found(frame.api, roles(frame.body.spec, frame.body.entry), frame.body.raw, RecordsAs(catalog))


def _one(chunk: Any) -> Any:
    from kwire_cli.source.text import Input

    return Input("raw", (chunk,), "")
