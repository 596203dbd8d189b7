"""Compare the size of messages in other versions and encodings, for `kwire compare`.

Messages are read from inputs or from JSON, or they are generated. `_select_forms` converts the options to the forms to
compare, and `Prices` adds up the size of each message in each form. Without an option for forms, the most informative
ones are compared.
"""

from __future__ import annotations

import io
from collections import Counter
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click
from click.shell_completion import CompletionItem

from kwire_cli.analysis.costs.changed_definitions import check_fields
from kwire_cli.analysis.costs.comparison_answer import comparison_answer
from kwire_cli.analysis.costs.forms import (
    CHOICES,
    FLEXIBLE,
    FORMS,
    GIVEN,
    INFLEXIBLE,
    Choice,
    Form,
    concerns,
    forms_of,
    highest,
    usual_choice,
)
from kwire_cli.analysis.costs.generated import USUAL, counts_for, generate
from kwire_cli.analysis.costs.prices import Prices, compare_values, flexible_headers, given_total
from kwire_cli.cli.capture_inputs import Choice as LineChoice
from kwire_cli.cli.compare_generated import Generated
from kwire_cli.cli.compare_inputs import whole_messages
from kwire_cli.cli.completers import (
    complete_field_paths,
    complete_file,
    complete_overlay,
)
from kwire_cli.cli.fits import ALL_MESSAGES, options_of_bytes
from kwire_cli.cli.inputs import (
    Terminal,
    missing_names,
    read_values,
)
from kwire_cli.cli.options import (
    Captures,
    Choosing,
    Definitions,
    Messages,
    message_option,
    version_option,
)
from kwire_cli.cli.typed_options import combinations, flag, option, refuse
from kwire_cli.errors import EncodeError, InputError, close_to, did_you_mean
from kwire_cli.source.reading import Read, empty_inputs
from kwire_cli.spec.model import NONE, Versions, check_version
from kwire_cli.spec.overlay import bundled_overlays, load_overlay
from kwire_cli.stores.paths import exists

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from kwire_cli.analysis.costs.prices import Totals
    from kwire_cli.answer import Answer
    from kwire_cli.cli.command import Fit
    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.reading import Opened
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec
    from kwire_cli.spec.overlay import Overlay

MESSAGE_OPTIONS = ("versions", "forms", "field_paths", "cases", "by_field", "values")
"""Fields of MessageForms that only messages support."""


