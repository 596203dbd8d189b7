"""A call: a request with its response, as replays and ladders see it, with the places, parts and times in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.source.kafka.captured import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Body = dict[str, Any]


class Evidence(NamedTuple):
    """A place that shows something: a frame of a capture, a line of a request log, or an offset of a log.

    `what` names it, such as `JoinGroup request`. `time` is text as of `instant`. Where connections are read apart,
    frames have no numbers: then `packet` says which one it is.
    """

    what: str
    time: str | None = None
    frame: int | None = None
    stream: int | None = None
    capture: str | None = None
    file: str | None = None
    line: int | None = None
    offset: int | None = None
    packet: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what is known of the place, by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Call(NamedTuple):
    """A request, and its response if one came.

    `who` is the client's id, or its address. `asked` and `answered` are seconds since 1970, None if unknown. `node` is
    the node id of the broker, if a response named it. `batches` are those of a Produce request whose checksum is right,
    with columns of the table `batches`. `topic_of` returns the name of a topic id.
    """

    api: str
    version: int
    who: str
    host: str
    broker: str
    node: int | None
    connection: int
    asked: float | None
    answered: float | None
    request: Body
    response: Body | None
    errors: Sequence[str]
    request_place: Evidence
    response_place: Evidence | None
    topic_of: Callable[[str], str]
    batches: Sequence[Body] = ()

    def topic(self, part: Body) -> str:
        """Return the topic that a part of a body is about: its name, or its id if no name is known."""
        for key in ("name", "topic", "topicName"):
            if isinstance(name := part.get(key), str) and name:
                return name
        topic_id = part.get("topicId")
        return self.topic_of(topic_id if isinstance(topic_id, str) else "")

    @property
    def place(self) -> Evidence:
        """The place of the response, or of the request if there is no response."""
        return self.response_place or self.request_place


def parts(body: dict[str, Any] | None, *path: str) -> Iterator[tuple[dict[str, Any], ...]]:
    """Yield the objects at the end of a path of arrays, each behind the objects around it.

    `parts(body, "topics", "partitions")` yields pairs of a topic and a partition. Whatever is not as its definition
    says is skipped.
    """
    first, *rest = path
    values = body.get(first) if body else None
    for value in values if isinstance(values, list) else ():
        if isinstance(value, dict):
            if rest:
                for inner in parts(value, *rest):
                    yield value, *inner
            else:
                yield (value,)


def instant(time: float | None, *, is_local: bool = False) -> str | None:
    """Return seconds since 1970 as ISO 8601 text, to the microsecond: in UTC with a Z, of a local clock without one."""
    text = None if time is None else time_text(round(time * 1e6) * 1000)
    return text.removesuffix("Z") if text and is_local else text


def zone_of(*instants: str | None) -> str:
    """Return what to write behind instants that are shown without their zone: UTC, if that is said of all."""
    return " UTC" if all(text and text.endswith("Z") for text in instants) else ""


def between(first: float | None, last: float | None) -> float:
    """Return the seconds between two times, to the microsecond as times are; 0 if one of them is unknown."""
    return 0.0 if first is None or last is None else round(last - first, 6)


def later(one: float | None, two: float | None) -> float | None:
    """Return the later of two times; the other one if one is unknown."""
    return one if two is None or (one is not None and one >= two) else two
