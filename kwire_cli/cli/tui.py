"""`kwire tui`: a file on the whole screen."""

from __future__ import annotations

import importlib.util
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.frame_options import of_frames, refuse, with_tls_keylog
from kwire_cli.cli.options import PORT, complete_file, complete_version, with_overlaid_catalog
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.filter import Filter
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.tui.listing import Listing

_OF_FRAMES = ("api", "version", "kind", "framed")


@click.command(name="tui")
@click.argument("source", metavar="FILE", shell_complete=complete_file)
@click.option("--filter", "filter_text", default="", metavar="TEXT", help="Begin with the frames or batches that match; see docs/filter.md.")
@of_frames
@click.option("--version", "-n", type=click.IntRange(0, 32767), metavar="N", shell_complete=complete_version, help="The version of a response's api.")
@click.option("--port", type=PORT, metavar="N", help="Of a capture, the broker's port; otherwise the bytes tell which side it is.")
@with_tls_keylog
@click.option("--topic", metavar="NAME", help="Of a segment, its topic; otherwise the folder says it.")
@click.option("--show-secrets", is_flag=True, help="Do not redact tokens, keys, salts and sensitive configs.")
@with_overlaid_catalog
@click.pass_obj
def command(environment: Environment, /, catalog: Catalog, source: str, filter_text: str, **options: Any) -> int:
    """Look through a capture, a segment or frames in the terminal.

    FILE is a packet capture, a log segment or snapshot, or frames in any form that kwire decode reads. Frames or batches, their fields, their bytes
    and their costs stand beside each other and follow one another; ? lists the keys. A large file is shown while it is still being read.
    """
    if importlib.util.find_spec("textual") is None:
        raise InputError("the terminal interface needs the package textual: pip install 'kwire[tui]'")
    listing = listing_of(catalog, source, options)
    if filter_text:
        listing.select(filter_text)  # what is wrong with it is said at once
    if not (environment.to_terminal and environment.stdin.isatty()):
        raise click.UsageError("this is for a terminal; kwire decode and kwire dump print the same")
    from kwire_cli.cli.segments import path_text
    from kwire_cli.tui.app import Inspector

    try:
        app = Inspector(listing, path_text(source), filter_text)
        app.run()
    finally:
        listing.close()
    return Exit.FAILED if app.return_code else Exit.DONE


def listing_of(catalog: Catalog, source: str, options: dict[str, Any]) -> Listing:
    """What is in a file, as a list; InputError where it can't be read."""
    from kwire_cli.cli.captures import filter_of
    from kwire_cli.cli.record_inputs import holds_batches
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.source.frames import capture_in, read_source

    if source == "-":
        raise InputError("standard input is the keyboard here: write what comes from a pipe to a file first")
    path = Path(source)
    try:
        if path.is_dir():
            raise InputError("this is a folder; give one of the files in it", file=source)
        if not path.exists():
            raise InputError("there is no such file", file=source)
        if not path.is_file():
            raise InputError("this is a pipe or a device, which can be read only once: write what comes from it to a file first", file=source)
    except (OSError, ValueError):
        raise InputError("there is no such file", file=source) from None
    compile_, redaction = partial(filter_of, catalog), Redaction(catalog, show_secrets=options["show_secrets"])
    auto = options["form"] == "auto"
    if auto and holds_batches(source):
        refuse(options, (*_OF_FRAMES, "port", "tls_keylog"), "is for frames, and this file has batches")
        return _segments(redaction, path, partial(filter_of, catalog, of_messages=False), options)
    if options["topic"]:
        raise click.UsageError("--topic is of a segment, and this file is none")
    if auto and capture_in(source) is not None:
        refuse(options, _OF_FRAMES, "is for frames without a capture around them, and this is one")
        from kwire_cli.tui.captures import Captures

        return Captures(redaction, source, compile_, port=options["port"], key_logs=options["tls_keylog"])
    refuse(options, ("port", "tls_keylog"), "is for packet captures, and this file is none")
    from kwire_cli.message.frames import Hints
    from kwire_cli.tui.frames import Frames

    found = read_source(source, options["form"])
    hints = Hints(catalog.api(options["api"]) if options["api"] else None, options["version"], options["kind"])
    return Frames(redaction, found, compile_, hints, framed=options["framed"])


def _segments(redaction: Redaction, path: Path, compile_: Callable[[str], Filter], options: dict[str, Any]) -> Listing:
    from kwire_cli.records.opening import source_of
    from kwire_cli.records.recognised import with_topic
    from kwire_cli.source.logs.names import file_name
    from kwire_cli.source.logs.segments import partition_of, topic_of
    from kwire_cli.tui.segments import Segments

    topic = options["topic"] or topic_of(file_name(path.name).kind, partition_of(path))
    source = source_of(path, topic=topic, catalog=redaction.catalog)
    return Segments(redaction, source if options["topic"] else with_topic(source), compile_)
