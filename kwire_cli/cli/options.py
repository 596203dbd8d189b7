"""Options that several commands share, and the completion of what stands in them."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog

PORT = click.IntRange(1, 65535)
"""What --port takes."""
REPORT_FORMATS = ("table", "json", "jsonl", "csv", "html")
"""What --format of a report takes."""
MOST_ROWS = 25
"""Rows of a table for eyes, unless --top says otherwise."""
HEX_ROWS = 4
"""Rows of bytes of one field that the hex view shows without --full."""
COLOUR_HELP = "In colour or not; auto: on a terminal, and as NO_COLOR and FORCE_COLOR say."


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Files and folders, which the shell itself knows."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_overlay(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Files, and bundled overlays that go on from what was typed: bash drops what stands before a mark for files."""
    from click.shell_completion import CompletionItem

    from kwire_cli.spec.overlay_files import bundled_overlays

    return [*complete_file(ctx, parameter, incomplete), *[CompletionItem(name) for name in bundled_overlays() if name.startswith(incomplete)]]


SPECS = click.option(
    "--specs", multiple=True, metavar="DIR|FILE", shell_complete=complete_file, help="Add these definitions, or replace those of the same name."
)
KAFKA = click.option("--kafka", metavar="RELEASE", help="Use the layouts of this release, such as 3.9, where releases differ.")


