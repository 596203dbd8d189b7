"""Messages compared in other forms."""

from __future__ import annotations

import io
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kwire_cli.analysis.costs.form_comparison import (
    FLEXIBLE,
    Choice,
    Comparing,
    Comparison,
    check_fields,
    concerns,
    highest,
)
from kwire_cli.analysis.costs.generated import USUAL, counts_for, generate
from kwire_cli.cli.environment import Environment, Exit, Progress
from kwire_cli.cli.inputs import bodies_of, frames_of, inputs
from kwire_cli.cli.numbers import combinations
from kwire_cli.cli.old_options import NO_CAPTURE, refuse, said
from kwire_cli.errors import EncodeError, InputError
from kwire_cli.source.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import MessageSpec


# The forms that the options of `kwire compare` choose for messages.

EVERY_ENCODING = ("packed", "upacked")


CHOOSING = ("versions", "flexible", "all_tagged", "encodings", "overlays")
"""Options that choose forms; without any of them it is those that tell most."""


def note_held(environment: Environment, options: dict[str, Any], spec: MessageSpec) -> None:
    """Say that there are fewer versions of a message than --versions has; `9+` and all mean those that there are."""
    from kwire_cli.spec.model import Versions

    text = options["versions"]
    if not text or text == "all" or text.endswith("+"):
        return
    meant, valid = Versions.parse(text), spec.valid_versions
    if meant.low < valid.low or meant.high > valid.high:
        environment.note(f"kwire: {spec.name} has versions {valid}: --versions {text} is held to these")


def comparing(options: dict[str, Any], specs: list[MessageSpec], version: int, *, several: bool) -> Comparing:
    """Return the Comparing that prices messages in the requested forms, by default in the most telling ones."""
    from kwire_cli.spec.overlay import load_overlay

    fields = tuple(name.strip() for name in (options["fields"] or "").split(",") if name.strip())
    if fields and not options["encodings"]:
        raise click.UsageError("--fields needs an --encoding")
    if (
        options["cases"]
        and not (options["encodings"] or options["overlays"])
        and any(options[name] for name in CHOOSING)
    ):
        raise click.UsageError("--cases needs an --encoding or --overlay")
    if not several:
        check_fields(specs, fields)
    if not any(options[name] for name in CHOOSING):
        valid = () if several else tuple(other for other in specs[0].valid_versions.each() if other != version)
        return Comparing(
            Choice(valid, ends=several, both_ways=True, tagged=True, encodings=EVERY_ENCODING, cases=options["cases"])
        )
    overlays = tuple((Path(name).stem, load_overlay(name)) for name in options["overlays"])
    for name, overlay in overlays:
        if not several and not concerns(overlay, specs[0]):
            raise InputError(f"the overlay {name} does not change {specs[0].name}, but {', '.join(overlay.messages)}")
    versions = _versions(options["versions"], None if several else specs[0])
    both_ways, tagged, encodings, cases = (options[name] for name in ("flexible", "all_tagged", "encodings", "cases"))
    choice = Choice(
        versions, both_ways=both_ways, tagged=tagged, encodings=encodings, fields=fields, cases=cases, overlays=overlays
    )
    return Comparing(choice)


def _versions(text: str | None, spec: MessageSpec | None) -> tuple[int, ...]:
    """The versions that are meant; of one message those that it has, of several every number that was said."""
    from kwire_cli.spec.model import Versions

    if not text:
        return ()
    valid = spec.valid_versions if spec else Versions(0, 255)
    try:
        meant = valid if text == "all" else Versions.parse(text)
    except ValueError as error:
        raise click.UsageError(f"--versions: {error}, or all") from None
    if not meant & valid:
        raise InputError(f"{spec.name if spec else 'no message'} has versions {valid}, not {text}")
    return tuple((meant & valid).each())


# How `kwire compare` prints what messages cost in other forms.


class Row(NamedTuple):
    """A comparison; of generated values with the counts that differ between rows."""

    counts: dict[str, int]
    comparison: Comparison


class Result(NamedTuple):
    """Result of a comparison, described in words for people (`remark`) and as JSON (`about`).

    `skipped` counts frames without a price, by reason.
    """

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
            for form_sum in row.comparison.sums.values():
                environment.write(dumps(head | form_sum.to_json(), indent=False))
    elif fmt == "csv":
        from kwire_cli.view.compare import CSV, csv_cells

        environment.write_csv(CSV)
        for row in rows:
            for form_sum in row.comparison.sums.values():
                environment.write_csv(csv_cells(row.counts, row.comparison, form_sum))
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
            columns = {name: form_sum for name, form_sum in row.comparison.sums.items() if form_sum.messages}
            environment.write_lines(view.field_lines(columns))


