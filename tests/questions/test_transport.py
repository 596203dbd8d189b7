"""Segments that are sent again, and receivers that do not read."""

from kit.calls import (
    BUSY,
    INCIDENTS,
    SECOND,
    codes,
    diagnosed,
    is_connection,
    rewritten,
    traffic_of,
    with_payload,
)

from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.segments import Segments
from kwire_cli.structs.network import ZERO_WINDOW


def test_a_consumer_that_is_stopped():
    lives = [one.life for one in traffic_of(INCIDENTS / "window.pcap") if is_connection(one)]
    (sides,) = [life.sides for life in lives if any(side.shut for side in life.sides)]
    assert 3 * SECOND < sides[0].shut < 5 * SECOND
    assert sides[1].shut == 0


def test_a_reset_announces_no_window():
    """A RST has a window of 0 by nature, and so have some packets that are not TCP's own."""
    for path in (INCIDENTS / "refused.pcap", INCIDENTS / "out-of-order.pcap"):
        lives = [one.life for one in traffic_of(path) if is_connection(one)]
        assert any(life.reset for life in lives)
        assert not any(side.shut for life in lives for side in life.sides)
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
    rows = diagnosed(made, of=("RETRANSMISSIONS",))
    assert rows
    assert all("segments from" in row["text"] and "% of all" in row["text"] for row in rows)
    assert any("the slowest answer on these connections took" in row["text"] for row in rows)


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
