"""Records in other forms: what is written reads back as the records that came, and every byte of it is in the price."""

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples, slow
from kit.logs import SEGMENTS

import kwire_cli as kwire
from kwire_cli.analysis.costs import record_forms, records_answer
from kwire_cli.analysis.costs.record_forms import ALL, AS_IS, FORMS
from kwire_cli.analysis.costs.records_answer import RecordForms
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import items, source_of
from kwire_cli.records.registers import Register
from kwire_cli.view.answers import answer_document

NONE, OWN = "none", AS_IS
FILES = sorted(SEGMENTS.glob("*/*.log"))


def priced(*sets, forms=FORMS, batches=(AS_IS,), codecs=(NONE,), read_as="auto"):
    """The prices of record sets, each of a partition of its own."""
    found = RecordForms(kwire.catalog(), forms, batches, codecs, Register({"trace": 7}))
    for number, data in enumerate(sets):
        for item in items(source_of(data, form=read_as)):
            if isinstance(item, Batch):
                found.add_batch(f"p-{number}", item)
    found.answer()
    return found


def sizes(found):
    return {price.form: price.size for price in found.prices}


def lost(found, form):
    return {what: count for what, count in found.keys[form].lost.items() if count}


def written(*batches):
    return kwire.write_records(list(batches))


ROWS = [{"timestamp": 1000 + i, "key": {"text": "key"}, "value": {"text": "v" * i}} for i in range(10)]


@pytest.fixture
def kept(monkeypatch):
    """Everything that is written for a price, by format."""
    out = []

    def keeping(item, form):
        data = kwire.write_records(item, form)
        out.append((form, data))
        return data

    monkeypatch.setattr(record_forms, "write", keeping)
    return out


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_uncompressed_batches_of_v2_cost_what_they_are(file):
    found = priced(file, forms=("v2",), codecs=(OWN,))
    plain = {"none"} == set(found.compressed) and {"v2"} == set(found.formats)
    assert found.read["batches"]
    if plain:
        assert found.prices[0].size == found.read["bytes"]
    assert found.prices[0].batches == found.read["batches"]
    assert found.prices[0].data == sum(found.read[f"{part}Bytes"] for part in ("key", "value", "headerValue"))


@pytest.mark.parametrize(
    "file", [*FILES[::3], *map(slow, FILES[1::3]), *map(slow, FILES[2::3])], ids=lambda file: file.parent.name
)
@pytest.mark.parametrize("batch", [AS_IS, 3])
def test_what_is_written_holds_the_records_that_came(file, batch, kept):
    was = [
        record
        for item in items(source_of(file))
        if isinstance(item, Batch) and item.crc_valid
        for record in item.records()
    ]
    found = priced(file, batches=(batch,), codecs=("gzip",))
    assert len(was) == found.read["records"]
    for form in FORMS:
        data = [part for name, part in kept if name == form]
        assert sum(map(len, data)) == sizes(found)[form]
        now = [record for part in data for item in kwire.read_records(part, form) for record in item.records()]
        assert not [note for part in data for item in kwire.read_records(part, form) for note in item.anomalies]
        assert sorted(repr(record.value) for record in was) == sorted(repr(record.value) for record in now)
        if file.parent.name != "v1-logappend-0" or batch == AS_IS:  # what is appended as one batch has one time
            assert sorted(record.timestamp if form != "v0" else -1 for record in was) == sorted(
                record.timestamp for record in now
            )
        if form != "kip98-draft":  # whose markers have other keys
            assert sorted(repr(record.key) for record in was) == sorted(repr(record.key) for record in now)
        if batch == AS_IS:
            assert [record.offset for record in now] == [record.offset for record in was]


def test_the_old_formats_have_26_and_34_bytes_a_message_whatever_the_batch():
    data = written({"records": ROWS})
    for batch in (AS_IS, 1, 3, ALL):
        found = priced(data, batches=(batch,))
        plain = sum(3 + i for i in range(10))
        assert {form: sizes(found)[form] - plain for form in ("v0", "v1", "kip82-draft")} == {
            "v0": 260,
            "v1": 340,
            "kip82-draft": 340,
        }
        assert {price.overhead for price in found.prices if price.form == "v1"} == {340}


def test_v2_has_61_bytes_a_batch_and_counted_ones_a_record():
    data = written({"records": ROWS})
    # length, attributes, timestamp and offset delta, lengths of key and value, count of headers
    record = 1 + 1 + 1 + 1 + 1 + 1 + 1
    assert [price.overhead for price in priced(data, forms=("v2",), batches=(1, 3, 5, ALL)).prices] == [
        10 * (61 + record),
        4 * 61 + 10 * record,
        2 * 61 + 10 * record,
        61 + 10 * record,
    ]