def _headers(catalog: Catalog, rows: list[Row]) -> int:
    """The bytes of flexible headers beyond inflexible ones, for all messages."""
    from kwire_cli.analysis.costs.form_comparison import header_difference

    named = [
        (row.comparison.message, row.comparison.given.messages) for row in rows if row.comparison.version is not None
    ]
    return sum(
        messages * header_difference(catalog, catalog.message(message)) for message, messages in named if message
    )


def _head(row: Row) -> dict[str, Any]:
    return {"counts": row.counts} if row.counts else {}


def _is_total(rows: list[Row]) -> bool:
    return len(rows) > 1 and not rows[0].counts


def _total(rows: list[Row]) -> Comparison:
    return Comparison.of_all(row.comparison for row in rows)


# The messages in the inputs of `kwire compare`: bodies, frames, and those of captures; what can't be priced
# is counted by its reason.

OF_CAPTURES = ("filter", "frames", "stream", "limit", "port", "tls_keylog")


class Found(NamedTuple):
    """A message: the number of its input, what to call it, and what it is, decoded whole."""

    source: int
    label: str
    decoded: Decoded


def messages(
    environment: Environment, catalog: Catalog, source: tuple[str, ...], options: dict[str, Any], skipped: Counter[str]
) -> Iterator[Found]:
    """The bodies that were decoded whole by their own version, as they come; the others are counted in `skipped`."""
    bodies = bool(options["message"])
    if bodies:
        refuse(options, ("api", "framed", "kind"), "is for frames, and --message is for a bare body")
    for number, content in enumerate(
        inputs(environment, source, options["form"], catalog=catalog, says=said(options), verbose=options["verbose"])
    ):
        if content.kind is Kind.CAPTURE:
            if bodies:
                raise click.UsageError(
                    "--message is for a bare body, and this is a capture; --filter chooses among its frames"
                )
            decoded_bodies = _of_capture(environment, catalog, content.source, options)
        else:
            frame_input = content.frames
            refuse(options, OF_CAPTURES, NO_CAPTURE)
            decoded_bodies = (
                bodies_of(catalog, frame_input, options)
                if bodies
                else map(_body, frames_of(catalog, frame_input, options))
            )
        for decoded in decoded_bodies:
            if (reason := _unpriced(decoded)) or not decoded:
                skipped[reason] += 1
            else:
                yield Found(number, content.name or "the argument", decoded)


def _unpriced(decoded: Decoded | None) -> str:
    """Why a message has no price; nothing where it has one."""
    if not decoded:
        return "that are no request or response that is known"
    if not decoded.exact:
        return "that could not be decoded whole by their own version"
    lossy = any(anomaly.code == "INVALID_UTF8" for anomaly in decoded.anomalies)
    return "that hold text which is no UTF-8, and has no other form" if lossy else ""


def _of_capture(
    environment: Environment, catalog: Catalog, source: Any, options: dict[str, Any]
) -> Iterator[Decoded | None]:
    from kwire_cli.cli.capture_inputs import capture_lines, chosen

    lines = capture_lines(environment, catalog, source, port=options["port"], key_logs=options["tls_keylog"])
    return (_body(line.frame) if line.frame else None for line in chosen(lines, catalog, options))


def _body(frame: Frame) -> Decoded | None:
    return None if frame.guess else frame.body


# What `kwire compare` does with messages: which values there are, in which forms they are priced, and how
# that is shown.


def show_messages(
    environment: Environment, catalog: Catalog, source: tuple[str, ...], fmt: str, options: dict[str, Any]
) -> Exit:
    """Price messages in the forms that were asked for, and print that. InputError where there is none to price."""
    priced = _values(environment, catalog, source, options)
    result = priced or _of_inputs(environment, catalog, source, options)
    for reason, number in result.skipped.items():
        environment.note(f"kwire: left out: {number} {reason}")
    show(environment, catalog, result, fmt, options)
    return Exit.DONE


# Values


def _values(
    environment: Environment, catalog: Catalog, source: tuple[str, ...], options: dict[str, Any]
) -> Result | None:
    """The comparison of values that were given or are generated; None where the values are in bytes."""
    ranges = {name: options[name] for name in USUAL if options[name]}
    paths = options["counts"]
    generated = bool(ranges or paths)
    if options["values"] is not None:
        if source or generated:
            raise click.UsageError("--values is the input: omit INPUT, --count and the options for generated values")
        return _of_values(environment, catalog, options)
    if source and generated:
        raise click.UsageError(
            "--count, --partitions and the other options for generated values do not go with an INPUT"
        )
    if source or not (generated or options["message"]) or (not generated and _is_piped(environment)):
        return None
    if not options["message"]:
        raise click.UsageError("--message is needed to generate values")
    return _of_generated(environment, catalog, ranges, paths, options)


