"""How `kwire overhead` shows what it counted: tables, one JSON document, JSON lines, csv."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.cli.options import MOST_ROWS
from kwire_cli.cli.pages import Collected

if TYPE_CHECKING:
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.overhead_counting import Asked, Counted
    from kwire_cli.cost.overhead.limits import Distance
    from kwire_cli.cost.overhead.report import Report


def show(asked: Asked, counted: Counted, fmt: str) -> None:
    """Print all of it."""
    from kwire_cli.cost.overhead.report import report

    top = asked.options["top"] or (MOST_ROWS if fmt == "table" else None)
    made = report(counted.amounts, counted.tables, top)
    limits = _distances(asked, counted)
    if fmt == "table":
        if isinstance(asked.environment, Collected):
            from kwire_cli.view.html.overhead import charts

            asked.environment.charts += charts(made, counted.amounts)
        _show_tables(asked, counted, made, limits)
    elif fmt == "csv":
        write_csv(asked.environment, made, counted if counted.written else None)
    else:
        _show_json(asked, counted, made, limits, fmt)


def _distances(asked: Asked, counted: Counted) -> list[Distance]:
    from kwire_cli.cost.overhead.limits import distances

    return distances(counted.amounts.largest, asked.limits) if asked.options["limits"] else []


def _show_tables(asked: Asked, counted: Counted, made: Report, limits: list[Distance]) -> None:
    from kwire_cli.view.lines import counted as number_of
    from kwire_cli.view.overhead import limit_lines, record_lines, report_lines

    environment = asked.environment
    environment.write_lines(report_lines(made, messages="files" if counted.segments else "messages"))
    if counted.written:
        _show_changes(asked, counted)
    if counted.files:
        what = "the capture's file" if counted.captures == 1 else f"the files of {number_of(counted.captures, 'capture')}"
        environment.write_lines([[(f"{what}, packets and all: {number_of(counted.files, 'byte')}", "dim")]])
    if made.records and asked.options["records"]:
        environment.write_lines([[], *record_lines(made, asked.options["top"] or MOST_ROWS)])
    if limits:
        environment.write_lines([[], [("limits", "title")], *limit_lines(limits)])
    if counted.accumulators:
        from kwire_cli.view.batching import batching_lines

        environment.write_lines([[], *batching_lines(counted.accumulators.outcome(), asked.options["top"] or MOST_ROWS)])


def _show_changes(asked: Asked, counted: Counted) -> None:
    from kwire_cli.cost.overhead.changes import changes
    from kwire_cli.view.overlaid import change_lines, outcome_lines

    assert counted.written  # noqa: S101 - for the type checker
    assert counted.tallies.overlaid  # noqa: S101 - as above
    if not counted.segments:
        for names in counted.tables:
            asked.environment.write_lines(
                [[], *change_lines(names, *changes(counted.written, counted.tallies, names), asked.options["top"] or MOST_ROWS)]
            )
    asked.environment.write_lines([[], *outcome_lines(counted.tallies.overlaid, in_records=counted.segments)])


def _changes(counted: Counted) -> dict[str, Any]:
    from kwire_cli.cost.overhead.changes import changes
    from kwire_cli.view.overlaid import change_document

    assert counted.written  # noqa: S101 - for the type checker
    assert counted.tallies.overlaid  # noqa: S101 - as above
    found = [(names, *changes(counted.written, counted.tallies, names)) for names in counted.tables]
    return change_document([(names, rows) for names, rows, _ in found], found[0][2], counted.tallies.overlaid)


def write_csv(environment: Environment, made: Report, counted: Counted | None = None) -> None:
    """The rows of all tables; where there is what was `counted` under an overlay, with what they are as written."""
    names = list(dict.fromkeys(name for found in made.tables for name in found.dimensions))
    columns = [*names, "messages", "count", "bytes", "share", "overheadBytes", *(["writtenBytes", "change"] if counted else [])]
    environment.write_csv(columns)
    for found in made.tables:
        rows = [*found.to_json()]
        if counted:
            rows = _with_written(counted, found.dimensions, rows)
        for row in rows:
            rest = {found.dimensions[0]: f"({row['rest']} more)"} if "rest" in row else {}
            environment.write_csv([(row | rest).get(name) for name in columns])


def _with_written(counted: Counted, names: tuple[str, ...], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with what they are as written; what is gone under the overlay last."""
    from kwire_cli.cost.overhead.changes import changes

    assert counted.written  # noqa: S101 - for the type checker
    changed = {row.key: row for row in changes(counted.written, counted.tallies, names)[0]}
    out = []
    for row in rows:
        if "rest" in row:
            out.append(row)
            continue
        found = changed.pop(tuple(row[name] for name in names), None)
        change = found.change if found else 0
        out.append(row | {"writtenBytes": row["bytes"] - change, "change": change})
    gone = (each for each in changed.values() if not each.under)
    return out + [{**dict(zip(names, each.key, strict=True)), "bytes": 0, "writtenBytes": each.written, "change": each.change} for each in gone]


def _show_json(asked: Asked, counted: Counted, made: Report, limits: list[Distance], fmt: str) -> None:
    document = made.to_json()
    if not asked.options["records"]:
        document.pop("records", None)
    document["limits"] = [each.to_json() for each in limits]
    if counted.accumulators:
        document["batching"] = counted.accumulators.outcome().to_json()
    if counted.captures:
        document["fileBytes"] = counted.files
    if counted.written:
        document["overlay"] = _changes(counted)
    write_json(asked.environment, document, fmt)


def write_json(environment: Environment, document: dict[str, Any], fmt: str) -> None:
    """What `Report.to_json` gives and more, as one document or a line each for rows and other parts."""
    from kwire_cli.view.json import dumps

    if fmt == "json":
        environment.write(dumps(document, indent=True))
        return
    for found in document.pop("tables"):
        for row in found["rows"]:
            environment.write(dumps({"table": found["by"], **row}, indent=False))
    for name in ("compressed", "limits"):
        for row in document.pop(name, ()):
            environment.write(dumps({"table": name, **row}, indent=False))
    for name, found in document.items():
        if isinstance(found, dict):
            environment.write(dumps({"table": name, **found}, indent=False))
    total = {name: found for name, found in document.items() if not isinstance(found, dict)}
    environment.write(dumps({"table": "total", **total}, indent=False))
