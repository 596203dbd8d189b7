"""Differences between the clients of two captures or request logs.

Clients of both sides are paired by the name of their software or by client id. For each pair, the rows of a query are
joined by their keys, and a row differs if the other side lacks its values. A side may lack values only because its
requests could not be read. Such rows are counted as not compared, and not as differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from kwire_cli.analysis.comparison.profiles import MOST_VALUES
from kwire_cli.answer import Answer, Column, Fact, Facts, Item, Note, Outline, Table
from kwire_cli.errors import counted, few
from kwire_cli.facts.set_fields import fields_of, versions_with

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kwire_cli.analysis.comparison.profiles import By, Profile, Profiles, Row as ProfileRow
    from kwire_cli.answer import Block, Kind, Level, Row

    Pair: TypeAlias = tuple[str, ProfileRow | None, ProfileRow | None]
    """A name, and the clients of this name on both sides. A side without such clients has None."""

UNNAMED = "(no name)"
"""The name of clients without a software name, or without a client id."""
ALL = "all clients"
"""The name of all clients of each side. They are compared as one client if no name appears on both sides."""
UNREAD = "unread requests"
OF_BROKERS = "requests of brokers"
ONE_SIDE = "fields that one side alone sets to other than their default"
SHOWN_CLIENTS = 8
"""Maximum number of software names in one line of the outline."""


def traffic_answer(a: Profiles, b: Profiles, names: tuple[str, str], by: By = "software") -> Answer:
    """Return the differences between the traffic of two sides, whose inputs have these names.

    Clients are compared by the name of their software, or by client id. `found` is set if apis, versions, set fields
    or configuration differ, or if only one side has a client.
    """
    mine = a.clients(by)
    other = b.clients(by)
    by_name = bool({*mine} & {*other} - {UNNAMED})
    everyone = _all_clients(a), _all_clients(b)
    pairs = _pairs(mine, other) if by_name else [(ALL, *everyone)]
    on_one_side = {*mine} ^ {*other}
    grouping = by if by_name else "all"
    profiles_of_a = a.profiles(grouping)
    profiles_of_b = b.profiles(grouping)
    both = [(name, profiles_of_a[name], profiles_of_b[name]) for name, *sides in pairs if all(sides)]
    rows_of = {name: _rows_of_pairs(rows, both) for name, (_, rows) in TABLES.items()}
    rows = {name: rows_of[name] for name in ("apis", "settings", "fields")}
    differences = _count_verdicts(rows, verdict=True)
    left_out = _count_verdicts(rows, verdict=None)
    compared = {name: len(of_table) - left_out[name] for name, of_table in rows.items()}
    uncertain = {name: count for name, count in left_out.items() if count}
    left_out["clients"] = len(on_one_side) if by_name else 0
    left_out[UNREAD] = _count_unread(both)
    of_brokers = a.broker_requests, b.broker_requests
    left_out[OF_BROKERS] = sum(of_brokers)
    rows_of["settings"].sort(key=lambda row: not row[-1])
    rows_of["fields"] = [row[:-1] for row in rows_of["fields"] if row[-1]]
    equal = any(row[-1] is False for row in rows_of["settings"]) and not left_out["settings"]
    notes = {"fields": ONE_SIDE} if differences["fields"] else {}
    if equal and differences["settings"]:
        notes["settings"] = "the settings that are left out are equal on both sides"
    who = Column("client", wide=len(both) < 2, once=True)
    found = bool(on_one_side) or any(differences.values())
    blocks: list[Block] = [
        Outline("", [*_heads(mine, other, everyone, names)]),
        Facts(
            [
                Fact("differences", {"clients": len(on_one_side), **differences}, "map"),
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
        blocks.append(Note(f"not compared: {counted(len(on_one_side), 'client')} that only one side has", "warning"))
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


def _all_clients(profiles: Profiles) -> ProfileRow | None:
    """Return all clients of a side as one, or None if there are no clients."""
    return next(iter(profiles.clients("all").values()), None)


def _rows_of_pairs(
    rows: Callable[[Profile, Profile], Iterator[Row]], pairs: Sequence[tuple[str, Profile, Profile]]
) -> list[Row]:
    """Return the rows of a table for all pairs of clients, each with the name of the clients first."""
    out: list[Row] = []
    for name, a, b in pairs:
        out += [(name, *row) for row in rows(a, b)]
    return out


def _count_verdicts(rows: Mapping[str, Sequence[Row]], *, verdict: bool | None) -> dict[str, int]:
    """Return the number of rows of each table whose last value is `verdict`."""
    counts = {}
    for name, of_table in rows.items():
        counts[name] = sum(row[-1] is verdict for row in of_table)
    return counts


def _count_unread(pairs: Sequence[tuple[str, Profile, Profile]]) -> int:
    """Return the number of requests of all pairs of clients that could not be read."""
    count = 0
    for _, *profiles in pairs:
        for profile in profiles:
            count += sum(use["unread"] for use in profile["apis"].values())
    return count


def _pairs(a: Mapping[str, ProfileRow], b: Mapping[str, ProfileRow]) -> list[Pair]:
    """Return the clients of both sides by name. Clients on both sides come first, then those with most requests."""
    pairs = [(name, a.get(name), b.get(name)) for name in {*a, *b}]
    return sorted(
        pairs, key=lambda pair: (not all(pair[1:]), -sum(row["requests"] for row in pair[1:] if row), pair[0])
    )


# Tables: a row contains the values of both sides for one key. Its last value is whether they differ, None if unknown.


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
"""An error in the responses of either side, and the number of responses with it."""
COSTS = (
    Column("api"),
    *_both("RequestBytes", "number", "req bytes", digits=0, keep=3),
    *_both("ResponseBytes", "number", "resp bytes", digits=0, wide=True),
    *_both("LatencyP50Seconds", "duration", "p50", unit="ms"),
    *_both("LatencyP99Seconds", "duration", "p99", unit="ms", keep=1),
)
"""Mean sizes of requests and responses, and latencies, of an api that both sides use.

