"""Lines of whole logs made in one go, held against those made batch by batch."""

import json

import orjson
from hypothesis import given, strategies as st
from kit.logs import batch, record, segments

from kwire_cli.message.roles import RecordsAs
from kwire_cli.records.reading import Reader, read_items, source_of
from kwire_cli.view.batch_json import Lines, field_text, line_pieces, quick_lines

LABELS = ({}, {"file": "100%d/ü.log"})
RECORDS = st.lists(
    st.builds(
        record,
        key=st.none() | st.binary(max_size=200),
        value=st.none() | st.binary(max_size=300),
        offset=st.integers(0, 300),
        timestamp=st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 20000),
        headers=st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3),
    ),
    max_size=6,
)
BATCHES = st.builds(
    lambda base, records, attributes, codec, last, extra: batch(
        base, records, codec=codec, lastOffsetDelta=last, **extra, attributes=attributes | codec
    ),
    st.integers(0, (1 << 63) - 1) | st.integers(0, 1000),
    RECORDS,
    st.sampled_from([0, 0, 0, 8, 16, 32, 64, 128]),
    st.sampled_from([0, 0, 4]),
    st.sampled_from([400, 400, 0, -1, (1 << 31) - 1]),
    st.fixed_dictionaries(
        {},
        optional={
            "recordsCount": st.integers(-1, 7),
            "baseSequence": st.integers(-1, 1 << 30),
            "producerId": st.just(5),
        },
    ),
)


def both(data, label, *, deep, topic=None):
    """The lines made in one go as far as that goes and then batch by batch, and all batch by batch."""
    source = source_of(data, topic=topic)
    reader = Reader(source)
    lines = Lines(label, None, deep)
    quick = b"".join(quick_lines(source, reader, lines))
    quick += b"".join(piece for item in reader.items() for piece in line_pieces(item, label=label, deep=deep))
    odd = [False]
    slow = b""
    upto = quick.count(b"\n")
    for number, item in enumerate(read_items(source)):
        notes = []
        slow += b"".join(line_pieces(item, label=label, deep=deep, notes=notes))
        if number < lines.batches:
            odd.append(bool(notes or item.notes))
    assert slow.count(b"\n") == upto
    assert lines.odd == any(odd)
    return quick, slow


@given(
    st.lists(BATCHES, max_size=4), st.sampled_from(LABELS), st.booleans(), st.sampled_from([None, "__consumer_offsets"])
)
def test_lines_are_those_made_batch_by_batch(batches, label, deep, topic):
    quick, slow = both(b"".join(batches), label, deep=deep, topic=topic)
    assert quick == slow


@given(st.lists(BATCHES, min_size=1, max_size=3), st.booleans(), st.data())
def test_damage_is_shown_as_batch_by_batch(batches, deep, data):
    damaged = bytearray(b"".join(batches))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    quick, slow = both(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]), {}, deep=deep)
    assert quick == slow


@given(st.lists(BATCHES, max_size=3), st.none() | st.integers(0, 1 << 16))
def test_a_field_holds_its_batches_one_by_one(batches, damage):
    data = bytearray(b"".join(batches))
    if damage is not None and data:
        data[damage % len(data)] ^= 0x41
    assert json.loads(orjson.dumps(field_text(RecordsAs())(bytes(data)))) == [
        item.to_json(deep=True) for item in read_items(source_of(bytes(data)))
    ]


def test_samples_are_shown_as_batch_by_batch():
    for folder, data in segments().items():
        for deep in (False, True):
            quick, slow = both(data, LABELS[1], deep=deep, topic=folder.rpartition("-")[0])
            assert quick == slow


def test_many_records_and_many_names():
    records = [record(b"k", b"v", offset=i, headers=[(f"h{i}", None)]) for i in range(1500)]
    data = (
        batch(0, records, lastOffsetDelta=1499)
        + batch(1500, records[:513], lastOffsetDelta=512)
        + batch(3000, [record()])
    )
    quick, slow = both(data, {}, deep=True)
    assert quick == slow
    assert b'"h1499"' in quick
