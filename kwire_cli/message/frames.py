"""Frames: requests, responses, and the messages that their fields contain.

A frame is a size prefix, a header and a body. Bytes are read as a request if their header names a known api and the
body
fits; otherwise all responses are tried and ranked by `guess`. A capture may begin inside a frame, so `Frame.credible`
estimates from the bytes themselves whether a frame starts at the right place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.engine.codes import MEANING, SHIFTS, Anomaly, in_payload
from kwire_cli.engine.fixed import fixed
from kwire_cli.engine.notebook import InNotebook
from kwire_cli.errors import InputError, KwireError
from kwire_cli.message.decoded import LOSSLESS_KEY, Decoded, as_bytes, decode, decode_spec, frame_patch
from kwire_cli.message.encode import RequestHead, decode_header, head_size, request_head
from kwire_cli.message.guess import (
    ANOMALY,
    CHOICE,
    Candidate,
    bits_of,
    bytes_bits,
    least_response_bits,
    ranked,
    response_candidates,
    shown_candidates,
)
from kwire_cli.records.payload_fields import holds_payloads, payloads_of
from kwire_cli.spec.kafka import API_VERSIONS, ENVELOPE, PRODUCE
from kwire_cli.structs.messages import SIZE_PREFIX, declare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.payload_model import Payload
    from kwire_cli.spec.catalog import Api, Catalog


_SIZE = fixed(declare(SIZE_PREFIX, 0))


SIZE_BYTES = _SIZE.size
PAYLOADS = "payloads"
"""A key of the hidden parts: all messages inside fields are hidden."""
HEAD = "head"
"""A key of the hidden parts: the start of the frame is uncertain, so its api key and version are hidden too."""
MAX_SIZE = 100 * 1024 * 1024
"""The default maximum size of a request (socket.request.max.bytes). A larger value cannot be a size."""

SMALL = 1 << 16
"""A lower bound for size prefixes that are read two bytes late: these contain half of the size and the api key."""
_LENGTH_BYTES = 2
"""The length of a client id."""
MAX_RANDOM_CLIENT_ID = 2
"""Maximum length of a client id that random bytes may contain."""
CUT = -8.0
"""Bits for bytes that end before their size prefix states. Negative: a possible size is evidence of a frame."""
UNNAMED = 8.0
"""Bits for a request without a client id: nearly all clients send one."""
COUNTED = 8.0
"""Bits that a size prefix that counts the bytes adds to the evidence for a response."""
EVIDENCE = 32.0
"""Bits by which a response has to beat random bytes if no size prefix counts its bytes. Random text has fewer."""
DOUBT = 16.0
"""Bits by which a request has to beat each response that fits; otherwise it is a guess."""
NEWER = 8
"""The distance from the newest known version of an api up to which a number may be a request's version."""
NEWER_APIS = 32
NEWER_VERSIONS = 4
"""The distances from the known api keys and versions up to which bytes may be a request by themselves."""
NO_VERSION = 256
"""Api versions from this number on are implausible."""


class Hints(NamedTuple):
    """The prior knowledge of bytes: api, version, request or response, and form of request header."""

    api: Api | None = None
    version: int | None = None
    kind: str | None = None
    header: str = "kafka"


