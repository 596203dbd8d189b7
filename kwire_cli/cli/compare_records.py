"""Compare the size of records in other formats, batch sizes and codecs, for `kwire compare`.

Batches come from segments, messages, captures or JSON, or they are generated. `_forms` converts the options to forms.
`records_compared` writes each batch in all of them, one by one, so that an input of any size needs little memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kwire_cli.analysis.costs.generated import Wanted, generated
from kwire_cli.analysis.costs.header_forms import HEADER_FORMS
from kwire_cli.analysis.costs.record_forms import (
    ALL,
    AS_IS,
    FORMS,
    MOST_RECORDS,
    Codec,
    RecordForms,
)
from kwire_cli.analysis.costs.records_answer import records_answer
from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.compare_generated import Generated
from kwire_cli.cli.fits import options_of_bytes
from kwire_cli.cli.inputs import Terminal, documents
from kwire_cli.cli.options import Captures, Choosing, Definitions, HeaderKeys, Messages, RecordSets
from kwire_cli.cli.typed_options import option, refuse
from kwire_cli.errors import EncodeError, InputError, counted
from kwire_cli.message.decoded import Decoded, record_sets
from kwire_cli.message.frames import Frame
from kwire_cli.message.roles import RecordsAs, roles
from kwire_cli.records.batch import PADDING, Batch
from kwire_cli.records.compression import CODECS, compress
from kwire_cli.records.gaps import Gap
from kwire_cli.records.reading import items, source_of
from kwire_cli.records.registers import read_register
from kwire_cli.records.writing import write
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.reading import Read, empty_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.reading import Caller, Opened

BATCH_SIZES = "as-is,1,10,100"
GENERATED_BATCHES = "1,3,10,50,100,all"
NONE = "none"
EVERY = "all"
RECORD_OPTIONS = ("batch", "record_forms", "codec", "headers_as", "register", "record_format")
"""Fields of RecordOptions that only records support."""


class RecordOptions(Captures, Choosing, Messages, RecordSets, HeaderKeys, Generated, Definitions):
    """Options for the compared records and their forms."""

    batch: str | None = option(
        "--batch",
        metavar="N,N",
        help=f"Put this many records in a batch.  [default: {BATCH_SIZES}]",
    )
    record_forms: str | None = option(
        "--record-forms",
        metavar="A,B",
        help="Write these formats, such as v1,v2.  [default: all]",
    )
    codec: str | None = option(
        "--codec",
        metavar="A,B",
        help="Compress with these codecs, such as none,zstd:19.  [default: as-is]",
    )
    headers_as: str | None = option(
        "--headers-as",
        rare=True,
        metavar="A,B",
        help="Write these forms of headers, none or all.  [default: all]",
    )


def records_compared(environment: Environment, options: RecordOptions, inputs: Iterable[Opened]) -> Answer:
    """Return the size of the records of the inputs in each form. With --make, the records are generated.

    Raises InputError if there are no records.
    """
    wanted = options.made_records if options.made else None
    if wanted:
        refuse(
            options,
            ("record_format", "version", *options_of_bytes(options)),
            "is for records that are read, and --make generates them",
        )
    forms = _forms(options, wanted)
    caller = Terminal(environment)
    batches = _generate_batches(wanted, caller) if wanted else _read_batches(options, inputs)
    for partition, batch in batches:
        forms.add(partition, batch)
    forms.end()
    caller.done()
    read = forms.read
    if not read["batches"]:
        raise InputError("not all records of any batch can be read; kwire dump --verify says what is wrong")
    if skipped := read["skippedBatches"]:
        left_out = f"{counted(skipped, 'batch', 'batches')} of {counted(read['skippedBytes'], 'byte')}"
        caller.note(f"left out, since not all can be read, or there are more than {MOST_RECORDS} records: {left_out}")
    return records_answer(forms, wanted.says if wanted else None)


class PartitionBatch(NamedTuple):
    """A batch and the name of its partition."""

    partition: str
    batch: Batch


def _generate_batches(wanted: Wanted, caller: Caller) -> Iterator[PartitionBatch]:
    for batch in generated(wanted):
        caller.progress("generated records", batch.head.last_offset, wanted.records, "records")
        if caller.stopped:
            return
        yield PartitionBatch("", batch)


def _read_batches(options: RecordOptions, inputs: Iterable[Opened]) -> Iterator[PartitionBatch]:
    """Yield the batches of all inputs, and note the bytes between them. Raises InputError if there are no batches."""
    choice = Choice(options, options.catalog)
    has_batches = False
    read = Read()
    for opened in inputs:
        for batch in _read_input(opened, choice):
            has_batches = True
            yield batch
        if not has_batches:
            read.append((opened.label, opened.emptiness))
    if not has_batches:
        file = read[0][0] if len(read) == 1 else None
        raise empty_inputs(read) or InputError("there are no record batches in this", file=file)


def _read_input(opened: Opened, choice: Choice) -> Iterator[PartitionBatch]:
    if isinstance(opened, CaptureInput):
        for line in choice.among(opened.subjects()):
            if line.seen.size and (read := line.read):
                yield from _read_body(line.api, *read, line.reading())
    elif opened.kind is Kind.JSON:
        content = _write_json_batches(bytes(opened.recognised.views[0]), opened.label)
        yield from _batches_among(opened, opened.label, opened.label, items(source_of(content)))
    elif isinstance(opened, LogInput):
        for file in opened.files():
            partition = file.path.resolve().parent.name if file.path else file.label
            found = file.items(file.source(opened.how), opened.caller)
            yield from _batches_among(opened, file.label, partition, found)
    else:
        reading = RecordsAs(opened.how.catalog)
        for subject in opened.subjects():
            if isinstance(subject, Decoded):
                yield from _read_body(subject.spec.name, roles(subject.spec, subject.entry), subject.raw, reading)
            elif isinstance(subject, Frame) and (body := subject.body) and not subject.guess:
                yield from _read_body(subject.api, roles(body.spec, body.entry), body.raw, reading)


def _batches_among(
    opened: Opened, label: str, partition: str, found: Iterable[Batch | Gap]
) -> Iterator[PartitionBatch]:
    """Yield the batches, and note the gaps between them."""
    for item in found:
        if not isinstance(item, Gap):
            yield PartitionBatch(partition, item)
        elif item.code != PADDING:
            opened.caller.note(f"{label}: {item.size} bytes at {item.position} are no batch ({item.code})")


def _write_json_batches(data: bytes, label: str) -> memoryview:
    """Encode batches in the JSON form of `kwire encode --as-records`."""
    rows: list[Any] = []
    for value in documents(data, label):
        rows += value if isinstance(value, list) else [value]
    try:
        return memoryview(write(rows))
    except EncodeError as error:
        raise InputError(f"{label}: {error}") from None


def _read_body(api: str | None, where: Any, raw: Any, reading: RecordsAs) -> Iterator[PartitionBatch]:
    """Yield the batches in a body. The api is part of the partition name: one capture may produce and fetch a batch."""
    for record_set in record_sets(where, raw):
        partition = f"{api} {reading.topic(record_set.topic)}-{record_set.partition}"
        yield from (
            PartitionBatch(partition, item)
            for item in reading.items(raw.data, record_set.topic, record_set.start, record_set.stop)
            if isinstance(item, Batch)
        )


def _forms(options: RecordOptions, wanted: Wanted | None) -> RecordForms:
    forms = _parse_names("--record-forms", options.record_forms or EVERY, FORMS)
    if not forms:
        raise click.UsageError(f"--record-forms takes {', '.join(FORMS)}")
    codecs = tuple(map(_parse_codec, (options.codec or ("none" if wanted else AS_IS)).split(",")))
    sizes = (options.batch or (GENERATED_BATCHES if wanted else BATCH_SIZES)).split(",")
    batches = tuple(dict.fromkeys(_parse_batch_size(text, wanted) for text in sizes))
    if wanted and not options.batch:
        batches = tuple(batch for batch in batches if isinstance(batch, str) or batch < wanted.records)
    headers = _parse_names("--headers-as", options.headers_as or EVERY, tuple(HEADER_FORMS))
    register = read_register(options.register)
    bare = bool(options.headers_as)
    codecs = tuple(dict.fromkeys(codecs))
    return RecordForms(forms, batches, codecs, register, headers, bare=bare)


def _parse_names(option: str, text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Parse a list of known names. Return all known names for `all`, and an empty tuple for `none`.

    Raises UsageError if a name is unknown.
    """
    if text == EVERY:
        return known
    names = tuple(dict.fromkeys(name.strip() for name in text.split(","))) if text != NONE else ()
    for name in names:
        if name not in known:
            raise click.UsageError(f"{option} takes {', '.join(known)}, not {name!r}")
    return names


def _parse_batch_size(text: str, wanted: Wanted | None) -> int | str:
    text = text.strip()
    if text == ALL or (text == AS_IS and not wanted):
        return text
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not int(text):
        raise click.UsageError(
            f"--batch takes numbers of records from 1 up, {'' if wanted else 'as-is, '}all, not {text!r}"
        )
    return int(text)


def _parse_codec(text: str) -> Codec:
    name, colon, level = text.strip().partition(":")
    numbers = {codec_name: number for number, codec_name in CODECS.items()}
    number = numbers.get(name)
    if number is None and name != AS_IS:
        raise click.UsageError(f"--codec takes {', '.join(CODECS.values())} and {AS_IS}, not {text!r}")
    if not colon:
        return Codec(name)
    if not number:
        raise click.UsageError(f"--codec {text}: {name} has no compression levels")
    try:
        compress(number, b"", level=int(level))
    except ValueError:
        raise click.UsageError(f"--codec {text}: a level is a number") from None
    except EncodeError as error:
        raise click.UsageError(f"--codec {text}: {error.reason}") from None
    return Codec(name, int(level))
