"""A line for each frame, message or batch, for people in a hurry and for language models.

A line shows only what differs from the defaults, in the order of the JSON form, in at most `MOST` characters. A list
that is cut counts its other elements: `[a,b,+7]`.
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any

from kwire_cli.spec.model import default_value
from kwire_cli.view.lines import escaped, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.spec.catalog import Catalog
    from kwire_cli.spec.model import FieldSpec, MessageSpec

MOST = 400
"""The most characters of a line."""
_LISTS = ((8, 8), (3, 3), (1, 1), (1, 0), (0, 0))
"""The most elements of a list, and messages in fields, to show. The first pair is used that makes a short line."""
_LONGEST = 64
"""The most characters of a text to show."""
_NAMED = 3
"""The most errors and candidates that a line names."""
_BARE = re.compile(r"[\w.:/@+-]+|<redacted \d+ bytes>")
"""Text that needs no quotes."""
_EMPTY: tuple[Any, ...] = (None, [], (), {}, "")
_USUAL = {
    "magic": 2,
    "crcValid": True,
    "compression": "none",
    "timestampType": "CreateTime",
    "producerId": -1,
    "producerEpoch": -1,
    "baseSequence": -1,
    "sequence": -1,
    "isTransactional": False,
    "isControl": False,
    "guess": False,
    "prefixed": True,
}
"""Values that nearly all batches, records and frames have. A line omits them."""
_OCTETS = ("key", "value")
"""The names of base64 values in a record. The `key` of a record's header is plain text."""
_UNSAID = frozenset({"crc", "keySize", "valueSize", "packet", "apiKey", "headerVersion"})
"""Names that a line omits, whatever their value."""


def line_text(catalog: Catalog, document: Mapping[str, Any]) -> str:
    """Return the line of a frame, message or other subject of a capture, from its JSON form with records by size."""
    return _shortest(lambda most, inside: _line(catalog, document, most, inside))


def batch_text(document: Mapping[str, Any]) -> str:
    """Return the line of a batch, a gap, or a file of a log directory, from its JSON form."""
    return _shortest(lambda most, _: " ".join(_pairs(_batch(document), most)))


def _shortest(text_of: Callable[[int, int], str]) -> str:
    """Return the text with the longest lists that fit. Cut the text if it is too long even without lists."""
    text = ""
    for numbers in _LISTS:
        text = text_of(*numbers)
        if len(text) <= MOST:
            return text
    return f"{text[: MOST - 1]}…"


def _line(catalog: Catalog, document: Mapping[str, Any], most: int, inside: int) -> str:
    """Return the line of a frame with at most `most` elements of each list and `inside` messages in fields."""
    spec = _spec(catalog, document)
    number, time, kind = (document.get(name) for name in ("frame", "time", "kind"))
    name = document.get("api") or document.get("message")
    version = document.get("apiVersion", document.get("version"))
    words = [str(part) for part in (number, time) if part is not None]
    words += [escaped(str(name))] if name else []
    words += [f"v{version}"] if version is not None else []
    words += [kind] if kind else []
    words.append(f"{document['size']}B")
    words += _pairs(_about(document), most)
    body = document.get("body")
    if body is not None:
        errors = dict.fromkeys(_errors(catalog, spec, body)) if spec else {}
        words += _pairs({"errors": [*errors]}, _NAMED)
        text = _Fields(catalog, spec, most).struct(body, spec.fields if spec else (), "")
        if any(topic not in text for topic in document.get("topics", ())):
            words += _pairs({"topics": document["topics"]}, most)
        words.append(text)
        if payloads := document.get("payloads"):
            words.append(
                f"payloads={_list([_payload(catalog, part, most) for part in payloads[:inside]], len(payloads))}"
            )
    return " ".join(words)


def _spec(catalog: Catalog, document: Mapping[str, Any]) -> MessageSpec | None:
    """Return the definition of the body of a frame or message, None if the body has no definition."""
    if name := document.get("message"):
        return catalog.message(name)
    key, kind = document.get("apiKey"), document.get("kind")
    api = None if key is None else catalog.api_by_key(key)
    known = api and {"request": api.request, "response": api.response}.get(str(kind))
    return catalog.message(known) if known else None


