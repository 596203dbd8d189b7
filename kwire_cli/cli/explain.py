"""`kwire explain`: a message or a batch byte by byte, with the rules that read it; single types, checksums, headers,
codes.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.completion import complete_file, complete_message, complete_version
from kwire_cli.cli.environment import Exit
from kwire_cli.cli.explain_topics import TOPICS, with_explanation
from kwire_cli.cli.old_options import PORT, of_frames, with_output, with_overlaid_catalog, with_tls_keylog
from kwire_cli.errors import InputError, did_you_mean
from kwire_cli.records.formats import CHOICES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.explain_topics import Output
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.explain.model import Event

DEFAULT = "message"
LONGEST = 40
"""Letters of a word from which on it may be base64."""


class Topics(click.Group):
    """A group in which what names no subcommand is the input of `message`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, with `message` put before what is no topic."""
        if args[:1] in (["--help"], ["-h"]):
            return super().parse_args(ctx, args)
        if not args and ctx.obj is not None and ctx.obj.stdin.isatty():
            return super().parse_args(ctx, args)
        if not args and ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        at = self._first_word(ctx, args)
        if at is not None and args[at] in self.commands:
            args = [args[at], *args[:at], *args[at + 1 :]]
        else:
            _refuse_unknown("" if at is None else args[at], [*self.commands])
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Files, and topics: bash drops what stands before a mark for files."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file"), *super().shell_complete(ctx, incomplete)]

    def _first_word(self, ctx: click.Context, args: list[str]) -> int | None:
        """Return the index of the first argument that is neither an option nor the value of an option."""
        takes_value = {
            name
            for option in self.commands[DEFAULT].get_params(ctx)
            if not getattr(option, "is_flag", True)
            for name in option.opts
        }
        at = 0
        while at < len(args):
            if not args[at].startswith("-") or args[at] == "-":
                return at
            at += 2 if args[at] in takes_value else 1
        return None


def _refuse_unknown(word: str, topics: list[str]) -> None:
    """UsageError for a word that is no topic and can be no input either."""
    from difflib import get_close_matches
    from pathlib import Path

    name = word.replace("_", "")
    if (
        not (name.isascii() and name.isalpha() and len(name) < LONGEST)
        or all(character in string.hexdigits for character in word)
        or Path(word).exists()
    ):
        return
    close = get_close_matches(word.lower(), topics, n=2)
    hint = did_you_mean(close) or _elsewhere(word)
    raise click.UsageError(f"{word!a} is neither a topic, nor a file, nor bytes{hint}\nTopics are {', '.join(topics)}")


def _elsewhere(word: str) -> str:
    """Return a hint at the topics that explain a name that is not a topic itself."""
    from kwire_cli.engine.codes import MEANING
    from kwire_cli.spec.catalog import catalog
    from kwire_cli.view.explain.topics import TYPES

    definitions = catalog()
    places = {
        "type": word.lower().replace("_", "-") in TYPES,
        "error": any(row.name == word.upper() for row in definitions.errors),
        "anomaly": word.upper() in MEANING,
        "api": any(word.lower() in {api.name.lower(), *map(str.lower, api.aliases)} for api in definitions.apis),
    }
    return did_you_mean([f"kwire explain {topic} {word}" for topic, there in places.items() if there])


@click.group(name="explain", cls=Topics, invoke_without_command=False)
def command() -> None:
    """Explain a message, a batch or a rule of the protocol, byte by byte.

    Without a topic, this is `kwire explain message`: INPUT is files, - for standard input, or the bytes
    themselves.
    """


@command.command(name=DEFAULT, short_help="A request, response, body or record set (also without this word).")
@click.argument("source", nargs=-1, metavar="[INPUT]...", shell_complete=complete_file)
@click.option(
    "--message",
    "-m",
    metavar="NAME",
    shell_complete=complete_message,
    help="Explain a bare body as this message (with --version).",
)
@click.option(
    "--version",
    "-n",
    type=click.IntRange(0, 32767),
    metavar="N",
    shell_complete=complete_version,
    help="Set the version of the message or api.",
)
@of_frames
@click.option(
    "--header",
    type=click.Choice(["kafka", "kip482"]),
    default="kafka",
    help="Read request headers as shipped, or as the KIP-482 draft has them.",
)
@click.option(
    "--frame",
    type=click.IntRange(min=0),
    metavar="N",
    help="Explain frame N, or the record batch at byte N; also INPUT@N.",
)
@click.option(
    "--port", type=PORT, metavar="N", help="Name the broker's port (captures).  [default: recognised from the bytes]"
)
@with_tls_keylog
@click.option(
    "--record-format",
    type=click.Choice(CHOICES),
    default="auto",
    help="Read the input as record batches of this format.",
)
@click.option(
    "--as-topic", metavar="NAME", help="Name the topic of record batches.  [default: taken from the folder's name]"
)
@click.option("--all", "every", is_flag=True, help="Explain every element and batch, repetitions too.")
@click.option("--at", type=click.IntRange(min=0), metavar="BYTE", help="Explain only the field that holds this byte.")
@click.option(
    "--show-secrets", is_flag=True, help="Show tokens, keys, salts and sensitive configs instead of redacting them."
)
@with_explanation
@with_overlaid_catalog
@with_output
def message(
    environment: Environment, catalog: Catalog, output: Output, source: tuple[str, ...], at: int | None, **options: Any
) -> int:
    """Explain Kafka messages and record batches byte by byte.

    INPUT is files, - for standard input, or the bytes themselves: hex in any common form, base64, or raw. For
    captures and segments, FILE@N is frame N or the batch at byte N. For a response give --api and --version;
    with --message and --version the bytes are a bare body.
    """
    from kwire_cli.cli.message_inputs import subjects

    readable = False
    options |= {"at": at, "every": options["every"] or at is not None}
    for subject in subjects(environment, catalog, source, options):
        events = subject.events if at is None else _only(subject.events, at)
        output.show(environment, catalog, events, subject.title, subject.document)
        readable = readable or subject.readable
        environment.flush()
    if not readable:
        raise InputError(
            "nothing could be read: say what it is with --api and --version or --message and --version, or how "
            "it is written with --input"
        )
    return Exit.DONE


def _only(events: Iterator[Event], at: int) -> Iterator[Event]:
    """The step that has this byte, with the part that it is in. InputError where none has."""
    from kwire_cli.view.explain.model import Heading, Step

    heading: Heading | None = None
    matched = False
    for event in events:
        if isinstance(event, Heading):
            heading = event
        elif isinstance(event, Step) and event.start <= at < event.end and not (event.part and event.part.buffer.own):
            if heading is not None and heading.part is event.part:
                yield heading
            matched = True
            yield event
    if not matched:
        raise InputError(f"no field has byte {at}")


for topic in TOPICS:
    command.add_command(topic)
