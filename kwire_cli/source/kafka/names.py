"""Names over a capture: what topic ids, fetch sessions and connections stand for, learnt from the messages that go by.

Sources: Metadata, CreateTopics and DescribeTopicPartitions responses say which topic an id is; ApiVersions requests name the client's software;
Metadata responses name brokers; Fetch requests and responses make and change fetch sessions (KIP-227).
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kwire_cli.message.reading import API_VERSIONS
from kwire_cli.message.roles import ERROR, NO_UUID, TOPIC, TOPIC_ID, role_values, top_value

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame

FETCH, METADATA, CREATE_TOPICS, DESCRIBE_TOPIC_PARTITIONS = 1, 3, 19, 75
NAMING = frozenset({METADATA, CREATE_TOPICS, DESCRIBE_TOPIC_PARTITIONS})
NAME_KEYS = ("name", "topicName", "topic")


@dataclass
class Names:
    """What is known so far. Sessions are kept by broker and session id, as lists of topic names or ids."""

    topics: dict[str, str] = field(default_factory=dict)
    brokers: dict[int, str] = field(default_factory=dict)
    software: dict[int, str] = field(default_factory=dict)
    sessions: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def learn(self, frame: Frame, stream: int, broker: str, request: Frame | None) -> None:
        """What a frame tells; `request` is that of a response."""
        if frame.body is None or frame.body.guess:
            return
        if frame.kind == "request" and frame.api_key == API_VERSIONS:
            self._learn_software(frame.body.value, stream)
        elif frame.kind == "response" and frame.api_key in NAMING:
            self._learn_topics(frame.body.value)
        elif frame.kind == "response" and frame.api_key == FETCH and request and request.body:
            self._learn_session(frame.body, request.body, broker)

    def _learn_software(self, body: dict[str, Any], stream: int) -> None:
        if name := body.get("clientSoftwareName"):
            self.software[stream] = f"{name} {body.get('clientSoftwareVersion') or ''}".rstrip()

    def _learn_topics(self, body: dict[str, Any]) -> None:
        for topic in body.get("topics") or ():
            name = next((topic[key] for key in NAME_KEYS if topic.get(key)), None)
            if name and topic.get("topicId"):
                self.topics[topic["topicId"]] = name
        for broker in body.get("brokers") or ():
            if "port" in broker:  # it is whole
                self.brokers[broker["nodeId"]] = f"{broker['host']}:{broker['port']}"

    def _learn_session(self, body: Decoded, request: Decoded, broker: str) -> None:
        session = top_value(body, "sessionId")
        if session and top_value(request, "sessionEpoch") in {0, -1}:
            self.sessions[broker, session] = self.own_topics(request)

    def topics_of(self, frame: Frame, broker: str) -> list[str]:
        """The topics that a frame is about: those in it, and those of its fetch session where it is an incremental Fetch."""
        if frame.body is None or frame.body.guess:
            return []
        found = self.own_topics(frame.body)
        if frame.api_key == FETCH and frame.api_version is not None and frame.api_version >= 7:
            session = top_value(frame.body, "sessionId") or 0
            known = self.sessions.get((broker, session), [])
            if frame.kind == "request" and known:
                known = self._changed(known, found, frame.body.value)
                self.sessions[broker, session] = known
            found = list(dict.fromkeys([*found, *known]))
        return [self.topics.get(topic, topic) for topic in found]

    def _changed(self, known: list[str], added: list[str], body: dict[str, Any]) -> list[str]:
        """The topics of a session after a request that adds and forgets some; a topic is forgotten when it is named and nothing of it is added."""
        forgotten = {topic.get("topicId") or topic.get("topic") for topic in body.get("forgottenTopicsData") or ()}
        asked = {topic.get("topicId") or topic.get("topic") for topic in body.get("topics") or ()}
        return [topic for topic in dict.fromkeys([*known, *added]) if topic not in forgotten - asked]

    def own_topics(self, body: Decoded) -> list[str]:
        """The topic names and ids in a body, each once."""
        found = role_values(body)
        names = [raw.decode("utf-8", "replace") for raw in found.get(TOPIC, ()) if raw]
        ids = [base64.urlsafe_b64encode(raw)[:-2].decode("ascii") for raw in found.get(TOPIC_ID, ()) if raw != NO_UUID]
        named = set(names)
        return list(dict.fromkeys([*names, *(topic for topic in ids if self.topics.get(topic) not in named)]))


def error_codes(body: Decoded) -> list[int]:
    """The error codes in a body that are not 0, each once."""
    codes = (int.from_bytes(raw, "big", signed=True) for raw in role_values(body).get(ERROR, ()))
    return list(dict.fromkeys(code for code in codes if code))
