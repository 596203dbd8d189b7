"""Hostile input in processes that may take only so much memory: each ends with an exit code and says why, and what it
prints is in proportion.
"""

import gzip
import json
import os
import resource
import struct
import subprocess
import sys
import zlib
from functools import partial

import pytest
from kit import logs as records, traffic as make
from kit.commands import ROOT, kwire, run_process
from kit.logs import line as log_line
from kit.traffic import Wire

from kwire_cli.structs.numbers import unsigned_varint

MIB = 1 << 20
MEMORY = 640 * MIB
"""Address space of a process, which is more than the memory it uses: Python and its libraries alone reserve some 100
MiB."""
OF_TABLES = 1024 * MIB
"""The same for commands that fill tables: DuckDB reserves more."""
OUTPUT = 64
"""Bytes that may be printed for a byte of input, and MOST_FIXED beyond these."""
FIXED = 2 * MIB


def said_to_be_long():
    return (2**31 - 1).to_bytes(4, "big") + Wire.request("Metadata", 1)[4:]


def count_beyond_the_bytes():
    frame = bytearray(Wire.request("Metadata", 1, topics=[{"name": "t"}]))
    at = frame.index(b"\0\0\0\1\0\1t")
    frame[at : at + 4] = b"\x7f\xff\xff\xff"
    return bytes(frame)


def many_tiny_elements(count=40_000):
    """Empty strings, of one byte each."""
    return Wire.raw(Wire.request("ListTransactions", 0, stateFilters=[""] * count, producerIdFilters=[])[4:])


def many_tiny_frames():
    return Wire.request("ApiVersions", 0, client="") * 8_000


def many_tags(count=50_000):
    """A tag section of so many unknown tags without bytes."""
    body = Wire.request("ApiVersions", 3, clientSoftwareName="a", clientSoftwareVersion="b")[4:-1]
    return Wire.raw(
        body + unsigned_varint(count) + b"".join(unsigned_varint(number) + b"\0" for number in range(count))
    )


