"""`kwire spec`: list and show message definitions, overlays and error codes.

`list`, `overlays` and `errors` write tables in the formats of all commands. `show` writes a definition with one of
`VIEWS`, and `docs` remembers where Kafka's own texts about fields are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import click

from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Group
from kwire_cli.cli.completers import complete_error, complete_file, complete_message, complete_version
from kwire_cli.cli.emit import emit
from kwire_cli.cli.options import Definitions, Output, Report
from kwire_cli.cli.typed_options import Printing, argument, flag, option, takes
from kwire_cli.errors import InputError, KwireError, close_to, did_you_mean
from kwire_cli.spec.accepted import definition_of, definition_text
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.model import check_version
from kwire_cli.spec.overlay import bundled_overlays, load_overlay
from kwire_cli.spec.texts import remember, remembered
from kwire_cli.stores.paths import exists
from kwire_cli.view.definitions import bnf_lines, construct_lines, table_lines, version_document
from kwire_cli.view.json import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog, ErrorCode
    from kwire_cli.spec.model import Entry, MessageSpec

TYPES = ("request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value")
MESSAGES = (
    Column("apiKey", "id", "key"),
    Column("name", title="message"),
    Column("type", keep=2),
    Column("validVersions", title="versions"),
    Column("flexibleVersions", title="flexible", keep=1),
    Column("aliases", "list", wide=True),
    Column("module", wide=True),
)
_OVERLAYS = (Column("name"), Column("about"), Column("messages", "list", wide=True), Column("file", wide=True))
ERRORS = (
    Column("code", "id"),
    Column("name"),
    Column("retriable", "flag"),
    Column("meaning", wide=True),
    Column("given", wide=True),
    Column("clients", wide=True),
    Column("advice", wide=True),
)
EXPLAINED = ("meaning", "clients")
"""Columns that a terminal shows for at most MAX_EXPLAINED codes."""
MAX_EXPLAINED = 3
MAX_CLOSE = 4
"""Maximum number of suggestions for an unknown error code."""


EXAMPLES = (
    ("kwire spec list heartbeat", "the messages with this in their name"),
    ("kwire spec show HeartbeatRequest", "the fields of one, over its versions"),
    ("kwire spec show FindCoordinatorRequest 6 --format bnf", "the notation of Kafka's own pages"),
    ("kwire spec errors 27 35", "what these error codes mean"),
    ("kwire spec docs", "where Kafka's own texts about fields are taken from"),
)


@click.group(name="spec", cls=Group, examples=EXAMPLES)
def command() -> None:
    """Show the definitions of Kafka's messages, and its error codes."""


class Listing(Report):
    """Options of `kwire spec overlays`."""

    PIPED: ClassVar[str] = "table"


class ListOptions(Listing, Definitions):
    """Options of `kwire spec list`."""

    text: str | None = argument(required=False, shell_complete=complete_message)
    kind: str | None = option("--type", type=click.Choice(TYPES), help="List only messages of this type.")


@command.command(name="list", short_help="List messages with their versions.")
@takes(ListOptions)
def list_(environment: Environment, options: ListOptions) -> None:
    """List messages with their versions.

    With TEXT, only messages whose name contains TEXT, or whose api key is TEXT.
    """
    text = options.text
    kind = options.kind
    entries = [
        entry for entry in options.catalog if (not kind or entry.type == kind) and (not text or _matches(entry, text))
    ]
    if not entries:
        wanted = f"the api key {text}" if text and text.isdigit() else f"{text!r} in its name"
        raise InputError(f"no {kind or 'message'} has {wanted}")
    entries.sort(
        key=lambda entry: (TYPES.index(entry.type), -1 if entry.api_key is None else entry.api_key, entry.name)
    )
    rows = [
        (
            entry.api_key,
            entry.name,
            entry.type,
            str(entry.valid_versions),
            str(entry.flexible_versions),
            [*entry.aliases],
            entry.module,
        )
        for entry in entries
    ]
    emit(environment, Answer("Kafka's messages", [Table("messages", MESSAGES, rows)]), options)


def _matches(entry: Entry, text: str) -> bool:
    names = (entry.name, *entry.aliases)
    return str(entry.api_key) == text if text.isdigit() else any(text.lower() in name.lower() for name in names)


class ShowOptions(Output, Definitions):
    """Options of `kwire spec show`."""

    message: str = argument(shell_complete=complete_message)
    version: int | None = argument(type=int, required=False, shell_complete=complete_version)
    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice(["table", "json", "bnf", "construct"]),
        help="Set the output format.  [default: table, or the file's suffix]",
    )


@command.command(name="show", short_help="Show the fields of a message.")
@takes(ShowOptions)
def show(environment: Environment, options: ShowOptions) -> None:
    """Show the fields of a message in a VERSION, or over all versions.

    MESSAGE is a full name (MetadataResponse), or an api (metadata, 3), which shows its request and its response.
    """
    version = options.version
    write = VIEWS[options.fmt or options.suffix_among(VIEWS) or "table"]
    for number, spec in enumerate(specs_of(options.catalog, options.message)):
        if version is not None or write in {_write_bnf, _write_construct}:
            check_version(spec, version)
        if number and write is not _write_document:
            environment.write("")
        write(environment, options.catalog, spec, version)


def specs_of(catalog: Catalog, name: str) -> list[MessageSpec]:
    """Return the definition of a message, or the definitions of the request and response of an api.

    Raise InputError if `name` is neither.
    """
    try:
        return [catalog.message(name)]
    except InputError as unknown:
        try:
            api = catalog.api(name)
        except KwireError:
            if exists(name):
                what = "is a file: --specs reads its definitions, MESSAGE is the name of one"
                raise InputError(f"{name!a} {what}") from None
            raise unknown from None
    return [catalog.message(half) for half in (api.request, api.response) if half]


