"""Every byte of every sample is explained once, by rules that there are."""

import pytest
from golden_rows import sample, shared
from record_sets import segments

import kwire_cli as kwire
from kwire_cli.explain.batches import explain_items
from kwire_cli.explain.messages import Look, body_part, explain_body, explain_frame
from kwire_cli.explain.model import Part, Skipped, Step
from kwire_cli.explain.rules import RULES
from kwire_cli.message.decoded import decode
from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read_all
from kwire_cli.message.record_fields import RecordsAs
from kwire_cli.records.opening import source_of
from kwire_cli.records.reading import read_items

CATALOG = kwire.catalog()


def look(every):
    return Look(every, RecordsAs(CATALOG))


def covered(events, start, stop, level=0):
    """What the events at one level cover, from start to stop, once and in order; all rules that they name."""
    at, rules = start, set()
    for event in events:
        if isinstance(event, Step):
            rules |= {piece.rule for piece in event.pieces}
            inside = event.start
            for piece in event.pieces:
                assert piece.start == inside
                inside = piece.end
            assert inside == event.end
        if isinstance(event, Step | Skipped) and event.level == level:
            assert event.start == at, event
            at = event.end
    assert at == stop
    assert rules <= RULES.keys()
    return rules


def body_events(row, every):
    body = decode(row.catalog, row.body, row.message, row.version)
    return explain_body(body_part("body", body), body, look(every))


@pytest.mark.parametrize("every", [True, False])
def test_every_byte_of_the_golden_sample_is_explained_once(every):
    for row in sample():
        covered(body_events(row, every), 0, len(row.body))


@pytest.mark.shared
def test_every_byte_of_all_golden_bodies_is_explained_once():
    rules = set()
    for row in shared():
        rules |= covered(body_events(row, every=True), 0, len(row.body))
    numbers = {"bool", "int8", "int16", "int32", "int64", "uint16", "uint32", "float64", "uuid"}
    lengths = {"length.int16", "length.int32", "length.compact", "count.int32", "count.compact", "presence.int8", "presence.uvarint"}
    assert rules >= numbers | lengths | {"tags.count", "tag.number", "tag.size", "tag.unknown", "utf8", "bytes", "records"}


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("name", sorted(segments()))
def test_every_byte_of_the_segments_is_explained_once(name, every):
    data = segments()[name]
    topic = name.rpartition("-")[0]
    source = source_of(data, topic=topic, catalog=CATALOG)
    covered(explain_items(read_items(source), look(every), data=source.data), 0, len(data))


def test_what_is_packed_is_explained_from_its_first_byte_to_its_last():
    for name in ("orders-zstd-0", "v0-kp-snappy-0", "v1-kp-gzip-0"):
        source = source_of(segments()[name])
        events = list(explain_items(read_items(source), look(every=True), data=source.data))
        parts = [event for event in events if isinstance(event, Part) and event.own]
        assert parts
        for part in parts:
            steps = [event for event in events if isinstance(event, Step) and event.part is part]
            assert [step.start for step in steps] == [part.tree.root.start, *(step.end for step in steps[:-1])]
            assert steps[-1].end == part.tree.root.end


@pytest.mark.parametrize("cut", range(0, 54, 3))
def test_a_frame_that_is_cut_anywhere_is_explained_to_its_last_byte(cut):
    frame = (
        bytes.fromhex("0000003200120005000000000009")
        + b"admin-all"
        + bytes.fromhex("0012")
        + b"apache-kafka-java"
        + b"\x064.4.0"
        + b"\0"
        + b"\xff" * 4
        + b"\0"
    )
    assert len(frame) == 54
    for each in read_all(CATALOG, frame[:cut], Hints(kind="request"), framed=True):
        covered(explain_frame(each, {}, look(every=False)), each.start, each.stop)


@pytest.mark.shared
@pytest.mark.fuzz
def test_hostile_bodies_are_explained_to_the_last_byte():
    for number, row in enumerate(shared()):
        if number % 23 or not row.body:
            continue
        data = bytearray(row.body[: max(len(row.body) * 2 // 3, 1)])
        data[number % len(data)] ^= 0xFF
        body = decode(row.catalog, bytes(data), row.message, row.version)
        covered(explain_body(body_part("body", body), body, look(every=False)), 0, len(data))
