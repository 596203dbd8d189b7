"""Capture files, link layers, IP, TCP, tunnels, TLS and the PROXY protocol.

Layouts are declared as constructs. Loops over packets do not parse with them: `engine.fixed` converts layouts of fixed
size to a struct.Struct, so that offsets are declared only here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from construct import (
    Bytes,
    FormatField,
    GreedyBytes,
    GreedyRange,
    Int8ub,
    Int16ub,
    Int24ub,
    Int32ub,
    Int32ul,
    Int64ub,
    Optional,
    Prefixed,
    Struct,
)

# IPv4 (RFC 791) and IPv6 (RFC 8200) with its extension headers.

IPV4 = Struct(
    "version_and_header_length" / Int8ub,  # version in the high half; length in units of 4 bytes, options included
    "type_of_service" / Int8ub,
    "total_length" / Int16ub,  # header included; 0 where the network card was to cut the packet (segmentation offload)
    "identification" / Int16ub,
    "flags_and_fragment_offset" / Int16ub,
    "time_to_live" / Int8ub,
    "protocol" / Int8ub,
    "checksum" / Int16ub,
    "source" / Bytes(4),
    "destination" / Bytes(4),
)


IPV6 = Struct(
    "version_and_flow" / Int32ub,
    "payload_length"
    / Int16ub,  # extension headers included; 0 for a jumbogram (RFC 2675) and with segmentation offload
    "next_header" / Int8ub,
    "hop_limit" / Int8ub,
    "source" / Bytes(16),
    "destination" / Bytes(16),
)
EXTENSION = Struct("next_header" / Int8ub, "length" / Int8ub)
"""`length` counts 8 bytes each beyond the first 8."""
FRAGMENT = Struct("next_header" / Int8ub, "reserved" / Int8ub, "offset_and_flags" / Int16ub, "identification" / Int32ub)

IPV4_MORE_FRAGMENTS = 0x2000
IPV4_OFFSET = 0x1FFF
"""The two are the bits of `flags_and_fragment_offset`; the offset is in units of 8 bytes."""
IPV6_MORE_FRAGMENTS = 1
IPV6_OFFSET = 0xFFF8
"""The two are the bits of `offset_and_flags`; the offset is in bytes."""

PROTOCOL_IPV4 = 4
PROTOCOL_TCP = 6
PROTOCOL_UDP = 17
PROTOCOL_IPV6 = 41
PROTOCOL_GRE = 47
HOP_BY_HOP = 0
ROUTING = 43
IPV6_FRAGMENT = 44
DESTINATION = 60
MOBILITY = 135
EXTENSIONS = frozenset((HOP_BY_HOP, ROUTING, DESTINATION, MOBILITY))

PROTOCOL_NAMES = {
    1: "icmp",
    2: "igmp",
    17: "udp",
    50: "esp",
    51: "ah",
    58: "icmpv6",
    59: "no next header",
    89: "ospf",
    103: "pim",
    112: "vrrp",
    132: "sctp",
}


# Link layers. Sources: IEEE 802.3 and 802.1Q, and the pages of tcpdump.org/linktypes.html.

ETHERNET = Struct("destination" / Bytes(6), "source" / Bytes(6), "protocol" / Int16ub)
"""`protocol` is an EtherType; below 0x600 it is the length of an 802.3 frame."""


VLAN = Struct("tag_control" / Int16ub, "protocol" / Int16ub)
"""The fields after one of VLAN_TYPES."""

SLL = Struct(
    "packet_type" / Int16ub,
    "hardware_type" / Int16ub,
    "address_length" / Int16ub,
    "address" / Bytes(8),
    "protocol" / Int16ub,
)
SLL2 = Struct(
    "protocol" / Int16ub,
    "reserved" / Int16ub,
    "interface_index" / Int32ub,
    "hardware_type" / Int16ub,
    "packet_type" / Int8ub,
    "address_length" / Int8ub,
    "address" / Bytes(8),
)
"""The header that Linux gives for the `any` device."""

LOOP = Struct("protocol" / Int32ub)
NULL = Struct("protocol" / Int32ul)
"""An address family: of LOOP in network order, of NULL in the byte order of the capturing machine, so either."""

# Link types of capture files, as tcpdump.org registers them; 12 and 14 are raw IP of some systems.
LINK_NULL = 0
LINK_ETHERNET = 1
LINK_LOOP = 108
LINK_SLL = 113
LINK_SLL2 = 276
LINK_RAW_IP = 101
LINK_RAW = frozenset((12, 14, LINK_RAW_IP, 228, 229))

ETHER_IPV4 = 0x0800
ETHER_IPV6 = 0x86DD
ETHER_BRIDGED = 0x6558
ETHER_ERSPAN = 0x88BE
"""EtherTypes. The last two, in GRE and Geneve, precede an Ethernet frame."""
VLAN_TYPES = frozenset((0x8100, 0x88A8, 0x9100, 0x9200))
LEAST_ETHER_TYPE = 0x600

FAMILY_IPV4 = 2
"""AF_INET, which is the same everywhere."""
FAMILIES_IPV6 = frozenset((10, 23, 24, 28, 30))
"""AF_INET6 in Linux, Windows, NetBSD and OpenBSD, FreeBSD, Darwin."""

ETHER_NAMES = {
    0x0806: "arp",
    0x8035: "rarp",
    0x8847: "mpls",
    0x8848: "mpls",
    0x8863: "pppoe",
    0x8864: "pppoe",
    0x888E: "eapol",
    0x88CC: "lldp",
    0x88F7: "ptp",
}


# What load balancers put before a connection's bytes in version 2 of the PROXY protocol (HAProxy's
# proxy-protocol.txt, 2.2).

PROXY_V2 = Struct(
    "signature" / Bytes(12), "version_and_command" / Int8ub, "family_and_protocol" / Int8ub, "length" / Int16ub
)
"""`length` counts the bytes after it: addresses and ports by the family in the upper 4 bits, and TLVs."""


# TCP (RFC 9293) and UDP (RFC 768).

TCP = Struct(
    "source_port" / Int16ub,
    "destination_port" / Int16ub,
    "sequence" / Int32ub,
    "acknowledgment" / Int32ub,
    "data_offset" / Int8ub,  # in units of 4 bytes, in the high half
    "flags" / Int8ub,
    "window" / Int16ub,
    "checksum" / Int16ub,
    "urgent_pointer" / Int16ub,
)


FIN = 1
SYN = 2
RST = 4
PSH = 8
ACK = 16
ZERO_WINDOW = 1 << 8
"""Not on the wire: a flag of segments whose sender's receive window is 0."""

