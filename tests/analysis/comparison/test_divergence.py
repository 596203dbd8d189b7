"""Two copies of a partition that differ in each of the ways that there are, made on purpose."""

import pytest
from hypothesis import given, strategies as st
from kit.logs import batch, record, segments, wrapper

import kwire_cli as kwire
from kwire_cli.analysis.comparison.copies import Pair, copies_answer
from kwire_cli.analysis.comparison.partitions import KINDS, LEGAL, MOST, Item, compare
from kwire_cli.view.answers import answer_document
from kwire_cli.view.terminal import answer_text


def items(data, file="0.log"):
    return [Item(file, item) for item in kwire.read_records(data)]


def put(base, *values, key=b"k", **head):
    return batch(
        base,
        [record(None if key is None else key, value, offset) for offset, value in enumerate(values or (b"v",))],
        **head,
    )


def kinds(a, b):
    """The kinds of differences, which are the same seen from the other side."""
    found, mirrored = compare(items(a), items(b)), compare(items(b), items(a))
    assert found.counts == mirrored.counts
    assert found.equal == mirrored.equal
    assert found.verdict == mirrored.verdict
    if found.first:
        assert (mirrored.first.kind, mirrored.first.offset, mirrored.first.a, mirrored.first.b) == (
            found.first.kind,
            found.first.offset,
            found.first.b,
            found.first.a,
        )
    assert set(found.counts) <= set(KINDS)
    return found


LOG = [put(0), put(1, b"a", b"b"), put(3), put(4)]


@pytest.mark.parametrize("name", segments())
def test_a_copy_is_the_same(name):
    data = segments()[name]
    found = compare(items(data), items(data))
    if name in {"garbage-0", "cutheader-0", "bitflip-0"}:  # the same damage in both is still damage
        assert set(found.counts) == {"CORRUPT"}
    else:
        assert (found.verdict, found.first) == ("same", None)
        assert found.equal == found.a.batches > 0


def test_one_goes_on_where_the_other_ends():
    found = kinds(b"".join(LOG), b"".join(LOG[:2]))
    assert (found.equal, found.counts, found.verdict) == (2, {"LONGER": 1}, "legal")
    assert (found.first.offset, found.first.a.base_offset, found.first.b) == (3, 3, None)
    assert found.first.detail == "b ends at offset 2; the other one has 2 batches more, to offset 4"
    assert "no batch at all" in kinds(b"".join(LOG), b"").first.detail


def test_one_begins_later():
    found = kinds(b"".join(LOG), b"".join(LOG[2:]))
    assert (found.equal, found.counts, found.verdict) == (2, {"LATER_START": 2}, "legal")
    assert (found.first.offset, found.first.b) == (0, None)


def test_other_epochs_at_an_offset():
    found = kinds(
        b"".join(LOG),
        LOG[0] + put(1, b"a", b"b", partitionLeaderEpoch=3) + put(3, b"x", partitionLeaderEpoch=3) + LOG[3],
    )
    assert (found.equal, found.counts, found.verdict) == (2, {"EPOCH": 2}, "diverges")
    first = found.first
    assert (first.offset, first.a.epoch, first.b.epoch, first.a.crc == first.b.crc) == (1, 0, 3, True)
    assert (
        first.detail
        == "the records are the same; by the leader epochs, a is the copy that was to be cut off at offset 1 or before"
    )
    assert (first.a.file, first.a.position) == ("0.log", len(LOG[0]))
    assert not found.differences[1].detail.startswith("the records are the same")


def test_other_records_at_an_offset():
    found = kinds(b"".join(LOG), LOG[0] + put(1, b"a", b"X") + LOG[2] + LOG[3])
    assert (found.counts, found.first.offset, found.verdict) == ({"RECORDS": 1}, 1, "diverges")
    assert found.first.detail == "the record at offset 2 is the first that differs"
    assert found.first.a.crc != found.first.b.crc


