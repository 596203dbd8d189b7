"""What is said of records and batches is what their readers read."""

import re

import pytest
from kit.logs import batch, message, record, segments, wrapper

import kwire_cli as kwire
from kwire_cli.message.roles import RecordsAs
from kwire_cli.records.batch import Batch
from kwire_cli.records.reading import read_items, source_of
from kwire_cli.view.explain.messages import explain_items
from kwire_cli.view.explain.model import Heading, Look, Remark, Skipped, Step

CATALOG = kwire.catalog()


def explained(data, *, every=True, topic=None):
    source = source_of(data, topic=topic, catalog=CATALOG)
    return [*explain_items(read_items(source), Look(every, RecordsAs(CATALOG)), source)]


@pytest.mark.parametrize(
    "name", ["orders-zstd-0", "txn-out-0", "compacted-txn-0", "__transaction_state-0", "bitflip-0"]
)
def test_differences_are_added_up_as_the_reader_does(name):
    data = segments()[name]
    said = {"its offset": [], "its timestamp": [], "the last offset": []}
    for event in explained(data):
        for piece in event.pieces if isinstance(event, Step) else ():
            for line in piece.working:
                if found := re.search(r": (its offset|its timestamp|the last offset) is (-?\d+)$", line):
                    said[found[1]].append(int(found[2]))
    batches = [item for item in read_items(source_of(data)) if isinstance(item, Batch)]
    records = [record for batch in batches for record in batch.records()]
    assert said["its offset"] == [record.offset for record in records]
    assert said["its timestamp"] == [record.timestamp for record in records]
    assert said["the last offset"] == [batch.head.last_offset for batch in batches]


def test_with_log_append_time_no_timestamp_is_added_up():
    data = batch(records=[record()], attributes=8, maxTimestamp=9)
    steps = [event for event in explained(data) if isinstance(event, Step)]
    text = [line for step in steps for piece in step.pieces for line in piece.working]
    assert any("bit 3 = 1: timestampType LogAppendTime" in line for line in text)
    assert not any("its timestamp" in line for line in text)


def test_a_wrong_checksum_is_said_at_the_checksum():
    data = bytearray(segments()["orders-zstd-0"])
    data[100] ^= 1
    [crc] = [event for event in explained(bytes(data)) if isinstance(event, Step) and event.path == "crc"]
    assert [anomaly.code for anomaly in crc.anomalies] == ["CRC_MISMATCH"]
    assert crc.pieces[0].working[1].endswith("NOT as stated")


def test_unknown_attribute_bits_are_said_at_the_attributes():
    [attributes] = [
        event
        for event in explained(message("v1", attributes=0x40))
        if isinstance(event, Step) and event.path == "attributes"
    ]
    assert [anomaly.code for anomaly in attributes.anomalies] == ["ATTRIBUTES_UNKNOWN"]
    assert attributes.pieces[0].working[-1] == "other bits, 0x40, have no meaning in this format"


def test_batches_of_a_kind_are_counted_and_damaged_ones_shown():
    one = batch(records=[record()])
    events = explained(one * 3 + one[:-2] + b"w\0" + one * 2, every=False)
    assert [event.count for event in events if isinstance(event, Skipped) and event.part is None] == [2, 2]
    assert [event.part.tree.root.start for event in events if isinstance(event, Heading)] == [0, 3 * len(one)]


def test_a_compressed_message_in_a_compressed_message_is_not_opened():
    data = wrapper("v1", inner=wrapper("v1", inner=message("v1")))
    levels = {event.level for event in explained(data) if isinstance(event, Heading)}
    assert levels == {0, 1}


def test_what_is_between_batches_has_no_layout():
    one = batch(records=[record()])
    events = explained(one + b"\0" * 40)
    assert [event.text.split(" ")[0] for event in events if isinstance(event, Remark)] == ["PADDING"]
    assert (events[-1].part, events[-1].start, events[-1].end) == (None, len(one), len(one) + 40)


def test_records_of_own_topics_are_explained_once_a_type():
    data = segments()["__transaction_state-0"]
    once = [
        event.title
        for event in explained(data, every=False, topic="__transaction_state")
        if isinstance(event, Heading) and event.part.buffer.own
    ]
    assert sorted(title.split(" ")[0] for title in once) == ["TransactionLogKey", "TransactionLogValue", "the", "the"]
    every = [
        event.title
        for event in explained(data, topic="__transaction_state")
        if isinstance(event, Heading) and event.part.buffer.own
    ]
    assert len(every) > len(once)
