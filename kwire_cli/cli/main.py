"""The `kwire` command: its subcommands, each a module of its own that is imported when it runs; errors, exit codes."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
import sys
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.command import Group
from kwire_cli.cli.environment import ClosedPipeError, Environment, Exit, UnwritableError
from kwire_cli.errors import KwireError, close_to, did_you_mean
from kwire_cli.spec.kafka import VERSION

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "advise": "Suggest encodings and tags that would save bytes, from real values.",
    "breaking": "Check whether two releases of definitions understand each other.",
    "clients": "List clients, and name those that a newer broker would refuse.",
    "compare": "Compare what the same messages cost in other versions and encodings.",
    "compare-records": "Compare what the same records cost in other formats, batches and codecs.",
    "completion": "Complete commands, options and names in bash, zsh and fish.",
    "decode": "Decode requests, responses and other messages.",
    "diagnose": "Find what is wrong in captures and logs, and what to do.",
    "diff": "Show the differences between two definitions, messages, partitions or captures.",
    "doctor": "Show what is installed, what is missing and how to get it.",
    "dump": "Show log segments and snapshots batch by batch or record by record.",
    "encode": "Encode JSON back to bytes.",
    "errors": "List Kafka's error codes.",
    "explain": "Explain a message, a batch or a rule byte by byte.",
    "export": "Write captures and logs as tables for SQL.",
    "groups": "Show who joins and leaves groups, and why they rebalance.",
    "lint": "Check message definitions against a rule book.",
    "overhead": "Show where the bytes go, by field, kind, api, client or topic.",
    "paper": "Compare a document's figures with those that kwire measures.",
    "query": "Query the tables that `kwire export` wrote, with SQL.",
    "sanitize": "Rewrite a capture or a segment so that it can be shared.",
    "scan": "Query folders of captures and logs of any size, on Spark.",
    "schema": "Print JSON Schemas of the JSON that kwire prints.",
    "sequence": "Draw who sends what to whom as a ladder (sequence diagram).",
    "spec": "Show message definitions.",
    "stats": "Count requests, bytes, latencies and errors, in total or over time.",
    "summary": "Show on one screen what captures and logs hold.",
    "transactions": "Show transactions: begin, partitions, offsets, end, errors.",
    "tui": "Browse a capture or a segment in the terminal.",
    "watch": "Watch live traffic: rates, latencies and errors.",
    "wireshark": "Write a dissector for Wireshark that knows every message.",
}
"""Each command's module in this package has its name, with _ for -; the text is here so that --help imports none."""
SECTIONS = {
    "See what bytes mean": ("decode", "dump", "explain", "tui", "watch", "wireshark"),
    "Ask about traffic and logs": (
        "summary",
        "diagnose",
        "stats",
        "groups",
        "transactions",
        "sequence",
        "overhead",
        "clients",
        "advise",
        "export",
        "query",
        "scan",
    ),
    "Compare and change": ("diff", "compare", "compare-records", "paper", "encode", "sanitize"),
    "Definitions": ("spec", "schema", "errors", "lint", "breaking"),
    "This installation": ("doctor", "completion"),
}
"""Headings of the commands in help, the most common ones first."""
EXAMPLES = (
    ("kwire incident.pcap", "what a capture, a log or pasted bytes hold"),
    ("kwire decode incident.pcap --filter error --pairs", "what failed, with its request"),
    ("kwire dump --verify orders-0", "whether a log is intact"),
)

DEFAULT = "decode"
"""The command for a file or bytes where a command is expected."""
OVERVIEW = "summary"
"""The command for captures, request logs and folders in that place, unless there are options that are about frames."""
READING_OPTIONS = {
    "--port": True,
    "--tls-keylog": True,
    "--capture-point": True,
    "--merge-points": False,
    "--specs": True,
    "--kafka": True,
    "--color": True,
}
"""Options that say how to read inputs and how to print, and whether a value follows. With any other option, inputs in
place of a command are decoded: the option is about frames, or about their format.
"""
LEAST_TEXT = 8
_BYTES = re.compile(
    r"""(?: (?:0x|\\x)? [0-9a-fA-F]{2} [\s:,]* )+    # hex
      | [A-Za-z0-9+/_-]{16,} ={0,2}                    # base64
      | (?: b['"] | \[ | \{ | <Buffer | new\ byte ) .+  # as programs print bytes
    """,
    re.VERBOSE | re.DOTALL,
)
"""Text that may be bytes. A misspelt command is none: it has lower-case letters alone."""
LONGEST_NAME = 200
"""Characters of the name of a file in an error: what is too long to be a name is shown by its beginning."""
OBJECTS = 50_000
"""New objects after which Python looks for circles among them. Hardly anything here stands in one: looking more often
finds nothing.
"""


def _are_input(words: list[str]) -> bool:
    """Return whether the words of a command line begin with an input: a file, `-`, or bytes as text."""
    from kwire_cli.stores import exists  # most command lines begin with a command

    if words[0] == "-" or exists(words[0]):
        return True
    text = " ".join(takewhile(lambda word: not word.startswith("-"), words))
    return len(text) >= LEAST_TEXT and bool(_BYTES.fullmatch(text)) and not (text.isalpha() and text.islower())


