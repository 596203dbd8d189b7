"""Questions asked of many inputs one by one: each capture point, request log or log directory by itself.

An input is a work for a task of Spark: `EachInput` opens it, asks the question as the commands do, and returns the
answer. `merge_answers` makes one answer of all of them. A merged table has the rows of one input after those of
another, and its first column is the name of the input. Numbers are not added up, because percentiles of several
inputs cannot be computed from the percentiles of each.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.subjects import ask_inputs
from kwire_cli.answer import NUMBERS, Answer, Column, Facts, Item, Note, Outline, Table
from kwire_cli.errors import InputError
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.opening import LakeInput, LakePart, open_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.answer import Block, Row
    from kwire_cli.source.kinds import Kind
    from kwire_cli.source.reading import Caller, Opened, Reading

INPUT = Column("input")
"""The first column of merged tables."""


class Work(NamedTuple):
    """An input for one task: its name, the files and folders to read, and the part of a lake."""

    name: str
    paths: tuple[str, ...]
    part: LakePart | None = None

    def inputs(self, how: Reading) -> Iterator[Opened]:
        """Yield the opened inputs."""
        for opened in open_inputs(self.paths, how):
            if isinstance(opened, LakeInput):
                opened.part = self.part
            yield opened


class InputAnswer(NamedTuple):
    """The answer of an input, or the error that it cannot be read."""

    name: str
    answer: Answer | None
    error: str = ""


@dataclass(frozen=True)
class EachInput:
    """A question for each input: the fold that answers it, the arguments of its answer, and how inputs are read."""

    begin: Callable[[Redaction], Any]
    how: Reading
    arguments: Mapping[str, Any]
    connections: bool = False

    def answers(self, works: Iterable[Work]) -> list[InputAnswer]:
        """Return the answers about inputs, in order."""
        return [self._answer(work) for work in works]

    def _answer(self, work: Work) -> InputAnswer:
        fold = self.begin(Redaction(self.how.catalog))
        try:
            answer = ask_inputs(work.inputs(self.how), fold, self.arguments, connections=self.connections)
            return InputAnswer(work.name, answer)
        except InputError as error:
            return InputAnswer(work.name, None, str(error))


def works_of(arguments: Sequence[str], how: Reading, caller: Caller, takes: Collection[Kind]) -> list[Work]:
    """Return the inputs that tasks can read apart: capture points, request logs, log directories, and the days of the
    capture points in lakes.

    Raises:
        InputError: There is no input, its kind is not in `takes`, it is a pipe, or a lake without frames.

    """
    works = []
    for opened in open_inputs(arguments, how, caller, takes=takes):
        if isinstance(opened, LakeInput):
            from kwire_cli.lake.filling import parts_of  # noqa: PLC0415 - it imports pyarrow

            works += [
                Work(f"{part.point} {part.day or 'without a day'}", (str(opened.folder),), part)
                for part in parts_of(opened)
            ]
            continue
        paths = _paths_of(opened)
        if not all(paths):
            raise InputError("a task can't read a pipe or bytes: give files or folders", file=opened.name)
        works.append(Work(opened.label, paths))
    return works


def _paths_of(opened: Opened) -> tuple[str, ...]:
    if isinstance(opened, CaptureInput) and opened.files:
        return opened.files
    source = opened.recognised.source
    return (source if isinstance(source, str) else "",)


def merge_answers(answers: Sequence[InputAnswer]) -> Answer:
    """Return one answer of the answers of several inputs: those with findings first, in the order of the inputs.

    Raises:
        InputError: No input could be read.

    """
    read = [(each.name, each.answer) for each in answers if each.answer is not None]
    unread = [Note(f"{each.name} was not read: {each.error}", "warning") for each in answers if each.answer is None]
    if not read:
        raise InputError(f"no input could be read: {answers[0].error}", file=answers[0].name)
    read.sort(key=lambda pair: not pair[1].found)
    blocks: list[Block] = [*_overview(read)]
    tables: defaultdict[str, list[tuple[str, Table]]] = defaultdict(list)
    for name, answer in read:
        for table in answer.tables:
            tables[table.name].append((name, table))
    blocks += map(_stacked, tables.values())
    blocks += [Outline("", [*_lines(read)])]
    for name, answer in read:
        blocks += [block._replace(text=f"{name}: {block.text}") for block in answer.blocks if isinstance(block, Note)]
    return Answer(read[0][1].title, [*blocks, *unread], found=any(answer.found for _, answer in read))


def _overview(read: Sequence[tuple[str, Answer]]) -> Iterator[Table]:
    """Yield a table with a row for each input: its facts that are numbers, and counts by name."""
    columns: dict[str, Column] = {}
    rows: list[tuple[str, dict[str, Any]]] = []
    for name, answer in read:
        values: dict[str, Any] = {}
        for block in answer.blocks:
            for fact in block.facts if isinstance(block, Facts) else ():
                if fact.kind in {*NUMBERS, "map"} and not fact.spoken:
                    columns[fact.name] = Column(fact.name, fact.kind, fact.title, level=fact.level)
                    values[fact.name] = fact.value
        rows.append((name, values))
    if columns:
        cells = [(name, *(values.get(column) for column in columns)) for name, values in rows]
        yield Table("inputs", (INPUT, *columns.values()), cells)


def _stacked(tables: Sequence[tuple[str, Table]]) -> Table:
    """Return the rows of tables with the same columns as one table."""
    rows: list[Row] = []
    for name, table in tables:
        rows += [(name, *row) for row in table.rows]
    first = tables[0][1]
    return first._replace(columns=(INPUT._replace(once=True), *first.columns), rows=rows, total=None)


def _lines(read: Sequence[tuple[str, Answer]]) -> Iterator[Item]:
    """Yield the lines of outlines, below the name of their input."""
    for name, answer in read:
        items: list[Item] = []
        for block in answer.blocks:
            items += block.items if isinstance(block, Outline) else ()
        if items:
            yield Item(0, name)
            yield from (item._replace(depth=item.depth + 1) for item in items)
