"""Frames: size prefix, header and body of one request or response, decoded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING
from kwire_cli.engine.fixed import fixed
from kwire_cli.errors import InputError, KwireError
from kwire_cli.message.decoded import Decoded, decode_spec
from kwire_cli.structs.frames import SIZE_PREFIX
from kwire_cli.structs.messages import declare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.message.inside import Forwarded
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.payload.model import Payload
    from kwire_cli.spec.catalog import Api, Catalog

_SIZE = fixed(declare(SIZE_PREFIX, 0))
SIZE_BYTES = _SIZE.size
PAYLOADS = "payloads"
"""Among the names of hidden parts: nothing of what is in fields is shown."""
HEAD = "head"
"""Among the names of hidden parts: nothing tells that the frame begins where a frame begins, so that its first bytes are secret too."""
MAX_SIZE = 100 * 1024 * 1024
"""The largest request that a broker takes by default (socket.request.max.bytes); what says more is no size."""

SMALL = 1 << 16
"""No size prefix that begins two bytes late says less: then the size and the api key stand in it."""
LEAST_CLIENT_ID = 2
"""Characters of a client id that may be there by accident."""
LEAST_UNPREFIXED = 64
"""Bytes of a response without a size prefix of which another message hardly is one too."""
MOST_CORRELATIONS = 1 << 24
"""Clients count correlation ids from 0 or 1: a higher one is rather the beginning of a text."""
LEAST_RESERVED = (1 << 31) - 8
"""The first correlation id that Java's client keeps for authentication (SaslClientAuthenticator.MIN_RESERVED_CORRELATION_ID)."""
LIKELY = 1.0
"""The share of a response's bits that it takes to say what is in it (`guess.bits_of`). Of real responses none is above, and of random
printable texts none below 1.09."""
NEWER = 8
"""How far above the newest known version of an api a request's version may be, and still be one."""
NEWER_APIS, NEWER_VERSIONS = 32, 4
"""How far above the known ones the api key and version of a request can be without anybody saying that it is one."""
NO_VERSION = 256
"""From here on a number is hardly the version of an api."""


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of the bytes beforehand: the api, its version, request or response, and which form of request header."""

    api: Api | None = None
    version: int | None = None
    kind: str | None = None
    header: str = "kafka"


@dataclass(frozen=True)
class Frame:
    """The bytes [start, stop) of the data as a request or response. `kind` is request, response or unknown.

    `prefixed` says whether a size stands before it. With `guess` the api and version of a response were found from the bytes alone;
    `candidates` are all that fit, best first, as text. `notes` are anomalies of the frame itself. `label` is what the input called it;
    of a frame that was `logged` it is the line, and stands in its JSON form too.
    """

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
    candidates: tuple[str, ...] = ()
    notes: tuple[Anomaly, ...] = ()
    label: str | None = None
    logged: bool = False
    flavour: str = "kafka"
    hides: Callable[[bool], dict[str, frozenset[int]]] | None = field(default=None, repr=False, compare=False)
    """What finds the secrets that `to_json` leaves out unless it is told; given whether records are shown as bytes."""

    @cached_property
    def prefix(self) -> Decoded | None:
        """The size that stands before it, if one does."""
        return decode_spec(SIZE_PREFIX, self.data, 0, start=self.start, stop=min(self.start + SIZE_BYTES, self.stop)) if self.prefixed else None

    @property
    def size(self) -> int:
        """All bytes of the frame, the size prefix included if there is one."""
        return self.stop - self.start

    @property
    def sure(self) -> bool:
        """Whether header and body were read whole, to the last byte, by the very version they say."""
        return self.header is not None and self.body is not None and self.body.exact and not self.guess

    @property
    def counted(self) -> bool:
        """Whether its size prefix counts its bytes exactly."""
        return self.prefixed and says_size(self.data, self.start, self.stop) == self.size - SIZE_BYTES

    @property
    def cut(self) -> bool:
        """Whether its size prefix says that more bytes belong to it than are there."""
        return self.prefixed and (says_size(self.data, self.start, self.stop) or 0) > self.size - SIZE_BYTES

    @cached_property
    def credible(self) -> bool:
        """Whether it begins where a frame begins, as far as its own bytes can tell.

        A request names its client, in text. One that does not has a body that fits to the last byte, and one whose size prefix does not count its
        bytes has a known api and a version near those that are known. A response that answers no request is a likely one.
        """
        if self.kind == "unknown" or self.header is None:
            return False
        if self.kind == "response":
            return not self.guess or self._is_likely_response
        client_id = self.header.value.get("clientId") or ""
        if not client_id.isprintable():  # somebody who means harm, or bytes that are shifted, which do not fit to the last one
            return self.sure and self.counted and not self.anomalies
        named = len(client_id) > LEAST_CLIENT_ID
        if named and self.counted:
            return True
        number = self.header.value.get("correlationId", 0)
        cut_in_header = self.cut and not self.header.complete and (0 <= number <= MOST_CORRELATIONS or number >= LEAST_RESERVED)
        if self.header.anomalies and not cut_in_header:
            return False
        short = client_id != "" and (says_size(self.data, self.start, self.stop) or 0) < SMALL
        fits = self.counted and self.body is not None and self.body.exact and not self.body.anomalies
        return self._near and (named or fits or cut_in_header or (self.cut and short))

    @property
    def _is_likely_response(self) -> bool:
        """Whether header and body fit to the last byte without an anomaly or an unknown tag, and say less than random bytes of that size do."""
        from kwire_cli.message.guess import bits_of  # noqa: PLC0415 - start-up counts, and few responses are guessed

        header, body = self.header, self.body
        if header is None or body is None or not (body.exact and _is_plain(header) and _is_plain(body)):
            return False
        number = header.value["correlationId"]
        if not self.counted and (self.prefixed or self.size < LEAST_UNPREFIXED or number >= self.size):
            return False  # the number may be the size of a frame that is cut
        bits = bits_of(self.catalog, header.tree) + bits_of(self.catalog, body.tree)
        return (0 <= number <= MOST_CORRELATIONS or number >= LEAST_RESERVED) and bits <= LIKELY * 8 * (self.stop - header.start)

    @property
    def _near(self) -> bool:
        """Whether its api is known, or a little above those that are, and its version is near the known ones."""
        key, version = self.api_key or 0, self.api_version or 0
        api = self.catalog.api_by_key(key)
        if api is None or not api.request:
            return 0 <= key <= max(known.key for known in self.catalog.apis) + NEWER_APIS and 0 <= version <= NEWER_VERSIONS
        return 0 <= version <= self.catalog.entry(api.request).valid_versions.high + NEWER

    def shown(self, hidden: Mapping[str, frozenset[int]]) -> Frame:
        """Return the frame without numbers that stand outside its parts, as far as they may be bytes of a secret by `hidden`.

        A known api with a version below 256 is hardly an accident: half of its bytes are zero. So are those of a size below 64 KiB.
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
        """Whether it is of another api or version than was said beforehand."""
        return bool(hints.api and hints.api.key != self.api_key) or hints.version not in {None, self.api_version}

    @property
    def parts(self) -> Iterator[tuple[str, Decoded]]:
        """Size prefix, header and body, as far as there are such."""
        yield from ((name, part) for name, part in (("size", self.prefix), ("header", self.header), ("body", self.body)) if part)

    @cached_property
    def anomalies(self) -> list[Anomaly]:
        """Those of the frame, of its header (paths begin with header) and of its body; an offset counts from the start of the data.

        Of a frame that is cut, a size beyond its end is TRUNCATED too, and a count beyond it says no more than that.
        """
        found = [*self.notes, *(self.prefix.anomalies if self.prefix else ())]
        if self.header:
            found += (a._replace(path=f"header.{a.path}".rstrip(".")) for a in self.header.anomalies)
        found += self.body.anomalies if self.body else []
        if self.cut and any(note.code == "TRUNCATED" for note in found):
            found = [note for note in found if note.code != "COUNT_MISMATCH"]
            found = [note._replace(code="TRUNCATED") if note.code == "FRAME_SIZE_MISMATCH" else note for note in found]
        return found + self._anomalies_inside

    def inside(self, asked: Frame | None = None) -> list[Payload | Forwarded]:
        """The messages in its fields; `asked` is a response's request."""
        from kwire_cli.message.inside import inside  # noqa: PLC0415 - few messages have any, and it reads frames itself

        return inside(self, asked)

    @property
    def _anomalies_inside(self) -> list[Anomaly]:
        from kwire_cli.message.inside import holds, located  # noqa: PLC0415 - as above

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
        """The frame as in JSON lines: kind, size, api, header, body, anomalies; what is neither a request nor a response is a gap.

        `hidden` has the spans to redact by part (header, body; of what is in a field by its path, `requestData:body`), and with PAYLOADS none of
        what is in fields is shown. `asked` is a response's request. `records` and `reading` are as in `Decoded.to_json`.
        """
        if hidden is None:
            hidden = self.hides(records == "base64") if self.hides else {}
            if hidden and lossless:
                raise InputError(
                    "the frame holds secrets, or bytes that may be some, and the lossless form keeps every byte: show_secrets=True keeps them"
                )
        if HEAD in hidden:
            return self.shown(hidden).to_json(records=records, hidden={k: v for k, v in hidden.items() if k != HEAD}, asked=asked, reading=reading)
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
        shown: dict[str, Any] = {"headerVersion": self.header.version} if self.header else {}
        if shown and self.flavour != "kafka" and self.kind == "request":
            shown["flavour"] = self.flavour
        out["header"] = shown | {key: v for key, v in header.items() if key not in {"requestApiKey", "requestApiVersion"}}
        secret = hidden.get("body", frozenset())
        out["body"] = self.body.to_json(records=records, lossless=lossless, hidden=secret, reading=reading) if self.body else None
        if self.body and self.api_version not in {self.body.version, None}:
            out["bodyVersion"] = self.body.version
        if not self.prefixed:
            out["prefixed"] = False
        if self.guess or (self.body and self.body.guess):
            out["guess"] = True
        if self.guess:
            out["candidates"] = list(self.candidates)
        out["anomalies"] = [a._asdict() for a in self.anomalies]
        if payloads := self.payloads(hidden, asked):
            out["payloads"] = payloads
        return out | self._patched(out) if lossless else out

    @property
    def _labelled(self) -> dict[str, str]:
        return {"label": self.label} if self.label and self.logged else {}

    def payloads(self, hidden: dict[str, frozenset[int]], asked: Frame | None = None) -> list[dict[str, Any]]:
        """Return what is decoded of messages in its fields; `hidden` and `asked` as in `to_json`."""
        return [] if PAYLOADS in hidden else [each.to_json(**_hidden_in(each, hidden)) for each in self.inside(asked)]

    def _patched(self, document: dict[str, Any]) -> dict[str, Any]:
        from kwire_cli.message.encode import LOSSLESS_KEY, encode_document  # noqa: PLC0415 - decoding alone need not load what encodes
        from kwire_cli.message.lossless import frame_patch  # noqa: PLC0415

        data = bytes(self.data[self.start : self.stop])
        try:
            same = encode_document(self.catalog, document) == data
        except KwireError:
            same = False
        return {} if same else {LOSSLESS_KEY: frame_patch(data)}


def _is_plain(part: Decoded) -> bool:
    """Return whether a header or body has neither anomalies nor unknown tags."""
    return not part.anomalies and all(span.kind != "unknown-tag" for span in part.spans)


def hidden_below(path: str, hidden: dict[str, frozenset[int]]) -> dict[str, frozenset[int]]:
    """What is to be redacted in the parts of the request or response in the field at `path`."""
    return {name.removeprefix(f"{path}:"): spans for name, spans in hidden.items() if name.startswith(f"{path}:")}


def _hidden_in(each: Payload | Forwarded, hidden: dict[str, frozenset[int]]) -> dict[str, Any]:
    from kwire_cli.message.inside import Forwarded  # noqa: PLC0415 - as above

    below = hidden_below(each.path, hidden)
    return {"hidden": below if isinstance(each, Forwarded) else below.get("body", frozenset())}


def says_size(data: Any, at: int, stop: int) -> int | None:
    """The number in the size prefix at `at`; None where it has not come whole."""
    return int(_SIZE.unpack(data, at)[0]) if stop - at >= SIZE_BYTES else None
