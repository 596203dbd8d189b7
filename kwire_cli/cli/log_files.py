"""Log files as they are, and as Kafka's DumpLogSegments prints them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.logs.contents import READABLE, read_contents
from kwire_cli.source.logs.model import Kind
from kwire_cli.view.batch_json import numbered
from kwire_cli.view.kafka_tool import (
    Consecutive,
    Trouble,
    batch_line,
    file_lines,
    invalid_bytes,
    log_heading,
    record_lines,
)
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.segments import SegmentFile
    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.records.batch import Batch, Hide, Record
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.logs.model import Contents

    Items = Iterable[tuple[Batch | Gap, list[tuple[int, Record]] | None, list[Anomaly]]]


# `kwire dump --like-kafka`: the lines of Kafka's own DumpLogSegments.

_PIECE = 256
"""Lines that are written at once."""


INDEXES = frozenset({Kind.INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX, Kind.PRODUCER_SNAPSHOT})


def heading(environment: Environment, file: SegmentFile) -> None:
    """The line that every file begins with."""
    environment.write(f"Dumping {'-' if file.path is None else file.label}")


def show_log(
    environment: Environment,
    file: SegmentFile,
    items: Items,
    size: int,
    hide: Hide | None,
    trouble: Trouble,
    *,
    deep: bool,
    whole: bool,
) -> bool:
    """The batches of a file of `size` bytes, with `deep` their records: those that stand beside them, or all. Whether
    anything in it is odd.

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
                environment.note(
                    f"kwire: {file.label}: there are more batches behind these bytes; without --like-kafka they are "
                    f"shown"
                )
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
    """Print on standard error what was wrong, after the last file."""
    environment.flush()
    for line in trouble.lines():
        environment.note(line)


# Files of a log directory that hold no batches, as `kwire dump` shows them: indexes, producer snapshots,
# checkpoints, small texts.


@dataclass
class ShownFile:
    """Settings for showing files of a log directory.

    `label` precedes the keys of each line, and `rows` is the number of rows of padding in the hex view. `left` is the
    number of entries that may still be shown, None for all. `headed` are the columns of the last heading.
    """

    environment: Environment
    fmt: str
    label: dict[str, Any]
    rows: int | None
    left: int | None
    headed: tuple[str, ...] = ()


def show_log_file(shown: ShownFile, file: SegmentFile) -> bool:
    """Show a file; whether something in it is odd.

    Raises:
        InputError: It cannot be read, or it is none of Kafka's that has anything to show.

    """
    if file.path is None or file.name.kind not in READABLE:
        raise InputError("this file of a log directory has nothing to show", file=file.label)
    try:
        data = file.path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file.label) from None
    contents = read_contents(data, file.name)
    if shown.fmt == "json":
        _json(shown, contents)
    elif shown.fmt == "hex":
        from kwire_cli.view.logs import hex_lines

        shown.environment.write_lines(hex_lines(contents, data, rows=shown.rows))
    else:
        _lines(shown, contents)
        if shown.fmt in {"jsonl", "csv"}:
            if not (shown.label or contents.anomalies) and next(contents.lines(), None) is None:
                shown.environment.note(f"kwire: {file.label}: 0 entries in {counted(len(data), 'byte')}")
            for note in contents.anomalies:
                path = f"{note.path}: " if note.path else ""
                shown.environment.note(f"kwire: {file.label}: {note.code} at byte {note.offset}: {path}{note.detail}")
    return bool(contents.anomalies)


def _json(shown: ShownFile, contents: Contents[Any]) -> None:
    from kwire_cli.view.json import dumps

    document = contents.to_json()
    if shown.left is not None:
        document["entries"] = document["entries"][: shown.left]
        shown.left -= len(document["entries"])
    shown.environment.write(dumps(shown.label | document, indent=True))


def _lines(shown: ShownFile, contents: Contents[Any]) -> None:
    from kwire_cli.view import logs as view

    environment = shown.environment
    rows = contents.lines() if shown.left is None else _limited(shown, contents)
    if shown.fmt == "jsonl":
        from kwire_cli.view.json import dumps

        for row in rows:
            environment.write(dumps(shown.label | row, indent=False))
    elif shown.fmt == "csv":
        columns = (*shown.label, *view.csv_columns(contents))
        if columns != shown.headed:
            environment.write_csv(columns)
            shown.headed = columns
        for row in rows:
            environment.write_csv([*shown.label.values(), *view.csv_cells(contents, row)])
    elif shown.fmt == "table":
        environment.write_lines([view.heading(contents)])
        environment.write_lines(view.file_table_lines(contents, rows))
    else:
        environment.write_lines(view.file_tree_lines(contents, rows))


def _limited(shown: ShownFile, contents: Contents[Any]) -> list[dict[str, Any]]:
    rows = list(islice(contents.lines(), shown.left))
    shown.left = (shown.left or 0) - len(rows)
    return rows