@dataclass(frozen=True, repr=False)
class Frame(InNotebook):
    """The bytes [start, stop) of the data as a request or response. `kind` is request, response or unknown.

    `prefixed` is set if a size precedes it. With `guess` the api and version of a response were derived from its bytes;
    `candidates` are all that fit, likeliest first. `notes` are anomalies of the frame itself. `label` is its name in
    the input. A frame that was `logged` has its log line as label, which its JSON form includes.
    """

    NOTEBOOK_VIEW = "frame_html"
    catalog: Catalog = field(repr=False)
    number: int
    kind: str
    data: Any = field(repr=False)
    start: int
    stop: int
    api_key: int | None = None
    api: str | None = None
    api_version: int | None = None
    prefixed: bool = False
    header: Decoded | None = None
    body: Decoded | None = None
    guess: bool = False
    candidates: tuple[Candidate, ...] = ()
    notes: tuple[Anomaly, ...] = ()
    label: str | None = None
    logged: bool = False
    flavour: str = "kafka"
    hides: Callable[[bool], dict[str, frozenset[int]]] | None = field(default=None, repr=False, compare=False)
    """Finds the secrets that `to_json` redacts by default. The argument is true if records are shown as bytes."""

    def __repr__(self) -> str:
        name = self.api or (f"api key {self.api_key}" if self.api_key is not None else "")
        version = f"v{self.api_version}" if self.api_version is not None else ""
        what = " ".join(part for part in (name, version, self.kind) if part)
        return f"<frame {self.number}: {what}, {self.size} bytes, {len(self.anomalies)} anomalies>"

    @cached_property
    def prefix(self) -> Decoded | None:
        """The size prefix, or None if the frame has no prefix."""
        return (
            decode_spec(SIZE_PREFIX, self.data, 0, start=self.start, stop=min(self.start + SIZE_BYTES, self.stop))
            if self.prefixed
            else None
        )

    @property
    def size(self) -> int:
        """All bytes of the frame, the size prefix included if there is one."""
        return self.stop - self.start

    @property
    def sure(self) -> bool:
        """Return whether header and body were read to the last byte, by the very version they state."""
        return self.header is not None and self.body is not None and self.body.exact and not self.guess

    @property
    def counted(self) -> bool:
        """Return whether the size prefix counts the frame's bytes exactly."""
        return self.prefixed and says_size(self.data, self.start, self.stop) == self.size - SIZE_BYTES

    @property
    def cut(self) -> bool:
        """Return whether the size prefix exceeds the bytes of the frame."""
        return self.prefixed and (says_size(self.data, self.start, self.stop) or 0) > self.size - SIZE_BYTES

    @cached_property
    def credible(self) -> bool:
        """Return whether the frame probably starts at the right place, judged by its own bytes.

        A request names its client, in text. A request that does not name its client has a body that fits to the last
        byte, or is cut. A request without a client's name, or whose size prefix does not count its bytes, has an api
        and a version near the known ones. A client id that is not text is credible only in a request that fits to the
        last byte without an anomaly. A response that answers no request is likely.
        """
        if self.kind == "unknown" or self.header is None:
            return False
        if self.kind == "response":
            return not self.guess or (self.likely and (self.counted or not self.prefixed))
        client_id = self.header.value.get("clientId") or ""
        if not client_id.isprintable():
            # An attack, or shifted bytes. Shifted bytes do not fit to the last byte.
            return self.body is not None and self.body.exact and self.counted and not self.anomalies
        named = len(client_id) > MAX_RANDOM_CLIENT_ID
        if named and self.counted:
            return True
        cut_in_header = self.cut and not self.header.complete and self._holds_client_id
        if self.header.anomalies and not cut_in_header:
            return False
        short = client_id != "" and (says_size(self.data, self.start, self.stop) or 0) < SMALL
        fits = self.counted and self.body is not None and self.body.exact and not self.body.anomalies
        return self._near and (named or fits or cut_in_header or (self.cut and short))

    @property
    def _holds_client_id(self) -> bool:
        """Return whether the client id of a truncated request fits into the size of the frame."""
        head = head_size("request")
        start = self.start + SIZE_BYTES + head
        length = int.from_bytes(self.data[start : min(start + _LENGTH_BYTES, self.stop)], "big", signed=True)
        size = says_size(self.data, self.start, self.stop)
        return size is not None and head + _LENGTH_BYTES + max(length, 0) <= size

    @cached_property
    def bits(self) -> float:
        """The bits that this reading of the bytes costs, its size prefix and unread bytes included (`guess`)."""
        if self.header is None:
            return 8.0 * self.size + (CUT if self.cut else ANOMALY)
        bits = sum(bits_of(self.catalog, part.tree) for _, part in self.parts)
        raw = (self.body or self.header).raw
        bits += bytes_bits(raw.data[raw.used : self.stop])
        if raw.lost >= 0 and (self.cut or not self.prefixed):
            bits += CUT - ANOMALY
        if self.prefixed and not self.counted and not self.cut:
            bits += ANOMALY
        if self.kind == "response":
            return bits + CHOICE
        if not self.header.value.get("clientId"):
            bits += UNNAMED
        is_unknown = self.body.guess if self.body else self.header.complete
        return bits + ANOMALY if is_unknown else bits

    @cached_property
    def likely(self) -> bool:
        """Return whether a guess is better than random bytes; by far, if an anomaly of it may have moved bytes.

        If no size prefix counts the bytes, only its body is compared: the header may be a size prefix.
        """
        if self.header is None or self._best is None:
            return False
        if self.counted:
            return self.evidence >= (0 if self._best.aligned else EVIDENCE)
        header_evidence = 8.0 * (self.header.raw.used - self.header.start) - bits_of(self.catalog, self.header.tree)
        return self.evidence - header_evidence >= EVIDENCE

    @cached_property
    def evidence(self) -> float:
        """The bits by which a guess beats random bytes, which cost 8 bits each."""
        if self._best is None or self.header is None:
            return -math.inf
        evidence = 8.0 * (self.stop - self.header.start) - self._best.bits
        return evidence + COUNTED if self.counted else evidence

    @property
    def _best(self) -> Candidate | None:
        return next((each for each in self.candidates if each.kind == self.kind), None)

    @property
    def _near(self) -> bool:
        """Return whether the api is known or a little above the known ones, and the version near known ones."""
        key = self.api_key or 0
        version = self.api_version or 0
        api = self.catalog.api_by_key(key)
        if api is None or not api.request:
            return (
                0 <= key <= max(declared.key for declared in self.catalog.apis) + NEWER_APIS
                and 0 <= version <= NEWER_VERSIONS
            )
        return 0 <= version <= self.catalog.entry(api.request).valid_versions.high + NEWER

    def shown(self, hidden: Mapping[str, frozenset[int]]) -> Frame:
        """Return the frame without its api key, version and size if these may be bytes of a secret.

        `hidden` are the hidden parts. A known api with a version below 256 is rarely a coincidence, because half of its
        bytes are zero. The same applies to a size below 64 KiB.
        """
        if HEAD not in hidden:
            return self
        is_small = (says_size(self.data, self.start, self.stop) or 0) < SMALL
        kept = {"FRAME_SIZE_MISMATCH"} if is_small else set()
        notes = tuple(note if note.code in kept else note._replace(detail=MEANING[note.code]) for note in self.notes)
        api = self.catalog.api_by_key(self.api_key) if self.api_key is not None else None
        if self.kind != "request" or (api and 0 <= (self.api_version or 0) < NO_VERSION):
            return replace(self, notes=notes)
        return replace(self, api_key=None, api=None, api_version=None, notes=notes)

    def contradicts(self, hints: Hints) -> bool:
        """Return whether the frame has another api or version than `hints`."""
        return bool(hints.api and hints.api.key != self.api_key) or hints.version not in {None, self.api_version}

    @property
    def parts(self) -> Iterator[tuple[str, Decoded]]:
        """The parts that exist, of size prefix, header and body."""
        yield from (
            (name, part) for name, part in (("size", self.prefix), ("header", self.header), ("body", self.body)) if part
        )

    @cached_property
    def anomalies(self) -> list[Anomaly]:
        """The anomalies of the frame, its header, its body and the messages in its fields.

        Paths in the header begin with header. Offsets count from the start of the data. If the frame is cut, a size
        beyond its end is TRUNCATED too, and a count beyond its end is dropped, since it adds no information.
        """
        all_notes = [*self.notes, *(self.prefix.anomalies if self.prefix else ())]
        if self.header:
            all_notes += (a._replace(path=f"header.{a.path}".rstrip(".")) for a in self.header.anomalies)
        all_notes += self.body.anomalies if self.body else []
        if self.cut and any(note.code == "TRUNCATED" for note in all_notes):
            all_notes = [note for note in all_notes if note.code != "COUNT_MISMATCH"]
            all_notes = [
                note._replace(code="TRUNCATED") if note.code == "FRAME_SIZE_MISMATCH" else note for note in all_notes
            ]
        return all_notes + self.fits + self._anomalies_inside

    @cached_property
    def fits(self) -> list[Anomaly]:
        """The anomaly FITS_OTHERWISE of a frame that does not fit its api and version, if other versions fit."""
        header = self.header
        body = self.body
        api = self.catalog.api_by_key(self.api_key) if self.api_key is not None else None
        message = api and (api.request if self.kind == "request" else api.response)
        if header is None or not message or self.api_version is None or self.flavour != "kafka":
            return []
        if self.cut or (body and body.raw.well_formed):
            return []
        from kwire_cli.message.fits import frame_note  # noqa: PLC0415 - only for bytes that do not fit

        spec = self.catalog.message(message)
        return frame_note(self.catalog, spec, self.api_version, header, self.stop)

    def inside(self, asked: Frame | None = None) -> list[Payload | Forwarded]:
        """Return the messages in its fields; `asked` is a response's request."""
        return inside(self, asked)

    @property
    def _anomalies_inside(self) -> list[Anomaly]:
        return located(self, self.inside()) if self.body and holds(self.body.message) else []

    def to_json(
        self,
        *,
        records: str = "base64",
        lossless: bool = False,
        hidden: dict[str, frozenset[int]] | None = None,
        asked: Frame | None = None,
        reading: RecordsAs | None = None,
    ) -> dict[str, Any]:
        """Return the frame as in JSON lines: kind, size, api, header, body, anomalies. A frame of unknown kind is a
        gap.

        `hidden` has the spans to redact by part: header, body, or a message in a field, such as `requestData:body`.
        With PAYLOADS all messages in fields are omitted. `asked` is a response's request. `records` and `reading` are
        as in `Decoded.to_json`.
        """
        if hidden is None:
            hidden = self.hides(records == "base64") if self.hides else {}
            if hidden and lossless:
                raise InputError(
                    "the frame holds secrets, or bytes that may be some, and the lossless form keeps every byte: "
                    "show_secrets=True keeps them"
                )
        if HEAD in hidden:
            return self.shown(hidden).to_json(
                records=records, hidden={k: v for k, v in hidden.items() if k != HEAD}, asked=asked, reading=reading
            )
        if self.kind == "unknown":
            gap = {
                "frame": self.number,
                "kind": "gap",
                "size": self.size,
                "code": "NOT_RECOGNISED",
                **self._labelled,
                "anomalies": [a._asdict() for a in self.anomalies],
            }
            return gap | self._patched(gap) if lossless else gap
        out: dict[str, Any] = {"frame": self.number, "kind": self.kind, "size": self.size} | self._labelled
        out |= {"apiKey": self.api_key, "api": self.api, "apiVersion": self.api_version}
        header = self.header.to_json(lossless=lossless, hidden=hidden.get("header", frozenset())) if self.header else {}
        head: dict[str, Any] = {"headerVersion": self.header.version} if self.header else {}
        if head and self.flavour != "kafka" and self.kind == "request":
            head["flavour"] = self.flavour
        out["header"] = head | {
            key: v for key, v in header.items() if key not in {"requestApiKey", "requestApiVersion"}
        }
        secret = hidden.get("body", frozenset())
        out["body"] = (
            self.body.to_json(records=records, lossless=lossless, hidden=secret, reading=reading) if self.body else None
        )
        if self.body and self.api_version not in {self.body.version, None}:
            out["bodyVersion"] = self.body.version
        if not self.prefixed:
            out["prefixed"] = False
        if self.guess or (self.body and self.body.guess):
            out["guess"] = True
        if self.guess:
            out["candidates"] = [each.to_json(self.kind) for each in shown_candidates(self.candidates)]
        out["anomalies"] = [a._asdict() for a in self.anomalies]
        if payloads := self.payloads(hidden, asked):
            out["payloads"] = payloads
        return out | self._patched(out) if lossless else out

    @property
    def _labelled(self) -> dict[str, str]:
        return {"label": self.label} if self.label and self.logged else {}

    def payloads(self, hidden: dict[str, frozenset[int]], asked: Frame | None = None) -> list[dict[str, Any]]:
        """Return the decoded messages in its fields; `hidden` and `asked` as in `to_json`."""
        return (
            []
            if PAYLOADS in hidden
            else [message.to_json(**_hidden_in(message, hidden)) for message in self.inside(asked)]
        )

    def _patched(self, document: dict[str, Any]) -> dict[str, Any]:
        from kwire_cli.message.encode import encode_document  # noqa: PLC0415 - decoding alone need not load what encodes

        data = bytes(self.data[self.start : self.stop])
        try:
            same = encode_document(self.catalog, document) == data
        except KwireError:
            same = False
        return {} if same else {LOSSLESS_KEY: frame_patch(data)}


