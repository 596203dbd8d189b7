"""Completion of what stands in options and arguments: files, messages, versions, error codes, columns, filters."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kwire_cli.answer import Column
from kwire_cli.cli.sorting import DIRECTIONS
from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import KwireError
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from kwire_cli.analysis.diagnosis.model import FindingKind
    from kwire_cli.filter import Rows
    from kwire_cli.spec.catalog import Catalog


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Files and folders, which the shell itself knows."""
    return [_item(incomplete, type="file")]


def _item(text: str, **settings: Any) -> Any:
    from click.shell_completion import CompletionItem

    return CompletionItem(text, **settings)


def complete_overlay(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Files, and bundled overlays that go on from what was typed: bash drops what stands before a mark for files."""
    from kwire_cli.spec.overlay import bundled_overlays

    return [
        *complete_file(ctx, parameter, incomplete),
        *[_item(name) for name in bundled_overlays() if name.startswith(incomplete)],
    ]


def complete_message(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Message names that go on from what was typed."""
    definitions = _catalog(ctx)
    return [entry.name for entry in definitions or () if entry.name.lower().startswith(incomplete.lower())]


def complete_api(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Api names that go on from what was typed."""
    definitions = _catalog(ctx)
    return [
        api.name for api in (definitions.apis if definitions else ()) if api.name.lower().startswith(incomplete.lower())
    ]


def complete_version(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The versions of the message or api that was typed."""
    definitions = _catalog(ctx)
    if not definitions:
        return []
    try:
        if name := ctx.params.get("message"):
            versions = definitions.entry(name).valid_versions
        elif name := ctx.params.get("api"):
            versions = definitions.entry(definitions.api(name).request or "").valid_versions
        else:
            return []
    except KwireError:
        return []
    return [str(version) for version in versions.each() if str(version).startswith(incomplete)]


def complete_error(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of error codes that go on from what was typed."""
    definitions = _catalog(ctx)
    return [row.name for row in (definitions.errors if definitions else ()) if row.name.startswith(incomplete.upper())]


def complete_anomaly(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Codes of anomalies that go on from what was typed."""
    return [code for code in MEANING if code.startswith(incomplete.upper().replace("-", "_"))]


def complete_finding(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Codes of findings that go on from what was typed."""
    return [code for code in finding_kinds() if code.startswith(incomplete.upper().replace("-", "_"))]


def finding_kinds() -> dict[str, FindingKind]:
    """Return the kinds of findings of `kwire diagnose`, by code."""
    from kwire_cli.analysis.diagnosis.rules import kinds

    return {kind.code: kind for kind in kinds()}


def complete_dimensions(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last name in a list (A,B) of dimensions to group bytes by."""
    from kwire_cli.analysis.costs.measures import DIMENSIONS

    return _listed(incomplete, lambda last: _beginning(DIMENSIONS, last))


def complete_filter(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last word of a filter."""
    from kwire_cli.filter.incomplete import Vocabulary, continued

    definitions = _catalog(ctx)
    vocabulary = Vocabulary(
        fields=lambda: _fields(definitions),
        apis=lambda: [api.name for api in definitions.apis] if definitions else [],
        errors=lambda: [row.name for row in definitions.errors] if definitions else [],
        anomalies=lambda: [*MEANING],
    )
    return continued(incomplete, vocabulary, _rows(ctx))


def complete_columns(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last name in a list (A,B) of columns and fields of frames."""
    from kwire_cli.filter.incomplete import names_from

    definitions = _catalog(ctx)
    return _listed(incomplete, lambda last: names_from(last, lambda: _fields(definitions)))


def complete_field_paths(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last name in a list (A,B) of fields."""
    fields = _fields(_catalog(ctx))
    return _listed(incomplete, lambda last: _beginning(fields, last))


def complete_sort(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the column to sort rows by, and the order behind it."""
    column, colon, direction = incomplete.rpartition(":")
    if colon:
        return [f"{column}:{name}" for name in _beginning(DIRECTIONS, direction)]
    if ctx.command.name == "decode" and not ctx.params.get("stats"):
        return [] if "," in incomplete else complete_columns(ctx, parameter, incomplete)
    if _rows(ctx) == "batches":
        from kwire_cli.view.batch_table import CSV_BATCH, CSV_RECORD

        return _beginning(CSV_RECORD if ctx.params.get("deep") else CSV_BATCH, incomplete)
    tables = [value for value in vars(sys.modules[ctx.command.callback.__module__]).values() if _is_table(value)]
    return _beginning(dict.fromkeys(column.name for columns in tables for column in columns), incomplete)


def complete_release(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Releases that go on from what was typed."""
    from kwire_cli.spec.accepted import known_releases

    return [release for release in known_releases() if release.startswith(incomplete)]


def _rows(ctx: click.Context) -> Rows:
    """Return the rows that a command's --filter and --sort are of."""
    return "batches" if ctx.command.name == "dump" else "frames"


def _is_table(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(column, Column) for column in value)


def _beginning(names: Iterable[str], typed: str) -> list[str]:
    return [name for name in names if name.lower().startswith(typed.lower())]


def _listed(incomplete: str, names: Callable[[str], Iterable[str]]) -> list[str]:
    """Return a list of names with each of the names that may be its last one; none comes twice."""
    before, comma, last = incomplete.rpartition(",")
    typed = before.split(",")
    return [f"{before}{comma}{name}" for name in names(last.lstrip()) if name not in typed]


def _fields(definitions: Catalog | None) -> Iterable[str]:
    return definitions.field_names if definitions else ()


def _catalog(ctx: click.Context) -> Catalog | None:
    """The catalogue that the options so far ask for; None where they ask for what is not there, which running the
    command will say.
    """
    try:
        return catalog(
            tuple(ctx.params.get("specs") or ()), ctx.params.get("kafka"), tuple(ctx.params.get("overlays") or ())
        )
    except KwireError:
        return None
