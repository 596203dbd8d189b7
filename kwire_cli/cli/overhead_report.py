"""The report of overhead, counted and shown in every format, and the settings that --batching tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.environment import Progress
from kwire_cli.cli.numbers import size_of
from kwire_cli.cli.old_options import MOST_ROWS, limits_of
from kwire_cli.cli.pages import Collected
from kwire_cli.errors import EncodeError, InputError

if TYPE_CHECKING:
    from kwire_cli.analysis.costs.batching import Accumulators
    from kwire_cli.analysis.costs.measures import Distance
    from kwire_cli.analysis.costs.overhead import Report
    from kwire_cli.analysis.costs.tallies import Tallies
    from kwire_cli.cli.capture_inputs import CapturePoints
    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog


# Settings that `kwire overhead --batching` tries.

MOST_SETTINGS = 200


LONGEST_LINGER, LARGEST_BATCH = 2147483647, 2147483647
"""Of Kafka's types for both."""


def accumulators_of(options: dict[str, Any]) -> Accumulators:
    """Return the accumulators for --linger and --batch-size.

    Raises UsageError if a value is not a valid number, or if there are more than MOST_SETTINGS pairs.
    """
    from kwire_cli.analysis.costs.batching import BATCH_SIZES, LINGERS, Accumulators, Setting

    lingers = tuple(_linger(text) for text in options["linger"].split(",")) if options["linger"] else LINGERS
    sizes = (
        tuple(_batch_size(text) for text in options["batch_sizes"].split(","))
        if options["batch_sizes"]
        else BATCH_SIZES
    )
    settings = [Setting(linger, size) for linger in sorted({*lingers}) for size in sorted({*sizes})]
    if len(settings) > MOST_SETTINGS:
        raise click.UsageError(
            f"--linger and --batch-size make {len(settings)} pairs; {MOST_SETTINGS} are the most allowed"
        )
    return Accumulators(settings)


def _linger(text: str) -> int:
    text = text.strip()
    if not text.isascii() or not text.isdigit() or len(text) > len(str(LONGEST_LINGER)) or int(text) > LONGEST_LINGER:
        raise click.UsageError(f"--linger takes milliseconds, such as 0,5,20, not {text!r}")
    return int(text)


def _batch_size(text: str) -> int:
    size = size_of(text, "--batch-size")
    if size > LARGEST_BATCH:
        raise click.UsageError(f"--batch-size {text.strip()}: batch.size can be at most {LARGEST_BATCH}")
    return size


# The report of overhead: counted, and shown in every format.

# What was asked of `kwire overhead`, and what came of it so far.

DEFAULTS = {
    "capture": (("api",), ("kind",)),
    "frames": (("field",), ("kind",)),
    "segments": (("topic", "partition"), ("kind",)),
}
"""The tables of bytes where none were asked for, by what the first input is."""


@dataclass
class Asked:
    """Request to the command: its environment, definitions and options."""

    environment: Environment
    catalog: Catalog
    options: dict[str, Any]
    laid: Catalog | None = None
    """The definitions of a what-if."""
    points: CapturePoints | None = None
    several: bool = False
    """Whether there is more than one input, so that a place has to say in which it is."""

    def __post_init__(self) -> None:
        self.tables = tables_of(self.options["by"])
        self.limits = _limits_given(self.options["given"])
        self.progress = Progress(self.environment)


@dataclass
class Counted:
    """Results so far. `files` are the bytes of whole captures, including packet headers.

    `segments` says that only files of records were counted. In a what-if, `tallies` are under the overlay, and
    `written` are those of the input as it is.
    """

    tables: list[tuple[str, ...]]
    tallies: Tallies
    accumulators: Accumulators | None
    files: int = 0
    captures: int = 0
    segments: bool = True
    decodable: bool = False
    written: Tallies | None = None

    def turn_to(self, name: str | None, *, several: bool) -> None:
        """Set the input that the following lines come from."""
        self.tallies.file = name
        self.tallies.largest.turn_to({"file": name} if several and name else {})

    def add(self, subject: Any, place: str) -> None:
        """Count a line of a capture, or what has the same properties. InputError with its place for a value that an
        overlay has no room for.
        """
        try:
            self.tallies.add(subject)
        except EncodeError as error:
            raise InputError(f"{place}: {error}") from None
        if self.written:
            self.written.file = self.tallies.file
            self.written.add(subject)


