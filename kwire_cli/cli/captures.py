"""Select lines of captures for `kwire decode`, and check the names in --fields and --sort.

`ChosenLines` passes on the selected lines, and records in the same pass whether there was any line and any anomaly.
These facts determine the exit code, and a second pass would not be possible over a pipe.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar

import click

from kwire_cli.cli.capture_inputs import Choice
from kwire_cli.cli.options import Choosing, Secrets
from kwire_cli.facts.columns import BY_NAME
from kwire_cli.filter.compile import name_of
from kwire_cli.filter.places import unknown_part
from kwire_cli.source.capture_inputs import CaptureInput
from kwire_cli.source.kafka.line_records import is_anomalous

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire_cli.cli.capture_inputs import Pair
    from kwire_cli.cli.environment import Interrupt
    from kwire_cli.cli.sorting import Order
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.reading import Opened
    from kwire_cli.spec.catalog import Catalog

Item = TypeVar("Item", "Captured", "Pair")


def refuse_unknown(catalog: Catalog, fields: str | None, order: Order | None = None) -> None:
    """Raise UsageError for a name in --fields or --sort that is neither a column nor a field."""
    if order:
        refuse_unknown_name(catalog, order.column, "--sort")
    for name in () if fields is None else map(str.strip, fields.split(",")):
        if not name:
            raise click.UsageError(f"--fields takes names with commas between them, not {fields!r}")
        refuse_unknown_name(catalog, name, "--fields")


def order_of_lines(order: Order) -> Order:
    """Return an order with its direction. By default, quantities and flags are sorted with the largest values first."""
    column = BY_NAME.get(order.column)
    if column is None or order.descending is not None:
        return order
    return order._replace(descending=bool(column.unit) or column.type == "flag")


def refuse_unknown_name(catalog: Catalog, name: str, option: str) -> None:
    """Raise UsageError for a name that is neither a column nor a field."""
    if "[" in name:
        raise click.UsageError(f"{option}: a path has no indexes: topics.partitions, not {name}")
    if (named := name_of(name)) is None:
        raise click.UsageError(f"{option}: expected the name of a column or field, found {name!r}")
    if reason := unknown_part(named, catalog.field_names):
        raise click.UsageError(f"{option}: {reason}")


class ChosenLines:
    """The selected lines of a capture, at most `limit`. They can be iterated only once.

    Raises InputError if the capture cannot be read. A filter reads secrets only if the options show them.
    """

    def __init__(
        self,
        opened: Opened,
        options: Choosing,
        interrupt: Interrupt,
        limit: int | None = None,
        *,
        strict: bool = False,
    ) -> None:
        assert isinstance(opened, CaptureInput)  # noqa: S101 - for the type checker
        show_secrets = isinstance(options, Secrets) and options.show_secrets
        self.choice = Choice(options, opened.how.catalog, limit, show_secrets=show_secrets)
        self._opened = opened
        self._interrupt = interrupt
        self._has_lines = False
        self._is_anomalous = False
        self._strict = strict

    @property
    def is_whole(self) -> bool:
        """Return whether the capture is complete, so that it can be read again."""
        return self._opened.is_whole

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Return a context in which Ctrl-C ends a growing capture like its regular end, so that its lines are shown."""
        _ = self._opened.capture  # before the context: opening a pipe waits for its writer, and Ctrl-C must end this
        with self._interrupt.watched() if self._opened.how.follow else nullcontext():
            yield

    def __iter__(self) -> Iterator[Captured]:
        return self._record_facts(self.choice.among(self._opened.subjects()))

    def pairs(self) -> Iterator[Pair]:
        """Yield requests with their responses instead of single lines."""
        return self._record_facts(self.choice.pairs_among(self._record_gaps(self._opened.subjects())))

    def _record_gaps(self, lines: Iterable[Captured]) -> Iterator[Captured]:
        """Yield all lines. Record whether a selected line outside of pairs, such as a gap, is anomalous."""
        for line in lines:
            if self._strict and not self._is_anomalous and not line.is_frame and self.choice.takes(line):
                self._is_anomalous = is_anomalous(line)
            yield line

    def _record_facts(self, lines: Iterator[Item]) -> Iterator[Item]:
        """Yield all lines. Record whether there is any, and whether one is anomalous."""
        for line in lines:
            self._has_lines = True
            if self._strict and not self._is_anomalous:
                self._is_anomalous = any(map(is_anomalous, line.halves))
            yield line
            if not self._strict or self._is_anomalous:
                yield from lines

    def note(self) -> None:
        """Note faults that ended the reading of the capture early, and an empty selection."""
        if self.are_empty:
            self._opened.caller.note(f"{self._opened.label}: no frame matches ({self.choice.seen} read)")
        self._opened.note_faults()

    @property
    def decodable(self) -> bool:
        """Return whether there was a line, or a selection that may have excluded all lines."""
        return self._has_lines or self.choice.chooses or self.choice.limit == 0

    @property
    def are_empty(self) -> bool:
        """Return whether there was a selection that matched no line."""
        return self.choice.chooses and not self._has_lines and self.choice.limit != 0

    @property
    def have_faults(self) -> bool:
        """Return whether the reading of a file ended early, or with `strict` whether a line so far was anomalous."""
        return self._is_anomalous or bool(self._opened.capture.notices)
