"""`kwire decode`: bytes in, meaning out."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completion import complete_file, complete_message, complete_version
from kwire_cli.cli.environment import Environment, Exit, Outcome
from kwire_cli.cli.inputs import bodies_of, inputs
from kwire_cli.cli.old_options import (
    EXIT_CODE,
    HEX_ROWS,
    PORT,
    of_frames,
    records_of,
    refuse_format,
    said,
    shows_raw_records,
    with_capture_points,
    with_csv,
    with_output,
    with_overlaid_catalog,
    with_tls_keylog,
)
from kwire_cli.errors import DecodeError, InputError
from kwire_cli.message.decoded import Decoded, checked
from kwire_cli.message.frames import Frame, Hints
from kwire_cli.source.kinds import Kind, Recognised
from kwire_cli.source.text.reading import frames_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.cli.batches import BatchRun
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.text.reading import Input
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.html.page import Page

FORMATS = ("tree", "hex", "json", "jsonl", "html")
CAPTURE_FORMATS = ("table", "csv")
IN_COLUMNS = ("table", "json", "jsonl", "csv", "html")
"""The formats of --stats and --fields; a page of --fields is refused where pages are made."""
_OF_CAPTURES = (
    "frames",
    "stream",
    "fields",
    "stats",
    "pairs",
    "port",
    "follow",
    "tls_keylog",
    "capture_point",
    "merge_points",
)
_OF_BYTES = ("message", "version", "api", "kind", "framed", "header")
_UNFIT: dict[Kind, tuple[tuple[tuple[str, ...], str], ...]] = {
    Kind.CAPTURE: ((_OF_BYTES, "requests and responses without a capture around them"),),
    Kind.BATCHES: ((_OF_CAPTURES, "packet captures"), (("version", "lossless"), "messages")),
    Kind.LOG_FILE: (
        (_OF_CAPTURES, "packet captures"),
        (("filter",), "packet captures and record batches"),
        (("version", "lossless"), "messages"),
    ),
    Kind.FRAMES: ((("filter",), "packet captures and record batches"), ((*_OF_CAPTURES, "limit"), "packet captures")),
}
"""Options that mean nothing for a kind of input, and the kinds that they are for."""


@click.command(name="decode")
@click.argument("source", nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
@click.option(
    "--message",
    "-m",
    metavar="NAME",
    shell_complete=complete_message,
    help="Decode a bare body as this message (with --version).",
)
@click.option(
    "--version",
    "-n",
    type=click.IntRange(0, 32767),
    metavar="N",
    shell_complete=complete_version,
    help="Set the version of the message or api.",
)
@of_frames
@click.option(
    "--header",
    type=click.Choice(["kafka", "kip482"]),
    default="kafka",
    show_default=True,
    help="Read request headers as shipped, or as the KIP-482 draft has them.",
)
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice((*FORMATS, *CAPTURE_FORMATS)),
    help="Set the output format.  [default: tree on a terminal, jsonl elsewhere]",
)
@click.option(
    "--records",
    type=click.Choice(["decoded", "size", "base64"]),
    help="Show records in JSON decoded, by size, or as base64.  [default: decoded; base64 with --lossless]",
)
@click.option("--lossless", is_flag=True, help="Keep what JSON cannot carry, so that encode restores the same bytes.")
@click.option("--full", is_flag=True, help="Show long values in full in the tree and hex views.")
@click.option("--strict", is_flag=True, help="Exit with 1 on anomalies or an input that ends early.")
@EXIT_CODE
@click.option(
    "--show-secrets", is_flag=True, help="Show tokens, keys, salts and sensitive configs instead of redacting them."
)
@click.option(
    "--filter",
    metavar="TEXT",
    help="Show only frames or batches that match, such as 'latency > 100ms'; see docs/filter.md.",
)
@click.option("--frames", metavar="A-B", help="Show only frames with these numbers (captures).")
@click.option(
    "--stream", type=int, multiple=True, metavar="N", help="Show only frames of this connection (captures); repeatable."
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help="Show at most this many frames.  [default: all; 500 in html]",
)
@click.option("--fields", metavar="A,B,C", help="Show only these columns or fields (table, csv, json).")
@click.option("--stats", is_flag=True, help="Count sizes, latencies and errors by api, client, topic and broker.")
@click.option("--pairs", is_flag=True, help="Show requests together with their responses (captures).")
@click.option(
    "--follow",
    is_flag=True,
    help="Keep reading a capture that grows, or a pipe, until Ctrl-C.",
)
@click.option("--port", type=PORT, metavar="N", help="Name the broker's port.  [default: recognised from the bytes]")
@with_tls_keylog
@with_capture_points
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error how the input was recognised.")
@with_overlaid_catalog
@with_output
@with_csv
def command(
    environment: Environment,
    catalog: Catalog,
    source: tuple[str, ...],
    form: str,
    fmt: str | None,
    *,
    strict: bool,
    **options: Any,
) -> int:
    """Decode Kafka requests, responses and other messages.

    INPUT is files, - for standard input, or the bytes themselves: hex in any common form, base64, or raw.
    Requests name their api and version. For a response give --api and --version; otherwise the best guess is
    shown. With --message and --version the bytes are a body without a header.
    """
    in_columns = bool(options["stats"] or options["fields"])
    fmt = fmt or (("table" if in_columns else "tree") if environment.to_terminal else "jsonl")
    if in_columns:
        refuse_format("--stats" if options["stats"] else "--fields", fmt, IN_COLUMNS)
    if options["lossless"] and options["records"] not in {None, "base64"}:
        raise click.UsageError(f"--lossless keeps every byte: omit --records {options['records']}")
    if options["follow"] and len(source) > 1:
        raise click.UsageError("--follow takes one capture")
    if fmt == "html" and options["stats"]:
        from kwire_cli.cli.pages import files_among, page_of

        return page_of(
            environment,
            "decode --stats",
            files_among(source),
            lambda env: _run(env, catalog, source, form, "table", options, strict=strict),
        )
    return _run(environment, catalog, source, form, fmt, options, strict=strict)


def _run(
    environment: Environment,
    catalog: Catalog,
    source: tuple[str, ...],
    form: str,
    fmt: str,
    options: dict[str, Any],
    *,
    strict: bool,
) -> Exit:
    from kwire_cli.cli.capture_inputs import without_logs

    anomalies = False
    may_be_logs = form == "auto" and not options["message"] and not options["follow"]
    logs, sources = without_logs(environment, source) if may_be_logs else ([], source)
    if logs and fmt == "html":
        raise InputError("this is a broker's request log: only --stats makes a page of it", file=logs[0])
    from kwire_cli.message.redaction import Redaction

    options["redaction"] = Redaction(
        catalog, show_secrets=options["show_secrets"], raw_records=shows_raw_records(fmt, options)
    )
    page = options["page"] = _new_page(environment, source, options) if fmt == "html" else None
    if logs:
        from kwire_cli.cli.captures import show_stats

        anomalies = show_stats(environment, catalog, logs, fmt, options, strict=strict)
        if not sources:
            return _exit(strict=strict, decodable=True, anomalies=anomalies)
    with page or nullcontext():
        outcome = _decode(environment, catalog, sources, form, fmt, options, strict=strict)
        code = _exit(strict=strict, decodable=outcome.decodable, anomalies=anomalies or outcome.anomalies)
        return Exit.FOUND if options["exit_code"] and outcome.empty else code


def _decode(
    environment: Environment,
    catalog: Catalog,
    sources: tuple[str, ...] | list[str],
    form: str,
    fmt: str,
    options: dict[str, Any],
    *,
    strict: bool,
) -> Outcome:
    """Show what is in the inputs."""
    from kwire_cli.cli.capture_inputs import CapturePoints, name_of

    decodable = anomalies = False
    empty: bool | None = None
    auto = form == "auto" and not options["message"] and not options["follow"]
    points = CapturePoints(environment, sources if auto else (), options)
    options["several"] = points.labelled
    page, several = options["page"], len(sources) - points.together > 1
    batches: BatchRun | None = None
    says = Kind.CAPTURE if options["follow"] else said(options)
    for content in inputs(
        environment, tuple(sources), form, catalog=catalog, says=says, verbose=options["verbose"], pieces=page is None
    ):
        if page and page.more:
            break
        if page and several:
            page.file = content.name or ""
        _refuse_unfit(content, fmt, options)
        if content.kind in {Kind.BATCHES, Kind.LOG_FILE}:
            batches = batches or _batch_run(environment, catalog, fmt, options, several=several)
            batches.show_input(content, verbose=options["verbose"])
            decodable, anomalies = decodable or batches.is_decodable, anomalies or batches.anomalous
            continue
        if page:
            page.turn_to("frames")
        capture: Any = points.take(content.source) if content.kind is Kind.CAPTURE else None
        if content.kind is Kind.CAPTURE and capture is None:
            continue
        label = name_of(capture) or content.name
        if page and several:
            page.file = label or ""
        if label and several and (capture is None or not options["stats"]):
            _head(environment, label, fmt)
        if content.kind is Kind.CAPTURE:
            from kwire_cli.cli.captures import show_capture

            outcome = show_capture(environment, catalog, capture, fmt, options, strict=strict)
            decodable, anomalies = decodable or outcome.decodable, anomalies or outcome.anomalies
            empty = outcome.empty and empty is not False
            continue
        frame_input = content.frames
        empty = False
        for result in _results(environment, catalog, frame_input, options):
            if page and page.is_full:
                page.leave(f"--limit {2 * len(page)}")
                break
            decodable = _show(environment, catalog, result, fmt, options) or decodable
            anomalies = anomalies or bool(result.anomalies)
            environment.flush()
    if show := options.pop("show", None):
        show(None)
    if batches:
        batches.note_nothing()
        empty = batches.is_empty and empty is not False
    return Outcome(decodable, anomalies, bool(empty))


def _batch_run(
    environment: Environment, catalog: Catalog, fmt: str, options: dict[str, Any], *, several: bool
) -> BatchRun:
    """Return what shows record batches and log files among the inputs."""
    from kwire_cli.cli.batch_views import VIEWS, BatchSettings  # batches have views of their own
    from kwire_cli.cli.batches import BatchRun
    from kwire_cli.cli.capture_inputs import filter_of
    from kwire_cli.records.selection import Selection

    row_filter = filter_of(catalog, options["filter"], "either") if options["filter"] else None
    settings = BatchSettings(
        view=VIEWS[fmt],
        redaction=options["redaction"],
        selection=Selection(filter=row_filter),
        deep=options["records"] != "size",
        every=True,
        full=options["full"],
        several=several,
        limit=options["limit"],
    )
    return BatchRun(environment, settings, options["page"])


def _head(environment: Environment, name: str, fmt: str) -> None:
    """Say which of several inputs it is that comes, where lines don't."""
    from kwire_cli.cli.pages import Collected

    if fmt in {"tree", "hex", "table"}:
        environment.write_lines([[(f"{name}:", "dim")]])
    if isinstance(environment, Collected):
        from kwire_cli.view.html.page import heading

        environment.charts.append(heading(name))


