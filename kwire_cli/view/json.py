"""The JSON views: one document for each message, on one line (jsonl) or indented (json).

Numbers stay numbers, null differs from empty, and keys keep their order. A capture has many lines, so there are two
writers: the standard library's, which loads quickly, and orjson, which writes quickly. `line_dumps` writes well-formed
messages directly as text, without the document of the line.
"""

from __future__ import annotations

import json
from functools import cache
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from kwire_cli.message.roles import RAW, is_internal

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.known_layout import Plain
    from kwire_cli.message.roles import RecordsAs
    from kwire_cli.records.batch import Hide
    from kwire_cli.source.kafka.captured import Captured

SHORT = 1e-4
"""Seconds below which Python shows a float with an exponent."""


def dumps(document: Any, *, indent: bool) -> str:
    """Return JSON text. Characters outside ASCII are not escaped; documents cannot contain lone surrogates."""
    return json.dumps(
        document, ensure_ascii=False, indent=2 if indent else None, separators=None if indent else (",", ":")
    )


def many_dumps(document: Any) -> bytes:
    """Return a document on one line with a line end. This writer is faster than `dumps`, but slower to load."""
    import orjson  # noqa: PLC0415 - costs as much as a hundred lines

    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def line_dumps(
    line: Captured, records: str, hide: Hide | None = None, field_text: Callable[[bytes], Any] | None = None
) -> bytes:
    """Return the text that `many_dumps` returns for the document of a line, in most cases without that document.

    The message must not have secrets to hide. `field_text` converts the bytes of a records field to JSON if its topic
    is not internal.
    """
    plain = line.plain
    topics = line.topics
    body = _body(line, plain, topics, records, hide, field_text) if plain else None
    if plain is None or body is None:
        return many_dumps(line.to_json(records=records, hide=hide))
    event = line.seen
    request = line.request
    time = line.time
    after = f',"requestFrame":{request.number}' if request else ""
    if request and (latency := line.latency) is not None:
        after += (
            f',"latency":{latency!r}' if latency >= SHORT or latency <= 0 else f',"latency":{latency:.9f}'.rstrip("0")
        )
    if topics:
        after += f',"topics":[{",".join(map(encode_basestring, topics))}]'
    when = f'"{time}"' if time else "null"
    origin = line.origin
    packet = event.packet
    labels = ""
    if origin.several or origin.capture is not None:
        file, packet = line.where  # type: ignore[assignment] # a packet that is known has a number
        labels = "".join(f'"{name}":{encode_basestring(text or "")},' for name, text in origin.labels(file).items())
    place = f'"src":"{line.src}","dst":"{line.dst}","stream":{line.stream},"packet":{packet}'
    frame = plain.tail.form % (event.size, plain.correlation_id)
    before = f'{{{labels}"frame":{line.number},"time":{when},{place},{frame},"body":'
    return b"".join((before.encode(), body, f',"anomalies":[]{after}}}\n'.encode()))


def _body(
    line: Captured,
    plain: Plain,
    topics: list[str],
    records: str,
    hide: Hide | None,
    field_text: Callable[[bytes], Any] | None,
) -> bytes | None:
    """Return the JSON of a body. Return None if its records need the document of the line."""
    if records != "decoded" or not plain.layout.has_records:
        return _dumps()(plain.body(records))
    if field_text is None:
        return None
    for topic in topics:
        if is_internal(topic):
            return _dumps()(plain.body(records, line.reading(hide, field_text)))
    return _dumps()(plain.body(RAW), default=field_text)


@cache
def _dumps() -> Callable[..., bytes]:
    import orjson  # noqa: PLC0415 - as above

    return orjson.dumps


def message_document(
    decoded: Decoded, *, records: str, lossless: bool, hidden: frozenset[int], reading: RecordsAs | None = None
) -> dict[str, Any]:
    """Return the document of a body without frame or header: its message and version, the body, and its anomalies.

    If the body does not start at the first byte of its data, the bytes before it are its version.
    """
    out: dict[str, Any] = {"message": decoded.message, "version": decoded.version, "size": decoded.stop - decoded.start}
    out["body"] = decoded.to_json(records=records, lossless=lossless, hidden=hidden, reading=reading)
    if decoded.start:
        out["versionPrefix"] = True
    if decoded.guess:
        out["guess"] = True
    return out | {"anomalies": [anomaly._asdict() for anomaly in decoded.anomalies]}