def tables_of(by: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The dimensions of each table of --by. UsageError for one that there is not."""
    from kwire_cli.analysis.costs.measures import DIMENSIONS

    tables = []
    for text in by:
        names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
        if strange := [name for name in names if name not in DIMENSIONS]:
            raise click.UsageError(
                f"--by {strange[0]}: bytes are grouped by {', '.join(DIMENSIONS[:-1])} or {DIMENSIONS[-1]}"
            )
        tables.append(names)
    return tables


def begin(asked: Asked, kind: str) -> Counted:
    """Begin to count, once the kind of the first input is known: the tables depend on it."""
    from kwire_cli.analysis.costs.measures import OF_MESSAGE
    from kwire_cli.analysis.costs.tallies import Tallies

    tables = asked.tables or [*DEFAULTS[kind]]
    names = [name for name in OF_MESSAGE if any(name in each for each in tables)]
    accumulators = None
    if any(asked.options[name] for name in ("batching", "linger", "batch_sizes")):
        accumulators = accumulators_of(asked.options)
    on_records = accumulators.add if accumulators else None
    limits = limits_of(asked.options)
    tallies = Tallies(asked.catalog, names, limits=limits, on_records=on_records)
    written = None
    if asked.laid:
        from kwire_cli.analysis.costs.overlaid import Overlaid

        written = Tallies(asked.catalog, names, limits=limits)
        tallies.overlaid = Overlaid(asked.catalog, asked.laid)
    return Counted(tables, tallies, accumulators, written=written)


def _limits_given(texts: tuple[str, ...]) -> dict[str, int]:
    """The limits of --limit by name. UsageError for one that there is not."""
    from kwire_cli.analysis.costs.measures import NAMES

    out = {}
    for text in texts:
        name, mark, size = text.partition("=")
        if not mark or name.strip() not in NAMES:
            raise click.UsageError(f"--limit {text}: it takes NAME=BYTES, of {', '.join(NAMES)}")
        out[name.strip()] = size_of(size, f"--limit {name.strip()}")
    return out


# How `kwire overhead` shows what it counted: tables, one JSON document, JSON lines, csv.


def show(asked: Asked, counted: Counted, fmt: str) -> None:
    """Print all of it."""
    from kwire_cli.analysis.costs.overhead import report

    top = asked.options["top"] or (MOST_ROWS if fmt == "table" else None)
    overview = report(counted.tallies, counted.tables, top)
    limits = _distances(asked, counted)
    if fmt == "table":
        if isinstance(asked.environment, Collected):
            from kwire_cli.view.html.page import overhead_charts

            asked.environment.charts += overhead_charts(overview, counted.tallies)
        _show_tables(asked, counted, overview, limits)
    elif fmt == "csv":
        write_csv(asked.environment, overview, counted if counted.written else None)
    else:
        _show_json(asked, counted, overview, limits, fmt)


def _distances(asked: Asked, counted: Counted) -> list[Distance]:
    from kwire_cli.analysis.costs.measures import distances

    return distances(counted.tallies.largest, asked.limits) if asked.options["limits"] else []


def _show_tables(asked: Asked, counted: Counted, made: Report, limits: list[Distance]) -> None:
    from kwire_cli.view.costs import limit_lines, record_lines, report_lines
    from kwire_cli.view.lines import counted as number_of

    environment = asked.environment
    environment.write_lines(report_lines(made, messages="files" if counted.segments else "messages"))
    if counted.written:
        _show_changes(asked, counted)
    if counted.files:
        what = (
            "the capture's file" if counted.captures == 1 else f"the files of {number_of(counted.captures, 'capture')}"
        )
        environment.write_lines([[(f"{what}, packets and all: {number_of(counted.files, 'byte')}", "dim")]])
    if made.records and asked.options["records"]:
        environment.write_lines([[], *record_lines(made, asked.options["top"] or MOST_ROWS)])
    if limits:
        environment.write_lines([[], [("limits", "title")], *limit_lines(limits)])
    if counted.accumulators:
        from kwire_cli.view.costs import batching_lines

        environment.write_lines(
            [[], *batching_lines(counted.accumulators.outcome(), asked.options["top"] or MOST_ROWS)]
        )


def _show_changes(asked: Asked, counted: Counted) -> None:
    from kwire_cli.analysis.costs.overhead import changes
    from kwire_cli.view.costs import change_lines, outcome_lines

    assert counted.written  # noqa: S101 - for the type checker
    assert counted.tallies.overlaid  # noqa: S101 - as above
    if not counted.segments:
        for names in counted.tables:
            asked.environment.write_lines(
                [
                    [],
                    *change_lines(
                        names, *changes(counted.written, counted.tallies, names), asked.options["top"] or MOST_ROWS
                    ),
                ]
            )
    asked.environment.write_lines([[], *outcome_lines(counted.tallies.overlaid, in_records=counted.segments)])


def _changes(counted: Counted) -> dict[str, Any]:
    from kwire_cli.analysis.costs.overhead import changes
    from kwire_cli.view.costs import change_document

    assert counted.written  # noqa: S101 - for the type checker
    assert counted.tallies.overlaid  # noqa: S101 - as above
    table_changes = [(names, *changes(counted.written, counted.tallies, names)) for names in counted.tables]
    return change_document(
        [(names, rows) for names, rows, _ in table_changes], table_changes[0][2], counted.tallies.overlaid
    )


def write_csv(environment: Environment, made: Report, counted: Counted | None = None) -> None:
    """The rows of all tables; where there is what was `counted` under an overlay, with what they are as written."""
    names = list(dict.fromkeys(name for table in made.tables for name in table.dimensions))
    columns = [
        *names,
        "messages",
        "count",
        "bytes",
        "share",
        "overheadBytes",
        *(["writtenBytes", "change"] if counted else []),
    ]
    environment.write_csv(columns)
    for table in made.tables:
        rows = [*table.to_json()]
        if counted:
            rows = _with_written(counted, table.dimensions, rows)
        for row in rows:
            rest = {table.dimensions[0]: f"({row['rest']} more)"} if "rest" in row else {}
            environment.write_csv([(row | rest).get(name) for name in columns])


def _with_written(counted: Counted, names: tuple[str, ...], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with what they are as written; what is gone under the overlay last."""
    from kwire_cli.analysis.costs.overhead import changes

    assert counted.written  # noqa: S101 - for the type checker
    changed = {row.key: row for row in changes(counted.written, counted.tallies, names)[0]}
    out = []
    for row in rows:
        if "rest" in row:
            out.append(row)
            continue
        row_change = changed.pop(tuple(row[name] for name in names), None)
        change = row_change.change if row_change else 0
        out.append(row | {"writtenBytes": row["bytes"] - change, "change": change})
    gone = (removed for removed in changed.values() if not removed.under)
    return out + [
        {
            **dict(zip(names, removed.key, strict=True)),
            "bytes": 0,
            "writtenBytes": removed.written,
            "change": removed.change,
        }
        for removed in gone
    ]


def _show_json(asked: Asked, counted: Counted, made: Report, limits: list[Distance], fmt: str) -> None:
    document = made.to_json()
    if not asked.options["records"]:
        document.pop("records", None)
    document["limits"] = [distance.to_json() for distance in limits]
    if counted.accumulators:
        document["batching"] = counted.accumulators.outcome().to_json()
    if counted.captures:
        document["fileBytes"] = counted.files
    if counted.written:
        document["overlay"] = _changes(counted)
    write_json(asked.environment, document, fmt)


def write_json(environment: Environment, document: dict[str, Any], fmt: str) -> None:
    """Write a document, which has what `Report.to_json` gives and more.

    It is written as one document, or as one line for each row and each other part.
    """
    from kwire_cli.view.json import dumps

    if fmt == "json":
        environment.write(dumps(document, indent=True))
        return
    for section in document.pop("tables"):
        for row in section["rows"]:
            environment.write(dumps({"table": section["by"], **row}, indent=False))
    for name in ("compressed", "limits"):
        for row in document.pop(name, ()):
            environment.write(dumps({"table": name, **row}, indent=False))
    for name, section in document.items():
        if isinstance(section, dict):
            environment.write(dumps({"table": name, **section}, indent=False))
    total = {name: section for name, section in document.items() if not isinstance(section, dict)}
    environment.write(dumps({"table": "total", **total}, indent=False))
