"""Differences of two captures or request logs: what the clients of each side do, client by client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from kwire_cli.analysis.comparison.profiles import MOST_VALUES
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import counted, few
from kwire_cli.facts.set_fields import fields_of, versions_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.comparison.profiles import By, Profile, Profiles, Row as ProfileRow
    from kwire_cli.answer import Block, Kind, Level, Row

    Pair: TypeAlias = tuple[str, ProfileRow | None, ProfileRow | None]
    """A name, and the clients of this name on both sides. A side without such clients has None."""

UNNAMED = "(no name)"
"""Clients that say no software, or no id."""
ALL = "all clients"
"""The name of all clients of each side, which are compared as one if no name is on both sides."""
UNREAD = "unread requests"
OF_BROKERS = "requests of brokers"
ONE_SIDE = "fields that one side alone sets to other than their default"
SHOWN_CLIENTS = 8
"""Names of clients and their software that a line for people has."""


def traffic_answer(a: Profiles, b: Profiles, names: tuple[str, str], by: By = "software") -> Answer:
    """Return the differences between the traffic of two sides, whose inputs have these names.

    Clients are compared by the name of their software, or by client id. `found` is set if apis, versions, set fields
    or configuration differ, or if only one side has a client or a number.
    """
    mine, other = a.clients(by), b.clients(by)
    by_name = bool({*mine} & {*other} - {UNNAMED})
    everyone = next(iter(a.clients("all").values()), None), next(iter(b.clients("all").values()), None)
    pairs = _pairs(mine, other) if by_name else [(ALL, *everyone)]
    alone = {*mine} ^ {*other}
    profiles_of_a, profiles_of_b = (side.profiles(by if by_name else "all") for side in (a, b))
    both = [(name, profiles_of_a[name], profiles_of_b[name]) for name, *sides in pairs if all(sides)]
    rows_of = {
        name: [(who, *row) for who, *sides in both for row in rows(*sides)] for name, (_, rows) in TABLES.items()
    }
    numbers = [row for name in ("costs", "rhythm", "counts") for row in rows_of[name]]
    rows = {name: rows_of[name] for name in ("apis", "settings", "fields")} | {"numbers": numbers}
    differences = {name: sum(row[-1] is True for row in those) for name, those in rows.items()}
    differences["numbers on one side"] = differences.pop("numbers")
    left_out = {name: sum(row[-1] is None for row in those) for name, those in rows.items()}
    compared = {name: len(those) - left_out[name] for name, those in rows.items()}
    uncertain = {name: count for name, count in left_out.items() if count}
    left_out["clients"] = len(alone) if by_name else 0
    left_out[UNREAD] = sum(use["unread"] for _, *sides in both for profile in sides for use in profile["apis"].values())
    of_brokers = a.broker_requests, b.broker_requests
    left_out[OF_BROKERS] = sum(of_brokers)
    rows_of["settings"].sort(key=lambda row: not row[-1])
    rows_of["fields"] = [row[:-1] for row in rows_of["fields"] if row[-1]]
    equal = any(row[-1] is False for row in rows_of["settings"]) and not left_out["settings"]
    notes = {"fields": ONE_SIDE} if differences["fields"] else {}
    if equal and differences["settings"]:
        notes["settings"] = "the settings that are left out are equal on both sides"
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
        *(
            Table(
                name,
                (who, *columns),
                rows_of[name],
                shown=differences["settings"] if name == "settings" else None,
                note=notes.get(name, ""),
            )
            for name, (columns, _) in TABLES.items()
        ),
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


def _pairs(a: Mapping[str, ProfileRow], b: Mapping[str, ProfileRow]) -> list[Pair]:
    """Return the clients of both sides by name, those that both sides have first, the busiest first."""
    pairs = [(name, a.get(name), b.get(name)) for name in {*a, *b}]
    return sorted(
        pairs, key=lambda pair: (not all(pair[1:]), -sum(row["requests"] for row in pair[1:] if row), pair[0])
    )


# Tables: a row has what both sides have under one key. Its last value says whether it differs, None if that is unknown.


def _both(name: str, kind: Kind = "text", title: str = "", **more: Any) -> tuple[Column, Column]:
    """Return the columns of both sides, `aName` and `bName`."""
    a, b = (Column(f"{side}{name}", kind, f"{side} {title}" if title else "", **more) for side in "ab")
    return a, b


APIS = (
    Column("api"),
    *_both("Versions", "list"),
    *_both("Requests", "count", keep=2),
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
    *_both("RequestBytes", "number", "req bytes", digits=0, keep=3),
    *_both("ResponseBytes", "number", "resp bytes", digits=0, wide=True),
    *_both("LatencyP50Seconds", "duration", "p50", unit="ms"),
    *_both("LatencyP99Seconds", "duration", "p99", unit="ms", keep=1),
    Column("differs", "flag", wide=True),
)
"""Bytes of a request and of its response in the mean, and latencies, of an api that both sides use. Latencies of Fetch,
JoinGroup and the like are those of answers that wait on purpose.
"""
SETTINGS = (
    Column("setting"),
    Column("config", title="configuration", keep=1),
    Column("a", "list"),
    Column("b", "list"),
    *_both("Counts", "map", wide=True),
    Column("differs", "flag", wide=True),
)
"""A setting that the requests of either side show, and its values, the most frequent first."""
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
RHYTHM = (
    Column("rhythm", title="time between"),
    Column("config", title="configuration", keep=2),
    *_both("Count", "count", wide=True),
    *_both("P50Seconds", "duration", "p50", unit="ms"),
    *_both("P99Seconds", "duration", "p99", unit="ms", keep=1),
    Column("differs", "flag", wide=True),
)
"""A time between requests that each side sends again and again, and the configuration that has a part in it."""
COUNTS = (
    Column("what", title="groups and batches"),
    Column("a", "number"),
    Column("b", "number"),
    Column("differs", "flag", wide=True),
)
"""Counts of group events and batches. A side that does nothing of the kind has None."""
SIDES = (
    Column("client"),
    Column("side"),
    Column("software", "list"),
    Column("clientIds", "list"),
    Column("requests", "count"),
    Column("seconds", "duration"),
)
"""The clients of each side that are compared as one."""


def _joined(query: str, a: Profile, b: Profile) -> Iterator[tuple[ProfileRow, ProfileRow | None, ProfileRow | None]]:
    """Yield a row that is there, then those of both sides, for each key of a query in order."""
    mine, other = a[query], b[query]
    for key in sorted({*mine, *other}):
        yield mine.get(key) or other[key], mine.get(key), other.get(key)


def _values(column: str, *rows: ProfileRow | None) -> list[Any]:
    """Return the values of a column on both sides; None for a side without a row."""
    return [row and row[column] for row in rows]


def _apis(a: Profile, b: Profile) -> Iterator[Row]:
    for one, mine, other in _joined("apis", a, b):
        versions = _values("versions", mine, other)
        yield one["api"], *versions, *_values("requests", mine, other), versions[0] != versions[1]


def _errors(a: Profile, b: Profile) -> Iterator[Row]:
    rows = []
    for one, *both in _joined("errors", a, b):
        mine, other = (row["responses"] if row else 0 for row in both)
        rows.append((one["api_key"], -mine - other, one["error"], one["api"], mine, other))
    for _, _, error, api, mine, other in sorted(rows):
        yield api, error, mine, other


def _costs(a: Profile, b: Profile) -> Iterator[Row]:
    for one, mine, other in _joined("apis", a, b):
        if mine and other:
            names = "request_bytes", "response_bytes", "p50_s", "p99_s"
            known = ([name for name in names if row[name] is not None] for row in (mine, other))
            differs = _differs(known, [bool(row["sized"]) for row in (mine, other)])
            yield one["api"], *(value for name in names for value in _values(name, mine, other)), differs


def _settings(a: Profile, b: Profile) -> Iterator[Row]:
    for one, *both in _joined("settings", a, b):
        texts = [row["texts"] if row else [] for row in both]
        whole = [_shows_all(profile, one["api"], of_batches=one["is_of_batches"]) for profile in (a, b)]
        is_many = all(row and row["is_many"] for row in both)
        counts = [row["counts"] if row else {} for row in both]
        yield one["setting"], one["config"], *texts, *counts, None if is_many else _differs(texts, whole)


def _fields(a: Profile, b: Profile) -> Iterator[Row]:
    """Yield the fields that either side sets, of apis that both use. A row differs if only one side sets the field."""
    for one, mine, other in _joined("fields", a, b):
        key = one["api_key"]
        uses = a["apis"].get((key,)), b["apis"].get((key,))
        if uses[0] and uses[1]:
            side, without = ("a", uses[1]) if mine else ("b", uses[0])
            versions = versions_with(fields_of(key), one["path"])
            is_possible = versions is None or any(version in versions for version in without["versions"])
            detail = "" if is_possible else f"not in the versions of {'b' if mine else 'a'}"
            differs = False if mine and other else not without["unread"] or None
            yield without["api"], one["path"], side, one["requests"], one["texts"], detail, differs


def _rhythm(a: Profile, b: Profile) -> Iterator[Row]:
    for one, *both in _joined("rhythm", a, b):
        points = [value for column in ("times", "p50_s", "p99_s") for value in _values(column, *both)]
        whole = [profile["clients"][()]["span_s"] is not None and _shows_all(profile, one["api"]) for profile in (a, b)]
        yield one["rhythm"], one["config"], *points, _differs_in_rows(both, whole)


def _counts(a: Profile, b: Profile) -> Iterator[Row]:
    for one, *both in _joined("counts", a, b):
        of_batches = one["is_of_batches"]
        whole = [not of_batches or _shows_all(profile, "Produce", of_batches=True) for profile in (a, b)]
        values = [row and (row["mean"] if row["total"] is None else row["total"]) for row in both]
        yield one["what"], *values, _differs_in_rows(both, whole)


TABLES = {
    "apis": (APIS, _apis),
    "errors": (ERRORS, _errors),
    "costs": (COSTS, _costs),
    "settings": (SETTINGS, _settings),
    "fields": (FIELDS, _fields),
    "rhythm": (RHYTHM, _rhythm),
    "counts": (COUNTS, _counts),
}
"""The tables of an answer: their columns, and the rows of two profiles."""


def _differs(shown: Iterable[Iterable[Any]], whole: Iterable[bool]) -> bool | None:
    """Return whether a side shows what the other one lacks; None if the other one does not show all that it has."""
    (mine, other), (a_is_whole, b_is_whole) = map(set, shown), whole
    if (mine - other and b_is_whole) or (other - mine and a_is_whole):
        return True
    return None if mine ^ other else False


def _differs_in_rows(rows: Iterable[ProfileRow | None], whole: Iterable[bool]) -> bool | None:
    """Return whether only one side has a row, as `_differs`."""
    return _differs(([True] if row else [] for row in rows), whole)


def _shows_all(profile: Profile, api: str, *, of_batches: bool = False) -> bool:
    """Return whether a profile has all of the requests of an api, or of the batches in them."""
    uses = [use for use in profile["apis"].values() if use["api"] == api]
    return not any(use["unread"] or (of_batches and not use["sized"]) for use in uses)


def _sides(pairs: Sequence[Pair]) -> Iterator[Row]:
    for name, *sides in pairs:
        for side, client in zip("ab", sides, strict=True):
            if client:
                yield name, side, client["software"], client["client_ids"], client["requests"], client["span_s"]


# Lines for people.


_LEVELS: dict[str, Level] = {"-": "error", "+": "good"}


def _heads(
    a: Mapping[str, ProfileRow],
    b: Mapping[str, ProfileRow],
    everyone: Sequence[ProfileRow | None],
    names: tuple[str, str],
) -> Iterator[Item]:
    """Yield a line for each side, and one for each client that the other side does not have."""
    for sign, name, whole in zip(_LEVELS, names, everyone, strict=True):
        yield Item(0, f"{sign * 3} {name}", "" if whole is None else _about(whole, whole["software"]), _LEVELS[sign])
    for sign, clients, others in zip(_LEVELS, (a, b), (b, a), strict=True):
        for name, client in clients.items():
            if name not in others:
                yield Item(0, f"{sign} {name}", _about(client), _LEVELS[sign])


def _about(client: ProfileRow, software: Sequence[str] = ()) -> str:
    """Return software and the requests of clients as text."""
    requests, span = counted(client["requests"], "request"), client["span_s"]
    took = "" if span is None else f" in {span:.2f} s"
    return ", ".join([name for name in (few(software, SHOWN_CLIENTS),) if name] + [f"{requests}{took}"])
