"""The options of `kwire compare`, and their conversion to forms.

`MODES` contains the options that only some comparisons support.
"""

from __future__ import annotations

from typing import Any, ClassVar

import click
from click.shell_completion import CompletionItem

from kwire_cli.analysis.costs.forms import FORMS, OF_RECORDS, Choice, choice_of
from kwire_cli.analysis.costs.record_forms import BATCH_SIZES
from kwire_cli.cli.compare_generated import Generated
from kwire_cli.cli.completers import complete_field_paths, complete_file, complete_overlay
from kwire_cli.cli.fits import ALL_MESSAGES
from kwire_cli.cli.options import (
    REPORT_FORMATS,
    Captures,
    Choosing,
    Definitions,
    HeaderKeys,
    Messages,
    RecordSets,
    Tables,
)
from kwire_cli.cli.typed_options import argument, flag, option
from kwire_cli.spec.model import Versions

KIP = "kip"
"""The format of a paragraph and a table for a KIP."""
MAX_VERSION = 255
MODES = {
    "messages": ("versions", "forms", "paths", "by_field", "made"),
    "records": ("forms", "batch", "codec", "register", "record_format", "as_topic", "made"),
    "proposals": ("proposals", "assumed"),
    "advice": ("advise", "write_overlay", "record_format", "as_topic"),
    "histograms": ("histogram", "record_format", "as_topic"),
}
"""The options that not all comparisons support, by comparison."""


def _complete_form(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Return the mark for files, the bundled overlays, and the names of forms."""
    names = [CompletionItem(name) for name in (*FORMS, *OF_RECORDS) if name.startswith(incomplete)]
    return [*complete_overlay(ctx, parameter, incomplete), *names]


class Options(Captures, Choosing, Messages, RecordSets, HeaderKeys, Generated, Definitions, Tables):
    """Options of `kwire compare`."""

    PIPED: ClassVar[str] = "table"

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice((*REPORT_FORMATS, KIP)),
        help="Set the output format; kip is text for KIPs.  [default: table]",
    )
    forms: tuple[str, ...] = option(
        "--form",
        section="Choose",
        multiple=True,
        metavar="NAME|OVERLAY",
        shell_complete=_complete_form,
        help="Compare with flexible, packed, an overlay, or a format of records; repeatable.",
    )
    versions: str | None = option(
        "--versions", section="Choose", fits=ALL_MESSAGES, metavar="A-B|all", help="Compare with these versions."
    )
    paths: str | None = option(
        "--paths",
        section="Choose",
        fits=ALL_MESSAGES,
        rare=True,
        metavar="PATH,PATH",
        shell_complete=complete_field_paths,
        help="Apply encodings of --form only to these fields, by path or name.",
    )
    by_field: bool = flag(
        "--by-field", section="Output", fits=ALL_MESSAGES, rare=True, help="Show the bytes of each field."
    )
    batch: str | None = option(
        "--batch",
        section="Choose",
        metavar="N,N",
        help=f"Put this many records in a batch.  [default: {','.join(BATCH_SIZES)}]",
    )
    codec: str | None = option(
        "--codec",
        section="Choose",
        metavar="A,B",
        help="Compress records with these codecs, such as none,zstd:19.  [default: as-is]",
    )
    proposals: tuple[str, ...] = option(
        "--proposal",
        section="Choose",
        multiple=True,
        metavar="FILE",
        shell_complete=complete_file,
        help="Price this proposed definition or overlay; repeatable.",
    )
    assumed: tuple[str, ...] = option(
        "--assume",
        section="Choose",
        multiple=True,
        rare=True,
        metavar="PATH=VALUE[@SHARE]",
        help="Assume this value, or len:N, of a new field in the proposal.",
    )
    advise: bool = flag(
        "--advise", section="Choose", help="Propose the encodings and tags that save bytes in the values."
    )
    write_overlay: str | None = option(
        "--write-overlay",
        section="Output",
        rare=True,
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write the changes that pay as an overlay for --form and --specs.",
    )
    histogram: str | None = option(
        "--histogram",
        section="Choose",
        metavar="PATH",
        shell_complete=complete_field_paths,
        help="Count the integers, lengths or counts of this field by their bytes.",
    )

    @property
    def choice(self) -> Choice:
        """The chosen forms of messages. Raise UsageError for an invalid version, and InputError for an unknown form."""
        paths = tuple(name.strip() for name in (self.paths or "").split(",") if name.strip())
        return choice_of(_parse_versions(self.versions), self.forms, paths)


def _parse_versions(text: str | None) -> tuple[int, ...]:
    """Return the versions in --versions, or an empty tuple. Raise UsageError for other text."""
    if not text:
        return ()
    try:
        versions = Versions.parse("0+" if text == "all" else text) & Versions(0, MAX_VERSION)
    except ValueError as error:
        raise click.UsageError(f"--versions: {error}, or all") from None
    if not versions:
        raise click.UsageError(f"--versions takes the lower number first, not {text!r}")
    return tuple(versions.each())