def _about(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pairs that precede the body. A response whose request is known has no addresses and no client."""
    header = document.get("header") or {}
    latency = document.get("latency")
    about = {name: document.get(name) for name in ("capture", "file", "label", "src", "dst", "stream")}
    answers = document.get("requestFrame")
    if answers is not None:
        about = {name: about[name] for name in ("capture", "file", "label")}
    about |= {"code": document.get("code"), "protocol": document.get("protocol"), "content": document.get("content")}
    about |= {"answers": answers, "after": None if latency is None else f"{latency * 1000:.3f}ms"}
    if answers is None:
        about |= {"corr": header.get("correlationId"), "client": header.get("clientId")}
    about["remark"] = document.get("remark") or None
    codes = dict.fromkeys(note["code"] for note in document.get("anomalies", ()))
    candidates = document.get("candidates", ())
    about |= {"bodyVersion": document.get("bodyVersion"), "guess": document.get("guess"), "anomalies": [*codes]}
    named = [f"{each['api']} {each['apiVersion']}" for each in candidates[1 : 1 + _NAMED]]
    return about | {"candidates": named, "prefixed": document.get("prefixed", True)}


def _errors(catalog: Catalog, spec: MessageSpec, body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of all error codes in a body."""
    open_: list[tuple[Mapping[str, Any], Sequence[FieldSpec]]] = [(body, spec.fields)]
    while open_:
        values, fields = open_.pop()
        for field in fields:
            value = values.get(field.json_name)
            if field.type == "int16" and field.json_name.lower().endswith("errorcode"):
                if isinstance(value, int) and value:
                    yield catalog.error_name(value) or str(value)
            elif value and field.struct_name:
                below = spec.struct_fields(field)
                open_ += [(part, below) for part in (value if isinstance(value, list) else [value]) if part][::-1]


def _payload(catalog: Catalog, payload: Mapping[str, Any], most: int) -> str:
    """Return a message in a field: its path, its type and its fields."""
    data, type_ = payload.get("data"), str(payload.get("type"))
    if isinstance(data, dict) and data.keys() == {"header", "body"}:
        data = data["body"]  # of a request or response in an Envelope
    known = next((catalog.message(type_) for entry in catalog if entry.name == type_), None)
    version = "" if payload.get("version") is None else f" v{payload['version']}"
    text = (
        _Fields(catalog, known, most).struct(data, known.fields if known else (), "") if isinstance(data, dict) else ""
    )
    return f"{escaped(payload['path'])}={escaped(type_)}{version} {text}".rstrip()


class _Fields:
    """The fields of a message that differ from their defaults, with at most `most` elements of each list."""

    def __init__(self, catalog: Catalog, spec: MessageSpec | None, most: int) -> None:
        self._catalog, self._spec, self._most = catalog, spec, most

    def struct(self, values: Mapping[str, Any], fields: Sequence[FieldSpec], above: str) -> str:
        """Return the fields of a message or a structure in braces."""
        known = {field.json_name: field for field in fields}
        parts = (self._part(name, value, known.get(name), above) for name, value in values.items())
        return f"{{{' '.join(part for part in parts if part)}}}"

    def _part(self, name: str, value: Any, field: FieldSpec | None, above: str) -> str:
        """Return a field with its value, an empty text if the value is the default."""
        if field is None:
            return "" if value in _EMPTY else f"{escaped(name)}={_value(value, self._most)}"
        if value == default_value(field):
            return ""
        path = f"{above}{field.name}"
        if value is None or not (field.struct_name and self._spec):
            return f"{name}={self._leaf(value, field, path)}"
        below = self._spec.struct_fields(field)
        if field.is_array and isinstance(value, list):
            elements = [self.struct(part, below, f"{path}.") for part in value[: self._most]]
            return f"{name}={_list(elements, len(value))}"
        return f"{name}={self.struct(value, below, f'{path}.')}"

    def _leaf(self, value: Any, field: FieldSpec, path: str) -> str:
        if isinstance(value, list):
            return _list([self._leaf(part, field, path) for part in value[: self._most]], len(value))
        if field.element_type in {"bytes", "records"} and isinstance(value, str):
            return _octets(value)
        if isinstance(value, int) and self._spec and not field.is_array:
            name = self._catalog.named_value(self._spec.name, path, value)
            return _value(value, self._most) if name is None else escaped(name)
        return _value(value, self._most)


def _batch(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pairs of a batch, with its offsets as a range and its anomalies as codes."""
    out = dict(document)
    if "baseOffset" in out and "lastOffset" in out:
        first, last = out.pop("baseOffset"), out.pop("lastOffset")
        place = {name: out.pop(name) for name in ("file", "position") if name in out}
        out = place | {"offsets": f"{first}-{last}"} | out
    if anomalies := out.pop("anomalies", ()):
        out["anomalies"] = [*dict.fromkeys(note["code"] for note in anomalies)]
    return out


def _pairs(values: Mapping[str, Any], most: int) -> list[str]:
    """Return NAME=VALUE for each value that differs from the usual one."""
    octets = _OCTETS if "keySize" in values else _OCTETS[1:]
    return [
        f"{escaped(str(name))}={_octets(value) if name in octets and isinstance(value, str) else _value(value, most)}"
        for name, value in values.items()
        if name not in _UNSAID and value not in _EMPTY and not (name in _USUAL and value == _USUAL[name])
    ]


def _value(value: Any, most: int) -> str:
    """Return the text of any JSON value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case list() | tuple():
            return _list([_value(part, most) for part in value[:most]], len(value))
        case dict():
            return f"{{{' '.join(_pairs(value, most))}}}"
    return str(value)


def _list(shown: Sequence[str], count: int) -> str:
    more = [f"+{count - len(shown)}"] if count > len(shown) else []
    return f"[{','.join([*shown, *more])}]"


def _text(text: str) -> str:
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}"
    more = f"+{len(text) - len(cut)}" if len(text) > len(cut) else ""
    return (cut if _BARE.fullmatch(cut) else quoted(cut)) + more


def _octets(base64: str) -> str:
    """Return bytes as text if they are printable, otherwise their size."""
    if base64.startswith("<"):
        return base64  # redacted
    try:
        text = b64decode(base64, validate=True).decode("utf-8")
    except ValueError:
        text = "\0"
    size = len(base64) // 4 * 3 - base64[-2:].count("=")
    return _text(text) if text.isprintable() else f"<{size} bytes>"