def _complete_form(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Return the mark for files, the bundled overlays, and the forms of messages."""
    names = [CompletionItem(name) for name in CHOICES if name.startswith(incomplete)]
    return [*complete_overlay(ctx, parameter, incomplete), *names]


class MessageForms(Captures, Choosing, Messages, Generated, Definitions):
    """Options for the compared messages and their forms."""

    FITS: ClassVar[Fit | None] = ALL_MESSAGES

    versions: str | None = option("--versions", metavar="A-B|all", help="Compare with these versions.")
    forms: tuple[str, ...] = option(
        "--form",
        multiple=True,
        metavar="NAME|OVERLAY",
        shell_complete=_complete_form,
        help="Compare with flexible, an encoding such as packed, or an overlay; repeatable.",
    )
    field_paths: str | None = option(
        "--paths",
        rare=True,
        metavar="PATH,PATH",
        shell_complete=complete_field_paths,
        help="Apply encodings of --form only to these fields, by path or name.",
    )
    cases: bool = flag("--cases", rare=True, help="Show the best and worst case of encodings and overlays too.")
    by_field: bool = flag("--by-field", rare=True, help="Show the bytes of each field.")
    message: str | None = message_option("Name the message of --values, of generated values, or of a body.")
    version: int | None = version_option("Compare the others with this version.  [default: the highest]")
    values: str | None = option(
        "--values",
        section="Input",
        rare=True,
        metavar="FILE|JSON",
        shell_complete=complete_file,
        help="Read the message's values from JSON, as decode prints a body.",
    )

    @property
    def chooses(self) -> bool:
        """Return whether an option selects forms."""
        return bool(self.versions or self.forms)

    @property
    def names(self) -> tuple[str, ...]:
        """The selected names of FORMS, in the order of the registry. FLEXIBLE selects INFLEXIBLE too."""
        chosen = {*self.forms, *((INFLEXIBLE,) if FLEXIBLE in self.forms else ())}
        return tuple(name for name in CHOICES if name in chosen)

    @property
    def encodings(self) -> tuple[str, ...]:
        """The selected encodings of integers."""
        return tuple(name for name in self.names if FORMS[name].encoding)

    @cached_property
    def overlays(self) -> tuple[tuple[str, Overlay], ...]:
        """The selected overlays with their names. Raise UsageError for a name that is neither a form nor an overlay."""
        overlays = []
        for name in self.forms:
            if name in CHOICES:
                continue
            if not exists(name) and name not in bundled_overlays():
                close = did_you_mean(close_to(name, (*CHOICES, *bundled_overlays())))
                raise click.UsageError(f"--form takes {', '.join(CHOICES)} or an overlay, not {name!r}{close}")
            overlays.append((Path(name).stem, load_overlay(name)))
        return tuple(overlays)

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields in --paths."""
        return tuple(name.strip() for name in (self.field_paths or "").split(",") if name.strip())


def values_compared(environment: Environment, options: MessageForms, sources: tuple[str, ...]) -> Answer | None:
    """Return the size of --values or of generated values in each form. Return None if the values are in the inputs."""
    if options.values is not None:
        if sources or options.made:
            raise click.UsageError("--values is the input: omit INPUT and --make")
        refuse(options, options_of_bytes(options), "is for an INPUT of bytes; --values is JSON")
        return _compare_json_values(environment, options, options.values)
    if sources or not options.message or (not options.made and _is_piped(environment)):
        return None
    refuse(options, options_of_bytes(options), "is for an INPUT of bytes; without one values are generated")
    return _compare_generated(environment, options, options.made_sizes)


def _answer(
    environment: Environment, options: MessageForms, about: str, totals: Sequence[Totals], **parts: Any
) -> Answer:
    for reason, number in parts.get("skipped", {}).items():
        environment.note(f"kwire: skipped: {number} {reason}")
    headers = flexible_headers(options.catalog, totals)
    return comparison_answer(about, totals, by_field=options.by_field, flexible_headers=headers, **parts)


def _select_forms(
    environment: Environment, options: MessageForms, spec: MessageSpec, version: int, *, several: bool = False
) -> Choice:
    """Return the forms that the options select for a message, by default the most informative ones.

    If there are several messages, `spec` is the first one.
    """
    if options.paths and not options.encodings:
        raise click.UsageError("--paths needs an encoding in --form")
    if options.cases and options.chooses and not (options.encodings or options.overlays):
        raise click.UsageError("--cases needs an encoding or an overlay in --form")
    if not several:
        check_fields([spec], options.paths)
    if not options.chooses:
        return usual_choice(None if several else spec, version, cases=options.cases)
    for name, overlay in options.overlays:
        if not several and not concerns(overlay, spec):
            raise InputError(f"the overlay {name} does not change {spec.name}, but {', '.join(overlay.messages)}")
    versions = _parse_versions(environment, options.versions, None if several else spec)
    return Choice(versions, options.names, options.paths, options.overlays, options.cases)


def _forms(choice: Choice, spec: MessageSpec, version: int) -> list[Form]:
    """Return the original form of a message and the selected forms."""
    return [Form(GIVEN, spec, version), *forms_of(spec, version, choice)]


def _parse_versions(environment: Environment, text: str | None, spec: MessageSpec | None) -> tuple[int, ...]:
    """Return the versions in --versions that a message has, or all numbers if there are several messages.

    Note that a message lacks versions. Open ranges such as `9+` and all need no note.
    """
    if not text:
        return ()
    valid = spec.valid_versions if spec else Versions(0, 255)
    try:
        requested = valid if text == "all" else Versions.parse(text)
    except ValueError as error:
        raise click.UsageError(f"--versions: {error}, or all") from None
    if requested.low > requested.high and requested != NONE:
        raise click.UsageError(f"--versions takes the lower number first, not {text!r}")
    if not requested & valid:
        raise InputError(f"{spec.name} has versions {valid}, not {text}" if spec else f"no message has versions {text}")
    if spec and not text.endswith("+") and (requested.low < valid.low or requested.high > valid.high):
        environment.note(f"kwire: {spec.name} has versions {valid}: --versions {text} is held to these")
    return tuple((requested & valid).each())


def _is_piped(environment: Environment) -> bool:
    """Return whether standard input has bytes. The bytes are read and stored for later readers."""
    if environment.stdin.isatty():
        return False
    data = environment.stdin.read()
    environment.stdin = io.BytesIO(data)
    return bool(data.strip())


def _compare_json_values(environment: Environment, options: MessageForms, argument: str) -> Answer:
    values = read_values(environment, options.catalog, argument)
    version = values.version if options.version is None else options.version
    spec, version = _find_message(options.catalog, options.message or values.message, version)
    forms = _forms(_select_forms(environment, options, spec, version), spec, version)
    value = values.written(spec)
    try:
        totals = compare_values(forms, value)
    except EncodeError as error:
        raise InputError(f"{spec.name} {version}: {error}", file=values.name) from None
    return _answer(environment, options, f"values of {values.name or 'the argument'}", [totals])


def _compare_generated(environment: Environment, options: MessageForms, sizes: dict[str, tuple[int, ...]]) -> Answer:
    spec, version = _find_message(options.catalog, options.message, options.version)
    forms = _forms(_select_forms(environment, options, spec, version), spec, version)
    caller = Terminal(environment)
    varied = {name for name, choices in sizes.items() if len(choices) > 1}
    paths = sizes.keys() - USUAL.keys()
    messages = []
    for chosen in combinations(sizes):  # before any message is generated: this rejects excessive sizes
        counts = counts_for(spec, version, _restrict(chosen, USUAL.keys()), _restrict(chosen, paths))
        messages.append((chosen, counts))
    if varied and options.by_field:
        raise click.UsageError("--by-field needs a single message, and these ranges make several")
    found: list[Totals] = []
    value = None
    for _, counts in messages:
        caller.progress(spec.name, len(found), len(messages), "messages")
        if found and caller.stopped:
            break
        value = generate(spec, version, counts)
        found.append(compare_values(forms, value))
    caller.done()
    various = [_restrict(chosen, varied) for chosen, _ in messages[: len(found)]] if varied else ()
    chosen, counts = messages[0]
    about = _generated_label(_restrict(chosen, chosen.keys() - varied) if varied else counts)
    return _answer(environment, options, about, found, values=None if varied else value, counts=various)


def _restrict(numbers_by_name: dict[str, int], names: Collection[str]) -> dict[str, int]:
    return {name: number for name, number in numbers_by_name.items() if name in names}


def _generated_label(message_counts: dict[str, int]) -> str:
    text = ", ".join(f"{name} {number}" for name, number in message_counts.items())
    return f"generated values{': ' if text else ''}{text}"


def _find_message(catalog: Catalog, name: str | None, version: int | None) -> tuple[MessageSpec, int]:
    if not name:
        raise click.UsageError("--message is needed to read --values")
    spec = catalog.message(name)
    check_version(spec, version)
    return spec, highest(spec) if version is None else version


def messages_compared(
    environment: Environment, options: MessageForms, sources: tuple[str, ...], inputs: Iterable[Opened]
) -> Answer:
    """Return the size of the messages of the inputs in each form. Raises InputError if no message can be compared."""
    skipped: Counter[str] = Counter()
    read: Read = []
    remaining = whole_messages(LineChoice(options, options.catalog), inputs, skipped, read)
    ahead = list(islice(remaining, 2))
    if not ahead:
        unpriced = ", ".join(f"{number} {reason}" for reason, number in skipped.items())
        raise empty_inputs(read) or InputError(
            f"{missing_names(sources)}there is no message to price{f' ({unpriced})' if unpriced else ''}; --api or "
            "--message, and --message-version, say what the bytes are"
        )
    several = len(ahead) > 1
    label, first = ahead[0]
    choice = _select_forms(environment, options, first.spec, first.version, several=several)
    prices = Prices(partial(_forms, choice))
    for _, decoded in chain(ahead, remaining):
        prices.add(decoded)
    if options.paths:
        check_fields(list({spec.name: spec for spec, _ in prices.forms}.values()), options.paths)
    totals = [*prices.found.values()]
    if several:
        number = sum(given_total(one).messages for one in totals)
        label = f"{number} messages of {', '.join(sources) or 'the input'}"
    return _answer(environment, options, label, totals, skipped=skipped)
