"""`kwire tui`: a file on the whole screen."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completion import complete_file, complete_version
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.old_options import PORT, of_frames, refuse, with_overlaid_catalog, with_tls_keylog
from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind, recognise
from kwire_cli.stores import exists, path_of, path_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.filter import Filter
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.kinds import Recognised
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.tui.look import Listing

_OF_FRAMES = ("api", "version", "kind", "framed")


@click.command(name="tui")
@click.argument("source", metavar="FILE", shell_complete=complete_file)
@click.option(
    "--filter",
    "filter_text",
    default="",
    metavar="TEXT",
    help="Show only frames or batches that match at first; see docs/filter.md.",
)
@of_frames
@click.option(
    "--version",
    "-n",
    type=click.IntRange(0, 32767),
    metavar="N",
    shell_complete=complete_version,
    help="Set the version of a response's api.",
)
@click.option(
    "--port", type=PORT, metavar="N", help="Name the broker's port (captures).  [default: recognised from the bytes]"
)
@with_tls_keylog
@click.option("--topic", metavar="NAME", help="Name the topic of a segment.  [default: taken from the folder's name]")
@click.option(
    "--show-secrets", is_flag=True, help="Show tokens, keys, salts and sensitive configs instead of redacting them."
)
@with_overlaid_catalog
@click.pass_obj
def command(environment: Environment, /, catalog: Catalog, source: str, filter_text: str, **options: Any) -> int:
    """Browse a capture, a segment or frames in the terminal.

    FILE is a packet capture, a log segment or snapshot, or frames in any form that kwire decode reads. Frames
    or batches, their fields, their bytes and their costs are shown side by side and follow each other; ? lists
    the keys. A large file is shown while it is still being read.
    """
    if importlib.util.find_spec("textual") is None:
        raise InputError("the terminal interface needs the package textual: pip install 'kwire[tui]'")
    listing = listing_of(catalog, source, options)
    if filter_text:
        listing.select(filter_text)  # what is wrong with it is said at once
    if not (environment.to_terminal and environment.stdin.isatty()):
        raise click.UsageError("this is for a terminal; kwire decode and kwire dump print the same")
    from kwire_cli.tui.app import Inspector

    try:
        app = Inspector(listing, path_text(source), filter_text)
        app.run()
    finally:
        listing.close()
    return Exit.FAILED if app.return_code else Exit.DONE


def listing_of(catalog: Catalog, source: str, options: dict[str, Any]) -> Listing:
    """Return the content of a file as a listing. Raises InputError if the file cannot be read."""
    from kwire_cli.cli.capture_inputs import filter_of
    from kwire_cli.message.redaction import Redaction

    if source == "-":
        raise InputError("standard input is the keyboard here: write what comes from a pipe to a file first")
    if not exists(source):
        raise InputError("there is no such file", file=source)
    if not (path_of(source).is_dir() or path_of(source).is_file()):
        raise InputError(
            "this is a pipe or a device, which can be read only once: write what comes from it to a file first",
            file=source,
        )
    recognised = recognise(source, form=options["form"], catalog=catalog)
    if recognised.kind is Kind.FOLDER:
        raise InputError("this is a folder; give one of the files in it", file=source)
    compile_, redaction = partial(filter_of, catalog), Redaction(catalog, show_secrets=options["show_secrets"])
    if recognised.kind is Kind.BATCHES:
        refuse(options, (*_OF_FRAMES, "port", "tls_keylog"), "is for frames, and this file has batches")
        return _segments(redaction, recognised, partial(filter_of, catalog, rows="batches"), options)
    if options["topic"]:
        raise click.UsageError("--topic is for segments, and this file is not a segment")
    if recognised.kind is Kind.CAPTURE:
        refuse(options, _OF_FRAMES, "is for frames without a capture around them, and this is one")
        from kwire_cli.tui.captures import Captures

        return Captures(redaction, source, compile_, port=options["port"], key_logs=options["tls_keylog"])
    refuse(options, ("port", "tls_keylog"), "is for packet captures, and this file is none")
    from kwire_cli.message.frames import Hints
    from kwire_cli.tui.frames import Frames

    hints = Hints(catalog.api(options["api"]) if options["api"] else None, options["version"], options["kind"])
    return Frames(redaction, recognised.frames, compile_, hints, framed=options["framed"])


def _segments(
    redaction: Redaction, found: Recognised, compile_: Callable[[str], Filter], options: dict[str, Any]
) -> Listing:
    from kwire_cli.cli.segments import segment_files
    from kwire_cli.records.reading import recognised_source
    from kwire_cli.tui.frames import Segments

    file, *rest = segment_files(found)
    if rest:
        raise InputError(
            "there are several record sets in this file: give one of them in a file of its own", file=found.name
        )
    source = recognised_source(file.view, given=options["topic"], folder=file.topic, catalog=redaction.catalog)
    return Segments(redaction, source, compile_)
