"""The rows of `facts.parts` from many regular frames of one layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kwire_cli.facts.batches import batches_in
from kwire_cli.facts.columnar.record_anomalies import plain_frame
from kwire_cli.facts.parts import errors_in
from kwire_cli.facts.set_fields import set_field_rows
from kwire_cli.message.roles import RAW
from kwire_cli.spec.kafka import PRODUCE

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from kwire_cli.facts.columnar.values import Values
    from kwire_cli.spec.catalog import Catalog


def parts_of(
    values: Values, wanted: Container[str], catalog: Catalog, topic_of: Sequence[Callable[[str], str]]
) -> Iterator[tuple[str, int, Sequence[Any]]]:
    """Yield the rows of frames in the wanted tables, with the table and the index of the frame.

    `topic_of` has the function for each frame that returns the name of a topic id.
    """
    layout = values.frames.layout
    if "batches" in wanted and layout.api_key == PRODUCE and layout.kind == "request":
        for frame in range(values.count):
            body = plain_frame(values.frames, frame).body(RAW)
            yield from (("batches", frame, row) for row in batches_in(body, topic_of[frame], catalog))
    if "set_fields" in wanted and layout.kind == "request":
        for frame in range(values.count):
            body = plain_frame(values.frames, frame).body("size")
            yield from (("set_fields", frame, row) for row in set_field_rows(layout.api_key, body))
    if "errors" in wanted and layout.kind == "response":
        for frame in np.flatnonzero(np.diff(values.error_codes().offsets.to_numpy())).tolist():
            body = plain_frame(values.frames, frame).body("size")
            yield from (("errors", frame, row) for row in errors_in(catalog, layout.api_key, body, topic_of[frame]))
