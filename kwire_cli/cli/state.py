"""`kwire dump --state`: what Kafka's own topics say at an offset."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kwire_cli.cli.options import refuse_format
from kwire_cli.errors import InputError
from kwire_cli.source.logs.names import Kind
from kwire_cli.source.logs.segments import partition_of
from kwire_cli.view.lines import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.segments import SegmentFile
    from kwire_cli.codec.model import Limits
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.model import Gap, Hide
    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.state.answer import Answer
    from kwire_cli.state.folding import Segment

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
    environment: Environment, catalog: Catalog, files: Iterable[SegmentFile], fmt: str, options: dict[str, Any], limits: Limits | None = None
) -> bool:
    """Write what the topics among the files say, up to the offset `options["at"]`; whether something of them could not be read.

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
        environment.note(f"kwire: {answer.topic}: the last offset is {last}, before --at {at}: this is what it says at its end")


def _answers(catalog: Catalog, files: Iterable[SegmentFile], options: dict[str, Any], limits: Limits | None) -> Iterator[Answer]:
    from kwire_cli.state.answer import Answer
    from kwire_cli.state.folding import TOPICS, first_reachable, fold

    partitions: dict[str, dict[tuple[str, int | None], list[SegmentFile]]] = {}
    seen = set()
    for file in files:
        topic = options.get("as_topic") or file.topic
        seen.add(topic)
        if topic in TOPICS and file.has_batches and (not options.get("topics") or topic in options["topics"]):
            folder = partition_of(file.path) if file.path else None
            if not (folder and folder.state):
                place = str(file.path.parent) if file.path else "-", folder.partition if folder else None
                partitions.setdefault(topic, {}).setdefault(place, []).append(file)
    if not partitions:
        named = ", ".join(sorted(str(topic) for topic in seen if topic)) or "files whose folder names no topic (--as-topic says it)"
        raise InputError(f"--state needs one of {', '.join(TOPICS)}; here are {named}")
    unreachable = []
    for topic in TOPICS:
        folded = []
        for (_, number), found in sorted(partitions.get(topic, {}).items(), key=lambda item: (item[0][1] or 0, item[0][0])):
            in_use = _in_use(found)
            segments = [_segment(catalog, topic, file, limits) for file in in_use]
            if (at := options.get("at")) is not None and at < (first := first_reachable(topic, segments)):
                others = [file for file in found if file not in in_use]
                unreachable.append(_unreachable(topic, in_use, others, at, first))
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
    """Return the error for an offset that the files in use do not reach: the first one that they do, and files that reach further."""
    from kwire_cli.state.folding import first_reachable

    older = [file for file in others if first_reachable(topic, [_begin(file)]) < first]
    here = "no file beside them reaches further"
    if older:
        names = [file.label.rpartition("/")[2] for file in older]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        reach = first_reachable(topic, map(_begin, older))
        here = f"files beside them reach from offset {reach} on, and are read when they are named: {', '.join(names[:_NAMED])}{more}"
    kinds = "snapshot" if any(_begin(file).snapshot for file in in_use) else "segment"
    text = f"offset {at} is before the first {kinds} in use; the first offset that can be answered is {first}; {here}"
    return InputError(text, file=in_use[0].label.rpartition("/")[0] or in_use[0].label)


def _in_use(files: list[SegmentFile]) -> list[SegmentFile]:
    """The files without a suffix such as .deleted, unless there are no others: then these were asked for."""
    return [file for file in files if not file.name.suffix] or files


def _segment(catalog: Catalog, topic: str, file: SegmentFile, limits: Limits | None) -> Segment:
    return replace(_begin(file), read=partial(_items, catalog, topic, file, limits))


def _begin(file: SegmentFile) -> Segment:
    """What the name of a file says, without its content."""
    from kwire_cli.state.folding import Segment

    return Segment(file.label.rpartition("/")[2], tuple, file.name.base_offset, file.name.kind is Kind.CHECKPOINT)


def _items(catalog: Catalog, topic: str, file: SegmentFile, limits: Limits | None) -> Iterator[Batch | Gap]:
    from kwire_cli.records.opening import items, source_of

    return items(source_of(file.view, topic=topic, catalog=catalog, limits=limits))


def _show(environment: Environment, answer: Answer, fmt: str, hide: Hide | None) -> None:
    from kwire_cli.view.json import dumps
    from kwire_cli.view.state import table_lines, tree_lines

    if fmt == "json":
        environment.write(dumps(answer.to_json(hide=hide), indent=True))
    elif fmt == "jsonl":
        for row in (*answer.logs(), *answer.rows(hide=hide)):
            environment.write(dumps(row, indent=False))
    else:
        if fmt != "tree":
            environment.write_lines(table_lines(answer, hide=hide))
        if fmt == BOTH:
            environment.write("")
        if fmt != "table":
            environment.write_lines(tree_lines(answer, hide=hide))
