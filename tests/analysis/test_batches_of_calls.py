"""Batches in Produce requests, as calls give them."""

import pytest
from kit.calls import exchanges, subjects
from kit.commands import ROOT

from kwire_cli.analysis.calls import Calls, CapturedCall
from kwire_cli.source.kafka.captured import Captured

INCIDENTS = ROOT / "samples" / "incidents"


def calls(path):
    together = Calls()
    return [
        *(call for subject in subjects(path) for call in together.of(subject)),
        *together.end(),
    ]  # fmt: skip


def test_each_batch_has_its_topic_its_partition_and_its_header():
    batches = [found for call in calls(INCIDENTS / "out-of-order.pcap") for found in call.batches()]
    assert {(topic, partition) for topic, partition, _ in batches} == {("meters", 0)}
    sequences = [(batch.head.producer_epoch, batch.head.base_sequence) for _, _, batch in batches]
    assert sequences == [(0, number) for number in range(7)] + [(1, number) for number in range(3)]
    assert all(batch.crc_valid and batch.size == 77 for _, _, batch in batches)


def test_old_messages_have_batches_too():
    batches = [
        found for call in calls(ROOT / "samples/captures/sarama-0.8.2.0-3.9.2.pcapng") for found in call.batches()
    ]  # fmt: skip
    assert {batch.magic for _, _, batch in batches} == {0}


def test_what_is_no_produce_request_has_none():
    others = [call for call in calls(INCIDENTS / "out-of-order.pcap") if call.api != "Produce"]
    assert others
    assert all(call.batches() == [] for call in others)
    [logged] = Calls().of(exchanges(("Produce", 9, {"topicData": []}, {}, 0))[0])
    assert (logged.batches(), logged.field("topicData"), logged.field("acks")) == ((), [], None)


def test_a_field_of_a_request_costs_no_second_reading():
    call = next(call for call in calls(INCIDENTS / "out-of-order.pcap") if call.api == "Produce")
    assert (call.field("acks"), call.field("nothing")) == (-1, None)
    assert call.request["topicData"][0]["partitionData"][0]["recordsSizeInBytes"] == 77


@pytest.mark.parametrize("kept", [30, 60, 80])
def test_a_request_that_is_cut_gives_what_is_whole(kept):
    line = next(subject for subject in subjects(INCIDENTS / "out-of-order.pcap")
                if isinstance(subject, Captured) and subject.api == "Produce")  # fmt: skip
    line.seen.plain = None
    line.seen.data = line.seen.data[:kept]
    assert all(batch.is_cut for _, _, batch in CapturedCall(line).batches())
