"""Runs the rules of `kwire diagnose` over tables, and makes findings of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kwire_cli.errors import InputError
from kwire_cli.facts.queries import needed_by
from kwire_cli.questions.rule_files import FAMILIES
from kwire_cli.questions.sentence import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.facts.memory import Tables
    from kwire_cli.questions.rule_files import Rule, Severity

EXPLAINED = "create or replace temp table explained (code varchar, client varchar, error varchar)"
"""The errors that findings account for. A null client stands for all clients."""
FACTS = """
select
    (select list(distinct coalesce(api, kind)) from frames) as apis,
    (select list(distinct e) from (select unnest(errors) as e from frames)) as errors,
    exists (select 1 from frames where len(anomalies) > 0) as has_anomalies,
    exists (select 1 from frames) or exists (select 1 from connections) as has_traffic
"""
"""The contents of the tables in one row, which decides which rules run."""
COLUMN_TYPES = "evidence is a list of places, weight is a number, and all other columns that rules know are text"
"""The types of the columns of rules, for errors."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a rule, with its texts filled in.

    `places` are rows of evidence, the earliest first. `weight` orders findings of one rule, the largest first.
    `command` is a kwire command that shows details, without the inputs, such as `groups --group billing`. The meaning
    and the advice contain the texts of the rule and of the row. The advice also depends on the client's software.
    """

    rule: Rule
    severity: Severity
    subject: str
    text: str
    meaning: str
    advice: str
    command: str
    weight: float
    places: tuple[dict[str, Any], ...]


def findings(tables: Tables, rules: Sequence[Rule]) -> Iterator[Finding]:
    """Yield the findings of rules.

    A rule over tables that replays fill runs if one of these tables has rows. Any rule runs if the input contains the
    apis and errors that it names.

    Raises:
        InputError: DuckDB rejects the query of a rule, the text of a rule names a column that the query lacks, or a
            column has values of another type.

    """
    facts = tables.rows(FACTS)[0]
    filled = {name for name in tables.created if tables.rows(f"select 1 from {name} limit 1")}  # noqa: S608 - our names
    tables.connection.execute(EXPLAINED)
    for rule in rules:
        created = needed_by(rule.query) & tables.created
        if not (created & filled or _has_traffic_for(rule, facts, is_replayed=bool(created))):
            continue
        try:
            rows = tables.rows(rule.graded_query, rule.parameters)
            yield from [_finding(rule.in_case(row.get("in_case")), row) for row in rows]
            _explain(tables, rule, rows)
        except InputError as error:
            raise InputError(f"rule {rule.code}: {error.reason}") from error
        except KeyError as error:
            raise InputError(f"rule {rule.code}: its text names {error}, and its query has no such column") from error
        except (TypeError, ValueError) as error:
            raise InputError(f"rule {rule.code}: {error}; {COLUMN_TYPES}") from error


def _has_traffic_for(rule: Rule, facts: Mapping[str, Any], *, is_replayed: bool) -> bool:
    """Return whether the input contains the traffic that a rule names. A rule over replays must name apis."""
    if not facts["has_traffic"] or (is_replayed and not rule.apis):
        return False
    if (rule.apis and rule.apis.isdisjoint(facts["apis"] or ())) or (rule.anomalies and not facts["has_anomalies"]):
        return False
    return not rule.errors or not rule.errors.isdisjoint(facts["errors"] or ())


def _explain(tables: Tables, rule: Rule, rows: Sequence[dict[str, Any]]) -> None:
    explained = []
    for row in rows:
        explained += [(rule.code, row.get("client"), sentence(error, row)) for error in rule.explains]
    if explained:
        tables.connection.executemany("insert into explained values (?, ?, ?)", explained)


def _finding(rule: Rule, row: dict[str, Any]) -> Finding:
    software = row.get("software") or ""
    family = next((name for name, word in FAMILIES.items() if word in software), "")
    places = [place for place in row.get("evidence") or () if place is not None]
    return Finding(
        rule,
        row["severity"],
        sentence(rule.subject, row),
        sentence(rule.text, row),
        " ".join(filter(None, (rule.meaning, row.get("more_meaning")))),
        " ".join(filter(None, (rule.advice["any"], row.get("more_advice"), rule.advice_by_family().get(family)))),
        sentence(rule.command, row),
        float(row.get("weight") or 0),
        tuple(sorted(places, key=lambda place: place["ordinal"])),
    )
