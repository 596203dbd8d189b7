"""Differences of two captures or request logs: what the clients of each side do, client by client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kwire_cli.analysis.call import between
from kwire_cli.analysis.comparison.profiles import (
    BATCH_BYTES,
    BATCHES,
    CONFIGS,
    GENERATIONS,
    JOINS,
    MOST_PATHS,
    MOST_VALUES,
    OF_BATCHES,
    OF_GROUPS,
    RECORDS,
    RHYTHMS,
    Client,
    Profile,
    Use,
    Values,
)
from kwire_cli.analysis.comparison.set_fields import fields_of, versions_with
from kwire_cli.analysis.stats import Histogram, by_count
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import counted, few

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire_cli.analysis.comparison.profiles import Profiles
    from kwire_cli.answer import Block, Level, Row
    from kwire_cli.spec.model import Versions

By = Literal["software", "client"]
UNNAMED = "(no name)"
"""Clients that say no software, or no id."""
ALL = "all clients"
"""The name of all clients of each side, which are compared as one if no name is on both sides."""
UNREAD = "unread requests"
OF_BROKERS = "requests of brokers"
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

    Clients are compared by the name of their software, or by client id. `found` is set if apis, versions, set fields
    or configuration differ, or if only one side has a client or a number.
    """
    a.finish()
    b.finish()
    mine, other = groups_of(a, by), groups_of(b, by)
    pairs = pairs_of(mine, other)
    by_name = bool(_common(mine, other))
    alone = {*mine} ^ {*other}
    both = [(pair.name, pair.a.profile, pair.b.profile) for pair in pairs if pair.a and pair.b]
    apis, errors, costs, settings, fields, rhythm, counts = (
        [(name, *row) for name, *sides in both for row in rows_of(*sides)]
        for rows_of in (_apis, _errors, _costs, _settings, _fields, _rhythm, _counts)
    )
    rows = {"apis": apis, "settings": settings, "fields": fields, "numbers": [*costs, *rhythm, *counts]}
    differences = {name: sum(row[-1] is True for row in those) for name, those in rows.items()}
    differences["numbers on one side"] = differences.pop("numbers")
    left_out = {name: sum(row[-1] is None for row in those) for name, those in rows.items()}
    compared = {name: len(those) - left_out[name] for name, those in rows.items()}
    uncertain = {name: count for name, count in left_out.items() if count}
    left_out["clients"] = len(alone) if by_name else 0
    left_out[UNREAD] = sum(use.unread for _, *sides in both for profile in sides for use in profile.uses.values())
    left_out[OF_BROKERS] = a.broker_requests + b.broker_requests
    settings.sort(key=lambda row: not row[-1])
    equal = any(row[-1] is False for row in settings) and not left_out["settings"]
    who = Column("client", wide=len(both) < 2, once=True)
    found = bool(alone) or any(differences.values())
    blocks: list[Block] = [
        Outline("", [*_heads(mine, other, names)]),
        Facts(
            [
                Fact("differences", {"clients": len(alone), **differences}, "map"),
                Fact("compared", compared, "map"),
                Fact("notCompared", {name: count for name, count in left_out.items() if count}, "map"),
            ]
        ),
        Table("apis", (who, *APIS), apis),
        Table("errors", (who, *ERRORS), errors),
        Table("costs", (who, *COSTS), costs),
        Table(
            "settings",
            (who, *SETTINGS),
            settings,
            shown=differences["settings"],
            note="the settings that are left out are equal on both sides" if equal and differences["settings"] else "",
        ),
        Table(
            "fields",
            (who, *FIELDS),
            [row[:-1] for row in fields if row[-1]],
            note=ONE_SIDE if differences["fields"] else "",
        ),
        Table("rhythm", (who, *RHYTHM), rhythm),
        Table("counts", (who, *COUNTS), counts),
        Table("sides", SIDES, [*_sides(pairs)], shown=0),
    ]
    if not by_name:
        blocks.append(Note("no client name is on both sides: all clients of A are compared with all clients of B"))
    if left_out["clients"]:
        blocks.append(Note(f"not compared: {counted(len(alone), 'client')} that only one side has", "warning"))
    if unread := left_out[UNREAD]:
        text = f"{counted(unread, 'request')} could not be read: fields and settings in them are not compared"
        blocks.append(Note(text, "warning"))
    if uncertain:
        text = ", ".join(counted(count, name.removesuffix("s")) for name, count in uncertain.items())
        reason = f"more than {MOST_VALUES} values, or a side that cannot show all"
        blocks.append(Note(f"not compared ({reason}): {text}", "warning"))
    if compared["apis"] and not (found or unread or uncertain):
        blocks.append(Note("the same clients, apis, versions, set fields and configuration", "good"))
    if left_out[OF_BROKERS]:
        text = f"{a.broker_requests} of A, {b.broker_requests} of B"
        blocks.append(Note(f"left out: {counted(left_out[OF_BROKERS], 'request')} of brokers and controllers ({text})"))
    return Answer("Differences of traffic", blocks, found=found)


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
    """Return the clients of both sides in pairs by name, or all clients of each side if no name is on both."""
    if not _common(a, b):
        return [Pair(ALL, _merged(a), _merged(b))]
    pairs = [Pair(name, a.get(name), b.get(name)) for name in {*a, *b}]
    return sorted(pairs, key=lambda pair: (not (pair.a and pair.b), -_requests(pair), pair.name))


