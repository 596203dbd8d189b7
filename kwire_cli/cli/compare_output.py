"""How `kwire compare` prints what messages cost in other forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.cost.forms.choices import FLEXIBLE
from kwire_cli.cost.forms.sums import Comparison

if TYPE_CHECKING:
    from collections import Counter

    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog


class Row(NamedTuple):
    """A comparison; of generated values with the counts that differ between rows."""

    counts: dict[str, int]
    comparison: Comparison


class Result(NamedTuple):
    """What was compared, in words for eyes and as JSON; `skipped` are frames by the reason for which they have no price."""

    remark: str
    about: dict[str, Any]
    rows: list[Row]
    skipped: Counter[str]


def show(environment: Environment, catalog: Catalog, result: Result, fmt: str, options: dict[str, Any]) -> None:
    """Print a result: `fmt` is table, json, jsonl or csv."""
    rows = result.rows
    if fmt == "json":
        from kwire_cli.view.json import dumps

        comparisons = [_head(row) | row.comparison.to_json() for row in rows]
        total = {"total": _total(rows).to_json()} if _is_total(rows) else {}
        headers = {"flexibleHeaders": _headers(catalog, rows)} if FLEXIBLE in rows[0].comparison.sums else {}
        environment.write(dumps({"input": result.about, "comparisons": comparisons} | total | headers, indent=True))
    elif fmt == "jsonl":
        from kwire_cli.view.json import dumps

        for row in rows:
            head = _head(row) | {"message": row.comparison.message, "givenVersion": row.comparison.version}
            for each in row.comparison.sums.values():
                environment.write(dumps(head | each.to_json(), indent=False))
    elif fmt == "csv":
        from kwire_cli.view.compare import CSV, csv_cells

        environment.write_csv(CSV)
        for row in rows:
            for each in row.comparison.sums.values():
                environment.write_csv(csv_cells(row.counts, row.comparison, each))
    else:
        _show_table(environment, catalog, result, options)


def _show_table(environment: Environment, catalog: Catalog, result: Result, options: dict[str, Any]) -> None:
    from kwire_cli.view import compare as view

    rows = result.rows
    if rows[0].counts:
        environment.write_lines([*view.title_lines(rows[0].comparison, result.remark), *view.range_lines(rows)])
        return
    comparison = _total(rows) if _is_total(rows) else rows[0].comparison
    environment.write_lines([*view.title_lines(comparison, result.remark), *view.form_lines(comparison)])
    if _is_total(rows):
        environment.write_lines(view.message_lines([row.comparison for row in rows]))
    environment.write_lines(view.loss_lines(comparison))
    environment.write_lines(view.flexible_lines(comparison, _headers(catalog, rows)))
    if options["by_field"] or "b" in result.about:
        for row in rows:
            columns = {name: each for name, each in row.comparison.sums.items() if each.messages}
            environment.write_lines(view.field_lines(columns))


def _headers(catalog: Catalog, rows: list[Row]) -> int:
    """The bytes of flexible headers beyond inflexible ones, for all messages."""
    from kwire_cli.cost.forms.headers import header_difference

    named = [(row.comparison.message, row.comparison.given.messages) for row in rows if row.comparison.version is not None]
    return sum(messages * header_difference(catalog, catalog.message(message)) for message, messages in named if message)


def _head(row: Row) -> dict[str, Any]:
    return {"counts": row.counts} if row.counts else {}


def _is_total(rows: list[Row]) -> bool:
    return len(rows) > 1 and not rows[0].counts


def _total(rows: list[Row]) -> Comparison:
    return Comparison.of_all(row.comparison for row in rows)
