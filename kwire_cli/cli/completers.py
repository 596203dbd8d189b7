"""Completion of what stands in options: files, messages, versions, error codes, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import KwireError
from kwire_cli.spec.catalog import catalog

if TYPE_CHECKING:
    import click

    from kwire_cli.spec.catalog import Catalog


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Files and folders, which the shell itself knows."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_overlay(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Files, and bundled overlays that go on from what was typed: bash drops what stands before a mark for files."""
    from click.shell_completion import CompletionItem

    from kwire_cli.spec.overlay import bundled_overlays

    return [
        *complete_file(ctx, parameter, incomplete),
        *[CompletionItem(name) for name in bundled_overlays() if name.startswith(incomplete)],
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


def complete_dimensions(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete the last name in a list (A,B) of dimensions to group bytes by."""
    from kwire_cli.analysis.costs.measures import DIMENSIONS

    before, comma, last = incomplete.rpartition(",")
    typed = before.split(",")
    return [f"{before}{comma}{name}" for name in DIMENSIONS if name.startswith(last) and name not in typed]


def complete_release(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Releases that go on from what was typed."""
    from kwire_cli.spec.accepted import known_releases

    return [release for release in known_releases() if release.startswith(incomplete)]


def complete_table(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Tables of scan that go on from what was typed; none where Spark is not installed."""
    try:
        from kwire_cli.pipeline.named import MAKERS
    except ImportError:
        return []
    return [name for name in MAKERS if name.startswith(incomplete)]


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
