"""The parts of any input add up to its size, whoever its bytes are grouped by."""

import io
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from kit.captures import CHOSEN
from kit.commands import ROOT, examples, slow
from kit.messages import SHARED, sample, shared

import kwire_cli as kwire
from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.engine.program import holds_records
from kwire_cli.facts.costs.batch_sizes import BatchSizes
from kwire_cli.facts.costs.columns import owners_of
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.facts.costs.ledger import Ledger
from kwire_cli.facts.costs.record_sets import RecordSets
from kwire_cli.message.decoded import decode
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.view.answers import answer_document

CATALOG = kwire.catalog()
GROUPINGS = (
    (),
    ("api",),
    ("client", "version"),
    ("topic",),
    ("client", "topic", "partition"),
    ("broker", "stream", "message"),
)


def captures(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in {".pcap", ".pcapng", ".cap"})


def segments(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in {".log", ".checkpoint"} and path.is_file())


def tables_of(costs, dimensions):
    """The tables of bytes by these dimensions, and the facts."""
    document = answer_document(Overhead(dimensions, costs).answer())
    return [rows for name, rows in document["tables"].items() if name.startswith("by")], document["facts"]


def size_of(ledger):
    return sum(row.prefix_bytes + row.value_bytes for row in ledger.rows())


def check_capture(path, groupings):
    counted = {dimensions: Costs(CATALOG, owners_of(dimensions)) for dimensions in groupings}
    capture, size = Capture(str(path)), 0
    for line in traffic(CATALOG, capture, waiting_since=capture.streams.waiting_since):
        size += line.seen.size
        for costs in counted.values():
            costs.add(line)
    for dimensions, costs in counted.items():
        assert costs.size == size
        tables, facts = tables_of(costs, [(name,) for name in (*dimensions, "field", "kind")])
        for rows in tables[: len(dimensions) + 2]:
            assert sum(row["bytes"] for row in rows) == facts["bytes"] == costs.size
        for row in (*costs.ledger.rows(), *costs.inside.rows()):
            assert row.prefix_bytes >= 0
            assert row.value_bytes >= 0


