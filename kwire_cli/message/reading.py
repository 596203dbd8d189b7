"""Reading frames from bytes: where they begin and end, and whether some bytes are a request, or which response."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING, Anomaly
from kwire_cli.errors import InputError
from kwire_cli.message.decoded import Decoded, as_bytes, decode
from kwire_cli.message.frames import LEAST_CLIENT_ID, MAX_SIZE, NEWER_APIS, NEWER_VERSIONS, NO_VERSION, SIZE_BYTES, Frame, Hints, says_size
from kwire_cli.message.headers import RequestHead, decode_header, header_version, request_head
from kwire_cli.spec.kafka import API_VERSIONS, PRODUCE

if TYPE_CHECKING:
    from kwire_cli.spec.catalog import Api, Catalog

API_KEY_BYTES = 2
UNSUPPORTED_VERSION = 35


def split(data: Any, start: int = 0, stop: int | None = None) -> list[tuple[int, int, bool]]:
    """The frames in some bytes as (start, stop, whether its whole size prefix is right).

    Size prefixes lead from one frame to the next. Where they do not lead to the very end, the last one is what is left; bytes that do not even begin
    with a size that fits come back as one piece.
    """
    data = as_bytes(data)
    stop = len(data) if stop is None else stop
    frames = []
    at = start
    while stop - at >= 8:
        size = says_size(data, at, stop) or 0
        if not 4 <= size <= stop - at - SIZE_BYTES:
            break
        frames.append((at, at + SIZE_BYTES + size, True))
        at += SIZE_BYTES + size
    return [*frames, (at, stop, False)] if at < stop else frames


def read_all(catalog: Catalog, data: Any, hints: Hints, *, first: int = 1, framed: bool | None = None) -> list[Frame]:
    """The frames in some bytes, numbered from `first`. `framed` says whether size prefixes stand before them; None leaves it to the bytes."""
    data = as_bytes(data)
    pieces = split(data) if framed is not False else [(0, len(data), False)]
    if not pieces:
        return []

    def read_pieces(parts: list[tuple[int, int, bool]], *, prefixed: bool) -> list[Frame]:
        spots = enumerate(parts, first)
        return [read(catalog, data, hints, number=i, start=a, stop=b, prefixed=prefixed) for i, (a, b, _) in spots]

    if framed is not None or pieces[-1][2]:
        return read_pieces(pieces, prefixed=framed is not False)
    said = says_size(data, 0, len(data)) or 0
    if said < 0 and _is_left_to_bytes(hints):
        return read_pieces(pieces, prefixed=True)
    # No row of whole frames: one message without a prefix, or frames of which the last was cut. Whatever reads better.
    bare = read_pieces([(0, len(data), False)], prefixed=False)
    if bare[0].sure or (len(pieces) == 1 and not 0 <= said <= MAX_SIZE):
        return bare
    cut = read_pieces(pieces, prefixed=True)
    if len(cut) == 1 and _is_cut_request(cut[0]):
        from kwire_cli.message.guess import frame_bits  # noqa: PLC0415 - for bytes alone that may be either

        return bare if bare[0].guess and frame_bits(catalog, bare[0]) < frame_bits(catalog, cut[0]) else cut
    if bare[0].guess and _ends_in_api_key(catalog, data):
        return cut
    return min(bare, cut, key=_oddness)


def _is_left_to_bytes(hints: Hints) -> bool:
    """Return whether nobody said what the bytes are."""
    return hints.kind is None and hints.api is None


def _ends_in_api_key(catalog: Catalog, data: Any) -> bool:
    """Return whether the bytes may be a request's size and api key and no more: too few to tell them from a response without a size."""
    key = bytes(data[SIZE_BYTES : SIZE_BYTES + API_KEY_BYTES])
    known = len(data) < 2 * SIZE_BYTES and len(key) == API_KEY_BYTES and any(key) and catalog.api_by_key(int.from_bytes(key, "big"))
    return bool(known) and 2 * SIZE_BYTES <= (says_size(data, 0, len(data)) or 0) <= MAX_SIZE


