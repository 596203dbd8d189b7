"""Segments that are sent again, receivers that do not read, and what captures lack."""

import pytest
from kit.calls import (
    INCIDENTS,
    REAL,
    SAMPLES,
    SECOND,
    codes,
    diagnosed,
    is_connection,
    rewritten,
    texts,
    traffic_of,
)
from kit.commands import kwire

from kwire_cli.analysis.diagnosis.packets import Packets
from kwire_cli.analysis.diagnosis.transport import Transport
from kwire_cli.source.packets.segments import Segments
from kwire_cli.structs.network import ZERO_WINDOW

BUSY = INCIDENTS / "throttled.pcap"


def with_payload(there):
    return {segment.packet: segment for segment in Segments()(there) if segment.payload}


def test_a_consumer_that_is_stopped():
    assert [text for text in texts(INCIDENTS / "window.pcap") if text[0] != "COORDINATOR_LATE"] == [
        ("ZERO_WINDOW", "client 127.0.0.1", "it took no bytes from 127.0.0.1:29092 for up to 4.0 s, on 1 connection")
    ]
    (shut,) = [one.shut for one in traffic_of(INCIDENTS / "window.pcap") if is_connection(one) and any(one.shut)]
    assert 3 * SECOND < shut[0] < 5 * SECOND
    assert shut[1] == 0


def test_a_reset_announces_no_window():
    """A RST has a window of 0 by nature, and so have some packets that are not TCP's own."""
    for path in (INCIDENTS / "refused.pcap", INCIDENTS / "out-of-order.pcap"):
        there = [one for one in traffic_of(path) if is_connection(one)]
        assert any(one.reset for one in there)
        assert not any(any(one.shut) for one in there)
    from kwire_cli.source.packets.files import packets

    segments = list(Segments()(packets(str(INCIDENTS / "window.pcap"))))
    assert sum(bool(segment.flags & ZERO_WINDOW) for segment in segments) == 4


