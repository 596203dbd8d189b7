"""Select lines of captures by --filter, --frames and --packets.

`Choice` is a filter over the stream of lines. It stops as soon as no later line can match, because the next line of a
growing capture may never arrive. With pairs, it selects a pair if the request or the response matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire_cli.cli.options import FrameChoosing
from kwire_cli.cli.pairing import Pairs
from kwire_cli.cli.typed_options import range_of
from kwire_cli.message.redaction import Redaction
from kwire_cli.records.selection import NO_RANGE, is_within
from kwire_cli.source.kafka.pending import LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire_cli.cli.options import Choosing
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.spec.catalog import Catalog


@dataclass(frozen=True, slots=True)
class Pair:
    """A request and its response. The capture may lack one of them."""

    request: Captured | None
    response: Captured | None

    @property
    def halves(self) -> tuple[Captured, ...]:
        """The request and the response, without the one that the capture lacks."""
        return tuple(line for line in (self.request, self.response) if line is not None)

    @property
    def remark(self) -> str:
        """The remark on a missing request or response, such as `no response (acks=0)`. Empty for complete pairs."""
        if self.request is None or self.response is not None:
            return self.note.get("remark", "")
        return self.note.get("remark") or ("no response" if self.request.wants_response else "no response (acks=0)")

    @property
    def note(self) -> dict[str, str]:
        """The JSON member for a request that kwire dropped before its response arrived. Empty for other pairs."""
        if self.request is None and self.response is not None and self.response.seen.given_up == LIMIT:
            return {"remark": "request given up: too many pending"}
        if self.response is None and self.request is not None and self.request.seen.given_up == LIMIT:
            return {"remark": "given up: too many pending"}
        return {}


class Choice:
    """Selection of lines of captures by --frames, --packets and --filter, limited to `limit` lines.

    `seen` counts all lines, selected or not. Raises FilterError or UsageError for an invalid option.
    """

    def __init__(
        self,
        options: Choosing,
        catalog: Catalog,
        limit: int | None = None,
        *,
        show_secrets: bool = False,
    ) -> None:
        frames, packets = _ranges_of(options)
        self._frames = range_of(frames, "--frames", 1) if frames else NO_RANGE
        self._packets = range_of(packets, "--packets", 1) if packets else None
        self.limit = limit
        self.seen = 0
        self.chooses = chooses(options)
        self._matches = line_filter(catalog, options.filter, show_secrets=show_secrets)

    def among(self, lines: Iterable[Captured]) -> Iterator[Captured]:
        """Yield the selected lines. Stop after the last line that can be selected, since the next may never arrive."""
        left = self.limit
        _, last = self._frames
        if left == 0:
            return
        if not self.chooses and left is None:
            yield from lines
            return
        for line in lines:
            self.seen += 1
            if self.takes(line):
                yield line
                left = left if left is None else left - 1
            if left == 0 or (last is not None and line.number >= last):
                return

    def pairs_among(self, lines: Iterable[Captured]) -> Iterator[Pair]:
        """Yield the pairs whose request or response is selected, each when its response arrives.

        Requests without a response follow at the end, in their order. A Produce request with acks=0 is yielded at once.
        After the last number of --frames, reading ends when no selected request waits for its response.
        """
        left = self.limit
        if left == 0:
            return
        for pair in self._find_pairs(lines):
            yield pair
            left = left if left is None else left - 1
            if left == 0:
                return

    def _find_pairs(self, lines: Iterable[Captured]) -> Iterator[Pair]:
        pairs = Pairs()
        wanted = set[int]()  # numbers of requests
        _, last = self._frames
        for line in lines:
            self.seen += 1
            takes = self.takes(line)
            if line.kind == "response" and line.request is None and takes:
                yield Pair(None, line)
            if takes and line.kind == "request":
                wanted.add(line.number)
            for request, response in pairs.add(line):
                if request.number in wanted or (takes and line is response):
                    yield Pair(request, response)
                wanted.discard(request.number)
            if last is not None and line.number >= last and not wanted:
                return
        for request, _ in sorted(pairs.end(), key=lambda pair: pair[0].number):
            if request.number in wanted:
                yield Pair(request, None)

    def takes(self, line: Captured) -> bool:
        """Return whether a line is selected."""
        if not is_within(line.number, self._frames):
            return False
        if self._packets and (line.where.packet is None or not is_within(line.where.packet, self._packets)):
            return False
        return self._matches(line)


def chooses(options: Choosing) -> bool:
    """Return whether an option selects lines."""
    return bool(options.filter or any(_ranges_of(options)))


def _ranges_of(options: Choosing) -> tuple[str | None, str | None]:
    return (options.frames, options.packets) if isinstance(options, FrameChoosing) else (None, None)


def line_filter(catalog: Catalog, text: str | None, *, show_secrets: bool) -> Callable[[Captured], bool]:
    """Return the predicate of --filter. It reads secrets in redacted form, so that filters cannot reveal them."""
    if not text:
        return lambda _: True

    from kwire_cli.filter.rows import FrameRow, filter_of  # start-up counts

    frame_filter = filter_of(catalog, text)
    redaction = Redaction(catalog, show_secrets=show_secrets)
    return lambda line: frame_filter.matches(FrameRow(line, redaction))
