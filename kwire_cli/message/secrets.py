"""Secrets in messages: which fields contain them, and which spans of a decoded message.

Kafka's own request log hides only the values of AlterConfigs. kwire also hides SASL tokens, SCRAM salts and keys,
delegation-token HMACs and the values of sensitive configs, and data that contains them: forwarded requests, and bytes
of such messages that could not be decoded. If the type of the bytes is uncertain (an unknown version, a guessed
response, a raw SASL token), possible secrets are hidden.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from kwire_cli.engine.program import Leaf, Struct
from kwire_cli.engine.tree import Item, places
from kwire_cli.engine.values import leaf_value
from kwire_cli.message.decoded import by_span
from kwire_cli.message.encode import head_size
from kwire_cli.message.frames import (
    HEAD,
    NO_VERSION,
    PAYLOADS,
    SIZE_BYTES,
    Forwarded,
    Hints,
    has_client,
    holds,
    read,
    respond,
)
from kwire_cli.message.roles import (
    CONFIG_VALUES,
    FORWARDED,
    SECRET_FIELDS,
    WITH_RECORDS,
    RecordsAs,
    can_hold_secrets,
    is_doubtful,
    is_internal,
    may_hold_secrets,
    role_values,
    roles,
    topics_in,
)
from kwire_cli.spec.kafka import is_sensitive_config
from kwire_cli.structs.lengths import Sized
from kwire_cli.structs.numbers import Uuid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire_cli.engine.codes import Anomaly
    from kwire_cli.engine.values import Body
    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.frames import Frame
    from kwire_cli.records.batch import Batch
    from kwire_cli.records.gaps import Gap
    from kwire_cli.records.kafka_topics import RecordPayload
    from kwire_cli.spec.catalog import Catalog


_CONFIG_NAME = re.compile(r"[A-Za-z0-9._-]*")
"""The names of Kafka's configs. Any other name is taken for a damaged one."""
KEY_BYTES = 2
"""The bytes of the api key with which a request's header begins."""
OUTSIDE = "outside"
"""A key in the result of `hidden_in_frame`: the bytes of a frame outside its parts are secret."""


def hidden_spans(
    catalog: Catalog, decoded: Body, *, raw_records: bool = False, topics: Sequence[str] = ()
) -> frozenset[int]:
    """Return the numbers of the spans that hold secrets: all spans of a message that may hold secrets and is malformed.

    Some length in it may be wrong, or its first byte, or the name of a config. `topics` are named by a response's
    request.
    """
    if is_doubtful(decoded.message, decoded.raw, topics):
        return everything(decoded)
    if raw_records and decoded.message in WITH_RECORDS:
        return hidden_records(catalog, decoded)
    if not can_hold_secrets(decoded.message):
        return frozenset()
    parts = _secret_parts(catalog, decoded)
    if decoded.guess or decoded.message in SECRET_FIELDS:
        parts += _unknown_parts(decoded)
    hidden = {part.span for part in parts if part.whole and part.end > decoded.raw.value[part.span]}
    if decoded.guess and (reached := hidden | {part.span for part in parts}):
        hidden |= {*range(min(reached), len(decoded.raw.node))}
    return frozenset(hidden)


def everything(decoded: Body) -> frozenset[int]:
    """Return all spans of a message."""
    return frozenset(range(len(decoded.raw.node)))


def hidden_records(catalog: Catalog, body: Body) -> frozenset[int]:
    """Return the numbers of the spans of records whose bytes contain secrets, in fetched records of the metadata log.

    Bytes of that log that are not a complete batch count as secret.
    """
    reading = RecordsAs(catalog)
    data = body.raw.data
    sets = [
        (at, record_set)
        for at, record_set in by_span(roles(body.spec, body.entry), body.raw)
        if is_internal(record_set.topic)
    ]
    return frozenset(
        at
        for at, record_set in sets
        if _records_hold_secrets(
            catalog, reading.items(bytes(data[record_set.start : record_set.stop]), record_set.topic)
        )
    )


def _records_hold_secrets(catalog: Catalog, items: Iterable[Batch | Gap]) -> bool:
    from kwire_cli.records.batch import payload_of  # noqa: PLC0415 - as above
    from kwire_cli.records.gaps import Gap  # noqa: PLC0415 - start-up counts, and hardly any message holds such records

    for item in items:
        if isinstance(item, Gap) or is_damaged(item):
            return True
        for payload in filter(None, (payload_of(item, record) for record in item.records())):
            if payload.unknown_control:
                return True
            if payload.record and (not payload.known or any(hidden_in_record(catalog, payload.record).values())):
                return True
    return False