UDP = Struct("source_port" / Int16ub, "destination_port" / Int16ub, "length" / Int16ub, "checksum" / Int16ub)


# What mirrors and overlays wrap packets in: VXLAN (RFC 7348), Geneve (RFC 8926), GRE (RFC 2784, 2890),
# ERSPAN (draft-foschiano-erspan).

VXLAN = Struct("flags" / Int8ub, "reserved1" / Bytes(3), "network" / Bytes(3), "reserved2" / Int8ub)


VXLAN_VALID = 0x08
VXLAN_PORTS = frozenset((4789, 8472))
"""IANA's port, and the one of Linux before it."""

GENEVE = Struct(
    "version_and_length" / Int8ub, "flags" / Int8ub, "protocol" / Int16ub, "network" / Bytes(3), "reserved" / Int8ub
)
"""The options' length in units of 4 bytes is in the low 6 bits of the first byte."""
GENEVE_PORT = 6081

GRE = Struct("flags_and_version" / Int16ub, "protocol" / Int16ub)
GRE_OPTIONAL = Int32ub
"""Checksum, key and sequence: each 4 bytes, present if its flag is set."""
GRE_CHECKSUM = 0x8000
GRE_ROUTING = 0x4000
GRE_KEY = 0x2000
GRE_SEQUENCE = 0x1000

ERSPAN2 = Struct("version_and_vlan" / Int16ub, "session" / Int16ub, "index" / Int32ub)
"""Type I is GRE without sequence numbers and has no header."""

# TLS 1.2 (RFC 5246, 5288, 7905) and 1.3 (RFC 8446): records, the handshake messages that determine the keys, and the
# inputs of ciphers.

RECORD = Struct("type" / Int8ub, "version" / Int16ub, "length" / Int16ub)


CHANGE_CIPHER_SPEC = 20
ALERT = 21
HANDSHAKE = 22
APPLICATION_DATA = 23
HEARTBEAT = 24
MAX_RECORD = (1 << 14) + 2048
"""Maximum bytes of a record after its header; in TLS 1.3 2048 is 256."""

