"""Records compared in other formats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kwire_cli.cli.completion import complete_file
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.inputs import frames_of, inputs
from kwire_cli.cli.old_options import OF_CAPTURES, refuse
from kwire_cli.cli.segments import note_links, segment_files
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.records.formats import AUTO, RECORD_FORMATS
from kwire_cli.source.kinds import Kind
from kwire_cli.stores import path_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.analysis.costs.generated import Wanted
    from kwire_cli.analysis.costs.header_forms import Register
    from kwire_cli.analysis.costs.record_forms import Codec, Plan
    from kwire_cli.cli.environment import Environment, Progress
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Batch
    from kwire_cli.source.kinds import Recognised
    from kwire_cli.spec.catalog import Catalog


# Where `kwire compare` gets record batches from: segments and record sets, messages and captures with records
# in them, batches as JSON.

OF_FRAMES = ("api", "version", "kind", "framed")


class Found(NamedTuple):
    """A batch and the partition that it is of, as text."""

    partition: str
    batch: Batch


@dataclass(frozen=True, slots=True)
class Asked:
    """Request to the command: its environment, definitions and options."""

    environment: Environment
    catalog: Catalog
    options: dict[str, Any]
    progress: Progress


def batches_in(asked: Asked, arguments: tuple[str, ...], form: str) -> Iterator[Found]:
    """The batches of all inputs, in this record format; bytes between them are noted. InputError where there are
    none.
    """
    if asked.options["verbose"]:
        note_links(asked.environment, arguments)
    some = False
    says = None if form == AUTO else Kind.BATCHES
    for content in inputs(asked.environment, arguments, asked.options["form"], catalog=asked.catalog, says=says):
        for batch in _in_input(asked, content, form):
            some = True
            yield batch
    asked.progress.done()
    if not some:
        raise InputError(
            "there are no record batches in this; without --as-records kwire compare reads the values of messages"
        )


def _in_input(asked: Asked, found: Recognised, form: str) -> Iterator[Found]:
    if found.kind is Kind.CAPTURE:
        refuse(asked.options, OF_FRAMES, "is for frames, and this input is a capture")
        yield from _in_capture(asked, path_text(found.label), found.source)
    elif found.kind in {Kind.BATCHES, Kind.FOLDER}:
        refuse(asked.options, (*OF_CAPTURES, *OF_FRAMES), "is for messages, and this input is batches")
        for file in segment_files(found):
            yield from _batches(
                asked, file.label, file.path.resolve().parent.name if file.path else file.label, file.view, form
            )
    elif found.kind is Kind.JSON and found.held is not None:
        refuse(asked.options, (*OF_CAPTURES, *OF_FRAMES), "is for messages, and this input is batches")
        yield from _batches(asked, found.label, found.label, _from_json(bytes(found.held), found.label), AUTO)
    else:
        refuse(asked.options, OF_CAPTURES, "is for captures, and this input is not one")
        for chunk in found.frames.chunks:
            yield from _in_frames(asked, chunk)


def _batches(asked: Asked, label: str, partition: str, view: memoryview, form: str) -> Iterator[Found]:
    from kwire_cli.records.batch import PADDING
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.reading import items, source_of

    for item in items(source_of(view, form=form)):
        asked.progress.tell(label, item.position, len(view))
        if not isinstance(item, Gap):
            yield Found(partition, item)
        elif item.code != PADDING:
            asked.environment.note(f"kwire: {label}: {item.size} bytes at {item.position} are no batch ({item.code})")


def _from_json(data: bytes, label: str) -> memoryview:
    """Batches as `kwire encode --records` takes them, written."""
    from kwire_cli.cli.inputs import documents
    from kwire_cli.records.writing import write

    rows: list[Any] = []
    for value in documents(data, label):
        rows += value if isinstance(value, list) else [value]
    try:
        return memoryview(write(rows))
    except EncodeError as error:
        raise InputError(f"{label}: {error}") from None


def _in_frames(asked: Asked, chunk: Any) -> Iterator[Found]:
    from kwire_cli.message.roles import RecordsAs, roles
    from kwire_cli.source.text.reading import Input

    for frame in frames_of(asked.catalog, Input("raw", (chunk,), ""), asked.options):
        if frame.body and not frame.guess:
            yield from _of_body(
                frame.api, roles(frame.body.spec, frame.body.entry), frame.body.raw, RecordsAs(asked.catalog)
            )


def _in_capture(asked: Asked, label: str, source: Any) -> Iterator[Found]:
    from kwire_cli.cli.capture_inputs import capture_lines, chosen

    options = asked.options
    lines = capture_lines(
        asked.environment, asked.catalog, source, name=label, port=options["port"], key_logs=options["tls_keylog"]
    )
    for line in chosen(lines, asked.catalog, options | {"limit": None}):  # which is of batches here
        if line.seen.size and (read := line.read):
            yield from _of_body(line.api, *read, line.reading())


def _of_body(api: str | None, where: Any, raw: Any, reading: RecordsAs) -> Iterator[Found]:
    """The batches in a body; each api's by themselves, since what is produced may be fetched in the same capture."""
    from kwire_cli.message.decoded import record_sets
    from kwire_cli.records.batch import Batch

    for record_set in record_sets(where, raw):
        partition = f"{api} {reading.topic(record_set.topic)}-{record_set.partition}"
        yield from (
            Found(partition, item)
            for item in reading.items(raw.data, record_set.topic, record_set.start, record_set.stop)
            if isinstance(item, Batch)
        )


