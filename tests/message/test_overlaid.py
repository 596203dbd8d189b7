"""Traffic in the form that an overlay gives it reads as the traffic that it was made from."""

from pathlib import Path

import pytest
from kit.traffic import BROKER_END, CLIENT_END

import kwire_cli as kwire
from kwire_cli.message.encode import encode_document
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, Start

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"


@pytest.mark.parametrize("overlay", ["all-packed", "all-upacked", "metadata-upacked"])
@pytest.mark.parametrize("capture", ["kafka-python-4.4.0.pcapng", "ipv6.pcap", "sarama-0.8.2.0-3.9.2.pcapng"])
def test_lines_are_the_same_but_for_their_sizes(capture, overlay):
    catalog = kwire.catalog(overlay)
    lines = traffic(kwire.catalog(), Capture(str(CAPTURES / capture)))
    shipped = [
        line
        for line in lines
        if line.is_frame and not line.anomalies and not line.guess and (line.request or line.kind == "request")
    ]
    documents = [line.to_json(records="base64") for line in shipped]
    events = [Start(stream, CLIENT_END, BROKER_END, True, 0, 1) for stream in sorted({line.stream for line in shipped})]
    for number, (line, document) in enumerate(zip(shipped, documents, strict=True), 1):
        side = 0 if line.kind == "request" else 1
        events.append(Data(line.stream, side, encode_document(catalog, document), number * 1_000_000, number + 1))
    found = list(traffic(catalog, events))
    assert len(found) == len(shipped) > 10
    for ours, theirs, document in zip(found, shipped, documents, strict=True):
        shown = ours.to_json(records="base64")
        assert (shown["body"], shown.get("payloads")) == (document["body"], document.get("payloads"))
        assert (ours.errors, ours.own_topics, ours.anomalies) == (theirs.errors, theirs.own_topics, theirs.anomalies)
    if any("MetadataResponse" in (line.message or "") for line in shipped) or overlay != "metadata-upacked":
        assert any(ours.seen.size != theirs.seen.size for ours, theirs in zip(found, shipped, strict=True))
