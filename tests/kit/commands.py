"""kwire run as a user runs it: in this process, in one of its own, or on a pseudo-terminal."""

import contextlib
import fcntl
import io
import json
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import click
import pytest
from hypothesis import settings

from kwire_cli.cli.environment import Environment
from kwire_cli.cli.help_topics import shared
from kwire_cli.cli.main import COMMANDS, cli, run

# Run kwire's command line as a user does, without a process: streams in memory, a terminal or none.

ROOT = Path(__file__).resolve().parents[2]
EVERYWHERE = frozenset({"--help", "--help-all", "--full", *(name for one in shared.settings for name in one.opts)})
"""Options that `kwire help` explains, and docs/commands.md shows once."""
SHOP = {
    "incident.pcap": "incidents/rebalancing.pcap",
    "before.pcapng": "captures/sarama-0.8.2.0-3.9.2.pcapng",
    "after.pcapng": "captures/kafka-python-4.4.0.pcapng",
    "payments.pcap": "incidents/hanging-transaction.pcap",
    "payments-logs": "incidents/hanging-transaction",
    "kafka-request.log": "request-logs/kafka-request.log",
    "kafka-logs": "logs",
    "orders-0": "segments/orders-zstd-0",
    "broken-0": "segments/bitflip-0",
    "replica-0": "segments/garbage-0",
    "__consumer_offsets-0": "segments/__consumer_offsets-0",
    "__cluster_metadata-0": "segments/__cluster_metadata-0",
    "client.log": "text/logs/clients.log",
    "produce.hex": "frames/produce-v13-request.hex",
    "heartbeat.json": "json/heartbeat-v4.json",
    "definitions": "definitions",
    "MetadataResponse.json": "definitions/proposed/plain/MetadataResponse.json",
    "client-zone.json": "definitions/proposed/client-zone.json",
    "NewRequest.json": "../tests/cli/broken.json",
    "samples": ".",
    "specs": "../specs",
    "our-rules": "rules",
}
"""Files that examples in help and on pages name, and the samples that they are."""


def shop(folder):
    """Return a folder in which the files of examples stand under the names that people give theirs."""
    for name, sample in SHOP.items():
        (folder / name).symlink_to(ROOT / "samples" / sample)
    return folder


BLOCK = re.compile(r"^\$ (?P<command>.*)\n(?P<output>(?:(?!\$ |```).*\n)*)", re.MULTILINE)
"""A command on a page of the documentation, and what it prints up to the next command or the end of the block."""
LOOP = re.compile(r"for (\w+) in (.*?); do (.*); done")


