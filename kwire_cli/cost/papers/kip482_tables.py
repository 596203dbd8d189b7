"""KIP-482 in tables: both numberings of headers, what lengths save, what messages cost in the forms that it weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.cost.papers import kip482_measured as measured
from kwire_cli.cost.papers.kip482_measured import MESSAGES
from kwire_cli.cost.papers.model import Cell, Table
from kwire_cli.message.headers import HEADERS, header_version
from kwire_cli.spec.kafka import CONTROLLED_SHUTDOWN

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Catalog

KINDS = ("array", "bytes", "string")
LENGTHS = (0, 10, 126, 127, 16382, 16383, 2097150, 2097151, 268435454, 268435455)


def header_table(catalog: Catalog) -> Table:
    """The mapping of both numberings."""
    rows: list[tuple[Cell, ...]] = [
        (row.of, *("-" if number is None else number for number in (row.kip482, row.kafka)), row.layout) for row in HEADERS
    ]
    shutdown = header_version(catalog, "request", CONTROLLED_SHUTDOWN, 0)
    note = f"Kafka's request header {shutdown} is that of ControlledShutdown 0 alone; - is a header that the one numbering has and the other has not."
    return Table("Headers by the KIP's numbers and by Kafka's", ("of a", "KIP-482", "Kafka", "fields"), tuple(rows), note)


def length_table() -> Table:
    """The boundaries."""
    rows = tuple((length, *(measured.saving(kind, length) if length <= measured.MOST[kind] else None for kind in KINDS), 1) for length in LENGTHS)
    note = f"A string has at most {measured.MOST['string']} bytes. The last column is what each structure pays for an empty tag section."
    return Table("Bytes that a compact length saves, by length", ("length", "array", "byte buffer", "string", "tag section"), rows, note)


def message_table(catalog: Catalog) -> Table:
    """Some messages."""
    rows: list[tuple[Cell, ...]] = []
    for message in MESSAGES:
        row = measured.priced(catalog, message)
        saved = {kind: sum(size for name, (_, size) in row.lengths.items() if measured.LENGTHS[name] == kind) for kind in KINDS}
        parts = (*(saved[kind] for kind in KINDS), -row.sections)
        difference = row.flexible - row.inflexible
        rows.append((row.message, row.version, row.inflexible, row.flexible, difference, *parts, row.tagged, row.tagged - row.flexible))
    heading = ("message", "version", "inflexible", "flexible", "+/-", "arrays", "buffers", "strings", "sections", "all tagged", "+/- flexible")
    note = (
        "Generated bodies, in bytes. arrays, buffers, strings: what their lengths save; sections: what empty ones cost; the rest of the difference "
        "is tagged fields at their defaults, which the inflexible form has to write. To repeat it: kwire compare --flexible --all-tagged and "
        + "; ".join(message.options for message in MESSAGES)
    )
    return Table("Messages in the three forms", heading, tuple(rows), note)