def hidden_below(path: str, hidden: dict[str, frozenset[int]]) -> dict[str, frozenset[int]]:
    """Return the spans to redact in the parts of the request or response in the field at `path`."""
    return {name.removeprefix(f"{path}:"): spans for name, spans in hidden.items() if name.startswith(f"{path}:")}


def _hidden_in(each: Payload | Forwarded, hidden: dict[str, frozenset[int]]) -> dict[str, Any]:
    below = hidden_below(each.path, hidden)
    return {"hidden": below if isinstance(each, Forwarded) else below.get("body", frozenset())}


def says_size(data: Any, at: int, stop: int) -> int | None:
    """Return the size prefix at `at`, or None if fewer than SIZE_BYTES remain."""
    return int(_SIZE.unpack(data, at)[0]) if stop - at >= SIZE_BYTES else None


# Messages in the fields of a request or response: payloads, and the requests and responses that Envelopes carry
# (KIP-590).

CARRIED = {"EnvelopeRequest": "requestData", "EnvelopeResponse": "responseData"}
"""The field that contains a complete request or response, header and body without a size, by message."""


class Forwarded(NamedTuple):
    """A request or response in an Envelope: the bytes of the field at `path`."""

    path: str
    frame: Frame

    @property
    def type(self) -> str:
        """The name of the message, such as CreateTopicsRequest."""
        return (
            self.frame.body.message if self.frame.body else f"{self.frame.api or self.frame.api_key} {self.frame.kind}"
        )

    @property
    def version(self) -> int | None:
        """The version of its api."""
        return self.frame.api_version

    @property
    def anomalies(self) -> list[Anomaly]:
        """The anomalies of the forwarded header and body.

        Offsets count from the start of the data that the Envelope is in.
        """
        return in_payload(self.frame.anomalies)

    def to_json(self, *, hidden: dict[str, frozenset[int]]) -> dict[str, Any]:
        """Return the JSON form. `data` is the frame without its size, or null if the bytes cannot be read as a frame.

        `hidden` has the spans to redact by part.
        """
        document = self.frame.to_json(hidden=hidden)
        return {
            "path": self.path,
            "type": self.type,
            "version": self.version,
            "data": {"header": document.get("header"), "body": document.get("body")},
        }


