import json
import tracemalloc

import pytest
from kit.messages import FLEXIBLE, as_kafka_prints, definition, field, sample, shared, without_unknown_tags

from kwire_cli.engine import program, tree
from kwire_cli.engine.lower import entry_for
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import Row, places
from kwire_cli.engine.values import anomalies, value
from kwire_cli.facts.costs.ledger import ledger
from kwire_cli.message.decoded import decode
from kwire_cli.message.encode import encode, encode_spec
from kwire_cli.structs.messages import declare


def check(row):
    decoded = decode(row.catalog, row.body, row.message, row.version)
    assert decoded.anomalies == []
    value = decoded.value
    assert declare(decoded.spec, row.version).parse(row.body) == value
    shown = as_kafka_prints(value) if "ecords" in str(row.json) else without_unknown_tags(value)
    assert shown == row.json
    return decoded


def test_golden_bodies_are_read_and_written_as_kafka_does():
    """The value, the spans that cover a body once and in order, and the bytes that its documents are encoded to."""
    for row in sample():
        decoded = check(row)
        assert b"".join(row.body[span.start : span.end] for span in decoded.spans) == row.body
        spans = walk(entry_for(row.catalog.message(row.message), row.version), row.body)
        starts = [spans.start, *spans.end]
        assert starts.pop() == spans.stop
        assert all(at <= first <= end for at, first, end in zip(starts, spans.value, spans.end, strict=True))
        assert spans.lost < 0
        assert spans.used == len(row.body)
        assert not spans.flags
        for document in (decoded.value, decoded.to_json(records="base64"), decoded.to_json(lossless=True)):
            assert encode(row.catalog, json.loads(json.dumps(document)), row.message, row.version) == row.body
        assert decoded.to_json(lossless=True) == decoded.value


@pytest.mark.slow  # all golden bodies; the sample has its own test
@pytest.mark.shared
def test_all_golden_bodies_are_read_and_written_as_kafka_does():
    for row in shared():
        decoded = check(row)
        assert encode_spec(decoded.spec, decoded.value, row.version) == row.body
        assert sum(cost.prefix_bytes + cost.value_bytes for cost in ledger(decoded)) == len(row.body)


def test_every_item_has_a_path_of_its_own_kind():
    for row in sample():
        decoded = decode(row.catalog, row.body, row.message, row.version)
        seen = [
            (path, type(item.node).__name__, getattr(item.node, "kind", "")) for path, item in places(decoded.tree.root)
        ]
        assert len(seen) == len(set(seen))


def seen(built, *, keep):
    return [
        (path, item.node, item.start, item.end, item.index, item.span, item.tag, item.whole, len(item.parts))
        for path, item in places(built.root, keep=keep)
    ]


def every_cut():
    """Bodies whole, cut short, and with what is not canonical."""
    for row in sample():
        entry = entry_for(row.catalog.message(row.message), row.version)
        for data in (
            row.body,
            row.body[: len(row.body) // 2],
            row.body[:-1],
            bytes(b ^ (i % 5 == 4) for i, b in enumerate(row.body)),
        ):
            yield entry, walk(entry, data)


@pytest.mark.parametrize("long", [1, 2, 32])
def test_a_row_is_what_its_parts_would_be(long, monkeypatch):
    monkeypatch.setattr(tree, "LONG_ROW", long)
    rows = [tree.build(entry, spans) for entry, spans in every_cut()]
    assert any(
        isinstance(item.node, program.Array) and isinstance(item, Row)
        for built in rows
        for _, item in places(built.root)
    ) == (long < 32)
    rows = [tree.build(entry, spans) for entry, spans in every_cut()]
    monkeypatch.setattr(tree, "LONG_ROW", 1 << 40)
    monkeypatch.setattr(tree._Builder, "flat", lambda *_: 0)
    for built, (entry, spans) in zip(rows, every_cut(), strict=True):
        plain = tree.build(entry, spans)
        assert not any(isinstance(item, Row) for _, item in places(plain.root))
        assert value(built.root, built) == value(plain.root, plain)
        assert anomalies(built) == anomalies(plain)
        assert [*tree.leaves(built)] == [*tree.leaves(plain)]
        assert seen(built, keep=False) == seen(built, keep=True) == seen(plain, keep=True)


def test_parts_of_a_row_are_kept_where_they_were_asked_for():
    spec = definition(field("[]S", fields=[{"name": "A", "type": "int8"}, {"name": "B", "type": "string"}]))
    entry = entry_for(spec, FLEXIBLE)
    built = tree.build(entry, walk(entry, b"\3\7\2x\0\7\2y\0\0"))
    elements = built.root.parts[0].parts[1:]
    assert [type(element) for element in elements] == [Row, Row]
    assert [id(item) for _, item in places(built.root)] == [id(item) for _, item in places(built.root)]
    with pytest.raises(AttributeError):
        elements[0].other  # noqa: B018


ROWS = [
    (definition(field("[]S", fields=[{"name": name, "type": "int16"} for name in "ABCD"])), 0, 8),
    (definition(field("[]S", fields=[{"name": name, "type": "int16"} for name in "ABCD"])), FLEXIBLE, 9),
    (definition(field("[]S", fields=[{"name": "A", "type": "string"}, {"name": "B", "type": "int32"}])), 0, 6),
    (definition(field("[]int8")), 0, 1),
]


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "version", "size"), ROWS)
def test_a_tree_of_many_small_fields_is_not_a_hundred_times_its_bytes(spec, version, size):
    count = 16383
    data = ((count + 1).to_bytes(4, "big") if not version else b"\x80\x80\x01") + bytes(
        size * (count + 1 - bool(version)) + bool(version)
    )
    entry = entry_for(spec, version)
    tracemalloc.start()
    try:
        built = tree.build(entry, walk(entry, data))
        held = tracemalloc.get_traced_memory()[0]
        assert not anomalies(built)
    finally:
        tracemalloc.stop()
    assert built.gap is None
    assert held <= 80 * len(data)
