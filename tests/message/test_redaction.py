"""No command shows a secret in any format, whole or damaged; neither do the terminal interface and the library."""

import base64
import json
import re
from itertools import product

import click
import pytest
from kit import logs
from kit.captures import capture_of_all
from kit.commands import kwire, slow
from kit.secrets import (
    CATALOG,
    ENTRIES,
    NEWEST,
    SECRET,
    body_of,
    capture,
    conversation,
    damages,
    numbers,
    piped,
    shows,
    sized,
    text_of,
)
from kit.traffic import Wire

import kwire_cli
from kwire_cli.cli.main import COMMANDS, HIDDEN, cli
from kwire_cli.cli.tui import Options, opened_file
from kwire_cli.message.roles import redacted_value

FRAMES = [row for row in NEWEST if row[0].endswith(("Request", "Response"))]
ONE = ("SaslAuthenticateRequest", "authBytes", 2)

LOSSLESS = ["decode", "--lossless"]
CALLS = {
    "decode": [
        ["decode", "--full"],
        LOSSLESS,
        ["decode", "--pairs"],
        ["decode", "--fields", "header,body"],
    ],
    "explain": [["explain", "--all"]],
    "overhead": [["overhead", "--by", by] for by in ("field", "client", "topic")],
    "clients": [["clients"]],
    "diagnose": [["diagnose"]],
    "groups": [["groups"]],
    "sequence": [["sequence"]],
    "stats": [["stats"], ["stats", "--every", "1s"]],
    "summary": [["summary"]],
    "transactions": [["transactions"]],
    "compare": [["compare", "--versions", "all"], ["compare", "--advise"]],
    "diff": [["diff", "--full"]],
}
"""Commands that read frames, and ways to call them with a file of frames; those that don't are below. A new command
joins one of the two."""
READERS = {"decode", "explain"}
"""Commands that show frames and the bytes around them; the others count or compare what frames say."""
DRAWING = {"diff", "sequence"}
"""Commands that draw some frames and not all; the rest counts and judges."""
JUDGING = {"diagnose", "summary"}
"""Commands that say less of a connection beside others, and take half a second: they meet a connection alone, in one
format.
"""
AT_ONCE = 45
"""Damaged connections of a file that is counted: each is in the answer."""
PARTIAL = {"html", "markdown"}
"""Formats of decode that do not name every frame: those of statistics."""
OTHERS = {
    "breaking": "definitions",
    "completion": "scripts of shells",
    "doctor": "what is installed",
    "dump": "tests/cli/test_dump.py",
    "encode": "test_errors_of_given_values_have_no_secret",
    "export": "tests/lake/test_secrets.py",
    "lint": "definitions",
    "query": "the tables of export",
    "report": "the page of all questions",
    "sanitize": "tests/sanitize",
    "spec": "definitions",
    "tui": "test_the_terminal_interface_shows_no_secret",
    "watch": "counts, and names of clients, topics and groups",
    "wireshark": "definitions; tests/view/wireshark",
}


CLIPPED = re.compile(r"<redacted ([1-9]\d* bytes>|[^>\n]*…)")
"""The one form in which a hidden value reads, and a cell that is too narrow for it. A hidden value has a size: 0 bytes
hide nothing."""


def formats(command):
    group = click.Context(cli)
    choices = [each.type.choices for each in cli.get_command(group, command).params if "--format" in each.opts]
    # Copies of packets are for captures, and hide nothing.
    return [name for name in choices[0] if name not in {"pcap", "pcapng"}] if choices else [None]


def some(things, first, step):
    """Every so many-th of these, beginning with another one each time; at least one."""
    return things[first % step :: step] or things[:1]


def test_every_command_is_called_or_named():
    assert {*CALLS} | {*OTHERS} == {*COMMANDS, *HIDDEN}


