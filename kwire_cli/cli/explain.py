"""`kwire explain`: explain messages and batches byte by byte, and topics such as types, checksums, headers and codes.

The command is a group of topics. If the first word is not a topic, the command is `kwire explain message`, so that
input can follow directly. A word that can be neither input nor a topic is an error with suggestions.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from kwire_cli.cli.command import Group
from kwire_cli.cli.completers import finding_kinds
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.explain_inputs import Explained, Explanations
from kwire_cli.cli.explain_topics import TOPICS, Explaining
from kwire_cli.cli.inputs import not_understood
from kwire_cli.cli.typed_options import takes
from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import InputError, did_you_mean
from kwire_cli.source.first_bytes import spoken
from kwire_cli.spec.catalog import catalog
from kwire_cli.stores import exists
from kwire_cli.view.explain.model import Heading, Step
from kwire_cli.view.explain.topics import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.view.explain.model import Event

DEFAULT = "message"
MIN_BASE64 = 40
"""Minimum length of a word of letters that is treated as base64 instead of a misspelt topic."""


class Topics(Group):
    """A group whose default subcommand is `message`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments. Insert `message` if the first word is not a topic."""
        is_empty = not args and (ctx.resilient_parsing or (ctx.obj is not None and ctx.obj.stdin.isatty()))
        if is_empty or args[:1] in (["--help"], ["-h"]):
            return super().parse_args(ctx, args)
        at = self._first_word(ctx, args)
        if at is not None and args[at] in self.commands:
            args = [args[at], *args[:at], *args[at + 1 :]]
        elif at is not None and _is_invalid_size(args[at]):
            args = ["size", *args]
        else:
            _refuse_unknown("" if at is None else args[at], list(self.commands))
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return the mark for files, and the topics. Bash ignores items before the mark."""
        return [CompletionItem(incomplete, type="file"), *super().shell_complete(ctx, incomplete)]

    def _first_word(self, ctx: click.Context, args: list[str]) -> int | None:
        """Return the index of the first argument that is neither an option nor the value of an option."""
        takes_value: set[str] = set()
        for option in self.commands[DEFAULT].get_params(ctx):
            if not getattr(option, "is_flag", True):
                takes_value.update(option.opts)
        at = 0
        while at < len(args):
            if not args[at].startswith("-") or args[at] == "-":
                return at
            at += 2 if args[at] in takes_value else 1
        return None


def _is_invalid_size(word: str) -> bool:
    """Return whether a word is an invalid frame size in a broker's log: its bytes are the start of another protocol."""
    if not (word.isascii() and word.isdecimal() and len(word) in {9, 10}) or exists(word):
        return False
    return int(word) < 1 << 31 and spoken(int(word)) is not None


def _refuse_unknown(word: str, topics: list[str]) -> None:
    """Raise UsageError for a word that can be neither a topic nor input."""
    name = word.replace("_", "")
    if (
        not (name.isascii() and name.isalpha() and len(name) < MIN_BASE64)
        or all(character in string.hexdigits for character in word)
        or exists(word)
    ):
        return
    close = get_close_matches(word.lower(), topics, n=2)
    hint = did_you_mean(close) or _suggest_topic(word)
    raise click.UsageError(f"{word!a} is neither a topic, nor a file, nor bytes{hint}\nTopics are {', '.join(topics)}")


def _suggest_topic(word: str) -> str:
    """Return a hint with the topics that explain a name, such as the name of an error or an api."""
    definitions = catalog()
    places = {
        "type": word.lower().replace("_", "-") in TYPES,
        "error": any(row.name == word.upper() for row in definitions.errors),
        "anomaly": word.upper() in MEANING,
        "finding": word.upper() in finding_kinds(),
        "api": any(word.lower() in {api.name.lower(), *map(str.lower, api.aliases)} for api in definitions.apis),
    }
    if hint := did_you_mean([f"kwire explain {topic} {word}" for topic, is_known in places.items() if is_known]):
        return hint
    if not word.lower().endswith(("request", "response", "record", "data", "header", "key", "value")):
        return ""
    return f"; kwire spec show {word} shows a definition, with --specs FILE one of your own"


EXAMPLES = (
    ("kwire explain --short 0000000d00120000000000070003617070", "a request byte by byte"),
    ("kwire explain error 79", "what an error means and what clients do"),
    ("kwire explain varint 300", "how a number is written"),
)


@click.group(name="explain", cls=Topics, examples=EXAMPLES, invoke_without_command=False)
def command() -> None:
    """Explain a message, a batch or a rule of the protocol, byte by byte.

    Without a topic, this is `kwire explain message`: INPUT is files, - for standard input, or the bytes
    themselves.
    """


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Explaining, Explained):
    """Options of `kwire explain`."""


@command.command(name=DEFAULT, short_help="A request, response, body or record set (also without this word).")
@takes(Options)
def message(environment: Environment, options: Options) -> int:
    """Explain Kafka messages and record batches byte by byte.

    INPUT is files, - for standard input, or the bytes themselves: hex in any common form, base64, or raw. For
    captures and segments, FILE@N is frame N or the batch at byte N. For a response give --api and --message-version;
    with --message and --message-version the bytes are a bare body.
    """
    readable = False
    output = options.printer(environment)
    for explanation in Explanations(environment, options):
        events = explanation.events if options.at is None else _select_events(explanation.events, options.at)
        output.show(events, explanation.title, explanation.document)
        readable = readable or explanation.readable
        environment.flush()
    if not readable:
        raise not_understood("nothing could be read", options.source)
    return Exit.DONE


def _select_events(events: Iterator[Event], at: int) -> Iterator[Event]:
    """Yield the steps that contain a byte, with the heading of their part. Raise InputError if no step contains it."""
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
        raise InputError(f"no field contains byte {at}")


for topic in TOPICS:
    command.add_command(topic)
