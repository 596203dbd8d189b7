"""Captures as output: frames as packets, and packets with comments that describe their frames."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from kwire_cli.cli.message_views import View
from kwire_cli.errors import InputError, counted
from kwire_cli.message.redaction import overwritten
from kwire_cli.source.kafka.columns import FrameRow, LineRow
from kwire_cli.source.packets.conversations import BROKER, CLIENT, LINK, Conversations
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.writing import Growing, PcapngWriter, PcapWriter
from kwire_cli.view.tables import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.cli.environment import Environment
    from kwire_cli.cli.view_inputs import MessageSettings
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.view.html.page import Page

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOST_NAMES = 5
"""The most names that a comment lists."""


class CaptureFile:
    """A capture made of frames, written one by one."""

    def __init__(self, write: Callable[[bytes], None], form: str) -> None:
        sink = Growing(write)
        self.writer: PcapWriter | PcapngWriter
        self.writer = PcapWriter(sink, LINK) if form == "pcap" else PcapngWriter(sink)
        self._conversations, self._unknown = Conversations(), (CLIENT, BROKER)

    def add(
        self,
        data: bytes,
        ends: tuple[str | None, str | None] = (None, None),
        *,
        to_broker: bool,
        time: int | None = None,
        comment: str | None = None,
    ) -> None:
        """Add a frame with its size prefix. `ends` are the client and the broker, if they are known."""
        client, broker = ends
        if client is None or broker is None:
            client, broker = self._unknown
        *before, last = self._conversations.packets(client, broker, data, time, to_broker=to_broker)
        for packet in before:
            self.writer.add(packet)
        self.writer.add(last, (comment,) if comment else ())


class Pcap(View):
    """A capture in the format pcap. Secrets in frames are overwritten with asterisks."""

    FORM: ClassVar[str] = "pcap"
    COMMENTS: ClassVar[bool] = False

    @property
    def raw_records(self) -> bool:
        """Return whether records are shown as bytes."""
        return True

    def __init__(self, environment: Environment, settings: MessageSettings, page: Page | None = None) -> None:
        super().__init__(environment, settings, page)
        self._skipped = 0

    @cached_property
    def file(self) -> CaptureFile:
        """Return the capture. It is created on first use, so that a rejected input leaves no file."""
        return CaptureFile(self.environment.write_bytes, self.FORM)

    def frame(self, frame: Frame) -> None:
        """Write a frame without a capture around it."""
        if frame.kind == "unknown" or frame.cut:
            self._skipped += 1
            return
        comment = comment_of(FrameRow(frame, self.redaction).column) if self.COMMENTS else None
        self.file.add(
            self._bytes(frame, self.redaction.frame(frame)), to_broker=frame.kind == "request", comment=comment
        )

    def body(self, body: Decoded) -> None:
        """Raise InputError, since a body without a header is no frame."""
        raise InputError(f"--format {self.FORM} is for whole frames: {body.message} is a body without a header")

    def line(self, line: Captured) -> None:
        """Write a frame of a capture, with its addresses and its time."""
        seen = line.seen
        if line.kind not in {"request", "response", "sasl-token"} or seen.missing:
            self._skipped += 1
            return
        to_broker = seen.side == line.connection.client
        ends = (line.src, line.dst) if to_broker else (line.dst, line.src)
        self.file.add(self._line_bytes(line), ends, to_broker=to_broker, time=seen.time)

    def _line_bytes(self, line: Captured) -> bytes:
        data = bytes(line.seen.data)
        if line.frame is not None:
            return self._bytes(line.frame, self.redaction.line(line))
        if line.kind == "sasl-token" and not self.settings.show_secrets:
            return data[:4] + b"*" * (len(data) - 4)
        return data

    @staticmethod
    def _bytes(frame: Frame, hidden: dict[str, frozenset[int]]) -> bytes:
        data = overwritten(frame, hidden)
        return data if frame.prefixed else len(data).to_bytes(4) + data

    def end(self) -> None:
        """Note how much was skipped. Create the file even if it has no frames."""
        _ = self.file
        if self._skipped:
            self.environment.note(f"kwire: skipped: {counted(self._skipped, 'piece')} that are not whole frames")


class Pcapng(Pcap):
    """A capture in the format pcapng."""

    FORM = "pcapng"


class Commented(Pcapng):
    """The unchanged packets of captures, each with comments that describe the frames that end in the packet.

    A frame that was not captured gets a packet of its own.
    """

    COMMENTS = True

    def __init__(self, environment: Environment, settings: MessageSettings, page: Page | None = None) -> None:
        super().__init__(environment, settings, page)
        self._comments: dict[str | None, dict[int, list[str]]] = {}

    def line(self, line: Captured) -> None:
        """Keep the comment of a line for its packet."""
        if line.kind in {"request", "response", "sasl-token"}:
            comment = comment_of(LineRow(line, self.redaction).column)
            where = line.where
            self._comments.setdefault(where.file, {}).setdefault(where.packet or 0, []).append(comment)

    def end_capture(self) -> None:
        """Copy the packets of the files, with the comments."""
        for file, comments in self._comments.items():
            if file is None:
                raise InputError("--comments reads the capture twice: give a file, not a pipe")
            for packet in packets(file):
                texts = comments.get(packet.number, ())
                self.file.writer.add(packet, texts)
        self._comments.clear()


def ends_in(document: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the client and broker of a document that decode prints for a capture. None for a missing one."""
    ends = [value if isinstance(value := document.get(name), str) else None for name in ("src", "dst")]
    client, broker = ends if document.get("kind") != "response" else reversed(ends)
    return client, broker


def time_in(document: dict[str, Any]) -> int | None:
    """Return the time of a document in nanoseconds, None if it has no time."""
    text = document.get("time")
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if time is None or time.tzinfo is None:
        return None
    return (time - _EPOCH) // timedelta(microseconds=1) * 1000


def comment_of(column: Callable[[str], Any]) -> str:
    """Describe a frame in one line, from its columns in tables: `Fetch v12 request, client checkout`."""
    kind, api, version = column("kind"), column("api"), column("apiVersion")
    if kind == "sasl-token":
        return "SASL token"
    name = api or ("unknown api" if column("apiKey") is None else f"api {column('apiKey')}")
    parts = [f"{name}{'' if version is None else f' v{version}'} {kind}"]
    if client := column("clientId") if kind == "request" else None:
        parts.append(f"client {text_of(client)}")
    for title, values in (("topics", column("topics")), ("errors", column("error")), ("anomalies", column("anomaly"))):
        if values:
            unique = [*dict.fromkeys(text_of(value) for value in values)]
            more = f" and {len(unique) - MOST_NAMES} more" if len(unique) > MOST_NAMES else ""
            parts.append(f"{title} {' '.join(unique[:MOST_NAMES])}{more}")
    latency = column("latency")
    if latency is not None:
        parts.append(f"{latency * 1000:.3f} ms")
    return ", ".join(parts)


VIEWS: dict[str, type[View]] = {"pcap": Pcap, "pcapng": Pcapng, "comments": Commented}
"""Views by output format."""
