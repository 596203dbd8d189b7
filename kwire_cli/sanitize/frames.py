"""Requests, responses and SASL tokens with other contents, byte for byte as long as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.message.decoded import decode_spec
from kwire_cli.message.frames import SIZE_BYTES
from kwire_cli.message.inside import Forwarded
from kwire_cli.message.record_sets import by_span, cut_record_set
from kwire_cli.message.roles import roles
from kwire_cli.sanitize.fillings import NOTHING, fillings
from kwire_cli.sanitize.records import RecordSets
from kwire_cli.source.kafka.sides import GSSAPI_TAG

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.engine.body import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.sanitize.fields import Fields, Inner

TOKEN_BYTE = b"x"
"""What a SASL token consists of afterwards: as the head of a request it would name no api."""


class Frames:
    """Rewrites frames; `topic` gives the name of a topic id where one is known."""

    def __init__(self, fields: Fields, topic: Callable[[str], str]) -> None:
        self.fields, self._topic = fields, topic
        self._records = RecordSets(fields)

    def token(self, data: bytes) -> bytes:
        """A SASL token behind its size; only what shows that it is one of GSSAPI stays."""
        start = SIZE_BYTES + (data[SIZE_BYTES : SIZE_BYTES + 1] == bytes((GSSAPI_TAG,)))
        return data[:start] + TOKEN_BYTE * (len(data) - start)

    def frame(self, frame: Frame, *, cut: bool, asked: Frame | None = None) -> bytes:
        """A request or response. `cut` says that the capture does not have all of it, `asked` is a response's request.

        Of one that is not known for sure only the size stays: what seem to be numbers may be the beginning of a password.
        """
        data = bytes(frame.data[frame.start : frame.stop])
        header, body = frame.header, frame.body
        at = SIZE_BYTES if frame.prefixed else 0
        # A response in version 0 to a request of a version that is not known is blank as that is, so that they are still a pair.
        if frame.guess or header is None or not header.complete or body is None or body.guess or frame.api_version not in body.spec.valid_versions:
            self.fields.count("frames that are not known", 1)
            return data[:at] + NOTHING * (len(data) - at)
        out = bytearray(data[:at].ljust(len(data), b"\0"))
        made = self.fields.rewritten(header.raw)
        start = header.start - frame.start
        out[start : start + header.raw.used - header.raw.start] = made[: header.raw.used - header.raw.start]
        # What a wrong size makes of all that follows is a frame that never ends, in which other things are malformed too.
        if any(anomaly.code != "TRUNCATED" for anomaly in body.anomalies) if cut else not body.complete:
            self.fields.count("frames that could not be decoded", 1)
            made = b""
        else:
            made = self.fields.body(body, self._in_fields(frame, asked))
            if body.raw.lost >= 0:
                made = made[: body.raw.used - body.start] + self._cut_records(body)
        start = body.start - frame.start
        out[start:] = self._filled(body, made)
        return bytes(out)

    def _cut_records(self, body: Decoded) -> bytes:
        """Return the record set in which the bytes end behind its length; nothing if they end elsewhere."""
        cut = cut_record_set(roles(body.spec, body.entry), body.raw)
        if cut is None:
            return b""
        topic = self._topic(cut.topic) if cut.topic else None
        return bytes(body.data[body.raw.used : cut.start]) + self._records(bytes(body.data[cut.start : cut.stop]), topic)

    @staticmethod
    def _filled(body: Decoded, made: bytes) -> bytes:
        """Return a body up to its end, behind what is made of it already, with the first filling in which the same is anomalous.

        If there is none, a filling in which only the last anomaly is the same, at which reading the original stopped.
        """
        size = body.stop - body.start - len(made)
        if size <= 0 or body.raw.lost < 0:
            return made.ljust(body.stop - body.start, b"\0")
        codes = [note.code for note in body.anomalies]
        last = None
        for filling in fillings(size):
            found = [note.code for note in decode_spec(body.spec, made + filling, body.version).anomalies]
            if found == codes:
                return made + filling
            if last is None and found == codes[-1:]:
                last = made + filling
        return last or made + NOTHING * size

    def _in_fields(self, frame: Frame, asked: Frame | None) -> Callable[[Body], Inner]:
        """Record sets, and what an Envelope carries."""

        def found(body: Body) -> Inner:
            inner: Inner = {}
            for at, each in by_span(roles(body.spec, body.entry), body.raw):
                if body.raw.value[at] != each.start:
                    continue  # the bytes end in it: see `_cut_records`
                topic = self._topic(each.topic) if each.topic else None
                inner[body.raw.value[at]] = self._records(bytes(body.data[each.start : each.stop]), topic)
            for carried in frame.inside(asked):
                if isinstance(carried, Forwarded):
                    inner[carried.frame.start] = self.frame(carried.frame, cut=False)
            return inner

        return found
