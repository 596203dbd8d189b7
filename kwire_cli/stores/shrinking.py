"""Mapped files that become shorter while they are read.

Bytes of a mapping behind the end of its file raise SIGBUS, which ends the process. Here the handler of SIGBUS puts zeros in their place, and who
reads asks with `check` before a result is given out, so that a file that became shorter is an InputError with its offset.
"""

from __future__ import annotations

import mmap
import signal
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from kwire_cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

_FIXED = 0x10
"""MAP_FIXED, which Linux and macOS share, and the module mmap does not have."""


class _Mapping(NamedTuple):
    path: str
    address: int


_MAPPINGS: WeakKeyDictionary[mmap.mmap, _Mapping] = WeakKeyDictionary()
lost: list[str] = []
"""Paths of files that became shorter below somebody who read them. Empty nearly always, so that asking costs nothing."""


def guarded(mapping: mmap.mmap, path: str) -> mmap.mmap:
    """Return a mapping of a file of this machine, whose end may go without the process ending."""
    if hasattr(signal, "SIGBUS"):
        _MAPPINGS[mapping] = _Mapping(path, _address(mapping))
        _install()
    return mapping


def check(view: memoryview) -> None:
    """InputError where the file behind a view is shorter than when it was mapped."""
    file = view.obj
    if isinstance(file, mmap.mmap) and file in _MAPPINGS and (left := file.size()) < len(file):
        reason = f"it became shorter while it was read: it had {len(file)} bytes and ends at byte {left} now"
        raise InputError(reason, file=_MAPPINGS[file].path)


def _address(mapping: mmap.mmap) -> int:
    import ctypes  # noqa: PLC0415 - start-up counts

    class Buffer(ctypes.Structure):
        """Py_buffer, whose first field is the address; the others are never looked at."""

        _fields_ = (("buf", ctypes.c_void_p), ("others", ctypes.c_byte * 256))

    buffer = Buffer()
    if ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(mapping), ctypes.byref(buffer), 0):
        raise BufferError
    address = buffer.buf or 0
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return address


@cache
def _install() -> Callable[[int], None]:
    """Install the handler, once. What it gives keeps the handler alive."""
    import ctypes  # noqa: PLC0415 - as above

    c = ctypes.CDLL(None, use_errno=True)
    c.mmap.restype = ctypes.c_void_p
    c.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong)
    c.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    c.signal.restype = ctypes.c_void_p

    def replace(number: int) -> None:
        """Put zeros behind the ends of files. The signal comes from the very instruction that reads, which is then tried again."""
        some = False
        for mapping, (path, address) in list(_MAPPINGS.items()):
            end = -(-mapping.size() // mmap.PAGESIZE) * mmap.PAGESIZE
            if end < len(mapping):
                how = _FIXED | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
                some = c.mmap(address + end, len(mapping) - end, mmap.PROT_READ, how, -1, 0) == address + end
                lost.append(path)
        if not some:  # another's, which ends the process as it would have
            c.signal(number, None)

    handler: Any = ctypes.CFUNCTYPE(None, ctypes.c_int)(replace)
    c.signal(signal.SIGBUS, ctypes.cast(handler, ctypes.c_void_p))
    return handler  # type: ignore[no-any-return]