def holds(message: str) -> bool:
    """Return whether a message has fields that hold other messages."""
    return message in CARRIED or holds_payloads(message)


def inside(frame: Frame, asked: Frame | None = None) -> list[Payload | Forwarded]:
    """Return the messages in the fields of a frame, except in a guess.

    `asked` is a response's request: only it determines the type of the response in an Envelope.
    """
    body = frame.body
    if body is None or body.guess or frame.guess or not holds(body.message):
        return []
    return [*payloads_of(frame.catalog, body.spec, body.version, body.tree), *_forwarded(frame, asked)]


def _forwarded(frame: Frame, asked: Frame | None) -> Iterator[Forwarded]:
    assert frame.body  # noqa: S101 - for the type checker
    path = CARRIED.get(frame.body.message)
    at = _field_at(frame, path) if path else None
    if path is None or at is None or at[0] == at[1]:
        return
    start, stop = at
    hints = Hints(kind="request")
    if frame.kind == "response":
        inner = [carried.frame for carried in inside(asked) if isinstance(carried, Forwarded)] if asked else []
        api = frame.catalog.api_by_key(inner[0].api_key) if inner and inner[0].api_key is not None else None
        if not api or not api.response:
            return
        hints = Hints(api, inner[0].api_version, "response")
    if _head_says_envelope(frame, start, stop):
        return  # never written, and a way to make this as deep as the input is long
    try:
        yield Forwarded(
            path, read(frame.catalog, frame.data, hints, number=frame.number, start=start, stop=stop, prefixed=False)
        )
    except InputError:
        return


