"""What may differ between two messages, and what is said of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kwire_cli.engine.body import Body
    from kwire_cli.engine.tree import Item

KINDS = {
    "changed": "the value differs",
    "removed": "only a has it",
    "added": "only b has it",
    "moved": "an element of an array that both have, at another place among the others",
    "bytes": "the value is the same, its bytes are not",
}
"""What each kind of difference means."""


class At(NamedTuple):
    """A place in two messages: `path` names elements by their keys where they have some, `a` and `b` are the paths by index, `field` has none."""

    path: str = ""
    a: str = ""
    b: str = ""
    field: str = ""

    def below(self, name: str) -> At:
        """The place of a field of the struct here."""
        return At(*(f"{path}.{name}" if path else name for path in self))

    def element(self, a: int | None, b: int | None, key: str | None) -> At:
        """The place of two elements of the array here, of which one may be missing; `key` is what names them."""
        shown = key if key is not None else a if a is not None else b
        return At(f"{self.path}[{shown}]", f"{self.a}[{b if a is None else a}]", f"{self.b}[{a if b is None else b}]", f"{self.field}[]")


@dataclass(frozen=True, slots=True)
class Side:
    """What a message has where it differs from another one.

    `path` is by index, `value` in JSON form with secrets redacted, `offset` and `size` those of all its bytes: none where it stands for a default
    that was left out, and for what is in a record set. `item` is what they stand for in the tree of `body`; where there is none to be shown,
    `is_bytes` says that the value is bytes in base64. `raw` are the bytes where nothing else differs.
    """

    path: str
    value: Any
    offset: int | None = None
    size: int | None = None
    body: Body | None = field(default=None, repr=False, compare=False)
    item: Item | None = field(default=None, repr=False, compare=False)
    is_bytes: bool = False
    raw: bytes | None = None

    def to_json(self) -> dict[str, Any]:
        """`{"path","value","offset","size"}`, and `"hex"` where nothing but the bytes differs."""
        shown = {"path": self.path, "value": self.value, "offset": self.offset, "size": self.size}
        return shown if self.raw is None else shown | {"hex": self.raw.hex()}


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: its kind of KINDS, where, what each message has there (None for nothing), and what there is to say about it.

    `layout` says that it is there because one version has no such field.
    """

    kind: str
    at: At
    a: Side | None
    b: Side | None
    detail: str = ""
    layout: bool = False

    @property
    def path(self) -> str:
        """Where, with the keys of elements: `topics[name="orders"].partitions[partitionIndex=3].leaderId`."""
        return self.at.path

    def to_json(self) -> dict[str, Any]:
        """`{"kind","path","a","b","detail","layout"}`."""
        sides = {name: side.to_json() if side else None for name, side in (("a", self.a), ("b", self.b))}
        return {"kind": self.kind, "path": self.path, **sides, "detail": self.detail, "layout": self.layout}


@dataclass
class Rewritten:
    """A field whose values are the same, and whose form differs because the layouts of two versions do: how often, and its bytes in each."""

    field: str
    a_form: str
    b_form: str
    count: int = 0
    a_bytes: int = 0
    b_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """`{"field","count","aForm","bForm","aBytes","bBytes"}`."""
        sizes = {"aBytes": self.a_bytes, "bBytes": self.b_bytes}
        return {"field": self.field, "count": self.count, "aForm": self.a_form, "bForm": self.b_form, **sizes}


@dataclass
class Comparison:
    """All that differs between two messages, in the order of their fields."""

    differences: list[Difference] = field(default_factory=list)
    rewritten: dict[tuple[str, str, str], Rewritten] = field(default_factory=dict)
    """Fields in another form, by path without indexes and both forms."""

    @property
    def counts(self) -> Counter[str]:
        """How many differences there are of each kind."""
        return Counter(each.kind for each in self.differences)

    @property
    def other_values(self) -> bool:
        """Whether any value differs, and not only bytes."""
        return any(each.kind != "bytes" for each in self.differences)

    @property
    def other_bytes(self) -> bool:
        """Whether anything differs."""
        return bool(self.differences or self.rewritten)

    def rewrite(self, field_path: str, forms: tuple[str, str], sizes: tuple[int, int]) -> None:
        """Count a field that the two layouts write in different forms."""
        row = self.rewritten.setdefault((field_path, *forms), Rewritten(field_path, *forms))
        row.count += 1
        row.a_bytes += sizes[0]
        row.b_bytes += sizes[1]

    def to_json(self) -> dict[str, Any]:
        """`{"verdict","counts","differences","rewritten"}`; the verdict is `same`, `same-values` where only bytes differ, or `differs`."""
        verdict = "differs" if self.other_values else "same-values" if self.other_bytes else "same"
        rows = [each.to_json() for each in self.rewritten.values()]
        return {"verdict": verdict, "counts": dict(self.counts), "differences": [each.to_json() for each in self.differences], "rewritten": rows}