def is_damaged(batch: Batch) -> bool:
    """Return whether the checksum of a batch is wrong or its end is missing, or a length or count in it is wrong.

    Any part of its records may then have bytes of another part.
    """
    notes: list[Anomaly] = []
    for _ in batch.pieces(notes):
        pass
    return bool(notes) or not batch.crc_valid


def hidden_in_record(catalog: Catalog, payload: RecordPayload) -> dict[str, frozenset[int]]:
    """Return the hidden spans of a record of one of Kafka's own topics, by "key" and "value"."""
    if payload.secret is not None:
        return dict.fromkeys(payload.secret, frozenset({0}))
    parts = {"key": payload.key, "value": payload.value}
    by_part = {
        name: hidden
        for name, part in parts.items()
        if part and part.body and (hidden := hidden_spans(catalog, part.body))
    }
    if payload.value and not payload.value.body and payload.value.plain is None:
        by_part["value"] = frozenset({0})  # of an unknown type, or in a frame of an unknown version
    return by_part


def is_believed(frame: Frame) -> bool:
    """Return whether a frame probably starts at the right place, judged by its own bytes.

    A request with an unprintable client id is believed too, if its size prefix counts its bytes, and its key and
    version
    are known ones of an api that carries no secrets: a middlebox that mangles text leaves them as they are. Shifted
    bytes rarely have both, except zeros.
    """
    if frame.credible:
        return True
    if frame.kind != "request" or frame.header is None or not (frame.counted and frame.api_key and frame.api_version):
        return False
    api = frame.catalog.api_by_key(frame.api_key)
    if api is None or not api.request or any(map(can_hold_secrets, (api.request, api.response))):
        return False
    return frame.api_version in frame.catalog.entry(api.request).valid_versions


def hidden_in_frame(
    catalog: Catalog,
    frame: Frame,
    *,
    known: bool = False,
    asked: Frame | None = None,
    topics: Sequence[str] = (),
    raw_records: bool = False,
) -> dict[str, frozenset[int]]:
    """Return the hidden spans of a frame's parts, by the name of the part.

    The name OUTSIDE is included if bytes between and after the parts are secret.

    `known` is set if the frame's api is certain: from a request's header, or from the request of a response (`asked`),
    which also names `topics`. With `raw_records`, records are shown as bytes.
    """
    sure = frame.sure and (known or frame.kind == "request")
    topics = topics or _topics(asked)
    secret_api = _of_secret_api(frame, topics)
    if sure and not secret_api and not (frame.body and can_hold_secrets(frame.body.message, raw_records=raw_records)):
        return {}
    data = memoryview(frame.data)[frame.start : frame.stop]
    secret_guess = frame.guess and any(may_hold_secrets(each.message, data, topics) for each in frame.candidates)
    doubtful = (secret_api and _has_doubtful_header(frame, known=known)) or (secret_guess and not frame.counted)
    if not (sure or is_believed(frame)) or doubtful:
        return whole_frame_hidden(frame)
    hidden = {
        name: spans
        for name, part in frame.parts
        if (spans := hidden_spans(catalog, part, raw_records=raw_records, topics=topics))
    }
    if frame.header and secret_api and (tags := _unknown_parts(frame.header)):
        hidden["header"] = frozenset(tag.span for tag in tags)
    aligned = frame.body is not None and frame.body.raw.aligned
    if sure and aligned:
        return hidden | _hidden_inside(catalog, frame, asked)
    if frame.body and holds(frame.body.message) and hidden:
        hidden[PAYLOADS] = frozenset()
    if sure:
        return hidden
    fits = frame.likely and aligned and frame.counted
    secret = _token(frame) or [*_of_candidates(catalog, frame), *_of_requests(catalog, frame, strict=fits)]
    if frame.guess:  # unknown tags may have any bytes, and so may strings after a missing byte
        parts = [part for part in (frame.header, frame.body) if part]
        for part in parts:
            secret += ((item.start, item.end) for item in _unknown_parts(part, is_shifted=not aligned))
    if frame.header and not frame.body and secret_api:
        # The header could not be read, so its body may start elsewhere. The bytes that were read as the header may also
        # belong to the body if they reach the end.
        head = frame.header.start + head_size(frame.kind)
        secret.append((frame.header.raw.used if frame.header.raw.used < frame.stop else head, frame.stop))
    for name, part in frame.parts:
        more = _overlapping(part, secret)
        if part.tree.gap and not (name == "body" and frame.cut and part.raw.lost >= 0):
            more |= {part.tree.gap.span}  # unknown bytes of a frame that is complete
        if name != "size" and more:
            hidden[name] = hidden.get(name, frozenset()) | more
    if frame.likely and not hidden and not secret_guess:
        return {}
    return hidden | {OUTSIDE: frozenset()}


