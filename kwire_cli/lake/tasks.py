"""The tasks of a run, which Spark or processes of this machine do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from kwire_cli.lake.window_tasks import Done, Job
    from kwire_cli.source.packets.points import Sketch
    from kwire_cli.stores import Place

    Look = Callable[[pa.Table], Iterable[pa.RecordBatch]]
    Tell = Callable[[str, int, int, str], None]
    """Takes what is being done, how much of it is done, how much there is, and the unit."""

FEW_BYTES = 256 << 20
"""Bytes that are read sooner than tasks start."""


class Tasks(Protocol):
    """Does the tasks of a run, some at a time."""

    @property
    def cores(self) -> int:
        """Tasks that are done at once."""

    def looked_at(
        self, hidden: Place, name: str, rows: pa.Table, costs: npt.NDArray[np.int64], look: Look, schema: pa.Schema
    ) -> pa.Table:
        """Return what `look` makes of the rows of a table, in their order.

        `costs` are the bytes that it takes to look at each row. The table is put into the hidden folder under a name.
        """

    def sketched(self, files: Sequence[str]) -> Iterator[Sketch]:
        """Yield the sketches of files: the first ones may tell enough."""

    def folded(self, count: int, fold: Callable[[Iterable[int]], Any], merge: Callable[[Any, Any], None]) -> Any:
        """Return the results of `fold` over the numbers of so many works; `merge` may have put some together."""

    def read(self, job: Job) -> Done:
        """Have packets described, and connections read by their owners."""
