"""Generated code that counts how many bytes each field of records takes.

The code is made from the declaration of the records, as in `records.quick`, and skips over the fields while it
counts. Its counts equal the counts of the spans, which a test checks. Records with any anomaly are left to the spans.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.records.quick import NUMBER_SPACE, OddError, number_lines
from kwire_cli.structs.messages import VarintArray, VarintSized
from kwire_cli.structs.numbers import FixedInt, Varint
from kwire_cli.structs.records import v2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire_cli.structs.records.parts import SizedStruct


class Field(NamedTuple):
    """A field of a record by its path within it, such as headers[].key; `sized` if it has a length of its own."""

    path: str
    sized: bool


class Meter:
    """A reader that counts. `fields` are the leaves of a record in order.

    `measure(data, at, stop, sums, rows)` adds to `sums` and returns (records, bytes of keys, values and headers), or
    None, with `sums` as it was, where anything is odd. `sums` has three numbers for each field: bytes of lengths, bytes
    of values, occurrences; then `largest`: the largest key, the largest value, the most bytes of headers in a record,
    and the most bytes from the length of the key to the end of a record. `rows`, unless it is None, gets for each
    record its timestamp delta and these last bytes.
    """

    def __init__(self, decl: SizedStruct, payload: tuple[str, ...]) -> None:
        self.fields: list[Field] = []
        self._marks: list[str] = []
        body = list(self._struct(decl, payload))
        self.largest = len(self.fields) * 3
        self.measure: Callable[[Any, int, int, list[int], list[tuple[int, int]] | None], tuple[int, int] | None] = (
            self._compiled(decl, body)
        )

    def sums(self) -> list[int]:
        """Sums of nothing."""
        return [0] * (self.largest + 4)

    def _mark(self, name: str) -> str:
        """A statement that adds up where reading stands here: what lies between two marks is the difference of their
        sums.
        """
        self._marks.append(name)
        return f"{name} += at"

    def _struct(self, decl: SizedStruct, payload: tuple[str, ...]) -> Iterator[str]:
        for field in decl.subcons:
            name, kind = field.name, field.subcon
            if name == payload[0]:
                yield "content = at"
            if field is decl.size:
                yield from self._size(kind, name)
                continue
            yield from self._field(kind, name, name)
            if isinstance(kind, VarintArray):
                yield from ("extra = at - before", "if extra > most_headers:", "    most_headers = extra")
            elif name in payload:
                yield from (f"if length > most_{name}:", f"    most_{name} = length")
        yield from (
            "if at != size_end:",
            "    return None",
            "extra = at - content",
            "if extra > most_content:",
            "    most_content = extra",
        )
        yield from ("if rows is not None:", "    rows.append((timestampDelta, extra))")

    def _size(self, decl: Any, name: str) -> Iterator[str]:
        """The size of the record, which is a prefix of it and has no value."""
        number = len(self.fields)
        self.fields.append(Field(name, sized=False))
        yield self._mark(f"a{number}")
        yield from number_lines(decl, name)
        yield from (self._mark(f"b{number}"), self._mark(f"c{number}"), f"n{number} += 1")
        yield from (f"size_end = at + {name}", "if size_end > stop:", "    return None")

    def _field(self, decl: Any, name: str, path: str) -> Iterator[str]:
        number = len(self.fields)
        if isinstance(decl, VarintArray):
            yield from ("before = at", self._mark(f"a{number}"))
            self.fields.append(Field(path, sized=True))
            yield from number_lines(decl.prefix, "elements")
            yield from (self._mark(f"b{number}"), self._mark(f"c{number}"), f"n{number} += 1")
            yield from ("if elements < 0 or elements > stop - at:", "    return None", "for _ in range(elements):")
            for field in decl.element.subcons:
                for line in self._field(field.subcon, f"{name}_{field.name}", f"{path}[].{field.name}"):
                    yield f"    {line}"
            return
        self.fields.append(Field(path, sized=isinstance(decl, VarintSized)))
        yield self._mark(f"a{number}")
        if isinstance(decl, VarintSized) and decl.prefix.zigzag:
            yield from number_lines(decl.prefix, "length")
            yield self._mark(f"b{number}")
            yield from (
                "if length > 0:",
                "    at += length",
                f"elif length < {-int(decl.nullable)}:",
                "    return None",
            )
        elif isinstance(decl, Varint) and decl.zigzag:
            yield self._mark(f"b{number}")
            yield from number_lines(decl, name)
        elif isinstance(decl, FixedInt):
            yield self._mark(f"b{number}")
            yield f"at += {decl.length}"
        else:
            raise TypeError(f"{decl!r} cannot be measured")
        yield from (self._mark(f"c{number}"), f"n{number} += 1")

    def _compiled(self, decl: SizedStruct, body: list[str]) -> Any:
        counters = [*self._marks, *(f"n{number}" for number in range(len(self.fields)))]
        most = ("most_key", "most_value", "most_headers", "most_content")
        lines = [
            "def measure(data, at, stop, sums, rows):",
            f"    {' = '.join(counters)} = 0",
            "    " + ", ".join(most) + f" = sums[{self.largest}:]",
        ]
        lines += ["    try:", "        while at < stop:", *(f"            {line}" for line in body)]
        lines += ["    except (OddError, IndexError):", "        return None"]
        payload = []
        for number, field in enumerate(self.fields):
            at = 3 * number
            lines += [
                f"    sums[{at}] += b{number} - a{number}",
                f"    sums[{at + 1}] += c{number} - b{number}",
                f"    sums[{at + 2}] += n{number}",
            ]
            payload += [f"c{number} - b{number}"] if field.sized else []
        lines += [f"    sums[{self.largest}:] = {', '.join(most)}", f"    return n0, {' + '.join(payload)}"]
        space: dict[str, Any] = {"OddError": OddError, **NUMBER_SPACE}
        exec(compile("\n".join(lines), f"<meter of {decl!r}>", "exec"), space)  # noqa: S102 - the text is made here, of the names of a declaration
        return space["measure"]


@cache
def meter() -> Meter:
    """Return the meter of records of format v2."""
    return Meter(v2.RECORD, ("key", "value"))