def _topics(asked: Frame | None) -> list[str]:
    body = asked.body if asked else None
    names, ids = topics_in(role_values(roles(body.spec, body.entry), body.raw)) if body else ([], [])
    return [*names, *ids]


def _of_secret_api(frame: Frame, topics: Sequence[str]) -> bool:
    """Return whether a request or response of the frame's api may hold secrets."""
    api = frame.catalog.named_api(frame.api_key) if frame.api_key is not None else None
    data = memoryview(frame.data)[frame.start : frame.stop]
    return api is not None and any(may_hold_secrets(message, data, topics) for message in (api.request, api.response))


def _has_doubtful_header(frame: Frame, *, known: bool) -> bool:
    """Return whether a frame that may hold secrets has a malformed header, so that a part of the body may be in it.

    The header of a request may be incomplete if the bytes of the frame end in it. A response fits to the last byte,
    or is known to answer its request.
    """
    header = frame.header
    if header is None:
        return False
    if frame.kind == "request":
        return bool(header.raw.flags) or not (header.complete or frame.cut)
    exact = frame.body is not None and frame.body.exact
    return bool(header.raw.flags) or not header.complete or not (known or exact)


def _hidden_inside(catalog: Catalog, frame: Frame, asked: Frame | None) -> dict[str, frozenset[int]]:
    """Return the hidden spans of the messages in a frame's fields, by the path of the field and the part."""
    by_path: dict[str, frozenset[int]] = {}
    for message in frame.inside(asked):
        if isinstance(message, Forwarded):
            inner = hidden_in_frame(catalog, message.frame, known=True)
            if OUTSIDE in inner:
                inner = whole_frame_hidden(message.frame)
            by_path |= {f"{message.path}:{name}": spans for name, spans in inner.items()}
        elif message.body and (spans := hidden_spans(catalog, message.body)):
            by_path[f"{message.path}:body"] = spans
    return by_path


def whole_frame_hidden(frame: Frame) -> dict[str, frozenset[int]]:
    """Return the hidden parts of a frame whose contents are uncertain: all except a size prefix that counts its bytes.

    The correlation id of a guess is shown, so that its request can be found.
    """
    hidden = {name: everything(part) for name, part in frame.parts if name != "size" or not frame.counted}
    hidden |= {OUTSIDE: frozenset(), PAYLOADS: frozenset()}
    if not frame.guess or not frame.header or _token(frame):
        return hidden | {HEAD: frozenset()}
    correlation_id = {item.span for path, item in places(frame.header.tree.root) if path == "correlationId"}
    return hidden | {"header": hidden["header"] - correlation_id}


def _unknown_parts(decoded: Body, *, is_shifted: bool = False) -> list[Item]:
    """Return the items that may be secret because their meaning is unknown.

    These are unknown tags, and all text, bytes and uuids in the layout of another version or if bytes may have moved.
    """
    leaves = (item for _, item in places(decoded.tree.root) if isinstance(item.node, Leaf))
    opaque = (Sized, Uuid) if decoded.guess or is_shifted else ()
    return [item for item in leaves if item.leaf.kind == "unknown-tag" or isinstance(item.leaf.decl, opaque)]


def holds_token(frame: Frame) -> bool:
    """Return whether a frame that is not understood holds a raw SASL token and nothing else."""
    return not frame.sure and bool(_token(frame))


def _token(frame: Frame) -> list[tuple[int, int]]:
    """Return where a frame holds a raw SASL token and nothing else, as after SaslHandshake 0."""
    # Its size prefix may have been taken for something else.
    starts = [frame.prefix.stop] if frame.prefix else [frame.start, frame.start + SIZE_BYTES]
    return [(start, frame.stop) for start in starts if _tokens().fullmatch(bytes(frame.data[start : frame.stop]))]


@cache
def _tokens() -> re.Pattern[bytes]:
    plain = rb"[^\x00-\x1f]*\x00[^\x00-\x1f]+\x00[^\x00-\x1f]+"
    scram = rb"[nyp](?:=[^,]*)?,[^,]*,(?:n=|m=|\x01).*|r=[^,]+,s=.*|c=[^,]+,r=.*|v=[A-Za-z0-9+/=]+"
    return re.compile(rb"(?s:%b|%b)" % (plain, scram))


def _of_candidates(catalog: Catalog, frame: Frame) -> list[tuple[int, int]]:
    """Return where a guessed response holds secrets if it is another one of the candidates that fit."""
    if not frame.guess or not frame.header:
        return []
    ranges = []
    for candidate in frame.candidates:
        if candidate.kind == "response" and can_hold_secrets(candidate.api.response):
            body = respond(catalog, frame, frame.header.start, candidate.api, candidate.version).body
            ranges += (
                [(body.raw.value[span], body.raw.end[span]) for span in hidden_spans(catalog, body)] if body else []
            )
    return ranges


