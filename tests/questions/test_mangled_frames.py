"""Bytes that were changed between client and broker."""

import struct

from kit.calls import SAMPLES, first, sample_findings
from kit.commands import kwire


def test_a_proxy_in_text_mode_is_the_cause():
    code, severity, subject, text, frames = first("incidents/mangling-proxy.pcap")
    assert (code, severity, subject) == ("MANGLED_FRAMES", "error", "client newsletter")
    assert text == "7 malformed frames from 127.0.0.1 to 127.0.0.1:29092: well-formed once each 0d 0a is 0a again"
    assert frames == [14, 17, 20, 23, 26, 29, 32]


def test_what_follows_is_no_missing_login():
    codes = [row["code"] for row in sample_findings("incidents/mangling-proxy.pcap")]
    assert codes[1:] == ["CLOSED_IN_PLACE_OF_ANSWER", "CLOSED_IN_PLACE_OF_ANSWER"]


def test_other_damage_is_not_blamed_on_ends_of_lines(tmp_path):
    data = bytearray((SAMPLES / "incidents" / "mangling-proxy.pcap").read_bytes())
    at = 24
    while at < len(data):  # the byte in front of each line feed becomes another one, its checksum is not looked at
        (length,) = struct.unpack_from("<I", data, at + 8)
        packet = slice(at + 16, at + 16 + length)
        data[packet] = data[packet].replace(b"\r\nnewsletter", b"\x0c\nnewsletter")
        at += 16 + length
    (tmp_path / "other.pcap").write_bytes(data)
    done = kwire("diagnose", tmp_path / "other.pcap", "--format", "jsonl")
    assert done.code == 0
    assert "MANGLED_FRAMES" not in done.out