def bomb(size=300 * MIB):
    """A batch whose records are so many zeros, packed by gzip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(bytes(MIB)) for _ in range(size // MIB)) + packer.flush()
    return records.batch(0, [records.record()], packed=packed, attributes=1)


def many_bombs():
    one = records.batch(0, [records.record()], packed=gzip.compress(bytes(15 * MIB)), attributes=1)
    return one * 12


def many_empty_batches():
    return records.batch(0, []) * 5_000


def packet_said_to_be_long():
    return make.pcap_file([]) + struct.pack("<IIII", 0, 0, 2**32 - 1, 2**32 - 1) + bytes(100)


def block_said_to_be_long():
    return make.pcapng_file([]) + struct.pack("<II", 6, 2**32 - 4) + bytes(100)


def many_connections(count=4_000):
    frames = (
        make.ethernet(make.ipv4(make.tcp(b"\0\0\0\x10", source_port=number % 60_000 + 1, sequence=number)))
        for number in range(count)
    )
    return make.pcap_file([make.packet(frame, number) for number, frame in enumerate(frames, 1)])


def repeated_row():
    """What od and hexdump write for equal rows, up to an address that is far away."""
    return b"00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n7ffffff0\n"


def nested(depth=200_000):
    return b'{"a":' * depth + b"1" + b"}" * depth


def log_line_nested():
    return log_line().replace(b'"request": {}', b'"request": ' + nested(50_000))


def definition(**keys):
    base = {
        "type": "data",
        "name": "Made",
        "validVersions": "0",
        "flexibleVersions": "none",
        "fields": [{"name": "A", "type": "int8", "versions": "0+"}],
    }
    return json.dumps(base | keys).encode()


def wide_versions():
    fields = [{"name": f"F{number}", "type": "int8", "versions": "0-32767"} for number in range(200)]
    return definition(validVersions="0-32767", flexibleVersions="0+", fields=fields)


def structs_that_double():
    """Each struct holds the next one twice: 2^40 fields when written out."""
    common = [
        {
            "name": f"S{at}",
            "versions": "0+",
            "fields": [{"name": name, "type": f"S{at + 1}", "versions": "0+"} for name in "AB"],
        }
        for at in range(40)
    ]
    common.append({"name": "S40", "versions": "0+", "fields": [{"name": "A", "type": "int8", "versions": "0+"}]})
    return definition(commonStructs=common, fields=[{"name": "A", "type": "S0", "versions": "0+"}])


def struct_in_itself():
    common = [{"name": "S", "versions": "0+", "fields": [{"name": "A", "type": "[]S", "versions": "0+"}]}]
    return definition(commonStructs=common, fields=[{"name": "A", "type": "S", "versions": "0+"}])


def long_default():
    return definition(fields=[{"name": "A", "type": "int64", "versions": "0+", "default": "9" * MIB}])


def long_number():
    return definition().replace(b'"data"', b'"data", "apiKey": ' + b"9" * MIB)


def versions_beyond():
    return definition(validVersions=f"0-{'9' * 5000}")


CASES = {
    "a frame said to be long": (said_to_be_long, ["decode", "--input", "raw", "-f", "jsonl", "-"]),
    "a count beyond the bytes": (count_beyond_the_bytes, ["decode", "--input", "raw", "-f", "tree", "-"]),
    "many tiny elements": (many_tiny_elements, ["decode", "--input", "raw", "-f", "jsonl", "-"]),
    "many tiny elements as a tree": (
        lambda: many_tiny_elements(20_000),
        ["decode", "--input", "raw", "-f", "tree", "-"],
    ),
    "many tiny frames": (many_tiny_frames, ["decode", "--input", "raw", "-f", "jsonl", "-"]),
    "many unknown tags": (many_tags, ["decode", "--input", "raw", "-f", "jsonl", "-"]),
    "a bomb": (bomb, ["dump", "--deep", "-f", "jsonl", "--max-decompressed", "64KiB", "-"]),
    "a bomb of odd records": (lambda: bomb(32 * MIB), ["dump", "--deep", "-f", "jsonl", "-"]),
    "many bombs": (many_bombs, ["dump", "--deep", "-f", "jsonl", "--max-decompressed", "16KiB", "-"]),
    "many empty batches": (many_empty_batches, ["dump", "--deep", "-f", "jsonl", "-"]),
    "a packet said to be long": (packet_said_to_be_long, ["decode", "-f", "table", "-"]),
    "a block said to be long": (block_said_to_be_long, ["decode", "-f", "table", "-"]),
    "many connections": (many_connections, ["stats", "-"]),
    "a row that is repeated": (repeated_row, ["decode", "--input", "hexdump", "-f", "jsonl", "-"]),
    "nested JSON": (nested, ["encode", "-"]),
    "a nested line of a log": (log_line_nested, ["decode", "-f", "jsonl", "-"]),
    "a nested definition": (nested, ["lint", "FILE"]),
    "a definition of all versions": (wide_versions, ["breaking", "FILE", "FILE"]),
    "structs that double": (structs_that_double, ["lint", "FILE"]),
    "a struct in itself": (struct_in_itself, ["spec", "show", "Made", "--specs", "FILE"]),
    "a long default": (long_default, ["spec", "show", "Made", "--specs", "FILE"]),
    "a long number": (long_number, ["lint", "FILE"]),
    "versions beyond all": (versions_beyond, ["lint", "FILE"]),
    "a nested filter": (
        lambda: b"",
        ["decode", "--filter", "(" * 50_000 + "api" + ")" * 50_000, str(ROOT / "samples/captures/ipv6.pcap")],
    ),
}


def limited(command):
    memory = OF_TABLES if command == "stats" else MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
@pytest.mark.parametrize("name", CASES)
def test_it_ends_within_its_memory(name, tmp_path):
    made, words = CASES[name]
    data, file = made(), tmp_path / "made.json"
    file.write_bytes(data)
    words = [str(file) if word == "FILE" else word for word in words]
    done = run_process(*words, input=data, env={**os.environ, "NO_COLOR": "1"}, preexec_fn=partial(limited, words[0]))
    assert done.returncode in {0, 1, 2}, done.stderr[-2000:].decode()
    assert b"Traceback" not in done.stderr
    assert done.stdout or done.stderr
    assert len(done.stdout) + len(done.stderr) < OUTPUT * len(data) + FIXED


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_the_limit_is_one():
    done = subprocess.run(
        [sys.executable, "-c", f"bytes({MEMORY})"], capture_output=True, check=False, preexec_fn=partial(limited, "")
    )
    assert b"MemoryError" in done.stderr


CODE = "__import__('pathlib').Path('made').touch()"


@pytest.mark.parametrize("key", ["name", "type", "default", "about", "versions", "entityType", "encoding"])
def test_no_definition_runs_code(key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    field = {"name": "A", "type": "string", "versions": "0+"} | {key: CODE}
    (tmp_path / "Made.json").write_bytes(definition(fields=[field]))
    for words in (
        ["lint", "Made.json"],
        ["spec", "show", "Made", "--specs", "Made.json"],
        ["decode", "--specs", "Made.json", "-m", "Made", "--message-version", "0", "0001"],
    ):
        assert kwire(*words).code in {0, 1, 2}
    assert [path.name for path in tmp_path.iterdir()] == ["Made.json"]
