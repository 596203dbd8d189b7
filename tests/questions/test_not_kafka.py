"""Other protocols in place of Kafka's."""

from kit.calls import SAMPLES, codes, texts
from kit.captures import file_of
from kit.traffic import Talk, Wire

ASK = b"GET /subjects HTTP/1.1\r\nHost: registry\r\n\r\n"
ANSWER = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"


def talk_of(folder, *said):
    """Write a connection on which the sides say these bytes; return its path."""
    talk = Talk()
    segments = [*talk.handshake(), *(talk.segment(side, data) for side, data in said), *talk.goodbye()]
    file = folder / "talk.pcap"
    file.write_bytes(file_of(segments))
    return file


def test_several_protocols_at_a_broker():
    (row,) = [row for row in texts(SAMPLES / "captures" / "not-kafka.pcapng") if row[0] == "NOT_KAFKA"]
    assert row[2] == (
        "4 connections to 127.0.0.1:19192 began with http, redis, ssh; the broker closed them without an answer"
    )


def test_a_client_that_asks_a_web_server(tmp_path):
    file = talk_of(tmp_path, (0, Wire.request("Metadata", version=1, client="app", topics=[])), (1, ANSWER))
    assert texts(file, severity="error") == [
        ("NOT_KAFKA", "client app", "10.0.0.2:9092 answered requests on 1 connection with http")
    ]


def test_http_between_others_is_nothing(tmp_path):
    assert codes(talk_of(tmp_path, (0, ASK), (1, ANSWER))) == []
