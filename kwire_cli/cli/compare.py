"""The command `kwire compare`: compare the size of messages or records in other forms.

The kind of the first input selects the comparison: record batches are compared as records, frames and bodies as
messages. Captures and messages contain both, so an option for records selects the records in them. `--proposal` prices
a proposed definition, `--advise` proposes encodings and tags, and `--histogram` counts the values of a field. All of
these are folds over the subjects of the inputs.
"""

from __future__ import annotations

import io
import shlex
import string
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from kwire_cli.analysis.costs.advice import Advising
from kwire_cli.analysis.costs.forms import OF_RECORDS
from kwire_cli.analysis.costs.generated import generated
from kwire_cli.analysis.costs.histogram import Histogram
from kwire_cli.analysis.costs.message_forms import MessageForms
from kwire_cli.analysis.costs.proposal_answer import ProposalPrices
from kwire_cli.analysis.costs.proposals import Assumption, Pricing
from kwire_cli.analysis.costs.record_forms import AS_IS, BATCH_SIZES
from kwire_cli.analysis.costs.records_answer import RecordForms
from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.command import Command
from kwire_cli.cli.compare_generated import generated_message, generated_records
from kwire_cli.cli.compare_options import KIP, MODES, Options
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.fits import BATCHES, options_of_bytes, refuse_unfit
from kwire_cli.cli.inputs import Terminal, missing_names, reading_of, reading_words
from kwire_cli.cli.typed_options import given, refuse, takes
from kwire_cli.errors import InputError, without_credentials
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.registers import read_register
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import READABLE, open_inputs
from kwire_cli.source.reading import Read, empty_inputs
from kwire_cli.spec.field_text import is_field_text, overlay_of_field
from kwire_cli.stores.paths import exists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.overlay import Overlay

    Fold: TypeAlias = MessageForms | RecordForms | ProposalPrices | Advising | Histogram

EXAMPLES = (
    ("kwire compare -m FetchRequest --make partitions=10 --versions 11-13", "three versions of a request"),
    ("kwire compare incident.pcap --filter 'api == Fetch' --form flexible", "what KIP-482 costs in it"),
    ("kwire compare orders-0 --codec none --batch as-is", "a segment's records"),
    ("kwire compare FetchRequest 'clientZone: string, nullable' incident.pcap", "what a new field costs in it"),
    ("kwire compare incident.pcap --advise --top 3", "what would save bytes"),
)
_TAKES = READABLE - {Kind.REQUEST_LOG, Kind.LOG_FILE}
_PRICED = frozenset({Kind.CAPTURE, Kind.FRAMES})
"""The inputs of proposals: their frames have the headers and clients that a price is for."""


