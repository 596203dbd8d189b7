"""Bytes inside the lines of logs."""

import base64
import json

import pytest
from kit.commands import ROOT, kwire

import kwire_cli
from kwire_cli.errors import InputError
from kwire_cli.source.text.log_lines import LABEL, proves_itself
from kwire_cli.source.text.reading import read_input

FRAME = (ROOT / "samples" / "text" / "frame.bin").read_bytes()
RESPONSE = bytes.fromhex("0000000a00000007000000000000")
OCTAL = "".join(f"\\{byte:03o}" for byte in FRAME)
SIGNED = [byte - 256 if byte > 127 else byte for byte in FRAME]
ROWS = [FRAME[at : at + 16] for at in range(0, len(FRAME), 16)]
DUMP = "".join(f"{at * 16:08x}: {row.hex(' ') + ' ':<48} {'.' * len(row)}\n" for at, row in enumerate(ROWS))
LINES = {
    "java list": f"2026-11-21 10:00:00,125 TRACE [Producer clientId=p-1] Sending bytes {SIGNED} "
    f"(o.a.k.c.NetworkClient)",
    "java hex": f"2026-11-21 10:00:00,124 DEBUG Sending {FRAME.hex()} to node 1",
    "spaced hex": f"2026-11-21 DEBUG recv {FRAME.hex(' ')}",
    "colons": f"2026-11-21 DEBUG recv {FRAME.hex(':')}",
    "words": f"2026-11-21 DEBUG recv {FRAME.hex(' ', -2)}" if not len(FRAME) % 2 else f"DEBUG recv 0x{FRAME.hex()}",
    "kafka-python": f"DEBUG:kafka.conn:<BrokerConnection client_id=a, node_id=1 host=b:9092 <connected>>: Send: "
    f"{FRAME!r}",
    "escapes": "trace: sent " + "".join(f"\\x{byte:02x}" for byte in FRAME),
    "quoted escapes": 'level=debug msg="sent" data="' + "".join(f"\\x{byte:02x}" for byte in FRAME) + '"',
    "node": f"[Connection] send <Buffer {FRAME.hex(' ')}>",
    "kafkajs": json.dumps(
        {
            "level": "DEBUG",
            "logger": "kafkajs",
            "message": "Response",
            "payload": {"type": "Buffer", "data": list(FRAME)},
        }
    ),
    "base64": f"INFO proxied frame={base64.b64encode(FRAME).decode()}",
    "librdkafka": f"%7|1637|SEND|rdkafka#producer-1| [thrd:b]: Sent\nmsg hexdump ({len(FRAME)} bytes):\n{DUMP}"
    f"%7|1637|RECV| done",
    "a time before each row of a dump": "\n".join(
        f"10:00:0{at}.123Z DEBUG {row}" for at, row in enumerate(DUMP.splitlines())
    ),
    "a quoted dump": "".join(f"he said > {row}\n" for row in DUMP.splitlines()),
    "Netty": "DEBUG LoggingHandler - [id: 0x1a2b3c4d, L:/127.0.0.1:9092] WRITE: 47B\n"
    "         +-------------------------------------------------+\n"
    "         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n"
    "+--------+-------------------------------------------------+----------------+\n"
    + "".join(
        f"|{at:08x}| {FRAME[at : at + 16].hex(' '):<47} |{'.' * len(FRAME[at : at + 16]):<16}|\n"
        for at in range(0, len(FRAME), 16)
    )
    + "+--------+-------------------------------------------------+----------------+",
    "strace": f'10:00:01.1 sendto(7<TCP:[10.0.0.5:50000->10.0.0.9:9092]>, "{OCTAL}", {len(FRAME)}, 0) = {len(FRAME)}',
    "Go %v": f"2026/11/28 12:00:00 sent [{' '.join(map(str, FRAME))}]",
    "Erlang": f"10:00:00.000 [debug] sent <<{','.join(map(str, FRAME))}>>",
    "a line of its own": f"2026-11-21 DEBUG Sending request:\n{FRAME.hex()}\ndone at 10:00",
}
NO_FRAMES = [
    "2026-11-21 10:00:00,123 INFO 550e8400-e29b-41d4-a716-446655440000 connected to 10.0.0.1:9092",
    "md5 d41d8cd98f00b204e9800998ecf8427e sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    f"sha512 of the jar {'00ab' * 32}",
    "assigned partitions [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]",
    f"all partitions {list(range(100))}",
    "replicas [1, 2, 3, 1, 2, 3, 1, 2, 3], isr [1, 2, 3]",
    "mac 00:00:5e:00:53:af, ip fe80:0000:0000:0000:0204:61ff:fe9d:f156, time 1795259580134940",
    "key=b'hello' value=b'a record of forty characters or so, none' crc=0xdeadbeef",
    "topic id Zm9vYmFyYmF6cXV4MTIzNA== offset 1234567890123456",
    "empty b'' and [ ] and <Buffer > and [B@1f2a3b4c",
]


def chunks(text):
    return read_input(text.encode()).chunks


@pytest.mark.parametrize("text", LINES.values(), ids=LINES)
def test_bytes_in_a_line_are_a_frame_with_the_line_as_label(text):
    found = read_input((NO_FRAMES[0] + "\n" + text).encode(), "log")
    assert [chunk.data for chunk in found.chunks] == [FRAME]
    assert found.chunks[0].label.startswith(f"line {found.chunks[0].line}: ")
    assert FRAME.hex()[:12] not in found.chunks[0].label
    assert len(found.chunks[0].label) <= LABEL + 12


