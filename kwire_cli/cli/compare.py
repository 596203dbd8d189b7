"""The command `kwire compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kwire_cli.analysis.papers.claims import PAPERS
from kwire_cli.cli.compare_records import show_records, wants_records, with_record_options
from kwire_cli.cli.completion import complete_file, complete_message, complete_overlay, complete_version
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.numbers import counts, numbers
from kwire_cli.cli.old_options import REPORT_FORMATS, of_captures, of_frames, with_catalog, with_csv, with_output
from kwire_cli.spec.reading import ENCODING_NAMES, OWN_WIDTH

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog


# `kwire compare --paper`: a source document's own numbers beside those that kwire measures.


def show_paper(environment: Environment, catalog: Catalog, name: str, fmt: str, *, times: bool | None = None) -> Exit:
    """Print one of PAPERS, whose numbers are measured now: `fmt` is table, json, jsonl, or csv with a row a claim."""
    from kwire_cli.analysis.papers.claims import paper

    document = paper(name, catalog, times=times)
    if fmt == "csv":
        from kwire_cli.view.advice import CSV, claim_cells

        environment.write_csv(CSV)
        for claim in document.claims:
            environment.write_csv(claim_cells(claim))
    elif fmt in {"json", "jsonl"}:
        from kwire_cli.view.json import dumps

        environment.write(dumps(document.to_json(), indent=fmt == "json"))
    else:
        from kwire_cli.view.advice import paper_lines

        environment.write_lines(paper_lines(document))
    return Exit.DONE


# `kwire compare`: what the same values would cost in other forms. Messages, record sets, and the documents
# that proposed the forms.

BESIDE_PAPER = {"paper", "times", "fmt", "specs", "kafka", "colour"}
"""Options that mean something with --paper."""


@click.command(name="compare")
@click.argument("source", nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
@click.option(
    "--message",
    "-m",
    metavar="NAME",
    shell_complete=complete_message,
    help="Name the message of --values, of generated values, or of a body.",
)
@click.option(
    "--version",
    "-n",
    type=click.IntRange(0, 32767),
    metavar="N",
    shell_complete=complete_version,
    help="Compare the others with this version.  [default: the highest, for generated values]",
)
@click.option(
    "--values",
    metavar="FILE|JSON",
    shell_complete=complete_file,
    help="Read the message's values from JSON, as decode prints a body (- is standard input).",
)
@click.option("--brokers", metavar="N|A..B", callback=numbers, help="Generate values with this many brokers.")
@click.option("--topics", metavar="N|A..B", callback=numbers, help="Generate values with this many topics.")
@click.option(
    "--partitions",
    metavar="N|A..B",
    callback=numbers,
    help="Generate values with this many partitions per topic; 1..1000 gives a line each.",
)
@click.option(
    "--replicas", metavar="N|A..B", callback=numbers, help="Generate values with this many replicas per partition."
)
@click.option(
    "--count",
    "counts",
    metavar="PATH=N",
    callback=counts,
    multiple=True,
    help="Generate this many elements of an array, or bytes of a text.",
)
@click.option("--versions", metavar="A-B|all", help="Compare with these versions.")
@click.option(
    "--flexible", is_flag=True, help="Compare the version inflexible and flexible: what KIP-482 saves and costs."
)
@click.option("--all-tagged", is_flag=True, help="Compare with all fields tagged, which KIP-482 rejects.")
@click.option(
    "--encoding",
    "encodings",
    multiple=True,
    type=click.Choice((*OWN_WIDTH, *ENCODING_NAMES)),
    metavar="NAME",
    help="Compare with integers in this encoding (KAFKA-9927), such as fixed, packed, upacked, packed32; repeatable.",
)
@click.option(
    "--fields",
    metavar="PATH,PATH",
    help="Apply --encoding only to these fields, by path or name.  [default: every integer]",
)
@click.option("--cases", is_flag=True, help="Show the best and worst case of encodings and overlays too.")
@click.option(
    "--overlay",
    "overlays",
    multiple=True,
    metavar="NAME|FILE",
    shell_complete=complete_overlay,
    help="Compare with this overlay; repeatable.",
)
@click.option("--by-field", is_flag=True, help="Show the bytes of each field.")
@click.option(
    "--paper", type=click.Choice([*PAPERS]), help="Show a document's own figures beside those that kwire measures."
)
@click.option(
    "--times/--no-times", default=None, help="Measure times for longer, or not at all (with --paper kafka9927)."
)
@of_frames
@of_captures
@click.option(
    "--show-secrets", is_flag=True, help="Show values that cannot be encoded, even those of messages with secrets."
)
@click.option(
    "--format",
    "-f",
    "fmt",
    type=click.Choice(REPORT_FORMATS),
    default="table",
    show_default=True,
    help="Set the output format.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Say how the input was recognised, and which folder links were followed."
)
@with_record_options
@with_catalog
@with_output
@with_csv
def command(
    environment: Environment,
    catalog: Catalog,
    source: tuple[str, ...],
    fmt: str,
    paper: str | None,
    *,
    times: bool | None,
    **options: Any,
) -> Exit:
    """Compare what the same values cost in other encodings, by encoding them.

    INPUT is bytes as decode takes them: files, - for standard input, or the bytes themselves. All messages of a
    capture are added up; two files with one message each are shown side by side; segments and record sets are
    compared record by record. Without input, values are generated or read from --values. By default the body is
    compared with its other versions, inflexible and flexible, with all fields tagged, and with packed integers.
    """
    if fmt != "html":
        return _show(environment, catalog, source, fmt, paper, times=times, options=options)
    from kwire_cli.cli.pages import files_among, page_of

    names = [
        *files_among(source),
        *([options["message"]] if options["message"] else []),
        *(["--paper", paper] if paper else []),
    ]
    return page_of(
        environment,
        "compare",
        names,
        lambda env: _show(env, catalog, source, "table", paper, times=times, options=options),
    )


def _show(
    environment: Environment,
    catalog: Catalog,
    source: tuple[str, ...],
    fmt: str,
    paper: str | None,
    *,
    times: bool | None,
    options: dict[str, Any],
) -> Exit:
    if paper:
        _refuse_beside_paper(options)
        return show_paper(environment, catalog, paper, fmt, times=times)
    if times is not None:
        raise click.UsageError("--times needs --paper")
    if options["as_records"] or (not options["message"] and wants_records(source, options)):
        return show_records(environment, catalog, source, options, fmt)
    from kwire_cli.cli.compare_messages import show_messages

    return show_messages(environment, catalog, source, fmt, options)


def _refuse_beside_paper(options: dict[str, Any]) -> None:
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in BESIDE_PAPER and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            said = (
                "INPUT"
                if isinstance(parameter, click.Argument)
                else f"--{options['kind']}"
                if name == "kind"
                else parameter.opts[0]
            )
            raise click.UsageError(f"--paper measures the document's own examples; omit {said}")
