import pytest
from kit import traffic as make
from kit.captures import ports

from kwire_cli.sanitize.packets import Headers, internet_checksum, mend
from kwire_cli.sanitize.replacing import Addresses, Replacement
from kwire_cli.source.packets.model import Packet, endpoints
from kwire_cli.source.packets.segments import Segments
from kwire_cli.structs import network

MACS = bytes.fromhex("0c42a1112233 0c42a1445566")
INSIDE = make.ethernet(make.FOUR, padded=False)


def headers():
    return Headers(Addresses(Replacement(b"a key")))


def words(data):
    """The sum of 16-bit words with the carries added, as RFC 1071 does it step by step."""
    total = 0
    for at in range(0, len(data), 2):
        total += int.from_bytes(data[at : at + 2].ljust(2, b"\0"))
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@pytest.mark.parametrize(("data", "link"), make.LINKS.values(), ids=make.LINKS)
def test_the_segment_is_the_same_between_other_addresses(data, link):
    made = headers().rewrite(link, data, len(data))
    before, after = (Segments().segment(Packet(1, 0, link, bytes(each), len(data))) for each in (data, made.data))
    assert len(made.data) == len(data)
    assert after.payload == bytes(len(make.HELLO))
    assert after[3:6] == before[3:6]
    assert ports(after) == ports(before)
    assert endpoints(after.ends)[0].address != endpoints(before.ends)[0].address
    start, stop = made.payload
    assert data[start:stop] == make.HELLO
    assert make.HELLO not in made.data
    for address in (make.CLIENT, make.SERVER, make.CLIENT6, make.SERVER6):
        assert address not in made.data


@pytest.mark.parametrize(("data", "link"), make.LINKS.values(), ids=make.LINKS)
def test_checksums_are_right_afterwards(data, link):
    made = headers().rewrite(link, data, len(data))
    start, stop = made.payload
    made.data[start:stop] = b"y" * (stop - start)
    mend(made.data, made.checksums)
    assert made.checksums
    for each in made.checksums:
        unused = each.never_zero and made.data[each.at : each.at + 2] == b"\0\0"
        assert unused or words(each.pseudo + bytes(made.data[each.start : each.stop])) == 0


def test_hardware_addresses_are_replaced_but_for_those_of_all():
    data = MACS + make.ethernet(make.FOUR)[12:]
    made = headers().rewrite(network.LINK_ETHERNET, data, len(data)).data
    assert made[:12] != MACS
    assert made[:6] != made[6:12]
    assert made[0] & 1 == 0
    everybody = b"\xff" * 6 + data[6:]
    assert headers().rewrite(network.LINK_ETHERNET, everybody, len(data)).data[:6] == b"\xff" * 6


SECRET = b"SECRET!!"
RESERVED = network.VXLAN.build(
    {"flags": network.VXLAN_VALID, "reserved1": SECRET[:3], "network": b"\0\0\5", "reserved2": 0}
)


@pytest.mark.parametrize(
    ("protocol", "data", "said"),
    [
        (network.PROTOCOL_UDP, make.geneve(INSIDE, options=SECRET * 31), SECRET),
        (network.PROTOCOL_UDP, make.geneve(make.FOUR, network.ETHER_IPV4, SECRET), SECRET),
        (network.PROTOCOL_UDP, make.udp(RESERVED + INSIDE, 4789), SECRET[:3]),
        (network.PROTOCOL_GRE, make.gre(make.FOUR, network.ETHER_IPV4, 0x3000, SECRET), SECRET),
        (network.PROTOCOL_GRE, make.gre(INSIDE, network.ETHER_BRIDGED, 0xB000, b"\0\0\0\0" + SECRET), SECRET),
    ],
)
def test_of_tunnels_only_what_is_fixed_stays(protocol, data, said):
    data = make.ipv4(data, protocol)
    made = headers().rewrite(network.LINK_RAW_IP, data, len(data))
    assert said in data
    assert said not in made.data
    before, after = (
        Segments().segment(Packet(1, 0, network.LINK_RAW_IP, bytes(each), len(data))) for each in (data, made.data)
    )
    assert after[3:6] == before[3:6]
    assert len(after.payload) == len(before.payload) == len(make.HELLO)


def test_of_what_is_not_tcp_only_headers_stay():
    arp = MACS + b"\x08\x06" + bytes(range(46))
    made = headers().rewrite(network.LINK_ETHERNET, arp, len(arp)).data
    assert made[12:] == b"\x08\x06" + bytes(46)
    dns = make.ethernet(make.ipv4(make.udp(b"a question", 53), network.PROTOCOL_UDP))
    assert b"question" not in headers().rewrite(network.LINK_ETHERNET, dns, len(dns)).data


def test_options_of_tcp_that_say_who_it_is_become_nothing():
    options = bytes.fromhex("02040550 0101080a 0000000100000002 1312") + b"signature-of-md5" + b"\1\1"
    data = make.ipv4(make.tcp(make.HELLO, options=options))
    made = headers().rewrite(network.LINK_RAW_IP, data, len(data))
    start, _ = made.payload
    assert bytes(made.data[start - len(options) : start]) == options[:16] + b"\1" * 20
    odd = make.ipv4(make.tcp(make.HELLO, options=b"\x02\x01pw"))
    assert b"pw" not in headers().rewrite(network.LINK_RAW_IP, odd, len(odd)).data


@pytest.mark.parametrize("size", range(0, 80, 3))
def test_packets_that_are_cut_anywhere(size):
    for data, link in make.LINKS.values():
        made = headers().rewrite(link, data[:size], len(data))
        assert len(made.data) == len(data[:size])
        mend(made.data, made.checksums)


def test_the_checksum_of_zeros():
    assert internet_checksum(bytes(20)) == 0xFFFF
    assert internet_checksum(b"\xff\xff") == 0
