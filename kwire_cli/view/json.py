"""The JSON views: one document a message, in one line (jsonl) or indented (json). Numbers stay numbers, null is not empty, keys keep their order."""

from __future__ import annotations

import contextlib
import json
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.folds import OddError
from kwire_cli.message.record_fields import is_internal

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire_cli.message.decoded import Decoded
    from kwire_cli.message.record_fields import RecordsAs
    from kwire_cli.records.model import Hide
    from kwire_cli.source.kafka.captured import Captured


def dumps(document: Any, *, indent: bool) -> str:
    """JSON text, as UTF-8 text itself and not escaped; lone surrogates can't occur."""
    return json.dumps(document, ensure_ascii=False, indent=2 if indent else None, separators=None if indent else (",", ":"))


def many_dumps(document: Any) -> bytes:
    """The same document in one line, with its end, by a faster writer that takes longer to load: for those who print many."""
    import orjson  # noqa: PLC0415 - costs as much as a hundred lines

    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def line_dumps(line: Captured, records: str, hide: Hide | None = None, field_text: Callable[[bytes], str] | None = None) -> bytes:
    """As `many_dumps` of a line's document, for lines of a message in which nothing is to be hidden: mostly without making that.

    `field_text` makes the JSON of a records field whose records are nobody's messages.
    """
    plain, topics = line.plain, line.topics
    body = None
    with contextlib.suppress(OddError):
        if not plain:
            pass
        elif records != "decoded" or not plain.layout.has_records:
            body = plain.text("base64" if records == "decoded" else records)
        elif field_text and not any(map(is_internal, topics)):
            body = plain.text(field_text)
    if plain is None or body is None:
        return many_dumps(line.to_json(records=records, hide=hide))
    seen, layout, time = line.seen, plain.layout, line.time
    place = f'"src":"{line.src}","dst":"{line.dst}","stream":{line.stream},"packet":{seen.packet},"kind":"{layout.kind}","size":{seen.size}'
    api = f'"apiKey":{layout.api_key},"api":"{layout.api}","apiVersion":{layout.version}'
    header = f'"headerVersion":{layout.header_version},"correlationId":{plain.correlation_id}{plain.tail.text}'
    answers = f',"requestFrame":{line.request.number}' if line.request else ""
    if answers and (latency := line.latency) is not None:
        answers += f',"latency":{latency!r}'
    if topics:
        answers += f',"topics":[{",".join(map(encode_basestring, topics))}]'
    when = f'"{time}"' if time else "null"
    return f'{{"frame":{line.number},"time":{when},{place},{api},"header":{{{header}}},"body":{body},"anomalies":[]{answers}}}\n'.encode()


def message_document(decoded: Decoded, *, records: str, lossless: bool, hidden: frozenset[int], reading: RecordsAs | None = None) -> dict[str, Any]:
    """A body without frame or header: what it was decoded as, the body, and its anomalies."""
    out: dict[str, Any] = {"message": decoded.message, "version": decoded.version, "size": decoded.stop - decoded.start}
    out["body"] = decoded.to_json(records=records, lossless=lossless, hidden=hidden, reading=reading)
    if decoded.guess:
        out["guess"] = True
    return out | {"anomalies": [anomaly._asdict() for anomaly in decoded.anomalies]}