# `kwire compare` of records: the same ones in other formats, batches and codecs, and their headers in other
# forms.

BATCHES, GENERATED_BATCHES = "as-is,1,10,100", "1,3,10,50,100,all"


NONE, EVERY = "none", "all"
MOST_BYTES = 100 << 20
"""Of a key, a value or a header that is made up."""
_OPTIONS = ("record_format", "record_forms", "batch", "codec", "headers_as", "register")
_OF_MESSAGES = {
    name: name.replace("_", "-")
    for name in ("values", "versions", "flexible", "all_tagged", "fields", "cases", "by_field")
}
_OF_MESSAGES |= {"message": "message", "encodings": "encoding", "overlays": "overlay", "counts": "count"}
_OF_MESSAGES |= {name: name for name in ("brokers", "topics", "partitions", "replicas")}
_GENERATED = ("key_size", "value_size", "headers", "header_name", "header_size")


def with_record_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of records; the command gets them among its own, for `show_records`."""
    for option in reversed(
        (
            click.option(
                "--as-records",
                is_flag=True,
                help="Read the input as records: batches, messages that hold records, or batches as JSON.",
            ),
            click.option(
                "--records",
                type=click.IntRange(1, 10_000_000),
                metavar="N",
                help="Generate this many records instead of reading an input.",
            ),
            click.option(
                "--key-size",
                type=click.IntRange(-1, MOST_BYTES),
                metavar="BYTES",
                help="Set the size of generated keys; -1 is null.  [default: 16]",
            ),
            click.option(
                "--value-size",
                type=click.IntRange(-1, MOST_BYTES),
                metavar="BYTES",
                help="Set the size of generated values; -1 is null.  [default: 100]",
            ),
            click.option(
                "--headers",
                type=click.IntRange(0, 10_000),
                metavar="N",
                help="Set the number of headers of each generated record.  [default: 0]",
            ),
            click.option(
                "--header-name",
                multiple=True,
                metavar="NAME",
                help="Name a generated header; repeatable.  [default: header-1, header-2, ...]",
            ),
            click.option(
                "--header-size",
                type=click.IntRange(0, MOST_BYTES),
                metavar="BYTES",
                help="Set the size of generated header values.  [default: 16]",
            ),
            click.option(
                "--record-format", metavar="NAME", help="Read records of this format: auto, v0, v1, v2 or a draft."
            ),
            click.option(
                "--record-forms",
                metavar="A,B",
                help=f"Write these formats: {', '.join(RECORD_FORMATS)}.  [default: all]",
            ),
            click.option(
                "--batch",
                metavar="N,N",
                help=f"Put this many records in a batch: numbers, as-is, all.  [default: {BATCHES}]",
            ),
            click.option(
                "--codec",
                metavar="A,B",
                help="Compress with none, gzip, snappy, lz4, zstd, zstd:19 or as-is.  [default: as-is]",
            ),
            click.option(
                "--headers-as",
                metavar="A,B",
                help="Write these forms of headers, none or all.  [default: all, if there are headers]",
            ),
            click.option(
                "--register",
                metavar="FILE",
                shell_complete=complete_file,
                help="Read the numbers of header names (KIP-82 draft) from this JSON file.",
            ),
            click.option(
                "--limit",
                type=click.IntRange(1),
                metavar="N",
                help="Read at most this many batches, or frames of a capture.",
            ),
        )
    ):
        command = option(command)
    return command


def wants_records(sources: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Return whether these arguments and options are about records.

    They are if an option says so, or if all the inputs are segments or folders of segments.
    """
    from kwire_cli.cli.segments import holds_batches

    said = (
        options["as_records"]
        or options["records"] is not None
        or any(options[name] not in {None, ()} for name in (*_OPTIONS, *_GENERATED))
    )
    return bool(said) or (bool(sources) and all(holds_batches(source) for source in sources))


