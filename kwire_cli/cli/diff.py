"""`kwire diff`: two of the same kind held against each other: definitions, versions of a message, encoded messages, copies of a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.diff_messages import with_message_options
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.options import complete_file, complete_message, complete_version, with_output, with_overlaid_catalog
from kwire_cli.errors import InputError
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog

FORMATS = ("text", "json", "html")


def _complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Files; names of messages in the first place, and their versions after it."""
    from click.shell_completion import CompletionItem

    typed = ctx.params.get("things") or ()
    if not typed:
        names = complete_message(ctx, parameter, incomplete)
    else:
        ctx.params["message"] = typed[0]
        names = complete_version(ctx, parameter, incomplete)
    return [*complete_file(ctx, parameter, incomplete), *map(CompletionItem, names)]


@click.command(name="diff")
@click.argument("things", nargs=-1, metavar="A B | MESSAGE VERSION VERSION", required=True, shell_complete=_complete)
@click.option("--format", "-f", "fmt", type=click.Choice(FORMATS), help="Set the output format.  [default: text]", default="text")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there is a difference.")
@click.option("--ignore-legal", is_flag=True, help="Exit with 0 if retention, compaction or lag explains the difference.")
@click.option(
    "--values",
    metavar="FILE|JSON",
    shell_complete=complete_file,
    help="Show what these JSON values cost in each version (- is standard input).",
)
@with_message_options
@with_overlaid_catalog
@with_output
def command(
    environment: Environment, catalog: Catalog, things: tuple[str, ...], fmt: str, values: str | None, *, exit_code: bool, **options: Any
) -> int:
    """Show the differences between two definitions, messages or partitions.

    Two versions of a message or api: kwire diff MetadataResponse 9 12. Otherwise A and B are two definitions
    (files, folders, jars, git revisions as REV:PATH), two encoded messages (files, FILE@FRAME, or the bytes
    themselves), or two copies of a partition (folders, log directories, segments), for which the first
    difference is shown.
    """
    if fmt == "html":
        from kwire_cli.cli.pages import files_among, page_of

        names = things if len(things) == 3 else files_among(things)
        different = page_of(environment, "diff", names, lambda env: _differs(env, catalog, things, "text", values, options))
    else:
        different = _differs(environment, catalog, things, fmt, values, options)
    return Exit.FOUND if exit_code and different else Exit.DONE


def _differs(environment: Environment, catalog: Catalog, things: tuple[str, ...], fmt: str, values: str | None, options: dict[str, Any]) -> bool:
    a, b = things[0], things[1] if len(things) > 1 else None
    if len(things) == 3:
        from kwire_cli.cli.diff_definitions import show_versions

        return show_versions(environment, catalog, a, things[1:], fmt, values)
    if len(things) > 3:
        raise click.UsageError("diff compares two things, or a message at two versions: kwire diff MetadataResponse 9 12")
    if b is not None and _is_version(catalog, a, b):
        raise click.UsageError(f"give two versions of the message: kwire diff {a} {b} VERSION")
    if b is not None and _are_definitions(a, b):
        from kwire_cli.cli.diff_definitions import show_definitions

        return show_definitions(environment, catalog, a, b, fmt, values)
    if values is not None:
        raise click.UsageError("--values is for definitions, or versions of a message")
    if b is not None and _are_partitions(a, b, options):
        from kwire_cli.cli.diff_partitions import show_partitions

        return show_partitions(environment, path_of(a), path_of(b), fmt, ignore_legal=options["ignore_legal"])
    from kwire_cli.cli.diff_messages import show_messages

    return show_messages(environment, catalog, a, b, options | {"fmt": fmt})


def _is_version(catalog: Catalog, a: str, b: str) -> bool:
    """Whether it is a message or an api, and one version of it."""
    from kwire_cli.cli.spec import specs_of
    from kwire_cli.stores import exists

    if not b.isdecimal() or a.isdecimal() or exists(a) or exists(b):
        return False
    try:
        return bool(specs_of(catalog, a))
    except InputError:
        return False


def _are_definitions(a: str, b: str) -> bool:
    from kwire_cli.spec.evolution.sources import holds_definitions, is_revision
    from kwire_cli.stores import exists

    held = [holds_definitions(name) for name in (a, b)]
    if any(held) and not all(held):
        without = b if held[0] else a
        if is_revision(without) or not exists(without):
            return True  # reading it says what is wrong
        raise InputError("there is no message definition here, and the other side has some", file=without)
    return all(held)


def _are_partitions(a: str, b: str, options: dict[str, Any]) -> bool:
    """Whether either is a folder, or begins with a record batch (the other may be damaged there), unless an option says that they are messages."""
    from kwire_cli.cli.segments import holds_batches
    from kwire_cli.stores import exists

    said = options["version"] or any(options[name] is not None for name in ("message", "api", "kind", "framed", "frames", "port"))
    return not said and exists(a) and exists(b) and any(map(holds_batches, (a, b)))
