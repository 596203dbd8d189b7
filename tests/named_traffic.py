"""Frames and captures in which every text is one that a test chose."""

import packets as make
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
    talk = make.Talk()
    answer = Wire.response(
        "Metadata",
        1,
        1,
        topics=[{"errorCode": 3, "name": name}],
        brokers=[{"nodeId": 1, "host": name, "port": 1, "rack": name}],
    )
    said = [
        *talk.handshake(),
        talk.segment(0, hostile_frames(name)),
        talk.segment(1, answer),
        talk.segment(0, name.encode() * 3),
        *talk.goodbye(),
    ]
    return make.pcap_file(
        [make.packet(make.ethernet(ip_of(segment)), number) for number, segment in enumerate(said, 1)]
    )


def ip_of(segment):
    ports, ends = (50000, 9092), (make.CLIENT, make.SERVER)
    if segment.ends != make.ENDS:
        ports, ends = ports[::-1], ends[::-1]
    payload = make.tcp(segment.payload, segment.sequence, segment.acknowledgment, segment.flags, *ports)
    return make.ipv4(payload, source=ends[0], destination=ends[1])
