"""What captures lack, packets that they have twice, and clocks that differ."""

import pytest
from kit.calls import (
    BUSY,
    INCIDENTS,
    REAL,
    SECOND,
    codes,
    diagnosed,
    is_connection,
    rewritten,
    texts,
    traffic_of,
    with_payload,
)
from kit.captures import file_of, ports
from kit.commands import kwire
from kit.traffic import Talk

from kwire_cli.source.packets.segments import Segments
from kwire_cli.structs.network import RST


def test_each_packet_twice(tmp_path):
    made = rewritten(BUSY, tmp_path / "twice.pcap", lambda there: [one for one in there for _ in range(2)])
    found = texts(made)
    assert [code for code, _, _ in found if code == "RETRANSMISSIONS"] == []


def test_each_packet_twice_and_cut_short(tmp_path):
    """As with `tcpdump -i any -s 96`: the bytes that were cut off count as those that are there."""

    def cut(there):
        return [one._replace(data=one.data[:96], wire_length=len(one.data)) for one in there for _ in range(2)]

    made = rewritten(BUSY, tmp_path / "twice.pcap", cut)
    assert codes(made) == ["CUT_SHORT"]


def test_packets_that_the_capture_lost(tmp_path):
    """A response in the middle is missing, and was acknowledged."""

    def lossy(there):
        segments = with_payload(there)
        answers = [number for number, segment in segments.items() if ports(segment)[0] == 29092]
        return [packet for packet in there if packet.number != answers[len(answers) // 2]]

    made = rewritten(BUSY, tmp_path / "lossy.pcap", lossy)
    (row,) = diagnosed(made, of=("LOST_PACKETS",))
    assert row["subject"] == "the capture"
    assert row["text"].endswith("missing in 1 connection")


def test_an_answer_that_the_capture_lost_was_given(tmp_path):
    """The broker answers later requests of the connection, so it answered this one: the capture goes on for 12 s."""

    def lossy(there):
        answers = [number for number, segment in with_payload(there).items() if ports(segment)[0] == 29092]
        return [packet for packet in there if packet.number != answers[8]]

    assert codes(rewritten(INCIDENTS / "lag.pcap", tmp_path / "lossy.pcap", lossy)) == [
        "LOST_PACKETS",
    ]


def test_packets_that_were_cut_short(tmp_path):
    """As with `tcpdump -s 200`."""

    def cut(there):
        return [packet._replace(data=packet.data[:200], wire_length=len(packet.data)) for packet in there]

    made = rewritten(BUSY, tmp_path / "cut.pcap", cut)
    (row,) = diagnosed(made, of=("CUT_SHORT",))
    assert "cut off packets of" in row["text"]
    assert "LOST_PACKETS" not in codes(made)


def test_a_capture_tool_that_was_too_slow():
    """Its gaps are the bytes that the finding counts."""
    gaps = [one.seen.size for one in traffic_of(INCIDENTS / "lost-packets.pcap") if getattr(one, "kind", "") == "gap"]
    assert sum(gaps) == 58084 + 3068
    lives = [one.life for one in traffic_of(INCIDENTS / "lost-packets.pcap") if is_connection(one)]
    assert sum(side.lost for life in lives for side in life.sides) == sum(gaps)


def test_one_direction(tmp_path):
    def half(to_broker):
        def change(there):
            segments = Segments()(there)
            return [
                packet
                for packet, segment in zip(there, segments, strict=True)
                if (ports(segment)[1] == 29092) is to_broker
            ]

        return change

    for to_broker, side, other in ((True, "client", "broker"), (False, "broker", "client")):
        made = rewritten(BUSY, tmp_path / f"{side}.pcap", half(to_broker))
        (finding,) = texts(made, of=("ONE_SIDE_ONLY",))
        assert finding[2].endswith(f"only the {side}'s packets are there, not the {other}'s")
        assert not {"CONNECTION_REFUSED", "NO_ANSWER", "LOST_PACKETS"} & set(codes(made))


def test_one_direction_of_connections_that_had_begun_before(tmp_path):
    """Responses without a request are no calls, but they show that the connection was used."""

    def responses(there):
        segments = Segments()(there)
        return [packet for packet, segment in zip(there, segments, strict=True) if 29092 < ports(segment)[0] < 29095]

    made = rewritten(INCIDENTS / "slow-broker.pcap", tmp_path / "responses.pcap", responses)
    assert texts(made) == [
        (
            "ONE_SIDE_ONLY",
            f"broker 127.0.0.1:{port}",
            "of 1 connection only the broker's packets are there, not the client's",
        )
        for port in (29093, 29094)
    ]
    assert "2 of 2 connections on one side only" in kwire("summary", made).out


def test_a_late_answer_to_a_client_that_is_gone(tmp_path):
    """Nothing says which end is the broker, and two packets are no direction."""
    talk = Talk()
    late = [talk.segment(1, b"\0\0\0\x46" + bytes(70)), talk.segment(0, flags=RST)]
    file = tmp_path / "late.pcap"
    file.write_bytes(file_of(late))
    assert codes(file) == []


@pytest.mark.shared
def test_one_direction_of_a_real_capture():
    assert texts(REAL / "edge-oneway" / "capture.pcap") == [
        (
            "ONE_SIDE_ONLY",
            "broker 127.0.0.1:19092",
            "of 5 connections only the client's packets are there, not the broker's",
        )
    ]


def test_responses_before_their_requests(tmp_path):
    """The clock of the side that answers is a second behind."""

    def behind(there):
        segments = Segments()(there)
        return [
            packet._replace(time=packet.time - (SECOND if ports(segment)[0] == 29092 else 0))
            for packet, segment in zip(there, segments, strict=True)
        ]

    made = rewritten(BUSY, tmp_path / "behind.pcap", behind)
    (row,) = diagnosed(made, of=("CLOCKS_DISAGREE",))
    assert row["severity"] == "warning"
    assert row["text"].endswith(" earlier than the request, by up to 998 ms")


def test_a_clock_that_was_set_back_by_an_hour(tmp_path):
    """How far is said in minutes and hours, and not as 3.6e+03 s."""

    def back(there):
        return [packet._replace(time=packet.time - 3600 * SECOND * (packet.number > 12)) for packet in there]

    made = rewritten(BUSY, tmp_path / "back.pcap", back)
    (row,) = diagnosed(made, of=("CLOCKS_DISAGREE",))
    assert row["text"] == "1 response earlier than the request, by up to 1 h"


def test_two_capture_points_whose_clocks_differ(tmp_path):
    for name, late in (("client", 0), ("broker", 7 * SECOND)):
        (tmp_path / name).mkdir()
        rewritten(
            BUSY,
            tmp_path / name / "traffic.pcap",
            lambda there, late=late: [packet._replace(time=packet.time + late) for packet in there],
        )
    files = [tmp_path / name / "traffic.pcap" for name in ("client", "broker")]
    (finding,) = texts(*files, of=("CLOCKS_DISAGREE",))
    assert finding[2].startswith("4 connections of both begin 7.0 s earlier in ")
