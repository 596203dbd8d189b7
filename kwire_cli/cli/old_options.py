"""Options that several commands share, with sizes and counts in them."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completion import complete_api, complete_file, complete_overlay
from kwire_cli.cli.numbers import size_of
from kwire_cli.source.kinds import Kind
from kwire_cli.source.text.reading import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.records.codecs import Limits
    from kwire_cli.source.files import Naming

    Command = Callable[..., Any]


def limits_of(options: dict[str, Any]) -> Limits:
    """Return the decompression limits of --max-decompressed, or the default limits without that option."""
    from kwire_cli.records.codecs import Limits

    text = options["max_decompressed"]
    return Limits() if text is None else Limits(output=size_of(text, "--max-decompressed"), ratio=None)


# Options that several commands share, and the completion of what stands in them.

PORT = click.IntRange(1, 65535)
"""What --port takes."""


REPORT_FORMATS = ("table", "json", "jsonl", "csv", "html")
"""What --format of a report takes."""
MOST_ROWS = 25
"""Rows of a table for eyes, unless --top says otherwise."""
HEX_ROWS = 4
"""Rows of bytes of one field that the hex view shows without --full."""
COLOUR_HELP = "In colour or not; auto: on a terminal, and as NO_COLOR and FORCE_COLOR say."


SPECS = click.option(
    "--specs",
    multiple=True,
    metavar="DIR|FILE",
    shell_complete=complete_file,
    help="Add these definitions, or replace those of the same name.",
)
KAFKA = click.option(
    "--kafka", metavar="RELEASE", help="Use the layouts of this release, such as 3.9, where releases differ."
)


def _overlay(meaning: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--overlay", "overlays", multiple=True, metavar="NAME|FILE", shell_complete=complete_overlay, help=meaning
    )


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
    """--specs, --kafka and --overlay; the command gets a `catalog` with the overlays laid over its definitions: the
    bytes have that form.
    """

    @SPECS
    @KAFKA
    @_overlay("The bytes have these encodings, tags and types instead of the definitions'; see docs/overlays.md.")
    @wraps(command)
    def wrapped(*args: Any, specs: tuple[str, ...], kafka: str | None, overlays: tuple[str, ...], **kwargs: Any) -> Any:
        from kwire_cli.spec.catalog import catalog

        return command(*args, catalog=catalog(specs, kafka, overlays), **kwargs)

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


def with_csv(command: Callable[..., Any]) -> Callable[..., Any]:
    """--raw-csv, of a command that writes csv; it stands below `with_output`, whose `environment` it sets."""

    @click.option("--raw-csv", is_flag=True, help="Write csv cells unchanged, even those that a spreadsheet would run.")
    @wraps(command)
    def wrapped(*args: Any, environment: Environment, raw_csv: bool, **kwargs: Any) -> Any:
        environment.raw_csv = raw_csv
        return command(*args, environment=environment, **kwargs)

    return wrapped


def records_of(options: dict[str, Any]) -> str:
    """Return the form of records in JSON: the requested one, base64 with --lossless, or else decoded."""
    said: str | None = options["records"]
    return said or ("base64" if options["lossless"] else "decoded")


# Options of commands that read frames: what the bytes are, and which frames of a capture are wanted; and what
# is read with them.

FRAMING = (
    click.option("--request", "kind", flag_value="request", help="Read the frames as requests."),
    click.option("--response", "kind", flag_value="response", help="Read the frames as responses."),
    click.option(
        "--input",
        "form",
        type=click.Choice(FORMS),
        default="auto",
        show_default=True,
        help="Set the form of the input.",
    ),
    click.option(
        "--framed/--unframed",
        default=None,
        help="Expect a size prefix before each frame, or none.  [default: recognised]",
    ),
)
"""--request, --response, --input and --framed: how bytes are to be read."""
_FRAMES = (
    click.option(
        "--api",
        metavar="NAME|KEY",
        shell_complete=complete_api,
        help="Set the api of a response, such as Metadata or 3.",
    ),
    *FRAMING,
)


_TLS = click.option(
    "--tls-keylog",
    "tls_keylog",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Decrypt TLS with this key log (SSLKEYLOGFILE); repeatable; see docs/tls.md.",
)
_POINTS = (
    click.option(
        "--capture-point",
        metavar="TEMPLATE",
        help="Name the capture point of a file, such as '{parent}' or 'broker-\\d+'.  [default: its folder]",
    ),
    click.option("--merge-points", is_flag=True, help="Merge the packets of a connection captured at several points."),
)
_CAPTURES = (
    click.option(
        "--filter",
        metavar="TEXT",
        help="Show only frames that match, such as 'api == Fetch' (captures); see docs/filter.md.",
    ),
    click.option("--frames", metavar="A-B", help="Show only frames with these numbers (captures)."),
    click.option(
        "--stream",
        type=int,
        multiple=True,
        metavar="N",
        help="Show only frames of this connection (captures); repeatable.",
    ),
    click.option(
        "--port", type=PORT, metavar="N", help="Name the broker's port.  [default: recognised from the bytes]"
    ),
    _TLS,
)
CHOOSING = ("filter", "frames", "stream", "port")
"""What of these chooses among frames, or says what they are."""


def of_frames(command: Command) -> Command:
    """--api, --request, --response, --input and --framed; the command gets `api`, `kind`, `form` and `framed`."""
    return with_options(_FRAMES, command)


def of_captures(command: Command) -> Command:
    """--filter, --frames, --stream, --port and --tls-keylog."""
    return with_options(_CAPTURES, command)


def with_tls_keylog(command: Command) -> Command:
    """--tls-keylog alone; the command gets `tls_keylog`, paths."""
    return _TLS(command)


def with_capture_points(command: Command) -> Command:
    """--capture-point and --merge-points; `naming_of` says what they mean."""
    return with_options(_POINTS, command)


def naming_of(options: dict[str, Any]) -> Naming:
    """Return how these options group files into capture points."""
    from kwire_cli.source.files import Naming

    if options["capture_point"] and options["merge_points"]:
        raise click.UsageError("--merge-points makes all files one capture point; omit --capture-point")
    return Naming(options["capture_point"], merged=options["merge_points"])


def refuse(options: dict[str, Any], names: Sequence[str], why: str) -> None:
    """UsageError, with the name of the first one before `why`, where any of these options was given."""
    for name in names:
        if options[name] not in {None, ()}:
            option = {"kind": options[name], "topics": "topic"}.get(name, name.replace("_", "-"))
            raise click.UsageError(f"--{option} {why}")


def said(options: dict[str, Any]) -> Kind | None:
    """The kind of the input, if these options, --message or --version say it."""
    if options.get("message"):
        return Kind.BODY
    frames = options["api"] or options["kind"] or options["version"] not in (None, ()) or options["framed"] is not None
    return Kind.FRAMES if frames or options.get("header", "kafka") != "kafka" else None


def with_options(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    """Add options to a command, in their order."""
    for option in reversed(options):
        command = option(command)
    return command
