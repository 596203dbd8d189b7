"""No line of a command is longer than the terminal: in process with a pseudo-terminal as output, and some by real
processes.
"""

import fcntl
import io
import os
import pty
import struct
import termios
import threading

import pytest
from kit.commands import ROOT, json_of, on_terminal
from rich.cells import cell_len

from kwire_cli.cli.environment import Environment
from kwire_cli.cli.main import run

WIDTH = 60
SARAMA = "samples/captures/sarama-0.8.2.0-3.9.2.pcapng"
PYTHON = "samples/captures/kafka-python-4.4.0.pcapng"
REBALANCING = "samples/incidents/rebalancing.pcap"
TRANSACTION = "samples/incidents/hanging-transaction.pcap"
LOG = "samples/request-logs/kafka-request.log"
SEGMENT = "samples/segments/txn-out-0/00000000000000000000.log"
COMMANDS = [
    ("decode", "--format", "table", SARAMA),
    ("decode", "--format", "table", LOG),
    ("decode", "--format", "tree", SARAMA),
    ("decode", "--format", "hex", PYTHON),
    ("summary", REBALANCING),
    ("summary", "samples/logs"),
    ("sequence", REBALANCING),
    ("diagnose", "samples/incidents/permissions.pcap"),
    ("groups", REBALANCING),
    ("transactions", TRANSACTION),
    ("stats", SARAMA),
    ("dump", "--format", "table", "--deep", SEGMENT),
    ("dump", "--format", "tree", "--deep", "samples/segments/__cluster_metadata-0"),
    ("dump", "--format", "hex", "samples/segments/v0-kp-snappy-0"),
    ("dump", "--all", "--format", "table", "samples/logs/txn-out-1"),
    ("dump", "--state", "samples/segments/__consumer_offsets-0"),
    ("dump", "--verify", "samples/segments/bitflip-0"),
    ("overhead", PYTHON),
    ("clients", SARAMA),
    ("compare", "--advise", PYTHON),
    ("compare", SARAMA),
    ("diff", "samples/definitions/before", "samples/definitions/after"),
    ("explain", "samples/frames/metadata-v0-request.hex"),
    ("spec", "list"),
    ("spec", "show", "MetadataResponse"),
    ("spec", "errors"),
    ("lint", "tests/cli/broken.json"),
    ("breaking", "samples/definitions/before", "samples/definitions/after"),
    ("doctor",),
]
"""Each command that writes for people; that any table fits any width is proved in tests/view/test_widths.py."""


def screen(arguments, columns):
    """Return what a command writes to a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    attributes = termios.tcgetattr(theirs)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, attributes)
    out = bytearray()

    def read():
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:
                return
            if not data:
                return
            out.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    errors = io.BytesIO()
    variables = {"TERM": "xterm", "NO_COLOR": "1", "KWIRE_PAGER": "", "COLUMNS": str(columns)}
    with os.fdopen(theirs, "wb") as terminal:
        code = run(list(arguments), Environment(io.BytesIO(), terminal, errors, variables))
        terminal.flush()
    reader.join()
    os.close(ours)
    assert code in {0, 1}, errors.getvalue().decode()
    return out.decode().splitlines()


@pytest.mark.usefixtures("few_rules")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_line_is_longer_than_the_terminal(command, monkeypatch):
    monkeypatch.chdir(ROOT)
    lines = screen(command, WIDTH)
    assert lines
    assert [line for line in lines if cell_len(line) > WIDTH] == []


@pytest.mark.parametrize("path", [TRANSACTION, LOG])
def test_names_of_errors_are_in_one_piece_on_80_columns(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    tables = json_of("stats", path)["tables"]
    words = {word.strip(",") for line in screen(("stats", path), 80) for word in line.split()}
    names = {name for rows in tables.values() for row in rows for name in row["errors"]}
    assert len(names) > 2
    assert names <= words


def headings(*arguments, columns):
    return screen(arguments, columns)[0].split()


def test_frames_have_the_columns_that_matter_at_each_width(monkeypatch):
    monkeypatch.chdir(ROOT)
    table = ("decode", "--format", "table", SARAMA)
    assert headings(*table, columns=60) == ["frame", "time", "api", "latency", "ms", "error"]
    assert headings(*table, columns=80) == ["frame", "time", "api", "latency", "ms", "error"]
    at_100 = ["frame", "time", "api", "client", "size", "B", "latency", "ms", "error"]
    assert headings(*table, columns=100) == at_100
    assert {"topics", "src", "dst"} <= {*headings(*table, columns=160)}
    assert {"corr", "stream"} <= {*headings(*table, columns=160)}
    wide = headings("decode", "-f", "wide", SARAMA, columns=60)
    assert wide == headings(*table, columns=200)
    assert any(line.endswith("  UNKNOWN_TOPIC_OR_PARTITION") for line in screen(table, 80))
    assert any("j010-lz4, +21" in line for line in screen(table, 160))


def test_columns_without_a_value_go(monkeypatch):
    monkeypatch.chdir(ROOT)
    table = ("decode", "--format", "table", "--frames", "1-4", SARAMA)
    assert "error" not in headings(*table, columns=200)
    assert "error" in headings("decode", "-f", "wide", "--frames", "1-4", SARAMA, columns=200)


@pytest.mark.parametrize("columns", [60, 100])
def test_the_size_of_a_real_terminal_counts(columns, monkeypatch):
    monkeypatch.chdir(ROOT)
    ended = on_terminal("decode", "--format", "table", SARAMA, rows=60, columns=columns, variables={"KWIRE_PAGER": ""})
    lines = ended.out.splitlines()
    assert ended.code == 0
    assert max(map(cell_len, lines)) <= columns
    assert ("client" in lines[0]) == (columns == 100)


def test_the_meaning_of_bytes_stands_beside_them(monkeypatch):
    monkeypatch.chdir(ROOT)
    lines = screen(("decode", "--format", "hex", "samples/frames/fetch-v18-response.hex"), 100)
    assert "0000000d  00 00                    ..        errorCode = 0 NONE" in lines
    lines = screen(("decode", "--format", "hex", "samples/frames/fetch-v18-response.hex"), 60)
    at = lines.index("00000018  50 7b 4c 83  P{L.    Wg6nBlB7TIOaMoA5IIT1cA")
    assert lines[at - 1] == "00000014  5a 0e a7 06  Z...  responses[0].topicId ="