@pytest.mark.parametrize(
    "path", [*CHOSEN[::3], *(slow(path) for path in CHOSEN if path not in CHOSEN[::3])], ids=lambda path: path.name
)
def test_captures(path):
    """Each grouping meets a third of them."""
    check_capture(path, GROUPINGS[CHOSEN.index(path) // 3 % 3 :: 3])


@pytest.mark.slow
@pytest.mark.shared
def test_every_third_real_capture():
    found = captures(SHARED / "real")
    assert len(found) > 40
    for number, path in enumerate(found[::3]):
        check_capture(path, [GROUPINGS[number % len(GROUPINGS)]])


def check_body(row):
    """Bodies whole, cut and with more behind them, by any grouping; and by path what the ledger says."""
    for data in (row.body, row.body[: len(row.body) // 2], row.body + b"\1\2"):
        decoded = decode(row.catalog, data, row.message, row.version)
        for dimensions in ((), ("topic", "partition")):
            costs = Costs(row.catalog, dimensions)
            costs.add(decoded)
            assert size_of(costs.ledger) == costs.size == len(data)
        rows = kwire.ledger(decoded)
        own = Counter({cost.path: cost.prefix_bytes + cost.value_bytes for cost in rows})
        assert (own.total(), len(own)) == (len(data), len(rows))
        if not holds_records(decoded.entry):  # which are opened here
            found = Counter()
            for spent in costs.ledger.rows():
                found[spent.path] += spent.prefix_bytes + spent.value_bytes
            assert found == own


def test_golden_bodies():
    for row in sample():
        check_body(row)


@pytest.mark.slow  # all golden bodies; the sample has its own test
@pytest.mark.shared
def test_all_golden_bodies():
    for row in shared():
        decoded = decode(row.catalog, row.body, row.message, row.version)
        costs = Costs(row.catalog, ("topic",))
        costs.add(decoded)
        assert size_of(costs.ledger) == len(row.body), row


def check_segment(path):
    data = path.read_bytes()
    costs = Costs(CATALOG, ("topic",))
    *_, last = [0, *costs.records(memoryview(data), "t", 0, "auto")]
    assert last == len(data)
    assert size_of(costs.ledger) == costs.size == len(data)
    assert_walked_is_the_same(data)


def assert_walked_is_the_same(data):
    """What is measured is what the spans say, of the statistics too."""
    found = []
    for measured in (True, False):
        sets = RecordSets(Ledger(), Ledger(), BatchSizes(), produced=True)
        if not measured:
            sets._measure = lambda *_: None
        sets.add(data, 0, len(data))
        rows = [sorted(side.rows(), key=lambda row: (row.path, row.kinds)) for side in (sets.wire, sets.inside)]
        found.append((rows, sets.sizes, sets.largest_batch, sets.largest_record))
    assert found[0] == found[1]


@pytest.mark.parametrize("path", segments(ROOT / "samples"), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_segments(path):
    check_segment(path)


@pytest.mark.slow  # all real segments
@pytest.mark.shared
def test_all_real_segments():
    found = segments(SHARED / "real")
    assert len(found) > 100
    for path in found:
        check_segment(path)


@examples(60)
@given(
    st.sampled_from(segments(ROOT / "samples")),
    st.sampled_from(["auto", "v0", "v1", "v2", "kip98-draft", "kip82-draft"]),
    st.data(),
)
def test_damaged_record_sets(path, form, data):
    damaged = bytearray(Path(path).read_bytes()[: data.draw(st.integers(1, 2500))])
    for _ in range(data.draw(st.integers(0, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    sets = RecordSets(Ledger(), Ledger(), BatchSizes(), form=form)
    sets.add(bytes(damaged), 0, len(damaged))
    assert size_of(sets.wire) == len(damaged)


@examples(60)
@given(st.sampled_from(sample()), st.data())
def test_damaged_bodies(row, data):
    damaged = bytearray(row.body)
    for _ in range(data.draw(st.integers(0, 6)) if damaged else 0):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    decoded = decode(row.catalog, bytes(damaged), row.message, row.version)
    costs = Costs(row.catalog, ("topic", "partition"))
    costs.add(decoded)
    assert size_of(costs.ledger) == len(damaged)


@examples(20)
@given(st.sampled_from(captures(ROOT / "samples")), st.sampled_from(GROUPINGS), st.data())
def test_damaged_captures(path, dimensions, data):
    damaged = bytearray(path.read_bytes()[: data.draw(st.integers(200, 12000))])
    for _ in range(data.draw(st.integers(1, 30))):
        damaged[data.draw(st.integers(100, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    costs = Costs(CATALOG, owners_of(dimensions))
    capture = Capture(io.BytesIO(bytes(damaged)))
    for line in traffic(CATALOG, capture, waiting_since=capture.streams.waiting_since):
        costs.add(line)
    [by_field, by_kind, *_], facts = tables_of(costs, [("field",), (*dimensions, "kind")])
    assert sum(row["bytes"] for row in by_field) == sum(row["bytes"] for row in by_kind) == facts["bytes"] == costs.size


@pytest.mark.parametrize("form", ["kip98-draft", "kip82-draft", "v1", "v0", "v2"])
def test_every_format_written(form):
    values = [{"key": "aw==", "value": "djE="}, {"key": None, "value": "djI="}]
    for codec in ("none", "gzip"):
        layout = {"kip98-draft": 2, "kip82-draft": 2}.get(form, int(form[-1]) if form[0] == "v" else 2)
        data = kwire.write_records(
            [{"magic": layout, "compression": codec, "records": values}], form if "draft" in form else "auto"
        )
        sizes = BatchSizes()
        sets = RecordSets(Ledger(), Ledger(), sizes, form=form)
        sets.add(data, 0, len(data))
        assert size_of(sets.wire) == len(data)
        [(batches, records, _, _, packed, unpacked)] = sizes.sums.values()
        assert batches >= 1
        assert records == 2
        assert (
            sum(
                row.value_bytes
                for row in (*sets.wire.rows(), *sets.inside.rows())
                if row.kinds[1] in {"record key", "record value"}
            )
            == 5
        )
        if codec == "gzip":
            assert unpacked == size_of(sets.inside) > 0
            assert packed == sum(row.value_bytes for row in sets.wire.rows() if row.kinds[1] == "compressed records")
