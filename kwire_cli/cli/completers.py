"""Completion of files and of names: messages, apis, versions, codes, columns.

Each completer has the form of click's `shell_complete`. click prints the script for a shell and calls the completers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import KwireError
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from kwire_cli.questions.rule_files import Rule
    from kwire_cli.spec.catalog import Catalog

    Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Return the mark for files and folders, which the shell completes."""
    from click.shell_completion import CompletionItem  # start-up counts

    return [CompletionItem(incomplete, type="file")]


def complete_overlay(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Return the mark for files, and the bundled overlays. Bash ignores items before the mark."""
    from click.shell_completion import CompletionItem

    from kwire_cli.spec.overlay import bundled_overlays

    names = [CompletionItem(name) for name in bundled_overlays() if name.startswith(incomplete)]
    return [*complete_file(ctx, parameter, incomplete), *names]


def _completer(names: Callable[[click.Context], Iterable[str]], separator: str = ",") -> Completer:
    """Return a function that completes the last name of a list."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(separator)
        try:
            return [f"{before}{comma}{name}" for name in names(ctx) if name.lower().startswith(last.lower())]
        except KwireError:  # definitions or a message that do not exist: the command itself reports them
            return []

    return complete


def rules_by_code() -> dict[str, Rule]:
    """Return the rules of `kwire diagnose`, by code."""
    from kwire_cli.questions.rule_files import rules

    return {rule.code: rule for rule in sorted(rules(), key=lambda rule: rule.code)}


def _catalog(ctx: click.Context) -> Catalog:
    """Return the definitions that the options before the cursor choose."""
    return catalog(ctx.params.get("specs") or ())


def _versions(ctx: click.Context) -> list[str]:
    """Return the versions of the message or api before the cursor."""
    definitions = _catalog(ctx)
    name = ctx.params.get("message")
    if not name and (api := ctx.params.get("api")):
        name = definitions.api(api).request
    return [str(version) for version in definitions.entry(name).valid_versions.each()] if name else []


def _columns(ctx: click.Context) -> Iterable[str]:
    """Return the columns of batches or records for `kwire dump`, of frames for other commands."""
    from kwire_cli.facts.columns import COLUMNS
    from kwire_cli.view.batch_table import CSV_BATCH, CSV_RECORD

    if ctx.command.name == "dump":
        return CSV_RECORD if ctx.params.get("deep") else CSV_BATCH
    return [column.name for column in COLUMNS]


def _dimensions(_: click.Context) -> Iterable[str]:
    from kwire_cli.facts.costs.columns import DIMENSIONS

    return DIMENSIONS


def _types() -> Iterable[str]:
    from kwire_cli.view.explain.topics import TYPES

    return TYPES


def _releases(_: click.Context) -> Iterable[str]:
    from kwire_cli.spec.accepted import known_releases

    return known_releases()


complete_message = _completer(lambda ctx: [entry.name for entry in _catalog(ctx)])
complete_api = _completer(lambda ctx: [api.name for api in _catalog(ctx).apis])
complete_version = _completer(_versions)
complete_error = _completer(lambda ctx: [row.name for row in _catalog(ctx).errors])
complete_anomaly = _completer(lambda _: MEANING)
complete_finding = _completer(lambda _: rules_by_code())
complete_type = _completer(lambda _: _types())
complete_columns = _completer(_columns)
complete_sort = _completer(lambda ctx: _columns(ctx) if ctx.command.name in {"decode", "dump"} else ())
complete_filter = _completer(_columns, separator=" ")
complete_field_paths = _completer(lambda ctx: _catalog(ctx).field_names)
complete_dimensions = _completer(_dimensions)
complete_release = _completer(_releases)