TLS_1_2 = 0x0303
TLS_1_3 = 0x0304
VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", TLS_1_2: "TLS 1.2", TLS_1_3: "TLS 1.3"}

MESSAGE = Struct("type" / Int8ub, "length" / Bytes(3))
"""The header of every handshake message."""
CLIENT_HELLO = 1
SERVER_HELLO = 2
CERTIFICATE = 11
FINISHED = 20
KEY_UPDATE = 24
MESSAGES = {
    0: "HelloRequest",
    CLIENT_HELLO: "ClientHello",
    SERVER_HELLO: "ServerHello",
    4: "NewSessionTicket",
    5: "EndOfEarlyData",
    8: "EncryptedExtensions",
    CERTIFICATE: "Certificate",
    12: "ServerKeyExchange",
    13: "CertificateRequest",
    14: "ServerHelloDone",
    15: "CertificateVerify",
    16: "ClientKeyExchange",
    FINISHED: "Finished",
    22: "CertificateStatus",
    KEY_UPDATE: "KeyUpdate",
    25: "CompressedCertificate",
}

_EXTENSIONS = Prefixed(Int16ub, GreedyRange(Struct("type" / Int16ub, "data" / Prefixed(Int16ub, GreedyBytes))))
PRE_SHARED_KEY = 41
SUPPORTED_VERSIONS = 43

RANDOM = Bytes(32)
CLIENT_HELLO_BODY = Struct(
    "legacy_version" / Int16ub,
    "random" / RANDOM,
    "session_id" / Prefixed(Int8ub, GreedyBytes),
    "cipher_suites" / Prefixed(Int16ub, GreedyBytes),
    "compression_methods" / Prefixed(Int8ub, GreedyBytes),
    "extensions" / Optional(_EXTENSIONS),
)
SERVER_HELLO_BODY = Struct(
    "legacy_version" / Int16ub,
    "random" / RANDOM,
    "session_id" / Prefixed(Int8ub, GreedyBytes),
    "cipher_suite" / Int16ub,
    "compression_method" / Int8ub,
    "extensions" / Optional(_EXTENSIONS),
)
SELECTED_VERSION = Int16ub
"""The extension supported_versions in a ServerHello."""
HELLO_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random of a ServerHello that asks for another ClientHello: the SHA-256 of "HelloRetryRequest"."""

FIRST_CERTIFICATE = Struct("size" / Int24ub, "first" / Prefixed(Int24ub, GreedyBytes))
"""The start of a list of certificates: the certificate of the peer itself (RFC 5246, 7.4.2)."""
FIRST_CERTIFICATE_1_3 = Struct("context" / Prefixed(Int8ub, GreedyBytes), *FIRST_CERTIFICATE.subcons)
"""The same in TLS 1.3 (RFC 8446, 4.4.2)."""

ALERT_BODY = Struct("level" / Int8ub, "description" / Int8ub)
ALERTS = {
    0: "close_notify",
    10: "unexpected_message",
    20: "bad_record_mac",
    22: "record_overflow",
    40: "handshake_failure",
    42: "bad_certificate",
    43: "unsupported_certificate",
    44: "certificate_revoked",
    45: "certificate_expired",
    46: "certificate_unknown",
    47: "illegal_parameter",
    48: "unknown_ca",
    49: "access_denied",
    50: "decode_error",
    51: "decrypt_error",
    70: "protocol_version",
    71: "insufficient_security",
    80: "internal_error",
    86: "inappropriate_fallback",
    90: "user_canceled",
    100: "no_renegotiation",
    109: "missing_extension",
    110: "unsupported_extension",
    112: "unrecognized_name",
    113: "bad_certificate_status_response",
    115: "unknown_psk_identity",
    116: "certificate_required",
    120: "no_application_protocol",
}

TAG = Bytes(16)
"""The bytes that an AEAD appends to a record's text, with every cipher here."""
NONCE = Bytes(12)
SALT = Bytes(4)
EXPLICIT_NONCE = Bytes(8)
"""The second part of a nonce of AES-GCM in TLS 1.2, after SALT. It precedes the text in the record (RFC 5288)."""
INNER_TYPE = Int8ub
"""The byte after a record's text in TLS 1.3, before the zeros of the padding."""
ADDITIONAL_DATA = Struct("sequence" / Int64ub, "type" / Int8ub, "version" / Int16ub, "length" / Int16ub)
"""The fields that a record of TLS 1.2 is authenticated with; in TLS 1.3 they are the record's header."""
LABEL = Struct("length" / Int16ub, "label" / Prefixed(Int8ub, GreedyBytes), "context" / Prefixed(Int8ub, GreedyBytes))
"""HkdfLabel of RFC 8446, 7.1."""


