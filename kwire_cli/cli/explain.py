"""`kwire explain`: explain messages and batches byte by byte, and topics such as types, headers and error codes.

If the first word is a topic, the words after it name its subject. Otherwise the words are input. A word that can be
neither input nor a topic is an error with suggestions.
"""

from __future__ import annotations

import string
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.command import Command
from kwire_cli.cli.completers import complete_file, rules_by_code
from kwire_cli.cli.environment import Environment, Exit
from kwire_cli.cli.explain_inputs import Explained, Explanations
from kwire_cli.cli.explain_topics import TOPICS
from kwire_cli.cli.inputs import not_understood
from kwire_cli.cli.options import Output
from kwire_cli.cli.typed_options import argument, flag, option, refuse, takes
from kwire_cli.engine.codes import MEANING
from kwire_cli.errors import InputError, did_you_mean
from kwire_cli.source.first_bytes import spoken
from kwire_cli.spec.catalog import catalog
from kwire_cli.stores.paths import exists
from kwire_cli.view.explain.lines import Shown, explanation_lines, explanation_objects
from kwire_cli.view.explain.model import Heading, Step
from kwire_cli.view.explain.topics import TYPES
from kwire_cli.view.json import dumps
from kwire_cli.view.lines import without_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.view.explain.model import Event
    from kwire_cli.view.lines import Line

MIN_BASE64 = 40
"""Minimum length of a word of letters that is treated as base64 instead of a misspelt topic."""
FORMATS = ("text", "json", "jsonl")
OF_TOPICS = {"source", "fmt", "short", "output", "specs"}
"""The fields of the options that topics use."""


