"""The versions of messages as an Answer: the releases, the changes of layout and the meaning of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.comparison.definitions import CHANGES, change_items
from kwire_cli.answer import Answer, Column, Item, Outline, Table
from kwire_cli.spec.evolution.history import history

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.answer import Block, Row
    from kwire_cli.spec.evolution.history import Step
    from kwire_cli.spec.model import MessageSpec

VERSIONS = (
    Column("message"),
    Column("version", "id"),
    Column("since"),
    Column("until"),
    Column("layout"),
    Column("meaning"),
    Column("why"),
    Column("comment"),
)
"""`layout` is first, changed or same. `comment` is the definition of Kafka that has a comment on the meaning."""
SAME_LAYOUT = "the same layout"


def history_answer(specs: Sequence[MessageSpec]) -> Answer:
    """Return the versions of some messages in order: an outline for display, and tables for programs."""
    steps = [(spec.name, history(spec)) for spec in specs]
    blocks: list[Block] = [Outline("", [*_items(name, own)]) for name, own in steps]
    versions: list[Row] = []
    changes: list[Row] = []
    for name, own in steps:
        versions += [_row(name, step) for step in own]
        for step in own:
            changes += _changes(name, step)
    blocks.append(Table("versions", VERSIONS, versions, shown=0))
    blocks.append(Table("changes", (CHANGES[0], Column("version", "id"), *CHANGES[1:]), changes, shown=0))
    return Answer("Versions of messages", blocks)


def _row(name: str, step: Step) -> tuple[str | int | None, ...]:
    layout = "changed" if step.layout else "same"
    if step.before is None:
        layout = "first"
    since, until = step.releases or (None, None)
    return name, step.version, since, until, layout, *(step.meaning or (None, None, None))


def _changes(name: str, step: Step) -> Iterator[Row]:
    for change in step.layout:
        document = change.to_json()
        yield name, step.version, *(document.get(column.name) for column in CHANGES[1:])


def _items(name: str, steps: Sequence[Step]) -> Iterator[Item]:
    for step in steps:
        yield Item(0, f"{name} {step.version}", step.releases.text if step.releases else "in no known release")
        yield from (item._replace(depth=item.depth + 1) for item in change_items(step.layout))
        if step.meaning:
            yield Item(1, step.meaning.sentence if step.layout else f"{SAME_LAYOUT}: {step.meaning.sentence}")
        elif step.before is not None and not step.layout:
            yield Item(1, SAME_LAYOUT)