def _head_says_envelope(frame: Frame, start: int, stop: int) -> bool:
    head = request_head(frame.data, start, stop) if frame.kind == "request" else None
    return head is not None and head.api_key == ENVELOPE


def _field_at(frame: Frame, path: str) -> tuple[int, int] | None:
    """Return the start and end of a field's value in the data; None if the field ends early."""
    assert frame.body  # noqa: S101 - for the type checker
    return next(((span.value, span.end) for span in frame.body.spans if span.path == path and span.kind != "gap"), None)


def located(frame: Frame, found: list[Payload | Forwarded]) -> list[Anomaly]:
    """Return the anomalies of the inner messages, with paths and offsets of the frame.

    An anomaly nested deeper gets the offset of the message that contains it.
    """
    out: list[Anomaly] = []
    starts = (
        {span.path: span.value for span in frame.body.spans}
        if frame.body and any(message.anomalies for message in found)
        else {}
    )
    for message in found:
        for note in message.anomalies:
            path = f"{message.path}.{note.path}".rstrip(".")
            if isinstance(message, Forwarded):
                out.append(note._replace(path=path))
            elif message.path in starts:
                out.append(note._replace(path=path, offset=starts[message.path] + note.offset))
            else:
                around = max(
                    (start for outer, start in starts.items() if message.path.startswith(outer)), default=frame.start
                )
                out.append(note._replace(path=path, offset=around))
    return out


