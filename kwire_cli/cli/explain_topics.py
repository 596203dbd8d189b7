"""Topics of `kwire explain`."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completion import complete_anomaly, complete_api, complete_error, complete_file
from kwire_cli.cli.old_options import with_catalog, with_output
from kwire_cli.errors import EncodeError, InputError, close_to, did_you_mean
from kwire_cli.records.formats import CHOICES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Api, Catalog
    from kwire_cli.view.explain.lines import Shown
    from kwire_cli.view.explain.model import Event
    from kwire_cli.view.explain.topics import Type
    from kwire_cli.view.lines import Line


# How `kwire explain` prints: lines for eyes, long or short, or JSON.

FORMATS = ("text", "json", "jsonl")


@dataclass
class Output:
    """The format, and what was said already in this run: rules are said once."""

    fmt: str
    short: bool
    shown: Shown | None = None
    rules: set[str] = field(default_factory=set)

    def show(
        self,
        environment: Environment,
        catalog: Catalog,
        events: Iterable[Event],
        title: Line | None = None,
        document: dict[str, Any] | None = None,
    ) -> None:
        """Print one explanation; `title` stands above it, `document` has the same for programs."""
        if self.fmt == "text":
            self._lines(environment, catalog, events, title)
            return
        from kwire_cli.view.explain.lines import explanation_objects
        from kwire_cli.view.json import dumps

        if self.fmt == "jsonl":
            if document:
                environment.write(dumps(document, indent=False))
            for row in explanation_objects(catalog, events, self.rules):
                environment.write(dumps(row, indent=False))
            return
        rules: list[dict[str, Any]] = []
        steps: list[dict[str, Any]] = []
        for row in explanation_objects(catalog, events, set()):  # a document stands for itself
            (rules if "rule" in row else steps).append(row)
        environment.write(dumps({**(document or {}), "explanation": steps, "rules": rules}, indent=True))

    def _lines(self, environment: Environment, catalog: Catalog, events: Iterable[Event], title: Line | None) -> None:
        from kwire_cli.view.explain.lines import Shown, explanation_lines
        from kwire_cli.view.lines import without_control

        first = self.shown is None
        self.shown = self.shown or Shown()
        if not first:
            environment.write("")
        if title:
            environment.write_lines([without_control(title)])
        lines = explanation_lines(catalog, events, short=self.short, shown=self.shown)
        environment.write_lines(lines if title else _without_blank(lines))


def _without_blank(lines: Iterable[Line]) -> Iterable[Line]:
    """Without the empty line that stands before a part, where nothing stands before that."""
    rest = iter(lines)
    for line in rest:
        if line:
            yield line
        yield from rest


def with_explanation(command: Callable[..., Any]) -> Callable[..., Any]:
    """--format and --short; the command gets an `output`."""

    @click.option(
        "--format",
        "-f",
        "fmt",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="Set the output format.",
    )
    @click.option("--short", is_flag=True, help="Show one line per field, without the rules.")
    @wraps(command)
    def wrapped(*args: Any, fmt: str, short: bool, **kwargs: Any) -> Any:
        if short and fmt != "text":
            raise click.UsageError(f"--short is for text, and --format {fmt} shows everything")
        return command(*args, output=Output(fmt, short), **kwargs)

    return wrapped


# The topics of `kwire explain`: types with values of the reader's own, checksums, headers, apis, error codes,
# anomalies.

ANY = {"ignore_unknown_options": True}
"""For numbers below 0, which look like options."""


@click.command(
    name="varint", context_settings=ANY, short_help="A number as varints, or bytes as such: varint -3, varint 0xac02."
)
@click.argument("value", nargs=-1, required=True)
@click.option(
    "--unsigned",
    "which",
    flag_value="unsigned-varint",
    help="Show only the unsigned varint, of lengths, counts and tags.",
)
@click.option("--zigzag", "which", flag_value="varint", help="Show only the zig-zag varint, of numbers in records.")
@with_explanation
@with_catalog
@with_output
def varint(
    environment: Environment, catalog: Catalog, output: Output, value: tuple[str, ...], which: str | None
) -> None:
    """Explain how a number is written as a varint, or how bytes are read as one.

    VALUE is a number (300, -3), or bytes in hex (0xac02, ac 02).
    """
    from kwire_cli.view.explain.model import Remark
    from kwire_cli.view.explain.topics import TYPES, explain_bytes, explain_value

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
    names = (
        [which]
        if which and not long
        else ["varlong"]
        if which == "varint"
        else ["unsigned-varint", "varlong" if long else "varint"]
    )
    for name in names:
        kind = TYPES[name]
        try:
            events = (
                [*explain_value(name, kind.decl, number)] if data is None else [*explain_bytes(name, kind.decl, data)]
            )
        except EncodeError as unfit:
            if len(names) == 1:
                raise
            events = [Remark(f"{name}: {unfit.reason}")]
        output.show(environment, catalog, events)


def _bytes_of(words: tuple[str, ...]) -> bytes | None:
    """Bytes in hex: after 0x, or in words of which one is no number; None for anything else."""
    text = "".join(word.removeprefix("0x") for word in words)
    if not any(word.startswith("0x") for word in words) and text.lstrip("-").isdecimal() and len(words) == 1:
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


@click.command(
    name="type", context_settings=ANY, short_help="A type of the protocol with a value: type compact-string orders."
)
@click.argument("name", required=False)
@click.argument("value", required=False)
@with_explanation
@with_catalog
@with_output
def type_(environment: Environment, catalog: Catalog, output: Output, name: str | None, value: str | None) -> None:
    """Explain a type of the protocol, with a VALUE of yours; all types without NAME.

    NAME is the name in the protocol guide (compact-string, int32, uuid). VALUE is JSON, a bare string, or bytes
    as 0x….
    """
    from kwire_cli.view.explain.topics import TYPES, explain_bytes, explain_value, value_of

    if name is None:
        for type_name, kind in TYPES.items():
            output.show(environment, catalog, explain_value(type_name, kind.decl, kind.example))
        return
    key = name.lower().replace("_", "-")
    if key not in TYPES:
        raise InputError(
            f"{name!a} is not a type that can be explained{did_you_mean(get_close_matches(key, TYPES))}: "
            f"{', '.join(TYPES)}"
        )
    chosen: Type = TYPES[key]
    if value is not None and value.startswith("0x"):
        output.show(environment, catalog, explain_bytes(key, chosen.decl, _hex(value)))
    else:
        output.show(environment, catalog, explain_value(key, chosen.decl, value_of(chosen, value)))


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise InputError(f"{text!a} is not bytes in hex") from None


@click.command(name="tag", short_help="Tagged fields: an example, or the bytes of a tag section.")
@click.argument("data", nargs=-1, metavar="[BYTES]")
@with_explanation
@with_catalog
@with_output
def tag(environment: Environment, catalog: Catalog, output: Output, data: tuple[str, ...]) -> None:
    """Explain tagged fields: an example section that knows tag 0, or BYTES in hex as a section."""
    from kwire_cli.view.explain.topics import TAG_EXAMPLE, TAGS, explain_bytes, explain_value

    if data:
        events = explain_bytes("tag section", TAGS, _hex("".join(word.removeprefix("0x") for word in data)))
    else:
        events = explain_value("tag section", TAGS, TAG_EXAMPLE)
    output.show(environment, catalog, events)


@click.command(name="crc", short_help="The checksum of a batch: crc FILE@POSITION.")
@click.argument("source", metavar="FILE[@POSITION]", shell_complete=complete_file)
@click.option("--record-format", type=click.Choice(CHOICES), default="auto", help="Set the record format.")
@with_explanation
@with_catalog
@with_output
def crc(environment: Environment, catalog: Catalog, output: Output, source: str, record_format: str) -> int:
    """Explain the checksum of a batch in a segment: which bytes it covers, its polynomial, the stated and the computed
    value.

    FILE is a segment or snapshot, POSITION a byte of the batch (default: the first). Exits with 1 if
    the checksum is wrong.
    """
    from kwire_cli.cli.environment import Exit
    from kwire_cli.cli.message_inputs import batch_at, place
    from kwire_cli.cli.segments import files_of
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.reading import source_of
    from kwire_cli.view.explain.topics import explain_crc

    text, position = place(source)
    right = True
    for file in files_of(environment, (text,)):
        if not file.has_batches:
            raise InputError("this holds no record batches", file=file.label)
        item = batch_at(source_of(file.view, form=record_format), position or 0, file.label)
        if not isinstance(item, Batch):
            where = f"byte {position or 0} is in no batch ({item.code}, {item.size} bytes from {item.position})"
            raise InputError(f"{where}; kwire explain shows those in messages", file=file.label)
        output.show(environment, catalog, explain_crc(item))
        right = right and item.crc_valid
    return Exit.DONE if right else Exit.FOUND


@click.command(name="header", short_help="The headers of requests and responses: header Fetch 12.")
@click.argument("api", required=False, shell_complete=complete_api)
@click.argument("version", type=int, required=False)
@with_explanation
@with_catalog
@with_output
def header(environment: Environment, catalog: Catalog, output: Output, api: str | None, version: int | None) -> None:
    """Explain the headers of requests and responses, or those of an API at a VERSION (default: its newest), and why."""
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.view.explain.messages import Look
    from kwire_cli.view.explain.topics import explain_header, explain_headers

    if api is None:
        output.show(environment, catalog, explain_headers())
        return
    resolved_api, number = _version(catalog, api, version)
    output.show(
        environment,
        catalog,
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


@click.command(name="api", short_help="An api: its key, versions, headers and fields.")
@click.argument("api", shell_complete=complete_api)
@click.argument("version", type=int, required=False)
@with_explanation
@with_catalog
@with_output
def api_(environment: Environment, catalog: Catalog, output: Output, api: str, version: int | None) -> None:
    """Explain an API, given its name or key: its versions, its headers, and the first fields of its messages."""
    from kwire_cli.view.explain.topics import explain_api

    resolved_api = catalog.api(api)
    if version is not None:
        _version(catalog, api, version)
    output.show(environment, catalog, explain_api(catalog, resolved_api, version))


@click.command(name="error", context_settings=ANY, short_help="Kafka's error codes: error 35.")
@click.argument("code", nargs=-1, required=True, shell_complete=complete_error)
@with_explanation
@with_catalog
@with_output
def error(environment: Environment, catalog: Catalog, output: Output, code: tuple[str, ...]) -> None:
    """Explain error codes: what they mean, who returns them, and how clients react.

    CODE is a number or part of a name; `kwire errors` lists all codes.
    """
    from kwire_cli.cli.errors import matching_codes
    from kwire_cli.view.explain.topics import explain_error

    for row in matching_codes(catalog, code):
        output.show(environment, catalog, explain_error(row, catalog.error_meanings[row.name]))


@click.command(name="anomaly", short_help="A code of anomalous or malformed bytes: anomaly TAG_ORDER.")
@click.argument("code", nargs=-1, shell_complete=complete_anomaly)
@with_explanation
@with_catalog
@with_output
def anomaly(environment: Environment, catalog: Catalog, output: Output, code: tuple[str, ...]) -> None:
    """Explain anomaly codes; all of them without CODE."""
    from kwire_cli.engine.codes import MEANING
    from kwire_cli.view.explain.topics import explain_anomaly

    def events() -> Iterator[Event]:
        for anomaly_code in code or MEANING:
            name = anomaly_code.upper().replace("-", "_")
            if name not in MEANING:
                raise InputError(
                    f"{anomaly_code!a} is not an anomaly "
                    f"code{did_you_mean(close_to(name, MEANING)) or '; kwire explain anomaly lists all'}"
                )
            yield from explain_anomaly(name)

    output.show(environment, catalog, events())


TOPICS: tuple[Any, ...] = (varint, type_, tag, crc, header, api_, error, anomaly)
