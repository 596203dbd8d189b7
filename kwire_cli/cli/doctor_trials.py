"""Small pieces of real work. Each ends quietly or raises; `kwire doctor --trials` runs each in a process of its own, so
that a crash harms nobody.
"""

from __future__ import annotations

from kwire_cli.pipeline.session import session
from kwire_cli.records.codecs import Limits
from kwire_cli.records.compression import CODECS, compress, decompress
from kwire_cli.spec.catalog import catalog


def definitions() -> None:
    """All definitions that come with kwire are read."""
    bundled = catalog()
    for entry in bundled:
        bundled.message(entry.name)


def compression() -> None:
    """Every codec gives back what was packed by it."""
    data = bytes(range(256)) * 40
    for codec_id, name in CODECS.items():
        _same(data, bytes(decompress(codec_id, compress(codec_id, data), Limits()).data), name)


def machine_code() -> None:
    """A function of the bulk readers is compiled, or found where it is kept, and runs."""
    import numpy as np

    from kwire_cli.engine import numba_loops
    from kwire_cli.engine.compiled import compiled, octets

    out = np.zeros(1, np.int64)
    compiled(numba_loops.fixed_numbers)(octets(b"\xff\xfe"), np.zeros(1, np.int64), 2, True, out)  # noqa: FBT003 - of a compiled function
    _same(-2, int(out[0]), "a function of machine code")


def spark() -> None:
    """An embedded Spark runs a job that goes through Python and Arrow."""
    with session("local[1]") as started:
        _same(
            3, len(started.range(3).mapInArrow(lambda batches: batches, "id bigint").collect()), "a job of three rows"
        )


def _same(wanted: object, got: object, what: str) -> None:
    if wanted != got:
        raise RuntimeError(f"{what} gives {got!r:.100} instead of {wanted!r:.100}")
