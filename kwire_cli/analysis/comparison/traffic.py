"""Differences of two captures or request logs: what the clients of each side do, client by client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kwire_cli.analysis.call import between
from kwire_cli.analysis.comparison.profiles import (
    BATCH_BYTES,
    BATCHES,
    COMMITS,
    COMPRESSION,
    CONFIGS,
    GENERATIONS,
    JOINS,
    LEAVES,
    MOST_VALUES,
    OF_BATCHES,
    REBALANCES,
    RECORDS,
    RHYTHMS,
    Client,
    Profile,
    Use,
    Values,
)
from kwire_cli.analysis.comparison.set_fields import fields_of, versions_with
from kwire_cli.analysis.stats import by_count
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import counted, few

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.analysis.comparison.profiles import Profiles
    from kwire_cli.answer import Block, Row
    from kwire_cli.spec.model import Versions

By = Literal["software", "client"]
UNNAMED = "(no name)"
"""Clients that say no software, or no id."""
ONE_SIDE = "fields that one side alone sets to other than their default"
SHOWN_CLIENTS = 8
"""Names of clients and their software that a line for people has."""


@dataclass
class Group:
    """Clients of one side that are compared as one."""

    clients: list[Client]
    profile: Profile

    @property
    def software(self) -> list[str]:
        """The software with its versions."""
        return sorted({client.software for client in self.clients if client.software})


@dataclass
class Pair:
    """Clients of both sides that are compared; a side without such clients has None."""

    name: str
    a: Group | None
    b: Group | None


def traffic_answer(a: Profiles, b: Profiles, names: tuple[str, str], by: By = "software") -> Answer:
    """Return the differences between the traffic of two sides, whose inputs have these names.

    Clients are compared by the name of their software, or by client id. `found` says that apis, versions, set fields
    or configuration differ, or that a client is on one side alone: counts and times differ between any two captures.
    """
    a.finish()
    b.finish()
    pairs = pairs_of(groups_of(a, by), groups_of(b, by))
    both = [(pair.name, pair.a.profile, pair.b.profile) for pair in pairs if pair.a and pair.b]
    apis = [(name, *row) for name, mine, other in both for row in _apis(mine, other)]
    settings = [(name, *row) for name, mine, other in both for row in _settings(mine, other)]
    fields = [(name, *row) for name, mine, other in both for row in _fields(mine, other)]
    alone = [pair for pair in pairs if not pair.a or not pair.b]
    differing = sum(bool(row[-1]) for row in settings)
    counts = {
        "clients": len(alone),
        "apis": sum(bool(row[DIFFERS]) for row in apis),
        "settings": differing,
        "fields": len(fields),
    }
    differs = any(counts.values())
    who = Column("client", wide=len(both) < 2, once=True)
    settings.sort(key=lambda row: not row[-1])
    equal = sum(not row[-1] and not _are_many(row) for row in settings)
    blocks: list[Block] = [
        Outline("", [*_heads(pairs, names)]),
        Facts([Fact("differences", counts, "map")]),
        Table("apis", (who, *APIS), apis),
        Table("errors", (who, *ERRORS), [(name, *row) for name, mine, other in both for row in _errors(mine, other)]),
        Table("costs", (who, *COSTS), [(name, *row) for name, mine, other in both for row in _costs(mine, other)]),
        Table(
            "settings",
            (who, *SETTINGS),
            settings,
            shown=differing,
            note="the settings that are left out are equal on both sides" if equal and differing else "",
        ),
        Table("fields", (who, *FIELDS), fields, note=ONE_SIDE if fields else ""),
        Table("rhythm", (who, *RHYTHM), [(name, *row) for name, mine, other in both for row in _rhythm(mine, other)]),
        Table("counts", (who, *COUNTS), [(name, *row) for name, mine, other in both for row in _counts(mine, other)]),
        Table("sides", SIDES, [*_sides(pairs)], shown=0),
    ]
    unread = sum(use.unread for _, *sides in both for profile in sides for use in profile.uses.values())
    many = sum(_are_many(row) for row in settings)
    if unread:
        text = f"{counted(unread, 'request')} could not be read: fields and settings in them are not compared"
        blocks.append(Note(text, "warning"))
    if many:
        text = f"not compared, with more than {MOST_VALUES} values: {counted(many, 'setting')}"
        blocks.append(Note(text, "warning"))
    if not (differs or unread or many):
        blocks.append(Note("the same clients, apis, versions, set fields and configuration", "good"))
    return Answer("Differences of traffic", blocks, found=differs)


# Clients of both sides that belong together.


def groups_of(profiles: Profiles, by: By) -> dict[str, Group]:
    """Return the clients of a side in groups: by the name of their software without its version, or by client id.

    A connection says its software with ApiVersions. What a client asked before that belongs to the software of its id,
    if there is just one.
    """
    told: dict[str | None, set[str]] = {}
    for client in profiles.clients:
        if client.software:
            told.setdefault(client.client_id, set()).add(client.software)
    groups: dict[str, Group] = {}
    for client, profile in sorted(profiles.clients.items(), key=lambda item: [part or "" for part in item[0]]):
        software = client.software
        candidates = [*told.get(client.client_id, ())]
        if software is None and len(candidates) == 1:
            software = candidates[0]
        name = (client.client_id if by == "client" else software_name(software)) or UNNAMED
        group = groups.setdefault(name, Group([], Profile()))
        group.clients.append(Client(software, client.client_id))
        group.profile.merge(profile)
    return groups


def software_name(software: str | None) -> str:
    """Return the name of software without its version: `apache-kafka-java 4.4.0` is `apache-kafka-java`."""
    return (software or "").partition(" ")[0]


def pairs_of(a: dict[str, Group], b: dict[str, Group]) -> list[Pair]:
    """Return the clients of both sides in pairs: by name, and the only one left of a side with that of the other.

    Clients without a name are left until last, since most of them are brokers and old clients.
    """
    pairs = [Pair(name, a[name], b[name]) for name in a if name in b]
    left = {"a": [name for name in a if name not in b], "b": [name for name in b if name not in a]}
    for _ in range(2):
        named = {side: [name for name in names if name != UNNAMED] for side, names in left.items()}
        choice = named if all(len(names) == 1 for names in named.values()) else left
        if all(len(names) == 1 for names in choice.values()):
            [mine], [other] = choice["a"], choice["b"]
            pairs.append(Pair(f"{mine} / {other}", a[mine], b[other]))
            left["a"].remove(mine)
            left["b"].remove(other)
    pairs += [Pair(name, a[name], None) for name in left["a"]]
    pairs += [Pair(name, None, b[name]) for name in left["b"]]
    return sorted(pairs, key=lambda pair: (not (pair.a and pair.b), -_requests(pair), pair.name))


def _requests(pair: Pair) -> int:
    return sum(group.profile.requests for group in (pair.a, pair.b) if group)


# Tables.

APIS = (
    Column("api"),
    Column("aVersions", "list", title="a versions"),
    Column("bVersions", "list", title="b versions"),
    Column("aRequests", "count", title="a requests", keep=2),
    Column("bRequests", "count", title="b requests", keep=2),
    Column("differs", "flag", keep=1),
)
"""An api that one side or both use. It differs if the versions do."""
DIFFERS = [column.name for column in APIS].index("differs") + 1
"""The place of the flag in a row of an api, behind the client."""
ERRORS = (
    Column("api"),
    Column("error", level="error"),
    Column("aCount", "count", title="a", sparse=True),
    Column("bCount", "count", title="b", sparse=True),
)
"""An error that responses of either side have, and how many have it."""
COSTS = (
    Column("api"),
    Column("aRequestBytes", "number", title="a req bytes", digits=0, keep=3),
    Column("bRequestBytes", "number", title="b req bytes", digits=0, keep=3),
    Column("aResponseBytes", "number", title="a resp bytes", digits=0, wide=True),
    Column("bResponseBytes", "number", title="b resp bytes", digits=0, wide=True),
    Column("aLatencyP50Seconds", "duration", title="a p50", unit="ms"),
    Column("bLatencyP50Seconds", "duration", title="b p50", unit="ms"),
    Column("aLatencyP99Seconds", "duration", title="a p99", unit="ms", keep=1),
    Column("bLatencyP99Seconds", "duration", title="b p99", unit="ms", keep=1),
)
"""Bytes of a request and of its response in the mean, and latencies, of an api that both sides use. Latencies of Fetch,
JoinGroup and the like are those of answers that wait on purpose.
"""


def _apis(a: Profile, b: Profile) -> Iterator[Row]:
    for key in sorted({*a.uses, *b.uses}):
        mine, other = a.uses.get(key), b.uses.get(key)
        versions = [sorted(use.versions) if use else None for use in (mine, other)]
        requests = [use.requests if use else None for use in (mine, other)]
        yield a.names.get(key) or b.names.get(key), *versions, *requests, versions[0] != versions[1]


def _errors(a: Profile, b: Profile) -> Iterator[Row]:
    for key in sorted({*a.uses, *b.uses}):
        mine, other = (profile.uses.get(key, Use()).errors for profile in (a, b))
        for error, _ in by_count(mine + other):
            yield a.names.get(key) or b.names.get(key), str(error), mine[error], other[error]


def _costs(a: Profile, b: Profile) -> Iterator[Row]:
    for key in sorted({*a.uses} & {*b.uses}):
        pairs = zip(*[_cost(use) for use in (a.uses[key], b.uses[key])], strict=True)
        yield a.names[key], *(value for pair in pairs for value in pair)


def _cost(use: Use) -> tuple[float | None, ...]:
    _, p50, _, p99, _ = use.latency.points()
    sized = use.sized
    request_bytes, response_bytes = (
        round(total / sized, 1) if sized else None for total in (use.request_bytes, use.response_bytes)
    )
    return request_bytes, response_bytes, p50, p99


SETTINGS = (
    Column("setting"),
    Column("config", title="configuration", keep=1),
    Column("a", "list"),
    Column("b", "list"),
    Column("aCounts", "map", wide=True),
    Column("bCounts", "map", wide=True),
    Column("differs", "flag", wide=True),
)
"""A setting that the requests of both sides show, and its values, the most frequent first."""


def _settings(a: Profile, b: Profile) -> Iterator[Row]:
    """Yield the settings of apis that both sides use. A setting of one side alone is of versions that differ."""
    apis = {a.names[key] for key in a.uses} & {b.names[key] for key in b.uses}
    for name in sorted({*a.settings, *b.settings}):
        api, _, _ = name.partition(".")
        if api in apis:
            mine, other = (profile.settings.get(name, Values()) for profile in (a, b))
            differs = (mine.many, {*mine.counts}) != (other.many, {*other.counts})
            if name in OF_BATCHES and not (_shows_batches(a) and _shows_batches(b)):
                differs = False  # request logs have no batches
            yield name, CONFIGS.get(name), mine.texts, other.texts, _counted(mine), _counted(other), differs


def _are_many(row: Row) -> bool:
    """Return whether both sides of a setting have more values than are kept."""
    return all(texts == Values(many=True).texts for texts in row[3:5])


def _shows_batches(profile: Profile) -> bool:
    return f"Produce.{COMPRESSION}" in profile.settings


def _counted(values: Values) -> dict[str, int]:
    return dict(by_count(values.counts))


FIELDS = (
    Column("api"),
    Column("path", title="field"),
    Column("side", title="set by"),
    Column("requests", "count", keep=2),
    Column("values", "list", keep=1),
    Column("detail", keep=3),
)
"""A field that the requests of one side alone set to something other than its default.

