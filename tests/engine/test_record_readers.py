"""The readers of records against the kernel: all samples, and mutations of them."""

import base64
import random
from types import MappingProxyType

from hypothesis import given, strategies as st
from kit.logs import SEGMENTS, record
from kit.peers import mutated, summed

from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.python_source import Counter, Sink
from kwire_cli.engine.reader import records_counter, records_reader
from kwire_cli.engine.spans import walk
from kwire_cli.engine.tree import build
from kwire_cli.engine.values import anomalies, value
from kwire_cli.records.batch import Batch
from kwire_cli.records.compression import decompress
from kwire_cli.records.reading import items, source_of
from kwire_cli.structs.records import v2


class Rows(Sink):
    """Records as tuples."""

    names = MappingProxyType({name: name for name in ("timestampDelta", "offsetDelta", "key", "value", "headers")})
    empty = "()"

    def keeps(self, node, *, top):  # noqa: ARG002 - as the sink has it
        return node.name != "attributes"

    def data(self, node, data, size):  # noqa: ARG002 - as above
        return data

    def array(self, out, name):
        out.add(f"{name} = tuple({name})")

    def only(self, value):
        return f"({value},)"

    def struct(self, out, pairs):  # noqa: ARG002 - as above
        return f"({', '.join(value for _, value in pairs)},)"


RECORDS = records_entry(v2.RECORDS)
READ = records_reader(
    RECORDS,
    Rows(),
    ("base",),
    ("offset = base + offsetDelta", "add((offset, timestampDelta, key, value, headers, key_at, value_at))"),
    "offset",
)
COUNT = records_counter(RECORDS, Counter(RECORDS.program))


def areas():
    """The records of all batches of format v2 in the samples."""
    for path in sorted([*SEGMENTS.glob("*/*.log"), *(SEGMENTS.parent / "logs").glob("*/*.log")]):
        for item in items(source_of(path)):
            if isinstance(item, Batch) and item.layout.name == "v2":
                packed = bytes(item.data[item.position + item.layout.head.size : item.end])
                yield decompress(item.head.codec, packed, item.source.limits)[0] if item.head.codec else packed


def raw(data):
    return None if data is None else base64.b64decode(data)


def check_records(area):
    """Hold the reader and the counter of records against the spans; return how many records the reader took, and of how
    many.
    """
    spans = walk(RECORDS, area)
    tree = build(RECORDS, spans)
    whole = not (spans.flags or spans.lost >= 0 or anomalies(tree))
    expected = value(tree.root, tree)["records"] if spans.node else []
    found, upto, right, taken, last = READ(area, 0, len(area), 1 << 20, 100)
    assert right == (upto == len(area))
    assert right or not whole
    assert taken == len(found)
    if whole:
        assert taken == len(expected)
    if found:
        assert last == found[-1][0]
    for (offset, delta, key, data, headers, key_at, value_at), say in zip(found, expected, strict=False):
        assert (offset - 100, delta, key, data) == (
            say["offsetDelta"],
            say["timestampDelta"],
            raw(say["key"]),
            raw(say["value"]),
        )
        assert headers == tuple((each["key"], raw(each["value"])) for each in say["headers"])
        assert key is None or area[key_at : key_at + len(key)] == key
        assert data is None or area[value_at : value_at + len(data)] == data
    sums = COUNT.sums()
    counted = COUNT.count(area, 0, len(area), sums)
    assert (counted is None) == (not right)
    if counted is None:
        assert sums == COUNT.sums()
    else:
        assert counted[0] == taken
        texts = [
            each
            for _, _, key, data, headers, *_ in found
            for each in (key, data, *(part for header in headers for part in header))
        ]
        assert counted[1] == sum(
            len(each.encode() if isinstance(each, str) else each) for each in texts if each is not None
        )
        totals = {leaf.id: numbers for leaf, *numbers in COUNT.totals(sums)}
        assert totals == summed(spans)
    return taken, len(expected)


def test_records_of_the_samples():
    assert sum(taken for taken, _ in map(check_records, areas())) > 500


def test_mutations_of_records():
    rng = random.Random(18)
    for area in areas():
        if len(area) < 5000:
            check_records(mutated(area, rng))


TEXT = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(st.characters(exclude_categories=("Cs",)), max_size=5), TEXT), max_size=70)
ANY = st.lists(
    st.builds(record, TEXT, TEXT, st.integers(-5, 1 << 20), st.integers(-(1 << 40), 1 << 40), HEADERS), max_size=5
)


@given(ANY, st.integers(0, 1 << 32))
def test_any_records(records, seed):
    area = v2.RECORDS.build({"records": records})
    assert check_records(area) == (len(records), len(records))
    check_records(mutated(area, random.Random(seed)))


def test_records_are_read_some_at_a_time():
    area = v2.RECORDS.build({"records": [record(b"k", b"v", number) for number in range(10)]})
    first = READ(area, 0, len(area), 4, 0)
    assert (len(first[0]), first[2:]) == (4, (True, 4, 3))
    again = READ(area, first[1], len(area), 100, 0)
    assert again[1:] == (len(area), True, 6, 9)
    assert READ(area, len(area), len(area), 4, 0) == ([], len(area), True, 0, 0)
