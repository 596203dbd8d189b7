"""`kwire overhead`: where the bytes go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.options import complete_api, complete_message, complete_version, with_output, with_what_if
from kwire_cli.source.text import FORMS

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog

FORMATS = ("table", "json", "jsonl", "csv")
RECORD_FORMATS = ("auto", "v0", "v1", "v2", "kip98-draft", "kip82-draft")
MOST_ROWS = 25
"""Rows of a table for eyes, unless --top says otherwise."""


@click.command(name="overhead")
@click.argument("source", nargs=-1, metavar="[INPUT]...")
@click.option(
    "--by",
    multiple=True,
    metavar="A,B",
    help="Group bytes by these: api, message, version, client, topic, partition, broker, stream, file, field, kind; repeatable, a table each.",
)
@click.option("--top", type=click.IntRange(min=1), metavar="N", help=f"No more than so many rows of a table.  [default: {MOST_ROWS}, in json all]")
@click.option(
    "--limits/--no-limits", default=None, help="How far the largest batch, record, request and fetch are from their limits.  [default: shown]"
)
@click.option(
    "--limit", "given", multiple=True, metavar="NAME=BYTES", help="Another limit than Kafka's default, as message.max.bytes=10MiB; repeatable."
)
@click.option("--batching", is_flag=True, help="Try values of linger.ms and batch.size on when each record came.")
@click.option("--linger", metavar="MS,MS", help="With --batching: these values of linger.ms.")
@click.option("--batch-size", "batch_sizes", metavar="BYTES,BYTES", help="With --batching: these values of batch.size.")
@click.option("--message", "-m", metavar="NAME", shell_complete=complete_message, help="The input is a body alone, of this message; needs --version.")
@click.option(
    "--version", "-n", type=click.IntRange(0, 32767), metavar="N", shell_complete=complete_version, help="The version of the message or api."
)
@click.option("--api", metavar="NAME|KEY", shell_complete=complete_api, help="The api of a response, such as Metadata or 3.")
@click.option("--request", "kind", flag_value="request", help="The frames are requests.")
@click.option("--response", "kind", flag_value="response", help="The frames are responses.")
@click.option("--input", "form", type=click.Choice(FORMS), default="auto", show_default=True, help="The form of the input.")
@click.option("--framed/--unframed", default=None, help="Whether size prefixes stand before the frames; otherwise the bytes tell.")
@click.option("--filter", metavar="TEXT", help="Of a capture, the frames that match, such as 'api == Fetch'; see docs/filter.md.")
@click.option("--frames", metavar="A-B", help="Of a capture, the frames of these numbers.")
@click.option("--stream", type=int, multiple=True, metavar="N", help="Of a capture, the frames of this connection; repeatable.")
@click.option("--port", type=int, metavar="N", help="The broker's port; otherwise the bytes tell which side it is.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="Of folders, the partitions of this topic; repeatable.")
@click.option("--record-format", type=click.Choice(RECORD_FORMATS), help="The input is a record set of this format.")
@click.option("--max-decompressed", metavar="SIZE", help="What the records of one batch may become, such as 512MiB.  [default: 256MiB]")
@click.option("--format", "-f", "fmt", type=click.Choice(FORMATS), default="table", show_default=True, help="How the result looks.")
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error in which form the input was read.")
@with_what_if
@with_output
def command(environment: Environment, catalog: Catalog, laid: Catalog | None, source: tuple[str, ...], fmt: str, **options: Any) -> Exit:
    """Show where the bytes of messages, captures, record sets and log directories go.

    INPUT is what decode and dump take: captures, frames or bodies in any form, segments, folders of a log directory, - for standard input. The
    tables add up to all bytes of the input, by field and by kind: values, length prefixes, counts, tags, headers, batch headers, framing of records.
    """
    from kwire_cli.cli.overhead_counting import Asked
    from kwire_cli.cli.overhead_inputs import count
    from kwire_cli.cli.overhead_output import show

    asked = Asked(environment, catalog, options, laid)
    counted = count(asked, source)
    show(asked, counted, fmt)
    return Exit.DONE
