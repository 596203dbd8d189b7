"""What bytes can be grouped by: whom a message belongs to, and within messages fields and kinds.

A message is a line of a capture, or what has the same properties (`loose.Loose`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _api(subject: Any) -> str | None:
    if not subject.is_frame:
        return None
    return subject.api or (None if subject.api_key is None else f"api key {subject.api_key}")


def _message(subject: Any) -> str | None:
    api = _api(subject)
    return api and f"{api}{subject.kind.title()}"


def _version(subject: Any) -> str | None:
    api = _api(subject)
    return api and f"{api} {subject.api_version}"


def _broker(subject: Any) -> str | None:
    return (subject.dst if subject.kind == "request" else subject.src) if subject.is_frame else None


def _topic(subject: Any) -> str | None:
    topics = subject.topics
    return (topics[0] if len(topics) == 1 else SHARED) if topics else None


def _stream(subject: Any) -> Any:
    """The number of a connection; with its capture point, if there are several."""
    capture = subject.origin.capture
    return subject.stream if capture is None else f"{capture} {subject.stream}"


SHARED = "(shared)"
"""In place of a topic: the bytes of a message about several topics that belong to none of them."""
OF_MESSAGE: dict[str, Callable[[Any], Any]] = {
    "api": _api,
    "message": _message,
    "version": _version,
    "client": lambda subject: subject.client_id if subject.is_frame else None,
    "topic": _topic,
    "partition": lambda _: None,
    "broker": _broker,
    "capture": lambda subject: subject.origin.point,
    "stream": _stream,
    "file": lambda _: None,
}
"""How to find each for a message; topics and partitions of messages about several, and the file, are known to who counts them."""
WITHIN = ("field", "kind")
"""What there is within every message."""
DIMENSIONS = (*OF_MESSAGE, *WITHIN)


def key_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """What makes of a message the values of these dimensions, which are in OF_MESSAGE."""
    if not names:
        return lambda _: ()
    getters = [OF_MESSAGE[name] for name in names]
    if len(getters) == 1:
        get = getters[0]
        return lambda subject: (get(subject),)
    return lambda subject: tuple([get(subject) for get in getters])
