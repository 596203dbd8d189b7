"""The command `kwire diff`: two things of the same kind are compared.

The arguments decide the kind: versions of a message, definitions, captures, copies of a partition, or encoded messages.
`_diff` tests the kinds in this order, because a name of a message could also be hex bytes. Each kind has its own
analysis, which returns an `Answer`. With --traffic, differences of definitions include their effect on message sizes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

import click
from click.shell_completion import CompletionItem

from kwire_cli.analysis.comparison.copies import compared, copies_answer
from kwire_cli.analysis.comparison.definitions import Difference, definitions_answer
from kwire_cli.analysis.comparison.history import history_answer
from kwire_cli.analysis.costs.definition_changes import ChangedDefinition, price_traffic, renamed_fields
from kwire_cli.analysis.costs.definition_costs import costs, forms_to_compare
from kwire_cli.analysis.costs.forms import Form
from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file, complete_message, complete_version
from kwire_cli.cli.diff_messages import DiffedMessages, messages_answer
from kwire_cli.cli.diff_traffic import are_traffic, by_option, profiles_answer
from kwire_cli.cli.emit import emit
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.inputs import Terminal, reading_of
from kwire_cli.cli.options import Tables
from kwire_cli.cli.spec import specs_of
from kwire_cli.cli.typed_options import argument, flag, given, option, refuse, takes
from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import holds_batches, open_inputs
from kwire_cli.spec.evolution.changes import changes, definition_part, version_part
from kwire_cli.spec.evolution.history import meanings_between
from kwire_cli.spec.evolution.layout import message_pairs
from kwire_cli.spec.evolution.sources import are_files, holds_definitions, is_revision, read_definitions
from kwire_cli.spec.model import check_version
from kwire_cli.stores.paths import exists, path_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from kwire_cli.analysis.costs.definition_costs import Cost
    from kwire_cli.answer import Answer
    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.source.reading import Opened
    from kwire_cli.spec.catalog import Catalog


def _diff_versions(environment: Environment, options: Options, message: str, versions: tuple[str, ...]) -> Answer:
    """Return the differences between two versions of a message, or of the request and response of an api."""
    if not all(version.isascii() and version.isdecimal() and len(version) < 6 for version in versions):
        raise click.UsageError(
            f"two versions are numbers, as in kwire diff MetadataResponse 9 12; these are {' and '.join(versions)}"
        )
    _refuse_for_definitions(options)
    a, b = map(int, versions)
    specs = specs_of(options.catalog, message)
    differences = []
    priced = {}
    for spec in specs:
        for version in (a, b):
            check_version(spec, version)
        forms = (Form(f"version {a}", spec, a), Form(f"version {b}", spec, b))
        part = changes(version_part(spec, a), version_part(spec, b))
        differences.append(
            Difference(
                spec.name,
                f"{spec.name} {a}",
                f"{spec.name} {b}",
                part,
                [*costs(*forms)],
                (a, b),
                meanings=meanings_between(spec.name, a, b),
            )
        )
        priced[spec.name] = ChangedDefinition(spec, spec, {}, versions=(a, b))
    return _with_traffic(environment, options, differences, priced)


def _refuse_for_definitions(options: Options) -> None:
    """Raise UsageError for options of messages, partitions or captures, which have no effect on definitions."""
    refuse(options, _MESSAGE_OPTIONS, "is not for definitions, nor for versions of a message")
    if not options.traffic:
        refuse(options, _TRAFFIC_OPTIONS, "is for --traffic where definitions, or versions of a message, are compared")


def _diff_definitions(environment: Environment, options: Options, a: str, b: str) -> Answer:
    """Return the differences between two definitions, or two sets of definitions."""
    _refuse_for_definitions(options)
    old = read_definitions([a])
    new = read_definitions([b])
    is_partial = are_files([a], old) or are_files([b], new)
    pairs = [pair for pair in message_pairs(old, new, part=is_partial) if not is_partial or all(pair)]
    if not pairs:
        raise InputError(f"there is no definition of the same message in {b}", file=a)
    differences = []
    concerned = {}
    for before, after in pairs:
        files = (before.spec.file if before else None, after.spec.file if after else None)
        name = (after or before).spec.name  # type: ignore[union-attr]  # a pair has at least one
        if not before or not after:
            differences.append(Difference(name, *files, [], []))
            continue
        part = changes(definition_part(before.spec), definition_part(after.spec))
        renamed = renamed_fields(part)
        priced: list[Cost] = []
        for forms in forms_to_compare(before.spec, after.spec):
            priced += costs(*forms)
        differences.append(Difference(name, *files, part, priced))
        concerned[name] = concerned[before.spec.name] = ChangedDefinition(before.spec, after.spec, renamed)
    return _with_traffic(environment, options, differences, concerned)


def _with_traffic(
    environment: Environment,
    options: Options,
    differences: list[Difference],
    changed: dict[str, ChangedDefinition],
) -> Answer:
    """Return an answer on differences, with the sizes of the messages of --traffic before and after the change."""
    if not options.traffic:
        return definitions_answer(differences)
    inputs = open_inputs(options.traffic, reading_of(options), Terminal(environment), takes=_TRAFFIC_KINDS)
    prices, unchanged = price_traffic(changed, _exact_messages(inputs, changed))
    if not unchanged and not prices.found:
        raise InputError("--traffic has no message that can be read whole; --port says which port is the broker's")
    priced = []
    for difference in differences:
        change = changed.get(difference.message)
        traffic = []
        for key in sorted(prices.found):
            if change and key[0] == change.old.name:
                before, after = prices.found[key].values()
                traffic.append((before, after))
        priced.append(difference._replace(traffic=traffic))
    return definitions_answer(priced, unchanged)


def _exact_messages(inputs: Iterable[Opened], changed: Collection[str]) -> Iterator[Decoded]:
    """Yield the messages that were decoded completely with their version, and their headers if headers changed."""
    for opened in inputs:
        for subject in opened.subjects():
            frame = subject if opened.kind is Kind.FRAMES else subject.frame
            if frame and not frame.guess and frame.body and frame.body.exact:
                yield frame.body
                if frame.header and frame.header.message in changed:
                    yield frame.header


ALL = "all"
"""The argument that compares each version of a message with the next one."""


def _complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Complete files, and names of messages as the first argument or versions after it."""
    typed = ctx.params.get("things") or ()
    if not typed:
        names = complete_message(ctx, parameter, incomplete)
    else:
        ctx.params["message"] = typed[0]
        names = [*complete_version(ctx, parameter, incomplete), *[ALL] * ALL.startswith(incomplete)]
    return [*complete_file(ctx, parameter, incomplete), *map(CompletionItem, names)]


