"""A frame of a capture, and the names learnt on its connection."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.engine.python_source import MalformedError
from kwire_cli.message.roles import (
    RecordsAs,
    error_codes,
    is_doubtful,
    role_values,
    roles,
    top_value,
    topic_names,
    topics_in,
)
from kwire_cli.source.packets.model import ALONE
from kwire_cli.spec.kafka import (
    API_VERSIONS,
    CLUSTER_METADATA,
    CLUSTER_METADATA_ID,
    DESCRIBE_CLUSTER,
    FETCH,
    METADATA,
    PRODUCE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire_cli.engine.spans import Spans
    from kwire_cli.message.frames import Frame
    from kwire_cli.message.known_layout import Layout, Plain
    from kwire_cli.message.redaction import Redaction
    from kwire_cli.message.roles import Roles
    from kwire_cli.records.batch import Hide
    from kwire_cli.source.kafka.connection import Connection, Seen
    from kwire_cli.source.packets.model import Origin, Place


# Names over a capture: what topic ids, fetch sessions and node ids stand for, and what clients are, learnt
# from the messages that go by.
#
# Sources: any response in which a topic's id stands beside its name (Metadata, CreateTopics,
# DescribeTopicPartitions, ConsumerGroupDescribe, ...) says which topic an id is; ApiVersions requests name
# the client's software; Metadata and DescribeCluster responses name brokers; Fetch requests and responses
# make and change fetch sessions (KIP-227).

MOST_SESSIONS, MOST_NAMES = 1 << 14, 1 << 17
"""Fetch sessions, and names of each kind, that are known at a time. The oldest are forgotten: days of traffic take no
more memory than hours."""


SESSIONS_SINCE = 7
"""The first version of Fetch with sessions."""


@dataclass
class Names:
    """The names known so far, at first only the name of the one topic id that no message tells.

    Brokers are node ids by address; an address that several ids are told for has None, as with a proxy or a balancer.
    Sessions are kept by broker and session id, as lists of topic names or ids. `ahead` reads the whole capture for
    names, if possible. It is asked once, when a topic id without a known name comes.
    """

    topics: dict[str, str] = field(default_factory=lambda: {CLUSTER_METADATA_ID: CLUSTER_METADATA})
    brokers: dict[str, int | None] = field(default_factory=dict)
    sessions: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    ahead: Callable[[], Names] | None = None
    _silent: set[Layout] = field(default_factory=set)  # of messages that tell nothing

    def topic(self, topic: str) -> str:
        """The name of a topic id, or what was given where none is known."""
        if topic not in self.topics and self.ahead and len(topic) == UUID_TEXT:
            ahead, self.ahead = self.ahead, None
            names = ahead()
            self.topics = names.topics | self.topics
            self.learn_brokers(names.brokers.items())
        return self.topics.get(topic, topic)

    def node(self, address: str) -> int | None:
        """The node id of the broker at an address, `host:port`; None if none is known, or several are."""
        return self.brokers.get(address)

    def learn_brokers(self, told: Iterable[tuple[str, int | None]]) -> None:
        """Learn the node ids of addresses. The order in which they are told does not matter."""
        for address, node in told:
            if self.brokers.setdefault(address, node) != node:
                self.brokers[address] = None
        forget(self.brokers, MOST_NAMES)

    def learn(self, line: Captured, broker: str) -> None:
        """Learn the names that a frame tells. `broker` is the address of the broker's end."""
        piece = line.seen
        head, plain = piece.head, piece.plain
        if head is None or (plain is not None and plain.layout in self._silent):
            return  # what a response without its request is can only be guessed
        key = head.api_key
        if key == FETCH:
            self._learn_session(line, broker)
        elif key == API_VERSIONS:
            if line.kind == "request" and (name := line.field("clientSoftwareName")):
                software = f"{name} {line.field('clientSoftwareVersion') or ''}".rstrip()
                line.software = line.connection.software = software
        elif plain is not None and (
            piece.kind == "request" or not (plain.layout.roles.naming or key in {METADATA, DESCRIBE_CLUSTER})
        ):
            self._silent.add(plain.layout)
        elif piece.kind == "response":
            for (
                topic,
                name,
            ) in (
                line.named_topics
            ):  # a topic's id keeps its name (KIP-516), whatever the answer to a wrong request says
                self.topics.setdefault(topic, name)
            forget(self.topics, MOST_NAMES)
            if key in {METADATA, DESCRIBE_CLUSTER} and (body := body_of(line)):
                self._learn_brokers(body)

    def learn_names(self, line: Captured) -> None:
        """As `learn`, but topics and brokers alone: what is the same over the whole capture."""
        if line.kind == "response" and line.seen.head and line.seen.head.api_key not in {FETCH, API_VERSIONS}:
            self.learn(line, "")

    def _learn_brokers(self, body: dict[str, Any]) -> None:
        whole = (broker for broker in body.get("brokers") or () if broker.get("host") and "port" in broker)
        nodes = ((broker, broker.get("nodeId", broker.get("brokerId"))) for broker in whole)
        self.learn_brokers(
            (address_of(broker["host"], broker["port"]), node) for broker, node in nodes if node is not None
        )

    def _learn_session(self, line: Captured, broker: str) -> None:
        """Keep a fetch session, and give a Fetch the topics of its own."""
        if not line.seen.head or line.seen.head.version < SESSIONS_SINCE:
            return
        session = line.field("sessionId")
        if line.kind == "request":
            if session and (topics := self.sessions.get((broker, session))):
                del self.sessions[broker, session]  # so that it is the newest
                line.session = self.sessions[broker, session] = _changed(line, topics)
        elif session and line.request:
            if line.request.field("sessionEpoch") in {0, -1}:
                names, ids = line.request.own_topics
                self.sessions[broker, session] = [*names, *ids]
                forget(self.sessions, MOST_SESSIONS)
            line.session = self.sessions.get((broker, session), [])


