"""Topics of `kwire explain`: types with values, checksums, headers, apis, and codes of errors, anomalies, findings.

Each topic is a generator: it finds the subject that the user names, and yields its explanations from
`view.explain.topics`. The decorator `topic` creates its command. `Printer` writes the explanations in the requested
format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, make_dataclass, replace
from difflib import get_close_matches
from itertools import chain
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
from kwire_cli.view.explain import topics
from kwire_cli.view.explain.lines import Shown, explanation_lines, explanation_objects
from kwire_cli.view.explain.model import Event, Look, Remark
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import without_control

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Api, Catalog
    from kwire_cli.view.lines import Line


class Printer:
    """Writer of explanations as text, JSON or JSON lines. In text and JSON lines, a run contains each rule once."""

    def __init__(self, environment: Environment, catalog: Catalog, fmt: str, *, short: bool) -> None:
        self.environment = environment
        self.catalog = catalog
        self.fmt = fmt
        self.short = short
        self.rules: set[str] = set()
        self._shown: Shown | None = None

    def show(self, events: Iterable[Event], title: Line | None = None, document: dict[str, Any] | None = None) -> None:
        """Print one explanation. `title` precedes it as text, and `document` has the same content as JSON."""
        if self.fmt == "text":
            self._show_text(events, title)
        elif self.fmt == "jsonl":
            for row in (*([document] if document else []), *explanation_objects(self.catalog, events, self.rules)):
                self.environment.write(dumps(row, indent=False))
        else:
            rows = list(explanation_objects(self.catalog, events, set()))
            steps = [row for row in rows if "rule" not in row]
            rules = [row for row in rows if "rule" in row]
            self.environment.write(dumps({**(document or {}), "explanation": steps, "rules": rules}, indent=True))

    def _show_text(self, events: Iterable[Event], title: Line | None) -> None:
        environment = self.environment
        if self._shown is not None:
            environment.write("")
        self._shown = self._shown or Shown(environment.width)
        lines = explanation_lines(self.catalog, events, short=self.short, shown=self._shown)
        if title:
            environment.write_lines([without_control(title)])
        elif first := next(lines, None):
            environment.write_lines([first])
        environment.write_lines(lines)


FORMATS = ("text", "json", "jsonl")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Explaining(Output, Definitions):
    """Options for printing explanations: --format and --short."""

    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice(FORMATS),
        help="Set the output format.  [default: text, or the file's suffix]",
    )
    short: bool = flag("--short", section="Output", help="Show one line per field, without the rules.")

    def printer(self, environment: Environment) -> Printer:
        """Return the printer for the format. Raises UsageError for --short in a format that has no short form."""
        fmt = self.fmt or self.suffix_among(FORMATS) or "text"
        if self.short and fmt != "text":
            raise click.UsageError(f"--short is for text, and --format {fmt} shows everything")
        return Printer(environment, self.catalog, fmt, short=self.short)


TOPICS: list[click.Command] = []
"""The commands of the topics, in the order of the help."""

Topic = Callable[..., Iterator[Iterable[Event]]]
"""A function that yields the explanations of a topic, given the definitions and the values of its arguments."""


def topic(
    name: str, short_help: str, /, *, numbers: bool = False, **arguments: dict[str, Any]
) -> Callable[[Topic], Topic]:
    """Return a decorator that adds the command of a topic with these arguments. The docstring is the help.

    If an argument is a number, it can be below 0 (`numbers`). Unknown options are then treated as arguments.
    """
    declared = [(key, Any, argument(**settings)) for key, settings in arguments.items()]
    settings: dict[str, Any] = {"frozen": True, "kw_only": True, "eq": False, "repr": False}
    options_type = make_dataclass("TopicOptions", declared, bases=(Explaining,), **settings)

    def decorate(explain: Topic) -> Topic:
        @takes(options_type)
        def run(environment: Environment, options: Explaining) -> None:
            output = options.printer(environment)
            for events in explain(options.catalog, **{key: getattr(options, key) for key in arguments}):
                output.show(events)

        more = {"context_settings": {"ignore_unknown_options": numbers}, "help": explain.__doc__}
        TOPICS.append(click.command(name=name, cls=Command, short_help=short_help, **more)(run))
        return explain

    return decorate


def _several(**settings: Any) -> dict[str, Any]:
    return {"nargs": -1, **settings}


@topic(
    "varint",
    "A number as varints, or bytes as varints: varint -3, varint 0xac02.",
    numbers=True,
    words=_several(required=True, metavar="VALUE..."),
)
def varint(_: Catalog, words: tuple[str, ...]) -> Iterator[Iterable[Event]]:
    """Explain how a number is encoded as a varint, or how bytes are decoded as one.

    VALUE is a number (300, -3), or bytes in hex (0xac02, ac 02).
    """
    data = _parse_bytes(words)
    if data is None:
        try:
            number = int("".join(words).replace("_", ""))
        except ValueError:
            raise InputError(f"{' '.join(words)!a} is neither a number nor hex bytes, such as 0xac02") from None
        is_long = not -(1 << 31) <= number < 1 << 31
    else:
        is_long = len(data) > topics.TYPES["varint"].decl.max_bytes
    for name in ("unsigned-varint", "varlong" if is_long else "varint"):
        decl = topics.TYPES[name].decl
        try:
            if data is not None:
                events = [*topics.explain_bytes(name, decl, data)]
            elif name == "unsigned-varint" and 0 <= number < 1 << 32:
                events = [*topics.explain_unsigned(number)]
            else:
                events = [*topics.explain_value(name, decl, number)]
        except EncodeError as unfit:
            events = [Remark(f"{name}: {unfit.reason}")]
        yield events


def _parse_bytes(words: tuple[str, ...]) -> bytes | None:
    """Parse bytes in hex. Return None for other text, and for a single decimal number without 0x."""
    text = "".join(word.removeprefix("0x") for word in words)
    if not any(word.startswith("0x") for word in words) and text.lstrip("-").isdecimal() and len(words) == 1:
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


@topic(
    "type",
    "A type of the protocol with a value: type compact-string orders.",
    numbers=True,
    name={"required": False},
    value={"required": False},
)
def type_(_: Catalog, name: str | None, value: str | None) -> Iterator[Iterable[Event]]:
    """Explain a type of the protocol, with your VALUE. Without NAME, explain all types.

    NAME is the name in the protocol guide (compact-string, int32, uuid). VALUE is JSON, a bare string, or bytes
    as 0x….
    """
    types = topics.TYPES
    if name is None:
        for type_name, kind in types.items():
            yield topics.explain_value(type_name, kind.decl, kind.example)
        return
    key = name.lower().replace("_", "-")
    if key not in types:
        close = did_you_mean(get_close_matches(key, types))
        raise InputError(f"{name!a} is not a type that can be explained{close}: {', '.join(types)}")
    chosen = types[key]
    if value is not None and value.startswith("0x"):
        yield topics.explain_bytes(key, chosen.decl, _parse_hex(value))
    else:
        yield topics.explain_value(key, chosen.decl, topics.value_of(chosen, value))


def _parse_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise InputError(f"{text!a} is not bytes in hex") from None


@topic(
    "tag", "Tagged fields: an example, or the bytes of a tag section.", numbers=True, words=_several(metavar="[BYTES]")
)
def tag(_: Catalog, words: tuple[str, ...]) -> Iterator[Iterable[Event]]:
    """Explain tagged fields: an example section that knows tag 0, or BYTES in hex as a section."""
    if words:
        data = _parse_hex("".join(word.removeprefix("0x") for word in words))
        yield topics.explain_bytes("tag section", topics.TAGS, data)
    else:
        yield topics.explain_value("tag section", topics.TAGS, topics.TAG_EXAMPLE)


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
                raise InputError("the file contains no record batches", file=file.label)
            item = batch_at(source_of(file.content, form=options.record_format), position or 0, file.label)
            if not isinstance(item, Batch):
                where = f"byte {position or 0} is in no batch ({item.code}, {item.size} bytes from {item.position})"
                raise InputError(f"{where}; for batches in messages use kwire explain", file=file.label)
            output.show(topics.explain_crc(item))
            right = right and item.crc_valid
    return Exit.DONE if right else Exit.FOUND


TOPICS.append(crc)


@topic(
    "header",
    "The headers of requests and responses: header Fetch 12.",
    api={"required": False, "shell_complete": complete_api},
    version={"type": int, "required": False},
)
def header(catalog: Catalog, api: str | None, version: int | None) -> Iterator[Iterable[Event]]:
    """Explain the headers of all messages, or the headers of an API at a VERSION (default: its newest), and why."""
    if api is None:
        yield topics.explain_headers()
    else:
        look = Look(every=False, reading=RecordsAs(catalog))
        yield topics.explain_header(catalog, *_find_version(catalog, api, version), look)


def _find_version(catalog: Catalog, name: str, version: int | None) -> tuple[Api, int]:
    """Return an api and one of its versions, by default the newest one."""
    api = catalog.api(name)
    versions = catalog.entry(api.request or api.response or "").valid_versions
    if not versions:
        raise InputError(f"{api.name} has no valid version any more")
    if version is not None and version not in versions:
        raise InputError(f"{api.name} has versions {versions}, not {version}")
    return api, versions.high if version is None else version


@topic(
    "api",
    "An api: its key, versions, headers and fields.",
    api={"shell_complete": complete_api},
    version={"type": int, "required": False},
)
def api_(catalog: Catalog, api: str, version: int | None) -> Iterator[Iterable[Event]]:
    """Explain an API, given its name or key: its versions, its headers, and the first fields of its messages."""
    if version is not None:
        _find_version(catalog, api, version)
    yield topics.explain_api(catalog, catalog.api(api), version)


@topic(
    "error",
    "Kafka's error codes: error 35.",
    numbers=True,
    words=_several(required=True, metavar="CODE...", shell_complete=complete_error),
)
def error(catalog: Catalog, words: tuple[str, ...]) -> Iterator[Iterable[Event]]:
    """Explain error codes: their meaning, who returns them, and how clients react.

    CODE is a number or part of a name; `kwire spec errors` lists all codes.
    """
    for row in matching_codes(catalog, words):
        yield topics.explain_error(row, catalog.error_meanings[row.name])


@topic(
    "size",
    "An invalid size in a log: size 1195725856 is HTTP.",
    numbers=True,
    sizes=_several(required=True, metavar="SIZE...", type=click.IntRange(0, (1 << 31) - 1)),
)
def size(_: Catalog, sizes: tuple[int, ...]) -> Iterator[Iterable[Event]]:
    """Explain sizes of frames that brokers and clients report as invalid.

    SIZE is the decimal number in a message such as `Invalid receive (size = 369295616 larger than 104857600)`. Most
    such numbers are the first bytes of another protocol.
    """
    return map(topics.explain_size, sizes)


@topic(
    "anomaly",
    "A code of anomalous or malformed bytes: anomaly TAG_ORDER.",
    words=_several(metavar="[CODE]...", shell_complete=complete_anomaly),
)
def anomaly(_: Catalog, words: tuple[str, ...]) -> Iterator[Iterable[Event]]:
    """Explain anomaly codes. Without CODE, explain all of them."""
    codes = [_check_code(code, MEANING, "an anomaly code", "kwire explain anomaly") for code in words]
    yield chain.from_iterable(map(topics.explain_anomaly, codes or MEANING))


@topic(
    "finding",
    "A finding of kwire diagnose: finding UNREACHABLE_LISTENER.",
    words=_several(metavar="[CODE]...", shell_complete=complete_finding),
)
def finding(_: Catalog, words: tuple[str, ...]) -> Iterator[Iterable[Event]]:
    """Explain findings of `kwire diagnose`. Without CODE, explain all of them."""
    kinds = finding_kinds()
    codes = [_check_code(code, kinds, "a finding", "kwire explain finding") for code in words]
    yield chain.from_iterable(topics.explain_finding(kinds[code]) for code in codes or kinds)


def _check_code(text: str, codes: Collection[str], what: str, listing: str) -> str:
    """Return the code for `text`, which can be in any case and have `-` for `_`. Raise InputError if it is unknown."""
    code = text.upper().replace("-", "_")
    if code not in codes:
        raise InputError(f"{text!a} is not {what}{did_you_mean(close_to(code, codes)) or f'; {listing} lists all'}")
    return code