def test_each_frame_names_its_line_in_every_format():
    text = "\n".join((NO_FRAMES[0], LINES["java hex"], LINES["kafka-python"]))
    rows = [json.loads(line) for line in kwire("decode", "-f", "jsonl", "-", stdin=text.encode()).out.splitlines()]
    assert [(row["api"], row["label"].partition(":")[0]) for row in rows] == [
        ("ApiVersions", "line 2"),
        ("ApiVersions", "line 3"),
    ]
    assert rows[0]["label"].endswith("DEBUG Sending … to node 1")
    for fmt in ("tree", "hex"):
        assert "line 2: 2026-11-21" in kwire("decode", "-f", fmt, "-", stdin=text.encode()).out
    assert "log: 94 bytes in 2 chunks" in kwire("decode", "-v", "-", stdin=text.encode()).err
    assert [frame.to_json()["label"] for frame in kwire_cli.read_frames(text.encode())] == [
        row["label"] for row in rows
    ]


@pytest.mark.parametrize("line", NO_FRAMES)
def test_what_proves_nothing_is_no_frame(line):
    with pytest.raises(InputError, match=r"no line|no bytes were recognised|names a buffer"):
        read_input(f"INFO begin\n{line}\n".encode(), "log")


@pytest.mark.parametrize(
    ("data", "proved"),
    [
        (FRAME, True),
        (FRAME[4:], True),
        (FRAME[:30], True),
        (FRAME + RESPONSE, True),
        (FRAME + RESPONSE[:9], True),
        (RESPONSE, True),
        (RESPONSE[4:], False),
        (FRAME[:7], False),
        (bytes(7), False),
        (bytes(range(32)), False),
        (bytes(range(65)), True),
        (bytes(range(1, 66)), False),
    ],
)
def test_the_rule_for_a_run(data, proved):
    assert proves_itself(data) is proved


def test_what_is_missing_is_said():
    text = (
        f"INFO buffer java.nio.HeapByteBuffer[pos=0 lim=54 cap=54]\nDEBUG <Buffer {FRAME[:40].hex(' ')} "
        f"... 7 more bytes>\n"
    )
    found = read_input(text.encode())
    assert [chunk.data for chunk in found.chunks] == [FRAME[:40]]
    assert "line 1: java.nio.HeapByteBuffer[pos=0 lim=54 cap=54] names a buffer without its bytes" in found.notes[0]
    assert "line 2: Node printed only the first 40 bytes; 7 more bytes are missing" in found.notes[1]
    assert "HeapByteBuffer" in kwire("decode", "-", stdin=text.encode()).err
    with pytest.raises(InputError, match="without its bytes"):
        read_input(text.partition("\n")[0].encode(), "log")


def test_labels_show_no_bytes_and_no_secrets():
    label = chunks(f"INFO login password=hunter2 sent {FRAME.hex()} with b'\\x00user\\x00pencil'")[0].label
    assert "hunter2" not in label
    assert "pencil" not in label


def test_a_line_of_hex_with_a_slip_is_no_line_of_a_log():
    with pytest.raises(InputError, match="hex") as caught:
        read_input(f"# one\n{FRAME.hex()}\n# two\n{FRAME.hex()[:-1]}z\n".encode())
    assert caught.value.line == 4


def test_a_response_in_a_log_is_read_as_its_request_says():
    request, response = (
        read_input((ROOT / "samples" / "frames" / f"metadata-v0-{kind}.hex").read_bytes()).chunks[0].data
        for kind in ("request", "response")
    )
    assert request[8:12] == response[4:8]
    log = f"DEBUG Send: {request!r}\nDEBUG Recv: {response!r} after 12 ms\n"
    rows = [json.loads(row) for row in kwire("decode", "-f", "jsonl", "-", stdin=log.encode()).out.splitlines()]
    assert [(row["kind"], row["api"], row["apiVersion"], "guess" in row) for row in rows] == [
        ("request", "Metadata", 0, False),
        ("response", "Metadata", 0, False),
    ]


def test_the_payload_of_a_response_that_kafkajs_names_is_read_as_that_response():
    line = (
        '{"level":"ERROR","message":"[Connection] Response Heartbeat(key: 12, version: 0)","correlationId":7,'
        '"payload":{"type":"Buffer","data":[0,27]}}'
    )
    ran = kwire("decode", "-f", "jsonl", "-", stdin=line.encode())
    row = json.loads(ran.out)
    assert (row["kind"], row["api"], row["apiVersion"], "guess" in row) == ("response", "Heartbeat", 0, False)
    assert (row["header"]["correlationId"], row["body"]) == (7, {"errorCode": 27})
    assert "line 1: kafkajs logs no size and no correlation id in a payload" in ran.err
    ran = kwire("decode", "-f", "json", "-m", "HeartbeatResponse", "--message-version", "0", "-", stdin=line.encode())
    assert '"errorCode": 27' in ran.out


def test_runs_that_prove_nothing_are_named():
    text = f"INFO sent {FRAME.hex()}\nINFO md5 d41d8cd98f00b204e9800998ecf8427e\n"
    stack = json.dumps({"stack": "Error: x\n    at y\n    at z"})
    found = read_input(f"{text}{stack}\n00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n".encode())
    assert [chunk.data for chunk in found.chunks] == [FRAME]
    assert found.notes == (
        "1 other run of bytes not read, because nothing proves a frame: line 2; give a run alone to read it",
    )