def show_records(
    environment: Environment, catalog: Catalog, sources: tuple[str, ...], options: dict[str, Any], fmt: str
) -> Exit:
    """Print what the records of these inputs, or the generated ones, cost in each form.

    `fmt` is table, json, jsonl, or csv: the prices of records, or with --headers-as those of headers.
    """
    from kwire_cli.analysis.costs.header_forms import HEADER_FORMS, HeaderForms
    from kwire_cli.analysis.costs.record_forms import MOST_RECORDS, RecordForms
    from kwire_cli.view import compare as view
    from kwire_cli.view.lines import counted

    wanted = _wanted(options)
    _refuse_message_options(options)
    if wanted and sources:
        raise click.UsageError("--records generates records: omit the input, or --records")
    plan = _plan(options, wanted)
    forms = RecordForms(plan, generated=wanted is not None)
    form_names = _names("--headers-as", options["headers_as"] or EVERY, (*HEADER_FORMS,))
    headers = HeaderForms(form_names, plan.register, every=bool(options["headers_as"]))
    for partition, batch in _found(environment, catalog, sources, options, wanted):
        records = forms.add(partition, batch)
        if records is not None and form_names:
            headers.add(records)
    forms.end()
    if not forms.written.batches:
        raise InputError("not all records of any batch can be read; kwire dump --verify says what is wrong")
    if forms.written.skipped:
        left_out = (
            f"{counted(forms.written.skipped, 'batch', 'batches')} of {counted(forms.written.skipped_bytes, 'byte')}"
        )
        environment.note(
            f"kwire: left out, since not all can be read, or there are more than {MOST_RECORDS} records: {left_out}"
        )
    header_prices = headers if form_names and (options["headers_as"] or forms.written.headers) else None
    if fmt == "table":
        environment.write_lines(view.lines(forms, header_prices, wanted.says if wanted else None))
    elif fmt == "csv":
        for row in view.header_csv_rows(headers) if form_names and options["headers_as"] else view.csv_rows(forms):
            environment.write_csv(row)
    else:
        from kwire_cli.view.json import dumps

        report = view.document(forms, header_prices, wanted.says if wanted else None)
        for document in (report,) if fmt == "json" else view.flat(report):
            environment.write(dumps(document, indent=fmt == "json"))
    return Exit.DONE


def _refuse_message_options(options: dict[str, Any]) -> None:
    """Raise UsageError if an option is given that applies to messages only."""
    for name, option in _OF_MESSAGES.items():
        if options.get(name):
            raise click.UsageError(f"--{option} is for values of messages, and this compares records")


