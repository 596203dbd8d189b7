"""The checksum of a batch explained: which bytes it covers, and where one does not fit, whether a single bit is to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.explain.batches import batch_part
from kwire_cli.explain.forms import node_type
from kwire_cli.explain.layouts import FORMATS
from kwire_cli.explain.model import Event, Remark, Step
from kwire_cli.explain.rules import POLYNOMIALS, RULES
from kwire_cli.explain.topics import say
from kwire_cli.explain.walk import steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.records.batch import Batch

MOST_TRIED = 1 << 20
"""Bytes, from the end on, of which each bit is tried: a second's work."""


def explain_crc(batch: Batch) -> Iterator[Event]:
    """The checksum of a batch or message: its bytes, those that it covers, and those that it does not."""
    layout = batch.layout
    part = batch_part(batch)
    crc = part.specials["crc"]
    first, last = batch.position + layout.crc_from, batch.end - 1
    yield Remark(f"{FORMATS[layout.name]}, at byte {batch.position}, {batch.size} bytes")
    covered = f"the field {crc.covers_from} to the end: {batch.end - first} bytes, {first} to {last}"
    yield say(f"Its checksum is a {RULES[crc.crc or ''].name} of the bytes from {covered}.")
    before = [each.node for each in part.tree.root.parts if each.start < first and each.node.name != "crc"]
    yield say(f"Not covered are the checksum itself and what stands before: {', '.join(f'{node.name} {node_type(node)}' for node in before)}.")
    yield from (step for step in steps(part, every=False) if isinstance(step, Step) and step.path == "crc")
    if not batch.crc_valid:
        yield say(_blame(batch, first, POLYNOMIALS[crc.crc or ""]))


def _blame(batch: Batch, first: int, polynomial: int) -> str:
    layout, data = batch.layout, batch.source.data
    difference = layout.crc.unpack(data, batch.position)[0] ^ layout.checksum(data[first : batch.end])
    if not difference & (difference - 1):
        return "The two differ in one bit, which may have been flipped in the checksum itself."
    found = flipped_bit(batch.end - first, difference, polynomial)
    if found is None:
        return "No single bit that is the other way round would make it right: more than one is wrong, or the size is."
    at = first + found[0]
    was, bit = data[at], found[1]
    return f"One bit makes the difference: with bit {bit} of byte {at} the other way round, 0x{was ^ 1 << bit:02x} for 0x{was:02x}, it is right."


def flipped_bit(size: int, difference: int, polynomial: int) -> tuple[int, int] | None:
    """The byte, and the bit in it, of so many bytes whose flip changes their checksum by `difference`; None where no single one that is tried does.

    A checksum is linear: what a flip changes hangs on nothing but how many bits come after it.
    """
    reflected = int(f"{polynomial:032b}"[::-1], 2)
    state = 1
    for at in range(size - 1, max(size - MOST_TRIED, 0) - 1, -1):
        for bit in range(7, -1, -1):
            state = state >> 1 ^ (reflected if state & 1 else 0)
            if state == difference:
                return at, bit
    return None
