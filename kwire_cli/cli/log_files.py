"""Files of a log directory that hold no batches, as `kwire dump` shows them: indexes, producer snapshots, checkpoints, small texts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.source.logs.reading import READABLE, read_contents
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.segments import SegmentFile
    from kwire_cli.source.logs.model import Contents


@dataclass
class Shown:
    """How they are shown: `label` stands before the keys of each line, `rows` is how many rows of padding the hex view shows.

    `left` is how many entries may still be shown, None for all; `headed` are the columns of the last heading.
    """

    environment: Environment
    fmt: str
    label: dict[str, Any]
    rows: int | None
    left: int | None
    headed: tuple[str, ...] = ()


def show_log_file(shown: Shown, file: SegmentFile) -> bool:
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
        from kwire_cli.view.log_files import hex_lines

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


def _json(shown: Shown, contents: Contents[Any]) -> None:
    from kwire_cli.view.json import dumps

    document = contents.to_json()
    if shown.left is not None:
        document["entries"] = document["entries"][: shown.left]
        shown.left -= len(document["entries"])
    shown.environment.write(dumps(shown.label | document, indent=True))


def _lines(shown: Shown, contents: Contents[Any]) -> None:
    from kwire_cli.view import log_files as view

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
        environment.write_lines(view.table_lines(contents, rows))
    else:
        environment.write_lines(view.tree_lines(contents, rows))


def _limited(shown: Shown, contents: Contents[Any]) -> list[dict[str, Any]]:
    rows = list(islice(contents.lines(), shown.left))
    shown.left = (shown.left or 0) - len(rows)
    return rows
