"""How many bytes a value becomes, without making those of its keys and values: for sizes that no memory holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kwire_cli.structs.records.parts import Choice, Rest, SizedStruct
from kwire_cli.structs.sized import Sized


@dataclass(frozen=True, slots=True)
class Blank:
    """Stands in a value for this many bytes, whatever they are."""

    size: int


def size_of(decl: Any, value: Any) -> int:
    """The bytes of a value of a message with a size, as its declaration says them field by field: built, but for what is a Blank.

    EncodeError where a length does not fit.
    """
    if isinstance(decl, SizedStruct):
        fields = [(sc, sc.subcon.form(value) if isinstance(sc.subcon, Choice) else sc.subcon) for sc in decl.subcons]
        sizes = [0 if form is None or sc is decl.size else size_of(form, value[sc.name]) for sc, form in fields]
        return sum(sizes) + len(decl.size.subcon.build(sum(sizes[decl.at :])))
    if not isinstance(value, Blank):
        return len(decl.build(value))
    if isinstance(decl, Sized):
        return len(decl.prefix.build(value.size + decl.compact)) + value.size
    if isinstance(decl, Rest):
        return value.size
    raise TypeError(f"{decl} does not hold bytes")
