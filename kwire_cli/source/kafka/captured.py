"""The lines of a capture, and the names learnt from its traffic.

A line is a frame, a SASL token, bytes of another protocol, or a gap. Its fields are decoded lazily: most commands read
few of them, and a capture can have millions of frames. A frame without anomalies is read through its layout
(`message.known_layout`). Any other frame is decoded in full, as a `Frame`.

Newer messages contain topic ids instead of names, and Fetch requests of a session list only changes (KIP-227). `Names`
learns the rest from earlier messages. Any response with the id and the name of a topic (Metadata, CreateTopics,
DescribeTopicPartitions, ConsumerGroupDescribe, ...) names that topic. ApiVersions requests contain the software of the
client, Metadata and DescribeCluster responses the addresses of brokers, Fetch requests and responses the topics of
fetch sessions.
"""

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


MOST_SESSIONS = 1 << 14
MOST_NAMES = 1 << 17
"""Maximum number of fetch sessions, and of names of each kind. The oldest are dropped, so that days of traffic take no
more memory than hours."""


SESSIONS_SINCE = 7
"""The first version of Fetch with sessions."""


@dataclass
class Names:
    """The names known so far. At first this is only the metadata topic, whose id is fixed.

    Attributes:
        topics: Topic names by id.
        brokers: Node ids by address. None if several ids were seen for an address, as with a proxy or a load balancer.
        sessions: The topics of fetch sessions, as names or ids, by broker and session id.
        ahead: Reads the whole capture for names. It is called once, at the first topic id without a known name. None
            if the capture cannot be read twice.

    """

    topics: dict[str, str] = field(default_factory=lambda: {CLUSTER_METADATA_ID: CLUSTER_METADATA})
    brokers: dict[str, int | None] = field(default_factory=dict)
    sessions: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    ahead: Callable[[], Names] | None = None
    _nameless_layouts: set[Layout] = field(default_factory=set)  # layouts of messages that contain no names

    def topic(self, topic: str) -> str:
        """Return the name of a topic id, or `topic` itself if no name is known."""
        if topic not in self.topics and self.ahead and len(topic) == UUID_TEXT:
            ahead = self.ahead
            self.ahead = None
            names = ahead()
            self.topics = names.topics | self.topics
            self.learn_brokers(names.brokers.items())
        return self.topics.get(topic, topic)

    def node(self, address: str) -> int | None:
        """Return the node id of the broker at an address, `host:port`. Return None if it is unknown or ambiguous."""
        return self.brokers.get(address)

    def learn_brokers(self, nodes: Iterable[tuple[str, int | None]]) -> None:
        """Add node ids by address. The order does not matter."""
        for address, node in nodes:
            if self.brokers.setdefault(address, node) != node:
                self.brokers[address] = None
        forget(self.brokers, MOST_NAMES)

    def learn(self, line: Captured, broker: str) -> None:
        """Learn the names in a frame. `broker` is the address of the broker of the connection."""
        piece = line.seen
        head = piece.head
        plain = piece.plain
        if head is None or (plain is not None and plain.layout in self._nameless_layouts):
            return  # without its request, the type of a response is only a guess
        key = head.api_key
        if key == FETCH:
            self._learn_session(line, broker)
        elif key == API_VERSIONS:
            if line.kind == "request" and (name := line.field("clientSoftwareName")):
                software = f"{name} {line.field('clientSoftwareVersion') or ''}".rstrip()
                line.software = software
                line.connection.software = software
        elif plain is not None and (
            piece.kind == "request" or not (plain.layout.roles.naming or key in {METADATA, DESCRIBE_CLUSTER})
        ):
            self._nameless_layouts.add(plain.layout)
        elif piece.kind == "response":
            # A topic id never changes its name (KIP-516), so a response to a mismatched request does no harm.
            for topic, name in line.named_topics:
                self.topics.setdefault(topic, name)
            forget(self.topics, MOST_NAMES)
            if key in {METADATA, DESCRIBE_CLUSTER} and (body := body_of(line)):
                self._learn_brokers(body)

    def learn_names(self, line: Captured) -> None:
        """Learn only topics and brokers from a frame. These names hold for the whole capture, sessions do not."""
        if line.kind == "response" and line.seen.head and line.seen.head.api_key not in {FETCH, API_VERSIONS}:
            self.learn(line, "")

    def _learn_brokers(self, body: dict[str, Any]) -> None:
        nodes: list[tuple[str, int]] = []
        for broker in body.get("brokers") or ():
            node = broker.get("nodeId", broker.get("brokerId"))
            if broker.get("host") and "port" in broker and node is not None:
                nodes.append((address_of(broker["host"], broker["port"]), node))
        self.learn_brokers(nodes)

    def _learn_session(self, line: Captured, broker: str) -> None:
        """Update a fetch session, and set the topics of a Fetch that belongs to it."""
        if not line.seen.head or line.seen.head.version < SESSIONS_SINCE:
            return
        session = line.field("sessionId")
        if line.kind == "request":
            if session and (topics := self.sessions.get((broker, session))):
                del self.sessions[broker, session]  # inserted again, it is the newest entry
                line.session = _apply_session_changes(line, topics)
                self.sessions[broker, session] = line.session
        elif session and line.request:
            if line.request.field("sessionEpoch") in {0, -1}:
                names, ids = line.request.own_topics
                self.sessions[broker, session] = [*names, *ids]
                forget(self.sessions, MOST_SESSIONS)
            line.session = self.sessions.get((broker, session), [])


