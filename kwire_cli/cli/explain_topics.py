"""Topics of `kwire explain`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import (
    complete_anomaly,
    complete_api,
    complete_error,
    complete_file,
    complete_finding,
    finding_kinds,
)
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.explain_inputs import batch_at
from kwire_cli.cli.inputs import Terminal, place, reading_of
from kwire_cli.cli.options import Definitions, Output
from kwire_cli.cli.spec import matching_codes
from kwire_cli.cli.typed_options import argument, flag, option, takes
from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import EncodeError, InputError, close_to, did_you_mean
from kwire_cli.message.roles import RecordsAs
from kwire_cli.records.batch import Batch
from kwire_cli.records.formats import CHOICES
from kwire_cli.records.reading import source_of
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.opening import open_inputs
from kwire_cli.view.explain.lines import Shown, explanation_lines, explanation_objects
from kwire_cli.view.explain.messages import Look
from kwire_cli.view.explain.model import Remark
from kwire_cli.view.explain.topics import (
    TAG_EXAMPLE,
    TAGS,
    TYPES,
    explain_anomaly,
    explain_api,
    explain_bytes,
    explain_crc,
    explain_error,
    explain_finding,
    explain_header,
    explain_headers,
    explain_size,
    explain_unsigned,
    explain_value,
    value_of,
)
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import without_control

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Api, Catalog
    from kwire_cli.view.explain.model import Event
    from kwire_cli.view.explain.topics import Type
    from kwire_cli.view.lines import Line


# How `kwire explain` prints: lines for eyes, long or short, or JSON.


class Text:
    """Prints explanations as lines for eyes. Rules are said once in a run."""

    def __init__(self, environment: Environment, catalog: Catalog, *, short: bool) -> None:
        self.environment, self.catalog, self.short = environment, catalog, short
        self.rules: set[str] = set()
        self._shown: Shown | None = None

    def show(self, events: Iterable[Event], title: Line | None = None, document: dict[str, Any] | None = None) -> None:
        """Print one explanation; `title` stands above it, `document` has the same for programs."""
        environment = self.environment
        if self._shown is not None:
            environment.write("")
        self._shown = self._shown or Shown(environment.width)
        if title:
            environment.write_lines([without_control(title)])
        lines = explanation_lines(self.catalog, events, short=self.short, shown=self._shown)
        environment.write_lines(lines if title else _without_blank(lines))


class JsonLines(Text):
    """Prints explanations as JSON, a step a line."""

    def show(self, events: Iterable[Event], title: Line | None = None, document: dict[str, Any] | None = None) -> None:
        """Print one explanation."""
        if document:
            self.environment.write(dumps(document, indent=False))
        for row in explanation_objects(self.catalog, events, self.rules):
            self.environment.write(dumps(row, indent=False))


class Json(Text):
    """Prints each explanation as one JSON document, with its rules."""

    def show(self, events: Iterable[Event], title: Line | None = None, document: dict[str, Any] | None = None) -> None:
        """Print one explanation."""
        rows = [*explanation_objects(self.catalog, events, set())]
        steps, rules = ([row for row in rows if ("rule" in row) is said] for said in (False, True))
        self.environment.write(dumps({**(document or {}), "explanation": steps, "rules": rules}, indent=True))


OUTPUTS: dict[str, type[Text]] = {"text": Text, "json": Json, "jsonl": JsonLines}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Explaining(Output, Definitions):
    """Options for printing explanations: --format and --short."""

    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice([*OUTPUTS]),
        help="Set the output format.  [default: text, or the file's suffix]",
    )
    short: bool = flag("--short", section="Output", help="Show one line per field, without the rules.")

    def printer(self, environment: Environment) -> Text:
        """Return what prints explanations. UsageError for --short in a format that has no short form."""
        fmt = self.fmt or self.suffix_among(OUTPUTS) or "text"
        if self.short and fmt != "text":
            raise click.UsageError(f"--short is for text, and --format {fmt} shows everything")
        return OUTPUTS[fmt](environment, self.catalog, short=self.short)


def _without_blank(lines: Iterable[Line]) -> Iterable[Line]:
    """Yield lines without the empty line before the first one."""
    rest = iter(lines)
    for line in rest:
        if line:
            yield line
        yield from rest


# The topics of `kwire explain`: types with values of the reader's own, checksums, headers, apis, error codes,
# anomalies.

ANY = {"ignore_unknown_options": True}
"""For numbers below 0, which look like options."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VarintOptions(Explaining):
    """Options of `kwire explain varint`."""

    value: tuple[str, ...] = argument(nargs=-1, required=True)


