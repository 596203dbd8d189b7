"""The state of Kafka's own topics as a fold over partitions, each of which is folded by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.analysis.state.topics import TOPICS, folded_topics, partitions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.analysis.state.topics import Folded
    from kwire_cli.records.codecs import Limits
    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.spec.catalog import Catalog


class StatePart(NamedTuple):
    """A partition of a topic that has a state, folded."""

    topic: str
    folded: Folded


@dataclass
class States:
    """The states of partitions: a fold. Its topics are in the order in which `folded_topics` has them."""

    parts: list[StatePart] = field(default_factory=list)

    def add(self, subject: StatePart) -> None:
        """Take a partition in."""
        self.parts.append(subject)

    def merge(self, other: States) -> None:
        """Take in the partitions of another one, which come later."""
        self.parts += other.parts

    def topics(self) -> list[tuple[str, list[Folded]]]:
        """Return the topics with their partitions, as `folded_topics` yields them."""
        by_topic: dict[str, list[Folded]] = {}
        for part in self.parts:
            by_topic.setdefault(part.topic, []).append(part.folded)
        return sorted(by_topic.items(), key=lambda item: TOPICS.index(item[0]))


def units_of(files: Iterable[LogFile]) -> list[tuple[str, ...]]:
    """Return the files of each partition that has a state, by their paths: what a task folds.

    Raises InputError if no file is of a topic that has a state.
    """
    return [
        tuple(str(file.path) for file in files_of_one)
        for places in partitions_of(files).values()
        for files_of_one in places.values()
    ]


def parts_of(catalog: Catalog, files: Iterable[LogFile], limits: Limits | None = None) -> Iterator[StatePart]:
    """Yield the states of the partitions among files. Raises InputError as `folded_topics`."""
    for topic, folded in folded_topics(catalog, files, limits=limits):
        yield from (StatePart(topic, part) for part in folded)
