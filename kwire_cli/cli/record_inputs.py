"""Where `kwire compare` gets record batches from: segments and record sets, messages and captures with records in them, batches as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cli.frame_options import OF_CAPTURES, frames_of, refuse
from kwire_cli.cli.inputs import inputs
from kwire_cli.cli.segments import note_links, path_text, segment_files
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.records.formats import AUTO
from kwire_cli.source.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.progress import Progress
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.records.batch import Batch
    from kwire_cli.source.kinds import Recognised
    from kwire_cli.spec.catalog import Catalog

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


def batches_in(asked: Asked, arguments: tuple[str, ...], form: str) -> Iterator[Found]:
    """The batches of all inputs, in this record format; bytes between them are noted. InputError where there are none."""
    if asked.options["verbose"]:
        note_links(asked.environment, arguments)
    some = False
    says = None if form == AUTO else Kind.BATCHES
    for found in inputs(asked.environment, arguments, asked.options["form"], catalog=asked.catalog, says=says):
        for each in _in_input(asked, found, form):
            some = True
            yield each
    asked.progress.done()
    if not some:
        raise InputError("there are no record batches in this; without --as-records kwire compare reads the values of messages")


def _in_input(asked: Asked, found: Recognised, form: str) -> Iterator[Found]:
    if found.kind is Kind.CAPTURE:
        refuse(asked.options, OF_FRAMES, "is for frames, and this input is a capture")
        yield from _in_capture(asked, path_text(found.label), found.source)
    elif found.kind in {Kind.BATCHES, Kind.FOLDER}:
        refuse(asked.options, (*OF_CAPTURES, *OF_FRAMES), "is for messages, and this input is batches")
        for file in segment_files(found):
            yield from _batches(asked, file.label, file.path.resolve().parent.name if file.path else file.label, file.view, form)
    elif found.kind is Kind.JSON and found.held is not None:
        refuse(asked.options, (*OF_CAPTURES, *OF_FRAMES), "is for messages, and this input is batches")
        yield from _batches(asked, found.label, found.label, _from_json(bytes(found.held), found.label), AUTO)
    else:
        refuse(asked.options, OF_CAPTURES, "is for captures, and this input is not one")
        for chunk in found.frames.chunks:
            yield from _in_frames(asked, chunk)


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
