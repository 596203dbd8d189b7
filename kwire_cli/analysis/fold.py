"""Folds: questions over subjects, which the commands and `kwire scan` run alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange
    from kwire_cli.source.request_log.reading import LineFault

    Traffic = Captured | Exchange | LineFault
    """Traffic between clients and brokers: a line of a capture, or an exchange or a fault of a request log."""

Subject_contra = TypeVar("Subject_contra", contravariant=True)


class Counter(Protocol[Subject_contra]):
    """Counter of subjects."""

    def add(self, subject: Subject_contra, /) -> None:
        """Take a subject in."""


class Merged(Counter[Subject_contra], Protocol[Subject_contra]):
    """Counter in tasks of `kwire scan`: each task has its own, and they are merged in the order of the inputs.

    What it leaves when it is pickled is small, without layouts.
    """

    def merge(self, other: Any, /) -> None:
        """Take in what another one left; its subjects come later."""