def _of_requests(catalog: Catalog, frame: Frame, *, strict: bool) -> list[tuple[int, int]]:
    """Return where a frame holds secrets if it is a request after all, or one of another api.

    The request may be cut or of an unknown version, with a size prefix or without. With `strict` it has to name its
    client or a known version of an api with secrets, or to fit to the last byte, as one of another api has to.
    """
    ranges = _of_other_apis(catalog, frame) if frame.kind == "request" and frame.header else []
    for start in (frame.start, frame.start + SIZE_BYTES):
        if frame.stop - start < 8:
            continue
        tried = read(
            catalog,
            frame.data,
            Hints(kind="request", header=frame.flavour),
            number=1,
            start=start,
            stop=frame.stop,
            prefixed=False,
        )
        is_known = 0 <= (tried.api_version or 0) < NO_VERSION
        if strict and not (tried.sure or has_client(tried) or _names_secret_api(tried)):
            continue
        if is_known and tried.body and (can_hold_secrets(tried.body.message) or not frame.sure):
            ranges += (
                (tried.body.raw.value[span], tried.body.raw.end[span]) for span in hidden_spans(catalog, tried.body)
            )
    return ranges


def _names_secret_api(frame: Frame) -> bool:
    body = frame.body
    return body is not None and can_hold_secrets(body.message) and frame.api_version in body.spec.valid_versions


def _of_other_apis(catalog: Catalog, frame: Frame) -> list[tuple[int, int]]:
    """Return where a request holds secrets if its api key is wrong."""
    begin = frame.header.start if frame.header else frame.start
    rest = bytes(frame.data[begin + KEY_BYTES : frame.stop])
    ranges: list[tuple[int, int]] = []
    for api in catalog.apis:
        if api.request and can_hold_secrets(api.request):
            data = api.key.to_bytes(KEY_BYTES, "big") + rest
            hints = Hints(kind="request", header=frame.flavour)
            tried = read(catalog, data, hints, number=1, start=0, stop=len(data), prefixed=False)
            if tried.sure and tried.body:
                raw = tried.body.raw
                spans = hidden_spans(catalog, tried.body)
                ranges += ((begin + raw.value[span], begin + raw.end[span]) for span in spans)
    return ranges


def _overlapping(decoded: Decoded, secret: list[tuple[int, int]]) -> frozenset[int]:
    raw = decoded.raw
    overlapping: set[int] = set()
    for number, (value, end) in enumerate(zip(raw.value, raw.end, strict=True)):
        if any(value < secret_end and start < end for start, secret_end in secret):
            overlapping.add(number)
    return frozenset(overlapping)


def _secret_parts(catalog: Catalog, decoded: Body) -> list[Item]:
    message = decoded.message
    always = SECRET_FIELDS.get(message, frozenset())
    configs = CONFIG_VALUES.get(message, frozenset())
    items: list[Item] = []
    for _, item in places(decoded.tree.root):
        node = item.node
        if isinstance(node, Struct):
            if any(part.node.path in configs for part in item.parts) and _is_sensitive(item, decoded):
                # the synonyms of the config are secret too
                items += (part for _, part in places(item) if part.node.path in configs)
        elif not isinstance(node, Leaf) or not item.whole or node.kind in {"count", "presence", "tag-header"}:
            continue
        elif node.path in always or (node.path == FORWARDED.get(message) and _holds_secrets(catalog, decoded, item)):
            items.append(item)
    return items


def _is_sensitive(struct: Item, decoded: Body) -> bool:
    beside = {
        part.node.name: leaf_value(part, decoded.tree)
        for part in struct.parts
        if part.whole and part.node.name in {"name", "key", "isSensitive"}
    }
    return bool(beside.get("isSensitive")) or hides_value(beside.get("name", beside.get("key")))


def hides_value(config: str | None) -> bool:
    """Return whether the name of a config is sensitive, missing, or not a possible name of a Kafka config."""
    return config is None or not _CONFIG_NAME.fullmatch(config) or is_sensitive_config(config)


def _holds_secrets(catalog: Catalog, decoded: Body, item: Item) -> bool:
    start = decoded.raw.value[item.span]
    inner = read(catalog, decoded.raw.data, Hints(kind="request"), number=1, start=start, stop=item.end, prefixed=False)
    # An envelope in an envelope is never written, and would be a way to make this as deep as the input is long.
    return (
        not inner.sure or inner.api == decoded.message.removesuffix("Request") or bool(hidden_in_frame(catalog, inner))
    )