def _default_of(words: list[str]) -> str:
    """Return the command for words that begin with an input.

    Standard input is decoded, as frames may come there one by one; so is whatever is no capture, log or folder.
    """
    inputs, rest = [], iter(words)
    for word in rest:
        option, equals, _ = word.partition("=")
        if not word.startswith("-") or word == "-":
            inputs.append(word)
        elif option not in READING_OPTIONS:
            return DEFAULT
        elif READING_OPTIONS[option] and not equals:
            next(rest, None)
    from kwire_cli.source.opening import have_overview  # only where the first word is a file or bytes

    return OVERVIEW if have_overview(inputs) else DEFAULT


class Commands(Group):
    """Subcommands that are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, or of the only one that begins with it."""
        names = [cmd_name] if cmd_name in COMMANDS else [name for name in COMMANDS if name.startswith(cmd_name)]
        if len(names) != 1:
            return None
        module = importlib.import_module(f"kwire_cli.cli.{names[0].replace('-', '_')}")
        command: click.Command = module.command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before the command; without a word it is standard input, if that is a pipe or a file.

        UsageError says where the options of commands stand.
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
        """The command under its whole name, which its usage shows. A file or bytes in its place have a default."""
        if args[0] == help_.name:
            return help_.name, help_, args[1:]
        unknown = self.get_command(ctx, args[0]) is None
        if unknown and _are_input(args):
            name = DEFAULT if ctx.resilient_parsing else _default_of(args)  # decode has the more options to complete
            return name, self.get_command(ctx, name), args
        if unknown and not ctx.resilient_parsing:
            close = [name for name in COMMANDS if name.startswith(args[0])] or close_to(args[0], COMMANDS)
            if close:
                raise click.UsageError(f"there is no command {args[0]!r}{did_you_mean(close)}", ctx)
            raise click.UsageError(f"there is no command and no file {args[0]!r}", ctx)
        _, command, rest = super().resolve_command(ctx, args)
        return command.name if command else None, command, rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return the commands that begin with what was typed, without importing them, and the mark for files."""
        from click.shell_completion import CompletionItem  # start-up counts

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        texts = {**COMMANDS, help_.name or "": help_.get_short_help_str()}
        items = [CompletionItem(name, help=text) for name, text in texts.items() if name.startswith(incomplete)]
        return [CompletionItem(incomplete, type="file"), *items] if incomplete else items

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section."""
        longest = max(map(len, COMMANDS))
        for section, names in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(f"{name:<{longest}}", COMMANDS[name]) for name in names])


@click.group(
    cls=Commands, examples=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(VERSION, prog_name="kwire")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Inspect the Apache Kafka wire protocol: every message, every version, every byte.

    `kwire FILE` summarises a capture, a request log or a folder of logs, and decodes anything else;
    `kwire help COMMAND` is the same as `kwire COMMAND --help`.
    """
    ctx.ensure_object(Environment)


def _complete_words(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the commands that `kwire help` and the words behind it may go on with."""
    command: click.Command | None = cli
    for word in ctx.params["words"]:
        command = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
    items = command.shell_complete(click.Context(command), incomplete) if isinstance(command, click.Group) else []
    return [item for item in items if item.type == "plain" and not item.value.startswith("-")]


@click.command(name="help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...", shell_complete=_complete_words)
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command, such as `kwire help decode`."""
    context = ctx.find_root()
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


def run(arguments: list[str] | None = None, environment: Environment | None = None) -> int:
    """Run a command line and return its exit code; errors go to the environment's standard error."""
    environment = environment or Environment()
    code = _run(arguments, environment)
    try:
        environment.close()
    except UnwritableError as error:
        environment.note(f"kwire: the results cannot be written: {error}")
        return Exit.FAILED
    return code


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
        # click writes --help and --version itself; if the pipe is closed it replaces sys.stdout and exits.
        if isinstance(error, SystemExit) and sys.stdout is stdout:
            raise
        _let_go_of_output()
        return Exit.DONE
    except (UnwritableError, OSError) as error:
        file = getattr(error, "filename", None)  # of an input; the results have none
        name = str(file or "the results cannot be written")
        said = error.strerror if isinstance(error, OSError) else None
        environment.note(f"kwire: {name[:LONGEST_NAME]}{'…' * (len(name) > LONGEST_NAME)}: {said or error}")
        if file is None:
            _let_go_of_output()
        return Exit.FAILED
    return int(result) if isinstance(result, int) else Exit.DONE


def _usage_text(error: click.ClickException) -> str:
    """Return the text of an error of usage, below the usage line of its command if it has one."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    usage = f"{context.get_usage()}\n" if context else ""
    return f"{usage}kwire: {error.format_message()}"


def _let_go_of_output() -> None:
    """Nothing more can be said there, and Python must not try to when it exits."""
    with contextlib.suppress(OSError):
        sys.stdout.close()


class _NoOthers:
    """Finds none of the modules that libraries import if they are there, and kwire needs nothing of.

    Arrow imports pandas before it makes its first array, which takes as long as kwire's own start; numba imports cffi
    to know its functions.
    """

    names = frozenset({"pandas", "cffi"})

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        """As Python's `MetaPathFinder`."""
        if fullname in self.names:
            raise ModuleNotFoundError(fullname, name=fullname)


def main() -> None:
    """The entry point of the installed command."""
    if sys.argv[1:2] in (["export"], ["query"]) and not any(word.startswith("--master") for word in sys.argv):
        sys.meta_path.insert(0, _NoOthers())  # PySpark needs pandas
    gc.freeze()  # what is imported lives to the end: to look for circles in it takes time and finds nothing
    gc.set_threshold(OBJECTS)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts threads for matrices
    code = run()
    gc.freeze()  # Python would look through all objects once more before it exits
    sys.exit(code)
