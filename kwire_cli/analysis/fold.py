"""Folds: questions over subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

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
