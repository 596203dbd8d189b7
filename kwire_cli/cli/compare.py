"""`kwire compare`: what the same values would cost in other forms. Messages, record sets, and the documents that proposed the forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from kwire_cli.cli.compare_records import show_records, wants_records, with_record_options
from kwire_cli.cli.counts import counts, numbers
from kwire_cli.cli.frame_options import of_captures, of_frames
from kwire_cli.cli.options import complete_file, complete_message, complete_overlay, complete_version, with_catalog, with_csv, with_output
from kwire_cli.cost.papers import PAPERS
from kwire_cli.spec.encodings import ENCODING_NAMES, OWN_WIDTH

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment, Exit
    from kwire_cli.spec.catalog import Catalog

FORMATS = ("table", "json", "jsonl", "csv", "html")
BESIDE_PAPER = {"paper", "times", "fmt", "specs", "kafka", "colour"}
"""Options that mean something with --paper."""


@click.command(name="compare")
@click.argument("source", nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
@click.option(
    "--message", "-m", metavar="NAME", shell_complete=complete_message, help="The message: of --values, of what is generated, or of a body."
)
@click.option(
    "--version",
    "-n",
    type=click.IntRange(0, 32767),
    metavar="N",
    shell_complete=complete_version,
    help="The version that the others are compared with.  [default: of generated values the highest]",
)
@click.option(
    "--values",
    metavar="FILE|JSON",
    shell_complete=complete_file,
    help="The message's values in JSON form, as decode prints its body; - for standard input.",
)
@click.option("--brokers", metavar="N|A..B", callback=numbers, help="Generate values, with so many brokers.")
@click.option("--topics", metavar="N|A..B", callback=numbers, help="Generate values, with so many topics.")
@click.option(
    "--partitions",
    metavar="N|A..B",
    callback=numbers,
    help="Generate values, with so many partitions a topic; a range such as 1..1000 gives a line each.",
)
@click.option("--replicas", metavar="N|A..B", callback=numbers, help="Generate values, with so many replicas a partition.")
@click.option(
    "--count",
    "counts",
    metavar="PATH=N",
    callback=counts,
    multiple=True,
    help="Generate values: elements of any array, or bytes of any text, by its path.",
)
@click.option("--versions", metavar="A-B|all", help="Compare with these versions.")
@click.option("--flexible", is_flag=True, help="Compare the same version inflexible and flexible: what KIP-482 saves and costs.")
@click.option("--all-tagged", is_flag=True, help="Compare with all fields tagged, which KIP-482 rejects.")
@click.option(
    "--encoding",
    "encodings",
    multiple=True,
    type=click.Choice((*OWN_WIDTH, *ENCODING_NAMES)),
    metavar="NAME",
    help="Compare with integers in this encoding (KAFKA-9927): fixed, packed, upacked, or with a width, as packed32; repeatable.",
)
@click.option("--fields", metavar="PATH,PATH", help="With --encoding: these fields alone, by path or its last part.  [default: every integer]")
@click.option("--cases", is_flag=True, help="With encodings and overlays: their best and worst case too.")
@click.option(
    "--overlay", "overlays", multiple=True, metavar="NAME|FILE", shell_complete=complete_overlay, help="Compare with this overlay; repeatable."
)
@click.option("--by-field", is_flag=True, help="Show the bytes of each field.")
@click.option("--paper", type=click.Choice([*PAPERS]), help="A source document's own numbers beside what kwire measures.")
@click.option("--times/--no-times", default=None, help="With --paper kafka9927: measure times longer, compiled ones too; or measure none.")
@of_frames
@of_captures
@click.option("--show-secrets", is_flag=True, help="Show values that can't be carried even of messages that hold secrets.")
@click.option("--format", "-f", "fmt", type=click.Choice(FORMATS), default="table", show_default=True, help="How the result looks.")
@click.option("-v", "--verbose", is_flag=True, help="Say how the input was read, and which folder links were followed.")
@with_record_options
@with_catalog
@with_output
@with_csv
def command(
    environment: Environment, catalog: Catalog, source: tuple[str, ...], fmt: str, paper: str | None, *, times: bool | None, **options: Any
) -> Exit:
    """Price the same values in other forms, by really writing them.

    INPUT is bytes as decode takes them: files, - for standard input, or the bytes themselves. Of a capture all messages are added up; two files of
    one message each stand side by side; segments and record sets are compared record by record. Without input the values are generated, or come from
    --values. What is compared is the body: with its other versions, inflexible and flexible, with all fields tagged, and with packed integers, or
    with what was asked for.
    """
    if fmt != "html":
        return _show(environment, catalog, source, fmt, paper, times=times, options=options)
    from kwire_cli.cli.pages import files_among, page_of

    names = [*files_among(source), *([options["message"]] if options["message"] else []), *(["--paper", paper] if paper else [])]
    return page_of(environment, "compare", names, lambda env: _show(env, catalog, source, "table", paper, times=times, options=options))


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
        from kwire_cli.cli.papers import show_paper

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
            said = "INPUT" if isinstance(parameter, click.Argument) else f"--{options['kind']}" if name == "kind" else parameter.opts[0]
            raise click.UsageError(f"--paper measures the document's own examples: leave {said} away")