_TRAFFIC_KINDS = frozenset({Kind.CAPTURE, Kind.FRAMES})
_MESSAGE_OPTIONS = ("message", "version", "kind", "framed", "ignore")
_TRAFFIC_OPTIONS = ("api", "form", "port", "tls_keylog")
"""Options that definitions do not support. `_TRAFFIC_OPTIONS` is supported if --traffic is given."""
_SPAN = re.compile(r"(\d{1,5})(?:\.\.|-|:)(\d{1,5})")
"""Two versions in one argument, as in `12..18`."""

EXAMPLES = (
    ("kwire diff FetchRequest 12 13", "what changed between two versions"),
    ("kwire diff EndTxn all", "all versions: their releases, layouts and meanings"),
    ("kwire diff incident.pcap@30 incident.pcap@33", "what differs between two requests"),
    ("kwire diff broken-0 replica-0", "where two copies of a partition first differ"),
    ("kwire diff before.pcapng after.pcapng", "what a new version of a client does differently"),
)


class Options(DiffedMessages, Tables):
    """Options of `kwire diff`."""

    PIPED: ClassVar[str] = "table"

    things: tuple[str, ...] = argument(
        nargs=-1, metavar="A B | MESSAGE VERSION VERSION", required=True, shell_complete=_complete
    )
    by: str | None = by_option()
    exit_code: bool = flag("--exit-code", section="Output", help="Exit with 1 if there is a difference.")
    traffic: tuple[str, ...] = option(
        "--traffic",
        section="Input",
        multiple=True,
        metavar="CAPTURE",
        shell_complete=complete_file,
        help="Show what this capture's messages cost before and after; repeatable.",
    )


