"""What `kwire compare` does with messages: which values there are, in which forms they are priced, and how that is shown."""

from __future__ import annotations

import io
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.compare_forms import CHOOSING, comparing, note_held
from kwire_cli.cli.compare_output import Result, Row, show
from kwire_cli.cli.counts import combinations
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.progress import Progress
from kwire_cli.cost.forms.choices import check_fields, highest
from kwire_cli.cost.forms.comparing import Comparing
from kwire_cli.cost.forms.sums import Comparison
from kwire_cli.cost.generated import USUAL, counts_for, generate
from kwire_cli.errors import EncodeError, InputError

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


def show_messages(environment: Environment, catalog: Catalog, source: tuple[str, ...], fmt: str, options: dict[str, Any]) -> Exit:
    """Price messages in the forms that were asked for, and print that. InputError where there is none to price."""
    given = _values(environment, catalog, source, options)
    result = given or _of_inputs(environment, catalog, source, options)
    for reason, number in result.skipped.items():
        environment.note(f"kwire: left out: {number} {reason}")
    show(environment, catalog, result, fmt, options)
    return Exit.DONE


# Values


def _values(environment: Environment, catalog: Catalog, source: tuple[str, ...], options: dict[str, Any]) -> Result | None:
    """The comparison of values that were given or are generated; None where the values are in bytes."""
    ranges = {name: options[name] for name in USUAL if options[name]}
    paths = options["counts"]
    generated = bool(ranges or paths)
    if options["values"] is not None:
        if source or generated:
            raise click.UsageError("--values is the input: omit INPUT, --count and the options for generated values")
        return _of_values(environment, catalog, options)
    if source and generated:
        raise click.UsageError("--count, --partitions and the other options for generated values do not go with an INPUT")
    if source or not (generated or options["message"]) or (not generated and _is_piped(environment)):
        return None
    if not options["message"]:
        raise click.UsageError("--message is needed to generate values")
    return _of_generated(environment, catalog, ranges, paths, options)


def _is_piped(environment: Environment) -> bool:
    """Whether bytes come on standard input; they are read, and kept for whoever takes them."""
    if environment.stdin.isatty():
        return False
    data = environment.stdin.read()
    environment.stdin = io.BytesIO(data)
    return bool(data.strip())


def _of_values(environment: Environment, catalog: Catalog, options: dict[str, Any]) -> Result:
    from kwire_cli.cli.given_values import read_values

    given = read_values(environment, catalog, options["values"])
    said = {"message": given.message, "version": given.version}
    spec, version = _message(catalog, options | {key: value for key, value in said.items() if options[key] is None})
    prices = comparing(options, [spec], version, several=False)
    note_held(environment, options, spec)
    prices.hides = not options["show_secrets"]
    try:
        prices.add_values(spec, version, given.written(spec))
    except EncodeError as error:
        raise InputError(f"{spec.name} {version}: {error}", file=given.name) from None
    rows = [Row({}, comparison) for comparison in prices.found.values()]
    return Result(f"values of {given.name or 'the argument'}", {"values": given.name or "argument"}, rows, Counter())


def _of_generated(
    environment: Environment, catalog: Catalog, ranges: dict[str, tuple[int, ...]], paths: dict[str, tuple[int, ...]], options: dict[str, Any]
) -> Result:
    spec, version = _message(catalog, options)
    choice = comparing(options, [spec], version, several=False).choice
    note_held(environment, options, spec)
    rows: list[Row] = []
    progress = Progress(environment)
    messages = [  # first of all, so that what is too large is said at once
        (chosen, counts_for(spec, version, {name: chosen[name] for name in ranges}, {name: chosen[name] for name in paths}))
        for chosen in combinations(ranges | paths)
    ]
    for number, (chosen, counts) in enumerate(messages):
        progress.tell(spec.name, number, len(messages))
        prices = Comparing(choice)
        values = generate(spec, version, counts)
        prices.add_values(spec, version, values)
        rows += [Row(chosen, comparison) for comparison in prices.found.values()]
    progress.done()
    if len(rows) > 1:
        if options["by_field"]:
            raise click.UsageError("--by-field needs a single message, and these ranges make several")
        several = {name for name, numbers in (ranges | paths).items() if len(numbers) > 1}
        rows = [Row({name: n for name, n in row.counts.items() if name in several}, row.comparison) for row in rows]
        fixed = {name: numbers[0] for name, numbers in (ranges | paths).items() if len(numbers) == 1}
        said = ", ".join(f"{name} {number}" for name, number in fixed.items())
        return Result(f"generated values{': ' if said else ''}{said}", {"generated": fixed}, rows, Counter())
    rows = [Row({}, row.comparison) for row in rows]
    said = ", ".join(f"{path} {number}" for path, number in counts.items())
    return Result(f"generated values{': ' if said else ''}{said}", {"generated": counts, "values": values}, rows, Counter())


