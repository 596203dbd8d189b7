"""Link layers. Sources: IEEE 802.3 and 802.1Q, and the pages of tcpdump.org/linktypes.html."""

from __future__ import annotations

from construct import Bytes, Int8ub, Int16ub, Int32ub, Int32ul, Struct

ETHERNET = Struct("destination" / Bytes(6), "source" / Bytes(6), "protocol" / Int16ub)
"""`protocol` is an EtherType; below 0x600 it is the length of an 802.3 frame."""

VLAN = Struct("tag_control" / Int16ub, "protocol" / Int16ub)
"""What stands behind one of VLAN_TYPES."""

SLL = Struct("packet_type" / Int16ub, "hardware_type" / Int16ub, "address_length" / Int16ub, "address" / Bytes(8), "protocol" / Int16ub)
SLL2 = Struct(
    "protocol" / Int16ub,
    "reserved" / Int16ub,
    "interface_index" / Int32ub,
    "hardware_type" / Int16ub,
    "packet_type" / Int8ub,
    "address_length" / Int8ub,
    "address" / Bytes(8),
)
"""What Linux gives for the `any` device."""

LOOP = Struct("protocol" / Int32ub)
NULL = Struct("protocol" / Int32ul)
"""An address family; of LOOP in network order, of NULL in that of the machine that captured, so either."""

PPP = Struct("protocol" / Int16ub)
PPP_ADDRESS = Struct("address_and_control" / Int16ub)
"""0xff03 before the protocol; not all captures have it."""

# Link types of capture files, as tcpdump.org registers them; 12 and 14 are raw IP of some systems.
LINK_NULL, LINK_ETHERNET, LINK_PPP, LINK_PPP_HDLC, LINK_LOOP, LINK_SLL, LINK_SLL2 = 0, 1, 9, 50, 108, 113, 276
LINK_RAW_IP = 101
LINK_RAW = frozenset((12, 14, LINK_RAW_IP, 228, 229))

ETHER_IPV4, ETHER_IPV6, ETHER_BRIDGED, ETHER_ERSPAN, ETHER_ERSPAN3 = 0x0800, 0x86DD, 0x6558, 0x88BE, 0x22EB
"""EtherTypes; the last three, of GRE and Geneve, say that an Ethernet frame follows."""
VLAN_TYPES = frozenset((0x8100, 0x88A8, 0x9100, 0x9200))
LEAST_ETHER_TYPE = 0x600

FAMILY_IPV4, FAMILIES_IPV6 = 2, frozenset((10, 23, 24, 28, 30))
"""AF_INET is the same everywhere; AF_INET6 is that of Linux, Windows, NetBSD and OpenBSD, FreeBSD, Darwin."""

PPP_IPV4, PPP_IPV6, PPP_ALL_STATIONS = 0x0021, 0x0057, 0xFF03

ETHER_NAMES = {0x0806: "arp", 0x8035: "rarp", 0x8847: "mpls", 0x8863: "pppoe", 0x8864: "pppoe", 0x888E: "eapol", 0x88CC: "lldp", 0x88F7: "ptp"}
