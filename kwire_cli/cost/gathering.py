"""Records gathered into other batches than those that they came in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cost.record_fitting import Fitted

AS_IS, ALL = "as-is", "all"


class Gathering:
    """The records of one form in batches of `size`, by partition and producer, as a producer with other settings would have sent them.

    AS_IS leaves batches as they are, ALL puts everything of a producer into one. A control batch stays alone, and ends what its producer had in hand.
    With `own_codec` records that came compressed in different ways are kept apart.
    """

    def __init__(self, size: int | str, *, own_codec: bool) -> None:
        self.size, self.own_codec = size, own_codec
        self.waiting: dict[tuple[Any, ...], dict[tuple[Any, ...], dict[str, Any]]] = {}
        """By partition and producer id, then by whatever else has to be the same in a batch."""

    def add(self, partition: str, found: Fitted) -> Iterator[dict[str, Any]]:
        """The batches that are full with these records."""
        if self.size == AS_IS:
            rows = [row | {"offset": offset} for row, offset in zip(found.rows, found.offsets, strict=True)]
            yield found.head | found.place | {"records": rows}
            return
        producer, key = (partition, found.group[0]), (*found.group[1:], found.head["compression"] if self.own_codec else None)
        if found.control:
            yield from self.waiting.pop(producer, {}).values()
            yield found.head | {"records": found.rows}
            return
        waiting = self.waiting.setdefault(producer, {})
        at = 0
        while at < len(found.rows):
            first = {"baseOffset": found.offsets[at]} | ({"baseSequence": found.rows[at]["sequence"]} if "baseSequence" in found.place else {})
            item = waiting.setdefault(key, found.head | first | {"records": []})
            room = len(found.rows) if self.size == ALL else int(self.size) - len(item["records"])
            item["records"] += found.rows[at : at + room]
            at += room
            if self.size != ALL and len(item["records"]) == self.size:
                yield waiting.pop(key)

    def end(self) -> Iterator[dict[str, Any]]:
        """What is left."""
        for waiting in self.waiting.values():
            yield from waiting.values()
        self.waiting = {}
