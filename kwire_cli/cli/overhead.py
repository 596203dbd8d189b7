"""The command `kwire overhead`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.capture_inputs import CapturePoints, name_of
from kwire_cli.cli.completion import complete_dimensions, complete_file, complete_message, complete_version
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.inputs import bodies_of, frames_of, inputs
from kwire_cli.cli.old_options import (
    CHOOSING,
    EXIT_CODE,
    MOST_ROWS,
    NO_CAPTURE,
    OF_CAPTURES,
    REPORT_FORMATS,
    of_captures,
    of_frames,
    refuse,
    said,
    with_capture_points,
    with_csv,
    with_output,
    with_what_if,
)
from kwire_cli.cli.overhead_report import begin
from kwire_cli.cli.segments import note_links, segment_files
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.records.formats import CHOICES
from kwire_cli.source.kinds import Kind
from kwire_cli.stores import path_text, sizes

if TYPE_CHECKING:
    from kwire_cli.cli.overhead_report import Asked, Counted
    from kwire_cli.cli.segments import SegmentFile
    from kwire_cli.source.kinds import Recognised
    from kwire_cli.source.text.reading import Input
    from kwire_cli.spec.catalog import Catalog


# What `kwire overhead` counts: captures, frames, bodies, record sets, segments and log directories, in
# whatever order they are given.


def count(asked: Asked, arguments: tuple[str, ...]) -> Counted:
    """Count all inputs. InputError where one cannot be read, or nothing is there that can be counted."""
    counted: Counted | None = None
    options = asked.options
    asked.several = len(arguments) > 1
    if options["record_format"]:
        refuse(
            options,
            ("message", "version", "api", "framed"),
            "is for messages, and --record-format says that the input is a record set",
        )
    says = Kind.BATCHES if options["record_format"] else said(options)
    asked.points = CapturePoints(
        asked.environment, () if options["message"] or options["form"] != "auto" else arguments, options
    )
    for content in inputs(
        asked.environment, arguments, options["form"], catalog=asked.catalog, says=says, verbose=options["verbose"]
    ):
        counted = (
            _segments(asked, counted, content)
            if content.kind in {Kind.BATCHES, Kind.FOLDER}
            else _input(asked, counted, content)
        )
    asked.progress.done()
    if counted is None or not counted.decodable:
        raise InputError(
            "there is nothing to count: say what it is with --api and --version or --message and --version, or "
            "how it is written with --input"
        )
    return counted


def _segments(asked: Asked, counted: Counted | None, found: Recognised) -> Counted:
    options = asked.options
    refuse(options, OF_CAPTURES, NO_CAPTURE)
    if options["verbose"] and found.name:
        note_links(asked.environment, (found.name,))
    for file in segment_files(found):
        if options["topics"] and file.topic not in options["topics"]:
            continue
        if counted is None:
            counted = begin(asked, "segments")
        view = file.view
        counted.turn_to(file.label, several=asked.several)
        counted.decodable = True
        for at in counted.tallies.records(view, file.topic, file.partition, options["record_format"] or "auto"):
            asked.progress.tell(file.label, at, len(view))
        if counted.written:
            _messages_in_records(asked, counted, view, file)
    if counted is None:
        raise InputError("there is no partition of this topic", file=found.label)
    return counted


def _messages_in_records(asked: Asked, counted: Counted, view: memoryview, file: SegmentFile) -> None:
    """Count Kafka's own messages in records as they would be under the overlay.

    The records around the messages stay as they are.
    """
    from kwire_cli.analysis.costs.advice_values import in_batches
    from kwire_cli.records.reading import items, source_of

    assert counted.written  # noqa: S101 - for the type checker
    assert counted.tallies.overlaid  # noqa: S101 - as above
    counted.written.file = counted.tallies.file
    for _ in counted.written.records(view, file.topic, file.partition, asked.options["record_format"] or "auto"):
        pass
    source = source_of(view, topic=file.topic, catalog=asked.catalog, form=asked.options["record_format"] or "auto")
    for message in in_batches(items(source)):
        try:
            counted.tallies.overlaid.spans(
                message.name, message.version, message.entry, message.spans, guess=message.guess
            )
        except EncodeError as error:
            raise InputError(str(error), file=file.label) from None


def _input(asked: Asked, counted: Counted | None, given: Recognised) -> Counted:
    refuse(
        asked.options,
        ("topics",),
        "is for folders of a log directory; --filter 'topic == NAME' chooses frames of captures",
    )
    if given.kind is Kind.CAPTURE:
        counted = counted or begin(asked, "capture")
        counted.segments = False
        assert asked.points  # noqa: S101 - for the type checker: these are known before inputs are read
        source = asked.points.take(given.source)
        if source is None:
            return counted
        counted.turn_to(name_of(source) or (given.name and path_text(given.name)), several=asked.several)
        _capture(asked, counted, source)
        return counted
    frame_input = given.frames
    refuse(asked.options, OF_CAPTURES, NO_CAPTURE)
    counted = counted or begin(asked, "frames")
    counted.segments = False
    counted.turn_to(given.name, several=asked.several)
    _frames(asked, counted, frame_input)
    return counted


def _capture(asked: Asked, counted: Counted, source: Any) -> None:
    from kwire_cli.cli.capture_inputs import STANDARD_INPUT, capture_lines, chosen

    options = asked.options | {"limit": None}
    point = name_of(source)
    files = [source] if isinstance(source, str) else [] if point is None or source.live else source.point.files
    name = point or (path_text(source) if files else STANDARD_INPUT)
    lines = capture_lines(
        asked.environment, asked.catalog, source, name=name, port=options["port"], key_logs=options["tls_keylog"]
    )
    add, before = counted.tallies.add, counted.tallies.messages
    for line in chosen(lines, asked.catalog, options):
        if point is not None and (own := line.where.file) != counted.tallies.file:
            counted.tallies.file, counted.tallies.largest.place = own, {"file": own}
        if counted.written:
            counted.add(line, f"{name}: frame {line.number}")
        else:
            add(line)
    counted.decodable = (
        counted.decodable or counted.tallies.messages > before or any(options[name] for name in CHOOSING)
    )
    counted.files += sum(sizes(files))
    counted.captures += max(len(files), 1)


def _frames(asked: Asked, counted: Counted, found: Input) -> None:
    from kwire_cli.analysis.costs.tallies import Loose
    from kwire_cli.message.decoded import checked

    options, catalog = asked.options, asked.catalog
    if options["message"]:
        for number, body in enumerate(bodies_of(catalog, found, options), 1):
            counted.add(Loose(None, checked(body), number), f"{counted.tallies.file or 'input'}: body {number}")
            counted.decodable = True
        return
    for frame in frames_of(catalog, found, options):
        counted.add(Loose(frame, frame.body, frame.number), f"{counted.tallies.file or 'input'}: frame {frame.number}")
        counted.decodable = counted.decodable or frame.kind != "unknown"
        if frame.guess:
            asked.environment.note(
                f"kwire: frame {frame.number} was taken for {frame.api} {frame.kind} {frame.api_version} by its bytes "
                "alone; --api and --version say what it is"
            )


# `kwire overhead`: where the bytes go.


@click.command(name="overhead")
@click.argument("source", nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
@click.option(
    "--by",
    multiple=True,
    metavar="A,B",
    shell_complete=complete_dimensions,
    help="Group bytes by api, message, version, client, topic, partition, broker, stream, file, field, "
    "kind; repeatable.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Show at most this many rows of a table.  [default: {MOST_ROWS}, in json all]",
)
@click.option("--records/--no-records", default=True, help="Show what records and batches cost.  [default: shown]")
@click.option(
    "--limits/--no-limits", default=True, help="Show how far the largest items are from their limits.  [default: shown]"
)
@click.option(
    "--limit",
    "given",
    multiple=True,
    metavar="NAME=BYTES",
    help="Set a limit, such as message.max.bytes=10MiB; repeatable.  [default: Kafka's]",
)
@click.option("--batching", is_flag=True, help="Try values of linger.ms and batch.size on the records' times.")
@click.option("--linger", metavar="MS,MS", help="Try these values of linger.ms (--batching).")
@click.option("--batch-size", "batch_sizes", metavar="BYTES,BYTES", help="Try these values of batch.size (--batching).")
@click.option(
    "--message",
    "-m",
    metavar="NAME",
    shell_complete=complete_message,
    help="Read the input as a bare body of this message (with --version).",
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
@of_captures
@with_capture_points
@EXIT_CODE
@click.option(
    "--topic", "topics", multiple=True, metavar="NAME", help="Show only partitions of this topic (folders); repeatable."
)
@click.option("--record-format", type=click.Choice(CHOICES), help="Read the input as a record set of this format.")
@click.option(
    "--max-decompressed",
    metavar="SIZE",
    help="Decompress at most this much of a batch, such as 512MiB.  [default: 256MiB]",
)
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(REPORT_FORMATS),
    default="table",
    show_default=True,
    help="Set the output format.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Say how the input was recognised, and which folder links were followed."
)
@with_what_if
@with_output
@with_csv
def command(
    environment: Environment, catalog: Catalog, laid: Catalog | None, source: tuple[str, ...], fmt: str, **options: Any
) -> Exit:
    """Show where the bytes of messages, captures, record sets and log directories go.

    INPUT is what decode and dump take: captures, frames or bodies in any form, segments, folders of a log
    directory, or - for standard input. The tables account for every byte of the input, by field and by kind:
    values, length prefixes, counts, tags, headers, batch headers, record framing.
    """
    from kwire_cli.cli.overhead_report import Asked, show

    query = Asked(environment, catalog, options, laid)
    counted = count(query, source)
    if fmt == "html":
        from kwire_cli.cli.pages import files_among, page_of

        page_of(
            environment,
            "overhead",
            files_among(source),
            lambda env: show(replace(query, environment=env), counted, "table"),
        )
    else:
        show(query, counted, fmt)
    choosing = any(options[name] for name in ("filter", "frames", "stream"))
    return Exit.FOUND if options["exit_code"] and choosing and not counted.tallies.messages else Exit.DONE
