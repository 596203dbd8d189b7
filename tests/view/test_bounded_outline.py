"""The part of an outline that there is room for: rows and bytes without secrets, and the anomalies of what it shows."""

import pytest
from kit.logs import batch, committed, message, record, wrapper
from kit.traffic import Wire

import kwire_cli
from kwire_cli.message.record_notes import UNPLACED
from kwire_cli.message.redaction import Redaction
from kwire_cli.view.bounded_outline import MOST_BYTES, MOST_NODES, BoundedOutline, of_frame, of_item
from kwire_cli.view.outline import body_part
from kwire_cli.view.rows import Buffer, Extent, Title


def rows(buffer, count, secret=None):
    for number in range(count):
        yield Title(0, f"field{number}", "gap", buffer, (number, number, number + 1), [], secret=secret)


def test_an_outline_has_room_for_so_many_rows_and_bytes_unless_all_is_asked_for():
    for full in (False, True):
        buffer = Buffer("b", bytes(MOST_BYTES + 10), 0, MOST_BYTES + 10)
        outline = BoundedOutline(rows(buffer, MOST_NODES + 5), buffer, full=full)
        assert outline.left_out == (0 if full else 5)
        assert len(outline.rows) == (MOST_NODES + 5 if full else MOST_NODES)
        (shown,) = outline.buffers
        assert (shown.size, len(shown.data)) == (MOST_BYTES + 10, MOST_BYTES + 10 if full else 0)


def test_bytes_end_with_the_last_field_that_was_told_where_rows_are_left_out():
    value = {"topics": [{"topic": "t", "partitions": [*range(30_000)]}]}
    data = kwire_cli.encode(value, message="DescribeLogDirsRequest", version=1)
    body = kwire_cli.decode(data, message="DescribeLogDirsRequest", version=1)
    part = body_part(Extent(kwire_cli.catalog()), "body", body)
    outline = BoundedOutline(part.rows(), part.buffer)
    (shown,) = outline.buffers
    assert outline.left_out
    assert shown.data == data[: outline.rows[-1].place[2]]
    assert len(shown.data) < len(data)


def test_masked_bytes_are_not_in_it():
    buffer = Buffer("b", b"abcdef", 1, 6)
    title = Title(0, "a", "gap", buffer, (0, 0, 3), [], secret=0)
    outline = BoundedOutline([title, Title(0, "b", "gap", buffer, (5, 5, 9), [], secret=5)], buffer)
    (shown,) = outline.buffers
    assert shown.data == b"\0\0de\0"
    assert shown.masked == ((0, 2), (4, 5))
    assert shown.cells(0, 9) == ["**", "**", "64", "65", "**"]


def test_ranges_that_touch_are_masked_as_one():
    buffer = Buffer("b", b"abcdef", 0, 6)
    titles = [Title(0, "a", "gap", buffer, (low, low, high), [], secret=low) for low, high in [(3, 5), (0, 2), (2, 3)]]
    (shown,) = BoundedOutline(titles, buffer).buffers
    assert shown.masked == ((0, 5),)


# Anomalies of the batches in a message.

REDACTION = Redaction(kwire_cli.catalog())
OFFSETS = "__consumer_offsets"
RECORDS = "topicData[0].partitionData[0].records"
SOUND = batch(records=[record(value=b"hello"), record(value=b"world", offset=1)])
WRONG = SOUND[:17] + bytes(4) + SOUND[21:]
"""A batch whose checksum is zero."""
TRAILING = {"plain": committed(0, b"\xee\xee"), "gzip": committed(0, b"\xee\xee", codec=1)}
"""A commit with two bytes behind its value."""


def framed(records, topic="orders"):
    """Return a Produce request behind another request, as a frame."""
    _, frame = kwire_cli.read_frames(Wire.request("Metadata", 12) + Wire.produce(records, topic))
    return frame


def outlined(frame):
    return of_frame(REDACTION.catalog, frame, REDACTION.frame(frame), REDACTION.reading(), full=True)


def test_anomalies_of_batches_in_a_frame_have_their_places_in_it():
    frame = framed(SOUND + WRONG)
    assert frame.start > 0
    (note,) = outlined(frame).anomalies
    assert (note.code, note.path) == ("CRC_MISMATCH", f"{RECORDS}[1].crc")
    assert bytes(frame.data[note.offset - 17 : note.offset + len(SOUND) - 17]) == WRONG


def test_anomalies_of_payloads_have_the_place_of_the_payload():
    frame = framed(TRAILING["plain"], OFFSETS)
    (note,) = outlined(frame).anomalies
    assert (note.code, note.path) == ("TRAILING_BYTES", f"{RECORDS}[0].records[1].value")
    assert bytes(frame.data[note.offset : note.offset + 2]) == b"\xee\xee"


@pytest.mark.parametrize(
    ("records", "topic", "code", "path"),
    [
        (TRAILING["gzip"], OFFSETS, "TRAILING_BYTES", "records[1].value"),
        (wrapper(inner=message(value=b"v")[:-1] + b"w"), "orders", "CRC_MISMATCH", "records[0].crc"),
    ],
    ids=["payload", "message"],
)
def test_anomalies_in_decompressed_records_have_no_place(records, topic, code, path):
    (note,) = outlined(framed(records, topic)).anomalies
    assert (note.code, note.path, note.offset) == (code, f"{RECORDS}[0].{path}", UNPLACED)
    (item,) = kwire_cli.read_records(records, topic=topic)
    outline = of_item(REDACTION.catalog, item, item.source, REDACTION.reading(), full=True)
    assert [(note.code, note.path, note.offset) for note in outline.anomalies] == [(code, path, UNPLACED)]


def test_an_anomaly_of_compressed_bytes_has_the_place_of_these():
    packed = batch(records=[record()], codec=1, packed=b"no gzip")
    frame = framed(packed)
    (note,) = outlined(frame).anomalies
    assert (note.code, note.path) == ("DECOMPRESSION_FAILED", f"{RECORDS}[0].records")
    assert bytes(frame.data[note.offset : note.offset + 7]) == b"no gzip"


def test_hidden_records_tell_no_anomalies():
    frame = framed(WRONG)
    spans = frozenset(range(len(frame.body.spans)))
    outline = of_frame(REDACTION.catalog, frame, {"body": spans}, REDACTION.reading(), full=True)
    assert outline.anomalies == []
