"""Names over a capture: what topic ids, fetch sessions and node ids stand for, and what clients are, learnt from the messages that go by.

Sources: any response in which a topic's id stands beside its name (Metadata, CreateTopics, DescribeTopicPartitions, ConsumerGroupDescribe, ...) says
which topic an id is; ApiVersions requests name the client's software; Metadata and DescribeCluster responses name brokers; Fetch requests and
responses make and change fetch sessions (KIP-227).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.message.roles import topic_names
from kwire_cli.spec.kafka import API_VERSIONS, CLUSTER_METADATA, CLUSTER_METADATA_ID, DESCRIBE_CLUSTER, FETCH, METADATA

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.message.plain import Layout
    from kwire_cli.source.kafka.captured import Captured

MOST_SESSIONS, MOST_NAMES = 1 << 14, 1 << 17
"""Fetch sessions, and names of each kind, that are known at a time. The oldest are forgotten: days of traffic take no more memory than hours."""
SESSIONS_SINCE = 7
"""The first version of Fetch with sessions."""


@dataclass
class Names:
    """What is known so far, at first the one id that no message tells. Sessions are kept by broker and session id, as lists of topic names or ids.

    `ahead` reads the whole capture for names, where that can be done; it is asked once, when a topic id comes that has none yet.
    """

    topics: dict[str, str] = field(default_factory=lambda: {CLUSTER_METADATA_ID: CLUSTER_METADATA})
    brokers: dict[str, int] = field(default_factory=dict)
    sessions: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    ahead: Callable[[], Names] | None = None
    _silent: set[Layout] = field(default_factory=set)  # of messages that tell nothing

    def topic(self, topic: str) -> str:
        """The name of a topic id, or what was given where none is known."""
        if topic not in self.topics and self.ahead and len(topic) == UUID_TEXT:
            ahead, self.ahead = self.ahead, None
            found = ahead()
            self.topics = found.topics | self.topics
            self.brokers = found.brokers | self.brokers
        return self.topics.get(topic, topic)

    def node(self, address: str) -> int | None:
        """The node id of the broker at an address, `host:port`."""
        return self.brokers.get(address)

    def learn(self, line: Captured, broker: str) -> None:
        """What a frame tells; `broker` is the address of the broker's end."""
        seen = line.seen
        head, plain = seen.head, seen.plain
        if head is None or (plain is not None and plain.layout in self._silent):
            return  # what a response without its request is can only be guessed
        key = head.api_key
        if key == FETCH:
            self._learn_session(line, broker)
        elif key == API_VERSIONS:
            if line.kind == "request" and (name := line.field("clientSoftwareName")):
                line.connection.software = f"{name} {line.field('clientSoftwareVersion') or ''}".rstrip()
        elif plain is not None and (seen.kind == "request" or not (plain.layout.roles.naming or key in {METADATA, DESCRIBE_CLUSTER})):
            self._silent.add(plain.layout)
        elif seen.kind == "response" and (found := line.read):
            for topic, name in topic_names(*found):  # a topic's id keeps its name (KIP-516), whatever the answer to a wrong request says
                self.topics.setdefault(topic, name)
            _forget(self.topics, MOST_NAMES)
            if key in {METADATA, DESCRIBE_CLUSTER} and (body := _body(line)):
                self._learn_brokers(body)

    def learn_names(self, line: Captured) -> None:
        """As `learn`, but topics and brokers alone: what is the same over the whole capture."""
        if line.kind == "response" and line.seen.head and line.seen.head.api_key not in {FETCH, API_VERSIONS}:
            self.learn(line, "")

    def _learn_brokers(self, body: dict[str, Any]) -> None:
        for broker in body.get("brokers") or ():
            node = broker.get("nodeId", broker.get("brokerId"))
            if node is not None and broker.get("host") and "port" in broker:  # it is whole
                self.brokers[address_of(broker["host"], broker["port"])] = node
        _forget(self.brokers, MOST_NAMES)

    def _learn_session(self, line: Captured, broker: str) -> None:
        """Keep a fetch session, and give a Fetch the topics of its own."""
        if not line.seen.head or line.seen.head.version < SESSIONS_SINCE:
            return
        session = line.field("sessionId")
        if line.kind == "request":
            if session and (known := self.sessions.get((broker, session))):
                del self.sessions[broker, session]  # so that it is the newest
                line.session = self.sessions[broker, session] = _changed(line, known)
        elif session and line.request:
            if line.request.field("sessionEpoch") in {0, -1}:
                names, ids = line.request.own_topics
                self.sessions[broker, session] = [*names, *ids]
                _forget(self.sessions, MOST_SESSIONS)
            line.session = self.sessions.get((broker, session), [])


def _forget(known: dict[Any, Any], most: int) -> None:
    """Let the oldest go where there are more than so many."""
    while len(known) > most:
        del known[next(iter(known))]


UUID_TEXT = 22
"""Characters of a uuid's text; a topic's name can be as long, and then is its own name."""


def _changed(line: Captured, known: list[str]) -> list[str]:
    """The topics of a session after a request that adds and forgets some; a topic is forgotten when it is named and nothing of it is added."""
    body = _body(line)
    if not body or not (body.get("topics") or body.get("forgottenTopicsData")):
        return known
    asked = [topic.get("topicId") or topic.get("topic") for topic in body.get("topics") or ()]
    forgotten = {topic.get("topicId") or topic.get("topic") for topic in body.get("forgottenTopicsData") or ()} - {*asked}
    return [topic for topic in dict.fromkeys([*known, *asked]) if topic not in forgotten]


def _body(line: Captured) -> dict[str, Any] | None:
    frame = line.frame
    return frame.body.to_json(records="size") if frame and frame.body else None


def address_of(host: str, port: int) -> str:
    """A broker's address as the ends of connections are written: `10.0.0.1:9092`, `[::1]:9092`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
