"""The tasks of a run, which Spark or processes of this machine do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from kwire_cli.lake.window_tasks import Done, Job
    from kwire_cli.stores.paths import Place

    Look = Callable[[pa.Table], Iterable[pa.RecordBatch]]
    Tell = Callable[[str, int, int, str], None]
    """Receives the name of the work, the finished amount, the total amount, and the unit."""

FEW_BYTES = 256 << 20
"""Bytes that this process reads faster than tasks start."""


class Tasks(Protocol):
    """Runs the tasks of a run, several in parallel."""

    @property
    def cores(self) -> int:
        """Return the number of tasks that run in parallel."""

    def looked_at(
        self, hidden: Place, name: str, rows: pa.Table, costs: npt.NDArray[np.int64], look: Look, schema: pa.Schema
    ) -> pa.Table:
        """Return the results of `look` for the rows of a table, in their order.

        `costs` are the bytes that `look` reads for each row. The table is written to the file `name` of the hidden
        folder.
        """

    def folded(self, count: int, fold: Callable[[Iterable[int]], Any]) -> Iterable[Any]:
        """Return the results of `fold` over the numbers below `count`, in order. A task takes one number or several."""

    def read(self, job: Job) -> Done:
        """Have tasks describe packets, and owners read their connections."""
