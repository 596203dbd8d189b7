"""Counts and times of the calls of a connection, kept once for all rules, which see few of these calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.analysis.diagnosis.limits import MOST_EVIDENCE, PATIENCE

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kwire_cli.analysis.call import Call, Evidence

MOST_VERSIONS = 1 << 8
"""Versions of apis on a connection whose calls are counted; calls of others are all unusual."""


class Track:
    """The calls of a connection: how many of each version, how many answers, the last times, and the slowest answer.

    `usual` counts the calls by api and version that rules with `unusual_only` did not see. `last` is the latest time of
    any call, `answered` that of the last answer. `slowest` leaves out calls that a broker holds back on purpose.
    """

    __slots__ = (
        "_counts", "_waits", "answered", "answers", "broker", "connection", "last", "slowest", "slowest_place",
    )  # fmt: skip

    def __init__(self, call: Call) -> None:
        self.connection: Hashable = call.connection
        self.broker = call.broker
        self.answers = 0
        self.last: float | None = None
        self.answered: float | None = None
        self.slowest: float | None = None
        self.slowest_place: Evidence | None = None
        self._counts: dict[tuple[str, int], list[int]] = {}
        self._waits = False  # the call before has no answer

    @property
    def usual(self) -> dict[tuple[str, int], int]:
        """The usual calls by api and version."""
        return {key: usual for key, (_, usual) in self._counts.items()}

    def add(self, call: Call) -> bool:
        """Count a call, and return whether it is usual: not among the first of its version, and nothing is odd."""
        api, asked = call.api, call.asked
        key = api, call.version
        counts = self._counts.get(key)
        if counts is None:
            counts = [0, 0]
            if len(self._counts) < MOST_VERSIONS:
                self._counts[key] = counts
        counts[0] += 1
        if not call.has_response:
            self._waits = True
            if asked is not None and (self.last is None or asked > self.last):
                self.last = asked
            return False
        is_usual = counts[0] > MOST_EVIDENCE and not self._waits and call.is_sound and not call.errors
        self._waits = False
        self.answers += 1
        answered = self.answered = call.answered
        if answered is not None:
            if self.last is None or answered > self.last:
                self.last = answered
            if asked is not None:
                latency = answered - asked
                if not 0 <= latency < PATIENCE:
                    is_usual = False
                if (self.slowest is None or latency > self.slowest) and not call.delayed:
                    self.slowest, self.slowest_place = latency, call.evidence()
        counts[1] += is_usual
        return is_usual
