"""Partitions: the state in their records, their faults, and two copies compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kwire_cli.cli.old_options import refuse_format
from kwire_cli.errors import InputError
from kwire_cli.source.logs.files import nothing_in, partition_of
from kwire_cli.source.logs.model import Kind
from kwire_cli.stores import path_of, path_text
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.analysis.comparison.partitions import Comparison, Item
    from kwire_cli.analysis.state.topics import Answer, Segment
    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.segments import SegmentFile
    from kwire_cli.records.batch import Batch, Hide
    from kwire_cli.records.codecs import Limits
    from kwire_cli.records.gaps import Gap
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.stores import Place


# `kwire dump --state`: what Kafka's own topics say at an offset.

FORMATS = ("tree", "table", "json", "jsonl", "html")


_NAMED = 8
"""Files that an error names at most."""
BOTH = "table+tree"
"""What a page shows."""
INSTEAD = {
    "--offsets": "offsets",
    "--time": "times",
    "--key": "key",
    "--grep": "grep",
    "--limit": "limit",
    "--deep": "deep",
    "--all": "every",
    "--verify": "verify",
    "--like-kafka": "like_kafka",
}
"""Options that choose among records, of which a state needs all up to an offset."""


def show_state(
    environment: Environment,
    catalog: Catalog,
    files: Iterable[SegmentFile],
    fmt: str,
    options: dict[str, Any],
    limits: Limits | None = None,
) -> bool:
    """Write what the topics among the files say, up to the offset `options["at"]`; whether something of them could not
    be read.

    InputError where no file is of a topic that has a state.
    """
    if fmt != BOTH:
        refuse_format("--state", fmt, FORMATS)
    for option, name in INSTEAD.items():
        if options.get(name) not in {None, False}:
            raise click.UsageError(f"--state uses all records up to an offset (--at); it does not take {option}")
    from kwire_cli.message.redaction import Redaction

    odd, redaction = False, Redaction(catalog, show_secrets=bool(options.get("show_secrets")))
    for answer in _answers(catalog, files, options, limits):
        _show(environment, answer, fmt, redaction.record)
        _note_beyond(environment, answer, options.get("at"))
        odd = odd or any(part.passed.notes or part.state.unknown for part in answer.parts)
    return odd


def _note_beyond(environment: Environment, answer: Answer, at: int | None) -> None:
    """Say where it is that the log ends before the offset that was asked for."""
    last = max((part.passed.last for part in answer.parts if part.passed.last is not None), default=None)
    if at is not None and last is not None and last < at:
        environment.note(
            f"kwire: {answer.topic}: the last offset is {last}, before --at {at}: this is what it says at its end"
        )


def _answers(
    catalog: Catalog, files: Iterable[SegmentFile], options: dict[str, Any], limits: Limits | None
) -> Iterator[Answer]:
    from kwire_cli.analysis.state.topics import TOPICS, Answer, first_reachable, fold

    partitions: dict[str, dict[tuple[str, int | None], list[SegmentFile]]] = {}
    topic_names = set()
    for file in files:
        topic = options.get("as_topic") or file.topic
        topic_names.add(topic)
        if topic in TOPICS and file.has_batches and (not options.get("topics") or topic in options["topics"]):
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
    unreachable = []
    for topic in TOPICS:
        folded = []
        for (_, number), partition_files in sorted(
            partitions.get(topic, {}).items(), key=lambda item: (item[0][1] or 0, item[0][0])
        ):
            in_use = _in_use(partition_files)
            segments = [_segment(catalog, topic, file, limits) for file in in_use]
            if (at := options.get("at")) is not None and at < (first := first_reachable(topic, segments)):
                unused = [file for file in partition_files if file not in in_use]
                unreachable.append(_unreachable(topic, in_use, unused, at, first))
                continue
            folded.append(fold(catalog, topic, segments, partition=number, at=at))
        if folded:
            if not any(part.passed.batches for part in folded):
                looked = counted(sum(map(len, partitions[topic].values())), "file")
                raise InputError(f"0 batches in {looked} of {topic}: there is no state to show")
            yield Answer(topic, folded)
    if unreachable:
        raise unreachable[0]


def _unreachable(topic: str, in_use: list[SegmentFile], others: list[SegmentFile], at: int, first: int) -> InputError:
    """Return the error for an offset that the files in use do not reach: the first one that they do, and files that
    reach further.
    """
    from kwire_cli.analysis.state.topics import first_reachable

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


def _in_use(files: list[SegmentFile]) -> list[SegmentFile]:
    """The files without a suffix such as .deleted, unless there are no others: then these were asked for."""
    return [file for file in files if not file.name.suffix] or files


def _segment(catalog: Catalog, topic: str, file: SegmentFile, limits: Limits | None) -> Segment:
    return replace(_begin(file), read=partial(_items, catalog, topic, file, limits))


def _begin(file: SegmentFile) -> Segment:
    """Return a Segment with the facts in a file's name, without its content."""
    from kwire_cli.analysis.state.topics import Segment

    return Segment(file.label.rpartition("/")[2], tuple, file.name.base_offset, file.name.kind is Kind.CHECKPOINT)


