"""Messages whose bytes are counted: lines of captures, frames without a capture, and bodies without a frame.

A frame without a capture has no addresses, connection, time and request. A body has no header either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from kwire_cli.message.decoded import Decoded
from kwire_cli.message.frames import Frame
from kwire_cli.message.roles import RecordsAs, role_values, roles, top_value, topics_in
from kwire_cli.source.kafka.captured import Captured

if TYPE_CHECKING:
    Message: TypeAlias = Captured | Frame | Decoded

_NO_NAMES = RecordsAs()
"""The names of topic ids outside of captures: only the topic with a fixed id has one."""


def is_frame(subject: Message) -> bool:
    """Return whether a message is a request or a response with its header."""
    if isinstance(subject, Captured):
        return subject.is_frame
    return isinstance(subject, Frame) and subject.kind != "unknown"


def kind_of(subject: Message) -> str:
    """Return the kind of a message. The kind of a body is the type of its definition."""
    return subject.spec.type if isinstance(subject, Decoded) else subject.kind


def api_key_of(subject: Message) -> int | None:
    """Return the key of a message's api."""
    return subject.spec.api_key if isinstance(subject, Decoded) else subject.api_key


def client_of(subject: Message) -> str | None:
    """Return the client id in the header of a request, or of a captured response's request."""
    if isinstance(subject, Captured):
        return subject.client_id
    header = subject.header if isinstance(subject, Frame) and subject.kind == "request" else None
    client_id: str | None = top_value(roles(header.spec, header.entry), header.raw, "clientId") if header else None
    return client_id


def topics_of(subject: Message) -> list[str]:
    """Return the topics that a message is about, by name or id."""
    if isinstance(subject, Captured):
        return subject.topics
    body = subject if isinstance(subject, Decoded) else subject.body
    if body is None or body.guess:
        return []
    names, ids = topics_in(role_values(roles(body.spec, body.entry), body.raw))
    return list(dict.fromkeys([*names, *map(_NO_NAMES.topic, ids)]))


def topic_name(subject: Message, topic: str) -> str:
    """Return the name of a topic id in a message, or the id if its name is not known."""
    return subject.names.topic(topic) if isinstance(subject, Captured) else _NO_NAMES.topic(topic)


def request_of(subject: Message) -> Captured | None:
    """Return the request of a response, if it was captured."""
    return subject.request if isinstance(subject, Captured) else None


def packet_of(subject: Message) -> int:
    """Return the packet that ends a message, or what orders messages in place of packets: the number of a frame."""
    if isinstance(subject, Captured):
        return subject.place
    return subject.number if isinstance(subject, Frame) else 0


def time_of(subject: Message) -> int | None:
    """Return the time of a message in nanoseconds since 1970, if it was captured with one."""
    return subject.seen.time if isinstance(subject, Captured) else None