`values` are numbers and flags; texts are not told.
"""


def _fields(a: Profile, b: Profile) -> Iterator[Row]:
    for key in sorted({*a.uses} & {*b.uses}):
        mine, other = a.uses[key], b.uses[key]
        for path in sorted({*mine.fields} ^ {*other.fields}):
            side, use, without = ("a", mine, other) if path in mine.fields else ("b", other, mine)
            values = use.fields[path]
            versions = versions_with(fields_of(key), path)
            texts = [text for text in values.texts if text]
            yield a.names[key], path, side, values.requests, texts, _detail(versions, without.versions, side)


def _detail(versions: Versions | None, spoken: Iterable[int], side: str) -> str:
    """Return words for a field that the versions of the other side lack."""
    if versions is None or any(version in versions for version in spoken):
        return ""
    return f"not in the versions of {'b' if side == 'a' else 'a'}"


RHYTHM = (
    Column("rhythm", title="time between"),
    Column("config", title="configuration", keep=2),
    Column("aCount", "count", wide=True),
    Column("bCount", "count", wide=True),
    Column("aP50Seconds", "duration", title="a p50", unit="ms"),
    Column("bP50Seconds", "duration", title="b p50", unit="ms"),
    Column("aP99Seconds", "duration", title="a p99", unit="ms", keep=1),
    Column("bP99Seconds", "duration", title="b p99", unit="ms", keep=1),
)
"""A time between requests that each side sends again and again, and the configuration that has a part in it."""


def _rhythm(a: Profile, b: Profile) -> Iterator[Row]:
    for name, config in RHYTHMS.values():
        mine, other = (profile.rhythms[name].points() if name in profile.rhythms else None for profile in (a, b))
        if mine or other:
            none = (None,) * 5
            (count_a, p50_a, _, p99_a, _), (count_b, p50_b, _, p99_b, _) = mine or none, other or none
            yield name, config, count_a, count_b, p50_a, p50_b, p99_a, p99_b


COUNTS = (Column("what", title="groups and batches"), Column("a", "number"), Column("b", "number"))
"""Counts of group events and batches. A side that does nothing of the kind has None."""


def _counts(a: Profile, b: Profile) -> Iterator[Row]:
    rows = [_counts_of(profile) for profile in (a, b)]
    for name in (*dict.fromkeys([*rows[0], *rows[1]]),):
        yield name, rows[0].get(name), rows[1].get(name)


def _counts_of(profile: Profile) -> dict[str, float]:
    counts: dict[str, float] = {}
    if JOINS in profile.counts:
        counts = {name: profile.counts[name] for name in (JOINS, LEAVES, REBALANCES, COMMITS)}
        counts[GENERATIONS] = len(profile.generations)
    if batches := profile.counts[BATCHES]:
        counts[BATCHES] = batches
        counts["records per batch"] = round(profile.counts[RECORDS] / batches, 2)
        counts["bytes per batch"] = round(profile.counts[BATCH_BYTES] / batches, 1)
    return counts


SIDES = (
    Column("client"),
    Column("side"),
    Column("software", "list"),
    Column("clientIds", "list"),
    Column("requests", "count"),
    Column("seconds", "duration"),
)
"""The clients of each side that are compared as one."""


def _sides(pairs: Sequence[Pair]) -> Iterator[Row]:
    for pair in pairs:
        for side, group in (("a", pair.a), ("b", pair.b)):
            if group:
                ids = sorted({client.client_id for client in group.clients if client.client_id})
                profile = group.profile
                took = None if profile.first is None else between(profile.first, profile.last)
                yield pair.name, side, group.software, ids, profile.requests, took


# Lines for people.


def _heads(pairs: Sequence[Pair], names: tuple[str, str]) -> Iterator[Item]:
    """Yield a line for each side, and one for each client that the other side does not have."""
    yield Item(0, f"--- {names[0]}", _about([pair.a for pair in pairs]), "error")
    yield Item(0, f"+++ {names[1]}", _about([pair.b for pair in pairs]), "good")
    for pair in pairs:
        if pair.a and not pair.b:
            yield Item(0, f"- {pair.name}", _about([pair.a], named=False), "error")
        if pair.b and not pair.a:
            yield Item(0, f"+ {pair.name}", _about([pair.b], named=False), "good")


def _about(groups: Sequence[Group | None], *, named: bool = True) -> str:
    """Return the software and the requests of some clients as text."""
    present = [group for group in groups if group]
    profile = Profile()
    for group in present:
        profile.merge(group.profile)
    software = sorted({name for group in present for name in group.software}) if named else []
    names = few(software, SHOWN_CLIENTS)
    requests = counted(profile.requests, "request")
    took = "" if profile.first is None else f" in {between(profile.first, profile.last):.2f} s"
    return f"{names}, {requests}{took}" if names else f"{requests}{took}"
