"""The declarations against packets that were captured, and the sizes that their documents give."""

import pytest

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs import network

# A frame of the Linux loopback device: a SYN to port 19092.
FRAME = bytes.fromhex(
    "00000000000000000000000008004500003c7bd34000400600007f0000017f000001b2a64a94a7c7a1b000000000a002ffd7fe3000000204ffd70402080a"
)


def test_a_captured_frame():
    at = network.ETHERNET.sizeof()
    ethernet, header = network.ETHERNET.parse(FRAME), network.IPV4.parse(FRAME[at:])
    tcp = network.TCP.parse(FRAME[at + network.IPV4.sizeof() :])
    assert ethernet.protocol == network.ETHER_IPV4
    assert (header.version_and_header_length, header.total_length, header.protocol) == (0x45, 60, network.PROTOCOL_TCP)
    assert header.source == header.destination == bytes([127, 0, 0, 1])
    assert (tcp.source_port, tcp.destination_port, tcp.sequence, tcp.data_offset, tcp.flags) == (
        45734,
        19092,
        0xA7C7A1B0,
        0xA0,
        network.SYN,
    )
    assert network.IPV4.build(header) == FRAME[at : at + network.IPV4.sizeof()]


@pytest.mark.parametrize(
    ("decl", "size"),
    [
        (network.ETHERNET, 14), (network.VLAN, 4), (network.SLL, 16), (network.SLL2, 20), (network.NULL, 4),
        (network.LOOP, 4),
        (network.IPV4, 20), (network.IPV6, 40), (network.EXTENSION, 2), (network.FRAGMENT, 8), (network.TCP, 20),
        (network.UDP, 8),
        (network.VXLAN, 8), (network.GENEVE, 8), (network.GRE, 4), (network.ERSPAN2, 8),
        (network.PCAP["<"].header, 24), (network.PCAP[">"].record, 16), (network.PCAPNG["<"].block, 8),
        (network.PCAPNG["<"].section, 16),
        (network.PCAPNG[">"].interface, 8), (network.PCAPNG["<"].enhanced, 20), (network.PCAPNG["<"].simple, 4),
        (network.PCAPNG["<"].obsolete, 20), (network.PCAPNG["<"].secrets, 8), (network.PCAPNG["<"].option, 4),
    ],
)  # fmt: skip
def test_sizes(decl, size):
    assert decl.sizeof() == fixed(decl).size == size
    data = bytes(range(1, size + 1))
    assert decl.build(decl.parse(data)) == data
    values = fixed(decl).unpack(data)
    parsed = decl.parse(data)
    assert list(values) == [parsed[name] for name in fixed(decl).names]
