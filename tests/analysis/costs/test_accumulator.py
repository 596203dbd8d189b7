"""Batches that would have been made, against such batches really written."""

from itertools import pairwise
from types import SimpleNamespace

from hypothesis import given, strategies as st

import kwire_cli as kwire
from kwire_cli.analysis.costs.batching import TRIED, Accumulators, Setting
from kwire_cli.analysis.costs.overhead import Overhead
from kwire_cli.facts.costs.counting import Costs
from kwire_cli.view.answers import answer_document

CATALOG = kwire.catalog()
BASE = 1_760_000_000_000


def record(time, value=b"x" * 10, key=None, headers=()):
    import base64

    def text(data):
        return None if data is None else base64.b64encode(data).decode()

    return {
        "timestamp": BASE + time,
        "key": text(key),
        "value": text(value),
        "headers": [{"key": name, "value": text(data)} for name, data in headers],
    }


def written(groups, **more):
    return sum(len(kwire.write_records([{"magic": 2, "records": group, **more}])) for group in groups)


NAMES = [name for name, _ in TRIED]


def outcome(settings, *batches, partition=0):
    accumulators = Accumulators([Setting(*each) for each in settings])
    costs = Costs(CATALOG, (), on_records=accumulators.add)
    data = kwire.write_records(list(batches))
    for _ in costs.records(memoryview(data), "t", partition, "auto"):
        pass
    return one_producer(accumulators)


def one_producer(accumulators):
    """Return what a producer sent, and what it would have sent under each setting."""
    sent, *others = [SimpleNamespace(**dict(zip(NAMES, row, strict=True))) for row in accumulators.rows()]
    return SimpleNamespace(sent=sent, made={(row.linger_ms, row.batch_size): row for row in others})


def document(accumulators):
    """Return the tables and notes about batching."""
    whole = answer_document(Overhead([("kind",)], Costs(CATALOG, ()), accumulators).answer())
    return {name: whole["tables"].get(name) for name in ("batching", "producers")}, whole.get("notes", [])


def batch(*records, **more):
    return {"magic": 2, "records": list(records), **more}


def test_records_that_come_within_linger_are_one_batch():
    records = [record(time) for time in (0, 4, 5, 9, 10, 100)]
    found = outcome([(0, 16384), (5, 16384), (50, 16384)], *(batch(each) for each in records))
    groups = {
        0: [[each] for each in records],
        5: [records[:2], records[2:4], records[4:5], records[5:]],
        50: [records[:5], records[5:]],
    }
    for (linger, _), made in found.made.items():
        assert made.batches == len(groups[linger])
        assert made.bytes == written(groups[linger])
    assert found.sent.bytes == written([[each] for each in records])
    # The first of a batch waits for all of linger.ms, the others for the rest of it.
    assert found.made[5, 16384].waited == (5 + 1) + (5 + 1) + 5 + 5


def test_records_of_one_millisecond_come_together():
    found = outcome([(0, 16384)], *(batch(record(3)) for _ in range(4)))
    assert found.made[0, 16384].batches == 1


