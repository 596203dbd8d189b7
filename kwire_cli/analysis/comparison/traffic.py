"""Differences of two captures or request logs: what the clients of each side do, client by client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cli.analysis.comparison.profiles import MOST_VALUES, Profile, Values
from kwire_cli.analysis.stats import seconds
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import counted, few
from kwire_cli.facts.set_fields import fields_of, versions_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.comparison.profiles import By, Profiles, Row as Client
    from kwire_cli.answer import Block, Level, Row
    from kwire_cli.spec.model import Versions

UNNAMED = "(no name)"
"""Clients that say no software, or no id."""
ALL = "all clients"
"""The name of all clients of each side, which are compared as one if no name is on both sides."""
UNREAD = "unread requests"
OF_BROKERS = "requests of brokers"
ONE_SIDE = "fields that one side alone sets to other than their default"
SHOWN_CLIENTS = 8
"""Names of clients and their software that a line for people has."""


class Pair(NamedTuple):
    """Clients of both sides that are compared; a side without such clients has None."""

    name: str
    a: Client | None
    b: Client | None


def traffic_answer(a: Profiles, b: Profiles, names: tuple[str, str], by: By = "software") -> Answer:
    """Return the differences between the traffic of two sides, whose inputs have these names.

    Clients are compared by the name of their software, or by client id. `found` is set if apis, versions, set fields
    or configuration differ, or if only one side has a client or a number.
    """
    mine, other = a.clients(by), b.clients(by)
    by_name = bool(common(mine, other))
    everyone = next(iter(a.clients("all").values()), None), next(iter(b.clients("all").values()), None)
    pairs = pairs_of(mine, other) if by_name else [Pair(ALL, *everyone)]
    alone = {*mine} ^ {*other}
    profiles_of_a, profiles_of_b = (side.profiles(by if by_name else "all") for side in (a, b))
    both = [(name, profiles_of_a[name], profiles_of_b[name]) for name, *sides in pairs if all(sides)]
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
    left_out[UNREAD] = sum(use["unread"] for _, *sides in both for profile in sides for use in profile.apis.values())
    of_brokers = a.broker_requests, b.broker_requests
    left_out[OF_BROKERS] = sum(of_brokers)
    settings.sort(key=lambda row: not row[-1])
    equal = any(row[-1] is False for row in settings) and not left_out["settings"]
    who = Column("client", wide=len(both) < 2, once=True)
    found = bool(alone) or any(differences.values())
    blocks: list[Block] = [
        Outline("", [*_heads(mine, other, everyone, names)]),
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
        text = "{} of A, {} of B".format(*of_brokers)
        blocks.append(Note(f"left out: {counted(left_out[OF_BROKERS], 'request')} of brokers and controllers ({text})"))
    return Answer("Differences of traffic", blocks, found=found)


# Clients of both sides that belong together.


def pairs_of(a: Mapping[str, Client], b: Mapping[str, Client]) -> list[Pair]:
    """Return the clients of both sides in pairs by name."""
    pairs = [Pair(name, a.get(name), b.get(name)) for name in {*a, *b}]
    return sorted(pairs, key=lambda pair: (not (pair.a and pair.b), -_requests(pair), pair.name))


def common(a: Iterable[str], b: Iterable[str]) -> set[str]:
    """Return the names that are on both sides."""
    return {*a} & {*b} - {UNNAMED}


def _requests(pair: Pair) -> int:
    return sum(client["requests"] for client in (pair.a, pair.b) if client)


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
    for key in sorted({*a.apis, *b.apis}):
        uses = [profile.apis.get(key) for profile in (a, b)]
        versions = [use and use["versions"] for use in uses]
        requests = [use and use["requests"] for use in uses]
        yield _name(key, a, b), *versions, *requests, versions[0] != versions[1]


def _name(key: int, *profiles: Profile) -> str:
    return next(str(use["api"]) for profile in profiles if (use := profile.apis.get(key)))


def _errors(a: Profile, b: Profile) -> Iterator[Row]:
    counts = [
        (key, error, a.errors.get((key, error), 0), b.errors.get((key, error), 0))
        for key, error in {*a.errors, *b.errors}
    ]
    for key, error, mine, other in sorted(counts, key=lambda row: (row[0], -row[2] - row[3], row[1])):
        yield _name(key, a, b), error, mine, other


def _costs(a: Profile, b: Profile) -> Iterator[Row]:
    for key in sorted({*a.apis} & {*b.apis}):
        uses = a.apis[key], b.apis[key]
        costs = [_cost(use) for use in uses]
        known = ([name for name, value in enumerate(cost) if value is not None] for cost in costs)
        differs = _differs(known, [bool(use["sized"]) for use in uses])
        yield _name(key, a), *(value for pair in zip(*costs, strict=True) for value in pair), differs


def _cost(use: Mapping[str, Any]) -> tuple[float | None, ...]:
    sizes = (use[name] if use[name] is None else round(use[name], 1) for name in ("request_bytes", "response_bytes"))
    return *sizes, seconds(use["p50_us"]), seconds(use["p99_us"])


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
        of_batches = mine.is_of_batches or other.is_of_batches
        whole = [_shows_all(profile, api, of_batches=of_batches) for profile in (a, b)]
        differs = None if mine.is_many and other.is_many else _differs([mine.texts, other.texts], whole)
        counts = [{} if values.is_many else values.counts for values in (mine, other)]
        yield name, mine.config or other.config or "", mine.texts, other.texts, *counts, differs


def _differs(shown: Iterable[Iterable[Any]], whole: Iterable[bool]) -> bool | None:
    """Return whether a side shows what the other one lacks; None if the other one does not show all that it has."""
    (mine, other), (a_is_whole, b_is_whole) = map(set, shown), whole
    if (mine - other and b_is_whole) or (other - mine and a_is_whole):
        return True
    return None if mine ^ other else False


def _shows_all(profile: Profile, api: str, *, of_batches: bool = False) -> bool:
    """Return whether a profile has all of the requests of an api, or of the batches in them."""
    uses = [use for use in profile.apis.values() if use["api"] == api]
    return not any(use["unread"] or (of_batches and not use["sized"]) for use in uses)


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
    for key in sorted({*a.apis} & {*b.apis}):
        mine, other = a.fields.get(key, {}), b.fields.get(key, {})
        for path in sorted({*mine, *other}):
            side, values, without = ("a", mine[path], b) if path in mine else ("b", other[path], a)
            use = without.apis[key]
            texts = [text for text in values.texts if text]
            requests = sum(values.counts.values())
            differs = False if path in mine and path in other else not use["unread"] or None
            detail = _detail(versions_with(fields_of(key), path), use["versions"], side)
            yield _name(key, a), path, side, requests, texts, detail, differs


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
    for number in sorted({*a.rhythms, *b.rhythms}):
        both = [profile.rhythms.get(number) for profile in (a, b)]
        [one, *_] = filter(None, both)
        times = [rhythm and rhythm["times"] for rhythm in both]
        points = [rhythm and seconds(rhythm[point]) for point in ("p50_us", "p99_us") for rhythm in both]
        whole = [profile.client["span_s"] is not None and _shows_all(profile, one["api"]) for profile in (a, b)]
        differs = _differs(([number][: bool(rhythm)] for rhythm in both), whole)
        yield one["rhythm"], one["config"], *times, *points, differs


COUNTS = (
    Column("what", title="groups and batches"),
    Column("a", "number"),
    Column("b", "number"),
    Column("differs", "flag", wide=True),
)
"""Counts of group events and batches. A side that does nothing of the kind has None."""


OF_GROUPS = (
    ("joins", "joins", 0),
    ("leaves", "leaves", 0),
    ("responses that told of a rebalance", "rebalances", 0),
    ("commits", "commits", 0),
    ("generations", "generations", 0),
)
OF_BATCHES = (
    ("batches", "batches", 0),
    ("records per batch", "records_per_batch", 2),
    ("bytes per batch", "bytes_per_batch", 1),
)
"""Names of counts, their columns, and digits behind the point."""


def _counts(a: Profile, b: Profile) -> Iterator[Row]:
    for of_batches, counts in ((False, OF_GROUPS), (True, OF_BATCHES)):
        for name, column, digits in counts:
            values = [profile.counts.get(column) for profile in (a, b)]
            if values == [None, None]:
                continue
            whole = [not of_batches or _shows_all(profile, "Produce", of_batches=True) for profile in (a, b)]
            differs = _differs(([name][: value is not None] for value in values), whole)
            shown = (round(value, digits) if isinstance(value, float) else value for value in values)
            yield name, *shown, differs


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
    for name, *sides in pairs:
        for side, client in zip("ab", sides, strict=True):
            if client:
                yield name, side, client["software"], client["client_ids"], client["requests"], client["span_s"]


# Lines for people.


_LEVELS: dict[str, Level] = {"-": "error", "+": "good"}


def _heads(
    a: Mapping[str, Client], b: Mapping[str, Client], everyone: Sequence[Client | None], names: tuple[str, str]
) -> Iterator[Item]:
    """Yield a line for each side, and one for each client that the other side does not have."""
    for sign, name, whole in zip(_LEVELS, names, everyone, strict=True):
        yield Item(0, f"{sign * 3} {name}", "" if whole is None else _about(whole, whole["software"]), _LEVELS[sign])
    for sign, clients, others in zip(_LEVELS, (a, b), (b, a), strict=True):
        for name, client in clients.items():
            if name not in others:
                yield Item(0, f"{sign} {name}", _about(client), _LEVELS[sign])


def _about(client: Client, software: Sequence[str] = ()) -> str:
    """Return software and the requests of clients as text."""
    requests, span = counted(client["requests"], "request"), client["span_s"]
    took = "" if span is None else f" in {span:.2f} s"
    return ", ".join([name for name in (few(software, SHOWN_CLIENTS),) if name] + [f"{requests}{took}"])
