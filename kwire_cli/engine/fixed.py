"""Declarations of fixed size as a struct.Struct with field names, for loops that need nothing but the numbers.

A field of a nested struct is named with a dot: `Struct("ip" / IPV4, "tcp" / TCP)` has `ip.source`. So headers that
often follow each other are read in one step, and still no offset is written twice.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import construct

from kwire_cli.structs.numbers import Bool, Uuid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Row(NamedTuple):
    """A field of fixed size: its name, its byte order, its code of the module `struct`, its bytes."""

    name: str
    order: str  # "" where there is none: single bytes, raw bytes
    code: str
    size: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """`unpack` reads a tuple of `names` from bytes at an offset, and raises struct.error where they end before `size`
    bytes; `pack` makes bytes.
    """

    names: tuple[str, ...]
    size: int
    unpack: Callable[..., tuple[Any, ...]]
    iter_unpack: Callable[[Any], Iterator[tuple[Any, ...]]]
    pack: Callable[..., bytes]


def fixed(decl: Any, take: tuple[str | tuple[str, ...], ...] | None = None) -> Fixed:
    """The layout of `decl`: ints, floats and bools as values, `Bytes` and uuids as bytes.

    Args:
        decl: A construct whose size does not depend on the value.
        take: The fields wanted, in the order in which they stand; all by default. A tuple of neighbouring fields is
            given as one piece of bytes, under the first one's name.

    Raises:
        TypeError: The declaration has no fixed size, mixes byte orders, or has not the fields of `take` in that order.

    """
    rows = list(rows_of(decl))
    orders = {row.order for row in rows if row.order}
    if len(orders) > 1:
        raise TypeError(f"{decl!r} mixes byte orders")
    taken = _taken(rows, take) if take is not None else rows
    layout = struct.Struct((orders.pop() if orders else ">") + "".join(row.code for row in taken))
    return Fixed(
        tuple(row.name for row in taken if not row.code.endswith("x")),
        layout.size,
        layout.unpack_from,
        layout.iter_unpack,
        layout.pack,
    )


def part(decl: Any, first: str, last: str) -> Fixed:
    """The fields of `decl` from `first` to `last` alone, as they are read from the bytes that a tuple in `take` gave.

    Raises:
        TypeError: As `fixed`.

    """
    rows = list(rows_of(decl))
    names = [row.name for row in rows]
    if first not in names or last not in names[names.index(first) :]:
        raise TypeError(f"{decl!r} has no fields from {first} to {last}")
    rows = rows[names.index(first) : names.index(last) + 1]
    layout = struct.Struct((next((row.order for row in rows if row.order), ">")) + "".join(row.code for row in rows))
    return Fixed(tuple(row.name for row in rows), layout.size, layout.unpack_from, layout.iter_unpack, layout.pack)


def rows_of(decl: Any, name: str = "") -> Iterator[Row]:
    """The fields of a declaration in the order of their bytes; TypeError for one that has no fixed size."""
    if isinstance(decl, construct.Renamed):
        yield from rows_of(decl.subcon, f"{name}.{decl.name}" if name else decl.name)
    elif isinstance(decl, construct.Struct) and not getattr(decl, "tags", None):
        for field in decl.subcons:
            yield from rows_of(field, name)
    elif isinstance(decl, construct.FormatField) and decl.fmtstr[0] in "<>":
        yield Row(name, decl.fmtstr[0] if decl.length > 1 else "", decl.fmtstr[1], decl.length)
    elif isinstance(decl, construct.Bytes) and isinstance(decl.length, int):
        yield Row(name, "", f"{decl.length}s", decl.length)
    elif isinstance(decl, Bool):
        yield Row(name, "", "?", 1)
    elif isinstance(decl, Uuid):
        yield Row(name, "", "16s", 16)
    else:
        raise TypeError(f"{decl!r} has no fixed size")


def _taken(rows: list[Row], take: tuple[str | tuple[str, ...], ...]) -> list[Row]:
    """The rows up to the last that is taken; those that are not are skipped bytes."""
    out: list[Row] = []
    at = 0
    for wanted in take:
        names = (wanted,) if isinstance(wanted, str) else wanted
        while at < len(rows) and rows[at].name != names[0]:
            out.append(Row("", "", f"{rows[at].size}x", rows[at].size))
            at += 1
        run = rows[at : at + len(names)]
        if tuple(row.name for row in run) != names:
            raise TypeError(f"no fields {', '.join(names)} in this place")
        at += len(names)
        if isinstance(wanted, str):
            out += run
        else:
            size = sum(row.size for row in run)
            out.append(Row(names[0], "", f"{size}s", size))
    return out
