"""`kwire advise`: which encodings and tags would have paid, from the values in captures and logs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.frame_options import with_capture_points, with_tls_keylog
from kwire_cli.cli.options import PORT, REPORT_FORMATS, complete_api, complete_file, complete_message, with_catalog, with_csv, with_output
from kwire_cli.cli.pages import Collected, files_among, page_of
from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.cost.advice.drawn import Plans, Prices
    from kwire_cli.cost.advice.report import Advice
    from kwire_cli.cost.advice.seen import Seen
    from kwire_cli.spec.catalog import Catalog

TOP = 10
"""Rows of each table for eyes, unless --top says otherwise."""


@click.command(name="advise")
@click.argument("source", nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
@click.option(
    "--message", "-m", "messages", multiple=True, metavar="NAME", shell_complete=complete_message, help="Count only these messages; repeatable."
)
@click.option(
    "--api",
    "apis",
    multiple=True,
    metavar="NAME|KEY",
    shell_complete=complete_api,
    help="Count only requests and responses of these apis; repeatable.",
)
@click.option("--version", "-n", type=click.IntRange(0, 32767), metavar="N", help="Name the version of a response outside a capture (with --api).")
@click.option("--request", "kind", flag_value="request", help="Read frames outside a capture as requests.")
@click.option("--response", "kind", flag_value="response", help="Read frames outside a capture as responses.")
@click.option("--filter", metavar="TEXT", help="Count only frames that match, such as 'client ~ \"app-.*\"' (captures); see docs/filter.md.")
@click.option("--port", type=PORT, metavar="N", help="Name the broker's port.  [default: recognised from the bytes]")
@with_tls_keylog
@with_capture_points
@click.option("--as-topic", metavar="NAME", help="Name the topic of segments.  [default: taken from the folder's name]")
@click.option(
    "--min-saving",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="BYTES",
    help="Put only changes that save at least this share into the overlay.",
)
@click.option("--half", is_flag=True, help="Derive the overlay from the first half of the messages; test it on all.")
@click.option("--top", type=click.IntRange(min=0), metavar="N", help=f"Show at most this many rows of each table.  [default: {TOP}; in json all]")
@click.option(
    "--histograms", type=click.IntRange(min=0), default=3, show_default=True, metavar="N", help="Draw histograms of this many integer fields."
)
@click.option("--write-overlay", type=click.Path(dir_okay=False), metavar="FILE", help="Write the changes that pay as an overlay for --overlay.")
@click.option("--format", "-f", "fmt", type=click.Choice(REPORT_FORMATS), default="table", show_default=True, help="Set the output format.")
@with_catalog
@with_output
@with_csv
def command(environment: Environment, catalog: Catalog, source: tuple[str, ...], fmt: str, **options: Any) -> Exit:
    """Suggest encodings and tags that would pay, from the values in captures and logs.

    INPUT is captures, frames in any form, segments, folders of a log directory (records of Kafka's internal
    topics), brokers' request logs, or - for standard input. Each integer field is priced in each encoding of
    KAFKA-9927, and each field as a tagged field (KIP-482). The changes that pay become an overlay; `kwire
    overhead --overlay` confirms what it saves.
    """
    from kwire_cli.cli.advise_inputs import Messages
    from kwire_cli.cost.advice.drawn import priced
    from kwire_cli.cost.advice.observed import Observed

    if not source and environment.stdin.isatty():
        raise InputError("no input: give captures, frames, segments, folders of a log directory, request logs, or - for standard input")
    with closing(Messages(environment, catalog, source, options)) as messages:
        observed = Observed(catalog)
        for message in messages.each():
            observed.add(message)

        def show(environment: Environment, fmt: str) -> None:
            show_advice(environment, catalog, observed.seen(), lambda plans: priced(catalog, plans, messages.each()), fmt, options)

        if fmt == "html":
            page_of(environment, "advise", files_among(source), lambda env: show(env, "table"))
        else:
            show(environment, fmt)
    return Exit.DONE


def show_advice(environment: Environment, catalog: Catalog, seen: Seen, price: Callable[[Plans], Prices], fmt: str, options: dict[str, Any]) -> None:
    """Draw the advice and print it; `price` looks at all messages again. InputError where there are none."""
    from kwire_cli.cost.advice.drawn import drawn

    if not seen.messages:
        raise InputError(
            "this holds no message that is certain: for a response outside a capture give --api and --version; "
            "--message, --api and --filter choose among the others"
        )
    advice = drawn(catalog, seen, price, least=options["min_saving"], half=options["half"])
    if options["write_overlay"]:
        _write(environment, Path(options["write_overlay"]), advice)
    _show(environment, advice, fmt, options)


def _write(environment: Environment, file: Path, advice: Advice) -> None:
    from kwire_cli.cost.advice.plan import overlay_text

    try:
        file.write_text(overlay_text(advice.overlay), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(file)) from None
    environment.note(f"{file}: an overlay of {len(advice.plan)} fields, which saves {advice.saved} of {advice.seen.size} bytes")


def _show(environment: Environment, advice: Advice, fmt: str, options: dict[str, Any]) -> None:
    if fmt == "table":
        from kwire_cli.view.advice import advice_lines

        top, drawn = TOP if options["top"] is None else options["top"], options["histograms"]
        if isinstance(environment, Collected):
            from kwire_cli.view.html.advice import charts

            environment.charts += charts(advice, drawn)
            drawn = 0
        environment.write_lines(advice_lines(advice, top=top, histograms=drawn))
        return
    from kwire_cli.view.advice import csv_rows, json_rows
    from kwire_cli.view.json import dumps

    if fmt == "json":
        environment.write(dumps(advice.to_json(options["top"]), indent=True))
    elif fmt == "jsonl":
        for row in json_rows(advice.to_json(options["top"])):
            environment.write(dumps(row, indent=False))
    else:
        for cells in csv_rows(advice, options["top"]):
            environment.write_csv(cells)
