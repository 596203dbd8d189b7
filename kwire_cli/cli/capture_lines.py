"""The lines of a capture one after the other, with how far it is on standard error where that takes long."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import IO, TYPE_CHECKING

from kwire_cli.cli.progress import Progress
from kwire_cli.cli.segments import path_text
from kwire_cli.stores import path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog


def capture_lines(
    environment: Environment,
    catalog: Catalog,
    source: str | IO[bytes],
    *,
    name: str | None = None,
    port: int | None = None,
    notices: bool = True,
    key_logs: Sequence[str] = (),
) -> Iterator[Captured]:
    """The lines of a capture: a file by its path, or an open one; InputError where it can't be read.

    `name` is what to call it, else its path; `key_logs` are for what is TLS in it. What ended the reading early is noted at the end, unless `notices`
    are not wanted.
    """
    from kwire_cli.source.capture.reading import Capture
    from kwire_cli.source.kafka.traffic import traffic

    path = path_of(source) if isinstance(source, str) and path_of(source).is_file() else None
    name = name or (path_text(source) if isinstance(source, str) else "standard input")
    with ExitStack() as opened:
        progress = Progress(environment)
        opened.callback(progress.done)
        file = opened.enter_context(path.open("rb")) if path else None
        size = path.stat().st_size if path else 0
        capture = Capture(file or source, key_logs=key_logs)
        again = partial(Capture, path, key_logs=key_logs) if path else None
        for number, line in enumerate(traffic(catalog, capture, port=port, waiting_since=capture.waiting_since, again=again)):
            if file and not number & 255:
                progress.tell(name, file.tell(), size)
            yield line
    for remark in capture.remarks if notices else ():
        environment.note(f"kwire: {name}: {remark}")
    for notice in capture.notices if notices else ():
        environment.note(f"kwire: {name}: after packet {notice.packet}, byte {notice.position}: {notice.text}")