def forget(known: dict[Any, Any], limit: int) -> None:
    """Drop the oldest entries beyond `limit`."""
    while len(known) > limit:
        del known[next(iter(known))]


UUID_TEXT = 22
"""Length of a uuid in base64. A topic name can have the same length, and then counts as its own name."""


def _apply_session_changes(line: Captured, known: list[str]) -> list[str]:
    """Return the topics of a session after a Fetch request that adds and forgets topics.

    A topic is forgotten if the request names it as forgotten, and adds none of its partitions.
    """
    body = body_of(line)
    if not body or not (body.get("topics") or body.get("forgottenTopicsData")):
        return known
    added = [topic.get("topicId") or topic.get("topic") for topic in body.get("topics") or ()]
    forgotten = {topic.get("topicId") or topic.get("topic") for topic in body.get("forgottenTopicsData") or ()}
    forgotten.difference_update(added)
    return [topic for topic in dict.fromkeys([*known, *added]) if topic not in forgotten]


_EMPTY: dict[str, Any] = {}


def body_of(line: Captured) -> dict[str, Any]:
    """Return the body of a request or response as JSON, with sizes instead of records. Empty if it cannot be read."""
    if plain := line.plain:
        return plain.body("size")
    frame = line.frame
    body = frame.body.to_json(records="size") if frame and frame.body else None
    return body if isinstance(body, dict) else _EMPTY


