"""Dimensions of traffic: the api, client, topic, broker, consumer group and software that a message belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_cli.source.kafka.group_names import groups_named, groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire_cli.source.kafka.captured import Captured
    from kwire_cli.source.request_log.exchange import Exchange

Name = str | None
"""The name of a group: None if the client says no id or no software. An empty id is another name."""


def api_name(name: str | None, key: int | None, version: int | None) -> str:
    """Return the name of an api with its version: `Fetch 17`; the key of an api without a name."""
    return f"{name or key} {version}"


OF_LINES: dict[str, Callable[[Captured], Iterable[Name]]] = {
    "api": lambda line: (api_name(line.api, line.api_key, line.api_version),),
    "client": lambda line: (line.client_id,),
    "topic": lambda line: line.topics,
    "broker": lambda line: (line.dst if line.kind == "request" else line.src,),
    "group": groups_of,
    "software": lambda line: (line.software or None,),
}
"""The names by dimension that a request or response of a capture counts under."""

OF_EXCHANGES: dict[str, Callable[[Exchange], Iterable[Name]]] = {
    "api": lambda exchange: (api_name(exchange.api, exchange.api_key, exchange.api_version),),
    "client": lambda exchange: (exchange.client_id,),
    "topic": lambda exchange: exchange.topics,
    "broker": lambda exchange: (exchange.broker,) if exchange.broker else (),
    "group": lambda exchange: groups_named(exchange.api_key, exchange.request),
    "software": lambda exchange: (exchange.software or None,),
}
"""The names by dimension that an exchange of a request log counts under."""

DIMENSIONS = (*OF_LINES,)
