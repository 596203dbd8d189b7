"""`kwire dump --like-kafka`: the lines of Kafka's own DumpLogSegments."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from kwire_cli.source.logs.names import Kind
from kwire_cli.view.batch_json import numbered
from kwire_cli.view.like_kafka import Consecutive, Trouble, batch_line, invalid_bytes, log_heading, record_lines
from kwire_cli.view.like_kafka_indexes import file_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.segments import SegmentFile
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap, Hide, Record

    Items = Iterable[tuple[Batch | Gap, list[tuple[int, Record]] | None, list[Anomaly]]]

_PIECE = 256
"""Lines that are written at once."""
INDEXES = frozenset({Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX, Kind.PRODUCER_SNAPSHOT})


def heading(environment: Environment, file: SegmentFile) -> None:
    """The line that every file begins with."""
    environment.write(f"Dumping {'-' if file.path is None else file.label}")


def show_log(
    environment: Environment, file: SegmentFile, items: Items, size: int, hide: Hide | None, trouble: Trouble, *, deep: bool, whole: bool
) -> bool:
    """The batches of a file of `size` bytes, with `deep` their records: those that stand beside them, or all. Whether anything in it is odd.

    `whole` tells that nothing was left out: only then offsets are held against each other.
    """
    from kwire_cli.records.batch import Batch

    heading(environment, file)
    name = file.path.name if file.path else "-"
    for line in log_heading(file.name, name):
        environment.write(line)
    consecutive = Consecutive(str(file.path.absolute()) if file.path else "-", trouble)
    odd = False
    rest = iter(items)
    for item, records, notes in rest:
        if not isinstance(item, Batch):
            # Kafka's reader does not get over bytes that are no batch.
            environment.write(invalid_bytes(size - item.position, name))
            if next(rest, None):
                environment.note(f"kwire: {file.label}: there are more batches behind these bytes; without --like-kafka they are shown")
            return True
        environment.write(batch_line(item))
        if deep:
            pieces = [records] if records is not None else numbered(item, notes)
            lines = record_lines(item, _each(pieces, consecutive if whole else None), hide)
            while some := list(islice(lines, _PIECE)):
                environment.write("\n".join(some))
        odd = odd or bool(item.notes or notes)
    return odd


def _each(pieces: Iterable[list[tuple[int, Record]]], consecutive: Consecutive | None) -> Iterator[tuple[int, Record]]:
    for piece in pieces:
        if consecutive:
            consecutive.records(piece)
        yield from piece


def show_other(environment: Environment, file: SegmentFile, trouble: Trouble) -> None:
    """A file without batches: an index or a producer snapshot; others DumpLogSegments does not know."""
    heading(environment, file)
    if file.path is None or file.name.kind not in INDEXES:
        environment.note(f"Ignoring unknown file {file.label}")
        return
    for line in file_lines(file.path, file.label, file.name.kind, trouble, environment.note):
        environment.write(line)


def show_trouble(environment: Environment, trouble: Trouble) -> None:
    """What was wrong, behind the last file, on standard error."""
    environment.flush()
    for line in trouble.lines():
        environment.note(line)