def address_of(host: str, port: int) -> str:
    """Return the address of a broker in the form of connection endpoints: `10.0.0.1:9092`, `[::1]:9092`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(slots=True, eq=False, repr=False)
class Captured:
    """A line of a capture.

    A line has the position of its last packet (`place`). A response never precedes its request, and the lines of one
    direction are in the order in which they were sent, even if the packets were captured in another order.

    Attributes:
        number: Counts lines from 1, in the order of their last bytes.
        request: The request of a response.
        origin: The capture point and its files.
        session: Topics of the fetch session of a Fetch, as names or ids.
        software: The name and version of the client's software, if an earlier ApiVersions request contained them.
        packets: The packets that contain its bytes. Only a `CarriedCapture` has them.

    """

    source = "capture"
    seen: Seen
    stream: int
    src: str
    dst: str
    connection: Connection
    names: Names
    origin: Origin = ALONE
    number: int = 0
    request: Captured | None = field(init=False, default=None)
    place: int = field(init=False)
    session: list[str] = field(init=False, default_factory=list)
    software: str | None = field(init=False)
    packets: tuple[Place, ...] = field(init=False)
    _where: Place | None = field(init=False, default=None)
    _frame: Frame | None = field(init=False, default=None)
    _is_checked: bool = field(init=False, default=False)
    _values: dict[str, list[bytes]] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        seen = self.seen
        self.place = seen.packet
        self.software = self.connection.software
        if seen.request:
            # The request does not refer to its response. Without reference cycles, lines are freed at once.
            self.request = seen.request.line
            seen.request.line = None
            if self.request is not None:
                self.place = max(seen.packet, self.request.place)

    @property
    def where(self) -> Place:
        """The file with its last byte, and the number of the packet in that file."""
        if self._where is None:
            self._where = self.origin.place(self.seen.packet)
        return self._where

    @property
    def kind(self) -> str:
        """request, response, sasl-token, not-kafka or gap. A frame that fits no layout is a gap, as in its JSON
        form.
        """
        return self.seen.kind if self._is_checked or not self._is_unrecognised else "gap"

    @property
    def _is_unrecognised(self) -> bool:
        return bool(self.is_frame and self.plain is None and self.frame and self.frame.kind == "unknown")

    @property
    def code(self) -> str | None:
        """The code of a gap; None for other lines."""
        return "NOT_RECOGNISED" if self._is_unrecognised else self.seen.code

    @property
    def is_frame(self) -> bool:
        """Return whether the line is a request or a response."""
        return self.seen.kind in {"request", "response"}

    @property
    def wants_response(self) -> bool:
        """Return whether a request has a response. A broker does not respond to a Produce request with acks=0."""
        return self.api_key != PRODUCE or self.field("acks") != 0

    @property
    def time(self) -> str | None:
        """Time of its last byte, in ISO 8601 with microseconds, UTC."""
        return time_text(self.seen.time)

    @property
    def halves(self) -> tuple[Captured, ...]:
        """The line as a tuple of one, for code that also takes pairs of lines."""
        return (self,)

    @property
    def latency(self) -> float | None:
        """Seconds from request to response."""
        if self.request is None or self.seen.time is None or self.request.seen.time is None:
            return None
        return (self.seen.time - self.request.seen.time) / 1e9

    def release(self) -> None:
        """Drop the decoded values of the line and of its request. They are decoded again from the bytes if needed."""
        self._frame = None
        self._values = None
        if plain := self.seen.plain:
            plain.release()
            self.seen.frame = None  # whether a full decoding is believed can depend on earlier frames
        if self.request:
            self.request.release()

    # Decoded values

    @property
    def plain(self) -> Plain | None:
        """The frame read through its layout. None if it has anomalies."""
        plain = self.seen.plain
        if plain is not None and not self._is_checked:
            try:
                plain.read()
            except MalformedError:
                self.seen.plain = None
                plain = None
            else:
                self._is_checked = True
        return plain

    @property
    def frame(self) -> Frame | None:
        """The request or response, decoded in full; None for other lines."""
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
        """The spans of the body, and the roles of its fields. None if there is no body, or its message is a guess."""
        if plain := self.plain:
            return plain.layout.roles, plain.spans
        body = self.frame.body if self.frame else None
        if body is None or body.guess or self.guess:
            return None
        if not body.raw.aligned and is_doubtful(body.message, body.raw, self.asked_topics):
            return None  # the bytes of a field may belong to another one
        return roles(body.spec, body.entry), body.raw

    def field(self, name: str) -> Any:
        """Return the value of a top-level field of the message in JSON form, or None if there is no such field."""
        if plain := self.plain:
            return plain.top(name)
        decoded = self.read
        return top_value(*decoded, name) if decoded else None

    @property
    def api_key(self) -> int | None:
        """The key of its api; None if the line is not a frame."""
        if plain := self.plain:
            return plain.layout.api_key
        return self.frame.api_key if self.frame else None

    @property
    def api(self) -> str | None:
        """The name of its api, if that is known."""
        if plain := self.plain:
            return plain.layout.api
        return self.frame.api if self.frame else None

    @property
    def api_version(self) -> int | None:
        """The version of its api."""
        if plain := self.plain:
            return plain.layout.version
        return self.frame.api_version if self.frame else None

    @property
    def guess(self) -> bool:
        """Return whether the frame was identified only by its bytes."""
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
        """The values that have a role, by role. Used for frames that are decoded in full."""
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
        """The id and name of each topic for which the line contains both."""
        if plain := self.plain:
            return plain.read().names
        decoded = self.read
        return topic_names(*decoded) if decoded else []

    @property
    def topics(self) -> list[str]:
        """The topics of the line and of its fetch session, by name, or by id if the name is unknown."""
        return self.topics_by(self.names.topic)

    def topics_by(self, name_of: Callable[[str], str]) -> list[str]:
        """Return the topics of the line and of its fetch session. `name_of` returns the text for an id."""
        names, ids = self.own_topics
        if ids or self.session:
            return list(dict.fromkeys([*names, *(name_of(topic) for topic in (*ids, *self.session))]))
        if names:
            return list(dict.fromkeys(names))
        # A Fetch response without topics answers for all topics of its request.
        if self.request and self.api_key == FETCH:
            return self.request.topics_by(name_of)
        return []

    @property
    def asked_topics(self) -> list[str]:
        """The topics of a response's request."""
        return self.request.topics if self.request else []

    @property
    def error_codes(self) -> list[int]:
        """The error codes of a response, without 0."""
        if self.seen.kind != "response":
            return []
        plain = self.plain
        return list(dict.fromkeys(plain.read().errors)) if plain else error_codes(self._roles)

    @property
    def errors(self) -> list[str | int]:
        """The error codes of a response by name, or by number if the name is unknown."""
        codes = self.error_codes
        return [self.connection.catalog.error_name(code) or code for code in codes] if codes else []

    @property
    def anomalies(self) -> list[str]:
        """The codes of its anomalies. A gap has its own code."""
        if self.seen.code:
            return [self.seen.code]
        if self.plain or not self.frame:
            return []
        codes = [anomaly.code for anomaly in self.frame.anomalies]
        return ["NOT_RECOGNISED", *codes] if self.frame.kind == "unknown" else codes

    @property
    def throttle(self) -> int | None:
        """The throttle time of a response in milliseconds; None if the message has no such field."""
        throttle_ms: int | None = self.field("throttleTimeMs") if self.kind == "response" else None
        return throttle_ms

    @property
    def broker(self) -> int | None:
        """The node id of the broker of this connection, if a Metadata response contained its address."""
        client = self.connection.client
        if client is None:
            return None
        return self.names.node(self.dst if client == self.seen.side else self.src)

    @property
    def message(self) -> str | None:
        """The name of the message. None if it is uncertain, or if the frame has anomalies up to here."""
        plain = self.plain
        return plain.layout.message if plain else None

    @property
    def asked(self) -> Frame | None:
        """The request of a response, decoded in full."""
        return self.request.frame if self.request else None

    # Output

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
        """Return the line as in JSON lines output. Keys that only frames have are left out of other lines.

        `hide` selects the parts of records that are secret.
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
                if piece.content:
                    out["content"] = list(piece.content)
                if piece.reason:
                    out["reason"] = piece.reason
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
        """Return the result of `Frame.to_json` for a frame without anomalies, or None for any other frame."""
        plain = self.plain
        if plain is None:
            return None
        body = plain.body(records, reading)
        layout = plain.layout
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
    """Return nanoseconds since 1970 as ISO 8601 with microseconds. Return None for times that no date can express."""
    if time is None:
        return None
    seconds, fraction = divmod(time, 1_000_000_000)
    second = _second(seconds)
    return second and f"{second}{fraction // 1000:06d}Z"
