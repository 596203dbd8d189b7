"""Groups of options that several commands share, as base classes.

The options of a command are a class that inherits from the groups it takes. A function that needs a group has the
base class as parameter type, so it works with every command that takes the group.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

import click

from kwire_cli.cli.completers import (
    complete_api,
    complete_file,
    complete_filter,
    complete_message,
    complete_overlay,
    complete_sort,
    complete_version,
)
from kwire_cli.cli.fits import BATCHES, BODIES, CAPTURES, FRAMES, MESSAGES
from kwire_cli.cli.sorting import Order, order_of
from kwire_cli.cli.typed_options import Printing, flag, option, size_of
from kwire_cli.records.formats import CHOICES
from kwire_cli.source.files import Naming
from kwire_cli.source.text.reading import FORMS
from kwire_cli.spec.catalog import Catalog, catalog

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire_cli.cli.command import Fit
    from kwire_cli.cli.environment import Environment
    from kwire_cli.records.codecs import Limits

REPORT_FORMATS = ("table", "wide", "json", "jsonl", "csv", "html", "markdown", "svg", "parquet", "arrow")
ELSEWHERE = {
    ".html": "kwire report writes a page of captures and logs",
    ".parquet": "kwire export writes Parquet",
    ".arrow": "kwire export writes Arrow",
}
"""Hints for errors: the command that writes files with a suffix that this command does not support."""
SUFFIXES = {"md": "markdown"}
"""Suffixes of files that are not the name of their format."""
TEXT_SUFFIXES = ("", ".txt")
"""Suffixes of files that are written in the format of a terminal."""
_FILE_FORMATS = {
    "html": "HTML is for a browser: write it to a file with -o report.html",
    "arrow": "Arrow is for programs: write it to a file with -o report.arrow",
    "parquet": "Parquet is for programs: write it to a file with -o report.parquet",
    "svg": "SVG is a picture: write it to a file with -o chart.svg",
    "pcap": "a capture is for Wireshark: write it to a file with -o frames.pcap",
    "pcapng": "a capture is for Wireshark: write it to a file with -o frames.pcapng",
}
"""Formats of files, with the reason why a terminal does not get them."""
HEX_ROWS = 4
"""Rows of bytes of one field that the hex view shows without --full."""
PORT = click.IntRange(1, 65535)


def refuse_terminal(environment: Environment, chosen: str) -> None:
    """Raise UsageError if results in a format for files would go to a terminal."""
    if environment.to_terminal and (reason := _FILE_FORMATS.get(chosen)):
        raise click.UsageError(reason)


def message_option(text: str) -> Any:
    """Declare --message, the name of the message that bytes or JSON contain, with the help `text`."""
    return option(
        "--message", "-m", section="Input", fits=BODIES, metavar="NAME", shell_complete=complete_message, help=text
    )


def version_option(text: str, **settings: Any) -> Any:
    """Declare --message-version with the help `text`."""
    number: dict[str, Any] = {"type": click.IntRange(0, 32767), "metavar": "N", "shell_complete": complete_version}
    return option("--message-version", section="Input", fits=MESSAGES, help=text, **number | settings)


def kind_option(text: str, **settings: Any) -> Any:
    """Declare --kind, whether frames are requests or responses, with the help `text`."""
    return option("--kind", section="Input", type=click.Choice(["request", "response"]), help=text, **settings)


def topic_option(text: str, **settings: Any) -> Any:
    """Declare --as-topic, the topic to which bytes belong, with the help `text`."""
    return option("--as-topic", section="Input", metavar="NAME", help=text, **settings)


def filter_option(text: str, **settings: Any) -> Any:
    """Declare --filter with the help `text`."""
    return option("--filter", metavar="TEXT", shell_complete=complete_filter, help=text, **settings)


class Definitions(Printing):
    """Message definitions to read with: --specs."""

    SECTION: ClassVar[str] = "Advanced"
    SHARED: ClassVar[bool] = True

    specs: tuple[str, ...] = option(
        "--specs",
        rare=True,
        multiple=True,
        metavar="PATH|RELEASE|OVERLAY",
        shell_complete=complete_overlay,
        help="Read with definitions in files or jars, a release, or an overlay.",
    )

    @cached_property
    def catalog(self) -> Catalog:
        """The definitions of the input."""
        return catalog(self.specs)


class Frames(Printing):
    """Options for reading frames outside of captures: --api, --kind, --input and --framed."""

    SECTION: ClassVar[str] = "Input"
    SHARED: ClassVar[bool] = True
    FITS: ClassVar[Fit | None] = FRAMES

    api: str | None = option(
        "--api",
        metavar="NAME|KEY",
        shell_complete=complete_api,
        help="Set the api of a response, such as Metadata or 3.",
    )
    kind: str | None = kind_option("Read the frames as requests or as responses.", rare=True)
    form: str = option(
        "--input",
        fits=None,
        type=click.Choice(FORMS),
        default="auto",
        show_default=True,
        help="Set the form of the input.",
    )
    framed: bool | None = option(
        "--framed/--unframed", rare=True, help="Expect a size prefix before each frame, or none.  [default: recognised]"
    )


class Messages(Frames):
    """Options for reading frames and bodies: --message and --message-version, in addition to the options of Frames."""

    SECTION: ClassVar[str] = "Input"
    SHARED: ClassVar[bool] = True

    message: str | None = message_option("Read the input as a body of this message, with --message-version.")
    version: int | None = version_option("Set the version of the message or api.")


class Headers(Printing):
    """Options for reading request headers: --header."""

    SECTION: ClassVar[str] = "Advanced"
    SHARED: ClassVar[bool] = True
    FITS: ClassVar[Fit | None] = FRAMES

    header: str = option(
        "--header",
        rare=True,
        type=click.Choice(["kafka", "kip482"]),
        default="kafka",
        show_default=True,
        help="Read request headers as shipped, or as the KIP-482 draft has them.",
    )


class RecordSets(Printing):
    """Options for reading record batches: --record-format and --as-topic."""

    SECTION: ClassVar[str] = "Input"
    SHARED: ClassVar[bool] = True
    FITS: ClassVar[Fit | None] = BATCHES

    record_format: str | None = option(
        "--record-format",
        rare=True,
        fits=BATCHES,
        type=click.Choice(CHOICES),
        help="Read record batches of this format; auto goes by the magic byte.",
    )
    as_topic: str | None = topic_option("Name the topic of the records.  [default: taken from the folder's name]")


class HeaderKeys(Printing):
    """Options for the header keys of the KIP-82 draft: --register."""

    SECTION: ClassVar[str] = "Input"

    register: str | None = option(
        "--register",
        rare=True,
        metavar="FILE",
        shell_complete=complete_file,
        help="Read the names of header keys (KIP-82 draft) from this JSON file.",
    )


class Checks(Printing):
    """Options for the exit code and for long values: --full, --strict and --exit-code."""

    SECTION: ClassVar[str] = "Output"

    full: bool = flag("--full", help="Show long values in full in the tree and hex views.")
    strict: bool = flag("--strict", help="Exit with 1 on anomalies, gaps, or an input that ends early.")
    exit_code: bool = flag("--exit-code", rare=True, help="Exit with 1 if nothing matches what was chosen.")


class Secrets(Printing):
    """Options for secrets: --show-secrets."""

    SECTION: ClassVar[str] = "Output"
    SHARED: ClassVar[bool] = True

    show_secrets: bool = flag("--show-secrets", help="Show tokens, keys, salts and sensitive configs as they are.")


class Capture(Printing):
    """Options for reading a packet capture: --port and --tls-keylog."""

    SECTION: ClassVar[str] = "Input"
    SHARED: ClassVar[bool] = True
    FITS: ClassVar[Fit | None] = CAPTURES

    port: int | None = option(
        "--port", type=PORT, metavar="N", help="Name the broker's port.  [default: recognised from the bytes]"
    )
    tls_keylog: tuple[str, ...] = option(
        "--tls-keylog",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="Decrypt TLS with this key log (SSLKEYLOGFILE); repeatable.",
    )


class Captures(Capture):
    """Options for reading captures: --capture-point, in addition to the options of Capture."""

    SECTION: ClassVar[str] = "Input"
    SHARED: ClassVar[bool] = True
    FITS: ClassVar[Fit | None] = CAPTURES

    capture_point: str | None = option(
        "--capture-point",
        rare=True,
        metavar="REGEX",
        help="Name a file's capture point by its path: 'broker-\\d+'.  [default: its folder]",
    )

    @property
    def naming(self) -> Naming:
        """Return how files are grouped into capture points."""
        return Naming(self.capture_point)


class Choosing(Printing):
    """Options for choosing frames of a capture: --filter."""

    SECTION: ClassVar[str] = "Choose"
    SHARED: ClassVar[bool] = True
    FITS: ClassVar[Fit | None] = CAPTURES

    filter: str | None = filter_option("Show only frames that match, such as 'api == Fetch' (captures).")


class FrameChoosing(Choosing):
    """Options for choosing frames by number or packet: --frames and --packets, in addition to Choosing."""

    SECTION: ClassVar[str] = "Choose"
    FITS: ClassVar[Fit | None] = CAPTURES

    frames: str | None = option("--frames", metavar="A-B", help="Show only frames with these numbers (captures).")
    packets: str | None = option(
        "--packets", metavar="A-B", rare=True, help="Show only frames that end in these packets (captures)."
    )


class OfGroups(Printing):
    """Options for choosing groups: --group."""

    SECTION: ClassVar[str] = "Choose"

    group: tuple[str, ...] = option(
        "--group", multiple=True, metavar="NAME", help="Show only what is about this group; repeatable."
    )


class OfTransactions(Printing):
    """Options for choosing transactions: --transactional-id."""

    SECTION: ClassVar[str] = "Choose"

    transactional_id: tuple[str, ...] = option(
        "--transactional-id",
        multiple=True,
        metavar="NAME",
        help="Show only what is about this transactional id; repeatable.",
    )


class Decompression(Printing):
    """Options for decompression: --max-decompressed."""

    SECTION: ClassVar[str] = "Advanced"
    SHARED: ClassVar[bool] = True

    max_decompressed: str | None = option(
        "--max-decompressed",
        rare=True,
        metavar="SIZE",
        help="Decompress at most this much of a batch, such as 512MiB.  [default: 256MiB]",
    )

    @property
    def limits(self) -> Limits:
        """The limits of decompression."""
        from kwire_cli.records.codecs import Limits  # start-up counts

        text = self.max_decompressed
        return Limits() if text is None else Limits(output=size_of(text, "--max-decompressed"), ratio=None)


class Output(Printing):
    """Options for the place of results: -o."""

    SECTION: ClassVar[str] = "Output"
    SHARED: ClassVar[bool] = True

    output: str | None = option(
        "--output",
        "-o",
        type=click.Path(dir_okay=False, writable=True),
        metavar="FILE",
        help="Write to this file; its suffix is the default format.",
    )

    @property
    def file(self) -> str | None:
        """The file of the results, or None if they are printed."""
        return self.output

    def apply(self, environment: Environment) -> None:
        """Set the form and the destination of results."""
        super().apply(environment)
        if self.file is not None:
            environment.write_to(self.file, live=self.is_live)

    def suffix_among(self, formats: Collection[str], **also: str) -> str | None:
        """Return the format for the suffix of the file, or None if no format has it. `also` has further suffixes."""
        suffix = PurePath(self.file).suffix[1:] if self.file else ""
        return also.get(suffix) or (suffix if suffix in formats else None)


class Report(Output):
    """Options for the format of an Answer: --format, in addition to the options of Output.

    `PIPED` is the format of results that go neither to a terminal nor to a named file.
    """

    SECTION: ClassVar[str] = "Output"
    SHARED: ClassVar[bool] = True

    PIPED: ClassVar[str] = "jsonl"

    fmt: str | None = option(
        "--format",
        "-f",
        type=click.Choice(REPORT_FORMATS),
        help="Set the output format; wide shows all columns.  [default: table on a terminal, jsonl elsewhere]",
    )

    @property
    def wide(self) -> bool:
        """Return whether tables have all columns, whatever the width of the terminal."""
        return self.fmt == "wide"

    def format_for(
        self, environment: Environment, formats: Collection[str] = REPORT_FORMATS, for_eyes: str = "table"
    ) -> str:
        """Return the format from --format, from the suffix of the file, or the default for the destination.

        `for_eyes` is the default on a terminal and for files. Raises UsageError for a format that is not in `formats`.
        """
        if self.fmt:
            chosen = "table" if self.wide else self.fmt
            if chosen not in formats:
                raise click.UsageError(f"this has the formats {', '.join(formats)}, not {self.fmt}")
            return chosen
        if suffix := self.suffix_among(formats, **SUFFIXES):
            if suffix not in formats:
                raise click.UsageError(f"-o {self.file}: this has the formats {', '.join(formats)}, not {suffix}")
            return suffix
        suffix = PurePath(self.file).suffix if self.file else ""
        if suffix not in TEXT_SUFFIXES:
            hint = ELSEWHERE.get(suffix, "--format sets one for any name")
            known = f"the formats are {', '.join(formats)}"
            raise click.UsageError(f"-o {self.file}: no format has the suffix {suffix}; {known}; {hint}")
        return for_eyes if environment.to_terminal or self.file else self.PIPED


class Tables(Report):
    """Options for the rows of tables: --sort, --top and --table, in addition to the options of Report."""

    SECTION: ClassVar[str] = "Output"
    SHARED: ClassVar[bool] = True

    sort: str | None = option(
        "--sort",
        metavar="COLUMN",
        shell_complete=complete_sort,
        help="Sort rows, largest numbers first; COLUMN:asc: smallest first.",
    )
    top: int | None = option(
        "--top",
        type=click.IntRange(min=0),
        metavar="N",
        help="Show only the first N rows.  [default: all; fewer in reports for people]",
    )
    table: str | None = option(
        "--table",
        rare=True,
        metavar="NAME",
        help="Write only this table (csv, parquet, arrow), or sort it.  [default: the first]",
    )

    @property
    def order(self) -> Order | None:
        """The order of rows in --sort. Raises UsageError if the value is invalid."""
        return None if self.sort is None else order_of(self.sort)

    @property
    def cuts_tables(self) -> bool:
        """Return whether the command itself limits tables to --top rows, if there is no --sort."""
        return False


class Listing(Checks, Tables):
    """Options for showing frames, batches or records one by one."""
