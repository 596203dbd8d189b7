"""Completion in real shells, as their scripts have it."""

import os
import pty
import select
import shlex
import shutil
import sys
import time

import pytest

from kwire_cli.cli.main import COMMANDS
from kwire_cli.cli.shells import SHELLS, Bash, Zsh, script, split

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
needs_fish = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with the scripts of all shells, and a kwire on the path."""
    program = tmp_path / "bin" / "kwire"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kwire_cli "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "dumb")
    for name in SHELLS:
        (tmp_path / name).write_text(script(name))
    return tmp_path


def on_screen(said):
    """A line as a terminal shows it: without bells, and written over where the cursor went back."""
    shown, at = [], 0
    for character in said.replace("\a", ""):
        if character == "\b":
            at -= 1
        else:
            shown[at : at + 1] = [character]
            at += 1
    return "".join(shown)


class Interactive:
    """A shell on a terminal of its own."""

    def __init__(self, *command):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvp(command[0], command)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def until(self, wanted, seconds=20):
        """Return what the shell shows until it shows `wanted`, or until the time is over."""
        said, end = "", time.monotonic() + seconds
        while wanted not in (shown := on_screen(said)) and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                said += os.read(self.terminal, 65536).decode(errors="replace")
        return shown

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.fixture
def bash(home):
    (home / "rc").write_text(f"PS1='$ '\nbind 'set enable-bracketed-paste off'\nsource {home}/bash\necho ready\n")
    shell = Interactive("bash", "--noprofile", "--rcfile", str(home / "rc"), "-i")
    assert "ready" in shell.until("ready\r\n$ ")
    yield shell
    shell.close()


@needs_bash
@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("kwire diagn", "kwire diagnose "),
        ("kwire decode --filter 'api == Heartb", "kwire decode --filter 'api == Heartbeat' "),
        ("kwire decode --filter='api == Heartb", "kwire decode --filter='api == Heartbeat' "),
        (
            'kwire decode --filter "error == UNKNOWN_TOPIC_O',
            'kwire decode --filter "error == UNKNOWN_TOPIC_OR_PARTITION" ',
        ),
        ("kwire decode --filter clientIn", "kwire decode --filter 'clientInstanceId "),
        ("kwire decode --sort latency:de", "kwire decode --sort latency:desc "),
        ("kwire decode --fields api,latenc", "kwire decode --fields api,latency "),
    ],
)
def test_bash_completes_a_line(bash, typed, line):
    bash.type(f"{typed}\t")
    assert line in bash.until(line)


@needs_bash
def test_bash_keeps_a_quote_open_behind_an_operator(bash):
    bash.type("kwire decode --filter 'frame =\t")
    assert "frame ==" in bash.until("frame ==")
    bash.type(" 1' --sort laten\t")
    assert " 1' --sort latency " in bash.until("--sort latency ")


@needs_fish
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kwire help diagn", ["diagnose"]),
        ("kwire decode --filter 'api == Fe", ["api == Fetch", "api == FetchSnapshot"]),
        ("kwire decode --filter='api == Heartb", ["--filter=api == Heartbeat"]),
        ("kwire decode --fields api,laten", ["api,latency"]),
    ],
)
def test_fish_completes_a_line(home, line, words):
    shell = Interactive("fish", "--no-config", "-c", f"source {home}/fish; complete -C {shlex.quote(line)}; echo end")
    shown = shell.until("\r\nend")
    shell.close()
    assert [row.split("\t")[0] for row in shown.splitlines() if row != "end"] == words


def completed(shell, monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    from kwire_cli.cli.main import cli

    return shell(cli, {}, "kwire", "_KWIRE_COMPLETE").complete().splitlines()


def test_bash_gets_what_stands_behind_its_word(monkeypatch):
    def offered(line, word):
        return completed(Bash, monkeypatch, _KWIRE_LINE=line, _KWIRE_WORD=word)

    assert offered("kwire decode --sort latency:", "") == ["plain,asc", "plain,desc"]
    assert offered("kwire decode --sort=latency:d", "d") == ["plain,desc"]
    assert offered("kwire decode --tls-keylog sam", "sam") == ["file,sam"]
    assert offered("kwire decode --filter ", "")[0] == "plain,frame"
    assert offered("kwire decode --filter correl", "correl")[0] == "plain,'correlationId =="
    assert offered("kwire decode --filter '", "")[0] == "plain,frame"
    assert offered("kwire ", "") == [f"plain,{name}" for name in (*COMMANDS, "help")]


def test_zsh_gets_the_whole_word(monkeypatch):
    words = "kwire decode --filter='api == Heartb"
    assert completed(Zsh, monkeypatch, COMP_WORDS=words, COMP_CWORD="2") == ["plain", "--filter=api == Heartbeat", "_"]
    words = "kwire decode --sort laten"
    assert completed(Zsh, monkeypatch, COMP_WORDS=words, COMP_CWORD="3") == ["plain", "latency", "_"]


@pytest.mark.parametrize(
    ("line", "words", "quote"),
    [
        ("kwire 'a b' c", ["kwire", "a b", "c"], ""),
        ("kwire a ", ["kwire", "a", ""], ""),
        ("kwire 'a b", ["kwire", "a b"], "'"),
        ('kwire "a b ', ["kwire", "a b "], '"'),
        ("kwire '", ["kwire", ""], "'"),
        ("kwire a\\ b", ["kwire", "a b"], ""),
        ("kwire a\\", ["kwire", "a"], ""),
    ],
)
def test_a_line_is_split_as_shells_do(line, words, quote):
    assert split(line) == (words, quote)
