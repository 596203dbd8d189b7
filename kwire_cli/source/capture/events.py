"""What the TCP streams of a capture give: events, in the order in which each direction's bytes were sent.

`connection` is the stream's number, from 0 by first packet. `direction` is 0 for bytes from the side that opened the connection, as far as that is
known, else from the side whose packet was seen first, and 1 for bytes to it. `time` (nanoseconds, or None) and `packet` say which packet is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from kwire_cli.source.capture.model import Endpoint

GapKind = Literal["lost", "cut", "limit", "end"]
EndReason = Literal["fin", "rst", "reused", "evicted", "end"]


class Start(NamedTuple):
    """A connection's first packet. `source` sends direction 0. `opened` says that a SYN or its answer was seen before any other event."""

    connection: int
    source: Endpoint
    destination: Endpoint
    opened: bool
    time: int | None
    packet: int


class Data(NamedTuple):
    """The next bytes of a direction; time and packet are those of the packet that they arrived in, be it before that of the bytes ahead of them."""

    connection: int
    direction: int
    data: bytes
    time: int | None
    packet: int


class Gap(NamedTuple):
    """`size` bytes of a direction that the capture does not have, by the sequence numbers around them.

    `lost`: the other side acknowledged them, so they were sent, but not captured. `cut`: the capture kept only the first `have` bytes of the
    `have + size` that this packet carried. `limit`: more waited for them than may. `end`: the connection or the capture ended without them. Time and
    packet are of the packet that shows it: the first one beyond the gap.
    """

    connection: int
    direction: int
    size: int
    kind: GapKind
    have: int
    time: int | None
    packet: int


class Conflict(NamedTuple):
    """A packet repeats bytes that wait, with another content; the first stand."""

    connection: int
    direction: int
    time: int | None
    packet: int


class Foreign(NamedTuple):
    """`size` bytes of a direction that were taken out of it, since they are of a protocol around what is said, as TLS is.

    `content` names what they are, as far as that could be read; `reason` says why the rest of them could not. Time and packet are of the last byte.
    """

    connection: int
    direction: int
    size: int
    protocol: str
    content: tuple[str, ...]
    reason: str | None
    time: int | None
    packet: int


class Fin(NamedTuple):
    """A direction's bytes are complete: its sender closed it."""

    connection: int
    direction: int
    time: int | None
    packet: int


class End(NamedTuple):
    """A connection's last event. `reused`: a new one began between the same ends; `evicted`: too many were open; `end`: of the capture."""

    connection: int
    reason: EndReason
    time: int | None
    packet: int


Event = Start | Data | Gap | Conflict | Foreign | Fin | End
