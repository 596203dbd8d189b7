"""Run kwire's command line as a user does, without a process: streams in memory, a terminal or none."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

import pytest

from kwire_cli.cli.environment import Environment
from kwire_cli.cli.main import run

ROOT = Path(__file__).resolve().parent.parent
EVERYWHERE = frozenset(
    {
        "--help",
        "--help-all",
        "--specs",
        "--kafka",
        "--color",
        "-f",
        "--raw-csv",
        "--full",
        "--output",
        "-o",
        "--value",
        "--key",
        "--schemas",
        "--serdes",
        "--redact",
        "--sort",
        "--top",
        "--wide",
    }
)
"""Options that many commands have, which docs/commands.md describes once."""
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
    "NewRequest.json": "../tests/cli/broken.json",
    "samples": ".",
    "specs": "../specs",
}
"""Files that examples in help and on pages name, and the samples that they are."""


def shop(folder):
    """Return a folder in which the files of examples stand under the names that people give theirs."""
    for name, sample in SHOP.items():
        (folder / name).symlink_to(ROOT / "samples" / sample)
    return folder


BLOCK = re.compile(r"```console\n\$ (?P<command>.*?)\n(?P<output>.*?)```\n", re.DOTALL)
"""A command on a page of the documentation, and what it prints."""


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


def seen(line):
    """Return what a person sees of a command line on a terminal of 100 columns without colours."""
    return shell(line, {"TERMINAL": "1", "NO_COLOR": "1", "COLUMNS": "100"})


def shell(line, everywhere=(), sources=()):
    """What a line such as `NO_COLOR=1 TERMINAL=1 kwire decode … | kwire encode` prints: output, notes and the exit code
    of what did not end well.

    TERMINAL=1 makes the last command's output a terminal. No bar of progress is drawn on it, as the speed of the
    machine would decide whether there is one. Control characters are shown escaped. The variables of `everywhere` hold
    for each command. A first command that begins as one of `sources` is not run: the file that goes with that beginning
    is what it printed.
    """
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


def process(command):
    """What a shell prints for a command that ends well, as a process of its own; `kwire` is the one of this Python,
    standard error stays out.
    """
    words = command.replace("kwire ", f"{shlex.quote(sys.executable)} -m kwire_cli ")
    environment = {**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(["sh", "-c", words], cwd=ROOT, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def printed_anew(text, run=shell, only="", other=()):
    """A page's text with what its commands print now, those that begin with `only`, and not those that begin with
    `other`.
    """

    def anew(block):
        command = block["command"]
        return (
            f"```console\n$ {command}\n{run(command)}```\n"
            if f"{command} ".startswith(only) and not command.startswith(other)
            else block[0]
        )

    return BLOCK.sub(anew, text)


def hold_page(file, updating, also=lambda text: text, run=shell, only="", other=()):
    """Hold a page against what its commands print, and what `also` makes of its text, or write that into it; from ROOT,
    where its commands run.
    """
    text = file.read_text("utf-8")
    assert BLOCK.search(text)
    now = also(printed_anew(text, run, only, other))
    if updating:
        file.write_text(now, "utf-8")
    else:
        assert now == text, "\n".join(
            unified_diff(text.splitlines(), now.splitlines(), "page", "printed", n=1, lineterm="")
        )
