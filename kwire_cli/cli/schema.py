"""`kwire schema`: JSON Schemas of the JSON that kwire prints."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import click

from kwire_cli.analysis.clients import Clients
from kwire_cli.analysis.comparison.copies import copies_answer
from kwire_cli.analysis.comparison.definitions import definitions_answer
from kwire_cli.analysis.comparison.profiles import Profiles
from kwire_cli.analysis.comparison.traffic import traffic_answer
from kwire_cli.analysis.costs.advice import Advice
from kwire_cli.analysis.costs.advice_values import Seen
from kwire_cli.analysis.costs.comparison_answer import Compared, records_answer
from kwire_cli.analysis.costs.header_forms import HeaderForms, Register
from kwire_cli.analysis.costs.overhead_answer import Overhead
from kwire_cli.analysis.costs.record_forms import Plan, RecordForms
from kwire_cli.analysis.costs.tallies import Tallies
from kwire_cli.analysis.diagnosis.diagnosis import Diagnosis
from kwire_cli.analysis.groups.groups import Groups
from kwire_cli.analysis.ladder import LadderCalls
from kwire_cli.analysis.logged import logged_requests
from kwire_cli.analysis.papers.claims import Paper
from kwire_cli.analysis.state.answer import state_answer
from kwire_cli.analysis.state.changes import changes_answer
from kwire_cli.analysis.stats import Stats
from kwire_cli.analysis.summary import Summary
from kwire_cli.analysis.timeline import Timeline
from kwire_cli.analysis.transactions.transactions import Transactions
from kwire_cli.analysis.verify import Verification
from kwire_cli.answer import OTHER_COLUMNS, Answer, Column, Table
from kwire_cli.cli import breaking, doctor, errors, export, lint, spec
from kwire_cli.cli.column_types import CAPTURES
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_message, scan_tables
from kwire_cli.cli.diff_messages import messages_blocks
from kwire_cli.cli.emit import emit
from kwire_cli.cli.options import OverlaidDefinitions, Report, version_option
from kwire_cli.cli.typed_options import argument, flag, takes
from kwire_cli.errors import InputError, close_to, did_you_mean
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.model import check_version
from kwire_cli.view.json import dumps
from kwire_cli.view.schemas import (
    FORMS,
    answer_schema,
    body_schema,
    document,
    fields_schema,
    rows_schema,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog

ANSWERS: dict[str, tuple[str, Callable[[], Answer | None]]] = {
    "advise": ("kwire advise", lambda: Advice(Seen(), {}, {}, {"messages": {}}, 0, None).answer()),
    "answer": ("any report", lambda: None),
    "breaking": ("kwire breaking", lambda: Answer("", [Table("breaks", breaking.COLUMNS, [])])),
    "changes": ("kwire dump --state --diff", lambda: changes_answer([], "", hide=None)),
    "clients": ("kwire clients", lambda: Clients().answer()),
    "compare": ("kwire compare", Compared.columns),
    "compare-records": (
        "kwire compare-records",
        lambda: records_answer(RecordForms(Plan((), (), (), Register())), HeaderForms(["v2"], Register())),
    ),
    "copies": ("kwire diff of two copies of a partition", lambda: copies_answer([])),
    "definitions": ("kwire diff of definitions", lambda: definitions_answer([], 0)),
    "diagnose": ("kwire diagnose", lambda: Diagnosis().answer()),
    "doctor": ("kwire doctor", lambda: doctor.answer_of([])),
    "errors": ("kwire errors", lambda: Answer("", [Table("errors", errors.COLUMNS, [])])),
    "export": ("kwire export and kwire scan --into", lambda: Answer("", [Table("tables", export.COLUMNS, [])])),
    "groups": ("kwire groups", lambda: Groups().answer()),
    "lint": ("kwire lint", lambda: Answer("", [Table("findings", lint.COLUMNS, [])])),
    "messages": ("kwire diff of two messages", lambda: Answer("", messages_blocks())),
    "overhead": ("kwire overhead", lambda: Overhead([("api",)], Tallies(catalog(), ["api"])).answer()),
    "paper": ("kwire paper", lambda: Paper("", "", "", "", ()).answer()),
    "query": ("kwire query", lambda: Answer("", [Table("rows", [Column(OTHER_COLUMNS, "json")], [])])),
    "request-log": ("kwire decode of a request log", lambda: logged_requests([])),
    "sequence": ("kwire sequence", lambda: LadderCalls().answer()),
    "spec-list": ("kwire spec list", lambda: Answer("", [Table("messages", spec.MESSAGES, [])])),
    "state": ("kwire dump --state", lambda: state_answer([], hide=None)),
    "stats": ("kwire stats", lambda: Stats().answer()),
    "summary": ("kwire summary", lambda: Summary().answer()),
    "timeline": ("kwire stats --every", lambda: Timeline(1).answer()),
    "traffic": ("kwire diff of captures or request logs", lambda: traffic_answer(Profiles(), Profiles(), ("", ""))),
    "transactions": ("kwire transactions", lambda: Transactions().answer()),
    "verify": ("kwire dump --verify", lambda: Verification([]).answer()),
}
"""The commands that print each Answer, and the Answer without rows, by name. Its columns give the schema."""
OTHERS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    **{name: (what, partial(copy, schema)) for name, (what, schema) in FORMS.items()},
    "fields": ("chosen columns of a frame, as kwire decode --fields prints them", lambda: fields_schema(CAPTURES)),
    "scan": (
        "a row of a table, as kwire scan --table prints it",
        lambda: rows_schema({name: maker.schema for name, maker in scan_tables().items()}),
    ),
}
"""Schemas of JSON that is not an Answer, by name, each with a description."""
_COLUMNS = (Column("name"), Column("describes"))

EXAMPLES = (
    ("kwire schema", "the names of the schemas"),
    ("kwire schema errors --lines", "a line of kwire errors --format jsonl"),
    ("kwire schema HeartbeatResponse --message-version 0", "the body of a message"),
)


def _complete_name(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    own = [name for name in sorted({*OTHERS, *ANSWERS}) if name.startswith(incomplete)]
    return [*own, *complete_message(context, parameter, incomplete)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Report, OverlaidDefinitions):
    """Options of `kwire schema`."""

    PIPED: ClassVar[str] = "table"

    name: str | None = argument(required=False, shell_complete=_complete_name)
    version: int | None = version_option("Set the version of the message.  [default: the newest]")
    lines: bool = flag("--lines", section="Choose", help="Describe one line of --format jsonl (reports).")


@click.command(name="schema", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int | None:
    """Print the JSON Schema (2020-12) of kwire's JSON output, or list all schemas.

    NAME is a name that kwire schema lists, or the name of a message: the schema then describes its body.
    """
    name = options.name
    if name is None:
        rows = [(name, what) for name, (what, _) in sorted({**OTHERS, **ANSWERS}.items())]
        return emit(environment, Answer("JSON Schemas", [Table("schemas", _COLUMNS, rows)]), options)
    if options.fmt not in {None, "json", "jsonl"}:
        raise click.UsageError(f"a schema is JSON: use --format json or jsonl, not {options.fmt}")
    if options.lines and name not in ANSWERS:
        raise click.UsageError("--lines is for reports: other schemas describe --format json and jsonl alike")
    environment.write(dumps(_schema(options.catalog, name, options), indent=options.fmt != "jsonl"))
    return None


def _schema(catalog: Catalog, name: str, options: Options) -> dict[str, Any]:
    if name in OTHERS:
        what, schema = OTHERS[name]
        return document(what, schema())
    if name in ANSWERS:
        what, answer = ANSWERS[name]
        return document(f"{what}, a line" if options.lines else what, answer_schema(answer(), lines=options.lines))
    try:
        message = catalog.message(name)
    except InputError as error:
        raise InputError(
            f"no schema is called {name}{did_you_mean(close_to(name, [*OTHERS, *ANSWERS]))}, and {error}"
        ) from None
    check_version(message, options.version)
    version = message.valid_versions.high if options.version is None else options.version
    return document(f"the body of {message.name} {version}", body_schema(message, version))
