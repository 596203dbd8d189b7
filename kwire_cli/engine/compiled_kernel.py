"""The kernel as numba compiles it: the lines of `kernel.run`, with pointers in place of arrays.

An index into an array may be negative in Python, so numba tests each index, which takes half of the kernel's time. No
index in the kernel is negative, which a test holds, and an index into a pointer is not tested.

This module imports numba. Only `compiled.compiled_kernel` imports it, when something has to be compiled.
"""

from __future__ import annotations

from typing import Any

from numba import njit, types
from numba.extending import intrinsic

from kwire_cli.engine import kernel


def _typed(_: Any, array: Any) -> Any:
    """Return the signature and the code of `_pointer`, or None for an array that is not contiguous."""

    def address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    if array.layout != "C":
        return None
    pointer: Any = types.CPointer(array.dtype)  # type: ignore[no-untyped-call] # numba's types are partly annotated
    return pointer(array), address


_pointer: Any = intrinsic(_typed)
_run: Any = njit(nogil=True, error_model="numpy")(kernel.run)


def run(
    code: Any, tables: Any, data: Any, jobs: Any, out_node: Any, out_value: Any, out_end: Any, flags: Any, state: Any
) -> Any:
    """Walk the jobs as `kernel.run` does, on contiguous arrays. numba compiles this function."""
    return _run(
        _pointer(code),
        _pointer(tables),
        _pointer(data),
        _pointer(jobs),
        _pointer(out_node),
        _pointer(out_value),
        _pointer(out_end),
        _pointer(flags),
        _pointer(state),
    )
