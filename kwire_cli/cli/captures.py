"""Captures shown by `kwire decode`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from kwire_cli.cli.capture_inputs import _frame_range, chosen, filter_of, note_faults, read_log
from kwire_cli.cli.emit import WRITERS
from kwire_cli.cli.environment import Outcome
from kwire_cli.cli.old_options import HEX_ROWS, records_of
from kwire_cli.cli.options import Report
from kwire_cli.cli.pages import Collected
from kwire_cli.errors import InputError
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.stats import Stats
    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.captures import Capture, PointFiles
    from kwire_cli.source.growing import Following
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog

    Show = Callable[[Captured | None], None]


# Lines of a capture in columns: those of the table, or those of --fields.


def _names(fields: str | None) -> list[str]:
    return [name.strip() for name in fields.split(",")] if fields is not None else []


def refuse_unknown(catalog: Catalog, fields: str | None) -> None:
    """UsageError for a name in --fields that is no column and that no field has."""
    from kwire_cli.filter import name_of, unknown_part

    for name in _names(fields):
        if not name:
            raise click.UsageError(f"--fields takes names with commas between them, not {fields!r}")
        if "[" in name:
            raise click.UsageError(f"--fields: a path has no indexes: topics.partitions, not {name}")
        if (named := name_of(name)) is None:
            raise click.UsageError(f"--fields: expected the name of a column or field, found {name!r}")
        if reason := unknown_part(named, catalog.field_names):
            raise click.UsageError(f"--fields: {reason}")


def show_columns(
    environment: Environment, fmt: str, options: dict[str, Any], redaction: Redaction, *, wait: bool
) -> Show:
    """Return a function that prints lines as rows of a table, csv or JSON.

    The columns are those of --fields, or else those of the table. Pass None after the last line. With `wait`, a table
    of --fields may wait for its first rows.
    """
    from kwire_cli.source.kafka.columns import LineRow
    from kwire_cli.view.json import dumps
    from kwire_cli.view.tables import CSV_HEADINGS, TABLE

    columns = tuple(_names(options["fields"])) or TABLE
    if fmt == "csv" and not options["fields"] and options["several"]:
        columns = ("capture", "file", *columns)
    if fmt not in {"csv", "json", "jsonl"}:
        return _table(environment, columns, redaction, wait=wait and bool(options["fields"]))
    if fmt == "csv":
        environment.write_csv([CSV_HEADINGS.get(name, name) for name in columns])

    def show(line: Captured | None) -> None:
        if line is None:
            return
        cells = LineRow(line, redaction)
        if fmt == "csv":
            environment.write_csv([cells.value(name) for name in columns])
        else:
            environment.write(dumps({name: cells.value(name) for name in columns}, indent=fmt == "json"))

    return show


def _table(environment: Environment, columns: tuple[str, ...], redaction: Redaction, *, wait: bool) -> Show:
    """Return a function that prints rows of a table.

    With `wait`, the columns are as wide as the first rows need, and these rows are printed together.
    """
    from kwire_cli.source.kafka.columns import LineRow
    from kwire_cli.view.tables import HELD, cells, fitted, heading, plain_rows, widths_of

    held: list[list[str]] | None = [] if wait else None
    widths: list[int] = []
    plain: Callable[[Captured], str] | None = None

    def begin(first: list[list[str]]) -> None:
        nonlocal held, widths, plain
        held, widths = None, widths_of(columns, first)
        plain = None if environment.in_colour else plain_rows(columns, widths)
        environment.write_lines([heading(columns, widths), *(fitted(row, columns, widths) for row in first)])

    if held is None:
        begin([])

    def show(line: Captured | None) -> None:
        if held is not None:
            held.extend([cells(LineRow(line, redaction), columns)] if line else [])
            if line is None or len(held) == HELD:
                begin(held)
        elif line and plain:
            environment.write(plain(line))
        elif line:
            environment.write_lines([fitted(cells(LineRow(line, redaction), columns), columns, widths)])

    return show


# What `kwire decode` does with packet captures: which lines are shown, and how.


@dataclass(slots=True)
class _Passed:
    """Counter of the lines that passed."""

    count: int = 0

    def each(self, lines: Iterator[Captured]) -> Iterator[Captured]:
        """The lines, counted."""
        for line in lines:
            self.count += 1
            yield line


def show_capture(
    environment: Environment,
    catalog: Catalog,
    source: str | IO[bytes] | PointFiles,
    fmt: str,
    options: dict[str, Any],
    *,
    strict: bool,
) -> Outcome:
    """Print the lines of a capture that were asked for, as they come; InputError where it cannot be read."""
    from kwire_cli.cli.follow import Interrupt, following
    from kwire_cli.source.captures import PointFiles

    refuse_unknown(catalog, options["fields"])
    _frame_range(options["frames"])
    filter_of(catalog, options["filter"] or "frame")  # before anything is opened, or waited for
    if not options["follow"]:
        return _show(environment, catalog, _opened(source, options), fmt, options, strict=strict)
    assert not isinstance(source, PointFiles)  # noqa: S101 - for the type checker: one capture is followed
    interrupt = Interrupt()
    live_capture = following(
        environment, source, interrupt, options["tls_keylog"]
    )  # opening a pipe waits for its writer, and Ctrl-C ends that at once
    with interrupt.watched():
        return _show(environment, catalog, live_capture, fmt, options, strict=strict)


def _opened(source: Any, options: dict[str, Any]) -> Capture:
    from kwire_cli.source.captures import Capture

    return Capture(source, key_logs=options["tls_keylog"])


def _show(
    environment: Environment,
    catalog: Catalog,
    found: Capture | Following,
    fmt: str,
    options: dict[str, Any],
    *,
    strict: bool,
) -> Outcome:
    from kwire_cli.cli.follow import until_last
    from kwire_cli.source.captures import Capture
    from kwire_cli.source.kafka.traffic import traffic

    name, again = found.name or "standard input", None
    if isinstance(found, Capture):
        again = partial(_opened, found.again, options) if found.again else None
        lines = traffic(catalog, found, port=options["port"], waiting_since=found.waiting_since, again=again)
    else:  # as they come
        lines = traffic(catalog, found, port=options["port"])
    # Frames that were not asked for may be there all the same.
    choosing = any(options[name] for name in ("filter", "frames", "stream"))
    decodable = choosing or options["limit"] == 0
    anomalies, chose, passed = False, options["limit"] == 0, _Passed()
    together = (options["stats"] or fmt == "csv") and not options["follow"]  # of all captures
    show = options.get("show") or _shower(environment, fmt, options, whole=again is not None)
    if together:
        options["show"] = show
    page, last = options.get("page"), _frame_range(options["frames"])[1]
    with _rows_that_wait(show, options):
        for line in until_last(
            chosen(passed.each(lines) if choosing else lines, catalog, options), options["limit"], last
        ):
            chose = True
            if page and page.is_full:
                page.leave(f"--frames {line.number}-{'' if last is None else last}")
                break
            decodable = True
            anomalies = anomalies or (strict and bool(line.anomalies))
            show(line)
    if not together:
        show(None)
    if choosing and not chose:
        environment.note(f"kwire: {name}: nothing was chosen, of {counted(passed.count, 'line')}")
    note_faults(environment, found, name)
    if options["verbose"] and found.summary:
        environment.note(f"{name}: besides: {', '.join(f'{count} {kind}' for kind, count in found.summary.items())}")
    return Outcome(decodable, anomalies or (strict and bool(found.notices)), choosing and not chose)


@contextmanager
def _rows_that_wait(show: Show, options: dict[str, Any]) -> Iterator[None]:
    """Rows of a table wait for the first others, to line up with them: they are printed also where reading fails or is
    interrupted before.
    """
    try:
        yield
    except BaseException:
        if options["fields"] and not options["stats"]:
            show(None)
        raise


def _shower(environment: Environment, fmt: str, options: dict[str, Any], *, whole: bool) -> Show:
    """Return a function that prints a line. Pass None after the last line.

    `whole` says that all of the capture is there to be read.
    """
    if options["stats"]:
        return _stats(environment, fmt)

    redaction: Redaction = options["redaction"]
    if fmt in {"table", "csv"} or options["fields"]:
        return show_columns(environment, fmt, options, redaction, wait=whole)
    if fmt in {"json", "jsonl"}:
        return _documents(environment, fmt, options, redaction)
    if fmt == "html":
        return _on_page(options, redaction)
    return _views(environment, fmt, options, redaction)


def _stats(environment: Environment, fmt: str) -> Show:
    from kwire_cli.analysis.stats import Stats

    stats = Stats()

    def show(line: Captured | None) -> None:
        if line:
            stats.add(line)
        else:
            show_counts(environment, stats, fmt)

    return show


def show_counts(environment: Environment, stats: Stats, fmt: str) -> None:
    """Print statistics."""
    answer = stats.answer()
    if isinstance(environment, Collected):
        from kwire_cli.view.html.answers import answer_blocks

        environment.charts += answer_blocks(answer)
        return
    WRITERS[fmt](environment, answer, Report(fmt=fmt, raw_csv=environment.raw_csv))


def _documents(environment: Environment, fmt: str, options: dict[str, Any], redaction: Redaction) -> Show:
    from kwire_cli.view.batch_json import field_text
    from kwire_cli.view.json import dumps, line_dumps, many_dumps

    records, lossless = records_of(options), options["lossless"]
    hide = redaction.record
    items = field_text(redaction.reading()) if records == "decoded" else None
    quick = fmt == "jsonl" and not lossless and not options["pairs"]

    def document(line: Captured) -> dict[str, Any]:
        secret = redaction.line(line)
        if secret and lossless:
            raise InputError(
                f"frame {line.number} holds secrets, or bytes that may be some, and --lossless keeps every byte: "
                f"add --show-secrets"
            )
        return line.to_json(records=records, lossless=lossless, hidden=secret, hide=hide)

    def write(found: dict[str, Any]) -> None:
        if fmt == "json":
            environment.write(dumps(found, indent=True))
        else:
            environment.write_text(many_dumps(found))

    def show(line: Captured | None) -> None:
        if line is None:
            return
        if quick and redaction.none_in(line):
            environment.write_text(line_dumps(line, records, hide, items))
        elif not options["pairs"]:
            write(document(line))
        elif line.kind == "response":
            write({"request": document(line.request) if line.request else None, "response": document(line)})

    return show


def _on_page(options: dict[str, Any], redaction: Redaction) -> Show:
    from kwire_cli.view.bounded_outline import of_line
    from kwire_cli.view.html.frames import entry, line_row

    def one(line: Captured) -> None:
        hidden = redaction.line(line)
        outline = of_line(redaction.catalog, line, hidden, redaction.record, full=options["full"])
        options["page"].add(line_row(line), entry(outline))

    return _one_by_one(one, pairs=options["pairs"])


def _views(environment: Environment, fmt: str, options: dict[str, Any], redaction: Redaction) -> Show:
    from kwire_cli.view.hex import capture_hex_lines, capture_tree_lines

    catalog, hide = redaction.catalog, redaction.record
    shown = False

    def one(line: Captured) -> None:
        nonlocal shown
        if shown:
            environment.write("")
        shown = True
        if fmt == "hex":
            environment.write_lines(
                capture_hex_lines(
                    catalog, line, redaction.line(line), rows=None if options["full"] else HEX_ROWS, hide=hide
                )
            )
        else:
            environment.write_lines(
                capture_tree_lines(catalog, line, redaction.line(line), full=options["full"], hide=hide)
            )

    return _one_by_one(one, pairs=options["pairs"])


def _one_by_one(one: Callable[[Captured], None], *, pairs: bool) -> Show:
    """Each line; with `pairs` each response behind its request, where that is there, and nothing else."""

    def show(line: Captured | None) -> None:
        if line is None or (pairs and line.kind != "response"):
            return
        if pairs and line.request:
            one(line.request)
        one(line)

    return show


OF_CAPTURES = ("filter", "frames", "stream", "fields", "pairs", "port", "limit", "follow", "lossless", "tls_keylog")


def show_stats(
    environment: Environment, catalog: Catalog, names: list[str], fmt: str, options: dict[str, Any], *, strict: bool
) -> bool:
    """Print the statistics of request logs, all together since a log is rotated; whether there was a fault, where that
    was asked for.
    """
    from kwire_cli.analysis.stats import Stats
    from kwire_cli.cli.environment import Progress

    if not options["stats"]:
        raise InputError(
            "is a broker's request log, which holds no bytes: use --stats, or kwire clients", file=names[0]
        )
    flags = [f"--{name.replace('_', '-')}" for name in OF_CAPTURES if options[name] not in {None, False, ()}]
    if flags:
        raise click.UsageError(f"{flags[0]} is for packet captures, and {names[0]} is a broker's request log")
    stats, progress = Stats(), Progress(environment)
    for name in names:
        for entry in read_log(environment, catalog, name, progress):
            stats.add(entry)
    progress.done()
    show_counts(environment, stats, fmt)
    return strict and bool(stats.anomalies)