def forget(known: dict[Any, Any], most: int) -> None:
    """Let the oldest go where there are more than so many."""
    while len(known) > most:
        del known[next(iter(known))]


UUID_TEXT = 22
"""Characters of a uuid's text; a topic's name can be as long, and then is its own name."""


def _changed(line: Captured, known: list[str]) -> list[str]:
    """The topics of a session after a request that adds and forgets some; a topic is forgotten when it is named and
    nothing of it is added.
    """
    body = body_of(line)
    if not body or not (body.get("topics") or body.get("forgottenTopicsData")):
        return known
    added = [topic.get("topicId") or topic.get("topic") for topic in body.get("topics") or ()]
    forgotten = {topic.get("topicId") or topic.get("topic") for topic in body.get("forgottenTopicsData") or ()} - {
        *added
    }
    return [topic for topic in dict.fromkeys([*known, *added]) if topic not in forgotten]


_EMPTY: dict[str, Any] = {}


def body_of(line: Captured) -> dict[str, Any]:
    """Return the body of a request or response in JSON form, records as their sizes; empty if it cannot be read."""
    if plain := line.plain:
        return plain.body("size")
    frame = line.frame
    body = frame.body.to_json(records="size") if frame and frame.body else None
    return body if isinstance(body, dict) else _EMPTY


