"""The command `kwire compare`: what the same messages would cost in other forms.

Spellings of compare-records, which were options of it, go on for one release with a note.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import click

from kwire_cli.cli.command import Command
from kwire_cli.cli.compare_messages import MessageForms, messages_compared
from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.emit import emit
from kwire_cli.cli.options import Report
from kwire_cli.cli.typed_options import argument, takes
from kwire_cli.source.opening import holds_batches

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment

EXAMPLES = (
    ("kwire compare -m FetchRequest --partitions 10 --versions 11-13", "three versions of a request"),
    ("kwire compare produce.hex --encoding packed", "its integers packed"),
    ("kwire compare incident.pcap --filter 'api == Fetch' --flexible", "what KIP-482 costs in it"),
)
OF_RECORDS = {
    *("--as-records", "--records", "--key-size", "--value-size", "--headers", "--header-name", "--header-size"),
    *("--record-format", "--record-forms", "--batch", "--codec", "--headers-as", "--register"),
}
"""Options that were of compare, and are of compare-records."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(MessageForms, Report):
    """Options of `kwire compare`."""

    PIPED: ClassVar[str] = "table"

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)


class Former(Command):
    """The command, which hands former spellings of compare-records on to it."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of this command, or of the one that does now what the arguments say."""
        names = {text.partition("=")[0] for text in args}
        if extra.get("resilient_parsing"):
            return super().make_context(info_name, args, parent, **extra)
        if names & OF_RECORDS:
            return _as_records(args, parent, **extra)
        context = super().make_context(info_name, [*args], parent, **extra)
        sources = context.params["source"]
        if sources and not context.params["message"] and all(map(holds_batches, sources)):
            return _as_records(args, parent, **extra)
        return context


def _as_records(args: list[str], parent: click.Context | None, **extra: Any) -> click.Context:
    from kwire_cli.cli.compare_records import command as compare_records  # start-up counts

    _note(parent, "compare of records", "kwire compare-records")
    kept = [text for text in args if text != "--as-records"]
    return compare_records.make_context("compare-records", kept, parent, **extra)


def _note(parent: click.Context | None, former: str, now: str) -> None:
    environment: Environment | None = parent.obj if parent else None
    if environment:
        environment.note(f"kwire: {former} is now {now}; the old spelling ends with the next release")


@click.command(name="compare", cls=Former, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Compare what the same messages cost in other versions and encodings, by encoding them.

    INPUT is bytes as decode takes them; without it, values are generated or read from --values. Messages of a
    capture are added up; two files with one message each stand side by side.
    """
    with environment.answering():
        return emit(environment, messages_compared(environment, options, options.source), options)