def _items(catalog: Catalog, topic: str, file: SegmentFile, limits: Limits | None) -> Iterator[Batch | Gap]:
    from kwire_cli.records.reading import items, source_of

    return items(source_of(file.view, topic=topic, catalog=catalog, limits=limits))


def _show(environment: Environment, answer: Answer, fmt: str, hide: Hide | None) -> None:
    from kwire_cli.view.json import dumps
    from kwire_cli.view.logs import state_table_lines, state_tree_lines

    if fmt == "json":
        environment.write(dumps(answer.to_json(hide=hide), indent=True))
    elif fmt == "jsonl":
        for row in (*answer.logs(), *answer.rows(hide=hide)):
            environment.write(dumps(row, indent=False))
    else:
        if fmt != "tree":
            environment.write_lines(state_table_lines(answer, hide=hide))
        if fmt == BOTH:
            environment.write("")
        if fmt != "table":
            environment.write_lines(state_tree_lines(answer, hide=hide))


# What `kwire diff` does with two copies of a partition, or of several: which are compared, and what is shown
# of them.


class Pair(NamedTuple):
    """Two copies of a partition: what to call them, and the segments of each in order; no files where a log directory
    does not have it.
    """

    a: str
    b: str
    a_files: list[Place]
    b_files: list[Place]


def show_partitions(environment: Environment, a: Place, b: Place, fmt: str, *, ignore_legal: bool) -> bool:
    """Print where copies of partitions differ; whether any do, with `ignore_legal` in more than retention, compaction
    and lag bring about.
    """
    different = False
    for number, pair in enumerate(_pairs(a, b)):
        comparison = _compared(pair)
        different = (
            different or comparison.verdict == "diverges" or (comparison.verdict == "legal" and not ignore_legal)
        )
        _show_partitions(environment, pair, comparison, fmt, first=number == 0)
        environment.flush()
    return different


def _pairs(a: Place, b: Place) -> Iterator[Pair]:
    """The partitions to compare. Of log directories those with the same name, those that only one has among them."""
    if a.is_dir() != b.is_dir():
        raise InputError(
            f"{a if a.is_dir() else b} is a folder and {b if a.is_dir() else a} is a file: give two folders, "
            f"or two segments"
        )
    if not a.is_dir():
        yield Pair(path_text(a), path_text(b), [a], [b])
        return
    mine, other = _partitions(a), _partitions(b)
    if len(mine) == len(other) == 1:  # whatever their names: a copy may be called as its owner likes
        yield Pair(path_text(a), path_text(b), *mine.values(), *other.values())
        return
    for name in [*mine, *(name for name in other if name not in mine)]:
        yield Pair(path_text(a / name), path_text(b / name), mine.get(name, []), other.get(name, []))


def _partitions(folder: Place) -> dict[str, list[Place]]:
    from kwire_cli.source.logs.files import walk

    in_use = [partition for partition in walk(folder).partitions if not (partition.name and partition.name.state)]
    names = Counter(partition.path.name for partition in in_use)
    paths_by_name = {}
    for partition in in_use:  # those of several log directories may have one name
        name = (
            partition.path.name
            if names[partition.path.name] == 1
            else str(partition.path)[len(str(folder)) :].strip("/")
        )
        paths_by_name[name] = [file.path for file in partition.of(Kind.LOG)]
    if not any(paths_by_name.values()):
        raise nothing_in(folder, "segment")
    return paths_by_name


def _compared(pair: Pair) -> Comparison:
    from kwire_cli.analysis.comparison.partitions import compare

    partition_diff = compare(_items_of_partition(pair.a_files), _items_of_partition(pair.b_files))
    if not partition_diff.a.batches and not partition_diff.b.batches and partition_diff.a.size + partition_diff.b.size:
        raise InputError(f"there is no record batch in {pair.a}, nor in {pair.b}")
    return partition_diff


def _items_of_partition(files: list[Place]) -> Iterator[Item]:
    from kwire_cli.analysis.comparison.partitions import Item
    from kwire_cli.records.reading import items, source_of

    for file in files:
        for item in items(source_of(file)):
            yield Item(path_text(path_of(file.name)), item)


def _show_partitions(environment: Environment, pair: Pair, comparison: Comparison, fmt: str, *, first: bool) -> None:
    if fmt == "json":
        from kwire_cli.view.json import dumps

        environment.write(dumps({"aPath": pair.a, "bPath": pair.b, **comparison.to_json()}, indent=True))
        return
    from kwire_cli.view.differences import partition_lines

    environment.write_lines([*([] if first else [[]]), *partition_lines(comparison, pair.a, pair.b)])
