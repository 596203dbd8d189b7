"""Inputs of `kwire explain`: frames, bodies and record sets.

`Explanations` opens the arguments and yields an `Explanation` for each frame, body or segment. The events of an
explanation are generated lazily, so that a large segment needs little memory. Secrets are redacted before the events
are generated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completers import complete_file
from kwire_cli.cli.fits import refuse_unfit
from kwire_cli.cli.inputs import Terminal, place, reading_of, shows_secrets
from kwire_cli.cli.options import Capture, HeaderKeys, Headers, Messages, RecordSets, Secrets
from kwire_cli.cli.payloads import Payloads
from kwire_cli.cli.typed_options import argument, flag, option
from kwire_cli.errors import InputError
from kwire_cli.message.frames import Frame
from kwire_cli.message.redaction import Redaction, note_of_guess
from kwire_cli.records.reading import Reader
from kwire_cli.records.registers import read_register
from kwire_cli.source.kinds import Kind
from kwire_cli.source.log_inputs import LogInput
from kwire_cli.source.opening import open_inputs
from kwire_cli.stores.paths import exists
from kwire_cli.view.explain.messages import explain_body, explain_frame, explain_items
from kwire_cli.view.explain.model import Look
from kwire_cli.view.tree import frame_title, message_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.records.batch import Source
    from kwire_cli.source.reading import Opened
    from kwire_cli.view.explain.model import Event
    from kwire_cli.view.lines import Line

_TAKES = frozenset({Kind.CAPTURE, Kind.BATCHES, Kind.FRAMES, Kind.BODY})


class Explained(Payloads, Messages, Headers, Capture, RecordSets, HeaderKeys, Secrets):
    """Options for the messages and record batches to explain."""

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
    every: bool = flag("--all", section="Choose", help="Explain every element and batch, repetitions too.")
    at: int | None = option(
        "--at",
        section="Choose",
        type=click.IntRange(min=0),
        metavar="BYTE",
        help="Explain only the field that holds this byte.",
    )


@dataclass(frozen=True)
class Explanation:
    """An explanation: its title as text (`title`) and as JSON (`document`), and its events.

    `readable` is False if no part of the subject could be read.
    """

    title: Line
    document: dict[str, Any]
    events: Iterator[Event]
    readable: bool = True


class Explanations:
    """The explanations for the arguments, in order.

    Iterating raises InputError if an argument cannot be read or has no frame with the requested number.
    """

    def __init__(self, environment: Environment, options: Explained) -> None:
        self._options = options
        self._caller = Terminal(environment)
        self._how = reading_of(options)
        self._register = read_register(options.register)
        self._redaction = Redaction(options.catalog, show_secrets=shows_secrets(options, *options.source))

    def __iter__(self) -> Iterator[Explanation]:
        for texts, number in self._places():
            for opened in open_inputs(texts, self._how, self._caller, takes=_TAKES):
                refuse_unfit(self._options, opened)
                if opened.kind is Kind.CAPTURE:
                    yield self._explain_capture(opened, number)
                elif opened.kind is Kind.BATCHES:
                    yield from self._explain_batches(opened, number)
                else:
                    yield from self._explain_messages(opened, number)

    def _places(self) -> Iterator[tuple[tuple[str, ...], int | None]]:
        """Yield the arguments one by one, each with its frame number or None, if any argument is a file.

        Otherwise yield all arguments together, since they are the bytes themselves.
        """
        options = self._options
        pairs = [place(argument) for argument in options.source]
        if not any(text == "-" or exists(text) for text, _ in pairs):
            yield options.source, None
            return
        for text, number in pairs:
            yield (text,), number

    def _look(self, names: Callable[[str], str] | None = None) -> Look:
        every = self._options.every or self._options.at is not None
        return Look(every, self._redaction.reading(names), self._register)

    def _explain_capture(self, opened: Opened, number: int | None) -> Explanation:
        label = opened.label
        last = 0
        for line in opened.subjects():
            last = line.number
            if number in {None, last} and line.frame:
                if number is None:
                    self._caller.note(f"{label}: this is its frame {last}; {label}@N explains another")
                return self._explain_frame(
                    line.frame, self._redaction.line(line), self._look(line.names.topic), asked=line.asked
                )
            if number == last:
                raise InputError(f"frame {last} is not a request or response, but {line.kind}", file=label)
        raise InputError(
            "it contains no frame" if number is None else f"there is no frame {number}: it has {last}", file=label
        )

    def _explain_frame(
        self, frame: Frame, hidden: dict[str, frozenset[int]], look: Look, *, asked: Frame | None = None
    ) -> Explanation:
        frame = frame.shown(hidden)
        if note := note_of_guess(frame, hidden):
            self._caller.note(f"frame {frame.number}: {note}")
        document = {
            "frame": frame.number,
            "kind": frame.kind,
            "size": frame.size,
            "apiKey": frame.api_key,
            "api": frame.api,
            "apiVersion": frame.api_version,
            "guess": frame.guess,
        }
        events = explain_frame(frame, hidden, look, asked=asked)
        return Explanation(frame_title(frame), document, events, frame.kind != "unknown")

    def _explain_messages(self, opened: Opened, number: int | None) -> Iterator[Explanation]:
        count = 0
        for count, subject in enumerate(opened.subjects(), 1):
            if number not in {None, count}:
                continue
            if isinstance(subject, Frame):
                yield self._explain_frame(subject, self._redaction.frame(subject), self._look())
            else:
                yield self._explain_body(subject)
        if number is not None and not 1 <= number <= count:
            raise InputError(f"there is no frame {number}: it has {count}", file=opened.label)

    def _explain_body(self, body: Decoded) -> Explanation:
        document = {
            "message": body.message,
            "version": body.version,
            "size": body.stop - body.start,
            "guess": body.guess,
        }
        events = explain_body(body, self._look(), hidden=self._redaction.body(body))
        return Explanation(message_title(body), document, events, body.complete or len(body.raw.node) > 1)

    def _explain_batches(self, opened: Opened, number: int | None) -> Iterator[Explanation]:
        position = self._options.at if number is None else number
        for file in opened.files() if isinstance(opened, LogInput) else ():
            source = file.source(self._how)
            if position is None:
                items = file.items(source, self._caller)
            else:
                items = iter([batch_at(source, position, file.label)])
            size = source.size
            title: Line = [(file.label, "title"), (f": {size} bytes of record batches", "dim")]
            events = explain_items(items, self._look(), source)
            yield Explanation(title, {"file": file.label, "size": size, "topic": source.topic}, events)


def batch_at(source: Source, position: int, name: str) -> Any:
    """Return the batch or gap that contains a byte. Raise InputError if the position is past the end."""
    if not 0 <= position < source.size:
        raise InputError(f"byte {position} is past the end of the input ({source.size} bytes)", file=name)
    start = position if Reader(source).right_at(position) else 0
    return next(item for item in Reader(source, start).items() if item.position <= position < item.end)
