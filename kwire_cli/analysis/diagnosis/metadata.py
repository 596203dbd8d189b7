"""Clients that ask for Metadata far too often, and clients whose topic does not exist."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from kwire_cli.analysis.call import host_of, parts
from kwire_cli.analysis.diagnosis.model import Finding, FindingKind, Rule
from kwire_cli.analysis.diagnosis.tallies import Book, Tally, merge_all, part_errors, rate
from kwire_cli.errors import counted
from kwire_cli.questions.sentence import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.analysis.diagnosis.model import Severity

UNKNOWN = FindingKind(
    "UNKNOWN_TOPIC_LOOP",
    "warning",
    "A client keeps asking for a topic that does not exist.",
    "Clients retry after UNKNOWN_TOPIC_OR_PARTITION, since a topic may be new. The name is misspelt, or the topic was "
    "deleted or is in another cluster. Brokers also deny that a topic id exists if the client has no permission to "
    "describe the topic.",
    "Compare the name with kafka-topics.sh --list, including case and dots. Create the topic, or correct the client. "
    "If the topic was deleted and created again, restart clients that still use its old id.",
    ("KIP-516",),
    rank=6,
)
STORM = FindingKind(
    "METADATA_STORM",
    "warning",
    "A client asks for Metadata far too often.",
    "A client needs Metadata when it starts, when leaders move, and every metadata.max.age.ms (5 minutes by default). "
    "Many more requests come from errors that are retried, from clients that are created again and again, and from "
    "tools that poll.",
    "Look at the errors of this client first. Keep one client for the life of the application. Raise "
    "metadata.max.age.ms and retry.backoff.ms. Let tools ask only for the topics that they need.",
    rank=55,
)
NAMES = {3: "UNKNOWN_TOPIC_OR_PARTITION", 100: "UNKNOWN_TOPIC_ID"}
LEAST_UNKNOWN = 3
"""Answers: a topic that is made at first use is unknown once or twice."""
LONG_UNKNOWN = 30.0
"""Seconds of a loop from which it is an error."""
SETTLED = 5.0
"""Seconds within which a topic that was unknown came into being, as new topics do."""
LEAST_METADATA, LEAST_SECONDS, MOST_A_SECOND = 30, 5.0, 2.0
"""Requests of one client, their time, and their rate, from which they are a storm: a client that retries backs off
to one a second."""
MOST_TOPICS = 1 << 12


@dataclass
class _Unknown(Tally):
    codes: set[int] = field(default_factory=set)
    apis: set[str] = field(default_factory=set)

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Unknown):
            self.codes |= other.codes
            self.apis |= other.apis


ABOUT_TOPICS = frozenset(
    {"Metadata", "Produce", "Fetch", "ListOffsets", "DescribeTopicPartitions", "OffsetForLeaderEpoch"}
)


@dataclass
class _Asked(Tally):
    failed: int = 0
    size: int = 0

    def merge(self, other: Tally) -> None:
        Tally.merge(self, other)
        if isinstance(other, _Asked):
            self.failed += other.failed
            self.size = max(self.size, other.size)


class UnknownTopics(Rule):
    """Answers that a topic does not exist, by client and topic, and how often clients ask for Metadata."""

    KINDS = (UNKNOWN, STORM)
    apis: ClassVar[frozenset[str]] = frozenset({"Metadata"})
    unusual_only = True

    def __init__(self) -> None:
        self._unknown: Book[tuple[str, str, str], _Unknown] = Book(_Unknown)
        self._asked: Book[tuple[str, str], _Asked] = Book(_Asked)
        self._topics: dict[str, float] = {}

    def call(self, call: Call) -> None:
        """Take a call: its unknown topics; of Metadata also the topics that exist."""
        errors = call.errors
        if call.api == "Metadata":
            self._take_metadata(call)
        if call.api not in ABOUT_TOPICS or not any(name in errors for name in NAMES.values()):
            return
        done: set[str] = set()
        for topic, _, code, _ in part_errors(call):
            if code in NAMES and topic not in done:
                done.add(topic)
                unknown = self._unknown[call.who, host_of(call.client), topic]
                unknown.add(call)
                unknown.codes.add(code)
                unknown.apis.add(call.api)

    def _take_metadata(self, call: Call) -> None:
        asked = self._asked[call.who, host_of(call.client)]
        asked.add(call, of_request=True)
        asked.failed += bool(call.errors)
        asked.size = max(asked.size, call.sizes[1])
        time = call.answered or 0.0
        for (topic,) in parts(call.response, "topics"):
            name = topic.get("name")
            if not topic.get("errorCode") and isinstance(name, str):
                known = self._topics.get(name)
                if known is not None or len(self._topics) < MOST_TOPICS:
                    self._topics[name] = time if known is None or time > known else known

    def merge(self, other: UnknownTopics) -> None:
        merge_all(self._unknown, other._unknown)
        merge_all(self._asked, other._asked)
        for name, time in other._topics.items():
            self._topics[name] = max(time, self._topics.get(name, time))

    def findings(self) -> Iterator[Finding]:
        for (who, _, topic), unknown in self._unknown.items():
            known = self._topics.get(topic)
            came = known is not None and unknown.last is not None and known >= unknown.last
            if unknown.count < LEAST_UNKNOWN or (came and unknown.span < SETTLED):
                continue
            names = ", ".join(NAMES[code] for code in sorted(unknown.codes))
            text = (
                f"{counted(unknown.count, 'answer')} ({', '.join(sorted(unknown.apis))}) in {duration(unknown.span)}: "
                f"{names} for {topic or 'a topic without a name'}"
            )
            text += "; later answers know it" if came else "" if known is None else "; earlier answers knew it"
            if known is None and (similar := self._similar(topic)):
                text += f"; is {similar} meant?"
            level: Severity | None = "error" if unknown.span >= LONG_UNKNOWN and not came else None
            yield Finding(UNKNOWN, f"client {who}", text, unknown.places, unknown.count, level)
        for (who, _), asked in self._asked.items():
            if asked.count < LEAST_METADATA or asked.span < LEAST_SECONDS or asked.rate < MOST_A_SECOND:
                continue
            text = f"{asked.count} Metadata requests in {duration(asked.span)} ({rate(asked.rate)} a second)"
            text += f"; {counted(asked.failed, 'answer')} had errors" if asked.failed else ""
            text += f"; the largest answer has {asked.size} bytes" if asked.size else ""
            yield Finding(STORM, f"client {who}", text, asked.places, asked.count)

    def _similar(self, topic: str) -> str | None:
        from difflib import get_close_matches  # noqa: PLC0415 - slow to import, and hardly ever needed

        return next(iter(get_close_matches(topic, sorted(self._topics), 1, 0.8)), None)
