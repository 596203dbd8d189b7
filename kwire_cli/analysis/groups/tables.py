"""The tables of groups, which contain the results of the replay for queries.

Each group has a row in `groups`. The rows of the other tables contain the group id, and numbers in the order of time if
queries compare a row with the next one. If an input has no times, only the order is known: times are null, and
`ordinal` is the order of rows. An evidence is a place (`facts.buffers.PLACE`). Its ordinals count within a group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire_cli.facts.buffers import PLACE

if TYPE_CHECKING:
    from collections.abc import Mapping

PARTITIONS = [{"topic": "VARCHAR", "partition": "BIGINT"}]
"""The type of an assignment."""


GROUP_ID = ("group_id", "VARCHAR", "the group")
TABLES: Mapping[str, tuple[tuple[str, Any, str], ...]] = {
    "groups": (
        GROUP_ID,
        ("protocol", "VARCHAR", "`classic`, `consumer`, `share` or `streams`"),
        ("protocol_type", "VARCHAR", "of a classic group, such as `consumer` or `connect`"),
        ("is_consuming", "BOOLEAN", "whether members consume, if the input shows it"),
        ("unit", "VARCHAR", "the unit of an assignment: `partition` or `task`"),
        ("assignor", "VARCHAR", "the assignor of the last generation"),
        (
            "coordinators",
            [{"address": "VARCHAR", "broker": "BIGINT"}],
            "brokers that got requests of the group, and their node ids",
        ),
        ("first_generation", "BIGINT", "the first generation, or group epoch"),
        ("last_generation", "BIGINT", "the last one"),
        ("first_time", "TIMESTAMPTZ", "the first sign of the group"),
        ("last_time", "TIMESTAMPTZ", "the last one"),
    ),
    "group_events": (
        GROUP_ID,
        ("number", "BIGINT", "number of the event in the group"),
        ("time", "TIMESTAMPTZ", "when it happened"),
        ("ordinal", "BIGINT", "order in time, the same for events at the same time"),
        ("generation", "BIGINT", "generation or epoch"),
        ("kind", "VARCHAR", "such as `join`, `leave`, `rebalance`, `assignment`, `error`"),
        ("member", "VARCHAR", "member id"),
        ("client", "VARCHAR", "client id"),
        ("reason", "VARCHAR", "why, or the error"),
        ("detail", "VARCHAR", "what else is known"),
        ("seconds", "DOUBLE", "how long it took"),
        ("partitions", "BIGINT", "how many partitions, records or deliveries it is about"),
        ("is_minor", "BOOLEAN", "whether `kwire groups` omits it on a terminal"),
        ("place", PLACE, "place in the input"),
    ),
    "rebalances": (
        GROUP_ID,
        ("number", "BIGINT", "number of the rebalance in the group"),
        ("start_time", "TIMESTAMPTZ", "when it began"),
        ("end_time", "TIMESTAMPTZ", "when the last member had its assignment"),
        ("seconds", "DOUBLE", "how long it took; null if its beginning is not in the input"),
        ("generation_before", "BIGINT", "generation or epoch before it"),
        ("generation", "BIGINT", "generation or epoch after it"),
        ("members", "BIGINT", "members after it"),
        ("triggers", "BIGINT", "how many triggers it has"),
        ("cause", "VARCHAR", "cause of its gravest trigger, as in `rebalance_triggers`"),
        ("client", "VARCHAR", "client of this trigger, or its member"),
        ("reason", "VARCHAR", "what this client did, as text"),
        ("is_grave", "BOOLEAN", "whether a healthy group does not have this cause even once"),
        ("is_forming", "BOOLEAN", "whether the group had no members before"),
        ("is_unchanged", "BOOLEAN", "whether all members have the same assignment as before"),
        ("moved", PARTITIONS, "partitions that changed hands; null if unknown"),
        ("stopped_s", "DOUBLE", "seconds in which no member had partitions"),
        ("away_s", "DOUBLE", "seconds that a member had no partitions, at most; null if none lost any"),
        ("away_member", "VARCHAR", "name of this member"),
        ("place", PLACE, "place in the input"),
        ("trigger_place", PLACE, "where its first trigger is"),
    ),
    "rebalance_triggers": (
        GROUP_ID,
        ("rebalance", "BIGINT", "number of the rebalance"),
        ("number", "BIGINT", "number of the trigger in the rebalance"),
        ("time", "TIMESTAMPTZ", "when it happened"),
        (
            "cause",
            "VARCHAR",
            "cause, as in `kwire groups`; `unknown` if the input does not show it",
        ),
        ("is_grave", "BOOLEAN", "whether the cause is `poll`, `session` or `fenced`"),
        ("text", "VARCHAR", "what happened"),
        ("client", "VARCHAR", "client id"),
        ("member", "VARCHAR", "member id"),
        ("place", PLACE, "place in the input"),
    ),
    "group_members": (
        GROUP_ID,
        ("member", "VARCHAR", "member id"),
        ("name", "VARCHAR", "a name for display: the client id, with the member id if several have it"),
        ("client", "VARCHAR", "client id"),
        ("host", "VARCHAR", "address of the client"),
        ("instance_id", "VARCHAR", "group.instance.id"),
        ("joined", "TIMESTAMPTZ", "when it joined"),
        ("joined_ordinal", "BIGINT", "when it joined, in the order of `group_events`"),
        ("ended", "TIMESTAMPTZ", "when it left or was removed"),
        ("ending", "VARCHAR", "how it ended; null if it did not"),
        ("partitions", PARTITIONS, "its last assignment; null if unknown"),
        ("has_held", "BOOLEAN", "whether it had partitions at any time"),
        ("without_s", "DOUBLE", "seconds in the group without partitions"),
        ("rebalance_timeout_s", "DOUBLE", "rebalance timeout, of Java clients max.poll.interval.ms"),
        ("session_timeout_s", "DOUBLE", "session timeout"),
        ("first_time", "TIMESTAMPTZ", "its first call"),
        ("last_time", "TIMESTAMPTZ", "its last call"),
        ("is_accepted", "BOOLEAN", "whether the coordinator took it for a member at any time"),
        ("is_let_in", "BOOLEAN", "whether anything names it as a member: not only calls that were refused"),
    ),
    "group_assignments": (
        GROUP_ID,
        ("number", "BIGINT", "number of the assignment in the group"),
        ("time", "TIMESTAMPTZ", "when the member had it"),
        ("ordinal", "BIGINT", "order in time, as in `group_events`"),
        ("generation", "BIGINT", "generation or epoch"),
        ("member", "VARCHAR", "member id"),
        ("client", "VARCHAR", "client id"),
        ("partitions", PARTITIONS, "what the member has; a connector has the partition -1"),
        ("gained", PARTITIONS, "partitions that are new to the member"),
        ("lost", PARTITIONS, "partitions that the member lost"),
        ("place", PLACE, "place in the input"),
    ),
}
"""The columns of each table: name, type in DuckDB, meaning."""
