"""The declarations against packets that were captured, and the sizes that their documents give."""

import pytest

from kwire_cli.engine.fixed import fixed
from kwire_cli.structs import captures
from kwire_cli.structs.network import ip, link, transport, tunnels

# A frame of the Linux loopback device: a SYN to port 19092.
FRAME = bytes.fromhex("00000000000000000000000008004500003c7bd34000400600007f0000017f000001b2a64a94a7c7a1b000000000a002ffd7fe3000000204ffd70402080a")


def test_a_captured_frame():
    at = link.ETHERNET.sizeof()
    ethernet, header = link.ETHERNET.parse(FRAME), ip.IPV4.parse(FRAME[at:])
    tcp = transport.TCP.parse(FRAME[at + ip.IPV4.sizeof() :])
    assert ethernet.protocol == link.ETHER_IPV4
    assert (header.version_and_header_length, header.total_length, header.protocol) == (0x45, 60, ip.PROTOCOL_TCP)
    assert header.source == header.destination == bytes([127, 0, 0, 1])
    assert (tcp.source_port, tcp.destination_port, tcp.sequence, tcp.data_offset, tcp.flags) == (45734, 19092, 0xA7C7A1B0, 0xA0, transport.SYN)
    assert ip.IPV4.build(header) == FRAME[at : at + ip.IPV4.sizeof()]


@pytest.mark.parametrize(
    ("decl", "size"),
    [
        (link.ETHERNET, 14), (link.VLAN, 4), (link.SLL, 16), (link.SLL2, 20), (link.NULL, 4), (link.LOOP, 4), (link.PPP, 2), (link.PPP_ADDRESS, 2),
        (ip.IPV4, 20), (ip.IPV6, 40), (ip.EXTENSION, 2), (ip.FRAGMENT, 8), (transport.TCP, 20), (transport.UDP, 8),
        (tunnels.VXLAN, 8), (tunnels.GENEVE, 8), (tunnels.GRE, 4), (tunnels.ERSPAN2, 8), (tunnels.ERSPAN3, 12), (tunnels.ERSPAN3_PLATFORM, 8),
        (captures.PCAP["<"].header, 24), (captures.PCAP[">"].record, 16), (captures.PCAPNG["<"].block, 8), (captures.PCAPNG["<"].section, 16),
        (captures.PCAPNG[">"].interface, 8), (captures.PCAPNG["<"].enhanced, 20), (captures.PCAPNG["<"].simple, 4),
        (captures.PCAPNG["<"].obsolete, 20), (captures.PCAPNG["<"].secrets, 8), (captures.PCAPNG["<"].option, 4),
    ],
)  # fmt: skip
def test_sizes(decl, size):
    assert decl.sizeof() == fixed(decl).size == size
    data = bytes(range(1, size + 1))
    assert decl.build(decl.parse(data)) == data
    values = fixed(decl).unpack(data)
    parsed = decl.parse(data)
    assert list(values) == [parsed[name] for name in fixed(decl).names]
