"""Two encoded messages under `kwire diff`: the messages to compare, and their differences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completion import complete_api, complete_message, complete_version
from kwire_cli.cli.message_inputs import Found, find, place
from kwire_cli.cli.old_options import FRAMING, PORT, with_options, with_tls_keylog

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.analysis.comparison.differences import Comparison
    from kwire_cli.cli.environment import Environment
    from kwire_cli.spec.catalog import Catalog


# What `kwire diff` does with two encoded messages: which ones are meant, and what is shown of them.


def with_message_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which two messages to compare, and what of them."""
    options = (
        click.option(
            "--message",
            "-m",
            metavar="NAME",
            shell_complete=complete_message,
            help="Read both inputs as bare bodies of this message.",
        ),
        click.option(
            "--version",
            "-n",
            type=click.IntRange(0, 32767),
            metavar="N",
            multiple=True,
            shell_complete=complete_version,
            help="Set the version of the message or api; twice: A's, then B's.",
        ),
        click.option(
            "--api",
            metavar="NAME|KEY",
            shell_complete=complete_api,
            help="Set the api of two responses, such as Metadata or 3.",
        ),
        *FRAMING,
        click.option(
            "--frames", metavar="A,B", help="Compare the frames with these two numbers; FILE@N also names one."
        ),
        click.option(
            "--port",
            type=PORT,
            metavar="N",
            help="Name the broker's port (captures).  [default: recognised from the bytes]",
        ),
        with_tls_keylog,
        click.option(
            "--ignore",
            multiple=True,
            metavar="FIELD",
            help="Ignore this field and everything in it, such as header.correlationId.",
        ),
        click.option("--ignore-bytes", is_flag=True, help="Ignore bytes that differ where the values are equal."),
        click.option("--full", is_flag=True, help="Show all differences, and long values in full."),
        click.option(
            "--show-secrets",
            is_flag=True,
            help="Show tokens, keys, salts and sensitive configs instead of redacting them.",
        ),
    )
    return with_options(options, command)


def show_messages(environment: Environment, catalog: Catalog, a: str, b: str | None, options: dict[str, Any]) -> bool:
    """Print what differs between two messages; whether anything does.

    Each is a file, - for standard input, or the bytes themselves; FILE@N is one frame of several. Without `b`, --frames
    names two frames of `a`. `options` are those of `with_message_options`, and `fmt`. InputError where there is no such
    message, or where the two are of different kinds.
    """
    places = _places(a, b, options["frames"])
    versions = _versions(options)
    operands = find(environment, catalog, places, versions, options)
    comparison = _compared(catalog, operands[0], operands[1], options)
    operands = [_shown(catalog, operand, options) for operand in operands]
    _leave_out(comparison, options)
    if options["fmt"] == "json":
        from kwire_cli.view.json import dumps

        sides = {name: _document(operand) for name, operand in zip("ab", operands, strict=True)}
        environment.write(dumps(sides | comparison.to_json(), indent=True))
    else:
        from kwire_cli.view.differences import comparison_lines

        environment.write_lines(
            [(f"{name}: ", "name"), (operand.name, ""), (f"  {_title(operand)}", "dim")]
            for name, operand in zip("ab", operands, strict=True)
        )
        environment.write_lines(comparison_lines(catalog, comparison, full=options["full"]))
    return comparison.other_bytes


def _places(a: str, b: str | None, frames: str | None) -> list[tuple[str, int | None]]:
    if frames is None:
        if b is None:
            raise click.UsageError("give two messages, or one capture with --frames A,B")
        return [place(a), place(b)]
    numbers = frames.split(",")
    if b is not None or len(numbers) != 2 or not all(number.strip().isdecimal() for number in numbers):
        raise click.UsageError("--frames takes two numbers, A,B, of frames of one capture or file")
    return [(a, int(number)) for number in numbers]


def _versions(options: dict[str, Any]) -> tuple[int | None, int | None]:
    numbers = options["version"]
    if len(numbers) > 2:
        raise click.UsageError("--version is given once for both messages, or twice: for A and for B")
    if options["message"] and not numbers:
        raise click.UsageError("--message needs --version: that of both bodies, or twice, for A and for B")
    if options["message"] and (options["api"] or options["kind"] or options["framed"] is not None):
        raise click.UsageError(
            "--api, --request, --response and --framed are for frames, and --message is for bare bodies"
        )
    return (numbers[0], numbers[-1]) if numbers else (None, None)


def _compared(catalog: Catalog, a: Found, b: Found, options: dict[str, Any]) -> Comparison:
    from kwire_cli.analysis.comparison.elements import Operand
    from kwire_cli.analysis.comparison.messages import compare, compare_frames, look_inside
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Redaction

    # records that are whole elements of an array show as bytes
    redaction = Redaction(catalog, show_secrets=options["show_secrets"], raw_records=True)
    reading = (redaction.reading(a.names), redaction.reading(b.names))
    if isinstance(a.message, Frame) and isinstance(b.message, Frame):
        hidden = (
            redaction.frame(a.message, known=a.known, asked=a.asked),
            redaction.frame(b.message, known=b.known, asked=b.asked),
        )
        return compare_frames(a.message, b.message, hidden, reading, redaction.body)
    assert not isinstance(a.message, Frame)  # noqa: S101 - --message holds for both
    assert not isinstance(b.message, Frame)  # noqa: S101 - as above
    out = compare(
        Operand(a.message, redaction.body(a.message), reading[0]),
        Operand(b.message, redaction.body(b.message), reading[1]),
    )
    look_inside(catalog, a.message, b.message, out, redaction.body)
    return out


def _leave_out(comparison: Comparison, options: dict[str, Any]) -> None:
    """Keep what --ignore and --ignore-bytes leave."""
    fields = [field.replace("[]", "") for field in options["ignore"]]

    def ignored(path: str) -> bool:
        plain = path.replace("[]", "")
        return any(plain == field or plain.startswith((f"{field}.", f"{field}[")) for field in fields)

    only = options["ignore_bytes"]
    comparison.differences = [
        difference
        for difference in comparison.differences
        if not ignored(difference.at.field) and not (only and difference.kind == "bytes")
    ]
    comparison.rewritten = (
        {} if only else {key: row for key, row in comparison.rewritten.items() if not ignored(row.field)}
    )


def _shown(catalog: Catalog, found: Found, options: dict[str, Any]) -> Found:
    """Return a message as its title shows it."""
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.redaction import Redaction

    if not isinstance(found.message, Frame):
        return found
    redaction = Redaction(catalog, show_secrets=options["show_secrets"])
    return replace(
        found, message=found.message.shown(redaction.frame(found.message, known=found.known, asked=found.asked))
    )


def _document(found: Found) -> dict[str, Any]:
    from kwire_cli.message.frames import Frame

    message = found.message
    if isinstance(message, Frame):
        return {
            "input": found.name,
            "kind": message.kind,
            "api": message.api,
            "apiVersion": message.api_version,
            "size": message.size,
        }
    return {
        "input": found.name,
        "message": message.message,
        "version": message.version,
        "size": message.stop - message.start,
    }


def _title(found: Found) -> str:
    from kwire_cli.message.frames import Frame
    from kwire_cli.view.lines import plain
    from kwire_cli.view.tree import frame_title, message_title

    message = found.message
    return (
        plain(frame_title(message)).partition(": ")[2] if isinstance(message, Frame) else plain(message_title(message))
    )