def _is_left_to_bytes(hints: Hints) -> bool:
    return hints.kind is None and hints.api is None


def read(catalog: Catalog, data: Any, hints: Hints, *, number: int, start: int, stop: int, prefixed: bool) -> Frame:
    """Read one frame: as a request if its header is valid and its body fits, otherwise as the response that fits
    best.
    """
    data = as_bytes(data)
    notes: tuple[Anomaly, ...] = ()
    at = start
    if prefixed:
        at = min(start + SIZE_BYTES, stop)
        size = says_size(data, start, stop)
        if size is not None and size != stop - at:
            notes = (
                Anomaly("FRAME_SIZE_MISMATCH", "", start, f"the size prefix says {size}, {stop - at} bytes follow"),
            )
            if size < 0:
                # its number is not shown: it may be bytes of a secret
                notes = (notes[0]._replace(detail="these four bytes read as a negative size, and no frame has one"),)
            if size < 0 and _is_left_to_bytes(hints):
                return Frame(catalog, number, "unknown", data, start, stop, notes=notes, flavour=hints.header)
    frame = Frame(catalog, number, "unknown", data, start, stop, prefixed=prefixed, notes=notes, flavour=hints.header)
    request = _request(catalog, frame, at, hints) if hints.kind != "response" else frame
    if hints.kind == "request" or (request.sure and has_client(request) and not request.contradicts(hints)):
        return request
    if hints.api and hints.version is not None:
        named = respond(catalog, frame, at, hints.api, hints.version)
        if request.sure and not (named.sure and request.contradicts(hints)):
            return request
        return named
    return _likeliest(catalog, frame, at, hints, request)


