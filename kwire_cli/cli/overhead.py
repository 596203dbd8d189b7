"""`kwire overhead`: where the bytes go."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.frame_options import of_captures, of_frames, with_capture_points
from kwire_cli.cli.options import (
    EXIT_CODE,
    MOST_ROWS,
    REPORT_FORMATS,
    complete_dimensions,
    complete_file,
    complete_message,
    complete_version,
    with_csv,
    with_output,
    with_what_if,
)
from kwire_cli.records.formats import CHOICES

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog


@click.command(name="overhead")
@click.argument("source", nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
@click.option(
    "--by",
    multiple=True,
    metavar="A,B",
    shell_complete=complete_dimensions,
    help="Group bytes by api, message, version, client, topic, partition, broker, stream, file, field, kind; repeatable.",
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help=f"Show at most this many rows of a table.  [default: {MOST_ROWS}, in json all]")
@click.option("--records/--no-records", default=True, help="Show what records and batches cost.  [default: shown]")
@click.option("--limits/--no-limits", default=True, help="Show how far the largest items are from their limits.  [default: shown]")
@click.option(
    "--limit", "given", multiple=True, metavar="NAME=BYTES", help="Set a limit, such as message.max.bytes=10MiB; repeatable.  [default: Kafka's]"
)
@click.option("--batching", is_flag=True, help="Try values of linger.ms and batch.size on the records' times.")
@click.option("--linger", metavar="MS,MS", help="Try these values of linger.ms (--batching).")
@click.option("--batch-size", "batch_sizes", metavar="BYTES,BYTES", help="Try these values of batch.size (--batching).")
@click.option(
    "--message", "-m", metavar="NAME", shell_complete=complete_message, help="Read the input as a bare body of this message (with --version)."
)
@click.option(
    "--version", "-n", type=click.IntRange(0, 32767), metavar="N", shell_complete=complete_version, help="Set the version of the message or api."
)
@of_frames
@of_captures
@with_capture_points
@EXIT_CODE
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="Show only partitions of this topic (folders); repeatable.")
@click.option("--record-format", type=click.Choice(CHOICES), help="Read the input as a record set of this format.")
@click.option("--max-decompressed", metavar="SIZE", help="Decompress at most this much of a batch, such as 512MiB.  [default: 256MiB]")
@click.option("--format", "-f", "fmt", type=click.Choice(REPORT_FORMATS), default="table", show_default=True, help="Set the output format.")
@click.option("-v", "--verbose", is_flag=True, help="Say how the input was recognised, and which folder links were followed.")
@with_what_if
@with_output
@with_csv
def command(environment: Environment, catalog: Catalog, laid: Catalog | None, source: tuple[str, ...], fmt: str, **options: Any) -> Exit:
    """Show where the bytes of messages, captures, record sets and log directories go.

    INPUT is what decode and dump take: captures, frames or bodies in any form, segments, folders of a log
    directory, or - for standard input. The tables account for every byte of the input, by field and by kind:
    values, length prefixes, counts, tags, headers, batch headers, record framing.
    """
    from kwire_cli.cli.overhead_counting import Asked
    from kwire_cli.cli.overhead_inputs import count
    from kwire_cli.cli.overhead_output import show

    asked = Asked(environment, catalog, options, laid)
    counted = count(asked, source)
    if fmt == "html":
        from kwire_cli.cli.pages import files_among, page_of

        page_of(environment, "overhead", files_among(source), lambda env: show(replace(asked, environment=env), counted, "table"))
    else:
        show(asked, counted, fmt)
    choosing = any(options[name] for name in ("filter", "frames", "stream"))
    return Exit.FOUND if options["exit_code"] and choosing and not counted.tallies.messages else Exit.DONE
