"""`kwire dump --state`: which files of Kafka's own topics are read, and what they say at an offset."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kwire_cli.analysis.state.topics import TOPICS, Folded, Segment, first_reachable, fold
from kwire_cli.errors import InputError, counted
from kwire_cli.records.reading import items, source_of
from kwire_cli.source.logs.files import partition_of
from kwire_cli.source.logs.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.records.batch import Batch
    from kwire_cli.records.codecs import Limits
    from kwire_cli.records.gaps import Gap
    from kwire_cli.source.log_inputs import LogFile
    from kwire_cli.spec.catalog import Catalog

    Place = tuple[str, int | None]
    """The folder of a partition and its number."""

_NAMED = 8
"""Files that an error names at most."""


def folded_topics(
    catalog: Catalog,
    files: Iterable[LogFile],
    *,
    at: int | None = None,
    as_topic: str | None = None,
    wanted: tuple[str, ...] = (),
    limits: Limits | None = None,
) -> Iterator[tuple[str, list[Folded]]]:
    """Yield each topic among the files that has a state, with its partitions folded up to the offset `at`.

    Files without the name of a topic are of the topic `as_topic`. `wanted` are the topics to read, none for all.
    Raises InputError if no file is of a topic that has a state, or if the files do not reach back to the offset.
    """
    partitions = _partitions(files, as_topic, wanted)
    unreachable = []
    for topic in TOPICS:
        folded = []
        for (_, number), partition_files in sorted(
            partitions.get(topic, {}).items(), key=lambda item: (item[0][1] or 0, item[0][0])
        ):
            in_use = _in_use(partition_files)
            segments = [_segment(catalog, topic, file, limits) for file in in_use]
            if at is not None and at < (first := first_reachable(topic, segments)):
                unused = [file for file in partition_files if file not in in_use]
                unreachable.append(_unreachable(topic, in_use, unused, at, first))
                continue
            folded.append(fold(catalog, topic, segments, partition=number, at=at))
        if folded:
            if not any(part.passed.batches for part in folded):
                looked = counted(sum(map(len, partitions[topic].values())), "file")
                raise InputError(f"0 batches in {looked} of {topic}: there is no state to show")
            yield topic, folded
    if unreachable:
        raise unreachable[0]


def _partitions(
    files: Iterable[LogFile], as_topic: str | None, wanted: tuple[str, ...]
) -> dict[str, dict[Place, list[LogFile]]]:
    """Return the files of each partition of each topic that has a state. Raises InputError if there are none."""
    partitions: dict[str, dict[Place, list[LogFile]]] = {}
    topic_names = set()
    for file in files:
        topic = as_topic or file.topic
        topic_names.add(topic)
        if topic in TOPICS and file.has_batches and (not wanted or topic in wanted):
            folder = partition_of(file.path) if file.path else None
            if not (folder and folder.state):
                place = str(file.path.parent) if file.path else "-", folder.partition if folder else None
                partitions.setdefault(topic, {}).setdefault(place, []).append(file)
    if not partitions:
        named = (
            ", ".join(sorted(str(topic) for topic in topic_names if topic))
            or "files whose folder names no topic (--as-topic says it)"
        )
        raise InputError(f"--state needs one of {', '.join(TOPICS)}; here are {named}")
    return partitions


def _unreachable(topic: str, in_use: list[LogFile], others: list[LogFile], at: int, first: int) -> InputError:
    """Return the error for an offset before the first one that the files in use reach, and the files that reach it."""
    older = [file for file in others if first_reachable(topic, [_begin(file)]) < first]
    here = "no file beside them reaches further"
    if older:
        names = [file.label.rpartition("/")[2] for file in older]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        reach = first_reachable(topic, map(_begin, older))
        here = (
            f"files beside them reach from offset {reach} on, and are read when they are named: "
            f"{', '.join(names[:_NAMED])}{more}"
        )
    kinds = "snapshot" if any(_begin(file).snapshot for file in in_use) else "segment"
    text = f"offset {at} is before the first {kinds} in use; the first offset that can be answered is {first}; {here}"
    return InputError(text, file=in_use[0].label.rpartition("/")[0] or in_use[0].label)


def _in_use(files: list[LogFile]) -> list[LogFile]:
    """Return the files without a suffix such as .deleted, or all files if each has one: then these were asked for."""
    return [file for file in files if not file.name.suffix] or files


def _segment(catalog: Catalog, topic: str, file: LogFile, limits: Limits | None) -> Segment:
    return replace(_begin(file), read=partial(_items, catalog, topic, file, limits))


def _begin(file: LogFile) -> Segment:
    """Return a Segment with the facts in a file's name, without its content."""
    return Segment(file.label.rpartition("/")[2], tuple, file.name.base_offset, file.name.kind is Kind.CHECKPOINT)


def _items(catalog: Catalog, topic: str, file: LogFile, limits: Limits | None) -> Iterator[Batch | Gap]:
    return items(source_of(file.view, topic=topic, catalog=catalog, limits=limits))
