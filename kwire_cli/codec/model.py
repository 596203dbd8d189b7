"""What decompression gives, what limits it, and the state that the codecs share."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the compressed records of one batch may become.

    Attributes:
        output: Bytes at most. A broker takes batches of 1 MiB as they are sent (message.max.bytes), producers make them of as much before compression
            (max.request.size); both are set to some 100 MiB where messages are huge. The default is beyond all of these.
        ratio: Decompressed bytes to one compressed byte at most; None for no such limit. The best that the formats can do is 21 for snappy, 255 for
            lz4 and 1032 for gzip; zstd reaches some 30,000 with one byte repeated, which only matters beyond `floor`.
        floor: Bytes up to which the ratio is not judged: small batches of equal records compress very well.

    """

    output: int = 256 << 20
    ratio: int | None = 1000
    floor: int = 16 << 20

    def room(self, compressed: int) -> int:
        """The bytes that this many compressed bytes may become."""
        return max(0, self.output if self.ratio is None else min(self.output, max(self.floor, compressed * self.ratio)))


class Unpacked(NamedTuple):
    """What decompression gave.

    `data` is whole when `code` is None, and also when it says that only a checksum or a header is odd; after a fault it is what came before.
    `code` is an anomaly's (engine.codes.MEANING), `detail` what is odd about these bytes. `used` counts the compressed bytes that were understood:
    what lies behind them is damaged, cut, beyond the limit or not part of the stream.
    """

    data: bytes
    code: str | None
    detail: str
    used: int


class Stop(Exception):  # noqa: N818 - never leaves the room; it ends the work on one stream
    """Decompression can't go on."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code, self.detail = code, detail


def damaged(detail: str) -> Stop:
    """The end of decompression at bytes that are no such stream."""
    return Stop("DECOMPRESSION_FAILED", detail)


class Output:
    """What has been decompressed so far, never more than `room` bytes."""

    def __init__(self, limits: Limits, compressed: int) -> None:
        self._limits, self._compressed = limits, compressed
        self.room = limits.room(compressed)
        self.size = self.used = 0
        self.note: tuple[str, str] | None = None
        self._data = io.BytesIO()

    @property
    def left(self) -> int:
        """How many bytes may still come."""
        return self.room - self.size

    def odd(self, code: str, detail: str) -> None:
        """Keep an anomaly that does not end decompression; the first one counts."""
        self.note = self.note or (code, detail)

    def claim(self, size: int) -> None:
        """Hold a size that the bytes declare against the limit, before anything is done with it."""
        if size > self.left:
            raise self._limit(f"the bytes say that they become {self.size + size}")

    def add(self, data: bytes, used: int) -> None:
        """Take the next bytes; `used` counts the compressed ones up to there."""
        if len(data) > self.left:
            self.size += self._data.write(data[: self.left])
            raise self._limit("the bytes become more than is allowed")
        self.size += self._data.write(data)
        self.used = used

    def tail(self, size: int) -> bytes:
        """The last bytes, as many as there are."""
        view = self._data.getbuffer()
        return bytes(view[max(0, self.size - size) :])

    def take(self) -> bytes:
        """All of it; not copied."""
        return self._data.getvalue()

    def _limit(self, what: str) -> Stop:
        limits, room = self._limits, self.room
        why = "" if room == max(0, limits.output) else f", {limits.ratio} times the {self._compressed} compressed ones but at least {limits.floor}"
        return Stop("DECOMPRESSION_LIMIT", f"{what}; at most {room} bytes are decompressed{why}; --max-decompressed raises that")
