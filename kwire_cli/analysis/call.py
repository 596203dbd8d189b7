"""A call, which is a request with its response, as the input of replays and ladders.

Bodies are plain dictionaries from the tables of traffic. The functions here read parts and times of calls, and skip
values of unexpected types, because a body in a request log may be incomplete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.source.kafka.captured import time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Body = dict[str, Any]


class Evidence(NamedTuple):
    """The place of an observation: a frame of a capture, a line of a request log, or an offset of a log.

    `what` names the object, such as `JoinGroup request`. `time` is a string in the format of `instant`. Frames have no
    numbers if connections are read separately. In this case `packet` identifies the frame.
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
        """Return the known fields of the place by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Call(NamedTuple):
    """A request, and its response if one came.

    `who` is the client id, or the client's address. `asked` and `answered` are the times of the request and of the
    response in seconds since 1970, None if unknown. `node` is the node id of the broker, if a response contains it.
    `batches` contains the batches of a Produce request with a valid checksum, as rows of the table `batches`.
    `topic_of` returns the name of a topic id.
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
    """Yield the objects at the end of a path of arrays, each preceded by the objects around it.

    `parts(body, "topics", "partitions")` yields pairs of a topic and a partition. Values that should be an array or an
    object and are not are skipped.
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
    """Return seconds since 1970 in ISO 8601 format with microseconds. A Z at the end means UTC.

    The time of a local clock has no Z, because its zone is unknown.
    """
    text = None if time is None else time_text(round(time * 1e6) * 1000)
    return text.removesuffix("Z") if text and is_local else text


def zone_of(*instants: str | None) -> str:
    """Return the suffix for instants that are shown without their zone: " UTC" if all are in UTC, else empty."""
    return " UTC" if all(text and text.endswith("Z") for text in instants) else ""


def between(first: float | None, last: float | None) -> float:
    """Return the seconds between two times, rounded to microseconds. Return 0 if one of them is unknown."""
    return 0.0 if first is None or last is None else round(last - first, 6)


def later(one: float | None, two: float | None) -> float | None:
    """Return the later of two times. If one is unknown, return the other."""
    return one if two is None or (one is not None and one >= two) else two
