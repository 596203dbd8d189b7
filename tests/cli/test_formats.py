"""No format of a command prints another one's output: each is what its name says, or is refused with the names of those
that there are.
"""

import csv
import io
import json
import re
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kit.commands import kwire, refusal_of, slow

from kwire_cli.cli.main import COMMANDS, cli

CAPTURE, LOGS, FRAME = "samples/captures/midstream.pcap", "samples/logs", "samples/frames/metadata-v13-response.hex"
SEGMENT = "samples/logs/txn-out-1/00000000000000000000.log"
METADATA = (FRAME, "--api", "Metadata", "--message-version", "13")
REPORTS = [
    ("breaking", "--level", "advice", "samples/definitions/before", "samples/definitions/after"),
    ("clients", CAPTURE),
    ("compare", SEGMENT),
    ("decode", CAPTURE),
    ("decode", "--pairs", CAPTURE),
    ("decode", *METADATA),
    ("decode", SEGMENT),
    ("decode", "--message", "MetadataRequest", "--message-version", "0", "00000000"),
    ("diagnose", "samples/logs/txn-out-1"),
    ("diff", "MetadataResponse", "9", "12"),
    ("doctor",),
    ("dump", "--deep", SEGMENT),
    ("dump", "--state", LOGS),
    ("dump", "--verify", "DAMAGED"),
    ("explain", *METADATA),
    ("groups", "samples/captures/kafka-python-4.4.0.pcapng"),
    ("lint", "samples/json/heartbeat-v4.json"),
    ("overhead", CAPTURE),
    ("sequence", "--filter", "frame <= 6", CAPTURE),
    ("spec", "list"),
    ("spec", "show", "MetadataRequest"),
    ("stats", CAPTURE),
    ("summary", LOGS),
    ("transactions", "samples/incidents/hanging-transaction"),
]
"""Each command once, and what of it is written by other functions."""
ANSWERS = {"clients", "compare", "diagnose", "doctor", "groups", "overhead", "summary", "transactions"}
"""Commands whose answers are written by the functions that write those of stats."""


FOR_EYES = ("tree", "hex", "table", "wide", "text")
TYPED = {"parquet": b"PAR1", "arrow": b"ARROW1"}
BINARY = TYPED | {"pcap": b"\x4d\x3c\xb2\xa1", "pcapng": b"\n\r\r\n"}


def formats_of(words):
    command, context = cli, click.Context(cli)
    while isinstance(command, click.Group) and (found := command.get_command(context, words[0])):
        command, words = found, words[1:]
    types = [option.type for option in command.params if option.name == "fmt"]
    return [each for kind in types if isinstance(kind, click.Choice) for each in kind.choices]


def test_every_command_that_has_formats_is_here():
    with_formats = {
        name
        for name in COMMANDS
        if not isinstance(cli.get_command(click.Context(cli), name), click.Group) and formats_of((name,))
    }
    assert with_formats - {words[0] for words in REPORTS} == {
        "encode",  # bytes
        *("export", "query"),  # tables in a folder
    }


def damaged(folder):
    """Return a log directory with one segment whose batch has a wrong checksum."""
    (folder / "orders-0").mkdir()
    data = bytearray(Path(SEGMENT).read_bytes())
    data[70] ^= 1
    (folder / "orders-0" / Path(SEGMENT).name).write_bytes(data)
    return folder


def is_json(text):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        _, at = decoder.raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
    return True


def is_csv(text):
    rows = [*csv.reader(io.StringIO(text, newline=""), strict=True)]
    return (
        all(re.fullmatch(r"[A-Za-z][\w. ]*", name) for name in rows[0])
        and len(rows[0]) > 1
        and {len(row) for row in rows} == {len(rows[0])}
    )


CHECKS = {
    "json": is_json,
    "jsonl": lambda text: all(isinstance(json.loads(line), dict) for line in text.splitlines()),
    "csv": is_csv,
    "html": lambda text: text.startswith("<!doctype html>") and text.rstrip().endswith("</html>"),
    "github": lambda text: all(line.startswith("::") for line in text.splitlines()),
}


@pytest.mark.parametrize("words", [slow(words) if words[0] in ANSWERS else words for words in REPORTS], ids=" ".join)
def test_a_format_is_what_its_name_says_or_is_refused(words, tmp_path):
    given = [damaged(tmp_path) if word == "DAMAGED" else word for word in words]
    shown = {}
    for fmt in formats_of(words):
        done = kwire(*given, "--format", fmt)
        if done.code == 2:
            assert not done.raw, (fmt, done.err)
            assert any(words in done.err for words in ("not ", " is for ", "has no chart")), (fmt, done.err)
            continue
        assert done.code in {0, 1}, (fmt, done.err)
        assert done.raw.strip(), fmt
        if fmt in BINARY:
            assert done.raw.startswith(BINARY[fmt]), fmt
            continue
        shown[fmt] = done.out
    assert shown
    for fmt, text in shown.items():
        if fmt in CHECKS:
            assert CHECKS[fmt](text), (fmt, text[:400])
        others = {name for name, other in shown.items() if name != fmt and other == text}
        assert not others - (
            {"tree", "table", "wide", "text"} if fmt in FOR_EYES else {"json"} if fmt == "jsonl" else {"jsonl"}
        ), (fmt, others)


@pytest.mark.parametrize("form", TYPED)
@pytest.mark.parametrize("words", [("stats", CAPTURE), ("spec", "list")], ids=" ".join)
def test_files_with_types_have_the_columns_of_csv(words, form, tmp_path):
    file = tmp_path / f"rows.{form}"
    done = kwire(*words, "-o", file)
    assert (done.code, done.raw) == (0, b"")
    table = table_of(file)
    rows = kwire(*words, "--format", "csv").out.splitlines()
    assert table.column_names == next(csv.reader(rows[:1]))
    assert table.num_rows == len([*csv.reader(rows)]) - 1


def table_of(file):
    return pq.read_table(file) if file.suffix == ".parquet" else pa.ipc.open_file(file).read_all()


@pytest.mark.parametrize("form", TYPED)
def test_files_with_types_are_not_for_a_terminal(form):
    done = kwire("stats", CAPTURE, "--format", form, terminal=True)
    assert done.code == 2
    assert f"write it to a file with -o report.{form}" in done.err


@pytest.mark.parametrize("words", [("decode", CAPTURE), ("dump", SEGMENT)])
def test_frames_and_batches_have_no_files_with_types(words):
    assert "no format has the suffix .parquet" in refusal_of(*words, "-o", "rows.parquet")
