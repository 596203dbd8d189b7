"""Readers of records made from their declaration: Python code that takes the bytes field by field, without spans, where
nothing is odd.

A kernel step in plain Python costs as much as a field of such code; a log has millions of records. What a reader gives
is what the spans say, and it stops before the first record that is odd in any way, however slightly: from there on the
kernel reads, which says what it is. A test holds the two against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.structs.messages import VarintArray, VarintSized
from kwire_cli.structs.numbers import FixedInt, Varint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_cli.structs.records.parts import SizedStruct

_WIDTHS = {"int32": 4, "int64": 9}
"""Bytes of a zig-zag varint that can't have too many bits."""
_ONE = 2
"""The number 1 as a zig-zag varint."""
_SHORT = tuple(byte >> 1 ^ -(byte & 1) if byte < 128 else None for byte in range(256))
"""The number of a zig-zag varint of one byte; None for a byte that another one follows."""


class OddError(Exception):
    """A number that a reader does not take: too long, or longer than it has to be."""


class Forms(NamedTuple):
    """The Python expressions for what a reader makes of strings and arrays.

    `string` is made of the bytes `{}`. `element` is made of the element's fields, which are called `array_field`; by
    default it is a tuple of the fields. `array` is made of the list `{}` of elements, `only` of a single element
    `{}`, and `empty` of no elements.
    """

    string: str = "str({}, 'utf-8')"
    element: str = ""
    array: str = "tuple({})"
    only: str = "({},)"
    empty: str = "()"


AS_VALUES = Forms()
"""Text, and tuples of tuples."""


def reader_of(
    decl: SizedStruct,
    given: Sequence[str],
    then: Sequence[str],
    last: str,
    names: dict[str, Any],
    forms: Forms = AS_VALUES,
) -> Callable[..., Any]:
    """A function `read(data, at, stop, most, *given) -> (results, where it stopped, whether that is no odd record,
    records read, `last`)`.

    `then` are the statements for a record, which call `add` with a result or extend `out` by several, of the names in
    `given` and `names`, of the fields' names, and of `name_at`, where the bytes of such a field begin. `last` is the
    name of what is wanted of the last record, 0 without one. TypeError for a declaration with fields that such a reader
    does not know.
    """
    lines = [
        f"def read(data, at, stop, most, {', '.join(given)}):",
        "    out = []",
        "    add = out.append",
        "    begin, room = at, most",
    ]
    lines += [f"    {last} = 0", "    try:", "        while at < stop and most:", "            begin = at"]
    body: list[str] = []
    odd = f"return out, begin, False, room - most, {last}"
    for field in decl.subcons:
        body += _field(field.subcon, field.name, forms)
        if field is decl.size:
            body += [f"size_end = at + {field.name}", "if size_end > stop:", f"    {_ODD}"]
    body += ["if at != size_end:", f"    {_ODD}", *then, "most -= 1"]
    lines += [f"            {line}" for line in body]
    lines += [
        "    except (OddError, IndexError, UnicodeDecodeError):",
        f"        {odd}",
        f"    return out, at, True, room - most, {last}",
    ]
    space: dict[str, Any] = {"OddError": OddError, **NUMBER_SPACE, **names}
    exec(compile("\n".join(lines).replace(_ODD, odd), f"<reader of {decl!r}>", "exec"), space)  # noqa: S102 - the text is made here, of the names of a declaration
    read: Callable[..., Any] = space["read"]
    return read


_ODD = "return odd"
"""Stands in the text for the end at a record that is odd."""


def _field(decl: Any, name: str, forms: Forms) -> Iterator[str]:
    if isinstance(decl, VarintArray):
        yield from _array(decl, name, forms)
    elif isinstance(decl, VarintSized) and decl.prefix.zigzag:
        yield from number_lines(decl.prefix, "length")
        yield from ("if length >= 0:", f"    {name}_at = at", "    at += length", f"    {name} = data[{name}_at:at]")
        if decl.kind == "string":
            yield f"    {name} = {forms.string.format(name)}"
        if decl.nullable:
            yield from ("elif length == -1:", f"    {name}_at = at", f"    {name} = None")
        yield from ("else:", f"    {_ODD}")
    elif isinstance(decl, Varint) and decl.zigzag:
        yield from number_lines(decl, name)
    elif isinstance(decl, FixedInt):
        yield f"at += {decl.length}"
    else:
        raise TypeError(f"{decl!r} has no quick reader")


def number_lines(decl: Varint, name: str) -> Iterator[str]:
    """The statements that read a zig-zag number at `at`; they use the names of NUMBER_SPACE.

    Of one or two bytes in place, as nearly all are; a second byte of 0 would not have been needed.
    """
    yield from (f"{name} = SHORT[data[at]]", f"if {name} is None:", "    byte = data[at + 1]", "    if 0 < byte < 128:")
    yield from (
        f"        {name} = data[at] & 127 | byte << 7",
        f"        {name} = {name} >> 1 ^ -({name} & 1)",
        "        at += 2",
    )
    yield from ("    else:", f"        {name}, at = long_{decl.kind}(data, at)", "else:", "    at += 1")


def _array(decl: VarintArray, name: str, forms: Forms) -> Iterator[str]:
    fields = decl.element.subcons
    element: list[str] = []
    for field in fields:
        element += _field(field.subcon, f"{name}_{field.name}", forms)
    made = forms.element or f"({', '.join(f'{name}_{field.name}' for field in fields)},)"
    yield from (
        f"{name} = {forms.empty}",
        "if data[at] == 0:",
        "    at += 1",
        f"elif data[at] == {_ONE}:",
        "    at += 1",
    )
    for line in element:
        yield f"    {line}"
    yield from (f"    {name} = {forms.only.format(made)}", "else:")
    for line in number_lines(decl.prefix, "count"):
        yield f"    {line}"
    yield from (
        "    if count < 0 or count > stop - at:",
        f"        {_ODD}",
        "    elements = []",
        "    for _ in range(count):",
    )
    for line in element:
        yield f"        {line}"
    yield from (f"        elements.append({made})", f"    {name} = {forms.array.format('elements')}")


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
    return _long(data, at, _WIDTHS["int32"])


def _long_int64(data: bytes, at: int) -> tuple[int, int]:
    return _long(data, at, _WIDTHS["int64"])


NUMBER_SPACE: dict[str, Any] = {"SHORT": _SHORT, "long_int32": _long_int32, "long_int64": _long_int64}
"""What `number_lines` needs."""
