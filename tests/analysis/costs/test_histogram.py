"""Histograms: the numbers of a field, by the bytes that they take."""

import pytest

import kwire_cli as kwire
from kwire_cli import InputError
from kwire_cli.analysis.costs.histogram import Histogram


def answer_on(path, messages):
    histogram = Histogram(path)
    for name, version, values in messages:
        data = kwire.encode(values, message=name, version=version)
        histogram.add(kwire.decode(data, message=name, version=version))
    return histogram.answer()


def bins(answer):
    return [row[3:8] for row in answer["widths"].rows]


def joins(numbers):
    """Return requests that have these numbers as integers, as lengths and as counts."""
    for number in numbers:
        topics = None if number < 0 else ["t"] * number
        yield "ConsumerGroupHeartbeatRequest", 0, {
            "groupId": "g", "memberId": "", "memberEpoch": number, "instanceId": None,
            "rackId": None if number < 0 else "x" * number, "rebalanceTimeoutMs": 0,
            "subscribedTopicNames": topics, "serverAssignor": None, "topicPartitions": None,
        }  # fmt: skip


NUMBERS = (-1, 0, 63, 64, 126, 127, 8191, 8192)


def test_integers_are_counted_in_the_ranges_of_their_encodings():
    answer = answer_on("memberEpoch", joins(NUMBERS))
    assert bins(answer) == [
        ("packed", -64, -1, 1, 1),
        ("packed", 0, 63, 1, 2),
        ("packed", 64, 8191, 2, 4),
        ("packed", 8192, 1048575, 3, 1),
        ("upacked", -(1 << 31), -1, 5, 1),
        ("upacked", 0, 127, 1, 5),
        ("upacked", 128, 16383, 2, 2),
    ]
    assert answer["fields"].rows == [
        ("ConsumerGroupHeartbeatRequest", "memberEpoch", "int32", 8, 0, 1, -1, 8192, 2095.25)
    ]


@pytest.mark.parametrize(("path", "of"), [("rackId", "length"), ("subscribedTopicNames", "count")])
def test_lengths_and_counts_are_counted_in_the_ranges_of_records_and_of_compact_ones(path, of):
    answer = answer_on(path, joins(NUMBERS))
    assert bins(answer) == [
        ("packed", -64, -1, 1, 1),
        ("packed", 0, 63, 1, 2),
        ("packed", 64, 8191, 2, 4),
        ("packed", 8192, 1048575, 3, 1),
        ("compact", -1, 126, 1, 5),
        ("compact", 127, 16382, 2, 3),
    ]
    assert answer["fields"].rows == [("ConsumerGroupHeartbeatRequest", path, of, 8, 1, 0, 0, 8192, 2394.714)]


def test_plain_lengths_and_elements_of_arrays_are_read_too():
    metadata = ("MetadataRequest", 0, {"topics": [{"name": "abc"}, {"name": ""}]})
    assert answer_on("topics[].name", [metadata])["fields"].rows[0][2:] == ("length", 2, 0, 0, 0, 3, 1.5)
    producers = ("DescribeProducersRequest", 0, {"topics": [{"name": "t", "partitionIndexes": [3, 300]}]})
    assert answer_on("partitionIndexes[]", [producers])["fields"].rows[0][2:] == ("int32", 2, 0, 0, 3, 300, 151.5)


def test_fields_of_headers_are_counted_too():
    histogram = Histogram("header.correlationId")
    for frame in kwire.read_frames("samples/captures/sarama-0.8.2.0-3.9.2.pcapng"):
        histogram.add(frame)
    assert [row[:4] for row in histogram.answer()["fields"].rows] == [
        ("RequestHeader", "header.correlationId", "int32", 9),
        ("ResponseHeader", "header.correlationId", "int32", 9),
    ]


def test_a_path_that_no_message_has_is_refused_with_what_was_meant():
    with pytest.raises(InputError, match="did you mean memberEpoch"):
        answer_on("memberEpoc", joins([1]))
