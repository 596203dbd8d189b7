"""Batches and gaps: positions, sizes, checksums, and where reading goes on after a fault."""

import contextlib

import pytest
from hypothesis import given, strategies as st
from kit.commands import examples
from kit.logs import batch, message, record, segments

import kwire_cli as kwire
from kwire_cli.message.reading import split
from kwire_cli.records.batch import Batch, head_json, record_json
from kwire_cli.records.gaps import Gap
from kwire_cli.source.kinds import Kind
from kwire_cli.source.recognition import recognise
from kwire_cli.source.text.reading import MAGICS as BINARY
from kwire_cli.structs.records.parts import BATCH_KEYS, RECORD_KEYS

MAGICS = [magic for magic, _ in BINARY]

ONE, TWO, THREE = (batch(base, [record(b"k", b"value %d" % base)]) for base in (0, 1, 2))


def items(data, **options):
    """The items, which have to cover the bytes once and in order."""
    found = list(kwire.read_records(data, **options))
    at = 0
    for item in found:
        assert item.position == at
        assert item.size > 0
        at = item.end
    assert at == len(data)
    return found


def shape(data, **options):
    return [(item.size, item.code if isinstance(item, Gap) else item.crc_valid) for item in items(data, **options)]


def test_a_format_that_was_asked_for_is_the_only_one():
    assert shape(message("v1", 0) + ONE, format="v2") == [(len(message("v1", 0)), "CORRUPT"), (len(ONE), True)]


def test_an_unknown_format_is_refused():
    with pytest.raises(kwire.InputError, match="record formats are auto, v0"):
        kwire.read_records(ONE, format="v3")


def test_what_is_no_bytes_is_refused():
    with pytest.raises(kwire.InputError, match="bytearray"):
        kwire.read_records(7)


@pytest.mark.parametrize("size", [17, 100, 3 << 20])
def test_zeros_at_the_end_are_padding(size):
    assert shape(ONE + bytes(size)) == [(len(ONE), True), (size, "PADDING")]


@pytest.mark.parametrize("garbage", [b"\xff" * 31, bytes(range(256)) * 4, b"\0" * 20 + b"x"])
def test_garbage_is_a_gap_up_to_the_next_good_batch(garbage):
    assert shape(ONE + garbage + TWO) == [(len(ONE), True), (len(garbage), "CORRUPT"), (len(TWO), True)]


def test_a_wrong_checksum_alone_is_no_gap():
    bad = TWO[:-1] + b"X"
    found = items(ONE + bad + THREE)
    assert [item.crc_valid for item in found] == [True, False, True]
    (note,) = found[1].notes
    assert (note.code, note.path, note.offset) == ("CRC_MISMATCH", "crc", len(ONE) + 17)
    assert shape(ONE + bad) == [(len(ONE), True), (len(bad), False)]


def test_a_size_that_lies_loses_no_good_batch():
    longer = TWO[:8] + (len(TWO) - 12 + 40).to_bytes(4, "big") + TWO[12:]
    assert shape(ONE + longer + THREE) == [(len(ONE), True), (len(TWO), "CORRUPT"), (len(THREE), True)]
    endless = TWO[:8] + b"\x7f\xff\xff\xff" + TWO[12:]
    assert shape(ONE + endless + THREE) == [(len(ONE), True), (len(TWO), "CORRUPT"), (len(THREE), True)]


def test_a_batch_in_a_value_is_no_batch_of_its_own():
    carrier = batch(0, [record(None, ONE)])
    assert shape(carrier + TWO) == [(len(carrier), True), (len(TWO), True)]
    assert [right for _, right in shape(carrier[:-1] + b"\x02" + TWO)] == [False, True]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(kwire.InputError, match="cannot be read"):
        kwire.read_records(tmp_path / "none.log")
    (tmp_path / "empty.log").touch()
    assert list(kwire.read_records(tmp_path / "empty.log")) == []


GOOD = {name: [item for item in items(data) if isinstance(item, Batch)] for name, data in segments().items()}


@examples(180)
@given(st.sampled_from(sorted(GOOD)), st.data())
def test_batches_around_a_fault_are_found_again(name, data):
    whole = segments()[name]
    start = data.draw(st.integers(0, len(whole) - 1))
    stop = data.draw(st.integers(start, min(start + 40, len(whole))))
    damaged = whole[:start] + data.draw(st.binary(max_size=40)) + whole[stop:]
    shift = len(damaged) - len(whole)
    found = {(item.position, item.size): item for item in items(damaged) if isinstance(item, Batch)}
    for good in GOOD[name]:
        place = (
            (good.position, good.size)
            if good.end <= start
            else (good.position + shift, good.size)
            if good.position >= stop
            else None
        )
        if place and good.crc_valid:
            if place not in found:  # with the help of its first bytes those before it are what they were
                assert any(each.crc_valid and each.position < place[0] < each.end for each in found.values())
                continue
            again, before = found[place].to_json(), good.to_json()
            assert again | {"position": 0, "anomalies": []} == before | {"position": 0, "anomalies": []}


@given(st.binary(max_size=300), st.sampled_from(["auto", "v0", "v1", "v2", "kip98-draft", "kip82-draft"]))
def test_any_bytes_are_covered_unless_they_are_of_another_kind(data, form):
    if data and recognise(data, form="raw").kind is Kind.FRAMES and split(data)[-1][2]:
        with pytest.raises(kwire.InputError, match="which read_frames reads"):
            items(data, format=form)
        return
    with contextlib.suppress(kwire.InputError) if data.startswith(tuple(MAGICS)) else contextlib.nullcontext():
        for item in items(data, format=form):
            item.to_json()


@pytest.mark.slow
def test_hostile_sizes_do_not_make_it_slow():
    # Each header says that its batch reaches to the end, and each is followed by a good one: hashing all of them would
    # be quadratic.
    good = ONE
    count = 20_000
    size = count * (len(good) + 61)
    pieces = []
    for i in range(count):
        left = size - i * (len(good) + 61)
        pieces += (good[:8], (left - 12).to_bytes(4, "big"), good[12:61], good)
    found = items(b"".join(pieces))
    assert sum(isinstance(item, Batch) for item in found) >= count // 2


def test_batches_and_records_have_the_keys_that_filters_and_csv_know():
    (one,) = items(ONE)
    (first,) = one.records()
    assert tuple(head_json(one)) == BATCH_KEYS
    assert tuple(record_json(one, first, 0, [], None)) == RECORD_KEYS
