"""The lines of a capture one after the other, with how far it is on standard error where that takes long."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kwire_cli.cli.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog


def capture_lines(environment: Environment, catalog: Catalog, source: str | IO[bytes], *, port: int | None = None) -> Iterator[Captured]:
    """The lines of a capture: a file by its name, or an open one; InputError where it can't be read."""
    from kwire_cli.source.capture.reading import Capture
    from kwire_cli.source.kafka.traffic import traffic

    with ExitStack() as opened:
        progress = Progress(environment)
        opened.callback(progress.done)
        name = source if isinstance(source, str) and Path(source).is_file() else None
        file = opened.enter_context(Path(name).open("rb")) if name else source
        size = Path(name).stat().st_size if name else 0
        capture = Capture(file)
        again = partial(Capture, name) if name else None
        for line in traffic(catalog, capture, port=port, waiting_since=capture.waiting_since, again=again):
            if name and not isinstance(file, str):
                progress.tell(name, file.tell(), size)
            yield line
