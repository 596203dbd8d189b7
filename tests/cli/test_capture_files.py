"""Frames as captures, and comments in captures: what they carry is what they were made of."""

import base64
import io
import json

import pytest
from command_line import ROOT, kwire

from kwire_cli.source.packets.files import packets

SAMPLES = ROOT / "samples"
IPV6 = SAMPLES / "captures" / "ipv6.pcap"
SASL = SAMPLES / "incidents" / "sasl.pcap"
SEGMENT = SAMPLES / "segments" / "orders-zstd-0" / "00000000000000000000.log"
LOG = SAMPLES / "request-logs" / "kafka-request.log"
HEARTBEAT = SAMPLES / "json" / "heartbeat-v4.json"
KEPT = ("time", "src", "dst", "kind", "size", "header", "body")


def lines(path, *options):
    return [json.loads(line) for line in kwire("decode", path, "--format", "jsonl", *options).out.splitlines()]


def kept(document):
    return {key: document.get(key) for key in KEPT}


@pytest.mark.parametrize("name", ["frames.pcap", "frames.pcapng"])
def test_frames_of_a_capture_as_packets_are_the_same_frames(tmp_path, name):
    out = tmp_path / name
    assert kwire("decode", IPV6, "-o", out).code == 0
    assert list(map(kept, lines(out))) == list(map(kept, lines(IPV6)))


def test_a_filter_chooses_what_is_written(tmp_path):
    out = tmp_path / "produce.pcap"
    assert kwire("decode", IPV6, "--filter", "api == Produce", "--pcap", "-o", out).code == 0
    assert {line["api"] for line in lines(out)} == {"Produce"}


def test_what_decode_prints_becomes_packets_again(tmp_path):
    out = tmp_path / "again.pcap"
    printed = kwire("decode", IPV6, "--format", "jsonl", "--records", "base64").raw
    assert kwire("encode", "-o", out, stdin=printed).code == 0
    names = ("src", "dst", "kind", "size", "header", "body")
    assert [[line[name] for name in names] for line in lines(out)] == [
        [line[name] for name in names] for line in lines(IPV6)
    ]


def test_hex_and_json_become_the_same_packets(tmp_path):
    one, other = tmp_path / "one.pcap", tmp_path / "other.pcap"
    words = ("encode", "--api", "heartbeat", "--request", "--message-version", 4, HEARTBEAT)
    assert kwire(*words, "-o", one).code == 0
    assert kwire("decode", kwire(*words).out.strip(), "--pcap", "-o", other).code == 0
    assert one.read_bytes() == other.read_bytes()
    assert [line["api"] for line in lines(one)] == ["Heartbeat"]


def token_in(path):
    """The SASL token of a capture that has one."""
    (secret,) = {
        line["body"]["authBytes"]
        for line in lines(path, "--show-secrets")
        if (line["kind"], line["api"]) == ("request", "SaslAuthenticate")
    }
    return base64.b64decode(secret)


def test_secrets_are_overwritten_unless_they_are_to_be_shown(tmp_path):
    hidden, shown, token = tmp_path / "hidden.pcap", tmp_path / "shown.pcap", token_in(SASL)
    assert kwire("decode", SASL, "-o", hidden).code == 0
    assert kwire("decode", SASL, "--show-secrets", "-o", shown).code == 0
    assert token in shown.read_bytes()
    assert token not in hidden.read_bytes()
    assert b"*" * len(token) in hidden.read_bytes()
    assert [line["size"] for line in lines(hidden)] == [line["size"] for line in lines(SASL)]


def test_comments_stand_on_the_packets_in_which_frames_end(tmp_path):
    capture, out = SAMPLES / "incidents" / "not-leader.pcap", tmp_path / "commented.pcapng"
    assert kwire("decode", capture, "--comments", "-o", out).code == 0
    mine, theirs = ([*packets(io.BytesIO(path.read_bytes()))] for path in (capture, out))
    assert [packet[1:] for packet in mine] == [packet[1:] for packet in theirs]
    data = out.read_bytes()
    assert data.count(b"NOT_LEADER_OR_FOLLOWER") == sum("NOT_LEADER" in json.dumps(row) for row in errors(capture))
    for line in lines(capture):
        text = f"{line['api']} v{line['apiVersion']} {line['kind']}".encode()
        packet = theirs[line["packet"] - 1].data
        rest = data[data.index(packet) + len(packet) :]
        assert text in rest[:400], line["frame"]


def errors(path):
    done = kwire("decode", path, "--fields", "error", "--format", "jsonl")
    return [json.loads(line) for line in done.out.splitlines()]


def test_comments_show_no_secret(tmp_path):
    out = tmp_path / "commented.pcapng"
    assert kwire("decode", SASL, "--comments", "-o", out).code == 0
    before, after = SASL.read_bytes(), out.read_bytes()
    assert after.count(token_in(SASL)) == before.count(token_in(SASL)) == 1
    assert b"SaslAuthenticate v2 request" in after


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("decode", "0000000d00120000000000070003617070", "--pcap"), "write it to a file with -o frames.pcap"),
        (
            ("encode", "--message", "HeartbeatRequest", "--message-version", 4, HEARTBEAT, "--pcap"),
            "write it to a file",
        ),
        (
            ("decode", "--message", "HeartbeatRequest", "--message-version", 4, "076f", "--pcap", "-o", "x"),
            "is for whole frames",
        ),
        (("decode", SEGMENT, "--pcap", "-o", "x"), "is for captures and messages"),
        (("decode", LOG, "-o", "x.pcapng"), "is for captures and messages"),
        (("encode", "--as-records", "[]", "--pcap", "-o", "x"), "omit --as-records"),
    ],
)
def test_what_can_not_be_a_capture_is_refused(monkeypatch, tmp_path, words, said):
    monkeypatch.chdir(tmp_path)
    done = kwire(*words, terminal=True)
    assert done.code == 2
    assert said in done.err.replace("\n", " ")


def test_comments_need_a_file(tmp_path):
    done = kwire("decode", "-", "--comments", "-o", tmp_path / "x.pcapng", stdin=IPV6.read_bytes())
    assert done.code == 2
    assert "give a file, not a pipe" in done.err


def test_bytes_without_a_capture_get_comments_too(tmp_path):
    out = tmp_path / "one.pcapng"
    assert kwire("decode", "0000000d00120000000000070003617070", "--comments", "-o", out).code == 0
    assert out.read_bytes().count(b"ApiVersions v0 request, client app") == 1
    assert [line["api"] for line in lines(out)] == ["ApiVersions"]
