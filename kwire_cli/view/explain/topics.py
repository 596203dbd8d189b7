"""Explanations of single topics: values, headers, errors, sizes and codes.

`kwire explain` also answers questions without a capture. A value is encoded with its declaration and then explained as
a message with one field, so the same code explains bytes of a message and examples. The other functions yield
paragraphs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from kwire_cli.engine.codes import MEANING
from kwire_cli.engine.lower import lower
from kwire_cli.errors import counted
from kwire_cli.message.encode import decode_header, header_spec
from kwire_cli.message.frames import MAX_SIZE, SIZE_BYTES
from kwire_cli.source.first_bytes import spoken
from kwire_cli.structs.composites import MessageStruct
from kwire_cli.structs.headers import REQUEST_HEADERS, RESPONSE_HEADERS, header_layout
from kwire_cli.structs.lengths import ArrayOf, Sized
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import FIXED, INTS, UVARINT, ZIGZAG, ZIGZAG_LONG, encoded_int, unsigned_varint
from kwire_cli.view.explain.messages import explain_body
from kwire_cli.view.explain.model import Event, Heading, Look, Remark, facts, say
from kwire_cli.view.explain.walk import steps_of
from kwire_cli.view.lines import quoted
from kwire_cli.view.outline import declared
from kwire_cli.view.rows import NOTHING, Buffer, Extent, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.questions.rule_files import Rule
    from kwire_cli.spec.catalog import Api, Catalog, ErrorCode, ErrorMeaning


@dataclass(frozen=True, slots=True)
class Type:
    """A type that can be explained without a message: its declaration, and a value for users who specify none.

    `text` is True if values are strings and not JSON.
    """

    decl: Any
    example: Any
    text: bool = False


def _sized_types(kind: str, example: str) -> dict[str, Type]:
    types = {}
    for compact, nullable in product((False, True), repeat=2):
        name = f"{'compact-' * compact}{'nullable-' * nullable}{kind}"
        types[name] = Type(Sized(kind, compact=compact, nullable=nullable), example, text=True)
    return types


_ENCODINGS = tuple(product(("packed", "upacked", "fixed"), (16, 32, 64)))
"""The encodings of KAFKA-9927, each with the bits of its integer type."""

TYPES: dict[str, Type] = {
    **{name: Type(INTS[name], -2 if name[0] == "i" else 300) for name in INTS},
    "boolean": Type(FIXED["bool"], example=True),
    "float64": Type(FIXED["float64"], 1.5),
    "uuid": Type(FIXED["uuid"], "Wg6nBlB7TIOaMoA5IIT1cA", text=True),
    **{f"{name}{bits}": Type(encoded_int(f"int{bits}", f"{name}{bits}"), 8192) for name, bits in _ENCODINGS},
    "unsigned-varint": Type(UVARINT, 300),
    "varint": Type(ZIGZAG, 300),
    "varlong": Type(ZIGZAG_LONG, -300),
    **_sized_types("string", "orders"),
    **_sized_types("bytes", "AQID"),
    "array": Type(ArrayOf(INTS["int32"], compact=False, nullable=True), [1, 2]),
    "compact-array": Type(ArrayOf(INTS["int32"], compact=True, nullable=True), [1, 2]),
}
"""Types by name. The names are based on the protocol guide and on KAFKA-9927."""


def value_of(kind: Type, text: str | None) -> Any:
    """Return the value that the user typed, in JSON form. Return the example of the type if `text` is None."""
    if text is None:
        return kind.example
    if kind.text:
        return None if text == "null" else text
    try:
        return json.loads(text)
    except ValueError:
        return text


def explain_value(name: str, decl: Any, value: Any) -> Iterator[Event]:
    """Yield the explanation of an encoded value. Raise EncodeError if the type cannot represent it."""
    yield from explain_bytes(name, decl, bytes(_wrapped(decl).build({"value": value})))


def explain_unsigned(number: int) -> Iterator[Event]:
    """Yield the explanation of an unsigned varint from 0 to 4294967295. Kafka decodes numbers above 2147483647 as
    negative integers.
    """
    yield from explain_bytes("unsigned-varint", UVARINT, unsigned_varint(number))
    if number > UVARINT.high:
        yield say(f"Kafka decodes the 32 bits of {number} as an int: {number - (1 << 32)}.")


def explain_bytes(name: str, decl: Any, data: bytes) -> Iterator[Event]:
    """Yield the explanation of bytes decoded as a type."""
    tree, exact = declared(lower(_wrapped(decl)), data, 0, len(data))
    part = Part(Extent(None), name, "", tree, exact, NOTHING, Buffer(name, data, 0, len(data)))
    yield Heading(part, counted(len(data), "byte"))
    yield from steps_of(part, Look(every=True))


def _wrapped(decl: Any) -> MessageStruct:
    return MessageStruct(["value" / decl], None, {})


def explain_error(row: ErrorCode, meaning: ErrorMeaning) -> Iterator[Event]:
    """Yield the meaning of an error code, the conditions that lead to it, the reaction of clients, the first thing to
    do, and its bytes.
    """
    kind = "a RetriableException" if row.retriable else "not a RetriableException"
    exception = f"Its exception in Kafka's Java code is {kind} (org.apache.kafka.common.protocol.Errors)."
    yield from facts(
        f"error {row.code}: {row.name}",
        meaning.meaning,
        f"Returned by: {meaning.given}",
        meaning.clients,
        f"What to do: {meaning.advice}" if meaning.advice else "",
        exception if row.code else "",
    )
    yield from explain_value("errorCode", INTS["int16"], row.code)


_SPOKEN = {
    "tls": "TLS: {record}. Only one of the two sides uses TLS: "
    "compare security.protocol of the client with the protocol of the listener",
    "http": "HTTP: a browser, a health check, a scraper of metrics, or the answer of an HTTP server",
    "ssh": "SSH",
    "proxy": "the header of a proxy (PROXY protocol), which Kafka does not read",
    "smtp": "SMTP",
    "redis": "Redis",
    "zookeeper": "a command for ZooKeeper",
}
"""Explanations of bytes of another protocol that were decoded as a size, by name in `first_bytes.BEGINNINGS`."""
_TLS_RECORDS = {0x15: "an alert", 0x16: "a handshake, which begins with a ClientHello"}


def explain_size(size: int) -> Iterator[Event]:
    """Yield the bytes of a size that a broker or client reports as invalid, and the protocol that begins with them."""
    data = size.to_bytes(SIZE_BYTES, "big")
    text = f", in text {quoted(data.decode('ascii'))}" if data.isascii() and data.decode().isprintable() else ""
    yield Remark(f"size {size}: the bytes {data.hex(' ')}{text}")
    protocol = spoken(size)
    if protocol:
        what = _SPOKEN[protocol].format(record=_TLS_RECORDS.get(data[0], "a record"))
        yield say(f"This is not Kafka but {what}.")
        yield say(
            "The first four bytes of a frame are its size. A broker that reads these bytes reports an invalid receive "
            "of this size and closes the connection; a Java client may report an OutOfMemoryError."
        )
    elif size > MAX_SIZE:
        yield say(f"A broker takes requests of at most {MAX_SIZE} bytes, unless socket.request.max.bytes is higher.")
    else:
        yield say(f"A frame of {counted(size, 'byte')}, which brokers take by default (socket.request.max.bytes).")


def explain_anomaly(code: str) -> Iterator[Event]:
    """Yield the meaning of an anomaly of kwire."""
    yield from facts(code, f"{MEANING[code][:1].upper()}{MEANING[code][1:]}.")


def explain_finding(rule: Rule) -> Iterator[Event]:
    """Yield the severity, the meaning and the advice of a finding of `kwire diagnose`."""
    yield from facts(
        f"{rule.code}, {rule.severity}",
        rule.title,
        rule.meaning,
        f"What to do: {rule.advice['any']}",
        *(f"{client}: {advice}" for client, advice in rule.advice_by_family().items()),
        f"See {', '.join(rule.see)}." if rule.see else "",
        *(f"Case {case}: {text}" for case, text in rule.case_texts()),
    )


def explain_headers() -> Iterator[Event]:
    """Yield the layouts of all versions of request and response headers."""
    layouts: list[str] = []
    for kind, headers in (("request", REQUEST_HEADERS), ("response", RESPONSE_HEADERS)):
        layouts += [f"{kind} header {version}: {header_layout(header)}" for version, header in headers.items()]
    yield from facts(
        "headers of requests and responses",
        "Each request and each response begins with a header. The message and its version determine the version "
        "of the header.",
        *layouts,
        "A request has header 2 if its body is flexible (KIP-482), otherwise 1. ControlledShutdown version 0 has 0.",
        "A response has header 1 if its body is flexible, otherwise 0. An ApiVersions response always has header 0 "
        "(KIP-511), because the client does not know yet which versions the broker supports.",
    )


def _messages_of(api: Api) -> list[tuple[str, str]]:
    """Return the request and the response of an api, each with its kind. An api can lack one of them."""
    names = {"request": api.request, "response": api.response}
    return [(kind, name) for kind, name in names.items() if name]


def explain_header(catalog: Catalog, api: Api, version: int, look: Look) -> Iterator[Event]:
    """Yield the headers of a request version and of its response, and the reasons for these header versions."""
    for kind, name in _messages_of(api):
        entry = catalog.entry(name)
        number = catalog.header_version(kind, api.key, version)
        flexible = version in entry.flexible_versions
        usual = flexible + (kind == "request")
        why = f"version {version} of {name} is {'' if flexible else 'not '}flexible"
        if number != usual:
            declared = any(version in versions for versions, _ in entry.header_versions)
            rule = "the definition's headerVersions say otherwise" if declared else "it is one of Kafka's exceptions"
            why += f", which would mean header {usual}, but {rule}"
        yield from facts(f"{name} {version}: {kind} header {number}", f"{why[:1].upper()}{why[1:]}.")
        value = {"requestApiKey": api.key, "requestApiVersion": version, "correlationId": 1, "clientId": "client-1"}
        layout = declare(header_spec(catalog, kind), number)
        data = layout.build({key: field_value for key, field_value in value.items() if key in layout.known_keys})
        header = decode_header(catalog, kind, number, data, start=0, stop=len(data))
        yield from explain_body(header, look, name="header", last="next comes the body")