def test_batches_are_counted():
    found = priced(written({"records": ROWS}), forms=("v1", "v2"), batches=(AS_IS, 1, 4, 100, ALL))
    assert [(price.form, price.batches, price.records) for price in found.prices] == [
        (form, count, 10) for count in (1, 10, 3, 1, 1) for form in ("v1", "v2")
    ]


def test_records_of_two_producers_or_partitions_are_not_put_together():
    one, other = ({"producerId": number, "producerEpoch": 0, "baseSequence": 0, "records": ROWS} for number in (1, 2))
    found = priced(written(one, other, one | {"baseSequence": 10}), forms=("v2",), batches=(ALL,))
    assert found.prices[0].batches == 2
    found = priced(written(one), written(one), forms=("v2",), batches=(ALL,))
    assert (found.prices[0].batches, found.partitions) == (2, {"p-0", "p-1"})


def test_a_marker_ends_a_batch_of_its_producer_and_stays_alone(kept):
    own = {"producerId": 1, "producerEpoch": 0, "isTransactional": True}
    marker = own | {"records": [{"control": {"type": "COMMIT"}}]}
    other = {"producerId": 2, "producerEpoch": 0, "records": ROWS}
    found = priced(
        written(own | {"records": ROWS}, other, marker, own | {"records": ROWS}), forms=("v2",), batches=(ALL,)
    )
    read = [item.to_json() for _, data in kept for item in kwire.read_records(data)]
    assert [(item["producerId"], item["isControl"], item["count"]) for item in read] == [
        (1, False, 10),
        (1, True, 1),
        (2, False, 10),
        (1, False, 10),
    ]
    assert read[1]["records"][0]["control"]["type"] == "COMMIT"
    assert found.prices[0].batches == 4


def test_batches_keep_what_they_say_of_their_producer(kept):
    own = {"producerId": 5, "producerEpoch": 3, "baseSequence": 40, "isTransactional": True, "partitionLeaderEpoch": 9}
    priced(written(own | {"baseOffset": 100, "records": ROWS}), forms=("v2", "kip98-draft"), batches=(6,))
    for form, data in kept:
        [item] = kwire.read_records(data, form)
        head = item.head
        assert (head.producer_id, head.producer_epoch, head.transactional) == (5, 3, True)
        assert (head.base_offset, head.last_offset, head.base_sequence) in {(100, 105, 40), (106, 109, 46)}
    assert len(kept) == 4


def test_markers_of_the_draft_are_commits_and_aborts_by_its_own_numbers(kept):
    batches = [{"producerId": 1, "records": [{"control": {"type": name}}]} for name in ("COMMIT", "ABORT")]
    priced(written(*batches), forms=("kip98-draft",))
    types = [
        record.control for form, data in kept for item in kwire.read_records(data, form) for record in item.records()
    ]
    assert types == [0, 1]
    back = b"".join(data for _, data in kept)
    kept.clear()
    priced(back, forms=("v2",), read_as="kip98-draft")
    assert [
        record["control"]["type"]
        for _, data in kept
        for item in kwire.read_records(data)
        for record in item.to_json()["records"]
    ] == [
        "COMMIT",
        "ABORT",
    ]


def test_what_a_form_cannot_carry_is_counted():
    headers = [
        {"key": "trace", "value": {"text": "1"}},
        {"key": "b", "value": None},
        {"key": "trace", "value": {"text": "2"}},
    ]
    item = {
        "producerId": 1,
        "isTransactional": True,
        "partitionLeaderEpoch": 2,
        "lastOffset": 9,
        "records": [{"timestamp": 5, "headers": headers}],
    }
    found = priced(
        written(
            item,
            {"timestampType": "LogAppendTime", "maxTimestamp": 7, "records": [{}]},
            {"isTransactional": True, "producerId": 1, "records": [{"control": {"type": "ABORT"}}]},
            {"baseOffset": 20, "deleteHorizonMs": 4, "records": []},
        )
    )
    assert lost(found, "v2") == {}
    assert lost(found, "v0") == {
        "headers": 3,
        "timestamps": 2,
        "batches whose timestamps are LogAppendTime": 1,
        "batches with a producer id": 2,
        "transactional batches": 2,
        "control marks of records": 1,
        "batches with a leader epoch": 1,
        "delete horizons": 1,
        "batches that say offsets after their last record": 1,
        "batches without records": 1,
    }
    assert {
        what: count for what, count in lost(found, "v0").items() if not what.startswith(("timest", "batches whose"))
    } == lost(found, "v1")
    assert lost(found, "kip98-draft") == {"headers": 3, "batches with a leader epoch": 1, "delete horizons": 1}
    assert lost(found, "kip82-draft") == {
        what: count for what, count in lost(found, "v1").items() if what != "headers"
    } | {
        "header names, as numbers instead": 3,
        "headers left out: their key comes again, and a map has the last one alone": 1,
        "headers with null values, written as empty ones": 1,
    }
    # an empty batch is 61 bytes in one form and nothing in another
    assert [price.batches for price in found.prices] == [3, 3, 4, 4, 3]


