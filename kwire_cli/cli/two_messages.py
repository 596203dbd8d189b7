"""Where the two messages that `kwire diff` compares come from: frames of captures and of other inputs, bodies alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.frame_options import frames_of, said
from kwire_cli.errors import InputError
from kwire_cli.stores import exists

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.text import Input
    from kwire_cli.spec.catalog import Catalog

    Place = tuple[str, int | None]
    """An argument, and the number of a frame in it where one is said."""


@dataclass(frozen=True)
class Found:
    """A message: what to call it, itself, the request that it answers, whether there is no doubt about what it is, and the names of topics by id."""

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


def find(environment: Environment, catalog: Catalog, places: Sequence[Place], versions: Sequence[int | None], options: dict[str, Any]) -> list[Found]:
    """The messages at these places, each of its version; an argument that is named twice is read once. InputError where there is no such message."""
    from kwire_cli.cli.inputs import inputs
    from kwire_cli.source.kinds import Kind

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
        name, found = read[text]
        if not isinstance(found, dict):
            out.append(_of_input(environment, catalog, found, number, version, _shown(name, number), options))
        else:
            out.append(found[number])
    return out


def _shown(name: str, number: int | None) -> str:
    return name if number is None else f"{name}@{number}"


def _of_input(
    environment: Environment, catalog: Catalog, found: Input, number: int | None, version: int | None, name: str, options: dict[str, Any]
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
        raise InputError(f"there are {len(found)} {many} in it: choose one with {name}@N, or two with --frames A,B", file=name)
    if number is not None and not 1 <= number <= len(found):
        raise InputError(f"there is no {one} {number}: it has {len(found)}", file=name)
    return found[(number or 1) - 1]


def _of_capture(
    environment: Environment, catalog: Catalog, source: Any, numbers: Sequence[int | None], name: str, options: dict[str, Any]
) -> dict[int | None, Found]:
    """The frames of these numbers, in one pass; None is the one of a capture that has no other."""
    from kwire_cli.cli.capture_lines import capture_lines

    last, out = 0, dict[int | None, Found]()
    for line in capture_lines(environment, catalog, source, port=options["port"], key_logs=options.get("tls_keylog", ())):
        last = line.number
        if None in numbers:
            if None in out:
                raise InputError(f"this is a capture of several frames: choose one with {name}@N, or two with --frames A,B", file=name)
            out[None] = _captured(line, name)
        if last in numbers:
            out[last] = _captured(line, _shown(name, last))
        if None not in numbers and len(out) == len({*numbers}):
            break
    for number in numbers:
        if number not in out:
            raise InputError("there is no frame in it" if number is None else f"there is no frame {number}: it has {last}", file=_shown(name, number))
    return out


def _captured(line: Captured, name: str) -> Found:
    if not line.frame:
        raise InputError(f"frame {line.number} is not a request or response, but {line.kind}", file=name)
    return Found(name, line.frame, line.asked, known=line.kind == "request" or line.request is not None, names=line.names.topic)