def _likeliest(catalog: Catalog, frame: Frame, at: int, hints: Hints, request: Frame) -> Frame:
    """Return the frame as the request or the response that needs the fewest bits (`guess`), with all that fit."""
    prefix_bits = bits_of(catalog, frame.prefix.tree) if frame.prefix else 0.0
    mismatch = ANOMALY if frame.prefixed and not frame.counted else 0.0
    request_bits = math.inf
    if _is_possible_request(request) and not request.contradicts(hints):
        request_bits = request.bits
    fits = math.isfinite(request_bits) and request.sure and not any(a.code in SHIFTS for a in request.anomalies)
    if (
        fits
        and least_response_bits(catalog, frame.data, at, frame.stop) + prefix_bits + mismatch - request_bits >= DOUBT
    ):
        return request
    exact_only = frame.cut or not (frame.counted or hints.api)  # the end of a request may be missing
    responses = response_candidates(
        catalog, frame.data, at, frame.stop, api=hints.api, version=hints.version, exact_only=exact_only
    )
    responses = [candidate for candidate in responses if candidate.aligned] or responses
    response_bits = responses[0].bits + prefix_bits + mismatch if responses else math.inf
    if not fits and not frame.cut and not has_client(request) and any(each.aligned for each in responses):
        request_bits = math.inf
    if fits and request.header and request.body:
        api = catalog.api(request.body.message)
        candidate = Candidate("request", api, request.body.version, request.header.version, request_bits - prefix_bits)
        responses = ranked([*responses, candidate])
    if request_bits <= response_bits:
        if not math.isfinite(request_bits):
            return request if hints.kind or hints.api else frame
        if fits and response_bits - request_bits < DOUBT:
            return replace(request, guess=True, candidates=tuple(responses))
        return request
    best = next(candidate for candidate in responses if candidate.kind == "response")
    if not (best.is_exact or hints.api or best.bits + EVIDENCE < 8.0 * (frame.stop - at)):
        return frame  # random bytes are as likely
    response = respond(catalog, frame, at, best.api, best.version, best.header_version)
    response = replace(response, guess=True, candidates=tuple(responses))
    return response if response.counted or response.evidence >= 0 or hints.api else frame


def _is_possible_request(frame: Frame) -> bool:
    """Return whether a frame is a request that fits, or one whose header a client may have written."""
    return frame.kind == "request" and (frame.sure or _is_newer(frame) or _may_be_request(frame))


def _is_newer(frame: Frame) -> bool:
    """Return whether a frame is a request of an unknown api, or of a version a little above the known ones."""
    if not has_client(frame):
        return False
    return frame.api is None or (
        frame.body is not None and 0 < frame.body.version - frame.body.spec.valid_versions.high <= NEWER_VERSIONS
    )


def has_client(frame: Frame) -> bool:
    """Return whether a request has an intact header that names its client in printable ASCII."""
    if frame.header is None or not frame.header.complete or frame.header.anomalies:
        return False
    client_id = frame.header.value.get("clientId") or ""
    return len(client_id) > MAX_RANDOM_CLIENT_ID and client_id.isascii() and client_id.isprintable()


def _may_be_request(frame: Frame) -> bool:
    """Return whether a frame may be a request by its head: a version that is known or a little newer, and a client id
    that is text.

    "Correlation id 7" of a response reads as "Produce version 7": a Produce request has to name its client.
    """
    api = frame.catalog.api_by_key(frame.api_key) if frame.kind == "request" and frame.api_key is not None else None
    if not api or not api.request or frame.header is None or frame.api_version is None:
        return False
    versions = frame.catalog.entry(api.request).valid_versions
    if (
        not versions
        or not 0 <= frame.api_version <= versions.high + NEWER_VERSIONS
        or {a.code for a in frame.header.anomalies} - {"TRUNCATED"}
    ):
        return False
    client_id = frame.header.value.get("clientId") or ""
    return client_id.isprintable() and (bool(client_id) or api.key != PRODUCE)