def test_control_records_that_the_draft_does_not_know_are_named():
    leader = {
        "control": {"type": "LeaderChange", "value": {"version": 0, "leaderId": 1, "voters": [], "grantingVoters": []}}
    }
    found = priced(written({"records": [leader]}), forms=("kip98-draft", "v2"))
    assert lost(found, "kip98-draft") == {"control records of types that it has not": 1}
    assert lost(found, "v2") == {}


def test_batches_that_cannot_be_read_whole_are_left_out():
    data = bytearray(written({"records": ROWS}, {"records": ROWS}))
    data[70] ^= 1
    found = priced(bytes(data), forms=("v2",))
    assert (found.read["batches"], found.read["skippedBatches"], found.read["skippedBytes"]) == (1, 1, len(data) // 2)
    assert found.prices[0].size == len(data) // 2


def test_a_batch_of_too_many_records_is_left_out(monkeypatch):
    monkeypatch.setattr(records_answer, "MOST_RECORDS", 9)
    data = written({"records": ROWS}, {"records": ROWS[:9]})
    found = priced(data, forms=("v2",))
    assert (found.read["batches"], found.read["skippedBatches"], found.read["records"]) == (1, 1, 9)


def test_offsets_that_a_form_cannot_hold_are_left_out_and_counted():
    rows = [{"offset": 0, "value": {"text": "a"}}, {"offset": 1 << 40, "value": {"text": "b"}}]
    data = kwire.write_records([{"magic": 1, "compression": "gzip", "records": rows}])
    found = {price.form: price for price in priced(data, forms=("v1", "v2", "kip98-draft")).prices}
    assert (found["v1"].records, found["v1"].unwritable, found["v1"].data) == (2, 0, 2)
    for form in ("v2", "kip98-draft"):
        assert (found[form].records, found[form].unwritable, found[form].size, found[form].data) == (0, 1, 0, 0)


def test_zstd_in_old_formats_is_written_and_marked():
    found = priced(written({"records": ROWS}), codecs=("zstd",))
    assert {price.form: price.refused for price in found.prices} == {
        "v0": 1,
        "v1": 1,
        "v2": 0,
        "kip98-draft": 0,
        "kip82-draft": 1,
    }


def test_a_codec_is_that_of_the_batch_or_the_one_asked_for(kept):
    data = written({"compression": "gzip", "records": ROWS}, {"records": ROWS})
    priced(data, forms=("v1", "v2"), codecs=(OWN, "zstd:19", NONE))
    names = [item.compression for form, part in kept if form == "v2" for item in kwire.read_records(part)]
    assert names == ["gzip", "zstd", "none", "none", "zstd", "none"]


def test_a_level_changes_the_bytes():
    rows = [{"value": {"text": "".join(chr(97 + (i * i + j) % 17) for j in range(400))}} for i in range(40)]
    low, high = (
        price.size for price in priced(written({"records": rows}), forms=("v2",), codecs=("gzip:1", "gzip:9")).prices
    )
    assert high < low


def test_ratios_are_to_what_was_read():
    data = written({"records": ROWS})
    rows = answer_document(priced(data, forms=("v1", "v2"), batches=(1, 5)).answer())["tables"]["forms"]
    assert all(row["ratio"] == round(row["bytes"] / len(data), 3) for row in rows)


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("zip", "--codec takes none, gzip"),
        ("none:3", "none has no compression levels"),
        ("zstd:x", "a level is a number"),
        ("gzip:99", "gzip:99: "),
    ],
)
def test_a_codec_that_there_is_not_is_refused(codec, text):
    with pytest.raises(kwire.InputError, match=text):
        priced(written({"records": ROWS}), codecs=(codec,))


@examples(15)
@given(
    st.lists(
        st.tuples(st.none() | st.binary(max_size=200), st.none() | st.binary(max_size=200), st.integers(0, 1 << 50)),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 13),
)
def test_any_records_cost_the_same_written_by_themselves(rows, size):
    def as_json(key, value, time):
        return {
            "timestamp": time,
            "key": None if key is None else {"hex": key.hex()},
            "value": None if value is None else {"hex": value.hex()},
        }

    given_rows = [as_json(*row) for row in rows]
    found = priced(written({"records": given_rows}), batches=(size,))
    for form, total in sizes(found).items():
        parts = [given_rows[at : at + size] for at in range(0, len(given_rows), size)]
        if form == "v0":
            parts = [
                [{name: part for name, part in row.items() if name != "timestamp"} for row in part] for part in parts
            ]
        assert total == sum(len(kwire.write_records([{"records": part}], form)) for part in parts)
