"""Options of commands that read frames: what the bytes are, and which frames of a capture are wanted; and what is read with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.options import PORT, complete_api
from kwire_cli.source.kinds import Kind
from kwire_cli.source.text import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.source.capture.points import Naming
    from kwire_cli.source.text import Input
    from kwire_cli.spec.catalog import Catalog

    Command = Callable[..., Any]

_FRAMES = (
    click.option("--api", metavar="NAME|KEY", shell_complete=complete_api, help="Set the api of a response, such as Metadata or 3."),
    click.option("--request", "kind", flag_value="request", help="Read the frames as requests."),
    click.option("--response", "kind", flag_value="response", help="Read the frames as responses."),
    click.option("--input", "form", type=click.Choice(FORMS), default="auto", show_default=True, help="Set the form of the input."),
    click.option("--framed/--unframed", default=None, help="Expect a size prefix before each frame, or none.  [default: recognised]"),
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
    click.option("--filter", metavar="TEXT", help="Show only frames that match, such as 'api == Fetch' (captures); see docs/filter.md."),
    click.option("--frames", metavar="A-B", help="Show only frames with these numbers (captures)."),
    click.option("--stream", type=int, multiple=True, metavar="N", help="Show only frames of this connection (captures); repeatable."),
    click.option("--port", type=PORT, metavar="N", help="Name the broker's port.  [default: recognised from the bytes]"),
    _TLS,
)
CHOOSING = ("filter", "frames", "stream", "port")
"""What of these chooses among frames, or says what they are."""
OF_CAPTURES = (*CHOOSING, "tls_keylog")
"""What `of_captures` gives a command."""
NO_CAPTURE = "is for packet captures, and this input is not one"
"""Why they are refused."""


def of_frames(command: Command) -> Command:
    """--api, --request, --response, --input and --framed; the command gets `api`, `kind`, `form` and `framed`."""
    return _with(_FRAMES, command)


def of_captures(command: Command) -> Command:
    """--filter, --frames, --stream, --port and --tls-keylog."""
    return _with(_CAPTURES, command)


def with_tls_keylog(command: Command) -> Command:
    """--tls-keylog alone; the command gets `tls_keylog`, paths."""
    return _TLS(command)


def with_capture_points(command: Command) -> Command:
    """--capture-point and --merge-points; `naming_of` says what they mean."""
    return _with(_POINTS, command)


def naming_of(options: dict[str, Any]) -> Naming:
    """How files are put together to capture points, by these options."""
    from kwire_cli.source.capture.points import Naming

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


def frames_of(catalog: Catalog, found: Input, options: dict[str, Any]) -> Iterator[Frame]:
    """The frames of an input, by what these options and --version say of them."""
    from kwire_cli.message.frames import Hints
    from kwire_cli.source.frames import frames_in

    hints = Hints(catalog.api(options["api"]) if options["api"] else None, options["version"], options["kind"])
    return frames_in(catalog, found, hints, framed=options["framed"])


def bodies_of(catalog: Catalog, found: Input, options: dict[str, Any]) -> Iterator[Decoded]:
    """The bodies of an input, by --message and --version; UsageError without the latter."""
    from kwire_cli.message.decoded import decode

    message, version = options["message"], options["version"]
    if version is None:
        raise click.UsageError(f"--message needs --version: {catalog.entry(message).valid_versions}")
    return (decode(catalog, chunk.data, message, version) for chunk in found.chunks)


def _with(options: tuple[Callable[[Command], Command], ...], command: Command) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