def _oddness(frames: list[Frame]) -> tuple[int, int, int, int]:
    sure = sum(frame.size for frame in frames if frame.sure)
    # what another version's layout reads, and not to its end, counts as unread
    bodies = [frame.body if frame.body and (frame.body.complete or not frame.body.guess) else None for frame in frames]
    unread = sum(frame.stop - body.raw.used if body else frame.size for frame, body in zip(frames, bodies, strict=True))
    guessed = sum(frame.guess or (frame.body is not None and frame.body.guess) for frame in frames)
    return -sure, unread, guessed, sum(len(frame.anomalies) for frame in frames)


def read(catalog: Catalog, data: Any, hints: Hints, *, number: int, start: int, stop: int, prefixed: bool) -> Frame:
    """One frame: as a request if its header says so and its body fits, otherwise as the response that fits best."""
    data = as_bytes(data)
    notes: tuple[Anomaly, ...] = ()
    at = start
    if prefixed:
        at = min(start + SIZE_BYTES, stop)
        size = says_size(data, start, stop)
        if size is not None and size != stop - at:
            notes = (Anomaly("FRAME_SIZE_MISMATCH", "", start, f"the size prefix says {size}, {stop - at} bytes follow"),)
            if size < 0:
                # its number is not shown: it may be bytes of a secret
                notes = (notes[0]._replace(detail="these four bytes read as a negative size, and no frame has one"),)
            if size < 0 and _is_left_to_bytes(hints):
                return Frame(catalog, number, "unknown", data, start, stop, notes=notes, flavour=hints.header)
    frame = Frame(catalog, number, "unknown", data, start, stop, prefixed=prefixed, notes=notes, flavour=hints.header)
    request = _request(catalog, frame, at, hints) if hints.kind != "response" else frame
    if hints.kind == "request" or (request.sure and not request.contradicts(hints)):
        return request
    if _is_cut_request(request) and not (hints.api and hints.version is not None):
        # A response would have to fit to the last byte, and this is not the last one.
        return request
    if hints.kind is None and _is_newer(request) and not request.contradicts(hints):
        # Of an api or version that is not known; a response hardly has text where the client id stands.
        return request
    response = _response(catalog, frame, at, hints)
    if (request.sure and not response.sure) or (response.kind != "response" and (hints.kind or hints.api or _may_be_request(request))):
        return request
    return response


def unrecognised(frame: Frame) -> Frame:
    """Return the frame as bytes that are neither a request nor a response."""
    notes = tuple(note for note in frame.notes if note.code != "UNKNOWN_API")
    return Frame(frame.catalog, frame.number, "unknown", frame.data, frame.start, frame.stop, prefixed=frame.prefixed, notes=notes)


def _is_newer(frame: Frame) -> bool:
    """Whether it is a request of an api that is not known, or of a version a little above those that are."""
    if frame.kind != "request" or not _has_client(frame):
        return False
    return frame.api is None or (frame.body is not None and 0 < frame.body.version - frame.body.spec.valid_versions.high <= NEWER_VERSIONS)


def _has_client(frame: Frame) -> bool:
    if frame.header is None or not frame.header.complete or frame.header.anomalies:
        return False
    client_id = frame.header.value.get("clientId") or ""
    return len(client_id) > LEAST_CLIENT_ID and client_id.isascii() and client_id.isprintable()


def _may_be_request(frame: Frame) -> bool:
    """Return whether a frame may be a request by its head: a version that is known or a little newer, and a client id that is text.

    "Correlation id 7" of a response reads as "Produce version 7": a Produce request has to name its client.
    """
    api = frame.catalog.api_by_key(frame.api_key) if frame.kind == "request" and frame.api_key is not None else None
    if not api or not api.request or frame.header is None or frame.api_version is None:
        return False
    versions = frame.catalog.entry(api.request).valid_versions
    if not versions or not 0 <= frame.api_version <= versions.high + NEWER_VERSIONS or {a.code for a in frame.header.anomalies} - {"TRUNCATED"}:
        return False
    client_id = frame.header.value.get("clientId") or ""
    return client_id.isprintable() and (bool(client_id) or api.key != PRODUCE)


def _names_client(frame: Frame) -> bool:
    return frame.header is not None and bool(frame.header.value.get("clientId"))


