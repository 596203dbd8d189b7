"""What a meter counts is what the spans say; whatever is odd it leaves alone."""

from hypothesis import given, strategies as st
from kit.commands import ROOT
from kit.logs import SEGMENTS, batch, record

from kwire_cli.engine.lower import records_entry
from kwire_cli.engine.spans import walk
from kwire_cli.facts.costs.record_sets import meter
from kwire_cli.records.batch import Batch
from kwire_cli.records.compression import decompress
from kwire_cli.records.reading import items, source_of
from kwire_cli.structs.records import v2


def by_spans(area):
    """Prefix bytes, value bytes and number of each field."""
    spans = walk(records_entry(v2.RECORDS), area, 0, len(area))
    out, start = {}, 0
    for node, value, end in zip(spans.node, spans.value, spans.end, strict=True):
        row = out.setdefault(spans.program.leaves[node].path.removeprefix("records[]."), [0, 0, 0])
        for at, size in enumerate((value - start, end - value, 1)):
            row[at] += size
        start = end
    return out, bool(spans.flags) or spans.lost >= 0


def contents(area):
    """The bytes of each record from the length of its key on."""
    spans = walk(records_entry(v2.RECORDS), area, 0, len(area))
    paths = [spans.program.leaves[node].path for node in spans.node]
    keys = [spans.end[at - 1] for at, path in enumerate(paths) if path == "records[].key"]
    ends = [spans.end[at - 1] for at, path in enumerate(paths) if path == "records[].length" and at] + [len(area)]
    return [end - start for start, end in zip(keys, ends, strict=False)]


def metered(area):
    sums = meter().sums()
    found = meter().count(area, 0, len(area), sums)
    named = {leaf.path.removeprefix("records[]."): numbers for leaf, *numbers in meter().totals(sums)}
    return found, named, sums


def areas():
    """The records of all batches of format v2 in the samples."""
    for path in sorted([*SEGMENTS.glob("*/*.log"), *(ROOT / "samples" / "logs").glob("*/*.log")]):
        for item in items(source_of(path)):
            if isinstance(item, Batch) and item.layout.name == "v2":
                packed = bytes(item.data[item.position + item.layout.head.size : item.end])
                yield decompress(item.head.codec, packed, item.source.limits)[0] if item.head.codec else packed


def test_on_samples_it_counts_what_the_spans_say():
    seen = 0
    for area in areas():
        spans, odd = by_spans(area)
        found, named, _ = metered(area)
        if not odd:
            assert named == spans
            assert found[0] == spans.get("length", [0, 0, 0])[2]
            seen += 1
    assert seen > 100


TEXT = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.builds(
        record,
        TEXT,
        TEXT,
        st.integers(-5, 1 << 20),
        st.integers(-(1 << 40), 1 << 40),
        st.lists(st.tuples(st.text(max_size=5), TEXT), max_size=70),
    ),
    max_size=5,
)


@given(RECORDS)
def test_on_any_records_it_counts_what_the_spans_say(records):
    area = v2.RECORDS.build({"records": records})
    found, named, sums = metered(area)
    spans, _ = by_spans(area)
    assert named == spans
    assert found == (
        len(records),
        sum(spans.get(name, [0, 0, 0])[1] for name in ("key", "value", "headers[].key", "headers[].value")),
    )
    assert sum(numbers[0] + numbers[1] for numbers in named.values()) == len(area)
    assert sums[-1] == max(contents(area), default=0)


@given(RECORDS.filter(bool), st.data())
def test_what_is_odd_is_left_to_the_spans(records, data):
    damaged = bytearray(v2.RECORDS.build({"records": records}))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    area = bytes(damaged[: data.draw(st.integers(1, len(damaged)))])
    spans, odd = by_spans(area)
    found, named, sums = metered(area)
    if found is None:
        assert sums == meter().sums()
    else:
        assert not odd
        assert named == spans


def test_the_largest_is_kept():
    area = v2.RECORDS.build(
        {"records": [record(b"k" * 5, b"v" * 300), record(None, b"", headers=[("h", b"x" * 10), ("i", None)])]}
    )
    _, _, sums = metered(area)
    # From the length of the key on: two lengths of 1 and 2 bytes, and the count of headers.
    assert sums[-1] == 1 + 5 + 2 + 300 + 1


def test_sums_of_two_batches_add_up():
    first, second = ((batch(records=[record(b"a", b"b")] * n))[61:] for n in (1, 2))
    sums = meter().sums()
    assert meter().count(first, 0, len(first), sums) == (1, 2)
    assert meter().count(second, 0, len(second), sums) == (2, 4)
    assert sums == metered(first + second)[2]
