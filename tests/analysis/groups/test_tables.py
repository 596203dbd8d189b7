"""The tables of groups: filled from captures, request logs and log directories, and documented."""

from kit.calls import CATALOG, ORDERS_0, asked, beat, join, leave, sync
from kit.commands import ROOT

import kwire_cli as kwire
from kwire_cli.analysis.calls import TableFold
from kwire_cli.analysis.replays import REPLAYED
from kwire_cli.message.redaction import Redaction

SAMPLES = ROOT / "samples"
REBALANCES = "select generation, members, cause, client, reason, is_forming, seconds from rebalances order by number"


def test_groups_of_a_capture():
    with kwire.tables(SAMPLES / "incidents" / "rebalancing.pcap") as tables:
        rows = tables.sql(REBALANCES).fetchall()
        assert rows[:2] == [
            (1, 1, "join", "worker-1", "joins", True, 0.106263),
            (2, 2, "join", "worker-2", "joins", False, 0.276912),
        ]
        assert rows[2][4] == "leaves: max.poll.interval.ms exceeded, probably (3.0 s of 3.0 s)"
        triggers = tables.sql("select cause, place.what, place.frame from rebalance_triggers where rebalance = 2")
        assert triggers.fetchall() == [("poll", "LeaveGroup request", 118)]
        owners = "select client, len(assigned) from group_events where generation = 2 and kind = 'assignment'"
        assert tables.sql(owners).fetchall() == [("worker-1", 1), ("worker-2", 1)]


def test_groups_of_a_log_directory():
    with kwire.tables(SAMPLES / "segments" / "__consumer_offsets-0") as tables:
        found = tables.sql("select group_id, protocol, assignor, last_generation from groups order by group_id")
        assert found.fetchall()[0] == ("old-group-grp", "classic", "range", 2)
        places = tables.sql("select distinct place.what, place.position is not null from rebalances").fetchall()
        assert places == [("group record", True)]
        assert tables.sql("select distinct seconds, start_time is null from rebalances").fetchall() == [(None, False)]


def asked_of(query, *exchanges):
    fold = asked(TableFold(Redaction(CATALOG), {"asked": query}, REPLAYED), exchanges)
    with fold.filled() as tables:
        return [tuple(row.values()) for row in tables.rows(query)]


def test_groups_of_a_request_log():
    calls = [join(1, "a", 1, members=["a"]), sync(2, "a", 1, ORDERS_0), beat(9, "a", 1), leave(30, "a", "stopped")]
    query = """
        select r.reason, r.seconds, m.name, m.has_held, m.partitions, m.ending, place.line
        from rebalances r join group_members m using (group_id)
    """
    partitions = [{"topic": "orders", "partition": 0}]
    ((reason, seconds, name, has_held, had, ending, line),) = asked_of(query, *calls)
    assert (reason, seconds, name, has_held, had) == ("joins", 1.001, "a", True, partitions)
    assert (ending, line) == ("stopped", 21)


def test_names_of_partitions():
    def named(*parts):
        rows = ", ".join(f"{{'topic': '{topic}', 'partition': {number}}}" for topic, number in parts)
        return tables.sql(f"select few(partition_names([{rows}]))").fetchall()[0][0]

    with kwire.tables(SAMPLES / "incidents" / "sasl.pcap") as tables:
        assert named(("a", 0), ("b", 2), ("b", 3), ("b", 10)) == "a-0, b-2, 3 and 1 more"
        assert named(("src", -1), ("src", 0), ("src", 1)) == "src, src-0, 1"