def test_segments_that_are_sent_again(tmp_path):
    """Each fifth one comes once more, a quarter of a second later, on a link on which all takes ten times as long."""

    def again(there):
        first = there[0].time
        there = [packet._replace(time=first + 10 * (packet.time - first)) for packet in there]
        segments = with_payload(there)
        copies = [packet._replace(time=packet.time + SECOND // 4) for packet in there if packet.number in segments][::5]
        return sorted([*there, *copies], key=lambda packet: packet.time)

    made = rewritten(INCIDENTS / "rebalancing.pcap", tmp_path / "again.pcap", again)
    rows = [row for row in diagnosed(made) if row["code"] == "RETRANSMISSIONS"]
    assert rows
    assert all("segments from" in row["text"] and "% of all" in row["text"] for row in rows)
    assert any("the slowest answer on these connections took" in row["text"] for row in rows)


def test_a_link_that_loses_packets():
    """The capture is of the broker's side, which shows an answer before it arrives: its latency says nothing."""
    (row,) = [row for row in diagnosed(INCIDENTS / "loss.pcap") if row["code"] == "RETRANSMISSIONS"]
    assert (row["severity"], row["subject"]) == ("warning", "client 10.90.92.2")
    assert row["text"] == "13 segments from 10.90.92.1:29092 to 10.90.92.2 sent again, 741 bytes or 11.1 % of all bytes"


def test_keep_alives_are_no_retransmissions(tmp_path):
    """A probe repeats the last byte alone, or none."""

    def probed(there):
        out = []
        segments = with_payload(there)
        for packet in there:
            out.append(packet)
            segment = segments.get(packet.number)
            if segment is not None:
                data = bytearray(packet.data[: len(packet.data) - len(segment.payload) + 1])
                data[16:18] = (len(data) - 14).to_bytes(2, "big")
                sequence = segment.sequence + len(segment.payload) - 1
                data[38:42] = (sequence & 0xFFFFFFFF).to_bytes(4, "big")
                data[-1] = segment.payload[-1]
                out.append(packet._replace(data=bytes(data), wire_length=len(data)))
        return out

    made = rewritten(BUSY, tmp_path / "probed.pcap", probed)
    assert codes(made, severity="warning") == codes(BUSY, severity="warning")
    assert "DUPLICATED_PACKETS" not in codes(made)


@pytest.mark.shared
def test_two_retransmissions_are_nothing():
    there = codes(REAL / "java44-produce-consume" / "capture.pcapng")
    assert not {*there} & {kind.code for kind in (*Transport.KINDS, *Packets.KINDS)}


def test_each_packet_twice(tmp_path):
    made = rewritten(BUSY, tmp_path / "twice.pcap", lambda there: [one for one in there for _ in range(2)])
    found = texts(made)
    assert [code for code, _, _ in found if code in {"RETRANSMISSIONS", "DUPLICATED_PACKETS"}] == ["DUPLICATED_PACKETS"]


def test_each_packet_twice_and_cut_short(tmp_path):
    """As with `tcpdump -i any -s 96`: the bytes that were cut off count as those that are there."""

    def cut(there):
        return [one._replace(data=one.data[:96], wire_length=len(one.data)) for one in there for _ in range(2)]

    made = rewritten(BUSY, tmp_path / "twice.pcap", cut)
    assert sorted(code for code in codes(made) if code != "MID_STREAM") == ["CUT_SHORT", "DUPLICATED_PACKETS"]


def test_packets_that_the_capture_lost(tmp_path):
    """A response in the middle is missing, and was acknowledged."""

    def lossy(there):
        segments = with_payload(there)
        answers = [number for number, segment in segments.items() if segment.source.port == 29092]
        return [packet for packet in there if packet.number != answers[len(answers) // 2]]

    made = rewritten(BUSY, tmp_path / "lossy.pcap", lossy)
    (row,) = [row for row in diagnosed(made) if row["code"] == "LOST_PACKETS"]
    assert row["subject"] == "the capture"
    assert row["text"].endswith("missing in 1 connection")


def test_an_answer_that_the_capture_lost_was_given(tmp_path):
    """The broker answers later requests of the connection, so it answered this one: the capture goes on for 12 s."""

    def lossy(there):
        answers = [number for number, segment in with_payload(there).items() if segment.source.port == 29092]
        return [packet for packet in there if packet.number != answers[8]]

    assert codes(rewritten(INCIDENTS / "lag.pcap", tmp_path / "lossy.pcap", lossy)) == [
        "LOST_PACKETS",
        "MID_STREAM",
    ]


def test_packets_that_were_cut_short(tmp_path):
    """As with `tcpdump -s 200`."""

    def cut(there):
        return [packet._replace(data=packet.data[:200], wire_length=len(packet.data)) for packet in there]

    made = rewritten(BUSY, tmp_path / "cut.pcap", cut)
    (row,) = [row for row in diagnosed(made) if row["code"] == "CUT_SHORT"]
    assert "cut off packets of" in row["text"]
    assert "LOST_PACKETS" not in codes(made)


def test_a_capture_tool_that_was_too_slow():
    """Its gaps are the bytes that the finding counts."""
    assert texts(INCIDENTS / "lost-packets.pcap") == [
        ("LOST_PACKETS", "the capture", "61.2 kB missing in 1 connection")
    ]
    gaps = [one.seen.size for one in traffic_of(INCIDENTS / "lost-packets.pcap") if getattr(one, "kind", "") == "gap"]
    assert sum(gaps) == 58084 + 3068
    (lost,) = [one.lost for one in traffic_of(INCIDENTS / "lost-packets.pcap") if is_connection(one) and any(one.lost)]
    assert sum(lost) == sum(gaps)


def test_a_capture_with_a_small_snap_length():
    (finding,) = texts(INCIDENTS / "cut-short.pcap")
    assert finding == ("CUT_SHORT", "the capture", "10.8 kB cut off packets of 2 connections")


def test_a_capture_of_a_bridge_and_the_interface_behind_it():
    (finding,) = texts(INCIDENTS / "twice.pcap")
    assert finding == ("DUPLICATED_PACKETS", "the capture", "46 segments with payload captured twice")


def test_one_direction(tmp_path):
    def half(to_broker):
        def change(there):
            segments = Segments()(there)
            return [
                packet
                for packet, segment in zip(there, segments, strict=True)
                if (segment.destination.port == 29092) is to_broker
            ]

        return change

    for to_broker, side, other in ((True, "client", "broker"), (False, "broker", "client")):
        made = rewritten(BUSY, tmp_path / f"{side}.pcap", half(to_broker))
        (finding,) = [row for row in texts(made) if row[0] == "ONE_SIDE_ONLY"]
        assert finding[2].endswith(f"only the {side}'s packets are there, not the {other}'s")
        assert not {"CONNECTION_REFUSED", "NO_ANSWER", "LOST_PACKETS"} & set(codes(made))


def test_one_direction_of_connections_that_had_begun_before(tmp_path):
    """Responses without a request are no calls, but they show that the connection was used."""

    def responses(there):
        segments = Segments()(there)
        return [packet for packet, segment in zip(there, segments, strict=True) if 29092 < segment.source.port < 29095]

    made = rewritten(INCIDENTS / "slow-broker.pcap", tmp_path / "responses.pcap", responses)
    *sides, begun = texts(made)
    assert sides == [
        (
            "ONE_SIDE_ONLY",
            f"broker 127.0.0.1:{port}",
            "of 1 connection only the broker's packets are there, not the client's",
        )
        for port in (29093, 29094)
    ]
    assert begun == ("MID_STREAM", "the capture", "2 of 2 connections had begun before the capture")
    assert "2 of 2 connections on one side only" in kwire("summary", made).out


@pytest.mark.shared
def test_one_direction_of_a_real_capture():
    assert texts(REAL / "edge-oneway" / "capture.pcap") == [
        (
            "ONE_SIDE_ONLY",
            "broker 127.0.0.1:19092",
            "of 5 connections only the client's packets are there, not the broker's",
        )
    ]


def test_connections_that_had_begun_before():
    assert texts(SAMPLES / "captures" / "midstream.pcap") == [
        ("MID_STREAM", "the capture", "3 of 3 connections had begun before the capture")
    ]


def test_the_end_of_a_connection_is_no_beginning_in_the_middle():
    """Of one connection this capture has the last packets alone, without payload."""
    assert "MID_STREAM" not in codes(INCIDENTS / "mangling-proxy.pcap")


def test_responses_before_their_requests(tmp_path):
    """The clock of the side that answers is a second behind."""

    def behind(there):
        segments = Segments()(there)
        return [
            packet._replace(time=packet.time - (SECOND if segment.source.port == 29092 else 0))
            for packet, segment in zip(there, segments, strict=True)
        ]

    made = rewritten(BUSY, tmp_path / "behind.pcap", behind)
    (row,) = [row for row in diagnosed(made) if row["code"] == "CLOCKS_DISAGREE"]
    assert row["severity"] == "warning"
    assert row["text"].endswith(" earlier than the request, by up to 998 ms")


def test_a_clock_that_was_set_back_by_an_hour(tmp_path):
    """How far is said in minutes and hours, and not as 3.6e+03 s."""

    def back(there):
        return [packet._replace(time=packet.time - 3600 * SECOND * (packet.number > 12)) for packet in there]

    made = rewritten(BUSY, tmp_path / "back.pcap", back)
    (row,) = [row for row in diagnosed(made) if row["code"] == "CLOCKS_DISAGREE"]
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
    (finding,) = [row for row in texts(*files) if row[0] == "CLOCKS_DISAGREE"]
    assert finding[2].startswith("4 connections of both begin 7.0 s earlier in ")
