"""Values of every kind written and read again; and bytes that lie."""

import base64

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples
from kit.logs import message

from kwire_cli.engine import lower, spans as spans_module
from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.program import Program
from kwire_cli.engine.spans import walk
from kwire_cli.structs.records import kip82, kip98, v0, v1, v2

NUMBERS = {bits: st.integers(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for bits in (8, 16, 32, 64)}
UINT32 = st.integers(0, (1 << 32) - 1)
BYTES = st.one_of(st.binary(max_size=80), st.integers(8000, 9000).map(bytes)).map(
    lambda data: base64.b64encode(data).decode()
)
NULLABLE = st.none() | BYTES

MESSAGE_V0 = st.fixed_dictionaries({
    "offset": NUMBERS[64], "crc": UINT32, "magic": NUMBERS[8], "attributes": NUMBERS[8], "key": NULLABLE,
    "value": NULLABLE,
})  # fmt: skip
MESSAGE_V1 = st.builds(lambda message, timestamp: message | {"timestamp": timestamp}, MESSAGE_V0, NUMBERS[64])
HEADER = st.fixed_dictionaries({"key": st.text(max_size=20), "value": NULLABLE})
RECORD = st.fixed_dictionaries({
    "attributes": NUMBERS[8], "timestampDelta": st.integers(0, 9999) | NUMBERS[64],
    "offsetDelta": st.integers(0, 9999) | NUMBERS[32],
    "key": NULLABLE, "value": NULLABLE, "headers": st.lists(HEADER, max_size=3),
})  # fmt: skip
BATCH_NUMBERS = st.fixed_dictionaries({
    "baseOffset": NUMBERS[64], "partitionLeaderEpoch": NUMBERS[32], "magic": st.just(2), "crc": UINT32,
    "lastOffsetDelta": NUMBERS[32],
    "baseTimestamp": NUMBERS[64], "maxTimestamp": NUMBERS[64], "producerId": NUMBERS[64], "producerEpoch": NUMBERS[16],
    "baseSequence": NUMBERS[32], "recordsCount": NUMBERS[32],
})  # fmt: skip
BATCH = st.one_of(
    st.builds(
        lambda numbers, attributes, records: numbers | {"attributes": attributes & ~7, "records": records},
        BATCH_NUMBERS, NUMBERS[16], st.lists(RECORD, max_size=4),
    ),
    st.builds(lambda numbers, codec, records: numbers | {"attributes": codec, "records": records}, BATCH_NUMBERS,
    st.integers(1, 7), BYTES),
)  # fmt: skip


@st.composite
def kip98_message(draw):
    attributes = draw(NUMBERS[8])
    message = {
        "attributes": attributes,
        "timestamp": draw(NUMBERS[64]),
        "offsetDelta": draw(st.integers(0, (1 << 31) - 1)),
        "crc": draw(UINT32),
    }
    if not attributes & 1:
        message["key"] = draw(BYTES)
    if not attributes & 2:
        message["value"] = draw(BYTES)
    return message


@st.composite
def kip82_message(draw):
    message = draw(MESSAGE_V1)
    if message["attributes"] & 0x10:
        message["headers"] = draw(st.lists(st.fixed_dictionaries({"key": UINT32, "value": BYTES}), max_size=3))
    return message


FORMATS = {
    "v0": (v0.MESSAGE_SET, "messages", MESSAGE_V0),
    "v1": (v1.MESSAGE_SET, "messages", MESSAGE_V1),
    "v2 records": (v2.RECORDS, "records", RECORD),
    "v2 batches": (v2.BATCHES, "batches", BATCH),
    "kip98": (kip98.MESSAGES, "messages", kip98_message()),
    "kip82": (kip82.MESSAGE_SET, "messages", kip82_message()),
}


def without_sizes(value):
    if isinstance(value, list):
        return [without_sizes(item) for item in value]
    if isinstance(value, dict):
        return {
            key: without_sizes(item)
            for key, item in value.items()
            if key not in {"messageSize", "length", "batchLength"}
        }
    return value


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read(name, read):
    decl, field, element = FORMATS[name]

    @given(st.lists(element, max_size=4))
    @examples(40)
    def check(elements):
        data = decl.build({field: elements})
        found = read(decl, data)
        assert found.anomalies == []
        assert without_sizes(found.value) == {field: elements}
        assert decl.parse(data) == found.value
        assert decl.build(found.value) == data

    check()


SAMPLES = {
    "v0": message("v0", 1, b"\1", None) * 2,
    "v1": message("v1", 1, None, b"\1\2") * 2,
    "v2 records": bytes.fromhex(
        "1c 00 00 00 02 6b 06 76616c 02 02 68 02 ff" + "10 00 02 02 01 01 02 00 01" + "14 00 c401 8001 01 04 0102 00"
    ),
    "kip98": bytes.fromhex(
        "11 00 0000000000000001 00 01 6b 76 deadbeef 0f 02 0000000000000001 02 6b deadbeef 0e 07 "
        "0000000000000001 03 deadbeef"
    ),
    "kip82": bytes.fromhex(
        "0000000000000005 0000002d 01020304 02 18 0000000000000007 00000001 6b 00000012 00000001 00000002 "
        "6162 80000000 00000000 ffffffff"
    ),
}
SAMPLES["v2 batches"] = b"".join(
    bytes.fromhex(f"0000000000000007 {49 + len(tail):08x} ffffffff 02 01020304 {codec:04x} 00000001" + "00" * 34) + tail
    for codec, tail in ((0, SAMPLES["v2 records"]), (1, b"\x1f\x8b"), (0, b""))
)


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_cut_at_every_place(name, read):
    decl, data = FORMATS[name][0], SAMPLES[name]
    whole = read(decl, data)
    assert whole.anomalies == []
    for end in range(len(data)):
        found = read(decl, data[:end])
        gap = int(bool(found.leaves) and found.leaves[-1].kind == "gap")
        good = len(found.leaves) - gap
        assert [*found.spans.node][:good] == [*whole.spans.node][:good]
        assert bool(gap) == any(code == "TRUNCATED" for code, _, _ in found.anomalies)
        assert gap or end in {0, *whole.spans.end}


HUGE = [bytes.fromhex(text) for text in ("7fffffff", "80000000", "feffffff0f", "80808080808080808080", "ffffffff07")]
"""Numbers beyond all bytes."""


def damages(data):
    """Bytes with a changed byte or a huge number in every place."""
    for at in range(len(data)):
        for byte in (0, 0x7F, 0x80, 0xFF, data[at] ^ 1):
            yield data[:at] + bytes([byte]) + data[at + 1 :]
        for huge in HUGE:
            yield from (data[:at] + huge + data[at:], data[:at] + huge + data[at + len(huge) :], data[:at] + huge * 20)


@pytest.mark.parametrize("name", FORMATS)
def test_bytes_damaged_in_every_place(name, read):
    for data in damages(SAMPLES[name]):
        assert len(read(FORMATS[name][0], data).spans.node) <= len(data) + 2


@pytest.mark.parametrize("name", FORMATS)
def test_any_bytes(name, read):
    decl = FORMATS[name][0]

    @given(st.binary(max_size=120))
    @examples(180)
    def check(data):
        assert len(read(decl, data).spans.node) <= len(data) + 2

    check()


def columns(spans):
    return [*spans.node], [*spans.value], [*spans.end], spans.flags, spans.used, spans.lost


def damaged():
    for data in (SAMPLES["v2 records"], SAMPLES["v2 batches"]):
        for at in range(len(data)):
            for byte in (0, 1, 2, 5, 0x7F, 0x80, 0xFF):
                yield data[:at] + bytes([byte]) + data[at + 1 :]
                yield data[:at] + bytes([byte | 0x80, byte & 0x7F]) + data[at + 1 :]
                yield data[:at] + bytes([byte | 0x80, 0x80, byte & 0x7F]) + data[at + 1 :]
            yield data[:at]


def test_the_short_way_gives_what_the_long_way_gives(monkeypatch):
    short = {decl: records_entry(decl) for decl in (v2.RECORDS, v2.BATCHES)}
    monkeypatch.setattr(lower, "_is_tried", lambda decl: False)  # noqa: ARG005
    monkeypatch.setattr(lower, "_records_program", Program)
    for decl, entry in short.items():
        long = records_entry.__wrapped__(decl)
        first = entry.root.fields[0].first - long.root.fields[0].first
        assert len(long.program.code) < len(entry.program.code)
        for data in damaged():
            node, *rest = columns(walk(entry, data))
            long_node, *long_rest = columns(walk(long, data))
            assert [n - first if n else 0 for n in node] == long_node
            assert [*rest[:-1], rest[-1] - first if rest[-1] > 0 else rest[-1]] == long_rest


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_the_kernel_resumes_where_the_output_was_full(name, chunk, monkeypatch):
    entry, data = records_entry(FORMATS[name][0]), SAMPLES[name]
    cut = [data, data * 30, data[: len(data) * 2 // 3], data[:-3] + b"\xff" * 3]
    whole = [columns(walk(entry, each)) for each in cut]
    monkeypatch.setattr(spans_module, "FIRST_CHUNK", 1)
    monkeypatch.setattr(spans_module, "CHUNK", chunk)
    assert [columns(walk(entry, each)) for each in cut] == whole