class Terminal(io.BytesIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@dataclass(frozen=True)
class Done:
    code: int
    raw: bytes
    err: str

    @property
    def out(self):
        return self.raw.decode()


def kwire(*arguments, stdin=b"", terminal=False, variables=None):
    """One command; without `stdin` (None) standard input is a terminal."""
    streams = {
        "stdin": Terminal() if stdin is None else io.BytesIO(stdin),
        "stdout": Terminal() if terminal else io.BytesIO(),
        "stderr": Terminal() if terminal else io.BytesIO(),
    }
    with contextlib.redirect_stdout(io.StringIO()) as said:  # click writes --help and --version there
        code = run([str(argument) for argument in arguments], Environment(**streams, variables=variables or {}))
    return Done(
        int(code), streams["stdout"].getvalue() + said.getvalue().encode(), streams["stderr"].getvalue().decode()
    )


def each_command():
    """Yield each command, and those of groups, with the words that a user types."""
    context = click.Context(cli, info_name="kwire")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        yield name, command
        for inner, child in getattr(command, "commands", {}).items():
            yield f"{name} {inner}", child


def json_of(*words, **streams):
    """Return the JSON document that a command prints."""
    done = kwire(*words, "--format", "json", **streams)
    assert done.code in {0, 1}, done.err
    return json.loads(done.out)


def lines_of(*words, **streams):
    """Return the JSON documents that a command prints, one a line."""
    done = kwire(*words, "--format", "jsonl", **streams)
    assert done.code in {0, 1}, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def refusal_of(*words, **streams):
    """Return what a command that refuses its words or its input writes to standard error."""
    done = kwire(*words, **streams)
    assert (done.code, done.raw) == (2, b"")
    return done.err


def seen(line):
    """Return what a person sees of a command line on a terminal of 100 columns without colours."""
    return shell(line, {"TERMINAL": "1", "NO_COLOR": "1", "COLUMNS": "100"})


def shell(line, everywhere=(), sources=()):
    """What a line such as `NO_COLOR=1 TERMINAL=1 kwire decode … | kwire encode` prints: output, notes and the exit code
    of what did not end well.

    TERMINAL=1 makes the last command's output a terminal. No bar of progress is drawn on it, as the speed of the
    machine would decide whether there is one. Control characters are shown escaped. The variables of `everywhere` hold
    for each command. A first command that begins as one of `sources` is not run: the file that goes with that beginning
    is what it printed. A loop `for N in 1 2; do …; done` prints what its commands print.
    """
    if loop := LOOP.fullmatch(line):
        words = [shlex.quote(word) for word in shlex.split(loop[2])]
        return "".join(shell(loop[3].replace(f"${loop[1]}", word), everywhere, sources) for word in words)
    shown, data = [], b""
    commands = [shlex.split(part) for part in line.split(" | ")]
    for beginning, path in dict(sources).items():
        if line.startswith(beginning):
            data = (ROOT / path).read_bytes()
            del commands[0]
    for number, words in enumerate(commands):
        variables = dict(everywhere) | dict(word.split("=", 1) for word in words[: words.index("kwire")])
        terminal = number == len(commands) - 1 and bool(variables.pop("TERMINAL", ""))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("kwire_cli.cli.progress.AFTER", 3600)
            done = kwire(*words[words.index("kwire") + 1 :], stdin=data, terminal=terminal, variables=variables)
        data = done.raw
        notes = [f"[stderr] {note}" for note in done.err.splitlines()] + ([f"[exit {done.code}]"] if done.code else [])
        if number == len(commands) - 1:
            shown += data.decode("utf-8", "backslashreplace").replace("\x1b", "\\e").splitlines()
        shown += notes
    return "".join(f"{text}\n" for text in shown)


def run_process(*words, **options):
    """Run kwire as a process of its own, in ROOT; what it prints is returned unless `options` lead it elsewhere."""
    common = {"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run([sys.executable, "-m", "kwire_cli", *words], check=False, **(common | options))


def printed_anew(text, run=shell, only=""):
    """A page's text with what its commands print now: those that begin with `only`."""

    def anew(block):
        command = block["command"]
        return f"$ {command}\n{run(command)}" if f"{command} ".startswith(only) else block[0]

    return BLOCK.sub(anew, text)


def hold_page(file, updating, also=lambda text: text, run=shell, only=""):
    """Hold a page against what its commands print, and what `also` makes of its text, or write that into it; from ROOT,
    where its commands run.
    """
    text = file.read_text("utf-8")
    assert BLOCK.search(text)
    now = also(printed_anew(text, run, only))
    if updating:
        file.write_text(now, "utf-8")
    else:
        assert now == text, "\n".join(
            unified_diff(text.splitlines(), now.splitlines(), "page", "printed", n=1, lineterm="")
        )


def hold_table(file, name, rows, updating):
    """Hold the table between two marks of a page against its rows, or write the rows there."""
    text = file.read_text("utf-8")
    before, found, after = re.split(rf"(?<=<!-- {name} -->\n)|(?=<!-- /{name} -->)", text)
    table = "".join(f"{row}\n" for row in rows)
    if updating:
        file.write_text(f"{before}{table}{after}", "utf-8")
    else:
        assert found == table, f"{file.name} is not up to date: run this test with pytest -n 0 --update"


# Run kwire's command line as a process whose terminal is a pseudo-terminal.

LONGEST = 60
"""Seconds until a process that does not end is an error."""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    """All that came to the terminal, results and remarks."""


def on_terminal(*arguments, keys=(), rows=24, columns=100, variables=None, piped=None):
    """Run one command. `keys` are pairs: a text to wait for on the terminal, and what is typed then. `piped` are the
    bytes of a pipe on standard input.
    """
    size = struct.pack("HHHH", rows, columns, 0, 0)
    settings = {name: value for name, value in os.environ.items() if name not in {"PAGER", "KWIRE_PAGER", "LESS"}}
    settings |= {"TERM": "xterm", "NO_COLOR": "1", **(variables or {})}
    ends = os.pipe() if piped is not None else None
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        if ends is not None:
            os.dup2(ends[0], 0)
        os.execve(sys.executable, [sys.executable, "-m", "kwire_cli", *map(str, arguments)], settings)
    if ends is not None:
        os.close(ends[0])
        os.write(ends[1], piped)
        os.close(ends[1])
    out, typed, until = b"", list(keys), time.monotonic() + LONGEST
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 0.05)[0]:
            if typed and typed[0][0] in out.decode("utf-8", "replace"):
                os.write(terminal, typed.pop(0)[1])
            continue
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # all processes have closed it
            break
        if not data:
            break
        out += data
    else:
        os.kill(process, 9)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return Ended(os.waitstatus_to_exitcode(status), out.decode("utf-8", "replace").replace("\r\n", "\n"))


# The number of examples that a property is tested with.

WHOLE = 60
"""Examples of a property that says nothing of them, in `make check`."""
FEWEST = 8


def examples(count, **others):
    """Test a property with `count` examples in `make check`, and with a sixth of them in `make test`, but with no
    fewer than 8 of them if there are so many.
    """
    quick = settings().max_examples
    return settings(max_examples=max(count * quick // WHOLE, min(count, FEWEST)), **others)


def slow(*values):
    """Return values of a parametrised test that only `make check` takes."""
    return pytest.param(*values, marks=pytest.mark.slow)


# What no view shows as it is, in UTF-8: controls, line separators, zero-width characters, tags, and characters that
# turn the direction of text.

ACTS = re.compile(
    rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xa"
    rb"f]|\xef\xbb\xbf|\xf3\xa0[\x80\x81][\x80-\xbf]"
)
