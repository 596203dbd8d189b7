"""The command `kwire compare`: compare the size of messages or records in other forms.

The kind of the first input selects the comparison: record batches are compared as records, frames and bodies as
messages. Captures and messages contain both, so an option for records selects the records in them. `--advise` proposes
encodings and tags instead, and `--histogram` counts the values of a field.
"""

from __future__ import annotations

import shlex
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.cli.command import Command
from kwire_cli.cli.compare_advice import ADVICE_OPTIONS, AdviceOptions, advice_on, histogram_of
from kwire_cli.cli.compare_messages import MESSAGE_OPTIONS, MessageForms, messages_compared, values_compared
from kwire_cli.cli.compare_proposal import KIP, PROPOSAL_OPTIONS, ProposalOptions, prices_of, proposals_of
from kwire_cli.cli.compare_records import RECORD_OPTIONS, RecordOptions, records_compared
from kwire_cli.cli.completers import complete_field_paths, complete_file
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.fits import RECORDS, refuse_unfit
from kwire_cli.cli.inputs import Terminal, reading_of, reading_words
from kwire_cli.cli.options import REPORT_FORMATS, Tables
from kwire_cli.cli.typed_options import argument, flag, given, option, refuse, takes
from kwire_cli.errors import InputError, without_credentials
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import READABLE, open_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.reading import Opened

EXAMPLES = (
    ("kwire compare -m FetchRequest --make partitions=10 --versions 11-13", "three versions of a request"),
    ("kwire compare incident.pcap --filter 'api == Fetch' --form flexible", "what KIP-482 costs in it"),
    ("kwire compare orders-0 --codec none --batch as-is --headers-as none", "a segment's records"),
    ("kwire compare FetchRequest 'clientZone: string, nullable' incident.pcap", "what a new field costs in it"),
    ("kwire compare incident.pcap --advise --top 3", "what would save bytes"),
)
_TAKES = (READABLE | {Kind.JSON}) - {Kind.REQUEST_LOG, Kind.LOG_FILE}


class Options(MessageForms, RecordOptions, AdviceOptions, ProposalOptions, Tables):
    """Options of `kwire compare`."""

    PIPED: ClassVar[str] = "table"

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice((*REPORT_FORMATS, KIP)),
        help="Set the output format; kip is text for KIPs.  [default: table]",
    )
    advise: bool = flag("--advise", help="Propose the encodings and tags that save bytes in the values.")
    histogram: str | None = option(
        "--histogram",
        metavar="PATH",
        shell_complete=complete_field_paths,
        help="Count the integers, lengths or counts of this field by their bytes.",
    )


@click.command(name="compare", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Compare what messages or records cost in other versions, encodings, formats.

    INPUT is bytes in the forms of decode, captures, segments, folders of segments, or batches as JSON; without it,
    values are generated. Options for records compare records, and a message and 'PATH: TYPE' price a new field.
    """
    proposals, sources = proposals_of(options, options.source)
    if options.fmt == KIP and not proposals:
        raise click.UsageError("--format kip is for proposals, and there is none: give --proposal, or a new field")
    with environment.answering():
        if proposals:
            others = (*MESSAGE_OPTIONS, *RECORD_OPTIONS, *ADVICE_OPTIONS, "made", "as_topic", "advise", "histogram")
            refuse(options, others, "does not go with a proposal")
            prices = prices_of(environment, options, proposals, sources)
            if options.fmt == KIP:
                for line in prices.kip_lines(_typed_again(options)):
                    environment.write(line)
                return Exit.DONE
            return emit(environment, prices.answer(), options)
        refuse(options, PROPOSAL_OPTIONS, "needs a proposal")
        if options.advise:
            refuse(options, (*MESSAGE_OPTIONS, *RECORD_OPTIONS, "made", "histogram"), "does not go with --advise")
            return emit(environment, advice_on(environment, options, options.source), options)
        refuse(options, ADVICE_OPTIONS, "needs --advise")
        if options.histogram:
            refuse(options, (*MESSAGE_OPTIONS, *RECORD_OPTIONS, "made"), "does not go with --histogram")
            return emit(environment, histogram_of(environment, options, options.histogram, options.source), options)
        refuse(options, ("as_topic",), "needs --advise or --histogram")
        return emit(environment, _compare(environment, options, options.source), options)


def _typed_again(options: Options) -> str:
    """Return the command for the text of a proposal, as it can be typed again."""
    words = ["kwire", "compare", *map(without_credentials, options.source)]
    for name, values in (("--proposal", options.proposals), ("--assume", options.assumed)):
        words += chain.from_iterable((name, value) for value in values)
    words += reading_words(options)
    words += ["--filter", options.filter] if options.filter else []
    return shlex.join([*words, "-f", KIP])


def _compare(environment: Environment, options: Options, sources: tuple[str, ...]) -> Answer:
    record_flags = given(options, *RECORD_OPTIONS)
    message_flags = given(options, *MESSAGE_OPTIONS)
    if record_flags and message_flags:
        raise click.UsageError(
            f"{message_flags[0]} is for messages, and {record_flags[0]} is for records; use one of them"
        )
    if options.made:
        if sources:
            raise click.UsageError("--make generates the input: omit INPUT, or --make")
        if not options.message:
            refuse(options, MESSAGE_OPTIONS, "is for messages, and --make without --message generates records")
            return records_compared(environment, options, ())
        refuse(options, RECORD_OPTIONS, "is for records, and --make with --message generates a message")
    answer = None if record_flags else values_compared(environment, options, sources)
    if answer:
        return answer
    inputs = iter(open_inputs(sources, reading_of(options), Terminal(environment), takes=_TAKES))
    first = next(inputs, None)
    if first is None:
        raise InputError("the input was not read")
    takes_records = bool(record_flags) or first.kind in RECORDS.kinds
    checked = _check_inputs(options, chain([first], inputs), takes_records=takes_records)
    if takes_records:
        return records_compared(environment, options, checked)
    return messages_compared(environment, options, sources, checked)


def _check_inputs(options: Options, inputs: Iterator[Opened], *, takes_records: bool) -> Iterator[Opened]:
    """Yield the inputs. Raise UsageError for an option that an input does not support, and InputError for batches
    among messages.
    """
    for opened in inputs:
        if not takes_records and opened.kind in RECORDS.kinds:
            raise InputError(
                f"this is {opened.kind.what}, and the first input holds messages; compare them separately",
                file=opened.name,
            )
        refuse_unfit(options, opened)
        yield opened