def _message(catalog: Catalog, options: dict[str, Any]) -> tuple[MessageSpec, int]:
    if not options["message"]:
        raise click.UsageError("--message is needed to read --values")
    spec = catalog.message(options["message"])
    if not spec.valid_versions:
        raise InputError(f"{spec.name} is reserved: no version of it is valid")
    version = highest(spec) if options["version"] is None else options["version"]
    if version not in spec.valid_versions:
        raise InputError(f"{spec.name} has versions {spec.valid_versions}, not {version}")
    return spec, version


# Bytes


def _of_inputs(environment: Environment, catalog: Catalog, source: tuple[str, ...], options: dict[str, Any]) -> Result:
    from kwire_cli.cli.compare_inputs import messages

    skipped: Counter[str] = Counter()
    found = messages(environment, catalog, source, options, skipped)
    ahead = [*islice(found, 3)]
    if not ahead:
        found_instead = "".join(f", but {number} {reason}" for reason, number in skipped.items())
        how = "--api and --version, or --message and --version, say what the bytes are, --as-records that they are record batches"
        raise InputError(f"there is no message to price{found_instead}; {how}")
    if len(ahead) == 2 and ahead[0].source != ahead[1].source:
        return _side_by_side(ahead[0].decoded, ahead[1].decoded, [each.label for each in ahead], options, skipped)
    first = ahead[0].decoded
    prices = comparing(options, [first.spec], first.version, several=len(ahead) > 1)
    if len(ahead) == 1:
        note_held(environment, options, first.spec)
    prices.hides = not options["show_secrets"]
    for each in ahead:
        prices.add(each.decoded)
    for each in found:
        prices.add(each.decoded)
    if options["fields"]:
        check_fields([*prices.specs.values()], prices.choice.fields)
    rows = [Row({}, comparison) for comparison in prices.found.values()]
    label = ahead[0].label if len(ahead) == 1 else f"{prices.messages} messages of {', '.join(source) or 'the input'}"
    return Result(label, {"messages": prices.messages, "skipped": dict(skipped)}, rows, skipped)


def _side_by_side(a: Decoded, b: Decoded, labels: list[str], options: dict[str, Any], skipped: Counter[str]) -> Result:
    """Two messages, each as it was given: the second stands as another form of the first."""
    from kwire_cli.cost.forms.model import Form
    from kwire_cli.cost.forms.pricing import price_as_given

    if any(options[name] for name in CHOOSING):
        raise click.UsageError("two messages are compared as they are; options that choose encodings are for one message, or for a capture")
    names = [f"{decoded.message} {decoded.version}" for decoded in (a, b)]
    short = [Path(label).name for label in labels]
    labels = short if short[0] != short[1] else [f"{label} ({number})" for number, label in enumerate(short, 1)]
    comparison = Comparison(names[0] if names[0] == names[1] else " and ".join(names), None)
    first = price_as_given(Form(labels[0], a.spec, a.version), a)
    comparison.add(first, [price_as_given(Form(labels[1], b.spec, b.version), b)])
    return Result(f"{labels[0]} against {labels[1]}", {"a": labels[0], "b": labels[1]}, [Row({}, comparison)], skipped)