def _overlay(meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option("--overlay", "overlays", multiple=True, metavar="NAME|FILE", shell_complete=complete_overlay, help=meaning)


def with_catalog(command: Callable[..., Any]) -> Callable[..., Any]:
    """--specs and --kafka; the command gets a `catalog`."""

    @SPECS
    @KAFKA
    @wraps(command)
    def wrapped(*args: Any, specs: tuple[str, ...], kafka: str | None, **kwargs: Any) -> Any:
        from kwire_cli.spec.catalog import catalog

        return command(*args, catalog=catalog(specs, kafka), **kwargs)

    return wrapped


def with_overlaid_catalog(command: Callable[..., Any]) -> Callable[..., Any]:
    """--specs, --kafka and --overlay; the command gets a `catalog` with the overlays laid over its definitions: the bytes have that form."""

    @SPECS
    @KAFKA
    @_overlay("The bytes have these encodings, tags and types instead of the definitions'; see docs/overlays.md.")
    @wraps(command)
    def wrapped(*args: Any, specs: tuple[str, ...], kafka: str | None, overlays: tuple[str, ...], **kwargs: Any) -> Any:
        from kwire_cli.spec.catalog import catalog

        return command(*args, catalog=catalog(specs, kafka, overlays), **kwargs)

    return wrapped


def with_what_if(command: Callable[..., Any]) -> Callable[..., Any]:
    """--specs, --kafka, --overlay and --overlaid-input; the command gets the `catalog` of its input, and `laid`, that of the what-if, or None."""

    @SPECS
    @KAFKA
    @_overlay("Count what the same values would be with these encodings, tags and types; see docs/overlays.md.")
    @click.option("--overlaid-input", is_flag=True, help="Read the input as already encoded with --overlay.")
    @wraps(command)
    def wrapped(*args: Any, specs: tuple[str, ...], kafka: str | None, overlays: tuple[str, ...], overlaid_input: bool, **kwargs: Any) -> Any:
        from kwire_cli.spec.catalog import catalog

        if overlaid_input and not overlays:
            raise click.UsageError("--overlaid-input is of an --overlay")
        laid = catalog(specs, kafka, overlays) if overlays else None
        if overlaid_input:
            return command(*args, catalog=laid, laid=None, **kwargs)
        return command(*args, catalog=catalog(specs, kafka), laid=laid, **kwargs)

    return wrapped


def with_output(command: Callable[..., Any]) -> Callable[..., Any]:
    """--color; the command gets the `environment`."""

    @click.option("--color", "colour", type=click.Choice(["auto", "always", "never"]), default="auto", help=COLOUR_HELP)
    @click.pass_obj
    @wraps(command)
    def wrapped(environment: Environment, /, *args: Any, colour: str, **kwargs: Any) -> Any:
        environment.colour = colour
        return command(*args, environment=environment, **kwargs)

    return wrapped


EXIT_CODE = click.option("--exit-code", is_flag=True, help="Exit with 1 if nothing matches what was chosen.")
"""--exit-code of commands with a filter or another choice."""


def with_csv(command: Callable[..., Any]) -> Callable[..., Any]:
    """--raw-csv, of a command that writes csv; it stands below `with_output`, whose `environment` it sets."""

    @click.option("--raw-csv", is_flag=True, help="Write csv cells unchanged, even those that a spreadsheet would run.")
    @wraps(command)
    def wrapped(*args: Any, environment: Environment, raw_csv: bool, **kwargs: Any) -> Any:
        environment.raw_csv = raw_csv
        return command(*args, environment=environment, **kwargs)

    return wrapped


def complete_message(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Message names that go on from what was typed."""
    catalog = _catalog(ctx)
    return [entry.name for entry in catalog or () if entry.name.lower().startswith(incomplete.lower())]


def complete_api(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Api names that go on from what was typed."""
    catalog = _catalog(ctx)
    return [api.name for api in (catalog.apis if catalog else ()) if api.name.lower().startswith(incomplete.lower())]


def complete_version(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The versions of the message or api that was typed."""
    from kwire_cli.errors import KwireError

    catalog = _catalog(ctx)
    if not catalog:
        return []
    try:
        if name := ctx.params.get("message"):
            versions = catalog.entry(name).valid_versions
        elif name := ctx.params.get("api"):
            versions = catalog.entry(catalog.api(name).request or "").valid_versions
        else:
            return []
    except KwireError:
        return []
    return [str(version) for version in versions.each() if str(version).startswith(incomplete)]


def complete_error(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of error codes that go on from what was typed."""
    catalog = _catalog(ctx)
    return [row.name for row in (catalog.errors if catalog else ()) if row.name.startswith(incomplete.upper())]


def complete_anomaly(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Codes of anomalies that go on from what was typed."""
    from kwire_cli.engine.codes import MEANING

    return [code for code in MEANING if code.startswith(incomplete.upper().replace("-", "_"))]


def complete_dimensions(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """What bytes are grouped by, where the last of what was typed goes on: A,B."""
    from kwire_cli.cost.overhead.dimensions import DIMENSIONS

    before, comma, last = incomplete.rpartition(",")
    typed = before.split(",")
    return [f"{before}{comma}{name}" for name in DIMENSIONS if name.startswith(last) and name not in typed]


def complete_table(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Tables of scan that go on from what was typed; none where Spark is not installed."""
    try:
        from kwire_cli.pipeline.named import MAKERS
    except ImportError:
        return []
    return [name for name in MAKERS if name.startswith(incomplete)]


def _catalog(ctx: click.Context) -> Catalog | None:
    """The catalogue that the options so far ask for; None where they ask for what is not there, which running the command will say."""
    from kwire_cli.errors import KwireError
    from kwire_cli.spec.catalog import catalog

    try:
        return catalog(tuple(ctx.params.get("specs") or ()), ctx.params.get("kafka"), tuple(ctx.params.get("overlays") or ()))
    except KwireError:
        return None


def records_of(options: dict[str, Any]) -> str:
    """How records are shown in JSON: as was said, and else so that most can be seen of them."""
    said: str | None = options["records"]
    return said or ("base64" if options["lossless"] else "decoded")


def shows_raw_records(fmt: str, options: dict[str, Any]) -> bool:
    """Whether records are shown as bytes."""
    return bool(options["fields"]) or fmt == "csv" or (fmt in {"json", "jsonl"} and records_of(options) == "base64")


def refuse_format(option: str, fmt: str, formats: Sequence[str]) -> None:
    """UsageError for a --format that an option has no output in, with the names of those that it has."""
    if fmt not in formats:
        raise click.UsageError(f"{option} shows {', '.join(formats)}, not {fmt}")
