"""Options that several commands share, with sizes and counts in them."""

from __future__ import annotations

import re
from functools import wraps
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.source.kinds import Kind
from kwire_cli.source.text.reading import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.records.codecs import Limits
    from kwire_cli.source.packets.points import Naming
    from kwire_cli.spec.catalog import Catalog

    Command = Callable[..., Any]


# Sizes as options take them: bytes, or with a unit, such as 512MiB.

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


_SIZE = re.compile(r"(\d{1,18})\s*([kmg]?)(?:i?b)?", re.IGNORECASE)


def size_of(text: str, option: str) -> int:
    """The bytes that `text` says; UsageError that names the option otherwise. Units are powers of 1024."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise click.UsageError(f"{option} takes bytes, or a size such as 512MiB, not {text!r}")
    return int(match[1]) << _UNITS[match[2].lower()]


def limits_of(options: dict[str, Any]) -> Limits:
    """Return the decompression limits of --max-decompressed, or the default limits without that option."""
    from kwire_cli.records.codecs import Limits

    text = options["max_decompressed"]
    return Limits() if text is None else Limits(output=size_of(text, "--max-decompressed"), ratio=None)


# Numbers of things to generate, as options take them: one, several, or a range that is walked in steps.

MOST = 1000
"""Combinations, and numbers in one range."""


EVERY = 12
"""A range of more numbers than this is walked in the steps 1, 2, 5, 10, 20, 50 and so on."""


def numbers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """The callback of an option that takes numbers."""
    return None if value is None else _numbers(value, ctx, param)


def counts(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """The callback of an option that takes PATH=NUMBERS and is repeatable."""
    numbers_by_path = {}
    for text in value:
        path, mark, rest = text.partition("=")
        if not mark or not path.strip():
            raise click.BadParameter(f"{text!r} is not PATH=N, such as topics[].partitions=100", ctx, param)
        numbers_by_path[path.strip().removesuffix("[]")] = _numbers(rest, ctx, param)
    return numbers_by_path


def combinations(ranges: Mapping[str, tuple[int, ...]]) -> list[dict[str, int]]:
    """Every combination of one number each, the last name's changing fastest. UsageError where there are too many."""
    total = 1
    for choices in ranges.values():
        total *= len(choices)
    if total > MOST:
        raise click.UsageError(f"the ranges make {total} combinations; {MOST} are the most allowed")
    return [dict(zip(ranges, chosen, strict=True)) for chosen in product(*ranges.values())]


def _numbers(text: str, ctx: click.Context, param: click.Parameter) -> tuple[int, ...]:
    """`100`, `1,10,100`, `1..1000` (its ends, and 1, 2, 5, 10, 20, 50 … between them), `1..20:5` (every fifth): in this
    order, none twice.
    """
    try:
        values = tuple(dict.fromkeys(number for part in text.split(",") for number in _range(part.strip())))
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a number, list (1,10,100) or range (1..1000, 1..20:5)", ctx, param
        ) from None
    if len(values) > MOST or min(values) < 0:
        raise click.BadParameter(f"{text!r}: at most {MOST} numbers, none of them negative", ctx, param)
    return values


def _range(text: str) -> Iterator[int]:
    low_text, dots, rest = text.partition("..")
    if not dots:
        yield int(text)
        return
    high_text, colon, step_text = rest.partition(":")
    low, high, step = int(low_text), int(high_text), int(step_text) if colon else 1
    if low > high or step < 1:
        raise ValueError
    if colon or high - low < EVERY:
        if (high - low) // step > MOST:
            raise ValueError
        yield from range(low, high + 1, step)
        return
    yield low
    unit = 1
    while unit <= high:
        yield from (number for number in (unit, 2 * unit, 5 * unit) if low < number < high)
        unit *= 10
    yield high


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


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Files and folders, which the shell itself knows."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_overlay(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Files, and bundled overlays that go on from what was typed: bash drops what stands before a mark for files."""
    from click.shell_completion import CompletionItem

    from kwire_cli.spec.overlay import bundled_overlays

    return [
        *complete_file(ctx, parameter, incomplete),
        *[CompletionItem(name) for name in bundled_overlays() if name.startswith(incomplete)],
    ]


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


def with_what_if(command: Callable[..., Any]) -> Callable[..., Any]:
    """--specs, --kafka, --overlay and --overlaid-input; the command gets the `catalog` of its input, and `laid`, that
    of the what-if, or None.
    """

    @SPECS
    @KAFKA
    @_overlay("Count what the same values would be with these encodings, tags and types; see docs/overlays.md.")
    @click.option("--overlaid-input", is_flag=True, help="Read the input as already encoded with --overlay.")
    @wraps(command)
    def wrapped(
        *args: Any,
        specs: tuple[str, ...],
        kafka: str | None,
        overlays: tuple[str, ...],
        overlaid_input: bool,
        **kwargs: Any,
    ) -> Any:
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
    """Complete the last name in a list (A,B) of dimensions to group bytes by."""
    from kwire_cli.analysis.costs.measures import DIMENSIONS

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
    """The catalogue that the options so far ask for; None where they ask for what is not there, which running the
    command will say.
    """
    from kwire_cli.errors import KwireError
    from kwire_cli.spec.catalog import catalog

    try:
        return catalog(
            tuple(ctx.params.get("specs") or ()), ctx.params.get("kafka"), tuple(ctx.params.get("overlays") or ())
        )
    except KwireError:
        return None


def records_of(options: dict[str, Any]) -> str:
    """Return the form of records in JSON: the requested one, base64 with --lossless, or else decoded."""
    said: str | None = options["records"]
    return said or ("base64" if options["lossless"] else "decoded")


def shows_raw_records(fmt: str, options: dict[str, Any]) -> bool:
    """Return whether records are shown as bytes."""
    return bool(options["fields"]) or fmt == "csv" or (fmt in {"json", "jsonl"} and records_of(options) == "base64")


def refuse_format(option: str, fmt: str, formats: Sequence[str]) -> None:
    """UsageError for a --format that an option has no output in, with the names of those that it has."""
    if fmt not in formats:
        raise click.UsageError(f"{option} shows {', '.join(formats)}, not {fmt}")


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
OF_CAPTURES = (*CHOOSING, "tls_keylog")
"""What `of_captures` gives a command."""
NO_CAPTURE = "is for packet captures, and this input is not one"
"""Why they are refused."""


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
    from kwire_cli.source.packets.points import Naming

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
