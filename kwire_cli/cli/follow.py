"""Support for `kwire decode --follow`: a growing capture."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.interrupt import Interrupt
    from kwire_cli.source.growing import Following
    from kwire_cli.source.kafka.captured import Captured


def following(
    environment: Environment, source: str | IO[bytes], interrupt: Interrupt, key_logs: Sequence[str] = ()
) -> Following:
    """The capture; results are sent out whenever it has nothing new."""
    from kwire_cli.source.growing import Following

    name = source if isinstance(source, str) else "standard input"

    def note(text: str) -> None:
        environment.flush()
        environment.note(f"kwire: {name}: {text}")

    return Following(source, wait=environment.flush, stop=lambda: interrupt.came, note=note, key_logs=key_logs)


def until_last(lines: Iterable[Captured], left: int | None, last: int | None) -> Iterator[Captured]:
    """The lines that were chosen, up to the last that can be: in a capture that grows, the one behind it may never
    come.
    """
    if left == 0:
        return
    if left is None and last is None:
        yield from lines
        return
    for line in lines:
        yield line
        left = None if left is None else left - 1
        if left == 0 or line.number == last:
            return
