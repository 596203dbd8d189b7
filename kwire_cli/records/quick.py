"""Readers of records made from their declaration: Python code that takes the bytes field by field, without spans, where nothing is odd.

A kernel step in plain Python costs as much as a field of such code; a log has millions of records. What a reader gives is what the spans say, and it
stops before the first record that is odd in any way, however slightly: from there on the kernel reads, which says what it is. A test holds the two
against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.structs.numbers import FixedInt, Varint
from kwire_cli.structs.sized import VarintArray, VarintSized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.structs.records.parts import SizedStruct

_WIDTHS = {"int32": 4, "int64": 9}
"""Bytes of a zig-zag varint that can't have too many bits."""


class OddError(Exception):
    """A number that a reader does not take: too long, or longer than it has to be."""


def reader_of(decl: SizedStruct, given: Sequence[str], then: Sequence[str], result: str, names: dict[str, Any]) -> Callable[..., Any]:
    """A function `read(data, at, stop, most, *given) -> (list of results, where it stopped, whether that is no odd record)`.

    `then` are statements, and `result` the expression that makes a record, of the names in `given` and `names`, of the fields' names, and of
    `name_at`, where the bytes of such a field begin. TypeError for a declaration with fields that such a reader does not know.
    """
    lines = [f"def read(data, at, stop, most, {', '.join(given)}):", "    out = []", "    add = out.append", "    begin = at", "    try:"]
    lines += ["        while at < stop and most:", "            begin = at"]
    body: list[str] = []
    for field in decl.subcons:
        body += _field(field.subcon, field.name)
        if field is decl.size:
            body += [f"size_end = at + {field.name}", "if size_end > stop:", "    return out, begin, False"]
    body += ["if at != size_end:", "    return out, begin, False", *then, f"add({result})", "most -= 1"]
    lines += [f"            {line}" for line in body]
    lines += ["    except (OddError, IndexError, UnicodeDecodeError):", "        return out, begin, False", "    return out, at, True"]
    space: dict[str, Any] = {"OddError": OddError, "long_int32": _long_int32, "long_int64": _long_int64, **names}
    exec(compile("\n".join(lines), f"<reader of {decl!r}>", "exec"), space)  # noqa: S102 - the text is made here, of the names of a declaration
    read: Callable[..., Any] = space["read"]
    return read


def _field(decl: Any, name: str) -> Iterator[str]:
    if isinstance(decl, VarintArray):
        yield from _array(decl, name)
    elif isinstance(decl, VarintSized) and decl.prefix.zigzag:
        yield from _number(decl.prefix, "length")
        yield from ("if length >= 0:", f"    {name}_at = at", "    at += length", f"    {name} = data[{name}_at:at]")
        if decl.kind == "string":
            yield f"    {name} = str({name}, 'utf-8')"
        if decl.nullable:
            yield from ("elif length == -1:", f"    {name}_at = at", f"    {name} = None")
        yield from ("else:", "    return out, begin, False")
    elif isinstance(decl, Varint) and decl.zigzag:
        yield from _number(decl, name)
    elif isinstance(decl, FixedInt):
        yield f"at += {decl.length}"
    else:
        raise TypeError(f"{decl!r} has no quick reader")


def _number(decl: Varint, name: str) -> Iterator[str]:
    yield from (f"{name} = data[at]", f"if {name} < 128:", f"    {name} = {name} >> 1 ^ -({name} & 1)", "    at += 1")
    yield from ("else:", f"    {name}, at = long_{decl.kind}(data, at)")


def _array(decl: VarintArray, name: str) -> Iterator[str]:
    """Elements as tuples of their fields."""
    fields = decl.element.subcons
    yield from (f"{name} = ()", "if data[at] == 0:", "    at += 1", "else:")
    for line in _number(decl.prefix, "count"):
        yield f"    {line}"
    yield from ("    if count < 0 or count > stop - at:", "        return out, begin, False", "    elements = []", "    for _ in range(count):")
    for field in fields:
        for line in _field(field.subcon, f"{name}_{field.name}"):
            yield f"        {line}"
    yield f"        elements.append(({', '.join(f'{name}_{field.name}' for field in fields)}))"
    yield f"    {name} = tuple(elements)"


def _long(data: bytes, at: int, most: int) -> tuple[int, int]:
    number = shift = 0
    for _ in range(most):
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            if byte == 0:
                raise OddError
            return number >> 1 ^ -(number & 1), at
        shift += 7
    raise OddError


def _long_int32(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at + 1]
    if 0 < byte < 128:
        number = data[at] & 127 | byte << 7
        return number >> 1 ^ -(number & 1), at + 2
    return _long(data, at, _WIDTHS["int32"])


def _long_int64(data: bytes, at: int) -> tuple[int, int]:
    return _long(data, at, _WIDTHS["int64"])
