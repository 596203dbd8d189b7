"""Frames whose bytes were changed on their way: a carriage return in front of each line feed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kwire_cli.analysis.call import host_of
from kwire_cli.analysis.calls import CapturedCall, evidence_of
from kwire_cli.analysis.diagnosis.limits import MOST_EVIDENCE
from kwire_cli.analysis.diagnosis.model import Bounded, Finding, FindingKind, Rule
from kwire_cli.errors import counted
from kwire_cli.message.frames import Hints, read

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kwire_cli.analysis.call import Call
    from kwire_cli.source.kafka.captured import Captured

MANGLED = FindingKind(
    "MANGLED_FRAMES",
    "error",
    "Something between client and broker writes a carriage return before each line feed.",
    "Frames have the bytes 0d 0a where 0a alone makes them well-formed. A proxy, tunnel or load balancer treats "
    "Kafka's bytes as text and converts the ends of lines. Only frames that contain the byte 0a suffer: a name of ten "
    "letters, a size, an offset.",
    "Turn off text mode (HTTP inspection, protocol normalisation) for this port, or bypass the proxy. Capture on both "
    "sides of the proxy to see who changes the bytes.",
    rank=3,
)
CHANGED, ORIGINAL = b"\r\n", b"\n"
MOST_REST = 256
"""Bytes kept of what follows a frame and is no frame itself: as many carriage returns are made up for."""
MOST_SIDES = 1 << 14
"""Sides of connections whose rest is kept."""
MOST_FRAME = 1 << 14
"""Bytes of a frame that is looked at; larger ones carry records, in which 0d 0a says nothing."""


class Mangling(Rule):
    """Malformed frames that are well-formed without their carriage returns, by connection ends."""

    KINDS = (MANGLED,)

    def __init__(self) -> None:
        self._rest: dict[Hashable, bytes] = {}
        self._mangled: defaultdict[tuple[str, str, str], Bounded] = defaultdict(Bounded)

    def line(self, line: Captured) -> None:
        """Take bytes that are no frame: the end of a frame that has become longer is among them."""
        data = line.seen.data
        key = line.origin.capture, line.stream, line.seen.side
        if data and key not in self._rest and len(self._rest) < MOST_SIDES:
            self._rest[key] = bytes(data[:MOST_REST])

    def call(self, call: Call) -> None:
        """Take a call of a capture: its frames are looked at if they hold a carriage return and a line feed."""
        if not isinstance(call, CapturedCall):
            return
        line, answer = call.line, call.answer
        if len(line.seen.data) <= MOST_FRAME and CHANGED in line.seen.data:
            self._look(line, line, f"{call.api} request")
        if answer is not None and len(answer.seen.data) <= MOST_FRAME and CHANGED in answer.seen.data:
            self._look(answer, line, f"{call.api} response")

    def _look(self, line: Captured, request: Captured, what: str) -> None:
        data = bytes(line.seen.data)
        if line.plain is not None or not line.anomalies:
            return
        whole = data.replace(CHANGED, ORIGINAL)
        rest = self._rest.get((line.origin.capture, line.stream, line.seen.side), b"").replace(CHANGED, ORIGINAL)
        whole = (whole + rest)[: len(data)]
        hints = Hints(kind=line.seen.kind)
        catalog = line.connection.catalog
        if line.seen.kind == "response":
            key, version = request.api_key, request.api_version
            api = None if key is None else catalog.api_by_key(key)
            if api is None or version is None:
                return
            hints = Hints(api, version, "response")
        frame = read(catalog, whole, hints, number=0, start=0, stop=len(whole), prefixed=True)
        if frame.kind != line.seen.kind or frame.guess or frame.anomalies or frame.body is None:
            return
        client = frame.header.value.get("clientId") if frame.header and frame.kind == "request" else request.client_id
        name = str(client) if client else host_of(request.src)
        side = (
            (host_of(line.src), line.dst, name) if line.seen.kind == "request" else (line.src, host_of(line.dst), name)
        )
        places = self._mangled[side]
        places.append(evidence_of(line, what))

    def findings(self) -> Iterator[Finding]:
        for (src, dst, name), places in self._mangled.items():
            count = len(places) + places.dropped
            text = f"{counted(count, 'malformed frame')} from {src} to {dst}: well-formed once each 0d 0a is 0a again"
            yield Finding(MANGLED, f"client {name}", text, places[:MOST_EVIDENCE], count)