@click.command(name="compare", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Compare what messages or records cost in other versions, encodings, formats.

    INPUT is bytes in the forms of decode, captures, segments, or folders of segments; without it, values are
    generated. Options for records compare records, and a message and 'PATH: TYPE' price a new field.
    """
    proposals, sources = _proposals_of(options)
    if options.fmt == KIP and not proposals:
        raise click.UsageError("--format kip is for proposals, and there is none: give --proposal, or a new field")
    with environment.answering():
        if (options.made or options.message) and not sources and not _is_piped(environment, options):
            fold = _generated(environment, options)
        else:
            fold = _read(environment, options, proposals, sources)
        if isinstance(fold, ProposalPrices) and options.fmt == KIP:
            for line in fold.kip_lines(_typed_again(options)):
                environment.write(line)
            return Exit.DONE
        if isinstance(fold, Advising):
            with closing(fold):
                return _emit_advice(environment, options, fold)
        answer = fold.answer()
        if isinstance(fold, MessageForms | RecordForms):
            for reason, number in fold.skipped.items():
                if number:
                    environment.note(f"kwire: skipped: {number} {reason}")
        return emit(environment, answer, options)


def _proposals_of(options: Options) -> tuple[Sequence[str | Overlay], tuple[str, ...]]:
    """Return the proposals and the inputs. The first two arguments can be a message and a new field of it."""
    sources = options.source
    may_be = len(sources) > 1 and not exists(sources[0]) and is_field_text(sources[1])
    if not may_be or all(character in string.hexdigits for character in sources[0]):
        return options.proposals, sources
    field = overlay_of_field(options.catalog.message(sources[0]), sources[1])
    return (*options.proposals, field), sources[2:]


def _is_piped(environment: Environment, options: Options) -> bool:
    """Return whether standard input has bytes to read. The bytes are stored for later readers."""
    if options.made or environment.stdin.isatty():
        return False
    data = environment.stdin.read()
    environment.stdin = io.BytesIO(data)
    return bool(data.strip())


def _fold_of(options: Options, proposals: Sequence[str | Overlay], kind: Kind | None) -> Fold:
    """Return the comparison for the options and the kind of the first input.

    Raises UsageError for options that the comparison does not support.
    """
    takes_records = (
        kind in BATCHES.kinds
        or given(options, "batch", "codec", "register", "record_format")
        or any(name in OF_RECORDS for name in options.forms)
        or (options.made and not options.message)
    )
    mode = "records" if takes_records else "messages"
    if proposals:
        mode = "proposals"
    elif options.advise:
        mode = "advice"
    elif options.histogram:
        mode = "histograms"
    for other, names in MODES.items():
        foreign = tuple(name for name in names if name not in MODES[mode])
        refuse(options, foreign, f"is for {other}, not for {mode}")
    catalog = options.catalog
    if proposals:
        assumptions = [Assumption.parse(text) for text in options.assumed]
        return ProposalPrices(Redaction(catalog, show_secrets=False), Pricing(catalog, proposals, assumptions))
    if options.advise:
        return Advising(catalog)
    if options.histogram:
        return Histogram(options.histogram)
    choice = options.choice
    if not takes_records:
        return MessageForms(catalog, choice, by_field=options.by_field)
    if choice.names or choice.overlays:
        name = next(name for name in options.forms if name not in OF_RECORDS)
        raise click.UsageError(f"--form {name} is for messages, and these are records")
    sizes = options.batch.split(",") if options.batch else BATCH_SIZES
    codecs = options.codec.split(",") if options.codec else (AS_IS,)
    return RecordForms(catalog, options.forms, sizes, codecs, read_register(options.register))


def _generated(environment: Environment, options: Options) -> Fold:
    """Return the comparison of a generated message, or of generated records."""
    only_read = (*options_of_bytes(options), "record_format", "as_topic")
    refuse(options, only_read, "is for an INPUT of bytes; without one values are generated")
    fold = _fold_of(options, (), None)
    made = options.made or {}
    if isinstance(fold, RecordForms):
        wanted = generated_records(made)
        caller = Terminal(environment)
        for batch in generated(wanted):
            caller.progress("generated records", batch.head.last_offset, wanted.records, "records")
            if caller.stopped:
                break
            fold.add_batch("", batch)
        caller.done()
    elif options.message:
        fold.add(generated_message(options.catalog, options.message, options.version, made))
    return fold


def _read(
    environment: Environment, options: Options, proposals: Sequence[str | Overlay], sources: tuple[str, ...]
) -> Fold:
    """Return the comparison of all inputs. Raises InputError if there is nothing to compare."""
    if options.made:
        raise click.UsageError("--make generates the input: omit INPUT, or --make")
    choice = Choice(options, options.catalog)
    fold: Fold | None = None
    read: Read = []
    takes = _PRICED if proposals else _TAKES
    for opened in open_inputs(sources, reading_of(options), Terminal(environment), takes=takes):
        if fold is None:
            fold = _fold_of(options, proposals, opened.kind)
        elif opened.kind in BATCHES.kinds and isinstance(fold, MessageForms):
            raise InputError("the first input holds messages; compare record batches separately", file=opened.name)
        refuse_unfit(options, opened)
        subjects: Any = opened.subjects()
        for subject in choice.among(subjects) if opened.kind is Kind.CAPTURE else subjects:
            fold.add(subject)
        read.append((opened.label, opened.emptiness))
    if fold is None:
        raise InputError("the input was not read")
    if fold.emptiness:
        missing = missing_names(sources)
        file = read[0][0] if len(read) == 1 and not missing else None
        raise empty_inputs(read) or InputError(f"{missing}{fold.emptiness}", file=file)
    return fold


def _emit_advice(environment: Environment, options: Options, advising: Advising) -> int:
    """Write the advice, and the overlay if it was requested."""
    advice = advising.advice()
    if file := options.write_overlay:
        try:
            Path(file).write_text(advice.overlay, encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=file) from None
        environment.note(
            f"{file}: an overlay of {advice.changed_fields} fields, which saves {advice.saved} of {advice.size} bytes"
        )
    return emit(environment, advice.answer(), options)


def _typed_again(options: Options) -> str:
    """Return the command for the text of a proposal, as it can be typed again."""
    words = ["kwire", "compare", *map(without_credentials, options.source)]
    for name, values in (("--proposal", options.proposals), ("--assume", options.assumed)):
        words += chain.from_iterable((name, value) for value in values)
    words += reading_words(options)
    words += ["--filter", options.filter] if options.filter else []
    return shlex.join([*words, "-f", KIP])
