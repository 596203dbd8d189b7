"""The messages in the inputs of `kwire compare`: bodies, frames, and those of captures; what can't be priced is counted by its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kwire_cli.cli.frame_options import NO_CAPTURE, bodies_of, frames_of, refuse, said
from kwire_cli.cli.inputs import inputs
from kwire_cli.source.kinds import Kind

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.spec.catalog import Catalog

OF_CAPTURES = ("filter", "frames", "stream", "limit", "port", "tls_keylog")


class Found(NamedTuple):
    """A message: the number of its input, what to call it, and what it is, decoded whole."""

    source: int
    label: str
    decoded: Decoded


def messages(environment: Environment, catalog: Catalog, source: tuple[str, ...], options: dict[str, Any], skipped: Counter[str]) -> Iterator[Found]:
    """The bodies that were decoded whole by their own version, as they come; the others are counted in `skipped`."""
    bodies = bool(options["message"])
    if bodies:
        refuse(options, ("api", "framed", "kind"), "is for frames, and --message is for a bare body")
    for number, given in enumerate(inputs(environment, source, options["form"], catalog=catalog, says=said(options), verbose=options["verbose"])):
        if given.kind is Kind.CAPTURE:
            if bodies:
                raise click.UsageError("--message is for a bare body, and this is a capture; --filter chooses among its frames")
            each = _of_capture(environment, catalog, given.source, options)
        else:
            found = given.frames
            refuse(options, OF_CAPTURES, NO_CAPTURE)
            each = bodies_of(catalog, found, options) if bodies else map(_body, frames_of(catalog, found, options))
        for decoded in each:
            if (reason := _unpriced(decoded)) or not decoded:
                skipped[reason] += 1
            else:
                yield Found(number, given.name or "the argument", decoded)


def _unpriced(decoded: Decoded | None) -> str:
    """Why a message has no price; nothing where it has one."""
    if not decoded:
        return "that are no request or response that is known"
    if not decoded.exact:
        return "that could not be decoded whole by their own version"
    lossy = any(anomaly.code == "INVALID_UTF8" for anomaly in decoded.anomalies)
    return "that hold text which is no UTF-8, and has no other form" if lossy else ""


def _of_capture(environment: Environment, catalog: Catalog, source: Any, options: dict[str, Any]) -> Iterator[Decoded | None]:
    from kwire_cli.cli.capture_lines import capture_lines
    from kwire_cli.cli.captures import chosen

    lines = capture_lines(environment, catalog, source, port=options["port"], key_logs=options["tls_keylog"])
    return (_body(line.frame) if line.frame else None for line in chosen(lines, catalog, options))


def _body(frame: Frame) -> Decoded | None:
    return None if frame.guess else frame.body