def test_a_batch_that_is_full_is_sent():
    records = [record(0, b"x" * 100) for _ in range(10)]
    found = outcome([(5, size) for size in (1, 400, 500, 100_000)], batch(*records))
    counts = {size: made.batches for (_, size), made in found.made.items()}
    for size in (400, 500):
        fitting = max(n for n in range(1, 11) if written([records[:n]]) <= size)
        assert counts[size] == -(-10 // fitting)
    assert counts[1] == 10  # a record that is larger than batch.size has a batch of its own
    assert counts[100_000] == 1
    assert found.made[5, 400].waited == (10 % 3 or 3) * 5  # what is full does not wait


def test_compressed_records_shrink_as_those_of_their_batch_did():
    records = [record(0, b"abc" * 100) for _ in range(20)]
    found = outcome([(5, 1000), (5, 100_000)], batch(*records, compression="gzip"))
    assert found.sent.packed
    sent = kwire.write_records([batch(*records, compression="gzip")])
    assert found.sent.wire == len(sent)
    assert found.sent.bytes == written([records])
    assert round(found.made[5, 100_000].wire) == len(sent)
    # More fit into batch.size than would without compression.
    assert found.made[5, 1000].batches < 20 / 3


def test_partitions_and_producers_are_kept_apart():
    found = outcome(
        [(50, 16384)],
        batch(record(0), producerId=1, producerEpoch=0, baseSequence=0),
        batch(record(1)),
        batch(record(2)),
    )
    assert found.sent.partitions == 2
    assert found.made[50, 16384].batches == 2


def test_control_batches_are_no_producers():
    control = {
        "magic": 2,
        "isControl": True,
        "isTransactional": True,
        "records": [{"control": {"type": "COMMIT", "coordinatorEpoch": 0}}],
    }
    found = outcome([(0, 16384)], batch(record(0)), control)
    assert found.sent.records == 1


def test_batches_without_a_record_that_can_be_read_are_none_that_could_be_saved():
    damaged = bytearray(
        kwire.write_records(
            [batch(record(5, b"abc" * 100), compression="gzip", producerId=7, producerEpoch=0, baseSequence=0)]
        )
    )
    damaged[61:] = bytes(len(damaged) - 61)
    accumulators = Accumulators([Setting(500, 16384)])
    costs = Costs(CATALOG, (), on_records=accumulators.add)
    for _ in costs.records(memoryview(kwire.write_records([batch(record(0)), batch()]) + damaged), "t", 0, "auto"):
        pass
    sent = one_producer(accumulators).sent
    assert (sent.records, sent.partitions, sent.batches) == (1, 1, 1)
    assert document(accumulators)[1] == ["no pair would have saved anything"]


def test_records_of_other_formats_are_said():
    old = [{**batch({**record(time), "headers": []}), "magic": 1} for time in (0, 1)]
    found = outcome([(0, 16384)], *old, batch(record(2)))
    assert (found.sent.records, found.sent.older) == (3, 2)
    assert found.made[0, 16384].bytes == written([[record(time)] for time in (0, 1, 2)])


def test_requests_without_times_count_when_they_came(wire):
    def request(number):
        records = [{"magic": 0, "records": [{"key": None, "value": "YQ=="}]}]
        data = [{"name": "t", "partitionData": [{"index": 0, "records": records}]}]
        return wire.request("Produce", 1, number, acks=0, timeoutMs=1, topicData=data)

    accumulators = Accumulators([Setting(2, 16384), Setting(20, 16384)])
    costs = Costs(CATALOG, (), on_records=accumulators.add)
    for line in wire.lines(*((0, request(number)) for number in range(6))):  # a millisecond apart
        costs.add(line)
    found = one_producer(accumulators)
    assert found.sent.own_time == 0
    assert found.sent.records == 6
    assert [made.batches for made in found.made.values()] == [3, 1]


def test_each_client_has_a_pair_of_its_own(wire):
    def request(number, client):
        records = [{"magic": 2, "records": [record(number if client == "quick" else number * 40)]}]
        data = [{"name": "t", "partitionData": [{"index": 0, "records": records}]}]
        return wire.request("Produce", 3, number, client, transactionalId=None, acks=0, timeoutMs=1, topicData=data)

    accumulators = Accumulators([Setting(5, 16384), Setting(50, 16384)])
    costs = Costs(CATALOG, (), on_records=accumulators.add)
    for line in wire.lines(*((0, request(number, client)) for number in range(4) for client in ("quick", "slow"))):
        costs.add(line)
    tables, _ = document(accumulators)
    best = {row["client"]: (row["lingerMs"], row["batchSize"], row["batchesThen"]) for row in tables["producers"]}
    assert best == {"quick": (5, 16384, 1), "slow": (50, 16384, 2)}
    sent, *settings = tables["batching"]
    assert [row["batches"] for row in settings] == [5, 3]
    assert sent["batches"] == 8 == sum(row["batches"] for row in tables["producers"])


TIMES = st.lists(st.integers(0, 300), min_size=1, max_size=30).map(sorted)


@given(
    TIMES,
    st.lists(
        st.tuples(st.none() | st.binary(max_size=90), st.none() | st.binary(max_size=150)), min_size=30, max_size=30
    ),
    st.integers(0, 120),
    st.sampled_from([100, 300, 1000, 16384]),
)
def test_any_records_make_the_batches_that_a_plain_producer_would(times, contents, linger, batch_size):
    records = [
        record(time, value, key, [("h", key)] if value else ())
        for time, (key, value) in zip(times, contents, strict=False)
    ]
    groups = []
    for each in records:
        group = groups[-1] if groups else None
        waited = each["timestamp"] - group[0]["timestamp"] if group else 0
        room = max(batch_size, _upper_bound(group[0])) if group else 0
        if group and (waited < linger or not waited) and written([[*group, each]]) <= room:
            group.append(each)
        else:
            groups.append([each])
    found = outcome([(linger, batch_size)], *(batch(each) for each in records))
    (made,) = found.made.values()
    assert made.batches == len(groups)
    assert made.bytes == written(groups) == made.wire
    assert found.sent.payload == sum(len(part) for each in records for part in _parts(each))


def _parts(each):
    import base64

    texts = [each["key"], each["value"], *(header["value"] for header in each["headers"])]
    return [base64.b64decode(text) for text in texts if text] + [header["key"].encode() for header in each["headers"]]


def _upper_bound(each):
    """Kafka's: the batch header, 21 bytes, and from the length of the key on all of the record."""
    alone = written([[each]]) - 61
    around = 3 if alone - 1 < 64 else 3 + (alone - 2 >= 64)
    return 61 + 21 + alone - around - 1


def test_settings_are_tried_in_order():
    settings = Accumulators().settings
    assert all(a < b for a, b in pairwise(settings))


def tables_of(settings, *batches):
    accumulators = Accumulators([Setting(*pair) for pair in settings])
    costs = Costs(CATALOG, (), on_records=accumulators.add)
    for _ in costs.records(memoryview(kwire.write_records(batches)), "t", 0, "auto"):
        pass
    return document(accumulators)


def test_the_answer_has_what_was_sent_each_setting_and_each_producer():
    tables, notes = tables_of([(0, 16384), (5, 16384)], batch(record(0)), batch(record(1)))
    sent, *settings = tables["batching"]
    assert (sent["lingerMs"], sent["batchSize"], sent["batches"], sent["savedBytes"]) == (None, None, 2, None)
    assert [(row["lingerMs"], row["batchSize"], row["batches"]) for row in settings] == [(0, 16384, 2), (5, 16384, 1)]
    assert [row["savedBytes"] for row in settings] == [sent["bytes"] - row["bytes"] for row in settings]
    assert [row["wouldHaveServed"] for row in settings] == [False, True]
    [producer] = tables["producers"]
    assert (producer["client"], producer["batches"], producer["batchesThen"], producer["lingerMs"]) == (None, 2, 1, 5)
    assert "linger.ms=5 and batch.size=16384 would have served" in notes[0]


def test_the_smallest_pair_that_reaches_most_of_the_saving_would_have_served():
    """One batch of 20 ms saves all, batches of 10 ms nearly as much, batches of 2 ms about half."""
    settings = [(0, 16384), (1, 16384), (10, 16384), (200, 16384)]
    tables, _ = tables_of(settings, *(batch(record(time)) for time in range(100)))
    saved = {row["lingerMs"]: row["savedBytes"] for row in tables["batching"]}
    assert saved[0] < 0.9 * saved[200] <= saved[10] < saved[200]
    assert [row["lingerMs"] for row in tables["batching"] if row["wouldHaveServed"]] == [10]


def test_settings_that_make_the_same_of_the_records_are_in_the_answer_once():
    tables, notes = tables_of([(5, 16384), (5, 32768)], batch(record(0), record(1)))
    assert [row["batchSize"] for row in tables["batching"]] == [None, 16384]
    assert notes == ["no pair would have saved anything"]


def test_nothing_was_sent():
    tables, notes = tables_of([(5, 16384)])
    assert tables == {"batching": None, "producers": None}
    assert notes == ["linger.ms and batch.size tried on 0 records to 0 partitions, by the time of each record"]


def test_records_of_other_formats_are_in_the_answer():
    old = [{**batch({**record(time), "headers": []}), "magic": 1} for time in (0, 1)]
    [producer] = tables_of([(0, 16384)], *old, batch(record(2)))[0]["producers"]
    assert producer["recordsOfOtherFormats"] == 2
