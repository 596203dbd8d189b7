"""Tables filled from inputs: the one place that decides how.

Small captures, pipes, captures with TLS and request logs are read frame by frame, without numpy, pyarrow and numba,
which take longer to import than such an input takes to read. Captures from LARGE bytes on are read by column if
`kwire[lake]` is installed.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeGuard

from kwire_cli.source.capture_inputs import CaptureInput

if TYPE_CHECKING:
    from kwire_cli.facts.memory import Tables
    from kwire_cli.source.reading import Opened

LARGE = 8 << 20
"""Bytes of a capture from which on reading by column pays."""
_PACKAGES = ("numpy", "pyarrow", "numba")


def is_large(opened: Opened) -> TypeGuard[CaptureInput]:
    """Return whether an input is a capture for which reading by column pays."""
    return isinstance(opened, CaptureInput) and opened.size >= LARGE and all(map(find_spec, _PACKAGES))


def fill_large(tables: Tables, opened: CaptureInput) -> int:
    """Fill tables from a large capture, and return the number of its frames, gaps and other lines.

    Return 0 and add no row if `subjects` of the input have to be added one by one, as always for costs.
    """
    if tables.takes("costs"):
        return 0
    from kwire_cli.facts.columnar.filling import fill  # noqa: PLC0415 - it imports numba

    return fill(tables, opened)