@click.command(
    name="varint",
    cls=Command,
    context_settings=ANY,
    short_help="A number as varints, or bytes as such: varint -3, varint 0xac02.",
)
@takes(VarintOptions)
def varint(environment: Environment, options: VarintOptions) -> None:
    """Explain how a number is written as a varint, or how bytes are read as one.

    VALUE is a number (300, -3), or bytes in hex (0xac02, ac 02).
    """
    output = options.printer(environment)
    value = options.value
    data = _bytes_of(value)
    if data is None:
        try:
            number = int("".join(value).replace("_", ""))
        except ValueError:
            text = " ".join(value)
            raise InputError(f"{text!a} is neither a number nor bytes in hex, such as 0xac02") from None
        long = not -(1 << 31) <= number < 1 << 31
    else:
        long = len(data) > TYPES["varint"].decl.max_bytes
    for name in ("unsigned-varint", "varlong" if long else "varint"):
        kind = TYPES[name]
        try:
            if data is not None:
                events = [*explain_bytes(name, kind.decl, data)]
            elif name == "unsigned-varint" and 0 <= number < 1 << 32:
                events = [*explain_unsigned(number)]
            else:
                events = [*explain_value(name, kind.decl, number)]
        except EncodeError as unfit:
            events = [Remark(f"{name}: {unfit.reason}")]
        output.show(events)


def _bytes_of(words: tuple[str, ...]) -> bytes | None:
    """Bytes in hex: after 0x, or in words of which one is no number; None for anything else."""
    text = "".join(word.removeprefix("0x") for word in words)
    if not any(word.startswith("0x") for word in words) and text.lstrip("-").isdecimal() and len(words) == 1:
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TypeOptions(Explaining):
    """Options of `kwire explain type`."""

    name: str | None = argument(required=False)
    value: str | None = argument(required=False)


@click.command(
    name="type",
    cls=Command,
    context_settings=ANY,
    short_help="A type of the protocol with a value: type compact-string orders.",
)
@takes(TypeOptions)
def type_(environment: Environment, options: TypeOptions) -> None:
    """Explain a type of the protocol, with a VALUE of yours; all types without NAME.

    NAME is the name in the protocol guide (compact-string, int32, uuid). VALUE is JSON, a bare string, or bytes
    as 0x….
    """
    output = options.printer(environment)
    name, value = options.name, options.value
    if name is None:
        for type_name, kind in TYPES.items():
            output.show(explain_value(type_name, kind.decl, kind.example))
        return
    key = name.lower().replace("_", "-")
    if key not in TYPES:
        raise InputError(
            f"{name!a} is not a type that can be explained{did_you_mean(get_close_matches(key, TYPES))}: "
            f"{', '.join(TYPES)}"
        )
    chosen: Type = TYPES[key]
    if value is not None and value.startswith("0x"):
        output.show(explain_bytes(key, chosen.decl, _hex(value)))
    else:
        output.show(explain_value(key, chosen.decl, value_of(chosen, value)))


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise InputError(f"{text!a} is not bytes in hex") from None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TagOptions(Explaining):
    """Options of `kwire explain tag`."""

    data: tuple[str, ...] = argument(nargs=-1, metavar="[BYTES]")


@click.command(name="tag", cls=Command, short_help="Tagged fields: an example, or the bytes of a tag section.")
@takes(TagOptions)
def tag(environment: Environment, options: TagOptions) -> None:
    """Explain tagged fields: an example section that knows tag 0, or BYTES in hex as a section."""
    output = options.printer(environment)
    data = options.data
    if data:
        events = explain_bytes("tag section", TAGS, _hex("".join(word.removeprefix("0x") for word in data)))
    else:
        events = explain_value("tag section", TAGS, TAG_EXAMPLE)
    output.show(events)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CrcOptions(Explaining):
    """Options of `kwire explain crc`."""

    source: str = argument(metavar="FILE[@POSITION]", shell_complete=complete_file)
    record_format: str = option(
        "--record-format", type=click.Choice(CHOICES), default="auto", help="Set the record format."
    )


@click.command(name="crc", cls=Command, short_help="The checksum of a batch: crc FILE@POSITION.")
@takes(CrcOptions)
def crc(environment: Environment, options: CrcOptions) -> int:
    """Explain the checksum of a batch in a segment: which bytes it covers, its polynomial, the stated and the computed
    value.

    FILE is a segment or snapshot, POSITION a byte of the batch (default: the first). Exits with 1 if
    the checksum is wrong.
    """
    output = options.printer(environment)
    text, position = place(options.source)
    how = replace(reading_of(options), input_kind=Kind.BATCHES)
    right = True
    for opened in open_inputs((text,), how, Terminal(environment), takes={Kind.BATCHES, Kind.LOG_FILE, Kind.FOLDER}):
        for file in opened.files() if isinstance(opened, LogInput) else ():
            if not file.has_batches:
                raise InputError("this holds no record batches", file=file.label)
            item = batch_at(source_of(file.content, form=options.record_format), position or 0, file.label)
            if not isinstance(item, Batch):
                where = f"byte {position or 0} is in no batch ({item.code}, {item.size} bytes from {item.position})"
                raise InputError(f"{where}; kwire explain shows those in messages", file=file.label)
            output.show(explain_crc(item))
            right = right and item.crc_valid
    return Exit.DONE if right else Exit.FOUND


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeaderOptions(Explaining):
    """Options of `kwire explain header`."""

    api: str | None = argument(required=False, shell_complete=complete_api)
    version: int | None = argument(type=int, required=False)


