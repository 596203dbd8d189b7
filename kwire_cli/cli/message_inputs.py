"""Single messages picked from inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.inputs import frames_of
from kwire_cli.cli.old_options import said
from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind
from kwire_cli.stores import exists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.records.batch import Source
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.kinds import Recognised
    from kwire_cli.source.text.reading import Input
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.explain.messages import Look
    from kwire_cli.view.explain.model import Event
    from kwire_cli.view.lines import Line

    Place = tuple[str, int | None]
    """An argument, and the number of a frame in it where one is said."""


# Where the two messages that `kwire diff` compares come from: frames of captures and of other inputs, bodies
# alone.


@dataclass(frozen=True)
class Found:
    """A message: what to call it, itself, the request that it answers, whether there is no doubt about what it is, and
    the names of topics by id.
    """

    name: str
    message: Decoded | Frame
    asked: Frame | None = None
    known: bool = False
    names: Callable[[str], str] | None = None


def place(text: str) -> tuple[str, int | None]:
    """A file with the number of a frame, where it has one: FILE@N."""
    name, at, number = text.rpartition("@")
    if at and number.isascii() and number.isdecimal() and len(number) < 12 and not exists(text):
        return name, int(number)
    return text, None


def find(
    environment: Environment,
    catalog: Catalog,
    places: Sequence[Place],
    versions: Sequence[int | None],
    options: dict[str, Any],
) -> list[Found]:
    """The messages at these places, each of its version; an argument that is named twice is read once. InputError where
    there is no such message.
    """
    from kwire_cli.cli.inputs import inputs

    read: dict[str, tuple[str, Input | dict[int | None, Found]]] = {}
    for text, _ in places:
        if text in read:
            continue
        if text.startswith(("/", "./", "../")) and not exists(text):
            raise InputError("this file does not exist", file=text)
        [content] = inputs(environment, (text,), options["form"], catalog=catalog, says=said(options))
        name = content.name or "the argument"
        if content.kind is Kind.CAPTURE:
            if options["message"]:
                raise click.UsageError("--message is for bare bodies, and this is a packet capture")
            numbers = [number for argument, number in places if argument == text]
            read[text] = name, _of_capture(environment, catalog, content.source, numbers, name, options)
        else:
            read[text] = name, content.frames
    out = []
    for (text, number), version in zip(places, versions, strict=True):
        name, frame_source = read[text]
        if not isinstance(frame_source, dict):
            out.append(_of_input(environment, catalog, frame_source, number, version, _shown(name, number), options))
        else:
            out.append(frame_source[number])
    return out


def _shown(name: str, number: int | None) -> str:
    return name if number is None else f"{name}@{number}"


def _of_input(
    environment: Environment,
    catalog: Catalog,
    found: Input,
    number: int | None,
    version: int | None,
    name: str,
    options: dict[str, Any],
) -> Found:
    if options["message"]:
        from kwire_cli.message.decoded import checked, decode

        bodies = [decode(catalog, chunk.data, options["message"], version or 0) for chunk in found.chunks]
        return Found(name, checked(_numbered(bodies, number, name, "body", "bodies")), known=True)
    frames = [*frames_of(catalog, found, options | {"version": version})]
    frame = _numbered(frames, number, name, "frame", "frames")
    if frame.guess:
        environment.note(f"kwire: {name}: {frame.candidates[0]} is a guess; --api and --version say what it is")
    return Found(name, frame)


def _numbered(found: list[Any], number: int | None, name: str, one: str, many: str) -> Any:
    if not found:
        raise InputError(f"there is no {one} in it", file=name)
    if number is None and len(found) > 1:
        raise InputError(
            f"there are {len(found)} {many} in it: choose one with {name}@N, or two with --frames A,B", file=name
        )
    if number is not None and not 1 <= number <= len(found):
        raise InputError(f"there is no {one} {number}: it has {len(found)}", file=name)
    return found[(number or 1) - 1]


def _of_capture(
    environment: Environment,
    catalog: Catalog,
    source: Any,
    numbers: Sequence[int | None],
    name: str,
    options: dict[str, Any],
) -> dict[int | None, Found]:
    """The frames of these numbers, in one pass; None is the one of a capture that has no other."""
    from kwire_cli.cli.capture_inputs import capture_lines

    last, out = 0, dict[int | None, Found]()
    for line in capture_lines(
        environment, catalog, source, port=options["port"], key_logs=options.get("tls_keylog", ())
    ):
        last = line.number
        if None in numbers:
            if None in out:
                raise InputError(
                    f"this is a capture of several frames: choose one with {name}@N, or two with --frames A,B",
                    file=name,
                )
            out[None] = _captured(line, name)
        if last in numbers:
            out[last] = _captured(line, _shown(name, last))
        if None not in numbers and len(out) == len({*numbers}):
            break
    for number in numbers:
        if number not in out:
            raise InputError(
                "there is no frame in it" if number is None else f"there is no frame {number}: it has {last}",
                file=_shown(name, number),
            )
    return out


def _captured(line: Captured, name: str) -> Found:
    if not line.frame:
        raise InputError(f"frame {line.number} is not a request or response, but {line.kind}", file=name)
    return Found(
        name, line.frame, line.asked, known=line.kind == "request" or line.request is not None, names=line.names.topic
    )


# What `kwire explain` explains: frames of captures and of other inputs, bodies alone, record sets.


@dataclass(frozen=True)
class Subject:
    """Subject of an explanation: its title for people and for programs, and its events.

    `readable` is False if no part of the subject could be read.
    """

    title: Line
    document: dict[str, Any]
    events: Iterator[Event]
    readable: bool = True


def subjects(
    environment: Environment, catalog: Catalog, arguments: tuple[str, ...], options: dict[str, Any]
) -> Iterator[Subject]:
    """Yield the subjects that the arguments name, in order.

    Raises InputError if an argument cannot be read or has nothing with the requested number.
    """
    from kwire_cli.cli.inputs import inputs
    from kwire_cli.message.redaction import Redaction

    redaction = Redaction(catalog, show_secrets=options["show_secrets"])
    says = _said(options)
    for texts, number in _places(arguments, options["frame"]):
        for content in inputs(environment, texts, options["form"], catalog=catalog, says=says):
            if content.kind is Kind.CAPTURE:
                yield _subjects_of_capture(
                    environment, catalog, content.source, number, content.name, options, redaction
                )
            elif content.kind is Kind.BATCHES:
                yield from _record_sets(environment, catalog, content, number, options, _look(redaction, options))
            elif options["message"]:
                yield from _bodies(redaction, content.frames, options, _look(redaction, options), number)
            else:
                yield from _subjects_of_input(
                    catalog, content.frames, number, content.name or "the argument", options, redaction
                )


def _said(options: dict[str, Any]) -> Kind | None:
    """The kind of the input, where an option says it."""
    return Kind.BATCHES if options["record_format"] != "auto" else said(options)


def _places(arguments: tuple[str, ...], frame: int | None) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """The arguments one by one where any of them is a file, with the number that goes with it; else all of them, which
    are the bytes themselves.
    """
    pairs = [place(argument) for argument in arguments]
    if not any(text == "-" or exists(text) for text, _ in pairs):
        yield arguments, frame
        return
    for text, number in pairs:
        yield (text,), frame if number is None else number


def _look(redaction: Redaction, options: dict[str, Any], names: Callable[[str], str] | None = None) -> Look:
    from kwire_cli.view.explain.messages import Look

    return Look(options["every"], redaction.reading(names))


def _subjects_of_capture(
    environment: Environment,
    catalog: Catalog,
    source: Any,
    number: int | None,
    name: str | None,
    options: dict[str, Any],
    redaction: Redaction,
) -> Subject:
    from kwire_cli.cli.capture_inputs import capture_lines

    if options["message"]:
        raise click.UsageError("--message is for bare bodies, and this is a packet capture")
    label = name or "standard input"
    last = 0
    lines = capture_lines(
        environment, catalog, source, port=options["port"], notices=False, key_logs=options["tls_keylog"]
    )
    for line in lines:
        last = line.number
        if number in {None, last} and line.frame:
            if number is None:
                environment.note(f"kwire: {label}: this is its frame {last}; --frame N, or {label}@N, explains another")
            return _frame(
                line.frame, redaction.line(line), _look(redaction, options, line.names.topic), asked=line.asked
            )
        if number == last:
            raise InputError(f"frame {last} is not a request or response, but {line.kind}", file=label)
    raise InputError(
        "there is no frame in it" if number is None else f"there is no frame {number}: it has {last}", file=label
    )


def _frame(frame: Frame, hidden: dict[str, frozenset[int]], look: Look, *, asked: Frame | None = None) -> Subject:
    from kwire_cli.view.explain.messages import explain_frame
    from kwire_cli.view.tree import frame_title

    frame = frame.shown(hidden)
    document = {
        "frame": frame.number,
        "kind": frame.kind,
        "size": frame.size,
        "apiKey": frame.api_key,
        "api": frame.api,
    }
    document |= {"apiVersion": frame.api_version, "guess": frame.guess}
    return Subject(
        frame_title(frame), document, explain_frame(frame, hidden, look, asked=asked), frame.kind != "unknown"
    )


def _subjects_of_input(
    catalog: Catalog, found: Input, number: int | None, name: str, options: dict[str, Any], redaction: Redaction
) -> Iterator[Subject]:
    from kwire_cli.message.frames import Hints
    from kwire_cli.source.text.reading import frames_in

    look = _look(redaction, options)
    hints = Hints(
        catalog.api(options["api"]) if options["api"] else None, options["version"], options["kind"], options["header"]
    )
    count = 0
    for frame in frames_in(catalog, found, hints, framed=options["framed"]):
        count += 1
        hidden = redaction.frame(frame)
        if number in {None, frame.number}:
            yield _frame(frame, hidden, look)
    if number is not None and not 1 <= number <= count:
        raise InputError(f"there is no frame {number}: it has {count}", file=name)


def _bodies(
    redaction: Redaction, found: Input, options: dict[str, Any], look: Look, number: int | None
) -> Iterator[Subject]:
    from kwire_cli.cli.inputs import bodies_of
    from kwire_cli.view.explain.messages import explain_body
    from kwire_cli.view.tree import message_title

    if options["api"] or options["kind"] or options["framed"] is not None:
        raise click.UsageError(
            "--api, --request, --response and --framed are for frames, and --message is for a bare body"
        )
    for i, body in enumerate(bodies_of(redaction.catalog, found, options), 1):
        if number in {None, i}:
            document = {
                "message": body.message,
                "version": body.version,
                "size": body.stop - body.start,
                "guess": body.guess,
            }
            readable = body.complete or len(body.raw.node) > 1
            yield Subject(
                message_title(body),
                document,
                explain_body(body, look, hidden=redaction.body(body)),
                readable,
            )


def _record_sets(
    environment: Environment,
    catalog: Catalog,
    found: Recognised,
    position: int | None,
    options: dict[str, Any],
    look: Look,
) -> Iterator[Subject]:
    from kwire_cli.cli.segments import segment_files

    if options["message"] or options["api"] or options["kind"]:
        raise click.UsageError(
            "--message, --api, --request and --response are for messages, and this holds record batches"
        )
    for file in segment_files(found):
        source = _source(catalog, file.view, file.topic, options)
        yield _batches(environment, source, options["at"] if position is None else position, look, file.label)


def _source(catalog: Catalog, data: Any, topic: str | None, options: dict[str, Any]) -> Source:
    """A record set of --as-topic, else of the topic that its folder names or its records show."""
    from kwire_cli.records.reading import recognised_source

    return recognised_source(
        data, given=options["as_topic"], folder=topic, form=options["record_format"], catalog=catalog
    )


def _batches(environment: Environment, source: Source, position: int | None, look: Look, name: str) -> Subject:
    from kwire_cli.records.reading import read_items
    from kwire_cli.view.explain.messages import explain_items

    items = (
        _told(environment, read_items(source), name, len(source.data))
        if position is None
        else iter([batch_at(source, position, name)])
    )
    title: Line = [(name, "title"), (f": {len(source.data)} bytes of record batches", "dim")]
    events = explain_items(items, look, data=source.data, topic=source.topic)
    return Subject(title, {"file": name, "size": len(source.data), "topic": source.topic}, events)


def _told(environment: Environment, items: Iterator[Any], name: str, size: int) -> Iterator[Any]:
    """The same batches and gaps; how far they are is told where that takes long."""
    from kwire_cli.cli.environment import Progress

    progress = Progress(environment)
    for number, item in enumerate(items):
        if not number & 63:
            progress.tell(name, item.position, size)
        yield item
    progress.done()


def batch_at(source: Source, position: int, name: str) -> Any:
    """The batch, or the bytes that are none, in which a byte lies. InputError beyond the end."""
    from kwire_cli.records.reading import Reader

    if not 0 <= position < len(source.data):
        raise InputError(f"there is no byte {position}: it has {len(source.data)}", file=name)
    start = position if Reader(source).right_at(position) else 0
    return next(item for item in Reader(source, start).items() if item.position <= position < item.end)