def _new_page(environment: Environment, source: tuple[str, ...], options: dict[str, Any]) -> Page:
    """The page of --format html; UsageError for what there is no page of."""
    from kwire_cli.cli.pages import new_page

    flags = [f"--{name}" for name in ("follow", "fields", "lossless", "records") if options[name]]
    if flags:
        raise click.UsageError(f"{flags[0]} is not for --format html, whose page shows all of each frame")
    limit, options["limit"] = (
        options["limit"],
        None,
    )  # what is behind the last one has to be seen, to say that it is there
    return new_page(environment, "frames", "decode", source, limit)


def _exit(*, strict: bool, decodable: bool, anomalies: bool) -> Exit:
    if not decodable:
        raise InputError(
            "nothing could be decoded: say what it is with --api and --version or --message and --version, or "
            "how it is written with --input"
        )
    return Exit.FOUND if strict and anomalies else Exit.DONE


def _results(
    environment: Environment, catalog: Catalog, found: Input, options: dict[str, Any]
) -> Iterator[Decoded | Frame]:
    if options["message"]:
        contradicting = [f"--{name}" for name in ("api", "framed") if options[name] is not None] + [
            f"--{options['kind']}"
        ] * bool(options["kind"])
        if contradicting or options["header"] != "kafka":
            raise click.UsageError(f"{(*contradicting, '--header')[0]} is for frames, and --message is for a bare body")
        yield from bodies_of(catalog, found, options)
        return
    api = catalog.api(options["api"]) if options["api"] else None
    hints = Hints(api, options["version"], options["kind"], options["header"])
    for frame in frames_in(catalog, found, hints, framed=options["framed"]):
        if frame.kind == "request" and frame.contradicts(hints):
            note = "is a request, and its header says so; --api and --version are for responses"
            environment.note(f"kwire: frame {frame.number} {note} (--response reads it as one)")
        yield frame


