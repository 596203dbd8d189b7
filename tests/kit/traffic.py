"""Packets, captures and frames made for a test, and connections on which they are said."""

import base64
import functools

import kwire_cli
from kwire_cli.engine.fixed import fixed
from kwire_cli.message.encode import encode_document
from kwire_cli.message.known_layout import Layouts
from kwire_cli.source.kafka.connection import Connection
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.model import Data, Endpoint, Packet, Segment, Start, turned
from kwire_cli.spec.model import default_value
from kwire_cli.structs import network
from kwire_cli.structs.network import ACK, PCAP, PCAP_MICRO, PCAPNG, ZERO_WINDOW

# Packets and capture files built from the declarations themselves, for tests.

CLIENT, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
CLIENT6, SERVER6 = (bytes.fromhex(f"20010db8{number:024x}") for number in (1, 2))
MASK = 0xFFFFFFFF
SECOND = 1_000_000_000
layout_of = functools.cache(fixed)


def build(header, values):
    """The bytes of a header of fixed size, of which some tests make a hundred thousand."""
    layout = layout_of(header)
    return layout.pack(*(values[name] for name in layout.names))


def tcp(
    payload=b"", sequence=1000, acknowledgment=2000, flags=ACK, source_port=50000, destination_port=9092, options=b""
):
    header = {"source_port": source_port, "destination_port": destination_port}
    header |= {"sequence": sequence & MASK, "acknowledgment": acknowledgment & MASK}
    header |= {
        "data_offset": (layout_of(network.TCP).size + len(options)) // 4 << 4,
        "flags": flags & ~ZERO_WINDOW,
        "window": 0 if flags & ZERO_WINDOW else 512,
        "checksum": 0xBAD,
        "urgent_pointer": 0,
    }
    return build(network.TCP, header) + options + payload


def udp(payload, destination_port):
    header = {
        "source_port": 33333,
        "destination_port": destination_port,
        "length": network.UDP.sizeof() + len(payload),
        "checksum": 0,
    }
    return network.UDP.build(header) + payload


def ipv4(payload, protocol=network.PROTOCOL_TCP, source=CLIENT, destination=SERVER, options=b"", **fields):
    size = layout_of(network.IPV4).size + len(options)
    header = {
        "version_and_header_length": 4 << 4 | size // 4,
        "type_of_service": 0,
        "total_length": size + len(payload),
        "identification": 7,
    }
    header |= {"flags_and_fragment_offset": 0x4000, "time_to_live": 64, "protocol": protocol, "checksum": 0xBAD}
    return build(network.IPV4, header | {"source": source, "destination": destination} | fields) + options + payload


def ipv6(payload, next_header=network.PROTOCOL_TCP, source=CLIENT6, destination=SERVER6, **fields):
    header = {"version_and_flow": 6 << 28 | 5, "payload_length": len(payload)}
    header |= {"next_header": next_header, "hop_limit": 64}
    return build(network.IPV6, header | {"source": source, "destination": destination} | fields) + payload


