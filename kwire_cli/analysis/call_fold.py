"""Folds over calls: what puts lines of captures together to calls, and keeps no line where state is pickled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from kwire_cli.analysis.calls import Calls, LoggedCall
from kwire_cli.source.request_log.exchange import Exchange
from kwire_cli.source.request_log.reading import LineFault

if TYPE_CHECKING:
    from kwire_cli.analysis.calls import Call
    from kwire_cli.analysis.fold import Traffic


class CallFold:
    """A fold that takes each call once. A subclass has `take` and `merge_taken`, and state that can be pickled."""

    def __init__(self) -> None:
        self._calls = Calls()

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs. Requests that wait for responses count as unanswered by then."""
        self.finish()
        return {name: value for name, value in self.__dict__.items() if name != "_calls"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._calls = Calls()

    def add(self, subject: Traffic) -> None:
        """Take in a line of a capture, or an exchange of a request log. Faults of logs count for nothing."""
        if isinstance(subject, Exchange):
            self.take(LoggedCall(subject))
        elif not isinstance(subject, LineFault) and subject.kind in {"request", "response"}:
            for call in self._calls.add(subject):
                self.take(call)

    def finish(self) -> None:
        """Take the calls that were not answered."""
        for call in self._calls.end():
            self.take(call)

    def merge(self, other: Self) -> None:
        """Take in what another one was given."""
        self.finish()
        other.finish()
        self.merge_taken(other)

    def take(self, call: Call) -> None:
        """Take a call."""
        raise NotImplementedError

    def merge_taken(self, other: Self) -> None:
        """Take in the calls that another one took."""
        raise NotImplementedError