@click.command(name="diff", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Show the differences between two definitions, messages, partitions or captures.

    Two versions of a message or api: kwire diff MetadataResponse 9 12; all versions: kwire diff Fetch all.
    Otherwise A and B are two definitions (files, folders, jars, git revisions as REV:PATH), two encoded
    messages (files, FILE@FRAME, bytes), two captures or request logs, whose clients are compared, or two copies
    of a partition (folders, log directories, segments), whose first difference is shown.
    """
    things = options.things
    two = len(things) == 2 and not options.traffic
    if two and are_traffic(options, *things):
        with environment.answering():
            answer = profiles_answer(environment, options, things[0], things[1], options.by)
            different = emit(environment, answer, options) is Exit.FOUND
        return Exit.FOUND if options.exit_code and different else Exit.DONE
    if options.by is not None:
        raise click.UsageError("--by is for two captures or request logs")
    if two and _are_partitions(options, *things):
        comparisons = compared(path_of(things[0]), path_of(things[1]))
        emit(environment, copies_answer(comparisons), options)
        different = any(comparison.divergence for _, comparison in comparisons)
    else:
        different = emit(environment, _diff(environment, options), options) is Exit.FOUND
    return Exit.FOUND if options.exit_code and different else Exit.DONE


def _diff(environment: Environment, options: Options) -> Answer:
    catalog = options.catalog
    things = options.things
    a = things[0]
    b = things[1] if len(things) > 1 else None
    if len(things) == 3:
        return _diff_versions(environment, options, a, things[1:])
    if len(things) > 3:
        raise click.UsageError(
            "diff compares two things, or a message at two versions: kwire diff MetadataResponse 9 12"
        )
    if b is not None and _is_message(catalog, a) and (span := _SPAN.fullmatch(b)):
        return _diff_versions(environment, options, a, span.groups())
    if b == ALL and _is_message(catalog, a):
        _refuse_for_definitions(options)
        refuse(options, ("traffic",), "is for two versions of a message, not for all")
        return history_answer(specs_of(catalog, a))
    if b is not None and _is_version(catalog, a, b):
        raise click.UsageError(f"give two versions of the message: kwire diff {a} {b} VERSION")
    for name in filter(None, (a, b)):
        if _is_message(catalog, name):
            valid = specs_of(catalog, name)[0].valid_versions
            raise click.UsageError(
                f"{name} is the name of a message or an api: kwire diff {name} VERSION VERSION compares two of its "
                f"versions, which are {valid}, and kwire diff {name} all shows all of them"
            )
    if b is not None and _are_definitions(a, b):
        return _diff_definitions(environment, options, a, b)
    refuse(options, ("traffic",), "is for definitions, or versions of a message")
    if b is None:
        raise click.UsageError("give two things to compare, A and B; FILE@N is frame N of a capture or file")
    return messages_answer(environment, options, a, b)


def _is_version(catalog: Catalog, a: str, b: str) -> bool:
    """Return whether `a` names a message or an api and `b` is a version."""
    return b.isdecimal() and not exists(b) and _is_message(catalog, a)


def _is_message(catalog: Catalog, name: str) -> bool:
    """Return whether `name` is a message or an api, and neither a file nor a number."""
    if name.isdecimal() or exists(name):
        return False
    try:
        return bool(specs_of(catalog, name))
    except InputError:
        return False


def _are_definitions(a: str, b: str) -> bool:
    have_definitions = [holds_definitions(name) for name in (a, b)]
    if any(have_definitions) and not all(have_definitions):
        without = b if have_definitions[0] else a
        if is_revision(without) or not exists(without) or without.endswith(".json"):
            return True  # the reader of definitions reports the error
        raise InputError("there is no message definition here, and the other side has some", file=without)
    return all(have_definitions)


def _are_partitions(options: Options, a: str, b: str) -> bool:
    """Return whether `a` or `b` is a folder or begins with a record batch. The other one may have a damaged beginning.

    Return False if both are definitions, or if an option applies only to messages.
    """
    if _is_version(options.catalog, a, b) or _are_definitions(a, b):
        return False
    if given(options, "message", "version", "api", "kind", "framed", "port"):
        return False
    return exists(a) and exists(b) and any(map(holds_batches, (a, b)))