def _show(
    environment: Environment, catalog: Catalog, result: Decoded | Frame, fmt: str, options: dict[str, Any]
) -> bool:
    """Print a result; whether anything could be decoded."""
    if isinstance(result, Frame):
        _show_frame(environment, catalog, result, fmt, options)
        return result.kind != "unknown"
    _show_message(environment, catalog, result, fmt, options)
    try:
        checked(result)
    except DecodeError as error:
        environment.note(f"kwire: {error}")
        return False
    return True


def _show_frame(environment: Environment, catalog: Catalog, frame: Frame, fmt: str, options: dict[str, Any]) -> None:
    redaction: Redaction = options["redaction"]
    hidden, reading = redaction.frame(frame), redaction.reading()
    if fmt in {"json", "jsonl"}:
        from kwire_cli.view.json import dumps

        _refuse_hidden(hidden, options)
        document = frame.to_json(
            records=records_of(options), lossless=options["lossless"], hidden=hidden, reading=reading
        )
        environment.write(dumps(document, indent=fmt == "json"))
    elif fmt == "html":
        from kwire_cli.view.bounded_outline import of_frame
        from kwire_cli.view.html.frames import entry, frame_row

        outline = of_frame(catalog, frame, hidden, reading, full=options["full"])
        options["page"].add(frame_row(frame.shown(hidden)), entry(outline))
    elif fmt == "tree":
        from kwire_cli.view.tree import frame_lines

        environment.write_lines(frame_lines(catalog, frame, hidden, full=options["full"], reading=reading))
    else:
        from kwire_cli.view.hex import frame_lines as hex_lines

        environment.write_lines(
            hex_lines(catalog, frame, hidden, rows=None if options["full"] else HEX_ROWS, reading=reading)
        )


