"""`kwire spec`: message definitions, listed and shown; headers in both numberings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kwire_cli.cli.completion import complete_message, complete_version
from kwire_cli.cli.old_options import with_output, with_overlaid_catalog
from kwire_cli.errors import InputError, KwireError

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog, Entry
    from kwire_cli.spec.model import MessageSpec

TYPES = ("request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value")


@click.group(name="spec")
def command() -> None:
    """Show the definitions of Kafka's messages."""


@command.command(name="list", short_help="List messages with their versions.")
@click.argument("text", required=False, shell_complete=complete_message)
@click.option("--type", "kind", type=click.Choice(TYPES), help="List only messages of this type.")
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(["table", "jsonl", "json"]),
    default="table",
    show_default=True,
    help="Set the output format.",
)
@with_overlaid_catalog
@with_output
def list_(environment: Environment, catalog: Catalog, text: str | None, kind: str | None, fmt: str) -> None:
    """List messages with their versions; with TEXT, those whose name contains TEXT or whose api key is TEXT."""
    entries = [entry for entry in catalog if (not kind or entry.type == kind) and (not text or _matches(entry, text))]
    if not entries:
        wanted = f"the api key {text}" if text and text.isdigit() else f"{text!r} in its name"
        raise InputError(f"no {kind or 'message'} has {wanted}")
    entries.sort(
        key=lambda entry: (TYPES.index(entry.type), -1 if entry.api_key is None else entry.api_key, entry.name)
    )
    if fmt != "table":
        from kwire_cli.view.json import dumps

        for entry in entries:
            environment.write(dumps(_document(entry), indent=fmt == "json"))
        return
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        key = "" if entry.api_key is None else str(entry.api_key)
        line = [(f"{key:>5}", "number"), (f"  {entry.name:<{width}}", "name"), (f"  {entry.type:<18}", "dim")]
        flexible = f"flexible {entry.flexible_versions}" if entry.flexible_versions else ""
        environment.write_lines([[*line, (f"{entry.valid_versions!s:<7}", "number"), (flexible, "dim")]])


def _matches(entry: Entry, text: str) -> bool:
    names = (entry.name, *entry.aliases)
    return str(entry.api_key) == text if text.isdigit() else any(text.lower() in name.lower() for name in names)


def _document(entry: Entry) -> dict[str, object]:
    versions = {"validVersions": str(entry.valid_versions), "flexibleVersions": str(entry.flexible_versions)}
    return {
        "name": entry.name,
        "type": entry.type,
        "apiKey": entry.api_key,
        **versions,
        "aliases": list(entry.aliases),
        "module": entry.module,
    }


@command.command(name="show", short_help="Show the fields of a message.")
@click.argument("message", shell_complete=complete_message)
@click.argument("version", type=int, required=False, shell_complete=complete_version)
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(["table", "json", "bnf"]),
    default="table",
    show_default=True,
    help="Set the output format.",
)
@with_overlaid_catalog
@with_output
def show(environment: Environment, catalog: Catalog, message: str, version: int | None, fmt: str) -> None:
    """Show a message at a VERSION, or over all versions: its fields with types, tags, defaults and nullability.

    MESSAGE is a full name (MetadataResponse), or an api (metadata, 3), which shows its request and its response.
    """
    from kwire_cli.view.definitions import bnf_lines, table_lines

    for number, spec in enumerate(specs_of(catalog, message)):
        if version is not None and version not in spec.valid_versions:
            raise InputError(f"{spec.name} has versions {spec.valid_versions}, not {version}")
        if number and fmt != "json":
            environment.write("")
        if fmt == "table":
            environment.write_lines(table_lines(spec, version))
        elif fmt == "json":
            environment.write(_json(catalog, spec, version))
        else:
            for v in [version] if version is not None else spec.valid_versions.each():
                environment.write_lines(bnf_lines(spec, v))


def specs_of(catalog: Catalog, name: str) -> list[MessageSpec]:
    """The definition of a message by its name, or those of both halves of an api; InputError where there is neither."""
    try:
        return [catalog.message(name)]
    except InputError as unknown:
        try:
            api = catalog.api(name)
        except KwireError:
            raise unknown from None
    return [catalog.message(half) for half in (api.request, api.response) if half]


def _json(catalog: Catalog, spec: MessageSpec, version: int | None) -> str:
    from kwire_cli.message.encode import header_version
    from kwire_cli.spec.accepted import definition_of, definition_text
    from kwire_cli.view.definitions import version_document
    from kwire_cli.view.json import dumps

    if version is None:
        return definition_text(definition_of(spec)).rstrip("\n")
    header = (
        header_version(catalog, spec.type, spec.api_key, version)
        if spec.type in {"request", "response"} and spec.api_key is not None
        else None
    )
    return dumps(version_document(spec, version, header), indent=True)


@command.command(name="overlays", short_help="List the overlays that come with kwire.")
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
    help="Set the output format.",
)
@with_output
def overlays(environment: Environment, fmt: str) -> None:
    """List the overlays that come with kwire, for --overlay: proposed encodings, tags and types, laid over
    definitions.
    """
    from kwire_cli.spec.overlay import bundled_overlays, load_overlay
    from kwire_cli.view.json import dumps

    loaded = {name: load_overlay(name) for name in bundled_overlays()}
    width = max(map(len, loaded), default=0)
    for name, overlay in loaded.items():
        if fmt == "jsonl":
            environment.write(
                dumps(
                    {"name": name, "about": overlay.about, "messages": list(overlay.messages), "file": overlay.file},
                    indent=False,
                )
            )
        else:
            environment.write_lines([[(f"{name:<{width}}", "name"), (f"  {overlay.about}", "")]])


@command.command(name="headers", short_help="Show the versions of headers.")
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
    help="Set the output format.",
)
@with_output
def headers(environment: Environment, fmt: str) -> None:
    """Show the versions of request and response headers as Kafka numbers them and as KIP-482 does."""
    from kwire_cli.message.encode import HEADERS
    from kwire_cli.view.json import dumps

    if fmt == "jsonl":
        for header in HEADERS:
            environment.write(dumps(header._asdict(), indent=False))
        return
    environment.write_lines([[(f"{'header of':<10}{'Kafka':>6}{'KIP-482':>9}  layout", "dim")]])
    for header in HEADERS:
        kafka, kip = ("-" if number is None else str(number) for number in (header.kafka, header.kip482))
        environment.write_lines(
            [[(f"{header.of:<10}", "name"), (f"{kafka:>6}{kip:>9}", "number"), (f"  {header.layout}", "")]]
        )
    environment.write("")
    environment.write(
        "Requests have header 2 where their body is flexible, otherwise 1; ControlledShutdown version 0 has 0."
    )
    environment.write(
        "Responses have header 1 where their body is flexible, otherwise 0; ApiVersions has 0 in all "
        "versions (KIP-511)."
    )
