"""The record formats, one entry each.

The module that reads a format is loaded at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from kwire_cli.structs.records import kip82, kip98, v0, v1, v2


class RecordFormat(NamedTuple):
    """A format: the module `declared` of its declaration, and the declaration of a batch or message in it.

    `kind` is the module of this room that reads it. `about` describes a batch of the format.
    """

    magic: int
    declared: Any
    decl: Any
    kind: str
    about: str

    @property
    def reader(self) -> Any:
        """The module that reads it: `head_of` and `pieces_of`."""
        return import_module(f"{__package__}.{self.kind}")


RECORD_FORMATS = {
    "v0": RecordFormat(0, v0, v0.MESSAGE, "legacy", "message, format v0 (magic 0, Kafka 0.8)"),
    "v1": RecordFormat(1, v1, v1.MESSAGE, "legacy", "message, format v1 (magic 1, Kafka 0.10, KIP-31 and KIP-32)"),
    "v2": RecordFormat(2, v2, v2.BATCH, "v2", "record batch, format v2 (magic 2, Kafka 0.11, KIP-98)"),
    "kip98-draft": RecordFormat(
        2, kip98, kip98.MESSAGE_SET, "draft98", "message set of the KIP-98 draft, never shipped"
    ),
    "kip82-draft": RecordFormat(2, kip82, kip82.MESSAGE, "legacy", "message of the KIP-82 draft, never shipped"),
}
"""By name. The magic byte distinguishes the first three. The drafts have the magic of v2 and are read only on
request.
"""
AUTO = "auto"
BY_MAGIC = ("v0", "v1", "v2")
"""The formats of "auto": Kafka's formats, by their magic byte."""
CHOICES = (AUTO, *RECORD_FORMATS)
"""The names of formats for options."""