def test_a_corrupt_batch_on_one_side():
    wrong = bytearray(LOG[1])
    wrong[-1] ^= 1
    found = kinds(b"".join(LOG), LOG[0] + bytes(wrong) + LOG[2] + LOG[3])
    assert (found.counts, found.first.detail, found.first.b.crc_valid) == (
        {"CORRUPT": 1},
        "the checksum is wrong in b",
        False,
    )


def test_bytes_that_are_no_batch():
    found = kinds(b"".join(LOG), LOG[0] + b"\xff" * 40 + b"".join(LOG[1:]))
    assert (found.equal, found.counts) == (4, {"CORRUPT": 1})
    assert (found.first.offset, found.first.b.size, found.first.b.crc) == (1, 40, None)
    assert kinds(b"".join(LOG), b"".join(LOG) + bytes(60)).verdict == "same"  # padding of a preallocated file
    assert kinds(b"".join(LOG), b"".join(LOG)[:-5]).counts == {"CORRUPT": 1, "LONGER": 1}


def test_a_batch_that_one_lacks():
    found = kinds(b"".join(LOG), LOG[0] + LOG[2] + LOG[3])
    assert (found.counts, found.first.offset, found.verdict) == ({"COMPACTED": 1}, 1, "legal")
    keyless = [LOG[0], put(1, b"a", key=None), put(2)]
    found = kinds(b"".join(keyless), keyless[0] + keyless[2])
    assert (found.counts, found.verdict) == ({"MISSING": 1}, "diverges")


def test_a_batch_with_fewer_records():
    whole = put(5, b"a", b"b", b"c")
    cleaned = batch(5, [record(b"k", b"a"), record(b"k", b"c", 2)], lastOffsetDelta=2)
    found = kinds(whole, cleaned)
    assert (found.counts, found.verdict) == ({"COMPACTED": 1}, "legal")
    assert found.first.detail == "b lacks 1 of 3 records, the first at offset 6"
    keyless = kinds(put(5, b"a", b"b", key=None), batch(5, [record(None, b"a")], lastOffsetDelta=1))
    assert (keyless.counts, keyless.verdict) == ({"MISSING": 1}, "diverges")


def test_a_delete_horizon_comes_with_compaction():
    tombstone = [record(b"k", None)]
    found = kinds(batch(0, tombstone), batch(0, tombstone, attributes=0x40))
    assert found.counts == {"COMPACTED": 1}


def test_the_same_records_in_other_bytes():
    records = [record(b"k", b"v" * 50, offset) for offset in range(3)]
    assert kinds(batch(0, records), batch(0, records, codec=1)).counts == {"RECOMPRESSED": 1}
    split = batch(0, records[:2]) + batch(2, [record(b"k", b"v" * 50)])
    found = kinds(batch(0, records), split)
    assert (set(found.counts), found.verdict) == ({"RECOMPRESSED"}, "diverges")
    assert found.first.detail == "1 and 2 batches for offsets 0 to 2; 3 records are the same"


def test_other_boundaries():
    records = [record(b"k", b"v" * 50, offset) for offset in range(3)]
    found = kinds(batch(0, records) + put(3), batch(0, records[:2]) + put(2) + put(3))
    assert (found.counts, found.equal, found.first.offset) == ({"BOUNDARIES": 1}, 1, 2)
    assert kinds(batch(0, records) + put(3), batch(0, records[:2]) + put(3)).counts == {"COMPACTED": 1}
    assert kinds(batch(0, records), put(0) + put(1, b"a", b"b", b"c")).counts == {"BOUNDARIES": 1, "LONGER": 1}
    assert kinds(batch(0, records), put(1, b"v" * 50, b"v" * 50) + put(3)).counts == {"RECOMPRESSED": 1, "LONGER": 1}


