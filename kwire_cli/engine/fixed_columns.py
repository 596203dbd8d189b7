"""Declarations of fixed size as numpy types, for headers of which there are many: fields are columns, and no offset is written twice."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from kwire_cli.engine.compiled import compiled
from kwire_cli.engine.fixed import rows_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Octets = npt.NDArray[np.uint8]
    Ints = npt.NDArray[np.int64]


def numpy_type(decl: Any) -> np.dtype[Any]:
    """The structure of `decl`, fields named as `fixed` names them: numbers in their byte order, `Bytes` and uuids as arrays of octets.

    Raises:
        TypeError: The declaration has no fixed size.

    """
    return np.dtype([(row.name, *_number(row.order, row.code, row.size)) for row in rows_of(decl)])


def _number(order: str, code: str, size: int) -> tuple[Any, ...]:
    if code.endswith("s"):
        return np.uint8, (size,)
    kind = "?" if code == "?" else "f" if code in "efd" else "i" if code.islower() else "u"
    return (f"{order or '|'}{kind}{size}" if kind != "?" else "?",)


def read_rows(data: Octets, start: Ints, layout: np.dtype[Any]) -> npt.NDArray[Any]:
    """The structures that begin at these places, all of which have to lie within the data: copied, one row each."""
    out = np.empty((len(start), layout.itemsize), np.uint8)
    compiled(copy_rows)(data, start, out)
    return out.view(layout)[:, 0]


@cache
def offset_of(decl: Any, name: str) -> int:
    """Where a field begins in a declaration of fixed size."""
    return int(numpy_type(decl).fields[name][1])  # type: ignore[index] # it has fields


def copy_rows(data: Any, start: Any, out: Any) -> None:
    """The bytes at each place, as many as `out` has columns."""
    size = out.shape[1]
    for i in range(len(start)):
        given, taken = data[start[i] : start[i] + size], out[i]
        for k in range(size):
            taken[k] = given[k]