def _write_table(environment: Environment, _: Catalog, spec: MessageSpec, version: int | None) -> None:
    environment.write_lines(table_lines(spec, version, environment.width))


def _write_bnf(environment: Environment, _: Catalog, spec: MessageSpec, version: int | None) -> None:
    for number in [version] if version is not None else spec.valid_versions.each():
        environment.write_lines(bnf_lines(spec, number))


def _write_construct(environment: Environment, _: Catalog, spec: MessageSpec, version: int | None) -> None:
    for number in [version] if version is not None else spec.valid_versions.each():
        environment.write_lines(construct_lines(spec, number))


def _write_document(environment: Environment, catalog: Catalog, spec: MessageSpec, version: int | None) -> None:
    if version is None:
        environment.write(definition_text(definition_of(spec)).rstrip("\n"))
        return
    header = (
        catalog.header_version(spec.type, spec.api_key, version)
        if spec.type in {"request", "response"} and spec.api_key is not None
        else None
    )
    environment.write(dumps(version_document(spec, version, header), indent=True))


VIEWS: dict[str, Callable[[Environment, Catalog, MessageSpec, int | None], None]] = {
    "table": _write_table,
    "json": _write_document,
    "bnf": _write_bnf,
    "construct": _write_construct,
}
"""Views of a definition, by format."""


@command.command(name="overlays", short_help="List the overlays that come with kwire.")
@takes(Listing)
def overlays(environment: Environment, options: Listing) -> None:
    """List the overlays that come with kwire, for --specs: proposed encodings, tags and types, laid over
    definitions.
    """
    loaded = [(name, load_overlay(name)) for name in bundled_overlays()]
    rows = [(name, overlay.about, [*overlay.messages], overlay.file) for name, overlay in loaded]
    emit(environment, Answer("Overlays", [Table("overlays", _OVERLAYS, rows)]), options)


class DocsOptions(Printing):
    """Options of `kwire spec docs`."""

    paths: tuple[str, ...] = argument(nargs=-1, metavar="[PATH]...", shell_complete=complete_file)
    forget: bool = flag("--forget", help="Forget the paths.")


@command.command(name="docs", short_help="Remember where Kafka's own texts about fields are.")
@takes(DocsOptions)
def docs(environment: Environment, options: DocsOptions) -> None:
    """Remember a jar of Kafka, or a folder with its sources, and show its texts about fields.

    `spec show`, `explain`, `decode -f hex` and pages show them. Without PATH, print the remembered paths.
    """
    from kwire_cli.spec.evolution.sources import holds_definitions

    if options.paths and options.forget:
        raise click.UsageError("--forget takes no PATH")
    for path in options.paths:
        if not exists(path):
            raise InputError("there is no such jar or folder", file=path)
        if path.endswith(".json") or not holds_definitions(path):
            raise InputError("expected a jar or a folder with definitions of Kafka", file=path)
    if options.paths or options.forget:
        remember(options.paths)
    for path in remembered():
        environment.write(path)
    if not remembered() and not options.forget:
        environment.note("kwire: no path is remembered; kwire spec docs PATH remembers a jar of Kafka or its sources")


class ErrorOptions(Listing):
    """Options of `kwire spec errors`."""

    code: tuple[str, ...] = argument(nargs=-1, shell_complete=complete_error)


@command.command(name="errors", short_help="List error codes.", context_settings={"ignore_unknown_options": True})
@takes(ErrorOptions)
def errors(environment: Environment, options: ErrorOptions) -> None:
    """List Kafka's error codes.

    CODE is a number (35, -1) or part of a name. `kwire explain error CODE` explains one in full.
    """
    kafka = catalog()
    codes = matching_codes(kafka, options.code)
    rows = [(*code, *kafka.error_meanings[code.name]) for code in codes]
    explained = EXPLAINED if len(codes) <= MAX_EXPLAINED else ()
    columns = [column._replace(wide=column.wide and column.name not in explained) for column in ERRORS]
    emit(environment, Answer("Kafka's error codes", [Table("errors", columns, rows)]), options)


def matching_codes(catalog: Catalog, texts: tuple[str, ...]) -> list[ErrorCode]:
    """Return the error codes with these numbers or parts of names, or all error codes if `texts` is empty.

    Raises InputError if an element of `texts` matches no error code.
    """
    if not texts:
        return list(catalog.errors)
    found: set[int] = set()
    missing: list[str] = []
    for text in texts:
        codes = {row.code for row in catalog.errors if _matches_code(row, text)}
        found |= codes
        if not codes:
            missing.append(text)
    if missing:
        hint = did_you_mean(_close_codes(catalog, missing[0].replace("-", "_"))) or "; kwire spec errors lists all"
        raise InputError(f"no error code is {' or '.join(missing)}{hint}")
    return [row for row in catalog.errors if row.code in found]


def _close_codes(catalog: Catalog, text: str) -> list[str]:
    """Return the names of error codes that are similar to `text`, or otherwise names that share a word with it."""
    names = [row.name for row in catalog.errors]
    known = set("_".join(names).split("_"))
    words: set[str] = set()
    for word in text.split("_"):
        words.update(close_to(word, known, most=1))
    by_words = sorted(names, key=lambda name: -len(words.intersection(name.split("_"))))
    return close_to(text, names) or [name for name in by_words if words.intersection(name.split("_"))][:MAX_CLOSE]


def _matches_code(row: ErrorCode, text: str) -> bool:
    if text.lstrip("-").isdigit():
        return text == str(row.code)
    return text.lower().replace("-", "_") in row.name.lower()