def test_boundaries_that_never_meet_take_no_long_time():
    a = b"".join(put(2 * i, b"v", b"v") for i in range(1200))
    b = put(0) + b"".join(put(2 * i + 1, b"v", b"v") for i in range(1200))
    assert set(kinds(a, b).counts) <= {"RECOMPRESSED", "LONGER"}
    large = batch(0, [record(b"k", b"v", offset) for offset in range(4000)])
    assert set(kinds(large, b"".join(put(offset) for offset in range(4000))).counts) == {"RECOMPRESSED"}


def test_the_same_records_under_another_header():
    assert kinds(put(0), put(0, producerId=5)).first.detail == "they differ in producer_id"


def test_old_formats():
    inner = b"".join(
        kwire.write_records([{"magic": 1, "baseOffset": i, "records": [{"offset": i, "value": "dg=="}]}])
        for i in range(2)
    )
    assert compare(items(wrapper("v1", 1, inner)), items(wrapper("v1", 1, inner))).verdict == "same"


def test_only_the_first_differences_are_kept():
    found = kinds(b"".join(put(i) for i in range(300)), b"".join(put(i, b"x") for i in range(300)))
    assert (len(found.differences), found.counts) == (MOST, {"RECORDS": 300})


def test_the_answer_says_it_all():
    comparison = kinds(b"".join(LOG), b"".join(LOG[:1]))
    tables = answer_document(copies_answer([(Pair("a", "b", [], []), comparison)]))["tables"]
    assert tables["copies"][0] == {
        "copy": "a",
        "path": "a",
        "firstOffset": 0,
        "lastOffset": 4,
        "batches": 4,
        "bytes": sum(map(len, LOG)),
    }
    [partition] = tables["partitions"]
    assert (partition["verdict"], partition["equalBatches"], partition["firstKind"]) == ("legal", 1, "LONGER")
    [difference] = tables["differences"]
    side = comparison.first.a
    assert (difference["aPosition"], difference["aSize"], difference["aCrc"]) == (side.position, side.size, side.crc)
    assert (difference["aCrcValid"], difference["bFile"], difference["legal"]) == (True, None, True)
    assert {difference["kind"]} <= LEGAL


def test_a_divergence_behind_the_first_differences_is_listed_too():
    whole, gaps = [put(i) for i in range(300)], [put(i) for i in range(0, 300, 2)]  # compacted, up to the last one
    later = kinds(b"".join([*whole, put(300)]), b"".join([*gaps, put(300, b"x")]))
    assert later.divergence not in later.differences
    tables = answer_document(copies_answer([(Pair("a", "b", [], []), later)]))["tables"]
    assert len(tables["differences"]) == MOST + 1
    assert tables["differences"][-1]["kind"] == tables["partitions"][0]["firstKind"] == later.divergence.kind


@given(st.data())
def test_any_bytes_can_be_compared(data):
    whole = segments()[data.draw(st.sampled_from(sorted(segments())))]
    other = bytearray(whole)
    for at, value in data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=6)):
        other[at] = value
    start, stop = sorted(data.draw(st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole)))))
    found = compare(
        items(whole), items(bytes(other[:start] + other[stop:]) if data.draw(st.booleans()) else bytes(other))
    )
    assert answer_text(copies_answer([(Pair("a", "b", [], []), found)]))
    assert found.equal <= min(found.a.batches, found.b.batches)


def test_records_that_cannot_be_read_are_not_compared():
    one, two = (put(1, b"x", b"y", codec=1, packed=value * 40) for value in (b"a", b"b"))
    found = kinds(LOG[0] + one, LOG[0] + two)
    assert (found.equal, found.counts, found.verdict) == (1, {"UNREAD": 1}, "diverges")
    assert found.first.detail == "not all records of a and b can be read"
    assert kinds(LOG[0] + one, LOG[0] + put(1, b"a", b"b")).counts == {"UNREAD": 1}
    assert kinds(LOG[0] + one, LOG[0] + put(1, b"a") + put(2, b"b")).counts == {"UNREAD": 1}
    between = kinds(LOG[0] + one + LOG[2], LOG[0] + LOG[2])
    assert (between.counts, between.verdict) == ({"UNREAD": 1}, "diverges")