def _found(
    environment: Environment, catalog: Catalog, sources: tuple[str, ...], options: dict[str, Any], wanted: Wanted | None
) -> Iterator[tuple[str, Any]]:
    from itertools import islice

    from kwire_cli.analysis.costs.generated import generated
    from kwire_cli.cli.environment import Progress
    from kwire_cli.records.layouts import FORMATS

    progress = Progress(environment)
    if wanted:
        for batch in generated(wanted):
            progress.tell("generated records", batch.head.last_offset, wanted.records)
            yield "", batch
        progress.done()
        return
    [form] = _names("--record-format", options["record_format"] or FORMATS[0], FORMATS) or ("",)
    yield from islice(batches_in(Asked(environment, catalog, options, progress), sources, form), options["limit"])


def _wanted(options: dict[str, Any]) -> Wanted | None:
    """The records to make up; None where records are read."""
    from kwire_cli.analysis.costs.generated import Wanted

    if options["records"] is None:
        for name in _GENERATED:
            if options[name] not in {None, ()}:
                raise click.UsageError(f"--{name.replace('_', '-')} is for generated records: it needs --records")
        return None
    for name in ("record_format", "limit"):
        if options[name] is not None:
            raise click.UsageError(
                f"--{name.replace('_', '-')} is for records that are read, and --records generates them"
            )
    sizes = [
        default if options[name] is None else options[name]
        for name, default in (("key_size", 16), ("value_size", 100), ("header_size", 16))
    ]
    header_names = options["header_name"]
    count = len(header_names) if options["headers"] is None else options["headers"]
    if len(header_names) > count:
        raise click.UsageError(f"--headers {count} is fewer than the {len(header_names)} that --header-name names")
    names = (*header_names, *(f"header-{number}" for number in range(len(header_names) + 1, count + 1)))
    key, value = (None if size < 0 else size for size in sizes[:2])
    return Wanted(options["records"], key, value, names, sizes[2])


def _plan(options: dict[str, Any], wanted: Wanted | None) -> Plan:
    from kwire_cli.analysis.costs.record_forms import FORMS, Plan

    forms = _names("--record-forms", options["record_forms"] or EVERY, FORMS)
    if not forms:
        raise click.UsageError(f"--record-forms takes {', '.join(FORMS)}")
    codecs = tuple(map(_codec, (options["codec"] or ("none" if wanted else "as-is")).split(",")))
    batches = tuple(
        dict.fromkeys(
            _batch(text, wanted) for text in (options["batch"] or (GENERATED_BATCHES if wanted else BATCHES)).split(",")
        )
    )
    if wanted and not options["batch"]:
        batches = tuple(batch for batch in batches if isinstance(batch, str) or batch < wanted.records)
    return Plan(forms, batches, tuple(dict.fromkeys(codecs)), _register(options["register"]))


def _names(option: str, text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the known names that a list names: every known name for `all`, an empty tuple for `none`.

    Raises UsageError if a name is unknown.
    """
    if text == EVERY:
        return known
    names = tuple(dict.fromkeys(name.strip() for name in text.split(","))) if text != NONE else ()
    for name in names:
        if name not in known:
            raise click.UsageError(f"{option} takes {', '.join(known)}, not {name!r}")
    return names


def _batch(text: str, wanted: Wanted | None) -> int | str:
    from kwire_cli.analysis.costs.record_forms import ALL, AS_IS

    text = text.strip()
    if text == ALL or (text == AS_IS and not wanted):
        return text
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not int(text):
        raise click.UsageError(
            f"--batch takes numbers of records from 1 up, {'' if wanted else 'as-is, '}all, not {text!r}"
        )
    return int(text)


def _codec(text: str) -> Codec:
    from kwire_cli.analysis.costs.record_forms import AS_IS, Codec
    from kwire_cli.records.compression import CODECS, compress

    name, colon, level = text.strip().partition(":")
    number = next((number for number, codec_name in CODECS.items() if codec_name == name), None)
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


def _register(file: str | None) -> Register:
    from kwire_cli.analysis.costs.header_forms import Register, register_of
    from kwire_cli.cli.inputs import documents

    if not file:
        return Register()
    try:
        values = [*documents(Path(file).read_bytes(), file)]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from None
    if len(values) != 1:
        raise InputError(f"the register is one JSON value, and there are {len(values)}", file=file)
    return register_of(values[0], file)
