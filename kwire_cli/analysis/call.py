"""A call: a request with its response, in the one form that questions see, and the place where it was seen."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.source.kafka.captured import time_text

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from kwire_cli.records.batch import Batch


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


class Call:
    """A request, and its response if one came.

    Times (`asked`, `answered`) are seconds since 1970, None if unknown. `client` and `broker` are addresses with
    ports; `connection` tells one connection from another. `request` and `response` are bodies in JSON form, with the
    sizes of records in their place; a body that cannot be read is empty, and `response` is None if there is none.
    """

    __slots__ = ()

    @property
    def api(self) -> str:
        """The name of the api; `api 99` for a key without a name."""
        raise NotImplementedError

    @property
    def api_key(self) -> int:
        """The key of the api."""
        raise NotImplementedError

    @property
    def version(self) -> int:
        """The version of the api."""
        raise NotImplementedError

    @property
    def client_id(self) -> str | None:
        """The client id in the header."""
        raise NotImplementedError

    @property
    def software(self) -> str | None:
        """The name and version of the client's software, if it said so."""
        raise NotImplementedError

    @property
    def client(self) -> str:
        """The address of the client."""
        raise NotImplementedError

    @property
    def broker(self) -> str:
        """The address of the broker."""
        raise NotImplementedError

    @property
    def node(self) -> int | None:
        """The node id of the broker, if a response named it."""
        raise NotImplementedError

    @property
    def connection(self) -> Hashable:
        """A key that tells the connection from others."""
        raise NotImplementedError

    @property
    def asked(self) -> float | None:
        """When the request was complete."""
        raise NotImplementedError

    @property
    def answered(self) -> float | None:
        """When the response was complete."""
        raise NotImplementedError

    @property
    def delayed(self) -> bool:
        """Return whether the broker may have held the response back on purpose."""
        raise NotImplementedError

    @property
    def request(self) -> dict[str, Any]:
        """The body of the request."""
        raise NotImplementedError

    @property
    def response(self) -> dict[str, Any] | None:
        """The body of the response."""
        raise NotImplementedError

    @property
    def has_response(self) -> bool:
        """Return whether there is a response, without reading its body."""
        return self.response is not None

    @property
    def is_read(self) -> bool:
        """Return whether all of the request's body could be read."""
        return True

    @property
    def is_sound(self) -> bool:
        """Return whether nothing odd was found in the request so far."""
        return True

    @property
    def errors(self) -> list[str | int]:
        """The names of the error codes in the response, numbers where no name is known."""
        raise NotImplementedError

    @property
    def topics(self) -> list[str]:
        """The topics that the request or the response is about."""
        raise NotImplementedError

    @property
    def throttle(self) -> float:
        """The seconds for which the broker asks the client to wait."""
        raise NotImplementedError

    @property
    def sizes(self) -> tuple[int, int]:
        """The bytes of request and response; 0 where nobody counted them."""
        raise NotImplementedError

    @property
    def latency(self) -> float | None:
        """Seconds from request to response, as exact as the source has them."""
        return None if self.asked is None or self.answered is None else between(self.asked, self.answered)

    @property
    def who(self) -> str:
        """The client's id, or its address."""
        return self.client_id or self.client

    def topic(self, of: dict[str, Any]) -> str:
        """Return the topic that a part of a body is about: its name, or its id if no name is known."""
        raise NotImplementedError

    def batches(self) -> Sequence[tuple[str, int, Batch]]:
        """Return the batches in a Produce request with their topic and partition; nothing for request logs.

        Headers of batches are read, records are not.
        """
        raise NotImplementedError

    def field(self, name: str) -> Any:
        """Return a field of the request itself, None if there is none. Of Produce it costs less than `request`."""
        raise NotImplementedError

    def evidence(self, *, of_request: bool = False) -> Evidence:
        """Return the place of the response, or of the request if there is no response or `of_request`."""
        raise NotImplementedError


def named_topic(of: dict[str, Any]) -> str | None:
    """Return the topic's name in a part of a body, whatever the field is called there."""
    for key in ("name", "topic", "topicName"):
        if isinstance(name := of.get(key), str) and name:
            return name
    return None


def host_of(address: str) -> str:
    """Return an address without its port."""
    return address.rpartition(":")[0]


def topic_id_of(of: dict[str, Any]) -> str:
    """Return the topic's id in a part of a body; empty if there is none."""
    topic_id = of.get("topicId")
    return topic_id if isinstance(topic_id, str) else ""


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


def seconds(nanoseconds: int | None) -> float | None:
    """Return a time in seconds."""
    return None if nanoseconds is None else nanoseconds / 1e9


class LocalTime(float):
    """A time by a clock whose zone is not known, such as that of a request log: seconds since 1970 as if it were UTC.

    Whoever computes with it gets a float: `type(time)(...)` keeps what it is.
    """

    __slots__ = ()


@lru_cache(maxsize=1 << 10)
def moment(text: str | None) -> float | None:
    """Return ISO 8601 text as seconds since 1970, a LocalTime if it names no zone; None if it is no time."""
    try:
        at = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return at.timestamp() if at.tzinfo else LocalTime(at.replace(tzinfo=UTC).timestamp())


def nanoseconds(time: float) -> int:
    """Return seconds since 1970 in nanoseconds, as exact as they are: to the microsecond."""
    return round(time * 1e6) * 1000


def instant(time: float | None, *, is_local: bool = False) -> str | None:
    """Return seconds since 1970 as ISO 8601 text, as answers have it: in UTC with a Z, of a LocalTime without one."""
    text = None if time is None else time_text(nanoseconds(time))
    return text and text.removesuffix("Z") if is_local or isinstance(time, LocalTime) else text


def zone_of(*instants: str | None) -> str:
    """Return what to write behind instants that are shown without their zone: UTC, if that is said of all."""
    return " UTC" if all(text and text.endswith("Z") for text in instants) else ""


def between(first: float | None, last: float | None) -> float:
    """Return the seconds between two times; 0 if one of them is unknown."""
    return 0.0 if first is None or last is None else to_microseconds(last - first)


def to_microseconds(seconds: float) -> float:
    """Return seconds with six digits, which is what differences of times in seconds since 1970 are good for."""
    return round(seconds, 6)


def earlier(one: float | None, two: float | None) -> float | None:
    """Return the earlier of two times; the other one if one is unknown."""
    return one if two is None or (one is not None and one <= two) else two


def later(one: float | None, two: float | None) -> float | None:
    """Return the later of two times; the other one if one is unknown."""
    return one if two is None or (one is not None and one >= two) else two
