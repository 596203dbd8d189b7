"""The states of Kafka's own topics as a fold over partitions. A task folds each partition."""

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
        by_topic: dict[str, list[Folded]] = {}
        for part in sorted(self.parts, key=lambda part: TOPICS.index(part.topic)):
            by_topic.setdefault(part.topic, []).append(part)
        return [*by_topic.items()]


def units_of(files: Iterable[LogFile]) -> list[tuple[str, ...]]:
    """Return the paths of the files that each task folds: those of a partition.

    Raises InputError if no file belongs to a topic that has a state.
    """
    units: list[tuple[str, ...]] = []
    for places in partitions_of(files).values():
        units += (tuple(str(file.path) for file in of_one) for of_one in places.values())
    return units
