"""What a filter says, as a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal as Choice, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction

LiteralKind: TypeAlias = Choice["string", "word", "number", "duration", "size", "instant", "clock", "boolean", "null"]
Operator: TypeAlias = Choice["==", "!=", "<", "<=", ">", ">=", "~", "!~", "in", "not in"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A value in a filter: `text` is what stands there, without quotes and escapes.

    `value` by kind: string and word that text; number and size (bytes) an int or float; duration seconds, exactly; instant ns since 1970; clock ns
    since midnight.
    """

    kind: LiteralKind
    text: str
    value: str | int | float | Fraction | bool | None
    column: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name as written, and the column (from 1) where it stands; `header` is the key where it names the headers of records."""

    text: str
    column: int
    header: str | None = None


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison with one literal, or with several for `in` and `not in`; `column` is the operator's."""

    name: Name
    operator: Operator
    literals: tuple[Literal, ...]
    column: int


@dataclass(frozen=True, slots=True)
class Exists:
    """A name has a value: any but null, or with `says` any but null, false, 0 and what is empty."""

    name: Name
    says: bool


@dataclass(frozen=True, slots=True)
class Not:
    """The operand does not hold."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Both:
    """All operands (two or more) hold."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one operand (of two or more) holds."""

    operands: tuple[Node, ...]


Node: TypeAlias = Compare | Exists | Not | Both | Either