# Packet capture files: pcap and pcapng, in both byte orders.
#
# Sources: draft-ietf-opsawg-pcap (with the nanosecond magic), draft-ietf-opsawg-pcapng. Names come from the drafts.

PCAP_MICRO = 0xA1B2C3D4
"""The pcap magic if the fraction of a second counts microseconds."""
PCAP_NANO = 0xA1B23C4D
"""The pcap magic if the fraction of a second counts nanoseconds."""


SECTION_BLOCK = 0x0A0D0D0A
"""The same in both byte orders."""
BYTE_ORDER_MAGIC = 0x1A2B3C4D
INTERFACE_BLOCK = 1
OBSOLETE_PACKET_BLOCK = 2
SIMPLE_PACKET_BLOCK = 3
ENHANCED_PACKET_BLOCK = 6
SECRETS_BLOCK = 10

TLS_KEY_LOG = 0x544C534B
"""The type of a secrets block that holds a TLS key log."""

OPTION_END = 0
"""The code of the last option."""
OPTION_TSRESOL = 9
OPTION_TSOFFSET = 14
"""The two are codes of options of an interface description."""


@dataclass(frozen=True, slots=True)
class PcapLayout:
    """A pcap file: the header, then packets, each after a record header."""

    header: Any
    record: Any


@dataclass(frozen=True, slots=True)
class PcapngLayout:
    """A pcapng section. Every block begins with `block` and ends with `trailer`, its total length again; a body begins
    with one of the others.
    """

    block: Any
    trailer: Any
    section: Any
    interface: Any
    enhanced: Any
    simple: Any
    obsolete: Any
    secrets: Any
    option: Any
    offset: Any


def _pcap(order: str) -> PcapLayout:
    u16 = FormatField(order, "H")
    u32 = FormatField(order, "L")
    return PcapLayout(
        header=Struct(
            "magic" / u32,
            "major_version" / u16,
            "minor_version" / u16,
            "reserved1" / u32,  # once the time zone
            "reserved2" / u32,  # once the accuracy of times
            "snap_len" / u32,
            "link_type" / u32,  # the link type in the low 16 bits, the length of a frame check sequence in the highest
        ),
        record=Struct("seconds" / u32, "fraction" / u32, "captured_length" / u32, "original_length" / u32),
    )


def _pcapng(order: str) -> PcapngLayout:
    u16 = FormatField(order, "H")
    u32 = FormatField(order, "L")
    return PcapngLayout(
        block=Struct("type" / u32, "total_length" / u32),
        trailer=u32,
        section=Struct(
            "byte_order_magic" / u32,
            "major_version" / u16,
            "minor_version" / u16,
            "section_length" / FormatField(order, "q"),
        ),
        interface=Struct("link_type" / u16, "reserved" / u16, "snap_len" / u32),
        enhanced=Struct(
            "interface_id" / u32,
            "timestamp_upper" / u32,
            "timestamp_lower" / u32,
            "captured_packet_length" / u32,
            "original_packet_length" / u32,
        ),
        simple=Struct("original_packet_length" / u32),
        obsolete=Struct(
            "interface_id" / u16,
            "drops_count" / u16,
            "timestamp_upper" / u32,
            "timestamp_lower" / u32,
            "captured_packet_length" / u32,
            "original_packet_length" / u32,
        ),
        secrets=Struct("secrets_type" / u32, "secrets_length" / u32),
        option=Struct("code" / u16, "length" / u16),
        offset=FormatField(order, "q"),
    )


PCAP = {order: _pcap(order) for order in "<>"}
PCAPNG = {order: _pcapng(order) for order in "<>"}

TSRESOL = Int8ub
"""The units per second of a timestamp, as a power of 10, or with the high bit set a power of 2."""
