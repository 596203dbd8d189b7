"""Compare two encoded messages for `kwire diff`.

`find` reads a message from a file, a capture, an argument or standard input. The analysis compares them field by field
and byte by byte, and `messages_answer` puts the differences into an `Answer`. Secrets are redacted before the
comparison, so that they do not appear in differences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.analysis.comparison.messages import FrameOperand, Operand, compare, compare_frames
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Outline, Table
from kwire_cli.cli.captures import refuse_unknown_name
from kwire_cli.cli.fits import refuse_unfit
from kwire_cli.cli.inputs import Terminal, place, reading_of
from kwire_cli.cli.options import Capture, Definitions, Frames, Secrets, message_option, version_option
from kwire_cli.cli.typed_options import flag, option
from kwire_cli.errors import InputError
from kwire_cli.message.decoded import checked
from kwire_cli.message.frames import Frame
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.kinds import Kind
from kwire_cli.source.opening import open_inputs
from kwire_cli.stores.paths import exists
from kwire_cli.view.differences import comparison_items
from kwire_cli.view.lines import plain
from kwire_cli.view.tree import frame_title, message_title

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.analysis.comparison.differences import Comparison, Difference
    from kwire_cli.answer import Block, Row
    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog


_TAKES = frozenset({Kind.CAPTURE, Kind.FRAMES, Kind.BODY})


class DiffedMessages(Frames, Capture, Definitions, Secrets):
    """Options for the two messages, and for the parts to compare."""

    message: str | None = message_option("Read both inputs as bare bodies of this message.")
    version: tuple[int, ...] = version_option(
        "Set the version of the message or api; twice: A's, then B's.", multiple=True
    )
    ignore: tuple[str, ...] = option(
        "--ignore",
        section="Choose",
        multiple=True,
        metavar="FIELD",
        help="Ignore this field and everything in it, such as header.correlationId.",
    )
    full: bool = flag("--full", section="Output", help="Show all differences, and long values in full.")

    @property
    def ignored(self) -> list[str]:
        """The paths in --ignore, without marks of arrays."""
        return [path.replace("[]", "") for path in self.ignore]

    @property
    def versions(self) -> tuple[int | None, int | None]:
        """The versions of both messages. Raises UsageError for more than two, and for bodies without a version."""
        numbers = self.version
        if len(numbers) > 2:
            raise click.UsageError("--message-version is given once for both messages, or twice: for A and for B")
        if self.message and not numbers:
            raise click.UsageError("--message needs --message-version: that of both bodies, or twice, for A and for B")
        return (numbers[0], numbers[-1]) if numbers else (None, None)


@dataclass(frozen=True)
class ComparedMessage:
    """A message to compare.

    Attributes:
        name: The name of the message in the answer, such as `FILE@FRAME`.
        asked: The request, if the message is a response in a capture.
        known: The type of the message is certain, not a guess.
        names: Return the name of a topic id.

    """

    name: str
    message: Decoded | Frame
    asked: Frame | None = None
    known: bool = False
    names: Callable[[str], str] | None = None


def find(environment: Environment, options: DiffedMessages, text: str, version: int | None) -> ComparedMessage:
    """Return the message at a place, such as `FILE@FRAME`. Raises InputError if the message does not exist."""
    text, number = place(text)
    if text.startswith(("/", "./", "../")) and not exists(text):
        raise InputError("this file does not exist", file=text)
    how = replace(reading_of(options), message=options.message, version=version)
    [opened] = open_inputs((text,), how, Terminal(environment), takes=_TAKES)
    refuse_unfit(options, opened)
    label = opened.label
    name = label if number is None else f"{label}@{number}"
    one, many = ("body", "bodies") if opened.kind is Kind.BODY else ("frame", "frames")
    found: Any = None
    last = 0
    for last, subject in enumerate(opened.subjects(), 1):
        if number is None and found is not None:
            raise InputError(f"it has several {many}: choose one with {label}@N", file=label)
        if number in {None, last}:
            found = subject
        if number == last:
            break
    if found is None:
        missing = "in it" if number is None else f"{number}: it has {last}"
        raise InputError(f"there is no {one} {missing}", file=name)
    if opened.kind is Kind.CAPTURE:
        return _from_line(found, name)
    if not isinstance(found, Frame):
        return ComparedMessage(name, checked(found), known=True)
    if found.guess:
        environment.note(f"kwire: {name}: {found.candidates[0]} is a guess; --api and --message-version say what it is")
    return ComparedMessage(name, found)


def _from_line(line: Captured, name: str) -> ComparedMessage:
    if not line.frame:
        raise InputError(f"frame {line.number} is not a request or response, but {line.kind}", file=name)
    known = line.kind == "request" or line.request is not None
    return ComparedMessage(name, line.frame, line.asked, known=known, names=line.names.topic)


SIDES = (
    Column("side"),
    Column("input"),
    Column("message"),
    Column("kind"),
    Column("api"),
    Column("version", "id"),
    Column("size", "bytes"),
)
DIFFERENCES = (
    Column("kind"),
    Column("path"),
    *(Column(f"a{name}") for name in ("Path", "Value", "Offset", "Size", "Hex")),
    *(Column(f"b{name}") for name in ("Path", "Value", "Offset", "Size", "Hex")),
    Column("detail"),
    Column("layout", "flag"),
)
"""A difference with the field of each message. `layout` is true if one version does not have the field."""


def messages_answer(environment: Environment, options: DiffedMessages, a: str, b: str) -> Answer:
    """Return the differences between two messages.

    Each argument is a file, - for standard input, or the bytes themselves. FILE@N is one frame of a file. Raises
    InputError if a message does not exist, or if the kinds of the messages differ.
    """
    for name in options.ignored:
        refuse_unknown_name(options.catalog, name, "--ignore")
    catalog = options.catalog
    operands = [
        find(environment, options, text, version) for text, version in zip((a, b), options.versions, strict=True)
    ]
    comparison = _compare(catalog, operands[0], operands[1], options)
    operands = [_redact_for_title(catalog, operand, options) for operand in operands]
    _remove_ignored(comparison, options)
    sides = list(zip("ab", operands, strict=True))
    heads = [Item(0, f"{name}: {operand.name}", _title(operand)) for name, operand in sides]
    facts = [Fact("verdict", comparison.verdict, wide=True), Fact("counts", comparison.counts, "map", wide=True)]
    blocks: list[Block] = [
        Facts(facts),
        Table("differences", DIFFERENCES, [_difference_row(each) for each in comparison.differences], shown=0),
        Table("sides", SIDES, [(name, *_side_row(operand)) for name, operand in sides], shown=0),
    ]
    items = comparison_items(catalog, comparison, full=options.full)
    outline = Outline("", [*heads, *items])
    return Answer("Differences of two messages", [outline, *blocks], found=comparison.other_bytes)


def _difference_row(difference: Difference) -> Row:
    sides = []
    for side in (difference.a, difference.b):
        raw = None if side is None or side.raw is None else side.raw.hex()
        sides += [side.path, side.value, side.offset, side.size, raw] if side else [None] * 5
    return difference.kind, difference.path, *sides, difference.detail, difference.layout


def _side_row(found: ComparedMessage) -> Row:
    message = found.message
    if isinstance(message, Frame):
        return found.name, None, message.kind, message.api, message.api_version, message.size
    return found.name, message.message, None, None, message.version, message.stop - message.start


def _compare(catalog: Catalog, a: ComparedMessage, b: ComparedMessage, options: DiffedMessages) -> Comparison:
    redaction = Redaction(catalog, show_secrets=options.show_secrets)
    if isinstance(a.message, Frame) and isinstance(b.message, Frame):
        operands = []
        for found, frame in ((a, a.message), (b, b.message)):
            hidden = redaction.frame(frame, known=found.known, asked=found.asked)
            operands.append(FrameOperand(frame, hidden, redaction.reading(found.names), redaction.body))
        return compare_frames(*operands)
    assert not isinstance(a.message, Frame)  # noqa: S101 - --message holds for both
    assert not isinstance(b.message, Frame)  # noqa: S101 - --message holds for both
    return compare(
        Operand(a.message, redaction.body(a.message), redaction.reading(a.names)),
        Operand(b.message, redaction.body(b.message), redaction.reading(b.names)),
    )


def _remove_ignored(comparison: Comparison, options: DiffedMessages) -> None:
    """Remove the differences that --ignore excludes."""
    fields = options.ignored

    def is_ignored(path: str) -> bool:
        field_path = path.replace("[]", "")
        return any(field_path == field or field_path.startswith((f"{field}.", f"{field}[")) for field in fields)

    comparison.differences = [each for each in comparison.differences if not is_ignored(each.at.field)]


def _redact_for_title(catalog: Catalog, found: ComparedMessage, options: DiffedMessages) -> ComparedMessage:
    """Return a message with the redactions that its title requires."""
    if not isinstance(found.message, Frame):
        return found
    redaction = Redaction(catalog, show_secrets=options.show_secrets)
    return replace(
        found, message=found.message.shown(redaction.frame(found.message, known=found.known, asked=found.asked))
    )


def _title(found: ComparedMessage) -> str:
    message = found.message
    if isinstance(message, Frame):
        return plain(frame_title(message)).partition(": ")[2]
    return plain(message_title(message))