def unescaped(text):
    """Return text of a page or of JSON in a page as it is read."""
    for escaped, char in (("\\u003c", "<"), ("\\u003e", ">"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(escaped, char)
    return text


def printed(path, calls, fmt):
    for words in calls:
        sources = {"explain": [f"{path}@3"], "diff": [f"{path}@3", f"{path}@3"]}.get(words[0], [path])
        done = kwire(*words, *([] if fmt is None else ["--format", fmt]), *sources)
        assert "No such option" not in done.err, words
        text = unescaped(text_of(done) + done.err)
        assert "<redacted" not in CLIPPED.sub("", text), (words, fmt)
        yield words, text


def said_of(row, **options):
    """Return the frames before a frame with a secret, the frame with its side, and the frames behind it."""
    message, path, version = row
    return conversation(message, version, body_of(message, path, version), **options)


def spoken(row):
    before, frame, after = said_of(row)
    return [*before, frame, *after]


@pytest.mark.slow
def test_decode_shows_no_secret_in_any_format(tmp_path):
    """Each message in each format. decode shows all frames of a file, so all messages are in one; only --lossless ends
    before a value that is hidden.
    """
    path = tmp_path / "secret.pcap"
    path.write_bytes(capture_of_all([spoken(row) for row in FRAMES]))
    for fmt in formats("decode"):
        for words, text in printed(path, [words for words in CALLS["decode"] if words != LOSSLESS], fmt):
            assert not shows(text), (fmt, words)
            if "--full" in words and fmt not in PARTIAL:
                assert all(re.sub("Request|Response", "", message) in text for message, _, _ in FRAMES), fmt


@pytest.mark.slow
@pytest.mark.parametrize("command", CALLS)
def test_no_command_shows_a_secret_in_any_format(command, tmp_path):
    """The commands in READERS show each message in every second format, of decode those that the test above does not
    have, and those that draw frames show each in every eighth one. What counts and judges gets all messages in one
    file: formats are written from an answer, by the same functions whatever was asked, so that each but `stats` meets a
    fourth.
    """
    path = tmp_path / "secret.pcap"
    calls, possible = ([LOSSLESS], ["json", "jsonl"]) if command == "decode" else (CALLS[command], formats(command))
    captures = [capture(spoken(row)) for row in FRAMES]
    if command not in READERS | DRAWING:
        captures = [capture_of_all([spoken(row) for row in FRAMES])]
    step = 8 if command in DRAWING else 2 if command in READERS else 1 if command == "stats" else 4
    for number, data in enumerate(captures, [*CALLS].index(command)):
        path.write_bytes(data)
        for fmt in some(possible, number, step):
            for words, text in printed(path, calls, fmt):
                assert not shows(text), (number, fmt, words)


@pytest.mark.slow
@pytest.mark.parametrize("command", CALLS)
def test_no_command_shows_a_secret_that_is_misaligned(command, tmp_path):
    """The commands in READERS meet each damage, in every tenth pair of a call and a format: all pairs come in turn.
    Those that draw frames find them in the same way, and meet every sixth damage; those that judge, every twelfth. What
    counts meets each, in files of AT_ONCE connections.
    """
    path = tmp_path / "secret.pcap"
    before, (side, frame), after = said_of(ONE)
    damaged = [(how, [*before, (side, data), *after]) for how, data in damages(frame) if "cut" not in how]
    if command in DRAWING | JUDGING:
        damaged = some(damaged, [*CALLS].index(command), 6 if command in DRAWING else 12)
    pairs = [*product(CALLS[command], formats(command))]
    size = 1 if command in READERS | DRAWING | JUDGING else AT_ONCE
    step = 9 if command in JUDGING else 10 if command in READERS else 3
    for at, some_of_them in enumerate(damaged[first : first + size] for first in range(0, len(damaged), size)):
        path.write_bytes(capture_of_all([said for _, said in some_of_them]))
        for call, fmt in some(pairs, at, step):
            for words, text in printed(path, [call], fmt):
                assert not shows(text), ([how for how, _ in some_of_them], fmt, words)


SAID = [
    ["--kind", "request"],
    ["--kind", "request", "--framed"],
    ["--kind", "response"],
    ["--framed"],
    ["--kind", "request", "--api", "Fetch"],
]
"""What is said of bytes that are none of it."""


def test_the_head_of_a_frame_that_is_not_understood_is_absent():
    data = SECRET.encode().hex()
    [hidden] = [
        json.loads(line)
        for line in piped("decode", "-f", "jsonl", "--kind", "request", "--unframed", data).out.splitlines()
    ]
    assert [hidden["kind"], hidden["apiKey"], hidden["api"], hidden["apiVersion"]] == ["request", None, None, None]
    assert hidden["anomalies"][0]["code"] == "UNKNOWN_API"
    [whole] = [
        json.loads(line)
        for line in kwire(
            "decode", "-f", "jsonl", "--kind", "request", "--unframed", "--show-secrets", data
        ).out.splitlines()
    ]
    assert [whole["apiKey"], whole["apiVersion"]] == [0x5A71, 0x3723]


CLIENT_IDS = [b"c", None, b"", b"adminclient-1"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "row"), [*enumerate(FRAMES)], ids=str)
def test_damaged_framing_shows_no_secret(number, row):
    """Every seventh damage of every message, beginning with another one for each, with one of the client ids, in one of
    the five ways to read it, and alone in one of the views and one of the ways to say what it is. Alone, no number is
    made of bytes of the secret either: api key, version, sizes, counts, correlation ids.
    """
    said = [said_of(row, client_id=client_id) for client_id in CLIENT_IDS]
    each = zip(*(damages(frame) for _, (_, frame), _ in said), strict=False)
    for at, damaged in [*enumerate(each, number)][number % 7 :: 7]:
        before, (side, _), after = said[at % len(said)]
        how, data = damaged[at % len(said)]
        alone = data.hex().encode()
        whole = capture([*before, (side, data), *after])
        middle = capture([(side, data), *after], opened=False)
        pieces = capture([(side, data)], piece=7)
        ways = [("hex", whole), ("hex", middle), ("hex", pieces), ("hex", alone), ("jsonl", whole)]
        fmt, source = ways[at % 5]
        done = kwire("decode", "-f", fmt, *(["--full"] if fmt == "hex" else []), "-", stdin=source)
        assert not shows(done.out + done.err), (how, fmt)
        words = ["-f", ("jsonl", "tree", "hex")[at // 4 % 3], "--full", *SAID[at % len(SAID)]]
        done = kwire("decode", *words, "-", stdin=alone)
        assert not numbers(done.out + done.err), (how, words)
        assert not shows(done.out + done.err), (how, words)


def test_a_frame_that_is_said_to_be_a_request_shows_no_secret():
    """Whatever was damaged: the first bytes of a secret may stand where a header has its numbers. Each message meets
    every fourth damage.
    """
    for number, row in enumerate(FRAMES):
        _, (_, frame), _ = said_of(row, client_id=b"c")
        for how, data in [*damages(frame)][number % 4 :: 4]:
            done = kwire("decode", "-f", "jsonl", "--kind", "request", "--framed", "-", stdin=data.hex().encode())
            assert not numbers(done.out + done.err), (row, how)


def test_what_is_well_understood_stays_readable():
    for row in FRAMES:
        data = capture(spoken(row))
        lines = [json.loads(line) for line in kwire("decode", "-f", "jsonl", "-", stdin=data).out.splitlines()]
        assert "gap" not in {line["kind"] for line in lines}
        assert kwire("decode", "-f", "jsonl", "--show-secrets", "-", stdin=data).code == 0


@pytest.mark.parametrize(("message", "path", "version"), FRAMES, ids=str)
def test_the_terminal_interface_shows_no_secret(message, path, version, tmp_path):
    before, (side, frame), after = conversation(message, version, body_of(message, path, version))
    for part in (frame, frame[1:]):
        file = tmp_path / "frames.pcap"
        file.write_bytes(capture([*before, (side, part), *after]))
        listing = opened_file(Options(), str(file)).listing
        for _ in listing.read():
            pass
        for number in range(len(listing)):
            look = listing.look(number, full=True)
            rows = [(row.name, row.line, row.json_path) for row in look.rows]
            assert not shows(repr([listing.cells(number), look.title]))
            assert not shows(repr([rows, look.buffers, look.document()]))
            assert not any(SECRET.encode() in buffer.data for buffer in look.buffers)
        listing.close()


@pytest.mark.parametrize(("message", "path", "version"), ENTRIES, ids=str)
def test_the_library_redacts_unless_told(message, path, version):
    body = body_of(message, path, version)
    found = kwire_cli.decode(body, message=message, version=version)
    assert not shows(json.dumps(found.to_json()) + repr(found))
    assert shows(json.dumps(found.value))
    assert shows(json.dumps(kwire_cli.decode(body, message=message, version=version, show_secrets=True).to_json()))
    with pytest.raises(kwire_cli.EncodeError, match="redacted"):
        kwire_cli.encode(found.to_json(), message=message, version=version)


def test_frames_of_the_library_redact_unless_told():
    for row in FRAMES:
        _, (_, frame), _ = said_of(row)
        for source in (capture(spoken(row)), frame):
            shown = [
                json.dumps([each.to_json(), each.body and each.body.to_json()]) + repr(each)
                for each in kwire_cli.read_frames(source)
            ]
            assert not shows("".join(shown)), row
            secret = [json.dumps(each.to_json()) for each in kwire_cli.read_frames(source, show_secrets=True)]
            assert shows("".join(secret)), row


def test_errors_of_given_values_have_no_secret():
    values = {
        "resources": [{"resourceType": 2, "resourceName": "x", "configs": [{"name": "a", "value": [SECRET]}]}],
        "validateOnly": False,
    }
    done = kwire("encode", "-m", "AlterConfigsRequest", "--message-version", 1, stdin=json.dumps(values).encode())
    assert done.code == 2
    assert not shows(done.err)


@pytest.mark.parametrize(
    ("message", "path", "version"), [row for row in NEWEST if row[0] == "DescribeConfigsResponse"], ids=str
)
def test_values_that_are_compared_have_no_secret(message, path, version):
    body = body_of(message, path, version).hex().encode()
    for fmt in formats("compare"):
        done = kwire("compare", "-m", message, "--message-version", version, "--format", fmt, stdin=body)
        assert not shows(text_of(done) + done.err)
        assert "<redacted" not in CLIPPED.sub("", unescaped(text_of(done))), fmt


def test_a_given_value_has_the_size_of_its_bytes():
    spec = CATALOG["DescribeConfigsResponse"]
    synonym = {"name": "a", "value": SECRET, "source": 1}
    path = "results[].configs[].synonyms"
    assert redacted_value(spec, path, [synonym]) == f"<redacted {len(SECRET) + 2} bytes>"
    assert redacted_value(spec, f"{path}[0].value".replace("[]", "[3]"), SECRET) == f"<redacted {len(SECRET)} bytes>"
    encoded = base64.b64encode(SECRET.encode()).decode()
    assert redacted_value(CATALOG["RenewDelegationTokenRequest"], "hmac", encoded) == f"<redacted {len(SECRET)} bytes>"
    assert redacted_value(spec, "unknownTaggedFields", {"tag": 7, "data": encoded}) == f"<redacted {len(SECRET)} bytes>"


@pytest.mark.parametrize("fmt", formats("dump"))
@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_every_hidden_part_of_a_record_has_a_size(fmt, shift, tmp_path):
    """Counts, nulls and empty parts too, where the length of a value is wrong."""
    value = b"\1\4\0" + body_of("ConfigRecord", "value", 0)
    records = [logs.record(value=value), logs.record(value=value, offset=1)]
    data = bytearray(logs.batch(records=records))
    data[data.index(value) - 1] += 2 * shift
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(logs.with_crc("v2", bytes(data)))
    for words in (["--deep"], []):
        done = kwire("dump", *words, "--as-topic", "__cluster_metadata", "-f", fmt, segment)
        assert not shows(text_of(done) + done.err)
        assert "<redacted" not in CLIPPED.sub("", unescaped(text_of(done)))


TOKENS = {
    "SCRAM": b"r=fyko+d2lbbFgONRv9qkxdawL" + SECRET.encode() + b",s=QSXCR+Q6sek8bf92,i=4096",
    "GSSAPI": b"\x60\x82\x01\x10\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" + SECRET.encode() * 3,
    "of its own": SECRET.encode(),
    "as a response with a body": (5).to_bytes(4, "big") + b"\0\0" + SECRET.encode(),
    "as a response with a count": (5).to_bytes(4, "big") + b"\0\0\0\1\0\x14" + SECRET.encode(),
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize("opened", [True, slow(False)])  # twelve commands a case
@pytest.mark.parametrize("first", [0, 1])
def test_tokens_of_a_broker_alone_are_not_shown(token, opened, first):
    """Only the broker's side was captured, so that nothing tells a token from a response."""
    said = [
        (1, Wire.response("SaslHandshake", 0, 1, errorCode=0, mechanisms=["GSSAPI"])),
        (1, sized(token)),
        (1, Wire.response("Metadata", 1, 2)),
        (1, Wire.response("Metadata", 1, 3)),
    ]
    data = capture(said[first:], opened=opened)
    ways = [["-f", fmt, "--full"] for fmt in formats("decode")]
    for words in (*ways, ["-f", "hex", "--port", "9092"], ["-f", "jsonl", "--port", "9092"]):
        done = kwire("decode", *words, "-", stdin=data)
        assert not shows(text_of(done) + done.err), words
        assert not numbers(text_of(done)), words


@pytest.mark.parametrize("row", FRAMES, ids=str)
def test_dump_of_bytes_from_a_secret_on_shows_none_of_it(row):
    """A cut batch has no valid checksum, so that its header has to be one that a log may have."""
    _, (_, frame), _ = said_of(row)
    at = frame.index(SECRET.encode())
    for start in range(at, at + len(SECRET) - 4):
        done = kwire("dump", "-f", "jsonl", "-", stdin=frame[start:] + frame)
        assert not shows(done.out + done.err), start
        assert not numbers(done.out), start
