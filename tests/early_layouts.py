"""Bytes in early layouts, which later releases replaced under the same version."""

from typing import NamedTuple

from named_traffic import spoken_capture
from wire import Wire


class EarlyBody(NamedTuple):
    """A message in an early layout, with the last release that had it and a part of the value."""

    release: str
    message: str
    data: bytes
    part: dict[str, object]


def _body(release: str, message: str, text: str, **part: object) -> EarlyBody:
    return EarlyBody(release, message, bytes.fromhex(text), part)


ID = "AAAAAAAAAAEAAAAAAAAAAg"
_ID = "00000000000000010000000000000002"

BODIES = (
    _body(
        "3.6",
        "ConsumerGroupHeartbeatRequest",
        "0267026d000000000000ffffffff02027402720672616e6765020278000000000000000201000000",
        subscribedTopicRegex="r",
        serverAssignor="range",
    ),
    _body(
        "3.6",
        "ConsumerGroupHeartbeatResponse",
        "00000000000000026d0000000301000013880100010100010301020000",
        shouldComputeAssignment=True,
    ),
    _body(
        "3.7",
        "ConsumerGroupDescribeResponse",
        "0000000002000000026707537461626c65000000000000000008756e69666f726d02026d00000000000002630268020274"
        f"0002{_ID}02740300000000000000010003000000040207"
        f"0002{_ID}02740300000000000000010003000000040207"
        "0000800000000000",
    ),
    _body(
        "3.7",
        "ConsumerGroupMemberMetadataValue",
        "01010263026802027401ffffffff010202780000000000000002010000",
        subscribedTopicNames=["t"],
    ),
    _body(
        "3.7",
        "ConsumerGroupPartitionMetadataValue",
        f"0000000502{_ID}027400000002010000",
        epoch=5,
        topics=[{"topicId": ID, "topicName": "t", "numPartitions": 2, "partitionMetadata": []}],
    ),
    _body(
        "3.7",
        "ConsumerGroupTargetAssignmentMemberValue",
        f"0102{_ID}020000000000000202 0900",
        topicPartitions=[{"topicId": ID, "partitions": [0]}],
        metadataBytes="CQ==",
    ),
    _body(
        "3.7",
        "ConsumerGroupCurrentMemberAssignmentValue",
        f"00000006000000050000000602{_ID}02000000000001010000010100",
        targetMemberEpoch=6,
        assignedPartitions=[{"topicId": ID, "partitions": [0]}],
    ),
    _body(
        "4.0",
        "ReadShareGroupStateSummaryResponse",
        f"02{_ID}0200000001000000000000020000000000000003000000",
    ),
    _body("4.0", "ShareGroupMetadataValue", "0000000400", epoch=4),
    _body(
        "4.0",
        "ShareGroupPartitionMetadataValue",
        f"02{_ID}027400000002010000",
        topics=[{"topicId": ID, "topicName": "t", "numPartitions": 2, "partitionMetadata": []}],
    ),
    _body(
        "4.0",
        "ShareGroupStatePartitionMetadataValue",
        f"02{_ID}0274020000000000 0100",
        initializedTopics=[{"topicId": ID, "topicName": "t", "partitions": [0]}],
    ),
    _body(
        "4.0",
        "ShareSnapshotValue",
        "00010000000200000003000000000000000402000000000000000400000000000000090200010000",
        snapshotEpoch=1,
        startOffset=4,
    ),
    _body(
        "4.0",
        "ShareUpdateValue",
        "000100000003000000000000000402000000000000000400000000000000090200010000",
        snapshotEpoch=1,
        startOffset=4,
    ),
)
"""Written by kafka-clients, kafka-group-coordinator and kafka-share-coordinator of 3.6.2, 3.7.2 and 4.0.1."""


def body_of(message: str) -> bytes:
    """Return the bytes of a message in its early layout."""
    return next(body.data for body in BODIES if body.message == message)


EARLY_PACKET = 45


def early_capture():
    """Return a capture of ConsumerGroupDescribe. The response in packet EARLY_PACKET has the layout of Kafka 3.7."""
    said = []
    for number in range(40):
        response = Wire.response("ConsumerGroupDescribe", 0, number, groups=[])
        if number == 20:
            payload = number.to_bytes(4) + b"\0" + body_of("ConsumerGroupDescribeResponse")
            response = len(payload).to_bytes(4) + payload
        said += [(0, Wire.request("ConsumerGroupDescribe", 0, number, groupIds=["g"])), (1, response)]
    return spoken_capture(*said)