def address_of(host: str, port: int) -> str:
    """A broker's address as the ends of connections are written: `10.0.0.1:9092`, `[::1]:9092`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


# One line of a capture: a frame, a SASL token, another protocol's bytes, or a gap; what is known of it, made
# when it is asked for.


class Captured:
    """A line. `number` counts from 1 in the order in which the last bytes of frames arrived; `request` is a response's.
    Times are nanoseconds.

    It stands at its last packet, the `place`; an answer never before its question, and what a side says in the order in
    which it was sent, even where the capture has them otherwise.

    What the bytes say is read by the layout alone where nothing in them is odd (`message.plain`), and else as a
    `Frame`. `origin` says in which file it is.
    """

    __slots__ = (
        "_calm",
        "_frame",
        "_values",
        "_where",
        "connection",
        "dst",
        "names",
        "number",
        "origin",
        "packets",
        "place",
        "request",
        "seen",
        "session",
        "software",
        "src",
        "stream",
    )

    source = "capture"
    packets: tuple[Place, ...]
    """The packets that carry its bytes, of a `CarriedCapture` only."""

    def __init__(
        self, seen: Seen, stream: int, src: str, dst: str, connection: Connection, names: Names, origin: Origin = ALONE
    ) -> None:
        self.seen, self.stream = seen, stream
        self.src, self.dst = src, dst
        self.connection, self.names, self.origin = connection, names, origin
        self._where: Place | None = origin.place(seen.packet) if origin.moving else None
        self.number = 0
        self.request: Captured | None = None
        self.place = seen.packet
        if seen.request:
            # Without the way back nothing goes in circles, and what was shown is gone at once.
            self.request, seen.request.line = seen.request.line, None
            if self.request is not None:
                self.place = max(seen.packet, self.request.place)
        self._frame: Frame | None = None
        self._calm = False
        self._values: dict[str, list[bytes]] | None = None
        self.session: list[str] = []
        """Topics of the fetch session that a Fetch belongs to, as names or ids."""
        self.software: str | None = connection.software
        """The name and version of the client's software, if the client said it on this connection by now."""

    @property
    def where(self) -> Place:
        """The file in which its last byte is, and the packet there."""
        return self._where or self.origin.place(self.seen.packet)

    @property
    def kind(self) -> str:
        """request, response, sasl-token, not-kafka or gap; a frame that neither layout fits is a gap, as in its JSON
        form.
        """
        return "gap" if self._is_unrecognised else self.seen.kind

    @property
    def _is_unrecognised(self) -> bool:
        return bool(self.is_frame and self.plain is None and self.frame and self.frame.kind == "unknown")

    @property
    def code(self) -> str | None:
        """The code of a gap; None for all other lines."""
        return "NOT_RECOGNISED" if self._is_unrecognised else self.seen.code

    @property
    def is_frame(self) -> bool:
        """Tell whether the frame is a request or a response."""
        return self.seen.kind in {"request", "response"}

    @property
    def wants_response(self) -> bool:
        """Return whether a request has a response: a broker sends none to a Produce request with acks=0."""
        return self.api_key != PRODUCE or self.field("acks") != 0

    @property
    def time(self) -> str | None:
        """When its last byte arrived, in ISO 8601 with microseconds, UTC."""
        return time_text(self.seen.time)

    @property
    def halves(self) -> tuple[Captured, ...]:
        """The line alone, as a pair of lines has both."""
        return (self,)

    @property
    def latency(self) -> float | None:
        """Seconds from request to response."""
        if self.request is None or self.seen.time is None or self.request.seen.time is None:
            return None
        return (self.seen.time - self.request.seen.time) / 1e9

    def release(self) -> None:
        """Forget what was decoded of the line and of its request. The bytes stay, and are decoded anew if needed."""
        self._frame = self._values = None
        if plain := self.seen.plain:
            plain.release()
            self.seen.frame = None  # another frame may be believed because of what came before
        if self.request:
            self.request.release()

    # What the bytes say

    @property
    def plain(self) -> Plain | None:
        """The frame, where nothing in it is odd."""
        plain = self.seen.plain
        if plain is not None and not self._calm:
            try:
                plain.read()
            except MalformedError:
                self.seen.plain = plain = None
            else:
                self._calm = True
        return plain

    @property
    def frame(self) -> Frame | None:
        """The request or response, decoded in full; None for what is neither."""
        if self.is_frame and (self._frame is None or self._frame.number != self.number):
            frame = replace(self.connection.frame(self.seen), number=self.number)
            if self.seen.missing:
                have = len(self.seen.data)
                cut = Anomaly(
                    "TRUNCATED", "", have, f"have {have} of {have + self.seen.missing} bytes: {MEANING['TRUNCATED']}"
                )
                frame = replace(
                    frame, notes=(cut, *(note for note in frame.notes if note.code != "FRAME_SIZE_MISMATCH"))
                )
            self._frame = frame
        return self._frame

    @property
    def read(self) -> tuple[Roles, Spans] | None:
        """The body's spans and the roles in them; None where there is no body, or what it is was guessed."""
        if plain := self.plain:
            return plain.layout.roles, plain.spans
        body = self.frame.body if self.frame else None
        if body is None or body.guess or self.guess or is_doubtful(body.message, body.raw, self.asked_topics):
            return None  # a field may have bytes that belong to another
        return roles(body.spec, body.entry), body.raw

    def field(self, name: str) -> Any:
        """The value of a field of the message itself, in JSON form; None where there is none."""
        if plain := self.plain:
            return plain.top(name)
        decoded = self.read
        return top_value(*decoded, name) if decoded else None

    @property
    def api_key(self) -> int | None:
        """The key of its api; None for what is no frame."""
        plain = self.plain
        return plain.layout.api_key if plain else self.frame.api_key if self.frame else None

    @property
    def api(self) -> str | None:
        """The name of its api, if that is known."""
        plain = self.plain
        return plain.layout.api if plain else self.frame.api if self.frame else None

    @property
    def api_version(self) -> int | None:
        """The version of its api."""
        plain = self.plain
        return plain.layout.version if plain else self.frame.api_version if self.frame else None

    @property
    def guess(self) -> bool:
        """Return whether the frame was identified from its bytes alone."""
        return not self.plain and self.frame is not None and self.frame.guess

    @property
    def correlation_id(self) -> int | None:
        """The correlation id in its header."""
        plain = self.plain
        return plain.correlation_id if plain else self._header("correlationId")

    @property
    def client_id(self) -> str | None:
        """The client id of a request, or of a response's request."""
        if self.kind == "response":
            return self.request.client_id if self.request else None
        plain = self.plain
        client: str | None = plain.tail.rest.get("clientId") if plain else self._header("clientId")
        return client

    def _header(self, name: str) -> Any:
        header = self.frame.header if self.frame else None
        return top_value(roles(header.spec, header.entry), header.raw, name) if header else None

    @property
    def _roles(self) -> dict[str, list[bytes]]:
        """The values that have a role, by role, of a frame that is decoded in full."""
        if self._values is None:
            decoded = self.read
            self._values = role_values(*decoded, self.asked_topics) if decoded else {}
        return self._values

    @property
    def own_topics(self) -> tuple[list[str], list[str]]:
        """The topic names in it, and the topic ids."""
        plain = self.seen.plain
        if plain is not None and not plain.layout.roles.by_node:
            return [], []
        if plain := self.plain:
            contents = plain.read()
            return [*contents.topics], [*contents.ids]
        return topics_in(self._roles)

    @property
    def named_topics(self) -> Sequence[tuple[str, str]]:
        """The ids and names of the topics that it says both of."""
        if plain := self.plain:
            return plain.read().names
        decoded = self.read
        return topic_names(*decoded) if decoded else []

    @property
    def topics(self) -> list[str]:
        """The names (ids where no name is known) of the topics that it is about: those in it, and those of its fetch
        session.
        """
        return self._about(self.names.topic)

    @property
    def said_topics(self) -> list[str]:
        """The same as the messages say them: by name, or by id."""
        return self._about(str)

    def _about(self, name_of: Callable[[str], str]) -> list[str]:
        names, ids = self.own_topics
        if ids or self.session:
            return list(dict.fromkeys([*names, *(name_of(topic) for topic in (*ids, *self.session))]))
        if names:
            return list(dict.fromkeys(names)) if len(names) > 1 else [*names]
        # A Fetch response without topics is about those of its request.
        return self.request._about(name_of) if self.request and self.api_key == FETCH else []  # noqa: SLF001 - its own

    @property
    def asked_topics(self) -> list[str]:
        """The topics that the request of a response is about."""
        return self.request.topics if self.request else []

    @property
    def error_codes(self) -> list[int]:
        """The error codes in a response that are not 0."""
        if self.seen.kind != "response":
            return []
        plain = self.plain
        return list(dict.fromkeys(plain.read().errors)) if plain else error_codes(self._roles)

    @property
    def errors(self) -> list[str | int]:
        """The names of the error codes in a response, numbers where no name is known."""
        codes = self.error_codes
        return [self.connection.catalog.error_name(code) or code for code in codes] if codes else []

    @property
    def anomalies(self) -> list[str]:
        """The codes of what is odd about it, a gap's own among them."""
        if self.seen.code:
            return [self.seen.code]
        if self.plain or not self.frame:
            return []
        codes = [anomaly.code for anomaly in self.frame.anomalies]
        return ["NOT_RECOGNISED", *codes] if self.frame.kind == "unknown" else codes

    @property
    def delayed(self) -> bool:
        """Return whether the broker may have held a response back on purpose, as `Seen.delayed`."""
        return self.seen.delayed

    @property
    def throttle(self) -> int | None:
        """Milliseconds for which the broker asks the client to wait, or makes it wait; None for what says nothing of
        it.
        """
        throttle_ms: int | None = self.field("throttleTimeMs") if self.kind == "response" else None
        return throttle_ms

    @property
    def broker(self) -> int | None:
        """The node id of the broker at the other end, if any Metadata named its address."""
        client = self.connection.client
        if client is None:
            return None
        return self.names.node(self.dst if client == self.seen.side else self.src)

    @property
    def message(self) -> str | None:
        """The name of the message in a frame about which there is no doubt and in which nothing is odd so far; None for
        all others.
        """
        plain = self.plain
        return plain.layout.message if plain else None

    @property
    def asked(self) -> Frame | None:
        """The request of a response, decoded in full."""
        return self.request.frame if self.request else None

    # Shown

    def hidden(self, redaction: Redaction) -> dict[str, frozenset[int]]:
        """Return the spans of secrets by part."""
        return redaction.line(self)

    def reading(self, hide: Hide | None = None, shown: Callable[[bytes], Any] | None = None) -> RecordsAs:
        """Return how to read the frame's records, with the names of the capture.

        `hide` and `shown` are as in `RecordsAs`.
        """
        return RecordsAs(self.connection.catalog, self.names.topic, hide, shown=shown)

    def to_json(
        self,
        *,
        records: str = "base64",
        lossless: bool = False,
        hidden: dict[str, frozenset[int]] | None = None,
        hide: Hide | None = None,
    ) -> dict[str, Any]:
        """The line as in JSON lines; what only frames have is left out of the others. `hide` says what of a record is
        secret.
        """
        piece = self.seen
        file, packet = self.where
        out: dict[str, Any] = self.origin.labels(file) | {
            "frame": self.number,
            "time": self.time,
            "src": self.src,
            "dst": self.dst,
            "stream": self.stream,
            "packet": packet,
        }
        if not self.is_frame:
            out |= {"kind": piece.kind, "size": piece.size}
            if piece.code:
                out["code"] = piece.code
            if piece.kind == "not-kafka":
                out["protocol"] = piece.protocol
                out |= {"content": [*piece.content]} if piece.content else {}
                out |= {"reason": piece.reason} if piece.reason else {}
            return out
        reading = self.reading(hide) if records == "decoded" else None
        document = None if lossless or hidden else self._plain_document(records, reading)
        if document is None:
            assert self.frame  # noqa: S101 - for the type checker
            document = self.frame.to_json(
                records=records, lossless=lossless, hidden=hidden, asked=self.asked, reading=reading
            )
            del document["frame"]
        out |= document
        if self.request:
            out["requestFrame"] = self.request.number
            if (latency := self.latency) is not None:
                out["latency"] = latency
        if topics := self.topics:
            out["topics"] = topics
        return out

    def _plain_document(self, records: str, reading: RecordsAs | None) -> dict[str, Any] | None:
        """Return what `Frame.to_json` gives for a frame without anomalies, or None for any other frame."""
        plain = self.plain
        if plain is None:
            return None
        body, layout = plain.body(records, reading), plain.layout
        out: dict[str, Any] = {
            "kind": layout.kind,
            "size": self.seen.size,
            "apiKey": layout.api_key,
            "api": layout.api,
            "apiVersion": layout.version,
        }
        return out | {"header": plain.header, "body": body, "anomalies": []}


@lru_cache(maxsize=64)
def _second(seconds: int) -> str | None:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}."
    except (OverflowError, OSError, ValueError):
        return None


def time_text(time: int | None) -> str | None:
    """Nanoseconds since 1970 as ISO 8601 with microseconds; a time outside what a date can be is left out."""
    if time is None:
        return None
    seconds, fraction = divmod(time, 1_000_000_000)
    second = _second(seconds)
    return second and f"{second}{fraction // 1000:06d}Z"