def extension(next_header, body=bytes(6)):
    return network.EXTENSION.build({"next_header": next_header, "length": (len(body) - 6) // 8}) + body


def fragment_header(next_header, offset, more, identification=99):
    flags = offset | (network.IPV6_MORE_FRAGMENTS if more else 0)
    return network.FRAGMENT.build(
        {"next_header": next_header, "reserved": 0, "offset_and_flags": flags, "identification": identification}
    )


def ethernet(payload, protocol=network.ETHER_IPV4, padded=True):
    frame = build(network.ETHERNET, {"destination": bytes(6), "source": bytes(6), "protocol": protocol}) + payload
    return frame.ljust(60, b"\xee") if padded else frame


def vlan(payload, protocol=network.ETHER_IPV4, tag=5):
    return network.VLAN.build({"tag_control": tag, "protocol": protocol}) + payload


def sll(payload, protocol=network.ETHER_IPV4):
    header = {"packet_type": 0, "hardware_type": 1, "address_length": 6, "address": bytes(8), "protocol": protocol}
    return network.SLL.build(header) + payload


def sll2(payload, protocol=network.ETHER_IPV4):
    header = {"protocol": protocol, "reserved": 0, "interface_index": 1, "hardware_type": 1}
    header |= {"packet_type": 0, "address_length": 6, "address": bytes(8)}
    return network.SLL2.build(header) + payload


def vxlan(payload, port=4789):
    header = network.VXLAN.build(
        {"flags": network.VXLAN_VALID, "reserved1": bytes(3), "network": b"\0\0\5", "reserved2": 0}
    )
    return udp(header + payload, port)


def geneve(payload, protocol=network.ETHER_BRIDGED, options=bytes(8)):
    header = {"version_and_length": len(options) // 4, "flags": 0, "protocol": protocol}
    header |= {"network": b"\0\0\5", "reserved": 0}
    return udp(network.GENEVE.build(header) + options + payload, network.GENEVE_PORT)


def gre(payload, protocol, flags=0, optional=b""):
    return network.GRE.build({"flags_and_version": flags, "protocol": protocol}) + optional + payload


# A segment in all that may carry it: the bytes of a packet, and its link type.

HELLO = b"hello kafka"
FOUR, SIX = ipv4(tcp(HELLO)), ipv6(tcp(HELLO))
ERSPAN2 = network.ERSPAN2.build({"version_and_vlan": 0x1000, "session": 1, "index": 0})


LINKS = {
    "ethernet": (ethernet(FOUR), network.LINK_ETHERNET),
    "ethernet, IPv6": (ethernet(SIX, network.ETHER_IPV6), network.LINK_ETHERNET),
    "ethernet with options": (ethernet(ipv4(tcp(HELLO, options=bytes(12)))), network.LINK_ETHERNET),
    "VLAN": (ethernet(vlan(FOUR), 0x8100), network.LINK_ETHERNET),
    "QinQ": (ethernet(vlan(vlan(FOUR), 0x8100), 0x88A8), network.LINK_ETHERNET),
    "old QinQ": (ethernet(vlan(vlan(SIX, network.ETHER_IPV6), 0x8100), 0x9100), network.LINK_ETHERNET),
    "SLL": (sll(FOUR), network.LINK_SLL),
    "SLL, IPv6": (sll(SIX, network.ETHER_IPV6), network.LINK_SLL),
    "SLL, VLAN": (sll(vlan(FOUR), 0x8100), network.LINK_SLL),
    "SLL2": (sll2(FOUR), network.LINK_SLL2),
    "null": (network.NULL.build({"protocol": 2}) + FOUR, network.LINK_NULL),
    "null, big-endian": (network.LOOP.build({"protocol": 2}) + FOUR, network.LINK_NULL),
    "loop": (network.LOOP.build({"protocol": 2}) + FOUR, network.LINK_LOOP),
}
LINKS |= {
    f"null, family {n}": (network.NULL.build({"protocol": n}) + SIX, network.LINK_NULL) for n in network.FAMILIES_IPV6
}
LINKS |= {
    f"loop, family {n}": (network.LOOP.build({"protocol": n}) + SIX, network.LINK_LOOP) for n in network.FAMILIES_IPV6
}
LINKS |= {f"raw {n}": (data, n) for n, data in zip(sorted(network.LINK_RAW), [FOUR, SIX, FOUR, FOUR, SIX], strict=True)}
LINKS |= {
    "IPv4 options": (ethernet(ipv4(tcp(HELLO), options=bytes(8))), 1),
    "IPv4 total length 0": (ethernet(ipv4(tcp(HELLO), total_length=0), padded=False), 1),
    "IPv6 extensions": (
        ethernet(
            ipv6(extension(60) + extension(43, bytes(14)) + extension(60) + extension(6) + tcp(HELLO), 0),
            network.ETHER_IPV6,
        ),
        1,
    ),
    "IPv6 atomic fragment": (ethernet(ipv6(fragment_header(6, 0, more=False) + tcp(HELLO), 44), network.ETHER_IPV6), 1),
    "IPv6 payload length 0": (ethernet(ipv6(tcp(HELLO), payload_length=0), network.ETHER_IPV6), 1),
    "IPv6 jumbogram": (
        ethernet(ipv6(extension(6, b"\xc2\x04" + bytes(4)) + tcp(HELLO), 0, payload_length=0), network.ETHER_IPV6),
        1,
    ),
    "VXLAN": (ethernet(ipv4(vxlan(ethernet(FOUR)), 17)), 1),
    "VXLAN of Linux, over IPv6": (ethernet(ipv6(vxlan(ethernet(vlan(FOUR), 0x8100), 8472), 17), network.ETHER_IPV6), 1),
    "Geneve": (ethernet(ipv4(geneve(ethernet(SIX, network.ETHER_IPV6)), 17)), 1),
    "Geneve, IP inside": (ethernet(ipv4(geneve(FOUR, network.ETHER_IPV4), 17)), 1),
    "GRE": (ethernet(ipv4(gre(FOUR, network.ETHER_IPV4), 47)), 1),
    "GRE with all options": (ethernet(ipv4(gre(SIX, network.ETHER_IPV6, 0xB000, bytes(12)), 47)), 1),
    "GRE, bridged": (ethernet(ipv4(gre(ethernet(FOUR), network.ETHER_BRIDGED), 47)), 1),
    "ERSPAN I": (ethernet(ipv4(gre(ethernet(FOUR), network.ETHER_ERSPAN), 47)), 1),
    "ERSPAN II": (ethernet(ipv4(gre(ERSPAN2 + ethernet(FOUR), network.ETHER_ERSPAN, 0x1000, bytes(4)), 47)), 1),
    "IP in IP": (ethernet(ipv4(FOUR, 4)), 1),
    "6in4": (ethernet(ipv4(SIX, 41)), 1),
}


def packet(data, number=1, link=network.LINK_ETHERNET, time=None, length=None):
    return Packet(
        number, number * SECOND if time is None else time, link, data, len(data) if length is None else length
    )


def pcap_file(packets, order="<", magic=PCAP_MICRO, snap_length=262144, link=network.LINK_ETHERNET):
    header = {"magic": magic, "major_version": 2, "minor_version": 4, "reserved1": 0, "reserved2": 0}
    header |= {"snap_len": snap_length, "link_type": link}
    parts = [PCAP[order].header.build(header)]
    unit = 1000 if magic == PCAP_MICRO else 1
    for each in packets:
        seconds, rest = divmod(each.time, SECOND)
        record = {"seconds": seconds, "fraction": rest // unit}
        record |= {"captured_length": len(each.data), "original_length": each.wire_length}
        parts.append(build(PCAP[order].record, record) + each.data)
    return b"".join(parts)


def block(order, kind, body):
    layout = PCAPNG[order]
    body += bytes(-len(body) % 4)
    length = layout.block.sizeof() + len(body) + layout.trailer.sizeof()
    return layout.block.build({"type": kind, "total_length": length}) + body + layout.trailer.build(length)


def option(order, code, value):
    return PCAPNG[order].option.build({"code": code, "length": len(value)}) + value + bytes(-len(value) % 4)


def section(order):
    header = {"byte_order_magic": network.BYTE_ORDER_MAGIC, "major_version": 1, "minor_version": 0}
    body = PCAPNG[order].section.build(header | {"section_length": -1})
    return block(order, network.SECTION_BLOCK, body + option(order, 4, b"test") + option(order, 0, b""))


def interface(order, link=network.LINK_ETHERNET, snap_length=0, options=b""):
    header = PCAPNG[order].interface.build({"link_type": link, "reserved": 0, "snap_len": snap_length})
    return block(order, network.INTERFACE_BLOCK, header + options)


def enhanced(order, each, interface_id=0, ticks=None):
    ticks = each.time // 1000 if ticks is None else ticks
    header = {"interface_id": interface_id, "timestamp_upper": ticks >> 32, "timestamp_lower": ticks & MASK}
    header |= {"captured_packet_length": len(each.data), "original_packet_length": each.wire_length}
    return block(order, network.ENHANCED_PACKET_BLOCK, PCAPNG[order].enhanced.build(header) + each.data)


def pcapng_file(packets, order="<"):
    return section(order) + interface(order) + b"".join(enhanced(order, each) for each in packets)


ENDS = CLIENT + SERVER + tcp()[: fixed(network.TCP, (("source_port", "destination_port"),)).size]
BACK = turned(ENDS)


class Talk:
    """A connection that writes its own segments, both sides; sequence numbers follow from what was said."""

    def __init__(self, client=1000, server=5000, ends=(ENDS, BACK), first=1):
        self.next, self.ends, self.number = [client & MASK, server & MASK], ends, first

    def segment(self, side, payload=b"", flags=ACK, at=0, missing=0, ack=None):
        """`at` moves the sequence number of what is said again; only what is said at 0 counts."""
        acknowledgment = (self.next[1 - side] if ack is None else ack) if flags & ACK else 0
        numbers = (self.next[side] + at) & MASK, acknowledgment & MASK
        made = Segment(self.number, self.number * SECOND, self.ends[side], *numbers, flags, payload, missing)
        self.number += 1
        if not at:
            size = len(payload) + missing + bool(flags & network.SYN) + bool(flags & network.FIN)
            self.next[side] = (self.next[side] + size) & MASK
        return made

    def handshake(self):
        return [self.segment(0, flags=network.SYN), self.segment(1, flags=network.SYN | ACK), self.segment(0)]

    def goodbye(self):
        return [self.segment(0, flags=network.FIN | ACK), self.segment(1, flags=network.FIN | ACK), self.segment(0)]


# Frames to speak with, and connections that are spoken on.

CATALOG = kwire_cli.catalog()
CLIENT_END, BROKER_END = Endpoint(bytes([10, 0, 0, 1]), 50000), Endpoint(bytes([10, 0, 0, 2]), 9092)
MILLISECOND = 1_000_000


def filled(spec, fields, version, value):
    """A value with the defaults of all that it leaves out."""
    out = dict(value)
    for field in fields:
        name = field.json_name
        if version not in field.versions or (name not in value and version in field.tagged_versions):
            continue
        inner = spec.struct_fields(field) if field.struct_name else ()
        if name not in value:
            out[name] = filled(spec, inner, version, {}) if inner and not field.is_array else default_value(field)
        elif inner and value[name] is not None:
            out[name] = (
                [filled(spec, inner, version, each) for each in value[name]]
                if field.is_array
                else filled(spec, inner, version, value[name])
            )
    return out


def body_of(message, version, value):
    spec = CATALOG.message(message)
    return filled(spec, spec.fields, version, value)


class Wire:
    """What tests say over a connection. Side 0 is the client wherever a test does not say otherwise."""

    catalog = CATALOG

    @staticmethod
    def request(api, version=0, correlation=1, client="c", **body):
        header = {"correlationId": correlation, "clientId": client}
        document = {"kind": "request", "api": api, "apiVersion": version, "header": header}
        return encode_document(CATALOG, document | {"body": body_of(f"{api}Request", version, body)})

    @staticmethod
    def response(api, version=0, correlation=1, body_version=None, **body):
        filled_body = body_of(f"{api}Response", version if body_version is None else body_version, body)
        document = {"kind": "response", "api": api, "apiVersion": version, "header": {"correlationId": correlation}}
        document["body"] = filled_body
        return encode_document(CATALOG, document | ({} if body_version is None else {"bodyVersion": body_version}))

    @classmethod
    def heartbeat(cls, correlation=1, client="c", group="g"):
        return cls.request("Heartbeat", 0, correlation, client, groupId=group, memberId="m", generationId=1)

    @classmethod
    def beat(cls, correlation=1):
        """The response to a heartbeat."""
        return cls.response("Heartbeat", 0, correlation)

    @classmethod
    def produce(cls, records, topic="t"):
        """A Produce request with these records."""
        partition = {"index": 0, "records": base64.b64encode(records).decode()}
        return cls.request("Produce", 9, acks=1, topicData=[{"name": topic, "partitionData": [partition]}])

    @classmethod
    def fetched(cls, *record_sets, version=12):
        """A Fetch response with a topic and its records for each of these pairs."""
        topics = [
            {"topic": topic, "partitions": [{"partitionIndex": 0, "records": base64.b64encode(records).decode()}]}
            for topic, records in record_sets
        ]
        return cls.response("Fetch", version, responses=topics)

    @staticmethod
    def raw(token):
        return len(token).to_bytes(4, "big") + token

    @staticmethod
    def talk(*said, connection=None, **options):
        """All that is seen when (side, bytes) and (side, number of lost bytes) are said in this order."""
        connection = connection or Connection(Layouts(CATALOG), **options)
        seen = []
        for number, (side, what) in enumerate(said, 1):
            act = connection.lose if isinstance(what, int) else connection.feed
            seen += act(side, what, number, number * MILLISECOND)
        return [*seen, *connection.end()]

    @staticmethod
    def lines(*said, port=None, opened=True):
        """The lines of a capture in which this is said on one connection; each piece comes a millisecond after the one
        before.
        """
        events = [Start(0, CLIENT_END, BROKER_END, opened, 0, 1)]
        events += [Data(0, side, data, number * MILLISECOND, number + 1) for number, (side, data) in enumerate(said, 1)]
        return list(traffic(CATALOG, events, port=port))
