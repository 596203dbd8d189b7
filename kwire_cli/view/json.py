"""The JSON views: one document a message, in one line (jsonl) or indented (json). Numbers stay numbers, null is not
empty, keys keep their order.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.folds import OddError
from kwire_cli.message.roles import is_internal

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
    """JSON text, as UTF-8 text itself and not escaped; lone surrogates can't occur."""
    return json.dumps(
        document, ensure_ascii=False, indent=2 if indent else None, separators=None if indent else (",", ":")
    )


def many_dumps(document: Any) -> bytes:
    """The same document in one line, with its end, by a faster writer that takes longer to load: for those who print
    many.
    """
    import orjson  # noqa: PLC0415 - costs as much as a hundred lines

    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def line_dumps(
    line: Captured, records: str, hide: Hide | None = None, field_text: Callable[[bytes], str] | None = None
) -> bytes:
    """As `many_dumps` of a line's document, for lines of a message in which nothing is to be hidden: mostly without
    making that.

    `field_text` makes the JSON of a records field whose records are nobody's messages.
    """
    plain, topics = line.plain, line.topics
    try:
        body = _body(line, plain, topics, records, hide, field_text) if plain else None
    except OddError:
        body = None
    if plain is None or body is None:
        return many_dumps(line.to_json(records=records, hide=hide))
    seen, request, time = line.seen, line.request, line.time
    after = f',"requestFrame":{request.number}' if request else ""
    if request and (latency := line.latency) is not None:
        after += (
            f',"latency":{latency!r}' if latency >= SHORT or latency <= 0 else f',"latency":{latency:.9f}'.rstrip("0")
        )
    if topics:
        after += f',"topics":[{",".join(map(encode_basestring, topics))}]'
    when = f'"{time}"' if time else "null"
    origin, packet, labels = line.origin, seen.packet, ""
    if origin.several or origin.capture is not None:
        file, packet = line.where  # type: ignore[assignment] # a packet that is known has a number
        labels = "".join(f'"{name}":{encode_basestring(text or "")},' for name, text in origin.labels(file).items())
    place = f'"src":"{line.src}","dst":"{line.dst}","stream":{line.stream},"packet":{packet}'
    frame = plain.tail.form % (seen.size, plain.correlation_id)
    return (
        f'{{{labels}"frame":{line.number},"time":{when},{place},{frame},"body":{body},"anomalies":[]{after}}}\n'
    ).encode()


def _body(
    line: Captured,
    plain: Plain,
    topics: list[str],
    records: str,
    hide: Hide | None,
    field_text: Callable[[bytes], str] | None,
) -> str | None:
    """The JSON of a body: by a text of its shape, or else a fold."""
    if records != "decoded" or not plain.layout.has_records:
        shown = "base64" if records == "decoded" else records
        return plain.text(shown) or _quick(plain.body(shown))
    if field_text is None:
        return None
    return (None if any(map(is_internal, topics)) else plain.text(field_text)) or _with_records(
        line, plain, hide, field_text
    )


def _with_records(line: Captured, plain: Plain, hide: Hide | None, field_text: Callable[[bytes], str]) -> str:
    from orjson import Fragment  # noqa: PLC0415 - as above

    return _quick(plain.body("decoded", line.reading(hide, lambda data: Fragment(field_text(data)))))


def _quick(document: Any) -> str:
    return many_dumps(document)[:-1].decode()


def message_document(
    decoded: Decoded, *, records: str, lossless: bool, hidden: frozenset[int], reading: RecordsAs | None = None
) -> dict[str, Any]:
    """A body without frame or header: what it was decoded as, the body, and its anomalies."""
    out: dict[str, Any] = {"message": decoded.message, "version": decoded.version, "size": decoded.stop - decoded.start}
    out["body"] = decoded.to_json(records=records, lossless=lossless, hidden=hidden, reading=reading)
    if decoded.guess:
        out["guess"] = True
    return out | {"anomalies": [anomaly._asdict() for anomaly in decoded.anomalies]}
