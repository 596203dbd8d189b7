"""Captures of a size that shows speed: some connections on Ethernet, delayed acknowledgments, the timestamps option,
random payload.

Usage: make_captures.py OUT [--payload 1448] [--data-packets 45000] [--connections 8] [--per-ack 2]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from kwire_cli.structs.network import (
    ACK,
    ETHER_IPV4,
    ETHERNET,
    IPV4,
    LINK_ETHERNET,
    PCAP,
    PCAP_MICRO,
    PROTOCOL_TCP,
    PSH,
    SYN,
    TCP,
)

TIMESTAMPS = bytes.fromhex("0101080a0000000100000002")
MASK = 0xFFFFFFFF


class Capture:
    def __init__(self, path: Path) -> None:
        self.time = 1_760_000_000_000_000
        self.packets = 0
        self._open(path)
        self.record = PCAP["<"].record
        self.ethernet = ETHERNET.build({"destination": bytes(6), "source": bytes(6), "protocol": ETHER_IPV4})

    def _open(self, path: Path) -> None:
        self.file = path.open("wb")
        header = {
            "magic": PCAP_MICRO,
            "major_version": 2,
            "minor_version": 4,
            "reserved1": 0,
            "reserved2": 0,
            "snap_len": 262144,
        }
        self.file.write(PCAP["<"].header.build({**header, "link_type": LINK_ETHERNET}))

    def turn_to(self, path: Path) -> None:
        """Go on in another file."""
        self.file.close()
        self._open(path)

    def packet(
        self, ends: tuple[bytes, int, bytes, int], sequence: int, acknowledgment: int, flags: int, payload: bytes = b""
    ) -> None:
        source, source_port, destination, destination_port = ends
        tcp = TCP.build(
            {
                "source_port": source_port,
                "destination_port": destination_port,
                "sequence": sequence & MASK,
                "acknowledgment": acknowledgment & MASK,
                "data_offset": (TCP.sizeof() + len(TIMESTAMPS)) // 4 << 4,
                "flags": flags,
                "window": 512,
                "checksum": 0,
                "urgent_pointer": 0,
            }
        )
        ip = IPV4.build(
            {
                "version_and_header_length": 0x45,
                "type_of_service": 0,
                "total_length": IPV4.sizeof() + len(tcp) + len(TIMESTAMPS) + len(payload),
                "identification": self.packets & 0xFFFF,
                "flags_and_fragment_offset": 0x4000,
                "time_to_live": 64,
                "protocol": PROTOCOL_TCP,
                "checksum": 0,
                "source": source,
                "destination": destination,
            }
        )
        data = self.ethernet + ip + tcp + TIMESTAMPS + payload
        self.time += 20
        self.packets += 1
        seconds, fraction = divmod(self.time, 1_000_000)
        record = {"seconds": seconds, "fraction": fraction, "captured_length": len(data), "original_length": len(data)}
        self.file.write(self.record.build(record) + data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--payload", type=int, default=1448)
    parser.add_argument("--data-packets", type=int, default=45_000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--per-ack", type=int, default=2)
    asked = parser.parse_args()
    dice = random.Random(7)
    capture = Capture(asked.out)
    state = []
    for number in range(asked.connections):
        there = (b"\x0a\x00\x00\x01", 40000 + number, b"\x0a\x00\x00\x02", 9092)
        back = (there[2], there[3], there[0], there[1])
        client, server = dice.getrandbits(32), dice.getrandbits(32)
        capture.packet(there, client, 0, SYN)
        capture.packet(back, server, client + 1, SYN | ACK)
        capture.packet(there, client + 1, server + 1, ACK)
        state.append([there, back, client + 1, server + 1])
    for _ in range(asked.data_packets // asked.per_ack):
        ends = dice.choice(state)
        side = dice.randrange(2)
        for _ in range(asked.per_ack):
            capture.packet(ends[side], ends[2 + side], ends[3 - side], ACK | PSH, dice.randbytes(asked.payload))
            ends[2 + side] += asked.payload
        capture.packet(ends[1 - side], ends[3 - side], ends[2 + side], ACK)
    capture.file.close()


if __name__ == "__main__":
    main()
