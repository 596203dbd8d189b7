"""Explanations that need no message: headers, apis, codes of errors and anomalies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.engine.codes import MEANING
from kwire_cli.engine.lower import entry_for
from kwire_cli.explain.forms import fields_text
from kwire_cli.explain.messages import body_part, explain_body
from kwire_cli.explain.model import Event, Remark
from kwire_cli.explain.values import explain_value
from kwire_cli.message.headers import HEADERS, decode_header, header_spec, header_version
from kwire_cli.structs.messages import declare
from kwire_cli.structs.numbers import INTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cli.explain.messages import Look
    from kwire_cli.spec.catalog import Api, Catalog, ErrorCode, ErrorMeaning


def say(text: str) -> Remark:
    """A paragraph."""
    return Remark(text, plain=True)


def explain_error(row: ErrorCode, meaning: ErrorMeaning) -> Iterator[Event]:
    """Yield the meaning of an error code, who gives it, what clients do about it, and then its bytes."""
    yield Remark(f"error {row.code}: {row.name}")
    yield say(meaning.meaning)
    yield say(f"Given by: {meaning.given}")
    yield say(meaning.clients)
    kind = "a RetriableException" if row.retriable else "no RetriableException"
    if row.code:
        yield say(f"Its exception in Kafka's Java code is {kind} (org.apache.kafka.common.protocol.Errors).")
    yield from explain_value("errorCode", INTS["int16"], row.code)


def explain_anomaly(code: str) -> Iterator[Event]:
    """What an anomaly of kwire means."""
    yield Remark(code)
    yield say(f"{MEANING[code][:1].upper()}{MEANING[code][1:]}.")


def explain_headers() -> Iterator[Event]:
    """All headers that there are."""
    yield Remark("headers of requests and responses")
    yield say("Before each request and response stands a header, of a version of its own: the kind of message and its version tell which.")
    for header in HEADERS:
        if header.kafka is not None:
            yield say(f"{header.of} header {header.kafka}: {header.layout}")
    yield say("A request has header 2 where its body is flexible (KIP-482), else 1; ControlledShutdown version 0 has 0.")
    yield say(
        "A response has header 1 where its body is flexible, else 0. That of ApiVersions has 0 always (KIP-511): "
        "it comes before the client knows what the broker understands."
    )


def explain_header(catalog: Catalog, api: Api, version: int, look: Look) -> Iterator[Event]:
    """The headers of a request and its response at a version, and why they are these."""
    for kind, name in (("request", api.request), ("response", api.response)):
        if not name:
            continue
        entry = catalog.entry(name)
        number = header_version(catalog, kind, api.key, version)
        flexible = version in entry.flexible_versions
        usual = flexible + (kind == "request")
        why = f"version {version} of {name} is {'' if flexible else 'not '}flexible"
        if number != usual:
            why += f", which would mean header {usual}, but it is one of Kafka's exceptions"
        yield Remark(f"{name} {version}: {kind} header {number}")
        yield say(f"{why[:1].upper()}{why[1:]}.")
        value = {"requestApiKey": api.key, "requestApiVersion": version, "correlationId": 1, "clientId": "client-1"}
        layout = declare(header_spec(catalog, kind), number)
        data = layout.build({key: each for key, each in value.items() if key in layout.known_keys})
        header = decode_header(catalog, kind, number, data, start=0, stop=len(data))
        yield from explain_body(body_part("header", header), header, look, last="next comes the body")


def explain_api(catalog: Catalog, api: Api, version: int | None) -> Iterator[Event]:
    """What an api is: its key, its versions, what its messages begin with."""
    yield Remark(f"{api.name}, api key {api.key}")
    if api.aliases:
        yield say(f"Once called {', '.join(api.aliases)}.")
    for kind, name in (("request", api.request), ("response", api.response)):
        if not name:
            continue
        spec = catalog.message(name)
        if not spec.valid_versions:
            yield say(f"{name}: no version of it is valid any more.")
            continue
        shown = spec.valid_versions.high if version is None else version
        flexible = f"flexible from {spec.flexible_versions}" if spec.flexible_versions else "never flexible"
        old = f", deprecated {spec.deprecated_versions}" if spec.deprecated_versions else ""
        yield say(f"{name}: versions {spec.valid_versions}, {flexible}{old}.")
        header = header_version(catalog, kind, api.key, shown)
        yield say(f"Version {shown} has {kind} header {header}, then: {fields_text(entry_for(spec, shown).root)}.")
    yield say(f"Its fields: kwire spec show {api.name}; its headers: kwire explain header {api.name} VERSION.")