def _common(a: dict[str, Group], b: dict[str, Group]) -> set[str]:
    return {*a} & {*b} - {UNNAMED}


def _merged(groups: dict[str, Group]) -> Group:
    whole = Group([], Profile())
    for group in groups.values():
        whole.clients += group.clients
        whole.profile.merge(group.profile)
    return whole


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
    Column("differs", "flag", wide=True),
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
        mine, other = a.uses[key], b.uses[key]
        pairs = zip(_cost(mine), _cost(other), strict=True)
        known = ([name for name, value in enumerate(_cost(use)) if value is not None] for use in (mine, other))
        differs = _differs(known, [bool(use.sized) for use in (mine, other)])
        yield a.names[key], *(value for pair in pairs for value in pair), differs


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
"""A setting that the requests of either side show, and its values, the most frequent first."""


def _settings(a: Profile, b: Profile) -> Iterator[Row]:
    for name in sorted({*a.settings, *b.settings}):
        api, _, _ = name.partition(".")
        mine, other = (profile.settings.get(name, Values()) for profile in (a, b))
        of_batches = name in OF_BATCHES
        whole = [_shows_all(profile, api, of_batches=of_batches) for profile in (a, b)]
        differs = None if mine.many and other.many else _differs([mine.texts, other.texts], whole)
        yield name, CONFIGS.get(name), mine.texts, other.texts, _counted(mine), _counted(other), differs


def _differs(shown: Iterable[Iterable[Any]], whole: Iterable[bool]) -> bool | None:
    """Return whether a side shows what the other one lacks; None if the other one does not show all that it has."""
    (mine, other), (a_is_whole, b_is_whole) = map(set, shown), whole
    if (mine - other and b_is_whole) or (other - mine and a_is_whole):
        return True
    return None if mine ^ other else False


def _shows_all(profile: Profile, api: str, *, of_batches: bool = False) -> bool:
    """Return whether a profile has all of the requests of an api, or of the batches in them."""
    uses = [use for key, use in profile.uses.items() if profile.names[key] == api]
    return not any(use.unread or (of_batches and not use.sized) for use in uses)


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
    """Yield the fields that either side sets. The last value of a row is whether only one side does."""
    for key in sorted({*a.uses} & {*b.uses}):
        mine, other = a.uses[key], b.uses[key]
        for path in sorted({*mine.fields, *other.fields}):
            side, use, without = ("a", mine, other) if path in mine.fields else ("b", other, mine)
            values = use.fields[path]
            versions = versions_with(fields_of(key), path)
            texts = [text for text in values.texts if text]
            is_whole = not without.unread and len(without.fields) < MOST_PATHS
            differs = False if path in without.fields else is_whole or None
            yield a.names[key], path, side, values.requests, texts, _detail(versions, without.versions, side), differs


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
    Column("differs", "flag", wide=True),
)
"""A time between requests that each side sends again and again, and the configuration that has a part in it."""


def _rhythm(a: Profile, b: Profile) -> Iterator[Row]:
    for api, (name, config) in RHYTHMS.items():
        both = [profile.rhythms.get(name, Histogram()) for profile in (a, b)]
        if any(rhythm.count for rhythm in both):
            (count_a, p50_a, _, p99_a, _), (count_b, p50_b, _, p99_b, _) = (rhythm.points() for rhythm in both)
            whole = [profile.first is not None and _shows_all(profile, api) for profile in (a, b)]
            differs = _differs(([name][: rhythm.count] for rhythm in both), whole)
            yield name, config, count_a, count_b, p50_a, p50_b, p99_a, p99_b, differs


COUNTS = (
    Column("what", title="groups and batches"),
    Column("a", "number"),
    Column("b", "number"),
    Column("differs", "flag", wide=True),
)
"""Counts of group events and batches. A side that does nothing of the kind has None."""


def _counts(a: Profile, b: Profile) -> Iterator[Row]:
    mine, other = (_counts_of(profile) for profile in (a, b))
    for name in dict.fromkeys([*mine, *other]):
        whole = [name in OF_GROUPS or _shows_all(profile, "Produce", of_batches=True) for profile in (a, b)]
        differs = _differs([{name} & {*mine}, {name} & {*other}], whole)
        yield name, mine.get(name), other.get(name), differs


def _counts_of(profile: Profile) -> dict[str, float]:
    counts: dict[str, float] = {}
    if JOINS in profile.counts:
        counts = {name: profile.counts[name] for name in OF_GROUPS}
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


_LEVELS: dict[str, Level] = {"-": "error", "+": "good"}


def _heads(a: dict[str, Group], b: dict[str, Group], names: tuple[str, str]) -> Iterator[Item]:
    """Yield a line for each side, and one for each client that the other side does not have."""
    sides = (("-", names[0], a, b), ("+", names[1], b, a))
    for sign, name, groups, _ in sides:
        whole = _merged(groups)
        yield Item(0, f"{sign * 3} {name}", _about(whole, whole.software), _LEVELS[sign])
    for sign, _, groups, others in sides:
        for name, group in groups.items():
            if name not in others:
                yield Item(0, f"{sign} {name}", _about(group), _LEVELS[sign])


def _about(group: Group, software: Sequence[str] = ()) -> str:
    """Return software and the requests of clients as text."""
    profile = group.profile
    requests = counted(profile.requests, "request")
    took = "" if profile.first is None else f" in {between(profile.first, profile.last):.2f} s"
    return ", ".join([name for name in (few(software, SHOWN_CLIENTS),) if name] + [f"{requests}{took}"])