def _is_cut_request(frame: Frame) -> bool:
    """Return whether a frame is a request that ends before its size says: one that names its client, or in which only the end is anomalous."""
    if not frame.cut or not _may_be_request(frame):
        return False
    found = [anomaly.code for part in (frame.header, frame.body) if part for anomaly in part.anomalies]
    return _names_client(frame) or set(found) <= {"TRUNCATED", "LAYOUT_AMBIGUOUS"}


def _request(catalog: Catalog, frame: Frame, at: int, hints: Hints) -> Frame:
    head = request_head(catalog, frame.data, at, frame.stop) or _cut_head(catalog, frame, at)
    if head is None:
        return frame
    key, version = head.api_key, head.version
    api = catalog.api_by_key(key)
    if hints.kind == "request" and ((hints.api and hints.api.key != key) or hints.version not in {None, version}):
        said = (f"api {hints.api.name}" if hints.api else "") + ("" if hints.version is None else f" version {hints.version}")
        known = api and 0 <= version < NO_VERSION
        # Numbers of no known api may be bytes of a secret.
        says = f"api key {key} version {version}" if known else "an api or version that is not known"
        raise InputError(f"the request's header says {says}, not {said.strip()}; omit --api and --version for requests")
    if not api or not api.request:
        unknown = _unknown_request(catalog, frame, at, hints, key, version)
        newer = 0 <= key <= max(known.key for known in catalog.apis) + NEWER_APIS and 0 <= version <= NEWER_VERSIONS
        return unknown if hints.kind == "request" or (newer and hints.kind is None and _has_client(unknown)) else frame
    layout = 2 if hints.header == "kip482" else header_version(catalog, "request", key, version)
    header = decode_header(catalog, "request", layout, frame.data, start=at, stop=frame.stop, flavour=hints.header)
    body = _body(catalog, api, frame, header.raw.used, version, request=True) if header.complete else None
    return replace(frame, kind="request", api_key=key, api=api.name, api_version=version, header=header, body=body)


def _cut_head(catalog: Catalog, frame: Frame, at: int) -> RequestHead | None:
    """What a request that ends in its head says of itself."""
    known = decode_header(catalog, "request", 0, frame.data, start=at, stop=frame.stop).value
    key, version = known.get("requestApiKey"), known.get("requestApiVersion")
    return None if key is None or version is None else RequestHead(key, version, known.get("correlationId", 0))


def _unknown_request(catalog: Catalog, frame: Frame, at: int, hints: Hints, key: int, version: int) -> Frame:
    """Every api since KIP-482 is flexible; older headers have no tag section, and what stands in its place is then no empty one."""
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


def _response(catalog: Catalog, frame: Frame, at: int, hints: Hints) -> Frame:
    if hints.api and hints.version is not None:
        return respond(catalog, frame, at, hints.api, hints.version)
    from kwire_cli.message.guess import response_candidates  # noqa: PLC0415 - it reads every response's definition

    found = response_candidates(catalog, frame.data, at, frame.stop, api=hints.api, version=hints.version)
    if not found:
        return frame
    best = respond(catalog, frame, at, found[0].api, found[0].version)
    return replace(best, guess=True, candidates=tuple(str(candidate) for candidate in found))


def respond(catalog: Catalog, frame: Frame, at: int, api: Api, version: int) -> Frame:
    """The frame as the response of an api and version; an ApiVersions response falls back to version 0, as Kafka's client does."""
    if not api.response:
        raise InputError(f"no definition of the response of {api.name} is known")
    header = decode_header(catalog, "response", header_version(catalog, "response", api.key, version), frame.data, start=at, stop=frame.stop)
    body = _body(catalog, api, frame, header.raw.used, version) if header.complete else None
    if body and api.key == API_VERSIONS and version > 0 and not body.exact:
        old = _body(catalog, api, frame, header.raw.used, 0)
        if old.exact and old.value.get("errorCode") == UNSUPPORTED_VERSION:
            note = Anomaly("VERSION_FALLBACK", "", old.start, MEANING["VERSION_FALLBACK"])
            body = replace(old, notes=(*old.notes, note))
    return replace(frame, kind="response", api_key=api.key, api=api.name, api_version=version, header=header, body=body)
