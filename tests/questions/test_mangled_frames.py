"""Bytes that were changed between client and broker."""

import struct

from kit.calls import SAMPLES
from kit.commands import kwire


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