class ExplainCommand(Command):
    """A command whose first argument can be a topic."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments. After a topic, `-3` is a number and not an option."""
        ctx.ignore_unknown_options = not TOPICS.keys().isdisjoint(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the topics, then the examples and the options."""
        with formatter.section("Topics"):
            formatter.write_dl([(f"{name} {topic.form}", topic.about) for name, topic in TOPICS.items()])
        super().format_options(ctx, formatter)


def complete_words(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """Return the mark for files and the topics for the first word, and then what the topic takes."""
    from click.shell_completion import CompletionItem  # start-up counts

    words = ctx.params.get("source") or ()
    if words and words[0] in TOPICS:
        complete = TOPICS[words[0]].complete
        return complete(ctx, parameter, incomplete) if complete else []
    names = [] if words else [CompletionItem(name) for name in TOPICS if name.startswith(incomplete)]
    return [*complete_file(ctx, parameter, incomplete), *names]


class Options(Output, Explained):
    """Options of `kwire explain`."""

    source: tuple[str, ...] = argument(nargs=-1, metavar="[INPUT|TOPIC]...", shell_complete=complete_words)
    fmt: str | None = option(
        "--format",
        "-f",
        section="Output",
        type=click.Choice(FORMATS),
        help="Set the output format.  [default: text, or the file's suffix]",
    )
    short: bool = flag("--short", section="Output", help="Show one line per field, without the rules.")

    def printer(self, environment: Environment) -> Printer:
        """Return the printer for the format. Raises UsageError for --short in a format that has no short form."""
        fmt = self.fmt or self.suffix_among(FORMATS) or "text"
        if self.short and fmt != "text":
            raise click.UsageError(f"--short is for text, and --format {fmt} shows everything")
        return Printer(environment, self.catalog, fmt, short=self.short)


class Printer:
    """Writer of explanations as text, JSON or JSON lines. In text and JSON lines, a run contains each rule once."""

    def __init__(self, environment: Environment, catalog: Catalog, fmt: str, *, short: bool) -> None:
        self.environment = environment
        self.catalog = catalog
        self.fmt = fmt
        self.short = short
        self.rules: set[str] = set()
        self._shown: Shown | None = None

    def show(self, events: Iterable[Event], title: Line | None = None, document: dict[str, Any] | None = None) -> None:
        """Print one explanation. `title` precedes it as text, and `document` has the same content as JSON."""
        if self.fmt == "text":
            self._show_text(events, title)
        elif self.fmt == "jsonl":
            for row in (*([document] if document else []), *explanation_objects(self.catalog, events, self.rules)):
                self.environment.write(dumps(row, indent=False))
        else:
            rows = list(explanation_objects(self.catalog, events, set()))
            steps = [row for row in rows if "rule" not in row]
            rules = [row for row in rows if "rule" in row]
            self.environment.write(dumps({**(document or {}), "explanation": steps, "rules": rules}, indent=True))

    def _show_text(self, events: Iterable[Event], title: Line | None) -> None:
        environment = self.environment
        if self._shown is not None:
            environment.write("")
        self._shown = self._shown or Shown(environment.width)
        lines = explanation_lines(self.catalog, events, short=self.short, shown=self._shown)
        if title:
            environment.write_lines([without_control(title)])
        elif first := next(lines, None):
            environment.write_lines([first])
        environment.write_lines(lines)


EXAMPLES = (
    ("kwire explain --short 0000000d00120000000000070003617070", "a request byte by byte"),
    ("kwire explain error 79", "what an error means and what clients do"),
    ("kwire explain varint 300", "how a number is written"),
)


@click.command(name="explain", cls=ExplainCommand, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Explain a message, a batch or a rule of the protocol, byte by byte.

    INPUT is files, - for standard input, or the bytes themselves: hex in any common form, base64, or raw. For
    captures and segments, FILE@N is frame N or the batch at byte N. For a response give --api and --message-version;
    with --message and --message-version the bytes are a bare body. TOPIC is one of the words below, with its subject.
    """
    name, words = _topic_in(options.source, is_terminal=environment.stdin.isatty())
    if name:
        TOPICS[name].check(name, words)
        refuse(options, tuple(_unfit_fields()), f"is for messages and batches, not for the topic {name}")
        output = options.printer(environment)
        for events in TOPICS[name].explain(options.catalog, words):
            output.show(events)
        return Exit.DONE
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


def _unfit_fields() -> Iterator[str]:
    return (name for name in Options.FIELDS if name not in OF_TOPICS)


def _topic_in(words: tuple[str, ...], *, is_terminal: bool) -> tuple[str, tuple[str, ...]]:
    """Return the topic that `words` name, and the words after it. The topic is empty if the words are input.

    Raise UsageError if they can be neither.
    """
    if not words:
        if is_terminal:
            raise click.UsageError(f"there is neither INPUT nor a topic\nTopics are {', '.join(TOPICS)}")
        return "", words
    if words[0] in TOPICS:
        return words[0], words[1:]
    if _is_invalid_size(words[0]):
        return "size", words
    _refuse_unknown(words[0])
    return "", words


def _is_invalid_size(word: str) -> bool:
    """Return whether a word is an invalid frame size in a broker's log: its bytes are the start of another protocol."""
    if not (word.isascii() and word.isdecimal() and len(word) in {9, 10}) or exists(word):
        return False
    return int(word) < 1 << 31 and spoken(int(word)) is not None


def _refuse_unknown(word: str) -> None:
    """Raise UsageError for a word that can be neither a topic nor input."""
    name = word.replace("_", "")
    if (
        not (name.isascii() and name.isalpha() and len(name) < MIN_BASE64)
        or all(character in string.hexdigits for character in word)
        or exists(word)
    ):
        return
    hint = did_you_mean(get_close_matches(word.lower(), TOPICS, n=2)) or _suggest_topic(word)
    raise click.UsageError(f"{word!a} is neither a topic, nor a file, nor bytes{hint}\nTopics are {', '.join(TOPICS)}")


def _suggest_topic(word: str) -> str:
    """Return a hint with the topics that explain a name, such as the name of an error or an api."""
    definitions = catalog()
    places = {
        "type": word.lower().replace("_", "-") in TYPES,
        "error": any(row.name == word.upper() for row in definitions.errors),
        "anomaly": word.upper() in MEANING,
        "finding": word.upper() in rules_by_code(),
        "header": any(word.lower() in {api.name.lower(), *map(str.lower, api.aliases)} for api in definitions.apis),
    }
    if hint := did_you_mean([f"kwire explain {topic} {word}" for topic, is_known in places.items() if is_known]):
        return hint
    if not word.lower().endswith(("request", "response", "record", "data", "header", "key", "value")):
        return ""
    return f"; kwire spec show {word} shows a definition, with --specs FILE one of your own"


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
