"""The states of Kafka's own topics as a fold over partitions, each of which is folded in a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kwire_cli.analysis.state.topics import TOPICS, partitions_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_cli.analysis.state.topics import Folded
    from kwire_cli.source.log_inputs import LogFile


@dataclass
class States:
    """The states of partitions."""

    parts: list[Folded] = field(default_factory=list)

    def add(self, part: Folded) -> None:
        """Take a partition in."""
        self.parts.append(part)

    def merge(self, other: States) -> None:
        """Take in the partitions of another one, which come later."""
        self.parts += other.parts

    def topics(self) -> list[tuple[str, list[Folded]]]:
        """Return the topics with their partitions, as `read_logs` yields them."""
        topics = [(topic, [part for part in self.parts if part.topic == topic]) for topic in TOPICS]
        return [(topic, parts) for topic, parts in topics if parts]


def units_of(files: Iterable[LogFile]) -> list[tuple[str, ...]]:
    """Return the files of each partition that has a state, by their paths: what a task folds.

    Raises InputError if no file is of a topic that has a state.
    """
    places = (of_one for of_topic in partitions_of(files).values() for of_one in of_topic.values())
    return [tuple(str(file.path) for file in of_one) for of_one in places]