@click.command(name="header", cls=Command, short_help="The headers of requests and responses: header Fetch 12.")
@takes(HeaderOptions)
def header(environment: Environment, options: HeaderOptions) -> None:
    """Explain the headers of requests and responses, or those of an API at a VERSION (default: its newest), and why."""
    output = options.printer(environment)
    api, catalog = options.api, options.catalog
    if api is None:
        output.show(explain_headers())
        return
    resolved_api, number = _version(catalog, api, options.version)
    output.show(
        explain_header(catalog, resolved_api, number, Look(every=False, reading=RecordsAs(catalog))),
    )


def _version(catalog: Catalog, api: str, version: int | None) -> tuple[Api, int]:
    """An api and a version that it has, the newest where none is said."""
    resolved_api = catalog.api(api)
    versions = catalog.entry(resolved_api.request or resolved_api.response or "").valid_versions
    if not versions:
        raise InputError(f"{resolved_api.name} has no valid version any more")
    if version is not None and version not in versions:
        raise InputError(f"{resolved_api.name} has versions {versions}, not {version}")
    return resolved_api, versions.high if version is None else version


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ApiOptions(Explaining):
    """Options of `kwire explain api`."""

    api: str = argument(shell_complete=complete_api)
    version: int | None = argument(type=int, required=False)


@click.command(name="api", cls=Command, short_help="An api: its key, versions, headers and fields.")
@takes(ApiOptions)
def api_(environment: Environment, options: ApiOptions) -> None:
    """Explain an API, given its name or key: its versions, its headers, and the first fields of its messages."""
    output = options.printer(environment)
    catalog, version = options.catalog, options.version
    resolved_api = catalog.api(options.api)
    if version is not None:
        _version(catalog, options.api, version)
    output.show(explain_api(catalog, resolved_api, version))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ErrorOptions(Explaining):
    """Options of `kwire explain error`."""

    code: tuple[str, ...] = argument(nargs=-1, required=True, shell_complete=complete_error)


@click.command(name="error", cls=Command, context_settings=ANY, short_help="Kafka's error codes: error 35.")
@takes(ErrorOptions)
def error(environment: Environment, options: ErrorOptions) -> None:
    """Explain error codes: what they mean, who returns them, and how clients react.

    CODE is a number or part of a name; `kwire spec errors` lists all codes.
    """
    output = options.printer(environment)
    catalog = options.catalog
    for row in matching_codes(catalog, options.code):
        output.show(explain_error(row, catalog.error_meanings[row.name]))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SizeOptions(Explaining):
    """Options of `kwire explain size`."""

    size: tuple[int, ...] = argument(nargs=-1, required=True, type=click.IntRange(0, (1 << 31) - 1))


@click.command(name="size", cls=Command, short_help="An invalid size in a log: size 1195725856 is HTTP.")
@takes(SizeOptions)
def size(environment: Environment, options: SizeOptions) -> None:
    """Explain sizes of frames that brokers and clients report as invalid.

    SIZE is the decimal number in a message such as `Invalid receive (size = 369295616 larger than 104857600)`. Most
    such numbers are the first bytes of another protocol.
    """
    output = options.printer(environment)
    for number in options.size:
        output.show(explain_size(number))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AnomalyOptions(Explaining):
    """Options of `kwire explain anomaly`."""

    code: tuple[str, ...] = argument(nargs=-1, shell_complete=complete_anomaly)


@click.command(name="anomaly", cls=Command, short_help="A code of anomalous or malformed bytes: anomaly TAG_ORDER.")
@takes(AnomalyOptions)
def anomaly(environment: Environment, options: AnomalyOptions) -> None:
    """Explain anomaly codes; all of them without CODE."""
    output = options.printer(environment)

    def events() -> Iterator[Event]:
        for code in options.code or MEANING:
            yield from explain_anomaly(_known_code(code, MEANING, "an anomaly code", "kwire explain anomaly"))

    output.show(events())


def _known_code(text: str, codes: Collection[str], what: str, listing: str) -> str:
    """Return the code that a text names in any case, with `-` for `_`. Raise InputError if there is none."""
    code = text.upper().replace("-", "_")
    if code not in codes:
        raise InputError(f"{text!a} is not {what}{did_you_mean(close_to(code, codes)) or f'; {listing} lists all'}")
    return code


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FindingOptions(Explaining):
    """Options of `kwire explain finding`."""

    code: tuple[str, ...] = argument(nargs=-1, shell_complete=complete_finding)


@click.command(name="finding", cls=Command, short_help="A finding of kwire diagnose: finding UNREACHABLE_LISTENER.")
@takes(FindingOptions)
def finding(environment: Environment, options: FindingOptions) -> None:
    """Explain findings of `kwire diagnose`; all of them without CODE."""
    output = options.printer(environment)
    kinds = finding_kinds()

    def events() -> Iterator[Event]:
        for code in options.code or kinds:
            yield from explain_finding(kinds[_known_code(code, kinds, "a finding", "kwire explain finding")])

    output.show(events())


TOPICS: tuple[Any, ...] = (varint, type_, tag, crc, header, api_, error, size, anomaly, finding)
