"""The `kwire` command: subcommands, help, errors and exit codes.

Each subcommand is a separate module of this package. It is imported when it runs, so that a command loads only its own
dependencies. If the first word is a file or bytes, a default command runs: `summary` or `decode`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
import sys
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.command import Group
from kwire_cli.cli.environment import ClosedPipeError, Environment, Exit, UnwritableError
from kwire_cli.errors import REMARKS, KwireError, close_to, did_you_mean
from kwire_cli.spec.kafka import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

GROUPS = {
    "Bytes": {
        "decode": "requests and responses, field by field",
        "dump": "log segments, batch by batch",
        "explain": "a message, a batch or a rule, byte by byte",
        "encode": "JSON back to bytes",
        "tui": "a capture or a segment on the whole screen",
        "wireshark": "a dissector that knows every message",
    },
    "Traffic and logs": {
        "diagnose": "what is wrong, and what to do",
        "stats": "rates, latencies and errors over time",
        "watch": "rates, latencies and errors of a capture as it grows",
        "groups": "who joins and leaves, and why",
        "transactions": "begin, partitions, offsets, end and errors",
        "sequence": "who sends what to whom, as a diagram",
        "clients": "who speaks to the brokers, and whom a newer broker refuses",
        "report": "all of this as one page for a browser",
    },
    "Costs and changes": {
        "overhead": "where the bytes go, by field, api, client or topic",
        "compare": "costs in other versions and encodings",
        "diff": "versions, messages, logs, captures",
        "breaking": "whether two releases of definitions fit together",
        "lint": "message definitions against a rule book",
        "spec": "message definitions and error codes",
    },
    "Tables and files": {
        "query": "ask in SQL",
        "export": "captures and logs as tables for SQL",
        "sanitize": "a capture or a segment that can be shared",
    },
    "This installation": {
        "doctor": "what is installed, and what is missing",
        "completion": "completion in bash, zsh and fish",
    },
}
"""The commands by group, with their descriptions. The module of a command has the command's name. The descriptions are
here so that --help does not import the modules.
"""
COMMANDS = dict(sorted(chain.from_iterable(group.items() for group in GROUPS.values())))
FIRST = ("decode", "dump", "diagnose", "query", "stats", "groups", "compare", "diff")
"""The commands that --help lists; `kwire help` lists all."""
HELP_TOPICS = ("examples", "input", "output")
"""Topics of `kwire help` in addition to the commands."""
ON_A_FILE = "what a capture, a log or pasted bytes hold, and what is wrong"
HIDDEN = ("summary",)
"""Names of commands that help does not list: `kwire FILE` is `kwire summary FILE`."""
DEFAULT = "decode"
"""The command that runs if the command line begins with a file or bytes."""
OVERVIEW = "summary"
"""The command that runs instead for captures, request logs and folders, unless an option concerns frames."""
READING_OPTIONS = {
    "--port",
    "--tls-keylog",
    "--capture-point",
    "--specs",
}
"""Options for reading inputs, each followed by a value. With any other option, inputs without a command are decoded:
the option concerns frames or their format.
"""
MIN_TEXT = 8
_BYTES = re.compile(
    r"""(?: (?:0x|\\x)? [0-9a-fA-F]{2} [\s:,]* )+    # hex
      | [A-Za-z0-9+/_-]{16,} ={0,2}                    # base64
      | (?: b['"] | \[ | \{ | <Buffer | new\ byte ) .+  # as programs print bytes
    """,
    re.VERBOSE | re.DOTALL,
)
"""Strings that may be bytes. Lower-case letters only are excluded: they are a misspelt command."""
MAX_NAME = 200
"""Maximum length of a file name in an error. Longer names are cut off."""
GC_THRESHOLD = 200_000
"""New objects between two runs of Python's garbage collector. There are almost no reference cycles, so frequent runs
would find nothing.
"""


def _are_input(words: list[str]) -> bool:
    """Return whether the words of a command line begin with an input: a file, `-`, or bytes as text."""
    from kwire_cli.stores.paths import exists  # most command lines begin with a command

    if words[0] == "-" or exists(words[0]):
        return True
    text = " ".join(takewhile(lambda word: not word.startswith("-"), words))
    return len(text) >= MIN_TEXT and bool(_BYTES.fullmatch(text)) and not (text.isalpha() and text.islower())


def _select_default(words: list[str]) -> str:
    """Return the command for words that begin with an input.

    Standard input is decoded, because frames may arrive one by one. Inputs other than captures, logs and folders are
    decoded too.
    """
    inputs = []
    rest = iter(words)
    for word in rest:
        option, equals, _ = word.partition("=")
        if not word.startswith("-") or word == "-":
            inputs.append(word)
        elif option not in READING_OPTIONS:
            return DEFAULT
        elif not equals:
            next(rest, None)
    from kwire_cli.source.opening import have_overview  # only if the first word is a file or bytes

    return OVERVIEW if have_overview(inputs) else DEFAULT


class Commands(Group):
    """Subcommands that are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name, or the only command whose name begins with it."""
        names = [name for name in COMMANDS if name.startswith(cmd_name)]
        if cmd_name in COMMANDS or cmd_name in HIDDEN:
            names = [cmd_name]
        if len(names) != 1:
            return None
        module = importlib.import_module(f"kwire_cli.cli.{names[0].replace('-', '_')}")
        command: click.Command = module.overview if names[0] == OVERVIEW else module.command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options before the command. Without arguments, read standard input if it is a pipe or a file.

        Raises UsageError with the right place of the option if an option of a command precedes the command.
        """
        if not args and not ctx.resilient_parsing and ctx.ensure_object(Environment).has_input:
            args = ["-"]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            if error.possibilities:
                raise click.UsageError(f"no such option {name}{did_you_mean(error.possibilities)}", ctx) from None
            text = f"no option {name} stands before the command: kwire COMMAND {name} …, or kwire FILE {name} …"
            raise click.UsageError(text, ctx) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command with its full name, for the usage line. A file or bytes select the default command."""
        if args[0] == help_.name:
            return help_.name, help_, args[1:]
        unknown = self.get_command(ctx, args[0]) is None
        if unknown and _are_input(args):
            name = DEFAULT if ctx.resilient_parsing else _select_default(args)  # decode has more options
            return name, self.get_command(ctx, name), args
        if unknown and not ctx.resilient_parsing:
            close = [name for name in COMMANDS if name.startswith(args[0])] or close_to(args[0], COMMANDS)
            if close:
                raise click.UsageError(f"there is no command {args[0]!r}{did_you_mean(close)}", ctx)
            raise click.UsageError(f"there is no command and no file {args[0]!r}", ctx)
        _, command, rest = super().resolve_command(ctx, args)
        return command.name if command else None, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return the commands that begin with the typed word, without importing them, and the mark for files."""
        from click.shell_completion import CompletionItem  # start-up counts

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        texts = {**COMMANDS, help_.name or "": help_.get_short_help_str()}
        items = [CompletionItem(name, help=text) for name, text in texts.items() if name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file"), *items] if incomplete else items

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return what may follow `kwire`."""
        return ["FILE | kwire COMMAND [OPTIONS] ..."]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the most used commands, and how to list the others."""
        self.format_usage(ctx, formatter)
        formatter.write(f"\n  kwire FILE  {ON_A_FILE}\n\n")
        half = len(FIRST) // 2
        left = _format_descriptions(FIRST[:half])
        right = _format_descriptions(FIRST[half:])
        lines = [f"{a}  {b}" for a, b in zip(left, right, strict=True)]
        if max(map(len, lines)) + 2 > formatter.width:
            lines = _format_descriptions(FIRST)
        formatter.write("".join(f"  {line.rstrip()}\n" for line in lines))
        formatter.write_paragraph()
        formatter.write_text(
            f"{len(COMMANDS) - len(FIRST)} more: kwire help. Examples: kwire help examples. Options of all commands: "
            "kwire help input, kwire help output."
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all commands by group."""
        longest = max(map(len, COMMANDS))
        for title, texts in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{longest}}", text) for name, text in texts.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, prog_name="kwire")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Inspect the Apache Kafka wire protocol: every message, every version, every byte.

    `kwire FILE` summarises a capture, a request log or a folder of logs, and decodes anything else.
    """
    ctx.ensure_object(Environment)


def _complete_words(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the commands and topics that may follow `kwire help` and the words after it."""
    from click.shell_completion import CompletionItem  # start-up counts

    command: click.Command | None = cli
    for word in ctx.params["words"]:
        command = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
    items = command.shell_complete(click.Context(command), incomplete) if isinstance(command, click.Group) else []
    names = [item for item in items if item.type == "plain" and not item.value.startswith("-")]
    topics = [] if ctx.params["words"] else [topic for topic in HELP_TOPICS if topic.startswith(incomplete)]
    return [*names, *map(CompletionItem, topics)]


@click.command(name="help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...", shell_complete=_complete_words)
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command, of input, output or examples; without a word, all commands."""
    from kwire_cli.cli.help_topics import TOPICS, examples_text, topic_text  # start-up counts

    context = ctx.find_root()
    if not words:
        click.echo(all_commands(context))
        return
    if len(words) == 1 and words[0] in TOPICS:
        click.echo(topic_text(context, words[0]))
        return
    if words == ("examples",):
        click.echo(examples_text(context, (cli.get_command(context, name) for name in (OVERVIEW, *FIRST))))
        return
    for word in words:
        if not isinstance(context.command, click.Group):
            raise click.UsageError(f"{context.info_name} has no command {word!r}", context)
        if context.command.get_command(context, word) is None:
            known = context.command.list_commands(context)
            hint = did_you_mean(close_to(word, known)) or f"; the commands are {', '.join(known)}"
            raise click.UsageError(f"there is no command {word!r}{hint}", context)
        name, command, _ = context.command.resolve_command(context, [word])
        if command is None:
            break
        context = command.make_context(name, [], context, resilient_parsing=True)
    click.echo(context.get_help())


def all_commands(context: click.Context) -> str:
    """Return the help with all commands."""
    formatter = context.make_formatter()
    cli.format_usage(context, formatter)
    cli.format_help_text(context, formatter)
    cli.format_options(context, formatter)
    return formatter.getvalue().rstrip("\n")


def _format_descriptions(names: Sequence[str]) -> list[str]:
    """Return a line for each command: its name and its description, in two aligned columns."""
    name_width = max(map(len, names))
    text_width = max(len(COMMANDS[name]) for name in names)
    return [f"{name:<{name_width}}  {COMMANDS[name]:<{text_width}}" for name in names]


def run(arguments: list[str] | None = None, environment: Environment | None = None) -> int:
    """Run a command line and return its exit code; errors go to the environment's standard error."""
    environment = environment or Environment()
    code = _run(arguments, environment)
    while REMARKS:
        environment.note(f"kwire: {REMARKS.popitem()[0]}")
    try:
        environment.close()
    except UnwritableError as error:
        environment.note(f"kwire: the results cannot be written: {error}")
        return Exit.FAILED
    return Exit.FAILED if environment.has_unread and code in {Exit.DONE, Exit.FOUND} else code


def _run(arguments: list[str] | None, environment: Environment) -> int:
    stdout = sys.stdout
    try:
        result: Any = cli.main(arguments, prog_name="kwire", standalone_mode=False, obj=environment)
        environment.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        environment.note(str(error.__cause__ or error) or "interrupted")
        return Exit.INTERRUPTED
    except click.ClickException as error:
        environment.note(_usage_text(error))
        return Exit.FAILED
    except KwireError as error:
        environment.note(f"kwire: {error}")
        return Exit.FAILED
    except (ClosedPipeError, SystemExit) as error:
        # click writes --help and --version. If the pipe is closed, click replaces sys.stdout and exits.
        if isinstance(error, SystemExit) and sys.stdout is stdout:
            raise
        _close_stdout()
        return Exit.DONE
    except (UnwritableError, OSError) as error:
        file = getattr(error, "filename", None)  # only errors of inputs have a file name
        name = str(file or "the results cannot be written")
        reason = error.strerror if isinstance(error, OSError) else None
        environment.note(f"kwire: {name[:MAX_NAME]}{'…' * (len(name) > MAX_NAME)}: {reason or error}")
        if file is None:
            _close_stdout()
        return Exit.FAILED
    return int(result) if isinstance(result, int) else Exit.DONE


def _usage_text(error: click.ClickException) -> str:
    """Return the message of a usage error, after the usage line of its command if it has one."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    usage = f"{context.get_usage()}\n" if context else ""
    return f"{usage}kwire: {error.format_message()}"


def _close_stdout() -> None:
    """Close standard output after a failed write, so that Python does not flush it at exit."""
    with contextlib.suppress(OSError):
        sys.stdout.close()


class _ImportBlocker:
    """Import finder that hides optional modules of libraries, which kwire does not need.

    Arrow imports pandas before it creates its first array, which takes as long as the start of kwire. Numba imports
    cffi to recognise its functions.
    """

    names = frozenset({"pandas", "cffi"})

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """Implement `MetaPathFinder`: raise ModuleNotFoundError for a hidden module."""
        if fullname in self.names:
            raise ModuleNotFoundError(fullname, name=fullname)


def main() -> None:
    """Run the command line of this process, and exit with its code."""
    if sys.argv[1:2] in (["export"], ["query"]) and not any(word.startswith("--master") for word in sys.argv):
        sys.meta_path.insert(0, _ImportBlocker())  # PySpark needs pandas
    gc.freeze()  # imported modules are never released, so the garbage collector need not examine them
    gc.set_threshold(GC_THRESHOLD)
    gc.enable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # otherwise numpy starts threads for matrices
    code = run()
    gc.freeze()  # otherwise Python examines all objects once more before it exits
    sys.exit(code)
