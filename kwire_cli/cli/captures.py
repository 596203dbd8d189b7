"""What `kwire decode` does with packet captures: which lines are shown, and how."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from kwire_cli.cli.capture_columns import refuse_unknown, show_columns
from kwire_cli.cli.capture_lines import note_faults
from kwire_cli.cli.environment import Outcome
from kwire_cli.cli.options import HEX_ROWS, records_of
from kwire_cli.cli.pages import Collected
from kwire_cli.errors import InputError
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.filter import Filter, Rows
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.capture.following import Following
    from kwire_cli.source.capture.point_packets import PointFiles
    from kwire_cli.source.capture.reading import Capture
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kafka.stats import Stats
    from kwire_cli.spec.catalog import Catalog

    Show = Callable[[Captured | None], None]


@dataclass(slots=True)
class _Passed:
    """How many lines went by."""

    count: int = 0

    def each(self, lines: Iterator[Captured]) -> Iterator[Captured]:
        """The lines, counted."""
        for line in lines:
            self.count += 1
            yield line


def show_capture(
    environment: Environment, catalog: Catalog, source: str | IO[bytes] | PointFiles, fmt: str, options: dict[str, Any], *, strict: bool
) -> Outcome:
    """Print the lines of a capture that were asked for, as they come; InputError where it cannot be read."""
    from kwire_cli.cli.follow import Interrupt, following
    from kwire_cli.source.capture.point_packets import PointFiles

    refuse_unknown(catalog, options["fields"])
    _frame_range(options["frames"])
    filter_of(catalog, options["filter"] or "frame")  # before anything is opened, or waited for
    if not options["follow"]:
        return _show(environment, catalog, _opened(source, options), fmt, options, strict=strict)
    assert not isinstance(source, PointFiles)  # noqa: S101 - for the type checker: one capture is followed
    interrupt = Interrupt()
    found = following(environment, source, interrupt, options["tls_keylog"])  # opening a pipe waits for its writer, and Ctrl-C ends that at once
    with interrupt.watched():
        return _show(environment, catalog, found, fmt, options, strict=strict)


def _opened(source: Any, options: dict[str, Any]) -> Capture:
    from kwire_cli.source.capture.reading import Capture

    return Capture(source, key_logs=options["tls_keylog"])


def _show(environment: Environment, catalog: Catalog, found: Capture | Following, fmt: str, options: dict[str, Any], *, strict: bool) -> Outcome:
    from kwire_cli.cli.follow import until_last
    from kwire_cli.source.capture.reading import Capture
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
        for line in until_last(chosen(passed.each(lines) if choosing else lines, catalog, options), options["limit"], last):
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


def chosen(lines: Iterator[Captured], catalog: Catalog, options: dict[str, Any]) -> Iterator[Captured]:
    """The lines that --frames, --stream, --filter and --limit leave."""
    first, last = _frame_range(options["frames"])
    streams, left = frozenset(options["stream"]), options["limit"]
    if first == 1 and last is None and left is None and not streams and not options["filter"]:
        yield from lines
        return
    matches = _filter(catalog, options)
    for line in lines:
        if left == 0 or (last is not None and line.number > last):
            return
        if line.number < first or (streams and line.stream not in streams) or not matches(line):
            continue
        yield line
        left = None if left is None else left - 1


def _frame_range(text: str | None) -> tuple[int, int | None]:
    if not text:
        return 1, None
    low, dash, high = text.partition("-")
    try:
        first = int(low) if low else 1
        last = int(high) if high else None if dash else first
    except ValueError:
        raise click.UsageError(f"--frames takes A-B, A-, -B or A, not {text!r}") from None
    if last is not None and last < first:
        raise click.UsageError(f"--frames takes the lower number first, not {text!r}")
    return first, last


def _filter(catalog: Catalog, options: dict[str, Any]) -> Callable[[Captured], bool]:
    """The test of lines that --filter says. It sees secrets as they are shown, so that nobody can guess them by it."""
    if not options["filter"]:
        return lambda _: True
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kafka.columns import FilterRow

    found, redaction = filter_of(catalog, options["filter"]), Redaction(catalog, show_secrets=bool(options.get("show_secrets")))
    return lambda line: found.matches(FilterRow(line, redaction))


def filter_of(catalog: Catalog, text: str, rows: Rows = "frames") -> Filter:
    """Return the filter of `rows` that a text says, with the names of a catalogue; FilterError for a name that the rows lack."""
    from kwire_cli.filter import compile_filter

    codes = {row.name: row.code for row in catalog.errors}
    keys = {name.lower(): api.key for api in catalog.apis for name in (api.name, *api.aliases)}
    return compile_filter(
        text,
        error_code=lambda name: codes.get(name.upper()),
        api_key=lambda name: keys.get(name.lower()),
        fields=catalog.field_names,
        rows=rows,
    )


@contextmanager
def _rows_that_wait(show: Show, options: dict[str, Any]) -> Iterator[None]:
    """Rows of a table wait for the first others, to line up with them: they are printed also where reading fails or is interrupted before."""
    try:
        yield
    except BaseException:
        if options["fields"] and not options["stats"]:
            show(None)
        raise


def _shower(environment: Environment, fmt: str, options: dict[str, Any], *, whole: bool) -> Show:
    """What prints a line; None comes last. `whole` says that all of the capture is there to be read."""
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
    from kwire_cli.source.kafka.stats import Stats

    stats = Stats()

    def show(line: Captured | None) -> None:
        if line:
            stats.add(line)
        else:
            show_counts(environment, stats, fmt)

    return show


def show_counts(environment: Environment, stats: Stats, fmt: str) -> None:
    """Print statistics."""
    if fmt in {"json", "jsonl"}:
        from kwire_cli.view.json import dumps

        environment.write(dumps(stats.to_json(), indent=fmt == "json"))
    elif fmt == "csv":
        from kwire_cli.view.stats import CSV, csv_cells

        environment.write_csv(CSV)
        for cells in csv_cells(stats):
            environment.write_csv(cells)
    else:
        from kwire_cli.view.stats import stats_lines

        if isinstance(environment, Collected):
            from kwire_cli.view.html.stats import charts

            environment.charts += charts(stats)
        environment.write_lines(stats_lines(stats))


def _documents(environment: Environment, fmt: str, options: dict[str, Any], redaction: Redaction) -> Show:
    from kwire_cli.view.json import dumps, line_dumps, many_dumps
    from kwire_cli.view.quick_lines import field_text

    records, lossless = records_of(options), options["lossless"]
    hide = redaction.record
    items = field_text(redaction.reading()) if records == "decoded" else None
    quick = fmt == "jsonl" and not lossless and not options["pairs"]

    def document(line: Captured) -> dict[str, Any]:
        secret = redaction.line(line)
        if secret and lossless:
            raise InputError(f"frame {line.number} holds secrets, or bytes that may be some, and --lossless keeps every byte: add --show-secrets")
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
    from kwire_cli.view.html.frames import line_entry, line_row
    from kwire_cli.view.html.outline import Outline

    def one(line: Captured) -> None:
        outline = Outline(full=options["full"])
        options["page"].add(line_row(line), line_entry(redaction.catalog, line, redaction.line(line), redaction.record, outline))

    return _one_by_one(one, pairs=options["pairs"])


def _views(environment: Environment, fmt: str, options: dict[str, Any], redaction: Redaction) -> Show:
    from kwire_cli.view.capture import hex_lines, tree_lines

    catalog, hide = redaction.catalog, redaction.record
    shown = False

    def one(line: Captured) -> None:
        nonlocal shown
        if shown:
            environment.write("")
        shown = True
        if fmt == "hex":
            environment.write_lines(hex_lines(catalog, line, redaction.line(line), rows=None if options["full"] else HEX_ROWS, hide=hide))
        else:
            environment.write_lines(tree_lines(catalog, line, redaction.line(line), full=options["full"], hide=hide))

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