def _request(catalog: Catalog, frame: Frame, at: int, hints: Hints) -> Frame:
    head = request_head(frame.data, at, frame.stop) or _cut_head(catalog, frame, at)
    if head is None:
        return frame
    key = head.api_key
    version = head.version
    api = catalog.api_by_key(key)
    if hints.kind == "request" and ((hints.api and hints.api.key != key) or hints.version not in {None, version}):
        wanted = (f"api {hints.api.name}" if hints.api else "") + (
            "" if hints.version is None else f" version {hints.version}"
        )
        declared = api and 0 <= version < NO_VERSION
        # Numbers of an unknown api may be bytes of a secret.
        stated = f"api key {key} version {version}" if declared else "an unknown api or version"
        raise InputError(
            f"the request's header has {stated}, not {wanted.strip()}; omit --api and --message-version for requests"
        )
    if not api or not api.request:
        unknown = _unknown_request(catalog, frame, at, hints, key, version)
        newer = (
            0 <= key <= max(declared.key for declared in catalog.apis) + NEWER_APIS and 0 <= version <= NEWER_VERSIONS
        )
        return unknown if hints.kind == "request" or (newer and hints.kind is None and has_client(unknown)) else frame
    layout = 2 if hints.header == "kip482" else catalog.header_version("request", key, version)
    header = decode_header(catalog, "request", layout, frame.data, start=at, stop=frame.stop, flavour=hints.header)
    body = _body(catalog, api, frame, header.raw.used, version, request=True) if header.complete else None
    return replace(frame, kind="request", api_key=key, api=api.name, api_version=version, header=header, body=body)


def _cut_head(catalog: Catalog, frame: Frame, at: int) -> RequestHead | None:
    """Return the head of a request that ends in its head, or None if the api key or version is missing."""
    fields = decode_header(catalog, "request", 0, frame.data, start=at, stop=frame.stop).value
    key = fields.get("requestApiKey")
    version = fields.get("requestApiVersion")
    return None if key is None or version is None else RequestHead(key, version, fields.get("correlationId", 0))


def _unknown_request(catalog: Catalog, frame: Frame, at: int, hints: Hints, key: int, version: int) -> Frame:
    """Return the frame of a request whose api is unknown.

    Every api since KIP-482 is flexible. An older header has no tag section, and the bytes in its place rarely form an
    empty tag section.
    """
    header = decode_header(catalog, "request", 2, frame.data, start=at, stop=frame.stop, flavour=hints.header)
    if not header.complete or header.anomalies:
        header = decode_header(catalog, "request", 1, frame.data, start=at, stop=frame.stop)
    note = Anomaly("UNKNOWN_API", "", at, f"api key {key}: {MEANING['UNKNOWN_API']}")
    return replace(frame, kind="request", api_key=key, api_version=version, header=header, notes=(*frame.notes, note))


def _body(catalog: Catalog, api: Api, frame: Frame, start: int, version: int, *, request: bool = False) -> Decoded:
    message = (api.request if request else api.response) or ""
    body = decode(catalog, frame.data, message, version, start=start, stop=frame.stop)
    if request and api.key == API_VERSIONS and version == 0 and bytes(frame.data[start : frame.stop]) == b"\0\0\0\0":
        body = decode(catalog, frame.data, message, version, start=frame.stop, stop=frame.stop)
        note = Anomaly("EXTRA_HEADER_BYTES", "", start, MEANING["EXTRA_HEADER_BYTES"])
        return replace(body, notes=(*body.notes, note))
    return body


def respond(catalog: Catalog, frame: Frame, at: int, api: Api, version: int, with_header: int | None = None) -> Frame:
    """Return the frame as the response of an api and version, by default with the header version that Kafka writes."""
    if not api.response:
        raise InputError(f"no definition of the response of {api.name} is known")
    own = catalog.header_version("response", api.key, version)
    number = own if with_header is None else with_header
    header = decode_header(catalog, "response", number, frame.data, start=at, stop=frame.stop)
    body = _body(catalog, api, frame, header.raw.used, version) if header.complete else None
    notes = frame.notes
    if number != own:
        from kwire_cli.message.fits import fits_note  # noqa: PLC0415 - only for responses with another header

        notes = (*notes, fits_note(f"with header version {number}; Kafka writes version {own}", at))
    return replace(
        frame,
        kind="response",
        api_key=api.key,
        api=api.name,
        api_version=version,
        header=header,
        body=body,
        notes=notes,
    )