def _is_piped(environment: Environment) -> bool:
    """Return whether there are bytes on standard input. The bytes are read and kept for later readers."""
    if environment.stdin.isatty():
        return False
    data = environment.stdin.read()
    environment.stdin = io.BytesIO(data)
    return bool(data.strip())


def _of_values(environment: Environment, catalog: Catalog, options: dict[str, Any]) -> Result:
    from kwire_cli.cli.inputs import read_values

    message_values = read_values(environment, catalog, options["values"])
    said = {"message": message_values.message, "version": message_values.version}
    spec, version = _message(catalog, options | {key: value for key, value in said.items() if options[key] is None})
    prices = comparing(options, [spec], version, several=False)
    note_held(environment, options, spec)
    prices.hides = not options["show_secrets"]
    try:
        prices.add_values(spec, version, message_values.written(spec))
    except EncodeError as error:
        raise InputError(f"{spec.name} {version}: {error}", file=message_values.name) from None
    rows = [Row({}, comparison) for comparison in prices.found.values()]
    return Result(
        f"values of {message_values.name or 'the argument'}",
        {"values": message_values.name or "argument"},
        rows,
        Counter(),
    )


def _of_generated(
    environment: Environment,
    catalog: Catalog,
    ranges: dict[str, tuple[int, ...]],
    paths: dict[str, tuple[int, ...]],
    options: dict[str, Any],
) -> Result:
    spec, version = _message(catalog, options)
    choice = comparing(options, [spec], version, several=False).choice
    note_held(environment, options, spec)
    rows: list[Row] = []
    progress = Progress(environment)
    messages = [  # first of all, so that what is too large is said at once
        (
            chosen,
            counts_for(spec, version, {name: chosen[name] for name in ranges}, {name: chosen[name] for name in paths}),
        )
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
    return Result(
        f"generated values{': ' if said else ''}{said}", {"generated": counts, "values": values}, rows, Counter()
    )


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
    skipped: Counter[str] = Counter()
    remaining = messages(environment, catalog, source, options, skipped)
    ahead = [*islice(remaining, 3)]
    if not ahead:
        found_instead = "".join(f", but {number} {reason}" for reason, number in skipped.items())
        how = (
            "--api and --version, or --message and --version, say what the bytes are, --as-records that they "
            "are record batches"
        )
        raise InputError(f"there is no message to price{found_instead}; {how}")
    if len(ahead) == 2 and ahead[0].source != ahead[1].source:
        return _side_by_side(ahead[0].decoded, ahead[1].decoded, [body.label for body in ahead], options, skipped)
    first = ahead[0].decoded
    prices = comparing(options, [first.spec], first.version, several=len(ahead) > 1)
    if len(ahead) == 1:
        note_held(environment, options, first.spec)
    prices.hides = not options["show_secrets"]
    for body in ahead:
        prices.add(body.decoded)
    for body in remaining:
        prices.add(body.decoded)
    if options["fields"]:
        check_fields([*prices.specs.values()], prices.choice.fields)
    rows = [Row({}, comparison) for comparison in prices.found.values()]
    label = ahead[0].label if len(ahead) == 1 else f"{prices.messages} messages of {', '.join(source) or 'the input'}"
    return Result(label, {"messages": prices.messages, "skipped": dict(skipped)}, rows, skipped)


def _side_by_side(a: Decoded, b: Decoded, labels: list[str], options: dict[str, Any], skipped: Counter[str]) -> Result:
    """Two messages, each as it was given: the second stands as another form of the first."""
    from kwire_cli.analysis.costs.forms import Form, price_as_given

    if any(options[name] for name in CHOOSING):
        raise click.UsageError(
            "two messages are compared as they are; options that choose encodings are for one message, or for a capture"
        )
    names = [f"{decoded.message} {decoded.version}" for decoded in (a, b)]
    short = [Path(label).name for label in labels]
    labels = short if short[0] != short[1] else [f"{label} ({number})" for number, label in enumerate(short, 1)]
    comparison = Comparison(names[0] if names[0] == names[1] else " and ".join(names), None)
    first = price_as_given(Form(labels[0], a.spec, a.version), a)
    comparison.add(first, [price_as_given(Form(labels[1], b.spec, b.version), b)])
    return Result(f"{labels[0]} against {labels[1]}", {"a": labels[0], "b": labels[1]}, [Row({}, comparison)], skipped)