Brokers delay the responses to Fetch, JoinGroup and similar requests on purpose, so the latencies include the delay.
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
"""A field that only the requests of one side set to a value other than its default.

`values` contains numbers and flags. Strings are left out.
"""
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
    """Yield the row of each side for each key of a query, in the order of the keys.

    The first of the three values is the row of either side, for the columns that are equal on both.
    """
    mine = a[query]
    other = b[query]
    for key in sorted({*mine, *other}):
        yield mine.get(key) or other[key], mine.get(key), other.get(key)


def _values(column: str, *rows: ProfileRow | None) -> list[Any]:
    """Return the values of a column on both sides. The value of a side without a row is None."""
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
    names = ("request_bytes", "response_bytes", "p50_s", "p99_s")
    for one, mine, other in _joined("apis", a, b):
        if not mine or not other:
            continue
        values: list[Any] = []
        for name in names:
            values += _values(name, mine, other)
        yield one["api"], *values


def _settings(a: Profile, b: Profile) -> Iterator[Row]:
    for one, *both in _joined("settings", a, b):
        texts = [row["texts"] if row else [] for row in both]
        complete = [_shows_all(profile, one["api"], of_batches=one["is_of_batches"]) for profile in (a, b)]
        is_many = all(row and row["is_many"] for row in both)
        counts = [row["counts"] if row else {} for row in both]
        yield one["setting"], one["config"], *texts, *counts, None if is_many else _differs(texts, complete)


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


TABLES = {
    "apis": (APIS, _apis),
    "errors": (ERRORS, _errors),
    "costs": (COSTS, _costs),
    "settings": (SETTINGS, _settings),
    "fields": (FIELDS, _fields),
}
"""The tables of an answer by name: the columns, and the function that yields the rows of two profiles."""


def _differs(shown: Iterable[Iterable[Any]], complete: Iterable[bool]) -> bool | None:
    """Return whether a side has values that the other side certainly lacks.

    `complete` specifies for each side whether all its values could be read. The result is None if the values differ
    only on a side that is incomplete.
    """
    mine, other = map(set, shown)
    a_is_complete, b_is_complete = complete
    if (mine - other and b_is_complete) or (other - mine and a_is_complete):
        return True
    return None if mine ^ other else False


def _shows_all(profile: Profile, api: str, *, of_batches: bool = False) -> bool:
    """Return whether all requests of an api could be read. With `of_batches`, their batches must be complete too."""
    uses = [use for use in profile["apis"].values() if use["api"] == api]
    return not any(use["unread"] or (of_batches and not use["sized"]) for use in uses)


def _sides(pairs: Sequence[Pair]) -> Iterator[Row]:
    for name, *sides in pairs:
        for side, client in zip("ab", sides, strict=True):
            if client:
                yield name, side, client["software"], client["client_ids"], client["requests"], client["span_s"]


# The outline, for display.


_LEVELS: dict[str, Level] = {"-": "error", "+": "good"}


def _heads(
    a: Mapping[str, ProfileRow],
    b: Mapping[str, ProfileRow],
    everyone: Sequence[ProfileRow | None],
    names: tuple[str, str],
) -> Iterator[Item]:
    """Yield a line for each side, and one for each client that the other side does not have."""
    for sign, name, client in zip(_LEVELS, names, everyone, strict=True):
        note = "" if client is None else _about(client, client["software"])
        yield Item(0, f"{sign * 3} {name}", note, _LEVELS[sign])
    for sign, clients, others in zip(_LEVELS, (a, b), (b, a), strict=True):
        for name, client in clients.items():
            if name not in others:
                yield Item(0, f"{sign} {name}", _about(client), _LEVELS[sign])


def _about(client: ProfileRow, software: Sequence[str] = ()) -> str:
    """Return software and the requests of clients as text."""
    requests = counted(client["requests"], "request")
    span = client["span_s"]
    took = "" if span is None else f" in {span:.2f} s"
    return ", ".join([name for name in (few(software, SHOWN_CLIENTS),) if name] + [f"{requests}{took}"])
