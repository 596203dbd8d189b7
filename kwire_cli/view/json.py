"""The JSON views: one document a message, in one line (jsonl) or indented (json). Numbers stay numbers, null is not empty, keys keep their order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire_cli.message.decoded import Decoded


def dumps(document: Any, *, indent: bool) -> str:
    """JSON text, as UTF-8 text itself and not escaped; lone surrogates can't occur."""
    return json.dumps(document, ensure_ascii=False, indent=2 if indent else None, separators=None if indent else (",", ":"))


def many_dumps(document: Any) -> bytes:
    """The same document in one line, with its end, by a faster writer that takes longer to load: for those who print many."""
    import orjson  # noqa: PLC0415 - costs as much as a hundred lines

    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def message_document(decoded: Decoded, *, records: str, lossless: bool, hidden: frozenset[int]) -> dict[str, Any]:
    """A body without frame or header: what it was decoded as, the body, and its anomalies."""
    out: dict[str, Any] = {"message": decoded.message, "version": decoded.version, "size": decoded.stop - decoded.start}
    out["body"] = decoded.to_json(records=records, lossless=lossless, hidden=hidden)
    if decoded.guess:
        out["guess"] = True
    return out | {"anomalies": [anomaly._asdict() for anomaly in decoded.anomalies]}
