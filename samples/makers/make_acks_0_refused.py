"""The capture of a producer with acks=0 whose broker closes the connection instead of an answer.

Usage: PYTHONPATH=tests python samples/makers/make_acks_0_refused.py FILE
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path

from kit.captures import packet_of
from kit.traffic import SECOND, Talk, Wire, pcap_file

import kwire_cli
from kwire_cli.structs.network import ACK, FIN

START = 1_790_000_000 * SECOND
PAUSE = 2_000_000
"""Nanoseconds from one packet to the next."""


def main() -> None:
    """Write the capture."""
    records = kwire_cli.write_records([{"records": [{"value": {"text": "cpu 0.4"}}]}])
    partition = {"index": 0, "records": base64.b64encode(records).decode()}
    software = {"clientSoftwareName": "librdkafka", "clientSoftwareVersion": "2.3.0"}
    versions = [
        {"apiKey": 0, "minVersion": 3, "maxVersion": 9},
        {"apiKey": 18, "minVersion": 0, "maxVersion": 3},
    ]
    topics = [{"name": "metrics", "partitionData": [partition]}]
    talk = Talk()
    segments = [
        *talk.handshake(),
        talk.segment(0, Wire.request("ApiVersions", 3, correlation=1, client="probe", **software)),
        talk.segment(1, Wire.response("ApiVersions", 3, correlation=1, apiKeys=versions)),
        talk.segment(0, Wire.request("Produce", 9, correlation=2, client="probe", acks=0, topicData=topics)),
        talk.segment(1, flags=FIN | ACK),
        talk.segment(0, flags=FIN | ACK),
        talk.segment(1),
    ]
    packets = [packet_of(segment, number) for number, segment in enumerate(segments, 1)]
    timed = [packet._replace(time=START + number * PAUSE) for number, packet in enumerate(packets, 1)]
    Path(sys.argv[1]).write_bytes(pcap_file(timed))


if __name__ == "__main__":
    main()
