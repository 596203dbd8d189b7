"""Captures in which nothing is wrong have no finding, however little of a connection they show."""

import json

import pytest
from kit import traffic as make
from kit.captures import packet_of
from kit.commands import ROOT, kwire
from kit.traffic import Wire

TLS = ROOT / "samples/incidents/java-tls.pcap"


def findings(*arguments):
    done = kwire("diagnose", *arguments, "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)["tables"]["findings"]


@pytest.mark.parametrize(
    "arguments",
    [
        (ROOT / "samples/tls/broker.pcapng",),
        (ROOT / "samples/tls/cases.pcapng",),
        (TLS,),
        (TLS, "--tls-keylog", TLS.with_suffix(".keys")),
    ],
    ids=lambda words: words[0].name,
)
def test_tls_that_works_is_no_mismatch(arguments):
    """A key log that is not there is no mismatch: it is said, and no more."""
    assert {(row["code"], row["severity"]) for row in findings(*arguments)} <= {("UNDECRYPTED_TLS", "info")}


def test_a_capture_of_one_side_shows_no_connection_without_an_answer(tmp_path):
    talk = make.Talk()
    requests = [(0, Wire.request("Metadata", version=1, client="app", topics=[])) for _ in range(3)]
    segments = [*talk.handshake(), *(talk.segment(side, data) for side, data in requests), *talk.goodbye()]
    packets = [packet_of(segment, number) for number, segment in enumerate(segments, 1)]
    of_client = [packet for packet, segment in zip(packets, segments, strict=True) if segment.destination.port == 9092]
    assert 3 < len(of_client) < len(packets)
    file = tmp_path / "one-side.pcap"
    file.write_bytes(make.pcap_file(of_client))
    assert [row["code"] for row in findings(file)] == ["ONE_SIDE_ONLY"]
    what = [row["what"] for row in json.loads(kwire("summary", file, "-f", "json").out)["tables"]["missing"]]
    assert what == ["1 of 1 connection on one side only"]
