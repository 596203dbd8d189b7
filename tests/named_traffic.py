"""Frames and captures in which every text is one that a test chose."""

import packets as make
import record_sets as records
from wire import Wire


def hostile_frames(name):
    return b"".join(
        [
            Wire.request("Metadata", 1, 1, name, topics=[{"name": name}]),
            Wire.request("ApiVersions", 3, 2, name, clientSoftwareName=name, clientSoftwareVersion=name),
            Wire.request("FindCoordinator", 3, 3, name, key=name),
            Wire.request(
                "JoinGroup",
                5,
                4,
                name,
                groupId=name,
                memberId=name,
                protocolType="consumer",
                protocols=[{"name": name, "metadata": ""}],
            ),
            Wire.request("SaslHandshake", 1, 5, name, mechanism=name),
        ]
    )


def hostile_capture(name):
    """A connection on which a request and an answer hold the name, and what is no message at all."""
    answer = Wire.response(
        "Metadata",
        1,
        1,
        topics=[{"errorCode": 3, "name": name}],
        brokers=[{"nodeId": 1, "host": name, "port": 1, "rack": name}],
    )
    return spoken_capture((0, hostile_frames(name)), (1, answer), (0, name.encode() * 3))


def named_traffic(name):
    """A capture of a group, a transaction, records and errors, each text of which is the name."""
    member = {"memberId": name, "groupInstanceId": name, "metadata": ""}
    joined = {"generationId": 1, "protocolName": name, "leader": name, "memberId": name, "members": [member]}
    group = {"groupId": name, "generationId": 1, "memberId": name}
    ids = {"v3AndBelowTransactionalId": name, "v3AndBelowProducerId": 7}
    results = [{"name": name, "resultsByPartition": [{"partitionIndex": 0, "partitionErrorCode": 51}]}]
    data = records.batch(0, [records.record(name.encode(), name.encode(), 0, 0, [(name, name.encode())])])
    produced = {"name": name, "partitionData": [{"index": 0, "records": records.b64(data)}]}
    refused = {"index": 0, "errorCode": 3, "errorMessage": name}
    commits = [{"name": name, "partitions": [{"committedMetadata": name}]}]
    calls = [
        ("JoinGroup", 5, {"groupId": name, "groupInstanceId": name, "protocolType": "consumer"}, joined),
        ("SyncGroup", 3, group, {}),
        ("Heartbeat", 3, group, {"errorCode": 27}),
        ("JoinGroup", 5, {"groupId": name, "memberId": name, "protocolType": "consumer"}, {"errorCode": 25}),
        ("InitProducerId", 0, {"transactionalId": name}, {"producerId": 7, "producerEpoch": 0}),
        (
            "AddPartitionsToTxn",
            0,
            ids | {"v3AndBelowTopics": [{"name": name, "partitions": [0]}]},
            {"resultsByTopicV3AndBelow": results},
        ),
        (
            "Produce",
            8,
            {"transactionalId": name, "acks": -1, "topicData": [produced]},
            {"responses": [{"name": name, "partitionResponses": [refused]}]},
        ),
        ("EndTxn", 0, {"transactionalId": name, "producerId": 7, "committed": False}, {"errorCode": 47}),
        (
            "OffsetCommit",
            5,
            {"groupId": name, "memberId": name, "topics": commits},
            {"topics": [{"name": name, "partitions": [{"errorCode": 25}]}]},
        ),
        ("SaslHandshake", 1, {"mechanism": name}, {"errorCode": 33, "mechanisms": [name]}),
    ]
    said = []
    for number, (api, version, request, response) in enumerate(calls, 1):
        said.append((0, Wire.request(api, version, number, name, **request)))
        said.append((1, Wire.response(api, version, number, **response)))
    return spoken_capture(*said)


def spoken_capture(*said, times=None, magic=make.PCAP_MICRO):
    """A capture file in which this is said on one connection: pairs of a side (0 is the client) and bytes.

    `times` are the nanoseconds of each, by default a second after the one before.
    """
    talk = make.Talk()
    segments = talk.handshake() + [talk.segment(side, data) for side, data in said] + talk.goodbye()
    numbers = range(1, len(segments) + 1)
    at = [number * make.SECOND for number in numbers]
    at[3 : 3 + len(times or ())] = times or ()
    return make.pcap_file(
        [
            make.packet(make.ethernet(ip_of(segment)), number, time=time)
            for segment, number, time in zip(segments, numbers, at, strict=True)
        ],
        magic=magic,
    )


def ip_of(segment):
    ports, ends = (50000, 9092), (make.CLIENT, make.SERVER)
    if segment.ends != make.ENDS:
        ports, ends = ports[::-1], ends[::-1]
    payload = make.tcp(segment.payload, segment.sequence, segment.acknowledgment, segment.flags, *ports)
    return make.ipv4(payload, source=ends[0], destination=ends[1])