def _show_message(
    environment: Environment, catalog: Catalog, decoded: Decoded, fmt: str, options: dict[str, Any]
) -> None:
    redaction: Redaction = options["redaction"]
    hidden, reading = redaction.body(decoded), redaction.reading()
    if fmt in {"json", "jsonl"}:
        from kwire_cli.view.json import dumps, message_document

        _refuse_hidden(hidden, options)
        document = message_document(
            decoded, records=records_of(options), lossless=options["lossless"], hidden=hidden, reading=reading
        )
        environment.write(dumps(document, indent=fmt == "json"))
    elif fmt == "html":
        from kwire_cli.view.bounded_outline import of_message
        from kwire_cli.view.html.frames import entry, message_row

        page = options["page"]
        outline = of_message(catalog, decoded, hidden, reading, full=options["full"])
        page.add(message_row(decoded, len(page) + 1), entry(outline))
    elif fmt == "tree":
        from kwire_cli.view.tree import message_lines

        environment.write_lines(message_lines(catalog, decoded, hidden, full=options["full"], reading=reading))
    else:
        from kwire_cli.view.hex import message_lines as hex_lines

        environment.write_lines(
            hex_lines(catalog, decoded, hidden, rows=None if options["full"] else HEX_ROWS, reading=reading)
        )


def _refuse_hidden(hidden: object, options: dict[str, Any]) -> None:
    if hidden and options["lossless"]:
        raise InputError(
            "the message holds secrets, or bytes that may be some, and --lossless keeps every byte: add --show-secrets"
        )


def _refuse_unfit(found: Recognised, fmt: str, options: dict[str, Any]) -> None:
    """UsageError for an option, or a format, that means nothing for an input of this kind."""
    kind = Kind.FRAMES if found.kind is Kind.BODY else found.kind
    unfit = [(name, what) for names, what in _UNFIT.get(kind, ()) for name in _given(options, names)]
    unfit += (
        [(f"--format {fmt}", "packet captures and record batches")]
        if kind is Kind.FRAMES and fmt in CAPTURE_FORMATS
        else []
    )
    if unfit:
        raise click.UsageError(f"{unfit[0][0]} is for {unfit[0][1]}, and {found.label} is {found.kind.what}")


def _given(options: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Return those of these options that were given, as they are written."""
    unset = {"header": ("kafka",), "framed": (None,)}
    chosen = [name for name in names if options[name] not in unset.get(name, (None, False, ()))]
    said = {"kind": options["kind"], "framed": "framed" if options["framed"] else "unframed"}
    return [f"--{said.get(name) or name.replace('_', '-')}" for name in chosen]
