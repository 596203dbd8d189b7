"""Every byte of every sample is explained once, by rules that there are."""

import pytest
from kit.commands import ROOT
from kit.logs import segments
from kit.messages import sample, shared
from kit.traffic import Wire

import kwire_cli as kwire
from kwire_cli.message.decoded import decode, decode_spec
from kwire_cli.message.encode import encode_spec
from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read_all
from kwire_cli.message.roles import RecordsAs
from kwire_cli.records.layouts import LAYOUTS
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.view.explain.messages import explain_body, explain_frame, explain_items
from kwire_cli.view.explain.model import Heading, Look, Skipped, Step
from kwire_cli.view.explain.rules import RULES

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
    return explain_body(body, look(every))


@pytest.mark.parametrize("rows", [sample, pytest.param(shared, marks=[pytest.mark.slow, pytest.mark.shared])])
def test_every_byte_of_golden_bodies_is_explained_once(rows):
    rules = set()
    for row in rows():
        rules |= covered(body_events(row, every=True), 0, len(row.body))
        covered(body_events(row, every=False), 0, len(row.body))
    numbers = {"bool", "int8", "int16", "int32", "int64", "uint16", "uint32", "float64", "uuid"}
    lengths = {"length.int16", "length.int32", "length.compact", "count.int32", "count.compact"}
    others = {"presence.int8", "presence.uvarint", "tags.count", "tag.number", "tag.size", "tag.unknown"}
    absent = set() if rows is shared else {"presence.uvarint"}  # which no body of the sample has
    assert rules >= (numbers | lengths | others | {"utf8", "bytes", "records"}) - absent


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("name", sorted(segments()))
def test_every_byte_of_the_segments_is_explained_once(name, every):
    data = segments()[name]
    topic = name.rpartition("-")[0]
    source = source_of(data, topic=topic, catalog=CATALOG)
    covered(explain_items(read_items(source), look(every), source), 0, len(data))


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("name", ["kafka-python-4.4.0.pcapng", "sarama-0.8.2.0-3.9.2.pcapng", "not-kafka.pcapng"])
def test_every_byte_of_the_frames_of_a_capture_is_explained_once(name, every):
    lines = [line for line in traffic(CATALOG, Capture(str(ROOT / "samples" / "captures" / name))) if line.frame]
    assert len(lines) >= 6
    for line in lines:
        frame = line.frame
        reading = RecordsAs(CATALOG, names=line.names.topic)
        covered(explain_frame(frame, {}, Look(every, reading), asked=line.asked), frame.start, frame.stop)


RECORDS = [
    {"key": "aw==", "value": "dg==", "headers": []},
    {"key": None, "value": "dg=="},
    {"key": "aw==", "value": None},
]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("form", LAYOUTS)
def test_every_byte_of_every_record_format_is_explained_once(form, codec):
    rows = [
        {key: value for key, value in row.items() if key != "headers" or form in {"v2", "kip82-draft"}}
        for row in RECORDS
    ]
    data = kwire.write_records([{"records": rows, "compression": codec}], form)
    source = source_of(data, form=form)
    events = list(explain_items(read_items(source), look(every=True), source))
    rules = covered(events, 0, len(data))
    assert rules & {"crc32", "crc32c"}
    assert not any(event.anomalies for event in events if isinstance(event, Step))
    packed = [event for event in events if isinstance(event, Heading) and event.part.buffer.own]
    assert bool(packed) == (codec != "none")


@pytest.mark.parametrize(
    ("overlay", "rule"), [("all-packed", "packed"), ("all-upacked", "upacked"), ("metadata-v14", "upacked")]
)
def test_proposed_encodings_have_rules(overlay, rule):
    catalog = kwire.catalog(overlay)
    spec = catalog.message("MetadataResponse")
    version = spec.valid_versions.high
    value = kwire.decode(metadata(), message="MetadataResponse", version=13).value
    data = encode_spec(spec, value, version)
    body = decode_spec(spec, data, version)
    assert rule in covered(explain_body(body, look(every=True)), 0, len(data))


def metadata():
    (frame,) = kwire.read_frames(ROOT / "samples" / "frames" / "metadata-v13-response.hex")
    return bytes(frame.data[9:])


def test_what_is_packed_is_explained_from_its_first_byte_to_its_last():
    for name in ("orders-zstd-0", "v0-kp-snappy-0", "v1-kp-gzip-0"):
        source = source_of(segments()[name])
        events = list(explain_items(read_items(source), look(every=True), source))
        parts = [event.part for event in events if isinstance(event, Heading) and event.part.buffer.own]
        assert parts
        for part in parts:
            steps = [event for event in events if isinstance(event, Step) and event.part is part]
            assert [step.start for step in steps] == [part.tree.root.start, *(step.end for step in steps[:-1])]
            assert steps[-1].end == part.tree.root.end


@pytest.mark.parametrize("cut", range(0, 54, 3))
def test_a_frame_that_is_cut_anywhere_is_explained_to_its_last_byte(cut):
    frame = Wire.request("ApiVersions", 5, 0, "admin-all", clientSoftwareName="java", clientSoftwareVersion="4.4.0")
    for each in read_all(CATALOG, frame[:cut], Hints(kind="request"), framed=True):
        covered(explain_frame(each, {}, look(every=False)), each.start, each.stop)


@pytest.mark.shared
def test_hostile_bodies_are_explained_to_the_last_byte():
    for number, row in enumerate(shared()):
        if number % 23 or not row.body:
            continue
        data = bytearray(row.body[: max(len(row.body) * 2 // 3, 1)])
        data[number % len(data)] ^= 0xFF
        body = decode(row.catalog, bytes(data), row.message, row.version)
        covered(explain_body(body, look(every=False)), 0, len(data))
